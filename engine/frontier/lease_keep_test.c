/*
 * What is deleted, listed and kept of outsiders' queues: urlfrontier.md,
 * sections 5 and 7.
 */
#include "base/hash.h"
#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/lease_crawl.h"
#include "engine/frontier/lease_testing.h"

static void
fixture(void)
{
	int64_t later = out_now_s() + 3600;
	struct lease_item all[] = {
		out_item("c", "my", "https://m/discovered", DISCOVERED, "md1"),
		out_item("c", "my", "https://m/completed", DISCOVERED, "md2"),
		out_item("c", "my", "https://m/completed", 0, "md2"),
		out_item("c", "my", "https://m/later", later, "md3"),
		out_item("c", "other", "https://m/second", later, "md4"),
		out_item("c", "del", "https://d/tobedeleted", later, ""),
	};

	out_put_all(R, all, ARRAY_LEN(all));
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		assert_int_equal(all[i].status, LEASE_OK);
}

/* --- deleting and listing ------------------------------------------------- */

static void
what_is_deleted_starts_afresh(void **state)
{
	struct lease_entry e;
	uint32_t then = out_now_s();

	(void)state;
	fixture();
	out_put(R, "", "my", "https://m/discovered", DISCOVERED);
	assert_int_equal(out_get(R, "c", "my", 1, 1, 500), 1);
	out_set(LEASE_SET_DELAY, "my", 500);
	assert_int_equal(out_gone(LEASE_DELETE_QUEUE, "c", "none"), 0);
	assert_int_equal(out_gone(LEASE_DELETE_QUEUE, "c", "my"), 3);
	out_assert_stats(R, "c", "", 2, 0, 0, 2);
	rig_pass(R, 5000);
	assert_int_equal(out_put(R, "c", "my", "https://m/completed",
	    DISCOVERED), LEASE_OK);
	assert_int_equal(out_status(R, "c", "my", "https://m/completed", &e),
	    OK);
	assert_int_equal(e.created_s, then + 5);
	assert_int_equal(out_get(R, "c", "my", 1, 1, 1), 1);
	for (int i = 0; i < 2; i++) {
		out_restart(R, i == 0);
		out_assert_stats(R, "c", "my", 1, 1 - (uint64_t)i, 0, 1);
		rig_pass(R, 1000);
	}
	assert_int_equal(out_gone(LEASE_DELETE_CRAWL, "none", ""), 0);
	assert_int_equal(out_gone(LEASE_DELETE_CRAWL, "c", ""), 3);
	out_assert_stats(R, "c", "", 0, 0, 0, 0);
	out_assert_stats(R, "", "", 1, 0, 0, 1);
	assert_int_equal(out_put(R, "c", "my", "https://m/later", DISCOVERED),
	    LEASE_OK);
	for (int i = 0; i < 2; i++) {
		out_restart(R, i == 0);
		out_assert_stats(R, "c", "", 1, 0, 0, 1);
	}
	assert_int_equal(out_gone(LEASE_DELETE_CRAWL, "", ""), 1);
	assert_int_equal(out_get(R, NULL, "", 0, 0, 1), 1);
}

/*
 * RocksDB writes its tables when it likes: the index may hold a queue whose
 * key's deletion, of an older one, is still in the log and is done once more.
 */
static void
a_record_survives_an_older_deletion(void **state)
{
	(void)state;
	fixture();
	out_restart(R, false);
	assert_int_equal(out_gone(LEASE_DELETE_QUEUE, "c", "my"), 3);
	assert_int_equal(out_put(R, "c", "my", "https://m/again", DISCOVERED),
	    LEASE_OK);
	rig_run(R);
	assert_int_equal(index_flush(ledger_index(rig.frontier->ledger),
	    STR_NONE, STR_NONE, NULL), OK);
	for (int i = 0; i < 2; i++) {
		out_restart(R, i == 0);
		out_assert_stats(R, "c", "my", 1, 0, 0, 1);
	}
}

