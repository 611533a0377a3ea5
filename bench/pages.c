/*
 * pages -- many hosts with endless sites, made up as they are asked for.
 *
 *     pages [--hosts N] [--first 127.1.0.1] [--port N] [--bytes 1000]
 *         [--seconds 600] [--log FILE]
 *
 * It listens on N loopback addresses from --first on (the last part runs from 1
 * to 250), all with one port, prints "port N" when it is ready, and ends by
 * itself after --seconds or at SIGTERM.  The path says what a page links to:
 *
 *     /chain/N      to page N + 1
 *     /fill/L/N     to L pages that nobody else links to: L * N + 1 ...
 *     /web/T/L/N    of T pages: to the children 4N + 1 ... 4N + 4, and by lot
 *                   to others until there are L
 *
 * robots.txt allows everything.  What a path answers never changes.
 *
 * --log writes a line per request when the server ends:
 *
 *     BEGUN SENT ADDRESS PATH
 *
 * in microseconds of the monotonic clock: when the request's last byte had
 * come, and just before the last byte of the answer was handed to the kernel.
 * The client cannot have had the answer sooner than SENT nor have asked later
 * than BEGUN: BEGUN minus the SENT before it is at most too long, never too
 * short for a client that keeps its pause.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "bench/run.h"

#define HOSTS_MAX 20000
#define REQUEST_MAX 8192
#define LINKS_MAX 1000
#define PER_NET 250                /* last parts of addresses: 1 to 250 */

struct conn {
	int fd;
	bool listens;
	struct in_addr address;    /* ours */
	size_t in_n;
	char in[REQUEST_MAX];
	/* The answer under way, and the request it is for. */
	struct buf out;
	size_t out_at;
	int64_t begun;
	size_t path_n;
	char path[256];
};

struct options {
	uint64_t hosts, port, bytes, seconds;
	const char *first, *log;
};

static struct options options = { .hosts = 1, .bytes = 1000, .seconds = 600,
	.first = "127.1.0.1" };
static int epoll;
static struct buf body;
static FILE *log_file;

/* --- pages -------------------------------------------------------------- */

/* splitmix64: the lot for page and place. */
static uint64_t
lot(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static void
put_text(uint64_t x, size_t bytes)
{
	static const char *const words[16] = { "archive", "capture", "depth",
		"frontier", "host", "journal", "lease", "link", "orb", "policy",
		"queue", "record", "scope", "seed", "silk", "thread" };
	size_t end = body.n + bytes;

	buf_put_text(&body, "<p>");
	while (body.n < end) {
		x = lot(x);
		for (uint64_t y = x, i = 0; i < 12; i++, y >>= 4) {
			buf_put_text(&body, words[y & 15]);
			buf_put_char(&body, ' ');
		}
	}
	buf_put_text(&body, "</p>\n");
}

static void
put_link(const char *prefix, uint64_t n)
{
	buf_printf(&body, "<a href=\"%s%llu\">%llu</a>\n", prefix,
	    (unsigned long long)n, (unsigned long long)n);
}

/* The numbers of a path behind its first part; false if one is none. */
static bool
read_numbers(struct str rest, uint64_t *out, size_t n)
{
	struct str part;

	for (size_t i = 0; i < n; i++)
		if (!str_split(&rest, '/', &part) || !str_to_u64(part, &out[i]))
			return false;
	return rest.n == 0;
}

static void
put_chain(uint64_t n)
{
	put_link("/chain/", n + 1);
}

static bool
put_fill(uint64_t links, uint64_t n)
{
	char prefix[64];

	if (links > LINKS_MAX || n > UINT64_MAX / LINKS_MAX - 1)
		return false;
	snprintf(prefix, sizeof(prefix), "/fill/%llu/",
	    (unsigned long long)links);
	for (uint64_t i = 1; i <= links; i++)
		put_link(prefix, links * n + i);
	return true;
}

static bool
put_web(uint64_t pages, uint64_t links, uint64_t n)
{
	char prefix[64];

	if (links > LINKS_MAX || pages == 0 || n >= pages)
		return false;
	snprintf(prefix, sizeof(prefix), "/web/%llu/%llu/",
	    (unsigned long long)pages, (unsigned long long)links);
	for (uint64_t i = 1; i <= links; i++) {
		uint64_t child = 4 * n + i;
		put_link(prefix, i <= 4 && child < pages ? child :
		    lot(n * LINKS_MAX + i) % pages);
	}
	return true;
}

static bool
put_links(struct str path)
{
	uint64_t v[3];

	if (str_starts(path, STR("/chain/")) &&
	    read_numbers(str_from(path, 7), v, 1)) {
		put_chain(v[0]);
		return true;
	}
	if (str_starts(path, STR("/fill/")) &&
	    read_numbers(str_from(path, 6), v, 2))
		return put_fill(v[0], v[1]);
	if (str_starts(path, STR("/web/")) &&
	    read_numbers(str_from(path, 5), v, 3))
		return put_web(v[0], v[1], v[2]);
	return false;
}

static void
make_answer(struct conn *c)
{
	struct str path = { c->path, c->path_n };
	const char *status = "200 OK", *type = "text/html; charset=utf-8";
	uint64_t x = ntohl(c->address.s_addr);

	for (size_t i = 0; i < path.n; i++)
		x = lot(x ^ (uint8_t)path.p[i]);
	buf_clear(&body);
	if (str_eq(path, STR("/robots.txt"))) {
		type = "text/plain";
		buf_put_text(&body, "User-agent: *\nAllow: /\n");
	} else {
		buf_printf(&body, "<!DOCTYPE html>\n<title>Page %016llx"
		    "</title>\n", (unsigned long long)x);
		if (put_links(path))
			put_text(x, (size_t)options.bytes);
		else
			status = "404 Not Found";
	}
	buf_clear(&c->out);
	buf_printf(&c->out, "HTTP/1.1 %s\r\nContent-Type: %s\r\n"
	    "Content-Length: %zu\r\n\r\n", status, type, body.n);
	buf_put_str(&c->out, buf_str(&body));
	c->out_at = 0;
}

/* --- connections -------------------------------------------------------- */

static void
watch(struct conn *c, int how, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = c };

	if (epoll_ctl(epoll, how, c->fd, &e) < 0)
		run_fail("epoll_ctl");
}

