/*
 * Generations: what a new configuration does to pairs and results, in one
 * transaction and in chunks, and across a restart.  The store is checked after
 * every step.
 */
#include "engine/items/generation.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "engine/items/worklist_testing.h"
#include "tests/rounds.h"

#define MUST(call)                                                           \
	do {                                                                  \
		struct why why_ = WHY_INIT, *w = &why_;                       \
		if ((call) != OK)                                             \
			fail_msg("%s:%d: %s", __FILE__, __LINE__, why_.text); \
	} while (0)

/* A task without limits, of the given version; more members may follow. */
#define TASK(name, version, rest)                                            \
	"'" name "':{'version':'" version "','run':{'$function':true},"       \
	"'retries':0,'minInterval':'0s'" rest "}"

static struct work_test t;

static int
setup(void **state)
{
	(void)state;
	t = (struct work_test){ .arena = ARENA_INIT };
	items_test_open(&t.items, NULL);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	work_close(&t);
	return 0;
}

/* -- The check -- */

static struct buf differences;

static void
note_difference(void *arg, struct str text)
{
	(void)arg;
	buf_put_str(&differences, text);
	buf_put_char(&differences, '\n');
}

/* What items_check() says, in lines. */
static const char *
check_store(uint64_t *checked)
{
	buf_clear(&differences);
	MUST(items_check(t.items.store, note_difference, NULL, checked, w));
	return buf_text(&differences);
}

static void
expect_clean(void)
{
	uint64_t checked;

	assert_string_equal(check_store(&checked), "");
	assert_int_equal(checked, items_test_number(&t.items,
	    "SELECT COUNT(*) FROM items"));
}

/* -- Loading -- */

static struct task_config *
read_config(const char *text)
{
	FREED(task_faults_free) struct task_faults faults = TASK_FAULTS_INIT;
	struct str json = work_json(&t, text);
	struct task_config *c;

	if (task_config_read(json, item_store_limits(t.items.store), &c,
	    &faults, NULL) != OK)
		fail_msg("%s\n%s", text, buf_text(&faults.text));
	c->hash = arena_printf(&c->arena, "hash of %.*s", STR_FMT(json));
	return c;
}

static enum err
try_load(const char *text, uint64_t *generation, struct why *w)
{
	items_test_begin_alone(&t.items);
	enum err e = generation_load(t.items.tx, read_config(text),
	    STR("{\"a.js\":\"\"}"), generation, w);
	return item_tx_end(&t.items.tx, e, w);
}

/* Load, without rewriting anything. */
static uint64_t
load_only(const char *text)
{
	uint64_t generation;

	MUST(try_load(text, &generation, w));
	return generation;
}

/* One chunk; whether there is more. */
static bool
rewrite_chunk(size_t max)
{
	bool more;

	items_test_begin_alone(&t.items);
	MUST(generation_rewrite(t.items.tx, max, &more, w));
	work_commit(&t);
	return more;
}

static void
rewrite_all(void)
{
	unsigned chunks = 0;

	while (rewrite_chunk(1000))
		if (++chunks > 10000)
			fail_msg("the rewriting does not end");
}

/* Load, rewrite, check. */
static uint64_t
load_config(const char *text)
{
	uint64_t generation = load_only(text);

	rewrite_all();
	expect_clean();
	return generation;
}

static void
reopen(void)
{
	items_test_reopen(&t.items);
	MUST(generation_open(t.items.store, w));
}

static void
expect_state(const char *id, const char *task, const char *state)
{
	const char *is = work_state(&t, id, task);

	if (strcmp(is, state) != 0)
		fail_msg("%s of %s is \"%s\", not \"%s\"", task, id, is,
		    state);
}

/* One pair is claimed and succeeds, or fails for good. */
static void
run_one(const char *id, const char *task, bool success)
{
	struct work_lease lease = work_claim_one(&t);

	assert_string_equal(lease.id, id);
	assert_string_equal(lease.task, task);
	if (success)
		work_succeed(&t, lease.text);
	else
		work_fail(&t, lease.text, "bug", "it is broken");
}

#define ONE "{'tags':{'x':['a']},'tasks':{" TASK("a", "1", "") "}}"