/* Known entries of what was deleted go, and ids are not given again. */
static void
deletion_leaves_nothing(void **state)
{
	struct url_table_stats before, after;

	(void)state;
	url_table_stats(rig.frontier->known, &before);
	for (unsigned i = 0; i < 100; i++)
		out_put(R, "c", out_text("k%u", i % 7), out_text("u%u", i), 5);
	out_gone(LEASE_DELETE_QUEUE, "c", "k1");
	out_gone(LEASE_DELETE_CRAWL, "c", "");
	rig_pass(R, 100);
	url_table_stats(rig.frontier->known, &after);
	assert_int_equal(after.count, before.count);
	struct index_iter *i = index_iter_new(ledger_index(frontier_ledger(
	    rig.frontier)), INDEX_URL);
	struct str key, value;
	index_iter_seek(i, STR(""));
	assert_false(index_iter_valid(i, &key, &value));
	index_iter_free(&i);
	uint32_t next = frontier_next_crawl(rig.frontier);
	out_restart(R, false);
	assert_int_equal(frontier_next_crawl(rig.frontier), next);
	out_put(R, "d", "first", "u", 5);
	out_put(R, "d", "last", "u", 5);
	out_gone(LEASE_DELETE_QUEUE, "d", "last");
	out_restart(R, true);
	out_restart(R, false);
	out_restart(R, false);
	out_put(R, "d", "new", "u", 5);
	const struct lease_crawl *c = lease_find_crawl(rig.frontier,
	    STR("d"));
	const struct lease_queue *q = lease_find_queue(c, STR("new"));
	assert_int_equal(q->id, 3);
}

static size_t
list_urls(const char *crawl, const char *key, uint64_t start, uint64_t size,
    const char *filter, bool ignore_case)
{
	struct lease_list l = { .kind = LEASE_LIST_URLS,
	    .crawl = str_of(crawl), .key = str_of(key), .start = start,
	    .size = size, .filter = str_of(filter),
	    .ignore_case = ignore_case };

	return out_list(R, &l);
}

static uint64_t
count_urls(const char *crawl, const char *key, const char *filter,
    bool ignore_case)
{
	struct lease_list l = { .kind = LEASE_COUNT_URLS,
	    .crawl = str_of(crawl), .key = str_of(key),
	    .filter = str_of(filter), .ignore_case = ignore_case };

	assert_int_equal(out_list(R, &l), 0);
	return got.count;
}

static void
urls_are_listed(void **state)
{
	(void)state;
	fixture();
	assert_int_equal(list_urls("c", "", 0, 100, "", false), 5);
	assert_string_equal(got.entries[0].key.p, "del");
	assert_string_equal(got.entries[1].url.p, "https://m/completed");
	assert_int_equal(got.entries[1].date_s, 0);
	assert_string_equal(got.entries[1].metadata.p, "md2");
	assert_string_equal(got.entries[4].key.p, "other");
	assert_int_equal(list_urls("c", "other", 0, 100, "", false), 1);
	assert_true(got.entries[0].created_s > 0);
	assert_int_equal(list_urls("c", "", 3, 10, "", false), 2);
	assert_int_equal(list_urls("c", "", 1, 2, "", false), 2);
	assert_string_equal(got.entries[0].url.p, "https://m/completed");
	assert_int_equal(list_urls("c", "none", 0, 10, "", false), 0);
	assert_int_equal(list_urls("c", "", 0, 9, "COMPLETED", true), 1);
	assert_int_equal(list_urls("c", "", 0, 9, "COMPLETED", false), 0);
	assert_int_equal(count_urls("c", "", "", false), 5);
	assert_int_equal(count_urls("c", "", "COMPLETED", true), 1);
	assert_int_equal(count_urls("c", "", "COMPLETED", false), 0);
	assert_int_equal(count_urls("c", "my", "/", false), 3);
	assert_int_equal(count_urls("x", "", "", false), 0);
}

/* Pieces of a list have 1,024 at most. */
#define LISTED (SANITIZED ? 5000u : 20000u)

