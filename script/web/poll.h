/*
 * poll -- long loops ask now and then whether to stop.
 *
 * Thread: the runtime's.
 */
#ifndef SCRIPT_WEB_POLL_H
#define SCRIPT_WEB_POLL_H

#include "base/base.h"

/* One question per so many steps. */
#define POLL_STEPS 4096u

struct poll {
	bool (*interrupted)(void *);  /* may be NULL: never */
	void *opaque;
	unsigned steps;
	bool stopped;                 /* it was; stays so until cleared */
};

/* Ask at once. */
static inline bool
poll_ask(struct poll *p)
{
	if (!p->stopped && p->interrupted != NULL)
		p->stopped = p->interrupted(p->opaque);
	return p->stopped;
}

/* Whether to stop; one comparison but for every POLL_STEPS calls. */
static inline bool
poll_step(struct poll *p)
{
	if (++p->steps < POLL_STEPS)
		return p->stopped;
	p->steps = 0;
	return poll_ask(p);
}

#endif
