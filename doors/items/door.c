/*
 * The row of the table of doors: settings, routes, and the steps of the door's
 * life.
 */
#include "doors/items/items_door.h"

#include "base/json.h"
#include "doors/items/config_load.h"
#include "doors/items/event_stream.h"
#include "doors/items/handlers.h"
#include "doors/items/meter.h"
#include "doors/items/routes.h"
#include "os/clock.h"
#include "script/items/config_file.h"
#include "script/items/task_service.h"

#define COUNT_MS 5000                /* between figures for the status line */

/* Their values without a configuration are those of ITEM_LIMITS. */
#define LIMIT(name, type, text, least, most, unit, help)                      \
	{ "items." name, type, text, least, most, unit, CONF_RESTART, help }
static const struct setting settings[] = {
	{ "items.config", CONF_STRING, "", 0, 4096, "file", CONF_RESTART,
	    "The configuration of tags and tasks: an ES module whose tasks run "
	    "here, or a .json file for remote workers alone.  It is read at "
	    "the start, at SIGHUP, and by POST /items-config/reload." },
	LIMIT("data_bytes_max", CONF_SIZE, "1MiB", 1024, 16 << 20, "bytes",
	    "Bytes of an item's data, or of a result's metadata."),
	LIMIT("tags_max", CONF_INT, "256", 1, 65536, "tags",
	    "Tags of an item."),
	LIMIT("aliases_max", CONF_INT, "1000", 1, 1000000, "aliases",
	    "Aliases of an item."),
	LIMIT("blobs_max", CONF_INT, "256", 1, 65536, "blobs",
	    "Blobs of an item."),
	LIMIT("blob_bytes_max", CONF_SIZE, "16MiB", 1024,
	    ROUTES_BLOB_BYTES_MAX, "bytes", "Bytes of a blob."),
	LIMIT("body_bytes_max", CONF_SIZE, "1MiB", 1024, 1 << 20, "bytes",
	    "Bytes of a request's body, or of a line of an import."),
	LIMIT("complete_bytes_max", CONF_SIZE, "32MiB", 1024,
	    ROUTES_COMPLETE_BYTES_MAX, "bytes",
	    "Bytes of the completions that a worker sends at once."),
	LIMIT("tag_names_max", CONF_INT, "10000", 1, 1000000, "names",
	    "Different names of tags."),
	LIMIT("tasks_max", CONF_INT, "1000", 1, 10000, "tasks",
	    "Tasks of a configuration."),
	LIMIT("migrations_max", CONF_INT, "1000", 1, 100000, "migrations",
	    "Migrations of a configuration."),
	LIMIT("event_readers_max", CONF_INT, "1000", 1, 10000, "clients",
	    "Clients that follow the events of items."),
	LIMIT("claims_max", CONF_INT, "1000", 1, 10000, "claims",
	    "Claims of workers that wait."),
	LIMIT("claim_bytes_max", CONF_SIZE, "16MiB", 1024, 1 << 30, "bytes",
	    "Data and metadata that a claim hands out; a claim ends with the "
	    "pair that reaches it."),
	LIMIT("pair_failures_max", CONF_INT, "100", 1, 10000, "failures",
	    "Failures that are kept of a task and an item."),
	LIMIT("failure_days", CONF_INT, "30", 1, 3650, "days",
	    "How long handled failures are kept."),
	LIMIT("event_days", CONF_INT, "7", 1, 365, "days",
	    "How long events are kept."),
	LIMIT("event_bytes_max", CONF_SIZE, "1GiB", 1 << 20, 1e12, "bytes",
	    "Events that are kept, together."),
	LIMIT("completions_max", CONF_INT, "1000", 1, 10000, "completions",
	    "Completions that share a commit."),
	LIMIT("mutations_max", CONF_INT, "10000", 1, 100000, "mutations",
	    "Mutations of a run."),
	LIMIT("writes_max", CONF_INT, "10000", 100, 1000000, "requests",
	    "Requests that wait to write."),
	LIMIT("reads_max", CONF_INT, "1000", 100, 100000, "requests",
	    "Requests that wait to read."),
};

static const struct web_route routes[ROUTES_N] = {
#define WEB_ROW(method_, path_, names, scope, more, handle_, help_, params,    \
    body, answers)                                                            \
	{ .method = method_, .path = path_, .handle = handle_, .help = help_, \
	    scope, more, .ids = true },
	ITEMS_ROUTES(WEB_ROW)
#undef WEB_ROW
};

/* -- Figures of the status line -- */

struct counting {
	struct items_read read;
	struct items_door *door;
	uint64_t pairs, leased;
};

static enum err
count_pairs(struct items_read *r, struct item_store *st, struct why *w)
{
	struct counting *c = CONTAINER(r, struct counting, read);
	yyjson_val *one, *key, *v;
	size_t i, max, k, n;

	enum err e = item_query_tasks(st, STR(""), clock_wall(), &r->out, w);
	if (e != OK)
		return e;
	yyjson_doc *doc = yyjson_read(r->out.p, r->out.n, 0);
	yyjson_val *tasks = yyjson_obj_get(yyjson_doc_get_root(doc), "tasks");
	yyjson_arr_foreach(tasks, i, max, one) {
		yyjson_val *counts = yyjson_obj_get(one, "counts");
		yyjson_obj_foreach(counts, k, n, key, v) {
			c->pairs += yyjson_get_uint(v);
			if (yyjson_equals_str(key, "leased"))
				c->leased += yyjson_get_uint(v);
		}
	}
	yyjson_doc_free(doc);
	return OK;
}

