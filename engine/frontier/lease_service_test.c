/*
 * The rules of urlfrontier.md, as far as the engine sees them.
 */
#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/lease_core.h"
#include "engine/frontier/lease_testing.h"

/* --- writing -------------------------------------------------------------- */

static void
what_is_put_is_acknowledged(void **state)
{
	char key[300];
	struct lease_entry e;

	(void)state;
	assert_int_equal(out_put(R, "", "k", "http://a/", 0), LEASE_OK);
	out_assert_stats(R, "DEFAULT", "k", 0, 0, 1, 1);
	assert_int_equal(out_put(R, "", "k", "http://b/", DISCOVERED),
	    LEASE_OK);
	assert_int_equal(out_put(R, "DEFAULT", "k", "http://b/", DISCOVERED),
	    LEASE_SKIPPED);
	assert_int_equal(out_put(R, "", "k", "http://a/", DISCOVERED),
	    LEASE_SKIPPED);
	assert_int_equal(out_put(R, "", "k", "", DISCOVERED),
	    LEASE_SKIPPED);
	assert_int_equal(out_put(R, "", "", "http:///x", 0),
	    LEASE_SKIPPED);
	assert_int_equal(out_put(R, "", "", "http://u@h.org:1/x", DISCOVERED),
	    LEASE_OK);
	out_assert_stats(R, "", "h.org", 1, 0, 0, 1);
	memset(key, 'k', sizeof(key));
	key[255] = '\0';
	assert_int_equal(out_put(R, "", key, "u", DISCOVERED), LEASE_OK);
	key[255] = 'k';
	key[256] = '\0';
	assert_int_equal(out_put(R, "", key, "u", DISCOVERED),
	    LEASE_SKIPPED);
	assert_int_equal(out_status(R, "", "k", "http://a/", &e), OK);
	assert_int_equal(e.date_s, 0);
}

static void
a_batch_is_applied_in_order(void **state)
{
	struct lease_item a[] = {
		out_item("", "", "http://a/1", DISCOVERED, ""),
		out_item("", "", "http://a/1", DISCOVERED, ""),
		out_item("", "", "", DISCOVERED, ""),
		out_item("", "", "http://b/1", DISCOVERED, ""),
		out_item("", "", "http://b/1", 0, ""),
		out_item("", "", "http://b/1", 77, "last"),
	};
	struct lease_entry e;

	(void)state;
	out_put_all(R, a, ARRAY_LEN(a));
	assert_int_equal(a[0].status, LEASE_OK);
	assert_int_equal(a[1].status, LEASE_SKIPPED);
	assert_int_equal(a[2].status, LEASE_SKIPPED);
	assert_int_equal(a[3].status, LEASE_OK);
	assert_int_equal(a[5].status, LEASE_OK);
	out_assert_stats(R, "", "", 2, 0, 0, 2);
	assert_int_equal(out_status(R, "", "b", "http://b/1", &e), OK);
	assert_int_equal(e.date_s, 77);
	assert_string_equal(e.metadata.p, "last");
}

/* The creation date is the index's to know; nothing overtakes who asks. */
static void
a_stream_keeps_its_order(void **state)
{
	enum { N = 40 };
	struct lease_stream s;
	struct lease_item items[4][N];
	struct lease_put puts[4];
	struct lease_entry e;
	uint32_t created = out_now_s();

	(void)state;
	lease_stream_init(&s);
	for (unsigned i = 0; i < N; i++)
		out_put(R, "", "k", out_text("u%u", i), i % 2 == 0 ? 5 : 0);
	rig_pass(R, 5000);
	for (unsigned k = 0; k < 4; k++) {
		for (unsigned i = 0; i < N; i++)
			items[k][i] = out_item("", "k",
			    arena_copy(&rig.arena, str_of(out_text("u%u",
			    (i * 7 + k) % N))).p, k == 3 ? 900 + i % 2 * 50 :
			    100 * k, "m");
		puts[k] = (struct lease_put){ .stream = &s,
		    .items = items[k], .items_n = N,
		    .call = { .home = rig.loop, .done = out_done } };
		lease_put(rig.frontier, &puts[k]);
	}
	rig_pass(R, 10);
	for (unsigned i = 0; i < N; i++) {
		struct str url = items[3][i].url;
		assert_int_equal(out_status(R, "", "k", url.p, &e), OK);
		assert_int_equal(e.date_s, 900 + i % 2 * 50);
		assert_int_equal(e.created_s, created);
	}
	out_assert_stats(R, "", "k", N, 0, 0, 1);
}

