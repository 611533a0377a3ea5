/*
 * Random configurations, runs, mutations, restarts and chunks of rewriting; the
 * whole store is checked after each step.  ARGIOPE_SEED repeats what a printed
 * seed did.
 */
#include "engine/items/generation.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/hash.h"
#include "engine/items/generation_own.h"
#include "engine/items/worklist_testing.h"
#include "os/clock.h"

#define MUST(call)                                                           \
	do {                                                                  \
		struct why why_ = WHY_INIT, *w = &why_;                       \
		if ((call) != OK)                                             \
			fail_msg("%s:%d: %s", __FILE__, __LINE__, why_.text); \
	} while (0)

#define STEPS 1500u
#define ITEMS 12u
#define TAGS 4u
#define TASKS 4u
#define LEASES 16u

static struct work_test t;
static uint64_t random_state;
static struct work_lease leases[LEASES];     /* not completed so far */
static size_t leases_n;
static unsigned renames;
static const char *step;                     /* for a failure's message */

static unsigned
below(unsigned n)
{
	random_state = hash_u64(random_state + 1);
	return (unsigned)(random_state % n);
}

static bool
chance(unsigned one_in)
{
	return below(one_in) == 0;
}

static void
note_difference(void *arg, struct str text)
{
	buf_put_str(arg, text);
	buf_put_char(arg, '\n');
}

static void
check_store(void)
{
	FREED(buf_free) struct buf differences = BUF_INIT;
	uint64_t checked;

	MUST(items_check_at(t.items.store, t.items.now, note_difference,
	    &differences, &checked, w));
	if (differences.n > 0)
		fail_msg("after %s:\n%s", step, buf_text(&differences));
}

/* -- Configurations -- */

static void
put_ttl(struct buf *b)
{
	static const char *const ttls[] = { "null", "'1h'", "'1d'",
		"'cron 0 3 * * 1'", "'10s'" };

	buf_printf(b, ",'ttl':%s", ttls[below(ARRAY_LEN(ttls))]);
}

static void
put_limits(struct buf *b)
{
	static const char *const limits[] = { "", "'t0':'100/s burst 100'",
		"'t1,t0':'100/s burst 100'",
		"'t0=1':'100/s burst 100','t2':'100/s burst 100'" };

	buf_printf(b, ",'limits':{'tags':{%s}}",
	    limits[below(ARRAY_LEN(limits))]);
}

/* Only on tasks before it, so that there are no cycles. */
static void
put_depends(struct buf *b, unsigned task, const bool *has)
{
	const char *comma = "";

	buf_put_text(b, ",'dependsOn':[");
	for (unsigned i = 0; i < task; i++) {
		if (!has[i] || chance(2))
			continue;
		buf_printf(b, "%s'k%u'", comma, i);
		comma = ",";
	}
	buf_put_char(b, ']');
}

static void
put_task(struct buf *b, unsigned i, const bool *has)
{
	buf_printf(b, "'k%u':{'version':'%u','run':{'$function':true},"
	    "'retries':%u,'backoff':'1m','minInterval':'%us'", i, below(2),
	    below(3), chance(2) ? 0 : 30);
	put_ttl(b);
	if (chance(2))
		put_limits(b);
	if (chance(4))
		buf_put_text(b, ",'onFailure':'store'");
	if (chance(4))
		buf_printf(b, ",'weight':%u", 1 + below(5));
	if (chance(2))
		put_depends(b, i, has);
	buf_put_char(b, '}');
}

static void
put_migration(struct buf *b)
{
	if (!chance(3))
		return;
	/* Where the new name is in use, nothing is loaded. */
	buf_printf(b, "'migrations':[{'id':'m%u',", renames++);
	if (chance(2))
		buf_printf(b, "'renameTag':['t%u','t%u']", below(2),
		    2 + below(2));
	else
		buf_printf(b, "'renameTask':['k%u','k%u']", 1 + below(2), 3u);
	buf_put_text(b, "}],");
}

static const char *
random_config(void)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	bool has[TASKS] = { true };

	buf_put_char(&b, '{');
	put_migration(&b);
	buf_put_text(&b, "'tasks':{");
	put_task(&b, 0, has);
	for (unsigned i = 1; i < TASKS; i++) {
		if (chance(4))
			continue;
		has[i] = true;
		buf_put_char(&b, ',');
		put_task(&b, i, has);
	}
	buf_put_text(&b, "},'tags':{");
	for (unsigned i = 0; i < TAGS; i++) {
		const char *comma = "";
		buf_printf(&b, "%s't%u':[", i == 0 ? "" : ",", i);
		for (unsigned k = 0; k < TASKS; k++) {
			if (!has[k] || chance(2))
				continue;
			buf_printf(&b, "%s'k%u'", comma, k);
			comma = ",";
		}
		buf_put_char(&b, ']');
	}
	buf_printf(&b, "},'seeds':[{'id':'i%u','tags':['t0','t1=1']}]}",
	    below(ITEMS));
	return arena_copy(&t.arena, buf_str(&b)).p;
}

