/*
 * config_load -- reads the file that items.config names and makes it the
 * configuration in force: at a start, at SIGHUP, and by POST
 * /items-config/reload.
 *
 * The file is JSON with the members of contracts/items.md §6.  Its tasks are
 * those of remote workers, because JSON has no functions.
 *
 *     file ─► the reader's thread: read, judged ─► the writer: a generation
 *
 * A faulty file changes nothing: what was in force stays.
 *
 * Thread: home's.
 */
#ifndef DOORS_ITEMS_CONFIG_LOAD_H
#define DOORS_ITEMS_CONFIG_LOAD_H

#include "doors/items/items_door.h"

/* Whether the setting names a file that can be read here.  Errors: CONFIG. */
MUST_USE enum err config_load_check(struct items_door *, struct why *);
/* Load it in the background, if there is one; faults go to the log. */
void config_load_start(struct items_door *);

#endif