/* One that need not ask must not overtake one that does. */
static void
no_put_overtakes_another(void **state)
{
	struct lease_stream s;
	struct lease_item first[] = {
		out_item("", "k", "old", 6, ""),
		out_item("", "k", "new", 0, ""),
	};
	struct lease_item second = out_item("", "k", "new", 7, "");
	struct lease_put puts[] = {
		{ .stream = &s, .items = first, .items_n = 2 },
		{ .stream = &s, .items = &second, .items_n = 1 },
	};
	struct lease_entry e;

	(void)state;
	out_put(R, "", "k", "old", 5);
	lease_stream_init(&s);
	for (size_t i = 0; i < ARRAY_LEN(puts); i++) {
		puts[i].call.home = rig.loop;
		puts[i].call.done = out_done;
		lease_put(rig.frontier, &puts[i]);
	}
	rig_pass(R, 10);
	assert_int_equal(out_status(R, "", "k", "new", &e), OK);
	assert_int_equal(e.date_s, 7);
}

static void
a_known_put_replaces_all_but_the_creation_date(void **state)
{
	struct lease_item i = out_item("", "k", "u", DISCOVERED, "old=1");
	struct lease_entry e;
	uint32_t created = out_now_s();

	(void)state;
	i.created_s = 5;
	out_put_all(R, &i, 1);
	rig_pass(R, 10000);
	i = out_item("", "k", "u", 2943003600, "new=2");
	out_put_all(R, &i, 1);
	assert_int_equal(out_status(R, "", "k", "u", &e), OK);
	assert_int_equal(e.date_s, 2943003600);
	assert_int_equal(e.created_s, created);
	assert_string_equal(e.metadata.p, "new=2");
	out_put(R, "", "k", "u", 0);
	assert_int_equal(out_status(R, "", "k", "u", &e), OK);
	assert_int_equal(e.created_s, created);
	i = out_item("", "k", "dated", 0, "");
	i.keep_created = true;
	i.created_s = 5;
	out_put_all(R, &i, 1);
	assert_int_equal(out_status(R, "", "k", "dated", &e), OK);
	assert_int_equal(e.created_s, 5);
	assert_int_equal(out_status(R, "", "k", "none", &e), ERR_ABSENT);
	assert_int_equal(out_status(R, "x", "k", "u", &e), ERR_ABSENT);
	assert_int_equal(out_status(R, "", "", "", &e), ERR_INPUT);
}

static void
completing_twice_counts_once(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(out_put(R, "", "k", "u", 0), LEASE_OK);
	out_assert_stats(R, "", "k", 0, 0, 1, 1);
	out_put(R, "", "k", "u", 9);
	out_assert_stats(R, "", "k", 1, 0, 0, 1);
	assert_int_equal(out_get(R, "", "k", 1, 1, 0), 1);
	out_put(R, "", "k", "u", 0);
	out_assert_stats(R, "", "k", 0, 0, 1, 1);
	assert_int_equal(out_stats(R, "", "k").active_queues, 0);
}

static void
one_url_in_two_places_is_two(void **state)
{
	struct lease_entry e;
	uint32_t then = out_now_s();
	char *big = mem_new(70001);

	(void)state;
	memset(big, 'u', 70000);
	out_put(R, "a", "k", "u", DISCOVERED);
	rig_pass(R, 3000);
	out_put(R, "a", "l", "u", DISCOVERED);
	out_put(R, "b", "k", "u", DISCOVERED);
	assert_int_equal(out_status(R, "a", "k", "u", &e), OK);
	assert_int_equal(e.created_s, then);
	assert_int_equal(out_status(R, "b", "k", "u", &e), OK);
	assert_int_equal(e.created_s, then + 3);
	out_assert_stats(R, "a", "", 2, 0, 0, 2);
	out_put(R, "b", "_x_", big, DISCOVERED);
	assert_int_equal(out_get(R, "b", "_x_", 1, 1, 0), 1);
	assert_string_equal(got.urls[0].url.p, big);
	mem_free(&big);
}

