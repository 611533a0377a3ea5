#include "base/text.h"
#include "engine/items/item_ops_own.h"

static void
put_alias_event(struct item_tx *tx, const struct item_actor *by,
    const struct item_row *item, enum item_event_type type, struct str alias)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_put_text(&b, "\"alias\":");
	text_json(&b, alias);
	const struct item_event e = { .type = type, .item = item,
		.detail = buf_str(&b) };
	item_event_put(tx, by, &e);
}

enum err
item_alias_put(struct item_tx *tx, const struct item_actor *by,
    struct item_row *item, struct alias_row *alias, struct why *w)
{
	CHECK(!alias->exists);
	enum err e = item_count_check("aliases", (size_t)item->aliases_n + 1,
	    item_store_limits(item_tx_store(tx))->aliases_max, w);
	if (e != OK)
		return e;
	item_tx_touch_alias(tx, alias);
	alias->exists = true;
	alias->own = false;
	alias->item = item->key;
	item_tx_touch_item(tx, item);
	item->aliases_n++;
	if (by != NULL)
		put_alias_event(tx, by, item, ITEM_EVENT_ALIAS_NEW, alias->id);
	return OK;
}

enum err
item_alias_create(struct item_tx *tx, const struct item_actor *by,
    struct str from, struct str to, bool fail_if_exists,
    enum item_effect *effect, struct why *w)
{
	struct alias_row *alias;
	struct item_row *item;

	*effect = ITEM_SKIPPED;
	enum err e = item_id_check("from", from, w);
	if (e == OK)
		e = item_tx_find(tx, to, &item, w);
	if (e == OK)
		e = item_tx_alias(tx, from, &alias, w);
	if (e != OK)
		return e;
	if (alias->exists && fail_if_exists)
		return why_field(w, ERR_EXISTS, "from", "it is in use");
	if (alias->exists)
		return OK;
	*effect = ITEM_ALIAS_NEW;
	return item_alias_put(tx, by, item, alias, w);
}

enum err
item_alias_delete(struct item_tx *tx, const struct item_actor *by,
    struct str id, enum item_effect *effect, struct why *w)
{
	struct alias_row *alias;
	struct item_row *item;

	*effect = ITEM_SKIPPED;
	enum err e = item_tx_alias(tx, id, &alias, w);
	if (e != OK || !alias->exists)
		return e;
	if (alias->own)
		return why_field(w, ERR_STATE, "from", "it is the item's own "
		    "id");
	e = item_tx_item(tx, alias->item, &item, w);
	if (e != OK)
		return e;
	item_tx_touch_alias(tx, alias);
	alias->exists = false;
	item_tx_touch_item(tx, item);
	item->aliases_n--;
	put_alias_event(tx, by, item, ITEM_EVENT_ALIAS_DELETED, alias->id);
	*effect = ITEM_ALIAS_DELETED;
	return OK;
}
