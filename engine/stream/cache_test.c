#include "engine/stream/stream_testing.h"

#include "base/hash.h"
#include "os/file_fake.h"
#include "tests/rounds.h"

#define HEADS(lines) STR("HTTP/1.1 200 OK\r\n" lines "\r\n")

/* "7 200 len=5 [a: 1|b: 2] hello", with what is odd behind the length. */
static void
render(const struct stream_capture *c, struct buf *out)
{
	buf_printf(out, "%llu %u len=%llu%s%s%s [",
	    (unsigned long long)c->entry->seq, c->entry->status,
	    (unsigned long long)c->body_length, c->big ? " big" : "",
	    c->body_damaged ? " damaged" : "",
	    c->has_record ? "" : " none");
	for (size_t i = 0; c->has_record && i < c->record->http.fields_n; i++)
		buf_printf(out, "%s%.*s: %.*s", i > 0 ? "|" : "",
		    STR_FMT(c->record->http.fields[i].name),
		    STR_FMT(c->record->http.fields[i].value));
	buf_printf(out, "]");
	if ((c->form & STREAM_BODY) && !c->big) {
		buf_put_text(out, " ");
		buf_put_str(out, c->body);
	}
	assert_string_equal(c->mark, RIG_MARK);
}

static struct rig rig;

static struct rig *
open_rig(void)
{
	stream_rig_init(&rig, render, 0);
	rig_open(&rig);
	return &rig;
}

/* --- what is read ------------------------------------------------------- */

static void
test_forms(void **state)
{
	struct rig *r = open_rig();

	(void)state;
	rig_page(r, &(struct rig_page){ .url = "http://a.example/",
	    .head = HEADS("A: 1\r\nB: two\r\n"), .body = STR("hello") });
	rig_show(r);
	rig_expect(r, 1, STREAM_BODY, "1 200 len=5 [A: 1|B: two] hello");
	rig_expect(r, 1, 0, "1 200 len=5 [A: 1|B: two]");
	rig_expect(r, 1, STREAM_LIST_HEADERS, "1 200 len=5 [A: 1|B: two]");
	rig_expect(r, 1, STREAM_BODY | STREAM_LIST_HEADERS,
	    "1 200 len=5 [A: 1|B: two] hello");
	rig_end(r);
}

static void
render_url(const struct stream_capture *c, struct buf *out)
{
	buf_put_str(out, c->entry->url);
	buf_put_text(out, c->form & STREAM_BODY ? " whole" : " heads");
}

/* Each door has its own texts of the same item, whoever came first. */
static void
test_renderers(void **state)
{
	struct rig *r = open_rig();
	unsigned other = stream_use(r->stream, render_url);

	(void)state;
	assert_int_equal(stream_use(r->stream, render), 0);
	assert_int_equal(stream_use(r->stream, render_url), other);
	rig_page(r, &(struct rig_page){ .url = "http://a.example/",
	    .head = HEADS("A: 1\r\n"), .body = STR("hello") });
	rig_show(r);
	for (int i = 0; i < 2; i++) {
		rig_expect(r, 1, other, "http://a.example/ heads");
		rig_expect(r, 1, 0, "1 200 len=5 [A: 1]");
		rig_expect(r, 1, other | STREAM_BODY,
		    "http://a.example/ whole");
		rig_expect(r, 1, STREAM_BODY, "1 200 len=5 [A: 1] hello");
	}
	rig_end(r);
}

