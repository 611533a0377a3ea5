/*
 * transport_tls -- TLS for the transport's connections: one SSL_CTX, the
 * sessions that later handshakes resume, and the causes of failures.
 *
 * The certificates are read again after a day, when a connection is made; the
 * sessions that were kept until then (transport_sessions.h) are dropped.
 * Thread: the owner's.  Source: RFC 8446, RFC 7301.
 */
#ifndef OS_TRANSPORT_TLS_H
#define OS_TRANSPORT_TLS_H

#include "os/net_own.h"

#define TRANSPORT_TLS_DETAIL_MAX 160

struct transport_tls;

/* `ca_file`, PEM, borrowed; NULL: the system's certificates. */
struct transport_tls *transport_tls_new(const char *ca_file, bool tls_1_2);
void transport_tls_free(struct transport_tls **);   /* after all SSLs */

/*
 * A connection over `fd`, to be made by transport_tls_handshake().  `host` is
 * the URL's, without brackets; `key` lives as long as the connection: who has
 * the same one trusts the same sessions.  `http2`: offer it beside HTTP/1.1.
 * NULL: `detail` says why.
 */
struct transport_tls_peer {
	struct str host;
	const struct str *key;
	bool verify, http2;
};
SSL *transport_tls_open(struct transport_tls *, int fd,
    const struct transport_tls_peer *,
    char detail[static TRANSPORT_TLS_DETAIL_MAX]);
/* A connection broke TLS: resume no session with its key. */
void transport_tls_forget(SSL *);
/* As net_tls_handshake(). */
enum net_io transport_tls_handshake(SSL *, unsigned *wants,
    char detail[static TRANSPORT_TLS_DETAIL_MAX]);

#endif
