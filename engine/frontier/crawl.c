/*
 * Crawls: their records, states, ends, and what observers are told.
 */
#include "engine/frontier/journal.h"
#include "engine/frontier/state.h"
#include "os/clock.h"
#include "os/log.h"

static const char *const state_names[] = {
#define NAME(name, word) word,
	CRAWL_STATES(NAME)
#undef NAME
};

static const char *const exception_names[] = {
#define NAME(name, word) word,
	EXCEPTIONS(NAME)
#undef NAME
};

const char *
crawl_state_name(enum crawl_state s)
{
	CHECK(s < CRAWL_STATE_COUNT);
	return state_names[s];
}

void
crawl_reason_put(struct str reason, struct buf *b)
{
	bool actor = str_eq(reason, STR(CRAWL_BY_CLIENT)) ||
	    str_eq(reason, STR(CRAWL_BY_RESUME));

	if (reason.n > 0)
		buf_printf(b, "%s%.*s", actor ? " " : ": ", STR_FMT(reason));
}

const char *
exception_name(enum exception e)
{
	CHECK(e < EXCEPTION_COUNT);
	return exception_names[e];
}

uint64_t
crawl_exceptions(const struct crawl_counts *c)
{
	uint64_t n = 0;

	for (int i = 0; i < EXCEPTION_COUNT; i++)
		n += c->exceptions[i];
	return n;
}

uint64_t
crawl_skips(const struct crawl_counts *c)
{
	uint64_t n = 0;

	for (int i = 1; i < SKIP_COUNT; i++)
		n += c->skips[i];
	return n;
}

/* --- the spec ----------------------------------------------------------- */

static void
put_list(struct buf *out, const struct str *list, size_t n)
{
	buf_put_varint(out, n);
	for (size_t i = 0; i < n; i++)
		buf_put_field(out, list[i]);
}

static const struct str *
read_list(struct reader *in, struct arena *a, size_t *n)
{
	uint64_t count = read_varint(in);

	*n = 0;
	if (count > in->n) {
		in->bad = true;
		return NULL;
	}
	struct str *list = ARENA_ARRAY(a, struct str, (size_t)count);
	for (; *n < count; (*n)++)
		list[*n] = read_field(in);
	return list;
}

void
crawl_spec_put(const struct crawl_spec *s, struct buf *out)
{
	buf_put_char(out, (char)s->kind);
	buf_put_field(out, s->name);
	put_list(out, s->tags, s->tags_n);
	put_list(out, s->seeds, s->seeds_n);
	buf_put_field(out, s->policy);
	buf_put_field(out, s->options);
	buf_put_field(out, s->warc_dir);
	buf_put_varint(out, s->max_items);
	buf_put_varint(out, s->host_urls_max);
	buf_put_varint(out, (uint64_t)s->duration_ms_max);
	buf_put_varint(out, s->warc_bytes_max);
}

bool
crawl_spec_parse(struct str value, struct arena *a, struct crawl_spec *s)
{
	struct reader in = reader_of(value);

	s->kind = read_u8(&in);
	s->name = read_field(&in);
	s->tags = read_list(&in, a, &s->tags_n);
	s->seeds = read_list(&in, a, &s->seeds_n);
	s->policy = read_field(&in);
	s->options = read_field(&in);
	s->warc_dir = read_field(&in);
	s->max_items = read_varint(&in);
	s->host_urls_max = read_varint(&in);
	/* Records of earlier versions end here. */
	s->duration_ms_max = in.n == 0 ? 0 : (int64_t)read_varint(&in);
	s->warc_bytes_max = in.n == 0 ? 0 : read_varint(&in);
	return !in.bad;
}

/* --- records ------------------------------------------------------------ */

struct crawl *
crawl_get(const struct frontier *f, uint32_t id)
{
	return map_get_id(&f->crawls, id);
}

struct crawl *
crawl_make(struct frontier *f, uint32_t id)
{
	struct crawl *c = crawl_get(f, id);

	if (c != NULL)
		return c;
	c = mem_new(sizeof(*c));
	c->frontier = f;
	c->id = c->view.id = id;
	c->next_queue = QUEUE_SKIPPED + 1;
	c->next_seq = 1;
	c->next_log = 1;
	crawl_log_shown(c);
	list_init(&c->dirty_node);
	list_init(&c->changed_node);
	list_init(&c->starved);
	map_put_id(&f->crawls, id, c);
	f->next_crawl = MAX(f->next_crawl, id + 1);
	return c;
}

