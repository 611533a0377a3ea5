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
	out_name(b, name);
	buf_put_char(b, '{');
	for (unsigned i = 0; i < all; i++)
		if (n[i] > 0)
			out_u64(b, word(i), n[i]);
	buf_put_char(b, '}');
}

static void
put_exceptions(struct buf *b, const struct crawl_counts *n)
{
	out_u64(b, "exception", crawl_exceptions(n));
	put_counts(b, "exceptions", n->exceptions, EXCEPTION_COUNT,
	    exception_word);
}

static void
put_skips(struct buf *b, const struct crawl_counts *n)
{
	out_u64(b, "skipped", crawl_skips(n));
	put_counts(b, "skips", n->skips, SKIP_COUNT, skip_word);
}

void
row_put_all(struct buf *b, const struct crawl_row *row)
{
	const struct crawl_view *v = &row->view;
	const struct crawl_counts *n = &v->counts;

	out_text(b, "seed", row->seed);
	out_text(b, "status", str_of(crawl_state_name(v->state)));
	out_u64(b, "information", n->status[1]);
	out_u64(b, "success", n->status[2]);
	out_u64(b, "redirect", n->status[3]);
	out_u64(b, "not_found", n->not_found);
	out_u64(b, "error", n->status[5]);
	put_exceptions(b, n);
	put_skips(b, n);
	out_text(b, "reason", str_of(v->reason));
	out_text(b, "name", row->name);
	out_texts(b, "tags", row->tags, row->tags_n);
	out_u64(b, "items", n->items);
	out_u64(b, "queued", n->queued);
	out_u64(b, "bytes", n->body_bytes);
	out_time(b, "created_at", v->created);
	out_time(b, "ended_at", v->ended);
}

/* The reason is that of the state: one that has none had none, mostly. */
static void
put_state(struct buf *b, const struct crawl_row *row)
{
	const struct crawl_view *v = &row->view;

	out_text(b, "status", str_of(crawl_state_name(v->state)));
	out_text(b, "reason", str_of(v->reason));
	if (v->ended.us > 0)
		out_time(b, "ended_at", v->ended);
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
			out_u64(b, names[i], n->status[i]);
	if (row->part[REGISTRY_NOT_FOUND] > version)
		out_u64(b, "not_found", n->not_found);
	if (row->part[REGISTRY_EXCEPTIONS] > version)
		put_exceptions(b, n);
	if (row->part[REGISTRY_SKIPS] > version)
		put_skips(b, n);
	if (row->part[REGISTRY_ITEMS] > version)
		out_u64(b, "items", n->items);
	if (row->part[REGISTRY_QUEUED] > version)
		out_u64(b, "queued", n->queued);
	if (row->part[REGISTRY_BYTES] > version)
		out_u64(b, "bytes", n->body_bytes);
}

const char *
row_end(const struct crawl_row *row)
{
	if (row == NULL || row->deleted)
		return "deleted";
	return crawl_state_is_ended(row->view.state) ?
	    crawl_state_name(row->view.state) : NULL;
}
