/* The frontier's verbs on a real ledger, and its promises through crashes. */
#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/url_query.h"
#include "tests/rounds.h"


/* --- order --------------------------------------------------------------- */

static void
test_cost_then_age(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", NULL);
	struct lease l = rig_next(&r, "a", "http://a/0");
	struct submission *s = rig_page(&r, &l, OUTCOME_ITEM);
	rig_add(&r, s, "http://a/five", 5, SKIP_NONE);
	rig_add(&r, s, "http://a/one", 1, SKIP_NONE);
	rig_add(&r, s, "http://a/one-younger", 1, SKIP_NONE);
	rig_add(&r, s, "http://a/0-but-two", 2, SKIP_NONE);
	rig_hand_in(&r, s);
	assert_int_equal(rig_lease(&r, "a", 10), 4);
	assert_string_equal(r.leases[0].url.p, "http://a/one");
	assert_string_equal(r.leases[1].url.p, "http://a/one-younger");
	assert_string_equal(r.leases[2].url.p, "http://a/0-but-two");
	assert_string_equal(r.leases[3].url.p, "http://a/five");
	assert_true(r.leases[1].rank > r.leases[0].rank);
	rig_none(&r, "a");
	rig_close(&r);
	rig_end(&r);
}

/* The cursor stands behind cost 5 when something cheaper is found. */
static void
test_cheaper_moves_the_cursor_back(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", NULL);
	struct lease seed = rig_next(&r, "a", "http://a/0");
	struct submission *s = rig_page(&r, &seed, OUTCOME_ITEM);
	rig_add(&r, s, "http://a/5", 5, SKIP_NONE);
	rig_add(&r, s, "http://a/6", 6, SKIP_NONE);
	rig_hand_in(&r, s);
	struct lease five = rig_next(&r, "a", "http://a/5");
	s = rig_page(&r, &five, OUTCOME_ITEM);
	rig_add(&r, s, "http://a/2", 2, SKIP_NONE);
	rig_hand_in(&r, s);
	struct lease two = rig_next(&r, "a", "http://a/2");
	/* What is given back is the cheapest again. */
	struct lease six = rig_next(&r, "a", "http://a/6");
	rig_done(&r, &two, OUTCOME_RETURNED);
	two = rig_next(&r, "a", "http://a/2");
	rig_done(&r, &six, OUTCOME_ITEM);
	rig_done(&r, &two, OUTCOME_ITEM);
	assert_int_equal(rig_view(&r).state, CRAWL_COMPLETE);
	rig_close(&r);
	rig_end(&r);
}

struct late {
	struct serve serve;
	bool back;
};

static void
late_served(struct serve *s)
{
	CONTAINER(s, struct late, serve)->back = true;
}

/*
 * A cheaper URL is found while a walk is out, at each of the moments that there
 * are: it is not lost behind the walk's end, and a note tells of it.
 */
static void
test_found_behind_a_walk(void **state)
{
	struct rig r;

	(void)state;
	for (unsigned steps = 0; steps < 8; steps++) {
		struct late late = { .back = false };
		rig_init(&r);
		rig_open(&r);
		rig_begin(&r, "http://a/0", "http://b/0", NULL);
		struct lease b = rig_next(&r, "b", "http://b/0");
		struct lease a = rig_next(&r, "a", "http://a/0");
		struct submission *s = rig_page(&r, &a, OUTCOME_ITEM);
		rig_add(&r, s, "http://a/8", 8, SKIP_NONE);
		rig_add(&r, s, "http://a/9", 9, SKIP_NONE);
		rig_hand_in(&r, s);
		s = rig_page(&r, &b, OUTCOME_ITEM);
		rig_add(&r, s, "http://a/1", 1, SKIP_NONE);
		late.serve = (struct serve){ .home = r.loop, .want = 2,
		    .served = late_served, .crawl = r.crawl,
		    .queue = rig_queue(&r, "a"), .note_seen = true };
		r.notes_n = 0;
		frontier_serve(r.frontier, &late.serve);
		for (unsigned i = 0; i < steps; i++)
			loop_step(r.loop);
		rig_hand_in(&r, s);
		assert_true(late.back);
		size_t first = late.serve.n;
		assert_true(first >= 1);
		assert_int_equal(rig_lease(&r, "a", 10), 3 - first);
		if (first == 2 && r.leases_n == 1 &&
		    str_eq(late.serve.leases[0].url, STR("http://a/8")))
			assert_string_equal(r.leases[0].url.p, "http://a/1");
		assert_true(r.notes_n >= 1);
		arena_free(&late.serve.arena);
		buf_free(&late.serve.from);
		rig_close(&r);
		rig_end(&r);
	}
}

