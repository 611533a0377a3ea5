/*
 * Deliveries: start messages and stops, from the broker to their end.
 *
 *     delivery ─► counted, if it came before ─► read ─► looked up in the store
 *        │                                                   │
 *        │ dead letter, confirmed      known: its status ◄───┤
 *        ▼                        answered at once: status ◄─┤ new
 *       ack ◄──────────────────────────────────────────── harvest_begin()
 *
 * A delivery is acknowledged when its effect is committed, never before.  What
 * the store cannot take is tried again for DOOR_PERSIST_MS; then the message is
 * a dead letter, and its requester is told.
 */
#include "doors/harvest/export_follower.h"
#include "doors/harvest/meter.h"
#include "os/clock.h"
#include "os/log.h"
#include "wire/digest.h"

#define HEADERS_N 5u

/* What to do with a message, now that the store knows it. */
enum outcome {
	OUTCOME_NEW,         /* a start: to be begun */
	OUTCOME_KNOWN,       /* a start: its status is to be repeated */
	OUTCOME_DONE,        /* nothing is left to do */
	OUTCOME_STOPS,       /* a stop: a harvest of ours is to end */
};

struct intake {
	struct list node;
	struct harvest_door *door;
	struct drain_gate *gate;     /* that waits for its end */
	struct broker_delivery *delivery;
	struct served *slot;         /* NULL: a stop, or given away */
	struct arena arena;
	struct input input;
	struct finished finished;    /* code NULL: it may begin */
	struct mono began;
	int64_t pause_ms;
	struct timer timer;
	void (*again)(struct intake *);      /* what the timer does */
	char digest[DIGEST_TEXT_MAX];        /* of one that came before; "" */

	struct store_job job;
	struct why why;
	enum outcome outcome;
	uint64_t crashes;
	struct store_outbox_totals added;

	struct harvest_request request;
	struct str export;           /* its id, once the row is there */
	bool export_over;            /* nothing of it is left to do */

	enum letter_reason reason;
	struct broker_message message;
	struct broker_header headers[HEADERS_N];
};

static bool is_export(const struct intake *);
static void look_up(struct intake *);
static void send_letter(struct intake *, enum letter_reason);

/* ---- Slots ---------------------------------------------------------- */

struct served *
intake_slot_of(struct harvest_door *d, struct str type)
{
	const struct queue_row *row = queue_table_find(type);

	for (size_t i = 0; row != NULL && i < d->queues_n; i++)
		if (d->queues[i].row == row)
			return &d->queues[i];
	return NULL;
}

bool
intake_has_slot(const struct served *s)
{
	return s->slots->used < s->slots->max;
}

/* The same for all queues of these slots. */
static void
consume_all(struct harvest_door *d, const struct slots *slots)
{
	if (d->broker == NULL)
		return;
	for (size_t i = 0; i < d->queues_n; i++) {
		if (d->queues[i].slots != slots)
			continue;
		if (!intake_has_slot(&d->queues[i]))
			broker_cancel(d->broker, i);
		else if (!d->stopping)
			broker_consume(d->broker, i);
	}
}

void
intake_use_slot(struct harvest_door *d, struct served *s)
{
	s->used++;
	s->slots->used++;
	harvest_meter_slots(1);
	consume_all(d, s->slots);
}

void
intake_free_slot(struct harvest_door *d, struct served *s)
{
	if (s == NULL)
		return;
	CHECK(s->used > 0);
	s->used--;
	s->slots->used--;
	harvest_meter_slots(-1);
	consume_all(d, s->slots);
}

/* ---- The end of a delivery ------------------------------------------ */

static void
free_intake(struct intake *x)
{
	struct harvest_door *d = x->door;
	struct drain_gate *gate = x->gate;

	intake_free_slot(d, x->slot);
	loop_timer_stop(d->host->home, &x->timer);
	list_take(&x->node);
	harvest_meter_deliveries(-1);
	arena_free(&x->arena);
	mem_free(&x);
	drain_gate_leave(gate);
}

static void
acknowledge(struct intake *x)
{
	broker_ack(&x->delivery);
	free_intake(x);
}

static void
give_back(struct intake *x)
{
	broker_reject(&x->delivery, true);
	free_intake(x);
}

