#include "engine/harvest/web_documents_plan.h"

#include "base/json.h"

/* ---- Parameters ----------------------------------------------------- */

static enum err
read_texts(yyjson_val *root, const char *name, struct arena *a,
    struct str **out, size_t *n, struct why *w)
{
	yyjson_val *list = yyjson_obj_get(root, name), *v;
	size_t i, all;

	*n = 0;
	*out = ARENA_ARRAY(a, struct str, yyjson_arr_size(list));
	if (list != NULL && !yyjson_is_arr(list))
		return why_field(w, ERR_INPUT, arena_printf(a, "params.%s",
		    name).p, "it is not a list");
	yyjson_arr_foreach(list, i, all, v) {
		if (!yyjson_is_str(v))
			return why_field(w, ERR_INPUT, arena_printf(a,
			    "params.%s[%zu]", name, i).p, "it is not a text");
		(*out)[(*n)++] = arena_copy(a, json_text(v));
	}
	return OK;
}

static enum err
read_seeds(yyjson_val *root, struct arena *a, struct web_documents_plan *p,
    struct why *w)
{
	struct why inner = WHY_INIT;
	struct str *urls;
	enum err e = read_texts(root, "seeds", a, &urls, &p->seeds_n, w);

	if (e != OK)
		return e;
	p->seeds = ARENA_ARRAY(a, struct launch_seed, p->seeds_n);
	for (size_t i = 0; i < p->seeds_n; i++)
		p->seeds[i] = (struct launch_seed){ urls[i], -1 };
	e = seed_list_check(p->seeds, p->seeds_n, &inner);
	return e == OK ? OK : why_field(w, e, "params", "%s", inner.text);
}

static enum err
read_scope(yyjson_val *root, struct web_documents_plan *p, struct why *w)
{
	static const struct { const char *name; enum policy_scope scope; }
	    rows[] = { { "host", SCOPE_HOST }, { "domain", SCOPE_DOMAIN },
		{ "prefix", SCOPE_PREFIX }, { "page", SCOPE_ANY } };
	yyjson_val *v = yyjson_obj_get(root, "scope");
	size_t i = v == NULL ? 0 : STR_ROW(json_text(v), rows);

	if (i == ARRAY_LEN(rows))
		return why_field(w, ERR_INPUT, "params.scope", "it is none of:"
		    " host domain prefix page");
	p->scope = rows[i].scope;
	return OK;
}

static enum err
read_number(yyjson_val *root, const char *name, const char *field,
    int64_t *out, struct why *w)
{
	yyjson_val *v = yyjson_obj_get(root, name);

	*out = -1;
	if (v == NULL)
		return OK;
	if (!yyjson_is_uint(v) || yyjson_get_uint(v) > INT64_MAX)
		return why_field(w, ERR_INPUT, field, "it is not a whole "
		    "number");
	*out = (int64_t)yyjson_get_uint(v);
	return OK;
}

static enum err
read_params(yyjson_val *root, struct arena *a, struct web_documents_plan *p,
    struct why *w)
{
	FREED(buf_free) struct buf policy = BUF_INIT;
	enum err e;

	if (!yyjson_is_obj(root))
		return why_field(w, ERR_INPUT, "params", "they are not a JSON "
		    "object");
	if ((e = read_seeds(root, a, p, w)) != OK ||
	    (e = read_scope(root, p, w)) != OK ||
	    (e = read_number(root, "depth", "params.depth", &p->depth,
	    w)) != OK || (e = read_number(root, "pages_max",
	    "params.pages_max", &p->pages_max, w)) != OK ||
	    (e = read_texts(root, "include", a, &p->include, &p->include_n,
	    w)) != OK || (e = read_texts(root, "exclude", a, &p->exclude,
	    &p->exclude_n, w)) != OK)
		return e;
	/* A page has no links to follow. */
	if (p->scope == SCOPE_ANY)
		p->depth = 0;
	return web_documents_plan_policy(p, STR("{}"), &policy, w);
}

enum err
web_documents_plan_read(struct str params, struct arena *a,
    struct web_documents_plan *p, struct why *w)
{
	yyjson_doc *doc = yyjson_read(params.p, params.n, 0);

	*p = (struct web_documents_plan){ .seeds_n = 0 };
	enum err e = read_params(yyjson_doc_get_root(doc), a, p, w);
	yyjson_doc_free(doc);
	return e;
}

/* ---- Policy --------------------------------------------------------- */

static enum err
set_limit(struct policy *p, const char *name, int64_t v, struct why *w)
{
	char text[32];

	if (v < 0)
		return OK;
	snprintf(text, sizeof(text), "%lld", (long long)v);
	return policy_set(p, str_of(name), str_of(text), w);
}

static enum err
add_rules(struct policy *p, const char *name, const struct str *list,
    size_t n, enum err (*add)(struct policy *, struct str, struct why *),
    struct why *w)
{
	for (size_t i = 0; i < n; i++) {
		struct why inner = WHY_INIT;
		char field[48];
		enum err e = add(p, list[i], &inner);
		snprintf(field, sizeof(field), "params.%s[%zu]", name, i);
		if (e != OK)
			return why_field(w, e, field, "%s", inner.text);
	}
	return OK;
}

enum err
web_documents_plan_policy(const struct web_documents_plan *plan,
    struct str base, struct buf *out, struct why *w)
{
	FREED(policy_free) struct policy *p = NULL;
	enum err e = policy_parse(base, &p, w);

	if (e != OK)
		return e;
	policy_set_scope(p, plan->scope);
	p->embeds = false;
	/* A sitemap may list pages that are any number of links away. */
	p->sitemaps = false;
	p->allow_private = false;
	if ((e = set_limit(p, "limits.max_depth", plan->depth, w)) != OK ||
	    (e = set_limit(p, "limits.max_items", plan->pages_max, w)) != OK ||
	    (e = add_rules(p, "include", plan->include, plan->include_n,
	    policy_add_include, w)) != OK || (e = add_rules(p, "exclude",
	    plan->exclude, plan->exclude_n, policy_add_exclude, w)) != OK)
		return e;
	policy_to_json(p, out);
	return OK;
}
