/*
 * Where claims start to read: no pair is missed that this daemon has made due,
 * and those of another daemon are seen in time.  The clock of full scans stands
 * still, so that none of them makes up for a cursor that is wrong.
 */
#include "engine/items/claim_cursor.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/hash.h"
#include "engine/items/generation.h"
#include "engine/items/item_store_own.h"
#include "engine/items/worklist_own.h"
#include "engine/items/worklist_testing.h"
#include "os/clock.h"

static struct work_test t;
static struct mono mono;

static struct mono
test_mono(void)
{
	return mono;
}

static void
pass_ms(int64_t ms)
{
	mono = mono_add_ms(mono, ms);
}

/* -- Ranges, beside a list of keys -- */

#define KEYS 40

static struct claim_key
key_of(int i)
{
	return (struct claim_key){ i / 8, i % 8 + 1 };
}

/* Every key that may be due is read, and no key twice. */
static void
check_scan(const struct claim_cursor *c, const bool *empty)
{
	const struct claim_key end = key_of(KEYS - 1);
	struct claim_key at = CLAIM_KEY_FIRST;
	unsigned reads[KEYS] = { 0 };

	while (claim_key_before(at, end)) {
		at = claim_cursor_next(c, at);
		struct claim_key until = claim_cursor_until(c, at, end);

		for (int i = 0; i < KEYS; i++)
			reads[i] += claim_key_before(at, key_of(i)) &&
			    !claim_key_before(until, key_of(i));
		at = claim_key_before(at, until) ? until : end;
	}
	for (int i = 0; i < KEYS; i++) {
		assert_true(reads[i] == 1 || (reads[i] == 0 && empty[i]));
		assert_true(empty[i] || reads[i] == 1);
	}
}

static void
ranges_hide_only_what_is_empty(void **state)
{
	struct claim_cursors all = { .claims = 0 };
	struct claim_cursor c = { .low = CLAIM_KEY_FIRST,
	    .from = CLAIM_KEY_FIRST, .to = CLAIM_KEY_FIRST };
	bool empty[KEYS] = { false };
	uint64_t random = 1;

	(void)state;
	for (int step = 0; step < 20000; step++) {
		random = hash_u64(random + 1);
		int a = (int)(random % KEYS), b = (int)(random / KEYS % KEYS);
		bool begin = random / 4096 % 4 == 0;

		if (random / 65536 % 2 == 0) {
			claim_cursor_cut(&c, key_of(a));
			empty[a] = false;
		} else {
			struct claim_key after = begin ? CLAIM_KEY_FIRST :
			    key_of(a);

			if (random / 131072 % 2 == 0)
				claim_cursor_extend(&all, &c, after,
				    key_of(b));
			else
				claim_cursor_extend_empty(&all, &c, after,
				    key_of(b));
			for (int i = begin ? 0 : a + 1; i <= b; i++)
				empty[i] = true;
		}
		check_scan(&c, empty);
	}
	assert_true(all.extended);
}

static void
assert_key(struct claim_key k, int i)
{
	assert_int_equal(k.due_ms, key_of(i).due_ms);
	assert_int_equal(k.item, key_of(i).item);
}

static void
ranges_grow_and_join(void **state)
{
	struct claim_cursors all = { .claims = 0 };
	struct claim_cursor c = { .low = CLAIM_KEY_FIRST,
	    .from = CLAIM_KEY_FIRST, .to = CLAIM_KEY_FIRST };

	(void)state;
	claim_cursor_extend(&all, &c, CLAIM_KEY_FIRST, key_of(5));
	claim_cursor_extend(&all, &c, key_of(5), key_of(9));
	assert_key(c.low, 9);
	/* The pair 10 is left; those after it are not. */
	claim_cursor_extend(&all, &c, key_of(10), key_of(11));
	claim_cursor_extend(&all, &c, key_of(11), key_of(20));
	assert_key(c.low, 9);
	assert_key(claim_cursor_next(&c, CLAIM_KEY_FIRST), 9);
	assert_key(claim_cursor_until(&c, key_of(9), key_of(39)), 10);
	assert_key(claim_cursor_next(&c, key_of(10)), 20);
	assert_key(claim_cursor_until(&c, key_of(20), key_of(39)), 39);
	/* An empty stretch elsewhere does not replace the second range. */
	claim_cursor_extend_empty(&all, &c, key_of(25), key_of(30));
	assert_key(claim_cursor_next(&c, key_of(10)), 20);
	/* The pair 10 is claimed. */
	claim_cursor_extend(&all, &c, key_of(9), key_of(10));
	assert_key(c.low, 20);
	/* A pair before all: what is after it is still known. */
	claim_cursor_cut(&c, key_of(2));
	assert_key(claim_cursor_until(&c, c.low, key_of(39)), 2);
	assert_key(claim_cursor_next(&c, key_of(2)), 20);
}

