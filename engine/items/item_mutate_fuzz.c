/*
 * Fuzz lists of mutations.  After each list items, aliases and counts must fit
 * one another, in the database as well; then all is rolled back.
 */
#include <stdlib.h>
#include <unistd.h>
#include <yyjson.h>

#include "engine/items/item_event.h"
#include "engine/items/item_store.h"
#include "engine/items/worklist.h"

#define NOW_US INT64_C(1795166296000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char config[] = "{\"tags\":{\"t\":[\"a\",\"b\"],\"u\":[\"b\"]},"
    "\"tasks\":{\"a\":{\"version\":\"1\",\"ttl\":\"1h\","
    "\"run\":{\"$function\":true}},\"b\":{\"version\":\"1\","
    "\"dependsOn\":[\"a\"],\"run\":{\"$function\":true}}}}";

static struct item_store *store;
static struct item_tx *tx;

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
begin_transaction(void)
{
	CHECK(item_tx_begin(store, (struct wall){ NOW_US }, &tx, NULL) == OK);
}

static char dir[] = "/tmp/argiope-fuzz-XXXXXX";

static void
close_store(void)
{
	static const char *const names[] = { "items.db-shm", "items.db-wal",
		"items.db" };
	char path[64];

	item_store_close(&store);
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
	uint32_t id;

	CHECK(mkdtemp(dir) != NULL);
	atexit(close_store);
	CHECK(item_store_open(&o, &store, NULL) == OK);
	CHECK(task_config_read(str_of(config), item_store_limits(store), &c,
	    NULL, NULL) == OK);
	item_store_use_config(store, c);
	begin_transaction();
	CHECK(item_store_name(store, ITEM_NAME_TASK, STR("a"), true, &id,
	    NULL) == OK);
	CHECK(item_store_name(store, ITEM_NAME_TASK, STR("b"), true, &id,
	    NULL) == OK);
	make_item("x");
	make_item("y");
	make_item("z");
	CHECK(item_tx_end(&tx, OK, NULL) == OK);
}

static void
check_number(const char *sql)
{
	struct query *q = database_query(item_store_database(store), sql);

	CHECK(query_step(q) && query_get_i64(q, 0) == 0);
	CHECK(query_end(&q, NULL) == OK);
}

static void
check_stored(void)
{
	CHECK(item_tx_flush_all(tx, NULL) == OK);
	check_number("SELECT count(*) FROM items i WHERE NOT EXISTS (SELECT 1"
	    " FROM aliases a WHERE a.id = i.id AND a.item = i.key AND"
	    " a.own = 1) OR aliases_n <> (SELECT count(*) FROM aliases a"
	    " WHERE a.item = i.key AND a.own = 0) OR blobs_n <> (SELECT"
	    " count(*) FROM item_blobs b WHERE b.item = i.key)");
	check_number("SELECT (SELECT count(*) FROM aliases WHERE item NOT IN"
	    " (SELECT key FROM items)) + (SELECT count(*) FROM tags WHERE item"
	    " NOT IN (SELECT key FROM items)) + (SELECT count(*) FROM"
	    " task_results WHERE item NOT IN (SELECT key FROM items)) +"
	    " (SELECT count(*) FROM worklist WHERE item NOT IN (SELECT key"
	    " FROM items))");
	check_number("SELECT count(*) FROM items WHERE NOT json_valid(data)");
}

static void
write_item(const char *id)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct item_row *item;

	if (item_tx_find(tx, str_of(id), &item, NULL) != OK)
		return;
	CHECK(item_json(tx, item, &b, NULL) == OK);
	yyjson_doc *doc = yyjson_read(b.p, b.n, YYJSON_READ_BIGNUM_AS_RAW);
	CHECK(doc != NULL);
	yyjson_doc_free(doc);
}

static void
apply_list(yyjson_val *list)
{
	struct run_result own = { .has_ttl = false };
	struct item_actor by = { .task = STR("a"), .lease = STR("L"),
		.run_id = STR("x"), .own = &own };
	enum item_effect effect;
	struct item_conflict conflict;
	struct item_row *x;
	yyjson_val *v;
	size_t i, n, op;

	CHECK(item_tx_find(tx, STR("x"), &x, NULL) == OK);
	by.run_item = x->key;
	item_mutations_want(tx, list);
	CHECK(item_tx_load(tx, NULL) == OK);
	enum err e = item_mutations_check(tx, &by, list, &op, NULL);
	CHECK(e == OK || e == ERR_STATE);
	yyjson_arr_foreach(list, i, n, v) {
		struct item_mark m = item_tx_mark(tx);
		struct why w = WHY_INIT;
		e = item_mutate(tx, &by, v, &effect, &conflict, &w);
		CHECK(e == w.err);
		CHECK(e == OK || e == ERR_INPUT || e == ERR_ABSENT ||
		    e == ERR_EXISTS || e == ERR_STATE || e == ERR_FULL);
		CHECK(!conflict.any || (e == OK && effect == ITEM_SKIPPED));
		if (e != OK)
			item_tx_undo(tx, m);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	yyjson_doc *doc = yyjson_read((const char *)data, n, 0);

	if (doc == NULL)
		return 0;
	if (store == NULL)
		open_store();
	begin_transaction();
	apply_list(yyjson_doc_get_root(doc));
	write_item("x");
	write_item("y");
	check_stored();
	CHECK(item_tx_end(&tx, ERR_STATE, NULL) == ERR_STATE);
	yyjson_doc_free(doc);
	return 0;
}
