/*
 * The door with a real engine behind it and our own client before it: what
 * streams do under pressure, at their end, and at the door's.
 */
#include "doors/urlfrontier/nodes_testing.h"

static struct grpc_port *port;

/* A stream of items numbered from `next` on. */
struct putting {
	struct heard seen;
	uint64_t next, end;
	const char *key;
	size_t pad;
	bool known;
};

/* ---- Client -------------------------------------------------------------- */

/* URL number i; they sort by it. */
static struct str
url_of(const struct putting *s, uint64_t i)
{
	static const char dots[1024] = { 0 };
	struct str u = arena_printf(&t.arena, "http://%s/%08llu%*s", s->key,
	    (unsigned long long)i, (int)s->pad, dots);

	return u;
}

static bool
put_one(struct putting *s)
{
	Urlfrontier__URLItem m = URLFRONTIER__URLITEM__INIT;
	Urlfrontier__DiscoveredURLItem d =
	    URLFRONTIER__DISCOVERED_URLITEM__INIT;
	Urlfrontier__KnownURLItem k = URLFRONTIER__KNOWN_URLITEM__INIT;
	Urlfrontier__URLInfo info = URLFRONTIER__URLINFO__INIT;

	arena_reset(&t.arena);
	info.url = (char *)(uintptr_t)url_of(s, s->next++).p;
	d.info = k.info = &info;
	m.item_case = s->known ? URLFRONTIER__URLITEM__ITEM_KNOWN :
	    URLFRONTIER__URLITEM__ITEM_DISCOVERED;
	if (s->known)
		m.known = &k;
	else
		m.discovered = &d;
	return grpc_send(s->seen.call, packed(&m.base)) == GRPC_ROOM;
}

static void
put_more(struct heard *seen)
{
	struct putting *s = CONTAINER(seen, struct putting, seen);
	bool room = true;

	while (s->next < s->end && room)
		room = put_one(s);
	if (s->next == s->end && s->end > 0 && room)
		grpc_half_close(seen->call);
}

static void
begin(struct heard *s, const char *rpc)
{
	heard_begin(s, port, rpc, NULL);
}

/* One request; the answer's last message is in `last`. */
static void
ask(struct heard *s, const char *rpc, const void *message)
{
	*s = (struct heard){ .over = false };
	begin(s, rpc);
	grpc_send(s->call, packed(message));
	grpc_half_close(s->call);
	wait_for(&s->over);
}

static void
put_begin(struct putting *p)
{
	p->seen.more = put_more;
	begin(&p->seen, "PutURLs");
	put_more(&p->seen);
}

/* Items of a queue, and what became of them by status. */
static void
put_all(uint64_t statuses[static 3], const char *key, uint64_t n, size_t pad,
    bool known)
{
	struct putting p = { .key = key, .end = n, .pad = pad,
	    .known = known };

	put_begin(&p);
	wait_for(&p.seen.over);
	assert_int_equal(p.seen.code, GRPC_OK);
	memcpy(statuses, p.seen.statuses, sizeof(p.seen.statuses));
	heard_free(&p.seen);
}

static struct lease_stats
stats_of(const char *key)
{
	Urlfrontier__QueueWithinCrawlParams q =
	    URLFRONTIER__QUEUE_WITHIN_CRAWL_PARAMS__INIT;
	struct lease_stats n = { .active = 0 };
	struct heard s;

	q.key = (char *)(uintptr_t)key;
	ask(&s, "GetStats", &q.base);
	assert_int_equal(s.code, GRPC_OK);
	Urlfrontier__Stats *m = urlfrontier__stats__unpack(NULL, s.last.n,
	    (const uint8_t *)s.last.p);
	assert_non_null(m);
	assert_string_equal(m->crawlid, "DEFAULT");
	n.active = m->size;
	n.leased = m->inprocess;
	n.queues = m->numberofqueues;
	for (size_t i = 0; i < m->n_counts; i++)
		if (strcmp(m->counts[i]->key, "completed") == 0)
			n.completed = m->counts[i]->value;
	urlfrontier__stats__free_unpacked(m, NULL);
	heard_free(&s);
	return n;
}

/* ---- The rig ------------------------------------------------------------- */

static void
left(struct grpc_port *p)
{
	(void)p;
	port = NULL;
}

static int
set_up(void **state)
{
	nodes_setup(state);
	node_prepare(0);
	put_conf(&t.nodes[0].conf, "urlfrontier.start_calls_max=4");
	node_open_door(0);
	port = client_connect(&t.nodes[0], left);
	return 0;
}

/* ---- Tests --------------------------------------------------------------- */

/* One call that is not waited for. */
static void
ask_only(struct heard *s, const char *rpc, const void *message)
{
	*s = (struct heard){ .over = false };
	begin(s, rpc);
	grpc_send(s->call, packed(message));
	grpc_half_close(s->call);
}

