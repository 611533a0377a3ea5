/*
 * maxAge: the newest archived answer to a GET of the URL in place of a request,
 * when it is not too old.
 *
 * The answer to an anonymous call is noted under its URL, whatever its crawl.
 * An answer to a request with cookies, a signature or credentials is never
 * noted.  That of a host whose address may be private has a key of its own, so
 * that only calls that may reach the host find it.  A rebuild does not restore
 * the notes: the next call sends a request.
 */
#include "engine/archive/archive_port.h"
#include "engine/archive/capture.h"
#include "engine/fetcher/call_page.h"
#include "engine/fetcher/collection.h"
#include "engine/fetcher/http_request.h"
#include "os/clock.h"

struct call_newest {
	struct ledger_query query;
	struct page *page;
	struct str key;
	bool found;
};

static bool
is_anonymous(const struct call *c)
{
	for (size_t i = 0; i < c->headers_n; i++)
		if (http_request_is_credential(c->headers[i].name))
			return false;
	return str_eq(c->method, STR("GET")) && c->session == NULL &&
	    c->sign == NULL && c->silence_ms == 0;
}

/* Answers with and without redirects followed are kept apart. */
static struct str
key_of(const struct page *p, bool is_private, struct arena *a)
{
	struct str scope = arena_printf(a, "calls%s%s",
	    p->call->follow ? ", redirects followed" : "",
	    is_private ? ", private" : "");

	return collection_validator_key(scope, p->submission.lease.url, a);
}

/* The call's list allows this URL a private address. */
static bool
is_private_url(const struct page *p, struct arena *a)
{
	struct url u;

	return url_parse(p->submission.lease.url, NULL, a, &u, NULL) == OK &&
	    call_page_may_be_private(p, &u);
}

/* A public URL led to a host that only some callers may reach. */
static bool
went_private(const struct page *p)
{
	for (unsigned i = 1; i < p->hops_n; i++)
		if (call_page_may_be_private(p, &p->hops[i]->url))
			return true;
	return false;
}

void
call_newest_note(struct page *p)
{
	const struct hop *h = page_hop(p);
	struct arena *a = &p->submission.arena;

	/* 429 and 5xx are errors of the moment: no later call gets them. */
	if (is_anonymous(p->call) && p->call->archive == CALL_RESPONSE &&
	    h->truncated == NULL && h->status != 429 && h->status < 500 &&
	    !went_private(p))
		p->submission.validator_key = key_of(p, is_private_url(p, a),
		    a);
}

/* --- on the thread that reads the index ----------------------------------- */

static bool
is_fresh(const struct call *c, const struct journal_entry *e)
{
	int64_t age_us_max = MIN(c->max_age_s, INT64_MAX / 1000000) * 1000000;

	return e->file != 0 && !(e->flags & (JOURNAL_TRUNCATED |
	    JOURNAL_DAMAGED | JOURNAL_REVISIT)) &&
	    clock_wall().us - e->start.us <= age_us_max;
}

/* Fill the call's answer; its owner reads it after done(). */
static bool
take_capture(struct page *p, const struct capture *x,
    const struct journal_entry *e)
{
	struct call *c = p->call;
	struct http_decode_limits limits = { page_body_max(p),
	    p->fetcher->settings->decode_ratio_max };
	struct str head = arena_copy(&c->arena, x->http_bytes);

	if (http_parse_head(head, false, HTTP_LIMITS_DEFAULT, &c->arena,
	    &c->head, NULL) != OK || capture_decode(x, limits, &c->content) !=
	    HTTP_FINE) {
		buf_clear(&c->content);
		return false;
	}
	c->end = CALL_ANSWERED;
	c->status = x->http.status;
	c->hops = e->hops;
	c->final_url = arena_copy(&c->arena, e->hops > 0 ? e->final_url :
	    e->url);
	c->number_crawl = e->crawl;
	c->number = e->seq;
	c->from_archive = true;
	return true;
}

static void
look(struct ledger_query *q, struct index *x)
{
	struct call_newest *n = CONTAINER(q, struct call_newest, query);
	struct page *p = n->page;
	struct capture_reader *reader;
	struct journal_entry e;
	struct capture capture;
	int fd;

	if (collection_validator_get(x, n->key, p->submission.lease.url,
	    &p->submission.arena, &e) != OK || !is_fresh(p->call, &e) ||
	    ledger_warc_open(x, e.file, &fd, NULL) != OK)
		return;
	reader = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	n->found = capture_read(reader, fd, e.offset, e.clen, e.ulen,
	    &capture, NULL) == OK && capture.has_http &&
	    take_capture(p, &capture, &e);
	capture_reader_free(&reader);
	archive_port()->close(&fd);
}

/* --- on the loop ---------------------------------------------------------- */

static void
looked(struct ledger_query *q)
{
	struct call_newest *n = CONTAINER(q, struct call_newest, query);

	page_resume(n->page, PAGE_NEWEST);
}

enum page_step
page_step_newest(struct page *p)
{
	struct arena *a = &p->submission.arena;
	struct call_newest *n = p->newest;

	if (n == NULL && p->call->max_age_s > 0 && is_anonymous(p->call)) {
		n = p->newest = ARENA_NEW(a, struct call_newest);
		n->page = p;
		n->key = key_of(p, is_private_url(p, a), a);
		ledger_read(frontier_ledger(p->fetcher->options.frontier),
		    &n->query, p->fetcher->loop, look, looked);
		return PAGE_WAIT;
	}
	if (n != NULL && n->found)
		return call_page_stored(p);
	return !p->call->archived_only ? PAGE_ROBOTS : page_finish(p,
	    OUTCOME_SKIPPED, SKIP_BLOCKED, STR("no answer is archived"));
}
