/*
 * Items, their data, tags, aliases and blobs: each rule, each error, each limit
 * at its edge.
 */
#include "engine/items/item_ops.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "engine/items/item_event.h"
#include "engine/items/items_testing.h"

static struct items_test t;
static const struct item_actor person = { .run_item = 0 };
static struct why why_not;
static enum item_effect effect;

static int
setup(void **state)
{
	struct item_limits l = ITEM_LIMITS_DEFAULT;

	(void)state;
	l.data_bytes_max = 200;
	l.tags_max = 3;
	l.aliases_max = 3;
	l.blobs_max = 2;
	l.blob_bytes_max = 10;
	items_test_open(&t, &l);
	items_test_config(&t, "{\"tags\":{\"t\":[\"a\"],\"u\":[\"b\"]},"
	    "\"tasks\":{\"a\":{\"version\":\"1\","
	    "\"run\":{\"$function\":true}},\"b\":{\"version\":\"2\","
	    "\"run\":{\"$function\":true}}}}");
	items_test_begin(&t);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	items_test_commit(&t);
	/* What every test leaves behind. */
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM items i"
	    " WHERE NOT EXISTS (SELECT 1 FROM aliases a WHERE a.id = i.id AND"
	    " a.item = i.key AND a.own = 1) OR aliases_n <> (SELECT count(*)"
	    " FROM aliases a WHERE a.item = i.key AND a.own = 0) OR blobs_n <>"
	    " (SELECT count(*) FROM item_blobs b WHERE b.item = i.key)"), 0);
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM aliases"
	    " WHERE item NOT IN (SELECT key FROM items)"), 0);
	items_test_close(&t);
	return 0;
}

/* After an error a request goes back to its mark, as its callers do. */
static struct item_mark mark;

static enum err
tried(enum err e)
{
	if (e != OK)
		item_tx_undo(t.tx, mark);
	return e;
}

#define TRY(call) \
	(mark = item_tx_mark(t.tx), why_not = WHY_INIT, tried(call))
#define CHECK_ERROR(call, e, sentence) do {                                 \
	assert_int_equal(TRY(call), e);                                       \
	assert_string_equal(why_not.text, sentence);                          \
} while (0)

static enum err
create(const char *id, const char *data, struct item_row **item)
{
	const struct item_create c = { .id = str_of(id),
		.data = str_of(data) };

	return item_create(t.tx, &person, &c, &effect, item, &why_not);
}

static struct item_row *
made(const char *id)
{
	struct item_row *item;

	assert_int_equal(TRY(create(id, "{}", &item)), OK);
	assert_int_equal(effect, ITEM_NEW);
	return item;
}

static struct item_row *
found(const char *id)
{
	struct item_row *item;

	if (item_tx_find(t.tx, str_of(id), &item, NULL) != OK)
		return NULL;
	return item;
}

/* -- Create -- */

static void
creates_an_item(void **state)
{
	struct item_tag_text tags[] = { { STR("u"), { "1", 1 } },
		{ STR("t"), STR_NONE } };
	const struct str aliases[] = { STR("other"), STR("x") };
	const struct item_create c = { .id = STR("x"),
		.data = STR(" { \"a\" : [ 1 ] } "), .tags = tags, .tags_n = 2,
		.aliases = aliases, .aliases_n = 2 };
	struct item_mark m = item_tx_mark(t.tx);
	struct item_row *item;

	(void)state;
	assert_int_equal(item_create(t.tx, &person, &c, &effect, &item, NULL),
	    OK);
	assert_int_equal(effect, ITEM_NEW);
	assert_true(str_eq(item->data, STR("{\"a\":[1]}")));
	assert_int_equal(item->rev, 1);
	assert_int_equal(item->aliases_n, 1);
	assert_null(item->created_by.p);
	assert_int_equal(item->tags_n, 2);
	assert_true(str_eq(item->tags[0].name, STR("t")));
	assert_true(str_eq(item->tags[1].value, STR("1")));
	assert_ptr_equal(found("other"), item);
	assert_string_equal(items_test_bodies(&t, m),
	    "{\"at\":\"2026-11-20T09:18:16.002Z\",\"type\":\"item.new\","
	    "\"id\":\"x\"}\n");

	items_test_commit(&t);
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM worklist"),
	    2);
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM events"
	    " WHERE tags = ',t,u,'"), 1);
	items_test_begin(&t);
}

