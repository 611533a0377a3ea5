/*
 * bundle -- the source files of one configuration, by their paths.
 *
 * Thread: one at a time.
 * Limits: script.bundle_bytes_max; BUNDLE_FILES_MAX.
 */
#ifndef SCRIPT_BUNDLE_H
#define SCRIPT_BUNDLE_H

#include "base/bytes.h"
#include "base/err.h"

#define BUNDLE_FILES_MAX 1000u
#define BUNDLE_PATH_BYTES_MAX 1000u

struct script_bundle;

/* A new one, with one holder.  `main` is the path of its main module. */
struct script_bundle *bundle_new(struct str main, size_t bytes_max);
struct script_bundle *bundle_hold(struct script_bundle *);
void bundle_drop(struct script_bundle **);   /* the last one frees it */
/*
 * Add a file, a module or JSON; both texts are copied.
 * Errors: INPUT when the path is not one of "a/b.js"; EXISTS; FULL.
 */
MUST_USE enum err bundle_add(struct script_bundle *, struct str path,
    struct str source, struct why *);
size_t bundle_files(const struct script_bundle *);
/* A file by its number, below bundle_files(), or by its path. */
struct str bundle_path(const struct script_bundle *, size_t i);
struct str bundle_source(const struct script_bundle *, size_t i);
bool bundle_find(const struct script_bundle *, struct str path, size_t *i);
const char *bundle_main(const struct script_bundle *);
/*
 * "sha256:" and 64 hexadecimal digits of all paths and sources, whatever the
 * order in which they were added.  No file may be added afterwards.
 */
const char *bundle_hash(struct script_bundle *);

#endif
