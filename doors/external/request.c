#include "doors/external/request.h"

#include "base/json_writer.h"
#include "doors/external/meter.h"
#include "doors/external/reply.h"
#include "doors/external/task_run.h"
#include "os/clock.h"
#include "os/log.h"

/* ---- Who asks, and for what --------------------------------------------- */

/* The back end that the token belongs to; NULL: it is none. */
static const struct backend *
find_backend(const struct external_door *d, const struct web_request *r)
{
	const struct token_pass *pass = web_pass(r);

	if (d->set.backends_file[0] == '\0')
		return pass == NULL || web_is_operator(r) ? backends_nth(
		    d->backends, 0) : NULL;
	return pass == NULL ? NULL : backends_of_token(d->backends,
	    str_of(pass->name));
}

/* Someone who may read the console, and whose token is no back end's. */
static bool
find_operator(const struct external_door *d, const struct web_request *r)
{
	const struct token_pass *pass = web_pass(r);

	return web_may(r, TOKEN_DOOR_CONSOLE, TOKEN_READ) && (pass == NULL ||
	    backends_of_token(d->backends, str_of(pass->name)) == NULL);
}

static bool
is_at_root(struct web_request *r)
{
	struct str first = STR_NONE;

	return !web_segment(r, 0, &first) || !str_eq(first, STR("external"));
}

static struct str
connector_name(const struct external_door *d, struct web_request *r)
{
	struct str name = d->set.root;

	if (!is_at_root(r))
		(void)web_segment(r, 1, &name);
	return name;
}

struct held_connector *
external_find_connector(const struct external_door *d, struct web_request *r)
{
	struct str name = connector_name(d, r);

	return name.n == 0 ? NULL : connectors_find(d->connectors, name);
}

/* False: refused. */
static bool
may_ask(const struct external_door *d, struct web_request *r, bool allowed,
    enum external_access who)
{
	if (!d->is_ready || d->stopping)
		reply_fail(r, 503, d->stopping ? "the server is ending" :
		    "the server is starting");
	else if (!allowed && who == EXTERNAL_OPERATORS)
		reply_fail(r, 403, "only an operator may do that: a token "
		    "that may read the console and is no back end's");
	else if (!allowed)
		reply_fail(r, 403, "the token is that of no back end; "
		    "external.backends_file names them");
	else
		return true;
	return false;
}

/* The back end whose task it is. */
static struct str
name_backend(struct external_request *x)
{
	struct str named = STR_NONE;

	if (x->is_operator && web_param(x->request, "backend", &named))
		return arena_copy(&x->arena, named);
	return x->backend != NULL ? x->backend->name : STR_NONE;
}

struct external_request *
external_request_open(struct web_request *r, enum external_access who,
    enum external_subject subject)
{
	struct external_door *d = web_arg(r);
	const struct backend *b = find_backend(d, r);
	bool is_operator = (who & EXTERNAL_OPERATORS) != 0 &&
	    find_operator(d, r);
	bool at_root = subject != EXTERNAL_NO_CONNECTOR && is_at_root(r);
	struct str name = subject == EXTERNAL_NO_CONNECTOR ? STR_NONE :
	    connector_name(d, r);
	struct held_connector *c = subject == EXTERNAL_NO_CONNECTOR ? NULL :
	    external_find_connector(d, r);

	if (!may_ask(d, r, is_operator || (b != NULL && (who &
	    EXTERNAL_BACKENDS) != 0), who))
		return NULL;
	if (c == NULL && (subject == EXTERNAL_CONNECTOR || (subject ==
	    EXTERNAL_ANY_CONNECTOR && !is_operator))) {
		reply_fail(r, 404, "there is no such connector");
		return NULL;
	}
	struct external_request *x = mem_new(sizeof(*x));
	x->door = d;
	x->request = r;
	x->at_root = at_root;
	x->is_operator = is_operator;
	x->set = backends_hold(d->backends);
	x->backend = b;
	x->backend_name = name_backend(x);
	x->connector_name = arena_copy(&x->arena, name);
	if (c != NULL)
		x->connector = connector_hold(c);
	x->why = WHY_INIT;
	drain_gate_enter(&d->asked);
	return x;
}

struct external_request *
external_request_new(struct web_request *r)
{
	return external_request_open(r, EXTERNAL_BACKENDS,
	    EXTERNAL_CONNECTOR);
}

static void
overwrite_buf(struct buf *b)
{
	if (b->cap > 0)
		explicit_bzero(b->p, b->cap);
	buf_free(b);
}

void
external_request_forget(struct external_request *x)
{
	task_order_free(&x->order);
	overwrite_buf(&x->credential);
	overwrite_buf(&x->params);
}

