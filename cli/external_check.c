/*
 * argiope external check FILE -- runs a connector without a back end.
 *
 *     file, parameters ─► order ─► run ─► documents on standard output
 *                                    └──► requests, faults on standard error
 */
#include "cli/external_input.h"
#include "cli/external_run.h"
#include "cli/harvest_words.h"
#include "cli/verbs.h"

#define DOCUMENTS_MAX 20

static const struct option_row rows[] = {
	OPTION_ROW(PARAMS, "params", 'p', "FILE", PATH, 0, 0,
	    "the parameters, a JSON object; - is standard input")
	OPTION_ROW(CREDENTIAL, "credential", 0, "NAME", TEXT, 0, 0,
	    "the credential that argiope credential put keeps by that name")
	OPTION_ROW(CREDENTIALS, "credentials-file", 0, "FILE", PATH, 0, 0,
	    "the credential, a JSON object in a file that only you may read")
	OPTION_ROW(MAX, "max", 'n', "N", NUMBER, 1, 1000000000,
	    "stop after so many documents; 20 unless given")
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb external_check_verb = {
	"external check", "FILE", 1, 1,
	"Run a connector without a back end, and check what it gives",
	"FILE is a declaration, or FILE.js, a module, or the name of a "
	"connector that is built in, such as feed_entries.  "
	"Documents go to standard output, one JSON object a line.  Requests "
	"with their status go to standard error, and so does what is wrong "
	"with parameters and documents: a document is checked by the file's "
	"schema, and must have its docIdField.  Nothing is archived or kept.\n"
	"A call is tried 3 times; where it still fails the run ends and says "
	"who can do something about it: config is the user (parameters, "
	"credential), transient is time alone, system is the connector's "
	"author, or whoever runs Argiope.\n"
	"Example: argiope external check books.json --params params.json\n"
	"Exit code: 0; 65 the file, the parameters or a document is "
	"invalid; 69 the source failed; 75 it was interrupted; 64 the "
	"command line is wrong; 66 there is no such file or credential.",
	rows, ARRAY_LEN(rows)
};

struct checking {
	struct external_input input;
	struct external_run run;
	uint64_t most, calls;
};

static bool
take_batch(void *arg, const struct document_batch *b)
{
	struct checking *k = arg;
	FREED(buf_free) struct buf lines = BUF_INIT;

	for (size_t i = 0; i < b->n && k->input.documents < k->most; i++) {
		(void)external_input_judge(&k->input, &b->list[i]);
		buf_put_str(&lines, b->list[i].json);
		buf_put_char(&lines, '\n');
	}
	cli_put(&lines);
	return fflush(stdout) == 0 && k->input.documents < k->most;
}

static void
say_call(void *arg, const struct document_call *c)
{
	struct checking *k = arg;

	k->calls++;
	if (c->status > 0)
		external_input_say("%.*s %.*s: %d", STR_FMT(c->method),
		    STR_FMT(c->url), c->status);
	else
		external_input_say("%.*s %.*s: %s", STR_FMT(c->method),
		    STR_FMT(c->url), c->failure);
}

/* ---- The verb ------------------------------------------------------- */

static enum err
read_order(struct checking *k, struct why *w)
{
	struct cli *c = k->input.cli;
	const char *file = cli_text(c, "params", NULL);
	yyjson_doc *params = NULL;
	struct str credential = STR_NONE;

	enum err e = external_input_load(&k->input, w);
	if (e == OK && file != NULL)
		e = external_input_object(c, file, &params, w);
	if (e == OK)
		e = harvest_words_credential(c, &credential, w);
	if (e == OK)
		e = external_input_order(&k->input, yyjson_doc_get_root(
		    params), credential, w);
	yyjson_doc_free(params);
	return e;
}

static int
exit_code(const struct checking *k)
{
	const struct external_run *r = &k->run;

	if (k->input.rejected > 0)
		return err_exit(ERR_INPUT);
	if (r->end.kind == DOCUMENTS_FAILED)
		return err_exit(ERR_STATE);
	return r->interrupted || r->end.kind == DOCUMENTS_INTERRUPTED ?
	    err_exit(ERR_FULL) : 0;
}

static void
say_end(const struct checking *k)
{
	const struct external_run *r = &k->run;

	if (r->look.broken > 0)
		external_input_say("items that have nothing at api.id, and "
		    "were left out: %llu", (unsigned long long)r->look.broken);
	if (r->end.kind == DOCUMENTS_FAILED)
		external_input_say("%s: %.*s", document_fault_name(
		    r->end.fault), STR_FMT(r->end.text));
	external_input_say("documents: %llu, invalid: %llu; "
	    "requests: %llu", (unsigned long long)k->input.documents,
	    (unsigned long long)k->input.rejected,
	    (unsigned long long)k->calls);
}

enum err
external_check_run(struct cli *c, struct why *w)
{
	struct checking k = { .input.cli = c,
	    .most = (uint64_t)cli_number(c, "max", DOCUMENTS_MAX) };

	enum err e = cli_log(&c->conf, true, w);
	if (e == OK)
		e = read_order(&k, w);
	k.run = (struct external_run){ .cli = c, .order = k.input.order,
	    .private_hosts = k.input.hosts, .private_n = k.input.hosts_n,
	    .bundle = k.input.bundle, .connector = k.input.connector,
	    .params = k.input.params, .credential = k.input.credential,
	    .take = take_batch, .called = say_call, .arg = &k };
	if (e == OK)
		e = external_run_connector(&k.run, w);
	if (e == OK) {
		say_end(&k);
		c->code = exit_code(&k);
	}
	external_input_free(&k.input);
	return e;
}
