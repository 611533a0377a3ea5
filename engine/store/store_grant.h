/*
 * store_grant -- what users of back ends have granted: the tokens of providers,
 * sealed; logins that are under way; clients that have registered themselves;
 * and launch tickets that were used.
 *
 *     store_login_put() ─► the provider ─► store_login_take()
 *                                               │
 *                                       store_grant_put() ─► handle
 *                                               │
 *       store_grant_due() ─► store_grant_lease() ─► the provider
 *               ▲                               │
 *               └── store_grant_refresh(), or _delay(), or _revoke()
 *
 * A grant belongs to a user of a connector within a back end's subdomain.  Its
 * handle is what the back end gets in place of the provider's tokens; the row
 * has the handle's SHA-256, and the handle itself among what is sealed, so that
 * the back end may ask for it again.
 *
 * Sealed text is bound to its row: the row's key, handle and dates are
 * authenticated, so that a row that was moved or changed is CORRUPT.  Each row
 * names the key that has sealed it.  A grant under another key than the
 * caller's is ABSENT, as the user must sign in again, until
 * store_grant_rekey().
 *
 * Each verb is one commit unless the caller groups it with others.  It may
 * block, so a daemon calls it in a store_job (store_async.h).  After UNREACHED
 * it may be called again with the same arguments, unless its comment says
 * otherwise.
 *
 * Thread: as the store's.
 * Errors: store.h's; INPUT and FULL for texts, naming the field.
 * Source: contracts/external.md §2 (credential), §8.
 */
#ifndef ENGINE_STORE_STORE_GRANT_H
#define ENGINE_STORE_STORE_GRANT_H

#include "engine/store/store.h"
#include "wire/seal.h"

/* Texts: a user's uuid and subdomain, the account at the provider, what is
 * sealed, and a state, a cookie, or the name of a provider. */
#define STORE_USER_BYTES_MAX 256u
#define STORE_ACCOUNT_BYTES_MAX 1024u
#define STORE_SEALED_BYTES_MAX ((size_t)64 << 10)
#define STORE_SECRET_BYTES_MAX 1024u
/* Rows. */
#define STORE_GRANTS_MAX 100000u
#define STORE_GRANTS_PAGE_MAX 1000u           /* of one list */
#define STORE_REKEY_MAX 100u                  /* of one commit */
#define STORE_LOGINS_MAX 10000u               /* of all back ends */
#define STORE_LOGIN_S 600                     /* a login must end within it */
#define STORE_CLIENTS_MAX 10000u
#define STORE_TICKETS_MAX 100000u
/* A used ticket is kept so long after its end, as daemons' clocks differ. */
#define STORE_TICKET_AFTER_S 60

/* The owner of a grant or a login. */
struct store_user {
	struct str backend, connector, subdomain, uuid;
};

/* ---- Grants -------------------------------------------------------------- */

struct store_grant {
	struct store_user user;
	/* The account at the provider; empty: not known, and then no other
	 * login is of the same account. */
	struct str account;
	struct str text;             /* tokens, profile, in any form */
	struct wall expiry;          /* when the user must sign in again */
	struct wall refresh_at;      /* us 0: it is not refreshed */
	/* The store sets what follows. */
	struct str handle;           /* "argt_...": never logged */
	struct wall issued;          /* of the handle; whole seconds */
	/* Grows with each lease and each login.  A verb that comes with an
	 * older one changes nothing. */
	uint64_t lease;
};

/*
 * Commit what a login has brought: the grant of `g->user`, in place of an older
 * one.  `out` is the stored grant.  Handle and issued stay when the older grant
 * is of the same account, else they are new.  `ended` is the grant whose handle
 * ends by that, for closing its tasks and revoking its tokens; its handle is
 * empty when none ends, or when it cannot be read.  FULL at STORE_GRANTS_MAX.
 * A call that is repeated after UNREACHED may report nothing ended.
 * Memory: `a`.
 */
