/*
 * pipe -- bytes from a thread that may block to a loop that may not.
 *
 *     thread: pipe_write() ... close the write end
 *     loop:   watch the read end; pipe_read() until it says that it is over
 *
 * The kernel holds some 64 KiB in between, so that a slow reader stops the
 * writer.  A reader that closes its end makes the writer fail: CLOSED.
 * Thread: each end one.  The process ignores SIGPIPE: system_ignore_sigpipe().
 */
#ifndef OS_PIPE_H
#define OS_PIPE_H

#include "base/bytes.h"
#include "base/err.h"

/* Reading never blocks, writing does.  file_close() ends each. */
MUST_USE enum err pipe_open(int *read_end, int *write_end, struct why *);
/* All of it.  Errors: CLOSED when nobody reads any more; IO. */
MUST_USE enum err pipe_write(int fd, struct str, struct why *);
/*
 * Append at most `room` bytes that are there, perhaps none.  False when the
 * write end is closed and all was read.
 */
bool pipe_read(int fd, size_t room, struct buf *);

#endif
