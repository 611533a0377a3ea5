/*
 * Replies of providers.
 *
 *     2xx without an error   ─► tokens, profile, client
 *     an error code          ─► by the code (RFC 6749 §4.1.2.1, §5.2)
 *     else                   ─► by the status
 *
 * A code is looked for whatever the status is: some providers refuse with 200.
 */
#include "engine/external/oauth_flow.h"

#include "base/text.h"
#include "engine/connector/items.h"
#include "engine/connector/url_text.h"
#include "engine/external/external_own.h"
#include "engine/external/oauth_own.h"

#define CODE_BYTES_MAX 64u
/* A lifetime that is longer has no end for us. */
#define LIFE_S_MAX (INT64_C(100) * 365 * 86400)

static const char *const actor_texts[] = {
#define ACTOR_TEXT(name, text) text,
	OAUTH_ACTORS(ACTOR_TEXT)
#undef ACTOR_TEXT
};

const char *
oauth_actor_text(enum oauth_actor actor)
{
	return actor_texts[actor];
}

/* ---- Faults ------------------------------------------------------------ */

/* Returns false, as those that read a reply do then. */
static bool
put_fault(struct oauth_fault *f, enum oauth_actor actor, const char *text)
{
	*f = (struct oauth_fault){ .actor = actor };
	snprintf(f->text, sizeof(f->text), "%s", text);
	return false;
}

struct code_row {
	const char *code;
	enum oauth_actor actor;
	bool is_invalid_grant;
};

static const struct code_row code_rows[] = {
	{ "access_denied", OAUTH_ACTOR_USER, false },
	{ "login_required", OAUTH_ACTOR_USER, false },
	{ "consent_required", OAUTH_ACTOR_USER, false },
	{ "interaction_required", OAUTH_ACTOR_USER, false },
	{ "account_selection_required", OAUTH_ACTOR_USER, false },
	{ "invalid_grant", OAUTH_ACTOR_USER, true },
	{ "invalid_token", OAUTH_ACTOR_USER, false },
	{ "server_error", OAUTH_ACTOR_LATER, false },
	{ "temporarily_unavailable", OAUTH_ACTOR_LATER, false },
	{ "slow_down", OAUTH_ACTOR_LATER, false },
	{ "invalid_client", OAUTH_ACTOR_OPERATOR, false },
	{ "invalid_request", OAUTH_ACTOR_OPERATOR, false },
	{ "invalid_scope", OAUTH_ACTOR_OPERATOR, false },
	{ "unauthorized_client", OAUTH_ACTOR_OPERATOR, false },
	{ "unsupported_grant_type", OAUTH_ACTOR_OPERATOR, false },
	{ "unsupported_response_type", OAUTH_ACTOR_OPERATOR, false },
	{ "unsupported_token_type", OAUTH_ACTOR_OPERATOR, false },
};

/* Only a code, since a text could repeat what we have sent. */
static bool
is_code(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alpha(s.p[i]) && !ascii_is_digit(s.p[i]) &&
		    s.p[i] != '_' && s.p[i] != '-' && s.p[i] != '.')
			return false;
	return s.n > 0 && s.n <= CODE_BYTES_MAX;
}

static enum oauth_actor
actor_of_status(int status)
{
	if (status == 408 || status == 429 || status >= 500)
		return OAUTH_ACTOR_LATER;
	return OAUTH_ACTOR_OPERATOR;
}

/* `status` 0: it came in a callback. */
static bool
refuse_code(int status, struct str code, struct oauth_fault *f)
{
	size_t i = STR_ROW(code, code_rows);
	bool known = i < ARRAY_LEN(code_rows);

	*f = (struct oauth_fault){
		.actor = known ? code_rows[i].actor : actor_of_status(status),
		.is_invalid_grant = known && code_rows[i].is_invalid_grant,
		.is_invalid_client = str_eq(code, STR("invalid_client")),
	};
	if (!is_code(code))
		code = STR("an error");
	if (status == 0)
		snprintf(f->text, sizeof(f->text), "the provider answered "
		    "%.*s", STR_FMT(code));
	else
		snprintf(f->text, sizeof(f->text), "the provider answered "
		    "%.*s (status %d)", STR_FMT(code), status);
	return false;
}

