#include "engine/items/worklist_testing.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <yyjson.h>

#include <cmocka.h>

#include "engine/items/generation_own.h"
#include "engine/items/worklist_own.h"

#define MUST(call)                                                           \
	do {                                                                  \
		struct why why_ = WHY_INIT, *w = &why_;                       \
		if ((call) != OK)                                             \
			fail_msg("%s:%d: %s", __FILE__, __LINE__, why_.text); \
	} while (0)

/* -- Opening -- */

struct str
work_json(struct work_test *t, const char *text)
{
	struct str s = arena_copy(&t->arena, str_of(text));

	for (char *p = (char *)(uintptr_t)s.p; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	return s;
}

void
work_begin(struct work_test *t)
{
	items_test_begin(&t->items);
}

void
work_commit(struct work_test *t)
{
	items_test_commit(&t->items);
}

void
work_assert_text(struct work_test *t, struct str s, const char *text)
{
	assert_string_equal(arena_copy(&t->arena, s).p, text);
}

void
work_assert_data(struct work_test *t, const char *id, const char *text)
{
	struct item_row *item;

	work_begin(t);
	assert_int_equal(item_tx_find(t->items.tx, str_of(id), &item, NULL),
	    OK);
	work_assert_text(t, item->data, text);
	work_commit(t);
}

void
work_sleep(struct work_test *t, int64_t ms)
{
	t->items.now.us += ms * 1000;
}

/* Rewrite until nothing is left to be. */
static void
rewrite_all(struct work_test *t)
{
	bool more = true;

	for (int i = 0; i < 1000 && more; i++) {
		items_test_begin_alone(&t->items);
		MUST(generation_rewrite(t->items.tx, 100, &more, w));
		work_commit(t);
	}
	assert_false(more);
}

void
work_config(struct work_test *t, const char *config)
{
	struct task_config *c;
	uint64_t generation;

	MUST(task_config_read(work_json(t, config),
	    item_store_limits(t->items.store), &c, NULL, w));
	c->hash = arena_printf(&c->arena, "%u", ++t->configs);
	items_test_begin_alone(&t->items);
	MUST(generation_load(t->items.tx, c, STR("{}"), &generation, w));
	work_commit(t);
	rewrite_all(t);
}

void
work_open(struct work_test *t, const char *config)
{
	*t = (struct work_test){ .arena = ARENA_INIT };
	items_test_open(&t->items, NULL);
	work_config(t, config);
}

static void
tell_difference(void *arg, struct str text)
{
	size_t *n = arg;

	*n += 1;
	print_error("%.*s\n", STR_FMT(text));
}

void
work_close(struct work_test *t)
{
	uint64_t checked;
	size_t differences = 0;

	MUST(items_check_at(t->items.store, t->items.now, tell_difference,
	    &differences, &checked, w));
	assert_int_equal(differences, 0);
	items_test_close(&t->items);
	arena_free(&t->arena);
}

void
work_restart(struct work_test *t)
{
	items_test_reopen(&t->items);
	MUST(generation_open(t->items.store, w));
}

/* -- Items -- */

static size_t
read_tags(const char *tags, struct item_tag_text *out)
{
	struct str rest = str_of(tags), one;
	size_t n = 0;

	while (tags != NULL && tags[0] != '\0' && str_split(&rest, ',', &one))
		MUST(item_tag_read(one, &out[n++], w));
	return n;
}

void
work_item(struct work_test *t, const char *id, const char *tags)
{
	struct item_tag_text list[8];
	struct item_create create = { .id = str_of(id), .data = STR("{}"),
	    .tags = list, .tags_n = read_tags(tags, list) };
	struct item_actor person = { .run_item = 0 };
	enum item_effect effect;
	struct item_row *item;

	work_begin(t);
	MUST(item_create(t->items.tx, &person, &create, &effect, &item, w));
	work_commit(t);
}

void
work_tag(struct work_test *t, const char *id, const char *add,
    const char *remove)
{
	struct item_tag_text list[8];
	size_t n = read_tags(add, list);
	struct str gone = str_of(remove);
	struct item_actor person = { .run_item = 0 };
	struct item_row *item;

	work_begin(t);
	MUST(item_tags_update(t->items.tx, &person, str_of(id), list, n, &gone,
	    remove != NULL, &item, w));
	work_commit(t);
}

void
work_delete(struct work_test *t, const char *id)
{
	struct item_actor person = { .run_item = 0 };

	work_begin(t);
	MUST(item_delete(t->items.tx, &person, str_of(id), w));
	work_commit(t);
}

uint32_t
work_task(struct work_test *t, const char *task)
{
	uint32_t id;

	MUST(item_store_name(t->items.store, ITEM_NAME_TASK, str_of(task),
	    false, &id, w));
	return id;
}

/* The key of an item; 0 when there is none. */
static int64_t
item_key(struct work_test *t, const char *id)
{
	struct alias_row *a;

	MUST(item_tx_alias(t->items.tx, str_of(id), &a, w));
	return a->exists ? a->item : 0;
}

struct pair_row
work_pair(struct work_test *t, const char *id, const char *task)
{
	struct pair_row *p, copy;

	work_begin(t);
	MUST(item_tx_pair(t->items.tx, work_task(t, task), item_key(t, id), &p,
	    w));
	copy = *p;
	copy.worker = arena_copy(&t->arena, p->worker);
	work_commit(t);
	return copy;
}

struct result_row
work_result(struct work_test *t, const char *id, const char *task)
{
	struct result_row *r, copy;

	work_begin(t);
	MUST(item_tx_result(t->items.tx, work_task(t, task), item_key(t, id),
	    &r, w));
	copy = *r;
	copy.metadata = arena_copy(&t->arena, r->metadata);
	copy.task_version = arena_copy(&t->arena, r->task_version);
	work_commit(t);
	return copy;
}

const char *
work_state(struct work_test *t, const char *id, const char *task)
{
	struct pair_row p = work_pair(t, id, task);

	if (!p.exists)
		return "";
	if (p.due_ms == PAIR_DUE_NONE)
		return arena_printf(&t->arena, "%s -",
		    pair_state_text(p.state)).p;
	return arena_printf(&t->arena, "%s %" PRId64, pair_state_text(p.state),
	    p.due_ms).p;
}

void
work_expire(struct work_test *t, const char *id, const char *task,
    enum pair_expiry expiry)
{
	struct item_actor actor = { .run_item = 0 };
	struct item_row *item;
	struct pair_row *p;

	if (expiry == EXPIRY_SCRIPT)
		actor = (struct item_actor){ .task = STR("other"),
		    .run_item = INT64_MAX, .run_id = STR("other") };
	work_begin(t);
	MUST(item_tx_find(t->items.tx, str_of(id), &item, w));
	MUST(item_tx_pair(t->items.tx, work_task(t, task), item->key, &p, w));
	MUST(worklist_expire_pair(t->items.tx, &actor, item, p,
	    expiry == EXPIRY_FIRST, w));
	work_commit(t);
}

/* -- Runs -- */

size_t
work_claim(struct work_test *t, unsigned max, struct work_lease *out)
{
	const struct str all = STR("*");
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1,
	    .max = max, .own = true };
	struct worklist_lease *leases;
	size_t n;

	work_begin(t);
	MUST(worklist_claim(t->items.tx, &claim, &leases, &n, w));
	for (size_t i = 0; i < n; i++) {
		struct str task = item_store_name_text(t->items.store,
		    leases[i].task);

		snprintf(out[i].text, sizeof(out[i].text), "%.*s",
		    STR_FMT(leases[i].text));
		snprintf(out[i].id, sizeof(out[i].id), "%.*s",
		    STR_FMT(leases[i].item->id));
		snprintf(out[i].task, sizeof(out[i].task), "%.*s",
		    STR_FMT(task));
		out[i].attempt = leases[i].pair->attempt + 1;
	}
	work_commit(t);
	return n;
}

