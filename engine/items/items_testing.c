#include "engine/items/items_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "engine/items/item_tx_own.h"
#include "os/file.h"

static struct postgresql_test *server;

bool
items_test_start(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "postgresql") != 0)
		return true;
	server = postgresql_test_start();
	return server != NULL;
}

int
items_test_stop(int failed)
{
	postgresql_test_stop(&server);
	return failed;
}

static void
open_store(struct items_test *t, const struct item_limits *l)
{
	const bool files = t->url[0] == '\0';
	const struct item_store_options o = {
		.dir = files ? t->dir : NULL, .url = files ? NULL : t->url,
		.node = "test", .limits = l };
	struct why w = WHY_INIT;

	if (item_store_open(&o, &t->store, &w) != OK)
		fail_msg("%s", w.text);
}

void
items_test_open(struct items_test *t, const struct item_limits *l)
{
	*t = (struct items_test){ .now = { INT64_C(1795166296000000) } };
	snprintf(t->dir, sizeof(t->dir), "/tmp/argiope-items-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	if (server != NULL)
		snprintf(t->url, sizeof(t->url), "%s",
		    postgresql_test_url(server, NULL));
	open_store(t, l);
}

void
items_test_reopen(struct items_test *t)
{
	const struct item_limits limits = *item_store_limits(t->store);

	item_store_close(&t->store);
	open_store(t, &limits);
}

void
items_test_close(struct items_test *t)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct why w = WHY_INIT;
	char path[96];
	struct str *names;
	size_t n;

	if (t->tx != NULL)
		assert_int_equal(item_tx_end(&t->tx, ERR_STATE, NULL),
		    ERR_STATE);
	if (database_check(item_store_database(t->store), &w) != OK)
		fail_msg("%s", w.text);
	item_store_close(&t->store);
	assert_int_equal(file_list(t->dir, &a, &names, &n, NULL), OK);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%.*s", t->dir,
		    STR_FMT(names[i]));
		unlink(path);
	}
	assert_int_equal(rmdir(t->dir), 0);
}

void
items_test_begin(struct items_test *t)
{
	struct why w = WHY_INIT;

	t->now.us += 1000;
	if (item_tx_continue(t->store, t->now, &t->tx, &w) != OK)
		fail_msg("%s", w.text);
}

void
items_test_begin_alone(struct items_test *t)
{
	struct why w = WHY_INIT;

	t->now.us += 1000;
	if (item_tx_begin(t->store, t->now, &t->tx, &w) != OK)
		fail_msg("%s", w.text);
}

void
items_test_commit(struct items_test *t)
{
	struct why w = WHY_INIT;

	if (item_tx_end(&t->tx, OK, &w) != OK)
		fail_msg("%s", w.text);
}

void
items_test_config(struct items_test *t, const char *json)
{
	struct task_config *c;
	struct why w = WHY_INIT;

	if (task_config_read(str_of(json), item_store_limits(t->store), &c,
	    NULL, &w) != OK)
		fail_msg("%s", w.text);
	item_store_use_config(t->store, c);
	items_test_begin(t);
	for (size_t i = 0; i < c->tasks_n; i++) {
		uint32_t id;
		assert_int_equal(item_store_name(t->store, ITEM_NAME_TASK,
		    c->tasks[i].name, true, &id, NULL), OK);
	}
	items_test_commit(t);
}

const char *
items_test_events(struct items_test *t, struct item_mark m)
{
	static const char *const types[] = { ITEM_EVENTS(TABLE_SECOND) };
	FREED(buf_free) struct buf b = BUF_INIT;

	for (size_t i = m.events; i < t->tx->events_n; i++) {
		if (b.n > 0)
			buf_put_char(&b, ' ');
		buf_put_text(&b, types[t->tx->events[i].type]);
	}
	return arena_copy(item_tx_arena(t->tx), buf_str(&b)).p;
}

const char *
items_test_bodies(struct items_test *t, struct item_mark m)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	for (size_t i = m.events; i < t->tx->events_n; i++) {
		buf_put_str(&b, t->tx->events[i].body);
		buf_put_char(&b, '\n');
	}
	return arena_copy(item_tx_arena(t->tx), buf_str(&b)).p;
}

int64_t
items_test_number(struct items_test *t, const char *sql)
{
	struct why w = WHY_INIT;
	struct query *q = database_query(item_store_database(t->store), sql);
	int64_t n = query_step(q) ? query_get_i64(q, 0) : -1;

	if (query_end(&q, &w) != OK)
		fail_msg("%s", w.text);
	return n;
}
