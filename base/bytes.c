#include "base/bytes.h"

#include <math.h>
#include <stdarg.h>

struct str
str_of(const char *text)
{
	return text == NULL ? STR_NONE : (struct str){ text, strlen(text) };
}

bool
str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

char
ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool
ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool
ascii_is_alpha(char c)
{
	c = ascii_lower(c);
	return c >= 'a' && c <= 'z';
}

bool
ascii_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

int
str_order(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

int
ascii_hex_value(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int
str_percent_byte(struct str s)
{
	if (s.n < 3 || s.p[0] != '%')
		return -1;
	int high = ascii_hex_value(s.p[1]), low = ascii_hex_value(s.p[2]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

bool
str_eq_nocase(struct str a, struct str b)
{
	return a.n == b.n && str_starts_nocase(a, b);
}

bool
str_starts(struct str s, struct str prefix)
{
	return s.n >= prefix.n &&
	    (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

bool
str_starts_nocase(struct str s, struct str prefix)
{
	if (s.n < prefix.n)
		return false;
	for (size_t i = 0; i < prefix.n; i++)
		if (ascii_lower(s.p[i]) != ascii_lower(prefix.p[i]))
			return false;
	return true;
}

bool
str_ends(struct str s, struct str suffix)
{
	return s.n >= suffix.n &&
	    str_eq(str_from(s, s.n - suffix.n), suffix);
}

int
str_cmp(struct str a, struct str b)
{
	size_t n = MIN(a.n, b.n);
	int c = n == 0 ? 0 : memcmp(a.p, b.p, n);

	if (c != 0)
		return c;
	return (a.n > b.n) - (a.n < b.n);
}

struct str
str_cut(struct str s, size_t from, size_t to)
{
	if (to > s.n)
		to = s.n;
	if (from > to)
		from = to;
	if (s.p == NULL)
		return STR_NONE;
	return (struct str){ s.p + from, to - from };
}

struct str
str_from(struct str s, size_t from)
{
	return str_cut(s, from, s.n);
}

struct str
str_trim(struct str s)
{
	while (s.n > 0 && ascii_is_space(s.p[0]))
		s.p++, s.n--;
	while (s.n > 0 && ascii_is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

size_t
str_find_char(struct str s, char c)
{
	const char *at = s.n == 0 ? NULL : memchr(s.p, c, s.n);

	return at == NULL ? s.n : (size_t)(at - s.p);
}

bool
str_has_char(struct str s, char c)
{
	return str_find_char(s, c) < s.n;
}

size_t
str_find(struct str s, struct str needle)
{
	if (needle.n == 0)
		return 0;
	const char *at = s.n == 0 ? NULL :
	    memmem(s.p, s.n, needle.p, needle.n);
	return at == NULL ? s.n : (size_t)(at - s.p);
}

size_t
str_find_row(struct str s, const void *rows, size_t n, size_t row_bytes,
    bool (*equal)(struct str, struct str))
{
	const char *text;

	for (size_t i = 0; i < n; i++) {
		memcpy(&text, (const char *)rows + i * row_bytes, sizeof(text));
		if (text != NULL && equal(s, str_of(text)))
			return i;
	}
	return n;
}

bool
str_split(struct str *rest, char sep, struct str *part)
{
	if (rest->p == NULL)
		return false;
	size_t at = str_find_char(*rest, sep);
	*part = str_cut(*rest, 0, at);
	*rest = at < rest->n ? str_from(*rest, at + 1) : STR_NONE;
	return true;
}

bool
str_take_char(struct str *s, char c)
{
	if (s->n == 0 || s->p[0] != c)
		return false;
	*s = str_from(*s, 1);
	return true;
}

bool
str_take_digits(struct str *s, size_t digits, int *out)
{
	uint64_t v;

	if (s->n < digits || !str_to_u64(str_cut(*s, 0, digits), &v))
		return false;
	*out = (int)v;
	*s = str_from(*s, digits);
	return true;
}

bool
str_to_u64(struct str s, uint64_t *out)
{
	uint64_t v = 0;

	if (s.n == 0)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (!ascii_is_digit(s.p[i]))
			return false;
		uint64_t digit = (uint64_t)(s.p[i] - '0');
		if (v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*out = v;
	return true;
}

bool
str_to_i64(struct str s, int64_t *out)
{
	bool minus = s.n > 0 && s.p[0] == '-';
	uint64_t v;

	if (!str_to_u64(minus ? str_from(s, 1) : s, &v))
		return false;
	if (v > (uint64_t)INT64_MAX + (minus ? 1 : 0))
		return false;
	*out = minus ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

bool
str_to_double(struct str s, double *out)
{
	char text[64], *end;

	if (s.n == 0 || s.n >= sizeof(text) || ascii_is_space(s.p[0]))
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	double v = strtod(text, &end);
	if (end != text + s.n || !isfinite(v))
		return false;
	*out = v;
	return true;
}

void
buf_free(struct buf *b)
{
	mem_free(&b->p);
	b->n = b->cap = 0;
}

void
buf_clear(struct buf *b)
{
	b->n = 0;
}

void
buf_reserve(struct buf *b, size_t more)
{
	CHECK(more <= SIZE_MAX / 2 - b->n);
	if (b->cap - b->n >= more)
		return;
	size_t cap = b->cap == 0 ? 64 : b->cap;
	while (cap - b->n < more)
		cap *= 2;
	b->p = mem_resize(b->p, cap, 1);
	b->cap = cap;
}

void *
buf_grow(struct buf *b, size_t n)
{
	/* Never NULL: arithmetic on it is undefined, even with 0. */
	buf_reserve(b, MAX(n, 1));
	void *at = b->p + b->n;
	b->n += n;
	return at;
}

char *
ascii_put_decimal(char *to, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	return mempcpy(to, digits + at, sizeof(digits) - at);
}

void
buf_put_decimal(struct buf *b, uint64_t v, unsigned digits_min)
{
	char digits[24];
	size_t at = sizeof(digits);

	CHECK(digits_min <= 20);
	for (; v > 0 || sizeof(digits) - at < digits_min; v /= 10)
		digits[--at] = (char)('0' + v % 10);
	buf_put(b, digits + at, sizeof(digits) - at);
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	buf_reserve(b, 64);
	va_start(ap, fmt);
	int n = vsnprintf(b->p + b->n, b->cap - b->n, fmt, ap);
	va_end(ap);
	CHECK(n >= 0);
	if ((size_t)n >= b->cap - b->n) {
		buf_reserve(b, (size_t)n + 1);
		va_start(ap, fmt);
		vsnprintf(b->p + b->n, b->cap - b->n, fmt, ap);
		va_end(ap);
	}
	b->n += (size_t)n;
}

const char *
buf_text(struct buf *b)
{
	buf_reserve(b, 1);
	b->p[b->n] = '\0';
	return b->p;
}

struct str
buf_str(const struct buf *b)
{
	return (struct str){ b->p, b->n };
}

static void
put_be(struct buf *b, uint64_t v, int bytes)
{
	unsigned char *at = buf_grow(b, (size_t)bytes);

	for (int i = bytes - 1; i >= 0; i--, v >>= 8)
		at[i] = (unsigned char)v;
}

void
buf_put_be16(struct buf *b, uint16_t v)
{
	put_be(b, v, 2);
}

void
buf_put_be32(struct buf *b, uint32_t v)
{
	put_be(b, v, 4);
}

void
buf_put_be48(struct buf *b, uint64_t v)
{
	put_be(b, v, 6);
}

void
buf_put_be64(struct buf *b, uint64_t v)
{
	put_be(b, v, 8);
}

void
buf_put_varint(struct buf *b, uint64_t v)
{
	buf_reserve(b, 10);
	for (; v >= 0x80; v >>= 7)
		b->p[b->n++] = (char)(v | 0x80);
	b->p[b->n++] = (char)v;
}

void
buf_put_field(struct buf *b, struct str s)
{
	buf_put_varint(b, s.n);
	buf_put_str(b, s);
}

struct reader
reader_of(struct str s)
{
	return (struct reader){ s.p, s.n, false };
}

struct str
read_bytes(struct reader *r, size_t n)
{
	if (r->bad || n > r->n) {
		r->bad = true;
		return STR_NONE;
	}
	struct str s = { r->p, n };
	if (n > 0)
		r->p += n;
	r->n -= n;
	return s;
}

static uint64_t
read_be(struct reader *r, size_t bytes)
{
	struct str s = read_bytes(r, bytes);
	uint64_t v = 0;

	for (size_t i = 0; i < s.n; i++)
		v = v << 8 | (unsigned char)s.p[i];
	return v;
}

uint8_t
read_u8(struct reader *r)
{
	return (uint8_t)read_be(r, 1);
}

uint16_t
read_be16(struct reader *r)
{
	return (uint16_t)read_be(r, 2);
}

uint32_t
read_be32(struct reader *r)
{
	return (uint32_t)read_be(r, 4);
}

uint64_t
read_be48(struct reader *r)
{
	return read_be(r, 6);
}

uint64_t
read_be64(struct reader *r)
{
	return read_be(r, 8);
}

uint64_t
read_varint(struct reader *r)
{
	uint64_t v = 0;

	for (int shift = 0; shift < 64; shift += 7) {
		uint8_t c = read_u8(r);
		/* The tenth byte has room for one bit. */
		if (shift == 63 && c > 1)
			break;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80)
			return v;
	}
	r->bad = true;
	return 0;
}

struct str
read_field(struct reader *r)
{
	uint64_t n = read_varint(r);

	return read_bytes(r, n > SIZE_MAX ? SIZE_MAX : (size_t)n);
}
