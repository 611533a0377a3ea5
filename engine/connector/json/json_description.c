#include "engine/connector/json/json_description.h"

#include "base/text.h"
#include "engine/connector/items.h"
#include "engine/connector/url_text.h"

#define ROOT "options.api"
#define COLUMNS_MAX 200u
#define RATE_MAX 1000000

struct reading {
	struct arena *a;
	struct why *w;
};

/* ---- Values ------------------------------------------------------------ */

#define REFUSE(r, field, ...) why_field((r)->w, ERR_INPUT, field, __VA_ARGS__)

static const char *
join(struct reading *r, const char *place, const char *name)
{
	return arena_printf(r->a, "%s.%s", place, name).p;
}

/* A text of an object; absent: NULL, unless it is needed. */
static enum err
read_text(struct reading *r, yyjson_val *object, const char *place,
    const char *name, bool needed, const char **out)
{
	const char *field = join(r, place, name);
	yyjson_val *v = yyjson_obj_get(object, name);
	struct str s = json_text(v);

	*out = NULL;
	if (json_is_absent(v))
		return needed ? REFUSE(r, field, "it is missing") : OK;
	if (!yyjson_is_str(v) || s.n > JSON_TEXT_BYTES_MAX ||
	    !text_is_utf8(s) || text_has_control(s))
		return REFUSE(r, field, "it is not a text of one line");
	*out = arena_copy(r->a, s).p;
	return OK;
}

/* A JSON Pointer of an object. */
static enum err
read_place(struct reading *r, yyjson_val *object, const char *place,
    const char *name, bool needed, const char **out)
{
	/* "" is the whole document. */
	bool whole = yyjson_equals_str(yyjson_obj_get(object, name), "");
	enum err e = read_text(r, object, place, name, needed && !whole, out);

	if (whole)
		*out = "";
	if (e == OK && *out != NULL && **out != '\0' && **out != '/')
		return REFUSE(r, join(r, place, name), "it is not a place such"
		    " as /a/b");
	return e;
}

static enum err
read_int(struct reading *r, yyjson_val *object, const char *place,
    const char *name, int64_t least, int64_t otherwise, int64_t *out)
{
	yyjson_val *v = yyjson_obj_get(object, name);

	*out = otherwise;
	if (v == NULL)
		return OK;
	if (!str_to_i64(json_id(v, r->a), out) || *out < least ||
	    *out > RATE_MAX)
		return REFUSE(r, join(r, place, name), "it is not a whole "
		    "number from %lld to %d", (long long)least, RATE_MAX);
	return OK;
}

/* Which of the words a text is. */
static enum err
read_word(struct reading *r, yyjson_val *object, const char *place,
    const char *name, const char *const *words, size_t n, size_t *out)
{
	struct str s = json_text(yyjson_obj_get(object, name));
	FREED(buf_free) struct buf list = BUF_INIT;

	*out = str_find_row(s, words, n, sizeof(*words), str_eq);
	for (size_t i = 0; i < n; i++)
		buf_printf(&list, "%s%s", i == 0 ? "" : " ", words[i]);
	return *out < n ? OK : REFUSE(r, join(r, place, name),
	    "it is none of: %s", buf_text(&list));
}

/* A member that is misspelt would silently ask for something else. */
static enum err
check_members(struct reading *r, yyjson_val *object, const char *place,
    const char *const *names)
{
	size_t i, n;
	yyjson_val *key, *v;

	if (!yyjson_is_obj(object))
		return REFUSE(r, place, "it is not an object");
	yyjson_obj_foreach(object, i, n, key, v) {
		const char *const *name = names;
		while (*name != NULL && !str_eq(json_text(key), str_of(*name)))
			name++;
		if (*name == NULL)
			return REFUSE(r, place, "it has a field that is not "
			    "known: %.*s", STR_FMT(str_cut(json_text(key), 0,
			    40)));
	}
	return OK;
}

/* ---- Members ----------------------------------------------------------- */

static enum err
read_url(struct reading *r, yyjson_val *api, struct json_description *d)
{
	const char *url;
	enum err e = read_text(r, api, ROOT, "url", true, &url);

	if (e != OK)
		return e;
	d->url = str_of(url);
	size_t scheme = str_starts_nocase(d->url, STR("https://")) ? 8 : 7;
	struct str rest = str_from(d->url, scheme);
	size_t host = 0;
	while (host < rest.n && !str_has_char(STR("/?#"), rest.p[host]))
		host++;
	d->base = str_cut(d->url, 0, scheme + host);
	d->has_seed = str_find(d->url, STR(JSON_SEED)) < d->url.n;
	if (!url_text_is_web(d->url) || host == 0 ||
	    str_find_char(d->base, '{') < d->base.n ||
	    str_find_char(d->base, '@') < d->base.n ||
	    str_find_char(d->url, '#') < d->url.n)
		return REFUSE(r, ROOT ".url", "it is not the address of a list"
		    ", such as https://a.example/" JSON_SEED ".json");
	return OK;
}

