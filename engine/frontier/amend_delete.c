/*
 * Deletion of a crawl that has ended.
 *
 *     one group: its records, journal and log go; a tombstone comes, which
 *                keeps its number from being given again
 *     ─► durable: nobody is told of it any more
 *     ─► its URLs leave the known table, a piece at a time, then the index
 *
 * Its memory is freed when the loops have no note of it in their boxes, and
 * when those who look at it have let it go.  A start loads no URLs of such a
 * crawl, and drops what is left of them (outside_record.c).
 */
#include "engine/frontier/amend_own.h"

/* In INDEX_CRAWL, without a value. */
#define PART_TOMB 'T'

#define SWEEP_PART 4096u
#define BURY_PART 4096u

struct burial {
	struct list node;            /* in frontier.burials */
	struct frontier *frontier;
	uint32_t id;
	/* Its memory. */
	struct crawl *crawl;         /* NULL: it is freed */
	struct loop_call call;       /* to each port, and back */
	size_t port;
	bool unseen;                 /* the loops have no note of it */
	size_t at;                   /* in crawl.queues */
	struct mail mail;
	/* Its URLs. */
	bool swept;
	struct ledger_query query;
	struct buf from;
	uint64_t hashes[SWEEP_PART];
	size_t n;
	bool ended;
};

/* --- records -------------------------------------------------------------- */

static void
put_tomb(struct frontier *f, uint32_t id)
{
	buf_clear(&f->key);
	crawl_key(id, PART_TOMB, &f->key);
	ledger_put(f->ledger, INDEX_CRAWL, buf_str(&f->key), STR(""));
}

void
crawl_tomb_record(struct frontier *f, struct str key)
{
	struct reader in = reader_of(key);
	uint32_t id = read_be32(&in);

	if (in.n == 1 && *in.p == PART_TOMB)
		f->next_crawl = MAX(f->next_crawl, id + 1);
}

static void
drop_family(struct frontier *f, enum index_family family, uint32_t id)
{
	buf_clear(&f->key);
	buf_clear(&f->value);
	buf_put_be32(&f->key, id);
	buf_put_be32(&f->value, id + 1);
	ledger_delete_range(f->ledger, family, buf_str(&f->key),
	    buf_str(&f->value));
}

/* --- its memory ----------------------------------------------------------- */

static void
free_if_done(struct burial *b)
{
	if (!b->swept || b->crawl != NULL)
		return;
	list_take(&b->node);
	buf_free(&b->from);
	mem_free(&b);
}

static void
bury_some(struct mail *m)
{
	struct burial *b = CONTAINER(m, struct burial, mail);
	struct crawl *c = b->crawl;
	void *v;

	for (unsigned n = 0; n < BURY_PART; n++) {
		if (!map_next(&c->queues, &b->at, &v)) {
			/* crawl_free() would free them again. */
			map_free(&c->queues);
			crawl_free(&b->crawl);
			free_if_done(b);
			return;
		}
		struct queue *q = v;
		queue_free(&q);
	}
	loop_post(b->frontier->loop, &b->mail);
}

static void
bury_if_let_go(struct burial *b)
{
	if (!b->unseen || b->crawl->holds > 0)
		return;
	b->mail.deliver = bury_some;
	loop_post(b->frontier->loop, &b->mail);
}

static void
nothing(struct loop_call *call)
{
	(void)call;
}

/* Notes that were posted before lie in front of this in the loop's box. */
static void
ask_ports(struct loop_call *call)
{
	struct burial *b = CONTAINER(call, struct burial, call);
	const struct frontier_options *o = &b->frontier->options;

	if (b->port == o->ports_n) {
		b->unseen = true;
		bury_if_let_go(b);
		return;
	}
	b->call = (struct loop_call){ .home = b->frontier->loop,
	    .run = nothing, .done = ask_ports };
	loop_ask(o->ports[b->port++].loop, &b->call);
}

void
crawl_hold(struct crawl *c)
{
	c->holds++;
}

void
crawl_release(struct crawl *c)
{
	CHECK(c->holds > 0);
	if (--c->holds == 0 && c->burial != NULL)
		bury_if_let_go(c->burial);
}

/* --- its URLs ------------------------------------------------------------- */

/* On the index thread. */
static void
sweep_some(struct ledger_query *query, struct index *x)
{
	struct burial *b = CONTAINER(query, struct burial, query);
	struct index_iter *i = index_iter_new(x, INDEX_URL);
	struct str key, value;

	b->n = 0;
	b->ended = true;
	for (index_iter_seek(i, buf_str(&b->from)); index_iter_valid(i, &key,
	    &value); index_iter_next(i)) {
		struct reader in = reader_of(key);
		if (read_be32(&in) != b->id)
			break;
		if (b->n == SWEEP_PART) {
			b->ended = false;
			buf_clear(&b->from);
			buf_put_str(&b->from, key);
			break;
		}
		read_be64(&in);
		b->hashes[b->n++] = frontier_hash(b->id,
		    (struct str){ in.p, in.n });
	}
	index_iter_free(&i);
}

