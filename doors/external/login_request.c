#include "doors/external/login_request.h"

#include <stdarg.h>

#include "base/text.h"
#include "doors/external/login_page.h"
#include "doors/external/meter.h"
#include "doors/external/reply.h"
#include "doors/external/request.h"
#include "os/clock.h"
#include "os/log.h"
#include "wire/base64.h"
#include "wire/digest.h"

#define PAGE_TYPE "text/html; charset=utf-8"
#define TEXT_BYTES_MAX 1000u
#define USER_SHOWN_BYTES 6u          /* of the hash, in logs */
#define NAME_HASH_BYTES 6u           /* of a cookie's name */

/* ---- Pages -------------------------------------------------------------- */

static void
put_page(struct web_request *r, int status, struct str html)
{
	web_add_field(r, "Content-Security-Policy",
	    login_page_policy(web_arena(r)).p);
	web_add_field(r, "Cross-Origin-Opener-Policy", "unsafe-none");
	web_answer(r, status, PAGE_TYPE, html);
}

void
login_refuse_page(struct web_request *r, int status, const char *code,
    struct str text)
{
	FREED(buf_free) struct buf html = BUF_INIT;

	(void)code;
	login_page_put_error(text, &html);
	put_page(r, status, buf_str(&html));
}

static void
put_refusal(struct web_request *r, bool is_page, int status, struct str text)
{
	if (is_page)
		login_refuse_page(r, status, "", text);
	else
		reply_fail_all(r, status, &text, 1);
}

/* ---- Its life ----------------------------------------------------------- */

struct login_request *
login_request_new(struct web_request *r, const char *call, bool is_page)
{
	struct external_door *d = web_arg(r);
	struct held_connector *c = external_find_connector(d, r);
	const struct oauth_declaration *declared = c == NULL ? NULL :
	    external_connector_oauth(c->connector);

	if (!d->is_ready || d->stopping) {
		put_refusal(r, is_page, 503, d->stopping ?
		    STR("The server is ending.") :
		    STR("The server is starting."));
		return NULL;
	}
	if (declared == NULL) {
		put_refusal(r, is_page, 404, c == NULL ?
		    STR("There is no such connector.") :
		    STR("This connector needs no login."));
		return NULL;
	}
	struct login_request *x = mem_new(sizeof(*x));
	x->door = d;
	x->request = r;
	x->call = call;
	x->is_page = is_page;
	x->connector = connector_hold(c);
	x->declared = declared;
	x->set = backends_hold(d->backends);
	x->why = WHY_INIT;
	x->user.connector = x->connector->name;
	drain_gate_enter(&d->asked);
	return x;
}

static void
wipe_text(struct str s)
{
	if (s.n > 0)
		explicit_bzero((void *)(uintptr_t)s.p, s.n);
}

void
login_request_free(struct login_request **xp)
{
	struct login_request *x = *xp;
	struct external_door *d = x->door;

	*xp = NULL;
	wipe_text(x->grant.text);
	wipe_text(x->was.text);
	wipe_text(x->start.text);
	wipe_text(x->login.text);
	wipe_text(x->finish.grant.text);
	connector_release(&x->connector);
	backends_release(&x->set);
	arena_free(&x->arena);
	mem_free(&x);
	drain_gate_leave(&d->asked);
}

/* ---- Asking the store --------------------------------------------------- */

static void
run_request(struct store_job *j, struct store *st)
{
	struct login_request *x = CONTAINER(j, struct login_request, job);

	x->why = WHY_INIT;
	x->result = x->work(x, st, &x->why);
}

static void
request_done(struct store_job *j)
{
	struct login_request *x = CONTAINER(j, struct login_request, job);

	x->then(x);
}

void
login_request_ask(struct login_request *x, enum err (*work)(
    struct login_request *, struct store *, struct why *),
    void (*then)(struct login_request *))
{
	x->work = work;
	x->then = then;
	x->job.run = run_request;
	x->job.done = request_done;
	store_async_put(x->door->store, &x->job);
}

/* The names of the account, without its tokens. */
static bool
read_names(struct login_request *x)
{
	struct oauth_granted g;
	struct why w = WHY_INIT;

	bool fine = oauth_granted_read(x->declared, x->grant.text, &x->arena,
	    &g, &w) == OK;
	wipe_text(g.client.secret);
	wipe_text(g.tokens.access);
	wipe_text(g.tokens.refresh);
	wipe_text(g.tokens.secret);
	if (!fine)
		return false;
	x->reported_name = g.account.name;
	x->email = g.account.email;
	return true;
}

enum err
login_request_find_grant(struct login_request *x, struct store *st,
    struct why *w)
{
	struct why first = WHY_INIT;
	enum err e = store_grant_get(st, &x->door->key, &x->user, &x->arena,
	    &x->grant, &first);