static void
test_queues_apart(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://b/0", "http://a/1", NULL);
	assert_int_equal(r.notes_n, 2);
	assert_int_equal(rig_view(&r).queues, 2);
	assert_int_equal(rig_lease(&r, "a", 10), 2);
	assert_int_equal(rig_lease(&r, "b", 10), 1);
	/* A second crawl knows nothing of the first. */
	rig_begin(&r, "http://a/0", NULL);
	rig_next(&r, "a", "http://a/0");
	rig_close(&r);
	rig_end(&r);
}

/* --- admission ----------------------------------------------------------- */

static void
test_each_url_once(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://a/0", "http://a/1", NULL);
	assert_int_equal(rig_view(&r).counts.queued, 2);
	assert_int_equal(rig_url_state(&r, "http://a/2"), URL_UNKNOWN);
	struct lease l = rig_next(&r, "a", "http://a/0");
	assert_int_equal(rig_url_state(&r, "http://a/0"), URL_LEASED);
	struct submission *s = rig_page(&r, &l, OUTCOME_ITEM);
	rig_add(&r, s, "http://a/0", 1, SKIP_NONE);  /* itself */
	rig_add(&r, s, "http://a/1", 0, SKIP_NONE);  /* waiting */
	rig_add(&r, s, "http://a/2", 1, SKIP_NONE);
	rig_add(&r, s, "http://a/2", 1, SKIP_NONE);  /* twice in a page */
	rig_add(&r, s, "http://a/2", 1, SKIP_SCOPE);
	rig_hand_in(&r, s);
	assert_int_equal(rig_view(&r).counts.queued, 2);
	assert_int_equal(rig_view(&r).counts.skips[SKIP_SCOPE], 0);
	assert_int_equal(rig_url_state(&r, "http://a/0"), URL_DONE);
	assert_int_equal(rig_lease(&r, "a", 10), 2);
	s = rig_page(&r, NULL, OUTCOME_NONE);
	rig_add(&r, s, "http://a/0", 0, SKIP_NONE);  /* done */
	rig_add(&r, s, "http://a/1", 0, SKIP_NONE);  /* leased */
	rig_hand_in(&r, s);
	rig_none(&r, "a");
	assert_int_equal(rig_view(&r).counts.queued, 2);
	rig_close(&r);
	rig_end(&r);
}

static void
test_skipped_and_found_again(void **state)
{
	struct rig r;
	const struct crawl_counts *n = &r.told.counts;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", NULL);
	struct submission *s = rig_page(&r, NULL, OUTCOME_NONE);
	rig_add(&r, s, "http://a/1", 1, SKIP_DEPTH);
	rig_add(&r, s, "http://a/1", 1, SKIP_COST);  /* counted once */
	rig_add(&r, s, "http://a/2", 1, SKIP_SCOPE);
	rig_hand_in(&r, s);
	assert_int_equal(n->skips[SKIP_DEPTH], 1);
	assert_int_equal(n->skips[SKIP_COST], 0);
	assert_int_equal(n->skips[SKIP_SCOPE], 1);
	assert_int_equal(n->queued, 1);
	assert_int_equal(rig_url_state(&r, "http://a/1"), URL_SKIPPED);
	/* The same after a restart: the reason is not forgotten. */
	rig_restart(&r, true);
	s = rig_page(&r, NULL, OUTCOME_NONE);
	rig_add(&r, s, "http://a/1", 1, SKIP_NONE);
	rig_add(&r, s, "http://a/1", 1, SKIP_NONE);
	rig_hand_in(&r, s);
	assert_int_equal(n->skips[SKIP_DEPTH], 0);
	assert_int_equal(n->skips[SKIP_SCOPE], 1);
	assert_int_equal(n->queued, 2);
	/* Out of the limits again: it is queued already. */
	s = rig_page(&r, NULL, OUTCOME_NONE);
	rig_add(&r, s, "http://a/1", 1, SKIP_DEPTH);
	rig_hand_in(&r, s);
	assert_int_equal(n->skips[SKIP_DEPTH], 0);
	assert_int_equal(n->queued, 2);
	rig_restart(&r, true);
	assert_int_equal(rig_lease(&r, "a", 10), 2);
	rig_close(&r);
	rig_end(&r);
}

