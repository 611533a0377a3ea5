#include "engine/export/export_reader.h"

#include "engine/connector/connector.h"
#include "engine/export/export.h"

/* So much of a body is decoded at once; it may become 250 times as long. */
#define PIECE_BYTES ((size_t)16 << 10)
/* Bodies of lines may be endless; the ratio still bounds a piece. */
#define LINES_LIMITS ((struct http_decode_limits){ UINT64_MAX, 250 })
#define DESCRIPTION_BYTES_MAX ((size_t)1 << 20)
#define DOCUMENT_LIMITS \
	((struct http_decode_limits){ EXPORT_TEXT_BYTES_MAX, 250 })

struct export_reader {
	const struct export_reader_events *events;
	void *arg;
	struct export_place place;
	uint64_t records;
	struct wall received;
	struct arena heads, texts;   /* of a record, of one text */
	struct buf head, raw, body;
	struct http_head http;
	bool is_http;
	bool is_truncated;           /* so its record says */
	struct str rest;             /* of `head`, behind the HTTP head */
	const struct connector_items *items;
	size_t scanned;              /* of `body`: no end of a text there */
	bool skipping;               /* the rest of a text that is too long */
	/*
	 * What was wrong with the record's last text, told when the record
	 * itself proves to be whole; else its damage says it.
	 */
	const char *fault;
	enum err stop;               /* an event's error */
};

struct export_reader *
export_reader_new(const struct export_reader_events *events, void *arg)
{
	struct export_reader *r = mem_new(sizeof(*r));

	r->events = events;
	r->arg = arg;
	return r;
}

void
export_reader_free(struct export_reader **rp)
{
	struct export_reader *r = *rp;

	if (r == NULL)
		return;
	arena_free(&r->heads);
	arena_free(&r->texts);
	buf_free(&r->head);
	buf_free(&r->raw);
	buf_free(&r->body);
	mem_free(rp);
}

const struct export_place *
export_reader_place(const struct export_reader *r)
{
	return &r->place;
}

uint64_t
export_reader_records(const struct export_reader *r)
{
	return r->records;
}

/* --- texts -------------------------------------------------------------- */

static enum err
on_item(void *arg, const struct item *item, struct why *w)
{
	struct export_reader *r = arg;

	r->stop = r->events->item(r->arg, item, w);
	return r->stop;
}

/* `last`: nothing follows in the body, so that a cut may be the cause. */
static enum err
give_text(struct export_reader *r, struct str text, bool last, struct why *w)
{
	const struct item_text t = { r->place.uri, str_trim(text),
		r->received };
	const char *what = r->items->malformed != NULL ?
	    r->items->malformed :
	    r->items->framing == ITEM_FRAMING_DOCUMENT ?
	    "a body that is no JSON" : "a line that is no JSON";

	struct why own = WHY_INIT;

	if (t.text.n == 0)
		return OK;
	arena_reset(&r->texts);
	enum err e = r->items->each(r->items, &t, &r->texts, on_item, r,
	    &own);
	if (e == OK)
		return OK;
	if (r->stop != OK) {
		if (w != NULL)
			*w = own;
		return e;
	}
	if (last)
		r->fault = what;
	else
		r->events->fault(r->arg, str_of(what));
	return OK;
}

/*
 * Where the text that begins `s` ends, and where the next one begins.  False:
 * not in these bytes; `*scanned` of them need not be looked at again.
 */
static bool
find_end(enum item_framing framing, struct str s, size_t *scanned,
    size_t *end, size_t *next)
{
	for (size_t at = *scanned; at < s.n;) {
		const char *lf = memchr(s.p + at, '\n', s.n - at);
		if (lf == NULL)
			break;
		size_t behind = (size_t)(lf - s.p) + 1;
		*end = behind;
		if (framing == ITEM_FRAMING_LINES) {
			*next = behind;
			return true;
		}
		if (behind < s.n && s.p[behind] == '\r')
			behind++;
		if (behind < s.n && s.p[behind] == '\n') {
			*next = behind + 1;
			return true;
		}
		if (behind >= s.n) {
			*scanned = *end - 1;
			return false;
		}
		at = *end;
	}
	*scanned = s.n;
	return false;
}

