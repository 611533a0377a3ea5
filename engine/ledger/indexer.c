/*
 * The index thread: durable groups into RocksDB, and reads between them.
 */
#include "engine/ledger/group.h"

struct indexer {
	struct loop *loop;
	struct ledger *ledger;
	struct index *index;
	struct index_batch *batch;
	struct job flush;           /* one at a time, on the pool */
	uint64_t flush_group;
	enum err flush_result;
};

static bool
family_known(uint8_t f)
{
	return f < INDEX_FAMILIES;
}

enum err
indexer_replay(struct index *x, struct index_batch *b, struct str body,
    void (*note)(void *, uint8_t, struct str), void *arg, struct why *w)
{
	struct reader in = reader_of(body);

	while (in.n > 0 && !in.bad) {
		uint8_t op = read_u8(&in), kind = read_u8(&in);
		struct str one = read_field(&in), two = STR_NONE;
		if (op == OP_PUT || op == OP_DELETE_RANGE)
			two = read_field(&in);
		if (in.bad || (op != OP_NOTE && !family_known(kind)))
			break;
		if (op == OP_PUT)
			index_put(x, b, kind, one, two);
		else if (op == OP_DELETE)
			index_delete(x, b, kind, one);
		else if (op == OP_DELETE_RANGE)
			index_delete_range(x, b, kind, one, two);
		else if (op == OP_NOTE && note != NULL)
			note(arg, kind, one);
		else if (op != OP_NOTE)
			break;
	}
	if (in.n > 0 || in.bad)
		return why(w, ERR_CORRUPT, "a group of the commit log holds an "
		    "operation that this version does not know");
	return index_write(x, b, w);
}

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
	struct buf value = BUF_INIT;

	buf_put_be64(&value, x->flush_group);
	x->flush_result = index_flush(x->index, META_CHECKPOINT,
	    buf_str(&value), NULL);
	buf_free(&value);
}

static void
flush_done(struct mail *m)
{
	struct indexer *x = CONTAINER(CONTAINER(m, struct job, mail),
	    struct indexer, flush);
	struct flushed_mail *f = mem_new(sizeof(*f));

	f->mail.deliver = deliver_flushed;
	f->ledger = x->ledger;
	f->group = x->flush_group;
	f->result = x->flush_result;
	loop_post(ledger_loop(x->ledger), &f->mail);
}

static void
start_flush(struct indexer *x, uint64_t group)
{
	x->flush_group = group;
	x->flush = (struct job){ .mail.deliver = flush_done, .home = x->loop,
	    .run = run_flush };
	pool_submit(ledger_options(x->ledger)->pool, &x->flush);
}

static void
apply(struct indexer *x, struct group *g)
{
	struct why *w = &g->result;

	enum err e = indexer_replay(x->index, x->batch, buf_str(&g->body), NULL,
	    NULL, w);
	if (e == OK && g->unlogged.n != 0)
		e = indexer_replay(x->index, x->batch, buf_str(&g->unlogged),
		    NULL, NULL, w);
	if (e == OK && g->checkpoint != 0)
		start_flush(x, g->checkpoint);
	g->mail.deliver = deliver_applied;
	loop_post(ledger_loop(x->ledger), &g->mail);
}

static void
deliver_apply(struct mail *m)
{
	struct group *g = CONTAINER(m, struct group, mail);

	apply(ledger_indexer(g->ledger), g);
}

void
indexer_apply(struct indexer *x, struct group *g)
{
	g->mail.deliver = deliver_apply;
	loop_post(x->loop, &g->mail);
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

	q->run(q, ledger_index(q->ledger));
	q->mail.deliver = deliver_answer;
	loop_post(q->home, &q->mail);
}

void
indexer_read(struct indexer *x, struct ledger_query *q)
{
	q->mail.deliver = deliver_read;
	loop_post(x->loop, &q->mail);
}

struct indexer *
indexer_new(struct loop *own, struct ledger *l, struct index *index)
{
	struct indexer *x = mem_new(sizeof(*x));

	x->loop = own;
	x->ledger = l;
	x->index = index;
	x->batch = index_batch_new();
	return x;
}

void
indexer_free(struct indexer **xp)
{
	if (*xp == NULL)
		return;
	index_batch_free(&(*xp)->batch);
	mem_free(xp);
}
