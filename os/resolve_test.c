#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/resolve.h"

/* ---- a name server in a thread: what it says is in the name ---- */

static int dns_fd;
static char dns_address[32];
static pthread_t dns_thread;
static atomic_int asked_a, asked_aaaa;

static struct loop *loop;
static struct resolver_options options = {
	.ttl_s_min = 0, .ttl_s_max = 3600, .negative_s = 2, .cache_max = 100,
	.timeout_ms = 900, .servers = dns_address,
};

static void
put_record(struct buf *b, uint16_t type, uint32_t ttl, const void *data,
    size_t n)
{
	buf_put_be16(b, 0xc00c);
	buf_put_be16(b, type);
	buf_put_be16(b, 1);
	buf_put_be32(b, ttl);
	buf_put_be16(b, (uint16_t)n);
	buf_put(b, data, n);
}

/* Its name is the question's, "real.test" after an alias. */
static void
put_alias(struct buf *b, uint32_t ttl)
{
	put_record(b, 5, ttl, "\4real\4test", 11);
	buf_put(b, "\4real\4test", 11);
	buf_put_be16(b, 1);
	buf_put_be16(b, 1);
	buf_put_be32(b, 600);
	buf_put_be16(b, 4);
	buf_put(b, "\x0a\0\0\x07", 4);
}

static void
put_addresses(struct buf *b, bool v6, int n, uint32_t ttl)
{
	for (int i = 1; i <= n; i++) {
		uint8_t a[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = (uint8_t)i };
		if (!v6)
			memcpy(a, (uint8_t[]){ 10, 0, 0, (uint8_t)i }, 4);
		put_record(b, v6 ? 28 : 1, ttl, a, v6 ? 16 : 4);
	}
}

/*
 * NAME.test: aN has N addresses, bN has N of each kind, nx does not exist,
 * empty has none, fail is SERVFAIL, junk is no message, mute is not answered,
 * alias is real; a digit behind "-t" is the TTL.
 */
static bool
put_answer(struct buf *b, struct str label, bool v6)
{
	size_t mark = str_find(label, STR("-t"));
	uint32_t ttl = mark < label.n ? (uint32_t)(label.p[mark + 2] - '0') :
	    300;
	int n = label.n > 1 && ascii_is_digit(label.p[1]) ?
	    label.p[1] - '0' : 0;
	uint16_t flags = 0x8180, count = 0;

	if (str_starts(label, STR("mute")))
		return false;
	if (str_starts(label, STR("junk"))) {
		buf_clear(b);
		buf_put_text(b, "junk");
		return true;
	}
	if (str_starts(label, STR("nx")))
		flags |= 3;
	else if (str_starts(label, STR("fail")))
		flags |= 2;
	else if (str_starts(label, STR("alias")) && !v6)
		count = 2;
	else if (n > 0 && (label.p[0] == 'b' || !v6))
		count = (uint16_t)(n == 9 ? 25 : n);
	b->p[2] = (char)(flags >> 8);
	b->p[3] = (char)flags;
	b->p[7] = (char)count;
	b->p[9] = b->p[11] = 0;
	if (str_starts(label, STR("alias")) && count > 0)
		put_alias(b, ttl);
	else
		put_addresses(b, v6, count, ttl);
	return true;
}

static void
answer_one(const char *query, size_t n, struct sockaddr_in *from)
{
	struct buf b = BUF_INIT;
	size_t label_n, end = 12;

	if (n < 17)
		return;
	label_n = (unsigned char)query[12];
	while (end < n && query[end] != 0)
		end += (unsigned char)query[end] + 1u;
	if (end + 5 > n || 13 + label_n > n)
		return;
	bool v6 = query[end + 2] == 28;
	if (v6)
		asked_aaaa++;
	else
		asked_a++;
	buf_put(&b, query, end + 5);
	if (put_answer(&b, (struct str){ query + 13, label_n }, v6))
		sendto(dns_fd, b.p, b.n, 0, (struct sockaddr *)from,
		    sizeof(*from));
	buf_free(&b);
}

static void *
serve_dns(void *arg)
{
	struct sockaddr_in from;
	char query[600];

	(void)arg;
	for (;;) {
		socklen_t from_n = sizeof(from);
		ssize_t n = recvfrom(dns_fd, query, sizeof(query), 0,
		    (struct sockaddr *)&from, &from_n);
		/* One byte is the end. */
		if (n <= 1)
			return NULL;
		answer_one(query, (size_t)n, &from);
	}
}

