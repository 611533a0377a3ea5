#include "engine/parser/simhash.h"

#include <endian.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/*
 * Texts are gathered, each followed by a space, and hashed in two passes once
 * there are enough.  The first marks the bytes that belong to words, by one bit
 * each, and lowers letters in place; the second goes from word to word and
 * hashes them.  A pair of hashes waits until there are SIMHASH_BATCH, which are
 * mixed and counted in vectors.
 */
#define BLOCK ((size_t)SIMHASH_BLOCK)
#define BLOCKS (SIMHASH_GATHERED_MAX / SIMHASH_BLOCK)
#define EACH UINT64_C(0x0101010101010101)
#define LAST_BIT (UINT64_C(1) << 63)
#define WORD_FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define PAIR_FACTOR UINT64_C(0xd6e8feb86659fd93)

/* Compiled into both forms. */
#define BOTH static inline __attribute__((always_inline))

/* It may be anywhere among uint64_t. */
typedef uint64_t lanes __attribute__((vector_size(8 * SIMHASH_LANES),
    aligned(8)));

/* ---- First pass: marks ------------------------------------------------- */

/* 0x80 in each byte that belongs to a word. */
static inline uint64_t
word_bytes(uint64_t v)
{
	uint64_t c = v & 0x7f * EACH, low = c | 0x20 * EACH;
	uint64_t alpha = (low + (0x80 - 'a') * EACH) &
	    ~(low + (0x80 - 'z' - 1) * EACH);
	uint64_t digit = (c + (0x80 - '0') * EACH) &
	    ~(c + (0x80 - '9' - 1) * EACH);

	return (alpha | digit | v) & 0x80 * EACH;
}

/* Lower ASCII letters; what is no word may change, too. */
static inline uint64_t
fold_letters(uint64_t v)
{
	return v | (~v & 0x80 * EACH) >> 2;
}

/* Bit i of a mask is set when byte i of its block belongs to a word. */
static void
mark_portable(char *p, size_t blocks, uint64_t *mask)
{
	uint64_t v;

	for (size_t i = 0; i < blocks; i++) {
		mask[i] = 0;
		for (unsigned k = 0; k < BLOCK; k += 8, p += 8) {
			memcpy(&v, p, sizeof(v));
			v = le64toh(v);
			mask[i] |= (word_bytes(v) >> 7) *
			    UINT64_C(0x0102040810204080) >> 56 << k;
			v = htole64(fold_letters(v));
			memcpy(p, &v, sizeof(v));
		}
	}
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static inline uint32_t
mark_half(char *p)
{
	__m256i *at = (__m256i *)(void *)p;
	__m256i c = _mm256_loadu_si256(at);
	__m256i low = _mm256_or_si256(c, _mm256_set1_epi8(0x20));
	/* Signed compares: shift the range down to the smallest value. */
	__m256i alpha = _mm256_cmpgt_epi8(_mm256_set1_epi8(-128 + 26),
	    _mm256_add_epi8(low, _mm256_set1_epi8((char)(-128 - 'a'))));
	__m256i digit = _mm256_cmpgt_epi8(_mm256_set1_epi8(-128 + 10),
	    _mm256_add_epi8(c, _mm256_set1_epi8((char)(-128 - '0'))));

	/* A byte above 127 has its sign bit set already, and stays. */
	_mm256_storeu_si256(at, _mm256_blendv_epi8(low, c, c));
	return (uint32_t)_mm256_movemask_epi8(
	    _mm256_or_si256(_mm256_or_si256(alpha, digit), c));
}

__attribute__((target("avx2"))) static void
mark_avx2(char *p, size_t blocks, uint64_t *mask)
{
	for (size_t i = 0; i < blocks; i++, p += BLOCK)
		mask[i] = mark_half(p) |
		    (uint64_t)mark_half(p + BLOCK / 2) << BLOCK / 2;
}
#endif

/* ---- Counters ---------------------------------------------------------- */

BOTH void
half_add(lanes *sum, lanes *carry, const lanes *a, const lanes *b)
{
	lanes x = *a, y = *b;

	*sum = x ^ y;
	*carry = x & y;
}

BOTH void
full_add(lanes *sum, lanes *carry, const lanes *a, const lanes *b,
    const lanes *c)
{
	lanes x = *a, y = *b, z = *c, u = x ^ y;

	*carry = (x & y) | (u & z);
	*sum = u ^ z;
}

BOTH void
load_mixed(lanes *x, const uint64_t *p)
{
	lanes v = *(const lanes *)p;

	v ^= v >> 32;
	v *= PAIR_FACTOR;
	v ^= v >> 32;
	v *= PAIR_FACTOR;
	*x = v ^ v >> 32;
}

/* Eight pairs for each lane become four planes, which are added at once. */
BOTH void
add_batch(struct simhash *s)
{
	lanes x[8], *plane = (lanes *)s->plane[0];
	lanes s1, s2, s3, ones, c1, c2, c3, c4, t, twos, f1, f2;
	lanes fours, eights, k, k2;

	for (size_t i = 0; i < ARRAY_LEN(x); i++)
		load_mixed(&x[i], s->pending + 1 + i * SIMHASH_LANES);
	full_add(&s1, &c1, &x[0], &x[1], &x[2]);
	full_add(&s2, &c2, &x[3], &x[4], &x[5]);
	full_add(&s3, &c3, &x[6], &s1, &s2);
	half_add(&ones, &c4, &x[7], &s3);
	full_add(&t, &f1, &c1, &c2, &c3);
	half_add(&twos, &f2, &t, &c4);
	half_add(&fours, &eights, &f1, &f2);

	half_add(&plane[0], &k, &plane[0], &ones);
	full_add(&plane[1], &k2, &plane[1], &twos, &k);
	full_add(&plane[2], &k, &plane[2], &fours, &k2);
	full_add(&plane[3], &k2, &plane[3], &eights, &k);
	/* After n batches no counter exceeds 8 n. */
	unsigned end = 3 + 32 - (unsigned)__builtin_clz(++s->batches);
	for (unsigned i = 4; i < end; i++)
		half_add(&plane[i], &k2, &plane[i], &k2);
}

/* ---- Second pass: words ------------------------------------------------ */

/* The first `n` bytes, 1 to 8, of those at `p`. */
BOTH uint64_t
load_part(const char *p, size_t n)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v) & UINT64_MAX >> (64 - 8 * n);
}

