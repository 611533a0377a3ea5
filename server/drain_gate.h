/*
 * drain_gate -- counts what is under way, and says when the last of it is back.
 *
 *     drain_gate_enter()  work begins that must end before its owner may go
 *     drain_gate_leave()  it has ended
 *     drain_gate_close()  nothing more begins by itself: call `drained` once
 *                         the count is 0, perhaps at once
 *
 * Work that is under way may enter further work while the gate is closed.
 *
 * Owns:    nothing; zeroed at first.
 * Thread:  its owner's.
 */
#ifndef SERVER_DRAIN_GATE_H
#define SERVER_DRAIN_GATE_H

#include "base/base.h"

struct drain_gate {
	unsigned under_way;
	bool closed;
	void (*drained)(void *arg);  /* NULL: not closed, or was called */
	void *arg;
};

static inline void
drain_gate_enter(struct drain_gate *g)
{
	g->under_way++;
}

/* `drained` may free the gate's owner. */
static inline void
drain_gate_leave(struct drain_gate *g)
{
	void (*drained)(void *arg) = g->drained;

	CHECK(g->under_way > 0);
	if (--g->under_way > 0 || drained == NULL)
		return;
	g->drained = NULL;
	drained(g->arg);
}

static inline void
drain_gate_close(struct drain_gate *g, void (*drained)(void *arg), void *arg)
{
	CHECK(!g->closed);
	g->closed = true;
	g->drained = drained;
	g->arg = arg;
	drain_gate_enter(g);
	drain_gate_leave(g);
}

#endif
