#include "tests/sim/web.h"

#include "base/hash.h"
#include "base/map.h"
#include "os/clock.h"

#define HOSTS_MAX 512
#define PAGES_MAX 20000

struct sim_host {
	struct mono free_at;         /* end of the last answer plus the delay */
	unsigned open;
};

static struct {
	struct web_plan plan;
	struct sim_host hosts[HOSTS_MAX];
	unsigned char asked[PAGES_MAX];
	uint64_t requests, breaches;
	bool killed;
} web;

struct sim_transport {
	struct transport transport;
	struct loop *loop;
	struct list calls;
};

/* One exchange under way. */
struct call {
	struct list node;
	struct sim_transport *transport;
	struct exchange *exchange;
	struct timer timer;
	unsigned host;
};

void
web_begin(const struct web_plan *plan)
{
	memset(&web, 0, sizeof(web));
	web.plan = *plan;
	CHECK(plan->hosts <= HOSTS_MAX && plan->pages <= PAGES_MAX);
}

static uint64_t
dice(unsigned page, unsigned which)
{
	return hash_u64(web.plan.seed * 1000003 + page * 31u + which);
}

enum web_fate
web_fate(unsigned page)
{
	static const enum web_fate fates[] = {
		WEB_MISSING, WEB_BROKEN, WEB_BUSY, WEB_FLAKY, WEB_DEAD,
		WEB_MOVED, WEB_LOOP, WEB_FORBIDDEN, WEB_SAME, WEB_SAME,
	};
	uint64_t d = dice(page, 1) % 100;

	return page == 0 || d >= 2 * ARRAY_LEN(fates) ? WEB_PAGE :
	    fates[d / 2];
}

unsigned
web_links(unsigned page, unsigned out[8])
{
	unsigned n = 0;

	if (web_fate(page) != WEB_PAGE && web_fate(page) != WEB_BUSY &&
	    web_fate(page) != WEB_FLAKY)
		return 0;
	for (unsigned i = 0; i < 7; i++)
		out[n++] = (unsigned)(dice(page, 10 + i) % web.plan.pages);
	/* So that most of them can be reached at all. */
	out[n++] = (page + 1) % web.plan.pages;
	return n;
}

unsigned
web_target(unsigned page)
{
	unsigned to = (unsigned)(dice(page, 5) % web.plan.pages);

	while (web_fate(to) != WEB_PAGE)
		to = (to + 1) % web.plan.pages;
	return to;
}

void
web_url(unsigned page, char *out, size_t size)
{
	snprintf(out, size, "http://h%u.sim.test/%s/%u",
	    page % web.plan.hosts,
	    web_fate(page) == WEB_FORBIDDEN ? "no" : "p", page);
}

bool
web_page_of(struct str url, unsigned *page)
{
	uint64_t n;
	size_t at = url.n;

	while (at > 0 && url.p[at - 1] != '/')
		at--;
	if (!str_to_u64(str_from(url, at), &n) || n >= web.plan.pages)
		return false;
	*page = (unsigned)n;
	return true;
}

uint64_t
web_requests(void)
{
	return web.requests;
}

uint64_t
web_breaches(void)
{
	return web.breaches;
}

void
web_kill(void)
{
	for (unsigned i = 0; i < HOSTS_MAX; i++)
		web.hosts[i].open = 0;
	/* Servers forget what they were asked; retries begin anew. */
	memset(web.asked, 0, sizeof(web.asked));
}

void
web_expect(struct web_expected *x)
{
	unsigned *queue = mem_array(web.plan.pages, sizeof(*queue));
	unsigned n = 0, links[8];

	*x = (struct web_expected){ .known = mem_array(web.plan.pages, 1) };
	queue[n++] = 0;
	x->known[0] = 1;
	for (unsigned i = 0; i < n; i++) {
		unsigned page = queue[i];
		enum web_fate fate = web_fate(page);
		if (fate == WEB_FORBIDDEN)
			x->forbidden++;
		else if (fate == WEB_DEAD || fate == WEB_LOOP)
			x->exceptions++;
		else
			x->items++;
		unsigned links_n = web_links(fate == WEB_MOVED ?
		    web_target(page) : page, links);
		for (unsigned k = 0; k < links_n; k++)
			if (!x->known[links[k]]) {
				x->known[links[k]] = 1;
				queue[n++] = links[k];
			}
	}
	mem_free(&queue);
}

/* --- answers ------------------------------------------------------------ */

static void
finish(struct call *c, enum transport_end end, const char *text)
{
	struct exchange *x = c->exchange;
	struct sim_host *h = &web.hosts[c->host];

	h->open--;
	h->free_at = mono_add_ms(clock_mono(), web.plan.delay_ms);
	loop_timer_stop(c->transport->loop, &c->timer);
	list_take(&c->node);
	mem_free(&c);
	x->own = NULL;
	x->events->done(x, end, str_of(text));
}

