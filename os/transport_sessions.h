/*
 * transport_sessions -- TLS sessions that later handshakes resume: with the
 * server's certificate checked once, and no signature made.
 *
 *     put -> kept -> take -> (TLS 1.3: gone)
 *                 -> expired, too many, forgotten
 *
 * They are kept as bytes, by a key of the caller's: only connections with the
 * same key trust the same servers in the same way.  A ticket of TLS 1.3 is
 * used once, so that nobody on the way can tell that two connections are of one
 * client; a server sends the next one over the connection that it has resumed.
 * A session of TLS 1.2 is used until another one takes its place.
 *
 * Thread:  the owner's.
 * Limits:  TRANSPORT_SESSIONS_MAX, TRANSPORT_SESSIONS_HOST_MAX: the one that
 *          came first is dropped.  TRANSPORT_SESSION_S_MAX.
 * Source:  RFC 8446 §4.6.1, §C.4; RFC 5077.
 */
#ifndef OS_TRANSPORT_SESSIONS_H
#define OS_TRANSPORT_SESSIONS_H

#include "os/net_own.h"

#define TRANSPORT_SESSIONS_MAX 2048u         /* of half a KB each */
#define TRANSPORT_SESSIONS_HOST_MAX 4u       /* with one key */
/* No certificate is trusted for longer without being looked at again. */
#define TRANSPORT_SESSION_S_MAX 86400

struct transport_sessions;

struct transport_sessions *transport_sessions_new(void);
void transport_sessions_free(struct transport_sessions **);
/* Keep a copy; nothing is kept that cannot be resumed. */
void transport_sessions_put(struct transport_sessions *, struct str key,
    SSL_SESSION *);
/* The newest one with this key, the caller's to free; or NULL. */
SSL_SESSION *transport_sessions_take(struct transport_sessions *,
    struct str key);
/* Drop those with this key, because a connection of theirs went wrong. */
void transport_sessions_forget(struct transport_sessions *, struct str key);
void transport_sessions_clear(struct transport_sessions *);
size_t transport_sessions_count(const struct transport_sessions *);

#endif
