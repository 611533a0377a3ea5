/*
 * Schedules as rows: when they run is schedule.c's.
 */
#include "engine/store/store.h"

#include "engine/store/store_own.h"

/* The two long ones last: lists go without them. */
#define OWN_COLUMNS "name, policy, tags, every, unit, timing, name_template," \
	" start_at, next_at, runs, last_crawl, node"
#define STORED_COLUMNS OWN_COLUMNS ", harvest_type, seeds, policy_json," \
	" harvest"
#define SHORT_COLUMNS "id, " OWN_COLUMNS ", harvest_type, skips"
#define ALL_COLUMNS SHORT_COLUMNS ", seeds, policy_json, harvest"

/* A name, or an object: one of them. */
static enum err
check_policy(const struct schedule *s, struct why *w)
{
	if ((s->policy.n == 0) == (s->policy_json.n == 0))
		return why_field(w, ERR_INPUT, "policy", "a name or an object "
		    "is needed");
	return s->policy.n != 0 ?
	    store_check_text("policy", s->policy, STORE_NAME_BYTES_MAX, w) :
	    store_check_json("policy", s->policy_json, w);
}

static enum err
check_harvest(const struct schedule *s, struct why *w)
{
	enum err e = store_check_text("harvest", s->harvest_type,
	    STORE_NAME_BYTES_MAX, w);

	if (e == OK)
		e = store_check_json("harvest", s->harvest, w);
	return e != OK || s->timing == SCHEDULE_REGULAR ? e : why_field(w,
	    ERR_INPUT, "timing", "harvests are begun at regular intervals");
}

static enum err
check_schedule(const struct schedule *s, struct why *w)
{
	enum err e = store_check_text("name", s->name, STORE_NAME_BYTES_MAX,
	    w);

	if (e == OK)
		e = store_check_json("seeds", s->seeds, w);
	if (e == OK)
		e = check_policy(s, w);
	if (e == OK && s->harvest_type.n > 0)
		e = check_harvest(s, w);
	if (e == OK)
		e = store_check_labels(STR(""), s->tags, s->tags_n, w);
	if (e == OK && s->name_template.n != 0)
		e = store_check_text("name_template", s->name_template,
		    STORE_NAME_BYTES_MAX, w);
	if (e == OK)
		e = schedule_check(s, w);
	return e;
}

static void
bind_time(struct query *q, int at, struct wall t)
{
	if (t.us == SCHEDULE_NEVER.us)
		query_null(q, at);
	else
		query_i64(q, at, t.us);
}

/* Parameters 1 to 16. */
static void
bind_schedule(struct query *q, const struct store *st,
    const struct schedule *s, struct str tags)
{
	query_str(q, 1, s->name);
	query_str(q, 2, store_text(s->policy));
	query_str(q, 3, tags);
	query_i64(q, 4, s->every);
	query_str(q, 5, str_of(schedule_unit_text(s->unit)));
	query_str(q, 6, str_of(schedule_timing_text(s->timing)));
	query_str(q, 7, store_text(s->name_template));
	query_i64(q, 8, s->start_at.us);
	bind_time(q, 9, s->next_at);
	query_i64(q, 10, (int64_t)s->runs);
	if (s->last_crawl == SCHEDULE_NO_CRAWL)
		query_null(q, 11);
	else
		query_i64(q, 11, (int64_t)s->last_crawl);
	query_str(q, 12, st->node);
	query_str(q, 13, store_text(s->harvest_type));
	query_str(q, 14, s->seeds);
	query_str(q, 15, store_text(s->policy_json));
	query_str(q, 16, store_text(s->harvest));
}

static enum err
insert_schedule(struct store *st, struct schedule *s, struct str tags,
    struct why *w)
{
	struct query *q = database_query(st->db, "INSERT INTO schedule ("
	    STORED_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
	    " ?11, ?12, ?13, ?14, ?15, ?16) RETURNING id");
	uint64_t id = 0;

	bind_schedule(q, st, s, tags);
	while (query_step(q))
		id = (uint64_t)query_get_i64(q, 0);
	enum err e = query_end(&q, w);
	if (e == OK)
		s->id = id;
	return e;
}

