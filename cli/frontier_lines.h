/*
 * frontier_lines -- the lines of a file or of standard input, packed by gzip or
 * not, read on a thread of its own: a slow input does not stop the loop.
 *
 * Memory: some chunks of 256 KiB, and a line.
 * Thread: the loop's.
 * Limits: FRONTIER_LINE_BYTES_MAX.
 */
#ifndef CLI_FRONTIER_LINES_H
#define CLI_FRONTIER_LINES_H

#include "base/err.h"
#include "os/loop.h"

/* A URL of 4 MiB may have six bytes a letter in JSON. */
#define FRONTIER_LINE_BYTES_MAX ((size_t)32 << 20)

struct frontier_lines;

/*
 * Begin to read; "-" is standard input.  ready() is called on the loop when
 * lines came after LATER.  Errors: those of opening.
 */
MUST_USE enum err frontier_lines_open(const char *path, struct loop *,
    void (*ready)(void *arg), void *arg, struct frontier_lines **,
    struct why *);
/*
 * False: its thread still waits for an input that does not come.  The process
 * must end then, and the loop stay until it does.
 */
bool frontier_lines_close(struct frontier_lines **);

enum frontier_line { LINE_HERE, LINE_TOO_LONG, LINE_LATER, LINE_END };
/*
 * The next line, without its end, and its number from 1.  It stands until the
 * next call.  END: also when reading failed: frontier_lines_why().
 */
enum frontier_line frontier_lines_next(struct frontier_lines *, struct str *,
    uint64_t *number);
/* OK, or why the end came too early. */
const struct why *frontier_lines_why(const struct frontier_lines *);

#endif
