/*
 * oauth_flow -- signing in at a provider: what a connector's member `oauth`
 * declares, the requests that it makes, and what their replies say.
 *
 *     {"kind":"oauth2",
 *      "authorize":"https://{instance}/oauth/authorize",
 *      "token":"https://{instance}/oauth/token",
 *      "revoke":"https://{instance}/oauth/revoke",
 *      "scopes":["read"], "clientAuth":"post",
 *      "selectAccount":"force_login=true",
 *      "profile":{"url":"https://{instance}/api/v1/accounts/...",
 *        "account":"/url", "name":"/display_name"},
 *      "parameters":{"instance":"mastodon.example"},
 *      "hosts":["mastodon.example", "*.social.example"],
 *      "register":{"form":"mastodon","url":"https://{instance}/api/v1/apps"}}
 *
 *                 OAuth 2.0 (RFC 6749, PKCE)      OAuth 1.0a (RFC 5849)
 *                                                 request token
 *     browser     authorize ─► code, state        authorize ─► verifier
 *     engine      token, by code and verifier     token, by verifier
 *                 profile                         profile
 *                 refresh, revoke (RFC 7009)
 *
 * `parameters` are the oauthParameters that the connector takes, with their
 * defaults.  In an address {NAME} is the value of one: the whole host, its
 * first label, or a part of path or query.  A whole host must be a host name
 * (and one of `hosts`, if those are declared); what it resolves to is checked
 * when the connection is made (external.md §10).
 *
 * Nothing here makes a connection or reads a clock: a request is given to the
 * caller, who sends it without following redirects and gives back status and
 * body.  Requests, tokens and replies are secrets: never logged.
 *
 * Thread: any; pure.
 * Limits: OAUTH_..._MAX.
 * Source: contracts/external.md §8, §10, §11; RFC 6749, 7009, 7591, 7636, 9207;
 *         RFC 5849.
 * Story: engine/external/DESIGN.md
 */
#ifndef ENGINE_EXTERNAL_OAUTH_FLOW_H
#define ENGINE_EXTERNAL_OAUTH_FLOW_H

#include "base/arena.h"
#include "base/err.h"
#include "base/time.h"

#define OAUTH_PARAMS_MAX 10u
#define OAUTH_HOSTS_MAX 100u
#define OAUTH_SCOPES_MAX 100u
#define OAUTH_VALUE_BYTES_MAX 253u            /* of a parameter */
#define OAUTH_REPLY_BYTES_MAX ((size_t)1 << 20)
#define OAUTH_REPLY_DEPTH_MAX 32u
#define OAUTH_TOKEN_BYTES_MAX 8192u           /* or a client's secret */
#define OAUTH_ACCOUNT_BYTES_MAX 1024u
#define OAUTH_NAME_BYTES_MAX 256u             /* of a user; an address */
#define OAUTH_HEADERS_MAX 4u
#define OAUTH_FORMER_MAX 4u
#define OAUTH_FORMER_BYTES_MAX 16384u         /* of all of them */
/* 9999-12-31: what does not expire. */
#define OAUTH_NEVER ((struct wall){ INT64_C(253402214400) * US_PER_S })

/* ---- The declaration --------------------------------------------------- */

enum oauth_kind { OAUTH_2, OAUTH_1 };
enum oauth_client_auth { OAUTH_BASIC, OAUTH_POST, OAUTH_NONE };
enum oauth_form { OAUTH_RFC7591, OAUTH_MASTODON };

/* Addresses, by the member that has them. */
enum oauth_url { OAUTH_AUTHORIZE, OAUTH_TOKEN, OAUTH_REQUEST, OAUTH_REVOKE,
	OAUTH_PROFILE, OAUTH_REGISTER, OAUTH_ISSUER, OAUTH_URL_COUNT };

struct oauth_param {
	struct str name;
	struct str otherwise;        /* the default; STR_NONE: there is none */
	bool is_host, is_label;      /* of some address */
};

struct oauth_declaration {
	enum oauth_kind kind;
	enum oauth_client_auth client_auth;
	struct str urls[OAUTH_URL_COUNT];    /* STR_NONE: not declared */
	struct str scope;            /* the scopes, blanks between them */
	/* Added to `authorize` when the user is to choose an account: a name
	 * and its value; no name: nothing is added. */
	struct str select_name, select_value;
	/* JSON pointers into the profile or, without its address, into the
	 * token's reply; STR_NONE: not declared. */
	struct str account, name, email;
	enum oauth_form register_form;       /* with urls[OAUTH_REGISTER] */
	struct oauth_param params[OAUTH_PARAMS_MAX];
	size_t params_n;
	struct str *hosts;           /* none: any */
	size_t hosts_n;
};

