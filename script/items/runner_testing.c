#include "script/items/runner_testing.h"

#include "engine/items/item_query.h"
#include "os/clock.h"
#include "script/items/source.h"
#include "script/script_testing.h"

struct rig rig;
struct items *items;
struct script_host *host;
struct task_fetcher *fetcher;
struct task_runner *runner;
static struct secrets *secrets;

/* -- A daemon's parts -- */

void
open_parts(void)
{
	struct script_host_options o = script_host_options_of(&rig.conf);
	struct items_options io = { .conf = &rig.conf, .home = rig.home,
	    .data_dir = rig.dir };
	struct why w = WHY_INIT;

	if (script_host_open(rig.home, &o, &host, &w) != OK ||
	    items_open(&io, &items, &w) != OK ||
	    secrets_parse(STR("{\"pass\":{\"value\":\"canary-1234\",\"hosts\":"
	    "[\"127.0.0.1\"]}}"), &secrets, &w) != OK)
		fail_msg("%s", w.text);
	fetcher = task_fetcher_new(rig.engine, rig.home);
	struct task_runner_options ro = { .conf = &rig.conf,
	    .home = rig.home, .items = items, .host = host,
	    .fetcher = fetcher, .secrets = secrets,
	    .key = { "0123456789abcdef0123456789abcde" } };
	runner = task_runner_new(&ro);
}

static void
set_flag(void *arg)
{
	*(bool *)arg = true;
}

void
close_parts(void)
{
	bool drained = false, closed = false;

	task_runner_stop(runner);
	items_stop_claims(items);
	task_runner_drain(runner, set_flag, &drained);
	RIG_UNTIL_DONE(&rig, drained);
	items_close(items, set_flag, &closed);
	RIG_UNTIL_DONE(&rig, closed);
	task_runner_free(&runner);
	items_free(&items);
	task_fetcher_free(&fetcher);
	script_host_close(&host);
	secrets_drop(&secrets);
}

void
open_all(rig_site_fn *site, const char *store)
{
	rig_open(&rig, site, (const char *const[]){ "script.processes_max=4",
	    store, NULL });
	rig_start(&rig);
	open_parts();
}

void
close_all(void)
{
	close_parts();
	rig_close(&rig);
}

/* -- Loading -- */

struct loading {
	struct config_run config;
	struct items_write write;
	struct buf files;
	uint64_t generation;
	bool is_read, is_loaded;
};

static void
config_read(struct config_run *c)
{
	CONTAINER(c, struct loading, config)->is_read = true;
}

static enum err
load(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct loading *l = CONTAINER(w, struct loading, write);
	struct task_config *c = NULL;

	enum err e = task_config_read(buf_str(&l->config.json),
	    items_limits(items), &c, NULL, why);
	if (e != OK)
		return e;
	c->hash = arena_copy(&c->arena, str_of(bundle_hash(
	    l->config.bundle)));
	return generation_load(tx, c, buf_str(&l->files), &l->generation,
	    why);
}

static void
loaded(struct items_write *w)
{
	CONTAINER(w, struct loading, write)->is_loaded = true;
}

struct script_bundle *
bundle_of(const char *source)
{
	struct script_bundle *b = bundle_new(STR("shop.js"), 1 << 20);
	struct str text = arena_printf(&rig.arena, "const SITE = "
	    "'http://127.0.0.1:%u';\nexport default {\n fetch: { policy: "
	    "{ rate_limit: 0 }, private: ['127.0.0.1:%u'] },\n%s};\n",
	    rig.port, rig.port, source);

	assert_int_equal(bundle_add(b, STR("shop.js"), text, NULL), OK);
	return b;
}

