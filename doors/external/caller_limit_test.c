/*
 * Calls at once and in order; cancelling and stopping.
 */
#include "doors/external/caller_testing.h"

/* ---- How many at once ------------------------------------------------ */

static void
makes_64_calls_at_once(void **state)
{
	static struct made_call calls[200];
	struct caller_look look;

	(void)state;
	open_server(false);
	begin_caller(NULL);
	know_server("http", "127.0.0.1", "");
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		prepare_call(&calls[i], "acme", "slow/300/a");
		start_call(&calls[i]);
	}
	assert_true(caller_look_at(caller, STR("acme"), &look));
	assert_int_equal(look.under_way, CALLER_BACKEND_CALLS_MAX);
	assert_int_equal(look.waiting, ARRAY_LEN(calls) -
	    CALLER_BACKEND_CALLS_MAX);
	wait_for_calls();
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		assert_int_equal(calls[i].call.status, 200);
	assert_int_equal(atomic_load(&held_most), CALLER_BACKEND_CALLS_MAX);
	assert_true(caller_look_at(caller, STR("acme"), &look));
	assert_int_equal(look.under_way + look.waiting, 0);
	assert_int_equal(look.calls, ARRAY_LEN(calls));
	end_caller();
	close_server();
}

static void
makes_calls_in_order(void **state)
{
	const struct caller_options o = { .call_ms = 10000,
	    .backend_calls_max = 1 };
	static struct made_call calls[20];
	struct made_call other;
	char path[32];

	(void)state;
	open_server(false);
	begin_caller(&o);
	know_server("http", "127.0.0.1", "");
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		snprintf(path, sizeof(path), "slow/30/%c", (char)('a' + i));
		prepare_call(&calls[i], "acme", path);
		start_call(&calls[i]);
	}
	/* Another back end does not wait for this one. */
	prepare_call(&other, "other", "ok");
	start_call(&other);
	while (other.done_n == 0)
		turn_home_for(1);
	assert_int_equal(calls[ARRAY_LEN(calls) - 1].done_n, 0);
	wait_for_calls();
	assert_int_equal(seen.order_n, ARRAY_LEN(calls));
	assert_memory_equal(seen.order, "abcdefghijklmnopqrst",
	    ARRAY_LEN(calls));
	end_caller();
	close_server();
}

static void
limits_what_waits(void **state)
{
	const struct caller_options o = { .call_ms = 10000,
	    .backend_calls_max = 1, .calls_waiting_max = 2 };
	struct made_call calls[4];

	(void)state;
	open_server(false);
	begin_caller(&o);
	know_server("http", "127.0.0.1", "");
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		prepare_call(&calls[i], "acme", "slow/20/a");
		start_call(&calls[i]);
	}
	wait_for_calls();
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(calls[i].call.status, 200);
	assert_end(&calls[3], CONNECT);
	assert_string_equal(calls[3].call.detail, "too many calls wait");
	/* There is room again. */
	make_call(&calls[0], "slow/1/a");
	assert_int_equal(calls[0].call.status, 200);
	end_caller();
	close_server();
}

/* ---- Cancelling, stopping -------------------------------------------- */