struct work_lease
work_claim_one(struct work_test *t)
{
	struct work_lease lease;

	assert_int_equal(work_claim(t, 1, &lease), 1);
	return lease;
}

struct completion
work_complete(struct work_test *t, const char *lease, const char *members)
{
	struct str json = work_json(t, arena_printf(&t->arena,
	    "{'lease':'%s',%s}", lease, members).p);
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	struct completion c;

	assert_non_null(doc);
	work_begin(t);
	worklist_complete_want(t->items.tx, yyjson_doc_get_root(doc));
	MUST(item_tx_load(t->items.tx, w));
	MUST(worklist_complete(t->items.tx, yyjson_doc_get_root(doc), NULL,
	    &c, w));
	c.reason = arena_copy(&t->arena, c.reason);
	c.conflict.item = arena_copy(&t->arena, c.conflict.item);
	c.conflict.task = arena_copy(&t->arena, c.conflict.task);
	enum item_effect *effects = ARENA_ARRAY(&t->arena, enum item_effect,
	    c.effects_n + 1);
	if (c.effects_n > 0)
		memcpy(effects, c.effects, c.effects_n * sizeof(*effects));
	c.effects = effects;
	work_commit(t);
	yyjson_doc_free(doc);
	return c;
}

void
work_succeed(struct work_test *t, const char *lease)
{
	struct completion c = work_complete(t, lease, "'outcome':'success'");

	assert_int_equal(c.status, COMPLETION_APPLIED);
}

void
work_fail(struct work_test *t, const char *lease, const char *class,
    const char *message)
{
	struct completion c = work_complete(t, lease, arena_printf(&t->arena,
	    "'outcome':'failure','error':{'class':'%s','message':'%s'}",
	    class, message).p);

	assert_int_equal(c.status, COMPLETION_APPLIED);
}

int64_t
work_events(struct work_test *t, const char *type)
{
	return items_test_number(&t->items, arena_printf(&t->arena,
	    "SELECT count(*) FROM events WHERE type = '%s'", type).p);
}

int64_t
work_failures(struct work_test *t, const char *id, bool all)
{
	return items_test_number(&t->items, arena_printf(&t->arena,
	    "SELECT count(*) FROM failures f JOIN aliases a ON a.item = f.item"
	    " WHERE a.id = '%s'%s", id,
	    all ? "" : " AND f.handled_at IS NULL").p);
}
