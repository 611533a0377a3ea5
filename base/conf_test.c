#include "base/conf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Set one value by --set; the text of the refusal, or "". */
static const char *
set(struct conf *c, const char *assignment)
{
	static struct why w;

	w = WHY_INIT;
	enum err e = conf_flag(c, str_of(assignment), &w);
	assert_int_equal(e, w.text[0] == '\0' ? OK : ERR_CONFIG);
	return w.text;
}

static bool
put(struct conf *c, enum conf_id id, const char *value)
{
	struct why w = WHY_INIT;

	return conf_put(c, id, str_of(value), CONF_FROM_FLAG, NULL, &w) == OK;
}

static void
test_defaults(void **state)
{
	struct conf c;

	(void)state;
	conf_init(&c);
	assert_int_equal(conf_int(&c, CONF_FETCH_TRIES_MAX), 3);
	assert_int_equal(conf_int(&c, CONF_FETCH_HOST_CONNECTIONS_MAX), 8);
	assert_int_equal(conf_int(&c, CONF_FETCH_ADDRESS_CONNECTIONS_MAX), 16);
	assert_int_equal(conf_size(&c, CONF_FETCH_BODY_BYTES_MAX), 10 << 20);
	assert_int_equal(conf_size(&c, CONF_DATA_FREE_BYTES_MIN), 256 << 20);
	assert_int_equal(conf_size(&c, CONF_WARC_ROLLOVER_BYTES), 1000000000);
	assert_int_equal(conf_ms(&c, CONF_WARC_ROLLOVER_S), 1800000);
	assert_int_equal(conf_ms(&c, CONF_LEDGER_GROUP_MS_MAX), 2);
	assert_int_equal(conf_ms(&c, CONF_ROBOTS_TTL_S), 86400000);
	assert_true(conf_bool(&c, CONF_WARC_REDACT));
	assert_false(conf_bool(&c, CONF_FETCH_ALLOW_PRIVATE));
	assert_int_equal(conf_choice(&c, CONF_LOG_FORMAT), 0);
	assert_int_equal(conf_choice(&c, CONF_LOG_LEVEL), 1);
	assert_true(conf_double(&c, CONF_FETCH_DECODE_RATIO_MAX) > 999.0);
	assert_string_equal(conf_str(&c, CONF_DATA_DIR).p, "");
	assert_string_equal(conf_place(&c, CONF_LOOPS), "default");
	struct conf_address a = conf_address(&c, CONF_HTTP_LISTEN);
	assert_true(str_eq(a.host, STR("127.0.0.1")));
	assert_int_equal(a.port, 8001);
	assert_int_equal(conf_check(&c, NULL), OK);
	conf_free(&c);
}

/* Every row with numbers: its edges are accepted, one step beyond is not. */
static void
test_edges(void **state)
{
	struct conf c;
	int rows = 0;

	(void)state;
	conf_init(&c);
	for (size_t i = 0; i < CONF_COUNT; i++) {
		const struct setting *row = conf_setting((enum conf_id)i);
		enum conf_id id = (enum conf_id)i;
		char text[64];
		if (row->type != CONF_INT && row->type != CONF_SIZE &&
		    row->type != CONF_DURATION && row->type != CONF_DOUBLE)
			continue;
		rows++;
		assert_true(row->least < row->most);
		assert_true(row->most < 9e15);
		for (int step = -1; step <= 1; step++) {
			snprintf(text, sizeof(text), "%.0f", row->least + step);
			assert_int_equal(put(&c, id, text), step >= 0);
			snprintf(text, sizeof(text), "%.0f", row->most + step);
			assert_int_equal(put(&c, id, text), step <= 0);
		}
		assert_false(put(&c, id, ""));
		assert_false(put(&c, id, "99999999999999999999"));
		assert_false(put(&c, id, "9223372036854775807"));
		assert_false(put(&c, id, "1x"));
		assert_false(put(&c, id, "nan"));
	}
	assert_true(rows > 30);
	conf_free(&c);
}

