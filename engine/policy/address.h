/*
 * address -- which IP addresses a stranger's URL may make us connect to.
 *
 * Pure: no socket, no lookup.  An address is 16 bytes in network order; IPv4
 * stands in its v4-mapped form ::ffff:a.b.c.d.  The fetcher asks here for the
 * address that it is about to connect to, on every hop; the policy asks for the
 * addresses that are written in a URL.
 * Source: the IANA special-purpose registries (RFC 6890 and what amended it).
 */
#ifndef ENGINE_POLICY_ADDRESS_H
#define ENGINE_POLICY_ADDRESS_H

#include "base/bytes.h"

/*          name           what people read                                */
#define ADDRESS_TABLE(ADDRESS)                                               \
	ADDRESS(PUBLIC,        "public")                                     \
	ADDRESS(UNSPECIFIED,   "unspecified or this host")                   \
	ADDRESS(LOOPBACK,      "loopback")                                   \
	ADDRESS(PRIVATE,       "private")                                    \
	ADDRESS(LINK_LOCAL,    "link-local")                                 \
	ADDRESS(CGNAT,         "shared by a carrier (CGNAT)")                \
	ADDRESS(MULTICAST,     "multicast")                                  \
	ADDRESS(BROADCAST,     "broadcast")                                  \
	ADDRESS(BENCHMARK,     "for benchmarks")                             \
	ADDRESS(DOCUMENTATION, "for documentation")                          \
	ADDRESS(PROTOCOL,      "for protocol assignments")                   \
	ADDRESS(RESERVED,      "reserved")                                   \
	ADDRESS(DISCARD,       "discard-only")                               \
	ADDRESS(COMPATIBLE,    "IPv4-compatible IPv6")                       \
	ADDRESS(SIXTOFOUR,     "6to4")                                       \
	ADDRESS(TEREDO,        "Teredo")

enum address_class {
#define ADDRESS_ENUM(name, text) ADDRESS_##name,
	ADDRESS_TABLE(ADDRESS_ENUM)
#undef ADDRESS_ENUM
	ADDRESS_CLASS_COUNT
};

/*
 * What kind of address it is.  A v4-mapped address is judged as the IPv4
 * address in it; a NAT64 address (64:ff9b::/96, RFC 6052) too, so that a public
 * site stays reachable where only NAT64 leads to it.  6to4, Teredo and
 * IPv4-compatible addresses are never public: tunnels end where nobody looks.
 */
enum address_class address_classify(const uint8_t ip[16]);
bool address_is_public(const uint8_t ip[16]);
const char *address_class_text(enum address_class);

/*
 * Dotted IPv4 with four decimal parts, or IPv6 with or without brackets.  No
 * zone, no port, none of the short forms (the URL parser has resolved those).
 * False when `text` is something else.
 */
bool address_parse(struct str text, uint8_t ip[16]);

/*
 * Whether a URL's host, as the URL parser left it, names this machine or a
 * non-public address by itself: an IP literal, or a name under "localhost"
 * (RFC 6761 section 6.3).  Any other name is false: only its lookup can tell.
 */
bool address_host_is_local(struct str host);

/*
 * Whether a URL as somebody wrote it, before parsing, holds a backslash where
 * its authority stands ("http://a.org\@127.0.0.1/").  Our parser is sure about
 * it (the host is a.org), others read another host there; what comes through a
 * door should be refused.
 */
bool address_url_is_ambiguous(struct str raw);

/* Ports of the Fetch standard's "bad port" list: mail, shells, X11, IRC ... */
bool address_port_is_bad(uint16_t port);

#endif
