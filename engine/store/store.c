#include "engine/store/store.h"

#include "base/text.h"
#include "engine/store/store_table.h"

struct store {
	const struct store_table *table;
	void *db;
	char *policy_default;
	size_t policies_max, schedules_max, settings_max, tokens_max;
	bool in_group;
};

/* -- Opening -- */

static size_t
limit(size_t told, size_t standard)
{
	return told == 0 ? standard : told;
}

enum err
store_open_with(const struct store_table *t, const char *where,
    const struct store_options *o, struct store **out, struct why *w)
{
	static const struct store_options none = { .policy_default = NULL };
	struct store *st = mem_new(sizeof(*st));

	if (o == NULL)
		o = &none;
	st->table = t;
	st->policies_max = limit(o->policies_max, STORE_POLICIES_MAX);
	st->schedules_max = limit(o->schedules_max, STORE_SCHEDULES_MAX);
	st->settings_max = limit(o->settings_max, STORE_SETTINGS_MAX);
	st->tokens_max = limit(o->tokens_max, STORE_TOKENS_MAX);
	if (o->policy_default != NULL)
		st->policy_default = mem_copy_text(o->policy_default);
	enum err e = t->open(where, &st->db, w);
	if (e != OK)
		store_close(&st);
	*out = st;
	return e;
}

enum err
store_open(const char *dir, const struct store_options *o, struct store **out,
    struct why *w)
{
	return store_open_with(&store_sqlite, dir, o, out, w);
}

void
store_close(struct store **stp)
{
	struct store *st = *stp;

	if (st == NULL)
		return;
	CHECK(!st->in_group);
	st->table->close(&st->db);
	mem_free(&st->policy_default);
	mem_free(stp);
}

/* -- Groups: a verb alone is a group of its own -- */

enum err
store_begin(struct store *st, struct why *w)
{
	CHECK(!st->in_group);
	enum err e = st->table->begin(st->db, w);
	st->in_group = e == OK;
	return e;
}

enum err
store_end(struct store *st, enum err so_far, struct why *w)
{
	CHECK(st->in_group);
	st->in_group = false;
	return st->table->end(st->db, so_far, w);
}

static enum err
enter(struct store *st, bool *mine, struct why *w)
{
	*mine = !st->in_group;
	return *mine ? store_begin(st, w) : OK;
}

static enum err
leave(struct store *st, bool mine, enum err e, struct why *w)
{
	return mine ? store_end(st, e, w) : e;
}

/* -- What a name may be -- */

static enum err
check_text(const char *field, struct str s, size_t bytes_max, struct why *w)
{
	if (s.n == 0)
		return why_field(w, ERR_INPUT, field, "it is empty");
	if (s.n > bytes_max)
		return why_field(w, ERR_FULL, field, "%zu bytes; at most %zu "
		    "are allowed", s.n, bytes_max);
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return why_field(w, ERR_INPUT, field,
			    "a control character");
	if (!text_is_utf8(s))
		return why_field(w, ERR_INPUT, field, "it is not UTF-8");
	return OK;
}

static enum err
check_name(struct str s, struct why *w)
{
	return check_text("name", s, STORE_NAME_BYTES_MAX, w);
}

static enum err
check_json(const char *field, struct str s, struct why *w)
{
	if (s.n == 0)
		return why_field(w, ERR_INPUT, field, "it is empty");
	if (s.n > STORE_JSON_BYTES_MAX)
		return why_field(w, ERR_FULL, field, "%zu bytes; at most %u "
		    "are allowed", s.n, STORE_JSON_BYTES_MAX);
	if (memchr(s.p, '\0', s.n) != NULL || !text_is_utf8(s))
		return why_field(w, ERR_INPUT, field, "it is not UTF-8");
	return OK;
}

/* A name, or an object: one of them. */
static enum err
check_policy(const struct schedule *s, struct why *w)
{
	if ((s->policy.n == 0) == (s->policy_json.n == 0))
		return why_field(w, ERR_INPUT, "policy", "a name or an object "
		    "is needed");
	return s->policy.n != 0 ?
	    check_text("policy", s->policy, STORE_NAME_BYTES_MAX, w) :
	    check_json("policy", s->policy_json, w);
}

enum err
store_check_labels(struct str name, const struct str *tags, size_t n,
    struct why *w)
{
	char field[32];
	enum err e = name.n == 0 ? OK : check_name(name, w);

	if (e == OK && n > STORE_TAGS_MAX)
		e = why(w, ERR_FULL, "tags: %zu; at most %u are allowed", n,
		    STORE_TAGS_MAX);
	for (size_t i = 0; i < n && e == OK; i++) {
		snprintf(field, sizeof(field), "tags[%zu]", i);
		e = check_text(field, tags[i], STORE_TAG_BYTES_MAX, w);
	}
	return e;
}

