#include "engine/catalog/crawl_registry.h"

#include "base/arena.h"
#include "os/clock.h"
#include "os/loop.h"

/* Rates are those of so many seconds, a sample each. */
#define RATE_SAMPLES 5
#define SAMPLE_MS 1000
#define RATE_S_MIN 0.9

struct sample {
	struct mono at;
	uint64_t items, bytes;
};

struct held {
	struct crawl_row row;
	struct arena arena;
	struct sample samples[RATE_SAMPLES];   /* the oldest first */
	size_t samples_n;
	struct list busy_node;       /* in registry.busy: it has a rate */
	struct crawl_history *history;     /* NULL: nothing of it is known */
};

struct crawl_registry {
	struct loop *home;
	uint64_t version;
	struct held **rows;          /* by id; NULL: no such crawl */
	size_t rows_n;
	struct list changed;         /* rows, the newest change last */
	struct list watches;
	struct list busy;
	struct histories *histories;
	struct timer sample_timer;
	bool sampling;
};

static struct held *
held_of(struct crawl_row *r)
{
	return CONTAINER(r, struct held, row);
}

/* --- reading ------------------------------------------------------------- */

uint64_t
crawl_registry_version(const struct crawl_registry *b)
{
	return b->version;
}

struct crawl_row *
crawl_row(const struct crawl_registry *b, uint32_t crawl)
{
	return crawl < b->rows_n && b->rows[crawl] != NULL ?
	    &b->rows[crawl]->row : NULL;
}

struct crawl_row *
crawl_registry_before(const struct crawl_registry *b, struct crawl_row *r)
{
	const struct list *n = r == NULL ? b->changed.prev : r->node.prev;

	return n == &b->changed ? NULL :
	    LIST_ITEM((struct list *)(uintptr_t)n, struct crawl_row, node);
}

struct crawl_row *
crawl_registry_below(const struct crawl_registry *b, uint32_t id)
{
	for (size_t i = MIN(id, b->rows_n); i > 0; i--)
		if (b->rows[i - 1] != NULL)
			return &b->rows[i - 1]->row;
	return NULL;
}

size_t
crawl_registry_history(const struct crawl_row *r,
    struct history_point out[static HISTORY_POINTS_MAX])
{
	return crawl_history_read(CONTAINER(r, const struct held, row)->history,
	    out);
}

bool
crawl_registry_has_tag(const struct crawl_row *r, struct str tag)
{
	for (size_t i = 0; i < r->tags_n; i++)
		if (str_eq(r->tags[i], tag))
			return true;
	return false;
}

/* --- who is told --------------------------------------------------------- */

void
crawl_registry_watch(struct crawl_registry *b, struct registry_watch *w)
{
	list_put(&b->watches, &w->node);
}

void
crawl_registry_unwatch(struct registry_watch *w)
{
	list_take(&w->node);
}

/* Any of them may go, or come, while one is told. */
void
crawl_registry_notify(struct crawl_registry *b)
{
	struct list told;

	list_init(&told);
	while (!list_empty(&b->watches)) {
		struct registry_watch *w = LIST_POP(&b->watches,
		    struct registry_watch, node);
		list_put(&told, &w->node);
		w->changed(w);
	}
	list_move_all(&b->watches, &told);
}

/* --- rates --------------------------------------------------------------- */

static void
take_sample(struct crawl_registry *b, struct held *h, struct mono now)
{
	const struct crawl_counts *n = &h->row.view.counts;

	crawl_history_note(
	    b->histories, &h->history, &h->row.view, clock_wall());
	if (h->samples_n == RATE_SAMPLES)
		memmove(&h->samples[0], &h->samples[1],
		    --h->samples_n * sizeof(h->samples[0]));
	h->samples[h->samples_n++] = (struct sample){ now, n->items,
	    n->body_bytes };
}

