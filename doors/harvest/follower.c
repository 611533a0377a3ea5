/*
 * Follows harvests that came by a broker: what the store says of one becomes
 * messages in the outbox.
 *
 *     changed, ended, asked ─► now, or in its turn ─► one job of the store:
 *         files in their places ─► harvest.start.web, warc_created, once
 *         state                 ─► a status
 *
 * The job reads nothing but rows, and notes in the same commit what it has put.
 * So it may run at any time and as often as one likes, and after a crash it
 * goes on where it was.
 */
#include "doors/harvest/harvest_door.h"
#include "doors/harvest/meter.h"
#include "doors/harvest/status.h"
#include "doors/harvest/web_start.h"
#include "engine/connector/connectors.h"
#include "engine/harvest/place.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/system.h"
#include "wire/digest.h"

#define BEAT_MS 1000

struct follow {
	struct list node;
	struct harvest_door *door;
	struct str id;
	struct arena texts;          /* of id */
	struct served *slot;         /* NULL: none, or given back */
	struct pace_turn turn;
	struct mono last;            /* status */
	bool under_way;              /* the job is */
	bool again, repeat;          /* to be done after it; with a status */
	bool stale;                  /* the last status lacks something */
	bool is_in_memory;           /* engine/harvest has it */
	bool ended;                  /* it was told so: paused, or over */
	bool stops;                  /* harvest_stop() was called */
	bool for_room;               /* it pauses until the outbox has some */
	bool passing;                /* it is over; for one repeated status */
	int64_t pause_ms;
	struct timer timer;          /* before another try */

	/* The job's. */
	struct store_job job;
	struct arena arena;
	struct why why;
	bool wants_status;           /* in: also without a change */
	bool is_gone, is_over, is_stopped;   /* out; stopped: asked for */
	bool spoke;                  /* out: a status was put */
	struct store_outbox_totals added;
};

/* ---- On the store's thread ------------------------------------------ */

enum err
follower_put_message(struct store *st, struct str harvest, struct str key,
    struct str body, struct store_outbox_totals *added, struct why *w)
{
	FREED(buf_free) struct buf id = BUF_INIT;
	uint8_t random[16];

	clock_random(random, sizeof(random));
	digest_put_hex(&id, random, sizeof(random));
	struct store_message m = { .harvest = harvest,
	    .message_id = buf_str(&id), .routing_key = key, .body = body,
	    .created = clock_wall() };
	added->messages++;
	added->bytes += body.n;
	return store_outbox_put(st, &m, w);
}

/* What a job has read of a harvest. */
struct reading {
	struct store_harvest row;
	struct store_order order;
	struct store_harvest_warc *warcs, *news;
	size_t warcs_n, news_n;
	struct totals totals;
	struct status status;
};

static enum err
read_rows(struct store *st, struct str id, struct arena *a,
    struct reading *r, struct why *w)
{
	enum err e = store_harvest_get(st, id, a, &r->row, w);

	if (e == OK)
		e = store_order_get(st, id, a, &r->order, w);
	if (e == OK)
		e = store_harvest_warcs(st, id, a, &r->warcs, &r->warcs_n, w);
	/* Files are told of when the state that follows from them is safe. */
	if (e == OK && r->row.merged)
		e = store_order_warcs(st, id, a, &r->news, &r->news_n, w);
	return e == OK && r->row.totals.n > 0 ? totals_read(&r->totals,
	    r->row.totals, w) : e;
}

static void
fill_status(const struct harvest_door *d, struct reading *r)
{
	const struct connector *c = connector_find(r->row.type);
	const struct store_harvest *h = &r->row;

	r->status = (struct status){ .id = h->id, .state = h->state,
	    .spec_words = d->spec_words,
	    .started = h->started.us == 0 ? h->accepted : h->started,
	    .ended = h->ended, .totals = &r->totals,
	    .tokens_told = r->order.tokens_told,
	    .uids_told = r->order.uids_told,
	    .platform = c == NULL ? NULL : c->platform,
	    .host = d->host_name, .process = system_pid() };
	for (size_t i = 0; i < r->warcs_n; i++) {
		r->status.warcs += r->warcs[i].placed;
		r->status.warc_bytes += r->warcs[i].placed ?
		    r->warcs[i].bytes : 0;
	}
}

