/*
 * json -- values of yyjson as slices.
 *
 * Thread: any; what is returned belongs to the document.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <yyjson.h>

#include "base/bytes.h"

/* The text of a string or a key; STR_NONE for another value. */
static inline struct str
json_text(yyjson_val *v)
{
	/* The length of a list or an object is another thing. */
	return yyjson_is_str(v) ? (struct str){ yyjson_get_str(v),
	    yyjson_get_len(v) } : STR_NONE;
}

/* Whether lists and objects stand in each other more than `depth` times. */
static inline bool
json_is_deeper_than(yyjson_val *v, unsigned depth)
{
	size_t i, n;
	yyjson_val *key, *one;

	if (!yyjson_is_ctn(v))
		return false;
	if (depth == 0)
		return true;
	yyjson_obj_foreach(v, i, n, key, one)
		if (json_is_deeper_than(one, depth - 1))
			return true;
	yyjson_arr_foreach(v, i, n, one)
		if (json_is_deeper_than(one, depth - 1))
			return true;
	return false;
}

/* "", null and a member that is not there. */
static inline bool
json_is_absent(yyjson_val *v)
{
	return v == NULL || yyjson_is_null(v) ||
	    (yyjson_is_str(v) && yyjson_get_len(v) == 0);
}

#endif
