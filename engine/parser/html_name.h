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

/*
 * The number of an element's name; letters have no case, and NUL counts as
 * U+FFFD.  From `name.p` on, `room` bytes may be read.
 */
uintptr_t html_tag_of(const struct html_names *, struct str name, size_t room);
/* The attribute of that name; ATTR_COUNT: none that counts. */
enum html_attr html_attr_of(const struct html_names *, struct str name,
    size_t room);

#endif
