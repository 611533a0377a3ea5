/*
 * Bodies too big for a batch, decoded piece by piece.
 *
 *     waits ─► has a turn ─► reads a piece ─► ready() ─► next() ─► reads ...
 *       ▲                          │
 *       └── asked for nothing for a while, and others wait
 *
 * A turn is what costs: an open decoder.  One whose reader has stopped gives
 * way to who waits, and goes on later from the beginning, up to its place.
 */
#include "engine/stream/body_stream.h"

#include "engine/ledger/ledger.h"
#include "engine/stream/cache.h"

#define PIECE_BYTES ((size_t)96 << 10)
#define IDLE_MS 1000
#define LOOK_MS 250
/* For entries without the length of their body. */
#define LIMITS HTTP_DECODE_LIMITS_DEFAULT

struct body_stream {
	struct read_task task;
	struct list node;            /* in streams.waiting or .open */
	struct body_streams *streams;
	uint32_t crawl;
	uint64_t number;
	void (*ready)(void *, struct str, bool, const struct why *);
	void *arg;
	bool busy;                   /* the task is out */
	bool closed;                 /* while it was out */
	bool turn, waiting;
	struct mono told;            /* when the last piece was */
	/* The pool's, while the task is out. */
	struct capture_stream *records;
	struct buf piece;
	char carry[2];               /* decoded, and not yet told */
	size_t carry_n;
	uint64_t given;              /* bytes told */
	bool end;
	struct why why;
};

/* --- on the pool -------------------------------------------------------- */

/* The file may get its other name between the two calls. */
static enum err
open_records(struct body_stream *s, const struct journal_entry *e,
    struct arena *a)
{
	bool sourced = e->flags & JOURNAL_SOURCED;
	struct http_decode_limits limits = e->flags & JOURNAL_SIZED ?
	    (struct http_decode_limits){ e->decoded, UINT32_MAX } : LIMITS;
	struct str path;
	enum err err = OK;

	for (int tries = 0; tries < 3; tries++) {
		s->why = WHY_INIT;
		err = ledger_warc_readable(s->task.reader->index, sourced ?
		    e->source.file : e->file, a, &path, &s->why);
		if (err == OK)
			err = capture_stream_open(path.p, sourced ?
			    e->source.offset : e->offset, limits, &s->records,
			    &s->why);
		if (err != ERR_ABSENT)
			break;
	}
	return err;
}

/* Up to the place where the stream stood when it lost its turn. */
static void
skip_given(struct body_stream *s)
{
	enum http_damage d;
	uint64_t left = s->given;

	buf_clear(&s->piece);
	while (left > 0 && capture_stream_next(s->records, &s->piece, &d)) {
		if (s->piece.n > left)
			break;
		left -= s->piece.n;
		buf_clear(&s->piece);
	}
	if (left == 0 || s->piece.n == 0)
		return;
	size_t n = (size_t)MIN(left, s->piece.n);
	memmove(s->piece.p, s->piece.p + n, s->piece.n - n);
	s->piece.n -= n;
}

static enum err
begin(struct body_stream *s)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct journal_entry e;

	enum err err = record_reader_entry(s->task.reader, s->crawl, s->number,
	    &a, &e, &s->why);
	if (err == OK && e.file == 0)
		err = why(&s->why, ERR_ABSENT, "the page is not archived");
	if (err == OK)
		err = open_records(s, &e, &a);
	if (err == OK && s->given > 0)
		skip_given(s);
	return err;
}

static void
stream_run(struct read_task *task)
{
	struct body_stream *s = CONTAINER(task, struct body_stream, task);
	enum http_damage d;

	buf_clear(&s->piece);
	if (s->records != NULL) {
		buf_put(&s->piece, s->carry, s->carry_n);
	} else if (begin(s) != OK) {
		s->end = true;
		return;
	}
	while (!s->end && s->piece.n < PIECE_BYTES)
		s->end = !capture_stream_next(s->records, &s->piece, &d);
	s->carry_n = s->end ? 0 : s->piece.n % 3;
	s->piece.n -= s->carry_n;
	if (s->carry_n > 0)
		memcpy(s->carry, s->piece.p + s->piece.n, s->carry_n);
}

/* --- turns, at home ----------------------------------------------------- */

