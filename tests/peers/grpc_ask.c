/*
 * grpc_ask -- our gRPC client against any server of the Echo service: the
 * interop cases, one line each: name, code, messages, bytes, text.
 *
 *     grpc_ask ADDRESS PORT [CA NAME]
 */
#include "os/system.h"
#include "server/grpc_port.h"

static struct {
	struct loop *loop;
	struct net *net;
	struct grpc_port *port;
	size_t next;                 /* the case that comes */
	/* Of the case under way. */
	struct grpc_call *call;
	uint64_t messages, bytes, sent;
	char text[300], header[100], trailer[100];
	struct timer timer;
} a;

struct story {
	const char *name, *method, *message;   /* a method, or a whole path */
	uint64_t messages, size;     /* to send; size 0: `message` */
	int64_t timeout_ms;
	int flags;
};
enum { ONE_BY_ONE = 1, CANCELS = 2, FIELDS = 4, SLOWLY = 8, SOON = 16 };

static const struct story stories[] = {
	{ "empty_unary", "Unary", "", 1, 0, 0, 0 },
	{ "large_unary", "Unary", NULL, 1, 271828, 0, 0 },
	{ "custom_metadata", "Unary", "x", 1, 0, 0, FIELDS },
	{ "custom_metadata both ways", "Chat", "x", 1, 0, 0, FIELDS },
	{ "client_streaming", "Count", NULL, 5000, 1000, 0, 0 },
	{ "server_streaming", "Many", "3000 1000", 1, 0, 0, 0 },
	{ "slow_consumer", "Many", "300 20000", 1, 0, 0, SLOWLY },
	{ "ping_pong", "Chat", "ping", 100, 0, 0, ONE_BY_ONE },
	{ "empty_stream", "Chat", "", 0, 0, 0, 0 },
	{ "both_ways", "Chat", NULL, 2000, 5000, 0, 0 },
	{ "status_code_and_message", "Status", "9 test status", 1, 0, 0, 0 },
	{ "special_status_message", "Status", "2 \t\r\n% \xe2\x98\xba \xf0\x9f"
	    "\x98\x88", 1, 0, 0, 0 },
	{ "unimplemented_method", "Nothing", "x", 1, 0, 0, 0 },
	{ "unimplemented_service", "/no.Such/Thing", "x", 1, 0, 0, 0 },
	{ "cancel_after_begin", "Count", "x", 1, 0, 0, ONE_BY_ONE | CANCELS |
	    SOON },
	{ "cancel_after_first_response", "Chat", "x", 3, 0, 0,
	    ONE_BY_ONE | CANCELS },
	{ "timeout_on_sleeping_server", "Never", "x", 1, 0, 150, 0 },
};

static void begin(void);

static void
send_more(struct grpc_call *c)
{
	const struct story *s = &stories[a.next];
	void *room;

	while (a.sent < s->messages) {
		size_t n = s->size != 0 ? s->size : strlen(s->message);
		enum grpc_room r = grpc_send_room(c, n, &room);
		if (r == GRPC_GONE)
			return;
		a.sent++;
		if (s->size != 0)
			memset(room, 's', n);
		else if (n > 0)
			memcpy(room, s->message, n);
		if (r == GRPC_FULL || (s->flags & ONE_BY_ONE))
			return;
	}
	grpc_half_close(c);
}

static void
on_message(struct grpc_call *c, struct str message)
{
	const struct story *s = &stories[a.next];

	a.messages++;
	a.bytes += message.n;
	if (s->flags & CANCELS)
		grpc_cancel(c);
	else if (s->flags & ONE_BY_ONE)
		send_more(c);
	if (s->flags & SLOWLY) {
		grpc_pause(c);
		loop_timer_set(a.loop, &a.timer,
		    mono_add_ms(loop_now(a.loop), 1));
	}
}

static void
later(struct timer *t)
{
	(void)t;
	if (a.call == NULL)
		return;
	if (stories[a.next].flags & SOON)
		grpc_cancel(a.call);
	else
		grpc_resume(a.call);
}

