/* Logins under way, clients, and used launch tickets, as rows. */
#include "engine/store/store_grant.h"

#include "engine/store/store_own.h"

/* -- Logins -- */

/* Additional authenticated data of the sealed text. */
static void
put_context(struct buf *b, const struct store_user *u, struct str key_id,
    struct str state_hash, struct str cookie_hash, struct wall expires)
{
	store_seal_context(b, "login", u, key_id);
	buf_put_field(b, state_hash);
	buf_put_field(b, cookie_hash);
	buf_put_be64(b, (uint64_t)expires.us);
}

static enum err
check_login(const struct store_login *l, struct why *w)
{
	enum err e = store_check_user(&l->user, w);

	if (e == OK)
		e = store_check_text("state", l->state,
		    STORE_SECRET_BYTES_MAX, w);
	if (e == OK)
		e = store_check_text("cookie", l->cookie,
		    STORE_SECRET_BYTES_MAX, w);
	return e == OK ? store_check_lines("text", l->text,
	    STORE_SEALED_BYTES_MAX, w) : e;
}

static enum err
insert_login(struct store *st, const struct seal_key *key,
    const struct store_login *l, struct wall now, bool *made, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf context = BUF_INIT, sealed = BUF_INIT;
	struct str state = store_hash(&a, l->state);
	struct str cookie = store_hash(&a, l->cookie);
	struct wall expires = { now.us + STORE_LOGIN_S * US_PER_S };
	char id[STORE_KEY_ID_BYTES + 1];

	store_key_id(key, id);
	put_context(&context, &l->user, str_of(id), state, cookie, expires);
	seal_put(key, buf_str(&context), l->text, &sealed);
	struct query *q = database_query(st->db, "INSERT INTO external_login"
	    " (backend, connector, subdomain, uuid, state, cookie, key_id,"
	    " sealed, expires) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
	    " ON CONFLICT (state) DO NOTHING");
	store_bind_user(q, &l->user);
	query_bytes(q, 5, state);
	query_bytes(q, 6, cookie);
	query_str(q, 7, str_of(id));
	query_bytes(q, 8, buf_str(&sealed));
	query_i64(q, 9, expires.us);
	return store_run(q, made, w);
}

static enum err
put_login(struct store *st, const struct seal_key *key,
    const struct store_login *l, struct wall now, struct why *w)
{
	struct query *q = database_query(st->db, "DELETE FROM external_login"
	    " WHERE expires <= ?1");
	bool made = true;

	query_i64(q, 1, now.us);
	enum err e = store_run(q, NULL, w);
	if (e == OK)
		e = store_check_room(st, "SELECT count(*) FROM external_login",
		    STORE_LOGINS_MAX, "logins under way", w);
	if (e == OK)
		e = insert_login(st, key, l, now, &made, w);
	return e == OK && !made ? why_field(w, ERR_EXISTS, "state", "another "
	    "login has it") : e;
}

