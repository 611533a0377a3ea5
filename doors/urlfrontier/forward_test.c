/*
 * Puts in a cluster of two: a real door with a real engine, and as the other
 * node another one, nobody, or a server that answers as a test wants it.
 */
#include "doors/urlfrontier/forward.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <ftw.h>
#include <protobuf-c/protobuf-c.h>

#include "base/metric.h"
#include "doors/urlfrontier/cluster.h"
#include "doors/urlfrontier/urlfrontier.h"
#include "engine/engine.h"
#include "os/clock.h"
#include "os/system.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

#define SERVICE "/urlfrontier.URLFrontier/"
#define WAIT_MS 20000
#define MIB ((size_t)1 << 20)

struct node {
	char dir[64];
	struct conf conf;
	struct engine *engine;
	struct token_set *tokens;
	struct urlfrontier *door;
	uint16_t port;
	bool drained, closed;
};

/* What a peer was given, and has not answered. */
struct given {
	char id[32], url[64];
	uint64_t created;
};

/* A server in the place of the other node. */
static struct {
	struct grpc_server *server;
	struct grpc_method method;
	struct net_listener *listener;
	struct list ports;
	struct grpc_call *calls[2];      /* of plain puts, of kept dates */
	unsigned opened;
	bool deaf;                       /* it takes nothing in */
	bool answers;                    /* at once */
	int status;
	struct given *given;
	size_t n, cap;
} peer;

static struct {
	struct node nodes[2];
	size_t first;                    /* of the list: nodes[0] or [1] */
	struct loop *loop;
	struct net *net;
	struct grpc_port *port;          /* to nodes[0] */
	struct arena arena;
	char keys[2][32];                /* owned by nodes[0], by the other */
} t;

/* A put stream, as the client sees it. */
struct seen {
	struct grpc_call *call;
	bool over;
	enum grpc_code code;
	uint64_t acks, statuses[3];
	struct buf order;                /* a byte for each status */
	struct buf ids, last;
};

static void
step(void)
{
	if (!loop_step(t.loop))
		usleep(100);
}

static void
run_ms(int64_t ms)
{
	struct mono until = mono_add_ms(clock_mono(), ms);

	while (mono_before(clock_mono(), until))
		step();
}

static void
wait_for(const bool *flag)
{
	struct mono until = mono_add_ms(clock_mono(), WAIT_MS);

	while (!*flag && mono_before(clock_mono(), until))
		step();
	assert_true(*flag);
}

static int64_t
value_of(const char *name)
{
	struct buf b = BUF_INIT;
	int64_t value = -1;

	metric_write(&b);
	const char *at = strstr(buf_text(&b), name);
	if (at != NULL)
		value = strtoll(at + strlen(name), NULL, 10);
	buf_free(&b);
	return value;
}

#define NOTREADY "\nfrontier_putURLs_forward_notready_total "
#define PUT_BYTES "\nargiope_urlfrontier_put_bytes "

/* What the items that are under way take; it is looked at each second. */
static void
wait_bytes(int64_t from, int64_t to)
{
	struct mono until = mono_add_ms(clock_mono(), 5000);
	int64_t n;

	run_ms(1100);
	while ((n = value_of(PUT_BYTES)) < from || n > to) {
		assert_true(mono_before(clock_mono(), until));
		run_ms(50);
	}
}

/* ---- Client -------------------------------------------------------------- */

static struct str
packed(const ProtobufCMessage *m)
{
	size_t n = protobuf_c_message_get_packed_size(m);
	char *p = arena_bytes(&t.arena, n + 1);

	protobuf_c_message_pack(m, (uint8_t *)p);
	return (struct str){ p, n };
}

