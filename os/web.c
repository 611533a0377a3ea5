#include "os/web_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/log.h"

#define BACKLOG 512
#define ACCEPTS_PER_TURN 64
#define ACCEPT_PAUSE_US 100000     /* when no descriptor is to be had */
#define READ_BYTES 16384u
#define DESCRIPTORS_MAX 1048576u   /* libwebsockets makes a table of them */
#define IDLE_TURNS_MAX 16u         /* see thread_main() */
#define NAP_US 1000

static int callback(struct lws *, enum lws_callback_reasons, void *user,
    void *in, size_t n);

static const struct lws_protocols protocols[] = {
	{ .name = "http", .callback = callback,
	  .tx_packet_size = WEB_CHUNK_BYTES },
	{ .name = NULL },
};

/* These stand in every answer, libwebsockets' own included. */
static const struct lws_protocol_vhost_options headers[] = {
	{ .next = &headers[1], .name = "x-content-type-options:",
	  .value = "nosniff" },
	{ .next = &headers[2], .name = "x-frame-options:", .value = "DENY" },
	{ .next = &headers[3], .name = "referrer-policy:",
	  .value = "no-referrer" },
	{ .name = "cross-origin-resource-policy:", .value = "same-origin" },
};

/* -- Accepting -- */

/* A whole answer for those that never become a request. */
static void
put_refusal(struct buf *b, int status, const char *text, const char *code)
{
	struct buf json = BUF_INIT;

	web_error_json(&json, str_of(text), code);
	buf_printf(b, "HTTP/1.1 %d \r\ncontent-type: application/json\r\n"
	    "content-length: %zu\r\nconnection: close\r\n"
	    "x-content-type-options: nosniff\r\n\r\n%.*s", status, json.n,
	    STR_FMT(buf_str(&json)));
	buf_free(&json);
}

