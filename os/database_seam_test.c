/*
 * What os/database.h promises of every database: SQLite, or with the argument
 * `postgresql` a server of the test's own.
 */
#include "os/database.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/postgresql_testing.h"

#define APPLICATION 0x41724731u

static char dir[64], path[96];
static struct postgresql_test *server;   /* NULL: SQLite is tested */
static const char *url;
static const struct sql steps[] = {
	{ "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE,"
	    " v BLOB, n INTEGER CHECK (n <> 13)) STRICT;"
	    "CREATE TABLE u (t INTEGER NOT NULL REFERENCES t (id)) STRICT;",
	    "CREATE TABLE t (id BIGINT PRIMARY KEY,"
	    " name TEXT COLLATE \"C\" UNIQUE, v BYTEA,"
	    " n BIGINT CHECK (n <> 13));"
	    "CREATE TABLE u (t BIGINT NOT NULL REFERENCES t (id));" },
};
#define PUT_CONFLICT " ON CONFLICT (id) DO UPDATE SET name = excluded.name," \
	" v = excluded.v, n = excluded.n"
#define PUT_POSTGRESQL "INSERT INTO t (id, name, v, n) SELECT * FROM" \
	" unnest(?1::int8[], ?2::text[], ?3::bytea[], ?4::int8[])" PUT_CONFLICT
#define GET_POSTGRESQL "SELECT id, name, v, n FROM t" \
	" WHERE id = ANY (?1::int8[]) ORDER BY id"
/* For SQLite in both forms: once for each row, and once for all. */
static const struct sql put_forms[] = {
	{ "INSERT INTO t (id, name, v, n) VALUES (?1, ?2, ?3, ?4)"
	  PUT_CONFLICT, PUT_POSTGRESQL },
	{ "INSERT INTO t (id, name, v, n) SELECT p1, p2, p3, p4 FROM bulk"
	  " WHERE true" PUT_CONFLICT, PUT_POSTGRESQL },
};
static const struct sql get_forms[] = {
	{ "SELECT id, name, v, n FROM t WHERE id = ?1", GET_POSTGRESQL },
	{ "SELECT id, name, v, n FROM bulk k CROSS JOIN t ON t.id = k.p1",
	  GET_POSTGRESQL },
};
static const struct sql *put_many, *get_many;

struct row {
	int64_t id;
	struct str name, v;          /* STR_NONE: NULL */
	int64_t n;                   /* 0: NULL */
};
/* In the order of their ids. */
static const struct row rows[] = {
	{ INT64_MIN, STR("{\"a\",b}\\\n'"), STR("x\0\xff\\y"), INT64_MAX },
	{ 1, STR("Zo\xc3\xab \xf0\x9f\x95\xb7 \xe8\x9c\x98\xe8\x9b\x9b"),
	    STR_NONE, 0 },
	{ 2, STR(""), STR(""), -1 },
	{ 3, STR_NONE, STR("NULL"), INT64_MIN },
	{ INT64_MAX, STR("NULL"), STR_NONE, 0 },
};

static struct database *
open_as(bool read_only)
{
	struct database_options o = { .application = APPLICATION,
	    .busy_ms_max = 50, .read_only = read_only };
	struct database *d;
	struct why w = WHY_INIT;

	struct database_url u = { .url = url };
	enum err e = server != NULL ? database_open_url(&u, &o, &d, &w) :
	    database_open(path, &o, &d, &w);
	if (e == OK && !read_only)
		e = database_migrate(d, steps, ARRAY_LEN(steps), &w);
	if (e != OK)
		fail_msg("%s", w.text);
	return d;
}

static int
setup(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/argiope-seam-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x.db", dir);
	if (server != NULL)
		url = postgresql_test_url(server, NULL);
	*state = open_as(false);
	return 0;
}

static int
teardown(void **state)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	struct database *d = *state;
	char name[128];

	database_close(&d);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		snprintf(name, sizeof(name), "%s%s", path, ends[i]);
		unlink(name);
	}
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

static int64_t
number(struct database *d, const char *text)
{
	struct query *q = database_query(d, text);
	int64_t n = query_step(q) ? query_get_i64(q, 0) : -1;
	struct why w = WHY_INIT;

	if (query_end(&q, &w) != OK)
		fail_msg("%s", w.text);
	return n;
}

