/* Items of an answer, as exports find them, become documents. */
#include "base/json_writer.h"
#include "base/text.h"
#include "engine/connector/item_json.h"
#include "engine/harvest/document_own.h"

/* ---- Whose items ---------------------------------------------------- */

/* The items of a platform that the order describes. */
static enum err
make_described(const struct connector_order *o,
    const struct connector_items *row, struct connector_items **made,
    struct why *w)
{
	yyjson_val *v = yyjson_obj_get(o->options, o->connector->description);
	size_t n;
	char *text = v == NULL ? NULL : yyjson_val_write(v, 0, &n);

	if (text == NULL)
		return why_field(w, ERR_INPUT, "options", "%s is missing",
		    o->connector->description);
	enum err e = row->declared->make((struct str){ text, n }, NULL, made,
	    w);
	free(text);
	return e;
}

enum err
document_items_find(const struct connector_order *o,
    const struct connector_items **out, struct connector_items **made,
    struct why *w)
{
	const struct connector *c = o->connector;

	*out = item_type_find(str_of(c->type));
	*made = NULL;
	if (c->is_crawl || *out == NULL)
		return why(w, ERR_STATE, "%s makes a crawl, and gives no "
		    "documents", c->type);
	if (c->kind == CONNECTOR_STREAM ||
	    (*out)->framing != ITEM_FRAMING_DOCUMENT)
		return why(w, ERR_STATE, "%s is a stream, and only lists give "
		    "documents", c->type);
	if ((*out)->declared == NULL)
		return OK;
	enum err e = make_described(o, *out, made, w);
	*out = *made;
	return e;
}

void
document_items_free(struct connector_items **made)
{
	if (*made != NULL)
		item_type_declared()->declared->free(made);
}

/* ---- Documents ------------------------------------------------------ */

/* On one line.  A value with half of a surrogate pair has no UTF-8, and is
 * written with escapes. */
static struct str
text_of(yyjson_val *v, struct arena *a)
{
	FREED(buf_free) struct buf escaped = BUF_INIT;
	size_t n = 0;
	char *text = yyjson_val_write(v, 0, &n);
	struct str out = { text, n };

	if (text == NULL || !text_is_utf8(out)) {
		item_json_put(&escaped, v);
		out = buf_str(&escaped);
	}
	out = arena_copy(a, out);
	free(text);
	return out;
}

/* With the id in front if the item has none under that name. */
static struct str
text_with_id(const struct document_list *l, const struct item *i,
    struct arena *a)
{
	FREED(buf_free) struct buf out = BUF_INIT;
	struct str text = text_of(i->json, a);

	if (l->id_member.n == 0 || !yyjson_is_obj(i->json) ||
	    yyjson_obj_getn(i->json, l->id_member.p, l->id_member.n) != NULL)
		return text;
	json_object(&out, NULL);
	json_str(&out, l->id_member.p, i->id);
	if (yyjson_obj_size(i->json) > 0)
		buf_put_char(&out, ',');
	buf_put_str(&out, str_from(text, 1));
	return arena_copy(a, buf_str(&out));
}

static enum err
take_item(void *arg, const struct item *i, struct why *w)
{
	struct document_list *l = arg;

	(void)w;
	l->broken += i->kind == ITEM_BROKEN;
	if (i->kind != ITEM_FOUND || i->json == NULL)
		return OK;
	l->list = arena_grow(&l->arena, l->list, l->n, &l->cap, 32,
	    sizeof(*l->list));
	l->list[l->n++] = (struct document){ .id = arena_copy(&l->arena,
	    i->id), .date = i->date, .json = text_with_id(l, i, &l->arena) };
	return OK;
}

enum err
document_items_take(const struct connector_items *items,
    const struct driver_answered *x, struct document_list *l, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct item_text t = { .uri = x->url, .text = x->body,
	    .received = x->when };

	return items->each(items, &t, &a, take_item, l, w);
}