static void
refuse(struct web *w, int fd)
{
	struct buf b = BUF_INIT;

	web_add(&w->refused, 1);
	put_refusal(&b, 503, "too many connections are open", "limit");
	/* An answer that does not fit into an empty socket is not worth it. */
	if (send(fd, b.p, b.n, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		shutdown(fd, SHUT_WR);
	close(fd);
	buf_free(&b);
}

static void
conn_free(struct conn *c)
{
	if (c->request != NULL)
		web_request_drop(&c->request);
	list_take(&c->node);
	web_add(&c->web->connections, (uint64_t)-1);
	free(c);
}

static void
adopt(struct web *w, int fd)
{
	int one = 1;
	struct conn *c = mem_new(sizeof(*c));

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->web = w;
	c->adopting = true;
	list_put(&w->conns, &c->node);
	web_add(&w->connections, 1);
	web_add(&w->accepted, 1);
	struct lws *wsi = lws_adopt_descriptor_vhost_via_info(
	    &(lws_adopt_desc_t){
		.vh = w->vhost, .fd.sockfd = fd, .opaque = c,
		.type = LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP |
		    LWS_ADOPT_ALLOW_SSL,
	    });
	/* It has closed the descriptor when it could not adopt it. */
	c->adopting = false;
	c->wsi = wsi;
	if (wsi == NULL)
		conn_free(c);
}

static int
accept_some(struct web *w, struct lws *listener)
{
	int at = lws_get_socket_fd(listener);

	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		int fd = accept4(at, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0 && (errno == EMFILE || errno == ENFILE ||
		    errno == ENOBUFS || errno == ENOMEM)) {
			log_warn("web.accept", "error=\"%s\"",
			    strerror(errno));
			lws_rx_flow_control(listener, 0);
			lws_set_timer_usecs(listener, ACCEPT_PAUSE_US);
			return 0;
		}
		if (fd < 0)
			return 0;
		if (atomic_load_explicit(&w->connections,
		    memory_order_relaxed) >= w->options.connections_max)
			refuse(w, fd);
		else
			adopt(w, fd);
	}
	return 0;
}

/* -- The callback -- */

/*
 * What its parser takes for no HTTP comes here, as does CONNECT.  The bytes are
 * those of the read in which it gave up.
 */
static int
not_http(struct lws *wsi, const char *bytes, size_t n)
{
	struct buf b = BUF_INIT;

	buf_grow(&b, LWS_PRE);
	/* A TLS handshake begins so. */
	if (n > 0 && bytes[0] == 0x16)
		put_refusal(&b, 400, "this port speaks HTTP without TLS",
		    "no_tls");
	else
		put_refusal(&b, 501, "the method is not known here",
		    "bad_method");
	(void)lws_write(wsi, (unsigned char *)b.p + LWS_PRE, b.n - LWS_PRE,
	    LWS_WRITE_RAW);
	buf_free(&b);
	return -1;
}

static bool
deliver_mail(struct web *w)
{
	struct mail *m = atomic_exchange_explicit(&w->box, NULL,
	    memory_order_acquire);
	struct mail *oldest = NULL;

	while (m != NULL) {
		struct mail *next = m->next;
		m->next = oldest;
		oldest = m;
		m = next;
	}
	bool any = oldest != NULL;
	while (oldest != NULL) {
		struct mail *next = oldest->next;
		oldest->deliver(oldest);
		oldest = next;
	}
	return any;
}

static void
begin_drain(struct web *w)
{
	w->draining = true;
	/* At once: who connects from now on is told so by the system. */
	if (w->listener != NULL)
		lws_set_timeout(w->listener, PENDING_TIMEOUT_USER_OK,
		    LWS_TO_KILL_SYNC);
	for (struct list *n = w->conns.next; n != &w->conns; n = n->next) {
		struct conn *c = LIST_ITEM(n, struct conn, node);
		c->close = true;
		if (c->state == CONN_IDLE)
			web_conn_kill(c);
	}
	sem_post(&w->drains);
}

static void
deadline_met(lws_sorted_usec_list_t *sul)
{
	struct web *w = CONTAINER(sul, struct web, deadline);

	/* The turn that fires timers goes on to wait: wake it. */
	w->expired = true;
	lws_cancel_service(w->context);
}

/* Somebody called lws_cancel_service(). */
static void
woken(struct web *w)
{
	deliver_mail(w);
	if (atomic_load(&w->stopping) && !w->draining)
		begin_drain(w);
	if (atomic_load(&w->closing) && w->deadline.cb == NULL)
		lws_sul_schedule(w->context, 0, &w->deadline, deadline_met,
		    (lws_usec_t)w->options.drain_s_max * LWS_USEC_PER_SEC);
}

static void
destroyed(struct web *w, struct lws *wsi)
{
	struct conn *c = lws_get_opaque_user_data(wsi);

	if (wsi == w->listener)
		w->listener = NULL;
	else if (c != NULL && !c->adopting)
		conn_free(c);
}

static int
conn_callback(struct conn *c, struct lws *wsi, enum lws_callback_reasons why,
    void *in, size_t n)
{
	switch (why) {
	case LWS_CALLBACK_HTTP:
		return web_on_head(c, wsi, (struct str){ in, n });
	case LWS_CALLBACK_HTTP_BODY:
		return web_on_body(c, (struct str){ in, n });
	case LWS_CALLBACK_HTTP_BODY_COMPLETION:
		return web_on_body_end(c);
	case LWS_CALLBACK_HTTP_WRITEABLE:
		return web_on_writable(c);
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		return web_on_upgrade(c, wsi, in);
	case LWS_CALLBACK_TIMER:
		return web_on_timer(c);
	case LWS_CALLBACK_RAW_RX:
		return not_http(wsi, in, n);
	default:
		return 0;
	}
}

static int
callback(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t n)
{
	struct lws_context *context = lws_get_context(wsi);
	struct web *w = context == NULL ? NULL : lws_context_user(context);

	(void)user;
	if (w == NULL)
		return 0;
	switch (reason) {
	case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
		w->turns++;
		woken(w);
		return 0;
	case LWS_CALLBACK_WSI_DESTROY:
		w->turns++;
		destroyed(w, wsi);
		return 0;
	case LWS_CALLBACK_RAW_RX_FILE:
		w->turns++;
		return accept_some(w, wsi);
	case LWS_CALLBACK_PROTOCOL_INIT:
	case LWS_CALLBACK_PROTOCOL_DESTROY:
	case LWS_CALLBACK_GET_THREAD_ID:
	case LWS_CALLBACK_WSI_CREATE:
		return 0;
	default:
		break;
	}
	if (wsi == w->listener) {
		if (reason == LWS_CALLBACK_TIMER)
			lws_rx_flow_control(wsi, 1);
		return 0;
	}
	struct conn *c = lws_get_opaque_user_data(wsi);
	if (c == NULL)
		return 0;
	/* The first callbacks come before lws_adopt_...() has returned. */
	c->wsi = wsi;
	return conn_callback(c, wsi, reason, in, n);
}

/* -- The thread -- */

static bool
ended(const struct web *w)
{
	return atomic_load_explicit(&w->closing, memory_order_relaxed) &&
	    w->draining && (w->expired || list_empty(&w->conns));
}

/*
 * A client that sends its next request while it does not read our answer makes
 * libwebsockets find work at every turn and do none.  After a few turns in
 * which nothing was done the thread takes naps, rather than a whole core.
 */
static void *
thread_main(void *arg)
{
	struct web *w = arg;
	unsigned idle = 0;

	while (!ended(w)) {
		uint64_t before = w->turns;
		if (lws_service(w->context, 0) < 0)
			break;
		idle = w->turns == before ? idle + 1 : 0;
		if (idle > IDLE_TURNS_MAX)
			usleep(NAP_US);
	}
	return NULL;
}

/* Signals belong to the loop that asked for them, never to this thread. */
static int
start_thread(struct web *w)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(&w->thread, NULL, thread_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r == 0)
		pthread_setname_np(w->thread, "web");
	return r;
}

