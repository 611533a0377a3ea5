/* Names of states and exceptions, and the views that observers are told. */
#include "engine/frontier/crawl.h"
#include "engine/frontier/crawl_view.h"

#define NAME(name, word) word,
static const char *const kind_names[] = { CRAWL_KINDS(NAME) };
static const char *const state_names[] = { CRAWL_STATES(NAME) };
static const char *const exception_names[] = { EXCEPTIONS(NAME) };
#undef NAME

const char *
crawl_kind_name(enum crawl_kind k)
{
	return k < CRAWL_KIND_COUNT ? kind_names[k] : "unknown";
}

bool
crawl_kind_parse(struct str name, enum crawl_kind *k)
{
	unsigned i = 0;

	while (i < CRAWL_KIND_COUNT && !str_eq(name, str_of(kind_names[i])))
		i++;
	*k = (enum crawl_kind)i;
	return i < CRAWL_KIND_COUNT;
}

const char *
crawl_state_name(enum crawl_state s)
{
	CHECK(s < CRAWL_STATE_COUNT);
	return state_names[s];
}

void
crawl_reason_put(struct str reason, struct buf *b)
{
	bool actor = str_eq(reason, STR(CRAWL_BY_CLIENT)) ||
	    str_eq(reason, STR(CRAWL_BY_RESUME));

	if (reason.n > 0)
		buf_printf(b, "%s%.*s", actor ? " " : ": ", STR_FMT(reason));
}

const char *
exception_name(enum exception e)
{
	CHECK(e < EXCEPTION_COUNT);
	return exception_names[e];
}

uint64_t
crawl_exceptions(const struct crawl_counts *c)
{
	uint64_t n = 0;

	for (int i = 0; i < EXCEPTION_COUNT; i++)
		n += c->exceptions[i];
	return n;
}

uint64_t
crawl_skips(const struct crawl_counts *c)
{
	uint64_t n = 0;

	for (int i = 1; i < SKIP_COUNT; i++)
		n += c->skips[i];
	return n;
}

/* --- telling observers -------------------------------------------------- */

/* A view on its way to the observer: told when its group is durable. */
struct promised_view {
	struct promise promise;
	struct list node;            /* in frontier.views */
	struct frontier *frontier;
	struct crawl_view view;
};

static void
view_kept(struct promise *p, enum err e)
{
	struct promised_view *t = CONTAINER(p, struct promised_view, promise);

	if (e == OK)
		t->frontier->options.viewed(t->frontier->options.arg,
		    &t->view);
	list_take(&t->node);
	mem_free(&t);
}

void
crawl_forget_views(struct frontier *f)
{
	while (!list_empty(&f->views)) {
		struct promised_view *t = LIST_POP(&f->views,
		    struct promised_view, node);
		mem_free(&t);
	}
}

void
crawl_promise_view(struct crawl *c)
{
	if (c->frontier->options.viewed == NULL)
		return;
	struct promised_view *t = mem_new(sizeof(*t));
	t->frontier = c->frontier;
	t->view = c->view;
	t->promise.kept = view_kept;
	list_put(&c->frontier->views, &t->node);
	ledger_promise(c->frontier->ledger, &t->promise);
}
