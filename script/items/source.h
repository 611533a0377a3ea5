/*
 * source -- the source files of a configuration: the file that items.config
 * names, and what it imports by relative paths, inside its folder.
 *
 * Paths in a bundle are relative to that folder ("lib/parse.js").  A file is
 * taken when an import names it; whether that import is right is judged when
 * the module is loaded, by what knows the language.
 *
 * Thread: any.
 * Source: contracts/scripting.md §2.
 */
#ifndef SCRIPT_ITEMS_SOURCE_H
#define SCRIPT_ITEMS_SOURCE_H

#include "base/arena.h"
#include "script/bundle.h"

/*
 * Read them from the disk; bundle_drop() is the caller's.  Errors: ABSENT;
 * DENIED (a link leads out of the folder); FULL; IO, each naming the file.
 */
MUST_USE enum err source_load(const char *path, size_t bytes_max,
    struct script_bundle **, struct why *);
/* From files that were stored: {"shop.js":"..."}; `main` is one of them. */
MUST_USE enum err source_from_json(struct str json, struct str main,
    struct script_bundle **, struct why *);
/* {"shop.js":"..."}, the main file first. */
void source_to_json(const struct script_bundle *, struct buf *);

/*
 * The paths that a source imports, in their order: literals that begin with
 * "./" or "../" after `from`, `import` or `import(`.  Comments and strings may
 * give false ones.  `*at` starts with 0.
 */
bool source_next_import(struct str source, size_t *at, struct str *path);

#endif
