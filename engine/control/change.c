#include "engine/control/change.h"

#include "engine/control/engine_own.h"

/* --- one after the other ------------------------------------------------- */

/* The first one for the crawl: it goes, and the others wait for it. */
static struct change *
first_of(const struct engine *e, uint32_t crawl)
{
	LIST_EACH(c, &e->changes, struct change, node) {
		if (c->crawl == crawl)
			return c;
	}
	return NULL;
}

struct change *
change_of(struct request *r)
{
	return CONTAINER(r, struct change, request);
}

int
change_turn(struct request *r)
{
	struct change *c = change_of(r);
	struct engine *e = c->engine;

	if (list_empty(&c->node))
		list_put(&e->changes, &c->node);
	if (first_of(e, c->crawl) != c)
		return REQUEST_WAIT;
	c->going = true;
	c->rules = crawl_runtime_rules(e->crawls, c->crawl);
	if (!c->preview &&
	    ledger_health(frontier_ledger(e->frontier)) == LEDGER_DISK_FULL) {
		why(&r->why, ERR_DISK_FULL, "the disk is full");
		return c->end;
	}
	return c->begin;
}

int
change_end(struct request *r)
{
	struct change *c = change_of(r);

	list_take(&c->node);
	if (c->rules != NULL)
		crawl_runtime_leave(c->engine->crawls, c->crawl);
	struct change *next = first_of(c->engine, c->crawl);
	/* Its first step found another one before it. */
	if (next != NULL && !next->going)
		request_resume(&next->request, next->request.step);
	return request_next(r);
}

/* --- the frontier's part ------------------------------------------------- */

static void
frontier_done(struct crawl_change *a)
{
	struct change *c = CONTAINER(a, struct change, in_frontier);

	if (a->why.err != OK)
		why(&c->request.why, a->why.err, "%s", a->why.text);
	request_resume(&c->request, c->next);
}

int
change_in_frontier(struct change *c, enum change_verb verb, int next)
{
	struct crawl_change *a = &c->in_frontier;

	c->next = next;
	a->verb = verb;
	a->crawl = c->crawl;
	a->excludes = crawl_excludes;
	a->done = frontier_done;
	change_run(c->engine->frontier, a);
	return REQUEST_WAIT;
}

/* --- life ---------------------------------------------------------------- */

struct change *
change_new(struct engine *e, uint32_t crawl, void *asked, int begin, int end,
    void (*done)(struct request *))
{
	struct change *c = mem_new(sizeof(*c));

	c->engine = e;
	c->crawl = crawl;
	c->asked = asked;
	c->begin = begin;
	c->end = end;
	c->in_frontier.stop = &e->ending;
	list_init(&c->node);
	c->request.done = done;
	return c;
}

void
change_start(struct change *c, const struct request_step *steps)
{
	request_start(&c->request, &c->engine->places, steps, 0);
}

void
change_free(struct change *c)
{
	list_take(&c->node);
	rules_free(&c->with_pattern);
	arena_free(&c->in_frontier.arena);
	mem_free(&c);
}

void
changes_resume(struct engine *e)
{
	size_t at = 0;
	uint32_t crawl;

	while (crawl_runtime_next_interrupted(e->crawls, &at, &crawl))
		exclude_resume(e, crawl);
}

void
changes_free(struct engine *e)
{
	while (!list_empty(&e->changes)) {
		struct change *c = LIST_ITEM(e->changes.next, struct change,
		    node);
		request_drop(&c->request);
		change_free(c);
	}
}
