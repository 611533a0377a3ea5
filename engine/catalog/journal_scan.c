/*
 *     list ─► a scan of the same filter: what it has seen, it has for good
 *                  │
 *        wanted ──►due──► a piece of the journal, on the pool ──┐
 *                  ▲ ▲──────────────────────────────────────────┤
 *         idle ────┘                 its lists are answered ◄┘
 *
 * One piece is under way at a time, of all scans together, so that they take
 * one thread of the pool and no more; they take turns.  A scan whose lists were
 * answered, or whose clients have left, is idle: it is remembered, and goes on
 * where it stopped when somebody asks the same of a journal that has grown.
 *
 * Which numbers fit is a set of bits, a word for each 64 numbers among which
 * one fits: at most a quarter of a byte for each page of the crawl.  With an
 * order of its own a scan keeps the greatest instead.
 */
#include "engine/catalog/journal_scan.h"

#include "base/heap.h"
#include "engine/catalog/core.h"
#include "engine/catalog/link_scan.h"

#define PIECE_ENTRIES 10000u
#define PIECE_PAGES 200u         /* that are read for their links */
#define RANKED_MIN ((size_t)1024)
/* Idle scans are forgotten after that time, or beyond that size. */
#define IDLE_MS 60000
#define IDLE_BYTES_MAX ((size_t)16 << 20)

/* One bit for each of the numbers 64 * at + 0 ... 63. */
struct word {
	uint64_t at, bits;
};

struct scan {
	struct read_task task;
	struct journal_scans *scans;
	struct list node;            /* scans.due, .wanted or .idle */
	struct list asks;            /* lists, as they came */
	struct captures_query *answering; /* the task's; NULL: a piece */
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
	struct heap_node *ranked;    /* key: the value; tie: ~number */
	struct heap heap;            /* of them, the least on top */
	size_t heap_max;
	struct link_scan *links;    /* NULL: no page need be read */
	uint64_t pages, pages_max;   /* read for them, in all; 0: no limit */
	bool limited;                /* as many as may be: it ends here */
};

static void scan_run(struct read_task *);
static void scan_came(struct read_task *);

/* --- what is kept, on the pool ------------------------------------------ */

static void
put_bit(struct scan *w, uint64_t number)
{
	if (w->words_n == 0 || w->words[w->words_n - 1].at != number / 64) {
		w->words = mem_room(w->words, w->words_n, &w->words_cap, 64,
		    sizeof(*w->words));
		w->words[w->words_n++] = (struct word){ number / 64, 0 };
	}
	w->words[w->words_n - 1].bits |= UINT64_C(1) << number % 64;
}

static int64_t
value_of(const struct scan *w, const struct journal_entry *e)
{
	return (int64_t)(w->filter.order == PAGES_SLOWEST ? e->duration_us :
	    journal_body_length(e));
}

/* Equal values are ordered by number, so that the list's order is stable. */
static int
least_first(const void *a, const void *b)
{
	const struct heap_node *x = *(struct heap_node *const *)a;
	const struct heap_node *y = *(struct heap_node *const *)b;

	return x->key != y->key ? (x->key < y->key ? -1 : 1) :
	    (x->tie > y->tie) - (x->tie < y->tie);
}

static void
rank(struct scan *w, const struct heap_node *added)
{
	struct heap_node *n = heap_first(&w->heap);

	if (w->heap.n < w->heap_max)
		n = &w->ranked[w->heap.n];
	else if (least_first(&added, &n) < 0)
		return;
	heap_put(&w->heap, n, added->key, added->tie);
}

/* --- a piece, on the pool ----------------------------------------------- */

static void
see(struct scan *w, struct str key, struct str value)
{
	struct journal_entry e;

	w->looked++;
	if (!capture_filter_takes(&w->filter, key, value, &e) ||
	    (w->links != NULL && !link_scan_takes(w->links, w->task.reader,
	    &e, &w->pages)))
		return;
	w->total++;
	if (w->heap_max > 0)
		rank(w, &(struct heap_node){ value_of(w, &e), ~e.seq, 0 });
	else
		put_bit(w, e.seq);
}

static void
scan_piece(struct scan *w)
{
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(w->task.reader->index,
	    INDEX_JOURNAL);
	FREED(buf_free) struct buf from = BUF_INIT;
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
}

/* --- an answer, on the pool --------------------------------------------- */

static void
read_one(struct scan *w, struct captures_query *l, uint64_t number)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct journal_entry e;

	if (record_reader_entry(
	        w->task.reader, w->crawl, number, &a, &e, NULL) == OK)
		capture_list_keep(l, &e);
}

static void
read_ranked(struct scan *w, struct captures_query *q)
{
	size_t n = w->heap.n, end = n - MIN(n, (size_t)q->start);
	struct heap_node **sorted = mem_array(n + 1, sizeof(*sorted));

	for (size_t i = 0; i < n; i++)
		sorted[i] = &w->ranked[i];
	qsort(sorted, n, sizeof(*sorted), least_first);
	for (size_t i = 0; i < MIN(q->size, end); i++)
		read_one(w, q, ~sorted[end - 1 - i]->tie);
	mem_free(&sorted);
}

