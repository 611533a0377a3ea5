/*
 * Calls without an archive are made in crawls of the kind `tasks`, which have
 * no captures: one for calls by budgets, one for calls that are made as a crawl
 * makes them.  Each begins with the first run that wants it, and is the same
 * after a restart.  When an operator has ended it another one begins.
 */
#include "engine/catalog/crawl_registry.h"
#include "engine/harvest/document_own.h"

#define NAME "external"
/* As harvests have them. */
#define POLICY "{\"rate_limit\":0,\"robots\":\"ignore\"}"
#define CRAWL_POLICY "{}"
#define CRAWLS_MAX 1000u

static bool
is_over(const struct document_crawl *c)
{
	const struct crawl_row *row = crawl_row(engine_registry(
	    c->all->engine), c->id);

	return row == NULL || crawl_row_is_over(row);
}

static void
tell_waiting(struct document_crawl *c, const struct why *w)
{
	struct list waiting;

	list_init(&waiting);
	list_move_all(&waiting, &c->waiting);
	while (!list_empty(&waiting)) {
		struct document_wait *x = LIST_POP(&waiting,
		    struct document_wait, node);
		x->done(x, c->id, w);
	}
}

static void launch_crawl(struct document_crawl *);

static void
launched(struct launch *l)
{
	struct document_crawl *c = l->arg;

	c->launching = false;
	c->id = l->crawl;
	/* An operator has ended the one with that key. */
	if (l->why.err == OK && is_over(c) && ++c->number < CRAWLS_MAX) {
		launch_crawl(c);
		return;
	}
	c->begun = l->why.err == OK;
	tell_waiting(c, &l->why);
}

static void
launch_crawl(struct document_crawl *c)
{
	arena_reset(&c->arena);
	c->launching = true;
	c->launch = (struct launch){ .spec.kind = CRAWL_TASKS,
	    .spec.name = STR(NAME), .spec.policy = c->as_crawl ?
	    STR(CRAWL_POLICY) : STR(POLICY),
	    .spec.key = arena_printf(&c->arena, NAME " %s %u", c->as_crawl ?
	    "polite" : "budgets", c->number),
	    .done = launched, .arg = c };
	crawl_launch(c->all->engine, &c->launch);
}

void
document_crawl_want(struct document_crawl *c, struct document_wait *x)
{
	list_put(&c->waiting, &x->node);
	if (c->launching)
		return;
	if (c->begun && !is_over(c))
		tell_waiting(c, &WHY_INIT);
	else
		launch_crawl(c);
}

void
document_crawl_init(struct document_crawl *c, struct documents *all,
    bool as_crawl)
{
	*c = (struct document_crawl){ .all = all, .as_crawl = as_crawl };
	list_init(&c->waiting);
}

void
document_crawl_free(struct document_crawl *c)
{
	arena_free(&c->arena);
}
