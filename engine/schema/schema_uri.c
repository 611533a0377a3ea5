#include "engine/schema/schema_uri.h"

#include "base/ip.h"

/* --- parts -------------------------------------------------------------- */

/* Where a text has the first of these characters; its length without one. */
static size_t
find_any(struct str s, const char *chars)
{
	size_t i = 0;

	while (i < s.n && !str_has_char(str_of(chars), s.p[i]))
		i++;
	return i;
}

/* Text before a separator that is there has a place, even an empty text. */
static struct str
part_of(struct str s, size_t n)
{
	return (struct str){ s.p == NULL ? "" : s.p, MIN(n, s.n) };
}

struct schema_uri
schema_uri_split(struct str s)
{
	struct schema_uri u = { .path = STR("") };
	size_t at = find_any(s, ":/?#");

	if (at > 0 && at < s.n && s.p[at] == ':') {
		u.scheme = part_of(s, at);
		s = str_from(s, at + 1);
	}
	if (str_starts(s, STR("//"))) {
		s = str_from(s, 2);
		at = find_any(s, "/?#");
		u.authority = part_of(s, at);
		s = str_from(s, at);
	}
	at = find_any(s, "?#");
	u.path = part_of(s, at);
	s = str_from(s, at);
	if (str_take_char(&s, '?')) {
		at = find_any(s, "#");
		u.query = part_of(s, at);
		s = str_from(s, at);
	}
	if (str_take_char(&s, '#'))
		u.fragment = part_of(s, s.n);
	return u;
}

/* --- resolving ---------------------------------------------------------- */

/* Drop the last segment of what was written since `start`. */
static void
drop_segment(struct buf *out, size_t start)
{
	while (out->n > start && out->p[out->n - 1] != '/')
		out->n--;
	if (out->n > start)
		out->n--;
}

/* RFC 3986 §5.2.4, for a path that begins with "/". */
static void
put_clean_path(struct buf *out, struct str path)
{
	size_t start = out->n;
	struct str rest = str_from(path, 1), segment;
	bool open = false;           /* the last segment was "." or ".." */

	while (str_split(&rest, '/', &segment)) {
		open = false;
		if (str_eq(segment, STR("."))) {
			open = true;
		} else if (str_eq(segment, STR(".."))) {
			drop_segment(out, start);
			open = true;
		} else {
			buf_put_char(out, '/');
			buf_put_str(out, segment);
		}
	}
	if (open)
		buf_put_char(out, '/');
}

static void
put_path(struct buf *out, struct str path)
{
	if (str_starts(path, STR("/")))
		put_clean_path(out, path);
	else
		buf_put_str(out, path);
}

/* RFC 3986 §5.2.3. */
static void
put_merged_path(struct buf *out, const struct schema_uri *base,
    struct str path)
{
	FREED(buf_free) struct buf merged = BUF_INIT;
	struct str start = base->path;

	if (base->authority.p != NULL && start.n == 0)
		start = STR("/");
	while (start.n > 0 && start.p[start.n - 1] != '/')
		start.n--;
	buf_put_str(&merged, start);
	buf_put_str(&merged, path);
	put_path(out, buf_str(&merged));
}

struct str
schema_uri_resolve(struct str base, struct str reference, struct arena *a,
    struct str *fragment)
{
	FREED(buf_free) struct buf out = BUF_INIT;
	struct schema_uri b = schema_uri_split(base);
	struct schema_uri r = schema_uri_split(reference);
	struct str scheme = r.scheme.p != NULL ? r.scheme : b.scheme;
	bool own_authority = r.scheme.p != NULL || r.authority.p != NULL;
	struct str authority = own_authority ? r.authority : b.authority;
	struct str query = r.query;

	*fragment = r.fragment;
	if (scheme.p != NULL) {
		buf_put_str(&out, scheme);
		buf_put_char(&out, ':');
	}
	if (authority.p != NULL) {
		buf_put_text(&out, "//");
		buf_put_str(&out, authority);
	}
	if (own_authority || str_starts(r.path, STR("/"))) {
		put_path(&out, r.path);
	} else if (r.path.n > 0) {
		put_merged_path(&out, &b, r.path);
	} else {
		buf_put_str(&out, b.path);
		query = r.query.p != NULL ? r.query : b.query;
	}
	if (query.p != NULL) {
		buf_put_char(&out, '?');
		buf_put_str(&out, query);
	}
	return arena_copy(a, buf_str(&out));
}

/* --- judging ------------------------------------------------------------ */

static bool
is_scheme(struct str s)
{
	if (s.n == 0 || !ascii_is_alpha(s.p[0]))
		return false;
	for (size_t i = 1; i < s.n; i++)
		if (!ascii_is_alpha(s.p[i]) && !ascii_is_digit(s.p[i]) &&
		    !str_has_char(STR("+-."), s.p[i]))
			return false;
	return true;
}

/* Unreserved characters, sub-delims, `more`, and %XX. */
static bool
has_allowed_only(struct str s, const char *more, bool any_character)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (c == '%') {
			if (str_percent_byte(str_from(s, i)) < 0)
				return false;
		} else if ((unsigned char)c >= 0x80) {
			if (!any_character)
				return false;
		} else if (!ascii_is_alpha(c) && !ascii_is_digit(c) &&
		    !str_has_char(STR("-._~!$&'()*+,;="), c) &&
		    !str_has_char(str_of(more), c)) {
			return false;
		}
	}
	return true;
}

static bool
is_port(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_digit(s.p[i]))
			return false;
	return true;
}

/* "[", an IPv6 address or that of a later version, "]". */
static bool
is_bracketed_host(struct str s)
{
	struct ip ip;
	struct str inside = str_cut(s, 1, s.n - 1);

	if (inside.n > 0 && ascii_lower(inside.p[0]) == 'v')
		return has_allowed_only(inside, ":", false);
	return str_find_char(inside, ':') < inside.n &&
	    ip_from_text(inside, &ip);
}

/* RFC 3986 §3.2. */
static bool
is_authority(struct str s, bool any_character)
{
	size_t at = str_find_char(s, '@');

	if (at < s.n) {
		if (!has_allowed_only(str_cut(s, 0, at), ":", any_character))
			return false;
		s = str_from(s, at + 1);
	}
	if (s.n > 0 && s.p[0] == '[') {
		at = str_find_char(s, ']');
		if (at == s.n || !is_bracketed_host(str_cut(s, 0, at + 1)))
			return false;
		s = str_from(s, at + 1);
		return s.n == 0 || (str_take_char(&s, ':') && is_port(s));
	}
	at = str_find_char(s, ':');
	return has_allowed_only(str_cut(s, 0, at), "", any_character) &&
	    (at == s.n || is_port(str_from(s, at + 1)));
}

bool
schema_uri_is_reference(struct str s, bool any_character)
{
	struct schema_uri u = schema_uri_split(s);

	if (u.scheme.p != NULL && !is_scheme(u.scheme))
		return false;
	/* Without a scheme, a colon would be taken for its end. */
	if (u.scheme.p == NULL && str_starts(s, STR(":")))
		return false;
	return is_authority(u.authority, any_character) &&
	    has_allowed_only(u.path, "/:@", any_character) &&
	    has_allowed_only(u.query, "/?:@", any_character) &&
	    has_allowed_only(u.fragment, "/?:@", any_character);
}

bool
schema_uri_is_absolute(struct str s, bool any_character)
{
	return schema_uri_split(s).scheme.p != NULL &&
	    schema_uri_is_reference(s, any_character);
}
