#include <sys/socket.h>

#include "os/clock.h"
#include "os/net_own.h"
#include "os/transport_curl_transfer.h"

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

/* True: the request has been sent, libcurl is about to send it again, and that
 * may not be. */
static bool
is_sent_twice(struct transfer *tr)
{
	if (!tr->x->once || tr->phase != PHASE_ANSWER)
		return false;
	transfer_decide(tr, TRANSPORT_RESET, "the kept connection ended");
	return true;
}

/* CURLOPT_OPENSOCKETFUNCTION */
static curl_socket_t
open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct transfer *tr = arg;
	/* After `addr`, libcurl has room for any socket address. */
	char *address = (char *)a + offsetof(struct curl_sockaddr, addr);
	struct ip ip;

	if (purpose != CURLSOCKTYPE_IPCXN || tr->x == NULL ||
	    is_sent_twice(tr))
		return CURL_SOCKET_BAD;
	/* Again, when a kept connection turned out dead. */
	transfer_begin_connecting(tr, clock_mono());
	if (transfer_is_direct(tr)) {
		ip = tr->x->addresses[tr->address_at];
		a->addrlen = ip_to_socket(&ip, tr->x->port, address);
		a->family = ip_is_v4(&ip) ? AF_INET : AF_INET6;
	} else if (!ip_from_socket(address, &ip, NULL)) {
		return CURL_SOCKET_BAD;
	}
	if (!ask_connected(tr, &ip))
		return CURL_SOCKET_BAD;
	tr->opened = true;
	tr->fd = transport_socket_new(transfer_sockets(tr), a->family);
	return tr->fd;
}

/*
 * Over TLS the kernel's count is no help.  Unread records are enough to refuse
 * the connection: a late session ticket costs no more than a new one.
 */
static bool
is_tls_clean(SSL *ssl, int fd)
{
	char byte;

	/* The frames of HTTP/2 say whose they are. */
	return net_tls_h2(ssl) || (fd >= 0 && !SSL_has_pending(ssl) &&
	    recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0);
}

/*
 * What the server sent without being asked must not become the answer to the
 * request that is about to go out (RFC 9112 §9.2).
 */
static bool
is_clean(struct transfer *tr, const struct transport_socket_ends *ends)
{
	struct curl_tlssessioninfo *info = NULL;

	tr->fd = transport_socket_find(transfer_sockets(tr), ends);
	if (!tr->x->tls)
		return transport_socket_is_clean(transfer_sockets(tr), tr->fd);
	return curl_easy_getinfo(tr->easy, CURLINFO_TLS_SSL_PTR, &info) !=
	    CURLE_OK || info == NULL || info->internals == NULL ||
	    info->backend != CURLSSLBACKEND_OPENSSL ||
	    is_tls_clean(info->internals, tr->fd);
}

