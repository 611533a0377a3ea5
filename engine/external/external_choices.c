/*
 * Choices: options of a parameter that the API has, by one call.
 *
 *     "x-choices":{"url":"https://a.example/boards?like={query}&kind={kind}",
 *       "items":"/boards", "value":"/id", "label":"/name"}
 *
 * The order for that call is one of `json_api`, as a run's is, with this
 * address and these places in `api`, and with the authentication of the
 * connector's own `api`.  So the credential is sent to that host and no other.
 */
#include "base/json_writer.h"
#include "base/text.h"
#include "engine/connector/items.h"
#include "engine/connector/json/json_api.h"
#include "engine/connector/json/json_description.h"
#include "engine/connector/url_text.h"
#include "engine/external/external_own.h"
#include "engine/external/oauth_own.h"

#define QUERY "query"
#define LABEL "choices"

/* ---- The declaration ---------------------------------------------------- */

enum err
external_choices_read(struct external_reading *r, yyjson_val *property,
    const char *place, struct external_param *p)
{
	static const char *const names[] = { "url", "items", "value", "label",
		NULL };
	yyjson_val *given = yyjson_obj_get(property, "x-choices");
	struct external_choices *c;
	enum err e;

	if (given == NULL)
		return OK;
	place = external_read_join(r, place, "x-choices");
	if (!external_ui_rows[p->ui].options)
		return external_read_refuse(r, place, "a parameter of type %s "
		    "has no options", external_ui_rows[p->ui].name);
	if (p->options_n > 0)
		return external_read_refuse(r, place, "the options are there "
		    "already, in enum or oneOf");
	c = ARENA_NEW(&r->connector->arena, struct external_choices);
	if ((e = external_read_members(r, given, place, names)) != OK ||
	    (e = external_read_text(r, given, place, "url", true,
	    &c->url)) != OK || (e = external_read_text(r, given, place,
	    "items", true, &c->items)) != OK || (e = external_read_text(r,
	    given, place, "value", true, &c->value)) != OK ||
	    (e = external_read_text(r, given, place, "label", false,
	    &c->label)) != OK)
		return e;
	if (c->label.n > 0 && c->label.p[0] != '/')
		return external_read_refuse(r, external_read_join(r, place,
		    "label"), "it is not a JSON pointer, such as /name");
	if (c->label.n == 0)
		c->label = c->value;
	p->choices = c;
	return OK;
}

/* `api` of the call, with that address. */
static yyjson_mut_val *
make_api(const struct external_connector *c, const struct external_choices *x,
    struct str url, yyjson_mut_doc *doc)
{
	yyjson_mut_val *api = yyjson_mut_obj(doc);
	yyjson_val *auth = yyjson_obj_get(c->api, "auth");
	bool put = yyjson_mut_obj_add_strn(doc, api, "url", url.p, url.n) &&
	    yyjson_mut_obj_add_str(doc, api, "label", LABEL) &&
	    yyjson_mut_obj_add_strn(doc, api, "items", x->items.p,
	    x->items.n) && yyjson_mut_obj_add_strn(doc, api, "id", x->value.p,
	    x->value.n) && (auth == NULL || yyjson_mut_obj_add_val(doc, api,
	    "auth", yyjson_val_mut_copy(doc, auth)));

	CHECK(put);
	return api;
}

static bool
braces_match(struct str url)
{
	bool inside = false;

	for (size_t i = 0; i < url.n; i++) {
		if (url.p[i] == (inside ? '{' : '}'))
			return false;
		inside ^= url.p[i] == '{' || url.p[i] == '}';
	}
	return !inside;
}

static enum err
check_placeholders(struct external_reading *r, const char *place,
    struct str url)
{
	struct external_connector *c = r->connector;
	struct str literal, name;

	if (!braces_match(url))
		return external_read_refuse(r, place, "it has a brace without "
		    "the other");
	while (oauth_take_placeholder(&url, &literal, &name)) {
		if (name.p == NULL || str_eq(name, STR(QUERY)))
			continue;
		size_t i = external_param_find(c, name);
		if (i == EXTERNAL_NO_PARAM)
			return external_read_refuse(r, place, "there is no "
			    "parameter for {%.*s}", STR_FMT(str_cut(name, 0,
			    EXTERNAL_NAME_BYTES_MAX)));
		if (!external_ui_rows[c->params[i].ui].place)
			return external_read_refuse(r, place, "{%.*s} is of "
			    "type %s, which cannot be a part of an address",
			    STR_FMT(name),
			    external_ui_rows[c->params[i].ui].name);
	}
	return OK;
}

