#include "script/items/session.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "base/map.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/log.h"
#include "script/items/runner_own.h"

struct session_set {
	struct task_runner *runner;
	struct seal_key key;
	struct map by_name;          /* struct session */
};

/* -- Waiting -- */

static void
wake(struct session *s, const struct why *w)
{
	struct list all;

	list_init(&all);
	list_move_all(&all, &s->waiting);
	while (!list_empty(&all)) {
		struct session_wait *one = LIST_POP(&all, struct session_wait,
		    node);
		one->ready(one, false, w);
	}
	task_runner_settled(s->set->runner);
}

static bool
is_valid(const struct session *s)
{
	return s->state == SESSION_VALID && s->rev > s->stale_rev &&
	    (s->expires_at.us == ITEM_TIME_NONE.us ||
	    clock_wall().us < s->expires_at.us);
}

/* The login under way, if any, is over. */
static void
let_go(struct session *s)
{
	s->owner = NULL;
	buf_free(&s->ancestors);
	arena_free(&s->read.arena);
	arena_free(&s->write.arena);
}

static void
fail_waiting(struct session *s, enum err e, struct str text)
{
	int64_t ms = SESSION_BACKOFF_MS;

	for (unsigned i = 0; i < s->failures && ms < SESSION_BACKOFF_MS_MAX;
	    i++)
		ms *= 2;
	s->failures++;
	s->retry_at = mono_add_ms(clock_mono(), MIN(ms,
	    SESSION_BACKOFF_MS_MAX));
	s->state = SESSION_NEW;
	s->why = WHY_INIT;
	(void)!why(&s->why, e, "the login of the session \"%.*s\" failed: "
	    "%.*s", STR_FMT(s->name), (int)MIN(text.n, 200), text.p);
	log_warn("tasks.login_failed", "session=%.*s", STR_FMT(s->name));
	let_go(s);
	wake(s, &s->why);
}

static void
become_valid(struct session *s)
{
	static const struct why fine = { .err = OK };

	s->state = SESSION_VALID;
	s->failures = 0;
	let_go(s);
	wake(s, &fine);
}

/* -- What is stored: {"cookies":"...","data":{...}} -- */

static struct str
context_of(struct session *s, struct buf *b)
{
	buf_put_text(b, "session ");
	buf_put_str(b, s->name);
	return buf_str(b);
}

static void
seal(struct session *s, struct buf *out)
{
	FREED(buf_free) struct buf text = BUF_INIT, context = BUF_INIT;
	FREED(buf_free) struct buf lines = BUF_INIT;

	session_jar_put(s->jar, &lines);
	json_object(&text, NULL);
	json_str(&text, "cookies", buf_str(&lines));
	json_raw(&text, "data", buf_str(&s->data));
	buf_put_char(&text, '}');
	buf_clear(out);
	seal_put(&s->set->key, context_of(s, &context), buf_str(&text), out);
	explicit_bzero(text.p, text.n);
	if (lines.n > 0)
		explicit_bzero(lines.p, lines.n);
}

static void
use_data(struct session *s, yyjson_val *data)
{
	size_t n = 0;
	char *text = yyjson_is_obj(data) ? yyjson_val_write(data, 0, &n) :
	    NULL;

	buf_clear(&s->data);
	buf_put_str(&s->data, text == NULL ? STR("{}") :
	    (struct str){ text, n });
	free(text);
}

/* False: sealed under another key, or damaged: it logs in anew. */
static bool
unseal(struct session *s)
{
	FREED(buf_free) struct buf text = BUF_INIT, context = BUF_INIT;

	if (!seal_open(&s->set->key, context_of(s, &context), s->row.sealed,
	    &text))
		return false;
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	struct str lines = json_text(yyjson_obj_get(root, "cookies"));
	session_jar_free(&s->jar);
	s->jar = session_jar_new(lines.p == NULL ? STR("") : lines);
	use_data(s, yyjson_obj_get(root, "data"));
	yyjson_doc_free(doc);
	explicit_bzero(text.p, text.n);
	return true;
}

