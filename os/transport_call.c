/*
 * A running exchange: its deadlines, its addresses and the owner's callbacks.
 */
#include <sys/socket.h>

#include "os/clock.h"
#include "os/transport_head.h"
#include "os/transport_pool.h"

#define KEPT_MAX 65536               /* bytes of a head kept for the next */
#define LOGIN_BYTES_MAX (64 + 3 * TRANSPORT_PROXY_TEXT_MAX)

static void deadline_due(struct timer *);

static bool
is_direct(const struct transport_call *c)
{
	return c->proxy.kind == TRANSPORT_PROXY_NONE;
}

/* ---- Times -------------------------------------------------------------- */

static struct mono
deadline_of(struct mono from, int64_t ms)
{
	/* A limit of a year is none; it also keeps the sum in range. */
	return ms <= 0 || ms > INT64_C(31536000000) ? MONO_NEVER :
	    mono_add_ms(from, ms);
}

/* It may fire too early, and is set again then: that is the rarer case. */
static void
set_deadline(struct transport_call *c)
{
	struct mono when = c->total_deadline;

	if (c->phase <= TRANSPORT_CONNECTING &&
	    mono_before(c->connect_deadline, when))
		when = c->connect_deadline;
	if (when.ns == MONO_NEVER.ns)
		loop_timer_stop(c->pool->loop, &c->deadline);
	else
		loop_timer_set(c->pool->loop, &c->deadline, when);
}

static int64_t
us_since(const struct transport_call *c, struct mono when)
{
	return mono_ns_between(c->started, when) / 1000;
}

static void
fill_times(const struct transport_call *c, struct transport_times *times)
{
	const struct exchange *x = c->x;

	times->total = us_since(c, clock_mono());
	if (c->first_byte.ns != 0)
		times->first_byte = us_since(c, c->first_byte);
	if (c->connected.ns == 0)
		return;
	times->connect = us_since(c, c->connected);
	if (!x->tls)
		return;
	times->tls = times->connect;
	if (!x->reused && is_direct(c))
		times->connect = us_since(c, c->tcp);
}

/* Below speed_bytes_min in each of the last speed_s seconds. */
bool
transport_call_is_slow(struct transport_call *c)
{
	int64_t bytes = c->moved - c->moved_before;

	c->moved_before = c->moved;
	if (c->x->speed_s <= 0 || c->phase < TRANSPORT_ANSWER ||
	    bytes >= c->x->speed_bytes_min) {
		c->slow_s = 0;
		return false;
	}
	return ++c->slow_s >= c->x->speed_s;
}

/* ---- The end ------------------------------------------------------------ */

static void
wipe_secrets(struct transport_call *c)
{
	struct buf *all[] = { &c->sent, &c->login };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (all[i]->cap > 0)
			explicit_bzero(all[i]->p, all[i]->cap);
		buf_clear(all[i]);
	}
}

static void
leave_link(struct transport_call *c, bool keep)
{
	struct transport_link *l = c->link;

	if (c->stream != NULL)
		transport_http2_leave(c);
	c->link = NULL;
	if (l != NULL)
		transport_link_release(l, c, keep);
}

/* The answer is whole, the request has left, and nothing is in doubt. */
static bool
may_keep_link(const struct transport_call *c, enum transport_end end)
{
	return end == TRANSPORT_DONE && c->reader.may_keep &&
	    c->reader.state == TRANSPORT_READER_ENDED && !c->x->upgrade &&
	    c->sent_n == transport_call_request(c).n + c->x->body.n;
}

void
transport_call_finish(struct transport_call *c, enum transport_end end,
    const char *detail)
{
	struct exchange *x = c->x;
	struct transport_pool *pool = c->pool;

	loop_timer_stop(pool->loop, &c->deadline);
	if (c->phase == TRANSPORT_RESOLVING)
		resolve_stop(pool->resolver, &c->query);
	fill_times(c, &x->times);
	if (c->phase == TRANSPORT_ANSWER && c->stream == NULL) {
		if (c->reader.version != 0)
			x->http_version = c->reader.version;
		x->head_received = transport_reader_head_received(&c->reader);
		x->too_large |= c->reader.too_large;
	}
	leave_link(c, may_keep_link(c, end));
	transport_origin_leave(pool, &c->origin);
	c->x = NULL;
	list_take(&c->turn);
	list_take(&c->node);
	list_put(&pool->dead_calls, &c->node);
	x->own = NULL;
	bool secret = x->secret;
	x->events->done(x, end, str_of(detail));
	if (secret || c->login.n > 0)
		wipe_secrets(c);
}

