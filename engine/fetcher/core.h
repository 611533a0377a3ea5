/*
 * core -- what all parts of one fetcher use: its options, its loop, and a
 * pointer to each part.  What a part keeps is declared in the part's own header
 * and changed by the part's own file; others read it, or call a function.
 *
 * Thread: the loop's.
 */
#ifndef ENGINE_FETCHER_CORE_H
#define ENGINE_FETCHER_CORE_H

#include "engine/fetcher/fetcher.h"

struct address;
struct fetch_crawl;
struct host;
struct origin;
struct page;
struct window;

struct fetcher {
	struct fetcher_options options;
	_Atomic(const struct fetch_settings *) settings;
	struct loop *loop;
	struct parser *parser;
	struct warc_writer *writer;
	bool closing;                    /* nothing goes on any more */
	struct pump *pump;               /* fetcher.c */
	struct host_table *hosts;        /* host.h */
	struct map addresses;            /* address_slots.c: by IP address */
	struct map crawls;               /* fetch_crawl.h: by number */
	struct page_table *pages;        /* page.h */
	struct outbox *outbox;           /* outbox.h */
	struct list lone_lines;          /* page_log.c: on their way */
	uint64_t *recent;                /* links.c: hashes, handed over */
};

/* The fetcher of the loop that has the host. */
struct fetcher *fetcher_of(struct fetcher *, struct str host);
/* Start what may start, at the end of this turn. */
void fetcher_pump_soon(struct fetcher *);
/*
 * Look at all idle hosts again in a moment: something that has no event of its
 * own, such as a crawl's limit of downloads, keeps them from starting.
 */
void fetcher_look_again(struct fetcher *);

#endif