void
intake_give_back(struct harvest_door *d)
{
	struct list *node = d->intakes.next;

	while (node != &d->intakes) {
		struct intake *x = LIST_ITEM(node, struct intake, node);
		node = node->next;
		if (x->again != NULL)
			give_back(x);
	}
}

static void
try_again(struct timer *t)
{
	struct intake *x = CONTAINER(t, struct intake, timer);
	void (*again)(struct intake *) = x->again;

	x->again = NULL;
	again(x);
}

static void
wait_and_try(struct intake *x, void (*again)(struct intake *))
{
	struct harvest_door *d = x->door;

	if (d->stopping) {
		give_back(x);
		return;
	}
	x->pause_ms = MIN(MAX(x->pause_ms * 2, DOOR_RETRY_MS),
	    DOOR_RETRY_MS_MAX);
	x->again = again;
	x->timer.fire = try_again;
	loop_timer_set(d->host->home, &x->timer, mono_add_ms(clock_mono(),
	    x->pause_ms));
}

/* ---- Dead letters --------------------------------------------------- */

static void
again_letter(struct intake *x)
{
	send_letter(x, x->reason);
}

static void
letter_done(struct broker_message *m)
{
	struct intake *x = CONTAINER(m, struct intake, message);

	if (m->result == BROKER_CONFIRMED) {
		x->door->letters++;
		harvest_meter_letter(x->reason);
		log_warn("harvest.letter", "queue=%s reason=%s",
		    log_quoted(x->door->broker_queues[x->delivery->queue]
		    .name), letter_reason_name(x->reason));
		acknowledge(x);
		return;
	}
	log_error("harvest.letter", "why=%s", log_why(&m->why));
	wait_and_try(x, again_letter);
}

static struct str
new_id(struct arena *a)
{
	FREED(buf_free) struct buf id = BUF_INIT;
	uint8_t random[16];

	clock_random(random, sizeof(random));
	digest_put_hex(&id, random, sizeof(random));
	return arena_copy(a, buf_str(&id));
}

static void
publish_letter(struct intake *x)
{
	const struct broker_delivery *m = x->delivery;
	struct wall now = clock_wall();
	struct why w = WHY_INIT;

	x->headers[0] = (struct broker_header){ STR("x-argiope-reason"),
		str_of(letter_reason_name(x->reason)) };
	x->headers[1] = (struct broker_header){ STR("x-argiope-queue"),
		x->door->broker_queues[m->queue].name };
	x->headers[2] = (struct broker_header){ STR("x-argiope-exchange"),
		m->exchange };
	x->headers[3] = (struct broker_header){ STR("x-argiope-routing-key"),
		m->routing_key };
	x->headers[4] = (struct broker_header){ STR("x-argiope-time"),
		letter_date(now, &x->arena) };
	x->message = (struct broker_message){ .to_queue = true,
	    .routing_key = STR(LETTER_QUEUE), .timestamp = now,
	    .message_id = new_id(&x->arena), .headers = x->headers,
	    .headers_n = HEADERS_N, .done = letter_done };
	x->message.body = x->reason == LETTER_CRASHED ?
	    letter_mask_unread(buf_str(&m->body), &x->arena) :
	    letter_mask(buf_str(&m->body), &x->arena);
	if (broker_publish(x->door->broker, &x->message, &w) == OK)
		return;
	log_error("harvest.letter", "why=%s", log_why(&w));
	wait_and_try(x, again_letter);
}

static void
failure_done(struct broker_message *m)
{
	struct intake *x = CONTAINER(m, struct intake, message);

	/* Nobody listens: that is no reason to keep the message. */
	if (m->result == BROKER_CONFIRMED || m->result == BROKER_RETURNED)
		publish_letter(x);
	else
		wait_and_try(x, again_letter);
}

/* The store takes nothing, so this status does not go through it. */
static void
publish_failure(struct intake *x)
{
	struct why w = WHY_INIT;

	x->finished.success = false;
	x->finished.code = "msg_persist_error";
	x->finished.text = arena_copy(&x->arena, str_of(x->why.text));
	x->message = (struct broker_message){ .timestamp = clock_wall(),
	    .message_id = new_id(&x->arena), .done = failure_done };
	if (is_export(x)) {
		export_follower_write_failure(x->door, &x->finished,
		    &x->arena, &x->message.routing_key, &x->message.body);
	} else {
		x->message.routing_key = queue_table_status_key(
		    x->finished.routing_key, x->finished.type, &x->arena);
		x->message.body = follower_write_failure(x->door,
		    &x->finished, &x->arena);
	}
	if (broker_publish(x->door->broker, &x->message, &w) != OK)
		wait_and_try(x, again_letter);
}

