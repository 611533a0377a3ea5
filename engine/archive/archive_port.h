/*
 * archive_port -- how engine/archive, engine/ledger and the readers of records
 * open, list, write and rename WARC and CDXJ files.  archive_dir.c implements
 * the table with files in directories; a test may set another table.
 *
 * Paths are bytes.  A handle is a small integer, -1 for none; it reads what a
 * source offers, and writes when it was got from create(), scratch() or
 * reopen().  Not through the port: parts of a WACZ, notes of hooks (moved.h),
 * places that hooks have moved files to, and the marks of owners.
 *
 * Thread: any.  Errors: as os/file.h.
 */
#ifndef ENGINE_ARCHIVE_ARCHIVE_PORT_H
#define ENGINE_ARCHIVE_ARCHIVE_PORT_H

#include "base/arena.h"
#include "base/err.h"

struct buf;

struct archive_port {
	/* --- a source: a file that exists */
	enum err (*open)(const char *path, int *handle, struct why *);
	/* Up to n bytes; `*got` is less only at the end of the file. */
	enum err (*read_at)(int handle, uint64_t at, void *, size_t n,
	    size_t *got, struct why *);
	enum err (*size)(int handle, uint64_t *, struct why *);
	void (*close)(int *handle);         /* and sets it to -1 */
	/* Whether another process has it open. */
	bool (*in_use)(const char *path);
	/* Names in a directory, in any order.  ABSENT: there is none. */
	enum err (*list)(const char *dir, struct arena *, struct str **names,
	    size_t *n, struct why *);

	/* --- a writer */
	/*
	 * A new file whose name survives a power cut; its directories are made.
	 * A handle from a call that failed halfway is taken up again.
	 */
	enum err (*create)(const char *path, int *handle, struct why *);
	/* An empty file that may be lost, in a directory that exists. */
	enum err (*scratch)(const char *path, int *handle, struct why *);
	enum err (*reopen)(const char *path, int *handle, struct why *);
	enum err (*append)(int handle, uint64_t at, const void *, size_t n,
	    struct why *);
	/* All of them; after an error `*failed` is the index of one. */
	enum err (*sync)(const int *handles, size_t n, size_t *failed,
	    struct why *);
	/* End the file at `end`, durably. */
	enum err (*cut)(int handle, uint64_t end, struct why *);
	/* cut() it and give it its final name, durably; the directory is made.
	 * EXISTS: another file has the name. */
	enum err (*finish)(int handle, uint64_t end, const char *from,
	    const char *to, struct why *);
	/* Make durable what rename(), replace() and remove() did to `path`. */
	enum err (*place)(const char *path, struct why *);
	/* EXISTS: `to` is there.  The directory of `to` is made. */
	enum err (*rename)(const char *from, const char *to, struct why *);
	enum err (*replace)(const char *from, const char *to, struct why *);
	enum err (*remove)(const char *path, struct why *);
	/* Free bytes of the file system of `path`. */
	enum err (*free_bytes)(const char *path, uint64_t *, struct why *);
};

extern const struct archive_port archive_dir;

/* The port in use: archive_dir, until a test sets another one. */
const struct archive_port *archive_port(void);
void archive_port_use(const struct archive_port *);

/* Whether `path` can be opened; the error tells why it cannot. */
MUST_USE enum err archive_probe(const char *path, uint64_t *size,
    struct why *);
/* The whole file into `out` (appended), at most bytes_max, else FULL. */
MUST_USE enum err archive_load(const char *path, size_t bytes_max,
    struct buf *out, struct why *);

#endif
