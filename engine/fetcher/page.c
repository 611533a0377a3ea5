/*
 * Pages: their memory, the loop over their steps, and the first and the last of
 * these: ROBOTS and TURN; ARCHIVE, COMMIT and REPORT.
 */
#include "engine/fetcher/address_guard.h"
#include "engine/fetcher/address_slots.h"
#include "engine/fetcher/call_page.h"
#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/handoff.h"
#include "engine/fetcher/host.h"
#include "engine/fetcher/links.h"
#include "engine/fetcher/origin.h"
#include "engine/fetcher/outbox.h"
#include "engine/fetcher/page_archive.h"
#include "engine/fetcher/page_log.h"
#include "engine/fetcher/revalidate.h"
#include "engine/fetcher/window.h"
#include "os/clock.h"

void
pages_open(struct fetcher *f)
{
	f->pages = mem_new(sizeof(*f->pages));
	list_init(&f->pages->all);
	list_init(&f->pages->woken);
	page_lend_open(f);
}

void
pages_close(struct fetcher *f)
{
	struct list *all = &f->pages->all;

	while (!list_empty(all)) {
		struct page *p = LIST_ITEM(all->next, struct page, all_node);
		p->holds_slot = false;
		p->address = NULL;
		page_free(&p);
	}
	mem_free(&f->pages);
}

void
pages_stop(struct fetcher *f, const struct fetch_crawl *c)
{
	struct list *all = &f->pages->all, *next;

	for (struct list *n = all->next; n != all; n = next) {
		struct page *p = LIST_ITEM(n, struct page, all_node);
		next = n->next;
		if (p->crawl == c && p->step == PAGE_FETCH &&
		    (p->address != NULL || call_stream_is_on(p)) &&
		    p->exchange.own != NULL)
			transport_stop(f->options.transport, &p->exchange);
	}
}

struct page *
page_new(struct fetcher *f, struct fetch_crawl *c, enum page_kind kind)
{
	struct page *p = mem_new(sizeof(*p));

	p->fetcher = p->home = f;
	p->kind = kind;
	p->submission.crawl = c->shared->id;
	list_init(&p->node);
	page_join(p);
	p->hops = ARENA_ARRAY(&p->submission.arena, struct hop *,
	    f->settings->redirects_max + 1);
	p->hops[0] = ARENA_NEW(&p->submission.arena, struct hop);
	p->hops_n = 1;
	p->start = clock_wall();
	p->began = loop_now(f->loop);
	atomic_fetch_add(&c->shared->users, 1);
	return p;
}

void
page_free(struct page **pp)
{
	struct page *p = *pp;
	struct crawl_shared *crawl = p->crawl->shared;

	CHECK(!p->holds_slot && p->address == NULL);
	list_take(&p->node);
	page_leave(p);
	for (unsigned i = 0; i < p->hops_n; i++)
		buf_free(&p->hops[i]->body);
	buf_free(&p->decoded);
	http_decoder_free(&p->decoder);
	call_frames_end(p);
	buf_free(&p->submission.members);
	buf_free(&p->submission.journal_rest);
	handoff_free(&p->submission.fresh);
	if (p->exchange.secret)
		arena_wipe(&p->submission.arena);
	else
		arena_free(&p->submission.arena);
	mem_free(pp);
	crawl_leave(crawl);
}

/* --- the loop over the steps -------------------------------------------- */

static enum page_step (*const step_run[])(struct page *) = {
#define PAGE_STEP_RUN(name, fn, text) page_step_##fn,
	PAGE_STEPS(PAGE_STEP_RUN)
#undef PAGE_STEP_RUN
};

static void
run_steps(struct page *p)
{
	struct page_table *t = p->fetcher->pages;
	enum page_step next = p->step;

	t->running = true;
	while (next != PAGE_WAIT) {
		p->step = next;
		next = step_run[next](p);
	}
	t->running = false;
}

void
page_wake(struct page *p, enum page_step step)
{
	p->step = step;
	list_put(&p->fetcher->pages->woken, &p->node);
}

void
page_resume(struct page *p, enum page_step step)
{
	page_wake(p, step);
	if (p->fetcher->pages->running)
		return;
	list_take(&p->node);
	run_steps(p);
}

void
pages_run_woken(struct fetcher *f)
{
	struct list *woken = &f->pages->woken;

	while (!list_empty(woken)) {
		struct page *p = LIST_POP(woken, struct page, node);
		run_steps(p);
	}
}

void
page_join(struct page *p)
{
	p->crawl = fetch_crawl_find(p->fetcher, p->submission.crawl);
	CHECK(p->crawl != NULL);
	p->crawl->pages++;
	list_put(&p->fetcher->pages->all, &p->all_node);
}

void
page_leave(struct page *p)
{
	list_take(&p->all_node);
	p->crawl->pages--;
}

static void
deliver_page(struct mail *m)
{
	struct page *p = CONTAINER(m, struct page, mail);
	struct fetcher *f = p->fetcher;

	page_join(p);
	if (p->lender == NULL) {
		page_resume(p, p->step);
		return;
	}
	struct mono begin = clock_mono();
	page_resume(p, p->step);
	loop_load_lent(&f->pages->load, begin, clock_mono());
}