/*
 * It ends when the broker has it, or when the broker is closed; no harvest
 * waits for that.
 */
static void
send_letter(struct intake *x, enum letter_reason reason)
{
	struct harvest_door *d = x->door;

	if (x->gate == &d->work) {
		x->gate = &d->sending;
		drain_gate_enter(&d->sending);
		drain_gate_leave(&d->work);
	}
	x->reason = reason;
	if (reason == LETTER_PERSIST && x->finished.id.n > 0)
		publish_failure(x);
	else
		publish_letter(x);
}

/* ---- The store ------------------------------------------------------ */

static void
do_job(struct intake *x, void (*run)(struct store_job *, struct store *),
    void (*done)(struct store_job *))
{
	x->why = WHY_INIT;
	x->added = (struct store_outbox_totals){ .messages = 0 };
	x->job = (struct store_job){ .run = run, .done = done };
	store_async_put(x->door->store, &x->job);
}

/* It failed: once more, or the message is given up. */
static void
persist_failed(struct intake *x, void (*again)(struct intake *))
{
	log_error("harvest.persist", "harvest=%s why=%s",
	    log_quoted(x->input.id), log_why(&x->why));
	if (mono_ns_between(x->began, clock_mono()) < DOOR_PERSIST_MS *
	    NS_PER_MS)
		wait_and_try(x, again);
	else
		send_letter(x, LETTER_PERSIST);
}

static void
run_finish(struct store_job *j, struct store *st)
{
	struct intake *x = CONTAINER(j, struct intake, job);

	(void)!follower_put_finished(x->door, st, &x->finished, &x->added,
	    &x->why);
	if (x->why.err == OK && x->digest[0] != '\0')
		(void)!store_crash_clear(st, str_of(x->digest), NULL);
}

static void finish_at_once(struct intake *);

static void
finished(struct store_job *j)
{
	struct intake *x = CONTAINER(j, struct intake, job);

	/* An earlier try, whose answer was lost, or another daemon. */
	if (x->why.err == ERR_EXISTS) {
		look_up(x);
		return;
	}
	if (x->why.err != OK) {
		persist_failed(x, finish_at_once);
		return;
	}
	outbox_sender_kick(x->door, x->input.id, &x->added);
	acknowledge(x);
}

static void
finish_at_once(struct intake *x)
{
	do_job(x, run_finish, finished);
}

/* ---- Starts --------------------------------------------------------- */

static void
begin_done(struct harvest_request *r)
{
	struct intake *x = r->arg;
	struct harvest_door *d = x->door;

	x->why = r->why;
	if (r->code[0] == '\0') {
		struct served *slot = x->slot;
		x->slot = NULL;
		d->starts++;
		harvest_meter_start();
		follower_add(d, x->input.id, slot);
		if (d->draining || d->stopping)
			harvest_pause(d->harvests, x->input.id);
		else if (d->outbox_full)
			follower_pause_for_room(d);
		acknowledge(x);
	} else if (strcmp(r->code, "claimed") == 0) {
		log_info("harvest.claimed", "harvest=%s why=%s",
		    log_quoted(x->input.id), log_why(&r->why));
		acknowledge(x);
	} else if (r->why.err == ERR_EXISTS && strcmp(r->code,
	    "msg_persist_error") == 0) {
		look_up(x);
	} else if (strcmp(r->code, "msg_persist_error") == 0) {
		persist_failed(x, look_up);
	} else {
		x->finished.code = r->code;
		x->finished.text = arena_copy(&x->arena, str_of(r->why.text));
		finish_at_once(x);
	}
}

static void
begin(struct intake *x)
{
	x->request = (struct harvest_request){ .id = x->input.id,
	    .message = x->input.text, .path = x->finished.path,
	    .origin = HARVEST_OF_BROKER, .done = begin_done, .arg = x };
	harvest_service_begin(x->door->host->harvests, &x->request, STR_NONE);
}

/* A harvest of that id is known. */
static enum err
look_at_known(struct intake *x, struct store *st, struct why *w)
{
	struct store_order o;

	enum err e = store_order_get(st, x->input.id, &x->arena, &o, w);
	x->outcome = e == OK && o.here ? OUTCOME_KNOWN : OUTCOME_DONE;
	return e == ERR_ABSENT ? OK : e;
}