static enum err
check_schedule(const struct schedule *s, struct why *w)
{
	enum err e = check_name(s->name, w);

	if (e == OK)
		e = check_json("seeds", s->seeds, w);
	if (e == OK)
		e = check_policy(s, w);
	if (e == OK)
		e = store_check_labels(STR(""), s->tags, s->tags_n, w);
	if (e == OK && s->name_template.n != 0)
		e = check_text("name_template", s->name_template,
		    STORE_NAME_BYTES_MAX, w);
	if (e == OK)
		e = schedule_check(s, w);
	return e;
}

/* There is room for one more row. */
static enum err
check_room(struct store *st, enum store_kind kind, struct why *w)
{
	static const char *const names[] = { "policies", "schedules",
	    "settings", "tokens" };
	const size_t most[] = { st->policies_max, st->schedules_max,
	    st->settings_max, st->tokens_max };
	size_t n;

	enum err e = st->table->count(st->db, kind, &n, w);
	if (e == OK && n >= most[kind])
		e = why(w, ERR_FULL, "there are %zu %s, and no more are "
		    "allowed", n, names[kind]);
	return e;
}

/* -- Policies -- */

static bool
is_default(struct str name)
{
	return str_eq(name, STR(STORE_POLICY_DEFAULT));
}

static enum err
put_policy(struct store *st, const struct store_policy *p, struct why *w)
{
	struct arena a = ARENA_INIT;
	struct store_policy old;
	bool found;

	enum err e = st->table->policy_get(st->db, p->name, &a, &old, &found,
	    w);
	/* Its own `default` takes nobody's room. */
	if (e == OK && !found && !is_default(p->name))
		e = check_room(st, STORE_POLICY, w);
	if (e == OK)
		e = st->table->policy_put(st->db, p, w);
	arena_free(&a);
	return e;
}

enum err
store_policy_put(struct store *st, struct str name, struct str json,
    struct wall now, struct why *w)
{
	struct store_policy p = { name, json, now, now };
	bool mine;

	enum err e = check_name(name, w);
	if (e == OK)
		e = check_json("policy", json, w);
	if (e == OK)
		e = enter(st, &mine, w);
	if (e != OK)
		return e;
	return leave(st, mine, put_policy(st, &p, w), w);
}

static enum err
no_policy(struct str name, struct why *w)
{
	return why(w, ERR_ABSENT, "there is no policy \"%.*s\"",
	    (int)MIN(name.n, STORE_NAME_BYTES_MAX), name.p);
}

static struct store_policy
built_in(const struct store *st, struct arena *a)
{
	return (struct store_policy){ STR(STORE_POLICY_DEFAULT),
	    arena_copy(a, str_of(st->policy_default)), { 0 }, { 0 } };
}

enum err
store_policy_get(struct store *st, struct str name, struct arena *a,
    struct store_policy *out, struct why *w)
{
	bool found;

	enum err e = st->table->policy_get(st->db, name, a, out, &found, w);
	if (e != OK || found)
		return e;
	if (!is_default(name) || st->policy_default == NULL)
		return no_policy(name, w);
	*out = built_in(st, a);
	return OK;
}

static enum err
delete_policy(struct store *st, struct str name, struct why *w)
{
	struct arena a = ARENA_INIT;
	struct str user;
	bool was = false;

	enum err e = st->table->policy_user(st->db, name, &a, &user, w);
	if (e == OK && user.p != NULL)
		e = why(w, ERR_STATE, "the schedule \"%.*s\" uses the policy "
		    "\"%.*s\"", STR_FMT(user), STR_FMT(name));
	if (e == OK)
		e = st->table->policy_delete(st->db, name, &was, w);
	if (e == OK && !was)
		e = no_policy(name, w);
	arena_free(&a);
	return e;
}

enum err
store_policy_delete(struct store *st, struct str name, struct why *w)
{
	bool mine;

	if (is_default(name))
		return why(w, ERR_STATE, "the policy \"default\" can be "
		    "replaced, but not deleted");
	if (name.n == 0 || name.n > STORE_NAME_BYTES_MAX)
		return no_policy(name, w);
	enum err e = enter(st, &mine, w);
	if (e != OK)
		return e;
	return leave(st, mine, delete_policy(st, name, w), w);
}

/* Put the built-in one among them, where its name belongs. */
static void
add_built_in(struct store *st, struct arena *a, struct store_policy **list,
    size_t *n)
{
	struct store_policy *all = ARENA_ARRAY(a, struct store_policy, *n + 1);
	size_t at = 0;

	while (at < *n && str_cmp((*list)[at].name,
	    STR(STORE_POLICY_DEFAULT)) < 0)
		at++;
	if (at < *n && is_default((*list)[at].name))
		return;
	if (*n > 0) {
		memcpy(all, *list, at * sizeof(*all));
		memcpy(all + at + 1, *list + at, (*n - at) * sizeof(*all));
	}
	all[at] = built_in(st, a);
	all[at].json = STR_NONE;
	*list = all;
	++*n;
}

