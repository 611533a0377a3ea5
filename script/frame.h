/*
 * frame -- messages between the daemon and a script process.
 *
 *     frame:    length (4 bytes, network order) │ kind (1 byte) │ payload
 *     message:  [PART frames] then one frame of the message's kind, whose
 *               payload goes behind theirs:
 *               JSON's length (4 bytes) │ JSON │ bytes
 *
 * The length is the payload's, at most FRAME_BYTES_MAX.  Both sides read with
 * frame_next(), which believes nothing: what it does not know is an error, and
 * ends the process that sent it.
 *
 * Thread: each reader one.
 */
#ifndef SCRIPT_FRAME_H
#define SCRIPT_FRAME_H

#include "base/bytes.h"
#include "base/err.h"

#define FRAME_HEAD_BYTES 5u
#define FRAME_BYTES_MAX ((size_t)32 << 20)
/* Longer messages are written in frames of so many bytes. */
#define FRAME_PART_BYTES ((size_t)256 << 10)

/*    name       from   what it says */
#define FRAME_KINDS(X)                                                       \
	X(PART,      'p', "either: the beginning of a longer message")        \
	X(MODULE,    'm', "daemon: a source file of the bundle")              \
	X(RUN,       'r', "daemon: begin a run")                              \
	X(ANSWER,    'a', "daemon: the answer to a call")                     \
	X(RECOMPUTE, 'c', "daemon: call the callbacks again")                 \
	X(STOP,      's', "daemon: end the run, for a reason")                \
	X(FINISH,    'f', "daemon: the run is over, the next one may come")   \
	X(END,       'e', "daemon: a connector is to end soon")               \
	X(READY,     'R', "process: which layers of the sandbox hold")        \
	X(CALL,      'C', "process: a host call")                             \
	X(LOG,       'L', "process: a line of the log")                       \
	X(NOTE,      'N', "process: a connector's note, or its progress")     \
	X(DONE,      'D', "process: the outcome of the run")

enum frame_kind {
#define FRAME_ENUM(id, letter, text) FRAME_##id = letter,
	FRAME_KINDS(FRAME_ENUM)
#undef FRAME_ENUM
};

struct message {
	enum frame_kind kind;
	struct str json;             /* at least "{}" */
	struct str body;
};

struct frame_reader {
	struct buf bytes;            /* not yet used, from `at` on */
	size_t at;
	struct buf parts;            /* of the message under way */
	struct buf whole;            /* the message that was given out last */
	size_t message_bytes_max;
};
void frame_reader_init(struct frame_reader *, size_t message_bytes_max);
void frame_reader_free(struct frame_reader *);
/* Where `n` bytes that have arrived are to be put, at once. */
void *frame_room(struct frame_reader *, size_t n);
/* Fewer than that came: `n` of the room are taken back. */
void frame_unroom(struct frame_reader *, size_t n);
/*
 * The next whole message; it lives until the next call.  False when more bytes
 * are needed.  Errors: INPUT, saying what is wrong; the reader is useless then.
 */
MUST_USE enum err frame_next(struct frame_reader *, struct message *,
    bool *got, struct why *);

/* Append a message. */
void frame_put(struct buf *, enum frame_kind, struct str json,
    struct str body);

#endif
