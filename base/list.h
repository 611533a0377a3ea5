/*
 * list -- an intrusive doubly linked ring.  The head is a node of its own.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/base.h"

struct list {
	struct list *prev, *next;
};

static inline void
list_init(struct list *l)
{
	l->prev = l->next = l;
}

static inline bool
list_empty(const struct list *l)
{
	return l->next == l;
}

/* Put `node` before `at`; with the head as `at` that is the tail. */
static inline void
list_put(struct list *at, struct list *node)
{
	node->prev = at->prev;
	node->next = at;
	at->prev->next = node;
	at->prev = node;
}

/* Take `node` out; it may be put again, or taken again without harm. */
static inline void
list_take(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* All of `from` goes behind what `to` has; `from` is empty then. */
static inline void
list_move_all(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

/* Take out the first; the list is not empty. */
static inline struct list *
list_pop(struct list *l)
{
	struct list *first = l->next;

	list_take(first);
	return first;
}

#define LIST_ITEM(node, type, member) CONTAINER(node, type, member)
/* The first item, taken out. */
#define LIST_POP(list, type, member) LIST_ITEM(list_pop(list), type, member)
/* A loop over all items, first to last; `item` must stay in the list.  At the
 * end it is none: its address alone is looked at. */
#define LIST_EACH(item, list, type, member)                                 \
	for (type *item = LIST_ITEM((list)->next, type, member);              \
	    (const char *)item + offsetof(type, member) !=                    \
	    (const char *)(list);                                             \
	    item = LIST_ITEM(item->member.next, type, member))

#endif
