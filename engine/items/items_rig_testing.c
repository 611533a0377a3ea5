#include "engine/items/items_rig_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "os/clock.h"
#include "os/file.h"

struct rig rig;

static const char config_json[] = "{\"tags\":{\"t\":[\"a\"]},\"tasks\":{"
    "\"a\":{\"version\":\"1\",\"run\":{\"$function\":true}},"
    "\"b\":{\"version\":\"1\",\"run\":{\"$function\":true}}}}";

/* -- Home -- */

void
rig_turn(void)
{
	if (!loop_step(rig.home))
		usleep(500);
}

void
rig_until(const unsigned *n, unsigned want)
{
	for (int i = 0; i < 20000 && *n < want; i++)
		rig_turn();
	assert_int_equal(*n, want);
}

void
rig_wait_ms(unsigned ms)
{
	for (unsigned i = 0; i < 2 * ms; i++)
		rig_turn();
}

/* -- Requests -- */

/* No assertion here: this is the writer's thread. */
static enum err
make_item(struct item_tx *tx, const char *id, struct why *w)
{
	const struct item_actor person = { .run_item = 0 };
	struct item_tag_text tag = { STR("t"), STR_NONE };
	struct item_create o = { .id = str_of(id), .data = STR("{}"),
	    .tags = &tag, .tags_n = 1 };
	enum item_effect effect;
	struct item_row *row;

	return item_create(tx, &person, &o, &effect, &row, w);
}

enum err
rig_run_write(struct items_write *r, struct item_tx *tx, struct why *w)
{
	struct rig_write *t = CONTAINER(r, struct rig_write, write);

	atomic_store(&t->entered, true);
	while (t->gate != NULL && !atomic_load(t->gate))
		usleep(200);
	t->runs++;
	t->tx = tx;
	enum err e = t->id == NULL ? OK : make_item(tx, t->id, w);
	if (e != OK)
		return e;
	if (t->fail != OK && (t->fail_times == 0 || t->runs <= t->fail_times))
		return why(w, t->fail, "it was told to fail");
	return OK;
}

void
rig_write_done(struct items_write *r)
{
	struct rig_write *t = CONTAINER(r, struct rig_write, write);

	t->dones++;
	rig.done_n++;
}

void
rig_put(struct rig_write *t)
{
	t->write.run = rig_run_write;
	t->write.done = rig_write_done;
	items_write(rig.items, &t->write);
}

void
rig_put_gate(struct rig_write *t, atomic_bool *open)
{
	if (!rig.threads) {
		rig.done_n++;
		return;
	}
	t->gate = open;
	rig_put(t);
	for (int i = 0; i < 20000 && !atomic_load(&t->entered); i++)
		usleep(500);
	assert_true(atomic_load(&t->entered));
}

/* The configuration: a task that the tag maps. */
static enum err
run_config(struct items_write *r, struct item_tx *tx, struct why *w)
{
	struct item_store *s = item_tx_store(tx);
	struct task_config *c = NULL;
	uint32_t id;

	(void)r;
	enum err e = task_config_read(str_of(config_json),
	    item_store_limits(s), &c, NULL, w);
	if (e != OK)
		return e;
	for (size_t i = 0; i < c->tasks_n && e == OK; i++)
		e = item_store_name(s, ITEM_NAME_TASK, c->tasks[i].name, true,
		    &id, w);
	item_store_use_config(s, c);
	return e;
}

void
rig_use_config(void)
{
	struct items_write r = { .run = run_config, .done = rig_write_done };
	struct rig_write t = { .write = r };

	rig.done_n = 0;
	items_write(rig.items, &t.write);
	rig_until(&rig.done_n, 1);
	assert_int_equal(t.write.result, OK);
	rig.done_n = 0;
}

enum err
rig_run_count(struct items_read *r, struct item_store *s, struct why *w)
{
	struct rig_count *c = CONTAINER(r, struct rig_count, read);
	struct query *q = database_query(item_store_database(s),
	    "SELECT count(*) FROM items");

	while (c->gate != NULL && !atomic_load(c->gate))
		usleep(200);
	if (query_step(q))
		c->n = query_get_i64(q, 0);
	return query_end(&q, w);
}

