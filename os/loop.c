#include "os/loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/system.h"

#define EVENTS_PER_TURN 128

struct loop {
	const char *name;
	_Atomic(struct mail *) box;  /* newest first; reversed on delivery */
	atomic_bool stopped;
	atomic_bool sleeps;          /* in epoll_wait(), or about to */
	struct heap timers;
	uint64_t timers_set;         /* ever: equal times fire in this order */
	bool firing;
	struct list hooks;
	struct mono now;
	int epoll_fd;
	struct watch wake;           /* an eventfd: it slept */
	pthread_t thread;
	struct watch signals;
	void (*got_signal)(void *, int);
	void *signal_arg;
	bool gives_way;              /* its thread, to others */
	size_t stack_bytes;          /* 0: the system's choice */
};

/* Edge-triggered: each write wakes once more, and nobody need read it. */
static void
woken(struct watch *w, unsigned events)
{
	(void)w, (void)events;
}

/*
 * A loop that does not sleep looks at its box and at `stopped` before it does:
 *
 *     this thread   writes the box,   then reads `sleeps`
 *     the loop's    writes `sleeps`,  then reads the box
 *
 * All four are sequentially consistent, so one of them sees the other's write.
 */
static void
wake(struct loop *l)
{
	uint64_t one = 1;

	/* One write is enough until it has slept again. */
	if (!atomic_load(&l->sleeps) || !atomic_exchange(&l->sleeps, false))
		return;
	if (write(l->wake.fd, &one, sizeof(one)) < 0)
		CHECK(errno == EAGAIN || errno == EINTR);
}

struct loop *
loop_new(const char *name)
{
	struct loop *l = mem_new(sizeof(*l));

	l->name = name;
	list_init(&l->hooks);
	l->now = clock_mono();
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	CHECK(l->epoll_fd >= 0);
	l->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	CHECK(l->wake.fd >= 0);
	l->wake.ready = woken;
	l->signals.fd = -1;
	struct epoll_event e = { .events = EPOLLIN | EPOLLET,
	    .data.ptr = &l->wake };
	CHECK(epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->wake.fd, &e) == 0);
	return l;
}

void
loop_free(struct loop **lp)
{
	struct loop *l = *lp;

	if (l == NULL)
		return;
	if (l->signals.fd >= 0)
		close(l->signals.fd);
	close(l->wake.fd);
	close(l->epoll_fd);
	heap_free(&l->timers);
	mem_free(lp);
}

void
loop_post(struct loop *l, struct mail *m)
{
	struct mail *head = atomic_load_explicit(&l->box, memory_order_relaxed);

	do
		m->next = head;
	while (!atomic_compare_exchange_weak_explicit(&l->box, &head, m,
	    memory_order_seq_cst, memory_order_relaxed));
	/* A box that held mail already has been, or will be, looked at. */
	if (head == NULL)
		wake(l);
}

static void
deliver_answer(struct mail *m)
{
	struct loop_call *c = CONTAINER(m, struct loop_call, mail);

	c->done(c);
}

static void
deliver_call(struct mail *m)
{
	struct loop_call *c = CONTAINER(m, struct loop_call, mail);
	struct loop *home = c->home;

	c->run(c);
	loop_send(home, m, deliver_answer);
}

void
loop_ask(struct loop *l, struct loop_call *c)
{
	loop_send(l, &c->mail, deliver_call);
}

struct loop_barrier_call {
	struct loop_call call;
	struct loop_barrier *barrier;
};

static void
run_barrier(struct loop_call *call)
{
	struct loop_barrier_call *c = CONTAINER(call, struct loop_barrier_call,
	    call);
	struct loop_barrier *b = c->barrier;

	if (b->run != NULL)
		b->run(b, (size_t)(c - b->calls));
}

static void
passed_barrier(struct loop_call *call)
{
	struct loop_barrier *b = CONTAINER(call, struct loop_barrier_call,
	    call)->barrier;

	if (--b->left > 0)
		return;
	mem_free(&b->calls);
	b->done(b);
}

void
loop_barrier(struct loop_barrier *b, struct loop *home,
    struct loop *const *loops, size_t n)
{
	CHECK(n > 0);
	b->calls = mem_array(n, sizeof(*b->calls));
	b->left = n;
	for (size_t i = 0; i < n; i++) {
		b->calls[i] = (struct loop_barrier_call){ .barrier = b,
		    .call = { .home = home, .run = run_barrier,
		    .done = passed_barrier } };
		loop_ask(loops[i], &b->calls[i].call);
	}
}

void
loop_barrier_drop(struct loop_barrier *b)
{
	mem_free(&b->calls);
}

void
loop_stop(struct loop *l)
{
	atomic_store(&l->stopped, true);
	wake(l);
}

static bool
deliver_mail(struct loop *l)
{
	struct mail *m = atomic_exchange_explicit(&l->box, NULL,
	    memory_order_acquire);
	struct mail *oldest = NULL;

	while (m != NULL) {
		struct mail *next = m->next;
		m->next = oldest;
		oldest = m;
		m = next;
	}
	bool any = oldest != NULL;
	while (oldest != NULL) {
		struct mail *next = oldest->next;
		oldest->deliver(oldest);
		oldest = next;
	}
	return any;
}

static bool
fire_timers(struct loop *l)
{
	bool any = false;
	struct heap_node *n;
	uint64_t before = l->timers_set;

	/* One that is set again for now or earlier waits for the next turn. */
	l->firing = true;
	while ((n = heap_first(&l->timers)) != NULL && n->key <= l->now.ns &&
	    n->tie <= before) {
		struct timer *t = CONTAINER(n, struct timer, node);
		heap_take(&l->timers, n);
		t->fire(t);
		any = true;
	}
	l->firing = false;
	return any;
}

