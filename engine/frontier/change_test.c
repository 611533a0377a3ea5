/*
 * Exclusions, retries and deletions against what the index holds, through
 * crashes at any moment.
 *
 * The crawl's policy is a text of digits, the newest first; they exclude the
 * URLs that end in them.
 */
#include "base/hash.h"
#include "engine/frontier/change.h"
#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/queue.h"
#include "tests/rounds.h"

#define HOSTS 4u
#define OUT_MAX 40

struct digits {
	char text[64];               /* "731": 7 was the last to come */
	unsigned n;                  /* so many of them exclude */
};

static bool
excludes(const void *rules, struct str url)
{
	const struct digits *d = rules;

	return memchr(d->text, url.p[url.n - 1], d->n) != NULL;
}

/* In the web of this test everything is in scope by now. */
static bool
again(const void *rules, struct str url, unsigned depth, double *cost)
{
	(void)rules, (void)url, (void)depth;
	*cost += 1;
	return true;
}

/* --- one at a time -------------------------------------------------------- */

struct verb {
	struct crawl_change change;
	struct mail mail;            /* a turn begins with it */
	struct frontier *frontier;
	bool done;
};

static void
verb_done(struct crawl_change *a)
{
	CONTAINER(a, struct verb, change)->done = true;
}

static void
deliver_verb(struct mail *m)
{
	struct verb *v = CONTAINER(m, struct verb, mail);

	change_run(v->frontier, &v->change);
}

static void
begin(struct rig *r, struct verb *v, enum change_verb what,
    const struct digits *rules)
{
	v->done = false;
	v->change.verb = what;
	v->change.crawl = r->crawl;
	v->change.done = verb_done;
	v->change.rules = rules;
	v->change.excludes = excludes;
	v->change.again = again;
	if (what == CHANGE_RULES) {
		v->change.policy = str_of(rules->text);
		v->change.excluded = rules->n;
	}
	v->frontier = r->frontier;
	loop_send(r->loop, &v->mail, deliver_verb);
}

static enum err
run(struct rig *r, struct verb *v, enum change_verb what,
    const struct digits *rules)
{
	begin(r, v, what, rules);
	rig_pass(r, 50);
	assert_true(v->done);
	frontier_check(r->frontier);
	return v->change.why.err;
}

/* --- what the index holds ------------------------------------------------- */

struct tally {
	struct crawl_counts counts;
	uint64_t urls, excluded;     /* waiting, and excluded */
};

static void
tally_url(struct rig *r, uint32_t queue, uint32_t rank, struct str url,
    struct str value, const struct digits *d, struct tally *t)
{
	uint8_t mark = 0, want = rank != 0 ? MARK_WAITING :
	    queue == QUEUE_SKIPPED ? MARK_SKIPPED : MARK_DONE;
	struct url_value v;
	uint32_t date;

	assert_true(url_value_parse(value, &v));
	t->urls++;
	if (rank != 0)
		t->counts.queued++;
	else if (queue == QUEUE_SKIPPED || v.why >> 4 == OUTCOME_SKIPPED)
		t->counts.skips[v.why & 15]++;
	else if (v.why >> 4 == OUTCOME_EXCEPTION)
		t->counts.exceptions[v.why & 15]++;
	else
		t->counts.items++;
	t->excluded += rank != 0 && d != NULL && excludes(d, url);
	if (!url_table_get(r->frontier->known, frontier_hash(r->crawl, url),
	        &date, &mark)) {
		assert_true(known_evict_is_partial(r->frontier) ||
		    !crawl_get(r->frontier, r->crawl)->loaded);
		return;
	}
	if (mark == MARK_LEASED)
		mark = MARK_WAITING;
	assert_int_equal(mark, want);
	if (rank != 0)
		assert_int_equal(date, rank);
}

