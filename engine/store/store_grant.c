/*
 * Grants as rows.
 *
 *     sealed    AES-256-GCM of three fields: handle, account, the caller's text
 *     context   "grant", user, key id, SHA-256 of the handle, issued, expiry
 *
 * refresh_at and the lease are outside the context: they change by themselves,
 * and say only when somebody tries.
 */
#include "engine/store/store_grant.h"

#include "engine/store/store_own.h"
#include "os/clock.h"
#include "wire/base64.h"
#include "wire/digest.h"

#define HANDLE_PREFIX "argt_"
#define HANDLE_RANDOM_BYTES 32u

#define COLUMNS "number, backend, connector, subdomain, uuid, handle, key_id," \
	" sealed, issued, expiry, refresh_at, lease, leased_until"
#define BY_USER " WHERE backend = ?1 AND connector = ?2 AND subdomain = ?3" \
	" AND uuid = ?4"

struct grant_row {
	uint64_t number;
	struct str hash;             /* of the handle */
	struct str key_id, sealed;
	struct wall leased_until;
	struct store_grant g;        /* account, text, handle: once opened */
};

/* -- What grants and logins share -- */

void
store_key_id(const struct seal_key *key,
    char out[static STORE_KEY_ID_BYTES + 1])
{
	FREED(buf_free) struct buf hex = BUF_INIT;
	struct digest d;

	digest_hmac(DIGEST_SHA256, (struct str){ (const char *)key->bytes,
	    SEAL_KEY_BYTES }, STR("argiope key id"), &d);
	digest_put_hex(&hex, d.bytes, STORE_KEY_ID_BYTES / 2);
	memcpy(out, buf_text(&hex), STORE_KEY_ID_BYTES + 1);
}

void
store_seal_context(struct buf *b, const char *kind,
    const struct store_user *u, struct str key_id)
{
	buf_put_field(b, str_of(kind));
	buf_put_field(b, u->backend);
	buf_put_field(b, u->connector);
	buf_put_field(b, u->subdomain);
	buf_put_field(b, u->uuid);
	buf_put_field(b, key_id);
}

struct str
store_hash(struct arena *a, struct str s)
{
	struct digest d;

	digest_of(DIGEST_SHA256, s, &d);
	return arena_copy(a, (struct str){ (const char *)d.bytes,
	    digest_size(d.kind) });
}

enum err
store_check_user(const struct store_user *u, struct why *w)
{
	enum err e = store_check_text("backend", u->backend,
	    STORE_NAME_BYTES_MAX, w);

	if (e == OK)
		e = store_check_text("connector", u->connector,
		    STORE_NAME_BYTES_MAX, w);
	if (e == OK)
		e = store_check_text("subdomain", u->subdomain,
		    STORE_USER_BYTES_MAX, w);
	return e == OK ? store_check_text("uuid", u->uuid,
	    STORE_USER_BYTES_MAX, w) : e;
}

void
store_bind_user(struct query *q, const struct store_user *u)
{
	query_str(q, 1, store_text(u->backend));
	query_str(q, 2, store_text(u->connector));
	query_str(q, 3, store_text(u->subdomain));
	query_str(q, 4, store_text(u->uuid));
}

void
store_read_user(struct query *q, int column, struct arena *a,
    struct store_user *u)
{
	u->backend = arena_copy(a, query_get_str(q, column));
	u->connector = arena_copy(a, query_get_str(q, column + 1));
	u->subdomain = arena_copy(a, query_get_str(q, column + 2));
	u->uuid = arena_copy(a, query_get_str(q, column + 3));
}

void
store_free_secret(struct buf *b)
{
	if (b->cap > 0)
		explicit_bzero(b->p, b->cap);
	buf_free(b);
}

/* -- Sealing -- */

static void
put_context(struct buf *b, const struct store_grant *g, struct str key_id,
    struct str hash)
{
	store_seal_context(b, "grant", &g->user, key_id);
	buf_put_field(b, hash);
	buf_put_be64(b, (uint64_t)g->issued.us);
	buf_put_be64(b, (uint64_t)g->expiry.us);
}

