#include "engine/engine.h"

#include "base/text.h"
#include "engine/catalog/catalog_open.h"
#include "engine/catalog/outsiders.h"
#include "engine/control/engine_own.h"
#include "engine/control/hook.h"
#include "engine/control/store_async.h"
#include "engine/fetcher/address_clock.h"
#include "engine/ledger/ledger_places.h"
#include "engine/policy/address.h"
#include "engine/rebuild/snapshot.h"
#include "engine/schedule/scheduler.h"
#include "engine/stream/event_publisher.h"
#include "engine/stream/stream_open.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"
#include "os/system.h"

/* Between two looks at crawls that have ended. */
#define FAREWELL_MS 250
/* A foreground crawl's counters are for people. */
#define SMALL_VIEW_MS 50
#define IDLE_LOOK_MS 5
/* Events that have not reached home; more hold the fetching back. */
#define EVENTS_WAITING_MAX 4096
/* A foreground crawl's own budgets; a daemon takes the configuration's. */
#define SMALL_SEGMENT_BYTES ((size_t)4 << 20)
#define SMALL_GROUP_MS 10
#define SMALL_CACHE ((size_t)4 << 20)
#define SMALL_UNCOMMITTED_PAGES 384
#define SMALL_UNCOMMITTED_BYTES ((size_t)8 << 20)
#define SMALL_MALLOC_ARENAS 2
#define UNCOMMITTED_PAGES 4096
#define UNCOMMITTED_BYTES ((size_t)64 << 20)

/* --- settings ----------------------------------------------------------- */

/* Pages under way may still read the settings that others replaced. */
struct settings_kept {
	struct settings_kept *next;
	struct fetch_settings settings;
};

void
engine_settings(const struct engine *e, const struct conf *c,
    struct fetch_settings *s)
{
	unsigned loops = e->loops_n;

	s->tries_max = (unsigned)conf_int(c, CONF_FETCH_TRIES_MAX);
	s->host_connections_max =
	    (unsigned)conf_int(c, CONF_FETCH_HOST_CONNECTIONS_MAX);
	s->address_connections_max =
	    (unsigned)conf_int(c, CONF_FETCH_ADDRESS_CONNECTIONS_MAX);
	s->address_delay_ms = conf_ms(c, CONF_FETCH_ADDRESS_DELAY_MS);
	s->connections_max = (size_t)conf_int(c, CONF_FETCH_CONNECTIONS_MAX);
	s->connect_ms = conf_ms(c, CONF_FETCH_CONNECT_MS);
	s->total_ms = conf_ms(c, CONF_FETCH_TIMEOUT_MS);
	s->speed_bytes_min = (int64_t)conf_size(c, CONF_FETCH_SPEED_BYTES_MIN);
	s->speed_s = 10;
	s->body_bytes_max = conf_size(c, CONF_FETCH_BODY_BYTES_MAX);
	s->head_bytes_max = conf_size(c, CONF_FETCH_HEAD_BYTES_MAX);
	s->redirects_max = (unsigned)conf_int(c, CONF_FETCH_REDIRECTS_MAX);
	s->decode_ratio_max =
	    (uint32_t)conf_double(c, CONF_FETCH_DECODE_RATIO_MAX);
	s->allow_private = conf_bool(c, CONF_FETCH_ALLOW_PRIVATE);
	s->backoff_ms = conf_ms(c, CONF_FETCH_BACKOFF_MS);
	s->backoff_ms_max = conf_ms(c, CONF_FETCH_BACKOFF_MAX_MS);
	s->host_idle_ms = conf_ms(c, CONF_FETCH_HOST_IDLE_MS);
	s->robots_ttl_s = conf_ms(c, CONF_ROBOTS_TTL_S) / 1000;
	s->robots_retry_s = 60;
	s->links_max = (size_t)conf_int(c, CONF_PARSE_LINKS_MAX);
	s->sitemap_depth_max = (unsigned)conf_int(c, CONF_SITEMAP_DEPTH_MAX);
	s->sitemap_bytes_max = conf_size(c, CONF_SITEMAP_BYTES_MAX);
	s->parse_cpu_ms_max = (uint32_t)conf_ms(c, CONF_PARSE_CPU_MS_MAX);
	s->window = (size_t)conf_int(c, CONF_FRONTIER_WINDOW);
	bool small = e->options.small;
	s->uncommitted_max = MAX(1, (small ? SMALL_UNCOMMITTED_PAGES :
	    UNCOMMITTED_PAGES) / loops);
	s->uncommitted_bytes_max = (small ? SMALL_UNCOMMITTED_BYTES :
	    UNCOMMITTED_BYTES) / loops;
	s->compression_level =
	    (int)conf_int(c, CONF_WARC_COMPRESSION_LEVEL);
	s->digest = conf_choice(c, CONF_WARC_DIGEST) == 0 ? DIGEST_SHA1 :
	    DIGEST_SHA256;
	s->redact = conf_bool(c, CONF_WARC_REDACT);
	s->archive = e->options.archive;
	s->http2 = true;
	s->user_agent = conf_str(c, CONF_FETCH_USER_AGENT);
	s->product_token = text_product_token(s->user_agent);
	struct str resolve = conf_str(c, CONF_FETCH_RESOLVE);
	s->resolve = resolve.n == 0 ? NULL : resolve.p;
}

