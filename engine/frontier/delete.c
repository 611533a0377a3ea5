/*
 * Deletion of a crawl that has ended.
 *
 *     one group: its records, journal and log go; a tombstone comes, which
 *                keeps its number from being given again
 *     ─► durable: nobody is told of it any more
 *     ─► nobody refers to it, nor its teardown (teardown.c): its URLs leave the
 *        index, and it the memory
 *
 * A start loads no URLs of such a crawl, and drops what is left of them
 * (lease_record.c).
 */
#include "engine/frontier/change.h"
#include "engine/frontier/delete.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/teardown.h"

/* In INDEX_CRAWL, without a value. */
#define PART_TOMB 'T'

/* --- records -------------------------------------------------------------- */

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
	key_range(id, 4, &f->key, &f->value);
	ledger_delete_range(f->ledger, family, buf_str(&f->key),
	    buf_str(&f->value));
}

/* --- its memory ----------------------------------------------------------- */

void
crawl_ref(struct crawl *c)
{
	c->refs++;
}

void
crawl_unref(struct crawl *c)
{
	CHECK(c->refs > 0);
	c->refs--;
	if (c->teardown != NULL)
		teardown_unref(c->teardown);
	else if (c->refs == 0 && !list_empty(&c->deleted_node)) {
		drop_family(c->frontier, INDEX_URL, c->id);
		crawl_free(&c);
	}
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

/* Remove the crawl from lookups; nothing of it is written any more. */
static void
leave(struct frontier *f, struct crawl *c)
{
	map_take_id(&f->crawls, c->id);
	bytes_limit_set(c, 0);
	give_name_on(f, c);
	list_take(&c->dirty_node);
	list_take(&c->changed_node);
	MAP_EACH(q, &c->queues, struct queue) {
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
	struct list *n = a->frontier->deleted.next;

	/* A deletion that failed keeps its reference. */
	while (LIST_ITEM(n, struct crawl, deleted_node)->id != a->crawl)
		n = n->next;
	if (e == OK)
		crawl_unref(LIST_ITEM(n, struct crawl, deleted_node));
	change_kept(p, e);
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
	crawl_ref(c);
	list_put(&f->deleted, &c->deleted_node);
	leave(f, c);
	buf_clear(&f->value);
	buf_put_be32(&f->value, c->id);
	ledger_note(f->ledger, NOTE_DELETED, buf_str(&f->value));
	drop_family(f, INDEX_CRAWL, c->id);
	drop_family(f, INDEX_QUEUE, c->id);
	drop_family(f, INDEX_JOURNAL, c->id);
	drop_family(f, INDEX_LOG, c->id);
	crawl_put_part(f, c->id, PART_TOMB, STR(""));
	a->promise.kept = deleted;
	ledger_promise(f->ledger, &a->promise);
}

void
delete_forget(struct frontier *f)
{
	while (!list_empty(&f->deleted)) {
		struct crawl *c = LIST_ITEM(f->deleted.next, struct crawl,
		    deleted_node);
		crawl_free(&c);
	}
}
