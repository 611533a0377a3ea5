/* A crawl's log, its problems, and what is seen of its queues. */
#include "engine/frontier/crawl.h"
#include "engine/frontier/error_summary.h"
#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/query.h"
#include "engine/frontier/url_query.h"

static struct rig rig;
#define R (&rig)

static int
setup(void **state)
{
	(void)state;
	rig_init(R);
	rig_open(R);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	frontier_check(rig.frontier);
	rig_close(R);
	rig_end(R);
	return 0;
}

/* --- the log ------------------------------------------------------------- */

static struct index *
the_index(void)
{
	return ledger_index(frontier_ledger(rig.frontier));
}

static struct crawl *
the_crawl(void)
{
	return crawl_get(rig.frontier, rig.crawl);
}

/* The entries from that number on, in the rig's arena. */
static size_t
entries(uint64_t from, struct crawl_log_record *out, size_t max)
{
	struct index_iter *i = index_iter_new(the_index(), INDEX_LOG);
	struct buf at = BUF_INIT;
	struct str key, value;
	size_t n = 0;

	crawl_log_key(rig.crawl, from, &at);
	for (index_iter_seek(i, buf_str(&at)); n < max &&
	    index_iter_valid(i, &key, &value); index_iter_next(i)) {
		key = arena_copy(&rig.arena, key);
		value = arena_copy(&rig.arena, value);
		assert_true(crawl_log_parse(key, value, &out[n]));
		if (out[n].crawl != rig.crawl)
			break;
		n++;
	}
	index_iter_free(&i);
	buf_free(&at);
	return n;
}

static void
is_text(struct str s, const char *want)
{
	struct str copy = arena_copy(&rig.arena, s);

	assert_string_equal(copy.n == 0 ? "" : copy.p, want);
}

static void
assert_entry(const struct crawl_log_record *r, uint64_t number,
    const char *kind, const char *text, const char *reason)
{
	assert_int_equal(r->number, number);
	is_text(r->kind, kind);
	is_text(r->text, text);
	is_text(r->reason, reason);
}

static void
states_are_told(void **state)
{
	struct crawl_log_record e[8];

	(void)state;
	rig_begin(R, "http://a/0", NULL);
	assert_int_equal(frontier_set_state(rig.frontier, rig.crawl,
	    CRAWL_PAUSED, "by a client", NULL), OK);
	rig_pass(R, 10);
	rig_state(R, CRAWL_RUNNING, OK);
	rig_restart(R, true);
	rig_state(R, CRAWL_CANCELLED, OK);
	assert_int_equal(entries(1, e, 8), 5);
	assert_entry(&e[0], 1, "started", "started: test", "");
	assert_entry(&e[1], 2, "paused", "paused by a client", "by a client");
	assert_entry(&e[2], 3, "resumed", "resumed: a test", "a test");
	assert_entry(&e[3], 4, "restarted", "restarted", "");
	assert_entry(&e[4], 5, "cancelled", "cancelled: a test", "a test");
	assert_int_equal(rig_view(R).log_first, 1);
	assert_int_equal(rig_view(R).log_last, 5);
	assert_int_equal(rig.told.log_last, 5);
}

static void
lines_have_fields(void **state)
{
	struct crawl_log_record e[8];
	struct crawl_line line = { .kind = CRAWL_LOG_EXCEPTION,
		.text = STR("no such host"), .host = STR("a"),
		.url = STR("http://a/0"), .reason = STR("dns") };

	(void)state;
	rig_begin(R, "http://a/0", "http://a/1", NULL);
	struct lease l = rig_next(R, "a", "http://a/0");
	struct submission *s = rig_page(R, &l, OUTCOME_EXCEPTION);
	s->lines = &line;
	s->lines_n = 1;
	rig_hand_in(R, s);
	assert_int_equal(entries(2, e, 8), 1);
	assert_entry(&e[0], 2, "exception", "no such host", "dns");
	is_text(e[0].host, "a");
	is_text(e[0].url, "http://a/0");
	assert_int_equal(rig_view(R).log_last, 2);
	/* Its lease was given up: nothing of it counts, nor is told. */
	s = rig_page(R, &l, OUTCOME_EXCEPTION);
	s->lines = &line;
	s->lines_n = 1;
	rig_hand_in(R, s);
	assert_int_equal(rig_view(R).log_last, 2);
	/* Lines may come without a page: of robots.txt, of a back-off. */
	s = rig_page(R, &l, OUTCOME_NONE);
	s->lines = &line;
	s->lines_n = 1;
	rig_hand_in(R, s);
	assert_int_equal(entries(3, e, 8), 1);
}