static struct tally
tally(struct rig *r, const struct digits *d)
{
	struct index_iter *i = index_iter_new(ledger_index(frontier_ledger(
	    r->frontier)), INDEX_URL);
	struct tally t = { .urls = 0 };
	struct buf from = BUF_INIT;
	struct str key, value;

	buf_put_be32(&from, r->crawl);
	for (index_iter_seek(i, buf_str(&from)); index_iter_valid(i, &key,
	    &value) && str_starts(key, buf_str(&from)); index_iter_next(i)) {
		struct reader in = reader_of(key);
		read_be32(&in);
		uint32_t queue = read_be32(&in), rank = read_be32(&in);
		tally_url(r, queue, rank, (struct str){ in.p, in.n }, value, d,
		    &t);
	}
	index_iter_free(&i);
	buf_free(&from);
	return t;
}

/* The crawl's counters are those of its URLs; all is quiet. */
static struct tally
check(struct rig *r, const struct digits *d)
{
	struct tally t = tally(r, d);
	struct crawl_counts n = rig_view(r).counts;

	frontier_check(r->frontier);
	assert_int_equal(n.queued, t.counts.queued);
	assert_int_equal(n.items, t.counts.items);
	assert_memory_equal(n.exceptions, t.counts.exceptions,
	    sizeof(n.exceptions));
	assert_memory_equal(n.skips, t.counts.skips, sizeof(n.skips));
	assert_int_equal(rig_captures(r), n.items);
	return t;
}

/* Keys of the crawl in a family. */
static unsigned
keys_of(struct rig *r, enum index_family family, uint32_t crawl)
{
	struct index_iter *i = index_iter_new(ledger_index(frontier_ledger(
	    r->frontier)), family);
	struct buf from = BUF_INIT;
	struct str key, value;
	unsigned n = 0;

	buf_put_be32(&from, crawl);
	for (index_iter_seek(i, buf_str(&from)); index_iter_valid(i, &key,
	    &value) && str_starts(key, buf_str(&from)); index_iter_next(i))
		n++;
	index_iter_free(&i);
	buf_free(&from);
	return n;
}

/* A tombstone of it, and nothing else. */
static void
check_gone(struct rig *r, uint32_t crawl)
{
	struct crawl_view v;

	assert_int_equal(frontier_view(r->frontier, crawl, &v), ERR_ABSENT);
	assert_int_equal(keys_of(r, INDEX_CRAWL, crawl), 1);
	assert_int_equal(keys_of(r, INDEX_QUEUE, crawl), 0);
	assert_int_equal(keys_of(r, INDEX_URL, crawl), 0);
	assert_int_equal(keys_of(r, INDEX_JOURNAL, crawl), 0);
	assert_int_equal(keys_of(r, INDEX_LOG, crawl), 0);
	assert_true(frontier_next_crawl(r->frontier) > crawl);
	assert_true(list_empty(&r->frontier->deleted));
	frontier_check(r->frontier);
}

/* --- examples ------------------------------------------------------------- */

static void
test_excluded_where_they_wait(void **state)
{
	struct digits one = { "1", 1 };
	struct verb v = { .done = false };
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://a/1", "http://a/11", "http://b/1",
	    NULL);
	struct lease a = rig_next(&r, "a", "http://a/0");
	/* One is leased: it was asked for, and counts when it comes back. */
	struct lease a1 = rig_next(&r, "a", "http://a/1");
	assert_int_equal(run(&r, &v, CHANGE_COUNT, &one), OK);
	assert_int_equal(v.change.n, 3);
	assert_int_equal(v.change.sample_n, 3);
	assert_int_equal(rig_view(&r).counts.queued, 4);
	arena_free(&v.change.arena);
	assert_int_equal(run(&r, &v, CHANGE_RULES, &one), OK);
	rig_hand_in(&r, rig_page(&r, &a1, OUTCOME_RETURNED));
	/* It would be the next. */
	rig_none(&r, "a");
	assert_int_equal(run(&r, &v, CHANGE_SKIP, NULL), OK);
	assert_int_equal(v.change.n, 3);
	assert_int_equal(r.told.counts.skips[SKIP_SCOPE], 3);
	assert_int_equal(r.told.counts.queued, 1);
	arena_free(&v.change.arena);
	/* Links that were judged by other rules, and by these. */
	struct submission *s = rig_page(&r, &a, OUTCOME_ITEM);
	rig_add(&r, s, "http://a/21", 1, SKIP_NONE);
	rig_add(&r, s, "http://a/22", 1, SKIP_NONE);
	rig_hand_in(&r, s);
	s = rig_page(&r, NULL, OUTCOME_NONE);
	s->rules = &one;
	rig_add(&r, s, "http://a/31", 1, SKIP_NONE);
	rig_hand_in(&r, s);
	assert_int_equal(r.told.counts.queued, 2);
	assert_int_equal(r.told.counts.skips[SKIP_SCOPE], 4);
	check(&r, &one);
	rig_close(&r);
	rig_end(&r);
}