static void
a_load_makes_a_generation(void **state)
{
	(void)state;
	assert_int_equal(load_config(ONE), 1);
	assert_int_equal(item_store_config(t.items.store)->generation, 1);
	assert_int_equal(work_events(&t, "config.loaded"), 1);
	assert_int_equal(work_events(&t, "config.rewritten"), 1);
	/* The same once more changes nothing. */
	assert_int_equal(load_config(ONE), 1);
	assert_int_equal(work_events(&t, "config.loaded"), 1);
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM generations"), 1);
	reopen();
	assert_int_equal(item_store_config(t.items.store)->generation, 1);
	assert_non_null(task_find(item_store_config(t.items.store), STR("a")));
	assert_int_equal(load_config(ONE), 1);
	assert_int_equal(load_config("{}"), 2);
}

static void
a_start_without_a_configuration(void **state)
{
	(void)state;
	reopen();
	assert_int_equal(item_store_config(t.items.store)->generation, 0);
	work_item(&t, "x", "a");
	assert_false(rewrite_chunk(10));
	expect_clean();
}

static void
seeds_are_inserted_once(void **state)
{
	(void)state;
	load_config("{'seeds':[{'id':'s','tags':['x','site=eu'],'data':"
	    "{'n':1}},{'id':'bare'}],'tags':{'x':['a']},'tasks':{"
	    TASK("a", "1", "") "}}");
	expect_state("s", "a", "unprocessed 0");
	assert_int_equal(work_events(&t, "item.new"), 2);
	run_one("s", "a", true);
	expect_state("s", "a", "fresh -");
	load_config("{'seeds':[{'id':'s','tags':['x'],'data':{'n':2}},"
	    "{'id':'other'}],'tags':{'x':['a']},'tasks':{"
	    TASK("a", "1", "") "}}");
	assert_int_equal(work_events(&t, "item.new"), 3);
	expect_state("s", "a", "fresh -");
	assert_int_equal(items_test_number(&t.items, "SELECT COUNT(*) FROM"
	    " items WHERE id = 's' AND data = '{\"n\":1}'"), 1);
}

static void
pairs_follow_a_new_tag_map(void **state)
{
	(void)state;
	load_config(ONE);
	work_item(&t, "i1", "x");
	work_item(&t, "i2", "x,y");
	work_item(&t, "i3", "y");
	run_one("i1", "a", true);
	load_config("{'tags':{'x':['a'],'y':['a','b']},'tasks':{"
	    TASK("a", "1", "") "," TASK("b", "1", "") "}}");
	expect_state("i1", "a", "fresh -");
	expect_state("i3", "a", "unprocessed 0");
	expect_state("i1", "b", "");
	expect_state("i2", "b", "unprocessed 0");
	/* The tag that maps goes, then the task: rows go, results stay. */
	load_config("{'tags':{'y':['a','b']},'tasks':{"
	    TASK("a", "1", "") "," TASK("b", "1", "") "}}");
	expect_state("i1", "a", "");
	expect_state("i2", "a", "unprocessed 0");
	load_config("{'tags':{'y':['b']},'tasks':{" TASK("b", "1", "") "}}");
	expect_state("i2", "b", "unprocessed 0");
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM worklist"), 2);
	assert_true(work_result(&t, "i1", "a").exists);
	/* And back: the result counts again. */
	load_config("{'tags':{'x':['a']},'tasks':{" TASK("a", "1", "") "}}");
	expect_state("i1", "a", "fresh -");
	expect_state("i2", "a", "unprocessed 0");
}

