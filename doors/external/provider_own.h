/*
 * provider_own -- what the files about providers share: one call, and the end
 * of tokens.
 */
#ifndef DOORS_EXTERNAL_PROVIDER_OWN_H
#define DOORS_EXTERNAL_PROVIDER_OWN_H

#include "doors/external/provider.h"

/* A call; zeros before provider_call_send(). */
struct provider_call {
	struct list node;            /* of the door's calls */
	struct external_door *door;
	struct caller_call call;
	struct caller_provider provider;
	struct transport_header fields[OAUTH_HEADERS_MAX];
	/* A daemon that ends waits for the answer: it has tokens that are
	 * nowhere else. */
	bool is_kept;
	void (*done)(struct provider_call *);
};
/*
 * Send a request that was made for `which` of a declaration.  Its texts live
 * until done(), which is called once, later; there the caller may free the
 * call, or send it again.
 */
void provider_call_send(struct provider_call *, struct external_door *,
    const struct oauth_declaration *, enum oauth_url which,
    const struct oauth_request *);
/*
 * In done(): status and body of the answer.  False: there is no whole answer,
 * and `fault` says why.
 */
bool provider_call_answer(const struct provider_call *, int *status,
    struct str *body, struct oauth_fault *fault);

/* A fault, for people; it has no secret. */
PRINTF_LIKE(3, 4) void provider_fault(struct oauth_fault *, enum oauth_actor,
    const char *fmt, ...);
/* That of a step of the store. */
void provider_store_fault(struct oauth_fault *, const struct why *);
/* The inputs of requests, with a nonce of 128 bits. */
struct oauth_flow provider_flow(const struct held_connector *,
    const struct oauth_client *, const struct str *values,
    struct str redirect_uri, struct arena *a);
/* `bits` random bits, a multiple of 8, in base64url. */
struct str provider_random(unsigned bits, struct arena *a);

/*
 * Revoke tokens, as provider_end_grant() does.  `text` is that of a grant; it
 * is copied.
 */
void provider_revoke(struct external_door *, struct str connector,
    struct str text);
/* None is tried again. */
void provider_stop_revocations(struct external_door *);

#endif
