/*
 * A connection of the broker: made, logged in, kept alive, made again.
 *
 *     timer ─► connect ─► log in ─► exchange ─► role's set_up ─► frames ...
 *       ▲                                                           │
 *       └──── pause ◄──── role's disconnected ◄──── failed ◄────────┘
 *
 * Commands wait for their reply; the library keeps what else arrives meanwhile,
 * and the end of the turn reads it.  Code that finds the connection unusable
 * notes the reason in `failed`; broker_link_turn() gives it up.
 */
#include "os/broker_own.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#if __has_include(<rabbitmq-c/amqp.h>)
#include <rabbitmq-c/ssl_socket.h>
#include <rabbitmq-c/tcp_socket.h>
#else
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#endif

/* OpenSSL has a type of the name of one of our errors. */
#define ERR_STATE OPENSSL_ERR_STATE
#include <openssl/ssl.h>
#undef ERR_STATE

#include "os/clock.h"
#include "os/file.h"

#define PUMP_MS 1000
#define PASSWORD_BYTES_MAX 4096u
#define CHANNELS_MAX 2047
/* A socket that can be written to has a third of this free: see has_room. */
#define SOCKET_BYTES (256 << 10)

/* ---- Errors -------------------------------------------------------------- */

static enum err
err_of_code(unsigned code)
{
	switch (code) {
	case AMQP_ACCESS_REFUSED:
	case AMQP_NOT_ALLOWED:
		return ERR_DENIED;
	case AMQP_NOT_FOUND:
		return ERR_ABSENT;
	case AMQP_RESOURCE_LOCKED:
		return ERR_BUSY;
	case AMQP_PRECONDITION_FAILED:
	case AMQP_NOT_IMPLEMENTED:
		return ERR_STATE;
	case AMQP_CONTENT_TOO_LARGE:
		return ERR_FULL;
	default:
		return ERR_UNREACHED;
	}
}

/*
 * What the broker says, on one line.  It could send back the password that it
 * has just got.
 */
static void
put_message(const struct broker_link *l, struct str said, struct buf *out)
{
	while (said.n > 0) {
		if (l->secret.n > 0 && str_starts(said, l->secret)) {
			buf_put_text(out, "***");
			said = str_from(said, l->secret.n);
			continue;
		}
		buf_put_char(out, (unsigned char)*said.p < ' ' ? ' ' :
		    *said.p);
		said = str_from(said, 1);
	}
}

static enum err
broker_says(const struct broker_link *l, unsigned code, amqp_bytes_t text,
    struct why *w)
{
	FREED(buf_free) struct buf message = BUF_INIT;

	put_message(l, broker_str(text), &message);
	return why(w, err_of_code(code), "RabbitMQ at %s:%u: %s (%u)",
	    l->broker->url.host, l->broker->url.port, buf_text(&message),
	    code);
}

/* The connection is unusable from now on; the first reason stays. */
static enum err
fail_link(struct broker_link *l, enum err e, const char *what, struct why *w)
{
	(void)!why(&l->failed, e, "RabbitMQ at %s:%u: %s",
	    l->broker->url.host, l->broker->url.port, what);
	return why(w, l->failed.err, "%s", l->failed.text);
}

static enum err
fail_status(struct broker_link *l, int status, struct why *w)
{
	return fail_link(l, status == AMQP_STATUS_TIMEOUT ? ERR_TIMEOUT :
	    ERR_UNREACHED, amqp_error_string2(status), w);
}

/* The broker ends the connection, and wants to hear that we know. */
static enum err
connection_closed(struct broker_link *l, const amqp_connection_close_t *m,
    struct why *w)
{
	amqp_connection_close_ok_t ok = { .dummy = '\0' };
	struct why said = WHY_INIT;

	(void)!broker_says(l, m->reply_code, m->reply_text, &said);
	(void)amqp_send_method(l->conn, 0, AMQP_CONNECTION_CLOSE_OK_METHOD,
	    &ok);
	(void)!why(&l->failed, said.err, "%s", said.text);
	return why(w, l->failed.err, "%s", l->failed.text);
}

