#include "engine/frontier/frontier_check_testing.h"
#include "engine/frontier/queue.h"

static void
check_known_evict(const struct frontier *f)
{
	const struct known_evict *m = f->evict;
	size_t links = 0;

	LIST_EACH(s, &m->asked, struct submission, held_node)
		links += s->missing_n;
	CHECK(links == m->links);
	CHECK(m->reads > 0 || list_empty(&m->asked));
	CHECK(m->closed || list_empty(&m->waits));
	CHECK(!m->waiting || (m->closed && m->reads == 0));
}

static void
check_host_slots(const struct frontier *f)
{
	unsigned n = 0, most = 0;

	MAP_EACH(c, &f->crawls, const struct crawl) {
		MAP_EACH(q, &c->queues, const struct queue) {
			n += q->active;
			CHECK(!q->active || list_empty(&q->slot_node));
			/* What is out there has its place. */
			CHECK(q->active || (q->leased == 0 && q->walks == 0) ||
			    crawl_state_is_ended(c->view.state));
		}
	}
	for (size_t i = 0; i < MAX(f->options.ports_n, 1); i++) {
		most = MAX(most, f->slots[i].active);
		n -= f->slots[i].active;
	}
	CHECK(n == 0);
	CHECK(f->options.hosts_active_max == 0 ||
	    most <= f->options.hosts_active_max);
}

static void
check_crawl(const struct crawl *c)
{
	uint64_t waiting = 0, leased = 0, done = 0;

	CHECK(!c->retired || c->queues.n == 0);
	if (c->retired)
		return;
	MAP_EACH(q, &c->queues, const struct queue) {
		waiting += q->waiting;
		leased += q->leased;
		done += q->done;
	}
	CHECK(c->queues.n == c->view.queues);
	CHECK(waiting + leased == c->view.counts.queued);
	CHECK(leased == c->view.counts.leased);
	/* A call's answer is an item that no queue has. */
	CHECK(crawl_kind_has_calls(c->view.kind) ||
	    c->view.counts.items <= done);
	CHECK(c->next_seq == c->view.counts.items + 1);
}

void
frontier_check(const struct frontier *f)
{
	check_known_evict(f);
	check_host_slots(f);
	MAP_EACH(c, &f->crawls, const struct crawl)
		check_crawl(c);
}
