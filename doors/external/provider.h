/*
 * provider -- what the door asks of OAuth providers: a client, tokens for a
 * login, and the end of tokens.
 *
 *     provider_start()   client ─► (request token) ─► state, address
 *         └─ the caller: store_login_put(), 302 to the address ... callback,
 *            store_login_take()
 *     provider_finish()  code ─► tokens ─► profile ─► store_grant_put()
 *     provider_end_grant()  tokens ─► revoked, tried for an hour
 *
 * The client of a connector is that of external.clients_file; without one, a
 * connector that declares `register` registers itself once for each address of
 * registration, and the store keeps that client (store_client_put()).
 *
 * Calls go out on the thread of caller.h, with https, without redirects, and
 * with the certificates of fetch.ca_file or the system.  A host that the
 * declaration spells out may be a private address, and on loopback plain HTTP;
 * one that an oauthParameters value fills must be public (external.md §10).
 * Tokens, codes, clients' secrets and replies are in no log and no fault.
 *
 * Thread: the main loop's.
 * Limits: PROVIDER_..._MAX; external.call_ms for each call.
 * Source: contracts/external.md §8, §10; RFC 6749, 7009, 7591, 5849.
 * Story:  doors/external/DESIGN.md
 */
#ifndef DOORS_EXTERNAL_PROVIDER_H
#define DOORS_EXTERNAL_PROVIDER_H

#include "doors/external/external_door.h"
#include "engine/external/oauth_flow.h"
#include "engine/store/store_grant.h"

/* How long a token's revocation is tried, and the first and longest pause
 * between two tries. */
#define PROVIDER_REVOKE_MS_MAX INT64_C(3600000)
#define PROVIDER_REVOKE_PAUSE_MS_MIN INT64_C(1000)
#define PROVIDER_REVOKE_PAUSE_MS_MAX INT64_C(300000)
/* Revocations that are waiting or under way; the oldest is given up above. */
#define PROVIDER_REVOKES_MAX 1000u

/*
 * NULL, or why nobody can sign in to this connector now, as a sentence for an
 * answer with 503: the key that seals tokens could not be read, daemons that
 * share a store have no secrets.key_file, or there is neither an entry of
 * external.clients_file nor a `register` in the declaration.  Valid until the
 * next turn of the loop.  The connector declares `oauth`.
 *
 * While this returns NULL, door->key is the key for store_grant.h's calls.
 */
const char *provider_refusal(const struct external_door *,
    const struct held_connector *);

/* ---- A login begins ----------------------------------------------------- */

struct provider_start {
	/* The caller fills these; they live until done(). */
	struct external_door *door;
	struct held_connector *connector;    /* declares `oauth` */
	const struct str *values;    /* oauth_param_read()'s, one for each */
	struct str redirect_uri;     /* "{oauth}/callback", absolute */
	bool select_account;         /* the user is to choose an account */
	struct arena *arena;         /* of the outcome; outlives done() */
	void (*done)(struct provider_start *);
	void *arg;

	/* The outcome. */
	bool ok;
	struct oauth_fault fault;    /* unless ok */
	/* For struct store_login.  `state` is 256 random bits in base64url, or
	 * the request token of OAuth 1.0a; `text` has the client, the PKCE
	 * verifier or the request token's secret, and the values: a secret. */
	struct str state, text;
	struct str url;              /* where the browser is sent */
};
/*
 * Begin a login.  done() is called once, later, never before this returns, also
 * when the daemon ends; the connector is held until then.  Nothing was stored
 * but perhaps a registered client, so that a login may be given up at any time.
 */
void provider_start(struct provider_start *);

/* ---- A login ends ------------------------------------------------------- */

struct provider_finish {
	/* The caller fills these; they live until done(). */
	struct external_door *door;
	struct held_connector *connector;
	struct store_user user;      /* of store_login_take() */
	struct str text;             /* the same */
	struct str state;            /* the callback's, or its oauth_token */
	struct str code;             /* the callback's, or oauth_verifier */
	struct str iss;              /* the callback's; STR_NONE: none */
	struct str redirect_uri;     /* as in provider_start() */
	struct arena *arena;         /* of the outcome; outlives done() */
	void (*done)(struct provider_finish *);
	void *arg;

	/* The outcome. */
	bool ok;
	struct oauth_fault fault;    /* unless ok; then nothing was stored */
	struct store_grant grant;    /* as it was committed */
	struct oauth_account account;
};
/*
 * Take the code of a callback: check `iss` if it was sent, get the tokens and
 * the profile, and commit the grant.  If another grant of the user ends by that
 * (another account), its tasks are closed and its tokens revoked.  A callback
 * with `error` has no code: the caller reads it with oauth_callback_fault().
 * done() as provider_start()'s.
 */
void provider_finish(struct provider_finish *);

/* ---- A grant ends ------------------------------------------------------- */

/*
 * A grant was deleted (store_grant_clear()) or has lost its handle: revoke its
 * tokens, first the refresh token, and close the tasks that use it with 500
 * "config: sign in again".  A grant without a handle, which could not be read,
 * is ignored.  The texts are copied.  Returns at once; nobody is told the
 * outcome, which the log has.
 *
 * Revocation is tried for PROVIDER_REVOKE_MS_MAX, with growing pauses.  It is
 * kept in memory alone: a daemon that ends gives it up, and the tokens end at
 * the provider by their own lifetime.  The store has forgotten them by then, so
 * nothing here can use them.  Without an address `revoke` nothing is asked.
 */
void provider_end_grant(struct external_door *, const struct store_grant *);

/* The daemon ends: calls are cut, but those whose answers have tokens that are
 * nowhere else; done() of a login that was begun comes with a fault. */
void provider_stop(struct external_door *);

#endif
