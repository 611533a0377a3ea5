#include "doors/harvest/export_follower.h"

#include "doors/harvest/claim.h"
#include "doors/harvest/export_status.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/system.h"
#include "os/tree.h"

struct export_follow {
	struct list node;
	struct harvest_door *door;
	struct str id;
	struct arena texts;          /* of id */
	struct served *slot;         /* NULL: none, or given back */
	bool under_way;              /* the job is */
	bool again, repeat;          /* to be done after it; with a status */
	bool passing;                /* for one repeated status */
	int64_t pause_ms;
	struct timer timer;          /* heartbeat, or before another try */

	/* The job's. */
	struct store_job job;
	struct arena arena;
	struct why why;
	bool wants_status;           /* in: also without a change */
	bool is_over;                /* out */
	struct store_outbox_totals added;
};

/* ---- On the store's thread ------------------------------------------ */

static enum err
put_status(struct export_follow *f, struct store *st,
    const struct store_export *row, struct why *w)
{
	FREED(buf_free) struct buf body = BUF_INIT;
	struct export_status s = { .row = row, .host = f->door->host_name,
		.process = system_pid() };
	struct str name = str_of(store_harvest_state_name(row->state));
	struct str key = queue_table_export_key(row->routing_key, row->type,
	    &f->arena);

	enum err e = store_begin(st, w);
	if (e != OK)
		return e;
	export_status_put(&s, &body);
	e = follower_put_message(st, f->id, key, buf_str(&body), &f->added,
	    w);
	if (e == OK)
		e = store_export_told(st, f->id, name, w);
	return store_end(st, e, w);
}

static enum err
follow_row(struct export_follow *f, struct store *st, struct why *w)
{
	struct store_export row;
	enum err e = store_export_get(st, f->id, &f->arena, &row, w);

	if (e != OK)
		return e;
	f->is_over = store_harvest_is_over(row.state);
	/* Nothing is said before it runs. */
	if (row.state == STORE_HARVEST_ACCEPTED || (!f->wants_status &&
	    str_eq(row.told, str_of(store_harvest_state_name(row.state)))))
		return OK;
	return put_status(f, st, &row, w);
}

static void
run_follow(struct store_job *j, struct store *st)
{
	struct export_follow *f = CONTAINER(j, struct export_follow, job);

	f->why = WHY_INIT;
	if (follow_row(f, st, &f->why) != OK)
		f->added = (struct store_outbox_totals){ .messages = 0 };
}

/* ---- On the main loop ----------------------------------------------- */

static void follow_now(struct export_follow *);

static void
free_follow(struct export_follow *f)
{
	loop_timer_stop(f->door->host->home, &f->timer);
	list_take(&f->node);
	intake_free_slot(f->door, f->slot);
	arena_free(&f->arena);
	arena_free(&f->texts);
	mem_free(&f);
}

static void
on_timer(struct timer *t)
{
	struct export_follow *f = CONTAINER(t, struct export_follow, timer);

	f->repeat = true;
	follow_now(f);
}

static void
set_timer(struct export_follow *f, int64_t ms)
{
	f->timer.fire = on_timer;
	if (!f->door->stopping)
		loop_timer_set(f->door->host->home, &f->timer, mono_add_ms(
		    clock_mono(), ms));
}

static void
followed(struct store_job *j)
{
	struct export_follow *f = CONTAINER(j, struct export_follow, job);
	struct harvest_door *d = f->door;
	bool is_gone = f->why.err == ERR_ABSENT;

	f->under_way = false;
	arena_reset(&f->arena);
	if (f->why.err != OK && !is_gone) {
		log_error("harvest.status", "export=%s why=%s",
		    log_quoted(f->id), log_why(&f->why));
		f->pause_ms = MIN(MAX(f->pause_ms * 2, DOOR_RETRY_MS),
		    DOOR_RETRY_MS_MAX);
		set_timer(f, f->pause_ms);
		drain_gate_leave(&d->work);
		return;
	}
	f->pause_ms = 0;
	outbox_sender_kick(d, f->id, &f->added);
	if (f->again)
		follow_now(f);
	else if (is_gone || f->is_over || f->passing)
		free_follow(f);
	else
		set_timer(f, d->heartbeat_ms);
	drain_gate_leave(&d->work);
}

