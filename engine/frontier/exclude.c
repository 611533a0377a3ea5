/*
 * Rules that come while a crawl runs: from the group with its new record on
 * nothing that they exclude is queued or leased; a walk over the URLs that wait
 * skips what they exclude, or counts it.
 */
#include "engine/frontier/exclude.h"

#include "engine/frontier/queue.h"

#define PART_SPEC 'S'
#define PART_EXCLUDED 'X'

/* --- rules ---------------------------------------------------------------- */

bool
crawl_excludes_now(const struct crawl *c, const void *judged_by,
    struct str url)
{
	return c->rules != NULL && c->rules != judged_by &&
	    c->excludes(c->rules, url);
}

static void
put_rules(struct crawl_change *a, const struct crawl_spec *spec)
{
	FREED(buf_free) struct buf value = BUF_INIT;

	crawl_spec_put(spec, &value);
	crawl_put_part(a->frontier, a->crawl, PART_SPEC, buf_str(&value));
	/* Until a walk has met none that is excluded and leased. */
	buf_clear(&value);
	buf_put_be32(&value, a->excluded);
	crawl_put_part(a->frontier, a->crawl, PART_EXCLUDED, buf_str(&value));
}

static void
read_spec(struct ledger_query *q, struct index *x)
{
	struct crawl_change *a = CONTAINER(q, struct crawl_change, query);
	FREED(buf_free) struct buf key = BUF_INIT;

	crawl_key(a->crawl, PART_SPEC, &key);
	/* The answer is in a->why. */
	(void)!index_get(x, INDEX_CRAWL, buf_str(&key), &a->piece, &a->spec,
	    &a->why);
}

static void
spec_read(struct ledger_query *q)
{
	struct crawl_change *a = CONTAINER(q, struct crawl_change, query);
	struct crawl *c = change_crawl(a);
	struct crawl_spec spec;

	if (c != NULL && !crawl_spec_parse(a->spec, &a->piece, &spec))
		why(&a->why, ERR_CORRUPT, "the record of crawl %u is damaged",
		    a->crawl);
	if (a->why.err != OK) {
		change_answer(a);
		return;
	}
	spec.policy = a->policy;
	put_rules(a, &spec);
	c->rules = a->rules;
	c->excludes = a->excludes;
	c->excluded = 0;
	a->taken = true;
	change_answer_durable(a);
}

/* The record of a crawl that just began can be read. */
static void
may_read_spec(struct promise *p, enum err e)
{
	struct crawl_change *a = CONTAINER(p, struct crawl_change, promise);

	if (e != OK) {
		change_kept(p, e);
		return;
	}
	ledger_read(a->frontier->ledger, &a->query, a->frontier->loop,
	    read_spec, spec_read);
}

void
exclude_take_rules(struct crawl_change *a)
{
	if (change_crawl(a) == NULL) {
		change_answer(a);
		return;
	}
	a->promise.kept = may_read_spec;
	ledger_promise(a->frontier->ledger, &a->promise);
}

unsigned
change_interrupted(struct frontier *f, uint32_t crawl)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf key = BUF_INIT;
	struct str value;
	unsigned n = 0;

	crawl_key(crawl, PART_EXCLUDED, &key);
	if (index_get(ledger_index(f->ledger), INDEX_CRAWL, buf_str(&key), &a,
	    &value, NULL) == OK) {
		struct reader in = reader_of(value);
		n = read_be32(&in);
	}
	return n;
}

void
change_resume(struct frontier *f, uint32_t crawl, const void *rules,
    bool (*excludes)(const void *, struct str))
{
	struct crawl *c = crawl_get(f, crawl);

	if (c == NULL)
		return;
	c->rules = rules;
	c->excludes = excludes;
}

/* --- the walk ------------------------------------------------------------- */

/* A URL that waits; those that are done are passed over. */
static enum url_scan_next
visit(void *arg, const struct url_row *u)
{
	struct crawl_change *a = arg;
	struct url_value v;

	if (a->matches_n == CHANGE_MATCHES_MAX)
		return URL_SCAN_PAUSE;
	if (u->rank == 0)
		return URL_SCAN_WAITING;
	a->looked++;
	if (a->excludes(a->rules, u->url) && url_value_parse(u->value, &v))
		change_add_match(a, u, &v);
	return URL_SCAN_NEXT;
}

enum err
exclude_read(struct crawl_change *a, struct index *x)
{
	return url_scan_piece(&a->scan, x, CHANGE_LOOKS_MAX, visit, a,
	    &a->why);
}

static void
add_sample(struct crawl_change *a, struct str url)
{
	if (a->sample_n < CHANGE_SAMPLE_MAX)
		a->sample[a->sample_n++] = arena_copy(&a->arena, url);
}

/* The index had it waiting; what is it now? */
static uint8_t
mark_of(const struct frontier *f, const struct lease *l)
{
	uint32_t date;
	uint8_t mark;

	/* The table may have evicted it; its record shows that it waits. */
	if (!url_table_get(f->known, l->hash, &date, &mark))
		return known_evict_is_partial(f) ? MARK_WAITING : MARK_DONE;
	return date == l->rank ? mark : MARK_DONE;
}

void
crawl_skip_waiting(struct crawl *c, struct queue *q, const struct lease *l,
    enum skip_reason reason)
{
	struct submission s = { .crawl = c->id, .outcome = OUTCOME_SKIPPED,
	    .reason = (uint8_t)reason, .lease = *l };

	url_table_set(c->frontier->known, l->hash, l->rank, MARK_LEASED);
	q->waiting--;
	q->leased++;
	c->view.counts.leased++;
	submission_settle(c, &s);
	c->excluded++;
	crawl_touch(c);
}

void
exclude_settle(struct crawl_change *a, struct crawl *c)
{
	for (size_t i = 0; i < a->matches_n; i++) {
		const struct lease *l = &a->matches[i].lease;
		struct queue *q = map_get_id(&c->queues_by_id, l->queue);
		uint8_t mark = mark_of(a->frontier, l);
		a->leased |= mark == MARK_LEASED;
		if (q == NULL || (mark != MARK_WAITING &&
		    (mark != MARK_LEASED || a->verb == CHANGE_SKIP)))
			continue;
		if (a->verb == CHANGE_SKIP)
			crawl_skip_waiting(c, q, l, SKIP_SCOPE);
		else
			a->n++;
		add_sample(a, l->url);
	}
}

/*
 * What is being fetched would wait again after a crash: then another process is
 * to walk once more.
 */
void
exclude_finish(struct crawl_change *a, struct crawl *c)
{
	struct frontier *f = a->frontier;

	a->n = c->excluded;
	c->excluded = 0;
	if (a->leased)
		return;
	crawl_key(a->crawl, PART_EXCLUDED, &f->key);
	ledger_delete(f->ledger, INDEX_CRAWL, buf_str(&f->key));
}

void
exclude_begin(struct crawl_change *a)
{
	const struct crawl *c = change_crawl(a);

	/* A crawl that has ended has nothing left to skip. */
	if (a->verb == CHANGE_COUNT && a->why.err == ERR_STATE)
		a->why = WHY_INIT;
	if (c != NULL && a->verb == CHANGE_SKIP) {
		a->rules = c->rules;
		a->excludes = c->excludes;
	}
	/* Without rules nothing is excluded. */
	if (c == NULL || a->rules == NULL) {
		change_answer(a);
		return;
	}
	change_walk(a);
}
