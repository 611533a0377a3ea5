#include "cli/items_change.h"

#include <yyjson.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/format.h"

const struct item_actor items_change_actor = { .run_item = 0 };

struct items_change *
items_change_of(struct items_write *r)
{
	return CONTAINER(r, struct items_change, request.write);
}

void
items_change_effect(struct items_change *x, struct str id,
    enum item_effect effect, uint64_t rev)
{
	struct buf *b = &x->out;

	buf_clear(b);
	json_object(b, NULL);
	json_str(b, "id", id);
	json_str(b, "effect", str_of(item_effect_text(effect)));
	if (rev > 0)
		json_u64(b, "rev", rev);
	buf_put_char(b, '}');
}

void
items_change_path(struct buf *b, struct str id, const char *rest)
{
	buf_put_text(b, "/items/");
	items_data_part(b, id);
	buf_put_text(b, rest);
}

/* --- the answer --------------------------------------------------------- */

/* The members of an object as "name value" words. */
static void
print_words(struct buf *out, yyjson_val *root)
{
	yyjson_val *key, *v;
	size_t at, n, length;

	yyjson_obj_foreach(root, at, n, key, v) {
		if (at > 0)
			buf_put_text(out, "  ");
		buf_printf(out, "%s ", yyjson_get_str(key));
		if (yyjson_is_str(v)) {
			format_safe(out, json_text(v), ITEM_ID_BYTES_MAX);
			continue;
		}
		char *text = yyjson_val_write(v, YYJSON_WRITE_ESCAPE_UNICODE,
		    &length);
		buf_put(out, text, length);
		free(text);
	}
	buf_put_char(out, '\n');
}

enum err
items_change_print(struct cli *c, struct str json, struct why *w)
{
	if (cli_json(c)) {
		buf_put_str(&c->out, json);
		buf_put_char(&c->out, '\n');
		return OK;
	}
	yyjson_doc *d = yyjson_read(json.p, json.n, 0);
	if (!yyjson_is_obj(yyjson_doc_get_root(d))) {
		yyjson_doc_free(d);
		return why(w, ERR_BROKEN, "the answer is no JSON");
	}
	print_words(&c->out, yyjson_doc_get_root(d));
	yyjson_doc_free(d);
	return OK;
}

enum err
items_change_do(struct items_change *x, const struct ask_request *r,
    struct why *w)
{
	struct items_data d;
	struct str answer = STR_NONE;

	enum err e = items_data_open(x->cli, &d, w);
	if (e == OK && d.items != NULL) {
		e = items_data_write(&d, &x->request, w);
		answer = buf_str(&x->out);
	} else if (e == OK) {
		e = items_data_ask(&d, r, &answer, w);
	}
	if (e == OK)
		e = items_change_print(x->cli, answer, w);
	items_data_close(&d);
	buf_free(&x->out);
	return e;
}
