#include <limits.h>

#include "base/hash.h"
#include "engine/catalog/catalog_testing.h"
#include "engine/catalog/core.h"
#include "engine/catalog/journal_scan.h"
#include "tests/rounds.h"

#define HEADS(lines) STR("HTTP/1.1 200 OK\r\n" lines "\r\n")

static struct rig rig;

static struct rig *
open_rig(void)
{
	rig_init(&rig);
	rig_open(&rig);
	return &rig;
}

static void
listed(struct captures_query *q)
{
	++*(unsigned *)q->arg;
}

static void
paged(struct capture_query *q)
{
	++*(unsigned *)q->arg;
}

static void
copied(struct records_query *q)
{
	++*(unsigned *)q->arg;
}

static void
list(struct rig *r, struct captures_query *q)
{
	unsigned told = 0;

	q->crawl = q->crawl == 0 ? RIG_CRAWL : q->crawl;
	q->done = listed;
	q->arg = &told;
	catalog_captures(r->catalog, q);
	assert_int_equal(told, 0);
	rig_run(r);
	assert_int_equal(told, 1);
}

/* --- lists -------------------------------------------------------------- */

/* What the pages are is told by their numbers, for a model to know as well. */
#define PAGES (SANITIZED ? 12000u : 35000u)
/* A list of so many is not made within a few turns of the loop. */
#define LONG_PAGES 35000u
#define MORE 3000u

static unsigned
status_of(uint64_t n)
{
	return n % 10 == 3 ? 404 : n % 10 == 7 ? 500 : 200;
}

static uint32_t
duration_of(uint64_t n)
{
	return (uint32_t)(hash_u64(n) % 5000) + 1;
}

static uint64_t
length_of(uint64_t n)
{
	return hash_u64(n + 99) % 3000;
}

static const char *
type_of(uint64_t n)
{
	return n % 4 == 1 ? "image/png" : n % 4 == 2 ? "image/gif" :
	    "text/html";
}

static void
text_of(uint64_t n, char url[64], char title[64])
{
	snprintf(url, 64, "http://%s.example:80%llu/Page-%llu",
	    n % 3 == 0 ? "A" : "b", (unsigned long long)n % 10,
	    (unsigned long long)n);
	snprintf(title, 64, "%s of %llu", n % 7 == 0 ? "STORY" : "Report",
	    (unsigned long long)n);
}

/* Entries alone: lists read no archive. */
static void
put_entries(struct rig *r, uint64_t n)
{
	struct buf key = BUF_INIT, rest = BUF_INIT, value = BUF_INIT;
	char url[64], title[64];

	for (uint64_t i = 0; i < n; i++) {
		uint64_t seq = ++r->seq;
		text_of(seq, url, title);
		struct journal_entry e = {
			.status = (uint16_t)status_of(seq),
			.duration_us = duration_of(seq),
			.flags = JOURNAL_SIZED, .decoded = length_of(seq),
			.type = str_of(type_of(seq)), .url = str_of(url),
			.title = str_of(title) };
		buf_clear(&key);
		buf_clear(&rest);
		buf_clear(&value);
		journal_key(RIG_CRAWL, seq, &key);
		journal_put_rest(&e, &rest);
		journal_put(0, 0, buf_str(&rest), &value);
		ledger_put(r->ledger, INDEX_JOURNAL, buf_str(&key),
		    buf_str(&value));
		if (i % 500 == 499)
			rig_run(r);
	}
	r->view.counts.items += n;
	buf_free(&key);
	buf_free(&rest);
	buf_free(&value);
	rig_show(r);
}

static bool
wanted(const struct captures_query *q, uint64_t n)
{
	char url[64], title[64], both[130];

	text_of(n, url, title);
	snprintf(both, sizeof(both), "%s\n%s", url, title);
	return (q->status.n == 0 || (q->status.p[1] == 'x' ?
	    status_of(n) / 100 == (unsigned)(q->status.p[0] - '0') :
	    status_of(n) == strtoul(q->status.p, NULL, 10))) &&
	    (q->type.n == 0 || strncmp(type_of(n), q->type.p, q->type.n) ==
	    0) && (q->host.n == 0 || (n % 3 == 0) == (q->host.p[0] == 'a')) &&
	    (q->text.n == 0 || strcasestr(both, q->text.p) != NULL);
}

