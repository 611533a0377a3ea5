/*
 * config_load -- reads the file that items.config names and makes it the
 * configuration in force: at a start, at SIGHUP, and by POST
 * /items-config/reload.
 *
 * The file is a module, which a sandboxed process reads and whose tasks run
 * here; or JSON with the same members, whose tasks remote workers run.
 *
 *     files ─► the reader's thread ─► [sandbox] ─► judged ─► the writer: a
 *                                                            generation
 *
 * A faulty file changes nothing: what was in force stays.
 *
 * Thread: home's.
 */
#ifndef DOORS_ITEMS_CONFIG_LOAD_H
#define DOORS_ITEMS_CONFIG_LOAD_H

#include "doors/items/items_door.h"

/* Load it in the background, if there is one; faults go to the log. */
void config_load_start(struct items_door *);

#endif