/* Load a configuration and run it. */
void
use(const char *source)
{
	struct loading l = { .config.bundle = bundle_of(source),
	    .config.limits = script_limits_of(&rig.conf),
	    .config.done = config_read };
	struct why w = WHY_INIT;

	config_run_start(host, &l.config);
	RIG_UNTIL_DONE(&rig, l.is_read);
	if (l.config.why.err != OK)
		fail_msg("%s", l.config.why.text);
	source_to_json(l.config.bundle, &l.files);
	l.write.run = load;
	l.write.done = loaded;
	l.write.alone = true;
	l.write.why = WHY_INIT;
	items_write(items, &l.write);
	RIG_UNTIL_DONE(&rig, l.is_loaded);
	if (l.write.result != OK)
		fail_msg("%s", l.write.why.text);
	if (task_runner_use(runner, l.config.bundle, buf_str(&l.config.json),
	    l.generation, &w) != OK)
		fail_msg("%s", w.text);
	config_run_free(&l.config);
	bundle_drop(&l.config.bundle);
	buf_free(&l.files);
	arena_free(&l.write.arena);
}

/* -- What is stored -- */

struct asking {
	struct items_read read;
	enum err (*run)(struct item_store *, struct buf *, struct why *);
	bool done;
};
static const char *asked_id, *asked_task, *asked_run;

static enum err
query_item(struct item_store *s, struct buf *b, struct why *w)
{
	uint64_t rev;

	return item_query_get(s, str_of(asked_id), b, &rev, w);
}

static enum err
query_tasks(struct item_store *s, struct buf *b, struct why *w)
{
	return item_query_tasks(s, STR(""), clock_wall(), b, w);
}

static enum err
query_failures(struct item_store *s, struct buf *b, struct why *w)
{
	return item_query_failures(s, str_of(asked_task), -1, STR(""), 100, b,
	    w);
}

static enum err
query_metadata(struct item_store *s, struct buf *b, struct why *w)
{
	struct str task = str_of(asked_task);

	return item_query_metadata(s, str_of(asked_id), &task, 1,
	    clock_wall(), b, w);
}

static enum err
query_runs(struct item_store *s, struct buf *b, struct why *w)
{
	return item_query_runs(s, str_of(asked_id), str_of(asked_task), b, w);
}

static enum err
query_run(struct item_store *s, struct buf *b, struct why *w)
{
	return item_query_run(s, str_of(asked_run), b, w);
}

static enum err
run_query(struct items_read *r, struct item_store *s, struct why *w)
{
	return CONTAINER(r, struct asking, read)->run(s, &r->out, w);
}

static void
asked(struct items_read *r)
{
	CONTAINER(r, struct asking, read)->done = true;
}

/* Memory: the rig's. */
static const char *
ask(enum err (*run)(struct item_store *, struct buf *, struct why *))
{
	struct asking a = { .run = run, .read.run = run_query,
	    .read.done = asked, .read.why = WHY_INIT };

	items_read(items, &a.read);
	RIG_UNTIL_DONE(&rig, a.done);
	const char *text = a.read.result != OK ? "" : arena_copy(&rig.arena,
	    buf_str(&a.read.out)).p;
	buf_free(&a.read.out);
	arena_free(&a.read.arena);
	return text;
}

const char *
item(const char *id)
{
	asked_id = id;
	return ask(query_item);
}

const char *
metadata(const char *id, const char *task)
{
	asked_id = id;
	asked_task = task;
	return ask(query_metadata);
}

const char *
ask_tasks(void)
{
	return ask(query_tasks);
}

const char *
ask_failures(const char *task)
{
	asked_task = task;
	return ask(query_failures);
}

const char *
ask_runs(const char *id, const char *task)
{
	asked_id = id;
	asked_task = task;
	return ask(query_runs);
}

const char *
ask_run(const char *run)
{
	asked_run = run;
	return ask(query_run);
}

static bool
has_completed(struct rig *r, void *arg)
{
	struct task_runner_counts n = task_runner_counts(runner);

	(void)r;
	return n.completed + n.failed >= *(uint64_t *)arg && n.running == 0;
}

void
wait_for_runs(uint64_t n)
{
	rig_until(&rig, has_completed, &n);
}

void
contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("no %s in %s", part, text);
}
