#include "engine/items/item_session.h"

#include "engine/items/item_store.h"

enum err
item_session_get(struct item_store *s, struct str name, struct arena *a,
    struct item_session *out, struct why *w)
{
	struct query *q = database_query(item_store_database(s), "SELECT"
	    " sealed, expires_at, rev FROM sessions WHERE name = ?1");

	*out = (struct item_session){ .exists = false };
	query_str(q, 1, name);
	if (query_step(q)) {
		out->exists = true;
		out->sealed = arena_copy(a, query_get_str(q, 0));
		out->expires_at = query_is_null(q, 1) ? ITEM_TIME_NONE :
		    (struct wall){ query_get_i64(q, 1) };
		out->rev = (uint64_t)query_get_i64(q, 2);
	}
	return query_end(&q, w);
}

enum err
item_session_put(struct item_tx *tx, struct str name,
    const struct item_session *in, struct why *w)
{
	struct query *q = database_query(item_store_database(
	    item_tx_store(tx)), "INSERT INTO sessions (name, sealed,"
	    " expires_at, rev) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name)"
	    " DO UPDATE SET sealed = excluded.sealed, expires_at ="
	    " excluded.expires_at, rev = excluded.rev"
	    " WHERE sessions.rev < excluded.rev");

	query_str(q, 1, name);
	query_bytes(q, 2, in->sealed);
	if (in->expires_at.us != ITEM_TIME_NONE.us)
		query_i64(q, 3, in->expires_at.us);
	query_i64(q, 4, (int64_t)in->rev);
	(void)query_step(q);
	return query_end(&q, w);
}

enum err
item_session_update(struct item_tx *tx, struct str name, struct str sealed,
    uint64_t rev, struct why *w)
{
	struct query *q = database_query(item_store_database(
	    item_tx_store(tx)), "UPDATE sessions SET sealed = ?2"
	    " WHERE name = ?1 AND rev = ?3");

	query_str(q, 1, name);
	query_bytes(q, 2, sealed);
	query_i64(q, 3, (int64_t)rev);
	(void)query_step(q);
	return query_end(&q, w);
}
