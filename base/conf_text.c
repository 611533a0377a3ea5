/* From the table to texts: config, the example file, the manual, help. */
#include "base/conf.h"
#include "base/text.h"

static void
put_size(struct buf *b, double bytes)
{
	static const char *const units[] = { "", "KiB", "MiB", "GiB", "TiB" };
	uint64_t v = (uint64_t)bytes;
	size_t unit = 0;

	while (v != 0 && v % 1024 == 0 && unit + 1 < ARRAY_LEN(units)) {
		v /= 1024;
		unit++;
	}
	buf_printf(b, "%llu%s", (unsigned long long)v, units[unit]);
}

static void
put_duration(struct buf *b, double number, const char *own_unit)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = {
		{ "d", 86400000 }, { "h", 3600000 }, { "min", 60000 },
		{ "s", 1000 }, { "ms", 1 },
	};
	uint64_t v = (uint64_t)number * (own_unit[0] == 's' ? 1000 : 1);
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(units) && v % units[i].ms != 0)
		i++;
	if (v == 0)
		buf_put_char(b, '0');
	else
		buf_printf(b, "%llu%s", (unsigned long long)(v / units[i].ms),
		    units[i].name);
}

static void
put_range(struct buf *b, const struct setting *row)
{
	buf_put_text(b, " from ");
	for (int end = 0; end < 2; end++) {
		double v = end == 0 ? row->least : row->most;
		if (row->type == CONF_SIZE)
			put_size(b, v);
		else if (row->type == CONF_DURATION)
			put_duration(b, v, row->unit);
		else
			buf_printf(b, "%.0f", v);
		buf_put_text(b, end == 0 ? " to " : "");
	}
}

void
conf_accepts(const struct setting *row, struct buf *b)
{
	struct str rest = str_of(row->unit), word;

	switch (row->type) {
	case CONF_BOOL:
		buf_put_text(b, "on or off");
		break;
	case CONF_INT:
		buf_put_text(b, "a whole number");
		put_range(b, row);
		break;
	case CONF_DOUBLE:
		buf_put_text(b, "a number");
		put_range(b, row);
		break;
	case CONF_SIZE:
		buf_put_text(b, "a size like 64KiB");
		put_range(b, row);
		break;
	case CONF_DURATION:
		buf_printf(b, "a time like 30s, in whole %s,",
		    row->unit[0] == 's' ? "seconds" : "milliseconds");
		put_range(b, row);
		break;
	case CONF_STRING:
		buf_printf(b, "text of %.0f to %.0f bytes", row->least,
		    row->most);
		break;
	case CONF_LIST:
		buf_printf(b, "a list %s,... of at most %.0f bytes",
		    row->unit, row->most);
		break;
	case CONF_ADDRESS:
		buf_put_text(b, "ADDRESS:PORT, like 127.0.0.1:8001 or "
		    "[::1]:8001, or off");
		break;
	case CONF_CHOICE:
		buf_put_text(b, "one of");
		while (str_split(&rest, '|', &word))
			buf_printf(b, " %.*s%s", STR_FMT(word),
			    rest.p == NULL ? "" : ",");
		break;
	}
}

/* A value as a file may hold it: in quotes where it needs them. */
static void
put_value(struct buf *b, struct str s)
{
	bool quotes = s.n == 0 || !str_eq(str_trim(s), s) || s.p[0] == '"' ||
	    str_find_char(s, '#') < s.n || str_find_char(s, '\n') < s.n;

	if (!quotes) {
		buf_put_str(b, s);
		return;
	}
	buf_put_char(b, '"');
	for (size_t i = 0; i < s.n; i++) {
		size_t k = str_find_char(STR("\n\t\"\\"), s.p[i]);
		if (k < 4)
			buf_printf(b, "\\%c", "nt\"\\"[k]);
		else
			buf_put_char(b, s.p[i]);
	}
	buf_put_char(b, '"');
}

