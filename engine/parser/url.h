/*
 * url -- WHATWG URLs (ada underneath), and the canonical form for identity.
 *
 * A `struct url` holds the serialised form and where its parts stand in it; it
 * borrows from the arena that it was parsed into.
 * Source: https://url.spec.whatwg.org/ ; docs/protocols/realtime.md sections 3
 * and 8.
 */
#ifndef ENGINE_PARSER_URL_H
#define ENGINE_PARSER_URL_H

#include "base/arena.h"
#include "base/err.h"

enum url_scheme {
	URL_OTHER, URL_HTTP, URL_HTTPS, URL_FTP, URL_WS, URL_WSS, URL_FILE
};

struct url {
	struct str href;      /* the whole, serialised; NUL behind it */
	enum url_scheme scheme;
	struct str scheme_text;  /* "http", without ":" */
	struct str username, password;
	struct str host;      /* lower case, punycode; IPv6 with brackets */
	uint16_t port;        /* the scheme's default when none is written */
	bool port_given;
	struct str path;      /* with its leading "/" */
	struct str query;     /* with its "?", or empty */
	struct str fragment;  /* with its "#", or empty */
};

/* Longer inputs are refused: `url.bytes_max`. */
#define URL_BYTES_MAX 65536u

/*
 * Parse `input` (bytes, taken as UTF-8), relative to `base` unless that is
 * NULL.  Memory: `a`.  Errors: INPUT, with the reason in `w`.
 */
MUST_USE enum err url_parse(struct str input, const struct url *base,
    struct arena *a, struct url *out, struct why *w);

/* The same by ada alone, without the short way for plain links: for tests. */
MUST_USE enum err url_parse_slow(struct str input, const struct url *base,
    struct arena *a, struct url *out, struct why *w);

/*
 * The form in which a crawl knows a URL: without fragment and credentials, with
 * port, and without the query parameters and path parameters named in `strip`
 * (compared without case; "JSESSIONID" also takes ";jsessionid=..." from a
 * path).  What remains of the query keeps its order and spelling.
 */
MUST_USE enum err url_canonical(const struct url *, const struct str *strip,
    size_t strip_n, struct arena *a, struct url *out, struct why *w);

/* "http://host:port", the port only when it is not the default.  Memory: `a` */
struct str url_origin(const struct url *, struct arena *a);

/* What is sent as the request target: path and query. */
struct str url_target(const struct url *);

/* The sort-friendly form of CDXJ: "org,example)/path?query".  Memory: `a`. */
struct str url_surt(const struct url *, struct arena *a);

#endif
