#include "tests/sim/platform_own.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/map.h"
#include "os/clock.h"
#include "tests/sim/web.h"
#include "tests/sim/world.h"

#define HOST_MARK "http://p"
#define STREAM_MARK "https://p"
#define CURSOR_MARK "jetstream.p"
#define TWITTER_MARK "https://stream.twitter.com/"
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
	enum platform_kind kind;
	struct map asked;            /* URL -> struct question */
	struct arena arena;          /* of these */
	unsigned items;              /* of a list */
	bool closed;
};

static struct {
	uint64_t seed;
	struct host hosts[PLATFORM_HOSTS_MAX];
	unsigned hosts_n;
	uint64_t requests, breaches;
	struct wall began;
} world;

uint64_t
platform_dice(struct str what, unsigned which)
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
platform_begin(uint64_t seed, const enum platform_kind *kinds, unsigned hosts)
{
	CHECK(hosts <= PLATFORM_HOSTS_MAX);
	for (unsigned i = 0; i < PLATFORM_HOSTS_MAX; i++)
		forget_host(&world.hosts[i]);
	memset(&world, 0, sizeof(world));
	world.seed = seed;
	world.hosts_n = hosts;
	world.began = clock_wall();
	for (unsigned i = 0; i < hosts; i++)
		world.hosts[i].kind = kinds[i];
	platform_streams_begin();
}

enum platform_kind
platform_kind(unsigned host)
{
	return world.hosts[host].kind;
}

bool
platform_is_stream(unsigned host)
{
	return world.hosts[host].kind >= PLATFORM_EVENTS &&
	    world.hosts[host].kind <= PLATFORM_FRAMES;
}

void
platform_grow(unsigned host)
{
	struct host *h = &world.hosts[host];
	struct str which = { (const char *)&host, sizeof(host) };

	forget_host(h);
	if (platform_is_stream(host))
		return;
	h->items += (unsigned)(platform_dice(which, h->items) % 150);
	CHECK(h->items <= PLATFORM_ITEMS_MAX);
}

/* A stream has another item so often. */
static int64_t
every_us(unsigned host)
{
	struct str which = { (const char *)&host, sizeof(host) };

	return 800000 + (int64_t)(platform_dice(which, 7) % 4000000);
}

struct wall
platform_item_at(unsigned host, unsigned index)
{
	return (struct wall){ world.began.us + ((int64_t)index + 1) *
	    every_us(host) };
}

unsigned
platform_items_at(unsigned host, struct wall when)
{
	if (!platform_is_stream(host))
		return world.hosts[host].items;
	int64_t n = (when.us - world.began.us) / every_us(host);
	return (unsigned)MAX(0, MIN(n, PLATFORM_ITEMS_MAX));
}

unsigned
platform_items(unsigned host)
{
	return platform_items_at(host, clock_wall());
}

uint64_t
platform_number(struct str s, const char *name)
{
	size_t at = str_find(s, str_of(name));
	uint64_t n = 0;

	for (at += at < s.n ? strlen(name) : 0; at < s.n &&
	    ascii_is_digit(s.p[at]); at++)
		n = n * 10 + (uint64_t)(s.p[at] - '0');
	return n;
}

bool
platform_host(struct str url, unsigned *host)
{
	bool listed = str_starts(url, STR(HOST_MARK));

	for (unsigned i = 0; i < world.hosts_n; i++)
		if (world.hosts[i].kind == PLATFORM_LINES &&
		    str_starts(url, STR(TWITTER_MARK))) {
			*host = i;
			return true;
		}
	*host = (unsigned)platform_number(url, listed ? HOST_MARK :
	    STREAM_MARK);
	return (listed || str_starts(url, STR(STREAM_MARK))) &&
	    *host < world.hosts_n;
}

bool
platform_key(struct str key, uint64_t value, unsigned *host, unsigned *list,
    uint64_t *last)
{
	struct wall when = { (int64_t)value };

	if (str_starts(key, STR(CURSOR_MARK))) {
		*host = (unsigned)platform_number(key, CURSOR_MARK);
		*list = 1;
		if (*host >= world.hosts_n)
			return false;
		*last = PLATFORM_FIRST + platform_items_at(*host, when) - 1;
		return true;
	}
	*list = (unsigned)MAX(platform_number(key, ".test."),
	    platform_number(key, "/list/a"));
	*last = value;
	return platform_host(key, host) && *list >= 1 &&
	    *list <= PLATFORM_LISTS;
}

bool
platform_item(struct str uri, unsigned *host, unsigned *list, unsigned *item)
{
	struct str rest = str_from(uri, str_find_char(str_from(uri,
	    strlen(HOST_MARK)), '/') + strlen(HOST_MARK));

	*list = (unsigned)platform_number(rest, "/");
	*item = (unsigned)platform_number(str_from(rest, 1), "/");
	return platform_host(uri, host) && *list >= 1 &&
	    *list <= PLATFORM_LISTS && *item >= PLATFORM_FIRST &&
	    *item < PLATFORM_FIRST + PLATFORM_ITEMS_MAX;
}

