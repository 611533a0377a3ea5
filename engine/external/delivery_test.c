/* Uploads: each rule of contracts/external.md §4, at its edge. */
#include "engine/external/delivery_testing.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* --- Batches ------------------------------------------------------------ */

static void
batches_close_by_time(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 10);
	rig_put(&r, 1, 10);
	rig_pass_ms(&r, 400);
	rig_put(&r, 2, 10);
	/* One second after the first, whatever came since. */
	rig_expect_wait_ms(&r, 600);
	rig_expect_upload(&r, "t1f:0", 0, 3);
	assert_int_equal(r.step.body_bytes, 32);
	rig_close(&r);
}

static void
batches_close_by_documents(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 10);
	rig_put(&r, 9, 10);
	assert_int_equal(rig_next(&r)->kind, DELIVERY_WAIT);
	rig_put(&r, 2, 10);
	rig_expect_upload(&r, "t1f:0", 0, 10);
	/* One is under way; the other waits for it, then for its second. */
	assert_int_equal(rig_next(&r)->kind, DELIVERY_WAIT);
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_expect_wait_ms(&r, 1000);
	rig_expect_upload(&r, "t1f:1", 10, 11);
	rig_close(&r);
}

static void
batches_close_by_bytes(void **state)
{
	(void)state;
	RIG(r, .batch_bytes = 100);
	/* 49 + LF + 49 = 99: open; one byte more closes it. */
	rig_put(&r, 2, 49);
	assert_int_equal(rig_next(&r)->kind, DELIVERY_WAIT);
	rig_put(&r, 1, 1);
	rig_expect_upload(&r, "t1f:0", 0, 2);
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_put(&r, 1, 98);
	rig_expect_upload(&r, "t1f:1", 2, 4);
	assert_int_equal(r.step.body_bytes, 100);
	rig_close(&r);
}

static void
a_larger_document_goes_alone(void **state)
{
	(void)state;
	RIG(r, .batch_bytes = 100);
	rig_put(&r, 1, 10);
	rig_put(&r, 1, 101);
	rig_put(&r, 1, 10);
	rig_expect_upload(&r, "t1f:0", 0, 1);
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_expect_upload(&r, "t1f:1", 1, 2);
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_expect_wait_ms(&r, 1000);
	rig_expect_upload(&r, "t1f:2", 2, 3);
	rig_close(&r);
}

static void
room_is_for_two_batches(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 4);
	assert_int_equal(delivery_room(r.d), 4);
	rig_put(&r, 4, 1);
	assert_int_equal(delivery_room(r.d), 0);
	rig_expect_upload(&r, "t1f:0", 0, 4);
	assert_int_equal(delivery_room(r.d), 4);
	rig_close(&r);
}

static void
large_uploads_are_compressed(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 1);
	rig_put(&r, 1, 4096);
	rig_put(&r, 1, 4097);
	rig_expect_upload(&r, "t1f:0", 0, 1);
	assert_false(r.step.gzip);
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_expect_upload(&r, "t1f:1", 1, 2);
	assert_true(r.step.gzip);
	rig_close(&r);
}

static void
refused_gzip_is_turned_off(void **state)
{
	static const unsigned statuses[] = { 400, 415 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		RIG(r, .batch_documents = 1);
		rig_put(&r, 2, 5000);
		rig_expect_upload(&r, "t1f:0", 0, 1);
		assert_true(r.step.gzip);
		rig_reply(&r, DELIVERY_UPLOAD, statuses[i], "");
		rig_expect_upload(&r, "t1f:0", 0, 1);
		assert_false(r.step.gzip);
		rig_reply(&r, DELIVERY_UPLOAD, 200, "");
		rig_crash(&r, 2, 5000);
		rig_expect_upload(&r, "t1f:1", 1, 2);
		assert_false(r.step.gzip);
		rig_close(&r);
	}
}

