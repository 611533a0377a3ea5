/*
 * Many runs at once that wait: 64 of them, each with one request that is
 * answered after 200 ms.  Prints runs per second, and what all processes
 * together have in memory of their own and shared.
 *
 *     script_waiting_bench [RUNS]
 */
#include "os/clock.h"
#include "os/system.h"
#include "script/host_own.h"
#include "script/worker.h"

#define AT_ONCE 64u
#define ANSWER_MS 200

struct wait {
	struct script_run run;
	struct timer timer;
	struct script_call *call;
};

static struct {
	struct loop *loop;
	struct script_host *host;
	struct script_bundle *bundle;
	struct script_limits limits;
	struct wait runs[AT_ONCE];
	uint64_t left, done, failed;
	bool is_over;
	int64_t memory_bytes;
} bench;

static void start_run(struct wait *w);

static void
answer(struct timer *t)
{
	struct wait *w = CONTAINER(t, struct wait, timer);

	script_call_answer(w->call, STR("{\"status\":200,\"url\":\"http://a/\","
	    "\"headers\":[]}"), STR("<p>hello</p>"));
}

static void
take_call(struct script_run *r, struct script_call *c)
{
	struct wait *w = CONTAINER(r, struct wait, run);

	w->call = c;
	w->timer.fire = answer;
	loop_timer_set(bench.loop, &w->timer,
	    mono_add_ms(loop_now(bench.loop), ANSWER_MS));
}

static void
take_cancel(struct script_run *r, struct script_call *c)
{
	(void)c;
	loop_timer_stop(bench.loop, &CONTAINER(r, struct wait, run)->timer);
}

/* The proportional share of each process: shared pages count once. */
static int64_t
memory_of_all(void)
{
	int64_t sum = 0;

	MAP_EACH(p, &bench.host->processes, struct script_process) {
		char path[64], line[256];
		long long kib = 0;
		snprintf(path, sizeof(path), "/proc/%lld/smaps_rollup",
		    (long long)p->pid);
		FILE *f = fopen(path, "re");
		if (f == NULL)
			continue;
		while (fgets(line, sizeof(line), f) != NULL)
			if (sscanf(line, "Pss: %lld", &kib) == 1)
				break;
		fclose(f);
		sum += kib * 1024;
	}
	return sum;
}

static void
take_done(struct script_run *r, const struct script_outcome *o)
{
	struct wait *w = CONTAINER(r, struct wait, run);

	bench.failed += !o->is_success;
	script_run_finish(r);
	if (++bench.done == bench.left / 2)
		bench.memory_bytes = memory_of_all();
	bench.is_over = bench.done == bench.left;
	if (bench.done + AT_ONCE <= bench.left)
		start_run(w);
}

static const struct script_run_events events = { .on_call = take_call,
	.on_cancel = take_cancel, .on_done = take_done };

static void
start_run(struct wait *w)
{
	w->run = (struct script_run){ .bundle = bench.bundle,
		.limits = bench.limits, .events = &events, .task = STR("t"),
		.input = STR("{\"seed\":\"1\",\"now\":\"2026-01-01T00:00:00Z\","
		    "\"attempt\":1,\"item\":{\"id\":\"x\",\"data\":{}}}") };
	script_run_start(bench.host, &w->run);
}

int
main(int argc, char **argv)
{
	struct conf conf;
	struct why w = WHY_INIT;

	if (script_worker_is(argc, argv))
		script_worker_main();
	system_ignore_sigpipe();
	bench.left = 3000;
	if (argc > 1 && (!str_to_u64(str_of(argv[1]), &bench.left) ||
	    bench.left < AT_ONCE))
		return 64;
	conf_init(&conf);
	struct script_host_options o = script_host_options_of(&conf);
	bench.limits = script_limits_of(&conf);
	bench.loop = loop_new("bench");
	bench.bundle = bundle_new(STR("main.js"), 1 << 20);
	if (bundle_add(bench.bundle, STR("main.js"), STR("export default { "
	    "tasks: { t: { async run({ fetch, log }) { const r = await "
	    "fetch('http://a/'); r.html()('p').text() } } } }"), &w) != OK ||
	    script_host_open(bench.loop, &o, &bench.host, &w) != OK) {
		fprintf(stderr, "%s\n", w.text);
		return 70;
	}
	struct mono began = clock_mono();
	for (size_t i = 0; i < AT_ONCE; i++)
		start_run(&bench.runs[i]);
	loop_run_until(bench.loop, &bench.is_over);
	double s = (double)(clock_mono().ns - began.ns) / 1e9;
	printf("waiting: %llu runs, %llu failed, %.0f a second; %llu processes "
	    "with %lld MiB\n", (unsigned long long)bench.done,
	    (unsigned long long)bench.failed, (double)bench.done / s,
	    (unsigned long long)script_host_stats(bench.host).processes,
	    (long long)bench.memory_bytes >> 20);
	script_host_close(&bench.host);
	bundle_drop(&bench.bundle);
	loop_free(&bench.loop);
	conf_free(&conf);
	return bench.failed == 0 ? 0 : 1;
}