/* What the index says of each state, and of a capture of an ended crawl. */
static void
test_found_in_the_index(void **state)
{
	struct rig r;
	struct url_fact fact;
	struct str host = STR("a");

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://a/1", NULL);
	struct lease l = rig_next(&r, "a", "http://a/0");
	struct submission *s = rig_page(&r, &l, OUTCOME_EXCEPTION);
	rig_add(&r, s, "http://a/2", 3, SKIP_DEPTH);
	rig_hand_in(&r, s);
	assert_int_equal(frontier_find_url(r.frontier, r.crawl,
	    STR("http://a/0"), host, &fact), URL_DONE);
	assert_int_equal(fact.outcome, OUTCOME_EXCEPTION);
	assert_int_equal(fact.reason, EXCEPTION_TIMEOUT);
	assert_int_equal(frontier_find_url(r.frontier, r.crawl,
	    STR("http://a/1"), host, &fact), URL_WAITING);
	assert_int_equal(frontier_find_url(r.frontier, r.crawl,
	    STR("http://a/2"), host, &fact), URL_SKIPPED);
	assert_int_equal(fact.reason, SKIP_DEPTH);
	assert_int_equal(fact.depth, 3);
	assert_int_equal(frontier_find_url(r.frontier, r.crawl,
	    STR("http://a/3"), host, &fact), URL_UNKNOWN);
	assert_int_equal(frontier_find_name(r.frontier, STR("test")),
	    r.crawl);
	assert_int_equal(frontier_find_name(r.frontier, STR("tes")),
	    UINT32_MAX);
	rig_close(&r);
	rig_end(&r);
}

/* --- leases and restarts ------------------------------------------------- */

static void
test_leases_return_after_a_crash(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://a/1", "http://a/2", NULL);
	assert_int_equal(rig_lease(&r, "a", 3), 3);
	struct lease done = r.leases[1], stale = r.leases[0];
	rig_done(&r, &done, OUTCOME_ITEM);
	assert_int_equal(rig_view(&r).counts.leased, 2);
	rig_restart(&r, true);
	assert_int_equal(rig_view(&r).counts.leased, 0);
	assert_int_equal(rig_view(&r).counts.queued, 2);
	/* A lease of the process before is none. */
	rig_done(&r, &stale, OUTCOME_ITEM);
	assert_int_equal(rig_view(&r).counts.items, 1);
	assert_int_equal(rig_lease(&r, "a", 3), 2);
	assert_string_equal(r.leases[0].url.p, "http://a/0");
	assert_string_equal(r.leases[1].url.p, "http://a/2");
	rig_close(&r);
	rig_end(&r);
}

/* The same by the log (killed) and by the checkpoint of a good end. */
static void
test_a_restart_changes_nothing(void **state)
{
	struct rig r;

	(void)state;
	for (int crash = 0; crash < 2; crash++) {
		rig_init(&r);
		r.host_urls_max = 9;
		rig_open(&r);
		rig_begin(&r, "http://a/0", "http://b/0", NULL);
		struct lease l = rig_next(&r, "a", "http://a/0");
		struct submission *s = rig_page(&r, &l, OUTCOME_ITEM);
		rig_add(&r, s, "http://c/1", 1, SKIP_NONE);
		rig_add(&r, s, "http://a/2", 2, SKIP_URL);
		rig_hand_in(&r, s);
		assert_int_equal(r.seq, 1);
		struct crawl_view before = rig_view(&r);
		rig_restart(&r, crash != 0);
		struct crawl_view after = rig_view(&r);
		assert_memory_equal(&before.counts, &after.counts,
		    sizeof(before.counts));
		assert_int_equal(before.queues, after.queues);
		assert_int_equal(before.created.us, after.created.us);
		/* The age goes on: what is found now is the youngest. */
		s = rig_page(&r, NULL, OUTCOME_NONE);
		rig_add(&r, s, "http://c/0", 1, SKIP_NONE);
		rig_hand_in(&r, s);
		assert_int_equal(rig_lease(&r, "c", 2), 2);
		assert_string_equal(r.leases[0].url.p, "http://c/1");
		l = r.leases[1];
		rig_done(&r, &l, OUTCOME_ITEM);
		assert_int_equal(r.seq, 2);
		assert_int_equal(rig_captures(&r), 2);
		rig_close(&r);
		rig_end(&r);
	}
}

/* --- a crawl's states ---------------------------------------------------- */

static void
test_pause_and_go_on(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://a/1", NULL);
	assert_int_equal(r.told.state, CRAWL_RUNNING);
	assert_int_equal(r.notes_n, 1);
	struct lease l = rig_next(&r, "a", "http://a/0");
	rig_state(&r, CRAWL_PAUSED, OK);
	rig_state(&r, CRAWL_PAUSED, OK);
	assert_int_equal(r.told.state, CRAWL_PAUSED);
	assert_string_equal(r.told.reason, "a test");
	rig_none(&r, "a");
	/* What is out is taken in, its links too; nobody is told of them. */
	struct submission *s = rig_page(&r, &l, OUTCOME_ITEM);
	rig_add(&r, s, "http://b/0", 0, SKIP_NONE);
	rig_hand_in(&r, s);
	assert_int_equal(r.told.counts.items, 1);
	assert_int_equal(r.told.counts.queued, 2);
	assert_int_equal(r.notes_n, 1);
	rig_none(&r, "b");
	rig_restart(&r, true);
	assert_int_equal(rig_view(&r).state, CRAWL_PAUSED);
	assert_int_equal(r.notes_n, 0);
	rig_state(&r, CRAWL_RUNNING, OK);
	assert_int_equal(r.notes_n, 2);
	assert_int_equal(rig_lease(&r, "a", 9) + rig_lease(&r, "b", 9), 2);
	rig_close(&r);
	rig_end(&r);
}