static struct query *
put_query(struct database *d, int64_t id, struct str name)
{
	struct query *q = database_query(d, "INSERT INTO t (id, name)"
	    " VALUES (?1, ?2)");

	query_i64(q, 1, id);
	query_str(q, 2, name);
	return q;
}

static enum err
put(struct database *d, int64_t id, struct str name, struct why *w)
{
	struct query *q = put_query(d, id, name);

	query_step(q);
	return query_end(&q, w);
}

static void
bind_row(struct query *q, const struct row *r)
{
	query_i64(q, 1, r->id);
	query_str(q, 2, r->name);
	if (r->v.p != NULL)
		query_bytes(q, 3, r->v);
	if (r->n != 0)
		query_i64(q, 4, r->n);
	query_row(q);
}

static void
check_row(struct query *q, const struct row *r)
{
	assert_int_equal(query_get_i64(q, 0), r->id);
	assert_int_equal(query_is_null(q, 1), r->name.p == NULL);
	assert_true(str_eq(query_get_str(q, 1), r->name));
	assert_int_equal(query_is_null(q, 2), r->v.p == NULL);
	assert_true(str_eq(query_get_str(q, 2), r->v));
	/* Empty is not nothing. */
	assert_int_equal(query_get_str(q, 2).p == NULL, r->v.p == NULL);
	assert_int_equal(query_is_null(q, 3), r->n == 0);
	assert_int_equal(query_get_i64(q, 3), r->n);
}

static void
put_rows(struct database *d)
{
	struct why w = WHY_INIT;

	assert_int_equal(database_begin(d, NULL), OK);
	struct query *q = database_bulk(d, put_many);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		bind_row(q, &rows[i]);
	enum err e = query_end(&q, &w);
	if (database_end(d, e, &w) != OK)
		fail_msg("%s", w.text);
}

static void
bulk_keeps_every_value(void **state)
{
	struct database *d = *state;

	/* Twice: the second time each row is there already. */
	put_rows(d);
	put_rows(d);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), ARRAY_LEN(rows));
	struct query *q = database_bulk(d, get_many);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		query_i64(q, 1, rows[i].id);
		query_row(q);
		/* One that is not there gives no row. */
		query_i64(q, 1, 7000 + (int64_t)i);
		query_row(q);
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_true(query_step(q));
		check_row(q, &rows[i]);
	}
	assert_false(query_step(q));
	assert_false(query_step(q));
	assert_int_equal(query_end(&q, NULL), OK);
}

static void
bulk_of_none_one_and_many(void **state)
{
	enum { MANY = 5000 };
	struct database *d = *state;

	struct query *q = database_bulk(d, get_many);
	assert_false(query_step(q));
	assert_int_equal(query_end(&q, NULL), OK);
	assert_int_equal(database_begin(d, NULL), OK);
	q = database_bulk(d, put_many);
	/* Bound, but no row. */
	query_i64(q, 1, 1);
	assert_int_equal(query_end(&q, NULL), OK);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 0);
	q = database_bulk(d, put_many);
	for (int64_t i = 1; i <= MANY; i++) {
		query_i64(q, 1, i);
		query_i64(q, 4, 100 + i);
		query_row(q);
	}
	while (query_step(q))
		;
	assert_int_equal(query_changes(q), MANY);
	assert_int_equal(query_end(&q, NULL), OK);
	/* Ended while there are rows, it has run for all. */
	q = database_bulk(d, get_many);
	for (int64_t i = 1; i <= 3; i++) {
		query_i64(q, 1, i);
		query_row(q);
	}
	assert_true(query_step(q));
	assert_int_equal(query_get_i64(q, 3), 101);
	assert_int_equal(query_end(&q, NULL), OK);
	assert_int_equal(database_end(d, OK, NULL), OK);
	assert_int_equal(number(d, "SELECT count(*) FROM t WHERE n = id + 100"
	    " AND name IS NULL AND v IS NULL"), MANY);
}

