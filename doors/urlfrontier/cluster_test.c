/*
 * Owners against Java's own hashes, the rules of the list, and calls to peers
 * that are there, refuse, are silent, come back.
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "doors/urlfrontier/fan.h"
#include "doors/urlfrontier/nodes_testing.h"

/* ---- Owners -------------------------------------------------------------- */

/* By `(crawl + "_" + key).hashCode()` of OpenJDK 17, "_" as "%5F" in both. */
static const struct {
	const char *crawl, *key;
	int64_t hash;
} hashes[] = {
	{ "DEFAULT", "key1.com", 2137133987 },
	{ "DEFAULT", "www.mysite.com", -1277029733 },
	{ "DEFAULT", "_DEFAULT_", 109012045 },
	{ "my_crawl", "a_b.com", 20568510 },
	{ "a", "b_c", -1295026287 },
	{ "a_b", "c", 1298918929 },
	{ "DEFAULT", "a%5Fb", 1065382351 },
	{ "DEFAULT", "k\xc3\xa4se.de", -1148306618 },
	{ "DEFAULT", "\xe2\x82\xac.eu", 1943227536 },
	{ "DEFAULT", "\xf0\x9f\x95\xb7.example", -1878738636 },
	{ "\xf0\x9f\x95\xb7", "x", 1703627347 },
	{ "c", "k", 98191 },
	/* The one whose abs() is no int. */
	{ "c", "tuoajlbq", INT32_MIN },
};

static void
test_owner(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 5, 1000003, INT32_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hashes); i++)
		for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
			int64_t rest = hashes[i].hash % (int64_t)sizes[k];
			assert_int_equal(cluster_hash_owner(
			    str_of(hashes[i].crawl), str_of(hashes[i].key),
			    sizes[k]), rest < 0 ? -rest : rest);
		}
	assert_int_equal(cluster_hash_owner(STR("DEFAULT"),
	    STR("www.mysite.com"), 3), 2);
	assert_int_equal(cluster_hash_owner(STR("c"), STR("tuoajlbq"), 5), 3);
}

/* ---- The list ------------------------------------------------------------ */

static struct cluster *
open_list(const char *nodes, const char *node, struct why *w)
{
	*w = WHY_INIT;
	cluster_free(&t.cluster);
	put_conf(&t.conf, "urlfrontier.nodes=");
	put_conf(&t.conf, "urlfrontier.nodes=%s", nodes);
	put_conf(&t.conf, "urlfrontier.node=%s", node);
	enum err e = cluster_open(&t.conf, t.loop, t.net, "127.0.0.1:7071",
	    &t.cluster, w);
	assert_int_equal(e, w->err);
	return t.cluster;
}

static void
test_list(void **state)
{
	static const char *const bad[] = { "b.org", "b.org:0", "b.org:65536",
		"b.org:x", "[]:7071", "http://b.org:1",
		"b org:1", "b.org:7071,127.0.0.1:7071,b.org:7071" };
	struct why w;

	(void)state;
	assert_null(open_list("", "", &w));
	assert_int_equal(w.err, OK);
	assert_null(open_list("127.0.0.1:7071", "", &w));
	assert_int_equal(w.err, OK);
	assert_null(open_list("b.org:7071", "", &w));
	assert_int_equal(w.err, ERR_CONFIG);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char all[100];
		snprintf(all, sizeof(all), "127.0.0.1:7071,%s", bad[i]);
		assert_null(open_list(all, "", &w));
		assert_int_equal(w.err, ERR_CONFIG);
		assert_non_null(strstr(w.text, "urlfrontier.nodes (--set)"));
	}
	assert_null(open_list("127.0.0.2:7071,127.0.0.1:7072", "", &w));
	assert_int_equal(w.err, ERR_CONFIG);
	assert_string_equal(w.text, "urlfrontier.nodes (--set) does not name "
	    "127.0.0.1:7071, where this node listens: urlfrontier.node says "
	    "which entry it is");
	assert_null(open_list("127.0.0.1:7071,127.0.0.1:7072",
	    "127.0.0.1:7073", &w));
	assert_int_equal(w.err, ERR_CONFIG);
	assert_string_equal(w.text, "urlfrontier.node = 127.0.0.1:7073 (--set) "
	    "is not in urlfrontier.nodes (--set)");
}

