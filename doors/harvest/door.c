/*
 * The row of the table of doors, and the steps of the door's life:
 *
 *     open: settings ─► data_read: harvests of an earlier process are taken up
 *     ─► ready: they go on; broker ─► stop: nothing is consumed
 *     ─► drain: harvests pause, say so ─► messages leave ─► the broker closes
 */
#include "base/json_writer.h"
#include "doors/harvest/api.h"
#include "doors/harvest/claim.h"
#include "doors/harvest/export_follower.h"
#include "doors/harvest/health.h"
#include "doors/harvest/meter.h"
#include "doors/harvest/settings.h"
#include "doors/harvest/sweep.h"
#include "engine/control/control.h"
#include "os/clock.h"
#include "os/log.h"

/* For messages of the outbox, when the program ends. */
#define CLOSE_WAIT_MS 5000
/* Then for dead letters. */
#define LETTER_WAIT_MS 1000

/* ---- What engine/harvest asks, on its thread ------------------------- */

static enum err
admit(void *arg, struct str path, struct why *w)
{
	const struct harvest_door *d = arg;

	return roots_find_local(&d->roots, path) != NULL ? OK : why_field(w,
	    ERR_INPUT, "path", "it lies below none of harvest.roots");
}

static struct shared_root
root_of(void *arg, struct str path)
{
	const struct harvest_door *d = arg;
	const struct root *root = roots_find_local(&d->roots, path);

	return (struct shared_root){ root == NULL ? NULL : root->local.p,
		d->umask };
}

static enum err
claim(void *arg, struct str id, struct str path, struct why *w)
{
	const struct harvest_door *d = arg;
	const struct shared_root root = root_of(arg, path);
	struct shared_dir dir;

	enum err e = shared_dir_open(&root, path.p, SHARED_DIR_MAKE, &dir, w);
	if (e == OK)
		e = claim_take(&dir, id, d->instance, w);
	shared_dir_close(&dir);
	return e;
}

/* ---- The broker ------------------------------------------------------ */

static void
consume(struct harvest_door *d, size_t queue)
{
	if (d->stopping || queue > d->queues_n)
		return;
	if (queue == d->queues_n || intake_has_slot(&d->queues[queue]))
		broker_consume(d->broker, queue);
}

static void
note_fault(struct harvest_door *d, const struct broker_event *ev,
    const char *event)
{
	snprintf(d->fault, sizeof(d->fault), "%.150s", ev->why.text);
	log_warn(event, "why=%s retry_ms=%lld", log_why(&ev->why),
	    (long long)ev->retry_ms);
}

static void
on_event(const struct broker_event *ev, void *arg)
{
	struct harvest_door *d = arg;

	switch (ev->kind) {
	case BROKER_CONNECTED:
		d->connected[ev->side] = true;
		if (d->connected[BROKER_CONSUMES] &&
		    d->connected[BROKER_PUBLISHES])
			d->fault[0] = '\0';
		log_info("harvest.connected", "side=%s", ev->side ==
		    BROKER_CONSUMES ? "consuming" : "publishing");
		break;
	case BROKER_DISCONNECTED:
		d->connected[ev->side] = false;
		d->disconnects++;
		harvest_meter_disconnected();
		note_fault(d, ev, "harvest.disconnected");
		break;
	case BROKER_QUEUE_READY:
		if (ev->is_quorum)
			log_warn("harvest.quorum", "queue=%s is no classic "
			    "queue; SFM's own services refuse it", log_quoted(
			    d->broker_queues[ev->queue].name));
		break;
	case BROKER_QUEUE_FAILED:
		note_fault(d, ev, "harvest.queue_failed");
		break;
	case BROKER_BLOCKED:
		note_fault(d, ev, "harvest.blocked");
		break;
	case BROKER_UNBLOCKED:
		d->fault[0] = '\0';
		break;
	}
}

/* ---- Its life -------------------------------------------------------- */

static enum err
open_door(const struct door_host *host, void **door, struct why *w)
{
	struct harvest_door *d = mem_new(sizeof(*d));

	d->host = host;
	d->has_broker = settings_want_broker(host->conf);
	list_init(&d->follows);
	list_init(&d->intakes);
	list_init(&d->lanes);
	list_init(&d->exports);
	d->pace_timer.fire = follower_pace;
	d->beat_timer.fire = follower_beat;
	enum err e = settings_read(d, w);
	if (e == OK)
		e = api_read(d, w);
	if (e == OK)
		e = api_open(d, w);
	if (e != OK) {
		arena_free(&d->arena);
		mem_free(&d);
		return e;
	}
	if (d->has_broker)
		harvest_meter_register();
	*door = d;
	return OK;
}

