#include "script/web/utf8.h"

#include "base/text.h"

static bool
is_next_byte(struct str s, size_t i)
{
	return i < s.n && ((unsigned char)s.p[i] & 0xc0) == 0x80;
}

/*
 * The bytes at the start that could begin a character and end too early: 1 to
 * 3.  https://encoding.spec.whatwg.org/ section 8.1.1: bounds of the second
 * byte.
 */
static size_t
malformed_length(struct str s, size_t *wanted)
{
	unsigned char b = (unsigned char)s.p[0];
	unsigned low = b == 0xe0 ? 0xa0 : b == 0xf0 ? 0x90 : 0x80;
	unsigned high = b == 0xed ? 0x9f : b == 0xf4 ? 0x8f : 0xbf;
	size_t n = 1;

	*wanted = b >= 0xc2 && b <= 0xdf ? 2 : b >= 0xe0 && b <= 0xef ? 3 :
	    b >= 0xf0 && b <= 0xf4 ? 4 : 1;
	if (*wanted > 2 && s.n > 1 && (unsigned char)s.p[1] >= low &&
	    (unsigned char)s.p[1] <= high)
		for (n = 2; n < *wanted - 1 && is_next_byte(s, n); )
			n++;
	return n;
}

size_t
utf8_repair(struct str s, struct out *o)
{
	size_t bad = 0, wanted;

	while (s.n > 0 && !o->full) {
		size_t n = 0, k;
		while (n < s.n && (k = text_utf8_length(str_from(s, n))) != 0)
			n += k;
		out_put(o, s.p, n);
		s = str_from(s, n);
		if (s.n == 0)
			break;
		out_str(o, STR("\xef\xbf\xbd"));
		s = str_from(s, malformed_length(s, &wanted));
		bad++;
	}
	return bad;
}

size_t
utf8_cut_length(struct str s)
{
	size_t wanted;

	for (size_t n = 1; n <= 3 && n <= s.n; n++) {
		struct str end = str_from(s, s.n - n);
		if (is_next_byte(end, 0))
			continue;
		size_t k = malformed_length(end, &wanted);
		return k == n && wanted > n ? n : 0;
	}
	return 0;
}
