#include "engine/archive/list.h"

#include "engine/archive/capture.h"
#include "engine/archive/walk.h"
#include "wire/cdxj.h"

struct lister {
	archive_row_event *event;
	void *arg;
	struct archive_row row;
	struct arena arena;
	struct buf head;
};

static enum err
on_record(void *arg, struct walk_visit *v, struct why *w)
{
	struct lister *l = arg;
	struct warc_entry *e = v->entry;
	struct str facts = warc_entry_field(e, STR("Argiope-Capture"));
	struct http_head h;

	(void)w;
	arena_reset(&l->arena);
	l->row = (struct archive_row){ .file = v->file, .offset = e->offset,
		.length = e->length, .type = e->type, .date = e->date,
		.uri = e->uri, .id = e->id, .seq = e->gzip.seq };
	l->row.has_facts = facts.p != NULL &&
	    warc_capture_parse(facts, &l->row.facts);
	if ((e->type == WARC_RESPONSE || e->type == WARC_REVISIT) &&
	    walk_http_head(v->reader, false, 0, &l->head, &l->arena, &h)) {
		l->row.status = h.status;
		l->row.mime = http_content_type(&h, &l->arena).type;
	}
	if (l->row.mime.n == 0)
		l->row.mime = http_media_parse(warc_entry_field(e,
		    STR("Content-Type")), &l->arena).type;
	return OK;
}

static enum err
on_record_end(void *arg, struct walk_visit *v, bool whole, struct why *w)
{
	struct lister *l = arg;

	if (!whole)
		return OK;
	l->row.clen = v->entry->clen;
	return l->event(l->arg, &l->row, w);
}

static enum err
on_damage(void *arg, const struct archive_file *file,
    const struct warc_damage *d, struct why *w)
{
	struct lister *l = arg;
	struct archive_row row = { .file = file, .offset = d->offset,
		.damage = warc_damage_text(d->cause) };

	return l->event(l->arg, &row, w);
}

enum err
archive_rows(const struct archive_catalogue *c, archive_row_event *event,
    void *arg, struct why *w)
{
	static const struct walk_events events = { NULL, on_record,
		on_record_end, on_damage, false };
	struct lister l = { .event = event, .arg = arg };
	enum err err = walk_files(c, &events, &l, w);

	arena_free(&l.arena);
	buf_free(&l.head);
	return err;
}

/* Text of a file that anyone may have written goes to a terminal. */
static void
put_safe(struct buf *b, struct str s, const char *none)
{
	if (s.n == 0)
		buf_put_text(b, none);
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c <= ' ' || c == 0x7f)
			buf_printf(b, "%%%02X", c);
		else
			buf_put_char(b, (char)c);
	}
}

void
archive_row_text(const struct archive_row *r, struct buf *b)
{
	char date[18];

	put_safe(b, r->file->name, "-");
	if (r->damage != NULL) {
		buf_printf(b, " %llu damage: %s\n",
		    (unsigned long long)r->offset, r->damage);
		return;
	}
	wall_to_digits(r->date, 14, date);
	buf_printf(b, " %llu %s %s ", (unsigned long long)r->offset, date,
	    r->type == WARC_UNKNOWN ? "-" : warc_type_name(r->type));
	if (r->status != 0)
		buf_printf(b, "%d ", r->status);
	else
		buf_put_text(b, "- ");
	put_safe(b, r->mime, "-");
	buf_printf(b, " %llu ", (unsigned long long)r->length);
	if (r->seq != 0)
		buf_printf(b, "#%llu ", (unsigned long long)r->seq);
	else
		buf_put_text(b, "- ");
	put_safe(b, r->uri, "-");
	buf_put_char(b, '\n');
}

static void
put_text(struct buf *b, const char *name, struct str s)
{
	if (s.n == 0)
		return;
	buf_printf(b, ",\"%s\":", name);
	cdxj_put_json(b, s);
}

static void
put_number(struct buf *b, const char *name, uint64_t v)
{
	buf_printf(b, ",\"%s\":%llu", name, (unsigned long long)v);
}

static void
put_facts(struct buf *b, const struct archive_row *r)
{
	if (r->seq != 0)
		put_number(b, "seq", r->seq);
	if (!r->has_facts)
		return;
	put_number(b, "crawl", r->facts.crawl);
	put_number(b, "hop", r->facts.hop);
	put_number(b, "depth", r->facts.depth);
	put_text(b, "requested_url", r->facts.requested_url);
}

