/*
 * The ledger is held between two groups, for a copy of its directory.
 *
 *     asked ─► nothing moves ─► the sync thread is through ─► held()
 *     ledger_unhold() ─► groups are sealed again
 */
#include "engine/ledger/warc_set.h"

unsigned
hold_gathered_closings(struct ledger *l)
{
	const struct group *g = ledger_gathering(l);
	unsigned n = 0;

	for (size_t i = 0; i < g->writes_n; i++)
		n += g->writes[i].close;
	return n;
}

static void
tell_held(struct ledger *l, enum err e, const char *text)
{
	struct ledger_hold *h = ledger_hold_of(l)->asked;

	if (e != OK)
		(void)why(&h->why, e, "%s", text);
	h->group = ledger_applied(l);
	h->held(h);
}

static void
sync_thread_through(struct sync_ask *ask)
{
	struct hold *k = CONTAINER(ask, struct hold, ask);

	tell_held(k->ledger, ask->result.err, ask->result.text);
}

static void
consider_hold(struct ledger *l)
{
	enum ledger_health health = ledger_health(l);
	struct hold *k = ledger_hold_of(l);

	if (k->told)
		return;
	if (ledger_is_closing(l) || health != LEDGER_FINE) {
		k->told = true;
		tell_held(l, ledger_is_closing(l) ? ERR_CLOSED : health ==
		    LEDGER_DISK_FULL ? ERR_DISK_FULL : ERR_BROKEN,
		    ledger_is_closing(l) ? "the program stops" :
		    "the ledger cannot write");
		return;
	}
	if (!ledger_is_quiet(l))
		return;
	k->told = true;
	/* All that was sent to it before is done, releases of the log too. */
	k->ask = (struct sync_ask){ .home = ledger_loop(l),
	    .done = sync_thread_through };
	syncer_ask(ledger_syncer(l), &k->ask);
}

bool
hold_stops(struct ledger *l)
{
	if (ledger_hold_of(l)->asked == NULL)
		return false;
	consider_hold(l);
	return true;
}

void
ledger_hold(struct ledger *l, struct ledger_hold *h)
{
	struct hold *k = ledger_hold_of(l);

	CHECK(k->asked == NULL);
	h->why = WHY_INIT;
	*k = (struct hold){ .ledger = l, .asked = h };
	consider_hold(l);
}

void
ledger_unhold(struct ledger *l)
{
	struct hold *k = ledger_hold_of(l);

	CHECK(k->asked != NULL && k->told);
	k->asked = NULL;
	ledger_go_on(l);
}

static void
read_nothing(struct ledger_query *q, struct index *x)
{
	(void)q, (void)x;
}

void
ledger_barrier(struct ledger *l, struct ledger_query *q, struct loop *home,
    ledger_query_done *done)
{
	ledger_read(l, q, home, read_nothing, done);
}
