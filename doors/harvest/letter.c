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

/* ---- Without reading it ---------------------------------------------- */

static bool
is_one_of(char c, const char *these)
{
	return str_has_char(str_of(these), c);
}

static size_t
skip_spaces(struct str s, size_t at)
{
	while (at < s.n && is_one_of(s.p[at], " \t\r\n"))
		at++;
	return at;
}

/* Behind the closing quote; `at` is behind the opening one. */
static size_t
end_of_string(struct str s, size_t at)
{
	while (at < s.n && s.p[at] != '"')
		at += s.p[at] == '\\' ? 2 : 1;
	return MIN(at + 1, s.n);
}

static size_t
end_of_value(struct str s, size_t at)
{
	size_t depth = 0;

	while (at < s.n && (depth > 0 || !is_one_of(s.p[at], ",}] \t\r\n"))) {
		char c = s.p[at++];
		if (c == '"')
			at = end_of_string(s, at);
		else if (is_one_of(c, "{["))
			depth++;
		else if (is_one_of(c, "}]"))
			depth--;
	}
	return at;
}

/* A letter of a string, which may be written as \u0063. */
static int
next_letter(struct str s, size_t *at)
{
	char hex[5] = "";

	if (s.p[*at] != '\\' || *at + 6 > s.n || s.p[*at + 1] != 'u')
		return (unsigned char)s.p[(*at)++];
	memcpy(hex, s.p + *at + 2, 4);
	*at += 6;
	return (int)strtol(hex, NULL, 16);
}

/* Whether the text of a string is `credentials`. */
static bool
is_secret(struct str text)
{
	const char *name = "credentials";
	size_t at = 0;

	while (at < text.n && *name != '\0')
		if (next_letter(text, &at) != *name++)
			return false;
	return at == text.n && *name == '\0';
}

struct str
letter_mask_unread(struct str body, struct arena *a)
{
	FREED(buf_free) struct buf out = BUF_INIT;
	size_t at = 0, kept = 0;

	while (at < body.n) {
		if (body.p[at++] != '"')
			continue;
		size_t end = end_of_string(body, at);
		bool secret = end > at && is_secret(str_cut(body, at,
		    end - 1));
		at = skip_spaces(body, end);
		if (!secret || at == body.n || body.p[at] != ':')
			continue;
		at = skip_spaces(body, at + 1);
		buf_put_str(&out, str_cut(body, kept, at));
		buf_put_text(&out, "\"" MASK "\"");
		kept = at = end_of_value(body, at);
	}
	buf_put_str(&out, str_from(body, kept));
	return arena_copy(a, buf_str(&out));
}

/* ---- Reading it ------------------------------------------------------ */

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
		return letter_mask_unread(body, a);
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