static void
load_random(void)
{
	struct task_config *c;
	struct why cause = WHY_INIT;
	uint64_t generation;
	struct str json = work_json(&t, random_config());

	MUST(task_config_read(json, item_store_limits(t.items.store), &c, NULL,
	    w));
	c->hash = arena_printf(&c->arena, "%016" PRIx64,
	    hash_bytes(json, 0));
	items_test_begin_alone(&t.items);
	enum err e = generation_load(t.items.tx, c, STR("{}"), &generation,
	    &cause);
	bool drop = e == OK && chance(8);
	enum err end = item_tx_end(&t.items.tx, drop ? ERR_STATE : e,
	    &cause);
	if (end != OK && !drop && end != ERR_INPUT)
		fail_msg("%s", cause.text);
}

static void
rewrite_chunk(void)
{
	bool more;

	items_test_begin_alone(&t.items);
	MUST(generation_rewrite(t.items.tx, 1 + below(5), &more, w));
	if (chance(8))
		assert_int_equal(item_tx_end(&t.items.tx, ERR_STATE, NULL),
		    ERR_STATE);
	else
		work_commit(&t);
}

static void
reopen_store(void)
{
	items_test_reopen(&t.items);
	MUST(generation_open(t.items.store, w));
	if (chance(2))
		return;
	work_begin(&t);
	MUST(worklist_release_own(t.items.tx, w));
	work_commit(&t);
}

/* -- Items, as a person changes them -- */

static const char *
random_tags(void)
{
	static const char *const tags[] = { "t0", "t0=1,t1", "t1=1,t2", "t2,t3",
		"t3=2", "t0,t1,t2,t3", "other" };

	return tags[below(ARRAY_LEN(tags))];
}

/* An error is fine where an item is missing: it changes nothing. */
static void
change_item(enum err (*change)(struct item_tx *, struct str id,
    struct why *))
{
	struct why w = WHY_INIT;
	char id[8];

	snprintf(id, sizeof(id), "i%u", below(ITEMS));
	work_begin(&t);
	struct item_mark mark = item_tx_mark(t.items.tx);
	enum err e = change(t.items.tx, str_of(id), &w);
	if (e != OK && e != ERR_ABSENT && e != ERR_EXISTS && e != ERR_INPUT &&
	    e != ERR_STATE)
		fail_msg("%s", w.text);
	if (e != OK)
		item_tx_undo(t.items.tx, mark);
	work_commit(&t);
}

static const struct item_actor person;

static enum err
create_one(struct item_tx *tx, struct str id, struct why *w)
{
	struct item_tag_text tags[4];
	struct str rest = str_of(random_tags()), one;
	struct item_create create = { .id = id, .data = STR("{}"),
		.tags = tags, .allow_upsert = chance(2) };
	enum item_effect effect;
	struct item_row *row;

	while (str_split(&rest, ',', &one))
		assert_int_equal(item_tag_read(one, &tags[create.tags_n++],
		    NULL), OK);
	return item_create(tx, &person, &create, &effect, &row, w);
}

static enum err
delete_one(struct item_tx *tx, struct str id, struct why *w)
{
	return item_delete(tx, &person, id, w);
}

static enum err
tag_one(struct item_tx *tx, struct str id, struct why *w)
{
	const struct item_tag_text add = { STR("t0"),
		chance(2) ? STR("1") : STR_NONE };
	const struct str gone = chance(2) ? STR("t1") : STR("t2");
	struct item_row *row;

	return item_tags_update(tx, &person, id, &add, chance(2), &gone, 1,
	    &row, w);
}

static enum err
merge_one(struct item_tx *tx, struct str id, struct why *w)
{
	struct item_merge merge = { .from = id, .into = STR("i0") };
	enum item_effect effect;
	struct item_row *row;

	return item_merge(tx, &person, &merge, &effect, &row, w);
}

static enum err
rename_one(struct item_tx *tx, struct str id, struct why *w)
{
	struct item_row *row;

	return item_rename(tx, &person, id, STR("i1"), &row, w);
}

/* One of the first two: not every configuration has others. */
static struct str
random_task(void)
{
	return chance(2) ? STR("k0") : STR("k1");
}

static enum err
expire_one(struct item_tx *tx, struct str id, struct why *w)
{
	return item_expire(tx, &person, id, random_task(), chance(2), w);
}

static enum err
set_one_ttl(struct item_tx *tx, struct str id, struct why *w)
{
	enum item_effect effect;

	return item_ttl_set(tx, &person, id, random_task(), chance(2) ?
	    RESULT_TTL_NEVER : 60 * US_PER_S, &effect, w);
}