void
crawl_free(struct crawl **cp)
{
	struct crawl *c = *cp;
	size_t at = 0;
	void *v;

	while (map_next(&c->queues, &at, &v)) {
		struct queue *q = v;
		queue_free(&q);
	}
	map_free(&c->queues);
	map_free(&c->queues_by_id);
	near_dup_free(&c->near);
	error_summary_free(&c->problems);
	loop_timer_stop(c->frontier->loop, &c->deadline);
	arena_free(&c->keys);
	arena_free(&c->arena);
	mem_free(cp);
}

static void
put_counts(struct buf *out, const struct crawl_counts *n)
{
	const uint64_t *words = (const uint64_t *)(const void *)n;

	for (size_t i = 0; i < sizeof(*n) / sizeof(*words); i++)
		buf_put_varint(out, words[i]);
}

void
crawl_note_bytes(const struct crawl *c, struct buf *out)
{
	buf_put_be32(out, c->id);
	buf_put_char(out, (char)c->view.kind);
	buf_put_char(out, (char)c->view.state);
	buf_put_field(out, str_of(c->view.reason));
	buf_put_be64(out, (uint64_t)c->view.created.us);
	buf_put_be64(out, (uint64_t)c->view.ended.us);
	buf_put_be32(out, c->next_queue);
	buf_put_varint(out, c->next_seq);
	buf_put_varint(out, c->next_log);
	buf_put_varint(out, c->max_items);
	buf_put_varint(out, c->host_urls_max);
	struct arena a = ARENA_INIT;
	buf_put_field(out, c->name);
	buf_put_field(out, paths_store(ledger_paths(c->frontier->ledger),
	    c->warc_dir, &a));
	arena_free(&a);
	put_counts(out, &c->view.counts);
	buf_put_be64(out, (uint64_t)c->view.started.us);
	buf_put_varint(out, (uint64_t)c->duration_ms_max);
	buf_put_varint(out, c->sitemaps);
	buf_put_varint(out, c->view.sitemap_bytes);
	buf_put_varint(out, c->warc_bytes_max);
}

bool
crawl_from_note(struct frontier *f, struct str note)
{
	struct reader in = reader_of(note);
	struct crawl *c = crawl_make(f, read_be32(&in));

	c->view.kind = read_u8(&in);
	c->view.state = read_u8(&in);
	struct str reason = read_field(&in);
	snprintf(c->view.reason, sizeof(c->view.reason), "%.*s",
	    STR_FMT(reason));
	c->view.created.us = (int64_t)read_be64(&in);
	c->view.ended.us = (int64_t)read_be64(&in);
	c->next_queue = read_be32(&in);
	c->view.queues = c->next_queue - 1 - QUEUE_SKIPPED;
	c->next_seq = read_varint(&in);
	c->view.item_last = c->next_seq - 1;
	c->next_log = read_varint(&in);
	c->max_items = read_varint(&in);
	c->host_urls_max = read_varint(&in);
	struct arena a = ARENA_INIT;
	struct str name = read_field(&in);
	struct str dir = paths_resolve(ledger_paths(f->ledger),
	    read_field(&in), &a);
	arena_room(&c->arena, name.n + 1 + dir.n + 1);
	if (!str_eq(name, c->name))
		c->name = arena_copy(&c->arena, name);
	if (!str_eq(dir, c->warc_dir))
		c->warc_dir = arena_copy(&c->arena, dir);
	arena_free(&a);
	uint64_t before = c->view.counts.warc_bytes;
	uint64_t *words = (uint64_t *)(void *)&c->view.counts;
	for (size_t i = 0; i < sizeof(c->view.counts) / sizeof(*words); i++)
		words[i] = read_varint(&in);
	uint64_t written = c->view.counts.warc_bytes;
	c->view.counts.warc_bytes = before;
	bytes_limit_set(c, written);
	c->view.started = c->view.created;
	/* Notes of earlier versions end here. */
	if (in.n > 0) {
		c->view.started.us = (int64_t)read_be64(&in);
		c->duration_ms_max = (int64_t)read_varint(&in);
	}
	if (in.n > 0) {
		c->sitemaps = read_varint(&in);
		c->view.sitemap_bytes = read_varint(&in);
	}
	if (in.n > 0)
		c->warc_bytes_max = read_varint(&in);
	crawl_log_shown(c);
	c->view.counts.leased = 0;
	/* What only the log holds must reach the index before the log goes. */
	if (!f->loading && list_empty(&c->changed_node))
		list_put(&f->changed_crawls, &c->changed_node);
	if (!in.bad && c->view.state < CRAWL_STATE_COUNT && c->name.n != 0)
		map_put(&f->names, c->name, c);
	return !in.bad && c->view.state < CRAWL_STATE_COUNT;
}