static void
run_hooks(struct loop *l)
{
	struct list *next;

	for (struct list *n = l->hooks.next; n != &l->hooks; n = next) {
		next = n->next;
		struct turn_hook *h = LIST_ITEM(n, struct turn_hook, node);
		h->run(h);
	}
}

static unsigned
events_of(uint32_t e)
{
	return ((e & EPOLLIN) ? LOOP_READ : 0u) |
	    ((e & EPOLLOUT) ? LOOP_WRITE : 0u) |
	    ((e & (EPOLLERR | EPOLLHUP)) ? LOOP_ERROR : 0u);
}

/* How long epoll may sleep: rounded up, so that no timer is met too early. */
static int
wait_ms(const struct loop *l)
{
	struct mono next = loop_next_timer(l);

	if (atomic_load(&l->box) != NULL || atomic_load(&l->stopped))
		return 0;
	if (next.ns == MONO_NEVER.ns)
		return -1;
	int64_t ns = next.ns - clock_mono().ns;
	if (ns <= 0)
		return 0;
	return (int)MIN((ns + NS_PER_MS - 1) / NS_PER_MS, 60000);
}

static bool
poll_descriptors(struct loop *l, int timeout_ms)
{
	struct epoll_event ready[EVENTS_PER_TURN];
	int n = epoll_wait(l->epoll_fd, ready, EVENTS_PER_TURN, timeout_ms);

	atomic_store(&l->sleeps, false);
	CHECK(n >= 0 || errno == EINTR);
	l->now = clock_mono();
	for (int i = 0; i < n; i++) {
		struct watch *w = ready[i].data.ptr;
		/* An earlier callback of this round may have closed it. */
		if (w->fd >= 0)
			w->ready(w, events_of(ready[i].events));
	}
	return n > 0;
}

static bool
turn(struct loop *l, bool may_wait)
{
	if (may_wait)
		atomic_store(&l->sleeps, true);
	bool any = poll_descriptors(l, may_wait ? wait_ms(l) : 0);
	any |= deliver_mail(l);
	any |= fire_timers(l);
	if (any)
		run_hooks(l);
	return any;
}

bool
loop_step(struct loop *l)
{
	return turn(l, false);
}

void
loop_run(struct loop *l)
{
	/* For what was prepared before the loop ran. */
	run_hooks(l);
	/* Acquire: mail that was posted before loop_stop() is seen below. */
	while (!atomic_load_explicit(&l->stopped, memory_order_acquire))
		turn(l, true);
	while (deliver_mail(l))
		run_hooks(l);
}

void
loop_run_until(struct loop *l, const bool *done)
{
	run_hooks(l);
	while (!*done &&
	    !atomic_load_explicit(&l->stopped, memory_order_acquire))
		turn(l, true);
}

static void *
thread_main(void *arg)
{
	struct loop *l = arg;

	pthread_setname_np(pthread_self(), l->name);
	if (l->gives_way)
		system_give_way();
	loop_run(l);
	return NULL;
}

void
loop_give_way(struct loop *l)
{
	l->gives_way = true;
}

void
loop_set_stack(struct loop *l, size_t bytes)
{
	l->stack_bytes = bytes;
}

void
loop_start(struct loop *l)
{
	pthread_attr_t attr;

	CHECK(pthread_attr_init(&attr) == 0);
	if (l->stack_bytes > 0)
		CHECK(pthread_attr_setstacksize(&attr, l->stack_bytes) == 0);
	CHECK(pthread_create(&l->thread, &attr, thread_main, l) == 0);
	(void)pthread_attr_destroy(&attr);
}

void
loop_join(struct loop *l)
{
	CHECK(pthread_join(l->thread, NULL) == 0);
}

struct mono
loop_next_timer(const struct loop *l)
{
	const struct heap_node *n = heap_first(&l->timers);

	return n == NULL ? MONO_NEVER : (struct mono){ n->key };
}

struct mono
loop_now(const struct loop *l)
{
	return l->now;
}

void
loop_timer_set(struct loop *l, struct timer *t, struct mono when)
{
	/* After all due timers, or those would wait for ever. */
	int64_t key = l->firing ? MAX(when.ns, l->now.ns) : when.ns;

	heap_put(&l->timers, &t->node, key, ++l->timers_set);
}

void
loop_timer_stop(struct loop *l, struct timer *t)
{
	heap_take(&l->timers, &t->node);
}

void
loop_hook(struct loop *l, struct turn_hook *h)
{
	list_put(&l->hooks, &h->node);
}

void
loop_watch(struct loop *l, struct watch *w, unsigned events)
{
	struct epoll_event e = { .data.ptr = w };

	if (events & LOOP_READ)
		e.events |= EPOLLIN;
	if (events & LOOP_WRITE)
		e.events |= EPOLLOUT;
	if (events == 0) {
		epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
		return;
	}
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, w->fd, &e) == 0)
		return;
	CHECK(errno == ENOENT);
	CHECK(epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, w->fd, &e) == 0);
}

static void
signal_ready(struct watch *w, unsigned events)
{
	struct loop *l = CONTAINER(w, struct loop, signals);
	struct signalfd_siginfo info;

	(void)events;
	while (read(w->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		l->got_signal(l->signal_arg, (int)info.ssi_signo);
}

void
loop_on_signal(struct loop *l, void (*got)(void *arg, int), void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	l->got_signal = got;
	l->signal_arg = arg;
	l->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	CHECK(l->signals.fd >= 0);
	l->signals.ready = signal_ready;
	loop_watch(l, &l->signals, LOOP_READ);
}
