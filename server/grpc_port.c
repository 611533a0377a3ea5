#include "server/grpc_port.h"

static struct mono
now(const struct grpc_port *p)
{
	return loop_now(net_loop(p->conn));
}

static void
set_timer(struct grpc_port *p)
{
	struct mono due = grpc_due(p->session);

	if (due.ns == MONO_NEVER.ns)
		loop_timer_stop(net_loop(p->conn), &p->timer);
	else if (due.ns != p->timer.node.key || !heap_holds(&p->timer.node))
		loop_timer_set(net_loop(p->conn), &p->timer, due);
}

/* Before it is open there are no turns, but calls have their deadlines. */
static void
wake(void *arg)
{
	struct grpc_port *p = arg;

	if (p->conn == NULL)
		return;
	if (!p->open)
		set_timer(p);
	net_wake(p->conn);
}

static void
tick(struct timer *t)
{
	struct grpc_port *p = CONTAINER(t, struct grpc_port, timer);

	if (grpc_tick(p->session, now(p), &p->why) != OK)
		net_abort(p->conn, p->why.err, p->why.text);
	else if (!p->open)
		set_timer(p);
	net_wake(p->conn);
}

static void
on_open(struct net_conn *c)
{
	struct grpc_port *p = net_arg(c);

	p->open = true;
	if (p->opened != NULL)
		p->opened(p);
}

static void
on_bytes(struct net_conn *c, struct str bytes)
{
	struct grpc_port *p = net_arg(c);

	if (!p->over && grpc_recv(p->session, bytes, now(p), &p->why) != OK)
		p->over = p->failed = true;
	net_wake(c);
}

static void
on_turn(struct net_conn *c)
{
	struct grpc_port *p = net_arg(c);

	grpc_fill(p->session, net_out(c), net_room(c), now(p));
	if (p->over || grpc_is_done(p->session)) {
		net_close(c);
		return;
	}
	set_timer(p);
}

static void
on_closed(struct net_conn *c, const struct why *w)
{
	struct grpc_port *p = net_arg(c);

	if (p->why.err == OK)
		p->why = *w;
	loop_timer_stop(net_loop(c), &p->timer);
	grpc_session_free(&p->session);
	if (p->closed != NULL)
		p->closed(p);
	list_take(&p->node);
	mem_free(&p);
}

static const struct net_events events = { .on_open = on_open,
	.on_bytes = on_bytes, .on_turn = on_turn, .on_closed = on_closed };

static struct grpc_port *
port_new(void (*closed)(struct grpc_port *))
{
	struct grpc_port *p = mem_new(sizeof(*p));

	list_init(&p->node);
	p->timer.fire = tick;
	p->why = WHY_INIT;
	p->closed = closed;
	return p;
}

struct grpc_port *
grpc_port_accept(struct net_conn *c, const struct grpc_server *server,
    void (*closed)(struct grpc_port *))
{
	struct grpc_port *p = port_new(closed);
	struct grpc_owner owner = { wake, p };

	p->conn = c;
	p->open = true;
	p->session = grpc_session_server(server, owner, now(p));
	net_take(c, &events, p);
	return p;
}

struct grpc_limits
grpc_port_limits(void)
{
	struct grpc_limits limits = GRPC_LIMITS_DEFAULT;

	/* An answer may be longer than the request that brought it there. */
	limits.message_bytes_max *= 4;
	return limits;
}

struct grpc_port *
grpc_port_connect(struct net *net, struct loop *loop,
    const struct net_target *to, void (*closed)(struct grpc_port *),
    struct why *w)
{
	struct grpc_limits limits = grpc_port_limits();

	return grpc_port_connect_within(net, loop, to, &limits, closed, w);
}

struct grpc_port *
grpc_port_connect_within(struct net *net, struct loop *loop,
    const struct net_target *to, const struct grpc_limits *limits,
    void (*closed)(struct grpc_port *), struct why *w)
{
	struct grpc_port *p = port_new(closed);
	struct grpc_owner owner = { wake, p };
	const char *host = to->name != NULL ? to->name : to->address;
	char authority[300];

	if (net_connect(net, to, &events, p, &p->conn, w) != OK) {
		mem_free(&p);
		return NULL;
	}
	snprintf(authority, sizeof(authority), strchr(host, ':') == NULL ?
	    "%s:%u" : "[%s]:%u", host, to->port);
	p->session = grpc_session_client(limits, to->tls != NULL ? "https"
	    : "http", authority, owner, loop_now(loop));
	return p;
}
