/*
 * transport_proxy -- what a proxy's URL says.
 *
 *     scheme://[user[:password]@]host[:port][/]
 *     scheme: http, socks4, socks4a, socks5, socks5h
 *
 * User and password are percent-decoded; they are in memory only.
 */
#ifndef OS_TRANSPORT_PROXY_H
#define OS_TRANSPORT_PROXY_H

#include "base/bytes.h"

enum transport_proxy_kind {
	TRANSPORT_PROXY_NONE,
	TRANSPORT_PROXY_HTTP,
	TRANSPORT_PROXY_SOCKS4,
	TRANSPORT_PROXY_SOCKS4A,    /* the proxy resolves the name */
	TRANSPORT_PROXY_SOCKS5,
	TRANSPORT_PROXY_SOCKS5H,    /* the proxy resolves the name */
};

#define TRANSPORT_PROXY_TEXT_MAX 256
struct transport_proxy {
	enum transport_proxy_kind kind;
	struct str host;                /* borrowed, without brackets */
	uint16_t port;
	bool has_user;
	char user[TRANSPORT_PROXY_TEXT_MAX];
	char password[TRANSPORT_PROXY_TEXT_MAX];
};

/* False when `url` is not of that form; empty gives NONE. */
bool transport_proxy_read(struct str url, struct transport_proxy *);

#endif
