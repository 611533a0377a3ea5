/* Crawls and queues of the lease service. */
#include "engine/frontier/lease_crawl.h"

/* --- crawls --------------------------------------------------------------- */

static struct str
name_of(struct str name)
{
	return name.n == 0 ? STR("DEFAULT") : name;
}

struct lease_crawl *
lease_find_crawl(struct frontier *f, struct str name)
{
	return map_get(&f->leases->crawls, name_of(name));
}

struct lease_crawl *
lease_crawl_of(struct frontier *f, uint32_t id)
{
	return map_get_id(&f->leases->ids, id);
}

struct lease_crawl *
lease_new_crawl(struct frontier *f, uint32_t id, struct str name)
{
	struct lease_service *o = f->leases;
	struct lease_crawl *c = mem_new(sizeof(*c));
	char *text = mem_new(name.n + 1);

	if (name.n != 0)
		memcpy(text, name.p, name.n);
	*c = (struct lease_crawl){ .frontier = f, .id = id, .next_queue = 1,
	    .name = { text, name.n } };
	list_init(&c->changed_node);
	list_init(&c->dying_node);
	map_put(&o->crawls, c->name, c);
	map_put_id(&o->ids, id, c);
	f->next_crawl = MAX(f->next_crawl, id + 1);
	return c;
}

struct lease_crawl_look *
lease_look(struct frontier *f, struct arena *a, size_t max, size_t *n)
{
	const struct map *crawls = &f->leases->crawls;
	struct lease_crawl_look *all = ARENA_ARRAY(a,
	    struct lease_crawl_look, MIN(max, crawls->n));
	size_t at = 0;
	const struct lease_crawl *c;

	*n = 0;
	while (*n < max && (c = map_next(crawls, &at)) != NULL) {
		if (!c->dead)
			all[(*n)++] = (struct lease_crawl_look){ c->id,
			    arena_copy(a, c->name), c->stats };
	}
	return all;
}

void
lease_keep_crawl(struct lease_crawl *c)
{
	if (list_empty(&c->changed_node))
		list_put(&c->frontier->leases->changed_crawls,
		    &c->changed_node);
}

struct lease_crawl *
lease_make_crawl(struct frontier *f, struct str name)
{
	struct lease_service *o = f->leases;
	struct lease_crawl *c = lease_find_crawl(f, name);

	if (c != NULL)
		return c;
	c = lease_new_crawl(f, f->next_crawl, name_of(name));
	lease_tick(f);
	/* Its number is not given again, even when it is gone. */
	lease_control_touch(f);
	crawl_key(c->id, 'O', &o->key);
	lease_crawl_bytes(c, &o->value);
	ledger_note(f->ledger, NOTE_OUTSIDE_CRAWL, buf_str(&o->value));
	ledger_put(f->ledger, INDEX_CRAWL, buf_str(&o->key),
	    str_from(buf_str(&o->value), 4));
	lease_keep_crawl(c);
	return c;
}

void
lease_free_crawl(struct lease_crawl **cp)
{
	struct lease_crawl *c = *cp;

	CHECK(c->keys.n == 0 || c->dead);
	list_take(&c->changed_node);
	list_take(&c->dying_node);
	turn_forget_levels(c);
	lease_set_free(&c->keys);
	lease_set_free(&c->ids);
	arena_free(&c->names);
	free((void *)(uintptr_t)c->name.p);
	mem_free(cp);
}

/* --- queues --------------------------------------------------------------- */

struct lease_queue *
lease_new_queue(struct lease_crawl *c, uint32_t id, struct str key)
{
	struct lease_service *o = c->frontier->leases;
	struct lease_queue *q = lease_take_slot(c, id, key);

	q->served = NEVER_SERVED;
	q->next_due = q->put_due = q->walk_rewind = DATE_NEVER;
	q->cursor_date = 1;
	q->ticket = o->next_ticket++;
	q->unseen = true;
	o->unseen++;
	c->next_queue = MAX(c->next_queue, id + 1);
	return q;
}

struct lease_queue *
lease_make_queue(struct lease_crawl *c, struct str key)
{
	struct lease_queue *q = lease_find_queue(c, key);

	if (q != NULL)
		return q;
	q = lease_new_queue(c, c->next_queue, key);
	lease_keep_crawl(c);
	q->fresh = true;
	lease_touch(q);
	return q;
}

void
lease_see(struct lease_queue *q)
{
	struct lease_service *o = q->crawl->frontier->leases;

	if (!q->unseen)
		return;
	q->unseen = false;
	o->unseen--;
	o->stats.queues++;
	q->crawl->stats.queues++;
}

void
lease_drop_queue(struct lease_queue **qp)
{
	struct lease_queue *q = *qp;
	struct lease_crawl *c = q->crawl;
	struct lease_service *o = c->frontier->leases;

	lease_out_drop_all(q);
	turn_take(q);
	lease_count(q, -(int64_t)q->active, -(int64_t)q->completed);
	if (q->unseen) {
		o->unseen--;
	} else {
		c->stats.queues--;
		o->stats.queues -= !c->dead;
	}
	lease_give_slot(q);
	*qp = NULL;
}

void
lease_keep(struct lease_queue *q)
{
	if (q->changed)
		return;
	q->changed = true;
	lease_slots_put(&q->crawl->frontier->leases->changed, q->slot);
}

void
lease_touch(struct lease_queue *q)
{
	struct frontier *f = q->crawl->frontier;

	lease_changes(f);
	if (q->dirty)
		return;
	q->dirty = true;
	lease_slots_put(&f->leases->dirty, q->slot);
}

static void
count_stats(struct lease_stats *s, int64_t active, int64_t completed,
    int queues)
{
	s->active += (uint64_t)active;
	s->completed += (uint64_t)completed;
	s->active_queues += (uint64_t)(int64_t)queues;
}

void
lease_count(struct lease_queue *q, int64_t active, int64_t completed)
{
	struct lease_crawl *c = q->crawl;
	int queues = -(q->active > 0);

	q->active = (uint32_t)(q->active + active);
	q->completed = (uint32_t)(q->completed + completed);
	queues += q->active > 0;
	count_stats(&c->stats, active, completed, queues);
	if (!c->dead)
		count_stats(&c->frontier->leases->stats, active, completed,
		    queues);
}
