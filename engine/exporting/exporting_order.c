#include "engine/exporting/exporting_order.h"

#include "base/json.h"
#include "base/text.h"

static enum err
wrong(const char *field, const char *text, struct why *w)
{
	return why_field(w, ERR_INPUT, field, "%s", text);
}

/* A text without control characters; an absent one stays empty. */
static enum err
read_text(yyjson_val *root, const char *name, struct arena *a,
    struct str *out, struct why *w)
{
	yyjson_val *v = yyjson_obj_get(root, name);
	struct str s = json_text(v);

	if (json_is_absent(v))
		return OK;
	if (s.n == 0 || text_has_control(s))
		return wrong(name, "must be a text", w);
	*out = arena_copy(a, s);
	return OK;
}

static enum err
read_bool(yyjson_val *root, const char *name, bool *out, struct why *w)
{
	yyjson_val *v = yyjson_obj_get(root, name);

	if (json_is_absent(v))
		return OK;
	*out = yyjson_get_bool(v);
	return yyjson_is_bool(v) ? OK : wrong(name, "must be true or false",
	    w);
}

static enum err
read_bound(yyjson_val *root, const char *name, struct arena *a,
    struct exporting_bound *out, struct why *w)
{
	struct item_date date;
	enum err e = read_text(root, name, a, &out->text, w);

	if (e != OK || out->text.n == 0)
		return e;
	if (!item_date_parse(out->text, &date))
		return wrong(name, "must be a date such as "
		    "2016-06-03T12:00:00Z", w);
	out->known = true;
	out->at = date.at;
	return OK;
}

static enum err
read_texts(yyjson_val *root, const char *name, struct arena *a,
    const struct str **out, size_t *n, struct why *w)
{
	yyjson_val *v = yyjson_obj_get(root, name), *one;
	yyjson_arr_iter list = yyjson_arr_iter_with(v);

	if (json_is_absent(v))
		return OK;
	if (!yyjson_is_arr(v) || yyjson_arr_size(v) > EXPORTING_SEEDS_MAX)
		return wrong(name, "must be a list of texts", w);
	struct str *texts = ARENA_ARRAY(a, struct str, yyjson_arr_size(v));
	while ((one = yyjson_arr_iter_next(&list)) != NULL) {
		if (json_text(one).n == 0)
			return wrong(name, "must be a list of texts", w);
		texts[(*n)++] = arena_copy(a, json_text(one));
	}
	*out = texts;
	return OK;
}

static enum err
read_seeds(yyjson_val *root, struct arena *a, struct exporting_order *o,
    struct why *w)
{
	yyjson_val *v = yyjson_obj_get(root, "seeds"), *one;
	yyjson_arr_iter list = yyjson_arr_iter_with(v);
	size_t n = yyjson_arr_size(v);

	if (json_is_absent(v))
		return OK;
	if (!yyjson_is_arr(v) || n == 0 || n > EXPORTING_SEEDS_MAX)
		return wrong("seeds", "must be a list of seeds", w);
	o->seeds = ARENA_ARRAY(a, struct exporting_seed, n);
	while ((one = yyjson_arr_iter_next(&list)) != NULL) {
		struct exporting_seed *s = &o->seeds[o->seeds_n++];
		s->id = arena_copy(a, json_text(yyjson_obj_get(one, "id")));
		s->uid = arena_copy(a, json_text(yyjson_obj_get(one, "uid")));
		if (s->id.n == 0)
			return wrong("seeds", "each must have an id", w);
		o->nameless |= s->uid.n == 0;
	}
	return OK;
}

/* What the WARC files are chosen by: one of three. */
static enum err
read_choice(yyjson_val *root, struct arena *a, struct exporting_order *o,
    struct why *w)
{
	yyjson_val *v = yyjson_obj_get(root, "collection");
	enum err e = read_seeds(root, a, o, w);

