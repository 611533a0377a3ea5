#include "cli/registration.h"

#include "base/json.h"
#include "base/json_writer.h"

#define TASKS_PATH "/actions/tasks"

/* ---- Where it goes ------------------------------------------------------ */

static enum err
read_base(struct str text, struct arena *a, struct url *out, struct why *w)
{
	if (url_parse(text, NULL, a, out, NULL) != OK ||
	    (out->scheme != URL_HTTP && out->scheme != URL_HTTPS))
		return why(w, ERR_INPUT, "--url: it is no URL with http or "
		    "https");
	if (out->username.n > 0 || out->password.n > 0 || out->query.n > 0 ||
	    out->fragment.n > 0)
		return why(w, ERR_INPUT, "--url: it has more than scheme, "
		    "host, port and path");
	return OK;
}

static bool
cut_end(struct str *s, const char *end)
{
	if (!str_ends(*s, str_of(end)))
		return false;
	s->n -= strlen(end);
	return true;
}

enum err
registration_base(const struct backend *b, struct str url, struct arena *a,
    struct url *out, struct why *w)
{
	struct str text = b->prefix;

	if (url.n > 0)
		return read_base(url, a, out, w);
	(void)cut_end(&text, "/");
	if (!cut_end(&text, TASKS_PATH))
		return why(w, ERR_USAGE, "--url: it is not given, and the "
		    "prefix of the back end %.*s does not end in " TASKS_PATH
		    "/, from which it would follow", STR_FMT(b->name));
	return read_base(text, a, out, w);
}

enum err
registration_url(const struct url *base, struct str fid, struct arena *a,
    struct url *out, struct why *w)
{
	struct str text = base->href;

	(void)cut_end(&text, "/");
	text = arena_printf(a, "%.*s/externals%s%.*s", STR_FMT(text),
	    fid.n > 0 ? "/" : "", STR_FMT(fid));
	return url_parse(text, NULL, a, out, w);
}

/* ---- What is sent ------------------------------------------------------- */

static void
put_json(yyjson_mut_doc *doc, struct buf *out)
{
	size_t n;
	char *text = yyjson_mut_write(doc, 0, &n);

	CHECK(text != NULL);
	buf_put(out, text, n);
	explicit_bzero(text, n);
	free(text);
}

void
registration_put_object(const struct external_connector *c,
    struct str endpoint, bool none_is_ignore, struct buf *out)
{
	const struct external_object_options o = { .endpoint = endpoint,
		.none_is_ignore = none_is_ignore };
	FREED(buf_free) struct buf text = BUF_INIT;

	external_object_write(c, &o, &text);
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	CHECK(doc != NULL);
	yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
	yyjson_doc_free(doc);
	CHECK(copy != NULL);
	yyjson_mut_obj_remove_key(yyjson_mut_doc_get_root(copy), "headers");
	put_json(copy, out);
	yyjson_mut_doc_free(copy);
}

/* It recurses as deep as the object, whose schema has EXTERNAL_DEPTH_MAX
 * levels at most. */
static void
add_nulls(yyjson_mut_doc *doc, yyjson_mut_val *now, yyjson_val *before)
{
	yyjson_val *key, *value;
	size_t i, n;

	yyjson_obj_foreach(before, i, n, key, value) {
		yyjson_mut_val *v = yyjson_mut_obj_getn(now,
		    yyjson_get_str(key), yyjson_get_len(key));
		if (v == NULL)
			yyjson_mut_obj_add(now, yyjson_mut_strncpy(doc,
			    yyjson_get_str(key), yyjson_get_len(key)),
			    yyjson_mut_null(doc));
		else if (yyjson_mut_is_obj(v) && yyjson_is_obj(value))
			add_nulls(doc, v, value);
	}
}

static void
add_headers(yyjson_mut_doc *doc, struct str token)
{
	yyjson_mut_val *headers = yyjson_mut_obj_add_obj(doc,
	    yyjson_mut_doc_get_root(doc), "headers");
	FREED(buf_free) struct buf value = BUF_INIT;

	if (token.n == 0)
		return;
	buf_reserve(&value, token.n + sizeof("Bearer "));
	buf_printf(&value, "Bearer %.*s", STR_FMT(token));
	yyjson_mut_obj_add_strncpy(doc, headers, "Authorization", value.p,
	    value.n);
	explicit_bzero(value.p, value.n);
}

void
registration_put_body(struct str object, struct str before, struct str token,
    struct buf *out)
{
	yyjson_doc *doc = yyjson_read(object.p, object.n, 0);
	yyjson_doc *old = before.n == 0 ? NULL : yyjson_read(before.p,
	    before.n, 0);
	yyjson_mut_doc *body = yyjson_doc_mut_copy(doc, NULL);

	CHECK(body != NULL);
	add_nulls(body, yyjson_mut_doc_get_root(body),
	    yyjson_doc_get_root(old));
	if (token.p != NULL)
		add_headers(body, token);
	put_json(body, out);
	yyjson_mut_doc_free(body);
	yyjson_doc_free(old);
	yyjson_doc_free(doc);
}

