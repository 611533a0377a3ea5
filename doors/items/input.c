#include "doors/items/input.h"

#include "base/text.h"

#define READ_FLAGS YYJSON_READ_BIGNUM_AS_RAW

struct input
input_of(struct exchange *x)
{
	return (struct input){ .x = x, .why = WHY_INIT };
}

void
input_fault(struct input *in, enum err e, const char *field, const char *text)
{
	if (in->e == OK)
		in->e = why_field(&in->why, e, field, "%s", text);
}

/* A member that nobody asked for is a slip of the client's. */
static void
check_members(struct input *in)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(in->root);
	yyjson_val *key;

	while (in->e == OK && (key = yyjson_obj_iter_next(&iter)) != NULL) {
		struct str name = json_text(key);
		size_t i = 0;
		while (i < in->known_n && !str_eq(in->known[i], name))
			i++;
		if (i == in->known_n)
			in->e = why_field(&in->why, ERR_INPUT, arena_printf(
			    &in->x->arena, "%.*s", (int)MIN(name.n, 30),
			    name.p).p, "there is no such member");
	}
}

bool
input_is_fine(struct input *in)
{
	if (in->e == OK && in->root != NULL)
		check_members(in);
	return in->e == OK;
}

bool
input_end(struct input *in)
{
	if (input_is_fine(in))
		return true;
	exchange_refuse(in->x, in->e, &in->why);
	return false;
}

/* -- The path -- */

struct str
input_id(struct input *in, size_t i, const char *field)
{
	struct str s = STR("");

	if (in->e != OK)
		return s;
	if (!web_segment(in->x->request, i, &s))
		input_fault(in, ERR_INPUT, field, "it is not percent-encoded");
	else
		in->e = item_id_check(field, s, &in->why);
	return s;
}

struct str
input_name(struct input *in, size_t i, const char *field)
{
	struct str s = STR("");

	if (in->e != OK)
		return s;
	if (!web_segment(in->x->request, i, &s) || s.n == 0 ||
	    s.n > ITEM_ID_BYTES_MAX || !text_is_utf8(s) || text_has_control(s))
		input_fault(in, ERR_INPUT, field, "it is no name: 1 to 1,024 "
		    "bytes of UTF-8 without control characters");
	return s;
}

/* -- The query -- */

static struct str
check_text(struct input *in, const char *name, struct str s)
{
	if (s.n > 0 && (!text_is_utf8(s) || text_has_control(s)))
		input_fault(in, ERR_INPUT, name, "it is no UTF-8, or has "
		    "control characters");
	return s;
}

struct str
input_param(struct input *in, const char *name)
{
	struct str s;

	if (in->e != OK || !web_param(in->x->request, name, &s))
		return STR_NONE;
	return check_text(in, name, s);
}

struct str
input_either(struct input *in, const char *name, const char *other)
{
	struct str s = input_param(in, name);

	return s.p != NULL ? s : input_param(in, other);
}

/* A growing list of words. */
struct words {
	struct str *at;
	size_t n, cap;
};

static void
add_word(struct input *in, struct words *w, const char *name, struct str word)
{
	word = check_text(in, name, str_trim(word));
	if (word.n == 0 || in->e != OK)
		return;
	if (w->n == ITEMS_WORDS_MAX) {
		input_fault(in, ERR_INPUT, name, "there are more than 256");
		return;
	}
	w->at = arena_grow(&in->x->arena, w->at, w->n, &w->cap, 8,
	    sizeof(*w->at));
	w->at[w->n++] = word;
}

static void
add_words(struct input *in, struct words *w, const char *name)
{
	struct str value, part;
	size_t at = 0;

	while (in->e == OK &&
	    web_param_next(in->x->request, name, &at, &value))
		while (str_split(&value, ',', &part))
			add_word(in, w, name, part);
}

const struct str *
input_words(struct input *in, const char *name, const char *other, size_t *n)
{
	struct words w = { NULL, 0, 0 };
	const char *words[] = { name, other };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (words[i] == NULL)
			continue;
		add_words(in, &w, words[i]);
		add_words(in, &w, arena_printf(&in->x->arena, "%s[]",
		    words[i]).p);
	}
	*n = w.n;
	return w.at;
}

static void
bound_fault(struct input *in, const char *name, long long least,
    long long most)
{
	if (in->e == OK)
		in->e = why_field(&in->why, ERR_INPUT, name,
		    "it is no whole number from %lld to %lld", least, most);
}

uint64_t
input_number(struct input *in, const char *name, uint64_t otherwise,
    uint64_t least, uint64_t most)
{
	struct str s = input_param(in, name);
	uint64_t n = otherwise;

	if (s.p != NULL && (!str_to_u64(s, &n) || n < least || n > most))
		bound_fault(in, name, (long long)least,
		    (long long)MIN(most, (uint64_t)INT64_MAX));
	return n;
}

