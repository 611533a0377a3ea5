/*
 * generation_bench -- how fast a new configuration is carried over to pairs.
 *
 *     generation_bench [ITEMS] [CHUNK] [DIR | postgresql]
 *
 * Each line is a load and the rewriting that follows it, durable after each
 * chunk; the longest chunk is what a claim may have to wait for.  The last line
 * is `argiope items check`.  `postgresql` starts a server of its own.
 */
#include <inttypes.h>
#include <stdio.h>

#include "engine/items/generation.h"
#include "engine/items/item_store.h"
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
static uint64_t items = 100000, chunk = 1000;

static struct item_tx *
begin(void)
{
	struct item_tx *tx;

	MUST(item_tx_begin(store, clock_wall(), &tx, w));
	return tx;
}

static void
load_config(const char *text)
{
	struct item_tx *tx = begin();
	struct task_config *c;
	uint64_t generation;

	MUST(task_config_read(str_of(text), item_store_limits(store), &c, NULL,
	    w));
	c->hash = c->json;
	MUST(generation_load(tx, c, STR("{}"), &generation, w));
	MUST(item_tx_end(&tx, OK, w));
}

static void
print_rate(const char *what, struct mono start, int64_t longest_ns)
{
	double s = (double)mono_ns_between(start, clock_mono()) / 1e9;

	printf("%-28s %8.0f items/s", what, (double)items / s);
	if (longest_ns > 0)
		printf(", longest chunk %.1f ms", (double)longest_ns / 1e6);
	printf("\n");
}

static void
rewrite_all(const char *what, const char *config)
{
	struct mono start = clock_mono();
	int64_t longest = 0;
	bool more = true;

	load_config(config);
	while (more) {
		struct mono before = clock_mono();
		struct item_tx *tx = begin();
		MUST(generation_rewrite(tx, chunk, &more, w));
		MUST(item_tx_end(&tx, OK, w));
		longest = MAX(longest, mono_ns_between(before, clock_mono()));
	}
	print_rate(what, start, longest);
}

static void
add_items(uint64_t from, uint64_t to)
{
	const struct item_tag_text tag = { .name = STR("t") };
	const struct item_actor person = { .run_item = 0 };
	struct item_tx *tx = begin();
	enum item_effect effect;
	struct item_row *item;
	char id[32];

	for (uint64_t i = from; i < to; i++) {
		snprintf(id, sizeof(id), "shop:%07" PRIu64, i);
		const struct item_create c = { .id = str_of(id), .tags = &tag,
			.tags_n = 1, .data = STR("{\"url\":"
			"\"https://shop.example/p\"}") };
		MUST(item_create(tx, &person, &c, &effect, &item, w));
	}
	MUST(item_tx_end(&tx, OK, w));
}

/* As if every pair had run: what the bench is about begins after it. */
static void
store_results(void)
{
	struct item_tx *tx = begin();
	struct database *db = item_store_database(store);

	MUST(database_do(db, "INSERT INTO task_results SELECT task, item, '1',"
	    " '{\"price\":12.5}', 1, 0, 1795166296000000, 1795166296000000,"
	    " NULL, NULL, 1 FROM worklist", w));
	MUST(database_do(db, "UPDATE worklist SET state = 2, due = NULL", w));
	MUST(database_do(db, "UPDATE task_state SET fresh = unprocessed,"
	    " unprocessed = 0", w));
	MUST(item_tx_end(&tx, OK, w));
}

static void
print_difference(void *arg, struct str text)
{
	*(uint64_t *)arg += 1;
	fprintf(stderr, "%.*s\n", STR_FMT(text));
}

static uint64_t
check_all(void)
{
	struct mono start = clock_mono();
	uint64_t checked, differences = 0;

	MUST(items_check(store, print_difference, &differences, &checked, w));
	print_rate("checked", start, 0);
	return differences + (checked != items);
}

#define CONFIG(tags, version, more)                                          \
	"{\"tags\":{" tags "},\"tasks\":{\"a\":{\"version\":\"" version        \
	"\",\"remote\":true" more "},\"b\":{\"version\":\"1\","                \
	"\"remote\":true}}}"

static void
run_loads(void)
{
	rewrite_all("pairs made by a tag map", CONFIG("\"t\":[\"a\"]", "1",
	    ""));
	store_results();
	rewrite_all("results marked stale", CONFIG("\"t\":[\"a\"]", "2", ""));
	rewrite_all("expiry moved by a TTL", CONFIG("\"t\":[\"a\"]", "2",
	    ",\"ttl\":\"30d\""));
	rewrite_all("pairs moved to a lane", CONFIG("\"t\":[\"a\"]", "2",
	    ",\"ttl\":\"30d\",\"limits\":{\"tags\":{\"t\":\"1/s\"}}"));
	rewrite_all("pairs removed by a tag map", CONFIG("", "2",
	    ",\"ttl\":\"30d\",\"limits\":{\"tags\":{\"t\":\"1/s\"}}"));
}

/* In a folder that stays, or on a server that does not. */
static void
open_store(const char *place, struct postgresql_test *server)
{
	char dir[256];

	if (server != NULL) {
		const struct item_store_options o = { .node = "bench",
			.url = postgresql_test_url(server, NULL) };
		MUST(item_store_open(&o, &store, w));
		return;
	}
	snprintf(dir, sizeof(dir), "%s/argiope-bench-XXXXXX", place);
	if (mkdtemp(dir) == NULL)
		exit(74);
	const struct item_store_options o = { .dir = dir, .node = "bench" };
	MUST(item_store_open(&o, &store, w));
	printf("items.db is in %s\n", dir);
}

int
main(int argc, char **argv)
{
	const char *place = argc > 3 ? argv[3] : "/tmp";
	struct postgresql_test *server = NULL;

	if (argc > 1 && !str_to_u64(str_of(argv[1]), &items))
		return 64;
	if (argc > 2 && (!str_to_u64(str_of(argv[2]), &chunk) || chunk == 0))
		return 64;
	if (strcmp(place, "postgresql") == 0 &&
	    (server = postgresql_test_start()) == NULL)
		return POSTGRESQL_TEST_SKIP;
	open_store(place, server);
	for (uint64_t i = 0; i < items; i += ADD_BATCH)
		add_items(i, MIN(i + ADD_BATCH, items));
	run_loads();
	uint64_t differences = check_all();
	item_store_close(&store);
	postgresql_test_stop(&server);
	return differences == 0 ? 0 : 1;
}
