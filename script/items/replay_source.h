/*
 * replay_source -- bodies for replays from the daemon's archive and store.
 *
 * Thread: home's.  Private to script/items.
 */
#ifndef SCRIPT_ITEMS_REPLAY_SOURCE_H
#define SCRIPT_ITEMS_REPLAY_SOURCE_H

#include "script/items/replay_run.h"
#include "script/items/runner_own.h"

/* The runner outlives the runs that ask it. */
struct replay_source replay_source_of(struct task_runner *);

#endif