int
input_choice(struct input *in, const char *name)
{
	struct str s = input_param(in, name);

	if (s.p == NULL)
		return -1;
	if (str_eq(s, STR("true")) || str_eq(s, STR("1")))
		return 1;
	if (!str_eq(s, STR("false")) && !str_eq(s, STR("0")))
		input_fault(in, ERR_INPUT, name, "true or false is expected");
	return 0;
}

void
input_page(struct input *in)
{
	in->x->after = input_param(in, "after");
	in->x->limit = (unsigned)input_number(in, "limit", ITEM_LIST_DEFAULT,
	    1, ITEM_LIST_MAX);
}

bool
input_accepts(struct exchange *x, const char *media)
{
	struct str value, part;

	if (!web_field(x->request, "accept", &value))
		return false;
	while (str_split(&value, ',', &part))
		if (str_eq_nocase(str_trim(str_cut(part, 0,
		    str_find_char(part, ';'))), str_of(media)))
			return true;
	return false;
}

/* -- The body -- */

bool
input_is_media(struct exchange *x, const char *const *media)
{
	struct str type = STR("");

	(void)web_field(x->request, "content-type", &type);
	type = str_trim(str_cut(type, 0, str_find_char(type, ';')));
	for (; *media != NULL; media++)
		if (str_eq_nocase(type, str_of(*media)))
			return true;
	return false;
}

void
input_text(struct input *in, struct str json)
{
	yyjson_read_err fault;

	yyjson_doc_free(in->x->body);
	/* yyjson does not write to it without YYJSON_READ_INSITU. */
	in->x->body = yyjson_read_opts((char *)(uintptr_t)json.p, json.n,
	    READ_FLAGS, NULL, &fault);
	if (in->x->body == NULL) {
		in->e = why_field(&in->why, ERR_INPUT, "body", "it is no JSON "
		    "at byte %zu: %s", fault.pos, fault.msg);
		return;
	}
	in->root = yyjson_doc_get_root(in->x->body);
	if (!yyjson_is_obj(in->root)) {
		in->root = NULL;
		input_fault(in, ERR_INPUT, "body", "it is no object");
	}
}

void
input_body_of(struct input *in, const char *const *media)
{
	struct exchange *x = in->x;
	struct str body = web_body(x->request);

	if (in->e != OK)
		return;
	if (!input_is_media(x, media)) {
		x->refusal = 415;
		x->refusal_code = "media_type";
		in->e = why_field(&in->why, ERR_INPUT, "content-type", "%s "
		    "is expected", media[0]);
		return;
	}
	if ((int64_t)body.n > x->door->limits.body_bytes_max) {
		x->refusal = 413;
		x->refusal_code = "limit";
		in->e = why_field(&in->why, ERR_FULL, "body", "it may have "
		    "%lld bytes", (long long)x->door->limits.body_bytes_max);
		return;
	}
	input_text(in, body);
}

void
input_json(struct input *in)
{
	static const char *const media[] = { "application/json", NULL };
	static const char *const none[] = { "", "application/json", NULL };

	if (web_body(in->x->request).n > 0)
		input_body_of(in, media);
	else if (in->e == OK && !input_is_media(in->x, none))
		input_body_of(in, media);
	else if (in->e == OK)
		input_text(in, STR("{}"));
}

yyjson_val *
input_value(struct input *in, const char *name)
{
	CHECK(in->known_n < ARRAY_LEN(in->known));
	in->known[in->known_n++] = str_of(name);
	yyjson_val *v = in->root == NULL || in->e != OK ? NULL :
	    yyjson_obj_get(in->root, name);
	return yyjson_is_null(v) ? NULL : v;
}

struct str
input_str(struct input *in, const char *name)
{
	yyjson_val *v = input_value(in, name);

	if (v == NULL)
		return STR_NONE;
	if (!yyjson_is_str(v))
		input_fault(in, ERR_INPUT, name, "it is no text");
	return json_text(v);
}

struct str
input_need_str(struct input *in, const char *name)
{
	struct str s = input_str(in, name);

	if (s.n == 0)
		input_fault(in, ERR_INPUT, name, "it is missing");
	return s;
}

bool
input_bool(struct input *in, const char *name, bool otherwise)
{
	yyjson_val *v = input_value(in, name);

	if (v == NULL)
		return otherwise;
	if (!yyjson_is_bool(v))
		input_fault(in, ERR_INPUT, name, "true or false is expected");
	return yyjson_get_bool(v);
}