static void
read_settings(struct engine *e)
{
	struct settings_kept *k = mem_new(sizeof(*k));

	engine_settings(e, e->options.conf, &k->settings);
	k->next = e->settings_kept;
	e->settings_kept = k;
	e->settings = &k->settings;
}

static void
free_settings(struct engine *e)
{
	while (e->settings_kept != NULL) {
		struct settings_kept *k = e->settings_kept;
		e->settings_kept = k->next;
		mem_free(&k);
	}
}

void
engine_reload(struct engine *e)
{
	read_settings(e);
	for (unsigned i = 0; i < e->loops_n; i++)
		fetcher_set(e->fetchers[i], e->settings);
	crawl_runtime_set(e->crawls, e->settings);
}

/* --- what the frontier tells, on the ledger's loop ---------------------- */

/* Of now, not of the view: an order must not be taken back by an old one. */
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

/* A crawl that has ended leaves the memory, a step at a time. */
static void
say_farewell(struct timer *t)
{
	struct engine *e = CONTAINER(t, struct engine, farewell_timer);
	uint32_t crawl;
	size_t at = 0;

	e->farewell_set = false;
	while (!e->ending && crawl_runtime_next_over(e->crawls, &at, &crawl)) {
		if (!changes_busy(e, crawl))
			crawl_runtime_let_go(e->crawls, crawl);
		e->farewell_set = true;
	}
	if (e->farewell_set)
		loop_timer_set(e->ledger_loop, t, mono_add_ms(clock_mono(),
		    FAREWELL_MS));
}

static void
is_over(struct engine *e, uint32_t crawl)
{
	crawl_runtime_over(e->crawls, crawl);
	e->farewell_timer.fire = say_farewell;
	if (!e->farewell_set && !e->ending)
		loop_timer_set(e->ledger_loop, &e->farewell_timer,
		    mono_add_ms(clock_mono(), FAREWELL_MS));
	e->farewell_set = true;
}

static void
viewed(void *arg, const struct crawl_view *view)
{
	struct engine *e = arg;

	engine_order_loops(e, view->id);
	if (view->ended.us != 0)
		is_over(e, view->id);
	event_publisher_view(e->publisher, view);
}

/* What the stream will want of it, before its fetching loop has it again. */
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

	h->mail.deliver = deliver_health;
	h->engine = e;
	h->health = (enum engine_health)health;
	snprintf(h->text, sizeof(h->text), "%s", text);
	loop_post(e->options.home, &h->mail);
}

