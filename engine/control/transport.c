/* Makes the transports of the fetching loops, one for each. */
#include "engine/control/engine_own.h"
#include "os/file.h"

#define CA_BYTES_MAX ((size_t)64 << 20)

/* Else each https page would fail, one by one. */
enum err
engine_check_ca_file(struct engine *e, struct why *w)
{
	struct str path = conf_str(e->options.conf, CONF_FETCH_CA_FILE);
	FREED(buf_free) struct buf pem = BUF_INIT;

	if (path.n == 0)
		return OK;
	path = arena_printf(&e->arena, "%.*s", STR_FMT(path));
	bool fine = file_load(path.p, CA_BYTES_MAX, &pem, NULL) == OK &&
	    str_find(buf_str(&pem), STR("-----BEGIN ")) < pem.n;
	return fine ? OK : why(w, ERR_CONFIG, "fetch.ca_file: %.200s is no "
	    "file of certificates in PEM that can be read", path.p);
}

struct transport *
engine_transport(struct engine *e, struct loop *l)
{
	struct transport_options o = {
		.connections_max = e->settings->connections_max,
		.host_connections_max = e->settings->host_connections_max,
		.idle_s_max = 60,
	};
	struct str ca_file = conf_str(e->options.conf, CONF_FETCH_CA_FILE);

	if (ca_file.n > 0)
		o.ca_file = arena_printf(&e->arena, "%.*s",
		    STR_FMT(ca_file)).p;
	if (e->options.transport != NULL)
		return e->options.transport(e->options.arg, l);
	return transport_curl_new(l, &o);
}
