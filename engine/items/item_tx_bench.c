/*
 * item_tx_bench -- measures transactions over items on this disk.  It is no
 * test.
 *
 *     item_tx_bench FOLDER|postgresql [ITEMS [SECONDS]]
 *
 * Each transaction takes 100 items through what a completion does to rows: find
 * the item, set its data, store a result, touch the pair, write two events and
 * a run.  Both in the order of the items and at random.  `postgresql` starts a
 * server of its own.
 */
#include "engine/items/item_event.h"
#include "engine/items/item_store.h"
#include "engine/items/worklist.h"
#include "os/clock.h"
#include "os/postgresql_testing.h"

#define BATCH 100u
#define ITEMS_DEFAULT 100000u
#define SECONDS_DEFAULT 5u

static const char config[] = "{\"tags\":{\"t\":[\"a\"]},\"tasks\":{\"a\":{"
    "\"version\":\"1\",\"run\":{\"$function\":true}}}}";
static const struct item_actor actor = { .task = { "a", 1 },
	.lease = { "L0123456789", 11 }, .run_id = { "item 1", 6 } };
static uint64_t random_state = 1;

static void
stop_at(enum err e, const struct why *w)
{
	if (e == OK)
		return;
	fprintf(stderr, "item_tx_bench: %s\n", w->text);
	exit(1);
}

static void
begin(struct item_store *st, struct item_tx **tx)
{
	struct why w = WHY_INIT;

	stop_at(item_tx_begin(st, clock_wall(), tx, &w), &w);
}

static void
commit(struct item_tx **tx)
{
	struct why w = WHY_INIT;

	stop_at(item_tx_end(tx, OK, &w), &w);
}

static struct str
item_id(struct item_tx *tx, uint64_t i)
{
	return arena_printf(item_tx_arena(tx), "shop:product-%08llu",
	    (unsigned long long)i);
}

static void
make_item(struct item_tx *tx, uint64_t i)
{
	static const struct item_tag_text tag = { { "t", 1 }, { NULL, 0 } };
	const struct item_create c = { .id = item_id(tx, i),
		.data = STR("{\"url\":\"https://shop.example/product\"}"),
		.tags = &tag, .tags_n = 1 };
	enum item_effect effect;
	struct item_row *item;
	struct why w = WHY_INIT;

	stop_at(item_create(tx, &actor, &c, &effect, &item, &w), &w);
}

static void
make_items(struct item_store *st, uint64_t n)
{
	struct mono begun = clock_mono();
	struct item_tx *tx;

	for (uint64_t i = 0; i < n;) {
		begin(st, &tx);
		for (unsigned k = 0; k < 1000 && i < n; k++)
			make_item(tx, i++);
		commit(&tx);
	}
	double s = (double)mono_ns_between(begun, clock_mono()) / 1e9;
	printf("create  %8.0f items/s\n", (double)n / s);
}

static void
complete_pair(struct item_tx *tx, const struct task *task, uint32_t number,
    struct str id)
{
	const struct run_result result = { .has_metadata = true,
		.metadata = STR("{\"price\":12.5}") };
	const struct item_run run = { .task = number, .attempt = 1,
		.started_at = item_tx_now(tx), .success = true,
		.task_version = STR("1"), .record = STR("{\"mutations\":["
		"{\"op\":\"updateData\",\"rev\":7}],\"effects\":[\"updated\"],"
		"\"log\":[]}") };
	struct item_run r = run;
	enum item_effect effect;
	struct item_row *item;
	struct result_row *row;
	struct pair_row *pair;
	struct why w = WHY_INIT;

