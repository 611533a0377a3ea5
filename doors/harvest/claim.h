/*
 * claim -- which of several daemons has a harvest, or an export:
 * PATH/.argiope/SAFE-ID.claim contains its name.  Of an export PATH is the
 * directory that its own one lies in.
 *
 * A daemon that dies between its record of a start message and the
 * acknowledgement may find that the broker has given the message to another
 * one.  Whoever's name stands in the file has the work.
 *
 * Thread: any; blocks.
 * Source: contracts/harvest.md §3.
 */
#ifndef DOORS_HARVEST_CLAIM_H
#define DOORS_HARVEST_CLAIM_H

#include "os/shared_dir.h"

/*
 * Claim it for `instance`, durably, in PATH; once more is no error.
 * Errors: EXISTS: another one has it; those of os/shared_dir.h.
 */
MUST_USE enum err claim_take(const struct shared_dir *, struct str id,
    struct str instance, struct why *);
/* Remove it, if it is of `instance`; none is no error. */
MUST_USE enum err claim_drop(const struct shared_dir *, struct str id,
    struct str instance, struct why *);

#endif