static enum err
update_schedule(struct store *st, const struct schedule *s, struct str tags,
    struct why *w)
{
	struct query *q = database_query(st->db, "UPDATE schedule SET"
	    " (" STORED_COLUMNS ") = (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
	    " ?11, CASE WHEN ?18 = 1 THEN node ELSE ?12 END, ?13, ?14, ?15,"
	    " ?16) WHERE id = ?17");

	bind_schedule(q, st, s, tags);
	store_bind_id(q, 17, s->id);
	query_i64(q, 18, s->is_elsewhere);
	return store_run(q, NULL, w);
}

/* id 0: a new row, whose id is set. */
static enum err
write_schedule(struct store *st, struct schedule *s, struct why *w)
{
	FREED(buf_free) struct buf tags = BUF_INIT;

	store_tags_put(&tags, s->tags, s->tags_n);
	return s->id == 0 ? insert_schedule(st, s, buf_str(&tags), w) :
	    update_schedule(st, s, buf_str(&tags), w);
}

static enum err
read_schedule(const struct store *st, struct query *q, bool whole,
    struct arena *a, struct schedule *s, struct why *w)
{
	*s = (struct schedule){
		.id = (uint64_t)query_get_i64(q, 0),
		.name = arena_copy(a, query_get_str(q, 1)),
		.policy = arena_copy(a, query_get_str(q, 2)),
		.every = (unsigned)query_get_i64(q, 4),
		.name_template = arena_copy(a, query_get_str(q, 7)),
		.start_at = { query_get_i64(q, 8) },
		.next_at = query_is_null(q, 9) ? SCHEDULE_NEVER :
		    (struct wall){ query_get_i64(q, 9) },
		.runs = (uint64_t)query_get_i64(q, 10),
		.last_crawl = query_is_null(q, 11) ? SCHEDULE_NO_CRAWL :
		    (uint64_t)query_get_i64(q, 11),
		.harvest_type = arena_copy(a, query_get_str(q, 13)),
		.skips = (uint64_t)query_get_i64(q, 14),
	};
	s->is_elsewhere = s->last_crawl != SCHEDULE_NO_CRAWL &&
	    !str_eq(query_get_str(q, 12), st->node);
	if (whole) {
		s->seeds = arena_copy(a, query_get_str(q, 15));
		s->policy_json = arena_copy(a, query_get_str(q, 16));
		s->harvest = arena_copy(a, query_get_str(q, 17));
	}
	if (!schedule_unit_of(query_get_str(q, 5), &s->unit) ||
	    !schedule_timing_of(query_get_str(q, 6), &s->timing))
		return why(w, ERR_CORRUPT, "schedule %llu has no unit or "
		    "timing", (unsigned long long)s->id);
	return store_tags_get(query_get_str(q, 3), a, &s->tags, &s->tags_n, w);
}

static enum err
no_schedule(uint64_t id, struct why *w)
{
	return why_field(w, ERR_ABSENT, "schedule", "there is none with the "
	    "id %llu", (unsigned long long)id);
}

enum err
store_schedule_get(struct store *st, uint64_t id, struct arena *a,
    struct schedule *out, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT " ALL_COLUMNS
	    " FROM schedule WHERE id = ?1");
	enum err read = OK;

	store_bind_id(q, 1, id);
	bool found = query_step(q);
	if (found)
		read = read_schedule(st, q, true, a, out, w);
	enum err e = query_end(&q, w);
	if (e == OK && !found)
		e = no_schedule(id, w);
	return e == OK ? read : e;
}

static enum err
plan(struct store *st, struct schedule *s, struct wall now, struct arena *a,
    struct why *w)
{
	struct schedule old;
	enum err e;

	s->next_at = schedule_first(s, now);
	if (s->id == 0) {
		s->runs = 0;
		s->last_crawl = SCHEDULE_NO_CRAWL;
		return store_check_room(st, "SELECT count(*) FROM schedule",
		    st->schedules_max, "schedules", w);
	}
	e = store_schedule_get(st, s->id, a, &old, w);
	if (e != OK)
		return e;
	s->runs = old.runs;
	s->last_crawl = old.last_crawl;
	s->is_elsewhere = old.is_elsewhere;
	if (s->timing == SCHEDULE_AFTER && old.timing == SCHEDULE_AFTER &&
	    old.next_at.us == SCHEDULE_NEVER.us)
		s->next_at = old.next_at;
	return OK;
}

