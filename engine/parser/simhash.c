#include "engine/parser/simhash.h"

#include <endian.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define BLOCK 64u
#define STEP 16u

/* Bit i is set when byte i of the 16 belongs to a word. */
#if defined(__SSE2__)
static inline uint64_t
step_mask(const char *p)
{
	__m128i c = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i low = _mm_or_si128(c, _mm_set1_epi8(0x20));
	/* Signed compares: shift the range down to the smallest value. */
	__m128i alpha = _mm_cmplt_epi8(_mm_add_epi8(low,
	    _mm_set1_epi8((char)(-128 - 'a'))), _mm_set1_epi8(-128 + 26));
	__m128i digit = _mm_cmplt_epi8(_mm_add_epi8(c,
	    _mm_set1_epi8((char)(-128 - '0'))), _mm_set1_epi8(-128 + 10));
	/* A byte above 127 has its sign bit set already. */
	return (uint64_t)(unsigned)_mm_movemask_epi8(
	    _mm_or_si128(_mm_or_si128(alpha, digit), c));
}
#else
static inline uint64_t
step_mask(const char *p)
{
	uint64_t m = 0;

	for (unsigned i = 0; i < STEP; i++) {
		bool in = ascii_is_digit(p[i]) || ascii_is_alpha(p[i]) ||
		    (unsigned char)p[i] >= 0x80;
		m |= (uint64_t)in << i;
	}
	return m;
}
#endif

/* The same for `n` bytes, 1 to BLOCK, of which none beyond is read. */
static inline uint64_t
word_mask(const char *p, size_t n)
{
	char few[STEP] = { 0 };
	uint64_t m = 0;
	size_t i = 0;

	if (n < STEP)
		return step_mask(memcpy(few, p, n));
	for (; i + STEP <= n; i += STEP)
		m |= step_mask(p + i) << i;
	/* The last bytes, by a step that overlaps the one before. */
	if (i < n)
		m |= step_mask(p + n - STEP) >> (STEP - (n - i)) << i;
	return m;
}

/* Lower the ASCII letters of eight bytes of a word; others stay. */
static inline uint64_t
fold(uint64_t v)
{
	return v | (~v & UINT64_C(0x8080808080808080)) >> 2;
}

static inline uint64_t
load_bytes(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* The first `n` (1 to 8) bytes at `p` in the text, of which none beyond is
 * read. */
static inline uint64_t
load_part(struct str text, const char *p, size_t n)
{
	size_t room = (size_t)(text.p + text.n - p);
	uint64_t v = 0;

	if (room >= sizeof(v))
		v = load_bytes(p);
	else if (text.n >= sizeof(v))
		v = load_bytes(text.p + text.n - sizeof(v)) >> 8 *
		    (sizeof(v) - room);
	else
		v = le64toh(*(uint64_t *)memcpy(&v, p, n));
	return fold(v) & UINT64_MAX >> (64 - 8 * n);
}

static inline uint64_t
hash_word(struct str text, const char *p, size_t n)
{
	uint64_t h = n;

	for (; n > 8; n -= 8, p += 8) {
		h = (h ^ load_part(text, p, 8)) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	return (h ^ load_part(text, p, n)) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline void
half_add(uint64_t *sum, uint64_t *carry, uint64_t a, uint64_t b)
{
	*sum = a ^ b;
	*carry = a & b;
}

static inline void
full_add(uint64_t *sum, uint64_t *carry, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t u = a ^ b;

	*carry = (a & b) | (u & c);
	*sum = u ^ c;
}

/* Add `bits`, worth 2^k each, to the counters. */
static void
ripple(uint64_t *plane, unsigned k, uint64_t bits)
{
	for (; bits != 0 && k < SIMHASH_PLANES; k++) {
		uint64_t carry = plane[k] & bits;
		plane[k] ^= bits;
		bits = carry;
	}
}

/* Eight hashes become four planes, which are added at once. */
static void
add_batch(struct simhash *s)
{
	const uint64_t *x = s->pending;
	uint64_t s1, s2, s3, ones, c1, c2, c3, c4, t, twos, f1, f2;
	uint64_t fours, eights, k, k2;

	full_add(&s1, &c1, x[0], x[1], x[2]);
	full_add(&s2, &c2, x[3], x[4], x[5]);
	full_add(&s3, &c3, x[6], s1, s2);
	half_add(&ones, &c4, x[7], s3);
	full_add(&t, &f1, c1, c2, c3);
	half_add(&twos, &f2, t, c4);
	half_add(&fours, &eights, f1, f2);

	half_add(&s->plane[0], &k, s->plane[0], ones);
	full_add(&s->plane[1], &k2, s->plane[1], twos, k);
	full_add(&s->plane[2], &k, s->plane[2], fours, k2);
	full_add(&s->plane[3], &k2, s->plane[3], eights, k);
	ripple(s->plane, 4, k2);
	s->pending_n = 0;
}

static inline void
add_word(struct simhash *s, uint64_t h)
{
	uint64_t x = (s->before << 23 | s->before >> 41) ^ h;

	s->before = h;
	/* The first word has no pair, and 2^32 - 1 words are counted. */
	if (s->words - 1 >= UINT32_MAX - 1) {
		s->words += s->words == 0;
		return;
	}
	s->words++;
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	s->pending[s->pending_n++] = x;
	if (s->pending_n == SIMHASH_BATCH)
		add_batch(s);
}

void
simhash_add(struct simhash *s, struct str text)
{
	const char *start = NULL;   /* of a word that began in a block before */

	for (size_t at = 0; at < text.n; at += BLOCK) {
		const char *p = text.p + at;
		size_t left = MIN(text.n - at, BLOCK);
		uint64_t m = left == BLOCK ? word_mask(p, BLOCK) :
		    word_mask(p, left);
		if (start != NULL) {
			size_t n = ~m == 0 ? BLOCK :
			    (size_t)__builtin_ctzll(~m);
			if (n >= left)
				continue;
			add_word(s, hash_word(text, start,
			    (size_t)(p + n - start)));
			start = NULL;
			m &= UINT64_MAX << n;
		}
		while (m != 0) {
			size_t from = (size_t)__builtin_ctzll(m);
			uint64_t gap = ~(m >> from);
			size_t n = gap == 0 ? BLOCK :
			    (size_t)__builtin_ctzll(gap);
			if (from + n >= left) {
				start = p + from;
				break;
			}
			add_word(s, hash_word(text, p + from, n));
			/* Clear the lowest run of bits. */
			m &= m + (m & -m);
		}
	}
	if (start != NULL)
		add_word(s, hash_word(text, start,
		    (size_t)(text.p + text.n - start)));
}

uint64_t
simhash_value(const struct simhash *s)
{
	uint64_t plane[SIMHASH_PLANES], more = 0, same = ~UINT64_C(0);
	uint32_t half;

	if (s->words < 2)
		return 0;
	half = (s->words - 1) / 2;
	memcpy(plane, s->plane, sizeof(plane));
	for (uint32_t i = 0; i < s->pending_n; i++)
		ripple(plane, 0, s->pending[i]);
	/* All 64 counters against the half, from the highest bit down. */
	for (unsigned k = SIMHASH_PLANES; k-- > 0; ) {
		uint64_t h = (half >> k & 1) != 0 ? ~UINT64_C(0) : 0;
		more |= same & plane[k] & ~h;
		same &= ~(plane[k] ^ h);
	}
	return more;
}