static void
gzip_that_was_taken_stays(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 1, .silence_s = 86400);
	rig_put(&r, 2, 5000);
	rig_expect_upload(&r, "t1f:0", 0, 1);
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_expect_upload(&r, "t1f:1", 1, 2);
	rig_reply(&r, DELIVERY_UPLOAD, 400, "");
	/* This batch alone goes without, also after a restart. */
	rig_crash(&r, 3, 5000);
	rig_expect_upload(&r, "t1f:1", 1, 2);
	assert_false(r.step.gzip);
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_expect_upload(&r, "t1f:2", 2, 3);
	assert_true(r.step.gzip);
	/* Then 415 is one of the other refusals.  The heartbeat's key is the
	 * first one that was not reserved before the restart. */
	rig_reply(&r, DELIVERY_UPLOAD, 415, "");
	rig_expect_status(&r, "t1f:s65",
	    "{\"code\":102,\"message\":\"Running\",\"detail\":null}");
	rig_reply(&r, DELIVERY_STATUS, 200, "");
	rig_expect_wait_ms(&r, DELIVERY_DENIED_MS);
	rig_expect_upload(&r, "t1f:2", 2, 3);
	assert_true(r.step.gzip);
	rig_close(&r);
}

/* --- Replies to uploads ------------------------------------------------- */

static void
accepted_in_any_words(void **state)
{
	static const char *const bodies[] = { "", "OK", "{", "[1]", "null",
		"{\"success\":true,\"payload\":{\"count\":2}}", "{}",
		"{\"success\":null,\"payload\":[]}",
		"{\"payload\":{\"count\":-2}}", "{\"success\":\"false\"}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		RIG(r, .batch_documents = 2);
		struct delivery_view v;
		rig_put(&r, 2, 10);
		rig_expect_upload(&r, "t1f:0", 0, 2);
		rig_reply(&r, DELIVERY_UPLOAD, i % 2 ? 204 : 200, bodies[i]);
		delivery_next(r.d, r.now, &r.step);
		assert_int_equal(r.step.kind, DELIVERY_SAVE);
		assert_int_equal(r.step.first, 2);
		delivery_look(r.d, &v);
		assert_int_equal(v.uploaded, 2);
		assert_int_equal(r.events, 0);
		rig_close(&r);
	}
}

static void
a_count_that_differs_is_told(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 2);
	rig_put(&r, 2, 10);
	rig_expect_upload(&r, "t1f:0", 0, 2);
	rig_reply(&r, DELIVERY_UPLOAD, 200,
	    "{\"success\":true,\"payload\":{\"count\":1}}");
	assert_string_equal(buf_text(&r.names),
	    "count[acme counted 1 of 2 documents] ");
	rig_close(&r);
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
		rig_put(&r, 1, 10);
		rig_expect_upload(&r, "t1f:0", 0, 1);
		rig_reply(&r, DELIVERY_UPLOAD, 200, body);
		delivery_look(r.d, &v);
		assert_int_equal(v.rejected, more == 0);
		assert_int_equal(v.uploaded, more == 1);
		mem_free(&body);
		rig_close(&r);
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
		rig_put(&r, 3, 10);
		rig_expect_upload(&r, "t1f:0", 0, 3);
		rig_reply(&r, DELIVERY_UPLOAD, status, body);
		rig_expect_upload(&r, "t1f:0.0", 0, 1);
		rig_reply(&r, DELIVERY_UPLOAD, 200, "");
		rig_expect_upload(&r, "t1f:0.1", 1, 3);
		rig_reply(&r, DELIVERY_UPLOAD, status, body);
		rig_expect_upload(&r, "t1f:0.1.0", 1, 2);
		rig_reply(&r, DELIVERY_UPLOAD, status,
		    "{\"success\":false,\"messages\":[\"no id\",7]}");
		rig_expect_upload(&r, "t1f:0.1.1", 2, 3);
		rig_reply(&r, DELIVERY_UPLOAD, 200, "");
		rig_next(&r);
		char expected[100];
		snprintf(expected, sizeof(expected),
		    "1 the back end answered %u: no id\n", status);
		assert_string_equal(buf_text(&r.rejected), expected);
		rig_put(&r, 3, 10);
		rig_expect_upload(&r, "t1f:1", 3, 6);
		rig_close(&r);
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
		rig_put(&r, 3, 10);
		rig_expect_upload(&r, "t1f:0", 0, 3);
		rig_reply(&r, DELIVERY_UPLOAD, statuses[i],
		    "{\"success\":false,\"payload\":{\"count\":1,\"errors\":["
		    "{\"line\":3,\"error\":\"late\"},"
		    "{\"line\":1,\"error\":null},"
		    "{\"line\":3,\"error\":\"again\"},{\"line\":9}]}}");
		rig_put(&r, 3, 10);
		rig_expect_upload(&r, "t1f:1", 3, 6);
		char expected[200];
		snprintf(expected, sizeof(expected), "0 the back end answered "
		    "%u: the back end gives no reason\n2 the back end answered "
		    "%u: late\n", statuses[i], statuses[i]);
		assert_string_equal(buf_text(&r.rejected), expected);
		delivery_look(r.d, &v);
		assert_int_equal(v.uploaded, 1);
		assert_int_equal(v.rejected, 2);
		rig_close(&r);
	}
}

