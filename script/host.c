/*
 * Which run gets which process.
 */
#include "script/host.h"

#include "base/metric.h"
#include "os/log.h"
#include "script/host_own.h"
#include "script/worker.h"

/* A spawner that has gone is started again after this. */
#define RESTART_MS 1000

static const struct spawner_events spawner_events;

static const char *const ends[] = { "success", "error", "limit_memory",
	"limit_cpu", "limit_wall", "limit_turn", "limit_fetch", "limit_body",
	"limit_mutations", "crashed", "protocol", "sandbox", "other" };
enum { METRIC_RUNS, METRIC_CPU, METRIC_WALL, METRIC_PROCESSES,
	METRIC_WAITING };
static struct metric metrics[] = {
	METRIC_BY(COUNTER, "argiope_script_runs_total",
	    "Runs of scripts, by their end.", "end", ends, ARRAY_LEN(ends)),
	METRIC(SECONDS, "argiope_script_cpu_seconds",
	    "Processor time of a run."),
	METRIC(SECONDS, "argiope_script_run_seconds",
	    "Time of a run, less its waiting for hosts' turns."),
	METRIC(GAUGE, "argiope_script_processes", "Sandboxed processes."),
	METRIC(GAUGE, "argiope_script_waiting",
	    "Runs that wait for a process."),
};

struct script_host_options
script_host_options_of(const struct conf *conf)
{
	return (struct script_host_options){
		.processes_max =
		    (size_t)conf_int(conf, CONF_SCRIPT_PROCESSES_MAX),
		.runs_max = (size_t)conf_int(conf, CONF_SCRIPT_RUNS_MAX),
		.process_bytes_max =
		    conf_size(conf, CONF_SCRIPT_PROCESS_BYTES_MAX),
		.weak = conf_choice(conf, CONF_SCRIPT_SANDBOX) == 1,
	};
}

void
script_layers_text(unsigned layers, struct buf *out)
{
	for (unsigned i = 0; i < SANDBOX_LAYER_COUNT; i++) {
		if ((layers & 1u << i) == 0)
			continue;
		if (out->n > 0)
			buf_put_text(out, ", ");
		buf_put_text(out, sandbox_layer_text((enum sandbox_layer)i));
	}
}

/* ---- The spawner -------------------------------------------------------- */

static enum err
start_spawner(struct script_host *h, struct why *w)
{
	const char *const argv[] = { "argiope", h->options.word != NULL ?
		h->options.word : SCRIPT_WORKER_WORD, NULL };

	return spawner_start(h->loop, argv, &spawner_events, h, &h->spawner,
	    w);
}

static void
on_started(void *arg, uint32_t id, int64_t pid)
{
	struct script_host *h = arg;
	struct script_process *p = map_get_id(&h->processes, id);

	if (p != NULL)
		process_on_started(p, pid);
}

static void
on_ended(void *arg, uint32_t id, int status)
{
	struct script_host *h = arg;
	struct script_process *p = map_take_id(&h->processes, id);

	if (p == NULL)
		return;
	h->stats.ended++;
	process_on_ended(p, status);
	process_free_later(p);
	host_schedule(h);
}

/* All processes have gone with it; a signal of the kernel, or a crash. */
static void
on_gone(void *arg)
{
	struct script_host *h = arg;
	size_t at = 0;
	struct script_process *p;

	spawner_stop(&h->spawner);
	loop_timer_set(h->loop, &h->restart, mono_add_ms(loop_now(h->loop),
	    RESTART_MS));
	while (at = 0, (p = map_next(&h->processes, &at)) != NULL) {
		(void)map_take_id(&h->processes, p->id);
		h->stats.ended++;
		process_on_ended(p, spawner_killed());
		process_free_later(p);
	}
}

static const struct spawner_events spawner_events = { on_started, on_ended,
	on_gone };

static void
restart_spawner(struct timer *t)
{
	struct script_host *h = CONTAINER(t, struct script_host, restart);
	struct why w = WHY_INIT;

	if (start_spawner(h, &w) != OK)
		loop_timer_set(h->loop, t, mono_add_ms(loop_now(h->loop),
		    RESTART_MS));
	else
		host_schedule(h);
}

/* ---- Figures ------------------------------------------------------------ */