static void
a_changed_ttl_moves_expiry(void **state)
{
	(void)state;
	load_config("{'tags':{'x':['a']},'tasks':{"
	    TASK("a", "1", ",'ttl':'1h'") "}}");
	work_item(&t, "own", "x");
	work_item(&t, "plain", "x");
	work_complete(&t, work_claim_one(&t).text, "'outcome':'success',"
	    "'mutations':[{'op':'setTTL','ttl':'2h'}]");
	run_one("plain", "a", true);
	int64_t done = work_result(&t, "plain", "a").completed_at.us;
	int64_t own = work_result(&t, "own", "a").expires_at.us;
	assert_int_equal(work_result(&t, "plain", "a").expires_at.us,
	    done + 3600 * US_PER_S);
	load_config("{'tags':{'x':['a']},'tasks':{"
	    TASK("a", "1", ",'ttl':'1d'") "}}");
	assert_int_equal(work_result(&t, "plain", "a").expires_at.us,
	    done + 86400 * US_PER_S);
	assert_int_equal(work_result(&t, "own", "a").expires_at.us, own);
	/* Of a result without a pair, too. */
	work_tag(&t, "plain", NULL, "x");
	load_config("{'tags':{'x':['a']},'tasks':{" TASK("a", "1", "") "}}");
	assert_int_equal(work_result(&t, "plain", "a").expires_at.us,
	    ITEM_TIME_NONE.us);
	load_config("{'tags':{'x':['a']},'tasks':{"
	    TASK("a", "1", ",'ttl':'cron 0 3 * * 1'") "}}");
	assert_true(work_result(&t, "plain", "a").expires_at.us > done);
	/* Another line of cron is another TTL. */
	int64_t monday = work_result(&t, "plain", "a").expires_at.us;
	load_config("{'tags':{'x':['a']},'tasks':{"
	    TASK("a", "1", ",'ttl':'cron 0 4 * * 1'") "}}");
	assert_int_equal(work_result(&t, "plain", "a").expires_at.us,
	    monday + 3600 * US_PER_S);
}

static void
a_new_version_makes_results_stale(void **state)
{
	struct work_lease lease;

	(void)state;
	load_config(ONE);
	work_item(&t, "good", "x");
	work_item(&t, "bad", "x");
	work_item(&t, "running", "x");
	run_one("good", "a", true);
	run_one("bad", "a", false);
	expect_state("bad", "a", "failed -");
	lease = work_claim_one(&t);
	load_config("{'tags':{'x':['a']},'tasks':{" TASK("a", "2", "") "}}");
	expect_state("good", "a", "stale 1");
	expect_state("bad", "a", "unprocessed 0");
	expect_state("running", "a", "leased -");
	/* It ran with the old version: stored, and stale at once. */
	work_succeed(&t, lease.text);
	expect_state("running", "a", "stale 1");
	expect_clean();
}

static void
a_renamed_tag_keeps_its_items(void **state)
{
	(void)state;
	load_config(ONE);
	work_item(&t, "i", "x=1");
	run_one("i", "a", true);
	load_config("{'migrations':[{'id':'m1','renameTag':['x','new']}],"
	    "'tags':{'new':['a']},'tasks':{" TASK("a", "1", "") "}}");
	expect_state("i", "a", "fresh -");
	/* Applied once: the name may be used again, and the item keeps its. */
	load_config("{'migrations':[{'id':'m1','renameTag':['x','new']}],"
	    "'tags':{'new':['a'],'x':['a']},'tasks':{" TASK("a", "1", "")
	    "}}");
	work_item(&t, "j", "x");
	load_config("{'migrations':[{'id':'m1','renameTag':['x','new']}],"
	    "'tags':{'x':['a']},'tasks':{" TASK("a", "1", "") "}}");
	expect_state("i", "a", "");
	expect_state("j", "a", "unprocessed 0");
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM migrations"), 1);
}

static void
a_renamed_tag_rewrites_nothing(void **state)
{
	struct generation_progress p;

	(void)state;
	load_config(ONE);
	work_item(&t, "i", "x");
	load_only("{'migrations':[{'id':'m1','renameTag':['x','new']}],"
	    "'tags':{'new':['a']},'tasks':{" TASK("a", "1", "") "}}");
	MUST(generation_progress(t.items.store, 0, &p, w));
	assert_int_equal(p.tasks, 0);
	expect_clean();
	assert_int_equal(work_events(&t, "config.rewritten"), 2);
}

static void
a_renamed_task_keeps_its_results(void **state)
{
	(void)state;
	load_config("{'tags':{'x':['a']},'tasks':{"
	    TASK("a", "1", ",'limits':{'tags':{'x':'9/s'}}") "}}");
	work_item(&t, "i", "x");
	work_item(&t, "j", "x");
	run_one("i", "a", true);
	load_only("{'migrations':[{'id':'m1','renameTask':['a','b']}],"
	    "'tags':{'x':['b']},'tasks':{"
	    TASK("b", "1", ",'limits':{'tags':{'x':'9/s'}}") "}}");
	expect_clean();
	expect_state("i", "b", "fresh -");
	work_sleep(&t, 1000);
	run_one("j", "b", true);
	/* A new task of the old name knows nothing of it. */
	load_config("{'tags':{'x':['a','b']},'tasks':{"
	    TASK("a", "1", "") ","
	    TASK("b", "1", ",'limits':{'tags':{'x':'9/s'}}") "}}");
	expect_state("i", "a", "unprocessed 0");
	expect_state("i", "b", "fresh -");
}