void
rig_count_done(struct items_read *r)
{
	CONTAINER(r, struct rig_count, read)->done++;
	rig.done_n++;
}

int64_t
rig_count_items(void)
{
	struct rig_count c = { .read = { .run = rig_run_count,
	    .done = rig_count_done } };

	items_read(rig.items, &c.read);
	rig_until(&c.done, 1);
	assert_int_equal(c.read.result, OK);
	rig.done_n--;
	return c.n;
}

enum err
rig_put_and_wait(struct rig_write *t, enum err (*run)(struct items_write *,
    struct item_tx *, struct why *))
{
	t->write.run = run;
	t->write.done = rig_write_done;
	rig.done_n = 0;
	items_write(rig.items, &t->write);
	rig_until(&rig.done_n, 1);
	return t->write.result;
}

/* -- Claims -- */

static void
claim_is_done(struct items_claim *c)
{
	CONTAINER(c, struct rig_claim, claim)->dones++;
	rig.claimed++;
}

void
rig_claim(struct rig_claim *t, const struct str *tasks, int64_t ms)
{
	t->claim.claim = (struct worklist_claim){ .worker = STR("w"),
	    .tasks = tasks, .tasks_n = 1, .max = 10 };
	t->claim.until = mono_add_ms(clock_mono(), ms);
	t->claim.done = claim_is_done;
	items_claim(rig.items, &t->claim);
}

void
rig_forget(struct rig_claim *t)
{
	buf_free(&t->claim.out);
}

/* -- Opening -- */

void
rig_open(void)
{
	struct items_options o = { .conf = &rig.conf, .home = rig.home,
	    .data_dir = rig.dir, .no_threads = !rig.threads };
	struct why w = WHY_INIT;

	if (items_open(&o, &rig.items, &w) != OK)
		fail_msg("%s", w.text);
}

void
rig_set_closed(void *arg)
{
	(void)arg;
	rig.is_closed = true;
}

void
rig_close(void)
{
	rig.is_closed = false;
	items_close(rig.items, rig_set_closed, NULL);
	for (int i = 0; i < 20000 && !rig.is_closed; i++)
		rig_turn();
	assert_true(rig.is_closed);
	items_free(&rig.items);
}

static int
setup_in(bool with_threads)
{
	rig.threads = with_threads;
	rig.done_n = 0;
	snprintf(rig.dir, sizeof(rig.dir), "/tmp/argiope-writer-XXXXXX");
	assert_non_null(mkdtemp(rig.dir));
	rig.home = loop_new("home");
	conf_init(&rig.conf);
	if (rig.server != NULL) {
		char url[300];
		snprintf(url, sizeof(url), "store.url=%s",
		    postgresql_test_url(rig.server, NULL));
		assert_int_equal(conf_flag(&rig.conf, str_of(url), NULL), OK);
	}
	rig_open();
	return 0;
}

int
rig_setup(void **state)
{
	(void)state;
	return setup_in(true);
}

int
rig_setup_alone(void **state)
{
	(void)state;
	return setup_in(false);
}

int
rig_teardown(void **state)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str *names;
	char path[96];
	size_t n;

	(void)state;
	if (rig.items != NULL)
		rig_close();
	loop_free(&rig.home);
	conf_free(&rig.conf);
	assert_int_equal(file_list(rig.dir, &a, &names, &n, NULL), OK);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%.*s", rig.dir,
		    STR_FMT(names[i]));
		unlink(path);
	}
	return rmdir(rig.dir);
}

int
rig_main(int argc, char **argv, int (*run)(void))
{
	if (argc > 1 && strcmp(argv[1], "postgresql") == 0 &&
	    (rig.server = postgresql_test_start()) == NULL)
		return POSTGRESQL_TEST_SKIP;
	int failed = run();
	postgresql_test_stop(&rig.server);
	return failed;
}