static void
copy(char *out, size_t room, struct str s)
{
	snprintf(out, room, "%.*s", STR_FMT(s));
}

static void
print_json(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == '%')
			printf("%%%02x", (unsigned char)*text);
		else
			putchar(*text);
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	copy(a.text, sizeof(a.text), text);
	copy(a.header, sizeof(a.header), grpc_metadata(c, STR("x-echo")));
	copy(a.trailer, sizeof(a.trailer),
	    grpc_metadata(c, STR("x-echo-bin")));
	a.call = NULL;
	printf("%s: %s %llu %llu ", stories[a.next].name, grpc_code_name(code),
	    (unsigned long long)a.messages, (unsigned long long)a.bytes);
	print_json(code == GRPC_OK ? a.header : a.text);
	print_json(a.trailer);
	printf("\n");
	a.next++;
	begin();
}

static const struct grpc_events events = { .on_message = on_message,
	.on_writable = send_more, .on_end = on_end };

static void
begin(void)
{
	static const struct grpc_field fields[] = {
	    { { "x-echo", 6 }, { "some value", 10 } },
	    { { "x-echo-bin", 10 }, { "\x01\x02 any", 6 } } };
	const struct story *s = &stories[a.next];
	char path[100];
	struct why w = WHY_INIT;

	if (a.next == ARRAY_LEN(stories)) {
		net_close(a.port->conn);
		return;
	}
	snprintf(path, sizeof(path), "%s%s", s->method[0] == '/' ? ""
	    : "/argiope.Echo/", s->method);
	struct grpc_request r = { .path = path, .on = &events,
	    .timeout_ns = s->timeout_ms * NS_PER_MS,
	    .fields = s->flags & FIELDS ? fields : NULL,
	    .fields_n = s->flags & FIELDS ? ARRAY_LEN(fields) : 0 };
	a.messages = a.bytes = a.sent = 0;
	a.call = grpc_call_new(a.port->session, &r, loop_now(a.loop), &w);
	if (a.call == NULL) {
		printf("lost: %s\n", w.text);
		net_close(a.port->conn);
		return;
	}
	if (s->flags & SOON)
		loop_timer_set(a.loop, &a.timer,
		    mono_add_ms(loop_now(a.loop), 20));
	send_more(a.call);
}

static void
closed(struct grpc_port *p)
{
	if (p->why.err != OK)
		printf("closed: %s %s\n", err_name(p->why.err), p->why.text);
	loop_stop(a.loop);
}

int
main(int argc, char **argv)
{
	struct net_limits limits = NET_LIMITS_DEFAULT;
	struct net_target to = { .timeout_ms = 2000 };
	struct why w = WHY_INIT;
	uint64_t port;

	if (argc < 3 || !str_to_u64(str_of(argv[2]), &port) ||
	    port > UINT16_MAX) {
		fprintf(stderr, "grpc_ask ADDRESS PORT [CA NAME]\n");
		return 64;
	}
	system_ignore_sigpipe();
	to.address = argv[1];
	to.port = (uint16_t)port;
	a.loop = loop_new("ask");
	a.net = net_new(a.loop, &limits);
	a.timer.fire = later;
	if (argc > 4) {
		to.name = argv[4];
		if (net_tls_client(argv[3], &to.tls, &w) != OK) {
			fprintf(stderr, "%s\n", w.text);
			return 1;
		}
	}
	a.port = grpc_port_connect(a.net, a.loop, &to, closed, &w);
	if (a.port == NULL) {
		fprintf(stderr, "%s\n", w.text);
		return 1;
	}
	begin();
	loop_run(a.loop);
	net_free(&a.net);
	net_tls_free(&to.tls);
	loop_timer_stop(a.loop, &a.timer);
	loop_free(&a.loop);
	return a.next == ARRAY_LEN(stories) ? 0 : 1;
}
