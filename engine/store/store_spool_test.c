/* Documents of the external door's tasks, in both databases. */
#include "engine/store/store_external_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/postgresql_testing.h"

/* --- spool --------------------------------------------------------------- */

static void
documents_in_order(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	uint64_t other = put_task("acme", "t2").id;
	struct store_document d[] = { { .json = STR("{\"n\":1}") },
	    { .json = STR("{\"n\":2}"), .pointer = STR("/id"),
	    .message = STR("it is missing") },
	    { .json = STR("{\"n\":333}") }, { .json = STR("{\"n\":4}") } };
	struct store_document *got;

	(void)state;
	emit_documents(id, 1, d, 4, "{\"at\":4}");
	emit_documents(other, 1, d, 1, "1");
	struct store_task t = get_task(id);
	assert_int_equal(t.emitted, 4);
	assert_int_equal(t.spooled, 3);
	assert_int_equal(t.rejected, 1);
	assert_int_equal(t.spool_bytes, 7 + 9 + 7);
	assert_text(t.cursor, "{\"at\":4}");
	assert_int_equal(t.checkpoint.n, 2);
	assert_int_equal(read_totals().tasks, 2);
	assert_int_equal(read_totals().documents, 4);
	assert_int_equal(read_totals().bytes, 23 + 7);
	assert_int_equal(list_rejected(id, &got), 1);
	assert_int_equal(got[0].number, 2);
	assert_text(got[0].pointer, "/id");
	assert_text(got[0].message, "it is missing");
	assert_text(got[0].json, "{\"n\":2}");
	/* Said again it changes nothing; a gap and another number are none. */
	emit_documents(id, 1, d, 4, "{\"at\":1}");
	assert_text(get_task(id).cursor, "{\"at\":4}");
	struct store_emit m = { .first = 6, .documents = d, .n = 1 };
	assert_int_equal(store_spool_emit(store, id, &m, t0, NULL),
	    ERR_STATE);
	m.first = 4;
	m.n = 2;
	assert_int_equal(store_spool_emit(store, id, &m, t0, NULL),
	    ERR_STATE);
	m.first = 0;
	assert_int_equal(store_spool_emit(store, id, &m, t0, NULL),
	    ERR_STATE);
	/* Ranges: by number and bytes, at least one. */
	assert_int_equal(read_spool(id, 1, 10, 16, &got), 2);
	assert_int_equal(got[0].number, 1);
	assert_text(got[0].json, "{\"n\":1}");
	assert_int_equal(got[1].number, 3);
	assert_int_equal(read_spool(id, 1, 10, 15, &got), 1);
	assert_int_equal(read_spool(id, 3, 10, 1, &got), 1);
	assert_int_equal(got[0].number, 3);
	assert_int_equal(read_spool(id, 1, 2, 1000, &got), 2);
	assert_int_equal(read_spool(id, 1, 10, 1000, &got), 3);
	assert_int_equal(read_spool(id, 5, 10, 1000, &got), 0);
	assert_int_equal(read_spool(id, UINT64_MAX, 10, 1000, &got), 0);
}

static void
acknowledgements(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	struct store_document d[5], *got;
	struct store_document bad[] = { { .number = 2, .pointer = STR("/a"),
	    .message = STR("refused") } };
	struct store_ack k = { .first = 3, .last = 4, .refused = bad,
	    .refused_n = 1 };
	struct why w = WHY_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(d); i++)
		d[i] = (struct store_document){ .json = STR("{\"n\":1}") };
	emit_documents(id, 1, d, 5, "5");
	/* Only documents of the range may be refused, and for a reason. */
	expect_refused(store_spool_ack(store, id, &k, t0, &w), ERR_INPUT,
	    "refused[0]", &w);
	k.first = 1;
	bad[0].message = STR("");
	expect_refused(store_spool_ack(store, id, &k, t0, &w), ERR_INPUT,
	    "refused[0]", &w);
	k.last = UINT64_MAX;
	expect_refused(store_spool_ack(store, id, &k, t0, &w), ERR_INPUT,
	    "last", &w);
	bad[0].message = STR("refused");
	ack_documents(id, 1, 3, bad, 1);
	struct store_task t = get_task(id);
	assert_int_equal(t.uploaded, 2);
	assert_int_equal(t.rejected, 1);
	assert_int_equal(t.spooled, 2);
	assert_int_equal(t.spool_bytes, 14);
	assert_text(t.delivery, "{\"seq\":1}");
	assert_int_equal(list_rejected(id, &got), 1);
	assert_int_equal(got[0].number, 2);
	assert_text(got[0].json, "{\"n\":1}");
	/* Again, as after a lost connection: nothing is counted twice. */
	ack_documents(id, 1, 3, bad, 1);
	assert_int_equal(get_task(id).uploaded, 2);
	assert_int_equal(get_task(id).rejected, 1);
	/* A part in the middle, then the rest. */
	ack_documents(id, 5, 5, NULL, 0);
	assert_int_equal(read_spool(id, 1, 10, 100, &got), 1);
	assert_int_equal(got[0].number, 4);
	assert_int_equal(store_spool_drop(store, id, t0, NULL), OK);
	assert_int_equal(get_task(id).dropped, 1);
	assert_int_equal(read_totals().bytes, 0);
	assert_int_equal(read_spool(id, 1, 10, 100, &got), 0);
	assert_int_equal(store_spool_drop(store, 99, t0, NULL), ERR_ABSENT);
}

