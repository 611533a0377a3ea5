#include "cli/ask.h"

#include "base/json_writer.h"
#include "engine/parser/url.h"
#include "os/file.h"
#include "os/resolve.h"
#include "os/system.h"
#include "os/transport.h"

#define FILE_NAME "serve.json"
#define ASK_MS 5000
#define ASK_TOTAL_MS 60000

struct str
ask_text(yyjson_val *o, const char *name)
{
	return str_of(yyjson_get_str(yyjson_obj_get(o, name)));
}

static const char *
path_of(const char *data_dir, struct arena *a)
{
	return arena_printf(a, "%s/" FILE_NAME, data_dir).p;
}

enum err
ask_write(const char *data_dir, const char *address, uint16_t port, bool tls,
    const char *key, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_put_char(&b, '{');
	json_u64(&b, "pid", (uint64_t)system_pid());
	json_str(&b, "address", str_of(address));
	json_u64(&b, "port", port);
	json_bool(&b, "tls", tls);
	json_str(&b, "key", str_of(key));
	buf_put_text(&b, "}\n");
	enum err e = file_store(path_of(data_dir, &a), buf_str(&b), w);
	explicit_bzero(b.p, b.n);
	return e;
}

void
ask_remove(const char *data_dir)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	/* A stale file is harmless: the port answers no more. */
	(void)!file_remove(path_of(data_dir, &a), NULL);
}

/* --- asking ------------------------------------------------------------- */

struct asking {
	struct exchange exchange;
	struct loop *loop;
	struct transport *transport;
	struct buf body;
	int status;
	enum transport_end end;
	struct ip ip;
	struct transport_header headers[3];   /* Host, Authorization, type */
};

static bool
connected(struct exchange *x, const struct ip *ip)
{
	(void)x;
	(void)ip;
	return true;
}

static bool
head(struct exchange *x, struct str bytes, int status)
{
	(void)bytes;
	CONTAINER(x, struct asking, exchange)->status = status;
	return true;
}

static bool
body(struct exchange *x, struct str bytes)
{
	struct asking *q = CONTAINER(x, struct asking, exchange);

	buf_put_str(&q->body, bytes);
	return q->body.n <= ASK_BYTES_MAX;
}

static void
done(struct exchange *x, enum transport_end end, struct str detail)
{
	struct asking *q = CONTAINER(x, struct asking, exchange);

	(void)detail;
	q->end = end;
	loop_stop(q->loop);
}

static const struct exchange_events events = { connected, head, body, done };

static void
set_host(struct asking *q, struct str host, unsigned port, struct arena *a)
{
	q->headers[0] = (struct transport_header){ STR("Host"),
	    arena_printf(a, str_find_char(host, ':') == host.n ? "%.*s:%u" :
	    "[%.*s]:%u", STR_FMT(host), port) };
	q->exchange.port = (uint16_t)port;
}

static void
set_key(struct asking *q, struct str key, struct arena *a)
{
	q->headers[1] = (struct transport_header){ STR("Authorization"),
	    arena_printf(a, "Bearer %.*s", STR_FMT(key)) };
	q->exchange.headers = q->headers;
	q->exchange.headers_n = key.n == 0 ? 1 : 2;
}

static void
set_type(struct asking *q, struct str type)
{
	if (type.n > 0)
		q->headers[q->exchange.headers_n++] =
		    (struct transport_header){ STR("Content-Type"), type };
}

/*
 * Where the process that serves the data directory listens.  The file is ours,
 * and so is the address: there is no name to verify.  A killed process may have
 * left its place: then nobody answers there, or another daemon, which does not
 * know the key.
 */
static enum err
read_place(const struct ask_target *t, struct asking *q, struct arena *a,
    struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	enum err e = file_load(path_of(t->data_dir, a), 4096, &b, NULL);
	yyjson_doc *d = e == OK ? yyjson_read(b.p, b.n, 0) : NULL;
	yyjson_val *root = yyjson_doc_get_root(d);
	struct str address = ask_text(root, "address");
	struct str key = ask_text(root, "key");
	uint64_t port = yyjson_get_uint(yyjson_obj_get(root, "port"));

	e = OK;
	/* A daemon that listens on every address is asked by loopback. */
	if (str_eq(address, STR("0.0.0.0")))
		address = STR("127.0.0.1");
	else if (str_eq(address, STR("::")))
		address = STR("::1");
	if (port == 0 || port > UINT16_MAX || !ip_from_text(address, &q->ip))
		e = why(w, ERR_ABSENT, "it does not serve a port");
	set_host(q, address, (unsigned)port, a);
	set_key(q, t->token.n > 0 ? t->token : key, a);
	q->exchange.tls = yyjson_get_bool(yyjson_obj_get(root, "tls"));
	yyjson_doc_free(d);
	return e;
}

