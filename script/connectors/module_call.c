/*
 * What a connector's script asks of the daemon: fetches, sessions, room for
 * documents, state.
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "engine/parser/url.h"
#include "engine/tasks/session_jar.h"
#include "script/connectors/module_own.h"

static struct module_run *
run_of(struct script_call *c)
{
	return script_call_run(c)->arg;
}

static struct str
text_arg(struct script_call *c, const char *name)
{
	struct str s = json_text(yyjson_obj_get(script_call_args(c), name));

	return s.p == NULL ? STR("") : s;
}

static struct module_call *
new_call(struct script_call *call, struct list *to)
{
	struct module_call *c = mem_new(sizeof(*c));

	c->run = run_of(call);
	c->call = call;
	list_init(&c->wait.node);
	list_put(to, &c->node);
	script_call_set_arg(call, c);
	return c;
}

void
module_call_free(struct module_call **cp)
{
	struct module_call *c = *cp;

	list_take(&c->node);
	list_take(&c->wait.node);
	task_request_free(&c->request);
	secrets_drop(&c->secrets);
	yyjson_doc_free(c->args);
	arena_free(&c->arena);
	mem_free(cp);
}

/* ---- Documents and state ------------------------------------------------ */

static void
put_document(struct module_documents *d, yyjson_val *v)
{
	size_t n = 0;
	char *text = yyjson_val_write(v, 0, &n);

	CHECK(text != NULL);
	d->list = mem_room(d->list, d->n, &d->cap, 64, sizeof(*d->list));
	d->list[d->n++] = (struct document){ .json = arena_copy(&d->arena,
	    (struct str){ text, n }) };
	free(text);
}

/* A JSON array.  False: it is none. */
static bool
take_documents(struct module_run *r, struct str body)
{
	yyjson_doc *doc = yyjson_read(body.p, body.n,
	    YYJSON_READ_NUMBER_AS_RAW);
	yyjson_val *root = yyjson_doc_get_root(doc), *v;
	bool good = yyjson_is_arr(root);
	size_t i, n;

	yyjson_arr_foreach(root, i, n, v)
		put_document(&r->found, v);
	yyjson_doc_free(doc);
	return good;
}

/* False: it is none, or too long. */
static bool
take_state(struct module_run *r, struct script_call *c)
{
	yyjson_val *state = yyjson_obj_get(script_call_args(c), "state");
	size_t n = 0;
	char *text = yyjson_is_obj(state) ? yyjson_val_write(state, 0, &n) :
	    NULL;
	bool good = text != NULL && n <= MODULE_STATE_JSON_MAX;

	if (good) {
		buf_clear(&r->state);
		buf_put(&r->state, text, n);
		r->has_state = true;
	}
	free(text);
	return good;
}

static void
refuse_call(struct script_call *c, const char *code, const char *text)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	json_object(&b, NULL);
	json_str(&b, "class", STR("PermanentError"));
	json_str(&b, "code", str_of(code));
	json_str(&b, "message", str_of(text));
	buf_put_char(&b, '}');
	script_call_fail(c, buf_str(&b), STR_NONE);
}

void
module_call_answer(struct module_call *c)
{
	if (c->call != NULL)
		script_call_answer(c->call, STR_NONE, STR_NONE);
	module_call_free(&c);
}

static void
begin_emit(struct script_call *call)
{
	struct module_run *r = run_of(call);
	bool has_state = yyjson_obj_get(script_call_args(call), "state") !=
	    NULL;

	/* Documents that a stopped run emits are dropped. */
	if (r->is_stopped) {
		script_call_answer(call, STR_NONE, STR_NONE);
		return;
	}
	if (!take_documents(r, script_call_body(call)) ||
	    (has_state && !take_state(r, call))) {
		refuse_call(call, "input", "emit: these are no documents");
		return;
	}
	/* The spool's time is not the script's. */
	script_call_wait_turn(call, true);
	(void)new_call(call, &r->found.emits);
	module_run_found(r, true);
}

static void
begin_state(struct script_call *call)
{
	struct module_run *r = run_of(call);

	if (!take_state(r, call)) {
		refuse_call(call, "input", "state: it is none");
		return;
	}
	script_call_answer(call, STR_NONE, STR_NONE);
	module_run_found(r, false);
}

/* ---- Sessions ----------------------------------------------------------- */

/* The one of that name; it is made with its first use. */
static struct module_session *
find_session(struct module_run *r, struct str name)
{
	LIST_EACH(s, &r->sessions, struct module_session, node)
		if (str_eq(s->name, name))
			return s;
	struct module_session *s = ARENA_NEW(&r->arena, struct module_session);
	s->name = arena_copy(&r->arena, name);
	s->jar = session_jar_new(STR_NONE);
	list_put(&r->sessions, &s->node);
	return s;
}

