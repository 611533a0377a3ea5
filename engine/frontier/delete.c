/*
 * Deletion of a crawl that has ended.
 *
 *     one group: its records, journal and log go; a tombstone comes, which
 *                keeps its number from being given again
 *     ─► durable: nobody is told of it any more
 *     ─► let go by those who look at it, and by what retires it (teardown.c):
 *        its URLs leave the index, and it the memory
 *
 * A start loads no URLs of such a crawl, and drops what is left of them
 * (lease_record.c).
 */
#include "engine/frontier/bytes_limit.h"
#include "engine/frontier/change.h"
#include "engine/frontier/delete.h"
#include "engine/frontier/host_slots.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/teardown.h"
#include "engine/frontier/url_key.h"

/* In INDEX_CRAWL, without a value. */
#define PART_TOMB 'T'

struct burial {
	struct list node;            /* in frontier.burials */
	struct frontier *frontier;
	struct crawl *crawl;
	bool durable;
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
bury_if_let_go(struct burial *b)
{
	struct crawl *c = b->crawl;

	if (!b->durable || c->holds > 0)
		return;
	drop_family(b->frontier, INDEX_URL, c->id);
	list_take(&b->node);
	crawl_free(&c);
	mem_free(&b);
}

void
crawl_ref(struct crawl *c)
{
	c->holds++;
}

void
crawl_unref(struct crawl *c)
{
	CHECK(c->holds > 0);
	c->holds--;
	if (c->retirement != NULL)
		retire_go_on(c->retirement);
	else if (c->burial != NULL)
		bury_if_let_go(c->burial);
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
	bytes_limit_set(c, 0);
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
	struct crawl_change *a = CONTAINER(p, struct crawl_change, promise);
	struct frontier *f = a->frontier;
	struct burial *b = NULL;

	for (struct list *n = f->burials.next; n != &f->burials; n = n->next)
		if (LIST_ITEM(n, struct burial, node)->crawl->id == a->crawl)
			b = LIST_ITEM(n, struct burial, node);
	if (e != OK) {
		why(&a->why, ERR_BROKEN, "a write failed; the program must be "
		    "started again");
	} else {
		CHECK(b != NULL);
		b->durable = true;
		bury_if_let_go(b);
	}
	change_answer(a);
}

void
delete_begin(struct crawl_change *a)
{
	struct frontier *f = a->frontier;
	struct crawl *c = crawl_get(f, a->crawl);

	if (c == NULL)
		why(&a->why, ERR_ABSENT, "there is no crawl %u", a->crawl);
	else if (!crawl_state_is_ended(c->view.state))
		why(&a->why, ERR_STATE, "crawl %u is %s", a->crawl,
		    crawl_state_name(c->view.state));
	if (a->why.err != OK) {
		change_answer(a);
		return;
	}
	struct burial *b = mem_new(sizeof(*b));
	b->frontier = f;
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
	a->promise.kept = deleted;
	ledger_promise(f->ledger, &a->promise);
}

void
burial_forget(struct frontier *f)
{
	while (!list_empty(&f->burials)) {
		struct burial *b = LIST_ITEM(f->burials.next, struct burial,
		    node);
		crawl_free(&b->crawl);
		list_take(&b->node);
		mem_free(&b);
	}
}
