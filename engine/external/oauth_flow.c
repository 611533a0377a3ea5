/* The requests of a login, and of tokens afterwards. */
#include "engine/external/oauth_flow.h"

#include "base/json_writer.h"
#include "engine/connector/url_text.h"
#include "engine/external/oauth_own.h"
#include "wire/base64.h"
#include "wire/digest.h"
#include "wire/oauth1.h"

#define FORM STR("application/x-www-form-urlencoded")
#define CHALLENGE_METHOD STR("S256")

/* ---- Texts ------------------------------------------------------------- */

/* A text that is put together in a buffer and moved into the arena; the buffer
 * may have had a secret. */
static struct str
move_text(struct buf *b, struct arena *a)
{
	struct str s = arena_copy(a, buf_str(b));

	if (b->cap > 0)
		explicit_bzero(b->p, b->cap);
	buf_free(b);
	return s;
}

struct str
oauth_url_fill(const struct oauth_flow *f, enum oauth_url which,
    struct arena *a)
{
	const struct oauth_declaration *d = f->declared;
	struct str rest = d->urls[which], literal, name;
	struct buf b = BUF_INIT;

	if (rest.n == 0)
		return STR_NONE;
	while (oauth_take_placeholder(&rest, &literal, &name)) {
		buf_put_str(&b, literal);
		if (name.p == NULL)
			continue;
		size_t i = oauth_param_find(d, name);
		CHECK(i < d->params_n);
		/* A host has nothing that is encoded. */
		url_text_encode(&b, f->values[i]);
	}
	return move_text(&b, a);
}

/* A form of pairs: "NAME=VALUE", "&" between them. */
static void
put_pair(struct buf *form, const char *name, struct str value)
{
	if (form->n > 0)
		buf_put_char(form, '&');
	url_text_encode(form, str_of(name));
	buf_put_char(form, '=');
	url_text_encode(form, value);
}

static void
put_header(struct oauth_request *r, const char *name, struct str value)
{
	CHECK(r->headers_n < OAUTH_HEADERS_MAX);
	r->headers[r->headers_n++] = (struct oauth_field){ name, value };
}

static struct oauth_request
start_request(const struct oauth_flow *f, const char *method,
    enum oauth_url which, struct arena *a)
{
	struct oauth_request r = { .method = method,
		.url = oauth_url_fill(f, which, a) };

	CHECK(r.url.n > 0);
	put_header(&r, "Accept", STR("application/json"));
	return r;
}

/* ---- The browser ------------------------------------------------------- */

struct str
oauth_pkce_challenge(struct str verifier, struct arena *a)
{
	struct buf b = BUF_INIT;
	struct digest d;

	digest_of(DIGEST_SHA256, verifier, &d);
	base64url_put(&b, (struct str){ (const char *)d.bytes,
	    digest_size(d.kind) });
	return move_text(&b, a);
}

struct str
oauth_authorize_url(const struct oauth_flow *f, struct str state,
    struct str challenge, bool select_account, struct arena *a)
{
	const struct oauth_declaration *d = f->declared;
	struct buf b = BUF_INIT;

	buf_put_str(&b, oauth_url_fill(f, OAUTH_AUTHORIZE, a));
	if (d->kind == OAUTH_1) {
		url_text_param(&b, "oauth_token", state);
	} else {
		url_text_param(&b, "response_type", STR("code"));
		url_text_param(&b, "client_id", f->client.id);
		url_text_param(&b, "redirect_uri", f->redirect_uri);
		if (d->scope.n > 0)
			url_text_param(&b, "scope", d->scope);
		url_text_param(&b, "state", state);
		url_text_param(&b, "code_challenge", challenge);
		url_text_param(&b, "code_challenge_method", CHALLENGE_METHOD);
	}
	if (select_account && d->select_name.n > 0)
		url_text_param(&b, arena_copy(a, d->select_name).p,
		    d->select_value);
	return move_text(&b, a);
}