bool
page_travel(struct page *p, struct fetcher *to)
{
	if (to == p->fetcher)
		return false;
	page_leave(p);
	p->fetcher = to;
	loop_send(to->loop, &p->mail, deliver_page);
	return true;
}

bool
page_goes_home(struct page *p)
{
	return p->kind == PAGE_OF_ROBOTS && page_travel(p, p->home);
}

bool
page_is_archived(const struct page *p)
{
	return !p->crawl->shared->unarchived;
}

/* --- ROBOTS, TURN ------------------------------------------------------- */

struct str
page_token(const struct page *p)
{
	struct str own = p->crawl->shared->product_token;

	return own.n != 0 ? own : p->fetcher->settings->product_token;
}

bool
page_excluded(const struct page *p)
{
	return p->kind == PAGE_URL && p->tries == 0 && p->hops_n == 1 &&
	    crawl_excludes(crawl_rules(p->crawl->shared),
	    p->submission.lease.url);
}

/* It is a sitemap, and its crawl has read as many bytes of them as it may. */
static bool
sitemaps_are_over(const struct page *p)
{
	uint64_t max = p->fetcher->settings->sitemap_bytes_max;

	return (p->submission.lease.flags & FOUND_SITEMAP) && max != 0 &&
	    p->kind == PAGE_URL &&
	    atomic_load(&p->crawl->shared->sitemap_bytes) >= max;
}

static struct str
with_detail(struct page *p, const char *text, const struct origin *o)
{
	return o->detail[0] == '\0' ? str_of(text) :
	    arena_printf(&p->submission.arena, "%s: %s", text, o->detail);
}

/* No line of it decided where it could not be had (RFC 9309 §2.3.1.4). */
static struct str
forbidden_text(struct page *p, const struct origin *o,
    const struct robots_match *match)
{
	struct arena *a = &p->submission.arena;

	return match->line == 0 ?
	    arena_printf(a, "robots.txt answered with status %d", o->status) :
	    arena_printf(a, "robots.txt line %u: %.*s", match->line,
	    STR_FMT(match->text));
}

/* Why the URL is not even asked robots.txt about, or NULL. */
static const char *
refused(const struct page *p, uint8_t *reason)
{
	const struct url *u = &page_hop(p)->url;

	*reason = SKIP_LIMIT;
	if (sitemaps_are_over(p))
		return "sitemap.bytes_max is reached";
	/* Seeds, sitemaps and what is tried again were judged by no policy. */
	*reason = SKIP_URL;
	if (!address_guard_port(p, u))
		return "the port belongs to another protocol";
	*reason = SKIP_BLOCKED;
	return address_guard_name(p, u) ? NULL : "the host is private or local";
}

enum page_step
page_step_robots(struct page *p)
{
	struct url *u = &page_hop(p)->url;
	struct why w = WHY_INIT;
	uint8_t reason;

	if (u->href.n == 0 && url_parse(p->submission.lease.url, NULL,
	    &p->submission.arena, u, &w) != OK)
		return page_finish(p, OUTCOME_SKIPPED, SKIP_URL,
		    str_of(w.text));
	if (page_travel(p, fetcher_of(p->fetcher, u->host)))
		return PAGE_WAIT;
	if (p->crawl->order == FETCH_END || page_excluded(p) ||
	    call_page_stopped(p))
		return PAGE_RETURN;
	const char *text = refused(p, &reason);
	if (text != NULL)
		return page_finish(p, OUTCOME_SKIPPED, reason, str_of(text));
	struct host *h = host_get(p->fetcher, u->host);
	if (policy_of(crawl_policy(p->crawl->shared))->robots ==
	    POLICY_IGNORE || (p->submission.lease.flags & FOUND_SITEMAP) ||
	    (p->call != NULL && !p->call->robots))
		return PAGE_TURN;
	struct origin *o = origin_get(h, p);
	if (!origin_ready(o, p))
		return PAGE_WAIT;
	if (o->unreachable)
		return page_finish(p, OUTCOME_EXCEPTION, (uint8_t)o->reason,
		    with_detail(p, "robots.txt could not be reached", o));
	struct robots_match match;
	if (!robots_allows(o->robots, url_target(u), &match))
		return page_finish(p, OUTCOME_SKIPPED, SKIP_ROBOTS,
		    forbidden_text(p, o, &match));
	if (p->kind == PAGE_URL)
		links_from_robots(p, o);
	return revalidate_begin(p) ? PAGE_WAIT : PAGE_TURN;
}

struct origin *
page_down_origin(struct page *p, struct host *h)
{
	struct mono now = loop_now(p->fetcher->loop);

	if (!mono_before(now, h->down_until))
		return NULL;
	struct origin *o = origin_get(h, p);
	return mono_before(now, o->down_until) ? o : NULL;
}

