/*
 * hostile -- a web server that does what servers should not do.
 *
 *     hostile [--port N] [--ports] [--seconds N] [--log FILE] [--list]
 *
 * It listens on 127.0.0.1 only, prints "port N" on standard output when it is
 * ready, and ends by itself after --seconds (60).  With --ports every behaviour
 * gets a port of its own besides and prints "port N NAME"; then "ready".
 * --list prints the behaviours and ends.  --log appends one line per request,
 * "time_ms path host", time_ms since 1970: politeness can be read off it.
 *
 * A behaviour is chosen by, in this order,
 *
 *     the port       what --ports printed
 *     the host       its first label: http://drip.test:N/anything
 *     the path       its first part: http://127.0.0.1:N/drip
 *
 * and "/" is a page with a link to each of them.  robots.txt is 404, unless the
 * port or the host chose a behaviour.  A bomb takes "?mb=N" (10240 at first).
 *
 * One thread, poll(2), no TLS: a bad certificate is nginx' part, bytes that are
 * no TLS at all are `tls-plain`.  The bombs cost little here: each is a short
 * compressed piece that is sent again and again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

#define CONNECTIONS_MAX 1000
#define PORTS_MAX 100
#define HEAD_MAX 16384

struct behaviour {
	const char *name;
	void (*begin)(struct conn *);
	const char *text;
	const char *path;          /* for the link, when not the name alone */
};

static struct conn *conns[CONNECTIONS_MAX];
static size_t conns_n;
static int listeners[PORTS_MAX];
static int listener_behaviour[PORTS_MAX];
static size_t listeners_n;
static int log_fd = -1;

static int64_t
now_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void
put_head(struct conn *c, const char *status, const char *more_headers)
{
	buf_printf(&c->out, "HTTP/1.1 %s\r\nServer: hostile\r\n%s\r\n", status,
	    more_headers);
}

/* A whole answer of type HTML. */
static void
put_page(struct conn *c, const char *status, const char *headers,
    struct str body)
{
	buf_printf(&c->out, "HTTP/1.1 %s\r\nServer: hostile\r\n"
	    "Content-Type: text/html\r\n%sContent-Length: %zu\r\n\r\n",
	    status, headers, body.n);
	buf_put_str(&c->out, body);
}

/* ---- bodies without end, or slow ---- */

static bool
more_filler(struct conn *c)
{
	put_repeated(&c->out, "<p>all work and no play</p>\n", PIECE / 28);
	return true;
}

static void
endless_body(struct conn *c)
{
	put_head(c, "200 OK", "Content-Type: text/html\r\n"
	    "Connection: close\r\n");
	c->more = more_filler;
}

static bool
more_chunks(struct conn *c)
{
	for (int i = 0; i < 16; i++) {
		buf_put_text(&c->out, "1000;all=work\r\n");
		put_repeated(&c->out, "no play ", 512);
		buf_put_text(&c->out, "\r\n");
	}
	return true;
}

static void
endless_chunked(struct conn *c)
{
	put_head(c, "200 OK", "Content-Type: text/html\r\n"
	    "Transfer-Encoding: chunked\r\n");
	c->more = more_chunks;
}

static bool
more_drip(struct conn *c)
{
	buf_put_char(&c->out, 'x');
	c->wake_ms = now_ms(CLOCK_MONOTONIC) + 1000;
	return ++c->n < 1000000;
}

static void
drip(struct conn *c)
{
	put_head(c, "200 OK", "Content-Type: text/html\r\n"
	    "Content-Length: 1000000\r\n");
	c->more = more_drip;
}

static void
silence(struct conn *c)
{
	c->then = HANG;
}

/* ---- heads ---- */

static bool
more_slow_head(struct conn *c)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nX-Slow: ";

	buf_put_char(&c->out, c->n < sizeof(head) - 1 ? head[c->n] : 'x');
	c->n++;
	c->wake_ms = now_ms(CLOCK_MONOTONIC) + 1000;
	return true;
}

static void
slow_head(struct conn *c)
{
	c->more = more_slow_head;
}

