/*
 * The writer's groups, listeners, and the end.  Requests are put from this
 * thread, which is home; a gate holds the writer in one request, so that what
 * is put meanwhile is one group.
 */
#include "engine/items/items_rig_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "os/clock.h"

static const struct str tasks_all[] = { { "*", 1 } };

/* -- Groups -- */

static void
what_waits_is_one_transaction(void **state)
{
	static const char *const ids[] = { "a", "b", "c", "d", "e", "f", "g",
		"h" };
	struct rig_write gate = { 0 }, clients[8] = { 0 };
	atomic_bool open = false;

	(void)state;
	rig_put_gate(&gate, &open);
	for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
		clients[i].id = ids[i];
		clients[i].fail = i == 3 ? ERR_ABSENT : OK;
		rig_put(&clients[i]);
	}
	int64_t groups = metric_value(&items_metrics[METRIC_GROUPS], 0);
	atomic_store(&open, true);
	rig_until(&rig.done_n, 9);
	assert_int_equal(metric_value(&items_metrics[METRIC_GROUPS], 0) -
	    groups, 1 + rig.threads);
	for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
		assert_int_equal(clients[i].runs, 1);
		assert_int_equal(clients[i].dones, 1);
		assert_int_equal(clients[i].write.result, clients[i].fail);
		assert_ptr_equal(clients[i].tx, clients[0].tx);
	}
	assert_string_equal(clients[3].write.why.text, "it was told to fail");
	assert_int_equal(rig_count_items(), 7);
}

static void
a_lost_race_is_run_again(void **state)
{
	struct rig_write won = { .id = "x", .fail = ERR_BUSY,
	    .fail_times = 2 };
	struct rig_write lost = { .id = "y", .fail = ERR_BUSY };

	(void)state;
	rig_put(&won);
	rig_until(&rig.done_n, 1);
	assert_int_equal(won.write.result, OK);
	assert_int_equal(won.runs, 3);
	rig_put(&lost);
	rig_until(&rig.done_n, 2);
	assert_int_equal(lost.write.result, ERR_BUSY);
	assert_int_equal(lost.runs, 5);
	assert_int_equal(rig_count_items(), 1);
}

/* A full disk is everybody's in the group, and passes. */
static void
a_failing_database_is_told_and_forgotten(void **state)
{
	struct rig_write gate = { 0 }, other = { .id = "x" };
	struct rig_write full = { .id = "y", .fail = ERR_DISK_FULL };
	struct rig_write later = { .id = "z" };
	atomic_bool open = false;

	(void)state;
	rig_put_gate(&gate, &open);
	rig_put(&other);
	rig_put(&full);
	atomic_store(&open, true);
	rig_until(&rig.done_n, 3);
	assert_int_equal(other.write.result, ERR_DISK_FULL);
	assert_int_equal(full.write.result, ERR_DISK_FULL);
	assert_int_equal(other.runs, 1);
	rig_put(&later);
	rig_until(&rig.done_n, 4);
	assert_int_equal(later.write.result, OK);
	assert_int_equal(rig_count_items(), 1);
}

/* The file may not grow: SQLite answers as on a full disk. */
static enum err
run_small_disk(struct items_write *r, struct item_tx *tx, struct why *w)
{
	(void)r;
	return database_do(item_store_database(item_tx_store(tx)),
	    "PRAGMA max_page_count = 1", w);
}

static enum err
run_big_disk(struct items_write *r, struct item_tx *tx, struct why *w)
{
	(void)r;
	return database_do(item_store_database(item_tx_store(tx)),
	    "PRAGMA max_page_count = 1000000", w);
}

/* An item of 1 MB. */
static enum err
run_big_item(struct items_write *r, struct item_tx *tx, struct why *w)
{
	struct rig_write *t = CONTAINER(r, struct rig_write, write);
	struct item_row *row;

	enum err e = rig_run_write(r, tx, w);
	if (e == OK)
		e = item_tx_find(tx, str_of(t->id), &row, w);
	if (e != OK)
		return e;
	char *data = arena_bytes(item_tx_arena(tx), 1 << 20);
	memset(data, ' ', 1 << 20);
	data[0] = '{';
	data[(1 << 20) - 1] = '}';
	row->data = (struct str){ data, 1 << 20 };
	return OK;
}

