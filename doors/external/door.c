/*
 * The row of the table of doors: routes, and the steps of the door's life.
 */
#include "base/json_writer.h"
#include "doors/external/grants.h"
#include "doors/external/handlers.h"
#include "doors/external/login_request.h"
#include "doors/external/meter.h"
#include "doors/external/provider.h"
#include "doors/external/reply.h"
#include "doors/external/task_order.h"
#include "doors/external/task_run.h"
#include "engine/control/control.h"
#include "engine/harvest/credential.h"
#include "os/clock.h"
#include "os/key_file.h"
#include "os/log.h"

#define FILES_LOOK_MS 10000
/* Calls that wait, to all back ends: two for each of 100,000 open tasks. */
#define CALLS_WAITING_MAX 200000u

/* ---- Routes ------------------------------------------------------------- */

/* A proxy before the port sends the host of external.public_url. */
static struct str
public_hosts(struct web_request *r)
{
	const struct external_door *d = web_arg(r);

	return str_of(d->set.public_hosts);
}

#define ROW(method_, path_, access_, handle_, help_) { .method = method_,    \
	.path = path_, .handle = handle_, .help = help_,                      \
	.door = TOKEN_DOOR_EXTERNAL, .access = access_, .ids = true,          \
	.body_bytes_max = TASK_BODY_BYTES_MAX, .hosts = public_hosts,         \
	.refuse = reply_refuse }
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
/* Calls of front ends, which have launch tickets instead of tokens. */
#define OAUTH_ROW(method_, path_, handle_, origins_, refuse_, help_) {       \
	.method = method_, .path = path_, .handle = handle_, .help = help_,   \
	.open = WEB_TO_ALL, .door = TOKEN_DOOR_EXTERNAL, .ids = true,         \
	.origins = origins_, .hosts = public_hosts, .refuse = refuse_ }
#define TOKEN_ROW(method_, mount, handle_, help_)                            \
	OAUTH_ROW(method_, mount "/oauth/token", handle_,                     \
	    external_token_origins, reply_refuse, help_)
#define OAUTH_ROWS(mount)                                                    \
	OAUTH_ROW("GET", mount "/oauth/login", external_get_login, NULL,      \
	    login_refuse_page, "sign a user of a back end in, in a popup"),   \
	OAUTH_ROW("GET", mount "/oauth/callback", external_get_callback,      \
	    NULL, login_refuse_page, "where the provider sends the popup"),   \
	TOKEN_ROW("GET", mount, external_get_token, "a user's token"),        \
	TOKEN_ROW("DELETE", mount, external_delete_token,                     \
	    "end a user's token"),                                            \
	TOKEN_ROW("OPTIONS", mount, external_options_token,                   \
	    "what pages of the front end may do")
#define TASK "/external/*/task/*"
#define OTHER(method_) { .method = method_, .path = "/external/",            \
	.match = WEB_PREFIX, .handle = external_not_found,                    \
	.help = "404, as back ends read it", .door = TOKEN_DOOR_EXTERNAL,     \
	.ids = true, .hosts = public_hosts, .refuse = reply_refuse }