static bool
more_headers(struct conn *c)
{
	for (int i = 0; i < 1000; i++)
		buf_printf(&c->out, "X-Header-%llu: all work and no play\r\n",
		    (unsigned long long)c->n++);
	return true;
}

static void
endless_head(struct conn *c)
{
	buf_put_text(&c->out, "HTTP/1.1 200 OK\r\n");
	c->more = more_headers;
}

static void
big_header(struct conn *c)
{
	buf_put_text(&c->out, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
	    "X-Big: ");
	put_repeated(&c->out, "all work no play", 65536);
	buf_put_text(&c->out, "\r\n\r\n");
}

static void
cookie_flood(struct conn *c)
{
	buf_put_text(&c->out, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	    "Content-Length: 8\r\n");
	for (int i = 0; i < 2000; i++)
		buf_printf(&c->out, "Set-Cookie: c%d=%d; Path=/; "
		    "Max-Age=31536000\r\n", i, i * 7919);
	buf_put_text(&c->out, "\r\ncookies\n");
}

static bool
more_1xx(struct conn *c)
{
	put_repeated(&c->out, "HTTP/1.1 103 Early Hints\r\n"
	    "Link: </a.css>; rel=preload\r\n\r\n", 500);
	return true;
}

static void
flood_1xx(struct conn *c)
{
	c->more = more_1xx;
}

static void
switch_101(struct conn *c)
{
	put_head(c, "101 Switching Protocols", "Upgrade: chess\r\n"
	    "Connection: Upgrade\r\n");
	buf_put_text(&c->out, "e2e4\n");
	c->then = HANG;
}

static void
garbage(struct conn *c)
{
	uint32_t x = 2463534242u;

	for (int i = 0; i < 5000; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		buf_put_char(&c->out, (char)(x | 0x80));
	}
	c->then = CLOSE;
}

static void
http09(struct conn *c)
{
	buf_put_text(&c->out, "<html><body>no head in 1991</body></html>\n");
	c->then = CLOSE;
}

static void
tls_plain(struct conn *c)
{
	buf_put_text(&c->out, "220 mail.test ESMTP ready, no TLS here\r\n");
	c->then = CLOSE;
}

/* ---- redirects ---- */

static void
redirect(struct conn *c, const char *to)
{
	struct buf headers = BUF_INIT;

	buf_printf(&headers, "Location: %s\r\n", to);
	put_page(c, "302 Found", buf_text(&headers), STR("<a>moved</a>\n"));
	buf_free(&headers);
}

static void
redirect_self(struct conn *c)
{
	redirect(c, "/redirect-self");
}

static void
redirect_two(struct conn *c)
{
	redirect(c, str_ends(c->path, STR("/b")) ? "/redirect-two/a" :
	    "/redirect-two/b");
}

static void
redirect_chain(struct conn *c)
{
	char to[64];
	uint64_t at = number_behind(c, "/redirect-chain/", 0);

	if (at >= 100) {
		put_page(c, "200 OK", "", STR("<p>the end of the chain</p>\n"));
		return;
	}
	snprintf(to, sizeof(to), "/redirect-chain/%llu",
	    (unsigned long long)at + 1);
	redirect(c, to);
}

static void
redirect_file(struct conn *c)
{
	redirect(c, "file:///etc/passwd");
}

static void
redirect_private(struct conn *c)
{
	redirect(c, "http://169.254.169.254/latest/meta-data/");
}

static void
redirect_long(struct conn *c)
{
	struct buf to = BUF_INIT;

	buf_put_char(&to, '/');
	put_repeated(&to, "long/", 4000);
	redirect(c, buf_text(&to));
	buf_free(&to);
}

/* ---- pages ---- */

static void
put_built(struct conn *c, struct buf *body)
{
	put_page(c, "200 OK", "", buf_str(body));
	buf_free(body);
}

static void
robots_10mb(struct conn *c)
{
	struct buf b = BUF_INIT;

	buf_put_text(&b, "User-agent: *\nDisallow: /private\n");
	for (int i = 0; b.n < 10 << 20; i++)
		buf_printf(&b, "Disallow: /no/%d/*/way$\n", i);
	buf_printf(&c->out, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	    "Content-Length: %zu\r\n\r\n", b.n);
	buf_put_str(&c->out, buf_str(&b));
	buf_free(&b);
}

