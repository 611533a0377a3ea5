#include "os/net_own.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ip.h"

#define READ_BYTES ((size_t)128 << 10)
#define READS_PER_TURN 4
#define WRITES_PER_TURN 16
#define ACCEPTS_PER_TURN 64
#define BACKLOG 1024
#define SPARE_BYTES_MAX ((size_t)256 << 10)
#define SWEEP_MS 500
#define PEER_TEXT_MAX 64

union address {
	struct sockaddr any;
	struct sockaddr_in6 v6;
};

enum state { CONNECTING, HANDSHAKE, OPEN, CLOSING, LINGERING, DEAD };

struct net {
	struct loop *loop;
	struct net_limits limits;
	struct turn_hook hook;
	struct timer sweep;
	struct timer kick;           /* a turn for those in todo */
	bool sweeping;
	struct list conns, todo, dead, listeners;
	size_t conns_n, accepted_n;
	uint64_t sent;               /* bytes that sockets have taken */
	char *in;                    /* READ_BYTES, for all connections */
	struct buf spare;            /* memory for the next that writes */
};

struct net_conn {
	struct watch watch;
	struct list node;            /* in conns or dead */
	struct list turn;            /* in todo, or in none */
	struct net *net;
	bool accepted;
	enum state state;
	const struct net_events *on;
	void *arg;
	SSL *ssl;
	struct net_tls *tls;         /* until the handshake begins */
	char *name;
	unsigned watched, read_wants, write_wants;
	bool blocked;                /* the socket took less than we had */
	bool held;                   /* nothing is to be read */
	bool ended;                  /* the peer sends nothing more */
	bool h2;                     /* TLS has agreed on it */
	struct buf out;
	size_t out_at;
	int64_t stall_ms;
	void (*stalled)(struct net_conn *);
	struct mono until;           /* handshake, stall or linger; NEVER */
	struct why why;
	char peer[PEER_TEXT_MAX];
};

struct net_listener {
	struct watch watch;
	struct list node;            /* in listeners, or dead */
	struct net *net;
	struct net_tls *tls;
	void (*accepted)(struct net_conn *, void *arg);
	void *arg;
	uint16_t port;
	bool watched;
};

static const struct net_events no_events;

/* ---- Addresses ---------------------------------------------------------- */

static enum err
address_of(const char *text, uint16_t port, union address *a, socklen_t *n,
    struct why *w)
{
	struct ip ip;

	if (!ip_from_text(str_of(text), &ip))
		return why(w, ERR_CONFIG, "\"%s\" is no IP address", text);
	*n = ip_to_socket(&ip, port, a);
	return OK;
}

static void
peer_text(const union address *a, char out[static PEER_TEXT_MAX])
{
	char host[IP_HOST_MAX];
	struct ip ip;
	uint16_t port;

	CHECK(ip_from_socket(a, &ip, &port));
	ip_to_host(&ip, host);
	snprintf(out, PEER_TEXT_MAX, "%s:%u", host, port);
}

/* ---- A connection's life ------------------------------------------------ */

static void accept_again(struct net *);
static void step(struct net_conn *);

static void
set_watch(struct net_conn *c)
{
	unsigned want;

	if (c->state == DEAD || c->watch.fd < 0)
		return;
	if (c->state == CONNECTING)
		want = LOOP_WRITE;
	else
		want = (c->ended || (c->held && c->state == OPEN) ? 0 :
		    c->read_wants) | (c->blocked ? c->write_wants : 0);
	if (want != c->watched)
		loop_watch(c->net->loop, &c->watch, want);
	c->watched = want;
}

/*
 * The hook of this turn may be over already, or no turn under way: a timer that
 * is due makes another one.  Mostly it is taken back by the hook.
 */
static void
put_todo(struct net_conn *c)
{
	struct net *net = c->net;

	if (list_empty(&net->todo))
		loop_timer_set(net->loop, &net->kick, loop_now(net->loop));
	list_take(&c->turn);
	list_put(&net->todo, &c->turn);
}

static void
kicked(struct timer *t)
{
	(void)t;
}

