/*
 * Streams of the invented platforms: items by the clock, as events, lines or
 * frames, until the stream ends, is cut, or says nothing more.
 *
 *     ... "sim":"http://p3/1/103"}    the end of an item, in all three
 *
 * A stream does not misbehave twice in a row before it has given an item: what
 * goes wrong for good is a reason to fail.
 */
#include "tests/sim/platform_own.h"

#include "os/clock.h"
#include "tests/sim/world.h"
#include "wire/web/ws.h"

#define BEAT_MS 20000
/* Items before the moment at which a stream of events is really there. */
#define LATE_US_MAX 4000000
#define PART_MS 30
#define MESSAGE_BYTES_MAX 4096
/* As many as the connector asks for. */
#define PAGE 40u

static struct {
	uint64_t begun, given;
	unsigned connections[PLATFORM_HOSTS_MAX];
	bool has_given[PLATFORM_HOSTS_MAX];  /* the last connection */
} world;

void
platform_streams_begin(void)
{
	for (unsigned h = 0; h < PLATFORM_HOSTS_MAX; h++) {
		world.connections[h] = 0;
		world.has_given[h] = false;
	}
}

uint64_t
platform_streams(void)
{
	return world.begun;
}

uint64_t
platform_given(void)
{
	return world.given;
}

bool
platform_is_stream_url(unsigned host, struct str url)
{
	return platform_is_stream(host) && (
	    str_find(url, STR("/streaming/")) < url.n ||
	    str_find(url, STR("/filter.json")) < url.n ||
	    str_find(url, STR("/subscribe")) < url.n);
}

/* ---- Items ------------------------------------------------------------- */

/* So that files reach the size at which they end. */
static void
put_padding(unsigned host, unsigned item, struct buf *b)
{
	uint64_t which[2] = { host, item };
	struct str seed = { (const char *)which, sizeof(which) };

	buf_put_text(b, "\"pad\":\"");
	for (unsigned i = 0; i < platform_dice(seed, 30) % 40; i++)
		buf_printf(b, "%016llx", (unsigned long long)platform_dice(
		    seed, 31 + i));
	buf_put_text(b, "\",");
}

static void
put_status(unsigned host, unsigned item, const char *key, struct buf *b)
{
	buf_printf(b, "{\"id\":\"%u\",\"created_at\":"
	    "\"2026-11-20T09:00:00.000Z\",\"account\":{\"id\":\"1\"},", item);
	put_padding(host, item, b);
	platform_put_uri(key, host, 1, item, b);
	buf_put_char(b, '}');
}

static void
put_commit(unsigned host, unsigned item, struct buf *b)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	buf_printf(&text, "{\"did\":\"did:plc:sim\",\"time_us\":%lld,"
	    "\"kind\":\"commit\",\"commit\":{\"rev\":\"r%u\",\"operation\":"
	    "\"create\",\"collection\":\"app.bsky.feed.post\",\"rkey\":"
	    "\"%u\",\"record\":{}},", (long long)platform_item_at(host, item -
	    PLATFORM_FIRST).us, item, item);
	put_padding(host, item, &text);
	platform_put_uri("sim", host, 1, item, &text);
	buf_put_char(&text, '}');
	ws_put_head(b, true, true, text.n);
	buf_put_str(b, buf_str(&text));
}

static void
put_item(unsigned host, unsigned item, struct buf *b)
{
	switch (platform_kind(host)) {
	case PLATFORM_EVENTS:
		buf_put_text(b, "event: update\ndata: ");
		put_status(host, item, "sim", b);
		buf_put_text(b, "\n\n");
		break;
	case PLATFORM_LINES:
		buf_printf(b, "{\"id_str\":\"%u\",", item);
		put_padding(host, item, b);
		platform_put_uri("sim", host, 1, item, b);
		buf_put_text(b, "}\r\n");
		break;
	default:
		put_commit(host, item, b);
	}
}

static void
put_beat(unsigned host, struct buf *b)
{
	if (platform_kind(host) == PLATFORM_EVENTS)
		buf_put_text(b, ":thump\n\n");
	else if (platform_kind(host) == PLATFORM_LINES)
		buf_put_text(b, "\r\n");
	else
		ws_put_ping(b, false, STR("sim"));
}

