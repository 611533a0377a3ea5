#include "engine/engine.h"

#include <errno.h>

#include "engine/catalog/catalog_open.h"
#include "engine/catalog/outsiders.h"
#include "engine/control/engine_own.h"
#include "engine/control/hook.h"
#include "engine/fetcher/address_clock.h"
#include "engine/ledger/identity.h"
#include "engine/ledger/ledger_places.h"
#include "engine/rebuild/rebuild.h"
#include "engine/rebuild/snapshot.h"
#include "engine/schedule/scheduler.h"
#include "engine/store/store_async.h"
#include "engine/stream/event_publisher.h"
#include "engine/stream/stream_open.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"
#include "os/system.h"

/* A foreground crawl's counters are for people. */
#define SMALL_VIEW_MS 50
#define IDLE_LOOK_MS 5
/* Events that have not reached home; more hold the fetching back. */
#define EVENTS_WAITING_MAX 4096
#define SMALL_MALLOC_ARENAS 2
/* --- what the frontier tells, on the ledger's loop ---------------------- */

/* Use the present state, not the view's: an older view must not undo it. */
void
engine_order_loops(struct engine *e, uint32_t crawl)
{
	struct crawl_view v;

	if (e->ending || frontier_view(e->frontier, crawl, &v) != OK)
		return;
	crawl_runtime_order(e->crawls, crawl,
	    v.state == CRAWL_RUNNING ? FETCH_RUN :
	    crawl_state_is_ended(v.state) ? FETCH_END : FETCH_PAUSE);
}

static void
loops_saw_end(void *arg, uint32_t crawl)
{
	struct engine *e = arg;

	crawl_runtime_end(e->crawls, crawl);
}

static void
forget_on_loop(void *arg, uint32_t crawl, size_t loop)
{
	struct engine *e = arg;

	fetcher_forget(e->fetchers[loop], crawl);
}

static void
loops_forgot(void *arg, uint32_t crawl)
{
	struct engine *e = arg;

	crawl_runtime_forget(e->crawls, crawl);
}

static void
viewed(void *arg, const struct crawl_view *view)
{
	struct engine *e = arg;

	engine_order_loops(e, view->id);
	event_publisher_view(e->publisher, view);
}

/* Take what the stream needs before the fetching loop reuses the page. */
static void
item_kept(void *arg, struct submission *s)
{
	struct engine *e = arg;
	struct handoff *x = s->fresh;

	if (s->place.file == 0)
		return;
	s->fresh = NULL;
	x->number = s->seq;
	x->file = s->place.file;
	x->offset = s->place.offset + s->parts[s->final_part].at;
	x->near_duplicate = s->near_duplicate;
	event_publisher_handoff(e->publisher, x);
}

/* At home. */
static void
handoff_came(void *arg, struct list *l)
{
	struct engine *e = arg;

	if (e->stream != NULL)
		stream_handoff(e->stream, l);
	handoff_free_list(l);
}

static void
show_view(void *arg, const struct crawl_view *view)
{
	struct engine *e = arg;

	if (e->registry != NULL)
		crawl_registry_show(e->registry, view);
	if (e->options.view != NULL)
		e->options.view(e->options.arg, view);
}

static void
views_shown(void *arg)
{
	struct engine *e = arg;

	if (e->registry != NULL)
		crawl_registry_notify(e->registry);
}

struct health_mail {
	struct mail mail;
	struct engine *engine;
	enum engine_health health;
	char text[400];
};
_Static_assert((int)ENGINE_FINE == LEDGER_FINE &&
    (int)ENGINE_DISK_FULL == LEDGER_DISK_FULL &&
    (int)ENGINE_FAILED == LEDGER_FAILED, "a ledger's health is the engine's");

static void
deliver_health(struct mail *m)
{
	struct health_mail *h = CONTAINER(m, struct health_mail, mail);

	if (h->engine->options.health != NULL)
		h->engine->options.health(h->engine->options.arg, h->health,
		    h->text);
	mem_free(&h);
}