BOTH uint64_t
hash_part(uint64_t h, uint64_t part)
{
	h = (h ^ part) * WORD_FACTOR;
	return h ^ h >> 32;
}

/* Letters are lower case; seven bytes after the word may be read. */
BOTH uint64_t
hash_word(const char *p, size_t n)
{
	uint64_t h = n;

	for (; n > 8; n -= 8, p += 8)
		h = hash_part(h, load_part(p, 8));
	return (h ^ load_part(p, n)) * WORD_FACTOR;
}

/* A pair of neighbouring words, to be mixed. */
BOTH uint64_t
pair_of(uint64_t before, uint64_t h)
{
	return (before << 23 | before >> 41) ^ h;
}

/*
 * All words of those blocks; the last one ends within.  At each end of a word
 * `from` is where it began, and then where the next one begins.
 */
BOTH void
add_words(struct simhash *s, const char *p, size_t blocks,
    const uint64_t *mask)
{
	const char *from = p;
	uint64_t inside = 0;        /* a word goes on from the block before */
	uint64_t before = s->before;
	uint32_t k = s->pending_n;

	for (size_t i = 0; i < blocks; i++, p += BLOCK) {
		uint64_t shifted = mask[i] << 1 | inside;
		uint64_t starts = mask[i] & ~shifted;
		uint64_t ends = ~mask[i] & shifted;
		s->words += (uint32_t)__builtin_popcountll(ends);
		if (inside == 0 && starts != 0) {
			from = p + __builtin_ctzll(starts);
			starts &= starts - 1;
		}
		while (ends != 0) {
			size_t end = (size_t)__builtin_ctzll(ends);
			uint64_t h = hash_word(from,
			    (size_t)(p + end - from));
			s->pending[k++] = pair_of(before, h);
			before = h;
			ends &= ends - 1;
			/* With none left, the place is not used. */
			from = p + __builtin_ctzll(starts | LAST_BIT);
			starts &= starts - 1;
			if (k > SIMHASH_BATCH) {
				add_batch(s);
				k = 1;
			}
		}
		inside = mask[i] >> 63;
	}
	s->before = before;
	s->pending_n = k;
}

void
simhash_portable(struct simhash *s, size_t blocks)
{
	uint64_t mask[BLOCKS];

	mark_portable(s->gathered, blocks, mask);
	add_words(s, s->gathered, blocks, mask);
}

#if defined(__x86_64__)
__attribute__((target("avx2,bmi,bmi2,popcnt"))) static void
add_wide(struct simhash *s, size_t blocks)
{
	uint64_t mask[BLOCKS];

	mark_avx2(s->gathered, blocks, mask);
	add_words(s, s->gathered, blocks, mask);
}

simhash_form *
simhash_wide(void)
{
	return __builtin_cpu_supports("avx2") &&
	    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") ?
	    add_wide : NULL;
}
#else
simhash_form *
simhash_wide(void)
{
	return NULL;
}
#endif

/* ---- Texts ------------------------------------------------------------- */