static enum err
put_status(struct follow *f, struct store *st, struct reading *r,
    enum store_harvest_state state, struct why *w)
{
	FREED(buf_free) struct buf body = BUF_INIT;
	struct str key = queue_table_status_key(r->order.routing_key,
	    r->row.type, &f->arena);

	f->spoke = true;
	r->status.state = state;
	status_put(&r->status, &body);
	return follower_put_message(st, f->id, key, buf_str(&body),
	    &f->added, w);
}

/* Where the messages about a file's URLs go. */
struct web_starts {
	struct follow *follow;
	struct store *store;
};

static enum err
put_web_start(void *arg, struct str body, struct why *w)
{
	struct web_starts *x = arg;

	return follower_put_message(x->store, x->follow->id,
	    STR(WEB_START_KEY), body, &x->follow->added, w);
}

static enum err
put_urls(struct follow *f, struct store *st, const struct reading *r,
    struct str urls, struct why *w)
{
	struct web_starts x = { f, st };
	struct web_start s = { .parent = f->id, .message = r->row.message,
	    .path = roots_to_message(&f->door->roots, r->row.path,
	    &f->arena), .urls = urls };

	return urls.n == 0 ? OK : web_start_each(&s, put_web_start, &x, w);
}

static enum err
put_warcs(struct follow *f, struct store *st, struct reading *r,
    struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; i < r->news_n && e == OK; i++) {
		FREED(buf_free) struct buf body = BUF_INIT;
		e = put_urls(f, st, r, r->news[i].urls, w);
		if (e != OK)
			return e;
		struct str path = roots_to_message(&f->door->roots,
		    place_path(r->row.path.p, &r->news[i], &f->arena),
		    &f->arena);
		status_put_warc(&r->news[i], path, &r->row, &body);
		e = follower_put_message(st, f->id, STR("warc_created"),
		    buf_str(&body), &f->added, w);
		if (e == OK)
			e = store_order_announced(st, f->id, r->news[i].name,
			    w);
	}
	return e;
}

/*
 * sfm-ui takes no counts of a failure, so a running status with them goes
 * before it; so does one for names that have no room in the last one.
 */
static enum err
put_last_status(struct follow *f, struct store *st, struct reading *r,
    struct why *w)
{
	bool first = r->row.state == STORE_HARVEST_FAILED &&
	    r->totals.counts_n > 0;
	enum err e = OK;

	while (e == OK && (first || r->totals.tokens.n -
	    r->status.tokens_told + r->totals.uids.n - r->status.uids_told >
	    STATUS_NAMES_MAX)) {
		first = false;
		e = put_status(f, st, r, STORE_HARVEST_RUNNING, w);
	}
	return e == OK ? put_status(f, st, r, r->row.state, w) : e;
}

static enum err
put_messages(struct follow *f, struct store *st, struct reading *r,
    struct why *w)
{
	enum store_harvest_state s = r->row.state;
	struct str name = str_of(store_harvest_state_name(s));
	bool told = str_eq(r->order.told, name);
	bool was_over = told && store_harvest_is_over(s);

	enum err e = put_warcs(f, st, r, w);
	/* Nothing is said before it runs. */
	if (e != OK || s == STORE_HARVEST_ACCEPTED ||
	    (told && !f->wants_status))
		return e;
	e = store_harvest_is_over(s) && !was_over ?
	    put_last_status(f, st, r, w) : put_status(f, st, r, s, w);
	r->order.told = name;
	r->order.tokens_told = r->status.tokens_told;
	r->order.uids_told = r->status.uids_told;
	return e == OK ? store_order_told(st, &r->order, w) : e;
}

