#include "os/transport_head.h"

#include "base/text.h"

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

static void
put_header(struct buf *out, struct str name, struct str value)
{
	buf_put_str(out, name);
	if (str_trim(value).n == 0) {
		buf_put_str(out, STR(":\r\n"));
		return;
	}
	buf_put_str(out, STR(": "));
	buf_put_str(out, value);
	buf_put_str(out, STR("\r\n"));
}

static void
put_authority(struct buf *b, const struct exchange *x)
{
	buf_put_text(b, x->tls ? "https://" : "http://");
	buf_put_str(b, x->host);
	if (x->port != (x->tls ? 443 : 80)) {
		buf_put_char(b, ':');
		buf_put_decimal(b, x->port, 1);
	}
}

static void
put_request_line(struct buf *out, const struct exchange *x, bool absolute)
{
	struct str target = target_of(x->url);

	buf_put_str(out, x->method);
	buf_put_char(out, ' ');
	if (absolute)
		put_authority(out, x);
	if (target.n == 0 || target.p[0] == '?')
		buf_put_char(out, '/');
	buf_put_str(out, target);
	buf_put_str(out, STR(" HTTP/1.1\r\n"));
}

enum { LISTS_HOST = 1, LISTS_LENGTH = 2, LISTS_CODING = 4 };

static unsigned
listed_as(struct str name)
{
	static const struct {
		const char *name;
		unsigned bit;
	} special[] = {
		{ "host", LISTS_HOST },
		{ "content-length", LISTS_LENGTH },
		{ "transfer-encoding", LISTS_CODING },
	};
	size_t i = STR_ROW_NOCASE(name, special);

	return i < ARRAY_LEN(special) ? special[i].bit : 0;
}

static const char *
check_headers(const struct exchange *x, unsigned *lists, size_t *host)
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
			*host = i;
		*lists |= bit;
	}
	if (!(*lists & LISTS_HOST) || str_trim(x->headers[*host].value).n == 0)
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

/* At most, of the head in either form. */
static size_t
count_bytes(const struct exchange *x)
{
	size_t n = 128 + x->method.n + x->url.n + x->host.n;

	for (size_t i = 0; i < x->headers_n; i++)
		n += x->headers[i].name.n + x->headers[i].value.n + 4;
	return n;
}

const char *
transport_head_build(struct buf *out, const struct exchange *x, bool absolute)
{
	unsigned lists = 0;
	size_t host = 0;
	const char *wrong;

	if (!text_is_token(x->method))
		return "the method is not a token";
	if (!is_ascii_text(x->url) || !is_ascii_text(x->host) || x->port == 0)
		return "the URL cannot be sent";
	if ((wrong = check_headers(x, &lists, &host)) != NULL)
		return wrong;
	buf_reserve(out, count_bytes(x));
	put_request_line(out, x, absolute);
	put_header(out, STR("Host"), str_trim(x->headers[host].value));
	for (size_t i = 0; i < x->headers_n; i++)
		if (i != host)
			put_header(out, x->headers[i].name,
			    x->headers[i].value);
	if (wants_length(x, lists)) {
		buf_put_str(out, STR("Content-Length: "));
		buf_put_decimal(out, x->body.n, 1);
		buf_put_str(out, STR("\r\n"));
	}
	buf_put_str(out, STR("\r\n"));
	return NULL;
}

void
transport_head_to_http2(struct buf *head)
{
	static const struct str gone[] = {
		{ "connection:", 11 }, { "keep-alive:", 11 }, { "upgrade:", 8 },
		{ "proxy-connection:", 17 }, { "transfer-encoding:", 18 },
	};
	struct str rest = buf_str(head), line;
	size_t to = 0;

	while (str_split(&rest, '\n', &line)) {
		bool keep = true;
		for (size_t i = 0; i < ARRAY_LEN(gone) && to > 0; i++)
			keep = keep && !str_starts_nocase(line, gone[i]);
		if (!keep || (rest.n == 0 && line.n == 0))
			continue;
		memmove(head->p + to, line.p, line.n + 1);
		to += line.n + 1;
	}
	head->n = to;
}