/* Several acknowledgements, or one and its status, as one commit. */
static void
acknowledgements_share_a_commit(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	struct store_document d[] = { { .json = STR("{}") },
	    { .json = STR("[]") } };

	(void)state;
	emit_documents(id, 1, d, 2, "2");
	assert_int_equal(store_begin(store, NULL), OK);
	ack_documents(id, 1, 1, NULL, 0);
	assert_int_equal(store_end(store, ERR_STATE, NULL), ERR_STATE);
	assert_int_equal(get_task(id).uploaded, 0);
	assert_int_equal(get_task(id).spooled, 2);
	assert_int_equal(store_begin(store, NULL), OK);
	ack_documents(id, 2, 2, NULL, 0);
	ack_documents(id, 1, 1, NULL, 0);
	assert_int_equal(store_end(store, OK, NULL), OK);
	assert_int_equal(get_task(id).uploaded, 2);
}

static void
limits_of_documents(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	size_t many = STORE_EMIT_DOCUMENTS_MAX;
	struct store_document *d = arena_take_array(&arena, many + 1,
	    sizeof(*d));
	struct store_emit m = { .first = 1, .documents = d, .n = many + 1 };
	struct store_document *got;
	struct why w = WHY_INIT;

	(void)state;
	for (size_t i = 0; i <= many; i++)
		d[i] = (struct store_document){ .json = STR("{}") };
	expect_refused(store_spool_emit(store, id, &m, t0, &w), ERR_FULL,
	    "documents", &w);
	/* At the edges, all at once. */
	d[0].json = x_text(STORE_DOCUMENT_BYTES_MAX);
	d[1].json = x_text(STORE_EMIT_BYTES_MAX - STORE_DOCUMENT_BYTES_MAX -
	    2 * (many - 2));
	m.n = many;
	m.cursor = x_text(STORE_CURSOR_BYTES_MAX);
	m.checkpoint = x_text(STORE_CHECKPOINT_BYTES_MAX);
	expect_ok(store_spool_emit(store, id, &m, t0, &w), &w);
	assert_int_equal(read_totals().bytes, STORE_EMIT_BYTES_MAX);
	assert_int_equal(get_task(id).checkpoint.n, STORE_CHECKPOINT_BYTES_MAX);
	assert_int_equal(read_spool(id, 1, many, STORE_EMIT_BYTES_MAX, &got),
	    many);
	m.first += many;
	m.n = many - 1;
	d[2].json = STR("{ }");
	d[3].json = STR("{  }");
	expect_refused(store_spool_emit(store, id, &m, t0, &w), ERR_FULL,
	    "documents", &w);
	d[1].json = x_text(STORE_DOCUMENT_BYTES_MAX + 1);
	expect_refused(store_spool_emit(store, id, &m, t0, &w), ERR_FULL,
	    "documents[1]", &w);
	d[1].json = STR("");
	expect_refused(store_spool_emit(store, id, &m, t0, &w), ERR_INPUT,
	    "documents[1]", &w);
	d[1].json = STR("\xff");
	expect_refused(store_spool_emit(store, id, &m, t0, &w), ERR_INPUT,
	    "documents[1]", &w);
	m.n = 1;
	d[0] = (struct store_document){ .json = STR("{}"), .message =
	    x_text(STORE_STATUS_BYTES_MAX + 1) };
	expect_refused(store_spool_emit(store, id, &m, t0, &w), ERR_FULL,
	    "message", &w);
	d[0].message = x_text(STORE_STATUS_BYTES_MAX);
	d[0].pointer = x_text(STORE_POINTER_BYTES_MAX + 1);
	expect_refused(store_spool_emit(store, id, &m, t0, &w), ERR_FULL,
	    "pointer", &w);
	d[0].pointer = x_text(STORE_POINTER_BYTES_MAX);
	expect_ok(store_spool_emit(store, id, &m, t0, &w), &w);
	m.first++;
	m.cursor = x_text(STORE_CURSOR_BYTES_MAX + 1);
	expect_refused(store_spool_emit(store, id, &m, t0, &w), ERR_FULL,
	    "cursor", &w);
	m.cursor = STR("");
	m.checkpoint = x_text(STORE_CHECKPOINT_BYTES_MAX + 1);
	expect_refused(store_spool_emit(store, id, &m, t0, &w), ERR_FULL,
	    "checkpoint", &w);
}

