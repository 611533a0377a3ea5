/*
 * Queues of our own crawls: in which order their URLs leave, when a loop is
 * told of them, and what their records hold.
 */
#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/queue.h"

#define MANY 3000u

static struct rig r;

static void
begin(void)
{
	rig_init(&r);
	rig_open(&r);
}

static void
end(void)
{
	rig_close(&r);
	rig_end(&r);
}

static struct crawl *
crawl(void)
{
	return crawl_get(r.frontier, r.crawl);
}

static struct queue *
queue(const char *host)
{
	struct queue *q = queue_get(crawl(), str_of(host), false);

	assert_non_null(q);
	return q;
}

/* A page without an outcome that found one URL. */
static void
find(const char *url, double cost)
{
	struct submission *s = rig_page(&r, NULL, OUTCOME_NONE);

	rig_add(&r, s, url, cost, SKIP_NONE);
	rig_hand_in(&r, s);
	rig_run(&r);
}

/* --- order ---------------------------------------------------------------- */

static void
test_cheapest_then_oldest(void **state)
{
	(void)state;
	begin();
	rig_begin(&r, "http://h/seed", NULL);
	rig_next(&r, "h", "http://h/seed");
	find("http://h/b3", 3);
	find("http://h/a2", 2);
	find("http://h/z1", 1);
	find("http://h/a1", 1);
	rig_next(&r, "h", "http://h/z1");
	rig_next(&r, "h", "http://h/a1");
	rig_next(&r, "h", "http://h/a2");
	rig_next(&r, "h", "http://h/b3");
	rig_none(&r, "h");
	end();
}

/* The cursor stands behind the places at which these arrive. */
static void
test_cheaper_ones_move_the_cursor_back(void **state)
{
	(void)state;
	begin();
	rig_begin(&r, "http://h/0", NULL);
	rig_next(&r, "h", "http://h/0");
	find("http://h/5", 5);
	find("http://h/6", 6);
	struct lease five = rig_next(&r, "h", "http://h/5");
	uint32_t rank = queue("h")->cursor_rank;
	assert_int_equal(rank, five.rank);
	find("http://h/1", 1);
	assert_true(queue("h")->cursor_rank < rank);
	rig_next(&r, "h", "http://h/1");
	rig_done(&r, &five, OUTCOME_RETURNED);
	rig_next(&r, "h", "http://h/5");
	rig_next(&r, "h", "http://h/6");
	end();
}

static void
test_rewind(void **state)
{
	(void)state;
	begin();
	rig_begin(&r, "http://h/0", NULL);
	struct queue *q = queue("h");
	q->cursor_rank = 100;
	q->walk_rewind = 70;
	buf_put_text(&q->cursor_url, "u");
	queue_rewind(q, 101);
	assert_int_equal(q->cursor_rank, 100);
	assert_int_equal(q->walk_rewind, 70);
	assert_int_equal(q->cursor_url.n, 1);
	/* At the same rank the URL may sort before the cursor's. */
	queue_rewind(q, 100);
	assert_int_equal(q->cursor_rank, 100);
	assert_int_equal(q->cursor_url.n, 0);
	queue_rewind(q, 60);
	assert_int_equal(q->cursor_rank, 60);
	assert_int_equal(q->walk_rewind, 60);
	end();
}

/* --- telling the loop ----------------------------------------------------- */

static void
test_told_once_until_asked(void **state)
{
	(void)state;
	begin();
	rig_begin(&r, "http://h/1", "http://h/2", "http://g/1", NULL);
	assert_int_equal(r.notes_n, 2);
	assert_int_equal(r.notes[0], rig_queue(&r, "h"));
	assert_int_equal(r.notes[1], rig_queue(&r, "g"));
	find("http://h/3", 0);
	assert_int_equal(r.notes_n, 2);
	assert_int_equal(rig_lease(&r, "h", 1), 1);
	assert_int_equal(r.notes_n, 2);
	find("http://h/4", 0);
	assert_int_equal(r.notes_n, 3);
	assert_int_equal(r.notes[2], rig_queue(&r, "h"));
	end();
}

static void
test_told_when_durable(void **state)
{
	(void)state;
	begin();
	rig_begin(&r, "http://h/1", NULL);
	assert_int_equal(rig_lease(&r, "h", 1), 1);
	unsigned told = r.notes_n;
	struct found u = rig_found(&r, "http://h/2", 0, SKIP_NONE);
	frontier_discover(crawl(), &u, 0);
	crawl_touch(crawl());
	assert_false(list_empty(&queue("h")->fresh_node));
	assert_false(queue("h")->noted);
	assert_int_equal(r.notes_n, told);
	rig_run(&r);
	assert_true(list_empty(&queue("h")->fresh_node));
	assert_int_equal(r.notes_n, told + 1);
	end();
}

static void
test_not_told_while_paused(void **state)
{
	(void)state;
	begin();
	rig_begin(&r, "http://h/1", NULL);
	assert_int_equal(rig_lease(&r, "h", 1), 1);
	unsigned told = r.notes_n;
	rig_state(&r, CRAWL_PAUSED, OK);
	find("http://h/2", 0);
	find("http://g/2", 0);
	assert_int_equal(r.notes_n, told);
	rig_state(&r, CRAWL_RUNNING, OK);
	assert_int_equal(r.notes_n, told + 2);
	end();
}