static void
makes_ids_in_order(void **state)
{
	FREED(buf_free) struct buf first = BUF_INIT;
	struct item_row *item;

	(void)state;
	assert_int_equal(create("", "{}", &item), OK);
	assert_int_equal(item->id.n, 26);
	buf_put_str(&first, item->id);
	items_test_commit(&t);
	items_test_begin(&t);
	assert_int_equal(create("", "{}", &item), OK);
	assert_true(str_cmp(buf_str(&first), item->id) < 0);
}

static void
skips_what_is_there(void **state)
{
	struct item_create c = { .id = STR("x"), .data = STR("{\"n\":2}") };
	struct item_row *x = made("x"), *item;

	(void)state;
	assert_int_equal(item_alias_create(t.tx, &person, STR("also"),
	    STR("x"), false, &effect, NULL), OK);
	struct item_mark m = item_tx_mark(t.tx);
	assert_int_equal(item_create(t.tx, &person, &c, &effect, &item, NULL),
	    OK);
	assert_int_equal(effect, ITEM_SKIPPED);
	assert_ptr_equal(item, x);
	c.id = STR("also");
	assert_int_equal(item_create(t.tx, &person, &c, &effect, &item, NULL),
	    OK);
	assert_int_equal(effect, ITEM_SKIPPED);
	assert_true(str_eq(x->data, STR("{}")));
	assert_string_equal(items_test_events(&t, m), "");
	c.fail_if_exists = true;
	CHECK_ERROR(item_create(t.tx, &person, &c, &effect, &item, &why_not),
	    ERR_EXISTS, "id: there is such an item");
}

static void
upserts(void **state)
{
	struct item_tag_text tags[] = { { STR("t"), STR_NONE } };
	const struct str aliases[] = { STR("also") };
	struct item_create c = { .id = STR("x"), .data = STR("{\"n\":1}"),
		.allow_upsert = true, .tags = tags, .tags_n = 1,
		.aliases = aliases, .aliases_n = 1 };
	struct item_row *item;

	(void)state;
	assert_int_equal(item_create(t.tx, &person, &c, &effect, &item, NULL),
	    OK);
	assert_int_equal(effect, ITEM_NEW);
	assert_int_equal(item_create(t.tx, &person, &c, &effect, &item, NULL),
	    OK);
	assert_int_equal(effect, ITEM_SKIPPED);
	c.data = STR("{\"m\":null,\"k\":2}");
	c.tags_n = c.aliases_n = 0;
	assert_int_equal(item_create(t.tx, &person, &c, &effect, &item, NULL),
	    OK);
	assert_int_equal(effect, ITEM_UPDATED);
	assert_true(str_eq(item->data, STR("{\"m\":null,\"k\":2}")));
	assert_int_equal(item->tags_n, 1);
	assert_int_equal(item->aliases_n, 1);
	assert_int_equal(item->rev, 2);
	c.merge_data = true;
	c.data = STR("{\"m\":null,\"l\":3}");
	assert_int_equal(item_create(t.tx, &person, &c, &effect, &item, NULL),
	    OK);
	assert_true(str_eq(item->data, STR("{\"k\":2,\"l\":3}")));
	/* Only its tags: it counts as updated, its data does not. */
	tags[0].value = STR("v");
	c.tags_n = 1;
	assert_int_equal(item_create(t.tx, &person, &c, &effect, &item, NULL),
	    OK);
	assert_int_equal(effect, ITEM_UPDATED);
	assert_int_equal(item->rev, 3);
}

static void
says_who_created_it(void **state)
{
	struct item_actor run = { .task = STR("a"), .lease = STR("L1"),
		.run_item = 1, .run_id = STR("page") };
	struct item_create c = { .id = STR("1"), .data = STR("{}") };
	struct item_row *item;

	(void)state;
	struct item_mark m = item_tx_mark(t.tx);
	assert_int_equal(item_create(t.tx, &run, &c, &effect, &item, NULL),
	    OK);
	assert_true(str_eq(item->created_by, STR("page")));
	assert_string_equal(items_test_bodies(&t, m),
	    "{\"at\":\"2026-11-20T09:18:16.002Z\",\"type\":\"item.new\","
	    "\"id\":\"1\",\"by\":{\"item\":\"page\",\"task\":\"a\","
	    "\"lease\":\"L1\"}}\n");
	c.id = STR("2");
	run.creator = STR("home");
	assert_int_equal(item_create(t.tx, &run, &c, &effect, &item, NULL),
	    OK);
	assert_true(str_eq(item->created_by, STR("home")));
	c.id = STR("3");
	run.creator = STR("");
	assert_int_equal(item_create(t.tx, &run, &c, &effect, &item, NULL),
	    OK);
	assert_null(item->created_by.p);
	c.id = STR("4");
	c.created_by = STR("dangling");
	assert_int_equal(item_create(t.tx, &run, &c, &effect, &item, NULL),
	    OK);
	assert_true(str_eq(item->created_by, STR("dangling")));
}

