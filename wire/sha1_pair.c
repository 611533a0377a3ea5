#include "wire/sha1_pair.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define BLOCK 64u
#define LENGTH_BYTES 8u      /* of the text, in bits, at the end of the last */
#define SHA_NI __attribute__((target("sha,ssse3,sse4.1")))

/* A sum between two blocks: A to D, the first one highest, and E highest. */
struct sum {
	__m128i abcd, e;
};

/* A sum within a block: 16 of the 80 words. */
struct lane {
	__m128i abcd, e, words[4];
};

SHA_NI static inline struct lane
begin_block(const struct sum *s, const uint8_t *p)
{
	const __m128i order = _mm_set_epi64x(0x0001020304050607,
	    0x08090a0b0c0d0e0f);
	struct lane l = { .abcd = s->abcd, .e = s->e };

	for (unsigned i = 0; i < 4; i++)
		l.words[i] = _mm_shuffle_epi8(_mm_loadu_si128(
		    (const __m128i *)(const void *)(p + 16 * i)), order);
	return l;
}

SHA_NI static inline void
end_block(struct sum *s, const struct lane *l)
{
	s->abcd = _mm_add_epi32(s->abcd, l->abcd);
	s->e = _mm_sha1nexte_epu32(l->e, s->e);
}

/* E with the words of rounds 4 i to 4 i + 3; makes those 16 rounds later. */
SHA_NI static inline __m128i
take_words(struct lane *l, unsigned i)
{
	__m128i *w = l->words, now = w[i % 4];
	__m128i e = i == 0 ? _mm_add_epi32(l->e, now) :
	    _mm_sha1nexte_epu32(l->e, now);

	if (i < 16)
		w[i % 4] = _mm_sha1msg2_epu32(_mm_xor_si128(
		    _mm_sha1msg1_epu32(now, w[(i + 1) % 4]), w[(i + 2) % 4]),
		    w[(i + 3) % 4]);
	l->e = l->abcd;
	return e;
}

/* Four rounds of both; `f` is a literal that selects their function. */
#define ROUNDS(i, f)                                                      \
	e = take_words(&x, i);                                            \
	g = take_words(&y, i);                                            \
	x.abcd = _mm_sha1rnds4_epu32(x.abcd, e, f);                       \
	y.abcd = _mm_sha1rnds4_epu32(y.abcd, g, f)
#define ROUNDS_20(i, f)                                                   \
	ROUNDS(i, f); ROUNDS(i + 1, f); ROUNDS(i + 2, f);                 \
	ROUNDS(i + 3, f); ROUNDS(i + 4, f)

/* Add `n` blocks at `p` to one sum, and as many at `q` to the other. */
SHA_NI static void
add_both(struct sum *a, const uint8_t *p, struct sum *b, const uint8_t *q,
    size_t n)
{
	for (; n > 0; n--, p += BLOCK, q += BLOCK) {
		struct lane x = begin_block(a, p), y = begin_block(b, q);
		__m128i e, g;
		ROUNDS_20(0, 0);
		ROUNDS_20(5, 1);
		ROUNDS_20(10, 2);
		ROUNDS_20(15, 3);
		end_block(a, &x);
		end_block(b, &y);
	}
}

static void
add_one(struct sum *a, const uint8_t *p, size_t n)
{
	struct sum unused = *a;

	add_both(a, p, &unused, p, n);
}

static struct sum
begin_sum(void)
{
	return (struct sum){ _mm_set_epi32(0x67452301, (int)0xefcdab89,
	    (int)0x98badcfe, 0x10325476), _mm_set_epi32((int)0xc3d2e1f0, 0,
	    0, 0) };
}

static void
put_be32(uint8_t *out, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		out[i] = (uint8_t)(v >> (24 - 8 * i));
}

static void
end_sum(const struct sum *s, uint8_t out[SHA1_BYTES])
{
	uint32_t abcd[4], e[4];

	_mm_storeu_si128((__m128i *)(void *)abcd, s->abcd);
	_mm_storeu_si128((__m128i *)(void *)e, s->e);
	for (unsigned i = 0; i < 4; i++)
		put_be32(out + 4 * i, abcd[3 - i]);
	put_be32(out + 16, e[3]);
}

/* Pad the end of a text of `n` bytes: writes and returns one or two blocks. */
static size_t
pad_rest(struct str rest, uint64_t n, uint8_t out[2 * BLOCK])
{
	size_t blocks = rest.n + 1 + LENGTH_BYTES <= BLOCK ? 1 : 2;
	uint8_t *length = out + blocks * BLOCK - LENGTH_BYTES;

	memset(out, 0, 2 * BLOCK);
	if (rest.n > 0)
		memcpy(out, rest.p, rest.n);
	out[rest.n] = 0x80;
	put_be32(length, (uint32_t)(n >> 29));
	put_be32(length + 4, (uint32_t)(n << 3));
	return blocks;
}

static const uint8_t *
bytes_of(struct str s)
{
	return (const uint8_t *)s.p;
}

/* Add the head and as much of the body as completes a block; return the rest
 * of the body, or in `edge` what is less than a block. */
static struct str
add_head(struct sum *a, struct str head, struct str body, uint8_t edge[BLOCK])
{
	size_t over = head.n % BLOCK;
	size_t fill = over == 0 ? 0 : MIN(BLOCK - over, body.n);

	add_one(a, bytes_of(head), head.n / BLOCK);
	if (over == 0)
		return body;
	memcpy(edge, head.p + head.n - over, over);
	if (fill > 0)
		memcpy(edge + over, body.p, fill);
	if (over + fill < BLOCK)
		return (struct str){ (const char *)edge, over + fill };
	add_one(a, edge, 1);
	return str_from(body, fill);
}

static void
sum_pair(struct str head, struct str body, uint8_t whole[SHA1_BYTES],
    uint8_t alone[SHA1_BYTES])
{
	/* An empty text may be nowhere. */
	if (body.n == 0)
		body = STR("");
	struct sum a = begin_sum(), b = a;
	uint8_t edge[BLOCK], end_a[2 * BLOCK], end_b[2 * BLOCK];
	struct str rest = add_head(&a, head, body, edge);
	size_t blocks = body.n / BLOCK, n = MIN(rest.n / BLOCK, blocks);

	add_both(&a, bytes_of(rest), &b, bytes_of(body), n);
	/* The body alone has at most one block more. */
	add_one(&b, bytes_of(body) + n * BLOCK, blocks - n);
	size_t left_a = pad_rest(str_from(rest, n * BLOCK),
	    (uint64_t)head.n + body.n, end_a);
	size_t left_b = pad_rest(str_from(body, blocks * BLOCK), body.n,
	    end_b);
	n = MIN(left_a, left_b);
	add_both(&a, end_a, &b, end_b, n);
	add_one(&a, end_a + n * BLOCK, left_a - n);
	add_one(&b, end_b + n * BLOCK, left_b - n);
	end_sum(&a, whole);
	end_sum(&b, alone);
}

sha1_pair_fn *
sha1_pair_find(void)
{
	unsigned a, b, c, d;

	/* Clang 14 does not know SHA-NI by name. */
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
	    (b & bit_SHA) != 0 && __builtin_cpu_supports("ssse3") &&
	    __builtin_cpu_supports("sse4.1") ? sum_pair : NULL;
}
#else
sha1_pair_fn *
sha1_pair_find(void)
{
	return NULL;
}
#endif
