/*
 * Random operations of daemons on tasks of the external door, and a model of
 * them in memory: after each one both have the same tasks, documents and
 * counts.  On a PostgreSQL server two daemons share the store; a daemon
 * restarts now and then.  ARGIOPE_SEED repeats what a printed seed has done.
 */
#include "engine/store/store_external.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "engine/store/store_testing.h"
#include "os/clock.h"
#include "os/postgresql_testing.h"
#include "os/tree.h"

#define STEPS 1500
#define TASKS 6
#define OPEN_MAX 4u
#define DOCUMENTS_MAX 400
#define BATCH_MAX 6

enum place { SPOOLED, UPLOADED, REJECTED, DROPPED, PLACES };

struct model_task {
	uint64_t id;                 /* 0: it was never put */
	enum store_task_state state;
	unsigned owner;
	uint64_t attempt, rejected_before, lines;
	size_t n;                    /* documents; number i + 1 */
	enum place places[DOCUMENTS_MAX];
	size_t cursor;               /* the next document; 0: none */
	size_t last_batch;           /* of the last emit */
};

static char dir[64];
static uint64_t random_state;
static unsigned nodes;
static struct store *stores[2];
static int64_t leases[2];
static struct model_task tasks[TASKS];
static struct arena arena;
static struct wall now;

static uint64_t
random_below(uint64_t n)
{
	random_state = hash_u64(random_state + 0x9e3779b97f4a7c15u);
	return random_state % n;
}

static void
open_node(unsigned k)
{
	struct store_options o = { .node = k == 0 ? "a" : "b" };
	struct why w = WHY_INIT;

	if (store_test_open(dir, &o, &stores[k], &w) != OK)
		fail_msg("%s", w.text);
}

static bool
is_open(const struct model_task *t)
{
	return t->id != 0 && !store_task_is_closed(t->state);
}

static size_t
count_places(const struct model_task *t, enum place p)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->places[i] == p;
	return n;
}

/* A document's text follows from its task and number. */
static struct str
text_of(uint64_t id, size_t number)
{
	return arena_printf(&arena, "{\"t\":%" PRIu64 ",\"n\":%zu}", id,
	    number);
}

static struct str
cursor_of(const struct model_task *t)
{
	return t->cursor == 0 ? STR("") : arena_printf(&arena, "%zu",
	    t->cursor);
}

/* The result that an owner's verbs must have. */
static enum err
owners(const struct model_task *t, unsigned k)
{
	return t->id == 0 ? ERR_ABSENT : is_open(t) && t->owner == k ? OK :
	    ERR_STATE;
}

/* --- operations ---------------------------------------------------------- */

static size_t
count_open(void)
{
	size_t n = 0;

	for (size_t i = 0; i < TASKS; i++)
		n += is_open(&tasks[i]);
	return n;
}

static struct store_task
order_of(const struct model_task *t)
{
	return (struct store_task){ .backend = STR("acme"),
	    .connector = STR("feed"), .endpoint = STR("https://e"),
	    .params = STR("{}"), .fid = arena_printf(&arena, "t%zu",
	    (size_t)(t - tasks)) };
}

static void
put_task(unsigned k, struct model_task *t)
{
	struct store_task order = order_of(t), out = { .id = 0 };
	bool made, full = t->id == 0 && count_open() >= OPEN_MAX;

	assert_int_equal(store_task_put(stores[k], &order, OPEN_MAX, now,
	    &arena, &out, &made, NULL), full ? ERR_FULL : OK);
	assert_int_equal(made, t->id == 0 && !full);
	if (t->id != 0)
		assert_int_equal(out.id, t->id);
	if (made)
		*t = (struct model_task){ .id = out.id, .attempt = 1,
		    .owner = k };
}