static void
unknown_tasks_are_gone(void **state)
{
	static const unsigned statuses[] = { 404, 410 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		RIG(r, .batch_documents = 1);
		rig_put(&r, 2, 10);
		rig_expect_upload(&r, "t1f:0", 0, 1);
		if (i < 2) {
			rig_reply(&r, DELIVERY_UPLOAD, statuses[i], "");
		} else {
			rig_pass_ms(&r, 1000);
			delivery_report(r.d, STR("x"));
			rig_next(&r);
			rig_reply(&r, DELIVERY_STATUS, statuses[i % 2], "");
		}
		delivery_next(r.d, r.now, &r.step);
		assert_int_equal(r.step.kind, DELIVERY_SAVE);
		assert_true(r.step.drop_spool);
		delivery_saved(r.d, true);
		rig_expect_end(&r, DELIVERY_GONE);
		assert_int_equal(delivery_room(r.d), 0);
		rig_close(&r);
	}
}

static void
too_large_halves_the_batches(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 4, .rejected_max = 5);
	rig_put(&r, 4, 10);
	rig_expect_upload(&r, "t1f:0", 0, 4);
	rig_reply(&r, DELIVERY_UPLOAD, 413, "");
	rig_expect_upload(&r, "t1f:0.0", 0, 2);
	rig_reply(&r, DELIVERY_UPLOAD, 413, "");
	rig_expect_upload(&r, "t1f:0.0.0", 0, 1);
	/* A single one cannot be smaller. */
	rig_reply(&r, DELIVERY_UPLOAD, 413, "");
	rig_expect_upload(&r, "t1f:0.0.1", 1, 2);
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_expect_upload(&r, "t1f:0.1", 2, 4);
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	assert_string_equal(buf_text(&r.rejected),
	    "0 the back end answered 413\n");
	/* For the task: one at a time, also after a restart. */
	rig_crash(&r, 6, 10);
	rig_expect_upload(&r, "t1f:1", 4, 5);
	rig_close(&r);
}

static void
server_errors_halve_the_batches(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 4);
	rig_put(&r, 4, 10);
	for (int i = 0; i < 2; i++) {
		rig_expect_upload(&r, "t1f:0", 0, 4);
		rig_reply(&r, DELIVERY_UPLOAD, 500, "");
	}
	/* Another reply between them: they begin again. */
	rig_expect_upload(&r, "t1f:0", 0, 4);
	rig_reply(&r, DELIVERY_UPLOAD, 429, "");
	for (int i = 0; i < 3; i++) {
		rig_expect_upload(&r, "t1f:0", 0, 4);
		rig_reply(&r, DELIVERY_UPLOAD, i == 0 ? 599 : 503, "");
	}
	rig_expect_upload(&r, "t1f:0.0", 0, 2);
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_expect_upload(&r, "t1f:0.1", 2, 4);
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_put(&r, 2, 10);
	rig_expect_upload(&r, "t1f:1", 4, 6);
	rig_close(&r);
}

