/*
 * transport_curl -- the transport's oracle: the same table on libcurl's multi
 * interface, for tests that compare both.
 *
 * Thread: the loop's only.
 */
#ifndef OS_TRANSPORT_CURL_H
#define OS_TRANSPORT_CURL_H

#include "os/transport.h"

/* As transport_new(). */
struct transport *transport_curl_new(struct loop *,
    const struct transport_options *);

#endif
