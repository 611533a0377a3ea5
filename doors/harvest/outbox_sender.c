/*
 * The outbox to the broker: a lane for each harvest with messages.
 *
 *     waits ─► loading ─► out ─► confirmed: forgotten, the next one is loaded
 *       ▲                  └───► returned, refused, lost ─┐
 *       └───────────── 1, 2, 4 ... 60 s ──────────────────┘
 *
 * A message is repeated under its id until the broker has confirmed it.
 */
#include "doors/harvest/harvest_door.h"
#include "doors/harvest/meter.h"

#include "base/json.h"
#include "os/clock.h"
#include "os/log.h"

enum lane_state { LANE_WAITS, LANE_LOADING, LANE_OUT, LANE_PAUSES };

struct lane {
	struct list node;
	struct harvest_door *door;
	struct str harvest;
	enum lane_state state;
	bool more;                   /* something was put meanwhile */
	bool in_doubt;               /* the broker may have the message */
	struct sfm_api_question question;
	struct arena texts;          /* of harvest */
	struct arena arena;          /* of the message */
	struct store_message message;
	uint64_t confirmed;          /* to be forgotten; 0: none */
	size_t confirmed_bytes;
	struct broker_message out;
	struct store_job job;
	struct why why;
	struct timer timer;
	int64_t pause_ms;
};

static void start_lanes(struct harvest_door *);

/* ---- Room ---- */

/* It has become so many bytes. */
static void
look_at_room(struct harvest_door *d)
{
	uint64_t most = d->outbox_bytes_max;

	harvest_meter_outbox(&d->outbox, d->outbox_full);
	if (d->stopping)
		return;
	if (!d->outbox_full && d->outbox.bytes >= most) {
		log_warn("harvest.outbox_full", "bytes=%llu",
		    (unsigned long long)d->outbox.bytes);
		d->outbox_full = true;
		follower_pause_for_room(d);
	} else if (d->outbox_full && d->outbox.bytes <= most - most / 8) {
		log_info("harvest.outbox_room", "bytes=%llu",
		    (unsigned long long)d->outbox.bytes);
		d->outbox_full = false;
		follower_go_on(d);
	} else {
		return;
	}
	harvest_meter_outbox(&d->outbox, d->outbox_full);
}

static void
free_lane(struct lane *l)
{
	loop_timer_stop(l->door->host->home, &l->timer);
	list_take(&l->node);
	arena_free(&l->arena);
	arena_free(&l->texts);
	mem_free(&l);
}

/* The lane has no message in memory now. */
static void
unload(struct lane *l, enum lane_state state)
{
	l->state = state;
	l->door->lanes_loaded--;
	arena_reset(&l->arena);
}

static void
pause_over(struct timer *t)
{
	struct lane *l = CONTAINER(t, struct lane, timer);

	l->state = LANE_WAITS;
	start_lanes(l->door);
}

static void
pause_lane(struct lane *l)
{
	unload(l, LANE_PAUSES);
	l->pause_ms = MIN(MAX(l->pause_ms * 2, DOOR_RETRY_MS),
	    DOOR_RETRY_MS_MAX);
	l->timer.fire = pause_over;
	loop_timer_set(l->door->host->home, &l->timer, mono_add_ms(
	    clock_mono(), l->pause_ms));
}

/* -- The broker -- */

static void load(struct lane *);

/* The message is done with; the next one comes. */
static void
forget(struct lane *l)
{
	l->pause_ms = 0;
	l->confirmed = l->message.number;
	l->confirmed_bytes = l->message.body.n;
	load(l);
}

static void
message_done(struct broker_message *m)
{
	struct lane *l = CONTAINER(m, struct lane, out);
	struct harvest_door *d = l->door;

	harvest_meter_result(m->result);
	l->in_doubt = m->result == BROKER_LOST;
	if (m->result == BROKER_CONFIRMED) {
		d->confirmed++;
		forget(l);
	} else {
		log_warn("harvest.unconfirmed", "harvest=%s key=%s why=%s",
		    log_quoted(l->harvest), log_quoted(m->routing_key),
		    log_why(&m->why));
		pause_lane(l);
	}
	start_lanes(d);
	drain_gate_leave(&d->sending);
}

/* ---- What the broker may have ---- */

static void send_out(struct lane *);

static void
asked(struct sfm_api_question *q)
{
	struct lane *l = CONTAINER(q, struct lane, question);
	struct harvest_door *d = l->door;

	log_info("harvest.asked", "harvest=%s warc=%s known=%d answer=%s",
	    log_quoted(l->harvest), log_quoted(q->warc_id), q->has_it,
	    log_quoted(str_of(q->answer)));
	l->in_doubt = false;
	if (q->has_it)
		forget(l);
	else
		send_out(l);
	start_lanes(d);
	drain_gate_leave(&d->sending);
}

/* The id of the WARC file that the message tells of; none. */
static struct str
warc_of(struct lane *l)
{
	yyjson_doc *doc = !str_eq(l->message.routing_key, STR("warc_created"))
	    ? NULL : yyjson_read(l->message.body.p, l->message.body.n, 0);
	struct str id = arena_copy(&l->arena, json_text(yyjson_obj_get(
	    yyjson_obj_get(yyjson_doc_get_root(doc), "warc"), "id")));

	yyjson_doc_free(doc);
	return id;
}