/* on_closed comes at the end of the turn. */
static void
die(struct net_conn *c)
{
	if (c->state == DEAD)
		return;
	/* Say so in TLS too, unless it is TLS that failed. */
	if (c->ssl != NULL && c->state == OPEN && c->why.err == OK)
		SSL_shutdown(c->ssl);
	c->state = DEAD;
	SSL_free(c->ssl);
	c->ssl = NULL;
	if (c->watch.fd >= 0)
		close(c->watch.fd);
	c->watch.fd = -1;
	list_take(&c->node);
	list_put(&c->net->dead, &c->node);
	list_take(&c->turn);
}

static void
fail(struct net_conn *c, enum err e, const char *text)
{
	(void)why(&c->why, e, "%s", text);
	die(c);
}

static void
fail_errno(struct net_conn *c, const char *what)
{
	enum err e = errno == ECONNREFUSED || errno == EHOSTUNREACH ||
	    errno == ENETUNREACH || errno == ETIMEDOUT ? ERR_UNREACHED
	    : errno == ECONNRESET || errno == EPIPE ? ERR_CLOSED : ERR_IO;

	(void)why_errno(&c->why, e, "%s", what);
	die(c);
}

static void
bury(struct net *net)
{
	while (!list_empty(&net->dead)) {
		struct net_conn *c = LIST_POP(&net->dead, struct net_conn,
		    node);
		net->conns_n--;
		net->accepted_n -= c->accepted;
		if (c->on->on_closed != NULL)
			c->on->on_closed(c, &c->why);
		buf_free(&c->out);
		mem_free(&c->name);
		mem_free(&c);
	}
}

static void sweep(struct timer *);

static void
start_sweeping(struct net *net)
{
	if (net->sweeping)
		return;
	net->sweeping = true;
	loop_timer_set(net->loop, &net->sweep,
	    mono_add_ms(loop_now(net->loop), SWEEP_MS));
}

static struct net_conn *
conn_new(struct net *net, int fd, void (*ready)(struct watch *, unsigned))
{
	struct net_conn *c = mem_new(sizeof(*c));
	int one = 1, unsent = (int)net->limits.kernel_bytes_max;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
	    sizeof(unsent));
	c->watch = (struct watch){ fd, ready };
	c->net = net;
	c->on = &no_events;
	c->read_wants = LOOP_READ;
	c->write_wants = LOOP_WRITE;
	c->until = MONO_NEVER;
	c->stall_ms = net->limits.stall_ms;
	c->why = WHY_INIT;
	list_init(&c->turn);
	list_init(&c->node);
	list_put(&net->conns, &c->node);
	net->conns_n++;
	start_sweeping(net);
	return c;
}

/* ---- Reading ------------------------------------------------------------ */

static enum net_io
read_some(struct net_conn *c, size_t *n)
{
	struct net *net = c->net;

	if (c->ssl != NULL)
		return net_tls_read(c->ssl, net->in, READ_BYTES, n,
		    &c->read_wants, &c->why);
	ssize_t got = recv(c->watch.fd, net->in, READ_BYTES, 0);
	*n = got > 0 ? (size_t)got : 0;
	if (got > 0)
		return NET_DONE;
	if (got == 0)
		return NET_END;
	if (errno == EAGAIN || errno == EINTR)
		return NET_AGAIN;
	(void)why_errno(&c->why, errno == ECONNRESET ? ERR_CLOSED : ERR_IO,
	    "reading");
	return NET_FAILED;
}

static bool
has_decrypted(const struct net_conn *c)
{
	return c->state == OPEN && !c->held && !c->ended &&
	    c->ssl != NULL && SSL_pending(c->ssl) > 0;
}

/* The peer's end: it is kept for what we have to say. */
static bool
is_kept(struct net_conn *c)
{
	c->ended = c->state == CLOSING || (c->state == OPEN &&
	    c->on->on_end != NULL && c->on->on_end(c));
	return c->ended;
}

