/*
 * Merge of one item into another: data, results, tags, blobs and aliases of
 * both become those of one.
 */
#include "base/text.h"
#include "engine/items/item_ops_own.h"
#include "engine/items/worklist.h"

struct merging {
	struct item_tx *tx;
	const struct item_actor *by;
	const struct item_merge *m;
	struct item_row *from, *into;    /* from NULL: there is none */
};

static const struct item_limits *
limits_of(const struct merging *g)
{
	return item_store_limits(item_tx_store(g->tx));
}

/* -- Data -- */

static enum err
merge_data(struct merging *g, struct why *w)
{
	struct str data = g->into->data;
	enum err e = OK;

	if (g->m->has_data)
		e = item_json_check("data", g->m->data, limits_of(g),
		    item_tx_arena(g->tx), &data, w);
	else if (g->from != NULL &&
	    g->from->updated_at.us > g->into->updated_at.us)
		data = g->from->data;
	if (e == OK && !str_eq(data, g->into->data))
		item_data_put(g->tx, g->by, g->into, data);
	return e;
}

/* -- Results -- */

/* Whether `a` was stored after `b`; NONE is the least of all times. */
static bool
is_newer(const struct result_row *a, const struct result_row *b)
{
	if (a->completed_at.us != b->completed_at.us)
		return a->completed_at.us > b->completed_at.us;
	return a->created_at.us > b->created_at.us;
}

static enum err
merge_result(struct merging *g, const struct result_row *from, struct why *w)
{
	struct result_row *into;

	enum err e = item_tx_result(g->tx, from->task, g->into->key, &into, w);
	if (e != OK || (into->exists && !is_newer(from, into)))
		return e;
	int64_t key = into->item;
	uint64_t rev = MAX(into->exists ? into->rev : 0, from->rev);
	item_tx_touch_result(g->tx, into);
	*into = *from;
	into->item = key;
	into->rev = rev + 1;
	/* A changed TTL may have been carried over to one of the items only. */
	struct item_store *st = item_tx_store(g->tx);
	into->expires_at = result_expires(task_find(item_store_config(st),
	    item_store_name_text(st, into->task)), into);
	return OK;
}

/* The newest row of each task, and then what the merger made. */
static enum err
merge_results(struct merging *g, struct why *w)
{
	struct result_row **list;
	size_t n = 0;
	enum err e = OK;

	if (g->from != NULL)
		e = item_tx_results_of(g->tx, g->from->key, &list, &n, w);
	for (size_t i = 0; i < n && e == OK; i++)
		e = merge_result(g, list[i], w);
	for (size_t i = 0; i < g->m->metadata_n && e == OK; i++)
		e = item_metadata_put(g->tx, g->by, g->into,
		    g->m->metadata[i].task, g->m->metadata[i].metadata, w);
	return e;
}

/* -- Tags, aliases, blobs -- */

static enum err
merge_tags(struct merging *g, struct why *w)
{
	const struct item_row *from = g->from;
	struct item_tag_text *add = ARENA_ARRAY(item_tx_arena(g->tx),
	    struct item_tag_text, from->tags_n);
	size_t n = 0;
	bool changed;

	for (size_t i = 0; i < from->tags_n; i++) {
		bool has = false;
		for (size_t k = 0; k < g->into->tags_n; k++)
			has |= g->into->tags[k].tag == from->tags[i].tag;
		if (!has)
			add[n++] = (struct item_tag_text){ from->tags[i].name,
			    from->tags[i].value };
	}
	return item_tags_change(g->tx, g->by, g->into, add, n, NULL, 0,
	    &changed, w);
}

static void
move_alias(struct merging *g, struct alias_row *a)
{
	item_tx_touch_alias(g->tx, a);
	a->item = g->into->key;
	a->own = false;
}

static enum err
merge_aliases(struct merging *g, struct why *w)
{
	struct alias_row **list, *own;
	size_t n, all = (size_t)g->into->aliases_n + g->from->aliases_n + 1;

	enum err e = item_count_check("aliases", all, limits_of(g)->aliases_max,
	    w);
	if (e == OK)
		e = item_tx_aliases_of(g->tx, g->from, &list, &n, w);
	if (e == OK)
		e = item_tx_alias(g->tx, g->from->id, &own, w);
	if (e != OK)
		return e;
	move_alias(g, own);
	for (size_t i = 0; i < n; i++)
		move_alias(g, list[i]);
	item_tx_touch_item(g->tx, g->into);
	g->into->aliases_n = (unsigned)all;
	return OK;
}

