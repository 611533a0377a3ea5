#include "engine/stream/cache.h"

#include "base/metric.h"
#include "os/clock.h"

#define CACHE_BYTES_DEFAULT ((size_t)32 << 20)

enum item_source { FROM_FETCH, FROM_ARCHIVE, FROM_COUNT };
static const char *const sources[] = { "fetch", "archive" };
static struct metric metrics[] = { METRIC_BY(COUNTER,
    "argiope_feed_items_total",
    "Items made into texts for readers, by where they were had from.",
    "source", sources, FROM_COUNT) };

/* --- memory ------------------------------------------------------------- */

static bool
memory_for_one(const struct stream *f)
{
	size_t used = f->held + f->reserved;

	return used == 0 ||
	    used + STREAM_BATCH_BYTES <= f->options.cache_bytes;
}

/* Batches that waited for memory may have it now. */
static void
start_starved(struct stream *f)
{
	while (!f->closing && !list_empty(&f->starved) && memory_for_one(f)) {
		struct batch_task *t = LIST_ITEM(f->starved.next,
		    struct batch_task, task.node);
		list_take(&t->task.node);
		f->reserved += STREAM_BATCH_BYTES;
		read_task_put(f->options.tasks, &t->task);
	}
}

/* --- caches ------------------------------------------------------------ */

static struct crawl_cache *
crawl_cache_of(struct stream *f, uint32_t crawl, const struct crawl_row *row)
{
	struct crawl_cache *s = map_get_id(&f->caches, crawl);

	if (s != NULL)
		return s;
	s = mem_new(sizeof(*s));
	s->crawl = crawl;
	s->items = s->before = row->view.item_last;
	for (unsigned i = 0; i < CACHE_ROWS; i++)
		s->rows[i].typical = 1;
	list_init(&s->requests);
	list_init(&s->tasks);
	crawl_handoffs_init(&s->handoffs, crawl);
	map_put_id(&f->caches, crawl, s);
	return s;
}

/* Where a batch that begins at `from` would stand. */
static size_t
row_place(const struct cache_row *r, uint64_t from)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (r->at[mid]->first < from)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct batch *
row_find(const struct cache_row *r, uint64_t number)
{
	size_t i = row_place(r, number + 1);

	return i > 0 && r->at[i - 1]->last >= number ? r->at[i - 1] : NULL;
}

static void
row_put(struct cache_row *r, struct batch *b)
{
	size_t i = row_place(r, b->first);

	r->at = mem_room(r->at, r->n, &r->cap, 8, sizeof(struct batch *));
	memmove(&r->at[i + 1], &r->at[i], (r->n - i) * sizeof(r->at[0]));
	r->at[i] = b;
	r->n++;
}

/* Off the cache; gone, if nobody holds it. */
static void
batch_drop(struct stream *f, struct batch *b)
{
	if (b->cache != NULL) {
		struct cache_row *r = &b->cache->rows[b->form];
		size_t i = row_place(r, b->first);
		CHECK(i < r->n && r->at[i] == b);
		r->n--;
		memmove(&r->at[i], &r->at[i + 1], (r->n - i) *
		    sizeof(r->at[0]));
		b->cache = NULL;
	}
	if (b->shown.users > 0)
		return;
	list_take(&b->node);
	f->bytes -= b->bytes;
	batch_free(&b);
}

static bool
crawl_cache_is_bare(const struct crawl_cache *s)
{
	bool bare = list_empty(&s->requests) && list_empty(&s->tasks);

	for (unsigned i = 0; i < CACHE_ROWS; i++)
		bare = bare && s->rows[i].n == 0;
	return bare;
}

static void
crawl_cache_free(struct stream *f, struct crawl_cache *s)
{
	handoff_cache_forget(&f->handoffs, &s->handoffs);
	map_take_id(&f->caches, s->crawl);
	for (unsigned i = 0; i < CACHE_ROWS; i++)
		mem_free(&s->rows[i].at);
	mem_free(&s);
}

/* Evict batches without readers, least recently used first, to the limit. */
static void
shrink(struct stream *f, size_t bytes_max)
{
	while (f->bytes > bytes_max && !list_empty(&f->idle)) {
		struct batch *b = LIST_ITEM(f->idle.next, struct batch, node);
		struct crawl_cache *s = b->cache;
		batch_drop(f, b);
		if (s != NULL && crawl_cache_is_bare(s))
			crawl_cache_free(f, s);
	}
}

/* --- what the registry showed when -----------------------------------------
 */