static enum err
follow_rows(struct follow *f, struct store *st, struct reading *r,
    struct why *w)
{
	enum err e = read_rows(st, f->id, &f->arena, r, w);

	if (e != OK)
		return e;
	f->is_over = store_harvest_is_over(r->row.state);
	if (!f->is_over)
		e = store_stop_find(st, f->id, clock_wall(), &f->is_stopped,
		    w);
	fill_status(f->door, r);
	if (e == OK)
		e = store_begin(st, w);
	return e == OK ? store_end(st, put_messages(f, st, r, w), w) : e;
}

static void
run_follow(struct store_job *j, struct store *st)
{
	struct follow *f = CONTAINER(j, struct follow, job);
	struct reading r = { .warcs_n = 0 };

	f->why = WHY_INIT;
	enum err e = follow_rows(f, st, &r, &f->why);
	f->is_gone = e == ERR_ABSENT;
	if (e != OK)
		f->added = (struct store_outbox_totals){ .messages = 0 };
	totals_free(&r.totals);
}

/* ---- A start that is answered at once -------------------------------- */

static void
note_finish(const struct finished *x, struct totals *t)
{
	totals_note(t, x->success ? TOTALS_INFO : TOTALS_ERROR,
	    str_of(x->code), x->text, STR_NONE);
}

static struct status
status_of(const struct harvest_door *d, const struct finished *x,
    const struct totals *t, struct wall now)
{
	const struct connector *c = connector_find(x->type);

	return (struct status){ .id = x->id, .state = x->success ?
	    STORE_HARVEST_SUCCEEDED : STORE_HARVEST_FAILED, .started = now,
	    .ended = now, .totals = t, .platform = c == NULL ? NULL :
	    c->platform, .host = d->host_name, .process = system_pid() };
}

static enum err
put_finished_rows(struct store *st, const struct finished *x,
    const struct totals *t, struct wall now, struct arena *a, struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct store_harvest h = { .id = x->id,
	    .type = x->type.n > 0 ? x->type : STR("-"),
	    .path = x->path.n > 0 ? x->path : STR("-"),
	    .message = x->message, .end = x->success ? STORE_HARVEST_SUCCESS :
	    STORE_HARVEST_FAILURE };
	struct store_order o = { .harvest = x->id };

	totals_put(t, &text);
	h.totals = buf_str(&text);
	enum err e = store_harvest_add(st, &h, now, a, w);
	if (e == OK)
		e = store_harvest_ready(st, &h, NULL, 0, w);
	if (e == OK)
		e = store_harvest_merged(st, x->id, w);
	if (e == OK)
		e = store_harvest_set_state(st, x->id,
		    STORE_HARVEST_RUNNING, now, w);
	h.state = x->success ? STORE_HARVEST_SUCCEEDED : STORE_HARVEST_FAILED;
	if (e == OK)
		e = store_harvest_set_state(st, x->id, h.state, now, w);
	if (e == OK)
		e = store_order_put(st, x->id, x->routing_key, now, w);
	o.told = str_of(store_harvest_state_name(h.state));
	return e == OK ? store_order_told(st, &o, w) : e;
}

enum err
follower_put_finished(struct harvest_door *d, struct store *st,
    const struct finished *x, struct store_outbox_totals *added, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf body = BUF_INIT;
	struct totals t = { .items = 0 };
	struct wall now = clock_wall();

	enum err e = store_begin(st, w);
	if (e != OK)
		return e;
	note_finish(x, &t);
	e = put_finished_rows(st, x, &t, now, &a, w);
	struct status s = status_of(d, x, &t, now);
	status_put(&s, &body);
	if (e == OK)
		e = follower_put_message(st, x->id, queue_table_status_key(
		    x->routing_key, x->type, &a), buf_str(&body), added, w);
	totals_free(&t);
	e = store_end(st, e, w);
	if (e != OK)
		*added = (struct store_outbox_totals){ .messages = 0 };
	return e;
}

