/*
 * What is special about PostgreSQL: URLs and passwords, whose a database is,
 * and connections that are lost.  database_seam_test has what both share.
 */
#include "os/database.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/clock.h"
#include "os/database_failure.h"
#include "os/postgresql_testing.h"

#define APPLICATION 0x41724731u
#define SECRET "pr\303\244zise-s3cret"

static struct postgresql_test *server;
static char file[64];
static const struct database_options options = { .application = APPLICATION,
	.busy_ms_max = 200 };
static const struct sql steps[] = {
	{ "CREATE TABLE t (id BIGINT PRIMARY KEY, name TEXT COLLATE \"C\");"
	    "CREATE TABLE u (id BIGINT PRIMARY KEY);", NULL },
	{ "wrong", "ALTER TABLE t ADD COLUMN more BIGINT NOT NULL DEFAULT 7;" },
};

static struct database *
open_url(const char *url)
{
	struct database_url u = { .url = url };
	struct database *d;
	struct why w = WHY_INIT;

	if (database_open_url(&u, &options, &d, &w) != OK ||
	    database_migrate(d, steps, ARRAY_LEN(steps), &w) != OK)
		fail_msg("%s", w.text);
	return d;
}

static struct database *
open_new(void)
{
	return open_url(postgresql_test_url(server, NULL));
}

static int64_t
number(struct database *d, const char *text)
{
	struct query *q = database_query(d, text);
	int64_t n = query_step(q) ? query_get_i64(q, 0) : -1;
	struct why w = WHY_INIT;

	if (query_end(&q, &w) != OK)
		fail_msg("%s: %s", text, w.text);
	return n;
}

static enum err
put(struct database *d, int64_t id, struct str name, struct why *w)
{
	struct query *q = database_query(d, "INSERT INTO t (id, name)"
	    " VALUES (?1, ?2)");

	query_i64(q, 1, id);
	query_str(q, 2, name);
	query_step(q);
	return query_end(&q, w);
}

static void
urls_are_judged(void **state)
{
	static const struct { const char *url, *says; } cases[] = {
		{ "", "postgresql://" },
		{ "mysql://x/y", "postgresql://" },
		{ "host=/tmp password=" SECRET, "postgresql://" },
		{ "postgresql://u:" SECRET "@/x?host=/tmp", "a password" },
		{ "postgres://u@/x?host=/tmp&password=" SECRET, "a password" },
		{ "postgresql://u@/x?sslpassword=" SECRET, "a password" },
		{ "postgresql://u:" SECRET "%zz@/x", "no URL" },
		{ "postgresql://u@/x?nonsense=1", "no URL" },
		{ "postgresql://[::1/x", "no URL" },
	};
	struct database *d;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct database_url u = { .url = cases[i].url };
		struct why w = WHY_INIT;
		assert_int_equal(database_open_url(&u, &options, &d, &w),
		    ERR_CONFIG);
		assert_null(d);
		assert_string_equal(w.field, "url");
		assert_non_null(strstr(w.text, cases[i].says));
		assert_null(strstr(w.text, "s3cret"));
	}
}

static void
write_file(const char *text, mode_t mode)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(file, mode), 0);
}

static enum err
open_guarded(const char *password_file, struct why *w)
{
	char url[128];
	struct database_url u = { .url = url, .password_file =
	    password_file };
	struct database *d;

	snprintf(url, sizeof(url), "postgresql://guarded@/postgres?host=%s"
	    "&options=-csearch_path%%3Dguarded",
	    postgresql_test_host(server));
	*w = WHY_INIT;
	enum err e = database_open_url(&u, &options, &d, w);
	assert_null(strstr(w->text, "s3cret"));
	database_close(&d);
	return e;
}

