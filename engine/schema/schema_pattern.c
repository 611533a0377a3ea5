/*
 *     ECMA-262            PCRE2
 *     .                   [^\n\r\x{2028}\x{2029}]
 *     \s  \S              the white space of ECMA-262, U+FEFF included
 *     \uXXXX  \u{X...}    \x{X...}; two surrogates are one character
 *     \v  \0              \x0b, \x00
 *     [ within a class    \[, as there are no POSIX classes
 *     [\d-x]              [\d\-x], as a set does not begin a range
 *     $ without a flag    PCRE2_DOLLAR_ENDONLY
 *     []  [^]             PCRE2_ALLOW_EMPTY_CLASS
 *     \1 of an unset group   PCRE2_MATCH_UNSET_BACKREF
 *
 * Recursion, callouts, verbs and conditions, which only PCRE2 has, are refused.
 */
#include "engine/schema/schema_pattern.h"

#include "base/text.h"
#include "engine/schema/schema.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

struct schema_pattern {
	struct str text;
	pcre2_code *code;            /* in the arena */
	bool has_references;         /* \1, \k<name> */
	uint32_t lookbehind;         /* characters */
};

/* --- translating -------------------------------------------------------- */

/* A pattern on its way into the language of PCRE2. */
struct translation {
	struct str rest;
	struct buf *out;
	struct why *why;
	bool in_class;
	bool after_set;              /* in a class, behind "\d" or its like */
};

/* White space of ECMA-262 §12.2 and §12.3, as a part of a class. */
#define SPACES "\\s\\p{Z}\\x{feff}"

/* Read hexadecimal digits: exactly `n`.  False without them. */
static bool
take_hex(struct str *s, size_t n, uint32_t *out)
{
	if (s->n < n)
		return false;
	*out = 0;
	for (size_t i = 0; i < n; i++) {
		int digit = ascii_hex_value(s->p[i]);
		if (digit < 0)
			return false;
		*out = *out << 4 | (uint32_t)digit;
	}
	*s = str_from(*s, n);
	return true;
}

/* The second half of a pair, or nothing is taken. */
static bool
take_low_surrogate(struct str *s, uint32_t *low)
{
	struct str rest = *s;

	if (!str_starts(rest, STR("\\u")))
		return false;
	rest = str_from(rest, 2);
	if (!take_hex(&rest, 4, low) || *low < 0xdc00 || *low > 0xdfff)
		return false;
	*s = rest;
	return true;
}

/* Translate the rest of "\uXXXX" or "\u{X}". */
static enum err
put_code_point(struct translation *t)
{
	uint32_t c = 0, low;

	if (str_take_char(&t->rest, '{')) {
		size_t n = str_find_char(t->rest, '}');
		if (n == 0 || n > 6 || !take_hex(&t->rest, n, &c) ||
		    !str_take_char(&t->rest, '}'))
			return why(t->why, ERR_INPUT,
			    "\\u{...} is no code point");
	} else if (!take_hex(&t->rest, 4, &c)) {
		return why(t->why, ERR_INPUT, "\\u without 4 hex digits");
	}
	if (c >= 0xd800 && c < 0xdc00 && take_low_surrogate(&t->rest, &low))
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return why(t->why, ERR_INPUT, "\\u%04x is no character", c);
	buf_printf(t->out, "\\x{%x}", c);
	return OK;
}

static void
put_space(struct translation *t, bool not_space)
{
	if (t->in_class)
		buf_put_text(t->out, not_space ? "\\S" : SPACES);
	else
		buf_put_text(t->out, not_space ? "[^" SPACES "]" :
		    "[" SPACES "]");
}

/* An escape that stands for a set of characters. */
static bool
is_set(char c)
{
	return str_has_char(STR("dDwWsSpP"), c);
}

/* Copy the rest of "\p{Lu}". */
static void
put_property(struct translation *t)
{
	size_t n = str_starts(t->rest, STR("{")) ?
	    str_find_char(t->rest, '}') + 1 : 0;

	buf_put_str(t->out, str_cut(t->rest, 0, n));
	t->rest = str_from(t->rest, n);
}

