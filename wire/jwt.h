/*
 * jwt -- launch tickets: JSON Web Tokens by which the server of a back end says
 * which of its users may sign in, and for what.
 *
 *     base64url(header) "." base64url(claims) "." base64url(HMAC-SHA256)
 *
 *     {"alg":"HS256"}
 *     {"iss":"acme", "aud":"mastodon_account", "sub":"u7",
 *      "subdomain":"acme", "act":"login", "exp":1795166296, "jti":"5f0c"}
 *
 * The algorithm is HS256 and nothing else, whatever the header says.
 *
 * Thread: any; pure.
 * Limits: JWT_..._MAX.
 * Source: RFC 7515 §3, §4.1, §5.2; RFC 7519 §4.1, §7.2; RFC 8725 §3;
 *         contracts/external.md §8 (Launch ticket).
 */
#ifndef WIRE_JWT_H
#define WIRE_JWT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/time.h"

#define JWT_BYTES_MAX 4096u                   /* a ticket */
#define JWT_KEY_BYTES_MIN 32u                 /* RFC 7518 §3.2 */
#define JWT_CLAIM_BYTES_MAX 256u              /* sub, subdomain, name */
#define JWT_ID_BYTES_MAX 128u                 /* jti */
#define JWT_AHEAD_S_MAX 600                   /* how far ahead exp may be */

/* Actions that a ticket can allow: values of the claim `act`. */
#define JWT_ACTS(X) X(LOGIN, "login") X(TOKEN, "token") X(CLEAR, "clear")
enum jwt_act {
#define JWT_ACT_ENUM(name, text) JWT_##name,
	JWT_ACTS(JWT_ACT_ENUM)
#undef JWT_ACT_ENUM
	JWT_ACT_COUNT
};

/* The key of a back end; at least JWT_KEY_BYTES_MIN. */
struct jwt_key {
	struct str issuer;           /* `iss` of the tickets that it signs */
	struct str secret;
};

/* The request that the ticket must allow. */
struct jwt_request {
	const struct jwt_key *keys;  /* of all back ends; issuers are unique */
	size_t keys_n;
	struct str audience;         /* `aud`: the connector */
	struct str subject;          /* `sub`: the user's uuid */
	struct str subdomain;
	enum jwt_act act;
	struct wall now;
};

struct jwt_claims {
	struct str issuer, subject, subdomain;
	struct str id;               /* jti: good for one login */
	struct str name;             /* of the user; STR_NONE: none was given */
	struct wall expires;
};

/*
 * Verify a ticket.  Until `out` is filled, nothing of it can be trusted.  The
 * caller sees to it that an `id` is used for one login only, until `expires`.
 * Memory: `a`.
 * Errors: DENIED.  The field says where: `ticket` for its form, `alg`, `crit`
 * and `typ` of the header, `signature`, or the name of a claim.  No message
 * contains a byte of the ticket.
 */
MUST_USE enum err jwt_verify(struct str ticket, const struct jwt_request *,
    struct arena *a, struct jwt_claims *out, struct why *);

/* Append what a back end sends: header and claims, which are JSON, signed. */
void jwt_put(struct str header, struct str claims, struct str secret,
    struct buf *out);

#endif
