/*
 * hash -- XXH3, seeded.  For tables and identity in memory, never for security.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/bytes.h"

uint64_t hash_bytes(struct str, uint64_t seed);
uint64_t hash_u64(uint64_t);                 /* a good mix of one number */
/* RFC 3720 B.4; start with 0, go on with what the part before gave. */
uint32_t crc32c_of(struct str, uint32_t before);

#endif
