/*
 * argiope external simulate-backend -- a back end for developers of external
 * crawlers.
 */
#include "cli/listen.h"
#include "cli/simulator/simulator.h"
#include "cli/verbs.h"
#include "os/log.h"

#define LISTEN_DEFAULT "127.0.0.1:3333"
#define LEAVE_CODE 75

#define SIMULATE_OPTIONS(X)                                                  \
	X(LISTEN, "listen", 'l', "ADDRESS:PORT", TEXT, 0, 0,                 \
	    "where to listen, on loopback; default " LISTEN_DEFAULT)         \
	X(SILENCE, "silence", 0, "SECONDS", NUMBER, 1, 86400,                \
	    "close a task with 408 that was silent for so long; default 300") \
	X(FAULTS, "faults", 0, "FILE", PATH, 0, 0,                           \
	    "a plan of faults for uploads and statuses")                     \
	X(TLS_CERT, "tls-cert", 0, "FILE", PATH, 0, 0,                       \
	    "serve https only, with this certificate and its chain, PEM")    \
	X(TLS_KEY, "tls-key", 0, "FILE", PATH, 0, 0,                         \
	    "the certificate's key, PEM")                                    \
	X(CA, "ca", 0, "FILE", PATH, 0, 0,                                   \
	    "certificates to verify crawlers' against, PEM; --tls-cert's "   \
	    "unless given, and the system's without TLS")                    \
	X(DISCARD, "discard", 0, NULL, FLAG, 0, 0,                           \
	    "count documents and keep their hashes only, for large loads")   \
	OPTION_COMMON(X)
static const struct option_row rows[] = { SIMULATE_OPTIONS(OPTION_ROW) };
const struct option_verb external_simulate_backend_verb = {
	"external simulate-backend", NULL, 0, 0,
	"Simulate a back end, to develop an external crawler against",
	"The back end has no user interface and keeps everything in memory.  "
	"Register the crawler by POST /externals, make a crawler object by "
	"POST /actions/externals/FID/crawler and start a task by POST "
	"/actions/crawlers/FID/task, or do all three by POST /run with "
	"{\"external\":{},\"config\":{}}.  GET /log/FID and /output/FID show "
	"what the task did; GET /demo runs a crawler that is built in.  Each "
	"call is one line on standard error, without secrets.\n"
	"A plan of faults is {\"faults\":[{\"call\":\"upload\",\"number\":2,"
	"\"status\":503,\"retry_after_s\":1}]}.  call is upload or status; "
	"number, to last, counts such calls from 1; a fault has one of status "
	"(with retry_after_s and body), cut_bytes, reply_lost, refused_lines "
	"and redirect, and may have delay_ms.\n"
	"With --discard a task may have ten million documents, and GET "
	"/output/FID is refused.\n"
	"Exit code: 0 after SIGTERM or SIGINT; 64 an address that is not "
	"loopback; 65 a faulty plan; 75 the port is in use; 78 the certificate "
	"or its key cannot be used.",
	rows, ARRAY_LEN(rows)
};

struct simulating {
	struct loop *home;
	struct simulator *simulator;
	bool stopping;
};

static enum err
read_faults(struct cli *c, struct fault_plan **out, struct why *w)
{
	const char *file = cli_text(c, "faults", NULL);
	struct str text;
	struct why inner = WHY_INIT;
	enum err e;

	*out = NULL;
	if (file == NULL)
		return OK;
	e = cli_file(c, file, &text, w);
	if (e == OK && fault_plan_read(text, out, &inner) != OK)
		e = why(w, inner.err, "--faults %.100s: %s", file,
		    inner.text);
	return e;
}

static enum err
read_tls(struct cli *c, struct simulator_options *o, struct why *w)
{
	o->tls_cert = cli_text(c, "tls-cert", NULL);
	o->tls_key = cli_text(c, "tls-key", NULL);
	o->ca = cli_text(c, "ca", NULL);
	return (o->tls_cert == NULL) == (o->tls_key == NULL) ? OK :
	    why(w, ERR_USAGE, "--tls-cert and --tls-key go together");
}

static void
drained(void *arg)
{
	struct simulating *s = arg;

	loop_stop(s->home);
}

static void
got_signal(void *arg, int signal)
{
	struct simulating *s = arg;

	(void)signal;
	if (s->stopping)
		_Exit(LEAVE_CODE);
	s->stopping = true;
	simulator_drain(s->simulator, drained, s);
}

static enum err
simulate(struct simulating *s, const struct simulator_options *o,
    struct why *w)
{
	enum err e = simulator_open(o, &s->simulator, w);

	if (e != OK)
		return e;
	loop_on_signal(s->home, got_signal, s);
	printf("argiope simulates a back end at %s://%s%s%s:%u/\n",
	    o->tls_cert != NULL ? "https" : "http",
	    strchr(o->address, ':') == NULL ? "" : "[", o->address,
	    strchr(o->address, ':') == NULL ? "" : "]",
	    (unsigned)simulator_port(s->simulator));
	fflush(stdout);
	loop_run(s->home);
	return OK;
}

enum err
external_simulate_backend_run(struct cli *c, struct why *w)
{
	struct simulating s = { .home = loop_new("home") };
	struct fault_plan *plan = NULL;
	struct simulator_options o = { .loop = s.home,
	    .silence_s = cli_number(c, "silence", 300),
	    .discard = cli_given(c, "discard") };

	enum err e = cli_log(&c->conf, false, w);
	if (e == OK)
		e = listen_read(c, LISTEN_DEFAULT, &o.address, &o.port, w);
	if (e == OK)
		e = read_tls(c, &o, w);
	if (e == OK)
		e = read_faults(c, &plan, w);
	o.faults = plan;
	if (e == OK)
		e = simulate(&s, &o, w);
	simulator_close(&s.simulator);
	fault_plan_free(&plan);
	loop_free(&s.home);
	return e;
}