/* -- Opening -- */

static void
settle(struct web_options *o)
{
	if (o->address == NULL)
		o->address = "127.0.0.1";
	if (o->connections_max == 0)
		o->connections_max = WEB_CONNECTIONS_MAX;
	if (o->head_bytes_max == 0)
		o->head_bytes_max = WEB_HEAD_BYTES_MAX;
	if (o->body_bytes_max == 0)
		o->body_bytes_max = WEB_BODY_BYTES_MAX;
	if (o->idle_s_max == 0)
		o->idle_s_max = WEB_IDLE_S_MAX;
	if (o->head_s_max == 0)
		o->head_s_max = WEB_HEAD_S_MAX;
	if (o->body_s_max == 0)
		o->body_s_max = WEB_BODY_S_MAX;
	if (o->drain_s_max == 0)
		o->drain_s_max = WEB_DRAIN_S_MAX;
}

static enum err
listen_at(const struct sockaddr_storage *at, size_t n, const char *address,
    unsigned port, int *fd, struct why *why_)
{
	int one = 1;

	*fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);
	if (*fd < 0)
		return why_errno(why_, err_from_errno(errno),
		    "cannot make a socket");
	setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(*fd, (const struct sockaddr *)at, (socklen_t)n) == 0 &&
	    listen(*fd, BACKLOG) == 0)
		return OK;
	enum err e = errno == EADDRINUSE ? ERR_BUSY : err_from_errno(errno);
	why_errno(why_, e, "cannot listen on %s port %u", address, port);
	close(*fd);
	*fd = -1;
	return e;
}

static enum err
listen_as_told(struct web *w, int *fd, struct why *why_)
{
	struct sockaddr_storage at;
	size_t n;
	const struct web_options *o = &w->options;

	if (o->head_bytes_max > 60000)
		return why(why_, ERR_CONFIG, "head_bytes_max is at most 60000");
	if (!web_address(o->address, o->port, &at, &n, &w->loopback))
		return why(why_, ERR_CONFIG, "%s is not an IPv4 or IPv6 "
		    "address to listen on", o->address);
	if (!w->loopback && !o->insecure)
		return why(why_, ERR_CONFIG, "%s can be reached by others, and "
		    "this port has neither TLS nor a token: listen on "
		    "127.0.0.1 or say --insecure", o->address);
	enum err e = listen_at(&at, n, o->address, o->port, fd, why_);
	if (e != OK)
		return e;
	socklen_t size = sizeof(at);
	CHECK(getsockname(*fd, (struct sockaddr *)&at, &size) == 0);
	w->port = ntohs(at.ss_family == AF_INET ?
	    ((struct sockaddr_in *)&at)->sin_port :
	    ((struct sockaddr_in6 *)&at)->sin6_port);
	return OK;
}

static void
log_lws(int level, const char *line)
{
	struct log_text quoted;

	/* Clients can cause most of them: never louder than this. */
	(void)level;
	log_debug("web.lws", "text=%s", log_quote(&quoted,
	    str_trim(str_of(line))));
}

/*
 * libwebsockets sizes its tables by the limit of descriptors, which may be a
 * thousand million in a container.  It is lowered while it looks.
 */