/* -- When a full scan is due -- */

static void
full_scans_have_their_share(void **state)
{
	struct claim_cursors *c = claim_cursors_new();
	struct claim_lanes *l = claim_cursors_lanes(c, 7);
	struct mono t0 = { 5 * NS_PER_S };

	(void)state;
	assert_ptr_equal(l, claim_cursors_lanes(c, 7));
	assert_true(claim_cursors_scan_is_due(c, l, CLAIM_SCAN_MS, t0));
	claim_cursors_scan(c, l, t0);
	claim_cursors_scanned(c, t0, mono_add_ms(t0, 1));
	assert_false(claim_cursors_scan_is_due(c, l, CLAIM_SCAN_MS,
	    mono_add_ms(t0, CLAIM_SCAN_MS - 1)));
	assert_true(claim_cursors_scan_is_due(c, l, CLAIM_SCAN_MS,
	    mono_add_ms(t0, CLAIM_SCAN_MS)));
	/* One that takes long is not made again so soon. */
	claim_cursors_scan(c, l, t0);
	claim_cursors_scanned(c, t0, mono_add_ms(t0, 100));
	assert_false(claim_cursors_scan_is_due(c, l, CLAIM_SCAN_MS,
	    mono_add_ms(t0, 100 + 100 * CLAIM_SCAN_SHARE - 1)));
	assert_true(claim_cursors_scan_is_due(c, l, CLAIM_SCAN_MS,
	    mono_add_ms(t0, 100 + 100 * CLAIM_SCAN_SHARE)));
	/* Unless nothing is known any more. */
	claim_cursors_undone(c);
	assert_true(claim_cursors_scan_is_due(c, l, CLAIM_SCAN_MS, t0));
	claim_cursors_free(&c);
	assert_null(c);
}

static void
lease_scans_have_their_share(void **state)
{
	struct claim_cursors *c = claim_cursors_new();
	struct mono t0 = { 5 * NS_PER_S };
	struct pair_row p = { .exists = true, .due_ms = PAIR_DUE_NONE,
	    .lease = 1, .lease_until = { 900 } };

	(void)state;
	assert_true(claim_cursors_leases_after(NULL, t0) == INT64_MIN);
	assert_true(claim_cursors_leases_after(c, t0) == INT64_MIN);
	claim_cursors_read_leases(c, INT64_MIN, 1000, t0, mono_add_ms(t0, 50));
	claim_cursors_committed(c);
	assert_int_equal(claim_cursors_leases_after(c, mono_add_ms(t0,
	    50 + 50 * CLAIM_SCAN_SHARE - 1)), 1000);
	assert_true(claim_cursors_leases_after(c, mono_add_ms(t0,
	    50 + 50 * CLAIM_SCAN_SHARE)) == INT64_MIN);
	/* The clock went back: what was read is not read again. */
	claim_cursors_read_leases(c, 1000, 800, t0, t0);
	assert_int_equal(claim_cursors_leases_after(c, t0), 1000);
	claim_cursors_wrote(c, &p);
	assert_int_equal(claim_cursors_leases_after(c, t0), 899);
	claim_cursors_undone(c);
	assert_true(claim_cursors_leases_after(c, t0) == INT64_MIN);
	claim_cursors_free(&c);
}

