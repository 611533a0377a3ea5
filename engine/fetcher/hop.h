/*
 * hop -- one request and its answer.  A page has one hop for its URL and one
 * for each redirect.
 */
#ifndef ENGINE_FETCHER_HOP_H
#define ENGINE_FETCHER_HOP_H

#include "engine/parser/url.h"
#include "os/transport.h"
#include "wire/http.h"

/* Why we stop reading an answer: its head, or its media type. */
enum hop_stop { HOP_STOP_NONE, HOP_STOP_HEAD, HOP_STOP_MIME };

struct hop {
	struct url url;
	struct str request;              /* as sent */
	struct str head;                 /* as received */
	struct http_head parsed;
	struct buf body;                 /* as received */
	struct ip ip;
	struct wall start;
	struct mono began;
	struct transport_times times;
	int status;
	const char *truncated;           /* WARC's word, or NULL */
	enum hop_stop stop;              /* why we ended it ourselves */
	bool too_large;                  /* its head or trailers were */
};

#endif