static void
nested(struct conn *c)
{
	struct buf b = BUF_INIT;

	put_repeated(&b, "<div>", 50000);
	put_built(c, &b);
}

static void
attributes(struct conn *c)
{
	struct buf b = BUF_INIT;

	buf_put_text(&b, "<html><body><a");
	for (int i = 0; i < 20000; i++)
		buf_printf(&b, " a%d=\"%d\"", i, i);
	buf_put_text(&b, " href=\"/page\">one tag</a>\n");
	put_built(c, &b);
}

static void
many_links(struct conn *c)
{
	struct buf b = BUF_INIT;

	buf_put_text(&b, "<html><body>\n");
	for (int i = 0; i < 200000; i++)
		buf_printf(&b, "<a href=\"/links/%d\">%d</a>\n", i, i);
	put_built(c, &b);
}

/* Each day links to its neighbours and to itself under new names. */
static void
calendar(struct conn *c)
{
	struct buf b = BUF_INIT;
	long long day = (long long)number_behind(c, "/calendar/", 20000);

	buf_printf(&b, "<html><title>day %lld</title><body>\n", day);
	for (int i = 1; i <= 10; i++)
		buf_printf(&b, "<a href=\"/calendar/%lld\">later</a>\n"
		    "<a href=\"/calendar/%lld?session=%llx\">again</a>\n"
		    "<a href=\"%lld/deeper/%d\">deeper</a>\n",
		    day + i, day, (unsigned long long)now_ms(CLOCK_REALTIME) *
		    31 + (unsigned)i, day, i);
	put_built(c, &b);
}

static void
type_lie(struct conn *c)
{
	static const char png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
	bool is_html = str_find(c->path, STR("html")) < c->path.n;
	struct str body = is_html ? STR("<html><a href=\"/page\">x</a>\n") :
	    (struct str){ png, sizeof(png) - 1 };

	buf_printf(&c->out, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n"
	    "Content-Length: %zu\r\n\r\n", is_html ? "image/png" :
	    "text/html; charset=utf-16", body.n);
	buf_put_str(&c->out, body);
}

static void
page(struct conn *c)
{
	put_page(c, "200 OK", "", STR("<html><title>a page</title>"
	    "<a href=\"/\">all</a>\n"));
}

static void
retry_429(struct conn *c)
{
	put_page(c, "429 Too Many Requests", "Retry-After: 3600\r\n",
	    STR("<p>later</p>\n"));
}

static void
retry_503(struct conn *c)
{
	put_page(c, "503 Service Unavailable",
	    "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n",
	    STR("<p>later</p>\n"));
}

/* ---- lengths, chunks, cuts ---- */

static void
length_long(struct conn *c)
{
	put_head(c, "200 OK", "Content-Type: text/html\r\n"
	    "Content-Length: 1000\r\n");
	buf_put_text(&c->out, "<p>that was all</p>\n");
	c->then = CLOSE;
}

static void
length_short(struct conn *c)
{
	put_head(c, "200 OK", "Content-Type: text/html\r\n"
	    "Content-Length: 10\r\n");
	buf_put_text(&c->out, "0123456789HTTP/1.1 200 OK\r\n"
	    "Content-Length: 6\r\n\r\nforged");
}

static void
length_twice(struct conn *c)
{
	put_head(c, "200 OK", "Content-Length: 5\r\nContent-Length: 7\r\n");
	buf_put_text(&c->out, "0123456789");
	c->then = CLOSE;
}

static void
length_negative(struct conn *c)
{
	put_head(c, "200 OK", "Content-Length: -5\r\n");
	buf_put_text(&c->out, "0123456789");
	c->then = CLOSE;
}

static void
length_plus(struct conn *c)
{
	put_head(c, "200 OK", "Content-Length: +10\r\n");
	buf_put_text(&c->out, "0123456789");
}