enum err
store_schedule_put(struct store *st, struct schedule *s, struct wall now,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct schedule put = *s;
	bool mine;

	if (put.start_at.us == 0)
		put.start_at = now;
	enum err e = check_schedule(&put, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	e = plan(st, &put, now, &a, w);
	if (e == OK)
		e = write_schedule(st, &put, w);
	e = store_leave(st, mine, e, w);
	if (e == OK)
		*s = put;
	return e;
}

enum err
store_schedule_delete(struct store *st, uint64_t id, struct why *w)
{
	bool mine, was = false;

	enum err e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "DELETE FROM schedule"
	    " WHERE id = ?1");
	store_bind_id(q, 1, id);
	e = store_run(q, &was, w);
	if (e == OK && !was)
		e = no_schedule(id, w);
	return store_leave(st, mine, e, w);
}

/* All rows of a query, which is ended. */
static enum err
read_schedules(const struct store *st, struct query *q, bool whole,
    struct arena *a, struct schedule **out, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**out) };
	enum err e = OK;

	while (e == OK && query_step(q))
		e = read_schedule(st, q, whole, a, store_rows_add(&r), w);
	e = store_rows_end(&r, &q, e, a, w);
	*out = r.rows;
	*n = r.n;
	return e;
}

enum err
store_schedule_list(struct store *st, struct arena *a, struct schedule **list,
    size_t *n, struct why *w)
{
	return read_schedules(st, database_query(st->db, "SELECT "
	    SHORT_COLUMNS " FROM schedule ORDER BY id"), false, a, list, n, w);
}

/* -- What is due -- */

#define IS_DUE "next_at IS NOT NULL AND next_at <= ?1 AND claim IN ('', ?3)" \
	" ORDER BY next_at, id LIMIT ?2"

/* A file has one daemon, which needs no claim. */
static const struct sql due = {
	"SELECT " ALL_COLUMNS " FROM schedule WHERE " IS_DUE,
	"WITH due AS (SELECT id AS due_id FROM schedule WHERE " IS_DUE "),"
	" mine AS (UPDATE schedule SET claim = ?3 FROM due WHERE id = due_id"
	" RETURNING " ALL_COLUMNS ")"
	" SELECT " ALL_COLUMNS " FROM mine ORDER BY next_at, id",
};

/*
 * Two daemons may know a schedule of the same number, each of a store of its
 * own, and the one has joined the other's: the name of a shared store keeps
 * their crawls apart.
 */
static void
set_keys(const struct store *st, struct schedule *list, size_t n,
    struct arena *a)
{
	for (size_t i = 0; i < n; i++)
		list[i].key = arena_printf(a, "%llu/%llu%s%.*s",
		    (unsigned long long)list[i].id,
		    (unsigned long long)list[i].runs + 1,
		    st->name.n > 0 ? "/" : "", STR_FMT(st->name));
}

static enum err
read_due(struct store *st, struct wall now, struct arena *a,
    struct schedule **list, size_t *n, struct why *w)
{
	struct query *q = database_query_sql(st->db, &due);

	query_i64(q, 1, now.us);
	query_i64(q, 2, STORE_DUE_MAX);
	query_str(q, 3, st->node);
	enum err e = read_schedules(st, q, true, a, list, n, w);
	if (e == OK)
		set_keys(st, *list, *n, a);
	return e;
}

enum err
store_schedule_due(struct store *st, struct wall now, struct arena *a,
    struct schedule **list, size_t *n, struct why *w)
{
	struct wall next;
	bool mine;

	*list = NULL;
	*n = 0;
	if (!store_is_shared(st))
		return read_due(st, now, a, list, n, w);
	/* A group would tell everybody that something has changed. */
	enum err e = store_schedule_next(st, &next, w);
	if (e != OK || next.us > now.us)
		return e;
	e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	e = store_leave(st, mine, read_due(st, now, a, list, n, w), w);
	if (e != OK)
		*n = 0;
	return e;
}