static enum err
resolve(struct str host, struct ip *ip, struct why *w)
{
	struct loop *l = loop_new("ask");
	struct resolve_query q;

	bool found = resolve_now(l, host, ASK_MS, &q);
	loop_free(&l);
	if (!found)
		return why(w, ERR_UNREACHED, "%.*s cannot be resolved: %s",
		    STR_FMT(host), q.error);
	*ip = q.addresses[0];
	return OK;
}

/* A server that was named: its certificate has to be good for that name. */
static enum err
read_server(const struct ask_target *t, struct asking *q, struct arena *a,
    struct why *w)
{
	struct url u;

	if (url_parse(str_of(t->server), NULL, a, &u, NULL) != OK ||
	    (u.scheme != URL_HTTP && u.scheme != URL_HTTPS))
		return why(w, ERR_USAGE, "--server %.100s: must be a URL like "
		    "http://127.0.0.1:8001/", t->server);
	struct str host = u.host;
	if (str_starts(host, STR("[")))
		host = str_cut(host, 1, host.n - 1);
	set_host(q, host, u.port, a);
	set_key(q, t->token, a);
	q->exchange.tls = q->exchange.verify = u.scheme == URL_HTTPS;
	return ip_from_text(host, &q->ip) ? OK : resolve(host, &q->ip, w);
}

static void
exchange(struct asking *q, const char *path, int64_t total_ms,
    struct arena *a)
{
	struct transport_options o = { .connections_max = 1,
	    .host_connections_max = 1 };
	struct exchange *x = &q->exchange;
	struct str host = q->headers[0].value;

	q->loop = loop_new("ask");
	q->transport = transport_new(q->loop, &o);
	x->events = &events;
	x->url = arena_printf(a, "%s://%.*s%s", x->tls ? "https" : "http",
	    STR_FMT(host), path);
	while (host.n > 0 && host.p[host.n - 1] != ':')
		host.n--;
	x->host = str_cut(host, 0, host.n - 1);
	x->addresses = &q->ip;
	x->addresses_n = 1;
	x->connect_ms = ASK_MS;
	x->total_ms = total_ms > 0 ? total_ms : ASK_TOTAL_MS;
	x->head_bytes_max = 65536;
	transport_start(q->transport, x);
	loop_run(q->loop);
	transport_free(&q->transport);
	loop_free(&q->loop);
}

enum err
ask_request(const struct ask_target *t, const struct ask_request *r,
    struct arena *a, int *status, struct str *out, struct why *w)
{
	struct asking q = { .status = 0 };

	enum err e = t->server != NULL ? read_server(t, &q, a, w) :
	    read_place(t, &q, a, w);
	if (e != OK)
		return e;
	set_type(&q, r->type);
	q.exchange.method = r->method;
	q.exchange.body = r->body;
	exchange(&q, arena_copy(a, r->path).p, t->total_ms, a);
	*status = q.status;
	*out = arena_copy(a, buf_str(&q.body));
	buf_free(&q.body);
	if (q.end != TRANSPORT_DONE)
		e = why(w, ERR_UNREACHED, "%.*s does not answer: %s",
		    STR_FMT(q.headers[0].value), transport_end_text(q.end));
	return e;
}

enum err
ask_send(const struct ask_target *t, const char *path, const struct str *post,
    struct arena *a, int *status, struct str *out, struct why *w)
{
	struct ask_request r = { .method = post == NULL ? STR("GET") :
	    STR("POST"), .path = str_of(path), .body = post == NULL ?
	    STR_NONE : *post };

	enum err e = ask_request(t, &r, a, status, out, w);
	if (e == OK && post == NULL && *status != 200)
		e = why(w, ERR_UNREACHED, "the daemon answers %d to %s",
		    *status, path);
	return e;
}
