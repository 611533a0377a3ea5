#include "doors/urlfrontier/nodes_testing.h"

#include <ftw.h>
#include <protobuf-c/protobuf-c.h>

#include "base/metric.h"
#include "server/grpc_port.h"

struct nodes t;

void
step(void)
{
	if (!loop_step(t.loop))
		usleep(100);
}

void
run_ms(int64_t ms)
{
	struct mono until = mono_add_ms(clock_mono(), ms);

	while (mono_before(clock_mono(), until))
		step();
}

void
wait_for(const bool *flag)
{
	struct mono until = mono_add_ms(clock_mono(), WAIT_MS);

	while (!*flag && mono_before(clock_mono(), until))
		step();
	assert_true(*flag);
}

int64_t
ms_since(struct mono t0)
{
	return mono_ns_between(t0, clock_mono()) / NS_PER_MS;
}

int64_t
value_of(const char *line)
{
	struct buf b = BUF_INIT;
	int64_t value = -1;

	metric_write(&b);
	const char *at = strstr(buf_text(&b), line);
	if (at != NULL)
		value = strtoll(at + strlen(line), NULL, 10);
	buf_free(&b);
	return value;
}

/* ---- Nodes --------------------------------------------------------------- */

void
refuse(struct net_conn *c, void *arg)
{
	(void)arg;
	net_close(c);
}

static void
find_ports(void)
{
	struct net_listener *l[NODES];

	for (size_t i = 0; i < NODES; i++) {
		assert_int_equal(net_listen(t.net, "127.0.0.1", 0, NULL,
		    refuse, NULL, &l[i], NULL), OK);
		t.nodes[i].host = "127.0.0.1";
		t.nodes[i].port = net_port(l[i]);
	}
	for (size_t i = 0; i < NODES; i++)
		net_unlisten(&l[i]);
}

int
nodes_setup(void **state)
{
	struct net_limits limits = NET_LIMITS_DEFAULT;

	(void)state;
	memset(&t, 0, sizeof(t));
	t.loop = loop_new("home");
	t.net = net_new(t.loop, &limits);
	conf_init(&t.conf);
	find_ports();
	return 0;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st, (void)type, (void)f;
	return remove(path);
}

int
nodes_teardown(void **state)
{
	(void)state;
	cluster_close(t.cluster);
	for (size_t i = 0; i < NODES; i++)
		node_stop(i);
	net_free(&t.net);
	cluster_free(&t.cluster);
	for (size_t i = 0; i < NODES; i++) {
		conf_free(&t.nodes[i].conf);
		if (t.nodes[i].dir[0] != '\0')
			nftw(t.nodes[i].dir, remove_one, 8,
			    FTW_DEPTH | FTW_PHYS);
	}
	if (t.token_file[0] != '\0')
		unlink(t.token_file);
	conf_free(&t.conf);
	loop_free(&t.loop);
	arena_free(&t.arena);
	return 0;
}

void
put_conf(struct conf *c, const char *fmt, ...)
{
	char text[400];
	struct why w = WHY_INIT;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (conf_flag(c, str_of(text), &w) != OK)
		fail_msg("%s", w.text);
}