/* Lengths are those of the decoded body, whether it is read or not. */
static void
test_codings(void **state)
{
	struct rig *r = open_rig();
	struct str packed = rig_gzip(r, STR("a body that was packed"));

	(void)state;
	rig_page(r, &(struct rig_page){ .url = "http://a.example/1",
	    .head = HEADS("Content-Encoding: gzip\r\n"), .body = packed });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/2",
	    .head = HEADS("Transfer-Encoding: chunked\r\n"),
	    .body = STR("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n") });
	/* Half of it: what there was, and it is no new damage. */
	rig_page(r, &(struct rig_page){ .url = "http://a.example/3",
	    .head = HEADS("Transfer-Encoding: chunked\r\n"),
	    .body = STR("3\r\nabc\r\n20\r\nde") });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/4" });
	/* Not coded as its head says. */
	rig_page(r, &(struct rig_page){ .url = "http://a.example/5",
	    .head = HEADS("Content-Encoding: gzip\r\n"),
	    .body = STR("plain") });
	rig_show(r);
	rig_expect(r, 1, STREAM_BODY, "1 200 len=22 [Content-Encoding: gzip] "
	    "a body that was packed");
	rig_expect(r, 1, 0, "1 200 len=22 [Content-Encoding: gzip]");
	rig_expect(r, 2, STREAM_BODY,
	    "2 200 len=5 [Transfer-Encoding: chunked] abcde");
	rig_expect(r, 2, 0, "2 200 len=5 [Transfer-Encoding: chunked]");
	rig_expect(r, 3, STREAM_BODY,
	    "3 200 len=5 [Transfer-Encoding: chunked] abcde");
	assert_true(rig_entry(r, 3).flags & JOURNAL_DAMAGED);
	rig_expect(r, 4, STREAM_BODY, "4 200 len=0 [Content-Type: text/html] ");
	rig_expect(r, 5, STREAM_BODY,
	    "5 200 len=5 [Content-Encoding: gzip] plain");
	rig_end(r);
}

/* A revisit has heads of its own and the body of its original. */
static void
test_revisits(void **state)
{
	struct rig *r = open_rig();

	(void)state;
	rig_page(r, &(struct rig_page){ .url = "http://a.example/1",
	    .head = HEADS("X: first\r\n"), .body = STR("the same") });
	rig_show(r);
	rig_page(r, &(struct rig_page){ .url = "http://a.example/2",
	    .head = HEADS("X: second\r\n"), .body = STR("the same"),
	    .same_as = 1 });
	/* An answer of 304 has none. */
	rig_page(r, &(struct rig_page){ .url = "http://a.example/3",
	    .head = STR("HTTP/1.1 304 Not Modified\r\nX: 304\r\n\r\n"),
	    .status = 304, .flags = JOURNAL_REVISIT });
	rig_show(r);
	rig_expect(r, 2, STREAM_BODY, "2 200 len=8 [X: second] the same");
	rig_expect(r, 2, 0, "2 200 len=8 [X: second]");
	rig_expect(r, 3, STREAM_BODY, "3 304 len=0 [X: 304] ");
	rig_end(r);
}

/* Entries that earlier versions wrote know neither length nor original. */
static void
test_old_entries(void **state)
{
	struct rig *r = open_rig();
	struct str big = rig_bytes(r, STREAM_BIG_BYTES + 1, 1);
	struct str packed = rig_gzip(r, STR("a body that was packed"));

	(void)state;
	rig_page(r, &(struct rig_page){ .url = "http://a.example/1",
	    .head = HEADS("A: 1\r\n"), .body = STR("hello"), .old = true });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/2",
	    .head = HEADS("Content-Encoding: gzip\r\n"), .body = packed,
	    .old = true });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/3",
	    .head = HEADS("A: 3\r\n"), .body = big, .old = true });
	rig_show(r);
	rig_expect(r, 1, STREAM_BODY, "1 200 len=5 [A: 1] hello");
	rig_expect(r, 1, 0, "1 200 len=5 [A: 1]");
	rig_expect(r, 2, STREAM_BODY, "2 200 len=22 [Content-Encoding: gzip] "
	    "a body that was packed");
	rig_expect(r, 3, STREAM_BODY, "3 200 len=262145 big [A: 3]");
	rig_end(r);
}

static void
test_big(void **state)
{
	struct rig *r = open_rig();
	struct rig_want w;

	(void)state;
	rig_page(r, &(struct rig_page){ .url = "http://a.example/1",
	    .head = HEADS("A: 1\r\n"),
	    .body = rig_bytes(r, STREAM_BIG_BYTES + 1, 1) });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/2",
	    .head = HEADS("A: 2\r\n"),
	    .body = rig_bytes(r, STREAM_BIG_BYTES, 2) });
	rig_show(r);
	rig_expect(r, 1, STREAM_BODY, "1 200 len=262145 big [A: 1]");
	/* Without bodies no item is big: there is nothing to stream. */
	rig_expect(r, 1, 0, "1 200 len=262145 [A: 1]");
	rig_want(r, &w, RIG_CRAWL, 1, STREAM_BODY);
	rig_run(r);
	assert_true(w.want.batch->items[0].big);
	stream_give_back(r->stream, &w.want.batch);
	struct str s = rig_text(r, 2, STREAM_BODY);
	assert_true(str_starts(s, STR("2 200 len=262144 [A: 2] ")));
	assert_true(str_ends(s, rig_bytes(r, STREAM_BIG_BYTES, 2)));
	rig_end(r);
}

