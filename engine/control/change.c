#include "engine/control/change.h"

#include "engine/catalog/crawl_registry.h"
#include "engine/control/engine_own.h"
#include "engine/frontier/change.h"
#include "engine/stream/event_publisher.h"

#define RETRY_URLS_MAX 10000u

/*
 * home ─► ledger's loop, one verb at a time for each crawl
 *
 *     exclude:  pool: the rules ─► the crawl's record ─► loops see them, and
 *               give back what they exclude ─► a walk over what waits
 *     preview:  pool: the rules ─► a walk
 *     retry:    pool: the URLs ─► loops forget hosts' trouble ─► a walk
 *     delete:   the frontier's
 *
 *      ─► behind what became durable by it, home (event_publisher.h)
 */
struct task {
	struct mail mail;
	struct list node;            /* in changes.tasks */
	struct changes *changes;
	uint32_t crawl;
	bool going;
	void (*begin)(struct task *);
	struct job job;
	struct crawl_change change;
	struct visit *visits;        /* one for each loop */
	unsigned visits_out;
	void (*visited)(struct task *);
	const struct rules *now;     /* the crawl's */
	struct rules *rules;         /* those to come, or of the preview */
	struct why why;
	struct published_answer answer;
	/* Copies of what was asked for. */
	struct arena arena;
	struct str pattern, reason;
	struct str *urls;
	size_t urls_n;
	bool preview;
	/* Who asked; none of them: the engine itself. */
	struct exclude_request *exclude;
	struct retry_request *retry;
	struct delete_request *delete;
};

/* A call on one fetching loop. */
struct visit {
	struct loop_call call;
	struct task *task;
	struct fetcher *fetcher;
};

/* The ledger's loop's. */
struct changes {
	struct engine *engine;
	struct list tasks;           /* as they came */
};

static struct ledger *
ledger_of(const struct task *t)
{
	return frontier_ledger(t->changes->engine->frontier);
}

/* --- answers, at home ---------------------------------------------------- */

static void
task_free(struct task *t)
{
	list_take(&t->node);
	rules_free(&t->rules);
	arena_free(&t->arena);
	arena_free(&t->change.arena);
	mem_free(&t->visits);
	mem_free(&t);
}

static void
answer_exclude(struct task *t)
{
	struct exclude_request *a = t->exclude;

	a->why = t->why;
	a->own = NULL;
	a->removed = t->change.n;
	a->so_far = t->change.so_far;
	a->looked = t->change.looked;
	if (t->why.err == OK && t->change.sample_n > 0) {
		a->arena = t->change.arena;
		t->change.arena = ARENA_INIT;
		struct str *sample = ARENA_ARRAY(&a->arena, struct str,
		    t->change.sample_n);
		memcpy(sample, t->change.sample,
		    t->change.sample_n * sizeof(*sample));
		a->sample = sample;
		a->sample_n = t->change.sample_n;
	}
	task_free(t);
	a->done(a);
}

static void
answer_retry(struct task *t)
{
	struct retry_request *a = t->retry;

	a->why = t->why;
	a->own = NULL;
	a->requeued = t->change.n;
	task_free(t);
	a->done(a);
}

static void
answer_delete(struct task *t)
{
	struct delete_request *a = t->delete;
	struct crawl_registry *registry = t->changes->engine->registry;

	a->why = t->why;
	a->own = NULL;
	if (t->why.err == OK && registry != NULL) {
		crawl_registry_delete(registry, t->crawl);
		crawl_registry_notify(registry);
	}
	task_free(t);
	a->done(a);
}

static void
told(struct published_answer *answer)
{
	struct task *t = CONTAINER(answer, struct task, answer);

	t->changes->engine->asked--;
	if (t->exclude != NULL)
		answer_exclude(t);
	else if (t->retry != NULL)
		answer_retry(t);
	else if (t->delete != NULL)
		answer_delete(t);
	else
		task_free(t);
}

/* --- one after the other ------------------------------------------------- */

