/*
 * A fetch on its way:
 *
 *     judged ─► waits for the month's crawl ─► call ─► answer redacted ─► done
 *
 * Rules are counted references: a fetch keeps those with which it was judged.
 * A crawl that was replaced becomes complete once its last call is done.
 */
#include "engine/tasks/task_fetch.h"

#include "base/text.h"
#include "engine/catalog/crawl_registry.h"
#include "engine/fetcher/call.h"
#include "engine/policy/address.h"
#include "os/clock.h"
#include "wire/digest.h"

#define TASKS_PREFIX "items "
/* Crawls of one month, one after the other: the policy changed, or a person has
 * cancelled it. */
#define CRAWLS_PER_MONTH_MAX 1000u
#define HTTPS_PORT 443u

struct sent_call {
	struct call call;
	struct task_fetch *fetch;
};

struct rules_in_use {
	unsigned users;
	struct str policy;           /* JSON of the fields that apply */
	struct str policy_name;      /* in the store; empty: `policy` */
	struct str *private_hosts;
	size_t private_n;
	struct secrets *secrets;
	struct arena arena;
};

/* A crawl that calls were sent in. */
struct task_crawl {
	struct list node;            /* task_fetcher.crawls; the newest last */
	uint32_t id;
	size_t calls;
	char month[8];               /* "2026-11" */
	struct rules_in_use *rules;  /* whose policy it has */
	bool replaced;
};

struct task_fetcher {
	struct engine *engine;
	struct loop *home;
	const char *prefix;          /* of its crawls' names and keys */
	struct rules_in_use *rules;
	struct list crawls;
	struct task_crawl *current;  /* NULL: none has begun */
	struct list waiting;         /* fetches, for a crawl to begin */
	/* While one begins. */
	bool beginning;
	unsigned tries;
	struct rules_in_use *begin_rules;
	char begin_month[8];
	struct str policy_text;      /* of the launch */
	struct store_request policy_get;
	struct launch launch;
	struct arena arena;          /* of the launch */
};

/* -- Rules -- */

static void
rules_drop(struct rules_in_use **rp)
{
	struct rules_in_use *r = *rp;

	*rp = NULL;
	if (r == NULL || --r->users > 0)
		return;
	secrets_drop(&r->secrets);
	arena_free(&r->arena);
	mem_free(&r);
}

static struct rules_in_use *
rules_hold(struct rules_in_use *r)
{
	r->users++;
	return r;
}

/* The fields that concern requests; all others as in the policy `default`. */
static enum err
request_fields(struct str json, struct arena *a, struct str *out,
    struct why *w)
{
	FREED(policy_free) struct policy *from = NULL;
	FREED(policy_free) struct policy *to = policy_new();
	FREED(buf_free) struct buf b = BUF_INIT;

	enum err e = policy_parse(json, &from, w);
	if (e != OK)
		return e;
	to->robots = from->robots;
	to->rate_limit = from->rate_limit;
	to->user_agent = from->user_agent;
	to->headers = from->headers;
	to->headers_n = from->headers_n;
	to->proxy = from->proxy;
	to->limits.timeout = from->limits.timeout;
	to->limits.max_body_bytes = from->limits.max_body_bytes;
	to->downloads = from->downloads;
	policy_to_json(to, &b);
	*out = arena_copy(a, buf_str(&b));
	return OK;
}

/* `"name"` or an object. */
static enum err
read_policy(struct rules_in_use *r, struct str json, struct why *w)
{
	struct why inner = WHY_INIT;

	if (json.n == 0) {
		r->policy_name = STR(STORE_POLICY_DEFAULT);
		return OK;
	}
	if (json.p[0] == '"') {
		/* Names hold no character that JSON escapes. */
		r->policy_name = arena_copy(&r->arena, str_cut(json, 1,
		    json.n - 1));
		return store_check_labels(r->policy_name, NULL, 0, w);
	}
	if (request_fields(json, &r->arena, &r->policy, &inner) != OK)
		return why_field(w, inner.err, "fetch.policy", "%s",
		    inner.text);
	return OK;
}

