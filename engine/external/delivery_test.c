/* Each rule of contracts/external.md §4, at its edge. */
#include "engine/external/delivery.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/json.h"

#define WALL_START INT64_C(1795176000000000)   /* 2026-11-20T12:00:00Z */

/* A delivery, the time, and what it was told and says. */
struct rig {
	struct delivery *d;
	struct delivery_settings set;
	struct delivery_time now;
	struct delivery_step step;
	uint64_t random;
	unsigned saves, events;
	struct buf names;            /* of events, a space after each */
	struct buf rejected;         /* "NUMBER REASON\n" */
};

static void
note_event(void *arg, enum delivery_level level, const char *name,
    struct str text)
{
	struct rig *r = arg;

	(void)level;
	r->events++;
	buf_printf(&r->names, "%s[%.*s] ", name, STR_FMT(text));
}

static void
open_rig(struct rig *r)
{
	r->set.fid = STR("t1f");
	r->set.backend = STR("acme");
	r->set.event = note_event;
	r->set.arg = r;
	r->now = (struct delivery_time){ { 1000 * NS_PER_S }, { WALL_START } };
	r->d = delivery_new(&r->set);
}

static void
close_rig(struct rig *r)
{
	delivery_free(&r->d);
	buf_free(&r->names);
	buf_free(&r->rejected);
}

static void
pass_ms(struct rig *r, int64_t ms)
{
	r->now.mono = mono_add_ms(r->now.mono, ms);
	r->now.wall.us += ms * 1000;
}

static void
put_many(struct rig *r, unsigned n, size_t bytes)
{
	for (; n > 0; n--)
		delivery_put(r->d, delivery_wanted(r->d), bytes, r->now.mono);
}

/* The next step but for saving, which succeeds. */
static const struct delivery_step *
next(struct rig *r)
{
	delivery_next(r->d, r->now, &r->step);
	while (r->step.kind == DELIVERY_SAVE) {
		r->saves++;
		for (size_t i = 0; i < r->step.rejected_n; i++)
			buf_printf(&r->rejected, "%u %.*s\n",
			    (unsigned)r->step.rejected[i].number,
			    STR_FMT(r->step.rejected[i].reason));
		delivery_saved(r->d, true);
		delivery_next(r->d, r->now, &r->step);
	}
	return &r->step;
}

static void
reply(struct rig *r, enum delivery_kind kind, unsigned status,
    const char *body)
{
	struct delivery_reply answer = { status, STR_NONE, str_of(body) };

	delivery_reply(r->d, kind, &answer, r->random, r->now);
}

static void
reply_after(struct rig *r, unsigned status, const char *retry_after)
{
	struct delivery_reply answer = { status, str_of(retry_after),
		STR_NONE };

	delivery_reply(r->d, DELIVERY_UPLOAD, &answer, r->random, r->now);
}

static void
expect_upload(struct rig *r, const char *key, unsigned from, unsigned to)
{
	const struct delivery_step *s = next(r);

	assert_int_equal(s->kind, DELIVERY_UPLOAD);
	assert_int_equal(s->key.n, strlen(key));
	assert_memory_equal(s->key.p, key, s->key.n);
	assert_int_equal(s->from, from);
	assert_int_equal(s->to, to);
}

static void
expect_status(struct rig *r, const char *key, const char *body)
{
	const struct delivery_step *s = next(r);

	assert_int_equal(s->kind, DELIVERY_STATUS);
	assert_int_equal(s->key.n, strlen(key));
	assert_memory_equal(s->key.p, key, s->key.n);
	assert_int_equal(s->body.n, strlen(body));
	assert_memory_equal(s->body.p, body, s->body.n);
}

/* It waits for exactly so long; that time passes. */
static void
expect_wait_ms(struct rig *r, int64_t ms)
{
	const struct delivery_step *s = next(r);

	assert_int_equal(s->kind, DELIVERY_WAIT);
	assert_int_equal(s->wake.ns - r->now.mono.ns, ms * NS_PER_MS);
	pass_ms(r, ms);
}

static void
expect_end(struct rig *r, enum delivery_end end)
{
	const struct delivery_step *s = next(r);

	assert_int_equal(s->kind, DELIVERY_ENDED);
	assert_int_equal(s->end, end);
}

/* The first status of each task, accepted. */
static void
pass_first_status(struct rig *r)
{
	expect_status(r, "t1f:s0",
	    "{\"code\":102,\"message\":\"Running\",\"detail\":null}");
	reply(r, DELIVERY_STATUS, 200, "");
}

#define RIG(name, ...)                                                       \
	struct rig name = { .set = { __VA_ARGS__ } };                        \
	open_rig(&name);                                                     \
	pass_first_status(&name)