/* A column whose first use had NULLs only, and the next one values. */
static void
bulk_after_nulls(void **state)
{
	struct database *d = *state;

	for (int round = 0; round < 3; round++) {
		assert_int_equal(database_begin(d, NULL), OK);
		struct query *q = database_bulk(d, put_many);
		for (int64_t i = 1; i <= 3; i++)
			bind_row(q, round == 1 ? &(struct row){ i, STR("x"),
			    STR("y"), 5 } : &(struct row){ i, STR_NONE,
			    STR_NONE, 0 });
		enum err e = query_end(&q, NULL);
		/* Three rows of one name. */
		assert_int_equal(e, round == 1 ? ERR_EXISTS : OK);
		assert_int_equal(database_end(d, e, NULL), e);
	}
	for (int64_t i = 1; i <= 2; i++) {
		struct query *q = database_query(d, "UPDATE t SET n = ?2, v ="
		    " ?3, name = ?4 WHERE id = ?1");
		query_i64(q, 1, i);
		if (i == 2) {
			query_i64(q, 2, 77);
			query_bytes(q, 3, STR("seven"));
			query_str(q, 4, STR("seven"));
		}
		query_step(q);
		assert_int_equal(query_changes(q), 1);
		assert_int_equal(query_end(&q, NULL), OK);
	}
	assert_int_equal(number(d, "SELECT n FROM t WHERE name = 'seven'"),
	    77);
	assert_int_equal(number(d, "SELECT count(*) FROM t WHERE n IS NULL"),
	    2);
}

static void
each_dialect_has_its_text(void **state)
{
	static const struct sql both = { "SELECT ?1 + 1",
	    "SELECT ?1::int8 + 2" };
	static const struct sql one = { "SELECT 41 WHERE ?1 = 'a?1'"
	    " AND ?2 = '?2'", NULL };
	struct database *d = *state;

	struct query *q = database_query_sql(d, &both);
	query_i64(q, 1, 40);
	assert_true(query_step(q));
	assert_int_equal(query_get_i64(q, 0), database_is_postgresql(d) ?
	    42 : 41);
	assert_int_equal(query_end(&q, NULL), OK);
	/* A question mark in a literal is no parameter. */
	q = database_query_sql(d, &one);
	query_str(q, 1, STR("a?1"));
	query_str(q, 2, STR("?2"));
	assert_true(query_step(q));
	assert_int_equal(query_get_i64(q, 0), 41);
	assert_int_equal(query_end(&q, NULL), OK);
}

/* Each reads rows of its own, however their steps alternate. */
static void
bulk_queries_alternate(void **state)
{
	struct database *d = *state;
	struct query *q[2];

	put_rows(d);
	for (size_t k = 0; k < 2; k++) {
		q[k] = database_bulk(d, get_many);
		for (size_t i = k; i < 4; i++) {
			query_i64(q[k], 1, rows[i].id);
			query_row(q[k]);
		}
	}
	for (size_t i = 0; i < 4; i++) {
		assert_true(query_step(q[0]));
		check_row(q[0], &rows[i]);
		assert_int_equal(query_step(q[1]), i < 3);
		if (i < 3)
			check_row(q[1], &rows[i + 1]);
	}
	for (size_t k = 0; k < 2; k++) {
		assert_false(query_step(q[k]));
		assert_int_equal(query_end(&q[k], NULL), OK);
	}
}

static void
parameters_have_a_limit(void **state)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct database *d = *state;
	struct why w = WHY_INIT;

	buf_put_text(&text, "SELECT ");
	for (unsigned i = 1; i <= DATABASE_PARAMETERS_MAX; i++)
		buf_printf(&text, "%s?%u", i == 1 ? "" : " + ", i);
	struct query *q = database_query(d, buf_text(&text));
	for (unsigned i = 1; i <= DATABASE_PARAMETERS_MAX; i++)
		query_i64(q, (int)i, i);
	assert_true(query_step(q));
	assert_int_equal(query_get_i64(q, 0), DATABASE_PARAMETERS_MAX *
	    (DATABASE_PARAMETERS_MAX + 1) / 2);
	assert_int_equal(query_end(&q, NULL), OK);
	q = database_query(d, buf_text(&text));
	query_i64(q, DATABASE_PARAMETERS_MAX + 1, 1);
	assert_false(query_step(q));
	assert_int_equal(query_end(&q, &w), ERR_BROKEN);
	assert_non_null(strstr(w.text, "?65"));
	q = database_query(d, buf_text(&text));
	query_i64(q, 0, 1);
	assert_int_equal(query_end(&q, NULL), ERR_BROKEN);
	/* The text must outlive the cache. */
	database_close(&d);
	*state = open_as(false);
}

