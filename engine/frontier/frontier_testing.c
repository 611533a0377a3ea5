#include "base/hash.h"
#include "base/metric.h"
#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/journal.h"
#include "engine/frontier/queue.h"
#include "engine/ledger/small_testing.h"

#define FOUND_MAX 64
#define STEPS_MAX 3000000u

/* --- the rig's life ------------------------------------------------------ */

static void walker_noted(struct walker *, const struct queue_note *);
static void walker_told(struct walker *, const struct crawl_view *);

static void
work(struct queue_note *n)
{
	const struct frontier_port *p = n->port;
	struct rig *r = p->arg;

	if (r->walker != NULL) {
		walker_noted(r->walker, n);
		return;
	}
	assert_true(r->notes_n < RIG_NOTES_MAX);
	r->notes[r->notes_n++] = n->queue;
}

static void
viewed(void *arg, const struct crawl_view *v)
{
	struct rig *r = arg;

	r->told = *v;
	if (r->walker != NULL)
		walker_told(r->walker, v);
}

static void
health(void *arg, enum ledger_health h, const char *text)
{
	struct rig *r = arg;

	(void)text;
	r->failed |= h == LEDGER_FAILED;
}

void
rig_init(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	world_begin();
	r->options = (struct frontier_options){
		.data_dir = "/data", .known_bytes_max = 1 << 30,
		.ledger = ledger_small,
		.viewed = viewed, .health = health, .token = "abcdefgh",
		.rollover_bytes = 1 << 30, .rollover_s = 3600,
		.lease_listings_max = 256, .lease_counts_max = 8,
	};
}

void
rig_open(struct rig *r)
{
	struct why w = WHY_INIT;

	r->loop = loop_new("rig");
	r->pool = pool_new(0);
	r->port = (struct frontier_port){
	    r->away != NULL ? r->away : r->loop, work, r };
	r->options.ports = &r->port;
	r->options.ports_n = 1;
	r->options.arg = r;
	r->options.ledger.pool = r->pool;
	r->closed = r->failed = false;
	r->notes_n = 0;
	if (frontier_open(r->loop, &r->options, &r->frontier, &w) != OK)
		fail_msg("open: %s", w.text);
}

void
rig_run(struct rig *r)
{
	world_run(r->loop, r->pool);
}

void
rig_pass(struct rig *r, int64_t ms)
{
	world_pass(r->loop, r->pool, ms);
}

size_t
rig_known_bytes(struct rig *r)
{
	struct url_table_stats s;

	url_table_stats(r->frontier->known, &s);
	return s.bytes;
}

static void
leave(struct rig *r)
{
	frontier_free(&r->frontier);
	pool_free(&r->pool);
	loop_free(&r->loop);
}

void
rig_crash(struct rig *r, bool power)
{
	world_crash(power);
	leave(r);
}

static void
closed(void *arg)
{
	struct rig *r = arg;

	r->closed = true;
}

void
rig_close(struct rig *r)
{
	frontier_close(r->frontier, closed, r);
	rig_pass(r, 100);
	assert_true(r->closed);
	leave(r);
}

void
rig_end(struct rig *r)
{
	leave(r);
	loop_free(&r->away);
	arena_free(&r->arena);
}

void
rig_restart(struct rig *r, bool crash)
{
	struct why w = WHY_INIT;

	if (crash)
		rig_crash(r, true);
	else
		rig_close(r);
	rig_open(r);
	if (!crawl_state_is_ended(rig_view(r).state) &&
	    frontier_continue(r->frontier, r->crawl, &w) != OK)
		fail_msg("continue: %s", w.text);
	rig_run(r);
}

/* --- a crawl ------------------------------------------------------------- */

static struct str
host_of(struct str url)
{
	struct str rest = str_from(url, 7);

	return str_cut(rest, 0, str_find_char(rest, '/'));
}

