/* The parts of a reply's body; contracts/external.md §1, §4. */
#include "engine/external/delivery_own.h"

void
delivery_reply_read(struct str body, struct reply *r)
{
	*r = (struct reply){ .message = STR_NONE };
	if (body.n == 0 || body.n > DELIVERY_REPLY_BYTES_MAX)
		return;
	r->doc = yyjson_read(body.p, body.n, 0);
	yyjson_val *root = yyjson_doc_get_root(r->doc);
	if (!yyjson_is_obj(root))
		return;
	yyjson_val *success = yyjson_obj_get(root, "success");
	yyjson_val *count = yyjson_obj_get(yyjson_obj_get(root, "payload"),
	    "count");
	r->refused = yyjson_is_false(success);
	r->counted = yyjson_is_uint(count);
	r->count = yyjson_get_uint(count);
	r->message = json_text(yyjson_arr_get_first(yyjson_obj_get(root,
	    "messages")));
}

void
delivery_reply_free(struct reply *r)
{
	yyjson_doc_free(r->doc);
	r->doc = NULL;
}

size_t
delivery_reply_errors(const struct reply *r, struct str *errors, size_t lines)
{
	yyjson_val *list = yyjson_obj_get(yyjson_obj_get(
	    yyjson_doc_get_root(r->doc), "payload"), "errors");
	yyjson_val *one;
	size_t i, n, named = 0;

	for (i = 0; i < lines; i++)
		errors[i] = STR_NONE;
	if (!yyjson_is_arr(list))
		return 0;
	yyjson_arr_foreach(list, i, n, one) {
		yyjson_val *v = yyjson_obj_get(one, "line");
		uint64_t line = yyjson_get_uint(v);
		if (!yyjson_is_uint(v) || line < 1 || line > lines ||
		    errors[line - 1].p != NULL)
			continue;
		struct str text = json_text(yyjson_obj_get(one, "error"));
		errors[line - 1] = text.n > 0 ? text :
		    STR("the back end gives no reason");
		named++;
	}
	return named;
}
