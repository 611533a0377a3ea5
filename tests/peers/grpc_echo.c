/*
 * grpc_echo -- a small gRPC server over os/net and wire/grpc, for foreign
 * clients to be held against.  Prints "port N", serves until SIGTERM, drains,
 * then prints what it counted.
 *
 *     grpc_echo [ADDRESS [CHAIN KEY]]
 *
 * GRPC_ECHO_SET may name a file with a FileDescriptorSet for reflection.
 */
#include <time.h>

#include "os/system.h"
#include "server/grpc_port.h"
#include "wire/grpc/health.h"
#include "wire/grpc/reflection.h"

static struct {
	struct loop *loop;
	struct net *net;
	struct net_listener *listener;
	struct grpc_server *server;
	struct health *health;
	struct reflection *reflection;
	struct buf set;
	struct list ports;
	struct timer give_up;
	bool ending;
	uint64_t opened, ended, messages, cancelled, conns, failed;
} e;

/* ---- Connections -------------------------------------------------------- */

static void
closed(struct grpc_port *p)
{
	list_take(&p->node);
	e.failed += p->failed;
	if (e.ending && list_empty(&e.ports))
		loop_stop(e.loop);
}

static void
accepted(struct net_conn *c, void *arg)
{
	(void)arg;
	e.conns++;
	list_put(&e.ports, &grpc_port_accept(c, e.server, closed)->node);
}

/* ---- The service -------------------------------------------------------- */

struct call {
	uint64_t bytes, to_send, size;
};

static void
echo_metadata(struct grpc_call *c)
{
	struct str s = grpc_metadata(c, STR("x-echo"));
	struct str b = grpc_metadata(c, STR("x-echo-bin"));

	if (s.p != NULL)
		grpc_put_header(c, STR("x-echo"), s);
	if (b.p != NULL)
		grpc_put_trailer(c, STR("x-echo-bin"), b);
}

static void
on_open(struct grpc_call *c)
{
	e.opened++;
	grpc_set_data(c, mem_new(sizeof(struct call)));
	echo_metadata(c);
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct call *x = grpc_data(c);

	(void)text;
	e.ended++;
	e.cancelled += code == GRPC_CANCELLED;
	mem_free(&x);
}

static void
unary(struct grpc_call *c, struct str message)
{
	e.messages++;
	grpc_reply(c, message);
}

/* "9 some text" */
static void
status(struct grpc_call *c, struct str message)
{
	struct str code;
	uint64_t n = GRPC_UNKNOWN;
	struct buf text = BUF_INIT;

	str_split(&message, ' ', &code);
	str_to_u64(code, &n);
	buf_put_str(&text, message);
	grpc_finish(c, (enum grpc_code)n, buf_text(&text));
	buf_free(&text);
}

static void
count(struct grpc_call *c, struct str message)
{
	struct call *x = grpc_data(c);

	e.messages++;
	x->bytes += message.n;
}

static void
count_done(struct grpc_call *c)
{
	struct call *x = grpc_data(c);
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)x->bytes);
	grpc_reply(c, str_of(text));
}

static void
send_more(struct grpc_call *c)
{
	struct call *x = grpc_data(c);
	void *room;

	while (x->to_send > 0) {
		enum grpc_room r = grpc_send_room(c, x->size, &room);
		if (r == GRPC_GONE)
			return;
		memset(room, 'm', x->size);
		x->to_send--;
		if (r == GRPC_FULL)
			return;
	}
	grpc_finish(c, GRPC_OK, NULL);
}

/* "1000 64": so many messages of so many bytes. */
static void
many(struct grpc_call *c, struct str message)
{
	struct call *x = grpc_data(c);
	struct str n;

	if (!str_split(&message, ' ', &n) || !str_to_u64(n, &x->to_send) ||
	    !str_to_u64(message, &x->size) || x->size > 4 << 20) {
		grpc_finish(c, GRPC_INVALID_ARGUMENT, "COUNT SIZE");
		return;
	}
	send_more(c);
}

static void
many_writable(struct grpc_call *c)
{
	struct call *x = grpc_data(c);

	/* The last message filled it: all that is left is to say so. */
	if (x->to_send == 0)
		grpc_finish(c, GRPC_OK, NULL);
	else
		send_more(c);
}

static void
chat(struct grpc_call *c, struct str message)
{
	e.messages++;
	if (grpc_send(c, message) == GRPC_FULL)
		grpc_pause(c);
}

static void
chat_done(struct grpc_call *c)
{
	grpc_finish(c, GRPC_OK, NULL);
}

static void
stop_reading(struct grpc_call *c, struct str message)
{
	(void)message;
	e.messages++;
	grpc_pause(c);
}

