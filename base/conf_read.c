/* From text to values: single values, files, the environment, --set. */
#include "base/conf.h"

#include "base/ip.h"

#define SHOWN_MAX 60     /* bytes of somebody's text in a message */

struct unit {
	const char *name;
	int64_t times;
};

static const struct unit size_units[] = {
	{ "", 1 }, { "b", 1 },
	{ "kib", INT64_C(1) << 10 }, { "kb", 1000 },
	{ "mib", INT64_C(1) << 20 }, { "mb", 1000000 },
	{ "gib", INT64_C(1) << 30 }, { "gb", 1000000000 },
	{ "tib", INT64_C(1) << 40 }, { "tb", INT64_C(1000000000000) },
};

/* In milliseconds; a number alone counts in the setting's own unit. */
static const struct unit time_units[] = {
	{ "ms", 1 }, { "s", 1000 }, { "min", 60000 }, { "h", 3600000 },
	{ "d", 86400000 },
};

/* "10 MiB" in two parts: false when it does not begin with digits. */
static bool
number_and_unit(struct str s, int64_t *number, struct str *unit)
{
	size_t n = 0;

	while (n < s.n && ascii_is_digit(s.p[n]))
		n++;
	*unit = str_trim(str_from(s, n));
	return str_to_i64(str_cut(s, 0, n), number);
}

static bool
find_unit(const struct unit *units, size_t n, struct str name, int64_t *times)
{
	size_t i = str_find_row(name, units, n, sizeof(*units), str_eq_nocase);

	if (i < n)
		*times = units[i].times;
	return i < n;
}

bool
conf_read_size(struct str s, int64_t *out)
{
	int64_t number, times;
	struct str unit;

	return number_and_unit(s, &number, &unit) &&
	    find_unit(size_units, ARRAY_LEN(size_units), unit, &times) &&
	    !__builtin_mul_overflow(number, times, out);
}

/* Whole units only: "1500ms" is no time for a setting in seconds. */
static bool
read_duration(struct str s, const char *own_unit, int64_t *out)
{
	int64_t number, times, own, ms;
	struct str unit;

	if (!number_and_unit(s, &number, &unit) ||
	    !find_unit(time_units, ARRAY_LEN(time_units), str_of(own_unit),
	    &own))
		return false;
	if (unit.n == 0)
		unit = str_of(own_unit);
	if (!find_unit(time_units, ARRAY_LEN(time_units), unit, &times) ||
	    __builtin_mul_overflow(number, times, &ms) || ms % own != 0)
		return false;
	*out = ms / own;
	return true;
}

static bool
read_bool(struct str s, int64_t *out)
{
	static const char *const words[] = { "off", "on", "false", "true",
		"no", "yes", "0", "1" };
	size_t i = STR_ROW_NOCASE(s, words);

	*out = i & 1;
	return i < ARRAY_LEN(words);
}

static bool
read_choice(struct str s, const char *choices, int64_t *out)
{
	struct str rest = str_of(choices), word;

	for (*out = 0; str_split(&rest, '|', &word); (*out)++)
		if (str_eq(s, word))
			return true;
	return false;
}

static bool
is_ip(struct str s, bool v6)
{
	struct ip ip;

	return ip_from_text(s, &ip) && (str_find_char(s, ':') < s.n) == v6;
}

static bool
read_address(struct str s, int64_t *port)
{
	const char *colon = s.n == 0 ? NULL : memrchr(s.p, ':', s.n);

	*port = 0;
	if (s.n == 0 || str_eq(s, STR("off")))
		return true;
	if (colon == NULL)
		return false;
	struct str host = str_cut(s, 0, (size_t)(colon - s.p));
	struct str digits = str_from(s, host.n + 1);
	if (digits.n > 5 || !str_to_i64(digits, port) || *port < 0 ||
	    *port > 65535)
		return false;
	if (str_starts(host, STR("[")) && str_ends(host, STR("]")))
		return is_ip(str_cut(host, 1, host.n - 1), true);
	return is_ip(host, false) || str_eq(host, STR("localhost"));
}