static void
refuse_full_disk(struct task *t)
{
	if (!t->preview && ledger_health(ledger_of(t)) == LEDGER_DISK_FULL)
		why(&t->why, ERR_DISK_FULL, "the disk is full");
}

static void finish(struct task *);

static void
begin(struct task *t)
{
	t->going = true;
	t->now = crawl_runtime_rules(t->changes->engine->crawls, t->crawl);
	refuse_full_disk(t);
	if (t->why.err != OK)
		finish(t);
	else
		t->begin(t);
}

static bool
must_wait(const struct changes *r, const struct task *t)
{
	for (const struct list *n = r->tasks.next; n != &t->node; n = n->next)
		if (LIST_ITEM(n, struct task, node)->crawl == t->crawl)
			return true;
	return false;
}

/* The first that waits for it: the others wait for that one. */
static void
begin_next(struct changes *r, uint32_t crawl)
{
	for (struct list *n = r->tasks.next; n != &r->tasks; n = n->next) {
		struct task *t = LIST_ITEM(n, struct task, node);
		if (t->crawl != crawl)
			continue;
		if (!t->going)
			begin(t);
		return;
	}
}

static void
finish(struct task *t)
{
	struct changes *r = t->changes;
	uint32_t crawl = t->crawl;

	list_take(&t->node);
	t->answer.told = told;
	event_publisher_now(r->engine->publisher, &t->answer);
	begin_next(r, crawl);
}

static void
deliver_task(struct mail *m)
{
	struct task *t = CONTAINER(m, struct task, mail);
	struct changes *r = t->changes;

	list_put(&r->tasks, &t->node);
	if (!must_wait(r, t))
		begin(t);
}

static struct task *
task_new(struct engine *e, uint32_t crawl, void (*begin_fn)(struct task *))
{
	struct task *t = mem_new(sizeof(*t));

	list_init(&t->node);
	t->changes = e->changes;
	t->crawl = crawl;
	t->begin = begin_fn;
	t->why = WHY_INIT;
	t->change.stop = &e->ending;
	return t;
}

static void
post(struct task *t)
{
	struct engine *e = t->changes->engine;

	e->asked++;
	t->mail.deliver = deliver_task;
	loop_post(e->ledger_loop, &t->mail);
}

/* --- steps --------------------------------------------------------------- */

static void
change(
    struct task *t, enum change_verb verb, void (*done)(struct crawl_change *))
{
	struct crawl_change *a = &t->change;

	a->verb = verb;
	a->crawl = t->crawl;
	a->excludes = crawl_excludes;
	a->done = done;
	change_run(t->changes->engine->frontier, a);
}

static void
amended(struct crawl_change *a)
{
	struct task *t = CONTAINER(a, struct task, change);

	t->why = a->why;
	finish(t);
}

static void
visit_done(struct loop_call *c)
{
	struct task *t = CONTAINER(c, struct visit, call)->task;

	if (--t->visits_out == 0)
		t->visited(t);
}

/* run() on each fetching loop, then visited() here. */
static void
visit_loops(struct task *t, void (*run)(struct loop_call *),
    void (*visited)(struct task *))
{
	struct engine *e = t->changes->engine;

	t->visits = mem_array(e->loops_n, sizeof(*t->visits));
	t->visits_out = e->loops_n;
	t->visited = visited;
	for (unsigned i = 0; i < e->loops_n; i++) {
		struct visit *v = &t->visits[i];
		v->task = t;
		v->fetcher = e->loops[i].fetcher;
		v->call = (struct loop_call){ .home = e->ledger_loop,
		    .run = run, .done = visit_done };
		loop_ask(e->loops[i].loop, &v->call);
	}
}

static void
pool_run(struct task *t, void (*run)(struct job *),
    void (*done)(struct mail *))
{
	struct engine *e = t->changes->engine;

	t->job = (struct job){ .mail.deliver = done, .home = e->ledger_loop,
	    .run = run };
	pool_submit(e->pool, &t->job);
}

static struct task *
task_of_job(struct mail *m)
{
	return CONTAINER(CONTAINER(m, struct job, mail), struct task, job);
}

/* --- exclusions ---------------------------------------------------------- */