static void
long_lists_are_of_one_moment(void **state)
{
	struct lease_item *items = mem_array(LISTED, sizeof(*items));
	struct lease_list l = { .kind = LEASE_LIST_URLS, .size = 1 << 20,
	    .call = { .home = rig.loop, .done = out_done } };
	size_t n = 0;

	(void)state;
	for (unsigned i = 0; i < LISTED; i++)
		items[i] = out_item("", "k", arena_printf(&rig.arena,
		    "http://u/%05u", i).p, 5, "m");
	out_put_all(R, items, LISTED);
	mem_free(&items);
	assert_int_equal(list_urls("", "k", LISTED - 1000, INT32_MAX, "",
	    false), 1000);
	assert_int_equal(list_urls("", "", 0, 0, "", false), 100);
	do {
		out_back = false;
		lease_list(rig.frontier, &l);
		out_wait(R, &out_back);
		n += l.n;
		out_put(R, "", "k", arena_printf(&rig.arena, "http://u/%05u",
		    (unsigned)n).p, n % 2 ? 0 : 4000000000);
		out_put(R, "", "a", arena_printf(&rig.arena, "http://n/%05u",
		    (unsigned)n).p, 5);
	} while (l.more);
	arena_free(&l.arena);
	assert_int_equal(n, LISTED);
}

static void
queues_are_listed(void **state)
{
	struct lease_list l;

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		const char *key = out_text("k%02u", i);
		out_put(R, i % 3 == 0 ? "other" : "c", key, "u",
		    i % 2 == 0 ? 5 : 0);
		out_put(R, "other", key, "v", 5);
	}
	l = (struct lease_list){ .kind = LEASE_LIST_QUEUES,
	    .crawl = STR("c"), .include_inactive = true };
	assert_int_equal(out_list(R, &l), 8);
	l = (struct lease_list){ .kind = LEASE_LIST_QUEUES,
	    .crawl = STR("c") };
	assert_int_equal(out_list(R, &l), 4);
	assert_string_equal(got.entries[0].key.p, "k02");
	assert_string_equal(got.entries[3].key.p, "k10");
	assert_int_equal(out_control(R, LEASE_BLOCK_UNTIL, "c", "k04",
	    out_now_s() + 9, NULL), OK);
	l = (struct lease_list){ .kind = LEASE_LIST_QUEUES,
	    .crawl = STR("c"), .start = 1, .size = 2 };
	assert_int_equal(out_list(R, &l), 2);
	assert_string_equal(got.entries[0].key.p, "k08");
	assert_string_equal(got.entries[1].key.p, "k10");
	l = (struct lease_list){ .kind = LEASE_LIST_CRAWLS };
	assert_int_equal(out_list(R, &l), 2);
	assert_string_equal(got.entries[0].key.p, "c");
}

static uint64_t
purge(const char *key, uint64_t before_s)
{
	struct lease_list l = { .kind = LEASE_PURGE_URLS,
	    .key = str_of(key), .before_s = before_s };

	out_list(R, &l);
	return got.count;
}

static void
old_urls_are_purged(void **state)
{
	uint32_t then = out_now_s();

	(void)state;
	for (unsigned i = 0; i < 3000; i++)
		if (i % 100 == 0)
			out_put(R, "", out_text("k%u", i % 300),
			    out_text("u%u", i), i % 200 ? 0 : 5);
	out_get(R, "", "", 2, 0, 500);
	rig_pass(R, 10000);
	out_put(R, "", "k0", "young", 5);
	/* Changed, but not younger. */
	out_put(R, "", "k0", "u0", 0);
	assert_int_equal(purge("", then), 0);
	assert_int_equal(purge("k100", then + 1), 10);
	assert_int_equal(purge("", then + 5), 20);
	assert_int_equal(purge("", then + 5), 0);
	out_assert_stats(R, "", "", 1, 0, 0, 3);
	assert_int_equal(out_put(R, "", "k0", "u0", DISCOVERED), LEASE_OK);
	out_restart(R, true);
	out_assert_stats(R, "", "", 2, 0, 0, 3);
	assert_int_equal(out_get(R, "", "", 9, 0, 500), 2);
}

