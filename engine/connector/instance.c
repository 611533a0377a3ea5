#include "engine/connector/instance.h"

#include "engine/connector/order.h"

#define HOST_BYTES_MAX 253u

static bool
is_host(struct str host)
{
	if (host.n == 0 || host.n > HOST_BYTES_MAX || host.p[0] == '.' ||
	    host.p[0] == '-')
		return false;
	for (size_t i = 0; i < host.n; i++)
		if (!ascii_is_alpha(host.p[i]) && !ascii_is_digit(host.p[i]) &&
		    host.p[i] != '-' && host.p[i] != '.')
			return false;
	return true;
}

/* ":PORT" that is not the scheme's own, or "". */
static bool
read_port(struct str text, bool https, char out[static 8])
{
	uint64_t port;

	out[0] = '\0';
	if (text.n == 0)
		return true;
	if (!str_to_u64(text, &port) || port == 0 || port > UINT16_MAX)
		return false;
	if (port != (https ? 443 : 80))
		snprintf(out, 8, ":%u", (unsigned)port);
	return true;
}

bool
instance_base(struct str instance, struct arena *a, struct str *base)
{
	bool http = str_starts_nocase(instance, STR("http://"));
	char port[8];

	if (http || str_starts_nocase(instance, STR("https://")))
		instance = str_from(instance, http ? 7 : 8);
	if (str_ends(instance, STR("/")))
		instance.n--;
	size_t n = str_find_char(instance, ':');
	struct str host = str_cut(instance, 0, n);
	if (!is_host(host) ||
	    !read_port(str_from(instance, n + 1), !http, port))
		return false;
	char *lower = arena_bytes(a, host.n + 1);
	for (size_t i = 0; i < host.n; i++)
		lower[i] = ascii_lower(host.p[i]);
	*base = arena_printf(a, "%s%.*s%s", http ? "http://" : "https://",
	    (int)host.n, lower, port);
	return true;
}

enum err
instance_read(const struct connector_order *o, const char *example,
    struct arena *a, struct str *base, struct why *w)
{
	if (!instance_base(connector_key_text(o, "instance"), a, base))
		return why_field(w, ERR_INPUT, "credentials.instance",
		    "it is not the address of an instance, such as %s",
		    example);
	if (connector_has_key(o, "access_token") &&
	    !str_starts(*base, STR("https:")))
		return why_field(w, ERR_INPUT, "credentials.instance",
		    "it must begin with https, as an access token is sent to "
		    "it");
	return OK;
}
