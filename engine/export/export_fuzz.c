/*
 * Fuzz what platforms send: the first line is a type of harvest, the rest a
 * text of one of its answers.  Its items are written in every format.
 */
#include "engine/connector/item_json.h"
#include "engine/export/export.h"
#include "engine/export/export_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define CELLS_MAX 128

struct writing {
	struct arena arena;
	struct buf scratch, out;
};

static void
write_row(struct writing *x, const struct item *item)
{
	static const char *const names[] = { "csv", "tsv", "json",
		"xlsx", "html" };
	const struct item_table *t = item->of->table;
	const struct column *columns[CELLS_MAX];
	struct cell cells[CELLS_MAX];
	struct export_selection s = { t, columns, t->columns_n };
	struct row row;

	CHECK(t->columns_n <= CELLS_MAX);
	row_begin(&row, item, &x->arena, &x->scratch);
	for (size_t i = 0; i < t->columns_n; i++) {
		columns[i] = &t->columns[i];
		row_cell(&row, columns[i], &cells[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		export_format_find(str_of(names[i]))->row(&s, cells,
		    &x->scratch, &x->out);
}

static enum err
write_item(void *arg, const struct item *item, struct why *w)
{
	struct writing *x = arg;
	struct item_json again;
	struct arena a = ARENA_INIT;

	(void)w;
	if (item->kind != ITEM_FOUND)
		return OK;
	write_row(x, item);
	/* What was written can be read. */
	buf_clear(&x->out);
	export_format_find(STR("json_full"))->item(item, &x->out);
	CHECK(item_json_parse(buf_str(&x->out), &a, &again, NULL) == OK);
	arena_free(&a);
	return OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct writing x = { .arena = ARENA_INIT };
	struct arena texts = ARENA_INIT;
	struct str text = { (const char *)data, n }, type;

	if (!str_split(&text, '\n', &type) || text.p == NULL)
		return 0;
	const struct connector_items *items = item_type_find(type);
	if (items == NULL)
		return 0;
	/* Searches are objects, timelines are bare lists. */
	struct item_text t = { .uri = str_eq(type, STR("twitter_search")) ?
	    STR("https://api.twitter.com/1.1/search/tweets.json") :
	    STR("https://api.twitter.com/1.1/statuses/user_timeline.json"),
	    .text = text };
	enum err e = items->each(items, &t, &texts, write_item, &x, NULL);
	CHECK(e == OK || e == ERR_INPUT);
	arena_free(&texts);
	arena_free(&x.arena);
	buf_free(&x.scratch);
	buf_free(&x.out);
	return 0;
}
