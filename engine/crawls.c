#include "engine/crawls.h"

#include "base/map.h"
#include "os/clock.h"
#include "os/system.h"
#include "wire/warc.h"

#ifndef ARGIOPE_VERSION
#define ARGIOPE_VERSION "0"
#endif

/* One crawl here; everything lives until the engine goes. */
struct running {
	struct crawl_shared shared;
	struct policy_compiled *compiled;
	struct redactor *redactor;
	struct arena arena;
	struct url *seeds;
	struct str *seed_texts;
	size_t seeds_n;
	struct str policy_json;
	struct arena ids;                /* of warcinfo records; ledger's */
	bool first_file_named;
};

struct crawls {
	struct frontier *frontier;
	struct fetcher **fetchers;
	unsigned fetchers_n;
	const struct fetch_settings *settings;
	struct seen *seen;
	struct map running;              /* id -> struct running */
	struct warc_writer *writer;      /* of warcinfo records: the ledger's */
};

struct crawls *
crawls_new(struct frontier *f, struct fetcher **fetchers, unsigned n,
    const struct fetch_settings *settings, struct seen *seen)
{
	struct crawls *c = mem_new(sizeof(*c));
	struct warc_options wo = { .level = settings->compression_level,
	    .digest = settings->digest, .random = clock_random };

	c->frontier = f;
	c->fetchers = fetchers;
	c->fetchers_n = n;
	c->settings = settings;
	c->seen = seen;
	c->writer = warc_writer_new(&wo);
	return c;
}

static void
running_free(struct running **rp)
{
	struct running *r = *rp;

	policy_compiled_free(&r->compiled);
	redact_free(&r->redactor);
	arena_free(&r->arena);
	arena_free(&r->ids);
	mem_free(rp);
}

void
crawls_free(struct crawls **cp)
{
	struct crawls *c = *cp;
	size_t at = 0;
	void *v;

	if (c == NULL)
		return;
	while (map_next(&c->running, &at, &v)) {
		struct running *r = v;
		running_free(&r);
	}
	map_free(&c->running);
	warc_writer_free(&c->writer);
	mem_free(cp);
}