/* Fill in what the row's columns have of `row->g`. */
static void
seal_row(const struct seal_key *key, struct arena *a, struct grant_row *row)
{
	FREED(store_free_secret) struct buf plain = BUF_INIT;
	FREED(buf_free) struct buf context = BUF_INIT, sealed = BUF_INIT;
	const struct store_grant *g = &row->g;
	char id[STORE_KEY_ID_BYTES + 1];

	store_key_id(key, id);
	row->key_id = arena_copy(a, str_of(id));
	row->hash = store_hash(a, g->handle);
	put_context(&context, g, row->key_id, row->hash);
	/* Reserved at once, so that no copy of the secrets stays behind. */
	buf_reserve(&plain, g->handle.n + g->account.n + g->text.n + 30);
	buf_put_field(&plain, g->handle);
	buf_put_field(&plain, g->account);
	buf_put_field(&plain, g->text);
	seal_put(key, buf_str(&context), buf_str(&plain), &sealed);
	row->sealed = arena_copy(a, buf_str(&sealed));
}

/* Errors: ABSENT: another key has sealed it; CORRUPT. */
static enum err
open_row(const struct seal_key *key, struct arena *a, struct grant_row *row,
    struct why *w)
{
	FREED(store_free_secret) struct buf plain = BUF_INIT;
	FREED(buf_free) struct buf context = BUF_INIT;
	char id[STORE_KEY_ID_BYTES + 1];

	store_key_id(key, id);
	if (!str_eq(row->key_id, str_of(id)))
		return why(w, ERR_ABSENT, "the user's grant is sealed by "
		    "another key; rekey it, or sign in again");
	put_context(&context, &row->g, row->key_id, row->hash);
	buf_reserve(&plain, row->sealed.n);
	bool fine = seal_open(key, buf_str(&context), row->sealed, &plain);
	struct reader r = reader_of(buf_str(&plain));
	row->g.handle = arena_copy(a, read_field(&r));
	row->g.account = arena_copy(a, read_field(&r));
	row->g.text = arena_copy(a, read_field(&r));
	return fine && !r.bad && r.n == 0 ? OK : why(w, ERR_CORRUPT,
	    "a grant was changed, or is in another's place");
}

/* -- Reading -- */

static void
read_row(struct query *q, struct arena *a, struct grant_row *row)
{
	*row = (struct grant_row){
		.number = (uint64_t)query_get_i64(q, 0),
		.hash = arena_copy(a, query_get_str(q, 5)),
		.key_id = arena_copy(a, query_get_str(q, 6)),
		.sealed = arena_copy(a, query_get_str(q, 7)),
		.leased_until = { query_get_i64(q, 12) },
		.g = {
			.issued = { query_get_i64(q, 8) },
			.expiry = { query_get_i64(q, 9) },
			.refresh_at = { query_get_i64(q, 10) },
			.lease = (uint64_t)query_get_i64(q, 11),
		},
	};
	store_read_user(q, 1, a, &row->g.user);
}

static enum err
is_absent(struct why *w)
{
	return why(w, ERR_ABSENT, "the user has granted nothing here");
}

/* The rows of a query of COLUMNS; the first one is read. */
static enum err
read_first(struct query *q, struct arena *a, struct grant_row *row, size_t *n,
    struct why *w)
{
	for (*n = 0; query_step(q); ++*n)
		if (*n == 0)
			read_row(q, a, row);
	return query_end(&q, w);
}

static enum err
find_row(struct store *st, const struct store_user *u, struct arena *a,
    struct grant_row *row, bool *found, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT " COLUMNS
	    " FROM external_grant" BY_USER);
	size_t n;

	*row = (struct grant_row){ .number = 0 };
	store_bind_user(q, u);
	enum err e = read_first(q, a, row, &n, w);
	*found = e == OK && n > 0;
	return e;
}

