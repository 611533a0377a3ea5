/* A crawl that has ended is deleted; its WARC files stay. */
#include "engine/catalog/crawl_registry.h"
#include "engine/control/change.h"
#include "engine/control/engine_own.h"

#define DELETE_STEPS(X)                                                      \
	X(TURN, AT_LEDGER, change_turn, "one change of a crawl at a time")   \
	X(DELETE, AT_LEDGER, delete_records, "its records, then its URLs")   \
	X(END, AT_LEDGER, change_end, "the crawl's next change begins")      \
	X(ANSWER, AT_PUBLISHED, request_end, "behind the events of it")
enum { DELETE_STEPS(REQUEST_ENUM) };

static int
delete_records(struct request *r)
{
	return change_in_frontier(change_of(r), CHANGE_DELETE, END);
}

static void
delete_done(struct request *r)
{
	struct change *c = change_of(r);
	struct delete_request *q = c->asked;
	struct crawl_registry *registry = c->engine->registry;

	q->why = r->why;
	if (r->why.err == OK && registry != NULL) {
		crawl_registry_delete(registry, c->crawl);
		crawl_registry_notify(registry);
	}
	change_free(c);
	q->done(q);
}

static const struct request_step delete_steps[] = { DELETE_STEPS(REQUEST_ROW) };

void
crawl_delete(struct engine *e, struct delete_request *q)
{
	change_start(change_new(e, q->crawl, q, DELETE, END, delete_done),
	    delete_steps);
}
