/*
 * replay -- turns what WARC files tell of captures into the frontier's
 * transitions.
 *
 * Thread: one.
 */
#ifndef ENGINE_REBUILD_REPLAY_H
#define ENGINE_REBUILD_REPLAY_H

#include "engine/archive/reindex.h"
#include "engine/rebuild/rebuild.h"

struct frontier;
struct replay;
/* `old`: the frontier that is replaced, as far as it can be read; or NULL. */
struct replay *replay_new(const struct conf *, struct frontier *,
    struct frontier *old, struct rebuild_counts *);
void replay_free(struct replay **);
/*
 * A file of a crawl; `by_door`: it began that crawl, which may not reach what
 * the operator's may.  Errors: INPUT when an earlier file told another crawl of
 * that number, or when seeds or policy cannot be read.
 */
MUST_USE enum err replay_file(struct replay *, const struct archive_crawl *,
    struct str warc_dir, bool by_door, uint64_t bytes, struct why *);
/*
 * A further file of `bytes` of a crawl, with no warcinfo to be read.  False: no
 * file has told that crawl.
 */
bool replay_add_file(struct replay *, uint32_t crawl, uint64_t bytes);
/*
 * A capture, or what has no number, in the order of archive_reindex(); `file`
 * is the ledger's id of its WARC.
 */
MUST_USE enum err replay_capture(struct replay *,
    const struct archive_capture *, uint32_t file, struct why *);
MUST_USE enum err replay_aux(struct replay *, const struct archive_capture *,
    uint32_t file, struct why *);
/* The newest of an owner's calls (engine/frontier/checkpoint.h); all captures
 * were told.  That of a crawl that is not there is passed over. */
MUST_USE enum err replay_checkpoint(struct replay *, uint32_t crawl,
    struct str owner, struct str bytes, struct why *);
/* All was told: the crawls end, or wait to be gone on with. */
MUST_USE enum err replay_end(struct replay *, struct why *);

#endif