static void
a_failed_transaction_does_no_more(void **state)
{
	struct database *d = *state;
	struct why w = WHY_INIT;

	assert_int_equal(put(d, 1, STR("a"), NULL), OK);
	assert_int_equal(database_begin(d, NULL), OK);
	assert_int_equal(put(d, 2, STR("b"), NULL), OK);
	assert_int_equal(put(d, 3, STR("a"), NULL), ERR_EXISTS);
	/* Not these, though nothing is wrong with them. */
	assert_int_equal(put(d, 4, STR("d"), &w), ERR_EXISTS);
	struct query *q = database_query(d, "SELECT 1");
	assert_false(query_step(q));
	assert_int_equal(query_end(&q, NULL), ERR_EXISTS);
	w = WHY_INIT;
	assert_int_equal(database_end(d, OK, &w), ERR_EXISTS);
	assert_int_equal(w.err, ERR_EXISTS);
	assert_non_null(strstr(w.text, "name"));
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 1);
	/* The next one is not harmed. */
	assert_int_equal(database_begin(d, NULL), OK);
	assert_int_equal(put(d, 2, STR("b"), NULL), OK);
	assert_int_equal(database_end(d, OK, NULL), OK);
	/* The caller's own error. */
	assert_int_equal(database_begin(d, NULL), OK);
	assert_int_equal(put(d, 3, STR("c"), NULL), OK);
	assert_int_equal(database_end(d, ERR_INPUT, NULL), ERR_INPUT);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 2);
}

static void
errors_have_their_kind(void **state)
{
	static const struct { const char *text; enum err e; } cases[] = {
		{ "INSERT INTO t (id) VALUES (1)", ERR_EXISTS },
		{ "INSERT INTO t (id, name) VALUES (2, 'a')", ERR_EXISTS },
		{ "INSERT INTO t (id, n) VALUES (2, 13)", ERR_STATE },
		{ "INSERT INTO u (t) VALUES (99)", ERR_STATE },
		{ "INSERT INTO u (t) VALUES (NULL)", ERR_STATE },
		{ "SELECT wrong FROM t", ERR_BROKEN },
		{ "SELECT FROM WHERE", ERR_BROKEN },
	};
	struct database *d = *state;

	assert_int_equal(put(d, 1, STR("a"), NULL), OK);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct why w = WHY_INIT;
		if (database_do(d, cases[i].text, &w) != cases[i].e)
			fail_msg("%s: %s %s", cases[i].text, err_name(w.err),
			    w.text);
		assert_true(strlen(w.text) > 10);
		/* Said again, it is no different. */
		assert_int_equal(database_do(d, cases[i].text, NULL),
		    cases[i].e);
	}
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 1);
	assert_int_equal(number(d, "SELECT count(*) FROM u"), 0);
}

static void
posted_queries_run_in_order(void **state)
{
	enum { MANY = 1000 };
	struct database *d = *state;

	assert_int_equal(database_begin(d, NULL), OK);
	for (int64_t i = 1; i <= MANY; i++) {
		struct query *q = put_query(d, i, STR_NONE);
		query_post(&q);
		assert_null(q);
	}
	/* One that waits sees what was posted before. */
	assert_int_equal(number(d, "SELECT count(*) FROM t"), MANY);
	struct query *q = database_bulk(d, put_many);
	bind_row(q, &(struct row){ 1, STR("one"), STR_NONE, 11 });
	bind_row(q, &(struct row){ MANY + 1, STR("more"), STR_NONE, 0 });
	query_post(&q);
	/* Without a row it is nothing. */
	q = database_bulk(d, put_many);
	query_post(&q);
	/* Rows that nobody reads. */
	q = database_query(d, "UPDATE t SET n = 12 WHERE n = 11 RETURNING id");
	query_post(&q);
	assert_int_equal(database_end(d, OK, NULL), OK);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), MANY + 1);
	assert_int_equal(number(d, "SELECT n FROM t WHERE name = 'one'"), 12);
}

