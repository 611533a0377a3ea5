/*
 * The door's life: the listener, connections, who may call, and the end.
 */
#include "doors/urlfrontier/engine.h"
#include "doors/urlfrontier/forward.h"
#include "os/log.h"
#include "wire/urlfrontier/schema.h"

/* What is under way may take so long to end by itself; then it is ended. */
#define DRAIN_MS 5000
/* ... and so long until its last word has left. */
#define CUT_MS 1500
/* Without calls: clients that are idle may not hear that they should leave. */
#define IDLE_MS 500

#define SERVICE_PATH "/" URLFRONTIER_SERVICE "/"
#define SHUTTING_DOWN "the server is shutting down"

static const struct {
	const char *path;
	enum grpc_kind kind;
	const struct grpc_events *on;
	bool writes;
} table[RPC_COUNT] = {
#define RPC_ROW(id, name, kind, events, writes)                              \
	{ SERVICE_PATH name, GRPC_##kind, &urlfrontier_##events, writes },
	URLFRONTIER_RPCS(RPC_ROW)
#undef RPC_ROW
};

/* ---- Connections --------------------------------------------------------- */

static void
closed(struct grpc_port *p)
{
	struct log_text quoted;

	if (p->why.err != OK)
		log_debug("urlfrontier.closed", "why=%s",
		    log_quote(&quoted, str_of(p->why.text)));
}

static void
accepted(struct net_conn *c, void *arg)
{
	struct urlfrontier *d = arg;
	struct grpc_port *p = grpc_port_accept(c, d->server, closed);

	list_put(&d->ports, &p->node);
}

/* ---- Who may, and whether now -------------------------------------------- */

/* Whether the caller is a node of this cluster, by the shared secret. */
static bool
is_peer(const struct urlfrontier *d, const struct grpc_call *c)
{
	return d->cluster != NULL && cluster_token_is_peers(d->cluster,
	    token_of_header(grpc_metadata(c, STR("authorization"))));
}

static bool
token_is_wanted(const struct urlfrontier *d)
{
	return d->token_rule == TOKEN_REQUIRED ||
	    (d->token_rule == TOKEN_AUTO &&
	    token_wanted(d->tokens, TOKEN_DOOR_URLFRONTIER));
}

/* Ours, or reflection's, which reads. */
static enum token_access
access_of(const struct grpc_call *c)
{
	const struct door_method *m = grpc_arg(c);

	return str_starts(grpc_path(c), STR(SERVICE_PATH)) && m->writes ?
	    TOKEN_WRITE : TOKEN_READ;
}

/* False: it has been told why not. */
static bool
has_token(const struct urlfrontier *d, struct grpc_call *c)
{
	const struct grpc_port *p = grpc_session_arg(grpc_call_session(c));
	struct token_pass pass = { .id = 0 };

	if (!token_is_wanted(d) || is_peer(d, c))
		return true;
	enum token_answer a = token_check(d->tokens, token_of_header(
	    grpc_metadata(c, STR("authorization"))), TOKEN_DOOR_URLFRONTIER,
	    access_of(c), str_of(net_peer(p->conn)), &pass);
	if (a != TOKEN_FINE)
		grpc_finish(c, a == TOKEN_SCOPE ? GRPC_PERMISSION_DENIED :
		    GRPC_UNAUTHENTICATED, token_answer_text(a));
	grpc_set_data(c, (void *)(uintptr_t)pass.id);
	return a == TOKEN_FINE;
}

/* ---- Calls that wait for the frontier ------------------------------------ */

struct held_call {
	struct list node;                /* in urlfrontier.held */
	struct urlfrontier *door;
	struct grpc_call *call;
};

static void
let_go(struct held_call *h)
{
	list_take(&h->node);
	meter_held(--h->door->held_n);
	mem_free(&h);
}

/* Its deadline is over, or the client has left. */
static void
held_ended(struct grpc_call *c, enum grpc_code code, struct str text)
{
	(void)code, (void)text;
	let_go(grpc_data(c));
}

static const struct grpc_events held_events = { .on_end = held_ended };

static void
hold(struct urlfrontier *d, struct grpc_call *c)
{
	char text[120];

	if (d->held_n >= d->held_max) {
		snprintf(text, sizeof(text), "the server is starting, and %u "
		    "calls wait already (urlfrontier.start_calls_max)",
		    d->held_n);
		meter_count(METER_START_REFUSED, 1);
		grpc_finish(c, GRPC_UNAVAILABLE, text);
		return;
	}
	struct held_call *h = mem_new(sizeof(*h));
	h->door = d;
	h->call = c;
	list_put(&d->held, &h->node);
	meter_held(++d->held_n);
	grpc_set_data(c, h);
	grpc_hold(c, &held_events);
}

static void
admit_held(struct urlfrontier *d)
{
	while (!list_empty(&d->held)) {
		struct held_call *h = LIST_ITEM(d->held.next,
		    struct held_call, node);
		struct grpc_call *c = h->call;
		let_go(h);
		grpc_set_data(c, NULL);
		grpc_admit(c);
	}
}

/* A stranger does not take the place of one who may. */
static void
gate(struct grpc_call *c, void *arg)
{
	struct urlfrontier *d = arg;

	if (d->tokens != NULL && !has_token(d, c))
		return;
	if (d->frontier == NULL)
		hold(d, c);
	else if (d->draining)
		grpc_finish(c, GRPC_UNAVAILABLE, SHUTTING_DOWN);
}

/* End a long call that writes when its token has been revoked. */
static void
check_token(struct door_call *k)
{
	if ((k->rpc == RPC_PUT_URLS || k->rpc == RPC_PUT_DISCOVERED) &&
	    k->token != 0 && !token_holds(k->door->tokens, k->token,
	    TOKEN_DOOR_URLFRONTIER, TOKEN_WRITE))
		put_close(k, GRPC_UNAUTHENTICATED, "the token was revoked");
}

static void
set_health(struct urlfrontier *d, enum health_status s)
{
	health_set(d->health, "", s);
	health_set(d->health, URLFRONTIER_SERVICE, s);
}

/* ---- Turns, and the end -------------------------------------------------- */

static void
deliver_drained(struct mail *m)
{
	struct urlfrontier *d = CONTAINER(m, struct urlfrontier,
	    drained_mail);

	d->drained(d->drained_arg);
}

/* Calls that last longer are cut. */
static void
cut(struct urlfrontier *d, int64_t ms)
{
	d->cut = true;
	loop_timer_set(d->loop, &d->drain_timer,
	    mono_add_ms(loop_now(d->loop), ms));
}

static void
end_of_turn(struct turn_hook *h)
{
	struct urlfrontier *d = CONTAINER(h, struct urlfrontier, hook);

	put_turn(d);
	get_turn(d);
	if (!d->draining || d->told || d->looking || !list_empty(&d->calls))
		return;
	/* No call waits for other nodes now. */
	cluster_close(d->cluster);
	if (!list_empty(&d->ports)) {
		/* Only connections are left, and who watches the health. */
		if (!d->cut)
			cut(d, IDLE_MS);
		return;
	}
	d->told = true;
	loop_timer_stop(d->loop, &d->drain_timer);
	loop_send(d->home, &d->drained_mail, deliver_drained);
}

static void
each_call(struct urlfrontier *d, void (*visit)(struct door_call *))
{
	struct list *next;

	for (struct list *n = d->calls.next; n != &d->calls; n = next) {
		next = n->next;
		visit(LIST_ITEM(n, struct door_call, node));
	}
}

void
urlfrontier_check_tokens(struct urlfrontier *d)
{
	each_call(d, check_token);
}

static void
drain_call(struct door_call *k)
{
	if (k->rpc == RPC_PUT_URLS || k->rpc == RPC_PUT_DISCOVERED)
		put_close(k, GRPC_UNAVAILABLE, SHUTTING_DOWN);
}

static void
cut_call(struct door_call *k)
{
	switch (k->rpc) {
	case RPC_GET_URLS:
		get_cut(k);
		break;
	case RPC_LIST_URLS:
	case RPC_LIST_QUEUES:
	case RPC_COUNT_URLS:
	case RPC_PURGE_URLS:
		list_cut(k);
		break;
	default:
		break;
	}
}

static void
drain_over(struct timer *t)
{
	struct urlfrontier *d = CONTAINER(t, struct urlfrontier, drain_timer);

	if (d->cut) {
		LIST_EACH(p, &d->ports, struct grpc_port, node)
			net_abort(p->conn, ERR_CLOSED, SHUTTING_DOWN);
		return;
	}
	/* Calls that wait for other nodes are told at the end of this turn. */
	cluster_close(d->cluster);
	each_call(d, cut_call);
	cut(d, CUT_MS);
}

static void
deliver_drain(struct mail *m)
{
	struct urlfrontier *d = CONTAINER(m, struct urlfrontier, drain_mail);
	struct mono now = loop_now(d->loop);

	d->draining = true;
	net_unlisten(&d->listener);
	set_health(d, HEALTH_NOT_SERVING);
	meter_stop(d);
	each_call(d, drain_call);
	LIST_EACH(p, &d->ports, struct grpc_port, node)
		grpc_drain(p->session, now);
	d->drain_timer.fire = drain_over;
	loop_timer_set(d->loop, &d->drain_timer, mono_add_ms(now, DRAIN_MS));
}

void
urlfrontier_drain(struct urlfrontier *d, void (*drained)(void *), void *arg)
{
	d->drained = drained;
	d->drained_arg = arg;
	loop_send(d->loop, &d->drain_mail, deliver_drain);
}

/* ---- The beginning ------------------------------------------------------- */

static void
deliver_ready(struct mail *m)
{
	struct urlfrontier *d = CONTAINER(m, struct urlfrontier, ready_mail);

	d->frontier = d->coming;
	d->tokens = d->coming_tokens;
	set_health(d, HEALTH_SERVING);
	meter_start(d);
	admit_held(d);
}

void
urlfrontier_ready(struct urlfrontier *d, struct frontier *f,
    struct token_set *tokens)
{
	d->coming = f;
	d->coming_tokens = tokens;
	loop_send(d->loop, &d->ready_mail, deliver_ready);
}

const char *
urlfrontier_address(const struct urlfrontier *d)
{
	return d->address;
}

static bool
is_loopback(const char *host)
{
	return str_starts(str_of(host), STR("127.")) ||
	    strcmp(host, "::1") == 0;
}

static enum err
check_exposure(const struct conf *c, const char *host, struct why *w)
{
	bool tls = conf_str(c, CONF_URLFRONTIER_TLS_CERT).n > 0;
	bool token = conf_choice(c, CONF_URLFRONTIER_TOKEN) == TOKEN_REQUIRED;

	if (is_loopback(host) || conf_bool(c, CONF_URLFRONTIER_INSECURE) ||
	    (tls && token))
		return OK;
	return why(w, ERR_CONFIG, "urlfrontier.listen = %s (%s) is not "
	    "loopback: it wants %surlfrontier.token = required, or "
	    "urlfrontier.insecure = on",
	    conf_str(c, CONF_URLFRONTIER_LISTEN).p,
	    conf_place(c, CONF_URLFRONTIER_LISTEN),
	    tls ? "" : "urlfrontier.tls_cert, urlfrontier.tls_key and ");
}

static enum err
listen_at(struct urlfrontier *d, const struct conf *c, struct why *w)
{
	struct conf_address at = conf_address(c, CONF_URLFRONTIER_LISTEN);
	struct str cert = conf_str(c, CONF_URLFRONTIER_TLS_CERT);
	char host[64];
	enum err e;

	if (str_eq(at.host, STR("localhost")))
		at.host = STR("127.0.0.1");
	snprintf(host, sizeof(host), "%.*s", STR_FMT(at.host));
	e = check_exposure(c, host, w);
	if (e == OK && cert.n > 0)
		e = net_tls_server(cert.p,
		    conf_str(c, CONF_URLFRONTIER_TLS_KEY).p, &d->tls, w);
	if (e == OK)
		e = net_listen(d->net, host, at.port, d->tls, accepted, d,
		    &d->listener, w);
	if (e == OK)
		snprintf(d->address, sizeof(d->address),
		    strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u", host,
		    net_port(d->listener));
	return e;
}

/* Once it is known where it listens. */
static enum err
join(struct urlfrontier *d, const struct conf *c, struct why *w)
{
	struct str node = conf_str(c, CONF_URLFRONTIER_NODE);

	snprintf(d->node, sizeof(d->node), "%s", node.n > 0 ? node.p :
	    d->address);
	enum err e = cluster_open(c, d->loop, d->net, d->address, &d->cluster,
	    w);
	if (d->cluster != NULL)
		d->forward = forward_new(d);
	return e;
}

static void
make_server(struct urlfrontier *d)
{
	struct grpc_limits limits = GRPC_LIMITS_DEFAULT;

	/* What one node takes the next one takes too, a little longer. */
	if (d->cluster != NULL)
		limits.message_bytes_max += FORWARD_MORE_BYTES;
	d->server = grpc_server_new(&limits);
	for (size_t i = 0; i < RPC_COUNT; i++) {
		d->args[i] = (struct door_method){ d,
		    (enum urlfrontier_rpc)i, table[i].writes };
		d->methods[i] = (struct grpc_method){ table[i].path,
		    table[i].kind, *table[i].on, &d->args[i], false };
	}
	grpc_server_add(d->server, d->methods, RPC_COUNT);
	grpc_server_gate(d->server, gate, d);
	d->health = health_new(d->server);
	set_health(d, HEALTH_NOT_SERVING);
}

static enum err
describe(struct urlfrontier *d, struct why *w)
{
	d->reflection = reflection_new(d->server);
	return reflection_add(d->reflection, urlfrontier_schema(), w);
}

static void
free_all(struct urlfrontier *d)
{
	cluster_close(d->cluster);
	net_free(&d->net);
	forward_free(&d->forward);
	cluster_free(&d->cluster);
	CHECK(list_empty(&d->calls));
	put_free_spare(d);
	net_tls_free(&d->tls);
	grpc_server_free(&d->server);
	health_free(&d->health);
	reflection_free(&d->reflection);
	loop_free(&d->loop);
	mem_free(&d);
}

enum err
urlfrontier_open(const struct door_host *o, struct urlfrontier **out,
    struct why *w)
{
	struct net_limits limits = NET_LIMITS_DEFAULT;
	const struct conf *c = o->conf;
	struct urlfrontier *d;
	enum err e;

	*out = NULL;
	if (conf_address(c, CONF_URLFRONTIER_LISTEN).host.n == 0)
		return OK;
	d = mem_new(sizeof(*d));
	d->home = o->home;
	d->tokens = o->tokens;
	d->held_max =
	    (unsigned)conf_int(c, CONF_URLFRONTIER_START_CALLS_MAX);
	list_init(&d->held);
	d->put_inflight_max =
	    (uint64_t)conf_int(c, CONF_URLFRONTIER_PUT_INFLIGHT_MAX);
	d->batch_inflight_max =
	    (uint64_t)conf_int(c, CONF_URLFRONTIER_BATCH_INFLIGHT_MAX);
	d->token_rule = conf_choice(c, CONF_URLFRONTIER_TOKEN);
	d->put_bytes_max = conf_size(c, CONF_URLFRONTIER_PUT_MEM);
	list_init(&d->ports);
	list_init(&d->calls);
	list_init(&d->filling);
	list_init(&d->paused);
	list_init(&d->spare);
	list_init(&d->leaving);
	meter_register();
	d->loop = loop_new("urlfrontier");
	d->net = net_new(d->loop, &limits);
	/* Behind the net's own: what has left, it says by then. */
	d->hook.run = end_of_turn;
	loop_hook(d->loop, &d->hook);
	e = listen_at(d, c, w);
	if (e == OK)
		e = join(d, c, w);
	if (e == OK)
		e = engine_crawls_open(d, c, w);
	if (e == OK)
		make_server(d);
	if (e == OK && conf_bool(c, CONF_URLFRONTIER_REFLECTION))
		e = describe(d, w);
	if (e != OK) {
		free_all(d);
		return e;
	}
	loop_start(d->loop);
	*out = d;
	return OK;
}

enum err
urlfrontier_reload(struct urlfrontier *d, struct why *w)
{
	return d->tls == NULL ? OK : net_tls_reload(d->tls, w);
}

void
urlfrontier_free(struct urlfrontier **dp)
{
	struct urlfrontier *d = *dp;

	*dp = NULL;
	if (d == NULL)
		return;
	loop_stop(d->loop);
	loop_join(d->loop);
	free_all(d);
}