void
archive_row_json(const struct archive_row *r, struct buf *b)
{
	char date[WALL_ISO_MAX];

	buf_put_text(b, "{\"file\":");
	cdxj_put_json(b, r->file->name);
	put_number(b, "offset", r->offset);
	if (r->file->open)
		buf_put_text(b, ",\"open\":true");
	if (r->damage != NULL) {
		put_text(b, "damage", str_of(r->damage));
		buf_put_char(b, '}');
		return;
	}
	if (r->clen != 0)
		put_number(b, "packed", r->clen);
	put_number(b, "length", r->length);
	put_text(b, "type", str_of(warc_type_name(r->type)));
	wall_to_iso(r->date, date);
	put_text(b, "date", str_of(date));
	if (r->status != 0)
		put_number(b, "status", (uint64_t)r->status);
	put_text(b, "mime", r->mime);
	put_text(b, "url", r->uri);
	put_text(b, "id", r->id);
	put_facts(b, r);
	buf_put_char(b, '}');
}

/* --- cat ---------------------------------------------------------------- */

/* Where `cat` writes, and how much more it may. */
struct cat_output {
	FILE *file;
	uint64_t left;
	bool full;                /* something was left out */
};

static enum err
write_out(struct cat_output *o, struct str s, struct why *w)
{
	size_t n = (size_t)MIN(s.n, o->left);

	o->full |= n < s.n;
	o->left -= n;
	if (n > 0 && fwrite(s.p, 1, n, o->file) != n)
		return why_errno(w, ERR_IO, "cannot write");
	return OK;
}

static void
put_warc_head(const struct capture *c, struct buf *b)
{
	buf_printf(b, "WARC/%d.%d\r\n", c->version / 100, c->version % 100);
	for (size_t i = 0; i < c->warc.fields_n; i++) {
		buf_put_str(b, c->warc.fields[i].name);
		buf_put_text(b, ": ");
		buf_put_str(b, c->warc.fields[i].value);
		buf_put_text(b, "\r\n");
	}
	buf_put_text(b, "\r\n");
}

enum err
archive_cat(const char *path, uint64_t offset, enum archive_part part,
    struct http_decode_limits limits, FILE *out, enum http_damage *damage,
    struct why *w)
{
	struct cat_output o = { .file = out, .left = limits.bytes_max };
	FREED(capture_stream_close) struct capture_stream *s = NULL;
	FREED(buf_free) struct buf piece = BUF_INIT;
	enum err err = capture_stream_open(path, offset, limits, &s, w);
	bool more = err == OK;

	*damage = HTTP_FINE;
	if (more && part != ARCHIVE_BODY)
		capture_stream_raw(s, part == ARCHIVE_PAYLOAD);
	if (more && part == ARCHIVE_RECORD)
		put_warc_head(capture_stream_heads(s), &piece);
	while (more && err == OK && !o.full) {
		err = write_out(&o, buf_str(&piece), w);
		buf_clear(&piece);
		more = capture_stream_next(s, &piece, damage);
	}
	if (err == OK && part == ARCHIVE_RECORD)
		buf_put_text(&piece, "\r\n\r\n");
	if (err == OK)
		err = write_out(&o, buf_str(&piece), w);
	if (o.full)
		*damage = HTTP_TOO_LONG;
	return err;
}

/* --- find --------------------------------------------------------------- */

static enum err
look_at(void *arg, const struct archive_row *r, struct why *w)
{
	struct archive_found *f = arg;
	bool better;

	(void)w;
	if (r->damage != NULL || r->clen == 0 || (r->type != WARC_RESPONSE &&
	    r->type != WARC_REVISIT))
		return OK;
	if (f->url.p != NULL) {
		if (r->type != WARC_RESPONSE || !str_eq(r->uri, f->url))
			return OK;
		better = r->date.us >= f->date.us;
	} else {
		if (!r->has_facts || r->seq != f->seq ||
		    r->facts.crawl != f->crawl)
			return OK;
		better = r->facts.hop > f->hop;
	}
	if (f->file != NULL && !better)
		return OK;
	f->file = r->file;
	f->offset = r->offset;
	f->date = r->date;
	f->hop = r->facts.hop;
	return OK;
}

enum err
archive_find(const struct archive_catalogue *c, struct archive_found *f,
    struct why *w)
{
	enum err err = archive_rows(c, look_at, f, w);

	if (err != OK || f->file != NULL)
		return err;
	return f->url.p != NULL ?
	    why(w, ERR_ABSENT, "no response to %.*s", STR_FMT(f->url)) :
	    why(w, ERR_ABSENT, "crawl %u has no number %llu here", f->crawl,
	    (unsigned long long)f->seq);
}