/* ---- The answer --------------------------------------------------------- */

struct reading {
	const struct backend *backend;
	struct str token;
	struct why *w;
};

static bool
has_secret(const struct reading *r, struct str text)
{
	const struct backend *b = r->backend;

	if (r->token.n > 0 && str_find(text, r->token) < text.n)
		return true;
	for (size_t i = 0; i < b->headers_n; i++)
		if (b->headers[i].value.n > 0 && str_find(text,
		    b->headers[i].value) < text.n)
			return true;
	return false;
}

static enum err
refuse(const struct reading *r, enum err e, int status, yyjson_val *root,
    const char *advice)
{
	FREED(buf_free) struct buf said = BUF_INIT;
	yyjson_val *messages = yyjson_obj_get(root, "messages"), *one;
	size_t i, n;

	yyjson_arr_foreach(messages, i, n, one)
		if (json_text(one).n > 0)
			buf_printf(&said, "%s%.*s", said.n > 0 ? "; " : "",
			    STR_FMT(json_text(one)));
	if (has_secret(r, buf_str(&said)))
		buf_clear(&said);
	return why(r->w, e, "the back end %.*s answered %d%s%.*s%s",
	    STR_FMT(r->backend->name), status, said.n > 0 ? ": " : "",
	    STR_FMT(str_cut(buf_str(&said), 0,
	    REGISTRATION_MESSAGE_BYTES_MAX)), advice);
}

static enum err
judge_status(const struct reading *r, int status, yyjson_val *root)
{
	yyjson_val *success = yyjson_obj_get(root, "success");

	if (status == 401 || status == 403)
		return refuse(r, ERR_DENIED, status, root, "; its headers in "
		    "external.backends_file may be wrong");
	if (status == 404 || status == 410)
		return refuse(r, ERR_ABSENT, status, root, "");
	if (status >= 500)
		return refuse(r, ERR_UNREACHED, status, root, "");
	if (status >= 400)
		return refuse(r, ERR_INPUT, status, root, "");
	if (status >= 300)
		return refuse(r, ERR_STATE, status, root, ", a redirect, "
		    "which is not followed; --url may be wrong");
	if (yyjson_is_bool(success) && !yyjson_get_bool(success))
		return refuse(r, ERR_INPUT, status, root, " with "
		    "\"success\":false");
	return OK;
}

/* It becomes a part of a URL's path. */
static bool
is_fid(struct str s)
{
	if (s.n == 0 || s.n > REGISTRATION_FID_BYTES_MAX ||
	    str_eq(s, STR(".")) || str_eq(s, STR("..")))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alpha(s.p[i]) && !ascii_is_digit(s.p[i]) &&
		    !str_has_char(STR("_.:-"), s.p[i]))
			return false;
	return true;
}

static enum err
read_meta(const struct reading *r, yyjson_val *root, struct str fid,
    struct arena *a, struct registration_reply *out)
{
	struct str name = r->backend->name;
	yyjson_val *meta = yyjson_obj_get(yyjson_obj_get(root, "payload"),
	    "meta");
	yyjson_val *version = yyjson_obj_get(meta, "version");
	struct str got = json_text(yyjson_obj_get(meta, "fid"));

	if (root == NULL)
		return why(r->w, ERR_CORRUPT, "the back end %.*s answered "
		    "with no JSON; whether it has the connector is not known",
		    STR_FMT(name));
	if (!is_fid(got))
		return why(r->w, ERR_CORRUPT, "payload.meta.fid: the back end "
		    "%.*s answered without one, or it is not 1 to %u letters, "
		    "digits, \"_\", \".\", \":\" and \"-\"", STR_FMT(name),
		    REGISTRATION_FID_BYTES_MAX);
	if (!yyjson_is_uint(version) || yyjson_get_uint(version) == 0 ||
	    yyjson_get_uint(version) > INT64_MAX)
		return why(r->w, ERR_CORRUPT, "payload.meta.version: the back "
		    "end %.*s answered without one, or it is no whole number "
		    "from 1", STR_FMT(name));
	if (fid.n > 0 && !str_eq(fid, got))
		return why(r->w, ERR_CORRUPT, "payload.meta.fid: the back end "
		    "%.*s answered about another object", STR_FMT(name));
	out->fid = arena_copy(a, got);
	out->version = yyjson_get_uint(version);
	return OK;
}

enum err
registration_read(const struct backend *b, int status, struct str reply,
    struct str fid, struct str token, struct arena *a,
    struct registration_reply *out, struct why *w)
{
	const struct reading r = { b, token, w };
	yyjson_doc *doc = yyjson_read(reply.p, reply.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);

	if (json_is_deeper_than(root, REGISTRATION_DEPTH_MAX))
		root = NULL;
	enum err e = judge_status(&r, status, root);
	if (e == OK)
		e = read_meta(&r, root, fid, a, out);
	yyjson_doc_free(doc);
	return e;
}
