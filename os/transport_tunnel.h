/*
 * transport_tunnel -- asks a proxy for a connection to a host: SOCKS 4, 4a, 5
 * and 5h, and CONNECT of an HTTP proxy.  Bytes in, bytes out.
 *
 *     SOCKS 4, 4a   request ------------------------------> answer
 *     SOCKS 5, 5h   methods -> method -> [user -> answer] -> request -> answer
 *     HTTP          CONNECT ------------------------------> head
 *
 * Thread: the owner's.  Source: RFC 1928, RFC 1929, RFC 9110 §9.3.6.
 */
#ifndef OS_TRANSPORT_TUNNEL_H
#define OS_TRANSPORT_TUNNEL_H

#include "base/ip.h"
#include "os/transport_proxy.h"

#define TRANSPORT_TUNNEL_HEAD_BYTES_MAX 65536

enum transport_tunnel_state {
	TRANSPORT_TUNNEL_METHOD,     /* the answer to our methods */
	TRANSPORT_TUNNEL_USER,       /* the answer to user and password */
	TRANSPORT_TUNNEL_ANSWER,     /* the answer to the request */
	TRANSPORT_TUNNEL_OPEN,
	TRANSPORT_TUNNEL_REFUSED,    /* `detail` says why */
};

struct transport_tunnel {
	enum transport_tunnel_state state;
	const struct transport_proxy *proxy;
	struct str host;             /* without brackets */
	uint16_t port;
	struct ip ip;
	bool named;                  /* the proxy resolves `host` */
	struct buf in;               /* of the answer, as far as it has come */
	size_t line_at;              /* of the head's line that is read */
	char detail[80];
};

/*
 * Begin; append to `out` what is to be sent first.  `host` may be in brackets;
 * `ip` is its address, for a proxy that resolves no names, or NULL.  Proxy and
 * host live as long as the tunnel.
 */
void transport_tunnel_begin(struct transport_tunnel *,
    const struct transport_proxy *, struct str host, uint16_t port,
    const struct ip *ip, struct buf *out);
/*
 * Take what came; append to `out` what is to be sent.  Once the tunnel is open
 * what is left of `*bytes` comes from the host.
 */
enum transport_tunnel_state transport_tunnel_take(struct transport_tunnel *,
    struct str *bytes, struct buf *out);
void transport_tunnel_free(struct transport_tunnel *);

/* Append "Proxy-Authorization: Basic ..." and its line end. */
void transport_tunnel_put_login(struct buf *out,
    const struct transport_proxy *);

#endif
