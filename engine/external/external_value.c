/* A parameter's value: read, and written as JSON or into an address. */
#include "base/json_writer.h"
#include "base/text.h"
#include "engine/connector/item_date.h"
#include "engine/connector/items.h"
#include "engine/connector/url_text.h"
#include "engine/external/external_own.h"

#define DAY_BYTES 10u            /* "2026-01-01" */
/* Milliseconds of 0001-01-01 and of the end of 9999. */
#define DATE_MS_LEAST INT64_C(-62135596800000)
#define DATE_MS_MOST INT64_C(253402300799999)

bool
external_value_is_empty(const struct external_param *p,
    const struct external_value *v)
{
	bool several = p->ui == EXTERNAL_MULTI_BOOL ||
	    p->ui == EXTERNAL_MULTI_SEARCH;

	return !v->given || (several && v->list_n == 0);
}

/* ---- Numbers and dates ------------------------------------------------- */

/* A number or a text with the digits of one. */
bool
external_value_read_int(yyjson_val *v, int64_t *out)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	return str_to_i64(json_id(v, &a), out);
}

/* ISO 8601 begins with the year, and has "T" or a blank before the time. */
static bool
is_iso(struct str s)
{
	for (size_t i = 0; i < DAY_BYTES; i++)
		if (i >= s.n || (i == 4 || i == 7 ? s.p[i] != '-' :
		    !ascii_is_digit(s.p[i])))
			return false;
	return s.n == DAY_BYTES || s.p[DAY_BYTES] == 'T' ||
	    s.p[DAY_BYTES] == ' ';
}

/* In UTC, with a fraction where there is one. */
static struct str
moment_text(int64_t us, struct arena *a)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso((struct wall){ us }, iso);
	if (us % US_PER_S == 0)
		return arena_printf(a, "%.19sZ", iso);
	return arena_copy(a, str_of(iso));
}

bool
external_value_read_date(yyjson_val *v, struct arena *a, struct str *out,
    int64_t *us)
{
	struct str s = json_text(v);
	struct item_date date;
	int64_t ms;

	if (external_value_read_int(v, &ms)) {
		if (ms < DATE_MS_LEAST || ms > DATE_MS_MOST)
			return false;
		*us = ms * 1000;
		*out = moment_text(*us, a);
		return true;
	}
	if (!is_iso(s) || !item_date_parse(s, &date))
		return false;
	*us = date.at.us;
	*out = date.has_time ? moment_text(*us, a) : s;
	return true;
}

/* ---- Texts ------------------------------------------------------------- */

static const char *
check_text(struct str s, struct arena *a)
{
	if (s.n > EXTERNAL_VALUE_BYTES_MAX)
		return arena_printf(a, "it is longer than %u bytes",
		    EXTERNAL_VALUE_BYTES_MAX).p;
	return text_has_control(s) ? "it has control characters" : NULL;
}

/* Dot segments would lead to another place of the host (RFC 3986 §5.2.4), also
 * percent-encoded. */
static bool
is_dots(struct str s)
{
	return str_eq(s, STR(".")) || str_eq(s, STR(".."));
}

static const char *
check_part(const struct external_param *p, struct str s, struct arena *a)
{
	const char *wrong = check_text(s, a);

	if (wrong == NULL && p->in_path && is_dots(s))
		wrong = "it is a part of an address, and cannot be \".\" or "
		    "\"..\"";
	if (wrong != NULL || p->options_n == 0)
		return wrong;
	for (size_t i = 0; i < p->options_n; i++)
		if (str_eq(p->options[i].value, s))
			return NULL;
	return "it is none of the options";
}

static const char *
read_text(const struct external_param *p, yyjson_val *v, struct arena *a,
    struct external_value *out)
{
	if (!yyjson_is_str(v))
		return "it is not a text";
	out->text = json_text(v);
	const char *wrong = check_part(p, out->text, a);
	if (wrong == NULL && p->matches != NULL &&
	    !schema_check(p->matches, v, 0, NULL, NULL))
		wrong = "it does not match the pattern";
	return wrong;
}

/* ---- Lists ------------------------------------------------------------- */

static const char *
add_name(const struct external_param *p, struct str name, struct arena *a,
    struct external_value *out)
{
	if (name.n == 0)
		return "it has an empty text";
	for (size_t i = 0; i < out->list_n; i++)
		if (str_eq(out->list[i], name))
			return "it has a text twice";
	out->list[out->list_n++] = name;
	return check_part(p, name, a);
}

/* An array of names. */
static const char *
read_list(const struct external_param *p, yyjson_val *v, struct arena *a,
    struct external_value *out)
{
	const char *wrong = NULL;
	size_t i, n;
	yyjson_val *one;

	if (!yyjson_is_arr(v))
		return p->ui == EXTERNAL_MULTI_BOOL ? "it is neither a list of"
		    " names nor an object of booleans" : "it is not a list";
	yyjson_arr_foreach(v, i, n, one) {
		if (wrong == NULL && !yyjson_is_str(one))
			wrong = "it is not a list of texts";
		else if (wrong == NULL)
			wrong = add_name(p, json_text(one), a, out);
	}
	return wrong;
}