static void
test_cancelled(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://a/1", NULL);
	struct lease l = rig_next(&r, "a", "http://a/0");
	rig_state(&r, CRAWL_CANCELLED, OK);
	assert_int_equal(r.told.state, CRAWL_CANCELLED);
	assert_true(r.told.ended.us != 0);
	rig_none(&r, "a");
	/* What comes in afterwards counts no more. */
	struct submission *s = rig_page(&r, &l, OUTCOME_ITEM);
	rig_add(&r, s, "http://a/9", 0, SKIP_NONE);
	rig_hand_in(&r, s);
	assert_int_equal(r.durable, OK);
	assert_int_equal(rig_view(&r).counts.items, 0);
	assert_int_equal(rig_captures(&r), 0);
	/* Nor does it keep a place in the table. */
	assert_int_equal(rig_url_state(&r, "http://a/0"), URL_UNKNOWN);
	rig_state(&r, CRAWL_CANCELLED, OK);
	rig_state(&r, CRAWL_COMPLETE, OK);           /* it has ended */
	assert_int_equal(rig_view(&r).state, CRAWL_CANCELLED);
	rig_state(&r, CRAWL_RUNNING, ERR_STATE);
	rig_state(&r, CRAWL_PAUSED, ERR_STATE);
	rig_restart(&r, true);
	assert_int_equal(rig_view(&r).state, CRAWL_CANCELLED);
	assert_int_equal(frontier_continue(r.frontier, r.crawl, NULL),
	    ERR_STATE);
	assert_int_equal(frontier_continue(r.frontier, 99, NULL), ERR_ABSENT);
	assert_int_equal(frontier_set_state(r.frontier, 99, CRAWL_PAUSED, "",
	    NULL), ERR_ABSENT);
	/* Nothing changed since the crash, and the log goes all the same. */
	rig_restart(&r, false);
	assert_int_equal(rig_view(&r).state, CRAWL_CANCELLED);
	assert_int_equal(rig_view(&r).queues, 1);
	rig_close(&r);
	rig_end(&r);
}

static void
test_ends_by_itself(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", NULL);
	struct lease l = rig_next(&r, "a", "http://a/0");
	struct submission *s = rig_page(&r, &l, OUTCOME_EXCEPTION);
	rig_add(&r, s, "http://a/1", 1, SKIP_DEPTH);
	rig_hand_in(&r, s);
	assert_int_equal(r.told.state, CRAWL_COMPLETE);
	assert_string_equal(r.told.reason, "every fetch failed");
	rig_begin(&r, "http://b/0", NULL);
	l = rig_next(&r, "b", "http://b/0");
	rig_done(&r, &l, OUTCOME_SKIPPED);
	assert_int_equal(r.told.state, CRAWL_COMPLETE);
	assert_string_equal(r.told.reason,
	    "every URL was skipped: robots.txt forbids it");
	/* No seed at all: over at once. */
	rig_begin(&r, NULL);
	assert_int_equal(rig_view(&r).state, CRAWL_COMPLETE);
	rig_close(&r);
	rig_end(&r);
}

static void
test_log_fails(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", NULL);
	struct lease l = rig_next(&r, "a", "http://a/0");
	file_fault(FILE_CALL_SYNC, 1, FILE_FAULT_FOREVER, ERR_IO);
	rig_hand_in(&r, rig_page(&r, &l, OUTCOME_ITEM));
	assert_int_equal(r.durable, ERR_BROKEN);
	assert_true(r.failed);
	/* And whoever comes later hears it at once. */
	rig_hand_in(&r, rig_page(&r, NULL, OUTCOME_NONE));
	assert_int_equal(r.durable, ERR_BROKEN);
	assert_int_equal(r.told.counts.items, 0);
	rig_restart(&r, true);
	assert_int_equal(rig_view(&r).counts.items, 0);
	rig_next(&r, "a", "http://a/0");
	rig_close(&r);
	rig_end(&r);
}

/* --- limits, each at its edge -------------------------------------------- */

