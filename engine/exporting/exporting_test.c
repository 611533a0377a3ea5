/* Exports as jobs: over a store, WARC files and a loop of its own. */
#include "engine/exporting/exporting.h"

#include <stdatomic.h>

#include "engine/export/export_testing.h"
#include "os/clock.h"

#define NAME "x-20160601100000000-00000-abcdefgh.warc.gz"
#define HOUR "2016/06/01/10"

static struct testing_dir dir;
static struct loop *home;
static struct store *store;
static struct store_async *async;
static struct exporting *exporting;
static struct conf conf;
static bool changed;
static struct exporting_listener listener;
static _Atomic(enum err) claim_answer;
static atomic_uint claims;
static bool told_early;              /* before it was claimed */

/* ---- A daemon in small ---------------------------------------------- */

static void
on_change(struct exporting_listener *l, struct str id)
{
	(void)l;
	(void)id;
	changed = true;
	told_early |= atomic_load(&claims) == 0;
}

static void
begin(void)
{
	struct store_options o = { .policy_default = NULL };
	struct store_async_options ao = { .home = home, .poll_ms = 60000 };
	struct exporting_options xo = { .home = home, .conf = &conf,
		.data_dir = dir.path };

	assert_int_equal(store_open(dir.path, &o, &store, NULL), OK);
	ao.store = store;
	async = store_async_new(&ao);
	xo.store = async;
	exporting = exporting_open(&xo);
	listener.changed = on_change;
	exporting_listen(exporting, &listener);
}

static void
set_true(void *arg)
{
	*(bool *)arg = true;
}

static void
end(void)
{
	bool stopped = false;

	exporting_stop(exporting, set_true, &stopped);
	loop_run_until(home, &stopped);
	exporting_free(&exporting);
	store_async_close(&async);
}

static int
setup(void **state)
{
	(void)state;
	testing_dir_make(&dir);
	conf_init(&conf);
	home = loop_new("home");
	begin();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	end();
	loop_free(&home);
	conf_free(&conf);
	testing_dir_remove(&dir);
	return 0;
}

/* ---- Requests ------------------------------------------------------- */

struct asked {
	struct exporting_request request;
	bool done;
};

static void
on_done(struct exporting_request *r)
{
	CONTAINER(r, struct asked, request)->done = true;
}

static enum err
ask(void (*verb)(struct exporting *, struct exporting_request *),
    struct asked *x, const char *id, const char *message)
{
	*x = (struct asked){ .request = { .id = str_of(id),
	    .message = str_of(message), .size = 100, .done = on_done } };
	verb(exporting, &x->request);
	loop_run_until(home, &x->done);
	return x->request.why.err;
}

/* Its id; in the directory's arena. */
static const char *
put(const char *message)
{
	struct asked x;

	if (ask(exporting_begin, &x, "", message) != OK)
		fail_msg("%s", x.request.why.text);
	const char *id = arena_copy(&dir.arena, x.request.list->id).p;
	arena_free(&x.request.arena);
	return id;
}

/* Wait for its end; the row is in the directory's arena. */
static struct store_export
wait_for(const char *id)
{
	struct store_export row;
	struct asked x;

	for (;;) {
		changed = false;
		assert_int_equal(ask(exporting_get, &x, id, ""), OK);
		row = *x.request.list;
		row.result = arena_copy(&dir.arena, row.result);
		bool is_over = store_harvest_is_over(row.state);
		arena_free(&x.request.arena);
		if (is_over)
			return row;
		loop_run_until(home, &changed);
	}
}

static bool
says(const struct store_export *row, const char *text)
{
	return str_find(row->result, str_of(text)) < row->result.n;
}

/* ---- Harvests ------------------------------------------------------- */

struct harvest_job {
	struct store_job job;
	const char *id, *type, *message, *name;
	bool done;
};

