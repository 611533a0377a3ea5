/*
 * Random operations on a transaction and on plain arrays, which must be equal
 * at each undo and after each commit.  ARGIOPE_SEED repeats what a printed seed
 * did.
 */
#include "engine/items/item_tx_own.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/hash.h"
#include "engine/items/items_testing.h"
#include "os/clock.h"

static struct items_test t;

static int
setup(void **state)
{
	struct item_limits l = ITEM_LIMITS_DEFAULT;

	(void)state;
	l.pair_failures_max = 3;
	items_test_open(&t, &l);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	items_test_close(&t);
	return 0;
}

/* -- The model -- */

#define ITEMS 10
#define ALIASES 12
#define TASKS 3
#define TAGS 4
#define NAMES 3
#define RECORDS 400

struct model {
	struct model_item {
		bool exists;
		int64_t key;         /* 0: none so far */
		unsigned rev;
		int tags[TAGS];      /* 0 none; 1 no value; n the value n */
	} items[ITEMS];
	struct {
		bool exists;
		int item;
	} aliases[ALIASES];
	struct {
		bool exists;
		unsigned rev;
	} results[TASKS][ITEMS];
	struct {
		bool exists;
		enum pair_state state;
		uint64_t lease;
	} pairs[TASKS][ITEMS];
	struct {
		bool exists;
		int content;
	} blobs[ITEMS][NAMES];
	int64_t buckets[NAMES];
	bool paused[TASKS];
	struct record {
		int task, item;
		bool flag;           /* handled; successful */
	} failures[RECORDS], runs[RECORDS];
	size_t failures_n, runs_n;
	size_t events;
};

static struct model model, committed;
static uint32_t task_ids[TASKS], tag_ids[TAGS];
static uint64_t random_state;

static unsigned
roll(unsigned n)
{
	random_state = hash_u64(random_state + 1);
	return (unsigned)(random_state % n);
}

static struct str
text_of(const char *kind, unsigned n)
{
	return arena_printf(item_tx_arena(t.tx), "%s %u", kind, n);
}

static void
make_names(void)
{
	char name[16];

	items_test_begin(&t);
	for (unsigned i = 0; i < TASKS; i++) {
		snprintf(name, sizeof(name), "task %u", i);
		assert_int_equal(item_store_name(t.store, ITEM_NAME_TASK,
		    str_of(name), true, &task_ids[i], NULL), OK);
	}
	for (unsigned i = 0; i < TAGS; i++) {
		snprintf(name, sizeof(name), "tag %u", i);
		assert_int_equal(item_store_name(t.store, ITEM_NAME_TAG,
		    str_of(name), true, &tag_ids[i], NULL), OK);
	}
	items_test_commit(&t);
}

static struct item_row *
row_of_item(int i)
{
	struct item_row *r;

	assert_int_equal(item_tx_item(t.tx, model.items[i].key, &r, NULL), OK);
	return r;
}

static void
set_tags(struct item_row *r, struct model_item *m)
{
	struct item_tag *tags = ARENA_ARRAY(item_tx_arena(t.tx),
	    struct item_tag, TAGS);
	size_t n = 0;

	for (unsigned i = 0; i < TAGS; i++) {
		m->tags[i] = (int)roll(4);
		if (m->tags[i] == 0)
			continue;
		tags[n].tag = tag_ids[i];
		tags[n].name = text_of("tag", i);
		tags[n].value = m->tags[i] == 1 ? STR_NONE :
		    text_of("value", (unsigned)m->tags[i]);
		n++;
	}
	r->tags = tags;
	r->tags_n = n;
}

