/*
 * Puts in a cluster of two: a real door with a real engine, and as the other
 * node another one, nobody, or a server that answers as a test wants it.
 */
#include "doors/urlfrontier/forward.h"

#include <protobuf-c/protobuf-c.h>

#include "doors/urlfrontier/nodes_testing.h"

#define MIB ((size_t)1 << 20)

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

static struct grpc_port *port;           /* to node 0 */
static char keys[2][32];                 /* owned by node 0, by the other */

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

static void
begin(struct heard *s, const char *rpc, bool keep_dates)
{
	const struct grpc_field keep = { STR("argiope-keep-dates"), STR("1") };

	*s = (struct heard){ .over = false };
	heard_begin(s, port, rpc, keep_dates ? &keep : NULL);
}

static void
wait_acks(const struct heard *s, uint64_t n)
{
	struct mono until = mono_add_ms(clock_mono(), WAIT_MS);

	while (s->messages < n && !s->over && mono_before(clock_mono(), until))
		step();
	assert_int_equal(s->messages, n);
}

static void
finish(struct heard *s, enum grpc_code code)
{
	if (s->call != NULL)
		grpc_half_close(s->call);
	wait_for(&s->over);
	assert_int_equal(s->code, code);
}

static Urlfrontier__URLInfo
info_of(size_t node, unsigned i)
{
	Urlfrontier__URLInfo info = URLFRONTIER__URLINFO__INIT;

	info.key = keys[node];
	info.url = (char *)(uintptr_t)arena_printf(&t.arena, "http://h/%u",
	    i).p;
	return info;
}

/* `date` -1: discovered. */
static void
put(struct heard *s, size_t node, unsigned i, const char *id, int64_t date)
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
put_some(struct heard *s, size_t node, unsigned from, unsigned n)
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
	    m->discovered->info->key, keys[1]);
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
	peer.given = mem_room(peer.given, peer.n, &peer.cap, 64,
	    sizeof(*peer.given));
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

static void
left(struct grpc_port *p)
{
	(void)p;
	port = NULL;
}

static void
open_node(size_t i, const char *deadline)
{
	node_join(i);
	put_conf(&t.nodes[i].conf, "urlfrontier.forward_deadline_s=%s",
	    deadline);
	node_start(i);
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
	char names[NODES][40];

	for (int i = 0; i < NODES; i++)
		snprintf(names[i], sizeof(names[i]), "127.0.0.1:%u",
		    t.nodes[i].port);
	bool swapped = strcmp(names[0], names[1]) > 0;
	find_key(keys[0], swapped);
	find_key(keys[1], !swapped);
	if (other == PLAYED)
		assert_int_equal(net_listen(t.net, "127.0.0.1",
		    t.nodes[1].port, NULL, peer_accepted, NULL,
		    &peer.listener, NULL), OK);
	open_node(0, deadline);
	if (other == REAL)
		open_node(1, deadline);
	port = client_connect(&t.nodes[0], left);
}

static int
set_up(void **state)
{
	struct grpc_limits gl = GRPC_LIMITS_DEFAULT;

	memset(&peer, 0, sizeof(peer));
	list_init(&peer.ports);
	peer.server = grpc_server_new(&gl);
	peer.method = (struct grpc_method){ SERVICE "PutURLs", GRPC_BIDI,
	    { .on_open = peer_open, .on_message = peer_message,
	    .on_end = peer_end }, NULL, true };
	grpc_server_add(peer.server, &peer.method, 1);
	return nodes_setup(state);
}

static int
tear_down(void **state)
{
	nodes_teardown(state);
	grpc_server_free(&peer.server);
	mem_free(&peer.given);
	return 0;
}

/* ---- Two nodes ----------------------------------------------------------- */

/* What one node alone has in a queue: active, completed. */
static void
check_local(size_t node, uint64_t active, uint64_t completed)
{
	Urlfrontier__QueueWithinCrawlParams q =
	    URLFRONTIER__QUEUE_WITHIN_CRAWL_PARAMS__INIT;
	struct heard s = { .over = false };

	q.key = keys[node];
	q.local = true;
	heard_begin(&s, client_connect(&t.nodes[node], NULL), "GetStats",
	    NULL);
	grpc_send(s.call, packed(&q.base));
	finish(&s, GRPC_OK);
	Urlfrontier__Stats *m = urlfrontier__stats__unpack(NULL, s.last.n,
	    (const uint8_t *)s.last.p);
	assert_non_null(m);
	assert_int_equal(m->size, active);
	for (size_t i = 0; i < m->n_counts; i++)
		if (strcmp(m->counts[i]->key, "completed") == 0)
			assert_int_equal(m->counts[i]->value, completed);
	urlfrontier__stats__free_unpacked(m, NULL);
	heard_free(&s);
}

