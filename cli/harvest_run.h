/*
 * harvest_run -- a harvest in the foreground, for other verbs about harvests.
 *
 * Thread: the main one.
 */
#ifndef CLI_HARVEST_RUN_H
#define CLI_HARVEST_RUN_H

#include "cli/cli.h"

/*
 * Go on with a harvest of the data directory until it is over or paused, as
 * `harvest run --resume` does; `stops`: it ends at once, as a success.  The
 * summary and the exit code are in the cli.  Errors: ABSENT; STATE: it is over;
 * BUSY; those of the data.
 */
MUST_USE enum err harvest_run_again(struct cli *, struct str id, bool stops,
    struct why *);

#endif