static void
a_posted_error_is_the_transactions(void **state)
{
	struct database *d = *state;

	assert_int_equal(put(d, 1, STR("a"), NULL), OK);
	for (int waits = 0; waits < 2; waits++) {
		struct why w = WHY_INIT;
		assert_int_equal(database_begin(d, NULL), OK);
		struct query *q = put_query(d, 2, STR("b"));
		query_post(&q);
		q = put_query(d, 3, STR("a"));
		query_post(&q);
		q = put_query(d, 4, STR("d"));
		query_post(&q);
		if (waits == 1)
			assert_int_equal(put(d, 5, STR("e"), NULL),
			    ERR_EXISTS);
		assert_int_equal(database_end(d, OK, &w), ERR_EXISTS);
		assert_int_equal(w.err, ERR_EXISTS);
		assert_non_null(strstr(w.text, "name"));
		assert_int_equal(number(d, "SELECT count(*) FROM t"), 1);
	}
	/* Bound wrongly, it is not run either. */
	assert_int_equal(database_begin(d, NULL), OK);
	struct query *q = put_query(d, 2, STR("b"));
	query_i64(q, 3, 1);
	query_post(&q);
	assert_int_equal(database_end(d, OK, NULL), ERR_BROKEN);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 1);
}

static void
a_reader_keeps_its_snapshot(void **state)
{
	static const char count[] = "SELECT count(*) FROM t";
	struct database *d = *state, *reader = open_as(true);

	assert_int_equal(put(d, 1, STR("a"), NULL), OK);
	assert_int_equal(database_begin_read(reader, NULL), OK);
	assert_int_equal(number(reader, count), 1);
	assert_int_equal(put(d, 2, STR("b"), NULL), OK);
	assert_int_equal(database_begin(d, NULL), OK);
	assert_int_equal(put(d, 3, STR("c"), NULL), OK);
	assert_int_equal(number(reader, count), 1);
	assert_int_equal(database_end(d, OK, NULL), OK);
	assert_int_equal(number(reader, count), 1);
	assert_int_equal(database_end(reader, OK, NULL), OK);
	assert_int_equal(number(reader, count), 3);
	assert_int_equal(put(reader, 4, STR("d"), NULL), ERR_DENIED);
	database_close(&reader);
}

static void
a_read_transaction_does_not_write(void **state)
{
	struct database *d = *state;
	struct why w = WHY_INIT;

	assert_int_equal(put(d, 1, STR("a"), NULL), OK);
	assert_int_equal(database_begin_read(d, NULL), OK);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 1);
	assert_int_equal(put(d, 2, STR("b"), &w), ERR_DENIED);
	assert_int_equal(database_end(d, OK, NULL), ERR_DENIED);
	assert_int_equal(database_begin_read(d, NULL), OK);
	struct query *q = put_query(d, 3, STR("c"));
	query_post(&q);
	assert_int_equal(database_end(d, OK, NULL), ERR_DENIED);
	assert_int_equal(database_begin_read(d, NULL), OK);
	assert_int_equal(database_end(d, OK, NULL), OK);
	/* The next transaction may write. */
	assert_int_equal(put(d, 2, STR("b"), NULL), OK);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 2);
}

int
main(int argc, char **argv)
{
#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH(bulk_keeps_every_value), WITH(bulk_of_none_one_and_many),
		WITH(bulk_after_nulls), WITH(bulk_queries_alternate),
		WITH(each_dialect_has_its_text),
		WITH(parameters_have_a_limit),
		WITH(a_failed_transaction_does_no_more),
		WITH(errors_have_their_kind), WITH(posted_queries_run_in_order),
		WITH(a_posted_error_is_the_transactions),
		WITH(a_reader_keeps_its_snapshot),
		WITH(a_read_transaction_does_not_write),
	};

	(void)argv;
	if (argc > 1 && (server = postgresql_test_start()) == NULL)
		return POSTGRESQL_TEST_SKIP;
	int failed = 0;
	for (size_t form = 0; form < ARRAY_LEN(put_forms); form++) {
		put_many = &put_forms[form];
		get_many = &get_forms[form];
		failed += cmocka_run_group_tests(tests, NULL, NULL);
	}
	postgresql_test_stop(&server);
	return failed;
}