static void
on_message(struct grpc_call *c, struct str message)
{
	struct seen *s = grpc_arg(c);

	s->acks++;
	buf_clear(&s->last);
	buf_put_str(&s->last, message);
	if (!str_starts(grpc_path(c), STR(SERVICE "PutURLs")))
		return;
	Urlfrontier__AckMessage *a = urlfrontier__ack_message__unpack(NULL,
	    message.n, (const uint8_t *)message.p);
	assert_non_null(a);
	s->statuses[a->status]++;
	buf_put_char(&s->order, (char)a->status);
	buf_printf(&s->ids, "%s ", a->id);
	urlfrontier__ack_message__free_unpacked(a, NULL);
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct seen *s = grpc_arg(c);

	(void)text;
	s->over = true;
	s->call = NULL;
	s->code = code;
}

static const struct grpc_events client_events = { .on_message = on_message,
	.on_end = on_end };

static void
begin(struct seen *s, const char *method, bool keep_dates)
{
	struct grpc_field keep = { STR("argiope-keep-dates"), STR("1") };
	struct grpc_request q = { .on = &client_events, .arg = s,
	    .fields = &keep, .fields_n = keep_dates };
	char path[80];
	struct why w = WHY_INIT;

	snprintf(path, sizeof(path), SERVICE "%s", method);
	q.path = path;
	*s = (struct seen){ .over = false };
	s->call = grpc_call_new(t.port->session, &q, clock_mono(), &w);
	assert_non_null(s->call);
}

static void
wait_acks(const struct seen *s, uint64_t n)
{
	struct mono until = mono_add_ms(clock_mono(), WAIT_MS);

	while (s->acks < n && !s->over && mono_before(clock_mono(), until))
		step();
	assert_int_equal(s->acks, n);
}

static void
finish(struct seen *s, enum grpc_code code)
{
	if (s->call != NULL)
		grpc_half_close(s->call);
	wait_for(&s->over);
	assert_int_equal(s->code, code);
}

static void
forget(struct seen *s)
{
	buf_free(&s->order);
	buf_free(&s->ids);
	buf_free(&s->last);
}

static Urlfrontier__URLInfo
info_of(size_t node, unsigned i)
{
	Urlfrontier__URLInfo info = URLFRONTIER__URLINFO__INIT;

	info.key = t.keys[node];
	info.url = (char *)(uintptr_t)arena_printf(&t.arena, "http://h/%u",
	    i).p;
	return info;
}

/* `date` -1: discovered. */
static void
put(struct seen *s, size_t node, unsigned i, const char *id, int64_t date)
{
	Urlfrontier__URLItem m = URLFRONTIER__URLITEM__INIT;
	Urlfrontier__DiscoveredURLItem d =
	    URLFRONTIER__DISCOVERED_URLITEM__INIT;
	Urlfrontier__KnownURLItem k = URLFRONTIER__KNOWN_URLITEM__INIT;

	arena_reset(&t.arena);
	Urlfrontier__URLInfo info = info_of(node, i);
	d.info = k.info = &info;
	m.id = (char *)(uintptr_t)id;
	m.creation_date = 77;
	k.refetchable_from_date = (uint64_t)date;
	m.item_case = date < 0 ? URLFRONTIER__URLITEM__ITEM_DISCOVERED :
	    URLFRONTIER__URLITEM__ITEM_KNOWN;
	if (date < 0)
		m.discovered = &d;
	else
		m.known = &k;
	assert_int_not_equal(grpc_send(s->call, packed(&m.base)), GRPC_GONE);
}

static void
put_some(struct seen *s, size_t node, unsigned from, unsigned n)
{
	for (unsigned i = from; i < from + n; i++)
		put(s, node, i, "", -1);
}

/* ---- The other node, as tests want it ------------------------------------ */

static void
peer_answer(struct grpc_call *c, const struct given *g, int status)
{
	Urlfrontier__AckMessage a = URLFRONTIER__ACK_MESSAGE__INIT;

	a.id = (char *)(uintptr_t)g->id;
	a.status = status;
	grpc_send(c, packed(&a.base));
}