static void
a_full_disk_refuses(void **state)
{
	(void)state;
	assert_int_equal(out_put(R, "", "k", "u", DISCOVERED), LEASE_OK);
	file_fault(FILE_CALL_WRITE, 1, FILE_FAULT_FOREVER, ERR_DISK_FULL);
	struct lease_item i = out_item("", "k", "w", DISCOVERED, "");
	struct lease_put p = { .items = &i, .items_n = 1,
	    .call = { .home = rig.loop, .done = out_done } };
	lease_put(rig.frontier, &p);
	rig_pass(R, 10);
	assert_int_equal(out_put(R, "", "k", "v", DISCOVERED), LEASE_FAIL);
	assert_int_equal(out_control(R, LEASE_SET_DELAY, "", "k", 9, NULL),
	    ERR_DISK_FULL);
	file_faults_end();
	rig_pass(R, 20000);
	assert_int_equal(i.status, LEASE_OK);
	assert_int_equal(out_put(R, "", "k", "v", DISCOVERED), LEASE_OK);
	out_assert_stats(R, "", "k", 3, 0, 0, 1);
}

/* --- serving -------------------------------------------------------------- */

static void
dates_and_bytes_give_the_order(void **state)
{
	uint32_t now = out_now_s();

	(void)state;
	out_put(R, "", "k", "a", now - 50);
	out_put(R, "", "k", "c", now - 100);
	out_put(R, "", "k", "b", now - 100);
	out_put(R, "", "k", "later", now + 300);
	assert_int_equal(out_get(R, "", "k", 10, 0, 2), 3);
	assert_string_equal(out_urls(R), "b c a");
	assert_string_equal(got.urls[0].crawl.p, "DEFAULT");
	assert_string_equal(got.urls[0].key.p, "k");
	assert_string_equal(got.urls[0].metadata.p, "m");
	/* What is put before them all is first; an end of leases too. */
	out_put(R, "", "k", "first", 7);
	rig_pass(R, 2000);
	assert_int_equal(out_get(R, "", "k", 2, 0, 2), 2);
	assert_string_equal(out_urls(R), "first b");
	rig_pass(R, 300000);
	assert_int_equal(out_get(R, "", "k", 9, 0, 2), 5);
	assert_string_equal(out_urls(R), "first b c a later");
}

static void
leased_urls_are_passed_over(void **state)
{
	uint32_t now = out_now_s();

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		out_put(R, "", "k", out_text("u%u", i), now - 100 + i);
	assert_int_equal(out_get(R, "", "k", 3, 0, 0), 3);
	assert_string_equal(out_urls(R), "u0 u1 u2");
	out_assert_stats(R, "", "k", 10, 3, 0, 1);
	rig_pass(R, 1000);
	assert_int_equal(out_get(R, "", "k", 4, 0, 0), 4);
	assert_string_equal(out_urls(R), "u3 u4 u5 u6");
	rig_pass(R, 1000);
	assert_int_equal(out_get(R, "", "k", 4, 0, 0), 0);
	/* The gate is no part of what is sent. */
	assert_int_equal(out_get(R, "", "k", 8, 0, 0), 3);
	rig_pass(R, 27999);
	out_assert_stats(R, "", "k", 10, 10, 0, 1);
	rig_pass(R, 1);
	out_assert_stats(R, "", "k", 10, 7, 0, 1);
	rig_pass(R, 1000);
	assert_int_equal(out_get(R, "", "k", 9, 0, 0), 7);
	assert_string_equal(out_urls(R), "u0 u1 u2 u3 u4 u5 u6");
}

static void
a_known_put_ends_a_lease(void **state)
{
	uint32_t now = out_now_s();

	(void)state;
	out_put(R, "", "k", "u", DISCOVERED);
	assert_int_equal(out_get(R, "", "k", 1, 0, 2), 1);
	assert_int_equal(out_get(R, "", "k", 1, 0, 2), 0);
	assert_int_equal(out_put(R, "", "k", "u", DISCOVERED),
	    LEASE_SKIPPED);
	out_assert_stats(R, "", "k", 1, 1, 0, 1);
	out_put(R, "", "k", "u", now - 9);
	out_assert_stats(R, "", "k", 1, 0, 0, 1);
	rig_pass(R, 1000);
	assert_int_equal(out_get(R, "", "k", 1, 0, 1), 1);
	rig_pass(R, 1000);
	out_assert_stats(R, "", "k", 1, 0, 0, 1);
	assert_int_equal(out_get(R, "", "k", 1, 0, 1), 1);
}

static void
nothing_served_costs_no_delay(void **state)
{
	uint32_t now = out_now_s();

	(void)state;
	out_put(R, "", "k", "u", now + 2);
	assert_int_equal(out_get(R, "", "k", 1, 0, 0), 0);
	assert_int_equal(out_get(R, "", "", 1, 0, 0), 0);
	assert_int_equal(got.examined, 0);
	out_put(R, "", "k", "v", now);
	assert_int_equal(out_get(R, "", "", 1, 0, 0), 1);
	rig_pass(R, 2000);
	assert_int_equal(out_get(R, "", "", 2, 0, 0), 1);
	assert_string_equal(out_urls(R), "u");
}