/* --- restarts and clocks -------------------------------------------------- */

/* A name as long as a message allows, NULs, and dates beyond all time. */
static void
unusual_values_survive(void **state)
{
	static const struct str url = { "http://h/a\0b", 12 };
	char *name = mem_new(65536 + 1);
	struct lease_entry e;

	(void)state;
	memset(name, 'c', 65536);
	struct lease_item items[] = { out_item(name, "k", "u", DISCOVERED,
	    "m"), out_item("c", "", "not a url", DISCOVERED, "m"),
	    out_item("c", "k", "far", 1, "m"), out_item("c", "k", "", 5, "m") };
	items[2].date_s = UINT64_MAX;
	items[3].url = url;
	out_put_all(R, items, ARRAY_LEN(items));
	for (int i = 0; i < 2; i++) {
		out_assert_stats(R, name, "", 1, 0, 0, 1);
		assert_int_equal(out_status(R, "c", "not a url", "not a url",
		    &e), OK);
		assert_int_equal(out_status(R, "c", "k", "far", &e), OK);
		assert_int_equal(e.date_s, LEASE_DATE_MAX);
		assert_int_equal(list_urls("c", "k", 0, 9, "", false), 2);
		assert_true(str_eq(got.entries[0].url, url));
		out_restart(R, true);
	}
	assert_int_equal(out_gone(LEASE_DELETE_CRAWL, name, ""), 1);
	mem_free(&name);
}

static void
leases_and_delays_survive(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++)
		out_put(R, "", "k", out_text("u%u", i), 5);
	out_set(LEASE_SET_DELAY, "k", 10);
	assert_int_equal(out_get(R, "", "", 2, 0, 60), 2);
	for (int i = 0; i < 4; i++) {
		out_restart(R, i % 2 == 0);
		out_assert_stats(R, "", "k", 6, 2, 0, 1);
		assert_int_equal(out_get(R, "", "", 9, 0, 60), 0);
		rig_pass(R, 2000);
	}
	rig_pass(R, 2000);
	assert_int_equal(out_get(R, "", "", 9, 0, 60), 4);
	assert_string_equal(out_urls(R), "u2 u3 u4 u5");
	out_put(R, "", "k", "u2", 0);
	out_restart(R, true);
	out_assert_stats(R, "", "k", 5, 5, 1, 1);
	rig_pass(R, 49000);
	out_assert_stats(R, "", "k", 5, 5, 1, 1);
	rig_pass(R, 1500);
	out_assert_stats(R, "", "k", 5, 3, 1, 1);
	assert_int_equal(out_get(R, "", "", 4, 0, 60), 2);
	assert_string_equal(out_urls(R), "u0 u1");
}

static void
a_clock_that_jumps_frees_nothing(void **state)
{
	static const int64_t jumps[] = { 3600, -3600, 86400, -86400 };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(jumps); i++) {
		const char *key = out_text("k%u", (unsigned)i);
		out_put(R, "", key, "a", 5);
		out_put(R, "", key, "b", 5);
		out_control(R, LEASE_SET_DELAY, "", key, 20, NULL);
		assert_int_equal(out_get(R, "", key, 1, 0, 60), 1);
		world.ahead_us += US_PER_S * jumps[i / 2];
		rig_pass(R, 1100);
		if (i % 2 == 0)
			out_restart(R, true);
		rig_pass(R, 18000);
		assert_int_equal(out_get(R, "", key, 2, 0, 60), 0);
		rig_pass(R, 1000);
		assert_int_equal(out_get(R, "", key, 2, 0, 60), 1);
		assert_string_equal(out_urls(R), "b");
		rig_pass(R, 39000);
		assert_int_equal(out_stats(R, "", key).leased, 2);
		rig_pass(R, 1000);
		assert_int_equal(out_stats(R, "", key).leased, 1);
	}
}