void
write_token(const char *text)
{
	snprintf(t.token_file, sizeof(t.token_file), "token.XXXXXX");
	int fd = mkstemp(t.token_file);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

void
node_prepare(size_t i)
{
	struct node *n = &t.nodes[i];

	snprintf(n->dir, sizeof(n->dir), "node.XXXXXX");
	assert_non_null(mkdtemp(n->dir));
	conf_init(&n->conf);
	put_conf(&n->conf, "data.free_bytes_min=1MiB");
	put_conf(&n->conf, "urlfrontier.listen=127.0.0.1:%u", n->port);
}

void
node_join(size_t i)
{
	node_prepare(i);
	for (size_t k = 0; k < NODES; k++)
		put_conf(&t.nodes[i].conf, "urlfrontier.nodes=127.0.0.1:%u",
		    t.nodes[k].port);
}

void
node_open_door(size_t i)
{
	struct node *n = &t.nodes[i];
	struct door_host o = { .conf = &n->conf, .home = t.loop };
	struct why w = WHY_INIT;

	n->drained = n->closed = false;
	if (urlfrontier_open(&o, &n->door, &w) != OK)
		fail_msg("%s", w.text);
}

/* A call that comes before the door's loop has the frontier waits for it. */
static void
await_door(const struct node *n)
{
	Urlfrontier__Empty m = URLFRONTIER__EMPTY__INIT;
	struct grpc_port *p = client_connect(n, NULL);
	struct heard s = { .over = false };

	heard_begin(&s, p, "ListNodes", NULL);
	grpc_send(s.call, packed(&m));
	grpc_half_close(s.call);
	wait_for(&s.over);
	/* Refused: the port is gone. */
	assert_int_not_equal(s.code, GRPC_UNAVAILABLE);
	heard_free(&s);
	net_close(p->conn);
}

void
node_open_engine(size_t i)
{
	struct node *n = &t.nodes[i];
	struct engine_options o = { .conf = &n->conf, .home = t.loop,
	    .data_dir = n->dir, .loops = 1, .small = true };
	struct store_async_options a = { .home = t.loop };
	struct why w = WHY_INIT;

	if (engine_open(&o, &n->engine, &w) != OK ||
	    store_open(n->dir, NULL, &a.store, &w) != OK)
		fail_msg("%s", w.text);
	n->store = store_async_new(&a);
	if (token_set_open(&(struct token_set_options){ .store = n->store },
	    &n->tokens, &w) != OK)
		fail_msg("%s", w.text);
	engine_start(n->engine);
	urlfrontier_ready(n->door, engine_frontier(n->engine), n->tokens);
	await_door(n);
}

void
node_start(size_t i)
{
	node_open_door(i);
	node_open_engine(i);
}

static void
closed(void *arg)
{
	((struct node *)arg)->closed = true;
}

static void
drained(void *arg)
{
	struct node *n = arg;

	n->drained = true;
	engine_close(n->engine, closed, n);
}

void
node_drain(size_t i)
{
	urlfrontier_drain(t.nodes[i].door, drained, &t.nodes[i]);
}

void
node_stop(size_t i)
{
	struct node *n = &t.nodes[i];

	if (n->engine != NULL) {
		if (!n->drained)
			node_drain(i);
		wait_for(&n->closed);
		token_set_close(&n->tokens);
		store_async_close(&n->store);
	}
	urlfrontier_free(&n->door);
	engine_free(&n->engine);
}

void
silent_open(struct silent *s, uint16_t port)
{
	struct net_limits limits = NET_LIMITS_DEFAULT;
	struct net_listener *l;

	s->loop = loop_new("silent");
	s->net = net_new(s->loop, &limits);
	assert_int_equal(net_listen(s->net, "127.0.0.1", port, NULL, refuse,
	    NULL, &l, NULL), OK);
	s->port = net_port(l);
}

void
silent_close(struct silent *s)
{
	net_free(&s->net);
	loop_free(&s->loop);
}

/* ---- Clients ------------------------------------------------------------- */

struct str
packed(const void *message)
{
	size_t n = protobuf_c_message_get_packed_size(message);
	char *p = arena_bytes(&t.arena, n + 1);

	protobuf_c_message_pack(message, (uint8_t *)p);
	return (struct str){ p, n };
}

static void
note_ack(struct heard *s, struct str message)
{
	Urlfrontier__AckMessage *a = urlfrontier__ack_message__unpack(NULL,
	    message.n, (const uint8_t *)message.p);

	assert_non_null(a);
	s->statuses[a->status]++;
	buf_put_char(&s->order, (char)a->status);
	buf_printf(&s->ids, "%s ", a->id);
	urlfrontier__ack_message__free_unpacked(a, NULL);
}

static void
on_message(struct grpc_call *c, struct str message)
{
	struct heard *s = grpc_arg(c);

	s->messages++;
	buf_clear(&s->last);
	buf_put_str(&s->last, message);
	if (str_starts(grpc_path(c), STR(SERVICE "PutURLs")))
		note_ack(s, message);
	if (s->stop)
		grpc_pause(c);
}

static void
on_writable(struct grpc_call *c)
{
	struct heard *s = grpc_arg(c);

	if (s->more != NULL)
		s->more(s);
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct heard *s = grpc_arg(c);

	s->over = true;
	s->call = NULL;
	s->code = code;
	snprintf(s->text, sizeof(s->text), "%.*s", STR_FMT(text));
}

static const struct grpc_events client_events = { .on_message = on_message,
	.on_writable = on_writable, .on_end = on_end };

struct grpc_port *
client_connect(const struct node *n, void (*left)(struct grpc_port *))
{
	struct net_target to = { .address = n->host, .port = n->port,
	    .timeout_ms = 5000 };
	struct grpc_port *p = grpc_port_connect(t.net, t.loop, &to, left,
	    NULL);

	assert_non_null(p);
	return p;
}

void
heard_begin(struct heard *s, struct grpc_port *p, const char *rpc,
    const struct grpc_field *field)
{
	char path[80];
	struct grpc_request q = { .path = path, .on = &client_events,
	    .arg = s, .fields = field, .fields_n = field != NULL };

	snprintf(path, sizeof(path), SERVICE "%s", rpc);
	s->call = grpc_call_new(p->session, &q, clock_mono(), NULL);
	assert_non_null(s->call);
}

void
heard_free(struct heard *s)
{
	buf_free(&s->last);
	buf_free(&s->order);
	buf_free(&s->ids);
}