static void
health_changed(void *arg, enum ledger_health health, const char *text)
{
	struct engine *e = arg;
	struct health_mail *h = mem_new(sizeof(*h));

	h->engine = e;
	h->health = (enum engine_health)health;
	snprintf(h->text, sizeof(h->text), "%s", text);
	loop_send(e->options.home, &h->mail, deliver_health);
}

static void
warcinfo(void *arg, uint32_t crawl, const char *filename, struct buf *out)
{
	struct engine *e = arg;

	crawl_runtime_warcinfo(e->crawls, crawl, filename, out);
	engine_hooks_expect(e, crawl);
}

/* --- opening ------------------------------------------------------------ */

static void
make_loops(struct engine *e)
{
	struct loop **loops = ARENA_ARRAY(&e->arena, struct loop *,
	    e->loops_n);

	for (unsigned i = 0; i < e->loops_n; i++) {
		loops[i] = e->options.no_threads ? e->ledger_loop :
		    loop_new("fetch");
		e->loops[i].engine = e;
		e->loops[i].loop = e->ports[i].loop = loops[i];
	}
	e->each_loop = (struct request_loops){ e->ledger_loop, loops,
	    e->loops_n };
}

static void
make_fetchers(struct engine *e)
{
	struct resolver_options ro = { .ttl_s_min = 1,
	    .ttl_s_max = conf_ms(e->options.conf, CONF_FETCH_DNS_TTL_S) / 1000,
	    .negative_s = 30, .cache_max = 100000, .timeout_ms = 5000 };

	for (unsigned i = 0; i < e->loops_n; i++) {
		struct engine_loop *l = &e->loops[i];
		struct fetcher_options fo = {
			.loop = l->loop, .frontier = e->frontier,
			.transport = engine_transport(e, l->loop),
			.resolver = resolver_new(l->loop, &ro),
			.settings = e->settings, .seen = e->seen,
			.fresh = &e->fresh, .uncommitted = &e->uncommitted,
			.all = e->fetchers,
			.all_n = e->loops_n, .host_shard = &e->host_shard,
			.address_clock = e->address_clock,
			.event = engine_url_event, .arg = l,
			.events_waiting = &e->events_waiting,
			.events_waiting_max = EVENTS_WAITING_MAX,
		};
		e->fetchers[i] = fetcher_new(&fo);
		fetcher_port(e->fetchers[i], &e->ports[i]);
	}
}

static void
make_token(struct engine *e)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	unsigned char random[8];

	clock_random(random, sizeof(random));
	for (int i = 0; i < 8; i++)
		e->token[i] = letters[random[i] % 36];
}

static enum err
open_frontier(struct engine *e, struct why *w)
{
	struct frontier_options o = engine_frontier_settings(e);

	o.viewed = viewed;
	o.ended = loops_saw_end;
	o.forget = forget_on_loop;
	o.forgotten = loops_forgot;
	o.kept = item_kept;
	o.warcinfo = warcinfo;
	o.health = health_changed;
	o.arg = e;
	engine_hooks_options(e, &o);
	engine_files_options(e, &o);
	return frontier_open(e->ledger_loop, &o, &e->frontier, w);
}

static void
make_crawls(struct engine *e)
{
	e->crawls = crawl_runtime_new(e->frontier, e->ledger_loop, e->fetchers,
	    e->loops_n, e->settings, e->seen);
}

static void
make_tell(struct engine *e)
{
	struct event_publisher_options o = {
		.loop = e->ledger_loop, .home = e->options.home,
		.ledger = frontier_ledger(e->frontier),
		.every_ms = e->options.small ? SMALL_VIEW_MS : 0,
		.fresh = handoff_came, .view = show_view, .end = views_shown,
		.arg = e,
	};

	e->publisher = event_publisher_new(&o);
}

