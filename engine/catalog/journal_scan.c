/*
 * Walks: a journal looked through for what fits a filter, and remembered.
 *
 *     listing ─► a walk of the same filter: what it has seen, it has for good
 *                  │
 *        wanted ──►due──► a piece of the journal, on the pool ──┐
 *                  ▲ ▲──────────────────────────────────────────┤
 *         idle ────┘                 its listings are answered ◄┘
 *
 * One piece is under way at a time, of all walks together, so that they take
 * one thread of the pool and no more; they take turns.  A walk whose listings
 * were answered, or whose askers have left, is idle: it is remembered, and goes
 * on where it stopped when somebody asks the same of a journal that has grown.
 *
 * Which numbers fit is a set of bits, a word for each 64 numbers among which
 * one fits: at most a quarter of a byte for each page of the crawl.  With an
 * order of its own a walk keeps the greatest instead.
 */
#include "engine/stream/cache.h"

#define PIECE_ENTRIES 10000u
#define PIECE_PAGES 200u         /* that are read for their links */
#define RANKED_MIN ((size_t)1024)
/* Of those that are idle. */
#define IDLE_BYTES_MAX ((size_t)16 << 20)

struct ranked {
	uint64_t value, number;
};
/* Of the numbers 64 * at + 0 ... 63. */
struct word {
	uint64_t at, bits;
};

struct walk {
	struct read_task task;
	struct list node;            /* stream.walks_due, _wanted or _idle */
	struct list asks;            /* listings, as they came */
	struct capture_list *answering;   /* the task's; NULL: it is a piece */
	struct mono used;
	uint32_t crawl;
	struct arena arena;
	struct capture_filter filter;
	uint64_t upto;               /* seen up to that number */
	uint64_t to;                 /* the piece's end */
	uint64_t looked, total;      /* entries seen; those that fit */
	struct why why;
	struct word *words;
	size_t words_n, words_cap;
	struct ranked *heap;         /* the least of them on top */
	size_t heap_n, heap_max;
	struct link_scan *links;    /* NULL: no page need be read */
	uint64_t pages, pages_max;   /* read for them, in all; 0: no limit */
	bool limited;                /* as many as may be: it ends here */
};

static void walk_run(struct read_task *);
static void walk_came(struct read_task *);

/* --- what is kept, on the pool ------------------------------------------ */

static void
put_bit(struct walk *w, uint64_t number)
{
	if (w->words_n == 0 || w->words[w->words_n - 1].at != number / 64) {
		if (w->words_n == w->words_cap) {
			w->words_cap = MAX(2 * w->words_cap, 64);
			w->words = mem_resize(w->words, w->words_cap,
			    sizeof(*w->words));
		}
		w->words[w->words_n++] = (struct word){ number / 64, 0 };
	}
	w->words[w->words_n - 1].bits |= UINT64_C(1) << number % 64;
}

static uint64_t
value_of(const struct walk *w, const struct journal_entry *e)
{
	return w->filter.order == PAGES_SLOWEST ? e->duration_us :
	    journal_body_length(e);
}

/* Of equal values the later one is the lesser: the list does not waver. */
static bool
is_less(const struct ranked *a, const struct ranked *b)
{
	return a->value != b->value ? a->value < b->value :
	    a->number > b->number;
}

static void
sift_down(struct ranked *h, size_t n, size_t i)
{
	for (;;) {
		size_t least = i, k = 2 * i + 1;
		if (k < n && is_less(&h[k], &h[least]))
			least = k;
		if (k + 1 < n && is_less(&h[k + 1], &h[least]))
			least = k + 1;
		if (least == i)
			return;
		struct ranked swap = h[i];
		h[i] = h[least];
		h[least] = swap;
		i = least;
	}
}