bool
oauth_issuer_is(const struct oauth_flow *f, struct str iss)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str declared = oauth_url_fill(f, OAUTH_ISSUER, &a);

	if (declared.n > 0)
		return str_eq(iss, declared);
	/* The origin, which some write with a "/". */
	struct str url = oauth_url_fill(f, OAUTH_AUTHORIZE, &a);
	size_t end = str_find(url, STR("://")) + strlen("://");
	while (end < url.n && url.p[end] != '/' && url.p[end] != '?')
		end++;
	if (str_ends(iss, STR("/")))
		iss.n--;
	return str_eq_nocase(iss, str_cut(url, 0, end));
}

/* ---- OAuth 2.0 --------------------------------------------------------- */

/* Name and secret in the head (RFC 6749 §2.3.1): a form's encoding, then
 * Basic's. */
static void
put_basic(const struct oauth_flow *f, struct oauth_request *r,
    struct arena *a)
{
	struct buf pair = BUF_INIT, b = BUF_INIT;

	buf_reserve(&pair, 3 * (f->client.id.n + f->client.secret.n) + 1);
	url_text_encode(&pair, f->client.id);
	buf_put_char(&pair, ':');
	url_text_encode(&pair, f->client.secret);
	struct str plain = move_text(&pair, a);
	buf_reserve(&b, 6 + BASE64_LENGTH(plain.n));
	buf_put_text(&b, "Basic ");
	base64_put(&b, plain);
	put_header(r, "Authorization", move_text(&b, a));
}

/* Add the client to a form, or to the head, and end the request. */
static void
end_form(const struct oauth_flow *f, struct oauth_request *r,
    struct buf *form, struct arena *a)
{
	const struct oauth_declaration *d = f->declared;

	CHECK(d->kind == OAUTH_2);
	if (d->client_auth == OAUTH_BASIC) {
		put_basic(f, r, a);
	} else {
		put_pair(form, "client_id", f->client.id);
		if (d->client_auth == OAUTH_POST)
			put_pair(form, "client_secret", f->client.secret);
	}
	put_header(r, "Content-Type", FORM);
	r->body = move_text(form, a);
}

struct oauth_request
oauth_exchange(const struct oauth_flow *f, struct str code,
    struct str verifier, struct arena *a)
{
	struct oauth_request r = start_request(f, "POST", OAUTH_TOKEN, a);
	struct buf form = BUF_INIT;

	put_pair(&form, "grant_type", STR("authorization_code"));
	put_pair(&form, "code", code);
	put_pair(&form, "redirect_uri", f->redirect_uri);
	put_pair(&form, "code_verifier", verifier);
	end_form(f, &r, &form, a);
	return r;
}

struct oauth_request
oauth_refresh(const struct oauth_flow *f, struct str refresh_token,
    struct arena *a)
{
	struct oauth_request r = start_request(f, "POST", OAUTH_TOKEN, a);
	struct buf form = BUF_INIT;

	put_pair(&form, "grant_type", STR("refresh_token"));
	put_pair(&form, "refresh_token", refresh_token);
	end_form(f, &r, &form, a);
	return r;
}

struct oauth_request
oauth_revoke(const struct oauth_flow *f, struct str token, bool is_refresh,
    struct arena *a)
{
	struct oauth_request r = start_request(f, "POST", OAUTH_REVOKE, a);
	struct buf form = BUF_INIT;

	put_pair(&form, "token", token);
	put_pair(&form, "token_type_hint", is_refresh ?
	    STR("refresh_token") : STR("access_token"));
	end_form(f, &r, &form, a);
	return r;
}

/* ---- OAuth 1.0a -------------------------------------------------------- */

/* Sign a request that has no body. */
static void
sign_request(const struct oauth_flow *f, struct oauth_request *r,
    const struct oauth1_keys *keys, struct str callback, struct str verifier,
    struct arena *a)
{
	struct oauth1_request signed_one = { .method = str_of(r->method),
		.url = r->url, .nonce = f->nonce,
		.timestamp_s = wall_s(f->now), .has_version = true,
		.callback = callback, .verifier = verifier };
	struct buf b = BUF_INIT;