void
platform_put_timeline(unsigned host, struct str url, struct buf *head,
    struct buf *body)
{
	unsigned first = MAX((unsigned)platform_number(url, "min_id=") + 1,
	    PLATFORM_FIRST);
	unsigned end = MIN(first + PAGE, PLATFORM_FIRST +
	    platform_items(host));

	buf_put_char(body, '[');
	for (unsigned n = end; n > first; n--) {
		if (n < end)
			buf_put_char(body, ',');
		put_status(host, n - 1, "uri", body);
	}
	buf_put_char(body, ']');
	if (end > first)
		buf_printf(head, "Link: <https://p%u.sim.test/api/v1/timelines"
		    "/public?min_id=%u>; rel=\"prev\"\r\n", host, end - 1);
}

/* ---- What becomes of a stream ------------------------------------------ */

static void
choose_fate(struct call *c)
{
	struct streaming *s = c->stream;
	unsigned which[2] = { c->host, world.connections[c->host]++ };
	struct str seed = { (const char *)which, sizeof(which) };
	uint64_t fate = platform_dice(seed, 10) % 12;

	if (world.has_given[c->host] && fate < STREAM_FATES)
		s->fate = (enum stream_fate)fate;
	s->lasts = 1 + (unsigned)(platform_dice(seed, 11) % 20);
	world.has_given[c->host] = false;
	s->from = clock_wall();
	if (platform_kind(c->host) == PLATFORM_EVENTS)
		s->from.us += (int64_t)(platform_dice(seed, 12) %
		    LATE_US_MAX);
}

/* The first item that it gives. */
static unsigned
first_item(const struct call *c)
{
	int64_t cursor = (int64_t)platform_number(c->exchange->url,
	    "cursor=");

	return platform_items_at(c->host, (struct wall){ cursor > 0 ?
	    cursor - 1 : c->stream->from.us });
}

static void
client_said(void *arg, struct str text)
{
	(void)arg;
	(void)text;
}

static bool
put_head(struct call *c, struct buf *head)
{
	struct exchange *x = c->exchange;
	char accept[WS_ACCEPT_BYTES];

	if (platform_kind(c->host) != PLATFORM_FRAMES) {
		buf_put_text(head, "HTTP/1.1 200 OK\r\nContent-Type: ");
		buf_put_text(head, platform_kind(c->host) == PLATFORM_LINES ?
		    "application/json\r\n\r\n" : "text/event-stream\r\n\r\n");
		return x->events->head(x, buf_str(head), 200);
	}
	accept[0] = '\0';
	for (size_t i = 0; i < x->headers_n; i++)
		if (str_eq(x->headers[i].name, STR("Sec-WebSocket-Key")))
			CHECK(ws_accept(x->headers[i].value, accept));
	buf_printf(head, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: "
	    "websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s"
	    "\r\n\r\n", accept);
	c->stream->ws = ws_new(false, MESSAGE_BYTES_MAX, client_said, NULL);
	return x->events->head(x, buf_str(head), 101);
}

static void
set_beat(struct call *c)
{
	c->stream->beat_at = mono_add_ms(clock_mono(), BEAT_MS);
}

/* False: it has ended. */
static bool
begin(struct call *c)
{
	FREED(buf_free) struct buf head = BUF_INIT;
	struct ip ip = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 93, 184,
	    216, 34 } };
	struct exchange *x = c->exchange;
	struct streaming *s = c->stream;

	choose_fate(c);
	if (!x->events->connected(x, &ip)) {
		platform_finish(c, TRANSPORT_BLOCKED, "");
	} else if (s->fate == STREAM_REFUSED) {
		platform_say(c, 503, STR(""), STR("{}"));
	} else if (s->fate == STREAM_RESET) {
		platform_finish(c, TRANSPORT_RESET, "cut");
	} else {
		s->begun = true;
		s->next = first_item(c);
		world.begun++;
		set_beat(c);
		if (put_head(c, &head))
			return true;
		platform_finish(c, TRANSPORT_STOPPED, "");
	}
	return false;
}

/* ---- Bytes ------------------------------------------------------------- */

/* False: it has ended. */
static bool
give(struct call *c, struct str bytes)
{
	struct exchange *x = c->exchange;

	if (bytes.n == 0 || x->events->body(x, bytes))
		return true;
	platform_finish(c, TRANSPORT_STOPPED, "");
	return false;
}

