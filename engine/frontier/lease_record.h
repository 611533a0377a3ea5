/*
 * lease_record -- notes and records of the lease service, its start, and its
 * checkpoints.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_LEASE_RECORD_H
#define ENGINE_FRONTIER_LEASE_RECORD_H

#include "engine/frontier/lease_core.h"

struct lease_crawl;

enum lease_note {
	NOTE_OUTSIDE_CRAWL = 10, NOTE_OUTSIDE_QUEUE, NOTE_OUTSIDE_LEASES,
	NOTE_OUTSIDE_END, NOTE_OUTSIDE_GONE, NOTE_OUTSIDE_CONTROL,
};

/* Set the buffer to a record's or a note's bytes. */
void lease_crawl_bytes(const struct lease_crawl *, struct buf *);
void lease_queue_bytes(const struct lease_queue *, struct buf *);
void lease_control_bytes(const struct frontier *, struct buf *);

/* The frontier's life.  At an opening: */
void lease_open(struct frontier *);
void lease_tick(struct frontier *);    /* from now on, each second */
bool lease_record(struct frontier *, enum index_family, struct str key,
    struct str value, bool *fine);
bool lease_replay(struct frontier *, uint8_t kind, struct str note);
MUST_USE enum err lease_load_control(struct frontier *, struct why *);
/* All is replayed: the known table, what waits, what is leased. */
MUST_USE enum err lease_load(struct frontier *, struct why *);
void lease_close(struct frontier *);
void lease_put_notes(struct frontier *);
void lease_begin_checkpoint(struct frontier *);
bool lease_put_checkpoint(struct frontier *, size_t *n);

#endif