static void
peer_message(struct grpc_call *c, struct str message)
{
	Urlfrontier__URLItem *m = urlfrontier__urlitem__unpack(NULL,
	    message.n, (const uint8_t *)message.p);
	struct given g = { .created = 0 };

	assert_non_null(m);
	assert_string_equal(m->item_case ==
	    URLFRONTIER__URLITEM__ITEM_KNOWN ? m->known->info->key :
	    m->discovered->info->key, t.keys[1]);
	snprintf(g.id, sizeof(g.id), "%s", m->id);
	snprintf(g.url, sizeof(g.url), "%s", m->item_case ==
	    URLFRONTIER__URLITEM__ITEM_KNOWN ? m->known->info->url :
	    m->discovered->info->url);
	g.created = m->creation_date;
	urlfrontier__urlitem__free_unpacked(m, NULL);
	if (peer.answers) {
		peer_answer(c, &g, peer.status);
		return;
	}
	if (peer.n == peer.cap) {
		peer.cap = MAX(64, 2 * peer.cap);
		peer.given = mem_resize(peer.given, peer.cap,
		    sizeof(*peer.given));
	}
	peer.given[peer.n++] = g;
}

static void
peer_open(struct grpc_call *c)
{
	bool keeps = grpc_metadata(c, STR("argiope-keep-dates")).n > 0;

	assert_true(str_eq(grpc_metadata(c, STR("argiope-scope")),
	    STR("local")));
	assert_null(peer.calls[keeps]);
	peer.calls[keeps] = c;
	peer.opened++;
	if (peer.deaf)
		grpc_pause(c);
}

static void
peer_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	(void)code, (void)text;
	for (int i = 0; i < 2; i++)
		if (peer.calls[i] == c)
			peer.calls[i] = NULL;
}

static void
peer_accepted(struct net_conn *c, void *arg)
{
	struct grpc_port *p = grpc_port_accept(c, peer.server, NULL);

	(void)arg;
	list_put(&peer.ports, &p->node);
}

static void
wait_given(size_t n)
{
	struct mono until = mono_add_ms(clock_mono(), WAIT_MS);

	while (peer.n < n && mono_before(clock_mono(), until))
		step();
	assert_int_equal(peer.n, n);
}

/* ---- The rig ------------------------------------------------------------- */

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st, (void)type, (void)f;
	return remove(path);
}

static void
left(struct grpc_port *p)
{
	(void)p;
	t.port = NULL;
}

static void
set(struct conf *c, const char *name, const char *value)
{
	char text[200];

	snprintf(text, sizeof(text), "%s=%s", name, value);
	assert_int_equal(conf_flag(c, str_of(text), NULL), OK);
}

/* A port that nobody listens at, yet. */
static uint16_t
free_port(struct net_listener **keep)
{
	struct net_listener *l = NULL;
	struct why w = WHY_INIT;

	if (net_listen(t.net, "127.0.0.1", 0, NULL, peer_accepted, NULL, &l,
	    &w) != OK)
		fail_msg("%s", w.text);
	uint16_t port = net_port(l);
	if (keep != NULL)
		*keep = l;
	else
		net_unlisten(&l);
	return port;
}

static void
open_node(struct node *n, const char *list, const char *deadline)
{
	struct urlfrontier_options o = { .conf = &n->conf, .home = t.loop };
	struct engine_options eo = { .conf = &n->conf, .home = t.loop,
	    .loops = 1, .small = true };
	struct why w = WHY_INIT;
	char listen[40];

	snprintf(n->dir, sizeof(n->dir), "node.XXXXXX");
	assert_non_null(mkdtemp(n->dir));
	conf_init(&n->conf);
	snprintf(listen, sizeof(listen), "127.0.0.1:%u", n->port);
	set(&n->conf, "urlfrontier.listen", listen);
	set(&n->conf, "urlfrontier.nodes", list);
	set(&n->conf, "urlfrontier.forward_deadline_s", deadline);
	set(&n->conf, "data.free_bytes_min", "1MiB");
	eo.data_dir = n->dir;
	if (urlfrontier_open(&o, &n->door, &w) != OK ||
	    engine_open(&eo, &n->engine, &w) != OK ||
	    token_set_open(&(struct token_set_options){ .data_dir = n->dir,
	    .home = t.loop }, &n->tokens, &w) != OK)
		fail_msg("%s", w.text);
	engine_start(n->engine);
	urlfrontier_ready(n->door, engine_frontier(n->engine), n->tokens);
}