/* Set back while nobody looked: at most the whole length is left. */
static void
what_is_left_is_capped_at_a_start(void **state)
{
	(void)state;
	out_put(R, "", "k", "a", 5);
	out_put(R, "", "k", "b", 5);
	out_set(LEASE_SET_DELAY, "k", 20);
	assert_int_equal(out_get(R, "", "k", 1, 0, 60), 1);
	rig_crash(R, true);
	world.ahead_us -= 86400 * US_PER_S;
	rig_open(R);
	rig_pass(R, 19000);
	assert_int_equal(out_get(R, "", "k", 2, 0, 60), 0);
	rig_pass(R, 1000);
	assert_int_equal(out_get(R, "", "k", 2, 0, 60), 1);
	rig_pass(R, 39000);
	assert_int_equal(out_stats(R, "", "k").leased, 2);
	rig_pass(R, 1100);
	assert_int_equal(out_stats(R, "", "k").leased, 1);
}

/* A sweep that a crash cut short leaves URLs that nothing names. */
static void
orphans_go_at_a_start(void **state)
{
	struct lease_control k = { .verb = LEASE_DELETE_QUEUE,
	    .key = STR("k"), .call = { .home = rig.loop, .done = out_done } };

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		out_put(R, "", "k", out_text("u%u", i), 5);
		out_put(R, "c", "k", out_text("u%u", i), 5);
	}
	out_back = false;
	lease_control(rig.frontier, &k);
	while (!out_back)
		loop_step(rig.loop);
	rig_crash(R, false);
	rig_open(R);
	struct url_table_stats s;
	url_table_stats(rig.frontier->known, &s);
	assert_int_equal(s.count, 9);
	out_assert_stats(R, "", "", 0, 0, 0, 0);
	out_assert_stats(R, "c", "", 9, 0, 0, 1);
	assert_int_equal(count_urls("", "", "", false), 0);
	rig_close(R);
	rig_open(R);
	struct index_iter *i = index_iter_new(ledger_index(frontier_ledger(
	    rig.frontier)), INDEX_URL);
	struct str key, value;
	size_t n = 0;
	for (index_iter_seek(i, STR("")); index_iter_valid(i, &key, &value);
	    index_iter_next(i))
		n++;
	index_iter_free(&i);
	assert_int_equal(n, 9);
}

static void
is_closed(void *arg)
{
	*(bool *)arg = true;
}

/*
 * The program ends as soon as it may: what is on its way then is lost.  A sweep
 * that was under way counts as cut.
 */
static void
close_at_once(unsigned *cut)
{
	bool closed = false;

	frontier_close(rig.frontier, is_closed, &closed);
	for (unsigned i = 0; !closed && i < 10000; i++)
		if (!loop_step(rig.loop))
			rig_pass(R, 1);
	assert_true(closed);
	*cut += !list_empty(&rig.frontier->leases->sweeps);
	/* Word to the log that is of no use any more: it is freed here. */
	(void)loop_step(rig.loop);
	rig_crash(R, false);
}

static uint64_t
count_records(void)
{
	struct index_iter *i = index_iter_new(ledger_index(frontier_ledger(
	    rig.frontier)), INDEX_URL);
	struct str key, value;
	uint64_t n = 0;

	for (index_iter_seek(i, STR("")); index_iter_valid(i, &key, &value);
	    index_iter_next(i))
		n++;
	index_iter_free(&i);
	return n;
}

