#include "engine/connector/item_json.h"

#include "base/text.h"

/* --- reading ------------------------------------------------------------ */

static void *
arena_aligned(void *ctx, size_t size)
{
	char *p = arena_bytes(ctx, size + 15);

	return p + (-(uintptr_t)p & 15);
}

static void *
arena_larger(void *ctx, void *p, size_t old, size_t size)
{
	return size <= old ? p : memcpy(arena_aligned(ctx, size), p, old);
}

static void
keep_bytes(void *ctx, void *p)
{
	(void)ctx, (void)p;
}

yyjson_alc
item_json_arena(struct arena *a)
{
	return (yyjson_alc){ arena_aligned, arena_larger, keep_bytes, a };
}

/*
 * A text of many short values makes yyjson ask for more and more room, which
 * an arena gives anew each time.  For a long text all that it could need is
 * taken at once; what is not used of that is no memory yet.
 */
#define LONG_TEXT ((size_t)1 << 20)

static yyjson_alc
memory_for(struct str s, yyjson_read_flag flags, struct arena *a)
{
	yyjson_alc memory = item_json_arena(a);

	if (s.n < LONG_TEXT)
		return memory;
	size_t n = yyjson_read_max_memory_usage(s.n, flags);
	CHECK(yyjson_alc_pool_init(&memory, arena_aligned(a, n), n));
	return memory;
}

static bool
read_value(struct str s, yyjson_read_flag more, struct arena *a,
    struct item_json *out, yyjson_read_err *fault)
{
	yyjson_read_flag flags = YYJSON_READ_BIGNUM_AS_RAW | more;
	yyjson_alc memory = memory_for(s, flags, a);
	yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)s.p, s.n,
	    flags, &memory, fault);

	if (doc == NULL)
		return false;
	out->root = yyjson_doc_get_root(doc);
	out->used = yyjson_doc_get_read_size(doc);
	return true;
}

/*
 * Most texts are one value.  yyjson takes memory for all of such a text at
 * once; where it is to stop at the value's end, it begins with little and moves
 * the values again and again.
 */
static bool
read_first_value(struct str s, struct arena *a, struct item_json *out,
    yyjson_read_err *fault)
{
	if (read_value(s, 0, a, out, fault))
		return true;
	return fault->code == YYJSON_READ_ERROR_UNEXPECTED_CONTENT &&
	    read_value(s, YYJSON_READ_STOP_WHEN_DONE, a, out, fault);
}

