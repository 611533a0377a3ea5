/*
 * A worker's mutations: the members of each op, what is wrong with them, and
 * compare-and-swap.
 */
#include "engine/items/item_ops.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <yyjson.h>

#include "engine/items/items_testing.h"
#include "engine/items/worklist.h"

static struct items_test t;
static struct item_actor run;
static struct run_result own;
static struct item_row *page;
static struct why why_not;
static enum item_effect effect;
static struct item_conflict conflict;

static struct item_row *
make_item(const char *id)
{
	static const struct item_actor person = { .run_item = 0 };
	static const struct item_tag_text tag = { { "t", 1 }, { NULL, 0 } };
	const struct item_create c = { .id = str_of(id), .data = STR("{}"),
		.tags = &tag, .tags_n = 1, .created_by = STR("home") };
	struct item_row *item;

	assert_int_equal(item_create(t.tx, &person, &c, &effect, &item,
	    &why_not), OK);
	return item;
}

static int
setup(void **state)
{
	(void)state;
	items_test_open(&t, NULL);
	items_test_config(&t, "{\"tags\":{\"t\":[\"a\",\"b\"]},\"tasks\":{"
	    "\"a\":{\"version\":\"1\",\"run\":{\"$function\":true}},"
	    "\"b\":{\"version\":\"1\",\"run\":{\"$function\":true}}}}");
	items_test_begin(&t);
	page = make_item("page");
	own = (struct run_result){ .has_ttl = false };
	run = (struct item_actor){ .task = STR("a"), .lease = STR("L1"),
		.run_item = page->key, .run_id = STR("page"), .own = &own };
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	items_test_commit(&t);
	items_test_close(&t);
	return 0;
}

/* JSON with single quotes, as the transaction keeps it. */
static yyjson_doc *
read_json(const char *text)
{
	struct str s = arena_copy(item_tx_arena(t.tx), str_of(text));

	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '\'')
			((char *)s.p)[i] = '"';
	yyjson_doc *doc = yyjson_read(s.p, s.n, 0);
	assert_non_null(doc);
	return doc;
}

/* Texts of an item may not refer to the document: it is freed at once. */
static enum err
mutate(const char *text)
{
	struct item_mark m = item_tx_mark(t.tx);
	yyjson_doc *doc = read_json(text);

	why_not = WHY_INIT;
	enum err e = item_mutate(t.tx, &run, yyjson_doc_get_root(doc), &effect,
	    &conflict, &why_not);
	yyjson_doc_free(doc);
	if (e != OK)
		item_tx_undo(t.tx, m);
	return e;
}

static void
applies(const char *text, enum item_effect expected)
{
	if (mutate(text) != OK)
		fail_msg("%s: %s", text, why_not.text);
	assert_false(conflict.any);
	assert_string_equal(item_effect_text(effect),
	    item_effect_text(expected));
}

static void
fails(const char *text, enum err e, const char *sentence)
{
	assert_int_equal(mutate(text), e);
	assert_string_equal(why_not.text, sentence);
}

static struct item_row *
found(const char *id)
{
	struct item_row *item;

	if (item_tx_find(t.tx, str_of(id), &item, NULL) != OK)
		return NULL;
	return item;
}

/* -- Each op -- */

