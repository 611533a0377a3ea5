/*
 * Lists of pages: the journal of a crawl, looked through in pieces so that
 * nobody waits for a long one.
 *
 *     no filter, by number    one seek
 *     else                    all entries; those asked for, or the greatest
 *                             so far in a heap, are kept
 */
#include "engine/feed_own.h"

#define PIECE_ENTRIES 20000u
#define SIZE_MAX_PAGES 1000u
/* With an order that is not the journal's. */
#define RANKED_MAX 100000u

struct ranked {
	uint64_t value, number;
};

struct listing {
	struct feed_task task;
	struct pages_ask *ask;
	struct arena arena;          /* copies of what is asked for */
	struct str text, type, host;
	uint16_t status_from, status_to;
	bool backwards, filtered, ended;
	struct index_iter *iter;
	struct buf prefix;
	/* PAGES_SLOWEST, PAGES_LARGEST: the least of them on top. */
	struct ranked *heap;
	size_t heap_n, heap_max;
};

/* --- what matches ------------------------------------------------------- */

static bool
holds(struct str s, struct str needle)
{
	char first;

	if (needle.n == 0)
		return true;
	first = ascii_lower(needle.p[0]);
	for (size_t i = 0; i + needle.n <= s.n; i++)
		if (ascii_lower(s.p[i]) == first &&
		    str_eq_nocase(str_cut(s, i, i + needle.n), needle))
			return true;
	return false;
}

/* Of "http://user@host:80/path" the host. */
static struct str
host_of(struct str url)
{
	struct str s = str_from(url, str_find(url, STR("://")) + 3);
	size_t n = 0;

	while (n < s.n && s.p[n] != '/' && s.p[n] != '?' && s.p[n] != '#')
		n++;
	s.n = n;
	size_t at = str_find_char(s, '@');
	if (at < s.n)
		s = str_from(s, at + 1);
	if (s.n > 0 && s.p[0] == '[')
		return str_cut(s, 0, str_find_char(s, ']') + 1);
	return str_cut(s, 0, str_find_char(s, ':'));
}

/* "text/html", or "image/" for all of a kind. */
static bool
type_matches(struct str wanted, struct str type)
{
	return wanted.n == 0 || (str_ends(wanted, STR("/")) ?
	    str_starts_nocase(type, wanted) : str_eq_nocase(type, wanted));
}

static bool
matches(const struct listing *l, const struct journal_entry *e)
{
	return e->status >= l->status_from && e->status <= l->status_to &&
	    type_matches(l->type, e->type) &&
	    (l->host.n == 0 || str_eq_nocase(host_of(e->url), l->host)) &&
	    (holds(e->url, l->text) || holds(e->title, l->text));
}

/* "404", "4xx", or none. */
static bool
parse_status(struct str s, struct listing *l)
{
	uint64_t n;

	l->status_from = 0;
	l->status_to = UINT16_MAX;
	if (s.n == 0)
		return true;
	if (s.n != 3 || !ascii_is_digit(s.p[0]))
		return false;
	if (str_eq_nocase(str_from(s, 1), STR("xx"))) {
		l->status_from = (uint16_t)((s.p[0] - '0') * 100);
		l->status_to = (uint16_t)(l->status_from + 99);
		return true;
	}
	if (!str_to_u64(s, &n))
		return false;
	l->status_from = l->status_to = (uint16_t)n;
	return true;
}

/* --- what is kept ------------------------------------------------------- */

static void
copy_entry(struct arena *a, const struct journal_entry *from,
    struct journal_entry *to)
{
	*to = *from;
	to->type = arena_copy(a, from->type);
	to->title = arena_copy(a, from->title);
	to->url = arena_copy(a, from->url);
	to->final_url = arena_copy(a, from->final_url);
	to->via = arena_copy(a, from->via);
}

static void
keep(struct listing *l, const struct journal_entry *e)
{
	struct pages_ask *q = l->ask;

	if (q->n < q->size)
		copy_entry(&q->arena, e, &q->pages[q->n++]);
}

