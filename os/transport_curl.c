/*
 * The transport table on libcurl's multi interface.
 *
 * How the parts of the contract are met:
 *
 * - Addresses.  libcurl must never resolve a name (Debian's takes a thread for
 *   it) and must still keep connections by host.  CURLOPT_CONNECT_TO sends each
 *   host:port to an address of its own in 240.0.0.0/4, made of its hash: a
 *   literal that needs no resolving, is no one's address, and is the key under
 *   which libcurl keeps the connections of this host and no other.  When
 *   libcurl then asks for a socket, CURLOPT_OPENSOCKETFUNCTION puts the real
 *   address in its place; TLS, SNI and Host see the name.  One address per try;
 *   the next one is tried here.
 * - The private address check runs before connect(), and again on each request
 *   over a kept connection (CURLOPT_PREREQFUNCTION).
 * - Bodies come raw (CURLOPT_HTTP_TRANSFER_DECODING 0): libcurl 7.88 to 8.22
 *   passes chunked bytes on before it reads their framing, so both the bytes
 *   and the reuse of the connection are had; transport_chunk.h cuts what
 *   follows the last chunk.
 * - Deadlines and speed are watched by our own timers, bytes counted in our own
 *   callbacks.
 * - A kept connection on which bytes lie that belong to no answer is given up
 *   just before the request, and the request goes out on a new one
 *   (transport_socket_is_clean).  One whose last answer's framing was doubtful
 *   is not kept.
 * - A server that answers in HTTP/1.0 is asked on a new connection each time:
 *   libcurl would write "HTTP/1.0" into the next request on the kept one, and
 *   request_sent would be wrong.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "os/clock.h"
#include "os/transport_curl.h"
#include "os/transport_curl_upgrade.h"

#define HEAD_KEPT_MAX 65536          /* memory of a head kept for the next */
#define SPARE_MAX 256                /* easy handles kept, about 6 KB each */

static void launch(struct transfer *);

static int64_t
us_since(const struct transfer *tr, struct mono when)
{
	return mono_ns_between(tr->started, when) / 1000;
}

static void
fill_times(struct transfer *tr, struct transport_times *times)
{
	struct exchange *x = tr->x;
	curl_off_t tcp_us = 0;

	times->total = us_since(tr, clock_mono());
	if (tr->first_byte.ns != 0)
		times->first_byte = us_since(tr, tr->first_byte);
	if (tr->connected.ns == 0)
		return;
	times->connect = us_since(tr, tr->connected);
	if (!x->tls)
		return;
	times->tls = times->connect;
	/* libcurl counts from the try, which began when the request did not. */
	if (!x->reused && tr->address_at == 0 && transfer_is_direct(tr) &&
	    curl_easy_getinfo(tr->easy, CURLINFO_CONNECT_TIME_T, &tcp_us) ==
	    CURLE_OK && tcp_us > 0 && tcp_us < times->tls)
		times->connect = tcp_us;
}

struct transport_sockets *
transfer_sockets(struct transfer *tr)
{
	return tr->upgrade != NULL ? &tr->upgrade->sockets : &tr->t->sockets;
}

static void
leave_multi(struct transfer *tr)
{
	struct transport_sockets *ss = &tr->t->sockets;

	if (tr->upgrade != NULL)
		transport_upgrade_end(tr);
	if (!tr->in_multi)
		return;
	ss->depth++;
	curl_multi_remove_handle(tr->t->multi, tr->easy);
	ss->depth--;
	tr->in_multi = false;
}

static void
allow_reuse(struct transfer *tr)
{
	if (tr->is_reuse_forbidden)
		curl_easy_setopt(tr->easy, CURLOPT_FORBID_REUSE, 0L);
	tr->is_reuse_forbidden = false;
	transfer_set_fresh(tr, false);
}

