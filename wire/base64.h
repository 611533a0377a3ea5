/*
 * base64 -- RFC 4648 §4, with padding, and §5 without.
 *
 * Thread: any.
 */
#ifndef WIRE_BASE64_H
#define WIRE_BASE64_H

#include "base/bytes.h"

/* Letters for n bytes. */
#define BASE64_LENGTH(n) (((n) + 2) / 3 * 4)

/* The value of a letter, 0 to 63; -1: it is not in the alphabet. */
int base64_value(char);
void base64_put(struct buf *, struct str);
/*
 * Append the bytes that the letters stand for, padded or not.  False, and
 * something appended, when it is no base64.
 */
bool base64_read(struct buf *, struct str);

/* The alphabet of RFC 4648 §5, "-" and "_", without padding: as JOSE (RFC 7515
 * §2) and PKCE (RFC 7636 §3) write it. */
void base64url_put(struct buf *, struct str);
/*
 * Append the bytes that the letters stand for.  Strict: padding, a letter of
 * the other alphabet, and bits behind the last byte that are not 0 are refused,
 * so that the same bytes have one text only.  False: nothing is appended.
 */
bool base64url_read(struct buf *, struct str);

#endif
