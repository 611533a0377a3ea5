/*
 * digest -- labelled digests as WARC fields write them (WARC 1.1 §5.8):
 * "sha1:" with 32 upper-case base32 letters, or "sha256:" with 64 hex digits.
 *
 * One hasher per thread, reused; a new EVP context per page would cost more
 * than hashing a small page.
 */
#ifndef WIRE_DIGEST_H
#define WIRE_DIGEST_H

#include "base/bytes.h"

enum digest_kind { DIGEST_NONE, DIGEST_SHA1, DIGEST_SHA256, DIGEST_MD5 };

#define DIGEST_BYTES_MAX 32
#define DIGEST_TEXT_MAX 72   /* "sha256:" + 64 + NUL */

struct digest {
	enum digest_kind kind;
	uint8_t bytes[DIGEST_BYTES_MAX];
};

size_t digest_size(enum digest_kind);            /* 20, 32, 16; NONE: 0 */
bool digest_eq(const struct digest *, const struct digest *);

/* The form that we write: base32 for SHA-1, hex otherwise.  Returns length. */
size_t digest_to_text(const struct digest *, char out[static DIGEST_TEXT_MAX]);

/*
 * Read any form: label in any case, then hex or base32 in any case, or base64
 * of either alphabet; padding allowed.  False when the label is not known
 * (`out->kind` is NONE) or the value is none of that kind.
 */
bool digest_from_text(struct str, struct digest *out);

struct digest_hasher;
struct digest_hasher *digest_hasher_new(void);
void digest_hasher_free(struct digest_hasher **);
/* start, any number of adds, end; one digest at a time. */
void digest_start(struct digest_hasher *, enum digest_kind);
void digest_add(struct digest_hasher *, struct str);
void digest_end(struct digest_hasher *, struct digest *out);
/*
 * The digests of `head` followed by `body`, and of `body` alone, in little more
 * than the time of one.  False, and nothing is done, where that is not possible
 * for this kind on this processor.
 */
bool digest_pair(const struct digest_hasher *, enum digest_kind,
    struct str head, struct str body, struct digest *whole,
    struct digest *alone);

/* The digest of one short text, without a hasher.  Thread: any. */
void digest_of(enum digest_kind, struct str, struct digest *out);

/* HMAC (RFC 2104) of one text, by SHA-1 or SHA-256.  Thread: any. */
void digest_hmac(enum digest_kind, struct str key, struct str text,
    struct digest *out);
/* Whether these bytes are that HMAC; the time does not tell where they
 * differ. */
bool digest_is_mac(const struct digest *, struct str bytes);

/* A raw form for others: lower-case hex. */
void digest_put_hex(struct buf *, const uint8_t *, size_t n);

#endif
