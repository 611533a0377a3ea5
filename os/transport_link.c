/*
 * A connection: TCP, what the proxy wants, TLS, and then HTTP/1.1 for one call
 * after the other; HTTP/2 is transport_http2.c's.
 *
 * No system call is made that moves no bytes: a socket is watched once, for
 * reading; a request is written when it is there, and only what the socket did
 * not take waits for an event; a read that filled less than the buffer is the
 * last one.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/transport_pool.h"

#define READS_MAX 8u                 /* before others have their turn */
#define KEEPALIVE_S 60               /* probes of TCP */
#define KEEP_ALIVE_MARGIN_MS 500     /* of the server's time, left unused */

static void ready(struct watch *, unsigned events);
static void begin_layer(struct transport_link *);

/* ---- Life --------------------------------------------------------------- */

void
transport_link_watch(struct transport_link *l)
{
	const struct transport_call *c = l->call;
	bool paused = c != NULL && c->paused;
	unsigned want = 0;

	if (l->state == TRANSPORT_LINK_DEAD)
		return;
	if (l->state == TRANSPORT_LINK_CONNECTING)
		want = LOOP_WRITE;
	else if (l->state == TRANSPORT_LINK_TLS)
		want = l->read_wants;
	else
		want = (paused ? 0 : l->read_wants) |
		    (l->blocked ? l->write_wants : 0);
	if (want != l->watched)
		loop_watch(l->pool->loop, &l->watch, want);
	l->watched = want;
}

/* An event of this turn may still point here, so the memory stays. */
void
transport_link_close(struct transport_link *l)
{
	struct transport_pool *pool = l->pool;
	bool is_open = l->state == TRANSPORT_LINK_HTTP1 ||
	    l->state == TRANSPORT_LINK_HTTP2;

	if (l->state == TRANSPORT_LINK_DEAD)
		return;
	l->state = TRANSPORT_LINK_DEAD;
	if (l->ssl != NULL && is_open && !l->failed) {
		ERR_clear_error();
		(void)SSL_shutdown(l->ssl);
	}
	SSL_free(l->ssl);
	l->ssl = NULL;
	close(l->watch.fd);
	l->watch.fd = -1;
	l->call = NULL;
	transport_pool_take_idle(l);
	list_take(&l->again);
	list_take(&l->node);
	list_put(&pool->dead_links, &l->node);
	pool->links_n--;
	transport_origin_lose_link(pool, &l->origin);
	pool->released = true;
	transport_pool_wake(pool);
}

void
transport_link_free(struct transport_link **lp)
{
	struct transport_link *l = *lp;

	transport_http2_free(&l->http2);
	transport_tunnel_free(&l->tunnel);
	if (l->out.cap > 0)
		explicit_bzero(l->out.p, l->out.cap);
	buf_free(&l->out);
	mem_free(lp);
}

static void
set_options(int fd)
{
	int one = 1, seconds = KEEPALIVE_S;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
}

static void
add_link(struct transport_call *c, int fd, const struct ip *ip)
{
	struct transport_link *l = mem_new(sizeof(*l));
	struct transport_pool *pool = c->pool;

	l->watch = (struct watch){ fd, ready };
	l->pool = pool;
	l->origin = c->origin;
	l->call = c;
	l->state = TRANSPORT_LINK_CONNECTING;
	l->read_wants = LOOP_READ;
	l->write_wants = LOOP_WRITE;
	l->usable_until = MONO_NEVER;
	l->ip = *ip;
	list_init(&l->node);
	list_init(&l->idle);
	list_init(&l->again);
	list_put(&l->origin->links, &l->node);
	l->origin->links_n++;
	pool->links_n++;
	c->link = l;
	transport_link_watch(l);
}

