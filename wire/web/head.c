#include "wire/web/head.h"

#include "base/text.h"

static bool
refuse(struct head_refusal *r, int status, const char *code, const char *text)
{
	*r = (struct head_refusal){ status, code, text };
	return false;
}

/* --- characters ---------------------------------------------------------- */

/* Blanks of RFC 9110 §5.6.3; str_trim() takes more. */
static struct str
trim(struct str s)
{
	while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = str_from(s, 1);
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* --- the end of a head --------------------------------------------------- */

static bool
too_long(const struct head_scan *s, struct head_refusal *r)
{
	return s->started ?
	    refuse(r, 431, "limit", "the request's head is too long") :
	    refuse(r, 414, "limit", "the request's first line is too long");
}

/* Bytes that begin otherwise are no request, and may have no lines at all. */
static bool
check_first(struct str in, struct head_refusal *r)
{
	if (in.p[0] == '\x16')
		return refuse(r, 400, "no_tls", "this port speaks HTTP without "
		    "TLS");
	if (!text_is_token(str_cut(in, 0, 1)) && in.p[0] != '\r' &&
	    in.p[0] != '\n')
		return refuse(r, 400, "bad_request", "this is no HTTP");
	return true;
}

size_t
head_scan(struct head_scan *s, struct str in, const struct head_limits *l,
    struct head_refusal *r)
{
	size_t most = MIN(in.n, l->bytes_max);

	*r = (struct head_refusal){ 0, NULL, NULL };
	if (in.n == 0 || (s->at == 0 && !check_first(in, r)))
		return 0;
	while (s->at < most) {
		const char *lf = memchr(in.p + s->at, '\n', most - s->at);
		if (lf == NULL) {
			s->at = most;
			break;
		}
		size_t end = (size_t)(lf - in.p);
		if (end == s->line || in.p[end - 1] != '\r') {
			refuse(r, 400, "bad_request", "a line of the head does "
			    "not end in CR and LF");
			return 0;
		}
		s->at = end + 1;
		bool empty = end - s->line == 1;
		s->line = s->at;
		if (empty && s->started)
			return s->at;
		/* RFC 9112 §2.2: empty lines before the first are skipped. */
		s->started |= !empty;
	}
	if (in.n >= l->bytes_max)
		too_long(s, r);
	return 0;
}

/* --- the target ---------------------------------------------------------- */

bool
head_decode(struct str raw, bool query, struct arena *a, struct str *out)
{
	char *p = arena_bytes(a, raw.n + 1);
	size_t n = 0;
	bool fine = true;

	for (size_t i = 0; i < raw.n; i++) {
		int c = raw.p[i];
		if (c == '%') {
			int byte = str_percent_byte(str_from(raw, i));
			fine &= byte >= 0;
			if (byte >= 0) {
				c = byte;
				i += 2;
			}
		} else if (c == '+' && query) {
			c = ' ';
		}
		p[n++] = (char)c;
	}
	p[n] = '\0';
	*out = (struct str){ p, n };
	return fine;
}

/* Whether a segment of the path is "." or "..". */
static bool
has_dots(struct str path)
{
	struct str part;

	while (str_split(&path, '/', &part))
		if (str_eq(part, STR(".")) || str_eq(part, STR("..")))
			return true;
	return false;
}

static bool
check_path(struct head *h, struct head_refusal *r)
{
	if (text_has_control(h->path))
		return refuse(r, 400, "bad_path", "a control byte in the path");
	if (has_dots(h->raw_path))
		return refuse(r, 400, "bad_path",
		    "a path may not have the segments . and ..");
	h->dots = has_dots(h->path);
	return true;
}

/* Move the host from the front of `target`. */
static bool
take_target_host(struct str *target, struct head *h, struct head_refusal *r)
{
	size_t end = MIN(str_find_char(*target, '/'),
	    str_find_char(*target, '?'));

	h->host = str_cut(*target, 0, end);
	*target = str_from(*target, end);
	return (h->host.n > 0 && str_find_char(h->host, '@') == h->host.n) ||
	    refuse(r, 400, "bad_host", "the target has no plain host");
}

bool
head_target(struct str target, struct arena *a, struct head *h,
    struct head_refusal *r)
{
	/* Above 0: the absolute form (RFC 9112 §3.2.2). */
	size_t scheme = str_starts_nocase(target, STR("http://")) ? 7 :
	    str_starts_nocase(target, STR("https://")) ? 8 : 0;

	h->target = target;
	target = str_from(target, scheme);
	if (scheme > 0 && !take_target_host(&target, h, r))
		return false;
	size_t mark = str_find_char(target, '?');
	h->query = str_from(target, mark + 1);
	struct str path = str_cut(target, 0, mark);
	if (scheme > 0 && path.n == 0)
		path = STR("/");
	if (path.n == 0 || path.p[0] != '/' ||
	    str_find_char(target, '#') < target.n)
		return refuse(r, 400, "bad_path",
		    "the target must be a path that begins with a slash");
	h->raw_path = path;
	if (!head_decode(path, false, a, &h->path))
		return refuse(r, 400, "bad_path",
		    "a % in the path is not followed by two hex digits");
	return check_path(h, r);
}

bool
head_param(struct str query, size_t *at, struct str name,
    struct arena *a, struct str *value)
{
	struct str key;

	while (*at < query.n) {
		struct str part = str_from(query, *at);
		part = str_cut(part, 0, str_find_char(part, '&'));
		size_t equals = str_find_char(part, '=');
		*at += part.n + 1;
		head_decode(str_cut(part, 0, equals), true, a, &key);
		if (!str_eq(key, name))
			continue;
		head_decode(str_from(part, equals + 1), true, a, value);
		return true;
	}
	return false;
}

/* --- the fields ---------------------------------------------------------- */

bool
head_find(const struct head *h, struct str name, struct arena *a,
    struct str *value)
{
	struct str all = STR_NONE;

	for (size_t i = 0; i < h->fields_n; i++) {
		const struct head_field *f = &h->fields[i];
		if (!str_eq_nocase(f->name, name))
			continue;
		all = all.p == NULL ? f->value : arena_printf(a, "%.*s, %.*s",
		    STR_FMT(all), STR_FMT(f->value));
	}
	if (all.p == NULL)
		return false;
	*value = all;
	return true;
}

bool
head_lists(const struct head *h, struct str name, struct str member)
{
	for (size_t i = 0; i < h->fields_n; i++) {
		struct str rest = h->fields[i].value, part;
		if (!str_eq_nocase(h->fields[i].name, name))
			continue;
		while (str_split(&rest, ',', &part))
			if (str_eq_nocase(trim(part), member))
				return true;
	}
	return false;
}

static bool
parse_field(struct str line, struct head_field *f, struct head_refusal *r)
{
	size_t colon = str_find_char(line, ':');

	if (line.p[0] == ' ' || line.p[0] == '\t')
		return refuse(r, 400, "bad_request", "a folded line");
	f->name = str_cut(line, 0, colon);
	f->value = trim(str_from(line, colon + 1));
	if (colon == line.n || !text_is_token(f->name))
		return refuse(r, 400, "bad_request",
		    "a line of the head is no field");
	if (!text_is_field_value(f->value))
		return refuse(r, 400, "bad_request",
		    "a control byte in a field");
	return true;
}

/* "GET /a HTTP/1.1" */
static bool
parse_first(struct str line, struct arena *a, struct head *h,
    struct head_refusal *r)
{
	size_t one = str_find_char(line, ' ');
	struct str rest = str_from(line, one + 1);
	size_t two = str_find_char(rest, ' ');
	struct str version = str_from(rest, two + 1);

	h->method = str_cut(line, 0, one);
	if (!text_is_token(h->method) || !str_starts(version, STR("HTTP/")))
		return refuse(r, 400, "bad_request",
		    "the first line is no request of HTTP/1.1");
	if (!str_eq(version, STR("HTTP/1.1")) &&
	    !str_eq(version, STR("HTTP/1.0")))
		return refuse(r, 505, "bad_version",
		    "only HTTP/1.1 and HTTP/1.0 are spoken here");
	h->minor = version.p[7] - '0';
	for (size_t i = 0; i < two; i++)
		if ((unsigned char)rest.p[i] <= 0x20 || rest.p[i] == 0x7f)
			return refuse(r, 400, "bad_path",
			    "a control byte in the target");
	if (str_eq(h->method, STR("CONNECT")))
		return refuse(r, 501, "bad_method",
		    "this is no proxy");
	return head_target(str_cut(rest, 0, two), a, h, r);
}

/* --- what the fields say about the request ------------------------------- */

/* Exactly one field of that name: 1; none: 0; more: 2. */
static int
find_one(const struct head *h, struct str name, struct str *value)
{
	int n = 0;

	for (size_t i = 0; i < h->fields_n && n < 2; i++)
		if (str_eq_nocase(h->fields[i].name, name)) {
			*value = h->fields[i].value;
			n++;
		}
	return n;
}

static bool
take_host(struct head *h, struct head_refusal *r)
{
	struct str host = STR_NONE;
	int n = find_one(h, STR("host"), &host);

	if (n > 1)
		return refuse(r, 400, "bad_host", "there are two Host fields");
	if (n == 0 && h->minor == 1)
		return refuse(r, 400, "bad_host",
		    "HTTP/1.1 needs a Host field");
	/* RFC 9112 §3.2.2: that of an absolute target counts. */
	if (h->host.p == NULL)
		h->host = host;
	return true;
}

static bool
take_framing(struct head *h, struct head_refusal *r)
{
	struct str length, coding;
	int lengths = find_one(h, STR("content-length"), &length);
	int codings = find_one(h, STR("transfer-encoding"), &coding);

	if (codings > 0 && (lengths > 0 || h->minor == 0))
		return refuse(r, 400, "bad_length", "a Transfer-Encoding may "
		    "not stand beside a Content-Length, nor in HTTP/1.0");
	if (codings > 1 || (codings == 1 &&
	    !str_eq_nocase(coding, STR("chunked"))))
		return refuse(r, 501, "bad_length",
		    "of transfer codings only chunked is known here");
	h->chunked = codings == 1;
	/* Longer ones would reach the signed arithmetic of others. */
	if (lengths > 1 || (lengths == 1 && (length.n > 18 ||
	    !str_to_u64(length, &h->length))))
		return refuse(r, 400, "bad_length",
		    "the Content-Length is not one number");
	return true;
}

static bool
take_expect(struct head *h, struct head_refusal *r)
{
	struct str expect;

	if (h->minor == 0 || find_one(h, STR("expect"), &expect) == 0)
		return true;
	if (!str_eq_nocase(expect, STR("100-continue")))
		return refuse(r, 417, "bad_request",
		    "that Expect is not known here");
	h->awaits_continue = true;
	return true;
}

/* How many fields the head has at most: its lines but the first and the last.
 * Empty lines before the first are skipped (RFC 9112 §2.2). */
static size_t
count_fields(struct str *bytes)
{
	size_t n = 0;

	while (str_starts(*bytes, STR("\r\n")))
		*bytes = str_from(*bytes, 2);
	for (size_t i = 0; i < bytes->n; i++)
		n += bytes->p[i] == '\n';
	return MAX(n, 2) - 2;
}

bool
head_parse(struct str bytes, const struct head_limits *l, struct arena *a,
    struct head *h, struct head_refusal *r)
{
	struct str line;

	*h = (struct head){ .method = STR("") };
	*r = (struct head_refusal){ 0, NULL, NULL };
	h->fields = ARENA_ARRAY(a, struct head_field, count_fields(&bytes));
	for (size_t i = 0; str_split(&bytes, '\n', &line); i++) {
		line = str_cut(line, 0, line.n > 0 ? line.n - 1 : 0);
		if (line.n == 0)
			break;
		if (i == 0) {
			if (!parse_first(line, a, h, r))
				return false;
			continue;
		}
		if (h->fields_n == l->fields_max)
			return refuse(r, 431, "limit",
			    "the request has too many fields");
		if (!parse_field(line, &h->fields[h->fields_n], r))
			return false;
		h->fields_n++;
	}
	h->close = h->minor == 0 ||
	    head_lists(h, STR("connection"), STR("close"));
	return take_host(h, r) && take_framing(h, r) && take_expect(h, r);
}
