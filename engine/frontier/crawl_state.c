/*
 * When a crawl starts, waits for others, pauses and ends; and its limits of
 * bytes, captures and time.
 */
#include "engine/frontier/crawl_state.h"
#include "engine/frontier/near_dup.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/teardown.h"
#include "os/clock.h"
#include "os/log.h"

uint64_t
crawl_tickets(const struct crawl *c)
{
	uint64_t used = c->view.counts.items + c->view.counts.leased;

	if (c->max_items == 0)
		return UINT64_MAX;
	return used >= c->max_items ? 0 : c->max_items - used;
}

void
crawl_wake_starved(struct crawl *c)
{
	if (list_empty(&c->starved) || crawl_tickets(c) == 0)
		return;
	while (!list_empty(&c->starved)) {
		struct queue *q = LIST_POP(&c->starved, struct queue,
		    starved_node);
		queue_tell(q);
	}
}

static void
end(struct crawl *c, enum crawl_state state, const char *reason)
{
	const struct frontier_options *o = &c->frontier->options;

	c->view.state = state;
	c->view.ended = clock_wall();
	snprintf(c->view.reason, sizeof(c->view.reason), "%s", reason);
	crawl_log_put(c, state == CRAWL_CANCELLED ? CRAWL_LOG_CANCELLED :
	    CRAWL_LOG_COMPLETED, str_of(reason));
	ledger_series_close(c->frontier->ledger, &c->series);
	loop_timer_stop(c->frontier->loop, &c->deadline);
	near_dup_free(&c->near);
	crawl_touch(c);
	crawl_settle(c);
	if (o->ending != NULL && c->view.kind == CRAWL_CRAWL)
		o->ending(o->arg, c->view.id);
	crawl_teardown(c);
	crawl_start_pending(c->frontier);
}

/* --- bytes that crawls may write ----------------------------------------- */

static void
log_limit(struct crawl *c, const char *text, const char *limit)
{
	crawl_log(c, &(struct crawl_line){ .kind = CRAWL_LOG_LIMIT,
	    .text = str_of(text), .reason = str_of(limit) });
}

/* A limit of its own is reached. */
static void
end_by_limit(struct crawl *c, const char *text, const char *limit)
{
	log_limit(c, text, limit);
	end(c, CRAWL_COMPLETE, limit);
}

/*
 * archive.bytes_max is the operator's: the crawl waits until there is room, or
 * the limit is raised, and somebody resumes it.
 */
static void
pause_for_room(struct crawl *c)
{
	log_limit(c, "all crawls have written archive.bytes_max bytes",
	    "archive.bytes_max");
	if (frontier_set_state(c->frontier, c->view.id, CRAWL_PAUSED,
	    "archive.bytes_max", NULL) != OK)
		log_warn("frontier.pause", "crawl=%u", c->view.id);
	crawl_touch(c);
}

/* A sentence for a crawl whose last URL is done; `buf` may hold it. */
static const char *
completion_reason(const struct crawl_counts *n, char *buf, size_t size)
{
	enum skip_reason most = SKIP_NONE;

	if (n->items > 0)
		return "everything was fetched";
	if (crawl_exceptions(n) > 0)
		return "every fetch failed";
	for (int r = 0; r < SKIP_COUNT; r++)
		if (n->skips[r] > n->skips[most])
			most = (enum skip_reason)r;
	if (n->skips[most] == 0)
		return "everything was fetched";
	snprintf(buf, size, "every URL was skipped: %s", skip_text(most));
	return buf;
}

void
crawl_consider_end(struct crawl *c)
{
	char reason[sizeof(c->view.reason)];
	const struct crawl_counts *n = &c->view.counts;

	if (c->view.state != CRAWL_RUNNING && c->view.state != CRAWL_PAUSED)
		return;
	if (c->view.state == CRAWL_RUNNING && n->queued != 0 &&
	    bytes_limit_of_crawl(c)) {
		end_by_limit(c, "the crawl has written max_bytes",
		    "max_bytes");
		return;
	}
	/* One that writes no WARC files leaves the room to others. */
	if (n->queued != 0 && c->view.state == CRAWL_RUNNING &&
	    c->warc_dir.n > 0 && bytes_limit_of_all(c->frontier)) {
		pause_for_room(c);
		return;
	}
	/* A crawl of calls has no queue; its owner ends it. */
	if (n->queued == 0 && crawl_kind_has_calls(c->view.kind))
		return;
	if (n->queued == 0)
		end(c, CRAWL_COMPLETE,
		    completion_reason(n, reason, sizeof(reason)));
	else if (c->max_items != 0 && n->items >= c->max_items &&
	    n->leased == 0)
		end_by_limit(c, "max_items is reached", "max_items");
}