/* The length of texts is a limit too. */
static void
test_text_edges(void **state)
{
	struct conf c;
	int rows = 0;

	(void)state;
	conf_init(&c);
	for (size_t i = 0; i < CONF_COUNT; i++) {
		const struct setting *row = conf_setting((enum conf_id)i);
		if (row->type != CONF_STRING && row->type != CONF_LIST)
			continue;
		rows++;
		size_t n = (size_t)row->most;
		char *text = mem_new(n + 2);
		memset(text, 'a', n + 1);
		if (row->type == CONF_LIST)
			memcpy(text, "a:a:a:", 6);
		assert_false(put(&c, (enum conf_id)i, text));
		text[n] = '\0';
		assert_true(put(&c, (enum conf_id)i, text));
		assert_int_equal(conf_str(&c, (enum conf_id)i).n, n);
		mem_free(&text);
		assert_int_equal(put(&c, (enum conf_id)i, ""),
		    row->least <= 0 || row->type == CONF_LIST);
	}
	assert_true(rows >= 4);
	conf_free(&c);
}

static void
test_table(void **state)
{
	(void)state;
	assert_non_null(conf_heading((enum conf_id)0));
	for (size_t i = 0; i < CONF_COUNT; i++) {
		const struct setting *row = conf_setting((enum conf_id)i);
		enum conf_id id;
		struct buf a = BUF_INIT;
		assert_true(conf_find(str_of(row->name), &id));
		assert_int_equal(id, i);
		assert_true(strlen(row->help) > 20);
		assert_true(strlen(row->name) <= 40);
		assert_int_equal(row->help[strlen(row->help) - 1], '.');
		/* Two settings must not share a variable. */
		conf_env_name(row->name, &a);
		for (size_t k = i + 1; k < CONF_COUNT; k++) {
			struct buf b = BUF_INIT;
			conf_env_name(conf_setting((enum conf_id)k)->name, &b);
			assert_string_not_equal(buf_text(&a), buf_text(&b));
			buf_free(&b);
		}
		buf_free(&a);
		if (row->type == CONF_DURATION)
			assert_true(str_ends(str_of(row->name),
			    row->unit[0] == 's' ? STR("_s") : STR("_ms")) ||
			    strstr(row->name, row->unit[0] == 's' ? "_s_" :
			    "_ms_") != NULL);
	}
}

