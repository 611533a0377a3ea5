#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/world_testing.h"

/* --- mail --------------------------------------------------------------- */

struct letter {
	struct mail mail;
	int number;
	struct loop *again;          /* post it there once more */
};
static int got[64];
static size_t got_n;

static void
note_letter(struct mail *m)
{
	struct letter *l = CONTAINER(m, struct letter, mail);

	assert_true(got_n < ARRAY_LEN(got));
	got[got_n++] = l->number;
	if (l->again != NULL) {
		struct loop *to = l->again;
		l->again = NULL;
		loop_post(to, m);
	}
}

static void
test_mail_order(void **state)
{
	struct loop *l = loop_new("test");
	struct letter letters[5];

	(void)state;
	got_n = 0;
	for (int i = 0; i < 5; i++) {
		letters[i] = (struct letter){ { NULL, note_letter }, i, NULL };
		loop_post(l, &letters[i].mail);
	}
	letters[1].again = l;
	assert_true(loop_step(l));
	/* What is posted while mail is delivered comes in the next turn. */
	assert_int_equal(got_n, 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(got[i], i);
	assert_true(loop_step(l));
	assert_int_equal(got_n, 6);
	assert_int_equal(got[5], 1);
	while (loop_step(l))
		continue;
	assert_int_equal(got_n, 6);
	loop_free(&l);
	assert_null(l);
	loop_free(&l);
}

/* --- timers ------------------------------------------------------------- */

struct alarm {
	struct timer timer;
	int number;
	struct loop *loop;
	int64_t again_ns;            /* set again at now + this; 0: not */
};

static void
note_alarm(struct timer *t)
{
	struct alarm *a = CONTAINER(t, struct alarm, timer);

	assert_true(got_n < ARRAY_LEN(got));
	got[got_n++] = a->number;
	if (a->again_ns != 0)
		loop_timer_set(a->loop, t,
		    mono_add_ns(loop_now(a->loop), a->again_ns));
}

static void
alarms_init(struct alarm *a, size_t n, struct loop *l)
{
	got_n = 0;
	for (size_t i = 0; i < n; i++)
		a[i] = (struct alarm){ .timer.fire = note_alarm,
		    .number = (int)i, .loop = l };
}

static void
test_timer_order(void **state)
{
	struct loop *l = loop_new("test");
	struct alarm a[6];
	struct mono t0 = world.mono;

	(void)state;
	alarms_init(a, 6, l);
	assert_int_equal(loop_next_timer(l).ns, MONO_NEVER.ns);
	loop_timer_set(l, &a[0].timer, mono_add_ms(t0, 30));
	loop_timer_set(l, &a[1].timer, mono_add_ms(t0, 10));
	loop_timer_set(l, &a[2].timer, mono_add_ms(t0, 20));
	/* Equal times: in the order in which they were set. */
	loop_timer_set(l, &a[3].timer, mono_add_ms(t0, 20));
	loop_timer_set(l, &a[4].timer, mono_add_ms(t0, 20));
	loop_timer_set(l, &a[5].timer, mono_add_ms(t0, 20));
	assert_int_equal(loop_next_timer(l).ns, mono_add_ms(t0, 10).ns);
	assert_false(loop_step(l));
	world.mono = mono_add_ns(mono_add_ms(t0, 10), -1);
	assert_false(loop_step(l));
	world.mono = mono_add_ms(t0, 10);
	assert_true(loop_step(l));
	assert_int_equal(got_n, 1);
	assert_int_equal(loop_now(l).ns, world.mono.ns);
	world.mono = mono_add_ms(t0, 100);
	assert_true(loop_step(l));
	static const int want[] = { 1, 2, 3, 4, 5, 0 };
	assert_int_equal(got_n, 6);
	assert_memory_equal(got, want, sizeof(want));
	assert_false(loop_step(l));
	loop_free(&l);
}

static void
test_timer_move_and_stop(void **state)
{
	struct loop *l = loop_new("test");
	struct alarm a[3];
	struct mono t0 = world.mono;

	(void)state;
	alarms_init(a, 3, l);
	for (int i = 0; i < 3; i++)
		loop_timer_set(l, &a[i].timer, mono_add_ms(t0, 10));
	loop_timer_set(l, &a[0].timer, mono_add_ms(t0, 50));
	loop_timer_stop(l, &a[1].timer);
	loop_timer_stop(l, &a[1].timer);
	world.mono = mono_add_ms(t0, 20);
	assert_true(loop_step(l));
	assert_int_equal(got_n, 1);
	assert_int_equal(got[0], 2);
	loop_timer_stop(l, &a[2].timer);
	loop_timer_set(l, &a[0].timer, mono_add_ms(t0, 5));
	assert_true(loop_step(l));
	assert_int_equal(got[1], 0);
	assert_int_equal(loop_next_timer(l).ns, MONO_NEVER.ns);
	loop_free(&l);
}

/* A timer that sets itself for the past keeps nobody from his turn. */
static void
test_timer_does_not_starve(void **state)
{
	struct loop *l = loop_new("test");
	struct alarm a[2];
	struct letter letter = { { NULL, note_letter }, 7, NULL };

	(void)state;
	alarms_init(a, 2, l);
	a[0].again_ns = -5 * NS_PER_S;
	loop_timer_set(l, &a[0].timer, mono_add_ms(world.mono, -1));
	loop_timer_set(l, &a[1].timer, world.mono);
	loop_post(l, &letter.mail);
	assert_true(loop_step(l));
	static const int first[] = { 7, 0, 1 };
	assert_int_equal(got_n, 3);
	assert_memory_equal(got, first, sizeof(first));
	for (int i = 0; i < 3; i++) {
		loop_timer_set(l, &a[1].timer, world.mono);
		got_n = 0;
		assert_true(loop_step(l));
		assert_int_equal(got_n, 2);
	}
	loop_timer_stop(l, &a[0].timer);
	assert_false(loop_step(l));
	loop_free(&l);
}

struct stopper {
	struct timer timer;
	struct loop *loop;
	struct timer *other;
};

static void
stop_other(struct timer *t)
{
	struct stopper *s = CONTAINER(t, struct stopper, timer);

	loop_timer_stop(s->loop, s->other);
	got[got_n++] = 99;
}

/* A timer may stop one that is due in the same turn. */
static void
test_timer_stops_another(void **state)
{
	struct loop *l = loop_new("test");
	struct alarm a[1];
	struct stopper s = { { .fire = stop_other }, l, &a[0].timer };

	(void)state;
	alarms_init(a, 1, l);
	loop_timer_set(l, &s.timer, world.mono);
	loop_timer_set(l, &a[0].timer, world.mono);
	assert_true(loop_step(l));
	assert_int_equal(got_n, 1);
	assert_int_equal(got[0], 99);
	loop_free(&l);
}

/* --- hooks -------------------------------------------------------------- */

struct counting_hook {
	struct turn_hook hook;
	int n;
};

static void
count_turn(struct turn_hook *h)
{
	CONTAINER(h, struct counting_hook, hook)->n++;
}

static void
test_hooks(void **state)
{
	struct loop *l = loop_new("test");
	struct counting_hook a = { { .run = count_turn }, 0 }, b = a;
	struct letter letters[2] = {
		{ { NULL, note_letter }, 1, NULL },
		{ { NULL, note_letter }, 2, NULL },
	};

	(void)state;
	got_n = 0;
	loop_hook(l, &a.hook);
	loop_hook(l, &b.hook);
	while (loop_step(l))
		continue;
	int before = a.n;
	assert_false(loop_step(l));
	assert_int_equal(a.n, before);
	loop_post(l, &letters[0].mail);
	loop_post(l, &letters[1].mail);
	assert_true(loop_step(l));
	assert_int_equal(got_n, 2);
	assert_int_equal(a.n, before + 1);
	assert_int_equal(b.n, a.n);
	list_take(&a.hook.node);
	loop_post(l, &letters[0].mail);
	assert_true(loop_step(l));
	assert_int_equal(a.n, before + 1);
	assert_int_equal(b.n, before + 2);
	loop_free(&l);
}

/* --- descriptors -------------------------------------------------------- */

struct seen_watch {
	struct watch watch;
	unsigned events;
	int calls;
	struct watch *close_this;
	struct loop *loop;
};

static void
see(struct watch *w, unsigned events)
{
	struct seen_watch *s = CONTAINER(w, struct seen_watch, watch);

	s->events = events;
	s->calls++;
	if (s->close_this != NULL && s->close_this->fd >= 0) {
		loop_watch(s->loop, s->close_this, 0);
		close(s->close_this->fd);
		s->close_this->fd = -1;
	}
}

static void
pair(int fds[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    fds), 0);
}

