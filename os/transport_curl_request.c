#include "os/transport_curl_request.h"

#include "base/text.h"

/* Bytes of `sent` kept for the next request. */
#define KEPT_MAX 65536

/* No byte that could end the line or the text. */
static bool
is_line(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '\r' || s.p[i] == '\n' || s.p[i] == '\0')
			return false;
	return true;
}

static bool
is_ascii_text(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' ||
		    (unsigned char)s.p[i] >= 0x7f)
			return false;
	return s.n > 0;
}

/* The part of the URL after the authority; "/" when it is empty. */
static struct str
target_of(struct str url)
{
	struct str rest = str_from(url, str_find(url, STR("://")) + 3);
	size_t at = 0;

	while (at < rest.n && rest.p[at] != '/' && rest.p[at] != '?')
		at++;
	rest = str_from(rest, at);
	return str_cut(rest, 0, str_find_char(rest, '#'));
}

/* A text libcurl keeps a pointer to; offsets first, the buffer may move. */
static size_t
put_text(struct transport_request *r, struct str text)
{
	size_t at = r->texts.n;

	buf_put_str(&r->texts, text);
	buf_put_char(&r->texts, '\0');
	return at;
}

static void
add_node(struct transport_request *r, size_t at)
{
	r->nodes = mem_room(r->nodes, r->nodes_n, &r->nodes_cap, 16,
	    sizeof(*r->nodes));
	/* The offset waits in the pointer until the buffer is at rest. */
	r->nodes[r->nodes_n++].data = (char *)(uintptr_t)at;
}

/* One header: for libcurl "Name: value", or "Name;" for an empty value. */
static void
add_header(struct transport_request *r, struct str name, struct str value)
{
	size_t at = r->texts.n;

	buf_put_str(&r->texts, name);
	if (str_trim(value).n == 0) {
		buf_put_char(&r->texts, ';');
		buf_put_str(&r->sent, name);
		buf_put_str(&r->sent, STR(":\r\n"));
	} else {
		buf_put_str(&r->texts, STR(": "));
		buf_put_str(&r->texts, value);
		buf_put(&r->sent, r->texts.p + at, r->texts.n - at);
		buf_put_str(&r->sent, STR("\r\n"));
	}
	buf_put_char(&r->texts, '\0');
	add_node(r, at);
}

static void
put_authority(struct buf *b, const struct exchange *x, bool always_port)
{
	buf_put_text(b, x->tls ? "https://" : "http://");
	buf_put_str(b, x->host);
	if (always_port || x->port != (x->tls ? 443 : 80)) {
		buf_put_char(b, ':');
		buf_put_decimal(b, x->port, 1);
	}
}

/* The target's text in `texts`, the request line in `sent`. */
static void
put_request_line(struct transport_request *r, const struct exchange *x,
    bool absolute, size_t *target_at, size_t *target_end)
{
	struct str target = target_of(x->url);

	*target_at = r->texts.n;
	if (absolute)
		put_authority(&r->texts, x, false);
	if (target.n == 0 || target.p[0] == '?')
		buf_put_char(&r->texts, '/');
	buf_put_str(&r->texts, target);
	*target_end = r->texts.n;
	buf_put_char(&r->texts, '\0');
	buf_put_str(&r->sent, x->method);
	buf_put_char(&r->sent, ' ');
	buf_put(&r->sent, r->texts.p + *target_at, *target_end - *target_at);
	buf_put_str(&r->sent, STR(" HTTP/1.1\r\n"));
}

enum {
	LISTS_HOST = 1, LISTS_LENGTH = 2, LISTS_CODING = 4, LISTS_ACCEPT = 8,
	LISTS_TYPE = 16, LISTS_EXPECT = 32, LISTS_PROXY_CONNECTION = 64,
};

static unsigned
listed_as(struct str name)
{
	static const struct {
		const char *name;
		unsigned bit;
	} special[] = {
		{ "host", LISTS_HOST },
		{ "accept", LISTS_ACCEPT },
		{ "expect", LISTS_EXPECT },
		{ "content-type", LISTS_TYPE },
		{ "content-length", LISTS_LENGTH },
		{ "proxy-connection", LISTS_PROXY_CONNECTION },
		{ "transfer-encoding", LISTS_CODING },
	};
	size_t i = STR_ROW_NOCASE(name, special);

	return i < ARRAY_LEN(special) ? special[i].bit : 0;
}

static const char *
check_headers(const struct exchange *x, unsigned *lists, struct str *host)
{
	for (size_t i = 0; i < x->headers_n; i++) {
		const struct transport_header *h = &x->headers[i];
		unsigned bit = listed_as(h->name);

		if (!text_is_token(h->name))
			return "a header's name is not a token";
		if (!is_line(h->value))
			return "a header's value holds a line break";
		if (bit == LISTS_HOST && (*lists & LISTS_HOST))
			return "two Host headers";
		if (bit == LISTS_HOST)
			*host = str_trim(h->value);
		*lists |= bit;
	}
	if (!(*lists & LISTS_HOST) || host->n == 0)
		return "no Host header";
	return NULL;
}

