/*
 * Orders for the driver: `api` with the parameters in its address.
 *
 *     https://a.example/{topic}.json?since={since}&per_page=50
 *     └─────── base ──┘ └── path ──┘ └──────── query ────────┘
 *
 * A placeholder stands in the path or the query.  The credential is sent to
 * the base, which no parameter can change, and to api.auth.token_url, in which
 * there is none.  One of oauthParameters may be in the base, too, if an address
 * of `oauth` has the same host: the user has signed in there.
 */
#include "base/json_wiping.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "engine/connector/json/json_api.h"
#include "engine/connector/json/json_description.h"
#include "engine/connector/order.h"
#include "engine/connector/url_text.h"
#include "engine/external/external_own.h"
#include "engine/external/oauth_own.h"

#define URL "api.url"

_Static_assert(EXTERNAL_VALUE_BYTES_MAX <= CONNECTOR_SEED_BYTES_MAX,
    "a parameter's value may be a seed");

/* ---- Placeholders ------------------------------------------------------ */

/*
 * Take the text before the next "{NAME}", and NAME, off a text.  Without one,
 * `literal` is all of it and `name` STR_NONE.  False: the text was used up.
 */
static bool
take_placeholder(struct str *rest, struct str *literal, struct str *name)
{
	size_t open = str_find_char(*rest, '{');
	struct str after = str_from(*rest, open + 1);
	size_t close = str_find_char(after, '}');

	if (rest->n == 0)
		return false;
	*name = STR_NONE;
	*literal = *rest;
	*rest = str_from(*rest, rest->n);
	if (close == after.n)
		return true;
	*name = str_cut(after, 0, close);
	*literal = str_cut(*literal, 0, open);
	*rest = str_from(after, close + 1);
	return true;
}

/* The address before its "?", and the rest with it. */
static struct str
split_query(struct str url, struct str *query)
{
	size_t path = str_find_char(url, '?');

	*query = str_from(url, path);
	return str_cut(url, 0, path);
}

/* The part between "://" and the path. */
static struct str
host_of(struct str url)
{
	struct str after = str_from(url, str_find(url, STR("://")) + 3);
	size_t end = 0;

	while (end < after.n && !str_has_char(STR("/?"), after.p[end]))
		end++;
	return str_cut(after, 0, end);
}

/* A copy of `api` with that address. */
static yyjson_doc *
copy_api(const struct external_connector *c, struct str url)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

	CHECK(doc != NULL);
	yyjson_mut_val *api = yyjson_val_mut_copy(doc, c->api);
	bool put = yyjson_mut_obj_replace(api, yyjson_mut_str(doc, "url"),
	    yyjson_mut_strn(doc, url.p, url.n));
	CHECK(put);
	yyjson_doc *copy = yyjson_mut_val_imut_copy(api, NULL);
	CHECK(copy != NULL);
	yyjson_mut_doc_free(doc);
	return copy;
}

/* ---- Checks of a file -------------------------------------------------- */

static bool
is_oauth_param(const struct external_connector *c, struct str name)
{
	return c->has_oauth && oauth_param_find(&c->oauth, name) <
	    c->oauth.params_n;
}

/*
 * One placeholder of the address.  The pair of the query with the seed is never
 * left out: without it every seed would ask for the same list.
 */
static enum err
check_placeholder(struct external_reading *r, struct str name, bool in_path,
    bool beside_seed)
{
	struct external_connector *c = r->connector;
	size_t i = external_param_find(c, name);

	/* One of oauthParameters always has a value. */
	if (i == EXTERNAL_NO_PARAM && is_oauth_param(c, name))
		return OK;
	if (i == EXTERNAL_NO_PARAM)
		return external_read_refuse(r, URL, "there is no parameter for"
		    " {%.*s}", STR_FMT(str_cut(name, 0,
		    EXTERNAL_NAME_BYTES_MAX)));
	struct external_param *p = &c->params[i];
	if (!external_ui_rows[p->ui].place)
		return external_read_refuse(r, URL, "{%.*s} is of type %s, "
		    "which cannot be a part of an address", STR_FMT(name),
		    external_ui_rows[p->ui].name);
	if ((in_path || beside_seed) && !p->required && p->otherwise == NULL)
		return external_read_refuse(r, URL, "{%.*s} is in the %s, so "
		    "it must be required or have a default", STR_FMT(name),
		    in_path ? "path" : "same pair of the query as the seed");
	p->in_path |= in_path;
	p->beside_seed |= beside_seed;
	return OK;
}

