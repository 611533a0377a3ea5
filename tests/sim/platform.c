#include "tests/sim/platform.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/map.h"
#include "os/clock.h"
#include "tests/sim/web.h"
#include "tests/sim/world.h"

#define HOST_MARK "http://p"
/* As many as the connector of Mastodon asks for; a page of JSON has fewer. */
#define PAGE 40u
#define JSON_PAGE 15u

/* A URL that was requested from a host. */
struct question {
	struct str url;
	unsigned times;              /* since the servers were killed */
	bool durable;
};

struct host {
	struct map asked;            /* URL -> struct question */
	struct arena arena;          /* of these */
	unsigned items;
	bool closed;
};

static struct {
	uint64_t seed;
	struct host hosts[PLATFORM_HOSTS_MAX];
	unsigned hosts_n;
	uint64_t requests, breaches;
} world;

struct platform_transport {
	struct transport transport;
	struct transport *web;
	struct loop *loop;
	struct list calls;
};

/* One exchange under way. */
struct call {
	struct list node;
	struct platform_transport *transport;
	struct exchange *exchange;
	struct timer timer;
	struct buf request;
	unsigned host, times;
};

static uint64_t
dice(struct str what, unsigned which)
{
	return hash_bytes(what, world.seed * 1000003 + which);
}

/* --- what is known of the hosts ------------------------------------------ */

static void
forget_host(struct host *h)
{
	map_free(&h->asked);
	arena_free(&h->arena);
	h->closed = false;
}

void
platform_begin(uint64_t seed, unsigned hosts)
{
	CHECK(hosts <= PLATFORM_HOSTS_MAX);
	for (unsigned i = 0; i < PLATFORM_HOSTS_MAX; i++)
		forget_host(&world.hosts[i]);
	memset(&world, 0, sizeof(world));
	world.seed = seed;
	world.hosts_n = hosts;
}

void
platform_grow(unsigned host)
{
	struct host *h = &world.hosts[host];
	struct str which = { (const char *)&host, sizeof(host) };

	forget_host(h);
	h->items += (unsigned)(dice(which, h->items) % 150);
	CHECK(h->items <= PLATFORM_ITEMS_MAX);
}

unsigned
platform_items(unsigned host)
{
	return world.hosts[host].items;
}

static uint64_t
number_behind(struct str s, const char *name)
{
	size_t at = str_find(s, str_of(name));
	uint64_t n = 0;

	for (at += at < s.n ? strlen(name) : 0; at < s.n &&
	    ascii_is_digit(s.p[at]); at++)
		n = n * 10 + (uint64_t)(s.p[at] - '0');
	return n;
}

static bool
host_of(struct str url, unsigned *host)
{
	*host = (unsigned)number_behind(url, HOST_MARK);
	return str_starts(url, STR(HOST_MARK)) && *host < world.hosts_n;
}

bool
platform_key(struct str key, unsigned *host, unsigned *list)
{
	*list = (unsigned)MAX(number_behind(key, ".test."),
	    number_behind(key, "/list/a"));
	return host_of(key, host) && *list >= 1 && *list <= PLATFORM_LISTS;
}

bool
platform_item(struct str uri, unsigned *host, unsigned *list, unsigned *item)
{
	struct str rest = str_from(uri, str_find_char(str_from(uri,
	    strlen(HOST_MARK)), '/') + strlen(HOST_MARK));

	*list = (unsigned)number_behind(rest, "/");
	*item = (unsigned)number_behind(str_from(rest, 1), "/");
	return host_of(uri, host) && *list >= 1 && *list <= PLATFORM_LISTS &&
	    *item >= PLATFORM_FIRST &&
	    *item < PLATFORM_FIRST + PLATFORM_ITEMS_MAX;
}

static struct question *
question_of(struct str url)
{
	struct host *h;
	unsigned host;

	if (!host_of(url, &host))
		return NULL;
	h = &world.hosts[host];
	struct question *q = map_get(&h->asked, url);
	if (q == NULL) {
		q = ARENA_NEW(&h->arena, struct question);
		q->url = arena_copy(&h->arena, url);
		map_put(&h->asked, q->url, q);
	}
	return q;
}

void
platform_durable(struct str url, int status)
{
	struct question *q = question_of(url);

	if (q != NULL && status == 200)
		q->durable = true;
}

void
platform_close(unsigned host)
{
	world.hosts[host].closed = true;
}

uint64_t
platform_requests(void)
{
	return world.requests;
}

uint64_t
platform_breaches(void)
{
	return world.breaches;
}