static void
test_sorted(void **state)
{
	struct why w;
	struct cluster *c = open_list("127.0.0.1:7072,[::1]:9,127.0.0.1:7071,"
	    "127.0.0.1:10071", "", &w);

	(void)state;
	assert_non_null(c);
	assert_int_equal(cluster_nodes(c), 4);
	assert_string_equal(cluster_node(c, 0), "127.0.0.1:10071");
	assert_string_equal(cluster_node(c, 1), "127.0.0.1:7071");
	assert_string_equal(cluster_node(c, 3), "[::1]:9");
	assert_int_equal(cluster_self(c), 1);
	assert_int_equal(cluster_deadline_ns(c), 30 * NS_PER_S);
	assert_int_equal(cluster_owner(c, STR("c"), STR("k")), 98191 % 4);
	c = open_list("127.0.0.1:7072,127.0.0.1:7071", "127.0.0.1:7072", &w);
	assert_int_equal(cluster_self(c), 1);
	/* As the setting has it, when that is a name. */
	put_conf(&t.conf, "urlfrontier.listen=localhost:7071");
	c = open_list("localhost:7072,localhost:7071", "", &w);
	assert_int_equal(cluster_self(c), 0);
}

static void
test_token_file(void **state)
{
	static const char list[] = "127.0.0.1:7071,127.0.0.1:7072";
	struct why w;

	(void)state;
	assert_non_null(open_list(list, "", &w));
	assert_false(cluster_token_is_peers(t.cluster, STR("")));
	write_token("  " WORD "\n");
	put_conf(&t.conf, "urlfrontier.peer_token_file=%s", t.token_file);
	assert_non_null(open_list(list, "", &w));
	assert_true(cluster_token_is_peers(t.cluster, STR(WORD)));
	assert_false(cluster_token_is_peers(t.cluster, STR(WORD "x")));
	assert_false(cluster_token_is_peers(t.cluster,
	    STR("the-nodes-own-worD")));
	assert_false(cluster_token_is_peers(t.cluster, STR("")));
	unlink(t.token_file);
	assert_null(open_list(list, "", &w));
	assert_int_equal(w.err, ERR_ABSENT);
	assert_non_null(strstr(w.text, "urlfrontier.peer_token_file: "));
	write_token("two words\n");
	put_conf(&t.conf, "urlfrontier.peer_token_file=%s", t.token_file);
	assert_null(open_list(list, "", &w));
	assert_int_equal(w.err, ERR_CONFIG);
	assert_null(strstr(w.text, "two"));
	unlink(t.token_file);
	write_token(" \n");
	put_conf(&t.conf, "urlfrontier.peer_token_file=%s", t.token_file);
	assert_null(open_list(list, "", &w));
	assert_int_equal(w.err, ERR_CONFIG);
	put_conf(&t.conf, "urlfrontier.peer_token_file=");
	put_conf(&t.conf, "urlfrontier.peer_ca=ca.pem");
	assert_null(open_list(list, "", &w));
	assert_int_equal(w.err, ERR_CONFIG);
}

/* ---- Calls --------------------------------------------------------------- */

/* A cluster on this loop: "127.0.0.1:7071" is here, the other there. */
static size_t
join(const char *host, unsigned port)
{
	char all[100];
	struct why w;

	snprintf(all, sizeof(all), "127.0.0.1:7071,%s:%u", host, port);
	if (open_list(all, "", &w) == NULL)
		fail_msg("%s", w.text);
	return 1 - cluster_self(t.cluster);
}

struct asked {
	struct fan fan;
	bool over;
	size_t answers;
	struct mono began;
};

static void
answered(struct fan *f, size_t node, struct str message)
{
	struct asked *a = CONTAINER(f, struct asked, fan);

	(void)message;
	assert_int_not_equal(node, cluster_self(t.cluster));
	a->answers++;
}

static void
all_answered(struct fan *f)
{
	struct asked *a = CONTAINER(f, struct asked, fan);

	assert_false(a->over);
	a->over = true;
}

