/*
 * What a submission puts into its group: the URL's record, its journal entry,
 * the counters, and what rides along; and that no power cut separates them.
 */
#include "engine/frontier/checkpoint.h"
#include "engine/frontier/core.h"
#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/journal.h"

#define OWNER STR("owner")

static struct index *
index_of(struct rig *r)
{
	return ledger_index(frontier_ledger(r->frontier));
}

/* The value under that key; empty: there is none. */
static struct str
value_at(struct rig *r, enum index_family family, struct buf *key)
{
	struct str value = STR_NONE;
	enum err e = index_get(index_of(r), family, buf_str(key), &r->arena,
	    &value, NULL);

	assert_true(e == OK || e == ERR_ABSENT);
	buf_free(key);
	return value;
}

static struct str
url_record(struct rig *r, uint32_t queue, uint32_t rank, const char *url)
{
	struct buf key = BUF_INIT;

	url_key(r->crawl, queue, rank, str_of(url), &key);
	return value_at(r, INDEX_URL, &key);
}

/* False: the journal has no such entry. */
static bool
journal_entry(struct rig *r, uint64_t seq, struct journal_entry *e)
{
	struct buf key = BUF_INIT, again = BUF_INIT;

	journal_key(r->crawl, seq, &key);
	journal_key(r->crawl, seq, &again);
	struct str value = value_at(r, INDEX_JOURNAL, &key);
	bool found = value.n > 0;
	if (found)
		assert_true(journal_parse(arena_copy(&r->arena,
		    buf_str(&again)), value, e));
	buf_free(&again);
	return found;
}

static struct str
checkpoint(struct rig *r)
{
	struct str bytes = STR_NONE;
	enum err e = checkpoint_get(index_of(r), r->crawl, OWNER, &r->arena,
	    &bytes, NULL);

	assert_true(e == OK || e == ERR_ABSENT);
	return bytes;
}

static void
begin(struct rig *r, const char *seed)
{
	rig_init(r);
	rig_open(r);
	rig_begin(r, seed, NULL);
}

static void
end(struct rig *r)
{
	rig_close(r);
	rig_end(r);
}

/* --- a leased URL --------------------------------------------------------- */

static uint64_t
counted(const struct crawl_counts *n, enum outcome o)
{
	return o == OUTCOME_ITEM ? n->items :
	    o == OUTCOME_EXCEPTION ? n->exceptions[EXCEPTION_TIMEOUT] :
	    o == OUTCOME_SKIPPED ? n->skips[SKIP_ROBOTS] : n->aux;
}

