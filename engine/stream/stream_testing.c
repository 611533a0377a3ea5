#include "engine/stream/stream_testing.h"

struct handoff_pool rig_handoffs;
static stream_render_fn *render;
static size_t cache_bytes;

/* --- the rig's life ----------------------------------------------------- */

static void
open_stream(struct rig *r)
{
	r->stream = stream_new(&(struct stream_options){ .home = r->loop,
	    .tasks = catalog_tasks(r->catalog), .registry = r->registry,
	    .handoffs = &rig_handoffs, .cache_bytes = cache_bytes }, RIG_MARK);
	stream_use(r->stream, render);
}

static void
close_stream(struct rig *r)
{
	stream_close(r->stream);
}

static void
free_stream(struct rig *r)
{
	stream_free(&r->stream);
	handoff_rest(&rig_handoffs);
}

void
stream_rig_init(struct rig *r, stream_render_fn *fn, size_t bytes)
{
	rig_init(r);
	r->open_stream = open_stream;
	r->close_stream = close_stream;
	r->free_stream = free_stream;
	render = fn;
	cache_bytes = bytes;
}

/* --- wants -------------------------------------------------------------- */

static void
ready(struct stream_request *w)
{
	CONTAINER(w, struct rig_want, want)->told++;
}

void
rig_want(struct rig *r, struct rig_want *w, uint32_t crawl, uint64_t from,
    unsigned form)
{
	*w = (struct rig_want){ .want = { .crawl = crawl, .from = from,
	    .form = form, .ready = ready } };
	w->told = stream_request(r->stream, &w->want);
}

struct str
rig_text(struct rig *r, uint64_t number, unsigned form)
{
	struct rig_want w;

	rig_want(r, &w, RIG_CRAWL, number, form);
	rig_run(r);
	assert_int_equal(w.told, 1);
	assert_non_null(w.want.batch);
	const struct stream_item *i = &w.want.batch->items[w.want.at];
	assert_int_equal(i->number, number);
	struct str text = arena_copy(&r->arena, i->text);
	stream_give_back(r->stream, &w.want.batch);
	assert_null(w.want.batch);
	return text;
}

void
rig_expect(struct rig *r, uint64_t number, unsigned form, const char *text)
{
	struct str is = rig_text(r, number, form);

	if (!str_eq(is, str_of(text)))
		fail_msg("item %llu is %.*s, not %s",
		    (unsigned long long)number, STR_FMT(is), text);
}
