#include "cli/remote.h"

#include "cli/format.h"
#include "os/file.h"
#include "os/resolve.h"

#define PORT_DEFAULT 7071
#define CONNECT_MS 10000
#define TOKEN_BYTES_MAX 4096
#define SERVICE "/urlfrontier.URLFrontier/"

/* ---- Options ------------------------------------------------------------- */

static enum err
read_token(struct remote *far, const char *path, struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	enum err e = file_load(path, TOKEN_BYTES_MAX, &b, w);
	struct str token = str_trim(buf_str(&b));

	if (e == OK && token.n == 0)
		e = why(w, ERR_CONFIG, "%s: holds no token", path);
	for (size_t i = 0; e == OK && i < token.n; i++)
		if (token.p[i] <= ' ' || token.p[i] > '~')
			e = why(w, ERR_CONFIG, "%s: a token is one word of "
			    "ASCII", path);
	if (e == OK)
		far->bearer = arena_printf(&far->cli->arena, "Bearer %.*s",
		    STR_FMT(token));
	return e;
}

static enum err
read_options(struct remote *far, struct why *w)
{
	struct cli *c = far->cli;
	const char *ca = cli_text(c, "ca", NULL);
	const char *token = cli_text(c, "token-file", NULL);

	far->host = cli_text(c, "host", "localhost");
	far->port = (uint16_t)cli_number(c, "port", PORT_DEFAULT);
	far->place = arena_printf(&c->arena, strchr(far->host, ':') == NULL ?
	    "%s:%u" : "[%s]:%u", far->host, far->port).p;
	if (ca != NULL && cli_count(c, "tls") == 0)
		return why(w, ERR_USAGE, "--ca is of use with --tls only");
	enum err e = token == NULL ? OK : read_token(far, token, w);
	if (e == OK && cli_count(c, "tls") > 0)
		e = net_tls_client(ca, &far->tls, w);
	return e;
}

/* ---- Connecting ---------------------------------------------------------- */

static void
opened(struct grpc_port *p)
{
	struct remote_link *l = p->owner;

	l->open = l->settled = true;
}

static void
closed(struct grpc_port *p)
{
	struct remote_link *l = p->owner;

	l->why = p->why;
	l->open = false;
	l->settled = true;
	l->port = NULL;
}

enum err
remote_connect(struct remote *far, struct remote_link **out, struct why *w)
{
	const struct net_target to = { .address = far->address,
	    .name = far->host, .port = far->port, .tls = far->tls,
	    .timeout_ms = CONNECT_MS };
	struct remote_link *l = *out = mem_new(sizeof(*l));

	l->remote = far;
	l->why = WHY_INIT;
	list_init(&l->node);
	list_put(&far->links, &l->node);
	l->port = grpc_port_connect(far->net, far->loop, &to, closed, w);
	if (l->port == NULL)
		return w->err;
	l->port->owner = l;
	l->port->opened = opened;
	loop_run_until(far->loop, &l->settled);
	if (l->open)
		return OK;
	return why(w, ERR_UNREACHED, "%s cannot be reached: %s", far->place,
	    l->why.text[0] != '\0' ? l->why.text : err_text(l->why.err));
}

static void
links_free(struct remote *far)
{
	while (!list_empty(&far->links)) {
		struct remote_link *l = LIST_POP(&far->links,
		    struct remote_link, node);
		mem_free(&l);
	}
}

/*
 * The first address that takes a connection; else the failure that tells most:
 * a bad certificate of one is not hidden by another where nobody listens.
 */
static enum err
try_addresses(struct remote *far, const struct resolve_query *q,
    struct why *w)
{
	struct why best = WHY_INIT;
	bool nobody = true;

	for (size_t i = 0; i < q->n; i++) {
		struct why now = WHY_INIT;
		char text[IP_TEXT_MAX];
		ip_to_text(&q->addresses[i], text);
		far->address = arena_copy(&far->cli->arena, str_of(text)).p;
		if (remote_connect(far, &far->first, &now) == OK)
			return OK;
		if (best.err == OK || nobody)
			best = now;
		nobody &= far->first->why.err == ERR_UNREACHED;
	}
	return why(w, best.err, "%s", best.text);
}

enum err
remote_open(struct cli *c, struct remote *far, struct why *w)
{
	const struct net_limits limits = NET_LIMITS_DEFAULT;
	struct resolve_query q;

	*far = (struct remote){ .cli = c };
	list_init(&far->links);
	enum err e = cli_log(&c->conf, true, w);
	if (e == OK)
		e = read_options(far, w);
	if (e != OK)
		return e;
	far->loop = loop_new("remote");
	far->net = net_new(far->loop, &limits);
	if (!resolve_now(far->loop, str_of(far->host), CONNECT_MS, &q))
		return why(w, ERR_UNREACHED, "%s cannot be resolved: %s",
		    far->host, q.error);
	return try_addresses(far, &q, w);
}

void
remote_close(struct remote *far)
{
	net_free(&far->net);
	links_free(far);
	net_tls_free(&far->tls);
	loop_free(&far->loop);
}

/* ---- Calls --------------------------------------------------------------- */

/* The error that a code other than OK stands for. */
static enum err
err_of(enum grpc_code code)
{
	static const enum err errs[] = {
		[GRPC_INVALID_ARGUMENT] = ERR_INPUT,
		[GRPC_NOT_FOUND] = ERR_ABSENT,
		[GRPC_UNAUTHENTICATED] = ERR_DENIED,
		[GRPC_PERMISSION_DENIED] = ERR_DENIED,
		[GRPC_RESOURCE_EXHAUSTED] = ERR_FULL,
		[GRPC_DEADLINE_EXCEEDED] = ERR_TIMEOUT,
		[GRPC_UNAVAILABLE] = ERR_UNREACHED,
		[GRPC_UNIMPLEMENTED] = ERR_STATE,
	};
	enum err e = (size_t)code < ARRAY_LEN(errs) ? errs[code] : OK;

	return e == OK ? ERR_IO : e;
}

