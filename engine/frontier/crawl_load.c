/* Continues a crawl after a restart: loads what it knows from the index. */
#include "engine/frontier/crawl.h"
#include "engine/frontier/crawl_state.h"
#include "engine/frontier/error_summary.h"
#include "engine/frontier/journal.h"
#include "engine/frontier/near_dup.h"
#include "engine/frontier/url_load.h"

struct loading {
	uint32_t crawl;
	struct known_evict_load *load;
};

static int
read_url(void *arg, struct url_load_part *part, struct str key,
    struct str value, struct url_load_entry *e)
{
	const struct loading *l = arg;
	struct reader in = reader_of(key);
	struct url_value v;

	(void)part;
	read_be32(&in);
	uint32_t queue = read_be32(&in);
	e->date = read_be32(&in);
	e->mark = e->date != 0 ? MARK_WAITING : MARK_DONE;
	if (queue == QUEUE_SKIPPED && url_value_parse(value, &v)) {
		e->mark = MARK_SKIPPED;
		e->date = v.why & 15;
	}
	e->hash = frontier_hash(l->crawl, (struct str){ in.p, in.n });
	return URL_LOAD_TAKE;
}

static enum err
take_urls(void *arg, const struct url_load_entry *entries, size_t n,
    struct why *w)
{
	const struct loading *l = arg;
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK; i++)
		e = known_evict_load_put(l->load, entries[i].hash,
		    entries[i].date, entries[i].mark, w);
	return e;
}

static uint64_t
urls_of(const struct crawl_counts *n)
{
	return n->queued + n->items + crawl_exceptions(n) + crawl_skips(n);
}

static enum err
load_known(struct crawl *c, struct index *x, struct why *w)
{
	FREED(buf_free) struct buf from = BUF_INIT, to = BUF_INIT;
	struct loading l = { .crawl = c->id,
		.load = known_evict_load_begin(c->frontier,
		urls_of(&c->view.counts)) };

	key_range(c->id, 4, &from, &to);
	enum err e = url_load(&(struct url_load){ .index = x,
	    .from = buf_str(&from), .to = buf_str(&to),
	    .threads = url_load_threads(c->frontier),
	    .read = read_url, .take = take_urls, .arg = &l }, w);
	return known_evict_load_end(&l.load, e, w);
}

/*
 * The newest simhashes, read backward: a crawl of millions of captures needs
 * few of its journal.
 */
static enum err
load_near(struct crawl *c, struct index *x, struct why *w)
{
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new_long(x, INDEX_JOURNAL);
	FREED(buf_free) struct buf from = BUF_INIT, to = BUF_INIT;
	struct str key, value;
	uint64_t *hashes = mem_array(NEAR_DUP_MAX, sizeof(*hashes));
	size_t n = 0;

	key_range(c->id, 4, &from, &to);
	for (index_iter_seek_last(i, buf_str(&to)); n < NEAR_DUP_MAX &&
	    index_iter_valid(i, &key, &value) &&
	    str_starts(key, buf_str(&from)); index_iter_prev(i)) {
		struct journal_entry entry;
		if (journal_parse(key, value, &entry) && entry.simhash != 0)
			hashes[n++] = entry.simhash;
	}
	c->near = near_dup_new(NEAR_DUP_MAX);
	while (n > 0)
		near_dup_restore(c->near, hashes[--n]);
	mem_free(&hashes);
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
