#include "wire/http.h"

/* One line at `*at` without its line end; false when no LF follows. */
static bool
take_line(struct str s, size_t *at, struct str *line)
{
	struct str rest = str_from(s, *at);
	size_t lf = str_find_char(rest, '\n');

	if (*at >= s.n)
		return false;
	*line = str_cut(rest, 0, lf);
	*at += MIN(lf + 1, rest.n);
	if (line->n > 0 && line->p[line->n - 1] == '\r')
		line->n--;
	return lf < rest.n;
}

size_t
http_head_end(struct str s)
{
	size_t at = 0;
	struct str line;
	bool any = false;

	while (take_line(s, &at, &line)) {
		if (line.n == 0 && any)
			return at;
		any |= line.n > 0;
	}
	return 0;
}

bool
http_is_redirect(int status)
{
	return status == 301 || status == 302 || status == 303 ||
	    status == 307 || status == 308;
}

/* "HTTP/1.1" at the start; moves behind it. */
static bool
take_version(struct str *s, int *version)
{
	if (!str_starts_nocase(*s, STR("HTTP/")) || s->n < 6 ||
	    !ascii_is_digit(s->p[5]))
		return false;
	int v = (s->p[5] - '0') * 10;
	size_t n = 6;
	if (s->n >= 8 && s->p[6] == '.' && ascii_is_digit(s->p[7])) {
		v += s->p[7] - '0';
		n = 8;
	}
	*version = v;
	*s = str_from(*s, n);
	return true;
}

static enum err
parse_status_line(struct str line, struct http_head *h, struct why *w)
{
	struct str rest = line;
	uint64_t status;

	if (!take_version(&rest, &h->version)) {
		/* Streaming servers of old. */
		if (!str_starts(rest, STR("ICY ")))
			return why(w, ERR_INPUT, "no HTTP status line");
		h->version = 10;
		rest = str_from(rest, 3);
	}
	rest = str_trim(rest);
	if (rest.n < 3 || !str_to_u64(str_cut(rest, 0, 3), &status) ||
	    status < 100 || (rest.n > 3 && ascii_is_digit(rest.p[3])))
		return why(w, ERR_INPUT, "the status line has no status");
	h->status = (int)status;
	h->reason = str_trim(str_from(rest, 3));
	return OK;
}

static enum err
parse_request_line(struct str line, struct http_head *h, struct why *w)
{
	struct str rest = str_trim(line);
	size_t space = str_find_char(rest, ' ');
	size_t end = rest.n;

	h->method = str_cut(rest, 0, space);
	if (h->method.n == 0 || space == rest.n)
		return why(w, ERR_INPUT, "no HTTP request line");
	for (size_t i = 0; i < h->method.n; i++)
		if (h->method.p[i] <= ' ' || h->method.p[i] == 0x7f)
			return why(w, ERR_INPUT, "no HTTP request line");
	h->version = 9;
	while (end > space && rest.p[end - 1] != ' ')
		end--;
	struct str tail = str_from(rest, end);
	if (take_version(&tail, &h->version) && tail.n == 0 && end > space + 1)
		rest = str_cut(rest, 0, end);
	h->target = str_trim(str_from(rest, space));
	return OK;
}

/* Append a folded line to the value before it. */
static void
join_fold(struct http_head *h, struct str line, struct arena *a)
{
	struct http_field *f = &h->fields[h->fields_n - 1];
	struct str more = str_trim(line);

	if (more.n == 0)
		return;
	if (f->value.n == 0) {
		f->value = more;
		return;
	}
	char *p = arena_bytes(a, f->value.n + 1 + more.n);
	memcpy(p, f->value.p, f->value.n);
	p[f->value.n] = ' ';
	memcpy(p + f->value.n + 1, more.p, more.n);
	f->value = (struct str){ p, f->value.n + 1 + more.n };
}

/* Joining copies what was joined before: beyond this folds are dropped. */
#define FOLDS_MAX 64

/* As many as there can be: lines up to the empty one. */
static size_t
count_lines(struct str s, size_t at)
{
	size_t n = 0;
	struct str line;

	while (take_line(s, &at, &line) && line.n > 0)
		n++;
	return n + 1;
}

static enum err
parse_fields(struct str s, size_t at, struct http_limits limits,
    struct arena *a, struct http_head *h, struct why *w)
{
	struct str line;

	h->fields = ARENA_ARRAY(a, struct http_field,
	    MIN(count_lines(s, at), limits.fields_max));
	while (at < s.n) {
		size_t start = at;
		take_line(s, &at, &line);
		if (s.p[at - 1] == '\n' && at - start == line.n + 1)
			h->bare_lf++;
		if (line.n == 0) {
			h->complete = s.p[at - 1] == '\n';
			break;
		}
		if (line.p[0] == ' ' || line.p[0] == '\t') {
			if (h->fields_n > 0 && ++h->folds <= FOLDS_MAX)
				join_fold(h, line, a);
			else
				h->garbage++;
			continue;
		}
		size_t colon = str_find_char(line, ':');
		struct str name = str_trim(str_cut(line, 0, colon));
		if (colon == line.n || name.n == 0) {
			h->garbage++;
			continue;
		}
		if (h->fields_n == limits.fields_max)
			return why(w, ERR_FULL, "more than %zu header fields",
			    limits.fields_max);
		h->fields[h->fields_n++] = (struct http_field){ name,
			str_trim(str_from(line, colon + 1)) };
	}
	h->n = at;
	return OK;
}

