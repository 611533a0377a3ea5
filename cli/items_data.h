/*
 * items_data -- the items of a data directory, for commands.
 *
 * Reading opens items.db beside whoever has it.  Writing is done here when no
 * process holds the data, else by the daemon that does, over its items door.
 *
 * Thread: the main one.
 */
#ifndef CLI_ITEMS_DATA_H
#define CLI_ITEMS_DATA_H

#include "cli/ask.h"
#include "cli/cli.h"
#include "engine/items/items.h"
#include "engine/items/item_query.h"

/* Whether store.url names a database that several processes use. */
bool items_data_is_shared(const struct cli *);
/*
 * Open for reading; settles data_dir.  The configuration in force is known.
 * ABSENT: "there are no items in DIR".
 */
MUST_USE enum err items_data_read(struct cli *, struct item_store **,
    struct why *);

struct items_data {
	struct cli *cli;
	int lock_fd;
	struct loop *home;
	struct items *items;         /* NULL: a daemon holds the data */
};
/*
 * Open for writing; makes the data where there is none.  BUSY when a process
 * holds it that serves no port.  items_data_close() in any case.
 */
MUST_USE enum err items_data_open(struct cli *, struct items_data *,
    struct why *);
void items_data_close(struct items_data *);
/* A request that is carried out here: run() and want() are the caller's. */
struct items_data_write {
	struct items_write write;
	bool is_done;
};
/* Carry it out; its result is returned. */
MUST_USE enum err items_data_write(struct items_data *,
    struct items_data_write *, struct why *);

/*
 * Ask the daemon.  `*answer` is the body of an answer of 200 or 201.  Errors:
 * what the daemon says.
 */
MUST_USE enum err items_data_ask(struct items_data *,
    const struct ask_request *, struct str *answer, struct why *);
/*
 * Ask a daemon that must be running; begins the verb.  `*answer` as above.
 * Errors: UNREACHED, naming the data directory; what the daemon says.
 */
MUST_USE enum err items_data_order(struct cli *, const struct ask_request *,
    struct str *answer, struct why *);
/* A part of a path, percent-encoded so that it is no word of the door's. */
void items_data_part(struct buf *, struct str part);

#endif
