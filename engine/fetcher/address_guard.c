#include "engine/fetcher/address_guard.h"

#include "engine/fetcher/call_page.h"
#include "engine/fetcher/fetch_crawl.h"
#include "engine/policy/address.h"

bool
crawl_has_seed_host(const struct crawl_shared *s, struct str host)
{
	for (size_t i = 0; i < s->seeds_n; i++)
		if (str_eq(s->seeds[i].host, host))
			return true;
	return false;
}

/* An operator's seed may be private; its links only on the same host. */
bool
crawl_host_allowed(const struct crawl_shared *s, struct str host)
{
	return s->operator_seeds && crawl_has_seed_host(s, host);
}

/* The operator permits any address and port of the host that is asked. */
static bool
is_trusted(const struct page *p)
{
	const struct crawl_shared *s = p->crawl->shared;
	struct str host = page_hop(p)->url.host;

	/* Scripts reach what their configuration lists, and no more. */
	if (p->for_call)
		return call_page_may_be_private(p, &page_hop(p)->url);
	/* A door's crawl may have such a policy from when that was allowed. */
	return p->fetcher->settings->allow_private ||
	    (s->operator_seeds && policy_of(crawl_policy(s))->allow_private) ||
	    crawl_host_allowed(s, host);
}

bool
address_guard_found(const struct page *p, const struct ip *ip)
{
	return address_is_public(ip->b) || is_trusted(p);
}

bool
address_guard_name(const struct page *p, const struct url *u)
{
	struct ip ip;

	if (!address_host_is_local(u->host))
		return true;
	struct str host = u->host;
	if (host.n > 2 && host.p[0] == '[')
		host = str_cut(host, 1, host.n - 1);
	if (!ip_from_text(host, &ip))
		ip_from_text(STR("127.0.0.1"), &ip);
	return address_guard_found(p, &ip);
}

bool
address_guard_port(const struct page *p, const struct url *u)
{
	return !address_port_is_bad(u->port) || is_trusted(p);
}

bool
address_guard_connection(const struct page *p, const struct ip *ip)
{
	const struct crawl_shared *s = p->crawl->shared;
	const struct fetch_settings *set = p->fetcher->settings;

	/* A client may name any proxy that others can reach, too. */
	if (s->proxy.n != 0)
		return address_is_public(ip->b) || s->operator_seeds ||
		    set->allow_private;
	/* The operator gave this very host its address. */
	return p->by_setting || address_guard_found(p, ip);
}
