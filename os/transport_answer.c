#include <netinet/in.h>

#include "os/clock.h"
#include "os/transport_transfer.h"

static bool
is_same_ip(const struct ip *a, const struct ip *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

/* Ask the caller; true to go on.  The exchange may be over afterwards. */
static bool
ask_connected(struct transfer *tr, const struct ip *ip)
{
	struct exchange *x = tr->x;

	tr->asked = *ip;
	if (x->events->connected == NULL || x->events->connected(x, ip))
		return tr->x != NULL;
	if (tr->x != NULL) {
		char text[IP_TEXT_MAX], line[IP_TEXT_MAX + 32];
		ip_to_text(ip, text);
		snprintf(line, sizeof(line), "%s is not allowed", text);
		transfer_decide(tr, TRANSPORT_BLOCKED, line);
	}
	return false;
}

static void
put_address(struct curl_sockaddr *a, const struct ip *ip, uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
	    .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
	    .sin6_port = htons(port) };

	/* Behind `addr` libcurl has room for any socket address. */
	char *to = (char *)a + offsetof(struct curl_sockaddr, addr);
	if (transfer_is_v4(ip)) {
		memcpy(&v4.sin_addr, ip->b + 12, 4);
		memcpy(to, &v4, sizeof(v4));
		a->addrlen = sizeof(v4);
		a->family = AF_INET;
	} else {
		memcpy(&v6.sin6_addr, ip->b, 16);
		memcpy(to, &v6, sizeof(v6));
		a->addrlen = sizeof(v6);
		a->family = AF_INET6;
	}
}

static bool
take_address(const struct curl_sockaddr *a, struct ip *ip)
{
	const char *from = (const char *)a +
	    offsetof(struct curl_sockaddr, addr);

	*ip = (struct ip){ { [10] = 0xff, [11] = 0xff } };
	if (a->family == AF_INET)
		memcpy(ip->b + 12, from + offsetof(struct sockaddr_in,
		    sin_addr), 4);
	else if (a->family == AF_INET6)
		memcpy(ip->b, from + offsetof(struct sockaddr_in6, sin6_addr),
		    16);
	else
		return false;
	return true;
}

/* CURLOPT_OPENSOCKETFUNCTION */
static curl_socket_t
open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct transfer *tr = arg;
	struct ip ip;

	if (purpose != CURLSOCKTYPE_IPCXN || tr->x == NULL)
		return CURL_SOCKET_BAD;
	/* Again, when a kept connection turned out dead. */
	transfer_begin_connecting(tr, clock_mono());
	if (transfer_is_direct(tr)) {
		ip = tr->x->addresses[tr->address_at];
		put_address(a, &ip, tr->x->port);
	} else if (!take_address(a, &ip)) {
		return CURL_SOCKET_BAD;
	}
	if (!ask_connected(tr, &ip))
		return CURL_SOCKET_BAD;
	tr->opened = true;
	tr->fd = transport_socket_new(&tr->t->sockets, a->family);
	return tr->fd;
}

/* CURLOPT_PREREQFUNCTION: connected, through TLS and proxy; nothing sent. */
static int
before_request(void *arg, char *ip_text, char *local_ip, int port,
    int local_port)
{
	struct transfer *tr = arg;
	struct exchange *x = tr->x;
	struct ip ip;

	(void)local_ip;
	(void)port;
	(void)local_port;
	if (x == NULL || !ip_from_text(str_of(ip_text), &ip))
		return CURL_PREREQFUNC_ABORT;
	if (tr->opened)
		transport_socket_connected(&tr->t->sockets, tr->fd);
	x->connected_ip = ip;
	x->reused = !tr->opened;
	if ((x->reused || !is_same_ip(&ip, &tr->asked)) &&
	    !ask_connected(tr, &ip))
		return CURL_PREREQFUNC_ABORT;
	tr->connected = clock_mono();
	tr->phase = PHASE_ANSWER;
	tr->body_sent = 0;
	tr->opened = false;
	transfer_set_deadline(tr);
	return CURL_PREREQFUNC_OK;
}

