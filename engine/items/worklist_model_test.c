/*
 * The worklist beside a plain model of it in memory.
 *
 * Random tags, expiries, claims, completions, failures, clock jumps, restarts
 * and new versions; after each step every pair's state, due time and result are
 * compared with the model's, which derives them from scratch.  No pair may be
 * leased twice.  ARGIOPE_SEED repeats what a printed seed has done.
 */
#include "engine/items/worklist_testing.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/hash.h"
#include "engine/items/worklist_own.h"
#include "os/clock.h"

#define ITEMS 10
#define TASKS 4
#define STEPS 500
#define ROUNDS 3u
#define MIN_MS 20000
#define TTL_MS 3600000
#define NONE INT64_MIN

static const char *const task_names[TASKS] = { "a", "b", "c", "d" };
/* Which tags map a task: t0 maps a and b, t1 maps c, t2 maps a and d. */
static const unsigned task_tags[TASKS] = { 1 | 4, 1, 2, 4 };
#define DEPENDENT 1              /* b depends on a */
#define LIMITED 2                /* c: at most 2 at a time */
#define LIMIT 2
#define RATED 3                  /* d: its bucket is full again within 1 ms */

struct model_pair {
	bool mapped;
	enum pair_state state;
	int64_t due;                 /* ms, or NONE */
	unsigned attempt;
	bool again;
	char lease[LEASE_TEXT_BYTES + 1];    /* "": none */
	int64_t lease_until;         /* us */
	unsigned lease_version;
	char done_lease[LEASE_TEXT_BYTES + 1];
	/* Its result. */
	bool has, success, invalid;
	unsigned version;
	int64_t completed, expires;  /* us, or NONE */
	int metadata;
};

static struct model {
	unsigned version;
	struct {
		bool exists;
		unsigned tags;
		struct model_pair pairs[TASKS];
	} items[ITEMS];
} model;

static struct work_test t;
static uint64_t random_state;
static char lost_lease[LEASE_TEXT_BYTES + 1];
static bool clock_went_back;     /* in this round */
static bool no_scans;            /* claims know all by themselves */

static uint64_t
draw(uint64_t n)
{
	random_state = hash_u64(random_state + 0x9e3779b97f4a7c15u);
	return random_state % n;
}

/* Where it stands still, no full scan finds what a claim has forgotten. */
static struct mono
model_mono(void)
{
	return no_scans ? (struct mono){ 1 } : clock_real.mono();
}

static const char *
item_id(size_t i)
{
	return arena_printf(&t.arena, "i%zu", i).p;
}

/* -- The model -- */

static int64_t
ceil_ms(int64_t us)
{
	return us == NONE ? NONE : (us + 999) / 1000;
}

static bool
model_fresh(const struct model_pair *p, int64_t now)
{
	return p->has && p->success && !p->invalid && p->completed != NONE &&
	    p->version == model.version &&
	    (p->expires == NONE || ceil_ms(p->expires) > now / 1000);
}

static bool
model_met(size_t item, size_t task, int64_t now)
{
	return task != DEPENDENT ||
	    model_fresh(&model.items[item].pairs[0], now);
}

static void
set_plan(struct model_pair *p, enum pair_state state, int64_t due)
{
	if (p->state != state || p->due != PAIR_DUE_FIRST)
		p->due = due;
	p->state = state;
}

static void
model_derive(struct model_pair *p, int64_t now)
{
	int64_t due = PAIR_DUE_STALE;

	if (p->lease[0] != '\0') {
		p->state = PAIR_LEASED;
		p->due = NONE;
		return;
	}
	if (p->attempt > 0 && p->has && !p->success &&
	    p->version == model.version &&
	    !(p->state == PAIR_FAILED && p->invalid)) {
		if (p->state == PAIR_FAILED)
			p->due = NONE;
		else if (p->state != PAIR_RETRY)
			set_plan(p, PAIR_RETRY, ceil_ms(now));
		return;
	}
	p->attempt = 0;
	if (!p->has || p->completed == NONE)
		set_plan(p, PAIR_UNPROCESSED, PAIR_DUE_UNPROCESSED);
	else if (!p->success || p->invalid || p->version != model.version) {
		if (p->state == PAIR_STALE && p->due > PAIR_DUE_STALE &&
		    p->invalid && p->version == model.version)
			due = MIN(p->due, ceil_ms(p->completed) + MIN_MS);
		set_plan(p, PAIR_STALE, due);
	} else
		set_plan(p, PAIR_FRESH, ceil_ms(p->expires));
}