static void
waits_double(void **state)
{
	static const unsigned statuses[] = { 408, 409, 425, 429, 500, 0 };
	int64_t most = 1000;

	(void)state;
	RIG(r, .batch_documents = 1, .silence_s = 86400 * 3);
	rig_put(&r, 1, 10);
	for (unsigned i = 0; i < 12; i++) {
		rig_expect_upload(&r, "t1f:0", 0, 1);
		/* The most that full jitter gives, by its remainder. */
		r.random = (uint64_t)MIN(most, 300000);
		rig_reply(&r, DELIVERY_UPLOAD, statuses[i % 6], "");
		rig_expect_wait_ms(&r, MIN(most, 300000));
		most *= 2;
	}
	/* And the least. */
	rig_expect_upload(&r, "t1f:0", 0, 1);
	r.random = 300001;
	rig_reply(&r, DELIVERY_UPLOAD, 429, "");
	rig_expect_upload(&r, "t1f:0", 0, 1);
	/* An answer ends the row. */
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_put(&r, 1, 10);
	rig_expect_upload(&r, "t1f:1", 1, 2);
	r.random = 1000;
	rig_reply(&r, DELIVERY_UPLOAD, 429, "");
	rig_expect_wait_ms(&r, 1000);
	rig_close(&r);
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
		rig_put(&r, 1, 10);
		rig_expect_upload(&r, "t1f:0", 0, 1);
		r.random = 500;
		rig_reply_after(&r, 429, cases[i].text);
		rig_expect_wait_ms(&r, cases[i].ms);
		rig_close(&r);
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
		rig_put(&r, 1, 10);
		for (unsigned n = 1; n <= 2; n++) {
			rig_expect_upload(&r, "t1f:0", 0, 1);
			rig_reply(&r, DELIVERY_UPLOAD, statuses[i], "");
			rig_expect_wait_ms(&r, 300000);
			assert_int_equal(r.events, n);
		}
		snprintf(expected, sizeof(expected),
		    "denied[acme answered %u to an upload] ", statuses[i]);
		assert_non_null(strstr(buf_text(&r.names), expected));
		rig_close(&r);
	}
}

/* A call that is repeated: how often it failed, and when it goes out again. */
static void
retries_are_seen(void **state)
{
	struct delivery_view v;

	(void)state;
	RIG(r, .batch_documents = 1, .silence_s = 9000);
	rig_put(&r, 1, 10);
	rig_expect_upload(&r, "t1f:0", 0, 1);
	delivery_look(r.d, &v);
	assert_int_equal(v.tries, 0);
	for (unsigned i = 1; i <= 2; i++) {
		rig_reply_after(&r, 429, "60");
		delivery_look(r.d, &v);
		assert_int_equal(v.tries, i);
		assert_int_equal(v.retry.ns - r.now.mono.ns,
		    INT64_C(60000000000));
		rig_expect_wait_ms(&r, 60000);
		rig_expect_upload(&r, "t1f:0", 0, 1);
	}
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	delivery_look(r.d, &v);
	assert_int_equal(v.tries, 0);
	rig_close(&r);
}

static void
tries_end(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 1, .retry_s_max = 100, .silence_s = 9000);
	rig_put(&r, 1, 10);
	rig_expect_upload(&r, "t1f:0", 0, 1);
	rig_reply_after(&r, 503, "60");
	rig_expect_wait_ms(&r, 60000);
	rig_expect_upload(&r, "t1f:0", 0, 1);
	rig_reply_after(&r, 503, "60");
	/* The time counts over a restart, which tries at once. */
	rig_crash(&r, 1, 10);
	rig_expect_upload(&r, "t1f:0", 0, 1);
	rig_reply_after(&r, 503, "60");
	rig_pass_ms(&r, 39999);
	assert_int_equal(rig_next(&r)->kind, DELIVERY_STATUS);
	rig_pass_ms(&r, 1);
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_SAVE);
	assert_false(r.step.drop_spool);
	delivery_saved(r.d, true);
	rig_expect_end(&r, DELIVERY_UNDELIVERED);
	assert_non_null(strstr(buf_text(&r.names), "undelivered[acme "));
	/* Once more, under the same key. */
	delivery_resume(r.d);
	rig_expect_upload(&r, "t1f:0", 0, 1);
	rig_close(&r);
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
		cmocka_unit_test(retries_are_seen),
		cmocka_unit_test(tries_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
