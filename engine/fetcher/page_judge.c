/*
 * The steps JUDGE and PARSE: what an answer means for its page, and what it
 * links to.
 */
#include "engine/fetcher/call_page.h"
#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/host.h"
#include "engine/fetcher/links.h"
#include "engine/fetcher/origin.h"
#include "engine/fetcher/page_log.h"
#include "engine/fetcher/revalidate.h"
#include "engine/parser/sitemap.h"
#include "engine/policy/address.h"
#include "os/clock.h"

#define ROBOTS_REDIRECTS_MAX 5       /* RFC 9309 §2.3.1.2 asks for five */

/* --- JUDGE -------------------------------------------------------------- */

enum exception
page_exception(const struct page *p)
{
	switch (p->end) {
	case TRANSPORT_DNS:
		return EXCEPTION_DNS;
	case TRANSPORT_CONNECT:
	case TRANSPORT_PROXY:
		return EXCEPTION_CONNECT;
	case TRANSPORT_TLS:
		return EXCEPTION_TLS;
	case TRANSPORT_TIMEOUT:
		return EXCEPTION_TIMEOUT;
	case TRANSPORT_RESET:
		return EXCEPTION_RESET;
	default:
		return EXCEPTION_PROTOCOL;
	}
}

/* Whether another try may succeed. */
static bool
passing(const struct page *p)
{
	int status = page_hop(p)->status;

	switch (p->end) {
	case TRANSPORT_DNS:
	case TRANSPORT_CONNECT:
	case TRANSPORT_PROXY:
	case TRANSPORT_TIMEOUT:
	case TRANSPORT_RESET:
		return true;
	case TRANSPORT_DONE:
	case TRANSPORT_STOPPED:
		return status == 429 || status == 503 ||
		    (p->kind == PAGE_OF_ROBOTS && status >= 500);
	default:
		return false;
	}
}

/* Retry-After in ms: seconds, or an HTTP date (RFC 9110 §10.2.3). */
static int64_t
retry_after_ms(const struct hop *h)
{
	struct str value = http_find(&h->parsed, STR("Retry-After"));
	uint64_t s;
	struct wall at;

	if (h->status == 0 || value.n == 0)
		return 0;
	if (str_to_u64(value, &s))
		return (int64_t)MIN(s, 86400u) * 1000;
	if (wall_from_http(value, &at))
		return MAX(0, (at.us - clock_wall().us) / 1000);
	return 0;
}

static bool
try_again(struct page *p)
{
	struct host *host = host_get(p->fetcher, page_hop(p)->url.host);

	if (!passing(p)) {
		if (p->end == TRANSPORT_DONE) {
			struct origin *o = page_down_origin(p, host);
			host_fine(host);
			if (o != NULL)
				origin_up(o);
		}
		return false;
	}
	if (p->kind == PAGE_OF_CALL && !call_page_tries_left(p))
		return false;
	if (p->tries >= p->fetcher->settings->tries_max &&
	    p->kind != PAGE_OF_CALL) {
		bool unreached = p->end == TRANSPORT_CONNECT ||
		    page_hop(p)->times.connect < 0;
		if (page_hop(p)->status == 0 && p->end != TRANSPORT_DNS &&
		    host_is_dead(host, unreached))
			host_down(host, origin_get(host, p),
			    page_exception(p), p->end_text);
		return false;
	}
	if (p->end != TRANSPORT_DNS) {
		host_trouble(host, retry_after_ms(page_hop(p)));
		page_log_backoff(p, host);
	}
	return p->kind != PAGE_OF_CALL || call_page_in_time(p, host->next_at);
}

static enum page_step
fail(struct page *p, enum exception reason, struct str text)
{
	if (page_goes_home(p))
		return PAGE_WAIT;
	if (p->kind != PAGE_OF_ROBOTS)
		return page_finish(p, OUTCOME_EXCEPTION, (uint8_t)reason,
		    text);
	origin_fetched(p->origin, p);
	return page_finish(p, OUTCOME_NONE, 0, STR_NONE);
}

/* An address on its way is private; of robots.txt it is its pages' end. */
static enum page_step
block(struct page *p)
{
	struct str text = p->crawl->shared->proxy.n != 0 ?
	    STR("the proxy's address is private or local") :
	    STR("the address is private or local");

	if (page_goes_home(p))
		return PAGE_WAIT;
	if (p->kind != PAGE_OF_ROBOTS)
		return page_finish(p, OUTCOME_SKIPPED, SKIP_BLOCKED, text);
	origin_blocked(p->origin, p->crawl, text);
	return page_finish(p, OUTCOME_NONE, 0, STR_NONE);
}

