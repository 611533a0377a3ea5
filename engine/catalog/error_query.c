/* What went wrong, by reason: counters of the crawl, samples of the index. */
#include "engine/catalog/diagnostics.h"
#include "engine/frontier/error_summary.h"

struct problems_asking {
	struct engine *engine;
	struct errors_query *ask;
	struct loop_call call;
	struct ledger_query query;
	struct crawl_view view;
	struct arena arena;
	struct error_summary_record *records;
	size_t records_n;
};

static void
finish(struct problems_asking *g)
{
	struct errors_query *q = g->ask;

	g->engine->asked--;
	arena_free(&g->arena);
	mem_free(&g);
	q->own = NULL;
	q->done(q);
}

static void
add(struct problems_asking *g, const char *kind, const char *reason,
    uint64_t count, const struct error_summary_record *r)
{
	struct errors_query *q = g->ask;
	struct error_group *p = &q->problems[q->n++];
	struct str *samples = ARENA_ARRAY(&q->arena, struct str,
	    ERROR_SUMMARY_SAMPLES);
	struct str *causes = ARENA_ARRAY(&q->arena, struct str,
	    ERROR_SUMMARY_SAMPLES);

	*p = (struct error_group){ .kind = kind, .reason = reason,
		.count = count, .samples = samples, .causes = causes };
	if (r == NULL)
		return;
	p->first = r->first;
	p->last = r->last;
	for (; p->samples_n < r->samples_n; p->samples_n++) {
		size_t i = p->samples_n;
		samples[i] = arena_copy(&q->arena, r->samples[i]);
		causes[i] = arena_copy(&q->arena, r->causes[i]);
	}
}

static const struct error_summary_record *
record_of(const struct problems_asking *g, enum error_summary_kind kind,
    unsigned code)
{
	for (size_t i = 0; i < g->records_n; i++)
		if (g->records[i].kind == kind && g->records[i].code == code)
			return &g->records[i];
	return NULL;
}

static int
more_first(const void *a, const void *b)
{
	const struct error_group *x = a, *y = b;

	return (x->count < y->count) - (x->count > y->count);
}

static void
give_all(struct problems_asking *g)
{
	const struct crawl_counts *n = &g->view.counts;
	struct errors_query *q = g->ask;

	q->problems = ARENA_ARRAY(&q->arena, struct error_group,
	    EXCEPTION_COUNT + SKIP_COUNT + g->records_n);
	for (int i = 0; i < EXCEPTION_COUNT; i++)
		if (n->exceptions[i] > 0)
			add(g, "exception", exception_name(
			    (enum exception)i), n->exceptions[i],
			    record_of(g, ERROR_SUMMARY_EXCEPTION, (unsigned)i));
	for (int i = SKIP_NONE + 1; i < SKIP_COUNT; i++)
		if (n->skips[i] > 0)
			add(g, "skipped", skip_name((enum skip_reason)i),
			    n->skips[i],
			    record_of(g, ERROR_SUMMARY_SKIPPED, (unsigned)i));
	for (size_t i = 0; i < g->records_n; i++)
		if (g->records[i].kind == ERROR_SUMMARY_STATUS)
			add(g, "status", arena_printf(&q->arena, "%u",
			    g->records[i].code).p, g->records[i].count,
			    &g->records[i]);
	if (q->n > 1)
		qsort(q->problems, q->n, sizeof(*q->problems), more_first);
}

/* On the index thread. */
static void
read_records(struct ledger_query *query, struct index *x)
{
	struct problems_asking *g = CONTAINER(query, struct problems_asking,
	    query);

	/* The answer is in the ask's why. */
	(void)!error_summary_read(x, g->ask->crawl, &g->arena, &g->records,
	    &g->records_n, &g->ask->why);
}

static void
records_read(struct ledger_query *query)
{
	struct problems_asking *g = CONTAINER(query, struct problems_asking,
	    query);

	if (g->ask->why.err == OK)
		give_all(g);
	finish(g);
}

/* On the ledger's loop. */
static void
look_at_counts(struct loop_call *c)
{
	struct problems_asking *g = CONTAINER(c, struct problems_asking,
	    call);

	if (frontier_view(g->engine->frontier, g->ask->crawl, &g->view) != OK)
		why(&g->ask->why, ERR_ABSENT, "there is no crawl %u",
		    g->ask->crawl);
}

static void
counts_came(struct loop_call *c)
{
	struct problems_asking *g = CONTAINER(c, struct problems_asking,
	    call);

	if (g->ask->why.err != OK) {
		finish(g);
		return;
	}
	g->query.home = g->engine->options.home;
	g->query.run = read_records;
	g->query.done = records_read;
	ledger_read(frontier_ledger(g->engine->frontier), &g->query);
}

void
catalog_errors(struct engine *e, struct errors_query *q)
{
	struct problems_asking *g = mem_new(sizeof(*g));

	q->arena = ARENA_INIT;
	q->problems = NULL;
	q->n = 0;
	q->why = WHY_INIT;
	q->own = g;
	g->engine = e;
	g->ask = q;
	g->call.home = e->options.home;
	g->call.run = look_at_counts;
	g->call.done = counts_came;
	e->asked++;
	loop_ask(e->ledger_loop, &g->call);
}