/* A key that belongs to the node at that place of the list. */
static void
find_key(char out[static 32], size_t place)
{
	for (unsigned i = 0;; i++) {
		snprintf(out, 32, "key%u", i);
		if (cluster_hash_owner(STR("DEFAULT"), str_of(out), 2) ==
		    place)
			return;
	}
}

enum other { REAL, GONE, PLAYED };

static void
open_all(enum other other, const char *deadline)
{
	struct net_target to = { .address = "127.0.0.1", .timeout_ms = 5000 };
	char list[100], names[2][40];
	struct why w = WHY_INIT;

	t.nodes[0].port = free_port(NULL);
	t.nodes[1].port = free_port(other == PLAYED ? &peer.listener : NULL);
	for (int i = 0; i < 2; i++)
		snprintf(names[i], sizeof(names[i]), "127.0.0.1:%u",
		    t.nodes[i].port);
	snprintf(list, sizeof(list), "%s,%s", names[0], names[1]);
	bool swapped = strcmp(names[0], names[1]) > 0;
	find_key(t.keys[0], swapped);
	find_key(t.keys[1], !swapped);
	open_node(&t.nodes[0], list, deadline);
	if (other == REAL)
		open_node(&t.nodes[1], list, deadline);
	to.port = t.nodes[0].port;
	t.port = grpc_port_connect(t.net, t.loop, &to, left, &w);
	assert_non_null(t.port);
	run_ms(100);
}

