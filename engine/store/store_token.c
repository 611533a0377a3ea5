/*
 * Tokens as rows: names, scopes, texts and hashes are token.c's.
 */
#include "engine/store/store.h"

#include "engine/store/store_own.h"

static enum err
write_token(struct store *st, const struct token *t, struct why *w)
{
	FREED(buf_free) struct buf scopes = BUF_INIT;
	struct why inner = WHY_INIT;
	struct query *q = database_query(st->db, "INSERT INTO token"
	    " (name, scopes, hash, created) VALUES (?1, ?2, ?3, ?4)");

	token_scopes_write(t->scopes, &scopes);
	query_str(q, 1, t->name);
	query_str(q, 2, buf_str(&scopes));
	query_bytes(q, 3, (struct str){ (const char *)t->hash,
	    sizeof(t->hash) });
	query_i64(q, 4, t->created.us);
	enum err e = store_run(q, NULL, &inner);
	if (e == ERR_EXISTS)
		return why(w, e, "there is a token \"%.*s\" already",
		    STR_FMT(t->name));
	return e == OK ? OK : why(w, e, "%s", inner.text);
}

enum err
store_token_add(struct store *st, struct str name, struct token_scopes scopes,
    struct wall now, char text[static TOKEN_TEXT_BYTES + 1], struct why *w)
{
	struct token t = { .name = name, .scopes = scopes, .created = now };
	bool mine;

	CHECK((scopes.read | scopes.write) != 0);
	text[0] = '\0';
	enum err e = token_name_check(name, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	token_make(text);
	token_hash(str_of(text), t.hash);
	e = store_check_room(st, "SELECT count(*) FROM token",
	    st->tokens_max, "tokens", w);
	if (e == OK)
		e = write_token(st, &t, w);
	e = store_leave(st, mine, e, w);
	if (e != OK)
		explicit_bzero(text, TOKEN_TEXT_BYTES);
	return e;
}

static enum err
read_token(struct query *q, struct arena *a, struct token *t, struct why *w)
{
	struct str hash = query_get_str(q, 3);

	*t = (struct token){
		.id = (uint64_t)query_get_i64(q, 0),
		.name = arena_copy(a, query_get_str(q, 1)),
		.created = { query_get_i64(q, 4) },
		.used = { query_get_i64(q, 5) },
	};
	if (token_name_check(t->name, NULL) != OK ||
	    hash.n != sizeof(t->hash) ||
	    token_scopes_read(query_get_str(q, 2), true, &t->scopes, NULL) !=
	    OK)
		return why(w, ERR_CORRUPT, "token %llu has no name, scope or "
		    "hash", (unsigned long long)t->id);
	memcpy(t->hash, hash.p, sizeof(t->hash));
	return OK;
}

enum err
store_token_list(struct store *st, struct arena *a, struct token **list,
    size_t *n, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT id, name, scopes,"
	    " hash, created, used FROM token ORDER BY name");
	struct store_rows r = { .bytes_each = sizeof(**list) };
	enum err e = OK;

	while (e == OK && query_step(q))
		e = read_token(q, a, store_rows_add(&r), w);
	e = store_rows_end(&r, &q, e, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}

enum err
store_token_revoke(struct store *st, struct str name, struct why *w)
{
	bool mine, was = false;

	enum err e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "DELETE FROM token"
	    " WHERE name = ?1");
	query_str(q, 1, store_text(name));
	e = store_run(q, &was, w);
	if (e == OK && !was)
		e = why(w, ERR_ABSENT, "there is no token \"%.*s\"",
		    (int)MIN(name.n, TOKEN_NAME_BYTES_MAX), name.p);
	return store_leave(st, mine, e, w);
}

enum err
store_token_used(struct store *st, uint64_t id, struct wall when,
    struct why *w)
{
	struct query *q = database_query(st->db, "UPDATE token SET used = ?2"
	    " WHERE id = ?1");

	store_bind_id(q, 1, id);
	query_i64(q, 2, when.us);
	return store_run(q, NULL, w);
}
