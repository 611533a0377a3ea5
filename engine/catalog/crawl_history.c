#include "engine/catalog/crawl_history.h"

#include "base/metric.h"

#define RECENT_US (5 * (int64_t)1000000)
#define WHOLE_US ((int64_t)1000000)   /* at first */
#define ROOM_LEAST 8u

#define HISTORY_METRICS(X)                                                   \
	X(BYTES, GAUGE, "argiope_history_bytes",                             \
	    "Memory of what crawls did over time.")                          \
	X(CRAWLS, GAUGE, "argiope_history_crawls",                           \
	    "Crawls whose counters over time are known.")
enum { HISTORY_METRICS(METRIC_ENUM) };
static struct metric metrics[] = { HISTORY_METRICS(METRIC_ROW) };

/* Points at least so far apart, but for the newest. */
struct track {
	struct history_point *p;     /* the oldest first */
	size_t n, room;
	int64_t apart_us;
};

struct crawl_history {
	struct list node;            /* histories.all */
	struct crawl_history **own;        /* where its owner keeps it */
	struct track whole, recent;
};

struct histories {
	struct list all;             /* the longest silent first */
	size_t n;
};

/* --- a track ------------------------------------------------------------ */

static void
set_room(struct track *t, size_t room)
{
	metric_add(&metrics[METRIC_BYTES], ((int64_t)room -
	    (int64_t)t->room) * (int64_t)sizeof(*t->p));
	if (room == 0)
		mem_free(&t->p);
	else
		t->p = mem_resize(t->p, room, sizeof(*t->p));
	t->room = room;
}

/* Every second one stays. */
static void
thin(struct track *t)
{
	for (size_t i = 0; 2 * i < t->n; i++)
		t->p[i] = t->p[2 * i];
	t->n = (t->n + 1) / 2;
	t->apart_us *= 2;
}

/* The newest is replaced until it is far enough from the one before it. */
static bool
is_near(const struct track *t, struct wall at)
{
	return t->n >= 2 && at.us - t->p[t->n - 2].at.us < t->apart_us;
}

static void
put(struct track *t, const struct history_point *p, size_t most)
{
	if (is_near(t, p->at)) {
		t->p[t->n - 1] = *p;
		return;
	}
	if (t->n == t->room)
		set_room(t, MIN(most, MAX(2 * t->room, ROOM_LEAST)));
	t->p[t->n++] = *p;
}

static void
put_whole(struct track *t, const struct history_point *p)
{
	if (t->n == HISTORY_WHOLE_MAX && !is_near(t, p->at))
		thin(t);
	put(t, p, HISTORY_WHOLE_MAX);
}

static void
put_recent(struct track *t, const struct history_point *p)
{
	if (t->n == HISTORY_RECENT_MAX && !is_near(t, p->at))
		memmove(t->p, t->p + 1, --t->n * sizeof(*t->p));
	put(t, p, HISTORY_RECENT_MAX);
}

/* --- a crawl's ---------------------------------------------------------- */

static struct history_point
point_of(const struct crawl_view *v, struct wall now)
{
	const struct crawl_counts *n = &v->counts;

	return (struct history_point){ .at = now, .queued = n->queued,
	    .items = n->items, .bytes = n->body_bytes,
	    .status = { n->status[2], n->status[3], n->not_found,
	    n->status[5] }, .exceptions = crawl_exceptions(n) };
}

static struct crawl_history *
make(struct histories *all, struct crawl_history **own)
{
	struct crawl_history *h = mem_new(sizeof(*h));

	if (all->n == HISTORY_CRAWLS_MAX)
		crawl_history_drop(all,
		    LIST_ITEM(all->all.next, struct crawl_history, node)->own);
	list_init(&h->node);
	h->own = own;
	h->whole.apart_us = WHOLE_US;
	h->recent.apart_us = RECENT_US;
	all->n++;
	metric_add(&metrics[METRIC_CRAWLS], 1);
	return h;
}

void
crawl_history_note(struct histories *all, struct crawl_history **hp,
    const struct crawl_view *v, struct wall now)
{
	if (*hp == NULL)
		*hp = make(all, hp);
	struct crawl_history *h = *hp;
	struct history_point p = point_of(v, now);
	const struct track *t = &h->whole;
	/* A clock that was set back. */
	if (t->n > 0 && p.at.us < t->p[t->n - 1].at.us)
		p.at = t->p[t->n - 1].at;
	put_whole(&h->whole, &p);
	put_recent(&h->recent, &p);
	list_take(&h->node);
	list_put(&all->all, &h->node);
}

void
crawl_history_ended(struct crawl_history *h)
{
	if (h == NULL)
		return;
	struct track *t = &h->whole;
	struct history_point last = t->p[t->n - 1];
	while (t->n > HISTORY_ENDED_MAX)
		thin(t);
	t->p[t->n - 1] = last;
	set_room(t, t->n);
	h->recent.n = 0;
	set_room(&h->recent, 0);
}

void
crawl_history_drop(struct histories *all, struct crawl_history **hp)
{
	struct crawl_history *h = *hp;

	if (h == NULL)
		return;
	*hp = NULL;
	list_take(&h->node);
	set_room(&h->whole, 0);
	set_room(&h->recent, 0);
	mem_free(&h);
	all->n--;
	metric_add(&metrics[METRIC_CRAWLS], -1);
}

size_t
crawl_history_read(const struct crawl_history *h,
    struct history_point out[static HISTORY_POINTS_MAX])
{
	size_t n = 0;

	if (h == NULL)
		return 0;
	const struct track *t = &h->whole, *r = &h->recent;
	bool finer = t->apart_us > r->apart_us && r->n > 0;
	while (n < t->n && (!finer || t->p[n].at.us < r->p[0].at.us)) {
		out[n] = t->p[n];
		n++;
	}
	for (size_t i = 0; finer && i < r->n; i++)
		out[n++] = r->p[i];
	return n;
}

/* --- life --------------------------------------------------------------- */

struct histories *
histories_new(void)
{
	struct histories *all = mem_new(sizeof(*all));

	metric_register(metrics, ARRAY_LEN(metrics));
	list_init(&all->all);
	return all;
}

void
histories_free(struct histories **ap)
{
	struct histories *all = *ap;

	if (all == NULL)
		return;
	while (!list_empty(&all->all))
		crawl_history_drop(all,
		    LIST_ITEM(all->all.next, struct crawl_history, node)->own);
	mem_free(ap);
}
