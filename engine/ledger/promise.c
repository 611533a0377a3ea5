/*
 * Promises of the gathering group.  Most are kept on the owner's loop; an
 * answer leaves from the sync thread, so that the asker need not wait until the
 * owner has woken up to send it.
 */
#include "engine/ledger/warc_set.h"

void
ledger_promise_written(struct ledger *l, struct promise *p)
{
	struct group *g = ledger_gathering(l);

	p->next = NULL;
	p->home = NULL;
	*g->last = p;
	g->last = &p->next;
	g->promises_n++;
}

void
ledger_promise(struct ledger *l, struct promise *p)
{
	ledger_promise_written(l, p);
	ledger_gathering(l)->durable_n++;
}

void
ledger_answer(struct ledger *l, struct promise *p, bool written,
    struct loop *home, struct mail *answer)
{
	(written ? ledger_promise_written : ledger_promise)(l, p);
	p->home = home;
	p->answer = answer;
}

struct promise *
group_take_answers(struct group *g)
{
	struct promise *first = NULL, **last = &first, **at = &g->first;

	while (*at != NULL) {
		struct promise *p = *at;
		if (p->home == NULL) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		p->next = NULL;
		*last = p;
		last = &p->next;
	}
	g->last = at;
	return first;
}