static void
set_rates(struct held *h)
{
	const struct sample *first = &h->samples[0];
	const struct sample *last = &h->samples[h->samples_n - 1];
	double s = (double)mono_ns_between(first->at, last->at) / 1e9;

	h->row.pages_per_s = h->row.bytes_per_s = 0;
	/* Below this rate, a handful of pages would count as a burst. */
	if (s < RATE_S_MIN)
		return;
	h->row.pages_per_s = (double)(last->items - first->items) / s;
	h->row.bytes_per_s = (double)(last->bytes - first->bytes) / s;
}

static void
sample_all(struct timer *t)
{
	struct crawl_registry *b =
	    CONTAINER(t, struct crawl_registry, sample_timer);
	struct mono now = clock_mono();
	struct list *next;

	for (struct list *n = b->busy.next; n != &b->busy; n = next) {
		struct held *h = LIST_ITEM(n, struct held, busy_node);
		next = n->next;
		take_sample(b, h, now);
		set_rates(h);
		if (h->samples_n == RATE_SAMPLES && h->row.pages_per_s == 0) {
			list_take(n);
			h->samples_n = 0;
			if (h->row.view.ended.us > 0)
				crawl_history_ended(h->history);
		}
	}
	b->sampling = !list_empty(&b->busy);
	if (b->sampling)
		loop_timer_set(b->home, t, mono_add_ms(now, SAMPLE_MS));
}

/* Before its counters change. */
static void
is_busy(struct crawl_registry *b, struct held *h)
{
	struct mono now;

	if (!list_empty(&h->busy_node))
		return;
	now = clock_mono();
	take_sample(b, h, now);
	list_put(&b->busy, &h->busy_node);
	if (!b->sampling)
		loop_timer_set(b->home, &b->sample_timer,
		    mono_add_ms(now, SAMPLE_MS));
	b->sampling = true;
}

/* --- changing ------------------------------------------------------------ */

static void
note(struct crawl_registry *b, struct crawl_row *r, unsigned part)
{
	r->part[part] = r->changed = b->version + 1;
}

static bool
same(const uint64_t *a, const uint64_t *b, size_t n)
{
	return memcmp(a, b, n * sizeof(*a)) == 0;
}

static void
compare(
    struct crawl_registry *b, struct crawl_row *r, const struct crawl_view *v)
{
	const struct crawl_view *was = &r->view;
	const struct crawl_counts *n = &v->counts, *m = &was->counts;

	if (v->state != was->state || strcmp(v->reason, was->reason) != 0 ||
	    v->started.us != was->started.us || v->ended.us != was->ended.us)
		note(b, r, REGISTRY_STATE);
	for (unsigned i = 0; i < ARRAY_LEN(n->status); i++)
		if (n->status[i] != m->status[i])
			note(b, r, REGISTRY_STATUS + i);
	if (n->not_found != m->not_found)
		note(b, r, REGISTRY_NOT_FOUND);
	if (!same(n->exceptions, m->exceptions, ARRAY_LEN(n->exceptions)))
		note(b, r, REGISTRY_EXCEPTIONS);
	if (!same(n->skips, m->skips, ARRAY_LEN(n->skips)))
		note(b, r, REGISTRY_SKIPS);
	if (n->items != m->items)
		note(b, r, REGISTRY_ITEMS);
	if (n->queued != m->queued || n->leased != m->leased)
		note(b, r, REGISTRY_QUEUED);
	if (n->body_bytes != m->body_bytes || n->warc_bytes != m->warc_bytes)
		note(b, r, REGISTRY_BYTES);
	if (v->log_last != was->log_last)
		note(b, r, REGISTRY_LOG);
}

/* It has the newest change of all. */
static void
moved(struct crawl_registry *b, struct crawl_row *r)
{
	b->version++;
	list_take(&r->node);
	list_put(&b->changed, &r->node);
}