/* -- Claims: what this daemon makes due -- */

static int
teardown(void **state)
{
	(void)state;
	/* One that has failed is in the middle of a transaction. */
	if (t.items.tx != NULL)
		assert_int_equal(item_tx_end(&t.items.tx, ERR_STATE, NULL),
		    ERR_STATE);
	work_close(&t);
	return 0;
}

#define RUN "'run':{'$function':true},'ttl':'1h'"
#define ONE_TASK "{'tags':{'t':['a']},'tasks':{'a':{" RUN ",'version':'1'," \
	"'minInterval':'20s'}}}"

static void
put_items(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		work_item(&t, arena_printf(&t.arena, "i%u", i).p, "t");
}

static void
assert_claims(const char *id)
{
	assert_string_equal(work_claim_one(&t).id, id);
}

static void
assert_no_claim(void)
{
	struct work_lease none;

	assert_int_equal(work_claim(&t, 1, &none), 0);
}

/* All pairs are claimed and succeed, and a claim has found no more. */
static void
open_and_drain(const char *config, unsigned items)
{
	struct work_lease leases[20];

	work_open(&t, config);
	put_items(items);
	size_t n = work_claim(&t, 20, leases);
	assert_int_equal(n, items);
	for (size_t i = 0; i < n; i++)
		work_succeed(&t, leases[i].text);
	assert_no_claim();
}

static void
expired_pairs_are_claimed(void **state)
{
	(void)state;
	open_and_drain(ONE_TASK, 6);
	work_expire(&t, "i2", "a", EXPIRY_PERSON);
	work_expire(&t, "i4", "a", EXPIRY_FIRST);
	work_expire(&t, "i1", "a", EXPIRY_SCRIPT);
	assert_claims("i4");
	assert_claims("i2");
	work_expire(&t, "i0", "a", EXPIRY_FIRST);
	assert_claims("i0");
	assert_no_claim();
	work_sleep(&t, 21 * 1000);
	assert_claims("i1");
	assert_no_claim();
}

/* Those that fall due by themselves. */
static void
old_pairs_are_claimed(void **state)
{
	(void)state;
	open_and_drain(ONE_TASK, 3);
	work_sleep(&t, 3599 * 1000);
	assert_no_claim();
	work_sleep(&t, 1000);
	assert_claims("i0");
	assert_claims("i1");
	assert_claims("i2");
}

static void
new_pairs_are_claimed(void **state)
{
	(void)state;
	open_and_drain("{'tags':{'t':['a'],'s':['b']},'tasks':{'a':{" RUN
	    ",'version':'1'},'b':{" RUN ",'version':'1'}}}", 3);
	work_item(&t, "x", "t");
	work_item(&t, "y", "t");
	assert_claims("x");
	assert_claims("y");
	assert_no_claim();
	work_tag(&t, "i1", "s", NULL);
	assert_string_equal(work_claim_one(&t).task, "b");
	assert_no_claim();
}

static void
new_lanes_are_claimed(void **state)
{
	(void)state;
	open_and_drain("{'tags':{'t':['a']},'tasks':{'a':{" RUN ",'version':"
	    "'1','limits':{'tags':{'x':'1000/s burst 1000'}}}}}", 3);
	work_item(&t, "x", "t,x");
	assert_claims("x");
	assert_no_claim();
	/* A pair that is due moves to a lane that was read. */
	work_item(&t, "y", "t");
	work_item(&t, "z", "t,x");
	work_tag(&t, "y", "x", NULL);
	work_tag(&t, "z", NULL, "x");
	assert_claims("y");
	assert_claims("z");
	assert_no_claim();
}

static void
released_pairs_are_claimed(void **state)
{
	bool was;

	(void)state;
	work_open(&t, ONE_TASK);
	put_items(4);
	struct work_lease lease = work_claim_one(&t);
	assert_claims("i1");
	work_begin(&t);
	assert_int_equal(worklist_release(t.items.tx, str_of(lease.text),
	    false, &was, NULL), OK);
	work_commit(&t);
	assert_claims("i0");
	work_begin(&t);
	assert_int_equal(worklist_release_own(t.items.tx, NULL), OK);
	work_commit(&t);
	assert_claims("i0");
	assert_claims("i1");
	assert_claims("i2");
}

