/*
 * Control and statistics over two real nodes: to the owner, to all, with one of
 * them dead, with tokens, and at the end of one.
 */
#include "doors/urlfrontier/nodes_testing.h"

/* ---- A client of a node -------------------------------------------------- */

static bool lost;

static void
note_lost(struct grpc_port *p)
{
	(void)p;
	lost = true;
}

static struct grpc_port *
call_node(struct heard *s, size_t node, const char *rpc, const void *message,
    const char *token)
{
	struct grpc_field field = { STR("authorization"), str_of(token) };
	struct grpc_port *p = client_connect(&t.nodes[node], note_lost);

	lost = false;
	*s = (struct heard){ .over = false };
	heard_begin(s, p, rpc, token != NULL ? &field : NULL);
	grpc_send(s->call, packed(message));
	grpc_half_close(s->call);
	return p;
}

static void
ask_with(struct heard *s, size_t node, const char *rpc, const void *message,
    const char *token)
{
	struct grpc_port *p = call_node(s, node, rpc, message, token);

	wait_for(&s->over);
	net_close(p->conn);
	wait_for(&lost);
}

static enum grpc_code
ask(struct heard *s, size_t node, const char *rpc, const void *message)
{
	ask_with(s, node, rpc, message, NULL);
	return s->code;
}

static uint64_t
number_in(struct heard *s)
{
	Urlfrontier__Long *m = urlfrontier__long__unpack(NULL, s->last.n,
	    (const uint8_t *)s->last.p);

	assert_non_null(m);
	uint64_t n = m->value;
	urlfrontier__long__free_unpacked(m, NULL);
	heard_free(s);
	return n;
}

static bool
state_in(struct heard *s)
{
	Urlfrontier__Boolean *m = urlfrontier__boolean__unpack(NULL,
	    s->last.n, (const uint8_t *)s->last.p);

	assert_non_null(m);
	bool state = m->state;
	urlfrontier__boolean__free_unpacked(m, NULL);
	heard_free(s);
	return state;
}

/* ---- Two nodes ----------------------------------------------------------- */

static void
nodes_start(void)
{
	for (size_t i = 0; i < NODES; i++) {
		node_join(i);
		node_start(i);
	}
}

/* The keys "k0", "k1" ... of the crawl "c" that a node has. */
static const char *
key_of(size_t node, size_t number)
{
	char all[2][24];

	snprintf(all[0], sizeof(all[0]), "127.0.0.1:%u", t.nodes[0].port);
	snprintf(all[1], sizeof(all[1]), "127.0.0.1:%u", t.nodes[1].port);
	size_t place = strcmp(all[node], all[1 - node]) > 0;
	for (size_t i = 0;; i++) {
		struct str key = arena_printf(&t.arena, "k%zu", i);
		if (cluster_hash_owner(STR("c"), key, NODES) == place &&
		    number-- == 0)
			return key.p;
	}
}

/* A URL in a queue of the crawl, straight to where it belongs. */
static void
put_url(size_t node, const char *key, const char *url, uint64_t date)
{
	Urlfrontier__URLItem m = URLFRONTIER__URLITEM__INIT;
	Urlfrontier__KnownURLItem k = URLFRONTIER__KNOWN_URLITEM__INIT;
	Urlfrontier__URLInfo info = URLFRONTIER__URLINFO__INIT;
	char crawl[] = "c";
	struct heard s;

	info.url = (char *)(uintptr_t)url;
	info.key = (char *)(uintptr_t)key;
	info.crawlid = crawl;
	k.info = &info;
	k.refetchable_from_date = date;
	m.item_case = URLFRONTIER__URLITEM__ITEM_KNOWN;
	m.known = &k;
	assert_int_equal(ask(&s, node, "PutURLs", &m), GRPC_OK);
	heard_free(&s);
}

static void
put(size_t node, const char *key, uint64_t date)
{
	put_url(node, key, "http://a.b/", date);
}

