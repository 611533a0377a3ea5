/*
 * A URL that an earlier crawl of the collection captured is asked for with its
 * validators (RFC 9110 section 13).  304 becomes a revisit record, and the
 * page's links are found in the body that is archived already.
 *
 *     robots ─► recall (index, WARC) ─► turn ... 304 ─► parse the old body
 *
 * The collection's index leads to the newest capture with a validator, however
 * many crawls got 304 since.  That capture may be a revisit of the same payload
 * under another URL: then its own head has validators, framing and codings, and
 * the record that it refers to has the body.
 */
#include "engine/fetcher/revalidate.h"

#include "engine/archive/archive_port.h"
#include "engine/archive/capture.h"
#include "engine/fetcher/call.h"
#include "engine/fetcher/collection.h"
#include "engine/fetcher/fetch_crawl.h"
#include "engine/frontier/journal.h"
#include "engine/frontier/url_query.h"

/* The old capture and what was taken from it; in the page's arena. */
struct revalidation {
	struct ledger_query query;
	struct page *page;
	struct str key;                  /* of the collection's validator */
	uint32_t crawl;
	uint64_t seq;
	bool by_row;                     /* found without a validator key */
	struct str etag, last_modified;
	struct str uri;                  /* of the record with the body */
	struct wall date;                /* likewise */
	struct str body;                 /* decoded */
	struct str content_type;
	struct digest payload;
	bool found;
};

static bool
read_record(struct index *x, struct capture_reader *reader, uint32_t file,
    uint64_t offset, uint32_t clen, uint32_t ulen, struct capture *out)
{
	int fd;

	if (ledger_warc_open(x, file, &fd, NULL) != OK)
		return false;
	bool read = capture_read(reader, fd, offset, clen, ulen, out, NULL) ==
	    OK && out->has_http;
	archive_port()->close(&fd);
	return read;
}

/* `body` is of the record that has it, which may be `own` itself. */
static void
take_capture(struct revalidation *r, const struct capture *own,
    const struct capture *body)
{
	struct arena *a = &r->page->submission.arena;
	const struct fetch_settings *s = r->page->fetcher->settings;
	struct http_decode_limits limits = { s->body_bytes_max,
	    s->decode_ratio_max };
	struct capture whole = *own;
	FREED(buf_free) struct buf out = BUF_INIT;

	if (body->type != WARC_RESPONSE ||
	    !collection_has_validator(own->http.status, false, &own->http))
		return;
	r->etag = arena_copy(a, http_find(&own->http, STR("ETag")));
	r->last_modified = arena_copy(a, http_find(&own->http,
	    STR("Last-Modified")));
	whole.body = body->body;
	/* Damage gives what came before it, as when it was fetched. */
	if (capture_decode(&whole, limits, &out) != HTTP_FINE)
		out.n = MIN(out.n, limits.bytes_max);
	r->body = arena_copy(a, buf_str(&out));
	r->content_type = arena_copy(a, http_find(&own->http,
	    STR("Content-Type")));
	r->uri = arena_copy(a, body->uri);
	r->date = body->date;
	r->found = true;
}

static bool
find_row(struct index *x, uint32_t crawl, struct page *p,
    struct journal_entry *e)
{
	return frontier_old_capture(x, crawl, page_hop(p)->url.host,
	    p->submission.lease.url, &p->submission.arena, e) == OK &&
	    (e->status == 200 || e->status == 304);
}

/* The newest capture of the page's URL that a later one may build on. */
static bool
find_entry(struct revalidation *r, struct index *x, struct journal_entry *e)
{
	struct page *p = r->page;
	const struct crawl_shared *s = p->crawl->shared;
	struct str url = p->submission.lease.url;
	struct arena *a = &p->submission.arena;

	bool found = collection_validator_get(x, r->key, url, a, e) == OK;
	if (!found && s->others.newest != UINT32_MAX) {
		found = find_row(x, s->others.newest, p, e) ||
		    (s->others.oldest != s->others.newest &&
		    find_row(x, s->others.oldest, p, e));
		r->by_row = found;
	}
	return found && e->crawl != s->id && e->hops == 0 &&
	    !(e->flags & JOURNAL_TRUNCATED) &&
	    (!(e->flags & JOURNAL_REVISIT) || (e->flags & JOURNAL_SOURCED));
}