/* Heads count as well: what is told at once is bounded with them. */
static void
test_large_heads(void **state)
{
	struct rig *r = open_rig();
	struct buf head = BUF_INIT, want = BUF_INIT;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		buf_clear(&head);
		buf_put_text(&head, "HTTP/1.1 200 OK\r\nX: ");
		while (head.n < STREAM_HEAD_BYTES - 4 - 18 + more)
			buf_put_char(&head, 'x');
		buf_put_text(&head, "\r\n\r\n");
		rig_page(r, &(struct rig_page){ .url = "http://a.example/1",
		    .head = buf_str(&head), .body = STR("hello") });
		rig_show(r);
		buf_clear(&want);
		buf_printf(&want, "%zu 200 len=5%s [%.*s]%s", more + 1,
		    more > 0 ? " big" : "", (int)head.n - 21, head.p + 17,
		    more > 0 ? "" : " hello");
		rig_expect(r, more + 1, STREAM_BODY, buf_text(&want));
	}
	buf_free(&head);
	buf_free(&want);
	rig_end(r);
}

/* What is not archived, or not whole any more, is an item none the less. */
static void
test_missing(void **state)
{
	struct rig *r = open_rig();
	struct why w = WHY_INIT;
	struct str path;
	int fd;

	(void)state;
	rig_page(r, &(struct rig_page){ .url = "http://a.example/1",
	    .body = STR("nowhere"), .unarchived = true });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/2",
	    .head = HEADS("A: 2\r\n"), .body = STR("damaged") });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/3",
	    .head = HEADS("A: 3\r\n"), .body = STR("whole") });
	rig_show(r);
	struct journal_entry e = rig_entry(r, 2);
	assert_int_equal(ledger_warc_path(ledger_index(r->ledger), e.file,
	    &r->arena, &path, &w), OK);
	assert_int_equal(file_open(path.p, FILE_WRITE, &fd, &w), OK);
	assert_int_equal(file_write(fd, e.offset + 60, "damage damage", 13,
	    &w), OK);
	file_close(&fd);
	rig_expect(r, 1, STREAM_BODY, "1 200 len=7 none [] ");
	rig_expect(r, 2, STREAM_BODY, "2 200 len=7 damaged none [] ");
	rig_expect(r, 2, 0, "2 200 len=7 none []");
	rig_expect(r, 3, STREAM_BODY, "3 200 len=5 [A: 3] whole");
	rig_end(r);
}

/* Files that end, and get another name, while their pages are read. */
static void
test_many_files(void **state)
{
	struct rig *r = open_rig();
	char url[64];

	(void)state;
	rig_end(r);
	stream_rig_init(r, render, 0);
	r->rollover_bytes = 4000;
	rig_open(r);
	for (int i = 1; i <= 200; i++) {
		snprintf(url, sizeof(url), "http://a.example/%d", i);
		rig_page(r, &(struct rig_page){ .url = url,
		    .body = rig_bytes(r, 500, (uint64_t)i) });
		rig_show(r);
		struct str s = rig_text(r, (uint64_t)i, STREAM_BODY);
		assert_true(str_ends(s, rig_bytes(r, 500, (uint64_t)i)));
	}
	assert_true(rig_entry(r, 200).file > 20);
	for (uint64_t i = 1; i <= 200; i += 7) {
		struct str s =
		    rig_text(r, i, STREAM_BODY | STREAM_LIST_HEADERS);
		assert_true(str_ends(s, rig_bytes(r, 500, i)));
	}
	rig_pass(r, 60000);
	rig_expect(r, 1, 0, "1 200 len=500 [Content-Type: text/html]");
	rig_end(r);
}

/* --- who is told what --------------------------------------------------- */

static void
put_pages(struct rig *r, unsigned n, size_t bytes)
{
	char url[64];

	for (unsigned i = 0; i < n; i++) {
		snprintf(url, sizeof(url), "http://a.example/%llu",
		    (unsigned long long)r->seq + 1);
		rig_page(r, &(struct rig_page){ .url = url,
		    .body = rig_bytes(r, bytes, r->seq + 1) });
	}
}

