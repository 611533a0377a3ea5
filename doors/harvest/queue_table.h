/*
 * queue_table -- the queues of start messages, and routing keys.
 *
 * Queue names are SFM's own, so that waiting messages are taken over.  The keys
 * that bind a queue come from the table of connectors: those of its platforms
 * that end by themselves, or its streams.  Queues of exports have the keys of
 * contracts/export.md §1.
 *
 *     harvest.start.mastodon.mastodon_account[.priority]
 *     harvest.status.mastodon.mastodon_account[.priority]
 *
 * Thread: any; pure.
 * Source: contracts/harvest.md §1, §7, §9.
 */
#ifndef DOORS_HARVEST_QUEUE_TABLE_H
#define DOORS_HARVEST_QUEUE_TABLE_H

#include "base/arena.h"

#define QUEUE_TABLE_STOP_KEY "harvest.stop.#"

struct queue_row {
	const char *name;
	const char *platforms;       /* "twitter twitter2" */
	bool priority;               /* keys end in ".priority" */
	bool all;                    /* one key takes all of a platform */
	bool streams;                /* of harvests that go on */
	/* Of exports: the keys after "export.start."; NULL: of harvests. */
	const char *export_keys;
};

#define QUEUE_TABLE_N 26u

/* The i-th; NULL after the last. */
const struct queue_row *queue_table_at(size_t i);
/*
 * The keys that bind it; none, when no connector is harvested by it.
 * Memory: `a`.
 */
const struct str *queue_table_keys(const struct queue_row *, struct arena *a,
    size_t *n);
/* The queue by which harvests of that type are exported; NULL: none. */
const struct queue_row *queue_table_find_exporter(struct str type);
/* The same for the status of an export. */
struct str queue_table_export_key(struct str start_key, struct str type,
    struct arena *a);
/* The queue without priority by which a type is harvested; NULL: none. */
const struct queue_row *queue_table_find(struct str type);

/*
 * The key of a status: the start key with its second word replaced.  A start
 * message that came by another key gets its type's.  Memory: `a`.
 */
struct str queue_table_status_key(struct str start_key, struct str type,
    struct arena *a);

/* Each byte outside of [A-Za-z0-9] becomes "_".  Memory: `a`. */
struct str queue_table_safe(struct str id, struct arena *a);

#endif
