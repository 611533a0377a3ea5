#include "wire/redact.h"

#include "wire/base64.h"
#include "wire/http.h"

#define WORD STR(REDACT_WORD)

struct redactor {
	struct str *patterns;        /* values, then their base64 cores */
	size_t patterns_n;
	bool borrows;                /* their memory is the caller's */
	struct buf *headers;
	size_t headers_n;
	struct buf *fields;
	size_t fields_n;
	bool cookies, harvest;
};

static const char *const header_names[] = { "authorization",
	"proxy-authorization", "cookie", "x-api-key" };
static const char *const field_names[] = { "access_token", "api_key",
	"client_secret", "key", "token", "password", "sig" };

static void
pattern_add(struct redactor *r, const struct redact_rules *rules,
    struct str s)
{
	char *p = rules->take != NULL ? rules->take(rules->arg, s.n) :
	    mem_array(s.n, 1);

	memcpy(p, s.p, s.n);
	r->patterns[r->patterns_n++] = (struct str){ p, s.n };
}

static void
overwrite_buf(struct buf *b)
{
	if (b->n > 0)
		explicit_bzero(b->p, b->n);
	buf_free(b);
}

/*
 * The base64 letters that `value` alone decides when it begins `shift` bytes
 * behind a multiple of three; both alphabets when they differ.
 */
static void
pattern_add_base64(struct redactor *r, const struct redact_rules *rules,
    struct str value, size_t shift)
{
	struct buf in = BUF_INIT, out = BUF_INIT;

	/* A buffer that grows would leave a copy behind. */
	buf_reserve(&in, shift + value.n);
	buf_reserve(&out, 4 * (shift + value.n + 3) / 3 + 1);
	buf_put(&in, "\0\0", shift);
	buf_put_str(&in, value);
	base64_put(&out, buf_str(&in));
	struct str core = str_cut(buf_str(&out), (8 * shift + 5) / 6,
	    8 * in.n / 6);
	pattern_add(r, rules, core);
	bool differs = false;
	for (size_t i = 0; i < out.n; i++)
		if (out.p[i] == '+' || out.p[i] == '/') {
			out.p[i] = out.p[i] == '+' ? '-' : '_';
			differs = true;
		}
	if (differs)
		pattern_add(r, rules, core);
	overwrite_buf(&in);
	overwrite_buf(&out);
}

/* The names that are always secret, then those of the rules. */
static struct buf *
copy_names(const char *const *always, size_t always_n,
    const struct str *names, size_t n)
{
	struct buf *copies = mem_array(always_n + n, sizeof(*copies));

	for (size_t i = 0; i < always_n; i++)
		buf_put_text(&copies[i], always[i]);
	for (size_t i = 0; i < n; i++)
		buf_put_str(&copies[always_n + i], names[i]);
	return copies;
}

static bool
is_listed(const struct buf *names, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq_nocase(name, buf_str(&names[i])))
			return true;
	return false;
}

struct redactor *
redact_new(const struct redact_rules *rules)
{
	struct redactor *r = mem_new(sizeof(*r));
	static const struct redact_rules none;

	if (rules == NULL)
		rules = &none;
	CHECK(rules->values_n <= REDACT_VALUES_MAX);
	r->harvest = rules->harvest;
	r->cookies = rules->cookies || rules->harvest;
	r->borrows = rules->take != NULL;
	/* Raw, and three shifts in two alphabets. */
	r->patterns = mem_array(7 * rules->values_n + 1,
	    sizeof(*r->patterns));
	for (size_t i = 0; i < rules->values_n; i++) {
		struct str v = rules->values[i];
		if (v.n < REDACT_VALUE_MIN || v.n > REDACT_VALUE_BYTES_MAX)
			continue;
		pattern_add(r, rules, v);
		for (size_t shift = 0; shift < 3; shift++)
			pattern_add_base64(r, rules, v, shift);
	}
	r->headers_n = ARRAY_LEN(header_names) + rules->headers_n;
	r->headers = copy_names(header_names, ARRAY_LEN(header_names),
	    rules->headers, rules->headers_n);
	r->fields_n = ARRAY_LEN(field_names) + rules->fields_n;
	r->fields = copy_names(field_names, ARRAY_LEN(field_names),
	    rules->fields, rules->fields_n);
	return r;
}

static void
bufs_free(struct buf **bp, size_t n)
{
	for (size_t i = 0; i < n; i++)
		overwrite_buf(&(*bp)[i]);
	mem_free(bp);
}

