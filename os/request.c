#include "os/request.h"

static bool
is_cancelled(const struct request *r)
{
	return r->cancelled != NULL && atomic_load(r->cancelled);
}

static void
choose_step(struct request *r, int step)
{
	if (step != REQUEST_DONE && is_cancelled(r)) {
		why(&r->why, ERR_CLOSED, "it was cancelled");
		step = REQUEST_DONE;
	}
	r->step = step;
	r->at = step == REQUEST_DONE ? AT_MAIN : r->steps[step].at;
}

/* The request may be freed after this; do not use it. */
static void
enter_place(struct request *r)
{
	const struct request_place *p = &r->places->at[r->at];

	p->enter(r, p->arg);
}

/* True when `step` runs where the request is now. */
static bool
is_at_step(struct request *r, int step)
{
	enum request_at from = r->at;

	choose_step(r, step);
	/* At other places each step has its turn, behind what waits there. */
	if (r->at == from && r->places->at[from].enter == request_enter_loop)
		return true;
	enter_place(r);
	return false;
}

static void
finish(struct request *r)
{
	if (r->places->busy != NULL)
		(*r->places->busy)--;
	r->done(r);
}

int
request_step(struct request *r)
{
	return r->steps[r->step].run(r);
}

int
request_next(struct request *r)
{
	return r->step + 1;
}

int
request_end(struct request *r)
{
	(void)r;
	return REQUEST_DONE;
}

void
request_run(struct request *r)
{
	int successor;

	/* One that waits, or has left, may be gone already. */
	do {
		if (r->step == REQUEST_DONE) {
			finish(r);
			return;
		}
		successor = request_step(r);
	} while (successor != REQUEST_WAIT && is_at_step(r, successor));
}

void
request_leave(struct request *r, enum request_at at, int successor)
{
	CHECK(successor != REQUEST_WAIT);
	r->at = at;
	if (is_at_step(r, successor))
		request_run(r);
}

void
request_resume(struct request *r, int step)
{
	choose_step(r, step);
	enter_place(r);
}

void
request_start(struct request *r, const struct request_places *places,
    const struct request_step *steps, int first)
{
	r->places = places;
	r->steps = steps;
	r->at = AT_MAIN;
	r->why = WHY_INIT;
	if (places->busy != NULL)
		(*places->busy)++;
	if (is_at_step(r, first))
		request_run(r);
}

/* --- places -------------------------------------------------------------- */

static void
deliver(struct mail *m)
{
	request_run(CONTAINER(m, struct request, hop.mail));
}

void
request_enter_loop(struct request *r, void *arg)
{
	loop_send(arg, &r->hop.mail, deliver);
}

static void
run_job(struct job *j)
{
	request_run(CONTAINER(j, struct request, hop.job));
}

/* No loop waits for the job: the request leaves from the pool's thread. */
void
request_enter_pool(struct request *r, void *arg)
{
	r->hop.job = (struct job){ .run = run_job };
	pool_submit(arg, &r->hop.job);
}

static void
visit(struct loop_barrier *b, size_t loop)
{
	struct request *r = CONTAINER(b, struct request, hop.barrier);

	r->steps[r->step].each(r, loop);
}

static void
all_visited(struct loop_barrier *b)
{
	struct request *r = CONTAINER(b, struct request, hop.barrier);

	r->at = AT_LEDGER;
	request_run(r);
}

void
request_enter_loops(struct request *r, void *arg)
{
	const struct request_loops *l = arg;

	r->hop.barrier = (struct loop_barrier){
		.run = r->steps[r->step].each == NULL ? NULL : visit,
		.done = all_visited };
	loop_barrier(&r->hop.barrier, l->home, l->loops, l->n);
}

void
request_drop(struct request *r)
{
	/* all_visited() has ended the barrier, and sets another place. */
	if (r->at == AT_EACH_LOOP)
		loop_barrier_drop(&r->hop.barrier);
}
