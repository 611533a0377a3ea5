/*
 * worklist_bench -- how fast pairs are claimed and completed.
 *
 *     worklist_bench [PAIRS] [BATCH] [DIR | postgresql]
 *
 * Each pair is claimed, and completed with one updateData; its result, event
 * and run record are stored.  A transaction completes a batch and claims the
 * next, as the writer thread does for clients that do both; it is durable.
 * `postgresql` starts a server of its own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <yyjson.h>

#include "engine/items/generation.h"
#include "engine/items/worklist_own.h"
#include "os/clock.h"
#include "os/postgresql_testing.h"

#define ADD_BATCH 1000u

#define MUST(call)                                                           \
	do {                                                                  \
		struct why why_ = WHY_INIT, *w = &why_;                       \
		if ((call) != OK) {                                           \
			fprintf(stderr, "%s\n", why_.text);                   \
			exit(1);                                              \
		}                                                             \
	} while (0)

static struct item_store *store;
static const struct wall t0 = { INT64_C(1795166296000000) };
static int64_t elapsed_us;

static struct item_tx *
begin(void)
{
	struct item_tx *tx;

	elapsed_us += 1000;
	MUST(item_tx_begin(store, (struct wall){ t0.us + elapsed_us }, &tx, w));
	return tx;
}

static void
load_config(void)
{
	const char *text = "{\"tags\":{\"t\":[\"a\"]},\"tasks\":{\"a\":"
	    "{\"version\":\"1\",\"ttl\":\"30d\",\"run\":"
	    "{\"$function\":true}}}}";
	struct task_config *c;
	struct item_tx *tx = begin();
	uint64_t generation;

	MUST(task_config_read(str_of(text), item_store_limits(store), &c, NULL,
	    w));
	c->hash = STR("bench");
	MUST(generation_load(tx, c, STR("{}"), &generation, w));
	MUST(item_tx_end(&tx, OK, w));
}

static void
add_items(unsigned from, unsigned to)
{
	struct item_tag_text tag = { .name = STR("t") };
	struct item_actor person = { .run_item = 0 };
	struct item_tx *tx = begin();
	enum item_effect effect;
	struct item_row *item;
	char id[32];

	for (unsigned i = from; i < to; i++) {
		snprintf(id, sizeof(id), "shop:%07u", i);
		item_tx_want_item(tx, str_of(id));
	}
	MUST(item_tx_load(tx, w));
	for (unsigned i = from; i < to; i++) {
		snprintf(id, sizeof(id), "shop:%07u", i);
		struct item_create c = { .id = str_of(id), .tags = &tag,
		    .tags_n = 1, .data = STR("{\"url\":"
		    "\"https://shop.example/p\"}") };
		MUST(item_create(tx, &person, &c, &effect, &item, w));
	}
	MUST(item_tx_end(&tx, OK, w));
}

/* The body of /worker/complete for what was claimed. */
static void
complete_json(struct buf *b, const struct worklist_lease *leases, size_t n)
{
	buf_clear(b);
	buf_put_char(b, '[');
	for (size_t i = 0; i < n; i++) {
		const struct item_row *item = leases[i].item;

		buf_printf(b, "%s{\"lease\":\"%.*s\",\"outcome\":\"success\","
		    "\"mutations\":[{\"op\":\"updateData\",\"id\":\"%.*s\","
		    "\"rev\":%" PRIu64 ",\"data\":{\"url\":"
		    "\"https://shop.example/p\",\"title\":\"Thing %zu\","
		    "\"price\":12.5}}],\"log\":[]}", i > 0 ? "," : "",
		    STR_FMT(leases[i].text), STR_FMT(item->id), item->rev, i);
	}
	buf_put_char(b, ']');
}

static void
complete_batch(struct item_tx *tx, const struct buf *json)
{
	yyjson_doc *doc = yyjson_read(json->p, json->n, 0);
	struct completion c;
	yyjson_val *v;
	size_t i, n;

	yyjson_arr_foreach(yyjson_doc_get_root(doc), i, n, v)
		worklist_complete_want(tx, v);
	MUST(item_tx_load(tx, w));
	yyjson_arr_foreach(yyjson_doc_get_root(doc), i, n, v) {
		MUST(worklist_complete(tx, v, NULL, &c, w));
		if (c.status != COMPLETION_APPLIED) {
			fprintf(stderr, "a completion was not applied\n");
			exit(1);
		}
	}
	yyjson_doc_free(doc);
}

static size_t
run_batches(unsigned batch)
{
	const struct str all = STR("*");
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1,
	    .max = batch, .own = true };
	FREED(buf_free) struct buf json = BUF_INIT;
	FREED(buf_free) struct buf out = BUF_INIT;
	size_t n, total = 0;

	do {
		struct worklist_lease *leases;
		struct item_tx *tx = begin();

		if (json.n > 0)
			complete_batch(tx, &json);
		MUST(worklist_claim(tx, &claim, &leases, &n, w));
		buf_clear(&out);
		for (size_t i = 0; i < n; i++)
			MUST(worklist_lease_json(tx, &leases[i], NULL, 0, &out,
			    w));
		complete_json(&json, leases, n);
		MUST(item_tx_end(&tx, OK, w));
		total += n;
	} while (n > 0);
	return total;
}

static int
run_bench(const struct item_store_options *o, uint64_t pairs, unsigned batch)
{
	MUST(item_store_open(o, &store, w));
	load_config();
	struct mono start = clock_mono();
	for (unsigned i = 0; i < pairs; i += ADD_BATCH)
		add_items(i, (unsigned)MIN(i + ADD_BATCH, pairs));
	double s = (double)mono_ns_between(start, clock_mono()) / 1e9;
	printf("added      %8.0f items/s\n", (double)pairs / s);
	start = clock_mono();
	int64_t cpu = clock_thread_cpu_ns();
	size_t n = run_batches(batch);
	cpu = clock_thread_cpu_ns() - cpu;
	s = (double)mono_ns_between(start, clock_mono()) / 1e9;
	printf("completed  %8.0f pairs/s, %.1f us of CPU each\n",
	    (double)n / s, (double)cpu / 1e3 / (double)n);
	item_store_close(&store);
	return n == pairs ? 0 : 1;
}

static int
bench_postgresql(uint64_t pairs, unsigned batch)
{
	struct postgresql_test *server = postgresql_test_start();

	if (server == NULL)
		return POSTGRESQL_TEST_SKIP;
	const struct item_store_options o = { .node = "bench",
	    .url = postgresql_test_url(server, NULL) };
	int status = run_bench(&o, pairs, batch);
	postgresql_test_stop(&server);
	return status;
}

int
main(int argc, char **argv)
{
	uint64_t pairs = 100000, batch = 100;
	char dir[256];

	if (argc > 1 && !str_to_u64(str_of(argv[1]), &pairs))
		return 64;
	if (argc > 2 && !str_to_u64(str_of(argv[2]), &batch))
		return 64;
	if (argc > 3 && strcmp(argv[3], "postgresql") == 0)
		return bench_postgresql(pairs, (unsigned)batch);
	snprintf(dir, sizeof(dir), "%s/argiope-bench-XXXXXX",
	    argc > 3 ? argv[3] : "/tmp");
	if (mkdtemp(dir) == NULL)
		return 74;
	const struct item_store_options o = { .dir = dir, .node = "bench" };
	int status = run_bench(&o, pairs, (unsigned)batch);
	printf("left in    %s\n", dir);
	return status;
}