static void
migrations_go_in_order(void **state)
{
	(void)state;
	load_config("{'tags':{'x':['a'],'y':['b']},'tasks':{"
	    TASK("a", "1", "") "," TASK("b", "1", "") "}}");
	work_item(&t, "i", "x");
	work_item(&t, "j", "y");
	/* Both names change places. */
	load_config("{'migrations':[{'id':'1','renameTag':['x','z']},"
	    "{'id':'2','renameTag':['y','x']},"
	    "{'id':'3','renameTag':['z','y']}],"
	    "'tags':{'y':['a'],'x':['b']},'tasks':{"
	    TASK("a", "1", "") "," TASK("b", "1", "") "}}");
	expect_state("i", "a", "unprocessed 0");
	expect_state("i", "b", "");
	expect_state("j", "b", "unprocessed 0");
}

static void
a_rename_does_not_merge(void **state)
{
	struct why w = WHY_INIT;
	uint64_t generation;

	(void)state;
	load_config("{'tags':{'x':['a'],'y':['b']},'tasks':{"
	    TASK("a", "1", "") "," TASK("b", "1", "") "}}");
	work_item(&t, "i", "x");
	work_item(&t, "j", "y");
	assert_int_equal(try_load("{'migrations':[{'id':'1','renameTag':"
	    "['x','y']}],'tasks':{" TASK("c", "1", "") "}}", &generation, &w),
	    ERR_INPUT);
	assert_string_equal(w.field, "migrations[0].renameTag");
	assert_string_equal(w.text, "migrations[0].renameTag: \"y\" is in use "
	    "by items, and a rename does not merge");
	w = WHY_INIT;
	assert_int_equal(try_load("{'migrations':[{'id':'0','renameTag':"
	    "['no','nothing']},{'id':'1','renameTask':['a','b']}]}",
	    &generation, &w), ERR_INPUT);
	assert_string_equal(w.field, "migrations[1].renameTask");
	/* The old one stays, whole. */
	assert_int_equal(item_store_config(t.items.store)->generation, 1);
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM generations"), 1);
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM migrations"), 0);
	expect_clean();
	work_succeed(&t, work_claim_one(&t).text);
	expect_clean();
}

static void
a_rename_onto_an_unused_name(void **state)
{
	(void)state;
	load_config(ONE);
	work_item(&t, "i", "x");
	/* The migration was forgotten, and is made up for. */
	load_config("{'tags':{'new':['a']},'tasks':{" TASK("a", "1", "")
	    "}}");
	expect_state("i", "a", "");
	load_config("{'migrations':[{'id':'m','renameTag':['x','new']}],"
	    "'tags':{'new':['a']},'tasks':{" TASK("a", "1", "") "}}");
	expect_state("i", "a", "unprocessed 0");
}

static void
changed_dependencies_free_blocked_pairs(void **state)
{
	struct work_lease none;

	(void)state;
	load_config("{'tags':{'x':['b']},'tasks':{" TASK("a", "1", "") ","
	    TASK("b", "1", ",'dependsOn':['a']") "}}");
	work_item(&t, "i", "x");
	assert_int_equal(work_claim(&t, 1, &none), 0);
	expect_state("i", "b", "blocked -");
	expect_clean();
	load_config("{'tags':{'x':['b']},'tasks':{" TASK("a", "1", "") ","
	    TASK("b", "1", "") "}}");
	expect_state("i", "b", "unprocessed 0");
}

static void
lanes_follow_the_limits(void **state)
{
	(void)state;
	load_config(ONE);
	work_item(&t, "i", "x,site=eu");
	work_item(&t, "j", "x");
	uint32_t lane = work_pair(&t, "i", "a").lane;
	load_config("{'tags':{'x':['a']},'tasks':{"
	    TASK("a", "1", ",'limits':{'tags':{'site=eu':'1/s'}}") "}}");
	assert_int_not_equal(work_pair(&t, "i", "a").lane, lane);
	assert_int_equal(work_pair(&t, "j", "a").lane, lane);
}

/* -- In chunks -- */

