/*
 * sums -- SHA digests and HMAC, by OpenSSL.
 *
 * Thread: any.
 */
#ifndef SCRIPT_WEB_SUMS_H
#define SCRIPT_WEB_SUMS_H

#include "base/bytes.h"

#define SUMS_BYTES_MAX 64u

struct sums;                         /* an algorithm; static */

/* Of "SHA-1", "SHA-256", "SHA-384" and "SHA-512", with or without the hyphen
 * and in any case; NULL: none of these. */
const struct sums *sums_by_name(struct str);
/* The digest; its length.  `to` has SUMS_BYTES_MAX bytes. */
size_t sums_digest(const struct sums *, struct str data, unsigned char *to);
/* RFC 2104.  A key of at most 2 GiB. */
size_t sums_hmac(const struct sums *, struct str key, struct str data,
    unsigned char *to);
/* Overwrite a key; the compiler does not leave it out. */
void sums_wipe(void *, size_t);
/* Once, before the process loses its files: OpenSSL reads none afterwards. */
void sums_prepare(void);

#endif