/* A bounded number of rejected documents is kept, and of each a bounded part;
 * all are counted. */
static void
rejected_documents_are_bounded(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	size_t many = STORE_REJECTED_MAX;
	struct store_document *d = arena_take_array(&arena, many, sizeof(*d));
	struct store_document *got;
	struct store_document bad[] = { { .number = many + 1,
	    .message = STR("m") } };
	size_t n;

	(void)state;
	for (size_t i = 0; i < many; i++)
		d[i] = (struct store_document){ .json = STR("{}"),
		    .message = STR("m") };
	d[0].json = x_text(STORE_REJECTED_CHARACTERS_MAX + 1);
	emit_documents(id, 1, d, many - 1, "");
	/* The last place is taken by one that the back end refuses. */
	d[0] = d[1] = (struct store_document){ .json = STR("[1]") };
	emit_documents(id, many, d, 2, "");
	bad[0].number = many;
	ack_documents(id, many, many, bad, 1);
	assert_int_equal(list_rejected(id, &got), STORE_REJECTED_MAX);
	assert_int_equal(got[0].json.n, STORE_REJECTED_CHARACTERS_MAX);
	assert_int_equal(got[many - 1].number, many);
	assert_text(got[many - 1].json, "[1]");
	bad[0].number = many + 1;
	ack_documents(id, many + 1, many + 1, bad, 1);
	emit_documents(id, many + 2, &d[2], 1, "");
	assert_int_equal(get_task(id).rejected, many + 2);
	assert_int_equal(get_task(id).uploaded, 0);
	assert_int_equal(list_rejected(id, &got), STORE_REJECTED_MAX);
	assert_int_equal(store_rejected_list(store, id, 10, 5, &arena, &got,
	    &n, NULL), OK);
	assert_int_equal(n, 5);
	assert_int_equal(got[0].number, 11);
}

/* --- rows of the spool ------------------------------------------------ */

#define MANY 300u

/* Numbers that are multiples of seven are rejected. */
static void
emit_many(uint64_t id, struct store_document *d)
{
	for (size_t i = 0; i < MANY; i++) {
		struct str text = x_text(900 + i);
		d[i] = (struct store_document){ .json = arena_printf(&arena,
		    "\"%zu\n%.*s\"", i + 1, STR_FMT(text)),
		    .message = (i + 1) % 7 == 0 ? STR("no") : STR("") };
	}
	emit_documents(id, 1, d, MANY, "many");
}

/* It has these numbers alone, of documents that no check has rejected. */
static void
has_spooled(uint64_t id, const struct store_document *d,
    bool (*is_left)(uint64_t))
{
	struct store_document *got;
	size_t n = read_spool(id, 1, MANY, SIZE_MAX, &got), k = 0;
	uint64_t bytes = 0;

	for (uint64_t i = 1; i <= MANY; i++) {
		if (!is_left(i) || i % 7 == 0)
			continue;
		assert_true(k < n);
		assert_int_equal(got[k].number, i);
		assert_true(str_eq(got[k++].json, d[i - 1].json));
		bytes += d[i - 1].json.n;
	}
	assert_int_equal(k, n);
	assert_int_equal(get_task(id).spooled, n);
	assert_int_equal(get_task(id).spool_bytes, bytes);
	assert_int_equal(read_totals().bytes, bytes);
}

static bool
is_any(uint64_t number)
{
	return number > 0;
}

static bool
is_outside(uint64_t number)
{
	return number < 3 || number > 250;
}

static bool
is_outside_twice(uint64_t number)
{
	return is_outside(number) && (number < 260 || number > 261);
}

