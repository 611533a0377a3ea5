/*
 * GET /login: a user's browser asks to sign in.
 *
 *     uuid, subdomain, ticket ─► the store: does a token stand?
 *         ├─ yes, and no reset ─► the page that closes the popup
 *         ├─ from a page that the back end has not named, and not confirmed
 *         │       ─► the question, whose button comes back here
 *         └─ the ticket is used up, reset: the token ends
 *                 ─► provider_start() ─► the login is stored ─► 302
 *
 * The question's page sets a cookie with a random value, and its button sends
 * the same value.  A page of another origin can neither read nor set that
 * cookie, so that it cannot answer the question.
 */
#include "doors/external/handlers.h"
#include "doors/external/login_page.h"
#include "doors/external/login_request.h"
#include "doors/external/meter.h"
#include "os/clock.h"
#include "os/log.h"

#define CONFIRM "confirm"
#define CONFIRM_ID_BYTES 16u         /* the start of its value */
/* uuid, subdomain, reset, ticket, confirm */
#define OWN_FIELDS 5u

/* ---- Is it a navigation? ------------------------------------------------ */

/* Browsers say what they do; programs that are none say nothing. */
static bool
is_navigation(struct web_request *r)
{
	struct str value;

	if (web_field(r, "sec-fetch-mode", &value) &&
	    !str_eq(value, STR("navigate")))
		return false;
	if (web_field(r, "sec-fetch-dest", &value) &&
	    !str_eq(value, STR("document")))
		return false;
	return !web_field(r, "sec-purpose", &value);
}

/* ---- The question ------------------------------------------------------- */

static bool
is_equal_secret(struct str a, struct str b)
{
	unsigned differ = 0;

	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		differ |= (unsigned char)a.p[i] ^ (unsigned char)b.p[i];
	return differ == 0;
}

/* False: refused, answered and freed. */
static bool
read_confirmation(struct login_request **xp)
{
	struct login_request *x = *xp;
	char name[LOGIN_COOKIE_NAME_BYTES];
	struct str value, cookie, referer = STR_NONE;

	if (!login_request_param(xp, CONFIRM, &value))
		return false;
	(void)web_field(x->request, "referer", &referer);
	x->is_confirmed = login_referer_is_known(x->backend, referer);
	if (x->is_confirmed || value.n <= CONFIRM_ID_BYTES)
		return true;
	struct str id = str_cut(value, 0, CONFIRM_ID_BYTES);
	login_cookie_name(x, LOGIN_OF_QUESTION, id, name);
	x->is_confirmed = web_cookie(x->request, name, &cookie) &&
	    is_equal_secret(cookie, value);
	if (x->is_confirmed)
		login_set_cookie(x, LOGIN_OF_QUESTION, id, STR(""));
	return true;
}

static void
answer_question(struct login_request *x)
{
	struct login_page_field fields[OWN_FIELDS + OAUTH_PARAMS_MAX];
	FREED(buf_free) struct buf html = BUF_INIT;
	struct str value = login_make_secret(x);
	size_t n = 0;

	fields[n++] = (struct login_page_field){ STR("uuid"), x->user.uuid };
	fields[n++] = (struct login_page_field){ STR("subdomain"),
	    x->user.subdomain };
	if (x->is_reset)
		fields[n++] = (struct login_page_field){ STR("reset"),
		    STR("1") };
	if (x->ticket_text.n > 0)
		fields[n++] = (struct login_page_field){ STR("ticket"),
		    x->ticket_text };
	fields[n++] = (struct login_page_field){ STR(CONFIRM), value };
	for (size_t i = 0; i < x->declared->params_n; i++)
		if (x->values[i].n > 0)
			fields[n++] = (struct login_page_field){
			    x->declared->params[i].name, x->values[i] };
	const struct login_page_question q = {
		.title = external_connector_title(x->connector->connector),
		.subdomain = x->user.subdomain, .uuid = x->user.uuid,
		.name = x->ticket.name, .is_reset = x->is_reset,
		.fields = fields, .fields_n = n };
	login_page_put_question(&q, &html);
	login_set_cookie(x, LOGIN_OF_QUESTION, str_cut(value, 0,
	    CONFIRM_ID_BYTES), value);
	login_answer_page(x, buf_str(&html), "asked");
}

/* ---- 302 ---------------------------------------------------------------- */

static enum err
store_login(struct login_request *x, struct store *st, struct why *w)
{
	return store_login_put(st, &x->door->key, &x->login, clock_wall(), w);
}

static void
redirect_to_provider(struct login_request *x)
{
	if (x->result != OK) {
		login_refuse_result(x);
		return;
	}
	login_set_cookie(x, LOGIN_OF_STATE, x->login.state, x->login.cookie);
	web_add_field(x->request, "Location", arena_copy(&x->arena,
	    x->start.url).p);
	login_note(x, "begun");
	web_answer(x->request, 302, NULL, STR(""));
	login_request_free(&x);
}

