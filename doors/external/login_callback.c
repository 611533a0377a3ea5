/*
 * GET /callback: the provider sends the browser back, with a code or an error.
 *
 *     state and its cookie ─► the login is taken from the store, once
 *         ─► the code ─► tokens, profile, grant (provider_finish())
 *         ─► the page that closes the popup
 */
#include "doors/external/handlers.h"
#include "doors/external/login_request.h"
#include "os/clock.h"
#include "os/log.h"

#define GONE "This login is over: it was finished before, more than 10 " \
	"minutes have passed, or another browser has begun it."

/* ---- The end ------------------------------------------------------------ */

static void
login_finished(struct provider_finish *f)
{
	struct login_request *x = f->arg;

	if (f->ok)
		login_answer_end(x, "signed_in");
	else
		login_refuse_fault(x, &f->fault);
}

/* The back end and its subdomain may be gone since the login began. */
static bool
find_owner(struct login_request *x)
{
	x->backend = login_backend_of(x->set, x->user.subdomain);
	if (x->backend != NULL && str_eq(x->backend->name, x->user.backend))
		return true;
	x->backend = NULL;
	return false;
}

static void
finish_login(struct login_request *x)
{
	struct str iss = STR_NONE;

	if (!login_request_param(&x, "iss", &iss))
		return;
	x->finish.door = x->door;
	x->finish.connector = x->connector;
	x->finish.user = x->user;
	x->finish.text = x->login.text;
	x->finish.state = x->login.state;
	x->finish.code = x->code;
	x->finish.iss = iss;
	x->finish.redirect_uri = login_redirect_uri(x);
	x->finish.arena = &x->arena;
	x->finish.done = login_finished;
	x->finish.arg = x;
	provider_finish(&x->finish);
}

static void
login_taken(struct login_request *x)
{
	struct oauth_fault fault = { .text = "" };

	if (x->result == ERR_CORRUPT)
		log_error("external.login", "why=%s", log_why(&x->why));
	if (x->result == ERR_ABSENT || x->result == ERR_CORRUPT) {
		login_refuse(x, 403, GONE);
		return;
	}
	if (x->result != OK) {
		login_refuse_result(x);
		return;
	}
	login_set_cookie(x, LOGIN_OF_STATE, x->login.state, STR(""));
	x->user = x->login.user;
	if (!find_owner(x)) {
		login_refuse(x, 403, "The back end of this login is not "
		    "configured any more.");
	} else if (x->fault.n > 0) {
		oauth_callback_fault(x->fault, &fault);
		login_refuse_fault(x, &fault);
	} else {
		finish_login(x);
	}
}

static enum err
take_login(struct login_request *x, struct store *st, struct why *w)
{
	return store_login_take(st, &x->door->key, x->connector->name,
	    x->login.state, x->login.cookie, clock_wall(), &x->arena,
	    &x->login, w);
}

/* ---- The request -------------------------------------------------------- */

/* Each reads the callback's parameters; false: refused, answered and freed. */

static bool
read_oauth1(struct login_request **xp)
{
	struct login_request *x = *xp;
	struct str denied;

	if (!login_request_param(xp, "oauth_token", &x->login.state) ||
	    !login_request_param(xp, "oauth_verifier", &x->code) ||
	    !login_request_param(xp, "denied", &denied))
		return false;
	if (x->login.state.n == 0)
		x->login.state = denied;
	/* Some providers come back without a verifier when the user says no. */
	if (x->code.n == 0)
		x->fault = STR("access_denied");
	return true;
}

static bool
read_oauth2(struct login_request **xp)
{
	struct login_request *x = *xp;

	return login_request_param(xp, "state", &x->login.state) &&
	    login_request_param(xp, "code", &x->code) &&
	    login_request_param(xp, "error", &x->fault);
}

void
external_get_callback(struct web_request *r)
{
	char name[LOGIN_COOKIE_NAME_BYTES];

	if (web_is_head(r)) {
		web_answer(r, 200, "text/html; charset=utf-8", STR(""));
		return;
	}
	struct login_request *x = login_request_new(r, "callback", true);
	if (x == NULL || !(x->declared->kind == OAUTH_1 ? read_oauth1(&x) :
	    read_oauth2(&x)))
		return;
	if (x->login.state.n == 0 || x->login.state.n > STORE_SECRET_BYTES_MAX)
		login_refuse(x, 400, x->login.state.n == 0 ?
		    "state: it is missing" : "state: it is too long");
	else if (x->code.n == 0 && x->fault.n == 0)
		login_refuse(x, 400, "code: it is missing");
	else {
		login_cookie_name(x, LOGIN_OF_STATE, x->login.state, name);
		if (!web_cookie(r, name, &x->login.cookie) ||
		    x->login.cookie.n == 0 ||
		    x->login.cookie.n > STORE_SECRET_BYTES_MAX)
			login_refuse(x, 403, GONE);
		else
			login_request_ask(x, take_login, login_taken);
	}
}
