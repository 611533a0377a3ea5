/*
 * token -- what opens a door: a text that is shown once, a name, and scopes.
 *
 *     argiope_<64 hex digits>        32 random bytes
 *
 * Only the text's SHA-256 is kept.  That is enough, and quick, because the text
 * is no password: nobody guesses 256 random bits.
 *
 * A scope is a door and what may be done there, "urlfrontier:write"; write
 * includes read.  The door "*" stands for all, those of later versions too.
 * A list of scopes has one form: what another scope includes is left out, "*"
 * comes first, then the doors in the order of TOKEN_DOORS, then those that were
 * added.
 *
 * Thread: any; token_door_add() before other threads start.
 */
#ifndef ENGINE_STORE_TOKEN_H
#define ENGINE_STORE_TOKEN_H

#include "base/err.h"
#include "base/time.h"

#define TOKEN_NAME_BYTES_MAX 64u
#define TOKEN_SCOPES_MAX 16u         /* in one list, as it is given */
#define TOKEN_PREFIX "argiope_"
#define TOKEN_RANDOM_BYTES 32u
#define TOKEN_TEXT_BYTES (sizeof(TOKEN_PREFIX) - 1 + 2 * TOKEN_RANDOM_BYTES)
#define TOKEN_HASH_BYTES 32u

/*
 * Names that are known in every build, because tokens outlive a change of the
 * program.  A further door adds its name by token_door_add().  Port 8001's own
 * pages and figures belong to the console; `worker` is the part of the items
 * door that remote workers need.
 */
#define TOKEN_DOORS(X) \
	X(URLFRONTIER, "urlfrontier") X(REALTIME, "realtime") \
	X(HARVEST, "harvest") X(ITEMS, "items") X(EXTERNAL, "external") \
	X(CONSOLE, "console") X(WORKER, "worker")
enum token_door {
#define TOKEN_DOOR_ENUM(name, text) TOKEN_DOOR_##name,
	TOKEN_DOORS(TOKEN_DOOR_ENUM)
#undef TOKEN_DOOR_ENUM
	TOKEN_DOOR_FIXED,            /* the first that was added */
	TOKEN_DOORS_MAX = 31,
};
enum token_access { TOKEN_READ, TOKEN_WRITE };

/* Bits of doors; "*" is a bit of its own.  Nothing stands in both. */
struct token_scopes {
	uint32_t read, write;
};

struct token {
	uint64_t id;                 /* from 1, never used again */
	struct str name;
	struct token_scopes scopes;
	uint8_t hash[TOKEN_HASH_BYTES];
	struct wall created;
	struct wall used;            /* about when last; 0: never */
};

/*
 * The number of the door of that name, which becomes known by this call if it
 * was not.  The text is the caller's and static.  More than TOKEN_DOORS_MAX is
 * a mistake of ours (CHECK).
 */
enum token_door token_door_add(const char *name);
/* All known names, and how many they are.  Static. */
const char *const *token_door_names(size_t *n);
const char *token_door_text(enum token_door);      /* "urlfrontier" */
const char *token_access_text(enum token_access);  /* "read" */

/*
 * A name is 1 to TOKEN_NAME_BYTES_MAX ASCII letters, digits and ._@-, and does
 * not begin with "-": it may stand in logs and behind a command as it is.
 * Else INPUT.
 */
MUST_USE enum err token_name_check(struct str, struct why *);

/*
 * "urlfrontier:write,items:read"; blanks around a scope do no harm.  INPUT,
 * naming the scope, when one is none or there are too many.  `lenient` is for
 * a list that was stored: a scope of a door that this program does not know is
 * passed over, because the token may be older or newer than it.
 */
MUST_USE enum err token_scopes_read(struct str list, bool lenient,
    struct token_scopes *, struct why *);
void token_scopes_write(struct token_scopes, struct buf *);
bool token_scopes_allow(struct token_scopes, enum token_door,
    enum token_access);

/* A new one's text, from the system's random bytes, with a NUL behind. */
void token_make(char text[static TOKEN_TEXT_BYTES + 1]);
void token_hash(struct str text, uint8_t hash[static TOKEN_HASH_BYTES]);

#endif
