#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/broker_own.h"

/* ---- URLs ---------------------------------------------------------------- */

static void
test_urls(void **state)
{
	static const struct {
		const char *text, *user, *host, *vhost;
		unsigned port;
		bool tls;
	} cases[] = {
		{ "amqp://a", "guest", "a", "/", 5672, false },
		{ "amqps://a", "guest", "a", "/", 5671, true },
		{ "AMQP://a/", "guest", "a", "/", 5672, false },
		{ "amqp://sfm@mq", "sfm", "mq", "/", 5672, false },
		{ "amqp://sfm@mq:1/", "sfm", "mq", "/", 1, false },
		{ "amqp://sfm@mq:65535/%2F", "sfm", "mq", "/", 65535, false },
		{ "amqp://sfm@mq:5673/%2f%2F", "sfm", "mq", "//", 5673, false },
		{ "amqps://s%40m@mq.example:5673/my%20host", "s@m",
		    "mq.example", "my host", 5673, true },
		{ "amqp://u@127.0.0.1/v", "u", "127.0.0.1", "v", 5672, false },
		{ "amqp://u@[::1]/v", "u", "::1", "v", 5672, false },
		{ "amqp://[::1]:99", "guest", "::1", "/", 99, false },
	};
	struct broker_url u;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(broker_url_parse(str_of(cases[i].text), &u,
		    NULL), OK);
		assert_string_equal(u.user, cases[i].user);
		assert_string_equal(u.host, cases[i].host);
		assert_string_equal(u.vhost, cases[i].vhost);
		assert_int_equal(u.port, cases[i].port);
		assert_int_equal(u.tls, cases[i].tls);
	}
}

/* A word of each, "canary", may be a secret: no error quotes it. */
static void
test_urls_refused(void **state)
{
	static const char *const cases[] = {
		"", "a", "canary", "http://canary/", "amqp:", "amqp:/canary",
		"amqp://", "amqp:///", "amqp://@canary", "amqp://canary@",
		"amqp://user:canary@host", "amqp://user:canary@host:5672/v",
		"amqps://user:@canary", "amqp://:canary@host",
		"amqp://user:can/ary@host", "amqp://user:5672/canary@host",
		"amqp://us%er@canary", "amqp://us%00er@canary",
		"amqp://a@canary@host", "amqp://host:canary", "amqp://host:0",
		"amqp://host:65536", "amqp://host:", "amqp://host:-1",
		"amqp://[canary]", "amqp://[::1", "amqp://[::1]canary",
		"amqp://[]", "amqp://ca%6eary", "amqp://can ary",
		"amqp://host/can\nary", "amqp://host/v/canary",
		"amqp://host/%zzcanary", "amqp://host/%00", "amqp://host/%2",
		"amqp://host/v?password=canary", "amqp://host/v#canary",
		"amqp://host/canary@v",
	};
	struct broker_url u;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct why w = WHY_INIT;
		if (broker_url_parse(str_of(cases[i]), &u, &w) != ERR_CONFIG)
			fail_msg("%s is accepted", cases[i]);
		assert_string_equal(w.field, "url");
		assert_null(strstr(w.text, "can"));
		assert_null(strstr(w.text, "ary"));
	}
}

static void
test_url_lengths(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct broker_url u;
	char name[BROKER_NAME_BYTES_MAX + 2];

	(void)state;
	memset(name, 'n', sizeof(name));
	for (int extra = 0; extra < 2; extra++) {
		int n = (int)BROKER_NAME_BYTES_MAX + extra;
		enum err want = extra == 0 ? OK : ERR_CONFIG;
		buf_clear(&b);
		buf_printf(&b, "amqp://%.*s@h/v", n, name);
		assert_int_equal(broker_url_parse(buf_str(&b), &u, NULL), want);
		buf_clear(&b);
		buf_printf(&b, "amqp://%.*s/v", n, name);
		assert_int_equal(broker_url_parse(buf_str(&b), &u, NULL), want);
		buf_clear(&b);
		buf_printf(&b, "amqp://h/%.*s", n, name);
		assert_int_equal(broker_url_parse(buf_str(&b), &u, NULL), want);
	}
}

/* ---- Options ------------------------------------------------------------- */

static char long_name[BROKER_NAME_BYTES_MAX + 2];

static struct broker_options
options_of(struct loop *home)
{
	return (struct broker_options){ .home = home,
	    .url = "amqp://127.0.0.1:1", .exchange = "e" };
}