static struct found
found_of(uint32_t crawl, struct str url, double cost, enum skip_reason skip)
{
	return (struct found){ .url = url, .key = host_of(url),
	    .hash = frontier_hash(crawl, url), .cost = cost,
	    .depth = (uint16_t)cost, .skip = (uint8_t)skip };
}

struct found
rig_found(struct rig *r, const char *url, double cost, enum skip_reason skip)
{
	return found_of(r->crawl, str_of(url), cost, skip);
}

static void
begin(struct rig *r, const struct found *seeds, size_t n)
{
	struct crawl_spec spec = { .kind = r->kind, .name = STR("test"),
	    .policy = STR("{}"),
	    .max_items = r->max_items, .host_urls_max = r->host_urls_max };
	struct why w = WHY_INIT;
	uint32_t id;

	if (frontier_begin(r->frontier, &spec, seeds, n, NULL, &id, &w) != OK)
		fail_msg("begin: %s", w.text);
	assert_int_equal(id, r->crawl);
}

void
rig_begin(struct rig *r, const char *seed, ...)
{
	struct found seeds[FOUND_MAX];
	size_t n = 0;
	va_list more;

	r->crawl = frontier_next_crawl(r->frontier);
	va_start(more, seed);
	for (; seed != NULL; seed = va_arg(more, const char *))
		seeds[n++] = rig_found(r, seed, 0, SKIP_NONE);
	va_end(more);
	begin(r, seeds, n);
	rig_run(r);
}

void
rig_state(struct rig *r, enum crawl_state s, enum err want)
{
	assert_int_equal(frontier_set_state(r->frontier, r->crawl, s, "a test",
	    NULL), want);
	rig_pass(r, 10);
}

struct crawl_view
rig_view(struct rig *r)
{
	struct crawl_view v;

	assert_int_equal(frontier_view(r->frontier, r->crawl, &v), OK);
	return v;
}

enum url_state
rig_url_state(struct rig *r, const char *url)
{
	static const enum url_state states[] = {
		[MARK_WAITING] = URL_WAITING, [MARK_LEASED] = URL_LEASED,
		[MARK_DONE] = URL_DONE, [MARK_SKIPPED] = URL_SKIPPED,
	};
	uint32_t date;
	uint8_t mark;

	return url_table_get(r->frontier->known, frontier_hash(r->crawl,
	    str_of(url)), &date, &mark) ? states[mark] : URL_UNKNOWN;
}

uint32_t
rig_queue(struct rig *r, const char *host)
{
	struct crawl *c = crawl_get(r->frontier, r->crawl);
	const struct queue *q = queue_get(c, str_of(host), false);
	struct queue_record record;

	if (q != NULL)
		return q->id;
	assert_true(c->retired);
	assert_int_equal(queue_record_get(ledger_index(frontier_ledger(
	    r->frontier)), c->id, str_of(host), &r->arena, &record), OK);
	return record.id;
}

/* --- leases and submissions, one at a time -------------------------------- */

static void
served(struct serve *s)
{
	*(bool *)s->owner = true;
}

static void
serve_end(struct serve *s)
{
	arena_free(&s->arena);
	buf_free(&s->from);
}

size_t
rig_lease(struct rig *r, const char *host, size_t want)
{
	bool back = false;
	struct serve s = { .home = r->loop, .served = served, .owner = &back,
	    .crawl = r->crawl, .queue = rig_queue(r, host), .want = want,
	    .note_seen = true };

	frontier_serve(r->frontier, &s);
	rig_pass(r, 10);
	assert_true(back);
	assert_int_equal(s.result.err, OK);
	assert_true(s.n <= want && s.n <= RIG_LEASES_MAX);
	r->leases_n = s.n;
	for (size_t i = 0; i < s.n; i++) {
		r->leases[i] = s.leases[i];
		r->leases[i].url = arena_copy(&r->arena, s.leases[i].url);
	}
	serve_end(&s);
	frontier_check(r->frontier);
	return r->leases_n;
}

struct lease
rig_next(struct rig *r, const char *host, const char *url)
{
	assert_int_equal(rig_lease(r, host, 1), 1);
	assert_string_equal(r->leases[0].url.p, url);
	return r->leases[0];
}

