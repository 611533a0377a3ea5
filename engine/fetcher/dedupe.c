/* Is the same payload in the collection already? */
#include "engine/fetcher/call.h"
#include "engine/fetcher/collection.h"
#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/revalidate.h"

static void
look_up_digest(struct ledger_query *q, struct index *x)
{
	struct page *p = CONTAINER(q, struct page, lookup);
	struct arena *a = &p->submission.arena;
	struct journal_entry e;
	struct str value;

	if (index_get(x, INDEX_DIGEST, p->submission.digest_key, a, &value,
	    NULL) != OK)
		return;
	struct reader in = reader_of(value);
	uint32_t crawl = read_be32(&in);
	uint64_t seq = read_be64(&in);
	p->dup_date.us = (int64_t)read_be64(&in);
	/* The original's crawl may have been deleted. */
	if (in.bad || collection_entry(x, crawl, seq, a, &e) != OK)
		return;
	p->dup_source = (struct journal_source){ e.file, e.offset, e.clen,
	    e.ulen };
	p->dup_uri = (struct str){ in.p, in.n };
}

static enum page_step
next_step(const struct page *p)
{
	return p->kind == PAGE_OF_CALL ? PAGE_ANSWER : PAGE_ARCHIVE;
}

static void
digest_looked_up(struct ledger_query *q)
{
	struct page *p = CONTAINER(q, struct page, lookup);

	if (p->dup_uri.n != 0) {
		p->submission.duplicate = true;
		p->submission.digest_key = STR_NONE;
	}
	page_resume(p, next_step(p));
}

enum page_step
page_step_dedupe(struct page *p)
{
	/* A digest alone costs less than the way to another loop. */
	if (page_is_archived(p) && page_lend(p))
		return PAGE_WAIT;
	p->compared = true;
	struct hop *h = page_hop(p);
	struct str body = buf_str(&h->body);
	FREED(buf_free) struct buf key = BUF_INIT, rest = BUF_INIT;
	struct arena *a = &p->submission.arena;

	if (page_is_archived(p))
		warc_digest_response(p->fetcher->writer, h->head, body,
		    &p->block, &p->digest);
	else
		warc_digest_payload(p->fetcher->writer, &body, 1, &p->digest);
	revalidate_note(p);
	if (h->status < 200 || h->status > 299 || body.n == 0 ||
	    h->truncated != NULL)
		return next_step(p);
	collection_digest_key(p->crawl->shared->collection, &p->digest, &key);
	p->submission.digest_key = arena_copy(a, buf_str(&key));
	buf_put_be64(&rest, (uint64_t)h->start.us);
	buf_put_str(&rest, h->url.href);
	p->submission.digest_rest = arena_copy(a, buf_str(&rest));
	/* Nearly all payloads are new: then the index has nothing to say. */
	bool seen = digest_filter_add(p->fetcher->options.seen,
	    p->submission.digest_key);
	if (!seen || (p->call != NULL && !p->call->revisits))
		return next_step(p);
	ledger_read(frontier_ledger(p->fetcher->options.frontier), &p->lookup,
	    p->fetcher->loop, look_up_digest, digest_looked_up);
	return PAGE_WAIT;
}
