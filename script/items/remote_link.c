#include "script/items/remote_link.h"

#include "base/text.h"
#include "os/clock.h"
#include "os/log.h"
#include "wire/http.h"

#define HEAD_BYTES_MAX 65536
#define IDLE_S_MAX 30

struct remote_link {
	struct loop *home;
	struct remote_place place;   /* texts in `arena` */
	struct str authority;        /* "a.example:8001" */
	struct str authorization;
	struct transport *short_ones, *long_ones;
	struct resolver *resolver;
	struct ip addresses[RESOLVE_ADDRESSES_MAX];
	size_t addresses_n;          /* 0: not resolved yet, or they failed */
	bool is_literal;             /* the host is an address */
	bool is_away;                /* the last request got no answer */
	bool ending;
	struct list requests;        /* under way */
	struct arena arena;
};

static void start_request(struct remote_request *);

/* -- The end of a request -- */

static void
finish_request(struct remote_request *q, int status)
{
	q->status = status;
	q->state = REMOTE_IDLE;
	list_take(&q->node);
	list_init(&q->node);
	q->done(q);
}

/* A daemon that comes back is not asked by all of its workers at once. */
static int64_t
backoff_ms(const struct remote_request *q)
{
	int64_t ms = REMOTE_BACKOFF_MS;
	uint32_t chance;

	for (unsigned i = 1; i < q->failures && ms < REMOTE_BACKOFF_MS_MAX; i++)
		ms *= 2;
	ms = MIN(ms, REMOTE_BACKOFF_MS_MAX);
	clock_random(&chance, sizeof(chance));
	return ms / 2 + (int64_t)(chance % (uint32_t)(ms / 2 + 1));
}

static void
note_away(struct remote_link *l, const char *why)
{
	if (!l->is_away && !l->ending)
		log_warn("worker.daemon_away", "daemon=%.*s why=%s",
		    STR_FMT(l->authority), why);
	l->is_away = true;
}

static void
note_back(struct remote_link *l)
{
	if (l->is_away)
		log_info("worker.daemon_back", "daemon=%.*s",
		    STR_FMT(l->authority));
	l->is_away = false;
}

/* `sent`: the daemon may have received it. */
static void
try_again(struct remote_request *q, bool sent)
{
	struct remote_link *l = q->link;

	if (l->ending || (sent && q->once)) {
		finish_request(q, 0);
		return;
	}
	q->failures++;
	q->state = REMOTE_WAITS;
	loop_timer_set(l->home, &q->timer, mono_add_ms(loop_now(l->home),
	    backoff_ms(q)));
}

static void
wait_over(struct timer *t)
{
	start_request(CONTAINER(t, struct remote_request, timer));
}

/* -- One exchange -- */

static bool
connected(struct exchange *x, const struct ip *ip)
{
	(void)x;
	(void)ip;
	return true;
}

static bool
head_received(struct exchange *x, struct str bytes, int status)
{
	struct remote_request *q = CONTAINER(x, struct remote_request,
	    exchange);

	q->status = status;
	buf_put_str(&q->head, bytes);
	return true;
}

static bool
body_received(struct exchange *x, struct str bytes)
{
	struct remote_request *q = CONTAINER(x, struct remote_request,
	    exchange);

	buf_put_str(&q->body_received, bytes);
	return q->body_received.n <= REMOTE_ANSWER_BYTES_MAX;
}

static bool
decode_answer(struct remote_request *q)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct http_decode_limits limits = HTTP_DECODE_LIMITS_DEFAULT;
	struct http_head h;

	limits.bytes_max = REMOTE_ANSWER_BYTES_MAX;
	buf_clear(&q->answer);
	return http_parse_head(buf_str(&q->head), false, HTTP_LIMITS_DEFAULT,
	    &a, &h, NULL) == OK && http_decode_body(&h,
	    buf_str(&q->body_received), limits, &q->answer) == HTTP_FINE;
}

/* What may be otherwise a moment later; 502 with a body of the daemon's is
 * about the site that was to be fetched. */
static bool
is_passing(const struct remote_request *q)
{
	static const int passing[] = { 429, 500, 503, 504, 507 };
	const struct buf *b = &q->answer;

	for (size_t i = 0; i < ARRAY_LEN(passing); i++)
		if (q->status == passing[i])
			return true;
	return q->status == 502 && (b->n == 0 || b->p[0] != '{');
}

static void
exchanged(struct exchange *x, enum transport_end end, struct str detail)
{
	struct remote_request *q = CONTAINER(x, struct remote_request,
	    exchange);
	struct remote_link *l = q->link;
	bool fine = end == TRANSPORT_DONE && decode_answer(q);

	(void)detail;
	if (q->stopped)
		return;
	if (end == TRANSPORT_CONNECT || end == TRANSPORT_TLS)
		l->addresses_n = l->is_literal ? l->addresses_n : 0;
	if (!fine)
		note_away(l, transport_end_word(end));
	else
		note_back(l);
	if (fine && !is_passing(q))
		finish_request(q, q->status);
	else
		try_again(q, end != TRANSPORT_CONNECT && end !=
		    TRANSPORT_TLS && !fine);
}

static const struct exchange_events events = {
	connected, head_received, body_received, exchanged
};