static void
failed_pairs_are_claimed(void **state)
{
	struct item_actor person = { .run_item = 0 };
	size_t handled, requeued;

	(void)state;
	work_open(&t, ONE_TASK);
	put_items(3);
	work_fail(&t, work_claim_one(&t).text, "permanent", "no");
	work_fail(&t, work_claim_one(&t).text, "transient", "no");
	assert_claims("i2");
	assert_no_claim();
	work_begin(&t);
	assert_int_equal(worklist_handle_task(t.items.tx, &person, STR("a"),
	    STR(""), STR("anna"), STR_NONE, true, &handled, &requeued, NULL),
	    OK);
	work_commit(&t);
	assert_claims("i0");
	assert_no_claim();
	work_sleep(&t, 40 * 1000);
	assert_no_claim();
	work_sleep(&t, 3600 * 1000);
	assert_claims("i1");
}

/* A lease that ends before the time up to which leases were read. */
static void
lost_leases_are_noticed(void **state)
{
	(void)state;
	work_open(&t, ONE_TASK);
	put_items(2);
	work_sleep(&t, 3600 * 1000);
	assert_claims("i0");
	work_sleep(&t, -1000 * 1000);
	assert_claims("i1");
	work_sleep(&t, 61 * 1000);
	assert_no_claim();
	assert_int_equal(work_failures(&t, "i1", true), 1);
	assert_int_equal(work_failures(&t, "i0", true), 0);
	work_sleep(&t, 1000 * 1000);
	assert_claims("i1");
	assert_int_equal(work_failures(&t, "i0", true), 1);
}

static void
rewritten_pairs_are_claimed(void **state)
{
	(void)state;
	open_and_drain(ONE_TASK, 3);
	work_config(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN
	    ",'version':'2'}}}");
	assert_claims("i0");
	assert_claims("i1");
	assert_claims("i2");
	assert_no_claim();
}

static void
dependents_are_claimed(void **state)
{
	(void)state;
	work_open(&t, "{'tags':{'t':['a','b']},'tasks':{'a':{" RUN
	    ",'version':'1'},'b':{" RUN ",'version':'1',"
	    "'dependsOn':['a']}}}");
	put_items(2);
	struct work_lease leases[4];
	assert_int_equal(work_claim(&t, 4, leases), 2);
	assert_no_claim();
	work_succeed(&t, leases[1].text);
	assert_claims("i1");
	assert_no_claim();
	work_succeed(&t, leases[0].text);
	assert_claims("i0");
}

/* -- Pairs that claims leave -- */

static struct claim_cursor *
cursor_of(const char *task)
{
	struct claim_lanes *l = claim_cursors_lanes(
	    t.items.store->claim_cursors, work_task(&t, task));

	assert_true(l->known);
	assert_int_equal(l->n, 1);
	return l->list[0];
}

static int64_t
key_of_item(const char *id)
{
	return items_test_number(&t.items, arena_printf(&t.arena,
	    "SELECT key FROM items WHERE id = '%s'", id).p);
}

static int64_t
skip_one(void *arg, uint32_t task, int64_t item)
{
	const int64_t *slow = arg;

	(void)task;
	return item == *slow ? 60000 : 0;
}

static void
claim_beside(struct worklist_passed *passed, int64_t *slow, const char *id)
{
	const struct str all = STR("*");
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1, .max = 1,
	    .own = true, .skip = skip_one, .arg = slow, .passed = passed };
	struct worklist_lease *leases;
	size_t n;

	work_begin(&t);
	assert_int_equal(worklist_claim(t.items.tx, &claim, &leases, &n,
	    NULL), OK);
	assert_int_equal(n, 1);
	work_assert_text(&t, leases[0].item->id, id);
	work_commit(&t);
}

/* A pair of a slow host is not lost, and what was claimed after it is not read
 * again. */
