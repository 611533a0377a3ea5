/*
 * sha1_pair -- SHA-1 of a body, and of a head with that body, in one pass.
 *
 * An instruction of SHA-NI waits for the one before, so that a second sum in
 * between costs a tenth of what it costs alone.  There is no portable form:
 * OpenSSL computes the sums one after the other as fast as one could here.
 *
 * Thread: any.
 * Source: FIPS 180-4; Intel SHA Extensions, 2013.
 */
#ifndef WIRE_SHA1_PAIR_H
#define WIRE_SHA1_PAIR_H

#include "base/bytes.h"

#define SHA1_BYTES 20

typedef void sha1_pair_fn(struct str head, struct str body,
    uint8_t whole[SHA1_BYTES], uint8_t alone[SHA1_BYTES]);

/*
 * The function, or NULL where the processor or the build lacks SHA-NI.  It asks
 * the processor, which takes microseconds in a virtual machine: ask once.
 */
sha1_pair_fn *sha1_pair_find(void);

#endif
