/*
 * script_try MAIN [FILE...] -- runs the task "t" of a configuration in the real
 * sandbox, on an item of its own, and prints its log and its end.
 *
 * The files are the whole bundle, by their names in the current folder.
 */
#include "base/conf.h"
#include "script/host.h"
#include "script/worker.h"

struct try {
	struct loop *loop;
	struct script_run run;
	bool is_done, is_success;
};

static void
refuse_call(struct script_run *r, struct script_call *c)
{
	(void)r;
	script_call_fail(c, STR("{\"class\":\"PermanentError\","
	    "\"message\":\"there is no store\"}"), STR_NONE);
}

static void
forget_call(struct script_run *r, struct script_call *c)
{
	(void)r, (void)c;
}

static void
print_line(struct script_run *r, struct str category, struct str message)
{
	(void)r;
	printf("%.*s %.*s\n", STR_FMT(category), STR_FMT(message));
}

static void
print_end(struct script_run *r, const struct script_outcome *o)
{
	struct try *t = CONTAINER(r, struct try, run);

	t->is_done = true;
	t->is_success = o->is_success;
	if (!o->is_success)
		printf("%.*s %.*s\n%.*s", STR_FMT(o->code),
		    STR_FMT(o->message), STR_FMT(o->stack));
	printf("%s, heap %lld KiB, processor %lld ms\n",
	    o->is_success ? "success" : "failure",
	    (long long)o->heap_bytes / 1024, (long long)o->cpu_ns / 1000000);
	script_run_finish(r);
}

static const struct script_run_events events = { .on_call = refuse_call,
	.on_cancel = forget_call, .on_log = print_line, .on_done = print_end };

static bool
read_file(const char *path, struct buf *out)
{
	char block[4096];
	size_t n;
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return false;
	while ((n = fread(block, 1, sizeof(block), f)) > 0)
		buf_put(out, block, n);
	fclose(f);
	return true;
}

static bool
add_files(struct script_bundle *b, char **paths, int n)
{
	for (int i = 0; i < n; i++) {
		struct buf source = BUF_INIT;
		struct why w = WHY_INIT;
		bool done = read_file(paths[i], &source) && bundle_add(b,
		    str_of(paths[i]), buf_str(&source), &w) == OK;
		buf_free(&source);
		if (!done) {
			fprintf(stderr, "%s: %s\n", paths[i], w.text);
			return false;
		}
	}
	return true;
}

int
main(int argc, char **argv)
{
	struct try t = { .is_done = false };
	struct script_host *host = NULL;
	struct conf conf;
	struct why w = WHY_INIT;

	if (script_worker_is(argc, argv))
		script_worker_main();
	if (argc < 2)
		return 64;
	conf_init(&conf);
	struct script_host_options options = script_host_options_of(&conf);
	t.loop = loop_new("try");
	t.run = (struct script_run){ .task = STR("t"), .events = &events,
		.limits = script_limits_of(&conf),
		.bundle = bundle_new(str_of(argv[1]), (size_t)1 << 24),
		.input = STR("{\"seed\":\"1\",\"now\":\"2026-01-01T00:00:00Z\","
		    "\"attempt\":1,\"item\":{\"id\":\"x\",\"data\":{}}}") };
	if (!add_files(t.run.bundle, argv + 1, argc - 1))
		return 66;
	if (script_host_open(t.loop, &options, &host, &w) != OK) {
		fprintf(stderr, "%s\n", w.text);
		return 70;
	}
	script_run_start(host, &t.run);
	loop_run_until(t.loop, &t.is_done);
	script_host_close(&host);
	bundle_drop(&t.run.bundle);
	loop_free(&t.loop);
	conf_free(&conf);
	return t.is_success ? 0 : 1;
}