static void
test_units(void **state)
{
	static const struct {
		const char *text;
		int64_t bytes;
	} sizes[] = {
		{ "1024", 1024 }, { "64KiB", 65536 }, { "64 kib", 65536 },
		{ "2KB", 2000 }, { "1MiB", 1 << 20 }, { "3MB", 3000000 },
		{ "1GiB", 1 << 30 }, { "7b", 7 },
		{ "1.5MiB", -1 }, { "MiB", -1 }, { "-1", -1 }, { "1M", -1 },
		{ "9000000000000TiB", -1 }, { "1 MiB x", -1 }, { "0x10", -1 },
	};
	static const struct {
		const char *text;
		int64_t ms;
	} times[] = {
		{ "250", 250 }, { "250ms", 250 }, { "2s", 2000 },
		{ "2 s", 2000 }, { "1min", 60000 }, { "2h", 7200000 },
		{ "1d", 86400000 }, { "1m", -1 }, { "1.5s", -1 }, { "s", -1 },
		{ "99999999999999999d", -1 }, { "-1s", -1 },
	};
	struct conf c;

	(void)state;
	conf_init(&c);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		bool ok = put(&c, CONF_FETCH_BODY_BYTES_MAX, sizes[i].text);
		assert_int_equal(ok, sizes[i].bytes >= 0);
		if (ok)
			assert_int_equal(conf_size(&c,
			    CONF_FETCH_BODY_BYTES_MAX), sizes[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		bool ok = put(&c, CONF_FETCH_TIMEOUT_MS, times[i].text);
		assert_int_equal(ok, times[i].ms >= 0);
		if (ok)
			assert_int_equal(conf_ms(&c, CONF_FETCH_TIMEOUT_MS),
			    times[i].ms);
	}
	/* A setting in seconds takes no part of one. */
	assert_false(put(&c, CONF_ROBOTS_TTL_S, "1500ms"));
	assert_true(put(&c, CONF_ROBOTS_TTL_S, "2000ms"));
	assert_int_equal(conf_ms(&c, CONF_ROBOTS_TTL_S), 2000);
	conf_free(&c);
}

static void
test_words(void **state)
{
	static const char *const yes[] = { "on", "true", "yes", "1", "ON" };
	static const char *const no[] = { "off", "false", "no", "0", "No" };
	struct conf c;

	(void)state;
	conf_init(&c);
	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		assert_true(put(&c, CONF_WARC_REDACT, yes[i]));
		assert_true(conf_bool(&c, CONF_WARC_REDACT));
		assert_true(put(&c, CONF_WARC_REDACT, no[i]));
		assert_false(conf_bool(&c, CONF_WARC_REDACT));
	}
	assert_false(put(&c, CONF_WARC_REDACT, "maybe"));
	assert_false(put(&c, CONF_WARC_REDACT, ""));
	assert_true(put(&c, CONF_LOG_LEVEL, "off"));
	assert_int_equal(conf_choice(&c, CONF_LOG_LEVEL), 4);
	assert_false(put(&c, CONF_LOG_LEVEL, "loud"));
	assert_false(put(&c, CONF_LOG_LEVEL, "debug|info"));
	assert_true(put(&c, CONF_FETCH_DECODE_RATIO_MAX, "12.5"));
	assert_true(fabs(conf_double(&c, CONF_FETCH_DECODE_RATIO_MAX) - 12.5) <
	    1e-9);
	/* Control bytes reach no log and no header. */
	assert_false(put(&c, CONF_FETCH_USER_AGENT, "a\rb"));
	assert_false(put(&c, CONF_FETCH_USER_AGENT, "a\x01"));
	conf_free(&c);
}

static void
test_addresses(void **state)
{
	static const struct {
		const char *text, *host;
		int port;
	} rows[] = {
		{ "127.0.0.1:0", "127.0.0.1", 0 },
		{ "0.0.0.0:65535", "0.0.0.0", 65535 },
		{ "[::1]:8001", "::1", 8001 },
		{ "[2001:db8::5]:1", "2001:db8::5", 1 },
		{ "localhost:80", "localhost", 80 },
		{ "off", "", 0 },
		{ "", "", 0 },
		{ "127.0.0.1:65536", NULL, 0 }, { "127.0.0.1", NULL, 0 },
		{ "127.0.0.1:", NULL, 0 }, { ":80", NULL, 0 },
		{ "127.0.0.256:80", NULL, 0 }, { "1.2.3:80", NULL, 0 },
		{ "1.2.3.4.5:80", NULL, 0 }, { "::1:80", NULL, 0 },
		{ "[::1:80", NULL, 0 }, { "[::1]80", NULL, 0 },
		{ "[xyz]:80", NULL, 0 }, { "example.org:80", NULL, 0 },
		{ "[]:80", NULL, 0 }, { "[:80", NULL, 0 },
		{ "127.0.0.1:-1", NULL, 0 }, { "127.0.0.1:080000", NULL, 0 },
	};
	struct conf c;

	(void)state;
	conf_init(&c);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(put(&c, CONF_HTTP_LISTEN, rows[i].text),
		    rows[i].host != NULL);
		if (rows[i].host == NULL)
			continue;
		struct conf_address a = conf_address(&c, CONF_HTTP_LISTEN);
		assert_true(str_eq(a.host, str_of(rows[i].host)));
		assert_int_equal(a.port, rows[i].port);
	}
	conf_free(&c);
}