static enum page_step
follow(struct page *p, struct str location)
{
	struct hop *from = page_hop(p);
	struct arena *a = &p->submission.arena;
	unsigned max = p->kind == PAGE_OF_ROBOTS ?
	    MIN(ROBOTS_REDIRECTS_MAX, p->fetcher->settings->redirects_max) :
	    p->fetcher->settings->redirects_max;
	struct policy_verdict v = { .take = true };
	struct url to, plain;

	if (p->hops_n > max)
		return fail(p, EXCEPTION_REDIRECTS, arena_printf(a,
		    "more than %u redirects", max));
	if (url_parse(location, &from->url, a, &plain, NULL) != OK ||
	    (plain.scheme != URL_HTTP && plain.scheme != URL_HTTPS) ||
	    (p->kind == PAGE_OF_ROBOTS && address_port_is_bad(plain.port)) ||
	    url_canonical(&plain, NULL, 0, a, &to, NULL) != OK)
		return fail(p, EXCEPTION_REDIRECTS, arena_printf(a,
		    "redirected to %.*s", STR_FMT(str_cut(location, 0, 200))));
	if (p->kind == PAGE_URL && !(p->submission.lease.flags & FOUND_EMBED))
		policy_judge_url(crawl_policy(p->crawl->shared), &to,
		    p->submission.lease.cost, 0, false, &v);
	/* The policy sees only names; the operator may crawl his own hosts. */
	if (v.reason == SKIP_BLOCKED &&
	    (p->fetcher->settings->allow_private ||
	    crawl_host_allowed(p->crawl->shared, to.host)))
		v.take = true;
	if (v.reason == SKIP_SCOPE && p->crawl->shared->follows_seeds &&
	    (p->submission.lease.flags & FOUND_SEED))
		v.take = true;
	if (!v.take && v.reason != SKIP_DEPTH && v.reason != SKIP_COST)
		return page_finish(p, OUTCOME_SKIPPED, (uint8_t)v.reason,
		    arena_printf(a, "redirected to %.*s: %s",
		    STR_FMT(str_cut(to.href, 0, 200)), v.text));
	p->as_get |= from->status == 301 || from->status == 302 ||
	    from->status == 303;
	p->hops[p->hops_n++] = ARENA_NEW(a, struct hop);
	p->tries = 0;
	page_hop(p)->url = to;
	/* robots.txt of the new place decides, unless this is robots.txt. */
	p->step = p->kind == PAGE_OF_ROBOTS ? PAGE_TURN : PAGE_ROBOTS;
	return page_travel(p, fetcher_of(p->fetcher, to.host)) ? PAGE_WAIT :
	    p->step;
}

static void
store_cookies(struct page *p)
{
	struct cookie_jar *jar = p->call == NULL ? p->crawl->cookies :
	    p->call->session;
	struct hop *h = page_hop(p);
	size_t at = 0;
	struct str value;

	if (jar == NULL)
		return;
	while (http_next(&h->parsed, STR("Set-Cookie"), &at, &value))
		cookie_store(jar, &h->url, value, h->start);
}

enum page_step
page_step_judge(struct page *p)
{
	struct hop *h = page_hop(p);

	/* However it ended, its owner has what came. */
	if (p->streamed && p->crawl->order != FETCH_END)
		return PAGE_ANSWER;
	if (p->crawl->order == FETCH_END || call_page_stopped(p))
		return PAGE_RETURN;
	if (p->end == TRANSPORT_BLOCKED)
		return block(p);
	if (h->stop == HOP_STOP_MIME)
		return page_finish(p, OUTCOME_SKIPPED, SKIP_MIME, http_find(
		    &h->parsed, STR("Content-Type")));
	if (try_again(p))
		return PAGE_TURN;
	bool answered = p->end == TRANSPORT_DONE ||
	    (p->end == TRANSPORT_STOPPED && h->truncated != NULL);
	if (!answered)
		return fail(p, page_exception(p), p->end_text.n != 0 ?
		    p->end_text : h->stop == HOP_STOP_HEAD ?
		    STR("the answer's head is not HTTP") : STR_NONE);
	store_cookies(p);
	struct str location = http_find(&h->parsed, STR("Location"));
	if (http_is_redirect(h->status) && location.n != 0 &&
	    (p->call == NULL || p->call->follow))
		return follow(p, location);
	return p->kind == PAGE_OF_CALL ? PAGE_ANSWER : PAGE_PARSE;
}