MUST_USE enum err store_grant_put(struct store *, const struct seal_key *,
    const struct store_grant *g, struct wall now, struct arena *a,
    struct store_grant *out, struct store_grant *ended, struct why *);

/* ABSENT; CORRUPT.  Memory: `a`. */
MUST_USE enum err store_grant_get(struct store *, const struct seal_key *,
    const struct store_user *, struct arena *a, struct store_grant *,
    struct why *);
/* By handle, of this back end.  The caller checks the connector. */
MUST_USE enum err store_grant_find(struct store *, const struct seal_key *,
    struct str backend, struct str handle, struct arena *a,
    struct store_grant *, struct why *);
/* The name of a handle in a task's row: its SHA-256, STORE_GRANT_ID_BYTES.
 * Memory: `a`. */
struct str store_grant_id(struct str handle, struct arena *a);
/* By that name.  The caller checks back end and connector. */
MUST_USE enum err store_grant_of_id(struct store *, const struct seal_key *,
    struct str id, struct arena *a, struct store_grant *, struct why *);
/* The user as the provider knows it: the account, or the uuid where that is not
 * known. */
struct str store_grant_account(const struct store_grant *);
/*
 * By back end, connector, store_grant_account() and issued, for a credential
 * without a token, which names neither uuid nor subdomain.  `issued` is
 * compared by whole seconds.  Grants that cannot be opened are left out.
 * STATE: several users match.
 */
MUST_USE enum err store_grant_find_issued(struct store *,
    const struct seal_key *, struct str backend, struct str connector,
    struct str account, struct wall issued, struct arena *a,
    struct store_grant *, struct why *);

/*
 * Delete the user's grant; `found`: there was one.  `was` is what it was, for
 * revoking its tokens and closing its tasks; its handle is empty when it could
 * not be read.  A call that is repeated after UNREACHED may find none.
 * Memory: `a`.
 */
MUST_USE enum err store_grant_clear(struct store *, const struct seal_key *,
    const struct store_user *, struct arena *a, bool *found,
    struct store_grant *was, struct why *);
/* Forget those that expired before `before`, at most STORE_GRANTS_PAGE_MAX of
 * them; `n`: how many. */
MUST_USE enum err store_grant_forget(struct store *, struct wall before,
    size_t *n, struct why *);

/* ---- Refreshing ---------------------------------------------------------- */

/*
 * The users whose grants are to be refreshed at `now` and are not leased, those
 * that have waited longest first; at most `most` (0: STORE_GRANTS_PAGE_MAX).
 * `next` is when to ask again: `now` when there may be more, else when the next
 * one becomes due or a lease ends; us INT64_MAX: never.  Memory: `a`.
 */
MUST_USE enum err store_grant_due(struct store *, struct wall now, size_t most,
    struct arena *a, struct store_user **, size_t *n, struct wall *next,
    struct why *);
/*
 * Lease the grant until `until`: until then no other daemon gets it.  `out` is
 * the grant as it is now; the caller looks whether it must still be refreshed.
 * BUSY: it is leased; after UNREACHED perhaps by the lost call.  Others as
 * store_grant_get().
 */
MUST_USE enum err store_grant_lease(struct store *, const struct seal_key *,
    const struct store_user *, struct wall now, struct wall until,
    struct arena *a, struct store_grant *out, struct why *);
/*
 * Commit what the provider gave: text, expiry and refresh_at of `g`, whose
 * user, handle and lease are those of store_grant_lease().  It ends.  Until
 * this has returned OK the new access token is not used, since the old refresh
 * token may be worthless already.
 * STATE: the lease was taken by another, or the user has signed in again;
 * ABSENT: the grant is gone.  Either way the caller drops what it got.
 */
MUST_USE enum err store_grant_refresh(struct store *, const struct seal_key *,
    const struct store_grant *g, struct why *);
/* The refresh failed and is due again at `again`; the lease ends.  STATE and
 * ABSENT as store_grant_refresh(). */
