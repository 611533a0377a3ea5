/*
 * channel -- a pair of connected sockets between two processes.
 *
 * Thread: each end one.  The process ignores SIGPIPE.
 */
#ifndef OS_CHANNEL_H
#define OS_CHANNEL_H

#include "base/bytes.h"
#include "base/err.h"

/* Bytes in both directions.  `near` does not block, `far` does. */
MUST_USE enum err channel_open(int *near, int *far, struct why *);

/* Close an end and set it to -1. */
void channel_close(int *fd);

/*
 * Read at most `max` bytes: how many; 0 when none are there yet or, for an end
 * that blocks, never; -1 when the other side is gone.
 */
int64_t channel_read(int fd, void *out, size_t max);
/* Write at most `n` bytes: the same results. */
int64_t channel_write(int fd, const void *p, size_t n);
/* Wait until there is something to read: false after `ms`. */
bool channel_wait(int fd, int ms);

#endif