enum err
task_fetcher_use(struct task_fetcher *f, const struct task_fetch_rules *in,
    struct why *w)
{
	struct rules_in_use *r = mem_new(sizeof(*r));

	r->users = 1;
	r->secrets = secrets_hold(in->secrets);
	r->private_hosts = arena_copy_list(&r->arena, in->private_hosts,
	    in->private_n);
	r->private_n = in->private_n;
	enum err e = read_policy(r, in->policy, w);
	if (e != OK) {
		rules_drop(&r);
		return e;
	}
	rules_drop(&f->rules);
	f->rules = r;
	return OK;
}

/* -- The month's crawl -- */

static void
month_of(struct wall t, char out[static 8])
{
	char iso[WALL_ISO_MAX];

	wall_to_iso(t, iso);
	memcpy(out, iso, 7);
	out[7] = '\0';
}

static void
order_done(struct crawl_order *o)
{
	mem_free(&o);
}

static void
complete_crawl(struct engine *e, uint32_t id)
{
	struct crawl_order *o = mem_new(sizeof(*o));

	o->crawl = id;
	o->want = CRAWL_COMPLETE;
	o->reason = "";
	o->done = order_done;
	crawl_set_state(e, o);
}

static void
crawl_let_go(struct task_fetcher *f, struct task_crawl *c)
{
	if (!c->replaced || c->calls > 0)
		return;
	if (!crawl_row_is_over(crawl_row(engine_registry(f->engine), c->id)))
		complete_crawl(f->engine, c->id);
	list_take(&c->node);
	rules_drop(&c->rules);
	mem_free(&c);
}

static struct task_crawl *
find_crawl(struct task_fetcher *f, uint32_t id)
{
	LIST_EACH(c, &f->crawls, struct task_crawl, node)
		if (c->id == id)
			return c;
	return NULL;
}

/* Crawls of earlier months, or of other policies, from before a restart. */
static void
complete_others(struct task_fetcher *f, uint32_t id)
{
	const struct crawl_registry *all = engine_registry(f->engine);

	for (struct crawl_row *r = crawl_registry_below(all, UINT32_MAX);
	    r != NULL; r = crawl_registry_below(all, r->id))
		if (r->view.kind == CRAWL_TASKS && r->id != id &&
		    str_starts(r->name, str_of(f->prefix)) &&
		    !crawl_row_is_over(r) && find_crawl(f, r->id) == NULL)
			complete_crawl(f->engine, r->id);
}

static void
crawl_begun(struct task_fetcher *f, uint32_t id)
{
	struct task_crawl *old = f->current, *c = find_crawl(f, id);

	/* New rules with the policy of a crawl that runs: it goes on. */
	if (c == NULL) {
		c = mem_new(sizeof(*c));
		list_put(&f->crawls, &c->node);
	}
	c->id = id;
	memcpy(c->month, f->begin_month, sizeof(c->month));
	rules_drop(&c->rules);
	c->rules = f->begin_rules;
	c->replaced = false;
	f->begin_rules = NULL;
	f->current = c;
	if (old != NULL && old != c) {
		old->replaced = true;
		crawl_let_go(f, old);
	}
	complete_others(f, id);
}

static void start_waiting(struct task_fetcher *, const struct why *);
static void launch_crawl(struct task_fetcher *);

static void
launched(struct launch *l)
{
	struct task_fetcher *f = l->arg;
	const struct crawl_row *row = l->why.err != OK ? NULL :
	    crawl_row(engine_registry(f->engine), l->crawl);

	/* A person has cancelled the one with that key: the next. */
	if (row != NULL && crawl_row_is_over(row) &&
	    ++f->tries < CRAWLS_PER_MONTH_MAX) {
		launch_crawl(f);
		return;
	}
	f->beginning = false;
	arena_free(&f->arena);
	if (l->why.err == OK)
		crawl_begun(f, l->crawl);
	rules_drop(&f->begin_rules);
	start_waiting(f, &l->why);
}

