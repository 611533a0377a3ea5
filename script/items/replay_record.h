/*
 * replay_record -- what a run was given, what it asked for and what it was
 * answered: enough to run it again without the store and without the site.
 *
 * It is the member "replay" of a run's record:
 *
 *     {"bundle":"sha256:...","secrets":{...},"keep":false,"input":{...},
 *      "calls":[...],"success":true,"mutations":"9f...","error":null}
 *
 * `input` is the lease as the script got it, with its seed and its date;
 * `mutations` the SHA-256 of the JSON that the script queued; `error` has
 * class, code and message.  The calls stand in the order of their answers:
 *
 *     {"n":1,"kind":"read","args":{...},"value":{...}}
 *     {"n":2,"kind":"fetch","method":"GET","url":"...","body":"9f...",
 *      "session":"shop","value":{"status":200,"url":"...","redirected":false,
 *      "fromArchive":false,"capture":{"crawl":3,"seq":17}}}
 *     {"n":3,"kind":"blob","args":{...},"value":{...},"sha256":"9f..."}
 *     {"kind":"recompute","value":{"items":{...},"metadata":[...]}}
 *
 * `n` is the number of the call, in the order in which they were made.  In
 * place of `value` an answer may have `error`, as script_call_fail() has it.
 * Head and body of an answer are in the archive, and the bytes of a blob in the
 * store, under their hash.
 *
 * A call's key is its kind with what identifies it: of a fetch method,
 * canonical URL, the body's digest and the session; of a read its arguments;
 * and the ordinal among the run's calls that are the same in these.
 *
 * Thread: any; one object one thread.
 * Limits: REPLAY_BYTES_MAX.
 * Source: contracts/scripting.md §7.
 */
#ifndef SCRIPT_ITEMS_REPLAY_RECORD_H
#define SCRIPT_ITEMS_REPLAY_RECORD_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/map.h"
#include "script/host.h"

/* Unpacked; a run that was answered more is kept without replay. */
#define REPLAY_BYTES_MAX ((size_t)4 << 20)
/* A kind beyond the script's: its callbacks were called again. */
#define REPLAY_RECOMPUTE SCRIPT_CALL_KIND_COUNT

/* ---- Writing ------------------------------------------------------------ */

/* The calls of a run under way.  Starts zeroed. */
struct replay_writer {
	struct buf calls;            /* JSON elements */
	bool full;                   /* beyond REPLAY_BYTES_MAX */
};
/*
 * The call has been answered: with the JSON value of script_call_answer(), or
 * the error of script_call_fail().  `sha256` is of the body of an answered blob
 * or put_blob; NULL: none.
 */
void replay_put_value(struct replay_writer *, const struct script_call *,
    struct str value, const uint8_t *sha256);
void replay_put_error(struct replay_writer *, const struct script_call *,
    struct str error);
/* script_run_recompute() was called with this. */
void replay_put_recompute(struct replay_writer *, struct str current);
/*
 * Append the object "replay" of a run that has ended so.  False: it was too
 * much, and nothing is appended.
 */
bool replay_put(const struct replay_writer *, const struct script_run *,
    const struct script_outcome *, struct buf *);
void replay_writer_free(struct replay_writer *);

/* ---- Reading ------------------------------------------------------------ */

struct replay_call {
	enum script_call_kind kind;  /* or REPLAY_RECOMPUTE */
	uint32_t number;             /* 0: recompute */
	struct str key;              /* without the ordinal */
	size_t ordinal;              /* from 0, in the order of the numbers */
	yyjson_val *value;           /* NULL: `error` */
	yyjson_val *error;
	/* The answer's capture; NULL: it has none. */
	yyjson_val *capture;
	struct str sha256;           /* hexadecimal; p NULL: none */
	struct replay_call *next;    /* of the same key */
};

struct replay_record {
	struct str task, item;       /* of `input` */
	struct str input, secrets;   /* JSON */
	struct str bundle;           /* the hash */
	bool keep_on_failure, success;
	struct str mutations_digest; /* hexadecimal */
	struct str class, code, message;     /* of a failed run; else p NULL */
	/* As stored, with their effects; NULL: none. */
	yyjson_val *mutations;
	struct replay_call *calls;   /* in the order of their answers */
	size_t calls_n;
	struct map by_key;           /* the first of each key */
	yyjson_doc *doc;
	struct arena arena;
};
/*
 * Read a run's record, JSON as item_query_replay() has it or as a case keeps
 * it: an object with "replay" and "mutations".  Errors: STATE (it was kept
 * without replay); CORRUPT.
 */
MUST_USE enum err replay_record_read(struct str json, struct replay_record **,
    struct why *);
void replay_record_free(struct replay_record **);
/* The crawl and number of a capture; false: these are none. */
bool replay_record_capture(yyjson_val *capture, uint32_t *crawl,
    uint64_t *number);

/*
 * The key of a call that a script makes now.  Appends to `b`.
 */
void replay_key(enum script_call_kind, yyjson_val *args, struct str body,
    struct buf *b);

#endif