/* CURLOPT_READFUNCTION */
static size_t
give_body(char *to, size_t size, size_t n, void *arg)
{
	struct transfer *tr = arg;

	if (tr->x == NULL)
		return CURL_READFUNC_ABORT;
	struct str left = str_from(tr->x->body, tr->body_sent);
	left.n = MIN(left.n, size * n);
	memcpy(to, left.p, left.n);
	tr->body_sent += left.n;
	tr->moved += (int64_t)left.n;
	return left.n;
}

/* CURLOPT_SEEKFUNCTION: from the start, on a new connection. */
static int
rewind_body(void *arg, curl_off_t offset, int origin)
{
	struct transfer *tr = arg;

	if (tr->x == NULL || origin != SEEK_SET || offset < 0 ||
	    (uint64_t)offset > tr->x->body.n)
		return CURL_SEEKFUNC_FAIL;
	tr->body_sent = (size_t)offset;
	return CURL_SEEKFUNC_OK;
}

/* "HTTP/1.1 200 OK": 11 and 200. */
static void
read_status_line(struct transfer *tr, struct str line)
{
	size_t at = str_find_char(line, ' ');
	struct str version = str_cut(line, 5, at);

	tr->x->http_version = str_eq(version, STR("1.0")) ? 10 :
	    str_eq(version, STR("1.1")) ? 11 :
	    str_starts(version, STR("2")) ? 20 :
	    str_starts(version, STR("3")) ? 30 : 0;
	while (at < line.n && line.p[at] == ' ')
		at++;
	tr->status = 0;
	for (size_t i = 0; i < 3 && at + i < line.n &&
	    ascii_is_digit(line.p[at + i]); i++)
		tr->status = 10 * tr->status + (line.p[at + i] - '0');
}

/* The first line of a head; HTTP/2's is written in the words of HTTP/1.1. */
static void
begin_head(struct transfer *tr, struct str line)
{
	if (tr->first_byte.ns == 0)
		tr->first_byte = clock_mono();
	tr->head_begun = true;
	tr->chunked = tr->chunked_on_top = tr->has_length = false;
	buf_clear(&tr->head);
	read_status_line(tr, line);
	if (tr->x->http_version >= 20) {
		buf_put_text(&tr->head, "HTTP/1.1");
		line = str_from(line, str_find_char(line, ' '));
	} else if (tr->x->http_version != 11) {
		transfer_forbid_reuse(tr);
	}
	buf_put_str(&tr->head, line);
}

/*
 * Two lengths that differ are an error (RFC 9112 §6.3); libcurl takes the last.
 * What is no number at all is left to it.
 */
static bool
read_length(struct transfer *tr, struct str value)
{
	uint64_t length;
	size_t n = 0;

	value = str_trim(value);
	while (n < value.n && ascii_is_digit(value.p[n]))
		n++;
	if (!str_to_u64(str_cut(value, 0, n), &length))
		return true;
	if (tr->has_length && length != tr->length) {
		transfer_decide(tr, TRANSPORT_PROTOCOL,
		    "two different Content-Length");
		return false;
	}
	tr->has_length = true;
	tr->length = length;
	return true;
}

static bool
read_header(struct transfer *tr, struct str line)
{
	struct str coding = STR("transfer-encoding:");
	struct str length = STR("content-length:");

	buf_put_str(&tr->head, line);
	if (str_starts_nocase(line, length) && tr->status >= 200)
		return read_length(tr, str_from(line, length.n));
	if (tr->x->http_version >= 20 || !str_starts_nocase(line, coding))
		return true;
	line = str_trim(str_from(line, coding.n));
	for (size_t i = 0; i < line.n; i++)
		if (str_starts_nocase(str_from(line, i), STR("chunked")))
			tr->chunked = true;
	tr->chunked_on_top = tr->chunked && line.n > STR("chunked").n;
	return true;
}

/* The head is whole.  False ends the exchange. */
static bool
end_head(struct transfer *tr, struct str line)
{
	struct exchange *x = tr->x;

	buf_put_str(&tr->head, line);
	tr->head_begun = false;
	if (tr->status == 101) {
		transfer_decide(tr, TRANSPORT_PROTOCOL,
		    "an upgrade nobody asked for");
		return false;
	}
	if (tr->status < 100) {
		transfer_decide(tr, TRANSPORT_PROTOCOL, "no status");
		return false;
	}
	if (tr->status < 200)
		return true;
	if (tr->status == 407 && tr->proxy.kind == TRANSPORT_PROXY_HTTP &&
	    !x->tls) {
		transfer_decide(tr, TRANSPORT_PROXY,
		    "the proxy wants credentials");
		return false;
	}
	tr->phase = PHASE_BODY;
	if (x->http_version >= 20) {
		transport_request_to_http2(&tr->request);
		x->request_sent = buf_str(&tr->request.sent);
	}
	if (x->events->head == NULL ||
	    x->events->head(x, buf_str(&tr->head), tr->status))
		return tr->x != NULL;
	if (tr->x != NULL)
		transfer_decide(tr, TRANSPORT_STOPPED, "the head was enough");
	return false;
}