static void
change_item(void)
{
	int i = (int)roll(ITEMS);
	struct model_item *m = &model.items[i];
	struct item_row *r;

	if (m->key == 0 && roll(2) == 0) {
		assert_int_equal(item_tx_new_item(t.tx, &r, NULL), OK);
		m->key = r->key;
	} else if (m->key == 0)
		return;
	r = row_of_item(i);
	assert_int_equal(r->exists, m->exists);
	item_tx_touch_item(t.tx, r);
	m->exists = r->exists = roll(5) > 0;
	m->rev = roll(1000);
	r->rev = m->rev;
	r->id = text_of("id", (unsigned)i);
	r->data = text_of("data", m->rev);
	r->created_by = m->rev % 2 ? STR_NONE : text_of("by", m->rev);
	r->created_at = r->updated_at = t.now;
	r->aliases_n = r->blobs_n = 1;   /* so that lists are read */
	set_tags(r, m);
	if (m->exists)
		return;
	memset(m->tags, 0, sizeof(m->tags));
	/* Aliases are only stored beside an item, which they come with. */
	for (unsigned a = 0; a < ALIASES; a++) {
		if (!model.aliases[a].exists || model.aliases[a].item != i)
			continue;
		struct alias_row *alias;
		assert_int_equal(item_tx_alias(t.tx, text_of("alias", a),
		    &alias, NULL), OK);
		assert_true(alias->exists);
		item_tx_touch_alias(t.tx, alias);
		model.aliases[a].exists = alias->exists = false;
	}
}

static void
change_alias(void)
{
	unsigned i = roll(ALIASES);
	int item = (int)roll(ITEMS);
	struct alias_row *r;

	assert_int_equal(item_tx_alias(t.tx, text_of("alias", i), &r, NULL),
	    OK);
	item_tx_touch_alias(t.tx, r);
	model.aliases[i].exists = r->exists = roll(3) > 0 &&
	    model.items[item].exists;
	model.aliases[i].item = item;
	r->item = model.items[item].key;
}

static void
change_result(void)
{
	unsigned k = roll(TASKS), i = roll(ITEMS), rev = roll(1000);
	struct result_row *r;

	if (model.items[i].key == 0)
		return;
	assert_int_equal(item_tx_result(t.tx, task_ids[k], model.items[i].key,
	    &r, NULL), OK);
	assert_int_equal(r->exists, model.results[k][i].exists);
	item_tx_touch_result(t.tx, r);
	model.results[k][i].exists = r->exists = roll(4) > 0;
	model.results[k][i].rev = rev;
	r->rev = rev;
	r->metadata = text_of("metadata", rev);
	r->task_version = text_of("version", rev);
	r->created_at = t.now;
	r->is_successful = rev % 2;
	r->is_invalidated = rev % 3 == 0;
	r->completed_at = rev % 4 ? t.now : ITEM_TIME_NONE;
	r->expires_at = rev % 5 ? ITEM_TIME_NONE : (struct wall){ rev };
	r->ttl_override_us = rev % 3 == 0 ? RESULT_TTL_NONE :
	    rev % 3 == 1 ? RESULT_TTL_NEVER : (int64_t)rev;
}

static void
change_pair(void)
{
	unsigned k = roll(TASKS), i = roll(ITEMS);
	struct pair_row *r;

	if (model.items[i].key == 0)
		return;
	assert_int_equal(item_tx_pair(t.tx, task_ids[k], model.items[i].key,
	    &r, NULL), OK);
	assert_int_equal(r->exists, model.pairs[k][i].exists);
	item_tx_touch_pair(t.tx, r);
	model.pairs[k][i].exists = r->exists = roll(4) > 0;
	model.pairs[k][i].state = r->state = roll(PAIR_STATE_COUNT);
	model.pairs[k][i].lease = roll(2) ? 0 : UINT64_MAX - roll(9);
	r->lease = model.pairs[k][i].lease;
	r->due_ms = r->state == PAIR_LEASED ? PAIR_DUE_NONE :
	    (int64_t)r->state - 1;
	r->lease_until = r->lease == 0 ? ITEM_TIME_NONE : t.now;
	r->worker = r->lease == 0 ? STR_NONE : STR("worker");
	r->attempt = (unsigned)r->state;
	r->again = r->lease != 0;
	r->done_lease = r->lease / 2;
}

