/*
 * A page's story, step by step.  The table is in state.h; each step either goes
 * on to the next with page_go(), or waits for something that will.
 */
#include "engine/fetcher/state.h"
#include "engine/parser/sitemap.h"
#include "engine/policy/address.h"
#include "os/clock.h"

#define ROBOTS_REDIRECTS_MAX 5       /* RFC 9309 §2.3.1.2 asks for five */

static const struct exchange_events events;

struct page *
page_new(struct fetcher *f, struct local_crawl *c, enum page_kind kind)
{
	struct page *p = mem_new(sizeof(*p));

	p->fetcher = p->home = f;
	p->crawl = c;
	p->kind = kind;
	p->submission.crawl = c->shared->id;
	list_init(&p->node);
	list_put(&f->pages, &p->all_node);
	p->hops = ARENA_ARRAY(&p->submission.arena, struct hop *,
	    f->settings->redirects_max + 1);
	p->hops[0] = ARENA_NEW(&p->submission.arena, struct hop);
	p->hops_n = 1;
	p->start = clock_wall();
	p->began = loop_now(f->loop);
	c->pages++;
	atomic_fetch_add(&c->shared->users, 1);
	return p;
}

void
page_free(struct page **pp)
{
	struct page *p = *pp;
	struct crawl_shared *crawl = p->crawl->shared;

	CHECK(!p->holds_slot && p->address == NULL);
	list_take(&p->node);
	list_take(&p->all_node);
	p->crawl->pages--;
	for (unsigned i = 0; i < p->hops_n; i++)
		buf_free(&p->hops[i]->body);
	buf_free(&p->decoded);
	buf_free(&p->submission.members);
	buf_free(&p->submission.journal_rest);
	handoff_free(&p->submission.fresh);
	arena_free(&p->submission.arena);
	mem_free(pp);
	/* The crawl may be gone then. */
	atomic_fetch_sub(&crawl->users, 1);
}

static void (*const step_run[])(struct page *);

void
page_go(struct page *p, enum page_step step)
{
	p->step = step;
	step_run[step](p);
}

/* --- ROBOTS, TURN ------------------------------------------------------- */

static bool
first_hop(struct page *p)
{
	struct hop *h = page_hop(p);
	struct why w = WHY_INIT;

	if (h->url.href.n != 0)
		return true;
	if (url_parse(p->submission.lease.url, NULL, &p->submission.arena,
	    &h->url, &w) == OK)
		return true;
	page_finish(p, OUTCOME_SKIPPED, SKIP_URL, str_of(w.text));
	return false;
}

/* It came from another loop. */
static void
arrived(struct page *p)
{
	p->crawl = local_crawl_get(p->fetcher, p->submission.crawl);
	p->crawl->pages++;
	list_put(&p->fetcher->pages, &p->all_node);
}

static void
deliver_page(struct mail *m)
{
	struct page *p = CONTAINER(m, struct page, mail);

	arrived(p);
	page_go(p, p->step);
}

/* A host of another loop: the page goes there and lives on. */
static bool
travels(struct page *p, struct fetcher *to)
{
	struct fetcher *f = p->fetcher;

	if (to == f)
		return false;
	list_take(&p->all_node);
	p->crawl->pages--;
	p->fetcher = to;
	p->mail.deliver = deliver_page;
	loop_post(to->loop, &p->mail);
	return true;
}

bool
page_excluded(const struct page *p)
{
	return p->kind == PAGE_URL && p->tries == 0 && p->hops_n == 1 &&
	    crawl_excludes(crawl_rules(p->crawl->shared),
	    p->submission.lease.url);
}

/* It is a sitemap, and its crawl has read as many bytes of them as it may. */
static bool
sitemaps_are_over(const struct page *p)
{
	uint64_t max = p->fetcher->settings->sitemap_bytes_max;

	return (p->submission.lease.flags & FOUND_SITEMAP) && max != 0 &&
	    p->kind == PAGE_URL &&
	    atomic_load(&p->crawl->shared->sitemap_bytes) >= max;
}

static struct str
with_detail(struct page *p, const char *text, const struct origin *o)
{
	return o->detail[0] == '\0' ? str_of(text) :
	    arena_printf(&p->submission.arena, "%s: %s", text, o->detail);
}