/* Like a crash: what was not saved is lost, the spool is not. */
static void
crash(struct rig *r, unsigned documents, size_t bytes)
{
	FREED(buf_free) struct buf state = BUF_INIT;
	struct why w = WHY_INIT;

	delivery_save(r->d, &state);
	assert_true(state.n < DELIVERY_STATE_BYTES_MAX);
	delivery_free(&r->d);
	r->d = delivery_new(&r->set);
	/* The clock that never jumps begins anew. */
	r->now.mono = (struct mono){ 5 };
	assert_int_equal(delivery_load(r->d, buf_str(&state), &w), OK);
	while (delivery_wanted(r->d) < documents)
		delivery_put(r->d, delivery_wanted(r->d), bytes, r->now.mono);
}

/* --- Batches ------------------------------------------------------------ */

static void
batches_close_by_time(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 10);
	put_many(&r, 1, 10);
	pass_ms(&r, 400);
	put_many(&r, 2, 10);
	/* One second after the first, whatever came since. */
	expect_wait_ms(&r, 600);
	expect_upload(&r, "t1f:0", 0, 3);
	assert_int_equal(r.step.body_bytes, 32);
	close_rig(&r);
}

static void
batches_close_by_documents(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 10);
	put_many(&r, 9, 10);
	assert_int_equal(next(&r)->kind, DELIVERY_WAIT);
	put_many(&r, 2, 10);
	expect_upload(&r, "t1f:0", 0, 10);
	/* One is under way; the other waits for it, then for its second. */
	assert_int_equal(next(&r)->kind, DELIVERY_WAIT);
	reply(&r, DELIVERY_UPLOAD, 200, "");
	expect_wait_ms(&r, 1000);
	expect_upload(&r, "t1f:1", 10, 11);
	close_rig(&r);
}

static void
batches_close_by_bytes(void **state)
{
	(void)state;
	RIG(r, .batch_bytes = 100);
	/* 49 + LF + 49 = 99: open; one byte more closes it. */
	put_many(&r, 2, 49);
	assert_int_equal(next(&r)->kind, DELIVERY_WAIT);
	put_many(&r, 1, 1);
	expect_upload(&r, "t1f:0", 0, 2);
	reply(&r, DELIVERY_UPLOAD, 200, "");
	put_many(&r, 1, 98);
	expect_upload(&r, "t1f:1", 2, 4);
	assert_int_equal(r.step.body_bytes, 100);
	close_rig(&r);
}

static void
a_larger_document_goes_alone(void **state)
{
	(void)state;
	RIG(r, .batch_bytes = 100);
	put_many(&r, 1, 10);
	put_many(&r, 1, 101);
	put_many(&r, 1, 10);
	expect_upload(&r, "t1f:0", 0, 1);
	reply(&r, DELIVERY_UPLOAD, 200, "");
	expect_upload(&r, "t1f:1", 1, 2);
	reply(&r, DELIVERY_UPLOAD, 200, "");
	expect_wait_ms(&r, 1000);
	expect_upload(&r, "t1f:2", 2, 3);
	close_rig(&r);
}

static void
room_is_for_two_batches(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 4);
	assert_int_equal(delivery_room(r.d), 4);
	put_many(&r, 4, 1);
	assert_int_equal(delivery_room(r.d), 0);
	expect_upload(&r, "t1f:0", 0, 4);
	assert_int_equal(delivery_room(r.d), 4);
	close_rig(&r);
}

static void
large_uploads_are_compressed(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 1);
	put_many(&r, 1, 4096);
	put_many(&r, 1, 4097);
	expect_upload(&r, "t1f:0", 0, 1);
	assert_false(r.step.gzip);
	reply(&r, DELIVERY_UPLOAD, 200, "");
	expect_upload(&r, "t1f:1", 1, 2);
	assert_true(r.step.gzip);
	close_rig(&r);
}

static void
refused_gzip_is_turned_off(void **state)
{
	static const unsigned statuses[] = { 400, 415 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		RIG(r, .batch_documents = 1);
		put_many(&r, 2, 5000);
		expect_upload(&r, "t1f:0", 0, 1);
		assert_true(r.step.gzip);
		reply(&r, DELIVERY_UPLOAD, statuses[i], "");
		expect_upload(&r, "t1f:0", 0, 1);
		assert_false(r.step.gzip);
		reply(&r, DELIVERY_UPLOAD, 200, "");
		crash(&r, 2, 5000);
		expect_upload(&r, "t1f:1", 1, 2);
		assert_false(r.step.gzip);
		close_rig(&r);
	}
}