/* Found from `from` on; all of them are new, or none. */
static void
put_many(unsigned from, unsigned n, enum lease_status want)
{
	struct lease_item *items = ARENA_ARRAY(&rig.arena,
	    struct lease_item, n);

	for (unsigned i = 0; i < n; i++)
		items[i] = out_item("c", "k", arena_printf(&rig.arena, "u%u",
		    from + i).p, DISCOVERED, "");
	out_put_all(R, items, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(items[i].status, want);
}

/*
 * A queue, or its crawl, is deleted, and the program ends well before it is
 * swept: what was in it is as if it never was, also after a crash.
 */
static void
a_sweep_that_the_end_cuts_short(void **state)
{
	const unsigned n = 16 * 4096;        /* so many parts */
	unsigned cut = 0;

	(void)state;
	out_put(R, "d", "k", "u1", 5);
	for (unsigned round = 0; round < 4; round++) {
		struct lease_control k = { .verb = round % 2 ?
		    LEASE_DELETE_CRAWL : LEASE_DELETE_QUEUE,
		    .crawl = STR("c"), .key = str_of(round % 2 ? "" : "k"),
		    .call = { .home = rig.loop, .done = out_done } };
		put_many(0, n, LEASE_OK);
		out_back = false;
		lease_control(rig.frontier, &k);
		while (!out_back)
			loop_step(rig.loop);
		assert_int_equal(k.value, n);
		close_at_once(&cut);
		rig_open(R);
		assert_int_equal(count_records(), 1);
		if (round < 2)
			out_restart(R, true);
		put_many(0, 20, LEASE_OK);
		out_restart(R, round % 3 != 2);
		assert_int_equal(count_records(), 21);
		put_many(0, 20, LEASE_SKIPPED);
		put_many(20, 20, LEASE_OK);
		out_control(R, k.verb, "c", round % 2 ? "" : "k", 0, NULL);
		out_restart(R, false);
	}
	assert_int_equal(cut, 4);
}

/* A sync that fails: nothing was promised, and reading goes on. */
static void
nothing_is_promised_without_a_sync(void **state)
{
	static const struct {
		enum lease_verb verb;
		const char *key;
	} rows[] = {
		{ LEASE_SET_DELAY, "k" }, { LEASE_SET_DELAY, "" },
		{ LEASE_BLOCK_UNTIL, "k" }, { LEASE_SET_LIMIT, "k" },
		{ LEASE_SET_ACTIVE, "" }, { LEASE_DELETE_QUEUE, "k" },
		{ LEASE_DELETE_CRAWL, "" },
	};

	(void)state;
	out_put(R, "", "k", "u", 5);
	for (size_t i = 0; i < ARRAY_LEN(rows) + 2; i++) {
		struct lease_item item = out_item("", "k", "v", 5, "");
		struct lease_put p = { .items = &item, .items_n = 1,
		    .call = { .home = rig.loop, .done = out_done } };
		struct lease_get g = { .call = { .home = rig.loop,
		    .done = out_done } };
		file_fault(FILE_CALL_SYNC, 1, FILE_FAULT_FOREVER, ERR_IO);
		out_back = false;
		if (i < ARRAY_LEN(rows)) {
			assert_int_equal(out_control(R, rows[i].verb, "",
			    rows[i].key, 9, NULL), ERR_BROKEN);
		} else if (i == ARRAY_LEN(rows)) {
			lease_put(rig.frontier, &p);
			out_wait(R, &out_back);
			assert_int_equal(item.status, LEASE_FAIL);
		} else {
			lease_get(rig.frontier, &g);
			out_wait(R, &out_back);
			assert_int_equal(g.call.result, ERR_BROKEN);
			assert_int_equal(g.n, 0);
			lease_get_free(&g);
		}
		assert_int_equal(out_put(R, "", "k", "w", 5), LEASE_FAIL);
		/* What was to be deleted may be out of sight. */
		assert_true(count_urls("", "k", "", false) == 1 || i == 5 ||
		    i == 6);
		file_faults_end();
		out_restart(R, true);
		out_assert_stats(R, "", "k", 1, 0, 0, 1);
		assert_int_equal(out_get(R, "", "", 1, 1, 1), 1);
		rig_pass(R, 1000);
	}
}

/* The power goes with the answer: what it said holds. */
static void
what_is_answered_is_durable(void **state)
{
	static const struct {
		enum lease_verb verb;
		const char *key;
		uint64_t value;
	} rows[] = {
		{ LEASE_SET_DELAY, "k", 9 }, { LEASE_SET_DELAY, "", 8 },
		{ LEASE_BLOCK_UNTIL, "k", 7 }, { LEASE_SET_LIMIT, "k", 6 },
		{ LEASE_SET_ACTIVE, "", 0 }, { LEASE_DELETE_QUEUE, "k", 0 },
	};

	(void)state;
	out_put(R, "", "k", "u", 5);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct lease_control k = { .verb = rows[i].verb,
		    .key = str_of(rows[i].key), .value = rows[i].value,
		    .call = { .home = rig.loop, .done = out_done } };
		out_back = false;
		lease_control(rig.frontier, &k);
		while (!out_back)
			loop_step(rig.loop);
		out_restart(R, true);
		const struct lease_crawl *c = lease_find_crawl(
		    rig.frontier, STR(""));
		const struct lease_queue *q = lease_find_queue(c,
		    STR("k"));
		assert_true((q == NULL) == (i == 5));
		const struct lease_rare *s = q == NULL ? NULL :
		    lease_rare(q);
		assert_true(s == NULL || s->delay_s == 9);
		assert_true(s == NULL || s->block_s == (i < 2 ? 0 : 7));
		assert_true(s == NULL || s->limit == (i < 3 ? 0 : 6));
		assert_true(rig.frontier->leases->inactive == (i >= 4));
		assert_int_equal(rig.frontier->leases->delay_s,
		    i == 0 ? LEASE_DELAY_S : 8);
	}
	/* SKIPPED depends on what was put just before. */
	struct lease_item same[2];
	struct lease_put puts[2];
	for (size_t i = 0; i < 2; i++) {
		same[i] = out_item("", "l", "v", DISCOVERED, "");
		puts[i] = (struct lease_put){ .items = &same[i],
		    .items_n = 1, .call = { .home = rig.loop,
		    .done = out_done } };
		lease_put(rig.frontier, &puts[i]);
	}
	out_back = false;
	while (!out_back || same[1].status != LEASE_SKIPPED)
		loop_step(rig.loop);
	out_restart(R, true);
	out_assert_stats(R, "", "l", 1, 0, 0, 1);
}