static bool
wants_length(const struct exchange *x, unsigned lists)
{
	if (lists & (LISTS_LENGTH | LISTS_CODING))
		return false;
	return x->body.n > 0 || str_eq(x->method, STR("POST")) ||
	    str_eq(x->method, STR("PUT")) || str_eq(x->method, STR("PATCH"));
}

static void
add_headers(struct transport_request *r, const struct exchange *x,
    unsigned lists, struct str host)
{
	add_header(r, STR("Host"), host);
	for (size_t i = 0; i < x->headers_n; i++)
		if (listed_as(x->headers[i].name) != LISTS_HOST)
			add_header(r, x->headers[i].name, x->headers[i].value);
	if (wants_length(x, lists)) {
		char digits[24];
		snprintf(digits, sizeof(digits), "%zu", x->body.n);
		add_header(r, STR("Content-Length"), str_of(digits));
	}
	buf_put_str(&r->sent, STR("\r\n"));
	/* libcurl leaves out a header that it is given without a value. */
	if (!(lists & LISTS_ACCEPT))
		add_node(r, put_text(r, STR("Accept:")));
	if (!(lists & LISTS_EXPECT))
		add_node(r, put_text(r, STR("Expect:")));
	if (x->body.n > 0 && !(lists & LISTS_TYPE))
		add_node(r, put_text(r, STR("Content-Type:")));
	if (!(lists & LISTS_PROXY_CONNECTION))
		add_node(r, put_text(r, STR("Proxy-Connection:")));
}

static void
link_nodes(struct transport_request *r)
{
	for (size_t i = 0; i < r->nodes_n; i++) {
		r->nodes[i].data = r->texts.p + (uintptr_t)r->nodes[i].data;
		r->nodes[i].next = i + 1 < r->nodes_n ? &r->nodes[i + 1] : NULL;
	}
	r->list = r->nodes;
}

/* At most, of the head in either form. */
static size_t
count_bytes(const struct exchange *x)
{
	size_t n = 512 + x->method.n + 2 * (x->url.n + x->host.n);

	for (size_t i = 0; i < x->headers_n; i++)
		n += x->headers[i].name.n + x->headers[i].value.n + 8;
	return n;
}

const char *
transport_request_build(struct transport_request *r, const struct exchange *x,
    bool absolute)
{
	size_t method_at, target_at, target_end, url_at;
	struct str host = STR_NONE;
	unsigned lists = 0;
	const char *wrong;

	if (r->sent.cap > KEPT_MAX || r->texts.cap > KEPT_MAX)
		transport_request_free(r);
	buf_clear(&r->sent);
	buf_clear(&r->texts);
	/* A buffer that grows would leave a copy behind. */
	if (x->secret) {
		buf_reserve(&r->sent, count_bytes(x));
		buf_reserve(&r->texts, count_bytes(x));
	}
	r->nodes_n = 0;
	if (!text_is_token(x->method))
		return "the method is not a token";
	if (!is_ascii_text(x->url) || !is_ascii_text(x->host) || x->port == 0)
		return "the URL cannot be sent";
	if ((wrong = check_headers(x, &lists, &host)) != NULL)
		return wrong;
	put_request_line(r, x, absolute, &target_at, &target_end);
	method_at = put_text(r, x->method);
	/* libcurl learns scheme, host and port from it, and nothing else. */
	url_at = r->texts.n;
	put_authority(&r->texts, x, true);
	put_text(r, STR("/"));
	add_headers(r, x, lists, host);
	link_nodes(r);
	r->method = r->texts.p + method_at;
	r->target = r->texts.p + target_at;
	r->url = r->texts.p + url_at;
	return NULL;
}

void
transport_request_to_http2(struct transport_request *r)
{
	static const struct str gone[] = {
		{ "connection:", 11 }, { "keep-alive:", 11 }, { "upgrade:", 8 },
		{ "proxy-connection:", 17 }, { "transfer-encoding:", 18 },
	};
	struct str rest = buf_str(&r->sent), line;
	size_t to = 0;

	while (str_split(&rest, '\n', &line)) {
		bool keep = true;
		for (size_t i = 0; i < ARRAY_LEN(gone) && to > 0; i++)
			keep = keep && !str_starts_nocase(line, gone[i]);
		if (!keep || (rest.n == 0 && line.n == 0))
			continue;
		memmove(r->sent.p + to, line.p, line.n + 1);
		to += line.n + 1;
	}
	r->sent.n = to;
}

void
transport_request_wipe(struct transport_request *r)
{
	struct buf *all[] = { &r->sent, &r->texts };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (all[i]->cap > 0)
			explicit_bzero(all[i]->p, all[i]->cap);
		buf_clear(all[i]);
	}
}

void
transport_request_free(struct transport_request *r)
{
	buf_free(&r->sent);
	buf_free(&r->texts);
	mem_free(&r->nodes);
	*r = (struct transport_request){ .list = NULL };
}