void
crawl_prefix(const struct crawl *c, char *out, size_t size)
{
	snprintf(out, size, "crawl-%u", c->id);
}

/* --- changes ------------------------------------------------------------ */

void
crawl_touch(struct crawl *c)
{
	struct frontier *f = c->frontier;

	if (!c->dirty) {
		c->dirty = true;
		list_put(&f->dirty_crawls, &c->dirty_node);
	}
}

/* A view on its way to the observer: told when its group is durable. */
struct told_view {
	struct promise promise;
	struct list node;            /* in frontier.views */
	struct frontier *frontier;
	struct crawl_view view;
};

static void
view_kept(struct promise *p, enum err e)
{
	struct told_view *t = CONTAINER(p, struct told_view, promise);

	if (e == OK)
		t->frontier->options.viewed(t->frontier->options.arg,
		    &t->view);
	list_take(&t->node);
	mem_free(&t);
}

void
crawl_forget_views(struct frontier *f)
{
	while (!list_empty(&f->views)) {
		struct told_view *t = LIST_ITEM(f->views.next,
		    struct told_view, node);
		list_take(&t->node);
		mem_free(&t);
	}
}

void
crawl_promise_view(struct crawl *c)
{
	if (c->frontier->options.viewed == NULL)
		return;
	struct told_view *t = mem_new(sizeof(*t));
	t->frontier = c->frontier;
	t->view = c->view;
	t->promise.kept = view_kept;
	list_put(&c->frontier->views, &t->node);
	ledger_promise(c->frontier->ledger, &t->promise);
}

uint64_t
crawl_tickets(const struct crawl *c)
{
	uint64_t used = c->view.counts.items + c->view.counts.leased;

	if (c->max_items == 0)
		return UINT64_MAX;
	return used >= c->max_items ? 0 : c->max_items - used;
}

void
crawl_wake_starved(struct crawl *c)
{
	if (list_empty(&c->starved) || crawl_tickets(c) == 0)
		return;
	while (!list_empty(&c->starved)) {
		struct queue *q = LIST_ITEM(c->starved.next, struct queue,
		    starved_node);
		list_take(&q->starved_node);
		queue_tell(q);
	}
}

bool
crawl_ended(enum crawl_state s)
{
	return s == CRAWL_COMPLETE || s == CRAWL_CANCELLED || s == CRAWL_FAILED;
}

static void
end(struct crawl *c, enum crawl_state state, const char *reason)
{
	const struct frontier_options *o = &c->frontier->options;

	c->view.state = state;
	c->view.ended = clock_wall();
	snprintf(c->view.reason, sizeof(c->view.reason), "%s", reason);
	crawl_log_put(c, state == CRAWL_CANCELLED ? CRAWL_LOG_CANCELLED :
	    CRAWL_LOG_COMPLETED, str_of(reason));
	ledger_series_close(c->frontier->ledger, &c->series);
	loop_timer_stop(c->frontier->loop, &c->deadline);
	near_dup_free(&c->near);
	crawl_touch(c);
	crawl_settle(c);
	if (o->ending != NULL && c->view.kind == CRAWL_CRAWL)
		o->ending(o->arg, c->view.id);
	crawl_teardown(c);
	crawl_start_pending(c->frontier);
}

/* --- bytes that crawls may write ----------------------------------------- */

/*
 * archive.bytes_max is the operator's: the crawl waits until there is room, or
 * the limit is raised, and somebody resumes it.
 */
static void
pause_for_room(struct crawl *c)
{
	crawl_log(c, &(struct crawl_line){ .kind = CRAWL_LOG_LIMIT,
	    .text = STR("all crawls have written archive.bytes_max bytes"),
	    .reason = STR("archive.bytes_max") });
	if (frontier_set_state(c->frontier, c->view.id, CRAWL_PAUSED,
	    "archive.bytes_max", NULL) != OK)
		log_warn("frontier.pause", "crawl=%u", c->view.id);
	crawl_touch(c);
}