static bool
refuse_status(int status, struct oauth_fault *f)
{
	put_fault(f, actor_of_status(status), "");
	if (status >= 300 && status < 400)
		snprintf(f->text, sizeof(f->text), "the provider answered with"
		    " a redirect (status %d), which is not followed", status);
	else
		snprintf(f->text, sizeof(f->text), "the provider answered with"
		    " status %d", status);
	return false;
}

void
oauth_callback_fault(struct str code, struct oauth_fault *f)
{
	refuse_code(0, code, f);
}

/* ---- Bodies ------------------------------------------------------------ */

static bool
is_success(int status)
{
	return status >= 200 && status < 300;
}

static void
free_doc(yyjson_doc **doc)
{
	yyjson_doc_free(*doc);
}

/* The object of a reply; NULL: it is none, or too large or deep. */
static yyjson_doc *
read_object(struct str body)
{
	if (body.n == 0 || body.n > OAUTH_REPLY_BYTES_MAX)
		return NULL;
	yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)body.p, body.n,
	    YYJSON_READ_BIGNUM_AS_RAW, NULL, NULL);
	yyjson_val *root = yyjson_doc_get_root(doc);
	if (doc != NULL && (!yyjson_is_obj(root) ||
	    json_is_deeper_than(root, OAUTH_REPLY_DEPTH_MAX))) {
		yyjson_doc_free(doc);
		doc = NULL;
	}
	return doc;
}

/* Read a reply that must be an object; NULL: `f` says why. */
static yyjson_doc *
read_reply(int status, struct str body, struct oauth_fault *f)
{
	yyjson_doc *doc = read_object(body);
	yyjson_val *error = yyjson_obj_get(yyjson_doc_get_root(doc), "error");

	if (json_text(error).n > 0)
		refuse_code(status, json_text(error), f);
	else if (!is_success(status))
		refuse_status(status, f);
	else if (doc == NULL)
		put_fault(f, OAUTH_ACTOR_OPERATOR, "the provider's reply is "
		    "not a JSON object");
	else
		return doc;
	yyjson_doc_free(doc);
	return NULL;
}

/* Goes into a header or a form later. */
static bool
is_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~')
			return false;
	return s.n > 0 && s.n <= OAUTH_TOKEN_BYTES_MAX;
}

/* ---- What is told about the account ------------------------------------ */

/* A text or a number; empty when it is absent or no text of one line. */
static struct str
text_at(yyjson_val *root, struct str pointer, size_t bytes_max,
    struct arena *a)
{
	struct str s = json_id(yyjson_ptr_getn(root, pointer.p, pointer.n),
	    a);

	if (pointer.n == 0 || s.n == 0 || s.n > bytes_max ||
	    text_has_control(s) || !text_is_utf8(s))
		return STR_NONE;
	return arena_copy(a, s);
}

/* What the declaration's pointers find.  False: the account, without which no
 * login could be known to be the same again. */
static bool
read_account(const struct oauth_declaration *d, yyjson_val *root,
    struct arena *a, struct oauth_account *out, struct oauth_fault *f)
{
	*out = (struct oauth_account){
		.account = text_at(root, d->account, OAUTH_ACCOUNT_BYTES_MAX,
		    a),
		.name = text_at(root, d->name, OAUTH_NAME_BYTES_MAX, a),
		.email = text_at(root, d->email, OAUTH_NAME_BYTES_MAX, a),
	};
	if (str_find_char(out->email, '@') == out->email.n)
		out->email = STR_NONE;
	return d->account.n == 0 || out->account.n > 0 || put_fault(f,
	    OAUTH_ACTOR_OPERATOR, "the provider's reply does not name the "
	    "account");
}

bool
oauth_read_profile(const struct oauth_flow *flow, int status, struct str body,
    struct arena *a, struct oauth_account *out, struct oauth_fault *f)
{
	FREED(free_doc) yyjson_doc *doc = read_reply(status, body, f);

	/* The token was just given: the provider has changed its mind. */
	if (doc == NULL && (status == 401 || status == 403))
		f->actor = OAUTH_ACTOR_USER;
	return doc != NULL && read_account(flow->declared,
	    yyjson_doc_get_root(doc), a, out, f);
}

/* ---- Tokens of OAuth 2.0 ----------------------------------------------- */

/* Seconds of a member; 0: it is absent, not a number or not above 0. */
static int64_t
read_life(yyjson_val *root, const char *name)
{
	int64_t seconds = 0;

	if (!external_value_read_int(yyjson_obj_get(root, name), &seconds) ||
	    seconds < 0 || seconds > LIFE_S_MAX)
		return 0;
	return seconds;
}

