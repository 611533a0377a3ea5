#include "doors/harvest/pace.h"

void
pace_init(struct pace *p, int64_t ms_min)
{
	*p = (struct pace){ .ms_min = ms_min };
	list_init(&p->waiting);
}

void
pace_turn_init(struct pace_turn *t)
{
	t->waits = false;
	list_init(&t->node);
}

void
pace_ask(struct pace *p, struct pace_turn *t)
{
	if (t->waits)
		return;
	t->waits = true;
	list_put(&p->waiting, &t->node);
}

void
pace_leave(struct pace_turn *t)
{
	if (t->waits)
		list_take(&t->node);
	t->waits = false;
}

struct pace_turn *
pace_next(struct pace *p, struct mono now, struct mono *again)
{
	*again = MONO_NEVER;
	if (list_empty(&p->waiting))
		return NULL;
	if (mono_before(now, p->next)) {
		*again = p->next;
		return NULL;
	}
	struct pace_turn *t = LIST_ITEM(p->waiting.next, struct pace_turn,
	    node);
	pace_leave(t);
	p->next = mono_add_ms(now, p->ms_min);
	return t;
}
