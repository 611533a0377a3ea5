/*
 * caller_exchange -- the thread's part of a call:
 *
 *     begin -> [compress] -> RESOLVES -> SENT -> OVER -> home
 *
 * Once a job is OVER, its mail is on the way home and nothing but its `cancel`
 * is touched here.
 */
#include <libdeflate.h>

#include "doors/external/caller_own.h"
#include "engine/policy/address.h"
#include "os/clock.h"

#define GZIP_LEVEL 6
#define IDLE_S_MAX 60
#define NAMES_MAX 1000u
#define NAME_TTL_S_MAX 300

/* ---- The end --------------------------------------------------------- */

static void
end_job(struct caller_job *job, enum transport_end end, const char *detail)
{
	job->end = end;
	snprintf(job->detail, sizeof(job->detail), "%s", detail);
	job->state = CALLER_OVER;
	job->connections->calls--;
	http_decoder_free(&job->decoder);
	loop_send(job->thread->home, &job->mail, job->returned);
}

/* ---- One exchange ---------------------------------------------------- */

static struct caller_job *
job_of(struct exchange *x)
{
	return CONTAINER(x, struct caller_job, exchange);
}

bool
caller_provider_allows(const struct caller_provider *p, bool is_tls,
    const struct ip *ip)
{
	switch (address_classify(ip->b)) {
	case ADDRESS_PUBLIC:
		return is_tls;
	case ADDRESS_PRIVATE:
		return is_tls && p->is_declared;
	case ADDRESS_LOOPBACK:
		return p->is_declared && backend_address_is_loopback(ip);
	default:
		return false;
	}
}

static bool
check_address(struct exchange *x, const struct ip *ip)
{
	struct caller_job *job = job_of(x);
	bool is_secure = x->tls || backend_address_is_loopback(ip);

	job->refused = *ip;
	if (job->call->provider != NULL)
		return caller_provider_allows(job->call->provider, x->tls,
		    ip);
	return is_secure && backend_allows_address(job->call->backend,
	    job->url.host, ip);
}

static bool
receive_head(struct exchange *x, struct str bytes, int status)
{
	struct caller_job *job = job_of(x);
	struct http_decode_limits limits = HTTP_DECODE_LIMITS_DEFAULT;
	struct http_head h;

	bytes = arena_copy(&job->arena, bytes);
	if (http_parse_head(bytes, false, HTTP_LIMITS_DEFAULT, &job->arena,
	    &h, NULL) != OK) {
		job->is_head_bad = true;
		return false;
	}
	limits.bytes_max = job->call->reply_max;
	job->status = (unsigned)status;
	job->retry_after = http_find(&h, STR("retry-after"));
	job->decoder = http_decoder_new(&h, limits);
	return true;
}

static bool
receive_body(struct exchange *x, struct str bytes)
{
	struct caller_job *job = job_of(x);

	job->reply_cut = http_damage_cuts(http_decoder_feed(job->decoder,
	    bytes, &job->reply));
	return !job->reply_cut;
}

static void
describe_refusal(const struct caller_job *job, char *out, size_t size)
{
	char text[IP_TEXT_MAX];

	ip_to_text(&job->refused, text);
	snprintf(out, size, "the address %s is not allowed: %s", text,
	    address_class_text(address_classify(job->refused.b)));
}

static void
end_exchange(struct exchange *x, enum transport_end end, struct str detail)
{
	struct caller_job *job = job_of(x);
	char text[CALLER_DETAIL_BYTES] = "";

	/* The rest was not wanted: the status counts. */
	if (end == TRANSPORT_STOPPED && job->reply_cut)
		end = TRANSPORT_DONE;
	else if (end == TRANSPORT_DONE && job->decoder != NULL)
		job->reply_cut = http_damage_cuts(http_decoder_end(
		    job->decoder, &job->reply));
	if (end == TRANSPORT_STOPPED && job->is_head_bad)
		end = TRANSPORT_PROTOCOL;
	if (end == TRANSPORT_BLOCKED)
		describe_refusal(job, text, sizeof(text));
	else if (end != TRANSPORT_DONE)
		snprintf(text, sizeof(text), "%.*s", STR_FMT(detail.n > 0 ?
		    detail : str_of(transport_end_text(end))));
	end_job(job, end, text);
}