static void
change_blob(void)
{
	unsigned i = roll(ITEMS), k = roll(NAMES);
	struct blob_row *r;

	if (model.items[i].key == 0)
		return;
	assert_int_equal(item_tx_blob(t.tx, model.items[i].key,
	    text_of("blob", k), &r, NULL), OK);
	assert_int_equal(r->exists, model.blobs[i][k].exists);
	item_tx_touch_blob(t.tx, r);
	model.blobs[i][k].exists = r->exists = roll(3) > 0;
	model.blobs[i][k].content = (int)roll(3);
	memset(r->sha256, 'a' + model.blobs[i][k].content, sizeof(r->sha256));
	r->type = STR("image/png");
	r->bytes = model.blobs[i][k].content;
}

static void
change_bucket(void)
{
	unsigned k = roll(NAMES);
	struct bucket_row *r;
	struct task_state_row *s;

	assert_int_equal(item_tx_bucket(t.tx, text_of("bucket", k), &r, NULL),
	    OK);
	assert_int_equal(r->full_at.us, model.buckets[k]);
	item_tx_touch_bucket(t.tx, r);
	r->full_at.us = model.buckets[k] = roll(1000);
	assert_int_equal(item_tx_task_state(t.tx, task_ids[k], &s, NULL), OK);
	assert_int_equal(s->paused, model.paused[k]);
	item_tx_touch_task_state(t.tx, s);
	s->paused = model.paused[k] = roll(2);
}

static void
drop_record(struct record *list, size_t *n, size_t at)
{
	memmove(&list[at], &list[at + 1], (--*n - at) * sizeof(*list));
}

static void
put_failure(int k, int i)
{
	size_t n = 0;

	item_tx_put_failure(t.tx, task_ids[k], model.items[i].key, STR("m"),
	    STR("{}"));
	model.failures[model.failures_n++] = (struct record){ k, i, false };
	for (size_t at = model.failures_n; at-- > 0;)
		if (model.failures[at].task == k &&
		    model.failures[at].item == i && ++n > 3)
			drop_record(model.failures, &model.failures_n, at);
}

static void
put_run(int k, int i)
{
	struct item_run run = { .task = task_ids[k], .item = model.items[i].key,
		.started_at = t.now, .success = roll(2),
		.task_version = STR("1"), .record = STR("{}") };
	bool keep = roll(2);

	item_tx_put_run(t.tx, &run, keep);
	item_tx_add_usage(t.tx, run.task, 1, 2, 3, 4, 5);
	for (size_t at = model.runs_n; at-- > 0;)
		if (model.runs[at].task == k && model.runs[at].item == i &&
		    (model.runs[at].flag || !keep))
			drop_record(model.runs, &model.runs_n, at);
	model.runs[model.runs_n++] = (struct record){ k, i, run.success };
}

static void
handle_failures(int k, int i)
{
	item_tx_handle_failures(t.tx, task_ids[k], model.items[i].key,
	    STR("somebody"), STR_NONE);
	for (size_t at = 0; at < model.failures_n; at++)
		if (model.failures[at].task == k &&
		    model.failures[at].item == i)
			model.failures[at].flag = true;
}

static void
move_records(int i, int to)
{
	item_tx_move_records(t.tx, model.items[i].key, model.items[to].key);
	for (size_t at = 0; at < model.failures_n; at++)
		if (model.failures[at].item == i)
			model.failures[at].item = to;
	for (size_t at = 0; at < model.runs_n; at++)
		if (model.runs[at].item == i)
			model.runs[at].item = to;
}

static void
drop_records(int i)
{
	item_tx_drop_records(t.tx, model.items[i].key);
	for (size_t at = model.failures_n; at-- > 0;)
		if (model.failures[at].item == i)
			drop_record(model.failures, &model.failures_n, at);
	for (size_t at = model.runs_n; at-- > 0;)
		if (model.runs[at].item == i)
			drop_record(model.runs, &model.runs_n, at);
}