/* Updates of one URL take effect in order; acknowledgements come in order. */
static void
test_order(void **state)
{
	struct buf want = BUF_INIT;
	struct heard s;
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
	assert_int_equal(s.statuses[LEASE_OK], 4000);
	assert_string_equal(buf_text(&s.ids), buf_text(&want));
	uint64_t active[2] = { 0 }, done[2] = { 0 };
	for (unsigned url = 0; url < 1000; url++)
		(url % 3 == 0 ? done : active)[url / 7 % 2]++;
	check_local(0, active[0], done[0]);
	check_local(1, active[1], done[1]);
	heard_free(&s);
	buf_free(&want);
}

/* A client may use one ID for all: each status is its own item's. */
static void
test_same_id(void **state)
{
	struct heard s;

	(void)state;
	open_all(REAL, "30s");
	begin(&s, "PutURLs", false);
	for (unsigned i = 0; i < 600; i++)
		put(&s, i / 2 % 2, i / 2, "same", -1);
	finish(&s, GRPC_OK);
	assert_int_equal(s.messages, 600);
	for (unsigned i = 0; i < 600; i++) {
		assert_int_equal(s.order.p[i], i % 2);
		assert_memory_equal(s.ids.p + i * 5, "same ", 5);
	}
	check_local(0, 150, 0);
	check_local(1, 150, 0);
	heard_free(&s);
}

/* A batch over both nodes, of several units: statuses stand where they were. */
static void
test_batch(void **state)
{
	Urlfrontier__DiscoveredBatch b = URLFRONTIER__DISCOVERED_BATCH__INIT;
	static Urlfrontier__URLInfo infos[1000], *all[1000];
	struct heard s;

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
	assert_int_equal(s.messages, 1);
	Urlfrontier__BatchAck *a = urlfrontier__batch_ack__unpack(NULL,
	    s.last.n, (const uint8_t *)s.last.p);
	assert_non_null(a);
	assert_string_equal(a->id, "http://h/99");
	assert_int_equal(a->n_statuses, 1000);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(a->statuses[i], i >= 900 || i == 500);
	urlfrontier__batch_ack__free_unpacked(a, NULL);
	heard_free(&s);
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
	struct heard s;

	(void)state;
	open_all(REAL, "30s");
	memset(url, 'u', 4 * MIB);
	info.key = keys[1];
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
	assert_int_equal(s.statuses[LEASE_OK], 1);
	heard_free(&s);
	url[4 * MIB - more] = 'u';
	url[4 * MIB - more + 1] = '\0';
	begin(&s, "PutURLs", false);
	put_some(&s, 1, 0, 10);
	grpc_send(s.call, packed(&m.base));
	finish(&s, GRPC_RESOURCE_EXHAUSTED);
	assert_int_equal(s.statuses[LEASE_OK], 10);
	heard_free(&s);
	mem_free(&url);
}

/* ---- A node that is gone, or silent -------------------------------------- */

/* FAIL comes at once; who finds a node known to be gone is counted. */
static void
test_gone(void **state)
{
	struct mono began;
	struct heard s;

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
			    LEASE_FAIL : round == 0 ? LEASE_OK :
			    LEASE_SKIPPED);
		heard_free(&s);
	}
	assert_true(value_of(NOTREADY) >= before + 50);
	assert_true(mono_ns_between(began, clock_mono()) < 25 * NS_PER_S);
}

/* It FAILs in time, is not confused by what comes later, and goes on. */
static void
test_silent(void **state)
{
	struct mono began;
	struct heard s;

	(void)state;
	open_all(PLAYED, "2s");
	begin(&s, "PutURLs", false);
	began = clock_mono();
	put_some(&s, 1, 0, 100);
	put_some(&s, 0, 0, 10);
	wait_acks(&s, 110);
	assert_true(mono_ns_between(began, clock_mono()) > 2 * NS_PER_S);
	assert_true(mono_ns_between(began, clock_mono()) < 10 * NS_PER_S);
	assert_int_equal(s.statuses[LEASE_FAIL], 100);
	assert_int_equal(s.statuses[LEASE_OK], 10);
	/* Under way again, when the late ones come. */
	put_some(&s, 1, 100, 50);
	wait_given(150);
	for (size_t i = 0; i < 100; i++)
		peer_answer(peer.calls[0], &peer.given[i], LEASE_OK);
	run_ms(200);
	assert_int_equal(s.messages, 110);
	/* Last first; every second one is skipped. */
	for (size_t i = 150; i-- > 100;)
		peer_answer(peer.calls[0], &peer.given[i], (int)i % 2);
	wait_acks(&s, 160);
	for (size_t i = 0; i < 50; i++)
		assert_int_equal(s.order.p[110 + i], i % 2);
	assert_int_equal(peer.opened, 1);
	finish(&s, GRPC_OK);
	heard_free(&s);
}