static void
creates(void **state)
{
	(void)state;
	applies("{'op':'createItem','id':'x','data':{'n':1},'tags':['t',"
	    "'site=eu',{'name':'u'},{'name':'v','value':'w'}],"
	    "'aliases':['y'],'createdBy':'z'}", ITEM_NEW);
	struct item_row *x = found("y");
	assert_true(str_eq(x->id, STR("x")));
	assert_true(str_eq(x->created_by, STR("z")));
	assert_int_equal(x->tags_n, 4);
	assert_true(str_eq(x->tags[0].value, STR("eu")));
	assert_null(x->tags[2].value.p);
	assert_true(str_eq(x->tags[3].value, STR("w")));
	applies("{'op':'createItem','id':'y','data':{}}", ITEM_SKIPPED);
	applies("{'op':'createItem','data':{}}", ITEM_NEW);
	applies("{'op':'createItem','id':null,'tags':null,'data':{}}",
	    ITEM_NEW);
	applies("{'op':'createItem','id':'x','data':{'n':2},"
	    "'allowUpsert':true}", ITEM_UPDATED);
	assert_true(str_eq(x->data, STR("{\"n\":2}")));
	fails("{'op':'createItem','id':'x','data':{},'failIfExists':true}",
	    ERR_EXISTS, "id: there is such an item");
	fails("{'op':'createItem','id':'','data':{},'failIfExists':1}",
	    ERR_INPUT, "failIfExists: it is neither true nor false");
	fails("{'op':'createItem','id':'z'}", ERR_INPUT,
	    "data: it is missing");
	fails("{'op':'createItem','id':'z','data':[]}", ERR_INPUT,
	    "data: it is not an object");
	fails("{'op':'createItem','id':7,'data':{}}", ERR_INPUT,
	    "id: it is not a text");
	fails("{'op':'createItem','id':'z','data':{},'tags':'t'}", ERR_INPUT,
	    "tags: it is no list");
	fails("{'op':'createItem','id':'z','data':{},'tags':[{'value':'t'}]}",
	    ERR_INPUT, "tags: an element is no tag");
	fails("{'op':'createItem','id':'z','data':{},'tags':"
	    "[{'name':'a=b'}]}", ERR_INPUT,
	    "tags: a name has neither \"=\" nor \",\"");
	fails("{'op':'createItem','id':'z','data':{},'aliases':[1]}",
	    ERR_INPUT, "aliases: an element is no text");
}

static void
renames(void **state)
{
	(void)state;
	applies("{'op':'renameItem','to':'better'}", ITEM_RENAMED);
	assert_true(str_eq(page->id, STR("better")));
	/* An id that is left out is the running item's, whatever it is now. */
	applies("{'op':'updateData','data':{'n':1}}", ITEM_UPDATED);
	assert_true(str_eq(page->data, STR("{\"n\":1}")));
	make_item("x");
	applies("{'op':'renameItem','from':'x','to':'y'}", ITEM_RENAMED);
	fails("{'op':'renameItem','from':'x'}", ERR_INPUT,
	    "to: it is missing");
	fails("{'op':'renameItem','to':'x'}", ERR_EXISTS,
	    "to: another item has it");
}

static void
merges(void **state)
{
	(void)state;
	make_item("x");
	make_item("y");
	applies("{'op':'mergeItem','from':'y','into':'x','data':{'n':1},"
	    "'metadata':{'b':{'p':1}}}", ITEM_MERGED);
	struct item_row *x = found("y");
	struct result_row *r;
	uint32_t b;
	assert_true(str_eq(x->data, STR("{\"n\":1}")));
	assert_int_equal(item_store_name(t.store, ITEM_NAME_TASK, STR("b"),
	    false, &b, NULL), OK);
	assert_int_equal(item_tx_result(t.tx, b, x->key, &r, NULL), OK);
	assert_true(str_eq(r->metadata, STR("{\"p\":1}")));
	applies("{'op':'mergeItem','from':'y','into':'x'}", ITEM_SKIPPED);
	fails("{'op':'mergeItem'}", ERR_INPUT, "into: it is missing");
	fails("{'op':'mergeItem','into':'x','metadata':[]}", ERR_INPUT,
	    "metadata: it is not an object");
	fails("{'op':'mergeItem','into':'x','metadata':{'b':1}}", ERR_INPUT,
	    "metadata: it is not an object");
	fails("{'op':'mergeItem','into':'x','metadata':{'none':{}}}",
	    ERR_ABSENT, "taskName: there is no task none");
	fails("{'op':'mergeItem','into':'x','rev':-1}", ERR_INPUT,
	    "rev: it is no whole number");
	/* The running one merges itself away. */
	applies("{'op':'mergeItem','into':'x'}", ITEM_MERGED);
	assert_ptr_equal(found("page"), x);
	assert_false(page->exists);
}

