#include "engine/catalog/read_task.h"

#define TRIM_MS 10000

struct read_tasks {
	struct loop *home;
	struct pool *pool;
	struct index *index;
	struct list waiting;         /* for a reader */
	unsigned running, held;
	struct record_reader *readers;       /* free ones */
	struct list trims;
	struct timer timer;
	bool trimming;               /* the timer runs */
	void (*closed)(void *);
	void *closed_arg;
};

/* --- memory that is kept for the next reading --------------------------- */

static void
trim_later(struct read_tasks *t)
{
	if (!t->trimming)
		loop_timer_set(t->home, &t->timer,
		    mono_add_ms(loop_now(t->home), TRIM_MS));
	t->trimming = true;
}

static void
trim(struct timer *timer)
{
	struct read_tasks *t = CONTAINER(timer, struct read_tasks, timer);
	bool any = t->running > 0;

	for (struct record_reader *r = t->readers; r != NULL; r = r->next)
		any |= record_reader_trim(r);
	LIST_EACH(x, &t->trims, struct trim, node)
		any |= x->run(x, loop_now(t->home));
	t->trimming = false;
	if (any)
		trim_later(t);
}

void
read_tasks_trim(struct read_tasks *t, struct trim *x)
{
	list_put(&t->trims, &x->node);
}

/* --- readers ------------------------------------------------------------ */

struct record_reader *
read_tasks_lend(struct read_tasks *t)
{
	struct record_reader *r = t->readers;

	trim_later(t);
	if (r == NULL)
		return record_reader_new(t->index);
	t->readers = r->next;
	return r;
}

void
read_tasks_give_back(struct read_tasks *t, struct record_reader *r)
{
	r->next = t->readers;
	t->readers = r;
}

/* --- tasks -------------------------------------------------------------- */

static void
run_task(struct job *j)
{
	struct read_task *t = CONTAINER(j, struct read_task, job);

	t->run(t);
}

static void
start_tasks(struct read_tasks *t)
{
	while (!list_empty(&t->waiting) && t->running < READ_TASKS_MAX) {
		struct read_task *task = LIST_POP(&t->waiting, struct read_task,
		    node);
		task->reader = read_tasks_lend(t);
		t->running++;
		pool_submit(t->pool, &task->job);
	}
	if (t->running == 0 && t->held == 0 && t->closed != NULL) {
		void (*closed)(void *) = t->closed;
		t->closed = NULL;
		closed(t->closed_arg);
	}
}

static void
task_came(struct mail *m)
{
	struct read_task *task = CONTAINER(m, struct read_task, job.mail);
	struct read_tasks *t = task->tasks;

	read_tasks_give_back(t, task->reader);
	task->reader = NULL;
	t->running--;
	task->done(task);
	start_tasks(t);
}

void
read_task_put(struct read_tasks *t, struct read_task *task)
{
	task->tasks = t;
	task->job = (struct job){ .home = t->home, .run = run_task,
	    .mail.deliver = task_came };
	list_put(&t->waiting, &task->node);
	start_tasks(t);
}

void
read_tasks_hold(struct read_tasks *t)
{
	t->held++;
}

void
read_tasks_let_go(struct read_tasks *t)
{
	CHECK(t->held > 0);
	t->held--;
	start_tasks(t);
}

bool
read_tasks_full(const struct read_tasks *t)
{
	return t->running >= READ_TASKS_MAX;
}

/* --- the whole ---------------------------------------------------------- */

struct read_tasks *
read_tasks_new(struct loop *home, struct pool *pool, struct index *index)
{
	struct read_tasks *t = mem_new(sizeof(*t));

	t->home = home;
	t->pool = pool;
	t->index = index;
	list_init(&t->waiting);
	list_init(&t->trims);
	t->timer.fire = trim;
	return t;
}

void
read_tasks_close(struct read_tasks *t, void (*closed)(void *), void *arg)
{
	t->closed = closed;
	t->closed_arg = arg;
	start_tasks(t);
}

void
read_tasks_free(struct read_tasks **tp)
{
	struct read_tasks *t = *tp;
	struct record_reader *r;

	if (t == NULL)
		return;
	/* Without a close, as in the simulator's crashes, some may run still;
	 * nobody takes what they have read. */
	pool_finish(t->pool);
	loop_timer_stop(t->home, &t->timer);
	while ((r = t->readers) != NULL) {
		t->readers = r->next;
		record_reader_free(&r);
	}
	mem_free(tp);
}