/* Its waiting record goes, one that says what became of it comes. */
static void
test_each_outcome(void **state)
{
	static const struct {
		enum outcome outcome;
		uint8_t reason;
		uint64_t seq;
	} rows[] = {
		{ OUTCOME_ITEM, 0, 1 },
		{ OUTCOME_EXCEPTION, EXCEPTION_TIMEOUT, 0 },
		{ OUTCOME_SKIPPED, SKIP_ROBOTS, 0 },
		{ OUTCOME_AUX, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct journal_entry e;
		struct url_value v;
		struct rig r;
		begin(&r, "http://a/0");
		struct lease l = rig_next(&r, "a", "http://a/0");
		assert_true(url_record(&r, l.queue, l.rank, "http://a/0").n >
		    0);
		rig_done(&r, &l, rows[i].outcome);
		rig_restart(&r, true);
		assert_int_equal(url_record(&r, l.queue, l.rank,
		    "http://a/0").n, 0);
		assert_true(url_value_parse(url_record(&r, l.queue, 0,
		    "http://a/0"), &v));
		assert_int_equal(v.why, rows[i].outcome << 4 | rows[i].reason);
		assert_int_equal(v.seq, rows[i].seq);
		assert_int_equal(journal_entry(&r, 1, &e),
		    rows[i].outcome == OUTCOME_ITEM);
		struct crawl_counts n = rig_view(&r).counts;
		assert_int_equal(counted(&n, rows[i].outcome), 1);
		assert_int_equal(n.items + crawl_exceptions(&n) +
		    crawl_skips(&n) + n.aux, 1);
		assert_int_equal(n.queued + n.leased, 0);
		end(&r);
	}
}

/* What was given back waits at its old place; it was not counted. */
static void
test_returned(void **state)
{
	struct rig r;

	(void)state;
	begin(&r, "http://a/0");
	struct lease first = rig_next(&r, "a", "http://a/0");
	rig_done(&r, &first, OUTCOME_RETURNED);
	assert_int_equal(rig_url_state(&r, "http://a/0"), URL_WAITING);
	struct lease again = rig_next(&r, "a", "http://a/0");
	assert_int_equal(again.rank, first.rank);
	assert_int_equal(rig_view(&r).counts.queued, 1);
	assert_int_equal(rig_view(&r).counts.items, 0);
	end(&r);
}

/* The second answer to one lease is dropped, links apart. */
static void
test_one_lease_counts_once(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://b/0", NULL);
	struct lease l = rig_next(&r, "a", "http://a/0");
	rig_done(&r, &l, OUTCOME_ITEM);
	struct submission *s = rig_page(&r, &l, OUTCOME_EXCEPTION);
	rig_add(&r, s, "http://b/1", 1, SKIP_NONE);
	rig_hand_in(&r, s);
	struct crawl_counts n = rig_view(&r).counts;
	assert_int_equal(n.items, 1);
	assert_int_equal(crawl_exceptions(&n), 0);
	assert_int_equal(n.queued, 2);
	assert_int_equal(rig_url_state(&r, "http://b/1"), URL_WAITING);
	assert_int_equal(rig_captures(&r), 1);
	end(&r);
}

static void
test_statuses(void **state)
{
	static const uint16_t statuses[] = { 0, 99, 100, 200, 399, 400, 404,
		499, 500, 599, 600 };
	static const uint64_t want[6] = { 3, 1, 1, 1, 3, 2 };
	struct rig r;

	(void)state;
	begin(&r, "http://a/0");
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		char next[32];
		assert_int_equal(rig_lease(&r, "a", 1), 1);
		struct submission *s = rig_page(&r, &r.leases[0],
		    OUTCOME_ITEM);
		s->status = statuses[i];
		s->body_bytes = 10;
		s->duplicate = i % 2 == 1;
		snprintf(next, sizeof(next), "http://a/%zu", i + 1);
		rig_add(&r, s, next, 1, SKIP_NONE);
		rig_hand_in(&r, s);
	}
	rig_restart(&r, true);
	struct crawl_counts n = rig_view(&r).counts;
	assert_memory_equal(n.status, want, sizeof(want));
	assert_int_equal(n.not_found, 3);
	assert_int_equal(n.body_bytes, 110);
	assert_int_equal(n.duplicates, 5);
	assert_int_equal(n.items, ARRAY_LEN(statuses));
	end(&r);
}

/* An archived answer of a URL that failed: an entry beyond all numbers. */
static void
test_failed_with_an_answer(void **state)
{
	struct archive_member parts[] = { { .at = 0, .n = 30 },
		{ .at = 30, .n = 12 } };
	struct journal_entry e = { .status = 503, .url = STR("http://a/0") };
	struct url_value v;
	struct rig r;

	(void)state;
	begin(&r, "http://a/0");
	struct lease l = rig_next(&r, "a", "http://a/0");
	struct submission *s = rig_page(&r, &l, OUTCOME_EXCEPTION);
	s->parts = parts;
	s->parts_n = ARRAY_LEN(parts);
	s->final_part = 1;
	journal_put_rest(&e, &s->journal_rest);
	rig_hand_in(&r, s);
	uint64_t seq = journal_failed_seq(l.hash);
	assert_true(journal_entry(&r, seq, &e));
	assert_int_equal(e.status, 503);
	assert_int_equal(e.offset, 30);
	assert_true(url_value_parse(url_record(&r, l.queue, 0, "http://a/0"),
	    &v));
	assert_int_equal(v.seq, seq);
	assert_int_equal(rig_view(&r).item_last, 0);
	end(&r);
}

/* Later crawls find the digest and the validator of a first capture. */
static void
test_digest_and_validator(void **state)
{
	struct buf key = BUF_INIT;
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://a/1", NULL);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(rig_lease(&r, "a", 1), 1);
		struct submission *s = rig_page(&r, &r.leases[0],
		    OUTCOME_ITEM);
		s->digest_key = i == 0 ? STR("digest 0") : STR("digest 1");
		s->digest_rest = STR("rest");
		s->validator_key = i == 0 ? STR("own") : STR("other's");
		s->validator_crawl = i * 7;
		s->validator_seq = i * 9;
		rig_hand_in(&r, s);
	}
	buf_put_str(&key, STR("digest 1"));
	struct reader in = reader_of(value_at(&r, INDEX_DIGEST, &key));
	assert_int_equal(read_be32(&in), r.crawl);
	assert_int_equal(read_be64(&in), 2);
	assert_true(str_eq((struct str){ in.p, in.n }, STR("rest")));
	buf_put_str(&key, STR("own"));
	in = reader_of(value_at(&r, INDEX_DIGEST, &key));
	assert_int_equal(read_be32(&in), r.crawl);
	assert_int_equal(read_be64(&in), 1);
	buf_put_str(&key, STR("other's"));
	in = reader_of(value_at(&r, INDEX_DIGEST, &key));
	assert_int_equal(read_be32(&in), 7);
	assert_int_equal(read_be64(&in), 9);
	end(&r);
}