/* The numbers at `n` places from `place` on, the least first. */
static void
find_numbers(const struct scan *w, uint64_t place, size_t n, uint64_t *out)
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
read_by_number(struct scan *w, struct captures_query *q)
{
	uint64_t left = w->total - MIN(w->total, q->start);
	size_t n = (size_t)MIN(left, q->size);
	bool newest = q->order == PAGES_NEWEST;
	uint64_t *numbers = mem_array(n + 1, sizeof(*numbers));

	find_numbers(w, newest ? left - n : q->start, n, numbers);
	for (size_t i = 0; i < n; i++)
		read_one(w, q, numbers[newest ? n - 1 - i : i]);
	mem_free(&numbers);
}

static void
scan_run(struct read_task *task)
{
	struct scan *w = CONTAINER(task, struct scan, task);

	if (w->answering == NULL)
		scan_piece(w);
	else if (w->heap_max > 0)
		read_ranked(w, w->answering);
	else
		read_by_number(w, w->answering);
}

/* --- scans, on the main loop ------------------------------------------- */

static size_t
bytes_of(const struct scan *w)
{
	return w->words_cap * sizeof(*w->words) +
	    w->heap_max * (sizeof(*w->ranked) + sizeof(*w->heap.nodes));
}

static void
scan_free(struct scan *w)
{
	list_take(&w->node);
	arena_free(&w->arena);
	link_scan_free(&w->links);
	mem_free(&w->words);
	heap_free(&w->heap);
	mem_free(&w->ranked);
	mem_free(&w);
}

static bool
serves(const struct scan *w, const struct captures_query *l)
{
	return w->crawl == l->crawl &&
	    capture_filter_eq(&w->filter, &l->filter) && (w->heap_max == 0 ||
	    w->heap_max >= l->start + l->size);
}

static struct scan *
find_in(const struct list *scans, const struct captures_query *l)
{
	LIST_EACH(w, scans, struct scan, node)
		if (serves(w, l))
			return w;
	return NULL;
}

static struct scan *
scan_new(struct journal_scans *f, const struct captures_query *l)
{
	const struct capture_filter *from = &l->filter;
	struct scan *w = mem_new(sizeof(*w));

	w->scans = f;
	list_init(&w->node);
	list_init(&w->asks);
	w->task.run = scan_run;
	w->task.done = scan_came;
	w->why = WHY_INIT;
	w->crawl = l->crawl;
	w->filter = *from;
	w->filter.text = arena_copy(&w->arena, from->text);
	w->filter.type = arena_copy(&w->arena, from->type);
	w->filter.host = arena_copy(&w->arena, from->host);
	w->filter.links_to = arena_copy(&w->arena, from->links_to);
	if (from->links_to.n != 0)
		w->links = link_scan_new(f->catalog->options.frontier, w->crawl,
		    from->links_to);
	w->pages_max = f->catalog->options.links_pages_max;
	/* The next page of the same list needs no new scan. */
	if (from->order != PAGES_OLDEST)
		w->heap_max = MAX(2 * ((size_t)l->start + l->size),
		    RANKED_MIN);
	return w;
}

/* The longest unused go, while there is too much. */
static void
forget_idle(struct journal_scans *f, unsigned count_max)
{
	size_t bytes = 0;

	LIST_EACH(w, &f->idle, struct scan, node)
		bytes += bytes_of(w);
	while (!list_empty(&f->idle) &&
	    (f->count > count_max || bytes > IDLE_BYTES_MAX)) {
		struct scan *w = LIST_ITEM(f->idle.next, struct scan,
		    node);
		bytes -= bytes_of(w);
		f->count--;
		scan_free(w);
	}
}

static void
fail_all(struct journal_scans *f, struct scan *w)
{
	while (!list_empty(&w->asks)) {
		struct captures_query *l = LIST_POP(&w->asks,
		    struct captures_query, node);
		capture_list_fail(f->catalog->tasks, l, &w->why);
	}
}