static void
ranges_cut_rows(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	struct store_document d[MANY], *got;
	struct store_document bad[] = {
		{ .number = 100, .message = STR("odd") },
		{ .number = 7, .message = STR("gone") },
		{ .number = 249, .message = STR("last") } };

	(void)state;
	emit_many(id, d);
	has_spooled(id, d, is_any);
	/* From the middle of a row, by number and by bytes. */
	assert_int_equal(read_spool(id, 99, 150, SIZE_MAX, &got), 150);
	assert_int_equal(got[0].number, 99);
	assert_int_equal(got[149].number, 272);
	size_t two = d[98].json.n + d[99].json.n;
	assert_int_equal(read_spool(id, 99, 150, two, &got), 2);
	assert_int_equal(read_spool(id, 99, 150, two - 1, &got), 1);
	assert_int_equal(read_spool(id, 99, 150, 0, &got), 1);
	assert_int_equal(read_spool(id, 99, 0, SIZE_MAX, &got), 0);
	ack_documents(id, 3, 250, bad, ARRAY_LEN(bad));
	has_spooled(id, d, is_outside);
	assert_int_equal(get_task(id).rejected, MANY / 7 + 2);
	assert_int_equal(get_task(id).uploaded, 250 - 2 - 250 / 7 - 2);
	size_t n = list_rejected(id, &got);
	assert_int_equal(n, MANY / 7 + 2);
	for (size_t i = 0; i < n; i++)
		if (got[i].number % 7 != 0)
			assert_true(str_eq(got[i].json,
			    d[got[i].number - 1].json));
	/* Again, beyond, and a hole in the middle of a row. */
	ack_documents(id, 3, 250, bad, ARRAY_LEN(bad));
	ack_documents(id, 260, 261, NULL, 0);
	has_spooled(id, d, is_outside_twice);
	ack_documents(id, 1, MANY, NULL, 0);
	assert_int_equal(get_task(id).spooled, 0);
	assert_int_equal(read_totals().bytes, 0);
	assert_int_equal(get_task(id).uploaded, MANY - MANY / 7 - 2);
}

static void
change_table(const char *text)
{
	struct database *d;

	assert_int_equal(store_test_database(dir, &d, NULL), OK);
	assert_int_equal(database_do(d, text, NULL), OK);
	database_close(&d);
}

static void
a_damaged_row_is_told(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	struct store_document d[MANY], *got;
	struct store_ack k = { .first = 1, .last = 1,
		.delivery = STR("{}") };
	struct why w = WHY_INIT;
	size_t n;

	(void)state;
	emit_many(id, d);
	change_table("UPDATE external_spool SET documents = '5:[1]'");
	expect_refused(store_spool_read(store, id, 1, 10, 1000, &arena, &got,
	    &n, &w), ERR_CORRUPT, "", &w);
	expect_refused(store_spool_ack(store, id, &k, t0, &w), ERR_CORRUPT, "",
	    &w);
	assert_int_equal(get_task(id).uploaded, 0);
	/* It can be given up. */
	assert_int_equal(store_spool_drop(store, id, t0, NULL), OK);
	assert_int_equal(read_totals().bytes, 0);
}

/* A store in which each document has a row. */
static void
rows_of_older_stores(void **state)
{
	static const struct sql version = { "SELECT user_version FROM"
	    " pragma_user_version", "SELECT version FROM argiope_schema" };
	struct store_document d[] = { { .json = STR("{\"id\":\"\u00e4\"}") },
		{ .json = STR("{\"id\":2}") } }, *got;
	char set[64];
	struct database *db;

	(void)state;
	uint64_t id = put_task("acme", "t1").id;
	emit_documents(id, 1, d, 1, "1");
	emit_documents(id, 2, d + 1, 1, "2");
	store_close(&store);
	assert_int_equal(store_test_database(dir, &db, NULL), OK);
	struct query *q = database_query_sql(db, &version);
	assert_true(query_step(q));
	snprintf(set, sizeof(set), database_is_postgresql(db) ?
	    "UPDATE argiope_schema SET version = %d" :
	    "PRAGMA user_version = %d", (int)query_get_i64(q, 0) - 1);
	assert_int_equal(query_end(&q, NULL), OK);
	database_close(&db);
	change_table("UPDATE external_spool SET documents = CASE number"
	    " WHEN 1 THEN '{\"id\":\"\u00e4\"}' ELSE '{\"id\":2}' END");
	change_table("ALTER TABLE external_spool DROP COLUMN last");
	change_table("ALTER TABLE external_spool DROP COLUMN spooled");
	change_table("ALTER TABLE external_spool RENAME COLUMN documents TO"
	    " document");
	change_table(set);
	assert_int_equal(store_test_open(dir, NULL, &store, NULL), OK);
	assert_int_equal(read_spool(id, 1, 10, 1000, &got), 2);
	assert_true(str_eq(got[0].json, d[0].json));
	assert_true(str_eq(got[1].json, d[1].json));
	ack_documents(id, 1, 2, NULL, 0);
	assert_int_equal(get_task(id).uploaded, 2);
	assert_int_equal(read_totals().bytes, 0);
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, open_test_store, \
	close_test_store)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH(documents_in_order), WITH(acknowledgements),
		WITH(acknowledgements_share_a_commit),
		WITH(limits_of_documents), WITH(rejected_documents_are_bounded),
		WITH(ranges_cut_rows), WITH(a_damaged_row_is_told),
		WITH(rows_of_older_stores),
	};

	if (!store_test_begin(argc, argv))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}