static void
delays_are_kept_to_the_millisecond(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		out_put(R, "", "k", out_text("u%u", i), 5);
		out_put(R, "", "l", out_text("u%u", i), 5);
	}
	assert_int_equal(out_get(R, "", "", 1, 0, 0), 2);
	rig_pass(R, 999);
	assert_int_equal(out_get(R, "", "", 5, 0, 0), 0);
	rig_pass(R, 1);
	assert_int_equal(out_get(R, "", "", 5, 1, 0), 5);
	assert_string_equal(got.urls[0].key.p, "k");
	out_set(LEASE_SET_DELAY, "k", 3);
	out_set(LEASE_SET_DELAY, "", 0);
	assert_int_equal(out_get(R, "", "", 2, 0, 0), 2);
	assert_string_equal(got.urls[0].key.p, "l");
	assert_int_equal(out_get(R, "", "l", 9, 0, 0), 6);
	out_set(LEASE_SET_DELAY, "", 100);
	rig_pass(R, 2999);
	assert_int_equal(out_get(R, "", "k", 9, 0, 0), 0);
	rig_pass(R, 1);
	assert_int_equal(out_get(R, "", "k", 9, 0, 0), 3);
}

static void
queues_take_turns(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 30; i++) {
		out_put(R, "", out_text("k%u", i), "a", 5);
		out_put(R, "", out_text("k%u", i), "b", 5);
	}
	for (unsigned round = 0; round < 4; round++) {
		if (round == 3)
			rig_pass(R, 1000);
		assert_int_equal(out_get(R, NULL, "", 1, 10, 1), 10);
		for (unsigned i = 0; i < 10; i++)
			assert_string_equal(got.urls[i].key.p,
			    out_text("k%u", (round * 10 + i) % 30));
	}
}

static void
due_queues_are_found_without_a_search(void **state)
{
	uint32_t now = out_now_s();

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		out_put(R, i % 3 == 0 ? "a" : "b", out_text("k%u", i), "u",
		    i % 10 == 7 ? 9 : now + 600);
	assert_int_equal(out_get(R, NULL, "", 1, 10, 0), 10);
	assert_true(got.examined <= 26);
	for (unsigned i = 0; i < 10; i++)
		assert_string_equal(got.urls[i].key.p,
		    out_text("k%u", i * 10 + 7));
}

static void
gates_and_crawls_are_told_apart(void **state)
{
	(void)state;
	out_set(LEASE_SET_DELAY, "", 0);
	for (unsigned i = 0; i < 50; i++) {
		out_put(R, "a", "x", out_text("u%u", i), 5);
		out_put(R, "b", "y", out_text("u%u", i), 5);
		out_put(R, "", "z", out_text("u%u", i), 5);
	}
	assert_int_equal(out_get(R, NULL, "x", 1, 0, 0), 0);
	assert_int_equal(out_get(R, "", "x", 1, 0, 0), 0);
	assert_int_equal(out_get(R, "none", "", 1, 0, 0), 0);
	assert_int_equal(out_get(R, "a", "", 35, 0, 0), 35);
	assert_int_equal(out_get(R, "", "", 2, 0, 0), 2);
	/* x has 35 leased, y none, z two. */
	assert_int_equal(out_get(R, NULL, "", 2, 0, 0), 2);
	assert_string_equal(got.urls[0].key.p, "y");
	assert_int_equal(out_get(R, NULL, "", 35, 0, 0), 70);
	assert_int_equal(out_get(R, NULL, "", 36, 0, 0), 15);
	assert_string_equal(got.urls[0].key.p, "x");
}

/* Queues that the gate holds are passed over unseen. */
static void
gates_are_no_search(void **state)
{
	(void)state;
	out_set(LEASE_SET_DELAY, "", 0);
	for (unsigned i = 0; i < 60; i++)
		for (unsigned k = 0; k < 4; k++)
			out_put(R, "", out_text("k%u", i),
			    out_text("u%u", k), 5);
	assert_int_equal(out_get(R, "", "", 2, 59, 0), 118);
	assert_int_equal(out_get(R, "", "k59", 1, 1, 0), 1);
	assert_int_equal(out_get(R, "", "", 2, 0, 0), 2);
	assert_string_equal(got.urls[0].key.p, "k59");
	assert_int_equal(got.examined, 1);
}

