/*
 * suffix -- the registrable domain of a host, by the Public Suffix List.
 *
 * Thread: any; the lists are read-only once open.
 * Source: https://publicsuffix.org/list/ ; libpsl.
 */
#ifndef ENGINE_POLICY_SUFFIX_H
#define ENGINE_POLICY_SUFFIX_H

#include "base/bytes.h"

/*
 * The registrable domain of `host`, a tail of it: "example.co.uk" of
 * "www.example.co.uk".  STR_NONE where there is none: the host is itself a
 * public suffix, an IP address, empty, or longer than 253 bytes.  `host` is as
 * the URL parser left it (lower case, punycode); capitals are taken too, and a
 * final dot is left out of the answer.  The list is the one built into libpsl,
 * or the system's where libpsl has none built in.
 */
struct str suffix_domain(struct str host);

/* The same by another list than the common one; libpsl's, or NULL: none. */
struct psl_ctx_st;
struct str suffix_domain_by(const struct psl_ctx_st *, struct str host);

#endif