static void
warcinfo(void *arg, uint32_t crawl, const char *filename, struct buf *out)
{
	struct engine *e = arg;

	crawl_runtime_warcinfo(e->crawls, crawl, filename, out);
	engine_hooks_expect(e, crawl);
}

/* --- what the fetchers publisher, on their loops -----------------------------
 */

struct event_mail {
	struct mail mail;
	struct engine *engine;
	struct fetch_event event;
	struct arena arena;
};

static void
deliver_event(struct mail *m)
{
	struct event_mail *x = CONTAINER(m, struct event_mail, mail);

	x->engine->options.event(x->engine->options.arg, &x->event);
	atomic_fetch_sub_explicit(&x->engine->events_waiting, 1,
	    memory_order_relaxed);
	arena_free(&x->arena);
	mem_free(&x);
}

static void
count_type(struct engine_loop *l, const struct fetch_event *ev)
{
	struct str type = ev->type.n == 0 ? STR("none") :
	    str_cut(ev->type, 0, 100);
	struct type_count *t = map_get(&l->types, type);

	if (t == NULL) {
		/* A hostile server may invent types: they count as one. */
		if (l->types.n >= 200)
			type = STR("other");
		t = map_get(&l->types, type);
	}
	if (t == NULL) {
		t = mem_new(sizeof(*t) + type.n);
		memcpy(t + 1, type.p, type.n);
		t->type = (struct str){ (const char *)(t + 1), type.n };
		map_put(&l->types, t->type, t);
	}
	t->n++;
	t->bytes += ev->body_bytes;
}

static void
fetched(void *arg, const struct fetch_event *ev)
{
	struct engine_loop *l = arg;
	struct engine *e = l->engine;

	if (ev->outcome == OUTCOME_ITEM)
		count_type(l, ev);
	if (e->options.event == NULL || (!e->options.every_event &&
	    ev->outcome != OUTCOME_EXCEPTION && ev->depth > 0))
		return;
	struct event_mail *x = mem_new(sizeof(*x));
	atomic_fetch_add_explicit(&e->events_waiting, 1, memory_order_relaxed);
	x->mail.deliver = deliver_event;
	x->engine = e;
	x->event = *ev;
	x->event.url = arena_copy(&x->arena, ev->url);
	x->event.final_url = arena_copy(&x->arena, ev->final_url);
	x->event.type = arena_copy(&x->arena, ev->type);
	x->event.title = arena_copy(&x->arena, ev->title);
	x->event.text = arena_copy(&x->arena, ev->text);
	loop_post(e->options.home, &x->mail);
}

/* --- opening ------------------------------------------------------------ */