/* Every word has as many parts as the form: HOST:PORT has two. */
static bool
words_fit(struct str list, const char *form)
{
	struct str word, rest, part;

	while (str_split(&list, ',', &word)) {
		struct str wanted = str_of(form);
		rest = word;
		while (str_split(&wanted, ':', &part))
			if (!str_split(&rest, ':', &part) || part.n == 0)
				return false;
	}
	return true;
}

static bool
within(const struct setting *row, double v)
{
	return v >= row->least && v <= row->most;
}

static bool
read_value(const struct setting *row, struct str s, struct conf_value *v)
{
	switch (row->type) {
	case CONF_BOOL:
		return read_bool(s, &v->number);
	case CONF_INT:
		return str_to_i64(s, &v->number) &&
		    within(row, (double)v->number);
	case CONF_DOUBLE:
		return str_to_double(s, &v->real) && within(row, v->real);
	case CONF_SIZE:
		return conf_read_size(s, &v->number) &&
		    within(row, (double)v->number);
	case CONF_DURATION:
		return read_duration(s, row->unit, &v->number) &&
		    within(row, (double)v->number);
	case CONF_ADDRESS:
		return read_address(s, &v->number);
	case CONF_CHOICE:
		return read_choice(s, row->unit, &v->number);
	case CONF_LIST:
		if (s.n > 0 && !words_fit(s, row->unit))
			return false;
		break;
	case CONF_STRING:
		break;
	}
	return within(row, (double)s.n);
}

static bool
has_control(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20 && s.p[i] != '\t' &&
		    s.p[i] != '\n')
			return true;
	return false;
}

