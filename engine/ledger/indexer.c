/*
 * The index thread: groups into RocksDB, and reads between them.
 *
 * What the index's files hold is never ahead of the log: a lazy group is synced
 * before it is applied whenever what the index has in memory may go to a file
 * before the next sync, that is while it is flushed for a checkpoint, and when
 * its memory is about to be full.
 */
#include "engine/ledger/group.h"

/* An upper bound of the index's memory for a group: per byte of its body, and
 * per group. */
#define MEMORY_PER_BYTE 4
#define MEMORY_PER_GROUP 4096

struct indexer {
	struct loop *loop;
	struct ledger *ledger;
	struct index *index;
	struct body_replay replay;
	bool flushing;
	/* A sync is waited for, and behind it groups and reads in order. */
	bool waiting;
	struct sync_ask ask;
	struct mail *held, **held_last;
	struct job flush;           /* one at a time, on the pool */
	uint64_t flush_group;
	enum err flush_result;
};

static void
deliver_applied(struct mail *m)
{
	struct group *g = CONTAINER(m, struct group, mail);

	ledger_group_applied(g->ledger, g);
}

struct flushed_mail {
	struct mail mail;
	struct ledger *ledger;
	uint64_t group;
	enum err result;
};

static void
deliver_flushed(struct mail *m)
{
	struct flushed_mail *f = CONTAINER(m, struct flushed_mail, mail);

	ledger_flushed(f->ledger, f->group, f->result);
	mem_free(&f);
}

static void
run_flush(struct job *j)
{
	struct indexer *x = CONTAINER(j, struct indexer, flush);
	FREED(buf_free) struct buf value = BUF_INIT;

	buf_put_be64(&value, x->flush_group);
	x->flush_result = index_flush(x->index, META_CHECKPOINT,
	    buf_str(&value), NULL);
}

static void
flush_done(struct mail *m)
{
	struct indexer *x = CONTAINER(CONTAINER(m, struct job, mail),
	    struct indexer, flush);
	struct flushed_mail *f = mem_new(sizeof(*f));

	x->flushing = false;
	f->ledger = x->ledger;
	f->group = x->flush_group;
	f->result = x->flush_result;
	loop_send(ledger_loop(x->ledger), &f->mail, deliver_flushed);
}

static void
start_flush(struct indexer *x, uint64_t group)
{
	x->flushing = true;
	x->flush_group = group;
	x->flush = (struct job){ .mail.deliver = flush_done, .home = x->loop,
	    .run = run_flush };
	pool_submit(ledger_options(x->ledger)->pool, &x->flush);
}

static int64_t
memory_of(const struct group *g)
{
	return MEMORY_PER_GROUP + MEMORY_PER_BYTE *
	    (int64_t)(g->body.n + g->unlogged.n);
}

/* Applied, it may go to a file before the log's next sync. */
static bool
may_reach_disk(struct indexer *x, const struct group *g)
{
	return x->flushing || index_room(x->index) < memory_of(g);
}

/* It names its checkpoint, and counts for that one only. */
static enum err
put_chain(struct indexer *x, const struct group *g, struct why *w)
{
	FREED(buf_free) struct buf value = BUF_INIT;

	buf_put_be64(&value, g->checkpoint);
	buf_put_be32(&value, g->checkpoint_chain);
	index_put(x->index, x->replay.batch, INDEX_META, META_CHAIN,
	    buf_str(&value));
	return index_write(x->index, x->replay.batch, w);
}

static void
apply(struct indexer *x, struct group *g)
{
	struct why *w = &g->result;
	enum err e = w->err;

	/* The first group comes when the start is over. */
	index_release(x->index);
	if (e == OK)
		e = body_replay_now(&x->replay, buf_str(&g->body), w);
	if (e == OK && g->unlogged.n != 0)
		e = body_replay_now(&x->replay, buf_str(&g->unlogged), w);
	if (e == OK && g->checkpoint != 0)
		e = put_chain(x, g, w);
	if (e == OK && g->checkpoint != 0)
		start_flush(x, g->checkpoint);
	loop_send(ledger_loop(x->ledger), &g->mail, deliver_applied);
}

static void
hold(struct indexer *x, struct mail *m)
{
	m->next = NULL;
	*x->held_last = m;
	x->held_last = &m->next;
}

/* Those that were held, until one of them has to wait. */
static void
go_on(struct sync_ask *a)
{
	struct indexer *x = CONTAINER(a, struct indexer, ask);
	struct mail *m = x->held;
	struct group *g = CONTAINER(m, struct group, mail);

	/* It and perhaps others behind it are durable now, or never. */
	g->lazy = false;
	g->result = a->result;
	x->waiting = false;
	while ((m = x->held) != NULL && !x->waiting) {
		x->held = m->next;
		if (x->held == NULL)
			x->held_last = &x->held;
		m->deliver(m);
	}
}

static void
deliver_apply(struct mail *m)
{
	struct group *g = CONTAINER(m, struct group, mail);
	struct indexer *x = ledger_indexer(g->ledger);

	if (x->waiting) {
		hold(x, m);
	} else if (g->lazy && g->number > x->ask.upto &&
	    may_reach_disk(x, g)) {
		/* First among those that are held. */
		m->next = x->held;
		if (x->held == NULL)
			x->held_last = &m->next;
		x->held = m;
		x->waiting = true;
		syncer_ask(ledger_syncer(x->ledger), &x->ask);
	} else {
		apply(x, g);
	}
}

void
indexer_apply(struct indexer *x, struct group *g)
{
	loop_send(x->loop, &g->mail, deliver_apply);
}

static void
deliver_answer(struct mail *m)
{
	struct ledger_query *q = CONTAINER(m, struct ledger_query, mail);

	q->done(q);
}

static void
deliver_read(struct mail *m)
{
	struct ledger_query *q = CONTAINER(m, struct ledger_query, mail);
	struct indexer *x = ledger_indexer(q->ledger);

	if (x->waiting) {
		hold(x, m);
		return;
	}
	q->run(q, x->index);
	loop_send(q->home, &q->mail, deliver_answer);
}

static void
deliver_beside(struct mail *m)
{
	struct ledger_query *q = CONTAINER(m, struct ledger_query, mail);

	q->run(q, ledger_index(q->ledger));
	loop_send(q->home, &q->mail, deliver_answer);
}

void
indexer_read_beside(struct loop *loop, struct ledger_query *q)
{
	loop_send(loop, &q->mail, deliver_beside);
}

void
indexer_read(struct indexer *x, struct ledger_query *q)
{
	loop_send(x->loop, &q->mail, deliver_read);
}

struct indexer *
indexer_new(struct loop *own, struct ledger *l, struct index *index)
{
	struct indexer *x = mem_new(sizeof(*x));

	x->loop = own;
	x->ledger = l;
	x->index = index;
	body_replay_begin(&x->replay, index);
	x->ask.home = own;
	x->ask.done = go_on;
	x->held_last = &x->held;
	return x;
}

void
indexer_free(struct indexer **xp)
{
	if (*xp == NULL)
		return;
	body_replay_end(&(*xp)->replay);
	mem_free(xp);
}