static void
run_harvest(struct store_job *j, struct store *st)
{
	struct harvest_job *x = CONTAINER(j, struct harvest_job, job);
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct store_harvest h = { .id = str_of(x->id),
		.type = str_of(x->type), .message = str_of(x->message),
		.path = str_of(dir.path) };
	struct store_harvest_warc f = { .name = str_of(x->name),
		.warc_id = str_of(x->id), .bytes = 10,
		.created = { INT64_C(1464775200) * US_PER_S },
		.sha1 = STR("5891b5b522d5df086d0ff0b110fbd9d21bb4fc71") };

	if (store_harvest_add(st, &h, clock_wall(), &a, NULL) != OK ||
	    store_harvest_set_state(st, h.id, STORE_HARVEST_RUNNING,
	    clock_wall(), NULL) != OK ||
	    store_harvest_ready(st, &h, &f, 1, NULL) != OK ||
	    store_harvest_placed(st, h.id, f.name, NULL) != OK)
		CHECK(false);
}

static void
harvest_done(struct store_job *j)
{
	CONTAINER(j, struct harvest_job, job)->done = true;
}

static void
put_harvest(const char *id, const char *message, const char *name)
{
	struct harvest_job x = { .job = { .run = run_harvest,
		.done = harvest_done }, .id = id, .type = "twitter_search",
		.message = message, .name = name };

	store_async_put(async, &x.job);
	loop_run_until(home, &x.done);
}

/* Tweets 1 to `n`, of a harvest of collection "c" with the seed "s". */
static void
harvest(int n)
{
	struct buf b = BUF_INIT;

	put_harvest("h", "{\"collection\":{\"id\":\"c\"},\"seeds\":"
	    "[{\"id\":\"s\"}]}", NAME);
	for (int i = 1; i <= n; i += 2)
		testing_page(&b, i, i + 1);
	assert_int_equal(file_make_dir(testing_path(&dir, HOUR), NULL), OK);
	testing_write(&dir, HOUR "/" NAME, buf_str(&b));
	buf_free(&b);
}

#define ORDER(more) "{\"type\":\"twitter_search\",\"format\":\"dehydrate\"" \
	more "}"
#define OF_C ",\"collection\":{\"id\":\"c\"}"

/* ---- Tests ---------------------------------------------------------- */

static void
one_is_made(void **state)
{
	const char *path;

	(void)state;
	harvest(4);
	const char *id = put(ORDER(OF_C));
	assert_string_equal(id, "export-1");
	struct store_export row = wait_for(id);
	assert_int_equal(row.state, STORE_HARVEST_SUCCEEDED);
	assert_string_equal(testing_read(&dir,
	    "exports/export-1/export-1_001.txt"), "1\n2\n3\n4\n");
	assert_true(says(&row, "\"errors\":[]"));
	assert_true(says(&row, "\"rows\":4"));
	assert_true(says(&row, "{\"name\":\"export-1_001.txt\",\"bytes\":8}"));
	row.id = str_of(id);
	assert_true(exporting_find_file(exporting, &row,
	    STR("export-1_001.txt"), &dir.arena, &path));
	assert_string_equal(path, testing_path(&dir,
	    "exports/export-1/export-1_001.txt"));
	assert_false(exporting_find_file(exporting, &row,
	    STR("export-1_/../../store.db"), &dir.arena, &path));
	assert_false(exporting_find_file(exporting, &row, STR("store.db"),
	    &dir.arena, &path));
}