static void
gzip_that_was_taken_stays(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 1, .silence_s = 86400);
	put_many(&r, 2, 5000);
	expect_upload(&r, "t1f:0", 0, 1);
	reply(&r, DELIVERY_UPLOAD, 200, "");
	expect_upload(&r, "t1f:1", 1, 2);
	reply(&r, DELIVERY_UPLOAD, 400, "");
	/* This batch alone goes without. */
	put_many(&r, 1, 5000);
	expect_upload(&r, "t1f:1", 1, 2);
	assert_false(r.step.gzip);
	reply(&r, DELIVERY_UPLOAD, 200, "");
	expect_upload(&r, "t1f:2", 2, 3);
	assert_true(r.step.gzip);
	/* Then 415 is one of the other refusals. */
	reply(&r, DELIVERY_UPLOAD, 415, "");
	expect_wait_ms(&r, DELIVERY_DENIED_MS);
	expect_upload(&r, "t1f:2", 2, 3);
	assert_true(r.step.gzip);
	close_rig(&r);
}

/* --- Replies to uploads ------------------------------------------------- */

static void
accepted_in_any_words(void **state)
{
	static const char *const bodies[] = { "", "OK", "{", "[1]", "null",
		"{\"success\":true,\"payload\":{\"count\":2}}", "{}",
		"{\"success\":null,\"payload\":[]}", "{\"payload\":{\"count\":"
		"-2}}", "{\"success\":\"false\"}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		RIG(r, .batch_documents = 2);
		struct delivery_view v;
		put_many(&r, 2, 10);
		expect_upload(&r, "t1f:0", 0, 2);
		reply(&r, DELIVERY_UPLOAD, i % 2 ? 204 : 200, bodies[i]);
		delivery_next(r.d, r.now, &r.step);
		assert_int_equal(r.step.kind, DELIVERY_SAVE);
		assert_int_equal(r.step.first, 2);
		delivery_look(r.d, &v);
		assert_int_equal(v.uploaded, 2);
		assert_int_equal(r.events, 0);
		close_rig(&r);
	}
}

static void
a_count_that_differs_is_told(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 2);
	put_many(&r, 2, 10);
	expect_upload(&r, "t1f:0", 0, 2);
	reply(&r, DELIVERY_UPLOAD, 200,
	    "{\"success\":true,\"payload\":{\"count\":1}}");
	assert_string_equal(buf_text(&r.names),
	    "count[acme counted 1 of 2 documents] ");
	close_rig(&r);
}

static void
long_replies_are_not_read(void **state)
{
	static const char refused[] = "{\"success\":false}";

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		size_t n = DELIVERY_REPLY_BYTES_MAX + more;
		struct delivery_view v;
		char *body = mem_new(n + 1);
		RIG(r, .batch_documents = 1, .rejected_max = 5);
		memset(body, ' ', n);
		memcpy(body, refused, sizeof(refused) - 1);
		put_many(&r, 1, 10);
		expect_upload(&r, "t1f:0", 0, 1);
		reply(&r, DELIVERY_UPLOAD, 200, body);
		delivery_look(r.d, &v);
		assert_int_equal(v.rejected, more == 0);
		assert_int_equal(v.uploaded, more == 1);
		mem_free(&body);
		close_rig(&r);
	}
}