static void
test_watch(void **state)
{
	struct loop *l = loop_new("test");
	int fds[2];
	char c;

	(void)state;
	pair(fds);
	struct seen_watch s = { .watch = { fds[0], see } };
	loop_watch(l, &s.watch, LOOP_READ);
	while (loop_step(l))
		continue;
	assert_int_equal(s.calls, 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	/* Level: it comes as long as it is not read. */
	assert_true(loop_step(l));
	assert_true(loop_step(l));
	assert_int_equal(s.calls, 2);
	assert_int_equal(s.events, LOOP_READ);
	loop_watch(l, &s.watch, LOOP_READ | LOOP_WRITE);
	assert_true(loop_step(l));
	assert_int_equal(s.events, LOOP_READ | LOOP_WRITE);
	assert_int_equal(read(fds[0], &c, 1), 1);
	loop_watch(l, &s.watch, LOOP_READ);
	int calls = s.calls;
	assert_false(loop_step(l));
	loop_watch(l, &s.watch, 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_false(loop_step(l));
	loop_watch(l, &s.watch, 0);
	loop_watch(l, &s.watch, LOOP_READ);
	assert_true(loop_step(l));
	assert_int_equal(s.calls, calls + 1);
	close(fds[1]);
	assert_true(loop_step(l));
	assert_true((s.events & LOOP_ERROR) != 0);
	loop_watch(l, &s.watch, 0);
	close(fds[0]);
	loop_free(&l);
}

/* Both are ready; whichever comes first closes the other. */
static void
test_watch_closed_in_round(void **state)
{
	struct loop *l = loop_new("test");
	int a[2], b[2];

	(void)state;
	pair(a);
	pair(b);
	struct seen_watch x = { .watch = { a[0], see }, .loop = l };
	struct seen_watch y = { .watch = { b[0], see }, .loop = l };
	x.close_this = &y.watch;
	y.close_this = &x.watch;
	loop_watch(l, &x.watch, LOOP_READ);
	loop_watch(l, &y.watch, LOOP_READ);
	assert_int_equal(write(a[1], "x", 1), 1);
	assert_int_equal(write(b[1], "x", 1), 1);
	assert_true(loop_step(l));
	assert_int_equal(x.calls + y.calls, 1);
	assert_int_equal((x.watch.fd < 0) + (y.watch.fd < 0), 1);
	close(x.watch.fd >= 0 ? x.watch.fd : y.watch.fd);
	close(a[1]);
	close(b[1]);
	loop_free(&l);
}

/* More descriptors than one wait returns: all have their turn. */
static void
test_many_watches(void **state)
{
	enum { MANY = 300 };
	static struct seen_watch w[MANY];
	static int far[MANY];
	struct loop *l = loop_new("test");

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		int fds[2];
		pair(fds);
		far[i] = fds[1];
		w[i] = (struct seen_watch){ .watch = { fds[0], see } };
		loop_watch(l, &w[i].watch, LOOP_READ);
		assert_int_equal(write(fds[1], "x", 1), 1);
	}
	for (int i = 0; i < 10; i++)
		loop_step(l);
	for (size_t i = 0; i < MANY; i++) {
		assert_true(w[i].calls > 0);
		close(w[i].watch.fd);
		close(far[i]);
	}
	loop_free(&l);
}

/* --- threads ------------------------------------------------------------ */

#define SENDERS 4
#define LETTERS 20000

struct numbered {
	struct mail mail;
	int sender, number;
};
static struct {
	struct loop *loop;
	int next[SENDERS];
	int delivered;
} inbox;

static void
check_numbered(struct mail *m)
{
	struct numbered *n = CONTAINER(m, struct numbered, mail);

	/* What one thread sent arrives in its order. */
	CHECK(inbox.next[n->sender] == n->number);
	inbox.next[n->sender]++;
	inbox.delivered++;
	free(n);
	if (inbox.delivered == SENDERS * LETTERS)
		loop_stop(inbox.loop);
}

static void *
send_many(void *arg)
{
	for (int i = 0; i < LETTERS; i++) {
		struct numbered *n = mem_new(sizeof(*n));
		*n = (struct numbered){ { NULL, check_numbered },
		    *(int *)arg, i };
		loop_post(inbox.loop, &n->mail);
	}
	return NULL;
}

static void
test_many_senders(void **state)
{
	pthread_t threads[SENDERS];
	int numbers[SENDERS];

	(void)state;
	memset(&inbox, 0, sizeof(inbox));
	inbox.loop = loop_new("inbox");
	loop_start(inbox.loop);
	for (int i = 0; i < SENDERS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, send_many,
		    &numbers[i]), 0);
	}
	for (int i = 0; i < SENDERS; i++)
		pthread_join(threads[i], NULL);
	loop_join(inbox.loop);
	assert_int_equal(inbox.delivered, SENDERS * LETTERS);
	loop_free(&inbox.loop);
}

