/*
 * urlfrontier -- the door for crawlers that borrow the queue: the service
 * urlfrontier.URLFrontier over gRPC (docs/protocols/urlfrontier.md).
 *
 *     open ──► recovering ──ready──► serving ──drain──► draining ──► drained
 *                  │ calls wait         │ all 19 calls      │ no new calls
 *
 * Owns:    a loop with a thread, its listener and its connections.
 * Thread:  all of these functions: home's.
 * Limits:  urlfrontier.*; NET_LIMITS; GRPC_LIMITS.
 * Story:   doors/urlfrontier/DESIGN.md
 */
#ifndef DOORS_URLFRONTIER_URLFRONTIER_H
#define DOORS_URLFRONTIER_URLFRONTIER_H

#include "base/conf.h"
#include "engine/frontier/lease_service.h"
#include "server/door.h"
#include "server/token_set.h"

struct urlfrontier;

/*
 * Listen at urlfrontier.listen; where that is off, `*out` is NULL.  Calls that
 * come before urlfrontier_ready() wait for it, urlfrontier.start_calls_max of
 * them; others are answered with UNAVAILABLE.  Of the host it uses `conf`,
 * `home` and `tokens` (NULL: urlfrontier_ready() brings them).  Errors: CONFIG
 * when the address is none, is not loopback without TLS and token, or TLS's
 * files are wrong; BUSY.
 */
MUST_USE enum err urlfrontier_open(const struct door_host *,
    struct urlfrontier **out, struct why *);
/* Read the certificate again; on an error it stays as it was. */
MUST_USE enum err urlfrontier_reload(struct urlfrontier *, struct why *);
/* "127.0.0.1:7071", "[::1]:7071": where it listens; it stays the door's. */
const char *urlfrontier_address(const struct urlfrontier *);
/*
 * Serve this frontier, whose loop runs or will, to those whom the tokens let in
 * (urlfrontier.token); both outlive the door.
 */
void urlfrontier_ready(struct urlfrontier *, struct frontier *,
    struct token_set *);
/*
 * Take no new calls, finish those that are under way, within DRAIN_MS, then
 * call `drained` at home: the frontier holds nothing of the door any more.
 */
void urlfrontier_drain(struct urlfrontier *, void (*drained)(void *arg),
    void *arg);
/* After `drained`, or before urlfrontier_ready(). */
void urlfrontier_free(struct urlfrontier **);

#endif
