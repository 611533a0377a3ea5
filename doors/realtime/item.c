#include "doors/realtime/item.h"

#include "base/text.h"
#include "doors/realtime/sync.h"
#include "wire/base64.h"

#define NAME(text) STR("\"" text "\":")

/* Seconds to the microsecond; a double would lose some of them. */
static void
put_seconds(struct buf *out, struct str name, int64_t us)
{
	us = MAX(us, 0);
	buf_put_str(out, name);
	buf_put_decimal(out, (uint64_t)us / US_PER_S, 1);
	buf_put_char(out, '.');
	buf_put_decimal(out, (uint64_t)us % US_PER_S, 6);
	buf_put_char(out, ',');
}

static void
put_number(struct buf *out, struct str name, uint64_t v)
{
	buf_put_str(out, name);
	buf_put_decimal(out, v, 1);
	buf_put_char(out, ',');
}

static void
put_text(struct buf *out, struct str name, struct str value)
{
	buf_put_str(out, name);
	text_json(out, value);
	buf_put_char(out, ',');
}

/* --- headers ------------------------------------------------------------ */

static void
put_list(const struct http_head *h, struct buf *out)
{
	buf_put_char(out, '[');
	for (size_t i = 0; i < h->fields_n; i++) {
		buf_put_text(out, i == 0 ? "[" : ",[");
		text_json_latin1(out, h->fields[i].name);
		buf_put_char(out, ',');
		text_json_latin1(out, h->fields[i].value);
		buf_put_char(out, ']');
	}
	buf_put_char(out, ']');
}

static bool
came_before(const struct http_head *h, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (str_eq_nocase(h->fields[k].name, h->fields[i].name))
			return true;
	return false;
}

/* The value of field i, joined with later fields of the same name. */
static void
put_joined(const struct http_head *h, size_t i, struct buf *out)
{
	struct str name = h->fields[i].name, value;
	FREED(buf_free) struct buf all = BUF_INIT;
	size_t at = i + 1;

	if (str_eq_nocase(name, STR("Set-Cookie")) ||
	    !http_next(h, name, &at, &value)) {
		text_json_latin1(out, h->fields[i].value);
		return;
	}
	buf_put_str(&all, h->fields[i].value);
	do {
		buf_put_str(&all, STR(", "));
		buf_put_str(&all, value);
	} while (http_next(h, name, &at, &value));
	text_json_latin1(out, buf_str(&all));
}

static void
put_object(const struct http_head *h, struct buf *out)
{
	bool first = true;

	buf_put_char(out, '{');
	for (size_t i = 0; i < h->fields_n; i++) {
		if (came_before(h, i))
			continue;
		buf_put_text(out, first ? "" : ",");
		first = false;
		text_json_latin1(out, h->fields[i].name);
		buf_put_char(out, ':');
		put_joined(h, i, out);
	}
	buf_put_char(out, '}');
}

static void
put_headers(const struct stream_capture *c, struct buf *out)
{
	static const struct http_head none = { .fields_n = 0 };
	const struct http_head *h = c->has_record && c->record->has_http ?
	    &c->record->http : &none;

	buf_put_text(out, "\"headers\":");
	if (c->form & STREAM_LIST_HEADERS)
		put_list(h, out);
	else
		put_object(h, out);
}

/* --- the item ----------------------------------------------------------- */

static void
put_body(const struct stream_capture *c, struct buf *out)
{
	buf_put_text(out, ",\"body\":\"");
	base64_put(out, c->body);
	buf_put_char(out, '"');
}

void
item_render(const struct stream_capture *c, struct buf *out)
{
	const struct journal_entry *e = c->entry;
	bool cut = e->flags & (JOURNAL_TRUNCATED | JOURNAL_DAMAGED);

	buf_put_char(out, '{');
	put_text(out, NAME("url"), e->url);
	if (e->final_url.n != 0)
		put_text(out, NAME("final_url"), e->final_url);
	put_number(out, NAME("status_code"), e->status);
	put_number(out, NAME("depth"), e->depth);
	put_number(out, NAME("crawl_id"), e->crawl);
	put_seconds(out, NAME("started_at"), e->start.us);
	put_seconds(out, NAME("completed_at"), e->start.us + e->duration_us);
	put_seconds(out, NAME("duration"), e->duration_us);
	put_number(out, NAME("body_length"), c->body_length);
	buf_put_text(out, cut || c->body_damaged ? "\"truncated\":true," :
	    "\"truncated\":false,");
	buf_put_text(out, "\"sync_token\":\"");
	sync_put(out, SYNC_ITEM, e->seq, e->crawl, c->mark);
	buf_put_text(out, "\",");
	put_headers(c, out);
	if ((c->form & STREAM_BODY) && !c->big)
		put_body(c, out);
	buf_put_char(out, '}');
}