/* On the pool: a thousand patterns take a while to compile. */
static void
make_rules(struct job *j)
{
	struct task *t = CONTAINER(j, struct task, job);

	/* The answer is in `why`. */
	(void)!rules_excluding(t->now, t->pattern, t->preview, &t->rules,
	    &t->why);
}

static void
sweep(struct task *t)
{
	change(t, CHANGE_SKIP, amended);
}

static void
return_excluded(struct loop_call *c)
{
	struct visit *v = CONTAINER(c, struct visit, call);

	fetcher_return_excluded(v->fetcher, v->task->crawl);
}

static void
rules_taken(struct crawl_change *a)
{
	struct task *t = CONTAINER(a, struct task, change);

	if (a->taken)
		crawl_runtime_change_rules(t->changes->engine->crawls, t->crawl,
		    &t->rules);
	t->why = a->why;
	if (t->why.err != OK)
		finish(t);
	else
		visit_loops(t, return_excluded, sweep);
}

static void
rules_made(struct mail *m)
{
	struct task *t = task_of_job(m);
	struct crawl_change *a = &t->change;

	if (t->why.err != OK) {
		finish(t);
		return;
	}
	a->rules = &t->rules->is;
	a->policy = t->rules->is.json;
	a->excluded = t->rules->is.excluded;
	if (t->preview)
		change(t, CHANGE_COUNT, amended);
	else
		change(t, CHANGE_RULES, rules_taken);
}

static void
begin_exclude(struct task *t)
{
	/* The frontier says what it is, if it does not run. */
	if (t->now == NULL)
		change(t, t->preview ? CHANGE_COUNT : CHANGE_RULES, amended);
	else
		pool_run(t, make_rules, rules_made);
}

void
crawl_exclude(struct engine *e, struct exclude_request *ask)
{
	struct task *t = task_new(e, ask->crawl, begin_exclude);

	t->exclude = ask;
	t->preview = ask->preview;
	t->change.wait_ms = ask->wait_ms;
	t->change.left = ask->left;
	t->pattern = arena_copy(&t->arena, ask->pattern);
	ask->own = t;
	ask->arena = ARENA_INIT;
	ask->removed = ask->sample_n = 0;
	post(t);
}

/* --- another try --------------------------------------------------------- */

static bool
again(const void *rules, struct str url, unsigned depth, double *cost)
{
	const struct crawl_rules *r = rules;
	struct arena a = ARENA_INIT;
	struct policy_verdict v = { .take = false };
	struct url u;

	if (url_parse(url, NULL, &a, &u, NULL) == OK)
		policy_judge_url(r->policy, &u, *cost, depth, false, &v);
	arena_free(&a);
	/* Whether it may be reached is for the loop that asks. */
	if (!v.take && v.reason != SKIP_BLOCKED)
		return false;
	*cost = v.cost;
	return true;
}

/* "dns", "robots": into change.which and .reason. */
static bool
find_reason(struct crawl_change *a, struct str word)
{
	for (int i = 0; i < EXCEPTION_COUNT; i++)
		if (str_eq(word, str_of(exception_name(i)))) {
			a->which = CHANGE_EXCEPTION;
			a->reason = (uint8_t)i;
			return true;
		}
	for (int i = 1; i < SKIP_COUNT; i++)
		if (str_eq(word, str_of(skip_name(i)))) {
			a->which = CHANGE_SKIPPED;
			a->reason = (uint8_t)i;
			return true;
		}
	return false;
}

static enum err
read_url(struct task *t, size_t i, struct change_name *out)
{
	struct why inner = WHY_INIT;
	struct url u, canonical;

	enum err e = engine_seed(t->urls[i], &t->arena, &u, &inner);
	if (e == OK)
		e = policy_canonical(t->now->is.policy, &u, &t->arena,
		    &canonical, &inner);
	if (e != OK)
		return why(&t->why, ERR_INPUT, "urls[%zu]: %s", i, inner.text);
	*out = (struct change_name){ .url = canonical.href,
	    .key = canonical.host };
	return OK;
}

