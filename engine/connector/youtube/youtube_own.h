/*
 * youtube_own -- a run over channels or videos, and its steps.
 *
 *     channel:   channel ─► uploads ─► videos ─► uploads ... ─► next seed
 *                                        └─ threads of each of them ─┘
 *     comments:  threads ─► replies ─► replies ... threads ... ─► next seed
 *
 * Lists are read from the newest entry on.
 *
 * Thread: one at a time.
 */
#ifndef ENGINE_CONNECTOR_YOUTUBE_YOUTUBE_OWN_H
#define ENGINE_CONNECTOR_YOUTUBE_YOUTUBE_OWN_H

#include "engine/connector/cursor.h"
#include "engine/connector/seed_run.h"

#define YOUTUBE_VIDEOS_LABEL "youtube videos"
#define YOUTUBE_COMMENTS_LABEL "youtube comments"
#define YOUTUBE_ID_BYTES_MAX 64u
#define YOUTUBE_COMMENT_BYTES_MAX 128u
#define YOUTUBE_VIDEOS_MAX 50u       /* of a page, and of a call */
#define YOUTUBE_COMMENTS_MAX 100u    /* of a page */
/* So often an empty page that leads on is asked for again. */
#define YOUTUBE_EMPTY_TRIES 2u

enum youtube_step {
	YOUTUBE_CHANNEL,             /* the seed's channel */
	YOUTUBE_UPLOADS,             /* a page of its list of videos */
	YOUTUBE_VIDEOS,              /* the new videos of that page */
	YOUTUBE_THREADS,             /* a page of comments on a video */
	YOUTUBE_REPLIES,             /* a page of replies to a comment */
	YOUTUBE_STEPS_N
};

/* A list that is read from the newest entry on. */
struct youtube_list {
	struct cursor page;
	bool has_more;               /* there is a page after that at hand */
	bool begun_anew;             /* its cursor was no longer good */
	struct wall since;           /* only what is newer; 0: all */
	struct wall newest;          /* date of the newest entry */
	uint64_t ids;                /* hash of those of the page before */
};

struct youtube_run {
	struct seed_run seed;

	/* Part of the checkpoint. */
	struct buf channel, uploads; /* ids: the seed's, and its list's */
	struct youtube_list videos;
	/* "a,b": of the page at hand those that are asked for, and then those
	 * whose comments are. */
	struct buf video_ids;
	struct youtube_list threads;
	/* "a,b": of the page at hand those whose replies are asked for. */
	struct buf comment_ids;
	struct cursor replies;
};

/* Whether the run is about comments alone. */
bool youtube_is_comments(const struct youtube_run *);
/* The id of a video, given so or by its address. */
bool youtube_video_id(struct str given, struct buf *id);
/* The first of "a,b". */
struct str youtube_first(const struct buf *ids);
/* The list of that channel or video begins, in an incremental run where the
 * last one ended. */
void youtube_begin_list(struct youtube_run *, struct youtube_list *,
    struct str id);
/* The name of a list's state. */
void youtube_state_key(struct str id, struct buf *key);

/* What an answer says; see struct seed_run_kind. */
void youtube_answer(struct seed_run *, const struct connector_answer *,
    const struct connector_findings *);

#endif