void
host_count(struct script_host *h, struct str code, int64_t cpu_ns,
    int64_t wall_ns)
{
	size_t end = code.n == 0 ? 0 : STR_ROW(code, ends);

	(void)h;
	metric_add_by(&metrics[METRIC_RUNS], MIN(end, ARRAY_LEN(ends) - 1), 1);
	metric_observe(&metrics[METRIC_CPU], MAX(cpu_ns, (int64_t)0));
	metric_observe(&metrics[METRIC_WALL], MAX(wall_ns, (int64_t)0));
}

static void
set_gauges(const struct script_host *h)
{
	metric_set(&metrics[METRIC_PROCESSES], (int64_t)h->processes.n);
	metric_set(&metrics[METRIC_WAITING], (int64_t)h->waiting_n);
}

/* ---- Which run where ---------------------------------------------------- */

/* An idle process of this bundle; else `*other` is any idle one. */
static struct script_process *
find_idle(struct script_host *h, const struct script_bundle *bundle,
    struct script_process **other)
{
	*other = NULL;
	MAP_EACH(p, &h->processes, struct script_process) {
		if (p->state != PROCESS_IDLE)
			continue;
		if (p->bundle == bundle)
			return p;
		*other = p;
	}
	return NULL;
}

void
host_put_back(struct script_host *h, struct script_run *r)
{
	list_put(h->waiting.next, &r->node);
	h->waiting_n++;
}

/* True when the first waiting run has its process now, or has failed. */
static bool
place_first(struct script_host *h)
{
	struct script_run *r = LIST_ITEM(h->waiting.next, struct script_run,
	    node);
	struct script_process *other = NULL;
	struct script_process *p = find_idle(h, r->bundle, &other);
	struct why w = WHY_INIT;

	if (p == NULL && h->processes.n >= h->options.processes_max) {
		/* One of another configuration makes room, once it is gone. */
		if (other != NULL)
			process_kill(other, "stopped", "another is wanted");
		return false;
	}
	if (p == NULL && h->spawner == NULL)
		return false;
	list_take(&r->node);
	h->waiting_n--;
	if (p != NULL) {
		process_begin(p, r);
		return true;
	}
	enum err e = process_start(h, r, &w);
	/* Or the spawner has gone, and the next one finds the run here. */
	if (e == ERR_FULL || e == ERR_CLOSED) {
		host_put_back(h, r);
		return false;
	}
	if (e != OK)
		run_fail(r, "lost_worker", w.text);
	return true;
}

void
host_schedule(struct script_host *h)
{
	while (!h->is_closing && !list_empty(&h->waiting) && place_first(h))
		;
	set_gauges(h);
}

void
script_run_start(struct script_host *h, struct script_run *r)
{
	r->host = h;
	list_init(&r->calls);
	list_put(&h->waiting, &r->node);
	h->waiting_n++;
	h->stats.runs++;
	host_schedule(h);
}

/* ---- Open, close -------------------------------------------------------- */

enum err
script_host_open(struct loop *loop, const struct script_host_options *options,
    struct script_host **out, struct why *w)
{
	struct script_host *h = mem_new(sizeof(*h));

	h->loop = loop;
	h->options = *options;
	h->restart.fire = restart_spawner;
	list_init(&h->waiting);
	list_init(&h->gone);
	metric_register(metrics, ARRAY_LEN(metrics));
	if (options->weak)
		log_warn("script.sandbox", "mode=weak why=%s",
		    log_quoted(STR("script.sandbox allows scripts without a "
		    "filter of system calls")));
	enum err e = start_spawner(h, w);
	if (e != OK) {
		free(h);
		return e;
	}
	*out = h;
	return OK;
}

void
script_host_close(struct script_host **hp)
{
	struct script_host *h = *hp;
	size_t at = 0;
	struct script_process *p;

	if (h == NULL)
		return;
	h->is_closing = true;
	loop_timer_stop(h->loop, &h->restart);
	while (at = 0, (p = map_next(&h->processes, &at)) != NULL) {
		(void)map_take_id(&h->processes, p->id);
		if (p->run != NULL)
			run_cancel_calls(p->run);
		process_free(p);
	}
	while (!list_empty(&h->gone))
		process_free(LIST_ITEM(h->gone.next, struct script_process,
		    gone));
	spawner_stop(&h->spawner);
	map_free(&h->processes);
	mem_free(hp);
}

struct script_host_stats
script_host_stats(const struct script_host *h)
{
	struct script_host_stats s = h->stats;

	s.processes = h->processes.n;
	s.running = h->running_n;
	s.waiting = h->waiting_n;
	return s;
}
