/*
 * realtime_readers -- many readers of the realtime door at once.
 *
 *     realtime_readers [--NAME N ...] ADDRESS PORT TAG
 *
 * Each reader is a WebSocket that subscribes to the items of all crawls with
 * that tag, or of --crawl.  --stopped of them read the answer and then nothing
 * any more.  "ready" is printed when all have subscribed.  It ends when every
 * other reader has --items, at SIGTERM, or after --seconds; then it prints one
 * line of JSON:
 *
 *     items, bytes     of all readers; bytes as they came over the wire
 *     body_bytes       the sum of body_length
 *     least            items of the reader that has the fewest
 *     wrong            items whose number did not follow the one before
 *     closed           connections that the server run_ended
 *     seconds          from the first item to the last
 *     p50_us ...       from completed_at, the end of the fetch, to our read:
 *                      parsing, archiving and committing a page are in it
 *     start_p50_us ... the same from started_at: fetching is in it, too
 *
 * Exit code: 0 every reader has what it wanted, 1 not, 70 it could not begin.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "bench/run.h"
#include "wire/base64.h"

/*  name       default     what it is */
#define OPTIONS(X)                                                            \
	X(readers,    1,          "who read")                                 \
	X(stopped,    0,          "who stop once they have subscribed")       \
	X(items,      UINT64_MAX, "of each reader, then it has enough")       \
	X(crawl,      UINT64_MAX, "instead of the tag")                       \
	X(from,       0,          "the number after which to begin")          \
	X(body,       1,          "0: body:false")                            \
	X(warm,       0,          "first items of each, not timed")           \
	X(seconds,    120,        "when to stop all the same")
static struct {
#define OPTION_FIELD(name, value, help) uint64_t name;
	OPTIONS(OPTION_FIELD)
#undef OPTION_FIELD
} o = {
#define OPTION_VALUE(name, value, help) .name = value,
	OPTIONS(OPTION_VALUE)
#undef OPTION_VALUE
};

#define READ_BYTES ((size_t)1 << 20)
#define STOPPED_RCVBUF 16384
#define OP_TEXT 1
#define OP_CLOSE 8
#define OP_PING 9
#define OP_PONG 10

struct client {
	int fd;                    /* -1: closed */
	bool stops, upgraded, subscribed, enough;
	struct buf in;             /* read, and not understood yet */
	struct buf message;        /* fragments of one */
	uint64_t items, last;
};

static int epoll;
static struct client *clients;
static size_t clients_n, subscribed, reading;
static const char *tag;
static char piece[READ_BYTES];
static struct {
	uint64_t items, bytes, body_bytes, wrong, closed;
	int64_t first_us, last_us;
	struct times {
		uint32_t *us;
		size_t n, cap;
	} since_start, since_end;  /* of the fetch, to our read */
} sum;

/* --- sending -------------------------------------------------------------- */

static void
end_client(struct client *c)
{
	if (c->fd < 0)
		return;
	close(c->fd);
	c->fd = -1;
	sum.closed += !run_ended;
	if (!c->stops && !c->enough)
		reading--;
}

/* What is sent is small, and the socket's buffer empty. */
static void
send_all(struct client *c, struct str s)
{
	if (send(c->fd, s.p, s.n, MSG_NOSIGNAL) != (ssize_t)s.n)
		end_client(c);
}

/* The mask is zero: what it is for does not matter here. */
static void
send_frame(struct client *c, int opcode, struct str s)
{
	struct buf b = { 0 };

	buf_put_char(&b, (char)(0x80 | opcode));
	if (s.n < 126) {
		buf_put_char(&b, (char)(0x80 | s.n));
	} else {
		buf_put_char(&b, (char)(0x80 | 126));
		buf_put_be16(&b, (uint16_t)s.n);
	}
	buf_put_be32(&b, 0);
	buf_put_str(&b, s);
	send_all(c, buf_str(&b));
	buf_free(&b);
}