static enum err
look_at_start(struct intake *x, struct store *st, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct store_harvest row;
	bool stopped;

	enum err e = store_harvest_get(st, x->input.id, &a, &row, NULL);
	if (e == OK)
		return look_at_known(x, st, w);
	if (e != ERR_ABSENT)
		return why(w, e, "the store cannot be read");
	e = store_stop_find(st, x->input.id, clock_wall(), &stopped, w);
	if (e != OK)
		return e;
	x->outcome = OUTCOME_NEW;
	if (stopped) {
		x->finished.success = true;
		x->finished.code = "harvest_stopped";
		x->finished.text = STR("it was stopped before it began");
	}
	if (x->finished.code == NULL)
		return store_order_put(st, x->input.id,
		    x->finished.routing_key, clock_wall(), w);
	x->outcome = OUTCOME_DONE;
	return follower_put_finished(x->door, st, &x->finished, &x->added, w);
}

static void
run_look_up(struct store_job *j, struct store *st)
{
	struct intake *x = CONTAINER(j, struct intake, job);

	if (look_at_start(x, st, &x->why) == OK && x->digest[0] != '\0')
		(void)!store_crash_clear(st, str_of(x->digest), NULL);
}

static void
looked_up(struct store_job *j)
{
	struct intake *x = CONTAINER(j, struct intake, job);

	if (x->why.err != OK) {
		persist_failed(x, look_up);
		return;
	}
	outbox_sender_kick(x->door, x->input.id, &x->added);
	if (x->outcome == OUTCOME_NEW) {
		begin(x);
		return;
	}
	if (x->outcome == OUTCOME_KNOWN) {
		log_info("harvest.known", "harvest=%s", log_quoted(
		    x->input.id));
		follower_repeat(x->door, x->input.id);
	}
	acknowledge(x);
}

static void
look_up(struct intake *x)
{
	do_job(x, run_look_up, looked_up);
}

static void
take_start(struct intake *x)
{
	struct harvest_door *d = x->door;
	struct why w = WHY_INIT;

	x->finished = (struct finished){ .id = x->input.id,
	    .type = x->input.type, .path = x->input.path,
	    .message = x->input.kept,
	    .routing_key = x->delivery->routing_key };
	if (roots_to_local(&d->roots, x->input.path, &x->arena,
	    &x->finished.path, &w) != OK) {
		x->finished.code = x->input.path.n == 0 ? "bad_request" :
		    "path_forbidden";
		x->finished.text = arena_copy(&x->arena, str_of(w.text));
	}
	look_up(x);
}

/* ---- Exports -------------------------------------------------------- */

static bool
is_export(const struct intake *x)
{
	return x->delivery->queue < x->door->queues_n &&
	    x->door->queues[x->delivery->queue].row->export_keys != NULL;
}

static enum err
look_at_export(struct intake *x, struct store *st, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct store_export row;

	enum err e = store_export_get(st, x->input.id, &a, &row, NULL);
	if (e == OK)
		x->outcome = row.here ? OUTCOME_KNOWN : OUTCOME_DONE;
	if (e == OK || e != ERR_ABSENT)
		return e == OK ? OK : why(w, e, "the store cannot be read");
	x->outcome = OUTCOME_NEW;
	return exporting_put(x->door->host->exporting, st, x->input.kept,
	    x->finished.routing_key, &x->arena, &x->export, &x->export_over,
	    w);
}

static void
run_export(struct store_job *j, struct store *st)
{
	struct intake *x = CONTAINER(j, struct intake, job);

	if (look_at_export(x, st, &x->why) == OK && x->digest[0] != '\0')
		(void)!store_crash_clear(st, str_of(x->digest), NULL);
}

static void take_export(struct intake *);

/* It is followed before it can end; its slot goes with it. */
static void
export_noted(struct store_job *j)
{
	struct intake *x = CONTAINER(j, struct intake, job);
	struct harvest_door *d = x->door;

	if (x->why.err != OK) {
		persist_failed(x, take_export);
		return;
	}
	if (x->outcome == OUTCOME_NEW) {
		d->starts++;
		harvest_meter_start();
		export_follower_add(d, x->export, x->slot);
		x->slot = NULL;
		if (!x->export_over)
			exporting_start(d->host->exporting, x->export);
	} else if (x->outcome == OUTCOME_KNOWN) {
		log_info("harvest.known", "export=%s", log_quoted(
		    x->input.id));
		export_follower_repeat(d, x->input.id);
	}
	acknowledge(x);
}

