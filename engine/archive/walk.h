/*
 * walk -- every record of a list of WARC files, one after the other; what all
 * reports of this folder are made of.
 */
#ifndef ENGINE_ARCHIVE_WALK_H
#define ENGINE_ARCHIVE_WALK_H

#include "engine/archive/archive.h"
#include "wire/warc_read.h"

struct walk_visit {
	const struct archive_file *file;
	struct warc_reader *reader;   /* the block may be read from it */
	struct warc_entry *entry;
};

struct walk_events {
	/* A file begins, or ends (`record` and `damage` came between); may be
	 * NULL. */
	enum err (*file)(void *arg, const struct archive_file *, bool begins,
	    struct why *);
	/* A record.  What is left of its block is read over afterwards. */
	enum err (*record)(void *arg, struct walk_visit *, struct why *);
	/*
	 * The record is over; `entry` is complete.  `whole` false: it was
	 * damaged, and damage() came before.
	 */
	enum err (*record_end)(void *arg, struct walk_visit *, bool whole,
	    struct why *);
	enum err (*damage)(void *arg, const struct archive_file *,
	    const struct warc_damage *, struct why *);   /* may be NULL */
	bool io_ends;        /* a file that cannot be read ends it: IO */
};

/*
 * Ends at the first event that is not OK and returns its error; a file that
 * cannot be opened is one too.
 */
MUST_USE enum err walk_files(const struct archive_catalogue *,
    const struct walk_events *, void *arg, struct why *);
MUST_USE enum err walk_file(const struct archive_file *,
    const struct walk_events *, void *arg, struct why *);

/*
 * Read a block up to the end of its HTTP head and at least `body_bytes` behind
 * it, at most WALK_HEAD_MAX, into `bytes`; the head borrows from these and `a`.
 * False when no HTTP head is there.
 */
#define WALK_HEAD_MAX ((size_t)1 << 20)
bool walk_http_head(struct warc_reader *, bool request, size_t body_bytes,
    struct buf *bytes, struct arena *a, struct http_head *);

#endif