/*
 * Before the frontier is there calls wait, as many as urlfrontier.
 * start_calls_max; one more is refused, and one that left makes room.
 */
static void
test_not_ready(void **state)
{
	Urlfrontier__Empty m = URLFRONTIER__EMPTY__INIT;
	struct heard left, waits, more, refused, again;
	struct putting p = { .key = "w", .end = 200 };

	(void)state;
	ask_only(&left, "ListNodes", &m.base);
	ask_only(&waits, "ListNodes", &m.base);
	ask_only(&more, "ListNodes", &m.base);
	put_begin(&p);
	run_ms(50);
	assert_false(left.over || waits.over || more.over || p.seen.over);
	ask(&refused, "ListNodes", &m.base);
	assert_int_equal(refused.code, GRPC_UNAVAILABLE);
	assert_string_equal(refused.text, "the server is starting, and 4 "
	    "calls wait already (urlfrontier.start_calls_max)");
	heard_free(&refused);
	grpc_cancel(left.call);
	run_ms(50);
	ask_only(&again, "ListNodes", &m.base);
	run_ms(50);
	assert_false(again.over);
	grpc_cancel(more.call);
	run_ms(50);
	node_open_engine(0);
	wait_for(&waits.over);
	assert_int_equal(waits.code, GRPC_OK);
	wait_for(&again.over);
	assert_int_equal(again.code, GRPC_OK);
	wait_for(&p.seen.over);
	assert_int_equal(p.seen.code, GRPC_OK);
	assert_int_equal(p.seen.statuses[LEASE_OK], 200);
	heard_free(&left);
	heard_free(&waits);
	heard_free(&more);
	heard_free(&again);
	heard_free(&p.seen);
}

static void
test_put(void **state)
{
	uint64_t statuses[3];

	(void)state;
	node_open_engine(0);
	put_all(statuses, "h", 5000, 0, false);
	assert_int_equal(statuses[LEASE_OK], 5000);
	put_all(statuses, "h", 5000, 0, false);
	assert_int_equal(statuses[LEASE_SKIPPED], 5000);
	put_all(statuses, "h", 2000, 0, true);
	assert_int_equal(statuses[LEASE_OK], 2000);
	struct lease_stats n = stats_of("h");
	assert_int_equal(n.active, 3000);
	assert_int_equal(n.completed, 2000);
	assert_int_equal(n.queues, 1);
}

/* Who does not read acknowledgements is not read from for long. */
static void
test_unread(void **state)
{
	struct putting s = { .key = "u", .end = 60000, .pad = 200,
	    .seen.stop = true };

	(void)state;
	node_open_engine(0);
	int64_t before = value_of("\nfrontier_putURLs_total ");
	put_begin(&s);
	run_ms(2000);
	/* The window for acknowledgements is 1 MiB, about 4,800 of them. */
	int64_t taken = value_of("\nfrontier_putURLs_total ") - before;
	assert_true(taken > 1024);
	assert_true(taken < 1024 + 5200);
	run_ms(300);
	assert_int_equal(value_of("\nfrontier_putURLs_total ") - before,
	    taken);
	s.seen.stop = false;
	grpc_resume(s.seen.call);
	wait_for(&s.seen.over);
	assert_int_equal(s.seen.code, GRPC_OK);
	assert_int_equal(s.seen.statuses[LEASE_OK], 60000);
	heard_free(&s.seen);
}

/* A batch of many units, with repeats; one without items; one that is none. */
static void
test_batches(void **state)
{
	Urlfrontier__DiscoveredBatch b = URLFRONTIER__DISCOVERED_BATCH__INIT;
	static Urlfrontier__URLInfo infos[1000], *all[1000];
	static char urls[1000][32];
	struct heard s;

	(void)state;
	node_open_engine(0);
	for (size_t i = 0; i < 1000; i++) {
		urlfrontier__urlinfo__init(&infos[i]);
		snprintf(urls[i], sizeof(urls[i]), "http://b/%zu", i % 900);
		infos[i].url = urls[i];
		all[i] = &infos[i];
	}
	infos[500].url = urls[0] + 31;   /* empty */
	b.id = urls[999];
	b.items = all;
	b.n_items = 1000;
	ask(&s, "PutDiscovered", &b.base);
	assert_int_equal(s.code, GRPC_OK);
	assert_int_equal(s.messages, 1);
	Urlfrontier__BatchAck *a = urlfrontier__batch_ack__unpack(NULL,
	    s.last.n, (const uint8_t *)s.last.p);
	assert_non_null(a);
	assert_string_equal(a->id, urls[999]);
	assert_int_equal(a->n_statuses, 1000);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(a->statuses[i], i >= 900 || i == 500);
	urlfrontier__batch_ack__free_unpacked(a, NULL);
	heard_free(&s);

	b.n_items = 0;
	ask(&s, "PutDiscovered", &b.base);
	assert_int_equal(s.messages, 1);
	assert_int_equal(s.last.n, 2 + strlen(urls[999]));
	heard_free(&s);
	assert_int_equal(stats_of("b").active, 899);
}

