#include "engine/parser/scan.h"

#include <lexbor/tag/tag.h>

#include "engine/parser/char_ref.h"

/* Characters and references to decode; a bit each. */
enum decoding {
	REFERENCES = 1,    /* "&amp;" */
	IN_VALUE = 2,      /* ... by the rules for attributes */
	NULS = 4,          /* NUL becomes U+FFFD */
	HOLES = 8,         /* "</>" is left out */
};

/* ---- Characters -------------------------------------------------------- */

static inline bool
is_space(char c)
{
	const uint64_t spaces = UINT64_C(1) << ' ' | UINT64_C(1) << '\t' |
	    UINT64_C(1) << '\n' | UINT64_C(1) << '\f' | UINT64_C(1) << '\r';
	unsigned char u = (unsigned char)c;

	return u <= ' ' && (spaces >> u & 1) != 0;
}

static inline bool
is_alpha(char c)
{
	return (unsigned char)((unsigned char)(c | 0x20) - 'a') < 26;
}

/* A name of a tag ends here. */
static inline bool
ends_name(char c)
{
	return is_space(c) || c == '/' || c == '>';
}

/* ---- Search ------------------------------------------------------------ */

/* The last block of a page; apart, so that it costs the others no stack. */
__attribute__((noinline)) static void
fill_last_block(struct scan *s)
{
	char last[MASK_BLOCK] = { 0 };
	size_t n = s->n - s->block;

	memcpy(last, s->p + s->block, n);
	s->fill_mask(last, s->mask);
	for (unsigned k = 0; k < MASK_CLASSES; k++)
		s->mask[k] &= (UINT64_C(1) << n) - 1;
}

static inline void
fill_block(struct scan *s, size_t block)
{
	s->block = block;
	if (s->n - block >= MASK_BLOCK)
		s->fill_mask(s->p + block, s->mask);
	else
		fill_last_block(s);
}

/*
 * The first character of class `a` or `b` at `at` or after it; the page's
 * length when there is none.
 */
static inline size_t
seek_either(struct scan *s, size_t at, enum mask_class a, enum mask_class b)
{
	while (at < s->n) {
		size_t block = at & ~(size_t)(MASK_BLOCK - 1);
		if (block != s->block)
			fill_block(s, block);
		uint64_t m = (s->mask[a] | s->mask[b]) >> (at - block);
		if (m != 0)
			return at + (size_t)__builtin_ctzll(m);
		at = block + MASK_BLOCK;
	}
	return s->n;
}

static inline size_t
seek_class(struct scan *s, size_t at, enum mask_class k)
{
	return seek_either(s, at, k, k);
}

/* The first `c` at `at` or after it; the page's length when there is none. */
static inline size_t
find_char(const struct scan *s, size_t at, char c)
{
	const char *q = at < s->n ? memchr(s->p + at, c, s->n - at) : NULL;

	return q == NULL ? s->n : (size_t)(q - s->p);
}

static inline bool
has_at(const struct scan *s, size_t at, char c)
{
	return at < s->n && s->p[at] == c;
}

static inline size_t
skip_spaces(const struct scan *s, size_t at)
{
	while (at < s->n && is_space(s->p[at]))
		at++;
	return at;
}

/* ---- Decoding ---------------------------------------------------------- */

/* Decode the special character at `at`, write to `*out`, and return where the
 * next one is. */
static size_t
decode_char(const struct scan *s, size_t at, size_t end, unsigned how,
    char **out)
{
	size_t n = 0, used;

	switch (s->p[at]) {
	case '\r':
		*(*out)++ = '\n';
		return at + 1 + (at + 1 < end && s->p[at + 1] == '\n');
	case '&':
		used = (how & REFERENCES) == 0 ? 0 : char_ref_read(
		    (struct str){ s->p + at, end - at },
		    (how & IN_VALUE) != 0, *out, &n);
		if (used == 0)
			break;
		*out += n;
		return at + used;
	case '\0':
		if ((how & NULS) == 0)
			break;
		memcpy(*out, "\xef\xbf\xbd", 3);
		*out += 3;
		return at + 1;
	case '<':
		if ((how & HOLES) == 0 || at + 2 >= end ||
		    s->p[at + 1] != '/' || s->p[at + 2] != '>')
			break;
		return at + 3;
	default:
		break;
	}
	*(*out)++ = s->p[at];
	return at + 1;
}

/*
 * The most bytes that `at` to `end` may stand for.  A reference grows by a
 * fifth at most ("&nGt;", two code points of three bytes), NUL to three bytes.
 */