/* A name that both have stays `into`'s. */
static enum err
move_blob(struct merging *g, struct blob_row *b, struct why *w)
{
	struct blob_row *to;

	enum err e = item_tx_blob(g->tx, g->into->key, b->name, &to, w);
	if (e != OK)
		return e;
	item_tx_touch_blob(g->tx, b);
	b->exists = false;
	if (to->exists)
		return OK;
	item_tx_touch_blob(g->tx, to);
	to->exists = true;
	memcpy(to->sha256, b->sha256, sizeof(to->sha256));
	to->type = b->type;
	to->bytes = b->bytes;
	item_tx_touch_item(g->tx, g->into);
	g->into->blobs_n++;
	return item_count_check("blobs", g->into->blobs_n,
	    limits_of(g)->blobs_max, w);
}

static enum err
merge_blobs(struct merging *g, struct why *w)
{
	struct blob_row **list;
	size_t n;

	enum err e = item_tx_blobs_of(g->tx, g->from, &list, &n, w);
	for (size_t i = 0; i < n && e == OK; i++)
		e = move_blob(g, list[i], w);
	return e;
}

/* -- All of it -- */

static void
put_merged(struct merging *g, struct str from)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_put_text(&b, "\"from\":");
	text_json(&b, from);
	const struct item_event e = { .type = ITEM_EVENT_ITEM_MERGED,
		.item = g->into, .detail = buf_str(&b) };
	item_event_put(g->tx, g->by, &e);
}

static void
drop_from(struct merging *g)
{
	item_tx_touch_item(g->tx, g->from);
	g->from->exists = false;
	g->from->tags = NULL;
	g->from->tags_n = 0;
	g->from->aliases_n = g->from->blobs_n = 0;
}

/* Also where only a result is: pairs may depend on it. */
static enum err
settle_pairs(struct merging *g, struct why *w)
{
	struct result_row **list;
	struct pair_row *p;
	size_t n;

	enum err e = item_tx_results_of(g->tx, g->into->key, &list, &n, w);
	for (size_t i = 0; i < n && e == OK; i++) {
		e = item_tx_pair(g->tx, list[i]->task, g->into->key, &p, w);
		if (e == OK)
			e = pair_settle(g->tx, p, w);
	}
	return e;
}

static enum err
merge_both(struct merging *g, struct why *w)
{
	put_merged(g, g->from->id);
	enum err e = merge_data(g, w);
	if (e == OK)
		e = merge_results(g, w);
	if (e == OK)
		e = merge_tags(g, w);
	if (e == OK)
		e = merge_blobs(g, w);
	if (e == OK)
		e = merge_aliases(g, w);
	if (e == OK)
		e = worklist_follow_tags(g->tx, g->into, w);
	if (e == OK)
		e = worklist_merge_pairs(g->tx, g->from, g->into, w);
	if (e == OK)
		e = worklist_drop_item(g->tx, g->from, w);
	if (e == OK)
		e = settle_pairs(g, w);
	if (e != OK)
		return e;
	item_tx_move_records(g->tx, g->from->key, g->into->key);
	drop_from(g);
	return OK;
}

/* `from` is not there: merge(into, {}), and it becomes an alias. */
static enum err
merge_one(struct merging *g, struct alias_row *from, struct why *w)
{
	enum err e = item_id_check("from", from->id, w);

	if (e == OK)
		e = item_alias_put(g->tx, NULL, g->into, from, w);
	if (e != OK)
		return e;
	put_merged(g, from->id);
	e = merge_data(g, w);
	return e == OK ? merge_results(g, w) : e;
}

enum err
item_merge(struct item_tx *tx, const struct item_actor *by,
    const struct item_merge *m, enum item_effect *effect,
    struct item_row **item, struct why *w)
{
	struct merging g = { .tx = tx, .by = by, .m = m };
	struct alias_row *from;

	*effect = ITEM_SKIPPED;
	enum err e = item_tx_find(tx, m->into, &g.into, w);
	if (e == OK)
		e = item_tx_alias(tx, m->from, &from, w);
	if (e != OK)
		return e;
	*item = g.into;
	if (from->exists && from->item == g.into->key)
		return OK;
	*effect = ITEM_MERGED;
	if (!from->exists)
		return merge_one(&g, from, w);
	e = item_tx_item(tx, from->item, &g.from, w);
	return e == OK ? merge_both(&g, w) : e;
}
