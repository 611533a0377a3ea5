#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/text.h"
#include "os/clock.h"
#include "os/log.h"

#define A_MOMENT INT64_C(1795175896123456)  /* 2026-11-20T11:58:16.123456Z */

static int pipe_fds[2];
static char lines[1 << 16];

static struct wall
a_moment(void)
{
	return (struct wall){ A_MOMENT };
}

static int
setup(void **state)
{
	static struct clock_table table;

	(void)state;
	table = clock_real;
	table.wall = a_moment;
	clock_use(&table);
	return pipe2(pipe_fds, O_NONBLOCK | O_CLOEXEC);
}

static int
teardown(void **state)
{
	(void)state;
	log_open(LOG_WARN, 2, false);
	clock_use(&clock_real);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return 0;
}

/* What was logged since the last call. */
static struct str
logged(void)
{
	ssize_t n = read(pipe_fds[0], lines, sizeof(lines) - 1);

	return (struct str){ lines, n < 0 ? 0 : (size_t)n };
}

static void
expect(const char *want)
{
	struct str got = logged();

	lines[got.n] = '\0';
	assert_string_equal(lines, want);
}

static void
test_form(void **state)
{
	(void)state;
	log_open(LOG_DEBUG, pipe_fds[1], false);
	log_debug("a.b", "n=%d", 7);
	expect("2026-11-20T11:58:16.123456Z debug a.b n=7\n");
	log_info("a.b", "x=%s", "y");
	expect("2026-11-20T11:58:16.123456Z info a.b x=y\n");
	log_warn("a.b", "%s", "");
	expect("2026-11-20T11:58:16.123456Z warn a.b\n");
	log_error("c", "e");
	expect("2026-11-20T11:58:16.123456Z error c e\n");
}

static int evaluated;

static int
evaluate(void)
{
	return ++evaluated;
}

static void
test_levels(void **state)
{
	(void)state;
	for (int from = LOG_DEBUG; from <= LOG_OFF; from++) {
		size_t n = 0;
		evaluated = 0;
		log_open((enum log_level)from, pipe_fds[1], false);
		log_debug("e", "%d", evaluate());
		log_info("e", "%d", evaluate());
		log_warn("e", "%d", evaluate());
		log_error("e", "%d", evaluate());
		struct str got = logged();
		for (size_t i = 0; i < got.n; i++)
			n += got.p[i] == '\n';
		assert_int_equal(n, LOG_OFF - from);
		/* What is not logged is not computed either. */
		assert_int_equal(evaluated, LOG_OFF - from);
		assert_int_equal(log_wants(LOG_ERROR), from <= LOG_ERROR);
	}
}

static void
test_json(void **state)
{
	(void)state;
	log_open(LOG_INFO, pipe_fds[1], true);
	log_info("a.b", "x=\"%s\" y=\\ z=\t.", "q");
	expect("{\"time\":\"2026-11-20T11:58:16.123456Z\",\"level\":\"info\","
	    "\"event\":\"a.b\",\"text\":\"x=\\\"q\\\" y=\\\\ z=\\u0009.\"}\n");
	/* Bytes of outsiders: the line stays JSON, and UTF-8. */
	log_info("a", "%s", "\xc3\xa9 \xff \xc3");
	struct str got = logged();
	assert_true(text_is_utf8(got));
	assert_true(str_find(got, STR("\xc3\xa9 ")) < got.n);
	assert_true(str_ends(got, STR("\"}\n")));
}

/* A line feed in a text cannot begin a line of its own. */
static void
test_one_line(void **state)
{
	(void)state;
	for (int json = 0; json < 2; json++) {
		log_open(LOG_INFO, pipe_fds[1], json);
		log_info("a", "%s", "x\n2026 error forged\r\n\x1b[31m");
		struct str got = logged();
		assert_int_equal(str_find_char(got, '\n'), got.n - 1);
		assert_int_equal(str_find_char(got, '\r'), got.n);
		assert_int_equal(str_find_char(got, '\x1b'), got.n);
	}
}

/* Long texts, and long names of events, are cut and stay one whole line. */
static void
test_long(void **state)
{
	char text[10000], event[5000];

	(void)state;
	memset(event, 'e', sizeof(event) - 1);
	event[sizeof(event) - 1] = '\0';
	for (int json = 0; json < 2; json++) {
		log_open(LOG_INFO, pipe_fds[1], json);
		for (const char *c = "x\"\x01\xff"; *c != '\0'; c++) {
			memset(text, *c, sizeof(text) - 1);
			text[sizeof(text) - 1] = '\0';
			log_info(event, "%s", text);
			struct str got = logged();
			assert_true(got.n > 2000 && got.n < 20000);
			assert_int_equal(str_find_char(got, '\n'), got.n - 1);
			assert_true(!json || str_ends(got, STR("\"}\n")));
		}
	}
}

