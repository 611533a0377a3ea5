#include "doors/urlfrontier/fan.h"

struct branch {
	struct list node;            /* in the fan's, or in none */
	struct fan *fan;             /* NULL: nobody waits for it */
	struct cluster *cluster;
	size_t at;                   /* the node */
	size_t bytes;                /* of the question, counted there */
	struct grpc_call *call;
	struct buf answer;
	size_t answers;
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
settle(struct fan *f, const struct branch *b, enum grpc_code code,
    struct str text)
{
	struct why w = WHY_INIT;

	if (code != GRPC_OK) {
		code = cluster_explain(b->cluster, b->at, code, text, &w);
		fan_fail(f, code, w.text);
	} else if (b->answers != 1) {
		(void)why(&w, ERR_IO, "node %s: an answer that is none",
		    cluster_node(b->cluster, b->at));
		fan_fail(f, GRPC_INTERNAL, w.text);
	} else if (f->answer != NULL) {
		f->answer(f, b->at, buf_str(&b->answer));
	}
}

static void
on_message(struct grpc_call *c, struct str message)
{
	struct branch *b = grpc_arg(c);

	b->answers++;
	buf_clear(&b->answer);
	buf_put_str(&b->answer, message);
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct branch *b = grpc_arg(c);
	struct fan *f = b->fan;

	list_take(&b->node);
	cluster_give(b->cluster, b->at, b->bytes);
	if (f != NULL)
		settle(f, b, code, text);
	buf_free(&b->answer);
	mem_free(&b);
	if (f != NULL && list_empty(&f->branches))
		f->done(f);
}

static const struct grpc_events events = { .on_message = on_message,
	.on_end = on_end };

static void
ask(struct fan *f, size_t node, struct str question)
{
	struct branch *b;
	struct why w = WHY_INIT;

	if (!cluster_take(f->cluster, node, question.n)) {
		(void)why(&w, ERR_FULL, "node %s: too much waits for it",
		    cluster_node(f->cluster, node));
		fan_fail(f, GRPC_UNAVAILABLE, w.text);
		return;
	}
	b = mem_new(sizeof(*b));
	b->fan = f;
	b->cluster = f->cluster;
	b->at = node;
	b->bytes = question.n;
	list_init(&b->node);
	b->call = cluster_call(f->cluster, node, f->rpc, &events, b,
	    f->timeout_ns, NULL, &w);
	if (b->call == NULL) {
		cluster_give(f->cluster, node, question.n);
		mem_free(&b);
		fan_fail(f, GRPC_UNAVAILABLE, w.text);
		return;
	}
	list_put(&f->branches, &b->node);
	grpc_send(b->call, question);
	grpc_half_close(b->call);
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
	if (f->branches.next == NULL)
		return;
	while (!list_empty(&f->branches)) {
		struct branch *b = LIST_POP(&f->branches, struct branch, node);
		b->fan = NULL;
		grpc_cancel(b->call);
	}
}