/* -- Logging in -- */

/* The items that led here: created_by, and so on; the root first. */
static enum err
read_ancestors(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct session *s = CONTAINER(w, struct session, write);
	struct item_row *chain[SESSION_ANCESTORS_MAX];
	struct str id = s->item;
	size_t n = 0;
	enum err e = OK;

	buf_clear(&s->ancestors);
	while (n < SESSION_ANCESTORS_MAX && id.p != NULL &&
	    item_tx_find(tx, id, &chain[n], NULL) == OK)
		id = chain[n++]->created_by;
	while (n-- > 1 && e == OK) {
		json_comma(&s->ancestors);
		e = item_json(tx, chain[n], &s->ancestors, why);
	}
	return e;
}

/* The first who waits and may log in; a simulation may not. */
static struct session_wait *
next_waiting(struct session *s)
{
	struct why w = WHY_INIT;

	(void)!why_field(&w, ERR_ABSENT, "session", "a simulation does not log "
	    "in, and nobody else has");
	while (!list_empty(&s->waiting)) {
		struct session_wait *one = LIST_POP(&s->waiting,
		    struct session_wait, node);
		if (one->user->may_login)
			return one;
		one->ready(one, false, &w);
	}
	return NULL;
}

static void
ancestors_read(struct items_write *w)
{
	static const struct why fine = { .err = OK };
	struct session *s = CONTAINER(w, struct session, write);

	if (w->result != OK) {
		fail_waiting(s, w->result, str_of(w->why.text));
		return;
	}
	struct session_wait *one = next_waiting(s);
	if (one == NULL) {
		s->state = SESSION_NEW;
		let_go(s);
		task_runner_settled(s->set->runner);
		return;
	}
	s->owner = one->user;
	one->ready(one, true, &fine);
}

static void
begin_login(struct session *s)
{
	if (mono_before(clock_mono(), s->retry_at)) {
		s->state = SESSION_NEW;
		let_go(s);
		wake(s, &s->why);
		return;
	}
	s->state = SESSION_LOGIN;
	session_jar_free(&s->jar);
	s->jar = session_jar_new(STR(""));
	s->item = list_empty(&s->waiting) ? STR_NONE : arena_copy(
	    &s->write.arena, LIST_ITEM(s->waiting.next, struct session_wait,
	    node)->user->item);
	s->write.run = read_ancestors;
	s->write.done = ancestors_read;
	s->write.why = WHY_INIT;
	items_write(s->set->runner->o.items, &s->write);
}

/* -- Reading -- */

static enum err
read_row(struct items_read *r, struct item_store *st, struct why *w)
{
	struct session *s = CONTAINER(r, struct session, read);

	return item_session_get(st, s->name, &r->arena, &s->row, w);
}

static void
row_read(struct items_read *r)
{
	struct session *s = CONTAINER(r, struct session, read);

	if (r->result != OK) {
		fail_waiting(s, r->result, str_of(r->why.text));
		return;
	}
	if (s->row.exists && s->row.rev > MAX(s->rev, s->stale_rev) &&
	    unseal(s)) {
		s->rev = s->row.rev;
		s->expires_at = s->row.expires_at;
		s->state = SESSION_VALID;
	}
	if (is_valid(s)) {
		become_valid(s);
		return;
	}
	if (s->row.exists)
		s->rev = MAX(s->rev, s->row.rev);
	begin_login(s);
}

static void
begin_read(struct session *s)
{
	s->state = SESSION_READING;
	s->read.run = read_row;
	s->read.done = row_read;
	s->read.why = WHY_INIT;
	items_read(s->set->runner->o.items, &s->read);
}

/* -- The end of a login -- */

static enum err
put_row(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct session *s = CONTAINER(w, struct session, write);

	return item_session_put(tx, s->name, &s->row, why);
}

static void
row_put(struct items_write *w)
{
	struct session *s = CONTAINER(w, struct session, write);

	if (w->result == OK) {
		s->rev = s->row.rev;
		s->expires_at = s->row.expires_at;
		become_valid(s);
	} else {
		fail_waiting(s, w->result, str_of(w->why.text));
	}
}

