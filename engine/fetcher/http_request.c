/*
 * The request of a hop: its headers in the order in which they go out.
 */
#include "engine/fetcher/http_request.h"

#include "engine/fetcher/call_page.h"
#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/host.h"
#include "engine/fetcher/revalidate.h"
#include "os/clock.h"

#define HEADERS_OWN_MAX 10

static void
add(struct transport_header *h, size_t *n, struct str name, struct str value)
{
	if (value.n != 0)
		h[(*n)++] = (struct transport_header){ name, value };
}

static bool
has(const struct transport_header *h, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq_nocase(h[i].name, name))
			return true;
	return false;
}

bool
http_request_is_credential(struct str name)
{
	return str_eq_nocase(name, STR("Authorization")) ||
	    str_eq_nocase(name, STR("Cookie"));
}

/* The hop's origin (RFC 6454 §4) is that of the page's first URL. */
static bool
is_at_origin(const struct page *p)
{
	const struct url *first = &p->hops[0]->url, *u = &page_hop(p)->url;

	return first->scheme == u->scheme && first->port == u->port &&
	    str_eq(first->host, u->host);
}

/* The crawl's headers, but for those that its call sends itself, whose
 * credentials no redirect takes along. */
static void
add_own(const struct page *p, struct transport_header *h, size_t *n)
{
	const struct crawl_shared *s = p->crawl->shared;
	const struct call *c = p->call;

	for (size_t i = 0; i < s->headers_n; i++)
		if (c == NULL || !has(c->headers, c->headers_n,
		    s->headers[i].name))
			add(h, n, s->headers[i].name, s->headers[i].value);
	for (size_t i = 0; c != NULL && i < c->headers_n; i++)
		if (is_at_origin(p) ||
		    !http_request_is_credential(c->headers[i].name))
			add(h, n, c->headers[i].name, c->headers[i].value);
}

/* A header that every request has, unless its crawl or call says other. */
static void
add_usual(const struct page *p, struct transport_header *h, size_t *n,
    struct str name, struct str value)
{
	const struct crawl_shared *s = p->crawl->shared;
	const struct call *c = p->call;

	if (!has(s->headers, s->headers_n, name) &&
	    (c == NULL || !has(c->headers, c->headers_n, name)))
		add(h, n, name, value);
}

/* "host" or "host:port"; userinfo never leaves in a Host header. */
static struct str
host_value(const struct url *u, struct arena *a)
{
	uint16_t usual = u->scheme == URL_HTTPS ? 443 : 80;

	if (u->port == usual)
		return u->host;
	char *text = arena_bytes(a, u->host.n + sizeof(":65535"));
	char *to = mempcpy(text, u->host.p, u->host.n);
	*to++ = ':';
	to = ascii_put_decimal(to, u->port);
	return (struct str){ text, (size_t)(to - text) };
}

static void
build_headers(struct page *p, struct exchange *x)
{
	const struct crawl_shared *s = p->crawl->shared;
	struct arena *a = &p->submission.arena;
	const struct hop *h = page_hop(p);
	struct transport_header *own = ARENA_ARRAY(a, struct transport_header,
	    HEADERS_OWN_MAX + CALL_FRAMES_HEADERS + s->headers_n +
	    (p->call == NULL ? 0 : p->call->headers_n));
	struct cookie_jar *cookies = p->call == NULL ? p->crawl->cookies :
	    p->call->session;
	size_t n = 0;

	add(own, &n, STR("Host"), host_value(&h->url, a));
	add_usual(p, own, &n, STR("User-Agent"), s->user_agent.n != 0 ?
	    s->user_agent : p->fetcher->settings->user_agent);
	add_usual(p, own, &n, STR("Accept"), STR("text/html,"
	    "application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
	add_usual(p, own, &n, STR("Accept-Encoding"), STR("gzip, br, zstd"));
	add_own(p, own, &n);
	/* Secrets go to the hosts that the operator named, nowhere else. */
	if (crawl_has_seed_host(s, h->url.host))
		add(own, &n, STR("Authorization"), s->authorization);
	n += revalidate_headers(p, own + n);
	n += call_frames_headers(p, own + n);
	if (cookies != NULL)
		add(own, &n, STR("Cookie"), cookie_header(cookies, &h->url,
		    clock_wall(), a));
	x->headers = own;
	x->headers_n = n;
}

bool
http_request_build(struct page *p)
{
	const struct crawl_shared *s = p->crawl->shared;
	const struct fetch_settings *set = p->fetcher->settings;
	const struct hop *h = page_hop(p);
	struct exchange *x = &p->exchange;
	uint16_t port = x->port;
	double timeout = policy_of(crawl_policy(s))->limits.timeout;
	memset(x, 0, sizeof(*x));
	x->method = call_page_method(p);
	x->body = call_page_body(p);
	x->url = str_cut(h->url.href, 0, h->url.href.n - h->url.fragment.n);
	x->host = h->url.host;
	x->port = port;
	x->tls = h->url.scheme == URL_HTTPS;
	x->verify = true;
	build_headers(p, x);
	x->addresses = p->addresses;
	x->addresses_n = p->addresses_n;
	x->proxy = s->proxy;
	x->connect_ms = set->connect_ms;
	x->total_ms = timeout < 1e6 ? MIN((int64_t)(timeout * 1000),
	    set->total_ms) : set->total_ms;
	x->speed_bytes_min = set->speed_bytes_min;
	x->speed_s = set->speed_s;
	x->head_bytes_max = set->head_bytes_max;
	x->upgrade = p->call != NULL && p->call->frames;
	x->http2 = set->http2 && !x->upgrade;
	x->pause_ms = p->holds_slot ? host_delay_ms(p->host, p->crawl) : 0;
	/* What is signed may be good for one request alone. */
	x->once = p->call != NULL && p->call->sign != NULL;
	x->secret = x->once;
	if (p->call != NULL && p->call->timeout_ms != 0)
		x->total_ms = p->call->timeout_ms;
	return (h->url.scheme == URL_HTTP || h->url.scheme == URL_HTTPS) &&
	    (p->call == NULL || p->call->sign == NULL ||
	    p->call->sign(p->call, x, &p->submission.arena));
}