	x->stands = false;
	if (e == ERR_CORRUPT)
		log_error("external.grant", "why=%s", log_why(&first));
	if (e == ERR_CORRUPT || e == ERR_ABSENT)
		return OK;
	if (e != OK)
		return why(w, e, "%s", first.text);
	x->stands = x->grant.expiry.us > clock_wall().us && read_names(x);
	return OK;
}

/* ---- Who asks ----------------------------------------------------------- */

bool
login_request_param(struct login_request **xp, const char *name,
    struct str *value)
{
	struct login_request *x = *xp;
	struct str second;
	size_t at = 0;

	*value = STR_NONE;
	if (!web_param_next(x->request, name, &at, value) ||
	    !web_param_next(x->request, name, &at, &second))
		return true;
	login_refuse(x, 400, "%s: it is there twice", name);
	*xp = NULL;
	return false;
}

/* False: refused, answered and freed. */
static bool
read_name(struct login_request **xp, const char *name, struct str *value)
{
	if (!login_request_param(xp, name, value))
		return false;
	if (login_name_is_valid(*value))
		return true;
	if (value->n == 0)
		login_refuse(*xp, 400, "%s: it is missing", name);
	else
		login_refuse(*xp, 400, "%s: it is not a text of one line with "
		    "at most %u bytes", name, STORE_USER_BYTES_MAX);
	*xp = NULL;
	return false;
}

static bool
is_compatible(const struct login_request *x)
{
	struct str names = x->door->set.oauth_compat, one;

	while (x->connector->name.n > 0 && str_split(&names, ',', &one))
		if (str_eq(str_trim(one), x->connector->name))
			return true;
	return false;
}

/* The client's address without its port. */
static struct str
peer_address(const struct login_request *x)
{
	struct str peer = str_of(web_peer(x->request));

	for (size_t i = peer.n; i > 0; i--)
		if (peer.p[i - 1] == ':')
			return str_cut(peer, 0, i - 1);
	return peer;
}

/* A call without a ticket, of a connector that needs none. */
static bool
count_call(struct login_request **xp)
{
	struct login_request *x = *xp;
	struct external_door *d = x->door;
	struct mono now = clock_mono();
	struct str user = arena_printf(&x->arena, "%.*s\n%.*s",
	    STR_FMT(x->user.subdomain), STR_FMT(x->user.uuid));
	struct str peer = peer_address(x);

	log_warn("external.oauth_compat", "backend=%.*s connector=%.*s "
	    "call=%s address=%.*s", STR_FMT(x->backend->name),
	    STR_FMT(x->connector->name), x->call, STR_FMT(peer));
	unsigned wait_s = login_limit_count(&d->calls_by_address, peer, now);
	if (wait_s == 0)
		wait_s = login_limit_count(&d->calls_by_user, user, now);
	if (wait_s == 0)
		return true;
	external_meter_limit("oauth_compat");
	web_add_field(x->request, "Retry-After", arena_printf(&x->arena, "%u",
	    wait_s).p);
	login_refuse(x, 429, "More than %u calls without a ticket have come "
	    "within a minute; try again in %u s.", LOGIN_LIMIT_CALLS, wait_s);
	*xp = NULL;
	return false;
}

static bool
judge_ticket(struct login_request **xp, enum jwt_act act)
{
	struct login_request *x = *xp;
	struct why w = WHY_INIT;

	if (login_ticket_judge(x->backend, x->ticket_text, &x->user, act,
	    clock_wall(), &x->arena, &x->ticket, &w) == OK)
		return true;
	login_refuse(x, 403, "The launch ticket is refused: %s.", w.text);
	*xp = NULL;
	return false;
}

/* "Authorization: Bearer T" or `ticket=T`. */
static bool
read_ticket(struct login_request **xp)
{
	struct login_request *x = *xp;
	struct str value = STR_NONE;

	if (web_field(x->request, "authorization", &value))
		x->ticket_text = token_of_header(value);
	return x->ticket_text.n > 0 || login_request_param(xp, "ticket",
	    &x->ticket_text);
}

bool
login_request_admit(struct login_request **xp, enum jwt_act act)
{
	struct login_request *x = *xp;

	if (!read_name(xp, "uuid", &x->user.uuid) ||
	    !read_name(xp, "subdomain", &x->user.subdomain))
		return false;
	x->backend = login_backend_of(x->set, x->user.subdomain);
	if (x->backend == NULL) {
		login_refuse(x, 403, "The subdomain is not one of a back "
		    "end.");
		*xp = NULL;
		return false;
	}
	x->user.backend = x->backend->name;
	if (!read_ticket(xp))
		return false;
	if (x->ticket_text.n > 0)
		return judge_ticket(xp, act);
	if (is_compatible(x))
		return count_call(xp);
	login_refuse(x, 403, "The launch ticket is missing.");
	*xp = NULL;
	return false;
}

/* ---- Addresses and cookies ---------------------------------------------- */

static struct str
base_url(struct login_request *x)
{
	const struct external_door *d = x->door;

	return d->set.public_url.n > 0 ? d->set.public_url :
	    arena_printf(&x->arena, "%s://%s", web_is_tls(x->request) ?
	    "https" : "http", d->host->web_address);
}