static bool
count_head(struct transfer *tr, size_t n)
{
	size_t max = tr->x->head_bytes_max;

	if (max == 0)
		max = TRANSPORT_HEAD_BYTES_MAX;
	tr->moved += (int64_t)n;
	tr->head_bytes += n;
	if (tr->head_bytes <= max)
		return true;
	transfer_decide(tr, TRANSPORT_PROTOCOL, "the head is too large");
	return false;
}

/* CURLOPT_HEADERFUNCTION: one line, heads of 1xx answers and trailers too. */
static size_t
take_header(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *tr = arg;
	struct str line = { p, size * n };
	bool go_on = true;

	if (tr->x == NULL || line.n == 0 || !count_head(tr, line.n))
		return 0;
	if (tr->phase == PHASE_BODY)
		return line.n;
	if (!tr->head_begun)
		begin_head(tr, line);
	else if (line.p[0] == '\r' || line.p[0] == '\n')
		go_on = end_head(tr, line);
	else
		go_on = read_header(tr, line);
	return go_on ? line.n : 0;
}

static bool
deliver_body(struct transfer *tr, struct str bytes)
{
	struct exchange *x = tr->x;

	if (bytes.n == 0 || x->events->body == NULL ||
	    x->events->body(x, bytes))
		return tr->x != NULL;
	if (tr->x != NULL)
		transfer_decide(tr, TRANSPORT_STOPPED, "the body was enough");
	return false;
}

/* Raw chunked bytes: only what belongs to this body. */
static bool
take_chunked(struct transfer *tr, struct str bytes)
{
	size_t trailer_before = tr->chunk.trailer_bytes;
	size_t n = transport_chunk_follow(&tr->chunk, bytes);

	if (!deliver_body(tr, str_cut(bytes, 0, n)))
		return false;
	if (tr->chunk.state == TRANSPORT_CHUNK_BROKEN) {
		transfer_decide(tr, TRANSPORT_PROTOCOL,
		    "the chunked framing is broken");
		return false;
	}
	/* What follows the end would be taken for the next answer. */
	if (n < bytes.n)
		transfer_forbid_reuse(tr);
	/* libcurl 8 does not read "gzip, chunked" and waits for a close. */
	if (tr->chunked_on_top && tr->chunk.state == TRANSPORT_CHUNK_ENDED) {
		transfer_decide(tr, TRANSPORT_DONE, "");
		return false;
	}
	return count_head(tr, tr->chunk.trailer_bytes - trailer_before);
}

/* CURLOPT_WRITEFUNCTION */
static size_t
take_body(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *tr = arg;
	struct str bytes = { p, size * n };

	if (tr->x == NULL)
		return 0;
	tr->moved += (int64_t)bytes.n;
	if (tr->phase != PHASE_BODY) {
		transfer_decide(tr, TRANSPORT_PROTOCOL,
		    "a body without a head");
		return 0;
	}
	if (tr->chunked ? take_chunked(tr, bytes) : deliver_body(tr, bytes))
		return bytes.n;
	return 0;
}

void
transport_answer_set_up(struct transfer *tr)
{
	CURL *e = tr->easy;

	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, tr);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION,
	    transport_socket_closed);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, &tr->t->sockets);
	curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, before_request);
	curl_easy_setopt(e, CURLOPT_PREREQDATA, tr);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, tr);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, tr);
	curl_easy_setopt(e, CURLOPT_READFUNCTION, give_body);
	curl_easy_setopt(e, CURLOPT_READDATA, tr);
	curl_easy_setopt(e, CURLOPT_SEEKFUNCTION, rewind_body);
	curl_easy_setopt(e, CURLOPT_SEEKDATA, tr);
}