int64_t
input_int(struct input *in, const char *name, int64_t otherwise,
    int64_t least, int64_t most)
{
	yyjson_val *v = input_value(in, name);
	int64_t n = yyjson_get_sint(v);

	if (v == NULL)
		return otherwise;
	if (!yyjson_is_int(v) || (yyjson_is_uint(v) && n < 0) || n < least ||
	    n > most)
		bound_fault(in, name, (long long)least, (long long)most);
	return n;
}

struct str
input_raw(struct exchange *x, yyjson_val *v)
{
	size_t n;
	char *p = yyjson_val_write(v, 0, &n);

	CHECK(p != NULL);
	struct str s = arena_copy(&x->arena, (struct str){ p, n });
	mem_free(&p);
	return s;
}

struct str
input_object(struct input *in, const char *name)
{
	yyjson_val *v = input_value(in, name);

	if (v == NULL)
		return STR_NONE;
	if (!yyjson_is_obj(v)) {
		input_fault(in, ERR_INPUT, name, "it is not an object");
		return STR_NONE;
	}
	return input_raw(in->x, v);
}

yyjson_val *
input_array(struct input *in, const char *name, size_t n_max)
{
	yyjson_val *v = input_value(in, name);

	if (in->e != OK)
		return NULL;
	if (!yyjson_is_arr(v)) {
		input_fault(in, ERR_INPUT, name, v == NULL ? "it is missing" :
		    "it is no list");
		return NULL;
	}
	if (yyjson_arr_size(v) > n_max)
		in->e = why_field(&in->why, ERR_INPUT, name, "it has more "
		    "than %zu elements", n_max);
	return v;
}

const struct str *
input_strs(struct input *in, const char *name, size_t *n)
{
	yyjson_val *v = input_value(in, name), *one;
	size_t i, max;

	*n = 0;
	if (v == NULL)
		return NULL;
	if (!yyjson_is_arr(v)) {
		input_fault(in, ERR_INPUT, name, "it is no list");
		return NULL;
	}
	struct str *all = ARENA_ARRAY(&in->x->arena, struct str,
	    yyjson_arr_size(v) + 1);
	yyjson_arr_foreach(v, i, max, one) {
		if (!yyjson_is_str(one))
			input_fault(in, ERR_INPUT, name,
			    "one of it is no text");
		all[(*n)++] = json_text(one);
	}
	return all;
}

/* One tag, as a text or as an object. */
static void
read_tag(struct input *in, yyjson_val *v, struct item_tag_text *t)
{
	yyjson_val *name = yyjson_obj_get(v, "name");
	yyjson_val *value = yyjson_obj_get(v, "value");

	if (in->e != OK)
		return;
	if (yyjson_is_str(v)) {
		in->e = item_tag_read(json_text(v), t, &in->why);
		return;
	}
	if (!yyjson_is_str(name) || (value != NULL && !yyjson_is_null(value) &&
	    !yyjson_is_str(value)) ||
	    yyjson_obj_size(v) != 1u + (value != NULL)) {
		input_fault(in, ERR_INPUT, "tags", "one is neither a text nor "
		    "an object of name and value");
		return;
	}
	in->e = item_tag_read(json_text(name), t, &in->why);
	if (in->e == OK && t->value.p != NULL)
		input_fault(in, ERR_INPUT, "tags", "a name has no \"=\"");
	t->value = json_text(value);
}

const struct item_tag_text *
input_tags(struct input *in, const char *name, size_t *n)
{
	yyjson_val *v = input_value(in, name), *one;
	size_t i, max;

	*n = 0;
	if (v == NULL)
		return NULL;
	if (!yyjson_is_arr(v)) {
		input_fault(in, ERR_INPUT, name, "it is no list");
		return NULL;
	}
	struct item_tag_text *all = ARENA_ARRAY(&in->x->arena,
	    struct item_tag_text, yyjson_arr_size(v) + 1);
	yyjson_arr_foreach(v, i, max, one)
		read_tag(in, one, &all[(*n)++]);
	return all;
}

int64_t
input_ttl(struct input *in, const char *name)
{
	yyjson_val *v = input_value(in, name);
	int64_t us = 0;

	if (in->e != OK)
		return 0;
	if (v == NULL && yyjson_obj_get(in->root, name) != NULL)
		return RESULT_TTL_NEVER;
	if (v == NULL) {
		input_fault(in, ERR_INPUT, name,
		    "it is missing; null is never");
	} else if (yyjson_is_uint(v) &&
	    yyjson_get_uint(v) <= INT64_MAX / 2000) {
		us = (int64_t)yyjson_get_uint(v) * 1000;
	} else if (!yyjson_is_str(v) || !task_duration(json_text(v), &us)) {
		input_fault(in, ERR_INPUT, name, "it is no duration such as "
		    "\"30d\" or \"500ms\", no number of milliseconds, and not "
		    "null");
	}
	return us;
}