struct ranked {
	uint64_t value, number;
};

static int
greatest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return x->number > y->number ? 1 : -1;
}

/* The same list, made by looking at every number. */
static size_t
model(const struct rig *r, const struct captures_query *q, struct ranked *out)
{
	size_t n = 0;

	for (uint64_t i = 1; i <= r->seq; i++)
		if (wanted(q, i))
			out[n++] = (struct ranked){ q->order ==
			    PAGES_OLDEST ? r->seq - i : q->order ==
			    PAGES_NEWEST ? i : q->order == PAGES_SLOWEST ?
			    duration_of(i) : length_of(i), i };
	qsort(out, n, sizeof(*out), greatest_first);
	return n;
}

static void
check_list(struct rig *r, struct captures_query *q, struct ranked *scratch)
{
	size_t n = model(r, q, scratch);

	list(r, q);
	assert_int_equal(q->why.err, OK);
	assert_int_equal(q->total, n);
	assert_int_equal(q->n, q->start >= n ? 0 : MIN(q->size,
	    n - q->start));
	for (size_t i = 0; i < q->n; i++)
		assert_int_equal(q->pages[i].seq,
		    scratch[q->start + i].number);
	arena_free(&q->arena);
}

static void
test_lists(void **state)
{
	static const struct captures_query filters[] = { { .size = 0 },
	    { .text = STR("story") }, { .text = STR("PAGE-12") },
	    { .status = STR("404") }, { .status = STR("5xx") },
	    { .type = STR("image/") }, { .type = STR("image/gif") },
	    { .host = STR("a.example") }, { .text = STR("nowhere") },
	    { .text = STR("report"), .status = STR("4xx"),
	    .type = STR("text/html"), .host = STR("b.example") } };
	static const uint64_t starts[] = { 0, 1, 57, 5000, PAGES - 1, PAGES,
	    UINT32_MAX };
	static const size_t sizes[] = { 0, 1, 100, 1000 };
	struct rig *r = open_rig();
	struct ranked *scratch = mem_array(PAGES + MORE, sizeof(*scratch));

	(void)state;
	put_entries(r, PAGES);
	/* Each filter within ten, with each order within forty. */
	for (size_t i = 0; i < ROUNDS(120); i++) {
		uint64_t dice = hash_u64(i + 1);
		struct captures_query q = filters[i < 40 ?
		    (i + i / 20) % 10 : dice % 10];
		q.order = (enum pages_order)(i % PAGES_ORDERS);
		q.start = starts[dice / 100 % ARRAY_LEN(starts)];
		q.size = sizes[dice / 10000 % ARRAY_LEN(sizes)];
		if (q.order > PAGES_NEWEST && q.start > 100000)
			q.start = 3;
		check_list(r, &q, scratch);
	}
	/* What is remembered of them goes on with what comes. */
	put_entries(r, MORE);
	for (size_t i = 0; i < ROUNDS(40); i++) {
		struct captures_query q = filters[(i + i / 20) % 10];
		q.order = (enum pages_order)(i % PAGES_ORDERS);
		q.start = hash_u64(i) % 3 * 500;
		q.size = 300;
		check_list(r, &q, scratch);
	}
	mem_free(&scratch);
	rig_end(r);
}

/* --- lists that take their time ----------------------------------------- */

static void
ask_list(struct rig *r, struct captures_query *q, unsigned *told)
{
	*told = 0;
	q->crawl = RIG_CRAWL;
	q->done = listed;
	q->arg = told;
	catalog_captures(r->catalog, q);
}

