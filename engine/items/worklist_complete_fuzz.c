/*
 * Fuzz completions: a JSON object whose "lease" is "X", "Y" or anything; the
 * first two stand for leases that two workers have.  After it every pair's
 * state and due time must be what pair_derive() says; then all is rolled back.
 */
#include <stdlib.h>
#include <unistd.h>
#include <yyjson.h>

#include "engine/items/generation.h"
#include "engine/items/worklist_own.h"

#define NOW_US INT64_C(1795166296000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char config[] = "{\"tags\":{\"t\":[\"a\",\"b\"]},\"tasks\":"
    "{\"a\":{\"version\":\"1\",\"ttl\":\"1h\",\"maxOutstandingFailures\":1,"
    "\"run\":{\"$function\":true}},\"b\":{\"version\":\"1\","
    "\"dependsOn\":[\"a\"],\"run\":{\"$function\":true}}}}";

static char dir[] = "/tmp/argiope-fuzz-XXXXXX";
static struct item_store *store;
static struct item_tx *tx;
static struct str leases[2];         /* of x and y */
static struct arena arena;           /* of their texts */

static void
begin_transaction(void)
{
	CHECK(item_tx_begin(store, (struct wall){ NOW_US }, &tx, NULL) == OK);
}

static void
make_item(const char *id)
{
	static const struct item_tag_text tag = { { "t", 1 }, { NULL, 0 } };
	static const struct item_actor person = { .run_item = 0 };
	const struct item_create c = { .id = str_of(id),
		.data = STR("{\"n\":1}"), .tags = &tag, .tags_n = 1 };
	enum item_effect effect;
	struct item_row *item;

	CHECK(item_create(tx, &person, &c, &effect, &item, NULL) == OK);
}

static void
claim_both(void)
{
	const struct str a = STR("a");
	struct worklist_claim claim = { .tasks = &a, .tasks_n = 1, .max = 2,
		.own = true };
	struct worklist_lease *l;
	size_t n;

	CHECK(worklist_claim(tx, &claim, &l, &n, NULL) == OK && n == 2);
	for (size_t i = 0; i < n; i++)
		leases[i] = arena_copy(&arena, l[i].text);
}

static void
close_store(void)
{
	static const char *const names[] = { "items.db-shm", "items.db-wal",
		"items.db" };
	char path[64];

	item_store_close(&store);
	arena_free(&arena);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

/* One store for all inputs. */
static void
open_store(void)
{
	const struct item_store_options o = { .dir = dir };
	struct task_config *c;
	uint64_t generation;

	CHECK(mkdtemp(dir) != NULL);
	atexit(close_store);
	CHECK(item_store_open(&o, &store, NULL) == OK);
	CHECK(task_config_read(str_of(config), item_store_limits(store), &c,
	    NULL, NULL) == OK);
	c->hash = STR("fuzz");
	begin_transaction();
	CHECK(generation_load(tx, c, STR("{}"), &generation, NULL) == OK);
	CHECK(item_tx_end(&tx, OK, NULL) == OK);
	begin_transaction();
	make_item("x");
	make_item("y");
	make_item("z");
	claim_both();
	CHECK(item_tx_end(&tx, OK, NULL) == OK);
}

static void
check_pair(uint32_t task, int64_t item)
{
	struct result_row *r;
	struct pair_row *p;

	CHECK(item_tx_pair(tx, task, item, &p, NULL) == OK && p->exists);
	CHECK(item_tx_result(tx, task, item, &r, NULL) == OK);
	if (p->state == PAIR_BLOCKED)
		return;
	struct pair_plan plan = pair_derive(worklist_task(tx, task), r, p,
	    item_tx_now(tx));
	CHECK(plan.state == p->state && plan.due_ms == p->due_ms &&
	    plan.attempt == p->attempt);
}

static void
check_pairs(void)
{
	CHECK(item_tx_flush_all(tx, NULL) == OK);
	struct query *q = database_query(item_store_database(store),
	    "SELECT task, item FROM worklist");
	while (query_step(q))
		check_pair((uint32_t)query_get_i64(q, 0), query_get_i64(q, 1));
	CHECK(query_end(&q, NULL) == OK);
}

/* The input with the lease that it means. */
static yyjson_doc *
with_lease(yyjson_doc *doc)
{
	yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
	yyjson_mut_val *lease = yyjson_mut_obj_get(
	    yyjson_mut_doc_get_root(copy), "lease");

	if (yyjson_mut_equals_str(lease, "X"))
		yyjson_mut_set_strn(lease, leases[0].p, leases[0].n);
	else if (yyjson_mut_equals_str(lease, "Y"))
		yyjson_mut_set_strn(lease, leases[1].p, leases[1].n);
	yyjson_doc *read = yyjson_mut_doc_imut_copy(copy, NULL);
	yyjson_mut_doc_free(copy);
	return read;
}

static void
complete(yyjson_val *v)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct why w = WHY_INIT;
	struct completion c;

	worklist_complete_want(tx, v);
	CHECK(item_tx_load(tx, NULL) == OK);
	enum err e = worklist_complete(tx, v, NULL, &c, &w);
	CHECK(e == w.err && (e == OK || e == ERR_INPUT));
	if (e != OK)
		return;
	CHECK(completion_json(tx, STR("L"), &c, &b, NULL) == OK);
	yyjson_doc *doc = yyjson_read(b.p, b.n, 0);
	CHECK(doc != NULL);
	yyjson_doc_free(doc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	yyjson_doc *doc = yyjson_read((const char *)data, n, 0);

	if (doc == NULL)
		return 0;
	if (store == NULL)
		open_store();
	yyjson_doc *completion = with_lease(doc);
	begin_transaction();
	complete(yyjson_doc_get_root(completion));
	check_pairs();
	CHECK(item_tx_end(&tx, ERR_STATE, NULL) == ERR_STATE);
	yyjson_doc_free(completion);
	yyjson_doc_free(doc);
	return 0;
}
