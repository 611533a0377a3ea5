#include "engine/parser/html_name.h"

#include <lexbor/tag/tag.h>

uint64_t
html_name_last(const char *p, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, p, n);
	return v;
}

bool
html_name_same(const struct html_name *x, struct str name)
{
	return str_eq_nocase(str_from(name, HTML_NAME_HEAD),
	    (struct str){ x->text + HTML_NAME_HEAD, x->n - HTML_NAME_HEAD });
}

static void
put_name(struct html_name *slot, size_t slots, struct str name, size_t number)
{
	size_t at = (size_t)(html_name_find(slot, slots, name, name.n) - slot);

	CHECK(slot[at].text == NULL);
	slot[at] = (struct html_name){ html_name_head(name, name.n), name.p,
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

/* Equal names have equal numbers: 64 bits of FNV-1a. */
uintptr_t
html_tag_unknown(struct str name)
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