static void
receive(struct net_conn *c)
{
	struct net *net = c->net;
	size_t n = 0;

	for (int i = 0; i < READS_PER_TURN && !c->ended && ((c->state == OPEN &&
	    !c->held) || c->state == CLOSING || c->state == LINGERING); i++) {
		c->read_wants = LOOP_READ;
		enum net_io got = read_some(c, &n);
		if (got == NET_AGAIN || (got == NET_END && is_kept(c)))
			return;
		if (got != NET_DONE) {
			/* We have said our end: how it goes is all one. */
			if (c->state == LINGERING)
				c->why = WHY_INIT;
			die(c);
			return;
		}
		if (c->state == OPEN && c->on->on_bytes != NULL)
			c->on->on_bytes(c, (struct str){ net->in, n });
		/* Requests bring tokens and passwords. */
		explicit_bzero(net->in, n);
		/* A short read of a plain socket has emptied it. */
		if (c->ssl == NULL && n < READ_BYTES)
			return;
	}
	/* Bytes that TLS has decrypted already cause no event. */
	if (has_decrypted(c))
		put_todo(c);
}

/* ---- Writing ------------------------------------------------------------ */

static enum net_io
write_some(struct net_conn *c, size_t *n)
{
	const char *p = c->out.p + c->out_at;
	size_t rest = c->out.n - c->out_at;

	c->write_wants = LOOP_WRITE;
	if (c->ssl != NULL)
		return net_tls_write(c->ssl, p, rest, n, &c->write_wants,
		    &c->why);
	ssize_t got = send(c->watch.fd, p, rest, MSG_NOSIGNAL);
	*n = got > 0 ? (size_t)got : 0;
	if (got >= 0)
		return NET_DONE;
	if (errno == EAGAIN || errno == EINTR)
		return NET_AGAIN;
	(void)why_errno(&c->why, ERR_CLOSED, "writing");
	return NET_FAILED;
}

/* The peer has so long to take something. */
static void
give_time(struct net_conn *c)
{
	c->until = mono_add_ms(loop_now(c->net->loop), c->stall_ms);
}

/* All is sent: the memory goes to whoever writes next. */
static void
put_spare(struct net *net, struct buf *b)
{
	buf_clear(b);
	if (b->cap > SPARE_BYTES_MAX || b->cap <= net->spare.cap) {
		buf_free(b);
		return;
	}
	buf_free(&net->spare);
	net->spare = *b;
	*b = BUF_INIT;
}

static void
take_spare(struct net_conn *c)
{
	if (c->out.cap > 0)
		return;
	c->out = c->net->spare;
	c->net->spare = BUF_INIT;
}

static void
flush(struct net_conn *c)
{
	size_t n;

	while (c->out_at < c->out.n) {
		enum net_io got = write_some(c, &n);
		if (got == NET_AGAIN) {
			/* It may have yielded to others, with nothing left. */
			if (!c->blocked || c->until.ns == MONO_NEVER.ns)
				give_time(c);
			c->blocked = true;
			return;
		}
		if (got != NET_DONE) {
			die(c);
			return;
		}
		c->out_at += n;
		c->net->sent += n;
		if (c->blocked)
			give_time(c);
	}
	c->blocked = false;
	c->until = MONO_NEVER;
	c->out_at = 0;
	put_spare(c->net, &c->out);
}

/* Our end is sent; what the peer still sends is thrown away until its end. */
static void
linger(struct net_conn *c)
{
	c->state = LINGERING;
	c->until = mono_add_ms(loop_now(c->net->loop),
	    c->net->limits.linger_ms);
	if (c->ssl != NULL)
		SSL_shutdown(c->ssl);
	shutdown(c->watch.fd, SHUT_WR);
	if (c->ended)
		die(c);
}

/* Ask for bytes and write them, until there are none or the socket is full. */
static void
pump(struct net_conn *c)
{
	bool more = true;

	/* It may have more to do than to write. */
	if (c->state == OPEN && c->blocked && c->on->on_turn != NULL)
		c->on->on_turn(c);
	for (int i = 0; more && c->state == OPEN && !c->blocked; i++) {
		size_t before = c->out.n;
		/* Others want their turn: the socket tells when to go on. */
		if (i == WRITES_PER_TURN) {
			c->blocked = true;
			return;
		}
		take_spare(c);
		if (c->on->on_turn != NULL)
			c->on->on_turn(c);
		/* Who found little room wants to hear that there is more. */
		more = c->out.n > before || net_room(c) <
		    (size_t)c->net->limits.out_bytes_max / 2;
		if (c->state == OPEN || c->state == CLOSING)
			flush(c);
	}
	if (c->state == CLOSING && !c->blocked)
		flush(c);
	if (c->state == CLOSING && !c->blocked)
		linger(c);
}

/* ---- Events ------------------------------------------------------------- */

