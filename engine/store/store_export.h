/*
 * store_export -- exports as the store keeps them, and the index of harvests'
 * WARC files that they and others look files up in.
 *
 *     accepted ─► running ─► succeeded, failed
 *
 * A row is all that an export begins again from after a crash.  Its states are
 * those of harvests, without the ones in between.
 *
 * Each verb is one commit unless the caller groups it with others.
 * Thread: as the store's.  Errors: store.h's; ABSENT when there is no such
 * export.
 * Source: contracts/export.md §3, §6.
 */
#ifndef ENGINE_STORE_STORE_EXPORT_H
#define ENGINE_STORE_STORE_EXPORT_H

#include "engine/store/store_harvest.h"

/* Rows; those that ended STORE_HARVEST_DAYS ago are forgotten. */
#define STORE_EXPORTS_MAX 100000u

struct store_export {
	struct str id;               /* a requester's, or "export-3" */
	struct str type, format;     /* "flickr_user", "csv"; as requested */
	struct str path;             /* the directory, absolute */
	struct str message;          /* JSON: all that was requested */
	struct str routing_key;      /* of the start message; empty: none */
	enum store_harvest_state state;
	struct wall accepted, started, ended;    /* us 0: not yet */
	bool cancelled;              /* its requester wants it no more */
	struct str told;             /* the last status put into the outbox */
	struct str result;           /* JSON, once it is over */
	bool here;                   /* this daemon has accepted it */
};

/*
 * Put a new one: id (empty: it becomes export-NUMBER, in `a`), type, format,
 * path, message, routing_key; accepted at `now`.  EXISTS: the id is taken;
 * FULL.
 */
MUST_USE enum err store_export_add(struct store *, struct store_export *,
    struct wall now, struct arena *a, struct why *);
/* Whole.  Memory: `a`. */
MUST_USE enum err store_export_get(struct store *, struct str id,
    struct arena *a, struct store_export *, struct why *);
/* Those of this daemon, the newest first, without their messages. */
MUST_USE enum err store_export_list(struct store *, struct arena *a,
    struct store_export **, size_t *n, struct why *);
/* `size` of them after the newest `start`, without messages and results.
 * `*total`: how many there are in all. */
MUST_USE enum err store_export_page(struct store *, uint64_t start,
    uint64_t size, struct arena *a, struct store_export **, size_t *n,
    uint64_t *total, struct why *);
/*
 * Ids of this daemon's exports, the oldest first: those that are not over;
 * those that came by a broker and whose final status was not put.
 */
MUST_USE enum err store_export_open(struct store *, struct arena *a,
    struct str **ids, size_t *n, struct why *);
MUST_USE enum err store_export_untold(struct store *, struct arena *a,
    struct str **ids, size_t *n, struct why *);
/*
 * This daemon's exports that came by a broker and ended after `after`, until
 * `until`: id, path and ended, at most STORE_EXPORTS_ENDED_MAX, the longest ago
 * first.  Memory: `a`.
 */
#define STORE_EXPORTS_ENDED_MAX 100
MUST_USE enum err store_export_ended(struct store *, struct wall after,
    struct wall until, struct arena *a, struct store_export **, size_t *n,
    struct why *);
/* The first RUNNING sets its start; a final one its end.  `result` is JSON. */
MUST_USE enum err store_export_set_state(struct store *, struct str id,
    enum store_harvest_state, struct str result, struct wall now,
    struct why *);
MUST_USE enum err store_export_cancel(struct store *, struct str id,
    struct why *);
MUST_USE enum err store_export_told(struct store *, struct str id,
    struct str told, struct why *);
MUST_USE enum err store_export_drop(struct store *, struct str id,
    struct why *);

/* ---- WARC files of harvests ---------------------------------------------- */

struct store_warc_bounds {
	bool has_from, has_to;
	struct wall from, to;        /* inclusive */
};
struct store_warc_query {
	struct str warc_id;          /* empty: any; likewise below */
	struct str collection;
	const struct str *seeds;     /* harvests with one of these seed ids */
	size_t seeds_n;
	const struct str *harvests;  /* these harvests alone */
	size_t harvests_n;
	struct store_warc_bounds harvest;    /* the harvest's beginning */
	struct store_warc_bounds created;    /* of the file */
	bool with_web;               /* those of type "web", too */
};
struct store_warc {
	struct str warc_id, sha1;
	struct str harvest, type;    /* of the harvest */
	struct str path;             /* the harvest's directory */
	struct str name;
	uint64_t bytes;
	struct wall created;
};
/*
 * Files in their places, by the moment at which they were noted.  With
 * collections or seeds the start messages of all harvests are read.
 * Memory: `a`.
 */
MUST_USE enum err store_warcs_find(struct store *,
    const struct store_warc_query *, struct arena *a, struct store_warc **,
    size_t *n, struct why *);

struct store_collection {
	struct str id, type;         /* type: of its newest harvest */
	bool is_on;                  /* one of its harvests is not over */
};
/*
 * Collections that harvests named, whose ids begin with `prefix` in any case,
 * by their first harvest.  Reads the start messages of all harvests.
 */
MUST_USE enum err store_collections(struct store *, struct str prefix,
    struct arena *a, struct store_collection **, size_t *n, struct why *);

#endif