static void
retry_task(unsigned k, struct model_task *t)
{
	struct store_task order = order_of(t);
	bool keep = random_below(2) == 0;
	enum err e = t->id == 0 ? ERR_ABSENT : is_open(t) ? ERR_STATE :
	    count_open() >= OPEN_MAX ? ERR_FULL : OK;

	order.reset = random_below(4) == 0;
	assert_int_equal(store_task_retry(stores[k], t->id, &order, keep,
	    OPEN_MAX, now, NULL), e);
	if (e != OK)
		return;
	t->attempt++;
	t->state = STORE_TASK_ACCEPTED;
	t->owner = k;
	t->rejected_before = count_places(t, REJECTED);
	if (!keep || order.reset)
		t->cursor = 0;
}

static void
emit_documents(unsigned k, struct model_task *t)
{
	struct store_document d[BATCH_MAX];
	enum place places[BATCH_MAX];
	size_t n = random_below(BATCH_MAX + 1);
	uint64_t kind = random_below(8);
	struct store_emit m = { .first = t->n + 1, .documents = d, .n = n };
	enum err e = owners(t, k);

	if (t->n + n > DOCUMENTS_MAX)
		return;
	if (kind == 0 && t->last_batch > 0 && t->last_batch <= t->n) {
		/* It says the last one again. */
		m.n = n = t->last_batch;
		m.first = t->n - n + 1;
	} else if (kind == 1) {
		m.first += 1 + random_below(3);
		e = e == OK ? ERR_STATE : e;
	}
	for (size_t i = 0; i < n; i++) {
		places[i] = random_below(5) == 0 ? REJECTED : SPOOLED;
		d[i] = (struct store_document){ .json = text_of(t->id,
		    m.first + i), .message = places[i] == REJECTED ?
		    STR("bad") : STR("") };
	}
	m.cursor = arena_printf(&arena, "%zu", (size_t)m.first + n);
	bool undone = kind == 2;
	if (undone)
		assert_int_equal(store_begin(stores[k], NULL), OK);
	assert_int_equal(store_spool_emit(stores[k], t->id, &m, now, NULL),
	    e);
	if (undone)
		assert_int_equal(store_end(stores[k], ERR_STATE, NULL),
		    ERR_STATE);
	if (e != OK || undone || m.first <= t->n)
		return;
	memcpy(&t->places[t->n], places, n * sizeof(*places));
	t->n += n;
	t->last_batch = n;
	t->cursor = t->n + 1;
}

static void
acknowledge(unsigned k, struct model_task *t)
{
	struct store_document bad[DOCUMENTS_MAX];
	size_t first = 1 + random_below(t->n + 1);
	size_t last = first + random_below(2 * BATCH_MAX);
	struct store_ack a = { .first = first, .last = last, .refused = bad,
	    .delivery = STR("d") };
	enum err e = owners(t, k);

	for (size_t i = first; i <= last; i++)
		if (random_below(6) == 0)
			bad[a.refused_n++] = (struct store_document){
			    .number = i, .message = STR("refused") };
	assert_int_equal(store_spool_ack(stores[k], t->id, &a, now, NULL), e);
	if (e != OK)
		return;
	for (size_t i = 0; i < a.refused_n; i++)
		if (bad[i].number <= t->n && t->places[bad[i].number - 1] ==
		    SPOOLED)
			t->places[bad[i].number - 1] = REJECTED;
	for (size_t i = first; i <= MIN(last, t->n); i++)
		if (t->places[i - 1] == SPOOLED)
			t->places[i - 1] = UPLOADED;
}

static void
drop_documents(struct model_task *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->places[i] == SPOOLED)
			t->places[i] = DROPPED;
}

static void
drop_spool(unsigned k, struct model_task *t)
{
	assert_int_equal(store_spool_drop(stores[k], t->id, now, NULL),
	    t->id == 0 ? ERR_ABSENT : OK);
	drop_documents(t);
}

