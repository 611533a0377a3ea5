/*
 * page_archive -- what a finished page leaves: WARC members, CDXJ lines, a
 * journal entry, an event, a handoff.
 *
 * Thread: the loop's.
 */
#ifndef ENGINE_FETCHER_PAGE_ARCHIVE_H
#define ENGINE_FETCHER_PAGE_ARCHIVE_H

#include "engine/fetcher/page.h"

/* The redactor that cleans the page's records; or NULL. */
const struct redactor *page_redactor(const struct page *);
/* The members of all hops.  False: a record cannot be made, see `w`. */
bool page_archive_members(struct page *, struct why *w);
/* The line for CDXJ of that hop's record, up to `"offset"`. */
struct str page_archive_cdxj(struct page *, const struct hop *,
    const struct warc_member *);
/* One member more; s->parts has room for it. */
void page_archive_add(struct submission *, const struct warc_member *,
    struct str cdxj);
/* The answer of a page that is no capture, if any came; see page_finish(). */
void page_archive_answers(struct page *);
/* The journal entry's part that the fetcher knows. */
void page_archive_journal(struct page *);
/* Fill the engine's event from the page, which owns the texts. */
void page_archive_event(struct page *, struct url_event *);
/* The capture for clients that follow the crawl.  It may take the page's body,
 * so it comes before the bodies are freed. */
void page_archive_handoff(struct page *);

#endif
