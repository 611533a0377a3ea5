/*
 * Random verbs against a simple model, with kills, power cuts and clocks that
 * jump.  Each answer is compared with the model's; after a restart all that was
 * acknowledged is there, and what was under way is there wholly or not at all.
 */
#include "base/hash.h"
#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/lease_crawl.h"
#include "engine/frontier/lease_testing.h"
#include "os/clock.h"
#include "tests/rounds.h"

#define CRAWLS 2u
#define KEYS 4u
#define URLS 8u
/* A sanitizer makes each ten times as long. */
#define STEPS (SANITIZED ? 400u : 1500u)
#define SEEDS ROUNDS(5u)
#define RELAXED_SEEDS 2u
/* Room in the known table for seven of the 64 URLs. */
#define KNOWN_BYTES_FEW ((size_t)3 << 10)

struct m_url {
	bool there;
	uint32_t date, created;
	unsigned meta;
	int64_t lease_out_end;           /* ns; 0: none */
};

struct m_queue {
	bool there, remembered;
	bool has_delay;
	uint64_t delay, block, limit, ticket;
	int64_t served;              /* ns */
	struct m_url urls[URLS];
};

struct model {
	struct rig rig;
	uint64_t random;
	struct m_queue queues[CRAWLS][KEYS];
	bool inactive;
	uint64_t delay, next_ticket;
	unsigned metas;
	bool relaxed;                /* then only the process dies */
	bool doubt;                  /* a get was under way at the crash */
	bool evicted;                /* the known table had not all URLs */
	/* Until then ended leases may be back: the clock was set back while
	 * nobody looked. */
	int64_t set_back;
};

static uint64_t
dice(struct model *m, uint64_t below)
{
	m->random += UINT64_C(0x9e3779b97f4a7c15);
	return hash_u64(m->random) % below;
}

static const char *const crawl_names[CRAWLS] = { "one", "two" };
static const char *const key_names[KEYS] = { "k0", "k1", "k2", "k3" };
static const char *const url_names[URLS] = { "u0", "u1", "u2", "u3", "u4",
	"u5", "u6", "u7" };
/* Long ones, so that the index is often ahead of its checkpoint. */
#define META_BYTES 700
static char meta_names[5][META_BYTES + 1];

static int64_t
now_ns(void)
{
	return clock_mono().ns;
}

static uint64_t
completed(const struct m_queue *q)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < URLS; i++)
		n += q->urls[i].there && q->urls[i].date == 0;
	return n;
}

static uint64_t
active(const struct m_queue *q)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < URLS; i++)
		n += q->urls[i].there && q->urls[i].date != 0;
	return n;
}

static bool
leased(const struct m_url *u)
{
	return u->there && u->lease_out_end > now_ns();
}

static uint64_t
leased_n(const struct m_queue *q)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < URLS; i++)
		n += leased(&q->urls[i]);
	return n;
}

/* The first due URL that nobody has, or NULL. */
static struct m_url *
first_due(struct m_queue *q)
{
	struct m_url *best = NULL;

	for (unsigned i = 0; i < URLS; i++) {
		struct m_url *u = &q->urls[i];
		if (u->there && u->date != 0 && u->date <= out_now_s() &&
		    !leased(u) && (best == NULL || u->date < best->date))
			best = u;
	}
	return best;
}

static bool
eligible(const struct model *m, struct m_queue *q, uint64_t urls_max)
{
	uint64_t delay = q->has_delay ? q->delay : m->delay;

	return q->there && (q->block == 0 || q->block < out_now_s()) &&
	    (q->limit == 0 || completed(q) < q->limit) &&
	    (q->served == NEVER_SERVED ||
	    now_ns() >= q->served + (int64_t)delay * NS_PER_S) &&
	    (urls_max == 0 || leased_n(q) < urls_max) && first_due(q) != NULL;
}

/* --- comparing ------------------------------------------------------------ */

