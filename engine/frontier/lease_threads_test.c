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

#include "base/hash.h"
#include "engine/frontier/lease_crawl.h"
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
open_it(struct client *c, size_t known_bytes_max)
{
	struct frontier_options o = {
		.data_dir = c->dir, .token = "abcdefgh",
		.known_bytes_max = known_bytes_max,
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
	open_it(&c, 0);
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

/* --- a start -------------------------------------------------------------- */

/* Enough for several threads to have a part each. */
#define KNOWN_URLS 24000u
#define KNOWN_QUEUES 5u
#define KNOWN_ITEMS 400u

struct filling {
	struct client client;
	unsigned next;
	struct lease_put put;
	struct lease_item items[KNOWN_ITEMS];
	char keys[KNOWN_ITEMS][8], urls[KNOWN_ITEMS][32];
	uint64_t metadata[KNOWN_ITEMS][8];
};

static void
name_url(unsigned i, char key[static 8], char url[static 32])
{
	snprintf(key, 8, "k%u", i % KNOWN_QUEUES);
	snprintf(url, 32, "http://u/%u", i);
}

static void
put_some(struct lease_call *call)
{
	struct filling *f = CONTAINER(call, struct filling, put.call);

	for (size_t i = 0; i < f->put.items_n; i++)
		assert_int_equal(f->items[i].status, LEASE_OK);
	if (f->next == KNOWN_URLS) {
		loop_stop(f->client.loop);
		return;
	}
	for (unsigned i = 0; i < KNOWN_ITEMS; i++) {
		name_url(f->next, f->keys[i], f->urls[i]);
		for (unsigned k = 0; k < 8; k++)
			f->metadata[i][k] = hash_u64(f->next * 8 + k);
		f->items[i] = (struct lease_item){ .key = str_of(f->keys[i]),
		    .url = str_of(f->urls[i]), .metadata = {
		    (char *)f->metadata[i], sizeof(f->metadata[i]) },
		    .known = f->next % 3 == 0, .date_s = f->next % 2 };
		f->next++;
	}
	f->put.items = f->items;
	f->put.items_n = KNOWN_ITEMS;
	lease_put(f->client.frontier, &f->put);
}

static void
close_client(struct client *c)
{
	c->close = (struct loop_call){ .home = c->ledger, .run = close_it,
	    .done = nothing };
	loop_ask(c->ledger, &c->close);
	loop_join(c->ledger);
	frontier_free(&c->frontier);
	loop_free(&c->ledger);
}

static void
check_known(struct frontier *f, bool partial)
{
	struct lease_crawl *c = lease_find_crawl(f, STR(""));
	char key[8], url[32];
	unsigned evicted = 0;

	for (unsigned i = 0; i < KNOWN_URLS; i++) {
		name_url(i, key, url);
		const struct lease_queue *q = lease_find_queue(c, str_of(key));
		struct url_entry e = { .hash = lease_hash(f, c->id, q->id,
		    str_of(url)) };
		e.state = lease_state(f, e.hash, &e.date);
		if (e.state == KNOWN_NONE) {
			evicted++;
			assert_int_equal(known_evict_find(
			    ledger_index(f->ledger), &e), OK);
		}
		assert_int_equal(e.state, MARK_OUTSIDE);
		if (i % 3 == 0)
			assert_int_equal(e.date, i % 2);
		else
			assert_true(e.date > 1);
	}
	assert_true(partial ? evicted > KNOWN_URLS / 4 : evicted == 0);
	assert_int_equal(known_evict_is_partial(f), partial);
	assert_int_equal(f->leases->recounted, 0);
	assert_int_equal(f->leases->stats.completed, KNOWN_URLS / 6);
	assert_int_equal(f->leases->stats.active, KNOWN_URLS - KNOWN_URLS / 6);
}

static void
a_start_knows_what_several_threads_read(void **state)
{
	static const size_t known_bytes_max[] = { 0, 128 << 10 };
	struct filling *f = mem_new(sizeof(*f));
	struct client *c = &f->client;
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(c->dir, sizeof(c->dir), "%s/outside-test-XXXXXX",
	    tmp != NULL && strlen(tmp) < 100 ? tmp : "/tmp");
	assert_non_null(mkdtemp(c->dir));
	c->loop = loop_new("door");
	c->ledger = loop_new("ledger");
	c->pool = pool_new(1);
	open_it(c, 0);
	f->put.call.home = c->loop;
	f->put.call.done = put_some;
	put_some(&f->put.call);
	loop_start(c->ledger);
	loop_run(c->loop);
	close_client(c);
	for (size_t i = 0; i < ARRAY_LEN(known_bytes_max); i++) {
		c->ledger = loop_new("ledger");
		open_it(c, known_bytes_max[i]);
		check_known(c->frontier, known_bytes_max[i] != 0);
		loop_start(c->ledger);
		close_client(c);
	}
	pool_free(&c->pool);
	loop_free(&c->loop);
	remove_all(c->dir);
	mem_free(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_door_on_a_thread_of_its_own),
		cmocka_unit_test(a_start_knows_what_several_threads_read),
	};

	return cmocka_run_group_tests_name("outside_threads", tests, NULL,
	    NULL);
}