static void
work_goes_on_when_there_is_room(void **state)
{
	struct rig_write small = { 0 }, full = { .id = "x" };
	struct rig_write big = { 0 }, later = { .id = "y" };

	(void)state;
	if (rig.server != NULL)
		skip();              /* its disk is not ours */
	assert_int_equal(rig_put_and_wait(&small, run_small_disk), OK);
	assert_int_equal(rig_put_and_wait(&full, run_big_item), ERR_DISK_FULL);
	assert_int_equal(full.runs, 1);
	assert_int_equal(rig_count_items(), 0);
	assert_int_equal(rig_put_and_wait(&full, run_big_item), ERR_DISK_FULL);
	assert_int_equal(rig_put_and_wait(&big, run_big_disk), OK);
	assert_int_equal(rig_put_and_wait(&full, run_big_item), OK);
	assert_int_equal(rig_put_and_wait(&later, rig_run_write), OK);
	assert_int_equal(rig_count_items(), 2);
}

static void
a_server_that_is_away_is_told(void **state)
{
	struct rig_write w = { .id = "x" }, again = { .id = "y" };
	struct rig_count c = { .read = { .run = rig_run_count,
	    .done = rig_count_done } };

	(void)state;
	if (rig.server == NULL)
		skip();
	assert_int_equal(rig_put_and_wait(&w, rig_run_write), OK);
	postgresql_test_halt(rig.server);
	assert_int_equal(rig_put_and_wait(&again, rig_run_write),
	    ERR_UNREACHED);
	items_read(rig.items, &c.read);
	rig_until(&c.done, 1);
	assert_int_equal(c.read.result, ERR_UNREACHED);
	postgresql_test_start_again(rig.server);
	/* It reconnects with a back-off. */
	for (int i = 0; i < 100 && rig_put_and_wait(&again, rig_run_write) !=
	    OK; i++)
		rig_wait_ms(100);
	assert_int_equal(again.write.result, OK);
	assert_int_equal(rig_count_items(), 2);
}

/* A statement that fails spoils the transaction: each is run alone then. */
static enum err
run_bad_statement(struct items_write *r, struct item_tx *tx, struct why *w)
{
	struct rig_write *t = CONTAINER(r, struct rig_write, write);

	t->runs++;
	return database_do(item_store_database(item_tx_store(tx)),
	    "INSERT INTO buckets VALUES ('same', 1), ('same', 2)", w);
}

static void
a_bad_statement_harms_its_own_request(void **state)
{
	struct rig_write gate = { 0 }, first = { .id = "x" };
	struct rig_write bad = { 0 }, last = { .id = "y" };
	atomic_bool open = false;

	(void)state;
	rig_put_gate(&gate, &open);
	rig_put(&first);
	bad.write.run = run_bad_statement;
	bad.write.done = rig_write_done;
	items_write(rig.items, &bad.write);
	rig_put(&last);
	atomic_store(&open, true);
	rig_until(&rig.done_n, 4);
	assert_int_equal(first.write.result, OK);
	assert_int_equal(bad.write.result, rig.server == NULL ? ERR_EXISTS :
	    ERR_BUSY);
	assert_int_equal(last.write.result, OK);
	assert_int_equal(bad.runs, rig.server == NULL ? 2 : 10);
	assert_int_equal(rig_count_items(), 2);
}

static void
one_that_wants_it_is_alone(void **state)
{
	struct rig_write gate = { 0 }, w[3] = { { .id = "x" }, { .id = "y" },
	    { .id = "z" } };
	atomic_bool open = false;

	(void)state;
	rig_put_gate(&gate, &open);
	w[1].write.alone = true;
	w[1].fail = ERR_INPUT;
	for (size_t i = 0; i < 3; i++)
		rig_put(&w[i]);
	int64_t groups = metric_value(&items_metrics[METRIC_GROUPS], 0);
	atomic_store(&open, true);
	rig_until(&rig.done_n, 4);
	assert_int_equal(metric_value(&items_metrics[METRIC_GROUPS], 0) -
	    groups, 3 + rig.threads);
	assert_int_equal(w[0].write.result, OK);
	assert_int_equal(w[1].write.result, ERR_INPUT);
	assert_string_equal(w[1].write.why.text, "it was told to fail");
	assert_int_equal(w[2].write.result, OK);
	assert_int_equal(rig_count_items(), 2);
}