static void
recycle(struct transfer *tr)
{
	struct curl_transport *t = tr->t;

	leave_multi(tr);
	list_take(&tr->node);
	if (tr->head.cap > HEAD_KEPT_MAX)
		buf_free(&tr->head);
	if (tr->secret)
		transport_request_wipe(&tr->request);
	if (t->spare_n == SPARE_MAX) {
		transport_handle_free(&tr);
		return;
	}
	allow_reuse(tr);
	/* The warmest handle is taken first. */
	list_put(t->spare.next, &tr->node);
	t->spare_n++;
}

/* Tell the caller; the handle follows when libcurl may be called. */
void
transfer_finish(struct transfer *tr, enum transport_end end,
    const char *detail)
{
	struct exchange *x = tr->x;

	loop_timer_stop(tr->t->loop, &tr->deadline);
	if (tr->phase == PHASE_RESOLVING)
		resolve_stop(tr->t->resolver, &tr->query);
	fill_times(tr, &x->times);
	if (tr->phase == PHASE_ANSWER && tr->head_begun && tr->status >= 200)
		x->head_received = buf_str(&tr->head);
	tr->x = NULL;
	list_take(&tr->node);
	bool inside = transfer_sockets(tr)->depth > 0;
	/* An upgrade's own sockets may be in use, further up. */
	if (inside || tr->upgrade != NULL)
		list_put(tr->upgrade != NULL ? &tr->t->retired :
		    &tr->t->dying, &tr->node);
	if (!inside)
		leave_multi(tr);
	x->own = NULL;
	x->events->done(x, end, str_of(detail));
	if (!inside && tr->upgrade == NULL)
		recycle(tr);
}

/* Another address, when this one could not be reached. */
static bool
try_next_address(struct transfer *tr)
{
	if (tr->has_end || !transfer_is_direct(tr) ||
	    tr->phase > PHASE_CONNECTING ||
	    tr->address_at + 1 >= tr->x->addresses_n)
		return false;
	leave_multi(tr);
	tr->address_at++;
	tr->opened = false;
	tr->error[0] = '\0';
	launch(tr);
	return true;
}

/* The kept connection was closed, since bytes had come on it unasked. */
static bool
try_fresh(struct transfer *tr)
{
	if (tr->has_end || !tr->retry_fresh)
		return false;
	tr->retry_fresh = false;
	leave_multi(tr);
	allow_reuse(tr);
	transfer_set_fresh(tr, true);
	tr->error[0] = '\0';
	launch(tr);
	return true;
}

void
transfer_ended(struct transfer *tr, CURLcode code)
{
	enum transport_end end;

	if (try_fresh(tr))
		return;
	if (code == CURLE_COULDNT_CONNECT && try_next_address(tr))
		return;
	if (tr->has_end) {
		transfer_finish(tr, tr->end, tr->reason);
		return;
	}
	end = transport_end_of(tr, code);
	tr->x->too_large |= end == TRANSPORT_PROTOCOL &&
	    transport_end_is_too_large(tr, code);
	transfer_finish(tr, end, transport_end_detail(tr, end, code));
}

static bool
is_tcp_connected(const struct transfer *tr)
{
	struct sockaddr_storage peer;
	socklen_t n = sizeof(peer);

	/* libcurl tells only when TLS is done, too. */
	return tr->opened &&
	    getpeername(tr->fd, (struct sockaddr *)&peer, &n) == 0;
}

static void
deadline_due(struct timer *timer)
{
	struct transfer *tr = CONTAINER(timer, struct transfer, deadline);
	bool total = !mono_before(loop_now(tr->t->loop), tr->total_deadline);

	if (tr->has_end) {
		transfer_finish(tr, tr->end, tr->reason);
	} else if (tr->phase > PHASE_CONNECTING) {
		transfer_finish(tr, TRANSPORT_TIMEOUT,
		    "the answer took too long");
	} else if (!transfer_is_direct(tr)) {
		transfer_finish(tr, TRANSPORT_PROXY,
		    "connecting took too long");
	} else if (is_tcp_connected(tr)) {
		transfer_finish(tr, TRANSPORT_TIMEOUT,
		    "the TLS handshake took too long");
	} else if (total || !try_next_address(tr)) {
		transfer_finish(tr, TRANSPORT_CONNECT,
		    "connecting took too long");
	}
}