static void
lists_say_what_they_are_of(void **state)
{
	struct asked x;

	(void)state;
	harvest(4);
	(void)wait_for(put(ORDER(OF_C)));
	(void)wait_for(put(ORDER(",\"harvests\":[\"h\",\"i\"]")));
	(void)wait_for(put(ORDER(",\"seeds\":[{\"id\":\"s\"}]")));
	assert_int_equal(ask(exporting_list, &x, "", ""), OK);
	assert_int_equal(x.request.n, 3);
	assert_int_equal(x.request.total, 3);
	const struct exporting_summary *s = x.request.summaries;
	assert_int_equal(s[0].seeds, 1);
	assert_int_equal(s[1].harvests, 2);
	assert_int_equal(s[1].named_n, 2);
	assert_true(str_eq(s[1].named[1], STR("i")));
	assert_true(str_eq(s[2].collection, STR("c")));
	assert_true(s[2].has_result);
	assert_int_equal(s[2].rows, 4);
	assert_int_equal(s[2].files, 1);
	assert_int_equal(s[2].bytes, 8);
	assert_int_equal(x.request.list[2].message.n, 0);
	assert_int_equal(x.request.list[2].result.n, 0);
	arena_free(&x.request.arena);
}

static void
files_are_chosen(void **state)
{
	struct store_export row;

	(void)state;
	harvest(4);
	row = wait_for(put(ORDER(",\"seeds\":[{\"id\":\"s\",\"uid\":\"1\"}]")));
	assert_true(says(&row, "\"rows\":2") && says(&row, "\"outside\":2"));
	row = wait_for(put(ORDER(",\"seeds\":[{\"id\":\"s\",\"uid\":\"\"},"
	    "{\"id\":\"t\",\"uid\":\"1\"}]")));
	assert_true(says(&row, "\"rows\":4") &&
	    says(&row, "\"warnings\":[{\"code\":\"seed_without_uid\""));
	row = wait_for(put(ORDER(",\"harvests\":[\"h\",\"i\"]")));
	assert_true(says(&row, "\"rows\":4"));
	row = wait_for(put(ORDER(",\"collection\":{\"id\":\"d\"}")));
	assert_int_equal(row.state, STORE_HARVEST_FAILED);
	assert_true(says(&row, "\"errors\":[{\"code\":\"no_warcs\""));
	row = wait_for(put(ORDER(OF_C ",\"harvest_date_end\":"
	    "\"2016-01-01T00:00:00\"")));
	assert_true(says(&row, "no_warcs"));
}

/* What can be read is exported, and the rest named. */
static void
a_missing_file_is_a_failure(void **state)
{
	(void)state;
	harvest(2);
	put_harvest("gone", "{\"collection\":{\"id\":\"c\"}}",
	    "y-20160601110000000-00000-abcdefgh.warc.gz");
	struct store_export row = wait_for(put(ORDER(OF_C)));
	assert_int_equal(row.state, STORE_HARVEST_FAILED);
	assert_true(says(&row, "\"code\":\"warc_missing\""));
	assert_true(says(&row, "\"rows\":2"));
	assert_string_equal(testing_read(&dir,
	    "exports/export-1/export-1_001.txt"), "1\n2\n");
}