/* Until it was told, or so many turns are over. */
static void
turn(struct rig *r, const unsigned *told, unsigned turns)
{
	while (turns-- > 0 && *told == 0 && loop_step(r->loop))
		assert_true(r->catalog->scans->count <= JOURNAL_SCANS_MAX);
}

/* Each answer is true of what was looked at; asked again, it goes on. */
static void
check_so_far(struct rig *r)
{
	struct captures_query q = { .text = STR("story"), .size = 10,
	    .wait_ms = 100 };
	uint64_t looked = 0;
	unsigned told, asks = 0;

	do {
		ask_list(r, &q, &told);
		turn(r, &told, 2);
		world.mono = mono_add_ms(world.mono, 100);
		rig_run(r);
		assert_int_equal(told, 1);
		assert_int_equal(q.why.err, OK);
		assert_true(q.looked > looked && q.looked <= LONG_PAGES);
		looked = q.looked;
		assert_int_equal(q.so_far, looked < LONG_PAGES);
		assert_int_equal(q.total, looked / 7);
		for (size_t i = 0; i < q.n; i++)
			assert_int_equal(q.pages[i].seq, 7 * (i + 1));
		assert_int_equal(q.n, 10);
		arena_free(&q.arena);
		asks++;
	} while (q.so_far);
	assert_true(asks > 1);
	/* The newest of what was looked at; with nothing left to be done. */
	q.order = PAGES_NEWEST;
	ask_list(r, &q, &told);
	rig_run(r);
	assert_int_equal(q.pages[0].seq, LONG_PAGES / 7 * 7);
	assert_int_equal(q.pages[9].seq, (LONG_PAGES / 7 - 9) * 7);
	arena_free(&q.arena);
}

/* Nobody waits for it any more: it ends, and another one's does not. */
static void
check_left(struct rig *r)
{
	atomic_bool left = false;
	struct captures_query q = { .text = STR("report"), .size = 10,
	    .left = &left };
	struct captures_query other = { .text = STR("page-59"), .size = 1000 };
	unsigned told, other_told;

	ask_list(r, &q, &told);
	ask_list(r, &other, &other_told);
	turn(r, &told, 2);
	atomic_store(&left, true);
	turn(r, &told, 5);
	assert_int_equal(told, 1);
	assert_int_equal(other_told, 0);
	assert_int_equal(q.why.err, ERR_CLOSED);
	assert_int_equal(q.n, 0);
	arena_free(&q.arena);
	rig_run(r);
	assert_int_equal(other_told, 1);
	assert_int_equal(other.total, 111);
	arena_free(&other.arena);
}

/* More than JOURNAL_SCANS_MAX filters, and some twice. */
#define FILTERS (SANITIZED ? 10u : 20u)
#define ASKERS (FILTERS * 3 / 2)

struct asker {
	struct captures_query ask;
	char text[16];
	unsigned told;
};

/* Many at once: some for the same, more filters than are walked at a time. */
static void
ask_many(struct rig *r, struct asker *all)
{
	for (unsigned i = 0; i < ASKERS; i++) {
		snprintf(all[i].text, sizeof(all[i].text), "page-%u",
		    10 + i % FILTERS);
		all[i].ask = (struct captures_query){ .size = 3,
		    .text = str_of(all[i].text) };
		ask_list(r, &all[i].ask, &all[i].told);
	}
}

static void
check_many(struct rig *r)
{
	struct asker *all = mem_array(ASKERS, sizeof(*all));
	struct ranked *scratch = mem_array(LONG_PAGES, sizeof(*scratch));
	unsigned none = 0;

	ask_many(r, all);
	turn(r, &none, UINT_MAX);
	for (unsigned i = 0; i < ASKERS; i++) {
		const struct captures_query *q = &all[i].ask;
		assert_int_equal(all[i].told, 1);
		assert_int_equal(q->total, model(r, q, scratch));
		assert_int_equal(q->n, 3);
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(q->pages[k].seq, scratch[k].number);
		arena_free(&all[i].ask.arena);
	}
	/* What is remembered goes when nobody has asked for a while. */
	assert_true(r->catalog->scans->count > 0);
	rig_pass(r, 120000);
	assert_int_equal(r->catalog->scans->count, 0);
	mem_free(&scratch);
	mem_free(&all);
}