void
rig_none(struct rig *r, const char *host)
{
	assert_int_equal(rig_lease(r, host, 1), 0);
}

struct rig_submission {
	struct submission submission;
	struct rig *rig;
};

static void
handed_in(struct submission *s, enum err e)
{
	struct rig_submission *mine = CONTAINER(s, struct rig_submission,
	    submission);

	mine->rig->durable = e;
	mine->rig->durable_n++;
	mine->rig->seq = s->seq;
	arena_free(&s->arena);
	buf_free(&s->journal_rest);
	free(mine);
}

static void
fill(struct submission *s, struct rig *r, const struct lease *l,
    enum outcome o)
{
	s->home = r->loop;
	s->crawl = r->crawl;
	s->outcome = o;
	s->reason = o == OUTCOME_EXCEPTION ? EXCEPTION_TIMEOUT :
	    o == OUTCOME_SKIPPED ? SKIP_ROBOTS : 0;
	s->found = ARENA_ARRAY(&s->arena, struct found, FOUND_MAX);
	if (l == NULL)
		return;
	s->lease = *l;
	s->lease.url = arena_copy(&s->arena, l->url);
	s->status = 200;
	struct journal_entry e = { .status = 200, .url = s->lease.url };
	if (o == OUTCOME_ITEM)
		journal_put_rest(&e, &s->journal_rest);
}

struct submission *
rig_page(struct rig *r, const struct lease *l, enum outcome o)
{
	struct rig_submission *s = mem_new(sizeof(*s));

	s->rig = r;
	fill(&s->submission, r, l, o);
	s->submission.durable = handed_in;
	return &s->submission;
}

void
rig_add(struct rig *r, struct submission *s, const char *url, double cost,
    enum skip_reason skip)
{
	assert_true(s->found_n < FOUND_MAX);
	s->found[s->found_n++] = found_of(r->crawl,
	    arena_copy(&s->arena, str_of(url)), cost, skip);
}

void
rig_hand_in(struct rig *r, struct submission *s)
{
	r->durable = ERR_INPUT;
	frontier_submit(r->frontier, s);
	rig_pass(r, 10);
	assert_int_not_equal(r->durable, ERR_INPUT);
	frontier_check(r->frontier);
}

void
rig_done(struct rig *r, const struct lease *l, enum outcome o)
{
	rig_hand_in(r, rig_page(r, l, o));
	assert_int_equal(r->durable, OK);
}

uint64_t
rig_captures(struct rig *r)
{
	struct index_iter *i = index_iter_new(ledger_index(frontier_ledger(
	    r->frontier)), INDEX_JOURNAL);
	struct str key, value;
	struct buf from = BUF_INIT;
	uint64_t n = 0;

	buf_put_be32(&from, r->crawl);
	for (index_iter_seek(i, buf_str(&from)); index_iter_valid(i, &key,
	    &value) && str_starts(key, buf_str(&from)); index_iter_next(i)) {
		struct journal_entry e;
		assert_true(journal_parse(key, value, &e));
		assert_int_equal(e.seq, ++n);
	}
	index_iter_free(&i);
	buf_free(&from);
	return n;
}

/* --- the walker ----------------------------------------------------------- */

enum { URL_NEW, URL_OUT, URL_HANDED, URL_FINISHED };

/* A serve or a submission under way. */
struct errand {
	struct list node;
	struct walker *walker;
	struct serve serve;
	struct submission page;
	unsigned url;
};

struct walked_queue {
	bool asked, more, note_seen;
	unsigned out;                    /* leases and serves */
};

struct walker {
	struct rig *rig;
	const struct walk_plan *plan;
	uint64_t random;
	struct list errands, leased;     /* out; in hand */
	unsigned leased_n;
	struct walked_queue *queues;     /* by the queue's id */
	unsigned char *state;            /* by URL */
	struct crawl_counts counts;      /* told last */
	bool ended;
};

