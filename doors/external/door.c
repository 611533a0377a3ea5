/*
 * The row of the table of doors: routes, and the steps of the door's life.
 */
#include "base/json_writer.h"
#include "doors/external/handlers.h"
#include "doors/external/meter.h"
#include "doors/external/reply.h"
#include "doors/external/task_order.h"
#include "doors/external/task_run.h"
#include "engine/control/control.h"
#include "os/clock.h"
#include "os/log.h"

#define BACKENDS_LOOK_MS 10000
/* Calls that wait, to all back ends: two for each of 100,000 open tasks. */
#define CALLS_WAITING_MAX 200000u

/* ---- Routes ------------------------------------------------------------- */

#define ROW(method_, path_, access_, handle_, help_) { .method = method_,    \
	.path = path_, .handle = handle_, .help = help_,                      \
	.door = TOKEN_DOOR_EXTERNAL, .access = access_, .ids = true,          \
	.body_bytes_max = TASK_BODY_BYTES_MAX, .refuse = reply_refuse }
#define TASK_ROWS(mount)                                                     \
	ROW("POST", mount "/task", TOKEN_WRITE, external_post_task,           \
	    "start a task for a back end"),                                   \
	ROW("PATCH", mount "/task/*/status", TOKEN_WRITE,                     \
	    external_patch_status, "tell a task's status: 200 or more "       \
	    "closes it"),                                                     \
	ROW("PATCH", mount "/task/*", TOKEN_WRITE, external_patch_status,     \
	    "the same"),                                                      \
	ROW("GET", mount "/task/*", TOKEN_READ, external_get_task,            \
	    "a task's status and counts"),                                    \
	ROW("GET", mount "/task/*/log", TOKEN_READ, external_get_log,         \
	    "the newest lines of a task's log")
#define OTHER(method_) { .method = method_, .path = "/external/",            \
	.match = WEB_PREFIX, .handle = external_not_found,                    \
	.help = "404, as back ends read it", .door = TOKEN_DOOR_EXTERNAL,     \
	.ids = true, .refuse = reply_refuse }
static const struct web_route routes[] = {
	TASK_ROWS("/external/*"),
	TASK_ROWS(""),
	ROW("GET", "/external/*/object", TOKEN_READ, external_get_object,
	    "the external object of a connector, without headers"),
	ROW("GET", "/external/*/form", TOKEN_READ, external_get_form,
	    "a connector's parameters as JSON Schema"),
	ROW("POST", "/external/*/check", TOKEN_WRITE, external_post_check,
	    "whether parameters and credential are right"),
	OTHER("GET"), OTHER("POST"), OTHER("PUT"), OTHER("PATCH"),
	OTHER("DELETE"),
};

/* ---- Back ends ---------------------------------------------------------- */

static enum err
read_backends(struct external_door *d, struct why *w)
{
	struct backends *set;
	struct why first = WHY_INIT;

	if (d->set.backends_file[0] == '\0') {
		d->backends = backends_local();
		return OK;
	}
	d->backends_stamp = file_stamp_of(d->set.backends_file);
	if (backends_read(d->set.backends_file, &set, &first) != OK)
		return why(w, ERR_CONFIG, "external.backends_file: %s: %s",
		    d->set.backends_file, first.text);
	backends_release(&d->backends);
	d->backends = set;
	return OK;
}

static void
look_at_backends(struct timer *timer)
{
	struct external_door *d = CONTAINER(timer, struct external_door,
	    backends_timer);
	struct file_stamp now = file_stamp_of(d->set.backends_file);
	struct why w = WHY_INIT;

	loop_timer_set(d->host->home, timer, mono_add_ms(clock_mono(),
	    BACKENDS_LOOK_MS));
	if (file_stamp_eq(&now, &d->backends_stamp))
		return;
	if (read_backends(d, &w) != OK) {
		log_error("external.backends", "why=%s", log_why(&w));
		snprintf(d->fault, sizeof(d->fault), "%.250s", w.text);
		return;
	}
	d->fault[0] = '\0';
	log_info("external.backends", "file=%s back_ends=%zu",
	    d->set.backends_file, backends_n(d->backends));
	LIST_EACH(t, &d->tasks, struct task_run, node)
		task_run_use_backends(t, d->backends);
}

/* ---- Its life ----------------------------------------------------------- */

