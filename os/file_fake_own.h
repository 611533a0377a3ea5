/*
 * file_fake_own -- what the files of file_fake.h share; nobody else's.
 */
#ifndef OS_FILE_FAKE_OWN_H
#define OS_FILE_FAKE_OWN_H

#include "os/file_fake.h"

/* The bytes of a file, sparse: a page that is NULL is zeros. */
struct image {
	char **pages;
	size_t pages_n;
	uint64_t size;
};
void image_write(struct image *, uint64_t at, const char *, size_t n);
/* How many of the n bytes there are. */
size_t image_read(const struct image *, uint64_t at, char *, size_t n);
/* Cut or grow; what is behind the new size reads as zeros if it comes back. */
void image_cut(struct image *, uint64_t size);
void image_copy(struct image *to, const struct image *from);
void image_free(struct image *);

/*
 * Count a call; an error when a plan wants it to fail.  `*stopped`, which may
 * be NULL: by the plan of FILE_CALL_CHANGE, so that nothing happened at all.
 */
enum err file_fault_due(enum file_call, bool *stopped);
void file_faults_reset(void);

#endif
