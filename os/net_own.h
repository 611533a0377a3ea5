/*
 * net_own -- what net.c, net_tls.c and the transport share.
 */
#ifndef OS_NET_OWN_H
#define OS_NET_OWN_H

/* OpenSSL has a type of the name of one of our errors. */
#define ERR_STATE OPENSSL_ERR_STATE
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#undef ERR_STATE

#include "os/net.h"

enum net_io { NET_DONE, NET_AGAIN, NET_END, NET_FAILED };

/* A TLS connection over `fd`; a client's verifies `name`. */
SSL *net_tls_open(struct net_tls *, int fd, const char *name, struct why *);
/*
 * One step of the handshake, of reading, of writing.  AGAIN sets `*wants` to
 * LOOP_READ or LOOP_WRITE.  END: the peer's end, in peace.
 */
enum net_io net_tls_handshake(SSL *, unsigned *wants, struct why *);
bool net_tls_h2(SSL *);              /* after the handshake */
enum net_io net_tls_read(SSL *, void *p, size_t room, size_t *n,
    unsigned *wants, struct why *);
enum net_io net_tls_write(SSL *, const void *p, size_t n, size_t *done,
    unsigned *wants, struct why *);

#endif
