/*
 * Which queues their loops hold: at most hosts_active_max per loop.  A queue is
 * active from the moment its loop is told of it until nothing of it is out
 * there; then the one that has rested longest follows.
 *
 *     waiting_for_slot ──place──► active: noted, walked for, or leased
 *        ▲                  │
 *        └──── told, ◄──────┘ nothing is out
 *              and no place
 *
 * A paused crawl's queues keep their place only while URLs are leased.
 */
#include "engine/frontier/queue.h"

static struct host_slots *
places_of(const struct queue *q)
{
	return &q->crawl->frontier->slots[q->port];
}

void
host_slots_open(struct frontier *f)
{
	size_t n = MAX(f->options.ports_n, 1);

	f->slots = mem_array(n, sizeof(*f->slots));
	for (size_t i = 0; i < n; i++)
		list_init(&f->slots[i].waiting_for_slot);
}

static void
rest(struct queue *q)
{
	if (!list_empty(&q->slot_node))
		return;
	list_put(&places_of(q)->waiting_for_slot, &q->slot_node);
	metric_add(&frontier_metrics[METRIC_QUEUES_RESTING], 1);
}

static void
rest_no_more(struct queue *q)
{
	if (list_empty(&q->slot_node))
		return;
	list_take(&q->slot_node);
	metric_add(&frontier_metrics[METRIC_QUEUES_RESTING], -1);
}

bool
queue_activate(struct queue *q)
{
	struct host_slots *p = places_of(q);
	unsigned max = q->crawl->frontier->options.hosts_active_max;

	if (q->active)
		return true;
	if (max != 0 && p->active >= max) {
		rest(q);
		return false;
	}
	rest_no_more(q);
	q->active = true;
	p->active++;
	metric_add(&frontier_metrics[METRIC_QUEUES_ACTIVE], 1);
	return true;
}

static void
leave(struct queue *q)
{
	struct host_slots *p = places_of(q);

	if (!q->active)
		return;
	q->active = false;
	p->active--;
	metric_add(&frontier_metrics[METRIC_QUEUES_ACTIVE], -1);
	/* The next that has work; one that is drained gives the place on. */
	while (!list_empty(&p->waiting_for_slot)) {
		struct queue *next = LIST_ITEM(
		    p->waiting_for_slot.next, struct queue, slot_node);
		rest_no_more(next);
		if (next->waiting > 0)
			queue_tell(next);
		if (next->active)
			break;
	}
}

void
queue_settle(struct queue *q)
{
	enum crawl_state s = q->crawl->view.state;

	if (crawl_state_is_ended(s)) {
		rest_no_more(q);
		leave(q);
	} else if (q->leased == 0 && q->walks == 0 &&
	    (!q->noted || s != CRAWL_RUNNING)) {
		leave(q);
	}
}

void
crawl_settle(struct crawl *c)
{
	MAP_EACH(v, &c->queues, void)
		queue_settle(v);
}

void
host_slots_close(struct frontier *f)
{
	MAP_EACH(c, &f->crawls, const struct crawl) {
		MAP_EACH(q, &c->queues, struct queue) {
			rest_no_more(q);
			metric_add(&frontier_metrics[METRIC_QUEUES_ACTIVE],
			    -(int64_t)q->active);
		}
	}
	mem_free(&f->slots);
}