static size_t
decoded_max(const struct scan *s, size_t at, size_t end, unsigned how)
{
	size_t most = (end - at) + (end - at) / 4 + CHAR_REF_BYTES_MAX;

	while ((how & NULS) != 0 && at < end) {
		const char *nul = memchr(s->p + at, '\0', end - at);
		if (nul == NULL)
			break;
		at = (size_t)(nul - s->p) + 1;
		most += 2;
	}
	return most;
}

/* Append what `at` to `end` stands for.  There is room for decoded_max(). */
static struct str
decode_part(struct scan *s, size_t at, size_t end, unsigned how)
{
	char *start = s->scratch->p + s->scratch->n, *out = start;
	const char *limit = s->scratch->p + s->scratch->cap;

	while (at < end) {
		size_t next = MIN(end, seek_either(s, at, MASK_TEXT,
		    MASK_VALUE));
		CHECK((size_t)(limit - out) >= next - at + CHAR_REF_BYTES_MAX);
		memcpy(out, s->p + at, next - at);
		out += next - at;
		at = next < end ? decode_char(s, next, end, how, &out) : end;
	}
	s->scratch->n += (size_t)(out - start);
	return (struct str){ start, (size_t)(out - start) };
}

static void
reserve_scratch(struct scan *s, size_t bytes)
{
	s->scratch->n = 0;
	buf_reserve(s->scratch, bytes);
}

static bool
has_char(struct str s, char c)
{
	return memchr(s.p, c, s.n) != NULL;
}

struct str
scan_text(struct scan *s)
{
	static const unsigned hows[] = {
		[SCAN_DATA] = REFERENCES | HOLES,
		[SCAN_RCDATA] = REFERENCES | NULS,
		[SCAN_RAWTEXT] = NULS, [SCAN_SCRIPT] = NULS,
		[SCAN_REST] = NULS,
	};
	struct str text = { s->p + s->text, s->text_end - s->text };
	unsigned how = hows[s->mode];

	/* Few callers want the text of a raw element, so it is not searched
	 * for characters to decode before somebody asks for it. */
	if (s->mode != SCAN_DATA)
		s->coded = has_char(text, '\r') || has_char(text, '\0') ||
		    ((how & REFERENCES) != 0 && has_char(text, '&'));
	if (!s->coded)
		return text;
	reserve_scratch(s, decoded_max(s, s->text, s->text_end, how));
	return decode_part(s, s->text, s->text_end, how);
}

/* ---- Tags -------------------------------------------------------------- */

/* Values that contain something to decode; bit k stands for attribute k. */
__attribute__((noinline)) static void
decode_values(struct scan *s, struct scan_token *t, uint32_t coded)
{
	const unsigned how = REFERENCES | IN_VALUE | NULS;
	size_t most = 0;

	for (uint32_t left = coded; left != 0; left &= left - 1) {
		struct str v = t->attr[__builtin_ctz(left)];
		size_t at = (size_t)(v.p - s->p);
		most += decoded_max(s, at, at + v.n, how);
	}
	reserve_scratch(s, most);
	for (uint32_t left = coded; left != 0; left &= left - 1) {
		struct str *v = &t->attr[__builtin_ctz(left)];
		size_t at = (size_t)(v->p - s->p);
		*v = decode_part(s, at, at + v->n, how);
	}
}

/*
 * Read the value at `at`, where neither white space nor ">" is, and return
 * what follows it, or 0 when the page ends first.
 */
static size_t
read_value(struct scan *s, size_t at, struct str *value, bool *coded)
{
	char quote = s->p[at];
	bool quoted = quote == '"' || quote == '\'';
	size_t start = at + quoted;

	*coded = false;
	for (at = start;; at++) {
		at = quoted ? seek_class(s, at, MASK_VALUE) :
		    seek_either(s, at, MASK_NAME, MASK_VALUE);
		if (at == s->n)
			return 0;
		char c = s->p[at];
		if (quoted ? c == quote : c == '>' || is_space(c))
			break;
		*coded = *coded || c == '&' || c == '\0' || c == '\r';
	}
	*value = (struct str){ s->p + start, at - start };
	return at + quoted;
}

/*
 * Read the attribute at `at`, where its name begins, and return what follows
 * it, or 0 when the page ends first.
 */
static inline size_t
read_attr(struct scan *s, size_t at, struct scan_token *t, uint32_t *coded)
{
	struct str value = STR("");
	bool value_coded = false;
	size_t start = at;

	/* A name may begin with "=". */
	at = seek_class(s, at + 1, MASK_NAME);
	struct str name = { s->p + start, at - start };
	at = skip_spaces(s, at);
	if (has_at(s, at, '=')) {
		at = skip_spaces(s, at + 1);
		if (at < s->n && s->p[at] != '>')
			at = read_value(s, at, &value, &value_coded);
		if (at == 0)
			return 0;
	}
	t->attrs_n++;
	if (t->kind != SCAN_OPEN)
		return at;
	enum html_attr k = html_attr_of(s->names, name, s->n - start);
	if (k == ATTR_COUNT || (t->known >> k & 1) != 0)
		return at;
	t->known |= UINT32_C(1) << k;
	*coded |= (uint32_t)value_coded << k;
	t->attr[k] = value;
	return at;
}