static void
test_list(void **state)
{
	struct conf c;
	struct str word;
	size_t at = 0;

	(void)state;
	conf_init(&c);
	assert_false(conf_list(&c, CONF_FETCH_RESOLVE, &at, &word));
	assert_string_equal(set(&c, "fetch.resolve=a:80:b:1, c:80:d:2,,"), "");
	assert_string_equal(set(&c, "fetch.resolve=e:1:f:2"), "");
	at = 0;
	assert_true(conf_list(&c, CONF_FETCH_RESOLVE, &at, &word));
	assert_true(str_eq(word, STR("a:80:b:1")));
	assert_true(conf_list(&c, CONF_FETCH_RESOLVE, &at, &word));
	assert_true(str_eq(word, STR("c:80:d:2")));
	assert_true(conf_list(&c, CONF_FETCH_RESOLVE, &at, &word));
	assert_true(str_eq(word, STR("e:1:f:2")));
	assert_false(conf_list(&c, CONF_FETCH_RESOLVE, &at, &word));
	assert_false(conf_list(&c, CONF_FETCH_RESOLVE, &at, &word));
	/* A word that lacks a part is no word of this list. */
	assert_string_equal(set(&c, "fetch.resolve=a:1:b"),
	    "--set: fetch.resolve = \"a:1:b\": must be a list "
	    "HOST:PORT:ADDRESS:PORT,... of at most 262144 bytes");
	assert_string_not_equal(set(&c, "fetch.resolve=a:1::2"), "");
	assert_string_equal(conf_str(&c, CONF_FETCH_RESOLVE).p,
	    "a:80:b:1,c:80:d:2,e:1:f:2");
	assert_string_equal(set(&c, "fetch.resolve="), "");
	at = 0;
	assert_false(conf_list(&c, CONF_FETCH_RESOLVE, &at, &word));
	conf_free(&c);
}

static void
test_file(void **state)
{
	static const char text[] =
	    "\xef\xbb\xbf# a comment\r\n"
	    "\r\n"
	    "  fetch.tries_max = 5   # not often\r\n"
	    "fetch.user_agent = \"A \\\"b\\\" # c\\\\\"  # behind\n"
	    "log.file=/var/log/a#b\n"
	    "data.dir = \"\"\n"
	    "fetch.resolve = a:1:b:2\n"
	    "fetch.resolve = c:1:d:2\n"
	    "loops = 2";
	struct conf c;
	struct why w = WHY_INIT;

	(void)state;
	conf_init(&c);
	assert_int_equal(conf_file(&c, str_of(text), "a.conf", &w), OK);
	assert_int_equal(conf_int(&c, CONF_FETCH_TRIES_MAX), 5);
	assert_string_equal(conf_place(&c, CONF_FETCH_TRIES_MAX), "a.conf:3");
	assert_string_equal(conf_str(&c, CONF_FETCH_USER_AGENT).p,
	    "A \"b\" # c\\");
	assert_string_equal(conf_str(&c, CONF_LOG_FILE).p, "/var/log/a#b");
	assert_string_equal(conf_place(&c, CONF_DATA_DIR), "a.conf:6");
	assert_string_equal(conf_str(&c, CONF_FETCH_RESOLVE).p,
	    "a:1:b:2,c:1:d:2");
	assert_int_equal(conf_int(&c, CONF_LOOPS), 2);
	conf_free(&c);
}

static void
test_file_refusals(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "fetch.trys_max = 5", "f:1: no setting is named "
		    "\"fetch.trys_max\"; did you mean fetch.tries_max?" },
		{ "\nqwertyuiop = 5", "f:2: no setting is named "
		    "\"qwertyuiop\"" },
		{ "fetch.tries_max = 0", "f:1: fetch.tries_max = \"0\": must "
		    "be a whole number from 1 to 20" },
		{ "loops 5", "f:1: must be \"name = value\"" },
		{ "[fetch]", "f:1: must be \"name = value\"; there are no "
		    "sections, a name is written whole" },
		{ "log.file = \"a", "f:1: the quoted value must end in \" and "
		    "escape only \\\" \\\\ \\n \\t" },
		{ "log.file = \"a\\q\"", "f:1: the quoted value must end in "
		    "\" and escape only \\\" \\\\ \\n \\t" },
		{ "log.file = \"a\" b", "f:1: the quoted value must end in \" "
		    "and escape only \\\" \\\\ \\n \\t" },
		{ "log.file = \"a\\", "f:1: the quoted value must end in \" "
		    "and escape only \\\" \\\\ \\n \\t" },
		{ "log.format = xml", "f:1: log.format = \"xml\": must be "
		    "one of text, json" },
		{ "fetch.body_bytes_max = 1Mb2", "f:1: fetch.body_bytes_max = "
		    "\"1Mb2\": must be a size like 64KiB from 1 to 16GiB" },
		{ "robots.ttl_s = 2d", "f:1: robots.ttl_s = \"2d\": must be a "
		    "time like 30s, in whole seconds, from 0 to 1d" },
		{ "http.listen = 80", "f:1: http.listen = \"80\": must be "
		    "ADDRESS:PORT, like 127.0.0.1:8001 or [::1]:8001, or "
		    "off" },
		{ " = 5", "f:1: no setting is named \"\"" },
	};
	struct conf c;

	(void)state;
	conf_init(&c);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct why w = WHY_INIT;
		assert_int_equal(conf_file(&c, str_of(rows[i].text), "f", &w),
		    ERR_CONFIG);
		assert_string_equal(w.text, rows[i].message);
	}
	conf_free(&c);
}

