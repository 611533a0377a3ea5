#include "engine/parser/charset.h"

#include <lexbor/encoding/encoding.h>
#include <lexbor/encoding/multi.h>

#include "base/text.h"
#include "engine/parser/prescan.h"

#define DECODE_POINTS 1024u

/* lexbor keeps the pointer; its own macro gives one into a block's scope. */
static const lxb_codepoint_t replacement = LXB_ENCODING_REPLACEMENT_CODEPOINT;

static const lxb_char_t *
chars(struct str s)
{
	return (const lxb_char_t *)s.p;
}

static const char *
name_of(const lxb_encoding_data_t *d)
{
	return d == NULL ? NULL : (const char *)d->name;
}

const char *
charset_by_label(struct str label)
{
	label = str_trim(label);
	return label.n == 0 ? NULL :
	    name_of(lxb_encoding_data_by_name(chars(label), label.n));
}

/*
 * A document that says by ASCII bytes that it is UTF-16 is not; and nobody
 * means x-user-defined.
 */
static const char *
prescan_name(struct str label)
{
	const char *name = charset_by_label(label);

	if (name == NULL)
		return NULL;
	if (str_starts_nocase(str_of(name), STR("UTF-16")))
		return "UTF-8";
	return str_eq_nocase(str_of(name), STR("x-user-defined")) ?
	    "windows-1252" : name;
}

static const char *
name_in_html(struct str head)
{
	struct prescan s = prescan_begin(head);
	const char *name = NULL;
	struct str label;

	while (name == NULL && prescan_next(&s, &label))
		name = prescan_name(label);
	return name;
}

/* <?xml version="1.0" encoding="..."?> */
static const char *
name_in_xml(struct str head)
{
	if (!str_starts(head, STR("<?xml")))
		return NULL;
	struct str s = str_cut(head, 0, str_find(head, STR("?>")));
	s = str_from(s, str_find(s, STR("encoding")) + 8);
	s = str_trim(s);
	if (s.n == 0 || s.p[0] != '=')
		return NULL;
	s = str_trim(str_from(s, 1));
	if (s.n == 0 || (s.p[0] != '"' && s.p[0] != '\''))
		return NULL;
	char quote = s.p[0];
	s = str_from(s, 1);
	return prescan_name(str_cut(s, 0, str_find_char(s, quote)));
}

const char *
charset_by_bom(struct str s)
{
	if (str_starts(s, STR("\xef\xbb\xbf")))
		return "UTF-8";
	if (str_starts(s, STR("\xfe\xff")))
		return "UTF-16BE";
	return str_starts(s, STR("\xff\xfe")) ? "UTF-16LE" : NULL;
}

/* UTF-16 without a mark, told by its "<" and "?" (XML 1.0 appendix F). */
static const char *
name_by_xml_start(struct str s)
{
	if (str_starts(s, STR("\0<\0?")))
		return "UTF-16BE";
	return str_starts(s, STR("<\0?\0")) ? "UTF-16LE" : NULL;
}

const char *
charset_of(struct str body, struct str label, enum charset_markup markup)
{
	struct str head = str_cut(body, 0, CHARSET_PRESCAN_BYTES);
	const char *name = charset_by_bom(body);

	if (name == NULL)
		name = charset_by_label(label);
	if (name == NULL && markup != CHARSET_PLAIN)
		name = name_by_xml_start(body);
	if (name == NULL && markup == CHARSET_HTML)
		name = name_in_html(head);
	/* HTML has the XML declaration too since 2021. */
	if (name == NULL && markup != CHARSET_PLAIN)
		name = name_in_xml(head);
	if (name == NULL)
		name = text_is_utf8(body) ? "UTF-8" : "windows-1252";
	return name;
}

static struct str
skip_bom(const char *name, struct str s)
{
	const char *bom = charset_by_bom(s);

	if (bom == NULL || strcmp(bom, name) != 0)
		return s;
	return str_from(s, bom[4] == '8' ? 3 : 2);
}

