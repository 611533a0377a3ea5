/*
 * robots -- robots.txt as RFC 9309 has it, and the robots tags of pages.
 *
 * A `struct robots` is what one robots.txt says to one product token: compact,
 * one allocation, never changed after its making, so any thread may ask it.
 * The raw text is what is stored; parsing it again is cheap.
 *
 * Limits: ROBOTS_BYTES_MAX, ROBOTS_RULES_MAX, ROBOTS_SITEMAPS_MAX,
 *         ROBOTS_CRAWL_DELAY_MAX_S, ROBOTS_WORK_MAX.
 * Story:  engine/policy/DESIGN.md
 */
#ifndef ENGINE_POLICY_ROBOTS_H
#define ENGINE_POLICY_ROBOTS_H

#include "base/err.h"
#include "engine/parser/url.h"

#define ROBOTS_BYTES_MAX 512000       /* 500 KiB, RFC 9309 section 2.5 */
#define ROBOTS_RULES_MAX 20000        /* of the groups that bind us */
#define ROBOTS_SITEMAPS_MAX 500
#define ROBOTS_CRAWL_DELAY_MAX_S 300
#define ROBOTS_LINE_SHOWN_MAX 200     /* bytes of a line kept for `why` */
#define ROBOTS_WORK_MAX 4000000       /* bytes that wildcards may pass over */

struct robots;

/*
 * Parse `body` for the crawler named `product_token` ("argiope"; matched
 * without case, section 2.2.1).  Never fails: what cannot be read is passed
 * over, as the RFC asks.  Past ROBOTS_BYTES_MAX the text ends at its last whole
 * line.  UTF-8 with or without BOM; UTF-16 with BOM.  The caller frees.
 */
struct robots *robots_parse(struct str body, struct str product_token);
/* One that allows all or forbids all, for a robots.txt that was not read. */
struct robots *robots_all(bool allow);
void robots_free(struct robots **);   /* and empties it */

/*
 * What a final HTTP status of robots.txt means (sections 2.3.1.1 to 2.3.1.4).
 * 0 stands for "no answer".  2xx: parse.  3xx after the redirects were followed
 * and 4xx: allow all.  429 counts as unreachable although it is a 4xx: a server
 * that asks us to slow down has not said that it has no rules.  All else:
 * unreachable, forbid all.
 */
enum robots_status { ROBOTS_PARSE, ROBOTS_ALLOW_ALL, ROBOTS_FORBID_ALL };
enum robots_status robots_from_status(int http_status);

/* The rule that decided; the text borrows from the robots. */
struct robots_match {
	bool allowed;
	unsigned line;      /* 1 is the first; 0: no line decided */
	struct str text;    /* the line, or a sentence where line is 0 */
};

/*
 * Whether `target` (path and query, as url_target() gives it) may be fetched:
 * the longest matching pattern decides, and Allow wins ties (section 2.2.2).
 * /robots.txt itself may always be fetched.  `why` may be NULL.
 *
 * A rule with wildcards passes over the target once, whatever it looks like; a
 * file whose rules pass over more than robots.work_max bytes forbids the
 * target.
 */
bool robots_allows(const struct robots *, struct str target,
    struct robots_match *why);

/* The Crawl-delay for us in ms, at most ROBOTS_CRAWL_DELAY_MAX_S; -1: none. */
int64_t robots_delay_ms(const struct robots *);

/* The i-th Sitemap line, as written; STR_NONE past the end.  Never twice. */
struct str robots_sitemap(const struct robots *, size_t i);
/*
 * The same as a URL, relative ones resolved against the URL of robots.txt.
 * Memory: `a`.  Errors: ABSENT past the end, INPUT when it is no URL.
 */
MUST_USE enum err robots_sitemap_url(const struct robots *, size_t i,
    const struct url *robots_url, struct arena *a, struct url *out,
    struct why *);

struct robots_facts {
	size_t rules_n, sitemaps_n;
	size_t memory;            /* bytes of the one allocation */
	unsigned rules_left_out;  /* past ROBOTS_RULES_MAX */
	bool named;               /* a group names us; else "*" binds us */
	bool cut;                 /* longer than ROBOTS_BYTES_MAX */
	bool delay_capped;        /* Crawl-delay was over the limit */
};
struct robots_facts robots_facts(const struct robots *);

/* What an X-Robots-Tag header or a robots <meta> asks for. */
enum robots_tag {
	ROBOTS_TAG_NOINDEX = 1,
	ROBOTS_TAG_NOFOLLOW = 2,
	ROBOTS_TAG_NOARCHIVE = 4,
	ROBOTS_TAG_NOSNIPPET = 8,
	ROBOTS_TAG_NOIMAGEINDEX = 16,
};
/*
 * The flags in one header value or one `content` attribute: words divided by
 * commas, "none" being noindex and nofollow.  "name:" before a word makes it
 * and what follows hold for that crawler only; unavailable_after and the max-
 * limits are passed over with their values.  Several headers are or-ed by the
 * caller.
 */
unsigned robots_tag_parse(struct str value, struct str product_token);

#endif