static void
refused_batches_are_bisected(void **state)
{
	static const struct {
		unsigned status;
		const char *body;
	} cases[] = { { 400, "" }, { 406, "x" },
		{ 422, "{\"payload\":{\"errors\":[]}}" },
		{ 200, "{\"success\":false}" },
		/* They name no line that was sent. */
		{ 406, "{\"payload\":{\"errors\":[{\"line\":0},{\"line\":4},"
		    "{\"line\":-1},{\"line\":\"1\"},7,null,{}]}}" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		unsigned status = cases[i].status;
		const char *body = cases[i].body;
		RIG(r, .batch_documents = 3, .rejected_max = 5);
		put_many(&r, 3, 10);
		expect_upload(&r, "t1f:0", 0, 3);
		reply(&r, DELIVERY_UPLOAD, status, body);
		expect_upload(&r, "t1f:0.0", 0, 1);
		reply(&r, DELIVERY_UPLOAD, 200, "");
		expect_upload(&r, "t1f:0.1", 1, 3);
		reply(&r, DELIVERY_UPLOAD, status, body);
		expect_upload(&r, "t1f:0.1.0", 1, 2);
		reply(&r, DELIVERY_UPLOAD, status,
		    "{\"success\":false,\"messages\":[\"no id\",7]}");
		expect_upload(&r, "t1f:0.1.1", 2, 3);
		reply(&r, DELIVERY_UPLOAD, 200, "");
		next(&r);
		char expected[100];
		snprintf(expected, sizeof(expected),
		    "1 the back end answered %u: no id\n", status);
		assert_string_equal(buf_text(&r.rejected), expected);
		put_many(&r, 3, 10);
		expect_upload(&r, "t1f:1", 3, 6);
		close_rig(&r);
	}
}

static void
named_lines_are_rejected(void **state)
{
	static const unsigned statuses[] = { 406, 422, 200 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		struct delivery_view v;
		RIG(r, .batch_documents = 3, .rejected_max = 5);
		put_many(&r, 3, 10);
		expect_upload(&r, "t1f:0", 0, 3);
		reply(&r, DELIVERY_UPLOAD, statuses[i], "{\"success\":false,"
		    "\"payload\":{\"count\":1,\"errors\":[{\"line\":3,\"error\""
		    ":\"late\"},{\"line\":1,\"error\":null},{\"line\":3,"
		    "\"error\":\"again\"},{\"line\":9}]}}");
		put_many(&r, 3, 10);
		expect_upload(&r, "t1f:1", 3, 6);
		char expected[200];
		snprintf(expected, sizeof(expected), "0 the back end answered "
		    "%u: the back end gives no reason\n2 the back end answered "
		    "%u: late\n", statuses[i], statuses[i]);
		assert_string_equal(buf_text(&r.rejected), expected);
		delivery_look(r.d, &v);
		assert_int_equal(v.uploaded, 1);
		assert_int_equal(v.rejected, 2);
		close_rig(&r);
	}
}

static void
unknown_tasks_are_gone(void **state)
{
	static const unsigned statuses[] = { 404, 410 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		RIG(r, .batch_documents = 1);
		put_many(&r, 2, 10);
		expect_upload(&r, "t1f:0", 0, 1);
		if (i < 2) {
			reply(&r, DELIVERY_UPLOAD, statuses[i], "");
		} else {
			pass_ms(&r, 1000);
			delivery_report(r.d, STR("x"));
			next(&r);
			reply(&r, DELIVERY_STATUS, statuses[i % 2], "");
		}
		delivery_next(r.d, r.now, &r.step);
		assert_int_equal(r.step.kind, DELIVERY_SAVE);
		assert_true(r.step.drop_spool);
		delivery_saved(r.d, true);
		expect_end(&r, DELIVERY_GONE);
		assert_int_equal(delivery_room(r.d), 0);
		close_rig(&r);
	}
}

static void
too_large_halves_the_batches(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 4, .rejected_max = 5);
	put_many(&r, 4, 10);
	expect_upload(&r, "t1f:0", 0, 4);
	reply(&r, DELIVERY_UPLOAD, 413, "");
	expect_upload(&r, "t1f:0.0", 0, 2);
	reply(&r, DELIVERY_UPLOAD, 413, "");
	expect_upload(&r, "t1f:0.0.0", 0, 1);
	/* A single one cannot be smaller. */
	reply(&r, DELIVERY_UPLOAD, 413, "");
	expect_upload(&r, "t1f:0.0.1", 1, 2);
	reply(&r, DELIVERY_UPLOAD, 200, "");
	expect_upload(&r, "t1f:0.1", 2, 4);
	reply(&r, DELIVERY_UPLOAD, 200, "");
	assert_string_equal(buf_text(&r.rejected),
	    "0 the back end answered 413\n");
	/* For the task: one at a time, also after a restart. */
	crash(&r, 6, 10);
	expect_upload(&r, "t1f:1", 4, 5);
	close_rig(&r);
}

static void
server_errors_halve_the_batches(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 4);
	put_many(&r, 4, 10);
	for (int i = 0; i < 2; i++) {
		expect_upload(&r, "t1f:0", 0, 4);
		reply(&r, DELIVERY_UPLOAD, 500, "");
	}
	/* Another reply between them: they begin again. */
	expect_upload(&r, "t1f:0", 0, 4);
	reply(&r, DELIVERY_UPLOAD, 429, "");
	for (int i = 0; i < 3; i++) {
		expect_upload(&r, "t1f:0", 0, 4);
		reply(&r, DELIVERY_UPLOAD, i == 0 ? 599 : 503, "");
	}
	expect_upload(&r, "t1f:0.0", 0, 2);
	reply(&r, DELIVERY_UPLOAD, 200, "");
	expect_upload(&r, "t1f:0.1", 2, 4);
	reply(&r, DELIVERY_UPLOAD, 200, "");
	put_many(&r, 2, 10);
	expect_upload(&r, "t1f:1", 4, 6);
	close_rig(&r);
}

