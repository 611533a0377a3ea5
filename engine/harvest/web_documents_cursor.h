/*
 * web_documents_cursor -- where a run of `web_crawl` is: a text that its owner
 * keeps with the documents, and gives to the run that goes on from there.
 *
 *     {"version":1, "params":"SHA-256",
 *      "crawl":7,          its captures are read; null: none yet
 *      "captures":120,     the first 120 of them were looked at
 *      "base":5,           the crawl that it is compared with; null: none
 *      "ended":false,      true: the crawl has ended, and all were looked at
 *      "crawl_created":N, "base_created":N}
 *                          when, in Unix microseconds: on a daemon that has
 *                          taken over the task, crawls with these numbers are
 *                          others; absent: unknown, as of no crawl
 *
 * Thread: any; pure.
 * Source: contracts/external.md §6, §11.
 */
#ifndef ENGINE_HARVEST_WEB_DOCUMENTS_CURSOR_H
#define ENGINE_HARVEST_WEB_DOCUMENTS_CURSOR_H

#include "base/arena.h"
#include "base/err.h"

#define WEB_DOCUMENTS_CURSOR_BYTES_MAX 4096u
#define WEB_DOCUMENTS_DIGEST_BYTES_MAX 64u
#define WEB_DOCUMENTS_NO_CRAWL UINT32_MAX

struct web_documents_cursor {
	struct str params;           /* a digest; empty: of no run yet */
	uint32_t crawl, base;        /* or WEB_DOCUMENTS_NO_CRAWL */
	uint64_t captures;
	bool ended;
	uint64_t crawl_created, base_created;    /* Unix us; 0: unknown */
};

/*
 * Read one; an empty text is the beginning.  Memory: `a`.  Errors: INPUT, with
 * the field "cursor...."; FULL beyond WEB_DOCUMENTS_CURSOR_BYTES_MAX.
 */
MUST_USE enum err web_documents_cursor_read(struct str json, struct arena *a,
    struct web_documents_cursor *, struct why *);
void web_documents_cursor_put(const struct web_documents_cursor *,
    struct buf *);

#endif
