/*
 * document -- a parsed page as scripts see it: an array of nodes.
 *
 * Nodes stand in document order and are named by their index, so that the
 * inside of an element is the range from its own number to `end`, and its text
 * is one range of the document's text.  The only change that a document knows
 * is document_remove(), which takes a subtree out of its parent; numbers stay.
 *
 * Owns:    all nodes, names and texts, in the heap of a runtime.
 * Thread:  the runtime's.
 * Limits:  DOCUMENT_DEPTH_MAX, DOCUMENT_ATTRS_MAX.
 */
#ifndef SCRIPT_WEB_DOCUMENT_H
#define SCRIPT_WEB_DOCUMENT_H

#include "base/err.h"
#include "engine/parser/url.h"
#include "script/web/out.h"
#include "script/web/region.h"

/* Elements inside each other; what is deeper becomes its neighbour's. */
#define DOCUMENT_DEPTH_MAX 512u
/* Attributes of one tag; the rest is left out. */
#define DOCUMENT_ATTRS_MAX 512u
/* A link to no node: the document itself is nobody's child. */
#define NODE_NONE 0u

enum node_type {
	NODE_DOCUMENT, NODE_ELEMENT, NODE_TEXT, NODE_COMMENT, NODE_DOCTYPE,
	NODE_INSTRUCTION,
};

/* A name of the document: equal names are one. */
struct name {
	const struct name *lower;    /* the same in ASCII lower case */
	struct name *next;           /* of this bucket */
	uint32_t hash;
	uint32_t n;
	char p[];                    /* NUL behind it */
};

struct attr {
	const struct name *name;
	struct str value;
};

struct node {
	uint8_t type;
	bool removed;                /* taken out of its parent */
	uint32_t attrs_n;
	uint32_t parent, first, last, prev, next;
	uint32_t end;                /* the last node inside, or itself */
	uint32_t text, text_end;     /* of the document's text */
	const struct name *name;     /* of an element */
	union {
		struct attr *attrs;
		struct str content;  /* of a comment and its like */
	};
	void *wrapper;               /* the JavaScript object, while it lives */
};

struct selector;
struct css;                          /* selector.h */
struct selector_slot {
	struct selector *selector;
	uint64_t used;
};
#define DOCUMENT_SELECTORS 32u

struct document {
	JSRuntime *rt;
	unsigned refs;
	bool xml;
	bool changed;                /* something was removed */
	bool full;                   /* the heap's limit was met */
	struct node *nodes;
	uint32_t n, cap;
	struct region region;
	struct out text;
	struct name **names;
	uint32_t names_n, names_cap;
	const struct name *id, *class;
	/* While it is built. */
	uint32_t open, depth;
	/* Compiled selectors, the least recently used one goes first. */
	struct selector_slot selectors[DOCUMENT_SELECTORS];
	uint64_t selectors_used;
	struct arena url_arena;
	struct url url, base;
	bool has_url, has_base;
};

/* With one reference; NULL when the heap's limit is met. */
struct document *document_new(JSRuntime *, bool xml);
struct document *document_hold(struct document *);
/* Empties the pointer; the last reference frees the document. */
void document_drop(struct document **);

/*
 * Building, by a parser.  An element that would be too deep is not made, and
 * document_open() is false; its close must then be left out, too.  When the
 * heap's limit is met `full` is set, and the parser gives up.
 */
bool document_open(struct document *, struct str name);
/* An attribute of the element that was opened last; the first of two counts. */
void document_attr(struct document *, struct str name, struct str value);
void document_close(struct document *);
/* Text joins the text before it. */
void document_text(struct document *, struct str);
/* A comment, doctype or processing instruction. */
void document_other(struct document *, enum node_type, struct str content);
void document_finish(struct document *);

/* The document's name of this text, or NULL when nothing is named so. */
const struct name *document_name(const struct document *, struct str);
/* The value of an attribute; p is NULL when there is none. */
struct str document_attr_of(const struct document *, uint32_t node,
    const struct name *);
struct str document_attr_text(const struct document *, uint32_t node,
    const char *name);

/*
 * The next node inside `root` after `at`, in document order, without what was
 * removed; NODE_NONE at the end.  Start with `root` itself.
 */
uint32_t document_next(const struct document *, uint32_t root, uint32_t at);
/* The next or previous sibling, first child, parent that is an element. */
uint32_t document_next_element(const struct document *, uint32_t);
uint32_t document_prev_element(const struct document *, uint32_t);
uint32_t document_first_element(const struct document *, uint32_t);
uint32_t document_parent_element(const struct document *, uint32_t);

/*
 * The text inside a node.  It borrows from the document, or from `room` where
 * something was removed.  p is NULL when the heap's limit is met.
 */
struct str document_text_of(const struct document *, uint32_t,
    struct out *room);

/* Every invariant of the links between nodes; aborts. */
void document_check(const struct document *);

/* Take a node out of its parent, with all that is inside; not the document. */
void document_remove(struct document *, uint32_t);

/*
 * The address that relative ones are resolved against: that of the first <base
 * href>, or the page's.  NULL when the document has none.
 */
const struct url *document_base(struct document *);

static inline bool
node_is_element(const struct document *d, uint32_t n)
{
	return d->nodes[n].type == NODE_ELEMENT;
}

static inline struct str
name_text(const struct name *n)
{
	return (struct str){ n->p, n->n };
}

static inline bool
name_is(const struct name *name, struct str text)
{
	return str_eq(name_text(name), text);
}

#endif
