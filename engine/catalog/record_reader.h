/*
 * record_reader -- reads captures: the journal's entry, then the WARC record.
 *
 * A reader keeps WARC files open, so that a run of captures opens each file
 * once, and the buffers of its decoders.  It has no lock: one task uses it at
 * a time (read_task.h lends it).
 *
 * Thread: any, one at a time; it blocks.
 */
#ifndef ENGINE_CATALOG_RECORD_READER_H
#define ENGINE_CATALOG_RECORD_READER_H

#include "engine/archive/capture.h"
#include "engine/frontier/journal.h"

#define RECORD_READER_FILES 16u

struct index;

/* An open WARC file: it stays readable after it was renamed or removed. */
struct record_file {
	uint32_t id;
	int fd;
	uint64_t used;               /* the reader's tick; 0: not used lately */
};
struct record_reader {
	struct record_reader *next;  /* among those that no task has */
	struct index *index;
	/* For the record, and for the one that has a revisit's body. */
	struct capture_reader *own, *source;
	struct record_file files[RECORD_READER_FILES];
	uint64_t tick;
	/* Scratch memory of the task that has the reader. */
	struct buf body, text, key, rows;
	struct arena heads;
};

struct record_reader *record_reader_new(struct index *);
void record_reader_free(struct record_reader **);
/*
 * Close the files that were not used since the last call, and free the scratch
 * memory.  Returns false when there was nothing to close or free.
 */
bool record_reader_trim(struct record_reader *);
/* A descriptor of the WARC file; the reader owns it.  Errors: as
 * ledger_warc_open(). */
MUST_USE enum err record_reader_file(struct record_reader *, uint32_t file,
    int *fd, struct why *);
/*
 * The journal's entry of a capture.  Memory: `a`.
 * Errors: ABSENT; CORRUPT; what the index gives.
 */
MUST_USE enum err record_reader_entry(struct record_reader *, uint32_t crawl,
    uint64_t number, struct arena *a, struct journal_entry *, struct why *);
/*
 * The whole record with its body as received; a revisit gets the body of the
 * capture that it refers to.  Memory: the reader's `own` and `source`, until
 * the next call.  Errors: as record_reader_file() and capture_read().
 */
MUST_USE enum err record_reader_read(struct record_reader *,
    const struct journal_entry *, struct capture *, struct why *);
/* The same without the body, where the entry tells where the body begins. */
MUST_USE enum err record_reader_heads(struct record_reader *,
    const struct journal_entry *, struct capture *, struct why *);

#endif