static void
make_places(struct engine *e)
{
	struct ledger *l = frontier_ledger(e->frontier);
	const struct request_places p = { .busy = &e->asked, .at = {
		[AT_MAIN] = { request_enter_loop, e->options.home },
		[AT_LEDGER] = { request_enter_loop, e->ledger_loop },
		[AT_EACH_LOOP] = { request_enter_loops, &e->each_loop },
		[AT_POOL] = { request_enter_pool, e->pool },
		[AT_READ] = { ledger_enter_read, l },
		[AT_BESIDE] = { ledger_enter_beside, l },
		[AT_DURABLE] = { ledger_enter_durable, l },
		[AT_PUBLISHED] = { event_publisher_enter, e->publisher },
		[AT_INTRODUCED] = { event_publisher_introduce, e->publisher },
	} };

	e->places = p;
	if (e->store_async != NULL)
		e->places.at[AT_STORE] = (struct request_place){
		    request_enter_pool, store_async_pool(e->store_async) };
	e->snapshot_source = (struct snapshot_source){
	    .data_dir = e->data_dir, .ledger = l, .places = &e->places };
}

/* Its identity and the paths in it are of its absolute name. */
static enum err
resolve_name(struct engine *e, struct why *w)
{
	char *real = realpath(e->data_dir, NULL);

	if (real == NULL)
		return why_errno(w, err_from_errno(errno), "%s", e->data_dir);
	mem_free(&e->data_dir);
	e->data_dir = mem_copy_text(real);
	free(real);
	return OK;
}

/*
 * Makes `data_dir`, which exists, absolute.  Errors: CORRUPT, with what to do,
 * when a rebuild of it was killed while it moved its work into place.
 */
static enum err
check_data_dir(struct engine *e, struct why *w)
{
	/* The simulator's directory is in memory. */
	enum err err = e->options.no_threads ? OK : resolve_name(e, w);

	if (err != OK || !rebuild_unfinished(e->data_dir))
		return err;
	return why(w, ERR_CORRUPT, "a rebuild was interrupted; run `"
	    IDENTITY_REBUILD " --data %s` again", e->data_dir);
}

enum err
engine_lock(const struct engine_options *o, struct engine **out,
    struct why *w)
{
	struct engine *e = mem_new(sizeof(*e));
	int64_t holder;

	e->options = *o;
	e->lock_fd = -1;
	list_init(&e->changes);
	if (o->small)
		system_malloc_arenas(SMALL_MALLOC_ARENAS);
	e->data_dir = mem_copy_text(o->data_dir);
	e->loops_n = o->loops != 0 ? o->loops : system_cores();
	e->host_shard.ports_n = e->loops_n;
	e->address_clock = address_clock_new();
	e->loops = mem_array(e->loops_n, sizeof(*e->loops));
	e->fetchers = mem_array(e->loops_n, sizeof(struct fetcher *));
	e->ports = mem_array(e->loops_n, sizeof(*e->ports));
	engine_read_settings(e);
	make_token(e);
	enum err err = engine_check_ca_file(e, w);
	if (err == OK)
		err = file_make_dir(e->data_dir, w);
	if (err == OK && !o->no_threads)
		err = file_lock_dir(e->data_dir, &e->lock_fd, &holder, w);
	if (err == OK)
		err = check_data_dir(e, w);
	if (err == OK)
		err = snapshot_check(e->data_dir, w);
	if (err == OK && o->doors) {
		snapshot_clean(e->data_dir);
		err = engine_open_store_async(e, w);
	}
	if (err != OK)
		engine_free(&e);
	*out = e;
	return err;
}