static enum err
read_auth(struct reading *r, yyjson_val *api, struct json_description *d)
{
	static const char *const names[] = { "kind", "name", "token_url",
		NULL };
	static const char *const kinds[] = { "none", "bearer", "header",
		"query", "basic", "oauth1", "client_credentials" };
	static const enum connector_auth auths[] = { CONNECTOR_ANONYMOUS,
		CONNECTOR_BEARER, CONNECTOR_HEADER, CONNECTOR_QUERY,
		CONNECTOR_BASIC, CONNECTOR_OAUTH1, CONNECTOR_APP_BEARER };
	yyjson_val *auth = yyjson_obj_get(api, "auth");
	const char *place = ROOT ".auth";
	size_t kind;
	enum err e;

	if (json_is_absent(auth))
		return OK;
	if ((e = check_members(r, auth, place, names)) != OK ||
	    (e = read_word(r, auth, place, "kind", kinds, ARRAY_LEN(kinds),
	    &kind)) != OK)
		return e;
	d->auth = auths[kind];
	bool named = d->auth == CONNECTOR_HEADER || d->auth == CONNECTOR_QUERY;
	if ((e = read_text(r, auth, place, "name", named,
	    &d->auth_name)) != OK || (e = read_text(r, auth, place,
	    "token_url", d->auth == CONNECTOR_APP_BEARER,
	    &d->token_url)) != OK)
		return e;
	if (named && !text_is_token(str_of(d->auth_name)))
		return REFUSE(r, ROOT ".auth.name", "it is not the name of a "
		    "field or a parameter");
	if (d->token_url != NULL && (!url_text_is_web(str_of(d->token_url)) ||
	    !str_starts_nocase(str_of(d->token_url), STR("https:"))))
		return REFUSE(r, ROOT ".auth.token_url", "it is not an address"
		    " that begins with https");
	if (d->auth != CONNECTOR_ANONYMOUS &&
	    !str_starts_nocase(d->url, STR("https:")))
		return REFUSE(r, ROOT ".url", "it must begin with https, as a "
		    "credential is sent to it");
	return OK;
}

static enum err
read_next(struct reading *r, yyjson_val *api, struct json_description *d)
{
	static const char *const names[] = { "cursor", "url", "link", "page",
		"offset", "parameter", "first", "by", NULL };
	static const enum json_next kinds[] = { JSON_NEXT_CURSOR,
		JSON_NEXT_URL, JSON_NEXT_LINK, JSON_NEXT_PAGE,
		JSON_NEXT_OFFSET };
	const char *place = ROOT ".next";
	yyjson_val *next = yyjson_obj_get(api, "next");
	size_t found = 0;
	enum err e;

	if (json_is_absent(next))
		return OK;
	if ((e = check_members(r, next, place, names)) != OK)
		return e;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (yyjson_obj_get(next, names[i]) != NULL) {
			d->next = kinds[i];
			found++;
		}
	if (found != 1)
		return REFUSE(r, place, "it has not one of: cursor url link "
		    "page offset");
	bool counts = d->next >= JSON_NEXT_PAGE;
	const char *name = names[d->next - JSON_NEXT_CURSOR];
	/* "page" and "offset" name their parameter themselves. */
	if (counts)
		e = read_text(r, next, place, name, true, &d->next_parameter);
	else if (d->next == JSON_NEXT_LINK)
		e = read_text(r, next, place, name, true, &d->next_at);
	else
		e = read_place(r, next, place, name, true, &d->next_at);
	if (e == OK && d->next == JSON_NEXT_CURSOR)
		e = read_text(r, next, place, "parameter", true,
		    &d->next_parameter);
	if (e == OK)
		e = read_int(r, next, place, "first", 0, d->next ==
		    JSON_NEXT_PAGE, &d->first);
	if (e == OK && d->next == JSON_NEXT_OFFSET &&
	    yyjson_obj_get(next, "by") == NULL)
		return REFUSE(r, ROOT ".next.by", "it is missing");
	return e != OK ? e : read_int(r, next, place, "by", 1, 1, &d->by);
}