static void
change_records(void)
{
	int k = (int)roll(TASKS), i = (int)roll(ITEMS), to = (int)roll(ITEMS);

	if (model.items[i].key == 0 || model.items[to].key == 0 ||
	    model.runs_n == RECORDS || model.failures_n == RECORDS)
		return;
	switch (roll(8)) {
	case 0:
	case 1:
		put_failure(k, i);
		break;
	case 2:
		handle_failures(k, i);
		break;
	case 3:
		move_records(i, to);
		break;
	case 4:
		drop_records(i);
		break;
	default:
		put_run(k, i);
	}
}

static void
put_event(void)
{
	const struct item_actor nobody = { .run_item = 0 };
	const struct item_event e = { .type = ITEM_EVENT_TASK_PAUSED,
		.task = STR("a") };

	item_event_put(t.tx, &nobody, &e);
	model.events++;
}

/* A statement that changes what rows contain, as other files have them. */
static void
run_statement(void)
{
	assert_int_equal(item_tx_flush_all(t.tx, NULL), OK);
	assert_int_equal(database_do(item_store_database(t.store),
	    "UPDATE buckets SET full_at = full_at + 1", NULL), OK);
	struct query *q = database_query(item_store_database(t.store),
	    "SELECT name FROM buckets");
	while (query_step(q))
		model.buckets[query_get_str(q, 0).p[7] - '0']++;
	assert_int_equal(query_end(&q, NULL), OK);
	item_tx_forget(t.tx);
}

static void
want_some(void)
{
	for (unsigned i = 0; i < ALIASES; i++) {
		if (roll(2))
			item_tx_want_item(t.tx, text_of("alias", i));
		if (roll(2))
			item_tx_want_pair(t.tx, task_ids[roll(TASKS)],
			    text_of("alias", i));
	}
	for (unsigned i = 0; i < ITEMS; i++) {
		if (model.items[i].key == 0)
			continue;
		if (roll(2))
			item_tx_want_key(t.tx, model.items[i].key);
		item_tx_want_pair_key(t.tx, task_ids[roll(TASKS)],
		    model.items[i].key);
	}
	assert_int_equal(item_tx_load(t.tx, NULL), OK);
}

static void
change_something(void)
{
	static void (*const changes[])(void) = { change_item, change_item,
		change_alias, change_alias, change_result, change_result,
		change_pair, change_pair, change_pair, change_blob,
		change_bucket, change_records, change_records, put_event };

	switch (roll(40)) {
	case 0:
		assert_int_equal(item_tx_flush(t.tx, NULL), OK);
		break;
	case 1:
		run_statement();
		break;
	case 2:
		want_some();
		break;
	default:
		changes[roll(ARRAY_LEN(changes))]();
	}
}

/* -- Comparing -- */

static void
check_item(int i)
{
	const struct model_item *m = &model.items[i];
	struct item_row *r;

	if (m->key == 0)
		return;
	r = row_of_item(i);
	assert_int_equal(r->exists, m->exists);
	if (!m->exists)
		return;
	assert_int_equal(r->rev, m->rev);
	assert_true(str_eq(r->data, text_of("data", m->rev)));
	assert_true(str_eq(r->id, text_of("id", (unsigned)i)));
	if (m->rev % 2)
		assert_null(r->created_by.p);
	else
		assert_true(str_eq(r->created_by, text_of("by", m->rev)));
	size_t n = 0;
	for (unsigned k = 0; k < TAGS; k++) {
		if (m->tags[k] == 0)
			continue;
		assert_true(n < r->tags_n);
		assert_true(str_eq(r->tags[n].name, text_of("tag", k)));
		if (m->tags[k] == 1)
			assert_null(r->tags[n].value.p);
		else
			assert_true(str_eq(r->tags[n].value,
			    text_of("value", (unsigned)m->tags[k])));
		n++;
	}
	assert_int_equal(n, r->tags_n);
}

static void
check_aliases(void)
{
	struct alias_row *r, **list;
	size_t n, found = 0, expected = 0;

	for (unsigned i = 0; i < ALIASES; i++) {
		int item = model.aliases[i].item;
		bool exists = model.aliases[i].exists;
		assert_int_equal(item_tx_alias(t.tx, text_of("alias", i), &r,
		    NULL), OK);
		assert_int_equal(r->exists, exists);
		if (exists)
			assert_int_equal(r->item, model.items[item].key);
		expected += exists;
	}
	for (int i = 0; i < ITEMS; i++) {
		if (!model.items[i].exists)
			continue;
		assert_int_equal(item_tx_aliases_of(t.tx, row_of_item(i),
		    &list, &n, NULL), OK);
		found += n;
	}
	assert_int_equal(found, expected);
}

