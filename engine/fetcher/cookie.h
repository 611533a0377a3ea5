/*
 * cookie -- one crawl's cookies on one loop (RFC 6265; public suffixes refused
 * by libpsl).
 *
 * Limits: cookies per host COOKIES_PER_HOST_MAX, in all COOKIES_MAX, bytes of
 * one COOKIE_BYTES_MAX; the one used longest ago goes first.  Thread: one.
 */
#ifndef ENGINE_FETCHER_COOKIE_H
#define ENGINE_FETCHER_COOKIE_H

#include "base/time.h"
#include "engine/parser/url.h"

#define COOKIES_PER_HOST_MAX 50
#define COOKIES_MAX 3000
#define COOKIE_BYTES_MAX 4096

struct cookie_jar;
struct cookie_jar *cookie_jar_new(void);
void cookie_jar_free(struct cookie_jar **);
/* Store one Set-Cookie value that came from `url`.  False: it was refused. */
bool cookie_store(struct cookie_jar *, const struct url *, struct str value,
    struct wall now);
/* The Cookie header's value for a request, or empty.  Memory: `a`. */
struct str cookie_header(struct cookie_jar *, const struct url *,
    struct wall now, struct arena *a);
/*
 * Lines of a Netscape cookie file, as curl and wget write them.  Errors: INPUT
 * naming the line.
 */
MUST_USE enum err cookie_load(struct cookie_jar *, struct str text,
    struct wall now, struct why *);
/*
 * Append the cookies as such lines, those that have ended left out; a name with
 * a tab cannot be written.  cookie_load() makes the same jar of them.
 */
void cookie_put_lines(struct cookie_jar *, struct wall now, struct buf *);
size_t cookie_count(const struct cookie_jar *);

#endif