static void
on_changed(struct harvest_watch *w, struct str id)
{
	follower_changed(CONTAINER(w, struct harvest_door, watch), id);
}

static void
on_resumed(struct harvest_watch *w, struct str id)
{
	follower_resumed(CONTAINER(w, struct harvest_door, watch), id);
}

static void
on_ended(struct harvest_watch *w, const struct harvest_view *v)
{
	follower_ended(CONTAINER(w, struct harvest_door, watch), v);
}

/* Those whose last status was not put yet; they may be over. */
static void
read_orders(struct harvest_door *d)
{
	struct store_watch pause = { .look = NULL };
	struct why w = WHY_INIT;

	/* In this turn no job of the store runs, and it is ours. */
	store_async_watch(d->store, &pause);
	store_async_unwatch(d->store, &pause);
	if (store_order_open(store_async_store(d->store), &d->arena,
	    &d->unfinished, &d->unfinished_n, &w) != OK)
		log_error("harvest.store", "why=%s", log_why(&w));
}

static void
data_read(void *door, struct engine *e)
{
	struct harvest_door *d = door;
	struct harvest_service *s = d->host->harvests;
	struct harvest_broker b = { .admit = admit, .claim = claim,
		.arg = d };

	if (s == NULL) {
		snprintf(d->fault, sizeof(d->fault), "no harvests: the log "
		    "says why");
		return;
	}
	harvest_service_use_broker(s, &b);
	d->watch.changed = on_changed;
	d->watch.resumed = on_resumed;
	d->watch.ended = on_ended;
	harvest_service_watch(s, &d->watch);
	d->harvests = harvest_service_list(s);
	d->engine = e;
	d->store = engine_store_async(e);
	read_orders(d);
}

/* Files are looked up, and exports know harvest.roots, without a broker. */
static void
open_data(void *door, struct engine *e)
{
	struct harvest_door *d = door;
	const struct harvest_limits limits = { .tries_max = d->tries_max,
		.staged_bytes_max = d->staged_bytes_max,
		.keeps_urls = d->has_broker && d->web_messages,
		.root_of = root_of, .arg = d };

	d->store = engine_store_async(e);
	export_follower_open(d);
	if (d->host->harvests != NULL)
		harvest_service_limit(d->host->harvests, &limits);
	if (d->has_broker)
		data_read(d, e);
}

static void
go_on(struct harvest_door *d, struct str id)
{
	struct served *slot = NULL;
	struct harvest_view v;
	bool is_in_memory = harvest_look(d->harvests, id, &v);

	if (is_in_memory)
		slot = intake_slot_of(d, v.type);
	if (slot != NULL)
		intake_use_slot(d, slot);
	/* The service has it go on. */
	follower_add(d, id, slot);
}

static void
all_sent(void *arg)
{
	struct harvest_door *d = arg;

	d->drained(d->drained_arg);
}

static void
broker_closed(void *arg)
{
	struct harvest_door *d = arg;

	d->broker = NULL;
	drain_gate_close(&d->sending, all_sent, d);
}

static void
ready(void *door, struct engine *e)
{
	struct harvest_door *d = door;
	struct why w = WHY_INIT;

	(void)e;
	if (d->harvests == NULL)
		return;
	/* Before a job of this process puts messages: each counts once. */
	outbox_sender_load(d);
	for (size_t i = 0; i < d->unfinished_n; i++)
		go_on(d, d->unfinished[i]);
	d->broker_options.arg = d;
	d->broker_options.on_event = on_event;
	d->broker_options.on_delivery = intake_take;
	d->broker_options.on_closed = broker_closed;
	if (broker_open(&d->broker_options, &d->broker, &w) != OK) {
		log_error("harvest.closed", "why=%s", log_why(&w));
		return;
	}
	for (size_t i = 0; i <= d->queues_n; i++)
		consume(d, i);
	export_follower_load(d);
	follower_beat(&d->beat_timer);
	health_begin(d);
	sweep_begin(d);
}

static void
stop(void *door)
{
	struct harvest_door *d = door;

	d->stopping = true;
	if (d->broker == NULL)
		return;
	for (size_t i = 0; i <= d->queues_n; i++)
		broker_cancel(d->broker, i);
}