enum page_step
page_step_turn(struct page *p)
{
	struct host *h = host_get(p->fetcher, page_hop(p)->url.host);
	struct origin *down = p->kind == PAGE_URL ?
	    page_down_origin(p, h) : NULL;

	if (down != NULL)
		return page_finish(p, OUTCOME_EXCEPTION,
		    (uint8_t)down->down_reason,
		    with_detail(p, "the host failed a moment ago", down));
	if (p->kind == PAGE_OF_CALL && call_page_is_far(p, h))
		return PAGE_COMMIT;
	window_join(h, p->crawl);
	call_page_waits(p, true);
	host_wait(h, p);
	return PAGE_WAIT;
}

/* --- ARCHIVE, RETURN, COMMIT, REPORT ------------------------------------ */

enum page_step
page_step_archive(struct page *p)
{
	struct why w = WHY_INIT;

	if (page_is_archived(p) && !page_archive_members(p, &w))
		return page_finish(p, OUTCOME_EXCEPTION, EXCEPTION_PROTOCOL,
		    arena_copy(&p->submission.arena, str_of(w.text)));
	return page_finish(p, p->kind == PAGE_OF_ROBOTS ? OUTCOME_NONE :
	    p->submission.lease.flags & FOUND_SITEMAP ? OUTCOME_AUX :
	    OUTCOME_ITEM, 0, STR_NONE);
}

enum page_step
page_step_return(struct page *p)
{
	page_release_slot(p);
	if (page_goes_home(p))
		return PAGE_WAIT;
	if (p->kind == PAGE_OF_ROBOTS)
		origin_abandoned(p->origin);
	if (p->kind == PAGE_OF_CALL)
		call_page_fail(p, CALL_STOPPED, 0, STR_NONE);
	p->submission.outcome = p->kind == PAGE_URL ? OUTCOME_RETURNED :
	    OUTCOME_NONE;
	return PAGE_COMMIT;
}

static void
durable(struct submission *s, enum err e)
{
	struct page *p = CONTAINER(s, struct page, submission);

	outbox_uncount(p->fetcher, p->bytes_counted);
	if (p->lender != NULL)
		page_join(p);
	if (p->kind == PAGE_OF_CALL)
		p->call->result = e;
	if (e == OK || p->kind == PAGE_OF_CALL)
		page_resume(p, PAGE_REPORT);
	else
		page_free(&p);
}

/* Bytes that a page occupies until it is durable: its records, or its links if
 * nothing is archived. */
static size_t
held_bytes(const struct page *p)
{
	const struct submission *s = &p->submission;

	return page_is_archived(p) ? s->members.n :
	    s->found_n * sizeof(*s->found) + s->journal_rest.n;
}

enum page_step
page_step_commit(struct page *p)
{
	struct submission *s = &p->submission;
	struct fetcher *f = p->fetcher;

	page_archive_handoff(p);
	/* The bodies are in the members now; memory goes before the wait. */
	for (unsigned i = 0; i < p->hops_n; i++)
		buf_free(&p->hops[i]->body);
	buf_free(&p->decoded);
	p->content = STR_NONE;
	s->durable = durable;
	if (p->lender != NULL) {
		page_unlend(p);
	} else {
		p->bytes_counted = held_bytes(p);
		outbox_count(f, p->bytes_counted);
	}
	s->home = p->fetcher->loop;
	outbox_put(f, p);
	return PAGE_WAIT;
}

enum page_step
page_step_report(struct page *p)
{
	struct fetcher *f = p->fetcher;
	struct url_event e;

	if (p->crawl->traps != NULL && p->submission.outcome == OUTCOME_ITEM)
		trap_note(p->crawl->traps, &page_hop(p)->url,
		    !p->submission.duplicate && !p->submission.near_duplicate);
	if (f->options.event != NULL && p->kind == PAGE_URL &&
	    p->submission.outcome != OUTCOME_RETURNED) {
		page_archive_event(p, &e);
		f->options.event(f->options.arg, &e);
	}
	if (p->kind == PAGE_OF_CALL)
		call_page_report(p);
	page_free(&p);
	return PAGE_WAIT;
}

enum page_step
page_finish(struct page *p, enum outcome outcome, uint8_t reason,
    struct str text)
{
	struct submission *s = &p->submission;

	page_release_slot(p);
	if (p->kind == PAGE_OF_CALL && outcome != OUTCOME_CALL) {
		call_page_fail(p, outcome == OUTCOME_SKIPPED ? CALL_REFUSED :
		    CALL_FAILED, reason, text);
		return PAGE_COMMIT;
	}
	s->outcome = outcome;
	s->reason = reason;
	if (outcome == OUTCOME_ITEM || outcome == OUTCOME_CALL) {
		s->status = (uint16_t)page_hop(p)->status;
		s->body_bytes = page_hop(p)->body.n;
		page_archive_journal(p);
	}
	if (outcome == OUTCOME_AUX)
		s->body_bytes = p->sitemap_bytes;
	p->end_text = text;
	if (outcome == OUTCOME_EXCEPTION || outcome == OUTCOME_SKIPPED)
		page_log_outcome(p, text);
	/* A robots.txt that was read has its members already. */
	if (outcome != OUTCOME_ITEM && outcome != OUTCOME_AUX &&
	    outcome != OUTCOME_CALL && s->parts == NULL)
		page_archive_answers(p);
	return PAGE_COMMIT;
}