/* Of the end there is nothing yet; of no crawl there is nothing at all. */
static void
test_ends(void **state)
{
	struct rig *r = open_rig();
	struct rig_want w;

	(void)state;
	rig_want(r, &w, RIG_CRAWL, 0, STREAM_BODY);
	assert_int_equal(w.told, 1);
	assert_null(w.want.batch);
	assert_int_equal(w.want.why.err, OK);
	put_pages(r, 2, 10);
	/* Written, and not shown: not yet there. */
	rig_want(r, &w, RIG_CRAWL, 1, STREAM_BODY);
	assert_null(w.want.batch);
	rig_show(r);
	rig_want(r, &w, RIG_CRAWL, 0, STREAM_BODY);
	rig_run(r);
	assert_int_equal(w.want.batch->n, 2);
	assert_int_equal(w.want.at, 0);
	stream_give_back(r->stream, &w.want.batch);
	rig_want(r, &w, RIG_CRAWL, 3, STREAM_BODY);
	assert_int_equal(w.told, 1);
	assert_null(w.want.batch);
	assert_int_equal(w.want.why.err, OK);
	rig_want(r, &w, 99, 1, STREAM_BODY);
	assert_int_equal(w.told, 1);
	assert_int_equal(w.want.why.err, ERR_ABSENT);
	rig_end(r);
}

/* A hundred readers of one place: one reading, and one batch. */
static void
test_sharing(void **state)
{
	struct rig *r = open_rig();
	struct rig_want *w = mem_array(100, sizeof(*w));

	(void)state;
	put_pages(r, 20, 100);
	rig_show(r);
	for (int i = 0; i < 100; i++)
		rig_want(r, &w[i], RIG_CRAWL, 5, STREAM_BODY);
	rig_run(r);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(w[i].told, 1);
		assert_ptr_equal(w[i].want.batch, w[0].want.batch);
	}
	assert_int_equal(w[0].want.batch->users, 100);
	/* Who comes later has it at once, from wherever in it. */
	struct rig_want late;
	rig_want(r, &late, RIG_CRAWL, 9, STREAM_BODY);
	assert_int_equal(late.told, 1);
	assert_ptr_equal(late.want.batch, w[0].want.batch);
	assert_int_equal(late.want.at, 4);
	stream_give_back(r->stream, &late.want.batch);
	for (int i = 0; i < 100; i++)
		stream_give_back(r->stream, &w[i].want.batch);
	mem_free(&w);
	rig_end(r);
}

#define WALKS_STEP (SANITIZED ? 3 : 1)

/* From any place to the end: every number once, in order, batch by batch. */
static void
test_walks(void **state)
{
	static const unsigned forms[] = { STREAM_BODY, 0, STREAM_LIST_HEADERS };
	struct rig *r = open_rig();

	(void)state;
	put_pages(r, 400, 6000);
	rig_show(r);
	for (uint64_t from = 1; from < 400; from += 37 * WALKS_STEP)
		for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
			uint64_t next = from;
			while (next <= 400) {
				struct rig_want w;
				rig_want(r, &w, RIG_CRAWL, next, forms[f]);
				rig_run(r);
				struct stream_batch *b = w.want.batch;
				assert_non_null(b);
				for (size_t i = w.want.at; i < b->n; i++)
					assert_int_equal(b->items[i].number,
					    next++);
				stream_give_back(r->stream, &w.want.batch);
			}
			assert_int_equal(next, 401);
		}
	rig_end(r);
}

static void
test_gaps(void **state)
{
	struct rig *r = open_rig();
	struct rig_want w;

	(void)state;
	put_pages(r, 2, 10);
	for (int i = 0; i < 5; i++)
		rig_gap(r);
	put_pages(r, 2, 10);
	rig_show(r);
	for (uint64_t from = 3; from <= 8; from++) {
		rig_want(r, &w, RIG_CRAWL, from, STREAM_BODY);
		rig_run(r);
		assert_int_equal(w.want.batch->items[w.want.at].number, 8);
		stream_give_back(r->stream, &w.want.batch);
	}
	rig_expect(r, 9, 0, "9 200 len=10 [Content-Type: text/html]");
	rig_end(r);
}

