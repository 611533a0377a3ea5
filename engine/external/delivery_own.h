/*
 * delivery_own -- what the files of delivery share.
 */
#ifndef ENGINE_EXTERNAL_DELIVERY_OWN_H
#define ENGINE_EXTERNAL_DELIVERY_OWN_H

#include "base/json.h"
#include "engine/external/delivery.h"

#define CODE_RUNNING 102u
#define CODE_ERROR 500u
#define CODE_MAX 999u
/* A range of 2^31 documents is split this often at most. */
#define SPLITS_MAX 32u
#define HALVINGS_MAX 32u
#define TIME_PAST ((struct mono){ INT64_MIN / 2 })

struct document {
	size_t bytes;
	struct mono came;
};

/* Uploads, or statuses: one call at a time, and its retries. */
struct channel {
	bool ready;                  /* there is a call, made or to be made */
	bool busy;                   /* it is under way */
	unsigned tries;              /* failed in a row */
	struct mono next;            /* no call before */
	bool failing;
	struct delivery_time since;  /* failing: the first failure */
	bool loaded;                 /* and `since.mono` is not known yet */
};

/*
 * Documents [from, to), sent whole while `splits` is 0.  Each split halves the
 * part that is sent, and adds a bit at the low end of `path`: 0 for the first
 * half, 1 for the second.  So the path alone gives the part's range and key.
 */
struct batch {
	uint64_t seq, from, to;
	uint32_t path;
	unsigned splits;
	bool plain;                  /* refused with gzip */
};

struct range {
	uint64_t from, to;
};

struct status {
	uint64_t seq;
	unsigned code;
	char *message, *detail;      /* never NULL */
};

/* Whether this back end accepts gzip. */
enum gzip_use { GZIP_UNTRIED, GZIP_TAKEN, GZIP_REFUSED };

struct rejected {
	uint64_t number;
	char *reason;
	uint64_t change;             /* the one that rejected it */
};

struct delivery {
	struct delivery_settings set;
	char *fid, *backend;

	/* Documents put and not yet answered, by number from `first` on. */
	struct document *window;
	size_t window_n, window_cap;
	uint64_t first;

	struct channel upload;
	struct batch batch;          /* while upload.ready */
	uint64_t seq;                /* of the next batch */
	enum gzip_use gzip;
	unsigned halvings;           /* of the batch size */
	unsigned server_errors;      /* in a row */

	struct channel status;
	struct status sent;          /* while status.ready */
	uint64_t status_seq;         /* of the next one */
	/* Heartbeats below this number need no commit; a restart goes on with
	 * it.  `reserving`: the same, of the latest step SAVE. */
	uint64_t status_reserved, reserving;
	char *progress;              /* the latest; never NULL */
	bool reported;               /* and not yet sent */
	struct mono silent;          /* a heartbeat is due */
	struct status closing;       /* code 0: none yet */
	uint64_t closing_end;

	uint64_t uploaded, rejected_n;
	char *reasons[DELIVERY_REASONS_MAX];
	unsigned reasons_n;
	enum delivery_end end;
	bool drop_spool;

	/* Changes are counted: those up to `saved` are durable, those up to
	 * `saving` are being committed; 0: nothing is. */
	uint64_t change, saving, saved;
	struct rejected *rejected;   /* not yet durable */
	size_t rejected_cap, rejected_waiting;
	struct delivery_rejected *shown;

	struct buf key, body;        /* of the latest step */
};

/* The range of the part that is to be sent; not empty for a valid batch. */
struct range delivery_batch_part(const struct batch *);

/* Copy of a text, cut to `max` bytes between characters. */
char *delivery_copy_text(struct str, size_t max);
/* Copies, cut where they are too long. */
void delivery_set_status(struct status *, unsigned code, struct str message,
    struct str detail);
void delivery_clear_status(struct status *);

/* --- Reply bodies, outsiders' bytes ------------------------------------- */

struct reply_error {
	uint64_t line;               /* 1 is the first of the upload */
	struct str text;
};

struct reply {
	yyjson_doc *doc;             /* NULL: no JSON object */
	bool refused;                /* success is false */
	bool counted;
	uint64_t count;
	struct str message;          /* the first one; may be STR_NONE */
};

/* Read a body; delivery_reply_free() when done. */
void delivery_reply_read(struct str body, struct reply *);
void delivery_reply_free(struct reply *);
/*
 * Fill `errors[line - 1]`, for the lines that payload.errors names out of
 * `lines`, with a text that is not STR_NONE.  Returns how many lines it names;
 * other elements are ignored.
 */
size_t delivery_reply_errors(const struct reply *, struct str *errors,
    size_t lines);

#endif