/* Hash what was gathered, in whole blocks, the last one filled up with NUL. */
static void
add_gathered(struct simhash *s)
{
	size_t blocks = (s->gathered_n + BLOCK - 1) / BLOCK;

	if (s->form == NULL)
		s->form = simhash_wide();
	if (s->form == NULL)
		s->form = simhash_portable;
	memset(s->gathered + s->gathered_n, 0, blocks * BLOCK -
	    s->gathered_n);
	s->gathered_n = 0;
	/* The count of words must not overflow. */
	if (s->words <= SIMHASH_WORDS_MAX - SIMHASH_GATHERED_MAX)
		s->form(s, blocks);
}

static void
gather_text(struct simhash *s, struct str text)
{
	char *to = s->gathered + s->gathered_n;

	memcpy(to, text.p, text.n);
	to[text.n] = ' ';
	s->gathered_n += (uint32_t)text.n + 1;
}

static bool
is_word_char(char c)
{
	return ascii_is_alpha(c) || ascii_is_digit(c) ||
	    (unsigned char)c >= 0x80;
}

/* A word that does not fit into `gathered`. */
static void
add_long_word(struct simhash *s, struct str word)
{
	uint64_t h = word.n, v;
	struct str rest = word;

	for (; rest.n > 8; rest = str_from(rest, 8)) {
		memcpy(&v, rest.p, 8);
		h = hash_part(h, fold_letters(le64toh(v)));
	}
	v = 0;
	memcpy(&v, rest.p, rest.n);
	v = fold_letters(le64toh(v)) & UINT64_MAX >> (64 - 8 * rest.n);
	h = (h ^ v) * WORD_FACTOR;
	if (s->words > SIMHASH_WORDS_MAX - SIMHASH_GATHERED_MAX)
		return;
	s->words++;
	s->pending[s->pending_n++] = pair_of(s->before, h);
	s->before = h;
	if (s->pending_n > SIMHASH_BATCH) {
		add_batch(s);
		s->pending_n = 1;
	}
}

/* A text that is longer than the room: cut it where no word is. */
static void
add_long_text(struct simhash *s, struct str text)
{
	const size_t room = SIMHASH_GATHERED_MAX - 1;

	add_gathered(s);
	while (text.n > room) {
		size_t n = room;
		while (n > 0 && is_word_char(text.p[n - 1]))
			n--;
		if (n > 0) {
			gather_text(s, str_cut(text, 0, n));
			add_gathered(s);
		} else {
			while (n < text.n && is_word_char(text.p[n]))
				n++;
			add_long_word(s, str_cut(text, 0, n));
		}
		text = str_from(text, n);
	}
	if (text.n > 0)
		gather_text(s, text);
}

void
simhash_add(struct simhash *s, struct str text)
{
	/* Many a text between two tags is a line break. */
	if (text.n == 0 || (text.n == 1 && *text.p == '\n'))
		return;
	if (text.n >= SIMHASH_GATHERED_MAX - s->gathered_n) {
		add_gathered(s);
		if (text.n >= SIMHASH_GATHERED_MAX) {
			add_long_text(s, text);
			return;
		}
	}
	gather_text(s, text);
}

/* The planes of the sum of all lanes. */
static void
sum_lanes(const struct simhash *s, uint64_t plane[SIMHASH_PLANES])
{
	for (unsigned k = 0; k < SIMHASH_PLANES; k++)
		plane[k] = s->plane[k][0];
	for (unsigned lane = 1; lane < SIMHASH_LANES; lane++) {
		uint64_t carry = 0;
		for (unsigned k = 0; k < SIMHASH_PLANES; k++) {
			uint64_t a = plane[k], b = s->plane[k][lane];
			plane[k] = a ^ b ^ carry;
			carry = (a & b) | ((a ^ b) & carry);
		}
	}
}

uint64_t
simhash_value(struct simhash *s, uint32_t *words)
{
	uint64_t plane[SIMHASH_PLANES];
	uint64_t more = 0, same = ~UINT64_C(0);
	uint32_t half;

	add_gathered(s);
	*words = s->words;
	if (s->words < 2)
		return 0;
	half = (s->words - 1) / 2;
	/* A pair of zero adds to no counter. */
	for (uint32_t i = s->pending_n; i <= SIMHASH_BATCH; i++)
		s->pending[i] = 0;
	s->pending_n = 1;
	add_batch(s);
	sum_lanes(s, plane);
	/* All 64 counters against the half, from the highest bit down. */
	for (unsigned k = SIMHASH_PLANES; k-- > 0; ) {
		uint64_t h = (half >> k & 1) != 0 ? ~UINT64_C(0) : 0;
		more |= same & plane[k] & ~h;
		same &= ~(plane[k] ^ h);
	}
	return more;
}
