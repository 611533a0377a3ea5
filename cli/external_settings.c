#include "cli/external_settings.h"

#include "os/file.h"

enum err
external_setting(const struct cli *c, const char *name, enum conf_id *id,
    struct why *w)
{
	char full[64];

	(void)c;
	snprintf(full, sizeof(full), "external.%s", name);
	return conf_find(str_of(full), id) ? OK : why(w, ERR_USAGE, "this "
	    "build of " CLI_PROGRAM " lacks the external door");
}

/* ---- Where the door is -------------------------------------------------- */

static enum err
read_listen(struct cli *c, struct str *out, struct why *w)
{
	struct conf_address at = conf_address(&c->conf, CONF_HTTP_LISTEN);
	bool is_tls = conf_str(&c->conf, CONF_HTTP_TLS_CERT).n > 0;
	bool is_six = str_find_char(at.host, ':') < at.host.n;

	if (at.host.n == 0 || at.port == 0 || str_eq(at.host, STR("0.0.0.0"))
	    || str_eq(at.host, STR("::")))
		return why(w, ERR_CONFIG, "external.public_url: it is not "
		    "set, and http.listen does not say where back ends reach "
		    "the port");
	*out = arena_printf(&c->arena, "%s://%s%.*s%s:%u", is_tls ? "https" :
	    "http", is_six ? "[" : "", STR_FMT(at.host), is_six ? "]" : "",
	    (unsigned)at.port);
	return OK;
}

enum err
external_endpoint(struct cli *c, struct str connector, struct str *out,
    struct why *w)
{
	enum conf_id id;
	struct str base;

	enum err e = external_setting(c, "public_url", &id, w);
	if (e != OK)
		return e;
	base = conf_str(&c->conf, id);
	if (str_ends(base, STR("/")))
		base.n--;
	if (base.n == 0)
		e = read_listen(c, &base, w);
	if (e == OK)
		*out = arena_printf(&c->arena, "%.*s/external/%.*s",
		    STR_FMT(base), STR_FMT(connector));
	return e;
}

/* ---- Back ends ---------------------------------------------------------- */

enum err
external_backend(const struct cli *c, struct str name, struct backends **set,
    const struct backend **out, struct why *w)
{
	struct why first = WHY_INIT;
	enum conf_id id;
	struct str file;

	enum err e = external_setting(c, "backends_file", &id, w);
	if (e != OK)
		return e;
	file = conf_str(&c->conf, id);
	if (file.n == 0)
		*set = backends_local();
	else if (backends_read(file.p, set, &first) != OK)
		return why(w, ERR_CONFIG, "external.backends_file: %s: %s",
		    file.p, first.text);
	*out = backends_find(*set, name);
	if (*out != NULL)
		return OK;
	if (file.n == 0)
		return why(w, ERR_ABSENT, "external.backends_file is not set, "
		    "and the only back end without it is \"local\"");
	return why(w, ERR_ABSENT, "%s has no back end with the name %.*s",
	    file.p, STR_FMT(str_cut(name, 0, BACKEND_NAME_BYTES_MAX)));
}

/* ---- Connectors --------------------------------------------------------- */

/* *out is NULL when the file has another connector. */
static enum err
load_if_named(struct cli *c, const char *path, struct str name,
    struct external_connector **out, struct str *text, struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct why first = WHY_INIT;

	enum err e = file_load(path, EXTERNAL_FILE_BYTES_MAX, &b, w);
	if (e != OK)
		return e;
	if (external_connector_load(buf_str(&b), path, out, &first) != OK)
		return why(w, ERR_CONFIG, "external.connectors: %s",
		    first.text);
	if (str_eq(external_connector_name(*out), name))
		*text = arena_copy(&c->arena, buf_str(&b));
	else
		external_connector_free(out);
	return OK;
}

static enum err
find_in_directory(struct cli *c, const char *dir, struct str name,
    struct external_connector **out, struct str *text, struct why *w)
{
	struct str *names;
	size_t n;

	enum err e = file_list(dir, &c->arena, &names, &n, w);
	for (size_t i = 0; e == OK && *out == NULL && i < n; i++)
		if (str_ends(names[i], STR(".json")) && names[i].p[0] != '.')
			e = load_if_named(c, arena_printf(&c->arena,
			    "%s/%.*s", dir, STR_FMT(names[i])).p, name, out,
			    text, w);
	return e;
}

enum err
external_named(struct cli *c, struct str name,
    struct external_connector **out, struct str *text, struct why *w)
{
	enum conf_id id;

	*out = NULL;
	*text = STR("");
	enum err e = external_setting(c, "connectors", &id, w);
	if (e != OK)
		return e;
	for (size_t i = 0; (*out = external_connector_builtin(i)) != NULL;
	    i++) {
		if (str_eq(external_connector_name(*out), name))
			return OK;
		external_connector_free(out);
	}
	if (conf_str(&c->conf, id).n > 0)
		e = find_in_directory(c, conf_str(&c->conf, id).p, name, out,
		    text, w);
	if (e != OK || *out != NULL)
		return e;
	return why(w, ERR_ABSENT, "there is no connector %.*s, neither built "
	    "in nor in external.connectors%s%s", STR_FMT(str_cut(name, 0,
	    EXTERNAL_NAME_BYTES_MAX)), conf_str(&c->conf, id).n > 0 ? ", " :
	    ", which is not set", conf_str(&c->conf, id).p);
}
