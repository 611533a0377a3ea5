/* Queries about a task's arrivals: documents, keys, repeats and silences. */
#include "cli/conformance/task_trace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct task_trace *
new_trace(void)
{
	struct task_trace *t = mem_new(sizeof(*t));

	list_init(&t->node);
	t->closed = CODE_DONE;
	return t;
}

static struct arrival *
add_upload(struct task_trace *t, const char *key, const char *body,
    bool accepted)
{
	struct arrival *a = task_trace_add(t, FAULT_UPLOAD, (struct mono){
	    (int64_t)t->n * NS_PER_S });

	a->key = str_of(key);
	a->body = str_of(body);
	a->accepted = accepted;
	task_trace_read(t, a, STR("id"));
	return a;
}

#define ONE "{\"id\":1}\n{\"id\":\"b\"}"
#define TWO "{\"id\":-3}\n{\"text\":\"no id\"}"

static struct task_trace *
plain_trace(void)
{
	struct task_trace *t = new_trace();

	add_upload(t, "1", ONE, true);
	add_upload(t, "2", TWO, true);
	return t;
}

static void
reads_ids(void **state)
{
	struct task_trace *t = plain_trace();
	const struct arrival *a = task_trace_upload(t, 2);

	(void)state;
	assert_int_equal(a->documents, 2);
	assert_true(str_eq(a->ids[0], STR("-3")));
	assert_true(str_eq(a->ids[1], STR("{\"text\":\"no id\"}")));
	a = add_upload(t, "3", "{\"id\":4}\n", true);
	assert_int_equal(a->documents, 1);
	assert_non_null(strstr(a->malformed, "line 2"));
	assert_null(task_trace_upload(t, 4));
	task_trace_free(&t);
}

static void
expect_reason(struct task_trace *t, struct str left_out, const char *want)
{
	struct task_trace *plain = plain_trace();
	const char *reason;
	bool whole = task_trace_is_whole(t, plain, left_out, &reason);

	assert_int_equal(whole, want == NULL);
	if (want == NULL)
		assert_null(reason);
	else
		assert_string_equal(reason, want);
	task_trace_free(&plain);
	task_trace_free(&t);
}

static void
finds_missing_and_repeated_documents(void **state)
{
	struct task_trace *t = plain_trace();

	(void)state;
	add_upload(t, "2", TWO, true);
	add_upload(t, "9", ONE, false);
	expect_reason(t, STR_NONE, NULL);
	t = new_trace();
	add_upload(t, "2", TWO, true);
	add_upload(t, "1", "{\"id\":1}", true);
	expect_reason(t, STR("b"), NULL);
	t = new_trace();
	add_upload(t, "2", TWO, true);
	add_upload(t, "1", "{\"id\":1}", true);
	expect_reason(t, STR_NONE, "the document b did not arrive");
	t = plain_trace();
	add_upload(t, "3", "{\"id\":\"b\"}", true);
	expect_reason(t, STR_NONE, "the document b arrived twice");
	t = plain_trace();
	add_upload(t, "3", "{\"id\":\"b\"}", true)->refused = 1;
	expect_reason(t, STR_NONE, NULL);
	t = plain_trace();
	t->closed = 500;
	expect_reason(t, STR_NONE, "the task ended with 500, not 200");
}

static void
expect_keys(struct task_trace *t, const char *want)
{
	const char *reason;

	assert_int_equal(task_trace_has_keys(t, &reason), want == NULL);
	if (want != NULL)
		assert_string_equal(reason, want);
	task_trace_free(&t);
}

static void
judges_keys(void **state)
{
	struct task_trace *t = plain_trace();

	(void)state;
	add_upload(t, "2", TWO, true);
	expect_keys(t, NULL);
	t = plain_trace();
	add_upload(t, "2", ONE, true);
	expect_keys(t, "two uploads have the same key");
	t = plain_trace();
	add_upload(t, "3", TWO, true);
	expect_keys(t, "a retry has another key");
	t = plain_trace();
	add_upload(t, "", "{}", true);
	expect_keys(t, "an upload has no Idempotency-Key");
}

static void
sees_repeats_and_silences(void **state)
{
	struct task_trace *t = plain_trace();

	(void)state;
	assert_false(task_trace_repeats(t, 1));
	assert_true(task_trace_repeats(t, 2));
	assert_int_equal(task_trace_silence_ms(t), 1000);
	task_trace_add(t, FAULT_STATUS, (struct mono){ 4 * NS_PER_S });
	assert_int_equal(task_trace_silence_ms(t), 3000);
	add_upload(t, "2", TWO, true);
	assert_true(task_trace_repeats(t, 2));
	task_trace_free(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_ids),
		cmocka_unit_test(finds_missing_and_repeated_documents),
		cmocka_unit_test(judges_keys),
		cmocka_unit_test(sees_repeats_and_silences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