static void
patterns_free(struct redactor *r)
{
	for (size_t i = 0; i < r->patterns_n && !r->borrows; i++) {
		char *p = (char *)(uintptr_t)r->patterns[i].p;
		explicit_bzero(p, r->patterns[i].n);
		mem_free(&p);
	}
	mem_free(&r->patterns);
}

void
redact_free(struct redactor **rp)
{
	struct redactor *r = *rp;

	if (r == NULL)
		return;
	patterns_free(r);
	bufs_free(&r->headers, r->headers_n);
	bufs_free(&r->fields, r->fields_n);
	mem_free(rp);
}

/* Names are kept once each, as a list with commas. */
static void
note_name(struct buf *names, struct str name)
{
	struct str rest = buf_str(names), part;

	while (str_split(&rest, ',', &part))
		if (str_eq_nocase(str_trim(part), name))
			return;
	if (names->n > 0)
		buf_put_text(names, ", ");
	for (size_t i = 0; i < name.n; i++)
		buf_put_char(names, ascii_lower(name.p[i]));
}

/*
 * How many bytes at the start of `s` spell `pattern` when each byte may be
 * written as it is, as %XX, or a space as "+"; 0 when they do not.
 */
static size_t
match_encoded(struct str s, struct str pattern)
{
	size_t at = 0;

	for (size_t i = 0; i < pattern.n; i++) {
		char c = pattern.p[i];
		if (str_percent_byte(str_from(s, at)) == (unsigned char)c)
			at += 3;
		else if (at < s.n && (s.p[at] == c ||
		    (s.p[at] == '+' && c == ' ')))
			at++;
		else
			return 0;
	}
	return at;
}

/* The longest match of any pattern at the start of `s`; 0: none. */
static size_t
match_any(const struct redactor *r, struct str s)
{
	size_t best = 0;

	for (size_t i = 0; i < r->patterns_n; i++) {
		struct str pattern = r->patterns[i];
		char first = s.p[0];
		if (first != pattern.p[0] && first != '%' && first != '+')
			continue;
		size_t n = str_starts(s, pattern) ? pattern.n :
		    match_encoded(s, pattern);
		best = MAX(best, n);
	}
	return best;
}

static bool
replace_values(const struct redactor *r, struct str s, struct buf *out,
    struct buf *names)
{
	size_t done = 0, at = 0;
	bool found = false;

	if (r->patterns_n == 0)
		return false;
	while (at < s.n) {
		size_t n = match_any(r, str_from(s, at));
		if (n == 0) {
			at++;
			continue;
		}
		buf_put_str(out, str_cut(s, done, at));
		buf_put_str(out, WORD);
		done = at += n;
		found = true;
	}
	if (found) {
		buf_put_str(out, str_from(s, done));
		note_name(names, STR("credential"));
	}
	return found;
}

static bool
field_is_secret(const struct redactor *r, struct str name)
{
	return str_starts_nocase(name, STR("oauth_")) ||
	    is_listed(r->fields, r->fields_n, name);
}

static bool
ends_value(char c)
{
	return c == '&' || c == '#' || c == '"' || c == '\'' || c == '<' ||
	    c == '>' || ascii_is_space(c);
}

/*
 * Replace the values of secret fields: NAME=VALUE behind "?" or "&", or at the
 * very start of a form.
 */
static bool
replace_fields(const struct redactor *r, struct str s, bool form,
    struct buf *out, struct buf *names)
{
	size_t done = 0;
	bool found = false;

	if (!r->harvest)
		return false;
	for (size_t at = 0; at < s.n; at++) {
		size_t name = at + 1;
		if (at == 0 && form)
			name = 0;
		else if (s.p[at] != '?' && s.p[at] != '&')
			continue;
		size_t end = name;
		while (end < s.n && s.p[end] != '=' && !ends_value(s.p[end]))
			end++;
		if (end == s.n || s.p[end] != '=' ||
		    !field_is_secret(r, str_cut(s, name, end))) {
			at = end > name ? end - 1 : at;
			continue;
		}
		note_name(names, str_cut(s, name, end));
		buf_put_str(out, str_cut(s, done, end + 1));
		buf_put_str(out, WORD);
		while (end < s.n && !ends_value(s.p[end]))
			end++;
		done = end;
		at = end - 1;
		found = true;
	}
	if (found)
		buf_put_str(out, str_from(s, done));
	return found;
}

/* Both rules for running text; `form` as for replace_fields(). */
static bool
replace_text(const struct redactor *r, struct str s, bool form,
    struct buf *out, struct buf *names)
{
	FREED(buf_free) struct buf middle = BUF_INIT;

	if (!replace_fields(r, s, form, &middle, names))
		return replace_values(r, s, out, names);
	if (!replace_values(r, buf_str(&middle), out, names))
		buf_put_str(out, buf_str(&middle));
	return true;
}