static void
deletes_and_aliases(void **state)
{
	(void)state;
	make_item("x");
	applies("{'op':'createAlias','from':'a'}", ITEM_ALIAS_NEW);
	assert_ptr_equal(found("a"), page);
	applies("{'op':'createAlias','from':'a','to':'x'}", ITEM_SKIPPED);
	fails("{'op':'createAlias','from':'a','failIfExists':true}",
	    ERR_EXISTS, "from: it is in use");
	fails("{'op':'createAlias'}", ERR_INPUT, "from: it is missing");
	applies("{'op':'deleteAlias','from':'a'}", ITEM_ALIAS_DELETED);
	applies("{'op':'deleteAlias','from':'a'}", ITEM_SKIPPED);
	fails("{'op':'deleteAlias','from':'x'}", ERR_STATE,
	    "from: it is the item's own id");
	fails("{'op':'deleteAlias'}", ERR_INPUT, "from: it is missing");
	/* A belated duplicate: self deleted, an alias in its place. */
	applies("{'op':'deleteItem'}", ITEM_DELETED);
	applies("{'op':'createAlias','from':'page','to':'x'}",
	    ITEM_ALIAS_NEW);
	assert_true(str_eq(found("page")->id, STR("x")));
	fails("{'op':'deleteItem','id':'gone'}", ERR_ABSENT,
	    "gone: there is no such item");
}

static void
updates_tags(void **state)
{
	(void)state;
	applies("{'op':'updateTags','add':['u','v=1'],'remove':['t']}",
	    ITEM_TAGS);
	assert_int_equal(page->tags_n, 2);
	fails("{'op':'updateTags','id':'x','add':['u']}", ERR_ABSENT,
	    "x: there is no such item");
	fails("{'op':'updateTags','remove':[{}]}", ERR_INPUT,
	    "remove: an element is no text");
	fails("{'op':'updateTags','add':[null]}", ERR_INPUT,
	    "add: an element is no tag");
}

static void
updates_results(void **state)
{
	(void)state;
	applies("{'op':'updateMetadata','metadata':{'p':1}}", ITEM_METADATA);
	assert_true(own.has_metadata);
	assert_true(str_eq(own.metadata, STR("{\"p\":1}")));
	applies("{'op':'updateMetadata','taskName':'b','metadata':{'p':2}}",
	    ITEM_METADATA);
	fails("{'op':'updateMetadata','taskName':'c','metadata':{}}",
	    ERR_ABSENT, "taskName: there is no task c");
	fails("{'op':'updateMetadata','taskName':''}", ERR_INPUT,
	    "taskName: it is missing");
	fails("{'op':'updateMetadata'}", ERR_INPUT, "metadata: it is missing");

	applies("{'op':'expire'}", ITEM_EXPIRED);
	assert_true(own.expired);
	applies("{'op':'expire','id':'page','taskName':'b'}", ITEM_EXPIRED);

	applies("{'op':'setTTL','ttl':'2h'}", ITEM_TTL);
	assert_true(own.ttl_us == INT64_C(7200) * US_PER_S);
	applies("{'op':'setTTL','ttl':1500}", ITEM_TTL);
	assert_int_equal(own.ttl_us, 1500000);
	applies("{'op':'setTTL','ttl':0.5}", ITEM_TTL);
	assert_int_equal(own.ttl_us, 500);
	applies("{'op':'setTTL','ttl':null}", ITEM_TTL);
	assert_int_equal(own.ttl_us, RESULT_TTL_NEVER);
	applies("{'op':'setTTL','taskName':'b','ttl':'1s'}", ITEM_SKIPPED);
	fails("{'op':'setTTL'}", ERR_INPUT, "ttl: it is missing");
	fails("{'op':'setTTL','ttl':'soon'}", ERR_INPUT,
	    "ttl: it is no duration");
	fails("{'op':'setTTL','ttl':-1}", ERR_INPUT, "ttl: it is no duration");
	fails("{'op':'setTTL','ttl':1e300}", ERR_INPUT,
	    "ttl: it is no duration");

	make_item("x");
	applies("{'op':'completeFor','id':'x','metadata':{'p':1},'ttl':'1d'}",
	    ITEM_COMPLETED);
	applies("{'op':'completeFor','id':'x'}", ITEM_COMPLETED);
	fails("{'op':'completeFor'}", ERR_INPUT, "id: it is missing");
	fails("{'op':'completeFor','id':'y'}", ERR_ABSENT,
	    "y: there is no such item");
}