static void
begin(struct asked *a, size_t node, int64_t timeout_ms)
{
	*a = (struct asked){ .fan = { .cluster = t.cluster, .loop = t.loop,
	    .rpc = "GetActive", .timeout_ns = timeout_ms * NS_PER_MS,
	    .answer = answered, .done = all_answered },
	    .began = clock_mono() };
	/* Its turn began before this. */
	step();
	fan_begin(&a->fan, node, STR(""));
}

static enum grpc_code
ask_peer(struct asked *a, size_t node, int64_t timeout_ms)
{
	begin(a, node, timeout_ms);
	wait_for(&a->over);
	return a->fan.code;
}

/* Refused, and once more before it may be tried again. */
static void
ask_held(struct asked *a, size_t peer)
{
	/* A machine that is busy may lose the moment. */
	for (int i = 0; i < 20; i++) {
		assert_int_equal(ask_peer(a, peer, 5000), GRPC_UNAVAILABLE);
		begin(a, peer, 5000);
		if (a->over)
			return;
		wait_for(&a->over);
	}
	fail_msg("each call connected");
}

/* Refused, refused at once while it is held, there, gone, there again. */
static void
test_comes_and_goes(void **state)
{
	size_t peer = join("127.0.0.1", t.nodes[0].port);
	char text[100];
	struct asked a;

	(void)state;
	snprintf(text, sizeof(text),
	    "node 127.0.0.1:%u: connecting: Connection refused",
	    t.nodes[0].port);
	assert_int_equal(ask_peer(&a, peer, 5000), GRPC_UNAVAILABLE);
	assert_string_equal(a.fan.why.text, text);
	node_join(0);
	node_start(0);
	run_ms(CLUSTER_RETRY_MS);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ask_peer(&a, peer, 5000), GRPC_OK);
		assert_int_equal(a.answers, 1);
		node_stop(0);
		/* With the connection gone, the next is refused and held. */
		run_ms(CLUSTER_RETRY_MS);
		ask_held(&a, peer);
		assert_int_equal(a.fan.code, GRPC_UNAVAILABLE);
		assert_string_equal(a.fan.why.text, text);
		node_start(0);
		run_ms(CLUSTER_RETRY_MS);
	}
}

/* A node that takes connections and says nothing costs the deadline. */
static void
test_silent(void **state)
{
	struct silent silent;
	struct asked a, b;

	(void)state;
	silent_open(&silent, 0);
	size_t peer = join("127.0.0.1", silent.port);
	begin(&a, peer, 300);
	begin(&b, FAN_ALL, 5000);
	wait_for(&a.over);
	assert_int_equal(a.fan.code, GRPC_DEADLINE_EXCEEDED);
	assert_true(ms_since(a.began) >= 300);
	assert_true(ms_since(a.began) < 4000);
	assert_false(b.over);
	wait_for(&b.over);
	assert_int_equal(b.fan.code, GRPC_DEADLINE_EXCEEDED);
	assert_non_null(strstr(b.fan.why.text, "the deadline is over"));
	assert_non_null(strstr(b.fan.why.text, "node 127.0.0.1:"));
	/* Who has gone is not told. */
	begin(&a, peer, 0);
	fan_stop(&a.fan);
	fan_stop(&a.fan);
	run_ms(50);
	assert_false(a.over);
	/* And all others at the end. */
	begin(&a, peer, 0);
	run_ms(20);
	assert_false(a.over);
	cluster_close(t.cluster);
	wait_for(&a.over);
	assert_int_equal(a.fan.code, GRPC_UNAVAILABLE);
	begin(&a, peer, 0);
	assert_true(a.over);
	assert_int_equal(a.fan.code, GRPC_UNAVAILABLE);
	silent_close(&silent);
}

static int
loopback_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
	    0);

	assert_true(fd >= 0);
	return fd;
}

/* The deadline counts also where no connection comes about. */
static void
test_no_connection(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);
	int listener = loopback_socket(), others[8];
	struct asked a;
	size_t peer;

	(void)state;
	assert_int_equal(bind(listener, (struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(listener, 0), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &n),
	    0);
	/* Who waits to be accepted leaves no room for others. */
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		others[i] = loopback_socket();
		(void)connect(others[i], (struct sockaddr *)&at, n);
	}
	peer = join("127.0.0.1", ntohs(at.sin_port));
	assert_int_equal(ask_peer(&a, peer, 400), GRPC_DEADLINE_EXCEEDED);
	assert_true(ms_since(a.began) >= 400);
	assert_true(ms_since(a.began) < 4000);
	begin(&a, peer, 0);
	run_ms(100);
	assert_false(a.over);
	fan_stop(&a.fan);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		close(others[i]);
	close(listener);
}

