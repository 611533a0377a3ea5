/*
 * The steps RESOLVE and FETCH: a page's addresses, and one exchange with the
 * host.
 */
#include "base/metric.h"
#include "engine/fetcher/address_guard.h"
#include "engine/fetcher/address_slots.h"
#include "engine/fetcher/call_page.h"
#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/http_request.h"
#include "engine/policy/robots.h"
#include "os/clock.h"

enum { CONNECTION_NEW, CONNECTION_KEPT, CONNECTION_TLS, CONNECTION_RESUMED,
	CONNECTION_KINDS };
static const char *const connection_kinds[] = { "new", "kept", "tls",
	"tls_resumed" };
static struct metric connections = METRIC_BY(COUNTER,
    "argiope_fetch_connections_total", "Requests by their connection: kept "
    "from another request, new, or new with TLS by a full or a resumed "
    "handshake.", "kind", connection_kinds, CONNECTION_KINDS);

void
page_fetch_open(void)
{
	metric_register(&connections, 1);
}

/* --- RESOLVE ------------------------------------------------------------ */

/* "HOST:PORT:ADDRESS:PORT,...": a test's own little DNS. */
static bool
fixed_address(const char *table, const struct url *u, struct ip *ip,
    uint16_t *port)
{
	struct str rest = str_of(table), row;

	while (str_split(&rest, ',', &row)) {
		struct str host, from, address, to;
		uint64_t from_port, to_port;
		if (!str_split(&row, ':', &host) ||
		    !str_split(&row, ':', &from) ||
		    !str_split(&row, ':', &address) ||
		    !str_split(&row, ':', &to))
			continue;
		bool any_port = str_eq(from, STR("*"));
		if (!str_eq(host, STR("*")) && !str_eq_nocase(host, u->host))
			continue;
		if (!any_port && (!str_to_u64(from, &from_port) ||
		    from_port != u->port))
			continue;
		if (str_to_u64(to, &to_port) && ip_from_text(address, ip)) {
			*port = (uint16_t)to_port;
			return true;
		}
	}
	return false;
}

static void
query_found(struct resolve_query *q)
{
	struct page *p = CONTAINER(q, struct page, query);

	for (size_t i = 0; i < q->n; i++)
		if (address_guard_found(p, &q->addresses[i]))
			p->addresses[p->addresses_n++] = q->addresses[i];
	if (p->addresses_n > 0) {
		page_resume(p, PAGE_FETCH);
		return;
	}
	if (q->n == 0)
		p->end_text = arena_copy(&p->submission.arena,
		    str_of(q->error));
	p->tries++;
	p->end = q->n == 0 ? TRANSPORT_DNS : TRANSPORT_BLOCKED;
	page_release_slot(p);
	page_resume(p, PAGE_JUDGE);
}

enum page_step
page_step_resolve(struct page *p)
{
	const struct url *u = &page_hop(p)->url;
	struct ip ip;

	/* Waiting for robots.txt and for its turn does not count. */
	if (p->hops_n == 1 && p->tries == 0) {
		p->start = clock_wall();
		p->began = loop_now(p->fetcher->loop);
	}
	p->addresses_n = 0;
	p->end_text = STR_NONE;
	p->exchange.port = u->port;
	if (p->crawl->shared->proxy.n != 0)
		return PAGE_FETCH;
	/* The operator may map names to any address. */
	p->by_setting = p->fetcher->settings->resolve != NULL && fixed_address(
	    p->fetcher->settings->resolve, u, &ip, &p->exchange.port);
	if (p->by_setting) {
		p->addresses[p->addresses_n++] = ip;
		return PAGE_FETCH;
	}
	p->query.host = u->host;
	p->query.found = query_found;
	resolve_start(p->fetcher->options.resolver, &p->query);
	return PAGE_WAIT;
}

/* --- FETCH -------------------------------------------------------------- */

static struct page *
page_of(struct exchange *x)
{
	return CONTAINER(x, struct page, exchange);
}

static bool
on_connected(struct exchange *x, const struct ip *ip)
{
	struct page *p = page_of(x);

	page_hop(p)->ip = *ip;
	return address_guard_connection(p, ip);
}