static void
test_long_lists(void **state)
{
	struct rig *r = open_rig();

	(void)state;
	put_entries(r, LONG_PAGES);
	check_so_far(r);
	check_left(r);
	check_many(r);
	rig_end(r);
}

/* The crawl goes, or the engine ends, while lists are made: all are told. */
static void
end_in_the_middle(bool delete, enum err err)
{
	struct asker *all = mem_array(ASKERS, sizeof(*all));
	struct rig *r = open_rig();
	unsigned none = 0;

	put_entries(r, 25000);
	ask_many(r, all);
	turn(r, &none, 5);
	if (delete) {
		crawl_registry_delete(r->registry, RIG_CRAWL);
		crawl_registry_notify(r->registry);
		rig_run(r);
		assert_int_equal(r->catalog->scans->count, 0);
	}
	rig_end(r);
	for (unsigned i = 0; i < ASKERS; i++) {
		assert_int_equal(all[i].told, 1);
		assert_int_equal(all[i].ask.why.err, err);
		arena_free(&all[i].ask.arena);
	}
	mem_free(&all);
}

static void
test_lists_and_the_end(void **state)
{
	(void)state;
	end_in_the_middle(true, ERR_ABSENT);
	end_in_the_middle(false, ERR_CLOSED);
}

/* Numbers with gaps: a start is a place in the list, not a number. */
static void
test_lists_with_gaps(void **state)
{
	struct rig *r = open_rig();
	struct captures_query q = { .start = 4, .size = 10 };

	(void)state;
	put_entries(r, 3);
	for (int i = 0; i < 10; i++)
		rig_gap(r);
	put_entries(r, 4);
	list(r, &q);
	assert_int_equal(q.total, 7);
	assert_int_equal(q.n, 3);
	assert_int_equal(q.pages[0].seq, 15);
	arena_free(&q.arena);
	q = (struct captures_query){ .start = 4, .size = 2,
	    .order = PAGES_NEWEST };
	list(r, &q);
	assert_int_equal(q.n, 2);
	assert_int_equal(q.pages[0].seq, 3);
	arena_free(&q.arena);
	rig_end(r);
}

static void
test_list_refused(void **state)
{
	static const struct {
		struct captures_query ask;
		enum err err;
	} rows[] = {
		{ { .crawl = 99, .size = 1 }, ERR_ABSENT },
		{ { .status = STR("40"), .size = 1 }, ERR_INPUT },
		{ { .status = STR("xxx"), .size = 1 }, ERR_INPUT },
		{ { .status = STR("40x"), .size = 1 }, ERR_INPUT },
		{ { .size = 1001 }, ERR_INPUT },
		{ { .size = 1, .start = 100001, .order = PAGES_SLOWEST },
		    ERR_INPUT },
	};
	struct rig *r = open_rig();

	(void)state;
	put_entries(r, 3);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct captures_query q = rows[i].ask;
		list(r, &q);
		assert_int_equal(q.why.err, rows[i].err);
		assert_int_equal(q.n, 0);
		arena_free(&q.arena);
	}
	rig_end(r);
}

/* --- one page ----------------------------------------------------------- */

static void
page(struct rig *r, struct capture_query *q)
{
	unsigned told = 0;

	q->crawl = RIG_CRAWL;
	q->same = true;
	q->done = paged;
	q->arg = &told;
	catalog_capture(r->catalog, q);
	rig_run(r);
	assert_int_equal(told, 1);
}

static void
expect(struct str s, const char *text)
{
	if (!str_eq(s, str_of(text)))
		fail_msg("%.*s, not %s", STR_FMT(s), text);
}

#define HTML STR("<title>T</title><a href=/one>1</a>" \
	"<img src='two.png'><a href='http://b.example/three#x'>3</a>")