static void
test_file_limit(void **state)
{
	struct conf c;
	struct why w = WHY_INIT;
	char *text = mem_new(CONF_FILE_BYTES_MAX + 1);

	(void)state;
	conf_init(&c);
	memset(text, '\n', CONF_FILE_BYTES_MAX + 1);
	memcpy(text, "loops=3", 7);
	assert_int_equal(conf_file(&c, (struct str){ text,
	    CONF_FILE_BYTES_MAX }, "f", &w), OK);
	assert_int_equal(conf_int(&c, CONF_LOOPS), 3);
	assert_int_equal(conf_file(&c, (struct str){ text,
	    CONF_FILE_BYTES_MAX + 1 }, "f", &w), ERR_CONFIG);
	mem_free(&text);
	conf_free(&c);
}

static void
test_env(void **state)
{
	static const char *const good[] = { "PATH=/bin", "ARGIOPE_LOOPS=3",
		"ARGIOPE_BUILD=x", "ARGIOPE_HTTP_LISTEN=[::1]:0", "ARGIOPE_X",
		"ARGIOPE_FETCH_USER_AGENT=a=b", NULL };
	static const char *const slip[] = { "ARGIOPE_FETCH_TRYS_MAX=3", NULL };
	static const char *const bad[] = { "ARGIOPE_LOOPS=many", NULL };
	struct conf c;
	struct why w = WHY_INIT;

	(void)state;
	conf_init(&c);
	assert_int_equal(conf_env(&c, good, &w), OK);
	assert_int_equal(conf_int(&c, CONF_LOOPS), 3);
	assert_string_equal(conf_place(&c, CONF_LOOPS), "ARGIOPE_LOOPS");
	assert_string_equal(conf_str(&c, CONF_FETCH_USER_AGENT).p, "a=b");
	assert_true(str_eq(conf_address(&c, CONF_HTTP_LISTEN).host,
	    STR("::1")));
	assert_int_equal(conf_env(&c, slip, &w), ERR_CONFIG);
	assert_string_equal(w.text, "ARGIOPE_FETCH_TRYS_MAX: no setting is "
	    "named \"fetch.trys_max\"; did you mean fetch.tries_max?");
	w = WHY_INIT;
	assert_int_equal(conf_env(&c, bad, &w), ERR_CONFIG);
	assert_string_equal(w.text, "ARGIOPE_LOOPS: loops = \"many\": must be "
	    "a whole number from 0 to 256");
	conf_free(&c);
}

