/* Questions that the index alone answers: the log. */
#include "engine/catalog/catalog.h"

#include "engine/control/engine_own.h"
#include "engine/frontier/query.h"

#define LOG_ENTRIES_MAX 1000u

/* --- the log ------------------------------------------------------------ */

struct log_reading {
	struct ledger_query query;
	struct engine *engine;
	struct log_query *ask;
};

static struct log_entry
entry_of(const struct crawl_log_record *r, struct arena *a)
{
	return (struct log_entry){
		.crawl = r->crawl, .number = r->number, .at = r->at,
		.kind = arena_copy(a, r->kind).p,
		.text = arena_copy(a, r->text),
		.host = arena_copy(a, r->host),
		.url = arena_copy(a, r->url),
		.reason = arena_copy(a, r->reason),
	};
}

static void
read_entries(struct log_query *q, struct index *x)
{
	struct index_iter *i = index_iter_new(x, INDEX_LOG);
	struct buf from = BUF_INIT;
	struct str key, value;
	struct crawl_log_record r;

	crawl_log_key(q->crawl, q->from, &from);
	for (index_iter_seek(i, buf_str(&from)); q->n < q->max &&
	    q->why.err == OK && index_iter_valid(i, &key, &value) &&
	    str_starts(key, str_cut(buf_str(&from), 0, sizeof(q->crawl)));
	    index_iter_next(i)) {
		if (crawl_log_parse(key, value, &r))
			q->entries[q->n++] = entry_of(&r, &q->arena);
		else
			why(&q->why, ERR_CORRUPT, "an entry in the log of "
			    "crawl %u is damaged", q->crawl);
	}
	/* The answer is in q->why. */
	(void)!index_iter_error(i, &q->why);
	index_iter_free(&i);
	buf_free(&from);
}

/* On the index thread. */
static void
read_log(struct ledger_query *query, struct index *x)
{
	struct log_query *q = CONTAINER(query, struct log_reading, query)->ask;

	q->entries = ARENA_ARRAY(&q->arena, struct log_entry, q->max);
	if (look_is_there(x, q->crawl, &q->why) == OK)
		read_entries(q, x);
}

static void
log_read(struct ledger_query *query)
{
	struct log_reading *g = CONTAINER(query, struct log_reading, query);
	struct log_query *q = g->ask;

	g->engine->asked--;
	mem_free(&g);
	q->own = NULL;
	q->done(q);
}

void
catalog_log(struct engine *e, struct log_query *q)
{
	struct log_reading *g = mem_new(sizeof(*g));

	q->arena = ARENA_INIT;
	q->n = 0;
	q->why = WHY_INIT;
	q->max = MIN(q->max, LOG_ENTRIES_MAX);
	q->own = g;
	g->engine = e;
	g->ask = q;
	e->asked++;
	g->query.home = e->options.home;
	g->query.run = read_log;
	g->query.done = log_read;
	ledger_read(frontier_ledger(e->frontier), &g->query);
}