/* `n` items "i0", "i1" ... in one transaction; odd ones are tagged "odd". */
static void
make_items(unsigned n)
{
	const struct item_actor nobody = { .run_item = 0 };

	work_begin(&t);
	for (unsigned i = 0; i < n; i++) {
		const struct item_tag_text tag = {
			i % 2 != 0 ? STR("odd") : STR("even"), STR_NONE };
		char id[16];
		snprintf(id, sizeof(id), "i%u", i);
		const struct item_create create = { .id = str_of(id),
			.data = STR("{}"), .tags = &tag, .tags_n = 1 };
		enum item_effect effect;
		struct item_row *row;
		MUST(item_create(t.items.tx, &nobody, &create, &effect, &row,
		    w));
	}
	work_commit(&t);
}

#define BOTH(version)                                                        \
	"{'tags':{'odd':['a'],'even':['a']},'tasks':{" TASK("a", version, "") \
	"}}"
#define ODD "{'tags':{'odd':['a']},'tasks':{" TASK("a", "1", "") "}}"

static void
a_restart_goes_on_with_rewriting(void **state)
{
	struct generation_progress p;

	(void)state;
	make_items(100);
	assert_int_equal(load_only(BOTH("1")), 1);
	MUST(generation_progress(t.items.store, 0, &p, w));
	assert_true(p.tasks == 1 && p.done == 0 && p.total == 100);
	for (unsigned left = 10; left > 0; left--) {
		assert_int_equal(rewrite_chunk(10), left > 1);
		reopen();
		assert_int_equal(item_store_config(t.items.store)->generation,
		    1);
		MUST(generation_progress(t.items.store, 0, &p, w));
		assert_int_equal(p.done, left > 1 ? 110 - left * 10 : 0);
		assert_int_equal(items_test_number(&t.items,
		    "SELECT COUNT(*) FROM worklist"), 110 - left * 10);
		assert_int_equal(work_events(&t, "config.rewritten"),
		    left == 1);
		expect_clean();
	}
	assert_int_equal(p.tasks, 0);
}

static void
a_chunk_that_is_rolled_back_is_done_again(void **state)
{
	bool more;

	(void)state;
	make_items(20);
	load_only(BOTH("1"));
	rewrite_chunk(5);
	items_test_begin_alone(&t.items);
	MUST(generation_rewrite(t.items.tx, 5, &more, w));
	assert_int_equal(item_tx_end(&t.items.tx, ERR_STATE, NULL), ERR_STATE);
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM worklist"), 5);
	expect_clean();
	rewrite_all();
	expect_clean();
}

static void
a_load_between_chunks(void **state)
{
	(void)state;
	make_items(40);
	load_only(BOTH("1"));
	assert_true(rewrite_chunk(15));
	load_only(ODD);
	assert_int_equal(work_events(&t, "config.rewritten"), 0);
	assert_true(rewrite_chunk(15));
	expect_clean();
	rewrite_all();
	expect_clean();
	assert_int_equal(work_events(&t, "config.rewritten"), 1);
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM worklist"), 20);
}

static void
a_load_that_is_rolled_back_never_was(void **state)
{
	uint64_t generation;
	struct generation_progress p;

	(void)state;
	make_items(4);
	load_config(BOTH("1"));
	items_test_begin_alone(&t.items);
	MUST(generation_load(t.items.tx, read_config(ODD), STR("{}"),
	    &generation, w));
	assert_int_equal(generation, 2);
	assert_int_equal(item_tx_end(&t.items.tx, ERR_STATE, NULL), ERR_STATE);
	assert_int_equal(item_store_config(t.items.store)->generation, 1);
	MUST(generation_progress(t.items.store, 0, &p, w));
	assert_int_equal(p.tasks, 0);
	expect_clean();
	/* PostgreSQL does not use the number again. */
	assert_true(load_config(ODD) >= 2);
}

/* Items of the claim whose number is even. */
static unsigned
claim_and_complete(unsigned max, unsigned *evens)
{
	struct work_lease leases[64];
	size_t n = work_claim(&t, MIN(max, 64u), leases);

	for (size_t i = 0; i < n; i++)
		*evens += (leases[i].id[strlen(leases[i].id) - 1] - '0') % 2 ==
		    0;
	for (size_t i = 0; i < n; i++)
		work_succeed(&t, leases[i].text);
	return (unsigned)n;
}

