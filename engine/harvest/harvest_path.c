/*
 * What is done in a harvest's directory, which may be away or hang:
 *
 *     path job ─► thread of its root ─► done, or late
 *
 * Each root has a thread of its own, so that one that hangs holds up its own
 * harvests alone.  A job owns all that it works on; one that is late is left to
 * itself, and freed when it comes back.
 */
#include "engine/harvest/harvest_own.h"
#include "os/clock.h"

/* The jobs of one root. */
struct path_queue {
	struct list node;
	char *root;                  /* "": of no root */
	struct pool *pool;
};

enum err
path_job_open(const struct path_job *p, enum shared_dir_mode mode,
    struct shared_dir *d, struct why *w)
{
	const struct harvests_options *o = &p->all->options;

	*d = (struct shared_dir)SHARED_DIR_INIT;
	enum err e = o->admit == NULL ? OK :
	    o->admit(o->arg, p->origin, p->path, w);
	return e == OK ? shared_dir_open(&p->root, p->path.p, mode, d, w) : e;
}

static struct path_queue *
queue_of(struct harvests *all, const char *root)
{
	LIST_EACH(q, &all->path_queues, struct path_queue, node)
		if (str_eq(str_of(q->root), str_of(root)))
			return q;
	struct path_queue *q = mem_new(sizeof(*q));
	q->root = mem_copy_text(root);
	q->pool = pool_new(all->options.no_threads ? 0 : 1);
	list_put(&all->path_queues, &q->node);
	return q;
}

struct path_job *
path_job_new(struct harvest *h)
{
	const struct harvests_options *o = &h->all->options;
	struct path_job *p = mem_new(sizeof(*p));

	p->all = h->all;
	p->h = h;
	p->origin = h->origin;
	p->id = arena_copy(&p->arena, h->id);
	p->path = arena_copy(&p->arena, h->path);
	p->dir = h->dir == NULL ? NULL : arena_copy(&p->arena, str_of(
	    h->dir)).p;
	if (o->root_of != NULL)
		p->root = o->root_of(o->arg, p->path);
	list_put(&h->all->path_jobs, &p->node);
	return p;
}

void
path_job_free(struct path_job **pp)
{
	struct path_job *p = *pp;

	if (p == NULL)
		return;
	CHECK(!p->is_out);
	list_take(&p->node);
	arena_free(&p->arena);
	mem_free(pp);
}

static void
come_back(struct mail *m)
{
	struct path_job *p = CONTAINER(CONTAINER(m, struct job, mail),
	    struct path_job, job);
	struct path_job *own = p;

	p->is_out = false;
	loop_timer_stop(p->all->options.home, &p->timer);
	if (p->h != NULL)
		p->done(p);
	else
		path_job_free(&own);
}

static void
run_job(struct job *j)
{
	struct path_job *p = CONTAINER(j, struct path_job, job);

	p->run(p);
}

static void
time_over(struct timer *t)
{
	struct path_job *p = CONTAINER(t, struct path_job, timer);

	p->late(p);
}

void
path_job_start(struct path_job *p, void (*run)(struct path_job *),
    void (*done)(struct path_job *), void (*late)(struct path_job *))
{
	p->run = run;
	p->done = done;
	p->late = late;
	p->is_out = true;
	p->why = WHY_INIT;
	if (late != NULL) {
		p->timer.fire = time_over;
		loop_timer_set(p->all->options.home, &p->timer, mono_add_ms(
		    clock_mono(), HARVEST_PATH_MS));
	}
	p->job = (struct job){ .mail.deliver = come_back,
	    .home = p->all->options.home, .run = run_job };
	pool_submit(queue_of(p->all, p->root.path == NULL ? "" :
	    p->root.path)->pool, &p->job);
}

void
path_job_leave(struct path_job **pp)
{
	struct path_job *p = *pp;

	if (p == NULL)
		return;
	loop_timer_stop(p->all->options.home, &p->timer);
	p->h = NULL;
	if (p->is_out)
		*pp = NULL;
	else
		path_job_free(pp);
}

bool
path_error_waits(const struct path_job *p)
{
	switch (p->why.err) {
	case OK:
	case ERR_INPUT:
	case ERR_DENIED:
	case ERR_EXISTS:
	case ERR_CORRUPT:
		return false;
	default:
		/* The operator's own directory: whoever asks can be told. */
		return p->root.path != NULL;
	}
}

bool
harvests_end_paths(struct harvests *all)
{
	bool all_came = true;

	while (!list_empty(&all->path_queues)) {
		struct path_queue *q = LIST_ITEM(all->path_queues.next,
		    struct path_queue, node);
		list_take(&q->node);
		all_came &= pool_free_within(&q->pool, HARVEST_PATH_MS);
		mem_free(&q->root);
		mem_free(&q);
	}
	return all_came;
}

void
harvests_free_path_jobs(struct harvests *all)
{
	while (!list_empty(&all->path_jobs)) {
		struct path_job *p = LIST_ITEM(all->path_jobs.next,
		    struct path_job, node);
		p->is_out = false;
		path_job_free(&p);
	}
}
