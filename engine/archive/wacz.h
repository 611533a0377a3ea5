/*
 * wacz -- packs WARC files into a WACZ 1.1.1 (docs/protocols/warc.md,
 * section 9):
 *
 *     archive/<name>.warc.gz      stored as they are
 *     indexes/index.cdx.gz        CDXJ in gzip blocks of 1,024 lines
 *     indexes/index.idx           where each block begins
 *     pages/pages.jsonl           header line, then a line per page
 *     datapackage.json            sha256 and size of each of the above
 *     datapackage-digest.json     sha256 of datapackage.json
 *
 * The same WARC files and options give the same bytes.
 * Memory: constant but for the block list (some 200 bytes per 1,024 lines).
 */
#ifndef ENGINE_ARCHIVE_WACZ_H
#define ENGINE_ARCHIVE_WACZ_H

#include "engine/archive/archive.h"

#define WACZ_VERSION "1.1.1"

struct wacz_options {
	struct str title, description;   /* may be empty */
	struct str main_url;             /* may be empty */
	struct str software;             /* "argiope 0.1.0" */
	/* Dated by the newest capture when this is 0. */
	struct wall created;
	bool titles;                     /* read each page for its title */
};
struct wacz_counts {
	uint64_t files, lines, pages, bytes;
	uint64_t damaged;                /* records that have no line */
};

/*
 * Errors: EXISTS when `path` is there; INPUT when two files have one name, or
 * none was given; what reading and writing give.  A file that did not come to
 * its end is removed.
 */
MUST_USE enum err wacz_write(const struct archive_catalogue *,
    const char *path, const struct wacz_options *, struct wacz_counts *,
    struct why *);

/*
 * The same package to put(), in order, from its first byte on; its size is not
 * known before its end.  What must be sorted first is kept in files that begin
 * with `scratch`, and removed.  Errors: INPUT as above; put()'s; what reading
 * and writing give.
 */
MUST_USE enum err wacz_send(const struct archive_catalogue *,
    const char *scratch, const struct wacz_options *,
    enum err (*put)(void *arg, struct str, struct why *), void *arg,
    struct wacz_counts *, struct why *);

#endif