static bool
say(struct call *c, int status, struct str fields, struct str body)
{
	struct exchange *x = c->exchange;
	struct buf head = BUF_INIT;

	buf_printf(&head, "HTTP/1.1 %d Sim\r\nContent-Type: text/html\r\n"
	    "Content-Length: %zu\r\n%.*s\r\n", status, body.n,
	    STR_FMT(fields));
	bool more = x->events->head(x, buf_str(&head), status);
	if (more && body.n > 0)
		more = x->events->body(x, body);
	buf_free(&head);
	finish(c, more ? TRANSPORT_DONE : TRANSPORT_STOPPED, "");
	return more;
}

static void
say_page(struct call *c, unsigned page, bool same)
{
	struct buf body = BUF_INIT;
	unsigned links[8], n = same ? 0 : web_links(page, links);
	char url[80];

	buf_printf(&body, "<title>%u</title>", same ? 0 : page);
	for (unsigned i = 0; i < n; i++) {
		web_url(links[i], url, sizeof(url));
		buf_printf(&body, "<a href=\"%s\">%u</a>", url, links[i]);
	}
	say(c, 200, STR(""), buf_str(&body));
	buf_free(&body);
}

static void
say_moved(struct call *c, unsigned to)
{
	char url[80], field[120];

	web_url(to, url, sizeof(url));
	snprintf(field, sizeof(field), "Location: %s\r\n", url);
	say(c, 302, str_of(field), STR("moved"));
}

static void
answer(struct timer *t)
{
	struct call *c = CONTAINER(t, struct call, timer);
	struct exchange *x = c->exchange;
	struct ip ip = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 93, 184,
	    216, 34 } };
	unsigned page;

	if (!x->events->connected(x, &ip)) {
		finish(c, TRANSPORT_BLOCKED, "");
		return;
	}
	if (str_ends(x->url, STR("/robots.txt"))) {
		say(c, 200, STR(""), STR("User-agent: *\nDisallow: /no/\n"));
		return;
	}
	if (!web_page_of(x->url, &page)) {
		say(c, 404, STR(""), STR("no such page"));
		return;
	}
	unsigned times = ++web.asked[page];
	switch (web_fate(page)) {
	case WEB_MISSING:
		say(c, 404, STR(""), STR("missing"));
		break;
	case WEB_BROKEN:
		say(c, 500, STR(""), STR("broken"));
		break;
	case WEB_BUSY:
		if (times <= 2)
			say(c, 503, STR("Retry-After: 1\r\n"), STR("busy"));
		else
			say_page(c, page, false);
		break;
	case WEB_FLAKY:
		if (times <= 2)
			finish(c, TRANSPORT_RESET, "cut");
		else
			say_page(c, page, false);
		break;
	case WEB_DEAD:
		finish(c, TRANSPORT_PROTOCOL, "dead");
		break;
	case WEB_MOVED:
		say_moved(c, web_target(page));
		break;
	case WEB_LOOP:
		say_moved(c, page);
		break;
	case WEB_SAME:
		say_page(c, page, true);
		break;
	default:
		say_page(c, page, false);
	}
}

static void
start(struct transport *transport, struct exchange *x)
{
	struct sim_transport *t = CONTAINER(transport, struct sim_transport,
	    transport);
	struct call *c = mem_new(sizeof(*c));
	uint64_t host = 0, wait;

	str_to_u64(str_cut(x->host, 1, str_find_char(x->host, '.')), &host);
	c->host = (unsigned)(host % HOSTS_MAX);
	c->transport = t;
	c->exchange = x;
	c->timer.fire = answer;
	list_put(&t->calls, &c->node);
	x->own = c;
	x->request_sent = STR("GET / HTTP/1.1\r\nHost: sim\r\n\r\n");
	web.requests++;
	struct sim_host *h = &web.hosts[c->host];
	if (web.plan.delay_ms > 0 && (h->open > 0 ||
	    mono_before(clock_mono(), h->free_at)))
		web.breaches++;
	h->open++;
	clock_random(&wait, sizeof(wait));
	loop_timer_set(t->loop, &c->timer, mono_add_ns(clock_mono(),
	    (int64_t)(wait % (50 * (uint64_t)NS_PER_MS))));
}

static void
stop(struct transport *transport, struct exchange *x)
{
	(void)transport;
	finish(x->own, TRANSPORT_STOPPED, "");
}

static void
free_transport(struct transport **tp)
{
	struct sim_transport *t = CONTAINER(*tp, struct sim_transport,
	    transport);

	while (!list_empty(&t->calls))
		finish(LIST_ITEM(t->calls.next, struct call, node),
		    TRANSPORT_STOPPED, "");
	mem_free(&t);
	*tp = NULL;
}

static const struct transport_table table = { .start = start,
	.stop = stop, .free = free_transport };

struct transport *
web_transport(void *arg, struct loop *loop)
{
	struct sim_transport *t = mem_new(sizeof(*t));

	(void)arg;
	t->transport.table = &table;
	t->loop = loop;
	list_init(&t->calls);
	return &t->transport;
}
