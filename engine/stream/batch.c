/*
 * Reading for the stream, on the pool's threads: journal, WARC record, body.
 */
#include "engine/stream/cache.h"
#include "os/file.h"
#include "os/log.h"

struct record_reader *
record_reader_new(struct index *index)
{
	struct record_reader *r = mem_new(sizeof(*r));

	r->index = index;
	r->own = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	r->source = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	for (size_t i = 0; i < STREAM_READER_FILES; i++)
		r->files[i].fd = -1;
	return r;
}

static void
close_file(struct stream_file *f)
{
	if (f->fd >= 0)
		file_close(&f->fd);
	f->fd = -1;
}

void
record_reader_free(struct record_reader **rp)
{
	struct record_reader *r = *rp;

	if (r == NULL)
		return;
	capture_reader_free(&r->own);
	capture_reader_free(&r->source);
	for (size_t i = 0; i < STREAM_READER_FILES; i++)
		close_file(&r->files[i]);
	buf_free(&r->body);
	buf_free(&r->text);
	buf_free(&r->key);
	arena_free(&r->heads);
	mem_free(rp);
}

bool
record_reader_rest(struct record_reader *r)
{
	bool any = r->body.cap + r->text.cap + r->key.cap > 0;

	for (size_t i = 0; i < STREAM_READER_FILES; i++) {
		any |= r->files[i].fd >= 0;
		if (r->files[i].used == 0)
			close_file(&r->files[i]);
		r->files[i].used = 0;
	}
	r->tick = 0;
	buf_free(&r->body);
	buf_free(&r->text);
	buf_free(&r->key);
	arena_free(&r->heads);
	return any;
}

/* --- files -------------------------------------------------------------- */

enum err
record_reader_file(struct record_reader *r, uint32_t id, int *fd, struct why *w)
{
	struct stream_file *oldest = &r->files[0];

	for (size_t i = 0; i < STREAM_READER_FILES; i++) {
		struct stream_file *f = &r->files[i];
		if (f->fd >= 0 && f->id == id) {
			f->used = ++r->tick;
			*fd = f->fd;
			return OK;
		}
		if (oldest->fd >= 0 && (f->fd < 0 || f->used < oldest->used))
			oldest = f;
	}
	close_file(oldest);
	enum err e = ledger_warc_open(r->index, id, &oldest->fd, w);
	if (e != OK)
		return e;
	oldest->id = id;
	oldest->used = ++r->tick;
	*fd = oldest->fd;
	return OK;
}

/* --- one capture -------------------------------------------------------- */

static enum err
read_at(struct record_reader *r, struct capture_reader *c, uint32_t file,
    uint64_t offset, uint32_t clen, uint32_t ulen, struct capture *out,
    struct why *w)
{
	int fd;
	enum err e = record_reader_file(r, file, &fd, w);

	return e != OK ? e :
	    capture_read(c, fd, offset, clen, ulen, out, w);
}

static enum err
read_heads(struct record_reader *r, const struct journal_entry *e,
    struct capture *out, struct why *w)
{
	int fd;
	enum err err = record_reader_file(r, e->file, &fd, w);

	/* Some entries do not know where their body begins. */
	if (err == OK && e->body_at != 0)
		return capture_read_heads(r->own, fd, e->offset, e->clen,
		    e->body_at, out, w);
	return err != OK ? err : capture_read(r->own, fd, e->offset, e->clen,
	    e->ulen, out, w);
}

/* A revisit for an answer of 304 has no body; others have their original's. */
enum err
record_reader_read(struct record_reader *r, const struct journal_entry *e,
    struct capture *c, struct why *w)
{
	struct capture source;

	enum err err = read_at(r, r->own, e->file, e->offset, e->clen,
	    e->ulen, c, w);
	if (err != OK || !(e->flags & JOURNAL_SOURCED))
		return err;
	err = read_at(r, r->source, e->source.file, e->source.offset,
	    e->source.clen, e->source.ulen, &source, w);
	c->body = err == OK ? source.body : STR_NONE;
	return err;
}

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