static void
ids_have_limits(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct item_row *item;

	(void)state;
	for (size_t i = 0; i < ITEM_ID_BYTES_MAX; i++)
		buf_put_char(&b, 'x');
	assert_int_equal(TRY(create(buf_text(&b), "{}", &item)), OK);
	buf_put_char(&b, 'x');
	CHECK_ERROR(create(buf_text(&b), "{}", &item), ERR_INPUT,
	    "id: 1025 bytes; at most 1024 are allowed");
	CHECK_ERROR(create("a\nb", "{}", &item), ERR_INPUT,
	    "id: a control character");
	CHECK_ERROR(create("a\xff", "{}", &item), ERR_INPUT,
	    "id: it is not UTF-8");
	CHECK_ERROR(item_id_check("to", STR(""), &why_not), ERR_INPUT,
	    "to: it is empty");
	assert_int_equal(TRY(create("a/../b?%20 é", "{}", &item)), OK);
}

/* -- Data -- */

static void
data_has_limits(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct item_row *item;

	(void)state;
	CHECK_ERROR(create("x", "", &item), ERR_INPUT, "data: it is missing");
	CHECK_ERROR(create("x", "[]", &item), ERR_INPUT,
	    "data: it is not an object");
	CHECK_ERROR(create("x", "null", &item), ERR_INPUT,
	    "data: it is not an object");
	assert_int_equal(TRY(create("x", "{\"a\":}", &item)), ERR_INPUT);
	assert_string_equal(why_not.field, "data");
	assert_int_equal(TRY(create("x", "{\"a\":\"\xff\"}", &item)),
	    ERR_INPUT);

	/* 200 bytes; blanks between do not count. */
	buf_put_text(&b, "{ \"a\":\"");
	while (b.n < 200 - 1)
		buf_put_char(&b, 'x');
	buf_put_text(&b, "\"}");
	assert_int_equal(b.n, 201);
	assert_int_equal(TRY(create("fits", buf_text(&b), &item)), OK);
	assert_int_equal(item->data.n, 200);
	b.n -= 2;
	buf_put_text(&b, "x\"}");
	CHECK_ERROR(create("x", buf_text(&b), &item), ERR_FULL,
	    "data: 201 bytes; at most 200 are allowed");

	for (unsigned depth = ITEM_JSON_DEPTH_MAX; depth <=
	    ITEM_JSON_DEPTH_MAX + 1; depth++) {
		buf_clear(&b);
		buf_put_text(&b, "{\"]\\\"[\":");
		for (unsigned i = 1; i < depth; i++)
			buf_put_char(&b, '[');
		for (unsigned i = 1; i < depth; i++)
			buf_put_char(&b, ']');
		buf_put_char(&b, '}');
		if (depth == ITEM_JSON_DEPTH_MAX)
			assert_int_equal(TRY(create("deep", buf_text(&b),
			    &item)), OK);
		else
			CHECK_ERROR(create("x", buf_text(&b), &item), ERR_FULL,
			    "data: it is nested deeper than 64");
	}
}

static void
sets_data(void **state)
{
	struct item_row *x = made("x"), *item;

	(void)state;
	struct item_mark m = item_tx_mark(t.tx);
	assert_int_equal(item_data_set(t.tx, &person, STR("x"), STR("{ }"),
	    &effect, &item, NULL), OK);
	assert_int_equal(effect, ITEM_SKIPPED);
	assert_int_equal(x->rev, 1);
	assert_int_equal(item_data_set(t.tx, &person, STR("x"),
	    STR("{\"n\":12345678901234567890123}"), &effect, &item, NULL), OK);
	assert_int_equal(effect, ITEM_UPDATED);
	assert_int_equal(x->rev, 2);
	assert_ptr_equal(item, x);
	assert_true(str_eq(x->data, STR("{\"n\":12345678901234567890123}")));
	assert_string_equal(items_test_bodies(&t, m),
	    "{\"at\":\"2026-11-20T09:18:16.002Z\",\"type\":\"item.updated\","
	    "\"id\":\"x\",\"diff\":[{\"op\":\"add\",\"path\":\"/n\","
	    "\"value\":12345678901234567890123}]}\n");
	CHECK_ERROR(item_data_set(t.tx, &person, STR("y"), STR("{}"), &effect,
	    &item, &why_not), ERR_ABSENT, "y: there is no such item");
}