enum err
engine_read(struct engine *e, struct why *w)
{
	const struct engine_options *o = &e->options;
	unsigned pool = (unsigned)conf_int(o->conf, CONF_POOL_THREADS);

	e->ledger_loop = o->no_threads ? o->home : loop_new("ledger");
	e->pool = pool_new(o->no_threads ? 0 : pool != 0 ? pool :
	    MAX(2, system_cores()));
	make_loops(e);
	enum err err = open_frontier(e, w);
	if (err == OK)
		err = engine_hooks_open(e, w);
	if (err != OK)
		return err;
	e->seen = digest_filter_new(DIGEST_FILTER_BYTES);
	make_fetchers(e);
	make_tell(e);
	make_crawls(e);
	make_places(e);
	if (o->doors)
		err = launch_open(e, w);
	return err;
}

enum err
engine_load(struct engine *e, struct why *w)
{
	return frontier_load(e->frontier, w);
}

enum err
engine_open(const struct engine_options *o, struct engine **out,
    struct why *w)
{
	enum err err = engine_lock(o, out, w);

	if (err == OK)
		err = engine_read(*out, w);
	if (err == OK)
		err = engine_load(*out, w);
	if (err != OK)
		engine_free(out);
	return err;
}

uint64_t
engine_urls_to_load(const struct engine *e)
{
	return frontier_load_urls(e->frontier);
}

void
engine_start(struct engine *e)
{
	e->started = true;
	changes_resume(e);
	if (e->scheduler != NULL)
		scheduler_start(e->scheduler);
	if (e->options.no_threads)
		return;
	hooks_start(e->hooks);
	loop_start(e->ledger_loop);
	if (e->outsiders != NULL)
		outsiders_start(e->outsiders);
	for (unsigned i = 0; i < e->loops_n; i++) {
		/* A daemon's doors are answered before pages are fetched. */
		if (e->options.doors)
			loop_give_way(e->loops[i].loop);
		loop_start(e->loops[i].loop);
	}
}

struct frontier *
engine_frontier(struct engine *e)
{
	return e->frontier;
}

void
engine_snapshot(struct engine *e, struct snapshot_ask *ask)
{
	snapshot_make(&e->snapshot_source, ask);
}

/* --- closing ------------------------------------------------------------ */

#define CLOSE_STEPS(X)                                                       \
	X(END, AT_LEDGER, end_fetching, "the loops get no further pages")    \
	X(LOOK, AT_MAIN, look_if_idle, "is anything under way?")             \
	X(CLOSE, AT_LEDGER, close_frontier, "all is durable; the files end") \
	X(END_HOOKS, AT_LEDGER, close_hooks, "their commands end")           \
	X(PUBLISH, AT_LEDGER, publish_rest, "the last events go home")       \
	X(CATALOG, AT_MAIN, close_catalog, "readers of captures end")        \
	X(CLOSED, AT_MAIN, request_end, "everything is on the disk")
enum { CLOSE_STEPS(REQUEST_ENUM) };

static struct engine *
closing_of(struct request *r)
{
	return CONTAINER(r, struct engine, close_request);
}

/* The event that a closing step waited for: run the next step. */
static void
close_on(void *arg)
{
	struct engine *e = arg;

	request_resume(&e->close_request, e->close_request.step + 1);
}

static int
end_fetching(struct request *r)
{
	struct engine *e = closing_of(r);

	e->ending = true;
	crawl_runtime_order_all(e->crawls, FETCH_END);
	return LOOK;
}

static void
look_again(struct timer *t)
{
	struct engine *e = CONTAINER(t, struct engine, idle_timer);

	request_resume(&e->close_request, LOOK);
}

static void
idle_seen(void *arg, const struct engine_look *k)
{
	struct engine *e = arg;

	/* What is under way ends first, this request apart; a failed ledger
	 * ends nothing. */
	if (k->health == ENGINE_FINE &&
	    (k->in_flight + k->uncommitted > 0 || e->asked > 1))
		loop_timer_set(e->options.home, &e->idle_timer,
		    mono_add_ms(clock_mono(), IDLE_LOOK_MS));
	else
		close_on(e);
}