/*
 * Read one of the oauthParameters that came with a call, or its default where
 * `value` is empty, into its normal form: a host in small letters.
 * Memory: `a`.
 * Errors: INPUT, with the parameter's name as the field.
 */
MUST_USE enum err oauth_param_read(const struct oauth_declaration *,
    size_t index, struct str value, struct arena *a, struct str *out,
    struct why *);

/* Whether the host of a declared address has the value of a parameter: then
 * users name the host, and it must be public (external.md §10). */
bool oauth_host_is_filled(const struct oauth_declaration *, enum oauth_url);

/* A host name in ASCII with at least two labels, the last one not a number: so
 * no IP address, no port and no "localhost". */
bool oauth_host_is_valid(struct str);

/* ---- Requests ---------------------------------------------------------- */

struct oauth_client {
	struct str id, secret;       /* `secret` is empty with OAUTH_NONE */
};

/* The inputs of every request for one user.  The caller owns them. */
struct oauth_flow {
	const struct oauth_declaration *declared;
	/* One for each of declared->params, from oauth_param_read(). */
	const struct str *values;
	struct oauth_client client;
	struct str redirect_uri;
	/* For OAuth 1.0a: new with each request. */
	struct str nonce;
	struct wall now;
};

struct oauth_field {
	const char *name;            /* "Authorization" */
	struct str value;
};
struct oauth_request {
	const char *method;          /* "GET", "POST" */
	struct str url;
	struct oauth_field headers[OAUTH_HEADERS_MAX];
	size_t headers_n;
	struct str body;             /* of a POST */
};

/* An address with the values in it; STR_NONE: it is not declared.  Memory:
 * `a`. */
struct str oauth_url_fill(const struct oauth_flow *, enum oauth_url,
    struct arena *a);

/* The code challenge of a verifier of 43 to 128 characters (RFC 7636 §4.2). */
struct str oauth_pkce_challenge(struct str verifier, struct arena *a);
/*
 * Where the browser is sent.  OAuth 2.0: by state and PKCE challenge (S256).
 * OAuth 1.0a: by the request token, given as `state`.
 */
struct str oauth_authorize_url(const struct oauth_flow *, struct str state,
    struct str challenge, bool select_account, struct arena *a);
/* Whether the `iss` of a callback is the provider's (RFC 9207 §2.4): the
 * declared `issuer`, or the origin of `authorize`. */
bool oauth_issuer_is(const struct oauth_flow *, struct str iss);

/*
 * Each of these makes one request.  Memory: `a`, and the caller's texts.  Those
 * of OAuth 2.0 are not for a declaration of OAuth 1.0a, and the other way
 * round; revoke, profile and register need that address (CHECK).
 */
/* OAuth 1.0a: a request token (RFC 5849 §2.1). */
struct oauth_request oauth_request_token(const struct oauth_flow *,
    struct arena *a);
/* OAuth 1.0a: the token's for the request token (§2.3). */
struct oauth_request oauth_exchange1(const struct oauth_flow *,
    struct str request_token, struct str request_secret, struct str verifier,
    struct arena *a);
/* OAuth 2.0: tokens for the code (RFC 6749 §4.1.3, RFC 7636 §4.5). */
struct oauth_request oauth_exchange(const struct oauth_flow *, struct str code,
    struct str verifier, struct arena *a);
/* New tokens for the refresh token (RFC 6749 §6). */
struct oauth_request oauth_refresh(const struct oauth_flow *,
    struct str refresh_token, struct arena *a);
/* RFC 7009 §2.1, of a refresh token or an access token. */
struct oauth_request oauth_revoke(const struct oauth_flow *, struct str token,
    bool is_refresh, struct arena *a);
/* `token_secret` is that of OAuth 1.0a, else empty. */
struct oauth_request oauth_profile(const struct oauth_flow *,
    struct str access_token, struct str token_secret, struct arena *a);
/* A client of this name, with the redirect_uri (RFC 7591 §3.1, or Mastodon's
 * POST /api/v1/apps). */
struct oauth_request oauth_register(const struct oauth_flow *,
    struct str client_name, struct arena *a);

/* ---- Replies ----------------------------------------------------------- */

/* Who has to act on a failure (external.md §3). */
#define OAUTH_ACTORS(X) X(USER, "config") X(LATER, "transient") \
	X(OPERATOR, "system")
