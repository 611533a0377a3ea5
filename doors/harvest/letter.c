#include "doors/harvest/letter.h"

#include <stdlib.h>

#include "base/json.h"

/* Deeper values are masked, too. */
#define DEPTH_MAX 64u
#define MASK "***"

static const char *const names[] = {
#define LETTER_NAME(name, text) text,
	LETTER_REASONS(LETTER_NAME)
#undef LETTER_NAME
};

const char *
letter_reason_name(enum letter_reason r)
{
	return names[r];
}

static void
mask_value(yyjson_mut_val *v, bool secret, unsigned depth)
{
	yyjson_mut_val *x;

	if (yyjson_mut_is_ctn(v) && depth < DEPTH_MAX) {
		yyjson_mut_arr_iter list = yyjson_mut_arr_iter_with(v);
		while ((x = yyjson_mut_arr_iter_next(&list)) != NULL)
			mask_value(x, secret, depth + 1);
		yyjson_mut_obj_iter object = yyjson_mut_obj_iter_with(v);
		while ((x = yyjson_mut_obj_iter_next(&object)) != NULL)
			mask_value(yyjson_mut_obj_iter_get_val(x), secret ||
			    yyjson_mut_equals_str(x, "credentials"),
			    depth + 1);
	} else if (secret || yyjson_mut_is_ctn(v)) {
		yyjson_mut_set_str(v, MASK);
	}
}

struct str
letter_mask(struct str body, struct arena *a)
{
	yyjson_doc *doc = yyjson_read(body.p, body.n,
	    YYJSON_READ_NUMBER_AS_RAW);
	struct str out = body;
	size_t n;

	if (doc == NULL)
		return body;
	yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
	CHECK(copy != NULL);
	mask_value(yyjson_mut_doc_get_root(copy), false, 0);
	char *text = yyjson_mut_write(copy, 0, &n);
	CHECK(text != NULL);
	out = arena_copy(a, (struct str){ text, n });
	free(text);
	yyjson_mut_doc_free(copy);
	yyjson_doc_free(doc);
	return out;
}

struct str
letter_date(struct wall t, struct arena *a)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso(t, iso);
	struct str s = str_of(iso);
	return arena_printf(a, "%.*s+00:00", STR_FMT(str_cut(s, 0, s.n - 1)));
}