static void
a_call_serves_a_queue_once(void **state)
{
	(void)state;
	out_set(LEASE_SET_DELAY, "", 0);
	for (unsigned i = 0; i < 300; i++)
		for (unsigned k = 0; k < 8; k++)
			out_put(R, "", out_text("k%u", i),
			    out_text("u%u", k), 5);
	assert_int_equal(out_get(R, "", "", 4, 0, 0), 1200);
	assert_true(got.pieces > 1);
	assert_int_equal(got.served, 300);
	/* Not even when it gets more between two pieces. */
	struct lease_get g = { .urls_max = 9, .call = { .home = rig.loop,
	    .done = out_done } };
	unsigned pieces = 0;
	do {
		out_back = false;
		lease_get(rig.frontier, &g);
		out_wait(R, &out_back);
		if (pieces++ == 0)
			out_put(R, "", g.urls[0].key.p, "more", 5);
	} while (g.more);
	assert_true(pieces > 1);
	assert_int_equal(g.served, 300);
	lease_get_free(&g);
	assert_int_equal(out_get(R, "", "", 9, 0, 0), 1);
}

/* URLs found by then leave early; none is left out, none comes twice. */
static void
a_slow_walk_answers_early(void **state)
{
	(void)state;
	out_set(LEASE_SET_DELAY, "", 0);
	for (unsigned i = 0; i < 60; i++)
		for (unsigned k = 0; k < 3; k++)
			out_put(R, "", out_text("k%02u", i),
			    out_text("u%u", k), 5);
	assert_int_equal(out_get(R, "", "", 1, 0, 1), 60);
	assert_int_equal(got.pieces, 1);
	/* A queue takes a tenth of the time that a piece may take. */
	world.look_ns = NS_PER_MS / 2;
	assert_int_equal(out_get(R, "", "", 2, 0, 1), 120);
	world.look_ns = 0;
	assert_true(got.pieces >= 5);
	assert_int_equal(got.served, 60);
	for (unsigned i = 0; i < 120; i++)
		assert_string_equal(got.urls[i].key.p,
		    out_text("k%02u", i / 2));
	assert_int_equal(out_get(R, "", "", 3, 0, 1), 0);
	/* Each queue alone takes longer than that. */
	rig_pass(R, 1000);
	world.look_ns = 20 * NS_PER_MS;
	assert_int_equal(out_get(R, "", "", 2, 0, 1), 120);
	assert_true(got.pieces >= 60);
	assert_int_equal(got.served, 60);
	/* One piece is the least there is: 512 queues of two URLs. */
	rig_pass(R, 1000);
	assert_int_equal(out_get(R, "", "", 2, 512, 1), 120);
	assert_int_equal(got.pieces, 1);
	rig_pass(R, 1000);
	assert_int_equal(out_get(R, "", "", 2, 513, 1), 120);
	assert_true(got.pieces >= 60);
	world.look_ns = 0;
}

static void
open_reader(void)
{
	out_put(R, "", "a", "first", 5);
	rig_pass(R, 10);
	assert_int_equal(out_get(R, "", "a", 1, 1, 60), 1);
	assert_non_null(rig.frontier->leases->reader.iter);
}

/* The iterator of the last walk does for the next, unless it is too old. */
static void
a_kept_iterator_hides_no_put(void **state)
{
	const struct lease_reader *reader = &rig.frontier->leases->reader;
	struct lease_list purge = { .kind = LEASE_PURGE_URLS,
	    .key = STR("d"), .before_s = UINT32_MAX };

	(void)state;
	out_set(LEASE_SET_DELAY, "", 0);
	out_put(R, "", "d", "purged", 5);
	out_put(R, "", "b", "old", 5);
	open_reader();
	uint64_t group = reader->group;
	assert_int_equal(out_get(R, "", "b", 1, 1, 1), 1);
	assert_true(reader->group == group);
	/* Known to the iterator, and gone by now. */
	assert_int_equal(out_list(R, &purge), 0);
	assert_int_equal(purge.count, 1);
	assert_int_equal(out_get(R, "", "d", 1, 1, 60), 0);
	assert_true(reader->group == group);
	/* Not known to it: a new queue, and new metadata. */
	out_put(R, "", "c", "new", 5);
	struct lease_item again = out_item("", "b", "old", 5, "other");
	out_put_all(R, &again, 1);
	rig_pass(R, 10);
	assert_int_equal(out_get(R, "", "c", 1, 1, 60), 1);
	assert_true(reader->group > group);
	assert_int_equal(out_get(R, "", "b", 1, 1, 60), 1);
	assert_true(str_eq(got.urls[0].metadata, STR("other")));
}