static struct wall
end_of_life(struct wall now, int64_t life_s)
{
	return life_s == 0 ? OAUTH_NEVER :
	    (struct wall){ now.us + life_s * US_PER_S };
}

/* The refresh token, or that from before. */
static bool
read_refresh(yyjson_val *root, const struct oauth_tokens *before,
    struct wall now, struct arena *a, struct oauth_tokens *t)
{
	struct str refresh = json_text(yyjson_obj_get(root, "refresh_token"));
	/* The first is Google's and GitHub's, the second Keycloak's. */
	int64_t life = read_life(root, "refresh_token_expires_in");

	if (life == 0)
		life = read_life(root, "refresh_expires_in");
	t->refresh_ends = end_of_life(now, life);
	if (refresh.n == 0 && before != NULL) {
		refresh = before->refresh;
		if (life == 0)
			t->refresh_ends = before->refresh_ends;
	}
	if (refresh.n == 0)
		return true;
	t->refresh = arena_copy(a, refresh);
	return is_token(refresh);
}

static void
add_former(struct oauth_tokens *t, struct str token, struct arena *a)
{
	size_t bytes = token.n;

	for (size_t i = 0; i < t->former_n; i++)
		bytes += t->former[i].n;
	if (t->former_n < OAUTH_FORMER_MAX && bytes <= OAUTH_FORMER_BYTES_MAX)
		t->former[t->former_n++] = arena_copy(a, token);
}

static void
keep_former(struct oauth_tokens *t, const struct oauth_tokens *before,
    struct arena *a)
{
	/* Some providers give the same one until it ends. */
	if (!str_eq(before->access, t->access))
		add_former(t, before->access, a);
	for (size_t i = 0; i < before->former_n; i++)
		add_former(t, before->former[i], a);
}

static bool
read_tokens2(const struct oauth_flow *flow, yyjson_val *root,
    const struct oauth_tokens *before, struct arena *a,
    struct oauth_tokens *t, struct oauth_fault *f)
{
	struct str access = json_text(yyjson_obj_get(root, "access_token"));
	yyjson_val *type = yyjson_obj_get(root, "token_type");
	int64_t life = read_life(root, "expires_in");

	if (!is_token(access))
		return put_fault(f, OAUTH_ACTOR_OPERATOR, "the provider's "
		    "reply has no access token that could be used");
	/* RFC 6749 §5.1 asks for it; some leave it out. */
	if (type != NULL && !str_eq_nocase(json_text(type), STR("bearer")))
		return put_fault(f, OAUTH_ACTOR_OPERATOR, "the provider's "
		    "token is not of type bearer");
	t->access = arena_copy(a, access);
	t->access_ends = end_of_life(flow->now, life);
	if (before != NULL)
		keep_former(t, before, a);
	if (!read_refresh(root, before, flow->now, a, t))
		return put_fault(f, OAUTH_ACTOR_OPERATOR, "the provider's "
		    "refresh token could not be used");
	t->expiry = t->refresh.n > 0 ? t->refresh_ends : t->access_ends;
	if (t->refresh.n > 0 && life > 0)
		t->refresh_at.us = flow->now.us + life * US_PER_S / 10 * 9;
	return true;
}

/* ---- Tokens of OAuth 1.0a ---------------------------------------------- */

/* A form's pair; STR_NONE: there is none. */
static struct str
form_value(struct str form, const char *name, struct arena *a)
{
	struct str query = arena_printf(a, "?%.*s", STR_FMT(form)), value;

	return url_text_find(query, name, a, &value) ? value : STR_NONE;
}

/* A reply to a signed request (RFC 5849 §2.1, §2.3). */
static bool
read_form(int status, struct str body, struct arena *a, struct str *token,
    struct str *secret, struct oauth_fault *f)
{
	if (!is_success(status)) {
		refuse_status(status, f);
		/* A request token that has expired, or was refused. */
		if (status == 401)
			f->actor = OAUTH_ACTOR_USER;
		return false;
	}
	if (body.n > OAUTH_REPLY_BYTES_MAX)
		return put_fault(f, OAUTH_ACTOR_OPERATOR, "the provider's "
		    "reply is too long");
	body = str_trim(body);
	*token = form_value(body, "oauth_token", a);
	*secret = form_value(body, "oauth_token_secret", a);
	return (is_token(*token) && is_token(*secret)) || put_fault(f,
	    OAUTH_ACTOR_OPERATOR, "the provider's reply has no token and "
	    "secret that could be used");
}

