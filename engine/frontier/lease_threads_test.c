/*
 * A door's loop, the ledger's, and those under it, each on a thread of its own:
 * what travels between them is never with two at a time.  Not in the suite for
 * TSan, which takes RocksDB's strings for ours; by hand it wants
 * ignore_noninstrumented_modules=1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>

#include "engine/frontier/lease_service.h"
#include "engine/ledger/small_testing.h"
#include "os/file.h"
#include "tests/rounds.h"

#define TURNS ROUNDS(300u)
#define ITEMS 40u

/* One after the other: put, get, answer, count; all on the door's loop. */
struct client {
	struct loop *loop, *ledger;
	struct pool *pool;
	struct frontier *frontier;
	struct lease_stream stream;
	struct lease_put put;
	struct lease_get get;
	struct lease_list list;
	struct lease_control control;
	struct lease_item items[ITEMS];
	char texts[ITEMS][32], keys[ITEMS][8];
	unsigned rounds;
	uint64_t leased, completed, listed;
	struct loop_call close;
	char dir[160];
};

static void
send_put(struct client *c)
{
	for (unsigned i = 0; i < ITEMS; i++) {
		snprintf(c->keys[i], sizeof(c->keys[i]), "k%u", i % 7);
		snprintf(c->texts[i], sizeof(c->texts[i]), "http://u/%u-%u",
		    c->rounds, i);
		c->items[i] = (struct lease_item){
		    .key = str_of(c->keys[i]), .url = str_of(c->texts[i]) };
	}
	c->put.items = c->items;
	c->put.items_n = ITEMS;
	lease_put(c->frontier, &c->put);
}

static void
put_done(struct lease_call *call)
{
	struct client *c = CONTAINER(call, struct client, put.call);

	for (size_t i = 0; i < c->put.items_n; i++) {
		c->completed += c->put.items[i].known;
		assert_int_equal(c->put.items[i].status, LEASE_OK);
	}
	if (c->put.items_n != 0 && c->put.items[0].known) {
		lease_list(c->frontier, &c->list);
		return;
	}
	c->get.begun = false;
	lease_get(c->frontier, &c->get);
}

/* What was leased is completed. */
static void
get_done(struct lease_call *call)
{
	struct client *c = CONTAINER(call, struct client, get.call);

	assert_int_equal(call->result, OK);
	assert_false(c->get.more);
	assert_true(c->get.n <= ITEMS);
	c->leased += c->get.n;
	for (size_t i = 0; i < c->get.n; i++)
		c->items[i] = (struct lease_item){ .known = true,
		    .crawl = c->get.urls[i].crawl, .key = c->get.urls[i].key,
		    .url = c->get.urls[i].url };
	c->put.items_n = c->get.n;
	if (c->get.n > 0)
		lease_put(c->frontier, &c->put);
	else
		lease_list(c->frontier, &c->list);
}

static void
list_done(struct lease_call *call)
{
	struct client *c = CONTAINER(call, struct client, list.call);

	assert_int_equal(call->result, OK);
	c->listed = c->list.count;
	if (c->list.more)
		lease_list(c->frontier, &c->list);
	else
		lease_control(c->frontier, &c->control);
}

static void
control_done(struct lease_call *call)
{
	struct client *c = CONTAINER(call, struct client, control.call);
	const struct lease_stats *s = &c->control.stats;

	if (c->control.verb == LEASE_SET_DELAY) {
		c->control.verb = LEASE_STATS;
		send_put(c);
		return;
	}
	assert_int_equal(s->active + s->completed, (c->rounds + 1) * ITEMS);
	assert_int_equal(s->completed, c->completed);
	assert_int_equal(s->leased, 0);
	assert_int_equal(c->listed, s->active + s->completed);
	if (++c->rounds == TURNS) {
		loop_stop(c->loop);
		return;
	}
	c->get = (struct lease_get){ .arena = c->get.arena,
	    .walk = c->get.walk, .call = c->get.call, .urls_max = 3,
	    .queues_max = 5 };
	send_put(c);
}

static void
closed(void *arg)
{
	loop_stop(arg);
}

static void
close_it(struct loop_call *call)
{
	struct client *c = CONTAINER(call, struct client, close);

	frontier_close(c->frontier, closed, c->ledger);
}

static void
nothing(struct loop_call *call)
{
	(void)call;
}

static void
open_it(struct client *c)
{
	struct frontier_options o = {
		.data_dir = c->dir, .token = "abcdefgh",
		.rollover_bytes = 1 << 30, .rollover_s = 3600,
		.lease_listings_max = 256, .lease_counts_max = 8,
		.ledger = ledger_small,
	};
	struct why w = WHY_INIT;

	o.ledger.threads = true;
	o.ledger.pool = c->pool;
	o.ledger.index.in_memory = false;
	if (frontier_open(c->ledger, &o, &c->frontier, &w) != OK)
		fail_msg("%s", w.text);
}

static int
remove_one(const char *path, const struct stat *s, int kind, struct FTW *f)
{
	(void)s;
	(void)kind;
	(void)f;
	return remove(path);
}

static void
remove_all(const char *dir)
{
	assert_int_equal(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void
a_door_on_a_thread_of_its_own(void **state)
{
	static struct client c;
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(c.dir, sizeof(c.dir), "%s/outside-test-XXXXXX",
	    tmp != NULL && strlen(tmp) < 100 ? tmp : "/tmp");
	assert_non_null(mkdtemp(c.dir));
	c.loop = loop_new("door");
	c.ledger = loop_new("ledger");
	c.pool = pool_new(1);
	open_it(&c);
	lease_stream_init(&c.stream);
	c.put.stream = &c.stream;
	c.get.urls_max = 3;
	c.get.queues_max = 5;
	c.list.kind = LEASE_COUNT_URLS;
	c.control.verb = LEASE_SET_DELAY;
	c.put.call.home = c.get.call.home = c.loop;
	c.list.call.home = c.control.call.home = c.loop;
	c.put.call.done = put_done;
	c.get.call.done = get_done;
	c.list.call.done = list_done;
	c.control.call.done = control_done;
	loop_start(c.ledger);
	lease_control(c.frontier, &c.control);
	loop_run(c.loop);
	assert_int_equal(c.leased, c.completed);
	assert_true(c.leased > 10 * TURNS);
	c.close = (struct loop_call){ .home = c.loop, .run = close_it,
	    .done = nothing };
	loop_ask(c.ledger, &c.close);
	loop_join(c.ledger);
	frontier_free(&c.frontier);
	lease_get_free(&c.get);
	arena_free(&c.list.arena);
	pool_free(&c.pool);
	loop_free(&c.ledger);
	loop_free(&c.loop);
	remove_all(c.dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_door_on_a_thread_of_its_own),
	};

	return cmocka_run_group_tests_name("outside_threads", tests, NULL,
	    NULL);
}
