/*
 * commitlog_own -- what commitlog.c (writing) and commitlog_open.c (reading)
 * share.  Nobody else includes it.
 */
#ifndef ENGINE_LEDGER_COMMITLOG_OWN_H
#define ENGINE_LEDGER_COMMITLOG_OWN_H

#include "engine/ledger/commitlog.h"

#define SEGMENT_HEAD_BYTES 512       /* a sector: written whole or not at all */
#define SEGMENT_HEAD_USED 44
#define SEGMENT_CHAIN_USED 12        /* behind it */
#define RECORD_HEAD_BYTES 24
#define RECORD_ALIGN 8
/* No file larger than what the greatest record needs is a segment. */
#define SEGMENT_BYTES_MAX \
	(SEGMENT_HEAD_BYTES + RECORD_HEAD_BYTES + COMMITLOG_BODY_BYTES_MAX + \
	RECORD_ALIGN)

/*
 * A segment is begun when its head on the disk is of its own number.  Begun
 * ones stand before spares.  While it is begun:
 *     SEGMENT_HEAD_BYTES <= end <= size; last >= first - 1
 */
struct segment {
	uint64_t number;
	int fd;
	bool begun;
	uint64_t size;
	uint64_t key;
	uint64_t first, last;        /* groups; last = first - 1: none yet */
	uint64_t end;                /* where the next record goes */
	uint32_t chain;              /* up to first - 1; 0: not known */
};

struct commitlog {
	char *dir;
	size_t segment_bytes, segment_bytes_max;
	unsigned segments_min;
	struct segment *segments;    /* consecutive numbers */
	size_t n, cap;
	size_t begun;                /* the first ones; the last is current */
	uint64_t group;
	uint32_t chain;              /* up to `group`; 0: not known */
	uint64_t synced;             /* the last group that is on the disk */
	bool dirty;                  /* appended, not yet synced */
	struct buf record;
	struct commitlog_stats stats;
};

/* "DIR/log-NNNNNNNN" and a suffix; the text is the caller's buffer's. */
const char *segment_path(const struct commitlog *, uint64_t number,
    const char *suffix, struct buf *);
/* Failure breaks the log for good. */
enum err segment_sync(struct commitlog *, const struct segment *,
    struct why *);
/* A new spare behind all others, on the disk with its name. */
enum err segment_allocate(struct commitlog *, uint64_t size, struct why *);
struct segment *segment_add(struct commitlog *, uint64_t number, int fd,
    uint64_t size);

/* Append the head of a segment that is begun. */
void segment_head(const struct segment *, struct buf *out);
/* Append what a head holds of its chain; SEGMENT_CHAIN_USED bytes. */
void segment_chain(struct str head, uint32_t chain, struct buf *out);
/* The chain behind a record of that crc. */
uint32_t chain_next(uint32_t chain, uint32_t record_crc);
/* CRC of the record from its group number to the end of the body. */
uint32_t record_crc(uint64_t key, struct str from_group_on);
static inline uint32_t
record_magic(uint64_t key)
{
	return (uint32_t)key;
}

static inline uint64_t
record_bytes(uint64_t body_bytes)
{
	return (RECORD_HEAD_BYTES + body_bytes + RECORD_ALIGN - 1) &
	    ~(uint64_t)(RECORD_ALIGN - 1);
}

#endif
