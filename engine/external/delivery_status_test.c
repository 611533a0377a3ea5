/* Statuses, ends and restarts; contracts/external.md §3, §4, §5. */
#include "engine/external/delivery_testing.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/json.h"

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
	rig_expect_wait_ms(&r, 1000);
	rig_expect_status(&r, "t1f:s1", PROGRESS("2 \\\"documents\\\""));
	delivery_report(r.d, STR("3"));
	/* One is under way. */
	rig_pass_ms(&r, 5000);
	assert_int_equal(rig_next(&r)->kind, DELIVERY_WAIT);
	rig_reply(&r, DELIVERY_STATUS, 200, "");
	rig_expect_status(&r, "t1f:s2", PROGRESS("3"));
	rig_close(&r);
}

static void
silence_is_broken(void **state)
{
	(void)state;
	RIG(r, .silence_s = 300, .batch_documents = 1);
	rig_expect_wait_ms(&r, 100000);
	rig_expect_status(&r, "t1f:s1", PROGRESS("Running"));
	rig_reply(&r, DELIVERY_STATUS, 200, "");
	rig_pass_ms(&r, 60000);
	/* An upload counts as well, ... */
	rig_put(&r, 1, 1);
	rig_expect_upload(&r, "t1f:0", 0, 1);
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_pass_ms(&r, 60000);
	/* ... one that fails does not. */
	rig_put(&r, 1, 1);
	rig_expect_upload(&r, "t1f:1", 1, 2);
	rig_reply_after(&r, 503, "600");
	rig_expect_wait_ms(&r, 40000);
	rig_expect_status(&r, "t1f:s2", PROGRESS("Running"));
	rig_close(&r);
}

/* contracts/external.md §14.4: a back end that gives up after 30 s without a
 * sign of life keeps a crawl that finds nothing for an hour. */
static void
an_hour_of_silence_is_survived(void **state)
{
	const int64_t end_ns = 3600 * NS_PER_S;
	int64_t began, heard, longest = 0;
	unsigned statuses = 0;

	(void)state;
	RIG(r, .silence_s = 30);
	began = heard = r.now.mono.ns;
	while (r.now.mono.ns - began < end_ns) {
		const struct delivery_step *s = rig_next(&r);
		if (s->kind == DELIVERY_WAIT) {
			assert_true(s->wake.ns > r.now.mono.ns);
			rig_pass_ms(&r, (s->wake.ns - r.now.mono.ns) /
			    NS_PER_MS);
			continue;
		}
		assert_int_equal(s->kind, DELIVERY_STATUS);
		statuses++;
		/* Each seventh is lost, and the back end hears its repeat. */
		if (statuses % 7 == 0) {
			rig_reply(&r, DELIVERY_STATUS, 0, "");
			continue;
		}
		longest = MAX(longest, r.now.mono.ns - heard);
		heard = r.now.mono.ns;
		rig_reply(&r, DELIVERY_STATUS, 200, "");
	}
	assert_true(longest < 30 * NS_PER_S);
	assert_in_range(statuses, 360, 500);
	rig_close(&r);
}

/* Pass the time until the next heartbeat, and answer it. */
static void
pass_heartbeat(struct rig *r, unsigned number)
{
	char key[20];

	snprintf(key, sizeof(key), "t1f:s%u", number);
	rig_expect_wait_ms(r, 100000);
	rig_expect_status(r, key, PROGRESS("Running"));
	rig_reply(r, DELIVERY_STATUS, 200, "");
}

