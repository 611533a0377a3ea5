/* An answer that the connector has before it is durable: what counts when. */
#include "engine/harvest/budget.h"
#include "engine/harvest/driver_own.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* --- A platform: lists of pages, {"n":ITEMS,"next":true} ------------------ */

struct pages {
	struct connector_run run;
	uint64_t page;
	bool out, over;
};

static const struct connector connector;
static const struct connector_order order = { .connector = &connector };
static unsigned runs;

static struct pages *
of(const struct connector_run *r)
{
	return CONTAINER(r, struct pages, run);
}

static enum err
open_run(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	struct pages *p = mem_new(sizeof(*p));

	(void)o, (void)w;
	*out = &p->run;
	runs++;
	return OK;
}

static enum connector_next
next_call(struct connector_run *r, struct connector_call *c)
{
	if (of(r)->over)
		return CONNECTOR_END;
	if (of(r)->out)
		return CONNECTOR_WAIT;
	of(r)->out = true;
	*c = (struct connector_call){ .url = STR("https://a.example/"),
	    .budget = "pages" };
	return CONNECTOR_CALL;
}

static void
take(struct connector_run *r, const struct connector_call *c,
    const struct connector_answer *a, const struct connector_findings *f)
{
	uint64_t n = yyjson_get_uint(yyjson_obj_get(a->json, "n"));
	char code[] = "partial_posts";

	(void)c;
	if (n == 0) {
		f->again(f->arg, 5);
		return;
	}
	of(r)->out = false;
	of(r)->page++;
	f->count(f->arg, "posts", n);
	f->state(f->arg, STR("newest"), json_text(yyjson_obj_get(a->json,
	    "id")));
	/* A code may be made of several words. */
	f->note(f->arg, CONNECTOR_WARNING, code, STR("some"), NULL);
	memset(code, 'x', sizeof(code) - 1);
	f->url(f->arg, STR("https://b.example/"));
	f->deleted(f->arg, STR("1"));
	of(r)->over = !yyjson_get_bool(yyjson_obj_get(a->json, "next"));
	if (of(r)->over && n == 13)
		(f->fail)(f->arg, "unknown_error", STR("13 is none"));
	else if (of(r)->over)
		f->done(f->arg);
}

static void
save(const struct connector_run *r, struct buf *out)
{
	buf_printf(out, "%llu", (unsigned long long)of(r)->page);
}

static enum err
load(struct connector_run *r, struct str s, struct why *w)
{
	return str_to_u64(s, &of(r)->page) ? OK : why(w, ERR_CORRUPT, "a page");
}

static void
close_run(struct connector_run **r)
{
	struct pages *p = of(*r);

	*r = NULL;
	runs--;
	mem_free(&p);
}

static const struct connector connector = { .type = "pages",
	.platform = "pages", .open = open_run, .next = next_call,
	.answer = take, .save = save, .load = load, .close = close_run };

/* --- The driver, between its calls ---------------------------------------- */

static struct driver *driver;
static struct totals totals;
static struct budgets *budgets;

static int
setup(void **state)
{
	struct driver_options o = { .order = &order, .totals = &totals,
	    .tries_max = 3 };

	(void)state;
	budgets = budgets_new(NULL, NULL);
	o.budgets = budgets;
	assert_int_equal(driver_open(&o, &driver, NULL), OK);
	/* No call leaves: what the tests say of one counts. */
	driver->recovering = true;
	driver_fill(driver);
	assert_int_equal(driver->slots[0].state, SLOT_READY);
	driver->slots[0].state = SLOT_OUT;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	driver_close(&driver);
	assert_int_equal(runs, 0);
	budgets_free(&budgets);
	totals_free(&totals);
	totals = (struct totals){ .items = 0 };
	return 0;
}

/* The slot's answer is whole. */
static void
answer(struct slot *s, int status, const char *body)
{
	s->sent.end = CALL_ANSWERED;
	s->sent.status = status;
	buf_put_text(&s->sent.content, body);
	driver_call_answered(&s->sent);
}

/* Its call is over. */
static void
end_call(struct slot *s, enum call_end end, uint64_t number)
{
	s->sent.end = end;
	s->sent.number = number;
	driver_call_done(&s->sent);
}

static uint64_t
page(void)
{
	return of(driver->run)->page;
}

static void
counts_when_it_is_durable(void **state)
{
	struct slot *s = &driver->slots[0];

	(void)state;
	answer(s, 200, "{\"n\":7,\"next\":true,\"id\":\"99\"}");
	assert_int_equal(page(), 1);
	assert_int_equal(s->state, SLOT_OUT);
	assert_int_equal(totals.items + totals.notes_n + totals.urls +
	    totals.deleted + totals.state.n + driver->captures, 0);
	end_call(s, CALL_ANSWERED, 4);
	assert_int_equal(s->state, SLOT_FREE);
	assert_int_equal(page(), 1);
	assert_int_equal(totals.items, 7);
	assert_int_equal(totals.deleted, 1);
	assert_int_equal(totals.urls, 1);
	assert_string_equal(totals.notes[0].code.p, "partial_posts");
	assert_true(str_eq(totals.state.list[0].value, STR("99")));
	assert_int_equal(driver->captures, 4);
	assert_int_equal(driver->end, DRIVER_GOES_ON);
}