static const struct web_route routes[] = {
	TASK_ROWS("/external/*"),
	TASK_ROWS(""),
	OAUTH_ROWS("/external/*"),
	OAUTH_ROWS(""),
	ROW("GET", "/external/*/object", TOKEN_READ, external_get_object,
	    "the external object of a connector, without headers"),
	ROW("GET", "/external/*/form", TOKEN_READ, external_get_form,
	    "a connector's parameters as JSON Schema"),
	ROW("POST", "/external/*/check", TOKEN_WRITE, external_post_check,
	    "whether parameters and credential are right"),
	ROW("POST", "/external/*/choices", TOKEN_WRITE, external_post_choices,
	    "the options of a parameter that the API has"),
	ROW("POST", "/external/*/run", TOKEN_WRITE, external_post_run,
	    "run a connector for an operator: its documents, as NDJSON"),
	ROW("GET", "/connectors", TOKEN_READ, external_get_connectors,
	    "the connectors"),
	ROW("GET", "/external", TOKEN_READ, external_get_tasks,
	    "tasks, the newest first: a back end's own; an operator's: all"),
	ROW("GET", TASK "/rejected", TOKEN_READ, external_get_rejected,
	    "a task's rejected documents, and what is wrong with them"),
	ROW("POST", TASK "/cancel", TOKEN_WRITE, external_post_cancel,
	    "cancel a task; for operators, as what follows"),
	ROW("POST", TASK "/retry", TOKEN_WRITE, external_post_retry,
	    "begin a new attempt of a closed task"),
	ROW("POST", TASK "/redeliver", TOKEN_WRITE, external_post_redeliver,
	    "send what is left of an undelivered task again"),
	ROW("POST", TASK "/reset-cursor", TOKEN_WRITE,
	    external_post_reset_cursor, "let the next attempt read everything"),
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

static enum err
read_clients(struct external_door *d, struct why *w)
{
	struct clients *set;
	struct why first = WHY_INIT;

	if (d->set.clients_file[0] == '\0') {
		d->clients = clients_none();
		return OK;
	}
	d->clients_stamp = file_stamp_of(d->set.clients_file);
	if (clients_read(d->set.clients_file, &set, &first) != OK)
		return why(w, ERR_CONFIG, "external.clients_file: %s: %s",
		    d->set.clients_file, first.text);
	clients_free(&d->clients);
	d->clients = set;
	return OK;
}

static void
look_at_backends(struct external_door *d)
{
	struct file_stamp now = file_stamp_of(d->set.backends_file);
	struct why w = WHY_INIT;

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

static void
look_at_clients(struct external_door *d)
{
	struct file_stamp now = file_stamp_of(d->set.clients_file);
	struct why w = WHY_INIT;

	if (file_stamp_eq(&now, &d->clients_stamp))
		return;
	if (read_clients(d, &w) != OK) {
		log_error("external.clients", "why=%s", log_why(&w));
		snprintf(d->clients_fault, sizeof(d->clients_fault), "%.250s",
		    w.text);
		return;
	}
	d->clients_fault[0] = '\0';
	log_info("external.clients", "file=%s clients=%zu",
	    d->set.clients_file, clients_count(d->clients));
}

static void
look_at_files(struct timer *timer)
{
	struct external_door *d = CONTAINER(timer, struct external_door,
	    files_timer);

	loop_timer_set(d->host->home, timer, mono_add_ms(clock_mono(),
	    FILES_LOOK_MS));
	if (d->set.backends_file[0] != '\0')
		look_at_backends(d);
	if (d->set.clients_file[0] != '\0')
		look_at_clients(d);
}

/* ---- The key ------------------------------------------------------------ */

/* A data directory gets a key of its own with its first connector that wants
 * one: nothing else may need it, and no backup has it. */
static bool
wants_key(const struct external_door *d)
{
	static const struct file_stamp absent;
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct file_stamp own = file_stamp_of(arena_printf(&a, "%s/%s",
	    d->host->data_dir, KEY_FILE_NAME).p);

	return connectors_have_oauth(d->connectors) || conf_str(d->host->conf,
	    CONF_SECRETS_KEY_FILE).n > 0 || !file_stamp_eq(&own, &absent);
}

/* Daemons that share a store open each other's grants. */
static void
read_key(struct external_door *d)
{
	struct why w = WHY_INIT;

	d->key_fault[0] = '\0';
	if (!wants_key(d))
		snprintf(d->key_fault, sizeof(d->key_fault), "there is no key "
		    "of secrets.key_file: users sign in for no connector");
	else if (store_is_shared(store_async_store(d->store)) && conf_str(
	    d->host->conf, CONF_SECRETS_KEY_FILE).n == 0)
		snprintf(d->key_fault, sizeof(d->key_fault), "secrets.key_file"
		    " is not set, and daemons that share a store need the "
		    "same key");
	else if (credential_key(d->host->conf, d->host->data_dir, &d->key,
	    &w) != OK)
		snprintf(d->key_fault, sizeof(d->key_fault), "the key of "
		    "secrets.key_file cannot be read: %.150s", w.text);
}

/* Connectors that cannot be used say so at once, not to the first user. */
static void
say_refusals(const struct external_door *d)
{
	for (size_t i = 0; i < connectors_count(d->connectors); i++) {
		struct held_connector *c = connectors_nth(d->connectors, i);
		const char *text = external_connector_oauth(c->connector) ==
		    NULL ? NULL : provider_refusal(d, c);
		if (text != NULL)
			log_warn("external.oauth", "connector=%.*s why=%s",
			    STR_FMT(c->name), log_quoted(str_of(text)));
	}
}

/* ---- Its life ----------------------------------------------------------- */

static void
free_door(void **door)
{
	struct external_door *d = *door;

	*door = NULL;
	caller_free(&d->caller);
	grants_free(&d->grants);
	clients_free(&d->clients);
	explicit_bzero(&d->key, sizeof(d->key));
	backends_release(&d->backends);
	versions_free(&d->versions);
	connectors_free(&d->connectors);
	login_limit_free(&d->calls_by_address);
	login_limit_free(&d->calls_by_user);
	map_free(&d->tasks_by_id);
	mem_free(&d);
}

static enum err
open_parts(struct external_door *d, struct why *w)
{
	enum err e = external_settings_read(d->host->conf, &d->set, w);
	struct str ca = conf_str(d->host->conf, CONF_FETCH_CA_FILE);
	struct caller_options o = { .home = d->host->home,
		.call_ms = d->set.call_ms,
		.calls_waiting_max = CALLS_WAITING_MAX,
		.provider_ca = ca.n > 0 ? ca.p : NULL };

	if (e == OK)
		e = connectors_read(d->set.connectors, d->host->conf,
		    d->host->scripts != NULL, &d->connectors, w);
	if (e == OK)
		e = read_backends(d, w);
	if (e == OK)
		e = read_clients(d, w);
	return e == OK ? caller_new(&o, &d->caller, w) : e;
}

static bool
has_module(const struct conf *c)
{
	return conf_address(c, CONF_HTTP_LISTEN).host.n > 0 &&
	    connectors_have_module(conf_str(c, conf_id_of(
	    &external_settings_rows[EXTERNAL_CONNECTORS])).p);
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
	list_init(&d->looks);
	list_init(&d->under_check);
	list_init(&d->under_choice);
	list_init(&d->provider_calls);
	list_init(&d->revocations);
	d->files_timer.fire = look_at_files;
	list_init(&d->runs);
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

	d->engine = e;
	d->store = engine_store_async(e);
	d->documents = d->host->documents;
	d->web = d->host->web_documents;
	d->modules = d->host->module_runs;
	read_key(d);
	say_refusals(d);
}

static void
ready(void *door, struct engine *e)
{
	struct external_door *d = door;

	(void)e;
	d->is_ready = true;
	if (d->set.oauth_compat.n > 0)
		log_warn("external.oauth_compat", "connectors=%s why=\"their "
		    "OAuth calls need no ticket: whoever knows a user's uuid "
		    "and subdomain can end the user's token\"",
		    log_quoted(d->set.oauth_compat));
	if (d->set.backends_file[0] != '\0' || d->set.clients_file[0] != '\0')
		loop_timer_set(d->host->home, &d->files_timer, mono_add_ms(
		    clock_mono(), FILES_LOOK_MS));
	tend_begin(d);
	grants_begin(d);
}

/* Tasks go on with the connectors that they have. */
static enum err
reload(void *door, struct why *w)
{
	struct external_door *d = door;
	struct connectors *read;

	enum err e = connectors_read(d->set.connectors, d->host->conf,
	    d->host->scripts != NULL, &read, w);
	if (e != OK)
		return e;
	connectors_free(&d->connectors);
	d->connectors = read;
	if (d->key_fault[0] != '\0')
		read_key(d);
	say_refusals(d);
	log_info("external.connectors", "directory=%s connectors=%zu",
	    d->set.connectors, connectors_count(read));
	return OK;
}

static void
stop(void *door)
{
	struct external_door *d = door;

	d->stopping = true;
	loop_timer_stop(d->host->home, &d->files_timer);
	tend_stop(d);
	grants_stop(d);
	provider_stop(d);
	check_stop_all(d);
	hand_run_stop_all(d);
	choices_stop_all(d);
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
	else if (d->clients_fault[0] != '\0')
		snprintf(out->note, sizeof(out->note), "the OAuth clients are "
		    "those of before: %s", d->clients_fault);
	else
		snprintf(out->note, sizeof(out->note), "tasks: %zu, "
		    "connectors: %zu, in the spool: %llu KiB", d->tasks_n,
		    connectors_count(d->connectors),
		    (unsigned long long)d->spool_bytes / 1024);
}

/* {"backends":[...]}: calls to each back end, and the last that failed. */
static void
put_details(void *door, struct buf *json)
{
	const struct external_door *d = door;

	json_array(json, "backends");
	for (size_t i = 0; i < backends_n(d->backends); i++) {
		const struct backend *b = backends_nth(d->backends, i);
		struct caller_look look;
		(void)caller_look_at(d->caller, b->name, &look);
		json_object(json, NULL);
		json_str(json, "name", b->name);
		json_str(json, "prefix", b->prefix);
		json_u64(json, "under_way", look.under_way);
		json_u64(json, "waiting", look.waiting);
		json_u64(json, "calls", look.calls);
		json_u64(json, "failures", look.failures);
		json_str(json, "last_error", str_of(look.failure));
		json_time(json, "last_error_at", look.failed_at);
		buf_put_char(json, '}');
	}
	buf_put_char(json, ']');
	json_str(json, "fault", str_of(d->fault));
}

const struct door door_external = {
	.name = "external",
	.help = "The door for back ends that start crawls for their users, at "
	    "/external/CONNECTOR of http.listen.  A back end starts a task, "
	    "and the connector's documents and statuses are sent to it.",
	.may_read = "read connectors and the back end's tasks; with "
	    "console:read, those of all back ends",
	.may_write = "start, check and close the back end's tasks; with "
	    "console:read, run connectors and steer all tasks",
	.settings = external_settings_rows, .settings_n = EXTERNAL_SETTINGS,
	.routes = routes, .routes_n = ARRAY_LEN(routes),
	.scripts = has_module,
	.open = open_door, .data_read = data_read, .ready = ready,
	.reload = reload, .status = put_status, .details = put_details,
	.stop = stop, .drain = drain,
	.free = free_door,
};