/* Captures under way count: never one more is handed out than may be. */
static void
test_max_items(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.max_items = 3;
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://a/1", "http://a/2", "http://a/3",
	    "http://b/0", NULL);
	assert_int_equal(rig_lease(&r, "a", 10), 3);
	struct lease l[3] = { r.leases[0], r.leases[1], r.leases[2] };
	rig_none(&r, "b");
	/* An exception leaves room for another, and the other hears of it. */
	r.notes_n = 0;
	rig_done(&r, &l[0], OUTCOME_EXCEPTION);
	assert_true(r.notes_n >= 1);
	assert_int_equal(rig_lease(&r, "b", 10), 1);
	struct lease b = r.leases[0];
	rig_none(&r, "a");
	rig_done(&r, &l[1], OUTCOME_ITEM);
	rig_done(&r, &l[2], OUTCOME_ITEM);
	assert_int_equal(rig_view(&r).state, CRAWL_RUNNING);
	rig_restart(&r, true);           /* the limit is the crawl's */
	assert_int_equal(rig_lease(&r, "b", 10), 1);
	b = r.leases[0];
	rig_none(&r, "a");
	rig_done(&r, &b, OUTCOME_ITEM);
	assert_int_equal(r.told.state, CRAWL_COMPLETE);
	assert_string_equal(r.told.reason, "max_items");
	assert_int_equal(r.told.counts.items, 3);
	assert_int_equal(r.told.counts.queued, 1);
	assert_int_equal(rig_captures(&r), 3);
	rig_close(&r);
	rig_end(&r);
}

/* As many URLs as the limit: all are fetched. */
static void
test_max_items_just_enough(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.max_items = 2;
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://a/1", NULL);
	assert_int_equal(rig_lease(&r, "a", 10), 2);
	struct lease l = r.leases[1];
	rig_done(&r, &r.leases[0], OUTCOME_ITEM);
	assert_int_equal(r.told.state, CRAWL_RUNNING);
	rig_done(&r, &l, OUTCOME_ITEM);
	assert_int_equal(r.told.state, CRAWL_COMPLETE);
	assert_string_equal(r.told.reason, "everything was fetched");
	rig_close(&r);
	rig_end(&r);
}

static void
test_host_urls_max(void **state)
{
	struct rig r;
	const struct crawl_counts *n = &r.told.counts;

	(void)state;
	rig_init(&r);
	r.host_urls_max = 2;
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://b/0", NULL);
	struct lease l = rig_next(&r, "a", "http://a/0");
	struct submission *s = rig_page(&r, &l, OUTCOME_ITEM);
	rig_add(&r, s, "http://a/1", 1, SKIP_NONE);  /* the second */
	rig_hand_in(&r, s);
	assert_int_equal(n->skips[SKIP_LIMIT], 0);
	s = rig_page(&r, NULL, OUTCOME_NONE);
	rig_add(&r, s, "http://a/2", 1, SKIP_NONE);  /* one too many */
	rig_add(&r, s, "http://b/1", 1, SKIP_NONE);  /* another host */
	rig_hand_in(&r, s);
	assert_int_equal(n->skips[SKIP_LIMIT], 1);
	assert_int_equal(n->queued, 3);
	/* Done or not: the budget does not come back, nor by a restart. */
	l = rig_next(&r, "a", "http://a/1");
	rig_done(&r, &l, OUTCOME_ITEM);
	rig_restart(&r, true);
	s = rig_page(&r, NULL, OUTCOME_NONE);
	rig_add(&r, s, "http://a/3", 1, SKIP_NONE);
	rig_add(&r, s, "http://a/2", 1, SKIP_NONE);  /* counted already */
	rig_hand_in(&r, s);
	assert_int_equal(n->skips[SKIP_LIMIT], 2);
	rig_close(&r);
	rig_end(&r);
}

/* --- notes ---------------------------------------------------------------- */

/*
 * A queue's note is mail that lies in the queue.  While it is in the box of a
 * loop that does not come to it, the queue is served (the loop asked by itself)
 * and gets URLs: the note must not be posted again.  It once was, and mail was
 * delivered from freed memory.
 */
/* --- sitemaps ------------------------------------------------------------- */

/* The seed's page names sitemaps /1 to /n. */
static void
find_sitemaps(struct rig *r, unsigned n)
{
	rig_begin(r, "http://a/0", NULL);
	rig_run(r);
	struct lease l = rig_next(r, "a", "http://a/0");
	struct submission *s = rig_page(r, &l, OUTCOME_ITEM);

	for (unsigned i = 1; i <= n; i++) {
		rig_add(r, s, arena_printf(&r->arena, "http://a/%u", i).p, 0,
		    SKIP_NONE);
		s->found[s->found_n - 1].flags = FOUND_SITEMAP;
	}
	rig_hand_in(r, s);
}