static void
passwords_come_from_a_file(void **state)
{
	static char long_text[5000];
	struct why w;

	(void)state;
	postgresql_test_run(server, "CREATE ROLE guarded LOGIN PASSWORD '"
	    SECRET "'; CREATE SCHEMA guarded AUTHORIZATION guarded");
	assert_int_equal(open_guarded(NULL, &w), ERR_UNREACHED);
	assert_non_null(strstr(w.text, "no password supplied"));
	assert_int_equal(open_guarded("/nonexistent/p", &w), ERR_ABSENT);
	assert_string_equal(w.field, "password_file");
	static const mode_t open_modes[] = { 0640, 0604, 0620, 0601 };
	for (size_t i = 0; i < ARRAY_LEN(open_modes); i++) {
		write_file(SECRET "\n", open_modes[i]);
		assert_int_equal(open_guarded(file, &w), ERR_DENIED);
		assert_string_equal(w.field, "password_file");
	}
	write_file("\n" SECRET, 0600);
	assert_int_equal(open_guarded(file, &w), ERR_INPUT);
	memset(long_text, 'x', 4097);
	write_file(long_text, 0600);
	assert_int_equal(open_guarded(file, &w), ERR_FULL);
	assert_string_equal(w.field, "password_file");
	long_text[4096] = '\0';
	write_file(long_text, 0600);
	assert_int_equal(open_guarded(file, &w), ERR_UNREACHED);
	write_file("wrong-" SECRET "\n", 0600);
	assert_int_equal(open_guarded(file, &w), ERR_UNREACHED);
	assert_non_null(strstr(w.text, "password authentication failed"));
	write_file(SECRET "\nmore\n", 0400);
	assert_int_equal(open_guarded(file, &w), OK);
	write_file(SECRET, 0600);
	assert_int_equal(open_guarded(file, &w), OK);
	/* libpq's own means; a server that echoes it is not believed. */
	assert_int_equal(setenv("PGPASSWORD", "no-" SECRET, 1), 0);
	assert_int_equal(open_guarded(NULL, &w), ERR_UNREACHED);
	assert_int_equal(setenv("PGPASSWORD", SECRET, 1), 0);
	assert_int_equal(open_guarded(NULL, &w), OK);
	assert_int_equal(unsetenv("PGPASSWORD"), 0);
	unlink(file);
}

/* A message of the server that quotes the password. */
static void
messages_have_no_password(void **state)
{
	char url[128];
	struct database_url u = { .url = url, .password_file = file };
	struct database *d;
	struct why w = WHY_INIT;

	(void)state;
	write_file(SECRET, 0600);
	snprintf(url, sizeof(url), "postgresql://guarded@/postgres?host=%s"
	    "&options=-csearch_path%%3Dguarded",
	    postgresql_test_host(server));
	assert_int_equal(database_open_url(&u, &options, &d, NULL), OK);
	assert_int_equal(database_do(d, "SELECT 'a " SECRET " b'::bigint", &w),
	    ERR_BROKEN);
	assert_non_null(strstr(w.text, "a *** b"));
	assert_null(strstr(w.text, "s3cret"));
	database_close(&d);
	unlink(file);
}

static void
strangers(void **state)
{
	const char *url = postgresql_test_url(server, NULL);
	struct database_url u = { .url = url };
	struct database_options other = options;
	struct database *d, *second;
	struct why w = WHY_INIT;

	(void)state;
	/* Somebody else's tables. */
	d = open_url(url);
	assert_int_equal(database_do(d, "DROP TABLE argiope_schema", NULL),
	    OK);
	assert_int_equal(database_open_url(&u, &options, &second, &w),
	    ERR_CORRUPT);
	assert_null(second);
	assert_non_null(strstr(w.text, "not one of this program"));
	database_close(&d);
	/* Two applications of ours share a schema, each with its version. */
	url = u.url = postgresql_test_url(server, NULL);
	d = open_url(url);
	other.application = 99;
	assert_int_equal(database_open_url(&u, &other, &second, NULL), OK);
	static const struct sql more[] = { { "CREATE TABLE v (x BIGINT)",
	    NULL } };
	assert_int_equal(database_migrate(second, more, 1, NULL), OK);
	assert_int_equal(number(d, "SELECT sum(version)::int8"
	    " FROM argiope_schema"), 3);
	/* A newer program was here. */
	w = WHY_INIT;
	assert_int_equal(database_migrate(d, steps, 1, &w), ERR_STATE);
	assert_non_null(strstr(w.text, "version 2"));
	database_close(&second);
	database_close(&d);
	/* Reading makes nothing. */
	u.url = postgresql_test_url(server, NULL);
	other.read_only = true;
	w = WHY_INIT;
	assert_int_equal(database_open_url(&u, &other, &d, &w), ERR_STATE);
	assert_non_null(strstr(w.text, "empty"));
}

