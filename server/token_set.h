/*
 * token_set -- who may enter: the store's tokens in memory, one set for all
 * doors.
 *
 *     if (token_wanted(set, TOKEN_DOOR_ITEMS)) {
 *         a = token_check(set, token_of_header(authorization),
 *             TOKEN_DOOR_ITEMS, TOKEN_WRITE, peer, &pass);
 *         if (a != TOKEN_FINE)
 *             refuse with token_answer_text(a);
 *     }
 *
 * A check hashes the text, compares the hash with all in the set in a time that
 * does not depend on what they hold, and looks at the scopes: no I/O, no lock
 * that is waited for, 0.5 us, of 1,000 tokens 1.5.  The set is an immutable
 * snapshot that is swapped.  It watches the store (store_async.h), whose thread
 * reads the tokens again when anybody has committed; so `argiope token add` and
 * `revoke` reach a running daemon in about a second.  While the store cannot be
 * read the set stays as it was, the log says so, and
 * argiope_doors_token_failures_total grows.
 *
 * A door that tokens name wants one, and goes on wanting one until the process
 * ends: that the last of them is revoked must not open it.  The console wants
 * one as soon as any token exists, because it makes tokens for every door.
 *
 * The operator's key opens every door as a token of scope "*:write" does, but
 * is in no store: the daemon makes it at each start and writes it to a file
 * that only its own user can read (cli/ask.h).  It makes no door want a token.
 *
 * No text of a token is kept, logged or told.  Refusals are counted by door
 * (argiope_doors_refused_total) and logged at most once in 10 s, with how many
 * there were.
 *
 * Thread: check, holds, find, is and wanted any; open and close home's, or any
 *         before the loop runs and after it has stopped.
 * Limits: store.tokens_max (STORE_TOKENS_MAX).
 * Story:  doors/DESIGN.md
 */
#ifndef SERVER_TOKEN_SET_H
#define SERVER_TOKEN_SET_H

#include "engine/store/store_async.h"

struct token_set;

struct token_set_options {
	struct store_async *store;   /* outlives the set */
	unsigned used_ms;            /* dates of use are put; 0: 60,000 */
	struct str operator_key;     /* token_make()'s; hashed; empty: none */
};

/* Reads the tokens before it returns.  Errors: those of store_token_list(). */
MUST_USE enum err token_set_open(const struct token_set_options *,
    struct token_set **, struct why *);
/* Puts the last dates of use.  No door may ask any more. */
void token_set_close(struct token_set **);

/* MISSING and UNKNOWN: HTTP 401, gRPC 16; SCOPE: 403, 7. */
enum token_answer { TOKEN_FINE, TOKEN_MISSING, TOKEN_UNKNOWN, TOKEN_SCOPE };
/* A sentence for the one who was refused.  Static. */
const char *token_answer_text(enum token_answer);

/* Whose token it was; name and id may be logged. */
#define TOKEN_OPERATOR_ID UINT64_MAX
#define TOKEN_OPERATOR_NAME "operator"
struct token_pass {
	uint64_t id;
	char name[TOKEN_NAME_BYTES_MAX + 1];
};

/*
 * Whether `text`, a token alone, opens `door` for that.  `peer` is for the log
 * (an address; may be empty).  `pass` may be NULL; it is set when FINE.
 */
enum token_answer token_check(struct token_set *, struct str text,
    enum token_door, enum token_access, struct str peer, struct token_pass *);
/*
 * Whether the token that was let in is still there and may do that: for what
 * lives long (a WebSocket, a stream).  Counts and logs nothing.
 */
bool token_holds(struct token_set *, uint64_t id, enum token_door,
    enum token_access);
/*
 * Whose token `text` is, whatever it opens; false: nobody's.  Counts and logs
 * nothing.  Whether a token is still there.
 */
bool token_find(struct token_set *, struct str text, struct token_pass *);
bool token_is(struct token_set *, uint64_t id);
/*
 * Whether the door asks for a token: one names it, or did in this process; for
 * the console, any token.
 */
bool token_wanted(const struct token_set *, enum token_door);

/*
 * The token in the value of an Authorization field, "Bearer TOKEN" (RFC 6750
 * §2.1; the scheme in any case); STR_NONE when it has another form.
 */
struct str token_of_header(struct str value);

#endif