enum oauth_actor {
#define OAUTH_ACTOR_ENUM(name, text) OAUTH_ACTOR_##name,
	OAUTH_ACTORS(OAUTH_ACTOR_ENUM)
#undef OAUTH_ACTOR_ENUM
	OAUTH_ACTOR_COUNT
};
const char *oauth_actor_text(enum oauth_actor);  /* "config" */

struct oauth_fault {
	enum oauth_actor actor;
	/* The code or refresh token is worth nothing any more (RFC 6749 §5.2):
	 * the grant is deleted, and the user signs in again. */
	bool is_invalid_grant;
	/* The provider does not know the client any more: a registered one is
	 * registered anew. */
	bool is_invalid_client;
	/* A sentence for people without secrets: it has at most the provider's
	 * error code and the status. */
	char text[200];
};

struct oauth_tokens {
	struct str access;
	struct str refresh;          /* STR_NONE: there is none */
	struct str secret;           /* of OAuth 1.0a; else STR_NONE */
	struct wall access_ends, refresh_ends;   /* or OAUTH_NEVER */
	/* When the user must sign in again: the end of the refresh token, or
	 * of the access token if there is none (external.md §8). */
	struct wall expiry;
	/* When 10 % of its life are left; us 0: it is not refreshed. */
	struct wall refresh_at;
	/* The access tokens before it, newest first: an API may repeat one, and
	 * they are cut out of archives, too. */
	struct str former[OAUTH_FORMER_MAX];
	size_t former_n;
};

struct oauth_account {
	/* STR_NONE: not declared, or (name, email) not told. */
	struct str account, name, email;
};

/*
 * All of these read the reply to one request: its status and its body.  False:
 * `fault` says why.  What is read is in `a`.
 */
/* The provider's error code in a callback (RFC 6749 §4.1.2.1). */
void oauth_callback_fault(struct str code, struct oauth_fault *);
/* OAuth 1.0a: the request token and its secret. */
bool oauth_read_request_token(int status, struct str body, struct arena *a,
    struct str *token, struct str *secret, struct oauth_fault *);
/*
 * Tokens of an exchange or a refresh, and what the reply tells about the
 * account if the declaration has a profile without an address; else `account`
 * is empty.  `before` are the tokens that were refreshed, or NULL: a refresh
 * token that is not replaced stays, with its end, and `former` begins with
 * their access token.
 */
bool oauth_read_tokens(const struct oauth_flow *, int status, struct str body,
    const struct oauth_tokens *before, struct arena *a, struct oauth_tokens *,
    struct oauth_account *account, struct oauth_fault *);
bool oauth_read_profile(const struct oauth_flow *, int status,
    struct str body, struct arena *a, struct oauth_account *,
    struct oauth_fault *);
bool oauth_read_client(int status, struct str body, struct arena *a,
    struct oauth_client *, struct oauth_fault *);
/* The token is revoked, or was already worth nothing (RFC 7009 §2.2). */
bool oauth_read_revocation(int status, struct str body,
    struct oauth_fault *);

/* ---- Kept texts -------------------------------------------------------- */

/*
 * Data that is sealed between requests, as JSON: of a login under way, and of a
 * grant.  Both have the client, since tokens are worth nothing to another one,
 * and the parameters by their names.
 */
struct oauth_pending {
	struct oauth_client client;
	struct str verifier;         /* of PKCE, or */
	struct str request_secret;   /* of the request token of OAuth 1.0a */
	struct str values[OAUTH_PARAMS_MAX];
};
struct oauth_granted {
	struct oauth_client client;
	struct oauth_tokens tokens;
	struct oauth_account account;
	struct str values[OAUTH_PARAMS_MAX];
};

void oauth_pending_write(const struct oauth_declaration *,
    const struct oauth_pending *, struct buf *out);
void oauth_granted_write(const struct oauth_declaration *,
    const struct oauth_granted *, struct buf *out);
/*
 * Read it again, perhaps by a declaration that has changed meanwhile.  Memory:
 * `a`.  Errors: CORRUPT: it is no such text; INPUT: the declaration does not
 * admit a value any more, so that the user must sign in again.
 */
MUST_USE enum err oauth_pending_read(const struct oauth_declaration *,
    struct str text, struct arena *a, struct oauth_pending *, struct why *);
MUST_USE enum err oauth_granted_read(const struct oauth_declaration *,
    struct str text, struct arena *a, struct oauth_granted *, struct why *);

#endif