static void
never(struct grpc_call *c, struct str message)
{
	(void)c, (void)message;
	e.messages++;
}

static const struct grpc_method methods[] = {
	{ "/argiope.Echo/Unary", GRPC_UNARY, { .on_open = on_open,
	    .on_message = unary, .on_end = on_end }, NULL, false },
	{ "/argiope.Echo/Status", GRPC_UNARY, { .on_open = on_open,
	    .on_message = status, .on_end = on_end }, NULL, false },
	{ "/argiope.Echo/Never", GRPC_UNARY, { .on_open = on_open,
	    .on_message = never, .on_end = on_end }, NULL, false },
	{ "/argiope.Echo/Count", GRPC_CLIENT_STREAM, { .on_open = on_open,
	    .on_message = count, .on_half_close = count_done,
	    .on_end = on_end }, NULL, false },
	{ "/argiope.Echo/Many", GRPC_SERVER_STREAM, { .on_open = on_open,
	    .on_message = many, .on_writable = many_writable,
	    .on_end = on_end }, NULL, false },
	{ "/argiope.Echo/Chat", GRPC_BIDI, { .on_open = on_open,
	    .on_message = chat, .on_half_close = chat_done,
	    .on_writable = grpc_resume, .on_end = on_end }, NULL, false },
	{ "/argiope.Echo/Stop", GRPC_BIDI, { .on_open = on_open,
	    .on_message = stop_reading, .on_half_close = chat_done,
	    .on_end = on_end }, NULL, false },
};

/* ---- Start and end ------------------------------------------------------ */

static void
give_up(struct timer *t)
{
	(void)t;
	loop_stop(e.loop);
}

static void
got_signal(void *arg, int number)
{
	(void)arg, (void)number;
	e.ending = true;
	net_unlisten(&e.listener);
	health_set(e.health, "", HEALTH_NOT_SERVING);
	for (struct list *n = e.ports.next; n != &e.ports; n = n->next)
		grpc_drain(LIST_ITEM(n, struct grpc_port, node)->session,
		    loop_now(e.loop));
	loop_timer_set(e.loop, &e.give_up,
	    mono_add_ms(loop_now(e.loop), 5000));
	if (list_empty(&e.ports))
		loop_stop(e.loop);
}

static enum err
describe(const char *file, struct why *w)
{
	FILE *f = file == NULL ? NULL : fopen(file, "rb");
	size_t n;

	if (file == NULL)
		return OK;
	if (f == NULL)
		return why_errno(w, ERR_IO, "%s", file);
	do {
		buf_reserve(&e.set, 65536);
		n = fread(e.set.p + e.set.n, 1, 65536, f);
		e.set.n += n;
	} while (n > 0);
	fclose(f);
	e.reflection = reflection_new(e.server);
	return reflection_add(e.reflection, buf_str(&e.set), w);
}

int
main(int argc, char **argv)
{
	struct grpc_limits limits = GRPC_LIMITS_DEFAULT;
	struct net_limits net_limits = NET_LIMITS_DEFAULT;
	struct net_tls *tls = NULL;
	struct why w = WHY_INIT;

	system_ignore_sigpipe();
	list_init(&e.ports);
	e.loop = loop_new("echo");
	e.give_up.fire = give_up;
	loop_on_signal(e.loop, got_signal, NULL);
	e.net = net_new(e.loop, &net_limits);
	e.server = grpc_server_new(&limits);
	grpc_server_add(e.server, methods, ARRAY_LEN(methods));
	e.health = health_new(e.server);
	health_set(e.health, "", HEALTH_SERVING);
	if (describe(getenv("GRPC_ECHO_SET"), &w) != OK ||
	    (argc > 3 && net_tls_server(argv[2], argv[3], &tls, &w) != OK) ||
	    net_listen(e.net, argc > 1 ? argv[1] : "127.0.0.1", 0, tls,
	    accepted, NULL, &e.listener, &w) != OK) {
		fprintf(stderr, "grpc_echo: %s\n", w.text);
		return 1;
	}
	printf("port %u\n", net_port(e.listener));
	fflush(stdout);
	loop_run(e.loop);
	net_free(&e.net);
	net_tls_free(&tls);
	grpc_server_free(&e.server);
	health_free(&e.health);
	reflection_free(&e.reflection);
	buf_free(&e.set);
	loop_free(&e.loop);
	printf("connections %llu failed %llu opened %llu ended %llu messages "
	    "%llu cancelled %llu cpu_us %lld\n", (unsigned long long)e.conns,
	    (unsigned long long)e.failed, (unsigned long long)e.opened,
	    (unsigned long long)e.ended, (unsigned long long)e.messages,
	    (unsigned long long)e.cancelled,
	    (long long)clock() * 1000000 / CLOCKS_PER_SEC);
	return 0;
}
