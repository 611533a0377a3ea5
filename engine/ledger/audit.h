/*
 * audit -- compares finished WARC files with what the ledger recorded of them:
 * an archive may have lost files, or their ends, while nobody looked.
 *
 * A file that is not as recorded keeps no crawl from going on: what was
 * captured is not fetched again, and what is left is read as before.  A file
 * that a hook has moved (engine/archive/moved.h) is not missing.
 *
 * Thread: any; one object one thread.
 */
#ifndef ENGINE_LEDGER_AUDIT_H
#define ENGINE_LEDGER_AUDIT_H

#include "base/err.h"

struct audit_finding {
	const char *path;
	const char *name;            /* the last part of the path */
	bool missing;                /* else moved, else it is shorter */
	const char *moved;           /* its new place; NULL: it has no note */
	bool readable;               /* ... where it can be read */
	uint64_t bytes, recorded;    /* the size; as recorded */
};
typedef void audit_event(void *arg, const struct audit_finding *);

/*
 * Each finished file that is missing, moved, or shorter than recorded.  Reads
 * the index without its lock, also while another process writes it: files that
 * were finished since the last checkpoint are not looked at.
 * Errors: ABSENT when there is no index; CORRUPT; IO.
 */
MUST_USE enum err audit_archive(const char *data_dir, audit_event *,
    void *arg, struct why *);
/* The same for an index that is open.  Errors: CORRUPT; IO. */
struct index;
MUST_USE enum err audit_index(struct index *, audit_event *, void *arg,
    struct why *);

#endif
