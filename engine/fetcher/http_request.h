/*
 * http_request -- the request of a page's current hop.
 */
#ifndef ENGINE_FETCHER_HTTP_REQUEST_H
#define ENGINE_FETCHER_HTTP_REQUEST_H

#include "engine/fetcher/page.h"

/* Fill page.exchange; its port stays.  False: the URL is not of HTTP. */
bool http_request_build(struct page *);

#endif