/* The code unit of "\uXXXX" at the start of `s`; -1: no such escape. */
static int
escaped_unit(struct str s)
{
	int unit = 0;

	if (s.n < 6 || s.p[0] != '\\' || s.p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int digit = ascii_hex_value(s.p[i]);
		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

/* Copy the escape at the start of `s`; how many bytes that were. */
static size_t
repair_escape(struct str s, struct buf *b)
{
	int unit = escaped_unit(s);

	if (unit < 0xd800 || unit > 0xdfff) {
		size_t n = MIN(s.n, (size_t)2);
		buf_put(b, s.p, n);
		return n;
	}
	int next = escaped_unit(str_from(s, 6));
	if (unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) {
		buf_put(b, s.p, 12);
		return 12;
	}
	buf_put_char(b, (char)0xed);
	buf_put_char(b, (char)(0x80 | (unit >> 6 & 0x3f)));
	buf_put_char(b, (char)(0x80 | (unit & 0x3f)));
	return 6;
}

/* Where each byte of `b` came from is lost, so offsets are estimates. */
static void
repair_text(struct str s, struct buf *b, bool *repaired)
{
	while (s.n > 0) {
		size_t n = 1;
		if (s.p[0] == '\\') {
			n = repair_escape(s, b);
		} else if ((n = text_utf8_length(s)) > 0) {
			buf_put(b, s.p, n);
		} else {
			buf_put_text(b, "\xef\xbf\xbd");
			*repaired = true;
			n = 1;
		}
		s = str_from(s, n);
	}
}

enum err
item_json_parse(struct str text, struct arena *a, struct item_json *out,
    struct why *w)
{
	yyjson_read_err fault, again;
	FREED(buf_free) struct buf b = BUF_INIT;

	*out = (struct item_json){ .root = NULL };
	if (read_first_value(text, a, out, &fault))
		return OK;
	if (fault.code == YYJSON_READ_ERROR_INVALID_STRING) {
		repair_text(text, &b, &out->repaired);
		if (read_value(buf_str(&b), YYJSON_READ_STOP_WHEN_DONE |
		    YYJSON_READ_ALLOW_INVALID_UNICODE, a, out, &again)) {
			/* The rest of a repaired text is not read. */
			out->used = text.n;
			return OK;
		}
	}
	return why(w, ERR_INPUT, "at %zu: %s", fault.pos, fault.msg);
}

/* --- several values ----------------------------------------------------- */

struct item_json_values
item_json_values_of(struct str text, struct arena *a)
{
	return (struct item_json_values){ .rest = str_trim(text),
		.first = a };
}

void
item_json_values_free(struct item_json_values *v)
{
	arena_free(&v->kept);
	arena_free(&v->value);
	v->copy = NULL;
}

/* yyjson writes into what it reads in place, up to the byte behind a value. */
static bool
read_in_place(struct item_json_values *v, struct item_json *out)
{
	yyjson_read_err fault;

	if (v->copy == NULL) {
		v->copy = arena_bytes(&v->kept, v->rest.n +
		    YYJSON_PADDING_SIZE);
		memcpy(v->copy, v->rest.p, v->rest.n);
		memset(v->copy + v->rest.n, 0, YYJSON_PADDING_SIZE);
	}
	v->copy[0] = v->rest.p[0];
	*out = (struct item_json){ .root = NULL };
	return read_value((struct str){ v->copy, v->rest.n },
	    YYJSON_READ_STOP_WHEN_DONE | YYJSON_READ_INSITU, &v->value, out,
	    &fault);
}

enum err
item_json_next(struct item_json_values *v, struct item_json *out,
    struct why *w)
{
	struct str text = v->rest;
	enum err e = OK;

	arena_reset(&v->value);
	if (v->first != NULL)
		e = item_json_parse(text, v->first, out, w);
	else if (!read_in_place(v, out))
		e = item_json_parse(text, &v->value, out, w);
	if (e != OK)
		return e;
	v->first = NULL;
	v->rest = str_trim(str_from(text, out->used));
	if (v->copy != NULL)
		v->copy += text.n - v->rest.n;
	return OK;
}

/* --- texts -------------------------------------------------------------- */

/* What a byte begins: itself, an escape of its own, or \uXXXX. */
#define PLAIN 0
#define NUMBERED 1
static const char escapes[256] = {
	['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
	['"'] = '"', ['\\'] = '\\', [0x7f] = NUMBERED
};

static char
escape_of(unsigned char c)
{
	return escapes[c] != PLAIN ? escapes[c] :
	    c < ' ' || c > '~' ? NUMBERED : PLAIN;
}

static void
put_unit(struct buf *b, unsigned unit)
{
	static const char hex[] = "0123456789abcdef";
	char *p = buf_grow(b, 6);

	p[0] = '\\';
	p[1] = 'u';
	for (int i = 0; i < 4; i++)
		p[2 + i] = hex[unit >> (12 - 4 * i) & 15];
}

/* The character at the start of `s`, whose first byte is not ASCII. */
static unsigned
take_character(struct str s, size_t *n)
{
	const unsigned char *p = (const unsigned char *)s.p;

	if (p[0] >= 0xf0 && s.n >= 4) {
		*n = 4;
		return (p[0] & 7u) << 18 | (p[1] & 63u) << 12 |
		    (p[2] & 63u) << 6 | (p[3] & 63u);
	}
	if (p[0] >= 0xe0 && s.n >= 3) {
		*n = 3;
		return (p[0] & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u);
	}
	if (p[0] >= 0xc0 && s.n >= 2) {
		*n = 2;
		return (p[0] & 31u) << 6 | (p[1] & 63u);
	}
	*n = 1;
	return 0xfffd;
}

static size_t
put_escaped(struct buf *b, struct str s)
{
	unsigned char c = (unsigned char)s.p[0];
	size_t n = 1;

	if (c < 0x80) {
		if (escapes[c] > NUMBERED) {
			char *p = buf_grow(b, 2);
			p[0] = '\\';
			p[1] = escapes[c];
		} else {
			put_unit(b, c);
		}
		return 1;
	}
	unsigned u = take_character(s, &n);
	if (u >= 0x10000) {
		put_unit(b, 0xd800 + ((u - 0x10000) >> 10 & 0x3ff));
		put_unit(b, 0xdc00 + ((u - 0x10000) & 0x3ff));
	} else {
		put_unit(b, u);
	}
	return n;
}

/* This byte, eight times. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Not zero: one of the eight bytes is. */
static uint64_t
zero_bytes(uint64_t x)
{
	return (x - EACH(1)) & ~x & EACH(0x80);
}

/* All eight bytes at `p` stand for themselves. */
static bool
are_plain(const char *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	/* Not ASCII, below a blank, or one of three characters. */
	return (((x | (x - EACH(' '))) & EACH(0x80)) |
	    zero_bytes(x ^ EACH('"')) | zero_bytes(x ^ EACH('\\')) |
	    zero_bytes(x ^ EACH(0x7f))) == 0;
}

/* How many bytes of `s` stand for themselves, from its start. */
static size_t
plain_bytes(struct str s)
{
	size_t n = 0;

	while (s.n - n >= 8 && are_plain(s.p + n))
		n += 8;
	/* The last eight again: those before are plain. */
	if (s.n >= 8 && s.n - n < 8 && are_plain(s.p + s.n - 8))
		return s.n;
	while (n < s.n && escape_of((unsigned char)s.p[n]) == PLAIN)
		n++;
	return n;
}

/* Characters of a text, of which the first is no plain one. */
static void
put_characters(struct buf *b, struct str s)
{
	while (s.n > 0) {
		s = str_from(s, put_escaped(b, s));
		size_t n = plain_bytes(s);
		buf_put(b, s.p, n);
		s = str_from(s, n);
	}
}

void
item_json_put_text(struct buf *b, struct str s)
{
	size_t n = plain_bytes(s);
	char *p = buf_grow(b, n + 2);

	p[0] = '"';
	if (n > 0)
		memcpy(p + 1, s.p, n);
	p[n + 1] = '"';
	if (n == s.n)
		return;
	b->n--;
	put_characters(b, str_from(s, n));
	buf_put_char(b, '"');
}

void
item_json_put_utf8(struct buf *b, struct str s)
{
	while (s.n > 0) {
		const char *ed = memchr(s.p, 0xed, s.n);
		size_t n = ed == NULL ? s.n : (size_t)(ed - s.p);
		buf_put(b, s.p, n);
		s = str_from(s, n);
		if (s.n == 0)
			break;
		bool lone = s.n >= 3 && (s.p[1] & 0xe0) == 0xa0;
		n = MIN(s.n, (size_t)3);
		buf_put_str(b, lone ? STR("\xef\xbf\xbd") : str_cut(s, 0, n));
		s = str_from(s, n);
	}
}

/* --- numbers ------------------------------------------------------------ */

/*
 * The digits and the exponent of "d.ddde-7" as yyjson writes a float: the
 * value is 0.DIGITS times ten to `*point`.
 */
static size_t
take_digits(const char *p, char digits[static 32], int *point)
{
	size_t n = 0;
	bool seen_point = false, seen_digit = false;

	*point = 0;
	for (; *p != '\0' && *p != 'e' && *p != 'E'; p++) {
		if (*p == '.') {
			seen_point = true;
			continue;
		}
		seen_digit |= *p != '0';
		if (!seen_digit)
			*point -= seen_point;
		else if (n < 31)
			digits[n++] = *p;
		*point += seen_digit && !seen_point;
	}
	if (*p != '\0') {
		int64_t e = 0;
		(void)str_to_i64(str_of(p + 1 + (p[1] == '+')), &e);
		*point += (int)e;
	}
	while (n > 0 && digits[n - 1] == '0')
		n--;
	return n;
}

/* As Python's repr(): an exponent below 1e-4 and from 1e16 on. */
static void
put_float(struct buf *b, const char *digits, size_t n, int point)
{
	if (n == 0) {
		buf_put_text(b, "0.0");
	} else if (point > 16 || point < -3) {
		int e = point - 1;
		buf_put_char(b, digits[0]);
		if (n > 1)
			buf_put_char(b, '.');
		buf_put(b, digits + 1, n - 1);
		buf_printf(b, "e%c%02d", e < 0 ? '-' : '+', e < 0 ? -e : e);
	} else if (point <= 0) {
		buf_put_text(b, "0.");
		for (int i = point; i < 0; i++)
			buf_put_char(b, '0');
		buf_put(b, digits, n);
	} else {
		size_t whole = MIN(n, (size_t)point);
		buf_put(b, digits, whole);
		for (size_t i = whole; i < (size_t)point; i++)
			buf_put_char(b, '0');
		buf_put_char(b, '.');
		buf_put(b, digits + whole, n - whole);
		if (n == whole)
			buf_put_char(b, '0');
	}
}

static void
put_real(struct buf *b, yyjson_val *v)
{
	char memory[1024], digits[32];
	yyjson_alc alc;
	size_t n;
	int point;

	yyjson_alc_pool_init(&alc, memory, sizeof(memory));
	char *text = yyjson_val_write_opts(v, YYJSON_WRITE_ALLOW_INF_AND_NAN,
	    &alc, &n, NULL);
	CHECK(text != NULL);
	const char *p = text;
	if (*p == '-') {
		buf_put_char(b, '-');
		p++;
	}
	if (!ascii_is_digit(*p)) {
		buf_put_text(b, p);
		return;
	}
	n = take_digits(p, digits, &point);
	put_float(b, digits, n, point);
}

void
item_json_put_number(struct buf *b, yyjson_val *v)
{
	if (yyjson_is_raw(v)) {
		buf_put(b, yyjson_get_raw(v), yyjson_get_len(v));
	} else if (yyjson_is_real(v)) {
		put_real(b, v);
	} else if (yyjson_is_sint(v) && yyjson_get_sint(v) < 0) {
		buf_put_char(b, '-');
		buf_put_decimal(b, 0 - (uint64_t)yyjson_get_sint(v), 1);
	} else {
		buf_put_decimal(b, yyjson_get_uint(v), 1);
	}
}

/* --- values ------------------------------------------------------------- */

static void
put_two(struct buf *b, char first, char second)
{
	char *p = buf_grow(b, 2);

	p[0] = first;
	p[1] = second;
}

static void put_value(struct buf *, yyjson_val *, int depth);

static void
put_list(struct buf *b, yyjson_val *list, int depth)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(list);

	buf_put_char(b, '[');
	for (size_t i = 0; yyjson_arr_iter_has_next(&it); i++) {
		if (i > 0)
			put_two(b, ',', ' ');
		put_value(b, yyjson_arr_iter_next(&it), depth);
	}
	buf_put_char(b, ']');
}

static void
put_object(struct buf *b, yyjson_val *object, int depth)
{
	yyjson_obj_iter it = yyjson_obj_iter_with(object);
	yyjson_val *key;

	buf_put_char(b, '{');
	for (size_t i = 0; (key = yyjson_obj_iter_next(&it)) != NULL; i++) {
		if (i > 0)
			put_two(b, ',', ' ');
		item_json_put_text(b, (struct str){ yyjson_get_str(key),
		    yyjson_get_len(key) });
		put_two(b, ':', ' ');
		put_value(b, yyjson_obj_iter_get_val(key), depth);
	}
	buf_put_char(b, '}');
}

static void
put_value(struct buf *b, yyjson_val *v, int depth)
{
	if (depth > ITEM_JSON_DEPTH_MAX) {
		buf_put_text(b, "null");
		return;
	}
	switch (yyjson_get_type(v)) {
	case YYJSON_TYPE_STR:
		item_json_put_text(b, (struct str){ yyjson_get_str(v),
		    yyjson_get_len(v) });
		break;
	case YYJSON_TYPE_RAW:
	case YYJSON_TYPE_NUM:
		item_json_put_number(b, v);
		break;
	case YYJSON_TYPE_BOOL:
		buf_put_text(b, yyjson_get_bool(v) ? "true" : "false");
		break;
	case YYJSON_TYPE_ARR:
		put_list(b, v, depth + 1);
		break;
	case YYJSON_TYPE_OBJ:
		put_object(b, v, depth + 1);
		break;
	default:
		buf_put_text(b, "null");
	}
}

void
item_json_put(struct buf *b, yyjson_val *v)
{
	put_value(b, v, 0);
}