static void
heartbeats_need_no_commit(void **state)
{
	FREED(buf_free) struct buf committed = BUF_INIT;
	struct why w = WHY_INIT;
	unsigned saves, number = 1;

	(void)state;
	struct rig r = { .set = { .silence_s = 300 } };
	rig_open(&r);
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_SAVE);
	delivery_save(r.d, &committed);
	delivery_saved(r.d, true);
	rig_pass_first_status(&r);
	/* As many heartbeats as that commit has reserved keys for. */
	saves = r.saves;
	while (number <= DELIVERY_STATUS_KEYS)
		pass_heartbeat(&r, number++);
	assert_int_equal(r.saves, saves);
	/* The next one needs a commit, which reserves keys again. */
	pass_heartbeat(&r, number++);
	assert_int_equal(r.saves, saves + 1);
	pass_heartbeat(&r, number++);
	assert_int_equal(r.saves, saves + 1);
	/* Progress is news, and is committed. */
	delivery_report(r.d, STR("1 document"));
	rig_pass_ms(&r, 1000);
	rig_expect_status(&r, "t1f:s67", PROGRESS("1 document"));
	assert_int_equal(r.saves, saves + 2);
	/* After a crash no key is used again but that of the saved status. */
	delivery_free(&r.d);
	r.d = delivery_new(&r.set);
	assert_int_equal(delivery_load(r.d, buf_str(&committed), &w), OK);
	rig_pass_first_status(&r);
	rig_expect_wait_ms(&r, 100000);
	rig_expect_status(&r, "t1f:s65", PROGRESS("Running"));
	rig_close(&r);
}

static void
the_closing_status_is_last(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 10);
	rig_put(&r, 2, 10);
	delivery_report(r.d, STR("nearly"));
	delivery_close(r.d, 3, 200, STR("Done"), STR("all of it"));
	delivery_close(r.d, 3, 500, STR("not"), STR_NONE);
	/* The spool has one more, which was not put yet. */
	assert_int_equal(rig_next(&r)->kind, DELIVERY_WAIT);
	rig_put(&r, 1, 10);
	rig_expect_upload(&r, "t1f:0", 0, 3);
	rig_pass_ms(&r, 1000);
	rig_expect_status(&r, "t1f:s1", PROGRESS("nearly"));
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	delivery_report(r.d, STR("too late"));
	assert_int_equal(rig_next(&r)->kind, DELIVERY_WAIT);
	rig_reply(&r, DELIVERY_STATUS, 200, "");
	rig_expect_wait_ms(&r, 1000);
	rig_expect_status(&r, "t1f:s2",
	    "{\"code\":200,\"message\":\"Done\",\"detail\":\"all of it\"}");
	rig_reply(&r, DELIVERY_STATUS, 0, "");
	rig_crash(&r, 3, 10);
	rig_expect_status(&r, "t1f:s2",
	    "{\"code\":200,\"message\":\"Done\",\"detail\":\"all of it\"}");
	rig_reply(&r, DELIVERY_STATUS, 200, "");
	rig_expect_end(&r, DELIVERY_DONE);
	rig_close(&r);
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
		rig_expect_wait_ms(&r, 1000);
		rig_expect_status(&r, "t1f:s1", PROGRESS("x"));
		rig_reply(&r, DELIVERY_STATUS, cases[i].status, cases[i].body);
		assert_int_equal(r.events, 1);
		rig_expect_wait_ms(&r, 100000);
		delivery_close(r.d, 0, 408, STR("T"), STR_NONE);
		rig_expect_status(&r, "t1f:s2",
		    "{\"code\":408,\"message\":\"T\",\"detail\":null}");
		rig_reply(&r, DELIVERY_STATUS, cases[i].status, cases[i].body);
		rig_expect_end(&r, DELIVERY_DONE);
		rig_close(&r);
	}
}

static void
failed_statuses_are_retried(void **state)
{
	static const unsigned denied[] = { 401, 403, 302, 413, 418 };

	(void)state;
	RIG(r, .silence_s = 300);
	delivery_close(r.d, 0, 200, STR("D"), STR_NONE);
	rig_pass_ms(&r, 1000);
	r.random = 1000;
	rig_next(&r);
	rig_reply(&r, DELIVERY_STATUS, 503, "");
	rig_expect_wait_ms(&r, 1000);
	/* No more than one a second, whatever the jitter. */
	r.random = 0;
	rig_next(&r);
	rig_reply(&r, DELIVERY_STATUS, 429, "");
	rig_expect_wait_ms(&r, 1000);
	for (size_t i = 0; i < ARRAY_LEN(denied); i++) {
		rig_expect_status(&r, "t1f:s1",
		    "{\"code\":200,\"message\":\"D\",\"detail\":null}");
		rig_reply(&r, DELIVERY_STATUS, denied[i], "");
		rig_expect_wait_ms(&r, 300000);
	}
	rig_close(&r);
}

