/*
 * Scans: whose piece of a listing, a count or a purge is read next.
 *
 *     outside_scan() ─► waits ─► turn ─► outside_list_piece() ─► answer
 *                         │
 *                         └─ cancelled: answered without a look
 *
 * One piece is read at a time, so that other reads wait for one piece at most,
 * however many listings there are.  A count reads to its end whether its caller
 * is there or not, and an open walk holds a snapshot of the index; so only a
 * few counts are open at once.  Those that wait keep nothing but their request.
 *
 * Three lists take turns: pieces of what is open, listings that are new, and
 * counts that are new.  None of them waits for all of another.
 */
#include "engine/frontier/outside_own.h"

void
outside_scan_open(struct outside *o)
{
	for (size_t i = 0; i < SCAN_WAITS; i++)
		list_init(&o->scans[i]);
}

static uint64_t
counts_max(const struct outside *o)
{
	unsigned n = o->frontier->options.outside_counts_max;

	return n == 0 ? OUTSIDE_COUNTS_MAX : n;
}

static struct outside_list *
take_first(struct outside *o, unsigned which)
{
	struct outside_list *l = LIST_ITEM(o->scans[which].next,
	    struct outside_list, scan_node);

	list_take(&l->scan_node);
	o->scans_new -= which != SCAN_NEXT;
	return l;
}

/* The first that somebody waits for, if it may begin; NULL: there is none. */
static struct outside_list *
next_of(struct outside *o, unsigned which)
{
	while (!list_empty(&o->scans[which])) {
		struct outside_list *l = LIST_ITEM(o->scans[which].next,
		    struct outside_list, scan_node);
		bool cancelled = outside_is_cancelled(&l->call);
		if (!cancelled && which == SCAN_COUNT &&
		    o->counts >= counts_max(o))
			return NULL;
		take_first(o, which);
		if (!cancelled)
			return l;
		outside_list_end(l);
	}
	return NULL;
}

static struct outside_list *
next_scan(struct outside *o)
{
	struct outside_list *l = NULL;

	for (unsigned i = 0; i < SCAN_WAITS && l == NULL; i++) {
		l = next_of(o, o->scan_turn);
		o->scan_turn = (o->scan_turn + 1) % SCAN_WAITS;
	}
	return l;
}

void
outside_scan_next(struct outside *o)
{
	struct outside_list *l;

	while (!o->scanning && (l = next_scan(o)) != NULL)
		o->scanning = outside_list_piece(l);
}

void
outside_scan(struct outside_list *l)
{
	struct outside *o = l->call.frontier->outside;
	bool count = l->kind == OUTSIDE_COUNT_URLS ||
	    l->kind == OUTSIDE_PURGE_URLS;
	unsigned which = l->walk != NULL ? SCAN_NEXT :
	    count ? SCAN_COUNT : SCAN_LISTING;

	list_put(&o->scans[which], &l->scan_node);
	o->scans_new += which != SCAN_NEXT;
	outside_scan_next(o);
}

void
outside_scan_done(struct outside *o)
{
	o->scanning = false;
	outside_scan_next(o);
}
