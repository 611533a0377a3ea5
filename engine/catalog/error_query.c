/* What went wrong, by reason: counters of the crawl, samples of the index. */
#include "engine/catalog/core.h"
#include "engine/frontier/error_summary.h"
#include "engine/frontier/frontier.h"
#include "engine/ledger/ledger_places.h"

#define ERROR_STEPS(X)                                                       \
	X(READ_COUNTS, AT_LEDGER, read_counts, "of all reasons")             \
	X(READ_SAMPLES, AT_READ, read_samples, "URLs and causes of each")    \
	X(GIVE_GROUPS, AT_MAIN, give_groups, "the most frequent first")
enum { ERROR_STEPS(REQUEST_ENUM) };

struct errors_request {
	struct request request;
	struct catalog *catalog;
	struct errors_query *ask;
	struct crawl_view view;
	struct arena arena;
	struct error_summary_record *records;
	size_t records_n;
};

static void
add(struct errors_request *g, const char *kind, const char *reason,
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
record_of(const struct errors_request *g, enum error_summary_kind kind,
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

static int
give_groups(struct request *r)
{
	struct errors_request *g = CONTAINER(r, struct errors_request, request);
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
	return REQUEST_DONE;
}

static int
read_counts(struct request *r)
{
	struct errors_request *g = CONTAINER(r, struct errors_request, request);

	if (frontier_view(g->catalog->options.frontier, g->ask->crawl,
	    &g->view) == OK)
		return READ_SAMPLES;
	why(&g->ask->why, ERR_ABSENT, "there is no crawl %u", g->ask->crawl);
	return REQUEST_DONE;
}

static int
read_samples(struct request *r)
{
	struct errors_request *g = CONTAINER(r, struct errors_request, request);

	return error_summary_read(request_index(r), g->ask->crawl, &g->arena,
	    &g->records, &g->records_n, &g->ask->why) == OK ? GIVE_GROUPS :
	    REQUEST_DONE;
}

static const struct request_step steps[] = { ERROR_STEPS(REQUEST_ROW) };

static void
answer(struct request *r)
{
	struct errors_request *g = CONTAINER(r, struct errors_request, request);
	struct errors_query *q = g->ask;

	arena_free(&g->arena);
	mem_free(&g);
	q->done(q);
}

void
catalog_errors(struct catalog *c, struct errors_query *q)
{
	struct errors_request *g = mem_new(sizeof(*g));

	*q = (struct errors_query){ .crawl = q->crawl, .done = q->done,
	    .arg = q->arg };
	g->catalog = c;
	g->ask = q;
	g->request.done = answer;
	request_start(&g->request, c->options.places, steps, READ_COUNTS);
}
