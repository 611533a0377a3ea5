/*
 * argiope external conformance -- judges an external crawler, or a back end, by
 * playing the other side.
 */
#include "cli/conformance/conformance.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/listen.h"
#include "cli/simulator/json_body.h"
#include "cli/verbs.h"
#include "wire/base64.h"

#define LISTEN_DEFAULT "127.0.0.1:0"
#define SILENCE_S 9
#define STOP_S 5
#define WAIT_S 60

#define CONFORMANCE_OPTIONS(X)                                               \
	X(CRAWLER, "crawler", 0, "URL", TEXT, 0, 0,                          \
	    "judge the external crawler at URL")                             \
	X(BACKEND, "backend", 0, "URL", TEXT, 0, 0,                          \
	    "judge the back end at URL")                                     \
	X(TOKEN_FILE, "token-file", 0, "FILE", PATH, 0, 0,                   \
	    "a file with the token that the peer wants")                     \
	X(OBJECT, "object", 0, "FILE", PATH, 0, 0,                           \
	    "the crawler's external object, a JSON file")                    \
	X(PARAMS, "params", 'p', "FILE", PATH, 0, 0,                         \
	    "the parameters of each task, a JSON file")                      \
	X(CREDENTIALS, "credentials-file", 0, "FILE", PATH, 0, 0,            \
	    "the credential of each task, a JSON file")                      \
	X(ONLY, "only", 0, "NAME", TEXT, 0, 0,                               \
	    "make the checks of this group, or the check GROUP/NAME, only; " \
	    "may be given again")                                            \
	X(SEED_ONLY, "seed-only", 0, NULL, FLAG, 0, 0,                       \
	    "leave out the group extensions")                                \
	X(OAUTH, "oauth", 0, NULL, FLAG, 0, 0,                               \
	    "make the checks of OAuth calls, too")                           \
	X(TICKET_KEY_FILE, "ticket-key-file", 0, "FILE", PATH, 0, 0,         \
	    "the key of launch tickets in base64; OAuth calls get tickets")  \
	X(ISSUER, "issuer", 0, "NAME", TEXT, 0, 0,                           \
	    "the back end's name in tickets; conformance unless given")      \
	X(SUBDOMAIN, "subdomain", 0, "NAME", TEXT, 0, 0,                     \
	    "of OAuth calls; conformance unless given")                      \
	X(ORIGIN, "origin", 0, "URL", TEXT, 0, 0,                            \
	    "the page that OAuth calls come from")                           \
	X(SILENCE, "silence", 0, "SECONDS", NUMBER, 3, 86400,                \
	    "the silence that the back end allows; 9 unless given")          \
	X(STOP, "stop", 0, "SECONDS", NUMBER, 1, 3600,                       \
	    "how long a stopped task may go on; 5 unless given")             \
	X(WAIT, "wait", 0, "SECONDS", NUMBER, 1, 86400,                      \
	    "how long a task may take to end; 60 unless given")              \
	X(LISTEN, "listen", 'l', "ADDRESS:PORT", TEXT, 0, 0,                 \
	    "where to listen, on loopback; any port unless given")           \
	X(LIST, "list", 0, NULL, FLAG, 0, 0,                                 \
	    "print all checks and leave")                                    \
	OPTION_JSON(X)                                                       \
	OPTION_COMMON(X)
static const struct option_row rows[] = { CONFORMANCE_OPTIONS(OPTION_ROW) };
const struct option_verb external_conformance_verb = {
	"external conformance", NULL, 0, 0,
	"Judge an external crawler, or a back end, by playing the other side",
	"With --crawler it plays the back end: it starts tasks, answers "
	"uploads wrongly, stops tasks, and judges what the crawler sends.  "
	"Tasks of a group run at the same time, 11 at most; each must give "
	"the same documents, and should give several in one upload.  The "
	"crawler must send to a loopback address.\n"
	"With --backend it plays the crawler: it registers an external object, "
	"has tasks started, uploads, and falls silent.  What it adds is "
	"deleted at the end.\n"
	"Each check is a line: PASS, FAIL or SKIP, GROUP/NAME and the reason; "
	"a check that needs an option that was not given is skipped.  The last "
	"line counts them.  --list prints what each one checks.\n"
	"Example: argiope external conformance --crawler "
	"http://127.0.0.1:4444 --params params.json\n"
	"Exit code: 0 when no check failed, 65 when one did; 64 the command "
	"line is wrong; 66 there is no such file; 75 the port is in use.",
	rows, ARRAY_LEN(rows)
};

/* ---- Options -------------------------------------------------------- */

/* The documents that options name; they outlive the run. */
struct inputs {
	yyjson_doc *object, *params, *credential;
};

