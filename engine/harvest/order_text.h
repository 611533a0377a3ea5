/*
 * order_text -- a harvest's start message as it is kept: one text without the
 * credentials, which are sealed beside it, and the order that both give.
 *
 * Thread: any; pure but for the nonce of a sealing.
 * Source: contracts/harvest.md §3.
 */
#ifndef ENGINE_HARVEST_ORDER_TEXT_H
#define ENGINE_HARVEST_ORDER_TEXT_H

#include "engine/connector/connector.h"
#include "engine/harvest/driver.h"
#include "os/secret_memory.h"
#include "wire/seal.h"

/* Nesting of a message. */
#define ORDER_DEPTH_MAX 64u

/* A message that was taken apart.  Memory: the arena that it was read with. */
struct order_text {
	const struct connector *connector;
	struct str message;          /* JSON, without "credentials" */
	struct str credentials;      /* JSON; empty: none */
	struct connector_order order;        /* without state */
	struct driver_secret *secrets;
	size_t secrets_n;
	yyjson_doc *doc;             /* what the order refers to */
};

/*
 * Read a message: an object with "type" and what connector_order_read() wants.
 * Errors: INPUT, with the field in `w`, and in *code the word of
 * contracts/harvest.md §7: "bad_request", "credentials_missing" or
 * "unsupported_harvest_type".  Free it in any case.
 */
MUST_USE enum err order_text_read(struct str json, struct arena *a,
    struct order_text *, const char **code, struct why *w);
/* The same of the two texts that were kept. */
MUST_USE enum err order_text_read_kept(struct str message,
    struct str credentials, struct arena *a, struct order_text *,
    struct why *w);
/*
 * Move the credential into memory that is locked, and overwrite it where it
 * was; `credentials` is then empty.  The order refers to that memory, which the
 * caller frees after the order.
 */
void order_text_hide(struct order_text *, struct secret_memory *);
/*
 * The option that describes a declared platform's answers, as JSON, for exports
 * (`about` of a crawl).  Empty: the connector has none.  Memory: `a`.
 */
struct str order_text_description(const struct order_text *, struct arena *a);
/* Secrets are overwritten. */
void order_text_free(struct order_text *);

/* The credentials of the harvest `id`, sealed; nothing when there are none. */
void order_text_seal(const struct order_text *, const struct seal_key *,
    struct str id, struct buf *out);
/* Back; empty when nothing was sealed.  Errors: CORRUPT: the key is another, or
 * they are damaged.  Memory: `a`. */
MUST_USE enum err order_text_unseal(struct str sealed, const struct seal_key *,
    struct str id, struct arena *a, struct str *credentials, struct why *w);

#endif
