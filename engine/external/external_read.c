/* Members of a declaration's objects, and what is said when one is wrong. */
#include <stdarg.h>

#include "base/text.h"
#include "engine/connector/shown.h"
#include "engine/external/external_own.h"

enum err
external_read_fail(struct external_reading *r, enum err e, const char *place,
    const char *text)
{
	return why(r->w, e, "%s%s%s%s%s", r->file == NULL ? "" : r->file,
	    r->file == NULL ? "" : ": ", place, *place == '\0' ? "" : ": ",
	    text);
}

enum err
external_read_refuse(struct external_reading *r, const char *place,
    const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return external_read_fail(r, ERR_INPUT, place, text);
}

const char *
external_read_join(struct external_reading *r, const char *place,
    const char *name)
{
	return arena_printf(&r->connector->arena, "%s%s%s", place,
	    *place == '\0' ? "" : ".", name).p;
}

enum err
external_read_members(struct external_reading *r, yyjson_val *object,
    const char *place, const char *const *names)
{
	FREED(buf_free) struct buf shown = BUF_INIT;
	size_t i, n;
	yyjson_val *key, *v;

	if (!yyjson_is_obj(object))
		return external_read_refuse(r, place, "it is not an object");
	yyjson_obj_foreach(object, i, n, key, v) {
		const char *const *name = names;
		while (*name != NULL && !str_eq(json_text(key), str_of(*name)))
			name++;
		if (*name == NULL) {
			shown_put(&shown, json_text(key));
			return external_read_refuse(r, place, "it has a member"
			    " that is not known: %s", buf_text(&shown));
		}
		if (yyjson_obj_getn(object, yyjson_get_str(key),
		    yyjson_get_len(key)) != v)
			return external_read_refuse(r, place, "%s is there "
			    "twice", *name);
	}
	return OK;
}

enum err
external_read_text(struct external_reading *r, yyjson_val *object,
    const char *place, const char *name, bool needed, struct str *out)
{
	yyjson_val *v = yyjson_obj_get(object, name);
	const char *at = external_read_join(r, place, name);
	struct str s = json_text(v);

	*out = STR_NONE;
	if (json_is_absent(v))
		return needed ? external_read_refuse(r, at, "it is missing") :
		    OK;
	if (!yyjson_is_str(v) || text_has_control(s))
		return external_read_refuse(r, at, "it is not a text of one "
		    "line");
	if (s.n > EXTERNAL_TEXT_BYTES_MAX)
		return external_read_refuse(r, at, "it is longer than %u "
		    "bytes", EXTERNAL_TEXT_BYTES_MAX);
	*out = s;
	return OK;
}

enum err
external_read_word(struct external_reading *r, yyjson_val *object,
    const char *place, const char *name, const char *const *words, size_t n,
    size_t *out)
{
	FREED(buf_free) struct buf list = BUF_INIT;
	struct str s = json_text(yyjson_obj_get(object, name));

	*out = str_find_row(s, words, n, sizeof(*words), str_eq);
	if (*out < n)
		return OK;
	for (size_t i = 0; i < n; i++)
		buf_printf(&list, "%s%s", i == 0 ? "" : " ", words[i]);
	return external_read_refuse(r, external_read_join(r, place, name),
	    "it is none of: %s", buf_text(&list));
}