static void
read_sitemap(struct rig *r, uint64_t bytes)
{
	assert_int_equal(rig_lease(r, "a", 1), 1);
	struct submission *s = rig_page(r, &r->leases[0], OUTCOME_AUX);

	s->body_bytes = bytes;
	rig_hand_in(r, s);
}

/* A page names one sitemap more. */
static uint64_t
queued_with_one_more(struct rig *r, const char *url)
{
	assert_int_equal(rig_lease(r, "a", 1), 1);
	struct submission *s = rig_page(r, &r->leases[0], OUTCOME_AUX);

	rig_add(r, s, url, 0, SKIP_NONE);
	s->found[0].flags = FOUND_SITEMAP;
	rig_hand_in(r, s);
	return rig_view(r).counts.queued;
}

static void
test_sitemap_files_max(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.options.sitemap_files_max = 3;
	rig_open(&r);
	find_sitemaps(&r, 3);
	assert_int_equal(rig_view(&r).counts.queued, 3);
	uint64_t lines = rig_view(&r).log_last;
	/* After a restart too it counts those that were queued before. */
	rig_restart(&r, true);
	assert_int_equal(queued_with_one_more(&r, "http://a/4"), 2);
	assert_int_equal(queued_with_one_more(&r, "http://a/5"), 1);
	/* The log says it once; the other line is the restart. */
	assert_true(rig_view(&r).log_last <= lines + 2);
	assert_true(rig_view(&r).log_last > lines);
	assert_int_equal(rig_view(&r).counts.skips[SKIP_LIMIT], 0);
	rig_close(&r);
	rig_end(&r);
}

static void
test_sitemap_bytes_max(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.options.sitemap_bytes_max = 1000;
	rig_open(&r);
	find_sitemaps(&r, 4);
	read_sitemap(&r, 999);
	/* One byte is left: this one is queued, and read. */
	assert_int_equal(queued_with_one_more(&r, "http://a/5"), 3);
	read_sitemap(&r, 1);
	assert_int_equal(rig_view(&r).sitemap_bytes, 1000);
	rig_restart(&r, true);
	assert_int_equal(rig_view(&r).sitemap_bytes, 1000);
	assert_int_equal(queued_with_one_more(&r, "http://a/6"), 1);
	rig_close(&r);
	rig_end(&r);
}

/* As many sitemaps as pages: --max-pages ends an endless index too. */
static void
test_sitemaps_under_max_items(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.max_items = 5;
	rig_open(&r);
	find_sitemaps(&r, 9);
	assert_int_equal(rig_view(&r).counts.queued, 5);
	rig_close(&r);
	rig_end(&r);
}

static void
test_note_not_posted_twice(void **state)
{
	struct rig r;
	struct late late = { .back = false };

	(void)state;
	rig_init(&r);
	r.away = loop_new("away");
	rig_open(&r);
	rig_begin(&r, "http://a/0", NULL);
	assert_int_equal(r.notes_n, 0);          /* it lies in the box */
	late.serve = (struct serve){ .home = r.loop, .want = 1,
	    .served = late_served, .crawl = r.crawl,
	    .queue = rig_queue(&r, "a"), .note_seen = false };
	frontier_serve(r.frontier, &late.serve);
	rig_pass(&r, 10);
	assert_int_equal(late.serve.n, 1);
	struct submission *s = rig_page(&r, &late.serve.leases[0],
	    OUTCOME_ITEM);
	rig_add(&r, s, "http://a/1", 1, SKIP_NONE);
	rig_hand_in(&r, s);
	for (int i = 0; i < 10; i++)
		loop_step(r.away);
	assert_int_equal(r.notes_n, 1);
	/* It was seen: the next URL is told of. */
	struct lease l = rig_next(&r, "a", "http://a/1");
	s = rig_page(&r, &l, OUTCOME_ITEM);
	rig_add(&r, s, "http://a/2", 1, SKIP_NONE);
	rig_hand_in(&r, s);
	for (int i = 0; i < 10; i++)
		loop_step(r.away);
	assert_int_equal(r.notes_n, 2);
	arena_free(&late.serve.arena);
	buf_free(&late.serve.from);
	rig_close(&r);
	rig_end(&r);
}

/* --- many, through crashes ------------------------------------------------ */

static void
test_walks(void **state)
{
	struct rig r;

	(void)state;
	for (uint64_t seed = 1; seed <= 24; seed += ROUNDS_STEP) {
		rig_init(&r);
		/* Small segments: checkpoints in the midst of all. */
		r.options.ledger.segment_bytes = (size_t)4096 << seed % 4;
		r.options.ledger.checkpoint_part = 1 + seed % 7;
		rig_walk(&r, &(struct walk_plan){ .seed = seed, .urls = 400,
		    .hosts = 1 + (unsigned)seed * 7 % 40,
		    .window = 1 + (unsigned)seed % 9,
		    .crashes = (unsigned)seed % 6 });
		rig_end(&r);
	}
}