/* A crawl of which nothing else waits ends by it. */
static void
test_excluded_to_the_last(void **state)
{
	struct digits one = { "1", 1 };
	struct verb v = { .done = false };
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/1", "http://b/1", NULL);
	assert_int_equal(run(&r, &v, CHANGE_RULES, &one), OK);
	/* By the loop that asks, or by the walk. */
	rig_none(&r, "a");
	assert_int_equal(run(&r, &v, CHANGE_SKIP, NULL), OK);
	assert_int_equal(v.change.n, 2);
	assert_int_equal(r.told.state, CRAWL_COMPLETE);
	arena_free(&v.change.arena);
	assert_int_equal(run(&r, &v, CHANGE_RULES, &one), ERR_STATE);
	assert_int_equal(run(&r, &v, CHANGE_SKIP, NULL), ERR_STATE);
	assert_int_equal(run(&r, &v, CHANGE_RETRY, &one), ERR_STATE);
	assert_int_equal(run(&r, &v, CHANGE_COUNT, &one), OK);
	assert_int_equal(v.change.n, 0);
	r.crawl++;
	assert_int_equal(run(&r, &v, CHANGE_COUNT, &one), ERR_ABSENT);
	assert_int_equal(run(&r, &v, CHANGE_DELETE, NULL), ERR_ABSENT);
	rig_close(&r);
	rig_end(&r);
}

static void
test_tried_again(void **state)
{
	struct digits one = { "1", 1 };
	struct verb v = { .done = false };
	struct rig r;

	(void)state;
	rig_init(&r);
	r.host_urls_max = 4;
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://a/1", "http://a/2", NULL);
	assert_int_equal(rig_lease(&r, "a", 3), 3);
	struct lease l[3] = { r.leases[0], r.leases[1], r.leases[2] };
	rig_done(&r, &l[0], OUTCOME_EXCEPTION);
	rig_done(&r, &l[1], OUTCOME_EXCEPTION);
	struct submission *s = rig_page(&r, NULL, OUTCOME_NONE);
	rig_add(&r, s, "http://c/5", 7, SKIP_DEPTH);
	rig_add(&r, s, "http://a/3", 1, SKIP_NONE);
	rig_add(&r, s, "http://a/4", 1, SKIP_NONE);      /* one too many */
	rig_hand_in(&r, s);
	assert_int_equal(r.told.counts.skips[SKIP_LIMIT], 1);
	v.change.which = CHANGE_EXCEPTION;
	v.change.reason = EXCEPTION_TIMEOUT;
	/* What is excluded stays. */
	assert_int_equal(run(&r, &v, CHANGE_RETRY, &one), OK);
	assert_int_equal(v.change.n, 1);
	assert_int_equal(r.told.counts.exceptions[EXCEPTION_TIMEOUT], 1);
	check(&r, NULL);
	/* Its host has its share, retried or not. */
	v.change.which = CHANGE_SKIPPED;
	v.change.reason = SKIP_LIMIT;
	assert_int_equal(run(&r, &v, CHANGE_RETRY, &one), OK);
	assert_int_equal(v.change.n, 0);
	/* Skipped when it was found: it gets a queue. */
	v.change.reason = SKIP_DEPTH;
	assert_int_equal(run(&r, &v, CHANGE_RETRY, &one), OK);
	assert_int_equal(v.change.n, 1);
	check(&r, NULL);
	struct lease c = rig_next(&r, "c", "http://c/5");
	assert_true(c.cost == 8);
	rig_done(&r, &c, OUTCOME_ITEM);
	/* Named, some twice: an item is none of them, nor is what nobody
	 * found. */
	struct change_name names[] = { { STR("http://c/5"), STR("c"), 0 },
	    { STR("http://a/1"), STR("a"), 0 },
	    { STR("http://a/4"), STR("a"), 0 },
	    { STR("http://a/1"), STR("a"), 0 },
	    { STR("http://a/4"), STR("a"), 0 },
	    { STR("http://z/1"), STR("z"), 0 } };
	v.change.which = CHANGE_NAMED;
	v.change.names = names;
	v.change.names_n = 6;
	struct digits none = { "", 0 };
	assert_int_equal(run(&r, &v, CHANGE_RETRY, &none), OK);
	assert_int_equal(v.change.n, 2);
	check(&r, NULL);
	rig_restart(&r, true);
	check(&r, NULL);
	assert_int_equal(rig_lease(&r, "a", 10), 5);
	rig_close(&r);
	rig_end(&r);
}