static void
opened(struct net_conn *c)
{
	c->state = OPEN;
	c->until = MONO_NEVER;
	if (!c->accepted && c->on->on_open != NULL)
		c->on->on_open(c);
	put_todo(c);
}

static void
shake(struct net_conn *c)
{
	unsigned wants = LOOP_READ;

	switch (net_tls_handshake(c->ssl, &wants, &c->why)) {
	case NET_DONE:
		c->read_wants = LOOP_READ;
		c->h2 = net_tls_h2(c->ssl);
		opened(c);
		break;
	case NET_AGAIN:
		c->read_wants = wants;
		break;
	case NET_END:
		fail(c, ERR_CLOSED, "closed during the TLS handshake");
		break;
	case NET_FAILED:
		die(c);
		break;
	}
}

static void
begin(struct net_conn *c)
{
	if (c->tls == NULL) {
		opened(c);
		return;
	}
	c->ssl = net_tls_open(c->tls, c->watch.fd, c->name, &c->why);
	c->tls = NULL;
	if (c->ssl == NULL) {
		die(c);
		return;
	}
	c->state = HANDSHAKE;
	c->until = mono_add_ms(loop_now(c->net->loop),
	    c->net->limits.handshake_ms);
	shake(c);
}

static void
connected(struct net_conn *c)
{
	int error = 0;
	socklen_t n = sizeof(error);

	getsockopt(c->watch.fd, SOL_SOCKET, SO_ERROR, &error, &n);
	if (error != 0) {
		errno = error;
		fail_errno(c, "connecting");
		return;
	}
	begin(c);
}

static void
conn_ready(struct watch *w, unsigned events)
{
	struct net_conn *c = CONTAINER(w, struct net_conn, watch);

	if (c->state == CONNECTING) {
		connected(c);
	} else if (c->state == HANDSHAKE) {
		shake(c);
	} else {
		if (c->blocked && (events & (c->write_wants | LOOP_ERROR))) {
			flush(c);
			if (!c->blocked && c->state != DEAD)
				put_todo(c);
		}
		/* Held or not, a lost connection is to be noticed. */
		if ((events & LOOP_ERROR) && (c->held || c->ended))
			fail(c, ERR_CLOSED, "the other side broke off");
		else if (events & (c->read_wants | LOOP_ERROR))
			receive(c);
	}
	set_watch(c);
}

/* The end of a turn: what was asked for, and the dead. */
static void
end_turn(struct turn_hook *h)
{
	struct net *net = CONTAINER(h, struct net, hook);

	while (!list_empty(&net->todo))
		step(LIST_POP(&net->todo, struct net_conn, turn));
	if (!list_empty(&net->dead)) {
		bury(net);
		accept_again(net);
	}
	if (list_empty(&net->todo))
		loop_timer_stop(net->loop, &net->kick);
}

static void
step(struct net_conn *c)
{
	if (has_decrypted(c))
		receive(c);
	pump(c);
	set_watch(c);
}

static void
sweep_one(struct net_conn *c, struct mono now)
{
	static const char *const texts[] = { "no connection in time",
	    "no TLS handshake in time", "the other side reads nothing",
	    "the other side reads nothing" };

	if (now.ns < c->until.ns || c->state == DEAD)
		return;
	if (c->state == LINGERING) {
		die(c);
	} else if (c->state == OPEN && c->stalled != NULL) {
		give_time(c);
		c->stalled(c);
	} else {
		fail(c, ERR_TIMEOUT, texts[c->state]);
	}
}

static void
sweep(struct timer *t)
{
	struct net *net = CONTAINER(t, struct net, sweep);
	struct mono now = loop_now(net->loop);
	struct list *next;

	for (struct list *n = net->conns.next; n != &net->conns; n = next) {
		next = n->next;
		sweep_one(LIST_ITEM(n, struct net_conn, node), now);
	}
	/* Also after a time without descriptors to accept with. */
	accept_again(net);
	net->sweeping = false;
	if (net->conns_n > 0)
		start_sweeping(net);
}

/* ---- Listening ---------------------------------------------------------- */

static void
watch_listener(struct net_listener *l, bool on)
{
	if (l->watched == on)
		return;
	l->watched = on;
	loop_watch(l->net->loop, &l->watch, on ? LOOP_READ : 0);
}