static void
login_started(struct provider_start *s)
{
	struct login_request *x = s->arg;

	if (!s->ok) {
		login_refuse_fault(x, &s->fault);
		return;
	}
	x->login = (struct store_login){ .user = x->user, .state = s->state,
	    .cookie = login_make_secret(x), .text = s->text };
	login_request_ask(x, store_login, redirect_to_provider);
}

static void
start_login(struct login_request *x)
{
	x->start = (struct provider_start){ .door = x->door,
	    .connector = x->connector, .values = x->values,
	    .redirect_uri = login_redirect_uri(x),
	    .select_account = x->is_reset, .arena = &x->arena,
	    .done = login_started, .arg = x };
	provider_start(&x->start);
}

/* ---- What the store says ------------------------------------------------ */

static enum err
use_ticket(struct login_request *x, struct store *st, struct why *w)
{
	struct why first = WHY_INIT;
	enum err e = x->ticket_text.n == 0 ? OK : store_ticket_use(st,
	    x->backend->name, x->ticket.id, x->ticket.expires, clock_wall(),
	    &first);

	return e == OK ? OK : why(w, e, "%s", first.text);
}

static enum err
look_at_user(struct login_request *x, struct store *st, struct why *w)
{
	enum err e = login_request_find_grant(x, st, w);
	bool changes = !x->stands || x->is_reset;

	x->is_asked = e == OK && changes && !x->is_confirmed;
	if (e != OK || x->is_asked)
		return e;
	e = use_ticket(x, st, w);
	if (e == OK && x->is_reset)
		e = store_grant_clear(st, &x->door->key, &x->user, &x->arena,
		    &x->ended, &x->was, w);
	return e;
}

/* One commit: a ticket that was used has had its effect. */
static enum err
look_at_user_once(struct login_request *x, struct store *st, struct why *w)
{
	enum err e = store_begin(st, w);

	return e == OK ? store_end(st, look_at_user(x, st, w), w) : e;
}

static void
user_looked_at(struct login_request *x)
{
	if (x->result == ERR_EXISTS) {
		login_refuse(x, 403, "The launch ticket has been used.");
	} else if (x->result != OK) {
		login_refuse_result(x);
	} else if (x->is_asked) {
		answer_question(x);
	} else if (x->stands && !x->is_reset) {
		login_answer_end(x, "stands");
	} else {
		if (x->ended)
			provider_end_grant(x->door, &x->was);
		start_login(x);
	}
}

/* ---- The request -------------------------------------------------------- */

/* False: refused, answered and freed. */
static bool
read_values(struct login_request **xp)
{
	struct login_request *x = *xp;

	for (size_t i = 0; i < x->declared->params_n; i++) {
		struct str value = STR_NONE;
		struct why w = WHY_INIT;
		if (!login_request_param(xp, x->declared->params[i].name.p,
		    &value))
			return false;
		if (oauth_param_read(x->declared, i, value, &x->arena,
		    &x->values[i], &w) == OK)
			continue;
		login_refuse(x, 400, "%s", w.text);
		*xp = NULL;
		return false;
	}
	return true;
}

/* Codes and cookies stay on this machine, or go over TLS. */
static bool
is_private(struct login_request *x)
{
	struct str uri = login_redirect_uri(x);

	return str_starts(uri, STR("https:")) || external_url_is_loopback(uri);
}

/* False: refused, answered and freed. */
static bool
check_provider(struct login_request **xp)
{
	const char *refusal = !is_private(*xp) ? "Signing in needs HTTPS: set "
	    "http.tls_cert and http.tls_key, or external.public_url to the "
	    "https address of a proxy." :
	    provider_refusal((*xp)->door, (*xp)->connector);

	if (refusal == NULL)
		return true;
	login_refuse(*xp, 503, "%s", refusal);
	*xp = NULL;
	return false;
}

void
external_get_login(struct web_request *r)
{
	struct str reset = STR_NONE;

	/* A mail scanner's look at a link changes nothing. */
	if (web_is_head(r)) {
		web_answer(r, 200, "text/html; charset=utf-8", STR(""));
		return;
	}
	struct login_request *x = login_request_new(r, "login", true);
	if (x == NULL)
		return;
	if (!is_navigation(r)) {
		login_refuse(x, 403, "This address is opened in a window of "
		    "its own, and by no other request of a page.");
		return;
	}
	if (!login_request_admit(&x, JWT_LOGIN) ||
	    !login_request_param(&x, "reset", &reset) || !read_values(&x) ||
	    !check_provider(&x) || !read_confirmation(&x))
		return;
	x->is_reset = str_eq(reset, STR("1"));
	login_request_ask(x, look_at_user_once, user_looked_at);
}
