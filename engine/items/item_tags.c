#include "base/json_writer.h"
#include "base/text.h"
#include "engine/items/item_ops_own.h"
#include "engine/items/worklist.h"

/* A list of tags that is made anew, by name. */
struct tag_list {
	struct item_tag *tags;
	size_t n;
};

static size_t
tag_place(const struct tag_list *l, struct str name, bool *found)
{
	size_t i = 0;

	while (i < l->n && str_cmp(l->tags[i].name, name) < 0)
		i++;
	*found = i < l->n && str_eq(l->tags[i].name, name);
	return i;
}

static void
put_tag_event(struct item_tx *tx, const struct item_actor *by,
    const struct item_row *item, enum item_event_type type,
    const struct item_tag *t)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	if (by == NULL)
		return;
	buf_put_text(&b, "\"tag\":");
	text_json(&b, t->name);
	if (type == ITEM_EVENT_TAG_ADDED && t->value.p != NULL) {
		buf_put_text(&b, ",\"value\":");
		text_json(&b, t->value);
	}
	const struct item_event e = { .type = type, .item = item,
		.detail = buf_str(&b) };
	item_event_put(tx, by, &e);
}

static void
take_tag(struct tag_list *l, size_t at)
{
	memmove(&l->tags[at], &l->tags[at + 1],
	    (--l->n - at) * sizeof(*l->tags));
}

static bool
same_value(struct str a, struct str b)
{
	return (a.p == NULL) == (b.p == NULL) && str_eq(a, b);
}

static enum err
add_tag(struct item_tx *tx, struct tag_list *l, const struct item_tag_text *t,
    bool *changed, struct item_tag **out, struct why *w)
{
	struct arena *a = item_tx_arena(tx);
	struct item_store *st = item_tx_store(tx);
	bool found;
	uint32_t id;
	size_t at = tag_place(l, t->name, &found);

	*changed = !found || !same_value(l->tags[at].value, t->value);
	if (!*changed)
		return OK;
	enum err e = item_store_name(st, ITEM_NAME_TAG, t->name, true, &id, w);
	if (e != OK)
		return e;
	if (!found)
		memmove(&l->tags[at + 1], &l->tags[at],
		    (l->n++ - at) * sizeof(*l->tags));
	*out = &l->tags[at];
	**out = (struct item_tag){ .tag = id,
		.name = item_store_name_text(st, id),
		.value = t->value.p == NULL ? STR_NONE :
		    arena_copy(a, t->value) };
	return OK;
}

enum err
item_tags_change(struct item_tx *tx, const struct item_actor *by,
    struct item_row *item, const struct item_tag_text *add, size_t add_n,
    const struct str *remove, size_t remove_n, bool *changed, struct why *w)
{
	struct tag_list l = { ARENA_ARRAY(item_tx_arena(tx), struct item_tag,
	    item->tags_n + add_n), item->tags_n };
	enum err e = OK;
	bool one;

	*changed = false;
	if (l.n > 0)
		memcpy(l.tags, item->tags, l.n * sizeof(*l.tags));
	for (size_t i = 0; i < remove_n; i++) {
		size_t at = tag_place(&l, remove[i], &one);
		if (!one)
			continue;
		put_tag_event(tx, by, item, ITEM_EVENT_TAG_REMOVED,
		    &l.tags[at]);
		take_tag(&l, at);
		*changed = true;
	}
	for (size_t i = 0; i < add_n && e == OK; i++) {
		struct item_tag *t;
		e = item_tag_check(&add[i], w);
		if (e == OK)
			e = add_tag(tx, &l, &add[i], &one, &t, w);
		if (e == OK && one)
			put_tag_event(tx, by, item, ITEM_EVENT_TAG_ADDED, t);
		*changed |= e == OK && one;
	}
	if (e == OK)
		e = item_count_check("tags", l.n,
		    item_store_limits(item_tx_store(tx))->tags_max, w);
	if (e != OK || !*changed)
		return e;
	item_tx_touch_item(tx, item);
	item->tags = l.tags;
	item->tags_n = l.n;
	return OK;
}

enum err
item_tags_update(struct item_tx *tx, const struct item_actor *by,
    struct str id, const struct item_tag_text *add, size_t add_n,
    const struct str *remove, size_t remove_n, struct item_row **item,
    struct why *w)
{
	bool changed = false;

	enum err e = item_tx_find(tx, id, item, w);
	if (e == OK)
		e = item_tags_change(tx, by, *item, add, add_n, remove,
		    remove_n, &changed, w);
	return e == OK && changed ? worklist_follow_tags(tx, *item, w) : e;
}