/* On the index thread; only crawls that come again pay for this read. */
static void
run(struct ledger_query *q, struct index *x)
{
	struct revalidation *r = CONTAINER(q, struct revalidation, query);
	struct capture_reader *readers[2] = { NULL, NULL };
	struct capture own, body;
	struct journal_entry e;

	if (!find_entry(r, x, &e))
		return;
	r->crawl = e.crawl;
	r->seq = e.seq;
	r->payload = e.digest;
	readers[0] = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	if (!read_record(x, readers[0], e.file, e.offset, e.clen, e.ulen,
	    &own))
		goto out;
	body = own;
	if (e.flags & JOURNAL_REVISIT) {
		readers[1] = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
		if (!read_record(x, readers[1], e.source.file,
		    e.source.offset, e.source.clen, e.source.ulen, &body))
			goto out;
	}
	take_capture(r, &own, &body);
out:
	capture_reader_free(&readers[0]);
	capture_reader_free(&readers[1]);
}

static void
done(struct ledger_query *q)
{
	struct revalidation *r = CONTAINER(q, struct revalidation, query);

	page_resume(r->page, PAGE_TURN);
}

static bool
may_revisit(const struct page *p)
{
	return p->kind == PAGE_URL || (p->call != NULL && p->call->revisits);
}

static bool
is_collected(const struct page *p)
{
	return p->kind == PAGE_URL || (p->call != NULL && p->call->collected);
}

bool
revalidate_begin(struct page *p)
{
	const struct crawl_shared *s = p->crawl->shared;

	if ((s->others.newest == UINT32_MAX && !s->has_collection) ||
	    p->recall != NULL || !may_revisit(p) || p->hops_n > 1)
		return false;
	p->recall = ARENA_NEW(&p->submission.arena, struct revalidation);
	p->recall->page = p;
	p->recall->key = collection_validator_key(s->collection,
	    p->submission.lease.url, &p->submission.arena);
	ledger_read(frontier_ledger(p->fetcher->options.frontier),
	    &p->recall->query, p->fetcher->loop, run, done);
	return true;
}

size_t
revalidate_headers(const struct page *p, struct transport_header *out)
{
	const struct revalidation *r = p->recall;
	size_t n = 0;

	/* A call has its own. */
	if (r == NULL || !r->found || p->hops_n > 1 || p->kind != PAGE_URL)
		return 0;
	if (r->etag.n != 0)
		out[n++] = (struct transport_header){ STR("If-None-Match"),
		    r->etag };
	if (r->last_modified.n != 0)
		out[n++] = (struct transport_header){
		    STR("If-Modified-Since"), r->last_modified };
	return n;
}

static bool
has_header(const struct call *c, const char *name, struct str value)
{
	for (size_t i = 0; value.n > 0 && i < c->headers_n; i++)
		if (str_eq_nocase(c->headers[i].name, str_of(name)) &&
		    str_eq(c->headers[i].value, value))
			return true;
	return false;
}

/* The request was made on the condition of that capture's validators. */
static bool
is_asked_about(const struct page *p, const struct revalidation *r)
{
	return p->kind == PAGE_URL ||
	    has_header(p->call, "If-None-Match", r->etag) ||
	    has_header(p->call, "If-Modified-Since", r->last_modified);
}

bool
revalidate_unchanged(struct page *p, struct parse_input *in,
    struct warc_revisit *revisit)
{
	const struct revalidation *r = p->recall;

	if (r == NULL || !r->found || page_hop(p)->status != 304 ||
	    !is_asked_about(p, r))
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

void
revalidate_note(struct page *p)
{
	struct submission *s = &p->submission;
	const struct hop *h = page_hop(p);
	const struct revalidation *r = p->recall;

	if (!is_collected(p) || p->hops_n > 1)
		return;
	if (collection_has_validator(h->status, h->truncated != NULL,
	    &h->parsed)) {
		if (r != NULL)
			s->validator_key = r->key;
		else if (p->crawl->shared->notes_validators)
			s->validator_key = collection_validator_key(
			    p->crawl->shared->collection, s->lease.url,
			    &s->arena);
	} else if (revalidate_unchanged(p, NULL, NULL) && r->by_row) {
		s->validator_key = r->key;
		s->validator_crawl = r->crawl;
		s->validator_seq = r->seq;
	}
}
