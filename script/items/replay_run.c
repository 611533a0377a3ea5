#include "script/items/replay_run.h"

#include "base/json_writer.h"
#include "engine/items/worklist.h"

/* -- Differences -- */

/* The recorded mutations as the script queued them, without the effects that
 * the store added. */
static void
put_recorded(const struct replay_record *r, struct buf *b)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *list = yyjson_val_mut_copy(doc, r->mutations), *m;
	size_t i, max, n = 0;

	yyjson_mut_arr_foreach(list, i, max, m)
		yyjson_mut_obj_remove_key(m, "effect");
	char *text = yyjson_mut_val_write(list, 0, &n);
	buf_put_str(b, text == NULL ? STR("[]") : (struct str){ text, n });
	free(text);
	yyjson_mut_doc_free(doc);
}

void
replay_difference(const struct replay_record *r, struct str mutations,
    struct buf *out)
{
	FREED(buf_free) struct buf before = BUF_INIT, after = BUF_INIT;

	buf_put_text(&before, "{\"mutations\":");
	put_recorded(r, &before);
	buf_put_char(&before, '}');
	json_object(&after, NULL);
	json_raw(&after, "mutations", mutations);
	buf_put_char(&after, '}');
	item_diff(buf_str(&before), buf_str(&after), out);
}
