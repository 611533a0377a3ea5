/* Secrets: whose they are, where they may go, and how they leave. */
#include "engine/harvest/driver_own.h"

#include "engine/parser/url.h"

#define KEY_OPEN "{"
#define KEY_CLOSE "}"

/* ---- Hosts ---------------------------------------------------------- */

static struct str
credential_text(const struct connector_order *o, struct str name)
{
	for (size_t i = 0; i < o->credentials_n; i++)
		if (str_eq(o->credentials[i].name, name))
			return o->credentials[i].value;
	return STR_NONE;
}

/* "{instance}": the host of the URL that the credential has there. */
static enum err
expand_host(struct driver *d, struct str row, struct str *out, struct why *w)
{
	size_t open = str_find(row, STR(KEY_OPEN));
	size_t close = str_find(row, STR(KEY_CLOSE));
	struct url u;

	if (open == row.n) {
		*out = row;
		return OK;
	}
	struct str name = str_cut(row, open + 1, close);
	if (url_parse(credential_text(d->options.order, name), NULL, &d->arena,
	    &u, NULL) != OK)
		return why_field(w, ERR_INPUT, "credentials", "%.*s is no "
		    "URL", STR_FMT(name));
	*out = arena_printf(&d->arena, "%.*s%.*s%.*s", (int)open, row.p,
	    STR_FMT(u.host), STR_FMT(str_from(row, close + 1)));
	return OK;
}

enum err
driver_read_hosts(struct driver *d, struct why *w)
{
	const char *const *rows = d->connector->hosts;
	enum err e = OK;

	while (rows != NULL && rows[d->hosts_n] != NULL)
		d->hosts_n++;
	d->hosts = ARENA_ARRAY(&d->arena, struct str, d->hosts_n);
	for (size_t i = 0; i < d->hosts_n && e == OK; i++)
		e = expand_host(d, str_of(rows[i]), &d->hosts[i], w);
	return e;
}

static bool
may_go_to(const struct driver *d, struct str host)
{
	for (size_t i = 0; i < d->hosts_n; i++) {
		struct str h = d->hosts[i];
		if (str_eq_nocase(h, host))
			return true;
		if (str_starts(h, STR("*.")) && host.n > h.n - 1 &&
		    str_eq_nocase(str_from(host, host.n - (h.n - 1)),
		    str_from(h, 1)))
			return true;
	}
	return false;
}

/* ---- Signing -------------------------------------------------------- */

void
driver_find_secret(struct slot *s)
{
	const struct driver_options *o = &s->driver->options;

	s->secret = STR_NONE;
	for (size_t i = 0; s->call.secret != NULL && i < o->secrets_n; i++)
		if (str_eq(o->secrets[i].name, str_of(s->call.secret)))
			s->secret = o->secrets[i].value;
}

/* Thread: the host's loop; the slot is out, and does not change. */
bool
driver_sign(struct call *c, struct exchange *x, struct arena *a)
{
	struct slot *s = CONTAINER(c, struct slot, sent);

	if (s->call.auth == CONNECTOR_ANONYMOUS)
		return true;
	if (!x->tls || !may_go_to(s->driver, x->host))
		return false;
	struct transport_header *all = ARENA_ARRAY(a, struct transport_header,
	    x->headers_n + 1);
	memcpy(all, x->headers, x->headers_n * sizeof(*all));
	all[x->headers_n] = (struct transport_header){ STR("Authorization"),
		arena_printf(a, "Bearer %.*s", STR_FMT(s->secret)) };
	x->headers = all;
	x->headers_n++;
	return true;
}