static void
waits_double(void **state)
{
	static const unsigned statuses[] = { 408, 409, 425, 429, 500, 0 };
	int64_t most = 1000;

	(void)state;
	RIG(r, .batch_documents = 1, .silence_s = 86400 * 3);
	put_many(&r, 1, 10);
	for (unsigned i = 0; i < 12; i++) {
		expect_upload(&r, "t1f:0", 0, 1);
		/* The most that full jitter gives, by its remainder. */
		r.random = (uint64_t)MIN(most, 300000);
		reply(&r, DELIVERY_UPLOAD, statuses[i % 6], "");
		expect_wait_ms(&r, MIN(most, 300000));
		most *= 2;
	}
	/* And the least. */
	expect_upload(&r, "t1f:0", 0, 1);
	r.random = 300001;
	reply(&r, DELIVERY_UPLOAD, 429, "");
	expect_upload(&r, "t1f:0", 0, 1);
	/* An answer ends the row. */
	reply(&r, DELIVERY_UPLOAD, 200, "");
	put_many(&r, 1, 10);
	expect_upload(&r, "t1f:1", 1, 2);
	r.random = 1000;
	reply(&r, DELIVERY_UPLOAD, 429, "");
	expect_wait_ms(&r, 1000);
	close_rig(&r);
}

static void
retry_after_is_honoured(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} cases[] = { { "7", 7000 }, { " 7 ", 7000 }, { "0", 500 },
		{ "Fri, 20 Nov 2026 12:00:07 GMT", 7001 },
		{ "Fri, 20 Nov 2026 11:00:00 GMT", 500 },
		{ "soon", 500 }, { "-7", 500 }, { "7.5", 500 }, { "", 500 },
		/* It ends with the tries themselves. */
		{ "18446744073709551615", 86400000 },
		{ "Fri, 20 Nov 2099 12:00:00 GMT", 86400000 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		RIG(r, .batch_documents = 1, .silence_s = 86400 * 9);
		put_many(&r, 1, 10);
		expect_upload(&r, "t1f:0", 0, 1);
		r.random = 500;
		reply_after(&r, 429, cases[i].text);
		expect_wait_ms(&r, cases[i].ms);
		close_rig(&r);
	}
}

static void
denied_calls_wait_for_people(void **state)
{
	static const unsigned statuses[] = { 401, 403, 301, 307, 402, 418,
		451 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		char expected[100];
		RIG(r, .batch_documents = 1, .silence_s = 86400);
		put_many(&r, 1, 10);
		for (unsigned n = 1; n <= 2; n++) {
			expect_upload(&r, "t1f:0", 0, 1);
			reply(&r, DELIVERY_UPLOAD, statuses[i], "");
			expect_wait_ms(&r, 300000);
			assert_int_equal(r.events, n);
		}
		snprintf(expected, sizeof(expected),
		    "denied[acme answered %u to an upload] ", statuses[i]);
		assert_non_null(strstr(buf_text(&r.names), expected));
		close_rig(&r);
	}
}

static void
tries_end(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 1, .retry_s_max = 100, .silence_s = 9000);
	put_many(&r, 1, 10);
	expect_upload(&r, "t1f:0", 0, 1);
	reply_after(&r, 503, "60");
	expect_wait_ms(&r, 60000);
	expect_upload(&r, "t1f:0", 0, 1);
	reply_after(&r, 503, "60");
	/* The time counts over a restart, which tries at once. */
	crash(&r, 1, 10);
	expect_upload(&r, "t1f:0", 0, 1);
	reply_after(&r, 503, "60");
	pass_ms(&r, 39999);
	assert_int_equal(next(&r)->kind, DELIVERY_STATUS);
	pass_ms(&r, 1);
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_SAVE);
	assert_false(r.step.drop_spool);
	delivery_saved(r.d, true);
	expect_end(&r, DELIVERY_UNDELIVERED);
	assert_non_null(strstr(buf_text(&r.names), "undelivered[acme "));
	/* Once more, under the same key. */
	delivery_resume(r.d);
	expect_upload(&r, "t1f:0", 0, 1);
	close_rig(&r);
}

/* --- Statuses ----------------------------------------------------------- */

#define PROGRESS(text)                                                       \
	"{\"code\":102,\"message\":\"" text "\",\"detail\":null}"

static void
progress_is_coalesced(void **state)
{
	(void)state;
	RIG(r, .silence_s = 300);
	delivery_report(r.d, STR("1 document"));
	delivery_report(r.d, STR("2 \"documents\""));
	expect_wait_ms(&r, 1000);
	expect_status(&r, "t1f:s1", PROGRESS("2 \\\"documents\\\""));
	delivery_report(r.d, STR("3"));
	/* One is under way. */
	pass_ms(&r, 5000);
	assert_int_equal(next(&r)->kind, DELIVERY_WAIT);
	reply(&r, DELIVERY_STATUS, 200, "");
	expect_status(&r, "t1f:s2", PROGRESS("3"));
	close_rig(&r);
}

