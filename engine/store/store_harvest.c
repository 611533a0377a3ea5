/* Harvests and their WARC files as rows. */
#include "engine/store/store_harvest.h"

#include "base/text.h"
#include "engine/store/store_own.h"

#define DAY_US (INT64_C(86400) * US_PER_S)

#define SHORT_COLUMNS "id, type, path, state, accepted, started, ended," \
	" captures, outcome, merged"
#define LONG_COLUMNS "message, sealed, saved, totals"

static const char *const state_names[] = {
#define STATE_NAME(name, text) text,
	STORE_HARVEST_STATES(STATE_NAME)
#undef STATE_NAME
};
static const char *const end_names[] = { "", "success", "failure" };

const char *
store_harvest_state_name(enum store_harvest_state s)
{
	return state_names[s];
}

bool
store_harvest_is_over(enum store_harvest_state s)
{
	return s == STORE_HARVEST_SUCCEEDED || s == STORE_HARVEST_FAILED;
}

/* -- New ones -- */

static enum err
check_new(const struct store_harvest *h, struct why *w)
{
	enum err e = h->id.n == 0 ? OK : store_check_text("id", h->id,
	    STORE_HARVEST_ID_BYTES_MAX, w);

	if (e == OK)
		e = store_check_text("type", h->type, STORE_NAME_BYTES_MAX, w);
	if (e == OK)
		e = store_check_text("path", h->path,
		    STORE_HARVEST_PATH_BYTES_MAX, w);
	if (e == OK && (h->message.n > STORE_HARVEST_MESSAGE_BYTES_MAX ||
	    !text_is_utf8(h->message)))
		e = why_field(w, ERR_INPUT, "message", "it is no text, or has "
		    "more than %zu bytes", STORE_HARVEST_MESSAGE_BYTES_MAX);
	return e;
}

static enum err
forget_old(struct store *st, struct wall now, struct why *w)
{
	static const char *const texts[] = {
		"DELETE FROM harvest_warc WHERE harvest IN (SELECT id FROM"
		" harvest WHERE ended < ?1)",
		"DELETE FROM harvest WHERE ended < ?1" };
	enum err e = OK;

	for (size_t i = 0; i < ARRAY_LEN(texts) && e == OK; i++) {
		struct query *q = database_query(st->db, texts[i]);
		query_i64(q, 1, now.us - STORE_HARVEST_DAYS * DAY_US);
		e = store_run(q, NULL, w);
	}
	return e;
}

