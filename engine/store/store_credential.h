/*
 * store_credential -- credentials that have a name, sealed.  What is in them,
 * and under which key, is engine/harvest/credential.h's.
 *
 * Thread: as the store's.  Errors: store.h's.
 * Source: contracts/harvest.md §11.
 */
#ifndef ENGINE_STORE_STORE_CREDENTIAL_H
#define ENGINE_STORE_STORE_CREDENTIAL_H

#include "engine/store/store.h"

#define STORE_CREDENTIALS_MAX 1000u

struct store_credential {
	struct str name;
	struct wall changed;
};

/* Put, or replace.  FULL beyond STORE_CREDENTIALS_MAX. */
MUST_USE enum err store_credential_put(struct store *, struct str name,
    struct str sealed, struct wall now, struct why *);
/* ABSENT.  Memory: `a`. */
MUST_USE enum err store_credential_get(struct store *, struct str name,
    struct arena *a, struct str *sealed, struct why *);
/* ABSENT. */
MUST_USE enum err store_credential_delete(struct store *, struct str name,
    struct why *);
/* By name.  Memory: `a`. */
MUST_USE enum err store_credential_list(struct store *, struct arena *a,
    struct store_credential **, size_t *n, struct why *);

#endif