static void
launch_crawl(struct task_fetcher *f)
{
	struct digest d;
	FREED(buf_free) struct buf hex = BUF_INIT;

	digest_of(DIGEST_SHA256, f->policy_text, &d);
	digest_put_hex(&hex, d.bytes, 8);
	f->launch = (struct launch){
		.spec.kind = CRAWL_TASKS,
		.spec.name = arena_printf(&f->arena, "%s%s", f->prefix,
		    f->begin_month),
		.spec.policy = f->policy_text,
		/* Begun once, also when a restart comes before the answer. */
		.spec.key = arena_printf(&f->arena, "%s%s %.*s %u", f->prefix,
		    f->begin_month, STR_FMT(buf_str(&hex)), f->tries),
		.done = launched, .arg = f,
	};
	crawl_launch(f->engine, &f->launch);
}

static void
policy_read(struct store_request *r)
{
	struct task_fetcher *f = CONTAINER(r, struct task_fetcher, policy_get);
	struct why w = r->why, inner = WHY_INIT;

	if (w.err == OK && request_fields(r->policy.json, &f->arena,
	    &f->policy_text, &inner) != OK)
		why_field(&w, inner.err, "fetch.policy", "%s", inner.text);
	arena_free(&r->arena);
	if (w.err == OK) {
		launch_crawl(f);
		return;
	}
	f->beginning = false;
	rules_drop(&f->begin_rules);
	arena_free(&f->arena);
	start_waiting(f, &w);
}

static void
begin_crawl(struct task_fetcher *f)
{
	if (f->beginning)
		return;
	f->beginning = true;
	f->tries = 0;
	f->begin_rules = rules_hold(f->rules);
	month_of(clock_wall(), f->begin_month);
	if (f->rules->policy_name.n == 0) {
		f->policy_text = f->rules->policy;
		launch_crawl(f);
		return;
	}
	f->policy_get = (struct store_request){ .verb = STORE_POLICY_GET,
	    .name = f->rules->policy_name, .done = policy_read };
	engine_store(f->engine, &f->policy_get);
}

/* Whether the newest crawl is this month's, has this policy, and runs. */
static bool
is_current(const struct task_fetcher *f)
{
	const struct task_crawl *c = f->current;
	char month[8];

	month_of(clock_wall(), month);
	return c != NULL && c->rules == f->rules &&
	    strcmp(c->month, month) == 0 && !crawl_row_is_over(
	    crawl_row(engine_registry(f->engine), c->id));
}

/* -- Judging -- */

static enum err
check_method(const struct task_fetch *t, struct why *w)
{
	if (t->method.n == 0)
		return OK;
	if (!text_is_token(t->method) || t->method.n > 32)
		return why_field(w, ERR_INPUT, "method", "it is none");
	if (str_eq_nocase(t->method, STR("CONNECT")) ||
	    str_eq_nocase(t->method, STR("TRACE")))
		return why_field(w, ERR_INPUT, "method", "%.*s is not sent",
		    STR_FMT(t->method));
	return OK;
}

/* Fields that belong to the connection, or that the engine writes. */
static const char *const refused_fields[] = {
	"Host", "Content-Length", "Transfer-Encoding", "Connection", "TE",
	"Trailer", "Upgrade", "Keep-Alive", "Expect", "Proxy-Connection",
	"Proxy-Authorization", "HTTP2-Settings", "Via", "Accept-Encoding",
};

static enum err
check_headers(const struct task_fetch *t, struct why *w)
{
	char field[32];

	if (t->headers_n > TASK_FETCH_HEADERS_MAX)
		return why_field(w, ERR_FULL, "headers", "%zu; at most %u are "
		    "allowed", t->headers_n, TASK_FETCH_HEADERS_MAX);
	for (size_t i = 0; i < t->headers_n; i++) {
		const struct http_field *h = &t->headers[i];
		snprintf(field, sizeof(field), "headers.%.*s",
		    (int)MIN(h->name.n, 20), h->name.p);
		if (!text_is_token(h->name))
			return why_field(w, ERR_INPUT, "headers", "a name is "
			    "no token");
		if (STR_ROW_NOCASE(h->name, refused_fields) <
		    ARRAY_LEN(refused_fields))
			return why_field(w, ERR_INPUT, field, "scripts do not "
			    "set it");
		if (text_has_control(h->value))
			return why_field(w, ERR_INPUT, field, "a control "
			    "character");
	}
	return OK;
}