int
transport_link_open(struct transport_call *c, const struct ip *ip,
    uint16_t port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in6 v6;
	} a;
	socklen_t n = ip_to_socket(ip, port, &a);
	int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0);

	if (fd < 0)
		return errno;
	set_options(fd);
	if (connect(fd, &a.any, n) != 0 && errno != EINPROGRESS) {
		int error = errno;
		close(fd);
		return error;
	}
	add_link(c, fd, ip);
	return 0;
}

/* ---- Kept for the next request ------------------------------------------ */

static bool
has_room(const struct transport_link *l)
{
	if (l->state == TRANSPORT_LINK_HTTP1)
		return !list_empty(&l->idle);
	return l->state == TRANSPORT_LINK_HTTP2 &&
	    transport_http2_has_room(l->http2);
}

struct transport_link *
transport_link_find(const struct transport_call *c)
{
	struct list *links = &c->origin->links, *next;
	struct mono now = loop_now(c->pool->loop);

	for (struct list *n = links->next; n != links; n = next) {
		struct transport_link *l = LIST_ITEM(n, struct transport_link,
		    node);
		next = n->next;
		if (!has_room(l))
			continue;
		if (mono_before(now, l->usable_until))
			return l;
		transport_link_close(l);
	}
	return NULL;
}

/* The server's time began when it sent the answer, and ends before ours does:
 * a request has to reach it. */
static void
note_keep_alive(struct transport_link *l, const struct transport_reader *r)
{
	l->usable_until = r->keep_alive_s < 0 ? MONO_NEVER :
	    mono_add_ms(loop_now(l->pool->loop),
	    r->keep_alive_s * 1000 - KEEP_ALIVE_MARGIN_MS);
}

/* Whether it can still be used when the next request comes. */
static bool
outlasts_pause(const struct transport_link *l, int64_t pause_ms)
{
	const struct transport_pool *pool = l->pool;
	struct mono now = loop_now(pool->loop);

	return (pool->idle_ns_max == 0 ||
	    pause_ms < pool->idle_ns_max / NS_PER_MS) &&
	    mono_ns_between(now, l->usable_until) / NS_PER_MS > pause_ms;
}

/* The one that was used last is taken first: the others may be closed. */
static void
rest_link(struct transport_link *l, int64_t pause_ms)
{
	struct transport_pool *pool = l->pool;

	transport_pool_put_idle(l, pause_ms);
	list_take(&l->node);
	list_put(l->origin->links.next, &l->node);
	pool->released = true;
	transport_pool_wake(pool);
}

void
transport_link_release(struct transport_link *l, struct transport_call *c,
    bool keep)
{
	if (l->state == TRANSPORT_LINK_DEAD)
		return;
	if (l->state == TRANSPORT_LINK_HTTP2) {
		if (l->call == c)
			l->call = NULL;
		if (transport_http2_is_idle(l->http2) &&
		    list_empty(&l->idle))
			rest_link(l, c->x->pause_ms);
		l->pool->released = true;
		transport_pool_wake(l->pool);
		return;
	}
	if (l->state != TRANSPORT_LINK_HTTP1 || !keep || l->blocked) {
		transport_link_close(l);
		return;
	}
	note_keep_alive(l, &c->reader);
	if (!outlasts_pause(l, c->x->pause_ms)) {
		transport_link_close(l);
		return;
	}
	l->call = NULL;
	transport_link_watch(l);
	rest_link(l, c->x->pause_ms);
	if (l->ssl != NULL && SSL_has_pending(l->ssl))
		transport_pool_serve_again(l);
}

/* ---- Bytes -------------------------------------------------------------- */

static enum net_io
outcome_of_read(struct transport_link *l, ssize_t got, size_t *n)
{
	*n = got > 0 ? (size_t)got : 0;
	if (got > 0)
		return NET_DONE;
	if (got == 0)
		return NET_END;
	if (errno == EAGAIN || errno == EINTR)
		return NET_AGAIN;
	l->failed = true;
	return NET_FAILED;
}

