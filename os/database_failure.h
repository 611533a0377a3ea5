/*
 * database_failure -- which databases of this process cannot be written: those
 * whose last write has failed for a reason of their own, and no write has
 * succeeded since.
 *
 * A write is a transaction that may write (all of ours write in one).  It has
 * succeeded when it was committed with a change.  Reasons of a database's own
 * are a full or failing disk, a missing right, damage, a lock that another
 * process keeps, a server that is away; a constraint, a value that is too long
 * and a conflict of two transactions are the caller's.
 *
 * As long as there is one, its owner should write now and then, be it by
 * database_touch(): nobody else may, when readiness keeps others away.
 *
 * Thread: database_failures() any; the rest is the database's.
 */
#ifndef OS_DATABASE_FAILURE_H
#define OS_DATABASE_FAILURE_H

#include "base/time.h"
#include "os/database.h"

struct database_failure {
	struct wall since;
	struct why why;              /* its text names the file or the server */
};

/* Those that cannot be written, the longest first, up to `most`; how many
 * there are. */
size_t database_failures(struct database_failure *, size_t most);
/* Whether this one is among them. */
bool database_is_failing(const struct database *);
/*
 * Within a transaction: write something without changing anything, so that the
 * commit tells whether writes succeed again.
 */
MUST_USE enum err database_touch(struct database *, struct why *);

#endif