void
platform_kill(void)
{
	web_kill();
	for (unsigned i = 0; i < world.hosts_n; i++)
		MAP_EACH(q, &world.hosts[i].asked, struct question)
			q->times = 0;
}

/* --- the lists ----------------------------------------------------------- */

void
platform_message(unsigned host, struct buf *b)
{
	bool is_json = host % 2 != 0;

	buf_printf(b, "{\"type\":\"%s\",\"seeds\":[", is_json ? "json_api" :
	    "mastodon_account");
	for (unsigned i = 1; i <= PLATFORM_LISTS; i++)
		buf_printf(b, "%s{\"id\":\"s%u\",\"token\":\"a%u\"}",
		    i > 1 ? "," : "", i, i);
	buf_put_text(b, "],\"options\":{\"incremental\":true");
	if (is_json)
		buf_printf(b, ",\"api\":{\"url\":\"" HOST_MARK "%u.sim.test/"
		    "list/{seed}\",\"label\":\"items\",\"items\":\"/items\","
		    "\"id\":\"/id\",\"next\":{\"cursor\":\"/next\","
		    "\"parameter\":\"after\"},\"since\":{\"parameter\":"
		    "\"since\",\"from\":\"id\"}}", host);
	buf_put_text(b, "}");
	if (!is_json)
		buf_printf(b, ",\"credentials\":{\"instance\":\"" HOST_MARK
		    "%u.sim.test\"}", host);
	buf_put_text(b, "}");
}

static void
put_account(uint64_t account, struct buf *b)
{
	buf_printf(b, "{\"id\":\"%llu\",\"username\":\"a%llu\",\"acct\":"
	    "\"a%llu\"}", (unsigned long long)account,
	    (unsigned long long)account, (unsigned long long)account);
}

static void
put_uri(unsigned host, uint64_t list, uint64_t item, struct buf *b)
{
	buf_printf(b, "\"uri\":\"" HOST_MARK "%u/%llu/%llu\"", host,
	    (unsigned long long)list, (unsigned long long)item);
}

/* The items behind `min_id`, the newest first, and where the next are. */
static void
put_statuses(unsigned host, struct str url, struct buf *head,
    struct buf *body)
{
	uint64_t account = number_behind(url, "/accounts/");
	uint64_t first = MAX(number_behind(url, "min_id=") + 1,
	    PLATFORM_FIRST);
	uint64_t end = MIN(first + PAGE, PLATFORM_FIRST +
	    platform_items(host));

	buf_put_char(body, '[');
	for (uint64_t n = end; n > first; n--) {
		buf_printf(body, "%s{\"id\":\"%llu\",", n < end ? "," : "",
		    (unsigned long long)n - 1);
		put_uri(host, account, n - 1, body);
		buf_put_text(body, ",\"created_at\":"
		    "\"2026-11-20T09:00:00.000Z\",\"account\":");
		put_account(account, body);
		buf_put_char(body, '}');
	}
	buf_put_char(body, ']');
	if (end > first)
		buf_printf(head, "Link: <" HOST_MARK "%u.sim.test/api/v1/"
		    "accounts/%llu/statuses?min_id=%llu>; rel=\"prev\"\r\n",
		    host, (unsigned long long)account,
		    (unsigned long long)end - 1);
}

/* The items behind `since` and `after`, and the cursor behind them. */
static void
put_list(unsigned host, struct str url, struct buf *body)
{
	uint64_t list = number_behind(url, "/list/a");
	uint64_t behind = MAX(number_behind(url, "since="),
	    number_behind(url, "after="));
	uint64_t first = MAX(behind + 1, PLATFORM_FIRST);
	uint64_t last = PLATFORM_FIRST + platform_items(host);
	uint64_t end = MIN(first + JSON_PAGE, last);

	buf_put_text(body, "{\"items\":[");
	for (uint64_t n = first; n < end; n++) {
		buf_printf(body, "%s{\"id\":%llu,", n > first ? "," : "",
		    (unsigned long long)n);
		put_uri(host, list, n, body);
		buf_put_char(body, '}');
	}
	buf_put_char(body, ']');
	if (end < last)
		buf_printf(body, ",\"next\":\"%llu\"",
		    (unsigned long long)end - 1);
	buf_put_char(body, '}');
}

/* --- answers ------------------------------------------------------------- */

static void
finish(struct call *c, enum transport_end end, const char *text)
{
	struct exchange *x = c->exchange;

	loop_timer_stop(c->transport->loop, &c->timer);
	list_take(&c->node);
	x->own = NULL;
	x->events->done(x, end, str_of(text));
	buf_free(&c->request);
	mem_free(&c);
}

