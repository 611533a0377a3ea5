/*
 * sort -- lines sorted by their bytes in bounded memory: runs are sorted in
 * memory, written beside the result, and merged.
 *
 * Thread: one.  Limits: sort.bytes_max of memory; a line of at most
 * SORT_LINE_MAX bytes, a longer one is INPUT.
 */
#ifndef ENGINE_ARCHIVE_SORT_H
#define ENGINE_ARCHIVE_SORT_H

#include "base/bytes.h"
#include "base/err.h"

#define SORT_BYTES_MAX_DEFAULT ((size_t)64 << 20)
#define SORT_LINE_MAX ((size_t)1 << 20)
/* Runs merged at once; more are merged in several passes. */
#define SORT_RUNS_MAX 64

/* A file of lines, written from its start. */
struct line_file {
	int fd;
	uint64_t at;
	struct buf buf;              /* what is not written yet */
};
MUST_USE enum err line_file_open(struct line_file *, const char *path,
    struct why *);
/* The first argument is a struct line_file: for sorter_finish(). */
MUST_USE enum err line_file_put(void *, struct str line, struct why *);
/*
 * What was put is written, and durable with `sync`.  Closed in any case; one
 * that could not be opened may be closed without `sync`.
 */
MUST_USE enum err line_file_close(struct line_file *, bool sync,
    struct why *);

struct sorter;

/* Runs are files named `<scratch>.run-<n>`, removed when they are done with. */
struct sorter *sorter_new(const char *scratch, size_t bytes_max);
void sorter_free(struct sorter **);   /* removes what is left */
/* The first argument is a sorter; `line` is without its line end. */
MUST_USE enum err sorter_put(void *, struct str line, struct why *);
/*
 * Hand all lines to `line` in their order, equal ones once.  The sorter is
 * used up.  Errors: the callback's; IO, DISK_FULL.
 */
MUST_USE enum err sorter_finish(struct sorter *,
    enum err (*line)(void *arg, struct str, struct why *), void *arg,
    struct why *);

#endif
