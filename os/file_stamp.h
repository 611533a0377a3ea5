/*
 * file_stamp -- tells whether a file is still the one that was read.
 *
 * Thread: any.
 */
#ifndef OS_FILE_STAMP_H
#define OS_FILE_STAMP_H

#include "base/base.h"

/* All zero: the file cannot be looked at. */
struct file_stamp {
	uint64_t device, number, bytes;
	int64_t changed_ns;          /* its content, since 1970 */
};

/* Take it before the file is read, so that a later change is one. */
struct file_stamp file_stamp_of(const char *path);
bool file_stamp_eq(const struct file_stamp *, const struct file_stamp *);

#endif