static void
put_base64(struct buf *b, struct str s)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < s.n; i += 3) {
		uint32_t v = (uint32_t)(uint8_t)s.p[i] << 16;
		v |= i + 1 < s.n ? (uint32_t)(uint8_t)s.p[i + 1] << 8 : 0;
		v |= i + 2 < s.n ? (uint8_t)s.p[i + 2] : 0;
		buf_put_char(b, digits[v >> 18]);
		buf_put_char(b, digits[v >> 12 & 63]);
		buf_put_char(b, i + 1 < s.n ? digits[v >> 6 & 63] : '=');
		buf_put_char(b, i + 2 < s.n ? digits[v & 63] : '=');
	}
}

static void
subscribe(struct client *c)
{
	struct buf b = { 0 };
	char number[24];

	buf_put_text(&b, "{\"command_id\":1,\"command\":"
	    "\"subscribe_crawl_items\",\"args\":{");
	if (o.crawl != UINT64_MAX)
		buf_printf(&b, "\"crawl_id\":%llu",
		    (unsigned long long)o.crawl);
	else
		buf_printf(&b, "\"tag\":\"%s\"", tag);
	if (o.from > 0) {
		snprintf(number, sizeof(number), "%llu",
		    (unsigned long long)o.from);
		buf_put_text(&b, ",\"sync_token\":\"");
		put_base64(&b, str_of(number));
		buf_put_char(&b, '"');
	}
	buf_printf(&b, "%s}}", o.body ? "" : ",\"body\":false");
	send_frame(c, OP_TEXT, buf_str(&b));
	buf_free(&b);
}

/* --- reading -------------------------------------------------------------- */

/* The text behind `key` up to `end`; looked for near the beginning first. */
static bool
value_of(struct str m, struct str key, char end, struct str *out)
{
	struct str first = str_cut(m, 0, 1024);
	size_t at = str_find(first, key);

	if (at == first.n) {
		at = str_find(m, key);
		if (at == m.n)
			return false;
	}
	struct str rest = str_from(m, at + key.n);
	*out = str_cut(rest, 0, str_find_char(rest, end));
	return true;
}

/* The N of a token, base64 of "N.C.S"; 0 when it is none. */
static uint64_t
number_of(struct str token)
{
	static struct buf text;
	uint64_t n = 0;

	buf_clear(&text);
	if (base64_read(&text, token))
		str_to_u64(str_cut(buf_str(&text), 0,
		    str_find_char(buf_str(&text), '.')), &n);
	return n;
}

/* Adds the time from the item's date called `key` until now. */
static void
add_time(struct times *t, struct str m, struct str key, int64_t now)
{
	struct str s;
	double at;

	if (!value_of(m, key, ',', &s) || !str_to_double(s, &at))
		return;
	if (t->n == t->cap) {
		t->cap = MAX(t->cap * 2, (size_t)1 << 16);
		t->us = realloc(t->us, t->cap * sizeof(*t->us));
		if (t->us == NULL)
			run_fail("memory");
	}
	int64_t us = now - (int64_t)(at * 1e6);
	t->us[t->n++] = (uint32_t)MIN(MAX(us, 0), UINT32_MAX);
}

static void
take_item(struct client *c, struct str m, struct str token)
{
	uint64_t n = number_of(token);
	int64_t now = run_us(CLOCK_REALTIME);
	struct str s;
	uint64_t length;

	sum.wrong += n != c->last + 1;
	c->last = n;
	c->items++;
	sum.items++;
	if (sum.first_us == 0)
		sum.first_us = now;
	sum.last_us = now;
	if (c->items > o.warm) {
		add_time(&sum.since_start, m, STR("\"started_at\":"), now);
		add_time(&sum.since_end, m, STR("\"completed_at\":"), now);
	}
	if (value_of(m, STR("\"body_length\":"), ',', &s) &&
	    str_to_u64(s, &length))
		sum.body_bytes += length;
	if (c->items == o.items) {
		c->enough = true;
		reading--;
	}
}

