/* The activity of all loops and of the ledger, summed. */
#include "engine/catalog/diagnostics.h"
#include "engine/control/engine_own.h"
#include "os/clock.h"

#define TOTALS_STEPS(X)                                                      \
	X(LOOPS, AT_EACH_LOOP, ask_ledger, "each loop, then the ledger",     \
	    .each = ask_loop)                                                \
	X(SUM, AT_MAIN, sum_up, "all of them together")
enum { TOTALS_STEPS(REQUEST_ENUM) };

struct looking {
	struct request request;
	struct engine *engine;
	struct engine_look look;
	void (*seen)(void *, const struct engine_look *);
	void *arg;
	struct fetcher_view views[];     /* one for each loop */
};

static struct looking *
looking_of(struct request *r)
{
	return CONTAINER(r, struct looking, request);
}

static void
ask_loop(struct request *r, size_t loop)
{
	struct looking *k = looking_of(r);

	fetcher_look(k->engine->fetchers[loop], &k->views[loop]);
}

static int
ask_ledger(struct request *r)
{
	struct looking *k = looking_of(r);
	struct ledger *l = frontier_ledger(k->engine->frontier);
	struct ledger_stats s;

	k->look.ledger_bytes_waiting = ledger_bytes_waiting(l);
	k->look.health = (enum engine_health)ledger_health(l);
	ledger_stats(l, &s);
	k->look.groups = s.groups;
	k->look.groups_unapplied = s.groups_unapplied;
	k->look.sync_ns_sum = s.sync_ns_sum;
	return SUM;
}

static void
add_view(struct engine_look *sum, const struct fetcher_view *v)
{
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

static int
sum_up(struct request *r)
{
	struct looking *k = looking_of(r);

	k->look.next_at = MONO_NEVER;
	for (unsigned i = 0; i < k->engine->loops_n; i++)
		add_view(&k->look, &k->views[i]);
	return REQUEST_DONE;
}

static void
look_done(struct request *r)
{
	struct looking *k = looking_of(r);

	k->seen(k->arg, &k->look);
	mem_free(&k);
}

static const struct request_step totals_steps[] = {
	TOTALS_STEPS(REQUEST_ROW)
};

void
engine_look(struct engine *e, void (*seen)(void *, const struct engine_look *),
    void *arg)
{
	struct looking *k = mem_new(sizeof(*k) + e->loops_n *
	    sizeof(k->views[0]));

	k->request.done = look_done;
	k->engine = e;
	k->seen = seen;
	k->arg = arg;
	k->look.jobs_waiting = pool_waiting(e->pool);
	request_start(&k->request, &e->places, totals_steps, LOOPS);
}

void
catalog_diagnose(const struct engine_look *k, const struct crawl_view *v,
    char *out, size_t size)
{
	bool waits = k->hosts_delayed + k->hosts_backoff > 0;
	struct why_facts f = {
		.view = v, .health = (enum ledger_health)k->health,
		.here = true,
		.in_flight = k->in_flight, .finishing = k->uncommitted,
		.held_back = k->held_back, .ready = k->hosts_ready,
		.delayed = k->hosts_delayed, .backoff = k->hosts_backoff,
		.next_s = !waits ? -1 : (double)MAX(0,
		    mono_ns_between(clock_mono(), k->next_at)) / NS_PER_S,
		.next_wait = k->next_backoff ? HOST_WAITS_BACKOFF :
		    HOST_WAITS_DELAY,
		.next_host = k->next_host, .robots_host = "",
	};

	why_sentence(&f, out, size);
}