static bool
has_seed(const struct external_connector *c, struct str part)
{
	struct str literal, name;

	while (take_placeholder(&part, &literal, &name)) {
		size_t i = external_param_find(c, name);
		if (i != EXTERNAL_NO_PARAM && c->params[i].is_seed)
			return true;
	}
	return false;
}

/* The path, or a pair of the query. */
static enum err
check_part(struct external_reading *r, struct str part, bool in_path)
{
	struct str literal, name;
	bool beside_seed = !in_path && has_seed(r->connector, part);
	enum err e = OK;

	while (e == OK && take_placeholder(&part, &literal, &name)) {
		if (str_find_char(literal, '{') < literal.n ||
		    str_find_char(literal, '}') < literal.n)
			return external_read_refuse(r, URL, "it has a brace "
			    "without the other");
		if (name.p != NULL)
			e = check_placeholder(r, name, in_path, beside_seed);
	}
	return e;
}

/* A placeholder that nothing fills would be sent as it is. */
static enum err
check_text(struct external_reading *r, struct str text, const char *place)
{
	struct str literal, name;

	while (take_placeholder(&text, &literal, &name))
		if (name.p != NULL && external_param_find(r->connector,
		    name) != EXTERNAL_NO_PARAM)
			return external_read_refuse(r, place, "a parameter can"
			    " be a part of " URL " alone");
	return OK;
}

/* The texts of `api` besides its address; it is two levels deep, as
 * json_description_read() has seen. */
static enum err
check_texts(struct external_reading *r, yyjson_val *v, const char *place)
{
	size_t i, n;
	yyjson_val *key, *one;
	enum err e = check_text(r, json_text(v), place);

	yyjson_obj_foreach(v, i, n, key, one) {
		const char *at = external_read_join(r, place,
		    yyjson_get_str(key));
		if (e == OK && strcmp(at, URL) != 0)
			e = check_texts(r, one, at);
	}
	yyjson_arr_foreach(v, i, n, one)
		if (e == OK)
			e = check_texts(r, one, place);
	return e;
}

/* Whether the credential that people give is one that the API takes. */
static enum err
check_credential(struct external_reading *r, const struct json_description *d)
{
	bool none = strcmp(r->connector->credential, "none") == 0;

	if (none && d->auth != CONNECTOR_ANONYMOUS)
		return external_read_refuse(r, "credential", "it is none, and "
		    "api.auth takes one");
	if (!none && d->auth == CONNECTOR_ANONYMOUS)
		return external_read_refuse(r, "credential", "api.auth takes "
		    "none");
	return OK;
}

/* The host of `api.url`, which may be one of those where users sign in. */
static enum err
check_host(struct external_reading *r, struct str url)
{
	const struct external_connector *c = r->connector;
	struct str host = host_of(url);

	if (c->has_oauth ? oauth_host_is_declared(&c->oauth, host) :
	    str_find_char(host, '{') == host.n)
		return OK;
	return external_read_refuse(r, URL, "its host has a placeholder, and "
	    "is not the host of an address of oauth");
}

/* Else a task's parameter could stand for the host. */
static enum err
check_names(struct external_reading *r)
{
	const struct external_connector *c = r->connector;

	for (size_t i = 0; c->has_oauth && i < c->oauth.params_n; i++)
		if (external_param_find(c, c->oauth.params[i].name) !=
		    EXTERNAL_NO_PARAM)
			return external_read_refuse(r, external_read_join(r,
			    "oauth.parameters", c->oauth.params[i].name.p),
			    "there is a parameter with the same name");
	return OK;
}

