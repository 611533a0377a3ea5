/*
 * key_file -- the key under which this installation seals what it stores:
 * secrets.key_file, 32 random bytes that only their owner may read.
 *
 * Thread: any; at start.
 */
#ifndef OS_KEY_FILE_H
#define OS_KEY_FILE_H

#include "base/err.h"

#define KEY_FILE_BYTES 32u
#define KEY_FILE_NAME "secrets.key"     /* in the data directory */

/*
 * Read the key at `path`.  With `make` a missing file is made, durably, of
 * random bytes; of two processes that make it at once both get the same key.
 * Errors: DENIED when others than its owner may use it; CORRUPT when it does
 * not have 32 bytes; ABSENT without `make`; those of os/file.h.
 */
MUST_USE enum err key_file_read(const char *path, bool make,
    uint8_t key[static KEY_FILE_BYTES], struct why *);

#endif