/* The stronger place wins in any order of calls, and a weak slip is told. */
static void
test_precedence(void **state)
{
	static const char *const env[] = { "ARGIOPE_LOOPS=2",
		"ARGIOPE_POOL_THREADS=2", NULL };
	static const char *const places[] = { "f:1", "ARGIOPE_POOL_THREADS",
		"--set" };
	static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 },
		{ 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

	(void)state;
	for (size_t o = 0; o < ARRAY_LEN(orders); o++) {
		struct conf c;
		struct why w = WHY_INIT;
		conf_init(&c);
		for (size_t i = 0; i < 3; i++) {
			if (orders[o][i] == 0)
				assert_int_equal(conf_file(&c,
				    STR("frontier.window = 1\nloops = 1\n"
				    "pool.threads = 1\n"), "f", &w), OK);
			else if (orders[o][i] == 1)
				assert_int_equal(conf_env(&c, env, &w), OK);
			else
				assert_string_equal(set(&c, "loops = 3"), "");
		}
		assert_int_equal(conf_int(&c, CONF_FRONTIER_WINDOW), 1);
		assert_int_equal(conf_int(&c, CONF_POOL_THREADS), 2);
		assert_int_equal(conf_int(&c, CONF_LOOPS), 3);
		assert_string_equal(conf_place(&c, CONF_FRONTIER_WINDOW),
		    places[0]);
		assert_string_equal(conf_place(&c, CONF_POOL_THREADS),
		    places[1]);
		assert_string_equal(conf_place(&c, CONF_LOOPS), places[2]);
		assert_int_equal(conf_file(&c, STR("loops = 999"), "f", &w),
		    ERR_CONFIG);
		assert_int_equal(conf_int(&c, CONF_LOOPS), 3);
		conf_free(&c);
	}
}

static void
test_flags(void **state)
{
	struct conf c;

	(void)state;
	conf_init(&c);
	assert_string_equal(set(&c, "loops"),
	    "--set loops: must be NAME=VALUE");
	assert_string_equal(set(&c, "lops=1"), "--set: no setting is named "
	    "\"lops\"; did you mean loops?");
	/* Hostile names and values neither grow the message nor pass raw. */
	char big[3000];
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	assert_true(strlen(set(&c, big)) < 120);
	memcpy(big, "loops=\x01", 7);
	const char *said = set(&c, big);
	assert_true(strlen(said) < 160);
	assert_non_null(strstr(said, "\"?xxx"));
	assert_null(strchr(said, 1));
	conf_free(&c);
}

static void
test_check(void **state)
{
	struct conf c;
	struct why w = WHY_INIT;

	(void)state;
	conf_init(&c);
	assert_string_equal(set(&c, "fetch.backoff_ms=10min"), "");
	assert_int_equal(conf_check(&c, &w), OK);
	assert_string_equal(set(&c, "fetch.backoff_ms=600001"), "");
	assert_int_equal(conf_check(&c, &w), ERR_CONFIG);
	assert_string_equal(w.text, "fetch.backoff_ms = 600001 (--set) is "
	    "longer than fetch.backoff_max_ms = 10min (default)");
	assert_string_equal(set(&c, "fetch.backoff_ms=1s"), "");
	assert_string_equal(set(&c, "urlfrontier.tls_cert=c.pem"), "");
	assert_int_equal(conf_check(&c, NULL), ERR_CONFIG);
	assert_string_equal(set(&c, "urlfrontier.tls_key=k.pem"), "");
	assert_int_equal(conf_check(&c, NULL), OK);
	static const char *const refused[] = {
		"store.url=postgresql://u:s3cret@/x",
		"store.url=postgresql://u:@[::1]:5432/x?host=/tmp",
		"store.url=postgresql://u:s3cret@a:1,b:2/x",
		"store.url=postgresql:///x?user=u&password=s3cret",
		"store.url=postgresql://u@/x?sslpassword=s3cret",
	};
	static const char *const taken[] = {
		"store.url=postgresql:///x?host=/tmp", "store.url=",
		"store.url=postgresql://u@[::1]:5432/x?options=-cx%3Dy@:z",
		"store.url=postgres://[::1]:5432", "store.url=x",
	};
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		w = WHY_INIT;
		assert_string_equal(set(&c, refused[i]), "");
		assert_int_equal(conf_check(&c, &w), ERR_CONFIG);
		assert_non_null(strstr(w.text, "store.url (--set)"));
		assert_null(strstr(w.text, "s3cret"));
	}
	for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
		assert_string_equal(set(&c, taken[i]), "");
		assert_int_equal(conf_check(&c, NULL), OK);
	}
	assert_string_equal(set(&c, "script.sandbox=weak"), "");
	assert_int_equal(conf_check(&c, NULL), OK);
	assert_string_equal(set(&c, "http.listen=[::1]:0"), "");
	assert_int_equal(conf_check(&c, NULL), OK);
	assert_string_equal(set(&c, "http.listen=0.0.0.0:0"), "");
	w = WHY_INIT;
	assert_int_equal(conf_check(&c, &w), ERR_CONFIG);
	assert_string_equal(w.text, "script.sandbox = weak (--set) is for "
	    "ports on loopback only, and http.listen = 0.0.0.0:0 (--set)");
	assert_string_equal(set(&c, "http.listen=off"), "");
	assert_int_equal(conf_check(&c, NULL), OK);
	conf_free(&c);
}