/* What came before garbage is acknowledged, then the stream fails. */
static void
test_garbage(void **state)
{
	struct putting s = { .key = "g" };

	(void)state;
	node_open_engine(0);
	put_begin(&s);
	for (int i = 0; i < 10; i++)
		put_one(&s);
	grpc_send(s.seen.call, STR("\x0a\x7f"));
	put_one(&s);
	wait_for(&s.seen.over);
	assert_int_equal(s.seen.code, GRPC_INTERNAL);
	assert_int_equal(s.seen.statuses[LEASE_OK], 10);
	heard_free(&s.seen);
	assert_int_equal(stats_of("g").active, 10);
}

/* A get that is cancelled half-way keeps the leases of what left only. */
static void
test_cancel(void **state)
{
	Urlfrontier__GetParams g = URLFRONTIER__GET_PARAMS__INIT;
	Urlfrontier__AnyCrawlID any = URLFRONTIER__ANY_CRAWL_ID__INIT;
	uint64_t statuses[3];
	struct heard s = { .stop = true };

	(void)state;
	node_open_engine(0);
	put_all(statuses, "c", 4000, 900, false);
	assert_int_equal(statuses[LEASE_OK], 4000);
	g.delay_requestable = 600;
	g.item_case = URLFRONTIER__GET_PARAMS__ITEM_ANY_CRAWL_ID;
	g.anycrawlid = &any;
	begin(&s, "GetURLs");
	grpc_send(s.call, packed(&g.base));
	grpc_half_close(s.call);
	run_ms(1000);
	assert_int_equal(s.messages, 1);
	grpc_cancel(s.call);
	assert_true(s.over);
	run_ms(500);
	/* A window of 1 MiB holds about 1,100 of them. */
	struct lease_stats n = stats_of("c");
	assert_int_equal(n.active, 4000);
	assert_true(n.leased > 900);
	assert_true(n.leased < 1300);
	heard_free(&s);
}

/* A listing of more than a window, read slowly, then one that is cancelled. */
static void
test_list(void **state)
{
	Urlfrontier__ListUrlParams l = URLFRONTIER__LIST_URL_PARAMS__INIT;
	uint64_t statuses[3];
	struct heard s = { .stop = true };

	(void)state;
	node_open_engine(0);
	put_all(statuses, "l", 6000, 400, false);
	l.size = INT32_MAX;
	begin(&s, "ListURLs");
	grpc_send(s.call, packed(&l.base));
	grpc_half_close(s.call);
	run_ms(300);
	assert_int_equal(s.messages, 1);
	s.stop = false;
	grpc_resume(s.call);
	wait_for(&s.over);
	assert_int_equal(s.code, GRPC_OK);
	assert_int_equal(s.messages, 6000);
	heard_free(&s);
	s = (struct heard){ .stop = true };
	begin(&s, "ListURLs");
	grpc_send(s.call, packed(&l.base));
	grpc_half_close(s.call);
	run_ms(100);
	grpc_cancel(s.call);
	heard_free(&s);
}

/* A stream that stays open is ended with a reason, and all comes to its end. */
static void
test_drain(void **state)
{
	struct putting s = { .key = "d" };

	(void)state;
	node_open_engine(0);
	put_begin(&s);
	for (int i = 0; i < 100; i++)
		put_one(&s);
	run_ms(200);
	assert_int_equal(s.seen.statuses[LEASE_OK], 100);
	for (int i = 0; i < 100; i++)
		put_one(&s);
	node_drain(0);
	wait_for(&s.seen.over);
	assert_int_equal(s.seen.code, GRPC_UNAVAILABLE);
	assert_string_equal(s.seen.text, "the server is shutting down");
	wait_for(&t.nodes[0].drained);
	heard_free(&s.seen);
}

static void
test_exposure(void **state)
{
	struct door_host o = { .conf = &t.conf, .home = t.loop };
	struct urlfrontier *door = NULL;
	struct why w = WHY_INIT;

	(void)state;
	put_conf(&t.conf, "urlfrontier.listen=0.0.0.0:0");
	assert_int_equal(urlfrontier_open(&o, &door, &w), ERR_CONFIG);
	assert_non_null(strstr(w.text, "is not loopback"));
	put_conf(&t.conf, "urlfrontier.insecure=on");
	assert_int_equal(urlfrontier_open(&o, &door, &w), OK);
	urlfrontier_free(&door);
	put_conf(&t.conf, "urlfrontier.listen=off");
	assert_int_equal(urlfrontier_open(&o, &door, &w), OK);
	assert_null(door);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, nodes_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_not_ready),
		TEST(test_put),
		TEST(test_unread),
		TEST(test_batches),
		TEST(test_garbage),
		TEST(test_cancel),
		TEST(test_list),
		TEST(test_drain),
		TEST(test_exposure),
	};

	system_ignore_sigpipe();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