static void
servers_that_do_not_fit(void **state)
{
	char url[128];
	struct database_url u = { .url = url };
	struct database *d;
	struct why w = WHY_INIT;

	(void)state;
	postgresql_test_run(server, "CREATE DATABASE latin ENCODING 'LATIN1'"
	    " LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0");
	snprintf(url, sizeof(url), "postgresql://argiope@/latin?host=%s",
	    postgresql_test_host(server));
	assert_int_equal(database_open_url(&u, &options, &d, &w), ERR_STATE);
	assert_non_null(strstr(w.text, "LATIN1"));
	snprintf(url, sizeof(url), "postgresql://argiope@/none?host=%s",
	    postgresql_test_host(server));
	w = WHY_INIT;
	assert_int_equal(database_open_url(&u, &options, &d, &w),
	    ERR_UNREACHED);
	assert_non_null(strstr(w.text, "none"));
	u.url = "postgresql://argiope@/x?host=/nonexistent";
	assert_int_equal(database_open_url(&u, &options, &d, NULL),
	    ERR_UNREACHED);
}

/* A step that fails leaves the version before it, whole. */
static void
failed_migration(void **state)
{
	static const struct sql bad[] = {
		{ "CREATE TABLE a (x BIGINT);", NULL },
		{ "CREATE TABLE b (x BIGINT); CREATE TABLE a (x BIGINT);",
		    NULL },
	};
	struct database_url u = { .url = postgresql_test_url(server, NULL) };
	struct database *d;

	(void)state;
	assert_int_equal(database_open_url(&u, &options, &d, NULL), OK);
	assert_int_equal(database_migrate(d, bad, 2, NULL), ERR_BROKEN);
	assert_int_equal(number(d, "SELECT version FROM argiope_schema"), 1);
	assert_int_equal(number(d, "SELECT count(*) FROM pg_class WHERE"
	    " relname = 'b' AND relnamespace ="
	    " current_schema()::regnamespace"), 0);
	assert_int_equal(database_migrate(d, bad, 1, NULL), OK);
	database_close(&d);
}

/* Processes that meet at an empty database. */
static void
made_by_many(void **state)
{
	enum { PROCESSES = 6 };
	const char *url = postgresql_test_url(server, NULL);
	pid_t pids[PROCESSES];
	int status;

	(void)state;
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] > 0)
			continue;
		struct database_url u = { .url = url };
		struct database_options o = { .application = APPLICATION };
		struct database *d;
		struct why w = WHY_INIT;
		enum err e = database_open_url(&u, &o, &d, &w);
		if (e == OK)
			e = database_migrate(d, steps, ARRAY_LEN(steps), &w);
		if (e != OK)
			fprintf(stderr, "%s\n", w.text);
		database_close(&d);
		_exit(e == OK ? 0 : 1);
	}
	for (int i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	struct database *d = open_url(url);
	assert_int_equal(number(d, "SELECT version FROM argiope_schema"), 2);
	database_close(&d);
}

static void
texts_sort_by_bytes(void **state)
{
	static const char *const names[] = { "B", "a", "\303\204", "Z", "b" };
	static const char *const sorted[] = { "B", "Z", "a", "b", "\303\204" };
	struct database *d = open_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(put(d, (int64_t)i, str_of(names[i]), NULL),
		    OK);
	/* The server's own order is another one. */
	assert_int_equal(number(d, "SELECT ('B'::text < 'a'::text)"), 0);
	struct query *q = database_query(d, "SELECT name FROM t"
	    " ORDER BY name");
	for (size_t i = 0; i < ARRAY_LEN(sorted); i++) {
		assert_true(query_step(q));
		assert_true(str_eq(query_get_str(q, 0), str_of(sorted[i])));
	}
	assert_int_equal(query_end(&q, NULL), OK);
	assert_int_equal(number(d, "SELECT count(*) FROM t WHERE name < 'a'"),
	    2);
	database_close(&d);
}