static void
test_quote(void **state)
{
	struct log_text t;
	char many[1000];

	(void)state;
	assert_string_equal(log_quote(&t, STR("a b")), "\"a b\"");
	assert_string_equal(log_quote(&t, STR("")), "\"\"");
	assert_string_equal(log_quote(&t, STR_NONE), "\"\"");
	assert_string_equal(log_quote(&t, STR("\"\\\n\0\x7f")),
	    "\"\\\"\\\\\\x0a\\x00\\x7f\"");
	assert_string_equal(log_quote(&t, STR("\xc3\xa9")), "\"\xc3\xa9\"");
	memset(many, 'x', sizeof(many));
	assert_int_equal(strlen(log_quote(&t, (struct str){ many, 299 })), 301);
	assert_int_equal(strlen(log_quote(&t, (struct str){ many, 301 })), 302);
	memset(many, '\n', sizeof(many));
	log_quote(&t, (struct str){ many, sizeof(many) });
	size_t n = strlen(t.text);
	assert_true(n < sizeof(t.text) && n > 600);
	assert_int_equal(t.text[n - 1], '"');
	/* No half of an escape at the end. */
	assert_int_equal((n - 2) % 4, 0);
}

/* A log that is gone stops nobody. */
static void
test_unwritable(void **state)
{
	(void)state;
	log_open(LOG_INFO, -1, false);
	log_info("a", "b");
	log_open(LOG_INFO, pipe_fds[0], false);
	log_info("a", "b");
	assert_int_equal(logged().n, 0);
}

/* Lines of several threads do not mix. */
#define WRITERS 4
#define LINES 100

static void *
write_lines(void *arg)
{
	char text[81];

	memset(text, *(char *)arg, 80);
	text[80] = '\0';
	for (int i = 0; i < LINES; i++)
		log_info("t", "%s", text);
	return NULL;
}

static void
test_threads(void **state)
{
	static char letters[WRITERS] = { 'a', 'b', 'c', 'd' };
	pthread_t threads[WRITERS];
	struct str rest, line;
	size_t n = 0;

	(void)state;
	log_open(LOG_INFO, pipe_fds[1], false);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_lines,
		    &letters[i]), 0);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	rest = logged();
	while (str_split(&rest, '\n', &line) && line.n > 0) {
		line = str_from(line, line.n - 80);
		for (size_t i = 1; i < 80; i++)
			assert_int_equal(line.p[i], line.p[0]);
		n++;
	}
	assert_int_equal(n, WRITERS * LINES);
}

/* A module's own level, above and below that of the others. */
static void
test_modules(void **state)
{
	(void)state;
	log_open(LOG_INFO, pipe_fds[1], false);
	assert_false(log_set_module(STR("crawlercommons.urlfrontier"),
	    LOG_DEBUG));
	assert_false(log_wants(LOG_DEBUG));
	assert_true(log_set_module(STR("urlfrontier"), LOG_DEBUG));
	assert_true(log_set_module(STR("ledger"), LOG_ERROR));
	log_debug("urlfrontier.call", "n=1");
	expect("2026-11-20T11:58:16.123456Z debug urlfrontier.call n=1\n");
	log_debug("urlfrontiers.call", "n=2");
	log_debug("serve.x", "n=3");
	log_warn("ledger.x", "n=4");
	assert_int_equal(logged().n, 0);
	log_info("serve.x", "n=5");
	expect("2026-11-20T11:58:16.123456Z info serve.x n=5\n");
	log_open(LOG_INFO, pipe_fds[1], false);
	log_debug("urlfrontier.call", "n=6");
	assert_int_equal(logged().n, 0);
	log_warn("ledger.x", "n=7");
	expect("2026-11-20T11:58:16.123456Z warn ledger.x n=7\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void
test_the_newest_lines_are_kept(void **state)
{
	struct log_kept k;
	uint64_t n = 0, first = 0;

	(void)state;
	log_open(LOG_INFO, pipe_fds[1], false);
	assert_false(log_after(0, &k));
	log_keep();
	log_debug("web.quiet", "not written, not kept");
	for (unsigned i = 1; i <= LOG_KEPT_MAX + 20; i++) {
		log_warn("web.tried", "%u %0600d", i, 1);
		(void)logged();
	}
	while (log_after(n, &k)) {
		first = first == 0 ? k.number : first;
		assert_true(n == 0 || k.number == n + 1);
		n = k.number;
	}
	assert_int_equal(first, 21);
	assert_int_equal(n, LOG_KEPT_MAX + 20);
	assert_int_equal(k.level, LOG_WARN);
	assert_string_equal(k.event, "web.tried");
	assert_memory_equal(k.text, "520 000", 7);
	assert_int_equal(strlen(k.text), LOG_KEPT_BYTES_MAX - 1);
	assert_int_equal(k.at.us, A_MOMENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_form),
		TEST(test_levels),
		TEST(test_json),
		TEST(test_one_line),
		TEST(test_long),
		TEST(test_quote),
		TEST(test_unwritable),
		TEST(test_modules),
		TEST(test_the_newest_lines_are_kept),
		TEST(test_threads),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