/* Read what follows a tag's name, and leave `at` after its ">". */
static enum scan_kind
read_attrs(struct scan *s, size_t at, struct scan_token *t)
{
	uint32_t coded = 0;

	for (;;) {
		at = skip_spaces(s, at);
		if (at >= s->n)
			break;
		if (s->p[at] == '>') {
			s->at = at + 1;
			if (coded != 0)
				decode_values(s, t, coded);
			return t->kind;
		}
		if (s->p[at] == '/') {
			t->self = has_at(s, ++at, '>');
			continue;
		}
		if (t->attrs_n == s->attrs_max)
			return t->kind = SCAN_CUT;
		at = read_attr(s, at, t, &coded);
		if (at == 0)
			break;
	}
	s->at = s->n;
	return t->kind = SCAN_END;
}

/* Read the tag whose name begins at `at`. */
static enum scan_kind
read_tag(struct scan *s, size_t at, enum scan_kind kind, struct scan_token *t)
{
	size_t start = at;

	do
		at = seek_class(s, at + 1, MASK_NAME);
	while (has_at(s, at, '='));
	t->kind = kind;
	t->tag = html_tag_of(s->names, (struct str){ s->p + start,
	    at - start }, s->n - start);
	if (!has_at(s, at, '>'))
		return read_attrs(s, at, t);
	s->at = at + 1;
	return kind;
}

/* ---- Between tags ------------------------------------------------------ */

/* The kinds of markup that "<" can begin. */
enum markup { MARKUP_NONE, MARKUP_OPEN, MARKUP_CLOSE, MARKUP_HOLE,
	MARKUP_IGNORED };

static inline enum markup
markup_at(const struct scan *s, size_t at)
{
	char c = at + 1 < s->n ? s->p[at + 1] : '\0';

	if (is_alpha(c))
		return MARKUP_OPEN;
	if (c == '!' || c == '?')
		return MARKUP_IGNORED;
	if (c != '/' || at + 2 >= s->n)
		return MARKUP_NONE;
	c = s->p[at + 2];
	return is_alpha(c) ? MARKUP_CLOSE : c == '>' ? MARKUP_HOLE :
	    MARKUP_IGNORED;
}

/* The text of a comment begins at `start`; return what follows "-->". */
static size_t
skip_comment(const struct scan *s, size_t start)
{
	for (size_t at = start;; at++) {
		at = find_char(s, at, '>');
		if (at == s->n)
			return at;
		struct str text = { s->p + start, at - start };
		if (text.n == 0 || str_ends(text, STR("--")) ||
		    str_ends(text, STR("--!")) || str_eq(text, STR("-")))
			return at + 1;
	}
}

/* A comment, a document type or what else is no tag, at `at`. */
static size_t
skip_markup(const struct scan *s, size_t at)
{
	if (has_at(s, at + 1, '!') && has_at(s, at + 2, '-') &&
	    has_at(s, at + 3, '-'))
		return skip_comment(s, at + 4);
	/* After "<!", "<?" or "</"; in "<?>" and "<!>" it is the next one. */
	at = find_char(s, at + 2, '>');
	return MIN(at + 1, s->n);
}

/*
 * The end of the text at `at`: a tag, or what is skipped.  Notes whether the
 * text has anything to decode.
 */
static inline size_t
find_text_end(struct scan *s, size_t at)
{
	s->coded = false;
	for (;; at++) {
		at = seek_class(s, at, MASK_TEXT);
		if (at == s->n)
			return at;
		if (s->p[at] != '<') {
			s->coded = true;
			continue;
		}
		enum markup m = markup_at(s, at);
		if (m == MARKUP_HOLE) {
			s->coded = true;
			at += 2;
		} else if (m != MARKUP_NONE) {
			return at;
		}
	}
}

static enum scan_kind
next_in_data(struct scan *s, struct scan_token *t)
{
	while (s->at < s->n) {
		switch (s->p[s->at] == '<' ? markup_at(s, s->at) :
		    MARKUP_NONE) {
		case MARKUP_OPEN:
			return read_tag(s, s->at + 1, SCAN_OPEN, t);
		case MARKUP_CLOSE:
			return read_tag(s, s->at + 2, SCAN_CLOSE, t);
		case MARKUP_HOLE:
			s->at += 3;
			continue;
		case MARKUP_IGNORED:
			s->at = skip_markup(s, s->at);
			continue;
		case MARKUP_NONE:
			break;
		}
		s->text = s->at;
		s->at = s->text_end = find_text_end(s, s->at);
		return t->kind = SCAN_TEXT;
	}
	return t->kind = SCAN_END;
}