/* A peer that is gone has broken nothing: RFC 5246 §7.2.1, RFC 8446 §6.1. */
static enum net_io
note_tls_end(struct transport_link *l, enum net_io got, const struct why *w)
{
	if (got != NET_FAILED)
		return got;
	l->failed = true;
	if (w->err != ERR_CLOSED)
		transport_tls_forget(l->ssl);
	return got;
}

static enum net_io
receive_bytes(struct transport_link *l, size_t room, size_t *n)
{
	struct why w = WHY_INIT;

	l->read_wants = LOOP_READ;
	*n = 0;
	if (l->ssl == NULL)
		return outcome_of_read(l, recv(l->watch.fd, l->pool->in, room,
		    0), n);
	return note_tls_end(l, net_tls_read(l->ssl, l->pool->in, room, n,
	    &l->read_wants, &w), &w);
}

static enum net_io
write_tls(struct transport_link *l, struct str bytes, size_t *n)
{
	struct why w = WHY_INIT;

	return note_tls_end(l, net_tls_write(l->ssl, bytes.p, bytes.n, n,
	    &l->write_wants, &w), &w);
}

/* `more` follows `bytes`; either may be empty, not both. */
static enum net_io
send_bytes(struct transport_link *l, struct str bytes, struct str more,
    size_t *n)
{
	struct iovec parts[2] = {
		{ (void *)(uintptr_t)bytes.p, bytes.n },
		{ (void *)(uintptr_t)more.p, more.n },
	};
	struct msghdr m = { .msg_iov = bytes.n > 0 ? parts : parts + 1,
	    .msg_iovlen = bytes.n > 0 && more.n > 0 ? 2 : 1 };

	l->write_wants = LOOP_WRITE;
	*n = 0;
	if (l->ssl != NULL)
		return write_tls(l, bytes.n > 0 ? bytes : more, n);
	ssize_t got = sendmsg(l->watch.fd, &m, MSG_NOSIGNAL);
	if (got >= 0) {
		*n = (size_t)got;
		return NET_DONE;
	}
	return errno == EAGAIN || errno == EINTR ? NET_AGAIN : NET_FAILED;
}

bool
transport_link_flush(struct transport_link *l)
{
	enum net_io got = NET_DONE;

	while (l->out_at < l->out.n && got == NET_DONE) {
		size_t n = 0;
		got = send_bytes(l, str_from(buf_str(&l->out), l->out_at),
		    STR_NONE, &n);
		l->out_at += n;
		if (l->call != NULL)
			l->call->moved += (int64_t)n;
	}
	l->blocked = got == NET_AGAIN;
	if (l->out_at == l->out.n) {
		buf_clear(&l->out);
		l->out_at = 0;
	}
	return got != NET_FAILED;
}

/*
 * A server that has closed may have answered before: how it ends is found by
 * reading.
 */
static void
send_request(struct transport_link *l)
{
	struct transport_call *c = l->call;
	struct str head = transport_call_request(c), body = c->x->body;
	enum net_io got = NET_DONE;

	while (c->sent_n < head.n + body.n && got == NET_DONE &&
	    !c->stops_sending) {
		size_t n = 0;
		got = send_bytes(l, str_from(head, c->sent_n), str_from(body,
		    c->sent_n - MIN(c->sent_n, head.n)), &n);
		c->sent_n += n;
		c->moved += (int64_t)n;
	}
	c->stops_sending |= got == NET_FAILED;
	l->blocked = got == NET_AGAIN;
}

/* ---- An answer ---------------------------------------------------------- */

