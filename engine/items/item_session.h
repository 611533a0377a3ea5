/*
 * item_session -- rows of sessions: what a login has left behind, sealed
 * (contracts/scripting.md §5).
 *
 * Thread: the writer's; item_session_get() a reader's, too.
 */
#ifndef ENGINE_ITEMS_ITEM_SESSION_H
#define ENGINE_ITEMS_ITEM_SESSION_H

#include "engine/items/item_tx.h"

struct item_session {
	bool exists;
	struct str sealed;           /* see script/items/session.c */
	struct wall expires_at;      /* NONE: never */
	uint64_t rev;                /* counts logins */
};
/* Memory: `a`. */
MUST_USE enum err item_session_get(struct item_store *, struct str name,
    struct arena *a, struct item_session *, struct why *);
/*
 * Put it under rev, or nothing when the row has that rev or a higher one: then
 * another daemon was quicker.
 */
MUST_USE enum err item_session_put(struct item_tx *, struct str name,
    const struct item_session *, struct why *);
/* Replace the sealed cookies and data, unless the session has been logged in
 * again: then the row's rev differs, and nothing changes. */
MUST_USE enum err item_session_update(struct item_tx *, struct str name,
    struct str sealed, uint64_t rev, struct why *);

#endif