static struct lws_context *
create_context(const struct lws_context_creation_info *info)
{
	struct rlimit told, lower;
	bool lowered = getrlimit(RLIMIT_NOFILE, &told) == 0 &&
	    told.rlim_cur > DESCRIPTORS_MAX;

	if (lowered) {
		lower = told;
		lower.rlim_cur = DESCRIPTORS_MAX;
		setrlimit(RLIMIT_NOFILE, &lower);
	}
	struct lws_context *context = lws_create_context(info);
	if (lowered)
		setrlimit(RLIMIT_NOFILE, &told);
	return context;
}

static bool
start_lws(struct web *w, int *fd)
{
	struct lws_context_creation_info info;

	memset(&info, 0, sizeof(info));
	info.port = CONTEXT_PORT_NO_LISTEN_SERVER;
	info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
	    LWS_SERVER_OPTION_FALLBACK_TO_APPLY_LISTEN_ACCEPT_CONFIG;
	info.protocols = protocols;
	info.headers = headers;
	info.user = w;
	info.pt_serv_buf_size = READ_BYTES;
	info.max_http_header_data2 = w->options.head_bytes_max;
	info.max_http_header_pool2 = w->options.connections_max + 1;
	info.timeout_secs = w->options.idle_s_max;
	info.timeout_secs_ah_idle = w->options.head_s_max;
	info.keepalive_timeout = (int)w->options.idle_s_max;
	lws_set_log_level(LLL_ERR | LLL_WARN, log_lws);
	w->context = create_context(&info);
	if (w->context == NULL)
		return false;
	w->vhost = lws_create_vhost(w->context, &info);
	if (w->vhost == NULL)
		return false;
	w->listener = lws_adopt_descriptor_vhost(w->vhost,
	    LWS_ADOPT_RAW_FILE_DESC, (lws_sock_file_fd_type){ .filefd = *fd },
	    "http", NULL);
	if (w->listener != NULL)
		*fd = -1;
	return w->listener != NULL;
}

static void
free_all(struct web *w)
{
	struct list *n;

	if (w->context != NULL)
		lws_context_destroy(w->context);
	/* Kept, and never answered. */
	while ((n = w->requests.next) != &w->requests) {
		struct web_request *r = LIST_ITEM(n, struct web_request, node);
		web_request_free(&r);
	}
	CHECK(list_empty(&w->conns));
	sem_destroy(&w->drains);
	free(w->counters);
	free(w->scratch);
	free(w);
}

enum err
web_open(const struct web_options *options, const struct web_route *routes,
    size_t n, struct web **out, struct why *why_)
{
	struct web *w = mem_new(sizeof(*w));
	int fd = -1;

	web_routes_check(routes, n);
	if (options != NULL)
		w->options = *options;
	settle(&w->options);
	w->routes = routes;
	w->routes_n = n;
	w->date_s = -1;
	list_init(&w->conns);
	list_init(&w->requests);
	CHECK(sem_init(&w->drains, 0, 0) == 0);
	w->scratch = mem_new(w->options.head_bytes_max + 1);
	w->counters = mem_array((n + 1) * WEB_STATUS_COUNT,
	    sizeof(*w->counters));
	enum err e = listen_as_told(w, &fd, why_);
	if (e == OK && (!start_lws(w, &fd) || start_thread(w) != 0))
		e = why(why_, ERR_IO, "libwebsockets does not start");
	if (fd >= 0)
		close(fd);
	if (e != OK)
		free_all(w);
	*out = e == OK ? w : NULL;
	return e;
}

uint16_t
web_port(const struct web *w)
{
	return w->port;
}

void
web_post(struct web *w, struct mail *m)
{
	struct mail *head = atomic_load_explicit(&w->box, memory_order_relaxed);

	do
		m->next = head;
	while (!atomic_compare_exchange_weak_explicit(&w->box, &head, m,
	    memory_order_release, memory_order_relaxed));
	if (head == NULL)
		lws_cancel_service(w->context);
}

void
web_stop(struct web *w)
{
	if (atomic_exchange(&w->stopping, true))
		return;
	lws_cancel_service(w->context);
	while (sem_wait(&w->drains) != 0)
		CHECK(errno == EINTR);
}

void
web_close(struct web **wp)
{
	struct web *w = *wp;

	if (w == NULL)
		return;
	web_stop(w);
	atomic_store(&w->closing, true);
	lws_cancel_service(w->context);
	CHECK(pthread_join(w->thread, NULL) == 0);
	while (deliver_mail(w))
		;
	free_all(w);
	*wp = NULL;
}