void
harvest_door_close(struct harvest_door *d)
{
	if (d->draining)
		return;
	d->draining = true;
	loop_timer_stop(d->host->home, &d->close_timer);
	broker_close(d->broker, LETTER_WAIT_MS);
}

static void
close_time_over(struct timer *t)
{
	harvest_door_close(CONTAINER(t, struct harvest_door, close_timer));
}

/* No harvest is under way: what they said has a while to leave. */
static void
all_paused(void *arg)
{
	struct harvest_door *d = arg;

	loop_timer_stop(d->host->home, &d->pace_timer);
	loop_timer_stop(d->host->home, &d->beat_timer);
	if (d->broker == NULL) {
		d->draining = true;
		drain_gate_close(&d->sending, all_sent, d);
		return;
	}
	d->close_timer.fire = close_time_over;
	loop_timer_set(d->host->home, &d->close_timer, mono_add_ms(
	    clock_mono(), CLOSE_WAIT_MS));
	outbox_sender_finish(d);
}

static void
drain(void *door, void (*drained)(void *arg), void *arg)
{
	struct harvest_door *d = door;

	d->stopping = true;
	d->drained = drained;
	d->drained_arg = arg;
	health_end(d);
	sweep_end(d);
	intake_give_back(d);
	export_follower_stop(d);
	api_stop(d);
	follower_pause_all(d);
	drain_gate_close(&d->work, all_paused, d);
}

static void
free_door(void **door)
{
	struct harvest_door *d = *door;

	*door = NULL;
	follower_free_all(d);
	export_follower_free_all(d);
	web_close(&d->api);
	outbox_sender_free_all(d);
	sweep_free(d);
	sfm_api_free(&d->sfm);
	if (d->harvests != NULL)
		harvest_service_unwatch(&d->watch);
	arena_free(&d->arena);
	mem_free(&d);
}

/* Of harvests whose files wait for their directories, or that wait to begin:
 * how many, and why the first one does. */
static unsigned
count_waiting(const struct harvest_door *d, const char **why)
{
	struct harvest_view v;
	unsigned n = 0;

	*why = "";
	for (size_t at = 0; d->harvests != NULL && harvest_next_view(
	    d->harvests, &at, &v);)
		if (v.trouble[0] != '\0') {
			*why = n++ == 0 ? v.trouble : *why;
		}
	return n;
}

static void
put_status(void *door, struct door_status *out)
{
	const struct harvest_door *d = door;
	const char *why;

	if (d == NULL)
		return;
	if (!d->has_broker) {
		out->address = d->api == NULL ? "" : d->api_address;
		out->state = d->api == NULL ? "closed" : d->stopping ?
		    "draining" : "open";
		out->counted = false;
		return;
	}
	bool is_up = d->connected[BROKER_CONSUMES] &&
	    d->connected[BROKER_PUBLISHES];
	out->address = d->broker_options.url;
	out->state = d->stopping ? "draining" : is_up ? "open" : "closed";
	out->counted = true;
	out->requests = d->starts + d->stops;
	health_put(d, out->note, sizeof(out->note));
	size_t used = strlen(out->note);
	unsigned waiting = count_waiting(d, &why);
	if (waiting > 0)
		snprintf(out->note + used, sizeof(out->note) - used,
		    "; %u wait for their directory: %.100s", waiting, why);
}

static void
put_details(void *door, struct buf *json)
{
	const struct harvest_door *d = door;
	const char *why;

	if (!d->has_broker)
		return;
	health_put_details(d, json);
	json_object(json, "held");
	json_u64(json, "harvests", count_waiting(d, &why));
	json_str(json, "why", str_of(why));
	buf_put_char(json, '}');
}

const struct door door_harvest = {
	.name = "harvest",
	.help = "The door for Social Feed Manager, whose user interface orders "
	    "harvests through a RabbitMQ broker, at harvest.url, and whose "
	    "exporters look WARC files up at harvest.api_listen or port 8001.",
	.may_read = "look WARC files of harvests up",
	.routes = api_routes, .routes_n = API_ROUTES,
	.settings = settings_rows, .settings_n = SETTINGS_N,
	.open = open_door, .data_read = open_data, .ready = ready,
	.status = put_status, .details = put_details,
	.stop = stop, .drain = drain, .free = free_door,
};
