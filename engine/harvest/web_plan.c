#include "engine/harvest/web_plan.h"

#include "base/json.h"
#include "engine/connector/order.h"
#include "engine/connector/shown.h"
#include "engine/policy/address.h"
#include "engine/policy/policy.h"

static const char *const causes[WEB_REFUSALS] = {
	[WEB_NO_URL] = "they are no URLs of http or https",
	[WEB_AMBIGUOUS] = "a backslash stands where others read another host",
	[WEB_PASSWORD] = "they hold a password, which would be archived",
};

static enum web_refusal
judge_seed(struct str token, struct arena *a)
{
	struct url u;

	if (token.n > CONNECTOR_SEED_BYTES_MAX ||
	    seed_parse(token, a, &u, NULL) != OK)
		return WEB_NO_URL;
	if (address_url_is_ambiguous(token))
		return WEB_AMBIGUOUS;
	return seed_has_password(token) ? WEB_PASSWORD : WEB_REFUSALS;
}

static void
refuse(struct web_refused *r, const char *cause, struct str token)
{
	r->cause = cause;
	r->n++;
	if (r->first_n < WEB_PLAN_SHOWN)
		r->first[r->first_n++] = token;
}

struct str
web_plan_collection(yyjson_val *root, struct str path)
{
	struct str id = json_text(yyjson_obj_get(yyjson_obj_get(root,
	    "collection"), "id"));

	return id.n > 0 ? id : path;
}

void
web_plan_make(struct web_plan *p, const struct connector_order *o,
    yyjson_val *root, struct str path, struct arena *a)
{
	FREED(arena_free) struct arena scratch = ARENA_INIT;

	*p = (struct web_plan){ .collection = web_plan_collection(root, path),
	    .seeds = ARENA_ARRAY(a, struct launch_seed, o->seeds_n) };
	for (size_t i = 0; i < o->seeds_n; i++) {
		struct str token = o->seeds[i].token;
		enum web_refusal r = judge_seed(token, &scratch);
		arena_reset(&scratch);
		if (r < WEB_REFUSALS)
			refuse(&p->refused[r], causes[r], token);
		else
			p->seeds[p->seeds_n++] = (struct launch_seed){ token,
				-1 };
	}
}

static enum err
set_number(struct policy *p, const char *name, int64_t v, struct why *w)
{
	char text[32];

	if (v < 0)
		return OK;
	snprintf(text, sizeof(text), "%lld", (long long)v);
	return policy_set(p, str_of(name), str_of(text), w);
}

enum err
web_plan_policy(const struct connector_order *o, struct str base,
    struct buf *out, struct why *w)
{
	yyjson_val *options = o->options;
	int64_t hops = connector_param_int(options, "max_hops", 0);
	struct str robots = connector_param_text(options, "robots");
	FREED(policy_free) struct policy *p = NULL;

	enum err e = policy_parse(base, &p, w);
	if (e != OK)
		return e;
	/* Without links every redirect of a seed is in scope. */
	policy_set_scope(p, hops > 0 ? SCOPE_HOST : SCOPE_ANY);
	p->embeds = connector_param_bool(options, "embeds");
	p->sitemaps = false;
	p->allow_private = false;
	e = set_number(p, "limits.max_depth", hops, w);
	if (e == OK)
		e = set_number(p, "limits.max_bytes", connector_param_int(
		    options, "max_bytes", -1), w);
	if (e == OK)
		e = set_number(p, "limits.max_items", connector_param_int(
		    options, "limit", -1), w);
	if (e == OK && robots.n > 0)
		e = policy_set(p, STR("robots"), robots, w);
	if (e == OK)
		policy_to_json(p, out);
	return e;
}

void
web_plan_put_failures(uint64_t n, const char *cause, const struct str *urls,
    size_t urls_n, struct buf *out)
{
	buf_printf(out, "%llu URL%s not fetched, %s:", (unsigned long long)n,
	    n == 1 ? " was" : "s were", cause);
	for (size_t i = 0; i < urls_n; i++) {
		buf_put_char(out, ' ');
		shown_put(out, urls[i]);
	}
}