static void
skipped_pairs_stay_before_the_cursor(void **state)
{
	struct worklist_passed *passed = worklist_passed_new();

	(void)state;
	work_open(&t, ONE_TASK);
	put_items(9);
	for (int with = 0; with < 2; with++) {
		int64_t slow = key_of_item(with ? "i3" : "i0");

		claim_beside(with ? passed : NULL, &slow,
		    with ? "i4" : "i1");
		claim_beside(with ? passed : NULL, &slow,
		    with ? "i5" : "i2");
		if (t.items.url[0] != '\0') {
			struct claim_cursor *c = cursor_of("a");

			assert_true(claim_key_before(c->low,
			    (struct claim_key){ 0, slow }));
			assert_int_equal(c->from.item, slow);
			assert_int_equal(c->to.item,
			    key_of_item(with ? "i5" : "i2"));
		}
		slow = 0;
		claim_beside(NULL, &slow, with ? "i3" : "i0");
		if (t.items.url[0] != '\0')
			assert_int_equal(cursor_of("a")->low.item,
			    key_of_item(with ? "i5" : "i2"));
	}
	worklist_passed_free(&passed);
}

/* Pairs that are read ahead and not leased. */
static void
pairs_read_ahead_are_claimed(void **state)
{
	(void)state;
	work_open(&t, ONE_TASK);
	put_items(5);
	t.items.store->limits.claim_bytes_max = 3;
	struct work_lease leases[5];
	assert_int_equal(work_claim(&t, 5, leases), 2);
	assert_string_equal(leases[1].id, "i1");
	assert_int_equal(work_claim(&t, 5, leases), 2);
	assert_string_equal(leases[0].id, "i2");
	assert_int_equal(work_claim(&t, 5, leases), 1);
	assert_string_equal(leases[0].id, "i4");
}

/* -- What is taken back -- */

static void
claim_in_transaction(unsigned max, const char *first)
{
	const struct str all = STR("*");
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1,
	    .max = max, .own = true };
	struct worklist_lease *leases;
	size_t n;

	assert_int_equal(worklist_claim(t.items.tx, &claim, &leases, &n,
	    NULL), OK);
	assert_true(n > 0);
	work_assert_text(&t, leases[0].item->id, first);
}

static void
rolled_back_claims_are_made_again(void **state)
{
	(void)state;
	work_open(&t, ONE_TASK);
	put_items(6);
	assert_claims("i0");
	work_begin(&t);
	claim_in_transaction(9, "i1");
	assert_int_equal(item_tx_end(&t.items.tx, ERR_BUSY, NULL), ERR_BUSY);
	assert_claims("i1");
	assert_claims("i2");
}

static void
undone_claims_are_made_again(void **state)
{
	(void)state;
	work_open(&t, ONE_TASK);
	put_items(6);
	assert_claims("i0");
	work_begin(&t);
	struct item_mark m = item_tx_mark(t.items.tx);
	claim_in_transaction(9, "i1");
	item_tx_undo(t.items.tx, m);
	claim_in_transaction(1, "i1");
	m = item_tx_mark(t.items.tx);
	claim_in_transaction(9, "i2");
	assert_int_equal(item_tx_flush(t.items.tx, NULL), OK);
	item_tx_undo(t.items.tx, m);
	work_commit(&t);
	assert_claims("i2");
}

static void
claims_before_a_savepoint_are_made_again(void **state)
{
	(void)state;
	work_open(&t, ONE_TASK);
	put_items(6);
	assert_claims("i0");
	work_begin(&t);
	struct item_mark m = item_tx_mark(t.items.tx);
	assert_int_equal(item_tx_flush_all(t.items.tx, NULL), OK);
	claim_in_transaction(9, "i1");
	assert_int_equal(item_tx_flush(t.items.tx, NULL), OK);
	item_tx_undo(t.items.tx, m);
	claim_in_transaction(1, "i1");
	work_commit(&t);
	assert_claims("i2");
}

/* -- Another daemon -- */

static struct item_store *other;