static const struct rig_hop two_hops[] = {
	{ "http://a.example/from", "HTTP/1.1 301 Moved\r\n"
	    "Location: /over\r\n\r\n" },
	{ "http://a.example/over", "HTTP/1.1 302 Found\r\n"
	    "Location: /to/\r\n\r\n" },
};

static void
put_some(struct rig *r)
{
	rig_page(r, &(struct rig_page){ .url = "http://a.example/1",
	    .body = STR("first") });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/from",
	    .final_url = "http://a.example/to/", .hops = two_hops,
	    .hops_n = 2, .body = HTML,
	    .head = HEADS("Content-Type: text/html\r\nX: final\r\n") });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/3",
	    .head = HEADS("Content-Encoding: gzip\r\n"
	    "Content-Type: text/html\r\n"), .body = rig_gzip(r, HTML) });
	rig_show(r);
	rig_page(r, &(struct rig_page){ .url = "http://a.example/4",
	    .body = STR("first"), .same_as = 1 });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/5",
	    .body = STR("first"), .unarchived = true });
	rig_show(r);
}

static void
test_page(void **state)
{
	static const char *const links[] = { "http://a.example/one",
	    "http://a.example/to/two.png", "http://b.example/three#x" };
	struct capture_query q = { .number = 2, .body = true,
	    .body_bytes_max = 1000 };
	struct rig *r = open_rig();

	(void)state;
	put_some(r);
	page(r, &q);
	assert_int_equal(q.why.err, OK);
	expect(q.entry.url, "http://a.example/from");
	assert_int_equal(q.hops_n, 3);
	for (size_t i = 0; i < 2; i++) {
		expect(q.hops[i].url, two_hops[i].url);
		expect(q.hops[i].response, two_hops[i].head);
		expect(q.hops[i].request,
		    "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
		assert_true(q.hops[i].at.us > 0);
		assert_true(str_starts(q.hops[i].record_id,
		    STR("urn:uuid:")));
		assert_true(q.hops[i].offset < q.hops[i + 1].offset);
		assert_true(q.hops[i].length > 0);
	}
	expect(q.hops[2].url, "http://a.example/to/");
	assert_true(str_ends(q.hops[2].response, STR("X: final\r\n\r\n")));
	assert_true(str_ends(q.hops[2].file, STR(".warc.gz")));
	assert_int_equal(q.hops[2].offset, q.entry.offset);
	assert_true(str_eq(q.body_bytes, HTML));
	assert_false(q.cut || q.damaged);
	assert_int_equal(q.links_n, ARRAY_LEN(links));
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		expect(q.links[i], links[i]);
	assert_int_equal(q.duplicates_n, 0);
	arena_free(&q.arena);
	rig_end(r);
}

static void
test_page_bodies(void **state)
{
	struct rig *r = open_rig();
	struct capture_query q = { .number = 3, .body = true,
	    .body_bytes_max = 10 };

	(void)state;
	put_some(r);
	page(r, &q);
	assert_true(str_eq(q.body_bytes, str_cut(HTML, 0, 10)));
	assert_true(q.cut && !q.damaged);
	assert_int_equal(q.links_n, 3);
	assert_int_equal(q.hops_n, 1);
	arena_free(&q.arena);
	/* Without the body its links are told all the same. */
	q = (struct capture_query){ .number = 3 };
	page(r, &q);
	assert_int_equal(q.body_bytes.n, 0);
	assert_false(q.cut);
	assert_int_equal(q.links_n, 3);
	arena_free(&q.arena);
	/* A revisit's body is its original's. */
	q = (struct capture_query){ .number = 4, .body = true,
	    .body_bytes_max = 5 };
	page(r, &q);
	expect(q.body_bytes, "first");
	assert_false(q.cut);
	assert_int_equal(q.duplicates_n, 2);
	assert_int_equal(q.duplicates[0].seq, 1);
	assert_int_equal(q.duplicates[1].seq, 5);
	expect(q.duplicates[1].url, "http://a.example/5");
	arena_free(&q.arena);
	rig_end(r);
}

static void
test_page_absent(void **state)
{
	static const uint64_t numbers[] = { 0, 6, UINT64_MAX };
	struct rig *r = open_rig();

	(void)state;
	put_some(r);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		struct capture_query q = { .number = numbers[i], .body = true };
		page(r, &q);
		assert_int_equal(q.why.err, ERR_ABSENT);
		arena_free(&q.arena);
	}
	/* Not archived: what the journal knows. */
	struct capture_query q = { .number = 5, .body = true,
	    .body_bytes_max = 100 };
	page(r, &q);
	assert_int_equal(q.why.err, OK);
	assert_int_equal(q.hops_n, 0);
	assert_int_equal(q.duplicates_n, 2);
	arena_free(&q.arena);
	rig_end(r);
}