/* --- frontier.known_mem --------------------------------------------------- */

/*
 * A table of 64 KiB has room for 200 URLs.  Walks over thousands, through
 * crashes: every URL is admitted once and fetched once, and the table never
 * exceeds its limit (rig_walk() looks in each step).
 */
static void
test_table_that_forgets(void **state)
{
	struct rig r;

	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed += ROUNDS_STEP) {
		rig_init(&r);
		r.options.known_bytes_max = 64 << 10;
		r.options.ledger.segment_bytes = (size_t)8192 << seed % 4;
		rig_walk(&r, &(struct walk_plan){ .seed = seed, .urls = 2000,
		    .hosts = 1 + (unsigned)seed * 3, .window = 3,
		    .crashes = (unsigned)seed % 4,
		    .known_bytes_max = r.options.known_bytes_max });
		assert_true(r.forgotten > 100);
		rig_end(&r);
	}
}

static void
add_many(struct rig *r, struct submission *s, unsigned from)
{
	char url[40];

	for (unsigned i = 0; i < 40; i++) {
		snprintf(url, sizeof(url), "http://a/%u", from + i);
		rig_add(r, s, url, 1, SKIP_NONE);
	}
}

/*
 * More links at once than there is memory for: some wait until others are in.
 * Half of them were admitted before, and forgotten.
 */
static void
test_more_links_than_memory(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.options.known_bytes_max = 64 << 10;
	rig_open(&r);
	rig_begin(&r, "http://a/seed", NULL);
	for (unsigned round = 0; round < 3; round++) {
		unsigned n = 15 * (round + 1);
		r.durable_n = 0;
		for (unsigned i = 0; i < n; i++) {
			struct submission *s = rig_page(&r, NULL,
			    OUTCOME_NONE);
			add_many(&r, s, i * 40);
			frontier_submit(r.frontier, s);
		}
		while (loop_step(r.loop)) {
			frontier_check(r.frontier);
			assert_true(rig_known_bytes(&r) <= 64 << 10);
		}
		assert_int_equal(r.durable_n, n);
		assert_int_equal(r.durable, OK);
		assert_int_equal(rig_view(&r).counts.queued, 1 + n * 40);
	}
	/* A table of which nothing can go stands above its limit, and works. */
	assert_int_equal(rig_lease(&r, "a", 500), 500);
	struct submission *s = rig_page(&r, NULL, OUTCOME_NONE);
	add_many(&r, s, 99999);
	rig_hand_in(&r, s);
	assert_int_equal(rig_view(&r).counts.queued, 1 + 46 * 40);
	rig_done(&r, &r.leases[7], OUTCOME_ITEM);
	assert_int_equal(rig_view(&r).counts.leased, 499);
	/* Also for those that come while a walk is out. */
	struct late late = { .serve = { .home = r.loop, .want = 1,
	    .served = late_served, .crawl = r.crawl,
	    .queue = rig_queue(&r, "a") } };
	r.durable_n = 0;
	frontier_serve(r.frontier, &late.serve);
	frontier_submit(r.frontier, rig_page(&r, NULL, OUTCOME_NONE));
	s = rig_page(&r, NULL, OUTCOME_NONE);
	rig_add(&r, s, "http://a/last", 0, SKIP_NONE);
	frontier_submit(r.frontier, s);
	rig_pass(&r, 10);
	assert_true(late.back && late.serve.n == 1);
	assert_int_equal(r.durable_n, 2);
	arena_free(&late.serve.arena);
	buf_free(&late.serve.from);
	rig_close(&r);
	rig_end(&r);
}

/* The ledger fails while submissions wait for the index: all hear of it. */
static void
test_log_fails_while_links_wait(void **state)
{
	struct rig r;

	(void)state;
	for (unsigned sync = 1; sync <= 6; sync++) {
		rig_init(&r);
		r.options.known_bytes_max = 32 << 10;
		rig_open(&r);
		rig_begin(&r, "http://a/seed", NULL);
		r.durable_n = 0;
		file_fault(FILE_CALL_SYNC, sync, FILE_FAULT_FOREVER, ERR_IO);
		for (unsigned i = 0; i < 20; i++) {
			struct submission *s = rig_page(&r, NULL,
			    OUTCOME_NONE);
			add_many(&r, s, i * 40);
			frontier_submit(r.frontier, s);
		}
		rig_pass(&r, 100);
		assert_true(r.failed);
		assert_int_equal(r.durable_n, 20);
		assert_int_equal(r.durable, ERR_BROKEN);
		rig_restart(&r, true);
		rig_next(&r, "a", "http://a/seed");
		rig_close(&r);
		rig_end(&r);
	}
}