struct str
login_redirect_uri(struct login_request *x)
{
	struct str base = base_url(x);

	return arena_printf(&x->arena, "%.*s/external/%.*s/oauth/callback",
	    STR_FMT(base), STR_FMT(x->connector->name));
}

struct str
login_make_secret(struct login_request *x)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	char random[LOGIN_SECRET_BYTES];

	clock_random(random, sizeof(random));
	base64url_put(&b, (struct str){ random, sizeof(random) });
	return arena_copy(&x->arena, buf_str(&b));
}

static bool
is_secure(const struct login_request *x)
{
	return x->door->set.public_url.n > 0 ?
	    str_starts_nocase(x->door->set.public_url, STR("https:")) :
	    web_is_tls(x->request);
}

/* A login's cookie has a name of its own, so that two popups of one browser do
 * not share it. */
void
login_cookie_name(const struct login_request *x, enum login_cookie kind,
    struct str of, char name[static LOGIN_COOKIE_NAME_BYTES])
{
	FREED(buf_free) struct buf hex = BUF_INIT;
	struct digest d;

	digest_of(DIGEST_SHA256, of, &d);
	digest_put_hex(&hex, d.bytes, NAME_HASH_BYTES);
	snprintf(name, LOGIN_COOKIE_NAME_BYTES, "%s%s_%s", is_secure(x) ?
	    "__Host-" : "argiope-", kind == LOGIN_OF_STATE ? "login" :
	    "confirm", buf_text(&hex));
}

void
login_set_cookie(struct login_request *x, enum login_cookie kind,
    struct str of, struct str value)
{
	char name[LOGIN_COOKIE_NAME_BYTES];

	login_cookie_name(x, kind, of, name);
	web_add_field(x->request, "Set-Cookie", arena_printf(&x->arena,
	    "%s=%.*s; Path=/; Max-Age=%d;%s HttpOnly; SameSite=%s", name,
	    STR_FMT(value), value.n > 0 ? STORE_LOGIN_S : 0, is_secure(x) ?
	    " Secure;" : "", kind == LOGIN_OF_STATE ? "Lax" : "Strict").p);
}

/* ---- Answers ------------------------------------------------------------ */

static void
put_user_hash(const struct login_request *x, struct buf *out)
{
	struct digest d;

	if (x->user.uuid.n == 0)
		return;
	digest_of(DIGEST_SHA256, x->user.uuid, &d);
	digest_put_hex(out, d.bytes, USER_SHOWN_BYTES);
}

static void
note_call(const struct login_request *x, const char *outcome, int status,
    const char *why)
{
	FREED(buf_free) struct buf user = BUF_INIT;
	struct str backend = x->backend == NULL ? STR("") : x->backend->name;

	put_user_hash(x, &user);
	external_meter_oauth(outcome);
	log_info("external.oauth", "backend=%.*s connector=%.*s call=%s "
	    "user_hash=%s outcome=%s status=%d why=%s", STR_FMT(backend),
	    STR_FMT(x->connector->name), x->call, buf_text(&user), outcome,
	    status, log_quoted(str_of(why)));
}

void
login_note(const struct login_request *x, const char *outcome)
{
	note_call(x, outcome, 200, "");
}

static void
refuse_text(struct login_request *x, const char *outcome, int status,
    const char *text)
{
	note_call(x, outcome, status, text);
	put_refusal(x->request, x->is_page, status, str_of(text));
	login_request_free(&x);
}

void
login_refuse(struct login_request *x, int status, const char *fmt, ...)
{
	char text[TEXT_BYTES_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	refuse_text(x, status == 429 ? "limited" : "refused", status, text);
}

void
login_refuse_fault(struct login_request *x, const struct oauth_fault *f)
{
	int status = f->actor == OAUTH_ACTOR_USER ? 403 :
	    f->actor == OAUTH_ACTOR_LATER ? 503 : 502;

	refuse_text(x, "failed", status, f->text);
}

void
login_refuse_result(struct login_request *x)
{
	enum err e = x->result;

	if (e == ERR_FULL) {
		external_meter_limit(x->why.field);
		web_add_field(x->request, "Retry-After", "60");
		login_refuse(x, 429, "Too many logins are under way; try "
		    "again in a minute.");
		return;
	}
	log_error("external.failed", "why=%s", log_why(&x->why));
	login_refuse(x, 503, "%s; try again later.", err_text(e));
}

void
login_answer_page(struct login_request *x, struct str html,
    const char *outcome)
{
	login_note(x, outcome);
	put_page(x->request, 200, html);
	login_request_free(&x);
}

void
login_answer_end(struct login_request *x, const char *outcome)
{
	FREED(buf_free) struct buf html = BUF_INIT;

	login_page_put_end(external_connector_title(x->connector->connector),
	    &html);
	login_answer_page(x, buf_str(&html), outcome);
}