/* More of them than are told, over more entries than one piece has. */
static void
test_duplicates(void **state)
{
	struct rig *r = open_rig();
	struct capture_query q = { .number = 1 };

	(void)state;
	rig_page(r, &(struct rig_page){ .url = "http://a.example/1",
	    .body = STR("again") });
	rig_show(r);
	put_entries(r, 60000);
	for (int i = 0; i < 105; i++)
		rig_page(r, &(struct rig_page){ .url = "http://a.example/x",
		    .body = STR("again"), .same_as = 1 });
	rig_show(r);
	page(r, &q);
	assert_int_equal(q.duplicates_n, 100);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(q.duplicates[i].seq, 60002 + i);
	arena_free(&q.arena);
	rig_end(r);
}

/* --- its records -------------------------------------------------------- */

static void
record(struct rig *r, struct records_query *q)
{
	unsigned told = 0;

	q->crawl = RIG_CRAWL;
	q->done = copied;
	q->arg = &told;
	catalog_records(r->catalog, q);
	rig_run(r);
	assert_int_equal(told, 1);
}

/* What was copied is gzip members, one behind the other: count them. */
static size_t
members_of(struct str s, uint64_t number)
{
	struct gzip_head head;
	size_t n = 0;

	for (; s.n > 0; n++) {
		assert_int_equal(gzip_head_parse(s, &head), GZIP_HEAD_OK);
		assert_true(head.lengths.clen > 0 &&
		    head.lengths.clen <= s.n);
		assert_int_equal(head.seq, number);
		s = str_from(s, head.lengths.clen);
	}
	return n;
}

static void
test_record(void **state)
{
	static const size_t members[] = { 2, 6, 2, 2 };
	struct rig *r = open_rig();
	struct records_query q;

	(void)state;
	put_some(r);
	for (uint64_t i = 1; i <= 4; i++) {
		q = (struct records_query){ .number = i };
		record(r, &q);
		assert_int_equal(q.why.err, OK);
		assert_int_equal(members_of(buf_str(&q.bytes), i),
		    members[i - 1]);
		assert_true(str_starts(q.file, STR("crawl-3")));
		assert_true(str_ends(q.file, STR(".warc.gz")));
		buf_free(&q.bytes);
		arena_free(&q.arena);
	}
	for (uint64_t i = 5; i <= 6; i++) {
		q = (struct records_query){ .number = i };
		record(r, &q);
		assert_int_equal(q.why.err, ERR_ABSENT);
		assert_int_equal(q.bytes.n, 0);
		arena_free(&q.arena);
	}
	rig_end(r);
}

/* Redirects of a capture that is the first of its file. */
static void
test_first_of_file(void **state)
{
	struct rig *r = &rig;
	struct capture_query q;
	char url[64];

	(void)state;
	rig_init(r);
	r->rollover_bytes = 1;
	rig_open(r);
	for (unsigned i = 1; i < 6; i++) {
		snprintf(url, sizeof(url), "http://a.example/%u", i);
		rig_page(r, &(struct rig_page){ .url = url, .final_url = url,
		    .hops = two_hops, .hops_n = 2, .body = STR("x") });
		rig_show(r);
	}
	for (unsigned i = 1; i < 6; i++) {
		q = (struct capture_query){ .number = i };
		page(r, &q);
		assert_int_equal(q.hops_n, 3);
		expect(q.hops[0].url, two_hops[0].url);
		arena_free(&q.arena);
	}
	rig_end(r);
}

