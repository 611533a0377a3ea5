/*
 * Makes batches, on the pool's threads: the journal's entries and the records
 * of captures become texts, one for each capture.
 */
#include "engine/stream/batch.h"

#include "engine/ledger/ledger.h"
#include "os/log.h"

/* A capture with a larger body is handed over without it. */
_Static_assert(STREAM_BIG_BYTES == HANDOFF_BODY_BYTES, "big bodies");

/* --- one capture -------------------------------------------------------- */

static bool
is_coded(const struct http_head *h)
{
	return http_find(h, STR("Content-Encoding")).n != 0 ||
	    http_find(h, STR("Transfer-Encoding")).n != 0;
}

static void
decode(struct record_reader *r, const struct journal_entry *e,
    struct stream_capture *c)
{
	const struct capture *record = c->record;
	struct http_decode_limits limits = { e->flags & JOURNAL_SIZED ?
	    e->decoded : STREAM_BIG_BYTES, UINT32_MAX };
	enum http_damage d = HTTP_FINE;

	if (!record->has_http || !is_coded(&record->http)) {
		c->body = str_cut(record->body, 0, (size_t)limits.bytes_max);
		if (c->body.n < record->body.n)
			d = HTTP_TOO_LONG;
	} else if (record->body.n > 0) {
		buf_clear(&r->body);
		d = capture_decode(record, limits, &r->body);
		c->body = str_cut(buf_str(&r->body), 0,
		    (size_t)limits.bytes_max);
	}
	if (e->flags & JOURNAL_SIZED) {
		c->body_damaged = c->body.n < e->decoded;
	} else if (d == HTTP_TOO_LONG) {
		c->big = true;
		c->body = STR_NONE;
	} else {
		c->body_damaged = http_damage_cuts(d);
		c->body_length = c->body.n;
	}
}

/* Its text would be larger than that of the largest body may make one. */
static bool
has_large_head(const struct stream_capture *c)
{
	const struct http_head *h = &c->record->http;

	return (c->record->has_http ? h->n : 0) + c->entry->url.n +
	    c->entry->final_url.n > STREAM_HEAD_BYTES;
}

/*
 * Fill `c` for the entry; the body is read when the form has it.  What cannot
 * be read is noted in `c`: it is an item all the same.  Memory: `record`, and
 * the reader's until its next call.
 */
static void
read_capture(struct record_reader *r, const struct journal_entry *e,
    unsigned form, struct capture *record, struct stream_capture *c)
{
	struct why w = WHY_INIT;
	bool wanted = form & STREAM_BODY;
	enum err err;

	c->entry = e;
	c->record = record;
	c->form = form;
	c->body_length = journal_body_length(e);
	c->body = STR_NONE;
	c->big = wanted && (e->flags & JOURNAL_SIZED) &&
	    e->decoded > STREAM_BIG_BYTES;
	c->has_record = c->body_damaged = false;
	if (e->file == 0)
		return;
	if (wanted && !c->big)
		err = record_reader_read(r, e, record, &w);
	else
		err = record_reader_heads(r, e, record, &w);
	c->has_record = err == OK;
	c->body_damaged = err != OK && wanted;
	if (err != OK)
		log_warn("feed.unreadable", "crawl=%u item=%llu error=\"%s\"",
		    e->crawl, (unsigned long long)e->seq, w.text);
	else if (wanted && has_large_head(c))
		c->big = true;
	else if (wanted && !c->big)
		decode(r, e, c);
}

/* --- a batch ------------------------------------------------------------ */

/*
 * The texts go into the reader's `text`, one after the other, and the items
 * into its `rows`; an item has the length of its text until all are there.
 */
static void
gather(struct batch_task *t, const struct stream_capture *c)
{
	struct record_reader *r = t->task.reader;
	size_t before = r->text.n;

	t->render(c, &r->text);
	struct stream_item item = { .number = c->entry->seq,
	    .text = { NULL, r->text.n - before }, .big = c->big };
	buf_put(&r->rows, &item, sizeof(item));
	t->n++;
}

static void
gather_stored(struct batch_task *t, const struct journal_entry *e)
{
	struct stream_capture c = { .mark = t->mark };
	struct capture record;

	read_capture(t->task.reader, e, t->form, &record, &c);
	gather(t, &c);
}

