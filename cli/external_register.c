/*
 * argiope external register -- makes a connector known to a back end.
 *
 *     back end, connector, store ─► token ─► changed? ─► POST or PATCH
 *                                                             │
 *            store: fid, version, hash, object, declaration ◄─┘
 */
#include "base/json_writer.h"
#include "cli/ask.h"
#include "cli/backend_call.h"
#include "cli/daemon.h"
#include "cli/external_settings.h"
#include "cli/registration.h"
#include "cli/stores.h"
#include "cli/verbs.h"
#include "engine/store/store_external.h"
#include "os/clock.h"
#include "os/loop.h"

/* A daemon that runs knows a new token within this. */
#define TOKEN_KNOWN_MS 2000
#define DAEMON_ANSWER_MS 5000

static const struct option_row rows[] = {
	OPTION_ROW(BACKEND, "backend", 'b', "NAME", TEXT, 0, 0,
	    "the back end, an entry of external.backends_file; local: the one "
	    "that there is without a file")
	OPTION_ROW(URL, "url", 'u', "URL", TEXT, 0, 0,
	    "where the back end has /externals; else it follows from the "
	    "entry's prefix, if that ends in /actions/tasks/")
	OPTION_ROW(TOKEN_FILE, "token-file", 0, "FILE", PATH, 0, 0,
	    "the back end's token for this door, instead of a new one")
	OPTION_ROW(NONE, "none", 0, "WORD", TEXT, 0, 0,
	    "ignore: a connector without a credential says so by that word")
	OPTION_ROW(NEW, "new", 0, NULL, FLAG, 0, 0,
	    "make another object, and forget the versions of the last one")
	OPTION_ROW(JSON, "json", 'j', NULL, FLAG, 0, 0, "print JSON")
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb external_register_verb = {
	"external register", "CONNECTOR", 1, 1,
	"Make a connector known to a back end, or tell it what has changed",
	"The back end gets the connector's external object: where its "
	"address is, what it asks people for, and the token by which the back "
	"end starts tasks.  The first time that is POST /externals, later "
	"PATCH /externals/FID; when nothing has changed nothing is sent.  The "
	"back end numbers the versions; tasks of a version run its connector, "
	"whatever has become of the file since.\n"
	"The token is the one that the back end's entry names.  It is made if "
	"there is none; its text is known only then, so that a second "
	"connector wants it from --token-file.\n"
	"A daemon that runs takes over what was registered at once, but reads "
	"a file that is new in external.connectors at SIGHUP only; a warning "
	"says so.\n"
	"Example: argiope external register books --backend acme\n"
	"Exit code: 0; 64 the command line is wrong; 65 the back end refused "
	"the object; 66 there is no such connector or back end, or the back "
	"end has lost the object; 69 the back end does not answer; 70 its "
	"answer has no fid or version; 73 the token is there and --token-file "
	"is not given; 77 the back end wants other headers; 78 a setting or a "
	"file is wrong.",
	rows, ARRAY_LEN(rows)
};

struct registering {
	struct cli *cli;
	struct backends *set;
	const struct backend *backend;
	struct external_connector *connector;
	struct str declaration;      /* its text; empty: it is built in */
	struct store *store;
	struct url base;
	struct buf object;
	struct store_registration known;
	bool is_known;
	/* For the object's headers; STR_NONE: they stay. */
	struct str token;
	uint64_t token_id;           /* 0: none is wanted */
	bool is_token_new;           /* made by this call */
	char token_text[TOKEN_TEXT_BYTES + 1];
};

/* ---- What there is ------------------------------------------------------ */

static enum err
check_words(struct cli *c, struct why *w)
{
	if (!cli_given(c, "backend"))
		return why(w, ERR_USAGE, "--backend: it is missing");
	if (cli_given(c, "none") && strcmp(cli_text(c, "none", ""),
	    "ignore") != 0)
		return why(w, ERR_USAGE, "--none: it takes the word ignore");
	return OK;
}

static enum err
find_known(struct registering *r, struct why *w)
{
	struct why first = WHY_INIT;

	if (cli_given(r->cli, "new"))
		return OK;
	enum err e = store_registration_newest(r->store, r->backend->name,
	    external_connector_name(r->connector), &r->cli->arena, &r->known,
	    &first);
	r->is_known = e == OK;
	return e == OK || e == ERR_ABSENT ? OK : why(w, e, "%s", first.text);
}

static enum err
open_parts(struct registering *r, struct why *w)
{
	struct cli *c = r->cli;
	struct str name = str_of(c->options.operands[0]), endpoint;

	enum err e = check_words(c, w);
	if (e == OK)
		e = external_backend(c, str_of(cli_text(c, "backend", "")),
		    &r->set, &r->backend, w);
	if (e == OK)
		e = external_named(c, name, &r->connector, &r->declaration,
		    w);
	if (e == OK)
		e = registration_base(r->backend, str_of(cli_text(c, "url",
		    "")), &c->arena, &r->base, w);
	if (e == OK)
		e = external_endpoint(c, name, &endpoint, w);
	if (e != OK)
		return e;
	registration_put_object(r->connector, endpoint, cli_given(c, "none"),
	    &r->object);
	e = stores_open(c, &r->store, w);
	return e == OK ? find_known(r, w) : e;
}

/* ---- The token ---------------------------------------------------------- */

static enum err
find_token(struct registering *r, struct token *out, bool *found,
    struct why *w)
{
	struct token *list;
	size_t n;

	*found = false;
	enum err e = store_token_list(r->store, &r->cli->arena, &list, &n, w);
	for (size_t i = 0; e == OK && i < n; i++)
		if (str_eq(list[i].name, r->backend->token)) {
			*out = list[i];
			*found = true;
		}
	return e;
}

static enum err
check_token(const struct registering *r, const struct token *t, bool found,
    struct why *w)
{
	uint8_t hash[TOKEN_HASH_BYTES];

	token_hash(r->token, hash);
	if (!found || memcmp(hash, t->hash, sizeof(hash)) != 0)
		return why(w, ERR_CONFIG, "--token-file: it does not have the "
		    "token %.*s, by which the back end %.*s is known",
		    STR_FMT(r->backend->token), STR_FMT(r->backend->name));
	return OK;
}

static enum err
check_scope(const struct token *t, struct why *w)
{
	return token_scopes_allow(t->scopes, TOKEN_DOOR_EXTERNAL, TOKEN_WRITE)
	    ? OK : why(w, ERR_CONFIG, "the token %.*s does not open the door "
	    "of back ends: it lacks external:write", STR_FMT(t->name));
}

struct waiting {
	struct timer timer;
	bool is_over;
};

static void
end_wait(struct timer *t)
{
	CONTAINER(t, struct waiting, timer)->is_over = true;
}

/* The back end may start a task as soon as it has the token. */
static void
wait_for_daemon(struct cli *c)
{
	struct waiting x = { .timer.fire = end_wait };
	struct why unused = WHY_INIT;
	bool is_there = false;

	/* With a shared store the daemons may run on other machines. */
	bool is_shared = conf_str(&c->conf, CONF_STORE_URL).n > 0;
	if (!is_shared && (daemon_is_there(c, &is_there, &unused) != OK ||
	    !is_there))
		return;
	struct loop *l = loop_new("wait");
	loop_timer_set(l, &x.timer, mono_add_ms(clock_mono(),
	    TOKEN_KNOWN_MS));
	loop_run_until(l, &x.is_over);
	loop_free(&l);
}

static enum err
make_token(struct registering *r, struct why *w)
{
	struct token_scopes scopes = { 0, 0 };
	struct token t;
	bool found;

	enum err e = token_scopes_read(STR("external:write"), false, &scopes,
	    w);
	if (e == OK)
		e = store_token_add(r->store, r->backend->token, scopes,
		    clock_wall(), r->token_text, w);
	r->is_token_new = e == OK;
	if (e == OK)
		e = find_token(r, &t, &found, w);
	if (e != OK)
		return e;
	r->token = str_of(r->token_text);
	r->token_id = found ? t.id : 0;
	wait_for_daemon(r->cli);
	return OK;
}

/* The set without a file knows a back end by no token. */
static enum err
take_token(struct registering *r, struct why *w)
{
	struct token t = { .id = 0 };
	bool found = false;

	enum err e = cli_token(r->cli, &r->token, w);
	if (e != OK)
		return e;
	if (r->backend->token.n == 0 && r->token.p != NULL)
		return why(w, ERR_USAGE, "--token-file: without "
		    "external.backends_file no token opens the door");
	if (r->backend->token.n == 0) {
		if (!r->is_known)
			r->token = STR("");
		return OK;
	}
	e = find_token(r, &t, &found, w);
	if (e == OK && found)
		e = check_scope(&t, w);
	if (e == OK && r->token.p != NULL)
		e = check_token(r, &t, found, w);
	if (e == OK && r->token.p == NULL && !found)
		return make_token(r, w);
	r->token_id = t.id;
	if (e == OK && r->token.p == NULL && (!r->is_known ||
	    r->known.token != t.id))
		e = why(w, ERR_EXISTS, "the token %.*s is there already, and "
		    "its text is not kept: give it by --token-file, or revoke "
		    "it and register all connectors of the back end again",
		    STR_FMT(t.name));
	return e;
}

static void
revoke_token(struct registering *r)
{
	struct why w = WHY_INIT;

	if (r->is_token_new && store_token_revoke(r->store,
	    r->backend->token, &w) != OK)
		fprintf(stderr, CLI_PROGRAM ": the token %.*s stays: %s\n",
		    STR_FMT(r->backend->token), w.text);
}

/* ---- The call ----------------------------------------------------------- */

static enum err
send_object(struct registering *r, struct registration_reply *reply,
    struct why *w)
{
	struct cli *c = r->cli;
	FREED(buf_free) struct buf body = BUF_INIT;
	struct backend_call call = { .backend = r->backend,
		.method = r->is_known ? "PATCH" : "POST" };
	struct str fid = r->is_known ? r->known.fid : STR("");
	enum conf_id id;
	struct url url;

	enum err e = registration_url(&r->base, fid, &c->arena, &url, w);
	if (e == OK)
		e = external_setting(c, "call_ms", &id, w);
	if (e != OK)
		return e;
	buf_reserve(&body, 2 * r->object.n + r->known.object.n + 256);
	registration_put_body(buf_str(&r->object), r->known.object, r->token,
	    &body);
	call.url = &url;
	call.body = buf_str(&body);
	call.total_ms = conf_ms(&c->conf, id);
	e = backend_call(&call, &c->arena, w);
	explicit_bzero(body.p, body.n);
	if (e == OK)
		e = registration_read(r->backend, call.status, call.reply,
		    fid, r->token, &c->arena, reply, w);
	if (e == ERR_ABSENT && r->is_known && call.status != 0)
		fprintf(stderr, CLI_PROGRAM ": --new registers the connector "
		    "as another object\n");
	return e;
}

/* The back end counts each change, also those that others have made. */
static void
warn_of_version(const struct registering *r, uint64_t version)
{
	uint64_t before = r->known.version;

	if (!r->is_known || version == before + 1)
		return;
	if (version > before)
		fprintf(stderr, CLI_PROGRAM ": warning: the back end %.*s has "
		    "counted %llu changes of the object that were not made by "
		    "" CLI_PROGRAM "; their versions are not known here\n",
		    STR_FMT(r->backend->name),
		    (unsigned long long)(version - before - 1));
	else
		fprintf(stderr, CLI_PROGRAM ": warning: the back end %.*s has "
		    "not counted this change: version %llu follows %llu\n",
		    STR_FMT(r->backend->name), (unsigned long long)version,
		    (unsigned long long)before);
}

static enum err
keep_group(struct registering *r, const struct registration_reply *reply,
    struct why *w)
{
	const struct store_registration row = {
		.backend = r->backend->name,
		.connector = external_connector_name(r->connector),
		.fid = reply->fid, .version = reply->version,
		.hash = external_connector_hash(r->connector),
		.object = buf_str(&r->object), .token = r->token_id };
	enum err e = OK;

	if (cli_given(r->cli, "new"))
		e = store_registration_forget(r->store, row.backend,
		    row.connector, w);
	return e == OK ? store_registration_put(r->store, &row,
	    r->declaration, clock_wall(), w) : e;
}

static enum err
keep(struct registering *r, const struct registration_reply *reply,
    struct why *w)
{
	struct why first = WHY_INIT;

	enum err e = store_begin(r->store, &first);
	if (e == OK)
		e = store_end(r->store, keep_group(r, reply, &first), &first);
	return e == OK ? OK : why(w, e, "the back end %.*s has the connector "
	    "as %.*s, version %llu, but that could not be stored: %s",
	    STR_FMT(r->backend->name), STR_FMT(reply->fid),
	    (unsigned long long)reply->version, first.text);
}

/* The back end may start a task at once, and would get a 404. */
static void
warn_of_daemon(const struct registering *r)
{
	struct cli *c = r->cli;
	struct str name = external_connector_name(r->connector), answer;
	const struct ask_target target = { .data_dir = c->data_dir,
		.token = r->token, .total_ms = DAEMON_ANSWER_MS };
	const struct ask_request request = { .method = STR("GET"),
		.path = arena_printf(&c->arena, "/external/%.*s/form",
		STR_FMT(name)) };
	struct why unused = WHY_INIT;
	int status;

	if (r->token.p != NULL && ask_request(&target, &request, &c->arena,
	    &status, &answer, &unused) == OK && status == 404)
		fprintf(stderr, CLI_PROGRAM ": warning: the daemon has not "
		    "read the connector %.*s yet; SIGHUP makes it read "
		    "external.connectors\n", STR_FMT(name));
}

/* ---- The verb ----------------------------------------------------------- */

static void
print_result(const struct registering *r, const char *what, struct str fid,
    uint64_t version)
{
	struct buf *b = &r->cli->out;

	if (!cli_json(r->cli)) {
		buf_printf(b, "%.*s is %s at %.*s: %.*s, version %llu\n",
		    STR_FMT(external_connector_name(r->connector)), what,
		    STR_FMT(r->backend->name), STR_FMT(fid),
		    (unsigned long long)version);
		return;
	}
	json_object(b, NULL);
	json_str(b, "connector", external_connector_name(r->connector));
	json_str(b, "backend", r->backend->name);
	json_str(b, "result", str_of(what));
	json_str(b, "fid", fid);
	json_u64(b, "version", version);
	buf_put_text(b, "}\n");
}

static bool
is_unchanged(const struct registering *r)
{
	return r->is_known && r->token.p == NULL &&
	    r->known.token == r->token_id &&
	    str_eq(r->known.object, buf_str(&r->object)) &&
	    str_eq(r->known.hash, external_connector_hash(r->connector));
}

static enum err
register_connector(struct registering *r, struct why *w)
{
	struct registration_reply reply;

	enum err e = open_parts(r, w);
	if (e == OK)
		e = take_token(r, w);
	if (e != OK)
		return e;
	/* A token that the object has already is no change. */
	if (r->is_known && r->token_id != 0 && r->known.token == r->token_id)
		r->token = STR_NONE;
	if (is_unchanged(r)) {
		print_result(r, "unchanged", r->known.fid, r->known.version);
		return OK;
	}
	e = send_object(r, &reply, w);
	if (e != OK) {
		revoke_token(r);
		return e;
	}
	warn_of_version(r, reply.version);
	warn_of_daemon(r);
	e = keep(r, &reply, w);
	if (e == OK)
		print_result(r, r->is_known ? "changed" : "registered",
		    reply.fid, reply.version);
	return e;
}

enum err
external_register_run(struct cli *c, struct why *w)
{
	struct registering r = { .cli = c };
	enum err e = register_connector(&r, w);

	explicit_bzero(r.token_text, sizeof(r.token_text));
	store_close(&r.store);
	external_connector_free(&r.connector);
	buf_free(&r.object);
	backends_release(&r.set);
	return e;
}