static void
silence_is_broken(void **state)
{
	(void)state;
	RIG(r, .silence_s = 300, .batch_documents = 1);
	expect_wait_ms(&r, 100000);
	expect_status(&r, "t1f:s1", PROGRESS("Running"));
	reply(&r, DELIVERY_STATUS, 200, "");
	pass_ms(&r, 60000);
	/* An upload counts as well, ... */
	put_many(&r, 1, 1);
	expect_upload(&r, "t1f:0", 0, 1);
	reply(&r, DELIVERY_UPLOAD, 200, "");
	pass_ms(&r, 60000);
	/* ... one that fails does not. */
	put_many(&r, 1, 1);
	expect_upload(&r, "t1f:1", 1, 2);
	reply_after(&r, 503, "600");
	expect_wait_ms(&r, 40000);
	expect_status(&r, "t1f:s2", PROGRESS("Running"));
	close_rig(&r);
}

static void
the_closing_status_is_last(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 10);
	put_many(&r, 2, 10);
	delivery_report(r.d, STR("nearly"));
	delivery_close(r.d, 3, 200, STR("Done"), STR("all of it"));
	delivery_close(r.d, 3, 500, STR("not"), STR_NONE);
	/* The spool has one more, which was not put yet. */
	assert_int_equal(next(&r)->kind, DELIVERY_WAIT);
	put_many(&r, 1, 10);
	expect_upload(&r, "t1f:0", 0, 3);
	pass_ms(&r, 1000);
	expect_status(&r, "t1f:s1", PROGRESS("nearly"));
	reply(&r, DELIVERY_UPLOAD, 200, "");
	delivery_report(r.d, STR("too late"));
	assert_int_equal(next(&r)->kind, DELIVERY_WAIT);
	reply(&r, DELIVERY_STATUS, 200, "");
	expect_wait_ms(&r, 1000);
	expect_status(&r, "t1f:s2",
	    "{\"code\":200,\"message\":\"Done\",\"detail\":\"all of it\"}");
	reply(&r, DELIVERY_STATUS, 0, "");
	crash(&r, 3, 10);
	expect_status(&r, "t1f:s2",
	    "{\"code\":200,\"message\":\"Done\",\"detail\":\"all of it\"}");
	reply(&r, DELIVERY_STATUS, 200, "");
	expect_end(&r, DELIVERY_DONE);
	close_rig(&r);
}