/* done() may not be called from where the cause is found. */
static void
end_later(struct transport_call *c, enum transport_end end, const char *text)
{
	c->has_end = true;
	c->end = end;
	snprintf(c->reason, sizeof(c->reason), "%s", text);
	transport_pool_queue(c);
}

static void
refuse_address(struct transport_call *c, const struct ip *ip)
{
	char text[IP_TEXT_MAX], line[IP_TEXT_MAX + 32];

	ip_to_text(ip, text);
	snprintf(line, sizeof(line), "%s is not allowed", text);
	transport_call_finish(c, TRANSPORT_BLOCKED, line);
}

bool
transport_call_ask(struct transport_call *c, const struct ip *ip)
{
	struct exchange *x = c->x;

	c->asked = *ip;
	if (x->events->connected == NULL || x->events->connected(x, ip))
		return c->x != NULL;
	if (c->x != NULL)
		refuse_address(c, ip);
	return false;
}

/* ---- Connecting --------------------------------------------------------- */

static bool
has_next_address(const struct transport_call *c)
{
	return is_direct(c) && c->address_at + 1 < c->x->addresses_n;
}

/* A try gets half of the time that is left while there is another address. */
static void
begin_connecting(struct transport_call *c)
{
	struct mono now = clock_mono();
	struct mono last = deadline_of(c->begun, c->x->connect_ms);

	c->phase = TRANSPORT_CONNECTING;
	c->tcp_connected = false;
	if (last.ns != MONO_NEVER.ns && has_next_address(c))
		last.ns = now.ns + MAX((last.ns - now.ns) / 2, NS_PER_MS);
	c->connect_deadline = last;
	set_deadline(c);
}

void
transport_call_connect(struct transport_call *c)
{
	const struct exchange *x = c->x;
	struct ip ip = is_direct(c) ? x->addresses[c->address_at] :
	    c->proxy_ip;
	uint16_t port = is_direct(c) ? x->port : c->proxy.port;
	int error;

	begin_connecting(c);
	if (!transport_call_ask(c, &ip))
		return;
	c->tries++;
	error = transport_link_open(c, &ip, port);
	if (error != 0)
		transport_call_unconnected(c, error);
}

static void
fail_to_connect(struct transport_call *c, int error)
{
	char ip[IP_TEXT_MAX], line[200];

	ip_to_text(&c->asked, ip);
	snprintf(line, sizeof(line), "%s port %u: %s", ip, is_direct(c) ?
	    c->x->port : c->proxy.port, error == 0 ? "no connection" :
	    strerror(error));
	transport_call_finish(c, is_direct(c) ? TRANSPORT_CONNECT :
	    TRANSPORT_PROXY, line);
}

static bool
try_next_address(struct transport_call *c)
{
	if (!has_next_address(c))
		return false;
	leave_link(c, false);
	c->address_at++;
	c->fresh = true;
	transport_pool_queue(c);
	return true;
}

void
transport_call_unconnected(struct transport_call *c, int error)
{
	if (!try_next_address(c))
		fail_to_connect(c, error);
}

static void
deadline_due(struct timer *timer)
{
	struct transport_call *c = CONTAINER(timer, struct transport_call,
	    deadline);
	struct mono now = loop_now(c->pool->loop);
	bool total = !mono_before(now, c->total_deadline);

	if (!total && (c->phase > TRANSPORT_CONNECTING ||
	    mono_before(now, c->connect_deadline)))
		set_deadline(c);
	else if (c->has_end)
		transport_call_finish(c, c->end, c->reason);
	else if (c->phase > TRANSPORT_CONNECTING)
		transport_call_finish(c, TRANSPORT_TIMEOUT,
		    "the answer took too long");
	else if (!is_direct(c))
		transport_call_finish(c, TRANSPORT_PROXY,
		    "connecting took too long");
	else if (c->tcp_connected)
		transport_call_finish(c, TRANSPORT_TIMEOUT,
		    "the TLS handshake took too long");
	else if (total || c->phase != TRANSPORT_CONNECTING ||
	    !try_next_address(c))
		transport_call_finish(c, TRANSPORT_CONNECT,
		    "connecting took too long");
}