/* Somebody's text for a message: short, and without control bytes. */
static const char *
shown(struct str s, char out[static SHOWN_MAX + 4])
{
	size_t n = MIN(s.n, SHOWN_MAX);

	for (size_t i = 0; i < n; i++)
		out[i] = (unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f ? '?' :
		    s.p[i];
	memcpy(out + n, n < s.n ? "..." : "", n < s.n ? 4 : 1);
	return out;
}

static enum err
refuse(const struct setting *row, struct str value, const char *place,
    struct why *w)
{
	FREED(buf_free) struct buf accepted = BUF_INIT;
	char text[SHOWN_MAX + 4];
	bool secret = row->flags & CONF_SECRET;

	conf_accepts(row, &accepted);
	return why(w, ERR_CONFIG, "%s%s%s = \"%s\": must be %s", place == NULL ?
	    "" : place, place == NULL ? "" : ": ", row->name, secret ?
	    "(secret)" : shown(value, text), buf_text(&accepted));
}

static void
store(struct conf_value *at, struct conf_value *v, struct str text,
    enum conf_origin origin, const char *place)
{
	mem_free(&at->text);
	mem_free(&at->place);
	v->text = mem_new(text.n + 1);
	if (text.n > 0)
		memcpy(v->text, text.p, text.n);
	v->origin = origin;
	v->place = place == NULL ? NULL : mem_copy_text(place);
	*at = *v;
}

/* Append the words of a list, without blanks and empty ones. */
static void
put_words(struct buf *out, struct str list)
{
	struct str word;

	while (str_split(&list, ',', &word)) {
		word = str_trim(word);
		if (word.n == 0)
			continue;
		if (out->n > 0)
			buf_put_char(out, ',');
		buf_put_str(out, word);
	}
}

enum err
conf_put(struct conf *c, enum conf_id id, struct str value,
    enum conf_origin origin, const char *place, struct why *w)
{
	const struct setting *row = conf_setting(id);
	struct conf_value *at = &c->values[id];
	struct conf_value v = { NULL, 0, 0, CONF_FROM_DEFAULT, NULL };
	FREED(buf_free) struct buf joined = BUF_INIT;
	struct str whole = value = str_trim(value);
	const char *absent = conf_absent_door(id);
	enum err e = OK;

	if (absent != NULL && origin != CONF_FROM_DEFAULT)
		return why(w, ERR_CONFIG, "%s: %s cannot be set, because this "
		    "argiope was built without the %s door; remove the setting",
		    place == NULL ? "--set" : place, row->name, absent);
	if (row->type == CONF_LIST && value.n > 0) {
		if (at->origin == origin && at->text != NULL)
			buf_put_text(&joined, at->text);
		put_words(&joined, value);
		whole = buf_str(&joined);
	}
	if (has_control(whole) || !read_value(row, whole, &v))
		e = refuse(row, value, place, w);
	else if (origin >= at->origin)
		store(at, &v, whole, origin, place);
	return e;
}

static enum err
unknown(struct str name, const char *place, struct why *w)
{
	const char *near = conf_nearest(name);
	char text[SHOWN_MAX + 4];

	return why(w, ERR_CONFIG, "%s: no setting is named \"%s\"%s%s%s", place,
	    shown(name, text), near == NULL ? "" : "; did you mean ",
	    near == NULL ? "" : near, near == NULL ? "" : "?");
}

static enum err
put_named(struct conf *c, struct str name, struct str value,
    enum conf_origin origin, const char *place, struct why *w)
{
	enum conf_id id;

	return conf_find(name, &id) ? conf_put(c, id, value, origin, place, w) :
	    unknown(name, place, w);
}

/*
 * Take the quoted text off `*s`, which begins behind the opening quote.  False
 * when the closing one is missing or an escape is unknown.
 */
static bool
unquote(struct str *s, struct buf *out)
{
	for (; s->n > 0 && s->p[0] != '"'; *s = str_from(*s, 1)) {
		if (s->p[0] != '\\') {
			buf_put_char(out, s->p[0]);
			continue;
		}
		*s = str_from(*s, 1);
		size_t k = s->n == 0 ? 4 : str_find_char(STR("nt\"\\"),
		    s->p[0]);
		if (k == 4)
			return false;
		buf_put_char(out, "\n\t\"\\"[k]);
	}
	bool closed = s->n > 0;
	*s = str_from(*s, 1);
	return closed;
}

/* A value without quotes ends at a "#" behind a blank. */
static struct str
without_comment(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '#' && (i == 0 || ascii_is_space(s.p[i - 1])))
			return str_trim(str_cut(s, 0, i));
	return s;
}

static enum err
read_line(struct conf *c, struct str line, const char *place,
    struct buf *quoted, struct why *w)
{
	size_t equals = str_find_char(line, '=');

	if (equals == line.n)
		return why(w, ERR_CONFIG, "%s: must be \"name = value\"%s",
		    place, line.p[0] == '[' ? "; there are no sections, a "
		    "name is written whole" : "");
	struct str name = str_trim(str_cut(line, 0, equals));
	struct str value = str_trim(str_from(line, equals + 1));
	if (!str_starts(value, STR("\"")))
		return put_named(c, name, without_comment(value),
		    CONF_FROM_FILE, place, w);
	buf_clear(quoted);
	struct str rest = str_from(value, 1);
	if (!unquote(&rest, quoted) || without_comment(str_trim(rest)).n > 0)
		return why(w, ERR_CONFIG, "%s: the quoted value must end in \" "
		    "and escape only \\\" \\\\ \\n \\t", place);
	return put_named(c, name, buf_str(quoted), CONF_FROM_FILE, place, w);
}