enum err
store_policy_list(struct store *st, struct arena *a, struct store_policy **list,
    size_t *n, struct why *w)
{
	enum err e = st->table->policy_list(st->db, a, list, n, w);

	if (e == OK && st->policy_default != NULL)
		add_built_in(st, a, list, n);
	return e;
}

/* -- Schedules -- */

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
	bool found;

	enum err e = st->table->schedule_get(st->db, id, a, out, &found, w);
	if (e == OK && !found)
		e = no_schedule(id, w);
	return e;
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
		return check_room(st, STORE_SCHEDULE, w);
	}
	e = store_schedule_get(st, s->id, a, &old, w);
	if (e != OK)
		return e;
	s->runs = old.runs;
	s->last_crawl = old.last_crawl;
	if (s->timing == SCHEDULE_AFTER && old.timing == SCHEDULE_AFTER &&
	    old.next_at.us == SCHEDULE_NEVER.us)
		s->next_at = old.next_at;
	return OK;
}

enum err
store_schedule_put(struct store *st, struct schedule *s, struct wall now,
    struct why *w)
{
	struct arena a = ARENA_INIT;
	struct schedule put = *s;
	bool mine;

	if (put.start_at.us == 0)
		put.start_at = now;
	enum err e = check_schedule(&put, w);
	if (e == OK)
		e = enter(st, &mine, w);
	if (e != OK)
		return e;
	e = plan(st, &put, now, &a, w);
	if (e == OK)
		e = st->table->schedule_put(st->db, &put, w);
	e = leave(st, mine, e, w);
	if (e == OK)
		*s = put;
	arena_free(&a);
	return e;
}

enum err
store_schedule_delete(struct store *st, uint64_t id, struct why *w)
{
	bool mine, was = false;

	enum err e = enter(st, &mine, w);
	if (e != OK)
		return e;
	e = st->table->schedule_delete(st->db, id, &was, w);
	if (e == OK && !was)
		e = no_schedule(id, w);
	return leave(st, mine, e, w);
}

enum err
store_schedule_list(struct store *st, struct arena *a, struct schedule **list,
    size_t *n, struct why *w)
{
	return st->table->schedule_list(st->db, a, list, n, w);
}

enum err
store_schedule_due(struct store *st, struct wall now, struct arena *a,
    struct schedule **list, size_t *n, struct why *w)
{
	return st->table->schedule_due(st->db, now, STORE_DUE_MAX, a, list, n,
	    w);
}

enum err
store_schedule_next(struct store *st, struct wall *next, struct why *w)
{
	return st->table->schedule_next(st->db, next, w);
}

/* Get one, let `change` look at it, and put it when that says so. */
static enum err
change_schedule(struct store *st, uint64_t id, uint64_t crawl, struct wall now,
    bool (*change)(struct schedule *, uint64_t crawl, struct wall now),
    struct why *w)
{
	struct arena a = ARENA_INIT;
	struct schedule s;
	bool mine;

	enum err e = enter(st, &mine, w);
	if (e != OK)
		return e;
	e = store_schedule_get(st, id, &a, &s, w);
	if (e == OK && change(&s, crawl, now))
		e = st->table->schedule_put(st->db, &s, w);
	e = leave(st, mine, e, w);
	arena_free(&a);
	return e;
}

static bool
note_run(struct schedule *s, uint64_t crawl, struct wall now)
{
	if (s->last_crawl == crawl)
		return false;
	s->last_crawl = crawl;
	s->runs++;
	s->next_at = schedule_next(s, now);
	return true;
}

enum err
store_schedule_ran(struct store *st, uint64_t id, uint64_t crawl,
    struct wall now, struct why *w)
{
	CHECK(crawl <= INT64_MAX);
	return change_schedule(st, id, crawl, now, note_run, w);
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

enum err
store_schedule_late(struct store *st, uint64_t id, struct wall again,
    struct why *w)
{
	return change_schedule(st, id, 0, again, note_late, w);
}

static bool
note_end(struct schedule *s, uint64_t crawl, struct wall ended)
{
	if (s->last_crawl != crawl || s->timing != SCHEDULE_AFTER ||
	    s->next_at.us != SCHEDULE_NEVER.us)
		return false;
	s->next_at = schedule_after(s, ended);
	return true;
}

enum err
store_schedule_ended(struct store *st, uint64_t id, uint64_t crawl,
    struct wall ended, struct why *w)
{
	return change_schedule(st, id, crawl, ended, note_end, w);
}

/* -- Settings -- */

static enum err
put_setting(struct store *st, struct str name, struct str value, struct why *w)
{
	struct arena a = ARENA_INIT;
	struct str old;
	bool found;

	enum err e = st->table->setting_get(st->db, name, &a, &old, &found, w);
	if (e == OK && !found)
		e = check_room(st, STORE_SETTING, w);
	if (e == OK)
		e = st->table->setting_put(st->db, name, value, w);
	arena_free(&a);
	return e;
}

enum err
store_setting_put(struct store *st, struct str name, struct str value,
    struct why *w)
{
	bool mine;