static struct question *
question_of(struct str url)
{
	struct host *h;
	unsigned host;

	if (!platform_host(url, &host))
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

/*
 * A stream may be asked for again, and a timeline that had nothing: it is
 * looked at once more when the next stream is certain to have begun.
 */
static bool
may_repeat(unsigned host, struct str url, uint64_t bytes)
{
	return platform_is_stream_url(host, url) ||
	    (str_find(url, STR("/timelines/")) < url.n && bytes <= 2);
}

void
platform_durable(struct str url, int status, uint64_t bytes)
{
	struct question *q = question_of(url);
	unsigned host;

	if (q != NULL && status == 200 && platform_host(url, &host) &&
	    !may_repeat(host, url, bytes))
		q->durable = true;
}

void
platform_close(unsigned host)
{
	world.hosts[host].closed = true;
}

void
platform_allow(unsigned host)
{
	world.hosts[host].closed = false;
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

/* The start message of a harvest of lists, one seed for each. */
static void
put_list_message(unsigned host, bool is_json, struct buf *b)
{
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

/* Two pages, and what can be reached from them by some links. */
static void
put_web_message(unsigned host, struct buf *b)
{
	struct str which = { (const char *)&host, sizeof(host) };
	char url[80];

	buf_put_text(b, "{\"type\":\"web\",\"seeds\":[");
	for (unsigned i = 0; i < 2; i++) {
		web_url((unsigned)(platform_dice(which, 20 + i) % 20), url,
		    sizeof(url));
		buf_printf(b, "%s{\"id\":\"s%u\",\"token\":\"%s\"}",
		    i > 0 ? "," : "", i, url);
	}
	buf_printf(b, "],\"options\":{\"max_hops\":%u}}",
	    (unsigned)(platform_dice(which, 22) % 3));
}

void
platform_message(unsigned host, struct buf *b)
{
	switch (world.hosts[host].kind) {
	case PLATFORM_ACCOUNT:
	case PLATFORM_JSON:
		put_list_message(host, world.hosts[host].kind ==
		    PLATFORM_JSON, b);
		break;
	case PLATFORM_EVENTS:
		buf_printf(b, "{\"type\":\"mastodon_stream\",\"seeds\":[],"
		    "\"credentials\":{\"instance\":\"" STREAM_MARK "%u.sim.test"
		    "\",\"access_token\":\"token-of-a-user\"}}", host);
		break;
	case PLATFORM_LINES:
		buf_put_text(b, "{\"type\":\"twitter_filter\",\"seeds\":["
		    "{\"id\":\"s1\",\"token\":\"sim\"}],\"credentials\":{"
		    "\"consumer_key\":\"the-key\",\"consumer_secret\":"
		    "\"the-secret\",\"access_token\":\"the-token\","
		    "\"access_token_secret\":\"its-secret\"}}");
		break;
	case PLATFORM_FRAMES:
		buf_printf(b, "{\"type\":\"bluesky_jetstream\",\"seeds\":[],"
		    "\"options\":{\"incremental\":true,\"endpoint\":\"p%u."
		    "sim.test\"}}", host);
		break;
	case PLATFORM_WEB:
		put_web_message(host, b);
		break;
	}
}

static void
put_account(uint64_t account, struct buf *b)
{
	buf_printf(b, "{\"id\":\"%llu\",\"username\":\"a%llu\",\"acct\":"
	    "\"a%llu\"}", (unsigned long long)account,
	    (unsigned long long)account, (unsigned long long)account);
}

void
platform_put_uri(const char *key, unsigned host, uint64_t list, uint64_t item,
    struct buf *b)
{
	buf_printf(b, "\"%s\":\"" HOST_MARK "%u/%llu/%llu\"", key, host,
	    (unsigned long long)list, (unsigned long long)item);
}

/* The items behind `min_id`, the newest first, and where the next are. */
static void
put_statuses(unsigned host, struct str url, struct buf *head,
    struct buf *body)
{
	uint64_t account = platform_number(url, "/accounts/");
	uint64_t first = MAX(platform_number(url, "min_id=") + 1,
	    PLATFORM_FIRST);
	uint64_t end = MIN(first + PAGE, PLATFORM_FIRST +
	    platform_items(host));

	buf_put_char(body, '[');
	for (uint64_t n = end; n > first; n--) {
		buf_printf(body, "%s{\"id\":\"%llu\",", n < end ? "," : "",
		    (unsigned long long)n - 1);
		platform_put_uri("uri", host, account, n - 1, body);
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
	uint64_t list = platform_number(url, "/list/a");
	uint64_t behind = MAX(platform_number(url, "since="),
	    platform_number(url, "after="));
	uint64_t first = MAX(behind + 1, PLATFORM_FIRST);
	uint64_t last = PLATFORM_FIRST + platform_items(host);
	uint64_t end = MIN(first + JSON_PAGE, last);

	buf_put_text(body, "{\"items\":[");
	for (uint64_t n = first; n < end; n++) {
		buf_printf(body, "%s{\"id\":%llu,", n > first ? "," : "",
		    (unsigned long long)n);
		platform_put_uri("uri", host, list, n, body);
		buf_put_char(body, '}');
	}
	buf_put_char(body, ']');
	if (end < last)
		buf_printf(body, ",\"next\":\"%llu\"",
		    (unsigned long long)end - 1);
	buf_put_char(body, '}');
}

/* --- answers ------------------------------------------------------------- */

void
platform_finish(struct call *c, enum transport_end end, const char *text)
{
	struct exchange *x = c->exchange;

	loop_timer_stop(c->transport->loop, &c->timer);
	list_take(&c->node);
	x->own = NULL;
	x->events->done(x, end, str_of(text));
	platform_stream_free(c);
	buf_free(&c->request);
	mem_free(&c);
}

void
platform_say(struct call *c, int status, struct str fields, struct str body)
{
	struct exchange *x = c->exchange;
	FREED(buf_free) struct buf head = BUF_INIT;

	buf_printf(&head, "HTTP/1.1 %d Sim\r\nContent-Type: application/json"
	    "\r\nContent-Length: %zu\r\n%.*s\r\n", status, body.n,
	    STR_FMT(fields));
	bool more = x->events->head(x, buf_str(&head), status) &&
	    x->events->body(x, body);
	platform_finish(c, more ? TRANSPORT_DONE : TRANSPORT_STOPPED, "");
}

static void
say_page(struct call *c)
{
	FREED(buf_free) struct buf head = BUF_INIT, body = BUF_INIT;
	struct str url = c->exchange->url;
	int status = 200;

	if (str_find(url, STR("acct=a")) < url.n) {
		put_account(platform_number(url, "acct=a"), &body);
	} else if (str_find(url, STR("/timelines/")) < url.n) {
		platform_put_timeline(c->host, url, &head, &body);
	} else if (str_find(url, STR("/api/v2/instance")) < url.n) {
		buf_put_text(&body, "{}");
	} else if (str_find(url, STR("/statuses")) < url.n) {
		put_statuses(c->host, url, &head, &body);
	} else if (str_find(url, STR("/list/a")) < url.n) {
		put_list(c->host, url, &body);
	} else {
		status = 404;
		buf_put_text(&body, "{}");
	}
	platform_say(c, status, buf_str(&head), buf_str(&body));
}

static void
answer(struct timer *t)
{
	struct call *c = CONTAINER(t, struct call, timer);
	struct exchange *x = c->exchange;
	struct ip ip = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 93, 184,
	    216, 34 } };
	uint64_t fate = platform_dice(x->url, 1) % 20;

	if (!x->events->connected(x, &ip))
		platform_finish(c, TRANSPORT_BLOCKED, "");
	else if (fate == 0 && c->times <= 2)
		platform_say(c, 503, STR(""), STR("{}"));
	else if (fate == 1 && c->times <= 1)
		platform_say(c, 429, STR("Retry-After: 3\r\n"), STR("{}"));
	else if (fate == 2 && c->times <= 2)
		platform_finish(c, TRANSPORT_RESET, "cut");
	else
		say_page(c);
}

static struct str
path_of(struct str url)
{
	struct str rest = str_from(url, str_find(url, STR("//")) + 2);

	return str_from(rest, str_find_char(rest, '/'));
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
	c->timer.fire = answer;
	c->times = ++q->times;
	if (platform_is_stream_url(host, x->url))
		platform_stream_start(c);
	c->transport = t;
	c->exchange = x;
	list_put(&t->calls, &c->node);
	x->own = c;
	buf_printf(&c->request, "%.*s %.*s HTTP/1.1\r\nHost: %.*s\r\n\r\n",
	    STR_FMT(x->method), STR_FMT(path_of(x->url)), STR_FMT(x->host));
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

	if (platform_host(x->url, &host))
		ask(of(t), x, host);
	else
		transport_start(of(t)->web, x);
}

static void
stop(struct transport *t, struct exchange *x)
{
	unsigned host;

	if (platform_host(x->url, &host))
		platform_finish(x->own, TRANSPORT_STOPPED, "");
	else
		transport_stop(of(t)->web, x);
}

static bool
send_frames(struct transport *t, struct exchange *x, struct str bytes)
{
	(void)t;
	return platform_stream_send(x->own, bytes);
}

static void
pause_reading(struct transport *t, struct exchange *x, bool paused)
{
	(void)t;
	platform_stream_pause(x->own, paused);
}

static void
free_transport(struct transport **tp)
{
	struct platform_transport *t = of(*tp);

	while (!list_empty(&t->calls))
		platform_finish(LIST_ITEM(t->calls.next, struct call, node),
		    TRANSPORT_STOPPED, "");
	t->web->table->free(&t->web);
	mem_free(&t);
	*tp = NULL;
}

struct transport *
platform_transport(void *arg, struct loop *loop)
{
	static const struct transport_table table = { .start = start,
		.stop = stop, .free = free_transport, .send = send_frames,
		.pause = pause_reading };
	struct platform_transport *t = mem_new(sizeof(*t));

	t->transport.table = &table;
	t->web = web_transport(arg, loop);
	t->loop = loop;
	list_init(&t->calls);
	return &t->transport;
}