static void
a_skipped_seed_is_told(void **state)
{
	struct crawl_log_record e[8];
	struct found f[2];
	struct str texts[] = { STR("mailto:x"), STR("http://a/0") };
	struct crawl_spec spec = { .name = STR("test"), .seeds = texts,
		.seeds_n = 2, .warc_dir = STR("/data/warc") };

	(void)state;
	rig.crawl = frontier_next_crawl(rig.frontier);
	f[0] = rig_found(R, "mailto:x", 1, SKIP_URL);
	f[1] = rig_found(R, "http://a/0", 1, SKIP_NONE);
	f[0].flags = f[1].flags = FOUND_SEED;
	assert_int_equal(frontier_begin(rig.frontier, &spec, f, 2, NULL,
	    &rig.crawl, NULL), OK);
	rig_pass(R, 10);
	assert_int_equal(entries(1, e, 8), 2);
	assert_entry(&e[1], 2, "skipped", "the URL cannot be fetched or is a "
	    "trap", "url");
	is_text(e[1].url, "mailto:x");
}

/* Of earlier versions: nothing behind the text. */
static void
old_entries_can_be_read(void **state)
{
	struct crawl_log_record r;
	struct buf key = BUF_INIT, value = BUF_INIT;

	(void)state;
	crawl_log_key(7, 9, &key);
	buf_put_be64(&value, 1234567);
	buf_put_field(&value, STR("exception"));
	buf_put_field(&value, STR("http://a/ dns: no such host"));
	assert_true(crawl_log_parse(buf_str(&key), buf_str(&value), &r));
	assert_int_equal(r.crawl, 7);
	assert_int_equal(r.number, 9);
	assert_int_equal(r.at.us, 1234567);
	is_text(r.text, "http://a/ dns: no such host");
	assert_int_equal(r.url.n + r.host.n + r.reason.n, 0);
	for (size_t n = 0; n < value.n; n++)
		assert_false(crawl_log_parse(buf_str(&key),
		    str_cut(buf_str(&value), 0, n), &r));
	buf_free(&key);
	buf_free(&value);
}

static void
write_lines(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		crawl_log(the_crawl(), &(struct crawl_line){
		    .kind = CRAWL_LOG_EXCEPTION, .text = STR("x") });
		if (i % 5000 == 0)
			rig_pass(R, 10);
	}
	rig_pass(R, 10);
}

static void
the_newest_are_kept(void **state)
{
	struct crawl_log_record *e = mem_array(CRAWL_LOG_KEPT + 2000,
	    sizeof(*e));

	(void)state;
	rig_begin(R, "http://a/0", NULL);
	/* One below the first that goes: 1 to 100,999. */
	write_lines(CRAWL_LOG_KEPT + CRAWL_LOG_STEP - 3);
	assert_int_equal(rig_view(R).log_last,
	    CRAWL_LOG_KEPT + CRAWL_LOG_STEP - 2);
	assert_int_equal(rig_view(R).log_first, 1);
	assert_int_equal(entries(0, e, CRAWL_LOG_KEPT + 2000),
	    CRAWL_LOG_KEPT + CRAWL_LOG_STEP - 2);
	write_lines(1);
	assert_int_equal(rig_view(R).log_first, CRAWL_LOG_STEP);
	assert_int_equal(entries(0, e, CRAWL_LOG_KEPT + 2000),
	    CRAWL_LOG_KEPT);
	assert_int_equal(e[0].number, CRAWL_LOG_STEP);
	rig_restart(R, true);
	assert_int_equal(rig_view(R).log_first, CRAWL_LOG_STEP);
	write_lines(CRAWL_LOG_STEP);
	assert_int_equal(rig_view(R).log_first, 2 * CRAWL_LOG_STEP);
	assert_int_equal(entries(0, e, 1), 1);
	assert_int_equal(e[0].number, 2 * CRAWL_LOG_STEP);
	mem_free(&e);
}

