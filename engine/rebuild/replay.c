/*
 * The crawls of a rebuild, as their WARC files tell them: each begins by its
 * warcinfo, its captures follow in the order of their numbers
 * (replay_capture.c), and it ends, or waits to be resumed.
 */
#include "base/text.h"
#include "engine/archive/archive_port.h"
#include "engine/fetcher/crawl_rules.h"
#include "engine/frontier/restore.h"
#include "engine/policy/seed_list.h"
#include "engine/rebuild/replay_state.h"
#include "os/log.h"

struct replay *
replay_new(const struct conf *conf, struct frontier *f, struct frontier *old,
    struct rebuild_counts *counts)
{
	struct replay *x = mem_new(sizeof(*x));
	struct str agent = conf_str(conf, CONF_FETCH_USER_AGENT);

	x->conf = conf;
	x->frontier = f;
	x->old = old;
	x->counts = counts;
	x->parser = parser_new();
	x->own.reader = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	x->original.reader = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	x->older.reader = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	x->own.fd = x->original.fd = x->older.fd = -1;
	x->product_token = text_product_token(agent);
	return x;
}

static void
told_free(struct told_crawl **tp)
{
	struct told_crawl *t = *tp;

	trap_memory_free(&t->traps);
	rules_free(&t->rules);
	arena_free(&t->arena);
	mem_free(tp);
}

void
replay_free(struct replay **xp)
{
	struct replay *x = *xp;

	if (x == NULL)
		return;
	MAP_EACH(t, &x->crawls, struct told_crawl) {
		told_free(&t);
	}
	map_free(&x->crawls);
	parser_free(&x->parser);
	capture_reader_free(&x->own.reader);
	capture_reader_free(&x->original.reader);
	capture_reader_free(&x->older.reader);
	archive_port()->close(&x->own.fd);
	archive_port()->close(&x->original.fd);
	archive_port()->close(&x->older.fd);
	arena_free(&x->page);
	buf_free(&x->body);
	buf_free(&x->key);
	buf_free(&x->robots_origin);
	robots_free(&x->robots);
	mem_free(xp);
}

/* --- crawls ------------------------------------------------------------- */

/* Whether the crawl has this name and these seeds, which never change. */
static bool
began_so(const struct told_crawl *t, struct str name, const struct str *seeds,
    size_t n)
{
	bool same = str_eq(t->spec.name, name) && t->spec.seeds_n == n;

	for (size_t i = 0; same && i < n; i++)
		same = str_eq(t->spec.seeds[i], seeds[i]);
	return same;
}

static void
copy_texts(struct told_crawl *t, const struct archive_crawl *c)
{
	struct arena *a = &t->arena;

	t->spec = (struct crawl_spec){
		.name = arena_copy(a, c->name),
		.seeds = arena_copy_list(a, c->seeds, c->seeds_n),
		.seeds_n = c->seeds_n,
		.policy = arena_copy(a, c->policy),
	};
	(void)crawl_kind_parse(c->kind, &t->spec.kind);
	/* Other crawls are part of what has their own name. */
	if (c->harvest_type.n > 0 && !str_eq(c->is_part_of, c->name))
		t->spec.collection = arena_copy(a, c->is_part_of);
	t->path = arena_copy(a, str_of(c->file->path)).p;
}

static enum err
compile(struct told_crawl *t, struct why *w)
{
	struct crawl_shared *s = &t->shared;
	FREED(policy_free) struct policy *p = NULL;

	s->seeds = seeds_parse(t->spec.seeds, t->spec.seeds_n, &t->arena,
	    &s->seeds_n);
	enum err e = policy_parse(t->spec.policy, &p, w);
	if (e == OK)
		e = rules_new(p, s->seeds, s->seeds_n, 0, &t->rules, w);
	if (e != OK)
		return e;
	t->policy = policy_of(t->rules->compiled);
	atomic_init(&s->rules, &t->rules->is);
	/* A URL that was fetched was allowed. */
	s->operator_seeds = true;
	crawl_spec_limit(&t->spec, t->policy);
	if (t->policy->traps.stale_max != TRAP_NONE)
		t->traps = trap_memory_new(TRAP_PREFIXES_MAX);
	return OK;
}