static void
make_loops(struct engine *e)
{
	struct resolver_options ro = { .ttl_s_min = 1,
	    .ttl_s_max = conf_ms(e->options.conf, CONF_FETCH_DNS_TTL_S) / 1000,
	    .negative_s = 30, .cache_max = 100000, .timeout_ms = 5000 };

	for (unsigned i = 0; i < e->loops_n; i++) {
		struct engine_loop *l = &e->loops[i];
		l->engine = e;
		l->loop = e->options.no_threads ? e->ledger_loop :
		    loop_new("fetch");
		struct fetcher_options fo = {
			.loop = l->loop, .frontier = e->frontier,
			.transport = engine_transport(e, l->loop),
			.resolver = resolver_new(l->loop, &ro),
			.settings = e->settings, .seen = e->seen,
			.fresh = &e->fresh,
			.all = e->fetchers,
			.all_n = e->loops_n, .host_shard = &e->host_shard,
			.address_clock = e->address_clock,
			.event = fetched, .arg = l,
			.events_waiting = &e->events_waiting,
			.events_waiting_max = EVENTS_WAITING_MAX,
		};
		e->fetchers[i] = l->fetcher = fetcher_new(&fo);
		fetcher_port(l->fetcher, &e->ports[i]);
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

static struct ledger_options
ledger_settings(struct engine *e)
{
	const struct conf *c = e->options.conf;
	bool small = e->options.small;

	return (struct ledger_options){
		.group_bytes_max = conf_size(c, CONF_LEDGER_GROUP_BYTES_MAX),
		.group_records_max =
		    (uint32_t)conf_int(c, CONF_LEDGER_GROUP_RECORDS_MAX),
		/* Nobody waits for an answer of a foreground crawl. */
		.group_ms_max = MAX(conf_ms(c, CONF_LEDGER_GROUP_MS_MAX),
		    small ? SMALL_GROUP_MS : 0),
		.group_promises_few = small ? 0 : 16,
		.checkpoint_part = e->options.checkpoint_part,
		.segment_bytes = e->options.segment_bytes != 0 ?
		    e->options.segment_bytes : small ? SMALL_SEGMENT_BYTES :
		    conf_size(c, CONF_LEDGER_SEGMENT_BYTES),
		.segment_bytes_max = e->options.segment_bytes != 0 ? 0 :
		    conf_size(c, CONF_LEDGER_SEGMENT_BYTES),
		.free_bytes_min = conf_size(c, CONF_DATA_FREE_BYTES_MIN),
		.open_files_max =
		    (unsigned)conf_int(c, CONF_ARCHIVE_OPEN_FILES),
		.index = {
			.write_buffer_bytes =
			    conf_size(c, CONF_LEDGER_WRITE_BUFFER),
			.write_buffers = 4,
			.block_cache_bytes = small ? SMALL_CACHE :
			    conf_size(c, CONF_LEDGER_BLOCK_CACHE),
			.in_memory = e->options.no_threads,
		},
		.threads = !e->options.no_threads,
		.pool = e->pool,
	};
}

static enum err
open_frontier(struct engine *e, struct why *w)
{
	const struct conf *c = e->options.conf;
	struct frontier_options o = {
		.data_dir = e->data_dir, .load_later = true,
		.loading = e->options.loading,
		.known_bytes_max = conf_size(c, CONF_FRONTIER_KNOWN_MEM),
		.ledger = ledger_settings(e),
		.ports = e->ports, .ports_n = e->loops_n,
		.host_shard = &e->host_shard,
		.hosts_active_max =
		    (unsigned)conf_int(c, CONF_FRONTIER_HOSTS_ACTIVE_MAX),
		.viewed = viewed, .kept = item_kept, .warcinfo = warcinfo,
		.health = health_changed, .arg = e, .token = e->token,
		.lease_relaxed =
		    conf_choice(c, CONF_URLFRONTIER_DURABILITY) == 1,
		.lease_listings_max = (unsigned)conf_int(c,
		    CONF_URLFRONTIER_LISTINGS_MAX),
		.lease_counts_max = (unsigned)conf_int(c,
		    CONF_URLFRONTIER_COUNTS_MAX),
		.rollover_bytes = conf_size(c, CONF_WARC_ROLLOVER_BYTES),
		.rollover_s = conf_ms(c, CONF_WARC_ROLLOVER_S) / 1000,
		.running_max = e->options.small ? 0 :
		    (unsigned)conf_int(c, CONF_CRAWL_RUNNING_MAX),
		.pending_max = e->options.small ? 0 :
		    (unsigned)conf_int(c, CONF_CRAWL_PENDING_MAX),
		.log_max = (unsigned)conf_int(c, CONF_CRAWL_LOG_MAX),
		.sitemap_files_max =
		    (uint64_t)conf_int(c, CONF_SITEMAP_FILES_MAX),
		.sitemap_bytes_max = conf_size(c, CONF_SITEMAP_BYTES_MAX),
		.archive_bytes_max = conf_size(c, CONF_ARCHIVE_BYTES_MAX),
	};

	engine_hooks_options(e, &o);
	return frontier_open(e->ledger_loop, &o, &e->frontier, w);
}

static void
make_crawls(struct engine *e)
{
	struct loop **loops = ARENA_ARRAY(&e->arena, struct loop *,
	    e->loops_n);

	for (unsigned i = 0; i < e->loops_n; i++)
		loops[i] = e->loops[i].loop;
	e->each_loop = (struct request_loops){ e->ledger_loop, loops,
	    e->loops_n };
	e->crawls = crawl_runtime_new(e->frontier, e->ledger_loop, e->fetchers,
	    loops, e->loops_n, e->settings, e->seen);
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
}

enum err
engine_lock(const struct engine_options *o, struct engine **out,
    struct why *w)
{
	struct engine *e = mem_new(sizeof(*e));
	int64_t holder;

	e->options = *o;
	e->lock_fd = -1;
	if (o->small)
		system_malloc_arenas(SMALL_MALLOC_ARENAS);
	e->data_dir = mem_copy_text(o->data_dir);
	e->loops_n = o->loops != 0 ? o->loops : system_cores();
	e->host_shard.ports_n = e->loops_n;
	e->address_clock = address_clock_new();
	e->loops = mem_array(e->loops_n, sizeof(*e->loops));
	e->fetchers = mem_array(e->loops_n, sizeof(struct fetcher *));
	e->ports = mem_array(e->loops_n, sizeof(*e->ports));
	read_settings(e);
	make_token(e);
	enum err err = engine_check_ca_file(e, w);
	if (err == OK)
		err = file_make_dir(e->data_dir, w);
	if (err == OK && !o->no_threads)
		err = file_lock_dir(e->data_dir, &e->lock_fd, &holder, w);
	if (err == OK)
		err = engine_check_place(e, w);
	if (err == OK)
		err = snapshot_check(e->data_dir, w);
	if (err == OK && o->doors) {
		snapshot_clean(e->data_dir);
		err = store_async_open(e, &e->store_async, w);
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
	enum err err = open_frontier(e, w);
	if (err == OK)
		err = engine_hooks_open(e, w);
	if (err != OK)
		return err;
	e->seen = digest_filter_new(DIGEST_FILTER_BYTES);
	make_loops(e);
	make_tell(e);
	changes_open(e);
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

/* --- crawls ------------------------------------------------------------- */

enum err
engine_begin(struct engine *e, const struct crawl_request *r, uint32_t *id,
    struct why *w)
{
	struct running *plan;

	enum err err = crawl_runtime_plan(r, e->settings, &plan, w);
	return err != OK ? err : crawl_runtime_begin(e->crawls, &plan, id, w);
}

enum err
engine_continue(struct engine *e, uint32_t id, const struct crawl_request *r,
    struct why *w)
{
	return crawl_runtime_continue(e->crawls, id, r, w);
}

uint32_t
engine_find(struct engine *e, struct str name)
{
	struct crawl_view v;
	size_t at = 0;
	uint32_t found = UINT32_MAX;

	if (name.n != 0)
		return frontier_find_name(e->frontier, name);
	while (frontier_next_view(e->frontier, &at, &v))
		if (v.kind == CRAWL_CRAWL && !crawl_state_is_ended(v.state))
			found = v.id;
	return found;
}

bool
engine_next_view(struct engine *e, size_t *at, struct crawl_view *v)
{
	return frontier_next_view(e->frontier, at, v);
}

struct frontier *
engine_frontier(struct engine *e)
{
	return e->frontier;
}

/* --- looking ------------------------------------------------------------ */

struct looking {
	struct engine *engine;
	unsigned left;
	struct engine_look look;
	void (*seen)(void *, const struct engine_look *);
	void *arg;
};

struct look_call {
	struct loop_call call;
	struct looking *looking;
	struct fetcher *fetcher;         /* NULL: the ledger */
	struct fetcher_view view;
	size_t bytes_waiting;
	enum ledger_health health;
	struct ledger_stats stats;
};

static void
run_look(struct loop_call *c)
{
	struct look_call *l = CONTAINER(c, struct look_call, call);
	struct ledger *ledger;

	if (l->fetcher != NULL) {
		fetcher_look(l->fetcher, &l->view);
		return;
	}
	ledger = frontier_ledger(l->looking->engine->frontier);
	l->bytes_waiting = ledger_bytes_waiting(ledger);
	l->health = ledger_health(ledger);
	ledger_stats(ledger, &l->stats);
}

static void
add_view(struct fetcher_view *sum, const struct fetcher_view *v)
{
	sum->hosts += v->hosts;
	sum->hosts_ready += v->hosts_ready;
	sum->hosts_delayed += v->hosts_delayed;
	sum->hosts_backoff += v->hosts_backoff;
	sum->in_flight += v->in_flight;
	sum->uncommitted += v->uncommitted;
	sum->requests += v->requests;
	sum->bytes_in += v->bytes_in;
	sum->held_back |= v->held_back;
	if (mono_before(v->next_at, sum->next_at)) {
		sum->next_at = v->next_at;
		memcpy(sum->next_host, v->next_host, sizeof(v->next_host));
		sum->next_backoff = v->next_backoff;
	}
}

static void
look_done(struct loop_call *c)
{
	struct look_call *l = CONTAINER(c, struct look_call, call);
	struct looking *k = l->looking;

	if (l->fetcher != NULL) {
		add_view(&k->look.loops, &l->view);
	} else {
		k->look.ledger_bytes_waiting = l->bytes_waiting;
		k->look.health = (enum engine_health)l->health;
		k->look.ledger = l->stats;
	}
	mem_free(&l);
	if (--k->left > 0)
		return;
	k->seen(k->arg, &k->look);
	mem_free(&k);
}

void
engine_look(struct engine *e, void (*seen)(void *, const struct engine_look *),
    void *arg)
{
	struct looking *k = mem_new(sizeof(*k));

	k->engine = e;
	k->seen = seen;
	k->arg = arg;
	k->left = e->loops_n + 1;
	k->look.jobs_waiting = pool_waiting(e->pool);
	k->look.loops.next_at = MONO_NEVER;
	for (unsigned i = 0; i <= e->loops_n; i++) {
		struct look_call *l = mem_new(sizeof(*l));
		l->looking = k;
		l->fetcher = i < e->loops_n ? e->fetchers[i] : NULL;
		l->call.home = e->options.home;
		l->call.run = run_look;
		l->call.done = look_done;
		loop_ask(i < e->loops_n ? e->loops[i].loop : e->ledger_loop,
		    &l->call);
	}
}

/* --- closing ------------------------------------------------------------ */

static void
feed_closed(void *arg)
{
	struct engine *e = arg;

	e->closed(e->closed_arg);
}

static void
home_closed(struct loop_call *c)
{
	struct engine *e = CONTAINER(c, struct engine, closed_call);

	if (e->stream != NULL)
		stream_close(e->stream);
	if (e->catalog == NULL)
		feed_closed(e);
	else
		catalog_close(e->catalog, feed_closed, e);
}

static void
nothing(struct loop_call *c)
{
	(void)c;
}

/* On the ledger's loop: all is on the disk, and told. */
static void
all_told(void *arg)
{
	struct engine *e = arg;

	e->closed_call = (struct loop_call){ .home = e->options.home,
	    .run = nothing, .done = home_closed };
	loop_ask(e->ledger_loop, &e->closed_call);
}

static void
hooks_closed(void *arg)
{
	struct engine *e = arg;

	event_publisher_rest(e->publisher, all_told, e);
}

static void
run_close(struct loop_call *c)
{
	struct engine *e = CONTAINER(c, struct engine, close_call);

	engine_hooks_close(e, hooks_closed);
}

static void
close_now(struct engine *e)
{
	struct loop_call *c = &e->close_call;

	*c = (struct loop_call){ .home = e->options.home, .run = run_close,
	    .done = nothing };
	loop_ask(e->ledger_loop, c);
}

static void
idle_seen(void *arg, const struct engine_look *k)
{
	struct engine *e = arg;

	/* What is under way ends first; a failed ledger ends nothing. */
	if (k->health == ENGINE_FINE &&
	    (k->loops.in_flight + k->loops.uncommitted > 0 || e->asked > 0))
		loop_timer_set(e->options.home, &e->idle_timer,
		    mono_add_ms(clock_mono(), IDLE_LOOK_MS));
	else
		close_now(e);
}

static void
look_idle(struct timer *t)
{
	struct engine *e = CONTAINER(t, struct engine, idle_timer);

	engine_look(e, idle_seen, e);
}

static void
run_end(struct loop_call *c)
{
	struct engine *e = CONTAINER(c, struct engine, close_call);

	e->ending = true;
	loop_timer_stop(e->ledger_loop, &e->farewell_timer);
	crawl_runtime_order_all(e->crawls, FETCH_END);
}

static void
ended(struct loop_call *c)
{
	struct engine *e = CONTAINER(c, struct engine, close_call);

	look_idle(&e->idle_timer);
}

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
	e->idle_timer.fire = look_idle;
	e->close_call = (struct loop_call){ .home = e->options.home,
	    .run = run_end, .done = ended };
	loop_ask(e->ledger_loop, &e->close_call);
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

static void
free_types(struct engine_loop *l)
{
	size_t at = 0;
	void *v;

	while (map_next(&l->types, &at, &v))
		free(v);
	map_free(&l->types);
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
		loop_timer_stop(e->ledger_loop, &e->farewell_timer);
	store_async_close(&e->store_async);
	stream_free(&e->stream);
	catalog_free(&e->catalog);
	for (unsigned i = 0; i < e->loops_n; i++)
		fetcher_free(&e->loops[i].fetcher);
	frontier_free(&e->frontier);
	changes_close(e);
	event_publisher_free(&e->publisher);
	scheduler_free(&e->scheduler);
	outsiders_free(&e->outsiders);
	crawl_registry_free(&e->registry);
	pool_free(&e->pool);
	engine_hooks_free(e);
	for (unsigned i = 0; i < e->loops_n; i++) {
		free_types(&e->loops[i]);
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
	free_settings(e);
	mem_free(&e->types);
	mem_free(&e->ports);
	mem_free(&e->fetchers);
	mem_free(&e->loops);
	mem_free(&e->data_dir);
	mem_free(ep);
}

static struct type_count *
type_of(struct engine *e, struct str type)
{
	for (size_t i = 0; i < e->types_n; i++)
		if (str_eq(e->types[i].type, type))
			return &e->types[i];
	e->types = mem_resize(e->types, e->types_n + 1, sizeof(*e->types));
	e->types[e->types_n] = (struct type_count){ type, 0, 0 };
	return &e->types[e->types_n++];
}

static int
more_first(const void *a, const void *b)
{
	const struct type_count *x = a, *y = b;

	return (x->n < y->n) - (x->n > y->n);
}

const struct type_count *
engine_types(struct engine *e, size_t *n)
{
	for (unsigned i = 0; e->types == NULL && i < e->loops_n; i++) {
		size_t at = 0;
		void *v;
		while (map_next(&e->loops[i].types, &at, &v)) {
			const struct type_count *from = v;
			struct type_count *to = type_of(e, from->type);
			to->n += from->n;
			to->bytes += from->bytes;
		}
	}
	if (e->types_n > 1)
		qsort(e->types, e->types_n, sizeof(*e->types), more_first);
	*n = e->types_n;
	return e->types;
}