static void
begin_chunks(struct conn *c, const char *body, enum then then)
{
	put_head(c, "200 OK", "Content-Type: text/html\r\n"
	    "Transfer-Encoding: chunked\r\n");
	buf_put_text(&c->out, body);
	c->then = then;
}

static void
chunk_bad(struct conn *c)
{
	begin_chunks(c, "5\r\nhello\r\nzz\r\nworld\r\n0\r\n\r\n", HANG);
}

static void
chunk_hex(struct conn *c)
{
	begin_chunks(c, "0x5\r\nhello\r\n0\r\n\r\n", KEEP);
}

static void
chunk_huge(struct conn *c)
{
	begin_chunks(c, "fffffffffffffffff\r\nhello\r\n", HANG);
}

static void
chunk_cut(struct conn *c)
{
	begin_chunks(c, "5\r\nhello\r\n1000\r\nhalf", CLOSE);
}

static void
chunk_more(struct conn *c)
{
	begin_chunks(c, "5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"
	    "Content-Length: 6\r\n\r\nforged", KEEP);
}

static bool
more_trailers(struct conn *c)
{
	put_repeated(&c->out, "X-Trailer: all work and no play\r\n", 1000);
	return true;
}

static void
endless_trailers(struct conn *c)
{
	begin_chunks(c, "5\r\nhello\r\n0\r\n", KEEP);
	c->more = more_trailers;
}

static void
reset_head(struct conn *c)
{
	buf_put_text(&c->out, "HTTP/1.1 200 OK\r\nContent-Type: text/ht");
	c->then = RESET;
}

static void
reset_body(struct conn *c)
{
	put_head(c, "200 OK", "Content-Type: text/html\r\n"
	    "Content-Length: 1000\r\n");
	buf_put_text(&c->out, "<p>half a pa");
	c->then = RESET;
}

static void
cut_head(struct conn *c)
{
	buf_put_text(&c->out, "HTTP/1.1 200 OK\r\nContent-Type: text/ht");
	c->then = CLOSE;
}

static void
reset_second(struct conn *c)
{
	if (c->requests > 1)
		c->then = RESET;
	else
		page(c);
}

static const struct behaviour behaviours[] = {
	{ "page", page, "a page like any other", NULL },
	{ "endless-body", endless_body, "a body without end", NULL },
	{ "endless-chunked", endless_chunked, "chunks without end", NULL },
	{ "drip", drip, "one byte of body per second", NULL },
	{ "silence", silence, "no answer", NULL },
	{ "slow-head", slow_head, "one byte of head per second", NULL },
	{ "endless-head", endless_head, "headers without end", NULL },
	{ "big-header", big_header, "one header of 1 MB", NULL },
	{ "cookie-flood", cookie_flood, "2,000 cookies", NULL },
	{ "flood-1xx", flood_1xx, "103 for ever", NULL },
	{ "switch-101", switch_101, "an upgrade nobody asked for", NULL },
	{ "garbage", garbage, "random bytes", NULL },
	{ "http09", http09, "an answer without a head", NULL },
	{ "tls-plain", tls_plain, "plain bytes where TLS is due", NULL },
	{ "redirect-self", redirect_self, "to itself", NULL },
	{ "redirect-two", redirect_two, "in a cycle of two",
	    "redirect-two/a" },
	{ "redirect-chain", redirect_chain, "a hundred times",
	    "redirect-chain/0" },
	{ "redirect-file", redirect_file, "to file:", NULL },
	{ "redirect-private", redirect_private, "to a private address", NULL },
	{ "redirect-long", redirect_long, "to a URL of 20 KB", NULL },
	{ "gzip-bomb", begin_gzip, "10 GB in gzip", NULL },
	{ "gzip2-bomb", begin_gzip2, "10 GB in gzip in gzip", NULL },
	{ "br-bomb", begin_brotli, "10 GB in brotli", NULL },
	{ "zstd-bomb", begin_zstd, "10 GB in zstd", NULL },
	{ "robots-10mb", robots_10mb, "10 MB of robots.txt", NULL },
	{ "nested", nested, "250 KB of <div>", NULL },
	{ "attributes", attributes, "20,000 attributes in a tag", NULL },
	{ "links", many_links, "200,000 links", NULL },
	{ "calendar", calendar, "links without end", "calendar/20000" },
	{ "type-lie", type_lie, "wrong Content-Type", "type-lie/html" },
	{ "retry-429", retry_429, "429 and Retry-After", NULL },
	{ "retry-503", retry_503, "503 and Retry-After in 9999", NULL },
	{ "length-long", length_long, "Content-Length too long", NULL },
	{ "length-short", length_short, "Content-Length too short", NULL },
	{ "length-twice", length_twice, "two Content-Lengths", NULL },
	{ "length-negative", length_negative, "a negative length", NULL },
	{ "length-plus", length_plus, "a length with a sign", NULL },
	{ "chunk-bad", chunk_bad, "a chunk size that is no number", NULL },
	{ "chunk-hex", chunk_hex, "a chunk size with 0x", NULL },
	{ "chunk-huge", chunk_huge, "a chunk size over 64 bits", NULL },
	{ "chunk-cut", chunk_cut, "cut within a chunk", NULL },
	{ "chunk-more", chunk_more, "bytes behind the last chunk", NULL },
	{ "endless-trailers", endless_trailers, "trailers for ever", NULL },
	{ "reset-head", reset_head, "RST within the head", NULL },
	{ "reset-body", reset_body, "RST within the body", NULL },
	{ "cut-head", cut_head, "closed within the head", NULL },
	{ "reset-second", reset_second, "RST at the second request", NULL },
};