/* Translate an escape, behind its backslash. */
static enum err
put_escape(struct translation *t)
{
	if (t->rest.n == 0)
		return why(t->why, ERR_INPUT, "\\ at the end");
	char c = t->rest.p[0];
	t->rest = str_from(t->rest, 1);
	t->after_set = is_set(c);
	if (c == 'u')
		return put_code_point(t);
	if (c == 's' || c == 'S') {
		put_space(t, c == 'S');
	} else if (c == 'v') {
		buf_put_text(t->out, "\\x0b");
	} else if (c == '0') {
		buf_put_text(t->out, "\\x00");
	} else if (ascii_is_alpha(c) &&
	    !str_has_char(STR("dDwWbBnrtfcxpPk"), c)) {
		return why(t->why, ERR_INPUT, "\\%c is not of ECMA-262", c);
	} else {
		if (!((unsigned char)c & 0x80))
			buf_put_char(t->out, '\\');
		buf_put_char(t->out, c);
		if (c == 'p' || c == 'P')
			put_property(t);
	}
	return OK;
}

/* Translate the start of a group, behind its "(". */
static enum err
put_group(struct translation *t)
{
	static const struct str starts[] = { { "?:", 2 }, { "?=", 2 },
		{ "?!", 2 }, { "?<", 2 } };

	buf_put_char(t->out, '(');
	if (str_starts(t->rest, STR("*")))
		return why(t->why, ERR_INPUT, "nothing to repeat");
	if (!str_starts(t->rest, STR("?")))
		return OK;
	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		if (str_starts(t->rest, starts[i])) {
			buf_put_str(t->out, starts[i]);
			t->rest = str_from(t->rest, starts[i].n);
			return OK;
		}
	}
	return why(t->why, ERR_INPUT, "a group that is not of ECMA-262");
}

/* A class begins; "]" right behind it is its end. */
static void
open_class(struct translation *t)
{
	t->in_class = true;
	t->after_set = false;
	buf_put_char(t->out, '[');
	if (str_take_char(&t->rest, '^'))
		buf_put_char(t->out, '^');
}

/* PCRE2 reads the rest of "{2,3}"; only the first number has a limit here. */
static enum err
check_repeat(struct translation *t)
{
	size_t n = 0;
	uint64_t least;

	while (n < t->rest.n && ascii_is_digit(t->rest.p[n]))
		n++;
	if (n == 0 || n == t->rest.n ||
	    (t->rest.p[n] != ',' && t->rest.p[n] != '}'))
		return OK;
	if (!str_to_u64(str_cut(t->rest, 0, n), &least) ||
	    least > SCHEMA_REPEAT_MAX)
		return why(t->why, ERR_FULL,
		    "it repeats something at least %.*s times; %u is the limit",
		    (int)MIN(n, 20), t->rest.p, SCHEMA_REPEAT_MAX);
	return OK;
}

static enum err
put_next(struct translation *t)
{
	char c = t->rest.p[0];

	t->rest = str_from(t->rest, 1);
	if (c == '\\')
		return put_escape(t);
	if (t->in_class) {
		/* "-" beside a set is no range, but itself. */
		if (c == '[' || (c == '-' && (t->after_set ||
		    (t->rest.n > 1 && t->rest.p[0] == '\\' &&
		    is_set(t->rest.p[1])))))
			buf_put_char(t->out, '\\');
		t->in_class = c != ']';
		t->after_set = false;
	} else if (c == '[') {
		open_class(t);
		return OK;
	} else if (c == '(') {
		return put_group(t);
	} else if (c == '{') {
		buf_put_char(t->out, '{');
		return check_repeat(t);
	} else if (c == '.') {
		buf_put_text(t->out, "[^\\n\\r\\x{2028}\\x{2029}]");
		return OK;
	}
	buf_put_char(t->out, c);
	return OK;
}

static enum err
translate_pattern(struct str pattern, struct buf *out, struct why *w)
{
	struct translation t = { .rest = pattern, .out = out, .why = w };
	enum err e = OK;

	while (e == OK && t.rest.n > 0)
		e = put_next(&t);
	return e;
}

/* --- compiling ---------------------------------------------------------- */

static void *
take_memory(size_t n, void *arena)
{
	return arena_take(arena, n);
}

static void
keep_memory(void *p, void *arena)
{
	(void)p, (void)arena;
}

#define OPTIONS (PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS | \
	PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C | \
	PCRE2_AUTO_CALLOUT)

