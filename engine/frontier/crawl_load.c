/* Continues a crawl after a restart: loads what it knows from the index. */
#include "engine/frontier/crawl.h"
#include "engine/frontier/crawl_state.h"
#include "engine/frontier/error_summary.h"
#include "engine/frontier/journal.h"
#include "engine/frontier/near_dup.h"
#include "engine/frontier/url_scan.h"

struct loading {
	uint32_t crawl;
	struct known_evict_load *load;
	enum err e;
	struct why *why;
};

static enum url_scan_next
load_url(void *arg, const struct url_row *u)
{
	struct loading *l = arg;
	uint8_t mark = u->rank != 0 ? MARK_WAITING : MARK_DONE;
	uint32_t date = u->rank;
	struct url_value v;

	if (u->queue == QUEUE_SKIPPED && url_value_parse(u->value, &v)) {
		mark = MARK_SKIPPED;
		date = v.why & 15;
	}
	l->e = known_evict_load_put(l->load, frontier_hash(l->crawl, u->url),
	    date, mark, l->why);
	return l->e == OK ? URL_SCAN_NEXT : URL_SCAN_PAUSE;
}

static uint64_t
urls_of(const struct crawl_counts *n)
{
	return n->queued + n->items + crawl_exceptions(n) + crawl_skips(n);
}

static enum err
load_known(struct crawl *c, struct index *x, struct why *w)
{
	struct url_scan scan = { .crawl = c->id };
	struct loading l = { .crawl = c->id, .why = w,
		.load = known_evict_load_begin(c->frontier,
		urls_of(&c->view.counts)) };

	enum err e = url_scan_piece(&scan, x, UINT32_MAX, load_url, &l, w);
	buf_free(&scan.from);
	return known_evict_load_end(&l.load, e == OK ? l.e : e, w);
}

static enum err
load_near(struct crawl *c, struct index *x, struct why *w)
{
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(x, INDEX_JOURNAL);
	FREED(buf_free) struct buf from = BUF_INIT;
	struct str key, value;

	c->near = near_dup_new(NEAR_DUP_MAX);
	buf_put_be32(&from, c->id);
	for (index_iter_seek(i, buf_str(&from));
	    index_iter_valid(i, &key, &value) &&
	    str_starts(key, buf_str(&from)); index_iter_next(i)) {
		struct journal_entry entry;
		if (journal_parse(key, value, &entry))
			near_dup_add(c->near, entry.simhash);
	}
	return index_iter_error(i, w);
}

static enum err
load_crawl(struct crawl *c, struct why *w)
{
	struct index *x = ledger_index(c->frontier->ledger);

	if (c->loaded)
		return OK;
	c->loaded = true;
	enum err e = load_known(c, x, w);
	if (e == OK)
		e = error_summary_load(c, x, w);
	return e == OK ? load_near(c, x, w) : e;
}

enum err
frontier_continue(struct frontier *f, uint32_t id, struct why *w)
{
	struct crawl *c = crawl_get(f, id);

	if (c == NULL)
		return why(w, ERR_ABSENT, "there is no crawl %u", id);
	if (crawl_state_is_ended(c->view.state))
		return why(w, ERR_STATE, "crawl %u is %s: %s", id,
		    crawl_state_name(c->view.state), c->view.reason);
	enum err e = load_crawl(c, w);
	if (e != OK)
		return e;
	crawl_log_trim(c);
	crawl_log_put(c, CRAWL_LOG_RESTARTED, STR(""));
	crawl_set_deadline(c);
	if (c->view.state == CRAWL_RUNNING)
		crawl_wake_all(c);
	crawl_consider_end(c);
	crawl_start_pending(c->frontier);
	return OK;
}
