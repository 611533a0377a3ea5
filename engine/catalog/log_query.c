/* A crawl's log. */
#include "engine/catalog/core.h"
#include "engine/frontier/crawl_log.h"
#include "engine/frontier/query.h"
#include "engine/ledger/ledger_places.h"

#define LOG_ENTRIES_MAX 1000u

#define LOG_STEPS(X) \
	X(READ_LOG, AT_READ, read_log, "the crawl, and its entries")
enum { LOG_STEPS(REQUEST_ENUM) };

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
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(x, INDEX_LOG);
	FREED(buf_free) struct buf from = BUF_INIT;
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
}

static int
read_log(struct request *r)
{
	struct log_query *q = CONTAINER(r, struct log_query, request);
	struct index *x = request_index(r);

	q->entries = ARENA_ARRAY(&q->arena, struct log_entry, q->max);
	if (look_is_there(x, q->crawl, &q->why) == OK)
		read_entries(q, x);
	return REQUEST_DONE;
}

static void
answer(struct request *r)
{
	struct log_query *q = CONTAINER(r, struct log_query, request);

	q->done(q);
}

static const struct request_step steps[] = { LOG_STEPS(REQUEST_ROW) };

void
catalog_log(struct catalog *c, struct log_query *q)
{
	*q = (struct log_query){ .crawl = q->crawl, .from = q->from,
	    .max = MIN(q->max, LOG_ENTRIES_MAX), .done = q->done,
	    .arg = q->arg, .request.done = answer };
	request_start(&q->request, c->options.places, steps, READ_LOG);
}
