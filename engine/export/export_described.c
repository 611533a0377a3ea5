#include "engine/export/export_described.h"

#include "engine/export/export_reader.h"

/* More different ones in one export are no longer found. */
#define DESCRIPTIONS_MAX 1000u

struct description {
	struct str text;
	struct connector_items *items;
	bool waits;                  /* for the first item, for its columns */
};

struct export_described {
	const struct item_declared *how;
	struct description *list;
	size_t n, cap;
	struct arena texts;
	/* Of the file that is read. */
	struct description *open;    /* its first item is looked for */
	bool done;
};

static struct description *
find(const struct export_described *x, struct str text)
{
	for (size_t i = 0; i < x->n; i++)
		if (str_eq(x->list[i].text, text))
			return &x->list[i];
	return NULL;
}

const struct connector_items *
export_described_find(const struct export_described *x, struct str text)
{
	const struct description *found = find(x, text);

	return found == NULL ? NULL : found->items;
}

/* ---- The beginning of a file ------------------------------------------- */

/* Keep it; NULL: it is none, or one too many. */
static struct description *
add_description(struct export_described *x, struct str text)
{
	struct description new;

	if (x->n == DESCRIPTIONS_MAX ||
	    x->how->make(text, NULL, &new.items, NULL) != OK)
		return NULL;
	new.text = arena_copy(&x->texts, text);
	new.waits = x->how->wants_first(new.items);
	x->list = mem_room(x->list, x->n, &x->cap, 4, sizeof(*x->list));
	x->list[x->n] = new;
	return &x->list[x->n++];
}

static void
on_description(void *arg, struct str text)
{
	struct export_described *x = arg;
	struct description *found = find(x, text);

	if (found == NULL)
		found = add_description(x, text);
	x->done = found == NULL || !found->waits;
	x->open = x->done ? NULL : found;
}

static const struct connector_items *
choose(void *arg, struct str uri, struct str content_type, bool resource)
{
	struct export_described *x = arg;

	(void)content_type;
	/* Without a description before the first answer there is none. */
	x->done |= x->open == NULL;
	return !resource && x->open != NULL && x->how->recognises(
	    x->open->items, uri) ? x->open->items : NULL;
}

static enum err
on_item(void *arg, const struct item *item, struct why *w)
{
	struct export_described *x = arg;
	struct connector_items *items;

	if (x->how->make(x->open->text, item->json, &items, NULL) == OK) {
		x->how->free(&x->open->items);
		x->open->items = items;
	}
	x->open->waits = false;
	x->done = true;
	return why(w, ERR_CLOSED, "one is enough");
}

static void
on_fault(void *arg, struct str what)
{
	(void)arg;
	(void)what;
}

static bool
is_done(void *arg)
{
	return ((struct export_described *)arg)->done;
}

static bool
is_wanted(const struct export_order *o)
{
	for (size_t i = 0; i < o->items_n; i++)
		if (o->items[i]->declared != NULL)
			return true;
	return o->items_n == 0;
}

struct export_described *
export_described_new(const struct export_order *o)
{
	static const struct export_reader_events events = { choose, on_item,
		on_fault, on_description, is_done };
	struct export_described *x = mem_new(sizeof(*x));
	struct export_reader *r = export_reader_new(&events, x);

	x->how = item_type_declared()->declared;
	for (size_t i = 0; is_wanted(o) && i < o->files_n; i++) {
		x->open = NULL;
		x->done = false;
		(void)!export_reader_read(r, &o->files[i], NULL);
	}
	export_reader_free(&r);
	return x;
}

void
export_described_free(struct export_described **xp)
{
	struct export_described *x = *xp;

	if (x == NULL)
		return;
	for (size_t i = 0; i < x->n; i++)
		x->how->free(&x->list[i].items);
	mem_free(&x->list);
	arena_free(&x->texts);
	mem_free(xp);
}
