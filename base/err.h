/*
 * err -- the results a function can return, in one table.
 *
 * A function that can fail returns `enum err`; OK is 0.  The detail goes to the
 * caller's `struct why`, where the first cause wins.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/base.h"

/*       name      what the caller reads                  http  grpc  exit */
#define ERR_TABLE(ERR)                                                       \
	ERR(OK,        "done",                                200,   0,   0)  \
	ERR(INPUT,     "the request is malformed",            400,   3,  65)  \
	ERR(USAGE,     "the command line is wrong",           400,   3,  64)  \
	ERR(CONFIG,    "the configuration is wrong",          500,  13,  78)  \
	ERR(ABSENT,    "no such thing",                       404,   5,  66)  \
	ERR(EXISTS,    "it is there already",                 409,   6,  73)  \
	ERR(STATE,     "not possible in this state",          409,   9,  69)  \
	ERR(DENIED,    "not allowed",                         403,   7,  77)  \
	ERR(FULL,      "a limit is reached, wait",            429,   8,  75)  \
	ERR(BUSY,      "another process holds it",            503,  14,  75)  \
	ERR(TIMEOUT,   "it took too long",                    504,   4,  75)  \
	ERR(CLOSED,    "it was closed",                       503,  14,  69)  \
	ERR(UNREACHED, "the other side cannot be reached",    502,  14,  69)  \
	ERR(DISK_FULL, "the disk is full",                    507,   8,  74)  \
	ERR(IO,        "reading or writing failed",           500,  13,  74)  \
	ERR(CORRUPT,   "stored data is damaged",              500,  15,  70)  \
	ERR(NEWER,     "a newer version wrote it",            500,  15,  70)  \
	ERR(BROKEN,    "the store failed, restart is needed", 500,  13,  70)

enum err {
#define ERR_ENUM(name, text, http, grpc, exit) ERR_##name,
	ERR_TABLE(ERR_ENUM)
#undef ERR_ENUM
	ERR_COUNT
};
#define OK ERR_OK

const char *err_name(enum err);  /* "INPUT" */
const char *err_text(enum err);  /* "the request is malformed" */
int err_http(enum err);          /* HTTP status */
int err_grpc(enum err);          /* gRPC status code */
int err_exit(enum err);          /* exit code after sysexits */
/*
 * Whether the detail of such an error is about this program's own files and
 * state, not about what was asked for.  An outsider reads err_text() then, and
 * the detail goes to the log.
 */
bool err_is_internal(enum err);

/*
 * The cause of a failure: a code and a field for programs, a sentence for
 * people.  Nothing decides by the words of the text.  Start with WHY_INIT.
 */
struct why {
	enum err err;
	char field[32];          /* that is wrong or missing; "": none named */
	unsigned sentence;       /* its offset in `text`, after "FIELD: " */
	char text[400];
};
#define WHY_INIT ((struct why){ .err = OK })

/*
 * Note the cause of a failure and return `err`, so that one can write
 * `return why(w, ERR_INPUT, "seeds[%zu]: no URL", i)`.  Only the first cause is
 * kept; a NULL `w` is allowed.
 */
enum err why(struct why *, enum err, const char *fmt, ...) PRINTF_LIKE(3, 4);

/*
 * As why(), about one field of the request: the text is "FIELD: " and the
 * sentence.  Callers may decide by the field's name.
 */
enum err why_field(struct why *, enum err, const char *field, const char *fmt,
    ...) PRINTF_LIKE(4, 5);

/* As why(), followed by ": " and the text of errno. */
enum err why_errno(struct why *, enum err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* The error of errno: ENOSPC and EDQUOT are DISK_FULL, ENOENT is ABSENT ... */
enum err err_from_errno(int);

#endif