enum err
store_schedule_next(struct store *st, struct wall *next, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT min(next_at)"
	    " FROM schedule WHERE next_at IS NOT NULL AND claim IN ('', ?1)");

	query_str(q, 1, st->node);
	*next = SCHEDULE_NEVER;
	if (query_step(q) && !query_is_null(q, 0))
		next->us = query_get_i64(q, 0);
	return query_end(&q, w);
}

/* -- What became of a run -- */

/* Within a group. */
static void
release_claim(struct store *st, uint64_t id)
{
	struct query *q = database_query(st->db, "UPDATE schedule"
	    " SET claim = '' WHERE id = ?1 AND claim = ?2");

	store_bind_id(q, 1, id);
	query_str(q, 2, st->node);
	query_post(&q);
}

static bool
note_run(struct schedule *s, uint64_t crawl, struct wall now)
{
	if (s->last_crawl == crawl && !s->is_elsewhere)
		return false;
	s->last_crawl = crawl;
	s->is_elsewhere = false;
	s->runs++;
	s->next_at = schedule_next(s, now);
	return true;
}

static bool
note_harvest(struct schedule *s, uint64_t run, struct wall now)
{
	if (s->runs >= run)
		return false;
	s->runs = run;
	s->next_at = schedule_next(s, now);
	return true;
}

static bool
note_skip(struct schedule *s, uint64_t unused, struct wall now)
{
	(void)unused;
	s->next_at = schedule_next(s, now);
	return true;
}

static bool
note_late(struct schedule *s, uint64_t unused, struct wall again)
{
	(void)unused;
	/* Unless somebody has put it anew meanwhile, for a later time. */
	if (s->next_at.us >= again.us)
		return false;
	s->next_at = again;
	return true;
}

static bool
note_end(struct schedule *s, uint64_t crawl, struct wall ended)
{
	if (s->last_crawl != crawl || s->is_elsewhere ||
	    s->timing != SCHEDULE_AFTER ||
	    s->next_at.us != SCHEDULE_NEVER.us)
		return false;
	s->next_at = schedule_after(s, ended);
	return true;
}

/* Get one, let `change` look at it, and put it when that says so. */
static enum err
change_schedule(struct store *st, uint64_t id, uint64_t crawl, struct wall now,
    bool (*change)(struct schedule *, uint64_t crawl, struct wall now),
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct schedule s;
	bool mine;

	enum err e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	/* The end of a crawl says nothing of a run that is being started. */
	if (store_is_shared(st) && change != note_end)
		release_claim(st, id);
	e = store_schedule_get(st, id, &a, &s, w);
	if (e == OK && change(&s, crawl, now))
		e = write_schedule(st, &s, w);
	e = store_leave(st, mine, e, w);
	return e;
}

enum err
store_schedule_ran(struct store *st, uint64_t id, uint64_t crawl,
    struct wall now, struct why *w)
{
	CHECK(crawl <= INT64_MAX);
	return change_schedule(st, id, crawl, now, note_run, w);
}

enum err
store_schedule_harvested(struct store *st, uint64_t id, uint64_t run,
    struct wall now, struct why *w)
{
	return change_schedule(st, id, run, now, note_harvest, w);
}

enum err
store_schedule_skipped(struct store *st, uint64_t id, struct wall now,
    struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE schedule SET"
	    " skips = skips + 1 WHERE id = ?1");
	store_bind_id(q, 1, id);
	e = store_run(q, NULL, w);
	if (e == OK)
		e = change_schedule(st, id, 0, now, note_skip, w);
	return store_leave(st, mine, e, w);
}

enum err
store_schedule_late(struct store *st, uint64_t id, struct wall again,
    struct why *w)
{
	return change_schedule(st, id, 0, again, note_late, w);
}

enum err
store_schedule_ended(struct store *st, uint64_t id, uint64_t crawl,
    struct wall ended, struct why *w)
{
	return change_schedule(st, id, crawl, ended, note_end, w);
}