static enum secret_place
body_place(const struct task_fetch *t)
{
	for (size_t i = 0; i < t->headers_n; i++)
		if (str_eq_nocase(t->headers[i].name, STR("Content-Type")) &&
		    str_find(t->headers[i].value, STR("json")) <
		    t->headers[i].value.n)
			return SECRET_IN_JSON;
	return SECRET_IN_BODY;
}

/* The values that this fetch may use. */
static const struct secrets *
secrets_of(const struct task_fetch *t)
{
	return t->credential != NULL ? t->credential : t->rules->secrets;
}

static bool
is_loopback(struct str host)
{
	uint8_t ip[16];

	return str_eq(host, STR("localhost")) || (address_parse(host, ip) &&
	    address_classify(ip) == ADDRESS_LOOPBACK);
}

/*
 * Whom a request's secrets would reach.  A credential goes over TLS; without it
 * to this machine alone.  Nothing: nobody may see it.
 */
static struct str
receiver_of(const struct task_fetch *t, struct str host, unsigned port,
    bool tls, struct arena *a)
{
	if (t->credential == NULL || (tls && port == HTTPS_PORT))
		return host;
	return tls || is_loopback(host) ? arena_printf(a, "%.*s:%u",
	    STR_FMT(host), port) : STR("");
}

/* An early and clear refusal; what leaves is judged again at each hop. */
static enum err
check_secrets(struct task_fetch *t, const struct url *u, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct secrets *s = secrets_of(t);
	struct str host = receiver_of(t, u->host, u->port, u->scheme ==
	    URL_HTTPS, &a), out;

	enum err e = secrets_fill(s, SECRET_IN_URL, t->url, host, &a, &out, w);
	for (size_t i = 0; i < t->headers_n && e == OK; i++)
		e = secrets_fill(s, SECRET_IN_HEADER, t->headers[i].value,
		    host, &a, &out, w);
	return e == OK ? secrets_fill(s, body_place(t), t->body, host, &a,
	    &out, w) : e;
}

static enum err
check_fetch(struct task_fetch *t, struct why *w)
{
	struct url u;

	enum err e = check_method(t, w);
	if (e == OK)
		e = check_headers(t, w);
	if (e == OK && t->accept_n > TASK_FETCH_ACCEPT_MAX)
		e = why_field(w, ERR_FULL, "accept", "more than %u statuses",
		    TASK_FETCH_ACCEPT_MAX);
	if (e == OK && url_parse(t->url, NULL, &t->arena, &u, NULL) != OK)
		e = why_field(w, ERR_INPUT, "url", "it is no URL");
	if (e == OK && u.scheme != URL_HTTP && u.scheme != URL_HTTPS)
		e = why_field(w, ERR_INPUT, "url", "it is neither http nor "
		    "https");
	return e == OK ? check_secrets(t, &u, w) : e;
}

/* -- As the request leaves; thread: the host's loop -- */

static bool
fill_headers(struct task_fetch *t, struct exchange *x, struct str host,
    struct arena *a)
{
	struct transport_header *h = ARENA_ARRAY(a, struct transport_header,
	    x->headers_n);

	for (size_t i = 0; i < x->headers_n; i++) {
		h[i] = x->headers[i];
		if (secrets_fill(secrets_of(t), SECRET_IN_HEADER,
		    h[i].value, host, a, &h[i].value, NULL) != OK)
			return false;
	}
	x->headers = h;
	return true;
}

