#include "engine/harvest/document_crawl.h"

#include "engine/catalog/crawl_registry.h"
#include "engine/connector/connector.h"
#include "engine/control/control.h"

/* Crawls of one key, one after the other. */
#define CRAWLS_MAX 1000u

struct document_crawl {
	struct list node, *all;
	struct document_crawl_options options;
	struct arena texts;          /* of the options */
	bool begun, launching;
	/* document_crawl_leave() was called while it was launched. */
	bool left, completes;
	/* It is about to be complete: no other run can go on with it. */
	bool ending;
	struct crawl_order order;
	uint32_t id;
	unsigned number;             /* of those before that have ended */
	struct list waiting;         /* struct document_wait */
	struct launch launch;
	struct arena arena;          /* of the launch */
};

static void
free_crawl(struct document_crawl *c)
{
	list_take(&c->node);
	arena_free(&c->texts);
	arena_free(&c->arena);
	mem_free(&c);
}

/* ---- The end ------------------------------------------------------------ */

/* Whether it has ended, or is about to: another run of the key left it. */
static bool
is_over(const struct document_crawl *c)
{
	LIST_EACH(x, c->all, struct document_crawl, node)
		if (x->ending && x->id == c->id)
			return true;
	return crawl_row_is_over(crawl_row(engine_registry(
	    c->options.engine), c->id));
}

static void
free_completed(struct crawl_order *o)
{
	free_crawl(CONTAINER(o, struct document_crawl, order));
}

static void
complete_and_free(struct document_crawl *c)
{
	struct engine *e = c->options.engine;

	if (!c->completes || !c->begun || engine_is_closing(e) ||
	    is_over(c)) {
		free_crawl(c);
		return;
	}
	c->ending = true;
	c->order = (struct crawl_order){ .crawl = c->id,
	    .want = CRAWL_COMPLETE, .reason = "", .done = free_completed };
	crawl_set_state(e, &c->order);
}

void
document_crawl_leave(struct document_crawl **cp, bool completes)
{
	struct document_crawl *c = *cp;

	*cp = NULL;
	if (c == NULL)
		return;
	c->left = true;
	c->completes = completes;
	if (!c->launching)
		complete_and_free(c);
}

void
document_crawls_free(struct list *all)
{
	while (!list_empty(all))
		free_crawl(CONTAINER(all->next, struct document_crawl, node));
}

static void
order_done(struct crawl_order *o)
{
	mem_free(&o);
}

static void
complete_crawl(struct engine *e, uint32_t crawl)
{
	struct crawl_order *o = mem_new(sizeof(*o));

	*o = (struct crawl_order){ .crawl = crawl, .want = CRAWL_COMPLETE,
	    .reason = "", .done = order_done };
	crawl_set_state(e, o);
}

void
document_crawls_complete_left(struct engine *e,
    bool (*is_used)(void *arg, struct str name), void *arg)
{
	const struct crawl_registry *all = engine_registry(e);

	for (struct crawl_row *r = crawl_registry_below(all, UINT32_MAX);
	    r != NULL; r = crawl_registry_below(all, r->id))
		if (r->view.kind == CRAWL_TASKS && !crawl_row_is_over(r) &&
		    str_starts(r->name, STR(DOCUMENT_ARCHIVE_PREFIX)) &&
		    !is_used(arg, r->name))
			complete_crawl(e, r->id);
}

/* ---- The beginning ------------------------------------------------------ */

static void
tell_waiting(struct document_crawl *c, struct why w)
{
	struct list waiting;
	uint32_t id = c->id;

	list_init(&waiting);
	list_move_all(&waiting, &c->waiting);
	while (!list_empty(&waiting)) {
		struct document_wait *x = LIST_POP(&waiting,
		    struct document_wait, node);
		/* The last one may leave the crawl, which is freed then. */
		x->done(x, id, &w);
	}
}

static void launch_crawl(struct document_crawl *);

static void
launched(struct launch *l)
{
	struct document_crawl *c = l->arg;

	c->launching = false;
	c->id = l->crawl;
	if (l->why.err == OK && !c->left && is_over(c) &&
	    ++c->number < CRAWLS_MAX) {
		launch_crawl(c);
		return;
	}
	c->begun = l->why.err == OK;
	if (c->left)
		complete_and_free(c);
	else
		tell_waiting(c, l->why);
}

static void
launch_crawl(struct document_crawl *c)
{
	const struct document_crawl_options *o = &c->options;

	arena_reset(&c->arena);
	c->launching = true;
	c->launch = (struct launch){ .spec.kind = CRAWL_TASKS,
	    .spec.name = o->name, .spec.policy = o->policy,
	    .spec.tags = o->tags, .spec.tags_n = o->tags_n,
	    .spec.about = o->about,
	    .spec.about_uri = STR(CONNECTOR_DESCRIPTION_URI),
	    .spec.key = arena_printf(&c->arena, "%.*s %u", STR_FMT(o->key),
	    c->number), .done = launched, .arg = c };
	crawl_launch(o->engine, &c->launch);
}

void
document_crawl_want(struct document_crawl *c, struct document_wait *x)
{
	list_put(&c->waiting, &x->node);
	if (c->launching)
		return;
	if (c->begun && !is_over(c))
		tell_waiting(c, WHY_INIT);
	else
		launch_crawl(c);
}

struct document_crawl *
document_crawl_new(const struct document_crawl_options *o, struct list *all)
{
	struct document_crawl *c = mem_new(sizeof(*c));
	struct arena *a = &c->texts;

	c->options = (struct document_crawl_options){ .engine = o->engine,
	    .name = arena_copy(a, o->name), .key = arena_copy(a, o->key),
	    .tags = arena_copy_list(a, o->tags, o->tags_n),
	    .tags_n = o->tags_n, .policy = arena_copy(a, o->policy),
	    .about = arena_copy(a, o->about) };
	list_init(&c->waiting);
	c->all = all;
	list_put(all, &c->node);
	return c;
}

struct document_crawl *
document_crawl_of_archive(struct engine *e, const struct document_archive *x,
    const char *part, struct str policy, struct str about, struct list *all)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct document_crawl_options o = { .engine = e,
		.name = x->name, .key = arena_printf(&a, "%.*s %s",
		STR_FMT(x->key), part), .tags = x->tags,
		.tags_n = x->tags_n, .policy = policy, .about = about };

	return document_crawl_new(&o, all);
}

void
document_crawl_describe(uint32_t crawl, struct buf *out)
{
	buf_printf(out, "answers are archived in crawl %u", crawl);
}