/* No line of it decided where it could not be had (RFC 9309 §2.3.1.4). */
static struct str
forbidden_text(struct page *p, const struct origin *o,
    const struct robots_match *match)
{
	struct arena *a = &p->submission.arena;

	return match->line == 0 ?
	    arena_printf(a, "robots.txt answered with status %d", o->status) :
	    arena_printf(a, "robots.txt line %u: %.*s", match->line,
	    STR_FMT(match->text));
}

static void
step_robots(struct page *p)
{
	if (!first_hop(p))
		return;
	const struct url *u = &page_hop(p)->url;
	struct fetcher *to = fetcher_of(p->fetcher, u->host);
	if (travels(p, to))
		return;
	if (p->crawl->order == FETCH_END || page_excluded(p)) {
		page_give_back(p);
		return;
	}
	if (sitemaps_are_over(p)) {
		page_finish(p, OUTCOME_SKIPPED, SKIP_LIMIT,
		    STR("sitemap.bytes_max is reached"));
		return;
	}
	/* Seeds, sitemaps and what is tried again were judged by no policy. */
	if (!port_allowed(p, u)) {
		page_finish(p, OUTCOME_SKIPPED, SKIP_URL,
		    STR("the port belongs to another protocol"));
		return;
	}
	if (!name_allowed(p, u)) {
		page_finish(p, OUTCOME_SKIPPED, SKIP_BLOCKED,
		    STR("the host is private or local"));
		return;
	}
	struct host *h = host_get(p->fetcher, u->host);
	const struct policy *policy = policy_of(
	    crawl_policy(p->crawl->shared));
	if (policy->robots == POLICY_IGNORE ||
	    (p->submission.lease.flags & FOUND_SITEMAP)) {
		page_go(p, PAGE_TURN);
		return;
	}
	struct origin *o = origin_get(h, p);
	if (!origin_ready(o, p))
		return;
	if (o->unreachable) {
		page_finish(p, OUTCOME_EXCEPTION, (uint8_t)o->reason,
		    with_detail(p, "robots.txt could not be reached", o));
		return;
	}
	struct robots_match match;
	if (!robots_allows(o->robots, url_target(u), &match)) {
		page_finish(p, OUTCOME_SKIPPED, SKIP_ROBOTS,
		    forbidden_text(p, o, &match));
		return;
	}
	links_from_robots(p, o);
	if (!revalidate_begin(p))
		page_go(p, PAGE_TURN);
}

/* The page's origin, when it failed a moment ago; else NULL. */
static struct origin *
down_origin(struct page *p, struct host *h)
{
	struct mono now = loop_now(p->fetcher->loop);

	if (!mono_before(now, h->down_until))
		return NULL;
	struct origin *o = origin_get(h, p);
	return mono_before(now, o->down_until) ? o : NULL;
}