static bool
sign(struct call *c, struct exchange *x, struct arena *a)
{
	struct task_fetch *t = CONTAINER(c, struct sent_call, call)->fetch;
	const struct secrets *s = secrets_of(t);
	struct str host = receiver_of(t, x->host, x->port, x->tls, a);

	return secrets_fill(s, SECRET_IN_URL, x->url, host, a, &x->url,
	    NULL) == OK && fill_headers(t, x, host, a) && secrets_fill(s,
	    body_place(t), x->body, host, a, &x->body, NULL) == OK;
}

/* -- The answer -- */

static void
fail(struct task_fetch *t, const char *code, bool transient, struct str text)
{
	t->end = TASK_FETCH_FAILED;
	t->code = code;
	t->transient = transient;
	t->text = arena_copy(&t->arena, text);
}

static struct str
take_secrets_out(struct task_fetch *t, struct str s, struct buf *room)
{
	FREED(buf_free) struct buf names = BUF_INIT;
	const struct redactor *r = secrets_redactor(secrets_of(t));

	buf_clear(room);
	if (!redact_has_values(r) || !redact_text(r, s, room, &names))
		return s;
	t->secret_found = true;
	return buf_str(room);
}

static void
tell_head(struct task_fetch *t)
{
	FREED(buf_free) struct buf room = BUF_INIT;
	const struct http_head *head = &t->sent->call.head;
	struct http_field *fields = ARENA_ARRAY(&t->arena, struct http_field,
	    head->fields_n);

	for (size_t i = 0; i < head->fields_n; i++) {
		fields[i].name = arena_copy(&t->arena, head->fields[i].name);
		/* As it is archived: a session's cookies are the engine's. */
		fields[i].value = t->session != NULL && str_eq_nocase(
		    fields[i].name, STR("Set-Cookie")) ? STR(REDACT_WORD) :
		    arena_copy(&t->arena, take_secrets_out(t,
		    head->fields[i].value, &room));
	}
	t->fields = fields;
	t->fields_n = head->fields_n;
	t->final_url = arena_copy(&t->arena, take_secrets_out(t,
	    t->sent->call.final_url, &room));
}

static int64_t
retry_after_s(const struct http_head *head)
{
	struct str value = http_find(head, STR("Retry-After"));
	struct wall at;
	uint64_t s;

	if (str_to_u64(value, &s))
		return (int64_t)MIN(s, INT32_MAX);
	if (value.n > 0 && wall_from_http(value, &at))
		return MAX(0, wall_s(at) - wall_s(clock_wall()));
	return -1;
}

static bool
is_accepted(const struct task_fetch *t)
{
	bool listed = t->any_status;

	for (size_t i = 0; i < t->accept_n; i++)
		listed |= t->accept[i] == t->status;
	return listed || (t->status != 429 && t->status < 500);
}

static void
tell_answered(struct task_fetch *t)
{
	const struct call *c = &t->sent->call;

	t->status = c->status;
	t->redirected = c->hops > 0;
	t->from_archive = c->from_archive;
	t->number = c->number;
	t->crawl = c->number_crawl;
	t->retry_after_s = retry_after_s(&c->head);
	tell_head(t);
	t->content = take_secrets_out(t, buf_str(&c->content), &t->redacted);
	if (c->truncated)
		fail(t, "limit_body", false, STR("the body is longer than "
		    "allowed"));
	else if (c->damaged)
		fail(t, "decode", true, STR("the body's coding is damaged"));
	else if (!is_accepted(t))
		fail(t, "status", true, arena_printf(&t->arena, "the answer's "
		    "status is %d", t->status));
}

static void
tell_far(struct task_fetch *t)
{
	t->turn_ms = t->sent->call.turn_ms;
	t->delay_ms = t->sent->call.delay_ms;
	fail(t, "turn", true, arena_printf(&t->arena, "the host's turn comes "
	    "in %lld s", (long long)(t->turn_ms / 1000)));
}