/* us; -1: never. */
static int64_t
ttl_of(const struct session *s, const struct runner_config *c)
{
	struct str json = c->config->sessions;
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	yyjson_val *ttl = yyjson_obj_get(yyjson_obj_getn(
	    yyjson_doc_get_root(doc), s->name.p, s->name.n), "ttl");
	int64_t us = -1;

	if (yyjson_is_num(ttl))
		us = (int64_t)(yyjson_get_num(ttl) * 1000);
	else if (yyjson_is_str(ttl) && !task_duration(json_text(ttl), &us))
		us = -1;
	yyjson_doc_free(doc);
	return us;
}

void
session_store(struct session *s, struct str data, struct session_wait *one)
{
	int64_t ttl_us = ttl_of(s, s->owner->config);
	yyjson_doc *doc = yyjson_read(data.p, data.n, 0);

	use_data(s, yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	seal(s, &s->sealed);
	s->is_changed = false;
	s->row = (struct item_session){ .sealed = buf_str(&s->sealed),
	    .expires_at = ttl_us < 0 ? ITEM_TIME_NONE :
	    (struct wall){ clock_wall().us + ttl_us }, .rev = s->rev + 1 };
	s->state = SESSION_STORING;
	s->owner = NULL;
	one->session = s;
	list_init(&one->node);
	list_put(&s->waiting, &one->node);
	s->write.run = put_row;
	s->write.done = row_put;
	s->write.why = WHY_INIT;
	items_write(s->set->runner->o.items, &s->write);
}

void
session_fail(struct session *s, struct str message)
{
	fail_waiting(s, ERR_UNREACHED, message);
}

/* -- Asking -- */

static bool
is_configured(const struct runner_config *c, struct str name)
{
	struct str json = c->config->sessions;
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	bool is = yyjson_obj_getn(yyjson_doc_get_root(doc), name.p, name.n) !=
	    NULL;

	yyjson_doc_free(doc);
	return is;
}

static struct session *
session_get(struct session_set *set, struct str name)
{
	struct session *s = map_get(&set->by_name, name);

	if (s != NULL)
		return s;
	s = mem_new(sizeof(*s));
	s->set = set;
	s->name = arena_copy(&s->arena, name);
	s->expires_at = ITEM_TIME_NONE;
	list_init(&s->waiting);
	map_put(&set->by_name, s->name, s);
	return s;
}

void
session_ask(struct session_set *set, struct str name, uint64_t stale_rev,
    struct session_wait *one)
{
	static const struct why fine = { .err = OK };
	struct why absent = WHY_INIT;

	list_init(&one->node);
	if (!is_configured(one->user->config, name)) {
		(void)!why_field(&absent, ERR_ABSENT, "session", "the "
		    "configuration has no session \"%.*s\"",
		    (int)MIN(name.n, 100), name.p);
		one->ready(one, false, &absent);
		return;
	}
	struct session *s = session_get(set, name);
	one->session = s;
	s->stale_rev = MAX(s->stale_rev, stale_rev);
	if (is_valid(s)) {
		one->ready(one, false, &fine);
		return;
	}
	list_put(&s->waiting, &one->node);
	if (s->state == SESSION_NEW || s->state == SESSION_VALID)
		begin_read(s);
}

void
session_ask_cancel(struct session_wait *one)
{
	list_take(&one->node);
}

void
session_invalidate(struct session_set *set, struct str name)
{
	struct session *s = map_get(&set->by_name, name);

	if (s != NULL)
		s->stale_rev = MAX(s->stale_rev, s->rev);
}

/* -- Cookies that answers change after the login -- */

static void save_changes(struct session *);

static enum err
update_row(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct session *s = CONTAINER(w, struct session, save);

	return item_session_update(tx, s->name, buf_str(&s->saved),
	    s->saved_rev, why);
}

/* A failure loses what a new login brings back. */
static void
row_updated(struct items_write *w)
{
	struct session *s = CONTAINER(w, struct session, save);

	if (w->result != OK)
		log_warn("tasks.session_not_stored", "session=%.*s why=%s",
		    STR_FMT(s->name), err_text(w->result));
	s->is_saving = false;
	arena_reset(&w->arena);
	save_changes(s);
	task_runner_settled(s->set->runner);
}

/* What changes while it is stored is stored afterwards, together. */
static void
save_changes(struct session *s)
{
	if (!s->is_changed || s->is_saving || s->state != SESSION_VALID)
		return;
	s->is_changed = false;
	s->is_saving = true;
	s->saved_rev = s->rev;
	seal(s, &s->saved);
	s->save.run = update_row;
	s->save.done = row_updated;
	s->save.why = WHY_INIT;
	items_write(s->set->runner->o.items, &s->save);
}

void
session_take(struct session *s, uint64_t rev, struct str before,
    struct cookie_jar *after)
{
	/* Of an older login: there are other cookies by now. */
	if (rev == s->rev || s->state == SESSION_LOGIN)
		s->is_changed |= session_jar_take(s->jar, before, after);
	save_changes(s);
}

void
session_put_answer(const struct session *s, bool login, struct buf *b)
{
	if (login) {
		buf_put_text(b, "{\"login\":true,\"ancestors\":[");
		buf_put_str(b, buf_str(&s->ancestors));
		buf_put_text(b, "]}");
		return;
	}
	buf_put_text(b, "{\"data\":");
	buf_put_str(b, buf_str(&s->data));
	buf_printf(b, ",\"version\":%llu}", (unsigned long long)s->rev);
}

struct session *
session_of_login(struct session_set *set, struct session_user *u,
    struct str name)
{
	struct session *s = map_get(&set->by_name, name);

	return s != NULL && s->state == SESSION_LOGIN && s->owner == u ? s :
	    NULL;
}

bool
session_has_login(struct session_set *set, const struct session_user *u)
{
	MAP_EACH(s, &set->by_name, const struct session)
		if (s->state == SESSION_LOGIN && s->owner == u)
			return true;
	return false;
}

void
session_refuse_remote(struct session_set *set)
{
	struct why closed = WHY_INIT;
	struct list all, rest;

	(void)!why(&closed, ERR_CLOSED, "the program stops");
	MAP_EACH(s, &set->by_name, struct session) {
		list_init(&all);
		list_init(&rest);
		list_move_all(&all, &s->waiting);
		while (!list_empty(&all)) {
			struct session_wait *one = LIST_POP(&all,
			    struct session_wait, node);
			if (one->user->remote)
				one->ready(one, false, &closed);
			else
				list_put(&rest, &one->node);
		}
		list_move_all(&s->waiting, &rest);
	}
}

void
session_user_ended(struct session_set *set, struct session_user *u)
{
	MAP_EACH(s, &set->by_name, struct session) {
		if (s->state != SESSION_LOGIN || s->owner != u)
			continue;
		s->owner = NULL;
		arena_free(&s->write.arena);
		begin_login(s);
	}
}

/* -- The set -- */

struct session_set *
session_set_new(struct task_runner *r, const struct seal_key *key)
{
	struct session_set *set = mem_new(sizeof(*set));

	set->runner = r;
	set->key = *key;
	return set;
}

bool
session_set_is_busy(const struct session_set *set)
{
	MAP_EACH(s, &set->by_name, const struct session)
		if (s->is_saving || (s->state != SESSION_NEW &&
		    s->state != SESSION_VALID))
			return true;
	return false;
}

void
session_set_free(struct session_set **sp)
{
	struct session_set *set = *sp;

	if (set == NULL)
		return;
	MAP_EACH(s, &set->by_name, struct session) {
		session_jar_free(&s->jar);
		buf_free(&s->data);
		buf_free(&s->sealed);
		buf_free(&s->saved);
		arena_free(&s->save.arena);
		let_go(s);
		arena_free(&s->arena);
		free(s);
	}
	map_free(&set->by_name);
	explicit_bzero(&set->key, sizeof(set->key));
	mem_free(sp);
}