static void
step_turn(struct page *p)
{
	struct host *h = host_get(p->fetcher, page_hop(p)->url.host);
	struct origin *down = p->kind == PAGE_URL ? down_origin(p, h) : NULL;

	if (down != NULL) {
		page_finish(p, OUTCOME_EXCEPTION, (uint8_t)down->down_reason,
		    with_detail(p, "the host failed a moment ago", down));
		return;
	}
	host_join(h, p->crawl);
	/* Behind those that wait already, before all windows. */
	list_put(&h->waiting, &p->node);
	host_settle(h);
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
resolved(struct page *p, const struct ip *found, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (address_allowed(p, &found[i]))
			p->addresses[p->addresses_n++] = found[i];
	if (p->addresses_n == 0) {
		p->tries++;
		p->end = n == 0 ? TRANSPORT_DNS : TRANSPORT_BLOCKED;
		page_release_slot(p);
		page_go(p, PAGE_JUDGE);
		return;
	}
	page_go(p, PAGE_FETCH);
}

static void
query_found(struct resolve_query *q)
{
	struct page *p = CONTAINER(q, struct page, query);

	if (q->n == 0)
		p->end_text = arena_copy(&p->submission.arena,
		    str_of(q->error));
	resolved(p, q->addresses, q->n);
}

static void
step_resolve(struct page *p)
{
	const struct url *u = &page_hop(p)->url;
	struct ip ip;

	/* What it waited for robots.txt and its turn is not its time. */
	if (p->hops_n == 1 && p->tries == 0) {
		p->start = clock_wall();
		p->began = loop_now(p->fetcher->loop);
	}
	p->addresses_n = 0;
	p->end_text = STR_NONE;
	atomic_fetch_add_explicit(&p->crawl->shared->downloads, 1,
	    memory_order_relaxed);
	p->counted = true;
	p->exchange.port = u->port;
	if (p->crawl->shared->proxy.n != 0) {
		page_go(p, PAGE_FETCH);
		return;
	}
	/* Who starts the program may map names as he likes. */
	if (p->fetcher->settings->resolve != NULL && fixed_address(
	    p->fetcher->settings->resolve, u, &ip, &p->exchange.port)) {
		p->addresses[p->addresses_n++] = ip;
		page_go(p, PAGE_FETCH);
		return;
	}
	p->query.host = u->host;
	p->query.found = query_found;
	resolve_start(p->fetcher->options.resolver, &p->query);
}

/* --- FETCH -------------------------------------------------------------- */

static void
step_fetch(struct page *p)
{
	struct fetcher *f = p->fetcher;
	struct hop *h = page_hop(p);

	if (!page_take_address(p))
		return;
	if (!request_build(p)) {
		page_release_slot(p);
		page_finish(p, OUTCOME_SKIPPED, SKIP_URL,
		    STR("no request can be made of this URL"));
		return;
	}
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
	f->requests++;
	transport_start(f->options.transport, &p->exchange);
}

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
	return connection_allowed(p, ip);
}

static bool
redirects(int status)
{
	return status == 301 || status == 302 || status == 303 ||
	    status == 307 || status == 308;
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
	p->fetcher->bytes_in += bytes.n;
	if (http_parse_head(h->head, false, HTTP_LIMITS_DEFAULT, a, &h->parsed,
	    NULL) != OK) {
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

static uint64_t
body_max(const struct page *p)
{
	if (p->kind == PAGE_OF_ROBOTS)
		return 2 * ROBOTS_BYTES_MAX;
	return (uint64_t)MIN((int64_t)p->fetcher->settings->body_bytes_max,
	    policy_of(crawl_policy(p->crawl->shared))->limits.max_body_bytes);
}

static bool
on_body(struct exchange *x, struct str bytes)
{
	struct page *p = page_of(x);
	struct hop *h = page_hop(p);
	uint64_t room = body_max(p) - h->body.n;

	p->fetcher->bytes_in += bytes.n;
	if (bytes.n > room) {
		buf_put(&h->body, bytes.p, (size_t)room);
		h->truncated = "length";
		return false;
	}
	buf_put_str(&h->body, bytes);
	return true;
}

static void
on_done(struct exchange *x, enum transport_end end, struct str detail)
{
	struct page *p = page_of(x);
	struct hop *h = page_hop(p);
	struct arena *a = &p->submission.arena;

	p->end = end;
	if (p->fetcher->closing)
		return;
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
	page_go(p, PAGE_JUDGE);
}

static const struct exchange_events events = {
	on_connected, on_head, on_body, on_done,
};

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

/* What may be better on another try. */
static bool
passing(const struct page *p)
{
	int status = page_hop((struct page *)(uintptr_t)p)->status;

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
			struct origin *o = down_origin(p, host);
			host_fine(host);
			if (o != NULL)
				o->down_until = (struct mono){ 0 };
		}
		return false;
	}
	if (p->tries >= p->fetcher->settings->tries_max) {
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
		backoff_line(p, host);
	}
	page_go(p, PAGE_TURN);
	return true;
}

/* What robots.txt says is for the loop whose origin asked. */
static bool
goes_home(struct page *p, enum page_step step)
{
	p->step = step;
	return p->kind == PAGE_OF_ROBOTS && travels(p, p->home);
}