static void
a_transaction_is_bounded(void **state)
{
	struct rig_write gate = { 0 }, w[4] = { { .id = "a" }, { .id = "b" },
	    { .id = "c" }, { .id = "d" } };
	atomic_bool open = false;

	(void)state;
	rig_put_gate(&gate, &open);
	w[0].write.parts = 600;
	w[1].write.parts = 400;
	w[2].write.parts = 1;
	w[3].write.parts = 5000;
	for (size_t i = 0; i < 4; i++)
		rig_put(&w[i]);
	int64_t groups = metric_value(&items_metrics[METRIC_GROUPS], 0);
	atomic_store(&open, true);
	rig_until(&rig.done_n, 5);
	assert_int_equal(metric_value(&items_metrics[METRIC_GROUPS], 0) -
	    groups, 3 + rig.threads);
	assert_ptr_equal(w[0].tx, w[1].tx);
	assert_int_equal(rig_count_items(), 4);
}

/* -- Limits -- */

static void
writes_are_bounded(void **state)
{
	size_t n = (size_t)rig.items->limits.writes_max;
	struct rig_write *w = mem_array(n + 1, sizeof(*w));
	atomic_bool open = false;

	(void)state;
	rig_put_gate(&w[0], &open);
	for (size_t i = 1; i <= n; i++)
		rig_put(&w[i]);
	atomic_store(&open, true);
	rig_until(&rig.done_n, (unsigned)n + 1);
	assert_int_equal(w[n - 1].write.result, OK);
	assert_int_equal(w[n].write.result, ERR_FULL);
	assert_string_equal(w[n].write.why.text,
	    "items: 10000 requests wait to write already");
	assert_int_equal(w[n].runs, 0);
	/* And there is room again. */
	w[n].runs = 0;
	rig_put(&w[n]);
	rig_until(&rig.done_n, (unsigned)n + 2);
	assert_int_equal(w[n].write.result, OK);
	mem_free(&w);
}

static void
reads_are_bounded(void **state)
{
	size_t n = (size_t)rig.items->limits.reads_max;
	struct rig_count *c = mem_array(n + 1, sizeof(*c));
	atomic_bool open = false;

	(void)state;
	c[0].gate = &open;
	for (size_t i = 0; i <= n; i++) {
		c[i].read.run = rig_run_count;
		c[i].read.done = rig_count_done;
		items_read(rig.items, &c[i].read);
	}
	atomic_store(&open, true);
	rig_until(&rig.done_n, (unsigned)n + 1);
	assert_int_equal(c[n - 1].read.result, OK);
	assert_int_equal(c[n].read.result, ERR_FULL);
	mem_free(&c);
}

/* -- Reading beside a writer -- */

static void
readers_do_not_wait_for_the_writer(void **state)
{
	struct rig_write first = { .id = "x" }, gate = { .id = "y" };
	atomic_bool open = false;

	(void)state;
	rig_put(&first);
	rig_until(&rig.done_n, 1);
	rig_put_gate(&gate, &open);
	assert_int_equal(rig_count_items(), 1);
	assert_int_equal(gate.dones, 0);
	atomic_store(&open, true);
	rig_until(&rig.done_n, 2);
	assert_int_equal(rig_count_items(), 2);
}
/* -- Listeners -- */

struct test_listener {
	struct items_listener listener;
	uint64_t cursor;
	unsigned calls, lives;
};

static void
heard(struct items_listener *l, uint64_t cursor)
{
	struct test_listener *t = CONTAINER(l, struct test_listener, listener);

	assert_true(cursor > t->cursor);
	t->cursor = cursor;
	t->calls++;
}

static void
heard_live(struct items_listener *l, struct str json)
{
	assert_true(str_ends(json, STR("\"type\":\"log\",\"id\":\"x\",\"task\":"
	    "\"t\",\"by\":{\"item\":\"x\",\"task\":\"t\",\"lease\":\"L1\"},"
	    "\"message\":\"m\"}")));
	CONTAINER(l, struct test_listener, listener)->lives++;
}

static void
listeners_hear_of_events(void **state)
{
	struct test_listener a = { .listener = { .committed = heard,
	    .live = heard_live } }, b = { .listener = { .committed = heard } };
	struct rig_write w = { .id = "x" }, none = { 0 }, more = { .id = "y" };

	(void)state;
	items_listen(rig.items, &a.listener);
	items_listen(rig.items, &b.listener);
	rig_put(&w);
	rig_until(&a.calls, 1);
	assert_true(a.cursor > 0);
	assert_int_equal(items_cursor(rig.items), a.cursor);
	assert_int_equal(b.calls, 1);
	/* A commit without events is not news. */
	rig_put(&none);
	rig_until(&rig.done_n, 2);
	rig_wait_ms(5);
	assert_int_equal(a.calls, 1);
	items_live_event(rig.items, &(struct items_live){ .type = "log",
	    .item = STR("x"), .task = STR("t"), .lease = STR("L1"),
	    .more = STR("\"message\":\"m\"") });
	assert_int_equal(a.lives, 1);
	items_unlisten(&b.listener);
	rig_put(&more);
	rig_until(&a.calls, 2);
	assert_int_equal(b.calls, 1);
	items_unlisten(&a.listener);
}

