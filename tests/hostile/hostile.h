/*
 * hostile -- what the files of the hostile server share; see hostile.c.
 */
#ifndef TESTS_HOSTILE_HOSTILE_H
#define TESTS_HOSTILE_HOSTILE_H

#include "base/bytes.h"

#define PIECE 65536                /* bytes made at a time */

enum then { KEEP, CLOSE, RESET, HANG };

struct conn {
	int fd;
	int by_port;               /* index of a behaviour, or -1 */
	struct buf in, out;
	size_t out_at;
	size_t skip;               /* bytes of a request body still to come */
	struct str path, host;     /* of the request; in `texts` */
	char texts[2][2048];
	size_t request_n;          /* bytes of it in `in` */
	unsigned requests;
	uint64_t n;                /* the behaviour's own counter */
	int64_t wake_ms;           /* not before that */
	bool answering;
	/* More into `out`; false when that was all. */
	bool (*more)(struct conn *);
	enum then then;
};

void put_repeated(struct buf *, const char *text, size_t times);
/* The number behind "/NAME/" in "/NAME/7" or behind "?mb=". */
uint64_t number_behind(const struct conn *, const char *mark,
    uint64_t otherwise);

/* hostile_bombs.c; make them before the first answer. */
void make_bombs(void);
void begin_gzip(struct conn *);
void begin_gzip2(struct conn *);
void begin_brotli(struct conn *);
void begin_zstd(struct conn *);

#endif
