#include "engine/control/crawl_runtime.h"

#include "base/map.h"
#include "base/metric.h"
#include "base/text.h"
#include "engine/fetcher/collection.h"
#include "engine/frontier/change.h"
#include "os/clock.h"
#include "os/system.h"
#include "wire/warc.h"

#ifndef ARGIOPE_VERSION
#define ARGIOPE_VERSION "0"
#endif

#define CRAWLS_METRICS(X)                                                    \
	X(CRAWLS_HELD, GAUGE, "argiope_crawls_held",                         \
	    "Crawls in memory with their policy: those that run, and for a " \
	    "moment those that have ended.")
enum { CRAWLS_METRICS(METRIC_ENUM) };
static struct metric metrics[] = { CRAWLS_METRICS(METRIC_ROW) };

/* Longer than a thousand years is no limit. */
#define DURATION_S_MAX 3.2e10

/* One crawl here; everything lives until the engine goes. */
struct running {
	struct crawl_shared shared;
	struct list rules;               /* struct rules, the newest last */
	struct redactor *redactor;
	struct arena arena;
	struct str *seed_texts;          /* of shared.seeds */
	/* Texts of the caller's, until it has begun. */
	struct crawl_spec spec;
	struct str warc_parent;          /* of a directory of its own, or "" */
	struct found *found;             /* as many as spec.seeds_n */
	struct arena ids;                /* of warcinfo records */
	bool first_file_named;
	enum fetch_order order;          /* the last */
	struct crawl *crawl;             /* that it refers to; or NULL */
	struct str harvest_type;         /* empty: it is none */
	bool ended;                      /* and its owner has left */
};

struct crawl_runtime {
	struct frontier *frontier;
	struct loop *loop;               /* the ledger's */
	struct fetcher **fetchers;
	unsigned fetchers_n;
	_Atomic(const struct fetch_settings *) settings;
	struct digest_filter *seen;
	struct map running;              /* id -> struct running */
	struct map keys;                 /* text -> uint32_t, its id */
	struct arena arena;              /* of the keys */
	struct warc_writer *writer;      /* of warcinfo records */
};

struct crawl_runtime *
crawl_runtime_new(struct frontier *f, struct loop *loop,
    struct fetcher **fetchers, unsigned n,
    const struct fetch_settings *settings, struct digest_filter *seen)
{
	struct crawl_runtime *c = mem_new(sizeof(*c));
	struct warc_options wo = { .level = settings->compression_level,
	    .digest = settings->digest, .random = clock_random };

	metric_register(metrics, ARRAY_LEN(metrics));
	c->frontier = f;
	c->loop = loop;
	c->fetchers = fetchers;
	c->fetchers_n = n;
	c->settings = settings;
	c->seen = seen;
	c->writer = warc_writer_new(&wo);
	return c;
}

void
crawl_runtime_set(
    struct crawl_runtime *c, const struct fetch_settings *settings)
{
	c->settings = settings;
}

void
running_free(struct running **rp)
{
	struct running *r = *rp;

	if (r == NULL)
		return;
	map_free(&r->shared.delays);
	while (!list_empty(&r->rules)) {
		struct rules *x = LIST_ITEM(r->rules.next, struct rules, node);
		rules_free(&x);
	}
	redact_free(&r->redactor);
	arena_free(&r->arena);
	arena_free(&r->ids);
	mem_free(rp);
}

void
crawl_runtime_free(struct crawl_runtime **cp)
{
	struct crawl_runtime *c = *cp;

	if (c == NULL)
		return;
	MAP_EACH(r, &c->running, struct running) {
		running_free(&r);
	}
	map_free(&c->running);
	map_free(&c->keys);
	arena_free(&c->arena);
	warc_writer_free(&c->writer);
	mem_free(cp);
}

/* --- seeds -------------------------------------------------------------- */

/* The largest of a host's seeds counts. */
static void
add_delay(struct running *r, struct str host, double delay_s)
{
	double *known = map_get(&r->shared.delays, host);

	if (known == NULL) {
		struct seed_delay *d = &r->spec.delays[r->spec.delays_n++];
		*d = (struct seed_delay){ host, delay_s };
		map_put(&r->shared.delays, host, &d->s);
	} else {
		*known = MAX(*known, delay_s);
	}
}