/* All pairs, as rewriting and re-arming leave them. */
static void
model_settle(int64_t now)
{
	for (size_t i = 0; i < ITEMS; i++)
		for (size_t k = 0; k < TASKS; k++) {
			struct model_pair *p = &model.items[i].pairs[k];

			if (p->mapped && (p->state != PAIR_BLOCKED ||
			    model_met(i, k, now)))
				model_derive(p, now);
		}
}

static void
model_follow_tags(size_t item)
{
	for (size_t k = 0; k < TASKS; k++) {
		struct model_pair *p = &model.items[item].pairs[k];
		bool mapped = (model.items[item].tags & task_tags[k]) != 0;

		if (mapped == p->mapped)
			continue;
		p->mapped = mapped;
		p->state = PAIR_UNPROCESSED;
		p->due = 0;
		p->attempt = 0;
		p->again = false;
		p->lease[0] = p->done_lease[0] = '\0';
	}
}

static void
model_put_off(struct model_pair *p)
{
	p->invalid = true;
	if (p->attempt > 0 || p->completed == NONE)
		return;
	p->state = PAIR_STALE;
	p->due = ceil_ms(p->completed) + MIN_MS;
}

static void
model_expire(size_t item, size_t task, enum pair_expiry how, int64_t now)
{
	struct model_pair *p = &model.items[item].pairs[task];
	bool script = how == EXPIRY_SCRIPT;

	p->invalid = p->has;
	if (!p->mapped)
		return;
	if (p->lease[0] != '\0') {
		p->again = true;
		return;
	}
	if (!script && p->state == PAIR_STALE && p->due > PAIR_DUE_STALE)
		p->due = PAIR_DUE_STALE;
	if (p->state == PAIR_FAILED || p->state == PAIR_FRESH) {
		if (p->state == PAIR_FAILED) {
			p->attempt = 0;
			p->state = PAIR_UNPROCESSED;
			p->due = 0;
		}
		if (script && p->completed != NONE &&
		    p->completed + MIN_MS * 1000 > now)
			model_put_off(p);
	}
	/* A clock that went back may have made its dependency fresh again. */
	if (p->state != PAIR_BLOCKED || model_met(item, task, now))
		model_derive(p, now);
	if (how == EXPIRY_FIRST && p->due != NONE)
		p->due = PAIR_DUE_FIRST;
}

/* The run has failed, or its lease was `lost`. */
static void
model_fail(size_t item, size_t task, bool retry, bool stored, bool lost,
    int64_t now)
{
	struct model_pair *p = &model.items[item].pairs[task];
	bool again = p->again;

	if (!p->has) {
		p->has = true;
		p->completed = p->expires = NONE;
		p->metadata = 0;
	}
	if (stored) {
		p->completed = now;
		p->expires = now + TTL_MS * INT64_C(1000);
	}
	p->success = false;
	p->version = p->lease_version;
	if (!lost)
		memcpy(p->done_lease, p->lease, sizeof(p->lease));
	p->lease[0] = '\0';
	p->again = false;
	p->attempt++;
	p->state = retry && p->attempt <= 10 ? PAIR_RETRY : PAIR_FAILED;
	p->due = retry ? 0 : NONE;   /* read from the store */
	p->invalid = again;
	model_derive(p, now);
}

static void
model_succeed(size_t item, size_t task, int metadata, int64_t ttl_ms,
    bool expire, int64_t now)
{
	struct model_pair *p = &model.items[item].pairs[task];
	bool again = p->again;

	p->has = p->success = true;
	p->invalid = false;
	p->version = p->lease_version;
	p->completed = now;
	p->expires = now + ttl_ms * 1000;
	if (metadata != 0)
		p->metadata = metadata;
	memcpy(p->done_lease, p->lease, sizeof(p->lease));
	p->lease[0] = '\0';
	p->again = false;
	p->attempt = 0;
	if (again || expire)
		model_put_off(p);
	model_derive(p, now);
}

/* -- Comparison -- */

static void
read_rows(size_t i, size_t k, struct pair_row **p, struct result_row **r)
{
	struct alias_row *a;

	assert_int_equal(item_tx_alias(t.items.tx, str_of(item_id(i)), &a,
	    NULL), OK);
	assert_int_equal(a->exists, model.items[i].exists);
	assert_int_equal(item_tx_pair(t.items.tx, work_task(&t,
	    task_names[k]), a->exists ? a->item : 0, p, NULL), OK);
	assert_int_equal(item_tx_result(t.items.tx, work_task(&t,
	    task_names[k]), a->exists ? a->item : 0, r, NULL), OK);
}