bool
oauth_read_request_token(int status, struct str body, struct arena *a,
    struct str *token, struct str *secret, struct oauth_fault *f)
{
	if (!read_form(status, body, a, token, secret, f)) {
		/* No user has had a part in it. */
		if (f->actor == OAUTH_ACTOR_USER)
			f->actor = OAUTH_ACTOR_OPERATOR;
		return false;
	}
	return str_eq(form_value(str_trim(body), "oauth_callback_confirmed",
	    a), STR("true")) || put_fault(f, OAUTH_ACTOR_OPERATOR, "the "
	    "provider does not confirm the callback, so it is not OAuth "
	    "1.0a");
}

/* "/user_id" of a form. */
static struct str
form_text(struct str form, struct str pointer, size_t bytes_max,
    struct arena *a)
{
	struct str name = arena_copy(a, str_from(pointer, 1));
	struct str s = name.n > 0 ? form_value(form, name.p, a) : STR_NONE;

	return s.n > bytes_max || text_has_control(s) || !text_is_utf8(s) ?
	    STR_NONE : s;
}

static bool
read_tokens1(const struct oauth_flow *flow, int status, struct str body,
    struct arena *a, struct oauth_tokens *t, struct oauth_account *account,
    struct oauth_fault *f)
{
	const struct oauth_declaration *d = flow->declared;

	if (!read_form(status, body, a, &t->access, &t->secret, f))
		return false;
	t->access_ends = t->refresh_ends = t->expiry = OAUTH_NEVER;
	if (d->urls[OAUTH_PROFILE].n > 0)
		return true;
	body = str_trim(body);
	account->account = form_text(body, d->account,
	    OAUTH_ACCOUNT_BYTES_MAX, a);
	account->name = form_text(body, d->name, OAUTH_NAME_BYTES_MAX, a);
	return d->account.n == 0 || account->account.n > 0 || put_fault(f,
	    OAUTH_ACTOR_OPERATOR, "the provider's reply does not name the "
	    "account");
}

bool
oauth_read_tokens(const struct oauth_flow *flow, int status, struct str body,
    const struct oauth_tokens *before, struct arena *a,
    struct oauth_tokens *t, struct oauth_account *account,
    struct oauth_fault *f)
{
	const struct oauth_declaration *d = flow->declared;

	*t = (struct oauth_tokens){ .access = STR_NONE };
	*account = (struct oauth_account){ .account = STR_NONE };
	if (d->kind == OAUTH_1)
		return read_tokens1(flow, status, body, a, t, account, f);
	FREED(free_doc) yyjson_doc *doc = read_reply(status, body, f);
	yyjson_val *root = yyjson_doc_get_root(doc);
	if (doc == NULL || !read_tokens2(flow, root, before, a, t, f))
		return false;
	/* A refresh need not tell again whose tokens they are. */
	return before != NULL || d->urls[OAUTH_PROFILE].n > 0 ||
	    read_account(d, root, a, account, f);
}

/* ---- Clients and revocation -------------------------------------------- */

bool
oauth_read_client(int status, struct str body, struct arena *a,
    struct oauth_client *c, struct oauth_fault *f)
{
	FREED(free_doc) yyjson_doc *doc = read_reply(status, body, f);
	yyjson_val *root = yyjson_doc_get_root(doc);
	struct str id = json_text(yyjson_obj_get(root, "client_id"));
	struct str secret = json_text(yyjson_obj_get(root, "client_secret"));

	if (doc == NULL)
		return false;
	if (!is_token(id) || (secret.n > 0 && !is_token(secret)))
		return put_fault(f, OAUTH_ACTOR_OPERATOR, "the provider's "
		    "reply has no client that could be used");
	*c = (struct oauth_client){ arena_copy(a, id), arena_copy(a,
	    secret) };
	return true;
}

bool
oauth_read_revocation(int status, struct str body, struct oauth_fault *f)
{
	if (is_success(status))
		return true;
	/* It notes the fault, whatever the body is. */
	CHECK(read_reply(status, body, f) == NULL);
	return false;
}