struct str
follower_write_failure(struct harvest_door *d, const struct finished *x,
    struct arena *a)
{
	FREED(buf_free) struct buf body = BUF_INIT;
	struct totals t = { .items = 0 };

	note_finish(x, &t);
	struct status s = status_of(d, x, &t, clock_wall());
	status_put(&s, &body);
	totals_free(&t);
	return arena_copy(a, buf_str(&body));
}

/* ---- On the main loop ----------------------------------------------- */

static void follow_now(struct follow *);

static void
give_slot_back(struct follow *f)
{
	struct served *slot = f->slot;

	f->slot = NULL;
	intake_free_slot(f->door, slot);
}

static void
free_follow(struct follow *f)
{
	struct harvest_door *d = f->door;

	loop_timer_stop(d->host->home, &f->timer);
	pace_leave(&f->turn);
	list_take(&f->node);
	if (f->slot != NULL)
		give_slot_back(f);
	arena_free(&f->arena);
	arena_free(&f->texts);
	mem_free(&f);
}

static void
try_again(struct timer *t)
{
	follow_now(CONTAINER(t, struct follow, timer));
}

static void
wait_and_try(struct follow *f)
{
	log_error("harvest.status", "harvest=%s why=%s", log_quoted(f->id),
	    log_why(&f->why));
	f->repeat = f->wants_status;
	f->pause_ms = MIN(MAX(f->pause_ms * 2, DOOR_RETRY_MS),
	    DOOR_RETRY_MS_MAX);
	if (f->door->closes_when_sent)
		return;
	f->timer.fire = try_again;
	loop_timer_set(f->door->host->home, &f->timer, mono_add_ms(
	    clock_mono(), f->pause_ms));
}

/* All is put; what comes next? */
static void
go_on(struct follow *f)
{
	struct harvest_door *d = f->door;

	f->pause_ms = 0;
	outbox_sender_kick(d, f->id, &f->added);
	if (f->is_stopped && !f->stops && f->is_in_memory) {
		f->stops = true;
		harvest_stop(d->harvests, f->id);
	}
	f->stale = f->stale && !f->spoke;
	if (f->stale && !f->ended)
		pace_ask(&d->pace, &f->turn);
	if (f->again)
		follow_now(f);
	else if (f->passing || (f->is_over && f->ended))
		free_follow(f);
	follower_pace(&d->pace_timer);
}

static void
followed(struct store_job *j)
{
	struct follow *f = CONTAINER(j, struct follow, job);
	struct harvest_door *d = f->door;

	f->under_way = false;
	arena_reset(&f->arena);
	if (f->why.err == OK)
		go_on(f);
	else if (f->is_gone)
		free_follow(f);
	else
		wait_and_try(f);
	drain_gate_leave(&d->work);
}

static void
follow_now(struct follow *f)
{
	if (f->under_way) {
		f->again = true;
		return;
	}
	pace_leave(&f->turn);
	loop_timer_stop(f->door->host->home, &f->timer);
	f->under_way = true;
	f->again = false;
	f->wants_status = f->repeat;
	f->repeat = false;
	f->added = (struct store_outbox_totals){ .messages = 0 };
	f->is_stopped = f->spoke = false;
	f->last = clock_mono();
	drain_gate_enter(&f->door->work);
	f->job = (struct store_job){ .run = run_follow, .done = followed };
	store_async_put(f->door->store, &f->job);
}

static struct follow *
find_follow(struct harvest_door *d, struct str id)
{
	LIST_EACH(f, &d->follows, struct follow, node)
		if (str_eq(f->id, id))
			return f;
	return NULL;
}

static struct follow *
new_follow(struct harvest_door *d, struct str id)
{
	struct follow *f = mem_new(sizeof(*f));

	f->door = d;
	arena_room(&f->texts, id.n + 1);
	f->id = arena_copy(&f->texts, id);
	pace_turn_init(&f->turn);
	list_put(&d->follows, &f->node);
	return f;
}