static enum err
insert(struct store *st, const struct store_harvest *h, struct wall now,
    uint64_t *number, struct why *w)
{
	struct why inner = WHY_INIT;
	struct query *q = database_query(st->db, "INSERT INTO harvest (id,"
	    " type, path, node, state, accepted, message)"
	    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING number");

	query_str(q, 1, store_text(h->id));
	query_str(q, 2, h->type);
	query_str(q, 3, h->path);
	query_str(q, 4, st->node);
	query_str(q, 5, str_of(state_names[STORE_HARVEST_ACCEPTED]));
	query_i64(q, 6, now.us);
	query_str(q, 7, store_text(h->message));
	while (query_step(q))
		*number = (uint64_t)query_get_i64(q, 0);
	enum err e = query_end(&q, &inner);
	if (e == ERR_EXISTS)
		return why(w, e, "there is a harvest %.*s already",
		    STR_FMT(h->id));
	return e == OK ? OK : why(w, e, "%s", inner.text);
}

static enum err
name_it(struct store *st, struct store_harvest *h, uint64_t number,
    struct arena *a, struct why *w)
{
	h->id = arena_printf(a, "%.*s-%llu", STR_FMT(h->type),
	    (unsigned long long)number);
	struct query *q = database_query(st->db, "UPDATE harvest SET id = ?2"
	    " WHERE number = ?1");

	store_bind_id(q, 1, number);
	query_str(q, 2, h->id);
	return store_run(q, NULL, w);
}

enum err
store_harvest_add(struct store *st, struct store_harvest *h, struct wall now,
    struct arena *a, struct why *w)
{
	uint64_t number = 0;
	bool mine;

	enum err e = check_new(h, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	e = forget_old(st, now, w);
	if (e == OK)
		e = store_check_room(st, "SELECT count(*) FROM harvest",
		    STORE_HARVESTS_MAX, "harvests", w);
	if (e == OK)
		e = insert(st, h, now, &number, w);
	if (e == OK && h->id.n == 0)
		e = name_it(st, h, number, a, w);
	h->state = STORE_HARVEST_ACCEPTED;
	h->accepted = now;
	return store_leave(st, mine, e, w);
}

/* -- Reading -- */

static bool
find_name(struct str s, const char *const *names, size_t n, unsigned *out)
{
	size_t i = str_find_row(s, names, n, sizeof(*names), str_eq);

	*out = (unsigned)i;
	return i < n;
}

static enum err
read_short(struct query *q, struct arena *a, struct store_harvest *h,
    struct why *w)
{
	unsigned state, end;

	*h = (struct store_harvest){
		.id = arena_copy(a, query_get_str(q, 0)),
		.type = arena_copy(a, query_get_str(q, 1)),
		.path = arena_copy(a, query_get_str(q, 2)),
		.accepted = { query_get_i64(q, 4) },
		.started = { query_get_i64(q, 5) },
		.ended = { query_get_i64(q, 6) },
		.captures = (uint64_t)query_get_i64(q, 7),
		.merged = query_get_i64(q, 9) != 0,
	};
	if (!find_name(query_get_str(q, 3), state_names,
	    ARRAY_LEN(state_names), &state) ||
	    !find_name(query_get_str(q, 8), end_names, ARRAY_LEN(end_names),
	    &end))
		return why(w, ERR_CORRUPT, "harvest %.*s has no state",
		    STR_FMT(h->id));
	h->state = (enum store_harvest_state)state;
	h->end = (enum store_harvest_end)end;
	return OK;
}

static enum err
is_absent(struct str id, struct why *w)
{
	return why(w, ERR_ABSENT, "there is no harvest %.*s",
	    STR_FMT(str_cut(id, 0, STORE_HARVEST_ID_BYTES_MAX)));
}

enum err
store_harvest_get(struct store *st, struct str id, struct arena *a,
    struct store_harvest *h, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT " SHORT_COLUMNS ", "
	    LONG_COLUMNS " FROM harvest WHERE id = ?1");
	enum err read = OK;
	bool found = false;

	query_str(q, 1, store_text(id));
	if (query_step(q)) {
		found = true;
		read = read_short(q, a, h, w);
		h->message = arena_copy(a, query_get_str(q, 10));
		h->sealed = arena_copy(a, query_get_str(q, 11));
		h->saved = arena_copy(a, query_get_str(q, 12));
		h->totals = arena_copy(a, query_get_str(q, 13));
	}
	enum err e = query_end(&q, w);
	if (e == OK && !found)
		e = is_absent(id, w);
	return e == OK ? read : e;
}

enum err
store_harvest_list(struct store *st, bool open, struct arena *a,
    struct store_harvest **list, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	struct query *q = database_query(st->db, "SELECT " SHORT_COLUMNS
	    " FROM harvest WHERE node = ?1 AND (?2 = 0 OR ended IS NULL)"
	    " ORDER BY number");
	enum err e = OK;

	query_str(q, 1, st->node);
	query_i64(q, 2, open);
	while (e == OK && query_step(q))
		e = read_short(q, a, store_rows_add(&r), w);
	e = store_rows_end(&r, &q, e, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}

#define PAGE_WHERE " FROM harvest WHERE node = ?1 AND (?2 = '' OR state = ?2" \
	" OR (?2 = 'open' AND ended IS NULL))"

static enum err
count_page(struct store *st, struct str state, uint64_t *total, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT count(*)" PAGE_WHERE);

	query_str(q, 1, st->node);
	query_str(q, 2, store_text(state));
	*total = query_step(q) ? (uint64_t)query_get_i64(q, 0) : 0;
	return query_end(&q, w);
}

enum err
store_harvest_page(struct store *st, struct str state, uint64_t start,
    uint64_t size, struct arena *a, struct store_harvest **list, size_t *n,
    uint64_t *total, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	enum err e = count_page(st, state, total, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "SELECT " SHORT_COLUMNS
	    ", totals" PAGE_WHERE " ORDER BY number DESC LIMIT ?3 OFFSET ?4");
	query_str(q, 1, st->node);
	query_str(q, 2, store_text(state));
	query_i64(q, 3, (int64_t)MIN(size, STORE_HARVESTS_MAX));
	query_i64(q, 4, (int64_t)MIN(start, STORE_HARVESTS_MAX));
	while (e == OK && query_step(q)) {
		struct store_harvest *h = store_rows_add(&r);
		e = read_short(q, a, h, w);
		h->totals = arena_copy(a, query_get_str(q, 10));
	}
	e = store_rows_end(&r, &q, e, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}

/* -- Changing -- */

/* A verb of one statement about one harvest, which must be there. */
static enum err
run_one(struct store *st, struct query *q, struct str id, bool mine,
    struct why *w)
{
	bool changed;
	enum err e = store_run(q, &changed, w);

	if (e == OK && !changed)
		e = is_absent(id, w);
	return store_leave(st, mine, e, w);
}

enum err
store_harvest_set_state(struct store *st, struct str id,
    enum store_harvest_state state, struct wall now, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE harvest SET"
	    " state = ?2,"
	    " started = CASE WHEN ?4 = 1 THEN COALESCE(started, ?3)"
	    "   ELSE started END,"
	    " ended = CASE WHEN ?5 = 1 THEN ?3 ELSE NULL END,"
	    " sealed = CASE WHEN ?5 = 1 THEN NULL ELSE sealed END,"
	    " saved = CASE WHEN ?5 = 1 THEN NULL ELSE saved END"
	    " WHERE id = ?1");
	query_str(q, 1, store_text(id));
	query_str(q, 2, str_of(state_names[state]));
	query_i64(q, 3, now.us);
	query_i64(q, 4, state == STORE_HARVEST_RUNNING);
	query_i64(q, 5, store_harvest_is_over(state));
	return run_one(st, q, id, mine, w);
}

enum err
store_harvest_set_totals(struct store *st, struct str id, struct str totals,
    struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE harvest SET"
	    " totals = ?2 WHERE id = ?1");
	query_str(q, 1, store_text(id));
	query_str(q, 2, store_text(totals));
	return run_one(st, q, id, mine, w);
}

enum err
store_harvest_seal(struct store *st, struct str id, struct str sealed,
    struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE harvest SET"
	    " sealed = ?2 WHERE id = ?1");
	query_str(q, 1, store_text(id));
	query_bytes(q, 2, sealed);
	return run_one(st, q, id, mine, w);
}

