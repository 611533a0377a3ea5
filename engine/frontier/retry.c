/*
 * Another try: URLs that ended in an exception, or were skipped, wait again.
 *
 * A URL that was skipped when it was found stands in queue 0; its queue is made
 * from its host.  What the rules left out by its text (scope, depth, cost, url)
 * or by a host's budget (limit) is judged again, unless it is named.
 */
#include "engine/frontier/queue.h"
#include "engine/frontier/retry.h"
#include "engine/frontier/url_query.h"
#include "engine/parser/url.h"
#include "os/clock.h"

/* --- on the index thread -------------------------------------------------- */

static bool
judged_again(uint8_t reason)
{
	return reason == SKIP_SCOPE || reason == SKIP_DEPTH ||
	    reason == SKIP_COST || reason == SKIP_URL || reason == SKIP_LIMIT;
}

/* Its queue's name; empty: it is no URL that can be fetched. */
static struct str
host_of(struct crawl_change *a, struct str url)
{
	struct url u;

	if (url_parse(url, NULL, &a->piece, &u, NULL) != OK ||
	    (u.scheme != URL_HTTP && u.scheme != URL_HTTPS))
		return STR_NONE;
	return u.host;
}

/* The record of a URL that is done or was never queued. */
static void
consider(struct crawl_change *a, const struct url_row *u, struct url_value v)
{
	struct str key = STR_NONE;
	uint8_t reason = v.why & 15;
	enum outcome o = u->queue == QUEUE_SKIPPED ? OUTCOME_SKIPPED :
	    (enum outcome)(v.why >> 4);

	enum change_which which = o == OUTCOME_EXCEPTION ? CHANGE_EXCEPTION :
	    CHANGE_SKIPPED;
	if (o != OUTCOME_EXCEPTION && o != OUTCOME_SKIPPED)
		return;
	if (a->which != CHANGE_NAMED &&
	    (a->which != which || a->reason != reason))
		return;
	a->seen++;
	if (a->excludes(a->rules, u->url) || (u->queue == QUEUE_SKIPPED &&
	    (key = host_of(a, u->url)).n == 0))
		return;
	if (a->which == CHANGE_SKIPPED && judged_again(reason) &&
	    !a->again(a->rules, u->url, v.depth, &v.cost))
		return;
	struct change_match *m = change_add_match(a, u, &v);
	m->reason = reason;
	m->exception = o == OUTCOME_EXCEPTION;
	m->key = key;
}

/* A URL that is done; those that wait are passed over. */
static enum url_scan_next
visit(void *arg, const struct url_row *u)
{
	struct crawl_change *a = arg;
	struct url_value v;

	if (a->matches_n == CHANGE_MATCHES_MAX)
		return URL_SCAN_PAUSE;
	if (u->rank != 0)
		return URL_SCAN_NEXT_QUEUE;
	a->looked++;
	if (url_value_parse(u->value, &v))
		consider(a, u, v);
	return URL_SCAN_NEXT;
}

/* A walk would pass over all that has just left its place. */
static enum err
find_at(struct crawl_change *a, struct index *x, uint32_t queue, struct str url)
{
	struct url_row u = { .queue = queue, .url = url };
	struct url_value v;

	enum err e = url_record_get(x, a->crawl, queue, 0, url, &v);
	if (e == OK)
		consider(a, &u, v);
	return e == ERR_ABSENT ? OK : e;
}

static enum err
find_named(struct crawl_change *a, struct index *x)
{
	enum err e = OK;

	for (unsigned n = 0; e == OK && a->at < a->names_n &&
	    n < CHANGE_LOOKS_MAX / 4 &&
	    a->matches_n + 2 <= CHANGE_MATCHES_MAX; n++, a->at++) {
		const struct change_name *name = &a->names[a->at];
		e = find_at(a, x, QUEUE_SKIPPED, name->url);
		if (e == OK && name->queue != QUEUE_SKIPPED)
			e = find_at(a, x, name->queue, name->url);
	}
	a->scan.ended = a->at == a->names_n;
	return e == OK ? OK : why(&a->why, e, "a URL's record in the index "
	    "cannot be read");
}

enum err
retry_read(struct crawl_change *a, struct index *x)
{
	return a->which == CHANGE_NAMED ? find_named(a, x) :
	    url_scan_piece(&a->scan, x, CHANGE_LOOKS_MAX, visit, a, &a->why);
}

/* --- on the ledger's loop ------------------------------------------------- */

/* The index had it so; has it waited since? */
static bool
still_done(const struct frontier *f, const struct change_match *m)
{
	uint32_t date;
	uint8_t mark;

	if (!url_table_get(f->known, m->lease.hash, &date, &mark))
		return known_evict_is_partial(f);
	return m->lease.queue == QUEUE_SKIPPED ? mark == MARK_SKIPPED :
	    mark == MARK_DONE;
}

/* It leaves what it was counted in.  False: its host has had its share. */
static bool
take_back(struct crawl_change *a, struct crawl *c, struct queue *q,
    const struct change_match *m)
{
	struct crawl_counts *n = &c->view.counts;

	if (a->which == CHANGE_SKIPPED && m->reason == SKIP_LIMIT &&
	    c->host_urls_max != 0 && q->ordered >= c->host_urls_max)
		return false;
	if (m->exception)
		n->exceptions[m->reason]--;
	else
		n->skips[m->reason]--;
	url_drop(c, m->lease.queue, 0, m->lease.url);
	if (m->lease.queue != QUEUE_SKIPPED)
		q->done--;
	return true;
}

static void
wait_again(struct crawl *c, struct queue *q, const struct change_match *m)
{
	const struct lease *l = &m->lease;
	struct url_value v = {
		.created_s = (uint32_t)wall_s(clock_wall()),
		.flags = l->flags, .depth = l->depth, .cost = l->cost,
		.seq = l->via_seq,
	};
	/* As old as what is found next; what was queued once counts once. */
	uint32_t rank = rank_of(l->cost, q->ordered);

	q->ordered += l->queue == QUEUE_SKIPPED;
	url_table_set(c->frontier->known, l->hash, rank, MARK_WAITING);
	url_put(c, q->id, rank, l->url, &v);
	q->waiting++;
	c->view.counts.queued++;
	queue_touch(q);
	queue_rewind(q, rank);
	queue_fresh(q, rank);
}

void
retry_settle(struct crawl_change *a, struct crawl *c)
{
	for (size_t i = 0; i < a->matches_n; i++) {
		const struct change_match *m = &a->matches[i];
		if (!still_done(a->frontier, m))
			continue;
		struct queue *q = m->lease.queue == QUEUE_SKIPPED ?
		    queue_get(c, m->key, true) :
		    map_get_id(&c->queues_by_id, m->lease.queue);
		if (q == NULL || !take_back(a, c, q, m))
			continue;
		wait_again(c, q, m);
		crawl_touch(c);
		a->n++;
	}
	/* Nothing else takes one back: no more of them are to be found. */
	a->scan.ended |= a->which == CHANGE_EXCEPTION && a->seen >= a->n +
	    c->view.counts.exceptions[a->reason];
}

void
retry_begin(struct crawl_change *a)
{
	const struct crawl *c = change_crawl(a);

	if (c == NULL) {
		change_answer(a);
		return;
	}
	for (size_t i = 0; i < a->names_n; i++) {
		const struct queue *q = map_get(&c->queues, a->names[i].key);
		a->names[i].queue = q == NULL ? QUEUE_SKIPPED : q->id;
	}
	a->at = 0;
	change_walk(a);
}
