/*
 * revalidate -- a URL that an earlier crawl of the collection captured is asked
 * for with that capture's validators.  Source: RFC 9110 section 13.
 *
 * Thread: the loop's.
 */
#ifndef ENGINE_FETCHER_REVALIDATE_H
#define ENGINE_FETCHER_REVALIDATE_H

#include "engine/fetcher/page.h"

/* True: the page goes on to its turn when the old capture was looked up. */
bool revalidate_begin(struct page *);
/* The validators, at most two headers. */
size_t revalidate_headers(const struct page *, struct transport_header *out);
/* The answer says 304: what the page is, and how its record refers to it.
 * Either may be NULL. */
bool revalidate_unchanged(struct page *, struct parse_input *,
    struct warc_revisit *);
/* Put the validators for later crawls of the collection into the submission. */
void revalidate_note(struct page *);

#endif