/* RFC 7396, appendix A: those whose target is an object. */
static void
patches_data(void **state)
{
	static const char *const cases[][3] = {
		{ "{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
		{ "{\"a\":\"b\"}", "{\"b\":\"c\"}",
		  "{\"a\":\"b\",\"b\":\"c\"}" },
		{ "{\"a\":\"b\"}", "{\"a\":null}", "{}" },
		{ "{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}",
		  "{\"b\":\"c\"}" },
		{ "{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
		{ "{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}" },
		{ "{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}",
		  "{\"a\":{\"b\":\"d\"}}" },
		{ "{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}" },
		{ "{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}" },
		{ "{}", "{\"a\":{\"bb\":{\"ccc\":null}}}",
		  "{\"a\":{\"bb\":{}}}" },
	};
	struct item_row *item;

	(void)state;
	made("x");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(item_data_set(t.tx, &person, STR("x"),
		    str_of(cases[i][0]), &effect, &item, NULL), OK);
		assert_int_equal(item_data_patch(t.tx, &person, STR("x"),
		    str_of(cases[i][1]), &effect, &item, NULL), OK);
		assert_true(str_eq(item->data, str_of(cases[i][2])));
	}
	assert_int_equal(item_data_patch(t.tx, &person, STR("x"), STR("{}"),
	    &effect, &item, NULL), OK);
	assert_int_equal(effect, ITEM_SKIPPED);
	CHECK_ERROR(item_data_patch(t.tx, &person, STR("x"), STR("[]"),
	    &effect, &item, &why_not), ERR_INPUT, "data: it is not an object");
	/* Each part fits, and both together do not. */
	static const char half[] = "{\"%c\":\"0123456789012345678901234567890"
	    "12345678901234567890123456789012345678901234567890123456789012345"
	    "67890123456\"}";
	char text[200];
	snprintf(text, sizeof(text), half, 'y');
	assert_int_equal(TRY(item_data_set(t.tx, &person, STR("x"),
	    str_of(text), &effect, &item, &why_not)), OK);
	snprintf(text, sizeof(text), half, 'z');
	assert_int_equal(TRY(item_data_patch(t.tx, &person, STR("x"),
	    str_of(text), &effect, &item, &why_not)), ERR_FULL);
	assert_string_equal(why_not.field, "data");
}

/* -- Rename and delete -- */

static void
renames(void **state)
{
	struct item_row *x = made("x"), *item;

	(void)state;
	made("foreign");
	struct item_mark m = item_tx_mark(t.tx);
	assert_int_equal(item_rename(t.tx, &person, STR("x"), STR("y"), &item,
	    NULL), OK);
	assert_ptr_equal(item, x);
	assert_true(str_eq(x->id, STR("y")));
	assert_int_equal(x->aliases_n, 1);
	assert_ptr_equal(found("x"), x);
	assert_string_equal(items_test_bodies(&t, m),
	    "{\"at\":\"2026-11-20T09:18:16.002Z\",\"type\":\"item.renamed\","
	    "\"id\":\"y\",\"from\":\"x\"}\n");
	/* Back to an own alias: nothing is lost, nothing is added. */
	assert_int_equal(item_rename(t.tx, &person, STR("y"), STR("x"), &item,
	    NULL), OK);
	assert_int_equal(x->aliases_n, 1);
	assert_true(str_eq(x->id, STR("x")));
	/* To its own id: nothing happens. */
	m = item_tx_mark(t.tx);
	assert_int_equal(item_rename(t.tx, &person, STR("y"), STR("x"), &item,
	    NULL), OK);
	assert_string_equal(items_test_events(&t, m), "");
	CHECK_ERROR(item_rename(t.tx, &person, STR("x"), STR("foreign"), &item,
	    &why_not), ERR_EXISTS, "to: another item has it");
	CHECK_ERROR(item_rename(t.tx, &person, STR("none"), STR("z"), &item,
	    &why_not), ERR_ABSENT, "none: there is no such item");
	CHECK_ERROR(item_rename(t.tx, &person, STR("x"), STR(""), &item,
	    &why_not), ERR_INPUT, "to: it is empty");
	assert_int_equal(TRY(item_rename(t.tx, &person, STR("x"), STR("2"),
	    &item, &why_not)), OK);
	assert_int_equal(TRY(item_rename(t.tx, &person, STR("x"), STR("3"),
	    &item, &why_not)), OK);
	assert_int_equal(x->aliases_n, 3);
	CHECK_ERROR(item_rename(t.tx, &person, STR("x"), STR("4"), &item,
	    &why_not), ERR_FULL, "aliases: an item has at most 3");
}

static void
put_blob(const char *id, const char *name, const char *bytes)
{
	const struct item_blob b = { .name = str_of(name),
		.bytes = str_of(bytes) };

	assert_int_equal(item_blob_put(t.tx, &person, str_of(id), &b, NULL),
	    OK);
}

static void
deletes_all_of_an_item(void **state)
{
	struct item_tag_text tag = { STR("t"), STR_NONE };
	const struct item_run run = { .task = 1, .task_version = STR("1"),
		.record = STR("{}") };
	struct item_row *x = made("x"), *item;

	(void)state;
	assert_int_equal(item_tags_update(t.tx, &person, STR("x"), &tag, 1,
	    NULL, 0, &item, NULL), OK);
	assert_int_equal(item_alias_create(t.tx, &person, STR("also"),
	    STR("x"), false, &effect, NULL), OK);
	put_blob("x", "pic", "bytes");
	assert_int_equal(item_metadata_set(t.tx, &person, STR("x"), STR("a"),
	    STR("{\"m\":1}"), NULL), OK);
	item_tx_put_failure(t.tx, 1, x->key, STR("m"), STR("{}"));
	struct item_run r = run;
	r.item = x->key;
	item_tx_put_run(t.tx, &r, true);
	items_test_commit(&t);
	items_test_begin(&t);
	struct item_mark m = item_tx_mark(t.tx);
	assert_int_equal(item_delete(t.tx, &person, STR("also"), NULL), OK);
	assert_null(found("x"));
	assert_null(found("also"));
	assert_string_equal(items_test_events(&t, m), "item.deleted");
	CHECK_ERROR(item_delete(t.tx, &person, STR("x"), &why_not), ERR_ABSENT,
	    "x: there is no such item");
	/* Then an alias may have its id, and another item, too. */
	made("y");
	assert_int_equal(item_alias_create(t.tx, &person, STR("x"), STR("y"),
	    true, &effect, NULL), OK);
	assert_int_equal(effect, ITEM_ALIAS_NEW);
	made("also");
	items_test_commit(&t);
	assert_int_equal(items_test_number(&t, "SELECT (SELECT count(*) FROM"
	    " tags) + (SELECT count(*) FROM task_results) + (SELECT count(*)"
	    " FROM worklist) + (SELECT count(*) FROM failures) + (SELECT"
	    " count(*) FROM runs) + (SELECT count(*) FROM item_blobs)"), 0);
	assert_int_equal(items_test_number(&t, "SELECT uses FROM blobs"), 0);
	items_test_begin(&t);
}

/* -- Aliases -- */

static void
makes_aliases(void **state)
{
	struct item_row *x = made("x");

	(void)state;
	made("y");
	struct item_mark m = item_tx_mark(t.tx);
	assert_int_equal(item_alias_create(t.tx, &person, STR("a"), STR("x"),
	    false, &effect, NULL), OK);
	assert_int_equal(effect, ITEM_ALIAS_NEW);
	/* Of an alias: it leads to the item. */
	assert_int_equal(item_alias_create(t.tx, &person, STR("b"), STR("a"),
	    false, &effect, NULL), OK);
	assert_int_equal(effect, ITEM_ALIAS_NEW);
	assert_ptr_equal(found("b"), x);
	assert_string_equal(items_test_events(&t, m), "alias.new alias.new");
	static const char *const used[] = { "a", "x", "y" };
	for (size_t i = 0; i < ARRAY_LEN(used); i++) {
		assert_int_equal(item_alias_create(t.tx, &person,
		    str_of(used[i]), STR("x"), false, &effect, NULL), OK);
		assert_int_equal(effect, ITEM_SKIPPED);
		CHECK_ERROR(item_alias_create(t.tx, &person, str_of(used[i]),
		    STR("x"), true, &effect, &why_not), ERR_EXISTS,
		    "from: it is in use");
	}
	CHECK_ERROR(item_alias_create(t.tx, &person, STR("c"), STR("none"),
	    false, &effect, &why_not), ERR_ABSENT,
	    "none: there is no such item");
	CHECK_ERROR(item_alias_create(t.tx, &person, STR(""), STR("x"), false,
	    &effect, &why_not), ERR_INPUT, "from: it is empty");
	assert_int_equal(TRY(item_alias_create(t.tx, &person, STR("c"),
	    STR("x"), false, &effect, &why_not)), OK);
	CHECK_ERROR(item_alias_create(t.tx, &person, STR("d"), STR("x"),
	    false, &effect, &why_not), ERR_FULL,
	    "aliases: an item has at most 3");
}

static void
deletes_aliases(void **state)
{
	struct item_row *x = made("x");

	(void)state;
	assert_int_equal(item_alias_create(t.tx, &person, STR("a"), STR("x"),
	    false, &effect, NULL), OK);
	CHECK_ERROR(item_alias_delete(t.tx, &person, STR("x"), &effect,
	    &why_not), ERR_STATE, "from: it is the item's own id");
	struct item_mark m = item_tx_mark(t.tx);
	assert_int_equal(item_alias_delete(t.tx, &person, STR("a"), &effect,
	    NULL), OK);
	assert_int_equal(effect, ITEM_ALIAS_DELETED);
	assert_int_equal(x->aliases_n, 0);
	assert_null(found("a"));
	assert_string_equal(items_test_events(&t, m), "alias.deleted");
	assert_int_equal(item_alias_delete(t.tx, &person, STR("a"), &effect,
	    NULL), OK);
	assert_int_equal(effect, ITEM_SKIPPED);
}

/* -- Tags -- */

static void
reads_tags(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct item_tag_text tag;

	(void)state;
	assert_int_equal(item_tag_read(STR("a"), &tag, NULL), OK);
	assert_null(tag.value.p);
	assert_int_equal(item_tag_read(STR("site=a=b,c"), &tag, NULL), OK);
	assert_true(str_eq(tag.name, STR("site")));
	assert_true(str_eq(tag.value, STR("a=b,c")));
	assert_int_equal(item_tag_read(STR("a="), &tag, NULL), OK);
	assert_true(tag.value.p != NULL && tag.value.n == 0);
	CHECK_ERROR(item_tag_read(STR(""), &tag, &why_not), ERR_INPUT,
	    "tags: it is empty");
	CHECK_ERROR(item_tag_read(STR("=a"), &tag, &why_not), ERR_INPUT,
	    "tags: it is empty");
	CHECK_ERROR(item_tag_read(STR("a,b"), &tag, &why_not), ERR_INPUT,
	    "tags: a name has neither \"=\" nor \",\"");
	CHECK_ERROR(item_tag_read(STR("a=\n"), &tag, &why_not), ERR_INPUT,
	    "tags: a control character");
	while (b.n < ITEM_TAG_BYTES_MAX)
		buf_put_char(&b, 'x');
	assert_int_equal(item_tag_read(buf_str(&b), &tag, NULL), OK);
	buf_put_char(&b, 'x');
	CHECK_ERROR(item_tag_read(buf_str(&b), &tag, &why_not), ERR_INPUT,
	    "tags: 201 bytes; at most 200 are allowed");
	buf_clear(&b);
	buf_put_text(&b, "a=");
	while (b.n < 2 + ITEM_TAG_VALUE_BYTES_MAX)
		buf_put_char(&b, 'x');
	assert_int_equal(item_tag_read(buf_str(&b), &tag, NULL), OK);
	buf_put_char(&b, 'x');
	assert_int_equal(TRY(item_tag_read(buf_str(&b), &tag, &why_not)),
	    ERR_INPUT);
}

static enum err
tag(const char *name, const char *value, const char *remove)
{
	const struct item_tag_text add = { str_of(name), str_of(value) };
	const struct str gone = str_of(remove);
	struct item_row *item;

	return item_tags_update(t.tx, &person, STR("x"), &add, name != NULL,
	    &gone, remove != NULL, &item, &why_not);
}

static void
updates_tags(void **state)
{
	struct item_row *x = made("x"), *item;
	struct pair_row **pairs;
	size_t n;

	(void)state;
	struct item_mark m = item_tx_mark(t.tx);
	assert_int_equal(tag("t", NULL, NULL), OK);
	assert_int_equal(tag("t", NULL, NULL), OK);
	assert_int_equal(tag("a", "1", "none"), OK);
	assert_int_equal(tag("a", "2", NULL), OK);
	assert_int_equal(x->tags_n, 2);
	assert_true(str_eq(x->tags[0].value, STR("2")));
	assert_int_equal(x->rev, 1);
	assert_int_equal(item_tx_pairs_of(t.tx, x->key, &pairs, &n, NULL), OK);
	assert_int_equal(n, 1);
	assert_int_equal(pairs[0]->state, PAIR_UNPROCESSED);
	/* First what goes, then what comes. */
	assert_int_equal(tag("a", "3", "a"), OK);
	assert_int_equal(tag("u", NULL, "t"), OK);
	assert_string_equal(items_test_bodies(&t, m),
	    "{\"at\":\"2026-11-20T09:18:16.002Z\",\"type\":\"tag.added\","
	    "\"id\":\"x\",\"tag\":\"t\"}\n"
	    "{\"at\":\"2026-11-20T09:18:16.002Z\",\"type\":\"tag.added\","
	    "\"id\":\"x\",\"tag\":\"a\",\"value\":\"1\"}\n"
	    "{\"at\":\"2026-11-20T09:18:16.002Z\",\"type\":\"tag.added\","
	    "\"id\":\"x\",\"tag\":\"a\",\"value\":\"2\"}\n"
	    "{\"at\":\"2026-11-20T09:18:16.002Z\",\"type\":\"tag.removed\","
	    "\"id\":\"x\",\"tag\":\"a\"}\n"
	    "{\"at\":\"2026-11-20T09:18:16.002Z\",\"type\":\"tag.added\","
	    "\"id\":\"x\",\"tag\":\"a\",\"value\":\"3\"}\n"
	    "{\"at\":\"2026-11-20T09:18:16.002Z\",\"type\":\"tag.removed\","
	    "\"id\":\"x\",\"tag\":\"t\"}\n"
	    "{\"at\":\"2026-11-20T09:18:16.002Z\",\"type\":\"tag.added\","
	    "\"id\":\"x\",\"tag\":\"u\"}\n");
	assert_int_equal(tag("b", NULL, NULL), OK);
	CHECK_ERROR(tag("c", NULL, NULL), ERR_FULL,
	    "tags: an item has at most 3");
	assert_int_equal(x->tags_n, 3);
	CHECK_ERROR(item_tags_update(t.tx, &person, STR("y"), NULL, 0, NULL, 0,
	    &item, &why_not), ERR_ABSENT, "y: there is no such item");
}

/* -- Blobs -- */

static void
puts_blobs(void **state)
{
	struct item_blob b = { .name = STR("pic"), .type = STR("image/png"),
		.bytes = STR("abc") };
	struct item_row *x = made("x");
	struct blob_row *row;

	(void)state;
	struct item_mark m = item_tx_mark(t.tx);
	assert_int_equal(item_blob_put(t.tx, &person, STR("x"), &b, NULL), OK);
	assert_int_equal(item_tx_blob(t.tx, x->key, STR("pic"), &row, NULL),
	    OK);
	/* FIPS 180-2, appendix B.1 */
	assert_memory_equal(row->sha256, "\xba\x78\x16\xbf\x8f\x01\xcf\xea", 8);
	assert_int_equal(row->bytes, 3);
	assert_true(str_eq(row->type, STR("image/png")));
	/* By what is stored: the bytes are kept once. */
	memcpy(b.sha256, row->sha256, sizeof(b.sha256));
	b.bytes = STR_NONE;
	b.name = STR("copy");
	b.type = STR("");
	assert_int_equal(item_blob_put(t.tx, &person, STR("x"), &b, NULL), OK);
	assert_int_equal(item_tx_blob(t.tx, x->key, STR("copy"), &row, NULL),
	    OK);
	assert_int_equal(row->bytes, 3);
	assert_true(str_eq(row->type, STR("application/octet-stream")));
	assert_string_equal(items_test_events(&t, m), "blob.put blob.put");
	items_test_commit(&t);
	assert_int_equal(items_test_number(&t, "SELECT uses FROM blobs"), 2);
	items_test_begin(&t);
	b.sha256[0] ^= 1;
	CHECK_ERROR(item_blob_put(t.tx, &person, STR("x"), &b, &why_not),
	    ERR_INPUT, "sha256: no such bytes are stored");
	b.sha256[0] ^= 1;
	b.name = STR("third");
	CHECK_ERROR(item_blob_put(t.tx, &person, STR("x"), &b, &why_not),
	    ERR_FULL, "blobs: an item has at most 2");
	/* The same name again: another content, no other blob. */
	b.name = STR("copy");
	b.bytes = STR("0123456789");
	assert_int_equal(TRY(item_blob_put(t.tx, &person, STR("x"), &b,
	    &why_not)), OK);
	b.bytes = STR("0123456789a");
	CHECK_ERROR(item_blob_put(t.tx, &person, STR("x"), &b, &why_not),
	    ERR_FULL, "blob: 11 bytes; at most 10 are allowed");
	b.bytes = STR("");
	assert_int_equal(TRY(item_blob_put(t.tx, &person, STR("x"), &b,
	    &why_not)), OK);
	b.type = STR("a\r\nb");
	CHECK_ERROR(item_blob_put(t.tx, &person, STR("x"), &b, &why_not),
	    ERR_INPUT, "type: a control character");
	b.name = STR("");
	CHECK_ERROR(item_blob_put(t.tx, &person, STR("x"), &b, &why_not),
	    ERR_INPUT, "name: it is empty");
	b.name = STR("pic");
	b.type = STR("");
	CHECK_ERROR(item_blob_put(t.tx, &person, STR("y"), &b, &why_not),
	    ERR_ABSENT, "y: there is no such item");
	m = item_tx_mark(t.tx);
	assert_int_equal(item_blob_delete(t.tx, &person, STR("x"), STR("pic"),
	    &effect, NULL), OK);
	assert_int_equal(effect, ITEM_BLOB_DELETED);
	assert_string_equal(items_test_events(&t, m), "blob.deleted");
	assert_int_equal(item_blob_delete(t.tx, &person, STR("x"), STR("pic"),
	    &effect, NULL), OK);
	assert_int_equal(effect, ITEM_SKIPPED);
}

static void
unused_blobs_go_after_a_day(void **state)
{
	uint8_t sha256[32];
	struct item_pruned pruned;

	(void)state;
	made("x");
	assert_int_equal(item_blob_store(t.tx, STR("never"), sha256, NULL),
	    OK);
	put_blob("x", "pic", "used");
	items_test_commit(&t);
	t.now.us += INT64_C(86400) * US_PER_S - 2000;
	for (int i = 0; i < 2; i++) {
		items_test_begin(&t);
		assert_int_equal(item_tx_prune(t.tx, 10, &pruned, NULL),
		    OK);
		items_test_commit(&t);
		assert_int_equal(items_test_number(&t, "SELECT count(*)"
		    " FROM blobs"), i == 0 ? 2 : 1);
		t.now.us += 1000;
	}
	items_test_begin(&t);
}

/* -- JSON -- */

static void
writes_json(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct item_row *x = made("x");

	(void)state;
	assert_int_equal(tag("t", NULL, NULL), OK);
	assert_int_equal(tag("a", "b\"c", NULL), OK);
	assert_int_equal(item_alias_create(t.tx, &person, STR("z"), STR("x"),
	    false, &effect, NULL), OK);
	assert_int_equal(item_alias_create(t.tx, &person, STR("b"), STR("x"),
	    false, &effect, NULL), OK);
	assert_int_equal(item_json(t.tx, x, &b, NULL), OK);
	assert_string_equal(buf_text(&b), "{\"id\":\"x\",\"aliases\":[\"x\","
	    "\"b\",\"z\"],\"tags\":[{\"name\":\"a\",\"value\":\"b\\\"c\"},"
	    "{\"name\":\"t\",\"value\":null}],\"data\":{},"
	    "\"created_by\":null,"
	    "\"created_at\":\"2026-11-20T09:18:16.002Z\","
	    "\"updated_at\":\"2026-11-20T09:18:16.002Z\",\"rev\":1}");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(creates_an_item), TEST(makes_ids_in_order),
		TEST(skips_what_is_there), TEST(upserts),
		TEST(says_who_created_it), TEST(ids_have_limits),
		TEST(data_has_limits), TEST(sets_data), TEST(patches_data),
		TEST(renames), TEST(deletes_all_of_an_item),
		TEST(makes_aliases), TEST(deletes_aliases), TEST(reads_tags),
		TEST(updates_tags), TEST(puts_blobs),
		TEST(unused_blobs_go_after_a_day), TEST(writes_json),
	};

	return items_test_main(argc, argv, tests);
}