/* Walks of several pieces, and those that need not go to their end. */
static void
test_walks_cut_short(void **state)
{
	struct digits one = { "1", 1 };
	struct verb v = { .done = false };
	atomic_bool left = true;
	char url[40];
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://b/0", NULL);
	struct lease b = rig_next(&r, "b", "http://b/0");
	for (unsigned i = 1; i <= 3000;) {
		struct submission *s = rig_page(&r, NULL, OUTCOME_NONE);
		do {
			snprintf(url, sizeof(url), "http://a/%u", i);
			rig_add(&r, s, url, 1, SKIP_NONE);
			snprintf(url, sizeof(url), "http://c/%u", i);
			rig_add(&r, s, url, 1, SKIP_DEPTH);
		} while (i++ % 10 > 0);
		rig_hand_in(&r, s);
	}
	assert_int_equal(run(&r, &v, CHANGE_COUNT, &one), OK);
	assert_int_equal(v.change.n, 300);
	assert_int_equal(v.change.looked, 3002);
	assert_int_equal(v.change.sample_n, CHANGE_SAMPLE_MAX);
	assert_false(v.change.so_far);
	arena_free(&v.change.arena);
	v.change.looked = 0;
	/* Who asked has left, or has waited long enough. */
	for (int i = 0; i < 2; i++) {
		v.change.left = i == 0 ? &left : NULL;
		v.change.wait_ms = i == 0 ? 0 : 10;
		begin(&r, &v, CHANGE_COUNT, &one);
		while (v.change.looked < 500 && loop_step(r.loop))
			;
		world.mono = mono_add_ms(world.mono, 10);
		rig_run(&r);
		assert_true(v.done && v.change.so_far);
		assert_true(v.change.looked > 500 && v.change.looked < 2500);
		assert_true(v.change.n > 50 && v.change.n < 250);
		arena_free(&v.change.arena);
		v.change.looked = 0;
	}
	v.change.wait_ms = 0;
	/* Nothing ended so; then one did, which stands behind all others. */
	v.change.which = CHANGE_EXCEPTION;
	v.change.reason = EXCEPTION_TIMEOUT;
	assert_int_equal(run(&r, &v, CHANGE_RETRY, &one), OK);
	assert_int_equal(v.change.n, 0);
	assert_true(v.change.looked < 2000);
	rig_done(&r, &b, OUTCOME_EXCEPTION);
	assert_int_equal(run(&r, &v, CHANGE_RETRY, &one), OK);
	assert_int_equal(v.change.n, 1);
	assert_int_equal(v.change.looked, 3001);
	v.change.which = CHANGE_SKIPPED;
	v.change.reason = SKIP_DEPTH;
	assert_int_equal(run(&r, &v, CHANGE_RETRY, &one), OK);
	assert_int_equal(v.change.n, 2700);
	check(&r, NULL);
	rig_close(&r);
	rig_end(&r);
}