static enum grpc_code
ask_queue(struct heard *s, size_t node, const char *rpc, const char *key,
    bool local)
{
	Urlfrontier__QueueWithinCrawlParams m =
	    URLFRONTIER__QUEUE_WITHIN_CRAWL_PARAMS__INIT;
	char crawl[] = "c";

	m.key = (char *)(uintptr_t)key;
	m.crawlid = crawl;
	m.local = local;
	return ask(s, node, rpc, &m);
}

static enum grpc_code
set_active(struct heard *s, size_t node, bool active, bool local)
{
	Urlfrontier__Active m = URLFRONTIER__ACTIVE__INIT;

	m.state = active;
	m.local = local;
	return ask(s, node, "SetActive", &m);
}

static bool
is_active(size_t node, bool local)
{
	Urlfrontier__Local m = URLFRONTIER__LOCAL__INIT;
	struct heard s;

	m.local = local;
	assert_int_equal(ask(&s, node, "GetActive", &m), GRPC_OK);
	return state_in(&s);
}

static enum grpc_code
set_limit(struct heard *s, size_t node, const char *key, bool local)
{
	Urlfrontier__CrawlLimitParams m =
	    URLFRONTIER__CRAWL_LIMIT_PARAMS__INIT;
	char crawl[] = "c";

	m.key = (char *)(uintptr_t)key;
	m.crawlid = crawl;
	m.limit = 5;
	m.local = local;
	return ask(s, node, "SetCrawlLimit", &m);
}

/* "active/completed/queues/active_queues" of a key or of all. */
static const char *
stats_of(size_t node, const char *key, bool local)
{
	struct heard s;
	uint64_t counts[2] = { 0, 0 };

	assert_int_equal(ask_queue(&s, node, "GetStats", key, local), GRPC_OK);
	Urlfrontier__Stats *m = urlfrontier__stats__unpack(NULL, s.last.n,
	    (const uint8_t *)s.last.p);
	assert_non_null(m);
	assert_string_equal(m->crawlid, "c");
	assert_int_equal(m->n_counts, 2);
	for (size_t i = 0; i < m->n_counts; i++)
		counts[strcmp(m->counts[i]->key, "completed") != 0] =
		    m->counts[i]->value;
	const char *text = arena_printf(&t.arena, "%llu/%llu/%llu/%llu",
	    (unsigned long long)m->size, (unsigned long long)counts[0],
	    (unsigned long long)m->numberofqueues,
	    (unsigned long long)counts[1]).p;
	urlfrontier__stats__free_unpacked(m, NULL);
	heard_free(&s);
	return text;
}

static void
test_control(void **state)
{
	const char *here, *there, *other;
	struct heard s;

	(void)state;
	nodes_start();
	here = key_of(0, 0);
	there = key_of(1, 0);
	other = key_of(1, 1);
	put(0, here, 5);
	put(1, there, 5);
	put(1, other, 0);
	assert_string_equal(stats_of(0, "", false), "2/1/3/2");
	assert_string_equal(stats_of(1, "", false), "2/1/3/2");
	assert_string_equal(stats_of(0, "", true), "1/0/1/1");
	assert_string_equal(stats_of(0, there, false), "1/0/1/1");
	assert_string_equal(stats_of(0, there, true), "0/0/0/0");

	assert_int_equal(set_limit(&s, 0, there, false), GRPC_OK);
	assert_int_equal(s.last.n, 0);
	assert_int_equal(set_limit(&s, 0, there, true), GRPC_UNKNOWN);
	assert_int_equal(set_limit(&s, 0, key_of(1, 2), false), GRPC_UNKNOWN);
	assert_string_equal(s.text, "there is no such queue");

	assert_true(is_active(0, false));
	assert_int_equal(set_active(&s, 0, false, true), GRPC_OK);
	assert_false(is_active(0, false));
	assert_false(is_active(1, false));
	assert_true(is_active(1, true));
	assert_int_equal(set_active(&s, 1, true, false), GRPC_OK);
	assert_true(is_active(0, true));
	assert_true(is_active(1, false));

	assert_int_equal(ask_queue(&s, 0, "DeleteQueue", there, true),
	    GRPC_OK);
	assert_int_equal(number_in(&s), 0);
	assert_int_equal(ask_queue(&s, 0, "DeleteQueue", there, false),
	    GRPC_OK);
	assert_int_equal(number_in(&s), 1);
	assert_int_equal(ask_queue(&s, 0, "DeleteQueue", "", false), GRPC_OK);
	assert_int_equal(number_in(&s), 0);

	Urlfrontier__DeleteCrawlMessage d =
	    URLFRONTIER__DELETE_CRAWL_MESSAGE__INIT;
	char crawl[] = "c";
	d.value = crawl;
	assert_int_equal(ask(&s, 0, "DeleteCrawl", &d), GRPC_OK);
	assert_int_equal(number_in(&s), 2);
	assert_string_equal(stats_of(1, "", false), "0/0/0/0");
}

