/*
 * csv and tsv, as Python's csv module writes them: quotes where a text contains
 * the separator, a quote or a line end; behind each row CR LF, or LF alone in
 * tables that pandas writes.
 */
#include "engine/connector/item_json.h"
#include "engine/export/export_format.h"

/* Bytes that make a text need quotes, by separator. */
static const bool quoted_by_comma[256] = {
	[','] = true, ['"'] = true, ['\r'] = true, ['\n'] = true,
	['\0'] = true };
static const bool quoted_by_tab[256] = {
	['\t'] = true, ['"'] = true, ['\r'] = true, ['\n'] = true,
	['\0'] = true };

static bool
needs_quotes(struct str s, char separator)
{
	const bool *quoted = separator == ',' ? quoted_by_comma :
	    quoted_by_tab;

	for (size_t i = 0; i < s.n; i++)
		if (quoted[(unsigned char)s.p[i]])
			return true;
	return false;
}

/* Cells of JSON have many quotes: a call for each costs more than this. */
static void
put_doubled(struct str s, struct buf *out)
{
	buf_reserve(out, 2 * s.n);
	char *p = out->p + out->n;
	for (size_t i = 0; i < s.n; i++) {
		*p = s.p[i];
		p[1] = '"';
		p += 1 + (s.p[i] == '"');
	}
	out->n = (size_t)(p - out->p);
}

static void
put_doubled_utf8(struct str s, struct buf *out)
{
	while (s.n > 0) {
		size_t n = str_find_char(s, '"');
		item_json_put_utf8(out, str_cut(s, 0, n));
		if (n < s.n)
			buf_put_text(out, "\"\"");
		s = str_from(s, n + 1);
	}
}

static void
put_text(struct str s, char separator, struct buf *out)
{
	if (!needs_quotes(s, separator)) {
		item_json_put_utf8(out, s);
		return;
	}
	buf_put_char(out, '"');
	if (memchr(s.p, 0xed, s.n) != NULL)
		put_doubled_utf8(s, out);
	else
		put_doubled(s, out);
	buf_put_char(out, '"');
}

static void
end_row(const struct export_selection *s, struct buf *out)
{
	buf_put_text(out, s->table->dialect == TABLE_PANDAS ? "\n" : "\r\n");
}

static void
put_head(const struct export_selection *s, char separator, struct buf *out)
{
	for (size_t i = 0; i < s->n; i++) {
		if (i > 0)
			buf_put_char(out, separator);
		put_text(str_of(s->columns[i]->name), separator, out);
	}
	end_row(s, out);
}

static void
put_row(const struct export_selection *s, const struct cell *cells,
    char separator, struct buf *scratch, struct buf *out)
{
	size_t from = out->n, n = s->n, i;

	/* A row is short only where nothing follows. */
	while (n > 0 && cells[n - 1].type == CELL_END)
		n--;
	for (i = 0; i < n; i++) {
		if (i > 0)
			buf_put_char(out, separator);
		put_text(export_cell_text(&cells[i], scratch), separator, out);
	}
	/* An empty line would be no row. */
	if (n == 1 && out->n == from)
		buf_put_text(out, "\"\"");
	end_row(s, out);
}

void
export_csv_head(const struct export_selection *s, struct buf *out)
{
	put_head(s, ',', out);
}

size_t
export_csv_row(const struct export_selection *s, const struct cell *cells,
    struct buf *scratch, struct buf *out)
{
	put_row(s, cells, ',', scratch, out);
	return 0;
}

void
export_tsv_head(const struct export_selection *s, struct buf *out)
{
	put_head(s, '\t', out);
}

size_t
export_tsv_row(const struct export_selection *s, const struct cell *cells,
    struct buf *scratch, struct buf *out)
{
	put_row(s, cells, '\t', scratch, out);
	return 0;
}