static void
swept(struct ledger_query *query)
{
	struct burial *b = CONTAINER(query, struct burial, query);
	struct frontier *f = b->frontier;

	for (size_t i = 0; i < b->n; i++)
		known_remove(f->known, b->hashes[i]);
	if (!b->ended) {
		ledger_read(f->ledger, query);
		return;
	}
	drop_family(f, INDEX_URL, b->id);
	b->swept = true;
	free_if_done(b);
}

static void
sweep(struct burial *b)
{
	buf_put_be32(&b->from, b->id);
	b->query.home = b->frontier->loop;
	b->query.run = sweep_some;
	b->query.done = swept;
	ledger_read(b->frontier->ledger, &b->query);
}

/* --- deleting ------------------------------------------------------------- */

/* The next older one of its name, if any, is found by it now. */
static void
give_name_on(struct frontier *f, struct crawl *c)
{
	if (c->name.n == 0 || map_get(&f->names, c->name) != c)
		return;
	map_take(&f->names, c->name);
	for (uint32_t id = c->id; id-- > 0;) {
		struct crawl *older = crawl_get(f, id);
		if (older != NULL && str_eq(older->name, c->name)) {
			map_put(&f->names, older->name, older);
			return;
		}
	}
}

/* Nobody finds it any more, and nothing of it is written. */
static void
leave(struct frontier *f, struct crawl *c)
{
	size_t at = 0;
	void *v;

	map_take_id(&f->crawls, c->id);
	give_name_on(f, c);
	list_take(&c->dirty_node);
	list_take(&c->changed_node);
	while (map_next(&c->queues, &at, &v)) {
		struct queue *q = v;
		list_take(&q->dirty_node);
		list_take(&q->changed_node);
		list_take(&q->starved_node);
		queue_settle(q);
	}
}

bool
crawl_deleted_note(struct frontier *f, struct str note)
{
	struct reader in = reader_of(note);
	uint32_t id = read_be32(&in);
	struct crawl *c = crawl_get(f, id);

	if (in.bad)
		return false;
	f->next_crawl = MAX(f->next_crawl, id + 1);
	if (c != NULL) {
		leave(f, c);
		crawl_free(&c);
	}
	return true;
}

static void
deleted(struct promise *p, enum err e)
{
	struct amend *a = CONTAINER(p, struct amend, promise);
	struct frontier *f = a->frontier;
	struct burial *b = NULL;

	for (struct list *n = f->burials.next; n != &f->burials; n = n->next)
		if (LIST_ITEM(n, struct burial, node)->id == a->crawl)
			b = LIST_ITEM(n, struct burial, node);
	if (e != OK) {
		why(&a->why, ERR_BROKEN, "a write failed; the program must be "
		    "started again");
	} else {
		CHECK(b != NULL);
		ask_ports(&b->call);
		if (!b->swept)
			sweep(b);
	}
	amend_answer(a);
}

void
amend_delete(struct amend *a)
{
	struct frontier *f = a->frontier;
	struct crawl *c = crawl_get(f, a->crawl);

	if (c == NULL)
		why(&a->why, ERR_ABSENT, "there is no crawl %u", a->crawl);
	else if (!crawl_ended(c->view.state))
		why(&a->why, ERR_STATE, "crawl %u is %s", a->crawl,
		    crawl_state_name(c->view.state));
	if (a->why.err != OK) {
		amend_answer(a);
		return;
	}
	struct burial *b = mem_new(sizeof(*b));
	b->frontier = f;
	b->id = c->id;
	b->crawl = c;
	c->burial = b;
	list_put(&f->burials, &b->node);
	leave(f, c);
	buf_clear(&f->value);
	buf_put_be32(&f->value, c->id);
	ledger_note(f->ledger, NOTE_DELETED, buf_str(&f->value));
	drop_family(f, INDEX_CRAWL, c->id);
	drop_family(f, INDEX_QUEUE, c->id);
	drop_family(f, INDEX_JOURNAL, c->id);
	drop_family(f, INDEX_LOG, c->id);
	put_tomb(f, c->id);
	b->swept = !c->loaded;
	if (b->swept)
		drop_family(f, INDEX_URL, c->id);
	a->promise.kept = deleted;
	ledger_promise(f->ledger, &a->promise);
}

void
burial_forget(struct frontier *f)
{
	while (!list_empty(&f->burials)) {
		struct burial *b = LIST_ITEM(f->burials.next, struct burial,
		    node);
		void *v;
		/* Some of its queues may be gone. */
		while (b->crawl != NULL &&
		    map_next(&b->crawl->queues, &b->at, &v)) {
			struct queue *q = v;
			queue_free(&q);
		}
		if (b->crawl != NULL) {
			map_free(&b->crawl->queues);
			crawl_free(&b->crawl);
		}
		list_take(&b->node);
		buf_free(&b->from);
		mem_free(&b);
	}
}
