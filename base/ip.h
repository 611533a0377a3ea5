/*
 * ip -- IP addresses of both families, as bytes, as text and as sockets have
 * them.
 *
 * Thread: any.  Source: RFC 4291 section 2.5.5.2 for the mapped form, RFC 5952
 * for the text.
 */
#ifndef BASE_IP_H
#define BASE_IP_H

#include "base/bytes.h"

/* An IP address: IPv4 is v4-mapped (::ffff:a.b.c.d). */
struct ip {
	uint8_t b[16];
};
#define IP_TEXT_MAX 48
#define IP_HOST_MAX (IP_TEXT_MAX + 2)

bool ip_is_v4(const struct ip *);
void ip_to_text(const struct ip *, char out[static IP_TEXT_MAX]);
/* The same, an IPv6 address in brackets, as before a port. */
void ip_to_host(const struct ip *, char out[static IP_HOST_MAX]);
bool ip_from_text(struct str, struct ip *);  /* both families, no brackets */
/* "192.0.2.1": four numbers up to 255 without leading zeros. */
bool ip_v4_from_text(struct str, uint8_t out[static 4]);
/*
 * From a struct sockaddr_in or _in6; false for another family.  `port` may be
 * NULL.
 */
bool ip_from_socket(const void *address, struct ip *, uint16_t *port);
/* Into a place as large as a struct sockaddr_in6; returns the length. */
unsigned ip_to_socket(const struct ip *, uint16_t port, void *address);

#endif