/* Give the texts that have ended in `body`, and keep the rest. */
static enum err
give_ended(struct export_reader *r, struct why *w)
{
	struct str s = buf_str(&r->body);
	size_t end, next;
	enum err e = OK;

	while (e == OK && find_end(r->items->framing, s, &r->scanned, &end,
	    &next)) {
		if (!r->skipping)
			e = give_text(r, str_cut(s, 0, end), false, w);
		r->skipping = false;
		r->scanned = 0;
		s = str_from(s, next);
	}
	if (s.n > EXPORT_TEXT_BYTES_MAX) {
		if (!r->skipping)
			r->events->fault(r->arg, STR("a line that is longer "
			    "than 16 MiB"));
		r->skipping = true;
		s = STR("");
		r->scanned = 0;
	}
	if (s.n > 0)
		memmove(r->body.p, s.p, s.n);
	r->body.n = s.n;
	return e;
}

/* --- bodies ------------------------------------------------------------- */

static const char *
damage_text(enum http_damage d)
{
	return d == HTTP_CUT ? "a body that ends before its end" :
	    d == HTTP_BAD_CHUNK ? "a body with a malformed chunk" :
	    d == HTTP_BAD_CODING ? "a body whose compression is damaged" :
	    d == HTTP_TOO_LONG ? "a body that is longer than 16 MiB" :
	    "a body that unpacks to more than 250 times its size";
}

/* More of the body as received, at most PIECE_BYTES; false at its end. */
static bool
take_piece(struct export_reader *r, struct warc_reader *from,
    struct str *piece)
{
	if (r->rest.n == 0 && !warc_read_block(from, &r->rest))
		return false;
	*piece = str_cut(r->rest, 0, PIECE_BYTES);
	r->rest = str_from(r->rest, piece->n);
	return true;
}

static enum err
read_lines(struct export_reader *r, struct warc_reader *from, struct why *w)
{
	FREED(http_decoder_free) struct http_decoder *d = r->is_http ?
	    http_decoder_new(&r->http, LINES_LIMITS) : NULL;
	enum http_damage damage = HTTP_FINE;
	struct str piece;
	enum err e = OK;

	buf_clear(&r->body);
	r->scanned = 0;
	r->skipping = false;
	while (e == OK && !http_damage_cuts(damage) &&
	    take_piece(r, from, &piece)) {
		if (d != NULL)
			damage = http_decoder_feed(d, piece, &r->body);
		else
			buf_put_str(&r->body, piece);
		e = give_ended(r, w);
	}
	if (e == OK && d != NULL && !http_damage_cuts(damage)) {
		damage = http_decoder_end(d, &r->body);
		e = give_ended(r, w);
	}
	if (e == OK && !r->skipping)
		e = give_text(r, buf_str(&r->body), true, w);
	if (http_damage_cuts(damage))
		r->fault = damage_text(damage);
	/* A stream has no end of its own: where its connection ended, a line
	 * may have begun that nobody has counted. */
	if (r->is_truncated && (damage == HTTP_CUT || damage == HTTP_FINE))
		r->fault = NULL;
	return e;
}

static enum err
read_document(struct export_reader *r, struct warc_reader *from,
    struct why *w)
{
	enum http_damage damage = HTTP_FINE;
	struct str piece;

