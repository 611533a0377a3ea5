/* GET and DELETE /token: the front end asks for its user's token, or ends it.
 * The token is a handle; the provider's tokens stay here. */
#include "base/json_writer.h"
#include "doors/external/handlers.h"
#include "doors/external/login_request.h"
#include "doors/external/reply.h"

#define JSON_TYPE "application/json"

/* Pages of other origins could not read the answer, and may not ask either.
 * False: refused, answered and freed. */
static bool
check_origin(struct login_request **xp)
{
	struct login_request *x = *xp;
	struct str origin;

	if (!web_field(x->request, "origin", &origin))
		return true;
	for (size_t i = 0; i < x->backend->origins_n; i++)
		if (str_eq_nocase(x->backend->origins[i], origin))
			return true;
	login_refuse(x, 403, "Pages of this origin may not ask for tokens; "
	    "`origins` of the back end names those that may.");
	*xp = NULL;
	return false;
}

/* False: refused, answered and freed. */
static bool
check_key(struct login_request **xp)
{
	if ((*xp)->door->key_fault[0] == '\0')
		return true;
	login_refuse(*xp, 503, "%s", (*xp)->door->key_fault);
	*xp = NULL;
	return false;
}

static struct login_request *
begin_call(struct web_request *r, const char *call, enum jwt_act act)
{
	struct login_request *x = login_request_new(r, call, false);

	return x != NULL && login_request_admit(&x, act) &&
	    check_origin(&x) && check_key(&x) ? x : NULL;
}

/* ---- GET ---------------------------------------------------------------- */

/* "2026-11-20T07:00:00Z" */
static void
put_date(struct buf *out, const char *name, struct wall t)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso(t, iso);
	struct str seconds = str_cut(str_of(iso), 0, 19);
	json_name(out, name);
	buf_printf(out, "\"%.*sZ\"", STR_FMT(seconds));
}

static void
answer_token(struct login_request *x)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	if (x->result != OK) {
		login_refuse_result(x);
		return;
	}
	if (!x->stands) {
		login_refuse(x, 404, "There is no token; sign in.");
		return;
	}
	json_object(&b, NULL);
	json_str(&b, "user", store_grant_account(&x->grant));
	json_str(&b, "token", x->grant.handle);
	put_date(&b, "issued", x->grant.issued);
	put_date(&b, "expiry", x->grant.expiry);
	if (x->reported_name.n > 0)
		json_str(&b, "reported_name", x->reported_name);
	if (x->email.n > 0)
		json_str(&b, "email_address", x->email);
	buf_put_char(&b, '}');
	login_note(x, "token");
	web_answer(x->request, 200, JSON_TYPE, buf_str(&b));
	explicit_bzero(b.p, b.n);
	login_request_free(&x);
}

void
external_get_token(struct web_request *r)
{
	struct login_request *x = begin_call(r, "token", JWT_TOKEN);

	if (x != NULL)
		login_request_ask(x, login_request_find_grant, answer_token);
}

/* ---- DELETE ------------------------------------------------------------- */

static enum err
clear_grant(struct login_request *x, struct store *st, struct why *w)
{
	return store_grant_clear(st, &x->door->key, &x->user, &x->arena,
	    &x->ended, &x->was, w);
}

static void
answer_cleared(struct login_request *x)
{
	if (x->result != OK) {
		login_refuse_result(x);
		return;
	}
	if (x->ended)
		provider_end_grant(x->door, &x->was);
	login_note(x, "cleared");
	reply_success(x->request, STR("{}"));
	login_request_free(&x);
}

void
external_delete_token(struct web_request *r)
{
	struct login_request *x = begin_call(r, "clear", JWT_CLEAR);

	if (x != NULL)
		login_request_ask(x, clear_grant, answer_cleared);
}

/* ---- OPTIONS and origins ------------------------------------------------ */

/* The port answers preflights of listed origins. */
void
external_options_token(struct web_request *r)
{
	web_add_field(r, "Allow", "GET, HEAD, DELETE, OPTIONS");
	web_answer(r, 204, NULL, STR(""));
}

struct str
external_token_origins(struct web_request *r)
{
	const struct external_door *d = web_arg(r);
	struct str subdomain;
	const struct backend *b = web_param(r, "subdomain", &subdomain) ?
	    login_backend_of(d->backends, subdomain) : NULL;

	return b == NULL ? STR("") : login_origins(b, web_arena(r));
}