static void
fail(struct page *p, enum exception reason, struct str text)
{
	if (goes_home(p, PAGE_JUDGE))
		return;
	if (p->kind == PAGE_OF_ROBOTS) {
		struct origin *o = p->origin;
		origin_fetched(o, p);
		page_finish(p, OUTCOME_NONE, 0, STR_NONE);
		origin_release(o);
		return;
	}
	page_finish(p, OUTCOME_EXCEPTION, (uint8_t)reason, text);
}

/* An address on its way is private; of robots.txt it is its pages' end. */
static void
block(struct page *p)
{
	struct str text = p->crawl->shared->proxy.n != 0 ?
	    STR("the proxy's address is private or local") :
	    STR("the address is private or local");

	if (goes_home(p, PAGE_JUDGE))
		return;
	if (p->kind == PAGE_OF_ROBOTS) {
		struct origin *o = p->origin;
		struct local_crawl *c = p->crawl;
		page_finish(p, OUTCOME_NONE, 0, STR_NONE);
		origin_blocked(o, c, text);
		return;
	}
	page_finish(p, OUTCOME_SKIPPED, SKIP_BLOCKED, text);
}

static void
follow(struct page *p, struct str location)
{
	struct hop *from = page_hop(p);
	struct arena *a = &p->submission.arena;
	unsigned max = p->kind == PAGE_OF_ROBOTS ?
	    MIN(ROBOTS_REDIRECTS_MAX, p->fetcher->settings->redirects_max) :
	    p->fetcher->settings->redirects_max;
	struct policy_verdict v = { .take = true };
	struct url to, plain;

	if (p->hops_n > max) {
		fail(p, EXCEPTION_REDIRECTS, arena_printf(a,
		    "more than %u redirects", max));
		return;
	}
	if (url_parse(location, &from->url, a, &plain, NULL) != OK ||
	    (plain.scheme != URL_HTTP && plain.scheme != URL_HTTPS) ||
	    (p->kind == PAGE_OF_ROBOTS && address_port_is_bad(plain.port)) ||
	    url_canonical(&plain, NULL, 0, a, &to, NULL) != OK) {
		fail(p, EXCEPTION_REDIRECTS, arena_printf(a,
		    "redirected to %.*s", STR_FMT(str_cut(location, 0, 200))));
		return;
	}
	if (p->kind == PAGE_URL && !(p->submission.lease.flags & FOUND_EMBED))
		policy_judge_url(crawl_policy(p->crawl->shared), &to,
		    p->submission.lease.cost, 0, false, &v);
	/* The policy sees only names; the operator may crawl his own hosts. */
	if (v.reason == SKIP_BLOCKED &&
	    (p->fetcher->settings->allow_private ||
	    crawl_host_allowed(p->crawl->shared, to.host)))
		v.take = true;
	if (!v.take && v.reason != SKIP_DEPTH && v.reason != SKIP_COST) {
		page_finish(p, OUTCOME_SKIPPED, (uint8_t)v.reason,
		    arena_printf(a, "redirected to %.*s: %s",
		    STR_FMT(str_cut(to.href, 0, 200)), v.text));
		return;
	}
	p->hops[p->hops_n++] = ARENA_NEW(a, struct hop);
	p->tries = 0;
	page_hop(p)->url = to;
	/* robots.txt of the new place decides, unless this is robots.txt. */
	p->step = p->kind == PAGE_URL ? PAGE_ROBOTS : PAGE_TURN;
	if (!travels(p, fetcher_of(p->fetcher, to.host)))
		page_go(p, p->step);
}

static void
store_cookies(struct page *p)
{
	struct hop *h = page_hop(p);
	size_t at = 0;
	struct str value;

	if (p->crawl->cookies == NULL)
		return;
	while (http_next(&h->parsed, STR("Set-Cookie"), &at, &value))
		cookie_store(p->crawl->cookies, &h->url, value, h->start);
}

