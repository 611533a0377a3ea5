#include "engine/catalog/journal_scan.h"

#include "engine/catalog/core.h"
#include "os/clock.h"

#define SIZE_MAX_PAGES 1000u
/* With an order that is not the journal's. */
#define RANKED_MAX 100000u

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

/* The host in "http://user@host:80/path". */
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

/* "404", "4xx", or none. */
static bool
parse_status(struct str s, struct capture_filter *f)
{
	uint64_t n;

	f->status_from = 0;
	f->status_to = UINT16_MAX;
	if (s.n == 0)
		return true;
	if (s.n != 3 || !ascii_is_digit(s.p[0]))
		return false;
	if (str_eq_nocase(str_from(s, 1), STR("xx"))) {
		f->status_from = (uint16_t)((s.p[0] - '0') * 100);
		f->status_to = (uint16_t)(f->status_from + 99);
		return true;
	}
	if (!str_to_u64(s, &n))
		return false;
	f->status_from = f->status_to = (uint16_t)n;
	return true;
}

static bool
is_any(const struct capture_filter *f)
{
	return f->text.n + f->type.n + f->host.n == 0 &&
	    f->status_from == 0 && f->status_to == UINT16_MAX &&
	    f->digest.kind == DIGEST_NONE && f->links_to.n == 0 &&
	    f->order == PAGES_OLDEST;
}

bool
capture_filter_eq(
    const struct capture_filter *a, const struct capture_filter *b)
{
	return str_eq(a->text, b->text) && str_eq(a->type, b->type) &&
	    str_eq(a->host, b->host) && a->status_from == b->status_from &&
	    a->status_to == b->status_to && a->order == b->order &&
	    str_eq(a->links_to, b->links_to) &&
	    digest_eq(&a->digest, &b->digest);
}

bool
capture_filter_takes(const struct capture_filter *f, struct str key,
    struct str value, struct journal_entry *e)
{
	return (f->digest.kind == DIGEST_NONE ||
	    journal_has_digest(value, &f->digest)) &&
	    journal_parse(key, value, e) &&
	    e->status >= f->status_from && e->status <= f->status_to &&
	    type_matches(f->type, e->type) &&
	    (f->host.n == 0 || str_eq_nocase(host_of(e->url), f->host)) &&
	    (holds(e->url, f->text) || holds(e->title, f->text));
}

/* --- the answer --------------------------------------------------------- */

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

void
capture_list_keep(struct captures_query *q, const struct journal_entry *e)
{
	if (q->n < q->size)
		copy_entry(&q->arena, e, &q->pages[q->n++]);
}

void
capture_list_end(struct captures_query *q)
{
	arena_free(&q->copies);
	q->done(q);
}

void
capture_list_fail(struct read_tasks *t, struct captures_query *q,
    const struct why *w)
{
	q->why = *w;
	q->n = 0;
	q->ended = true;
	read_task_put(t, &q->task);
}

/* --- one seek, on the pool ---------------------------------------------- */

/* Numbers have no gaps then: what is passed over need not be seen. */
static void
read_run(struct captures_query *q)
{
	bool newest = q->order == PAGES_NEWEST;
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(q->task.reader->index,
	    INDEX_JOURNAL);
	FREED(buf_free) struct buf from = BUF_INIT;
	struct journal_entry e;
	struct str key, value;

	journal_key(q->crawl, newest ? q->total - q->start : q->start + 1,
	    &from);
	if (newest)
		index_iter_seek_last(i, buf_str(&from));
	else
		index_iter_seek(i, buf_str(&from));
	for (size_t n = 0; n < q->size && index_iter_valid(i, &key, &value) &&
	    journal_parse(key, value, &e) && e.crawl == q->crawl &&
	    e.seq < JOURNAL_FAILED; n++) {
		capture_list_keep(q, &e);
		if (newest)
			index_iter_prev(i);
		else
			index_iter_next(i);
	}
	/* The answer is in q->why. */
	(void)!index_iter_error(i, &q->why);
}

static void
listing_run(struct read_task *task)
{
	struct captures_query *q = CONTAINER(task, struct captures_query, task);

	if (!q->ended)
		read_run(q);
}

static void
listing_came(struct read_task *task)
{
	capture_list_end(CONTAINER(task, struct captures_query, task));
}

/* --- asking ------------------------------------------------------------- */

static enum err
prepare(struct captures_query *q, const struct crawl_row *row, struct why *w)
{
	struct capture_filter *f = &q->filter;
	bool by_number = q->order == PAGES_OLDEST || q->order == PAGES_NEWEST;

	if (row == NULL || row->deleted)
		return why(w, ERR_ABSENT, "crawl %u is gone", q->crawl);
	if (!parse_status(q->status, f))
		return why(w, ERR_INPUT, "status: neither \"404\" nor "
		    "\"4xx\"");
	if (q->size > SIZE_MAX_PAGES)
		return why(w, ERR_INPUT, "size: at most %u", SIZE_MAX_PAGES);
	if (!by_number && q->start > RANKED_MAX)
		return why(w, ERR_INPUT, "start: at most %u in this order",
		    RANKED_MAX);
	f->text = arena_copy(&q->copies, q->text);
	f->type = arena_copy(&q->copies, q->type);
	f->host = arena_copy(&q->copies, q->host);
	f->links_to = arena_copy(&q->copies, q->links_to);
	f->digest = q->digest;
	f->order = by_number ? PAGES_OLDEST : q->order;
	q->upto = row->view.item_last;
	q->until = q->wait_ms == 0 ? MONO_NEVER :
	    mono_add_ms(clock_mono(), q->wait_ms);
	return OK;
}

void
catalog_captures(struct catalog *c, struct captures_query *q)
{
	const struct crawl_row *row = crawl_row(c->options.registry, q->crawl);

	*q = (struct captures_query){ .crawl = q->crawl, .start = q->start,
	    .size = q->size, .text = q->text, .status = q->status,
	    .type = q->type, .host = q->host, .digest = q->digest,
	    .links_to = q->links_to, .order = q->order,
	    .wait_ms = q->wait_ms, .left = q->left, .done = q->done,
	    .arg = q->arg, .task.run = listing_run,
	    .task.done = listing_came };
	list_init(&q->node);
	enum err e = prepare(q, row, &q->why);
	q->pages = ARENA_ARRAY(&q->arena, struct journal_entry, MIN(q->size,
	    SIZE_MAX_PAGES));
	if (e != OK) {
		q->ended = true;
		read_task_put(c->tasks, &q->task);
	} else if (!is_any(&q->filter) ||
	    row->view.item_last != row->view.counts.items) {
		journal_scan_put(c->scans, q);
	} else {
		q->total = q->looked = row->view.counts.items;
		q->ended = q->start >= q->total;
		read_task_put(c->tasks, &q->task);
	}
}