static void
publish(struct lane *l)
{
	struct harvest_door *d = l->door;

	l->question = (struct sfm_api_question){ .done = asked };
	if (l->in_doubt && d->sfm != NULL && !d->draining)
		l->question.warc_id = warc_of(l);
	if (l->question.warc_id.n == 0) {
		send_out(l);
		return;
	}
	l->state = LANE_OUT;
	drain_gate_enter(&d->sending);
	sfm_api_ask(d->sfm, &l->question);
}

static void
send_out(struct lane *l)
{
	const struct store_message *m = &l->message;
	struct why w = WHY_INIT;

	if (l->door->draining) {
		pause_lane(l);
		return;
	}
	l->out = (struct broker_message){ .routing_key = m->routing_key,
	    .message_id = m->message_id, .timestamp = m->created,
	    .body = m->body, .done = message_done };
	l->state = LANE_OUT;
	drain_gate_enter(&l->door->sending);
	if (broker_publish(l->door->broker, &l->out, &w) == OK)
		return;
	drain_gate_leave(&l->door->sending);
	pause_lane(l);
}

/* -- The store -- */

static void
loaded(struct store_job *j)
{
	struct lane *l = CONTAINER(j, struct lane, job);
	struct harvest_door *d = l->door;

	if (l->why.err != OK) {
		log_error("harvest.outbox", "harvest=%s why=%s",
		    log_quoted(l->harvest), log_why(&l->why));
		pause_lane(l);
	} else {
		if (l->confirmed != 0) {
			d->outbox.messages--;
			d->outbox.bytes -= l->confirmed_bytes;
			look_at_room(d);
		}
		l->confirmed = 0;
		if (l->message.number != 0) {
			publish(l);
		} else if (l->more) {
			load(l);
		} else {
			unload(l, LANE_WAITS);
			free_lane(l);
		}
	}
	start_lanes(d);
	drain_gate_leave(&d->sending);
}

static void
run_load(struct store_job *j, struct store *st)
{
	struct lane *l = CONTAINER(j, struct lane, job);

	l->why = WHY_INIT;
	(void)!store_outbox_next(st, l->harvest, l->confirmed, &l->arena,
	    &l->message, &l->why);
}

static void
load(struct lane *l)
{
	l->state = LANE_LOADING;
	l->more = false;
	arena_reset(&l->arena);
	drain_gate_enter(&l->door->sending);
	l->job = (struct store_job){ .run = run_load, .done = loaded };
	store_async_put(l->door->store, &l->job);
}

/* What is confirmed is still forgotten while the door drains. */
static void
start_lanes(struct harvest_door *d)
{
	if (d->broker == NULL || d->draining)
		return;
	LIST_EACH(l, &d->lanes, struct lane, node) {
		if (d->lanes_loaded >= DOOR_LANES_MAX)
			break;
		if (l->state != LANE_WAITS)
			continue;
		d->lanes_loaded++;
		load(l);
	}
	if (d->lanes_loaded == 0 && d->closes_when_sent)
		harvest_door_close(d);
}

/* -- Harvests with messages -- */

static struct lane *
find_lane(struct harvest_door *d, struct str harvest)
{
	LIST_EACH(l, &d->lanes, struct lane, node)
		if (str_eq(l->harvest, harvest))
			return l;
	struct lane *l = mem_new(sizeof(*l));
	l->door = d;
	arena_room(&l->texts, harvest.n + 1);
	l->harvest = arena_copy(&l->texts, harvest);
	list_put(&d->lanes, &l->node);
	return l;
}

void
outbox_sender_kick(struct harvest_door *d, struct str harvest,
    const struct store_outbox_totals *added)
{
	if (added->messages == 0)
		return;
	d->outbox.messages += added->messages;
	d->outbox.bytes += added->bytes;
	look_at_room(d);
	find_lane(d, harvest)->more = true;
	start_lanes(d);
}

static void
all_loaded(struct store_job *j)
{
	struct harvest_door *d = CONTAINER(j, struct harvest_door,
	    outbox_job);

	d->outbox.messages += d->outbox_left.messages;
	d->outbox.bytes += d->outbox_left.bytes;
	d->outbox.oldest = d->outbox_left.oldest;
	for (size_t i = 0; i < d->outbox_ids_n; i++)
		find_lane(d, d->outbox_ids[i])->in_doubt = true;
	arena_free(&d->outbox_arena);
	look_at_room(d);
	start_lanes(d);
	drain_gate_leave(&d->sending);
}

static void
load_all(struct store_job *j, struct store *st)
{
	struct harvest_door *d = CONTAINER(j, struct harvest_door,
	    outbox_job);
	struct why w = WHY_INIT;

	if (store_outbox_totals(st, &d->outbox_left, &w) != OK ||
	    store_outbox_harvests(st, &d->outbox_arena, &d->outbox_ids,
	    &d->outbox_ids_n, &w) != OK)
		log_error("harvest.outbox", "why=%s", log_why(&w));
}

void
outbox_sender_finish(struct harvest_door *d)
{
	d->closes_when_sent = true;
	start_lanes(d);
}

void
outbox_sender_load(struct harvest_door *d)
{
	drain_gate_enter(&d->sending);
	d->outbox_job = (struct store_job){ .run = load_all,
	    .done = all_loaded };
	store_async_put(d->store, &d->outbox_job);
}

void
outbox_sender_free_all(struct harvest_door *d)
{
	while (!list_empty(&d->lanes))
		free_lane(LIST_ITEM(d->lanes.next, struct lane, node));
	arena_free(&d->outbox_arena);
}