static void
claims_see_the_new_configuration_at_once(void **state)
{
	unsigned evens = 0;

	(void)state;
	make_items(200);
	load_config(BOTH("1"));
	load_only(ODD);
	/* Nothing is rewritten so far. */
	assert_int_equal(claim_and_complete(50, &evens), 50);
	assert_int_equal(evens, 0);
	expect_clean();
	assert_true(rewrite_chunk(20));
	assert_int_equal(claim_and_complete(64, &evens), 50);
	assert_int_equal(evens, 0);
	rewrite_all();
	expect_clean();
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM worklist WHERE state = 2"), 100);
}

/* `b` needs a result of `a` that is not expired. */
static const char *
chain_config(const char *ttl)
{
	return arena_printf(&t.arena, "{'tags':{'x':['a','b']},'tasks':{"
	    TASK("a", "1", ",'ttl':'%s'") ","
	    TASK("b", "1", ",'dependsOn':['a']") "}}", ttl).p;
}

static void
a_shorter_ttl_of_a_dependency_counts_at_once(void **state)
{
	struct work_lease none;

	(void)state;
	load_config(chain_config("1d"));
	work_item(&t, "i", "x");
	work_complete(&t, work_claim_one(&t).text, "'outcome':'success'");
	work_sleep(&t, 2 * 3600 * 1000);
	load_only(chain_config("1h"));
	assert_int_equal(work_claim(&t, 2, &none), 0);
	expect_state("i", "b", "blocked -");
	rewrite_all();
	run_one("i", "a", true);
	run_one("i", "b", true);
}

/* Half of them go.  PostgreSQL, where each takes longer, gets a fifth. */
#define PAIRS ROUNDS(t.items.url[0] == '\0' ? 100000u : 20000u)

static void
many_pairs_while_claims_go_on(void **state)
{
	unsigned evens = 0, claimed = 0, chunks = 0;
	uint64_t checked;
	bool more = true;

	(void)state;
	make_items(PAIRS);
	load_only(BOTH("1"));
	rewrite_all();
	load_only(ODD);
	while (more) {
		more = rewrite_chunk(1000);
		claimed += claim_and_complete(20, &evens);
		if (++chunks % (PAIRS / 2500) == 0)
			assert_string_equal(check_store(&checked), "");
	}
	assert_int_equal(chunks, PAIRS / 1000);
	assert_int_equal(claimed, chunks * 20);
	assert_int_equal(evens, 0);
	expect_clean();
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM worklist"), PAIRS / 2);
	assert_int_equal(items_test_number(&t.items, "SELECT fresh FROM"
	    " task_state"), claimed);
}

/* -- Old ones -- */

static const char *
generations(void)
{
	static char text[64];

	snprintf(text, sizeof(text), "%lld of %lld",
	    (long long)items_test_number(&t.items,
	    "SELECT COUNT(*) FROM generations"),
	    (long long)items_test_number(&t.items,
	    "SELECT MAX(id) FROM generations"));
	return text;
}

/* Records are read one at a time. */
static void
prune(struct generation_sweep *s, unsigned steps)
{
	while (steps-- > 0) {
		work_begin(&t);
		MUST(generation_prune(t.items.tx, s, 1, w));
		work_commit(&t);
	}
}

static void
what_no_record_names_goes(void **state)
{
	struct generation_sweep s = { .n = 0 };

	(void)state;
	make_items(2);
	load_config(BOTH("1"));
	struct work_lease first = work_claim_one(&t);
	load_config(BOTH("2"));
	load_config(BOTH("3"));
	run_one("i1", first.task, true);
	load_config(BOTH("4"));
	load_config(BOTH("5"));
	prune(&s, 5);
	assert_string_equal(generations(), "5 of 5");
	work_sleep(&t, 23 * 3600 * 1000);
	s.rests_until_us = 0;
	prune(&s, 5);
	assert_string_equal(generations(), "5 of 5");
	/* The first has a lease, the third a record, the last is in force. */
	work_sleep(&t, 2 * 3600 * 1000);
	prune(&s, 5);
	assert_string_equal(generations(), "3 of 5");
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM generations WHERE id IN (1, 3, 5)"), 3);
	/* With the item its lease goes. */
	work_delete(&t, first.id);
	work_sleep(&t, 2 * 3600 * 1000);
	prune(&s, 5);
	assert_string_equal(generations(), "2 of 5");
}

/* -- Two daemons -- */