static void
pass_both(struct rig *r)
{
	for (int i = 0; i < 10; i++) {
		loop_step(r->away);
		rig_pass(r, 1);
	}
}

/* Loops have notes of it in their boxes, and somebody looks at it. */
static void
test_deleted_under_the_eyes_of_others(void **state)
{
	struct verb v = { .done = false };
	struct rig r;

	(void)state;
	rig_init(&r);
	r.away = loop_new("away");
	rig_open(&r);
	rig_begin(&r, "http://a/0", "http://b/1", NULL);
	assert_int_equal(run(&r, &v, CHANGE_DELETE, NULL), ERR_STATE);
	struct crawl *c = crawl_get(r.frontier, r.crawl);
	crawl_ref(c);
	rig_state(&r, CRAWL_CANCELLED, OK);
	assert_int_equal(run(&r, &v, CHANGE_DELETE, NULL), OK);
	assert_int_equal(run(&r, &v, CHANGE_DELETE, NULL), ERR_ABSENT);
	assert_null(crawl_get(r.frontier, r.crawl));
	/* The notes are delivered behind that. */
	pass_both(&r);
	assert_int_equal(r.notes_n, 2);
	assert_false(list_empty(&r.frontier->deleted));
	assert_int_equal(map_get_id(&c->queues_by_id, 1) != NULL, 1);
	crawl_unref(c);
	pass_both(&r);
	check_gone(&r, r.crawl);
	uint32_t next = frontier_next_crawl(r.frontier);
	rig_close(&r);
	rig_open(&r);
	assert_int_equal(frontier_next_crawl(r.frontier), next);
	check_gone(&r, r.crawl);
	rig_close(&r);
	rig_end(&r);
}

/* The name is its older namesake's again. */
static void
test_name_of_one_that_is_deleted(void **state)
{
	struct verb v = { .done = false };
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open(&r);
	for (int i = 0; i < 3; i++) {
		rig_begin(&r, "http://a/0", NULL);
		rig_state(&r, CRAWL_CANCELLED, OK);
	}
	assert_int_equal(frontier_find_name(r.frontier, STR("test")), 2);
	r.crawl = 1;
	assert_int_equal(run(&r, &v, CHANGE_DELETE, NULL), OK);
	assert_int_equal(frontier_find_name(r.frontier, STR("test")), 2);
	r.crawl = 2;
	assert_int_equal(run(&r, &v, CHANGE_DELETE, NULL), OK);
	assert_int_equal(frontier_find_name(r.frontier, STR("test")), 0);
	r.crawl = 0;
	assert_int_equal(run(&r, &v, CHANGE_DELETE, NULL), OK);
	assert_int_equal(frontier_find_name(r.frontier, STR("test")),
	    UINT32_MAX);
	rig_close(&r);
	rig_end(&r);
}

/*
 * A crash comes at each moment of a deletion: the crawl is there, whole, or
 * gone; and then its number is not given again, whatever follows.
 */
