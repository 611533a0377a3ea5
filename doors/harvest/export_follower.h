/*
 * export_follower -- exports that came by the broker: what their rows say
 * becomes statuses in the outbox.
 *
 *     changed, asked, heartbeat ─► one job of the store: row ─► status, once
 *
 * The job notes in the same commit what it has put, so that it may run at any
 * time, and again after a crash.
 *
 * Thread: the main loop's.
 * Source: contracts/export.md §3.
 */
#ifndef DOORS_HARVEST_EXPORT_FOLLOWER_H
#define DOORS_HARVEST_EXPORT_FOLLOWER_H

#include "doors/harvest/harvest_door.h"
#include "os/shared_dir.h"

/* Set where paths lie, and hear of changes.  Before any export is put. */
void export_follower_open(struct harvest_door *);
/* Follow those that an earlier process has left. */
void export_follower_load(struct harvest_door *);
/* One whose row was put.  `slot`, which may be NULL, is given back at its
 * end. */
void export_follower_add(struct harvest_door *, struct str id,
    struct served *slot);
/* It was requested once more: put its present status again. */
void export_follower_repeat(struct harvest_door *, struct str id);
/* No status is put any more; jobs under way end by themselves. */
void export_follower_stop(struct harvest_door *);
/* No job is under way. */
void export_follower_free_all(struct harvest_door *);

/*
 * Open the directory that an export's own one lies in.  Its claim is there,
 * since the export's directory is replaced as a whole.  Any thread; blocks.
 * Errors: DENIED: it lies below none of harvest.roots; those of
 * shared_dir_open().
 */
MUST_USE enum err export_follower_open_above(const struct harvest_door *,
    struct str local, enum shared_dir_mode, struct shared_dir *,
    struct why *);

/* The final status of one that could not be kept.  Memory: `a`. */
void export_follower_write_failure(struct harvest_door *,
    const struct finished *, struct arena *a, struct str *key,
    struct str *body);

#endif