static struct transfer *
transfer_take(struct curl_transport *t)
{
	struct transfer *tr;

	if (list_empty(&t->spare)) {
		tr = transport_handle_new(t);
		tr->deadline.fire = deadline_due;
		return tr;
	}
	tr = LIST_POP(&t->spare, struct transfer, node);
	t->spare_n--;
	return tr;
}

static void
fail_soon(struct transfer *tr, enum transport_end end, const char *text)
{
	tr->phase = PHASE_WAITING;
	transfer_decide(tr, end, text);
	loop_timer_set(tr->t->loop, &tr->deadline, loop_now(tr->t->loop));
}

/* Hand it to libcurl, or note that this must wait until we are out of it. */
static void
launch(struct transfer *tr)
{
	struct transport_sockets *ss = transfer_sockets(tr);
	struct curl_transport *t = tr->t;
	CURLMcode code;

	if (ss->depth > 0) {
		tr->phase = PHASE_WAITING;
		t->launches_wait = true;
		transfer_set_deadline(tr);
		return;
	}
	transfer_begin_connecting(tr, clock_mono());
	ss->depth++;
	code = curl_multi_add_handle(ss->multi, tr->easy);
	ss->depth--;
	if (code == CURLM_OK)
		tr->in_multi = true;
	else
		fail_soon(tr, TRANSPORT_CONNECT, curl_multi_strerror(code));
}

static void
proxy_found(struct resolve_query *q)
{
	struct transfer *tr = CONTAINER(q, struct transfer, query);

	tr->phase = PHASE_WAITING;
	if (q->n == 0) {
		fail_soon(tr, TRANSPORT_PROXY, q->error);
		return;
	}
	transport_handle_set_proxy(tr, &q->addresses[0]);
	launch(tr);
}

/* libcurl gets the proxy as an address: it would resolve a name itself. */
static void
resolve_proxy(struct transfer *tr)
{
	static const struct resolver_options options = { .ttl_s_min = 60,
	    .ttl_s_max = 3600, .negative_s = 10, .cache_max = 64,
	    .timeout_ms = 10000 };

	if (tr->t->resolver == NULL)
		tr->t->resolver = resolver_new(tr->t->loop, &options);
	tr->phase = PHASE_RESOLVING;
	tr->query = (struct resolve_query){ .host = tr->proxy.host,
	    .found = proxy_found };
	transfer_set_deadline(tr);
	resolve_start(tr->t->resolver, &tr->query);
}

static void
reset_transfer(struct transfer *tr, struct exchange *x)
{
	struct mono now = clock_mono();

	tr->x = x;
	tr->phase = PHASE_WAITING;
	tr->opened = tr->chunked = tr->has_end = false;
	tr->head_begun = tr->retry_fresh = false;
	tr->fd = -1;
	tr->address_at = tr->head_bytes = tr->body_sent = 0;
	tr->status = 0;
	tr->asked = (struct ip){ { 0 } };
	tr->chunk = (struct transport_chunk){ .digits = 0 };
	tr->started = now;
	tr->connected = tr->first_byte = (struct mono){ 0 };
	tr->connect_deadline = transfer_deadline(now, x->connect_ms);
	tr->total_deadline = transfer_deadline(now, x->total_ms);
	tr->moved = tr->moved_before = tr->slow_s = 0;
	tr->error[0] = '\0';
	x->own = tr;
	x->reused = false;
	x->http_version = 0;
	x->connected_ip = (struct ip){ { 0 } };
	x->request_sent = x->head_received = STR_NONE;
	x->too_large = false;
	x->times = (struct transport_times){ 0, -1, -1, -1, -1 };
}

