#include "engine/harvest/web_documents_cursor.h"

#include "base/json.h"
#include "base/json_writer.h"

#define VERSION 1u

static enum err
refuse_at(struct why *w, const char *field, const char *text)
{
	return why_field(w, ERR_INPUT, field, "%s", text);
}

/* Null and absent: none. */
static bool
read_crawl(yyjson_val *v, uint32_t *out)
{
	*out = WEB_DOCUMENTS_NO_CRAWL;
	if (v == NULL || yyjson_is_null(v))
		return true;
	if (!yyjson_is_uint(v) || yyjson_get_uint(v) >= UINT32_MAX)
		return false;
	*out = (uint32_t)yyjson_get_uint(v);
	return true;
}

/* Absent: 0. */
static bool
read_created(yyjson_val *v, uint64_t *out)
{
	*out = yyjson_get_uint(v);
	return v == NULL || yyjson_is_uint(v);
}

static enum err
read_object(yyjson_val *root, struct arena *a, struct web_documents_cursor *c,
    struct why *w)
{
	yyjson_val *params = yyjson_obj_get(root, "params");
	yyjson_val *captures = yyjson_obj_get(root, "captures");
	yyjson_val *ended = yyjson_obj_get(root, "ended");

	if (!yyjson_is_obj(root))
		return refuse_at(w, "cursor", "it is no JSON object");
	if (yyjson_get_uint(yyjson_obj_get(root, "version")) != VERSION)
		return refuse_at(w, "cursor.version", "it is not 1");
	if (!yyjson_is_str(params) ||
	    json_text(params).n > WEB_DOCUMENTS_DIGEST_BYTES_MAX)
		return refuse_at(w, "cursor.params", "it is no digest");
	if (!read_crawl(yyjson_obj_get(root, "crawl"), &c->crawl))
		return refuse_at(w, "cursor.crawl", "it is no number of a "
		    "crawl");
	if (!read_crawl(yyjson_obj_get(root, "base"), &c->base))
		return refuse_at(w, "cursor.base", "it is no number of a "
		    "crawl");
	if (!yyjson_is_uint(captures))
		return refuse_at(w, "cursor.captures", "it is no whole "
		    "number");
	if (!yyjson_is_bool(ended))
		return refuse_at(w, "cursor.ended", "it is neither true nor "
		    "false");
	if (!read_created(yyjson_obj_get(root, "crawl_created"),
	    &c->crawl_created))
		return refuse_at(w, "cursor.crawl_created", "it is no whole "
		    "number");
	if (!read_created(yyjson_obj_get(root, "base_created"),
	    &c->base_created))
		return refuse_at(w, "cursor.base_created", "it is no whole "
		    "number");
	c->params = arena_copy(a, json_text(params));
	c->captures = yyjson_get_uint(captures);
	c->ended = yyjson_is_true(ended);
	return c->ended && c->crawl == WEB_DOCUMENTS_NO_CRAWL ?
	    refuse_at(w, "cursor.crawl", "it is missing, and the run has "
	    "ended") : OK;
}

enum err
web_documents_cursor_read(struct str json, struct arena *a,
    struct web_documents_cursor *c, struct why *w)
{
	*c = (struct web_documents_cursor){ .crawl = WEB_DOCUMENTS_NO_CRAWL,
	    .base = WEB_DOCUMENTS_NO_CRAWL };
	if (json.n == 0)
		return OK;
	if (json.n > WEB_DOCUMENTS_CURSOR_BYTES_MAX)
		return why_field(w, ERR_FULL, "cursor", "it is longer than %u "
		    "bytes", WEB_DOCUMENTS_CURSOR_BYTES_MAX);
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	enum err e = read_object(yyjson_doc_get_root(doc), a, c, w);

	yyjson_doc_free(doc);
	return e;
}

static void
put_crawl(struct buf *b, const char *name, uint32_t crawl)
{
	if (crawl == WEB_DOCUMENTS_NO_CRAWL)
		json_null(b, name);
	else
		json_u64(b, name, crawl);
}

void
web_documents_cursor_put(const struct web_documents_cursor *c, struct buf *b)
{
	json_object(b, NULL);
	json_u64(b, "version", VERSION);
	json_str(b, "params", c->params);
	put_crawl(b, "crawl", c->crawl);
	json_u64(b, "captures", c->captures);
	put_crawl(b, "base", c->base);
	json_bool(b, "ended", c->ended);
	json_u64(b, "crawl_created", c->crawl_created);
	json_u64(b, "base_created", c->base_created);
	buf_put_char(b, '}');
}