/* A query of one grant, opened. */
static enum err
get_grant(struct query *q, const struct seal_key *key, struct arena *a,
    struct store_grant *g, struct why *w)
{
	struct grant_row row;
	size_t n;
	enum err e = read_first(q, a, &row, &n, w);

	if (e == OK && n == 0)
		e = is_absent(w);
	if (e == OK)
		e = open_row(key, a, &row, w);
	if (e == OK)
		*g = row.g;
	return e;
}

enum err
store_grant_get(struct store *st, const struct seal_key *key,
    const struct store_user *u, struct arena *a, struct store_grant *g,
    struct why *w)
{
	struct query *q = database_query(st->db, "SELECT " COLUMNS
	    " FROM external_grant" BY_USER);

	store_bind_user(q, u);
	return get_grant(q, key, a, g, w);
}

enum err
store_grant_find(struct store *st, const struct seal_key *key,
    struct str backend, struct str handle, struct arena *a,
    struct store_grant *g, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT " COLUMNS
	    " FROM external_grant WHERE handle = ?1 AND backend = ?2");

	query_bytes(q, 1, store_hash(a, handle));
	query_str(q, 2, store_text(backend));
	return get_grant(q, key, a, g, w);
}

struct str
store_grant_id(struct str handle, struct arena *a)
{
	return store_hash(a, handle);
}

enum err
store_grant_of_id(struct store *st, const struct seal_key *key,
    struct str id, struct arena *a, struct store_grant *g, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT " COLUMNS
	    " FROM external_grant WHERE handle = ?1");

	query_bytes(q, 1, id);
	return get_grant(q, key, a, g, w);
}

struct str
store_grant_account(const struct store_grant *g)
{
	return g->account.n > 0 ? g->account : g->user.uuid;
}

enum err
store_grant_find_issued(struct store *st, const struct seal_key *key,
    struct str backend, struct str connector, struct str account,
    struct wall issued, struct arena *a, struct store_grant *g,
    struct why *w)
{
	struct query *q = database_query(st->db, "SELECT " COLUMNS
	    " FROM external_grant WHERE backend = ?1 AND connector = ?2"
	    " AND issued = ?3");
	size_t n = 0;

	query_str(q, 1, store_text(backend));
	query_str(q, 2, store_text(connector));
	query_i64(q, 3, wall_s(issued) * US_PER_S);
	/* Accounts are sealed. */
	while (query_step(q)) {
		struct grant_row row;
		read_row(q, a, &row);
		if (open_row(key, a, &row, NULL) != OK ||
		    !str_eq(store_grant_account(&row.g), account))
			continue;
		*g = row.g;
		n++;
	}
	enum err e = query_end(&q, w);
	if (e == OK && n == 0)
		e = is_absent(w);
	if (e == OK && n > 1)
		e = why(w, ERR_STATE, "several users match");
	return e;
}

/* -- Writing -- */

static enum err
check_grant(const struct store_grant *g, struct why *w)
{
	enum err e = store_check_user(&g->user, w);

	if (e == OK)
		e = store_check_lines("account", g->account,
		    STORE_ACCOUNT_BYTES_MAX, w);
	return e == OK ? store_check_lines("text", g->text,
	    STORE_SEALED_BYTES_MAX, w) : e;
}

static struct str
make_handle(struct arena *a)
{
	FREED(store_free_secret) struct buf text = BUF_INIT;
	uint8_t random[HANDLE_RANDOM_BYTES];

	clock_random(random, sizeof(random));
	buf_reserve(&text, 64);
	buf_put_text(&text, HANDLE_PREFIX);
	base64url_put(&text, (struct str){ (const char *)random,
	    sizeof(random) });
	explicit_bzero(random, sizeof(random));
	return arena_copy(a, buf_str(&text));
}

