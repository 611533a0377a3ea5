/*
 * port -- where the conformance test listens, on loopback.
 */
#include "cli/conformance/own.h"
#include "cli/simulator/envelope.h"
#include "engine/policy/address.h"

void
port_refuse(struct web_request *r)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str message = STR("there is no such request");

	envelope_put_failure(&b, &message, 1, STR(""));
	web_answer(r, 404, ENVELOPE_TYPE, buf_str(&b));
}

static bool
is_loopback(const char *address)
{
	uint8_t ip[16];

	return address_parse(str_of(address), ip) &&
	    address_classify(ip) == ADDRESS_LOOPBACK;
}

enum err
port_open(struct conformance *c, const struct port_row *rows, size_t n,
    struct why *w)
{
	const struct conformance_options *o = c->options;
	struct web_options options = { .loop = c->loop,
	    .address = o->address, .port = o->port };
	struct web_route *routes = ARENA_ARRAY(&c->arena, struct web_route,
	    n);

	if (!is_loopback(o->address))
		return why(w, ERR_USAGE, "--listen %.60s: must be a loopback "
		    "address, like 127.0.0.1 or ::1", o->address);
	for (size_t i = 0; i < n; i++)
		routes[i] = (struct web_route){ .method = rows[i].method,
		    .path = rows[i].path, .match = str_ends(str_of(
		    rows[i].path), STR("/")) ? WEB_PREFIX : WEB_EXACT,
		    .handle = rows[i].handle, .arg = c, .help = "",
		    .door = TOKEN_DOOR_CONSOLE, .ids = true,
		    .body_bytes_max = c->limits.upload_bytes_max };
	enum err e = web_open(&options, routes, n, &c->web, w);
	if (e == OK)
		c->base = arena_printf(&c->arena, str_find_char(str_of(
		    o->address), ':') < strlen(o->address) ?
		    "http://[%s]:%u" : "http://%s:%u", o->address,
		    (unsigned)web_port(c->web));
	return e;
}
