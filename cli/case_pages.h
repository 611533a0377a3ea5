/*
 * case_pages -- the answers that a recorded run got, as records of the archive
 * in a file of their own: copied by `argiope task record`, read by `argiope
 * task test`.
 *
 * The records keep their numbers.  A revisit comes with the record that it
 * refers to, which has the body.
 *
 * Thread: the main one.
 */
#ifndef CLI_CASE_PAGES_H
#define CLI_CASE_PAGES_H

#include "cli/cli.h"
#include "engine/catalog/archive_tools.h"
#include "script/items/replay_run.h"

/*
 * Append the records of all captures that the run's calls were answered with,
 * packed as they are.  Errors: ABSENT: the archive has one no more; IO.
 */
MUST_USE enum err case_pages_copy(struct cli *, const struct replay_record *,
    struct buf *out, struct why *);

struct case_pages;
/* A file that is not there has no captures.  Errors: IO. */
MUST_USE enum err case_pages_open(const char *path, struct case_pages **,
    struct why *);
void case_pages_free(struct case_pages **);
/* Fill in the answer of a REPLAY_CAPTURE, decoded within the limits. */
void case_pages_answer(struct case_pages *, struct http_decode_limits,
    struct replay_need *);

#endif
