/*
 * credential -- credentials that have a name: sealed in the store, opened for
 * the harvest that names one, never printed.
 *
 * A credential is a JSON object of texts or numbers, such as {"instance":
 * "https://mastodon.example", "access_token": "..."}.
 *
 * Thread: any; blocks.
 * Source: contracts/harvest.md §3, §11.
 */
#ifndef ENGINE_HARVEST_CREDENTIAL_H
#define ENGINE_HARVEST_CREDENTIAL_H

#include "base/conf.h"
#include "engine/store/store_credential.h"
#include "wire/seal.h"

#define CREDENTIAL_BYTES_MAX ((size_t)64 << 10)

/*
 * The key of secrets.key_file; without one DATA/secrets.key, which is made if
 * it is not there.  Errors: those of os/key_file.h.
 */
MUST_USE enum err credential_key(const struct conf *, const char *data_dir,
    struct seal_key *, struct why *);

/* Errors: INPUT: it is no such object; those of the store. */
MUST_USE enum err credential_put(struct store *, const struct seal_key *,
    struct str name, struct str json, struct wall now, struct why *);
/* Errors: ABSENT; CORRUPT: it was sealed by another key.  Memory: `a`. */
MUST_USE enum err credential_get(struct store *, const struct seal_key *,
    struct str name, struct arena *a, struct str *json, struct why *);

#endif
