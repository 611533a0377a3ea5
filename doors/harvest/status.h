/*
 * status -- the messages that tell what a harvest does: statuses, and
 * warc_created.
 *
 * SFM's consumers read them as they are; what would end those is kept out:
 * counts above 2^31 - 1, notes without code or text, unknown seed ids.
 *
 * Thread: any; pure.
 * Source: contracts/harvest.md §7, §8, §9.
 */
#ifndef DOORS_HARVEST_STATUS_H
#define DOORS_HARVEST_STATUS_H

#include "engine/harvest/totals.h"
#include "engine/store/store_harvest.h"

#define STATUS_NAMES_MAX 2000u       /* entries of both maps in one status */
/* A status has at most 1 MiB: notes share so much of it, and so do names. */
#define STATUS_PART_BYTES_MAX ((size_t)400 << 10)

struct status {
	struct str id;
	enum store_harvest_state state;
	bool spec_words;             /* stopping and paused are "running" */
	struct wall started, ended;  /* ended: of one that is over */
	const struct totals *totals;
	/* Entries of the totals' maps that earlier statuses have had; after
	 * status_put(), those and the ones of this status. */
	uint64_t tokens_told, uids_told;
	uint64_t warcs, warc_bytes;
	const char *platform;        /* "mastodon"; NULL: not known */
	struct str host;
	int64_t process;
};

/* Append the JSON of a status. */
void status_put(struct status *, struct buf *);
/* Whether maps have entries that no status has had. */
bool status_has_names(const struct status *);

/*
 * Append the JSON of warc_created.  `path` is the file's as the requester knows
 * it; `message` the start message, for its "collection_set" and "collection".
 */
void status_put_warc(const struct store_harvest_warc *, struct str path,
    const struct store_harvest *, struct buf *);

#endif
