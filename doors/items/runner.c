#include "doors/items/runner.h"

#include <limits.h>

#include "os/key_file.h"
#include "os/log.h"
#include "script/items/task_runner.h"

struct runner {
	struct secrets *secrets;
	struct seal_key key;
	struct task_fetcher *fetcher;        /* NULL: not started */
	struct task_runner *tasks;           /* NULL: no scripts, or the same */
	struct buf config;                   /* loaded last, its JSON */
	struct script_bundle *bundle;        /* NULL: it has no functions */
	uint64_t generation;
};

static const char *
path_of(const struct door_host *h, enum conf_id id)
{
	struct str path = conf_str(h->conf, id);

	return path.n == 0 ? NULL : path.p;
}

static enum err
read_key(const struct door_host *h, struct seal_key *key, struct why *w)
{
	const char *path = path_of(h, CONF_SECRETS_KEY_FILE);
	char own[PATH_MAX];

	if (path == NULL && snprintf(own, sizeof(own), "%s/%s", h->data_dir,
	    KEY_FILE_NAME) >= PATH_MAX)
		return why(w, ERR_INPUT, "the path %s is too long",
		    h->data_dir);
	return key_file_read(path == NULL ? own : path, path == NULL,
	    key->bytes, w);
}

enum err
runner_open(struct items_door *d, struct why *w)
{
	d->runner = mem_new(sizeof(*d->runner));
	enum err e = secrets_load(path_of(d->host, CONF_SCRIPT_SECRETS_FILE),
	    &d->runner->secrets, w);
	return e == OK && d->host->scripts != NULL ?
	    read_key(d->host, &d->runner->key, w) : e;
}

/* What remote workers fetch keeps to these, too. */
static enum err
use_fetch_rules(struct items_door *d, struct why *w)
{
	struct runner *r = d->runner;
	struct task_config *c = NULL;

	enum err e = task_config_read(buf_str(&r->config), &d->limits, &c,
	    NULL, w);
	if (e != OK)
		return e;
	struct task_fetch_rules rules = { .policy = c->fetch_policy,
	    .private_hosts = c->fetch_private,
	    .private_n = c->fetch_private_n, .secrets = r->secrets };
	e = task_fetcher_use(r->fetcher, &rules, w);
	task_config_free(&c);
	return e;
}

static enum err
use_loaded(struct items_door *d, struct why *w)
{
	struct runner *r = d->runner;

	return r->tasks != NULL && r->bundle != NULL ? task_runner_use(
	    r->tasks, r->bundle, buf_str(&r->config), r->generation, w) :
	    use_fetch_rules(d, w);
}

static void
start_tasks(struct items_door *d)
{
	struct runner *r = d->runner;
	struct task_runner_options o = { .conf = d->host->conf,
	    .home = d->host->home, .items = d->items,
	    .host = d->host->scripts, .fetcher = r->fetcher,
	    .secrets = r->secrets, .key = r->key };

	r->tasks = task_runner_new(&o);
	explicit_bzero(&o.key, sizeof(o.key));
	explicit_bzero(&r->key, sizeof(r->key));
	if (d->stopping)
		task_runner_stop(r->tasks);
}

void
runner_start(struct items_door *d, struct engine *e)
{
	struct runner *r = d->runner;
	struct why w = WHY_INIT;

	r->fetcher = task_fetcher_new(e, d->host->home);
	if (d->host->scripts != NULL)
		start_tasks(d);
	/* It was judged when it was loaded. */
	if (r->config.n > 0 && use_loaded(d, &w) != OK)
		log_error("items.config_refused", "why=%s", w.text);
}

enum err
runner_use(struct items_door *d, struct script_bundle *b, struct str config,
    uint64_t generation, struct why *w)
{
	struct runner *r = d->runner;

	if (r->bundle != NULL)
		bundle_drop(&r->bundle);
	r->bundle = b == NULL ? NULL : bundle_hold(b);
	buf_clear(&r->config);
	buf_put_str(&r->config, config);
	r->generation = generation;
	return r->fetcher == NULL ? OK : use_loaded(d, w);
}

struct task_fetcher *
runner_fetcher(struct items_door *d)
{
	return d->runner->config.n > 0 ? d->runner->fetcher : NULL;
}

struct task_runner *
runner_tasks(struct items_door *d)
{
	return d->runner->tasks;
}

void
runner_stop(struct items_door *d)
{
	if (d->runner->tasks != NULL)
		task_runner_stop(d->runner->tasks);
}

void
runner_drain(struct items_door *d, void (*drained)(void *door))
{
	if (d->runner->tasks == NULL)
		drained(d);
	else
		task_runner_drain(d->runner->tasks, drained, d);
}

void
runner_free(struct items_door *d)
{
	struct runner *r = d->runner;

	if (r == NULL)
		return;
	task_runner_free(&r->tasks);
	task_fetcher_free(&r->fetcher);
	secrets_drop(&r->secrets);
	if (r->bundle != NULL)
		bundle_drop(&r->bundle);
	buf_free(&r->config);
	explicit_bzero(&r->key, sizeof(r->key));
	mem_free(&d->runner);
}
