/*
 * message -- messages in a stream of bytes.
 *
 *     0: identity, 1: compressed | length, 4 bytes big-endian | the message
 *
 * A message that lies whole in the bytes that came is handed out where it lies;
 * only what is cut or not wanted yet is kept, in `in`.
 *
 * Thread: one.  Limits: a message, packed or not, has at most bytes_max bytes.
 * Source: gRPC's doc/PROTOCOL-HTTP2.md.
 */
#ifndef WIRE_GRPC_MESSAGE_H
#define WIRE_GRPC_MESSAGE_H

#include "base/bytes.h"

#define MESSAGE_HEAD_BYTES 5

/* Unpacks for all calls of a session: what it gave stands until the next. */
struct message_gunzip;
struct message_gunzip *message_gunzip_new(void);
void message_gunzip_free(struct message_gunzip **);

struct message_reader {
	struct buf in;            /* begins at a message's head, from `at` on */
	size_t at;
	bool gzip;                /* what a set flag means; else it is wrong */
};

enum message_found {
	MESSAGE_NONE,             /* all was taken; more is needed */
	MESSAGE_HERE,
	MESSAGE_BAD,              /* the flag, or no gzip where it should be */
	MESSAGE_TOO_BIG,
};

/*
 * The next message of what was kept and then of `*more`, from which the bytes
 * that were used are taken.  `*message` stands until the next call, or until
 * the memory behind `*more` goes.  After BAD and TOO_BIG the stream is of no
 * more use.
 */
enum message_found message_next(struct message_reader *,
    struct message_gunzip *, size_t bytes_max, struct str *more,
    struct str *message);
/* Keep bytes for later. */
void message_keep(struct message_reader *, struct str);
/* How many are kept: 0 when the stream stands between two messages. */
size_t message_kept(const struct message_reader *);
/* Forget them; the memory stays unless it is much. */
void message_clear(struct message_reader *);
void message_free(struct message_reader *);

/* Append a head for a message of n bytes. */
void message_put_head(struct buf *, size_t n);

#endif
