/*
 * A URL that an earlier crawl of the collection captured is asked for with its
 * validators (RFC 9110 section 13).  304 becomes a revisit record, and the
 * page's links are found in the body that is archived already.
 *
 *     robots ─► recall (index, WARC) ─► turn ... 304 ─► parse the old body
 */
#include "engine/archive/capture.h"
#include "engine/fetcher/state.h"
#include "engine/frontier/journal.h"
#include "os/file.h"

/* The old record and what was taken from it; in the page's arena. */
struct recall {
	struct ledger_query query;
	struct page *page;
	struct str etag, last_modified;
	struct str uri;
	struct wall date;
	struct str body;                 /* decoded */
	struct str content_type;
	struct digest payload;
	bool found;
};

static void
take_capture(struct recall *r, const struct capture *c, uint64_t body_max)
{
	struct arena *a = &r->page->submission.arena;
	struct http_decode_limits limits = { body_max,
	    r->page->fetcher->settings->decode_ratio_max };
	struct buf body = BUF_INIT;

	r->etag = arena_copy(a, http_find(&c->http, STR("ETag")));
	r->last_modified = arena_copy(a,
	    http_find(&c->http, STR("Last-Modified")));
	if (c->type != WARC_RESPONSE || c->http.status != 200 ||
	    (r->etag.n == 0 && r->last_modified.n == 0))
		return;
	/* Damage gives what came before it, as when it was fetched. */
	if (capture_decode(c, limits, &body) != HTTP_FINE)
		body.n = MIN(body.n, body_max);
	r->body = arena_copy(a, buf_str(&body));
	r->content_type = arena_copy(a, http_find(&c->http,
	    STR("Content-Type")));
	r->uri = arena_copy(a, c->uri);
	r->date = c->date;
	r->found = true;
	buf_free(&body);
}

/* On the index thread; only crawls that come again pay for this read. */
static void
run(struct ledger_query *q, struct index *x)
{
	struct recall *r = CONTAINER(q, struct recall, query);
	struct page *p = r->page;
	struct arena *a = &p->submission.arena;
	struct capture_reader *reader = NULL;
	struct journal_entry e;
	struct capture c;
	struct str path;
	int fd = -1;

	if (frontier_old_capture(x, p->crawl->shared->previous,
	    page_hop(p)->url.host, p->submission.lease.url, a, &e) != OK ||
	    e.hops > 0 || (e.flags & (JOURNAL_REVISIT | JOURNAL_TRUNCATED)) ||
	    ledger_warc_path(x, e.file, a, &path, NULL) != OK ||
	    file_open(path.p, FILE_READ, &fd, NULL) != OK)
		return;
	reader = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	if (capture_read(reader, fd, e.offset, e.clen, e.ulen, &c, NULL) ==
	    OK) {
		r->payload = e.digest;
		take_capture(r, &c, p->fetcher->settings->body_bytes_max);
	}
	capture_reader_free(&reader);
	file_close(&fd);
}

static void
done(struct ledger_query *q)
{
	struct recall *r = CONTAINER(q, struct recall, query);

	page_go(r->page, PAGE_TURN);
}

bool
recall_begin(struct page *p)
{
	if (p->crawl->shared->previous == UINT32_MAX || p->recall != NULL ||
	    p->kind != PAGE_URL || p->hops_n > 1)
		return false;
	p->recall = ARENA_NEW(&p->submission.arena, struct recall);
	p->recall->page = p;
	p->recall->query.home = p->fetcher->loop;
	p->recall->query.run = run;
	p->recall->query.done = done;
	ledger_read(frontier_ledger(p->fetcher->options.frontier),
	    &p->recall->query);
	return true;
}

size_t
recall_headers(const struct page *p, struct transport_header *out)
{
	const struct recall *r = p->recall;
	size_t n = 0;

	if (r == NULL || !r->found || p->hops_n > 1)
		return 0;
	if (r->etag.n != 0)
		out[n++] = (struct transport_header){ STR("If-None-Match"),
		    r->etag };
	if (r->last_modified.n != 0)
		out[n++] = (struct transport_header){
		    STR("If-Modified-Since"), r->last_modified };
	return n;
}

bool
recall_unchanged(struct page *p, struct parse_input *in,
    struct warc_revisit *revisit)
{
	const struct recall *r = p->recall;

	if (r == NULL || !r->found || page_hop(p)->status != 304)
		return false;
	if (in != NULL) {
		in->body = r->body;
		in->content_type = r->content_type;
	}
	if (revisit != NULL)
		*revisit = (struct warc_revisit){
			.profile = STR(WARC_PROFILE_NOT_MODIFIED),
			.refers_to_uri = r->uri, .refers_to_date = r->date,
			.payload = &r->payload,
		};
	return true;
}