static uint64_t
dice(struct walker *w, uint64_t below)
{
	w->random += UINT64_C(0x9e3779b97f4a7c15);
	return hash_u64(w->random) % below;
}

static uint64_t
fixed(const struct walk_plan *p, unsigned url, unsigned which)
{
	return hash_u64(p->seed * 1000003 + url * 31u + which);
}

static struct str
url_name(const struct walk_plan *p, unsigned url, struct arena *a)
{
	return arena_printf(a, "http://h%u/%u", url % p->hosts, url);
}

static unsigned
url_number(struct str name)
{
	uint64_t n = 0;
	struct str rest = str_from(name, 7);

	assert_true(str_to_u64(str_from(rest, str_find_char(rest, '/') + 1),
	    &n));
	return (unsigned)n;
}

/* The k-th link of a URL, 0 to 5; one in eight is out of the limits. */
static unsigned
link_of(const struct walk_plan *p, unsigned url, unsigned k,
    enum skip_reason *skip)
{
	*skip = fixed(p, url, 20 + k) % 8 == 0 ? SKIP_DEPTH : SKIP_NONE;
	return k == 0 ? (url + 1) % p->urls :
	    (unsigned)(fixed(p, url, 10 + k) % p->urls);
}

static enum outcome
fate(const struct walk_plan *p, unsigned url)
{
	static const enum outcome fates[] = { OUTCOME_EXCEPTION,
		OUTCOME_SKIPPED, OUTCOME_AUX };
	uint64_t d = fixed(p, url, 1) % 10;

	return d < ARRAY_LEN(fates) ? fates[d] : OUTCOME_ITEM;
}

static void
errand_free(struct errand *e)
{
	list_take(&e->node);
	serve_end(&e->serve);
	arena_free(&e->page.arena);
	buf_free(&e->page.journal_rest);
	free(e);
}

static struct errand *
errand_new(struct walker *w, struct list *where)
{
	struct errand *e = mem_new(sizeof(*e));

	e->walker = w;
	list_put(where, &e->node);
	return e;
}

static void
walker_told(struct walker *w, const struct crawl_view *v)
{
	/* Items never fall, not over crashes either. */
	assert_true(v->counts.items >= w->counts.items);
	w->counts = v->counts;
	w->ended |= v->state == CRAWL_COMPLETE;
}

static void
ask(struct walker *w, uint32_t queue);

static void
walker_served(struct serve *s)
{
	struct errand *e = s->owner;
	struct walker *w = e->walker;
	struct walked_queue *q = &w->queues[s->queue];

	assert_int_equal(s->result.err, OK);
	assert_true(s->n <= s->want);
	q->asked = false;
	q->more |= s->n == s->want;
	for (size_t i = 0; i < s->n; i++) {
		unsigned url = url_number(s->leases[i].url);
		/* Neither out nor done: never handed out twice. */
		assert_int_equal(w->state[url], URL_NEW);
		w->state[url] = URL_OUT;
		struct errand *p = errand_new(w, &w->leased);
		p->url = url;
		w->leased_n++;
		q->out++;
		fill(&p->page, w->rig, &s->leases[i], fate(w->plan, url));
	}
	uint32_t queue = s->queue;
	errand_free(e);
	ask(w, queue);
}

static void
ask(struct walker *w, uint32_t queue)
{
	struct walked_queue *q = &w->queues[queue];

	if (q->asked || !q->more || q->out > w->plan->window / 2)
		return;
	struct errand *e = errand_new(w, &w->errands);
	e->serve = (struct serve){ .home = w->rig->loop,
	    .served = walker_served, .owner = e, .crawl = w->rig->crawl,
	    .queue = queue, .want = w->plan->window,
	    .note_seen = q->note_seen };
	q->asked = true;
	q->more = q->note_seen = false;
	frontier_serve(w->rig->frontier, &e->serve);
}

static void
walker_noted(struct walker *w, const struct queue_note *n)
{
	assert_true(n->queue <= w->plan->hosts);
	w->queues[n->queue].more = w->queues[n->queue].note_seen = true;
	ask(w, n->queue);
}

