/*
 * pages -- memory straight from the system, for tables that grow by copying:
 * what is freed goes back at once and leaves no holes among other memory.
 *
 * Worth it from half a page on.  Memory that cannot be had ends the program,
 * as in base/base.h.  Thread: any.
 */
#ifndef OS_PAGES_H
#define OS_PAGES_H

#include "base/base.h"

#define PAGE_BYTES ((size_t)4096)

void *pages_new(size_t bytes);             /* zeroed; bytes is not 0 */
/* The same, in huge pages where the system has them. */
void *pages_new_large(size_t bytes);
/*
 * Have the system provide and clear the memory now, on `threads` threads, not
 * at the first use of each page: one thread alone needs long for 200 MB.
 */
#define PAGES_FILL_THREADS_MAX 4
void pages_fill(void *, size_t bytes, unsigned threads);
/* As given to pages_new(), or whole pages of that. */
void pages_free(void *, size_t bytes);

#endif
