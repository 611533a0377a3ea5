/*
 * clients -- the OAuth clients of connectors, read from external.clients_file:
 *
 *     {"CONNECTOR":{"client_id":"...","client_secret":"..."}}
 *
 * `client_secret` may be absent, for a connector whose client has none.  A name
 * that no connector has is not looked at, since connectors come and go.
 *
 * A set is read-only.  Secrets are overwritten when it is freed, and are in no
 * message.
 *
 * Thread: the main loop's.
 * Limits: the constants below.
 * Source: contracts/external.md §1.
 */
#ifndef DOORS_EXTERNAL_CLIENTS_H
#define DOORS_EXTERNAL_CLIENTS_H

#include "base/err.h"
#include "engine/external/oauth_flow.h"

#define CLIENTS_FILE_BYTES_MAX ((size_t)1 << 20)
#define CLIENTS_MAX 1000u

struct clients;

/* A set without clients. */
struct clients *clients_none(void);
/*
 * Read the file at `path`.  Errors: DENIED when others than its owner may use
 * it; FULL when it is too long; INPUT and EXISTS, with the place
 * ("mastodon.client_id: ..."); ABSENT, IO.
 */
MUST_USE enum err clients_read(const char *path, struct clients **out,
    struct why *);
/* The same from text. */
MUST_USE enum err clients_parse(struct str json, struct clients **out,
    struct why *);
/* NULL is allowed; the caller's pointer is emptied. */
void clients_free(struct clients **);

size_t clients_count(const struct clients *);
/* NULL: the connector has none.  The texts are the set's. */
const struct oauth_client *clients_find(const struct clients *,
    struct str connector);

#endif
