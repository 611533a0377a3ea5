/*
 * stores -- the store of the data directory, opened beside a daemon or without
 * one, and dates as its verbs print them.
 */
#ifndef CLI_STORES_H
#define CLI_STORES_H

#include "cli/cli.h"
#include "engine/store/store.h"

/* Make it where there is none.  Settles data_dir.  Errors: store_open()'s. */
MUST_USE enum err stores_open(struct cli *, struct store **, struct why *);
/* Looking makes no store: ABSENT, "there is no WHAT in DIR". */
MUST_USE enum err stores_find(struct cli *, const char *what, struct store **,
    struct why *);
/* "2026-11-20T09:18:16Z", or "never" for 0. */
const char *stores_date(struct wall, char iso[static WALL_ISO_MAX]);
/* ,"name":"2026-11-20T09:18:16Z"; null for 0 and SCHEDULE_NEVER. */
void stores_put_date(struct buf *, const char *name, struct wall);

/*
 * The end of a verb that lists: print `n` rows of a size each.  JSON is
 * {"PLURAL":[{...}]}, with row_json() between the braces.  A store that is not
 * there, which is the error ABSENT, has no rows.
 */
struct stores_list {
	const char *what, *plural;   /* "token", "tokens" */
	const void *rows;
	size_t n, bytes_each;
	void (*row_json)(const void *row, struct buf *);
	void (*text)(const void *rows, size_t n, struct buf *);
};
MUST_USE enum err stores_print(struct cli *, const struct stores_list *,
    enum err);

#endif
