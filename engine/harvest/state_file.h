/*
 * state_file -- DIR/state.json: what the harvests of one directory have left
 * for the next one.
 *
 *     {"__main__":{"https://a.example.1.min_id":"109"},
 *      "twitter_harvester":{"timeline.5.since_id":1234567890123456789}}
 *
 * SFM's services write the section `__main__`, its libraries their module's
 * name; all are read.  A value is a text or a number, and numbers keep their
 * digits.  A key that stands in several sections has the greatest value, by
 * length and then by bytes.
 *
 * Thread: any; blocks.  Errors: CORRUPT when the file is no such JSON; those of
 * os/shared_dir.h.
 * Source: contracts/platforms.md §1.
 */
#ifndef ENGINE_HARVEST_STATE_FILE_H
#define ENGINE_HARVEST_STATE_FILE_H

#include "base/arena.h"
#include "engine/connector/connector.h"
#include "os/shared_dir.h"

#define STATE_FILE_BYTES_MAX ((size_t)64 << 20)
/* Of the directory of a harvest: what is Argiope's alone. */
#define STATE_FILE_OWN_DIR ".argiope"
/* In it. */
#define STATE_FILE_LOCK "state.lock"

/* Its pairs, sorted by key; none where there is no file.  Memory: `a`. */
MUST_USE enum err state_file_read(const struct shared_dir *, struct arena *a,
    struct connector_state **, size_t *n, struct why *);
/*
 * Put these in place of older ones, durably, under a lock: a new value that is
 * all digits, as the old one is, only when it is greater.  A key that is there
 * stays in its section, and a number where it was one; a new one goes to
 * `__main__`, as a number if `numbers`.
 * Errors: BUSY while another process does the same.
 */
MUST_USE enum err state_file_merge(const struct shared_dir *,
    const struct connector_state *, size_t n, bool numbers, struct why *);

#endif
