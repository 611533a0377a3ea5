/* Errors by reason: counters of the crawl, samples from the index. */
#include "engine/catalog/core.h"
#include "engine/frontier/error_summary.h"
#include "engine/frontier/frontier.h"
#include "engine/ledger/ledger_places.h"

#define ERROR_STEPS(X)                                                       \
	X(READ_COUNTS, AT_LEDGER, read_counts, "of all reasons")             \
	X(READ_GROUPS, AT_READ, read_groups, "URLs and causes of each")
enum { ERROR_STEPS(REQUEST_ENUM) };

struct records {
	struct error_summary_record *at;
	size_t n;
};

static void
add(struct errors_query *q, const char *kind, const char *reason,
    uint64_t count, const struct error_summary_record *r)
{
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
record_of(const struct records *r, enum error_summary_kind kind,
    unsigned code)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->at[i].kind == kind && r->at[i].code == code)
			return &r->at[i];
	return NULL;
}

static int
more_first(const void *a, const void *b)
{
	const struct error_group *x = a, *y = b;

	return (x->count < y->count) - (x->count > y->count);
}

static void
give_groups(struct errors_query *q, const struct records *r)
{
	const struct crawl_counts *n = &q->view.counts;

	q->problems = ARENA_ARRAY(&q->arena, struct error_group,
	    EXCEPTION_COUNT + SKIP_COUNT + r->n);
	for (int i = 0; i < EXCEPTION_COUNT; i++)
		if (n->exceptions[i] > 0)
			add(q, "exception", exception_name(
			    (enum exception)i), n->exceptions[i],
			    record_of(r, ERROR_SUMMARY_EXCEPTION, (unsigned)i));
	for (int i = SKIP_NONE + 1; i < SKIP_COUNT; i++)
		if (n->skips[i] > 0)
			add(q, "skipped", skip_name((enum skip_reason)i),
			    n->skips[i],
			    record_of(r, ERROR_SUMMARY_SKIPPED, (unsigned)i));
	for (size_t i = 0; i < r->n; i++)
		if (r->at[i].kind == ERROR_SUMMARY_STATUS)
			add(q, "status", arena_printf(&q->arena, "%u",
			    r->at[i].code).p, r->at[i].count, &r->at[i]);
	if (q->n > 1)
		qsort(q->problems, q->n, sizeof(*q->problems), more_first);
}

static int
read_counts(struct request *r)
{
	struct errors_query *q = CONTAINER(r, struct errors_query, request);

	if (frontier_view(q->frontier, q->crawl, &q->view) == OK)
		return READ_GROUPS;
	why(&q->why, ERR_ABSENT, "there is no crawl %u", q->crawl);
	return REQUEST_DONE;
}

static int
read_groups(struct request *r)
{
	struct errors_query *q = CONTAINER(r, struct errors_query, request);
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct records records = { NULL, 0 };

	if (error_summary_read(request_index(r), q->crawl, &a, &records.at,
	    &records.n, &q->why) == OK)
		give_groups(q, &records);
	return REQUEST_DONE;
}

static const struct request_step steps[] = { ERROR_STEPS(REQUEST_ROW) };

static void
answer(struct request *r)
{
	struct errors_query *q = CONTAINER(r, struct errors_query, request);

	q->done(q);
}

void
catalog_errors(struct catalog *c, struct errors_query *q)
{
	*q = (struct errors_query){ .crawl = q->crawl, .done = q->done,
	    .arg = q->arg, .frontier = c->options.frontier,
	    .request.done = answer };
	request_start(&q->request, c->options.places, steps, READ_COUNTS);
}
