/*
 * crawl_registry -- every crawl of this data directory, as it last became
 * durable and readable: what lists and statistics show.  Home's copy; nothing
 * is asked of other threads to read it.
 *
 *     ledger's loop: group durable ──► index thread: group applied ──► home
 *
 * So a number that the board shows can be read from the index.  Each change has
 * a version, which only grows; who remembers a version finds what changed since
 * by walking from the newest row back.
 *
 * Owns:    the rows; one is in memory for each crawl, ended ones too.
 * Thread:  home's.
 * Story:   engine/DESIGN.md
 */
#ifndef ENGINE_CATALOG_CRAWL_REGISTRY_H
#define ENGINE_CATALOG_CRAWL_REGISTRY_H

#include "base/list.h"
#include "base/map.h"
#include "engine/catalog/crawl_history.h"
#include "engine/frontier/frontier.h"

struct board;

/* What changes of a row, each with the version of its last change. */
enum board_part {
	BOARD_STATE,                 /* and reason, ended */
	BOARD_STATUS,                /* + 0..5: counts.status by class */
	BOARD_STATUS_LAST = BOARD_STATUS + 5,
	BOARD_NOT_FOUND,
	BOARD_EXCEPTIONS,
	BOARD_SKIPS,
	BOARD_ITEMS,
	BOARD_QUEUED,
	BOARD_BYTES,                 /* body_bytes, warc_bytes */
	BOARD_LOG,                   /* view.log_last */
	BOARD_PARTS
};

struct board_row {
	struct list node;            /* in board.rows, newest change last */
	uint32_t id;
	struct crawl_view view;
	struct str name, seed;       /* seed: the first, as given */
	struct str policy;           /* its name, or "" for one of its own */
	const struct str *tags;
	size_t tags_n;
	uint64_t schedule;           /* its id; 0: none */
	uint64_t born, changed;      /* versions */
	uint64_t part[BOARD_PARTS];  /* versions */
	bool deleted;                /* it stays as a tombstone for watchers */
	/* Pages and bytes of the last seconds, for rates. */
	double pages_per_s, bytes_per_s;
};

/* Called on home after a batch of changes was put in, once for all of them. */
struct board_watch {
	struct list node;            /* the board's */
	void (*changed)(struct board_watch *);
};
void board_watch(struct board *, struct board_watch *);
void board_unwatch(struct board_watch *);

uint64_t board_version(const struct board *);
struct board_row *board_row(const struct board *, uint32_t crawl);
/*
 * From the newest change back: start with NULL; NULL at the end.  Stop at the
 * first row whose `changed` is not above what you know.
 */
struct board_row *board_before(const struct board *, struct board_row *);
/* By id, the newest crawl first: start with UINT32_MAX; NULL at the end. */
struct board_row *board_below(const struct board *, uint32_t id);
bool board_has_tag(const struct board_row *, struct str tag);
/* How it went so far, oldest first; the number of points. */
size_t board_history(const struct board_row *,
    struct history_point out[static HISTORY_POINTS_MAX]);

/* -- For the engine alone. -- */

struct board *board_new(struct loop *home);
void board_free(struct board **);
/*
 * A crawl as it stands, with the spec that it began with; what is there already
 * is not told of again.  The texts are copied.
 */
void board_add(struct board *, const struct crawl_view *,
    const struct crawl_spec *);
/* It changed; nothing, when it was never added. */
void board_show(struct board *, const struct crawl_view *);
void board_delete(struct board *, uint32_t crawl);
/* The batch is in: the watchers are called. */
void board_tell(struct board *);

#endif