/* Whom it answers next, if anybody; and how far it goes for the others. */
static void
aim(struct journal_scans *f, struct scan *w)
{
	static const struct why nobody = { .err = ERR_CLOSED,
	    .text = "nobody waits" };
	struct mono now = loop_now(f->catalog->options.home);
	struct list *next;

	w->answering = NULL;
	w->to = w->upto;
	for (struct list *n = w->asks.next; n != &w->asks; n = next) {
		struct captures_query *l =
		    LIST_ITEM(n, struct captures_query, node);
		next = n->next;
		if (l->left != NULL && atomic_load(l->left)) {
			list_take(n);
			capture_list_fail(f->catalog->tasks, l, &nobody);
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
queue(struct journal_scans *f, struct scan *w)
{
	if (!list_empty(&w->asks)) {
		list_put(&f->due, &w->node);
	} else {
		w->used = loop_now(f->catalog->options.home);
		list_put(&f->idle, &w->node);
		forget_idle(f, JOURNAL_SCANS_MAX);
	}
}

/* As many as may be. */
static void
begin_wanted(struct journal_scans *f)
{
	while (!list_empty(&f->wanted)) {
		struct scan *w = LIST_ITEM(f->wanted.next, struct scan,
		    node);
		forget_idle(f, JOURNAL_SCANS_MAX - 1);
		if (f->count >= JOURNAL_SCANS_MAX)
			return;
		f->count++;
		w->ranked = w->heap_max == 0 ? NULL :
		    mem_array(w->heap_max, sizeof(*w->ranked));
		list_take(&w->node);
		list_put(&f->due, &w->node);
	}
}

/* The next piece, or answer, of whose turn it is. */
static void
go_on(struct journal_scans *f)
{
	begin_wanted(f);
	while (f->running == NULL && !list_empty(&f->due)) {
		struct scan *w = LIST_POP(&f->due, struct scan, node);
		aim(f, w);
		if (list_empty(&w->asks)) {
			queue(f, w);
			begin_wanted(f);
			continue;
		}
		f->running = w;
		read_task_put(f->catalog->tasks, &w->task);
	}
}

/* Why nobody is answered by it any more; OK: all is well. */
static enum err
fault(struct journal_scans *f, struct scan *w)
{
	const struct crawl_row *row = crawl_row(f->catalog->options.registry,
	    w->crawl);

	if (f->catalog->closing)
		return why(&w->why, ERR_CLOSED, "the engine is ending");
	if (row == NULL || row->deleted)
		return why(&w->why, ERR_ABSENT, "crawl %u is gone", w->crawl);
	return w->why.err;
}

static struct captures_query *
take_answered(struct scan *w)
{
	struct captures_query *l = w->answering;

	if (l == NULL)
		return NULL;
	l->total = w->total;
	l->looked = w->looked;
	l->limited = w->limited && w->upto < l->upto;
	l->so_far = !w->limited && w->upto < l->upto;
	list_take(&l->node);
	return l;
}

static void
scan_came(struct read_task *task)
{
	struct scan *w = CONTAINER(task, struct scan, task);
	struct journal_scans *f = w->scans;

	f->running = NULL;
	if (fault(f, w) != OK) {
		fail_all(f, w);
		f->count--;
		scan_free(w);
	} else {
		/* Who is told may ask the same again. */
		struct captures_query *l = take_answered(w);
		queue(f, w);
		if (l != NULL)
			capture_list_end(l);
	}
	go_on(f);
}

void
journal_scan_put(struct journal_scans *f, struct captures_query *l)
{
	struct scan *w = f->running;

	if (w == NULL || !serves(w, l))
		w = find_in(&f->due, l);
	if (w == NULL)
		w = find_in(&f->wanted, l);
	if (w != NULL) {
		list_put(&w->asks, &l->node);
		return;
	}
	w = find_in(&f->idle, l);
	if (w == NULL) {
		w = scan_new(f, l);
		list_put(&w->asks, &l->node);
		list_put(&f->wanted, &w->node);
	} else {
		list_put(&w->asks, &l->node);
		list_take(&w->node);
		queue(f, w);
	}
	go_on(f);
}

static bool
trim_scans(struct trim *t, struct mono now)
{
	struct journal_scans *f = CONTAINER(t, struct journal_scans, trim);
	struct mono since = mono_add_ms(now, -IDLE_MS);

	while (!list_empty(&f->idle)) {
		struct scan *w = LIST_ITEM(f->idle.next, struct scan, node);
		if (!mono_before(w->used, since))
			return true;
		f->count--;
		scan_free(w);
	}
	return f->count > 0;
}

struct journal_scans *
journal_scans_new(struct catalog *c)
{
	struct journal_scans *f = mem_new(sizeof(*f));

	f->catalog = c;
	list_init(&f->due);
	list_init(&f->wanted);
	list_init(&f->idle);
	f->trim.run = trim_scans;
	read_tasks_trim(c->tasks, &f->trim);
	return f;
}

void
journal_scans_close(struct journal_scans *f)
{
	struct list *lists[] = { &f->due, &f->wanted };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		while (!list_empty(lists[i])) {
			struct scan *w = LIST_ITEM(lists[i]->next,
			    struct scan, node);
			f->count -= i == 0;
			(void)!fault(f, w);
			fail_all(f, w);
			scan_free(w);
		}
}

void
journal_scans_free(struct journal_scans **fp)
{
	struct journal_scans *f = *fp;

	if (f == NULL)
		return;
	forget_idle(f, 0);
	CHECK(f->count == 0);
	mem_free(fp);
}