/* --- records -------------------------------------------------------------- */

static void
test_record(void **state)
{
	struct buf note = BUF_INIT;
	struct queue_record k;

	(void)state;
	begin();
	rig_begin(&r, "http://h/1", "http://h/2", "http://h/3", NULL);
	assert_int_equal(rig_lease(&r, "h", 2), 2);
	rig_done(&r, &r.leases[0], OUTCOME_ITEM);
	queue_note_bytes(queue("h"), &note);
	assert_true(queue_record_parse(buf_str(&note), &k));
	assert_int_equal(k.crawl, r.crawl);
	assert_int_equal(k.id, rig_queue(&r, "h"));
	assert_int_equal(k.ordered, 3);
	assert_int_equal(k.waiting, 2);      /* one of them is leased */
	assert_int_equal(k.done, 1);
	assert_true(str_eq(k.key, STR("h")));
	for (size_t n = 0; n < note.n; n++)
		assert_false(queue_record_parse(str_cut(buf_str(&note), 0, n),
		    &k));
	/* Leases to our fetcher end with the process. */
	assert_true(queue_from_note(r.frontier, buf_str(&note)));
	assert_int_equal(queue("h")->waiting, 2);
	assert_int_equal(queue("h")->leased, 0);
	/* As it was. */
	queue("h")->waiting = queue("h")->leased = 1;
	assert_false(queue_from_note(r.frontier, str_cut(buf_str(&note), 0,
	    note.n - 1)));
	buf_free(&note);
	end();
}

static void
note_of(uint32_t id, const char *host, struct buf *out)
{
	struct crawl c = { .id = r.crawl };
	struct queue q = { .crawl = &c, .id = id, .key = str_of(host),
	    .ordered = id, .done = id };

	buf_clear(out);
	queue_note_bytes(&q, out);
}

/* Records are read by key; ids of new queues follow all of them. */
static void
test_records_in_any_order(void **state)
{
	static const char *const hosts[] = { "e", "f", "d" };
	static const uint32_t ids[] = { 9, 4, 7 };
	struct buf note = BUF_INIT;

	(void)state;
	begin();
	rig_begin(&r, "http://h/1", NULL);
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		note_of(ids[i], hosts[i], &note);
		assert_true(queue_from_note(r.frontier, buf_str(&note)));
	}
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		assert_int_equal(queue(hosts[i])->id, ids[i]);
		assert_int_equal(queue(hosts[i])->ordered, ids[i]);
		assert_ptr_equal(map_get_id(&crawl()->queues_by_id, ids[i]),
		    queue(hosts[i]));
		/* What only the log holds is due for a checkpoint. */
		assert_false(list_empty(&queue(hosts[i])->changed_node));
	}
	assert_int_equal(queue_get(crawl(), STR("new"), true)->id, 10);
	buf_free(&note);
	end();
}

static void
test_records_survive(void **state)
{
	(void)state;
	begin();
	rig_begin(&r, "http://h/1", "http://h/2", "http://g/1", NULL);
	uint32_t h = rig_queue(&r, "h"), g = rig_queue(&r, "g");
	struct lease one = rig_next(&r, "h", "http://h/1");
	rig_done(&r, &one, OUTCOME_ITEM);
	for (int crash = 0; crash < 2; crash++) {
		rig_restart(&r, crash);
		assert_int_equal(rig_queue(&r, "h"), h);
		assert_int_equal(rig_queue(&r, "g"), g);
		assert_int_equal(queue("h")->waiting, 1);
		assert_int_equal(queue("h")->done, 1);
		assert_int_equal(queue("h")->ordered, 2);
	}
	find("http://h/3", 0);
	rig_next(&r, "h", "http://h/2");
	rig_next(&r, "h", "http://h/3");
	end();
}

/* --- growth --------------------------------------------------------------- */

static void
test_many(void **state)
{
	char host[16];

	(void)state;
	begin();
	rig_begin(&r, "http://h/1", NULL);
	uint32_t first = crawl()->next_queue;
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(host, sizeof(host), "host%u", i);
		assert_null(queue_get(crawl(), str_of(host), false));
		struct queue *q = queue_get(crawl(), str_of(host), true);
		assert_int_equal(q->id, first + i);
		assert_ptr_equal(queue_get(crawl(), str_of(host), true), q);
	}
	assert_int_equal(crawl()->queues.n, MANY + 1);
	assert_int_equal(rig_view(&r).queues, MANY + 1);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(host, sizeof(host), "host%u", i);
		/* Its key is a copy: `host` has been another one's. */
		assert_true(str_eq(queue(host)->key, str_of(host)));
		assert_ptr_equal(map_get_id(&crawl()->queues_by_id,
		    first + i), queue(host));
	}
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cheapest_then_oldest),
		cmocka_unit_test(test_cheaper_ones_move_the_cursor_back),
		cmocka_unit_test(test_rewind),
		cmocka_unit_test(test_told_once_until_asked),
		cmocka_unit_test(test_told_when_durable),
		cmocka_unit_test(test_not_told_while_paused),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_records_in_any_order),
		cmocka_unit_test(test_records_survive),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