static enum err
write_row(struct store *st, const struct grant_row *row, struct why *w)
{
	struct query *q = database_query(st->db, "INSERT INTO external_grant"
	    " (backend, connector, subdomain, uuid, handle, key_id, sealed,"
	    " issued, expiry, refresh_at, lease) VALUES (?1, ?2, ?3, ?4, ?5,"
	    " ?6, ?7, ?8, ?9, ?10, ?11)"
	    " ON CONFLICT (backend, connector, subdomain, uuid) DO UPDATE SET"
	    " handle = ?5, key_id = ?6, sealed = ?7, issued = ?8,"
	    " expiry = ?9, refresh_at = ?10, lease = ?11, leased_until = 0");
	const struct store_grant *g = &row->g;

	store_bind_user(q, &g->user);
	query_bytes(q, 5, row->hash);
	query_str(q, 6, row->key_id);
	query_bytes(q, 7, row->sealed);
	query_i64(q, 8, g->issued.us);
	query_i64(q, 9, g->expiry.us);
	if (g->refresh_at.us != 0)
		query_i64(q, 10, g->refresh_at.us);
	else
		query_null(q, 10);
	store_bind_id(q, 11, g->lease);
	return store_run(q, NULL, w);
}

static void
copy_grant(struct arena *a, const struct store_grant *g,
    struct store_grant *out)
{
	*out = (struct store_grant){
		.user = {
			.backend = arena_copy(a, g->user.backend),
			.connector = arena_copy(a, g->user.connector),
			.subdomain = arena_copy(a, g->user.subdomain),
			.uuid = arena_copy(a, g->user.uuid),
		},
		.account = arena_copy(a, g->account),
		.text = arena_copy(a, g->text),
		.expiry = g->expiry,
		.refresh_at = g->refresh_at,
	};
}

static enum err
put_grant(struct store *st, const struct seal_key *key,
    const struct store_grant *g, struct wall now, struct arena *a,
    struct store_grant *out, struct store_grant *ended, struct why *w)
{
	struct grant_row old, row = { .number = 0 };
	struct why unread = WHY_INIT;
	bool found;

	enum err e = find_row(st, &g->user, a, &old, &found, w);
	if (e == OK && !found)
		e = store_check_room(st, "SELECT count(*) FROM external_grant",
		    STORE_GRANTS_MAX, "grants", w);
	if (e != OK)
		return e;
	bool opened = found && open_row(key, a, &old, &unread) == OK;
	bool same = opened && g->account.n > 0 &&
	    str_eq(old.g.account, g->account);
	copy_grant(a, g, &row.g);
	row.g.handle = same ? old.g.handle : make_handle(a);
	row.g.issued = same ? old.g.issued :
	    (struct wall){ wall_s(now) * US_PER_S };
	row.g.lease = old.g.lease + 1;
	seal_row(key, a, &row);
	e = write_row(st, &row, w);
	if (e == OK)
		*out = row.g;
	if (e == OK && opened && !same)
		*ended = old.g;
	return e;
}

enum err
store_grant_put(struct store *st, const struct seal_key *key,
    const struct store_grant *g, struct wall now, struct arena *a,
    struct store_grant *out, struct store_grant *ended, struct why *w)
{
	bool mine;

	*ended = (struct store_grant){ .lease = 0 };
	enum err e = check_grant(g, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	return store_leave(st, mine, put_grant(st, key, g, now, a, out, ended,
	    w), w);
}

static enum err
delete_grant(struct store *st, const struct store_user *u, struct why *w)
{
	struct query *q = database_query(st->db, "DELETE FROM external_grant"
	    BY_USER);

	store_bind_user(q, u);
	return store_run(q, NULL, w);
}

enum err
store_grant_clear(struct store *st, const struct seal_key *key,
    const struct store_user *u, struct arena *a, bool *found,
    struct store_grant *was, struct why *w)
{
	struct grant_row row;
	struct why unread = WHY_INIT;
	bool mine;