static void
accept_again(struct net *net)
{
	if (net->accepted_n >= (size_t)net->limits.connections_max)
		return;
	LIST_EACH(l, &net->listeners, struct net_listener, node)
		watch_listener(l, true);
}

static void
accepted(struct net_listener *l, int fd, const union address *from)
{
	struct net_conn *c = conn_new(l->net, fd, conn_ready);

	c->accepted = true;
	c->net->accepted_n++;
	peer_text(from, c->peer);
	c->tls = l->tls;
	c->state = HANDSHAKE;
	l->accepted(c, l->arg);
	if (c->state == HANDSHAKE)
		begin(c);
	set_watch(c);
}

static void
listener_ready(struct watch *w, unsigned events)
{
	struct net_listener *l = CONTAINER(w, struct net_listener, watch);
	struct net *net = l->net;
	union address from;

	(void)events;
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		socklen_t n = sizeof(from);
		if (net->accepted_n >= (size_t)net->limits.connections_max) {
			watch_listener(l, false);
			start_sweeping(net);
			return;
		}
		int fd = accept4(w->fd, &from.any, &n,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			accepted(l, fd, &from);
		} else if (errno == EMFILE || errno == ENFILE ||
		    errno == ENOBUFS || errno == ENOMEM) {
			watch_listener(l, false);
			start_sweeping(net);
			return;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			return;
		}
	}
}

