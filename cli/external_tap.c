/*
 * argiope external tap FILE -- a declared connector as a tap of Singer
 * (https://github.com/singer-io/getting-started, docs/SPEC.md).
 *
 *     SCHEMA ─► RECORD ... STATE ─► RECORD ... STATE
 *
 * A STATE follows the records of each batch, whose cursor it has.  It is
 * written before the next call is made, so a target that has flushed what came
 * before it can go on from there.
 */
#include "base/json_writer.h"
#include "cli/external_input.h"
#include "cli/external_run.h"
#include "cli/verbs.h"
#include "os/clock.h"

/* The member of the configuration that is no parameter. */
#define CREDENTIAL "credential"
/* Invalid documents, until the run is ended. */
#define REJECTED_MAX 100u

static const struct option_row rows[] = {
	OPTION_ROW(CONFIG, "config", 'c', "FILE", PATH, 0, 0,
	    "the parameters, a JSON object; its member credential, an object, "
	    "is the credential")
	OPTION_ROW(STATE, "state", 's', "FILE", PATH, 0, 0,
	    "the value of the last STATE that a target has kept")
	OPTION_ROW(CATALOG, "catalog", 0, "FILE", PATH, 0, 0,
	    "the catalog: nothing is read if it does not select the stream")
	OPTION_ROW(DISCOVER, "discover", 0, NULL, FLAG, 0, 0,
	    "print the catalog and leave")
	OPTION_ROW(SETTINGS, "settings", 0, "FILE", PATH, 0, 0,
	    "read settings from FILE")
	OPTION_ROW(SET, "set", 0, "NAME=VALUE", TEXT, 0, 0,
	    "set a setting; may be given again")
	OPTION_ROW(HELP, "help", 'h', NULL, FLAG, 0, 0, "print this and leave")
};

const struct option_verb external_tap_verb = {
	"external tap", "FILE", 1, 1,
	"Run a connector as a Singer tap",
	"FILE is a declaration, or FILE.js, a module, or the name of a "
	"connector that is built in, such as feed_entries.  "
	"SCHEMA, RECORD and STATE messages go to standard output, all else to "
	"standard error.  The stream has the connector's name, and its "
	"docIdField as key.  With --state the tap goes on where that one was: "
	"in the middle of a run that did not end, else with what is new, where "
	"the connector's api has since.  Documents that the schema does not "
	"allow are left out and named on standard error; after 100 of them "
	"the run ends.\n"
	"Example: argiope external tap books.json --config config.json | "
	"target-jsonl\n"
	"Exit code: 0; 65 the file, the configuration, the state or the "
	"documents are invalid; 69 the source failed; 75 it was "
	"interrupted; 64 the command line is wrong; 66 there is no such file.",
	rows, ARRAY_LEN(rows)
};

struct tap {
	struct external_input input;
	struct external_run run;
	struct str name;             /* of the stream */
	struct str cursor;           /* to begin with */
};

/* ---- Messages ------------------------------------------------------- */

static void
put_schema_of(const struct tap *t, struct buf *b)
{
	struct str schema = external_connector_schema_text(t->input.connector);

	json_raw(b, "schema", schema.n > 0 ? schema :
	    STR("{\"type\":\"object\"}"));
}

static void
put_key(const struct tap *t, const char *name, struct buf *b)
{
	struct str key = external_connector_doc_id_field(t->input.connector);

	json_strs(b, name, &key, 1);
}

static void
put_catalog(const struct tap *t, struct buf *b)
{
	json_object(b, NULL);
	json_array(b, "streams");
	json_object(b, NULL);
	json_str(b, "tap_stream_id", t->name);
	json_str(b, "stream", t->name);
	put_key(t, "key_properties", b);
	put_schema_of(t, b);
	json_array(b, "metadata");
	json_object(b, NULL);
	json_array(b, "breadcrumb");
	buf_put_char(b, ']');
	json_object(b, "metadata");
	json_str(b, "inclusion", STR("available"));
	json_bool(b, "selected-by-default", true);
	put_key(t, "table-key-properties", b);
	buf_put_text(b, "}}]}]}\n");
}

