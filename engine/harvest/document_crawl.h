/*
 * document_crawl -- the crawl that the calls of runs are made in, of the kind
 * `tasks`.
 *
 *     want ─► launched under its key, or the one that has it ─► done()
 *                ▲ it has ended: the key's next number
 *                └─────────────────────────────────────
 *
 * Runs whose answers are not archived share a crawl, which has no captures and
 * never ends.  A run with an archive has a crawl of its own.  It goes on under
 * the same key after a restart, until a run leaves it and it is complete: then
 * its WARC file is finished.
 *
 * Thread: home's.
 * Story:  engine/harvest/DESIGN.md
 */
#ifndef ENGINE_HARVEST_DOCUMENT_CRAWL_H
#define ENGINE_HARVEST_DOCUMENT_CRAWL_H

#include "base/list.h"
#include "engine/harvest/document_run.h"

struct document_crawl;

/* A policy as harvests have it, and one that asks as crawls do. */
#define DOCUMENT_POLICY "{\"rate_limit\":0,\"robots\":\"ignore\"}"
#define DOCUMENT_CRAWL_POLICY "{}"

struct document_crawl_options {
	/* All but the engine are copied. */
	struct engine *engine;
	struct str name, key;        /* a number is put behind the key */
	const struct str *tags;
	size_t tags_n;
	struct str policy;           /* JSON */
	struct str about;            /* of crawl_spec; or empty */
};

/* One that waits for its crawl.  The node was initialized. */
struct document_wait {
	struct list node;
	/* Errors: those of crawl_launch(). */
	void (*done)(struct document_wait *, uint32_t crawl,
	    const struct why *);
};

/* It joins the list `all`, and is launched when it is wanted. */
struct document_crawl *document_crawl_new(
    const struct document_crawl_options *, struct list *all);
/* One of a run: `part` tells apart several crawls of the same archive. */
struct document_crawl *document_crawl_of_archive(struct engine *,
    const struct document_archive *, const char *part, struct str policy,
    struct str about, struct list *all);
/* done() comes once, perhaps at once; not if the node leaves its list. */
void document_crawl_want(struct document_crawl *, struct document_wait *);
/*
 * The run is done with it, and none of its calls is out.  `completes`: nothing
 * more will be archived in it.  It frees itself.  NULL is allowed.
 */
void document_crawl_leave(struct document_crawl **, bool completes);
/* Free those of a list once the engine was freed. */
void document_crawls_free(struct list *all);

/* "answers are archived in crawl 7": for the task's log. */
void document_crawl_describe(uint32_t crawl, struct buf *out);

/*
 * Complete the archives that an earlier process has left; those with names for
 * which is_used() is true stay.
 */
void document_crawls_complete_left(struct engine *,
    bool (*is_used)(void *arg, struct str name), void *arg);

#endif