static const struct exchange_events events = {
	check_address, receive_head, receive_body, end_exchange
};

/* ---- The request ----------------------------------------------------- */

static bool
has_field(const struct backend *b, struct str name)
{
	for (size_t i = 0; b != NULL && i < b->headers_n; i++)
		if (str_eq_nocase(b->headers[i].name, name))
			return true;
	return false;
}

static size_t
put_headers(struct caller_job *job)
{
	const struct caller_call *call = job->call;
	const struct backend *b = call->backend;
	const struct caller_provider *p = call->provider;
	struct transport_header *h = job->headers;
	const struct url *u = &job->url;
	size_t n = 0;

	CHECK(p == NULL || p->fields_n <= CALLER_FIELDS_MAX);
	h[n++] = (struct transport_header){ STR("Host"), u->port_given ?
	    arena_printf(&job->arena, "%.*s:%u", STR_FMT(u->host),
	    (unsigned)u->port) : u->host };
	if (!has_field(b, STR("user-agent")))
		h[n++] = (struct transport_header){ STR("User-Agent"),
		    STR("argiope/" ARGIOPE_VERSION) };
	h[n++] = (struct transport_header){ STR("Accept-Encoding"),
	    STR("identity") };
	if (call->content_type.n > 0)
		h[n++] = (struct transport_header){ STR("Content-Type"),
		    call->content_type };
	if (job->packed.n > 0)
		h[n++] = (struct transport_header){ STR("Content-Encoding"),
		    STR("gzip") };
	if (call->key.n > 0)
		h[n++] = (struct transport_header){ STR("Idempotency-Key"),
		    call->key };
	for (size_t i = 0; b != NULL && i < b->headers_n; i++)
		h[n++] = (struct transport_header){ b->headers[i].name,
		    b->headers[i].value };
	for (size_t i = 0; p != NULL && i < p->fields_n; i++)
		h[n++] = p->fields[i];
	return n;
}

static void
compress_body(struct caller_job *job)
{
	struct caller_thread *t = job->thread;
	struct str body = job->call->body;

	if (t->compressor == NULL)
		t->compressor = libdeflate_alloc_compressor(GZIP_LEVEL);
	CHECK(t->compressor != NULL);
	buf_reserve(&job->packed, libdeflate_gzip_compress_bound(
	    t->compressor, body.n));
	job->packed.n = libdeflate_gzip_compress(t->compressor, body.p,
	    body.n, job->packed.p, job->packed.cap);
	CHECK(job->packed.n > 0);
}

static void
send_request(struct caller_job *job)
{
	struct exchange *x = &job->exchange;
	int64_t left_ms = mono_ns_between(clock_mono(), job->deadline) /
	    NS_PER_MS;

	x->events = &events;
	x->method = job->call->method;
	x->url = job->url.href;
	x->host = job->url.host;
	x->port = job->url.port;
	x->tls = x->verify = job->url.scheme == URL_HTTPS;
	x->headers = job->headers;
	x->headers_n = put_headers(job);
	x->body = job->packed.n > 0 ? buf_str(&job->packed) :
	    job->call->body;
	x->addresses = job->query.addresses;
	x->addresses_n = job->query.n;
	x->total_ms = MAX(left_ms, 1);
	x->connect_ms = MIN(x->total_ms, CALLER_CONNECT_MS_MAX);
	x->head_bytes_max = CALLER_HEAD_BYTES_MAX;
	/* A request with a key may arrive twice. */
	x->once = job->call->key.n == 0;
	x->secret = true;
	job->state = CALLER_SENT;
	transport_start(job->connections->transport, x);
}

static void
resolve_ended(struct resolve_query *q)
{
	struct caller_job *job = CONTAINER(q, struct caller_job, query);

	if (q->n == 0)
		end_job(job, TRANSPORT_DNS, q->error);
	else
		send_request(job);
}

/* ---- Connections ----------------------------------------------------- */

static void
free_connections(struct caller_connections **cp)
{
	struct caller_connections *c = *cp;

	list_take(&c->node);
	transport_free(&c->transport);
	mem_free(&c->ca);
	mem_free(cp);
}

