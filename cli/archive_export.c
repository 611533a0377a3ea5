/* argiope archive export -- tables of what social media WARCs contain. */
#include "base/json_writer.h"
#include "cli/export_order.h"
#include "cli/format.h"
#include "cli/verbs.h"

#define EXPORT_OPTIONS(X)                                                    \
	X(INTO, "into", 0, "DIR", PATH, 0, 0,                                \
	    "write files into DIR, named as its last part is, such as "      \
	    "tweets_001.csv; an older export there is replaced")             \
	X(OUTPUT, "output", 'o', "-", TEXT, 0, 0,                            \
	    "write to standard output, as without --into")                   \
	X(SEGMENT, "segment", 0, "N", NUMBER, 0, INT64_MAX,                  \
	    "so many items a file; 0: all in one")                           \
	X(COLUMNS, "columns", 0, "NAME,...", TEXT, 0, 0,                     \
	    "these columns of a table, in this order")                       \
	X(DELETES, "honour-deletes", 0, "yes|no", CHOICE, 0, 0,              \
	    "leave out what was deleted later, as the same WARCs say; the "  \
	    "default is yes for mastodon_stream and bluesky types")          \
	X(README, "readme", 0, NULL, FLAG, 0, 0,                             \
	    "write README.txt: filters, counts by day, WARC files, columns") \
	X(JOBS, "jobs", 'j', "N", NUMBER, 0, 256,                            \
	    "read N files at a time; 0, the default: one for each processor")

static const struct option_row rows[] = {
	EXPORT_ORDER_OPTIONS(OPTION_ROW) EXPORT_OPTIONS(OPTION_ROW)
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW)
};

const struct option_verb archive_export_verb = {
	"archive export", "FORMAT PATH...", 2, OPERANDS_ANY,
	"Make tables of the posts in social media WARCs",
	"FORMAT is csv, tsv, xlsx, html, json (columns as JSON), json_full "
	"(whole items) or dehydrate (ids).  PATH is a WARC file or a "
	"directory of them, of Argiope or of Social Feed Manager.  Files are "
	"read in the order given, those of a directory by name.  --type is "
	"needed only where items of several kinds are found.\n"
	"What could not be read is named on standard error and left out.  "
	"Nothing at DIR changes before all is written.\n"
	"Example: argiope archive export csv warcs/ --dedupe > tweets.csv\n"
	"Exit code: 0; 64 a wrong option; 65 there are items of several "
	"kinds, or their table has no such column or form; 66 a PATH or WARC "
	"file is not there, the rest was written; 70 something is damaged, "
	"the rest was written; 73 DIR contains other files than an export's; "
	"74 reading or writing failed.",
	rows, ARRAY_LEN(rows)
};

static enum err
write_out(void *arg, struct str s, struct why *w)
{
	(void)arg;
	if (fwrite(s.p, 1, s.n, stdout) == s.n)
		return OK;
	/* Who reads `export | head` has seen enough. */
	return why(w, ERR_CLOSED, "nobody reads");
}

static enum err
read_columns(struct cli *c, struct export_order *o, struct why *w)
{
	struct str *columns = NULL, name;
	size_t cap = 0;

	for (size_t i = 0; i < cli_count(c, "columns"); i++) {
		struct str rest = str_of(cli_nth(c, "columns", i));
		while (str_split(&rest, ',', &name)) {
			columns = arena_grow(&c->arena, columns,
			    o->columns_n, &cap, 16, sizeof(*columns));
			columns[o->columns_n++] = name;
		}
	}
	o->columns = columns;
	return o->columns_n == 0 || export_format_is_table(o->format) ? OK :
	    why(w, ERR_USAGE, "--columns is for tables, and %s is none",
	    c->options.operands[0]);
}

/* The command, for README.txt: options as given, then operands. */
static const char *
command_text(struct cli *c)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	const struct option_verb *verb = c->options.verb;

	buf_printf(&b, CLI_PROGRAM " %s", verb->name);
	for (size_t i = 0; i < verb->rows_n; i++)
		for (size_t k = 0; k < option_count(&c->options, i); k++) {
			buf_printf(&b, " --%s", verb->rows[i].name);
			if (verb->rows[i].value == NULL)
				continue;
			buf_put_char(&b, ' ');
			format_shell(&b, c->options.given[i].texts[k]);
		}
	for (size_t i = 0; i < c->options.operands_n; i++) {
		buf_put_char(&b, ' ');
		format_shell(&b, c->options.operands[i]);
	}
	return arena_copy(&c->arena, buf_str(&b)).p;
}