/* It keeps files and memory in use, so it does not stay. */
static void
a_kept_iterator_goes(void **state)
{
	const struct lease_reader *reader = &rig.frontier->leases->reader;

	(void)state;
	out_set(LEASE_SET_DELAY, "", 0);
	out_put(R, "", "b", "second", 5);
	open_reader();
	uint64_t group = reader->group;
	out_put(R, "", "c", "third", 5);
	rig_pass(R, 40);
	assert_int_equal(out_get(R, "", "b", 1, 1, 1), 1);
	assert_true(reader->group == group);
	rig_pass(R, 1010);
	assert_int_equal(out_get(R, "", "b", 1, 1, 1), 1);
	assert_true(reader->group > group);
	rig_pass(R, 2000);
	assert_null(reader->iter);
	assert_int_equal(out_get(R, "", "b", 1, 1, 1), 1);
	assert_non_null(reader->iter);
	out_gone(LEASE_DELETE_CRAWL, "", "");
	rig_pass(R, 2000);
	assert_null(reader->iter);
}


/* A walk sees what was; what is under way counts. */
static void
what_is_put_meanwhile_counts(void **state)
{
	struct lease_item i = out_item("", "k", "moved",
	    out_now_s() + 500, "");
	struct lease_put p = { .items = &i, .items_n = 1,
	    .call = { .home = rig.loop, .done = out_done } };
	struct lease_get g = { .call = { .home = rig.loop,
	    .done = out_done } };

	(void)state;
	out_put(R, "", "k", "moved", 5);
	out_put(R, "", "k", "stays", 5);
	assert_int_equal(out_get(R, "", "k", 1, 1, 5), 1);
	rig_pass(R, 5000);
	lease_put(rig.frontier, &p);
	lease_get(rig.frontier, &g);
	rig_pass(R, 10);
	assert_int_equal(i.status, LEASE_OK);
	assert_int_equal(g.n, 1);
	assert_string_equal(g.urls[0].url.p, "stays");
	lease_get_free(&g);
}

static void
without_limits_all_comes_in_pieces(void **state)
{
	struct lease_item *items = mem_array(3000, sizeof(*items));
	struct lease_get g = { .any_crawl = true,
	    .call = { .home = rig.loop, .done = out_done } };

	(void)state;
	for (unsigned i = 0; i < 3000; i++)
		items[i] = out_item("", i < 2500 ? "big" : arena_printf(
		    &rig.arena, "k%u", i % 250).p, arena_printf(&rig.arena,
		    "http://u/%04u", i).p, 5, "");
	out_put_all(R, items, 3000);
	mem_free(&items);
	assert_int_equal(out_get(R, "", "", 0, 0, 1), 3000);
	assert_true(got.pieces > 2);
	assert_int_equal(got.served, 251);
	for (unsigned i = 1; i < 2500; i++)
		assert_string_equal(got.urls[i].key.p, "big");
	rig_pass(R, 1000);
	/* Stopped after the first piece: the rest may be had at once. */
	lease_get(rig.frontier, &g);
	out_wait(R, &out_back);
	assert_true(g.more);
	size_t first = g.n;
	g.stop = true;
	out_back = false;
	lease_get(rig.frontier, &g);
	out_wait(R, &out_back);
	assert_false(g.more);
	lease_get_free(&g);
	rig_run(R);
	assert_int_equal(out_stats(R, "", "").leased, first);
	rig_pass(R, 1000);
	assert_int_equal(out_get(R, "", "", 0, 0, 1), 3000 - first);
}

static void
what_was_not_delivered_is_released(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		out_put(R, "", "k", out_text("u%u", i), 5);
	assert_int_equal(out_get(R, "", "", 4, 0, 0), 4);
	out_release(R, 1, 3);
	out_assert_stats(R, "", "k", 4, 1, 0, 1);
	assert_int_equal(out_get(R, "", "", 4, 0, 0), 0);
	rig_pass(R, 1000);
	assert_int_equal(out_get(R, "", "", 2, 0, 0), 2);
	assert_string_equal(out_urls(R), "u1 u2");
}

/* Not the lease that somebody else has by now. */
static void
a_late_release_ends_nothing(void **state)
{
	struct lease_url first;
	struct lease_release e = { .urls = &first, .n = 1,
	    .call = { .home = rig.loop, .done = out_done } };

	(void)state;
	out_put(R, "", "k", "u", 5);
	assert_int_equal(out_get(R, "", "", 1, 1, 1), 1);
	first = got.urls[0];
	rig_pass(R, 1000);
	assert_int_equal(out_get(R, "", "", 1, 1, 60), 1);
	lease_release(rig.frontier, &e);
	rig_pass(R, 10);
	out_assert_stats(R, "", "k", 1, 1, 0, 1);
}