static void
counted(struct items_read *r)
{
	struct counting *c = CONTAINER(r, struct counting, read);
	struct items_door *d = c->door;

	if (r->result == OK) {
		d->pairs = c->pairs;
		d->leased = c->leased;
	}
	d->counting = false;
	if (!d->stopping)
		loop_timer_set(d->host->home, &d->count_timer, mono_add_ms(
		    loop_now(d->host->home), COUNT_MS));
	buf_free(&r->out);
	arena_free(&r->arena);
	mem_free(&c);
	drain_gate_leave(&d->asked);
}

static void
count_again(struct timer *t)
{
	struct items_door *d = CONTAINER(t, struct items_door, count_timer);

	if (d->counting || d->stopping)
		return;
	struct counting *c = mem_new(sizeof(*c));
	c->door = d;
	c->read.run = count_pairs;
	c->read.done = counted;
	c->read.why = WHY_INIT;
	d->counting = true;
	drain_gate_enter(&d->asked);
	items_read(d->items, &c->read);
}

/* -- Its life -- */

/* A module has functions to run. */
static bool
has_module(const struct conf *c)
{
	struct str path = conf_str(c, conf_id_of(&settings[0]));

	return conf_address(c, CONF_HTTP_LISTEN).host.n > 0 && path.n > 0 &&
	    config_file_is_module(path);
}

static enum err
open_door(const struct door_host *host, void **door, struct why *w)
{
	if (conf_address(host->conf, CONF_HTTP_LISTEN).host.n == 0)
		return OK;
	struct items_door *d = mem_new(sizeof(*d));
	struct items_options o = { .conf = host->conf, .home = host->home,
		.data_dir = host->data_dir };
	struct task_service_options so = { .conf = host->conf,
		.home = host->home, .data_dir = host->data_dir,
		.scripts = host->scripts };

	d->host = host;
	d->count_timer.fire = count_again;
	list_init(&d->streams);
	list_init(&d->event_reads);
	list_init(&d->updates);
	d->config_path = conf_str(host->conf, conf_id_of(&settings[0])).p;
	enum err e = task_service_open(&so, &d->service, w);
	if (e == OK)
		e = items_open(&o, &d->items, w);
	if (e != OK) {
		task_service_free(&d->service);
		mem_free(&d);
		return e;
	}
	d->limits = *items_limits(d->items);
	items_meter_register();
	*door = d;
	return OK;
}

/* Requests come from now on. */
static void
data_read(void *door, struct engine *e)
{
	(void)e;
	event_stream_start(door);
	config_load_start(door);
	count_again(&((struct items_door *)door)->count_timer);
}

static void
ready(void *door, struct engine *e)
{
	struct items_door *d = door;

	task_service_start(d->service, e, d->items);
}

static enum err
reload(void *door, struct why *w)
{
	(void)w;
	config_load_start(door);
	return OK;
}

static void
stop(void *door)
{
	struct items_door *d = door;

	d->stopping = true;
	loop_timer_stop(d->host->home, &d->count_timer);
	config_load_stop(d);
	task_service_stop(d->service);
	items_stop_claims(d->items);
	event_stream_stop(d);
}

static void
runs_ended(void *door)
{
	struct items_door *d = door;

	items_close(d->items, d->drained, d->drained_arg);
}

static void
all_answered(void *door)
{
	struct items_door *d = door;

	event_stream_end(d);
	task_service_drain(d->service, runs_ended, d);
}

static void
drain(void *door, void (*drained)(void *arg), void *arg)
{
	struct items_door *d = door;

	d->drained = drained;
	d->drained_arg = arg;
	drain_gate_close(&d->asked, all_answered, d);
}

static void
free_door(void **door)
{
	struct items_door *d = *door;

	*door = NULL;
	task_service_free(&d->service);
	items_free(&d->items);
	web_text_free(&d->openapi);
	buf_free(&d->document);
	mem_free(&d);
}

/* "; sandbox: seccomp, landlock, user", once a script has run. */
static void
put_layers(const struct items_door *d, struct buf *out)
{
	FREED(buf_free) struct buf layers = BUF_INIT;

	if (d->host->scripts == NULL)
		return;
	struct script_host_stats s = script_host_stats(d->host->scripts);
	if (!s.has_layers)
		return;
	script_layers_text(s.layers, &layers);
	buf_printf(out, "; sandbox: %s", buf_text(&layers));
}

static void
put_figures(const struct items_door *d, struct door_status *out)
{
	FREED(buf_free) struct buf note = BUF_INIT;

	buf_printf(&note, "pairs: %llu, leased: %llu, readers of events: %u",
	    (unsigned long long)d->pairs, (unsigned long long)d->leased,
	    d->readers);
	put_layers(d, &note);
	snprintf(out->note, sizeof(out->note), "%s", buf_text(&note));
}

static void
put_status(void *door, struct door_status *out)
{
	const struct items_door *d = door;

	if (d == NULL)
		return;
	if (d->config_fault[0] != '\0')
		snprintf(out->note, sizeof(out->note), "configuration refused: "
		    "%.130s", d->config_fault);
	else
		put_figures(d, out);
}

const struct door door_items = {
	.name = "items",
	.help = "The door for items and the tasks that keep them, at "
	    "http.listen.  Remote workers need a token of the scope "
	    "worker:write, which lets them claim and complete runs, and "
	    "nothing else.",
	.may_read = "read items, tasks, failures and events",
	.may_write = "change items, and pause or expire tasks",
	.settings = settings, .settings_n = ARRAY_LEN(settings),
	.routes = routes, .routes_n = ROUTES_N,
	.scripts = has_module,
	.open = open_door, .data_read = data_read, .ready = ready,
	.reload = reload,
	.status = put_status, .stop = stop, .drain = drain, .free = free_door,
};