static void
begin_message(const struct tap *t, const char *type, struct buf *b)
{
	json_object(b, NULL);
	json_str(b, "type", str_of(type));
	if (t != NULL)
		json_str(b, "stream", t->name);
}

static void
put_schema(const struct tap *t, struct buf *b)
{
	begin_message(t, "SCHEMA", b);
	put_schema_of(t, b);
	put_key(t, "key_properties", b);
	buf_put_text(b, "}\n");
}

static void
put_record(const struct tap *t, const struct document *d, const char *iso,
    struct buf *b)
{
	begin_message(t, "RECORD", b);
	json_raw(b, "record", d->json);
	json_str(b, "time_extracted", str_of(iso));
	buf_put_text(b, "}\n");
}

static void
put_state(const struct tap *t, struct str cursor, struct buf *b)
{
	begin_message(NULL, "STATE", b);
	json_object(b, "value");
	json_object(b, "bookmarks");
	json_object(b, t->name.p);
	json_raw(b, "cursor", cursor);
	buf_put_text(b, "}}}}\n");
}

static bool
take_batch(void *arg, const struct document_batch *batch)
{
	struct tap *t = arg;
	FREED(buf_free) struct buf b = BUF_INIT;
	char iso[WALL_ISO_MAX];

	wall_to_iso(clock_wall(), iso);
	for (size_t i = 0; i < batch->n; i++)
		if (external_input_judge(&t->input, &batch->list[i]))
			put_record(t, &batch->list[i], iso, &b);
	if (t->input.rejected >= REJECTED_MAX)
		return false;
	put_state(t, batch->cursor, &b);
	cli_put(&b);
	return fflush(stdout) == 0;
}

/* ---- What it is given ----------------------------------------------- */

static struct str
text_of(yyjson_val *v, struct arena *a)
{
	size_t n;
	char *text = v == NULL ? NULL : yyjson_val_write(v, 0, &n);
	struct str out = STR_NONE;

	if (text != NULL) {
		out = arena_copy(a, (struct str){ text, n });
		explicit_bzero(text, n);
	}
	free(text);
	return out;
}

/* The configuration without the credential; both in the cli's memory. */
static enum err
read_config(struct tap *t, struct why *w)
{
	struct cli *c = t->input.cli;
	const char *file = cli_text(c, "config", NULL);
	yyjson_doc *doc = NULL;

	if (file == NULL)
		return why(w, ERR_USAGE, "external tap wants --config FILE or "
		    "--discover");
	enum err e = external_input_object(c, file, &doc, w);
	if (e != OK)
		return e;
	yyjson_val *credential = yyjson_obj_get(yyjson_doc_get_root(doc),
	    CREDENTIAL);
	yyjson_mut_doc *params = yyjson_doc_mut_copy(doc, NULL);
	yyjson_mut_obj_remove_key(yyjson_mut_doc_get_root(params),
	    CREDENTIAL);
	yyjson_doc *rest = yyjson_mut_doc_imut_copy(params, NULL);
	e = credential != NULL && !yyjson_is_obj(credential) ? why(w,
	    ERR_INPUT, "%s: " CREDENTIAL " is no object", file) :
	    external_input_order(&t->input, yyjson_doc_get_root(rest),
	    text_of(credential, &c->arena), w);
	yyjson_mut_doc_free(params);
	yyjson_doc_free(rest);
	yyjson_doc_free(doc);
	return e;
}

static yyjson_val *
find_member(yyjson_val *object, struct str name)
{
	return yyjson_obj_getn(object, name.p, name.n);
}