/* The description, with a host that needs no value.  Its texts are not used:
 * they may be gone. */
static enum err
read_description(struct external_reading *r, struct json_description *d)
{
	struct external_connector *c = r->connector;
	struct str url = json_text(yyjson_obj_get(c->api, "url"));
	struct str host = host_of(url);
	FREED(buf_free) struct buf filled = BUF_INIT;
	struct why cause = WHY_INIT;
	yyjson_doc *copy = NULL;

	if (c->has_oauth && str_find_char(host, '{') < host.n) {
		buf_put(&filled, url.p, (size_t)(host.p - url.p));
		buf_put_text(&filled, "a.example");
		buf_put_str(&filled, str_from(url, (size_t)(host.p - url.p) +
		    host.n));
		copy = copy_api(c, buf_str(&filled));
	}
	enum err e = json_description_read(copy != NULL ?
	    yyjson_doc_get_root(copy) : c->api, &c->arena, d, &cause);
	yyjson_doc_free(copy);
	if (e == OK)
		return OK;
	/* "options.api.url: ...", as harvests have it. */
	struct str text = str_of(cause.text), root = STR("options.");
	return external_read_fail(r, ERR_INPUT, "", text.p +
	    (str_starts(text, root) ? root.n : 0));
}

enum err
external_order_check(struct external_reading *r)
{
	struct external_connector *c = r->connector;
	struct str url = json_text(yyjson_obj_get(c->api, "url"));
	struct json_description d;
	struct str query, pair;

	enum err e = read_description(r, &d);
	if (e == OK)
		e = check_names(r);
	if (e == OK)
		e = check_host(r, url);
	struct str path = split_query(url, &query);
	if (e == OK)
		e = check_part(r, path, true);
	while (e == OK && str_split(&query, '&', &pair))
		e = check_part(r, pair, false);
	if (e == OK)
		e = check_texts(r, c->api, "api");
	if (e == OK)
		e = check_credential(r, &d);
	for (size_t i = 0; i < c->params_n && e == OK; i++)
		if (c->params[i].is_seed && !has_seed(c, url))
			e = external_read_refuse(r, URL, "there is no {%.*s}, "
			    "which has the seeds",
			    STR_FMT(c->params[i].name));
	return e;
}

/* ---- Filling ----------------------------------------------------------- */

/* False: a parameter is absent, and `out` is of no use. */
static bool
fill_part(const struct external_connector *c,
    const struct external_value *values, const struct str *granted,
    struct str part, struct buf *out)
{
	struct str literal, name;

	while (take_placeholder(&part, &literal, &name)) {
		buf_put_str(out, literal);
		if (name.p == NULL)
			continue;
		size_t i = external_param_find(c, name);
		if (i == EXTERNAL_NO_PARAM) {
			/* A host has nothing that is encoded. */
			i = oauth_param_find(&c->oauth, name);
			CHECK(i < c->oauth.params_n);
			url_text_encode(out, granted[i]);
			continue;
		}
		if (external_value_is_empty(&c->params[i], &values[i]))
			return false;
		if (c->params[i].is_seed)
			buf_put_text(out, JSON_SEED);
		else
			external_value_put_encoded(&c->params[i], &values[i],
			    out);
	}
	return true;
}

static void
fill_url(const struct external_connector *c,
    const struct external_value *values, const struct str *granted,
    struct buf *url)
{
	FREED(buf_free) struct buf filled = BUF_INIT;
	struct str query, pair;
	struct str path = split_query(json_text(yyjson_obj_get(c->api,
	    "url")), &query);
	char before = '?';