static bool
header_is_secret(const struct redactor *r, struct str name, bool request)
{
	if (!request)
		return r->cookies && str_eq_nocase(name, STR("set-cookie"));
	return is_listed(r->headers, r->headers_n, name);
}

/* The end of the line at `at`, behind its LF, folded lines included. */
static size_t
line_end(struct str s, size_t at)
{
	do {
		size_t lf = str_find_char(str_from(s, at), '\n');
		at = MIN(s.n, at + lf + 1);
	} while (at < s.n && (s.p[at] == ' ' || s.p[at] == '\t'));
	return at;
}

static bool
replace_headers(const struct redactor *r, struct str head, bool request,
    struct buf *out, struct buf *names)
{
	size_t done = 0, at = 0, end;
	bool found = false;

	for (; at < head.n; at = end) {
		end = line_end(head, at);
		struct str line = str_cut(head, at, end);
		size_t colon = str_find_char(line, ':');
		struct str name = str_trim(str_cut(line, 0, colon));
		if (colon == line.n || !header_is_secret(r, name, request))
			continue;
		note_name(names, name);
		buf_put_str(out, str_cut(head, done, at + colon + 1));
		buf_put_char(out, ' ');
		buf_put_str(out, WORD);
		done = end;
		while (done > at && (head.p[done - 1] == '\n' ||
		    head.p[done - 1] == '\r'))
			done--;
		found = true;
	}
	if (found)
		buf_put_str(out, str_from(head, done));
	return found;
}

static bool
replace_head(const struct redactor *r, struct str head, bool request,
    struct buf *out, struct buf *names)
{
	FREED(buf_free) struct buf middle = BUF_INIT;

	if (!replace_headers(r, head, request, &middle, names))
		return replace_text(r, head, false, out, names);
	if (!replace_text(r, buf_str(&middle), false, out, names))
		buf_put_str(out, buf_str(&middle));
	return true;
}

static struct str
header_value(struct str head, struct str name, size_t *at)
{
	for (size_t i = 0, end; i < head.n; i = end) {
		end = line_end(head, i);
		struct str line = str_cut(head, i, end);
		size_t colon = str_find_char(line, ':');
		if (colon == line.n ||
		    !str_eq_nocase(str_trim(str_cut(line, 0, colon)), name))
			continue;
		struct str value = str_trim(str_from(line, colon + 1));
		*at = (size_t)(value.p - head.p);
		return value;
	}
	return STR_NONE;
}

static void
put_head_with_length(struct buf *out, struct str head, size_t body_n)
{
	size_t at = 0;
	struct str value = header_value(head, STR("content-length"), &at);

	if (value.p == NULL) {
		buf_put_str(out, head);
		return;
	}
	buf_put_str(out, str_cut(head, 0, at));
	buf_printf(out, "%zu", body_n);
	buf_put_str(out, str_from(head, at + value.n));
}

bool
redact_request(const struct redactor *r, struct str request, struct buf *out,
    struct buf *names)
{
	FREED(buf_free) struct buf head = BUF_INIT, body = BUF_INIT;
	size_t end = http_head_end(request), at;
	/* Without an empty line all of it is the head. */
	size_t split = end > 0 ? end : request.n;
	struct str h = str_cut(request, 0, split), b = str_from(request, split);
	struct str type = header_value(h, STR("content-type"), &at);
	bool form = str_starts_nocase(type,
	    STR("application/x-www-form-urlencoded"));

	bool head_new = replace_head(r, h, true, &head, names);
	bool body_new = b.n > 0 && replace_text(r, b, form, &body, names);
	if (head_new)
		h = buf_str(&head);
	if (body_new) {
		put_head_with_length(out, h, body.n);
		buf_put_str(out, buf_str(&body));
	} else if (head_new) {
		buf_put_str(out, h);
		buf_put_str(out, b);
	}
	return head_new || body_new;
}

bool
redact_response_head(const struct redactor *r, struct str head,
    struct buf *out, struct buf *names)
{
	if (!r->cookies && r->patterns_n == 0)
		return false;
	return replace_head(r, head, false, out, names);
}

bool
redact_text(const struct redactor *r, struct str text, struct buf *out,
    struct buf *names)
{
	return replace_text(r, text, false, out, names);
}

bool
redact_has_values(const struct redactor *r)
{
	return r->patterns_n > 0;
}

bool
redact_finds(const struct redactor *r, struct str body)
{
	for (size_t i = 0; i < r->patterns_n; i++)
		if (str_find(body, r->patterns[i]) < body.n)
			return true;
	return false;
}