void
crawl_consider_end(struct crawl *c)
{
	const struct crawl_counts *n = &c->view.counts;

	if (c->view.state != CRAWL_RUNNING && c->view.state != CRAWL_PAUSED)
		return;
	if (c->view.state == CRAWL_RUNNING && n->queued != 0 &&
	    bytes_limit_of_crawl(c)) {
		crawl_log(c, &(struct crawl_line){ .kind = CRAWL_LOG_LIMIT,
		    .text = STR("the crawl has written max_bytes"),
		    .reason = STR("max_bytes") });
		end(c, CRAWL_COMPLETE, "max_bytes");
		return;
	}
	if (n->queued != 0 && c->view.state == CRAWL_RUNNING &&
	    bytes_limit_of_all(c->frontier)) {
		pause_for_room(c);
		return;
	}
	if (n->queued == 0)
		end(c, CRAWL_COMPLETE, n->items == 0 &&
		    crawl_exceptions(n) > 0 ? "every fetch failed" :
		    "everything was fetched");
	else if (c->max_items != 0 && n->items >= c->max_items &&
	    n->leased == 0) {
		crawl_log(c, &(struct crawl_line){ .kind = CRAWL_LOG_LIMIT,
		    .text = STR("max_items is reached"),
		    .reason = STR("max_items") });
		end(c, CRAWL_COMPLETE, "max_items");
	}
}

static void
wake_all(struct crawl *c)
{
	size_t at = 0;
	void *v;

	while (map_next(&c->queues, &at, &v)) {
		struct queue *q = v;
		if (q->waiting > 0)
			queue_tell(q);
	}
}

/* --- time that a crawl may take ------------------------------------------ */

static void
time_is_over(struct timer *t)
{
	struct crawl *c = CONTAINER(t, struct crawl, deadline);

	if (crawl_ended(c->view.state))
		return;
	crawl_log(c, &(struct crawl_line){ .kind = CRAWL_LOG_LIMIT,
	    .text = STR("the crawl has had its time"),
	    .reason = STR("max_duration") });
	end(c, CRAWL_COMPLETE, "max_duration");
}

/* Counted by the wall's clock, so that it goes on while no process runs. */
static void
set_deadline(struct crawl *c)
{
	struct frontier *f = c->frontier;
	int64_t gone_ms = (clock_wall().us - c->view.started.us) / 1000;

	if (c->duration_ms_max == 0 || c->view.started.us == 0)
		return;
	c->deadline.fire = time_is_over;
	loop_timer_set(f->loop, &c->deadline, mono_add_ms(clock_mono(),
	    MAX(0, c->duration_ms_max - MAX(0, gone_ms))));
}

void
crawl_stop_deadlines(struct frontier *f)
{
	size_t at = 0;
	void *v;

	while (map_next(&f->crawls, &at, &v))
		loop_timer_stop(f->loop, &((struct crawl *)v)->deadline);
}

/* --- crawls that wait for others to end ---------------------------------- */

/* The oldest that may start now, or NULL. */
static struct crawl *
next_pending(const struct frontier *f)
{
	unsigned max = f->options.running_max, running = 0;
	struct crawl *oldest = NULL;
	size_t at = 0;
	void *v;

	while (map_next(&f->crawls, &at, &v)) {
		struct crawl *c = v;
		running += c->view.state == CRAWL_RUNNING;
		if (c->view.state == CRAWL_PENDING && c->loaded &&
		    (oldest == NULL || c->id < oldest->id))
			oldest = c;
	}
	return max == 0 || running < max ? oldest : NULL;
}

static void
start(struct crawl *c)
{
	bool first = c->view.started.us == 0;

	c->view.state = CRAWL_RUNNING;
	c->view.reason[0] = '\0';
	if (first)
		c->view.started = clock_wall();
	if (first)
		crawl_log_put(c, CRAWL_LOG_STARTED, c->name);
	crawl_touch(c);
	set_deadline(c);
}

void
crawl_start_new(struct crawl *c)
{
	if (next_pending(c->frontier) == c)
		start(c);
	else
		snprintf(c->view.reason, sizeof(c->view.reason),
		    "other crawls run first");
}

/* One that ends as soon as it starts makes room for the next. */
void
crawl_start_pending(struct frontier *f)
{
	struct crawl *c;

	if (f->starting)
		return;
	f->starting = true;
	while ((c = next_pending(f)) != NULL) {
		start(c);
		wake_all(c);
		crawl_consider_end(c);
	}
	f->starting = false;
}

static void
resume(struct crawl *c, const char *reason)
{
	c->view.state = CRAWL_PENDING;
	crawl_log_put(c, CRAWL_LOG_RESUMED, str_of(reason));
	snprintf(c->view.reason, sizeof(c->view.reason),
	    "other crawls run first");
	crawl_touch(c);
	crawl_start_pending(c->frontier);
}

