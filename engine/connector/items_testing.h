/*
 * items_testing -- the items of a text, for tests of platforms: what was found
 * as lines, and the cells of a row as csv would show them.
 */
#ifndef ENGINE_CONNECTOR_ITEMS_TESTING_H
#define ENGINE_CONNECTOR_ITEMS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/json.h"
#include "engine/connector/item_json.h"
#include "engine/connector/items.h"

struct testing_items {
	struct arena arena;
	struct item list[32];
	size_t n;
};

static inline enum err
testing_take_item(void *arg, const struct item *item, struct why *w)
{
	struct testing_items *t = arg;

	(void)w;
	assert_true(t->n < ARRAY_LEN(t->list));
	t->list[t->n++] = *item;
	return OK;
}

static inline enum err
testing_find(const struct connector_items *of, const char *uri,
    const char *text, struct testing_items *t)
{
	struct item_text x = { str_of(uri), str_of(text), { 0 } };

	*t = (struct testing_items){ .n = 0 };
	return of->each(of, &x, &t->arena, testing_take_item, t, NULL);
}

/* The cell of a column by its name, as text; "(null)" and "(end)". */
static inline const char *
testing_cell(struct testing_items *t, size_t i, const char *column)
{
	const struct item_table *table = t->list[i].of->table;
	struct buf scratch = BUF_INIT, out = BUF_INIT;
	struct row row;
	struct cell cell;
	size_t c = 0;

	while (c < table->columns_n &&
	    strcmp(table->columns[c].name, column) != 0)
		c++;
	assert_true(c < table->columns_n);
	row_begin(&row, &t->list[i], &t->arena, &scratch);
	row_cell(&row, &table->columns[c], &cell);
	for (size_t k = 0; k < row.lacks_n; k++)
		buf_printf(&out, "(lacks %s)", row.lacks[k]);
	switch (cell.type) {
	case CELL_NULL:
		buf_put_text(&out, "(null)");
		break;
	case CELL_END:
		buf_put_text(&out, "(end)");
		break;
	case CELL_TEXT:
		buf_put_str(&out, cell.text);
		break;
	case CELL_DATE:
		item_date_put(&out, &cell.date, ' ');
		break;
	case CELL_VALUE:
		if (yyjson_is_str(cell.value))
			buf_put_str(&out, json_text(cell.value));
		else
			item_json_put(&out, cell.value);
	}
	const char *text = arena_copy(&t->arena, buf_str(&out)).p;
	buf_free(&scratch);
	buf_free(&out);
	return text;
}

#define assert_cell(t, i, column, want) \
	assert_string_equal(testing_cell(t, i, column), want)
#define assert_str(s, want) \
	assert_string_equal(arena_copy(&t.arena, s).p, want)

#endif