static void
index_page(struct conn *c)
{
	struct buf b = BUF_INIT;

	buf_put_text(&b, "<html><title>hostile</title><ul>\n");
	for (size_t i = 0; i < ARRAY_LEN(behaviours); i++)
		buf_printf(&b, "<li><a href=\"/%s\">%s</a>: %s\n",
		    behaviours[i].path != NULL ? behaviours[i].path :
		    behaviours[i].name, behaviours[i].name, behaviours[i].text);
	put_built(c, &b);
}

static void
not_found(struct conn *c)
{
	put_page(c, "404 Not Found", "", STR("<p>not here</p>\n"));
}

static int
find_behaviour(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(behaviours); i++)
		if (str_eq_nocase(name, str_of(behaviours[i].name)))
			return (int)i;
	return -1;
}

/* ---- requests ---- */

static struct str
header_value(struct str head, struct str name)
{
	struct str line;

	while (str_split(&head, '\n', &line))
		if (str_starts_nocase(line, name))
			return str_trim(str_from(line, name.n));
	return STR_NONE;
}

static void
log_request(const struct conn *c)
{
	char line[700];
	int n;

	if (log_fd < 0)
		return;
	n = snprintf(line, sizeof(line), "%lld %.*s %.*s\n",
	    (long long)now_ms(CLOCK_REALTIME), (int)MIN(c->path.n, (size_t)400),
	    c->path.p, (int)MIN(c->host.n, (size_t)200), c->host.p);
	if (write(log_fd, line, (size_t)n) < 0)
		perror("hostile: log");
}

static void
begin_answer(struct conn *c)
{
	int i = c->by_port;
	struct str name;

	if (i < 0)
		i = find_behaviour(str_cut(c->host, 0, MIN(
		    str_find_char(c->host, '.'), str_find_char(c->host, ':'))));
	if (i < 0) {
		name = str_from(c->path, 1);
		for (size_t n = 0; n < name.n; n++)
			if (name.p[n] == '/' || name.p[n] == '?')
				name.n = n;
		i = find_behaviour(name);
	}
	c->answering = true;
	c->then = KEEP;
	c->more = NULL;
	c->n = 0;
	c->wake_ms = 0;
	log_request(c);
	if (i >= 0)
		behaviours[i].begin(c);
	else if (str_eq(c->path, STR("/")))
		index_page(c);
	else
		not_found(c);
}

/* What lies in `in` may move while the answer goes out. */
static struct str
copy_text(char to[static 2048], struct str text)
{
	text.n = MIN(text.n, (size_t)2048);
	if (text.n > 0)
		memcpy(to, text.p, text.n);
	return (struct str){ to, text.n };
}

