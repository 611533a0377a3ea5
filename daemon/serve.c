/*
 * argiope serve -- the engine as a daemon, with its ports.
 *
 *     lock the data -> ports listen -> home's loop ────────────► SIGTERM
 *                       thread: the data is read ─► most of 8001 is served
 *                               crawls are loaded ─► all is served
 *     SIGTERM: port and doors drain, engine closes, out
 *
 * The main thread runs "home": views and looks come there, metrics are set
 * there, /status is answered from what it holds.  Until the engine is open the
 * HTTP port answers its `early` routes (server/web.h), and the urlfrontier door
 * holds its calls.  Which doors there are: doors/doors.txt.
 */
#include "base/json_writer.h"
#include "base/metric.h"
#include "cli/ask.h"
#include "cli/engines.h"
#include "cli/figures.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "daemon/boot.h"
#include "daemon/metrics.h"
#include "daemon/reload.h"
#include "engine/catalog/crawl_registry.h"
#include "engine/control/control.h"
#include "engine/exporting/exporting.h"
#include "engine/harvest/document_run.h"
#include "engine/harvest/harvest_service.h"
#include "engine/harvest/web_documents.h"
#include "script/connectors/module_run.h"
#include "os/clock.h"
#include "os/database_failure.h"
#include "os/log.h"
#include "os/system.h"
#include "script/host.h"

#define LOOK_MS 1000
#define JSON_TYPE "application/json"
#define FAILURES_MAX 4          /* databases that /status names */
#define REQUESTS_CONNECTIONS 240   /* beside the WebSockets' */
/* A choice of realtime.token. */
#define TOKEN_REQUIRED 1

const struct option_verb serve_verb = {
	"serve", NULL, 0, 0,
	"Run as a daemon: the engine, its doors, and the port of http.listen",
	"Crawls that were running go on (without the secrets they had).  The "
	"port answers /metrics for Prometheus, /healthz, /readyz and /status; "
	"once a token exists, /metrics and /status ask for one of scope "
	"console:read, as \"Authorization: Bearer TOKEN\".  Its "
	"address is printed, and written to DATA/serve.json.  "
	"The manual's section DOORS names the doors.  "
	"SIGTERM and SIGINT stop in order; a second one leaves at once.  "
	"SIGHUP opens the log anew and reads certificates and configuration "
	"again; the log says what changed, and what waits for a restart.  A "
	"file that is wrong is reported, and nothing of it is taken.\n"
	"Exit code: 0 after SIGTERM; 75 another process holds the data or the "
	"port; 78 the configuration is wrong; 74 reading or writing failed; 70 "
	"stored data is damaged.",
	verbs_plain, ARRAY_LEN(verbs_plain)
};

struct daemon {
	struct cli *cli;
	struct engine *engine;
	struct loop *home;
	struct web *web;
	struct web *figures_web;       /* of urlfrontier.metrics_port */
	struct token_set *tokens;
	char key[TOKEN_TEXT_BYTES + 1];  /* the operator's, in serve.json */
	struct door_host doors;
	enum engine_health health;
	struct opening opening;
	struct web_route figures_route;
	char http_address[80];         /* "" while it is closed */
	struct crawl_metrics metrics;
	struct timer look_timer;
	struct engine_look look;       /* the last */
	bool looking, stopping, closed;
	bool started;                  /* engine_start() was called */
	bool hangup;                   /* SIGHUP came before that */
	struct drain_gate asked;       /* doors and ports that may ask the
	                                * engine */
	struct serve_reload reload;
};

/* --- what the engine tells ---------------------------------------------- */

static void
viewed(void *arg, const struct crawl_view *v)
{
	struct daemon *s = arg;

	crawl_metrics_view(&s->metrics, v);
}

static void
health_changed(void *arg, enum engine_health h, const char *text)
{
	struct daemon *s = arg;
	struct log_text quoted;

	s->health = h;
	if (h == ENGINE_FINE)
		log_info("ledger.health", "state=fine");
	else
		log_error("ledger.health", "state=%s text=%s",
		    report_health_name(h), log_quote(&quoted, str_of(text)));
}

