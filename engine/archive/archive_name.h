/*
 * archive_name -- the names of WARC files:
 *
 *     <prefix>-<17 digits of UTC time>-<serial>-<token>.warc.gz
 *
 * (docs/protocols/warc.md section 1.)  While such a file is written, ".open" is
 * added to its name.  Thread: any.
 */
#ifndef ENGINE_ARCHIVE_ARCHIVE_NAME_H
#define ENGINE_ARCHIVE_ARCHIVE_NAME_H

#include "base/arena.h"
#include "base/time.h"

#define ARCHIVE_TOKEN_CHARS 8

struct archive_name {
	struct str prefix, token;
	struct str digits;      /* 17 */
	uint32_t serial;
	bool zstd;              /* ends in .warc.zst */
};
/* Memory: `a`; NUL behind it. */
struct str archive_name_make(struct str prefix, struct wall, uint32_t serial,
    struct str token, struct arena *a);
/* Slices borrow from `name`.  False when it is none of ours. */
bool archive_name_parse(struct str name, struct archive_name *);
/* ".warc", ".warc.gz" or ".warc.zst", and not hidden. */
bool archive_name_is_warc(struct str name);
struct str archive_base_name(struct str path);
/* The path without its last part; empty at the root. */
struct str archive_dir_name(struct str path);
/* Without ".open". */
struct str archive_final_name(struct str entry);

#endif