/* robots.txt may come in after its crawl's end: the next crawl has it. */
static void
test_puts_after_the_end(void **state)
{
	struct extra_put put = { .family = INDEX_CONTROL, .key = STR("robots"),
		.value = STR("Disallow: /") };
	struct buf key = BUF_INIT;
	struct rig r;

	(void)state;
	begin(&r, "http://a/0");
	struct lease l = rig_next(&r, "a", "http://a/0");
	rig_state(&r, CRAWL_CANCELLED, OK);
	struct submission *s = rig_page(&r, &l, OUTCOME_ITEM);
	s->puts = &put;
	s->puts_n = 1;
	rig_hand_in(&r, s);
	assert_int_equal(r.durable, OK);
	assert_int_equal(rig_captures(&r), 0);
	assert_int_equal(rig_view(&r).counts.items, 0);
	buf_put_str(&key, STR("robots"));
	assert_true(str_eq(value_at(&r, INDEX_CONTROL, &key), put.value));
	end(&r);
}

/* --- calls ---------------------------------------------------------------- */

#define CALLS 3u

/* A call's answer on its way; `n`th of the script. */
struct call_page {
	struct submission submission;
	unsigned *durable;           /* counted there */
};

static void
call_durable(struct submission *s, enum err e)
{
	assert_int_equal(e, OK);
	++*CONTAINER(s, struct call_page, submission)->durable;
}

/* Each call asks for the same URL; its checkpoint is its ordinal. */
static void
submit_call(struct rig *r, struct call_page *p, unsigned n,
    unsigned *durable)
{
	struct submission *s = &p->submission;
	struct str url = STR("http://a/0");
	struct journal_entry e = { .status = 201, .url = url };

	memset(p, 0, sizeof(*p));
	p->durable = durable;
	*s = (struct submission){ .home = r->loop, .durable = call_durable,
	    .crawl = r->crawl, .outcome = OUTCOME_CALL, .status = 201,
	    .lease.url = url, .puts_n = 1 };
	journal_put_rest(&e, &s->journal_rest);
	s->puts = ARENA_NEW(&s->arena, struct extra_put);
	checkpoint_put(r->crawl, OWNER, arena_printf(&s->arena, "%u", n),
	    &s->arena, s->puts);
	frontier_submit(r->frontier, s);
}

/* One whose answer is not archived, and has no checkpoint. */
static void
submit_unarchived(struct rig *r, struct call_page *p, unsigned *durable)
{
	memset(p, 0, sizeof(*p));
	p->durable = durable;
	p->submission = (struct submission){ .home = r->loop,
	    .durable = call_durable, .crawl = r->crawl,
	    .outcome = OUTCOME_NONE, .lease.url = STR("http://a/0") };
	frontier_submit(r->frontier, &p->submission);
}

static void
call_end(struct call_page *p)
{
	arena_free(&p->submission.arena);
	buf_free(&p->submission.journal_rest);
}

static void
begin_tasks(struct rig *r)
{
	rig_init(r);
	r->kind = CRAWL_TASKS;
	rig_open(r);
	rig_begin(r, NULL);
}

/* The same URL as often as it comes; neither queue nor table knows it. */
static void
test_calls_are_numbered(void **state)
{
	struct call_page p;
	unsigned durable = 0;
	struct rig r;

	(void)state;
	begin_tasks(&r);
	for (unsigned n = 1; n <= CALLS; n++) {
		submit_call(&r, &p, n, &durable);
		rig_pass(&r, 10);
		assert_int_equal(durable, n);
		assert_int_equal(p.submission.seq, n);
		call_end(&p);
		rig_restart(&r, n % 2 == 1);
	}
	struct crawl_view v = rig_view(&r);
	assert_int_equal(rig_captures(&r), CALLS);
	assert_int_equal(v.item_last, CALLS);
	assert_int_equal(v.counts.items, CALLS);
	assert_int_equal(v.counts.status[2], CALLS);
	assert_int_equal(v.counts.queued, 0);
	assert_int_equal(v.queues, 0);
	assert_int_equal(v.state, CRAWL_RUNNING);
	assert_int_equal(rig_url_state(&r, "http://a/0"), URL_UNKNOWN);
	assert_true(str_eq(checkpoint(&r), STR("3")));
	frontier_check(r.frontier);
	end(&r);
}