enum err
conf_file(struct conf *c, struct str text, const char *file, struct why *w)
{
	FREED(buf_free) struct buf quoted = BUF_INIT, place = BUF_INIT;
	struct str line;
	enum err e = OK;

	if (text.n > CONF_FILE_BYTES_MAX)
		return why(w, ERR_CONFIG, "%s: is longer than %zu bytes", file,
		    CONF_FILE_BYTES_MAX);
	if (str_starts(text, STR("\xef\xbb\xbf")))
		text = str_from(text, 3);
	for (size_t n = 1; e == OK && str_split(&text, '\n', &line); n++) {
		line = str_trim(line);
		if (line.n == 0 || line.p[0] == '#')
			continue;
		buf_clear(&place);
		buf_printf(&place, "%s:%zu", file, n);
		e = read_line(c, line, buf_text(&place), &quoted, w);
	}
	return e;
}

void
conf_env_name(const char *name, struct buf *out)
{
	buf_put_text(out, "ARGIOPE_");
	for (; *name != '\0'; name++)
		buf_put_char(out, *name == '.' ? '_' :
		    *name >= 'a' && *name <= 'z' ? (char)(*name - 'a' + 'A') :
		    *name);
}

/* How a variable's name stands to the table. */
enum env_match { ENV_FOREIGN, ENV_SLIP, ENV_SETTING };

/*
 * ARGIOPE_FETCH_TRYS begins like a group and is no setting: a slip.
 * ARGIOPE_BUILD begins like none: somebody else's.
 */
static enum env_match
match_env(struct str name, enum conf_id *id)
{
	enum env_match found = ENV_FOREIGN;
	FREED(buf_free) struct buf env = BUF_INIT;

	for (size_t i = 0; i < conf_rows() && found != ENV_SETTING; i++) {
		const char *setting = conf_setting((enum conf_id)i)->name;
		size_t group = strlen("ARGIOPE_") + strcspn(setting, ".") + 1;
		buf_clear(&env);
		conf_env_name(setting, &env);
		if (str_eq(name, buf_str(&env))) {
			*id = (enum conf_id)i;
			found = ENV_SETTING;
		} else if (group < env.n && str_starts(name,
		    str_cut(buf_str(&env), 0, group)))
			found = ENV_SLIP;
	}
	return found;
}

/* "fetch.trys" for ARGIOPE_FETCH_TRYS, to find the name that was meant. */
static enum err
refuse_env(struct str name, const char *place, struct why *w)
{
	FREED(buf_free) struct buf setting = BUF_INIT;

	buf_put_str(&setting, str_from(name, strlen("ARGIOPE_")));
	for (size_t i = 0; i < setting.n; i++)
		setting.p[i] = ascii_lower(setting.p[i]);
	size_t dot = str_find_char(buf_str(&setting), '_');
	if (dot < setting.n)
		setting.p[dot] = '.';
	return unknown(buf_str(&setting), place, w);
}

enum err
conf_env(struct conf *c, const char *const *environment, struct why *w)
{
	FREED(buf_free) struct buf place = BUF_INIT;
	enum conf_id id;
	enum err e = OK;

	for (; e == OK && *environment != NULL; environment++) {
		struct str value = str_of(*environment), name;
		if (!str_starts(value, STR("ARGIOPE_")) ||
		    !str_split(&value, '=', &name))
			continue;
		buf_clear(&place);
		buf_put_str(&place, name);
		enum env_match match = match_env(name, &id);
		if (match == ENV_SETTING)
			e = conf_put(c, id, value, CONF_FROM_ENV,
			    buf_text(&place), w);
		else if (match == ENV_SLIP)
			e = refuse_env(name, buf_text(&place), w);
	}
	return e;
}

enum err
conf_flag(struct conf *c, struct str assignment, struct why *w)
{
	size_t equals = str_find_char(assignment, '=');
	char text[SHOWN_MAX + 4];

	if (equals == assignment.n)
		return why(w, ERR_CONFIG, "--set %s: must be NAME=VALUE",
		    shown(assignment, text));
	return put_named(c, str_trim(str_cut(assignment, 0, equals)),
	    str_from(assignment, equals + 1), CONF_FROM_FLAG, "--set", w);
}