static void
errors_have_their_kind(void **state)
{
	static const struct { const char *state; enum err e; } cases[] = {
		{ "53100", ERR_DISK_FULL }, { "40001", ERR_BUSY },
		{ "40P01", ERR_BUSY }, { "55P03", ERR_BUSY },
		{ "57014", ERR_TIMEOUT }, { "54000", ERR_FULL },
		{ "53200", ERR_FULL }, { "42501", ERR_DENIED },
		{ "XX001", ERR_CORRUPT }, { "XX000", ERR_IO },
		{ "58030", ERR_IO }, { "23514", ERR_STATE },
		{ "23505", ERR_EXISTS }, { "P0001", ERR_BROKEN },
	};
	static char texts[ARRAY_LEN(cases)][64];
	struct database *d = open_new();
	struct why w = WHY_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(texts[i], sizeof(texts[i]), "DO $$ BEGIN RAISE"
		    " SQLSTATE '%s'; END $$", cases[i].state);
		assert_int_equal(database_do(d, texts[i], NULL), cases[i].e);
	}
	assert_int_equal(put(d, 1, (struct str){ "a\0b", 3 }, NULL),
	    ERR_INPUT);
	assert_int_equal(put(d, 1, STR("\xff"), NULL), ERR_INPUT);
	/* Types that were not cast. */
	struct query *q = database_query(d, "SELECT sum(1::int8), 'x'::text,"
	    " 5::int8");
	assert_true(query_step(q));
	assert_int_equal(query_get_i64(q, 0), 0);
	assert_int_equal(query_end(&q, &w), ERR_BROKEN);
	assert_non_null(strstr(w.text, "cast"));
	q = database_query(d, "SELECT 5::int8");
	assert_true(query_step(q));
	assert_null(query_get_str(q, 0).p);
	assert_int_equal(query_end(&q, NULL), ERR_BROKEN);
	/* Both at once. */
	static const struct sql two = { "", "SELECT unnest(?1::int8[])" };
	q = database_bulk(d, &two);
	query_i64(q, 1, 1);
	query_row(q);
	query_str(q, 1, STR("x"));
	query_row(q);
	w = WHY_INIT;
	assert_int_equal(query_end(&q, &w), ERR_BROKEN);
	assert_non_null(strstr(w.text, "?1"));
	database_close(&d);
}

static void
values_have_a_limit(void **state)
{
	char *big = mem_array(DATABASE_VALUE_BYTES_MAX + 1, 1);
	static const struct sql lengths = { "",
	    "SELECT length(b)::int8 FROM unnest(?1::bytea[]) AS b" };
	struct database *d = open_new();

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		struct query *q = database_query(d,
		    "SELECT length(?1::bytea)");
		query_bytes(q, 1, (struct str){ big,
		    DATABASE_VALUE_BYTES_MAX + more });
		assert_int_equal(query_step(q), more == 0);
		if (more == 0)
			assert_int_equal(query_get_i64(q, 0),
			    DATABASE_VALUE_BYTES_MAX);
		assert_int_equal(query_end(&q, NULL), more == 0 ? OK :
		    ERR_FULL);
	}
	struct query *q = database_bulk(d, &lengths);
	query_bytes(q, 1, (struct str){ big, DATABASE_VALUE_BYTES_MAX + 1 });
	query_row(q);
	assert_int_equal(query_end(&q, NULL), ERR_FULL);
	/* All of one statement: 512 MiB, in 9 elements. */
	q = database_bulk(d, &lengths);
	for (int i = 0; i < 10; i++) {
		query_bytes(q, 1, (struct str){ big,
		    DATABASE_VALUE_BYTES_MAX });
		query_row(q);
	}
	assert_int_equal(query_end(&q, NULL), ERR_FULL);
	database_close(&d);
	mem_free(&big);
}

/* The server does not keep more statements than we do. */
static void
statements_are_forgotten(void **state)
{
	static char texts[DATABASE_QUERIES_MAX + 200][40];
	struct database *d = open_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		snprintf(texts[i], sizeof(texts[i]), "SELECT %zu::int8", i);
		assert_int_equal(number(d, texts[i]), i);
	}
	assert_in_range(number(d, "SELECT count(*) FROM"
	    " pg_prepared_statements"), DATABASE_QUERIES_MAX - 20,
	    DATABASE_QUERIES_MAX + 20);
	/* In transactions, too. */
	assert_int_equal(database_begin(d, NULL), OK);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_int_equal(number(d, texts[i]), i);
	assert_int_equal(database_end(d, OK, NULL), OK);
	assert_int_equal(number(d, "SELECT 1"), 1);
	assert_in_range(number(d, "SELECT count(*) FROM"
	    " pg_prepared_statements"), DATABASE_QUERIES_MAX - 20,
	    DATABASE_QUERIES_MAX + 20);
	database_close(&d);
}