/* False: the call is over, and with it this link or its part in it. */
static bool
take_answer(struct transport_call *c, struct str bytes)
{
	struct transport_reader *r = &c->reader;
	struct str part;

	c->moved += (int64_t)bytes.n;
	transport_call_answered(c);
	for (;;) {
		switch (transport_reader_next(r, &bytes, &part)) {
		case TRANSPORT_READ_MORE:
			return true;
		case TRANSPORT_READ_HEAD:
			if (!transport_call_head(c, buf_str(&r->head),
			    r->status, r->version))
				return false;
			break;
		case TRANSPORT_READ_BODY:
			if (!transport_call_body(c, part))
				return false;
			break;
		case TRANSPORT_READ_END:
			/* The bytes that follow belong to no answer. */
			if (bytes.n > 0)
				r->may_keep = false;
			transport_call_finish(c, TRANSPORT_DONE, "");
			return false;
		case TRANSPORT_READ_WRONG:
			c->x->too_large |= r->too_large;
			transport_call_finish(c, TRANSPORT_PROTOCOL,
			    r->wrong);
			return false;
		}
	}
}

/* The end of the connection, which is at rest or in the midst of an answer. */
static void
end_link(struct transport_link *l, bool in_order)
{
	struct transport_call *c = l->call;

	l->failed |= !in_order;
	if (l->state == TRANSPORT_LINK_HTTP2)
		transport_http2_cut(l->http2, in_order);
	else if (c != NULL)
		transport_call_cut(c, in_order);
	transport_link_close(l);
}

/* False: nothing more is to be read for now. */
static bool
take_bytes(struct transport_link *l, size_t n)
{
	struct str bytes = { l->pool->in, n };
	struct transport_call *c = l->call;

	if (l->state == TRANSPORT_LINK_HTTP2) {
		if (transport_http2_take(l->http2, bytes))
			return l->state == TRANSPORT_LINK_HTTP2;
		/* The reason, in a GOAWAY. */
		transport_http2_fill(l->http2);
		(void)!transport_link_flush(l);
		end_link(l, true);
		return false;
	}
	bool filled = l->ssl == NULL && n == TRANSPORT_IN_BYTES;
	if (take_answer(c, bytes))
		return l->state == TRANSPORT_LINK_HTTP1 && !c->paused;
	/* The kernel may hold more, which belongs to no answer either. */
	if (filled && l->state == TRANSPORT_LINK_HTTP1)
		transport_pool_serve_again(l);
	return false;
}

static void
read_link(struct transport_link *l)
{
	for (unsigned i = 0; i < READS_MAX; i++) {
		size_t n;
		enum net_io got = receive_bytes(l, TRANSPORT_IN_BYTES, &n);
		if (got == NET_AGAIN)
			return;
		if (got != NET_DONE) {
			end_link(l, got == NET_END);
			return;
		}
		if (!take_bytes(l, n))
			return;
		/* A short read has emptied a plain socket. */
		if (l->ssl == NULL ? n < TRANSPORT_IN_BYTES :
		    !SSL_has_pending(l->ssl))
			return;
	}
	/* TLS may hold what no descriptor tells of. */
	if (l->ssl != NULL)
		transport_pool_serve_again(l);
}

/* Bytes without a request belong to no answer; a ticket of TLS is no byte. */
static void
check_idle(struct transport_link *l)
{
	size_t n;

	if (receive_bytes(l, 1, &n) != NET_AGAIN)
		transport_link_close(l);
}

static void
serve_http(struct transport_link *l, unsigned events)
{
	bool idle = l->state == TRANSPORT_LINK_HTTP1 && l->call == NULL;

	if (idle && l->ssl == NULL && events != 0) {
		transport_link_close(l);
		return;
	}
	if (idle) {
		check_idle(l);
		return;
	}
	if (l->out.n > 0 && !transport_link_flush(l) && !l->failed) {
		l->failed = true;
		buf_clear(&l->out);
		l->out_at = 0;
	}
	if (l->state == TRANSPORT_LINK_HTTP1 && l->blocked && l->out.n == 0)
		send_request(l);
	bool may_read = events != 0 ? events & (l->read_wants | LOOP_ERROR) :
	    l->ssl != NULL && SSL_has_pending(l->ssl);
	if (may_read && !(l->call != NULL && l->call->paused))
		read_link(l);
	if (l->state == TRANSPORT_LINK_HTTP2) {
		transport_http2_fill(l->http2);
		if (!transport_link_flush(l))
			end_link(l, false);
	}
	transport_link_watch(l);
}

