#include "doors/realtime/command.h"

#include <math.h>
#include <stdarg.h>

#include "base/json.h"
#include "base/json_writer.h"

/* Bytes of an unknown name that an error quotes. */
#define SHOWN_MAX 100

static const char *const codes[] = {
	REALTIME_CODES(TABLE_SECOND)
};

const char *
code_text(enum code c)
{
	return codes[c];
}

const struct command_row command_rows[] = {
#define ROW(id, handler, name, right, must, may, help) \
	{ name, RIGHT_##right, must, (must) | (may), help },
	REALTIME_COMMANDS(ROW)
#undef ROW
};

static const char *const right_texts[] = { "read", "write", "harvest:read",
	"harvest:write" };

/* Aliases of commands. */
static const struct {
	const char *name;
	enum verb verb;
} aliases[] = {
	{ "job.start", VERB_START_CRAWL },
	{ "subscribe_crawl_status", VERB_SUBSCRIBE_STATS },
};

enum arg_type { TYPE_ID, TYPE_COUNT, TYPE_NUMBER, TYPE_BOOL, TYPE_TEXT,
    TYPE_TEXTS, TYPE_SEEDS, TYPE_VALUE };
static const struct arg_row {
	const char *name;
	enum arg_type type;
	size_t offset;               /* in struct command */
	const char *help;
} arg_rows[] = {
#define ROW(id, name, type, member, help) \
	{ name, TYPE_##type, offsetof(struct command, member), help },
	REALTIME_ARGS(ROW)
#undef ROW
};
_Static_assert(ARG_COUNT <= 64, "they are bits of a number");

bool
command_refuse(struct command *c, enum code code, const char *fmt, ...)
{
	va_list ap;

	if (c->code != CODE_OK)
		return false;
	c->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(c->text, sizeof(c->text), fmt, ap);
	va_end(ap);
	return false;
}

/* --- values ------------------------------------------------------------- */

/* Numbers nearly as JSON has them: no hexadecimal, no "inf" or "nan". */
static bool
read_decimal(struct str s, double *out)
{
	s = str_trim(s);
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_digit(s.p[i]) &&
		    !str_has_char(STR("+-.eE"), s.p[i]))
			return false;
	return str_to_double(s, out);
}

static bool
read_number(struct command *c, const char *name, yyjson_val *v, double *out)
{
	if (yyjson_is_raw(v))
		return command_refuse(c, CODE_BAD_ARGS,
		    "%s: the number is too large.", name);
	if (yyjson_is_num(v))
		*out = yyjson_get_num(v);
	else if (!yyjson_is_str(v) || !read_decimal(json_text(v), out))
		return command_refuse(c, CODE_BAD_ARGS,
		    "%s: a number is expected.", name);
	if (!isfinite(*out))
		return command_refuse(c, CODE_BAD_ARGS,
		    "%s: a finite number is expected.", name);
	if (*out < 0)
		return command_refuse(c, CODE_BAD_ARGS,
		    "%s: the number is negative.", name);
	return true;
}

static bool
read_whole(struct command *c, const char *name, yyjson_val *v, uint64_t *out)
{
	double d;

	if (!read_number(c, name, v, &d))
		return false;
	if (d != floor(d))
		return command_refuse(c, CODE_BAD_ARGS,
		    "%s: a whole number is expected.", name);
	if (d > (double)COMMAND_ID_MAX)
		return command_refuse(c, CODE_BAD_ARGS,
		    "%s: the number is too large.", name);
	*out = (uint64_t)d;
	return true;
}

static bool
read_text(struct command *c, const char *name, yyjson_val *v, struct str *out)
{
	if (!yyjson_is_str(v))
		return command_refuse(c, CODE_BAD_ARGS,
		    "%s: a text is expected.", name);
	*out = json_text(v);
	return true;
}

static bool
read_texts(struct command *c, const char *name, yyjson_val *list,
    struct command_texts *out)
{
	size_t i, n;
	yyjson_val *v;

	if (!yyjson_is_arr(list))
		return command_refuse(c, CODE_BAD_ARGS,
		    "%s: a list of texts is expected.", name);
	if (yyjson_arr_size(list) > COMMAND_URLS_MAX)
		return command_refuse(c, CODE_LIMIT,
		    "%s: there are more than %u.", name, COMMAND_URLS_MAX);
	out->p = ARENA_ARRAY(&c->arena, struct str, yyjson_arr_size(list));
	yyjson_arr_foreach(list, i, n, v) {
		if (!yyjson_is_str(v) || yyjson_get_len(v) == 0)
			return command_refuse(c, CODE_BAD_ARGS,
			    "%s[%zu]: a text is expected.", name, i);
		out->p[out->n++] = json_text(v);
	}
	return true;
}

/* --- seeds -------------------------------------------------------------- */

static bool
read_seed_field(struct command *c, size_t i, yyjson_val *key, yyjson_val *v,
    struct launch_seed *s)
{
	struct str k = json_text(key);
	char name[64];

	if (str_eq(k, STR("url"))) {
		if (!yyjson_is_str(v) && !yyjson_is_null(v))
			return command_refuse(c, CODE_BAD_ARGS,
			    "seeds[%zu].url: a text is expected.", i);
		s->url = yyjson_is_str(v) ? json_text(v) : STR_NONE;
		return true;
	}
	if (!str_eq(k, STR("rate_limit")))
		return command_refuse(c, CODE_BAD_ARGS,
		    "seeds[%zu]: there is no field \"%.*s\".", i,
		    STR_FMT(str_cut(k, 0, SHOWN_MAX)));
	if (json_is_absent(v))
		return true;
	(void)snprintf(name, sizeof(name), "seeds[%zu].rate_limit", i);
	return read_number(c, name, v, &s->rate_limit);
}

static bool
read_seed(struct command *c, size_t i, yyjson_val *v)
{
	struct launch_seed *s = &c->seeds[c->seeds_n++];
	yyjson_val *key, *value;
	size_t at, n;

	s->rate_limit = -1;
	if (yyjson_is_str(v)) {
		s->url = json_text(v);
	} else if (yyjson_is_obj(v)) {
		yyjson_obj_foreach(v, at, n, key, value)
			if (!read_seed_field(c, i, key, value, s))
				return false;
	} else {
		return command_refuse(c, CODE_BAD_ARGS,
		    "seeds[%zu]: an object with a url is expected.", i);
	}
	return s->url.n > 0 ? true : command_refuse(c, CODE_BAD_ARGS,
	    "seeds[%zu]: the url is missing.", i);
}

static bool
read_seeds(struct command *c, yyjson_val *list)
{
	size_t i, n = yyjson_arr_size(list);
	yyjson_val *v;

	if (!yyjson_is_arr(list))
		return command_refuse(c, CODE_BAD_ARGS,
		    "seeds: a list is expected.");
	if (n == 0)
		return command_refuse(c, CODE_BAD_ARGS,
		    "seeds: at least one is needed.");
	if (n > SEED_LIST_MAX)
		return command_refuse(c, CODE_LIMIT,
		    "seeds: there are more than %u.", SEED_LIST_MAX);
	c->seeds = ARENA_ARRAY(&c->arena, struct launch_seed, n);
	yyjson_arr_foreach(list, i, n, v)
		if (!read_seed(c, i, v))
			return false;
	return true;
}

/* --- arguments ---------------------------------------------------------- */

static bool
read_arg(struct command *c, const struct arg_row *a, yyjson_val *v)
{
	void *at = (char *)c + a->offset;

	switch (a->type) {
	case TYPE_ID:
	case TYPE_COUNT:
		return read_whole(c, a->name, v, at);
	case TYPE_NUMBER:
		return read_number(c, a->name, v, at);
	case TYPE_BOOL:
		*(bool *)at = yyjson_is_true(v);
		return yyjson_is_bool(v) ? true : command_refuse(c,
		    CODE_BAD_ARGS, "%s: true or false is expected.", a->name);
	case TYPE_TEXT:
		return read_text(c, a->name, v, at);
	case TYPE_TEXTS:
		return read_texts(c, a->name, v, at);
	case TYPE_SEEDS:
		return read_seeds(c, v);
	case TYPE_VALUE:
		*(yyjson_val **)at = v;
	}
	return true;
}

/* Finds the command's argument of that name.  ARG_COUNT: it has none. */
static enum arg
find_arg(uint64_t may, struct str name)
{
	size_t i = 0;

	if (str_eq(name, STR("job_id")))
		name = STR("crawl_id");
	while (i < ARG_COUNT && !((may >> i & 1) != 0 &&
	    str_eq(name, str_of(arg_rows[i].name))))
		i++;
	return (enum arg)i;
}

static bool
read_given(struct command *c, yyjson_val *args)
{
	const struct command_row *row = &command_rows[c->verb];
	yyjson_val *key, *v;
	size_t i, n;

	yyjson_obj_foreach(args, i, n, key, v) {
		enum arg a = find_arg(row->may, json_text(key));
		if (a == ARG_COUNT)
			return command_refuse(c, CODE_BAD_ARGS,
			    "%s takes no argument \"%.*s\".", row->name,
			    STR_FMT(str_cut(json_text(key), 0, SHOWN_MAX)));
		if (json_is_absent(v))
			continue;
		/* It was given already, maybe by another name. */
		if (c->given >> a & 1)
			return command_refuse(c, CODE_BAD_ARGS,
			    "%s: it is given twice.", arg_rows[a].name);
		if (!read_arg(c, &arg_rows[a], v))
			return false;
		c->given |= (uint64_t)1 << a;
	}
	return true;
}

static bool
read_args(struct command *c, yyjson_val *args)
{
	const struct command_row *row = &command_rows[c->verb];

	if (yyjson_is_obj(args) && !read_given(c, args))
		return false;
	for (size_t i = 0; i < ARG_COUNT; i++)
		if ((row->must & ~c->given) >> i & 1)
			return command_refuse(c, CODE_BAD_ARGS,
			    "%s: it is missing.", arg_rows[i].name);
	return true;
}

static bool
check_limits(struct command *c)
{
	if (c->name.n > STORE_NAME_BYTES_MAX)
		return command_refuse(c, CODE_LIMIT,
		    "name: it is longer than %u bytes.", STORE_NAME_BYTES_MAX);
	if (c->tags.n > STORE_TAGS_MAX)
		return command_refuse(c, CODE_LIMIT,
		    "tags: there are more than %u.", STORE_TAGS_MAX);
	for (size_t i = 0; i < c->tags.n; i++)
		if (c->tags.p[i].n > STORE_TAG_BYTES_MAX)
			return command_refuse(c, CODE_LIMIT,
			    "tags[%zu]: it is longer than %u bytes.", i,
			    STORE_TAG_BYTES_MAX);
	if (c->size > COMMAND_LIST_MAX || c->hosts > COMMAND_LIST_MAX ||
	    c->urls_max > COMMAND_LIST_MAX)
		return command_refuse(c, CODE_LIMIT,
		    "At most %u are told at once.", COMMAND_LIST_MAX);
	return true;
}

/* --- the envelope ------------------------------------------------------- */

/* The nesting depth of brackets outside of strings. */
static unsigned
depth_of(struct str s)
{
	unsigned depth = 0, most = 0;
	bool text = false;

	for (size_t i = 0; i < s.n; i++) {
		char ch = s.p[i];
		if (text) {
			if (ch == '\\')
				i++;
			text = ch != '"';
		} else if (ch == '"') {
			text = true;
		} else if (ch == '{' || ch == '[') {
			depth++;
			most = MAX(most, depth);
		} else if ((ch == '}' || ch == ']') && depth > 0) {
			depth--;
		}
	}
	return most;
}

static yyjson_doc *
read_json(struct str s, yyjson_read_flag flags)
{
	/* yyjson does not write to it without YYJSON_READ_INSITU. */
	return yyjson_read_opts((char *)(uintptr_t)s.p, s.n, flags, NULL, NULL);
}

/*
 * Echoes a value.  Numbers are read again as texts, so that they come back as
 * they were written.  False: it is longer than an echo may be.
 */
static bool
echo_id(struct command *c, struct str message, yyjson_val *id)
{
	yyjson_doc *raw = NULL;
	size_t n = 0;

	if (!yyjson_is_str(id) && !yyjson_is_null(id) && !yyjson_is_bool(id)) {
		raw = read_json(message, YYJSON_READ_NUMBER_AS_RAW);
		id = yyjson_obj_get(yyjson_doc_get_root(raw), "command_id");
	}
	char *text = yyjson_val_write(id, 0, &n);
	bool fits = n <= COMMAND_ECHO_BYTES_MAX;
	if (text != NULL && fits) {
		buf_clear(&c->id);
		buf_put(&c->id, text, n);
	}
	free(text);
	yyjson_doc_free(raw);
	return fits || command_refuse(c, CODE_LIMIT,
	    "command_id: it is longer than %u bytes.", COMMAND_ECHO_BYTES_MAX);
}

static bool
find_verb(struct command *c, struct str name)
{
	size_t row = str_find_row(name, command_rows, VERB_COUNT,
	    sizeof(command_rows[0]), str_eq);
	size_t alias = STR_ROW(name, aliases);

	if (row < VERB_COUNT)
		c->verb = (enum verb)row;
	else if (alias < ARRAY_LEN(aliases))
		c->verb = aliases[alias].verb;
	else
		return command_refuse(c, CODE_UNKNOWN_COMMAND,
		    "Invalid command: %.*s",
		    STR_FMT(str_cut(name, 0, SHOWN_MAX)));
	return true;
}

static bool
read_envelope(struct command *c, struct str message, unsigned rights)
{
	yyjson_val *root = yyjson_doc_get_root(c->doc);

	if (!yyjson_is_obj(root))
		return command_refuse(c, CODE_BAD_MESSAGE,
		    "The message is not a JSON object.");
	yyjson_val *id = yyjson_obj_get(root, "command_id");
	yyjson_val *name = yyjson_obj_get(root, "command");
	yyjson_val *args = yyjson_obj_get(root, "args");
	bool deep = depth_of(message) > COMMAND_DEPTH_MAX;
	if (id != NULL && (!deep || !yyjson_is_ctn(id)) &&
	    !echo_id(c, message, id))
		return false;
	if (deep)
		return command_refuse(c, CODE_LIMIT,
		    "The message is nested deeper than %u.",
		    COMMAND_DEPTH_MAX);
	if (!yyjson_is_str(name))
		return command_refuse(c, CODE_BAD_MESSAGE,
		    "The message has no \"command\", which is a text.");
	if (id == NULL)
		return command_refuse(c, CODE_BAD_MESSAGE,
		    "The message has no \"command_id\".");
	if (!find_verb(c, json_text(name)))
		return false;
	enum right right = command_rows[c->verb].right;
	if (right == RIGHT_WRITE && (rights & RIGHT_BIT(right)) == 0)
		return command_refuse(c, CODE_FORBIDDEN,
		    "The token may not do that: it is for reading only.");
	if (right > RIGHT_WRITE && (rights & RIGHT_BIT(right)) == 0)
		return command_refuse(c, CODE_FORBIDDEN,
		    "The token may not do that: it has no scope %s.",
		    right_texts[right]);
	if (args != NULL && !yyjson_is_null(args) && !yyjson_is_obj(args))
		return command_refuse(c, CODE_BAD_ARGS,
		    "args: an object is expected.");
	return read_args(c, args) && check_limits(c);
}

void
command_read(struct str message, unsigned rights, struct command *c)
{
	*c = (struct command){ .verb = VERB_COUNT, .id = BUF_INIT,
	    .rights = rights };

	buf_put_str(&c->id, STR("null"));
	/* The memory of yyjson's reader grows with length, not depth. */
	c->doc = read_json(message, YYJSON_READ_BIGNUM_AS_RAW);
	if (c->doc == NULL)
		(void)command_refuse(c, CODE_BAD_JSON,
		    "The message is not JSON.");
	else
		(void)read_envelope(c, message, rights);
}

void
command_free(struct command *c)
{
	yyjson_doc_free(c->doc);
	arena_free(&c->arena);
	buf_free(&c->id);
	c->doc = NULL;
}

/* --- help --------------------------------------------------------------- */

static void
help_of(const struct command_row *row, struct buf *out)
{
	json_object(out, NULL);
	json_str(out, "command", str_of(row->name));
	json_str(out, "help", str_of(row->help));
	json_str(out, "right", str_of(right_texts[row->right]));
	json_object(out, "args");
	for (size_t i = 0; i < ARG_COUNT; i++) {
		if ((row->may >> i & 1) == 0)
			continue;
		json_object(out, arg_rows[i].name);
		json_str(out, "help", str_of(arg_rows[i].help));
		json_bool(out, "required", row->must >> i & 1);
		buf_put_char(out, '}');
	}
	buf_put_text(out, "}}");
}

void
command_help(struct buf *out)
{
	buf_put_char(out, '[');
	for (size_t i = 0; i < VERB_COUNT; i++)
		help_of(&command_rows[i], out);
	buf_put_char(out, ']');
}