static void
stop_if_idle(struct daemon *s)
{
	if (s->closed && !s->looking)
		loop_stop(s->home);
}

static void
seen(void *arg, const struct engine_look *k)
{
	struct daemon *s = arg;

	s->looking = false;
	s->look = *k;
	metrics_look(k, s->web);
	if (s->closed)
		stop_if_idle(s);
	else
		loop_timer_set(s->home, &s->look_timer,
		    mono_add_ms(clock_mono(), LOOK_MS));
}

static void
look(struct timer *t)
{
	struct daemon *s = CONTAINER(t, struct daemon, look_timer);

	if (s->closed)
		return;
	s->looking = true;
	engine_look(s->engine, seen, s);
}

/* --- /status ------------------------------------------------------------ */

/* Describes the step of the start; false once everything is served. */
static bool
put_loading(const struct daemon *s, struct buf *b)
{
	if (!s->stopping)
		return opening_put(&s->opening, b);
	buf_put_text(b, "stopping");
	return true;
}

/* One more than the newest crawl's id; 0 before the registry can be read. */
static uint32_t
crawls_end(const struct daemon *s)
{
	const struct crawl_row *newest = s->metrics.registry == NULL ? NULL :
	    crawl_registry_below(s->metrics.registry, UINT32_MAX);

	return newest == NULL ? 0 : newest->id + 1;
}

/* A crawl of ours; NULL when there is none, or it was deleted. */
static const struct crawl_row *
crawl_of(const struct daemon *s, uint32_t id)
{
	const struct crawl_row *row = crawl_row(s->metrics.registry, id);

	return row == NULL || row->deleted ||
	    row->view.kind == CRAWL_FRONTIER ? NULL : row;
}

static void
put_crawl(const struct daemon *s, const struct crawl_row *row, struct buf *b)
{
	struct figure f = { .view = row->view, .name = row->name,
	    .warc_dir = row->warc_dir };
	FREED(buf_free) struct buf own = BUF_INIT;

	if (f.warc_dir.n == 0 && !row->unarchived) {
		bool scheduled = row->schedule != 0;
		buf_printf(&own, "%s/archive/%s-%llu", s->cli->data_dir,
		    scheduled ? "schedule" : "crawl", scheduled ?
		    (unsigned long long)row->schedule : row->id);
		f.warc_dir = buf_str(&own);
	}
	json_object(b, NULL);
	figures_json(&f, b);
	buf_put_char(b, '}');
}

/* Why nothing is happening, if nothing is; of the busiest crawl. */
static void
put_why(struct daemon *s, struct buf *b)
{
	const struct crawl_view *busiest = NULL;
	char text[300] = "no crawl is running";
	FREED(buf_free) struct buf loading = BUF_INIT;

	if (put_loading(s, &loading)) {
		json_str(b, "why", buf_str(&loading));
		return;
	}
	for (uint32_t id = 0; id < crawls_end(s); id++) {
		const struct crawl_row *row = crawl_of(s, id);
		if (row != NULL && row->view.state == CRAWL_RUNNING &&
		    (busiest == NULL || row->view.counts.queued >
		    busiest->counts.queued))
			busiest = &row->view;
	}
	if (busiest != NULL)
		catalog_diagnose(&s->look, busiest, text, sizeof(text));
	json_str(b, "why", str_of(text));
}