static void
puts_blobs(void **state)
{
	uint8_t sha256[32];

	(void)state;
	assert_int_equal(item_blob_store(t.tx, STR("abc"), sha256, NULL), OK);
	applies("{'op':'putBlob','name':'pic','type':'image/png','sha256':"
	    "'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015AD"
	    "'}", ITEM_BLOB);
	assert_int_equal(page->blobs_n, 1);
	fails("{'op':'putBlob','name':'pic','sha256':"
	    "'aa7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	    "'}", ERR_INPUT, "sha256: no such bytes are stored");
	fails("{'op':'putBlob','name':'pic','sha256':"
	    "'xx7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	    "'}", ERR_INPUT, "sha256: it is not 64 hex digits");
	fails("{'op':'putBlob','name':'pic','sha256':'00'}", ERR_INPUT,
	    "sha256: it is not 64 hex digits");
	fails("{'op':'putBlob','name':'pic'}", ERR_INPUT,
	    "sha256: it is not 64 hex digits");
	applies("{'op':'deleteBlob','name':'pic'}", ITEM_BLOB_DELETED);
	applies("{'op':'deleteBlob','name':'pic'}", ITEM_SKIPPED);
	fails("{'op':'deleteBlob','id':'x','name':'pic'}", ERR_ABSENT,
	    "x: there is no such item");
}

static void
unknown_ops_are_refused(void **state)
{
	(void)state;
	fails("{'op':'explode'}", ERR_INPUT, "op: \"explode\" is unknown");
	fails("{'op':'updatedata','data':{}}", ERR_INPUT,
	    "op: \"updatedata\" is unknown");
	fails("{}", ERR_INPUT, "op: \"\" is unknown");
	fails("{'op':7}", ERR_INPUT, "op: \"\" is unknown");
	fails("[]", ERR_INPUT, "mutations: an element is no object");
}

/* -- Compare and swap -- */

static void
conflicts(const char *text, const char *item, const char *task)
{
	if (mutate(text) != OK)
		fail_msg("%s: %s", text, why_not.text);
	assert_true(conflict.any);
	assert_true(str_eq(conflict.item, str_of(item)));
	assert_int_equal(conflict.task.p == NULL, task == NULL);
	assert_true(str_eq(conflict.task, str_of(task)));
}

static void
data_is_compared_by_rev(void **state)
{
	(void)state;
	struct item_mark m = item_tx_mark(t.tx);
	conflicts("{'op':'updateData','rev':2,'data':{'n':1}}", "page", NULL);
	conflicts("{'op':'updateData','rev':0,'data':{'n':1}}", "page", NULL);
	assert_string_equal(items_test_events(&t, m), "");
	applies("{'op':'updateData','rev':1,'data':{'n':1}}", ITEM_UPDATED);
	conflicts("{'op':'updateData','rev':1,'data':{'n':2}}", "page", NULL);
	/* Without one it follows an earlier op of the list. */
	applies("{'op':'updateData','data':{'n':2}}", ITEM_UPDATED);
	applies("{'op':'updateData','rev':3,'data':{'n':2}}", ITEM_SKIPPED);
	fails("{'op':'updateData','id':'x','rev':0,'data':{}}", ERR_ABSENT,
	    "x: there is no such item");
	conflicts("{'op':'updateData','id':'x','rev':4,'data':{}}", "x",
	    NULL);
	fails("{'op':'updateData','rev':'1','data':{}}", ERR_INPUT,
	    "rev: it is no whole number");
	fails("{'op':'updateData','rev':9223372036854775808,'data':{}}",
	    ERR_INPUT, "rev: it is no whole number");
	assert_int_equal(page->rev, 3);
}

static void
creation_is_compared_by_rev(void **state)
{
	(void)state;
	/* Its update was computed from {}: it must not be there. */
	applies("{'op':'createItem','id':'x','data':{},'allowUpsert':true,"
	    "'rev':0}", ITEM_NEW);
	conflicts("{'op':'createItem','id':'x','data':{'n':1},"
	    "'allowUpsert':true,'rev':0}", "x", NULL);
	applies("{'op':'createItem','id':'x','data':{'n':1},"
	    "'allowUpsert':true,'rev':1}", ITEM_UPDATED);
	conflicts("{'op':'createItem','id':'x','data':{},'allowUpsert':true,"
	    "'rev':1}", "x", NULL);
}

static void
metadata_is_compared_by_rev(void **state)
{
	(void)state;
	conflicts("{'op':'updateMetadata','taskName':'b','rev':1,"
	    "'metadata':{}}", "page", "b");
	applies("{'op':'updateMetadata','taskName':'b','rev':0,"
	    "'metadata':{'p':1}}", ITEM_METADATA);
	conflicts("{'op':'updateMetadata','taskName':'b','rev':0,"
	    "'metadata':{}}", "page", "b");
	applies("{'op':'updateMetadata','taskName':'b','rev':1,"
	    "'metadata':{'p':2}}", ITEM_METADATA);
	conflicts("{'op':'updateMetadata','rev':5,'metadata':{}}", "page",
	    "a");
	assert_false(own.has_metadata);
}

static void
merges_are_compared_by_both_revs(void **state)
{
	(void)state;
	make_item("x");
	make_item("y");
	conflicts("{'op':'mergeItem','from':'y','into':'x','rev':2,"
	    "'fromRev':1,'data':{}}", "x", NULL);
	conflicts("{'op':'mergeItem','from':'y','into':'x','rev':1,"
	    "'fromRev':0,'data':{}}", "y", NULL);
	applies("{'op':'mergeItem','from':'y','into':'x','rev':1,"
	    "'fromRev':1,'data':{'n':1}}", ITEM_MERGED);
	applies("{'op':'mergeItem','from':'new','into':'x','rev':2,"
	    "'fromRev':0,'data':{}}", ITEM_MERGED);
}

/* -- The whole list -- */

static enum err
check_list(const char *text, size_t *op)
{
	yyjson_doc *doc = read_json(text);

	why_not = WHY_INIT;
	run.creator = STR_NONE;
	item_mutations_want(t.tx, yyjson_doc_get_root(doc));
	assert_int_equal(item_tx_load(t.tx, NULL), OK);
	enum err e = item_mutations_check(t.tx, &run,
	    yyjson_doc_get_root(doc), op, &why_not);
	yyjson_doc_free(doc);
	return e;
}

static void
deleting_beside_updates_is_refused(void **state)
{
	size_t op;

	(void)state;
	make_item("x");
	applies("{'op':'createAlias','from':'also','to':'x'}",
	    ITEM_ALIAS_NEW);
	assert_int_equal(check_list("[]", &op), OK);
	assert_int_equal(check_list("[{'op':'updateData','id':'x'},"
	    "{'op':'updateTags','id':'page'},{'op':'deleteItem'}]", &op), OK);
	static const char *const refused[] = {
		"[{'op':'updateData'},{'op':'deleteItem'}]",
		"[{'op':'deleteItem','id':'page'},{'op':'updateData'}]",
		"[{'op':'updateMetadata','taskName':'b'},"
		"{'op':'deleteItem'}]",
		"[{'op':'deleteItem','id':'also'},"
		"{'op':'updateData','id':'x'}]",
		"[{'op':'updateData','id':'none'},"
		"{'op':'deleteItem','id':'none'}]",
		"[{'op':'createItem','id':'x','allowUpsert':true},"
		"{'op':'deleteItem','id':'also'}]",
	};
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		assert_int_equal(check_list(refused[i], &op), ERR_STATE);
		assert_string_equal(why_not.field, "id");
		assert_int_equal(op, 1);
	}
	/* Hostile lists are judged, too: members of any kind. */
	assert_int_equal(check_list("[1,null,[],{},{'op':1},{'op':'deleteItem',"
	    "'id':1},{'op':'updateData','id':[]},{'op':'createItem',"
	    "'aliases':[1,''],'id':''}]", &op), ERR_STATE);
}

static void
a_run_that_deletes_its_item_passes_its_creator_on(void **state)
{
	size_t op;

	(void)state;
	assert_int_equal(check_list("[{'op':'createItem','id':'x','data':{}},"
	    "{'op':'deleteItem'}]", &op), OK);
	applies("{'op':'createItem','id':'x','data':{}}", ITEM_NEW);
	assert_true(str_eq(found("x")->created_by, STR("home")));
	assert_int_equal(check_list("[{'op':'createItem','id':'y'}]", &op),
	    OK);
	applies("{'op':'createItem','id':'y','data':{}}", ITEM_NEW);
	assert_true(str_eq(found("y")->created_by, STR("page")));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(creates), TEST(renames), TEST(merges),
		TEST(deletes_and_aliases), TEST(updates_tags),
		TEST(updates_results), TEST(puts_blobs),
		TEST(unknown_ops_are_refused), TEST(data_is_compared_by_rev),
		TEST(creation_is_compared_by_rev),
		TEST(metadata_is_compared_by_rev),
		TEST(merges_are_compared_by_both_revs),
		TEST(deleting_beside_updates_is_refused),
		TEST(a_run_that_deletes_its_item_passes_its_creator_on),
	};

	return items_test_main(argc, argv, tests);
}
