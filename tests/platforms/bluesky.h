/*
 * bluesky -- the world of the simulated Bluesky, and its JSON.
 *
 * Entries are posts and reposts.  They stand by the dates by which a feed lists
 * them; new ones come at the end, and those that are deleted stay as marks.
 */
#ifndef TESTS_PLATFORMS_BLUESKY_H
#define TESTS_PLATFORMS_BLUESKY_H

#include "tests/platforms/platforms.h"

#define BLUESKY_POSTS "app.bsky.feed.post"
#define BLUESKY_REPOSTS "app.bsky.feed.repost"
#define BLUESKY_NONE SIZE_MAX        /* no entry */

enum bluesky_status { BLUESKY_FINE, BLUESKY_TAKEN_DOWN, BLUESKY_DEACTIVATED,
	BLUESKY_BLOCKED, BLUESKY_DELETED };

/* What Jetstream tells; the first four are commits. */
enum bluesky_event { BLUESKY_CREATE, BLUESKY_UPDATE, BLUESKY_DELETE,
	BLUESKY_LIKE, BLUESKY_IDENTITY, BLUESKY_ACCOUNT, BLUESKY_SYNC };

struct bluesky_account {
	char handle[64], did[48];
	const char *display;
	enum bluesky_status status;
	bool pins;                   /* its first post stands on top */
	unsigned posts_n;            /* that are not deleted */
};

struct bluesky_entry {
	struct wall listed;          /* where it stands in feeds */
	struct wall created, indexed;
	unsigned account;
	char rkey[14], cid[60];
	size_t repost_of;            /* an earlier entry, or BLUESKY_NONE */
	size_t reply_to, root;       /* the same; both or none */
	size_t quote;
	unsigned images;
	bool card, video, deleted;
	uint64_t look;               /* what its text is made of */
};

struct bluesky_world {
	struct bluesky_account *accounts;
	size_t accounts_n;
	struct bluesky_entry *entries;
	size_t entries_n, entries_cap;
	uint64_t random;
};

void bluesky_make(uint64_t seed, struct wall now, unsigned items);
struct bluesky_world *bluesky_world(void);
/* By handle, in any case, or DID; NULL: none. */
struct bluesky_account *bluesky_account(struct str actor);
/* By its address, "at://DID/COLLECTION/RKEY"; BLUESKY_NONE: none. */
size_t bluesky_entry(struct str uri);
/* Its address into `out`. */
void bluesky_put_uri(struct buf *out, const struct bluesky_entry *);
const char *bluesky_status_word(enum bluesky_status);

/* One more post of that account, at this time. */
void bluesky_add(unsigned account, struct wall when);
bool bluesky_rename(struct str from, struct str to);

/* 13 letters and digits that sort by the date. */
void bluesky_make_tid(struct wall, char out[static 14]);

/* ---- Jetstream (bluesky_stream.c) -------------------------------------- */

/* What happened before, and what happens now. */
void bluesky_make_events(struct wall now);
void bluesky_happen(enum bluesky_event, unsigned account, size_t entry,
    struct wall);
/* False: it is no such call. */
bool bluesky_answer_stream(struct request *);
void bluesky_describe_events(struct buf *);

/* ---- JSON (bluesky_json.c) --------------------------------------------- */

void bluesky_write_profile(struct buf *, const struct bluesky_account *);
/* `big`: bytes that are added to its text. */
void bluesky_write_entry(struct buf *, const struct bluesky_entry *,
    bool pinned, uint64_t big);
/* What its author wrote, a post or a repost. */
void bluesky_write_record(struct buf *, const char *name,
    const struct bluesky_entry *, uint64_t big);

#endif