static int
look_if_idle(struct request *r)
{
	struct engine *e = closing_of(r);

	engine_look(e, idle_seen, e);
	return REQUEST_WAIT;
}

static int
close_frontier(struct request *r)
{
	struct engine *e = closing_of(r);

	frontier_close(e->frontier, close_on, e);
	return REQUEST_WAIT;
}

/* No process that would run the hooks follows a foreground crawl. */
static int
close_hooks(struct request *r)
{
	struct engine *e = closing_of(r);

	if (e->hooks == NULL)
		return PUBLISH;
	hooks_close(e->hooks, e->options.small, e->ledger_loop, close_on, e);
	return REQUEST_WAIT;
}

static int
publish_rest(struct request *r)
{
	struct engine *e = closing_of(r);

	event_publisher_rest(e->publisher, close_on, e);
	return REQUEST_WAIT;
}

static int
close_catalog(struct request *r)
{
	struct engine *e = closing_of(r);

	if (e->stream != NULL)
		stream_close(e->stream);
	if (e->catalog == NULL)
		return CLOSED;
	catalog_close(e->catalog, close_on, e);
	return REQUEST_WAIT;
}

static void
close_done(struct request *r)
{
	struct engine *e = closing_of(r);

	e->closed(e->closed_arg);
}

static const struct request_step close_steps[] = { CLOSE_STEPS(REQUEST_ROW) };

void
engine_close(struct engine *e, void (*closed)(void *), void *arg)
{
	e->closing = true;
	if (e->scheduler != NULL)
		scheduler_stop(e->scheduler);
	if (e->outsiders != NULL)
		outsiders_stop(e->outsiders);
	e->closed = closed;
	e->closed_arg = arg;
	e->idle_timer.fire = look_again;
	e->close_request.done = close_done;
	request_start(&e->close_request, &e->places, close_steps, END);
}

bool
engine_is_closing(const struct engine *e)
{
	return e->closing;
}

static void
stop_loops(struct engine *e)
{
	for (unsigned i = 0; e->started && i < e->loops_n; i++) {
		loop_stop(e->loops[i].loop);
		loop_join(e->loops[i].loop);
	}
	if (e->started) {
		loop_stop(e->ledger_loop);
		loop_join(e->ledger_loop);
	}
}

void
engine_free(struct engine **ep)
{
	struct engine *e = *ep;

	if (e == NULL)
		return;
	if (!e->options.no_threads)
		stop_loops(e);
	/* Queries write into pages. */
	if (e->frontier != NULL)
		ledger_stop(frontier_ledger(e->frontier));
	if (e->ledger_loop != NULL)
		store_async_close(&e->store_async);
	stream_free(&e->stream);
	catalog_free(&e->catalog);
	for (unsigned i = 0; i < e->loops_n; i++)
		fetcher_free(&e->fetchers[i]);
	frontier_free(&e->frontier);
	changes_free(e);
	event_publisher_free(&e->publisher);
	scheduler_free(&e->scheduler);
	outsiders_free(&e->outsiders);
	crawl_registry_free(&e->registry);
	pool_free(&e->pool);
	engine_hooks_free(e);
	engine_files_free(e);
	for (unsigned i = 0; i < e->loops_n; i++) {
		engine_free_types(&e->loops[i]);
		if (e->loops[i].loop != e->ledger_loop)
			loop_free(&e->loops[i].loop);
	}
	if (e->ledger_loop != e->options.home)
		loop_free(&e->ledger_loop);
	crawl_runtime_free(&e->crawls);
	digest_filter_free(&e->seen);
	address_clock_free(&e->address_clock);
	file_close(&e->lock_fd);
	handoff_rest(&e->fresh);
	arena_free(&e->arena);
	engine_free_settings(e);
	mem_free(&e->types);
	mem_free(&e->ports);
	mem_free(&e->fetchers);
	mem_free(&e->loops);
	mem_free(&e->data_dir);
	mem_free(ep);
}