/* Its seeds are found before anything else, as when it began. */
static enum err
begin(struct replay *x, struct told_crawl *t, struct why *w)
{
	const struct crawl_shared *c = &t->shared;
	struct arena *a = &x->page;

	enum err e = frontier_restore(x->frontier, c->id, &t->spec, t->created,
	    w);
	for (size_t i = 0; e == OK && i < c->seeds_n; i++) {
		struct url u;
		arena_reset(a);
		if (policy_canonical(crawl_policy(c), &c->seeds[i], a, &u,
		    NULL) == OK)
			frontier_restore_found(x->frontier, c->id,
			    &(struct found){ .url = u.href, .key = u.host,
			    .cost = 1, .flags = FOUND_SEED,
			    .hash = frontier_hash(c->id, u.href) });
	}
	return e;
}

enum err
replay_file(struct replay *x, const struct archive_crawl *c,
    struct str warc_dir, bool by_door, uint64_t bytes, struct why *w)
{
	struct told_crawl *t = map_get_id(&x->crawls, c->crawl);
	struct why inner = WHY_INIT;

	if (c->crawl > REBUILD_CRAWL_MAX)
		return why(w, ERR_INPUT, "%s tells of crawl %u; there are at "
		    "most %u", c->file->path, c->crawl, REBUILD_CRAWL_MAX);
	if (t == NULL) {
		t = mem_new(sizeof(*t));
		t->shared.id = c->crawl;
		t->created = t->last = c->date;
		map_put_id(&x->crawls, c->crawl, t);
		copy_texts(t, c);
		t->spec.warc_dir = arena_copy(&t->arena, warc_dir);
		t->spec.operator_seeds = !by_door;
		t->shared.collection = t->spec.collection.n > 0 ?
		    collection_of_name(t->spec.collection, &t->arena) :
		    paths_collection(ledger_paths(frontier_ledger(
		    x->frontier)), t->spec.warc_dir, &t->arena);
		x->counts->crawls++;
		enum err e = compile(t, &inner);
		if (e != OK)
			return why(w, e, "the warcinfo of %s cannot be used: "
			    "%s", c->file->path, inner.text);
	} else if (!began_so(t, c->name, c->seeds, c->seeds_n) ||
	    !str_eq(t->spec.policy, c->policy)) {
		return why(w, ERR_INPUT, "%s and %s tell two different crawls "
		    "of number %u; they come from two data directories: move "
		    "the files of one away and rebuild each by itself",
		    t->path, c->file->path, c->crawl);
	}
	if (c->date.us < t->created.us)
		t->created = c->date;
	t->warc_bytes += bytes - c->bytes;
	return OK;
}

bool
replay_add_file(struct replay *x, uint32_t crawl, uint64_t bytes)
{
	struct told_crawl *t = map_get_id(&x->crawls, crawl);

	if (t != NULL)
		t->warc_bytes += bytes;
	return t != NULL;
}

/* --- robots.txt, as it was read ----------------------------------------- */

/* That of the crawl under replay, or the configuration's. */
struct str
replay_product_token(const struct replay *x)
{
	struct str own = text_product_token(policy_user_agent(x->now->policy));

	return own.n != 0 ? own : x->product_token;
}

struct robots *
replay_read_robots(struct replay *x, int status, struct str body)
{
	enum robots_status s = robots_from_status(status);

	return s == ROBOTS_PARSE ?
	    robots_parse(body, replay_product_token(x)) :
	    robots_all(s == ROBOTS_ALLOW_ALL);
}

/* Waiting URLs come by host: the last origin's rules serve for most. */
static bool
forbidden(void *arg, struct str text, uint8_t flags)
{
	struct replay *x = arg;
	struct arena *a = &x->page;
	struct wall fetched;
	struct str body;
	struct url u;
	int status;

	arena_reset(a);
	if ((flags & FOUND_SITEMAP) || url_parse(text, NULL, a, &u, NULL) !=
	    OK)
		return false;
	struct str origin = url_origin(&u, a);
	if (x->robots == NULL || !str_eq(origin, buf_str(&x->robots_origin))) {
		robots_free(&x->robots);
		buf_clear(&x->robots_origin);
		buf_put_str(&x->robots_origin, origin);
		x->robots = fetcher_stored_robots(ledger_index(
		    frontier_ledger(x->frontier)), origin, a, &fetched,
		    &status, &body) == OK ?
		    replay_read_robots(x, status, body) : robots_all(true);
	}
	return !robots_allows(x->robots, url_target(&u), NULL);
}

/* The same crawl in the old index. */
static bool
was_before(struct replay *x, const struct told_crawl *t,
    struct crawl_view *was)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct crawl_spec spec;

	return x->old != NULL &&
	    frontier_view(x->old, t->shared.id, was) == OK &&
	    was->kind == t->spec.kind &&
	    frontier_spec(x->old, t->shared.id, &a, &spec, NULL) == OK &&
	    began_so(t, spec.name, spec.seeds, spec.seeds_n);
}