static void
refused_statuses_are_not_repeated(void **state)
{
	static const struct {
		unsigned status;
		const char *body;
	} cases[] = { { 400, "" }, { 406, "" }, { 422, "" },
		{ 200, "{\"success\":false}" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		RIG(r, .silence_s = 300);
		delivery_report(r.d, STR("x"));
		expect_wait_ms(&r, 1000);
		expect_status(&r, "t1f:s1", PROGRESS("x"));
		reply(&r, DELIVERY_STATUS, cases[i].status, cases[i].body);
		assert_int_equal(r.events, 1);
		expect_wait_ms(&r, 100000);
		delivery_close(r.d, 0, 408, STR("T"), STR_NONE);
		expect_status(&r, "t1f:s2",
		    "{\"code\":408,\"message\":\"T\",\"detail\":null}");
		reply(&r, DELIVERY_STATUS, cases[i].status, cases[i].body);
		expect_end(&r, DELIVERY_DONE);
		close_rig(&r);
	}
}

static void
failed_statuses_are_retried(void **state)
{
	static const unsigned denied[] = { 401, 403, 302, 413, 418 };

	(void)state;
	RIG(r, .silence_s = 300);
	delivery_close(r.d, 0, 200, STR("D"), STR_NONE);
	pass_ms(&r, 1000);
	r.random = 1000;
	next(&r);
	reply(&r, DELIVERY_STATUS, 503, "");
	expect_wait_ms(&r, 1000);
	/* No more than one a second, whatever the jitter. */
	r.random = 0;
	next(&r);
	reply(&r, DELIVERY_STATUS, 429, "");
	expect_wait_ms(&r, 1000);
	for (size_t i = 0; i < ARRAY_LEN(denied); i++) {
		expect_status(&r, "t1f:s1",
		    "{\"code\":200,\"message\":\"D\",\"detail\":null}");
		reply(&r, DELIVERY_STATUS, denied[i], "");
		expect_wait_ms(&r, 300000);
	}
	close_rig(&r);
}

static void
failed_progress_gives_way(void **state)
{
	(void)state;
	RIG(r, .silence_s = 300);
	delivery_report(r.d, STR("old"));
	expect_wait_ms(&r, 1000);
	expect_status(&r, "t1f:s1", PROGRESS("old"));
	r.random = 1000;
	reply(&r, DELIVERY_STATUS, 0, "");
	expect_wait_ms(&r, 1000);
	expect_status(&r, "t1f:s1", PROGRESS("old"));
	r.random = 2000;
	reply(&r, DELIVERY_STATUS, 0, "");
	delivery_report(r.d, STR("new"));
	expect_wait_ms(&r, 2000);
	expect_status(&r, "t1f:s2", PROGRESS("new"));
	close_rig(&r);
}

static void
texts_are_cut_between_characters(void **state)
{
	char text[DELIVERY_MESSAGE_BYTES_MAX + 2];
	struct str body;

	(void)state;
	RIG(r, .silence_s = 300);
	memset(text, 'a', sizeof(text));
	memcpy(text + DELIVERY_MESSAGE_BYTES_MAX - 1, "\xc3\xa9", 2);
	delivery_report(r.d, (struct str){ text, sizeof(text) });
	pass_ms(&r, 1000);
	body = next(&r)->body;
	yyjson_doc *doc = yyjson_read(body.p, body.n, 0);
	assert_int_equal(json_text(yyjson_obj_get(yyjson_doc_get_root(doc),
	    "message")).n, DELIVERY_MESSAGE_BYTES_MAX - 1);
	yyjson_doc_free(doc);
	close_rig(&r);
}

/* --- Ends --------------------------------------------------------------- */

static void
too_many_rejected_fail_the_task(void **state)
{
	struct delivery_view v;
	unsigned lines = 0;

	(void)state;
	RIG(r, .batch_documents = 1, .rejected_max = 12);
	put_many(&r, 1, 10);
	for (unsigned i = 0; i < 11; i++)
		delivery_count_rejected(r.d, STR("no id"));
	expect_upload(&r, "t1f:0", 0, 1);
	reply(&r, DELIVERY_UPLOAD, 406, "");
	/* 12 are allowed. */
	put_many(&r, 2, 10);
	expect_upload(&r, "t1f:1", 1, 2);
	delivery_count_rejected(r.d, STR("no id"));
	reply(&r, DELIVERY_UPLOAD, 200, "");
	pass_ms(&r, 1000);
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_SAVE);
	assert_true(r.step.drop_spool);
	delivery_saved(r.d, true);
	assert_int_equal(next(&r)->kind, DELIVERY_STATUS);
	yyjson_doc *doc = yyjson_read(r.step.body.p, r.step.body.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	assert_int_equal(yyjson_get_uint(yyjson_obj_get(root, "code")), 500);
	struct str rest = json_text(yyjson_obj_get(root, "detail")), line;
	assert_true(str_starts(rest, STR("system: ")));
	assert_true(str_find(rest, STR("1 uploaded, 13 rejected\nno id\n")) <
	    rest.n);
	while (str_split(&rest, '\n', &line))
		lines++;
	assert_int_equal(lines, 1 + DELIVERY_REASONS_MAX);
	yyjson_doc_free(doc);
	reply(&r, DELIVERY_STATUS, 200, "");
	expect_end(&r, DELIVERY_DONE);
	delivery_look(r.d, &v);
	assert_int_equal(v.code, 500);
	close_rig(&r);
}

static void
a_stop_ends_everything(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 1);
	put_many(&r, 2, 10);
	delivery_close(r.d, 2, 200, STR("Done"), STR_NONE);
	expect_upload(&r, "t1f:0", 0, 1);
	delivery_stop(r.d);
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_SAVE);
	assert_true(r.step.drop_spool);
	/* It is asked again where the commit failed. */
	delivery_saved(r.d, false);
	expect_end(&r, DELIVERY_STOPPED);
	reply(&r, DELIVERY_UPLOAD, 404, "");
	expect_end(&r, DELIVERY_STOPPED);
	/* The next attempt goes on with the keys. */
	delivery_restart(r.d, 2);
	expect_status(&r, "t1f:s1", PROGRESS("Running"));
	put_many(&r, 1, 10);
	expect_upload(&r, "t1f:1", 2, 3);
	close_rig(&r);
}

static void
calls_wait_for_their_commit(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 1, .rejected_max = 5);
	put_many(&r, 1, 10);
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_SAVE);
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_WAIT);
	/* What changes meanwhile is saved next. */
	delivery_count_rejected(r.d, STR("x"));
	delivery_saved(r.d, true);
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_SAVE);
	delivery_saved(r.d, true);
	expect_upload(&r, "t1f:0", 0, 1);
	close_rig(&r);
}

/* --- Restarts ----------------------------------------------------------- */

