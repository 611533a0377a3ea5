#include "doors/urlfrontier/engine.h"

#include "engine/frontier/lease_service.h"

enum { ENGINE_CRAWLS_OFF, ENGINE_CRAWLS_READ };

enum err
engine_crawls_open(struct urlfrontier *d, const struct conf *c, struct why *w)
{
	d->engine_crawls = conf_choice(c, CONF_URLFRONTIER_ENGINE_CRAWLS) ==
	    ENGINE_CRAWLS_READ;
	/* Each node has crawls of its own, with the same names. */
	if (d->engine_crawls && d->cluster != NULL)
		return why(w, ERR_CONFIG, "urlfrontier.engine_crawls: a node "
		    "of several (urlfrontier.nodes) cannot show its crawls");
	return OK;
}

bool
engine_crawls_have(const struct urlfrontier *d, struct str name)
{
	uint32_t id;

	return d->engine_crawls && lease_view_name(name, &id);
}

bool
engine_crawls_refuse(struct door_call *k, struct str crawl)
{
	if (!engine_crawls_have(k->door, crawl))
		return false;
	call_fail(k, GRPC_PERMISSION_DENIED, "a crawl of this name is the "
	    "engine's own: it can only be looked at");
	return true;
}

void
engine_crawls_list(struct urlfrontier *d, struct lease_list *l)
{
	if (engine_crawls_have(d, l->crawl) || (d->engine_crawls &&
	    l->kind == LEASE_LIST_CRAWLS))
		lease_view_list(d->frontier, l);
	else
		lease_list(d->frontier, l);
}

void
engine_crawls_control(struct urlfrontier *d, struct lease_control *k)
{
	if (engine_crawls_have(d, k->crawl))
		lease_view_stats(d->frontier, k);
	else
		lease_control(d->frontier, k);
}

void
engine_crawls_status_of(struct urlfrontier *d,
    struct lease_status_of *s)
{
	if (engine_crawls_have(d, s->crawl))
		lease_view_status(d->frontier, s);
	else
		lease_status_of(d->frontier, s);
}