void
external_request_free(struct external_request **xp)
{
	struct external_request *x = *xp;
	struct external_door *d = x->door;

	*xp = NULL;
	external_request_forget(x);
	buf_free(&x->concealed);
	connector_release(&x->connector);
	backends_release(&x->set);
	/* It may have a grant. */
	arena_wipe(&x->arena);
	mem_free(&x);
	drain_gate_leave(&d->asked);
}

bool
external_request_take_fid(struct external_request **xp)
{
	struct external_request *x = *xp;
	struct str fid = STR_NONE;

	(void)web_segment(x->request, x->at_root ? 1 : 3, &fid);
	if (!task_fid_is_valid(fid)) {
		reply_fail(x->request, 404, "there is no such task");
		external_request_free(xp);
		return false;
	}
	x->fid = arena_copy(&x->arena, fid);
	return true;
}

bool
external_request_take_number(struct external_request **xp, const char *name,
    uint64_t *out)
{
	struct str text = STR_NONE;

	if (!web_param((*xp)->request, name, &text) || str_to_u64(text, out))
		return true;
	reply_fail((*xp)->request, 400, "%s: it is no whole number", name);
	external_request_free(xp);
	return false;
}

/* ---- Asking the store --------------------------------------------------- */

static void
run_request(struct store_job *j, struct store *st)
{
	struct external_request *x = CONTAINER(j, struct external_request, job);

	x->why = WHY_INIT;
	x->result = x->work(x, st, &x->why);
}

static void
request_done(struct store_job *j)
{
	struct external_request *x = CONTAINER(j, struct external_request, job);

	x->then(x);
}

void
external_request_ask(struct external_request *x, enum err (*work)(
    struct external_request *, struct store *, struct why *),
    void (*then)(struct external_request *))
{
	x->work = work;
	x->then = then;
	x->job.run = run_request;
	x->job.done = request_done;
	store_async_put(x->door->store, &x->job);
}

enum err
external_request_find(struct external_request *x, struct store *st,
    struct why *w)
{
	enum err e = store_task_find(st, x->backend_name, x->fid, &x->arena,
	    &x->row, w);

	if (e == OK && !str_eq(x->row.connector, x->connector_name))
		return why(w, ERR_ABSENT, "there is no such task");
	return e;
}

/* ---- Versions ----------------------------------------------------------- */

static enum err
look_up(struct external_request *x, struct store *st, struct why *w)
{
	enum err e = x->find == NULL ? OK : x->find(x, st, w);

	return e == OK ? version_look(st, &x->version, &x->arena, w) : e;
}

static enum err
read_declaration(struct external_request *x, struct store *st, struct why *w)
{
	return store_declaration_get(st, x->version.hash, &x->arena,
	    &x->declaration, w);
}

static void
use_connector(struct external_request *x, struct held_connector *c)
{
	struct held_connector *before = x->connector;

	x->connector = connector_hold(c);
	connector_release(&before);
	x->versioned(x);
}

static void
declaration_read(struct external_request *x)
{
	struct held_connector *c;
	enum err e = x->result;

	if (e == OK)
		e = versions_add(&x->door->versions, x->version.hash,
		    x->declaration, &c, &x->why);
	if (e == OK) {
		use_connector(x, c);
		return;
	}
	/* The store has lost it, or cannot be read. */
	log_error("external.version", "backend=%.*s connector=%.*s "
	    "version=%llu why=%s", STR_FMT(x->backend_name),
	    STR_FMT(x->connector->name),
	    (unsigned long long)x->version.version, log_why(&x->why));
	reply_fail(x->request, 503, "version %llu of the connector cannot be "
	    "loaded", (unsigned long long)x->version.version);
	external_request_free(&x);
}

static void
looked_up(struct external_request *x)
{
	struct external_door *d = x->door;
	struct held_connector *listed = connectors_find(d->connectors,
	    x->connector->name), *c;

	if (x->result != OK) {
		external_request_fail(x);
		return;
	}
	if (x->version.choice == VERSION_UNKNOWN) {
		reply_fail(x->request, 404, "the connector has no version "
		    "%llu", (unsigned long long)x->version.facts.named);
		external_request_free(&x);
		return;
	}
	c = versions_find(&d->versions, listed == NULL ? x->connector :
	    listed, x->version.hash);
	if (c != NULL)
		use_connector(x, c);
	else
		external_request_ask(x, read_declaration, declaration_read);
}

void
external_request_use_version(struct external_request *x,
    enum err (*find)(struct external_request *, struct store *, struct why *),
    void (*then)(struct external_request *))
{
	x->find = find;
	x->versioned = then;
	x->version.backend = x->backend_name;
	x->version.connector = x->connector->name;
	x->version.facts.is_strict = x->door->set.is_strict;
	external_request_ask(x, look_up, looked_up);
}

/* ---- Grants ------------------------------------------------------------- */