static void
step_judge(struct page *p)
{
	struct hop *h = page_hop(p);

	if (p->crawl->order == FETCH_END) {
		page_give_back(p);
		return;
	}
	if (p->end == TRANSPORT_BLOCKED) {
		block(p);
		return;
	}
	if (h->stop == HOP_STOP_MIME) {
		page_finish(p, OUTCOME_SKIPPED, SKIP_MIME, http_find(
		    &h->parsed, STR("Content-Type")));
		return;
	}
	if (try_again(p))
		return;
	bool answered = p->end == TRANSPORT_DONE ||
	    (p->end == TRANSPORT_STOPPED && h->truncated != NULL);
	if (!answered) {
		fail(p, page_exception(p), p->end_text.n != 0 ? p->end_text :
		    h->stop == HOP_STOP_HEAD ?
		    STR("the answer's head is not HTTP") : STR_NONE);
		return;
	}
	store_cookies(p);
	struct str location = http_find(&h->parsed, STR("Location"));
	if (redirects(h->status) && location.n != 0)
		follow(p, location);
	else
		page_go(p, PAGE_PARSE);
}

/* --- PARSE -------------------------------------------------------------- */

static bool
coded(const struct hop *h)
{
	struct str coding = http_find(&h->parsed, STR("Content-Encoding"));

	return (coding.n != 0 && !str_eq_nocase(coding, STR("identity"))) ||
	    http_find(&h->parsed, STR("Transfer-Encoding")).n != 0;
}

static void
decode(struct page *p)
{
	struct hop *h = page_hop(p);
	struct http_decode_limits limits = { body_max(p),
	    p->fetcher->settings->decode_ratio_max };

	p->content = buf_str(&h->body);
	p->damaged = false;
	if (h->body.n == 0 || !coded(h))
		return;
	/* Damage is no failure: what came before it is read. */
	p->damaged = http_damage_cuts(http_decode_body(&h->parsed, p->content,
	    limits, &p->decoded));
	p->content = buf_str(&p->decoded);
}

/* sitemap.xml.gz is a file of its own, not a content coding. */
static void
parse_packed_sitemap(struct page *p, struct parse_input *in)
{
	struct buf xml = BUF_INIT;

	if ((p->submission.lease.flags & FOUND_SITEMAP) &&
	    sitemap_gunzip(in->body, SITEMAP_BYTES_MAX, &xml, NULL) == OK) {
		in->body = buf_str(&xml);
		in->content_type = sitemap_type(in->body);
		p->sitemap_bytes = in->body.n;
		if (parse_document(p->fetcher->parser, in,
		    &p->submission.arena, &p->parsed, NULL) != OK)
			p->parsed.links_n = 0;
	}
	buf_free(&xml);
}

static void
step_parse(struct page *p)
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

	if (goes_home(p, PAGE_PARSE))
		return;
	decode(p);
	if (p->kind == PAGE_URL && p->damaged && p->content.n == 0 &&
	    h->truncated == NULL) {
		page_finish(p, OUTCOME_EXCEPTION, EXCEPTION_DECODE,
		    STR("nothing of the body can be decoded"));
		return;
	}
	if (p->kind == PAGE_OF_ROBOTS) {
		struct origin *o = p->origin;
		origin_fetched(o, p);
		page_go(p, PAGE_ARCHIVE);
		origin_release(o);
		return;
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
	page_go(p, p->fetcher->settings->archive ? PAGE_DEDUPE : PAGE_ARCHIVE);
}

/* --- DEDUPE ------------------------------------------------------------- */

/*
 * A host is one loop's, and one busy host would keep one core busy.  What is
 * left to do to this page, digest and compression, needs nothing of the host:
 * a loop without requests of its own may do it.  The page counts here.
 */
static bool
lend(struct page *p)
{
	struct fetcher *f = p->fetcher, *to;

	if (p->kind != PAGE_URL || p->lender != NULL ||
	    (to = fetcher_idle_one(f)) == NULL)
		return false;
	p->lender = f;
	p->bytes_counted = page_hop(p)->body.n;
	f->uncommitted++;
	f->uncommitted_bytes += p->bytes_counted;
	atomic_fetch_add_explicit(&to->borrowed, 1, memory_order_relaxed);
	return travels(p, to);
}

/* From here on it is its host's loop that hears of it. */
static void
give_back(struct page *p)
{
	atomic_fetch_sub_explicit(&p->fetcher->borrowed, 1,
	    memory_order_relaxed);
	list_take(&p->all_node);
	p->crawl->pages--;
	p->fetcher = p->lender;
}

static void
step_dedupe(struct page *p)
{
	if (!lend(p))
		page_dedupe(p);
}

