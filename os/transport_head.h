/*
 * transport_head -- the head of a request as it is sent.
 *
 *     METHOD target HTTP/1.1      target: as in the URL, or the whole URL to an
 *     Host: ...                   http proxy
 *     the other headers           in the caller's order
 *     Content-Length: n           with a body, unless listed
 *
 * Host stands first wherever the caller listed it.  Content-Length 0 is added
 * to POST, PUT and PATCH without a body (RFC 9110 §8.6).
 * Thread: any.  Source: RFC 9112 §3.
 */
#ifndef OS_TRANSPORT_HEAD_H
#define OS_TRANSPORT_HEAD_H

#include "os/transport.h"

/*
 * Append the head of `x`, which ends in an empty line, to `out`.  `absolute`:
 * the target is the whole URL.  NULL, or what is wrong with the request.  The
 * buffer grows at most once, so that no copy of a secret is left behind.
 */
const char *transport_head_build(struct buf *out, const struct exchange *x,
    bool absolute);
/* Take out of a head what HTTP/2 does not carry (RFC 9113 §8.2.2). */
void transport_head_to_http2(struct buf *);

#endif