static void
cancels_calls(void **state)
{
	const struct caller_options o = { .call_ms = 10000,
	    .backend_calls_max = 1 };
	struct made_call sent, waiting, last;
	struct caller_look look;

	(void)state;
	open_server(false);
	begin_caller(&o);
	know_server("http", "127.0.0.1", "");
	prepare_call(&sent, "acme", "slow/2000/a");
	prepare_call(&waiting, "acme", "slow/2000/b");
	prepare_call(&last, "acme", "slow/1/c");
	start_call(&sent);
	start_call(&waiting);
	start_call(&last);
	while (atomic_load(&held) == 0)
		turn_home_for(1);
	caller_cancel(caller, &waiting.call);
	caller_cancel(caller, &waiting.call);
	caller_cancel(caller, &sent.call);
	assert_int_equal(sent.done_n + waiting.done_n, 0);
	struct mono from = clock_mono();
	wait_for_calls();
	assert_true(mono_ns_between(from, clock_mono()) < 1900 * NS_PER_MS);
	assert_end(&sent, STOPPED);
	assert_end(&waiting, STOPPED);
	assert_int_equal(last.call.status, 200);
	assert_int_equal(sent.done_n + waiting.done_n + last.done_n, 3);
	/* It has ended. */
	caller_cancel(caller, &last.call);
	turn_home_for(10);
	assert_int_equal(last.done_n, 1);
	assert_int_equal(seen.order_n, 2);
	assert_memory_equal(seen.order, "ac", 2);
	assert_true(caller_look_at(caller, STR("acme"), &look));
	assert_int_equal(look.calls, 1);
	assert_int_equal(look.failures, 0);

	/* At once, before the thread has begun. */
	prepare_call(&sent, "acme", "slow/600/a");
	start_call(&sent);
	caller_cancel(caller, &sent.call);
	wait_for_calls();
	assert_end(&sent, STOPPED);
	/* A call may be made again. */
	make_call(&sent, "ok");
	assert_int_equal(sent.call.status, 200);
	end_caller();
	close_server();
}

static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Cancels meet calls at each of their states: each ends once. */
static void
cancels_at_any_time(void **state)
{
	const struct caller_options o = { .call_ms = 10000,
	    .backend_calls_max = 8 };
	static struct made_call calls[CALLS_MAX];
	uint64_t random = 0x9e3779b97f4a7c15;
	size_t stopped = 0;

	(void)state;
	open_server(false);
	begin_caller(&o);
	know_server("http", "127.0.0.1", "");
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		prepare_call(&calls[i], i % 3 == 0 ? "other" : "acme", "ok");
		start_call(&calls[i]);
		if (next_random(&random) % 2 == 0)
			caller_cancel(caller, &calls[next_random(&random) %
			    (i + 1)].call);
		if (next_random(&random) % 8 == 0)
			turn_home_for((int)(next_random(&random) % 4));
	}
	if (calls_left > 0)
		wait_for_calls();
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		assert_int_equal(calls[i].done_n, 1);
		stopped += calls[i].call.end == TRANSPORT_STOPPED;
		if (calls[i].call.end != TRANSPORT_STOPPED)
			assert_int_equal(calls[i].call.status, 200);
	}
	assert_true(stopped > 0 && stopped < ARRAY_LEN(calls));
	end_caller();
	close_server();
}

static void
stops_with_calls_under_way(void **state)
{
	const struct caller_options o = { .call_ms = 10000,
	    .backend_calls_max = 2 };
	struct made_call calls[5], late;

	(void)state;
	open_server(false);
	begin_caller(&o);
	know_server("http", "127.0.0.1", "");
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		prepare_call(&calls[i], "acme", "slow/600/a");
		start_call(&calls[i]);
	}
	while (atomic_load(&held) < 2)
		turn_home_for(1);
	was_stopped = false;
	caller_stop(caller, note_stopped, &was_stopped);
	assert_false(was_stopped);
	prepare_call(&late, "acme", "ok");
	start_call(&late);
	loop_run_until(home, &was_stopped);
	assert_int_equal(calls_left, 0);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		assert_end(&calls[i], STOPPED);
	assert_end(&late, STOPPED);
	caller_free(&caller);
	loop_free(&home);
	backends_release(&set);
	close_server();
}

static void
stops_without_calls(void **state)
{
	const struct caller_options wrong = { .call_ms = 0 };
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(caller_new(&wrong, &caller, &w), ERR_INPUT);
	assert_null(caller);
	assert_string_equal(w.field, "call_ms");
	caller_free(&caller);
	/* Before the first call. */
	begin_caller(NULL);
	caller_free(&caller);
	loop_free(&home);
	begin_caller(NULL);
	end_caller();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(makes_64_calls_at_once),
		cmocka_unit_test(makes_calls_in_order),
		cmocka_unit_test(limits_what_waits),
		cmocka_unit_test(cancels_calls),
		cmocka_unit_test(cancels_at_any_time),
		cmocka_unit_test(stops_with_calls_under_way),
		cmocka_unit_test(stops_without_calls),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