static void
test_deleted_up_to_any_moment(void **state)
{
	struct verb v = { .done = false };
	struct crawl_view view;
	unsigned gone = 0, there = 0;
	struct rig r;

	(void)state;
	for (unsigned steps = 0; steps < 40; steps += ROUNDS_STEP) {
		rig_init(&r);
		rig_open(&r);
		rig_begin(&r, "http://a/0", "http://a/1", NULL);
		struct lease l = rig_next(&r, "a", "http://a/0");
		rig_done(&r, &l, OUTCOME_ITEM);
		rig_state(&r, CRAWL_CANCELLED, OK);
		begin(&r, &v, CHANGE_DELETE, NULL);
		for (unsigned i = 0; i < steps; i++)
			loop_step(r.loop);
		bool said = v.done;
		rig_crash(&r, steps % 2 == 0);
		for (int i = 0; i < 3; i++) {
			rig_open(&r);
			rig_pass(&r, 10);
			if (frontier_view(r.frontier, 0, &view) == OK) {
				assert_false(said);
				assert_int_equal(view.counts.queued, 1);
				assert_int_equal(rig_captures(&r), 1);
				assert_int_equal(keys_of(&r, INDEX_URL, 0),
				    2);
				there++;
			} else {
				check_gone(&r, 0);
				gone++;
			}
			rig_close(&r);
		}
		rig_end(&r);
	}
	assert_true(gone > ROUNDS(20) && there > 0);
}

/* --- at random, through crashes ------------------------------------------- */

struct play {
	struct rig rig;
	uint64_t random;
	struct digits rules[64];     /* all that came; they stay */
	unsigned rules_n;
	struct digits now;           /* as it is durable */
	unsigned came;               /* of these, in this process */
	struct lease out[OUT_MAX];
	unsigned out_n, urls;
	uint64_t items, crashes, partial, skipped, requeued;
	struct verb verb;
};

static uint64_t
next(struct play *p, uint64_t n)
{
	p->random += UINT64_C(0x9e3779b97f4a7c15);
	return hash_u64(p->random) % n;
}

/* The policy of the crawl's record, as it is known to be durable. */
static void
read_rules(struct play *p)
{
	struct arena a = ARENA_INIT;
	struct crawl_spec spec;
	struct why w = WHY_INIT;

	assert_int_equal(frontier_spec(p->rig.frontier, p->rig.crawl, &a,
	    &spec, &w), OK);
	snprintf(p->now.text, sizeof(p->now.text), "%.*s",
	    STR_FMT(spec.policy));
	arena_free(&a);
}

/* As engine/ does it: what an earlier process began goes on. */
static void
go_on(struct play *p)
{
	struct rig *r = &p->rig;
	struct why w = WHY_INIT;

	p->out_n = 0;
	rig_open(r);
	assert_int_equal(frontier_continue(r->frontier, r->crawl, &w), OK);
	read_rules(p);
	p->came = p->now.n = change_interrupted(r->frontier, r->crawl);
	if (p->now.n > 0) {
		struct digits *d = &p->rules[p->rules_n++];
		*d = p->now;
		p->partial++;
		change_resume(r->frontier, r->crawl, d, excludes);
		assert_int_equal(run(r, &p->verb, CHANGE_SKIP, NULL), OK);
		arena_free(&p->verb.change.arena);
	}
	rig_pass(r, 10);
	p->now.n = (unsigned)strlen(p->now.text);
	assert_int_equal(check(r, &p->now).excluded, 0);
	assert_true(rig_view(r).counts.items >= p->items);
}

static void
crash(struct play *p)
{
	p->crashes++;
	rig_crash(&p->rig, next(p, 2) == 0);
	arena_free(&p->verb.change.arena);
	go_on(p);
}

/* False: a crash came first. */
static bool
go(struct play *p, enum change_verb what, const struct digits *rules)
{
	struct verb *v = &p->verb;

	begin(&p->rig, v, what, rules);
	if (next(p, 4) != 0) {
		rig_pass(&p->rig, 50);
		assert_true(v->done);
		assert_int_equal(v->change.why.err, OK);
		arena_free(&v->change.arena);
		return true;
	}
	for (uint64_t n = next(p, 30); n > 0; n--)
		loop_step(p->rig.loop);
	crash(p);
	return false;
}

