/*
 * argiope worker -- runs the tasks of a configuration for a daemon elsewhere.
 */
#include "cli/verbs.h"
#include "engine/parser/url.h"
#include "os/log.h"
#include "os/system.h"
#include "script/items/config_file.h"
#include "script/items/remote_worker.h"

#define LEAVE_CODE 75

#define WORKER_OPTIONS(X)                                                    \
	X(URL, "url", 'u', "URL", TEXT, 0, 0,                                \
	    "where the daemon serves, like https://a.example:8001/")         \
	X(TOKEN_FILE, "token-file", 'f', "FILE", PATH, 0, 0,                 \
	    "the daemon's token of scope worker:write")                      \
	X(CONFIG, "config", 'c', "FILE", PATH, 0, 0,                         \
	    "the configuration of the tasks, as the daemon's items.config")  \
	X(TASK, "task", 't', "TASK", TEXT, 0, 0,                             \
	    "run this task, or those of a pattern like shop:*, alone; may "  \
	    "be given again")                                                \
	X(SETTINGS, "settings", 0, "FILE", PATH, 0, 0,                       \
	    "read settings from FILE")                                       \
	X(SET, "set", 0, "NAME=VALUE", TEXT, 0, 0,                           \
	    "set a setting; may be given again")                             \
	X(HELP, "help", 'h', NULL, FLAG, 0, 0, "print this and leave")
static const struct option_row rows[] = { WORKER_OPTIONS(OPTION_ROW) };
const struct option_verb worker_verb = {
	"worker", NULL, 0, 0,
	"Run the tasks of a configuration for a daemon on another machine",
	"The worker claims what is due, runs it in its own sandbox and sends "
	"the results.  It fetches nothing itself: the daemon sends the "
	"requests of its tasks, and has the secrets and the cookies.  The "
	"configuration must be the same, byte for byte, as the one that the "
	"daemon has loaded, with the files that it imports.  When the daemon "
	"loads another one, the worker claims nothing until its own files are "
	"the same again.\n"
	"script.processes_max says how many runs are under way at most, the "
	"other settings script.* what a run may use.\n"
	"While the daemon is away the worker asks for it again and again, and "
	"keeps what has ended.  SIGTERM and SIGINT stop in order: claims stop, "
	"runs have 10 s, and the rest is given back; a second one leaves at "
	"once.\n"
	"Exit code: 0 after SIGTERM; 69 the daemon does not know the request; "
	"77 it refuses the token; 78 the configuration is another one than the "
	"daemon's, or has a fault.",
	rows, ARRAY_LEN(rows)
};

struct working {
	struct cli *cli;
	struct loop *home;
	struct script_host *scripts;
	struct remote_worker *worker;
	struct remote_place place;
	struct why why;
	bool stopping;
};

/* --- options ------------------------------------------------------------ */

static enum err
need_options(struct cli *c, struct why *w)
{
	static const char *const names[] = { "url", "config" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (cli_count(c, names[i]) == 0)
			return why(w, ERR_USAGE, "--%s is missing", names[i]);
	if (!config_file_is_module(str_of(cli_text(c, "config", ""))))
		return why(w, ERR_USAGE, "--config %.100s: a configuration in "
		    "JSON has no functions to run",
		    cli_text(c, "config", ""));
	return OK;
}

static enum err
read_place(struct cli *c, struct remote_place *p, struct why *w)
{
	const char *text = cli_text(c, "url", "");
	struct url u;

	if (url_parse(str_of(text), NULL, &c->arena, &u, NULL) != OK ||
	    (u.scheme != URL_HTTP && u.scheme != URL_HTTPS))
		return why(w, ERR_USAGE, "--url %.100s: must be a URL like "
		    "https://a.example:8001/", text);
	p->host = u.host;
	if (str_starts(p->host, STR("[")))
		p->host = str_cut(p->host, 1, p->host.n - 1);
	p->port = (uint16_t)u.port;
	p->tls = u.scheme == URL_HTTPS;
	return OK;
}

/* --- the worker ---------------------------------------------------------- */

static void
got_signal(void *arg, int signal)
{
	struct working *s = arg;

	if (system_is_hangup(signal))
		return;
	if (s->stopping)
		_Exit(LEAVE_CODE);
	s->stopping = true;
	log_info("worker.stopping", "signal=%d", signal);
	remote_worker_stop(s->worker);
}

static void
worker_ended(void *arg, const struct why *w)
{
	struct working *s = arg;

	s->why = *w;
	loop_stop(s->home);
}

static enum err
work(struct working *s, struct why *w)
{
	struct cli *c = s->cli;
	size_t n = cli_count(c, "task");
	struct str *tasks = ARENA_ARRAY(&c->arena, struct str, n + 1);
	struct remote_worker_options o = { .conf = &c->conf, .home = s->home,
	    .scripts = s->scripts, .config_path = cli_text(c, "config", ""),
	    .place = s->place, .tasks = tasks, .tasks_n = n,
	    .ended = worker_ended, .arg = s };

	for (size_t i = 0; i < n; i++)
		tasks[i] = str_of(cli_nth(c, "task", i));
	s->worker = remote_worker_start(&o);
	loop_on_signal(s->home, got_signal, s);
	log_info("worker.started", "version=%s pid=%lld daemon=%s",
	    ARGIOPE_VERSION, (long long)system_pid(), cli_text(c, "url", ""));
	loop_run(s->home);
	log_info("worker.stopped", "pid=%lld", (long long)system_pid());
	*w = s->why;
	return w->err;
}

enum err
worker_run(struct cli *c, struct why *w)
{
	struct working s = { .cli = c, .why = WHY_INIT };
	struct script_host_options o = script_host_options_of(&c->conf);

	enum err e = need_options(c, w);
	if (e == OK)
		e = read_place(c, &s.place, w);
	s.home = loop_new("home");
	/* Before the token is read: its processes inherit nothing. */
	if (e == OK)
		e = script_host_open(s.home, &o, &s.scripts, w);
	if (e == OK)
		e = cli_log(&c->conf, false, w);
	if (e == OK)
		e = cli_token(c, &s.place.token, w);
	if (e == OK)
		e = work(&s, w);
	remote_worker_free(&s.worker);
	script_host_close(&s.scripts);
	loop_free(&s.home);
	return e;
}
