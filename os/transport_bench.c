/*
 * transport_bench -- what a request costs: the transport beside libcurl's.
 *
 *     transport_bench [REQUESTS [BODY_BYTES [CONNECTIONS]]]
 *
 * A child answers over plain HTTP/1.1 on kept connections.  Rounds of both
 * alternate; each line has the processor time of this process, which is the
 * client's alone, per request.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/transport_curl.h"

#define ROUNDS_N 7
#define CONNECTIONS_MAX 256

static uint64_t requests_n = 100000, body_n = 6000, connections_n = 8;
static struct buf answer;
static uint16_t port;

/* ---- the server, in a child ---- */

static void *
serve_connection(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char in[4096];
	size_t at = 0;
	ssize_t n;

	while ((n = recv(fd, in + at, sizeof(in) - at, 0)) > 0) {
		at += (size_t)n;
		if (at < 4 || memcmp(in + at - 4, "\r\n\r\n", 4) != 0)
			continue;
		at = 0;
		if (send(fd, answer.p, answer.n, MSG_NOSIGNAL) < 0)
			break;
	}
	close(fd);
	return NULL;
}

static void
run_server(int listener)
{
	pthread_t t;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		CHECK(pthread_create(&t, NULL, serve_connection,
		    (void *)(intptr_t)fd) == 0);
		pthread_detach(t);
	}
	_exit(0);
}

static pid_t
start_server(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(bind(fd, (struct sockaddr *)&a, n) == 0 && listen(fd, 64) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&a, &n) == 0);
	port = ntohs(a.sin_port);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0)
		run_server(fd);
	close(fd);
	return child;
}

/* ---- the client ---- */

struct client {
	struct exchange x;
	struct transport *t;
};

static struct client clients[CONNECTIONS_MAX];
static uint64_t started, finished, failed, bytes;
static bool is_done;
static char url[64], host[64];
static struct ip ip;

static bool
allow_all(struct exchange *x, const struct ip *address)
{
	(void)x, (void)address;
	return true;
}

static bool
take_head(struct exchange *x, struct str head, int status)
{
	(void)x, (void)head;
	return status == 200;
}

static bool
take_body(struct exchange *x, struct str part)
{
	(void)x;
	bytes += part.n;
	return true;
}

static void
ask(struct client *c)
{
	started++;
	transport_start(c->t, &c->x);
}

static void
finish(struct exchange *x, enum transport_end end, struct str detail)
{
	struct client *c = CONTAINER(x, struct client, x);

	(void)detail;
	finished++;
	failed += end != TRANSPORT_DONE;
	if (started < requests_n)
		ask(c);
	is_done = finished == requests_n;
}

static void
open_clients(struct transport *t)
{
	static const struct exchange_events events = { allow_all, take_head,
	    take_body, finish };
	static struct transport_header headers[] = {
		{ { "Host", 4 }, { host, 0 } },
		{ { "User-Agent", 10 }, { "bench", 5 } },
		{ { "Accept-Encoding", 15 }, { "gzip", 4 } },
	};

	headers[0].value = str_of(host);
	for (size_t i = 0; i < connections_n; i++) {
		clients[i].t = t;
		clients[i].x = (struct exchange){ .events = &events,
		    .method = STR("GET"), .url = str_of(url),
		    .host = STR("h.test"), .port = port, .headers = headers,
		    .headers_n = ARRAY_LEN(headers), .addresses = &ip,
		    .addresses_n = 1, .connect_ms = 10000, .total_ms = 60000,
		    .speed_s = 10, .speed_bytes_min = 10,
		    .head_bytes_max = 65536 };
		ask(&clients[i]);
	}
}

static double
run_round(struct loop *loop, struct transport *t)
{
	int64_t before, after, rss;

	started = finished = bytes = 0;
	clock_process_use(&before, &rss);
	open_clients(t);
	is_done = false;
	loop_run_until(loop, &is_done);
	clock_process_use(&after, &rss);
	CHECK(failed == 0 && bytes == requests_n * body_n);
	return (double)(after - before) / 1000 / (double)requests_n;
}

static int
order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
	uint64_t *numbers[] = { &requests_n, &body_n, &connections_n };
	struct transport_options o = { .connections_max = CONNECTIONS_MAX,
	    .host_connections_max = CONNECTIONS_MAX, .idle_s_max = 60 };
	double own[ROUNDS_N], curl[ROUNDS_N];

	for (int i = 1; i < argc && i < 4; i++)
		if (!str_to_u64(str_of(argv[i]), numbers[i - 1]))
			return 64;
	CHECK(connections_n > 0 && connections_n <= CONNECTIONS_MAX);
	buf_printf(&answer, "HTTP/1.1 200 OK\r\nServer: bench\r\n"
	    "Content-Type: text/html\r\nContent-Length: %llu\r\n\r\n",
	    (unsigned long long)body_n);
	memset(buf_grow(&answer, body_n), 'b', body_n);
	pid_t child = start_server();
	CHECK(ip_from_text(STR("127.0.0.1"), &ip));
	snprintf(url, sizeof(url), "http://h.test:%u/", port);
	snprintf(host, sizeof(host), "h.test:%u", port);
	struct loop *loop = loop_new("bench");
	struct transport *a = transport_new(loop, &o);
	struct transport *b = transport_curl_new(loop, &o);
	for (size_t i = 0; i < ROUNDS_N; i++) {
		own[i] = run_round(loop, a);
		curl[i] = run_round(loop, b);
		printf("own %.2f us, libcurl %.2f us a request\n", own[i],
		    curl[i]);
	}
	qsort(own, ROUNDS_N, sizeof(own[0]), order);
	qsort(curl, ROUNDS_N, sizeof(curl[0]), order);
	printf("median: own %.2f us, libcurl %.2f us, %.2f of it\n",
	    own[ROUNDS_N / 2], curl[ROUNDS_N / 2],
	    own[ROUNDS_N / 2] / curl[ROUNDS_N / 2]);
	transport_free(&a);
	transport_free(&b);
	loop_free(&loop);
	kill(child, SIGTERM);
	waitpid(child, NULL, 0);
	buf_free(&answer);
	return 0;
}