static struct caller_connections *
make_connections(struct caller_thread *t, struct str ca, uint64_t ca_hash)
{
	struct caller_connections *c = mem_new(sizeof(*c));
	/* How many calls there are at once is limited at home. */
	struct transport_options o = { .connections_max = t->connections_max,
	    .host_connections_max = t->connections_max,
	    .idle_s_max = IDLE_S_MAX, .tls_1_2 = true };

	if (ca.n > 0)
		c->ca = mem_copy_text(ca.p);
	c->ca_hash = ca_hash;
	o.ca_file = c->ca;
	c->transport = transport_new(t->loop, &o);
	list_put(&t->connections, &c->node);
	return c;
}

/*
 * The connections of a back end's certificates.  Those that were made with an
 * earlier content of the same file go when no call uses them.  The file for
 * providers is the same as long as the program runs.
 */
static struct caller_connections *
take_connections(struct caller_thread *t, const struct backend *b)
{
	struct str ca = b != NULL ? b->ca : str_of(t->provider_ca);
	uint64_t ca_hash = b != NULL ? b->ca_hash : 0;
	struct caller_connections *found = NULL;
	struct list *next;

	for (struct list *n = t->connections.next; n != &t->connections;
	    n = next) {
		struct caller_connections *c = LIST_ITEM(n,
		    struct caller_connections, node);
		next = n->next;
		if (!str_eq(str_of(c->ca), ca))
			continue;
		if (c->ca_hash == ca_hash)
			found = c;
		else if (c->calls == 0)
			free_connections(&c);
	}
	if (found == NULL)
		found = make_connections(t, ca, ca_hash);
	found->calls++;
	return found;
}

/* ---- Mail ------------------------------------------------------------ */

static void
begin_job(struct mail *m)
{
	struct caller_job *job = CONTAINER(m, struct caller_job, mail);
	struct caller_thread *t = job->thread;
	struct caller_call *call = job->call;

	job->deadline = mono_add_ms(clock_mono(), t->call_ms);
	job->connections = take_connections(t, call->backend);
	if (url_parse(call->url, NULL, &job->arena, &job->url, NULL) != OK ||
	    (job->url.scheme != URL_HTTP && job->url.scheme != URL_HTTPS)) {
		end_job(job, TRANSPORT_PROTOCOL, "the URL is malformed");
		return;
	}
	if (call->gzip && call->body.n > 0)
		compress_body(job);
	job->state = CALLER_RESOLVES;
	job->query.host = job->url.host;
	job->query.found = resolve_ended;
	resolve_start(t->resolver, &job->query);
}

static void
cancel_job(struct mail *m)
{
	struct caller_job *job = CONTAINER(m, struct caller_job, cancel);

	if (job->state == CALLER_RESOLVES) {
		resolve_stop(job->thread->resolver, &job->query);
		end_job(job, TRANSPORT_STOPPED,
		    transport_end_text(TRANSPORT_STOPPED));
	} else if (job->state == CALLER_SENT) {
		/* end_exchange() ends it. */
		transport_stop(job->connections->transport, &job->exchange);
	}
	loop_send(job->thread->home, &job->cancel, job->cancel_returned);
}

void
caller_job_send(struct caller_job *job)
{
	loop_send(job->thread->loop, &job->mail, begin_job);
}

void
caller_job_cancel(struct caller_job *job)
{
	loop_send(job->thread->loop, &job->cancel, cancel_job);
}

/* ---- The thread ------------------------------------------------------ */

void
caller_thread_open(struct caller_thread *t, const char *fixed_names)
{
	struct resolver_options o = { .ttl_s_min = 1,
	    .ttl_s_max = NAME_TTL_S_MAX, .negative_s = 1,
	    .cache_max = NAMES_MAX, .timeout_ms = MIN(t->call_ms,
	    CALLER_CONNECT_MS_MAX), .fixed = fixed_names };

	list_init(&t->connections);
	t->loop = loop_new("external calls");
	t->resolver = resolver_new(t->loop, &o);
}

void
caller_thread_close(struct caller_thread *t)
{
	while (!list_empty(&t->connections)) {
		struct caller_connections *c = LIST_ITEM(t->connections.next,
		    struct caller_connections, node);
		CHECK(c->calls == 0);
		free_connections(&c);
	}
	resolver_free(&t->resolver);
	libdeflate_free_compressor(t->compressor);
	loop_free(&t->loop);
}