/* "doors":[{"name","state","address","requests","note"}, ...] */
static void
put_doors(const struct daemon *s, struct buf *b)
{
	struct door_status d;

	json_array(b, "doors");
	for (size_t i = 0; doors_nth(i) != NULL; i++) {
		if (!doors_status(&s->doors, i, &d))
			continue;
		json_object(b, NULL);
		json_str(b, "name", str_of(d.name));
		json_str(b, "state", str_of(d.state));
		json_str(b, "address", str_of(d.address));
		if (d.counted)
			json_u64(b, "requests", d.requests);
		json_str(b, "note", str_of(d.note));
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

/* "unwritable":[{"since","why"}, ...]: databases whose last write failed. */
static void
put_unwritable(struct buf *b)
{
	struct database_failure f[FAILURES_MAX];
	size_t n = MIN(database_failures(f, FAILURES_MAX), FAILURES_MAX);
	char iso[WALL_ISO_MAX];

	json_array(b, "unwritable");
	for (size_t i = 0; i < n; i++) {
		wall_to_iso(f[i].since, iso);
		json_object(b, NULL);
		json_str(b, "since", str_of(iso));
		json_str(b, "why", str_of(f[i].why.text));
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

static void
get_status(struct web_request *r)
{
	struct daemon *s = web_arg(r);
	const struct engine_look *k = &s->look;
	FREED(buf_free) struct buf text = BUF_INIT;
	struct buf *b = &text;

	buf_put_char(b, '{');
	json_str(b, "version", STR(ARGIOPE_VERSION));
	json_u64(b, "pid", (uint64_t)system_pid());
	json_str(b, "data_dir", str_of(s->cli->data_dir));
	json_str(b, "health", str_of(report_health_name(s->health)));
	put_unwritable(b);
	buf_put_text(b, s->started ? ",\"ready\":true" : ",\"ready\":false");
	put_why(s, b);
	json_u64(b, "in_flight", k->in_flight);
	json_u64(b, "requests", k->requests);
	json_u64(b, "hosts_ready", k->hosts_ready);
	json_u64(b, "hosts_delayed", k->hosts_delayed);
	json_u64(b, "hosts_backoff", k->hosts_backoff);
	json_array(b, "crawls");
	for (uint32_t id = 0; id < crawls_end(s); id++)
		if (crawl_of(s, id) != NULL)
			put_crawl(s, crawl_of(s, id), b);
	buf_put_text(b, "]");
	put_doors(s, b);
	buf_put_text(b, "}\n");
	web_answer(r, 200, JSON_TYPE, buf_str(b));
}

/* --- what else the port answers ----------------------------------------- */

static void
get_metrics(struct web_request *r)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	metric_write(&b);
	web_answer(r, 200, METRIC_CONTENT_TYPE, buf_str(&b));
}

static void
answer_state(struct web_request *r, bool fine, struct str state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	json_object(&b, NULL);
	json_str(&b, "state", state);
	buf_put_text(&b, "}\n");
	web_answer(r, fine ? 200 : 503, JSON_TYPE, buf_str(&b));
}

static void
get_health(struct web_request *r)
{
	const struct daemon *s = web_arg(r);

	answer_state(r, s->health == ENGINE_FINE,
	    str_of(report_health_name(s->health)));
}

/* Whether requests of all kinds are answered, for load balancers; outsiders
 * learn no file's name. */
static void
get_ready(struct web_request *r)
{
	const struct daemon *s = web_arg(r);
	FREED(buf_free) struct buf text = BUF_INIT;
	bool writes = database_failures(NULL, 0) == 0;
	bool ready = !put_loading(s, &text) && s->health == ENGINE_FINE &&
	    writes;

	if (text.n == 0)
		buf_put_text(&text, ready ? "ready" : s->health != ENGINE_FINE ?
		    report_health_name(s->health) : "a database cannot be "
		    "written");
	if (!ready)
		web_add_field(r, "retry-after", "1");
	answer_state(r, ready, buf_str(&text));
}

#define ROUTE(path, handle, help, open)                                      \
	{ "GET", path, WEB_EXACT, handle, s, help, open, TOKEN_DOOR_CONSOLE, \
	    TOKEN_READ, .early = true }
#define METRICS_ROUTE ROUTE("/metrics", get_metrics,                         \
	"figures for Prometheus", WEB_TO_NOBODY)

/* The daemon's own and the doors'.  Memory: the cli's. */
static const struct web_route *
all_routes(struct daemon *s, struct web_options *o, size_t *n)
{
	const struct web_route own[] = {
		ROUTE("/healthz", get_health, "200 while the ledger's writes "
		    "succeed, else 503", WEB_TO_ALL),
		ROUTE("/readyz", get_ready, "200 while everything is served "
		    "and can be written, else 503 and the reason", WEB_TO_ALL),
		METRICS_ROUTE,
		ROUTE("/status", get_status, "the crawls and what the engine "
		    "is doing, as JSON", WEB_TO_NOBODY),
	};

	*n = ARRAY_LEN(own);
	return doors_routes(&s->doors, own, n, o, &s->cli->arena);
}

/* --- starting ----------------------------------------------------------- */

static enum err
lock_engine(struct daemon *s, struct why *w)
{
	struct engine_options o = {
		.conf = &s->cli->conf, .home = s->home,
		.data_dir = s->cli->data_dir,
		.loops = (unsigned)conf_int(&s->cli->conf, CONF_LOOPS),
		.doors = true,
		.urls_loaded = &s->opening.urls_loaded,
		.view = viewed, .health = health_changed,
		.arg = s,
	};

	return engines_open(engine_lock, &o, &s->engine, w);
}

static void
set_port(const struct conf *c, struct web_options *o, struct web_limits *l)
{
	*l = WEB_LIMITS_DEFAULT;
	l->sockets_max = conf_int(c, CONF_REALTIME_CONNECTIONS_MAX);
	l->connections_max = l->sockets_max + REQUESTS_CONNECTIONS;
	l->socket_stall_ms = conf_ms(c, CONF_REALTIME_STALL_S_MAX);
	o->limits = l;
	o->origins = conf_str(c, CONF_REALTIME_ORIGINS);
	o->token = conf_choice(c, CONF_REALTIME_TOKEN) == TOKEN_REQUIRED;
	if (conf_str(c, CONF_HTTP_TLS_CERT).n == 0)
		return;
	o->tls_chain = conf_str(c, CONF_HTTP_TLS_CERT).p;
	o->tls_key = conf_str(c, CONF_HTTP_TLS_KEY).p;
}

static enum err
open_port(struct daemon *s, struct why *w)
{
	struct conf_address at = conf_address(&s->cli->conf, CONF_HTTP_LISTEN);
	struct web_options o = { .loop = s->home, .port = at.port,
	    .starting = true };
	struct web_limits limits;
	bool six = str_find_char(at.host, ':') < at.host.n;

	if (at.host.n == 0) {
		log_info("serve.no_port", "http.listen=off");
		return OK;
	}
	set_port(&s->cli->conf, &o, &limits);
	const char *host = arena_copy(&s->cli->arena, at.host).p;
	o.address = str_eq(at.host, STR("localhost")) ? "127.0.0.1" : host;
	size_t n;
	const struct web_route *routes = all_routes(s, &o, &n);
	enum err e = web_open(&o, routes, n, &s->web, w);
	if (e == OK)
		e = ask_write(s->cli->data_dir, o.address, web_port(s->web),
		    o.tls_chain != NULL, s->key, w);
	if (e != OK)
		return e;
	web_tokens(s->web, s->tokens, false);
	snprintf(s->http_address, sizeof(s->http_address), six ? "[%s]:%u" :
	    "%s:%u", o.address, web_port(s->web));
	s->doors.web = s->web;
	s->doors.web_address = s->http_address;
	printf("argiope serves %s://%s/\n", o.tls_chain != NULL ? "https" :
	    "http", s->http_address);
	fflush(stdout);
	log_info("serve.listening", "address=%s port=%u", o.address,
	    web_port(s->web));
	return OK;
}

/* The figures alone, for those who look for them at a port of the door's. */
static enum err
open_figures(struct daemon *s, struct why *w)
{
	struct web_options o = { .loop = s->home, .address = "127.0.0.1",
	    .port = (uint16_t)conf_int(&s->cli->conf,
	    CONF_URLFRONTIER_METRICS_PORT) };

	if (o.port == 0)
		return OK;
	s->figures_route = (struct web_route)METRICS_ROUTE;
	enum err e = web_open(&o, &s->figures_route, 1, &s->figures_web, w);
	if (e == OK)
		web_tokens(s->figures_web, s->tokens, false);
	return e;
}

static enum err
open_tokens(struct daemon *s, struct why *w)
{
	token_make(s->key);
	struct token_set_options o = { .operator_key = str_of(s->key),
	    .store = engine_store_async(s->engine) };

	return token_set_open(&o, &s->tokens, w);
}

/* --- ending ------------------------------------------------------------- */

static void
engine_closed(void *arg)
{
	struct daemon *s = arg;

	s->closed = true;
	stop_if_idle(s);
}

/* No door asks the engine for anything any more. */
static void
all_drained(void *arg)
{
	struct daemon *s = arg;

	engine_close(s->engine, engine_closed, s);
}

static void
metrics_port_drained(void *arg)
{
	struct daemon *s = arg;

	drain_gate_leave(&s->asked);
}

static void
exports_stopped(void *arg)
{
	struct daemon *s = arg;

	drain_gate_leave(&s->asked);
}

/* No request comes any more; those that wait for the engine are waited for. */
static void
port_drained(void *arg)
{
	struct daemon *s = arg;

	doors_drain(&s->doors, true, &s->asked);
	drain_gate_leave(&s->asked);
}

static void
harvests_drained(void *arg)
{
	struct daemon *s = arg;

	drain_gate_leave(&s->asked);
}

static void
drain(struct daemon *s)
{
	doors_stop(&s->doors);
	if (s->web != NULL) {
		drain_gate_enter(&s->asked);
		web_drain(s->web, port_drained, s);
	}
	if (s->figures_web != NULL) {
		drain_gate_enter(&s->asked);
		web_drain(s->figures_web, metrics_port_drained, s);
	}
	doors_drain(&s->doors, false, &s->asked);
	if (s->doors.exporting != NULL) {
		drain_gate_enter(&s->asked);
		exporting_stop(s->doors.exporting, exports_stopped, s);
	}
	drain_gate_enter(&s->asked);
	harvest_service_drain(s->doors.harvests, harvests_drained, s);
	drain_gate_close(&s->asked, all_drained, s);
}

static void
got_signal(void *arg, int signal)
{
	struct daemon *s = arg;

	if (system_is_hangup(signal)) {
		/* The thread that opens the engine reads the settings. */
		s->hangup = !s->started;
		if (!s->stopping && s->started)
			serve_reload(&s->reload);
		return;
	}
	if (s->stopping) {
		log_warn("serve.left", "signal=%d", signal);
		_Exit(75);
	}
	s->stopping = s->doors.stopping = true;
	log_info("serve.stopping", "signal=%d in_flight=%u", signal,
	    s->look.in_flight);
	if (s->started)
		drain(s);
	else
		opening_stop(&s->opening);
}

/* --- the engine opens ---------------------------------------------------- */

static void
open_exporting(struct daemon *s)
{
	struct exporting_options o = { .home = s->home,
		.store = engine_store_async(s->engine),
		.conf = &s->cli->conf, .data_dir = s->cli->data_dir };

	s->doors.exporting = exporting_open(&o);
}

/* Without their key there are none; everything else is served. */
static void
open_harvests(struct daemon *s)
{
	struct harvest_service_options o = { .engine = s->engine,
	    .home = s->home, .conf = &s->cli->conf,
	    .data_dir = s->cli->data_dir };
	struct why w = WHY_INIT;

	if (harvest_service_open(&o, &s->doors.harvests, &w) != OK)
		log_error("harvest.closed", "why=%s", log_why(&w));
}

/* The data was read: what needs the ledger's loop waits until it runs. */
static void
data_read(void *arg)
{
	struct daemon *s = arg;

	crawl_metrics_start(&s->metrics, engine_registry(s->engine));
	open_exporting(s);
	open_harvests(s);
	s->doors.documents = documents_new(s->engine, s->home);
	s->doors.web_documents = web_documents_new(s->engine, s->home);
	s->doors.module_runs = module_runs_new(s->engine, s->home,
	    s->doors.scripts, &s->cli->conf);
	doors_data_read(&s->doors, s->engine);
	if (s->web != NULL)
		web_ready(s->web);
}

static void
engine_opened(void *arg)
{
	struct daemon *s = arg;
	const struct why *w = &s->opening.why;

	if (w->err != OK && s->opening.was_read) {
		/* Requests are with the engine, which will never run. */
		ask_remove(s->cli->data_dir);
		_Exit(cli_fail(w));
	}
	if (w->err != OK) {
		loop_stop(s->home);
		return;
	}
	s->started = true;
	engine_start(s->engine);
	s->reload.engine = s->engine;
	if (s->hangup)
		serve_reload(&s->reload);
	doors_ready(&s->doors, s->engine);
	harvest_service_ready(s->doors.harvests);
	look(&s->look_timer);
	log_info("serve.ready", "pid=%lld", (long long)system_pid());
	if (s->stopping)
		drain(s);
}

static enum err
open_ports(struct daemon *s, struct why *w)
{
	enum err e = open_tokens(s, w);

	s->doors.conf = &s->cli->conf;
	s->doors.home = s->home;
	s->doors.data_dir = s->cli->data_dir;
	s->doors.tokens = s->tokens;
	if (e == OK)
		e = doors_open(&s->doors, w);
	if (e != OK)
		return e;
	metrics_register();
	e = open_port(s, w);
	return e == OK ? open_figures(s, w) : e;
}

static enum err
serve(struct daemon *s, struct why *w)
{
	enum err e = lock_engine(s, w);

	if (e == OK)
		e = open_ports(s, w);
	if (e != OK)
		return e;
	log_info("serve.started", "version=%s pid=%lld data=%s",
	    ARGIOPE_VERSION, (long long)system_pid(), s->cli->data_dir);
	s->look_timer.fire = look;
	s->reload.web = s->web;
	s->reload.doors = &s->doors;
	s->opening.engine = s->engine;
	s->opening.home = s->home;
	s->opening.read = data_read;
	s->opening.done = engine_opened;
	s->opening.arg = s;
	opening_start(&s->opening);
	loop_run(s->home);
	ask_remove(s->cli->data_dir);
	*w = s->opening.why;
	return w->err;
}

/* Its processes inherit nothing that is opened later. */
static enum err
start_scripts(struct daemon *s, struct why *w)
{
	struct script_host_options o = script_host_options_of(&s->cli->conf);

	return doors_want_scripts(&s->cli->conf) ? script_host_open(s->home,
	    &o, &s->doors.scripts, w) : OK;
}

enum err
serve_run(struct cli *c, struct why *w)
{
	struct daemon s = { .cli = c, .reload = { .cli = c },
	    .doors.web_address = "" };

	s.home = loop_new("home");
	enum err e = start_scripts(&s, w);
	if (e == OK)
		e = cli_log(&c->conf, false, w);
	if (e == OK)
		e = cli_data_dir(c, w);
	if (e == OK)
		e = cli_dir(c, c->data_dir, &c->data_dir, w);
	if (e == OK) {
		log_keep();
		/* Before any thread starts. */
		loop_on_signal(s.home, got_signal, &s);
		e = serve(&s, w);
	}
	web_close(&s.web);
	web_close(&s.figures_web);
	doors_free(&s.doors);
	script_host_close(&s.doors.scripts);
	opening_free(&s.opening);
	token_set_close(&s.tokens);
	crawl_metrics_stop(&s.metrics);
	engine_free(&s.engine);
	/* Jobs of the store, which ends with the engine, work on it. */
	exporting_free(&s.doors.exporting);
	harvest_service_free(&s.doors.harvests);
	documents_free(&s.doors.documents);
	web_documents_free(&s.doors.web_documents);
	module_runs_free(&s.doors.module_runs);
	serve_reload_free(&s.reload);
	loop_free(&s.home);
	if (e == OK)
		log_info("serve.stopped", "pid=%lld", (long long)system_pid());
	return e;
}
