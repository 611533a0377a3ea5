/*
 * schema_number -- decimal numbers of any length, exactly.
 *
 * A number is taken apart, not computed: its digits stay where they are.
 * Thread: any; pure.
 */
#ifndef ENGINE_SCHEMA_SCHEMA_NUMBER_H
#define ENGINE_SCHEMA_SCHEMA_NUMBER_H

#include "base/json.h"

/* Digits of an integer or a double as yyjson reads them. */
#define SCHEMA_NUMBER_TEXT_BYTES 40u
/* Exponents beyond 10^12 are taken as that. */
#define SCHEMA_EXPONENT_MAX INT64_C(1000000000000)

/*
 * 0.WHOLE PART * 10^exponent; the digits of `whole` and `part` together neither
 * begin nor end with 0.  Zero has no digits, no sign, and exponent 0.
 */
struct schema_number {
	struct str whole, part;
	int64_t exponent;
	bool negative;
};

/*
 * Take a number apart.  False when the value is none, or not finite.  The
 * digits are in `text` or, if yyjson left the number raw, in the value itself.
 */
bool schema_number_read(yyjson_val *,
    char text[static SCHEMA_NUMBER_TEXT_BYTES], struct schema_number *out);
/* The same from JSON text, which `out` borrows.  False when it is no number. */
bool schema_number_parse(struct str, struct schema_number *out);

size_t schema_number_digits(const struct schema_number *);
/* Without a fractional part: 1.0 and 1e3 are integers. */
bool schema_number_is_integer(const struct schema_number *);
/* The value of an integer that is not negative; UINT64_MAX if it is larger. */
uint64_t schema_number_to_u64(const struct schema_number *);
int schema_number_cmp(const struct schema_number *,
    const struct schema_number *);
/* Equal numbers have equal hashes. */
uint64_t schema_number_hash(const struct schema_number *);
/*
 * Whether `x` / `m` is an integer.  `m` is positive and has at most
 * SCHEMA_MULTIPLE_DIGITS_MAX digits.
 */
bool schema_number_is_multiple(const struct schema_number *x,
    const struct schema_number *m);

#endif