	CHECK(f->declared->kind == OAUTH_1);
	oauth1_put_header(keys, &signed_one, &b);
	put_header(r, "Authorization", move_text(&b, a));
}

struct oauth_request
oauth_request_token(const struct oauth_flow *f, struct arena *a)
{
	struct oauth_request r = start_request(f, "POST", OAUTH_REQUEST, a);
	struct oauth1_keys keys = { .consumer = f->client.id,
		.consumer_secret = f->client.secret };

	sign_request(f, &r, &keys, f->redirect_uri, STR_NONE, a);
	return r;
}

struct oauth_request
oauth_exchange1(const struct oauth_flow *f, struct str request_token,
    struct str request_secret, struct str verifier, struct arena *a)
{
	struct oauth_request r = start_request(f, "POST", OAUTH_TOKEN, a);
	struct oauth1_keys keys = { f->client.id, f->client.secret,
		request_token, request_secret };

	sign_request(f, &r, &keys, STR_NONE, verifier, a);
	return r;
}

/* ---- Profile ----------------------------------------------------------- */

struct oauth_request
oauth_profile(const struct oauth_flow *f, struct str access_token,
    struct str token_secret, struct arena *a)
{
	struct oauth_request r = start_request(f, "GET", OAUTH_PROFILE, a);
	struct oauth1_keys keys = { f->client.id, f->client.secret,
		access_token, token_secret };
	struct buf b = BUF_INIT;

	if (f->declared->kind == OAUTH_1) {
		sign_request(f, &r, &keys, STR_NONE, STR_NONE, a);
		return r;
	}
	buf_reserve(&b, 7 + access_token.n);
	buf_put_text(&b, "Bearer ");
	buf_put_str(&b, access_token);
	put_header(&r, "Authorization", move_text(&b, a));
	return r;
}

/* ---- Registration ------------------------------------------------------ */

/* RFC 7591 §2. */
static struct str
client_metadata(const struct oauth_flow *f, struct str name, struct arena *a)
{
	static const char *const methods[] = { [OAUTH_BASIC] =
		"client_secret_basic", [OAUTH_POST] = "client_secret_post",
		[OAUTH_NONE] = "none" };
	const struct oauth_declaration *d = f->declared;
	const struct str grants[] = { STR("authorization_code"),
		STR("refresh_token") };
	const struct str responses[] = { STR("code") };
	struct buf b = BUF_INIT;

	json_object(&b, NULL);
	json_str(&b, "client_name", name);
	json_strs(&b, "redirect_uris", &f->redirect_uri, 1);
	json_strs(&b, "grant_types", grants, ARRAY_LEN(grants));
	json_strs(&b, "response_types", responses, ARRAY_LEN(responses));
	json_str(&b, "token_endpoint_auth_method",
	    str_of(methods[d->client_auth]));
	if (d->scope.n > 0)
		json_str(&b, "scope", d->scope);
	buf_put_char(&b, '}');
	return move_text(&b, a);
}

struct oauth_request
oauth_register(const struct oauth_flow *f, struct str client_name,
    struct arena *a)
{
	const struct oauth_declaration *d = f->declared;
	struct oauth_request r = start_request(f, "POST", OAUTH_REGISTER, a);
	struct buf form = BUF_INIT;

	if (d->register_form == OAUTH_RFC7591) {
		put_header(&r, "Content-Type", STR("application/json"));
		r.body = client_metadata(f, client_name, a);
		return r;
	}
	put_pair(&form, "client_name", client_name);
	put_pair(&form, "redirect_uris", f->redirect_uri);
	if (d->scope.n > 0)
		put_pair(&form, "scopes", d->scope);
	put_header(&r, "Content-Type", FORM);
	r.body = move_text(&form, a);
	return r;
}