static int
listening_socket(const union address *a, socklen_t n, struct why *w)
{
	int one = 1, fd = socket(a->any.sa_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char text[PEER_TEXT_MAX];

	peer_text(a, text);
	if (fd < 0)
		goto failed;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (a->any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, &a->any, n) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
failed:
	(void)why_errno(w, errno == EADDRINUSE ? ERR_BUSY :
	    errno == EADDRNOTAVAIL ? ERR_CONFIG : ERR_IO,
	    "listening at %s", text);
	if (fd >= 0)
		close(fd);
	return -1;
}

enum err
net_listen(struct net *net, const char *address, uint16_t port,
    struct net_tls *tls, void (*taker)(struct net_conn *, void *arg),
    void *arg, struct net_listener **out, struct why *w)
{
	union address a;
	struct ip ip;
	socklen_t n = 0;
	struct why own = WHY_INIT;
	enum err e = address_of(address, port, &a, &n, w);

	if (e != OK)
		return e;
	int fd = listening_socket(&a, n, &own);
	if (fd < 0)
		return why(w, own.err, "%s", own.text);
	CHECK(getsockname(fd, &a.any, &n) == 0);
	struct net_listener *l = mem_new(sizeof(*l));
	l->watch = (struct watch){ fd, listener_ready };
	l->net = net;
	l->tls = tls;
	l->accepted = taker;
	l->arg = arg;
	CHECK(ip_from_socket(&a, &ip, &l->port));
	list_put(&net->listeners, &l->node);
	watch_listener(l, true);
	*out = l;
	return OK;
}

uint16_t
net_port(const struct net_listener *l)
{
	return l->port;
}

/* Its memory stays until net_free(): an event may be under way. */
void
net_unlisten(struct net_listener **lp)
{
	struct net_listener *l = *lp;

	if (l == NULL)
		return;
	*lp = NULL;
	watch_listener(l, false);
	close(l->watch.fd);
	l->watch.fd = -1;
	list_take(&l->node);
	l->watched = true;
	list_put(l->net->listeners.next, &l->node);
}

/* ---- What the owner calls ----------------------------------------------- */

struct net *
net_new(struct loop *loop, const struct net_limits *limits)
{
	struct net *net = mem_new(sizeof(*net));

	net->loop = loop;
	net->limits = *limits;
	net->in = mem_array(READ_BYTES, 1);
	net->sweep.fire = sweep;
	net->kick.fire = kicked;
	net->hook.run = end_turn;
	list_init(&net->conns);
	list_init(&net->todo);
	list_init(&net->dead);
	list_init(&net->listeners);
	loop_hook(loop, &net->hook);
	return net;
}

void
net_free(struct net **np)
{
	struct net *net = *np;

	if (net == NULL)
		return;
	while (!list_empty(&net->conns))
		fail(LIST_ITEM(net->conns.next, struct net_conn, node),
		    ERR_CLOSED, "the program ends");
	bury(net);
	while (!list_empty(&net->listeners)) {
		struct net_listener *l = LIST_ITEM(net->listeners.next,
		    struct net_listener, node);
		if (l->watch.fd >= 0)
			close(l->watch.fd);
		list_take(&l->node);
		mem_free(&l);
	}
	loop_timer_stop(net->loop, &net->sweep);
	loop_timer_stop(net->loop, &net->kick);
	list_take(&net->hook.node);
	mem_free(&net->in);
	buf_free(&net->spare);
	mem_free(np);
}

size_t
net_connections(const struct net *net)
{
	return net->conns_n;
}

uint64_t
net_bytes_sent(const struct net *net)
{
	return net->sent;
}

void
net_take(struct net_conn *c, const struct net_events *on, void *arg)
{
	c->on = on;
	c->arg = arg;
}

enum err
net_connect(struct net *net, const struct net_target *t,
    const struct net_events *on, void *arg, struct net_conn **out,
    struct why *w)
{
	union address a;
	socklen_t n = 0;
	enum err e = address_of(t->address, t->port, &a, &n, w);

	if (e != OK)
		return e;
	int fd = socket(a.any.sa_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return why_errno(w, ERR_IO, "a socket");
	struct net_conn *c = conn_new(net, fd, conn_ready);
	net_take(c, on, arg);
	peer_text(&a, c->peer);
	c->tls = t->tls;
	c->name = mem_copy_text(t->name != NULL ? t->name : t->address);
	c->until = mono_add_ms(loop_now(net->loop), t->timeout_ms);
	c->state = CONNECTING;
	*out = c;
	if (connect(fd, &a.any, n) != 0 && errno != EINPROGRESS) {
		fail_errno(c, "connecting");
		return OK;
	}
	set_watch(c);
	return OK;
}

void *
net_arg(const struct net_conn *c)
{
	return c->arg;
}

struct loop *
net_loop(const struct net_conn *c)
{
	return c->net->loop;
}

const char *
net_peer(const struct net_conn *c)
{
	return c->peer;
}

bool
net_speaks_h2(const struct net_conn *c)
{
	return c->h2;
}

void
net_wake(struct net_conn *c)
{
	if (c->state != DEAD && list_empty(&c->turn))
		put_todo(c);
}

struct buf *
net_out(struct net_conn *c)
{
	return &c->out;
}

size_t
net_room(const struct net_conn *c)
{
	size_t waits = c->out.n - c->out_at;
	size_t max = (size_t)c->net->limits.out_bytes_max;

	return waits < max ? max - waits : 0;
}

size_t
net_waiting(const struct net_conn *c)
{
	return c->out.n - c->out_at;
}

bool
net_blocked(const struct net_conn *c)
{
	return c->blocked;
}

void
net_hold(struct net_conn *c, bool hold)
{
	if (c->held == hold)
		return;
	c->held = hold;
	if (has_decrypted(c))
		put_todo(c);
	set_watch(c);
}

void
net_set_stall(struct net_conn *c, int64_t ms,
    void (*stalled)(struct net_conn *))
{
	c->stall_ms = ms;
	c->stalled = stalled;
	if (c->blocked)
		give_time(c);
}

int64_t
net_stalled_ms(const struct net_conn *c)
{
	struct mono now = loop_now(c->net->loop);

	if (!c->blocked || c->until.ns == MONO_NEVER.ns)
		return 0;
	return c->stall_ms - mono_ns_between(now, c->until) / NS_PER_MS;
}

int64_t
net_silent_ms(const struct net_conn *c)
{
	struct tcp_info t;
	socklen_t n = sizeof(t);

	if (getsockopt(c->watch.fd, IPPROTO_TCP, TCP_INFO, &t, &n) != 0)
		return 0;
	return t.tcpi_unacked == 0 ? 0 : t.tcpi_last_ack_recv;
}

void
net_close(struct net_conn *c)
{
	if (c->state == OPEN) {
		c->state = CLOSING;
		put_todo(c);
	} else if (c->state == CONNECTING || c->state == HANDSHAKE) {
		die(c);
	}
}

void
net_abort(struct net_conn *c, enum err e, const char *text)
{
	if (c->state != DEAD)
		fail(c, e, text);
}