static void
tell(struct task_fetch *t)
{
	const struct call *c = &t->sent->call;

	if (c->end == CALL_ANSWERED && c->result == OK)
		tell_answered(t);
	else if (c->end == CALL_FAR)
		tell_far(t);
	else if (c->end == CALL_FAILED)
		fail(t, exception_name(c->exception), true, c->text);
	else if (c->end == CALL_REFUSED && t->archived)
		fail(t, "not_archived", false, STR("no answer of this URL is "
		    "archived"));
	else if (c->end == CALL_REFUSED)
		fail(t, c->skip == SKIP_ROBOTS ? "robots" : "denied", false,
		    c->text.n > 0 ? c->text : STR("the host may not be "
		    "asked"));
	else
		fail(t, "stopped", true, STR("the request was stopped"));
}

static void
call_turned(struct call *c, bool waits)
{
	struct task_fetch *t = CONTAINER(c, struct sent_call, call)->fetch;

	t->turned(t, waits);
}

static void
call_done(struct call *c)
{
	struct task_fetch *t = CONTAINER(c, struct sent_call, call)->fetch;
	struct task_fetcher *f = t->fetcher;
	struct task_crawl *crawl = t->has_own_crawl ? NULL :
	    find_crawl(f, c->crawl);

	tell(t);
	if (crawl != NULL) {
		crawl->calls--;
		crawl_let_go(f, crawl);
	}
	t->done(t);
}

/* -- Start, stop -- */

/* Only such a request is signed: others may be served from the archive. */
static bool
has_placeholder(const struct task_fetch *t)
{
	const struct secrets *s = secrets_of(t);
	bool has = secrets_in(s, t->url) || secrets_in(s, t->body);

	for (size_t i = 0; i < t->headers_n; i++)
		has |= secrets_in(s, t->headers[i].value);
	return has;
}

/* Fields whose values are cut out whatever they are. */
static bool
is_always_redacted(struct str name)
{
	static const char *const names[] = { "Authorization", "Cookie",
		"Proxy-Authorization", "X-Api-Key" };

	return STR_ROW_NOCASE(name, names) < ARRAY_LEN(names);
}

static bool
may_archive(const struct task_fetch *t)
{
	const struct secrets *s = secrets_of(t);

	if (t->live)
		return false;
	if (!t->has_own_crawl)
		return true;
	for (size_t i = 0; i < t->headers_n; i++)
		if (!is_always_redacted(t->headers[i].name) &&
		    secrets_cannot_redact(s, t->headers[i].value))
			return false;
	return !secrets_cannot_redact(s, t->url) &&
	    !secrets_cannot_redact(s, t->body);
}

static const struct redactor *
redactor_of(const struct task_fetch *t)
{
	const struct secrets *s = secrets_of(t);

	if (t->has_own_crawl)
		return secrets_api_redactor(s);
	if (t->session != NULL)
		return secrets_session_redactor(s);
	return redact_has_values(secrets_redactor(s)) ? secrets_redactor(s) :
	    NULL;
}

static void
send_call(struct task_fetcher *f, struct task_fetch *t)
{
	struct transport_header *headers = ARENA_ARRAY(&t->arena,
	    struct transport_header, t->headers_n);

	for (size_t i = 0; i < t->headers_n; i++)
		headers[i] = (struct transport_header){ t->headers[i].name,
		    t->headers[i].value };
	t->sent = mem_new(sizeof(*t->sent));
	t->sent->fetch = t;
	t->sent->call = (struct call){
		.crawl = t->has_own_crawl ? t->own_crawl : f->current->id,
		.home = f->home,
		.method = t->method.n == 0 ? STR("GET") : t->method,
		.url = t->url, .body = t->body,
		.headers = headers, .headers_n = t->headers_n,
		.session = t->session, .robots = true, .follow = !t->manual,
		.tries_max = t->tries_max,
		.timeout_ms = t->timeout_ms, .deadline = t->deadline,
		.turn_ms_max = t->turn_ms_max,
		.private_hosts = t->credential != NULL ? t->private_hosts :
		    t->rules->private_hosts,
		.private_n = t->credential != NULL ? t->private_n :
		    t->rules->private_n,
		.max_age_s = t->archived ? INT64_MAX : t->max_age_s,
		.archived_only = t->archived,
		.archive = may_archive(t) ? CALL_RESPONSE : CALL_UNARCHIVED,
		.redactor = redactor_of(t),
		/* A signed call's answer is never shared. */
		.sign = has_placeholder(t) || t->has_own_crawl ? sign : NULL,
		.turned = t->turned == NULL ? NULL : call_turned,
		.done = call_done,
	};
	if (!t->has_own_crawl)
		f->current->calls++;
	engine_call(f->engine, &t->sent->call);
}

