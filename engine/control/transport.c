/* Makes the transports of the fetching loops, one for each. */
#include "engine/control/engine_own.h"
#include "os/file.h"

#define CA_BYTES_MAX ((size_t)64 << 20)

/* NULL: the system's certificates. */
static const char *
ca_file(struct engine *e)
{
	struct str path = conf_str(e->options.conf, CONF_FETCH_CA_FILE);

	return path.n == 0 ? NULL : arena_copy(&e->arena, path).p;
}

/* Else each https page would fail, one by one. */
enum err
engine_check_ca_file(struct engine *e, struct why *w)
{
	const char *path = ca_file(e);
	FREED(buf_free) struct buf pem = BUF_INIT;

	if (path == NULL || (file_load(path, CA_BYTES_MAX, &pem, NULL) == OK &&
	    str_find(buf_str(&pem), STR("-----BEGIN ")) < pem.n))
		return OK;
	return why(w, ERR_CONFIG, "fetch.ca_file: %.200s is no file of "
	    "certificates in PEM that can be read", path);
}

struct transport *
engine_transport(struct engine *e, struct loop *l)
{
	struct transport_options o = {
		.connections_max = e->settings->connections_max,
		.host_connections_max = e->settings->host_connections_max,
		.idle_s_max = 60, .ca_file = ca_file(e),
	};

	if (e->options.transport != NULL)
		return e->options.transport(e->options.arg, l);
	return transport_new(l, &o);
}