enum err
http_parse_head(struct str s, bool request, struct http_limits limits,
    struct arena *a, struct http_head *h, struct why *w)
{
	size_t at = 0;
	struct str line = STR_NONE;
	struct str all = str_cut(s, 0, limits.bytes_max);

	memset(h, 0, sizeof(*h));
	h->request = request;
	while (at < all.n && line.n == 0)
		take_line(all, &at, &line);
	enum err err = request ? parse_request_line(line, h, w) :
	    parse_status_line(line, h, w);
	if (err == OK)
		err = parse_fields(all, at, limits, a, h, w);
	if (err == OK && !h->complete && s.n > all.n)
		err = why(w, ERR_FULL, "a head of more than %zu bytes",
		    limits.bytes_max);
	return err;
}

enum err
http_parse_fields(struct str s, struct http_limits limits, struct arena *a,
    struct http_head *h, struct why *w)
{
	struct str all = str_cut(s, 0, limits.bytes_max);

	memset(h, 0, sizeof(*h));
	enum err err = parse_fields(all, 0, limits, a, h, w);
	if (err == OK && !h->complete && s.n > all.n)
		err = why(w, ERR_FULL, "fields of more than %zu bytes",
		    limits.bytes_max);
	return err;
}

bool
http_next(const struct http_head *h, struct str name, size_t *at,
    struct str *value)
{
	for (; *at < h->fields_n; ++*at)
		if (str_eq_nocase(h->fields[*at].name, name)) {
			*value = h->fields[(*at)++].value;
			return true;
		}
	return false;
}

struct str
http_find(const struct http_head *h, struct str name)
{
	size_t at = 0;
	struct str value;

	return http_next(h, name, &at, &value) ? value : STR_NONE;
}

struct str
http_find_all(const struct http_head *h, struct str name, struct arena *a)
{
	size_t at = 0, n = 0, count = 0;
	struct str value, all = STR_NONE;

	while (http_next(h, name, &at, &value)) {
		n += value.n + 2;
		all = value;
		count++;
	}
	if (count <= 1)
		return all;
	char *p = arena_bytes(a, n);
	n = at = 0;
	while (http_next(h, name, &at, &value)) {
		if (n > 0) {
			memcpy(p + n, ", ", 2);
			n += 2;
		}
		memcpy(p + n, value.p, value.n);
		n += value.n;
	}
	return (struct str){ p, n };
}

bool
http_content_length(const struct http_head *h, uint64_t *out)
{
	size_t at = 0;
	struct str value, part;
	bool any = false;

	while (http_next(h, STR("content-length"), &at, &value))
		while (str_split(&value, ',', &part)) {
			uint64_t v;
			if (!str_to_u64(str_trim(part), &v) ||
			    (any && v != *out))
				return false;
			*out = v;
			any = true;
		}
	return any;
}

/* A quoted string without its quotes and backslashes, or the token. */
static struct str
unquote(struct str s, struct arena *a)
{
	if (s.n == 0 || s.p[0] != '"')
		return str_trim(s);
	char *p = arena_bytes(a, s.n);
	size_t n = 0;
	for (size_t i = 1; i < s.n && s.p[i] != '"'; i++) {
		if (s.p[i] == '\\' && i + 1 < s.n)
			i++;
		p[n++] = s.p[i];
	}
	return (struct str){ p, n };
}

struct http_media
http_media_parse(struct str value, struct arena *a)
{
	struct http_media m = { STR_NONE, STR_NONE };
	struct str rest = value, part;

	/* Several values in one field: the first that names a type. */
	if (!str_split(&rest, ';', &part))
		return m;
	part = str_trim(str_cut(part, 0, str_find_char(part, ',')));
	char *p = arena_bytes(a, part.n);
	for (size_t i = 0; i < part.n; i++)
		p[i] = ascii_lower(part.p[i]);
	m.type = (struct str){ p, part.n };
	while (str_split(&rest, ';', &part)) {
		size_t eq = str_find_char(part, '=');
		if (eq < part.n && m.charset.p == NULL && str_eq_nocase(
		    str_trim(str_cut(part, 0, eq)), STR("charset")))
			m.charset = unquote(str_trim(str_from(part, eq + 1)),
			    a);
	}
	return m;
}

struct http_media
http_content_type(const struct http_head *h, struct arena *a)
{
	return http_media_parse(http_find(h, STR("content-type")), a);
}