/* The next call is asked for at once, and its answer waits for the first. */
static void
one_answer_ahead(void **state)
{
	struct slot *a = &driver->slots[0], *b = &driver->slots[1];

	(void)state;
	answer(a, 200, "{\"n\":7,\"next\":true}");
	driver_fill(driver);
	assert_int_equal(b->state, SLOT_READY);
	b->state = SLOT_OUT;
	answer(b, 200, "{\"n\":8,\"next\":true}");
	assert_int_equal(page(), 1);
	end_call(a, CALL_ANSWERED, 1);
	assert_int_equal(totals.items, 7);
	/* Now it is alone. */
	assert_int_equal(page(), 2);
	end_call(b, CALL_ANSWERED, 2);
	assert_int_equal(totals.items, 15);
	assert_int_equal(driver->captures, 2);
}

/* It would be in its spool, without the answer that led to it. */
static void
a_stream_waits(void **state)
{
	struct slot *a = &driver->slots[0], *b = &driver->slots[1];

	(void)state;
	answer(a, 200, "{\"n\":7,\"next\":true}");
	driver_fill(driver);
	b->call.expect = CONNECTOR_EVENTS;
	driver_send(b);
	assert_int_equal(b->state, SLOT_READY);
	end_call(a, CALL_ANSWERED, 1);
	assert_int_equal(totals.items, 7);
}

static void
not_with_others_out(void **state)
{
	struct slot *a = &driver->slots[0], *b = &driver->slots[1];

	(void)state;
	of(driver->run)->out = false;
	driver_fill(driver);
	b->state = SLOT_OUT;
	answer(b, 200, "{\"n\":7,\"next\":true}");
	assert_int_equal(page(), 0);
	answer(a, 200, "{\"n\":8,\"next\":true}");
	assert_int_equal(page(), 0);
	end_call(b, CALL_ANSWERED, 1);
	assert_int_equal(totals.items, 7);
	assert_int_equal(page(), 2);
	end_call(a, CALL_ANSWERED, 2);
	assert_int_equal(totals.items, 15);
}

/* Its crawl was ended by somebody else before the answer was kept. */
static void
one_that_is_lost_is_taken_back(void **state)
{
	struct slot *s = &driver->slots[0];
	struct buf saved = BUF_INIT;

	(void)state;
	of(driver->run)->page = 3;
	answer(s, 200, "{\"n\":7,\"next\":false}");
	assert_int_equal(page(), 4);
	assert_int_equal(driver->end, DRIVER_SUCCESS);
	end_call(s, CALL_STOPPED, 0);
	assert_int_equal(page(), 3);
	assert_int_equal(driver->end, DRIVER_GOES_ON);
	assert_true(driver->held);
	assert_int_equal(totals.items + totals.notes_n + totals.state.n, 0);
	driver_save(driver, &saved);
	assert_true(str_eq(buf_str(&saved), STR("3")));
	buf_free(&saved);
}

static void
ends_come_with_it(void **state)
{
	struct slot *s = &driver->slots[0];

	(void)state;
	answer(s, 200, "{\"n\":13,\"next\":false}");
	assert_int_equal(driver->end, DRIVER_FAILURE);
	assert_int_equal(totals.notes_n, 0);
	end_call(s, CALL_ANSWERED, 1);
	assert_int_equal(driver->end, DRIVER_FAILURE);
	assert_int_equal(totals.notes_n, 2);
	assert_string_equal(totals.notes[1].text.p, "13 is none");
}

/* What is to be asked for again is judged when it is durable. */
static void
others_wait(void **state)
{
	static const struct { int status; const char *body; } others[] = {
		{ 503, "{}" }, { 429, "{}" }, { 404, "{}" }, { 200, "<p>" } };
	struct slot *s = &driver->slots[0];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		answer(s, others[i].status, others[i].body);
		assert_null(driver->early.slot);
		assert_int_equal(s->state, SLOT_OUT);
		assert_int_equal(s->failures + s->refusals, 0);
		buf_free(&s->sent.content);
	}
	assert_int_equal(page(), 0);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(counts_when_it_is_durable),
		WITH(one_answer_ahead),
		WITH(a_stream_waits),
		WITH(not_with_others_out),
		WITH(one_that_is_lost_is_taken_back),
		WITH(ends_come_with_it),
		WITH(others_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