static void
take_message(struct client *c, struct str m)
{
	struct str token;

	if (c->subscribed) {
		if (value_of(m, STR("\"sync_token\":\""), '"', &token))
			take_item(c, m, token);
		return;
	}
	struct str success = STR("\"success\":true");
	if (str_find(m, success) == m.n) {
		fprintf(stderr, "realtime_readers: %.*s\n", (int)MIN(m.n, 300),
		    m.p);
		exit(70);
	}
	c->subscribed = true;
	if (++subscribed == clients_n) {
		puts("ready");
		fflush(stdout);
	}
	if (c->stops)
		epoll_ctl(epoll, EPOLL_CTL_DEL, c->fd, NULL);
}

static void
take_frame(struct client *c, uint8_t first, struct str s)
{
	int opcode = first & 15;

	if (opcode == OP_PING) {
		send_frame(c, OP_PONG, s);
	} else if (opcode == OP_CLOSE) {
		end_client(c);
	} else if (opcode < OP_CLOSE && first >> 7 && c->message.n == 0) {
		take_message(c, s);
	} else if (opcode < OP_CLOSE) {
		buf_put_str(&c->message, s);
		if (first >> 7) {
			take_message(c, buf_str(&c->message));
			buf_clear(&c->message);
		}
	}
}

/* How much of it was understood; a stopped one understands nothing more. */
static size_t
take_bytes(struct client *c, struct str s)
{
	struct str end = STR("\r\n\r\n");
	size_t at = 0;

	if (!c->upgraded) {
		size_t head = str_find(s, end);
		if (head == s.n)
			return 0;
		if (!str_starts(s, STR("HTTP/1.1 101 "))) {
			fprintf(stderr, "realtime_readers: %.*s\n",
			    (int)MIN(s.n, 300), s.p);
			exit(70);
		}
		c->upgraded = true;
		at = head + end.n;
		subscribe(c);
	}
	while (c->fd >= 0) {
		struct reader r = reader_of(str_from(s, at));
		uint8_t first = read_u8(&r);
		uint64_t n = read_u8(&r);
		n = n == 126 ? read_be16(&r) : n == 127 ? read_be64(&r) : n;
		struct str payload = read_bytes(&r, (size_t)n);
		if (r.bad)
			break;
		at = (size_t)(payload.p + payload.n - s.p);
		take_frame(c, first, payload);
	}
	return at;
}

static void
readable(struct client *c)
{
	bool begun = c->in.n > 0;    /* a frame, of which the rest comes now */

	if (begun)
		buf_reserve(&c->in, READ_BYTES / 4);
	ssize_t n = recv(c->fd, begun ? c->in.p + c->in.n : piece,
	    c->stops ? 4096 : begun ? READ_BYTES / 4 : READ_BYTES,
	    MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_client(c);
		return;
	}
	sum.bytes += (uint64_t)n;
	if (!begun) {
		size_t at = take_bytes(c, (struct str){ piece, (size_t)n });
		buf_put(&c->in, piece + at, (size_t)n - at);
		return;
	}
	c->in.n += (size_t)n;
	size_t at = take_bytes(c, buf_str(&c->in));
	memmove(c->in.p, c->in.p + at, c->in.n - at);
	c->in.n -= at;
}

/* --- the start ------------------------------------------------------------ */