/* As the driver will read it; the host is that of `api`. */
static enum err
check_api(struct external_reading *r, const char *place,
    const struct external_choices *x)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct external_connector *c = r->connector;
	struct json_description own, api;
	struct why cause = WHY_INIT;
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

	CHECK(doc != NULL);
	/* The rest of it has been checked. */
	if (json_description_read(c->api, &a, &api, NULL) != OK) {
		yyjson_mut_doc_free(doc);
		return external_read_refuse(r, place, "the host of api.url has "
		    "a placeholder, so that the host of choices is not known");
	}
	yyjson_mut_doc_set_root(doc, make_api(c, x, x->url, doc));
	yyjson_doc *read = yyjson_mut_doc_imut_copy(doc, NULL);
	CHECK(read != NULL);
	enum err e = json_description_read(yyjson_doc_get_root(read), &a,
	    &own, &cause);
	if (e != OK)
		e = external_read_fail(r, ERR_INPUT, place, cause.text +
		    cause.sentence);
	else if (!str_eq(own.base, api.base))
		e = external_read_refuse(r, place, "it is not at the scheme, "
		    "host and port of api.url");
	yyjson_doc_free(read);
	yyjson_mut_doc_free(doc);
	return e;
}

enum err
external_choices_check(struct external_reading *r)
{
	struct external_connector *c = r->connector;
	enum err e = OK;

	for (size_t i = 0; i < c->params_n && e == OK; i++) {
		const struct external_choices *x = c->params[i].choices;
		const char *place = arena_printf(&c->arena, "parameters."
		    "properties.%.*s.x-choices",
		    STR_FMT(c->params[i].name)).p;
		if (x == NULL)
			continue;
		if (c->api == NULL)
			return external_read_refuse(r, place, "there is no api"
			    " that it could ask");
		e = check_placeholders(r, external_read_join(r, place, "url"),
		    x->url);
		if (e == OK)
			e = check_api(r, place, x);
	}
	return e;
}

/* ---- The order ---------------------------------------------------------- */

struct filling {
	const struct external_connector *connector;
	yyjson_val *params;
	struct str query;
	struct arena *a;
	struct why *w;
};

/* Append what stands for {NAME}; `absent`: there is nothing. */
static enum err
put_value(struct filling *f, struct str name, struct buf *out, bool *absent)
{
	const struct external_connector *c = f->connector;
	struct external_value v = { .given = false };
	const char *wrong = NULL;

	if (str_eq(name, STR(QUERY))) {
		*absent = f->query.n == 0;
		url_text_encode(out, f->query);
		return OK;
	}
	size_t i = external_param_find(c, name);
	CHECK(i != EXTERNAL_NO_PARAM);
	const struct external_param *p = &c->params[i];
	yyjson_val *given = yyjson_obj_getn(f->params, name.p, name.n);
	if (json_is_absent(given))
		given = p->otherwise;
	if (given != NULL)
		wrong = external_value_read(p, given, f->a, &v);
	if (wrong != NULL)
		return why_field(f->w, ERR_INPUT, arena_printf(f->a, "%.*s",
		    STR_FMT(name)).p, "%s", wrong);
	*absent = external_value_is_empty(p, &v);
	if (!*absent)
		external_value_put_encoded(p, &v, out);
	return OK;
}

/* Fill a part of the address.  `missing`: the name of what is absent in it, or
 * STR_NONE. */
static enum err
fill_part(struct filling *f, struct str part, struct buf *out,
    struct str *missing)
{
	struct str literal, name;
	enum err e = OK;

	*missing = STR_NONE;
	while (e == OK && oauth_take_placeholder(&part, &literal, &name)) {
		bool absent = false;
		buf_put_str(out, literal);
		if (name.p != NULL)
			e = put_value(f, name, out, &absent);
		if (absent)
			*missing = name;
	}
	return e;
}