/* --- PARSE -------------------------------------------------------------- */

static bool
coded(const struct hop *h)
{
	struct str coding = http_find(&h->parsed, STR("Content-Encoding"));

	return (coding.n != 0 && !str_eq_nocase(coding, STR("identity"))) ||
	    http_find(&h->parsed, STR("Transfer-Encoding")).n != 0;
}

void
page_decode(struct page *p)
{
	struct hop *h = page_hop(p);
	struct http_decode_limits limits = { page_body_max(p),
	    p->fetcher->settings->decode_ratio_max };

	/* What its owner has had is not less than that. */
	if (p->streamed)
		limits.bytes_max = UINT32_MAX;
	p->content = buf_str(&h->body);
	p->damaged = p->too_long = false;
	if (h->body.n == 0 || !coded(h))
		return;
	/* Damage is no failure: what came before it is read. */
	enum http_damage d = http_decode_body(&h->parsed, p->content, limits,
	    &p->decoded);
	p->damaged = http_damage_cuts(d);
	p->too_long = d == HTTP_TOO_LONG || d == HTTP_TOO_DENSE;
	p->content = buf_str(&p->decoded);
}

/* sitemap.xml.gz is a file of its own, not a content coding. */
static void
parse_packed_sitemap(struct page *p, struct parse_input *in)
{
	FREED(buf_free) struct buf xml = BUF_INIT;

	if ((p->submission.lease.flags & FOUND_SITEMAP) &&
	    sitemap_gunzip(in->body, SITEMAP_BYTES_MAX, &xml, NULL) == OK) {
		in->body = buf_str(&xml);
		in->content_type = sitemap_type(in->body);
		p->sitemap_bytes = in->body.n;
		if (parse_document(p->fetcher->parser, in,
		    &p->submission.arena, &p->parsed, NULL) != OK)
			p->parsed.links_n = 0;
	}
}

enum page_step
page_step_parse(struct page *p)
{
	struct hop *h = page_hop(p);
	const struct fetch_settings *s = p->fetcher->settings;
	struct parse_input in = {
		.content_type = http_find(&h->parsed, STR("Content-Type")),
		.url = &h->url, .robots_token = page_token(p),
		.links_max = s->links_max, .cpu_ms_max = s->parse_cpu_ms_max,
		.cpu_ns = clock_thread_cpu_ns,
		.sitemap = p->submission.lease.flags & FOUND_SITEMAP,
	};

	if (page_goes_home(p))
		return PAGE_WAIT;
	/* Traps judge links by what this loop has seen of directories. */
	if (p->crawl->traps == NULL && page_lend(p))
		return PAGE_WAIT;
	page_decode(p);
	if (p->kind == PAGE_URL && p->damaged && p->content.n == 0 &&
	    h->truncated == NULL)
		return page_finish(p, OUTCOME_EXCEPTION, EXCEPTION_DECODE,
		    STR("nothing of the body can be decoded"));
	if (p->kind == PAGE_OF_ROBOTS) {
		origin_fetched(p->origin, p);
		return PAGE_ARCHIVE;
	}
	in.body = p->content;
	in.nosniff = str_eq_nocase(http_find(&h->parsed,
	    STR("X-Content-Type-Options")), STR("nosniff"));
	p->sitemap_bytes = in.body.n;
	bool unchanged = revalidate_unchanged(p, &in, NULL);
	if ((unchanged || (h->status >= 200 && h->status < 300)) &&
	    in.body.n > 0 && parse_document(p->fetcher->parser, &in,
	    &p->submission.arena, &p->parsed, NULL) == OK) {
		if (p->parsed.kind == MIME_GZIP)
			parse_packed_sitemap(p, &in);
		links_find(p);
	}
	if (in.sitemap)
		atomic_fetch_add(&p->crawl->shared->sitemap_bytes,
		    p->sitemap_bytes);
	p->submission.simhash = p->parsed.simhash;
	return PAGE_DEDUPE;
}