static void
read_rest(struct cli *c, struct export_order *o)
{
	static const enum export_deletes deletes[] = {
		EXPORT_DELETES_HONOUR, EXPORT_DELETES_IGNORE };

	o->segment = (uint64_t)cli_number(c, "segment", 0);
	o->jobs = (unsigned)cli_number(c, "jobs", 0);
	o->readme = cli_count(c, "readme") > 0;
	if (cli_count(c, "honour-deletes") > 0)
		o->deletes = deletes[cli_number(c, "honour-deletes", 0)];
	o->command = command_text(c);
}

static enum err
read_place(struct cli *c, struct export_order *o, struct why *w)
{
	const char *output = cli_text(c, "output", "-");

	o->into = cli_text(c, "into", NULL);
	o->write = write_out;
	if (strcmp(output, "-") != 0)
		return why(w, ERR_USAGE, "--output is - for standard output; "
		    "files are written by --into");
	if (o->into != NULL && cli_count(c, "output") > 0)
		return why(w, ERR_USAGE, "--into and --output exclude one "
		    "another");
	if (o->into == NULL && !export_format_is_stream(o->format))
		return why(w, ERR_USAGE, "xlsx needs --into");
	if (o->into == NULL && (o->segment > 0 || cli_json(c) || o->readme))
		return why(w, ERR_USAGE, "--segment, --readme and --json need "
		    "--into");
	if (o->into != NULL) {
		struct str dir = str_of(o->into);
		while (dir.n > 1 && dir.p[dir.n - 1] == '/')
			dir.n--;
		o->id = archive_base_name(dir);
	}
	return OK;
}

static void
put_notes(const struct export_notes *notes, struct buf *b)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	json_array(b, "notes");
	for (size_t i = 0; i < notes->n; i++) {
		buf_clear(&text);
		export_note_put(&notes->list[i], &text);
		json_object(b, NULL);
		json_str(b, "code",
		    str_of(export_code_text(notes->list[i].code)));
		json_str(b, "message", buf_str(&text));
		json_u64(b, "count", notes->list[i].count);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
	json_u64(b, "notes_dropped", notes->dropped);
}

static void
put_json(const struct export_order *o, const struct export_result *r,
    struct buf *b)
{
	const struct export_counts *n = &r->counts;

	json_object(b, NULL);
	json_str(b, "into", str_of(o->into));
	if (r->items != NULL)
		json_str(b, "type", str_of(item_type_name(r->items)));
	json_u64(b, "warcs", o->files_n - n->missing);
	json_u64(b, "records", n->records);
	json_u64(b, "items", n->items);
	json_u64(b, "outside", n->outside);
	json_u64(b, "duplicates", n->duplicates);
	json_u64(b, "deleted", n->deleted);
	json_u64(b, "written", n->rows);
	json_u64(b, "files", n->files);
	json_u64(b, "bytes", n->bytes);
	put_notes(&r->notes, b);
	buf_put_text(b, "}\n");
}

static void
put_text(const struct export_order *o, const struct export_result *r,
    struct buf *b)
{
	const struct export_counts *n = &r->counts;
	char count[FORMAT_MAX], bytes[FORMAT_MAX];

	buf_printf(b, "%s: %s %s in %llu file%s, %s", o->into,
	    format_count(n->rows, count), r->items != NULL ? r->items->label :
	    "items", (unsigned long long)n->files, n->files == 1 ? "" : "s",
	    format_bytes(n->bytes, bytes));
	if (n->duplicates > 0)
		buf_printf(b, "; %s found again", format_count(n->duplicates,
		    count));
	if (n->outside > 0)
		buf_printf(b, "; %s of other dates or accounts",
		    format_count(n->outside, count));
	if (n->deleted > 0)
		buf_printf(b, "; %s deleted later", format_count(n->deleted,
		    count));
	buf_put_char(b, '\n');
}

enum err
archive_export_run(struct cli *c, struct why *w)
{
	struct export_order o = { .format = export_format_find(
	    str_of(c->options.operands[0])) };
	struct export_result r;
	bool missing;

	if (o.format == NULL)
		return why(w, ERR_USAGE, "%.60s is no format; they are %s",
		    c->options.operands[0], export_format_names());
	read_rest(c, &o);
	enum err e = read_place(c, &o, w);
	if (e == OK)
		e = read_columns(c, &o, w);
	if (e == OK)
		e = export_order_read(c, 1, &o, &missing, w);
	if (e != OK)
		return e;
	e = export_run(&o, &r, w);
	export_order_tell(&r.notes);
	if (e == OK && o.into != NULL && cli_json(c))
		put_json(&o, &r, &c->out);
	else if (e == OK && o.into != NULL)
		put_text(&o, &r, &c->out);
	c->code = export_order_code(&r, missing);
	export_result_free(&r);
	return e == ERR_CLOSED ? OK : e;
}