static void
test_differs(void **state)
{
	struct conf a, b;

	(void)state;
	conf_init(&a);
	conf_init(&b);
	for (size_t i = 0; i < CONF_COUNT; i++)
		assert_false(conf_differs(&a, &b, (enum conf_id)i));
	assert_string_equal(set(&b, "fetch.connect_ms=10000"), "");
	assert_false(conf_differs(&a, &b, CONF_FETCH_CONNECT_MS));
	assert_string_equal(set(&b, "fetch.connect_ms=10001"), "");
	assert_true(conf_differs(&a, &b, CONF_FETCH_CONNECT_MS));
	assert_string_equal(set(&b, "log.file=x"), "");
	assert_true(conf_differs(&a, &b, CONF_LOG_FILE));
	assert_string_equal(set(&b, "fetch.decode_ratio_max=5"), "");
	assert_true(conf_differs(&a, &b, CONF_FETCH_DECODE_RATIO_MAX));
	conf_free(&a);
	conf_free(&b);
}

/* What `argiope config` prints is a file that gives the same values. */
static void
test_print_reads_back(void **state)
{
	struct conf a, b;
	struct buf text = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	conf_init(&a);
	conf_init(&b);
	assert_string_equal(set(&a, "log.file= /a b # c\"\\\n\td"), "");
	assert_string_equal(set(&a, "fetch.user_agent=\"q\""), "");
	assert_string_equal(set(&a, "data.dir=#x"), "");
	assert_string_equal(set(&a, "http.listen=[::1]:5"), "");
	conf_print(&a, &text);
	assert_int_equal(conf_file(&b, buf_str(&text), "f", &w), OK);
	for (size_t i = 0; i < CONF_COUNT; i++) {
		enum conf_id id = (enum conf_id)i;
		assert_false(conf_differs(&a, &b, id));
		assert_string_equal(conf_str(&a, id).p, conf_str(&b, id).p);
	}
	assert_non_null(strstr(buf_text(&text), "# --set\n"));
	assert_non_null(strstr(buf_text(&text), "# default\n"));
	buf_free(&text);
	conf_free(&a);
	conf_free(&b);
}

static void
lines_fit(struct str text)
{
	struct str line;

	while (str_split(&text, '\n', &line)) {
		if (line.n > 80)
			fail_msg("too long: %.*s", STR_FMT(line));
		assert_false(str_ends(line, STR(" ")));
	}
}

/* The example file is valid, as it stands and with its comments taken off. */
static void
test_example(void **state)
{
	struct conf c;
	struct buf text = BUF_INIT, bare = BUF_INIT;
	struct why w = WHY_INIT;
	size_t settings = 0;

	(void)state;
	conf_init(&c);
	conf_example(&text);
	lines_fit(buf_str(&text));
	assert_int_equal(conf_file(&c, buf_str(&text), "f", &w), OK);
	struct str rest = buf_str(&text), line;
	while (str_split(&rest, '\n', &line))
		if (line.n > 1 && line.p[0] == '#' && line.p[1] != ' ') {
			buf_put_str(&bare, str_from(line, 1));
			buf_put_char(&bare, '\n');
			settings++;
		}
	assert_int_equal(settings, CONF_COUNT);
	if (conf_file(&c, buf_str(&bare), "f", &w) != OK)
		fail_msg("%s", w.text);
	for (size_t i = 0; i < CONF_COUNT; i++)
		assert_string_equal(conf_str(&c, (enum conf_id)i).p,
		    conf_setting((enum conf_id)i)->text);
	buf_free(&text);
	buf_free(&bare);
	conf_free(&c);
}