/* As the journal and the record will have it. */
static void
gather_handoff(struct batch_task *t, const struct handoff *x)
{
	struct record_reader *r = t->task.reader;
	struct capture record;
	struct journal_entry e;

	journal_key(x->crawl, x->number, &r->key);
	size_t key = r->key.n;
	journal_put(x->file, x->offset, x->rest, &r->key);
	if (x->near_duplicate)
		journal_flag_near(r->key.p + key);
	CHECK(journal_parse(str_cut(buf_str(&r->key), 0, key),
	    str_from(buf_str(&r->key), key), &e));
	arena_reset(&r->heads);
	capture_of_answer(x->head, x->body, &r->heads, &record);
	struct stream_capture c = {
		.entry = &e, .has_record = true, .record = &record,
		.body_length = journal_body_length(&e), .form = t->form,
		.big = (t->form & STREAM_BODY) && e.decoded > STREAM_BIG_BYTES,
		.mark = t->mark,
	};
	if (t->form & STREAM_BODY)
		c.big |= has_large_head(&c);
	if ((t->form & STREAM_BODY) && !c.big)
		c.body = x->body;
	gather(t, &c);
	t->handed_over++;
}

static bool
is_full(const struct batch_task *t)
{
	return t->task.reader->text.n >= STREAM_BATCH_BYTES ||
	    t->n == BATCH_ITEMS_MAX;
}

/* It takes the reader's text. */
static struct batch *
make_batch(const struct batch_task *t)
{
	struct record_reader *r = t->task.reader;
	size_t items = t->n * sizeof(struct stream_item);
	struct batch *b = mem_resize(NULL, 1, sizeof(*b) + items);

	memset(b, 0, sizeof(*b));
	memcpy(b->items, r->rows.p, items);
	b->bytes = sizeof(*b) + items + r->text.n;
	char *at = b->texts = mem_resize(r->text.p, 1, MAX(r->text.n, 1));
	r->text = BUF_INIT;
	for (size_t i = 0; i < t->n; i++) {
		b->items[i].text.p = at;
		at += b->items[i].text.n;
	}
	b->shown = (struct stream_batch){ .items = b->items, .n = t->n };
	b->form = t->form;
	b->first = t->from;
	b->last = b->items[t->n - 1].number;
	b->more = t->more;
	return b;
}

void
batch_free(struct batch **bp)
{
	if (*bp == NULL)
		return;
	mem_free(&(*bp)->texts);
	mem_free(bp);
}

/* Those in the archive from number `from` to `to`. */
static enum err
gather_range(struct batch_task *t, struct index_iter *i, uint64_t from,
    uint64_t to)
{
	struct record_reader *r = t->task.reader;
	struct journal_entry e;
	struct str key, value;

	journal_key(t->crawl, from, &r->key);
	index_iter_seek(i, buf_str(&r->key));
	for (; !is_full(t) && index_iter_valid(i, &key, &value);
	    index_iter_next(i)) {
		bool whole = journal_parse(key, value, &e);
		if (e.crawl != t->crawl || e.seq > to)
			break;
		if (whole)
			gather_stored(t, &e);
		else
			log_warn("feed.unreadable", "crawl=%u item=%llu "
			    "error=\"its entry is damaged\"", e.crawl,
			    (unsigned long long)e.seq);
	}
	return index_iter_error(i, &t->why);
}

/* Those that were handed over, and what is between them. */
static enum err
collect(struct batch_task *t)
{
	FREED(index_iter_free) struct index_iter *i = NULL;
	uint64_t at = t->from;
	enum err e = OK;

	for (size_t k = 0; e == OK && at <= t->to && !is_full(t);) {
		struct handoff *x =
		    k < t->handoffs.n ? t->handoffs.at[k] : NULL;
		if (x != NULL && x->number == at) {
			gather_handoff(t, x);
			at++, k++;
			continue;
		}
		uint64_t to = x == NULL ? t->to : x->number - 1;
		if (i == NULL)
			i = index_iter_new(t->task.reader->index,
			    INDEX_JOURNAL);
		e = gather_range(t, i, at, to);
		at = to + 1;
	}
	return e;
}

/* For the texts of those that were handed over, about. */
static size_t
room_for(const struct batch_task *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->handoffs.n && n < STREAM_BATCH_BYTES; i++) {
		const struct handoff *x = t->handoffs.at[i];
		n += 2 * (x->rest.n + x->head.n) +
		    (t->form & STREAM_BODY ? x->body.n * 3 / 2 : 0);
	}
	return MIN(n, STREAM_BATCH_BYTES);
}

void
batch_task_run(struct read_task *task)
{
	struct batch_task *t = CONTAINER(task, struct batch_task, task);

	t->n = t->handed_over = 0;
	buf_clear(&task->reader->text);
	buf_clear(&task->reader->rows);
	buf_reserve(&task->reader->text, room_for(t));
	t->why.err = collect(t);
	t->more = is_full(t);
	if (t->n > 0)
		t->batch = make_batch(t);
}