static void
drop_records(struct body_stream *s)
{
	capture_stream_close(&s->records);
	s->carry_n = 0;
}

static void
take_turn(struct body_stream *s)
{
	struct body_streams *f = s->streams;

	s->turn = true;
	s->waiting = false;
	f->turns++;
	list_put(&f->open, &s->node);
	s->busy = true;
	read_task_put(f->tasks, &s->task);
}

static void
give_turns(struct body_streams *f)
{
	while (f->turns < STREAM_STREAMS_MAX && !list_empty(&f->waiting)) {
		struct body_stream *s = LIST_POP(&f->waiting,
		    struct body_stream, node);
		take_turn(s);
	}
}

static void
lose_turn(struct body_stream *s)
{
	list_take(&s->node);
	if (s->turn)
		s->streams->turns--;
	s->turn = s->waiting = false;
}

/* Those whose reader has stopped go, one for each that waits. */
static void
check_turns(struct timer *t)
{
	struct body_streams *f = CONTAINER(t, struct body_streams, timer);
	struct mono now = loop_now(f->home);
	struct list *n, *next;
	size_t want = 0;

	for (n = f->waiting.next; n != &f->waiting; n = n->next)
		want++;
	for (n = f->open.next; want > 0 && n != &f->open; n = next) {
		struct body_stream *s = LIST_ITEM(n, struct body_stream, node);
		next = n->next;
		if (s->busy ||
		    mono_ns_between(s->told, now) < IDLE_MS * NS_PER_MS)
			continue;
		lose_turn(s);
		drop_records(s);
		want--;
	}
	give_turns(f);
	if (!list_empty(&f->waiting))
		loop_timer_set(f->home, t, mono_add_ms(now, LOOK_MS));
}

static void
wait_for_turn(struct body_stream *s)
{
	struct body_streams *f = s->streams;

	if (f->turns < STREAM_STREAMS_MAX) {
		take_turn(s);
		return;
	}
	if (list_empty(&f->waiting))
		loop_timer_set(f->home, &f->timer,
		    mono_add_ms(loop_now(f->home), LOOK_MS));
	s->waiting = true;
	list_put(&f->waiting, &s->node);
}

void
body_streams_open(struct body_streams *f, struct loop *home,
    struct read_tasks *tasks)
{
	f->home = home;
	f->tasks = tasks;
	list_init(&f->open);
	list_init(&f->waiting);
	f->timer.fire = check_turns;
}

void
body_streams_close(struct body_streams *f)
{
	CHECK(f->turns == 0);
	loop_timer_stop(f->home, &f->timer);
}

/* --- the reader's ------------------------------------------------------- */

static void
free_stream(struct body_stream *s)
{
	struct body_streams *f = s->streams;

	lose_turn(s);
	drop_records(s);
	buf_free(&s->piece);
	mem_free(&s);
	give_turns(f);
}

static void
stream_came(struct read_task *task)
{
	struct body_stream *s = CONTAINER(task, struct body_stream, task);

	s->busy = false;
	if (s->closed) {
		free_stream(s);
		return;
	}
	s->given += s->piece.n;
	s->told = loop_now(s->streams->home);
	s->ready(s->arg, buf_str(&s->piece), s->end, &s->why);
}

struct body_stream *
body_stream_open(struct stream *f, uint32_t crawl, uint64_t number,
    void (*ready)(void *, struct str, bool, const struct why *), void *arg)
{
	struct body_stream *s = mem_new(sizeof(*s));

	s->streams = &f->bodies;
	s->crawl = crawl;
	s->number = number;
	s->ready = ready;
	s->arg = arg;
	s->task.run = stream_run;
	s->task.done = stream_came;
	list_init(&s->node);
	return s;
}

void
body_stream_next(struct body_stream *s)
{
	CHECK(!s->busy && !s->waiting && !s->end);
	if (!s->turn) {
		wait_for_turn(s);
		return;
	}
	s->busy = true;
	read_task_put(s->streams->tasks, &s->task);
}

void
body_stream_close(struct body_stream **sp)
{
	struct body_stream *s = *sp;

	if (s == NULL)
		return;
	*sp = NULL;
	if (s->busy)
		s->closed = true;
	else
		free_stream(s);
}