/* -- Runs -- */

/* The configuration in force maps a leased pair, by a tag of the item. */
static void
check_lease(const struct work_lease *l)
{
	const struct task *task = task_find(item_store_config(t.items.store),
	    str_of(l->task));
	struct item_row *item;
	bool mapped = false;

	assert_non_null(task);
	work_begin(&t);
	MUST(item_tx_find(t.items.tx, str_of(l->id), &item, w));
	for (size_t i = 0; i < item->tags_n; i++)
		for (size_t k = 0; k < task->tags_n; k++)
			mapped |= str_eq(item->tags[i].name, task->tags[k]);
	assert_true(mapped);
	work_commit(&t);
}

static void
claim_some(void)
{
	size_t room = LEASES - leases_n;

	if (room == 0)
		return;
	size_t n = work_claim(&t, 1 + below((unsigned)room), leases +
	    leases_n);
	for (size_t i = 0; i < n; i++)
		check_lease(&leases[leases_n + i]);
	leases_n += n;
}

static const char *
random_outcome(void)
{
	static const char *const outcomes[] = {
		"'outcome':'success'",
		"'outcome':'success'",
		"'outcome':'success','mutations':[{'op':'expire'}]",
		"'outcome':'success','mutations':[{'op':'setTTL','ttl':'5m'}]",
		"'outcome':'success','mutations':[{'op':'updateTags',"
		    "'add':['t1'],'remove':['t0']}]",
		"'outcome':'success','mutations':[{'op':'deleteItem'}]",
		"'outcome':'success','mutations':[{'op':'createItem',"
		    "'id':'i3','tags':['t0','t2'],'data':{}}]",
		"'outcome':'success','mutations':[{'op':'mergeItem',"
		    "'into':'i2'}]",
		"'outcome':'success','mutations':[{'op':'completeFor',"
		    "'id':'i4','metadata':{}}]",
		"'outcome':'success','mutations':[{'op':'expire','id':'i5',"
		    "'taskName':'k0'}]",
		"'outcome':'failure','error':{'class':'transient',"
		    "'message':'m'}",
		"'outcome':'failure','error':{'class':'bug','message':'m'}",
		"'outcome':'failure','allowFailure':true,"
		    "'error':{'class':'bug','message':'m'}",
	};

	return outcomes[below(ARRAY_LEN(outcomes))];
}

static void
complete_one(void)
{
	if (leases_n == 0)
		return;
	size_t i = below((unsigned)leases_n);
	const char *outcome = random_outcome();
	step = arena_printf(&t.arena, "a completion of %s, task %s: %s",
	    leases[i].id, leases[i].task, outcome).p;
	work_complete(&t, leases[i].text, outcome);
	leases[i] = leases[--leases_n];
}

static void
sleep_some(void)
{
	static const int64_t ms[] = { 1000, 61000, 3600000, 90000000 };

	work_sleep(&t, ms[below(ARRAY_LEN(ms))]);
}

static void
change_some_item(void)
{
	static enum err (*const changes[])(struct item_tx *, struct str,
	    struct why *) = { create_one, create_one, create_one, delete_one,
		tag_one, tag_one, merge_one, rename_one, expire_one,
		set_one_ttl };

	change_item(changes[below(ARRAY_LEN(changes))]);
}

static const struct {
	const char *name;
	void (*run)(void);
	unsigned weight;
} steps[] = {
	{ "a change of an item", change_some_item, 6 },
	{ "a claim", claim_some, 4 },
	{ "a completion", complete_one, 8 },
	{ "a sleep", sleep_some, 1 },
	{ "a load", load_random, 1 },
	{ "a chunk", rewrite_chunk, 3 },
	{ "a restart", reopen_store, 1 },
};

static void
take_step(void)
{
	unsigned all = 0, at = 0;

	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		all += steps[i].weight;
	unsigned n = below(all);
	while (n >= steps[at].weight)
		n -= steps[at++].weight;
	step = steps[at].name;
	steps[at].run();
}

static void
random_steps_leave_a_clean_store(void **state)
{
	const char *seed = getenv("ARGIOPE_SEED");

	(void)state;
	clock_random(&random_state, sizeof(random_state));
	if (seed != NULL)
		str_to_u64(str_of(seed), &random_state);
	print_message("ARGIOPE_SEED=%" PRIu64 "\n", random_state);
	t = (struct work_test){ .arena = ARENA_INIT };
	items_test_open(&t.items, NULL);
	load_random();
	for (unsigned i = 0; i < STEPS; i++) {
		take_step();
		check_store();
	}
	work_close(&t);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_steps_leave_a_clean_store),
	};

	return items_test_main(argc, argv, tests);
}
