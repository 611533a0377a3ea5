/*
 * Scans: whose piece of a listing, a count or a purge is read next.
 *
 *     lease_scan() ─► waits ─► turn ─► lease_list_piece() ─► answer
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
#include "engine/frontier/lease_crawl.h"

/* The first that somebody waits for, if it may begin; NULL: there is none. */
static struct lease_list *
next_of(struct lease_service *o, unsigned which)
{
	while (!list_empty(&o->scans[which])) {
		struct lease_list *l = LIST_ITEM(o->scans[which].next,
		    struct lease_list, scan_node);
		bool cancelled = lease_is_cancelled(&l->call);
		if (!cancelled && which == SCAN_COUNT &&
		    o->counts >= o->frontier->options.lease_counts_max)
			return NULL;
		list_take(&l->scan_node);
		o->scans_new -= which != SCAN_NEXT;
		if (!cancelled)
			return l;
		lease_list_end(l);
	}
	return NULL;
}

static struct lease_list *
next_scan(struct lease_service *o)
{
	struct lease_list *l = NULL;

	for (unsigned i = 0; i < SCAN_WAITS && l == NULL; i++) {
		l = next_of(o, o->scan_turn);
		o->scan_turn = (o->scan_turn + 1) % SCAN_WAITS;
	}
	return l;
}

void
lease_scan_next(struct lease_service *o)
{
	struct lease_list *l;

	while (!o->scanning && (l = next_scan(o)) != NULL)
		o->scanning = lease_list_piece(l);
}

void
lease_scan(struct lease_list *l)
{
	struct lease_service *o = l->call.frontier->leases;
	bool count = l->kind == LEASE_COUNT_URLS || l->kind == LEASE_PURGE_URLS;
	unsigned which = l->walk != NULL ? SCAN_NEXT :
	    count ? SCAN_COUNT : SCAN_LISTING;

	list_put(&o->scans[which], &l->scan_node);
	o->scans_new += which != SCAN_NEXT;
	lease_scan_next(o);
}