static enum err
put_warc(struct store *st, struct str id, const struct store_harvest_warc *f,
    struct why *w)
{
	struct query *q = database_query(st->db, "INSERT INTO harvest_warc"
	    " (harvest, name, warc_id, sha1, bytes, created, placed, urls)"
	    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7)"
	    " ON CONFLICT (harvest, name) DO NOTHING");

	query_str(q, 1, id);
	query_str(q, 2, f->name);
	query_str(q, 3, f->warc_id);
	query_str(q, 4, f->sha1);
	query_i64(q, 5, (int64_t)f->bytes);
	query_i64(q, 6, f->created.us);
	query_str(q, 7, store_text(f->urls));
	return store_run(q, NULL, w);
}

enum err
store_harvest_ready(struct store *st, const struct store_harvest *h,
    const struct store_harvest_warc *warcs, size_t n, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	for (size_t i = 0; i < n && e == OK; i++)
		e = put_warc(st, h->id, &warcs[i], w);
	if (e != OK)
		return store_leave(st, mine, e, w);
	struct query *q = database_query(st->db, "UPDATE harvest SET"
	    " captures = ?2, saved = ?3, totals = ?4, outcome = ?5,"
	    " merged = 0 WHERE id = ?1");
	query_str(q, 1, h->id);
	query_i64(q, 2, (int64_t)h->captures);
	query_bytes(q, 3, h->saved);
	query_str(q, 4, store_text(h->totals));
	query_str(q, 5, str_of(end_names[h->end]));
	return run_one(st, q, h->id, mine, w);
}

enum err
store_harvest_placed(struct store *st, struct str id, struct str name,
    struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE harvest_warc SET"
	    " placed = 1 WHERE harvest = ?1 AND name = ?2");
	query_str(q, 1, store_text(id));
	query_str(q, 2, store_text(name));
	return run_one(st, q, id, mine, w);
}

enum err
store_harvest_merged(struct store *st, struct str id, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE harvest SET"
	    " merged = 1 WHERE id = ?1");
	query_str(q, 1, store_text(id));
	return run_one(st, q, id, mine, w);
}

enum err
store_harvest_drop(struct store *st, struct str id, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "DELETE FROM harvest_warc"
	    " WHERE harvest = ?1");
	query_str(q, 1, store_text(id));
	e = store_run(q, NULL, w);
	if (e != OK)
		return store_leave(st, mine, e, w);
	q = database_query(st->db, "DELETE FROM harvest WHERE id = ?1");
	query_str(q, 1, store_text(id));
	return run_one(st, q, id, mine, w);
}

/* -- WARC files -- */

enum err
store_harvest_warcs(struct store *st, struct str id, struct arena *a,
    struct store_harvest_warc **list, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	struct query *q = database_query(st->db, "SELECT name, warc_id, sha1,"
	    " bytes, created, placed FROM harvest_warc WHERE harvest = ?1"
	    " ORDER BY name");

	query_str(q, 1, store_text(id));
	while (query_step(q)) {
		struct store_harvest_warc *f = store_rows_add(&r);
		*f = (struct store_harvest_warc){
			.name = arena_copy(a, query_get_str(q, 0)),
			.warc_id = arena_copy(a, query_get_str(q, 1)),
			.sha1 = arena_copy(a, query_get_str(q, 2)),
			.bytes = (uint64_t)query_get_i64(q, 3),
			.created = { query_get_i64(q, 4) },
			.placed = query_get_i64(q, 5) != 0,
		};
	}
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}
