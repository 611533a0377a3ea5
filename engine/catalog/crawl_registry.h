/*
 * crawl_registry -- every crawl of this data directory, as it last became
 * durable and readable: what lists and statistics show.  It belongs to the main
 * loop, which reads it without asking another thread.
 *
 *     ledger's loop: group durable ──► index thread: group applied ──► main
 *                                                                      loop
 *
 * So a number that the registry shows can be read from the index.  Each change
 * has a version, and versions only grow; a reader that remembers a version
 * finds later changes by walking back from the newest row.
 *
 * Owns:    the rows; one is in memory for each crawl, ended ones too.
 * Thread:  the main loop's.
 * Story:   engine/DESIGN.md
 */
#ifndef ENGINE_CATALOG_CRAWL_REGISTRY_H
#define ENGINE_CATALOG_CRAWL_REGISTRY_H

#include "base/list.h"
#include "base/map.h"
#include "engine/catalog/crawl_history.h"
#include "engine/frontier/crawl_spec.h"

struct crawl_registry;
struct loop;

/* The parts of a row that change; each has the version of its last change. */
enum registry_part {
	REGISTRY_STATE,                 /* and reason, ended */
	REGISTRY_STATUS,                /* + 0..5: counts.status by class */
	REGISTRY_STATUS_LAST = REGISTRY_STATUS + 5,
	REGISTRY_NOT_FOUND,
	REGISTRY_EXCEPTIONS,
	REGISTRY_SKIPS,
	REGISTRY_ITEMS,
	REGISTRY_QUEUED,
	REGISTRY_BYTES,                 /* body_bytes, warc_bytes */
	REGISTRY_LOG,                   /* view.log_last */
	REGISTRY_PARTS
};

struct crawl_row {
	struct list node;            /* in registry.rows, newest change last */
	uint32_t id;
	struct crawl_view view;
	struct str name, seed;       /* seed: the first, as given */
	/* "": its own below DATA/archive, unless it is `unarchived`. */
	struct str warc_dir;
	bool unarchived;
	struct str key;              /* that it began under; or "" */
	struct str policy;           /* its name, or "" for one of its own */
	const struct str *tags;
	size_t tags_n;
	uint64_t schedule;           /* its id; 0: none */
	uint64_t born, changed;      /* versions */
	uint64_t part[REGISTRY_PARTS];  /* versions */
	bool deleted;                /* it stays as a tombstone for watchers */
	/* Pages and bytes of the last seconds, for rates. */
	double pages_per_s, bytes_per_s;
};

/* Whether nothing more happens to the crawl: it has ended, was deleted, or is
 * unknown (NULL). */
static inline bool
crawl_row_is_over(const struct crawl_row *r)
{
	return r == NULL || r->deleted || crawl_state_is_ended(r->view.state);
}

/* Called on the main loop once after each batch of changes. */
struct registry_watch {
	struct list node;            /* the registry's */
	void (*changed)(struct registry_watch *);
};
void crawl_registry_watch(struct crawl_registry *, struct registry_watch *);
void crawl_registry_unwatch(struct registry_watch *);

uint64_t crawl_registry_version(const struct crawl_registry *);
struct crawl_row *crawl_row(const struct crawl_registry *, uint32_t crawl);
/*
 * From the newest change back: start with NULL; NULL at the end.  Stop at the
 * first row whose `changed` is not above what you know.
 */
struct crawl_row *crawl_registry_before(
    const struct crawl_registry *, struct crawl_row *);
/* By id, the newest crawl first: start with UINT32_MAX; NULL at the end. */
struct crawl_row *crawl_registry_below(
    const struct crawl_registry *, uint32_t id);
bool crawl_registry_has_tag(const struct crawl_row *, struct str tag);
/* How it went so far, oldest first; the number of points. */
size_t crawl_registry_history(const struct crawl_row *,
    struct history_point out[static HISTORY_POINTS_MAX]);

/* -- For the engine only. -- */

struct crawl_registry *crawl_registry_new(struct loop *home);
void crawl_registry_free(struct crawl_registry **);
/*
 * Add a crawl in its present state, with the spec that it began with; nothing
 * happens when the registry has it.  The texts are copied.
 */
void crawl_registry_add(struct crawl_registry *, const struct crawl_view *,
    const struct crawl_spec *);
/* Update the crawl's row; nothing happens when it was never added. */
void crawl_registry_show(struct crawl_registry *, const struct crawl_view *);
void crawl_registry_delete(struct crawl_registry *, uint32_t crawl);
/* The batch is complete: call the watchers. */
void crawl_registry_notify(struct crawl_registry *);

#endif
