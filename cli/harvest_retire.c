/*
 * argiope harvest retire -- removes from the broker what a daemon that will not
 * come back has left there: its queue of stops, which would fill for ever.
 */
#include "cli/broker_visit.h"
#include "cli/verbs.h"

#define QUEUE "argiope_stop_"

const struct option_verb harvest_retire_verb = {
	"harvest retire", "INSTANCE", 1, 1,
	"Delete the queue of stops of a daemon that will not come back",
	"INSTANCE is what its harvest.instance was.  The broker is that of "
	"harvest.url.  What the daemon has not finished stays as it is; its "
	"data directory, served again under another name, goes on with it.\n"
	"Exit code: 0; 66 the broker has no such queue; 69 the broker is not "
	"reached; 75 the daemon runs.",
	verbs_plain, ARRAY_LEN(verbs_plain)
};

struct retiring {
	struct broker_visit visit;
	struct broker_question question;
};

static void
answered(struct broker_question *q)
{
	struct retiring *r = CONTAINER(q, struct retiring, question);

	if (r->visit.why.err == OK)
		r->visit.why = q->why;
	broker_visit_end(&r->visit);
}

static void
begin_visit(struct broker_visit *v)
{
	struct retiring *r = CONTAINER(v, struct retiring, visit);

	r->question.done = answered;
	broker_delete_queue(v->broker, &r->question);
}

enum err
harvest_retire_run(struct cli *c, struct why *w)
{
	struct retiring r = { .visit = { .begin = begin_visit,
	    .why = WHY_INIT } };

	enum err e = cli_begin(c, w);
	if (e != OK)
		return e;
	r.question.queue = arena_printf(&c->arena, QUEUE "%s",
	    c->options.operands[0]);
	return broker_visit_run(c, &r.visit, w);
}
