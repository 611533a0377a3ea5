#include "engine/schema/schema_number.h"

#include <inttypes.h>
#include <math.h>

#include "base/hash.h"

/* --- reading ------------------------------------------------------------ */

static struct str
take_digits(struct str *s)
{
	size_t n = 0;

	while (n < s->n && ascii_is_digit(s->p[n]))
		n++;
	struct str digits = str_cut(*s, 0, n);
	*s = str_from(*s, n);
	return digits;
}

static bool
take_exponent(struct str *s, int64_t *out)
{
	bool negative = false;

	*out = 0;
	if (!str_take_char(s, 'e') && !str_take_char(s, 'E'))
		return true;
	if (!str_take_char(s, '+'))
		negative = str_take_char(s, '-');
	struct str digits = take_digits(s);
	for (size_t i = 0; i < digits.n; i++)
		*out = MIN(*out * 10 + (digits.p[i] - '0'),
		    SCHEMA_EXPONENT_MAX);
	if (negative)
		*out = -*out;
	return digits.n > 0;
}

/* How many zeros a text begins with, and ends with. */
static size_t
count_first_zeros(struct str s)
{
	size_t n = 0;

	while (n < s.n && s.p[n] == '0')
		n++;
	return n;
}

static size_t
count_last_zeros(struct str s)
{
	size_t n = 0;

	while (n < s.n && s.p[s.n - 1 - n] == '0')
		n++;
	return n;
}

/* Drop the zeros at both ends; the point is behind `whole`. */
static void
drop_zeros(struct schema_number *x)
{
	x->whole = str_from(x->whole, count_first_zeros(x->whole));
	x->exponent += (int64_t)x->whole.n;
	if (x->whole.n == 0) {
		size_t zeros = count_first_zeros(x->part);
		x->part = str_from(x->part, zeros);
		x->exponent -= (int64_t)zeros;
	}
	x->part = str_cut(x->part, 0, x->part.n - count_last_zeros(x->part));
	if (x->part.n == 0)
		x->whole = str_cut(x->whole, 0,
		    x->whole.n - count_last_zeros(x->whole));
	if (schema_number_digits(x) == 0) {
		x->exponent = 0;
		x->negative = false;
	}
}

bool
schema_number_parse(struct str s, struct schema_number *out)
{
	*out = (struct schema_number){ .negative = str_take_char(&s, '-') };
	out->whole = take_digits(&s);
	if (out->whole.n == 0)
		return false;
	if (str_take_char(&s, '.')) {
		out->part = take_digits(&s);
		if (out->part.n == 0)
			return false;
	}
	if (!take_exponent(&s, &out->exponent) || s.n > 0)
		return false;
	drop_zeros(out);
	return true;
}

/* A text from which the same double is read: as it was written, unless that has
 * more than 17 digits or is next to 0. */
static void
print_double(double d, char text[static SCHEMA_NUMBER_TEXT_BYTES])
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, SCHEMA_NUMBER_TEXT_BYTES, "%.*g", digits, d);
		if (strtod(text, NULL) == d)
			return;
	}
}

bool
schema_number_read(yyjson_val *v, char text[static SCHEMA_NUMBER_TEXT_BYTES],
    struct schema_number *out)
{
	if (yyjson_is_raw(v))
		return schema_number_parse((struct str){ yyjson_get_raw(v),
		    yyjson_get_len(v) }, out);
	if (yyjson_is_uint(v))
		snprintf(text, SCHEMA_NUMBER_TEXT_BYTES, "%" PRIu64,
		    yyjson_get_uint(v));
	else if (yyjson_is_sint(v))
		snprintf(text, SCHEMA_NUMBER_TEXT_BYTES, "%" PRId64,
		    yyjson_get_sint(v));
	else if (yyjson_is_real(v) && isfinite(yyjson_get_real(v)))
		print_double(yyjson_get_real(v), text);
	else
		return false;
	return schema_number_parse(str_of(text), out);
}

/* --- comparing ---------------------------------------------------------- */

size_t
schema_number_digits(const struct schema_number *x)
{
	return x->whole.n + x->part.n;
}

bool
schema_number_is_integer(const struct schema_number *x)
{
	return x->exponent >= (int64_t)schema_number_digits(x);
}

static char
digit_at(const struct schema_number *x, size_t i)
{
	return i < x->whole.n ? x->whole.p[i] : x->part.p[i - x->whole.n];
}

uint64_t
schema_number_to_u64(const struct schema_number *x)
{
	uint64_t n = 0;

	for (int64_t i = 0; i < x->exponent; i++) {
		uint64_t digit = (size_t)i < schema_number_digits(x) ?
		    (uint64_t)(digit_at(x, (size_t)i) - '0') : 0;
		if (n > (UINT64_MAX - digit) / 10)
			return UINT64_MAX;
		n = n * 10 + digit;
	}
	return n;
}

/* By absolute value; neither is zero. */
static int
compare_sizes(const struct schema_number *a, const struct schema_number *b)
{
	size_t a_n = schema_number_digits(a), b_n = schema_number_digits(b);

	if (a->exponent != b->exponent)
		return a->exponent < b->exponent ? -1 : 1;
	for (size_t i = 0; i < MIN(a_n, b_n); i++)
		if (digit_at(a, i) != digit_at(b, i))
			return digit_at(a, i) < digit_at(b, i) ? -1 : 1;
	return (a_n > b_n) - (a_n < b_n);
}

static int
sign_of(const struct schema_number *x)
{
	if (schema_number_digits(x) == 0)
		return 0;
	return x->negative ? -1 : 1;
}

int
schema_number_cmp(const struct schema_number *a, const struct schema_number *b)
{
	int a_sign = sign_of(a), b_sign = sign_of(b);

	if (a_sign != b_sign)
		return a_sign < b_sign ? -1 : 1;
	return a_sign == 0 ? 0 : a_sign * compare_sizes(a, b);
}

uint64_t
schema_number_hash(const struct schema_number *x)
{
	uint64_t h = hash_u64((uint64_t)x->exponent * 2 + x->negative);

	for (size_t i = 0; i < schema_number_digits(x); i++)
		h = (h ^ (unsigned char)digit_at(x, i)) *
		    UINT64_C(0x100000001b3);
	return hash_u64(h);
}

bool
schema_number_is_multiple(const struct schema_number *x,
    const struct schema_number *m)
{
	size_t x_n = schema_number_digits(x), m_n = schema_number_digits(m);
	/* As integers without zeros at the end: X * 10^a and M * 10^b. */
	int64_t a = x->exponent - (int64_t)x_n;
	int64_t b = m->exponent - (int64_t)m_n;
	uint64_t divisor = 0, rest = 0;

	if (x_n == 0)
		return true;
	/* X ends in another digit than 0, so 10 does not divide it. */
	if (a < b)
		return false;
	for (size_t i = 0; i < m_n; i++)
		divisor = divisor * 10 + (uint64_t)(digit_at(m, i) - '0');
	/* Below 10^18 a remainder times 10 fits into 64 bits. */
	for (size_t i = 0; i < x_n; i++)
		rest = (rest * 10 + (uint64_t)(digit_at(x, i) - '0')) % divisor;
	/* M < 2^60: 60 tens contain every 2 and 5 that M can have. */
	for (int64_t i = 0; i < MIN(a - b, 60) && rest != 0; i++)
		rest = rest * 10 % divisor;
	return rest == 0;
}
