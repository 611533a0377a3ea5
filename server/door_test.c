/* The table of doors: which steps reach which door, and the drain gate. */
#include "server/door.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct buf steps;
static void (*finish)(void *arg);
static void *finish_arg;

static enum err
open_sample(const struct door_host *h, void **door, struct why *w)
{
	(void)h, (void)w;
	buf_put_text(&steps, "open ");
	*door = &steps;
	return OK;
}

static enum err
open_off(const struct door_host *h, void **door, struct why *w)
{
	(void)h, (void)door, (void)w;
	buf_put_text(&steps, "off ");
	return OK;
}

static void
ready(void *door, struct engine *e)
{
	(void)e;
	assert_ptr_equal(door, &steps);
	buf_put_text(&steps, "ready ");
}

static void
status(void *door, struct door_status *out)
{
	snprintf(out->note, sizeof(out->note), "%s", door == NULL ? "" :
	    "a note");
}

static void
drain(void *door, void (*drained)(void *arg), void *arg)
{
	assert_ptr_equal(door, &steps);
	buf_put_text(&steps, "drain ");
	finish = drained;
	finish_arg = arg;
}

static void
free_sample(void **door)
{
	*door = NULL;
	buf_put_text(&steps, "free ");
}

static void
handle(struct web_request *r)
{
	(void)r;
}

static const struct web_socket_events events = { 0 };
static const struct web_route routes[] = {
	{ .method = "GET", .path = "/sample", .handle = handle,
	    .door = TOKEN_DOOR_OWN },
	{ .method = "GET", .path = "/other", .handle = handle,
	    .door = TOKEN_DOOR_CONSOLE },
};
static const struct web_socket_path sockets[] = {
	{ "/sample", &events, TOKEN_DOOR_OWN, NULL },
};
static const struct setting settings[] = {
	{ "sample.word", CONF_STRING, "a", 0, 10, "text", 0, "Which word." },
};
static void
details(void *door, struct buf *json)
{
	assert_ptr_equal(door, &steps);
	buf_put_text(json, "\"more\":1");
}

static const struct door sample = {
	.name = "sample", .help = "A sample.", .settings = settings,
	.settings_n = 1, .open = open_sample, .routes = routes, .routes_n = 2,
	.sockets = sockets, .sockets_n = 1, .ready = ready, .status = status,
	.details = details, .drain = drain, .free = free_sample,
}, off = { .name = "off", .open = open_off, .ready = ready,
	.status = status, .details = details, .drain = drain,
	.free = free_sample };
static const struct door *const table[] = { &off, &sample };

static void
drained(void *arg)
{
	(void)arg;
	buf_put_text(&steps, "drained ");
}

/* A door that is switched off gets no step and no row. */
static void
test_life(void **state)
{
	const struct web_route first = { .method = "GET", .path = "/first" };
	struct door_host h = { .web_address = "127.0.0.1:1" };
	struct drain_gate gate = { 0 };
	struct web_options o = { 0 };
	struct arena a = ARENA_INIT;
	struct door_status st;
	struct buf more = BUF_INIT;
	size_t n = 1;

	(void)state;
	assert_int_equal(doors_open(&h, NULL), OK);
	const struct web_route *rows = doors_routes(&h, &first, &n, &o, &a);
	assert_int_equal(n, 3);
	assert_string_equal(rows[0].path, "/first");
	assert_int_equal(rows[1].door, token_door_add("sample"));
	assert_ptr_equal(rows[1].arg, &steps);
	assert_int_equal(rows[2].door, TOKEN_DOOR_CONSOLE);
	assert_int_equal(o.sockets_n, 1);
	assert_int_equal(o.sockets[0].door, token_door_add("sample"));
	assert_ptr_equal(o.sockets[0].arg, &steps);
	doors_ready(&h, NULL);
	assert_int_equal(doors_reload(&h, NULL), OK);
	assert_true(doors_status(&h, 0, &st));
	assert_string_equal(st.state, "closed");
	/* The HTTP port is not open, so a door of it is closed. */
	assert_true(doors_status(&h, 1, &st));
	assert_string_equal(st.state, "closed");
	assert_string_equal(st.note, "a note");
	doors_details(&h, 0, &more);
	assert_int_equal(more.n, 0);
	doors_details(&h, 1, &more);
	assert_string_equal(buf_text(&more), "\"more\":1");
	buf_free(&more);
	doors_drain(&h, false, &gate);
	assert_int_equal(gate.under_way, 0);
	doors_drain(&h, true, &gate);
	drain_gate_close(&gate, drained, NULL);
	assert_string_equal(buf_text(&steps), "off open ready drain ");
	finish(finish_arg);
	doors_free(&h);
	assert_string_equal(buf_text(&steps), "off open ready drain drained "
	    "free ");
	buf_free(&steps);
	arena_free(&a);
}

static void
test_gate(void **state)
{
	struct drain_gate g = { 0 };

	(void)state;
	drain_gate_enter(&g);
	drain_gate_leave(&g);
	drain_gate_enter(&g);
	drain_gate_close(&g, drained, NULL);
	/* Work that is under way may begin further work. */
	drain_gate_enter(&g);
	drain_gate_leave(&g);
	assert_int_equal(steps.n, 0);
	drain_gate_leave(&g);
	drain_gate_enter(&g);
	drain_gate_leave(&g);
	assert_string_equal(buf_text(&steps), "drained ");
	buf_free(&steps);
	g = (struct drain_gate){ 0 };
	drain_gate_close(&g, drained, NULL);
	assert_string_equal(buf_text(&steps), "drained ");
	buf_free(&steps);
}

/* doors_use() has made settings and scopes known. */
static void
test_known(void **state)
{
	struct token_scopes s;
	enum conf_id id;

	(void)state;
	assert_ptr_equal(doors_nth(1), &sample);
	assert_null(doors_nth(2));
	assert_true(conf_find(STR("sample.word"), &id));
	assert_int_equal(id, conf_id_of(&settings[0]));
	assert_int_equal(token_scopes_read(STR("sample:read,off:write"), false,
	    &s, NULL), OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_gate),
		cmocka_unit_test(test_known),
	};

	doors_use(table, ARRAY_LEN(table));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
