/*
 * Items: create, rename, delete, and their data.
 */
#include "engine/items/item_ops.h"

#include "base/json_writer.h"
#include "base/text.h"
#include "engine/items/item_ops_own.h"
#include "engine/items/worklist.h"
#include "os/clock.h"

static const struct item_limits *
limits_of(const struct item_tx *tx)
{
	return item_store_limits(item_tx_store(tx));
}

/* -- Data -- */

void
item_data_put(struct item_tx *tx, const struct item_actor *by,
    struct item_row *item, struct str data)
{
	const struct item_event e = { .type = ITEM_EVENT_ITEM_UPDATED,
		.item = item, .before = item->data, .after = data };

	item_event_put(tx, by, &e);
	item_tx_touch_item(tx, item);
	item->data = data;
	item->updated_at = item_tx_now(tx);
	item->rev++;
}

static void
change_data(struct item_tx *tx, const struct item_actor *by,
    struct item_row *item, struct str data, enum item_effect *effect)
{
	*effect = ITEM_SKIPPED;
	if (str_eq(item->data, data))
		return;
	*effect = ITEM_UPDATED;
	item_data_put(tx, by, item, data);
}

enum err
item_data_set_checked(struct item_tx *tx, const struct item_actor *by,
    struct str id, struct str data, enum item_effect *effect,
    struct item_row **item, struct why *w)
{
	enum err e = item_tx_find(tx, id, item, w);

	if (e == OK)
		change_data(tx, by, *item, data, effect);
	return e;
}

enum err
item_data_set(struct item_tx *tx, const struct item_actor *by, struct str id,
    struct str data, enum item_effect *effect, struct item_row **item,
    struct why *w)
{
	struct str json;

	enum err e = item_json_check("data", data, limits_of(tx),
	    item_tx_arena(tx), &json, w);
	return e == OK ? item_data_set_checked(tx, by, id, json, effect, item,
	    w) : e;
}

/* A patch is no data: what it takes away is null in it. */
static enum err
patch_row(struct item_tx *tx, const struct item_actor *by,
    struct item_row *item, struct str patch, enum item_effect *effect,
    struct why *w)
{
	struct str change, json;

	enum err e = item_json_check("data", patch, limits_of(tx),
	    item_tx_arena(tx), &change, w);
	if (e == OK)
		e = item_json_patch(item->data, change, limits_of(tx),
		    item_tx_arena(tx), &json, w);
	if (e == OK)
		change_data(tx, by, item, json, effect);
	return e;
}

enum err
item_data_patch(struct item_tx *tx, const struct item_actor *by,
    struct str id, struct str patch, enum item_effect *effect,
    struct item_row **item, struct why *w)
{
	enum err e = item_tx_find(tx, id, item, w);

	return e == OK ? patch_row(tx, by, *item, patch, effect, w) : e;
}

/* -- Create -- */

/* Base32 whose characters are in ASCII's order, so that ids come in order. */
static void
make_id(struct wall now, char out[static ITEM_NEW_ID_BYTES + 1])
{
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
	uint8_t bytes[16];
	unsigned bits = 2, value = 0;    /* 130 bits: two zeros come first */
	size_t at = 0, n = 0;

	for (size_t i = 0; i < 6; i++)
		bytes[i] = (uint8_t)(now.us / 1000 >> (8 * (5 - i)));
	clock_random(bytes + 6, sizeof(bytes) - 6);
	while (n < ITEM_NEW_ID_BYTES) {
		if (bits < 5) {
			value = (value << 8 | bytes[at++]) & 0xfff;
			bits += 8;
		}
		bits -= 5;
		out[n++] = digits[value >> bits & 31];
	}
	out[n] = '\0';
}

static struct str
creator_of(const struct item_actor *by, const struct item_create *c)
{
	if (c->created_by.n > 0)
		return c->created_by;
	return by->creator.p != NULL ? by->creator : by->run_id;
}

static enum err
add_aliases(struct item_tx *tx, const struct item_actor *by,
    struct item_row *item, const struct item_create *c, bool *changed,
    struct why *w)
{
	struct alias_row *alias;
	enum err e = OK;