static void
failed_progress_gives_way(void **state)
{
	(void)state;
	RIG(r, .silence_s = 300);
	delivery_report(r.d, STR("old"));
	rig_expect_wait_ms(&r, 1000);
	rig_expect_status(&r, "t1f:s1", PROGRESS("old"));
	r.random = 1000;
	rig_reply(&r, DELIVERY_STATUS, 0, "");
	rig_expect_wait_ms(&r, 1000);
	rig_expect_status(&r, "t1f:s1", PROGRESS("old"));
	r.random = 2000;
	rig_reply(&r, DELIVERY_STATUS, 0, "");
	delivery_report(r.d, STR("new"));
	rig_expect_wait_ms(&r, 2000);
	rig_expect_status(&r, "t1f:s2", PROGRESS("new"));
	rig_close(&r);
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
	rig_pass_ms(&r, 1000);
	body = rig_next(&r)->body;
	yyjson_doc *doc = yyjson_read(body.p, body.n, 0);
	assert_int_equal(json_text(yyjson_obj_get(yyjson_doc_get_root(doc),
	    "message")).n, DELIVERY_MESSAGE_BYTES_MAX - 1);
	yyjson_doc_free(doc);
	rig_close(&r);
}

/* --- Ends --------------------------------------------------------------- */

static void
too_many_rejected_fail_the_task(void **state)
{
	struct delivery_view v;
	unsigned lines = 0;

	(void)state;
	RIG(r, .batch_documents = 1, .rejected_max = 12);
	rig_put(&r, 1, 10);
	for (unsigned i = 0; i < 11; i++)
		delivery_count_rejected(r.d, STR("no id"));
	rig_expect_upload(&r, "t1f:0", 0, 1);
	rig_reply(&r, DELIVERY_UPLOAD, 406, "");
	/* 12 are allowed. */
	rig_put(&r, 2, 10);
	rig_expect_upload(&r, "t1f:1", 1, 2);
	delivery_count_rejected(r.d, STR("no id"));
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_pass_ms(&r, 1000);
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_SAVE);
	assert_true(r.step.drop_spool);
	delivery_saved(r.d, true);
	assert_int_equal(rig_next(&r)->kind, DELIVERY_STATUS);
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
	rig_reply(&r, DELIVERY_STATUS, 200, "");
	rig_expect_end(&r, DELIVERY_DONE);
	delivery_look(r.d, &v);
	assert_int_equal(v.code, 500);
	rig_close(&r);
}

static void
a_stop_ends_everything(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 1);
	rig_put(&r, 2, 10);
	delivery_close(r.d, 2, 200, STR("Done"), STR_NONE);
	rig_expect_upload(&r, "t1f:0", 0, 1);
	delivery_stop(r.d);
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_SAVE);
	assert_true(r.step.drop_spool);
	/* It is asked again where the commit failed. */
	delivery_saved(r.d, false);
	rig_expect_end(&r, DELIVERY_STOPPED);
	rig_reply(&r, DELIVERY_UPLOAD, 404, "");
	rig_expect_end(&r, DELIVERY_STOPPED);
	/* The next attempt goes on with the keys. */
	delivery_restart(r.d, 2);
	rig_expect_status(&r, "t1f:s1", PROGRESS("Running"));
	rig_put(&r, 1, 10);
	rig_expect_upload(&r, "t1f:1", 2, 3);
	rig_close(&r);
}