/* The next item; some come in two parts, or are the last, cut. */
static bool
give_item(struct call *c)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct streaming *s = c->stream;
	bool cuts = s->fate == STREAM_CUT && s->lasts == 1;
	uint64_t part;

	put_item(c->host, PLATFORM_FIRST + s->next, &b);
	s->next++;
	s->lasts -= s->lasts > 0;
	clock_random(&part, sizeof(part));
	size_t n = cuts || part % 4 == 0 ? (part >> 8) % b.n : b.n;
	if (cuts) {
		if (give(c, str_cut(buf_str(&b), 0, n)))
			platform_finish(c, TRANSPORT_RESET, "cut");
		return false;
	}
	world.has_given[c->host] = true;
	world.given++;
	buf_put_str(&s->late, str_from(buf_str(&b), n));
	return give(c, str_cut(buf_str(&b), 0, n));
}

static bool
give_late(struct call *c)
{
	struct buf late = c->stream->late;

	c->stream->late = BUF_INIT;
	bool more = give(c, buf_str(&late));
	buf_free(&late);
	return more;
}

static void
end(struct call *c)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	if (platform_kind(c->host) == PLATFORM_FRAMES)
		ws_put_close(&b, false, 1001, STR("later"));
	if (give(c, buf_str(&b)))
		platform_finish(c, TRANSPORT_DONE, "");
}

/* When something is to be said next. */
static void
set_timer(struct call *c)
{
	struct streaming *s = c->stream;
	struct mono at = s->beat_at;

	if (s->next < PLATFORM_ITEMS_MAX) {
		int64_t us = platform_item_at(c->host, s->next).us -
		    clock_wall().us;
		struct mono item = mono_add_ns(clock_mono(), MAX(us, 0) *
		    1000);
		at = mono_before(item, at) ? item : at;
	}
	if (s->late.n > 0)
		at = mono_add_ms(clock_mono(), PART_MS);
	loop_timer_set(c->transport->loop, &c->timer, at);
}

static bool
is_over(const struct streaming *s, enum stream_fate fate)
{
	return s->fate == fate && s->lasts == 0 && s->late.n == 0;
}

static void
advance_stream(struct timer *t)
{
	struct call *c = CONTAINER(t, struct call, timer);
	struct streaming *s = c->stream;

	if (s->closing) {
		platform_finish(c, TRANSPORT_DONE, "");
		return;
	}
	if (!s->begun && !begin(c))
		return;
	if (s->paused || !give_late(c))
		return;
	while (s->next < platform_items(c->host) && s->late.n == 0 &&
	    !is_over(s, STREAM_ENDS) && !is_over(s, STREAM_SILENT)) {
		set_beat(c);
		if (!give_item(c))
			return;
	}
	if (is_over(s, STREAM_ENDS)) {
		end(c);
		return;
	}
	if (is_over(s, STREAM_SILENT))
		return;
	if (!mono_before(clock_mono(), s->beat_at)) {
		FREED(buf_free) struct buf b = BUF_INIT;
		set_beat(c);
		put_beat(c->host, &b);
		if (!give(c, buf_str(&b)))
			return;
	}
	set_timer(c);
}

/* ---- The other side ---------------------------------------------------- */

void
platform_stream_start(struct call *c)
{
	c->stream = mem_new(sizeof(*c->stream));
	c->timer.fire = advance_stream;
}

bool
platform_stream_send(struct call *c, struct str bytes)
{
	FREED(buf_free) struct buf out = BUF_INIT;
	struct streaming *s = c->stream;

	/* A close is answered by the connection's end. */
	(void)ws_recv(s->ws, bytes, SIZE_MAX, &out);
	if (!ws_is_over(s->ws) || s->closing)
		return true;
	s->closing = true;
	loop_timer_set(c->transport->loop, &c->timer, mono_add_ms(
	    clock_mono(), PART_MS));
	return true;
}

void
platform_stream_pause(struct call *c, bool paused)
{
	c->stream->paused = paused;
	if (!paused)
		loop_timer_set(c->transport->loop, &c->timer, mono_add_ms(
		    clock_mono(), PART_MS));
}

void
platform_stream_free(struct call *c)
{
	if (c->stream == NULL)
		return;
	ws_free(&c->stream->ws);
	buf_free(&c->stream->late);
	mem_free(&c->stream);
}