/* --- the seed of hashes --------------------------------------------------- */

static uint64_t
seed(void)
{
	return rig.frontier->leases->seed;
}

static void
new_store(void)
{
	rig_close(R);
	arena_free(&rig.arena);
	rig_init(R);
	rig_open(R);
}

/* Hashes stand in the records of leases: another seed would not find them. */
static void
leases_are_found_again(void)
{
	uint64_t before = seed();

	out_put(R, "", "k", "u", 5);
	out_put(R, "", "k", "v", 5);
	assert_int_equal(out_get(R, "", "k", 1, 0, 500), 1);
	for (int i = 0; i < 4; i++) {
		out_restart(R, i % 2 == 0);
		assert_true(seed() == before);
		out_assert_stats(R, "", "k", 2, 1, 0, 1);
	}
	assert_int_equal(out_put(R, "", "k", "u", DISCOVERED),
	    LEASE_SKIPPED);
}

static void
each_store_has_its_own_seed(void **state)
{
	uint64_t before = seed();

	(void)state;
	/* Nothing was hashed: none is recorded. */
	out_restart(R, true);
	assert_true(seed() != before);
	leases_are_found_again();
	before = seed();
	new_store();
	assert_true(seed() != before);
	/* Recorded before there is a crawl. */
	out_set(LEASE_SET_DELAY, "", 3);
	before = seed();
	out_restart(R, true);
	assert_true(seed() == before);
	leases_are_found_again();
}