void
follower_add(struct harvest_door *d, struct str id, struct served *slot)
{
	struct harvest_view v;
	struct follow *f = find_follow(d, id);

	if (f == NULL)
		f = new_follow(d, id);
	f->slot = slot;
	f->is_in_memory = harvest_look(d->harvests, id, &v);
	f->passing = !f->is_in_memory;
	if (f->is_in_memory)
		drain_gate_enter(&d->work);
	follow_now(f);
}

void
follower_repeat(struct harvest_door *d, struct str id)
{
	struct follow *f = find_follow(d, id);

	if (f == NULL) {
		f = new_follow(d, id);
		f->passing = true;
	}
	f->repeat = true;
	follow_now(f);
}

/* Files go at once; the status that follows them has its turn. */
void
follower_changed(struct harvest_door *d, struct str id)
{
	struct follow *f = find_follow(d, id);

	if (f == NULL)
		return;
	f->stale = true;
	follow_now(f);
}

void
follower_ended(struct harvest_door *d, const struct harvest_view *v)
{
	struct follow *f = find_follow(d, v->id);

	if (f == NULL)
		return;
	f->ended = true;
	if (store_harvest_is_over(v->state))
		harvest_meter_faults(v->faults);
	give_slot_back(f);
	follow_now(f);
	drain_gate_leave(&d->work);
}

/* It may be one more than the queue's slots. */
void
follower_resumed(struct harvest_door *d, struct str id)
{
	struct follow *f = find_follow(d, id);
	struct harvest_view v;

	if (f == NULL || !f->ended)
		return;
	f->ended = false;
	drain_gate_enter(&d->work);
	f->slot = harvest_look(d->harvests, id, &v) ? intake_slot_of(d,
	    v.type) : NULL;
	if (f->slot != NULL)
		intake_use_slot(d, f->slot);
}

void
follower_pause_all(struct harvest_door *d)
{
	LIST_EACH(f, &d->follows, struct follow, node)
		if (f->is_in_memory && !f->ended)
			harvest_pause(d->harvests, f->id);
}

void
follower_pause_for_room(struct harvest_door *d)
{
	LIST_EACH(f, &d->follows, struct follow, node) {
		if (!f->is_in_memory || f->ended || f->for_room)
			continue;
		f->for_room = true;
		harvest_pause(d->harvests, f->id);
	}
}

void
follower_go_on(struct harvest_door *d)
{
	LIST_EACH(f, &d->follows, struct follow, node) {
		if (f->for_room)
			harvest_resume(d->harvests, f->id);
		f->for_room = false;
	}
}

/* One status whose turn it is. */
void
follower_pace(struct timer *t)
{
	struct harvest_door *d = CONTAINER(t, struct harvest_door,
	    pace_timer);
	struct mono again;

	if (d->closes_when_sent)
		return;
	struct pace_turn *turn = pace_next(&d->pace, clock_mono(), &again);
	if (turn != NULL) {
		struct follow *f = CONTAINER(turn, struct follow, turn);
		f->repeat = !f->ended;
		follow_now(f);
		again = d->pace.next;
	}
	if (again.ns != MONO_NEVER.ns)
		loop_timer_set(d->host->home, &d->pace_timer, again);
}

/* A harvest that has said nothing for long says that it runs. */
void
follower_beat(struct timer *t)
{
	struct harvest_door *d = CONTAINER(t, struct harvest_door,
	    beat_timer);
	struct mono now = clock_mono();

	if (d->closes_when_sent)
		return;
	LIST_EACH(f, &d->follows, struct follow, node)
		if (!f->ended && !f->passing && mono_ns_between(f->last,
		    now) >= d->heartbeat_ms * NS_PER_MS)
			pace_ask(&d->pace, &f->turn);
	follower_pace(&d->pace_timer);
	loop_timer_set(d->host->home, t, mono_add_ms(now, BEAT_MS));
}

void
follower_free_all(struct harvest_door *d)
{
	while (!list_empty(&d->follows))
		free_follow(LIST_ITEM(d->follows.next, struct follow, node));
}