static void
live(struct rig *r, unsigned steps)
{
	while (steps-- > 0)
		if (!loop_step(r->loop))
			world.mono.ns = MAX(world.mono.ns,
			    loop_next_timer(r->loop).ns);
}

/* Three calls, and a kill or a power cut so many steps on; true: all three
 * were durable before. */
static bool
cut_after(unsigned steps, bool power)
{
	struct call_page pages[CALLS];
	struct why w = WHY_INIT;
	unsigned durable = 0;
	struct rig r;

	begin_tasks(&r);
	for (unsigned i = 0; i < CALLS; i++) {
		submit_call(&r, &pages[i], i + 1, &durable);
		live(&r, steps / CALLS + (i < steps % CALLS));
	}
	rig_crash(&r, power);
	for (unsigned i = 0; i < CALLS; i++)
		call_end(&pages[i]);
	rig_open(&r);
	assert_int_equal(frontier_continue(r.frontier, r.crawl, &w), OK);
	rig_run(&r);
	uint64_t captures = rig_captures(&r), told = 0;
	struct str text = checkpoint(&r);
	assert_true(text.n == 0 || str_to_u64(text, &told));
	/* They agree, and what was acknowledged is there. */
	assert_int_equal(told, captures);
	assert_true(captures >= durable);
	assert_int_equal(rig_view(&r).counts.items, captures);
	end(&r);
	return durable == CALLS;
}

static void
test_calls_and_their_checkpoints(void **state)
{
	unsigned steps = 0;

	(void)state;
	while (!cut_after(steps, false) || !cut_after(steps, true))
		assert_true(++steps < 1000);
	assert_true(steps > CALLS);
}

/* Where groups gather for a while, a harvest does not wait for that, nor does
 * an answer that is not archived. */
static void
test_a_call_of_a_harvest_is_in_a_hurry(void **state)
{
	static const enum crawl_kind kinds[] = { CRAWL_TASKS, CRAWL_HARVEST };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct call_page p;
		unsigned durable = 0;
		struct rig r;
		rig_init(&r);
		r.kind = kinds[i];
		r.options.ledger.group_promises_few = 0;
		r.options.ledger.group_ms_max = 10;
		rig_open(&r);
		rig_begin(&r, NULL);
		rig_pass(&r, 10);
		/* After a pause none waits. */
		submit_call(&r, &p, 1, &durable);
		rig_run(&r);
		assert_int_equal(durable, 1);
		call_end(&p);
		submit_call(&r, &p, 2, &durable);
		rig_run(&r);
		assert_int_equal(durable, 1 + (kinds[i] == CRAWL_HARVEST));
		rig_pass(&r, 10);
		assert_int_equal(durable, 2);
		call_end(&p);
		submit_unarchived(&r, &p, &durable);
		rig_run(&r);
		assert_int_equal(durable, 3);
		call_end(&p);
		end(&r);
	}
}

/* Neither number nor checkpoint: it would tell of an answer that is lost. */
static void
test_call_after_the_end(void **state)
{
	struct call_page p;
	unsigned durable = 0;
	struct rig r;

	(void)state;
	begin_tasks(&r);
	submit_call(&r, &p, 1, &durable);
	rig_pass(&r, 10);
	call_end(&p);
	rig_state(&r, CRAWL_CANCELLED, OK);
	submit_call(&r, &p, 2, &durable);
	rig_pass(&r, 10);
	assert_int_equal(durable, 2);
	assert_int_equal(p.submission.seq, 0);
	call_end(&p);
	assert_int_equal(rig_captures(&r), 1);
	assert_true(str_eq(checkpoint(&r), STR("1")));
	end(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_outcome),
		cmocka_unit_test(test_returned),
		cmocka_unit_test(test_one_lease_counts_once),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_failed_with_an_answer),
		cmocka_unit_test(test_digest_and_validator),
		cmocka_unit_test(test_puts_after_the_end),
		cmocka_unit_test(test_calls_are_numbered),
		cmocka_unit_test(test_calls_and_their_checkpoints),
		cmocka_unit_test(test_a_call_of_a_harvest_is_in_a_hurry),
		cmocka_unit_test(test_call_after_the_end),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
