/*
 * Old generations.  A run record names the generation that it ran, and a replay
 * takes its sources from there; a lease names that of its task's version.  So
 * records are read from the first to the last, some at a time, and what none of
 * them names goes, if it is not in force and was not for a day.
 */
#include "base/text.h"
#include "engine/items/generation_own.h"

#define DAY_US (INT64_C(86400) * US_PER_S)
/* The head of a record, as worklist_record.c writes it. */
#define HEAD_BYTES 200u

/* Those that were followed by another one a day ago. */
static enum err
find_old(struct generation_sweep *s, struct item_tx *tx, struct why *w)
{
	struct query *q = database_query(item_store_database(
	    item_tx_store(tx)), "SELECT id FROM generations WHERE id <"
	    " (SELECT max(id) FROM generations WHERE loaded_at < ?1)"
	    " ORDER BY id LIMIT ?2");

	s->n = 0;
	s->at = 0;
	query_i64(q, 1, item_tx_now(tx).us - DAY_US);
	query_i64(q, 2, GENERATION_SWEEP_MAX);
	while (query_step(q))
		s->old[s->n++] = query_get_i64(q, 0);
	return query_end(&q, w);
}

static int64_t
generation_of(struct str record)
{
	static const struct str name = STR("\"generation\":");
	struct str head = str_cut(record, 0, HEAD_BYTES);
	size_t at = str_find(head, name), n = 0;
	uint64_t id = 0;

	if (at == head.n)
		return 0;
	struct str rest = str_from(head, at + name.n);
	while (n < rest.n && ascii_is_digit(rest.p[n]))
		n++;
	return str_to_u64(str_cut(rest, 0, n), &id) ? (int64_t)id : 0;
}

static void
keep(struct generation_sweep *s, int64_t id)
{
	size_t left = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->old[i] != id)
			s->old[left++] = s->old[i];
	s->n = left;
}

/* `*n` records were read. */
static enum err
read_records(struct generation_sweep *s, struct item_tx *tx, size_t max,
    size_t *n, struct why *w)
{
	FREED(buf_free) struct buf record = BUF_INIT;
	struct query *q = database_query(item_store_database(
	    item_tx_store(tx)), "SELECT id, record FROM runs WHERE id > ?1"
	    " ORDER BY id LIMIT ?2");
	enum err e = OK;

	*n = 0;
	query_i64(q, 1, s->at);
	query_i64(q, 2, (int64_t)max);
	while (e == OK && query_step(q)) {
		s->at = query_get_i64(q, 0);
		++*n;
		buf_clear(&record);
		e = item_run_unpack(query_get_str(q, 1), &record, w);
		if (e == OK)
			keep(s, generation_of(buf_str(&record)));
	}
	enum err end = query_end(&q, w);
	return e == OK ? end : e;
}

static enum err
drop_old(struct generation_sweep *s, struct item_tx *tx, struct why *w)
{
	struct database *db = item_store_database(item_tx_store(tx));
	enum err e = OK;

	for (size_t i = 0; i < s->n && e == OK; i++) {
		struct query *q = database_query(db, "DELETE FROM generations"
		    " WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM worklist"
		    " WHERE lease IS NOT NULL AND generation = ?1)");
		query_i64(q, 1, s->old[i]);
		query_step(q);
		e = query_end(&q, w);
	}
	return e;
}

enum err
generation_prune(struct item_tx *tx, struct generation_sweep *s, size_t max,
    struct why *w)
{
	size_t n = 0;
	enum err e = OK;

	if (item_tx_now(tx).us < s->rests_until_us)
		return OK;
	if (s->n == 0)
		e = find_old(s, tx, w);
	if (e == OK && s->n > 0)
		e = read_records(s, tx, max, &n, w);
	if (e != OK || (n == max && s->n > 0))
		return e;
	/* All records were read, or all generations are named. */
	e = drop_old(s, tx, w);
	s->n = 0;
	s->rests_until_us = item_tx_now(tx).us + DAY_US / 24;
	return e;
}