/* A state of another stream, or of none, is the beginning. */
static enum err
read_state(struct tap *t, struct why *w)
{
	struct cli *c = t->input.cli;
	const char *file = cli_text(c, "state", NULL);
	yyjson_doc *doc = NULL;

	if (file == NULL)
		return OK;
	enum err e = external_input_object(c, file, &doc, w);
	yyjson_val *bookmarks = yyjson_obj_get(yyjson_doc_get_root(doc),
	    "bookmarks");
	t->cursor = text_of(yyjson_obj_get(find_member(bookmarks, t->name),
	    "cursor"), &c->arena);
	yyjson_doc_free(doc);
	return e;
}

/* By its own member, else by the metadata of the whole stream; else it is. */
static bool
is_selected(yyjson_val *stream)
{
	yyjson_val *v = yyjson_obj_get(stream, "selected"), *m;
	size_t i, n;

	if (yyjson_is_bool(v))
		return yyjson_get_bool(v);
	yyjson_arr_foreach(yyjson_obj_get(stream, "metadata"), i, n, m) {
		v = yyjson_obj_get(yyjson_obj_get(m, "metadata"), "selected");
		if (yyjson_arr_size(yyjson_obj_get(m, "breadcrumb")) == 0 &&
		    yyjson_is_bool(v))
			return yyjson_get_bool(v);
	}
	return true;
}

static enum err
read_catalog(const struct tap *t, bool *selected, struct why *w)
{
	struct cli *c = t->input.cli;
	const char *file = cli_text(c, "catalog", NULL);
	yyjson_doc *doc = NULL;
	yyjson_val *stream;
	size_t i, n;

	*selected = file == NULL;
	if (file == NULL)
		return OK;
	enum err e = external_input_object(c, file, &doc, w);
	yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc),
	    "streams"), i, n, stream)
		if (str_eq(json_text(yyjson_obj_get(stream, "tap_stream_id")),
		    t->name))
			*selected = is_selected(stream);
	yyjson_doc_free(doc);
	return e;
}

/* ---- The verb ------------------------------------------------------- */

static int
exit_code(const struct tap *t)
{
	const struct external_run *r = &t->run;

	if (t->input.rejected >= REJECTED_MAX)
		return err_exit(ERR_INPUT);
	if (r->end.kind == DOCUMENTS_FAILED)
		return err_exit(ERR_STATE);
	return r->end.kind == DOCUMENTS_DONE ? 0 : err_exit(ERR_FULL);
}

static enum err
run_tap(struct tap *t, struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	t->run = (struct external_run){ .cli = t->input.cli,
	    .order = t->input.order, .cursor = t->cursor,
	    .private_hosts = t->input.hosts, .private_n = t->input.hosts_n,
	    .bundle = t->input.bundle, .connector = t->input.connector,
	    .params = t->input.params, .credential = t->input.credential,
	    .take = take_batch, .arg = t };
	put_schema(t, &b);
	cli_put(&b);
	enum err e = external_run_connector(&t->run, w);
	if (e != OK)
		return e;
	if (t->run.end.kind == DOCUMENTS_FAILED)
		external_input_say("%s: %.*s", document_fault_name(
		    t->run.end.fault), STR_FMT(t->run.end.text));
	external_input_say("documents: %llu, left out: %llu",
	    (unsigned long long)t->input.documents,
	    (unsigned long long)t->input.rejected);
	t->input.cli->code = exit_code(t);
	return OK;
}

enum err
external_tap_run(struct cli *c, struct why *w)
{
	struct tap t = { .input.cli = c };
	bool selected = true;

	enum err e = cli_log(&c->conf, true, w);
	if (e == OK)
		e = external_input_load(&t.input, w);
	if (e == OK)
		t.name = arena_copy(&c->arena, external_connector_name(
		    t.input.connector));
	if (e == OK && cli_given(c, "discover")) {
		put_catalog(&t, &c->out);
	} else if (e == OK) {
		e = read_config(&t, w);
		if (e == OK)
			e = read_catalog(&t, &selected, w);
		if (e == OK)
			e = read_state(&t, w);
		if (e == OK && selected)
			e = run_tap(&t, w);
	}
	external_input_free(&t.input);
	return e;
}