static void
test_texts(void **state)
{
	struct conf c;
	struct buf man = BUF_INIT, json = BUF_INIT;

	(void)state;
	conf_init(&c);
	conf_man(&man);
	conf_print_json(&c, &json);
	for (size_t i = 0; i < CONF_COUNT; i++) {
		const char *name = conf_setting((enum conf_id)i)->name;
		char quoted[100];
		assert_non_null(strstr(buf_text(&man), name));
		snprintf(quoted, sizeof(quoted), "{\"name\":\"%s\"", name);
		assert_non_null(strstr(buf_text(&json), quoted));
	}
	assert_true(str_starts(buf_str(&man), STR(".SH SETTINGS\n.SS ")));
	buf_free(&man);
	buf_free(&json);
	conf_free(&c);
}

/* Rows of a door: every place and every text has them.  They stay, so this is
 * the last test. */
static void
test_added(void **state)
{
	static const struct setting rows[] = {
		{ "sample.pages_max", CONF_INT, "5", 1, 9, "pages",
		    CONF_RESTART, "How many pages." },
		{ "sample.word", CONF_STRING, "a", 0, 10, "text", 0,
		    "Which word." },
	};
	static const char *const variables[] = {
		"ARGIOPE_SAMPLE_WORD=env", NULL
	}, *const slips[] = { "ARGIOPE_SAMPLE_WORT=env", NULL };
	enum conf_id pages, word;
	int found = 0;
	struct why w = WHY_INIT;
	struct conf c, other;
	struct buf b = BUF_INIT;

	(void)state;
	assert_false(conf_find(STR("sample.word"), &word));
	conf_add("The sample door", rows, ARRAY_LEN(rows));
	pages = conf_id_of(&rows[0]);
	word = conf_id_of(&rows[1]);
	assert_int_equal(conf_rows(), CONF_COUNT + 2);
	assert_string_equal(conf_heading(pages), "The sample door");
	assert_null(conf_heading(word));
	conf_init(&c);
	conf_init(&other);
	assert_int_equal(conf_int(&c, pages), 5);
	assert_int_equal(conf_file(&c, STR("sample.pages_max = 9\n"
	    "sample.word = file\n"), "f", NULL), OK);
	assert_int_equal(conf_env(&c, variables, NULL), OK);
	assert_int_equal(conf_int(&c, pages), 9);
	assert_string_equal(conf_str(&c, word).p, "env");
	assert_int_equal(conf_env(&c, slips, &w), ERR_CONFIG);
	assert_non_null(strstr(w.text, "did you mean sample.word"));
	assert_string_equal(set(&c, "sample.pages_max=10"), "--set: "
	    "sample.pages_max = \"10\": must be a whole number from 1 to 9");
	assert_string_equal(set(&c, "sample.word=flag"), "");
	assert_true(conf_differs(&c, &other, word));
	conf_swap(&c, &other, word);
	assert_string_equal(conf_str(&other, word).p, "flag");
	conf_print(&c, &b);
	conf_print_json(&c, &b);
	conf_example(&b);
	conf_man(&b);
	/* Once in each of the four texts. */
	for (const char *p = buf_text(&b); (p = strstr(p,
	    "sample.pages_max")) != NULL; p++)
		found++;
	assert_int_equal(found, 4);
	assert_non_null(strstr(buf_text(&b), "# ---- The sample door"));
	buf_free(&b);
	conf_free(&c);
	conf_free(&other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_text_edges),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_file_refusals),
		cmocka_unit_test(test_file_limit),
		cmocka_unit_test(test_env),
		cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_differs),
		cmocka_unit_test(test_print_reads_back),
		cmocka_unit_test(test_example),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