const ProtobufCMethodDescriptor *
remote_method(const char *rpc)
{
	return protobuf_c_service_descriptor_get_method_by_name(
	    &urlfrontier__urlfrontier__descriptor, rpc);
}

/* "GetStats: NOT_FOUND: there is no such URL". */
static void
explain(struct remote_call *k, enum grpc_code code, struct str text)
{
	const struct grpc_port *p = k->link->port;

	if (code != GRPC_OK && p != NULL && p->why.err != OK)
		(void)why(&k->why, ERR_UNREACHED, "%s: the connection to %s "
		    "is lost: %s", k->rpc, k->link->remote->place,
		    p->why.text);
	else if (code != GRPC_OK)
		(void)why(&k->why, err_of(code), "%s: %s%s%s", k->rpc,
		    grpc_code_name(code), text.n > 0 ? ": " : "",
		    format_text(&k->arena, text, 300));
}

static void *
take(void *arena, size_t n)
{
	return arena_take(arena, n);
}

static void
give_back(void *arena, void *p)
{
	(void)arena;
	(void)p;
}

static void
on_message(struct grpc_call *c, struct str bytes)
{
	struct remote_call *k = grpc_arg(c);
	ProtobufCAllocator memory = { take, give_back, &k->arena };

	if (k->stopped)
		return;
	arena_reset(&k->arena);
	void *message = protobuf_c_message_unpack(remote_method(k->rpc)->output,
	    &memory, bytes.n, (const uint8_t *)bytes.p);
	if (message != NULL) {
		k->message(k, message);
		return;
	}
	(void)why(&k->why, ERR_IO, "%s: an answer that is none", k->rpc);
	remote_stop(k);
}

static void
on_writable(struct grpc_call *c)
{
	struct remote_call *k = grpc_arg(c);

	if (k->writable != NULL)
		k->writable(k);
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct remote_call *k = grpc_arg(c);

	k->call = NULL;
	explain(k, code, text);
	k->over = true;
	if (k->ended != NULL)
		k->ended(k);
}

static const struct grpc_events events = { .on_message = on_message,
	.on_writable = on_writable, .on_end = on_end };

enum err
remote_begin(struct remote_link *l, struct remote_call *k,
    struct why *w)
{
	const struct remote *far = l->remote;
	struct grpc_field fields[2];
	struct why own = WHY_INIT;
	char path[100];
	struct grpc_request r = { .path = path, .fields = fields,
	    .on = &events, .arg = k };

	snprintf(path, sizeof(path), SERVICE "%s", k->rpc);
	if (far->bearer.n > 0)
		fields[r.fields_n++] = (struct grpc_field){
		    STR("authorization"), far->bearer };
	if (k->field != NULL)
		fields[r.fields_n++] = *k->field;
	arena_reset(&k->arena);
	k->link = l;
	k->over = k->stopped = false;
	k->why = WHY_INIT;
	if (l->port == NULL)
		return why(w, ERR_UNREACHED, "%s: the connection to %s is "
		    "lost: %s", k->rpc, far->place, l->why.text);
	k->call = grpc_call_new(l->port->session, &r, loop_now(far->loop),
	    &own);
	if (k->call != NULL)
		return OK;
	return why(w, ERR_UNREACHED, "%s: %s: %s", k->rpc, far->place,
	    own.text);
}

enum grpc_room
remote_send(struct remote_call *k, const void *message)
{
	void *room;

	if (k->call == NULL)
		return GRPC_GONE;
	size_t n = protobuf_c_message_get_packed_size(message);
	enum grpc_room r = grpc_send_room(k->call, n, &room);
	if (r != GRPC_GONE)
		protobuf_c_message_pack(message, room);
	return r;
}

enum grpc_room
remote_send_packed(struct remote_call *k, struct str message)
{
	return k->call == NULL ? GRPC_GONE : grpc_send(k->call, message);
}

void
remote_half_close(struct remote_call *k)
{
	if (k->call != NULL)
		grpc_half_close(k->call);
}

void
remote_stop(struct remote_call *k)
{
	k->stopped = true;
	if (k->call != NULL)
		grpc_cancel(k->call);
}

void
remote_call_free(struct remote_call *k)
{
	CHECK(k->call == NULL);
	arena_free(&k->arena);
}

/* ---- One after the other ------------------------------------------------- */

struct each {
	bool (*each)(void *arg, const void *message);
	void *arg;
	bool enough;
};

static void
each_message(struct remote_call *k, const void *message)
{
	struct each *e = k->arg;

	if (e->each(e->arg, message))
		return;
	e->enough = true;
	remote_stop(k);
}

enum err
remote_each(struct remote *far, const char *rpc, const void *question,
    bool (*each)(void *arg, const void *message), void *arg, struct why *w)
{
	struct each all = { each, arg, false };
	struct remote_call k = { .rpc = rpc, .message = each_message,
	    .arg = &all };
	enum err e = remote_begin(far->first, &k, w);

	if (e != OK)
		return e;
	remote_send(&k, question);
	remote_half_close(&k);
	loop_run_until(far->loop, &k.over);
	remote_call_free(&k);
	if (all.enough)
		return ERR_CLOSED;
	return k.why.err == OK ? OK : why(w, k.why.err, "%s", k.why.text);
}