static void
compare_result(const struct model_pair *m, const struct result_row *r)
{
	char text[32];

	assert_int_equal(r->exists, m->has);
	if (!m->has)
		return;
	snprintf(text, sizeof(text), "%u", m->version);
	assert_true(str_eq(r->task_version, str_of(text)));
	assert_int_equal(r->is_successful, m->success);
	assert_int_equal(r->is_invalidated, m->invalid);
	assert_true(r->completed_at.us == m->completed);
	assert_true(r->expires_at.us == m->expires);
	snprintf(text, sizeof(text), "{\"m\":%d}", m->metadata);
	assert_true(str_eq(r->metadata,
	    str_of(m->metadata == 0 ? "{}" : text)));
}

/* A retry's time is the store's own; how far off it may be is a unit test's. */
static void
compare_pair(size_t i, size_t k)
{
	struct model_pair *m = &model.items[i].pairs[k];
	struct result_row *r;
	struct pair_row *p;

	read_rows(i, k, &p, &r);
	assert_int_equal(p->exists, m->mapped);
	compare_result(m, r);
	if (!m->mapped)
		return;
	if (m->state == PAIR_RETRY && m->due == 0) {
		assert_true(p->due_ms > t.items.now.us / 1000);
		m->due = p->due_ms;
	}
	/* A dependency that the clock made fresh again is not noticed before it
	 * is settled. */
	if (clock_went_back && k == DEPENDENT && p->state == PAIR_BLOCKED &&
	    m->state != PAIR_LEASED) {
		m->state = PAIR_BLOCKED;
		m->due = NONE;
	}
	if (p->state != m->state || p->due_ms != m->due ||
	    p->attempt != m->attempt || p->again != m->again)
		fail_msg("%s of i%zu is %s %" PRId64 " after %u%s, not %s %"
		    PRId64 " after %u%s", task_names[k], i,
		    pair_state_text(p->state), p->due_ms, p->attempt,
		    p->again ? ", again" : "", pair_state_text(m->state),
		    m->due, m->attempt, m->again ? ", again" : "");
	assert_int_equal(p->lease != 0, m->lease[0] != '\0');
}

static void
compare_all(void)
{
	int64_t counts[PAIR_STATE_COUNT] = { 0 };

	work_begin(&t);
	for (size_t i = 0; i < ITEMS; i++)
		for (size_t k = 0; k < TASKS; k++) {
			compare_pair(i, k);
			if (model.items[i].pairs[k].mapped)
				counts[model.items[i].pairs[k].state]++;
		}
	work_commit(&t);
	static const char *const columns[] = { PAIR_STATES(TABLE_SECOND) };
	for (size_t s = 0; s < PAIR_STATE_COUNT; s++)
		assert_int_equal(items_test_number(&t.items, arena_printf(
		    &t.arena, "SELECT CAST(sum(%s) AS BIGINT) FROM"
		    " task_state", columns[s]).p),
		    counts[s]);
}

/* -- Steps -- */

static void
load_version(unsigned version)
{
	model.version = version;
	work_config(&t, arena_printf(&t.arena, "{'tags':{'t0':['a','b'],"
	    "'t1':['c'],'t2':['a','d']},'tasks':{"
	    "'a':{'run':{'$function':true},'version':'%u','ttl':'1h',"
	    "'minInterval':'20s'},"
	    "'b':{'run':{'$function':true},'version':'%u','ttl':'1h',"
	    "'minInterval':'20s','dependsOn':['a']},"
	    "'c':{'run':{'$function':true},'version':'%u','ttl':'1h',"
	    "'minInterval':'20s','parallel':%d},"
	    "'d':{'run':{'$function':true},'version':'%u','ttl':'1h',"
	    "'minInterval':'20s','limits':{'tags':{'t0':'1000000/s burst "
	    "1000'}}}}}", version, version, version, LIMIT, version).p);
	model_settle(t.items.now.us);
}

static void
step_tags(size_t i)
{
	unsigned tag = (unsigned)draw(3);
	const char *name = arena_printf(&t.arena, "t%u", tag).p;

	if (!model.items[i].exists) {
		work_item(&t, item_id(i), name);
		model.items[i].exists = true;
		model.items[i].tags = 1u << tag;
	} else if (model.items[i].tags & 1u << tag && draw(3) > 0) {
		work_tag(&t, item_id(i), NULL, name);
		model.items[i].tags &= ~(1u << tag);
	} else {
		work_tag(&t, item_id(i), name, NULL);
		model.items[i].tags |= 1u << tag;
	}
	model_follow_tags(i);
	model_settle(t.items.now.us);
}