/* Batches in hands fill the memory: others wait until one is given back. */
static void
test_memory(void **state)
{
	struct rig *r = &rig;
	struct rig_want w[20];
	unsigned had = 0;

	(void)state;
	stream_rig_init(r, render, (size_t)2 << 20);
	rig_open(r);
	put_pages(r, 1200, 8000);
	rig_show(r);
	for (unsigned i = 0; i < ARRAY_LEN(w); i++)
		rig_want(r, &w[i], RIG_CRAWL, 1 + 50 * i, STREAM_BODY);
	rig_run(r);
	for (unsigned i = 0; i < ARRAY_LEN(w); i++)
		had += w[i].told;
	assert_in_range(had, 4, 8);
	/* One at a time, as those who have one give it back. */
	for (unsigned rounds = 0; had < ARRAY_LEN(w); rounds++) {
		assert_true(rounds < 100);
		for (unsigned i = 0; i < ARRAY_LEN(w); i++)
			if (w[i].want.batch != NULL) {
				stream_give_back(r->stream, &w[i].want.batch);
				break;
			}
		rig_run(r);
		had = 0;
		for (unsigned i = 0; i < ARRAY_LEN(w); i++)
			had += w[i].told;
	}
	for (unsigned i = 0; i < ARRAY_LEN(w); i++) {
		assert_int_equal(w[i].told, 1);
		stream_give_back(r->stream, &w[i].want.batch);
	}
	rig_end(r);
}

/* Nobody is told who has taken his wish back, whenever he does. */
static void
test_cancel(void **state)
{
	struct rig *r = open_rig();
	struct rig_want w, other;

	(void)state;
	put_pages(r, 100, 6000);
	rig_show(r);
	for (int steps = 0; steps < 8; steps++) {
		uint64_t from = 1 + 10 * (uint64_t)steps;
		rig_want(r, &w, RIG_CRAWL, from, (unsigned)steps % 4);
		rig_want(r, &other, RIG_CRAWL, from, (unsigned)steps % 4);
		for (int i = 0; i < steps; i++)
			loop_step(r->loop);
		unsigned told = w.told;
		stream_cancel(r->stream, &w.want);
		stream_cancel(r->stream, &w.want);
		rig_run(r);
		assert_int_equal(w.told, told);
		assert_int_equal(other.told, 1);
		stream_give_back(r->stream, &w.want.batch);
		stream_give_back(r->stream, &other.want.batch);
	}
	rig_end(r);
}

static void
cancel_other(struct stream_request *w)
{
	stream_cancel(rig.stream, w->arg);
}

static void
never(struct stream_request *w)
{
	(void)w;
	fail_msg("it was taken back");
}

/* One who is told takes the wish of another back, which is answered too. */
static void
test_cancel_another(void **state)
{
	struct rig *r = open_rig();
	struct stream_request b = {
		.crawl = RIG_CRAWL, .from = 2, .ready = never
	};
	struct stream_request a = { .crawl = RIG_CRAWL, .from = 1,
	    .ready = cancel_other, .arg = &b };

	(void)state;
	put_pages(r, 10, 10);
	rig_show(r);
	assert_false(stream_request(r->stream, &a));
	assert_false(stream_request(r->stream, &b));
	rig_run(r);
	assert_non_null(a.batch);
	assert_int_equal(a.batch->users, 1);
	assert_false(b.out);
	stream_give_back(r->stream, &a.batch);
	rig_end(r);
}

/* A crawl that goes: who waits is told, who holds a batch may go on with it. */
static void
test_deleted(void **state)
{
	struct rig *r = open_rig();
	struct rig_want held, waits, late;

	(void)state;
	put_pages(r, 100, 6000);
	rig_show(r);
	rig_want(r, &held, RIG_CRAWL, 1, STREAM_BODY);
	rig_run(r);
	rig_want(r, &waits, RIG_CRAWL, 90, 0);
	assert_int_equal(waits.told, 0);
	crawl_registry_delete(r->registry, RIG_CRAWL);
	crawl_registry_notify(r->registry);
	assert_int_equal(waits.told, 1);
	assert_null(waits.want.batch);
	assert_int_equal(waits.want.why.err, ERR_ABSENT);
	rig_run(r);
	assert_true(str_starts(held.want.batch->items[0].text,
	    STR("1 200 ")));
	stream_give_back(r->stream, &held.want.batch);
	rig_want(r, &late, RIG_CRAWL, 1, STREAM_BODY);
	assert_int_equal(late.want.why.err, ERR_ABSENT);
	rig_end(r);
}