/* Two loops that sleep until the other one writes. */
struct ball {
	struct mail mail;
	struct loop *loops[2];
	int hits;
};

static void
hit(struct mail *m)
{
	struct ball *b = CONTAINER(m, struct ball, mail);

	if (++b->hits == 20000) {
		loop_stop(b->loops[0]);
		loop_stop(b->loops[1]);
		return;
	}
	loop_post(b->loops[b->hits & 1], m);
}

static void
test_ping_pong(void **state)
{
	struct ball b = { .mail.deliver = hit,
	    .loops = { loop_new("ping"), loop_new("pong") } };

	(void)state;
	loop_start(b.loops[0]);
	loop_start(b.loops[1]);
	loop_post(b.loops[0], &b.mail);
	loop_join(b.loops[0]);
	loop_join(b.loops[1]);
	assert_int_equal(b.hits, 20000);
	loop_free(&b.loops[0]);
	loop_free(&b.loops[1]);
}

/* Mail that was posted before loop_stop() is delivered, whoever posts it. */
static int last_words;

static void
count_word(struct mail *m)
{
	(void)m;
	last_words++;
}

static void
test_stop_delivers(void **state)
{
	struct mail m[3];

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct loop *l = loop_new("stop");
		last_words = 0;
		loop_start(l);
		for (int i = 0; i < 3; i++) {
			m[i] = (struct mail){ NULL, count_word };
			loop_post(l, &m[i]);
		}
		loop_stop(l);
		loop_join(l);
		assert_int_equal(last_words, 3);
		loop_free(&l);
	}
}

