/*
 * html_name -- numbers for the names of elements and attributes.
 *
 * Elements have lexbor's numbers, so that tables can be indexed by them; a name
 * that lexbor does not know gets a number of its own, above all those.
 *
 * Thread: a table may be read by any number of threads.
 */
#ifndef ENGINE_PARSER_HTML_NAME_H
#define ENGINE_PARSER_HTML_NAME_H

#include <endian.h>

#include "base/bytes.h"

/* It needs the integer types. */
#include <lexbor/tag/const.h>

/* Attributes that a page's links and text depend on. */
#define HTML_ATTRS(X)                                                     \
	X(ACTION, "action") X(ARIA_HIDDEN, "aria-hidden") X(AS, "as")     \
	X(BACKGROUND, "background") X(CONTENT, "content")                 \
	X(DATA, "data") X(DATA_SRC, "data-src")                           \
	X(DATA_SRCSET, "data-srcset") X(DATETIME, "datetime")             \
	X(HIDDEN, "hidden") X(HREF, "href") X(HTTP_EQUIV, "http-equiv")   \
	X(IMAGESRCSET, "imagesrcset") X(ITEMPROP, "itemprop")             \
	X(LANG, "lang") X(METHOD, "method") X(NAME, "name")               \
	X(POSTER, "poster") X(PROPERTY, "property") X(REL, "rel")         \
	X(ROLE, "role") X(SRC, "src")                                     \
	X(SRCSET, "srcset") X(STYLE, "style") X(TYPE, "type")             \
	X(XLINK_HREF, "xlink:href")

enum html_attr {
#define HTML_ATTR_ENUM(name, text) ATTR_##name,
	HTML_ATTRS(HTML_ATTR_ENUM)
#undef HTML_ATTR_ENUM
	ATTR_COUNT
};

/* The element <use> of SVG, which lexbor does not know. */
#define HTML_TAG_USE ((uintptr_t)LXB_TAG__LAST_ENTRY)
/* Numbers of all other unknown names have this bit. */
#define HTML_TAG_OTHER ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1))

#define HTML_TAG_SLOTS 512u
#define HTML_ATTR_SLOTS 128u
#define HTML_NAME_HEAD 8u

/* A name: its first eight bytes in lower case, and all of it. */
struct html_name {
	uint64_t head;
	const char *text;      /* NULL: the slot is free */
	uint16_t n, number;
};

struct html_names {
	struct html_name tag[HTML_TAG_SLOTS];
	struct html_name attr[HTML_ATTR_SLOTS];
};

/* Fill both tables. */
void html_names_init(struct html_names *);
/* The number of a name that is in no table. */
uintptr_t html_tag_unknown(struct str name);
/* Whether a name that is longer than its head is that of a slot. */
bool html_name_same(const struct html_name *, struct str name);
/* The first eight bytes, or fewer, at the end of a page. */
uint64_t html_name_last(const char *p, size_t n);

/* Searches are here since a page makes one for each tag and attribute. */

static inline uint64_t
html_name_lower(uint64_t v)
{
	const uint64_t each = UINT64_C(0x0101010101010101);
	uint64_t low = v & 0x7f * each;
	uint64_t from_a = low + (0x80 - 'A') * each;
	uint64_t after_z = low + (0x80 - 'Z' - 1) * each;

	return v | (from_a & ~after_z & ~v & 0x80 * each) >> 2;
}

/* The first bytes of a name that is not empty. */
static inline uint64_t
html_name_head(struct str name, size_t room)
{
	uint64_t v;

	if (room < HTML_NAME_HEAD)
		v = html_name_last(name.p, MIN(name.n, HTML_NAME_HEAD));
	else
		memcpy(&v, name.p, HTML_NAME_HEAD);
	v = le64toh(v);
	if (name.n < HTML_NAME_HEAD)
		v &= ~(UINT64_MAX << 8 * name.n);
	return html_name_lower(v);
}

/* The name's slot, or the free one where it would be. */
static inline const struct html_name *
html_name_find(const struct html_name *slot, size_t slots, struct str name,
    size_t room)
{
	uint64_t head = html_name_head(name, room);
	size_t at = (size_t)(head * UINT64_C(0x9e3779b97f4a7c15) >> 40);

	for (;; at++) {
		const struct html_name *x = &slot[at & (slots - 1)];
		if (x->text == NULL || (x->head == head && x->n == name.n &&
		    (name.n <= HTML_NAME_HEAD || html_name_same(x, name))))
			return x;
	}
}

/*
 * The number of an element's name; letters have no case, and NUL counts as
 * U+FFFD.  From `name.p` on, `room` bytes may be read.
 */
static inline uintptr_t
html_tag_of(const struct html_names *names, struct str name, size_t room)
{
	const struct html_name *x = html_name_find(names->tag, HTML_TAG_SLOTS,
	    name, room);

	return x->text != NULL ? x->number : html_tag_unknown(name);
}

/* The attribute of that name; ATTR_COUNT: none that counts. */
static inline enum html_attr
html_attr_of(const struct html_names *names, struct str name, size_t room)
{
	const struct html_name *x = html_name_find(names->attr,
	    HTML_ATTR_SLOTS, name, room);

	return x->text != NULL ? (enum html_attr)x->number : ATTR_COUNT;
}

#endif