static void
start_waiting(struct task_fetcher *f, const struct why *w)
{
	struct list all;

	list_init(&all);
	list_move_all(&all, &f->waiting);
	while (!list_empty(&all)) {
		struct task_fetch *t = LIST_ITEM(list_pop(&all),
		    struct task_fetch, node);
		if (t->stopped)
			fail(t, "stopped", true, STR("the request was "
			    "stopped"));
		else if (w->err != OK)
			fail(t, "crawl", true, str_of(w->text));
		if (t->end == TASK_FETCH_FAILED)
			t->done(t);
		else if (is_current(f))
			send_call(f, t);
		else
			list_put(&f->waiting, &t->node);
	}
	if (!list_empty(&f->waiting))
		begin_crawl(f);
}

/* Refused, or no crawl has begun: later, so that done() comes afterwards. */
static void
deliver_later(struct mail *m)
{
	struct task_fetch *t = CONTAINER(m, struct task_fetch, mail);
	struct task_fetcher *f = t->fetcher;

	if (t->end == TASK_FETCH_FAILED) {
		t->done(t);
		return;
	}
	list_put(&f->waiting, &t->node);
	if (!f->beginning)
		start_waiting(f, &WHY_INIT);
}

void
task_fetch_start(struct task_fetcher *f, struct task_fetch *t)
{
	struct why w = WHY_INIT;

	CHECK(f->rules != NULL);
	list_init(&t->node);
	t->fetcher = f;
	t->rules = rules_hold(f->rules);
	t->retry_after_s = -1;
	if (check_fetch(t, &w) != OK)
		fail(t, w.err == ERR_DENIED ? "denied" : "input", false,
		    str_of(w.text));
	if (t->end != TASK_FETCH_FAILED && (t->has_own_crawl ||
	    is_current(f)))
		send_call(f, t);
	else
		loop_send(f->home, &t->mail, deliver_later);
}

void
task_fetch_stop(struct task_fetch *t)
{
	if (t->sent != NULL)
		call_stop(&t->sent->call);
	t->stopped = true;
}

void
task_fetch_free(struct task_fetch *t)
{
	if (t->sent != NULL)
		call_free_answer(&t->sent->call);
	mem_free(&t->sent);
	rules_drop(&t->rules);
	buf_free(&t->redacted);
	arena_free(&t->arena);
}

/* -- The fetcher -- */

struct task_fetcher *
task_fetcher_new(struct engine *e, struct loop *home)
{
	return task_fetcher_new_named(e, home, TASKS_PREFIX);
}

struct task_fetcher *
task_fetcher_new_named(struct engine *e, struct loop *home,
    const char *prefix)
{
	struct task_fetcher *f = mem_new(sizeof(*f));

	f->engine = e;
	f->home = home;
	f->prefix = prefix;
	list_init(&f->crawls);
	list_init(&f->waiting);
	return f;
}

void
task_fetcher_free(struct task_fetcher **fp)
{
	struct task_fetcher *f = *fp;

	if (f == NULL)
		return;
	CHECK(list_empty(&f->waiting) && !f->beginning);
	while (!list_empty(&f->crawls)) {
		struct task_crawl *c = LIST_ITEM(f->crawls.next,
		    struct task_crawl, node);
		list_take(&c->node);
		rules_drop(&c->rules);
		mem_free(&c);
	}
	rules_drop(&f->rules);
	mem_free(fp);
}

uint32_t
task_fetcher_crawl(const struct task_fetcher *f)
{
	return f->current == NULL ? UINT32_MAX : f->current->id;
}

struct engine *
task_fetcher_engine(const struct task_fetcher *f)
{
	return f->engine;
}