/* A store of a version that had one seed for all. */
static void
a_store_without_a_seed_keeps_the_old_one(void **state)
{
	uint64_t old = hash_bytes(STR("u"), hash_u64(hash_u64(
	    UINT64_C(0x6f757473)) ^ (UINT64_C(1) << 32 | 2)));
	struct buf b = BUF_INIT;

	(void)state;
	buf_put_char(&b, 1);
	buf_put_be32(&b, LEASE_DELAY_S);
	buf_put_be64(&b, 0);
	buf_put_be32(&b, 1);
	for (int in_index = 0; in_index < 2; in_index++) {
		struct ledger *l = frontier_ledger(rig.frontier);
		if (in_index)
			ledger_put(l, INDEX_CONTROL, STR("outside"),
			    buf_str(&b));
		else
			ledger_note(l, NOTE_OUTSIDE_CONTROL, buf_str(&b));
		rig_run(R);
		out_restart(R, !in_index);
		assert_true(lease_hash(rig.frontier, 1, 2, STR("u")) ==
		    old);
		leases_are_found_again();
		assert_true(lease_hash(rig.frontier, 1, 2, STR("u")) ==
		    old);
		new_store();
	}
	buf_free(&b);
}

/* Beside a crawl of ours, none sees the other. */
static void
crawls_of_ours_are_left_alone(void **state)
{
	size_t at = 0;
	struct crawl_view v;

	(void)state;
	out_put(R, "test", "h", "http://h/1", DISCOVERED);
	rig_begin(R, "http://h/1", "http://h/2", NULL);
	assert_int_equal(rig_lease(R, "h", 2), 2);
	out_put(R, "more", "h", "http://h/1", DISCOVERED);
	rig_restart(R, true);
	lease_check(rig.frontier);
	assert_int_equal(rig_lease(R, "h", 2), 2);
	assert_true(frontier_next_view(rig.frontier, &at, &v));
	assert_int_equal(v.id, rig.crawl);
	assert_false(frontier_next_view(rig.frontier, &at, &v));
	out_assert_stats(R, "test", "", 1, 0, 0, 1);
	assert_int_equal(out_gone(LEASE_DELETE_CRAWL, "test", ""), 1);
	rig_restart(R, true);
	assert_int_equal(rig_lease(R, "h", 2), 2);
	assert_int_equal(count_urls("more", "", "", false), 1);
}

/* A kill in the middle of RocksDB's work leaves queues without their crawl. */
static void
queues_of_no_crawl_are_passed_over(void **state)
{
	struct buf key = BUF_INIT;
	struct crawl_view v;
	size_t at = 0;

	(void)state;
	out_put(R, "test", "h", "http://h/1", DISCOVERED);
	out_restart(R, false);
	crawl_key(lease_find_crawl(rig.frontier, STR("test"))->id, 'O', &key);
	ledger_delete(frontier_ledger(rig.frontier), INDEX_CRAWL,
	    buf_str(&key));
	rig_run(R);
	out_restart(R, false);
	lease_check(rig.frontier);
	assert_false(frontier_next_view(rig.frontier, &at, &v));
	assert_int_equal(count_urls("test", "", "", false), 0);
	buf_free(&key);
}

#define RULE(f) cmocka_unit_test_setup_teardown(f, out_setup, out_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RULE(what_is_deleted_starts_afresh),
		RULE(a_record_survives_an_older_deletion),
		RULE(deletion_leaves_nothing),
		RULE(urls_are_listed),
		RULE(long_lists_are_of_one_moment),
		RULE(queues_are_listed),
		RULE(old_urls_are_purged),
		RULE(unusual_values_survive),
		RULE(leases_and_delays_survive),
		RULE(a_clock_that_jumps_frees_nothing),
		RULE(what_is_left_is_capped_at_a_start),
		RULE(orphans_go_at_a_start),
		RULE(a_sweep_that_the_end_cuts_short),
		RULE(nothing_is_promised_without_a_sync),
		RULE(what_is_answered_is_durable),
		RULE(each_store_has_its_own_seed),
		RULE(a_store_without_a_seed_keeps_the_old_one),
		RULE(crawls_of_ours_are_left_alone),
		RULE(queues_of_no_crawl_are_passed_over),
	};

	return cmocka_run_group_tests_name("outside_keep", tests, NULL, NULL);
}