static bool
on_head(struct exchange *x, struct str bytes, int status)
{
	struct page *p = page_of(x);
	struct hop *h = page_hop(p);
	struct arena *a = &p->submission.arena;
	struct policy_verdict v;

	h->head = arena_copy(a, bytes);
	h->status = status;
	p->fetcher->pages->bytes_in += bytes.n;
	if (http_parse_head(h->head, false, HTTP_LIMITS_DEFAULT, a, &h->parsed,
	    NULL) != OK) {
		h->stop = HOP_STOP_HEAD;
		return false;
	}
	if (!call_stream_head(p)) {
		h->stop = HOP_STOP_HEAD;
		return false;
	}
	if (p->kind == PAGE_URL && status >= 200 && status < 300) {
		policy_judge_mime(crawl_policy(p->crawl->shared),
		    http_find(&h->parsed, STR("Content-Type")), &v);
		if (!v.take) {
			h->stop = HOP_STOP_MIME;
			return false;
		}
	}
	return true;
}

uint64_t
page_body_max(const struct page *p)
{
	if (p->kind == PAGE_OF_ROBOTS)
		return 2 * ROBOTS_BYTES_MAX;
	if (p->call != NULL && p->decoder != NULL && p->call->bytes_max != 0)
		return p->call->bytes_max;
	return (uint64_t)MIN((int64_t)p->fetcher->settings->body_bytes_max,
	    policy_of(crawl_policy(p->crawl->shared))->limits.max_body_bytes);
}

/* The most that is reserved because a Content-Length says so. */
#define BODY_RESERVED_MAX ((uint64_t)256 << 10)

/* At the first piece of a body, so that it is not copied as it grows. */
static void
reserve_body(struct hop *h, uint64_t room)
{
	uint64_t n;

	if (http_content_length(&h->parsed, &n))
		buf_reserve(&h->body, (size_t)MIN(MIN(n, room),
		    BODY_RESERVED_MAX));
}

static bool
on_body(struct exchange *x, struct str bytes)
{
	struct page *p = page_of(x);
	struct hop *h = page_hop(p);
	uint64_t room = page_body_max(p) - h->body.n;

	p->fetcher->pages->bytes_in += bytes.n;
	if (p->frames != NULL)
		return call_frames_body(p, bytes);
	if (p->decoder != NULL && !call_stream_body(p, bytes))
		return false;
	if (p->decoder != NULL && p->call->archive == CALL_UNARCHIVED)
		return true;
	if (bytes.n > room) {
		buf_put(&h->body, bytes.p, (size_t)room);
		h->truncated = "length";
		return false;
	}
	if (h->body.n == 0)
		reserve_body(h, room);
	buf_put_str(&h->body, bytes);
	return true;
}

static void
count_connection(const struct exchange *x)
{
	size_t kind = x->reused ? CONNECTION_KEPT : !x->tls ? CONNECTION_NEW :
	    x->resumed ? CONNECTION_RESUMED : CONNECTION_TLS;

	/* Set once the request may be sent. */
	if (x->times.connect >= 0)
		metric_add_by(&connections, kind, 1);
}

static void
on_done(struct exchange *x, enum transport_end end, struct str detail)
{
	struct page *p = page_of(x);
	struct hop *h = page_hop(p);
	struct arena *a = &p->submission.arena;

	p->end = end;
	count_connection(x);
	if (p->fetcher->closing)
		return;
	call_stream_ends(p);
	p->end_text = arena_copy(a, detail);
	h->request = arena_copy(a, x->request_sent);
	h->times = x->times;
	h->too_large = x->too_large;
	/* For the archive only: such an answer has no status here. */
	if (h->head.n == 0 && x->head_received.n > 0) {
		h->head = arena_copy(a, x->head_received);
		if (http_parse_head(h->head, false, HTTP_LIMITS_DEFAULT, a,
		    &h->parsed, NULL) != OK)
			h->parsed = (struct http_head){ 0 };
	}
	page_release_slot(p);
	page_resume(p, PAGE_JUDGE);
}

static const struct exchange_events events = {
	on_connected, on_head, on_body, on_done,
};

enum page_step
page_step_fetch(struct page *p)
{
	struct fetcher *f = p->fetcher;
	struct hop *h = page_hop(p);

	if (p->crawl->order == FETCH_END || call_page_stopped(p))
		return PAGE_RETURN;
	if (!address_slots_take(p))
		return PAGE_WAIT;
	if (!http_request_build(p))
		return page_finish(p, OUTCOME_SKIPPED, SKIP_URL,
		    STR("no request can be made of this URL"));
	p->exchange.events = &events;
	buf_clear(&h->body);
	h->truncated = NULL;
	h->stop = HOP_STOP_NONE;
	h->head = STR_NONE;
	h->parsed = (struct http_head){ 0 };
	h->too_large = false;
	h->status = 0;
	h->start = clock_wall();
	h->began = clock_mono();
	p->tries++;
	f->pages->requests++;
	call_stream_starts(p);
	transport_start(f->options.transport, &p->exchange);
	return PAGE_WAIT;
}