static void
open_client(struct client *c, const struct sockaddr_in *a)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
	int on = 1, small = STOPPED_RCVBUF;

	c->last = o.from;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		run_fail("socket");
	if (c->stops)
		setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (connect(c->fd, (const struct sockaddr *)a, sizeof(*a)) < 0)
		run_fail("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &e) < 0)
		run_fail("epoll_ctl");
	send_all(c, STR("GET / HTTP/1.1\r\nHost: localhost\r\n"
	    "Upgrade: websocket\r\nConnection: Upgrade\r\n"
	    "Sec-WebSocket-Version: 13\r\n"
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"));
}

static int
by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static uint32_t
find_percentile(const struct times *sorted, double share)
{
	size_t at = (size_t)((double)sorted->n * share);

	return sorted->n == 0 ? 0 : sorted->us[MIN(at, sorted->n - 1)];
}

static void
print_times(const char *prefix, const struct times *t)
{
	if (t->n > 0)
		qsort(t->us, t->n, sizeof(*t->us), by_value);
	printf("\"%sp50_us\":%u,\"%sp90_us\":%u,\"%sp99_us\":%u,"
	    "\"%smost_us\":%u,", prefix, find_percentile(t, 0.5), prefix,
	    find_percentile(t, 0.9), prefix, find_percentile(t, 0.99), prefix,
	    find_percentile(t, 1));
}

static bool
print_json(void)
{
	uint64_t least = UINT64_MAX;
	struct rusage use;
	bool all = true;

	for (size_t i = 0; i < clients_n; i++) {
		if (clients[i].stops)
			continue;
		least = MIN(least, clients[i].items);
		all = all && clients[i].enough;
	}
	getrusage(RUSAGE_SELF, &use);
	printf("{\"items\":%llu,\"bytes\":%llu,\"body_bytes\":%llu,"
	    "\"least\":%llu,\"wrong\":%llu,\"closed\":%llu,\"seconds\":%.3f,",
	    (unsigned long long)sum.items,
	    (unsigned long long)sum.bytes, (unsigned long long)sum.body_bytes,
	    (unsigned long long)least, (unsigned long long)sum.wrong,
	    (unsigned long long)sum.closed,
	    (double)(sum.last_us - sum.first_us) / 1e6);
	print_times("", &sum.since_end);
	print_times("start_", &sum.since_start);
	printf("\"cpu_s\":%.3f}\n", (double)(use.ru_utime.tv_sec +
	    use.ru_stime.tv_sec) + (double)(use.ru_utime.tv_usec +
	    use.ru_stime.tv_usec) / 1e6);
	return all && sum.wrong == 0;
}

static bool
read_options(int argc, char **argv, struct sockaddr_in *a)
{
	const struct {
		const char *name;
		uint64_t *at;
	} all[] = {
#define OPTION_PLACE(name, value, help) { "--" #name, &o.name },
		OPTIONS(OPTION_PLACE)
#undef OPTION_PLACE
	};
	uint64_t port;
	int i = 1;

	for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		size_t k = 0;
		while (k < ARRAY_LEN(all) && strcmp(all[k].name, argv[i]) != 0)
			k++;
		if (k == ARRAY_LEN(all) || !str_to_u64(str_of(argv[i + 1]),
		    all[k].at))
			return false;
	}
	if (argc - i != 3 || !str_to_u64(str_of(argv[i + 1]), &port) ||
	    port > UINT16_MAX || o.readers > 100000 || o.stopped > 100000)
		return false;
	tag = argv[i + 2];
	a->sin_family = AF_INET;
	a->sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, argv[i], &a->sin_addr) == 1;
}

static int
usage(void)
{
	fputs("usage: realtime_readers [--NAME N ...] ADDRESS PORT TAG\n",
	    stderr);
#define OPTION_HELP(name, value, help) \
	fprintf(stderr, "  --%-8s %s\n", #name, help);
	OPTIONS(OPTION_HELP)
#undef OPTION_HELP
	return 64;
}

int
main(int argc, char **argv)
{
	struct sockaddr_in a = { 0 };
	struct epoll_event events[256];

	if (!read_options(argc, argv, &a))
		return usage();
	epoll = run_begin("realtime_readers", (unsigned)o.seconds);
	clients_n = (size_t)(o.readers + o.stopped);
	reading = (size_t)o.readers;
	clients = mem_array(clients_n, sizeof(*clients));
	for (size_t i = 0; i < clients_n; i++) {
		clients[i].stops = i >= o.readers;
		open_client(&clients[i], &a);
	}
	while (!run_ended && (reading > 0 || subscribed < clients_n)) {
		int n = epoll_wait(epoll, events, ARRAY_LEN(events), -1);
		for (int i = 0; i < n; i++) {
			struct client *c = events[i].data.ptr;
			if (c->fd >= 0)
				readable(c);
		}
	}
	bool fine = print_json();
	for (size_t i = 0; i < clients_n; i++) {
		buf_free(&clients[i].in);
		buf_free(&clients[i].message);
	}
	free(clients);
	free(sum.since_start.us);
	free(sum.since_end.us);
	return fine ? 0 : 1;
}