enum err
store_login_put(struct store *st, const struct seal_key *key,
    const struct store_login *l, struct wall now, struct why *w)
{
	bool mine;

	enum err e = check_login(l, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	return store_leave(st, mine, put_login(st, key, l, now, w), w);
}

/* A login as its row has it. */
struct login_row {
	struct str state, cookie;    /* their SHA-256 */
	struct str key_id, sealed;
	struct store_user user;
	struct wall expires;
};

/* Delete the row with that connector, state, cookie and key, and read the rest
 * of it. */
static enum err
delete_login(struct store *st, struct str connector, struct wall now,
    struct arena *a, struct login_row *row, bool *found, struct why *w)
{
	struct query *q = database_query(st->db, "DELETE FROM external_login"
	    " WHERE state = ?1 AND cookie = ?2 AND connector = ?3"
	    " AND key_id = ?4 AND expires > ?5"
	    " RETURNING backend, connector, subdomain, uuid, sealed, expires");

	*found = false;
	query_bytes(q, 1, row->state);
	query_bytes(q, 2, row->cookie);
	query_str(q, 3, store_text(connector));
	query_str(q, 4, row->key_id);
	query_i64(q, 5, now.us);
	while (query_step(q)) {
		*found = true;
		store_read_user(q, 0, a, &row->user);
		row->sealed = arena_copy(a, query_get_str(q, 4));
		row->expires.us = query_get_i64(q, 5);
	}
	return query_end(&q, w);
}

static enum err
open_login(const struct seal_key *key, const struct login_row *row,
    struct arena *a, struct str *out, struct why *w)
{
	FREED(store_free_secret) struct buf text = BUF_INIT;
	FREED(buf_free) struct buf context = BUF_INIT;

	put_context(&context, &row->user, row->key_id, row->state,
	    row->cookie, row->expires);
	buf_reserve(&text, row->sealed.n);
	if (!seal_open(key, buf_str(&context), row->sealed, &text))
		return why(w, ERR_CORRUPT, "a login was changed, or is in "
		    "another's place");
	*out = arena_copy(a, buf_str(&text));
	return OK;
}

enum err
store_login_take(struct store *st, const struct seal_key *key,
    struct str connector, struct str state, struct str cookie,
    struct wall now, struct arena *a, struct store_login *l, struct why *w)
{
	char id[STORE_KEY_ID_BYTES + 1];
	bool mine, found = false;

	store_key_id(key, id);
	struct login_row row = { .state = store_hash(a, state),
		.cookie = store_hash(a, cookie), .key_id = str_of(id) };
	enum err e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	e = store_leave(st, mine, delete_login(st, connector, now, a, &row,
	    &found, w), w);
	if (e == OK && !found)
		e = why(w, ERR_ABSENT, "no login is under way that has this "
		    "state and cookie");
	*l = (struct store_login){ .user = row.user, .state = state,
		.cookie = cookie };
	/* After the commit: a login that was changed stays deleted. */
	return e == OK ? open_login(key, &row, a, &l->text, w) : e;
}

/* -- Clients -- */

/* A client is no user's. */
static void
put_client_context(struct buf *b, struct str connector, struct str provider,
    struct str key_id)
{
	struct store_user nobody = { .connector = connector };

	store_seal_context(b, "client", &nobody, key_id);
	buf_put_field(b, provider);
}

static enum err
check_client(struct str connector, struct str provider, struct str text,
    struct why *w)
{
	enum err e = store_check_text("connector", connector,
	    STORE_NAME_BYTES_MAX, w);

	if (e == OK)
		e = store_check_text("provider", provider,
		    STORE_SECRET_BYTES_MAX, w);
	return e == OK ? store_check_lines("text", text,
	    STORE_SEALED_BYTES_MAX, w) : e;
}

enum err
store_client_get(struct store *st, const struct seal_key *key,
    struct str connector, struct str provider, struct arena *a,
    struct str *text, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT sealed FROM"
	    " external_client WHERE connector = ?1 AND provider = ?2"
	    " AND key_id = ?3");
	FREED(store_free_secret) struct buf plain = BUF_INIT;
	FREED(buf_free) struct buf context = BUF_INIT;
	char id[STORE_KEY_ID_BYTES + 1];
	bool found = false, opened = false;

	store_key_id(key, id);
	query_str(q, 1, store_text(connector));
	query_str(q, 2, store_text(provider));
	query_str(q, 3, str_of(id));
	put_client_context(&context, connector, provider, str_of(id));
	if (query_step(q)) {
		struct str sealed = query_get_str(q, 0);
		found = true;
		buf_reserve(&plain, sealed.n);
		opened = seal_open(key, buf_str(&context), sealed, &plain);
	}
	enum err e = query_end(&q, w);
	if (e == OK && !found)
		e = why(w, ERR_ABSENT, "no client is registered there");
	if (e == OK && !opened)
		e = why(w, ERR_CORRUPT, "a client was changed, or is in "
		    "another's place");
	if (e == OK)
		*text = arena_copy(a, buf_str(&plain));
	return e;
}