static void
gets_at_once_serve_a_queue_once(void **state)
{
	enum { N = 20 };
	struct lease_get g[N];
	size_t n = 0;

	(void)state;
	out_set(LEASE_SET_DELAY, "k", 300);
	out_put(R, "", "k", "a", 5);
	out_put(R, "", "k", "b", 5);
	for (unsigned i = 0; i < N; i++) {
		g[i] = (struct lease_get){ .urls_max = 1, .key =
		    i % 2 ? STR("k") : STR(""), .call = { .home = rig.loop,
		    .done = out_done } };
		lease_get(rig.frontier, &g[i]);
	}
	rig_pass(R, 10);
	for (unsigned i = 0; i < N; i++) {
		n += g[i].n;
		assert_false(g[i].more);
		lease_get_free(&g[i]);
	}
	assert_int_equal(n, 1);
}

/* What control says while a get's walk is out binds that get. */
static void
control_binds_what_is_under_way(void **state)
{
	static const struct {
		enum lease_verb verb;
		const char *key;
		uint64_t value;
	} rows[] = {
		{ LEASE_BLOCK_UNTIL, "k", UINT64_MAX },
		{ LEASE_SET_ACTIVE, "", 0 },
		{ LEASE_SET_LIMIT, "k", 1 },
		{ LEASE_DELETE_QUEUE, "k", 0 },
		{ LEASE_DELETE_CRAWL, "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		out_put(R, "", "k", "done", 0);
		out_put(R, "", "k", "a", 5);
		struct lease_get g = { .call = { .home = rig.loop,
		    .done = out_done } };
		struct lease_control k = { .verb = rows[i].verb,
		    .key = str_of(rows[i].key), .value = rows[i].value,
		    .call = { .home = rig.loop, .done = out_done } };
		lease_get(rig.frontier, &g);
		lease_control(rig.frontier, &k);
		rig_pass(R, 10);
		assert_int_equal(k.call.result, OK);
		assert_int_equal(g.n, 0);
		assert_false(g.more);
		lease_get_free(&g);
		assert_int_equal(out_stats(R, "", "").leased, 0);
		out_set(LEASE_SET_ACTIVE, "", 1);
		out_gone(LEASE_DELETE_QUEUE, "", "k");
	}
}

/* --- control -------------------------------------------------------------- */

static void
blocks_end_with_their_second(void **state)
{
	uint32_t now = out_now_s();

	(void)state;
	out_put(R, "", "k", "a", 5);
	out_set(LEASE_BLOCK_UNTIL, "k", now + 2);
	out_set(LEASE_BLOCK_UNTIL, "", now + 2000);
	assert_int_equal(out_get(R, "", "", 1, 0, 0), 0);
	rig_pass(R, 2999);
	assert_int_equal(out_get(R, "", "k", 1, 0, 0), 0);
	rig_pass(R, 1);
	assert_int_equal(out_get(R, "", "", 1, 0, 1), 1);
	rig_pass(R, 1000);
	out_set(LEASE_BLOCK_UNTIL, "k", UINT64_MAX);
	assert_int_equal(out_get(R, "", "", 1, 0, 1), 0);
	out_set(LEASE_BLOCK_UNTIL, "k", now);
	assert_int_equal(out_get(R, "", "", 1, 0, 1), 1);
	rig_pass(R, 1000);
	out_set(LEASE_BLOCK_UNTIL, "k", UINT64_MAX);
	out_set(LEASE_BLOCK_UNTIL, "k", 0);
	assert_int_equal(out_get(R, "", "", 1, 0, 1), 1);
}

static void
limits_count_completed_urls(void **state)
{
	(void)state;
	assert_int_equal(out_control(R, LEASE_SET_LIMIT, "", "k", 1, NULL),
	    ERR_ABSENT);
	out_set(LEASE_SET_DELAY, "k", 0);
	assert_int_equal(out_control(R, LEASE_SET_LIMIT, "", "k", 1, NULL),
	    ERR_ABSENT);
	out_put(R, "", "k", "a", 5);
	out_set(LEASE_SET_LIMIT, "k", 1);
	assert_int_equal(out_get(R, "", "k", 1, 0, 1), 1);
	out_put(R, "", "k", "b", 0);
	rig_pass(R, 1000);
	assert_int_equal(out_get(R, "", "k", 1, 0, 1), 0);
	assert_int_equal(out_get(R, "", "", 1, 0, 1), 0);
	out_set(LEASE_SET_LIMIT, "k", 0);
	assert_int_equal(out_get(R, "", "", 1, 0, 1), 1);
}

static void
unseen_queues_are_remembered(void **state)
{
	(void)state;
	out_set(LEASE_SET_DELAY, "k", 50);
	out_set(LEASE_BLOCK_UNTIL, "l", out_now_s() + 10);
	out_set(LEASE_BLOCK_UNTIL, "m", out_now_s() - 10);
	assert_int_equal(rig.frontier->leases->unseen, 2);
	rig.frontier->leases->unseen += LEASE_UNSEEN_MAX - 2;
	assert_int_equal(out_control(R, LEASE_SET_DELAY, "", "n", 1, NULL),
	    ERR_FULL);
	out_set(LEASE_SET_DELAY, "k", 50);
	rig.frontier->leases->unseen -= LEASE_UNSEEN_MAX - 2;
	out_assert_stats(R, "", "", 0, 0, 0, 0);
	out_assert_stats(R, "", "k", 0, 0, 0, 0);
	struct lease_list l = { .kind = LEASE_LIST_QUEUES,
	    .include_inactive = true };
	assert_int_equal(out_list(R, &l), 0);
	l = (struct lease_list){ .kind = LEASE_LIST_CRAWLS };
	assert_int_equal(out_list(R, &l), 0);
	out_restart(R, true);
	for (unsigned i = 0; i < 2; i++) {
		out_put(R, "", "k", out_text("u%u", i), 5);
		out_put(R, "", "l", out_text("u%u", i), 5);
	}
	assert_int_equal(rig.frontier->leases->unseen, 0);
	assert_int_equal(out_get(R, "", "", 1, 0, 1), 1);
	rig_pass(R, 11000);
	assert_int_equal(out_get(R, "", "", 1, 0, 1), 1);
	assert_string_equal(got.urls[0].key.p, "l");
	rig_pass(R, 39000);
	assert_int_equal(out_get(R, "", "k", 1, 0, 1), 1);
}

static void
inactive_stops_gets_only(void **state)
{
	uint64_t active;

	(void)state;
	assert_int_equal(out_control(R, LEASE_GET_ACTIVE, "", "", 0,
	    &active), OK);
	assert_int_equal(active, 1);
	out_set(LEASE_SET_ACTIVE, "", 0);
	assert_int_equal(out_put(R, "", "k", "u", 5), LEASE_OK);
	assert_int_equal(out_get(R, "", "", 1, 0, 0), 0);
	out_restart(R, true);
	assert_int_equal(out_get(R, "", "", 1, 0, 0), 0);
	out_set(LEASE_SET_ACTIVE, "", 1);
	assert_int_equal(out_get(R, "", "", 1, 0, 0), 1);
}

#define RULE(f) cmocka_unit_test_setup_teardown(f, out_setup, out_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RULE(what_is_put_is_acknowledged),
		RULE(a_batch_is_applied_in_order),
		RULE(a_stream_keeps_its_order),
		RULE(no_put_overtakes_another),
		RULE(a_known_put_replaces_all_but_the_creation_date),
		RULE(completing_twice_counts_once),
		RULE(one_url_in_two_places_is_two),
		RULE(a_full_disk_refuses),
		RULE(dates_and_bytes_give_the_order),
		RULE(leased_urls_are_passed_over),
		RULE(a_known_put_ends_a_lease),
		RULE(nothing_served_costs_no_delay),
		RULE(delays_are_kept_to_the_millisecond),
		RULE(queues_take_turns),
		RULE(due_queues_are_found_without_a_search),
		RULE(gates_and_crawls_are_told_apart),
		RULE(gates_are_no_search),
		RULE(a_call_serves_a_queue_once),
		RULE(what_is_put_meanwhile_counts),
		RULE(a_kept_iterator_hides_no_put),
		RULE(a_kept_iterator_goes),
		RULE(a_slow_walk_answers_early),
		RULE(without_limits_all_comes_in_pieces),
		RULE(what_was_not_delivered_is_released),
		RULE(a_late_release_ends_nothing),
		RULE(gets_at_once_serve_a_queue_once),
		RULE(control_binds_what_is_under_way),
		RULE(blocks_end_with_their_second),
		RULE(limits_count_completed_urls),
		RULE(unseen_queues_are_remembered),
		RULE(inactive_stops_gets_only),
	};

	return cmocka_run_group_tests_name("outside", tests, NULL, NULL);
}