static void
rank(struct walk *w, struct ranked r)
{
	struct ranked *h = w->heap;
	size_t i;

	if (w->heap_n == w->heap_max) {
		if (is_less(&h[0], &r)) {
			h[0] = r;
			sift_down(h, w->heap_n, 0);
		}
		return;
	}
	for (i = w->heap_n++; i > 0 && is_less(&r, &h[(i - 1) / 2]);
	    i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = r;
}

/* --- a piece, on the pool ----------------------------------------------- */

static void
see(struct walk *w, struct str key, struct str value)
{
	struct journal_entry e;

	w->looked++;
	if (!capture_filter_takes(&w->filter, key, value, &e) ||
	    (w->links != NULL && !link_scan_takes(w->links, w->task.reader,
	    &e, &w->pages)))
		return;
	w->total++;
	if (w->heap_max > 0)
		rank(w, (struct ranked){ value_of(w, &e), e.seq });
	else
		put_bit(w, e.seq);
}

static void
walk_piece(struct walk *w)
{
	struct index_iter *i = index_iter_new(w->task.reader->index,
	    INDEX_JOURNAL);
	struct buf from = BUF_INIT;
	struct str key, value;
	uint64_t number = 0, before = w->pages;

	journal_key(w->crawl, w->upto + 1, &from);
	index_iter_seek(i, buf_str(&from));
	for (unsigned n = 0; n < PIECE_ENTRIES; n++, index_iter_next(i)) {
		bool valid = index_iter_valid(i, &key, &value);
		struct reader in = reader_of(key);
		if (!valid || read_be32(&in) != w->crawl ||
		    (number = read_be64(&in)) > w->to) {
			w->upto = w->to;
			break;
		}
		see(w, key, value);
		w->upto = number;
		w->limited = w->pages_max != 0 && w->pages >= w->pages_max;
		if (w->limited || w->pages - before >= PIECE_PAGES)
			break;
	}
	/* The answer is in w->why. */
	(void)!index_iter_error(i, &w->why);
	index_iter_free(&i);
	buf_free(&from);
}

/* --- an answer, on the pool --------------------------------------------- */

static void
read_one(struct walk *w, struct capture_list *l, uint64_t number)
{
	struct arena a = ARENA_INIT;
	struct journal_entry e;

	if (record_reader_entry(
	        w->task.reader, w->crawl, number, &a, &e, NULL) == OK)
		capture_list_keep(l, &e);
	arena_free(&a);
}

static int
least_first(const void *a, const void *b)
{
	return is_less(a, b) ? -1 : 1;
}

/* Sorted so, it is a heap still. */
static void
read_ranked(struct walk *w, struct capture_list *l)
{
	const struct captures_query *q = l->ask;
	size_t end = w->heap_n - MIN(w->heap_n, (size_t)q->start);

	if (w->heap_n > 1)
		qsort(w->heap, w->heap_n, sizeof(*w->heap), least_first);
	for (size_t i = 0; i < MIN(q->size, end); i++)
		read_one(w, l, w->heap[end - 1 - i].number);
}

/* The numbers at `n` places from `place` on, the least first. */
static void
find_numbers(const struct walk *w, uint64_t place, size_t n, uint64_t *out)
{
	for (size_t i = 0; i < w->words_n && n > 0; i++) {
		uint64_t bits = w->words[i].bits;
		unsigned ones = (unsigned)__builtin_popcountll(bits);
		if (place >= ones) {
			place -= ones;
			continue;
		}
		for (; place > 0; place--)
			bits &= bits - 1;
		for (; bits != 0 && n > 0; bits &= bits - 1, n--)
			*out++ = 64 * w->words[i].at +
			    (unsigned)__builtin_ctzll(bits);
	}
}

static void
read_by_number(struct walk *w, struct capture_list *l)
{
	const struct captures_query *q = l->ask;
	uint64_t left = w->total - MIN(w->total, q->start);
	size_t n = (size_t)MIN(left, q->size);
	bool newest = q->order == PAGES_NEWEST;
	uint64_t *numbers = mem_array(n + 1, sizeof(*numbers));

	find_numbers(w, newest ? left - n : q->start, n, numbers);
	for (size_t i = 0; i < n; i++)
		read_one(w, l, numbers[newest ? n - 1 - i : i]);
	mem_free(&numbers);
}

static void
walk_run(struct read_task *task)
{
	struct walk *w = CONTAINER(task, struct walk, task);

	if (w->answering == NULL)
		walk_piece(w);
	else if (w->heap_max > 0)
		read_ranked(w, w->answering);
	else
		read_by_number(w, w->answering);
}

/* --- walks, at home ----------------------------------------------------- */

static size_t
bytes_of(const struct walk *w)
{
	return w->words_cap * sizeof(*w->words) +
	    w->heap_max * sizeof(*w->heap);
}

static void
walk_free(struct walk *w)
{
	list_take(&w->node);
	arena_free(&w->arena);
	link_scan_free(&w->links);
	mem_free(&w->words);
	mem_free(&w->heap);
	mem_free(&w);
}

static bool
serves(const struct walk *w, const struct capture_list *l)
{
	return w->crawl == l->ask->crawl &&
	    capture_filter_eq(&w->filter, &l->filter) && (w->heap_max == 0 ||
	    w->heap_max >= l->ask->start + l->ask->size);
}

static struct walk *
find_in(const struct list *walks, const struct capture_list *l)
{
	for (struct list *n = walks->next; n != walks; n = n->next)
		if (serves(LIST_ITEM(n, struct walk, node), l))
			return LIST_ITEM(n, struct walk, node);
	return NULL;
}

static struct walk *
walk_new(const struct stream *f, const struct capture_list *l)
{
	const struct capture_filter *from = &l->filter;
	struct walk *w = mem_new(sizeof(*w));

	list_init(&w->node);
	list_init(&w->asks);
	w->task.run = walk_run;
	w->task.done = walk_came;
	w->why = WHY_INIT;
	w->crawl = l->ask->crawl;
	w->filter = *from;
	w->filter.text = arena_copy(&w->arena, from->text);
	w->filter.type = arena_copy(&w->arena, from->type);
	w->filter.host = arena_copy(&w->arena, from->host);
	w->filter.links_to = arena_copy(&w->arena, from->links_to);
	if (from->links_to.n != 0)
		w->links = link_scan_new(f->options.frontier, w->crawl,
		    from->links_to);
	w->pages_max = f->options.links_pages_max;
	/* Whoever turns a page needs no other walk. */
	if (from->order != PAGES_OLDEST)
		w->heap_max = MAX(2 * ((size_t)l->ask->start + l->ask->size),
		    RANKED_MIN);
	return w;
}

/* The longest unused go, while there is too much. */
static void
forget_idle(struct stream *f, unsigned walks_max)
{
	size_t bytes = 0;

	for (struct list *n = f->walks_idle.next; n != &f->walks_idle;
	    n = n->next)
		bytes += bytes_of(LIST_ITEM(n, struct walk, node));
	while (!list_empty(&f->walks_idle) &&
	    (f->walks > walks_max || bytes > IDLE_BYTES_MAX)) {
		struct walk *w = LIST_ITEM(f->walks_idle.next, struct walk,
		    node);
		bytes -= bytes_of(w);
		f->walks--;
		walk_free(w);
	}
}

static void
fail_all(struct stream *f, struct walk *w)
{
	while (!list_empty(&w->asks)) {
		struct capture_list *l =
		    LIST_ITEM(w->asks.next, struct capture_list, node);
		list_take(&l->node);
		capture_list_fail(f, l, &w->why);
	}
}

/* Whom it answers next, if anybody; and how far it goes for the others. */
static void
aim(struct stream *f, struct walk *w)
{
	static const struct why nobody = { .err = ERR_CLOSED,
	    .text = "nobody waits" };
	struct mono now = loop_now(f->options.home);
	struct list *next;

	w->answering = NULL;
	w->to = w->upto;
	for (struct list *n = w->asks.next; n != &w->asks; n = next) {
		struct capture_list *l =
		    LIST_ITEM(n, struct capture_list, node);
		next = n->next;
		if (l->ask->left != NULL && atomic_load(l->ask->left)) {
			list_take(n);
			capture_list_fail(f, l, &nobody);
		} else if (w->limited || w->upto >= l->upto ||
		    (w->looked > 0 && !mono_before(now, l->until))) {
			w->answering = l;
			return;
		}
		w->to = MAX(w->to, l->upto);
	}
}

/* Its turn comes again, if anybody waits for it. */
static void
queue(struct stream *f, struct walk *w)
{
	if (!list_empty(&w->asks)) {
		list_put(&f->walks_due, &w->node);
	} else {
		w->used = loop_now(f->options.home);
		list_put(&f->walks_idle, &w->node);
		forget_idle(f, STREAM_WALKS_MAX);
	}
}

/* As many as may be. */
static void
begin_wanted(struct stream *f)
{
	while (!list_empty(&f->walks_wanted)) {
		struct walk *w = LIST_ITEM(f->walks_wanted.next, struct walk,
		    node);
		forget_idle(f, STREAM_WALKS_MAX - 1);
		if (f->walks >= STREAM_WALKS_MAX)
			return;
		f->walks++;
		w->heap = w->heap_max == 0 ? NULL :
		    mem_array(w->heap_max, sizeof(*w->heap));
		list_take(&w->node);
		list_put(&f->walks_due, &w->node);
	}
}

/* The next piece, or answer, of whose turn it is. */
static void
go_on(struct stream *f)
{
	begin_wanted(f);
	while (f->walking == NULL && !list_empty(&f->walks_due)) {
		struct walk *w = LIST_ITEM(f->walks_due.next, struct walk,
		    node);
		list_take(&w->node);
		aim(f, w);
		if (list_empty(&w->asks)) {
			queue(f, w);
			begin_wanted(f);
			continue;
		}
		f->walking = w;
		read_task_put(f, &w->task);
	}
}

/* Why nobody is answered by it any more; OK: all is well. */
static enum err
fault(struct stream *f, struct walk *w)
{
	const struct crawl_row *row = crawl_row(f->options.registry, w->crawl);

	if (f->closing)
		return why(&w->why, ERR_CLOSED, "the engine is ending");
	if (row == NULL || row->deleted)
		return why(&w->why, ERR_ABSENT, "crawl %u is gone", w->crawl);
	return w->why.err;
}

static struct capture_list *
take_answered(struct walk *w)
{
	struct capture_list *l = w->answering;

	if (l == NULL)
		return NULL;
	l->ask->total = w->total;
	l->ask->looked = w->looked;
	l->ask->limited = w->limited && w->upto < l->upto;
	l->ask->so_far = !w->limited && w->upto < l->upto;
	list_take(&l->node);
	return l;
}

static void
walk_came(struct read_task *task)
{
	struct walk *w = CONTAINER(task, struct walk, task);
	struct stream *f = task->stream;

	f->walking = NULL;
	if (fault(f, w) != OK) {
		fail_all(f, w);
		f->walks--;
		walk_free(w);
	} else {
		/* Who is told may ask the same again. */
		struct capture_list *l = take_answered(w);
		queue(f, w);
		if (l != NULL)
			capture_list_end(l);
	}
	go_on(f);
}

void
journal_scan_put(struct stream *f, struct capture_list *l)
{
	struct walk *w = f->walking;

	if (w == NULL || !serves(w, l))
		w = find_in(&f->walks_due, l);
	if (w == NULL)
		w = find_in(&f->walks_wanted, l);
	if (w != NULL) {
		list_put(&w->asks, &l->node);
		return;
	}
	w = find_in(&f->walks_idle, l);
	if (w == NULL) {
		w = walk_new(f, l);
		list_put(&w->asks, &l->node);
		list_put(&f->walks_wanted, &w->node);
	} else {
		list_put(&w->asks, &l->node);
		list_take(&w->node);
		queue(f, w);
	}
	go_on(f);
}

bool
journal_scan_rest(struct stream *f, struct mono since)
{
	while (!list_empty(&f->walks_idle)) {
		struct walk *w = LIST_ITEM(f->walks_idle.next, struct walk,
		    node);
		if (!mono_before(w->used, since))
			return true;
		f->walks--;
		walk_free(w);
	}
	return f->walks > 0;
}

void
journal_scan_close(struct stream *f)
{
	struct list *lists[] = { &f->walks_due, &f->walks_wanted };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		while (!list_empty(lists[i])) {
			struct walk *w = LIST_ITEM(lists[i]->next,
			    struct walk, node);
			f->walks -= i == 0;
			(void)!fault(f, w);
			fail_all(f, w);
			walk_free(w);
		}
}

void
journal_scan_free(struct stream *f)
{
	forget_idle(f, 0);
	CHECK(f->walks == 0);
}
