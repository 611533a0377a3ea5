#include "engine/harvest/harvest_rebuild.h"

#include "engine/harvest/place.h"
#include "os/clock.h"

/* "YYYY/MM/DD/HH/NAME" behind a harvest's path. */
#define HOUR_PARTS 5

struct rebuilt {
	struct str id, type, path;
	struct store_harvest_warc *list;
	size_t n, cap;
	struct wall first, last;
};

/* PATH of a file at its place; of one that is elsewhere, its directory. */
static struct str
path_of(struct str file, const struct store_harvest_warc *f, struct arena *a)
{
	struct str path = file;
	size_t cut = 1;

	for (int i = 0; i < HOUR_PARTS; i++) {
		while (path.n > 0 && path.p[path.n - 1] != '/')
			path.n--;
		path.n -= path.n > 0;
		cut = i == 0 ? path.n : cut;
	}
	return str_eq(place_path(arena_copy(a, path).p, f, a), file) ? path :
	    str_cut(file, 0, cut);
}

static struct rebuilt *
find_harvest(struct harvest_rebuild *r, struct str id, struct str type)
{
	struct rebuilt *h = map_get(&r->harvests, id);

	if (h != NULL)
		return h;
	h = ARENA_NEW(&r->arena, struct rebuilt);
	*h = (struct rebuilt){ .id = arena_copy(&r->arena, id),
	    .type = arena_copy(&r->arena, type) };
	map_put(&r->harvests, h->id, h);
	return h;
}

void
harvest_rebuild_add(struct harvest_rebuild *r, struct str id, struct str type,
    const char *file)
{
	struct rebuilt *h = find_harvest(r, id, type);
	struct store_harvest_warc f;

	if (place_describe(file, &r->arena, &f, NULL) != OK) {
		r->unread++;
		return;
	}
	f.placed = true;
	if (h->n == 0) {
		h->path = arena_copy(&r->arena, path_of(str_of(file), &f,
		    &r->arena));
		h->first = h->last = f.created;
	}
	h->first.us = MIN(h->first.us, f.created.us);
	h->last.us = MAX(h->last.us, f.created.us);
	h->list = arena_grow(&r->arena, h->list, h->n, &h->cap, 8,
	    sizeof(*h->list));
	h->list[h->n++] = f;
}

static enum err
put_rows(struct store *st, const struct rebuilt *h, struct arena *a,
    struct why *w)
{
	struct store_harvest row = { .id = h->id, .type = h->type,
	    .path = h->path, .message = STR("{}"),
	    .end = STORE_HARVEST_SUCCESS };

	enum err e = store_harvest_add(st, &row, h->first, a, w);
	if (e == OK)
		e = store_harvest_set_state(st, h->id, STORE_HARVEST_RUNNING,
		    h->first, w);
	if (e == OK)
		e = store_harvest_ready(st, &row, h->list, h->n, w);
	for (size_t i = 0; e == OK && i < h->n; i++)
		e = store_harvest_placed(st, h->id, h->list[i].name, w);
	if (e == OK)
		e = store_harvest_merged(st, h->id, w);
	return e == OK ? store_harvest_set_state(st, h->id,
	    STORE_HARVEST_SUCCEEDED, h->last, w) : e;
}

enum err
harvest_rebuild_store(struct harvest_rebuild *r, struct store *st,
    uint64_t *n, struct why *w)
{
	struct store_harvest known;
	enum err e = OK;

	*n = 0;
	MAP_EACH(h, &r->harvests, struct rebuilt) {
		if (store_harvest_get(st, h->id, &r->arena, &known, NULL) ==
		    OK || h->n == 0)
			continue;
		e = store_begin(st, w);
		if (e == OK)
			e = store_end(st, put_rows(st, h, &r->arena, w), w);
		if (e != OK)
			break;
		++*n;
	}
	return e;
}

void
harvest_rebuild_free(struct harvest_rebuild *r)
{
	map_free(&r->harvests);
	arena_free(&r->arena);
}