static void
play_exclude(struct play *p)
{
	struct digits *d = &p->rules[p->rules_n];
	char digit = (char)('0' + next(p, 10));
	unsigned out = 0;            /* being fetched */

	if (p->rules_n + 4 > ARRAY_LEN(p->rules) ||
	    strchr(p->now.text, digit) != NULL || strlen(p->now.text) >= 5)
		return;
	snprintf(d->text, sizeof(d->text), "%c%s", digit, p->now.text);
	d->n = p->came + 1;
	p->rules_n++;
	if (!go(p, CHANGE_RULES, d))
		return;
	p->came = d->n;
	p->now = *d;
	p->now.n = (unsigned)strlen(p->now.text);
	if (next(p, 5) == 0) {
		crash(p);
		return;
	}
	if (go(p, CHANGE_SKIP, NULL)) {
		p->skipped += p->verb.change.n;
		for (unsigned i = 0; i < p->out_n; i++)
			out += excludes(d, p->out[i].url);
		assert_int_equal(tally(&p->rig, d).excluded, out);
	}
}

static void
play_retry(struct play *p)
{
	struct crawl_change *a = &p->verb.change;
	struct change_name names[3];
	char urls[3][40], keys[3][8];

	a->which = (enum change_which)next(p, 3);
	a->reason = a->which == CHANGE_EXCEPTION ? EXCEPTION_TIMEOUT :
	    next(p, 2) ? SKIP_ROBOTS : SKIP_DEPTH;
	for (unsigned i = 0; i < 3; i++) {
		unsigned host = (unsigned)next(p, HOSTS);
		snprintf(keys[i], sizeof(keys[i]), "h%u", host);
		snprintf(urls[i], sizeof(urls[i]), "http://h%u/%u", host,
		    (unsigned)next(p, p->urls));
		names[i] = (struct change_name){ str_of(urls[i]),
		    str_of(keys[i]), 0 };
	}
	a->names = names;
	a->names_n = 3;
	if (go(p, CHANGE_RETRY, &p->now))
		p->requeued += p->verb.change.n;
}

static void
play_lease(struct play *p)
{
	size_t want = 1 + next(p, 8);
	char host[8];

	want = MIN(want, OUT_MAX - p->out_n);
	snprintf(host, sizeof(host), "h%u", (unsigned)next(p, HOSTS));
	if (want == 0 || queue_get(crawl_get(p->rig.frontier, p->rig.crawl),
	    str_of(host), false) == NULL)
		return;
	for (size_t i = rig_lease(&p->rig, host, want); i > 0; i--) {
		assert_false(excludes(&p->now, p->rig.leases[i - 1].url));
		p->out[p->out_n++] = p->rig.leases[i - 1];
	}
}

static void
play_page(struct play *p)
{
	static const enum outcome outcomes[] = { OUTCOME_ITEM,
	    OUTCOME_EXCEPTION, OUTCOME_SKIPPED, OUTCOME_RETURNED };
	enum outcome o = outcomes[next(p, ARRAY_LEN(outcomes))];
	char url[40];

	if (p->out_n == 0)
		return;
	unsigned at = (unsigned)next(p, p->out_n);
	struct submission *s = rig_page(&p->rig, &p->out[at], o);
	p->out[at] = p->out[--p->out_n];
	/* The loop judges by the rules of the process's start, or by those
	 * of now. */
	bool late = next(p, 2) == 0;
	if (!late)
		s->rules = crawl_get(p->rig.frontier, p->rig.crawl)->rules;
	for (uint64_t n = o == OUTCOME_RETURNED ? 0 : next(p, 12); n > 0;
	    n--) {
		snprintf(url, sizeof(url), "http://h%u/%u",
		    (unsigned)next(p, HOSTS), (unsigned)next(p, p->urls));
		bool out = strchr(p->now.text + (late ? p->came : 0),
		    url[strlen(url) - 1]) != NULL;
		rig_add(&p->rig, s, url, (double)next(p, 3), out ? SKIP_SCOPE :
		    next(p, 5) ? SKIP_NONE : SKIP_DEPTH);
	}
	rig_hand_in(&p->rig, s);
	p->items += o == OUTCOME_ITEM;
}

