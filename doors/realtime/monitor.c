/*
 * The monitor makes a frame of the crawler's figures each second and keeps it
 * for later subscribers.  The door's own checks run each second, too.
 */
#include "doors/realtime/own.h"

#include "os/clock.h"
#include "os/file.h"
#include "os/system.h"

#define TICK_MS 1000
#define EVENT_BYTES_MAX ((size_t)16 << 10)

struct monitor {
	struct sub sub;
	struct sender sender;
	uint64_t next;               /* the number of a frame */
	uint64_t dropped;
};

/* --- subscribers -------------------------------------------------------- */

size_t
lag_keep(struct lag *out, size_t n, size_t max, struct lag one)
{
	size_t at = n;

	while (at > 0 && out[at - 1].lag < one.lag)
		at--;
	if (at == max)
		return n;
	size_t behind = MIN(n, max - 1) - at;
	memmove(out + at + 1, out + at, behind * sizeof(*out));
	out[at] = one;
	return MIN(n + 1, max);
}

/* The slowest subscribers; returns how many items the slowest is behind. */
static uint64_t
put_subscribers(struct realtime *d, struct buf *b)
{
	struct lag lags[REALTIME_SUBSCRIBERS_TOLD_MAX];
	size_t n = follow_lags(d, lags, ARRAY_LEN(lags));
	uint64_t worst = 0;

	json_array(b, "subscribers");
	for (size_t i = 0; i < n; i++) {
		if (lags[i].kind == SUB_ITEMS)
			worst = MAX(worst, lags[i].lag);
		json_object(b, NULL);
		json_u64(b, "subscription_id", lags[i].sub);
		json_u64(b, "crawl_id", lags[i].crawl);
		json_str(b, "kind", lags[i].kind == SUB_LOG ? STR("log") :
		    STR("items"));
		json_u64(b, "lag", lags[i].lag);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
	return worst;
}

/* --- frames ------------------------------------------------------------- */

/* Sums over all crawls. */
struct totals {
	uint64_t items, bytes, queued;
};

static struct totals
totals_of(struct crawl_registry *b)
{
	struct totals sum = { 0 };
	struct crawl_row *row = NULL;

	for (uint32_t id = UINT32_MAX;
	     (row = crawl_registry_below(b, id)) != NULL; id = row->id) {
		const struct crawl_counts *n = &row->view.counts;
		if (row->view.kind == CRAWL_FRONTIER)
			continue;
		/* Deleted crawls count: their pages were fetched. */
		sum.items += n->items;
		sum.bytes += n->body_bytes;
		sum.queued += row->view.state == CRAWL_RUNNING ? n->queued : 0;
	}
	return sum;
}

static int64_t
cpu_then(const struct frame_past *was, int64_t thread)
{
	for (size_t i = 0; i < was->threads_n; i++)
		if (was->threads[i].id == thread)
			return was->threads[i].cpu_ns;
	return 0;
}

/* The CPU share of each thread, which shows the slow stage. */
static void
put_loops(const struct frame_past *was, const struct frame_past *now,
    double s, struct buf *b)
{
	json_array(b, "loops");
	for (size_t i = 0; i < now->threads_n; i++) {
		const struct system_thread *t = &now->threads[i];
		json_object(b, NULL);
		json_str(b, "name", t->id == system_pid() ? STR("home") :
		    str_of(t->name));
		json_real(b, "load", (double)(t->cpu_ns -
		    cpu_then(was, t->id)) / 1e9 / s);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

static void
put_rates(struct realtime *d, const struct totals *t, struct buf *b)
{
	struct frame_past was = d->past, *now = &d->past;

	*now = (struct frame_past){ .at = clock_mono(),
	    .cpu_ns = system_cpu_ns(), .items = t->items, .bytes = t->bytes };
	now->threads_n = system_threads(now->threads,
	    ARRAY_LEN(now->threads));
	double s = (double)mono_ns_between(was.at, now->at) / 1e9;
	if (was.at.ns == 0 || s <= 0)
		was = *now;
	s = s <= 0 ? 1 : s;
	json_real(b, "cpu", (double)(now->cpu_ns - was.cpu_ns) / 1e9 / s);
	json_real(b, "pages_per_s",
	    (double)(now->items - MIN(now->items, was.items)) / s);
	json_real(b, "bytes_per_s",
	    (double)(now->bytes - MIN(now->bytes, was.bytes)) / s);
	put_loops(&was, now, s, b);
}

static void
put_machine(struct realtime *d, const struct web_counts *web,
    const struct engine_look *k, struct buf *b)
{
	uint64_t disk;

	json_u64(b, "rss", system_rss_bytes());
	if (file_free_bytes(d->host->data_dir, &disk, NULL) == OK)
		json_u64(b, "disk_free", disk);
	else
		json_null(b, "disk_free");
	json_u64(b, "bytes_in", k->bytes_in + web->bytes_in);
	json_u64(b, "bytes_out", web->bytes_out);
	json_u64(b, "connections", web->connections);
	json_u64(b, "downloads", k->in_flight);
	json_u64(b, "downloads_max", d->downloads_max);
}

static void
put_stages(const struct engine_look *k, const struct totals *t,
    struct buf *b)
{
	json_object(b, "stages");
	json_u64(b, "frontier", t->queued);
	json_u64(b, "fetcher", k->in_flight);
	json_u64(b, "parser", k->jobs_waiting);
	json_u64(b, "store", k->uncommitted);
	json_u64(b, "archive", k->groups_unapplied);
	buf_put_char(b, '}');
	json_object(b, "hosts");
	json_u64(b, "ready", k->hosts_ready);
	json_u64(b, "delayed", k->hosts_delayed);
	json_u64(b, "backoff", k->hosts_backoff);
	buf_put_char(b, '}');
}

static void
make_frame(struct realtime *d, const struct engine_look *k)
{
	struct buf *b = &d->frames[d->frames_n % d->frames_max];
	struct totals t = totals_of(d->registry);
	struct web_counts web = { 0 };

	if (d->web != NULL)
		web_counts(d->web, &web);
	buf_clear(b);
	buf_put_char(b, '{');
	json_time(b, "at", clock_wall());
	put_rates(d, &t, b);
	put_machine(d, &web, k, b);
	put_stages(k, &t, b);
	meter_now(web.sockets_stalled, put_subscribers(d, b));
	d->frames_n++;
}

static void
tell_frame(struct realtime *d)
{
	while (!list_empty(&d->monitors))
		sender_ready(LIST_ITEM(d->monitors.next, struct sender,
		    node));
}

/* --- once a second ------------------------------------------------------ */

/* Disconnects clients whose token was revoked. */
static void
check_tokens(struct realtime *d)
{
	LIST_EACH(c, &d->clients, struct client, node) {
		if (!web_socket_may(c->socket, TOKEN_READ))
			web_socket_close(c->socket, 1008,
			    "the token was revoked");
	}
}

static void
looked(void *arg, const struct engine_look *k)
{
	struct realtime *d = arg;

	d->looking = false;
	if (!d->draining) {
		make_frame(d, k);
		tell_frame(d);
		loop_timer_set(d->home, &d->tick,
		    mono_add_ms(clock_mono(), TICK_MS));
	}
	drain_gate_leave(&d->asked);
}

static void
tick(struct timer *t)
{
	struct realtime *d = CONTAINER(t, struct realtime, tick);

	check_tokens(d);
	d->looking = true;
	drain_gate_enter(&d->asked);
	engine_look(d->engine, looked, d);
}

void
monitor_start(struct realtime *d)
{
	unsigned loops = (unsigned)conf_int(d->host->conf, CONF_LOOPS);

	d->frames_max = (uint64_t)conf_int(d->host->conf,
	    CONF_REALTIME_FRAMES_MAX);
	d->frames = mem_array(d->frames_max, sizeof(*d->frames));
	d->downloads_max = (uint64_t)conf_int(d->host->conf,
	    CONF_FETCH_CONNECTIONS_MAX) * (loops > 0 ? loops :
	    system_cores());
	d->tick.fire = tick;
	loop_timer_set(d->home, &d->tick,
	    mono_add_ms(clock_mono(), TICK_MS));
}

void
monitor_stop(struct realtime *d)
{
	loop_timer_stop(d->home, &d->tick);
}

/* --- the subscription --------------------------------------------------- */

static enum sent
send(struct sender *sender)
{
	struct monitor *m = CONTAINER(sender, struct monitor, sender);
	struct client *c = m->sub.client;
	struct realtime *d = c->door;
	uint64_t oldest = d->frames_n - MIN(d->frames_n, d->frames_max);

	if (m->next >= d->frames_n) {
		sender_wait(sender, &d->monitors);
		return SENT_IDLE;
	}
	if (!client_fits(c, EVENT_BYTES_MAX))
		return SENT_FULL;
	if (m->next < oldest) {
		m->dropped += oldest - m->next;
		meter_frames_dropped(oldest - m->next);
		m->next = oldest;
	}
	FREED(buf_free) struct buf b = BUF_INIT;
	client_event_head(&b, &m->sub, "monitor");
	buf_put_str(&b, buf_str(&d->frames[m->next++ % d->frames_max]));
	json_u64(&b, "dropped", m->dropped);
	buf_put_text(&b, "}}");
	sub_send(&m->sub, &b);
	return SENT_MORE;
}

static void
free_monitor(struct sub *sub)
{
	struct monitor *m = CONTAINER(sub, struct monitor, sub);

	list_take(&m->sender.node);
	mem_free(&m);
}

void
verb_subscribe_monitor(struct task *t)
{
	struct realtime *d = t->door;
	struct monitor *m = mem_new(sizeof(*m));

	sender_init(&m->sender, &m->sub, send);
	if (!sub_begin(&m->sub, t, SUB_MONITOR, free_monitor))
		return;
	m->next = d->frames_n - MIN(d->frames_n, d->frames_max);
	sender_ready(&m->sender);
	sub_answer(t, m->sub.id);
}
