/*
 * instance -- the address of a server, of platforms that many people run
 * servers of.
 *
 * Thread: any; pure.
 */
#ifndef ENGINE_CONNECTOR_INSTANCE_H
#define ENGINE_CONNECTOR_INSTANCE_H

#include "base/arena.h"
#include "engine/connector/connector.h"

/* "https://HOST[:PORT]", or with http, of what people write; false: it is
 * none.  Memory: `a`. */
bool instance_base(struct str instance, struct arena *a, struct str *base);
/*
 * That of the credential's key "instance"; with the key "access_token" it must
 * begin with https.  `example` is what the message about a wrong one shows.
 * Errors: INPUT.  Memory: `a`.
 */
MUST_USE enum err instance_read(const struct connector_order *,
    const char *example, struct arena *a, struct str *base, struct why *);

#endif
