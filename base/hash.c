#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

uint64_t
hash_bytes(struct str s, uint64_t seed)
{
	return XXH3_64bits_withSeed(s.n == 0 ? "" : s.p, s.n, seed);
}

uint64_t
hash_u64(uint64_t v)
{
	v ^= v >> 33;
	v *= UINT64_C(0xff51afd7ed558ccd);
	v ^= v >> 33;
	v *= UINT64_C(0xc4ceb9fe1a85ec53);
	return v ^ v >> 33;
}

static uint32_t
crc32c_table(const unsigned char *p, size_t n, uint32_t crc)
{
	static const uint32_t nibble[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
		0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
		0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};

	for (; n > 0; n--, p++) {
		crc ^= *p;
		crc = crc >> 4 ^ nibble[crc & 15];
		crc = crc >> 4 ^ nibble[crc & 15];
	}
	return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t
crc32c_sse42(const unsigned char *p, size_t n, uint32_t crc)
{
	uint64_t c = crc, word;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&word, p, 8);
		c = _mm_crc32_u64(c, word);
	}
	for (; n > 0; n--, p++)
		c = _mm_crc32_u8((uint32_t)c, *p);
	return (uint32_t)c;
}
#endif

uint32_t
crc32c_of(struct str s, uint32_t before)
{
	const unsigned char *p = (const unsigned char *)s.p;

#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc32c_sse42(p, s.n, ~before);
#endif
	return ~crc32c_table(p, s.n, ~before);
}
