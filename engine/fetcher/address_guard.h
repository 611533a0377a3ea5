/*
 * address_guard -- where a page may go: what strangers say must not lead to
 * what only this machine can reach, nor to other protocols.
 *
 * Thread: the loop's.
 */
#ifndef ENGINE_FETCHER_ADDRESS_GUARD_H
#define ENGINE_FETCHER_ADDRESS_GUARD_H

#include "engine/fetcher/page.h"

/* The URL's host, if its letters tell its address; then its port. */
bool address_guard_name(const struct page *, const struct url *);
bool address_guard_port(const struct page *, const struct url *);
/* An address that was found for the host of the current hop. */
bool address_guard_found(const struct page *, const struct ip *);
/* What is about to be connected: the proxy, where there is one. */
bool address_guard_connection(const struct page *, const struct ip *);

#endif