static void
step_delete(size_t i)
{
	if (!model.items[i].exists)
		return;
	work_delete(&t, item_id(i));
	memset(&model.items[i], 0, sizeof(model.items[i]));
}

static void
step_expire(size_t i)
{
	size_t k = draw(TASKS);
	enum pair_expiry how = (enum pair_expiry)draw(3);

	if (!model.items[i].exists)
		return;
	work_expire(&t, item_id(i), task_names[k], how);
	model_expire(i, k, how, t.items.now.us);
	model_settle(t.items.now.us);
}

static void
end_expired_leases(int64_t now)
{
	for (size_t i = 0; i < ITEMS; i++)
		for (size_t k = 0; k < TASKS; k++) {
			struct model_pair *p = &model.items[i].pairs[k];

			if (p->lease[0] != '\0' && p->lease_until <= now)
				model_fail(i, k, true, false, true, now);
		}
}

static size_t
leased_of(size_t task)
{
	size_t n = 0;

	for (size_t i = 0; i < ITEMS; i++)
		n += model.items[i].pairs[task].lease[0] != '\0';
	return n;
}

static void
take_lease(const struct work_lease *l, int64_t now, int64_t *last)
{
	size_t i = (size_t)(l->id[1] - '0'), k = (size_t)(l->task[0] - 'a');
	struct model_pair *p = &model.items[i].pairs[k];

	assert_true(i < ITEMS && k < TASKS && p->mapped);
	assert_string_equal(p->lease, "");       /* never leased twice */
	assert_true(p->due != NONE && p->due <= now / 1000);
	assert_true(model_met(i, k, now));
	assert_true(p->due >= last[k]);          /* in the order of due */
	last[k] = p->due;
	assert_int_equal(l->attempt, p->attempt + 1);
	memcpy(p->lease, l->text, sizeof(p->lease));
	p->lease_until = now + 60 * US_PER_S;
	p->lease_version = model.version;
	p->state = PAIR_LEASED;
	p->due = NONE;
	p->again = false;
}

/* Pairs that a claim found blocked.  When it has not found enough, all that are
 * left are blocked, or at their task's limit. */
static void
note_blocked(bool all, int64_t now)
{
	for (size_t i = 0; i < ITEMS; i++)
		for (size_t k = 0; k < TASKS; k++) {
			struct model_pair *m = &model.items[i].pairs[k];
			struct result_row *r;
			struct pair_row *p;

			if (!m->mapped || m->due == NONE || m->due > now / 1000)
				continue;
			read_rows(i, k, &p, &r);
			if (!model_met(i, k, now) &&
			    (all || p->state == PAIR_BLOCKED)) {
				m->state = PAIR_BLOCKED;
				m->due = NONE;
			} else if (all)
				assert_true((k == RATED && clock_went_back) ||
				    (k == LIMITED &&
				    leased_of(LIMITED) == LIMIT));
		}
}

/* A claim that is taken back leaves nothing: by undo, also to a savepoint, or
 * by the end of its transaction. */
static void
withdraw_claim(void)
{
	const struct str all = STR("*");
	const struct worklist_claim claim = { .tasks = &all, .tasks_n = 1,
	    .max = 1 + (unsigned)draw(8), .own = true };
	struct worklist_lease *leases;
	uint64_t way = draw(4);
	size_t n;

	work_begin(&t);
	struct item_mark m = item_tx_mark(t.items.tx);
	if (way == 0)
		assert_int_equal(item_tx_flush_all(t.items.tx, NULL), OK);
	assert_int_equal(worklist_claim(t.items.tx, &claim, &leases, &n,
	    NULL), OK);
	if (way <= 1)
		assert_int_equal(item_tx_flush(t.items.tx, NULL), OK);
	if (way <= 2) {
		item_tx_undo(t.items.tx, m);
		work_commit(&t);
	} else
		assert_int_equal(item_tx_end(&t.items.tx, ERR_BUSY, NULL),
		    ERR_BUSY);
}

