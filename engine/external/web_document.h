/*
 * web_document -- a captured page as a document of the connector `web_crawl`:
 *
 *     {"id":"https://a.example/x","url":"https://a.example/x/",
 *      "title":"X","text":"...","language":"en","links":["https://..."],
 *      "published":null,"modified":"2026-11-20T09:18:16Z",
 *      "fetched":"2026-11-27T08:00:00Z","status":200}
 *
 * on one line, its members in that order; what the page does not say is null.
 * The schema is in web_crawl.json.
 *
 * Thread: any; one parser, one thread.
 * Limits: PARSE_TEXT_BYTES_MAX, WEB_DOCUMENT_LINKS_MAX and _LINKS_BYTES_MAX:
 *         what is beyond them is left out.
 * Source: contracts/external.md §11.
 */
#ifndef ENGINE_EXTERNAL_WEB_DOCUMENT_H
#define ENGINE_EXTERNAL_WEB_DOCUMENT_H

#include "base/err.h"
#include "base/time.h"

#define WEB_DOCUMENT_LINKS_MAX 1000u
#define WEB_DOCUMENT_LINKS_BYTES_MAX ((size_t)128 << 10)

struct parser;

struct web_document_page {
	struct str id;               /* the URL by which the crawl knows it */
	struct str url;              /* that answered; empty: `id` */
	unsigned status;
	struct wall fetched;
	struct str content_type, content_language;   /* fields, or empty */
	bool nosniff;                /* X-Content-Type-Options: nosniff */
	struct str body;             /* content encodings undone */
	int64_t (*cpu_ns)(void);     /* as of struct parse_input */
};

/*
 * Append the document.  Errors: ABSENT: the page is neither HTML nor plain
 * text; INPUT: its URL is none; BROKEN: as parse_document().
 */
MUST_USE enum err web_document_put(struct parser *,
    const struct web_document_page *, struct buf *out, struct why *);

#endif
