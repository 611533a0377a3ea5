/*
 * archive_memory_testing -- the archive port over memory, for tests: what goes
 * round the port does not find its files.  One at a time; thread: any.
 */
#ifndef ENGINE_ARCHIVE_ARCHIVE_MEMORY_TESTING_H
#define ENGINE_ARCHIVE_ARCHIVE_MEMORY_TESTING_H

#include "engine/archive/archive_port.h"
#include "base/bytes.h"

/* Put an empty one in use; memory_archive_end() puts the files' back. */
void memory_archive_begin(void);
void memory_archive_end(void);
/* The bytes of a file, which live until it is written to; fails if absent. */
struct str memory_archive_bytes(const char *path);
/* Handles that are open. */
size_t memory_archive_handles(void);

#endif