void
record_reader_capture(struct record_reader *r, const struct journal_entry *e,
    unsigned form, struct stream_capture *c)
{
	struct capture *record = &r->record;
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
		err = read_heads(r, e, record, &w);
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

enum err
record_reader_entry(struct record_reader *r, uint32_t crawl, uint64_t number,
    struct arena *a, struct journal_entry *out, struct why *w)
{
	struct buf key = BUF_INIT;
	struct why inner = WHY_INIT;
	struct str value;

	journal_key(crawl, number, &key);
	enum err e = index_get(r->index, INDEX_JOURNAL, buf_str(&key), a,
	    &value, &inner);
	if (e == ERR_ABSENT)
		why(w, e, "crawl %u has no page %llu", crawl,
		    (unsigned long long)number);
	else if (e != OK)
		why(w, e, "%s", inner.text);
	else if (!journal_parse(buf_str(&key), value, out))
		e = why(w, ERR_CORRUPT, "the entry of page %llu is damaged",
		    (unsigned long long)number);
	buf_free(&key);
	return e;
}

/* --- a batch ------------------------------------------------------------ */

/* The reader's `items` have the lengths of the texts, which stand in its `text`
 * one behind the other. */
static void
gather(struct batch_task *t, const struct stream_capture *c)
{
	struct record_reader *r = t->task.reader;
	size_t before = r->text.n;

	t->render(c, &r->text);
	r->items[t->n++] = (struct stream_item){ .number = c->entry->seq,
	    .text = { NULL, r->text.n - before }, .big = c->big };
}

static void
gather_stored(struct batch_task *t, const struct journal_entry *e)
{
	struct stream_capture c = { .mark = t->mark };

	record_reader_capture(t->task.reader, e, t->form, &c);
	gather(t, &c);
}

/* As the journal and the record will have it. */
static void
gather_fresh(struct batch_task *t, const struct handoff *x)
{
	struct record_reader *r = t->task.reader;
	struct journal_entry e;

	buf_clear(&r->key);
	journal_key(x->crawl, x->number, &r->key);
	size_t key = r->key.n;
	journal_put(x->file, x->offset, x->rest, &r->key);
	if (x->near_duplicate)
		journal_flag_near(r->key.p + key);
	CHECK(journal_parse(str_cut(buf_str(&r->key), 0, key),
	    str_from(buf_str(&r->key), key), &e));
	arena_reset(&r->heads);
	capture_of_answer(x->head, x->body, &r->heads, &r->record);
	struct stream_capture c = {
		.entry = &e, .has_record = true, .record = &r->record,
		.body_length = journal_body_length(&e), .form = t->form,
		.big = (t->form & STREAM_BODY) && e.decoded > STREAM_BIG_BYTES,
		.mark = t->mark,
	};
	if (t->form & STREAM_BODY)
		c.big |= has_large_head(&c);
	if ((t->form & STREAM_BODY) && !c.big)
		c.body = x->body;
	gather(t, &c);
	t->fresh_used++;
}

static bool
is_full(const struct batch_task *t)
{
	return t->task.reader->text.n >= STREAM_BATCH_BYTES ||
	    t->n == STREAM_BATCH_ITEMS;
}

/* It takes the reader's text. */
static struct batch *
make_batch(const struct batch_task *t)
{
	struct record_reader *r = t->task.reader;
	size_t items = t->n * sizeof(r->items[0]);
	struct batch *b = mem_resize(NULL, 1, sizeof(*b) + items);

	memset(b, 0, sizeof(*b));
	memcpy(b->items, r->items, items);
	b->bytes = sizeof(*b) + items + r->text.n;
	char *at = b->texts = mem_resize(r->text.p, 1, MAX(r->text.n, 1));
	r->text = BUF_INIT;
	for (size_t i = 0; i < t->n; i++) {
		b->items[i].text.p = at;
		at += b->items[i].text.n;
	}
	b->shown = (struct stream_batch){ .items = b->items, .n = t->n,
	    .own = b };
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

/* The stored ones from `from` to `to`. */
static enum err
walk(struct batch_task *t, struct index_iter *i, uint64_t from, uint64_t to)
{
	struct record_reader *r = t->task.reader;
	struct journal_entry e;
	struct str key, value;

	buf_clear(&r->key);
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

/* Fresh ones, and what is between them. */
static enum err
collect(struct batch_task *t)
{
	struct index_iter *i = NULL;
	uint64_t at = t->from;
	enum err e = OK;

	for (size_t k = 0; e == OK && at <= t->to && !is_full(t);) {
		struct handoff *x = k < t->fresh_n ? t->fresh[k] : NULL;
		if (x != NULL && x->number == at) {
			gather_fresh(t, x);
			at++, k++;
			continue;
		}
		uint64_t to = x == NULL ? t->to : x->number - 1;
		if (i == NULL)
			i = index_iter_new(t->task.reader->index,
			    INDEX_JOURNAL);
		e = walk(t, i, at, to);
		at = to + 1;
	}
	index_iter_free(&i);
	return e;
}

/* For the texts of the fresh ones, about. */
static size_t
room_for(const struct batch_task *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->fresh_n && n < STREAM_BATCH_BYTES; i++) {
		const struct handoff *x = t->fresh[i];
		n += 2 * (x->rest.n + x->head.n) +
		    (t->form & STREAM_BODY ? x->body.n * 3 / 2 : 0);
	}
	return MIN(n, STREAM_BATCH_BYTES);
}

void
batch_task_run(struct read_task *task)
{
	struct batch_task *t = CONTAINER(task, struct batch_task, task);

	t->n = t->fresh_used = 0;
	buf_clear(&task->reader->text);
	buf_reserve(&task->reader->text, room_for(t));
	t->why.err = collect(t);
	t->more = is_full(t);
	if (t->n > 0)
		t->batch = make_batch(t);
}