static void
say(struct call *c, int status, struct str fields, struct str body)
{
	struct exchange *x = c->exchange;
	FREED(buf_free) struct buf head = BUF_INIT;

	buf_printf(&head, "HTTP/1.1 %d Sim\r\nContent-Type: application/json"
	    "\r\nContent-Length: %zu\r\n%.*s\r\n", status, body.n,
	    STR_FMT(fields));
	bool more = x->events->head(x, buf_str(&head), status) &&
	    x->events->body(x, body);
	finish(c, more ? TRANSPORT_DONE : TRANSPORT_STOPPED, "");
}

static void
say_page(struct call *c)
{
	FREED(buf_free) struct buf head = BUF_INIT, body = BUF_INIT;
	struct str url = c->exchange->url;
	int status = 200;

	if (str_find(url, STR("acct=a")) < url.n) {
		put_account(number_behind(url, "acct=a"), &body);
	} else if (str_find(url, STR("/statuses")) < url.n) {
		put_statuses(c->host, url, &head, &body);
	} else if (str_find(url, STR("/list/a")) < url.n) {
		put_list(c->host, url, &body);
	} else {
		status = 404;
		buf_put_text(&body, "{}");
	}
	say(c, status, buf_str(&head), buf_str(&body));
}

static void
answer(struct timer *t)
{
	struct call *c = CONTAINER(t, struct call, timer);
	struct exchange *x = c->exchange;
	struct ip ip = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 93, 184,
	    216, 34 } };
	uint64_t fate = dice(x->url, 1) % 20;

	if (!x->events->connected(x, &ip))
		finish(c, TRANSPORT_BLOCKED, "");
	else if (fate == 0 && c->times <= 2)
		say(c, 503, STR(""), STR("{}"));
	else if (fate == 1 && c->times <= 1)
		say(c, 429, STR("Retry-After: 3\r\n"), STR("{}"));
	else if (fate == 2 && c->times <= 2)
		finish(c, TRANSPORT_RESET, "cut");
	else
		say_page(c);
}

static void
ask(struct platform_transport *t, struct exchange *x, unsigned host)
{
	struct question *q = question_of(x->url);
	struct call *c = mem_new(sizeof(*c));
	uint64_t wait;

	world.requests++;
	if (q->durable || world.hosts[host].closed) {
		printf("sim: asked again: %.*s\n", STR_FMT(x->url));
		world.breaches++;
	}
	sim_trace(x->url.p, x->url.n);
	sim_trace(&sim_world.mono, sizeof(sim_world.mono));
	c->host = host;
	c->times = ++q->times;
	c->transport = t;
	c->exchange = x;
	c->timer.fire = answer;
	list_put(&t->calls, &c->node);
	x->own = c;
	buf_printf(&c->request, "GET %.*s HTTP/1.1\r\nHost: %.*s\r\n\r\n",
	    STR_FMT(str_from(x->url, strlen("http://") + x->host.n)),
	    STR_FMT(x->host));
	x->request_sent = buf_str(&c->request);
	clock_random(&wait, sizeof(wait));
	loop_timer_set(t->loop, &c->timer, mono_add_ns(clock_mono(),
	    (int64_t)(wait % (200 * (uint64_t)NS_PER_MS))));
}

/* --- the table ----------------------------------------------------------- */

static struct platform_transport *
of(struct transport *t)
{
	return CONTAINER(t, struct platform_transport, transport);
}

static void
start(struct transport *t, struct exchange *x)
{
	unsigned host;

	if (host_of(x->url, &host))
		ask(of(t), x, host);
	else
		transport_start(of(t)->web, x);
}

static void
stop(struct transport *t, struct exchange *x)
{
	unsigned host;

	if (host_of(x->url, &host))
		finish(x->own, TRANSPORT_STOPPED, "");
	else
		transport_stop(of(t)->web, x);
}

static void
free_transport(struct transport **tp)
{
	struct platform_transport *t = of(*tp);

	while (!list_empty(&t->calls))
		finish(LIST_ITEM(t->calls.next, struct call, node),
		    TRANSPORT_STOPPED, "");
	t->web->table->free(&t->web);
	mem_free(&t);
	*tp = NULL;
}

struct transport *
platform_transport(void *arg, struct loop *loop)
{
	static const struct transport_table table = { .start = start,
		.stop = stop, .free = free_transport };
	struct platform_transport *t = mem_new(sizeof(*t));

	t->transport.table = &table;
	t->web = web_transport(arg, loop);
	t->loop = loop;
	list_init(&t->calls);
	return &t->transport;
}
