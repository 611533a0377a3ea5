/*
 * seal -- encrypts what may be stored and not read: sessions, credentials.
 *
 *     1  version, 1
 *    12  nonce, random
 *     n  the text, AES-256-GCM
 *    16  tag
 *
 * `context` says what is sealed ("session shop"); it is authenticated and not
 * stored, so that no sealed text can be moved to another place.
 *
 * Thread: any; pure but for the nonce.  Source: NIST SP 800-38D.
 */
#ifndef WIRE_SEAL_H
#define WIRE_SEAL_H

#include "base/bytes.h"

#define SEAL_KEY_BYTES 32u
#define SEAL_MORE_BYTES (1u + 12u + 16u)

struct seal_key {
	uint8_t bytes[SEAL_KEY_BYTES];
};

/* Append the sealed text. */
void seal_put(const struct seal_key *, struct str context, struct str text,
    struct buf *out);
/* Append the text; false, and nothing is appended, when key, context or a byte
 * of `sealed` is another. */
bool seal_open(const struct seal_key *, struct str context, struct str sealed,
    struct buf *out);

#endif
