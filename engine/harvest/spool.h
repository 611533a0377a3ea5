/*
 * spool -- what is received of a stream, kept beside the open WARC file while
 * the stream goes on, so that a crash costs the last seconds alone.
 *
 *     begin ─► put, put ... ─► written and synced every SPOOL_SYNC_MS ─► end
 *                                                             │ after a crash
 *                                                   read ─► archived ─► removed
 *
 * The file goes when the stream's record is durable.  What is read is cut
 * behind its last whole chunk, or without chunks and codings behind its last
 * line.
 *
 * Thread: home's, but spools_read() and spool_remove(): any.
 * Source: contracts/warc.md §5.
 */
#ifndef ENGINE_HARVEST_SPOOL_H
#define ENGINE_HARVEST_SPOOL_H

#include "engine/fetcher/call.h"

#define SPOOL_SYNC_MS 5000
/* So many bytes are written sooner, and are not synced sooner. */
#define SPOOL_BUFFER_BYTES ((size_t)256 << 10)

struct pool;
struct spool;

/* One of a harvest's streams has begun: `dir` is its directory, and request
 * and head have no secrets any more. */
struct spool *spool_begin(struct pool *, struct loop *home, const char *dir,
    const struct call_received *);
void spool_put(struct spool *, struct str bytes, struct wall now);
/* Write and sync it now: something is about to follow from it. */
void spool_sync(struct spool *);
/* Its record is durable, or there is none: the file goes, soon.  NULL is
 * allowed. */
void spool_end(struct spool **);

/* Spools that an earlier process did not finish.  Memory: `a`. */
struct spool_left {
	const char *path;
	struct call_received stream;
};
MUST_USE enum err spools_read(const char *dir, struct arena *a,
    struct spool_left **, size_t *n, struct why *);
MUST_USE enum err spool_remove(const char *path, struct why *);

#endif