enum err
frontier_set_state(struct frontier *f, uint32_t id, enum crawl_state s,
    const char *reason, struct why *w)
{
	struct crawl *c = crawl_get(f, id);

	if (c == NULL)
		return why(w, ERR_ABSENT, "there is no crawl %u", id);
	if (c->view.state == s ||
	    (crawl_ended(c->view.state) && crawl_ended(s)))
		return OK;
	if (crawl_ended(c->view.state))
		return why(w, ERR_STATE, "crawl %u is %s", id,
		    crawl_state_name(c->view.state));
	if (crawl_ended(s)) {
		end(c, s, reason);
		return OK;
	}
	if (s == CRAWL_RUNNING) {
		if (c->view.state == CRAWL_PAUSED)
			resume(c, reason);
		return OK;
	}
	c->view.state = s;
	snprintf(c->view.reason, sizeof(c->view.reason), "%s", reason);
	crawl_log_put(c, CRAWL_LOG_PAUSED, str_of(reason));
	crawl_settle(c);
	crawl_consider_end(c);
	crawl_start_pending(f);
	return OK;
}

/* --- continuing after a restart ----------------------------------------- */

static enum err
load_url(struct crawl *c, struct known_evict_load *load, struct str key,
    struct str value, struct why *w)
{
	struct reader in = reader_of(key);
	struct url_value v = { 0 };

	read_be32(&in);
	uint32_t queue = read_be32(&in), date = read_be32(&in);
	uint64_t hash = frontier_hash(c->id, (struct str){ in.p, in.n });
	uint8_t mark = date != 0 ? MARK_WAITING : MARK_DONE;
	if (queue == QUEUE_SKIPPED && url_value_parse(value, &v)) {
		mark = MARK_SKIPPED;
		date = v.why & 15;
	}
	return known_evict_load_put(load, hash, date, mark, w);
}

static uint64_t
urls_of(const struct crawl_counts *n)
{
	return n->queued + n->items + crawl_exceptions(n) + crawl_skips(n);
}

static enum err
load_known(struct crawl *c, struct index *x, struct why *w)
{
	struct index_iter *i = index_iter_new(x, INDEX_URL);
	struct buf from = BUF_INIT;
	struct known_evict_load *load = known_evict_load_begin(c->frontier,
	    urls_of(&c->view.counts));
	struct str key, value;
	enum err e = OK;

	buf_put_be32(&from, c->id);
	for (index_iter_seek(i, buf_str(&from)); e == OK &&
	    index_iter_valid(i, &key, &value) &&
	    str_starts(key, buf_str(&from)); index_iter_next(i))
		e = load_url(c, load, key, value, w);
	if (e == OK)
		e = index_iter_error(i, w);
	index_iter_free(&i);
	buf_free(&from);
	return known_evict_load_end(&load, e, w);
}

static enum err
load_near(struct crawl *c, struct index *x, struct why *w)
{
	struct index_iter *i = index_iter_new(x, INDEX_JOURNAL);
	struct buf from = BUF_INIT;
	struct str key, value;

	c->near = near_dup_new(NEAR_DUP_MAX);
	buf_put_be32(&from, c->id);
	for (index_iter_seek(i, buf_str(&from));
	    index_iter_valid(i, &key, &value) &&
	    str_starts(key, buf_str(&from)); index_iter_next(i)) {
		struct journal_entry entry;
		if (journal_parse(key, value, &entry))
			near_dup_add(c->near, entry.simhash);
	}
	enum err e = index_iter_error(i, w);
	index_iter_free(&i);
	buf_free(&from);
	return e;
}

enum err
crawl_load(struct crawl *c, struct why *w)
{
	struct index *x = ledger_index(c->frontier->ledger);

	if (c->loaded)
		return OK;
	c->loaded = true;
	enum err e = load_known(c, x, w);
	if (e == OK)
		e = error_summary_load(c, x, w);
	return e == OK ? load_near(c, x, w) : e;
}

enum err
frontier_continue(struct frontier *f, uint32_t id, struct why *w)
{
	struct crawl *c = crawl_get(f, id);

	if (c == NULL)
		return why(w, ERR_ABSENT, "there is no crawl %u", id);
	if (crawl_ended(c->view.state))
		return why(w, ERR_STATE, "crawl %u is %s: %s", id,
		    crawl_state_name(c->view.state), c->view.reason);
	enum err e = crawl_load(c, w);
	if (e != OK)
		return e;
	crawl_log_trim(c);
	crawl_log_put(c, CRAWL_LOG_RESTARTED, STR(""));
	set_deadline(c);
	if (c->view.state == CRAWL_RUNNING)
		wake_all(c);
	crawl_consider_end(c);
	crawl_start_pending(c->frontier);
	return OK;
}
