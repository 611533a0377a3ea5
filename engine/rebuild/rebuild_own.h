/*
 * rebuild_own -- the two halves of a rebuild: `replay` turns what WARC files
 * tell of captures into the frontier's transitions, `tail` finds where a file
 * ends that was being written.  Private to engine/rebuild*.
 *
 * Thread: one.
 */
#ifndef ENGINE_REBUILD_REBUILD_OWN_H
#define ENGINE_REBUILD_REBUILD_OWN_H

#include "engine/archive/reindex.h"
#include "engine/rebuild/rebuild.h"

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
/* All was told: the crawls end, or wait to be gone on with. */
MUST_USE enum err replay_end(struct replay *, struct why *);

/*
 * Report finished files that are not in the catalogue, and those that are
 * shorter than recorded; `old` may be NULL.  Errors: CORRUPT, IO.
 */
MUST_USE enum err rebuild_lost(const struct rebuild_options *,
    struct rebuild_counts *, struct frontier *old,
    const struct archive_catalogue *, struct why *);

/* See carry_over.c.  Errors: of reading one index, of writing the other. */
MUST_USE enum err carry_records(struct frontier *old, struct frontier *rebuilt,
    struct rebuild_counts *, struct why *);

/*
 * Where the last whole capture of a file ends that nobody finished; behind it a
 * torn record may stand, or a redirect whose target is missing.  `first`: the
 * end of its warcinfo, 0 when that is damaged.  Damage before the last whole
 * capture changes nothing.
 */
struct tail {
	uint64_t first, end, size;
};
MUST_USE enum err tail_find(const struct archive_file *, struct tail *,
    struct why *);

#endif