/* On the pool. */
static void
read_names(struct job *j)
{
	struct task *t = CONTAINER(j, struct task, job);
	struct crawl_change *a = &t->change;

	a->names = ARENA_ARRAY(&t->arena, struct change_name, t->urls_n);
	while (a->names_n < t->urls_n && read_url(t, a->names_n,
	    &a->names[a->names_n]) == OK)
		a->names_n++;
}

static void
forget_trouble(struct loop_call *c)
{
	struct visit *v = CONTAINER(c, struct visit, call);
	const struct crawl_change *a = &v->task->change;

	fetcher_forget_trouble(v->fetcher, v->task->crawl,
	    a->which == CHANGE_NAMED || (a->which == CHANGE_SKIPPED &&
	    a->reason == SKIP_ROBOTS));
}

static void
wait_again(struct task *t)
{
	t->change.rules = &t->now->is;
	t->change.again = again;
	change(t, CHANGE_RETRY, amended);
}

static void
names_read(struct mail *m)
{
	struct task *t = task_of_job(m);

	if (t->why.err != OK)
		finish(t);
	else
		visit_loops(t, forget_trouble, wait_again);
}

static enum err
check_retry(struct task *t)
{
	struct why *w = &t->why;

	if (t->reason.n == 0 && t->urls_n == 0)
		return why(w, ERR_INPUT, "reason: it is missing, and there "
		    "are no urls");
	if (t->reason.n != 0 && t->urls_n != 0)
		return why(w, ERR_INPUT, "reason: it cannot stand beside "
		    "urls");
	if (t->urls_n > RETRY_URLS_MAX)
		return why(w, ERR_FULL, "urls: %zu; at most %u are allowed",
		    t->urls_n, RETRY_URLS_MAX);
	if (t->reason.n != 0 && !find_reason(&t->change, t->reason))
		return why(w, ERR_INPUT, "reason: \"%.*s\" is none",
		    STR_FMT(str_cut(t->reason, 0, 100)));
	return OK;
}

static void
begin_retry(struct task *t)
{
	if (check_retry(t) != OK)
		finish(t);
	else if (t->now == NULL)
		change(t, CHANGE_RETRY, amended);
	else
		pool_run(t, read_names, names_read);
}

void
crawl_retry(struct engine *e, struct retry_request *ask)
{
	struct task *t = task_new(e, ask->crawl, begin_retry);

	t->retry = ask;
	t->reason = arena_copy(&t->arena, ask->reason);
	t->urls_n = ask->urls_n;
	t->urls = arena_copy_list(&t->arena, ask->urls,
	    MIN(ask->urls_n, RETRY_URLS_MAX));
	ask->own = t;
	post(t);
}

/* --- deletion ------------------------------------------------------------ */

static void
begin_delete(struct task *t)
{
	change(t, CHANGE_DELETE, amended);
}

void
crawl_delete(struct engine *e, struct delete_request *ask)
{
	struct task *t = task_new(e, ask->crawl, begin_delete);

	t->delete = ask;
	ask->own = t;
	post(t);
}

/* --- life ---------------------------------------------------------------- */

void
changes_resume(struct engine *e)
{
	size_t at = 0;
	uint32_t crawl;

	while (crawl_runtime_next_interrupted(e->crawls, &at, &crawl))
		post(task_new(e, crawl, sweep));
}

void
changes_open(struct engine *e)
{
	e->changes = mem_new(sizeof(*e->changes));
	e->changes->engine = e;
	list_init(&e->changes->tasks);
}

bool
changes_busy(const struct engine *e, uint32_t crawl)
{
	const struct list *tasks = &e->changes->tasks;

	for (const struct list *n = tasks->next; n != tasks; n = n->next)
		if (LIST_ITEM(n, struct task, node)->crawl == crawl)
			return true;
	return false;
}

void
changes_close(struct engine *e)
{
	if (e->changes == NULL)
		return;
	while (!list_empty(&e->changes->tasks))
		task_free(LIST_ITEM(e->changes->tasks.next, struct task, node));
	mem_free(&e->changes);
}