/* How many URLs of a queue of node 0 are served. */
static size_t
served_of(const char *key)
{
	Urlfrontier__GetParams m = URLFRONTIER__GET_PARAMS__INIT;
	char crawl[] = "c";
	struct heard s;

	m.key = (char *)(uintptr_t)key;
	m.item_case = URLFRONTIER__GET_PARAMS__ITEM_CRAWL_ID;
	m.crawlid = crawl;
	assert_int_equal(ask(&s, 0, "GetURLs", &m), GRPC_OK);
	size_t n = s.messages;
	heard_free(&s);
	return n;
}

static size_t
listed_queues(bool inactive, bool local)
{
	Urlfrontier__Pagination m = URLFRONTIER__PAGINATION__INIT;
	char crawl[] = "c";
	struct heard s;

	m.crawlid = crawl;
	m.include_inactive = inactive;
	m.local = local;
	assert_int_equal(ask(&s, 0, "ListQueues", &m), GRPC_OK);
	Urlfrontier__QueueList *l = urlfrontier__queue_list__unpack(NULL,
	    s.last.n, (const uint8_t *)s.last.p);
	assert_non_null(l);
	size_t n = l->n_values;
	urlfrontier__queue_list__free_unpacked(l, NULL);
	heard_free(&s);
	return n;
}

/* Numbers and flags of requests take effect. */
static void
test_fields(void **state)
{
	Urlfrontier__QueueDelayParams d = URLFRONTIER__QUEUE_DELAY_PARAMS__INIT;
	Urlfrontier__CrawlLimitParams l = URLFRONTIER__CRAWL_LIMIT_PARAMS__INIT;
	const char *slow, *full;
	char crawl[] = "c";
	struct heard s;

	(void)state;
	nodes_start();
	slow = key_of(0, 0);
	full = key_of(0, 1);
	put_url(0, slow, "http://a.b/1", 5);
	put_url(0, full, "http://a.b/3", 5);
	put_url(0, full, "http://a.b/4", 0);
	put(1, key_of(1, 0), 5);
	assert_int_equal(listed_queues(false, false), 3);
	assert_int_equal(listed_queues(false, true), 2);

	d.crawlid = l.crawlid = crawl;
	d.key = (char *)(uintptr_t)slow;
	d.delay_requestable = 1000;
	assert_int_equal(ask(&s, 0, "SetDelay", &d), GRPC_OK);
	assert_int_equal(served_of(slow), 1);
	put_url(0, slow, "http://a.b/2", 5);
	assert_int_equal(served_of(slow), 0);
	d.delay_requestable = 0;
	assert_int_equal(ask(&s, 0, "SetDelay", &d), GRPC_OK);
	assert_int_equal(served_of(slow), 1);

	l.key = (char *)(uintptr_t)full;
	l.limit = 1;
	assert_int_equal(ask(&s, 0, "SetCrawlLimit", &l), GRPC_OK);
	assert_int_equal(served_of(full), 0);
	l.limit = 2;
	assert_int_equal(ask(&s, 0, "SetCrawlLimit", &l), GRPC_OK);
	assert_int_equal(served_of(full), 1);

	assert_int_equal(ask_queue(&s, 0, "DeleteQueue", slow, true), GRPC_OK);
	heard_free(&s);
	put_url(0, slow, "http://a.b/5", 0);
	assert_int_equal(listed_queues(false, true), 1);
	assert_int_equal(listed_queues(true, true), 2);
}

