/*
 * commitlog -- the ledger's commit point: groups, one record each, in order.
 *
 * A directory of segments `log-NNNNNNNN` with consecutive numbers, zero-filled
 * once and recycled by renaming the oldest to the number behind the newest:
 *
 *     oldest ... current  spare ...
 *
 *     segment: head (512 bytes) | record | record | ... | zeros or leftovers
 *     head:    magic 8, number 8, size 8, key 8, first group 8, crc32c 4
 *     record:  magic 4, crc32c 4, group 8, length 4, lag 4, body, padding
 *
 * Integers are big-endian; records begin at multiples of 8 and never span
 * segments.  A record that no segment could hold gets one of its own size.  The
 * key is random and new with each use of a segment; magic and crc depend on it,
 * so that neither leftovers of an earlier use nor bytes that an outsider placed
 * in a body can pass for a record.
 *
 * Groups go up by exactly one.  Opening reads on while key, crc and order hold,
 * up to G.  What was being written when the power went is behind G and is
 * zeroed.  `lag` says how many groups before the record's own were not synced
 * when it was written, all of them in its segment: only these may be missing
 * before it.  A valid record of a later group behind other damage is refused;
 * damage to groups up to `from_group` is passed over with a warning.
 *
 * The chain is a checksum over all records since a segment that had none before
 * it; a head holds, behind its crc, "CHN1" 4, the chain up to its first group
 * 4, crc32c of all that 4.  Two copies of a log that went different ways differ
 * in it.  Heads of earlier versions have zeros there: the chain is not known.
 *
 * Thread: one at a time; the sync thread's.
 * Errors: DISK_FULL changes nothing and may be tried again; CORRUPT at opening;
 * after a failed write or sync every call gives BROKEN until it is opened anew.
 */
#ifndef ENGINE_LEDGER_COMMITLOG_H
#define ENGINE_LEDGER_COMMITLOG_H

#include "base/bytes.h"
#include "base/err.h"

#define COMMITLOG_SEGMENT_BYTES ((size_t)32 << 20)
#define COMMITLOG_SEGMENT_BYTES_MIN ((size_t)4 << 10)
#define COMMITLOG_SEGMENTS_MIN 2
#define COMMITLOG_SEGMENTS_FIRST 4
#define COMMITLOG_BODY_BYTES_MAX ((size_t)256 << 20)

struct commitlog;
struct commitlog_options {
	size_t segment_bytes;        /* of the first ones; 0: the default */
	/* Size of segments after COMMITLOG_SEGMENTS_FIRST; 0: as the first. */
	size_t segment_bytes_max;
	unsigned segments_min;       /* kept preallocated; 0: the default */
	/*
	 * commitlog_chain() behind `from_group` as its owner remembers it; 0:
	 * it does not.  A log that differs there is another copy's: CORRUPT.
	 */
	uint32_t from_chain;
};

/*
 * Open the log in `dir` (made if it is not there), hand every group from
 * `from_group` + 1 on to replay() in order, make it ready for appending.
 * `body` lives until replay() returns; an error of replay() ends the opening
 * with that error.  An empty directory is a fresh log whose first group is
 * `from_group` + 1.  NULL options are the defaults.
 * Errors: CORRUPT with what to do; DISK_FULL when there is no segment and no
 * room for one (a missing spare is no error yet); IO.
 */
MUST_USE enum err commitlog_open(const char *dir,
    const struct commitlog_options *, uint64_t from_group,
    enum err (*replay)(void *arg, uint64_t group, struct str body,
    struct why *), void *arg, struct commitlog **, struct why *);
void commitlog_close(struct commitlog **);      /* syncs nothing */
/*
 * Replay as commitlog_open() does, up to the first damage, and change nothing.
 * Errors: CORRUPT at damage, behind what was replayed; IO.
 */
MUST_USE enum err commitlog_read(const char *dir, uint64_t from_group,
    uint32_t from_chain,
    enum err (*replay)(void *arg, uint64_t group, struct str body,
    struct why *), void *arg, struct why *);

/*
 * What was meant to be of size `first` when the log had few bytes, now that
 * `appended` bytes went to it: segments, and what its owner ties to them.
 */
size_t commitlog_grown(uint64_t appended, size_t first, size_t later);

/* The group of the last record; from_group when there is none. */
uint64_t commitlog_group(const struct commitlog *);
/* The chain up to that group; 0: not known. */
uint32_t commitlog_chain(const struct commitlog *);
/* How many bytes of body the next append takes without a new segment. */
size_t commitlog_room(const struct commitlog *);
/*
 * Make sure that a next record with a body of up to `bytes` finds its room, and
 * that a spare segment stands ready once the current one is half full.
 * Call it before a group is accepted; a new segment is written and synced here.
 * Errors: DISK_FULL; FULL when bytes is above COMMITLOG_BODY_BYTES_MAX.
 */
MUST_USE enum err commitlog_prepare(struct commitlog *, size_t bytes,
    struct why *);
/*
 * Write the record of `group`, which must be commitlog_group() + 1.  Without a
 * commitlog_prepare() before, this may have to make a segment.
 */
MUST_USE enum err commitlog_append(struct commitlog *, uint64_t group,
    struct str body, struct why *);
/* Sync: all that was appended is on the disk when this returns OK. */
MUST_USE enum err commitlog_sync(struct commitlog *, struct why *);
/*
 * Groups up to `group` are in the index: recycle the segments that hold no
 * others.  What fails here shows at the next call, if it matters.
 */
void commitlog_release(struct commitlog *, uint64_t group);

struct commitlog_stats {
	uint64_t records, bytes;             /* appended since opening */
	uint64_t segments, segment_bytes;    /* in the directory now */
	uint64_t spares, allocated, recycled, removed;
	uint64_t replayed;                   /* groups given to replay() */
	uint64_t cut_bytes;                  /* behind G, zeroed at opening */
	bool fresh;                          /* the directory was empty */
	bool broken;
};
void commitlog_stats(const struct commitlog *, struct commitlog_stats *);

#endif