static uint64_t
value_of(const struct listing *l, const struct journal_entry *e)
{
	return l->ask->order == PAGES_SLOWEST ? e->duration_us :
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
rank(struct listing *l, struct ranked r)
{
	struct ranked *h = l->heap;
	size_t i;

	if (l->heap_n == l->heap_max) {
		if (l->heap_n > 0 && is_less(&h[0], &r)) {
			h[0] = r;
			sift_down(h, l->heap_n, 0);
		}
		return;
	}
	for (i = l->heap_n++; i > 0 && is_less(&r, &h[(i - 1) / 2]);
	    i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = r;
}

static int
greatest_first(const void *a, const void *b)
{
	return is_less(a, b) ? 1 : -1;
}

/* The ranked ones of the page that was asked for. */
static void
read_ranked(struct listing *l)
{
	struct pages_ask *q = l->ask;
	struct journal_entry e;

	if (l->heap_n > 1)
		qsort(l->heap, l->heap_n, sizeof(*l->heap), greatest_first);
	for (size_t i = (size_t)MIN(q->start, l->heap_n); i < l->heap_n; i++) {
		struct arena a = ARENA_INIT;
		if (feed_read_entry(l->task.reader, q->crawl,
		    l->heap[i].number, &a, &e, NULL) == OK)
			keep(l, &e);
		arena_free(&a);
	}
}

/* --- a piece, on the pool ----------------------------------------------- */

static void
begin_walk(struct listing *l)
{
	struct pages_ask *q = l->ask;
	struct buf from = BUF_INIT;
	uint64_t number = l->backwards ? UINT64_MAX : 0;

	/* Numbers have no gaps then: what is passed over need not be seen. */
	if (!l->filtered)
		number = l->backwards ? q->total - q->start : q->start + 1;
	buf_put_be32(&l->prefix, q->crawl);
	journal_key(q->crawl, number, &from);
	l->iter = index_iter_new(l->task.reader->index, INDEX_JOURNAL);
	if (l->backwards)
		index_iter_seek_last(l->iter, buf_str(&from));
	else
		index_iter_seek(l->iter, buf_str(&from));
	buf_free(&from);
}

static void
see(struct listing *l, const struct journal_entry *e)
{
	struct pages_ask *q = l->ask;

	if (!l->filtered) {
		keep(l, e);
		return;
	}
	if (!matches(l, e))
		return;
	q->total++;
	if (l->heap_max > 0)
		rank(l, (struct ranked){ value_of(l, e), e->seq });
	else if (q->order <= PAGES_NEWEST && q->total > q->start)
		keep(l, e);
}

static void
walk(struct listing *l)
{
	struct pages_ask *q = l->ask;
	struct journal_entry e;
	struct str key, value;

	for (unsigned looks = 0; looks < PIECE_ENTRIES; looks++) {
		if (!index_iter_valid(l->iter, &key, &value) ||
		    !str_starts(key, buf_str(&l->prefix)) ||
		    (!l->filtered && q->n == q->size)) {
			q->why.err = index_iter_error(l->iter, &q->why);
			l->ended = true;
			return;
		}
		if (journal_parse(key, value, &e))
			see(l, &e);
		if (l->backwards)
			index_iter_prev(l->iter);
		else
			index_iter_next(l->iter);
	}
}

static void
listing_run(struct feed_task *task)
{
	struct listing *l = CONTAINER(task, struct listing, task);

	if (l->ended)
		return;
	if (l->iter == NULL)
		begin_walk(l);
	walk(l);
	if (l->ended && l->heap_max > 0)
		read_ranked(l);
}

/* --- at home ------------------------------------------------------------ */

static void
finish(struct listing *l)
{
	struct pages_ask *q = l->ask;

	index_iter_free(&l->iter);
	buf_free(&l->prefix);
	arena_free(&l->arena);
	mem_free(&l->heap);
	mem_free(&l);
	q->done(q);
}

static void
listing_came(struct feed_task *task)
{
	struct listing *l = CONTAINER(task, struct listing, task);
	struct feed *f = task->feed;

	if (!l->ended && f->closing) {
		why(&l->ask->why, ERR_CLOSED, "the engine is ending");
		l->ended = true;
	}
	if (!l->ended)
		feed_task_put(f, task);
	else
		finish(l);
}

/* What is asked for; the row's, where nothing need be looked through. */
static enum err
prepare(struct listing *l, const struct board_row *row, struct why *w)
{
	struct pages_ask *q = l->ask;
	bool by_number = q->order == PAGES_OLDEST || q->order == PAGES_NEWEST;

	if (row == NULL || row->deleted)
		return why(w, ERR_ABSENT, "crawl %u is gone", q->crawl);
	if (!parse_status(q->status, l))
		return why(w, ERR_INPUT, "status: neither \"404\" nor "
		    "\"4xx\"");
	if (q->size > SIZE_MAX_PAGES)
		return why(w, ERR_INPUT, "size: at most %u", SIZE_MAX_PAGES);
	if (!by_number && q->start > RANKED_MAX)
		return why(w, ERR_INPUT, "start: at most %u in this order",
		    RANKED_MAX);
	l->text = arena_copy(&l->arena, q->text);
	l->type = arena_copy(&l->arena, q->type);
	l->host = arena_copy(&l->arena, q->host);
	l->backwards = q->order == PAGES_NEWEST;
	l->filtered = !by_number || q->text.n + q->status.n + q->type.n +
	    q->host.n > 0 || row->view.item_last != row->view.counts.items;
	if (!l->filtered) {
		q->total = row->view.counts.items;
		l->ended = q->start >= q->total || q->size == 0;
	} else if (!by_number) {
		l->heap_max = (size_t)q->start + q->size;
		l->heap = mem_array(l->heap_max + 1, sizeof(*l->heap));
	}
	return OK;
}

void
feed_pages(struct feed *f, struct pages_ask *q)
{
	struct listing *l = mem_new(sizeof(*l));

	l->ask = q;
	l->task.run = listing_run;
	l->task.done = listing_came;
	q->arena = ARENA_INIT;
	q->total = 0;
	q->n = 0;
	q->why = WHY_INIT;
	if (prepare(l, board_row(f->options.board, q->crawl), &q->why) != OK)
		l->ended = true;
	q->pages = ARENA_ARRAY(&q->arena, struct journal_entry, MIN(q->size,
	    SIZE_MAX_PAGES));
	feed_task_put(f, &l->task);
}