static void
close_task(unsigned k, struct model_task *t)
{
	enum store_task_state s = STORE_TASK_DONE + random_below(
	    STORE_TASK_STATE_COUNT - STORE_TASK_DONE);
	struct store_task_end end = { .status = { .state = s },
	    .drop_spool = random_below(2) == 0,
	    .by_owner = random_below(2) == 0 };
	bool changed, open = is_open(t);
	enum err e = t->id == 0 ? ERR_ABSENT : open && end.by_owner &&
	    t->owner != k ? ERR_STATE : OK;

	assert_int_equal(store_task_close(stores[k], t->id, &end, now,
	    &changed, NULL), e);
	assert_int_equal(changed, e == OK && open);
	if (!changed)
		return;
	t->state = s;
	if (end.drop_spool)
		drop_documents(t);
}

static void
set_status(unsigned k, struct model_task *t)
{
	struct store_task_status s = { .state = STORE_TASK_RUNNING +
	    random_below(2), .code = 102 };
	enum err e = owners(t, k);

	assert_int_equal(store_task_set_status(stores[k], t->id, &s, now,
	    NULL), e);
	if (e == OK)
		t->state = s.state;
}

static void
redeliver(unsigned k, struct model_task *t)
{
	enum err e = t->id == 0 ? ERR_ABSENT : t->state ==
	    STORE_TASK_UNDELIVERED ? OK : ERR_STATE;

	assert_int_equal(store_task_redeliver(stores[k], t->id, now, NULL),
	    e);
	if (e != OK)
		return;
	t->state = STORE_TASK_DRAINING;
	t->owner = k;
}

static void
add_lines(unsigned k, struct model_task *t)
{
	static const struct store_log_line lines[] = {
		{ .level = STR("info") }, { .level = STR("warning") } };
	size_t n = random_below(ARRAY_LEN(lines) + 1);

	assert_int_equal(store_log_add(stores[k], t->id, lines, n, NULL),
	    t->id == 0 ? ERR_ABSENT : OK);
	if (t->id != 0)
		t->lines += n;
}

static void
restart_node(unsigned k, struct model_task *t)
{
	(void)t;
	store_close(&stores[k]);
	open_node(k);
}

static void
renew_lease(unsigned k, struct model_task *t)
{
	struct wall until = { now.us + (int64_t)random_below(20) };
	bool kept;

	(void)t;
	assert_int_equal(store_lease_renew(stores[k], now, until, &kept,
	    NULL), OK);
	assert_int_equal(kept, nodes == 1 || leases[k] > now.us);
	leases[k] = until.us;
}

static void
take_over(unsigned k, struct model_task *t)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	size_t n, expected = 0;
	uint64_t *ids;

	(void)t;
	for (size_t i = 0; i < TASKS; i++)
		if (is_open(&tasks[i]) && tasks[i].owner != k &&
		    leases[tasks[i].owner] <= now.us) {
			tasks[i].owner = k;
			expected++;
		}
	assert_int_equal(store_task_take_over(stores[k], now, &a, &ids, &n,
	    NULL), OK);
	assert_int_equal(n, expected);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < TASKS; j++)
			if (tasks[j].id == ids[i])
				assert_int_equal(tasks[j].owner, k);
}

/* --- comparison ---------------------------------------------------------- */

static void
compare_numbers(const struct model_task *t, enum place p,
    const struct store_document *d, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (t->places[i] != p)
			continue;
		assert_true(at < n);
		assert_int_equal(d[at].number, i + 1);
		assert_true(str_eq(d[at].json, text_of(t->id, i + 1)));
		at++;
	}
	assert_int_equal(at, n);
}