static void
restarts_resend_under_the_old_key(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 4, .rejected_max = 5);
	put_many(&r, 4, 3000);
	expect_upload(&r, "t1f:0", 0, 4);
	assert_true(r.step.gzip);
	crash(&r, 6, 3000);
	/* Smaller batches from now on change nothing of this one. */
	r.set.batch_documents = 2;
	crash(&r, 6, 3000);
	expect_upload(&r, "t1f:0", 0, 4);
	assert_true(r.step.gzip);
	reply(&r, DELIVERY_UPLOAD, 406, "");
	crash(&r, 6, 3000);
	expect_upload(&r, "t1f:0.0", 0, 2);
	reply(&r, DELIVERY_UPLOAD, 200, "");
	crash(&r, 6, 3000);
	expect_upload(&r, "t1f:0.1", 2, 4);
	reply(&r, DELIVERY_UPLOAD, 200, "");
	expect_upload(&r, "t1f:1", 4, 6);
	close_rig(&r);
}

static void
broken_states_are_refused(void **state)
{
	static const char *const cases[] = { "", "[]", "{", "{\"first\":-1}",
		"{\"gzip\":3}", "{\"end\":5}", "{\"halvings\":32}",
		"{\"seq\":1,\"batch\":{\"seq\":1,\"from\":0,\"to\":2}}",
		"{\"seq\":1,\"batch\":{\"seq\":0,\"from\":2,\"to\":2}}",
		"{\"seq\":1,\"batch\":{\"seq\":0,\"from\":1,\"to\":2}}",
		"{\"seq\":1,\"batch\":{\"from\":0,\"to\":2,\"path\":2,"
		    "\"splits\":1}}",
		"{\"seq\":1,\"batch\":{\"from\":0,\"to\":2,\"splits\":2}}",
		"{\"status\":{\"seq\":0,\"code\":102,\"message\":\"\","
		    "\"detail\":\"\"}}",
		"{\"closing\":{\"code\":102,\"message\":\"\",\"detail\":\"\"}}",
		"{\"closing\":{\"code\":200,\"message\":\"\"}}",
		"{\"closing\":{\"code\":1000,\"message\":\"\",\"detail\":"
		    "\"\"}}", "{\"upload_failing\":\"x\"}",
		"{\"reasons\":[1,2,3,4,5,6,7,8,9,10,11]}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rig r = { .set = { .batch_documents = 1 } };
		struct why w = WHY_INIT;
		open_rig(&r);
		assert_int_equal(delivery_load(r.d, str_of(cases[i]), &w),
		    ERR_CORRUPT);
		close_rig(&r);
	}
	struct rig r = { .set = { .batch_documents = 1 } };
	open_rig(&r);
	assert_int_equal(delivery_load(r.d, STR("{}"), NULL), OK);
	pass_first_status(&r);
	close_rig(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_close_by_time),
		cmocka_unit_test(batches_close_by_documents),
		cmocka_unit_test(batches_close_by_bytes),
		cmocka_unit_test(a_larger_document_goes_alone),
		cmocka_unit_test(room_is_for_two_batches),
		cmocka_unit_test(large_uploads_are_compressed),
		cmocka_unit_test(refused_gzip_is_turned_off),
		cmocka_unit_test(gzip_that_was_taken_stays),
		cmocka_unit_test(accepted_in_any_words),
		cmocka_unit_test(a_count_that_differs_is_told),
		cmocka_unit_test(long_replies_are_not_read),
		cmocka_unit_test(refused_batches_are_bisected),
		cmocka_unit_test(named_lines_are_rejected),
		cmocka_unit_test(unknown_tasks_are_gone),
		cmocka_unit_test(too_large_halves_the_batches),
		cmocka_unit_test(server_errors_halve_the_batches),
		cmocka_unit_test(waits_double),
		cmocka_unit_test(retry_after_is_honoured),
		cmocka_unit_test(denied_calls_wait_for_people),
		cmocka_unit_test(tries_end),
		cmocka_unit_test(progress_is_coalesced),
		cmocka_unit_test(silence_is_broken),
		cmocka_unit_test(the_closing_status_is_last),
		cmocka_unit_test(refused_statuses_are_not_repeated),
		cmocka_unit_test(failed_statuses_are_retried),
		cmocka_unit_test(failed_progress_gives_way),
		cmocka_unit_test(texts_are_cut_between_characters),
		cmocka_unit_test(too_many_rejected_fail_the_task),
		cmocka_unit_test(a_stop_ends_everything),
		cmocka_unit_test(calls_wait_for_their_commit),
		cmocka_unit_test(restarts_resend_under_the_old_key),
		cmocka_unit_test(broken_states_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