/* True when a whole request head was there. */
static bool
read_request(struct conn *c)
{
	struct str in = buf_str(&c->in), line, part;
	size_t skip = MIN(c->skip, in.n);
	uint64_t length;

	if (skip > 0) {
		memmove(c->in.p, c->in.p + skip, in.n - skip);
		c->in.n -= skip;
		c->skip -= skip;
		in = buf_str(&c->in);
	}
	size_t end = str_find(in, STR("\r\n\r\n"));
	if (in.n == 0 || end == in.n)
		return false;
	c->request_n = end + 4;
	struct str head = str_cut(in, 0, end);
	struct str rest = head;
	if (!str_split(&rest, '\n', &line) || !str_split(&line, ' ', &part) ||
	    !str_split(&line, ' ', &c->path))
		c->path = STR("/");
	if (c->path.n == 0 || c->path.p[0] != '/')
		c->path = STR("/");
	c->path = copy_text(c->texts[0], c->path);
	c->host = copy_text(c->texts[1], header_value(rest, STR("host:")));
	if (str_to_u64(header_value(rest, STR("content-length:")), &length))
		c->skip = (size_t)length;
	c->requests++;
	return true;
}

static void
conn_free(struct conn *c, bool reset)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (reset)
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(c->fd);
	buf_free(&c->in);
	buf_free(&c->out);
	free(c);
}

/* False when the connection is to be closed; `*reset`: by RST. */
static bool
end_answer(struct conn *c, bool *reset)
{
	if (c->then == HANG)
		return true;
	*reset = c->then == RESET;
	if (c->then != KEEP)
		return false;
	memmove(c->in.p, c->in.p + c->request_n, c->in.n - c->request_n);
	c->in.n -= c->request_n;
	c->answering = false;
	return true;
}

static bool
send_some(struct conn *c)
{
	ssize_t n = send(c->fd, c->out.p + c->out_at, c->out.n - c->out_at,
	    MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->out_at += (size_t)n;
	if (c->out_at == c->out.n)
		c->out.n = c->out_at = 0;
	return true;
}

static bool
receive_some(struct conn *c)
{
	char *to = buf_grow(&c->in, 4096);
	ssize_t n = recv(c->fd, to, 4096, MSG_DONTWAIT);

	c->in.n -= 4096 - (n > 0 ? (size_t)n : 0);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	/* Who asks for a bomb and then talks on gets no memory. */
	return n > 0 && c->in.n < HEAD_MAX;
}

/* As far as it goes without waiting.  False: close. */
static bool
step(struct conn *c, int64_t now, bool *reset)
{
	for (int i = 0; i < 8; i++) {
		if (c->out.n > 0) {
			if (!send_some(c))
				return false;
			if (c->out.n > 0)
				return true;
		}
		if (!c->answering) {
			if (!read_request(c))
				return true;
			begin_answer(c);
			continue;
		}
		if (c->more == NULL) {
			if (!end_answer(c, reset))
				return false;
			if (c->answering)
				return true;
			continue;
		}
		if (now < c->wake_ms)
			return true;
		if (!c->more(c))
			c->more = NULL;
	}
	return true;
}

/* ---- the loop ---- */

static int
listen_on(uint16_t port, int behaviour)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    listen(fd, 256) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &n) != 0) {
		perror("hostile: listen");
		exit(1);
	}
	CHECK(listeners_n < PORTS_MAX);
	listener_behaviour[listeners_n] = behaviour;
	listeners[listeners_n++] = fd;
	return ntohs(a.sin_port);
}

