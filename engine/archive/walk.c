#include "engine/archive/walk.h"

static enum err
tell_damage(const struct archive_file *f, const struct warc_damage *d,
    const struct walk_events *ev, void *arg, struct why *w)
{
	if (ev->io_ends && d->cause == WARC_DAMAGE_IO)
		return why(w, ERR_IO, "cannot read %s", f->path);
	return ev->damage == NULL ? OK : ev->damage(arg, f, d, w);
}

static enum err
visit(struct walk_visit *v, const struct walk_events *ev, void *arg,
    struct why *w)
{
	struct warc_damage d;
	enum err err = ev->record(arg, v, w);

	if (err != OK)
		return err;
	bool whole = warc_read_finish(v->reader, v->entry, &d);
	if (!whole)
		err = tell_damage(v->file, &d, ev, arg, w);
	return err == OK ? ev->record_end(arg, v, whole, w) : err;
}

static enum err
walk_records(const struct archive_file *f, struct warc_reader *r,
    const struct walk_events *ev, void *arg, struct why *w)
{
	struct warc_entry entry;
	struct warc_damage d;
	struct walk_visit v = { f, r, &entry };
	enum err err = OK;

	while (err == OK)
		switch (warc_read_next(r, &entry, &d)) {
		case WARC_FOUND_RECORD:
			err = visit(&v, ev, arg, w);
			break;
		case WARC_FOUND_DAMAGE:
			err = tell_damage(f, &d, ev, arg, w);
			break;
		case WARC_FOUND_END:
			return OK;
		}
	return err;
}

enum err
walk_file(const struct archive_file *f, const struct walk_events *ev,
    void *arg, struct why *w)
{
	struct archive_source source;
	struct why own = WHY_INIT;
	enum err err = archive_source_open_file(f, &source, &own);

	if (f->open && err == ERR_ABSENT)
		return OK;
	if (err != OK)
		return why(w, err, "%s", own.text);
	FREED(warc_reader_free) struct warc_reader *r =
	    warc_reader_new(source.source, WARC_READ_LIMITS_DEFAULT);
	if (ev->file != NULL)
		err = ev->file(arg, f, true, w);
	if (err == OK)
		err = walk_records(f, r, ev, arg, w);
	if (err == OK && ev->file != NULL)
		err = ev->file(arg, f, false, w);
	archive_source_close(&source);
	return err;
}

enum err
walk_files(const struct archive_catalogue *c, const struct walk_events *ev,
    void *arg, struct why *w)
{
	enum err err = OK;

	for (size_t i = 0; i < c->n && err == OK; i++)
		err = walk_file(&c->files[i], ev, arg, w);
	return err;
}

bool
walk_http_head(struct warc_reader *r, bool request, size_t body_bytes,
    struct buf *bytes, struct arena *a, struct http_head *h)
{
	struct str piece;
	size_t head = 0;

	buf_clear(bytes);
	while ((head == 0 || bytes->n < head + body_bytes) &&
	    bytes->n < WALK_HEAD_MAX && warc_read_block(r, &piece)) {
		buf_put_str(bytes, piece);
		if (head == 0)
			head = http_head_end(buf_str(bytes));
	}
	return http_parse_head(buf_str(bytes), request, HTTP_LIMITS_DEFAULT, a,
	    h, NULL) == OK;
}
