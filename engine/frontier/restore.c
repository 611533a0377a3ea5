/*
 * Crawls made anew from their WARC files: the same transitions as when they
 * ran, in the order of the captures, without anyone who asks for URLs.
 */
#include "engine/frontier/crawl_state.h"
#include "engine/frontier/exclude.h"
#include "engine/frontier/near_dup.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/restore.h"
#include "engine/frontier/url_query.h"
#include "engine/frontier/url_scan.h"

static enum err
find_crawl(const struct frontier *f, uint32_t id, struct crawl **out,
    struct why *w)
{
	*out = crawl_get(f, id);
	return *out != NULL ? OK : why(w, ERR_ABSENT, "there is no crawl %u",
	    id);
}

enum err
frontier_restore(struct frontier *f, uint32_t id,
    const struct crawl_spec *spec, struct wall created, struct why *w)
{
	if (crawl_get(f, id) != NULL)
		return why(w, ERR_EXISTS, "there is a crawl %u already", id);
	struct crawl *c = crawl_begin(f, id, spec, created);
	c->view.state = CRAWL_RUNNING;
	c->view.started = created;
	crawl_log_put(c, CRAWL_LOG_RESTARTED,
	    STR("rebuilt from its WARC files"));
	return ledger_apply(f->ledger, w);
}

void
frontier_restore_found(struct frontier *f, uint32_t crawl,
    const struct found *u)
{
	struct crawl *c = crawl_get(f, crawl);

	if (c != NULL)
		frontier_discover(c, u, 0);
}

/* A page that was fetched was within the limits, whatever its links say now. */
static void
find_again(struct crawl *c, const struct found *u)
{
	uint64_t urls_max = c->host_urls_max;
	struct found taken = *u;

	taken.skip = SKIP_NONE;
	c->host_urls_max = 0;
	frontier_discover(c, &taken, 0);
	c->host_urls_max = urls_max;
}

enum err
frontier_restore_lease(struct frontier *f, uint32_t crawl,
    const struct found *u, struct lease *l, struct why *w)
{
	struct url_value v;
	struct crawl *c;
	uint8_t mark = 0;

	enum err e = find_crawl(f, crawl, &c, w);
	if (e != OK)
		return e;
	find_again(c, u);
	struct queue *q = queue_get(c, u->key, false);
	if (q == NULL || !url_table_get(f->known, u->hash, &l->rank, &mark) ||
	    mark != MARK_WAITING)
		return why(w, ERR_STATE, "%.*s is done already",
		    STR_FMT(str_cut(u->url, 0, 200)));
	l->url = u->url;
	l->hash = u->hash;
	l->depth = u->depth;
	l->queue = q->id;
	e = ledger_apply(f->ledger, w);
	if (e != OK)
		return e;
	e = url_record_get(ledger_index(f->ledger), c->id, q->id, l->rank,
	    l->url, &v);
	if (e != OK)
		return why(w, e, "a URL's record in the index is damaged");
	l->cost = v.cost;
	l->flags = v.flags;
	url_table_set(f->known, l->hash, l->rank, MARK_LEASED);
	q->waiting--;
	q->leased++;
	c->view.counts.leased++;
	return OK;
}

enum err
frontier_restore_settle(struct frontier *f, struct submission *s, struct why *w)
{
	struct crawl *c;

	enum err e = find_crawl(f, s->crawl, &c, w);
	if (e != OK)
		return e;
	submission_settle(c, s);
	for (size_t i = 0; i < s->found_n; i++)
		frontier_discover(c, &s->found[i],
		    s->outcome == OUTCOME_ITEM ? s->seq : 0);
	for (size_t i = 0; i < s->puts_n; i++)
		ledger_put(f->ledger, s->puts[i].family, s->puts[i].key,
		    s->puts[i].value);
	crawl_touch(c);
	return ledger_apply(f->ledger, w);
}

struct skipping {
	struct crawl *crawl;
	enum skip_reason reason;
	bool (*judge)(void *, struct str, uint8_t);
	void *arg;
	enum err e;
	struct why *why;
};

static enum url_scan_next
skip_waiting(void *arg, const struct url_row *u)
{
	struct skipping *s = arg;
	struct crawl *c = s->crawl;
	struct queue *q = map_get_id(&c->queues_by_id, u->queue);
	struct url_value v;

	if (u->rank == 0)
		return URL_SCAN_WAITING;
	if (q == NULL || !url_value_parse(u->value, &v) ||
	    !s->judge(s->arg, u->url, v.flags))
		return URL_SCAN_NEXT;
	struct lease l = { .url = u->url, .rank = u->rank, .queue = u->queue,
		.hash = frontier_hash(c->id, u->url), .cost = v.cost,
		.depth = v.depth, .flags = v.flags };
	crawl_skip_waiting(c, q, &l, s->reason);
	s->e = ledger_apply(c->frontier->ledger, s->why);
	return s->e == OK ? URL_SCAN_NEXT : URL_SCAN_PAUSE;
}

enum err
frontier_restore_skip(struct frontier *f, uint32_t crawl,
    enum skip_reason reason, bool (*judge)(void *, struct str, uint8_t),
    void *arg, struct why *w)
{
	struct skipping s = { NULL, reason, judge, arg, OK, w };
	struct url_scan scan = { .crawl = crawl };

	enum err e = find_crawl(f, crawl, &s.crawl, w);
	if (e == OK)
		e = ledger_apply(f->ledger, w);
	/* It walks over the index as it is now. */
	if (e == OK)
		e = url_scan_piece(&scan, ledger_index(f->ledger), UINT32_MAX,
		    skip_waiting, &s, w);
	buf_free(&scan.from);
	return e == OK ? s.e : e;
}

enum err
frontier_restore_end(struct frontier *f, uint32_t crawl, struct wall last,
    uint64_t warc_bytes, struct why *w)
{
	struct crawl *c;

	enum err e = find_crawl(f, crawl, &c, w);
	if (e != OK)
		return e;
	bytes_limit_set(c, warc_bytes);
	crawl_consider_end(c);
	if (crawl_state_is_ended(c->view.state))
		c->view.ended = last;
	crawl_touch(c);
	/* Crawls are told one after the other: nobody asks for this one's. */
	url_table_free(&f->known);
	f->known = url_table_new();
	near_dup_free(&c->near);
	return OK;
}

void
frontier_restore_view(struct frontier *f, const struct crawl_view *was)
{
	struct crawl *c = crawl_get(f, was->id);

	if (c == NULL)
		return;
	c->next_seq = MAX(c->next_seq, was->item_last + 1);
	c->view.item_last = c->next_seq - 1;
	if (crawl_state_is_ended(was->state) &&
	    !crawl_state_is_ended(c->view.state)) {
		c->view.state = was->state;
		memcpy(c->view.reason, was->reason, sizeof(was->reason));
		c->view.ended = was->ended;
	}
	crawl_touch(c);
}