static int
start_dns(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);

	(void)state;
	dns_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(dns_fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(dns_fd, (struct sockaddr *)&a, &n), 0);
	snprintf(dns_address, sizeof(dns_address), "127.0.0.1:%u",
	    ntohs(a.sin_port));
	assert_int_equal(pthread_create(&dns_thread, NULL, serve_dns, NULL),
	    0);
	loop = loop_new("test");
	return 0;
}

static int
stop_dns(void **state)
{
	struct sockaddr_in a;
	socklen_t n = sizeof(a);

	(void)state;
	getsockname(dns_fd, (struct sockaddr *)&a, &n);
	sendto(dns_fd, "x", 1, 0, (struct sockaddr *)&a, n);
	pthread_join(dns_thread, NULL);
	close(dns_fd);
	loop_free(&loop);
	return 0;
}

/* ---- queries ---- */

struct question {
	struct resolve_query q;
	int found_n;
	struct question *stop, *start;
	struct resolver *r;
};

static void
found(struct resolve_query *q)
{
	struct question *x = CONTAINER(q, struct question, q);

	x->found_n++;
	if (x->stop != NULL)
		resolve_stop(x->r, &x->stop->q);
	if (x->start != NULL)
		resolve_start(x->r, &x->start->q);
}

static void
turn_for(int ms)
{
	struct mono until = mono_add_ms(clock_mono(), ms);
	struct timespec pause = { .tv_nsec = 200000 };

	while (mono_before(clock_mono(), until))
		if (!loop_step(loop))
			nanosleep(&pause, NULL);
}

static void
start(struct resolver *r, struct question *x, const char *host)
{
	*x = (struct question){ .q.host = str_of(host), .q.found = found,
	    .r = r };
	resolve_start(r, &x->q);
}

static void
wait_for(struct question *x)
{
	for (int i = 0; i < 3000 && x->found_n == 0; i++)
		turn_for(1);
	assert_int_equal(x->found_n, 1);
}

static void
ask(struct resolver *r, struct question *x, const char *host)
{
	asked_a = asked_aaaa = 0;
	start(r, x, host);
	wait_for(x);
}

static void
assert_ip(const struct ip *ip, const char *expected)
{
	char text[IP_TEXT_MAX];

	ip_to_text(ip, text);
	assert_string_equal(text, expected);
}

static void
test_answer(void **state)
{
	struct resolver *r = resolver_new(loop, &options);
	struct question x;

	(void)state;
	ask(r, &x, "A2.Test.");
	assert_int_equal(x.q.n, 2);
	assert_ip(&x.q.addresses[0], "10.0.0.1");
	assert_ip(&x.q.addresses[1], "10.0.0.2");
	assert_string_equal(x.q.error, "");
	assert_false(x.q.from_cache);
	assert_int_equal(asked_a, 1);
	assert_int_equal(asked_aaaa, 1);
	/* The same name, and at once. */
	asked_a = 0;
	start(r, &x, "a2.test");
	assert_int_equal(x.found_n, 1);
	assert_int_equal(x.q.n, 2);
	assert_true(x.q.from_cache);
	assert_int_equal(asked_a, 0);
	ask(r, &x, "b1.test");
	assert_int_equal(x.q.n, 2);
	/* No more than there is room for. */
	ask(r, &x, "a9.test");
	assert_int_equal(x.q.n, RESOLVE_ADDRESSES_MAX);
	resolver_free(&r);
}

static void
test_alias(void **state)
{
	struct resolver *r = resolver_new(loop, &options);
	struct question x;

	(void)state;
	ask(r, &x, "alias-t1.test");
	assert_int_equal(x.q.n, 1);
	assert_ip(&x.q.addresses[0], "10.0.0.7");
	/* The alias' time is shorter than the address'. */
	turn_for(1100);
	ask(r, &x, "alias-t1.test");
	assert_false(x.q.from_cache);
	assert_int_equal(asked_a, 1);
	resolver_free(&r);
}

