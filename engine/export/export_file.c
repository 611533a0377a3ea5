#include "engine/export/export_file.h"

#include "os/file.h"
#include "os/spreadsheet.h"

#define WRITE_BYTES ((size_t)256 << 10)

static enum err
flush(struct export_file *f, struct why *w)
{
	struct str s = buf_str(&f->buf);
	enum err e = f->path == NULL ? f->order->write(f->order->write_arg,
	    s, w) : file_write(f->fd, f->bytes, s.p, s.n, w);

	f->bytes += s.n;
	buf_clear(&f->buf);
	return e;
}

enum err
export_file_open(struct export_file *f, const struct export_order *o,
    const struct export_selection *s, const char *path, const char *dir,
    struct why *w)
{
	enum err e = OK;

	f->open = true;
	f->order = o;
	f->path = path;
	f->bytes = f->rows = 0;
	if (o->format->spreadsheet) {
		e = spreadsheet_open(path, dir, &f->sheet, w);
		if (e == OK)
			export_xlsx_write_head(f->sheet, s);
		return e;
	}
	if (path != NULL)
		e = file_open(path, FILE_NEW, &f->fd, w);
	if (e == OK && o->format->head != NULL)
		o->format->head(s, &f->buf);
	return e;
}

enum err
export_file_put(struct export_file *f, struct str row, struct why *w)
{
	f->rows++;
	if (f->sheet != NULL) {
		/* The names of columns are row 0. */
		export_xlsx_write_row(f->sheet, (uint32_t)f->rows, row);
		return OK;
	}
	buf_put_str(&f->buf, row);
	return f->buf.n >= WRITE_BYTES ? flush(f, w) : OK;
}

static enum err
close_sheet(struct export_file *f, struct why *w)
{
	enum err e = spreadsheet_close(&f->sheet, w);

	if (e == OK)
		e = file_open(f->path, FILE_WRITE, &f->fd, w);
	return e == OK ? file_size(f->fd, &f->bytes, w) : e;
}

enum err
export_file_close(struct export_file *f, struct why *w)
{
	enum err e = OK;

	if (!f->open)
		return OK;
	f->open = false;
	if (f->sheet != NULL)
		e = close_sheet(f, w);
	else if (f->order->format->tail != NULL)
		f->order->format->tail(&f->buf);
	if (e == OK && f->buf.n > 0)
		e = flush(f, w);
	if (e == OK && f->fd >= 0)
		e = file_sync(f->fd, w);
	file_close(&f->fd);
	return e;
}

void
export_file_free(struct export_file *f)
{
	file_close(&f->fd);
	spreadsheet_abandon(&f->sheet);
	buf_free(&f->buf);
	f->open = false;
}