static void
write_skips(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		crawl_log(the_crawl(), &(struct crawl_line){
		    .kind = CRAWL_LOG_SKIPPED, .text = STR("x") });
	rig_pass(R, 10);
}

static void
bursts_are_cut(void **state)
{
	static struct crawl_log_record e[1000];

	(void)state;
	rig_begin(R, "http://a/0", NULL);
	write_skips(CRAWL_LOG_BURST - 1);
	assert_int_equal(entries(2, e, 1000), CRAWL_LOG_BURST - 1);
	is_text(e[CRAWL_LOG_BURST - 2].text, "x");
	write_skips(200);
	assert_int_equal(entries(2, e, 1000), CRAWL_LOG_BURST);
	is_text(e[CRAWL_LOG_BURST - 1].text, "x (more lines of this kind are "
	    "left out until the minute is over)");
	/* Other kinds have their own. */
	write_lines(1);
	assert_int_equal(entries(2, e, 1000), CRAWL_LOG_BURST + 1);
	rig_pass(R, 60000);
	write_skips(1);
	assert_int_equal(entries(2, e, 1000), CRAWL_LOG_BURST + 3);
	is_text(e[CRAWL_LOG_BURST + 1].text, "199 more lines of this kind "
	    "were left out");
	is_text(e[CRAWL_LOG_BURST + 2].text, "x");
	/* What was left out is told before the end. */
	write_skips(CRAWL_LOG_BURST + 5);
	rig_state(R, CRAWL_CANCELLED, OK);
	size_t n = entries(2, e, 1000);
	is_text(e[n - 1].kind, "cancelled");
	is_text(e[n - 2].text, "6 more lines of this kind were left out");
}

/* --- problems ------------------------------------------------------------ */

static size_t
problems(struct error_summary_record **out)
{
	size_t n;

	assert_int_equal(error_summary_read(
	                     the_index(), rig.crawl, &rig.arena, out, &n, NULL),
	    OK);
	return n;
}

static void
fail_pages(unsigned from, unsigned upto, enum outcome o, uint16_t status)
{
	for (unsigned i = from; i < upto; i++) {
		assert_int_equal(rig_lease(R, "a", 1), 1);
		struct submission *s = rig_page(R, &rig.leases[0], o);
		s->status = status;
		rig_hand_in(R, s);
		rig_pass(R, 200);
	}
}

static void
begin_many(unsigned n)
{
	struct submission *s;
	char url[32];

	rig_begin(R, "http://a/first", NULL);
	struct lease l = rig_next(R, "a", "http://a/first");
	s = rig_page(R, &l, OUTCOME_ITEM);
	for (unsigned i = 0; i < n; i++) {
		snprintf(url, sizeof(url), "http://a/%02u", i);
		rig_add(R, s, url, 1, SKIP_NONE);
	}
	rig_hand_in(R, s);
}

static void
assert_problems(void)
{
	struct error_summary_record *p;

	assert_int_equal(problems(&p), 2);
	assert_int_equal(p[0].kind, ERROR_SUMMARY_EXCEPTION);
	assert_int_equal(p[0].code, EXCEPTION_TIMEOUT);
	/* The newest first, and no more than are kept. */
	assert_int_equal(p[0].samples_n, ERROR_SUMMARY_SAMPLES);
	is_text(p[0].samples[0], "http://a/06");
	is_text(p[0].samples[4], "http://a/02");
	assert_true(p[0].first.us > 0 && p[0].last.us > p[0].first.us);
	assert_int_equal(p[1].kind, ERROR_SUMMARY_STATUS);
	assert_int_equal(p[1].code, 404);
	assert_int_equal(p[1].count, 3);
	assert_int_equal(p[1].samples_n, 3);
	is_text(p[1].samples[0], "http://a/09");
}