static void
wrong_orders_are_refused(void **state)
{
	static const struct {
		const char *message, *field;
	} rows[] = {
		{ "[]", "" }, { "{", "" },
		{ "{\"type\":\"web\",\"format\":\"csv\"" OF_C "}", "type" },
		{ "{\"type\":\"flickr_user\",\"format\":\"pdf\"" OF_C "}",
		    "format" },
		{ ORDER(""), "collection" },
		{ ORDER(OF_C ",\"seeds\":[{\"id\":\"s\"}]"), "collection" },
		{ ORDER(",\"seeds\":[]"), "seeds" },
		{ ORDER(",\"seeds\":[{\"uid\":\"s\"}]"), "seeds" },
		{ ORDER(",\"collection\":{}"), "collection" },
		{ ORDER(OF_C ",\"id\":\"a/b\""), "id" },
		/* The directory of an export is removed when it is old. */
		{ ORDER(OF_C ",\"id\":\"..\""), "id" },
		{ ORDER(OF_C ",\"id\":\".a\""), "id" },
		{ ORDER(OF_C ",\"segment_size\":-1"), "segment_size" },
		{ ORDER(OF_C ",\"dedupe\":1"), "dedupe" },
		{ ORDER(OF_C ",\"item_date_end\":\"soon\""),
		    "item_date_end" },
		{ ORDER(OF_C ",\"columns\":[1]"), "columns" },
		{ ORDER(OF_C ",\"path\":\"/tmp/x\""), "path" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct asked x;
		assert_int_equal(ask(exporting_begin, &x, "",
		    rows[i].message), ERR_INPUT);
		assert_string_equal(x.request.why.field, rows[i].field);
		arena_free(&x.request.arena);
	}
	struct asked x;
	assert_int_equal(ask(exporting_list, &x, "", ""), OK);
	assert_int_equal(x.request.n, 0);
	arena_free(&x.request.arena);
	assert_int_equal(ask(exporting_get, &x, "export-1", ""), ERR_ABSENT);
	arena_free(&x.request.arena);
}

/* The row alone says what is left to do. */
static void
one_is_begun_again(void **state)
{
	(void)state;
	harvest(2000);
	for (int i = 0; i < 20; i++) {
		const char *id = put(ORDER(OF_C ",\"dedupe\":true"));
		/* Wherever it is. */
		for (int k = 0; k < i * 3; k++)
			loop_step(home);
		end();
		begin();
		struct store_export row = wait_for(id);
		assert_int_equal(row.state, STORE_HARVEST_SUCCEEDED);
		assert_true(says(&row, "\"rows\":2000"));
		assert_int_equal(tree_kind(testing_path(&dir, arena_printf(
		    &dir.arena, "exports/.%s.export", id).p), NULL),
		    TREE_ABSENT);
	}
}

static void
one_is_cancelled(void **state)
{
	struct asked x;
	unsigned cancelled = 0;

	(void)state;
	harvest(2000);
	for (int i = 0; i < 10; i++) {
		const char *id = put(ORDER(OF_C));
		enum err e = ask(exporting_cancel, &x, id, "");
		arena_free(&x.request.arena);
		struct store_export row = wait_for(id);
		bool failed = row.state == STORE_HARVEST_FAILED;
		assert_true(e == OK || (e == ERR_STATE && !failed));
		if (!failed)
			continue;
		cancelled++;
		assert_true(says(&row, "\"code\":\"export_cancelled\""));
		assert_int_equal(tree_kind(testing_path(&dir, arena_printf(
		    &dir.arena, "exports/%s", id).p), NULL), TREE_ABSENT);
	}
	assert_true(cancelled > 0);
	assert_int_equal(ask(exporting_cancel, &x, "export-1", ""),
	    ERR_STATE);
	arena_free(&x.request.arena);
}

struct age_job {
	struct store_job job;
	bool done;
};

static void
run_age(struct store_job *j, struct store *st)
{
	struct wall old = { clock_wall().us - INT64_C(31) * 86400 *
		US_PER_S };

	(void)j;
	CHECK(store_export_set_state(st, STR("export-1"),
	    STORE_HARVEST_SUCCEEDED, STR("{}"), old, NULL) == OK);
}

static void
aged(struct store_job *j)
{
	CONTAINER(j, struct age_job, job)->done = true;
}

static void
old_ones_go(void **state)
{
	struct age_job age = { .job = { .run = run_age, .done = aged } };
	struct asked x;

	(void)state;
	harvest(2);
	(void)wait_for(put(ORDER(OF_C)));
	(void)wait_for(put(ORDER(OF_C)));
	store_async_put(async, &age.job);
	loop_run_until(home, &age.done);
	end();
	begin();
	/* Requests come behind the sweep of the beginning. */
	assert_int_equal(ask(exporting_list, &x, "", ""), OK);
	arena_free(&x.request.arena);
	assert_int_equal(ask(exporting_list, &x, "", ""), OK);
	assert_int_equal(x.request.n, 1);
	assert_true(str_eq(x.request.list->id, STR("export-2")));
	arena_free(&x.request.arena);
	assert_int_equal(tree_kind(testing_path(&dir, "exports/export-1"),
	    NULL), TREE_ABSENT);
	assert_int_equal(tree_kind(testing_path(&dir, "exports/export-2"),
	    NULL), TREE_DIR);
}

/* ---- Claims --------------------------------------------------------- */

static enum err
to_local(void *arg, struct str path, struct arena *a, struct str *local,
    struct why *w)
{
	(void)arg;
	(void)a;
	(void)w;
	*local = path;
	return OK;
}

static enum err
admit(void *arg, struct str local, struct why *w)
{
	(void)arg;
	(void)local;
	(void)w;
	return OK;
}

static enum err
claim(void *arg, struct str id, struct str local, struct why *w)
{
	(void)arg;
	CHECK(str_eq(id, STR("x")) && str_ends(local, STR("/made")));
	atomic_fetch_add(&claims, 1);
	enum err e = atomic_load(&claim_answer);
	return e == OK ? OK : why(w, e, "two has it");
}

struct message_job {
	struct store_job job;
	bool done;
};

static void
run_message(struct store_job *j, struct store *st)
{
	struct str message = arena_printf(&dir.arena, ORDER(OF_C
	    ",\"id\":\"x\",\"path\":\"%s/made\""), dir.path);
	struct str id;
	bool over;

	(void)j;
	CHECK(exporting_put(exporting, st, message,
	    STR("export.start.twitter.twitter_search"), &dir.arena, &id, &over,
	    NULL) == OK && !over);
}

static void
message_put(struct store_job *j)
{
	CONTAINER(j, struct message_job, job)->done = true;
}

/* One that came by a broker. */
static void
start_claimed(enum err answer)
{
	const struct exporting_places p = { to_local, admit, admit, claim,
		NULL };
	struct message_job m = { .job = { .run = run_message,
		.done = message_put } };

	exporting_set_places(exporting, &p);
	atomic_store(&claim_answer, answer);
	atomic_store(&claims, 0);
	told_early = false;
	store_async_put(async, &m.job);
	loop_run_until(home, &m.done);
	changed = false;
	exporting_start(exporting, STR("x"));
}

/* Its row goes, nothing is written, and nothing was said before. */
static void
one_of_another_daemon_is_dropped(void **state)
{
	struct asked x;

	(void)state;
	harvest(2);
	start_claimed(ERR_EXISTS);
	loop_run_until(home, &changed);
	assert_int_equal(ask(exporting_get, &x, "x", ""), ERR_ABSENT);
	arena_free(&x.request.arena);
	assert_int_equal(atomic_load(&claims), 1);
	assert_false(told_early);
	assert_int_equal(tree_kind(testing_path(&dir, "made"), NULL),
	    TREE_ABSENT);
	/* The same message may come again, when the other one is gone. */
	start_claimed(OK);
	struct store_export row = wait_for("x");
	assert_int_equal(row.state, STORE_HARVEST_SUCCEEDED);
	assert_int_equal(atomic_load(&claims), 1);
	assert_false(told_early);
	assert_string_equal(testing_read(&dir, "made/x_001.txt"), "1\n2\n");
}

/* One that cannot be claimed is made without. */
static void
a_claim_may_fail(void **state)
{
	(void)state;
	harvest(2);
	start_claimed(ERR_IO);
	struct store_export row = wait_for("x");
	assert_int_equal(row.state, STORE_HARVEST_SUCCEEDED);
	assert_int_equal(atomic_load(&claims), 1);
	/* Those of commands have none. */
	(void)wait_for(put(ORDER(OF_C)));
	assert_int_equal(atomic_load(&claims), 1);
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(one_is_made), WITH(lists_say_what_they_are_of),
		WITH(files_are_chosen),
		WITH(a_missing_file_is_a_failure),
		WITH(wrong_orders_are_refused), WITH(one_is_begun_again),
		WITH(one_is_cancelled), WITH(old_ones_go),
		WITH(one_of_another_daemon_is_dropped),
		WITH(a_claim_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