static void
check_result(unsigned k, unsigned i)
{
	unsigned rev = model.results[k][i].rev;
	struct result_row *r;

	assert_int_equal(item_tx_result(t.tx, task_ids[k], model.items[i].key,
	    &r, NULL), OK);
	assert_int_equal(r->exists, model.results[k][i].exists);
	if (!r->exists)
		return;
	assert_int_equal(r->rev, rev);
	assert_true(str_eq(r->metadata, text_of("metadata", rev)));
	assert_int_equal(r->is_successful, rev % 2);
	assert_int_equal(r->is_invalidated, rev % 3 == 0);
	assert_int_equal(r->completed_at.us == ITEM_TIME_NONE.us,
	    rev % 4 == 0);
	assert_int_equal(r->expires_at.us, rev % 5 ? ITEM_TIME_NONE.us :
	    (int64_t)rev);
	assert_int_equal(r->ttl_override_us, rev % 3 == 0 ? RESULT_TTL_NONE :
	    rev % 3 == 1 ? RESULT_TTL_NEVER : (int64_t)rev);
}

static void
check_pair(unsigned k, unsigned i)
{
	struct pair_row *r;

	assert_int_equal(item_tx_pair(t.tx, task_ids[k], model.items[i].key,
	    &r, NULL), OK);
	assert_int_equal(r->exists, model.pairs[k][i].exists);
	if (!r->exists)
		return;
	assert_int_equal(r->state, model.pairs[k][i].state);
	assert_true(r->lease == model.pairs[k][i].lease);
	assert_true(r->done_lease == r->lease / 2);
	assert_int_equal(r->due_ms, r->state == PAIR_LEASED ? PAIR_DUE_NONE :
	    (int64_t)r->state - 1);
	assert_int_equal(r->again, r->lease != 0);
	assert_int_equal(r->worker.p == NULL, r->lease == 0);
}

static void
check_lists(unsigned i)
{
	struct result_row **results;
	struct pair_row **pairs;
	size_t results_n, pairs_n, n = 0, m = 0;

	for (unsigned k = 0; k < TASKS; k++) {
		n += model.results[k][i].exists;
		m += model.pairs[k][i].exists;
	}
	assert_int_equal(item_tx_results_of(t.tx, model.items[i].key, &results,
	    &results_n, NULL), OK);
	assert_int_equal(results_n, n);
	assert_int_equal(item_tx_pairs_of(t.tx, model.items[i].key, &pairs,
	    &pairs_n, NULL), OK);
	assert_int_equal(pairs_n, m);
}

static void
check_blobs(unsigned i)
{
	struct blob_row *r;

	for (unsigned k = 0; k < NAMES; k++) {
		assert_int_equal(item_tx_blob(t.tx, model.items[i].key,
		    text_of("blob", k), &r, NULL), OK);
		assert_int_equal(r->exists, model.blobs[i][k].exists);
		if (r->exists)
			assert_int_equal(r->sha256[31],
			    'a' + model.blobs[i][k].content);
	}
}

static void
check_counts(unsigned k)
{
	int64_t pairs[PAIR_STATE_COUNT] = { 0 };
	struct task_state_row *s;

	for (unsigned i = 0; i < ITEMS; i++)
		pairs[model.pairs[k][i].state] += model.pairs[k][i].exists;
	assert_int_equal(item_tx_task_state(t.tx, task_ids[k], &s, NULL), OK);
	assert_memory_equal(s->pairs, pairs, sizeof(pairs));
	assert_int_equal(s->paused, model.paused[k]);
}