static void
problems_have_samples(void **state)
{
	struct error_summary_record *p;

	(void)state;
	begin_many(20);
	fail_pages(0, 7, OUTCOME_EXCEPTION, 0);
	fail_pages(7, 10, OUTCOME_ITEM, 404);
	assert_problems();
	rig_restart(R, true);
	assert_problems();
	/* They are counted on, and the newest samples come first. */
	fail_pages(10, 11, OUTCOME_ITEM, 404);
	fail_pages(11, 12, OUTCOME_ITEM, 599);
	fail_pages(12, 13, OUTCOME_ITEM, 399);
	assert_int_equal(problems(&p), 3);
	assert_int_equal(p[1].count, 4);
	is_text(p[1].samples[0], "http://a/10");
	is_text(p[1].samples[3], "http://a/07");
	assert_int_equal(p[2].code, 599);
}

/* Samples are renewed now and then, counts are exact. */
static void
many_at_once_are_counted(void **state)
{
	struct error_summary_record *p;

	(void)state;
	begin_many(30);
	assert_int_equal(rig_lease(R, "a", 30), 30);
	struct lease leases[30];
	memcpy(leases, rig.leases, sizeof(leases));
	for (unsigned i = 0; i < 30; i++) {
		struct submission *s = rig_page(R, &leases[i], OUTCOME_ITEM);
		s->status = 500;
		frontier_submit(rig.frontier, s);
	}
	rig_pass(R, 1000);
	assert_int_equal(problems(&p), 1);
	assert_int_equal(p[0].count, 30);
	is_text(p[0].samples[0], "http://a/04");
	/* The crawl is over; its problems are still there. */
	assert_int_equal(rig_view(R).state, CRAWL_COMPLETE);
	rig_restart(R, false);
	assert_int_equal(problems(&p), 1);
	assert_int_equal(p[0].count, 30);
}

static void
links_that_are_skipped(void **state)
{
	struct error_summary_record *p;

	(void)state;
	rig_begin(R, "http://a/0", "http://a/1", NULL);
	struct lease l = rig_next(R, "a", "http://a/0");
	struct submission *s = rig_page(R, &l, OUTCOME_ITEM);
	rig_add(R, s, "http://b/0", 1, SKIP_SCOPE);
	rig_add(R, s, "http://b/1", 1, SKIP_SCOPE);
	rig_hand_in(R, s);
	assert_int_equal(problems(&p), 1);
	assert_int_equal(p[0].kind, ERROR_SUMMARY_SKIPPED);
	assert_int_equal(p[0].code, SKIP_SCOPE);
	assert_int_equal(p[0].samples_n, 2);
	is_text(p[0].samples[0], "http://b/1");
}

/* --- queues -------------------------------------------------------------- */

static bool back;

static void
queues_back(struct frontier_queues_query *l)
{
	(void)l;
	back = true;
}

static void
ask_queues(struct frontier_queues_query *l, size_t max, size_t urls_max)
{
	*l = (struct frontier_queues_query){ .crawl = rig.crawl, .max = max,
		.urls_max = urls_max, .done = queues_back };
	back = false;
	frontier_queues_query(rig.frontier, l);
	rig_pass(R, 10);
	assert_true(back);
	assert_int_equal(l->why.err, urls_max == 0 ? l->why.err : OK);
}