static void
put_points(struct buf *out, const lxb_codepoint_t *cp, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		lxb_char_t bytes[4], *to = bytes;
		int8_t k = lxb_encoding_encode_utf_8_single(NULL, &to,
		    bytes + sizeof(bytes), cp[i]);
		if (k > 0)
			buf_put(out, bytes, (size_t)k);
	}
}

/*
 * In steps so small that the decoder never fills its buffer: lexbor 3.0 loses a
 * byte above 127 when it does.
 */
static void
decode(const lxb_encoding_data_t *d, struct str s, struct buf *out)
{
	lxb_codepoint_t points[DECODE_POINTS];
	lxb_encoding_decode_t ctx;

	if (lxb_encoding_decode_init(&ctx, d, points, DECODE_POINTS) !=
	    LXB_STATUS_OK || lxb_encoding_decode_replace_set(&ctx,
	    &replacement, 1) != LXB_STATUS_OK)
		return;
	while (s.n > 0) {
		const lxb_char_t *at = chars(s);
		const lxb_char_t *end = at + MIN(s.n, DECODE_POINTS / 2);
		lxb_status_t status = d->decode(&ctx, &at, end);
		put_points(out, points, lxb_encoding_decode_buf_used(&ctx));
		lxb_encoding_decode_buf_used_set(&ctx, 0);
		size_t n = (size_t)(at - chars(s));
		s = str_from(s, n);
		if (n == 0 && status != LXB_STATUS_SMALL_BUFFER)
			break;
	}
	(void)lxb_encoding_decode_finish(&ctx);
	put_points(out, points, lxb_encoding_decode_buf_used(&ctx));
}

/* The code point of a Shift_JIS pair, or ERROR. */
static lxb_codepoint_t
sjis_point(unsigned lead, unsigned byte)
{
	unsigned at = (lead - (lead < 0xa0 ? 0x81 : 0xc1)) * 188 + byte -
	    (byte < 0x7f ? 0x40 : 0x41);

	if (byte < 0x40 || byte == 0x7f || byte > 0xfc)
		return LXB_ENCODING_ERROR_CODEPOINT;
	if (at >= 8836 && at <= 10715)
		return 0xe000 - 8836 + at;
	return at < ARRAY_LEN(lxb_encoding_multi_jis0208_map) ?
	    lxb_encoding_multi_jis0208_map[at] : LXB_ENCODING_ERROR_CODEPOINT;
}

/*
 * Encoding standard, section 12.3.1.  lexbor 3.0's own decoder refuses the
 * leads 0xE1 to 0xFB, that is half of the kanji; its table is right.
 */
static void
decode_sjis(struct str s, struct buf *out)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned lead = (unsigned char)s.p[i], byte;
		lxb_codepoint_t cp = LXB_ENCODING_ERROR_CODEPOINT;
		if (lead <= 0x80) {
			cp = lead;
		} else if (lead >= 0xa1 && lead <= 0xdf) {
			cp = 0xff61 - 0xa1 + lead;
		} else if (lead != 0xa0 && lead < 0xfd && i + 1 < s.n) {
			byte = (unsigned char)s.p[i + 1];
			cp = sjis_point(lead, byte);
			/* An ASCII byte that does not belong stays itself. */
			i += cp != LXB_ENCODING_ERROR_CODEPOINT || byte >= 0x80;
		}
		if (cp == LXB_ENCODING_ERROR_CODEPOINT)
			cp = replacement;
		put_points(out, &cp, 1);
	}
}

struct str
charset_to_utf8(const char *name, struct str body, struct arena *a)
{
	const lxb_encoding_data_t *d;
	FREED(buf_free) struct buf out = BUF_INIT;

	body = skip_bom(name, body);
	if (strcmp(name, "UTF-8") == 0 || body.n == 0)
		return body;
	d = lxb_encoding_data_by_name(chars(str_of(name)), strlen(name));
	CHECK(d != NULL);
	buf_reserve(&out, body.n + body.n / 8);
	if (d->encoding == LXB_ENCODING_SHIFT_JIS)
		decode_sjis(body, &out);
	else
		decode(d, body, &out);
	return arena_copy(a, buf_str(&out));
}
