/*
 * items_change -- a change of items by a command: carried out here, or asked of
 * the daemon that holds the data; both answer with the same JSON.
 *
 * Thread: the main one.
 */
#ifndef CLI_ITEMS_CHANGE_H
#define CLI_ITEMS_CHANGE_H

#include "cli/items_data.h"

struct items_change {
	struct items_data_write request;     /* run(): the command's */
	struct cli *cli;
	struct str id;
	struct buf out;              /* run()'s answer: JSON */
	/* items add */
	const struct item_create *create;
	/* items tags */
	const struct item_tag_text *add;
	const struct str *remove;
	size_t add_n, remove_n;
};
struct items_change *items_change_of(struct items_write *);

/* Here, or by the daemon; the answer is printed. */
MUST_USE enum err items_change_do(struct items_change *,
    const struct ask_request *, struct why *);
/* As JSON, or as words. */
MUST_USE enum err items_change_print(struct cli *, struct str json,
    struct why *);

/* {"id":"x","effect":"new","rev":1} in place of what `out` has; rev 0: none. */
void items_change_effect(struct items_change *, struct str id,
    enum item_effect, uint64_t rev);
/* "/items/ID" and the rest. */
void items_change_path(struct buf *, struct str id, const char *rest);

/* In the name of an operator. */
extern const struct item_actor items_change_actor;

#endif