static void
the_longest_come_first(void **state)
{
	struct frontier_queues_query l;
	char url[32];

	(void)state;
	rig_begin(R, "http://z/0", NULL);
	struct lease lease = rig_next(R, "z", "http://z/0");
	struct submission *s = rig_page(R, &lease, OUTCOME_ITEM);
	/* Host h12 has 12 URLs, in two portions. */
	for (unsigned i = 0; i < 20; i++)
		for (unsigned k = 0; k < (i * 7) % 20; k++) {
			snprintf(url, sizeof(url), "http://h%u/%u",
			    (i * 7) % 20, k);
			if (s->found_n == 60) {
				rig_hand_in(R, s);
				s = rig_page(R, &lease, OUTCOME_NONE);
			}
			rig_add(R, s, url, 1, SKIP_NONE);
		}
	rig_hand_in(R, s);
	ask_queues(&l, 5, 0);
	assert_int_equal(l.why.err, OK);
	assert_int_equal(l.n, 5);
	assert_int_equal(l.left, 19);
	assert_int_equal(l.view.counts.queued, 190);
	for (unsigned i = 0; i < 5; i++) {
		snprintf(url, sizeof(url), "h%u", 19 - i);
		is_text(l.queues[i].host, url);
		assert_int_equal(l.queues[i].queued, 19 - i);
	}
	arena_free(&l.arena);
	ask_queues(&l, 0, 0);
	assert_int_equal(l.n, 0);
	assert_int_equal(l.left, 19);
	arena_free(&l.arena);
	ask_queues(&l, 1000, 0);
	assert_int_equal(l.n, 19);
	assert_int_equal(l.queues[18].queued, 1);
	arena_free(&l.arena);
	rig.crawl++;
	ask_queues(&l, 5, 0);
	rig.crawl--;
	assert_int_equal(l.why.err, ERR_ABSENT);
	arena_free(&l.arena);
}

/* More than are looked at in one go. */
static void
many_queues(void **state)
{
	struct frontier_queues_query l;
	struct submission *s = NULL;
	struct lease none = { 0 };
	char url[32];

	(void)state;
	rig_begin(R, "http://a/0", "http://a/1", NULL);
	rig_state(R, CRAWL_PAUSED, OK);      /* no notes to the loop */
	for (unsigned i = 0; i < 10000; i++) {
		if (s == NULL)
			s = rig_page(R, &none, OUTCOME_NONE);
		snprintf(url, sizeof(url), "http://h%u/", i);
		rig_add(R, s, url, 1, SKIP_NONE);
		if (s->found_n == 60) {
			rig_hand_in(R, s);
			s = NULL;
		}
	}
	rig_hand_in(R, s);
	ask_queues(&l, 3, 0);
	assert_int_equal(l.left, 10001);
	is_text(l.queues[0].host, "a");
	is_text(l.queues[1].host, "h0");
	is_text(l.queues[2].host, "h1");
	arena_free(&l.arena);
}

static void
what_is_next_in_them(void **state)
{
	struct frontier_queues_query l;

	(void)state;
	begin_many(9);
	assert_int_equal(rig_lease(R, "a", 3), 3);
	struct lease third = rig.leases[2];
	ask_queues(&l, 10, 4);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.queues[0].queued, 9);
	assert_int_equal(l.urls_n, 4);
	is_text(l.urls[0].url, "http://a/03");
	is_text(l.urls[3].url, "http://a/06");
	/* One that comes back is the next; what is leased is passed over. */
	struct submission *s = rig_page(R, &third, OUTCOME_RETURNED);
	rig_hand_in(R, s);
	arena_free(&l.arena);
	ask_queues(&l, 10, 100);
	assert_int_equal(l.urls_n, 7);
	is_text(l.urls[0].url, "http://a/02");
	is_text(l.urls[6].url, "http://a/08");
	arena_free(&l.arena);
}

/* --- one URL ------------------------------------------------------------- */

static void
one_back(struct frontier_url_query *l)
{
	(void)l;
	back = true;
}

static struct frontier_url_query
ask_one(const char *url)
{
	static struct frontier_url_query l;

	l = (struct frontier_url_query){ .crawl = rig.crawl, .url = str_of(url),
		.host = STR("a"), .done = one_back };
	back = false;
	frontier_url_query(rig.frontier, &l);
	rig_pass(R, 10);
	assert_true(back);
	assert_int_equal(l.why.err, OK);
	arena_free(&l.arena);
	return l;
}

