#include "base/json_writer.h"
#include "base/text.h"
#include "engine/items/item_ops_own.h"

static void
put_tags(struct buf *b, const struct item_row *item)
{
	json_array(b, "tags");
	for (size_t i = 0; i < item->tags_n; i++) {
		const struct item_tag *t = &item->tags[i];
		json_object(b, NULL);
		json_str(b, "name", t->name);
		if (t->value.p == NULL)
			json_null(b, "value");
		else
			json_str(b, "value", t->value);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

/* Its own id first. */
static enum err
put_aliases(struct item_tx *tx, struct item_row *item, struct buf *b,
    struct why *w)
{
	struct alias_row **list;
	size_t n;

	enum err e = item_tx_aliases_of(tx, item, &list, &n, w);
	json_array(b, "aliases");
	json_item(b, item->id);
	for (size_t i = 0; i < n; i++)
		json_item(b, list[i]->id);
	buf_put_char(b, ']');
	return e;
}

enum err
item_json(struct item_tx *tx, struct item_row *item, struct buf *b,
    struct why *w)
{
	json_object(b, NULL);
	json_str(b, "id", item->id);
	enum err e = put_aliases(tx, item, b, w);
	put_tags(b, item);
	json_raw(b, "data", item->data);
	if (item->created_by.p == NULL)
		json_null(b, "created_by");
	else
		json_str(b, "created_by", item->created_by);
	item_json_time(b, "created_at", item->created_at);
	item_json_time(b, "updated_at", item->updated_at);
	json_u64(b, "rev", item->rev);
	buf_put_char(b, '}');
	return e;
}