struct question {
	struct loop_call call;
	pthread_t answered_by, back_on;
	int answer;
};

static void
answer(struct loop_call *c)
{
	struct question *q = CONTAINER(c, struct question, call);

	q->answered_by = pthread_self();
	q->answer = 42;
}

static void
answered(struct loop_call *c)
{
	struct question *q = CONTAINER(c, struct question, call);

	q->back_on = pthread_self();
	loop_stop(c->home);
}

static void
test_ask(void **state)
{
	struct loop *home = loop_new("home"), *other = loop_new("other");
	struct question q = { .call = { .home = home, .run = answer,
	    .done = answered } };

	(void)state;
	loop_start(other);
	loop_ask(other, &q.call);
	loop_run(home);
	loop_stop(other);
	loop_join(other);
	assert_int_equal(q.answer, 42);
	assert_false(pthread_equal(q.answered_by, pthread_self()));
	assert_true(pthread_equal(q.back_on, pthread_self()));
	loop_free(&home);
	loop_free(&other);
}

/* --- real time and signals ---------------------------------------------- */

struct late {
	struct timer timer;
	struct loop *loop;
	struct mono due, fired;
};

static void
note_time(struct timer *t)
{
	struct late *x = CONTAINER(t, struct late, timer);

	x->fired = clock_mono();
	loop_stop(x->loop);
}

