/*
 * claims -- a start finds out whether data directory and archive belong
 * together, and of the same time; each new WARC file renews the claim.
 *
 *     index, META:   identity      id of the data directory
 *                    origin        paths.origin
 *                    mark/ROOT     group8 start8 of ROOT's newest file
 *     ROOT:          owner_write(): the same, and the one before
 *
 * The sync thread writes the owner file before the members of a new file, in
 * the group that also puts its META record.  So the file is at most one group
 * ahead of the log, and then names the log's position as the one before; what
 * else differs was written by another process than those of this log.
 *
 * Private to engine/ledger.  Thread: the ledger's loop.
 */
#ifndef ENGINE_LEDGER_CLAIMS_H
#define ENGINE_LEDGER_CLAIMS_H

#include "engine/ledger/group.h"

struct claims;
struct claims_facts {
	uint64_t last;               /* the log's last group */
	bool log_lost;               /* it is empty, and the index is not */
};

/* `home` is copied.  Reads `origin`: records can be read from now on. */
MUST_USE enum err claims_new(const char *home, enum ledger_claims,
    struct index *, struct claims **, struct why *);
void claims_free(struct claims **);
const struct stored_paths *claims_paths(const struct claims *);
/*
 * The log is replayed: compare.  Errors: CORRUPT with what to do.  After OK
 * DATA/identity is as it should be.
 */
MUST_USE enum err claims_check(struct claims *, const struct claims_facts *,
    struct why *);
/* Put what is new into the gathering group; with TAKE, a mark for each root. */
void claims_start(struct claims *, struct ledger *);
/* The group begins a file in this WARC directory. */
void claims_mark(struct claims *, struct group *, struct str warc_dir);
/* As ledger_may_archive(); `last`: the last group that was sealed. */
MUST_USE enum err claims_may_use(struct claims *, uint64_t last,
    struct str warc_dir, struct why *);

#endif