static enum err
read_since(struct reading *r, yyjson_val *api, struct json_description *d)
{
	static const char *const names[] = { "parameter", "from", NULL };
	static const char *const words[] = { "date", "id" };
	yyjson_val *since = yyjson_obj_get(api, "since");
	const char *place = ROOT ".since";
	size_t word;
	enum err e;

	if (json_is_absent(since))
		return OK;
	if ((e = check_members(r, since, place, names)) != OK ||
	    (e = read_text(r, since, place, "parameter", true,
	    &d->since_parameter)) != OK || (e = read_word(r, since, place,
	    "from", words, ARRAY_LEN(words), &word)) != OK)
		return e;
	d->since_is_date = word == 0;
	if (d->since_is_date && d->date == NULL)
		return REFUSE(r, ROOT ".date", "it is missing, and since is "
		    "from it");
	return OK;
}

static enum err
read_rate(struct reading *r, yyjson_val *api, struct json_description *d)
{
	static const char *const names[] = { "calls", "seconds", NULL };
	yyjson_val *rate = yyjson_obj_get(api, "rate");
	int64_t calls, seconds;
	enum err e;

	if (json_is_absent(rate))
		return OK;
	if ((e = check_members(r, rate, ROOT ".rate", names)) != OK ||
	    (e = read_int(r, rate, ROOT ".rate", "calls", 1, 1, &calls)) !=
	    OK || (e = read_int(r, rate, ROOT ".rate", "seconds", 1, 1,
	    &seconds)) != OK)
		return e;
	d->rates[0] = (struct connector_rate){ (uint64_t)calls,
		(unsigned)seconds, false };
	return OK;
}

static enum err
read_columns(struct reading *r, yyjson_val *api, struct json_description *d)
{
	static const char *const names[] = { "name", "at", "meaning", NULL };
	yyjson_val *list = yyjson_obj_get(api, "columns"), *v;
	size_t i, n;
	enum err e;

	if (json_is_absent(list))
		return OK;
	if (!yyjson_is_arr(list) || yyjson_arr_size(list) > COLUMNS_MAX)
		return REFUSE(r, ROOT ".columns", "it is not a list of at most"
		    " %u columns", COLUMNS_MAX);
	struct json_column *columns = ARENA_ARRAY(r->a, struct json_column,
	    yyjson_arr_size(list));
	yyjson_arr_foreach(list, i, n, v) {
		const char *place = arena_printf(r->a, ROOT ".columns[%zu]",
		    i).p;
		if ((e = check_members(r, v, place, names)) != OK ||
		    (e = read_text(r, v, place, "name", true,
		    &columns[i].name)) != OK || (e = read_place(r, v, place,
		    "at", true, &columns[i].at)) != OK ||
		    (e = read_text(r, v, place, "meaning", false,
		    &columns[i].meaning)) != OK)
			return e;
	}
	d->columns = columns;
	d->columns_n = yyjson_arr_size(list);
	return OK;
}

/* ---- All --------------------------------------------------------------- */

enum err
json_description_read(yyjson_val *api, struct arena *a,
    struct json_description *d, struct why *w)
{
	static const char *const names[] = { "url", "label", "auth", "items",
		"id", "date", "owner", "next", "since", "rate", "columns",
		NULL };
	struct reading r = { a, w };
	enum err e;

	*d = (struct json_description){ .auth = CONNECTOR_ANONYMOUS };
	if ((e = check_members(&r, api, ROOT, names)) != OK ||
	    (e = read_url(&r, api, d)) != OK ||
	    (e = read_text(&r, api, ROOT, "label", true, &d->label)) != OK ||
	    (e = read_auth(&r, api, d)) != OK ||
	    (e = read_place(&r, api, ROOT, "items", true, &d->items)) != OK ||
	    (e = read_place(&r, api, ROOT, "id", true, &d->id)) != OK ||
	    (e = read_place(&r, api, ROOT, "date", false, &d->date)) != OK ||
	    (e = read_place(&r, api, ROOT, "owner", false, &d->owner)) != OK ||
	    (e = read_next(&r, api, d)) != OK ||
	    (e = read_since(&r, api, d)) != OK ||
	    (e = read_rate(&r, api, d)) != OK)
		return e;
	return read_columns(&r, api, d);
}

yyjson_val *
json_description_at(yyjson_val *v, const char *place)
{
	return *place == '\0' ? v : yyjson_ptr_get(v, place);
}

bool
json_description_date(struct str s, struct item_date *out)
{
	uint64_t seconds;

	/* Eleven digits are enough for 3,000 years. */
	if (s.n > 11 || !str_to_u64(s, &seconds))
		return item_date_parse(s, out);
	*out = item_date_of_epoch((int64_t)seconds);
	return true;
}