static void
compare_task(struct store *st, const struct model_task *t)
{
	struct store_document *d;
	struct store_log_line *lines;
	struct store_task got;
	size_t n, bytes = 0;

	if (t->id == 0)
		return;
	assert_int_equal(store_task_get(st, t->id, &arena, &got, NULL), OK);
	assert_int_equal(got.state, t->state);
	assert_int_equal(got.closed.us == 0, is_open(t));
	assert_true(str_eq(got.node, nodes == 1 ? STR("") : t->owner == 0 ?
	    STR("a") : STR("b")));
	assert_int_equal(got.attempt, t->attempt);
	assert_int_equal(got.emitted, t->n);
	assert_int_equal(got.spooled, count_places(t, SPOOLED));
	assert_int_equal(got.uploaded, count_places(t, UPLOADED));
	assert_int_equal(got.rejected, count_places(t, REJECTED));
	assert_int_equal(got.dropped, count_places(t, DROPPED));
	assert_int_equal(got.rejected_before, t->rejected_before);
	assert_true(str_eq(got.cursor, cursor_of(t)));
	assert_int_equal(store_spool_read(st, t->id, 1, DOCUMENTS_MAX, 1 <<
	    20, &arena, &d, &n, NULL), OK);
	compare_numbers(t, SPOOLED, d, n);
	for (size_t i = 0; i < n; i++)
		bytes += d[i].json.n;
	assert_int_equal(got.spool_bytes, bytes);
	assert_int_equal(store_rejected_list(st, t->id, 0, 0, &arena, &d, &n,
	    NULL), OK);
	compare_numbers(t, REJECTED, d, n);
	assert_int_equal(store_log_list(st, t->id, 0, &arena, &lines, &n,
	    NULL), OK);
	assert_int_equal(n, MIN(t->lines, STORE_LOG_LINES_MAX));
	assert_int_equal(n == 0 ? t->lines : lines[n - 1].number, t->lines);
}

static void
compare_lists(unsigned k)
{
	struct store_task_filter f = { .mine = true, .open = true };
	struct store_spool_totals totals;
	struct store_task *list;
	size_t n, open = 0, spooled = 0;

	for (size_t i = 0; i < TASKS; i++) {
		open += is_open(&tasks[i]) && tasks[i].owner == k;
		spooled += count_places(&tasks[i], SPOOLED);
	}
	assert_int_equal(store_task_list(stores[k], &f, &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, open);
	assert_int_equal(store_spool_total(stores[k], &totals, NULL), OK);
	assert_int_equal(totals.documents, spooled);
}

static void
store_follows_its_model(void **state)
{
	static void (*const operations[])(unsigned, struct model_task *) = {
		put_task, put_task, retry_task, retry_task, emit_documents,
		emit_documents, emit_documents, emit_documents, acknowledge,
		acknowledge, acknowledge, drop_spool, close_task, set_status,
		redeliver, add_lines, restart_node, renew_lease, take_over };

	(void)state;
	print_message("ARGIOPE_SEED=%" PRIu64 "\n", random_state);
	for (int i = 0; i < STEPS; i++) {
		unsigned k = (unsigned)random_below(nodes);
		struct model_task *t = &tasks[random_below(TASKS)];
		now.us += (int64_t)random_below(5);
		/* Mostly the owner speaks. */
		if (is_open(t) && random_below(4) > 0)
			k = t->owner;
		operations[random_below(ARRAY_LEN(operations))](k, t);
		compare_task(stores[random_below(nodes)], t);
		compare_lists(k);
		if (i % 100 == 0)
			arena_free(&arena);
	}
	for (size_t i = 0; i < TASKS; i++)
		compare_task(stores[0], &tasks[i]);
}

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-model-XXXXXX");
	assert_non_null(mkdtemp(dir));
	store_test_renew();
	nodes = store_test_server() != NULL ? 2 : 1;
	now.us = INT64_C(1795166296000000);      /* 2026-11-20 */
	for (unsigned k = 0; k < nodes; k++)
		open_node(k);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	for (unsigned k = 0; k < nodes; k++)
		store_close(&stores[k]);
	arena_free(&arena);
	return tree_remove(dir, NULL) != OK;
}

int
main(int argc, char **argv)
{
	const char *seed = getenv("ARGIOPE_SEED");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(store_follows_its_model,
		    setup, teardown),
	};

	clock_random(&random_state, sizeof(random_state));
	if (seed != NULL)
		str_to_u64(str_of(seed), &random_state);
	if (!store_test_begin(argc, argv))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}
