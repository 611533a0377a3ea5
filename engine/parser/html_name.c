#include "engine/parser/html_name.h"

#include <endian.h>
#include <lexbor/tag/tag.h>

#define ATTR_BYTES_MIN 2u
#define ATTR_BYTES_MAX 11u
#define HEAD_BYTES 8u

/* Eight bytes with their ASCII letters in lower case. */
static inline uint64_t
lower_bytes(uint64_t v)
{
	const uint64_t each = UINT64_C(0x0101010101010101);
	uint64_t low = v & 0x7f * each;
	uint64_t from_a = low + (0x80 - 'A') * each;
	uint64_t after_z = low + (0x80 - 'Z' - 1) * each;

	return v | (from_a & ~after_z & ~v & 0x80 * each) >> 2;
}

/* At the end of a page; apart, so that it costs the others no stack. */
__attribute__((noinline)) static uint64_t
load_last(const char *p, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, p, n);
	return v;
}

/* The first bytes of a name that is not empty. */
static inline uint64_t
head_of(struct str name, size_t room)
{
	uint64_t v;
	size_t n = MIN(name.n, HEAD_BYTES);

	if (room >= HEAD_BYTES)
		memcpy(&v, name.p, HEAD_BYTES);
	else
		v = load_last(name.p, n);
	return lower_bytes(le64toh(v) & UINT64_MAX >> (64 - 8 * n));
}

static inline size_t
slot_of(uint64_t head, size_t n, size_t slots)
{
	uint64_t h = (head ^ n) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(h >> 40) & (slots - 1);
}

static inline bool
is_name(const struct html_name *x, uint64_t head, struct str name)
{
	return x->head == head && x->n == name.n && (name.n <= HEAD_BYTES ||
	    str_eq_nocase(str_from(name, HEAD_BYTES),
	    (struct str){ x->text + HEAD_BYTES, x->n - HEAD_BYTES }));
}

/* The name's slot, or the free one where it would be. */
static inline const struct html_name *
find_name(const struct html_name *slot, size_t slots, struct str name,
    size_t room)
{
	uint64_t head = head_of(name, room);
	size_t at = slot_of(head, name.n, slots);

	while (slot[at].text != NULL && !is_name(&slot[at], head, name))
		at = (at + 1) & (slots - 1);
	return &slot[at];
}

static void
put_name(struct html_name *slot, size_t slots, struct str name, size_t number)
{
	size_t at = (size_t)(find_name(slot, slots, name, name.n) - slot);

	CHECK(slot[at].text == NULL);
	slot[at] = (struct html_name){ head_of(name, name.n), name.p,
	    (uint16_t)name.n, (uint16_t)number };
}

void
html_names_init(struct html_names *names)
{
	static const char *const attrs[] = {
#define HTML_ATTR_NAME(name, text) text,
		HTML_ATTRS(HTML_ATTR_NAME)
#undef HTML_ATTR_NAME
	};

	*names = (struct html_names){ .tag[0].n = 0 };
	/* A table that is full would never end a search. */
	CHECK(LXB_TAG__LAST_ENTRY < HTML_TAG_SLOTS * 3 / 4);
	for (size_t i = LXB_TAG__BEGIN; i < LXB_TAG__LAST_ENTRY; i++) {
		size_t n = 0;
		const char *name = (const char *)lxb_tag_name_by_id(i, &n);
		put_name(names->tag, HTML_TAG_SLOTS, (struct str){ name, n },
		    i);
	}
	put_name(names->tag, HTML_TAG_SLOTS, STR("use"), HTML_TAG_USE);
	for (size_t i = 0; i < ATTR_COUNT; i++)
		put_name(names->attr, HTML_ATTR_SLOTS, str_of(attrs[i]), i);
}

/* Equal names of unknown elements have equal numbers: 64 bits of FNV-1a. */
__attribute__((noinline)) static uintptr_t
hash_name(struct str name)
{
	const uint64_t prime = UINT64_C(0x100000001b3);
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < name.n; i++) {
		if (name.p[i] == '\0') {
			h = (h ^ 0xef) * prime;
			h = (h ^ 0xbf) * prime;
			h = (h ^ 0xbd) * prime;
		} else {
			h = (h ^ (unsigned char)ascii_lower(name.p[i])) *
			    prime;
		}
	}
	return (uintptr_t)h | HTML_TAG_OTHER;
}

uintptr_t
html_tag_of(const struct html_names *names, struct str name, size_t room)
{
	const struct html_name *x = find_name(names->tag, HTML_TAG_SLOTS, name,
	    room);

	return x->text != NULL ? x->number : hash_name(name);
}

enum html_attr
html_attr_of(const struct html_names *names, struct str name, size_t room)
{
	if (name.n < ATTR_BYTES_MIN || name.n > ATTR_BYTES_MAX)
		return ATTR_COUNT;
	const struct html_name *x = find_name(names->attr, HTML_ATTR_SLOTS,
	    name, room);
	return x->text != NULL ? (enum html_attr)x->number : ATTR_COUNT;
}