static void
free_inputs(struct inputs *in)
{
	yyjson_doc_free(in->object);
	yyjson_doc_free(in->params);
	yyjson_doc_free(in->credential);
}

static enum err
read_json(struct cli *c, const char *option, yyjson_doc **out, struct why *w)
{
	const char *file = cli_text(c, option, NULL);
	struct str text;
	enum err e;

	if (file == NULL)
		return OK;
	e = cli_file(c, file, &text, w);
	return e == OK ? json_body_read(text, file, out, w) : e;
}

static enum err
read_ticket_key(struct cli *c, struct str *out, struct why *w)
{
	const char *file = cli_text(c, "ticket-key-file", NULL);
	FREED(buf_free) struct buf key = BUF_INIT;
	struct str text;
	enum err e;

	if (file == NULL)
		return OK;
	e = cli_file(c, file, &text, w);
	if (e == OK && (!base64_read(&key, str_trim(text)) || key.n == 0))
		e = why(w, ERR_INPUT, "--ticket-key-file %.100s: has no key in "
		    "base64", file);
	*out = arena_copy(&c->arena, buf_str(&key));
	return e;
}

static enum err
read_inputs(struct cli *c, struct inputs *in, struct conformance_options *o,
    struct why *w)
{
	enum err e = read_json(c, "object", &in->object, w);

	if (e == OK)
		e = read_json(c, "params", &in->params, w);
	if (e == OK)
		e = read_json(c, "credentials-file", &in->credential, w);
	if (e == OK)
		e = cli_token(c, &o->token, w);
	if (e == OK)
		e = read_ticket_key(c, &o->ticket_key, w);
	if (e == OK)
		e = listen_read(c, LISTEN_DEFAULT, &o->address, &o->port, w);
	o->object = yyjson_doc_get_root(in->object);
	o->params = yyjson_doc_get_root(in->params);
	o->credential = yyjson_doc_get_root(in->credential);
	return e;
}

static enum err
choose_checks(struct cli *c, struct verdicts *verdicts, struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; e == OK && i < cli_count(c, "only"); i++)
		e = verdicts_choose(verdicts, str_of(cli_nth(c, "only", i)), w);
	if (cli_given(c, "seed-only"))
		verdicts_leave_out(verdicts, "extensions");
	return e;
}

static void
print_lines(void *arg, struct str lines)
{
	(void)arg;
	fwrite(lines.p, 1, lines.n, stdout);
	fflush(stdout);
}

/* ---- The verb ------------------------------------------------------- */

static enum err
judge_peer(struct cli *c, struct conformance_options *o, struct why *w)
{
	bool is_crawler = cli_given(c, "crawler");
	struct inputs in = { 0 };
	struct verdicts *verdicts = verdicts_new(is_crawler ? VERDICT_CRAWLER :
	    VERDICT_BACKEND, cli_json(c));
	enum err e = read_inputs(c, &in, o, w);

	if (e == OK)
		e = choose_checks(c, verdicts, w);
	if (e == OK)
		e = is_crawler ? conformance_judge_crawler(o, verdicts, w) :
		    conformance_judge_backend(o, verdicts, w);
	if (e == OK && verdicts_put_end(verdicts, &c->out) > 0)
		c->code = err_exit(ERR_INPUT);
	verdicts_free(&verdicts);
	free_inputs(&in);
	return e;
}

enum err
external_conformance_run(struct cli *c, struct why *w)
{
	const char *crawler = cli_text(c, "crawler", NULL);
	const char *backend = cli_text(c, "backend", NULL);
	struct conformance_options o = {
	    .peer = str_of(crawler != NULL ? crawler : backend),
	    .oauth = cli_given(c, "oauth"),
	    .issuer = str_of(cli_text(c, "issuer", "conformance")),
	    .subdomain = str_of(cli_text(c, "subdomain", "conformance")),
	    .origin = str_of(cli_text(c, "origin", "")),
	    .silence_s = cli_number(c, "silence", SILENCE_S),
	    .stop_s = cli_number(c, "stop", STOP_S),
	    .wait_s = cli_number(c, "wait", WAIT_S), .print = print_lines };
	enum err e = cli_log(&c->conf, true, w);

	if (e != OK)
		return e;
	if (cli_given(c, "list")) {
		verdicts_put_table(&c->out);
		return OK;
	}
	if ((crawler == NULL) == (backend == NULL))
		return why(w, ERR_USAGE, "name the peer by --crawler URL or by "
		    "--backend URL, one of them");
	o.loop = loop_new("home");
	e = judge_peer(c, &o, w);
	loop_free(&o.loop);
	return e;
}