static void
accept_one(size_t at)
{
	int fd = accept4(listeners[at], NULL, NULL, SOCK_CLOEXEC |
	    SOCK_NONBLOCK);
	int on = 1;

	if (fd < 0)
		return;
	if (conns_n == CONNECTIONS_MAX) {
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	struct conn *c = mem_new(sizeof(*c));
	c->fd = fd;
	c->by_port = listener_behaviour[at];
	/* A TLS client waits for no answer to a request. */
	if (c->by_port >= 0 &&
	    behaviours[c->by_port].begin == tls_plain) {
		tls_plain(c);
		c->answering = true;
	}
	conns[conns_n++] = c;
}

static size_t
fill_poll(struct pollfd *p, int64_t now, int64_t *wait_ms)
{
	size_t n = 0;

	for (size_t i = 0; i < listeners_n; i++)
		p[n++] = (struct pollfd){ .fd = listeners[i],
		    .events = POLLIN };
	for (size_t i = 0; i < conns_n; i++) {
		struct conn *c = conns[i];
		short events = POLLIN;
		if (c->answering && c->more != NULL && c->out.n == 0) {
			int64_t left = MAX(c->wake_ms - now, INT64_C(0));
			*wait_ms = MIN(*wait_ms, left);
		}
		if (c->out.n > 0)
			events |= POLLOUT;
		p[n++] = (struct pollfd){ .fd = c->fd, .events = events };
	}
	return n;
}

static void
serve(int64_t until)
{
	static struct pollfd p[PORTS_MAX + CONNECTIONS_MAX];
	int64_t now;

	while ((now = now_ms(CLOCK_MONOTONIC)) < until) {
		int64_t wait_ms = until - now;
		size_t n = fill_poll(p, now, &wait_ms);
		size_t known = conns_n, kept = 0;
		if (poll(p, n, (int)wait_ms) < 0 && errno != EINTR)
			return;
		now = now_ms(CLOCK_MONOTONIC);
		for (size_t i = 0; i < listeners_n; i++)
			if (p[i].revents != 0)
				accept_one(i);
		for (size_t i = 0; i < conns_n; i++) {
			struct conn *c = conns[i];
			bool reset = false, fine = true;
			if (i < known && (p[listeners_n + i].revents &
			    (POLLIN | POLLHUP | POLLERR)))
				fine = receive_some(c);
			if (fine && step(c, now, &reset))
				conns[kept++] = c;
			else
				conn_free(c, reset);
		}
		conns_n = kept;
	}
}

static void
list_behaviours(void)
{
	for (size_t i = 0; i < ARRAY_LEN(behaviours); i++)
		printf("%-18s%s\n", behaviours[i].name, behaviours[i].text);
}

static void
open_ports(uint16_t port, bool each)
{
	printf("port %d\n", listen_on(port, -1));
	for (size_t i = 0; each && i < ARRAY_LEN(behaviours); i++)
		printf("port %d %s\n", listen_on(0, (int)i),
		    behaviours[i].name);
	printf("ready\n");
	fflush(stdout);
}

static uint64_t
number_argument(const char *text)
{
	uint64_t value;

	if (!str_to_u64(str_of(text), &value)) {
		fprintf(stderr, "hostile: not a number: %s\n",
		    text == NULL ? "" : text);
		exit(64);
	}
	return value;
}

int
main(int argc, char **argv)
{
	uint64_t port = 0, seconds = 60;
	bool each = false;

	signal(SIGPIPE, SIG_IGN);
	for (int i = 1; i < argc; i++) {
		struct str a = str_of(argv[i]);
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;
		if (str_eq(a, STR("--list"))) {
			list_behaviours();
			return 0;
		}
		if (str_eq(a, STR("--ports"))) {
			each = true;
			continue;
		}
		i++;
		if (str_eq(a, STR("--port")))
			port = number_argument(value);
		else if (str_eq(a, STR("--seconds")))
			seconds = number_argument(value);
		else if (str_eq(a, STR("--log")) && value != NULL)
			log_fd = open(value, O_WRONLY | O_CREAT | O_APPEND |
			    O_CLOEXEC, 0600);
		else {
			fprintf(stderr, "usage: hostile [--port N] [--ports] "
			    "[--seconds N] [--log FILE] [--list]\n");
			return 64;
		}
	}
	make_bombs();
	open_ports((uint16_t)port, each);
	serve(now_ms(CLOCK_MONOTONIC) + (int64_t)MIN(seconds, 1000000) * 1000);
	return 0;
}