static void
sessions_are_ours(void **state)
{
	struct database *d;

	(void)state;
	postgresql_test_run(server, "ALTER ROLE argiope SET"
	    " synchronous_commit = off; ALTER ROLE argiope SET"
	    " default_transaction_isolation = 'serializable'");
	d = open_new();
	assert_int_equal(number(d, "SELECT (current_setting("
	    "'synchronous_commit') = 'on' AND current_setting("
	    "'default_transaction_isolation') = 'read committed' AND"
	    " current_setting('fsync') = 'on')"), 1);
	database_close(&d);
	postgresql_test_run(server, "ALTER ROLE argiope SET"
	    " synchronous_commit = remote_apply");
	d = open_new();
	assert_int_equal(number(d, "SELECT (current_setting("
	    "'synchronous_commit') = 'remote_apply')"), 1);
	database_close(&d);
	postgresql_test_run(server, "ALTER ROLE argiope RESET ALL");
}

static void
others_are_waited_for(void **state)
{
	const char *url = postgresql_test_url(server, NULL);
	struct database *d = open_url(url), *other = open_url(url);

	(void)state;
	assert_int_equal(put(d, 1, STR("a"), NULL), OK);
	assert_int_equal(database_begin(other, NULL), OK);
	assert_int_equal(database_do(other, "UPDATE t SET name = 'b'", NULL),
	    OK);
	/* A row that another transaction has changed. */
	assert_int_equal(database_do(d, "UPDATE t SET name = 'c'", NULL),
	    ERR_BUSY);
	assert_int_equal(database_end(other, OK, NULL), OK);
	assert_int_equal(database_do(d, "UPDATE t SET name = 'c'", NULL), OK);
	/* Snapshots that do not fit each other: the second one is too late. */
	struct database *both[] = { d, other };
	for (int i = 0; i < 2; i++) {
		assert_int_equal(database_begin(both[i], NULL), OK);
		assert_int_equal(database_do(both[i], "SET TRANSACTION"
		    " ISOLATION LEVEL SERIALIZABLE", NULL), OK);
		assert_int_equal(number(both[i], "SELECT count(*) FROM t"), 1);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(put(both[i], 10 + i, STR("x"), NULL), OK);
	assert_int_equal(database_end(d, OK, NULL), OK);
	assert_int_equal(database_end(other, OK, NULL), ERR_BUSY);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 2);
	database_close(&d);
	database_close(&other);
}

static void
lose_session(struct database *d)
{
	char text[128];

	snprintf(text, sizeof(text), "SELECT pg_terminate_backend(%lld, 5000)",
	    (long long)number(d, "SELECT pg_backend_pid()"));
	postgresql_test_run(server, text);
}

static void
plans_may_follow_keys(void **state)
{
	struct database_options by_key = options;
	struct database_url u = { .url = postgresql_test_url(server, NULL) };
	struct database *d;

	(void)state;
	by_key.plans_by_key = true;
	assert_int_equal(database_open_url(&u, &by_key, &d, NULL), OK);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(number(d, "SELECT (current_setting("
		    "'enable_seqscan') = 'off' AND current_setting('jit') ="
		    " 'off')"), 1);
		/* A connection that is made again has them, too. */
		lose_session(d);
	}
	database_close(&d);
	d = open_new();
	assert_int_equal(number(d, "SELECT (current_setting("
	    "'enable_seqscan') = 'on')"), 1);
	database_close(&d);
}

