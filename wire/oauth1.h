/*
 * oauth1 -- signs requests by OAuth 1.0a, HMAC-SHA1.
 *
 *     METHOD & URL & parameters ─► base string ─┐
 *     consumer's secret & token's secret ───────┴─► HMAC-SHA1 ─► base64
 *
 * The parameters are those of the URL's query, of a form, and of the protocol
 * itself, encoded and sorted.
 *
 * Thread: any; pure.  Source: RFC 5849 §3.4, §3.5.1.
 */
#ifndef WIRE_OAUTH1_H
#define WIRE_OAUTH1_H

#include "base/bytes.h"

struct oauth1_keys {
	struct str consumer, consumer_secret;
	struct str token, token_secret;      /* empty: no user's token */
};

struct oauth1_request {
	struct str method;           /* "GET" */
	struct str url;              /* absolute; its fragment is left out */
	/* A body of application/x-www-form-urlencoded; or empty. */
	struct str form;
	struct str nonce;            /* never used before with that date */
	int64_t timestamp_s;         /* since 1970 */
	bool has_version;            /* oauth_version=1.0 is among them */
	/* For token requests (§2.1, §2.3); or empty. */
	struct str callback, verifier;
};

/* What is signed (§3.4.1). */
void oauth1_put_base_string(const struct oauth1_keys *,
    const struct oauth1_request *, struct buf *out);
/* The signature in base64, not encoded further. */
void oauth1_put_signature(const struct oauth1_keys *,
    const struct oauth1_request *, struct buf *out);
/* The value of the Authorization field, "OAuth oauth_consumer_key=..." */
void oauth1_put_header(const struct oauth1_keys *,
    const struct oauth1_request *, struct buf *out);

#endif