static void
test_status(void **state)
{
	Urlfrontier__URLStatusRequest m = URLFRONTIER__URLSTATUS_REQUEST__INIT;
	char url[] = "http://a.b/", crawl[] = "c";
	struct heard s;

	(void)state;
	nodes_start();
	m.key = (char *)(uintptr_t)key_of(1, 0);
	m.url = url;
	m.crawlid = crawl;
	assert_int_equal(ask(&s, 0, "GetURLStatus", &m), GRPC_NOT_FOUND);
	assert_string_equal(s.text, "the URL is not known");
	put(1, m.key, 77);
	assert_int_equal(ask(&s, 0, "GetURLStatus", &m), GRPC_OK);
	Urlfrontier__URLItem *item = urlfrontier__urlitem__unpack(NULL,
	    s.last.n, (const uint8_t *)s.last.p);
	assert_non_null(item);
	assert_int_equal(item->known->refetchable_from_date, 77);
	assert_string_equal(item->known->info->key, m.key);
	urlfrontier__urlitem__free_unpacked(item, NULL);
	heard_free(&s);
	char none[] = "", bare[] = "http:///x";
	m.key = none;
	m.url = bare;
	assert_int_equal(ask(&s, 0, "GetURLStatus", &m),
	    GRPC_INVALID_ARGUMENT);
}

static void
test_list_nodes(void **state)
{
	Urlfrontier__Empty m = URLFRONTIER__EMPTY__INIT;
	char first[24];
	struct heard s;

	(void)state;
	nodes_start();
	assert_int_equal(ask(&s, 0, "ListNodes", &m), GRPC_OK);
	Urlfrontier__StringList *l = urlfrontier__string_list__unpack(NULL,
	    s.last.n, (const uint8_t *)s.last.p);
	assert_non_null(l);
	assert_int_equal(l->n_values, 2);
	assert_true(strcmp(l->values[0], l->values[1]) < 0);
	snprintf(first, sizeof(first), "127.0.0.1:%u", t.nodes[0].port);
	assert_true(strcmp(l->values[0], first) == 0 ||
	    strcmp(l->values[1], first) == 0);
	urlfrontier__string_list__free_unpacked(l, NULL);
	heard_free(&s);
}