/* Whether a segment of a path leads upwards, or nowhere. */
static bool
has_dot_segment(struct str path)
{
	struct str segment;

	while (str_split(&path, '/', &segment))
		if (str_eq(segment, STR(".")) || str_eq(segment, STR("..")))
			return true;
	return false;
}

/* A pair of the query without a value is left out, as in a run's address. */
static enum err
fill_url(struct filling *f, struct str url, struct buf *out)
{
	FREED(buf_free) struct buf filled = BUF_INIT;
	size_t path = str_find_char(url, '?');
	struct str query = str_from(url, path + 1), pair, missing;
	char before = '?';

	enum err e = fill_part(f, str_cut(url, 0, path), out, &missing);
	if (e == OK && missing.n > 0)
		return why_field(f->w, ERR_INPUT, arena_printf(f->a, "%.*s",
		    STR_FMT(missing)).p, "these choices need it");
	if (e == OK && has_dot_segment(buf_str(out)))
		return why_field(f->w, ERR_INPUT, "params", "a value cannot be"
		    " a part of a path");
	while (e == OK && query.n > 0 && str_split(&query, '&', &pair)) {
		buf_clear(&filled);
		e = fill_part(f, pair, &filled, &missing);
		if (e != OK || missing.n > 0)
			continue;
		buf_put_char(out, before);
		buf_put_str(out, buf_str(&filled));
		before = '&';
	}
	return e;
}

static void
put_order(const struct external_connector *c, const struct external_choices *x,
    struct str url, struct buf *out)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	size_t n = 0;

	CHECK(doc != NULL);
	char *text = yyjson_mut_val_write(make_api(c, x, url, doc), 0, &n);
	CHECK(text != NULL);
	buf_put_char(out, '{');
	json_str(out, "type", str_of(json_api.type));
	json_raw(out, "seeds", STR("[]"));
	json_object(out, "options");
	json_bool(out, "incremental", false);
	json_raw(out, "api", (struct str){ text, n });
	buf_put_text(out, "}}");
	free(text);
	yyjson_mut_doc_free(doc);
}

bool
external_choices_are_declared(const struct external_connector *c,
    struct str name)
{
	size_t i = external_param_find(c, name);

	return i != EXTERNAL_NO_PARAM && c->params[i].choices != NULL;
}

enum err
external_choices_order(const struct external_connector *c, struct str name,
    yyjson_val *params, struct str query, struct buf *out, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf url = BUF_INIT;
	struct filling f = { c, params, query, &a, w };

	CHECK(external_choices_are_declared(c, name));
	const struct external_choices *x = c->params[external_param_find(c,
	    name)].choices;
	if (query.n > EXTERNAL_QUERY_BYTES_MAX || text_has_control(query))
		return why_field(w, ERR_INPUT, QUERY, "it is not a text of one "
		    "line, of at most %u bytes", EXTERNAL_QUERY_BYTES_MAX);
	enum err e = fill_url(&f, x->url, &url);
	if (e == OK && url.n > JSON_TEXT_BYTES_MAX)
		e = why_field(w, ERR_INPUT, "params", "the address that they "
		    "make is longer than %u bytes", JSON_TEXT_BYTES_MAX);
	if (e == OK)
		put_order(c, x, buf_str(&url), out);
	return e;
}

/* ---- Options ------------------------------------------------------------ */

/* A text or a number at that place of the item; STR_NONE: there is neither. */
static struct str
text_at(yyjson_val *item, struct str place, struct arena *a)
{
	return json_id(yyjson_ptr_getn(item, place.p, place.n), a);
}

bool
external_choices_put_option(const struct external_connector *c,
    struct str name, struct str item, struct buf *out)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct external_choices *x = c->params[external_param_find(c,
	    name)].choices;
	yyjson_doc *doc = yyjson_read(item.p, item.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	struct str value = text_at(yyjson_doc_get_root(doc), x->value, &a);
	struct str label = text_at(yyjson_doc_get_root(doc), x->label, &a);

	if (value.n > 0 && value.n <= EXTERNAL_VALUE_BYTES_MAX) {
		json_object(out, NULL);
		json_str(out, "value", value);
		json_str(out, "label", label.n > 0 ? label : value);
		buf_put_char(out, '}');
	}
	yyjson_doc_free(doc);
	return value.n > 0 && value.n <= EXTERNAL_VALUE_BYTES_MAX;
}