	for (size_t i = 0; i < c->aliases_n && e == OK; i++) {
		e = item_id_check("aliases", c->aliases[i], w);
		if (e == OK)
			e = item_tx_alias(tx, c->aliases[i], &alias, w);
		if (e != OK || (alias->exists && alias->item == item->key))
			continue;
		if (alias->exists && c->fail_if_exists)
			e = why_field(w, ERR_EXISTS, "aliases", "%.*s is in "
			    "use", (int)MIN(alias->id.n, 100), alias->id.p);
		if (e != OK || alias->exists)
			continue;
		e = item_alias_put(tx, by, item, alias, w);
		*changed = true;
	}
	return e;
}

static void
fill_row(struct item_tx *tx, const struct item_actor *by,
    const struct item_create *c, struct item_row *item, struct alias_row *own,
    struct str data)
{
	struct arena *a = item_tx_arena(tx);
	struct str creator = creator_of(by, c);

	item_tx_touch_item(tx, item);
	item->exists = true;
	item->id = own->id;
	item->data = data;
	item->created_by = creator.n == 0 ? STR_NONE : arena_copy(a, creator);
	item->created_at = item->updated_at = item_tx_now(tx);
	item->rev = 1;
	item_tx_touch_alias(tx, own);
	own->exists = own->own = true;
	own->item = item->key;
}

static enum err
make_item(struct item_tx *tx, const struct item_actor *by,
    const struct item_create *c, struct alias_row *own, struct item_row **out,
    struct why *w)
{
	struct item_row *item;
	struct str data;
	bool changed;

	enum err e = item_json_check("data", c->data, limits_of(tx),
	    item_tx_arena(tx), &data, w);
	if (e == OK)
		e = item_tx_new_item(tx, &item, w);
	if (e != OK)
		return e;
	*out = item;
	fill_row(tx, by, c, item, own, data);
	e = item_tags_change(tx, NULL, item, c->tags, c->tags_n, NULL, 0,
	    &changed, w);
	if (e == OK)
		e = add_aliases(tx, NULL, item, c, &changed, w);
	if (e != OK)
		return e;
	const struct item_event new = { .type = ITEM_EVENT_ITEM_NEW,
		.item = item };
	item_event_put(tx, by, &new);
	return worklist_follow_tags(tx, item, w);
}

static enum err
upsert_item(struct item_tx *tx, const struct item_actor *by,
    const struct item_create *c, struct item_row *item,
    enum item_effect *effect, struct why *w)
{
	bool tags = false, aliases = false;
	struct str data;
	enum err e;

	if (c->merge_data) {
		e = patch_row(tx, by, item, c->data, effect, w);
	} else {
		e = item_json_check("data", c->data, limits_of(tx),
		    item_tx_arena(tx), &data, w);
		if (e == OK)
			change_data(tx, by, item, data, effect);
	}
	if (e == OK)
		e = item_tags_change(tx, by, item, c->tags, c->tags_n, NULL, 0,
		    &tags, w);
	if (e == OK)
		e = add_aliases(tx, by, item, c, &aliases, w);
	if (tags || aliases)
		*effect = ITEM_UPDATED;
	return e == OK && tags ? worklist_follow_tags(tx, item, w) : e;
}

enum err
item_create(struct item_tx *tx, const struct item_actor *by,
    const struct item_create *c, enum item_effect *effect,
    struct item_row **item, struct why *w)
{
	char made[ITEM_NEW_ID_BYTES + 1];
	struct str id = c->id;
	struct alias_row *own;

	if (id.n == 0) {
		make_id(item_tx_now(tx), made);
		id = str_of(made);
	}
	*effect = ITEM_NEW;
	enum err e = item_id_check("id", id, w);
	if (e == OK && c->created_by.n > 0)
		e = item_id_check("createdBy", c->created_by, w);
	if (e == OK)
		e = item_tx_alias(tx, id, &own, w);
	if (e != OK)
		return e;
	if (!own->exists)
		return make_item(tx, by, c, own, item, w);
	if (c->fail_if_exists)
		return why_field(w, ERR_EXISTS, "id", "there is such an item");
	*effect = ITEM_SKIPPED;
	e = item_tx_item(tx, own->item, item, w);
	if (e != OK || !c->allow_upsert)
		return e;
	return upsert_item(tx, by, c, *item, effect, w);
}