static enum err
insert_client(struct store *st, const struct seal_key *key,
    struct str connector, struct str provider, struct str text,
    struct why *w)
{
	FREED(buf_free) struct buf context = BUF_INIT, sealed = BUF_INIT;
	char id[STORE_KEY_ID_BYTES + 1];

	store_key_id(key, id);
	put_client_context(&context, connector, provider, str_of(id));
	seal_put(key, buf_str(&context), text, &sealed);
	struct query *q = database_query(st->db, "INSERT INTO external_client"
	    " (connector, provider, key_id, sealed) VALUES (?1, ?2, ?3, ?4)"
	    " ON CONFLICT (connector, provider) DO UPDATE SET key_id = ?3,"
	    " sealed = ?4");
	query_str(q, 1, connector);
	query_str(q, 2, provider);
	query_str(q, 3, str_of(id));
	query_bytes(q, 4, buf_str(&sealed));
	return store_run(q, NULL, w);
}

static enum err
put_client(struct store *st, const struct seal_key *key, struct str connector,
    struct str provider, struct str text, struct arena *a, struct str *kept,
    struct why *w)
{
	struct why none = WHY_INIT;
	enum err e = store_client_get(st, key, connector, provider, a, kept,
	    &none);

	if (e == OK)
		return OK;
	if (e != ERR_ABSENT && e != ERR_CORRUPT)
		return why(w, e, "%s", none.text);
	e = store_check_room(st, "SELECT count(*) FROM external_client",
	    STORE_CLIENTS_MAX, "registered clients", w);
	if (e == OK)
		e = insert_client(st, key, connector, provider, text, w);
	*kept = arena_copy(a, text);
	return e;
}

enum err
store_client_put(struct store *st, const struct seal_key *key,
    struct str connector, struct str provider, struct str text,
    struct arena *a, struct str *kept, struct why *w)
{
	bool mine;

	enum err e = check_client(connector, provider, text, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	return store_leave(st, mine, put_client(st, key, connector, provider,
	    text, a, kept, w), w);
}

enum err
store_client_delete(struct store *st, struct str connector,
    struct str provider, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "DELETE FROM external_client"
	    " WHERE connector = ?1 AND provider = ?2");
	query_str(q, 1, store_text(connector));
	query_str(q, 2, store_text(provider));
	return store_leave(st, mine, store_run(q, NULL, w), w);
}

/* -- Tickets -- */

static enum err
use_ticket(struct store *st, struct str backend, struct str id,
    struct wall expires, struct wall now, struct why *w)
{
	struct query *q = database_query(st->db, "DELETE FROM external_ticket"
	    " WHERE expires <= ?1");
	bool made = true;

	query_i64(q, 1, now.us - STORE_TICKET_AFTER_S * US_PER_S);
	enum err e = store_run(q, NULL, w);
	if (e == OK)
		e = store_check_room(st, "SELECT count(*) FROM"
		    " external_ticket", STORE_TICKETS_MAX, "used tickets", w);
	if (e != OK)
		return e;
	q = database_query(st->db, "INSERT INTO external_ticket (backend, id,"
	    " expires) VALUES (?1, ?2, ?3) ON CONFLICT (backend, id)"
	    " DO NOTHING");
	query_str(q, 1, backend);
	query_str(q, 2, id);
	query_i64(q, 3, expires.us);
	e = store_run(q, &made, w);
	return e == OK && !made ? why_field(w, ERR_EXISTS, "jti", "the ticket "
	    "was used before") : e;
}

enum err
store_ticket_use(struct store *st, struct str backend, struct str id,
    struct wall expires, struct wall now, struct why *w)
{
	bool mine;

	enum err e = store_check_text("backend", backend,
	    STORE_NAME_BYTES_MAX, w);
	if (e == OK)
		e = store_check_text("jti", id, STORE_USER_BYTES_MAX, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	return store_leave(st, mine, use_ticket(st, backend, id, expires, now,
	    w), w);
}