static void
begin_exchange(struct remote_request *q)
{
	struct remote_link *l = q->link;
	struct exchange *x = &q->exchange;
	size_t n = 1;

	arena_reset(&q->arena);
	buf_clear(&q->head);
	buf_clear(&q->body_received);
	q->headers[0] = (struct transport_header){ STR("Host"),
	    l->authority };
	if (l->authorization.n > 0)
		q->headers[n++] = (struct transport_header){
		    STR("Authorization"), l->authorization };
	if (q->type != NULL)
		q->headers[n++] = (struct transport_header){
		    STR("Content-Type"), str_of(q->type) };
	*x = (struct exchange){ .events = &events,
	    .method = str_of(q->method), .host = l->place.host,
	    .port = l->place.port, .tls = l->place.tls,
	    .verify = l->place.tls, .headers = q->headers, .headers_n = n,
	    .body = q->body, .addresses = l->addresses,
	    .addresses_n = l->addresses_n, .connect_ms = REMOTE_CONNECT_MS,
	    .total_ms = q->total_ms, .head_bytes_max = HEAD_BYTES_MAX };
	x->url = arena_printf(&q->arena, "%s://%.*s%.*s", l->place.tls ?
	    "https" : "http", STR_FMT(l->authority), STR_FMT(q->path));
	q->state = REMOTE_SENT;
	transport_start(q->is_long ? l->long_ones : l->short_ones, x);
}

/* -- The daemon's address -- */

static void
resolved(struct resolve_query *r)
{
	struct remote_request *q = CONTAINER(r, struct remote_request, query);
	struct remote_link *l = q->link;

	if (r->n == 0) {
		note_away(l, "dns");
		try_again(q, false);
		return;
	}
	memcpy(l->addresses, r->addresses, r->n * sizeof(*r->addresses));
	l->addresses_n = r->n;
	begin_exchange(q);
}

static void
start_request(struct remote_request *q)
{
	struct remote_link *l = q->link;

	if (l->addresses_n > 0) {
		begin_exchange(q);
		return;
	}
	q->state = REMOTE_RESOLVING;
	q->query.host = l->place.host;
	q->query.found = resolved;
	resolve_start(l->resolver, &q->query);
}

void
remote_link_send(struct remote_link *l, struct remote_request *q)
{
	q->link = l;
	q->status = 0;
	q->failures = 0;
	q->stopped = false;
	q->timer.fire = wait_over;
	list_put(&l->requests, &q->node);
	/* In a later turn: callers expect no answer within the call. */
	q->state = REMOTE_WAITS;
	loop_timer_set(l->home, &q->timer, loop_now(l->home));
}

/* Leave what it is doing, without a word. */
static void
leave_request(struct remote_request *q)
{
	struct remote_link *l = q->link;

	q->stopped = true;
	if (q->state == REMOTE_WAITS)
		loop_timer_stop(l->home, &q->timer);
	else if (q->state == REMOTE_RESOLVING)
		resolve_stop(l->resolver, &q->query);
	else if (q->state == REMOTE_SENT)
		transport_stop(q->is_long ? l->long_ones : l->short_ones,
		    &q->exchange);
}

void
remote_link_stop(struct remote_request *q)
{
	if (q->state == REMOTE_IDLE)
		return;
	leave_request(q);
	q->state = REMOTE_IDLE;
	list_take(&q->node);
	list_init(&q->node);
}

void
remote_request_free(struct remote_request *q)
{
	buf_free(&q->answer);
	buf_free(&q->head);
	buf_free(&q->body_received);
	arena_free(&q->arena);
}

/* -- The link -- */

void
remote_link_end(struct remote_link *l)
{
	l->ending = true;
	while (!list_empty(&l->requests)) {
		struct remote_request *q = LIST_ITEM(l->requests.next,
		    struct remote_request, node);
		leave_request(q);
		finish_request(q, 0);
	}
}

static void
copy_place(struct remote_link *l, const struct remote_place *from)
{
	struct remote_place *p = &l->place;
	struct str host = from->host;

	*p = *from;
	p->host = arena_copy(&l->arena, host);
	if (from->token.n > 0)
		l->authorization = arena_printf(&l->arena, "Bearer %.*s",
		    STR_FMT(from->token));
	p->token = STR_NONE;
	l->authority = arena_printf(&l->arena, str_find_char(host, ':') ==
	    host.n ? "%.*s:%u" : "[%.*s]:%u", STR_FMT(host),
	    (unsigned)p->port);
	l->is_literal = ip_from_text(p->host, &l->addresses[0]);
	l->addresses_n = l->is_literal;
}

struct remote_link *
remote_link_new(struct loop *home, const struct remote_place *place)
{
	struct remote_link *l = mem_new(sizeof(*l));
	struct transport_options o = { .connections_max = REMOTE_SHORT_MAX,
	    .host_connections_max = REMOTE_SHORT_MAX,
	    .idle_s_max = IDLE_S_MAX };
	struct resolver_options names = { .ttl_s_min = 1, .ttl_s_max = 60,
	    .negative_s = 1, .cache_max = 16, .timeout_ms =
	    REMOTE_CONNECT_MS };

	l->home = home;
	list_init(&l->requests);
	copy_place(l, place);
	l->short_ones = transport_new(home, &o);
	o.connections_max = o.host_connections_max = REMOTE_LONG_MAX;
	l->long_ones = transport_new(home, &o);
	l->resolver = resolver_new(home, &names);
	return l;
}

void
remote_link_free(struct remote_link **lp)
{
	struct remote_link *l = *lp;

	if (l == NULL)
		return;
	CHECK(list_empty(&l->requests));
	transport_free(&l->short_ones);
	transport_free(&l->long_ones);
	resolver_free(&l->resolver);
	if (l->authorization.n > 0)
		explicit_bzero((char *)(uintptr_t)l->authorization.p,
		    l->authorization.n);
	arena_free(&l->arena);
	mem_free(lp);
}
