#include "os/pool.h"

#include <pthread.h>
#include <time.h>

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t more, idle;
	struct job *first, **last;
	size_t waiting, running;
	bool closing;
	bool left;                   /* nobody joins the threads */
	unsigned threads_n;
	pthread_t threads[];
};

static void
run_job(struct job *j)
{
	struct loop *home = j->home;

	j->run(j);
	if (home != NULL)
		loop_post(home, &j->mail);
}

static struct job *
take_job(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	while (p->first == NULL && !p->closing)
		pthread_cond_wait(&p->more, &p->lock);
	struct job *j = p->first;
	if (j != NULL) {
		p->first = j->next;
		p->waiting--;
		p->running++;
		if (p->first == NULL)
			p->last = &p->first;
	}
	pthread_mutex_unlock(&p->lock);
	return j;
}

/* Home may be gone when the pool was left: then nobody is told. */
static void
run_in(struct pool *p, struct job *j)
{
	struct loop *home = j->home;

	j->run(j);
	pthread_mutex_lock(&p->lock);
	if (home != NULL && !p->left)
		loop_post(home, &j->mail);
	if (--p->running == 0 && p->first == NULL)
		pthread_cond_broadcast(&p->idle);
	pthread_mutex_unlock(&p->lock);
}

static void
free_memory(struct pool **pp)
{
	pthread_cond_destroy(&(*pp)->more);
	pthread_cond_destroy(&(*pp)->idle);
	pthread_mutex_destroy(&(*pp)->lock);
	mem_free(pp);
}

/* A pool that was left goes with its last thread. */
static void
leave(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	bool is_last = p->left && --p->threads_n == 0;
	pthread_mutex_unlock(&p->lock);
	if (is_last)
		free_memory(&p);
}

static void *
thread_main(void *arg)
{
	struct pool *p = arg;
	struct job *j;

	pthread_setname_np(pthread_self(), "pool");
	while ((j = take_job(p)) != NULL)
		run_in(p, j);
	leave(p);
	return NULL;
}

struct pool *
pool_new(unsigned threads)
{
	struct pool *p = mem_new(sizeof(*p) + threads * sizeof(p->threads[0]));

	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->more, NULL);
	pthread_cond_init(&p->idle, NULL);
	p->last = &p->first;
	p->threads_n = threads;
	for (unsigned i = 0; i < threads; i++)
		CHECK(pthread_create(&p->threads[i], NULL, thread_main,
		    p) == 0);
	return p;
}

void
pool_free(struct pool **pp)
{
	struct pool *p = *pp;

	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	p->closing = true;
	pthread_cond_broadcast(&p->more);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->threads_n; i++)
		pthread_join(p->threads[i], NULL);
	free_memory(pp);
}

bool
pool_free_within(struct pool **pp, int64_t ms)
{
	struct pool *p = *pp;
	struct timespec until;
	int r = 0;

	if (p == NULL)
		return true;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	pthread_mutex_lock(&p->lock);
	while (r == 0 && (p->first != NULL || p->running > 0))
		r = pthread_cond_timedwait(&p->idle, &p->lock, &until);
	bool is_idle = p->first == NULL && p->running == 0;
	if (!is_idle) {
		/* No further job begins. */
		p->first = NULL;
		p->last = &p->first;
		p->closing = p->left = true;
		for (unsigned i = 0; i < p->threads_n; i++)
			pthread_detach(p->threads[i]);
		pthread_cond_broadcast(&p->more);
	}
	pthread_mutex_unlock(&p->lock);
	if (is_idle) {
		pool_free(pp);
		return true;
	}
	*pp = NULL;
	return false;
}

void
pool_submit(struct pool *p, struct job *j)
{
	if (p->threads_n == 0) {
		run_job(j);
		return;
	}
	j->next = NULL;
	pthread_mutex_lock(&p->lock);
	*p->last = j;
	p->last = &j->next;
	p->waiting++;
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
}

size_t
pool_waiting(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	size_t n = p->waiting;
	pthread_mutex_unlock(&p->lock);
	return n;
}

void
pool_finish(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	while (p->first != NULL || p->running > 0)
		pthread_cond_wait(&p->idle, &p->lock);
	pthread_mutex_unlock(&p->lock);
}
