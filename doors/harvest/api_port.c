/* The listener of harvest.api_listen, and whom it serves. */
#include "doors/harvest/api.h"
#include "doors/harvest/settings.h"
#include "os/log.h"

#define V4_BITS 96u                  /* before a v4-mapped address */
#define ALL_BITS 128u

bool
api_net_read(struct str text, struct api_net *out)
{
	size_t slash = str_find_char(text, '/');
	uint64_t bits = 0;

	if (!ip_from_text(str_cut(text, 0, slash), &out->ip))
		return false;
	uint64_t most = ip_is_v4(&out->ip) ? ALL_BITS - V4_BITS : ALL_BITS;
	if (slash == text.n)
		bits = most;
	else if (!str_to_u64(str_from(text, slash + 1), &bits))
		return false;
	out->bits = (unsigned)(bits + ALL_BITS - most);
	return bits <= most;
}

bool
api_peer_read(struct str peer, struct ip *out)
{
	while (peer.n > 0 && peer.p[peer.n - 1] != ':')
		peer.n--;
	struct str host = str_cut(peer, 0, peer.n > 0 ? peer.n - 1 : 0);
	if (str_starts(host, STR("[")) && str_ends(host, STR("]")))
		host = str_cut(host, 1, host.n - 1);
	return ip_from_text(host, out);
}

bool
api_net_has(const struct api_net *n, const struct ip *ip)
{
	for (unsigned i = 0; i < n->bits; i++) {
		unsigned mask = 0x80u >> (i % 8);
		if (((n->ip.b[i / 8] ^ ip->b[i / 8]) & mask) != 0)
			return false;
	}
	return true;
}

enum err
api_read(struct harvest_door *d, struct why *w)
{
	struct str word;
	size_t at = 0;

	d->api_nets = ARENA_ARRAY(&d->arena, struct api_net, API_FROM_MAX);
	while (settings_next(d, SET_API_FROM, &at, &word)) {
		if (d->api_nets_n == API_FROM_MAX)
			return why(w, ERR_CONFIG, "harvest.api_from has more "
			    "than %u addresses", API_FROM_MAX);
		if (!api_net_read(word, &d->api_nets[d->api_nets_n++]))
			return why(w, ERR_CONFIG, "harvest.api_from: \"%.*s\" "
			    "is no ADDRESS or ADDRESS/BITS", STR_FMT(word));
	}
	return OK;
}

enum err
api_open(struct harvest_door *d, struct why *w)
{
	struct conf_address at = settings_address(d, SET_API_LISTEN);
	struct web_options o = { .loop = d->host->home, .port = at.port,
		.insecure = true };

	if (at.host.n == 0)
		return OK;
	struct web_route *rows = ARENA_ARRAY(&d->arena, struct web_route,
	    API_ROUTES);
	for (size_t i = 0; i < API_ROUTES; i++) {
		rows[i] = api_routes[i];
		rows[i].arg = d;
		rows[i].open = WEB_TO_ALL;
	}
	o.address = str_eq(at.host, STR("localhost")) ? "127.0.0.1" :
	    arena_copy(&d->arena, at.host).p;
	enum err e = web_open(&o, rows, API_ROUTES, &d->api, w);
	if (e == OK) {
		d->api_address = arena_printf(&d->arena, "%s:%u", o.address,
		    web_port(d->api)).p;
		log_info("harvest.api", "address=%s", d->api_address);
	}
	return e;
}

static void
drained(void *arg)
{
	struct harvest_door *d = arg;

	drain_gate_leave(&d->work);
}

void
api_stop(struct harvest_door *d)
{
	if (d->api == NULL)
		return;
	drain_gate_enter(&d->work);
	web_drain(d->api, drained, d);
}
