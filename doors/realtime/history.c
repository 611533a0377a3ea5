/*
 * get_history: a crawl's counters over time, as a table.
 */
#include "doors/realtime/own.h"

/* Counters have the names of the statistics; `at` is in Unix seconds. */
static const char *const fields[] = { "at", "queued", "items", "bytes",
	"success", "redirect", "not_found", "error", "exception" };

static void
put_point(struct buf *b, const struct history_point *p)
{
	buf_printf(b, "[%.3f,%llu,%llu,%llu", (double)p->at.us / 1e6,
	    (unsigned long long)p->queued, (unsigned long long)p->items,
	    (unsigned long long)p->bytes);
	for (size_t i = 0; i < ARRAY_LEN(p->status); i++)
		buf_printf(b, ",%llu", (unsigned long long)p->status[i]);
	buf_printf(b, ",%llu]", (unsigned long long)p->exceptions);
}

void
verb_get_history(struct task *t)
{
	struct history_point points[HISTORY_POINTS_MAX];
	size_t n = crawl_registry_history(t->row, points);
	struct buf *b = task_data(t);

	json_u64(b, "crawl_id", t->row->id);
	json_array(b, "fields");
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		json_item(b, str_of(fields[i]));
	buf_put_char(b, ']');
	json_array(b, "points");
	for (size_t i = 0; i < n; i++) {
		json_comma(b);
		put_point(b, &points[i]);
	}
	buf_put_char(b, ']');
	task_answer(t);
}
