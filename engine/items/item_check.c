/*
 * What ids, tags and JSON may be.
 */
#include "base/json.h"
#include "base/text.h"
#include "engine/items/item_ops_own.h"

#define BLOB_NAME_BYTES_MAX 255u
#define BLOB_TYPE_BYTES_MAX 255u

const char *
item_effect_text(enum item_effect e)
{
	static const char *const texts[] = { ITEM_EFFECTS(TABLE_SECOND) };

	CHECK((unsigned)e < ARRAY_LEN(texts));
	return texts[e];
}

static enum err
check_text(const char *field, struct str s, size_t bytes_max, struct why *w)
{
	if (s.n == 0)
		return why_field(w, ERR_INPUT, field, "it is empty");
	if (s.n > bytes_max)
		return why_field(w, ERR_INPUT, field, "%zu bytes; at most %zu "
		    "are allowed", s.n, bytes_max);
	if (text_has_control(s))
		return why_field(w, ERR_INPUT, field, "a control character");
	if (!text_is_utf8(s))
		return why_field(w, ERR_INPUT, field, "it is not UTF-8");
	return OK;
}

enum err
item_id_check(const char *field, struct str id, struct why *w)
{
	return check_text(field, id, ITEM_ID_BYTES_MAX, w);
}

enum err
item_tag_read(struct str text, struct item_tag_text *out, struct why *w)
{
	size_t at = str_find_char(text, '=');

	out->name = str_cut(text, 0, at);
	out->value = at == text.n ? STR_NONE : str_from(text, at + 1);
	return item_tag_check(out, w);
}

enum err
item_tag_check(const struct item_tag_text *t, struct why *w)
{
	enum err e = check_text("tags", t->name, ITEM_TAG_BYTES_MAX, w);

	if (e == OK && (str_find_char(t->name, ',') < t->name.n ||
	    str_find_char(t->name, '=') < t->name.n))
		e = why_field(w, ERR_INPUT, "tags", "a name has neither \"=\" "
		    "nor \",\"");
	if (e == OK && t->value.p != NULL && t->value.n > 0)
		e = check_text("tags", t->value, ITEM_TAG_VALUE_BYTES_MAX, w);
	return e;
}

enum err
item_count_check(const char *field, size_t n, int64_t most, struct why *w)
{
	if ((int64_t)n <= most)
		return OK;
	return why_field(w, ERR_FULL, field, "an item has at most %lld",
	    (long long)most);
}

enum err
item_blob_check(const struct item_blob *b, struct why *w)
{
	enum err e = check_text("name", b->name, BLOB_NAME_BYTES_MAX, w);

	if (e == OK && b->type.n > 0)
		e = check_text("type", b->type, BLOB_TYPE_BYTES_MAX, w);
	if (e == OK && !text_is_field_value(b->type))
		e = why_field(w, ERR_INPUT, "type", "it is no media type");
	return e;
}

/* -- JSON -- */

/* How deep brackets are nested in a compact text. */
static size_t
text_depth(struct str json)
{
	size_t depth = 0, most = 0;

	for (size_t i = 0; i < json.n; i++) {
		switch (json.p[i]) {
		case '"':
			for (i++; i < json.n && json.p[i] != '"'; i++)
				i += json.p[i] == '\\';
			break;
		case '{':
		case '[':
			depth++;
			most = MAX(most, depth);
			break;
		case '}':
		case ']':
			depth--;
			break;
		}
	}
	return most;
}

static enum err
check_json(const char *field, struct str json, const struct item_limits *l,
    struct why *w)
{
	if ((int64_t)json.n > l->data_bytes_max)
		return why_field(w, ERR_FULL, field, "%zu bytes; at most %lld "
		    "are allowed", json.n, (long long)l->data_bytes_max);
	if (text_depth(json) > ITEM_JSON_DEPTH_MAX)
		return why_field(w, ERR_FULL, field, "it is nested deeper "
		    "than %u", ITEM_JSON_DEPTH_MAX);
	return OK;
}

/* Take a text that yyjson has written. */
static enum err
take_text(const char *field, char *text, size_t n, const struct item_limits *l,
    struct arena *a, struct str *out, struct why *w)
{
	const struct str json = { text, n };

	if (text == NULL)
		return why_field(w, ERR_INPUT, field, "it is no JSON that can "
		    "be stored");
	enum err e = check_json(field, json, l, w);
	if (e == OK)
		*out = arena_copy(a, json);
	free(text);
	return e;
}

enum err
item_json_value(const char *field, yyjson_val *v, const struct item_limits *l,
    struct arena *a, struct str *out, struct why *w)
{
	size_t n = 0;

	if (v == NULL)
		return why_field(w, ERR_INPUT, field, "it is missing");
	if (!yyjson_is_obj(v))
		return why_field(w, ERR_INPUT, field, "it is not an object");
	char *text = yyjson_val_write(v, 0, &n);
	return take_text(field, text, n, l, a, out, w);
}

enum err
item_json_check(const char *field, struct str json,
    const struct item_limits *l, struct arena *a, struct str *out,
    struct why *w)
{
	yyjson_read_err bad;
	yyjson_doc *doc = json.n == 0 ? NULL : yyjson_read_opts(
	    (char *)json.p, json.n, YYJSON_READ_BIGNUM_AS_RAW, NULL, &bad);

	if (json.n == 0)
		return why_field(w, ERR_INPUT, field, "it is missing");
	if (doc == NULL)
		return why_field(w, ERR_INPUT, field, "it is not JSON: %s at "
		    "byte %zu", bad.msg, bad.pos);
	enum err e = item_json_value(field, yyjson_doc_get_root(doc), l, a,
	    out, w);
	yyjson_doc_free(doc);
	return e;
}

enum err
item_json_patch(struct str json, struct str patch,
    const struct item_limits *l, struct arena *a, struct str *out,
    struct why *w)
{
	yyjson_doc *old = yyjson_read(json.p, json.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	yyjson_doc *change = yyjson_read(patch.p, patch.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	char *text = NULL;
	size_t n = 0;

	CHECK(doc != NULL);
	yyjson_mut_val *root = yyjson_merge_patch(doc,
	    yyjson_doc_get_root(old), yyjson_doc_get_root(change));
	if (root != NULL)
		text = yyjson_mut_val_write(root, 0, &n);
	enum err e = take_text("data", text, n, l, a, out, w);
	yyjson_mut_doc_free(doc);
	yyjson_doc_free(change);
	yyjson_doc_free(old);
	return e;
}
