/*
 * place -- brings a harvest's finished WARC files to the directories where
 * others read them.
 *
 *     DATA/harvest/ID/NAME.warc.gz ─► PATH/2026/11/20/09/NAME.warc.gz
 *
 * The hour is that of the file's name.  At the old place a note (archive/
 * moved.h) says where the file is, so that its captures can still be read.
 *
 * Thread: any; blocks for as long as a big file takes.
 * Source: contracts/harvest.md §4, contracts/warc.md §1.
 */
#ifndef ENGINE_HARVEST_PLACE_H
#define ENGINE_HARVEST_PLACE_H

#include "engine/store/store_harvest.h"
#include "os/shared_dir.h"

/*
 * The finished WARC files in `dir` whose names are not among the `known_n`
 * first of `*list`, with size, SHA-1, date and a new id, appended to them;
 * memory: `a`.  An absent directory is an empty one.
 */
MUST_USE enum err place_collect(const char *dir, struct arena *a,
    struct store_harvest_warc **list, size_t known_n, size_t *n, struct why *);

/*
 * One file, wherever it is: name, size, SHA-1, date and a new id; memory: `a`.
 * Errors: INPUT: its name is none that we gave; those of reading.
 */
MUST_USE enum err place_describe(const char *file, struct arena *a,
    struct store_harvest_warc *, struct why *);

/*
 * Bring one to its hour directory below `to`, which is PATH, durably.  Done
 * before, it is no error: what stands there with its size and SHA-1 is our own.
 * Errors: EXISTS when anything else does; those of the volume.
 */
MUST_USE enum err place_file(const char *dir, const struct shared_dir *to,
    const char *path, const struct store_harvest_warc *, struct why *);

/* Where it is then: "PATH/2026/11/20/09/NAME".  Memory: `a`. */
struct str place_path(const char *path, const struct store_harvest_warc *,
    struct arena *a);

#endif
