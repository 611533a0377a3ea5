/*
 * Rows of the registry as clients receive them: docs/protocols/realtime.md
 * section 4.
 */
#include "doors/realtime/own.h"

typedef const char *name_fn(unsigned);

static const char *
exception_word(unsigned i)
{
	return exception_name((enum exception)i);
}

static const char *
skip_word(unsigned i)
{
	return skip_name((enum skip_reason)i);
}

/* Counters by reason, without those that are 0. */
static void
put_counts(struct buf *b, const char *name, const uint64_t *n, unsigned all,
    name_fn *word)
{
	json_object(b, name);
	for (unsigned i = 0; i < all; i++)
		if (n[i] > 0)
			json_u64(b, word(i), n[i]);
	buf_put_char(b, '}');
}

static void
put_exceptions(struct buf *b, const struct crawl_counts *n)
{
	json_u64(b, "exception", crawl_exceptions(n));
	put_counts(b, "exceptions", n->exceptions, EXCEPTION_COUNT,
	    exception_word);
}

static void
put_skips(struct buf *b, const struct crawl_counts *n)
{
	json_u64(b, "skipped", crawl_skips(n));
	put_counts(b, "skips", n->skips, SKIP_COUNT, skip_word);
}

void
row_put_all(struct buf *b, const struct crawl_row *row)
{
	const struct crawl_view *v = &row->view;
	const struct crawl_counts *n = &v->counts;

	json_str(b, "seed", row->seed);
	json_str(b, "status", str_of(crawl_state_name(v->state)));
	json_u64(b, "information", n->status[1]);
	json_u64(b, "success", n->status[2]);
	json_u64(b, "redirect", n->status[3]);
	json_u64(b, "not_found", n->not_found);
	json_u64(b, "error", n->status[5]);
	put_exceptions(b, n);
	put_skips(b, n);
	json_str(b, "reason", str_of(v->reason));
	json_str(b, "name", row->name);
	json_strs(b, "tags", row->tags, row->tags_n);
	json_u64(b, "items", n->items);
	json_u64(b, "queued", n->queued);
	json_u64(b, "bytes", n->body_bytes);
	json_time(b, "created_at", v->created);
	json_time(b, "ended_at", v->ended);
}

/* The reason is that of the state: one that has none had none, mostly. */
static void
put_state(struct buf *b, const struct crawl_row *row)
{
	const struct crawl_view *v = &row->view;

	json_str(b, "status", str_of(crawl_state_name(v->state)));
	json_str(b, "reason", str_of(v->reason));
	if (v->ended.us > 0)
		json_time(b, "ended_at", v->ended);
}

void
row_put_since(struct buf *b, const struct crawl_row *row, uint64_t version)
{
	static const char *const names[] = { NULL, "information", "success",
	    "redirect", NULL, "error" };
	const struct crawl_counts *n = &row->view.counts;

	if (row->part[REGISTRY_STATE] > version)
		put_state(b, row);
	for (unsigned i = 0; i < ARRAY_LEN(names); i++)
		if (names[i] != NULL &&
		    row->part[REGISTRY_STATUS + i] > version)
			json_u64(b, names[i], n->status[i]);
	if (row->part[REGISTRY_NOT_FOUND] > version)
		json_u64(b, "not_found", n->not_found);
	if (row->part[REGISTRY_EXCEPTIONS] > version)
		put_exceptions(b, n);
	if (row->part[REGISTRY_SKIPS] > version)
		put_skips(b, n);
	if (row->part[REGISTRY_ITEMS] > version)
		json_u64(b, "items", n->items);
	if (row->part[REGISTRY_QUEUED] > version)
		json_u64(b, "queued", n->queued);
	if (row->part[REGISTRY_BYTES] > version)
		json_u64(b, "bytes", n->body_bytes);
}

const char *
row_end(const struct crawl_row *row)
{
	if (row == NULL || row->deleted)
		return "deleted";
	return crawl_state_is_ended(row->view.state) ?
	    crawl_state_name(row->view.state) : NULL;
}