void
crawl_wake_all(struct crawl *c)
{
	MAP_EACH(q, &c->queues, struct queue) {
		if (q->waiting > 0)
			queue_tell(q);
	}
}

/* --- time that a crawl may take ------------------------------------------ */

static void
time_is_over(struct timer *t)
{
	struct crawl *c = CONTAINER(t, struct crawl, deadline);

	if (!crawl_state_is_ended(c->view.state))
		end_by_limit(c, "the crawl has had its time", "max_duration");
}

/* Counted by the wall's clock, so that it goes on while no process runs. */
void
crawl_set_deadline(struct crawl *c)
{
	struct frontier *f = c->frontier;
	int64_t gone_ms = (clock_wall().us - c->view.started.us) / 1000;

	if (c->duration_ms_max == 0 || c->view.started.us == 0)
		return;
	c->deadline.fire = time_is_over;
	loop_timer_set(f->loop, &c->deadline, mono_add_ms(clock_mono(),
	    MAX(0, c->duration_ms_max - MAX(0, gone_ms))));
}

void
crawl_stop_deadlines(struct frontier *f)
{
	MAP_EACH(v, &f->crawls, void)
		loop_timer_stop(f->loop, &((struct crawl *)v)->deadline);
}

/* --- crawls that wait for others to end ---------------------------------- */

/* The oldest that may start now, or NULL. */
static struct crawl *
next_pending(const struct frontier *f)
{
	unsigned max = f->options.running_max, running = 0;
	struct crawl *oldest = NULL;

	MAP_EACH(c, &f->crawls, struct crawl) {
		bool waits = c->view.state == CRAWL_PENDING && c->loaded;
		/* Calls are few, and nobody waits for them to end. */
		if (waits && crawl_kind_has_calls(c->view.kind))
			return c;
		running += c->view.state == CRAWL_RUNNING &&
		    !crawl_kind_has_calls(c->view.kind);
		if (waits && (oldest == NULL || c->id < oldest->id))
			oldest = c;
	}
	return max == 0 || running < max ? oldest : NULL;
}

static void
start(struct crawl *c)
{
	bool first = c->view.started.us == 0;

	c->view.state = CRAWL_RUNNING;
	c->view.reason[0] = '\0';
	if (first)
		c->view.started = clock_wall();
	if (first)
		crawl_log_put(c, CRAWL_LOG_STARTED, c->name);
	crawl_touch(c);
	crawl_set_deadline(c);
}

void
crawl_start_new(struct crawl *c)
{
	if (next_pending(c->frontier) == c)
		start(c);
	else
		snprintf(c->view.reason, sizeof(c->view.reason),
		    "other crawls run first");
}

/* One that ends as soon as it starts makes room for the next. */
void
crawl_start_pending(struct frontier *f)
{
	struct crawl *c;

	if (f->starting)
		return;
	f->starting = true;
	while ((c = next_pending(f)) != NULL) {
		start(c);
		crawl_wake_all(c);
		crawl_consider_end(c);
	}
	f->starting = false;
}

static void
resume(struct crawl *c, const char *reason)
{
	c->view.state = CRAWL_PENDING;
	crawl_log_put(c, CRAWL_LOG_RESUMED, str_of(reason));
	snprintf(c->view.reason, sizeof(c->view.reason),
	    "other crawls run first");
	crawl_touch(c);
	crawl_start_pending(c->frontier);
}

enum err
frontier_set_state(struct frontier *f, uint32_t id, enum crawl_state s,
    const char *reason, struct why *w)
{
	struct crawl *c = crawl_get(f, id);

	if (c == NULL)
		return why(w, ERR_ABSENT, "there is no crawl %u", id);
	if (c->view.state == s ||
	    (crawl_state_is_ended(c->view.state) && crawl_state_is_ended(s)))
		return OK;
	if (crawl_state_is_ended(c->view.state))
		return why(w, ERR_STATE, "crawl %u is %s", id,
		    crawl_state_name(c->view.state));
	if (crawl_state_is_ended(s)) {
		end(c, s, reason);
		return OK;
	}
	if (s == CRAWL_RUNNING) {
		if (c->view.state == CRAWL_PAUSED)
			resume(c, reason);
		return OK;
	}
	c->view.state = s;
	snprintf(c->view.reason, sizeof(c->view.reason), "%s", reason);
	crawl_log_put(c, CRAWL_LOG_PAUSED, str_of(reason));
	crawl_settle(c);
	crawl_consider_end(c);
	crawl_start_pending(f);
	return OK;
}
