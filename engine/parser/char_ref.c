#include "engine/parser/char_ref.h"

#include <lexbor/core/sbst.h>
#include <lexbor/encoding/encoding.h>
#include <lexbor/html/tokenizer/res.h>

#define CODE_POINT_MAX 0x10ffffu
#define REPLACEMENT 0xfffdu

static bool
is_alnum(char c)
{
	return ascii_is_alpha(c) || ascii_is_digit(c);
}

/* C1 controls stand for what windows-1252 has in their places. */
static uint32_t
mend_point(uint32_t cp)
{
	static const uint16_t c1[32] = {
		0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021,
		0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f,
		0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
		0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178,
	};

	if (cp == 0 || cp > CODE_POINT_MAX || (cp >= 0xd800 && cp < 0xe000))
		return REPLACEMENT;
	return cp >= 0x80 && cp < 0xa0 ? c1[cp - 0x80] : cp;
}

static size_t
put_utf8(char *to, uint32_t cp)
{
	lxb_char_t *at = (lxb_char_t *)to;

	return (size_t)lxb_encoding_encode_utf_8_single(NULL, &at, at + 4, cp);
}

/* "&#233;" and "&#xe9;"; the semicolon may be missing. */
static size_t
read_number(struct str s, char *out, size_t *out_n)
{
	bool hex = s.n > 2 && (s.p[2] == 'x' || s.p[2] == 'X');
	size_t start = hex ? 3 : 2, i = start;
	uint32_t cp = 0;

	for (; i < s.n; i++) {
		int digit = ascii_hex_value(s.p[i]);
		if (digit < 0 || (!hex && digit > 9))
			break;
		if (cp <= CODE_POINT_MAX)
			cp = cp * (hex ? 16 : 10) + (uint32_t)digit;
	}
	if (i == start)
		return 0;
	*out_n = put_utf8(out, mend_point(cp));
	return i + (i < s.n && s.p[i] == ';');
}

/* The names that make nearly all references of the web. */
static size_t
read_common(struct str s, char *out, size_t *out_n)
{
	static const struct common {
		struct str name, text;
	} common[] = {
		{ { "&amp;", 5 }, { "&", 1 } }, { { "&gt;", 4 }, { ">", 1 } },
		{ { "&lt;", 4 }, { "<", 1 } }, { { "&quot;", 6 }, { "\"", 1 } },
		{ { "&nbsp;", 6 }, { "\xc2\xa0", 2 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(common); i++) {
		const struct common *c = &common[i];
		if (c->name.p[1] != s.p[1] || !str_starts(s, c->name))
			continue;
		memcpy(out, c->text.p, c->text.n);
		*out_n = c->text.n;
		return c->name.n;
	}
	return 0;
}

/* The longest name counts: "&notin;" is one, "&notit;" is "&not" and "it;". */
static size_t
read_name(struct str s, bool attr, char *out, size_t *out_n)
{
	const lexbor_sbst_entry_static_t *tree =
	    lxb_html_tokenizer_res_entities_sbst, *at = &tree[1], *found = NULL;
	size_t n = 0;

	for (size_t i = 1; i < s.n; i++) {
		at = lexbor_sbst_entry_static_find(tree, at,
		    (lxb_char_t)s.p[i]);
		if (at == NULL)
			break;
		if (at->value != NULL) {
			found = at;
			n = i + 1;
		}
		at = &tree[at->next];
	}
	if (found == NULL)
		return 0;
	if (attr && found->key != ';' && n < s.n &&
	    (s.p[n] == '=' || is_alnum(s.p[n])))
		return 0;
	CHECK(found->value_len <= CHAR_REF_BYTES_MAX);
	memcpy(out, found->value, found->value_len);
	*out_n = found->value_len;
	return n;
}

size_t
char_ref_read(struct str s, bool attr, char *out, size_t *out_n)
{
	size_t n;

	if (s.n < 2)
		return 0;
	if (s.p[1] == '#')
		return read_number(s, out, out_n);
	n = read_common(s, out, out_n);
	return n != 0 ? n : read_name(s, attr, out, out_n);
}