/* False in files, which have one writer. */
static bool
open_other(void)
{
	struct item_store_options o = { .node = "other", .url = t.items.url };

	if (t.items.url[0] == '\0')
		return false;
	assert_int_equal(item_store_open(&o, &other, NULL), OK);
	assert_int_equal(generation_open(other, NULL), OK);
	return true;
}

static struct item_tx *
begin_other(void)
{
	struct item_tx *tx;

	assert_int_equal(item_tx_begin(other, t.items.now, &tx, NULL), OK);
	return tx;
}

static void
expire_by_other(const char *id)
{
	struct item_actor person = { .run_item = 0 };
	struct item_tx *tx = begin_other();
	struct item_row *item;
	struct pair_row *p;

	assert_int_equal(item_tx_find(tx, str_of(id), &item, NULL), OK);
	assert_int_equal(item_tx_pair(tx, work_task(&t, "a"), item->key, &p,
	    NULL), OK);
	assert_int_equal(worklist_expire_pair(tx, &person, item, p, true,
	    NULL), OK);
	assert_int_equal(item_tx_end(&tx, OK, NULL), OK);
}

static void
add_by_other(const char *id, const char *tag)
{
	struct item_tag_text tags[] = { { .name = STR("t") },
	    { .name = str_of(tag) } };
	struct item_create create = { .id = str_of(id), .data = STR("{}"),
	    .tags = tags, .tags_n = ARRAY_LEN(tags) };
	struct item_actor person = { .run_item = 0 };
	struct item_tx *tx = begin_other();
	enum item_effect effect;
	struct item_row *item;

	assert_int_equal(item_create(tx, &person, &create, &effect, &item,
	    NULL), OK);
	assert_int_equal(item_tx_end(&tx, OK, NULL), OK);
}

/* Claims go on with what they know, but not for long. */
static void
pairs_of_another_daemon_are_claimed_in_time(void **state)
{
	(void)state;
	work_open(&t, ONE_TASK);
	put_items(9);
	assert_claims("i0");
	if (!open_other())
		return;
	expire_by_other("i8");
	pass_ms(CLAIM_SCAN_MS - 1);
	assert_claims("i1");
	pass_ms(1);
	assert_claims("i8");
	assert_claims("i2");
	item_store_close(&other);
}

/* A claim that would get nothing looks at once. */
static void
an_idle_daemon_claims_them_sooner(void **state)
{
	(void)state;
	open_and_drain("{'tags':{'t':['a']},'tasks':{'a':{" RUN ",'version':"
	    "'1','limits':{'tags':{'x':'1000/s burst 1000'}}}}}", 3);
	if (!open_other())
		return;
	expire_by_other("i1");
	pass_ms(CLAIM_SCAN_SHORT_MS - 1);
	assert_no_claim();
	pass_ms(1);
	assert_claims("i1");
	/* Also in a lane that was not there. */
	add_by_other("x", "x");
	assert_no_claim();
	pass_ms(CLAIM_SCAN_SHORT_MS);
	assert_claims("x");
	/* One of two: the claim asks for more, and gets both. */
	work_item(&t, "own", "t");
	add_by_other("y", "x");
	pass_ms(CLAIM_SCAN_SHORT_MS);
	struct work_lease leases[3];
	assert_int_equal(work_claim(&t, 3, leases), 2);
	assert_string_equal(leases[0].id, "own");
	assert_string_equal(leases[1].id, "y");
	item_store_close(&other);
}

static struct item_tx *
lock_by_other(const char *id)
{
	struct item_tx *tx = begin_other();
	struct pair_row *p;

	assert_int_equal(item_tx_pair(tx, work_task(&t, "a"), key_of_item(id),
	    &p, NULL), OK);
	assert_true(p->exists);
	return tx;
}

static void
pairs_that_were_locked_are_claimed_in_time(void **state)
{
	(void)state;
	work_open(&t, ONE_TASK);
	put_items(9);
	if (!open_other())
		return;
	struct item_tx *tx = lock_by_other("i0");
	assert_claims("i1");
	assert_claims("i2");
	assert_int_equal(item_tx_end(&tx, OK, NULL), OK);
	pass_ms(CLAIM_SCAN_MS - 1);
	assert_claims("i3");
	pass_ms(1);
	assert_claims("i0");
	assert_claims("i4");
	item_store_close(&other);
}