	CHECK(fill_part(c, values, granted, path, url));
	query = str_from(query, 1);
	while (query.n > 0 && str_split(&query, '&', &pair)) {
		buf_clear(&filled);
		if (!fill_part(c, values, granted, pair, &filled))
			continue;
		buf_put_char(url, before);
		buf_put_str(url, buf_str(&filled));
		before = '&';
	}
}

/* ---- The order --------------------------------------------------------- */

void
external_order_put_seeds(const struct external_connector *c,
    const struct external_value *values, struct buf *out)
{
	FREED(buf_free) struct buf one = BUF_INIT;

	json_array(out, "seeds");
	for (size_t i = 0; i < c->params_n; i++) {
		const struct external_value *v = &values[i];
		size_t n = v->list_n > 0 ? v->list_n : v->given;
		for (size_t k = 0; c->params[i].is_seed && k < n; k++) {
			json_object(out, NULL);
			if (v->list_n > 0) {
				json_str(out, "token", v->list[k]);
			} else {
				buf_clear(&one);
				external_value_put_json(&c->params[i], v,
				    &one);
				json_raw(out, "token", buf_str(&one));
			}
			buf_put_char(out, '}');
		}
	}
	buf_put_char(out, ']');
}

/* `api` with that address in place of its own. */
static void
put_api(const struct external_connector *c, struct str url, struct buf *out)
{
	yyjson_doc *copy = copy_api(c, url);
	size_t n = 0;
	char *text = yyjson_write(copy, 0, &n);

	CHECK(text != NULL);
	json_raw(out, "api", (struct str){ text, n });
	free(text);
	yyjson_doc_free(copy);
}

static void
ignore_fault(void *arg, struct str name, struct str message)
{
	(void)arg;
	(void)name;
	(void)message;
}

/* Without a grant the oauthParameters have their defaults. */
static enum err
read_granted(const struct external_connector *c, const struct str *granted,
    struct arena *a, struct str *out, struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; c->has_oauth && i < c->oauth.params_n && e == OK;
	    i++)
		e = oauth_param_read(&c->oauth, i, granted != NULL ?
		    granted[i] : STR_NONE, a, &out[i], w);
	return e;
}

enum err
external_order_make(const struct external_connector *c, struct str params,
    struct buf *out, struct why *w)
{
	return external_order_make_granted(c, params, NULL, out, w);
}

enum err
external_order_make_granted(const struct external_connector *c,
    struct str params, const struct str *granted, struct buf *out,
    struct why *w)
{
	static const struct external_params_faults ignored = { NULL,
		ignore_fault, NULL };
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf url = BUF_INIT;
	struct str known[OAUTH_PARAMS_MAX];
	struct external_value *values;

	if (c->runs == NULL)
		return why(w, ERR_STATE, "the connector makes a crawl, and "
		    "takes no orders");
	/* Parameters may be passwords. */
	yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)params.p,
	    params.n, YYJSON_READ_BIGNUM_AS_RAW, &json_wiping, NULL);
	if (doc == NULL)
		return why_field(w, ERR_INPUT, "params", "it is not "
		    "JSON");
	enum err e = external_params_read(c, yyjson_doc_get_root(doc),
	    &ignored, &a, &values, w);
	if (e == OK)
		e = read_granted(c, granted, &a, known, w);
	if (e == OK && c->api != NULL)
		fill_url(c, values, known, &url);
	if (e == OK && url.n > JSON_TEXT_BYTES_MAX)
		e = why_field(w, ERR_INPUT, "params", "the address that they "
		    "make is longer than %u bytes", JSON_TEXT_BYTES_MAX);
	if (e == OK && c->api == NULL)
		external_harvest_order(c, values, out);
	if (e == OK && c->api != NULL) {
		buf_put_char(out, '{');
		json_str(out, "type", str_of(json_api.type));
		external_order_put_seeds(c, values, out);
		json_object(out, "options");
		put_api(c, buf_str(&url), out);
		buf_put_text(out, "}}");
	}
	yyjson_doc_free(doc);
	return e;
}