	*was = (struct store_grant){ .lease = 0 };
	*found = false;
	enum err e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	e = find_row(st, u, a, &row, found, w);
	if (*found && open_row(key, a, &row, &unread) == OK)
		*was = row.g;
	if (*found)
		e = delete_grant(st, u, w);
	return store_leave(st, mine, e, w);
}

enum err
store_grant_forget(struct store *st, struct wall before, size_t *n,
    struct why *w)
{
	bool mine;

	*n = 0;
	enum err e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "DELETE FROM external_grant"
	    " WHERE number IN (SELECT number FROM external_grant"
	    " WHERE expiry < ?1 ORDER BY number LIMIT ?2)");
	query_i64(q, 1, before.us);
	query_i64(q, 2, STORE_GRANTS_PAGE_MAX);
	query_step(q);
	*n = (size_t)query_changes(q);
	e = query_end(&q, w);
	return store_leave(st, mine, e, w);
}

/* -- Refreshing -- */

/* When the next one becomes due or a lease ends. */
static enum err
find_next(struct store *st, struct wall now, struct wall *next, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT min(moment) FROM"
	    " (SELECT min(refresh_at) AS moment FROM external_grant"
	    " WHERE refresh_at > ?1 UNION ALL"
	    " SELECT min(leased_until) FROM external_grant"
	    " WHERE leased_until > ?1) AS moments");

	next->us = INT64_MAX;
	query_i64(q, 1, now.us);
	if (query_step(q) && !query_is_null(q, 0))
		next->us = query_get_i64(q, 0);
	return query_end(&q, w);
}

enum err
store_grant_due(struct store *st, struct wall now, size_t most,
    struct arena *a, struct store_user **list, size_t *n, struct wall *next,
    struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	struct query *q = database_query(st->db, "SELECT backend, connector,"
	    " subdomain, uuid FROM external_grant WHERE refresh_at <= ?1"
	    " AND leased_until <= ?1 ORDER BY refresh_at, number LIMIT ?2");
	size_t limit = most == 0 ? STORE_GRANTS_PAGE_MAX :
	    MIN(most, STORE_GRANTS_PAGE_MAX);

	query_i64(q, 1, now.us);
	query_i64(q, 2, (int64_t)limit);
	while (query_step(q))
		store_read_user(q, 0, a, store_rows_add(&r));
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*list = r.rows;
	*n = r.n;
	*next = now;
	return e == OK && r.n < limit ? find_next(st, now, next, w) : e;
}

static enum err
lease_grant(struct store *st, const struct seal_key *key,
    const struct store_user *u, struct wall now, struct wall until,
    struct arena *a, struct store_grant *out, struct why *w)
{
	struct grant_row row;
	bool found;

	enum err e = find_row(st, u, a, &row, &found, w);
	if (e == OK && !found)
		e = is_absent(w);
	if (e == OK && row.leased_until.us > now.us)
		e = why(w, ERR_BUSY, "the grant is being refreshed");
	if (e == OK)
		e = open_row(key, a, &row, w);
	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE external_grant SET"
	    " lease = lease + 1, leased_until = ?5" BY_USER);
	store_bind_user(q, u);
	query_i64(q, 5, until.us);
	row.g.lease++;
	*out = row.g;
	return store_run(q, NULL, w);
}

enum err
store_grant_lease(struct store *st, const struct seal_key *key,
    const struct store_user *u, struct wall now, struct wall until,
    struct arena *a, struct store_grant *out, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	return store_leave(st, mine, lease_grant(st, key, u, now, until, a,
	    out, w), w);
}

/* Whether `g` is the grant that is stored, under the lease that it has. */
static enum err
check_lease(struct store *st, const struct store_grant *g, struct arena *a,
    struct grant_row *row, struct why *w)
{
	bool found;
	enum err e = find_row(st, &g->user, a, row, &found, w);

	if (e == OK && !found)
		e = is_absent(w);
	if (e == OK && (row->g.lease != g->lease || !str_eq(row->hash,
	    store_hash(a, g->handle))))
		e = why(w, ERR_STATE, "the lease of the grant was taken");
	return e;
}