enum err
external_request_find_grant(struct external_request *x, struct store *st,
    struct why *w)
{
	const struct seal_key *key = &x->door->key;
	const struct task_grant_name *n = &x->grant_name;

	if (n->handle.n > 0)
		return store_grant_find(st, key, x->backend->name, n->handle,
		    &x->arena, &x->grant, w);
	return store_grant_find_issued(st, key, x->backend->name,
	    x->connector->name, n->user, n->issued, &x->arena, &x->grant, w);
}

enum err
external_request_judge_grant(struct external_request *x, struct why *w)
{
	switch (x->result) {
	case OK:
		break;
	case ERR_ABSENT:
	case ERR_CORRUPT:
		return why_field(w, ERR_INPUT, "credential", "nobody has "
		    "signed in with it, or not any more; sign in again");
	case ERR_STATE:
		return why_field(w, ERR_INPUT, "credential", "users of several"
		    " subdomains have signed in with it; name the token");
	default:
		return why(w, x->result, "%s", x->why.text);
	}
	if (!str_eq(x->grant.user.connector, x->connector->name))
		return why_field(w, ERR_INPUT, "credential", "its token is for "
		    "another connector");
	if (x->grant.expiry.us <= clock_wall().us)
		return why_field(w, ERR_INPUT, "credential", "it has expired; "
		    "sign in again");
	return OK;
}

const char *
external_request_take_grant(struct external_request *x, struct why *w)
{
	struct oauth_granted *g = &x->granted;

	if (external_request_judge_grant(x, w) != OK)
		return w->text;
	if (oauth_granted_read(external_connector_oauth(
	    x->connector->connector), x->grant.text, &x->arena, g, NULL) !=
	    OK)
		return "credential: sign in again";
	if (g->tokens.access_ends.us <= clock_wall().us)
		return "transient: the provider's token has expired and is "
		    "being renewed";
	task_credential_of_grant(x->connector->connector, g, &x->credential);
	return NULL;
}

/* ---- Answers ------------------------------------------------------------ */

void
external_request_fail(struct external_request *x)
{
	if (x->result == ERR_ABSENT) {
		reply_fail(x->request, 404, "there is no such task");
	} else if (x->result == ERR_FULL) {
		external_meter_limit(x->why.field);
		web_add_field(x->request, "Retry-After", "60");
		reply_fail(x->request, 429, "%s", x->why.text);
	} else {
		reply_fail_why(x->request, x->result, &x->why);
	}
	external_request_free(&x);
}

void
external_request_answer(struct external_request *x, struct str payload)
{
	reply_success(x->request, payload);
	external_request_free(&x);
}

void
external_request_put_mount(const struct external_request *x, struct buf *out)
{
	const struct external_door *d = x->door;

	if (d->set.public_url.n > 0)
		buf_put_str(out, d->set.public_url);
	else
		buf_printf(out, "%s://%s", web_is_tls(x->request) ? "https" :
		    "http", d->host->web_address);
	if (!x->at_root)
		buf_printf(out, "/external/%.*s", STR_FMT(x->connector_name));
}

void
external_request_put_status(const struct store_task *row, bool with_detail,
    struct buf *out)
{
	json_object(out, "status");
	json_u64(out, "code", row->code);
	json_str(out, "message", row->message.n > 0 ? row->message :
	    STR("New"));
	if (with_detail && row->detail.n > 0)
		json_str(out, "detail", row->detail);
	else if (with_detail)
		json_null(out, "detail");
	buf_put_char(out, '}');
}

static void
put_wait(const struct external_request *x, const struct store_task *row,
    struct buf *out)
{
	const struct task_run *t = task_run_of_id(x->door, row->id);

	if (t != NULL)
		task_run_describe_wait(t, out);
	if (t != NULL && out->n == 0)
		task_run_describe_delivery(t, out);
	if (t == NULL && !store_task_is_closed(row->state) && row->node.n > 0)
		buf_printf(out, "it runs on the daemon %.*s",
		    STR_FMT(row->node));
}

void
external_request_put_task(const struct external_request *x,
    const struct store_task *row, struct buf *out)
{
	FREED(buf_free) struct buf wait = BUF_INIT;

	external_request_put_status(row, true, out);
	json_str(out, "state", str_of(store_task_state_name(row->state)));
	json_u64(out, "uploaded", row->uploaded);
	json_u64(out, "spooled", row->spooled);
	json_u64(out, "rejected", row->rejected);
	json_u64(out, "attempt", row->attempt);
	put_wait(x, row, &wait);
	json_str(out, "waiting", buf_str(&wait));
	json_str(out, "backend", row->backend);
	json_str(out, "connector", row->connector);
	json_str(out, "fid", row->fid);
	json_str(out, "crawler", row->crawler);
	json_time(out, "created", row->created);
	json_time(out, "updated", row->updated);
	json_time(out, "closed", row->closed);
}
