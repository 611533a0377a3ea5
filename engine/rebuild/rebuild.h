/*
 * rebuild -- makes a data directory anew from the WARC files of its crawls:
 * names, seeds, policies, captures under their own numbers, counters, and which
 * URLs are known (docs/protocols/warc.md section 2).
 *
 *     warcinfo ─► crawl      captures, in their order ─► journal, URL done
 *                            the pages' links, read again ─► known, waiting
 *                            robots.txt, as archived ─► skipped
 *
 * Not restored: URLs that failed or were left out for their media type (both
 * wait again and are fetched again; the answer of a failed one stays in its
 * WARC file, marked Argiope-Outcome), URLs whose finding page is missing, the
 * phases of a capture's time, a crawl's log and tags, and that it was paused
 * (it can go on).  As far as the replaced index can be read, it supplies crawls
 * without any record, crawls without an archive with all that is known of
 * them, the ends of crawls, numbers that were given, and the queues of the
 * urlfrontier door.
 *
 * The result appears as a whole: index and log are built in DATA/.rebuild and
 * moved into place; old ones are kept as DATA/replaced-N.
 * The directory gets a new identity, and its archive is its own from then on
 * (engine/ledger/identity.h).  Files that were being written when the
 * data directory was lost are cut behind their last whole capture and get their
 * names; no other WARC file is changed.
 *
 * Damage costs the records that it hit: reading goes on at the next one, and
 * each gap is reported with its offset.  A file whose warcinfo is damaged
 * belongs to the crawl that its captures name.  A file that a hook has moved is
 * read at its new place.  Finished files that are missing are reported as far
 * as the old index, a CDXJ or a note of a move tells of them.
 *
 * Memory: sort.bytes_max, and 12 to 18 bytes for each known URL of one crawl;
 * frontier.known_mem is no limit here.
 * Thread: one; it works on the caller's.
 */
#ifndef ENGINE_REBUILD_REBUILD_H
#define ENGINE_REBUILD_REBUILD_H

#include "base/conf.h"

#define REBUILD_DIRS_MAX 64
/* Numbers beyond are no crawl's and no capture's of ours. */
#define REBUILD_CRAWL_MAX (1u << 24)
#define REBUILD_SEQ_MAX (UINT64_C(1) << 48)

struct crawl_view;

struct rebuild_counts {
	uint64_t files, crawls, records;
	uint64_t captures;
	uint64_t missing, repeated;  /* numbers in gaps; there twice */
	uint64_t links_read;         /* documents that were parsed again */
	uint64_t unread;             /* ... that could not be: links are lost */
	uint64_t refused;            /* captures of a URL that has one, ... */
	uint64_t foreign;            /* files that name no crawl of ours */
	uint64_t finished;           /* files that were being written */
	uint64_t door_crawls;        /* urlfrontier's, from the old index */
	uint64_t index_crawls;       /* only the old index knew them */
	uint64_t unarchived;         /* likewise; they have no records */
	bool old_unread;             /* there is one, and it cannot be read */
	uint64_t cut_bytes;          /* of these, behind the last capture */
	uint64_t damaged;            /* places where records are lost */
	uint64_t seedless;           /* crawls without any sound warcinfo */
	uint64_t lost;               /* finished files, missing or shorter */
	uint64_t gone;               /* ... moved to where none can read them */
	uint64_t moved;              /* ... read where a hook moved them */
};

/* Why a rebuild could not read all of a finished WARC file. */
enum rebuild_loss { REBUILD_MISSING, REBUILD_SHORTER, REBUILD_MOVED };

struct rebuild_options {
	const struct conf *conf;
	const char *data_dir;        /* absolute; made if need be */
	/* Absolute: the crawls' warc_dirs, or what holds such as crawl-ID. */
	const char *const *dirs;
	size_t dirs_n;               /* 1 to REBUILD_DIRS_MAX */
	const char *scratch;         /* a path for sorting */
	/* Reports progress, often.  `total` 0: not known. */
	void (*progress)(void *arg, const char *what, uint64_t done,
	    uint64_t total);
	/* Reading went on behind damage to the record at `offset`; or NULL. */
	void (*gap)(void *arg, const char *path, uint64_t offset,
	    const char *cause);
	/* A finished file; `place`: where it was moved, else NULL; or NULL. */
	void (*lost)(void *arg, const char *path, enum rebuild_loss,
	    const char *place);
	/* A file of a harvest, by what its warcinfo says; texts live during
	 * the call; or NULL. */
	void (*harvest)(void *arg, struct str id, struct str type,
	    const char *path);
	/* A crawl as it stands at the end, by id. */
	void (*crawl)(void *arg, const struct crawl_view *, struct str name);
	void *arg;
};

/*
 * Errors: BUSY when a process has it, or writes to one of the files; INPUT when
 * two files tell two crawls of one number; ABSENT when no file tells of a
 * crawl; those of reading and writing.  After an error the data directory is as
 * it was, or rebuild_unfinished().
 */
MUST_USE enum err rebuild_run(const struct rebuild_options *,
    struct rebuild_counts *, struct why *);
/* A rebuild was killed while it moved its work into place: it must go on. */
bool rebuild_unfinished(const char *data_dir);

#endif