/* When the registry showed it: of what was there before, nothing is known. */
static void
test_dates(void **state)
{
	struct rig *r = open_rig();
	struct rig_want w;

	(void)state;
	put_pages(r, 3, 10);
	rig_show(r);
	rig_want(r, &w, RIG_CRAWL, 4, 0);
	put_pages(r, 2, 10);
	rig_show(r);
	put_pages(r, 1, 10);
	rig_show(r);
	rig_want(r, &w, RIG_CRAWL, 2, 0);
	rig_run(r);
	const struct stream_item *i = w.want.batch->items;
	assert_int_equal(w.want.batch->n, 5);
	assert_true(i[0].committed.us == 0 && i[1].committed.us == 0);
	assert_true(i[2].committed.us > 0);
	assert_true(i[2].committed.us == i[3].committed.us);
	assert_true(i[3].committed.us < i[4].committed.us);
	stream_give_back(r->stream, &w.want.batch);
	/* So many changes that the first is forgotten. */
	for (int k = 0; k < 100; k++) {
		put_pages(r, 1, 10);
		rig_show(r);
	}
	rig_want(r, &w, RIG_CRAWL, 7, 0);
	rig_run(r);
	assert_true(w.want.batch->items[0].committed.us == 0);
	assert_true(w.want.batch->items[w.want.batch->n - 1].committed.us > 0);
	stream_give_back(r->stream, &w.want.batch);
	rig_end(r);
}

/* --- anything, in any order --------------------------------------------- */

#define READERS 24

struct reader_model {
	struct rig_want w;
	uint64_t next;
	unsigned form;
	bool waits;
};

static void
check_batch(struct reader_model *m)
{
	struct stream_batch *b = m->w.want.batch;

	for (size_t i = m->w.want.at; i < b->n; i++) {
		char text[64];
		assert_int_equal(b->items[i].number, m->next);
		snprintf(text, sizeof(text), "%llu 200 len=",
		    (unsigned long long)m->next++);
		assert_true(str_starts(b->items[i].text, str_of(text)));
	}
}

static void
step_reader(struct rig *r, struct reader_model *m, uint64_t dice)
{
	if (m->waits && m->w.told == 1) {
		m->waits = false;
		if (m->w.want.batch != NULL)
			check_batch(m);
		else
			assert_true(m->w.want.why.err == OK);
	} else if (m->waits && dice % 11 == 0) {
		stream_cancel(r->stream, &m->w.want);
		m->waits = false;
	} else if (m->w.want.batch != NULL) {
		stream_give_back(r->stream, &m->w.want.batch);
	} else if (!m->waits) {
		if (dice % 13 == 0)
			m->next = 1 + dice / 64 % (r->view.item_last + 1);
		m->form = dice % 17 == 0 ? (unsigned)(dice / 32 % 4) :
		    m->form;
		rig_want(r, &m->w, RIG_CRAWL, m->next, m->form);
		m->waits = true;
	}
}

static void
test_anything(void **state)
{
	struct reader_model *m = mem_array(READERS, sizeof(*m));
	struct rig *r = &rig;

	(void)state;
	stream_rig_init(r, render, (size_t)1 << 20);
	rig_open(r);
	for (unsigned i = 0; i < READERS; i++)
		m[i].next = 1;
	for (uint64_t t = 0; t < ROUNDS(20000u); t++) {
		uint64_t dice = hash_u64(t + 77);
		if (dice % 31 == 0) {
			put_pages(r, (unsigned)(dice / 31 % 9),
			    (size_t)(dice >> 8) % 9000);
			rig_show(r);
		}
		step_reader(r, &m[dice / 512 % READERS], dice >> 20);
		if (dice % 3 == 0)
			loop_step(r->loop);
	}
	for (unsigned i = 0; i < READERS; i++) {
		stream_cancel(r->stream, &m[i].w.want);
		stream_give_back(r->stream, &m[i].w.want.batch);
	}
	print_message("feed: %llu pages\n",
	    (unsigned long long)r->view.item_last);
	mem_free(&m);
	rig_end(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_renderers),
		cmocka_unit_test(test_codings),
		cmocka_unit_test(test_revisits),
		cmocka_unit_test(test_old_entries),
		cmocka_unit_test(test_big),
		cmocka_unit_test(test_large_heads),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_many_files),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_walks),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_cancel_another),
		cmocka_unit_test(test_deleted),
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_anything),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
