#include "engine/control/store_async.h"

#include "engine/control/control.h"
#include "engine/control/engine_own.h"
#include "engine/rebuild/snapshot.h"

struct store_async {
	struct store *store;
	struct pool *pool;
};

static void
run(struct job *j)
{
	struct store_async_job *s = CONTAINER(j, struct store_async_job, job);

	s->run(s, s->engine->store_async->store);
}

static void
deliver(struct mail *m)
{
	struct store_async_job *s = CONTAINER(CONTAINER(m, struct job, mail),
	    struct store_async_job, job);

	s->engine->asked--;
	s->done(s);
}

void
store_async_put(struct engine *e, struct store_async_job *s)
{
	e->asked++;
	s->engine = e;
	s->job = (struct job){ .mail.deliver = deliver,
	    .home = e->options.home, .run = run };
	pool_submit(e->store_async->pool, &s->job);
}

struct store *
store_async_store(struct store_async *s)
{
	return s->store;
}

struct pool *
store_async_pool(struct store_async *s)
{
	return s->pool;
}

enum err
engine_open_store(const char *dir, struct store **out, struct why *w)
{
	struct policy *p = policy_new();
	struct buf json = BUF_INIT;

	policy_to_json(p, &json);
	struct store_options o = { .policy_default = buf_text(&json) };
	enum err e = snapshot_check(dir, w);
	if (e == OK)
		e = store_open(dir, &o, out, w);
	buf_free(&json);
	policy_free(&p);
	return e;
}

enum err
store_async_open(struct engine *e, struct store_async **out, struct why *w)
{
	struct store_async *s = mem_new(sizeof(*s));

	enum err err = engine_open_store(e->data_dir, &s->store, w);
	if (err != OK) {
		mem_free(&s);
		return err;
	}
	s->pool = pool_new(e->options.no_threads ? 0 : 1);
	*out = s;
	return OK;
}

void
store_async_close(struct store_async **sp)
{
	struct store_async *s = *sp;

	if (s == NULL)
		return;
	pool_free(&s->pool);
	store_close(&s->store);
	mem_free(sp);
}