static void
step_claim(void)
{
	int64_t last[TASKS] = { INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN };
	struct work_lease leases[8];
	unsigned max = 1 + (unsigned)draw(8);

	if (draw(4) == 0)
		withdraw_claim();
	size_t n = work_claim(&t, max, leases);
	int64_t now = t.items.now.us;

	end_expired_leases(now);
	work_begin(&t);
	for (size_t i = 0; i < ITEMS; i++)       /* retries that just began */
		for (size_t k = 0; k < TASKS; k++) {
			struct model_pair *m = &model.items[i].pairs[k];
			struct result_row *r;
			struct pair_row *p;

			if (m->state != PAIR_RETRY || m->due != 0)
				continue;
			read_rows(i, k, &p, &r);
			m->due = p->due_ms;
		}
	for (size_t i = 0; i < n; i++)
		take_lease(&leases[i], now, last);
	note_blocked(n < max, now);
	work_commit(&t);
	assert_true(leased_of(LIMITED) <= LIMIT);
}

/* A random pair that is leased; false when none is. */
static bool
find_leased(size_t *item, size_t *task)
{
	size_t start = draw(ITEMS * TASKS);

	for (size_t n = 0; n < ITEMS * TASKS; n++) {
		size_t at = (start + n) % (ITEMS * TASKS);

		*item = at / TASKS;
		*task = at % TASKS;
		if (model.items[*item].pairs[*task].lease[0] != '\0')
			return true;
	}
	return false;
}

static void
step_succeed(void)
{
	size_t i, k;

	if (!find_leased(&i, &k))
		return;
	int metadata = (int)draw(3);
	bool ttl = draw(4) == 0, expire = draw(6) == 0;
	struct result_row r = work_result(&t, item_id(i), task_names[k]);
	const char *update = arena_printf(&t.arena, "{'op':'updateMetadata',"
	    "'rev':%" PRIu64 ",'metadata':{'m':%d}},", r.exists ? r.rev : 0,
	    metadata).p;
	const char *lease = model.items[i].pairs[k].lease;
	struct completion c = work_complete(&t, lease, arena_printf(&t.arena,
	    "'outcome':'success','mutations':[%s%s%s{'op':'updateTags',"
	    "'add':[]}]", metadata > 0 ? update : "",
	    ttl ? "{'op':'setTTL','ttl':'2h'}," : "",
	    expire ? "{'op':'expire'}," : "").p);
	assert_int_equal(c.status, COMPLETION_APPLIED);
	model_succeed(i, k, metadata, ttl ? TTL_MS * 2 : TTL_MS, expire,
	    t.items.now.us);
	model_settle(t.items.now.us);
}

static void
step_fail(void)
{
	size_t i, k;

	if (!find_leased(&i, &k))
		return;
	bool transient = draw(3) > 0, store = draw(4) == 0;
	struct completion c = work_complete(&t, model.items[i].pairs[k].lease,
	    arena_printf(&t.arena, "'outcome':'failure','allowFailure':%s,"
	    "'error':{'class':'%s','message':'no'}", store ? "true" : "false",
	    transient ? "transient" : "permanent").p);
	assert_int_equal(c.status, COMPLETION_APPLIED);
	model_fail(i, k, transient, store, false, t.items.now.us);
	model_settle(t.items.now.us);
}

/* A lease that was completed last, or one that was lost, is completed again. */
static void
step_repeat(size_t i)
{
	const struct model_pair *p = &model.items[i].pairs[draw(TASKS)];

	if (p->done_lease[0] != '\0')
		assert_int_equal(work_complete(&t, p->done_lease,
		    "'outcome':'success'").status, COMPLETION_APPLIED);
	if (lost_lease[0] != '\0')
		assert_int_equal(work_complete(&t, lost_lease,
		    "'outcome':'success'").status, COMPLETION_LEASE_LOST);
}

static void
model_release(struct model_pair *p, int64_t now)
{
	bool again = p->again;

	p->lease[0] = '\0';
	p->again = false;
	if (again && p->has)
		model_put_off(p);
	model_derive(p, now);
}

static void
step_release(void)
{
	size_t i, k;
	bool was;

	if (!find_leased(&i, &k))
		return;
	struct model_pair *p = &model.items[i].pairs[k];
	memcpy(lost_lease, p->lease, sizeof(lost_lease));
	work_begin(&t);
	assert_int_equal(worklist_release(t.items.tx, str_of(p->lease),
	    draw(2) == 0, &was, NULL), OK);
	assert_true(was);
	work_commit(&t);
	model_release(p, t.items.now.us);
	model_settle(t.items.now.us);
}