static struct conn *
conn_new(int fd, struct in_addr address)
{
	struct conn *c = mem_new(sizeof(*c));

	c->fd = fd;
	c->address = address;
	return c;
}

static void
conn_close(struct conn *c)
{
	close(c->fd);
	buf_free(&c->out);
	free(c);
}

static void
take_connections(struct conn *listener)
{
	int fd, on = 1;

	while ((fd = accept4(listener->fd, NULL, NULL,
	    SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		watch(conn_new(fd, listener->address), EPOLL_CTL_ADD, EPOLLIN);
	}
}

static void
note(const struct conn *c, int64_t sent)
{
	char address[INET_ADDRSTRLEN];

	if (log_file == NULL)
		return;
	inet_ntop(AF_INET, &c->address, address, sizeof(address));
	fprintf(log_file, "%lld %lld %s %.*s\n", (long long)c->begun,
	    (long long)sent, address, (int)c->path_n, c->path);
}

/* What the socket takes now; false when the connection is broken. */
static bool
send_out(struct conn *c)
{
	int64_t sent = run_us(CLOCK_MONOTONIC);
	ssize_t n = send(c->fd, c->out.p + c->out_at, c->out.n - c->out_at,
	    MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return false;
	c->out_at += n > 0 ? (size_t)n : 0;
	if (c->out_at < c->out.n) {
		watch(c, EPOLL_CTL_MOD, EPOLLOUT);
		return true;
	}
	note(c, sent);
	if (c->out.n > 65536)
		buf_free(&c->out);
	else
		buf_clear(&c->out);
	return true;
}

/* "GET /path HTTP/1.1"; the rest of the head does not matter. */
static bool
read_request(struct conn *c, struct str head)
{
	struct str method, path;

	if (!str_split(&head, ' ', &method) || !str_eq(method, STR("GET")) ||
	    !str_split(&head, ' ', &path) || path.n >= sizeof(c->path))
		return false;
	memcpy(c->path, path.p, path.n);
	c->path_n = path.n;
	return true;
}

/* Answer the request that stands in c->in, if it is whole. */
static bool
answer(struct conn *c)
{
	struct str in = { c->in, c->in_n }, end = STR("\r\n\r\n");
	size_t at = str_find(in, end);

	if (at == in.n)
		return c->in_n < sizeof(c->in);
	if (!read_request(c, str_cut(in, 0, at)))
		return false;
	at += end.n;
	memmove(c->in, c->in + at, c->in_n - at);
	c->in_n -= at;
	make_answer(c);
	return send_out(c);
}

static bool
serve(struct conn *c, uint32_t events)
{
	if (events & EPOLLOUT) {
		if (!send_out(c))
			return false;
		if (c->out.n == 0)
			watch(c, EPOLL_CTL_MOD, EPOLLIN);
		return true;
	}
	ssize_t n = recv(c->fd, c->in + c->in_n, sizeof(c->in) - c->in_n, 0);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	c->begun = run_us(CLOCK_MONOTONIC);
	c->in_n += (size_t)n;
	return answer(c);
}

/* --- the start ---------------------------------------------------------- */

static int
listen_on(struct in_addr address, uint16_t *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = address,
		.sin_port = htons(*port) };
	socklen_t n = sizeof(a);
	int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		run_fail("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(fd, 512) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &n) < 0)
		run_fail("bind");
	*port = ntohs(a.sin_port);
	return fd;
}

static void
open_hosts(void)
{
	struct in_addr first;
	uint16_t port = (uint16_t)options.port;

	if (inet_pton(AF_INET, options.first, &first) != 1 ||
	    ntohl(first.s_addr) >> 24 != 127) {
		errno = EINVAL;
		run_fail("--first is no loopback address");
	}
	for (uint64_t i = 0; i < options.hosts; i++) {
		struct in_addr a = { htonl(ntohl(first.s_addr) +
		    (uint32_t)(i / PER_NET * 256 + i % PER_NET)) };
		struct conn *c = conn_new(listen_on(a, &port), a);
		c->listens = true;
		watch(c, EPOLL_CTL_ADD, EPOLLIN);
	}
	printf("port %u\n", port);
	fflush(stdout);
}

static void
open_log(void)
{
	if (options.log == NULL)
		return;
	log_file = fopen(options.log, "we");
	if (log_file == NULL)
		run_fail(options.log);
	setvbuf(log_file, NULL, _IOFBF, (size_t)1 << 20);
}

static bool
read_options(int argc, char **argv)
{
	const struct {
		const char *name;
		uint64_t *out, max;
	} numbers[] = {
		{ "--hosts", &options.hosts, HOSTS_MAX },
		{ "--port", &options.port, 65535 },
		{ "--bytes", &options.bytes, (uint64_t)1 << 20 },
		{ "--seconds", &options.seconds, 86400 },
	};
	for (int i = 1; i < argc; i += 2) {
		bool known = false;
		if (i + 1 == argc)
			return false;
		for (size_t k = 0; k < ARRAY_LEN(numbers); k++)
			if (strcmp(argv[i], numbers[k].name) == 0)
				known = str_to_u64(str_of(argv[i + 1]),
				    numbers[k].out) &&
				    *numbers[k].out <= numbers[k].max;
		if (strcmp(argv[i], "--first") == 0) {
			options.first = argv[i + 1];
			known = true;
		} else if (strcmp(argv[i], "--log") == 0) {
			options.log = argv[i + 1];
			known = true;
		}
		if (!known)
			return false;
	}
	return options.hosts > 0;
}

int
main(int argc, char **argv)
{
	struct epoll_event events[256];

	if (!read_options(argc, argv)) {
		fputs("usage: pages [--hosts N] [--first ADDRESS] [--port N] "
		    "[--bytes N] [--seconds N] [--log FILE]\n", stderr);
		return 64;
	}
	epoll = run_begin("pages", (unsigned)options.seconds);
	open_log();
	open_hosts();
	while (!run_ended) {
		int n = epoll_wait(epoll, events, ARRAY_LEN(events), 1000);
		for (int i = 0; i < n; i++) {
			struct conn *c = events[i].data.ptr;
			if (c->listens)
				take_connections(c);
			else if (!serve(c, events[i].events))
				conn_close(c);
		}
	}
	if (log_file != NULL && fclose(log_file) != 0)
		run_fail(options.log);
	return 0;
}