/* As each transaction of a daemon begins. */
static void
follow(struct item_store *st)
{
	struct item_tx *tx;

	MUST(item_tx_begin(st, t.items.now, &tx, w));
	MUST(generation_follow(tx, w));
	MUST(item_tx_end(&tx, OK, w));
}

static struct item_store *
open_other(void)
{
	const struct item_store_options o = { .url = t.items.url,
		.node = "other" };
	struct item_store *other;

	MUST(item_store_open(&o, &other, w));
	MUST(generation_open(other, w));
	return other;
}

/* The other daemon's is the store of the test, until it is called again. */
static void
change_daemons(struct item_store **other)
{
	struct item_store *mine = t.items.store;

	t.items.store = *other;
	*other = mine;
}

static bool
rewrite_by(struct item_store *st, size_t max)
{
	struct item_tx *tx;
	bool more;

	MUST(item_tx_begin(st, t.items.now, &tx, w));
	MUST(generation_rewrite(tx, max, &more, w));
	MUST(item_tx_end(&tx, OK, w));
	return more;
}

/* Only a server has two of them. */
static void
another_daemon_loads(void **state)
{
	struct work_lease none;

	(void)state;
	if (t.items.url[0] == '\0')
		skip();
	make_items(40);
	load_config(BOTH("1"));
	struct item_store *other = open_other();
	follow(other);
	assert_false(item_store_is_outdated(other));
	load_only(ODD);
	/* The other one leaves pairs alone until it knows the configuration. */
	assert_false(rewrite_by(other, 10));
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM worklist"), 40);
	follow(t.items.store);
	assert_false(item_store_is_outdated(t.items.store));
	follow(other);
	assert_true(item_store_is_outdated(other));
	/* Then it keeps its rules, and runs nothing until it has loaded it. */
	assert_true(rewrite_by(other, 30));
	change_daemons(&other);
	assert_int_equal(work_claim(&t, 1, &none), 0);
	load_only(ODD);
	assert_false(item_store_is_outdated(t.items.store));
	assert_int_equal(work_claim(&t, 1, &none), 1);
	change_daemons(&other);
	/* Both go on where the row says. */
	assert_false(rewrite_chunk(30));
	assert_false(rewrite_by(other, 30));
	item_store_close(&other);
	expect_clean();
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM worklist"), 20);
}

/* A run that began before the load ends by a daemon that has not loaded it,
 * when the rewriting has passed its pair. */
static void
an_outdated_daemon_completes(void **state)
{
	(void)state;
	if (t.items.url[0] == '\0')
		skip();
	make_items(1);
	load_config(BOTH("1"));
	struct item_store *other = open_other();
	struct work_lease lease = work_claim_one(&t);
	load_config(BOTH("2"));
	change_daemons(&other);
	follow(t.items.store);
	work_succeed(&t, lease.text);
	assert_true(item_store_is_outdated(t.items.store));
	change_daemons(&other);
	item_store_close(&other);
	expect_state(lease.id, lease.task, "stale 1");
	expect_clean();
}

int
main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_load_makes_a_generation),
		TEST(a_start_without_a_configuration),
		TEST(seeds_are_inserted_once),
		TEST(pairs_follow_a_new_tag_map),
		TEST(a_changed_ttl_moves_expiry),
		TEST(a_new_version_makes_results_stale),
		TEST(a_renamed_tag_keeps_its_items),
		TEST(a_renamed_tag_rewrites_nothing),
		TEST(a_renamed_task_keeps_its_results),
		TEST(migrations_go_in_order),
		TEST(a_rename_does_not_merge),
		TEST(a_rename_onto_an_unused_name),
		TEST(changed_dependencies_free_blocked_pairs),
		TEST(lanes_follow_the_limits),
		TEST(a_restart_goes_on_with_rewriting),
		TEST(a_chunk_that_is_rolled_back_is_done_again),
		TEST(a_load_between_chunks),
		TEST(a_load_that_is_rolled_back_never_was),
		TEST(claims_see_the_new_configuration_at_once),
		TEST(a_shorter_ttl_of_a_dependency_counts_at_once),
		TEST(many_pairs_while_claims_go_on),
		TEST(what_no_record_names_goes),
		TEST(another_daemon_loads),
		TEST(an_outdated_daemon_completes),
	};

	int failed = items_test_main(argc, argv, tests);
	buf_free(&differences);
	return failed;
}