static void
step_heartbeat(void)
{
	struct wall until;
	size_t i, k;

	if (!find_leased(&i, &k))
		return;
	struct model_pair *p = &model.items[i].pairs[k];
	work_begin(&t);
	assert_int_equal(worklist_heartbeat(t.items.tx, str_of(p->lease),
	    30 * US_PER_S, &until, NULL), OK);
	work_commit(&t);
	p->lease_until = t.items.now.us + 30 * US_PER_S;
	assert_int_equal(until.us, p->lease_until);
}

static void
step_restart(void)
{
	work_restart(&t);
	work_begin(&t);
	assert_int_equal(worklist_release_own(t.items.tx, NULL), OK);
	work_commit(&t);
	for (size_t i = 0; i < ITEMS; i++)
		for (size_t k = 0; k < TASKS; k++)
			if (model.items[i].pairs[k].lease[0] != '\0')
				model_release(&model.items[i].pairs[k],
				    t.items.now.us);
	model_settle(t.items.now.us);
}

static void
step_handle(void)
{
	struct item_actor person = { .run_item = 0 };
	size_t handled, requeued, parked = 0;
	bool retry = draw(2) == 0;

	for (size_t i = 0; i < ITEMS; i++)
		for (size_t k = 0; k < TASKS; k++)
			parked += work_failures(&t, item_id(i), false) > 0 &&
			    model.items[i].pairs[k].state == PAIR_FAILED;
	work_begin(&t);
	assert_int_equal(worklist_handle_task(t.items.tx, &person, STR("*"),
	    STR(""), STR("anna"), STR_NONE, retry, &handled, &requeued, NULL),
	    OK);
	for (size_t i = 0; i < ITEMS; i++)
		for (size_t k = 0; k < TASKS; k++) {
			struct model_pair *m = &model.items[i].pairs[k];
			struct result_row *r;
			struct pair_row *p;

			/* Those whose failures were handled stay parked. */
			read_rows(i, k, &p, &r);
			if (!m->mapped || m->state != PAIR_FAILED ||
			    p->state == PAIR_FAILED)
				continue;
			m->attempt = 0;
			m->state = PAIR_UNPROCESSED;
			m->due = 0;
			model_derive(m, t.items.now.us);
			requeued--;
		}
	work_commit(&t);
	assert_int_equal(requeued, 0);
	assert_true(retry || parked == 0 || handled > 0);
	model_settle(t.items.now.us);
}

static void
step_jump(void)
{
	static const int64_t jumps_ms[] = { 5, 900, 15000, 61000, 3000000,
		8000000, -2000, -4000000 };

	int64_t ms = jumps_ms[draw(ARRAY_LEN(jumps_ms))];

	clock_went_back |= ms < 0;
	work_sleep(&t, ms);
}

static void
step(void)
{
	size_t i = draw(ITEMS);

	switch (draw(20)) {
	case 0: case 1: case 2: step_tags(i); break;
	case 3: if (draw(4) == 0) step_delete(i); break;
	case 4: case 5: step_expire(i); break;
	case 6: case 7: case 8: step_claim(); break;
	case 9: case 10: case 11: step_succeed(); break;
	case 12: case 13: step_fail(); break;
	case 14: step_repeat(i); break;
	case 15: step_release(); break;
	case 16: step_heartbeat(); break;
	case 17: step_jump(); break;
	case 18: if (draw(3) == 0) step_restart(); break;
	default:
		if (draw(8) == 0)
			load_version(model.version + 1);
		else
			step_handle();
		break;
	}
}

static void
worklist_follows_its_model(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		print_message("ARGIOPE_SEED=%" PRIu64 "\n", random_state);
		memset(&model, 0, sizeof(model));
		lost_lease[0] = '\0';
		clock_went_back = false;
		no_scans = draw(3) > 0;
		work_open(&t, "{}");
		load_version(1);
		int64_t furthest_us = t.items.now.us;
		for (int i = 0; i < STEPS; i++) {
			step();
			compare_all();
			furthest_us = MAX(furthest_us, t.items.now.us);
		}
		/* The check, too, sees a dependency that a clock which went
		 * back has made fresh again, and that nobody has noticed. */
		t.items.now.us = furthest_us;
		work_close(&t);
	}
}

int
main(int argc, char **argv)
{
	const char *seed = getenv("ARGIOPE_SEED");
	static struct clock_table clock;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worklist_follows_its_model),
	};

	clock = clock_real;
	clock.mono = model_mono;
	clock_use(&clock);
	clock_random(&random_state, sizeof(random_state));
	if (seed != NULL)
		str_to_u64(str_of(seed), &random_state);
	return items_test_main(argc, argv, tests);
}