static enum err
refresh_grant(struct store *st, const struct seal_key *key,
    const struct store_grant *g, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct grant_row row;

	enum err e = check_lease(st, g, &a, &row, w);
	if (e == OK)
		e = open_row(key, &a, &row, w);
	if (e != OK)
		return e;
	row.g.text = g->text;
	row.g.expiry = g->expiry;
	row.g.refresh_at = g->refresh_at;
	seal_row(key, &a, &row);
	return write_row(st, &row, w);
}

enum err
store_grant_refresh(struct store *st, const struct seal_key *key,
    const struct store_grant *g, struct why *w)
{
	bool mine;

	enum err e = check_grant(g, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	return store_leave(st, mine, refresh_grant(st, key, g, w), w);
}

enum err
store_grant_delay(struct store *st, const struct store_grant *g,
    struct wall again, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct grant_row row;
	bool mine;

	enum err e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	e = check_lease(st, g, &a, &row, w);
	if (e == OK) {
		struct query *q = database_query(st->db, "UPDATE"
		    " external_grant SET refresh_at = ?5, leased_until = 0"
		    BY_USER);
		store_bind_user(q, &g->user);
		query_i64(q, 5, again.us);
		e = store_run(q, NULL, w);
	}
	return store_leave(st, mine, e, w);
}

enum err
store_grant_revoke(struct store *st, const struct store_grant *g,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct grant_row row;
	bool mine;

	enum err e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	e = check_lease(st, g, &a, &row, w);
	if (e == OK)
		e = delete_grant(st, &g->user, w);
	return store_leave(st, mine, e, w);
}

/* -- Keys -- */

static enum err
list_sealed(struct store *st, const struct seal_key *from, uint64_t after,
    size_t most, struct arena *a, struct grant_row **list, size_t *n,
    struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	struct query *q = database_query(st->db, "SELECT " COLUMNS
	    " FROM external_grant WHERE number > ?1 AND key_id = ?2"
	    " ORDER BY number LIMIT ?3");
	char id[STORE_KEY_ID_BYTES + 1];

	store_key_id(from, id);
	store_bind_id(q, 1, after);
	query_str(q, 2, str_of(id));
	query_i64(q, 3, (int64_t)most);
	while (query_step(q))
		read_row(q, a, store_rows_add(&r));
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}

static enum err
reseal_row(struct store *st, const struct seal_key *to, struct arena *a,
    struct grant_row *row, struct why *w)
{
	struct query *q = database_query(st->db, "UPDATE external_grant SET"
	    " key_id = ?2, sealed = ?3 WHERE number = ?1");

	seal_row(to, a, row);
	store_bind_id(q, 1, row->number);
	query_str(q, 2, row->key_id);
	query_bytes(q, 3, row->sealed);
	return store_run(q, NULL, w);
}

static enum err
rekey_batch(struct store *st, const struct seal_key *from,
    const struct seal_key *to, size_t most, struct store_rekey *r,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct grant_row *list;
	size_t n;

	enum err e = list_sealed(st, from, r->after, most, &a, &list, &n, w);
	for (size_t i = 0; i < n && e == OK; i++) {
		struct why unread = WHY_INIT;
		bool opened = open_row(from, &a, &list[i], &unread) == OK;
		if (opened)
			e = reseal_row(st, to, &a, &list[i], w);
		r->done += opened;
		r->damaged += !opened;
		r->after = list[i].number;
	}
	r->is_complete = n < most;
	return e;
}

enum err
store_grant_rekey(struct store *st, const struct seal_key *from,
    const struct seal_key *to, size_t most, struct store_rekey *r,
    struct why *w)
{
	struct store_rekey next = *r;
	bool mine;

	enum err e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	e = rekey_batch(st, from, to, most == 0 ? STORE_REKEY_MAX :
	    MIN(most, STORE_REKEY_MAX), &next, w);
	e = store_leave(st, mine, e, w);
	if (e == OK)
		*r = next;
	return e;
}