/* The crawl ends, and is deleted; a crash may come. */
static void
play_end(struct play *p)
{
	struct rig *r = &p->rig;
	struct verb *v = &p->verb;
	struct crawl_view view;

	if (rig_view(r).state != CRAWL_COMPLETE)
		rig_state(r, CRAWL_CANCELLED, OK);
	check(r, NULL);
	bool was_loaded = next(p, 2) == 0;
	if (!was_loaded) {
		rig_close(r);
		rig_open(r);
	}
	begin(r, v, CHANGE_DELETE, NULL);
	for (uint64_t n = next(p, 40); n > 0; n--)
		loop_step(r->loop);
	if (next(p, 2) == 0) {
		rig_crash(r, next(p, 2) == 0);
		rig_open(r);
		rig_pass(r, 10);
	}
	rig_pass(r, 50);
	if (frontier_view(r->frontier, r->crawl, &view) == OK) {
		/* It came before anything was durable. */
		assert_false(v->done);
		assert_int_equal(keys_of(r, INDEX_JOURNAL, r->crawl),
		    view.counts.items);
		assert_int_equal(run(r, v, CHANGE_DELETE, NULL), OK);
		rig_pass(r, 10);
	}
	check_gone(r, r->crawl);
	struct url_table_stats known;
	url_table_stats(r->frontier->known, &known);
	assert_int_equal(known.count, 0);
	if (next(p, 2) == 0)
		rig_crash(r, true);
	else
		rig_close(r);
	rig_open(r);
	check_gone(r, r->crawl);
}

static void
play(struct play *p, uint64_t seed)
{
	struct rig *r = &p->rig;

	memset(p, 0, sizeof(*p));
	p->random = seed;
	p->urls = seed % 3 == 0 ? 40 : 2000;
	rig_init(r);
	r->options.ledger.segment_bytes = (size_t)8192 << seed % 4;
	r->options.ledger.checkpoint_part = 1 + seed % 7;
	if (seed % 4 == 0)
		r->options.known_bytes_max = 64 << 10;
	rig_open(r);
	rig_begin(r, "http://h0/0", "http://h1/1", "http://h2/2",
	    "http://h3/3", NULL);
	for (int i = 0; i < 300 &&
	    !crawl_state_is_ended(rig_view(r).state); i++) {
		uint64_t what = next(p, 100);
		if (what < 45)
			play_page(p);
		else if (what < 85)
			play_lease(p);
		else if (what < 92)
			play_retry(p);
		else if (what < 98)
			play_exclude(p);
		else
			crash(p);
	}
	rig_pass(r, 10);
	check(r, NULL);
	play_end(p);
}

static void
test_at_random(void **state)
{
	static struct play p;
	uint64_t crashes = 0, partial = 0, skipped = 0, requeued = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed += ROUNDS_STEP) {
		play(&p, seed);
		crashes += p.crashes;
		partial += p.partial;
		skipped += p.skipped;
		requeued += p.requeued;
		rig_close(&p.rig);
		rig_end(&p.rig);
	}
	print_message("%llu crashes, %llu in the midst of an exclusion; %llu "
	    "skipped, %llu tried again\n", (unsigned long long)crashes,
	    (unsigned long long)partial, (unsigned long long)skipped,
	    (unsigned long long)requeued);
	assert_true(crashes > ROUNDS(50) && partial > ROUNDS(5) &&
	    skipped > ROUNDS(15) && requeued > ROUNDS(100));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_excluded_where_they_wait),
		TEST(test_excluded_to_the_last),
		TEST(test_tried_again),
		TEST(test_walks_cut_short),
		TEST(test_deleted_under_the_eyes_of_others),
		TEST(test_name_of_one_that_is_deleted),
		TEST(test_deleted_up_to_any_moment),
		TEST(test_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
