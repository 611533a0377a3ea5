/*
 * What the engine tells its hooks, and when: hook.h.
 */
#include "engine/control/engine_own.h"
#include "engine/control/hook.h"
#include "os/log.h"

/* On the pool. */
static enum err
warc_closed(void *arg, const struct warc_closed *c, struct why *w)
{
	struct engine *e = arg;

	return hooks_put(e->hooks, HOOK_WARC_FINISHED, c->file, c->path, w);
}

/*
 * hook.crawl_ended is called when the crawl's end is committed and its last
 * WARC file has its name, and after the call for that file was made ready.
 */
struct crawl_files {
	unsigned closing;
	bool ended;
};

static void
warc_closing(void *arg, uint32_t crawl)
{
	struct engine *e = arg;
	struct crawl_files *f = map_get_id(&e->naming, crawl);

	if (f == NULL) {
		f = mem_new(sizeof(*f));
		map_put_id(&e->naming, crawl, f);
	}
	f->closing++;
}

static void
warc_finished(void *arg, uint32_t crawl, uint32_t file)
{
	struct engine *e = arg;
	struct crawl_files *f = map_get_id(&e->naming, crawl);

	if (file != 0)
		hooks_ready(e->hooks, HOOK_WARC_FINISHED, file);
	CHECK(f != NULL && f->closing > 0);
	if (--f->closing > 0)
		return;
	if (f->ended)
		hooks_ready(e->hooks, HOOK_CRAWL_ENDED, crawl);
	map_take_id(&e->naming, crawl);
	mem_free(&f);
}

/* False: it waits for its files. */
static bool
crawl_is_whole(struct engine *e, uint32_t crawl)
{
	struct crawl_files *f = map_get_id(&e->naming, crawl);

	if (f != NULL)
		f->ended = true;
	return f == NULL;
}

struct crawl_end {
	struct promise promise;
	struct engine *engine;
	uint32_t crawl;
};

static void
crawl_end_kept(struct promise *p, enum err err)
{
	struct crawl_end *c = CONTAINER(p, struct crawl_end, promise);

	if (err == OK && crawl_is_whole(c->engine, c->crawl))
		hooks_ready(c->engine->hooks, HOOK_CRAWL_ENDED, c->crawl);
	mem_free(&c);
}

static enum err
put_end(struct engine *e, uint32_t crawl, struct why *w)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", (unsigned)crawl);
	return hooks_put(e->hooks, HOOK_CRAWL_ENDED, crawl, str_of(text), w);
}

/*
 * The call is remembered as soon as the crawl writes: at its end the disk may
 * be full.  A start ignores it while the crawl has not ended.
 */
void
engine_hooks_expect(struct engine *e, uint32_t crawl)
{
	if (e->hooks != NULL && !hooks_has(e->hooks, HOOK_CRAWL_ENDED, crawl))
		(void)!put_end(e, crawl, NULL);
}

static void
crawl_ending(void *arg, uint32_t crawl)
{
	struct engine *e = arg;
	struct why w = WHY_INIT;
	struct log_text quoted;

	if (e->hooks == NULL)
		return;
	if (!hooks_has(e->hooks, HOOK_CRAWL_ENDED, crawl) &&
	    put_end(e, crawl, &w) != OK) {
		log_error("hook.lost", "crawl=%u why=%s", (unsigned)crawl,
		    log_quote(&quoted, str_of(w.text)));
		return;
	}
	struct crawl_end *c = mem_new(sizeof(*c));
	c->promise.kept = crawl_end_kept;
	c->engine = e;
	c->crawl = crawl;
	ledger_promise(frontier_ledger(e->frontier), &c->promise);
}

/* A crash may have come between hooks_put() and the commit. */
static bool
was_committed(void *arg, enum hook hook, uint32_t id)
{
	struct engine *e = arg;
	struct crawl_view v;

	if (hook == HOOK_WARC_FINISHED)
		return !ledger_warc_is_unfinished(
		    ledger_index(frontier_ledger(e->frontier)), id);
	if (frontier_view(e->frontier, id, &v) == OK &&
	    !crawl_state_is_ended(v.state))
		return false;
	return crawl_is_whole(e, id);
}

void
engine_hooks_options(struct engine *e, struct frontier_options *o)
{
	o->ending = crawl_ending;
	o->ledger.owners[WARC_OF_CRAWL] = (struct warc_owner){ warc_closing,
	    warc_closed, warc_finished, e };
}

enum err
engine_hooks_open(struct engine *e, struct why *w)
{
	struct ledger *l = frontier_ledger(e->frontier);

	return e->options.no_threads ? OK : hooks_open(e->options.conf,
	    ledger_paths(l)->home, was_committed, e, &e->hooks, w);
}

bool
engine_has_hooks(const struct engine *e)
{
	return e->hooks != NULL;
}

void
engine_hooks_free(struct engine *e)
{
	hooks_free(&e->hooks);
	MAP_EACH(v, &e->naming, void)
		mem_free(&v);
	map_free(&e->naming);
}
