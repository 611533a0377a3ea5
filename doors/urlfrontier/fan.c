#include "doors/urlfrontier/fan.h"

#include "doors/urlfrontier/source.h"

struct branch {
	struct list node;            /* in the fan's */
	struct fan *fan;
	struct source source;
};

void
fan_fail(struct fan *f, enum grpc_code code, const char *text)
{
	if (f->code != GRPC_OK)
		return;
	f->code = code;
	(void)why(&f->why, ERR_UNREACHED, "%s", text);
}

void
fan_unreadable(struct fan *f, size_t node)
{
	struct why w = WHY_INIT;

	(void)why(&w, ERR_IO, "node %s: its answer cannot be read",
	    cluster_node(f->cluster, node));
	fan_fail(f, GRPC_INTERNAL, w.text);
}

static void
drop_branch(struct branch *b)
{
	list_take(&b->node);
	source_free(&b->source);
	mem_free(&b);
}

static void
settle(struct fan *f, struct source *s)
{
	struct str message;
	struct why w = WHY_INIT;

	if (s->code != GRPC_OK) {
		fan_fail(f, s->code, s->why.text);
	} else if (s->messages != 1 || !source_first(s, &message)) {
		(void)why(&w, ERR_IO, "node %s: an answer that is none",
		    cluster_node(f->cluster, s->node));
		fan_fail(f, GRPC_INTERNAL, w.text);
	} else if (f->answer != NULL) {
		f->answer(f, s->node, message);
	}
}

static void
source_came(struct source *s)
{
	struct branch *b = CONTAINER(s, struct branch, source);
	struct fan *f = b->fan;
	struct str message;

	if (!s->ended) {
		/* Look at it: a peer whose answer is long may go on. */
		(void)source_first(s, &message);
		return;
	}
	settle(f, s);
	drop_branch(b);
	if (list_empty(&f->branches))
		f->done(f);
}

static void
ask(struct fan *f, size_t node, struct str question)
{
	struct branch *b = mem_new(sizeof(*b));

	b->fan = f;
	b->source.cluster = f->cluster;
	b->source.loop = f->loop;
	b->source.node = node;
	b->source.came = source_came;
	list_init(&b->node);
	list_put(&f->branches, &b->node);
	source_ask(&b->source, f->rpc, question, f->timeout_ns == 0 ?
	    MONO_NEVER : mono_add_ns(loop_now(f->loop), f->timeout_ns), NULL);
	if (!b->source.ended)
		return;
	settle(f, &b->source);
	drop_branch(b);
}

void
fan_begin(struct fan *f, size_t node, struct str question)
{
	f->code = GRPC_OK;
	f->why = WHY_INIT;
	list_init(&f->branches);
	for (size_t i = 0; i < cluster_nodes(f->cluster); i++)
		if (i == node || (node == FAN_ALL &&
		    i != cluster_self(f->cluster)))
			ask(f, i, question);
	if (list_empty(&f->branches))
		f->done(f);
}

void
fan_stop(struct fan *f)
{
	while (f->branches.next != NULL && !list_empty(&f->branches))
		drop_branch(LIST_ITEM(f->branches.next, struct branch, node));
}