	enum err e = check_name(name, w);
	if (e == OK && value.n > STORE_SETTING_BYTES_MAX)
		e = why(w, ERR_FULL, "value: %zu bytes; at most %u are "
		    "allowed", value.n, STORE_SETTING_BYTES_MAX);
	if (e == OK && value.n > 0 && (!text_is_utf8(value) ||
	    memchr(value.p, '\0', value.n) != NULL))
		e = why(w, ERR_INPUT, "value: it is not UTF-8");
	if (e == OK)
		e = enter(st, &mine, w);
	if (e != OK)
		return e;
	return leave(st, mine, put_setting(st, name, value, w), w);
}

enum err
store_setting_get(struct store *st, struct str name, struct arena *a,
    struct str *value, struct why *w)
{
	bool found;

	enum err e = st->table->setting_get(st->db, name, a, value, &found, w);
	if (e == OK && !found)
		e = why(w, ERR_ABSENT, "there is no setting \"%.*s\"",
		    (int)MIN(name.n, STORE_NAME_BYTES_MAX), name.p);
	return e;
}

/* -- Tokens -- */

static enum err
add_token(struct store *st, const struct token *t, struct why *w)
{
	struct why inner = WHY_INIT;
	enum err e = st->table->token_add(st->db, t, &inner);

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
		e = enter(st, &mine, w);
	if (e != OK)
		return e;
	token_make(text);
	token_hash(str_of(text), t.hash);
	e = check_room(st, STORE_TOKEN, w);
	if (e == OK)
		e = add_token(st, &t, w);
	e = leave(st, mine, e, w);
	if (e != OK)
		explicit_bzero(text, TOKEN_TEXT_BYTES);
	return e;
}

enum err
store_token_list(struct store *st, struct arena *a, struct token **list,
    size_t *n, struct why *w)
{
	return st->table->token_list(st->db, a, list, n, w);
}

enum err
store_token_revoke(struct store *st, struct str name, struct why *w)
{
	bool mine, was = false;

	enum err e = enter(st, &mine, w);
	if (e != OK)
		return e;
	e = st->table->token_delete(st->db, name, &was, w);
	if (e == OK && !was)
		e = why(w, ERR_ABSENT, "there is no token \"%.*s\"",
		    (int)MIN(name.n, TOKEN_NAME_BYTES_MAX), name.p);
	return leave(st, mine, e, w);
}

enum err
store_token_used(struct store *st, uint64_t id, struct wall when,
    struct why *w)
{
	bool mine;

	enum err e = enter(st, &mine, w);
	if (e != OK)
		return e;
	return leave(st, mine, st->table->token_used(st->db, id, when, w), w);
}

enum err
store_version(struct store *st, uint64_t *version, struct why *w)
{
	return st->table->version(st->db, version, w);
}

/* -- Checking -- */

static enum err
check_stored(struct store *st, uint64_t id, struct why *w)
{
	struct arena a = ARENA_INIT;
	struct schedule s;
	struct why found = WHY_INIT;

	enum err e = store_schedule_get(st, id, &a, &s, w);
	if (e == OK && check_schedule(&s, &found) != OK)
		e = why(w, ERR_CORRUPT, "schedule %llu: %s",
		    (unsigned long long)id, found.text);
	if (e == OK && (s.runs == 0) != (s.last_crawl == SCHEDULE_NO_CRAWL))
		e = why(w, ERR_CORRUPT, "schedule %llu: %llu runs, but its "
		    "last crawl says otherwise", (unsigned long long)id,
		    (unsigned long long)s.runs);
	arena_free(&a);
	return e;
}

enum err
store_check(struct store *st, struct why *w)
{
	struct arena a = ARENA_INIT;
	struct schedule *list;
	struct token *tokens;
	size_t n = 0, tokens_n;

	enum err e = st->table->check(st->db, w);
	if (e == OK)
		e = store_schedule_list(st, &a, &list, &n, w);
	for (size_t i = 0; i < n && e == OK; i++)
		e = check_stored(st, list[i].id, w);
	/* Reading a token judges it. */
	if (e == OK)
		e = store_token_list(st, &a, &tokens, &tokens_n, w);
	arena_free(&a);
	return e;
}
