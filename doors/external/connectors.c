#include "doors/external/connectors.h"

#include "base/arena.h"
#include "engine/parser/url.h"
#include "os/file.h"

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
connector_new(struct external_connector *connector)
{
	struct held_connector *c = mem_new(sizeof(*c));
	yyjson_val *api = external_connector_api(connector);

	c->held = 1;
	c->connector = connector;
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

static enum err
load_file(struct connectors *all, const char *dir, struct str file,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf text = BUF_INIT;
	struct external_connector *connector;
	struct str path = arena_printf(&a, "%s/%.*s", dir, STR_FMT(file));
	struct why first = WHY_INIT;

	enum err e = file_load(path.p, EXTERNAL_FILE_BYTES_MAX, &text, w);
	if (e != OK)
		return e;
	if (external_connector_load(buf_str(&text), path.p, &connector,
	    &first) != OK)
		return why(w, ERR_CONFIG, "external.connectors: %s",
		    first.text);
	struct held_connector *c = connector_new(connector);
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
load_all(struct connectors *all, const char *dir, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str *names;
	size_t n;

	enum err e = file_list(dir, &a, &names, &n, w);
	for (size_t i = 0; e == OK && i < n; i++) {
		if (!str_ends(names[i], STR(".json")) ||
		    names[i].p[0] == '.')
			continue;
		e = all->n < CONNECTORS_MAX ? load_file(all, dir, names[i],
		    w) : why(w, ERR_FULL, "external.connectors: %s has more "
		    "than %u connectors", dir, CONNECTORS_MAX);
	}
	return e;
}

enum err
connectors_read(const char *dir, struct connectors **out, struct why *w)
{
	struct connectors *all = mem_new(sizeof(*all));
	struct external_connector *built_in;

	for (size_t i = 0; (built_in = external_connector_builtin(i)) != NULL;
	    i++)
		add_connector(all, connector_new(built_in));
	enum err e = dir[0] == '\0' ? OK : load_all(all, dir, w);
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
