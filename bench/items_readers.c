/*
 * items_readers -- many readers of the items door's events at once.
 *
 *     items_readers [--readers N] [--seconds N] ADDRESS PORT
 *
 * Each reads the server-sent events of GET /events from now on.  "ready" is
 * printed when all are answered.  It ends after --seconds (60) or at SIGTERM;
 * then it prints one line of JSON:
 *
 *     events        of all readers
 *     least         of the reader that has the fewest
 *     closed        connections that the server ended
 *     cpu           processor seconds of this process
 *     p50_us ...    from "at" to our read.  "at" is when the transaction of the
 *                   event began, in whole milliseconds: the commit is in it
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "bench/run.h"

#define READERS_MAX 10000
#define READ_BYTES ((size_t)1 << 18)
#define AT_BYTES 24                  /* 2026-11-24T14:42:40.981Z */

struct client {
	int fd;
	bool answered;
	struct buf in;
	uint64_t events;
};

static uint64_t readers = 1, seconds = 60;
static struct sockaddr_in server;
static struct client *clients;
static int epoll;
static size_t answered, closed;
/* Times by milliseconds; the last one is for all that are longer. */
#define MS_MAX 60000
static uint64_t took_ms[MS_MAX + 1];

static void
open_client(struct client *c)
{
	static const char request[] = "GET /events HTTP/1.1\r\n"
	    "Host: localhost\r\nAccept: text/event-stream\r\n\r\n";
	struct epoll_event ev = { .events = EPOLLIN, .data = { .ptr = c } };

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&server,
	    sizeof(server)) < 0 || send(c->fd, request, sizeof(request) - 1,
	    MSG_NOSIGNAL) != sizeof(request) - 1)
		run_fail("connect");
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &ev) < 0)
		run_fail("epoll_ctl");
}

/* Milliseconds of the day, of "2026-11-24T14:42:40.981Z"; -1: it is none. */
static int64_t
ms_of_day(const char *p)
{
	static const char form[] = "0000-00-00T00:00:00.000Z";
	int64_t parts[7] = { 0 };
	size_t part = 0;

	for (size_t i = 0; i < AT_BYTES; i++) {
		bool digit = p[i] >= '0' && p[i] <= '9';
		if (form[i] != '0' ? p[i] != form[i] : !digit)
			return -1;
		if (digit)
			parts[part] = parts[part] * 10 + (p[i] - '0');
		else
			part = MIN(part + 1, (size_t)6);
	}
	return ((parts[3] * 60 + parts[4]) * 60 + parts[5]) * 1000 + parts[6];
}

static void
count_event(struct client *c, const char *at, int64_t now_ms)
{
	const int64_t day = INT64_C(86400000);
	int64_t then = ms_of_day(at);

	c->events++;
	if (then < 0)
		return;
	int64_t ms = (now_ms % day - then + day) % day;
	took_ms[MIN(ms, MS_MAX)]++;
}

/* How many bytes were understood. */
static size_t
take_bytes(struct client *c, struct str s)
{
	struct str key = STR("\"at\":\"");
	int64_t now_ms = run_us(CLOCK_REALTIME) / 1000;
	size_t at = 0;

	if (!c->answered) {
		if (!str_starts(s, STR("HTTP/1.1 200 "))) {
			fprintf(stderr, "items_readers: %.*s\n",
			    (int)MIN(s.n, 300), s.p);
			exit(70);
		}
		c->answered = true;
		if (++answered == readers) {
			puts("ready");
			fflush(stdout);
		}
	}
	for (;;) {
		struct str rest = str_from(s, at);
		size_t found = str_find(rest, key);
		if (found == rest.n)
			return s.n - MIN(rest.n, key.n - 1);
		if (rest.n - found < key.n + AT_BYTES)
			return at + found;
		count_event(c, rest.p + found + key.n, now_ms);
		at += found + key.n + AT_BYTES;
	}
}

static void
read_client(struct client *c)
{
	buf_reserve(&c->in, READ_BYTES);
	ssize_t n = recv(c->fd, c->in.p + c->in.n, READ_BYTES, MSG_DONTWAIT);
	if (n <= 0) {
		epoll_ctl(epoll, EPOLL_CTL_DEL, c->fd, NULL);
		close(c->fd);
		closed++;
		return;
	}
	c->in.n += (size_t)n;
	size_t taken = take_bytes(c, buf_str(&c->in));
	memmove(c->in.p, c->in.p + taken, c->in.n - taken);
	c->in.n -= taken;
}

static void
follow_events(void)
{
	struct epoll_event events[64];

	while (!run_ended && closed < readers) {
		int n = epoll_wait(epoll, events, 64, -1);
		for (int i = 0; i < n; i++)
			read_client(events[i].data.ptr);
	}
}

static uint64_t
percentile_us(uint64_t all, double share)
{
	uint64_t sum = 0;

	for (uint64_t ms = 0; ms <= MS_MAX; ms++) {
		sum += took_ms[ms];
		if (sum > 0 && (double)sum >= (double)all * share)
			return ms * 1000;
	}
	return 0;
}

static void
print_result(void)
{
	uint64_t all = 0, timed = 0, least = UINT64_MAX;
	struct rusage used;

	for (size_t i = 0; i < readers; i++) {
		all += clients[i].events;
		least = MIN(least, clients[i].events);
	}
	for (size_t ms = 0; ms <= MS_MAX; ms++)
		timed += took_ms[ms];
	getrusage(RUSAGE_SELF, &used);
	printf("{\"events\":%llu,\"least\":%llu,\"closed\":%zu,\"cpu\":%.3f,"
	    "\"p50_us\":%llu,\"p99_us\":%llu}\n", (unsigned long long)all,
	    (unsigned long long)least, closed, (double)(used.ru_utime.tv_sec +
	    used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec +
	    used.ru_stime.tv_usec) / 1e6,
	    (unsigned long long)percentile_us(timed, 0.5),
	    (unsigned long long)percentile_us(timed, 0.99));
}

static bool
read_options(int argc, char **argv, const char *places[2])
{
	size_t n = 0;

	for (int i = 1; i < argc; i++) {
		uint64_t *out = strcmp(argv[i], "--readers") == 0 ? &readers :
		    strcmp(argv[i], "--seconds") == 0 ? &seconds : NULL;
		if (out == NULL && n < 2)
			places[n++] = argv[i];
		else if (out == NULL || ++i == argc ||
		    !str_to_u64(str_of(argv[i]), out))
			return false;
	}
	return n == 2 && readers > 0 && readers <= READERS_MAX;
}

int
main(int argc, char **argv)
{
	const char *places[2];
	uint64_t port;

	if (!read_options(argc, argv, places) ||
	    inet_pton(AF_INET, places[0], &server.sin_addr) != 1 ||
	    !str_to_u64(str_of(places[1]), &port) || port > UINT16_MAX) {
		fprintf(stderr, "usage: items_readers [--readers N] "
		    "[--seconds N] ADDRESS PORT\n");
		return 64;
	}
	server.sin_family = AF_INET;
	server.sin_port = htons((uint16_t)port);
	epoll = run_begin("items_readers", (unsigned)seconds);
	clients = calloc(readers, sizeof(*clients));
	if (clients == NULL)
		run_fail("memory");
	for (size_t i = 0; i < readers; i++)
		open_client(&clients[i]);
	follow_events();
	print_result();
	return closed == 0 ? 0 : 1;
}