static void
assert_refused(const struct broker_options *o, const char *field)
{
	struct broker *b;
	struct why w = WHY_INIT;

	assert_int_equal(broker_open(o, &b, &w), ERR_CONFIG);
	assert_null(b);
	assert_string_equal(w.field, field);
	assert_int_equal(broker_check(o, NULL), ERR_CONFIG);
}

static void
test_options_refused(void **state)
{
	struct loop *home = loop_new("home");
	struct str key = STR("k"), long_key = str_of(long_name);
	struct broker_queue q = { STR("q"), &key, 1 };
	struct broker_options o = options_of(home);

	(void)state;
	o.url = "amqp://u:p@h";
	assert_refused(&o, "url");
	o = options_of(home);
	o.exchange = "";
	assert_refused(&o, "exchange");
	o.exchange = long_name;
	assert_refused(&o, "exchange");
	o = options_of(home);
	o.queues = &q;
	o.queues_n = BROKER_QUEUES_MAX + 1;
	assert_refused(&o, "queues");
	o.queues_n = 1;
	q.keys = &long_key;
	assert_refused(&o, "keys");
	q = (struct broker_queue){ long_key, &key, 1 };
	assert_refused(&o, "queues");
	q.name = STR("");
	assert_refused(&o, "queues");
	loop_free(&home);
}

/* ---- Without a broker ---------------------------------------------------- */

/* What the callbacks have been told. */
static struct {
	unsigned events, results, answers;
	struct broker_event last;
	enum broker_result result;
	bool closed, enough;
} told;

static void
take_event(const struct broker_event *e, void *arg)
{
	told.last = *e;
	told.events++;
	told.enough = told.events >= *(unsigned *)arg;
}

static void
take_delivery(struct broker_delivery *d, void *arg)
{
	(void)d, (void)arg;
	fail();
}

static void
take_closed(void *arg)
{
	(void)arg;
	told.closed = true;
}

static void
take_result(struct broker_message *m)
{
	told.results++;
	told.result = m->result;
	assert_int_equal(m->why.err, ERR_CLOSED);
}

static void
take_answer(struct broker_question *q)
{
	told.answers++;
	assert_int_equal(q->err, ERR_UNREACHED);
	told.enough = true;
}

static const struct broker_limits quick = { .connect_ms = 1000,
	.answer_ms = 1000, .heartbeat_s = 60, .retry_ms_min = 10,
	.retry_ms_max = 40, .body_bytes_max = 100, .unconfirmed_max = 10,
	.prefetch_max = 1 };

/* Events until so many have come, from a port where nobody listens. */
static struct broker *
open_unreached(struct loop *home, const char *password_file,
    unsigned *events)
{
	struct broker_options o = options_of(home);
	struct str key = STR("k");
	struct broker_queue q = { STR("q"), &key, 1 };
	struct broker *b;

	memset(&told, 0, sizeof(told));
	o.password_file = password_file;
	o.limits = &quick;
	o.queues = &q;
	o.queues_n = 1;
	o.arg = events;
	o.on_event = take_event;
	o.on_delivery = take_delivery;
	o.on_closed = take_closed;
	assert_int_equal(broker_open(&o, &b, NULL), OK);
	if (*events > 0)
		loop_run_until(home, &told.enough);
	return b;
}

static void
close_unreached(struct loop *home, struct broker *b)
{
	broker_close(b, 1000);
	loop_run_until(home, &told.closed);
}

/* It is tried for ever; pauses double, within 20 %, up to the longest. */
static void
test_unreached(void **state)
{
	struct loop *home = loop_new("home");
	unsigned events = 10;
	struct broker *b = open_unreached(home, NULL, &events);

	(void)state;
	assert_int_equal(told.last.kind, BROKER_DISCONNECTED);
	assert_int_equal(told.last.why.err, ERR_UNREACHED);
	assert_true(told.last.retry_ms >= 32 && told.last.retry_ms <= 48);
	close_unreached(home, b);
	loop_free(&home);
}

static void
test_pauses(void **state)
{
	struct broker b = { .limits = BROKER_LIMITS_DEFAULT };
	static const int64_t wanted[] = { 1000, 2000, 4000, 8000, 16000, 32000,
		60000, 60000 };
	int64_t retry_ms = 0, least = INT64_MAX, most = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		int64_t ms = broker_pause_ms(&b, &retry_ms);
		assert_int_equal(retry_ms, wanted[i]);
		assert_in_range(ms, wanted[i] * 8 / 10, wanted[i] * 12 / 10);
	}
	for (int i = 0; i < 1000; i++) {
		int64_t ms = broker_pause_ms(&b, &retry_ms);
		least = MIN(least, ms);
		most = MAX(most, ms);
	}
	assert_in_range(least, 48000, 50000);
	assert_in_range(most, 70000, 72000);
}