/* -- Rename -- */

static void
put_renamed(struct item_tx *tx, const struct item_actor *by,
    const struct item_row *item, struct str old)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_put_text(&b, "\"from\":");
	text_json(&b, old);
	const struct item_event e = { .type = ITEM_EVENT_ITEM_RENAMED,
		.item = item, .detail = buf_str(&b) };
	item_event_put(tx, by, &e);
}

static enum err
swap_ids(struct item_tx *tx, const struct item_actor *by,
    struct item_row *item, struct alias_row *to, struct why *w)
{
	struct alias_row *old;
	unsigned n = item->aliases_n + !to->exists;

	enum err e = item_count_check("aliases", n,
	    limits_of(tx)->aliases_max, w);
	if (e == OK)
		e = item_tx_alias(tx, item->id, &old, w);
	if (e != OK)
		return e;
	item_tx_touch_alias(tx, old);
	item_tx_touch_alias(tx, to);
	item_tx_touch_item(tx, item);
	old->own = false;
	to->exists = to->own = true;
	to->item = item->key;
	item->id = to->id;
	item->aliases_n = n;
	put_renamed(tx, by, item, old->id);
	return OK;
}

enum err
item_rename(struct item_tx *tx, const struct item_actor *by, struct str from,
    struct str to, struct item_row **item, struct why *w)
{
	struct alias_row *alias;

	enum err e = item_id_check("to", to, w);
	if (e == OK)
		e = item_tx_find(tx, from, item, w);
	if (e == OK)
		e = item_tx_alias(tx, to, &alias, w);
	if (e != OK)
		return e;
	if (alias->exists && alias->item != (*item)->key)
		return why_field(w, ERR_EXISTS, "to", "another item has it");
	return alias->exists && alias->own ? OK :
	    swap_ids(tx, by, *item, alias, w);
}

/* -- Delete -- */

static enum err
drop_aliases(struct item_tx *tx, struct item_row *item, struct why *w)
{
	struct alias_row **list, *own;
	size_t n;

	enum err e = item_tx_aliases_of(tx, item, &list, &n, w);
	if (e == OK)
		e = item_tx_alias(tx, item->id, &own, w);
	if (e != OK)
		return e;
	for (size_t i = 0; i < n; i++) {
		item_tx_touch_alias(tx, list[i]);
		list[i]->exists = false;
	}
	item_tx_touch_alias(tx, own);
	own->exists = false;
	return OK;
}

static enum err
drop_blobs(struct item_tx *tx, struct item_row *item, struct why *w)
{
	struct blob_row **list;
	size_t n;

	enum err e = item_tx_blobs_of(tx, item, &list, &n, w);
	for (size_t i = 0; i < n && e == OK; i++) {
		item_tx_touch_blob(tx, list[i]);
		list[i]->exists = false;
	}
	return e;
}

enum err
item_delete(struct item_tx *tx, const struct item_actor *by, struct str id,
    struct why *w)
{
	struct item_row *item;

	enum err e = item_tx_find(tx, id, &item, w);
	if (e != OK)
		return e;
	const struct item_event gone = { .type = ITEM_EVENT_ITEM_DELETED,
		.item = item };
	item_event_put(tx, by, &gone);
	e = worklist_drop_item(tx, item, w);
	if (e == OK)
		e = drop_blobs(tx, item, w);
	if (e == OK)
		e = drop_aliases(tx, item, w);
	if (e != OK)
		return e;
	item_tx_drop_records(tx, item->key);
	item_tx_touch_item(tx, item);
	item->exists = false;
	item->tags = NULL;
	item->tags_n = 0;
	item->aliases_n = item->blobs_n = 0;
	return OK;
}