static void
free_door(void **door)
{
	struct external_door *d = *door;

	*door = NULL;
	caller_free(&d->caller);
	backends_release(&d->backends);
	versions_free(&d->versions);
	connectors_free(&d->connectors);
	mem_free(&d);
}

static enum err
open_parts(struct external_door *d, struct why *w)
{
	enum err e = external_settings_read(d->host->conf, &d->set, w);
	struct caller_options o = { .home = d->host->home,
		.call_ms = d->set.call_ms,
		.calls_waiting_max = CALLS_WAITING_MAX };

	if (e == OK)
		e = connectors_read(d->set.connectors, &d->connectors, w);
	if (e == OK)
		e = read_backends(d, w);
	return e == OK ? caller_new(&o, &d->caller, w) : e;
}

static enum err
open_door(const struct door_host *host, void **door, struct why *w)
{
	if (conf_address(host->conf, CONF_HTTP_LISTEN).host.n == 0)
		return OK;
	struct external_door *d = mem_new(sizeof(*d));
	d->host = host;
	list_init(&d->tasks);
	list_init(&d->waiting);
	list_init(&d->under_check);
	d->backends_timer.fire = look_at_backends;
	enum err e = open_parts(d, w);
	*door = d;
	if (e != OK) {
		free_door(door);
		return e;
	}
	external_meter_register();
	return OK;
}

static void
data_read(void *door, struct engine *e)
{
	struct external_door *d = door;

	d->store = engine_store_async(e);
	d->documents = d->host->documents;
	d->web = d->host->web_documents;
}

static void
ready(void *door, struct engine *e)
{
	struct external_door *d = door;

	(void)e;
	d->is_ready = true;
	if (d->set.backends_file[0] != '\0')
		loop_timer_set(d->host->home, &d->backends_timer, mono_add_ms(
		    clock_mono(), BACKENDS_LOOK_MS));
	tend_begin(d);
}

/* Tasks go on with the connectors that they have. */
static enum err
reload(void *door, struct why *w)
{
	struct external_door *d = door;
	struct connectors *read;

	enum err e = connectors_read(d->set.connectors, &read, w);
	if (e != OK)
		return e;
	connectors_free(&d->connectors);
	d->connectors = read;
	log_info("external.connectors", "directory=%s connectors=%zu",
	    d->set.connectors, connectors_count(read));
	return OK;
}

static void
stop(void *door)
{
	struct external_door *d = door;

	d->stopping = true;
	loop_timer_stop(d->host->home, &d->backends_timer);
	tend_stop(d);
	check_stop_all(d);
}

static void
calls_stopped(void *door)
{
	struct external_door *d = door;

	d->drained(d->drained_arg);
}

static void
all_left(void *door)
{
	struct external_door *d = door;

	caller_stop(d->caller, calls_stopped, d);
}

/* The next process goes on from the store. */
static void
drain(void *door, void (*drained)(void *arg), void *arg)
{
	struct external_door *d = door;

	d->drained = drained;
	d->drained_arg = arg;
	while (!list_empty(&d->tasks))
		task_run_leave(CONTAINER(d->tasks.next, struct task_run,
		    node));
	drain_gate_close(&d->asked, all_left, d);
}

/* ---- Its figures -------------------------------------------------------- */

static void
put_status(void *door, struct door_status *out)
{
	const struct external_door *d = door;

	if (d == NULL)
		return;
	out->counted = true;
	out->requests = d->accepted;
	if (d->fault[0] != '\0')
		snprintf(out->note, sizeof(out->note), "the back ends are "
		    "those of before: %s", d->fault);
	else
		snprintf(out->note, sizeof(out->note), "tasks: %zu, "
		    "connectors: %zu, in the spool: %llu KiB", d->tasks_n,
		    connectors_count(d->connectors),
		    (unsigned long long)d->spool_bytes / 1024);
}

const struct door door_external = {
	.name = "external",
	.help = "The door for back ends that start crawls for their users, at "
	    "/external/CONNECTOR of http.listen.  A back end starts a task, "
	    "and the connector's documents and statuses are sent to it.",
	.may_read = "read connectors and the back end's tasks",
	.may_write = "start, check and close the back end's tasks",
	.settings = external_settings_rows, .settings_n = EXTERNAL_SETTINGS,
	.routes = routes, .routes_n = ARRAY_LEN(routes),
	.open = open_door, .data_read = data_read, .ready = ready,
	.reload = reload, .status = put_status, .stop = stop, .drain = drain,
	.free = free_door,
};