/* Messages wait for a connection; the end gives them back, in order. */
static void
test_unsent(void **state)
{
	struct loop *home = loop_new("home");
	unsigned events = 2;
	struct broker *b = open_unreached(home, NULL, &events);
	struct broker_message m[3];
	struct broker_question q = { .queue = STR("q"), .done = take_answer };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(m); i++) {
		m[i] = (struct broker_message){ .routing_key = STR("k"),
		    .message_id = STR("id"), .body = STR("{}"),
		    .done = take_result };
		assert_int_equal(broker_publish(b, &m[i], NULL), OK);
	}
	broker_consume(b, 0);
	broker_consume(b, 0);
	told.enough = false;
	broker_depth(b, &q);
	loop_run_until(home, &told.enough);
	assert_int_equal(told.answers, 1);
	assert_int_equal(told.results, 0);
	close_unreached(home, b);
	assert_int_equal(told.results, 3);
	assert_int_equal(told.result, BROKER_UNSENT);
	loop_free(&home);
}

static void
assert_not_published(struct broker *b, struct broker_message m,
    const char *field)
{
	struct why w = WHY_INIT;

	assert_int_equal(broker_publish(b, &m, &w), ERR_INPUT);
	assert_string_equal(w.field, field);
}

/* What does not fit into a frame is refused before it is sent. */
static void
test_messages_refused(void **state)
{
	struct loop *home = loop_new("home");
	unsigned events = 0;
	struct broker *b = open_unreached(home, NULL, &events);
	char text[BROKER_HEADER_BYTES_MAX + 1];
	struct str long_key = { text, BROKER_NAME_BYTES_MAX + 1 };
	const struct broker_message good = { .routing_key = STR("k"),
		.message_id = STR("id"), .done = take_result };
	struct broker_message m = good;

	(void)state;
	memset(text, 'x', sizeof(text));
	m.routing_key = long_key;
	assert_not_published(b, m, "routing_key");
	m = good;
	m.message_id = long_key;
	assert_not_published(b, m, "message_id");
	m.message_id = STR_NONE;
	assert_not_published(b, m, "message_id");
	m = good;
	m.body = (struct str){ text, (size_t)quick.body_bytes_max + 1 };
	assert_not_published(b, m, "body");
	m = good;
	struct broker_header h = { STR("n"), { text,
		BROKER_HEADER_BYTES_MAX } };
	m.headers = &h;
	m.headers_n = 1;
	assert_not_published(b, m, "headers");
	h = (struct broker_header){ { text, 129 }, STR("") };
	assert_not_published(b, m, "headers");
	/* At the edge. */
	h = (struct broker_header){ { text, 128 }, { text,
		BROKER_HEADER_BYTES_MAX - 128 } };
	m.routing_key = m.message_id = (struct str){ text,
		BROKER_NAME_BYTES_MAX };
	m.body = (struct str){ text, (size_t)quick.body_bytes_max };
	assert_int_equal(broker_publish(b, &m, NULL), OK);
	close_unreached(home, b);
	assert_int_equal(told.results, 1);
	loop_free(&home);
}

/* A password file that others may read, or without a password, is not used. */
static void
test_password_file(void **state)
{
	struct loop *home = loop_new("home");
	char path[] = "/tmp/argiope-broker-XXXXXX";
	int fd = mkstemp(path);
	unsigned events = 2;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "secret\n", 7), 7);
	assert_int_equal(chmod(path, 0640), 0);
	struct broker *b = open_unreached(home, path, &events);
	assert_int_equal(told.last.why.err, ERR_DENIED);
	assert_string_equal(told.last.why.field, "password_file");
	close_unreached(home, b);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	b = open_unreached(home, path, &events);
	assert_int_equal(told.last.why.err, ERR_INPUT);
	close_unreached(home, b);
	assert_int_equal(unlink(path), 0);
	b = open_unreached(home, path, &events);
	assert_int_equal(told.last.why.err, ERR_ABSENT);
	close_unreached(home, b);
	close(fd);
	loop_free(&home);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_urls_refused),
		cmocka_unit_test(test_url_lengths),
		cmocka_unit_test(test_options_refused),
		cmocka_unit_test(test_unreached),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_unsent),
		cmocka_unit_test(test_messages_refused),
		cmocka_unit_test(test_password_file),
	};

	memset(long_name, 'n', sizeof(long_name) - 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