static void
calls_wait_for_their_commit(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 1, .rejected_max = 5);
	rig_put(&r, 1, 10);
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_SAVE);
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_WAIT);
	/* Later changes belong to the next save. */
	delivery_count_rejected(r.d, STR("x"));
	delivery_saved(r.d, true);
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_SAVE);
	delivery_saved(r.d, true);
	rig_expect_upload(&r, "t1f:0", 0, 1);
	rig_close(&r);
}

static void
rejections_during_a_commit_are_told_next(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 1, .rejected_max = 5);
	rig_put(&r, 1, 10);
	rig_expect_upload(&r, "t1f:0", 0, 1);
	delivery_count_rejected(r.d, STR("x"));
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_SAVE);
	rig_reply(&r, DELIVERY_UPLOAD, 406, "");
	delivery_saved(r.d, true);
	delivery_next(r.d, r.now, &r.step);
	assert_int_equal(r.step.kind, DELIVERY_SAVE);
	assert_int_equal(r.step.rejected_n, 1);
	rig_close(&r);
}

static void
an_answer_ends_the_time_of_failures(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 1, .retry_s_max = 100, .silence_s = 9000);
	rig_put(&r, 2, 10);
	for (unsigned i = 0; i < 2; i++) {
		rig_expect_upload(&r, i == 0 ? "t1f:0" : "t1f:1", i, i + 1);
		rig_reply_after(&r, 503, "60");
		rig_expect_wait_ms(&r, 60000);
		rig_expect_upload(&r, i == 0 ? "t1f:0" : "t1f:1", i, i + 1);
		rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	}
	assert_int_equal(rig_next(&r)->kind, DELIVERY_WAIT);
	rig_close(&r);
}

/* --- Restarts ----------------------------------------------------------- */

static void
restarts_resend_under_the_old_key(void **state)
{
	(void)state;
	RIG(r, .batch_documents = 4, .rejected_max = 5);
	rig_put(&r, 4, 3000);
	rig_expect_upload(&r, "t1f:0", 0, 4);
	assert_true(r.step.gzip);
	rig_crash(&r, 6, 3000);
	/* Smaller batches from now on change nothing of this one. */
	r.set.batch_documents = 2;
	rig_crash(&r, 6, 3000);
	rig_expect_upload(&r, "t1f:0", 0, 4);
	assert_true(r.step.gzip);
	rig_reply(&r, DELIVERY_UPLOAD, 406, "");
	rig_crash(&r, 6, 3000);
	rig_expect_upload(&r, "t1f:0.0", 0, 2);
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_crash(&r, 6, 3000);
	rig_expect_upload(&r, "t1f:0.1", 2, 4);
	rig_reply(&r, DELIVERY_UPLOAD, 200, "");
	rig_expect_upload(&r, "t1f:1", 4, 6);
	rig_close(&r);
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
		rig_open(&r);
		assert_int_equal(delivery_load(r.d, str_of(cases[i]), &w),
		    ERR_CORRUPT);
		rig_close(&r);
	}
	struct rig r = { .set = { .batch_documents = 1 } };
	rig_open(&r);
	assert_int_equal(delivery_load(r.d, STR("{}"), NULL), OK);
	rig_pass_first_status(&r);
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(progress_is_coalesced),
		cmocka_unit_test(silence_is_broken),
		cmocka_unit_test(an_hour_of_silence_is_survived),
		cmocka_unit_test(heartbeats_need_no_commit),
		cmocka_unit_test(the_closing_status_is_last),
		cmocka_unit_test(refused_statuses_are_not_repeated),
		cmocka_unit_test(failed_statuses_are_retried),
		cmocka_unit_test(failed_progress_gives_way),
		cmocka_unit_test(texts_are_cut_between_characters),
		cmocka_unit_test(too_many_rejected_fail_the_task),
		cmocka_unit_test(a_stop_ends_everything),
		cmocka_unit_test(calls_wait_for_their_commit),
		cmocka_unit_test(rejections_during_a_commit_are_told_next),
		cmocka_unit_test(an_answer_ends_the_time_of_failures),
		cmocka_unit_test(restarts_resend_under_the_old_key),
		cmocka_unit_test(broken_states_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