static int
set_up(void **state)
{
	struct net_limits limits = NET_LIMITS_DEFAULT;
	struct grpc_limits gl = GRPC_LIMITS_DEFAULT;

	(void)state;
	memset(&t, 0, sizeof(t));
	memset(&peer, 0, sizeof(peer));
	t.loop = loop_new("home");
	t.net = net_new(t.loop, &limits);
	list_init(&peer.ports);
	peer.server = grpc_server_new(&gl);
	peer.method = (struct grpc_method){ SERVICE "PutURLs", GRPC_BIDI,
	    { .on_open = peer_open, .on_message = peer_message,
	    .on_end = peer_end }, NULL, true };
	grpc_server_add(peer.server, &peer.method, 1);
	return 0;
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

static void
close_node(struct node *n)
{
	if (n->door == NULL)
		return;
	if (!n->drained)
		urlfrontier_drain(n->door, drained, n);
	wait_for(&n->closed);
	urlfrontier_free(&n->door);
	token_set_close(&n->tokens);
	engine_free(&n->engine);
	conf_free(&n->conf);
	nftw(n->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int
tear_down(void **state)
{
	(void)state;
	close_node(&t.nodes[0]);
	close_node(&t.nodes[1]);
	net_unlisten(&peer.listener);
	net_free(&t.net);
	grpc_server_free(&peer.server);
	mem_free(&peer.given);
	loop_free(&t.loop);
	arena_free(&t.arena);
	return 0;
}

/* ---- Two nodes ----------------------------------------------------------- */

/* What one node alone has in a queue: active, completed. */
static void
check_local(size_t node, uint64_t active, uint64_t completed)
{
	Urlfrontier__QueueWithinCrawlParams q =
	    URLFRONTIER__QUEUE_WITHIN_CRAWL_PARAMS__INIT;
	struct net_target to = { .address = "127.0.0.1", .timeout_ms = 5000,
	    .port = t.nodes[node].port };
	struct why w = WHY_INIT;
	struct grpc_port *keep = t.port;
	struct seen s;

	q.key = t.keys[node];
	q.local = true;
	t.port = grpc_port_connect(t.net, t.loop, &to, NULL, &w);
	assert_non_null(t.port);
	begin(&s, "GetStats", false);
	grpc_send(s.call, packed(&q.base));
	finish(&s, GRPC_OK);
	t.port = keep;
	Urlfrontier__Stats *m = urlfrontier__stats__unpack(NULL, s.last.n,
	    (const uint8_t *)s.last.p);
	assert_non_null(m);
	assert_int_equal(m->size, active);
	for (size_t i = 0; i < m->n_counts; i++)
		if (strcmp(m->counts[i]->key, "completed") == 0)
			assert_int_equal(m->counts[i]->value, completed);
	urlfrontier__stats__free_unpacked(m, NULL);
	forget(&s);
}

/* Updates of one URL take effect in order; acknowledgements come in order. */
static void
test_order(void **state)
{
	struct buf want = BUF_INIT;
	struct seen s;
	char id[16];

	(void)state;
	open_all(REAL, "30s");
	begin(&s, "PutURLs", false);
	for (unsigned i = 0; i < 4 * 1000; i++) {
		unsigned url = i / 100 * 25 + i % 25, round = i / 25 % 4;
		/* Last: completed if it can be divided by three. */
		int64_t date = round == 3 ? (url % 3 == 0 ? 0 : 4000000000) :
		    round % 2 == 0 ? 0 : 2000000000;
		snprintf(id, sizeof(id), "%u", i);
		buf_printf(&want, "%s ", id);
		put(&s, url / 7 % 2, url, id, date);
		if (i % 50 == 0)
			step();
	}
	finish(&s, GRPC_OK);
	assert_int_equal(s.statuses[OUTSIDE_OK], 4000);
	assert_string_equal(buf_text(&s.ids), buf_text(&want));
	uint64_t active[2] = { 0 }, done[2] = { 0 };
	for (unsigned url = 0; url < 1000; url++)
		(url % 3 == 0 ? done : active)[url / 7 % 2]++;
	check_local(0, active[0], done[0]);
	check_local(1, active[1], done[1]);
	forget(&s);
	buf_free(&want);
}

/* A client may use one ID for all: each status is its own item's. */
static void
test_same_id(void **state)
{
	struct seen s;

	(void)state;
	open_all(REAL, "30s");
	begin(&s, "PutURLs", false);
	for (unsigned i = 0; i < 600; i++)
		put(&s, i / 2 % 2, i / 2, "same", -1);
	finish(&s, GRPC_OK);
	assert_int_equal(s.acks, 600);
	for (unsigned i = 0; i < 600; i++) {
		assert_int_equal(s.order.p[i], i % 2);
		assert_memory_equal(s.ids.p + i * 5, "same ", 5);
	}
	check_local(0, 150, 0);
	check_local(1, 150, 0);
	forget(&s);
}

/* A batch over both nodes, of several units: statuses stand where they were. */
static void
test_batch(void **state)
{
	Urlfrontier__DiscoveredBatch b = URLFRONTIER__DISCOVERED_BATCH__INIT;
	static Urlfrontier__URLInfo infos[1000], *all[1000];
	struct seen s;

	(void)state;
	open_all(REAL, "30s");
	for (unsigned i = 0; i < 1000; i++) {
		infos[i] = info_of(i / 3 % 2, i % 900);
		all[i] = &infos[i];
	}
	/* 900 / 3 is even: the last hundred are the first again. */
	infos[500].url = infos[500].key + strlen(infos[500].key);
	b.id = infos[999].url;
	b.items = all;
	b.n_items = 1000;
	begin(&s, "PutDiscovered", false);
	grpc_send(s.call, packed(&b.base));
	finish(&s, GRPC_OK);
	assert_int_equal(s.acks, 1);
	Urlfrontier__BatchAck *a = urlfrontier__batch_ack__unpack(NULL,
	    s.last.n, (const uint8_t *)s.last.p);
	assert_non_null(a);
	assert_string_equal(a->id, "http://h/99");
	assert_int_equal(a->n_statuses, 1000);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(a->statuses[i], i >= 900 || i == 500);
	urlfrontier__batch_ack__free_unpacked(a, NULL);
	forget(&s);
	check_local(0, 450 - (500 / 3 % 2 == 0), 0);
	check_local(1, 450 - (500 / 3 % 2 == 1), 0);
}

/* The largest message that a client may send arrives at the other node too. */
static void
test_largest(void **state)
{
	Urlfrontier__URLItem m = URLFRONTIER__URLITEM__INIT;
	Urlfrontier__DiscoveredURLItem d =
	    URLFRONTIER__DISCOVERED_URLITEM__INIT;
	Urlfrontier__URLInfo info = URLFRONTIER__URLINFO__INIT;
	char *url = mem_new(4 * MIB + 1);
	struct seen s;

	(void)state;
	open_all(REAL, "30s");
	memset(url, 'u', 4 * MIB);
	info.key = t.keys[1];
	info.url = url;
	d.info = &info;
	m.item_case = URLFRONTIER__URLITEM__ITEM_DISCOVERED;
	m.discovered = &d;
	size_t more = protobuf_c_message_get_packed_size(&m.base) - 4 * MIB;
	url[4 * MIB - more] = '\0';
	assert_int_equal(packed(&m.base).n, 4 * MIB);
	begin(&s, "PutURLs", false);
	grpc_send(s.call, packed(&m.base));
	finish(&s, GRPC_OK);
	assert_int_equal(s.statuses[OUTSIDE_OK], 1);
	forget(&s);
	url[4 * MIB - more] = 'u';
	url[4 * MIB - more + 1] = '\0';
	begin(&s, "PutURLs", false);
	put_some(&s, 1, 0, 10);
	grpc_send(s.call, packed(&m.base));
	finish(&s, GRPC_RESOURCE_EXHAUSTED);
	assert_int_equal(s.statuses[OUTSIDE_OK], 10);
	forget(&s);
	mem_free(&url);
}

/* ---- A node that is gone, or silent -------------------------------------- */

/* FAIL comes at once; who finds a node known to be gone is counted. */
static void
test_gone(void **state)
{
	struct mono began;
	struct seen s;

	(void)state;
	open_all(GONE, "30s");
	int64_t before = value_of(NOTREADY);
	began = clock_mono();
	for (int round = 0; round < 2 || (round < 100 &&
	    value_of(NOTREADY) < before + 50); round++) {
		begin(&s, "PutURLs", false);
		for (unsigned i = 0; i < 100; i++)
			put(&s, i % 2, i, "", -1);
		finish(&s, GRPC_OK);
		for (unsigned i = 0; i < 100; i++)
			assert_int_equal(s.order.p[i], i % 2 == 1 ?
			    OUTSIDE_FAIL : round == 0 ? OUTSIDE_OK :
			    OUTSIDE_SKIPPED);
		forget(&s);
	}
	assert_true(value_of(NOTREADY) >= before + 50);
	assert_true(mono_ns_between(began, clock_mono()) < 25 * NS_PER_S);
}

/* It FAILs in time, is not confused by what comes later, and goes on. */
static void
test_silent(void **state)
{
	struct mono began;
	struct seen s;

	(void)state;
	open_all(PLAYED, "2s");
	begin(&s, "PutURLs", false);
	began = clock_mono();
	put_some(&s, 1, 0, 100);
	put_some(&s, 0, 0, 10);
	wait_acks(&s, 110);
	assert_true(mono_ns_between(began, clock_mono()) > 2 * NS_PER_S);
	assert_true(mono_ns_between(began, clock_mono()) < 10 * NS_PER_S);
	assert_int_equal(s.statuses[OUTSIDE_FAIL], 100);
	assert_int_equal(s.statuses[OUTSIDE_OK], 10);
	/* Under way again, when the late ones come. */
	put_some(&s, 1, 100, 50);
	wait_given(150);
	for (size_t i = 0; i < 100; i++)
		peer_answer(peer.calls[0], &peer.given[i], OUTSIDE_OK);
	run_ms(200);
	assert_int_equal(s.acks, 110);
	/* Last first; every second one is skipped. */
	for (size_t i = 150; i-- > 100;)
		peer_answer(peer.calls[0], &peer.given[i], (int)i % 2);
	wait_acks(&s, 160);
	for (size_t i = 0; i < 50; i++)
		assert_int_equal(s.order.p[110 + i], i % 2);
	assert_int_equal(peer.opened, 1);
	finish(&s, GRPC_OK);
	forget(&s);
}

/* Who takes nothing is not written to for ever, and what waits has a bound. */
static void
test_stalled(void **state)
{
	struct seen s;
	char big[9000];
	int64_t most = 0;

	(void)state;
	open_all(PLAYED, "1s");
	peer.deaf = true;
	memset(big, 'i', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	int64_t before = value_of(NOTREADY);
	begin(&s, "PutURLs", false);
	for (unsigned i = 0; i < 3000; i++)
		put(&s, 1, i, big, -1);
	grpc_half_close(s.call);
	for (int i = 0; i < WAIT_MS / 100 && !s.over; i++) {
		run_ms(100);
		most = MAX(most, value_of(PUT_BYTES));
	}
	assert_int_equal(s.code, GRPC_OK);
	assert_int_equal(s.statuses[OUTSIDE_FAIL], 3000);
	/* 1,024 items; their IDs do not go on. */
	assert_true(most > 1024 * 9000 / 2);
	assert_true(most < 12 * (int64_t)MIB);
	assert_int_equal(value_of(NOTREADY), before);
	forget(&s);
}

/* The same with what does go on: the stream is full, and the rest waits. */
static void
test_full(void **state)
{
	Urlfrontier__URLItem m = URLFRONTIER__URLITEM__INIT;
	Urlfrontier__DiscoveredURLItem d =
	    URLFRONTIER__DISCOVERED_URLITEM__INIT;
	static char url[9000];
	struct seen s;

	(void)state;
	open_all(PLAYED, "2s");
	peer.deaf = true;
	int64_t before = value_of(NOTREADY);
	memset(url, 'u', sizeof(url) - 1);
	arena_reset(&t.arena);
	Urlfrontier__URLInfo info = info_of(1, 0);
	info.url = url;
	d.info = &info;
	m.item_case = URLFRONTIER__URLITEM__ITEM_DISCOVERED;
	m.discovered = &d;
	begin(&s, "PutURLs", false);
	for (unsigned i = 0; i < 500; i++)
		grpc_send(s.call, packed(&m.base));
	run_ms(500);
	/* 256 KiB at first hold 29, with a window of 1 MiB about 145. */
	int64_t waits = value_of(NOTREADY) - before;
	assert_true(waits > 340);
	assert_true(waits <= 500 - 29);
	wait_acks(&s, 500);
	assert_int_equal(s.statuses[OUTSIDE_FAIL], 500);
	/* What stands in the stream counts as long as it stands there. */
	wait_bytes(120 << 10, 300 << 10);
	/* It wakes up: what waited was given up, what was sent comes. */
	peer.deaf = false;
	peer.answers = true;
	grpc_resume(peer.calls[0]);
	put_some(&s, 1, 0, 50);
	wait_acks(&s, 550);
	assert_int_equal(s.statuses[OUTSIDE_OK], 50);
	wait_bytes(0, 0);
	finish(&s, GRPC_OK);
	forget(&s);
}

/* ---- Streams that end ---------------------------------------------------- */

static void
test_lost(void **state)
{
	struct seen s;

	(void)state;
	open_all(PLAYED, "30s");
	begin(&s, "PutURLs", false);
	put_some(&s, 1, 0, 20);
	wait_given(20);
	for (size_t i = 0; i < 5; i++)
		peer_answer(peer.calls[0], &peer.given[i], OUTSIDE_OK);
	run_ms(100);
	grpc_finish(peer.calls[0], GRPC_UNAVAILABLE, "bye");
	wait_acks(&s, 20);
	assert_int_equal(s.statuses[OUTSIDE_FAIL], 15);
	/* The next ones take another stream. */
	peer.answers = true;
	put_some(&s, 1, 20, 10);
	wait_acks(&s, 30);
	assert_int_equal(s.statuses[OUTSIDE_OK], 15);
	assert_int_equal(peer.opened, 2);
	/* And one after an answer that is none. */
	peer.answers = false;
	peer.n = 0;
	put_some(&s, 1, 30, 10);
	wait_given(10);
	grpc_send(peer.calls[0], STR("\x0a\x7f"));
	wait_acks(&s, 40);
	assert_int_equal(s.statuses[OUTSIDE_FAIL], 25);
	/* And when the connection is lost. */
	peer.n = 0;
	put_some(&s, 1, 40, 10);
	wait_given(10);
	net_abort(LIST_ITEM(peer.ports.next, struct grpc_port, node)->conn,
	    ERR_CLOSED, "gone");
	wait_acks(&s, 50);
	assert_int_equal(s.statuses[OUTSIDE_FAIL], 35);
	finish(&s, GRPC_OK);
	forget(&s);
}

/* Nobody waits for what a caller that has left asked for. */
static void
test_leave(void **state)
{
	struct seen s, other;

	(void)state;
	open_all(PLAYED, "30s");
	begin(&s, "PutURLs", false);
	begin(&other, "PutURLs", false);
	put_some(&s, 1, 0, 300);
	put_some(&s, 0, 0, 300);
	wait_given(300);
	put_some(&other, 1, 1000, 10);
	wait_given(310);
	grpc_cancel(s.call);
	/* Those of the other are still under way, in slots of 300 and more. */
	wait_bytes(10 * 100, 310 * 100);
	for (size_t i = 0; i < 310; i++)
		peer_answer(peer.calls[0], &peer.given[i],
		    i < 300 ? OUTSIDE_FAIL : OUTSIDE_SKIPPED);
	wait_acks(&other, 10);
	assert_int_equal(other.statuses[OUTSIDE_SKIPPED], 10);
	finish(&other, GRPC_OK);
	wait_bytes(0, 0);
	forget(&s);
	forget(&other);
}

/* Dates go on by a stream of their own, and only there. */
static void
test_dates(void **state)
{
	struct seen s, keeps;

	(void)state;
	open_all(PLAYED, "30s");
	begin(&s, "PutURLs", false);
	put_some(&s, 1, 0, 3);
	wait_given(3);
	begin(&keeps, "PutURLs", true);
	put_some(&keeps, 1, 3, 3);
	wait_given(6);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(peer.given[i].created, i < 3 ? 0 : 77);
		peer_answer(peer.calls[i / 3], &peer.given[i], OUTSIDE_OK);
	}
	finish(&s, GRPC_OK);
	finish(&keeps, GRPC_OK);
	assert_int_equal(s.statuses[OUTSIDE_OK], 3);
	assert_int_equal(keeps.statuses[OUTSIDE_OK], 3);
	forget(&s);
	forget(&keeps);
}

/* The end of this node does not wait for another's silence. */
static void
test_drain(void **state)
{
	struct mono began;
	struct seen s;

	(void)state;
	open_all(PLAYED, "30s");
	begin(&s, "PutURLs", false);
	put_some(&s, 1, 0, 20);
	wait_given(20);
	for (size_t i = 0; i < 5; i++)
		peer_answer(peer.calls[0], &peer.given[i], OUTSIDE_OK);
	run_ms(100);
	began = clock_mono();
	urlfrontier_drain(t.nodes[0].door, drained, &t.nodes[0]);
	run_ms(300);
	/* It is still waited for. */
	for (size_t i = 5; i < 10; i++)
		peer_answer(peer.calls[0], &peer.given[i], OUTSIDE_OK);
	wait_for(&s.over);
	assert_int_equal(s.code, GRPC_UNAVAILABLE);
	assert_int_equal(s.statuses[OUTSIDE_OK], 10);
	assert_int_equal(s.statuses[OUTSIDE_FAIL], 10);
	wait_for(&t.nodes[0].drained);
	assert_true(mono_ns_between(began, clock_mono()) < 12 * NS_PER_S);
	forget(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(test_same_id),
		TEST(test_batch),
		TEST(test_largest),
		TEST(test_gone),
		TEST(test_silent),
		TEST(test_stalled),
		TEST(test_full),
		TEST(test_lost),
		TEST(test_leave),
		TEST(test_dates),
		TEST(test_drain),
	};

	system_ignore_sigpipe();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
