#include "engine/policy/seed_list.h"

#include <math.h>

#include "base/json.h"
#include "engine/policy/address.h"

/* "mailto:x" has a scheme, "localhost:8000" a port. */
static bool
has_other_scheme(struct str s)
{
	size_t colon = str_find_char(s, ':');

	if (colon == 0 || colon + 1 >= s.n || ascii_is_digit(s.p[colon + 1]))
		return false;
	for (size_t i = 0; i < colon; i++)
		if (!ascii_is_alpha(s.p[i]))
			return false;
	return true;
}

enum err
seed_parse(struct str typed, struct arena *a, struct url *out,
    struct why *w)
{
	struct str seed = str_trim(typed);
	struct url plain;

	if (seed.n == 0)
		return why(w, ERR_INPUT, "it is empty");
	if (str_find(seed, STR("://")) == seed.n) {
		if (has_other_scheme(seed))
			return why(w, ERR_INPUT, "it does not begin with "
			    "http:// or https://");
		seed = arena_printf(a, "http://%.*s", STR_FMT(seed));
	}
	enum err e = url_parse(seed, NULL, a, &plain, w);
	if (e != OK)
		return e;
	if ((plain.scheme != URL_HTTP && plain.scheme != URL_HTTPS) ||
	    plain.host.n == 0)
		return why(w, ERR_INPUT, "only http and https are fetched");
	return url_canonical(&plain, NULL, 0, a, out, w);
}

struct url *
seeds_parse(const struct str *typed, size_t n, struct arena *a, size_t *urls_n)
{
	struct url *urls = ARENA_ARRAY(a, struct url, n + 1);

	*urls_n = 0;
	for (size_t i = 0; i < n; i++)
		*urls_n += seed_parse(typed[i], a, &urls[*urls_n], NULL) == OK;
	return urls;
}

static enum err
read_delay(yyjson_val *v, size_t at, double *out, struct why *w)
{
	*out = -1;
	if (json_is_absent(v))
		return OK;
	if (yyjson_is_num(v))
		*out = yyjson_get_num(v);
	else if (!yyjson_is_str(v) || !str_to_double(json_text(v), out))
		return why(w, ERR_INPUT, "seeds[%zu].rate_limit: expected a "
		    "number", at);
	return isfinite(*out) && *out >= 0 ? OK : why(w, ERR_INPUT,
	    "seeds[%zu].rate_limit: it must be 0 or more", at);
}

static enum err
read_seed(yyjson_val *v, size_t at, struct arena *a, struct launch_seed *out,
    struct why *w)
{
	yyjson_val *url = yyjson_is_obj(v) ? yyjson_obj_get(v, "url") : v;

	if (!yyjson_is_str(url) || yyjson_get_len(url) == 0)
		return why(w, ERR_INPUT, "seeds[%zu].url: there is none", at);
	out->url = arena_copy(a, json_text(url));
	return read_delay(yyjson_is_obj(v) ? yyjson_obj_get(v, "rate_limit") :
	    NULL, at, &out->rate_limit, w);
}

static enum err
read_list(yyjson_val *list, struct arena *a, struct launch_seed **out,
    size_t *n, struct why *w)
{
	yyjson_arr_iter i = yyjson_arr_iter_with(list);
	enum err e = OK;
	yyjson_val *v;

	*n = 0;
	if (!yyjson_is_arr(list))
		return why(w, ERR_INPUT, "seeds: expected a list");
	if (yyjson_arr_size(list) == 0)
		return why(w, ERR_INPUT, "seeds: there is none");
	if (yyjson_arr_size(list) > SEED_LIST_MAX)
		return why(w, ERR_FULL, "seeds: %zu; at most %u are allowed",
		    yyjson_arr_size(list), SEED_LIST_MAX);
	*out = ARENA_ARRAY(a, struct launch_seed, yyjson_arr_size(list));
	for (; e == OK && (v = yyjson_arr_iter_next(&i)) != NULL; (*n)++)
		e = read_seed(v, *n, a, &(*out)[*n], w);
	return e;
}

enum err
seed_list_read(struct str json, struct arena *a, struct launch_seed **out,
    size_t *n, struct why *w)
{
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	enum err e = doc == NULL ? why(w, ERR_INPUT, "seeds: it is not JSON") :
	    read_list(yyjson_doc_get_root(doc), a, out, n, w);

	yyjson_doc_free(doc);
	return e;
}

bool
seed_has_password(struct str seed)
{
	size_t scheme = str_find(seed, STR("://"));
	struct str rest = str_from(seed, scheme == seed.n ? 0 : scheme + 3);
	size_t end = 0;

	/* "http:///u:p@host/" is read as if two stood there. */
	while (rest.n > 0 && str_has_char(STR("/\\"), rest.p[0]))
		rest = str_from(rest, 1);
	while (end < rest.n && !str_has_char(STR("/?#\\"), rest.p[end]))
		end++;
	rest = str_cut(rest, 0, end);
	return str_find_char(rest, '@') < rest.n &&
	    (scheme < seed.n || str_find_char(rest, ':') < rest.n) &&
	    !str_starts_nocase(rest, STR("mailto:"));
}

enum err
seed_list_check(const struct launch_seed *seeds, size_t n, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct why inner = WHY_INIT;
	enum err e = OK;
	struct url u;

	if (n == 0)
		return why(w, ERR_INPUT, "seeds: there is none");
	if (n > SEED_LIST_MAX)
		return why(w, ERR_FULL, "seeds: %zu; at most %u are allowed",
		    n, SEED_LIST_MAX);
	for (size_t i = 0; i < n && e == OK; i++) {
		if (seed_parse(seeds[i].url, &a, &u, &inner) != OK)
			e = why(w, ERR_INPUT, "seeds[%zu].url: %s", i,
			    inner.text);
		else if (address_url_is_ambiguous(seeds[i].url))
			e = why(w, ERR_INPUT, "seeds[%zu].url: a backslash "
			    "stands where others read another host", i);
		else if (seed_has_password(seeds[i].url))
			e = why(w, ERR_INPUT, "seeds[%zu].url: it holds a "
			    "user or a password, which would be archived", i);
		if (i % 64 == 0)
			arena_reset(&a);
	}
	return e;
}
