#include "doors/harvest/input.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/store/store_harvest.h"

#define MARK "\xef\xbb\xbf"

/* A text that the store takes; else an empty one. */
static struct str
take_text(yyjson_val *root, const char *name, size_t bytes_max,
    struct arena *a)
{
	struct str s = json_text(yyjson_obj_get(root, name));

	return s.n == 0 || s.n > bytes_max || text_has_control(s) ? STR("") :
	    arena_copy(a, s);
}

static struct str
without_credentials(yyjson_doc *doc, struct arena *a)
{
	yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
	size_t n;

	CHECK(copy != NULL);
	yyjson_mut_obj_remove_key(yyjson_mut_doc_get_root(copy),
	    "credentials");
	char *text = yyjson_mut_write(copy, 0, &n);
	CHECK(text != NULL);
	struct str out = arena_copy(a, (struct str){ text, n });
	free(text);
	yyjson_mut_doc_free(copy);
	return out;
}

static enum letter_reason
read_root(yyjson_doc *doc, struct arena *a, struct input *in)
{
	yyjson_val *root = yyjson_doc_get_root(doc);

	if (!yyjson_is_obj(root))
		return LETTER_NOT_OBJECT;
	in->id = take_text(root, "id", STORE_HARVEST_ID_BYTES_MAX, a);
	if (in->id.n == 0)
		return LETTER_NO_ID;
	in->type = take_text(root, "type", STORE_NAME_BYTES_MAX, a);
	in->path = take_text(root, "path", STORE_HARVEST_PATH_BYTES_MAX, a);
	in->kept = without_credentials(doc, a);
	return LETTER_NONE;
}

enum letter_reason
input_read(struct str body, struct arena *a, struct input *in)
{
	struct str mark = STR(MARK);
	yyjson_read_err fault;

	*in = (struct input){ .text = str_starts(body, mark) ?
	    str_from(body, mark.n) : body };
	/* It writes to the text with the flag INSITU alone. */
	yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)in->text.p,
	    in->text.n, YYJSON_READ_NUMBER_AS_RAW, NULL, &fault);
	/* A message is not broken because memory is short. */
	CHECK(doc != NULL ||
	    fault.code != YYJSON_READ_ERROR_MEMORY_ALLOCATION);
	if (doc == NULL)
		return LETTER_NOT_JSON;
	enum letter_reason r = read_root(doc, a, in);
	yyjson_doc_free(doc);
	return r;
}