/* ---- Connecting --------------------------------------------------------- */

static void
fail_call(struct transport_link *l, enum transport_end end, const char *text)
{
	l->failed = true;
	transport_call_finish(l->call, end, text);
}

static bool
wants_tunnel(const struct transport_call *c)
{
	return c->proxy.kind != TRANSPORT_PROXY_NONE &&
	    (c->proxy.kind != TRANSPORT_PROXY_HTTP || c->x->tls ||
	    c->x->upgrade);
}

static void
begin_tunnel(struct transport_link *l)
{
	const struct transport_call *c = l->call;
	const struct exchange *x = c->x;

	l->state = TRANSPORT_LINK_TUNNEL;
	transport_tunnel_begin(&l->tunnel, &c->proxy, x->host, x->port,
	    x->addresses_n > 0 ? &x->addresses[0] : NULL, &l->out);
	if (l->tunnel.state == TRANSPORT_TUNNEL_REFUSED)
		fail_call(l, TRANSPORT_PROXY, l->tunnel.detail);
	else if (!transport_link_flush(l))
		fail_call(l, TRANSPORT_PROXY, "the proxy was cut off");
	transport_link_watch(l);
}

static void
serve_tunnel(struct transport_link *l, unsigned events)
{
	struct str bytes;
	size_t n;

	if (l->blocked && !transport_link_flush(l)) {
		fail_call(l, TRANSPORT_PROXY, "the proxy was cut off");
		return;
	}
	if (!(events & (LOOP_READ | LOOP_ERROR)))
		return;
	enum net_io got = receive_bytes(l, TRANSPORT_IN_BYTES, &n);
	if (got == NET_AGAIN)
		return;
	if (got != NET_DONE) {
		fail_call(l, TRANSPORT_PROXY, "cut by the proxy");
		return;
	}
	bytes = (struct str){ l->pool->in, n };
	switch (transport_tunnel_take(&l->tunnel, &bytes, &l->out)) {
	case TRANSPORT_TUNNEL_REFUSED:
		fail_call(l, TRANSPORT_PROXY, l->tunnel.detail);
		break;
	case TRANSPORT_TUNNEL_OPEN:
		if (bytes.n > 0)
			fail_call(l, TRANSPORT_PROXY,
			    "the proxy sent more than its answer");
		else
			begin_layer(l);
		break;
	case TRANSPORT_TUNNEL_METHOD:
	case TRANSPORT_TUNNEL_USER:
	case TRANSPORT_TUNNEL_ANSWER:
		if (!transport_link_flush(l))
			fail_call(l, TRANSPORT_PROXY, "cut by the proxy");
		break;
	}
}

static void
send_first_request(struct transport_link *l, bool kept)
{
	struct transport_call *c = l->call;

	transport_call_connected(c, l, kept);
	if (l->state == TRANSPORT_LINK_HTTP1) {
		send_request(l);
		return;
	}
	l->call = NULL;
	transport_pool_take_idle(l);
	if (!transport_http2_request(l->http2, c)) {
		if (!transport_call_retry(c))
			transport_call_finish(c, TRANSPORT_RESET,
			    "the server takes no more requests");
		return;
	}
	transport_pool_serve_again(l);
}