void
transport_call_connected(struct transport_call *c, struct transport_link *l,
    bool kept)
{
	struct exchange *x = c->x;

	c->link = l;
	c->phase = TRANSPORT_ANSWER;
	c->connected = clock_mono();
	c->sent_n = 0;
	x->connected_ip = l->ip;
	x->reused = kept;
}

static void
begin_answer(struct transport_call *c)
{
	transport_reader_begin(&c->reader, c->x->head_bytes_max,
	    str_eq(c->x->method, STR("HEAD")), c->x->upgrade);
	c->answered = c->stops_sending = c->paused = false;
}

static const char *build_request(struct transport_call *);

bool
transport_call_retry(struct transport_call *c)
{
	if (c->tries >= TRANSPORT_TRIES_MAX)
		return false;
	leave_link(c, false);
	transport_origin_leave(c->pool, &c->origin);
	c->fresh = true;
	c->x->reused = c->x->resumed = false;
	(void)build_request(c);
	begin_answer(c);
	c->begun = clock_mono();
	c->connect_deadline = deadline_of(c->begun, c->x->connect_ms);
	transport_pool_queue(c);
	set_deadline(c);
	return true;
}

/* The kept connection may have ended before the server saw the request. */
static bool
was_kept_too_long(const struct transport_call *c)
{
	return c->phase == TRANSPORT_ANSWER && c->x->reused && !c->answered;
}

void
transport_call_cut(struct transport_call *c, bool in_order)
{
	bool whole = in_order && c->stream == NULL &&
	    transport_reader_ends_at_close(&c->reader);

	if (was_kept_too_long(c) && c->x->once)
		transport_call_finish(c, TRANSPORT_RESET,
		    "the kept connection ended");
	else if (was_kept_too_long(c) && transport_call_retry(c))
		return;
	else if (whole)
		transport_call_finish(c, TRANSPORT_DONE, "");
	else
		transport_call_finish(c, TRANSPORT_RESET, c->stream != NULL ?
		    "the connection was cut" :
		    transport_reader_cut_text(&c->reader));
}

/* ---- The answer --------------------------------------------------------- */

void
transport_call_answered(struct transport_call *c)
{
	if (c->answered)
		return;
	c->answered = true;
	c->first_byte = clock_mono();
}

static bool
wants_login(const struct transport_call *c, int status)
{
	return status == 407 && c->proxy.kind == TRANSPORT_PROXY_HTTP &&
	    !c->x->tls && !c->x->upgrade;
}

bool
transport_call_head(struct transport_call *c, struct str bytes, int status,
    int version)
{
	struct exchange *x = c->x;

	if (wants_login(c, status)) {
		transport_call_finish(c, TRANSPORT_PROXY,
		    "the proxy wants credentials");
		return false;
	}
	x->http_version = version;
	c->phase = TRANSPORT_BODY;
	/* The rest of our body would be read for nothing. */
	c->stops_sending = status >= 300;
	if (x->events->head == NULL || x->events->head(x, bytes, status))
		return c->x != NULL;
	if (c->x != NULL)
		transport_call_finish(c, TRANSPORT_STOPPED,
		    "the head was enough");
	return false;
}

bool
transport_call_body(struct transport_call *c, struct str bytes)
{
	struct exchange *x = c->x;

	if (bytes.n == 0 || x->events->body == NULL ||
	    x->events->body(x, bytes))
		return c->x != NULL;
	if (c->x != NULL)
		transport_call_finish(c, TRANSPORT_STOPPED,
		    "the body was enough");
	return false;
}

/* ---- The beginning ------------------------------------------------------ */

static bool
is_absolute(const struct transport_call *c)
{
	return c->proxy.kind == TRANSPORT_PROXY_HTTP && !c->x->tls &&
	    !c->x->upgrade;
}

/* The login follows the line of Host, which is the second one. */
static void
build_login(struct transport_call *c)
{
	struct str head = buf_str(&c->sent);
	size_t at = str_find_char(head, '\n') + 1;

	at += str_find_char(str_from(head, at), '\n') + 1;
	/* A buffer that grows would leave a copy behind. */
	buf_reserve(&c->login, head.n + LOGIN_BYTES_MAX);
	buf_put_str(&c->login, str_cut(head, 0, at));
	transport_tunnel_put_login(&c->login, &c->proxy);
	buf_put_str(&c->login, str_from(head, at));
}