/* -- Two daemons on one store -- */

static void
another_daemon_is_heard(void **state)
{
	struct test_listener l = { .listener = { .committed = heard } };
	struct rig_claim c = { 0 };
	struct rig_write w = { .id = "x" };
	struct items *first, *second;

	(void)state;
	if (rig.server == NULL)
		skip();
	rig_use_config();
	first = rig.items;
	rig_open();
	second = rig.items;
	rig_use_config();
	items_listen(first, &l.listener);
	rig.claimed = 0;
	rig.items = first;
	rig_claim(&c, tasks_all, 60000);
	rig_wait_ms(20);
	rig.items = second;
	assert_int_equal(rig_put_and_wait(&w, rig_run_write), OK);
	rig_until(&rig.claimed, 1);
	assert_int_equal(c.claim.n, 1);
	rig_until(&l.calls, 1);
	assert_true(l.cursor > 0);
	items_unlisten(&l.listener);
	rig_forget(&c);
	rig_close();
	rig.items = first;
}

/* -- The end -- */

static void
closing_finishes_what_was_put(void **state)
{
	struct rig_write w[50] = { 0 }, late = { 0 };
	struct rig_count c[50] = { 0 };
	struct rig_claim claims[3] = { 0 };

	(void)state;
	rig_use_config();
	rig.claimed = 0;
	for (size_t i = 0; i < 3; i++)
		rig_claim(&claims[i], tasks_all, 60000);
	for (size_t i = 0; i < 50; i++) {
		rig_put(&w[i]);
		c[i].read.run = rig_run_count;
		c[i].read.done = rig_count_done;
		items_read(rig.items, &c[i].read);
	}
	rig.is_closed = false;
	items_close(rig.items, rig_set_closed, NULL);
	assert_false(rig.is_closed);
	rig_put(&late);
	for (int i = 0; i < 20000 && !rig.is_closed; i++)
		rig_turn();
	assert_true(rig.is_closed);
	assert_int_equal(rig.done_n, 101);
	assert_int_equal(rig.claimed, 3);
	for (size_t i = 0; i < 50; i++) {
		assert_int_equal(w[i].write.result, OK);
		assert_int_equal(w[i].dones, 1);
		assert_int_equal(c[i].done, 1);
	}
	assert_int_equal(late.write.result, ERR_CLOSED);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(claims[i].dones, 1);
		rig_forget(&claims[i]);
	}
	items_free(&rig.items);
	/* What was acknowledged is there. */
	rig_open();
	assert_int_equal(rig_count_items(), 0);
	assert_true(rig.items->cursor == 0);
}

static void
it_may_be_freed_at_once(void **state)
{
	(void)state;
	items_free(&rig.items);
	assert_null(rig.items);
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		RIG_WITH(what_waits_is_one_transaction),
		RIG_ALONE(what_waits_is_one_transaction),
		RIG_WITH(a_lost_race_is_run_again),
		RIG_ALONE(a_lost_race_is_run_again),
		RIG_WITH(a_failing_database_is_told_and_forgotten),
		RIG_ALONE(a_failing_database_is_told_and_forgotten),
		RIG_WITH(work_goes_on_when_there_is_room),
		RIG_ALONE(work_goes_on_when_there_is_room),
		RIG_WITH(a_bad_statement_harms_its_own_request),
		RIG_ALONE(a_bad_statement_harms_its_own_request),
		RIG_WITH(one_that_wants_it_is_alone),
		RIG_ALONE(one_that_wants_it_is_alone),
		RIG_WITH(a_transaction_is_bounded),
		RIG_ALONE(a_transaction_is_bounded),
		RIG_WITH(writes_are_bounded),
		RIG_WITH(reads_are_bounded),
		RIG_WITH(readers_do_not_wait_for_the_writer),
		RIG_WITH(listeners_hear_of_events),
		RIG_ALONE(listeners_hear_of_events),
		RIG_WITH(a_server_that_is_away_is_told),
		RIG_WITH(another_daemon_is_heard),
		RIG_WITH(closing_finishes_what_was_put),
		RIG_ALONE(closing_finishes_what_was_put),
		RIG_WITH(it_may_be_freed_at_once),
		RIG_ALONE(it_may_be_freed_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	return rig_main(argc, argv, run);
}