static void
start(struct transport *base, struct exchange *x)
{
	struct curl_transport *t = CONTAINER(base, struct curl_transport, base);
	struct transfer *tr = transfer_take(t);
	const char *wrong;

	if (list_empty(&t->active) && !heap_holds(&t->tick.node))
		loop_timer_set(t->loop, &t->tick, mono_add_ms(clock_mono(),
		    1000));
	list_put(&t->active, &tr->node);
	reset_transfer(tr, x);
	if (!transport_proxy_read(x->proxy, &tr->proxy)) {
		fail_soon(tr, TRANSPORT_PROXY, "the proxy's URL is malformed");
		return;
	}
	wrong = transport_request_build(&tr->request, x,
	    tr->proxy.kind == TRANSPORT_PROXY_HTTP && !x->tls &&
	    !x->upgrade);
	if (wrong != NULL) {
		fail_soon(tr, TRANSPORT_PROTOCOL, wrong);
		return;
	}
	x->request_sent = buf_str(&tr->request.sent);
	tr->secret = x->secret;
	if (transfer_is_direct(tr) && x->addresses_n == 0) {
		fail_soon(tr, TRANSPORT_DNS, "no address");
		return;
	}
	transport_handle_set_request(tr);
	if (x->upgrade)
		transport_upgrade_begin(tr);
	if (transfer_is_direct(tr)) {
		transport_handle_set_proxy(tr, NULL);
		launch(tr);
	} else {
		resolve_proxy(tr);
	}
}

static bool
send_bytes(struct transport *base, struct exchange *x, struct str bytes)
{
	struct transfer *tr = x->own;

	(void)base;
	CHECK(tr->upgrade != NULL && tr->phase == PHASE_BODY);
	return transport_upgrade_send(tr, bytes);
}

static void
pause_reading(struct transport *base, struct exchange *x, bool paused)
{
	struct transfer *tr = x->own;

	(void)base;
	CHECK(tr->upgrade != NULL && tr->phase == PHASE_BODY);
	transport_upgrade_pause(tr, paused);
}

static void
stop(struct transport *base, struct exchange *x)
{
	struct transfer *tr = x->own;

	(void)base;
	if (tr != NULL && tr->x == x)
		transfer_finish(tr, TRANSPORT_STOPPED, "stopped");
}

static void
launch_waiting(struct curl_transport *t)
{
	struct list *next;

	t->launches_wait = false;
	for (struct list *n = t->active.next; n != &t->active; n = next) {
		struct transfer *tr = LIST_ITEM(n, struct transfer, node);
		next = n->next;
		if (tr->phase == PHASE_WAITING && !tr->has_end)
			launch(tr);
	}
}

/* Everything that had to wait until we were out of libcurl. */
static void
after_libcurl(struct transport_sockets *ss)
{
	struct curl_transport *t = CONTAINER(ss, struct curl_transport,
	    sockets);
	CURLMsg *m;
	int left;

	while (!list_empty(&t->dying))
		recycle(LIST_ITEM(t->dying.next, struct transfer, node));
	while ((m = curl_multi_info_read(t->multi, &left)) != NULL) {
		CURLcode code = m->data.result;
		char *private = NULL;
		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &private);
		struct transfer *tr = (struct transfer *)(void *)private;
		if (tr->x != NULL)
			transfer_ended(tr, code);
	}
	if (t->launches_wait)
		launch_waiting(t);
}

static void
free_list(struct list *l)
{
	while (!list_empty(l)) {
		struct transfer *tr = LIST_POP(l, struct transfer, node);
		leave_multi(tr);
		transport_handle_free(&tr);
	}
}

/* Below speed_bytes_min in each of the last speed_s seconds. */
static bool
is_too_slow(struct transfer *tr)
{
	int64_t bytes = tr->moved - tr->moved_before;

	tr->moved_before = tr->moved;
	if (tr->x->speed_s <= 0 || tr->phase < PHASE_ANSWER ||
	    bytes >= tr->x->speed_bytes_min) {
		tr->slow_s = 0;
		return false;
	}
	return ++tr->slow_s >= tr->x->speed_s;
}