	struct str data = arena_printf(item_tx_arena(tx), "{\"url\":"
	    "\"https://shop.example/product\",\"title\":\"A thing\","
	    "\"seen\":%llu}", (unsigned long long)++random_state);
	stop_at(item_data_set(tx, &actor, id, data, &effect, &item, &w), &w);
	stop_at(item_tx_result(tx, number, item->key, &row, &w), &w);
	result_store(tx, task, row, &result, STR("1"), true);
	stop_at(item_tx_pair(tx, number, item->key, &pair, &w), &w);
	item_tx_touch_pair(tx, pair);
	pair->done_lease = random_state;
	pair->state = pair->state == PAIR_FRESH ? PAIR_STALE : PAIR_FRESH;
	pair->due_ms = item_tx_now(tx).us / 1000;
	const struct item_event done = { .type = ITEM_EVENT_TASK_DONE,
		.item = item, .task = task->name };
	item_event_put(tx, &actor, &done);
	r.item = item->key;
	item_tx_put_run(tx, &r, false);
	item_tx_add_usage(tx, number, 1, 1, 1, 1, 1);
}

static uint64_t
next_item(uint64_t n, uint64_t at, bool at_random)
{
	static uint64_t state = 88172645463325252u;

	if (!at_random)
		return at % n;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

static void
complete_pairs(struct item_store *st, uint64_t n, unsigned seconds,
    bool at_random)
{
	const struct task *task = task_find(item_store_config(st), STR("a"));
	struct mono begun = clock_mono();
	int64_t cpu = clock_thread_cpu_ns(), ns = 0;
	uint64_t at = 0;
	struct why w = WHY_INIT;
	struct item_tx *tx;
	uint32_t number;

	stop_at(item_store_name(st, ITEM_NAME_TASK, STR("a"), false, &number,
	    &w), &w);
	while (ns < (int64_t)seconds * NS_PER_S) {
		struct str ids[BATCH];
		begin(st, &tx);
		for (unsigned i = 0; i < BATCH; i++) {
			ids[i] = item_id(tx, next_item(n, at++, at_random));
			item_tx_want_pair(tx, number, ids[i]);
		}
		stop_at(item_tx_load(tx, &w), &w);
		for (unsigned i = 0; i < BATCH; i++)
			complete_pair(tx, task, number, ids[i]);
		commit(&tx);
		ns = mono_ns_between(begun, clock_mono());
	}
	printf("%s %8.0f pairs/s, %.1f us each, CPU %.1f us\n",
	    at_random ? "random " : "ordered", (double)at / (double)ns * 1e9,
	    (double)ns / 1e3 / (double)at, (double)(clock_thread_cpu_ns() -
	    cpu) / 1e3 / (double)at);
}

static uint64_t
number_of(char **argv, int argc, int at, uint64_t standard)
{
	uint64_t n = standard;

	if (argc > at && !str_to_u64(str_of(argv[at]), &n))
		n = standard;
	return MAX(n, 1);
}

int
main(int argc, char **argv)
{
	struct item_store_options o = { .dir = argc > 1 ? argv[1] : "." };
	struct postgresql_test *server = NULL;
	uint64_t n = number_of(argv, argc, 2, ITEMS_DEFAULT);
	unsigned seconds = (unsigned)number_of(argv, argc, 3, SECONDS_DEFAULT);
	struct task_config *c;
	struct item_store *st;
	struct item_tx *tx;
	struct why w = WHY_INIT;
	uint32_t id;

	if (strcmp(o.dir, "postgresql") == 0) {
		server = postgresql_test_start();
		if (server == NULL)
			return 1;
		o.dir = NULL;
		o.url = postgresql_test_url(server, NULL);
	}
	stop_at(item_store_open(&o, &st, &w), &w);
	stop_at(task_config_read(str_of(config), item_store_limits(st), &c,
	    NULL, &w), &w);
	item_store_use_config(st, c);
	begin(st, &tx);
	stop_at(item_store_name(st, ITEM_NAME_TASK, STR("a"), true, &id, &w),
	    &w);
	commit(&tx);
	make_items(st, n);
	complete_pairs(st, n, seconds, false);
	complete_pairs(st, n, seconds, true);
	item_store_close(&st);
	postgresql_test_stop(&server);
	return 0;
}
