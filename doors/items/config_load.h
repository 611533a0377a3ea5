/*
 * config_load -- reads the file that items.config names and makes it the
 * configuration in force: at a start, at SIGHUP, and by POST
 * /items-config/reload.
 *
 * script/items/config_file.h does the work.
 *
 * Thread: home's.
 */
#ifndef DOORS_ITEMS_CONFIG_LOAD_H
#define DOORS_ITEMS_CONFIG_LOAD_H

#include "doors/items/items_door.h"

/*
 * Load it in the background, if there is one; faults go to the log.  What is no
 * fault of the file is tried again, after pauses that grow to a minute.
 */
void config_load_start(struct items_door *);
/* Try it no more. */
void config_load_stop(struct items_door *);

#endif