static struct str
printable(const struct conf *c, enum conf_id id)
{
	bool hide = (conf_setting(id)->flags & CONF_SECRET) != 0;

	return hide && conf_str(c, id).n > 0 ? STR("(secret)") :
	    conf_str(c, id);
}

void
conf_print(const struct conf *c, struct buf *b)
{
	for (size_t i = 0; i < conf_rows(); i++) {
		enum conf_id id = (enum conf_id)i;
		size_t start = b->n;
		if (conf_absent_door(id) != NULL)
			continue;
		buf_printf(b, "%s = ", conf_setting(id)->name);
		put_value(b, printable(c, id));
		while (b->n - start < 44)
			buf_put_char(b, ' ');
		buf_printf(b, "  # %s\n", conf_place(c, id));
	}
}

void
conf_print_json(const struct conf *c, struct buf *b)
{
	for (size_t i = 0; i < conf_rows(); i++) {
		enum conf_id id = (enum conf_id)i;
		if (conf_absent_door(id) != NULL)
			continue;
		buf_put_text(b, i == 0 ? "[\n" : ",\n");
		buf_put_text(b, "{\"name\":");
		text_json(b, str_of(conf_setting(id)->name));
		buf_put_text(b, ",\"value\":");
		text_json(b, printable(c, id));
		buf_put_text(b, ",\"origin\":");
		text_json(b, str_of(conf_place(c, id)));
		buf_put_text(b, ",\"default\":");
		text_json(b, str_of(conf_setting(id)->text));
		buf_put_char(b, '}');
	}
	buf_put_text(b, "\n]\n");
}

void
conf_example(struct buf *b)
{
	buf_put_text(b, "# The configuration of Argiope.  Every setting stands "
	    "here with its default.\n"
	    "# Stronger than this file: the environment "
	    "(ARGIOPE_FETCH_TRIES_MAX for\n"
	    "# fetch.tries_max), and --set fetch.tries_max=5 on the command "
	    "line.\n");
	for (size_t i = 0; i < conf_rows(); i++) {
		const struct setting *row = conf_setting((enum conf_id)i);
		const char *heading = conf_heading((enum conf_id)i);
		FREED(buf_free) struct buf note = BUF_INIT;
		if (conf_absent_door((enum conf_id)i) != NULL)
			continue;
		if (heading != NULL)
			buf_printf(b, "\n\n# ---- %s\n", heading);
		buf_printf(&note, "%s  (", row->help);
		conf_accepts(row, &note);
		buf_printf(&note, "%s)", row->flags & CONF_RESTART ?
		    "; at the next start" : "");
		buf_put_char(b, '\n');
		text_wrap(b, buf_str(&note), 0, "# ", 0);
		buf_printf(b, "#%s = ", row->name);
		put_value(b, str_of(row->text));
		buf_put_char(b, '\n');
	}
}

void
conf_man(struct buf *b)
{
	buf_put_text(b, ".SH SETTINGS\n");
	for (size_t i = 0; i < conf_rows(); i++) {
		const struct setting *row = conf_setting((enum conf_id)i);
		const char *heading = conf_heading((enum conf_id)i);
		FREED(buf_free) struct buf accepts = BUF_INIT;
		if (conf_absent_door((enum conf_id)i) != NULL)
			continue;
		if (heading != NULL) {
			buf_put_text(b, ".SS \"");
			text_troff(b, str_of(heading));
			buf_put_text(b, "\"\n");
		}
		buf_put_text(b, ".TP\n.B ");
		text_troff(b, str_of(row->name));
		buf_put_text(b, " = ");
		text_troff(b, row->text[0] == '\0' ? STR("(empty)") :
		    str_of(row->text));
		buf_put_char(b, '\n');
		text_troff(b, str_of(row->help));
		conf_accepts(row, &accepts);
		buf_put_text(b, "\nAccepts ");
		text_troff(b, buf_str(&accepts));
		buf_put_text(b, ".\n");
		if (row->flags & CONF_RESTART)
			buf_put_text(b, "Taken up at the next start.\n");
	}
}
