/*
 * http_request -- the request of a page's current hop.
 */
#ifndef ENGINE_FETCHER_HTTP_REQUEST_H
#define ENGINE_FETCHER_HTTP_REQUEST_H

#include "engine/fetcher/page.h"

/* Fill page.exchange; its port stays.  False: the URL is not of HTTP. */
bool http_request_build(struct page *);
/* The header of that name lets a server know who asks. */
bool http_request_is_credential(struct str name);

#endif