/* --- seeds -------------------------------------------------------------- */

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
engine_seed(struct str typed, struct arena *a, struct url *out,
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

static void
read_seeds(struct running *r, const struct str *texts, size_t n)
{
	struct str *hosts = ARENA_ARRAY(&r->arena, struct str, n);

	r->seeds = ARENA_ARRAY(&r->arena, struct url, n);
	r->seed_texts = ARENA_ARRAY(&r->arena, struct str, n);
	for (size_t i = 0; i < n; i++) {
		struct url u;
		if (engine_seed(texts[i], &r->arena, &u, NULL) != OK)
			continue;
		hosts[r->seeds_n] = u.host;
		r->seed_texts[r->seeds_n] = u.href;
		r->seeds[r->seeds_n++] = u;
	}
	r->shared.seed_hosts = hosts;
	r->shared.seed_hosts_n = r->seeds_n;
}

/* --- making ------------------------------------------------------------- */

static void
copy_headers(struct running *r, const struct policy *p)
{
	struct transport_header *h = ARENA_ARRAY(&r->arena,
	    struct transport_header, p->headers_n);

	for (size_t i = 0; i < p->headers_n; i++) {
		h[i].name = arena_copy(&r->arena, p->headers[i].name);
		h[i].value = arena_copy(&r->arena, p->headers[i].value);
	}
	r->shared.headers = h;
	r->shared.headers_n = p->headers_n;
}

/* What must never be written: the whole value, and a token behind "Bearer ". */
static void
make_redactor(struct running *r, const struct fetch_settings *settings)
{
	struct str values[4];
	size_t n = 0;
	struct str auth = r->shared.authorization;

	if (auth.n != 0) {
		values[n++] = auth;
		values[n++] = str_from(auth, str_find_char(auth, ' ') + 1);
	}
	if (!settings->redact)
		return;
	struct redact_rules rules = { .values = values, .values_n = n };
	r->redactor = redact_new(&rules);
	r->shared.redactor = r->redactor;
}

static enum err
make(const struct crawl_request *q, const struct str *seeds,
    size_t seeds_n, const struct policy *policy, struct str warc_dir,
    const struct fetch_settings *settings, struct running **out,
    struct why *w)
{
	struct running *r = mem_new(sizeof(*r));
	struct crawl_shared *s = &r->shared;
	struct buf json = BUF_INIT;

	read_seeds(r, seeds, seeds_n);
	enum err e = r->seeds_n == 0 ? why(w, ERR_INPUT, "seeds: none of the "
	    "%zu is an http or https URL (\"%.*s\")", seeds_n,
	    STR_FMT(seeds_n == 0 ? STR("") : str_cut(seeds[0], 0, 100))) :
	    policy_compile(policy, r->seeds, r->seeds_n, &r->compiled, w);
	if (e != OK) {
		running_free(&r);
		return e;
	}
	s->policy = r->compiled;
	s->user_agent = arena_copy(&r->arena, policy->user_agent);
	s->authorization = arena_copy(&r->arena, q->authorization);
	s->proxy = arena_copy(&r->arena, q->proxy.n != 0 ? q->proxy :
	    policy->proxy);
	s->cookies = arena_copy(&r->arena, q->cookies);
	s->operator_seeds = q->operator_seeds;
	s->delay_s = policy->rate_limit;
	s->collection = arena_copy(&r->arena, warc_dir);
	copy_headers(r, policy);
	make_redactor(r, settings);
	policy_to_json(policy, &json);
	r->policy_json = arena_copy(&r->arena, buf_str(&json));
	buf_free(&json);
	*out = r;
	return OK;
}

/*
 * Records are built before it is known into which file they go; they refer to
 * the newest file's warcinfo, the first file's from the beginning.
 */
static void
publish_warcinfo(struct running *r, const char *id)
{
	char *text = arena_bytes(&r->ids, WARC_ID_MAX);

	memcpy(text, id, WARC_ID_MAX);
	atomic_store_explicit(&r->shared.warcinfo_id, text,
	    memory_order_release);
}

/* The filter of the payloads that the collection has already. */
static void
load_seen(struct crawls *c, struct str collection)
{
	struct index_iter *i = index_iter_new(ledger_index(
	    frontier_ledger(c->frontier)), INDEX_DIGEST);
	struct buf prefix = BUF_INIT;
	struct str key, value;

	buf_put_field(&prefix, collection);
	for (index_iter_seek(i, buf_str(&prefix));
	    index_iter_valid(i, &key, &value) &&
	    str_starts(key, buf_str(&prefix)); index_iter_next(i))
		seen_add(c->seen, key);
	index_iter_free(&i);
	buf_free(&prefix);
}

static void
tell_loops(struct crawls *c, struct running *r)
{
	char id[WARC_ID_MAX];

	load_seen(c, r->shared.collection);
	r->shared.previous = frontier_previous(c->frontier,
	    r->shared.collection);

	warc_new_id(c->writer, id);
	publish_warcinfo(r, id);
	map_put_id(&c->running, r->shared.id, r);
	for (unsigned i = 0; i < c->fetchers_n; i++)
		fetcher_order(c->fetchers[i], &r->shared, FETCH_RUN);
}

/* Every seed is found; one that is no URL is skipped with that reason. */
static struct found *
find_seeds(struct running *r, const struct crawl_request *q, size_t *n)
{
	struct found *found = ARENA_ARRAY(&r->arena, struct found, q->seeds_n);

	*n = 0;
	for (size_t i = 0; i < q->seeds_n; i++) {
		struct found *x = &found[*n];
		struct url u, canonical;
		*x = (struct found){ .cost = 1, .flags = FOUND_SEED };
		if (engine_seed(q->seeds[i], &r->arena, &u, NULL) == OK &&
		    policy_canonical(r->compiled, &u, &r->arena, &canonical,
		    NULL) == OK) {
			x->url = canonical.href;
			x->key = canonical.host;
		} else {
			x->url = arena_copy(&r->arena, q->seeds[i]);
			x->skip = SKIP_URL;
		}
		x->hash = frontier_hash(r->shared.id, x->url);
		(*n)++;
	}
	return found;
}

enum err
crawls_begin(struct crawls *c, const struct crawl_request *q, uint32_t *id,
    struct why *w)
{
	struct running *r;
	size_t found_n;

	enum err e = make(q, q->seeds, q->seeds_n, q->policy, q->warc_dir,
	    c->settings, &r, w);
	if (e != OK)
		return e;
	r->shared.id = frontier_next_crawl(c->frontier);
	r->shared.name = arena_copy(&r->arena, q->name);
	struct found *found = find_seeds(r, q, &found_n);
	struct crawl_spec spec = {
		.kind = CRAWL_CRAWL, .name = q->name, .tags = q->tags,
		.tags_n = q->tags_n, .seeds = q->seeds, .seeds_n = q->seeds_n,
		.policy = r->policy_json, .options = STR(""),
		.warc_dir = q->warc_dir,
		.max_items = q->policy->limits.max_items == POLICY_NONE ? 0 :
		    (uint64_t)q->policy->limits.max_items,
		.host_urls_max = q->policy->traps.host_urls_max == TRAP_NONE ?
		    0 : (uint64_t)q->policy->traps.host_urls_max,
	};
	tell_loops(c, r);
	return frontier_begin(c->frontier, &spec, found, found_n, NULL, id, w);
}

enum err
crawls_continue(struct crawls *c, uint32_t id, const struct crawl_request *q,
    struct why *w)
{
	struct arena a = ARENA_INIT;
	struct crawl_spec spec;
	struct policy *policy = NULL;
	struct running *r;

	enum err e = frontier_spec(c->frontier, id, &a, &spec, w);
	if (e == OK)
		e = policy_parse(spec.policy, &policy, w);
	if (e == OK)
		e = make(q, spec.seeds, spec.seeds_n, policy, spec.warc_dir,
		    c->settings, &r, w);
	if (e == OK) {
		r->shared.id = id;
		r->shared.continued = true;
		r->shared.name = arena_copy(&r->arena, spec.name);
		tell_loops(c, r);
		e = frontier_continue(c->frontier, id, w);
	}
	policy_free(&policy);
	arena_free(&a);
	return e;
}

void
crawls_order(struct crawls *c, uint32_t id, enum fetch_order order)
{
	struct running *r = map_get_id(&c->running, id);

	for (unsigned i = 0; r != NULL && i < c->fetchers_n; i++)
		fetcher_order(c->fetchers[i], &r->shared, order);
}

void
crawls_order_all(struct crawls *c, enum fetch_order order)
{
	size_t at = 0;
	void *v;

	while (map_next(&c->running, &at, &v)) {
		struct running *r = v;
		crawls_order(c, r->shared.id, order);
	}
}

void
crawls_warcinfo(struct crawls *c, uint32_t id, const char *filename,
    struct buf *out)
{
	struct running *r = map_get_id(&c->running, id);
	char host[256];
	struct warc_member m;

	CHECK(r != NULL);
	system_hostname(host, sizeof(host));
	struct warc_info info = {
		.id = r->first_file_named ? STR_NONE :
		    str_of(atomic_load(&r->shared.warcinfo_id)),
		.filename = str_of(filename), .date = clock_wall(),
		.software = STR("Argiope/" ARGIOPE_VERSION),
		.hostname = str_of(host), .is_part_of = r->shared.name,
		.robots = policy_of(r->compiled)->robots == POLICY_OBEY ?
		    STR("obey") : STR("ignore"),
		.user_agent = r->shared.user_agent.n != 0 ?
		    r->shared.user_agent : c->settings->user_agent,
		.crawl = id, .crawl_name = r->shared.name,
		.crawl_kind = STR("crawl"), .seeds = r->seed_texts,
		.seeds_n = r->seeds_n,
		.policy = r->policy_json,
		.redaction = r->redactor == NULL ? STR("none") : STR_NONE,
	};
	/* Its parts are bounded by the policy's own limits. */
	CHECK(warc_put_info(c->writer, &info, out, &m, NULL) == OK);
	if (r->first_file_named)
		publish_warcinfo(r, m.id);
	r->first_file_named = true;
}