/* One node dead: all that it need not be asked for works. */
static void
test_dead(void **state)
{
	const char *here, *there;
	char name[40];
	struct heard s;

	(void)state;
	nodes_start();
	here = key_of(0, 0);
	there = key_of(1, 0);
	put(0, here, 5);
	node_stop(1);
	snprintf(name, sizeof(name), "node 127.0.0.1:%u: ", t.nodes[1].port);
	assert_string_equal(stats_of(0, here, false), "1/0/1/1");
	assert_string_equal(stats_of(0, "", true), "1/0/1/1");
	assert_int_equal(ask_queue(&s, 0, "GetStats", "", false),
	    GRPC_UNAVAILABLE);
	assert_int_equal(s.last.n, 0);
	assert_true(str_starts(str_of(s.text), str_of(name)));
	assert_int_equal(ask_queue(&s, 0, "DeleteQueue", there, false),
	    GRPC_UNAVAILABLE);
	assert_true(str_starts(str_of(s.text), str_of(name)));
	/* It is done here, and told that it was not there. */
	assert_int_equal(set_active(&s, 0, false, false), GRPC_UNAVAILABLE);
	assert_false(is_active(0, true));
	Urlfrontier__Local m = URLFRONTIER__LOCAL__INIT;
	assert_int_equal(ask(&s, 0, "GetActive", &m), GRPC_UNAVAILABLE);
	Urlfrontier__LogLevelParams l = URLFRONTIER__LOG_LEVEL_PARAMS__INIT;
	l.level = URLFRONTIER__LOG_LEVEL_PARAMS__LEVEL__WARN;
	assert_int_equal(ask(&s, 0, "SetLogLevel", &l), GRPC_UNAVAILABLE);
	l.local = true;
	assert_int_equal(ask(&s, 0, "SetLogLevel", &l), GRPC_OK);
	node_start(1);
	run_ms(CLUSTER_RETRY_MS);
	assert_string_equal(stats_of(0, "", false), "1/0/1/1");
	l.local = false;
	assert_int_equal(ask(&s, 0, "SetLogLevel", &l), GRPC_OK);
}

/* What one node knows the other by opens both, and no other word does. */
static void
test_peers_token(void **state)
{
	Urlfrontier__Active m = URLFRONTIER__ACTIVE__INIT;
	struct heard s;

	(void)state;
	write_token(WORD);
	for (size_t i = 0; i < NODES; i++) {
		node_join(i);
		put_conf(&t.nodes[i].conf, "urlfrontier.token=required");
		if (i == 0)
			put_conf(&t.nodes[i].conf,
			    "urlfrontier.peer_token_file=%s", t.token_file);
		node_start(i);
	}
	m.state = true;
	assert_int_equal(ask(&s, 0, "SetActive", &m), GRPC_UNAUTHENTICATED);
	assert_null(strstr(s.text, "node"));
	ask_with(&s, 0, "SetActive", &m, "Bearer no");
	assert_int_equal(s.code, GRPC_UNAUTHENTICATED);
	/* The other has no such file. */
	ask_with(&s, 0, "SetActive", &m, "Bearer " WORD);
	assert_int_equal(s.code, GRPC_UNAUTHENTICATED);
	assert_non_null(strstr(s.text, "node 127.0.0.1:"));
	assert_null(strstr(s.text, WORD));
	node_stop(1);
	put_conf(&t.nodes[1].conf, "urlfrontier.peer_token_file=%s",
	    t.token_file);
	node_start(1);
	run_ms(CLUSTER_RETRY_MS);
	ask_with(&s, 0, "SetActive", &m, "Bearer " WORD);
	assert_int_equal(s.code, GRPC_OK);
}

/* What waits for a node that says nothing is told when this one ends. */
static void
test_drain(void **state)
{
	Urlfrontier__Local m = URLFRONTIER__LOCAL__INIT;
	struct silent silent;
	struct heard s;

	(void)state;
	silent_open(&silent, t.nodes[1].port);
	node_join(0);
	node_start(0);
	call_node(&s, 0, "GetActive", &m, NULL);
	run_ms(100);
	assert_false(s.over);
	struct mono began = clock_mono();
	node_drain(0);
	wait_for(&s.over);
	assert_int_equal(s.code, GRPC_UNAVAILABLE);
	assert_string_equal(s.text, "this node is shutting down");
	wait_for(&t.nodes[0].drained);
	assert_true(ms_since(began) < 8000);
	wait_for(&lost);
	node_stop(0);
	silent_close(&silent);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, nodes_setup, nodes_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_control),
		TEST(test_fields),
		TEST(test_status),
		TEST(test_list_nodes),
		TEST(test_dead),
		TEST(test_peers_token),
		TEST(test_drain),
	};

	system_ignore_sigpipe();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