	buf_clear(&r->raw);
	while (r->raw.n <= EXPORT_TEXT_BYTES_MAX && take_piece(r, from, &piece))
		buf_put_str(&r->raw, piece);
	struct str body = buf_str(&r->raw);
	if (r->raw.n > EXPORT_TEXT_BYTES_MAX) {
		r->fault = damage_text(HTTP_TOO_LONG);
		return OK;
	}
	if (r->is_http) {
		buf_clear(&r->body);
		damage = http_decode_body(&r->http, body, DOCUMENT_LIMITS,
		    &r->body);
		body = buf_str(&r->body);
	}
	enum err e = give_text(r, body, true, w);
	/* An error's page is often no JSON; it contains no items. */
	if (r->is_http && r->http.status >= 400)
		r->fault = NULL;
	else if (r->fault != NULL && http_damage_cuts(damage))
		r->fault = damage_text(damage);
	return e;
}

/* --- records ------------------------------------------------------------ */

static void
read_description(struct export_reader *r, struct warc_reader *from)
{
	struct str piece;

	buf_clear(&r->raw);
	while (r->raw.n <= DESCRIPTION_BYTES_MAX &&
	    warc_read_block(from, &piece))
		buf_put_str(&r->raw, piece);
	if (r->raw.n > DESCRIPTION_BYTES_MAX)
		r->events->fault(r->arg, STR("a description of a platform that"
		    " is longer than 1 MiB"));
	else
		r->events->description(r->arg, buf_str(&r->raw));
}

/* False: an answer without an HTTP head. */
static bool
read_head(struct export_reader *r, struct walk_visit *v,
    struct str *content_type)
{
	r->rest = STR_NONE;
	r->is_http = v->entry->type == WARC_RESPONSE;
	if (!r->is_http) {
		*content_type = http_media_parse(warc_entry_field(v->entry,
		    STR("Content-Type")), &r->heads).type;
		return true;
	}
	if (!walk_http_head(v->reader, false, 0, &r->head, &r->heads,
	    &r->http))
		return false;
	r->rest = str_from(buf_str(&r->head), r->http.n);
	*content_type = http_content_type(&r->http, &r->heads).type;
	return true;
}

static enum err
on_record(void *arg, struct walk_visit *v, struct why *w)
{
	struct export_reader *r = arg;
	struct warc_entry *entry = v->entry;
	struct str content_type;

	r->place = (struct export_place){ v->file, entry->offset,
		entry->uri };
	r->items = NULL;
	r->fault = NULL;
	r->received = entry->date;
	r->is_truncated = warc_entry_field(entry,
	    STR("WARC-Truncated")).n > 0;
	if (r->events->is_done != NULL && r->events->is_done(r->arg))
		return why(w, ERR_CLOSED, "no more is wanted");
	if (entry->type == WARC_METADATA &&
	    str_eq(entry->uri, STR(CONNECTOR_DESCRIPTION_URI)))
		read_description(r, v->reader);
	if (entry->type != WARC_RESPONSE && entry->type != WARC_RESOURCE)
		return OK;
	arena_reset(&r->heads);
	if (!read_head(r, v, &content_type))
		return OK;
	r->items = r->events->choose(r->arg, entry->uri, content_type,
	    entry->type == WARC_RESOURCE);
	if (r->items == NULL)
		return OK;
	r->records++;
	return r->items->framing == ITEM_FRAMING_DOCUMENT ?
	    read_document(r, v->reader, w) : read_lines(r, v->reader, w);
}

static enum err
on_record_end(void *arg, struct walk_visit *v, bool whole, struct why *w)
{
	struct export_reader *r = arg;

	(void)v, (void)w;
	if (whole && r->fault != NULL)
		r->events->fault(r->arg, str_of(r->fault));
	r->fault = NULL;
	return OK;
}

static enum err
on_damage(void *arg, const struct archive_file *file,
    const struct warc_damage *d, struct why *w)
{
	struct export_reader *r = arg;

	(void)w;
	r->place.file = file;
	r->place.offset = d->offset;
	r->events->fault(r->arg, str_of(warc_damage_text(d->cause)));
	return OK;
}

enum err
export_reader_read(struct export_reader *r, const struct archive_file *file,
    struct why *w)
{
	static const struct walk_events events = { NULL, on_record,
		on_record_end, on_damage, false };

	r->stop = OK;
	return walk_file(file, &events, r, w);
}
