#include "engine/ledger/ledger_places.h"

/* Lies in the request's `hop`. */
struct read_hop {
	struct ledger_query query;
	struct index *index;
};
_Static_assert(sizeof(struct read_hop) <= sizeof((struct request){ 0 }.hop),
    "a read fits into a request");

static struct request *
request_of(void *hop)
{
	return CONTAINER(hop, struct request, hop);
}

static void
run_read(struct ledger_query *q, struct index *x)
{
	struct read_hop *h = CONTAINER(q, struct read_hop, query);
	struct request *r = request_of(h);

	h->index = x;
	r->step = request_step(r);
}

static void
read_done(struct ledger_query *q)
{
	struct request *r = request_of(CONTAINER(q, struct read_hop, query));

	request_leave(r, AT_MAIN, r->step);
}

void
ledger_enter_read(struct request *r, void *arg)
{
	struct read_hop *h = (void *)&r->hop;

	ledger_read(arg, &h->query, r->places->at[AT_MAIN].arg, run_read,
	    read_done);
}

void
ledger_enter_beside(struct request *r, void *arg)
{
	struct read_hop *h = (void *)&r->hop;

	ledger_read_beside(arg, &h->query, r->places->at[AT_MAIN].arg,
	    run_read, read_done);
}

struct index *
request_index(const struct request *r)
{
	CHECK(r->at == AT_READ || r->at == AT_BESIDE);
	return ((const struct read_hop *)(const void *)&r->hop)->index;
}

static void
kept(struct promise *p, enum err e)
{
	struct request *r = request_of(p);

	if (e != OK)
		why(&r->why, e, "%s", err_text(e));
	r->at = AT_LEDGER;
	request_run(r);
}

void
ledger_enter_durable(struct request *r, void *arg)
{
	struct promise *p = (void *)&r->hop;

	p->kept = kept;
	ledger_promise(arg, p);
}
