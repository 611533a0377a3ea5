#include "engine/connector/flickr/flickr_items.h"

#include "base/json.h"
#include "engine/connector/item_json.h"

/* --- items -------------------------------------------------------------- */

static bool
recognises(struct str uri, struct str content_type)
{
	struct str method = STR("method=flickr.photos.getInfo");

	(void)content_type;
	return str_starts(uri,
	    STR("https://api.flickr.com/services/rest/")) &&
	    str_find(uri, method) < uri.n;
}

/* "1464868800"; a number is read, too. */
static struct item_date
read_epoch(yyjson_val *v)
{
	struct item_date none = { .known = false };
	struct str s = json_text(v);
	int64_t seconds;

	if (yyjson_is_int(v))
		seconds = yyjson_get_sint(v);
	else if (s.p == NULL || !str_to_i64(s, &seconds))
		return none;
	return item_date_of_epoch(seconds);
}

/* An answer that failed, such as for a photo that is gone, has no photo. */
static enum err
each(const struct connector_items *of, const struct item_text *t,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	struct item_json j;
	enum err e = item_json_parse(t->text, a, &j, w);

	if (e != OK || !str_eq(json_text(json_member(j.root, "stat")),
	    STR("ok")))
		return e;
	yyjson_val *photo = json_member(j.root, "photo");
	struct item i = { .of = of, .kind = ITEM_FOUND, .json = photo,
		.repaired = j.repaired,
		.id = json_id(json_member(photo, "id"), a),
		.owner = json_text(json_at(photo, "owner.nsid")),
		.date = read_epoch(json_at(photo, "dates.posted")) };
	if (i.id.n == 0) {
		i.kind = ITEM_BROKEN;
		i.lacks = "photo.id";
	}
	return fn(arg, &i, w);
}

/* --- columns ------------------------------------------------------------ */

/* Flickr gives it to owners alone. */
static void
fill_format(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, json_member(r->item->json, c->at));
}

static void
fill_posted(struct row *r, const struct column *c, struct cell *cell)
{
	if (!r->item->date.known) {
		row_lacks(r, c->at);
		return;
	}
	cell->type = CELL_DATE;
	cell->date = r->item->date;
}

/* The camera's clock: no zone, and month 00 where only the year is known. */
static void
fill_taken(struct row *r, const struct column *c, struct cell *cell)
{
	if (item_date_parse(json_text(json_at(r->item->json, c->at)),
	    &cell->date))
		cell->type = CELL_DATE;
	else
		row_lacks(r, c->at);
}

static void
fill_line(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *v = json_at(r->item->json, c->at);

	if (!yyjson_is_str(v))
		row_lacks(r, c->at);
	cell_line(r, v, false, cell);
}

static void
fill_page(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *list = json_at(r->item->json, c->at), *v;
	size_t i, n;

	if (list == NULL)
		row_lacks(r, c->at);
	yyjson_arr_foreach(list, i, n, v)
		if (str_eq(json_text(json_member(v, "type")),
		    STR("photopage")))
			cell_value(cell, json_member(v, "_content"));
}

static const struct column columns[] = {
	{ "photo_id", "the photo's number", fill_value_at, "id" },
	{ "date_posted", "when it was uploaded, in UTC", fill_posted,
	    "dates.posted" },
	{ "date_taken", "when it was taken, by the camera's clock",
	    fill_taken, "dates.taken" },
	{ "license", "the number of its licence at Flickr", fill_value_at,
	    "license" },
	{ "safety_level", "0 safe, 1 moderate, 2 restricted", fill_value_at,
	    "safety_level" },
	{ "original_format", "the ending of the original file", fill_format,
	    "originalformat" },
	{ "owner_nsid", "its owner's id", fill_value_at, "owner.nsid" },
	{ "owner_username", "its owner's name", fill_value_at,
	    "owner.username" },
	{ "title", "its title; line ends are blanks", fill_line,
	    "title._content" },
	{ "description", "its description, as HTML; line ends are blanks",
	    fill_line, "description._content" },
	{ "media", "photo or video", fill_value_at, "media" },
	{ "photopage", "the address of its page", fill_page, "urls.url" },
};
static const struct item_table table = {
	.dialect = TABLE_PETL,
	.columns = columns,
	.columns_n = ARRAY_LEN(columns),
};

const struct connector_items flickr_items = {
	.label = "flickr photos",
	.framing = ITEM_FRAMING_DOCUMENT,
	.recognises = recognises,
	.each = each,
	.table = &table,
};