static void
compare_queue(struct model *m, unsigned c, unsigned k)
{
	struct m_queue *q = &m->queues[c][k];
	struct lease_entry e;

	out_assert_stats(&m->rig, crawl_names[c], key_names[k], active(q),
	    leased_n(q), completed(q), q->there);
	for (unsigned i = 0; i < URLS; i++) {
		const struct m_url *u = &q->urls[i];
		enum err err = out_status(&m->rig, crawl_names[c],
		    key_names[k], url_names[i], &e);
		assert_int_equal(err, u->there ? OK : ERR_ABSENT);
		if (err != OK)
			continue;
		assert_int_equal(e.date_s, u->date);
		assert_int_equal(e.created_s, u->created);
		assert_string_equal(e.metadata.p, meta_names[u->meta]);
	}
}

static void
compare(struct model *m)
{
	uint64_t value;

	for (unsigned c = 0; c < CRAWLS; c++)
		for (unsigned k = 0; k < KEYS; k++)
			compare_queue(m, c, k);
	assert_int_equal(out_control(&m->rig, LEASE_GET_ACTIVE, "", "", 0,
	    &value), OK);
	assert_int_equal(value, !m->inactive);
	assert_int_equal(m->rig.frontier->leases->delay_s, m->delay);
	rig_run(&m->rig);
	lease_check(m->rig.frontier);
	m->evicted |= known_evict_is_partial(m->rig.frontier);
}

static struct lease_queue *
queue_in(struct model *m, unsigned c, unsigned k)
{
	struct lease_crawl *crawl = lease_find_crawl(m->rig.frontier,
	    str_of(crawl_names[c]));

	return lease_find_queue(crawl, str_of(key_names[k]));
}

/* --- verbs ---------------------------------------------------------------- */

static struct m_queue *
any_queue(struct model *m, unsigned *c, unsigned *k)
{
	*c = (unsigned)dice(m, CRAWLS);
	*k = (unsigned)dice(m, KEYS);
	return &m->queues[*c][*k];
}

/* It has its place in the order of turns from now on. */
static void
remember(struct model *m, struct m_queue *q)
{
	if (q->remembered)
		return;
	q->remembered = true;
	q->ticket = m->next_ticket++;
}

static uint64_t
random_date(struct model *m)
{
	switch (dice(m, 5)) {
	case 0:
		return 0;
	case 1:
		return out_now_s() + dice(m, 5);
	case 2:
		return out_now_s() + 100 + dice(m, 5000);
	default:
		return out_now_s() - dice(m, 5);
	}
}

struct put_plan {
	unsigned c, k, u, meta;
	bool known;
	uint64_t date;
};

static struct put_plan
random_put(struct model *m, struct lease_item *i)
{
	struct put_plan p;

	any_queue(m, &p.c, &p.k);
	p.u = (unsigned)dice(m, URLS);
	p.meta = (unsigned)dice(m, ARRAY_LEN(meta_names));
	p.known = dice(m, 3) != 0;
	p.date = random_date(m);
	*i = out_item(crawl_names[p.c], key_names[p.k], url_names[p.u],
	    p.known ? (int64_t)p.date : DISCOVERED, meta_names[p.meta]);
	return p;
}

static enum lease_status
model_put(struct model *m, const struct put_plan *p)
{
	struct m_queue *q = &m->queues[p->c][p->k];
	struct m_url *u = &q->urls[p->u];

	if (u->there && !p->known)
		return LEASE_SKIPPED;
	remember(m, q);
	q->there = true;
	if (!u->there)
		u->created = out_now_s();
	u->there = true;
	u->date = p->known ? (uint32_t)p->date : out_now_s();
	u->meta = p->meta;
	u->lease_out_end = 0;
	return LEASE_OK;
}