static void
shake_hands(struct transport_link *l)
{
	char detail[TRANSPORT_TLS_DETAIL_MAX];

	switch (transport_tls_handshake(l->ssl, &l->read_wants, detail)) {
	case NET_AGAIN:
		return;
	case NET_DONE:
		break;
	case NET_END:
	case NET_FAILED:
		fail_call(l, TRANSPORT_TLS, detail);
		return;
	}
	l->read_wants = LOOP_READ;
	l->call->x->resumed = SSL_session_reused(l->ssl) == 1;
	l->state = net_tls_h2(l->ssl) ? TRANSPORT_LINK_HTTP2 :
	    TRANSPORT_LINK_HTTP1;
	if (l->state == TRANSPORT_LINK_HTTP2)
		l->http2 = transport_http2_new(l);
	send_first_request(l, false);
	/* A byte that came with the handshake's last causes no event. */
	if (l->state != TRANSPORT_LINK_DEAD && SSL_has_pending(l->ssl))
		transport_pool_serve_again(l);
}

static void
begin_tls(struct transport_link *l)
{
	const struct exchange *x = l->call->x;
	struct transport_tls_peer peer = { .host = x->host,
	    .key = &l->origin->key, .verify = x->verify,
	    .http2 = x->http2 && !x->upgrade && !l->call->http1_only };
	char detail[TRANSPORT_TLS_DETAIL_MAX];

	if (str_starts(peer.host, STR("[")) && str_ends(peer.host, STR("]")))
		peer.host = str_cut(peer.host, 1, peer.host.n - 1);
	l->state = TRANSPORT_LINK_TLS;
	l->ssl = transport_tls_open(l->pool->tls, l->watch.fd, &peer, detail);
	if (l->ssl == NULL)
		fail_call(l, TRANSPORT_TLS, detail);
	else
		shake_hands(l);
}

/* The next layer over what is connected. */
static void
begin_layer(struct transport_link *l)
{
	if (l->state == TRANSPORT_LINK_CONNECTING && wants_tunnel(l->call)) {
		begin_tunnel(l);
	} else if (l->call->x->tls) {
		begin_tls(l);
	} else {
		l->state = TRANSPORT_LINK_HTTP1;
		send_first_request(l, false);
	}
	transport_link_watch(l);
}

static void
finish_connect(struct transport_link *l, unsigned events)
{
	struct transport_call *c = l->call;
	int error = 0;
	socklen_t n = sizeof(error);

	if ((events & LOOP_ERROR) && (getsockopt(l->watch.fd, SOL_SOCKET,
	    SO_ERROR, &error, &n) != 0 || error != 0)) {
		l->failed = true;
		transport_call_unconnected(c, error);
		return;
	}
	c->tcp_connected = true;
	c->tcp = clock_mono();
	begin_layer(l);
}

void
transport_link_use(struct transport_link *l, struct transport_call *c)
{
	/* It may be closed by the callback; it is not another's meanwhile. */
	c->x->connected_ip = l->ip;
	c->x->reused = true;
	if (!transport_call_ask(c, &l->ip))
		return;
	if (l->state == TRANSPORT_LINK_DEAD) {
		transport_pool_queue(c);
		return;
	}
	transport_pool_take_idle(l);
	l->call = c;
	send_first_request(l, true);
	transport_link_watch(l);
}

static void
serve_events(struct transport_link *l, unsigned events)
{
	switch (l->state) {
	case TRANSPORT_LINK_CONNECTING:
		finish_connect(l, events);
		break;
	case TRANSPORT_LINK_TUNNEL:
		serve_tunnel(l, events);
		transport_link_watch(l);
		break;
	case TRANSPORT_LINK_TLS:
		shake_hands(l);
		transport_link_watch(l);
		break;
	case TRANSPORT_LINK_HTTP1:
	case TRANSPORT_LINK_HTTP2:
		serve_http(l, events);
		break;
	case TRANSPORT_LINK_DEAD:
		break;
	}
}

static void
ready(struct watch *w, unsigned events)
{
	serve_events(CONTAINER(w, struct transport_link, watch), events);
}

void
transport_link_serve(struct transport_link *l)
{
	if (l->state == TRANSPORT_LINK_HTTP1 ||
	    l->state == TRANSPORT_LINK_HTTP2)
		serve_http(l, 0);
}
