/*
 * ticket -- launch tickets of OAuth calls: a JWT, signed by HS256.
 *
 * Thread: any; pure.
 * Source: external.md §8; RFC 7515 appendix A.1, RFC 7518 §3.2, RFC 7519,
 * RFC 2104.
 */
#ifndef CLI_CONFORMANCE_TICKET_H
#define CLI_CONFORMANCE_TICKET_H

#include "base/arena.h"
#include "wire/digest.h"

struct ticket {
	struct str issuer, audience, uuid, subdomain;
	const char *act;             /* "login", "token", "clear" */
	int64_t exp_s;               /* Unix time */
	struct str jti;
};

/* The ticket as text.  Memory: `a`. */
struct str ticket_make(const struct ticket *, struct str key,
    struct arena *a);
/* HMAC with SHA-256. */
void ticket_hmac(struct str key, struct str text, struct digest *out);

#endif