void
crawl_registry_show(struct crawl_registry *b, const struct crawl_view *v)
{
	struct crawl_row *r = crawl_row(b, v->id);

	if (r == NULL || r->deleted)
		return;
	if (memcmp(&v->counts, &r->view.counts, sizeof(v->counts)) != 0)
		is_busy(b, held_of(r));
	compare(b, r, v);
	r->view = *v;
	if (r->changed > b->version)
		moved(b, r);
}

/* Rows of crawls that ended long ago stay: their texts and nothing else. */
static void
copy_spec(struct held *h, const struct crawl_spec *s)
{
	struct str seed = s->seeds_n == 0 ? STR("") : s->seeds[0];
	struct crawl_row *r = &h->row;

	size_t bytes = s->tags_n * sizeof(struct str) + s->name.n + 1 +
	    seed.n + 1 + s->policy_name.n + 1 + s->warc_dir.n + 1 +
	    s->key.n + 1;
	for (size_t i = 0; i < s->tags_n; i++)
		bytes += s->tags[i].n + 1;
	arena_room(&h->arena, bytes);
	/* First, since a list is aligned: then there is room for all. */
	r->tags = arena_copy_list(&h->arena, s->tags, s->tags_n);
	r->name = arena_copy(&h->arena, s->name);
	r->seed = arena_copy(&h->arena, seed);
	r->warc_dir = arena_copy(&h->arena, s->warc_dir);
	r->key = arena_copy(&h->arena, s->key);
	r->policy = arena_copy(&h->arena, s->policy_name);
	r->schedule = s->schedule;
	r->unarchived = s->unarchived;
	r->tags_n = s->tags_n;
}

static void
make_room(struct crawl_registry *b, uint32_t id)
{
	size_t n = MAX(b->rows_n, 64);

	if (id < b->rows_n)
		return;
	while (n <= id)
		n *= 2;
	b->rows = mem_resize(b->rows, n, sizeof(struct held *));
	memset(b->rows + b->rows_n, 0, (n - b->rows_n) *
	    sizeof(struct held *));
	b->rows_n = n;
}

void
crawl_registry_add(struct crawl_registry *b, const struct crawl_view *v,
    const struct crawl_spec *s)
{
	if (crawl_row(b, v->id) != NULL)
		return;
	struct held *h = mem_new(sizeof(*h));
	struct crawl_row *r = &h->row;
	make_room(b, v->id);
	b->rows[v->id] = h;
	list_init(&r->node);
	list_init(&h->busy_node);
	r->id = v->id;
	r->view = *v;
	copy_spec(h, s);
	for (unsigned i = 0; i < REGISTRY_PARTS; i++)
		note(b, r, i);
	r->born = r->changed;
	moved(b, r);
}

void
crawl_registry_delete(struct crawl_registry *b, uint32_t crawl)
{
	struct crawl_row *r = crawl_row(b, crawl);

	if (r == NULL || r->deleted)
		return;
	r->deleted = true;
	crawl_history_drop(b->histories, &held_of(r)->history);
	note(b, r, REGISTRY_STATE);
	moved(b, r);
}

/* --- life ---------------------------------------------------------------- */

struct crawl_registry *
crawl_registry_new(struct loop *home)
{
	struct crawl_registry *b = mem_new(sizeof(*b));

	b->home = home;
	b->histories = histories_new();
	list_init(&b->changed);
	list_init(&b->watches);
	list_init(&b->busy);
	b->sample_timer.fire = sample_all;
	return b;
}

void
crawl_registry_free(struct crawl_registry **bp)
{
	struct crawl_registry *b = *bp;

	if (b == NULL)
		return;
	loop_timer_stop(b->home, &b->sample_timer);
	histories_free(&b->histories);
	for (size_t i = 0; i < b->rows_n; i++)
		if (b->rows[i] != NULL) {
			arena_free(&b->rows[i]->arena);
			mem_free(&b->rows[i]);
		}
	mem_free(&b->rows);
	mem_free(bp);
}
