/*
 * How long a run takes, from script_run_start() to on_done, in a process that
 * is there; and what it costs in processor time, the process's and ours.
 *
 *     script_start_bench [RUNS]         an empty run
 *     script_start_bench RUNS page      a page of 400 KB, ten selectors
 *     script_start_bench RUNS write     that page on standard output, no run
 */
#include "os/clock.h"
#include "os/system.h"
#include "script/host.h"
#include "script/worker.h"

#define RUNS_MAX 100000u

struct bench {
	struct loop *loop;
	struct script_run run;
	bool is_done, is_bad;
	int64_t cpu_ns;
};

static struct buf page;

static void
make_page(void)
{
	buf_put_text(&page, "<!doctype html><title>Parts</title><table>");
	for (unsigned i = 0; page.n < 400000; i++)
		buf_printf(&page, "<tr class=\"row r%u\">"
		    "<td class=name><a href=\"/part/%u\" title=\"Part %u\">"
		    "Part number %u</a></td><td class=price>%u.%02u</td>"
		    "<td><ul><li>in stock</li><li><b>new</b> since %u</li>"
		    "</ul></td></tr>\n", i % 7, i, i, i, i % 90, i % 100,
		    1990 + i % 30);
}

static void
take_call(struct script_run *r, struct script_call *c)
{
	(void)r;
	script_call_answer(c, STR("{\"status\":200,\"url\":\"http://a/\","
	    "\"headers\":[[\"content-type\",\"text/html\"]]}"),
	    buf_str(&page));
}

static void
take_cancel(struct script_run *r, struct script_call *c)
{
	(void)r, (void)c;
}

static void
take_done(struct script_run *r, const struct script_outcome *o)
{
	struct bench *b = CONTAINER(r, struct bench, run);

	b->is_done = true;
	b->is_bad = !o->is_success;
	b->cpu_ns = o->cpu_ns;
	script_run_finish(r);
}

static const struct script_run_events events = { .on_call = take_call,
	.on_cancel = take_cancel, .on_done = take_done };

static int
by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static bool
run_once(struct bench *b, struct script_host *host)
{
	struct script_bundle *bundle = b->run.bundle;
	struct script_limits limits = b->run.limits;

	b->run = (struct script_run){ .bundle = bundle, .limits = limits,
		.events = &events, .task = STR("t"),
		.input = STR("{\"seed\":\"1\",\"now\":\"2026-01-01T00:00:00Z\","
		    "\"attempt\":1,\"item\":{\"id\":\"x\",\"data\":{}}}") };
	b->is_done = false;
	script_run_start(host, &b->run);
	loop_run_until(b->loop, &b->is_done);
	return !b->is_bad;
}

static const char empty_source[] =
    "export default { tasks: { t: { async run({ data }) {} } } }";
static const char page_source[] =
    "export default { tasks: { t: { async run({ fetch, updateTags }) {"
    "  const $ = (await fetch('http://a/')).html();"
    "  let n = 0;"
    "  for (const css of ['title', 'td.price', 'tr.r3 a', 'a[title]', "
    "'li > b', 'tr:nth-child(2n)', 'ul li:first-child', '.row td + td', "
    "'a[href^=\"/part/1\"]', 'tr:has(b)'])"
    "    n += $(css).length;"
    "  if (n !== 16933) throw new Error(`${n} found`) } } } }";

int
main(int argc, char **argv)
{
	static int64_t wall[RUNS_MAX], cpu[RUNS_MAX];
	struct bench b = { .is_done = false };
	struct script_host *host = NULL;
	struct conf conf;
	struct why w = WHY_INIT;
	uint64_t n = 2000;
	bool is_page = argc > 2 && strcmp(argv[2], "page") == 0;
	const char *source = is_page ? page_source : empty_source;

	if (script_worker_is(argc, argv))
		script_worker_main();
	system_ignore_sigpipe();
	if (argc > 1 && (!str_to_u64(str_of(argv[1]), &n) || n == 0 ||
	    n > RUNS_MAX))
		return 64;
	make_page();
	if (argc > 2 && strcmp(argv[2], "write") == 0)
		return fwrite(page.p, 1, page.n, stdout) == page.n ? 0 : 74;
	conf_init(&conf);
	struct script_host_options o = script_host_options_of(&conf);
	o.runs_max = RUNS_MAX + 10;
	b.run.limits = script_limits_of(&conf);
	b.loop = loop_new("bench");
	b.run.bundle = bundle_new(STR("main.js"), 1 << 20);
	if (bundle_add(b.run.bundle, STR("main.js"), str_of(source),
	    &w) != OK ||
	    script_host_open(b.loop, &o, &host, &w) != OK) {
		fprintf(stderr, "%s\n", w.text);
		return 70;
	}
	for (int i = 0; i < 10; i++)
		if (!run_once(&b, host))
			return 70;
	int64_t before = system_cpu_ns();
	for (uint64_t i = 0; i < n; i++) {
		struct mono began = clock_mono();
		if (!run_once(&b, host))
			return 70;
		wall[i] = clock_mono().ns - began.ns;
		cpu[i] = b.cpu_ns;
	}
	int64_t ours = (system_cpu_ns() - before) / (int64_t)n;
	qsort(wall, n, sizeof(wall[0]), by_size);
	qsort(cpu, n, sizeof(cpu[0]), by_size);
	printf("%s: runs %llu, wall median %.3f ms, p99 %.3f ms; processor "
	    "median %.3f ms in the process, mean %.3f ms in the daemon\n",
	    is_page ? "page" : "start", (unsigned long long)n,
	    (double)wall[n / 2] / 1e6,
	    (double)wall[n * 99 / 100] / 1e6, (double)cpu[n / 2] / 1e6,
	    (double)ours / 1e6);
	script_host_close(&host);
	bundle_drop(&b.run.bundle);
	buf_free(&page);
	loop_free(&b.loop);
	conf_free(&conf);
	return 0;
}
