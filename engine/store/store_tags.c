#include "base/json.h"
#include "base/text.h"
#include "engine/store/store_own.h"

void
store_tags_put(struct buf *b, const struct str *tags, size_t n)
{
	buf_put_char(b, '[');
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			buf_put_char(b, ',');
		text_json(b, tags[i]);
	}
	buf_put_char(b, ']');
}

static bool
read_tags(yyjson_val *root, struct arena *a, const struct str **tags, size_t *n)
{
	size_t i, most;
	yyjson_val *v;

	if (!yyjson_is_arr(root))
		return false;
	*n = yyjson_arr_size(root);
	struct str *list = ARENA_ARRAY(a, struct str, *n);
	yyjson_arr_foreach(root, i, most, v) {
		if (!yyjson_is_str(v))
			return false;
		list[i] = arena_copy(a, json_text(v));
	}
	*tags = list;
	return true;
}

enum err
store_tags_get(struct str json, struct arena *a, const struct str **tags,
    size_t *n, struct why *w)
{
	yyjson_doc *doc = json.n == 0 ? NULL : yyjson_read(json.p, json.n, 0);
	bool good = doc != NULL && read_tags(yyjson_doc_get_root(doc), a, tags,
	    n);

	yyjson_doc_free(doc);
	return good ? OK : why(w, ERR_CORRUPT, "stored tags are no list of "
	    "texts");
}