/* --- frontier.hosts_active_max -------------------------------------------- */

static void
test_hosts_at_the_limit(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.options.hosts_active_max = 2;
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://b/0", "http://c/0", "http://a/1",
	    NULL);
	assert_int_equal(r.notes_n, 2);      /* a and b are told of, not c */
	struct lease a = rig_next(&r, "a", "http://a/0");
	struct lease b = rig_next(&r, "b", "http://b/0");
	rig_none(&r, "c");                   /* who asks all the same waits */
	assert_int_equal(r.notes_n, 2);
	/* One has nothing left: the place goes to the third. */
	rig_done(&r, &b, OUTCOME_ITEM);
	assert_int_equal(r.notes_n, 3);
	assert_int_equal(r.notes[2], rig_queue(&r, "c"));
	struct lease c = rig_next(&r, "c", "http://c/0");
	/* Links to a host that rests: it is told of when there is a place. */
	struct submission *s = rig_page(&r, &a, OUTCOME_ITEM);
	rig_add(&r, s, "http://d/0", 1, SKIP_NONE);
	assert_int_equal(rig_lease(&r, "a", 1), 1);
	struct lease a1 = r.leases[0];
	rig_hand_in(&r, s);
	assert_int_equal(r.notes_n, 3);
	rig_done(&r, &c, OUTCOME_EXCEPTION);
	assert_int_equal(r.notes_n, 4);
	rig_next(&r, "d", "http://d/0");
	/* After a restart the places are free. */
	rig_restart(&r, true);
	assert_int_equal(r.notes_n, 2);
	(void)a1;
	rig_close(&r);
	rig_end(&r);
}

/* A crawl that is paused or over holds no place that others need. */
static void
test_places_of_other_crawls(void **state)
{
	struct rig r;

	(void)state;
	for (int ends = 0; ends < 2; ends++) {
		rig_init(&r);
		r.options.hosts_active_max = 1;
		rig_open(&r);
		rig_begin(&r, "http://a/0", NULL);
		uint32_t first = r.crawl;
		rig_begin(&r, "http://b/0", NULL);
		uint32_t second = r.crawl;
		assert_int_equal(r.notes_n, 1);
		rig_none(&r, "b");
		r.crawl = first;
		rig_state(&r, ends ? CRAWL_CANCELLED : CRAWL_PAUSED, OK);
		r.crawl = second;
		struct lease b = rig_next(&r, "b", "http://b/0");
		r.crawl = first;
		rig_state(&r, CRAWL_RUNNING, ends ? ERR_STATE : OK);
		rig_none(&r, "a");
		r.crawl = second;
		rig_done(&r, &b, OUTCOME_ITEM);
		r.crawl = first;
		assert_int_equal(rig_lease(&r, "a", 1), !ends);
		rig_close(&r);
		rig_end(&r);
	}
}

/* Many hosts, few places, a table that forgets: all is fetched. */
static void
test_walks_with_few_places(void **state)
{
	struct rig r;

	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed += ROUNDS_STEP) {
		rig_init(&r);
		r.options.hosts_active_max = 1 + (unsigned)seed % 4;
		r.options.known_bytes_max = seed % 2 == 0 ? 64 << 10 : 0;
		rig_walk(&r, &(struct walk_plan){ .seed = 100 + seed,
		    .urls = 600, .hosts = 50, .window = 1 + seed % 6,
		    .crashes = (unsigned)seed % 3,
		    .active_max = r.options.hosts_active_max,
		    .known_bytes_max = r.options.known_bytes_max });
		rig_end(&r);
	}
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_cost_then_age),
		TEST(test_cheaper_moves_the_cursor_back),
		TEST(test_found_behind_a_walk),
		TEST(test_queues_apart),
		TEST(test_each_url_once),
		TEST(test_skipped_and_found_again),
		TEST(test_found_in_the_index),
		TEST(test_leases_return_after_a_crash),
		TEST(test_a_restart_changes_nothing),
		TEST(test_pause_and_go_on),
		TEST(test_cancelled),
		TEST(test_ends_by_itself),
		TEST(test_log_fails),
		TEST(test_max_items),
		TEST(test_max_items_just_enough),
		TEST(test_host_urls_max),
		TEST(test_sitemap_files_max),
		TEST(test_sitemap_bytes_max),
		TEST(test_sitemaps_under_max_items),
		TEST(test_note_not_posted_twice),
		TEST(test_walks),
		TEST(test_table_that_forgets),
		TEST(test_more_links_than_memory),
		TEST(test_log_fails_while_links_wait),
		TEST(test_hosts_at_the_limit),
		TEST(test_places_of_other_crawls),
		TEST(test_walks_with_few_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