struct until {
	struct timer timer;
	bool done;
};

static void
set_done(struct timer *t)
{
	CONTAINER(t, struct until, timer)->done = true;
}

/* It may be run again, which loop_run() may not; loop_stop() ends it too. */
static void
test_run_until(void **state)
{
	struct loop *l = loop_new("until");
	struct until first = { .timer.fire = set_done };
	struct until second = { .timer.fire = set_done };
	struct until never = { .done = false };

	(void)state;
	loop_timer_set(l, &second.timer, mono_add_ms(clock_mono(), 20));
	loop_timer_set(l, &first.timer, mono_add_ms(clock_mono(), 5));
	loop_run_until(l, &first.done);
	assert_true(first.done && !second.done);
	loop_run_until(l, &first.done);
	assert_false(second.done);
	loop_run_until(l, &second.done);
	assert_true(second.done);
	loop_stop(l);
	loop_run_until(l, &never.done);
	assert_false(never.done);
	loop_free(&l);
}

static void
test_never_early(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		struct loop *l = loop_new("test");
		struct late x = { .timer.fire = note_time, .loop = l };
		x.due = mono_add_ns(clock_mono(), 2 * NS_PER_MS + i * 77777);
		loop_timer_set(l, &x.timer, x.due);
		loop_run(l);
		assert_true(x.fired.ns >= x.due.ns);
		/* A busy machine may be late, but not for ever. */
		assert_true(x.fired.ns < x.due.ns + 10 * NS_PER_S);
		loop_free(&l);
	}
}

struct signalled {
	struct loop *loop;
	int signals[4];
	size_t n;
};

static void
note_signal(void *arg, int number)
{
	struct signalled *s = arg;

	s->signals[s->n++] = number;
	if (s->n == 3)
		loop_stop(s->loop);
}

static void
test_signals(void **state)
{
	struct signalled s = { .loop = loop_new("test") };
	sigset_t before;

	(void)state;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	loop_on_signal(s.loop, note_signal, &s);
	kill(getpid(), SIGTERM);
	kill(getpid(), SIGINT);
	kill(getpid(), SIGHUP);
	loop_run(s.loop);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.signals[0] + s.signals[1] + s.signals[2],
	    SIGINT + SIGTERM + SIGHUP);
	loop_free(&s.loop);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

#define VIRTUAL(f) \
	cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

/* --- stack -------------------------------------------------------------- */

/* 60 MiB, more than any system gives a thread unasked. */
static unsigned
use_stack(unsigned levels)
{
	volatile char block[60 << 10];

	block[0] = (char)levels;
	return levels == 0 ? 0 : use_stack(levels - 1) + 1 +
	    (unsigned)(block[0] != (char)levels);
}

static void
run_deep(struct mail *m)
{
	CONTAINER(m, struct letter, mail)->number = (int)use_stack(1000);
}

static void
test_stack(void **state)
{
	struct loop *l = loop_new("deep");
	struct letter deep = { .number = 0 };

	(void)state;
	loop_set_stack(l, 80 << 20);
	loop_start(l);
	loop_send(l, &deep.mail, run_deep);
	loop_stop(l);
	loop_join(l);
	assert_int_equal(deep.number, 1000);
	loop_free(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mail_order),
		VIRTUAL(test_timer_order),
		VIRTUAL(test_timer_move_and_stop),
		VIRTUAL(test_timer_does_not_starve),
		VIRTUAL(test_timer_stops_another),
		cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_watch_closed_in_round),
		cmocka_unit_test(test_many_watches),
		cmocka_unit_test(test_many_senders),
		cmocka_unit_test(test_ping_pong),
		cmocka_unit_test(test_stop_delivers),
		cmocka_unit_test(test_ask),
		cmocka_unit_test(test_run_until),
		cmocka_unit_test(test_never_early),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_stack),
	};

	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