/* --- pages that link to a URL --------------------------------------------- */

static uint64_t
put_page(struct rig *r, const char *url, const char *type, const char *body)
{
	return rig_page(r, &(struct rig_page){ .url = url, .type = type,
	    .head = arena_printf(&r->arena, "HTTP/1.1 200 OK\r\n"
	    "Content-Type: %s\r\n\r\n", type), .body = str_of(body) });
}

static void
put_linking_pages(struct rig *r)
{
	put_page(r, "http://a.example/", "text/html",
	    "<a href='http://A.example:80/x/../t#part'>absolute</a>");
	put_page(r, "http://a.example/dir/p", "text/html",
	    "<a href='/other'>no</a><a href='../t?sid=5'>relative</a>");
	put_page(r, "http://a.example/t", "text/html",
	    "<a href='t'>itself</a>");
	put_page(r, "http://a.example/no", "text/html",
	    "http://a.example/t <a href='/t2'>no</a>");
	put_page(r, "http://a.example/pic", "image/png",
	    "<a href='/t'>no page</a>");
	rig_show(r);
	rig_page(r, &(struct rig_page){ .url = "http://a.example/same",
	    .type = "text/html", .head = HEADS("Content-Type: text/html\r\n"),
	    .same_as = 1 });
	put_page(r, "http://a.example/last", "text/html",
	    "<img src='/t'>");
	rig_show(r);
}

static void
numbers_are(const struct captures_query *q, const char *want)
{
	char got[200] = "";

	for (size_t i = 0; i < q->n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%llu ",
		    (unsigned long long)q->pages[i].seq);
	assert_string_equal(got, want);
}

static void
pages_that_link(void **state)
{
	struct rig *r = open_rig();
	struct captures_query q = { .links_to = STR("http://a.example/t"),
	    .size = 10 };

	(void)state;
	put_linking_pages(r);
	list(r, &q);
	numbers_are(&q, "1 2 6 7 ");
	assert_true(q.total == 4 && q.looked == 7);
	assert_false(q.so_far || q.limited);
	arena_free(&q.arena);
	/* With another filter. */
	q = (struct captures_query){ .links_to = STR("http://a.example/t"),
	    .text = STR("dir"), .size = 10 };
	list(r, &q);
	numbers_are(&q, "2 ");
	arena_free(&q.arena);
	q = (struct captures_query){ .links_to = STR("no URL"), .size = 10 };
	list(r, &q);
	assert_true(q.why.err == OK && q.n == 0);
	arena_free(&q.arena);
	rig_end(r);
}

static void
links_pages_max(void **state)
{
	struct captures_query q = { .links_to = STR("http://a.example/t"),
	    .size = 10 };

	(void)state;
	/* Five of the pages are read: not itself, and no picture. */
	for (unsigned max = 4; max <= 6; max++) {
		rig_init(&rig);
		rig.links_pages_max = max;
		rig_open(&rig);
		put_linking_pages(&rig);
		list(&rig, &q);
		numbers_are(&q, max < 5 ? "1 2 6 " : "1 2 6 7 ");
		assert_int_equal(q.limited, max < 5);
		assert_false(q.so_far);
		arena_free(&q.arena);
		rig_end(&rig);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_lists_with_gaps),
		cmocka_unit_test(test_long_lists),
		cmocka_unit_test(test_lists_and_the_end),
		cmocka_unit_test(test_list_refused),
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_page_bodies),
		cmocka_unit_test(test_page_absent),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_first_of_file),
		cmocka_unit_test(pages_that_link),
		cmocka_unit_test(links_pages_max),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