static const char *
build_request(struct transport_call *c)
{
	const char *wrong;

	if (c->sent.cap > KEPT_MAX)
		buf_free(&c->sent);
	buf_clear(&c->sent);
	buf_clear(&c->login);
	wrong = transport_head_build(&c->sent, c->x, is_absolute(c));
	if (wrong != NULL)
		return wrong;
	c->x->request_sent = buf_str(&c->sent);
	if (is_absolute(c) && c->proxy.has_user)
		build_login(c);
	return NULL;
}

struct str
transport_call_request(const struct transport_call *c)
{
	return buf_str(c->login.n > 0 ? &c->login : &c->sent);
}

static struct transport_call *
take_call(struct transport_pool *pool)
{
	struct transport_call *c;

	if (!list_empty(&pool->spare)) {
		pool->spare_n--;
		return LIST_POP(&pool->spare, struct transport_call, node);
	}
	c = mem_new(sizeof(*c));
	c->pool = pool;
	c->deadline.fire = deadline_due;
	list_init(&c->node);
	list_init(&c->turn);
	return c;
}

static void
reset_call(struct transport_call *c, struct exchange *x)
{
	struct mono now = clock_mono();

	c->x = x;
	c->phase = TRANSPORT_QUEUED;
	c->has_end = c->fresh = c->http1_only = false;
	c->proxy_known = c->tcp_connected = false;
	c->tries = 0;
	c->address_at = c->sent_n = 0;
	c->started = c->begun = now;
	c->tcp = c->connected = c->first_byte = (struct mono){ 0 };
	c->connect_deadline = deadline_of(now, x->connect_ms);
	c->total_deadline = deadline_of(now, x->total_ms);
	c->moved = c->moved_before = c->slow_s = 0;
	x->own = c;
	x->reused = x->resumed = false;
	x->http_version = 0;
	x->connected_ip = (struct ip){ { 0 } };
	x->request_sent = x->head_received = STR_NONE;
	x->too_large = false;
	x->times = (struct transport_times){ 0, -1, -1, -1, -1 };
	begin_answer(c);
}

void
transport_call_start(struct transport *base, struct exchange *x)
{
	struct transport_pool *pool = CONTAINER(base, struct transport_pool,
	    base);
	struct transport_call *c = take_call(pool);
	const char *wrong;

	list_put(&pool->active, &c->node);
	reset_call(c, x);
	if (!transport_proxy_read(x->proxy, &c->proxy)) {
		end_later(c, TRANSPORT_PROXY, "the proxy's URL is malformed");
		return;
	}
	wrong = build_request(c);
	if (wrong != NULL) {
		end_later(c, TRANSPORT_PROTOCOL, wrong);
	} else if (is_direct(c) && x->addresses_n == 0) {
		end_later(c, TRANSPORT_DNS, "no address");
	} else {
		transport_pool_queue(c);
		set_deadline(c);
	}
}

void
transport_call_stop(struct transport *base, struct exchange *x)
{
	struct transport_call *c = x->own;

	(void)base;
	if (c != NULL && c->x == x)
		transport_call_finish(c, TRANSPORT_STOPPED, "stopped");
}

void
transport_call_free(struct transport_call **cp)
{
	struct transport_call *c = *cp;

	buf_free(&c->sent);
	buf_free(&c->login);
	transport_reader_free(&c->reader);
	mem_free(cp);
}

/* ---- A WebSocket -------------------------------------------------------- */

bool
transport_call_send(struct transport *base, struct exchange *x,
    struct str bytes)
{
	struct transport_call *c = x->own;
	struct transport_link *l = c->link;

	(void)base;
	CHECK(x->upgrade && c->phase == TRANSPORT_BODY);
	if (l->out.n - l->out_at + bytes.n > TRANSPORT_SEND_BYTES_MAX)
		return false;
	buf_put_str(&l->out, bytes);
	/* Not at once: this may be called from body(). */
	transport_pool_serve_again(l);
	return true;
}

void
transport_call_pause(struct transport *base, struct exchange *x, bool paused)
{
	struct transport_call *c = x->own;

	(void)base;
	CHECK(c->phase == TRANSPORT_BODY);
	if (c->paused == paused)
		return;
	c->paused = paused;
	if (c->stream != NULL) {
		transport_http2_pause(c, paused);
		return;
	}
	transport_link_watch(c->link);
	/* TLS may hold what no descriptor tells of. */
	if (!paused)
		transport_pool_serve_again(c->link);
}