static void
do_put(struct model *m)
{
	struct lease_item items[6];
	struct put_plan plans[6];
	size_t n = 1 + dice(m, ARRAY_LEN(items));

	for (size_t i = 0; i < n; i++)
		plans[i] = random_put(m, &items[i]);
	out_put_all(&m->rig, items, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(items[i].status, model_put(m, &plans[i]));
}

/* Which queue should be next, with a ticket below `end`; NULL: none. */
static struct m_queue *
next_queue(struct model *m, int crawl, uint64_t urls_max, uint64_t end,
    unsigned *c, unsigned *k)
{
	struct m_queue *best = NULL;

	for (unsigned i = 0; i < CRAWLS * KEYS; i++) {
		struct m_queue *q = &m->queues[i / KEYS][i % KEYS];
		if ((crawl >= 0 && i / KEYS != (unsigned)crawl) ||
		    q->ticket >= end || !eligible(m, q, urls_max) ||
		    (best != NULL && best->ticket < q->ticket))
			continue;
		best = q;
		*c = i / KEYS;
		*k = i % KEYS;
	}
	return best;
}

static void
do_get(struct model *m)
{
	int crawl = (int)dice(m, CRAWLS + 1) - 1;
	uint32_t urls_max = (uint32_t)dice(m, 5);
	uint32_t queues_max = (uint32_t)dice(m, 5);
	uint32_t lease_s = (uint32_t)dice(m, 40);
	uint64_t end = m->next_ticket;
	size_t at = 0;
	unsigned c, k;

	out_get(&m->rig, crawl < 0 ? NULL : crawl_names[crawl], "", urls_max,
	    queues_max, lease_s);
	for (unsigned n = 0; !m->inactive && (queues_max == 0 ||
	    n < queues_max); n++) {
		struct m_queue *q = next_queue(m, crawl, urls_max, end, &c,
		    &k);
		if (q == NULL)
			break;
		struct m_url *u;
		for (unsigned i = 0; (urls_max == 0 || i < urls_max) &&
		    (u = first_due(q)) != NULL; i++) {
			assert_true(at < got.n);
			const struct lease_url *g = &got.urls[at++];
			assert_string_equal(g->crawl.p, crawl_names[c]);
			assert_string_equal(g->key.p, key_names[k]);
			assert_string_equal(g->url.p,
			    url_names[u - q->urls]);
			u->lease_out_end = now_ns() + (lease_s == 0 ? 30 :
			    lease_s) * NS_PER_S;
		}
		q->ticket = m->next_ticket++;
		q->served = now_ns();
	}
	assert_int_equal(at, got.n);
	if (got.n == 0 || dice(m, 4) != 0)
		return;
	/* Some of it never left. */
	size_t from = dice(m, got.n);
	out_release(&m->rig, from, got.n - from);
	for (size_t i = from; i < got.n; i++)
		for (c = 0; c < CRAWLS; c++)
			for (k = 0; k < KEYS; k++)
				if (str_eq(got.urls[i].crawl, str_of(
				    crawl_names[c])) && str_eq(got.urls[i].key,
				    str_of(key_names[k])))
					m->queues[c][k].urls[got.urls[i]
					    .url.p[1] - '0'].lease_out_end = 0;
}

static void
clear_queue(struct m_queue *q)
{
	memset(q, 0, sizeof(*q));
	q->served = NEVER_SERVED;
}

static void
do_control(struct model *m)
{
	struct rig *r = &m->rig;
	unsigned c, k;
	struct m_queue *q = any_queue(m, &c, &k);
	const char *crawl = crawl_names[c], *key = key_names[k];
	uint64_t v = dice(m, 4), n = 0;

	switch (dice(m, 9)) {
	case 0:
		assert_int_equal(out_control(r, LEASE_SET_DELAY, crawl, key,
		    v, NULL), OK);
		remember(m, q);
		q->has_delay = true;
		q->delay = v;
		break;
	case 1:
		assert_int_equal(out_control(r, LEASE_SET_DELAY, "", "", v,
		    NULL), OK);
		m->delay = v;
		break;
	case 2:
		v = v == 0 ? 0 : out_now_s() + v;
		assert_int_equal(out_control(r, LEASE_BLOCK_UNTIL, crawl,
		    key, v, NULL), OK);
		if (v != 0)
			remember(m, q);
		q->block = v;
		break;
	case 3:
		assert_int_equal(out_control(r, LEASE_SET_LIMIT, crawl, key,
		    2 * v, NULL), q->there ? OK : ERR_ABSENT);
		q->limit = q->there ? 2 * v : q->limit;
		break;
	case 4:
		v = dice(m, 3) > 0;
		assert_int_equal(out_control(r, LEASE_SET_ACTIVE, "", "", v,
		    NULL), OK);
		m->inactive = v == 0;
		break;
	case 5:
		assert_int_equal(out_control(r, LEASE_DELETE_QUEUE, crawl,
		    key, 0, &n), OK);
		assert_int_equal(n, active(q) + completed(q));
		clear_queue(q);
		break;
	case 6:
		if (dice(m, 3) != 0)
			break;
		assert_int_equal(out_control(r, LEASE_DELETE_CRAWL, crawl,
		    "", 0, &n), OK);
		for (k = 0; k < KEYS; k++) {
			q = &m->queues[c][k];
			n -= active(q) + completed(q);
			clear_queue(q);
		}
		assert_int_equal(n, 0);
		break;
	default:
		break;
	}
}

static void
do_list(struct model *m)
{
	unsigned c, k;
	struct m_queue *q = any_queue(m, &c, &k);
	struct lease_list l = { .kind = LEASE_COUNT_URLS,
	    .crawl = str_of(crawl_names[c]), .key = str_of(key_names[k]) };

	out_list(&m->rig, &l);
	assert_int_equal(got.count, active(q) + completed(q));
	if (dice(m, 3) != 0)
		return;
	uint32_t before = out_now_s() - (uint32_t)dice(m, 20);
	uint64_t n = 0;
	for (unsigned i = 0; i < URLS; i++)
		if (q->urls[i].there && q->urls[i].created < before) {
			n++;
			q->urls[i] = (struct m_url){ .there = false };
		}
	l.kind = LEASE_PURGE_URLS;
	l.before_s = before;
	out_list(&m->rig, &l);
	assert_int_equal(got.count, n);
}

/* --- restarts ------------------------------------------------------------- */

/* Leases and delays may have become longer, never shorter. */
static void
adopt(struct model *m, bool jumped)
{
	struct lease_service *o = m->rig.frontier->leases;

	for (unsigned i = 0; i < CRAWLS * KEYS; i++) {
		struct m_queue *q = &m->queues[i / KEYS][i % KEYS];
		struct lease_queue *real = queue_in(m, i / KEYS, i % KEYS);
		assert_true((real != NULL) == q->remembered || m->doubt);
		if (real == NULL)
			continue;
		if (!jumped && !m->doubt)
			assert_true(real->served == q->served);
		assert_true(real->served >= q->served);
		q->served = real->served;
		for (unsigned k = 0; k < URLS; k++) {
			struct m_url *u = &q->urls[k];
			struct lease_out *l = lease_out_find(o, lease_hash(
			    m->rig.frontier, real->crawl->id, real->id,
			    str_of(url_names[k])));
			int64_t end = l == NULL ? 0 : l->batch->node.key;
			if (now_ns() > m->set_back && !m->doubt)
				assert_true(end ==
				    (leased(u)                ? u->lease_out_end
				            : end <= now_ns() ? end
				                              : 0));
			if (leased(u))
				assert_true(end >= u->lease_out_end);
			u->lease_out_end = end;
		}
		if (m->doubt || jumped)
			q->ticket = real->ticket;
		const struct lease_rare *r = lease_rare(real);
		assert_true(r->has_delay == q->has_delay);
		assert_int_equal(r->block_s, q->block);
		assert_int_equal(r->limit, q->limit);
	}
	if (m->doubt || jumped)
		m->next_ticket = MAX(m->next_ticket, o->next_ticket);
	m->doubt = false;
}

/* One put, or one get, that is under way when the machine stops. */
static void
die(struct model *m)
{
	struct rig *r = &m->rig;
	struct lease_item item;
	struct put_plan plan = random_put(m, &item);
	struct lease_put p = { .items = &item, .items_n = 1,
	    .call = { .home = r->loop, .done = out_done } };
	struct lease_get g = { .any_crawl = true, .lease_s = 20,
	    .urls_max = 2, .call = { .home = r->loop, .done = out_done } };
	struct m_url *u = &m->queues[plan.c][plan.k].urls[plan.u];
	struct lease_entry e;
	unsigned what = (unsigned)dice(m, 3);
	bool power = dice(m, 2) == 0 && !m->relaxed, jump = dice(m, 4) == 0;

	out_back = false;
	if (what == 1)
		lease_put(r->frontier, &p);
	else if (what == 2)
		lease_get(r->frontier, &g);
	for (uint64_t n = dice(m, 12); what != 0 && n > 0 && !out_back; n--)
		loop_step(r->loop);
	bool acked = out_back;
	rig_crash(r, power);
	lease_get_free(&g);
	if (jump) {
		world.ahead_us -= US_PER_S * (int64_t)dice(m, 90000);
		m->set_back = now_ns() + 60 * NS_PER_S;
	}
	rig_open(r);
	rig_run(r);
	m->doubt = what == 2;
	if (what == 1) {
		enum err err = out_status(r, crawl_names[plan.c],
		    key_names[plan.k], url_names[plan.u], &e);
		bool applied = err == OK && (!u->there || (plan.known &&
		    (e.date_s != u->date || !str_eq(e.metadata, str_of(
		    meta_names[u->meta])))));
		struct lease_queue *q = queue_in(m, plan.c, plan.k);
		struct lease_out *l = q == NULL ? NULL : lease_out_find(
		    r->frontier->leases, lease_hash(r->frontier,
		    q->crawl->id, q->id, str_of(url_names[plan.u])));
		/* Put as it was before: the end of its lease tells. */
		applied |= plan.known && leased(u) && l == NULL;
		if (acked)
			assert_true(err == OK);
		if (applied || acked) {
			bool was = u->there;
			model_put(m, &plan);
			if (!was)
				u->created = e.created_s;
			if (!plan.known && !was)
				u->date = e.date_s;
		}
	}
	adopt(m, jump);
	compare(m);
}

static void
step(struct model *m)
{
	uint64_t d = dice(m, 100);

	if (d < 40) {
		do_put(m);
	} else if (d < 62) {
		do_get(m);
	} else if (d < 72) {
		do_control(m);
	} else if (d < 76) {
		do_list(m);
	} else if (d < 92) {
		rig_pass(&m->rig, (int64_t)dice(m, 3) == 0 ?
		    (int64_t)dice(m, 20000) : (int64_t)dice(m, 1500));
	} else if (d < 94) {
		static const int64_t by[] = { 3600, -3600, 86400, -86400 };
		world.ahead_us += US_PER_S * by[dice(m, ARRAY_LEN(by))];
		rig_pass(&m->rig, 1000);
	} else if (d < 97) {
		die(m);
	} else if (d < 98) {
		rig_close(&m->rig);
		rig_open(&m->rig);
		rig_run(&m->rig);
		adopt(m, false);
		compare(m);
	} else {
		compare(m);
	}
	arena_reset(&m->rig.arena);
}

static void
live_through(size_t known_bytes_max)
{
	static struct model m;

	for (uint64_t seed = 1; seed <= SEEDS + RELAXED_SEEDS; seed++) {
		memset(&m, 0, sizeof(m));
		m.random = seed;
		m.relaxed = seed > SEEDS;
		m.delay = LEASE_DELAY_S;
		for (unsigned i = 0; i < CRAWLS * KEYS; i++)
			clear_queue(&m.queues[i / KEYS][i % KEYS]);
		rig_init(&m.rig);
		for (unsigned i = 0; i < ARRAY_LEN(meta_names); i++)
			memset(meta_names[i], 'a' + (int)i, META_BYTES);
		/* Every second life: few checkpoints, and an index that often
		 * flushes on its own, so that it is ahead of them. */
		if (seed % 2 == 0) {
			m.rig.options.ledger.segment_bytes = 1 << 20;
			m.rig.options.ledger.index.write_buffer_bytes = 1;
		} else if (m.relaxed) {
			m.rig.options.ledger.index.write_buffer_bytes =
			    64 << 20;
		}
		m.rig.options.lease_relaxed = m.relaxed;
		m.rig.options.known_bytes_max = known_bytes_max;
		rig_open(&m.rig);
		for (unsigned i = 0; i < STEPS; i++)
			step(&m);
		assert_int_equal(m.evicted, known_bytes_max != 0);
		rig_close(&m.rig);
		arena_free(&m.rig.arena);
	}
}

static void
nothing_acknowledged_is_lost(void **state)
{
	(void)state;
	live_through(0);
}

static void
nothing_is_lost_with_few_urls_in_memory(void **state)
{
	(void)state;
	live_through(KNOWN_BYTES_FEW);
}

/* --- many at a time ------------------------------------------------------- */

#define STORM_VERBS 6u
#define STORM_ITEMS 3u

/*
 * Puts and gets that overlap in all ways: when they are through, memory says
 * what the index says, and no walk would miss a URL.
 */
static void
storm(struct model *m)
{
	struct lease_item items[STORM_VERBS][STORM_ITEMS];
	struct lease_put puts[STORM_VERBS];
	struct lease_get gets[STORM_VERBS];
	struct rig *r = &m->rig;

	for (size_t i = 0; i < STORM_VERBS; i++) {
		for (size_t k = 0; k < STORM_ITEMS; k++) {
			random_put(m, &items[i][k]);
			items[i][k].key = str_of(key_names[0]);
		}
		puts[i] = (struct lease_put){ .items = items[i],
		    .items_n = 1 + dice(m, STORM_ITEMS),
		    .call = { .home = r->loop, .done = out_done } };
		gets[i] = (struct lease_get){ .any_crawl = true,
		    .urls_max = (uint32_t)dice(m, 3), .lease_s =
		    1 + (uint32_t)dice(m, 3), .queues_max =
		    (uint32_t)dice(m, 3), .call = { .home = r->loop,
		    .done = out_done } };
		lease_put(r->frontier, &puts[i]);
		for (uint64_t n = dice(m, 5); n > 0; n--)
			loop_step(r->loop);
		lease_get(r->frontier, &gets[i]);
		for (uint64_t n = dice(m, 5); n > 0; n--)
			loop_step(r->loop);
		if (dice(m, 4) == 0)
			rig_pass(r, 1000);
	}
	rig_pass(r, 10);
	for (size_t i = 0; i < STORM_VERBS; i++) {
		for (size_t k = 0; k < puts[i].items_n; k++)
			assert_int_not_equal(items[i][k].status,
			    LEASE_FAIL);
		assert_false(gets[i].more);
		lease_get_free(&gets[i]);
	}
	lease_check(r->frontier);
}

static void
storms(size_t known_bytes_max)
{
	static struct model m;

	m = (struct model){ .random = 77 };
	rig_init(&m.rig);
	m.rig.options.known_bytes_max = known_bytes_max;
	rig_open(&m.rig);
	out_control(&m.rig, LEASE_SET_DELAY, "", "", 0, NULL);
	for (unsigned i = 0; i < ROUNDS(400u); i++) {
		storm(&m);
		if (i % 50 == 49)
			out_restart(&m.rig, i % 100 == 99);
	}
	assert_int_equal(known_evict_is_partial(m.rig.frontier),
	    known_bytes_max != 0);
	rig_close(&m.rig);
	arena_free(&m.rig.arena);
}

static void
verbs_that_overlap_agree(void **state)
{
	(void)state;
	storms(0);
}

static void
they_agree_with_few_urls_in_memory(void **state)
{
	(void)state;
	storms(KNOWN_BYTES_FEW);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_acknowledged_is_lost,
		    world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
		    nothing_is_lost_with_few_urls_in_memory, world_setup,
		    world_teardown),
		cmocka_unit_test_setup_teardown(verbs_that_overlap_agree,
		    world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(
		    they_agree_with_few_urls_in_memory, world_setup,
		    world_teardown),
	};

	return cmocka_run_group_tests_name("outside_model", tests, NULL,
	    NULL);
}