static void
a_lost_session_is_made_again(void **state)
{
	struct database *d = open_new();
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(put(d, 1, STR("a"), NULL), OK);
	/* Between two queries, and before a transaction: nobody notices. */
	lose_session(d);
	if (put(d, 2, STR("b"), &w) != OK)
		fail_msg("%s", w.text);
	w = WHY_INIT;
	lose_session(d);
	assert_int_equal(database_begin(d, NULL), OK);
	assert_int_equal(put(d, 3, STR("c"), NULL), OK);
	assert_int_equal(database_end(d, OK, NULL), OK);
	/* In a transaction: it is gone. */
	assert_int_equal(database_begin(d, NULL), OK);
	assert_int_equal(put(d, 4, STR("d"), NULL), OK);
	lose_session(d);
	assert_int_equal(put(d, 5, STR("e"), &w), ERR_UNREACHED);
	assert_int_equal(put(d, 6, STR("f"), NULL), ERR_UNREACHED);
	assert_int_equal(database_end(d, OK, NULL), ERR_UNREACHED);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 3);
	/* At the commit. */
	assert_int_equal(database_begin(d, NULL), OK);
	assert_int_equal(put(d, 4, STR("d"), NULL), OK);
	lose_session(d);
	assert_int_equal(database_end(d, OK, NULL), ERR_UNREACHED);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 3);
	/* With posted statements only, and after a caller's own error. */
	assert_int_equal(database_begin(d, NULL), OK);
	number(d, "SELECT 1");
	lose_session(d);
	struct query *q = database_query(d, "DELETE FROM t");
	query_post(&q);
	assert_int_equal(database_end(d, ERR_INPUT, NULL), ERR_INPUT);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 3);
	database_close(&d);
}

static int64_t
ms_since(struct mono then)
{
	return mono_ns_between(then, clock_mono()) / NS_PER_MS;
}

/* Nothing acknowledged is lost; while there is no server nobody waits. */
static void
a_killed_server_loses_nothing(void **state)
{
	enum { KILLS = 2, PUTS = 50 };
	struct database *d = open_new();
	int64_t id = 0;
	struct why w = WHY_INIT;
	struct database_failure f;

	(void)state;
	for (int i = 0; i < KILLS; i++) {
		for (int k = 0; k < PUTS; k++)
			assert_int_equal(put(d, ++id, STR("x"), NULL), OK);
		assert_int_equal(database_begin(d, NULL), OK);
		assert_int_equal(put(d, id + 1, STR("lost"), NULL), OK);
		postgresql_test_kill(server);
		assert_int_equal(database_end(d, OK, NULL), ERR_UNREACHED);
		struct mono begin = clock_mono();
		for (int k = 0; k < 1000; k++) {
			assert_int_equal(database_begin(d, &w),
			    ERR_UNREACHED);
			assert_int_equal(put(d, 1000, STR("x"), NULL),
			    ERR_UNREACHED);
		}
		assert_true(ms_since(begin) < 1000);
		assert_non_null(strstr(w.text, "PostgreSQL at"));
		assert_int_equal(database_failures(&f, 1), 1);
		assert_int_equal(f.why.err, ERR_UNREACHED);
		assert_non_null(strstr(f.why.text, "PostgreSQL at"));
		postgresql_test_start_again(server);
		begin = clock_mono();
		while (database_begin(d, NULL) == ERR_UNREACHED &&
		    ms_since(begin) < 10000)
			usleep(10000);
		assert_int_equal(number(d, "SELECT count(*) FROM t"), id);
		/* That it can be read says nothing of writes. */
		assert_int_equal(database_end(d, OK, NULL), OK);
		assert_true(database_is_failing(d));
		assert_int_equal(database_begin(d, NULL), OK);
		assert_int_equal(database_end(d, database_touch(d, NULL),
		    NULL), OK);
		assert_int_equal(database_failures(&f, 1), 0);
	}
	assert_int_equal(number(d, "SELECT max(id) FROM t"), id);
	database_close(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_are_judged),
		cmocka_unit_test(passwords_come_from_a_file),
		cmocka_unit_test(messages_have_no_password),
		cmocka_unit_test(strangers),
		cmocka_unit_test(servers_that_do_not_fit),
		cmocka_unit_test(failed_migration),
		cmocka_unit_test(made_by_many),
		cmocka_unit_test(texts_sort_by_bytes),
		cmocka_unit_test(errors_have_their_kind),
		cmocka_unit_test(values_have_a_limit),
		cmocka_unit_test(statements_are_forgotten),
		cmocka_unit_test(sessions_are_ours),
		cmocka_unit_test(plans_may_follow_keys),
		cmocka_unit_test(others_are_waited_for),
		cmocka_unit_test(a_lost_session_is_made_again),
		cmocka_unit_test(a_killed_server_loses_nothing),
	};

	server = postgresql_test_start();
	if (server == NULL)
		return POSTGRESQL_TEST_SKIP;
	snprintf(file, sizeof(file), "%s-password",
	    postgresql_test_host(server));
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	postgresql_test_stop(&server);
	return failed;
}
