/*
 * transport_curl_request -- a request as libcurl wants it, and as it is sent.
 *
 * The head is known verbatim without libcurl's debug callback: everything that
 * libcurl would add by itself is either set or suppressed here, so that
 * what goes out is, for HTTP/1.1,
 *
 *     METHOD target HTTP/1.1      target: as in the URL, or the whole URL to an
 *     Host: ...                   http proxy
 *     the other headers           in the caller's order
 *     Content-Length: n           with a body, unless listed
 *
 * Host stands first wherever the caller listed it (libcurl puts it there).
 * Content-Length 0 is added to POST, PUT and PATCH without a body (RFC 9110
 * §8.6).  What is only between us and a proxy (Proxy-Authorization) is not part
 * of it: secrets do not reach the archive.
 */
#ifndef OS_TRANSPORT_CURL_REQUEST_H
#define OS_TRANSPORT_CURL_REQUEST_H

#include <curl/curl.h>

#include "os/transport.h"

struct transport_request {
	struct buf sent;           /* the head, ends in an empty line */
	struct buf texts;          /* NUL-terminated: what libcurl is given */
	struct curl_slist *list;   /* the headers; lies in `nodes` */
	struct curl_slist *nodes;
	size_t nodes_n, nodes_cap;
	const char *url, *method, *target;
};

/*
 * Fill `r` for `x`; its memory is used again.  `absolute`: the target is the
 * whole URL.  NULL, or what is wrong with the request.
 */
const char *transport_request_build(struct transport_request *,
    const struct exchange *x, bool absolute);
/* Take out of `sent` what HTTP/2 does not carry (RFC 9113 §8.2.2). */
void transport_request_to_http2(struct transport_request *);
/* Overwrite it; its memory is used again. */
void transport_request_wipe(struct transport_request *);
void transport_request_free(struct transport_request *);

#endif