/* ---- Text inside of elements ------------------------------------------- */

/* Whether the name at `at` is `name`, and ends as one. */
static bool
is_name_at(const struct scan *s, size_t at, struct str name)
{
	return s->n - at > name.n && str_eq_nocase((struct str){ s->p + at,
	    name.n }, name) && ends_name(s->p[at + name.n]);
}

/* Whether "<" at `at` begins the end tag. */
static bool
is_raw_end(const struct scan *s, size_t at)
{
	return has_at(s, at + 1, '/') && is_name_at(s, at + 2, s->raw);
}

static size_t
find_raw_end(const struct scan *s, size_t at)
{
	for (;; at++) {
		at = find_char(s, at, '<');
		if (at == s->n || is_raw_end(s, at))
			return at;
	}
}

/*
 * After "<!--" in a script: up to "-->" an inner <script> hides its end tag.
 * Returns the script's end tag or what follows "-->"; `*ended` tells which.
 * HTML section 13.2.5.20.
 */
static size_t
find_escape_end(const struct scan *s, size_t at, bool *ended)
{
	bool inner = false;

	*ended = true;
	for (;;) {
		size_t tag = find_char(s, at, '<');
		struct str before = { s->p + at, tag - at };
		size_t dashes = str_find(before, STR("-->"));
		if (dashes < before.n) {
			*ended = false;
			return at + dashes + 3;
		}
		if (tag == s->n || (!inner && is_raw_end(s, tag)))
			return tag;
		bool slash = has_at(s, tag + 1, '/');
		at = tag + 1 + slash;
		if (slash == inner && is_name_at(s, at, s->raw)) {
			inner = !inner;
			at += s->raw.n;
		}
	}
}

static size_t
find_script_end(const struct scan *s, size_t at)
{
	bool ended = false;

	while (!ended) {
		at = find_char(s, at, '<');
		if (at == s->n || is_raw_end(s, at))
			return at;
		if (has_at(s, at + 1, '!') && has_at(s, at + 2, '-') &&
		    has_at(s, at + 3, '-'))
			at = find_escape_end(s, at + 2, &ended);
		else
			at++;
	}
	return at;
}

static enum scan_kind
next_in_raw(struct scan *s, struct scan_token *t)
{
	size_t end = s->mode == SCAN_REST ? s->n : s->mode == SCAN_SCRIPT ?
	    find_script_end(s, s->at) : find_raw_end(s, s->at);

	if (end > s->at) {
		s->text = s->at;
		s->text_end = s->at = end;
		return t->kind = SCAN_TEXT;
	}
	if (end == s->n)
		return t->kind = SCAN_END;
	s->mode = SCAN_DATA;
	return read_tag(s, end + 2, SCAN_CLOSE, t);
}

/* ---- A page ------------------------------------------------------------ */

void
scan_begin(struct scan *s, struct str page, const struct html_names *names,
    scan_mask_fn *fill_mask, size_t attrs_max, struct buf *scratch)
{
	*s = (struct scan){ .p = page.p, .n = page.n, .names = names,
	    .fill_mask = fill_mask, .attrs_max = attrs_max,
	    .block = SIZE_MAX, .scratch = scratch };
}

static void
clear_token(struct scan_token *t)
{
	for (; t->known != 0; t->known &= t->known - 1)
		t->attr[__builtin_ctz(t->known)] = STR_NONE;
	t->attrs_n = 0;
	t->self = false;
}

enum scan_kind
scan_next(struct scan *s, struct scan_token *t)
{
	clear_token(t);
	return s->mode == SCAN_DATA ? next_in_data(s, t) : next_in_raw(s, t);
}

void
scan_raw(struct scan *s, uintptr_t tag)
{
	switch (tag) {
	case LXB_TAG_TITLE:
	case LXB_TAG_TEXTAREA:
		s->mode = SCAN_RCDATA;
		break;
	case LXB_TAG_STYLE:
	case LXB_TAG_XMP:
	case LXB_TAG_IFRAME:
	case LXB_TAG_NOEMBED:
	case LXB_TAG_NOFRAMES:
		s->mode = SCAN_RAWTEXT;
		break;
	case LXB_TAG_SCRIPT:
		s->mode = SCAN_SCRIPT;
		break;
	case LXB_TAG_PLAINTEXT:
		s->mode = SCAN_REST;
		return;
	default:
		return;
	}
	s->raw.p = (const char *)lxb_tag_name_by_id(tag, &s->raw.n);
}