static void
page_durable(struct submission *s, enum err e)
{
	struct errand *p = CONTAINER(s, struct errand, page);
	struct walker *w = p->walker;

	assert_int_equal(e, OK);
	if (s->outcome != OUTCOME_RETURNED)
		w->state[p->url] = URL_FINISHED;
	errand_free(p);
}

/* One of those in hand is over; now and then it is given back. */
static void
hand_in_one(struct walker *w)
{
	struct list *n = w->leased.next;

	for (uint64_t k = dice(w, w->leased_n); k > 0; k--)
		n = n->next;
	struct errand *p = LIST_ITEM(n, struct errand, node);
	uint32_t queue = p->page.lease.queue;
	list_take(&p->node);
	list_put(&w->errands, &p->node);
	w->leased_n--;
	p->page.durable = page_durable;
	if (dice(w, 20) == 0)
		p->page.outcome = OUTCOME_RETURNED;
	/* What is given back may be handed out again before it is durable. */
	w->state[p->url] = p->page.outcome == OUTCOME_RETURNED ? URL_NEW :
	    URL_HANDED;
	for (unsigned k = 0; k < 6 && p->page.outcome != OUTCOME_RETURNED;
	    k++) {
		enum skip_reason skip;
		unsigned to = link_of(w->plan, p->url, k, &skip);
		p->page.found[p->page.found_n++] = found_of(w->rig->crawl,
		    url_name(w->plan, to, &p->page.arena), to % 5, skip);
	}
	frontier_submit(w->rig->frontier, &p->page);
	w->queues[queue].out--;
	ask(w, queue);
}

static void
look_forgotten(const struct metric *m, void *arg)
{
	if (strcmp(m->name, "argiope_known_forgotten_total") == 0)
		*(int64_t *)arg = metric_value(m, 0);
}

static int64_t
forgotten_ever(void)
{
	int64_t n = -1;

	metric_each(look_forgotten, &n);
	assert_true(n >= 0);
	return n;
}

static void
walker_check(const struct walker *w)
{
	const struct frontier *f = w->rig->frontier;
	const struct crawl *c = crawl_get(f, w->rig->crawl);
	unsigned active = 0;

	if (w->plan->known_bytes_max != 0)
		assert_true(rig_known_bytes(w->rig) <=
		    w->plan->known_bytes_max);
	if (w->plan->active_max == 0)
		return;
	for (uint32_t id = 1; id < c->next_queue; id++) {
		const struct queue *q = map_get_id(&c->queues_by_id, id);
		active += q->leased > 0;
	}
	assert_true(active <= w->plan->active_max);
}

/* A life of the frontier: to the crawl's end, or for so many steps. */
static void
walker_live(struct walker *w, uint64_t steps)
{
	struct rig *r = w->rig;

	for (uint64_t i = 0; i < steps && !w->ended; i++) {
		if (w->leased_n > 0 && dice(w, 3) == 0)
			hand_in_one(w);
		if (!loop_step(r->loop)) {
			if (w->leased_n == 0) {
				assert_true(loop_next_timer(r->loop).ns !=
				    MONO_NEVER.ns);
				world.mono.ns = MAX(world.mono.ns,
				    loop_next_timer(r->loop).ns);
			}
		}
		walker_check(w);
		if (i % 64 == 0)
			frontier_check(r->frontier);
	}
}

static void
walker_forget(struct walker *w)
{
	while (!list_empty(&w->errands))
		errand_free(LIST_ITEM(w->errands.next, struct errand, node));
	while (!list_empty(&w->leased))
		errand_free(LIST_ITEM(w->leased.next, struct errand, node));
	w->leased_n = 0;
	memset(w->queues, 0, (w->plan->hosts + 1) * sizeof(*w->queues));
	/* What was not durable may be handed out again. */
	for (unsigned i = 0; i < w->plan->urls; i++)
		if (w->state[i] != URL_FINISHED)
			w->state[i] = URL_NEW;
}