static void
test_ttl(void **state)
{
	struct resolver_options o = options;
	struct resolver *r = resolver_new(loop, &o);
	struct question x;

	(void)state;
	ask(r, &x, "a1-t1.test");
	ask(r, &x, "a1-t1.test");
	assert_true(x.q.from_cache);
	turn_for(1100);
	ask(r, &x, "a1-t1.test");
	assert_false(x.q.from_cache);
	resolver_free(&r);
	/* At least ttl_s_min; at most ttl_s_max. */
	o.ttl_s_min = 100;
	r = resolver_new(loop, &o);
	ask(r, &x, "a1-t0.test");
	ask(r, &x, "a1-t0.test");
	assert_true(x.q.from_cache);
	resolver_free(&r);
	o.ttl_s_min = 0;
	o.ttl_s_max = 1;
	r = resolver_new(loop, &o);
	ask(r, &x, "a1.test");
	turn_for(1100);
	ask(r, &x, "a1.test");
	assert_false(x.q.from_cache);
	resolver_free(&r);
}

static void
check_failure(struct resolver *r, const char *host, const char *text)
{
	struct question x;

	ask(r, &x, host);
	assert_int_equal(x.q.n, 0);
	assert_string_equal(x.q.error, text);
	assert_false(x.q.from_cache);
	ask(r, &x, host);
	assert_int_equal(x.q.n, 0);
	assert_string_equal(x.q.error, text);
	assert_true(x.q.from_cache);
	assert_int_equal(asked_a, 0);
}

static void
test_failures(void **state)
{
	struct resolver *r = resolver_new(loop, &options);
	struct question x;
	char text[300];

	(void)state;
	check_failure(r, "nx.test", "no such host");
	check_failure(r, "empty.test", "the host has no address");
	struct mono begun = clock_mono();
	check_failure(r, "mute.test",
	    "the name servers did not answer in time");
	assert_in_range(mono_ns_between(begun, clock_mono()) / NS_PER_MS, 600,
	    3000);
	ask(r, &x, "fail.test");
	assert_int_equal(x.q.n, 0);
	assert_true(x.q.error[0] != '\0');
	ask(r, &x, "junk.test");
	assert_int_equal(x.q.n, 0);
	assert_true(x.q.error[0] != '\0');
	/* negative_s is 2. */
	turn_for(2100);
	ask(r, &x, "nx.test");
	assert_false(x.q.from_cache);
	/* These are not asked for. */
	memset(text, 'a', sizeof(text));
	text[254] = '\0';
	ask(r, &x, text);
	assert_int_equal(x.q.n, 0);
	ask(r, &x, "");
	assert_int_equal(x.q.n, 0);
	ask(r, &x, "a b.test");
	assert_string_equal(x.q.error, "the host name is malformed");
	assert_int_equal(asked_a, 0);
	ask(r, &x, "a..test");
	assert_int_equal(x.q.n, 0);
	resolver_free(&r);
}

static void
test_at_once(void **state)
{
	static const struct {
		const char *host, *ip;
		size_t n;
	} cases[] = {
		{ "127.0.0.1", "127.0.0.1", 1 },
		{ "[2001:db8::1]", "2001:db8::1", 1 },
		{ "2001:db8::1", "2001:db8::1", 1 },
		{ "localhost", "127.0.0.1", 2 },
		{ "LocalHost.", "127.0.0.1", 2 },
		{ "a.b.localhost", "127.0.0.1", 2 },
		{ "fixed.test", "10.9.9.9", 2 },
		{ "other.test", "2001:db8::9", 1 },
	};
	struct resolver_options o = options;
	struct question x;

	(void)state;
	o.fixed = "fixed.test=10.9.9.9, other.test=2001:db8::9,nonsense,"
	    "=1.2.3.4,x.test=y,fixed.test=10.9.9.8";
	struct resolver *r = resolver_new(loop, &o);
	asked_a = 0;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		start(r, &x, cases[i].host);
		assert_int_equal(x.found_n, 1);
		assert_int_equal(x.q.n, cases[i].n);
		assert_ip(&x.q.addresses[0], cases[i].ip);
	}
	turn_for(20);
	assert_int_equal(asked_a, 0);
	/* Not localhost. */
	ask(r, &x, "nxlocalhost");
	assert_int_equal(x.q.n, 0);
	resolver_free(&r);
}