/* An object of booleans: the names of those that are true. */
static const char *
read_chosen(const struct external_param *p, yyjson_val *v, struct arena *a,
    struct external_value *out)
{
	const char *wrong = NULL;
	size_t i, n;
	yyjson_val *key, *one;

	yyjson_obj_foreach(v, i, n, key, one) {
		if (wrong == NULL && !yyjson_is_bool(one))
			wrong = "it has a member that is not true or false";
		else if (wrong == NULL && yyjson_is_true(one))
			wrong = add_name(p, json_text(key), a, out);
		else if (wrong == NULL)
			wrong = check_part(p, json_text(key), a);
	}
	return wrong;
}

static const char *
read_several(const struct external_param *p, yyjson_val *v, struct arena *a,
    struct external_value *out)
{
	size_t n = yyjson_is_obj(v) ? yyjson_obj_size(v) : yyjson_arr_size(v);

	if (n > EXTERNAL_VALUES_MAX)
		return arena_printf(a, "it has more than %u texts",
		    EXTERNAL_VALUES_MAX).p;
	out->list = ARENA_ARRAY(a, struct str, n);
	return p->ui == EXTERNAL_MULTI_BOOL && yyjson_is_obj(v) ?
	    read_chosen(p, v, a, out) : read_list(p, v, a, out);
}

/* ---- Other types ------------------------------------------------------- */

static const char *
read_truth(yyjson_val *v, struct external_value *out)
{
	struct str s = json_text(v);

	out->truth = yyjson_is_true(v) || str_eq(s, STR("true"));
	return yyjson_is_bool(v) || out->truth || str_eq(s, STR("false")) ?
	    NULL : "it is not true or false";
}

static const char *
check_bounds(const struct external_param *p, struct arena *a, int64_t number)
{
	if (p->has_least && number < p->least)
		return p->ui == EXTERNAL_DATE ? arena_printf(a, "it is before "
		    "%s", moment_text(p->least, a).p).p : arena_printf(a,
		    "it is less than %lld", (long long)p->least).p;
	if (p->has_most && number > p->most)
		return p->ui == EXTERNAL_DATE ? arena_printf(a, "it is after "
		    "%s", moment_text(p->most, a).p).p : arena_printf(a,
		    "it is more than %lld", (long long)p->most).p;
	return NULL;
}

static const char *
read_location(yyjson_val *v, struct arena *a, struct external_value *out)
{
	size_t n = 0;
	char *text = yyjson_val_write(v, 0, &n);

	free(text);
	out->any = v;
	if (text == NULL || n > EXTERNAL_VALUE_BYTES_MAX)
		return arena_printf(a, "it is longer than %u bytes of JSON",
		    EXTERNAL_VALUE_BYTES_MAX).p;
	return NULL;
}

const char *
external_value_read(const struct external_param *p, yyjson_val *v,
    struct arena *a, struct external_value *out)
{
	*out = (struct external_value){ .given = true };
	switch (p->ui) {
	case EXTERNAL_BOOL:
		return read_truth(v, out);
	case EXTERNAL_INTEGER:
		if (!external_value_read_int(v, &out->number))
			return "it is not a whole number";
		return check_bounds(p, a, out->number);
	case EXTERNAL_DATE:
		if (!external_value_read_date(v, a, &out->text, &out->number))
			return "it is not a date in ISO 8601, and no number of"
			    " milliseconds since 1970";
		return check_bounds(p, a, out->number);
	case EXTERNAL_MULTI_BOOL:
	case EXTERNAL_MULTI_SEARCH:
		return read_several(p, v, a, out);
	case EXTERNAL_LOCATION:
		return read_location(v, a, out);
	default:
		return read_text(p, v, a, out);
	}
}

/* ---- Writing ----------------------------------------------------------- */

void
external_value_put_json(const struct external_param *p,
    const struct external_value *v, struct buf *out)
{
	char *text;

	switch (p->ui) {
	case EXTERNAL_BOOL:
		buf_put_text(out, v->truth ? "true" : "false");
		break;
	case EXTERNAL_INTEGER:
		buf_printf(out, "%lld", (long long)v->number);
		break;
	case EXTERNAL_MULTI_BOOL:
	case EXTERNAL_MULTI_SEARCH:
		buf_put_char(out, '[');
		for (size_t i = 0; i < v->list_n; i++)
			json_item(out, v->list[i]);
		buf_put_char(out, ']');
		break;
	case EXTERNAL_LOCATION:
		text = yyjson_val_write(v->any, 0, NULL);
		CHECK(text != NULL);
		buf_put_text(out, text);
		free(text);
		break;
	default:
		text_json(out, v->text);
	}
}

void
external_value_put_encoded(const struct external_param *p,
    const struct external_value *v, struct buf *out)
{
	switch (p->ui) {
	case EXTERNAL_BOOL:
		buf_put_text(out, v->truth ? "true" : "false");
		break;
	case EXTERNAL_INTEGER:
		buf_printf(out, "%lld", (long long)v->number);
		break;
	case EXTERNAL_MULTI_BOOL:
	case EXTERNAL_MULTI_SEARCH:
		for (size_t i = 0; i < v->list_n; i++) {
			if (i > 0)
				buf_put_char(out, ',');
			url_text_encode(out, v->list[i]);
		}
		break;
	default:
		url_text_encode(out, v->text);
	}
}
