#include "engine/fetcher/fetcher.h"

#include "engine/fetcher/address_slots.h"
#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/host.h"
#include "engine/fetcher/links.h"
#include "engine/fetcher/outbox.h"
#include "engine/fetcher/page.h"
#include "engine/fetcher/page_log.h"
#include "engine/fetcher/window.h"
#include "engine/frontier/host_shard.h"
#include "os/clock.h"

/* Requests begun in one turn: the loop must look at its sockets in between. */
#define STARTS_PER_TURN 256
/* Interval at which hosts are checked that wait for something without event. */
#define STALLED_MS 10

/* Starts requests, at the end of a turn or when the first host wakes up. */
struct pump {
	struct fetcher *fetcher;
	struct turn_hook turn;
	struct timer wake;               /* the first sleeping host */
	struct timer stalled;            /* see fetcher_look_again() */
	bool stalled_set;
	bool soon;
};

struct fetcher *
fetcher_of(struct fetcher *f, struct str host)
{
	return f->options.all[host_shard_port(f->options.host_shard, host)];
}

void
fetcher_pump_soon(struct fetcher *f)
{
	f->pump->soon = true;
}

static void
pump(struct fetcher *f)
{
	struct host_table *t = f->hosts;

	f->pump->soon = false;
	hosts_wake(f);
	for (int i = 0; i < STARTS_PER_TURN && !list_empty(&t->ready) &&
	    t->in_flight < f->settings->connections_max &&
	    !outbox_is_full(f); i++)
		hosts_start_one(f);
	/* Nothing tells when the reader is there again. */
	if (outbox_reader_is_behind(f))
		fetcher_look_again(f);
	struct heap_node *n = heap_first(&t->sleeping);
	if (n != NULL)
		loop_timer_set(f->loop, &f->pump->wake,
		    (struct mono){ n->key });
}

static void
turn_end(struct turn_hook *h)
{
	struct fetcher *f = CONTAINER(h, struct pump, turn)->fetcher;

	/* Steps that end at once make room for more within the same turn. */
	pages_run_woken(f);
	for (int i = 0; i < 4 && f->pump->soon; i++) {
		pump(f);
		pages_run_woken(f);
	}
	outbox_turn_end(f);
	page_lend_turn_end(f);
}

static void
wake_fired(struct timer *t)
{
	pump(CONTAINER(t, struct pump, wake)->fetcher);
}

static void
look_again(struct timer *t)
{
	struct pump *p = CONTAINER(t, struct pump, stalled);

	p->stalled_set = false;
	fetcher_pump_soon(p->fetcher);
	hosts_settle(p->fetcher, true);
}

void
fetcher_look_again(struct fetcher *f)
{
	if (f->pump->stalled_set)
		return;
	f->pump->stalled_set = true;
	loop_timer_set(f->loop, &f->pump->stalled,
	    mono_add_ms(loop_now(f->loop), STALLED_MS));
}

/* The frontier's note: the queue has work. */
static void
work(struct queue_note *n)
{
	const struct frontier_port *port = n->port;
	struct fetcher *f = port->arg;
	struct fetch_crawl *c = fetch_crawl_find(f, n->crawl);

	if (c != NULL && c->order != FETCH_END)
		window_note(host_get(f, n->key), c, n->queue);
}

void
fetcher_port(struct fetcher *f, struct frontier_port *p)
{
	p->loop = f->loop;
	p->work = work;
	p->arg = f;
}

/* --- life --------------------------------------------------------------- */

static void
pump_open(struct fetcher *f)
{
	struct pump *p = f->pump = mem_new(sizeof(*p));

	p->fetcher = f;
	p->turn.run = turn_end;
	p->wake.fire = wake_fired;
	p->stalled.fire = look_again;
	loop_hook(f->loop, &p->turn);
}

static void
pump_stop(struct fetcher *f)
{
	loop_timer_stop(f->loop, &f->pump->wake);
	loop_timer_stop(f->loop, &f->pump->stalled);
	list_take(&f->pump->turn.node);
}

struct fetcher *
fetcher_new(const struct fetcher_options *o)
{
	struct fetcher *f = mem_new(sizeof(*f));
	struct warc_options wo = { .level = o->settings->compression_level,
	    .digest = o->settings->digest, .random = clock_random };

	f->options = *o;
	f->settings = o->settings;
	f->loop = o->loop;
	f->parser = parser_new();
	f->writer = warc_writer_new(&wo);
	hosts_open(f);
	address_slots_open();
	pages_open(f);
	page_fetch_open();
	outbox_open(f);
	page_log_open(f);
	links_open(f);
	pump_open(f);
	return f;
}

void
fetcher_set(struct fetcher *f, const struct fetch_settings *settings)
{
	f->settings = settings;
}

void
fetcher_free(struct fetcher **fp)
{
	struct fetcher *f = *fp;

	if (f == NULL)
		return;
	f->closing = true;
	pump_stop(f);
	transport_free(&f->options.transport);
	resolver_free(&f->options.resolver);
	pages_close(f);
	page_log_close(f);
	hosts_close(f);
	fetch_crawls_close(f);
	address_slots_close(f);
	outbox_close(f);
	links_close(f);
	parser_free(&f->parser);
	warc_writer_free(&f->writer);
	mem_free(&f->pump);
	mem_free(fp);
}
