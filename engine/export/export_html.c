/*
 * html: a complete document with one table.  Bytes that HTML cannot contain are
 * U+FFFD; a CR, which a reader would take for a line end, is a reference.
 */
#include "engine/connector/item_json.h"
#include "engine/export/export_format.h"

static void
put_text(struct str s, struct buf *out)
{
	while (s.n > 0) {
		size_t n = 0;
		unsigned char c = 0;
		for (; n < s.n; n++) {
			c = (unsigned char)s.p[n];
			if (c == '&' || c == '<' || c == '>' || c == '\r' ||
			    (c < ' ' && c != '\t' && c != '\n'))
				break;
		}
		item_json_put_utf8(out, str_cut(s, 0, n));
		if (n == s.n)
			break;
		buf_put_text(out, c == '&' ? "&amp;" : c == '<' ? "&lt;" :
		    c == '>' ? "&gt;" : c == '\r' ? "&#13;" : "\xef\xbf\xbd");
		s = str_from(s, n + 1);
	}
}

void
export_html_head(const struct export_selection *s, struct buf *out)
{
	buf_put_text(out, "<!DOCTYPE html>\n<html>\n<head><meta charset="
	    "\"utf-8\"><title>Export</title></head>\n<body>\n<table>\n"
	    "<thead>\n<tr>");
	for (size_t i = 0; i < s->n; i++) {
		buf_put_text(out, "<th>");
		put_text(str_of(s->columns[i]->name), out);
		buf_put_text(out, "</th>");
	}
	buf_put_text(out, "</tr>\n</thead>\n<tbody>\n");
}

size_t
export_html_row(const struct export_selection *s, const struct cell *cells,
    struct buf *scratch, struct buf *out)
{
	buf_put_text(out, "<tr>");
	for (size_t i = 0; i < s->n; i++) {
		buf_put_text(out, "<td>");
		put_text(export_cell_text(&cells[i], scratch), out);
		buf_put_text(out, "</td>");
	}
	buf_put_text(out, "</tr>\n");
	return 0;
}

void
export_html_tail(struct buf *out)
{
	buf_put_text(out, "</tbody>\n</table>\n</body>\n</html>\n");
}