/* One answers, one refuses, one is silent: it is over when the last is. */
static void
test_all(void **state)
{
	struct silent silent;
	char all[100];
	struct asked a;
	struct why w;

	(void)state;
	silent_open(&silent, 0);
	node_join(0);
	node_start(0);
	snprintf(all, sizeof(all), "127.0.0.1:7071,127.0.0.1:%u,127.0.0.1:%u,"
	    "127.0.0.1:%u", t.nodes[0].port, t.nodes[1].port, silent.port);
	assert_non_null(open_list(all, "", &w));
	assert_int_equal(ask_peer(&a, FAN_ALL, 400), GRPC_UNAVAILABLE);
	assert_true(ms_since(a.began) >= 400);
	assert_int_equal(a.answers, 1);
	snprintf(all, sizeof(all), "node 127.0.0.1:%u: connecting: "
	    "Connection refused", t.nodes[1].port);
	assert_string_equal(a.fan.why.text, all);
	cluster_close(t.cluster);
	run_ms(50);
	silent_close(&silent);
}

/* A name's second address is tried without being asked for. */
static void
test_two_addresses(void **state)
{
	struct net_listener *l;
	struct asked a;

	(void)state;
	if (net_listen(t.net, "::1", t.nodes[0].port, NULL, refuse, NULL, &l,
	    NULL) != OK)
		skip();
	net_unlisten(&l);
	t.nodes[0].host = "::1";
	node_join(0);
	put_conf(&t.nodes[0].conf, "urlfrontier.listen=[::1]:%u",
	    t.nodes[0].port);
	put_conf(&t.nodes[0].conf, "urlfrontier.nodes=");
	node_start(0);
	size_t peer = join("localhost", t.nodes[0].port);
	assert_int_equal(ask_peer(&a, peer, 5000), GRPC_UNAVAILABLE);
	assert_int_equal(ask_peer(&a, peer, 5000), GRPC_OK);
}

static void
test_names(void **state)
{
	struct asked a;
	size_t peer;

	(void)state;
	/* No name server is asked for either. */
	node_join(0);
	node_start(0);
	peer = join("localhost", t.nodes[0].port);
	assert_int_equal(ask_peer(&a, peer, 5000), GRPC_OK);
	cluster_close(t.cluster);
	run_ms(50);
	peer = join("a..b", t.nodes[0].port);
	run_ms(50);
	begin(&a, peer, 5000);
	assert_true(a.over);
	assert_int_equal(a.fan.code, GRPC_UNAVAILABLE);
	assert_non_null(strstr(a.fan.why.text,
	    "the name cannot be resolved: the host name is malformed"));
}

/* What waits for a silent node is bounded. */
static void
test_bytes(void **state)
{
	size_t peer = join("127.0.0.1", t.nodes[0].port);

	(void)state;
	assert_true(cluster_take(t.cluster, peer, CLUSTER_ASKED_BYTES_MAX + 1));
	assert_false(cluster_take(t.cluster, peer, 1));
	cluster_give(t.cluster, peer, CLUSTER_ASKED_BYTES_MAX + 1);
	assert_true(cluster_take(t.cluster, peer, 1));
	assert_true(cluster_take(t.cluster, peer, CLUSTER_ASKED_BYTES_MAX - 1));
	assert_false(cluster_take(t.cluster, peer, 1));
	cluster_give(t.cluster, peer, CLUSTER_ASKED_BYTES_MAX);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, nodes_setup, nodes_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_owner),
		TEST(test_list),
		TEST(test_sorted),
		TEST(test_token_file),
		TEST(test_comes_and_goes),
		TEST(test_silent),
		TEST(test_no_connection),
		TEST(test_all),
		TEST(test_two_addresses),
		TEST(test_names),
		TEST(test_bytes),
	};

	system_ignore_sigpipe();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
