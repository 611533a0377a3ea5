#include "doors/external/connectors.h"

#include "base/arena.h"
#include "engine/parser/url.h"
#include "os/file.h"
#include "script/connectors/module_load.h"

#define DECLARED STR(".json")
#define MODULE STR(".js")

struct connectors {
	struct held_connector **list;
	size_t n, cap;
};

struct held_connector *
connector_hold(struct held_connector *c)
{
	c->held++;
	return c;
}

void
connector_release(struct held_connector **cp)
{
	struct held_connector *c = *cp;

	*cp = NULL;
	if (c == NULL || --c->held > 0)
		return;
	external_connector_free(&c->connector);
	if (c->bundle != NULL)
		bundle_drop(&c->bundle);
	arena_free(&c->arena);
	mem_free(&c);
}

static void
add_host(struct held_connector *c, yyjson_val *api, const char *place)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct url u;

	if (url_parse(json_text(yyjson_ptr_get(api, place)), NULL, &a, &u,
	    NULL) == OK)
		c->hosts[c->hosts_n++] = arena_printf(&c->arena, "%.*s:%u",
		    STR_FMT(u.host), u.port);
}

struct held_connector *
connector_new(struct external_connector *connector,
    struct script_bundle *bundle)
{
	struct held_connector *c = mem_new(sizeof(*c));
	yyjson_val *api = external_connector_api(connector);

	c->held = 1;
	c->connector = connector;
	c->bundle = bundle;
	c->name = external_connector_name(connector);
	if (api != NULL) {
		add_host(c, api, "/url");
		add_host(c, api, "/auth/token_url");
	}
	return c;
}

static void
add_connector(struct connectors *all, struct held_connector *c)
{
	all->list = mem_room(all->list, all->n, &all->cap, 8,
	    sizeof(*all->list));
	all->list[all->n++] = c;
}

struct reading {
	const char *dir;
	const struct conf *conf;
	bool runs_scripts;
};

static bool
is_module(struct str file)
{
	return str_ends(file, MODULE) && file.p[0] != '.';
}

static bool
is_connector(struct str file)
{
	return is_module(file) || (str_ends(file, DECLARED) &&
	    file.p[0] != '.');
}

static enum err
load_declared(const char *path, struct external_connector **out,
    struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct why first = WHY_INIT;

	enum err e = file_load(path, EXTERNAL_FILE_BYTES_MAX, &text, w);
	if (e != OK)
		return e;
	return external_connector_load(buf_str(&text), path, out, &first) ==
	    OK ? OK : why(w, ERR_CONFIG, "external.connectors: %s",
	    first.text);
}

static enum err
load_module(const struct reading *r, const char *path,
    struct script_bundle **bundle, struct external_connector **out,
    struct why *w)
{
	struct why first = WHY_INIT;

	if (!r->runs_scripts)
		return why(w, ERR_CONFIG, "external.connectors: %s: the "
		    "program began without a module here; start it anew",
		    path);
	return module_load(path, r->conf, bundle, out, &first) == OK ? OK :
	    why(w, ERR_CONFIG, "external.connectors: %s", first.text);
}

static enum err
load_file(struct connectors *all, const struct reading *r, struct str file,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct external_connector *connector;
	struct script_bundle *bundle = NULL;
	struct str path = arena_printf(&a, "%s/%.*s", r->dir, STR_FMT(file));

	enum err e = is_module(file) ? load_module(r, path.p, &bundle,
	    &connector, w) : load_declared(path.p, &connector, w);
	if (e != OK)
		return e;
	struct held_connector *c = connector_new(connector, bundle);
	if (connectors_find(all, c->name) == NULL) {
		add_connector(all, c);
		return OK;
	}
	e = why(w, ERR_CONFIG, "external.connectors: %s: there are two "
	    "connectors with the name %.*s", path.p, STR_FMT(c->name));
	connector_release(&c);
	return e;
}

static int
by_name(const void *a, const void *b)
{
	const struct held_connector *const *x = a, *const *y = b;

	return str_cmp((*x)->name, (*y)->name);
}

static enum err
load_all(struct connectors *all, const struct reading *r, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str *names;
	size_t n;

	enum err e = file_list(r->dir, &a, &names, &n, w);
	for (size_t i = 0; e == OK && i < n; i++) {
		if (!is_connector(names[i]))
			continue;
		e = all->n < CONNECTORS_MAX ? load_file(all, r, names[i],
		    w) : why(w, ERR_FULL, "external.connectors: %s has more "
		    "than %u connectors", r->dir, CONNECTORS_MAX);
	}
	return e;
}

bool
connectors_have_module(const char *dir)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str *names;
	bool has = false;
	size_t n = 0;

	if (dir[0] == '\0' || file_list(dir, &a, &names, &n, NULL) != OK)
		return false;
	for (size_t i = 0; i < n; i++)
		has |= is_module(names[i]);
	return has;
}

enum err
connectors_read(const char *dir, const struct conf *conf, bool runs_scripts,
    struct connectors **out, struct why *w)
{
	const struct reading r = { dir, conf, runs_scripts };
	struct connectors *all = mem_new(sizeof(*all));
	struct external_connector *built_in;

	for (size_t i = 0; (built_in = external_connector_builtin(i)) != NULL;
	    i++)
		add_connector(all, connector_new(built_in, NULL));
	enum err e = dir[0] == '\0' ? OK : load_all(all, &r, w);
	if (e != OK) {
		connectors_free(&all);
		return e;
	}
	qsort(all->list, all->n, sizeof(*all->list), by_name);
	*out = all;
	return e;
}

void
connectors_free(struct connectors **ap)
{
	struct connectors *all = *ap;

	if (all == NULL)
		return;
	for (size_t i = 0; i < all->n; i++)
		connector_release(&all->list[i]);
	mem_free(&all->list);
	mem_free(ap);
}

bool
connectors_have_oauth(const struct connectors *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (external_connector_oauth(all->list[i]->connector) != NULL)
			return true;
	return false;
}

size_t
connectors_count(const struct connectors *all)
{
	return all->n;
}

struct held_connector *
connectors_nth(const struct connectors *all, size_t i)
{
	return all->list[i];
}

struct held_connector *
connectors_find(const struct connectors *all, struct str name)
{
	for (size_t i = 0; i < all->n; i++)
		if (str_eq(all->list[i]->name, name))
			return all->list[i];
	return NULL;
}