enum err
broker_link_channel_closed(struct broker_link *l, amqp_channel_t channel,
    const amqp_channel_close_t *m, struct why *w)
{
	amqp_channel_close_ok_t ok = { .dummy = '\0' };
	struct why said = WHY_INIT;

	(void)!broker_says(l, m->reply_code, m->reply_text, &said);
	int status = amqp_send_method(l->conn, channel,
	    AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
	if (status != AMQP_STATUS_OK)
		return fail_status(l, status, w);
	return why(w, said.err, "%s", said.text);
}

static enum err
judge_reply(struct broker_link *l, amqp_channel_t channel,
    const amqp_rpc_reply_t *r, struct why *w)
{
	if (r->reply_type == AMQP_RESPONSE_NORMAL)
		return OK;
	if (r->reply_type == AMQP_RESPONSE_SERVER_EXCEPTION &&
	    r->reply.id == AMQP_CHANNEL_CLOSE_METHOD)
		return broker_link_channel_closed(l, channel,
		    r->reply.decoded, w);
	if (r->reply_type == AMQP_RESPONSE_SERVER_EXCEPTION &&
	    r->reply.id == AMQP_CONNECTION_CLOSE_METHOD)
		return connection_closed(l, r->reply.decoded, w);
	return fail_status(l, r->library_error, w);
}

enum err
broker_link_reply(struct broker_link *l, amqp_channel_t channel, struct why *w)
{
	amqp_rpc_reply_t r = amqp_get_rpc_reply(l->conn);

	return judge_reply(l, channel, &r, w);
}

enum err
broker_link_sent(struct broker_link *l, int status, struct why *w)
{
	return status == AMQP_STATUS_OK ? OK : fail_status(l, status, w);
}

bool
broker_link_is_up(const struct broker_link *l)
{
	return l->conn != NULL && l->failed.err == OK;
}

/* ---- Connecting ---------------------------------------------------------- */

/* The password, wiped when it is freed; its room does not grow. */
static void
wipe(struct buf *b)
{
	if (b->cap > 0)
		explicit_bzero(b->p, b->cap);
	buf_free(b);
}

static enum err
read_password(const struct broker *b, struct buf *out, struct why *w)
{
	const char *path = b->options.password_file;
	struct why inner = WHY_INIT;

	buf_reserve(out, PASSWORD_BYTES_MAX + 1);
	if (path == NULL) {
		buf_put_text(out, "guest");
		return OK;
	}
	enum err e = file_load_private(path, PASSWORD_BYTES_MAX, out, &inner);
	if (e != OK)
		return why_field(w, e, "password_file", "%s", inner.text);
	out->n = str_find_char(buf_str(out), '\n');
	if (out->n == 0 || memchr(out->p, '\0', out->n) != NULL)
		return why_field(w, ERR_INPUT, "password_file", "%s has no "
		    "password in its first line", path);
	return OK;
}

static enum err
trust_system(amqp_socket_t *s)
{
	return SSL_CTX_set_default_verify_paths(
	    amqp_ssl_socket_get_context(s)) == 1 ? OK : ERR_CONFIG;
}

/* A socket that is not connected yet; the connection owns it. */
static enum err
make_socket(struct broker_link *l, amqp_socket_t **out, struct why *w)
{
	const char *ca = l->broker->options.tls_ca;

	if (!l->broker->url.tls) {
		*out = amqp_tcp_socket_new(l->conn);
		return *out != NULL ? OK : fail_status(l,
		    AMQP_STATUS_NO_MEMORY, w);
	}
	*out = amqp_ssl_socket_new(l->conn);
	if (*out == NULL)
		return fail_status(l, AMQP_STATUS_SSL_ERROR, w);
	amqp_ssl_socket_set_verify_peer(*out, 1);
	amqp_ssl_socket_set_verify_hostname(*out, 1);
	enum err e = amqp_ssl_socket_set_ssl_versions(*out, AMQP_TLSv1_2,
	    AMQP_TLSvLATEST) == AMQP_STATUS_OK ? OK : ERR_CONFIG;
	if (e == OK && ca == NULL)
		e = trust_system(*out);
	else if (e == OK && amqp_ssl_socket_set_cacert(*out, ca) !=
	    AMQP_STATUS_OK)
		e = ERR_CONFIG;
	return e == OK ? OK : fail_link(l, e, "the certificates of tls_ca "
	    "cannot be read", w);
}

static enum err
open_socket(struct broker_link *l, struct why *w)
{
	const struct broker *b = l->broker;
	struct timeval connect = { b->limits.connect_ms / 1000,
	    b->limits.connect_ms % 1000 * 1000 };
	struct timeval answer = { b->limits.answer_ms / 1000,
	    b->limits.answer_ms % 1000 * 1000 };
	int size = SOCKET_BYTES;
	amqp_socket_t *s;

	enum err e = make_socket(l, &s, w);
	if (e != OK)
		return e;
	int status = amqp_socket_open_noblock(s, b->url.host, b->url.port,
	    &connect);
	if (status != AMQP_STATUS_OK)
		return fail_status(l, status, w);
	(void)amqp_set_handshake_timeout(l->conn, &connect);
	(void)amqp_set_rpc_timeout(l->conn, &answer);
	(void)setsockopt(amqp_get_sockfd(l->conn), SOL_SOCKET, SO_SNDBUF,
	    &size, sizeof(size));
	return OK;
}

static amqp_table_entry_t
text_entry(const char *key, const char *value)
{
	return (amqp_table_entry_t){ .key = amqp_cstring_bytes(key),
	    .value = { .kind = AMQP_FIELD_KIND_UTF8,
	    .value.bytes = amqp_cstring_bytes(value) } };
}

static amqp_table_entry_t
can_entry(const char *key)
{
	return (amqp_table_entry_t){ .key = amqp_cstring_bytes(key),
	    .value = { .kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = 1 } };
}

static enum err
log_in(struct broker_link *l, const char *password, struct why *w)
{
	const struct broker *b = l->broker;
	char name[128];
	/* Without these the broker does not tell us what we react to. */
	amqp_table_entry_t can[] = { can_entry("basic.nack"),
		can_entry("connection.blocked"),
		can_entry("consumer_cancel_notify"),
		can_entry("publisher_confirms") };
	amqp_table_entry_t mine[] = { text_entry("product", "Argiope"),
		text_entry("version", ARGIOPE_VERSION),
		text_entry("connection_name", name),
		{ .key = amqp_cstring_bytes("capabilities"), .value = {
		.kind = AMQP_FIELD_KIND_TABLE, .value.table = {
		ARRAY_LEN(can), can } } } };
	amqp_table_t properties = { ARRAY_LEN(mine), mine };

	snprintf(name, sizeof(name), "%.100s (%s)", b->options.name,
	    l->role->name);
	mine[2] = text_entry("connection_name", name);
	amqp_rpc_reply_t r = amqp_login_with_properties(l->conn, b->url.vhost,
	    CHANNELS_MAX, BROKER_FRAME_BYTES_MAX, (int)b->limits.heartbeat_s,
	    &properties, AMQP_SASL_METHOD_PLAIN, b->url.user, password);
	return judge_reply(l, 0, &r, w);
}

static enum err
declare_exchange(struct broker_link *l, struct why *w)
{
	struct str exchange = str_of(l->broker->options.exchange);

	(void)amqp_channel_open(l->conn, BROKER_CHANNEL_MAIN);
	enum err e = broker_link_reply(l, BROKER_CHANNEL_MAIN, w);
	if (e != OK)
		return e;
	(void)amqp_exchange_declare(l->conn, BROKER_CHANNEL_MAIN,
	    broker_bytes(exchange), amqp_cstring_bytes("topic"), 0, 1, 0, 0,
	    amqp_empty_table);
	return broker_link_reply(l, BROKER_CHANNEL_MAIN, w);
}

enum err
broker_link_go_on(const struct broker_link *l, struct why *w)
{
	return atomic_load(&l->broker->closing) ? why(w, ERR_CLOSED,
	    "the end was asked for") : OK;
}

static enum err
connect_link(struct broker_link *l, struct why *w)
{
	FREED(wipe) struct buf password = BUF_INIT;

	enum err e = read_password(l->broker, &password, w);
	if (e != OK)
		return e;
	l->conn = amqp_new_connection();
	CHECK(l->conn != NULL);
	e = open_socket(l, w);
	if (e == OK)
		e = broker_link_go_on(l, w);
	l->secret = buf_str(&password);
	if (e == OK)
		e = log_in(l, buf_text(&password), w);
	l->secret = STR_NONE;
	if (e == OK)
		e = broker_link_go_on(l, w);
	if (e == OK)
		e = declare_exchange(l, w);
	return e == OK ? l->role->set_up(l, w) : e;
}

static void
socket_ready(struct watch *w, unsigned events)
{
	/* The turn's end does the work. */
	(void)w, (void)events;
}

static void
watch_socket(struct broker_link *l)
{
	loop_watch(l->broker->loop, &l->watch, LOOP_READ |
	    (l->wants_room ? LOOP_WRITE : 0u));
}

int64_t
broker_pause_ms(const struct broker *b, int64_t *retry_ms)
{
	uint32_t dice;

	*retry_ms = *retry_ms == 0 ? b->limits.retry_ms_min :
	    MIN(2 * *retry_ms, b->limits.retry_ms_max);
	clock_random(&dice, sizeof(dice));
	return *retry_ms * (800 + dice % 401) / 1000;
}

void
broker_link_proved(struct broker_link *l)
{
	l->retry_ms = 0;
}

static void
drop_connection(struct broker_link *l)
{
	if (l->conn == NULL)
		return;
	if (l->watch.fd >= 0)
		loop_watch(l->broker->loop, &l->watch, 0);
	l->watch.fd = -1;
	l->wants_room = l->is_set_up = false;
	(void)amqp_destroy_connection(l->conn);
	l->conn = NULL;
	l->role->disconnected(l);
}

/* Give the connection up, say why, and try again after a pause. */
static void
lose_connection(struct broker_link *l, const struct why *reason)
{
	struct broker *b = l->broker;
	struct broker_event event = { .kind = BROKER_DISCONNECTED,
		.side = l->side, .why = *reason };
	bool lasted = l->is_set_up && mono_ns_between(l->since,
	    clock_mono()) / NS_PER_MS > b->limits.retry_ms_max;

	drop_connection(l);
	l->failed = WHY_INIT;
	if (lasted)
		broker_link_proved(l);
	event.retry_ms = broker_pause_ms(b, &l->retry_ms);
	loop_timer_set(b->loop, &l->timer, mono_add_ms(clock_mono(),
	    event.retry_ms));
	broker_tell(b, &event);
}

static void
begin_connection(struct broker_link *l)
{
	struct why w = WHY_INIT;

	l->failed = WHY_INIT;
	if (connect_link(l, &w) != OK) {
		lose_connection(l, &w);
		return;
	}
	l->is_set_up = true;
	l->since = clock_mono();
	l->watch.fd = amqp_get_sockfd(l->conn);
	watch_socket(l);
	broker_tell(l->broker, &(struct broker_event){
	    .kind = BROKER_CONNECTED, .side = l->side });
}

static void
timer_fired(struct timer *t)
{
	struct broker_link *l = CONTAINER(t, struct broker_link, timer);

	if (l->conn == NULL && !atomic_load(&l->broker->closing))
		begin_connection(l);
	/* For heartbeats the library must be called, though nothing comes. */
	if (l->conn != NULL)
		loop_timer_set(l->broker->loop, t, mono_add_ms(clock_mono(),
		    PUMP_MS));
}

/* ---- Frames -------------------------------------------------------------- */

static enum err
take_frame(struct broker_link *l, const amqp_frame_t *f, struct why *w)
{
	if (f->frame_type == AMQP_FRAME_METHOD && f->channel == 0 &&
	    f->payload.method.id == AMQP_CONNECTION_CLOSE_METHOD)
		return connection_closed(l, f->payload.method.decoded, w);
	return l->role->take_frame(l, f, w);
}

static enum err
read_frames(struct broker_link *l, struct why *w)
{
	struct timeval now = { 0, 0 };
	amqp_frame_t frame;
	enum err e = OK;

	while (e == OK) {
		int status = amqp_simple_wait_frame_noblock(l->conn, &frame,
		    &now);
		if (status == AMQP_STATUS_TIMEOUT)
			return OK;
		if (status != AMQP_STATUS_OK)
			return fail_status(l, status, w);
		e = take_frame(l, &frame, w);
		amqp_maybe_release_buffers_on_channel(l->conn, frame.channel);
	}
	return e;
}

/*
 * poll(2) calls a TCP socket writable when a third of its buffer is free, which
 * is more than a frame needs.
 */
bool
broker_link_has_room(const struct broker_link *l)
{
	struct pollfd p = { .fd = l->watch.fd, .events = POLLOUT };

	return poll(&p, 1, 0) != 0;
}

void
broker_link_want_room(struct broker_link *l, bool wants)
{
	if (wants == l->wants_room)
		return;
	l->wants_room = wants;
	watch_socket(l);
}

void
broker_link_turn(struct broker_link *l)
{
	struct why w = WHY_INIT;

	if (l->conn == NULL)
		return;
	enum err e = l->failed.err;
	if (e == OK)
		e = read_frames(l, &w);
	if (e == OK)
		e = l->role->flush(l, &w);
	if (l->failed.err != OK)
		lose_connection(l, &l->failed);
	else if (e != OK)
		lose_connection(l, &w);
}

/* ---- Start and end ------------------------------------------------------- */

void
broker_link_start(struct broker_link *l, struct broker *b,
    enum broker_side side, const struct broker_role *role)
{
	l->broker = b;
	l->side = side;
	l->role = role;
	l->failed = WHY_INIT;
	l->watch = (struct watch){ .fd = -1, .ready = socket_ready };
	l->timer.fire = timer_fired;
	loop_timer_set(b->loop, &l->timer, loop_now(b->loop));
}

void
broker_link_stop(struct broker_link *l, bool in_order)
{
	loop_timer_stop(l->broker->loop, &l->timer);
	if (broker_link_is_up(l) && in_order)
		(void)amqp_connection_close(l->conn, AMQP_REPLY_SUCCESS);
	drop_connection(l);
}