static void
begin_session(struct script_call *call)
{
	(void)find_session(run_of(call), text_arg(call, "name"));
	script_call_answer(call, STR("{\"data\":{},\"version\":1}"),
	    STR_NONE);
}

static void
forget_session(struct script_call *call)
{
	struct module_session *s = find_session(run_of(call),
	    text_arg(call, "name"));

	session_jar_free(&s->jar);
	s->jar = session_jar_new(STR_NONE);
	script_call_answer(call, STR_NONE, STR_NONE);
}

/* ---- Fetches ------------------------------------------------------------ */

static void
tell_called(const struct module_call *c)
{
	const struct module_run_options *o = &c->run->options;
	const struct task_fetch *f = &c->request.fetch;
	const struct document_call call = { f->method.n > 0 ? f->method :
		STR("GET"), f->url, f->status, f->code };

	if (o->called != NULL)
		o->called(o->arg, &call);
}

static void
fail_fetch(struct module_call *c)
{
	const struct task_fetch *f = &c->request.fetch;
	FREED(buf_free) struct buf b = BUF_INIT;

	json_object(&b, NULL);
	json_str(&b, "class", str_of(task_request_class(f->code)));
	json_str(&b, "code", str_of(f->code));
	json_str(&b, "message", f->text);
	if (f->status > 0)
		json_u64(&b, "status", (uint64_t)f->status);
	if (f->retry_after_s >= 0)
		json_u64(&b, "retryAfter", (uint64_t)f->retry_after_s);
	if (f->status > 0) {
		json_object(&b, "response");
		task_request_put(f, &b);
		buf_put_char(&b, '}');
	}
	buf_put_char(&b, '}');
	script_call_fail(c->call, buf_str(&b), f->content);
}

static void
answer_fetch(struct module_call *c)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	json_object(&b, NULL);
	task_request_put(&c->request.fetch, &b);
	buf_put_char(&b, '}');
	script_call_answer(c->call, buf_str(&b), c->request.fetch.content);
}

static void
tell_note(const struct module_run *r, const char *level, const char *code,
    struct str text)
{
	const struct document_note n = { level, str_of(code), text };

	if (r->options.note != NULL)
		r->options.note(r->options.arg, &n);
}

/* Once in a run: the archive lacks answers. */
static void
look_at_archive(struct module_run *r, const struct task_fetch *f)
{
	if (!f->has_own_crawl || f->status == 0 || f->number > 0 ||
	    r->told_unarchived)
		return;
	r->told_unarchived = true;
	tell_note(r, "warning", "not_archived", STR("a request has a value of "
	    "the credential or a parameter that is shorter than 8 bytes, or "
	    "longer than 1,365, and is not archived"));
}

static void
fetched(struct task_fetch *f)
{
	struct module_call *c = CONTAINER(f, struct module_call,
	    request.fetch);
	struct module_run *r = c->run;

	r->answers++;
	if (c->session != NULL)
		(void)session_jar_take(c->session->jar,
		    buf_str(&c->request.jar_before), c->request.jar);
	if (c->call != NULL) {
		tell_called(c);
		look_at_archive(r, f);
		if (f->secret_found)
			tell_note(r, "warning", "secret_in_response",
			    f->number > 0 ? STR("an answer has the credential "
			    "in it, and is archived as it is") : STR("an "
			    "answer has the credential in it"));
		if (f->end == TASK_FETCH_FAILED)
			fail_fetch(c);
		else
			answer_fetch(c);
	}
	module_call_free(&c);
	module_run_look_at_end(r);
}

static void
tell_turn(struct task_fetch *f, bool waits)
{
	struct module_call *c = CONTAINER(f, struct module_call,
	    request.fetch);

	if (c->call != NULL)
		script_call_wait_turn(c->call, waits);
}

/* With a copy of the session's cookies. */
static void
use_session(struct module_call *c)
{
	struct task_request *q = &c->request;

	c->session = find_session(c->run, q->name);
	session_jar_put(c->session->jar, &q->jar_before);
	q->jar = session_jar_new(buf_str(&q->jar_before));
	q->fetch.session = q->jar;
}

/* Whether the module lists the host that is asked. */
static bool
is_listed(const struct module_run *r, struct str url, struct arena *a)
{
	size_t n;
	const struct str *hosts = external_connector_hosts(
	    r->options.connector, &n);
	struct url u;

	if (url_parse(url, NULL, a, &u, NULL) != OK)
		return false;
	struct str with_port = arena_printf(a, "%.*s:%u", STR_FMT(u.host),
	    u.port);
	for (size_t i = 0; i < n; i++)
		if (str_eq(hosts[i], u.host) || str_eq(hosts[i], with_port))
			return true;
	return false;
}

/* ---- The archive -------------------------------------------------------- */