/* Who takes nothing is not written to for ever, and what waits has a bound. */
static void
test_stalled(void **state)
{
	struct heard s;
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
	assert_int_equal(s.statuses[LEASE_FAIL], 3000);
	/* 1,024 items; their IDs do not go on. */
	assert_true(most > 1024 * 9000 / 2);
	assert_true(most < 12 * (int64_t)MIB);
	assert_int_equal(value_of(NOTREADY), before);
	heard_free(&s);
}

/* The same with what does go on: the stream is full, and the rest waits. */
static void
test_full(void **state)
{
	Urlfrontier__URLItem m = URLFRONTIER__URLITEM__INIT;
	Urlfrontier__DiscoveredURLItem d =
	    URLFRONTIER__DISCOVERED_URLITEM__INIT;
	static char url[9000];
	struct heard s;

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
	assert_int_equal(s.statuses[LEASE_FAIL], 500);
	/* What stands in the stream counts as long as it stands there. */
	wait_bytes(120 << 10, 300 << 10);
	/* It wakes up: what waited was given up, what was sent comes. */
	peer.deaf = false;
	peer.answers = true;
	grpc_resume(peer.calls[0]);
	put_some(&s, 1, 0, 50);
	wait_acks(&s, 550);
	assert_int_equal(s.statuses[LEASE_OK], 50);
	wait_bytes(0, 0);
	finish(&s, GRPC_OK);
	heard_free(&s);
}

/* ---- Streams that end ---------------------------------------------------- */

static void
test_lost(void **state)
{
	struct heard s;

	(void)state;
	open_all(PLAYED, "30s");
	begin(&s, "PutURLs", false);
	put_some(&s, 1, 0, 20);
	wait_given(20);
	for (size_t i = 0; i < 5; i++)
		peer_answer(peer.calls[0], &peer.given[i], LEASE_OK);
	run_ms(100);
	grpc_finish(peer.calls[0], GRPC_UNAVAILABLE, "bye");
	wait_acks(&s, 20);
	assert_int_equal(s.statuses[LEASE_FAIL], 15);
	/* The next ones take another stream. */
	peer.answers = true;
	put_some(&s, 1, 20, 10);
	wait_acks(&s, 30);
	assert_int_equal(s.statuses[LEASE_OK], 15);
	assert_int_equal(peer.opened, 2);
	/* And one after an answer that is none. */
	peer.answers = false;
	peer.n = 0;
	put_some(&s, 1, 30, 10);
	wait_given(10);
	grpc_send(peer.calls[0], STR("\x0a\x7f"));
	wait_acks(&s, 40);
	assert_int_equal(s.statuses[LEASE_FAIL], 25);
	/* And when the connection is lost. */
	peer.n = 0;
	put_some(&s, 1, 40, 10);
	wait_given(10);
	net_abort(LIST_ITEM(peer.ports.next, struct grpc_port, node)->conn,
	    ERR_CLOSED, "gone");
	wait_acks(&s, 50);
	assert_int_equal(s.statuses[LEASE_FAIL], 35);
	finish(&s, GRPC_OK);
	heard_free(&s);
}

/* Nobody waits for what a caller that has left asked for. */
static void
test_leave(void **state)
{
	struct heard s, other;

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
		    i < 300 ? LEASE_FAIL : LEASE_SKIPPED);
	wait_acks(&other, 10);
	assert_int_equal(other.statuses[LEASE_SKIPPED], 10);
	finish(&other, GRPC_OK);
	wait_bytes(0, 0);
	heard_free(&s);
	heard_free(&other);
}

/* Dates go on by a stream of their own, and only there. */
static void
test_dates(void **state)
{
	struct heard s, keeps;

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
		peer_answer(peer.calls[i / 3], &peer.given[i], LEASE_OK);
	}
	finish(&s, GRPC_OK);
	finish(&keeps, GRPC_OK);
	assert_int_equal(s.statuses[LEASE_OK], 3);
	assert_int_equal(keeps.statuses[LEASE_OK], 3);
	heard_free(&s);
	heard_free(&keeps);
}

/* The end of this node does not wait for another's silence. */
static void
test_drain(void **state)
{
	struct mono began;
	struct heard s;

	(void)state;
	open_all(PLAYED, "30s");
	begin(&s, "PutURLs", false);
	put_some(&s, 1, 0, 20);
	wait_given(20);
	for (size_t i = 0; i < 5; i++)
		peer_answer(peer.calls[0], &peer.given[i], LEASE_OK);
	run_ms(100);
	began = clock_mono();
	node_drain(0);
	run_ms(300);
	/* It is still waited for. */
	for (size_t i = 5; i < 10; i++)
		peer_answer(peer.calls[0], &peer.given[i], LEASE_OK);
	wait_for(&s.over);
	assert_int_equal(s.code, GRPC_UNAVAILABLE);
	assert_int_equal(s.statuses[LEASE_OK], 10);
	assert_int_equal(s.statuses[LEASE_FAIL], 10);
	wait_for(&t.nodes[0].drained);
	assert_true(mono_ns_between(began, clock_mono()) < 12 * NS_PER_S);
	heard_free(&s);
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
