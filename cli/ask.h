/*
 * ask -- how another process finds the one that holds a data directory: `serve`
 * writes DATA/serve.json, others read it and ask there.
 *
 * The file is readable by the daemon's own user alone (mode 0600) and contains
 * a key that this daemon accepts as a token of scope "*:write" until it ends
 * (server/token_set.h).  So commands of that user need no token: a user who can
 * read the file can also write the store of tokens beside it.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * {"pid":1,"address":"127.0.0.1","port":8001,"tls":false,"key":"argiope_..."};
 * replaced whole.
 */
MUST_USE enum err ask_write(const char *data_dir, const char *address,
    uint16_t port, bool tls, const char *key, struct why *);
void ask_remove(const char *data_dir);

/* Whom to ask: the process that serves `data_dir`, unless `server` is given. */
struct ask_target {
	const char *data_dir;
	const char *server;          /* "https://a.example:8001/", or NULL */
	struct str token;            /* empty: the key of serve.json */
	int64_t total_ms;            /* until it has answered; 0: a minute */
};
/*
 * POST `post` to `path`, and take the answer of any status; NULL: GET the path,
 * and take a 200.  Memory: `a`.  Errors: ABSENT when no process serves the
 * directory; USAGE when `server` is no URL; UNREACHED.
 */
#define ASK_BYTES_MAX ((size_t)64 << 20)
MUST_USE enum err ask_send(const struct ask_target *, const char *path,
    const struct str *post, struct arena *a, int *status, struct str *answer,
    struct why *);

/* Any request; the answer of any status is taken. */
struct ask_request {
	struct str method, path;     /* the path percent-encoded, with "/" */
	struct str type, body;       /* type empty: none */
};
MUST_USE enum err ask_request(const struct ask_target *,
    const struct ask_request *, struct arena *, int *status,
    struct str *answer, struct why *);

/* A text of an answer's object; none where it is missing or no text. */
struct str ask_text(yyjson_val *object, const char *name);

#endif