/* --- ARCHIVE, COMMIT, REPORT -------------------------------------------- */

static void
step_archive(struct page *p)
{
	struct why w = WHY_INIT;

	if (p->dup_uri.n != 0) {
		p->submission.duplicate = true;
		p->submission.digest_key = STR_NONE;
	}
	if (p->fetcher->settings->archive && !members_build(p, &w)) {
		page_finish(p, OUTCOME_EXCEPTION, EXCEPTION_PROTOCOL,
		    arena_copy(&p->submission.arena, str_of(w.text)));
		return;
	}
	if (p->kind == PAGE_OF_ROBOTS)
		page_finish(p, OUTCOME_NONE, 0, STR_NONE);
	else if (p->submission.lease.flags & FOUND_SITEMAP)
		page_finish(p, OUTCOME_AUX, 0, STR_NONE);
	else
		page_finish(p, OUTCOME_ITEM, 0, STR_NONE);
}

static void
durable(struct submission *s, enum err e)
{
	struct page *p = CONTAINER(s, struct page, submission);

	p->fetcher->uncommitted--;
	p->fetcher->uncommitted_bytes -= p->bytes_counted;
	fetcher_pump_soon(p->fetcher);
	if (p->lender != NULL)
		arrived(p);
	if (e == OK)
		page_go(p, PAGE_REPORT);
	else
		page_free(&p);
}

static void
step_commit(struct page *p)
{
	struct submission *s = &p->submission;
	struct fetcher *f = p->fetcher;

	page_fresh(p);
	/* The bodies are in the members now; memory goes before the wait. */
	for (unsigned i = 0; i < p->hops_n; i++)
		buf_free(&p->hops[i]->body);
	buf_free(&p->decoded);
	p->content = STR_NONE;
	s->durable = durable;
	if (p->lender != NULL) {
		give_back(p);
	} else {
		p->bytes_counted = s->members.n;
		f->uncommitted++;
		f->uncommitted_bytes += p->bytes_counted;
	}
	s->home = p->fetcher->loop;
	fetcher_hand_over(f, p);
}

static void
step_report(struct page *p)
{
	struct fetcher *f = p->fetcher;
	struct fetch_event e;

	if (p->crawl->traps != NULL && p->submission.outcome == OUTCOME_ITEM)
		trap_note(p->crawl->traps, &page_hop(p)->url,
		    !p->submission.duplicate && !p->submission.near_duplicate);
	if (f->options.event != NULL && p->kind == PAGE_URL &&
	    p->submission.outcome != OUTCOME_RETURNED) {
		page_event(p, &e);
		f->options.event(f->options.arg, &e);
	}
	page_free(&p);
}

void
page_finish(struct page *p, enum outcome outcome, uint8_t reason,
    struct str text)
{
	struct submission *s = &p->submission;

	page_release_slot(p);
	s->outcome = outcome;
	s->reason = reason;
	if (outcome == OUTCOME_ITEM) {
		s->status = (uint16_t)page_hop(p)->status;
		s->body_bytes = page_hop(p)->body.n;
		journal_build(p);
	}
	if (outcome == OUTCOME_AUX)
		s->body_bytes = p->sitemap_bytes;
	p->end_text = text;
	if (outcome == OUTCOME_EXCEPTION || outcome == OUTCOME_SKIPPED)
		page_line(p, text);
	/* A robots.txt that was read has its members already. */
	if (outcome != OUTCOME_ITEM && outcome != OUTCOME_AUX &&
	    s->parts == NULL)
		answers_build(p);
	page_go(p, PAGE_COMMIT);
}

void
page_give_back(struct page *p)
{
	page_release_slot(p);
	if (goes_home(p, PAGE_JUDGE))
		return;
	if (p->kind == PAGE_OF_ROBOTS)
		origin_abandoned(p->origin);
	p->submission.outcome = p->kind == PAGE_URL ? OUTCOME_RETURNED :
	    OUTCOME_NONE;
	page_go(p, PAGE_COMMIT);
}

static void (*const step_run[])(struct page *) = {
#define STEP_ROW(name, fn, text) step_##fn,
	PAGE_STEPS(STEP_ROW)
#undef STEP_ROW
};