static void
follow_now(struct export_follow *f)
{
	if (f->under_way) {
		f->again = true;
		return;
	}
	loop_timer_stop(f->door->host->home, &f->timer);
	f->under_way = true;
	f->again = false;
	f->wants_status = f->repeat;
	f->repeat = false;
	f->added = (struct store_outbox_totals){ .messages = 0 };
	drain_gate_enter(&f->door->work);
	f->job = (struct store_job){ .run = run_follow, .done = followed };
	store_async_put(f->door->store, &f->job);
}

static struct export_follow *
find_follow(struct harvest_door *d, struct str id)
{
	LIST_EACH(f, &d->exports, struct export_follow, node)
		if (str_eq(f->id, id))
			return f;
	return NULL;
}

static struct export_follow *
new_follow(struct harvest_door *d, struct str id)
{
	struct export_follow *f = mem_new(sizeof(*f));

	f->door = d;
	arena_room(&f->texts, id.n + 1);
	f->id = arena_copy(&f->texts, id);
	list_put(&d->exports, &f->node);
	return f;
}

void
export_follower_add(struct harvest_door *d, struct str id,
    struct served *slot)
{
	struct export_follow *f = find_follow(d, id);

	if (f == NULL)
		f = new_follow(d, id);
	f->slot = slot;
	f->passing = false;
	follow_now(f);
}

void
export_follower_repeat(struct harvest_door *d, struct str id)
{
	struct export_follow *f = find_follow(d, id);

	if (f == NULL) {
		f = new_follow(d, id);
		f->passing = true;
	}
	f->repeat = true;
	follow_now(f);
}

static void
on_change(struct exporting_listener *l, struct str id)
{
	struct export_follow *f = find_follow(CONTAINER(l,
	    struct harvest_door, export_listener), id);

	if (f != NULL)
		follow_now(f);
}

/* ---- Where paths lie, on any thread --------------------------------- */

static enum err
to_local(void *arg, struct str path, struct arena *a, struct str *local,
    struct why *w)
{
	const struct harvest_door *d = arg;
	enum err e = roots_to_local(&d->roots, path, a, local, w);

	/* Neither a file nor what an export may replace. */
	return e == OK && str_eq(*local, roots_find_local(&d->roots,
	    *local)->local) ? why_field(w, ERR_INPUT, "path", "it is one of "
	    "harvest.roots itself") : e;
}

static enum err
admit(void *arg, struct str local, struct why *w)
{
	const struct harvest_door *d = arg;
	const struct root *root = roots_find_local(&d->roots, local);

	if (root == NULL)
		return why_field(w, ERR_DENIED, "path", "it lies below none "
		    "of harvest.roots");
	return tree_check_beneath(root->local.p, local.p, w);
}

enum err
export_follower_open_above(const struct harvest_door *d, struct str local,
    enum shared_dir_mode mode, struct shared_dir *dir, struct why *w)
{
	const struct root *root = roots_find_local(&d->roots, local);
	const struct shared_root shared = { root == NULL ? NULL :
		root->local.p, d->umask };
	FREED(arena_free) struct arena a = ARENA_INIT;
	size_t n = local.n;

	*dir = (struct shared_dir)SHARED_DIR_INIT;
	if (root == NULL)
		return why_field(w, ERR_DENIED, "path", "it lies below none "
		    "of harvest.roots");
	while (n > 0 && local.p[n - 1] != '/')
		n--;
	/* "/." as the root may be the one above. */
	return shared_dir_open(&shared, arena_printf(&a, "%.*s.",
	    STR_FMT(str_cut(local, 0, n))).p, mode, dir, w);
}