static void
read_seeds(struct running *r, const double *delays)
{
	const struct crawl_spec *spec = &r->spec;
	struct crawl_shared *s = &r->shared;
	struct url u;

	s->seeds = seeds_parse(spec->seeds, spec->seeds_n, &r->arena,
	    &s->seeds_n);
	r->seed_texts = ARENA_ARRAY(&r->arena, struct str, s->seeds_n + 1);
	for (size_t i = 0; i < s->seeds_n; i++)
		r->seed_texts[i] = s->seeds[i].href;
	for (size_t i = 0; delays != NULL && i < spec->seeds_n; i++)
		if (delays[i] >= 0 && seed_parse(spec->seeds[i], &r->arena, &u,
		    NULL) == OK)
			add_delay(r, u.host, delays[i]);
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

/* Secrets to redact: the whole value, and the token after "Bearer ". */
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

static void
adopt(struct running *r, struct rules *rules)
{
	list_put(&r->rules, &rules->node);
	atomic_store_explicit(&r->shared.rules, &rules->is,
	    memory_order_release);
}

/* Neither a loop nor a change looks at its rules any more. */
static void
crawl_unused(struct mail *m)
{
	crawl_unref(CONTAINER(m, struct running, shared.unused)->crawl);
}

static struct running *
running_new(void)
{
	struct running *r = mem_new(sizeof(*r));

	list_init(&r->rules);
	r->shared.users = 1;
	r->shared.unused.deliver = crawl_unused;
	r->shared.others.newest = r->shared.others.oldest = UINT32_MAX;
	return r;
}

/* Compile r->spec under this policy, with the secrets of the request. */
static enum err
compile(struct running *r, const struct crawl_request *q,
    const struct policy *policy, unsigned excluded,
    const struct fetch_settings *settings, struct why *w)
{
	const struct crawl_spec *spec = &r->spec;
	struct crawl_shared *s = &r->shared;
	struct rules *rules;

	read_seeds(r, q->seed_delays);
	enum err e = s->seeds_n == 0 && !crawl_kind_has_calls(spec->kind) ?
	    why(w, ERR_INPUT, "seeds: none of the %zu is an http or https URL "
	    "(\"%.*s\")", spec->seeds_n, STR_FMT(spec->seeds_n == 0 ? STR("") :
	    str_cut(spec->seeds[0], 0, 100))) :
	    rules_new(policy, s->seeds, s->seeds_n, excluded, &rules, w);
	if (e != OK)
		return e;
	adopt(r, rules);
	s->name = arena_copy(&r->arena, spec->name);
	if (spec->kind == CRAWL_HARVEST && spec->tags_n > 0)
		r->harvest_type = arena_copy(&r->arena, spec->tags[0]);
	s->follows_seeds = spec->kind == CRAWL_HARVEST;
	s->user_agent = arena_copy(&r->arena, policy->user_agent);
	s->product_token = arena_copy(&r->arena, text_product_token(
	    policy_user_agent(policy)));
	s->authorization = arena_copy(&r->arena, q->authorization);
	s->proxy = arena_copy(&r->arena, q->proxy.n != 0 ? q->proxy :
	    policy->proxy);
	s->cookies = arena_copy(&r->arena, q->cookies);
	s->operator_seeds = spec->operator_seeds;
	s->unarchived = spec->unarchived;
	s->delay_s = policy->rate_limit;
	copy_headers(r, policy);
	make_redactor(r, settings);
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
load_seen(struct crawl_runtime *c, struct str collection)
{
	FREED(index_iter_free) struct index_iter *i = index_iter_new(
	    ledger_index(frontier_ledger(c->frontier)), INDEX_DIGEST);
	FREED(buf_free) struct buf prefix = BUF_INIT;
	struct str key, value;

	collection_prefix(collection, &prefix);
	for (index_iter_seek(i, buf_str(&prefix));
	    index_iter_valid(i, &key, &value) &&
	    str_starts(key, buf_str(&prefix)); index_iter_next(i))
		digest_filter_add(c->seen, key);
}

static void
name_collection(struct crawl_runtime *c, struct running *r)
{
	const struct crawl_spec *s = &r->spec;
	struct arena *a = &r->arena;

	r->shared.has_collection = s->collection.n > 0;
	r->shared.collection = s->collection.n > 0 ?
	    collection_of_name(s->collection, a) : s->unarchived ?
	    collection_of_unarchived(r->shared.id, a) :
	    paths_collection(ledger_paths(frontier_ledger(c->frontier)),
	    s->warc_dir, a);
}

/* Others may have written there, or this is the crawl that goes on. */
static void
join_collection(struct crawl_runtime *c, struct running *r)
{
	load_seen(c, r->shared.collection);
	/* It asks with no validators: there is no body to answer 304 with. */
	if (r->shared.unarchived)
		return;
	if (r->shared.has_collection) {
		r->shared.others = (struct collection_crawls){ UINT32_MAX,
			UINT32_MAX, false };
		r->shared.notes_validators = true;
		return;
	}
	r->shared.others = frontier_collection(c->frontier,
	    r->spec.warc_dir, r->shared.id);
	r->shared.notes_validators = !r->shared.others.first;
}

static void
tell_loops(struct crawl_runtime *c, struct running *r)
{
	char id[WARC_ID_MAX];

	warc_new_id(c->writer, id);
	publish_warcinfo(r, id);
	r->shared.home = c->loop;
	map_put_id(&c->running, r->shared.id, r);
	metric_set(&metrics[METRIC_CRAWLS_HELD], (int64_t)c->running.n);
	r->order = FETCH_RUN;
	for (unsigned i = 0; i < c->fetchers_n; i++)
		fetcher_order(c->fetchers[i], &r->shared, FETCH_RUN);
}

/* Every seed is found; one that is no URL is skipped with that reason. */
static void
find_seeds(struct running *r)
{
	const struct crawl_spec *s = &r->spec;

	r->found = ARENA_ARRAY(&r->arena, struct found, s->seeds_n);
	for (size_t i = 0; i < s->seeds_n; i++) {
		struct found *x = &r->found[i];
		struct url u, canonical;
		*x = (struct found){ .cost = 1, .flags = FOUND_SEED };
		if (seed_parse(s->seeds[i], &r->arena, &u, NULL) == OK &&
		    policy_canonical(crawl_policy(&r->shared), &u,
		    &r->arena, &canonical, NULL) == OK) {
			x->url = canonical.href;
			x->key = canonical.host;
		} else {
			x->url = s->seeds[i];
			x->skip = SKIP_URL;
		}
	}
}

enum err
crawl_runtime_plan(const struct crawl_request *q,
    const struct fetch_settings *settings, struct running **out,
    struct why *w)
{
	const struct policy *p = q->policy;
	struct running *r = running_new();
	struct crawl_spec *s = &r->spec;

	*s = q->spec;
	if (q->seed_delays != NULL)
		s->delays = ARENA_ARRAY(&r->arena, struct seed_delay,
		    s->seeds_n);
	enum err e = compile(r, q, p, 0, settings, w);
	if (e != OK) {
		running_free(&r);
		return e;
	}
	r->warc_parent = arena_copy(&r->arena, q->warc_parent);
	s->policy = crawl_rules(&r->shared)->json;
	s->secret_proxy = q->proxy.n != 0;
	crawl_spec_limit(s, p);
	if (q->ends_by_duration && p->limits.max_duration < DURATION_S_MAX)
		s->duration_ms_max = MAX(1,
		    (int64_t)(p->limits.max_duration * 1000));
	find_seeds(r);
	*out = r;
	return OK;
}

void
crawl_runtime_know_key(struct crawl_runtime *c, struct str key, uint32_t id)
{
	if (key.n == 0)
		return;
	uint32_t *known = ARENA_NEW(&c->arena, uint32_t);
	*known = id;
	map_put(&c->keys, arena_copy(&c->arena, key), known);
}

/* A door's crawl is a collection of its own; so are a schedule's runs. */
static struct str
own_warc_dir(struct running *r)
{
	uint64_t schedule = r->spec.schedule;

	return schedule != 0 ? arena_printf(&r->arena, "%.*s/schedule-%llu",
	    STR_FMT(r->warc_parent), (unsigned long long)schedule) :
	    arena_printf(&r->arena, "%.*s/crawl-%u", STR_FMT(r->warc_parent),
	    r->shared.id);
}

static void
log_schedule(struct crawl_runtime *c, const struct running *r)
{
	char text[200];

	snprintf(text, sizeof(text), "schedule %llu has started it (%.*s)",
	    (unsigned long long)r->spec.schedule, STR_FMT(r->spec.key));
	frontier_log(c->frontier, r->shared.id, &(struct crawl_line){
	    .kind = CRAWL_LOG_SCHEDULE, .text = str_of(text) });
}

enum err
crawl_runtime_begin(struct crawl_runtime *c, struct running **rp,
    uint32_t *id, struct why *w)
{
	struct running *r = *rp;
	struct crawl_spec *s = &r->spec;
	const uint32_t *known = map_get(&c->keys, s->key);

	*rp = NULL;
	if (known != NULL) {
		*id = *known;
		running_free(&r);
		return OK;
	}
	r->shared.id = frontier_next_crawl(c->frontier);
	if (r->warc_parent.n != 0)
		s->warc_dir = own_warc_dir(r);
	name_collection(c, r);
	for (size_t i = 0; i < s->seeds_n; i++)
		r->found[i].hash = frontier_hash(r->shared.id,
		    r->found[i].url);
	enum err e = frontier_may_begin(c->frontier, w);
	if (e == OK)
		e = ledger_may_archive(frontier_ledger(c->frontier),
		    s->warc_dir, w);
	if (e != OK) {
		running_free(&r);
		return e;
	}
	/* A directory of its own has nothing yet. */
	if (r->warc_parent.n == 0 || s->schedule != 0)
		join_collection(c, r);
	tell_loops(c, r);
	crawl_runtime_know_key(c, s->key, r->shared.id);
	e = frontier_begin(c->frontier, s, r->found, s->seeds_n, NULL, id, w);
	if (e == OK)
		r->crawl = frontier_ref(c->frontier, *id);
	if (e == OK && s->schedule != 0)
		log_schedule(c, r);
	return e;
}

static enum err
compile_again(struct crawl_runtime *c, struct running *r,
    const struct crawl_request *q, struct why *w)
{
	struct crawl_spec *s = &r->spec;
	FREED(policy_free) struct policy *policy = NULL;

	enum err e = policy_parse(s->policy, &policy, w);
	if (e == OK && s->secret_proxy && q->proxy.n == 0)
		e = why(w, ERR_STATE, "it began with a proxy that only "
		    "--proxy-file names, and goes on with that alone: argiope "
		    "crawl --resume --proxy-file FILE");
	s->operator_seeds &= q->spec.operator_seeds;
	if (e == OK)
		e = compile(r, q, policy, change_interrupted(c->frontier,
		    r->shared.id), c->settings, w);
	for (size_t i = 0; i < s->delays_n; i++)
		map_put(&r->shared.delays, s->delays[i].host, &s->delays[i].s);
	return e;
}

enum err
crawl_runtime_continue(struct crawl_runtime *c, uint32_t id,
    const struct crawl_request *q, struct why *w)
{
	struct running *r = running_new();
	struct crawl_view v;

	enum err e = frontier_spec(c->frontier, id, &r->arena, &r->spec, w);
	r->shared.id = id;
	r->shared.continued = true;
	if (e == OK)
		e = compile_again(c, r, q, w);
	if (e != OK) {
		running_free(&r);
		return e;
	}
	name_collection(c, r);
	if (frontier_view(c->frontier, id, &v) == OK)
		atomic_store(&r->shared.sitemap_bytes, v.sitemap_bytes);
	join_collection(c, r);
	tell_loops(c, r);
	r->crawl = frontier_ref(c->frontier, id);
	if (crawl_rules(&r->shared)->excluded > 0)
		change_resume(c->frontier, id, crawl_rules(&r->shared),
		    crawl_excludes);
	return frontier_continue(c->frontier, id, w);
}

const struct rules *
crawl_runtime_rules(struct crawl_runtime *c, uint32_t id)
{
	struct running *r = map_get_id(&c->running, id);

	if (r == NULL || r->ended)
		return NULL;
	atomic_fetch_add(&r->shared.users, 1);
	return LIST_ITEM(r->rules.prev, struct rules, node);
}

void
crawl_runtime_change_rules(
    struct crawl_runtime *c, uint32_t id, struct rules **rules)
{
	struct running *r = map_get_id(&c->running, id);

	CHECK(r != NULL);
	adopt(r, *rules);
	*rules = NULL;
}

bool
crawl_runtime_next_interrupted(
    const struct crawl_runtime *c, size_t *at, uint32_t *id)
{
	const struct running *r;

	while ((r = map_next(&c->running, at)) != NULL) {
		*id = r->shared.id;
		if (r->shared.continued &&
		    crawl_rules(&r->shared)->excluded > 0)
			return true;
	}
	return false;
}

void
crawl_runtime_order(
    struct crawl_runtime *c, uint32_t id, enum fetch_order order)
{
	struct running *r = map_get_id(&c->running, id);

	if (r == NULL || r->order == order)
		return;
	r->order = order;
	for (unsigned i = 0; i < c->fetchers_n; i++)
		fetcher_order(c->fetchers[i], &r->shared, order);
}

void
crawl_runtime_order_all(struct crawl_runtime *c, enum fetch_order order)
{
	MAP_EACH(r, &c->running, struct running) {
		crawl_runtime_order(c, r->shared.id, order);
	}
}

/* --- crawls that have ended ---------------------------------------------- */

void
crawl_runtime_leave(struct crawl_runtime *c, uint32_t id)
{
	struct running *r = map_get_id(&c->running, id);

	crawl_leave(&r->shared);
}

void
crawl_runtime_end(struct crawl_runtime *c, uint32_t id)
{
	struct running *r = map_get_id(&c->running, id);

	if (r == NULL)
		return;
	r->ended = true;
	crawl_leave(&r->shared);
}

void
crawl_runtime_forget(struct crawl_runtime *c, uint32_t id)
{
	struct running *r = map_take_id(&c->running, id);

	metric_set(&metrics[METRIC_CRAWLS_HELD], (int64_t)c->running.n);
	running_free(&r);
}

/* What the answers mean, where that is not known from their addresses. */
static void
put_about(struct crawl_runtime *c, const struct running *r, const char *info,
    struct buf *out)
{
	struct warc_document d = { .type = WARC_METADATA,
	    .target_uri = r->spec.about_uri, .date = clock_wall(),
	    .content_type = STR("application/json"),
	    .warcinfo_id = str_of(info), .block = &r->spec.about,
	    .block_n = 1 };
	struct warc_member m;

	warc_writer_redact(c->writer, NULL);
	CHECK(warc_put_document(c->writer, &d, out, &m, NULL) == OK);
}

void
crawl_runtime_warcinfo(
    struct crawl_runtime *c, uint32_t id, const char *filename, struct buf *out)
{
	struct running *r = map_get_id(&c->running, id);
	char host[256];
	struct warc_member m;

	CHECK(r != NULL);
	const struct crawl_rules *rules = crawl_rules(&r->shared);
	system_hostname(host, sizeof(host));
	struct warc_info info = {
		.id = r->first_file_named ? STR_NONE :
		    str_of(atomic_load(&r->shared.warcinfo_id)),
		.filename = str_of(filename), .date = clock_wall(),
		.software = STR("Argiope/" ARGIOPE_VERSION),
		.hostname = str_of(host),
		.is_part_of = r->spec.collection.n > 0 ? r->spec.collection :
		    r->shared.name,
		.robots = policy_of(rules->policy)->robots == POLICY_OBEY ?
		    STR("obey") : STR("ignore"),
		.user_agent = r->shared.user_agent.n != 0 ?
		    r->shared.user_agent : c->settings->user_agent,
		.harvest_id = r->harvest_type.n > 0 ? r->shared.name :
		    STR_NONE,
		.harvest_type = r->harvest_type,
		.crawl = id, .crawl_name = r->shared.name,
		.crawl_kind = str_of(crawl_kind_name(r->spec.kind)),
		.seeds = r->seed_texts,
		.seeds_n = r->shared.seeds_n,
		.policy = rules->json,
		.redaction = r->redactor == NULL ? STR("none") : STR_NONE,
	};
	/* Its parts are bounded by the policy's own limits. */
	CHECK(warc_put_info(c->writer, &info, out, &m, NULL) == OK);
	if (r->spec.about.n > 0)
		put_about(c, r, m.id, out);
	if (r->first_file_named)
		publish_warcinfo(r, m.id);
	r->first_file_named = true;
}
