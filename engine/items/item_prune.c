/*
 * Retention: what is older than it is kept goes, some rows at a time.
 */
#include "engine/items/item_tx_own.h"

static const char *const kinds[] = { [PRUNED_EVENTS] = "events",
	[PRUNED_FAILURES] = "failures", [PRUNED_RUNS] = "runs",
	[PRUNED_BLOBS] = "blobs", [PRUNED_PAIR_FAILURES] = "pair_failures" };
struct metric item_pruned_metric = METRIC_BY(COUNTER,
    "argiope_items_pruned_total", "Rows of items dropped because they were "
    "older than they are kept, or too many.", "kind", kinds, PRUNED_COUNT);

#define DAY_US (INT64_C(86400) * US_PER_S)
#define UNUSED_BLOB_US DAY_US

struct prune {
	struct item_tx *tx;
	size_t max;
	struct item_pruned *out;
};

static void
note_rows(struct prune *p, const struct query *q, int64_t *rows)
{
	*rows = query_changes(q);
	p->out->more |= *rows >= (int64_t)p->max;
}

/* `statement` drops at most ?2 rows that are older than ?1. */
static enum err
prune_table(struct prune *p, const char *statement, int64_t before_us,
    int64_t *rows, struct why *w)
{
	struct query *q = database_query(p->tx->db, statement);

	query_i64(q, 1, before_us);
	query_i64(q, 2, (int64_t)p->max);
	query_step(q);
	note_rows(p, q, rows);
	return query_end(&q, w);
}

/* The cursor up to which events go: they are too old, or too many bytes are
 * behind them.  0: none. */
static enum err
find_last_event(struct prune *p, int64_t *last, struct why *w)
{
	const struct item_limits *l = &p->tx->store->limits;
	int64_t before_us = p->tx->now.us - l->event_days * DAY_US;
	int64_t newest = 0, total = 0;

	*last = 0;
	struct query *q = database_query(p->tx->db, "SELECT cursor, total"
	    " FROM events ORDER BY cursor DESC LIMIT 1");
	if (query_step(q)) {
		newest = query_get_i64(q, 0);
		total = query_get_i64(q, 1);
	}
	enum err e = query_end(&q, w);
	if (e != OK)
		return e;
	q = database_query(p->tx->db, "SELECT cursor, at, total FROM events"
	    " ORDER BY cursor LIMIT ?1");
	query_i64(q, 1, (int64_t)p->max);
	while (query_step(q) && query_get_i64(q, 0) < newest &&
	    (query_get_i64(q, 1) < before_us ||
	    total - query_get_i64(q, 2) >= l->event_bytes_max))
		*last = query_get_i64(q, 0);
	return query_end(&q, w);
}

static enum err
prune_events(struct prune *p, struct why *w)
{
	int64_t last;

	enum err e = find_last_event(p, &last, w);
	if (e != OK || last == 0)
		return e;
	struct query *q = database_query(p->tx->db,
	    "DELETE FROM events WHERE cursor <= ?1");
	query_i64(q, 1, last);
	query_step(q);
	note_rows(p, q, &p->out->events);
	return query_end(&q, w);
}

enum err
item_tx_prune(struct item_tx *tx, size_t max, struct item_pruned *out,
    struct why *w)
{
	const struct item_limits *l = &tx->store->limits;
	int64_t failures_us = tx->now.us - l->failure_days * DAY_US;
	struct prune p = { .tx = tx, .max = max, .out = out };

	*out = (struct item_pruned){ .more = false };
	enum err e = prune_events(&p, w);
	if (e == OK)
		e = prune_table(&p, "DELETE FROM failures WHERE id IN"
		    " (SELECT id FROM failures WHERE handled_at < ?1"
		    " ORDER BY handled_at LIMIT ?2)", failures_us,
		    &out->failures, w);
	/* The last run of each pair stays. */
	if (e == OK)
		e = prune_table(&p, "DELETE FROM runs WHERE id IN"
		    " (SELECT id FROM runs r WHERE outcome = 0"
		    " AND started_at < ?1 AND EXISTS (SELECT 1 FROM runs s"
		    " WHERE s.item = r.item AND s.task = r.task"
		    " AND s.id > r.id) LIMIT ?2)", failures_us, &out->runs,
		    w);
	if (e == OK)
		e = prune_table(&p, "DELETE FROM blobs WHERE sha256 IN"
		    " (SELECT sha256 FROM blobs WHERE uses = 0"
		    " AND put_at < ?1 ORDER BY put_at LIMIT ?2)",
		    tx->now.us - UNUSED_BLOB_US, &out->blobs, w);
	return e;
}