/* A claim that waits sees that something is due, and is made again soon. */
static void
a_pair_that_is_locked_is_waited_for(void **state)
{
	const struct str all = STR("*");
	const struct worklist_claim claim = { .tasks = &all, .tasks_n = 1,
	    .max = 1, .own = true };
	struct worklist_lease *leases;
	struct wall at;
	size_t n;

	(void)state;
	open_and_drain(ONE_TASK, 2);
	if (!open_other())
		return;
	expire_by_other("i1");
	struct item_tx *tx = lock_by_other("i1");
	pass_ms(CLAIM_SCAN_MS);
	for (int i = 0; i < 2; i++) {
		work_begin(&t);
		assert_int_equal(worklist_claim(t.items.tx, &claim, &leases,
		    &n, NULL), OK);
		assert_int_equal(n, 0);
		assert_int_equal(worklist_next_at(t.items.tx, &claim, &at,
		    NULL), OK);
		assert_int_equal(at.us, t.items.now.us);
		work_commit(&t);
	}
	assert_int_equal(item_tx_end(&tx, OK, NULL), OK);
	pass_ms(CLAIM_SCAN_SHORT_MS);
	assert_claims("i1");
	item_store_close(&other);
}

/* The lease that another daemon's clock has let end long ago. */
static void
lost_leases_of_another_daemon_are_noticed(void **state)
{
	const struct str all = STR("*");
	const struct worklist_claim claim = { .tasks = &all, .tasks_n = 1,
	    .max = 1, .own = true };
	struct worklist_lease *leases;
	size_t n;

	(void)state;
	work_open(&t, ONE_TASK);
	put_items(2);
	assert_claims("i0");
	if (!open_other())
		return;
	work_sleep(&t, -3600 * 1000);
	struct item_tx *tx = begin_other();
	assert_int_equal(worklist_claim(tx, &claim, &leases, &n, NULL), OK);
	assert_int_equal(n, 1);
	assert_int_equal(item_tx_end(&tx, OK, NULL), OK);
	work_sleep(&t, 3600 * 1000);
	assert_no_claim();
	assert_int_equal(work_failures(&t, "i1", true), 0);
	pass_ms(CLAIM_SCAN_MS);
	assert_no_claim();
	assert_int_equal(work_failures(&t, "i1", true), 1);
	item_store_close(&other);
}

int
main(int argc, char **argv)
{
	static struct clock_table clock;
#define CASE(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_hide_only_what_is_empty),
		cmocka_unit_test(ranges_grow_and_join),
		cmocka_unit_test(full_scans_have_their_share),
		cmocka_unit_test(lease_scans_have_their_share),
		CASE(expired_pairs_are_claimed),
		CASE(old_pairs_are_claimed),
		CASE(new_pairs_are_claimed),
		CASE(new_lanes_are_claimed),
		CASE(released_pairs_are_claimed),
		CASE(failed_pairs_are_claimed),
		CASE(lost_leases_are_noticed),
		CASE(rewritten_pairs_are_claimed),
		CASE(dependents_are_claimed),
		CASE(skipped_pairs_stay_before_the_cursor),
		CASE(pairs_read_ahead_are_claimed),
		CASE(rolled_back_claims_are_made_again),
		CASE(undone_claims_are_made_again),
		CASE(claims_before_a_savepoint_are_made_again),
		CASE(pairs_of_another_daemon_are_claimed_in_time),
		CASE(an_idle_daemon_claims_them_sooner),
		CASE(pairs_that_were_locked_are_claimed_in_time),
		CASE(a_pair_that_is_locked_is_waited_for),
		CASE(lost_leases_of_another_daemon_are_noticed),
	};

	clock = clock_real;
	clock.mono = test_mono;
	mono = clock_real.mono();
	clock_use(&clock);
	return items_test_main(argc, argv, tests);
}