static void
crash_and_go_on(struct walker *w)
{
	struct rig *r = w->rig;
	struct why why = WHY_INIT;

	rig_crash(r, dice(w, 4) != 0);
	walker_forget(w);
	rig_open(r);
	assert_true(rig_captures(r) == rig_view(r).counts.items);
	assert_true(rig_view(r).counts.items >= w->counts.items);
	w->ended = crawl_state_is_ended(rig_view(r).state);
	if (!w->ended &&
	    frontier_continue(r->frontier, r->crawl, &why) != OK)
		fail_msg("continue: %s", why.text);
}

/* What the graph says: all that can be reached from URL 0. */
static void
compare(struct walker *w)
{
	const struct walk_plan *p = w->plan;
	struct crawl_counts want = { 0 }, got = rig_view(w->rig).counts;
	unsigned char *mark = mem_array(p->urls, 1);
	unsigned *queue = mem_array(p->urls, sizeof(*queue)), n = 1;

	queue[0] = 0;
	mark[0] = 2;
	for (unsigned i = 0; i < n; i++) {
		enum outcome o = fate(p, queue[i]);
		want.items += o == OUTCOME_ITEM;
		want.aux += o == OUTCOME_AUX;
		want.exceptions[EXCEPTION_TIMEOUT] += o == OUTCOME_EXCEPTION;
		want.skips[SKIP_ROBOTS] += o == OUTCOME_SKIPPED;
		for (unsigned k = 0; k < 6; k++) {
			enum skip_reason skip;
			unsigned to = link_of(p, queue[i], k, &skip);
			if (skip == SKIP_NONE && mark[to] != 2) {
				want.skips[SKIP_DEPTH] -= mark[to] == 1;
				mark[to] = 2;
				queue[n++] = to;
			} else if (mark[to] == 0) {
				mark[to] = 1;
				want.skips[SKIP_DEPTH]++;
			}
		}
	}
	mem_free(&mark);
	mem_free(&queue);
	assert_int_equal(got.items, want.items);
	assert_int_equal(got.aux, want.aux);
	assert_int_equal(got.exceptions[EXCEPTION_TIMEOUT],
	    want.exceptions[EXCEPTION_TIMEOUT]);
	assert_int_equal(got.skips[SKIP_ROBOTS], want.skips[SKIP_ROBOTS]);
	assert_int_equal(got.skips[SKIP_DEPTH], want.skips[SKIP_DEPTH]);
	assert_int_equal(got.queued, 0);
	assert_int_equal(got.leased, 0);
}

void
rig_walk(struct rig *r, const struct walk_plan *plan)
{
	struct walker w = { .rig = r, .plan = plan, .random = plan->seed };
	struct str name = url_name(plan, 0, &r->arena);

	list_init(&w.errands);
	list_init(&w.leased);
	w.queues = mem_array(plan->hosts + 1, sizeof(*w.queues));
	w.state = mem_array(plan->urls, 1);
	r->walker = &w;
	rig_open(r);
	int64_t before = forgotten_ever();
	r->crawl = frontier_next_crawl(r->frontier);
	struct found seed = found_of(r->crawl, name, 0, SKIP_NONE);
	begin(r, &seed, 1);
	rig_run(r);              /* the seed is durable */
	for (unsigned life = 0; !w.ended; life++) {
		assert_true(life <= plan->crashes);
		walker_live(&w, life == plan->crashes ? STEPS_MAX :
		    20 + dice(&w, plan->urls * 4));
		if (!w.ended || life < plan->crashes)
			crash_and_go_on(&w);
	}
	frontier_check(r->frontier);
	rig_pass(r, 100);
	compare(&w);
	r->forgotten = (uint64_t)(forgotten_ever() - before);
	assert_int_equal(rig_captures(r), rig_view(r).counts.items);
	walker_forget(&w);
	mem_free(&w.queues);
	mem_free(&w.state);
	r->walker = NULL;
	rig_close(r);
}