/* Numbers that another crawl of this id was given are given again no more. */
static void
restore_view(struct replay *x, const struct told_crawl *t)
{
	struct crawl_view was = { .id = t->shared.id };

	if (x->old == NULL)
		return;
	if (!was_before(x, t, &was) && was.item_last > 0)
		was.state = CRAWL_RUNNING;
	frontier_restore_view(x->frontier, &was);
}

static enum err
end_crawl(struct replay *x, struct told_crawl *t, struct why *w)
{
	uint64_t max = t->spec.max_items;
	struct crawl_view v;

	robots_free(&x->robots);
	enum err e = frontier_view(x->frontier, t->shared.id, &v);
	/* One that ended by its limit has not looked at the rest. */
	if (e == OK && t->policy->robots == POLICY_OBEY &&
	    (max == 0 || v.counts.items < max))
		e = frontier_restore_skip(x->frontier, t->shared.id,
		    SKIP_ROBOTS, forbidden, x, w);
	if (e == OK)
		e = frontier_restore_end(x->frontier, t->shared.id, t->last,
		    t->warc_bytes, w);
	if (e == OK)
		restore_view(x, t);
	/* What it would have asked for next is known to nobody. */
	if (e == OK && t->spec.kind == CRAWL_HARVEST)
		frontier_restore_view(x->frontier, &(struct crawl_view){
		    .id = t->shared.id, .state = CRAWL_COMPLETE,
		    .ended = t->last });
	return e;
}

/* Captures of the next crawl come: those of the last one are through. */
enum err
replay_turn_to(struct replay *x, const struct archive_capture *c, struct why *w)
{
	struct told_crawl *t = map_get_id(&x->crawls, c->crawl);
	enum err e = OK;

	if (t == NULL)
		return why(w, ERR_INPUT, "%s holds a capture of crawl %u, but "
		    "no file tells its seeds and policy", c->file->path,
		    c->crawl);
	if (t != x->now) {
		if (x->now != NULL)
			e = end_crawl(x, x->now, w);
		x->now = t;
		if (e == OK)
			e = begin(x, t, w);
	}
	t->last.us = MAX(t->last.us, c->start.us + c->duration_us);
	return e;
}

/* A crawl that no file tells of: it began, and archived nothing. */
static enum err
tell_old(struct replay *x, const struct crawl_view *v, struct why *w)
{
	struct told_crawl *t = mem_new(sizeof(*t));
	struct why inner = WHY_INIT;

	t->shared.id = v->id;
	t->created = t->last = v->created;
	t->path = "";
	enum err e = frontier_spec(x->old, v->id, &t->arena, &t->spec, &inner);
	/* Its records come over as they are. */
	if (e == OK && t->spec.unarchived) {
		told_free(&t);
		return OK;
	}
	if (e == OK)
		e = compile(t, &inner);
	if (e != OK) {
		log_warn("rebuild.old_crawl", "crawl=%u why=\"%s\"", v->id,
		    inner.text);
		told_free(&t);
		return e == ERR_IO ? why(w, e, "%s", inner.text) : OK;
	}
	t->shared.collection = paths_collection(ledger_paths(frontier_ledger(
	    x->frontier)), t->spec.warc_dir, &t->arena);
	map_put_id(&x->crawls, v->id, t);
	x->counts->crawls++;
	x->counts->index_crawls++;
	return OK;
}

static enum err
tell_all_old(struct replay *x, struct why *w)
{
	struct crawl_view v;
	size_t at = 0;
	enum err e = OK;

	while (e == OK && x->old != NULL &&
	    frontier_next_view(x->old, &at, &v))
		if (v.kind != CRAWL_FRONTIER &&
		    map_get_id(&x->crawls, v.id) == NULL)
			e = tell_old(x, &v, w);
	return e;
}

enum err
replay_end(struct replay *x, struct why *w)
{
	struct crawl_view v;
	size_t at = 0;
	struct told_crawl *t;
	enum err e = x->now == NULL ? OK : end_crawl(x, x->now, w);

	if (e == OK)
		e = tell_all_old(x, w);

	/* Crawls without any capture: their seeds wait. */
	while (e == OK && (t = map_next(&x->crawls, &at)) != NULL) {
		if (frontier_view(x->frontier, t->shared.id, &v) == OK)
			continue;
		e = begin(x, t, w);
		if (e == OK)
			e = end_crawl(x, t, w);
	}
	return e;
}
