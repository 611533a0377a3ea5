/*
 * sitemap -- URLs from sitemaps, sitemap indexes, RSS, Atom and plain lists.
 *
 * XML is read by expat, with its own protection against entities that grow and
 * with ours against deep nesting and against memory.  What stands before a
 * fault counts.  Namespaces are not asked for: many sites get them wrong.
 *
 * Thread: any, one call at a time each.
 * Limits: sitemap.urls_max, sitemap.bytes_max, sitemap.nesting_max,
 *         sitemap.parser_bytes_max.
 * Source: https://www.sitemaps.org/protocol.html, RFC 4287, RSS 2.0.
 */
#ifndef ENGINE_PARSER_SITEMAP_H
#define ENGINE_PARSER_SITEMAP_H

#include "base/time.h"
#include "engine/parser/link.h"

#define SITEMAP_URLS_MAX 50000u
#define SITEMAP_BYTES_MAX (50u * 1024 * 1024)
#define SITEMAP_NESTING_MAX 256u
/* Limit of expat's memory, names and entities included. */
#define SITEMAP_PARSER_BYTES_MAX (64u * 1024 * 1024)

enum sitemap_kind {
	SITEMAP_NONE, SITEMAP_URLS, SITEMAP_INDEX, SITEMAP_TEXT, SITEMAP_RSS,
	SITEMAP_ATOM
};

/* A link's attributes in the sitemap; links and notes have the same index. */
struct sitemap_note {
	struct wall changed;      /* lastmod, pubDate, updated */
	bool dated;
	uint8_t priority;         /* per cent; 50 when not given */
};

struct sitemap {
	enum sitemap_kind kind;
	struct link *links;       /* PAGE; SITEMAP of an index; EMBED images */
	struct sitemap_note *notes;
	size_t n;
	struct str title;         /* of a stream */
	uint32_t bad_urls;
	uint32_t schemes_dropped;
	const char *cut_reason;   /* a limit, or "malformed"; or NULL */
};

/*
 * Read a document of at most SITEMAP_BYTES_MAX in any encoding; `label` is the
 * charset of its Content-Type, or empty.  `page` is its own URL.  Gzip is
 * undone by the caller.  Never fails: a document that is nothing of the kind
 * has kind NONE and no links.  `urls_max` 0 means SITEMAP_URLS_MAX.
 */
void sitemap_parse(struct str body, struct str label, const struct url *page,
    size_t urls_max, struct arena *a, struct sitemap *out);

/* One URL per line of UTF-8; lines that are none count as bad. */
void sitemap_parse_text(struct str body, const struct url *page,
    size_t urls_max, struct arena *a, struct sitemap *out);

/* The media type of one that was packed: XML, or a list. */
struct str sitemap_type(struct str body);

/*
 * Undo gzip (all members), at most `bytes_max` of output.  Errors: INPUT when
 * it is no gzip or damaged, FULL when it is longer.  `out` is emptied first and
 * holds what could be read in either case; the caller frees it.
 */
MUST_USE enum err sitemap_gunzip(struct str gz, size_t bytes_max,
    struct buf *out, struct why *w);

#endif
