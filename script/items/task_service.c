#include "script/items/task_service.h"

#include <limits.h>

#include "os/key_file.h"
#include "os/log.h"

struct task_service {
	struct task_service_options o;
	struct items *items;                 /* NULL: not started */
	struct secrets *secrets;
	struct seal_key key;
	struct task_fetcher *fetcher;        /* NULL: not started */
	struct task_runner *tasks;           /* NULL: no scripts, or the same */
	struct buf config;                   /* loaded last, its JSON */
	struct script_bundle *bundle;        /* NULL: it has no functions */
	uint64_t generation;
	bool has_rules;                      /* of one that could be used */
	bool stopped;
};

static const char *
path_of(const struct task_service *s, enum conf_id id)
{
	struct str path = conf_str(s->o.conf, id);

	return path.n == 0 ? NULL : path.p;
}

static enum err
read_key(struct task_service *s, struct why *w)
{
	const char *path = path_of(s, CONF_SECRETS_KEY_FILE);
	char own[PATH_MAX];

	if (path == NULL && snprintf(own, sizeof(own), "%s/%s", s->o.data_dir,
	    KEY_FILE_NAME) >= PATH_MAX)
		return why(w, ERR_INPUT, "the path %s is too long",
		    s->o.data_dir);
	return key_file_read(path == NULL ? own : path, path == NULL,
	    s->key.bytes, w);
}

enum err
task_service_open(const struct task_service_options *o,
    struct task_service **out, struct why *w)
{
	struct task_service *s = *out = mem_new(sizeof(*s));

	s->o = *o;
	enum err e = secrets_load(path_of(s, CONF_SCRIPT_SECRETS_FILE),
	    &s->secrets, w);
	return e == OK && o->scripts != NULL ? read_key(s, w) : e;
}

/* What remote workers fetch keeps to these, too. */
static enum err
use_fetch_rules(struct task_service *s, struct why *w)
{
	struct task_config *c = NULL;

	enum err e = task_config_read(buf_str(&s->config),
	    items_limits(s->items), &c, NULL, w);
	if (e != OK)
		return e;
	struct task_fetch_rules rules = { .policy = c->fetch_policy,
	    .private_hosts = c->fetch_private,
	    .private_n = c->fetch_private_n, .secrets = s->secrets };
	e = task_fetcher_use(s->fetcher, &rules, w);
	task_config_free(&c);
	return e;
}

static enum err
use_loaded(struct task_service *s, struct why *w)
{
	enum err e = s->tasks != NULL && s->bundle != NULL ? task_runner_use(
	    s->tasks, s->bundle, buf_str(&s->config), s->generation, w) :
	    use_fetch_rules(s, w);
	s->has_rules = s->has_rules || e == OK;
	return e;
}

static void
start_tasks(struct task_service *s)
{
	struct task_runner_options o = { .conf = s->o.conf,
	    .home = s->o.home, .items = s->items, .host = s->o.scripts,
	    .fetcher = s->fetcher, .secrets = s->secrets, .key = s->key,
	    .tasks = s->o.tasks, .tasks_n = s->o.tasks_n,
	    .item = s->o.item, .ended = s->o.ended, .arg = s->o.arg };

	s->tasks = task_runner_new(&o);
	explicit_bzero(&o.key, sizeof(o.key));
	explicit_bzero(&s->key, sizeof(s->key));
	if (s->stopped)
		task_runner_stop(s->tasks);
}

void
task_service_start(struct task_service *s, struct engine *e,
    struct items *items)
{
	struct why w = WHY_INIT;

	s->items = items;
	s->fetcher = task_fetcher_new(e, s->o.home);
	if (s->o.scripts != NULL)
		start_tasks(s);
	/* It was judged when it was loaded. */
	if (s->config.n > 0 && use_loaded(s, &w) != OK)
		log_error("items.config_refused", "why=%s", w.text);
}

enum err
task_service_use(struct task_service *s, struct script_bundle *b,
    struct str config, uint64_t generation, struct why *w)
{
	if (s->bundle != NULL)
		bundle_drop(&s->bundle);
	s->bundle = b == NULL ? NULL : bundle_hold(b);
	buf_clear(&s->config);
	buf_put_str(&s->config, config);
	s->generation = generation;
	return s->fetcher == NULL ? OK : use_loaded(s, w);
}

struct task_fetcher *
task_service_fetcher(const struct task_service *s)
{
	return s->has_rules ? s->fetcher : NULL;
}

void
task_service_put_secrets(const struct task_service *s, struct buf *b)
{
	secrets_put_names(s->secrets, b);
}

struct task_runner *
task_service_runner(const struct task_service *s)
{
	return s->tasks;
}

void
task_service_stop(struct task_service *s)
{
	s->stopped = true;
	if (s->tasks != NULL)
		task_runner_stop(s->tasks);
}

void
task_service_drain(struct task_service *s, void (*drained)(void *arg),
    void *arg)
{
	if (s->tasks == NULL)
		drained(arg);
	else
		task_runner_drain(s->tasks, drained, arg);
}

void
task_service_free(struct task_service **sp)
{
	struct task_service *s = *sp;

	if (s == NULL)
		return;
	task_runner_free(&s->tasks);
	task_fetcher_free(&s->fetcher);
	secrets_drop(&s->secrets);
	if (s->bundle != NULL)
		bundle_drop(&s->bundle);
	buf_free(&s->config);
	explicit_bzero(&s->key, sizeof(s->key));
	mem_free(sp);
}