static void
note_archive(struct module_run *r, uint32_t crawl)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	if (r->told_archive)
		return;
	r->told_archive = true;
	document_crawl_describe(crawl, &text);
	tell_note(r, "info", "archive", buf_str(&text));
}

/* It was cancelled, or its crawl cannot begin. */
static void
refuse_request(struct module_call *c, const char *code, struct str text)
{
	struct task_fetch *f = &c->request.fetch;

	f->end = TASK_FETCH_FAILED;
	f->code = code;
	f->text = arena_copy(&f->arena, text);
	f->retry_after_s = -1;
	f->done(f);
}

static void
crawl_found(struct document_wait *x, uint32_t crawl, const struct why *w)
{
	struct module_call *c = CONTAINER(x, struct module_call, wait);

	if (c->call == NULL) {
		refuse_request(c, "stopped", STR("the request was stopped"));
	} else if (w->err != OK) {
		refuse_request(c, "crawl", str_of(w->text));
	} else {
		note_archive(c->run, crawl);
		c->request.fetch.own_crawl = crawl;
		task_fetch_start(c->fetcher, &c->request.fetch);
	}
}

static void
want_crawl(struct module_call *c)
{
	struct module_run *r = c->run;
	bool is_of_listed = c->fetcher == r->all->listed;
	struct document_crawl **crawl = is_of_listed ? &r->listed :
	    &r->others;

	if (*crawl == NULL)
		*crawl = document_crawl_of_archive(r->all->engine, &r->archive,
		    is_of_listed ? "listed" : "others", is_of_listed ?
		    STR(DOCUMENT_POLICY) : STR(DOCUMENT_CRAWL_POLICY),
		    STR_NONE, &r->all->crawls);
	c->request.fetch.has_own_crawl = true;
	c->wait.done = crawl_found;
	document_crawl_want(*crawl, &c->wait);
}

/* ---- A request ---------------------------------------------------------- */

static void
send_request(struct module_call *c)
{
	const struct module_run *r = c->run;
	struct task_fetch *f = &c->request.fetch;

	if (c->request.name.n > 0)
		use_session(c);
	c->secrets = secrets_hold(r->secrets);
	f->credential = c->secrets;
	f->private_hosts = r->private_hosts;
	f->private_n = r->private_n;
	f->tries_max = r->options.tries_max;
	f->live = !r->archives;
	f->max_age_s = 0;
	f->turned = tell_turn;
	f->done = fetched;
	c->request.sent = true;
	c->fetcher = is_listed(r, f->url, &c->arena) ? r->all->listed :
	    r->all->others;
	if (r->archives)
		want_crawl(c);
	else
		task_fetch_start(c->fetcher, f);
}

static void
begin_fetch(struct script_call *call)
{
	struct module_call *c = new_call(call, &run_of(call)->fetches);
	struct task_request *q = &c->request;
	struct why w = WHY_INIT;
	size_t n = 0;

	/* It outlives the script's call. */
	char *text = yyjson_val_write(script_call_args(call), 0, &n);
	c->args = yyjson_read(text, n, 0);
	CHECK(c->args != NULL);
	free(text);
	yyjson_val *args = yyjson_doc_get_root(c->args);
	q->is_connector = true;
	enum err e = task_request_read(q, args, arena_copy(&c->arena,
	    script_call_body(call)), &c->arena, &w);
	if (e == OK)
		e = module_secrets_sign(q, yyjson_obj_get(args, "auth"),
		    &c->arena, &w);
	if (e != OK) {
		refuse_call(call, "input", w.text);
		module_call_free(&c);
		return;
	}
	script_call_wait_turn(call, true);
	send_request(c);
}

/* ---- All of them -------------------------------------------------------- */

void
module_call_begin(struct script_run *script, struct script_call *call)
{
	(void)script;
	switch (script_call_kind(call)) {
	case SCRIPT_CALL_FETCH:
		begin_fetch(call);
		break;
	case SCRIPT_CALL_EMIT:
		begin_emit(call);
		break;
	case SCRIPT_CALL_STATE:
		begin_state(call);
		break;
	case SCRIPT_CALL_SESSION:
	case SCRIPT_CALL_SESSION_EXPIRED:
		begin_session(call);
		break;
	case SCRIPT_CALL_SESSION_INVALIDATE:
		forget_session(call);
		break;
	default:
		/* A module has no logins, and so none that ends. */
		refuse_call(call, "input", "a connector has no such call");
	}
}

void
module_call_cancel(struct script_run *script, struct script_call *call)
{
	struct module_call *c = script_call_arg(call);

	(void)script;
	if (c == NULL)
		return;
	c->call = NULL;
	/* Documents that came stay; a fetch ends, and frees its call then. */
	if (script_call_kind(call) == SCRIPT_CALL_FETCH)
		task_fetch_stop(&c->request.fetch);
}