static void
mark(struct crawl_cache *s, uint64_t items)
{
	if (items <= s->items)
		return;
	struct cache_mark *m = &s->marks[s->marks_n++ % CACHE_MARKS];
	if (s->marks_n > CACHE_MARKS)
		s->before = m->items;
	*m = (struct cache_mark){ items, clock_wall() };
	s->items = items;
}

/* Both rise: numbers from item to item, and marks. */
static void
date_items(const struct crawl_cache *s, struct batch *b)
{
	uint64_t n = s->marks_n, m = n > CACHE_MARKS ? n - CACHE_MARKS : 0;

	for (size_t i = 0; i < b->shown.n; i++) {
		if (b->items[i].number <= s->before)
			continue;
		while (m < n &&
		    s->marks[m % CACHE_MARKS].items < b->items[i].number)
			m++;
		if (m < n)
			b->items[i].committed = s->marks[m % CACHE_MARKS].at;
	}
}

/* --- wants -------------------------------------------------------------- */

static size_t
place_in(const struct batch *b, uint64_t number)
{
	size_t low = 0, high = b->shown.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (b->items[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void
hand_out(struct stream *f, struct batch *b, struct stream_request *w)
{
	if (b->shown.users++ == 0) {
		list_take(&b->node);
		f->held += b->bytes;
	}
	w->batch = &b->shown;
	w->at = place_in(b, w->from);
}

/* A task that will have the item, most likely. */
static bool
is_coming(const struct crawl_cache *s, unsigned form, uint64_t number)
{
	LIST_EACH(t, &s->tasks, struct batch_task, node)
		if (t->form == form && number >= t->from && number <= t->to &&
		    number - t->from < s->rows[form].typical)
			return true;
	return false;
}

static void batch_came(struct read_task *);

/* From `from` on, up to what is there or will be. */
static void
aim(const struct stream *f, struct crawl_cache *s, unsigned form, uint64_t from,
    struct batch_task *t)
{
	struct cache_row *r = &s->rows[form];
	size_t next = row_place(r, from);

	t->cache = s;
	t->crawl = s->crawl;
	t->form = form;
	t->from = from;
	t->to = next < r->n ? r->at[next]->first - 1 : s->items;
	LIST_EACH(o, &s->tasks, struct batch_task, node)
		if (o->form == form && o->from > from)
			t->to = MIN(t->to, o->from - 1);
	t->render = f->renderers[form / STREAM_FORMS];
	t->mark = f->mark;
	handoff_cache_lend(&s->handoffs, t->from, t->to, form & STREAM_BODY,
	    BATCH_ITEMS_MAX, &t->handoffs);
}

static void
begin(struct stream *f, struct crawl_cache *s, unsigned form, uint64_t from)
{
	struct batch_task *t = mem_new(sizeof(*t));

	aim(f, s, form, from, t);
	t->stream = f;
	t->task.run = batch_task_run;
	t->task.done = batch_came;
	list_put(&s->tasks, &t->node);
	list_put(&f->starved, &t->task.node);
	start_starved(f);
}

/* Somebody reads on: have the next batch before he asks. */
static void
read_ahead(struct stream *f, const struct batch *b)
{
	struct crawl_cache *s = b->cache;

	if (s == NULL || !b->more || f->closing || b->last >= s->items ||
	    handoff_cache_first(&s->handoffs) <= b->last + 1 ||
	    read_tasks_full(f->options.tasks) || !list_empty(&f->starved) ||
	    !memory_for_one(f) ||
	    row_find(&s->rows[b->form], b->last + 1) != NULL ||
	    is_coming(s, b->form, b->last + 1))
		return;
	begin(f, s, b->form, b->last + 1);
}

static bool
find_batch(struct stream *f, struct crawl_cache *s, struct stream_request *w)
{
	struct batch *b = row_find(&s->rows[w->form], w->from);

	if (b == NULL)
		return false;
	hand_out(f, b, w);
	if (b->last >= s->items)
		handoff_cache_follow(&f->handoffs, &s->handoffs,
		    w->form & STREAM_BODY);
	read_ahead(f, b);
	return true;
}

static void
keep(struct stream *f, struct crawl_cache *s, struct batch *b)
{
	struct cache_row *r = &s->rows[b->form];

	f->bytes += b->bytes;
	list_put(&f->idle, &b->node);
	/* Two tasks may have read the same. */
	if (row_find(r, b->first) != NULL) {
		batch_drop(f, b);
		return;
	}
	b->cache = s;
	date_items(s, b);
	row_put(r, b);
	if (b->more)
		r->typical = b->shown.n;
}

static void
count(const struct batch_task *t)
{
	metric_add_by(&metrics[0], FROM_FETCH, t->handed_over);
	metric_add_by(&metrics[0], FROM_ARCHIVE, t->n - t->handed_over);
}

/* A batch of captures that were handed over.  Nothing is read, so no thread
 * need wake. */
static bool
make_now(struct stream *f, struct crawl_cache *s, unsigned form, uint64_t from)
{
	struct batch_task t = { .batch = NULL };
	size_t n = 0;

	aim(f, s, form, from, &t);
	while (n < t.handoffs.n && t.handoffs.at[n]->number == from + n)
		n++;
	if (n > 0 && memory_for_one(f)) {
		t.to = from + n - 1;
		t.task.reader = read_tasks_lend(f->options.tasks);
		batch_task_run(&t.task);
		read_tasks_give_back(f->options.tasks, t.task.reader);
		count(&t);
		keep(f, s, t.batch);
	}
	handoff_cache_give_back(&t.handoffs);
	return t.batch != NULL;
}

/* Answer from the cache, or from handoffs, which takes no task. */
static bool
have_batch(struct stream *f, struct crawl_cache *s, struct stream_request *w)
{
	if (find_batch(f, s, w))
		return true;
	if (is_coming(s, w->form, w->from) ||
	    !make_now(f, s, w->form, w->from) || !find_batch(f, s, w))
		return false;
	shrink(f, f->options.cache_bytes);
	return true;
}

bool
stream_request(struct stream *f, struct stream_request *w)
{
	const struct crawl_row *row = crawl_row(f->options.registry, w->crawl);

	CHECK(!w->out && w->form / STREAM_FORMS < f->renderers_n);
	w->batch = NULL;
	w->at = 0;
	w->why = WHY_INIT;
	w->from = MAX(w->from, 1);
	if (row == NULL || row->deleted || f->closing) {
		why(&w->why, ERR_ABSENT, "crawl %u is gone", w->crawl);
		return true;
	}
	struct crawl_cache *s = crawl_cache_of(f, w->crawl, row);
	mark(s, row->view.item_last);
	if (w->from > s->items) {
		handoff_cache_follow(&f->handoffs, &s->handoffs,
		    w->form & STREAM_BODY);
		return true;
	}
	if (have_batch(f, s, w))
		return true;
	w->out = true;
	list_put(&s->requests, &w->node);
	if (!is_coming(s, w->form, w->from))
		begin(f, s, w->form, w->from);
	return false;
}

/* Those who were found a batch, or an end, are told; they may ask again. */
static void
answer_ready(struct stream *f)
{
	while (!list_empty(&f->ready)) {
		struct stream_request *w = LIST_POP(&f->ready,
		    struct stream_request, node);
		w->out = false;
		w->ready(w);
	}
}

static void
answer(struct stream *f, struct stream_request *w)
{
	list_take(&w->node);
	list_put(&f->ready, &w->node);
}

/* Answer a waiting request with the task's result. */
static void
settle(struct stream *f, struct crawl_cache *s, struct stream_request *w,
    const struct batch_task *t)
{
	bool empty = t->batch == NULL && w->from >= t->from &&
	    w->from <= t->to;

	if (have_batch(f, s, w)) {
		answer(f, w);
	} else if (empty) {
		/* Gone meanwhile, or not to be read. */
		w->why = t->why;
		answer(f, w);
	} else if (!is_coming(s, w->form, w->from)) {
		begin(f, s, w->form, w->from);
	}
}

static void
batch_came(struct read_task *task)
{
	struct batch_task *t = CONTAINER(task, struct batch_task, task);
	struct stream *f = t->stream;
	struct crawl_cache *s = t->cache;

	list_take(&t->node);
	handoff_cache_give_back(&t->handoffs);
	count(t);
	f->reserved -= STREAM_BATCH_BYTES;
	if (s == NULL) {
		/* The crawl was deleted meanwhile. */
		batch_free(&t->batch);
		mem_free(&t);
		start_starved(f);
		return;
	}
	if (t->batch != NULL)
		keep(f, s, t->batch);
	struct list wants;
	list_init(&wants);
	list_move_all(&wants, &s->requests);
	while (!list_empty(&wants)) {
		struct stream_request *w = LIST_POP(&wants,
		    struct stream_request, node);
		list_put(&s->requests, &w->node);
		if (w->form == t->form)
			settle(f, s, w, t);
	}
	mem_free(&t);
	shrink(f, f->options.cache_bytes);
	answer_ready(f);
	start_starved(f);
}

void
stream_cancel(struct stream *f, struct stream_request *w)
{
	if (!w->out)
		return;
	list_take(&w->node);
	w->out = false;
	stream_give_back(f, &w->batch);
}

void
stream_give_back(struct stream *f, struct stream_batch **bp)
{
	if (*bp == NULL)
		return;
	struct batch *b = CONTAINER(*bp, struct batch, shown);
	*bp = NULL;
	if (--b->shown.users > 0)
		return;
	f->held -= b->bytes;
	if (b->cache == NULL) {
		f->bytes -= b->bytes;
		batch_free(&b);
	} else {
		list_put(&f->idle, &b->node);
		shrink(f, f->options.cache_bytes);
	}
	start_starved(f);
}

/* --- the registry ----------------------------------------------------------
 */

/* Its texts go; who waits is told. */
static void
forget(struct stream *f, struct crawl_cache *s)
{
	while (!list_empty(&s->requests)) {
		struct stream_request *w = LIST_POP(&s->requests,
		    struct stream_request, node);
		why(&w->why, ERR_ABSENT, "crawl %u is gone", s->crawl);
		answer(f, w);
	}
	while (!list_empty(&s->tasks))
		LIST_POP(&s->tasks, struct batch_task, node)->cache = NULL;
	for (unsigned i = 0; i < CACHE_ROWS; i++)
		while (s->rows[i].n > 0)
			batch_drop(f, s->rows[i].at[s->rows[i].n - 1]);
	crawl_cache_free(f, s);
}

static void
crawl_registry_changed(struct registry_watch *w)
{
	struct stream *f = CONTAINER(w, struct stream, watch);
	struct crawl_row *row = NULL;

	while (f->caches.n > 0 &&
	    (row = crawl_registry_before(f->options.registry, row)) != NULL &&
	    row->changed > f->version) {
		struct crawl_cache *s = map_get_id(&f->caches, row->id);
		if (s != NULL && row->deleted)
			forget(f, s);
		else if (s != NULL)
			mark(s, row->view.item_last);
	}
	f->version = crawl_registry_version(f->options.registry);
	answer_ready(f);
}

void
stream_handoff(struct stream *f, struct list *l)
{
	struct list *n, *next;

	for (n = l->next; n != l; n = next) {
		struct handoff *x = LIST_ITEM(n, struct handoff, node);
		struct crawl_cache *s = map_get_id(&f->caches, x->crawl);
		next = n->next;
		if (s != NULL && s->handoffs.follows != HANDOFF_NONE)
			handoff_cache_put(&f->handoffs, &s->handoffs, x);
	}
	handoff_cache_shrink(&f->handoffs);
}

/* --- the whole ---------------------------------------------------------- */

struct stream *
stream_new(const struct stream_options *o, const char *mark)
{
	struct stream *f = mem_new(sizeof(*f));

	f->options = *o;
	if (f->options.cache_bytes == 0)
		f->options.cache_bytes = CACHE_BYTES_DEFAULT;
	memcpy(f->mark, mark, STREAM_MARK_BYTES);
	list_init(&f->starved);
	list_init(&f->idle);
	list_init(&f->ready);
	handoff_cache_open(&f->handoffs, o->home, o->handoffs, o->tasks);
	body_streams_open(&f->bodies, o->home, o->tasks);
	f->watch.changed = crawl_registry_changed;
	f->version = crawl_registry_version(o->registry);
	crawl_registry_watch(o->registry, &f->watch);
	metric_register(metrics, ARRAY_LEN(metrics));
	return f;
}

const char *
stream_mark(const struct stream *f)
{
	return f->mark;
}

unsigned
stream_use(struct stream *f, stream_render_fn *render)
{
	unsigned i = 0;

	while (i < f->renderers_n && f->renderers[i] != render)
		i++;
	CHECK(i < STREAM_RENDERERS_MAX);
	f->renderers[i] = render;
	f->renderers_n = MAX(f->renderers_n, i + 1);
	return i * STREAM_FORMS;
}

void
stream_close(struct stream *f)
{
	f->closing = true;
	while (!list_empty(&f->starved)) {
		struct batch_task *t = LIST_ITEM(f->starved.next,
		    struct batch_task, task.node);
		list_take(&t->task.node);
		list_take(&t->node);
		handoff_cache_give_back(&t->handoffs);
		mem_free(&t);
	}
}

void
stream_free(struct stream **fp)
{
	struct stream *f = *fp;
	size_t at = 0;
	void *v;

	if (f == NULL)
		return;
	stream_close(f);
	CHECK(f->held == 0);
	body_streams_close(&f->bodies);
	crawl_registry_unwatch(&f->watch);
	shrink(f, 0);
	for (at = 0; (v = map_next(&f->caches, &at)) != NULL; at = 0)
		crawl_cache_free(f, v);
	map_free(&f->caches);
	mem_free(fp);
}