MUST_USE enum err store_grant_delay(struct store *,
    const struct store_grant *, struct wall again, struct why *);
/* The provider refuses the refresh token: the grant is deleted.  STATE and
 * ABSENT as store_grant_refresh(). */
MUST_USE enum err store_grant_revoke(struct store *,
    const struct store_grant *, struct why *);

/* ---- Keys ---------------------------------------------------------------- */

/* Where store_grant_rekey() is.  Begin with zeros. */
struct store_rekey {
	uint64_t after;              /* the number of the last row */
	size_t done;                 /* rows that have the new key */
	size_t damaged;              /* that cannot be opened, and stay */
	bool is_complete;
};
/*
 * Seal the next `most` grants (at most and by default STORE_REKEY_MAX) that
 * have the key `from` with `to`, in one commit.  Call it until `is_complete`.
 * Daemons that write by the old key meanwhile have been stopped, or it is
 * called again from the beginning.  Logins under way and clients keep their
 * key: they are begun and registered again.
 */
MUST_USE enum err store_grant_rekey(struct store *,
    const struct seal_key *from, const struct seal_key *to, size_t most,
    struct store_rekey *, struct why *);

/* ---- Logins -------------------------------------------------------------- */

struct store_login {
	struct store_user user;
	struct str state;            /* or the request token of OAuth 1.0a */
	struct str cookie;           /* the one that this login has set */
	struct str text;             /* PKCE verifier, parameters: sealed */
};
/*
 * Put a login that has begun, for STORE_LOGIN_S.  The row has state and cookie
 * as SHA-256.  Logins that have expired are deleted.  EXISTS: the state is
 * taken; FULL at STORE_LOGINS_MAX.  After UNREACHED: EXISTS may mean that it
 * is done.
 */
MUST_USE enum err store_login_put(struct store *, const struct seal_key *,
    const struct store_login *, struct wall now, struct why *);
/*
 * Take the login of this connector, state and cookie, of whatever back end: of
 * all calls, by all daemons, exactly one gets it.  ABSENT: there is none (any
 * more), or the cookie is another's, or the key; a wrong cookie leaves the
 * login to the browser that has it.  CORRUPT: it was changed; it is gone, too.
 * After UNREACHED: ABSENT may mean that the lost call has taken it.
 * Memory: `a`; state and cookie are the caller's.
 */
MUST_USE enum err store_login_take(struct store *, const struct seal_key *,
    struct str connector, struct str state, struct str cookie,
    struct wall now, struct arena *a, struct store_login *, struct why *);

/* ---- Clients ------------------------------------------------------------- */

/*
 * Keep the client that a connector has registered at a provider; `provider` is
 * any text that names it.  If several daemons register at once, the first one
 * stays: `kept` is the text that all of them use.  One under another key is
 * replaced.  FULL at STORE_CLIENTS_MAX.  Memory: `a`.
 */
MUST_USE enum err store_client_put(struct store *, const struct seal_key *,
    struct str connector, struct str provider, struct str text,
    struct arena *a, struct str *kept, struct why *);
/* ABSENT: there is none under this key; CORRUPT.  Memory: `a`. */
MUST_USE enum err store_client_get(struct store *, const struct seal_key *,
    struct str connector, struct str provider, struct arena *a,
    struct str *text, struct why *);
/* The provider does not know it any more.  It may be absent. */
MUST_USE enum err store_client_delete(struct store *, struct str connector,
    struct str provider, struct why *);

/* ---- Tickets ------------------------------------------------------------- */

/*
 * Note that the ticket `id` (jti) of the back end was used; it is kept until
 * STORE_TICKET_AFTER_S after `expires`.  EXISTS: it was used before, by any
 * daemon; FULL at STORE_TICKETS_MAX.  After UNREACHED: EXISTS may mean that the
 * lost call has noted it.
 */
MUST_USE enum err store_ticket_use(struct store *, struct str backend,
    struct str id, struct wall expires, struct wall now, struct why *);

#endif
