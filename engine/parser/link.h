/*
 * link -- the links of one document, resolved, each once.
 *
 * Thread: one at a time.  Memory: the arena given, but for nothing else.
 * Limits: parse.links_max.
 */
#ifndef ENGINE_PARSER_LINK_H
#define ENGINE_PARSER_LINK_H

#include "engine/parser/url.h"

#define LINK_KINDS(X)                                                    \
	X(PAGE,      "page")       /* a person would follow it */        \
	X(EMBED,     "embed")      /* belongs to the page: image, style */ \
	X(REDIRECT,  "redirect")   /* meta refresh */                    \
	X(CANONICAL, "canonical")  /* <link rel=canonical> */            \
	X(FEED,      "feed")       /* RSS or Atom, by <link> or <a> */   \
	X(SITEMAP,   "sitemap")    /* named in a sitemap index */

enum link_kind {
#define LINK_ENUM(name, text) LINK_##name,
	LINK_KINDS(LINK_ENUM)
#undef LINK_ENUM
	LINK_KIND_COUNT
};

struct link {
	struct url url;        /* as written and resolved, not canonical */
	enum link_kind kind;
	bool nofollow;         /* rel=nofollow, ugc or sponsored: every time */
};

/*
 * Two links of one kind whose URLs differ in the fragment only are one.  The
 * slots hold index + 1 into `at`, and a part of the hash.
 */
struct link_set {
	struct arena *a;
	const struct url *page;   /* the document's own URL, or NULL */
	struct url base;          /* what links are relative to */
	bool has_base;            /* a <base href> was taken */
	struct link *at;
	size_t n, cap, max;
	struct link_slot *slots;
	size_t slots_cap;
	struct link_written *written; /* some, as the page has them */
	uint64_t seed;            /* so that a page cannot make slots collide */
	uint32_t schemes_dropped; /* mailto:, javascript:, data: ... */
	uint32_t bad;             /* not URLs */
	bool full;                /* one more than `max` was there */
};

/* `page` may be NULL: then only absolute links count. */
void link_set_init(struct link_set *, const struct url *page, size_t max,
    struct arena *a);

/* <base href>: the first one that is a URL counts, from here on. */
void link_set_base(struct link_set *, struct str href);

/*
 * Add the link `raw`, relative or absolute.  Not added: other schemes than http
 * and https, fragments of the page itself, what is no URL, and what stands
 * there already.  False when the set is full: stop looking.
 */
bool link_add(struct link_set *, struct str raw, enum link_kind,
    bool nofollow);

#endif