static void
take_export(struct intake *x)
{
	x->finished = (struct finished){ .id = x->input.id,
	    .type = x->input.type,
	    .routing_key = x->delivery->routing_key };
	do_job(x, run_export, export_noted);
}

/* ---- Stops ---------------------------------------------------------- */

static enum err
look_at_stop(struct intake *x, struct store *st, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct store_harvest row;
	struct wall now = clock_wall();
	bool stopping;

	x->outcome = OUTCOME_DONE;
	enum err e = store_harvest_get(st, x->input.id, &a, &row, NULL);
	if (e == ERR_ABSENT)
		return store_stop_put(st, x->input.id, now, w);
	if (e != OK)
		return why(w, e, "the store cannot be read");
	if (store_harvest_is_over(row.state))
		return OK;
	e = look_at_known(x, st, w);
	if (e != OK || x->outcome != OUTCOME_KNOWN)
		return e;
	x->outcome = OUTCOME_STOPS;
	return store_stop_harvest(st, x->input.id, now, &stopping, w);
}

static void
run_stop(struct store_job *j, struct store *st)
{
	struct intake *x = CONTAINER(j, struct intake, job);

	if (store_begin(st, &x->why) == OK)
		(void)!store_end(st, look_at_stop(x, st, &x->why), &x->why);
}

static void take_stop(struct intake *);

/* The follower finds the stop in the store, and ends the harvest. */
static void
stop_noted(struct store_job *j)
{
	struct intake *x = CONTAINER(j, struct intake, job);

	if (x->why.err != OK) {
		persist_failed(x, take_stop);
		return;
	}
	x->door->stops++;
	harvest_meter_stop();
	if (x->outcome == OUTCOME_STOPS)
		follower_changed(x->door, x->input.id);
	acknowledge(x);
}

static void
take_stop(struct intake *x)
{
	do_job(x, run_stop, stop_noted);
}

/* ---- What was delivered --------------------------------------------- */

static void
read_body(struct intake *x)
{
	enum letter_reason r = input_read(buf_str(&x->delivery->body),
	    &x->arena, &x->input);

	if (r != LETTER_NONE)
		send_letter(x, r);
	else if (is_export(x))
		take_export(x);
	else if (x->slot != NULL)
		take_start(x);
	else
		take_stop(x);
}

static void
run_count(struct store_job *j, struct store *st)
{
	struct intake *x = CONTAINER(j, struct intake, job);

	(void)!store_crash_count(st, str_of(x->digest), clock_wall(),
	    &x->crashes, &x->why);
}

static void count_crash(struct intake *);

static void
counted(struct store_job *j)
{
	struct intake *x = CONTAINER(j, struct intake, job);

	if (x->why.err != OK)
		persist_failed(x, count_crash);
	else if (x->crashes >= DOOR_CRASHES_MAX)
		send_letter(x, LETTER_CRASHED);
	else
		read_body(x);
}

static void
count_crash(struct intake *x)
{
	do_job(x, run_count, counted);
}

static struct intake *
new_intake(struct harvest_door *d, struct broker_delivery *m)
{
	struct intake *x = mem_new(sizeof(*x));

	x->door = d;
	x->delivery = m;
	x->began = clock_mono();
	list_put(&d->intakes, &x->node);
	harvest_meter_deliveries(1);
	x->gate = &d->work;
	drain_gate_enter(x->gate);
	if (m->queue < d->queues_n) {
		x->slot = &d->queues[m->queue];
		intake_use_slot(d, x->slot);
	}
	return x;
}

void
intake_take(struct broker_delivery *m, void *door)
{
	struct harvest_door *d = door;
	struct digest digest;

	if (d->stopping) {
		broker_reject(&m, true);
		return;
	}
	struct intake *x = new_intake(d, m);
	if (m->too_large) {
		send_letter(x, LETTER_TOO_LARGE);
	} else if (m->redelivered && x->slot != NULL) {
		digest_of(DIGEST_SHA256, buf_str(&m->body), &digest);
		digest_to_text(&digest, x->digest);
		count_crash(x);
	} else {
		read_body(x);
	}
}