/* All rows, as the transaction has them now. */
static void
check_rows(void)
{
	struct bucket_row *b;

	for (unsigned i = 0; i < ITEMS; i++) {
		check_item((int)i);
		if (model.items[i].key == 0)
			continue;
		for (unsigned k = 0; k < TASKS; k++) {
			check_result(k, i);
			check_pair(k, i);
		}
		check_lists(i);
		check_blobs(i);
	}
	for (unsigned k = 0; k < TASKS; k++)
		check_counts(k);
	for (unsigned k = 0; k < NAMES; k++) {
		assert_int_equal(item_tx_bucket(t.tx, text_of("bucket", k), &b,
		    NULL), OK);
		assert_int_equal(b->full_at.us, model.buckets[k]);
	}
}

static void
check_records(const char *sql, const struct record *list, size_t n)
{
	struct query *q = database_query(item_store_database(t.store), sql);

	for (size_t i = 0; i < n; i++) {
		assert_true(query_step(q));
		assert_int_equal(query_get_i64(q, 0), task_ids[list[i].task]);
		assert_int_equal(query_get_i64(q, 1),
		    model.items[list[i].item].key);
		assert_int_equal(query_get_i64(q, 2), list[i].flag);
	}
	assert_false(query_step(q));
	assert_int_equal(query_end(&q, NULL), OK);
}

static void
check_committed(void)
{
	check_records("SELECT task, item, handled_at IS NOT NULL FROM failures"
	    " ORDER BY id", model.failures, model.failures_n);
	check_records("SELECT task, item, outcome FROM runs ORDER BY id",
	    model.runs, model.runs_n);
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM events"),
	    model.events);
	/* A blob's uses are the rows that name it. */
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM blobs"
	    " WHERE uses <> (SELECT count(*) FROM item_blobs i"
	    " WHERE i.sha256 = blobs.sha256)"), 0);
	items_test_begin(&t);
	if (roll(2))
		want_some();
	check_rows();
	check_aliases();
	items_test_commit(&t);
}

static void
make_blobs(void)
{
	for (int i = 0; i < 3; i++) {
		char sha256[32];
		memset(sha256, 'a' + i, sizeof(sha256));
		struct query *q = database_query(item_store_database(t.store),
		    "INSERT INTO blobs (sha256, uses, put_at, bytes)"
		    " VALUES (?1, 0, 0, ?1)");
		query_bytes(q, 1, (struct str){ sha256, sizeof(sha256) });
		query_step(q);
		assert_int_equal(query_end(&q, NULL), OK);
	}
}

static void
random_transaction(void)
{
	struct {
		struct item_mark mark;
		struct model model;
	} marks[3];
	size_t marks_n = 0;

	items_test_begin(&t);
	for (unsigned i = roll(60); i > 0; i--) {
		if (marks_n < 3 && roll(12) == 0) {
			marks[marks_n].mark = item_tx_mark(t.tx);
			marks[marks_n++].model = model;
		} else if (marks_n > 0 && roll(12) == 0) {
			marks_n = roll((unsigned)marks_n);
			item_tx_undo(t.tx, marks[marks_n].mark);
			model = marks[marks_n].model;
			check_rows();
		} else
			change_something();
	}
	if (roll(4) == 0)
		check_rows();
	if (roll(5) > 0) {
		items_test_commit(&t);
		committed = model;
		return;
	}
	assert_int_equal(item_tx_end(&t.tx, ERR_STATE, NULL), ERR_STATE);
	model = committed;
}

static void
random_transactions_are_like_the_model(void **state)
{
	(void)state;
	clock_random(&random_state, sizeof(random_state));
	const char *seed = getenv("ARGIOPE_SEED");
	if (seed != NULL)
		str_to_u64(str_of(seed), &random_state);
	print_message("ARGIOPE_SEED=%llu\n",
	    (unsigned long long)random_state);
	make_names();
	make_blobs();
	memset(&model, 0, sizeof(model));
	committed = model;
	for (int i = 0; i < 300; i++) {
		random_transaction();
		check_committed();
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    random_transactions_are_like_the_model, setup, teardown),
	};

	return items_test_main(argc, argv, tests);
}