enum err
schema_pattern_compile(struct str pattern, size_t *memory, struct arena *a,
    struct schema_pattern **out, struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	PCRE2_UCHAR reason[160];
	PCRE2_SIZE offset, size;
	uint32_t references, lookbehind;
	int fault;

	*out = NULL;
	if (!text_is_utf8(pattern))
		return why(w, ERR_INPUT, "it is not UTF-8");
	enum err e = translate_pattern(pattern, &text, w);
	if (e != OK)
		return e;
	pcre2_compile_context *c = pcre2_compile_context_create(
	    pcre2_general_context_create(take_memory, keep_memory, a));
	CHECK(c != NULL);
	pcre2_set_newline(c, PCRE2_NEWLINE_LF);
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)buf_text(&text), text.n,
	    OPTIONS, &fault, &offset, c);
	if (code == NULL) {
		pcre2_get_error_message(fault, reason, sizeof(reason));
		return why(w, fault == PCRE2_ERROR_PATTERN_TOO_LARGE ?
		    ERR_FULL : ERR_INPUT, "%s", (const char *)reason);
	}
	CHECK(pcre2_pattern_info(code, PCRE2_INFO_SIZE, &size) == 0 &&
	    pcre2_pattern_info(code, PCRE2_INFO_BACKREFMAX, &references) ==
	    0 && pcre2_pattern_info(code, PCRE2_INFO_MAXLOOKBEHIND,
	    &lookbehind) == 0);
	if (size > *memory)
		return why(w, ERR_FULL,
		    "the patterns need more than %u bytes of memory",
		    SCHEMA_PATTERN_MEMORY_MAX);
	*memory -= size;
	*out = ARENA_NEW(a, struct schema_pattern);
	**out = (struct schema_pattern){ arena_copy(a, pattern), code,
		references > 0, lookbehind };
	return OK;
}

bool
schema_pattern_is_valid(struct str pattern)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct schema_pattern *p;
	size_t memory = SCHEMA_PATTERN_MEMORY_MAX;
	struct why w = WHY_INIT;

	return schema_pattern_compile(pattern, &memory, &a, &p, &w) == OK;
}

struct str
schema_pattern_text(const struct schema_pattern *p)
{
	return p->text;
}

/* --- matching ----------------------------------------------------------- */

static bool
take_steps(struct schema_matcher *m, size_t n)
{
	bool enough = *m->steps >= n;

	*m->steps = enough ? *m->steps - n : 0;
	return enough;
}

/*
 * PCRE2 calls this before each item of the pattern that it tries.  An item
 * reads as much as the match moves until the next call, or fails early: a
 * repeat reads at most SCHEMA_REPEAT_MAX characters in vain.  A lookbehind may
 * step back in vain by its whole length, and a reference to a group may compare
 * the whole text, so these are charged in advance.
 */
static int
count_step(pcre2_callout_block *b, void *arg)
{
	struct schema_matcher *m = arg;
	size_t now = b->current_position;
	size_t moved = now > m->at ? now - m->at : m->at - now;
	size_t read = moved + m->lookbehind +
	    (m->has_references ? b->subject_length : 0);

	m->at = now;
	return take_steps(m, 1 + read / SCHEMA_STEP_BYTES) ? 0 :
	    PCRE2_ERROR_CALLOUT;
}

static void
prepare_matcher(struct schema_matcher *m)
{
	pcre2_match_context *limits = pcre2_match_context_create(NULL);

	m->data = pcre2_match_data_create(1, NULL);
	CHECK(limits != NULL && m->data != NULL);
	pcre2_set_heap_limit(limits, SCHEMA_PATTERN_HEAP_KIB);
	pcre2_set_match_limit(limits, SCHEMA_CHECK_STEPS_MAX);
	pcre2_set_callout(limits, count_step, m);
	m->limits = limits;
}

enum schema_match
schema_pattern_match(const struct schema_pattern *p, struct str subject,
    struct schema_matcher *m)
{
	PCRE2_SPTR text = (PCRE2_SPTR)(subject.p == NULL ? "" : subject.p);

	if (m->data == NULL)
		prepare_matcher(m);
	m->at = 0;
	m->has_references = p->has_references;
	m->lookbehind = p->lookbehind;
	if (!take_steps(m, 1 + subject.n / SCHEMA_STEP_BYTES))
		return SCHEMA_GAVE_UP;
	int rc = pcre2_match(p->code, text, subject.n, 0, 0, m->data,
	    m->limits);
	if (rc >= 0)
		return SCHEMA_MATCH;
	return rc == PCRE2_ERROR_NOMATCH ? SCHEMA_NO_MATCH : SCHEMA_GAVE_UP;
}

void
schema_matcher_free(struct schema_matcher *m)
{
	pcre2_match_data_free(m->data);
	pcre2_match_context_free(m->limits);
	m->data = m->limits = NULL;
}