static void
tick(struct timer *timer)
{
	struct curl_transport *t = CONTAINER(timer, struct curl_transport,
	    tick);
	struct list slow, *next;
	bool idle;

	list_init(&slow);
	for (struct list *n = t->active.next; n != &t->active; n = next) {
		struct transfer *tr = LIST_ITEM(n, struct transfer, node);
		next = n->next;
		if (is_too_slow(tr)) {
			list_take(n);
			list_put(&slow, n);
		}
	}
	/* done() may stop others of them: always the first one that is left. */
	while (!list_empty(&slow))
		transfer_finish(LIST_ITEM(slow.next, struct transfer, node),
		    TRANSPORT_TIMEOUT, "the answer came too slowly");
	free_list(&t->retired);
	idle = transport_sockets_sweep(&t->sockets, loop_now(t->loop));
	if (idle || !list_empty(&t->active))
		loop_timer_set(t->loop, &t->tick,
		    mono_add_ms(loop_now(t->loop), 1000));
}

/* Requests under way end with STOPPED.  Not from within a callback. */
static void
curl_transport_free(struct transport **tp)
{
	struct curl_transport *t = CONTAINER(*tp, struct curl_transport, base);

	CHECK(t->sockets.depth == 0);
	while (!list_empty(&t->active))
		transfer_finish(LIST_ITEM(t->active.next, struct transfer,
		    node), TRANSPORT_STOPPED, "stopped");
	free_list(&t->dying);
	free_list(&t->spare);
	free_list(&t->retired);
	loop_timer_stop(t->loop, &t->tick);
	/* Closing calls for no more transfers, only for sockets. */
	t->sockets.depth++;
	curl_multi_cleanup(t->multi);
	curl_share_cleanup(t->share);
	transport_sockets_close(&t->sockets);
	resolver_free(&t->resolver);
	mem_free(&t->ca_file);
	mem_free(&t);
	*tp = NULL;
}

/* libcurl copies each request, and its headers may be credentials. */
static void
wiping_free(void *p)
{
	if (p == NULL)
		return;
	explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

static void *
wiping_realloc(void *p, size_t n)
{
	void *more = malloc(n);

	if (more == NULL || p == NULL)
		return more;
	memcpy(more, p, MIN(n, malloc_usable_size(p)));
	wiping_free(p);
	return more;
}

/*
 * With CURLOPT_NOSIGNAL libcurl leaves SIGPIPE to us, and OpenSSL writes
 * without MSG_NOSIGNAL: a peer that goes would end the process.
 */
static void
start_libcurl(void)
{
	struct sigaction now;

	if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
		signal(SIGPIPE, SIG_IGN);
	CHECK(curl_global_init_mem(CURL_GLOBAL_ALL, malloc, wiping_free,
	    wiping_realloc, strdup, calloc) == CURLE_OK);
}

struct transport *
transport_curl_new(struct loop *loop, const struct transport_options *options)
{
	static const struct transport_table table = { start, stop,
	    curl_transport_free, send_bytes, pause_reading };
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct curl_transport *t = mem_new(sizeof(*t));

	pthread_once(&once, start_libcurl);
	t->base.table = &table;
	t->loop = loop;
	t->options = *options;
	/* As every program with OpenSSL; only curl's command looks there. */
	const char *ca_file = options->ca_file != NULL ? options->ca_file :
	    getenv("SSL_CERT_FILE");
	if (ca_file != NULL && ca_file[0] != '\0')
		t->ca_file = mem_copy_text(ca_file);
	list_init(&t->active);
	list_init(&t->dying);
	list_init(&t->retired);
	list_init(&t->spare);
	t->tick.fire = tick;
	t->multi = curl_multi_init();
	t->share = curl_share_init();
	CHECK(t->multi != NULL && t->share != NULL);
	curl_share_setopt(t->share, CURLSHOPT_SHARE,
	    CURL_LOCK_DATA_SSL_SESSION);
	curl_multi_setopt(t->multi, CURLMOPT_MAXCONNECTS,
	    (long)options->connections_max);
	curl_multi_setopt(t->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
	    (long)options->connections_max);
	curl_multi_setopt(t->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
	    (long)options->host_connections_max);
	transport_sockets_open(&t->sockets, loop, t->multi,
	    options->idle_s_max * NS_PER_S, after_libcurl);
	return &t->base;
}