/* A name of this machine's own /etc/hosts, if there is one. */
static void
test_hosts_file(void **state)
{
	struct resolver *r = resolver_new(loop, &options);
	struct question x;
	char line[500], name[256] = "", ip[64] = "";
	FILE *f = fopen("/etc/hosts", "r");

	(void)state;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%63[0-9.] %255[a-z0-9.-]", ip, name) == 2 &&
		    strstr(name, "localhost") == NULL)
			break;
		else
			name[0] = '\0';
	if (f != NULL)
		fclose(f);
	if (name[0] == '\0') {
		resolver_free(&r);
		print_message("no name in /etc/hosts\n");
		skip();
	}
	ask(r, &x, name);
	assert_true(x.q.n > 0);
	assert_ip(&x.q.addresses[0], ip);
	assert_int_equal(asked_a, 0);
	resolver_free(&r);
}

static void
test_coalesced(void **state)
{
	struct resolver *r = resolver_new(loop, &options);
	struct question x[5], again;

	(void)state;
	asked_a = 0;
	for (int i = 0; i < 5; i++)
		start(r, &x[i], "a1.test");
	/* The first one stops the second, and asks again when it knows. */
	x[0].stop = &x[1];
	again = (struct question){ .q.host = STR("a1.test"), .q.found = found,
	    .r = r };
	x[0].start = &again;
	resolve_stop(r, &x[4].q);
	wait_for(&x[0]);
	turn_for(20);
	assert_int_equal(asked_a, 1);
	assert_int_equal(x[1].found_n, 0);
	assert_int_equal(x[2].found_n, 1);
	assert_int_equal(x[3].found_n, 1);
	assert_int_equal(x[4].found_n, 0);
	assert_int_equal(again.found_n, 1);
	assert_true(again.q.from_cache);
	/* Nobody waits any more; the answer is kept all the same. */
	asked_a = 0;
	start(r, &x[0], "a2.test");
	resolve_stop(r, &x[0].q);
	turn_for(100);
	assert_int_equal(x[0].found_n, 0);
	ask(r, &x[0], "a2.test");
	assert_true(x[0].q.from_cache);
	resolver_free(&r);
}

static void
test_cache_limit(void **state)
{
	struct resolver_options o = options;
	struct question x;
	char host[30];

	(void)state;
	o.cache_max = 3;
	struct resolver *r = resolver_new(loop, &o);
	for (int i = 0; i < 4; i++) {
		snprintf(host, sizeof(host), "a1-t9-%d.test", i);
		ask(r, &x, host);
	}
	for (int i = 3; i >= 0; i--) {
		snprintf(host, sizeof(host), "a1-t9-%d.test", i);
		ask(r, &x, host);
		assert_int_equal(x.q.from_cache, i > 0);
	}
	resolver_free(&r);
	o.cache_max = 0;
	r = resolver_new(loop, &o);
	for (int i = 0; i < 2; i++) {
		ask(r, &x, "a1.test");
		assert_int_equal(x.q.n, 1);
		assert_false(x.q.from_cache);
	}
	resolver_free(&r);
}

static void
test_many(void **state)
{
	static struct question x[200];
	static char hosts[200][24];
	struct resolver *r = resolver_new(loop, &options);

	(void)state;
	for (int i = 0; i < 200; i++) {
		snprintf(hosts[i], sizeof(hosts[i]), "a1-t9-%d.test", i);
		start(r, &x[i], hosts[i]);
	}
	for (int i = 0; i < 200; i++) {
		wait_for(&x[i]);
		assert_int_equal(x[i].q.n, 1);
	}
	resolver_free(&r);
}

/* Freed while something is asked: nobody is told. */
static void
test_freed_early(void **state)
{
	struct resolver *r = resolver_new(loop, &options);
	struct question x, y;

	(void)state;
	start(r, &x, "mute.test");
	start(r, &y, "a1.test");
	turn_for(5);
	resolver_free(&r);
	resolver_free(&r);
	assert_int_equal(x.found_n, 0);
	turn_for(20);
	resolve_stop(r, &x.q);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_alias),
		cmocka_unit_test(test_ttl),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_hosts_file),
		cmocka_unit_test(test_coalesced),
		cmocka_unit_test(test_cache_limit),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_freed_early),
	};

	return cmocka_run_group_tests(tests, start_dns, stop_dns);
}
