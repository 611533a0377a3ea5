/* Spools of streams: whole, cut at each byte, and after a power cut. */
#include "engine/harvest/spool.h"

#include "os/file.h"
#include "os/world_testing.h"

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#define PLAIN "HTTP/1.1 200 OK\r\n\r\n"
#define PACKED "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"

static struct loop *loop;
static struct pool *pool;
static struct arena arena;
static const char dir[] = "/d";

static void
turn(int64_t ms)
{
	world_pass(loop, pool, ms);
}

static struct spool *
begin(const char *head, const char *const *parts)
{
	struct call_received r = { .url = STR("https://a.example/s"),
	    .request = STR("GET /s HTTP/1.1\r\n\r\n"), .head = str_of(head),
	    .start = { 1000 } };
	assert_true(ip_from_text(STR("192.0.2.1"), &r.ip));
	struct spool *s = spool_begin(pool, loop, dir, &r);

	for (int64_t at = 2000; *parts != NULL; parts++, at += 1000)
		spool_put(s, str_of(*parts), (struct wall){ at });
	return s;
}

static struct spool_left *
read_only_one(void)
{
	struct spool_left *list;
	size_t n;

	assert_int_equal(spools_read(dir, &arena, &list, &n, NULL), OK);
	assert_int_equal(n, 1);
	return list;
}

static size_t
count_files(void)
{
	struct str *names;
	size_t n;

	assert_int_equal(file_list(dir, &arena, &names, &n, NULL), OK);
	return n;
}

/* What was not synced is lost, and nothing of what was. */
static void
a_power_cut_costs_the_last_seconds(void **state)
{
	static const char *const parts[] = { "one\n", NULL };
	struct spool *s = begin(PLAIN, parts);

	(void)state;
	turn(SPOOL_SYNC_MS + 100);
	spool_put(s, STR("two\n"), (struct wall){ 9000 });
	turn(SPOOL_SYNC_MS);
	spool_put(s, STR("three\n"), (struct wall){ 10000 });
	turn(SPOOL_SYNC_MS / 2);
	world_crash(true);
	struct spool_left *left = read_only_one();
	assert_true(str_eq(left->stream.body, STR("one\ntwo\n")));
	assert_int_equal(left->stream.end.us, 9000);
	spool_end(&s);
	turn(100);
}

static void
what_is_synced_is_read(void **state)
{
	static const char *const parts[] = { "3\r\nabc\r\n", "2\r\nd",
		NULL };
	struct spool *s = begin(CHUNKED, parts);

	(void)state;
	turn(SPOOL_SYNC_MS + 500);
	struct spool_left *left = read_only_one();
	const struct call_received *r = &left->stream;
	assert_true(str_eq(r->url, STR("https://a.example/s")));
	assert_true(str_eq(r->request, STR("GET /s HTTP/1.1\r\n\r\n")));
	assert_true(str_eq(r->head, STR(CHUNKED)));
	/* Without the chunk that is not whole. */
	assert_true(str_eq(r->body, STR("3\r\nabc\r\n")));
	assert_int_equal(r->start.us, 1000);
	assert_int_equal(r->end.us, 3000);
	spool_end(&s);
	assert_null(s);
	turn(200);
	assert_int_equal(count_files(), 0);
}

static void
bodies_are_cut_behind_what_is_whole(void **state)
{
	static const struct {
		const char *head, *body, *kept;
	} rows[] = {
		{ CHUNKED, "1\r\na\r\n0\r\n\r\n", "1\r\na\r\n" },
		{ CHUNKED, "1;x=y\r\na\r\n1\r\nb\r", "1;x=y\r\na\r\n" },
		{ CHUNKED, "1\r\na\r\nzz\r\n", "1\r\na\r\n" },
		{ CHUNKED, "ffffffffffffffffffff\r\na", "" },
		{ CHUNKED, "", "" },
		{ PLAIN, "one\ntwo\nthr", "one\ntwo\n" },
		{ PLAIN, "one", "" },
		{ PACKED, "one\ntwo", "one\ntwo" },
		{ "no head", "one\ntwo", "one\ntwo" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *const parts[] = { rows[i].body, NULL };
		struct spool *s = begin(rows[i].head, parts);
		turn(SPOOL_SYNC_MS + 200);
		struct spool_left *left = read_only_one();
		if (!str_eq(left->stream.body, str_of(rows[i].kept)))
			fail_msg("row %zu: \"%.*s\"", i,
			    STR_FMT(left->stream.body));
		spool_end(&s);
		turn(100);
	}
}

/* A crash leaves any beginning of the file. */
static void
any_beginning_is_read(void **state)
{
	static const char *const parts[] = { "one\n", "two\n", "three\n",
		NULL };
	struct spool *s = begin(PLAIN, parts);
	FREED(buf_free) struct buf file = BUF_INIT;
	size_t n, whole = 0;
	struct spool_left *left;

	(void)state;
	turn(SPOOL_SYNC_MS + 200);
	const char *path = read_only_one()->path;
	assert_int_equal(file_load(path, 1 << 20, &file, NULL), OK);
	for (size_t cut = 0; cut <= file.n; cut++) {
		assert_int_equal(file_store(path, str_cut(buf_str(&file), 0,
		    cut), NULL), OK);
		assert_int_equal(spools_read(dir, &arena, &left, &n, NULL),
		    OK);
		if (n == 0)
			continue;
		whole++;
		assert_true(str_starts(STR("one\ntwo\nthree\n"),
		    left->stream.body));
	}
	assert_in_range(whole, strlen("one\ntwo\nthree\n"), file.n - 50);
	assert_int_equal(left->stream.body.n, strlen("one\ntwo\nthree\n"));
	spool_end(&s);
	turn(100);
	assert_int_equal(count_files(), 0);
}

static int
set_up(void **state)
{
	if (world_setup(state) != 0)
		return 1;
	world_begin();
	loop = loop_new("test");
	pool = pool_new(0);
	/* The first spool makes the directory. */
	return 0;
}

static int
tear_down(void **state)
{
	pool_free(&pool);
	loop_free(&loop);
	arena_free(&arena);
	return world_teardown(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_synced_is_read),
		cmocka_unit_test(bodies_are_cut_behind_what_is_whole),
		cmocka_unit_test(any_beginning_is_read),
		cmocka_unit_test(a_power_cut_costs_the_last_seconds),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
