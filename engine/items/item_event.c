#include "engine/items/item_event.h"

#include "base/json_writer.h"
#include "base/text.h"
#include "engine/items/item_tx_own.h"

void
item_json_time(struct buf *b, const char *name, struct wall t)
{
	char iso[WALL_ISO_MAX];

	if (t.us == ITEM_TIME_NONE.us) {
		json_null(b, name);
		return;
	}
	wall_to_iso(t, iso);
	json_name(b, name);
	buf_put_char(b, '"');
	/* "…:16.123456Z" becomes "…:16.123Z". */
	buf_put_str(b, str_cut(str_of(iso), 0, strlen(iso) - 4));
	buf_put_text(b, "Z\"");
}

/* The time is the same in all events of a transaction. */
static void
begin_event(struct item_tx *tx, struct buf *b)
{
	buf_clear(b);
	if (tx->event_begin.n == 0) {
		json_object(b, NULL);
		item_json_time(b, "at", tx->now);
		tx->event_begin = arena_copy(&tx->scratch, buf_str(b));
	} else
		buf_put_str(b, tx->event_begin);
}

static void
put_actor(struct buf *b, const struct item_actor *by)
{
	if (by->task.n == 0)
		return;
	json_object(b, "by");
	if (by->run_id.n > 0)
		json_str(b, "item", by->run_id);
	json_str(b, "task", by->task);
	if (by->lease.n > 0)
		json_str(b, "lease", by->lease);
	buf_put_char(b, '}');
}

static void
put_diff(struct buf *b, const struct item_event *e)
{
	if (e->before.p == NULL)
		return;
	json_name(b, "diff");
	item_diff(e->before, e->after, b);
}

/* ",a,b,": a filter looks for ",a,". */
static struct str
tags_text(struct arena *a, const struct item_row *item)
{
	size_t n = 1;

	if (item == NULL || item->tags_n == 0)
		return STR_NONE;
	for (size_t i = 0; i < item->tags_n; i++)
		n += item->tags[i].name.n + 1;
	char *p = arena_bytes(a, n);
	struct str text = { p, n };
	*p++ = ',';
	for (size_t i = 0; i < item->tags_n; i++) {
		struct str name = item->tags[i].name;
		memcpy(p, name.p, name.n);
		p += name.n;
		*p++ = ',';
	}
	return text;
}

void
item_event_put(struct item_tx *tx, const struct item_actor *by,
    const struct item_event *e)
{
	static const char *const types[] = { ITEM_EVENTS(TABLE_SECOND) };
	struct str id = e->item != NULL && e->id.n == 0 ? e->item->id : e->id;
	struct buf *b = &tx->text;

	begin_event(tx, b);
	json_str(b, "type", str_of(types[e->type]));
	if (id.n > 0)
		json_str(b, "id", id);
	if (e->task.n > 0)
		json_str(b, "task", e->task);
	put_actor(b, by);
	if (e->detail.n > 0) {
		json_comma(b);
		buf_put_str(b, e->detail);
	}
	put_diff(b, e);
	buf_put_char(b, '}');
	tx->events = arena_grow(&tx->scratch, tx->events, tx->events_n,
	    &tx->events_cap, 64, sizeof(*tx->events));
	tx->events[tx->events_n++] = (struct event){ e->type,
	    e->task.n == 0 ? STR_NONE : arena_copy(&tx->scratch, e->task),
	    tags_text(&tx->scratch, e->item),
	    arena_copy(&tx->scratch, buf_str(b)) };
}