	if (e == OK)
		e = read_texts(root, "harvests", a, &o->harvests,
		    &o->harvests_n, w);
	if (e != OK)
		return e;
	o->collection = arena_copy(a, json_text(yyjson_obj_get(v, "id")));
	if (!json_is_absent(v) && o->collection.n == 0)
		return wrong("collection", "must have an id", w);
	if ((o->collection.n > 0) + (o->seeds_n > 0) +
	    (o->harvests_n > 0) != 1)
		return wrong("collection", "either this or seeds is wanted",
		    w);
	return OK;
}

static enum err
read_number(yyjson_val *root, uint64_t *out, struct why *w)
{
	yyjson_val *v = yyjson_obj_get(root, "segment_size");

	if (json_is_absent(v))
		return OK;
	*out = yyjson_get_uint(v);
	return yyjson_is_uint(v) ? OK : wrong("segment_size", "must be a "
	    "whole number", w);
}

static enum err
read_type(struct exporting_order *o, const char **code, struct why *w)
{
	o->items = item_type_find(o->type);
	o->format = export_format_find(o->format_name);
	if (o->items == NULL)
		return why_field(w, ERR_INPUT, "type", "harvests of type "
		    "\"%.*s\" cannot be exported", STR_FMT(str_cut(o->type, 0,
		    60)));
	if (o->format != NULL)
		return OK;
	*code = "unsupported_export_format";
	return why_field(w, ERR_INPUT, "format", "\"%.*s\" is no format; "
	    "they are %s", STR_FMT(str_cut(o->format_name, 0, 60)),
	    export_format_names());
}

static enum err
read_options(yyjson_val *root, struct arena *a, struct exporting_order *o,
    struct why *w)
{
	yyjson_val *deletes = yyjson_obj_get(root, "honour_deletes");
	bool honour = false;
	enum err e = read_number(root, &o->segment, w);

	if (e == OK)
		e = read_bool(root, "dedupe", &o->dedupe, w);
	if (e == OK)
		e = read_bool(root, "readme", &o->readme, w);
	if (e == OK)
		e = read_bool(root, "honour_deletes", &honour, w);
	if (!json_is_absent(deletes))
		o->deletes = honour ? EXPORT_DELETES_HONOUR :
		    EXPORT_DELETES_IGNORE;
	if (e == OK)
		e = read_texts(root, "columns", a, &o->columns, &o->columns_n,
		    w);
	if (e == OK)
		e = read_bound(root, "item_date_start", a, &o->item_from, w);
	if (e == OK)
		e = read_bound(root, "item_date_end", a, &o->item_to, w);
	if (e == OK)
		e = read_bound(root, "harvest_date_start", a,
		    &o->harvest_from, w);
	return e == OK ? read_bound(root, "harvest_date_end", a,
	    &o->harvest_to, w) : e;
}

static enum err
read_root(yyjson_val *root, struct arena *a, struct exporting_order *o,
    const char **code, struct why *w)
{
	if (!yyjson_is_obj(root))
		return why(w, ERR_INPUT, "it is no object");
	enum err e = read_text(root, "id", a, &o->id, w);
	if (e == OK)
		e = read_text(root, "type", a, &o->type, w);
	if (e == OK)
		e = read_text(root, "format", a, &o->format_name, w);
	if (e == OK)
		e = read_text(root, "path", a, &o->path, w);
	if (e == OK && (str_find_char(o->id, '/') < o->id.n ||
	    str_starts(o->id, STR("."))))
		e = wrong("id", "names of files begin with it, so that it may "
		    "contain no slash and begin with no dot", w);
	if (e == OK)
		e = read_type(o, code, w);
	if (e == OK)
		e = read_choice(root, a, o, w);
	return e == OK ? read_options(root, a, o, w) : e;
}

enum err
exporting_order_read(struct str json, struct arena *a,
    struct exporting_order *o, const char **code, struct why *w)
{
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);

	*o = (struct exporting_order){ .deletes = EXPORT_DELETES_USUAL };
	*code = "bad_request";
	enum err e = read_root(yyjson_doc_get_root(doc), a, o, code, w);
	yyjson_doc_free(doc);
	return e;
}
