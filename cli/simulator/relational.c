#include "cli/simulator/relational.h"

#include "base/json.h"

/* Set what the back end decides, whatever the client sent. */
static yyjson_doc *
finish_object(yyjson_mut_doc *doc, const struct relational_meta *m)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
	yyjson_mut_val *meta = yyjson_mut_obj_get(root, "meta");
	yyjson_doc *out;

	if (!yyjson_mut_is_obj(meta)) {
		yyjson_mut_obj_remove_key(root, "meta");
		meta = yyjson_mut_obj_add_obj(doc, root, "meta");
	}
	yyjson_mut_obj_remove_key(meta, "type");
	yyjson_mut_obj_remove_key(meta, "fid");
	yyjson_mut_obj_remove_key(meta, "version");
	yyjson_mut_obj_add_str(doc, meta, "type", m->type);
	yyjson_mut_obj_add_strn(doc, meta, "fid", m->fid.p, m->fid.n);
	yyjson_mut_obj_add_uint(doc, meta, "version", m->version);
	out = yyjson_mut_doc_imut_copy(doc, NULL);
	CHECK(out != NULL);
	yyjson_mut_doc_free(doc);
	return out;
}

yyjson_doc *
relational_put(yyjson_val *body, const struct relational_meta *m)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

	CHECK(doc != NULL && yyjson_is_obj(body));
	yyjson_mut_doc_set_root(doc, yyjson_val_mut_copy(doc, body));
	return finish_object(doc, m);
}

static yyjson_mut_doc *
merge(yyjson_val *old, yyjson_val *patch)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

	CHECK(doc != NULL);
	yyjson_mut_doc_set_root(doc, yyjson_merge_patch(doc, old, patch));
	CHECK(yyjson_mut_doc_get_root(doc) != NULL);
	return doc;
}

yyjson_doc *
relational_patch(yyjson_val *old, yyjson_val *patch,
    const struct relational_meta *m)
{
	CHECK(yyjson_is_obj(old) && yyjson_is_obj(patch));
	return finish_object(merge(old, patch), m);
}

yyjson_doc *
relational_merge(yyjson_val *under, yyjson_val *over)
{
	yyjson_doc *none = yyjson_read("{}", 2, 0), *out;
	yyjson_val *empty = yyjson_doc_get_root(none);
	yyjson_mut_doc *doc = merge(yyjson_is_obj(under) ? under : empty,
	    yyjson_is_obj(over) ? over : empty);

	out = yyjson_mut_doc_imut_copy(doc, NULL);
	CHECK(out != NULL);
	yyjson_mut_doc_free(doc);
	yyjson_doc_free(none);
	return out;
}

struct str
relational_link_from(yyjson_val *body, const char *type)
{
	yyjson_val *links = yyjson_obj_get(yyjson_obj_get(body, "meta"),
	    "links"), *link;
	struct str found = STR_NONE;
	size_t i, most, n = 0;

	yyjson_arr_foreach(links, i, most, link) {
		yyjson_val *from = yyjson_obj_get(link, "from");
		struct str fid = json_text(yyjson_obj_get(from, "fid"));
		if (!yyjson_equals_str(yyjson_obj_get(from, "type"), type) ||
		    fid.n == 0)
			continue;
		found = fid;
		n++;
	}
	return n == 1 ? found : STR_NONE;
}