static void
assert_states(bool loaded)
{
	struct frontier_url_query l = ask_one("http://a/first");

	assert_int_equal(l.state, URL_DONE);
	assert_int_equal(l.fact.outcome, OUTCOME_ITEM);
	assert_int_equal(l.number, 1);
	assert_true(l.host_known);
	l = ask_one("http://a/00");
	assert_int_equal(l.state, URL_DONE);
	assert_int_equal(l.fact.outcome, OUTCOME_EXCEPTION);
	assert_int_equal(l.fact.reason, EXCEPTION_TIMEOUT);
	assert_int_equal(l.number, 0);
	assert_int_equal(ask_one("http://a/01").state,
	    loaded ? URL_LEASED : URL_WAITING);
	l = ask_one("http://a/05");
	assert_int_equal(l.state, URL_WAITING);
	assert_int_equal(l.queued, 8);
	assert_true(l.fact.cost == 1);
	l = ask_one("http://a/deep");
	assert_int_equal(l.state, URL_SKIPPED);
	assert_int_equal(l.fact.reason, SKIP_DEPTH);
	assert_int_equal(ask_one("http://a/never").state, URL_UNKNOWN);
}

/* Nine pages, of which one failed; a link of another was skipped. */
static void
begin_with_each_state(void)
{
	begin_many(9);
	fail_pages(0, 1, OUTCOME_EXCEPTION, 0);
	assert_int_equal(rig_lease(R, "a", 1), 1);
	struct submission *s = rig_page(R, &rig.leases[0], OUTCOME_NONE);
	rig_add(R, s, "http://a/deep", 9, SKIP_DEPTH);
	rig_hand_in(R, s);
}

static void
every_state_is_found(void **state)
{
	struct frontier_url_query l = { .url = STR("http://a/0"),
		.host = STR("a"),
		.crawl = 99,
		.done = one_back };

	(void)state;
	begin_with_each_state();
	assert_states(true);
	/* Closed, and not gone on with: all comes from the index. */
	rig_close(R);
	rig_open(R);
	assert_states(false);
	back = false;
	frontier_url_query(rig.frontier, &l);
	rig_pass(R, 10);
	assert_true(back);
	assert_int_equal(l.why.err, ERR_ABSENT);
}

static void
assert_retired(void)
{
	struct frontier_queues_query l;

	assert_true(the_crawl()->retired);
	assert_int_equal(the_crawl()->queues.n, 0);
	assert_int_equal(rig_known_bytes(R), 0);
	assert_int_equal(rig_view(R).queues, 1);
	assert_states(false);
	ask_queues(&l, 10, 100);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.left, 1);
	is_text(l.queues[0].host, "a");
	assert_int_equal(l.queues[0].queued, 8);
	assert_true(l.queues[0].waits);
	assert_int_equal(l.urls_n, 8);
	is_text(l.urls[0].url, "http://a/01");
	arena_free(&l.arena);
}

/* Nothing of it stays in memory, and all is found. */
static void
what_has_ended_is_read(void **state)
{
	(void)state;
	begin_with_each_state();
	/* Not while somebody looks at it. */
	crawl_ref(the_crawl());
	rig_state(R, CRAWL_CANCELLED, OK);
	assert_false(the_crawl()->retired);
	assert_int_equal(the_crawl()->queues.n, 1);
	crawl_unref(the_crawl());
	rig_pass(R, 1);
	assert_retired();
	for (int i = 0; i < 2; i++) {
		rig_restart(R, i == 0);
		assert_retired();
	}
}

/* The table says so, the index does not yet: the answer waits. */
static void
what_is_being_gathered_is_found(void **state)
{
	(void)state;
	begin_many(3);
	assert_int_equal(rig_lease(R, "a", 1), 1);
	struct submission *s = rig_page(R, &rig.leases[0], OUTCOME_ITEM);
	rig_add(R, s, "http://a/new", 1, SKIP_NONE);
	frontier_submit(rig.frontier, s);
	assert_int_equal(ask_one("http://a/new").state, URL_WAITING);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		TEST(states_are_told),
		TEST(lines_have_fields),
		TEST(a_skipped_seed_is_told),
		TEST(old_entries_can_be_read),
		TEST(the_newest_are_kept),
		TEST(bursts_are_cut),
		TEST(problems_have_samples),
		TEST(many_at_once_are_counted),
		TEST(links_that_are_skipped),
		TEST(the_longest_come_first),
		TEST(many_queues),
		TEST(what_is_next_in_them),
		TEST(every_state_is_found),
		TEST(what_has_ended_is_read),
		TEST(what_is_being_gathered_is_found),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