/* So the export's own directory gets the group of the root, too. */
static enum err
make_above(void *arg, struct str local, struct why *w)
{
	struct shared_dir dir;
	enum err e = export_follower_open_above(arg, local, SHARED_DIR_MAKE,
	    &dir, w);

	shared_dir_close(&dir);
	return e;
}

static enum err
claim_export(void *arg, struct str id, struct str local, struct why *w)
{
	const struct harvest_door *d = arg;
	struct shared_dir dir;

	enum err e = export_follower_open_above(d, local, SHARED_DIR_MAKE,
	    &dir, w);
	if (e == OK)
		e = claim_take(&dir, id, d->instance, w);
	shared_dir_close(&dir);
	return e;
}

void
export_follower_open(struct harvest_door *d)
{
	struct exporting_places p = { to_local, admit, make_above,
	    claim_export, d };

	exporting_set_places(d->host->exporting, &p);
	d->export_listener.changed = on_change;
	exporting_listen(d->host->exporting, &d->export_listener);
}

/* ---- What an earlier process has left ------------------------------- */

static void
run_load(struct store_job *j, struct store *st)
{
	struct harvest_door *d = CONTAINER(j, struct harvest_door,
	    export_job);
	struct arena *a = &d->export_arena;
	struct why w = WHY_INIT;
	struct str *ids;
	size_t n = 0;

	enum err e = store_export_untold(st, a, &ids, &n, &w);
	d->untold = ARENA_ARRAY(a, struct store_export, n);
	for (size_t i = 0; i < n && e == OK; i++)
		e = store_export_get(st, ids[i], a, &d->untold[d->untold_n++],
		    &w);
	if (e != OK)
		log_error("harvest.store", "why=%s", log_why(&w));
}

static struct served *
slot_of(struct harvest_door *d, struct str type)
{
	const struct queue_row *row = queue_table_find_exporter(type);

	for (size_t i = 0; row != NULL && i < d->queues_n; i++)
		if (d->queues[i].row == row)
			return &d->queues[i];
	return NULL;
}

static void
loaded(struct store_job *j)
{
	struct harvest_door *d = CONTAINER(j, struct harvest_door,
	    export_job);

	for (size_t i = 0; i < d->untold_n; i++) {
		const struct store_export *x = &d->untold[i];
		struct served *slot = store_harvest_is_over(x->state) ? NULL :
		    slot_of(d, x->type);
		if (find_follow(d, x->id) != NULL)
			continue;
		if (slot != NULL)
			intake_use_slot(d, slot);
		export_follower_add(d, x->id, slot);
	}
	arena_free(&d->export_arena);
	drain_gate_leave(&d->work);
}

void
export_follower_load(struct harvest_door *d)
{
	drain_gate_enter(&d->work);
	d->export_job = (struct store_job){ .run = run_load,
	    .done = loaded };
	store_async_put(d->store, &d->export_job);
}

/* ---- The end -------------------------------------------------------- */

void
export_follower_stop(struct harvest_door *d)
{
	LIST_EACH(f, &d->exports, struct export_follow, node)
		loop_timer_stop(d->host->home, &f->timer);
}

void
export_follower_free_all(struct harvest_door *d)
{
	while (!list_empty(&d->exports))
		free_follow(LIST_ITEM(d->exports.next, struct export_follow,
		    node));
	arena_free(&d->export_arena);
}

void
export_follower_write_failure(struct harvest_door *d,
    const struct finished *x, struct arena *a, struct str *key,
    struct str *body)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct wall now = clock_wall();
	struct store_export row = { .id = x->id, .type = x->type,
		.state = STORE_HARVEST_FAILED, .started = now, .ended = now,
		.routing_key = x->routing_key };
	struct export_status s = { .row = &row, .host = d->host_name,
		.process = system_pid(), .code = x->code, .text = x->text };

	export_status_put(&s, &b);
	*body = arena_copy(a, buf_str(&b));
	*key = queue_table_export_key(x->routing_key, x->type, a);
}