/* CURLOPT_PREREQFUNCTION: connected, through TLS and proxy; nothing sent. */
static int
before_request(void *arg, char *ip_text, char *local_ip, int port,
    int local_port)
{
	struct transfer *tr = arg;
	struct exchange *x = tr->x;
	struct transport_socket_ends ends = { .peer_port = (uint16_t)port,
	    .local_port = (uint16_t)local_port };
	struct ip ip;

	if (x == NULL || !ip_from_text(str_of(ip_text), &ip) ||
	    is_sent_twice(tr))
		return CURL_PREREQFUNC_ABORT;
	ends.peer = ip;
	(void)ip_from_text(str_of(local_ip), &ends.local);
	if (tr->opened) {
		transport_socket_connected(transfer_sockets(tr), tr->fd, &ends,
		    !transfer_is_direct(tr));
	} else if (!is_clean(tr, &ends)) {
		tr->retry_fresh = true;
		transfer_forbid_reuse(tr);
		return CURL_PREREQFUNC_ABORT;
	}
	x->connected_ip = ip;
	x->reused = !tr->opened;
	if ((x->reused || memcmp(&ip, &tr->asked, sizeof(ip)) != 0) &&
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
	tr->chunked = tr->coded = tr->other_coding = false;
	tr->has_length = tr->in_framing = false;
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

static bool
refuse(struct transfer *tr, const char *text)
{
	transfer_decide(tr, TRANSPORT_PROTOCOL, text);
	return false;
}

/* Without the blanks that RFC 9110 §5.6.3 allows, and no others. */
static struct str
trim_blanks(struct str s)
{
	while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = str_from(s, 1);
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* A header line's value, its line end cut off. */
static struct str
value_of(struct str line, size_t name_n)
{
	struct str value = str_from(line, name_n);

	if (value.n > 0 && value.p[value.n - 1] == '\n')
		value.n--;
	if (value.n > 0 && value.p[value.n - 1] == '\r')
		value.n--;
	return trim_blanks(value);
}

/*
 * What is no number, and two lengths that differ, are errors; libcurl would
 * read as far as there are digits, and take the last one.  The same number
 * several times is that number (RFC 9112 §6.3).
 */
static bool
read_length(struct transfer *tr, struct str value)
{
	bool more = true;

	while (more) {
		size_t comma = str_find_char(value, ',');
		uint64_t length;
		more = comma < value.n;
		if (!str_to_u64(trim_blanks(str_cut(value, 0, comma)),
		    &length) || length > INT64_MAX)
			return refuse(tr, "a malformed Content-Length");
		if (tr->has_length && length != tr->length)
			return refuse(tr,
			    "two different Content-Length");
		tr->has_length = true;
		tr->length = length;
		value = str_from(value, comma + 1);
	}
	return true;
}

static bool
has_chunked(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (str_starts_nocase(str_from(s, i), STR("chunked")))
			return true;
	return false;
}

/*
 * "chunked" is the last coding and stands once (RFC 9112 §6.1).  What is almost
 * "chunked" is an error, since others would read it so.
 */
static bool
read_codings(struct transfer *tr, struct str value)
{
	struct str coding;

	tr->coded = true;
	while (str_split(&value, ',', &coding)) {
		coding = trim_blanks(coding);
		if (coding.n == 0)
			continue;
		if (tr->chunked)
			return refuse(tr,
			    "chunked is not the last transfer coding");
		if (str_eq_nocase(coding, STR("chunked")))
			tr->chunked = true;
		else if (has_chunked(coding))
			return refuse(tr, "a malformed transfer coding");
		else
			tr->other_coding = true;
	}
	return true;
}

/* A CR before the line's end: a line end for some, not for others. */
static bool
has_bare_cr(struct str line)
{
	return line.n > 2 && memchr(line.p, '\r', line.n - 2) != NULL;
}

static bool
read_header(struct transfer *tr, struct str line)
{
	struct str coding = STR("transfer-encoding:");
	struct str length = STR("content-length:");
	bool folded = line.p[0] == ' ' || line.p[0] == '\t';

	buf_put_str(&tr->head, line);
	if (folded && tr->in_framing)
		return refuse(tr, "a folded header tells the length");
	tr->in_framing &= folded;
	if (tr->x->http_version < 20 && has_bare_cr(line))
		transfer_forbid_reuse(tr);
	if (str_starts_nocase(line, length) && tr->status >= 200) {
		tr->in_framing = true;
		return read_length(tr, value_of(line, length.n));
	}
	if (tr->x->http_version >= 20 || !str_starts_nocase(line, coding))
		return true;
	tr->in_framing = true;
	return read_codings(tr, value_of(line, coding.n));
}

/*
 * The head can be read in two ways, or announces a body where none may follow:
 * what comes next is not certain to be the next answer.
 */
static bool
is_framing_doubtful(const struct transfer *tr)
{
	bool announced = tr->coded || (tr->has_length && tr->length > 0);

	if (tr->x->http_version >= 20)
		return false;
	return (tr->coded && tr->has_length) || (announced &&
	    (tr->status == 204 || tr->status == 304));
}

/* The head is whole.  False ends the exchange. */
static bool
end_head(struct transfer *tr, struct str line)
{
	struct exchange *x = tr->x;

	buf_put_str(&tr->head, line);
	tr->head_begun = false;
	if (tr->status == 101 && tr->upgrade == NULL)
		return refuse(tr, "an upgrade nobody asked for");
	if (tr->status < 100)
		return refuse(tr, "no status");
	if (tr->status < 200 && tr->status != 101)
		return true;
	if (tr->status == 407 && tr->proxy.kind == TRANSPORT_PROXY_HTTP &&
	    !x->tls) {
		transfer_decide(tr, TRANSPORT_PROXY,
		    "the proxy wants credentials");
		return false;
	}
	tr->phase = PHASE_BODY;
	if (is_framing_doubtful(tr))
		transfer_forbid_reuse(tr);
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
	tr->x->too_large = true;
	return refuse(tr, "the head is too large");
}

/* At once: libcurl may use the connection again before we hear of its end. */
static void
count_answer(struct transfer *tr, size_t n)
{
	if (!tr->x->tls)
		transport_socket_answered(transfer_sockets(tr), tr->fd, n);
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
	/* Trailers are among the body's bytes, too. */
	if (tr->phase == PHASE_BODY)
		return line.n;
	count_answer(tr, line.n);
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

	bool broken = tr->chunk.state == TRANSPORT_CHUNK_BROKEN;

	/* Where it is broken nobody knows what belongs to it: all that came. */
	if (!deliver_body(tr, broken ? bytes : str_cut(bytes, 0, n)))
		return false;
	if (broken)
		return refuse(tr, "the chunked framing is broken");
	/* Bytes after the end would be taken for the next answer. */
	if (n < bytes.n)
		transfer_forbid_reuse(tr);
	/* libcurl 8 does not read "gzip, chunked" and waits for a close. */
	if (tr->other_coding && tr->chunk.state == TRANSPORT_CHUNK_ENDED) {
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
	count_answer(tr, bytes.n);
	if (tr->phase != PHASE_BODY)
		return (size_t)refuse(tr, "a body without a head");
	if (tr->chunked ? take_chunked(tr, bytes) : deliver_body(tr, bytes))
		return bytes.n;
	return 0;
}

bool
transport_answer_line(struct transfer *tr, struct str line)
{
	return take_header((char *)(uintptr_t)line.p, 1, line.n, tr) ==
	    line.n;
}

bool
transport_answer_body(struct transfer *tr, struct str bytes)
{
	return take_body((char *)(uintptr_t)bytes.p, 1, bytes.n, tr) ==
	    bytes.n;
}

void
transport_answer_set_up(struct transfer *tr)
{
	CURL *e = tr->easy;

	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, tr);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION,
	    transport_socket_closed);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, transfer_sockets(tr));
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
