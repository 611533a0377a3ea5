/*
 * Calls: a page without a lease, from its owner's loop to its host's and back.
 */
#include "engine/fetcher/call_page.h"

#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/host.h"
#include "engine/fetcher/page_archive.h"
#include "engine/frontier/checkpoint.h"
#include "os/clock.h"

/* --- what the page's steps ask ------------------------------------------- */

bool
call_page_stopped(const struct page *p)
{
	return p->kind == PAGE_OF_CALL && atomic_load_explicit(
	    &p->call->stopping, memory_order_relaxed);
}

/* RFC 9110 §15.4: 301 and 302 may, 303 does change the method to GET. */
struct str
call_page_method(const struct page *p)
{
	if (p->kind != PAGE_OF_CALL || (p->as_get &&
	    !str_eq(p->call->method, STR("HEAD"))))
		return STR("GET");
	return p->call->method;
}

struct str
call_page_body(const struct page *p)
{
	return p->kind != PAGE_OF_CALL || p->as_get ? STR_NONE :
	    p->call->body;
}

bool
call_page_may_be_private(const struct page *p, const struct url *u)
{
	char text[8];

	snprintf(text, sizeof(text), ":%u", u->port);
	for (size_t i = 0; i < p->private_n; i++) {
		struct str host = p->private_hosts[i];
		if (str_ends(host, str_of(text)) && str_eq_nocase(
		    str_cut(host, 0, host.n - strlen(text)), u->host))
			return true;
	}
	return false;
}

bool
call_page_tries_left(const struct page *p)
{
	unsigned max = p->call->tries_max;

	return p->tries < (max != 0 ? max : p->fetcher->settings->tries_max);
}

bool
call_page_in_time(const struct page *p, struct mono at)
{
	return p->call->deadline.ns == 0 ||
	    mono_before(at, p->call->deadline);
}

bool
call_page_is_far(struct page *p, struct host *h)
{
	struct call *c = p->call;

	if (c->turn_ms_max == 0 || p->tries > 0 || p->hops_n > 1)
		return false;
	int64_t ms = host_turn_ms(h, p->crawl);
	if (ms <= c->turn_ms_max)
		return false;
	c->turn_ms = ms;
	c->delay_ms = host_delay_ms(h, p->crawl);
	call_page_fail(p, CALL_FAR, 0, STR_NONE);
	return true;
}

static void
deliver_turned(struct mail *m)
{
	struct call *c = CONTAINER(m, struct call, turn_mail);

	atomic_store(&c->turn_is_out, false);
	c->turned(c, atomic_load(&c->waits));
}

void
call_page_waits(struct page *p, bool waits)
{
	struct call *c = p->call;

	if (p->kind != PAGE_OF_CALL || c->turned == NULL)
		return;
	atomic_store(&c->waits, waits);
	if (!atomic_exchange(&c->turn_is_out, true))
		loop_send(c->home, &c->turn_mail, deliver_turned);
}

/* --- the answer ---------------------------------------------------------- */

static void
deliver_answered(struct mail *m)
{
	struct call *c = CONTAINER(m, struct call, mail);

	c->answered(c);
}

static void
post_answered(struct call *c)
{
	if (c->answered == NULL)
		return;
	loop_send(c->home, &c->mail, deliver_answered);
}

/* Its own copies: the page goes when the answer is durable. */
void
call_page_tell_head(struct page *p)
{
	struct call *c = p->call;
	const struct hop *h = page_hop(p);
	struct str head = arena_copy(&c->arena, h->head);

	c->end = CALL_ANSWERED;
	c->status = h->status;
	c->hops = p->hops_n - 1;
	c->final_url = arena_copy(&c->arena, h->url.href);
	if (http_parse_head(head, false, HTTP_LIMITS_DEFAULT, &c->arena,
	    &c->head, NULL) != OK)
		c->head = (struct http_head){ 0 };
}

static void
tell_answer(struct page *p)
{
	struct call *c = p->call;

	/* A stream's owner has the head, and may be reading it. */
	if (!p->streamed)
		call_page_tell_head(p);
	c->truncated = page_hop(p)->truncated != NULL || p->too_long;
	c->cut = p->streamed && call_is_cut(str_of(
	    page_hop(p)->truncated));
	c->damaged = p->damaged;
	/* The records are made: the owner gets the bytes themselves. */
	struct buf *body = p->decoded.n > 0 ? &p->decoded : &page_hop(p)->body;
	if (!p->streamed && (body == &p->decoded || p->content.n > 0)) {
		c->content = *body;
		*body = (struct buf)BUF_INIT;
	}
	post_answered(c);
}

/* An answer that is kept for its meaning alone, such as a budget's state: the
 * HTTP message, so that it can be read again as it came. */
static bool
put_metadata(struct page *p, struct why *w)
{
	struct submission *s = &p->submission;
	const struct hop *h = page_hop(p);
	FREED(buf_free) struct buf clean = BUF_INIT, names = BUF_INIT;
	const struct redactor *r = page_redactor(p);
	struct str block[] = { r != NULL && redact_response_head(r, h->head,
	    &clean, &names) ? buf_str(&clean) : h->head, buf_str(&h->body) };
	const char *info = atomic_load_explicit(&p->crawl->shared->warcinfo_id,
	    memory_order_acquire);
	struct warc_capture capture = { .crawl = s->crawl,
	    .start = h->start, .duration_us = h->times.total,
	    .requested_url = s->lease.url };
	struct warc_document d = { .type = WARC_METADATA,
	    .target_uri = h->url.href, .date = h->start,
	    .content_type = STR("application/http;msgtype=response"),
	    .warcinfo_id = str_of(info), .capture = &capture,
	    .block = block, .block_n = ARRAY_LEN(block) };

	s->parts = ARENA_NEW(&s->arena, struct archive_member);
	if (warc_put_document(p->fetcher->writer, &d, &s->members, &p->final,
	    w) != OK)
		return false;
	page_archive_add(s, &p->final, STR_NONE);
	return true;
}

static bool
put_records(struct page *p, struct why *w)
{
	struct call *c = p->call;
	struct str body = buf_str(&page_hop(p)->body);

	if (!page_is_archived(p))
		return true;
	if (!p->compared)
		warc_digest_payload(p->fetcher->writer, &body, 1, &p->digest);
	if (c->archive == CALL_RESPONSE)
		return page_archive_members(p, w) &&
		    call_frames_archive_sent(p, w);
	if (c->archive == CALL_FRAMES)
		return call_frames_archive(p, w);
	warc_writer_redact(p->fetcher->writer, page_redactor(p));
	return put_metadata(p, w);
}

/* For a rebuild: what is in the index goes to the archive, too. */
static bool
archive_checkpoint(struct page *p, struct why *w)
{
	struct submission *s = &p->submission;
	const struct call *c = p->call;
	const char *info = atomic_load_explicit(&p->crawl->shared->warcinfo_id,
	    memory_order_acquire);
	struct warc_document d = { .type = WARC_METADATA,
	    .date = clock_wall(), .warcinfo_id = str_of(info),
	    .content_type = STR("application/octet-stream"),
	    .concurrent_to = str_of(p->final.id),
	    .checkpoint = arena_printf(&s->arena, "%u %.*s", s->crawl,
	    STR_FMT(c->checkpoint_owner)),
	    .block = &c->checkpoint, .block_n = 1 };
	struct archive_member *parts = ARENA_ARRAY(&s->arena,
	    struct archive_member, s->parts_n + 1);
	struct warc_member m;

	if (s->parts_n > 0)
		memcpy(parts, s->parts, s->parts_n * sizeof(*parts));
	s->parts = parts;
	warc_writer_redact(p->fetcher->writer, NULL);
	if (warc_put_document(p->fetcher->writer, &d, &s->members, &m, w) !=
	    OK)
		return false;
	page_archive_add(s, &m, STR_NONE);
	return true;
}

/* In the same group as the records, or alone when there are none. */
static bool
put_checkpoint(struct page *p, struct why *w)
{
	struct submission *s = &p->submission;

	if (p->call->checkpoint.n == 0)
		return true;
	s->puts = ARENA_NEW(&s->arena, struct extra_put);
	s->puts_n = 1;
	checkpoint_put(s->crawl, p->call->checkpoint_owner,
	    p->call->checkpoint, &s->arena, s->puts);
	return !page_is_archived(p) || archive_checkpoint(p, w);
}

/* Frames are their owner's to archive. */
static bool
is_archived(const struct page *p)
{
	return p->call->archive != CALL_UNARCHIVED && !(p->call->frames &&
	    p->streamed);
}

enum page_step
page_step_answer(struct page *p)
{
	struct why w = WHY_INIT;
	enum page_step next;

	if (is_archived(p) && page_lend(p))
		return PAGE_WAIT;
	if (p->call->collected && !p->compared && is_archived(p))
		return PAGE_DEDUPE;
	if (!p->streamed || is_archived(p))
		page_decode(p);
	if ((is_archived(p) && !put_records(p, &w)) ||
	    !put_checkpoint(p, &w))
		return page_finish(p, OUTCOME_EXCEPTION, EXCEPTION_PROTOCOL,
		    arena_copy(&p->submission.arena, str_of(w.text)));
	if (!p->call->collected)
		call_newest_note(p);
	next = page_finish(p, OUTCOME_CALL, 0, STR_NONE);
	if (!is_archived(p))
		p->submission.outcome = OUTCOME_NONE;
	tell_answer(p);
	return next;
}

enum page_step
call_page_stored(struct page *p)
{
	struct why w = WHY_INIT;

	if (!put_checkpoint(p, &w))
		return page_finish(p, OUTCOME_EXCEPTION, EXCEPTION_PROTOCOL,
		    arena_copy(&p->submission.arena, str_of(w.text)));
	post_answered(p->call);
	return PAGE_COMMIT;
}

void
call_page_fail(struct page *p, enum call_end end, uint8_t reason,
    struct str text)
{
	struct call *c = p->call;

	c->end = end;
	c->exception = end == CALL_FAILED ? reason : 0;
	c->skip = end == CALL_REFUSED ? reason : SKIP_NONE;
	c->text = arena_copy(&c->arena, text);
	c->status = page_hop(p)->status;
	p->submission.outcome = OUTCOME_NONE;
	p->submission.parts_n = 0;
	buf_clear(&p->submission.members);
}

/* --- home ---------------------------------------------------------------- */

static void
deliver_done(struct mail *m)
{
	struct call *c = CONTAINER(m, struct call, done_mail);

	c->is_done = true;
	if (!c->stop_is_out && !c->resume_is_out)
		c->done(c);
}

void
call_page_report(struct page *p)
{
	struct call *c = p->call;

	/* The crawl's end came first, and the answer was not kept. */
	if (p->submission.outcome == OUTCOME_CALL && c->result == OK &&
	    p->submission.seq == 0)
		c->end = CALL_STOPPED;
	if (!c->from_archive) {
		c->number = p->submission.seq;
		c->number_crawl = c->crawl;
	}
	memcpy(c->record_id, p->final.id, sizeof(c->record_id));
	loop_send(c->home, &c->done_mail, deliver_done);
}

/* No loop has it: its crawl has ended, or never was. */
static void
report_stopped(struct call *c)
{
	c->end = CALL_STOPPED;
	loop_send(c->home, &c->done_mail, deliver_done);
}

void
call_free_answer(struct call *c)
{
	buf_free(&c->content);
	arena_free(&c->arena);
}

/* --- start, stop ---------------------------------------------------------- */

static void
deliver_start(struct mail *m)
{
	struct call *c = CONTAINER(m, struct call, mail);
	struct fetch_crawl *crawl = fetch_crawl_find(c->any, c->crawl);
	struct page *p;
	struct url u;

	if (crawl == NULL || crawl->order == FETCH_END) {
		report_stopped(c);
		return;
	}
	p = page_new(c->any, crawl, PAGE_OF_CALL);
	p->call = c;
	p->for_call = true;
	p->private_hosts = c->private_hosts;
	p->private_n = c->private_n;
	/* The step ROBOTS refuses a URL that cannot be parsed. */
	p->submission.lease.url = arena_copy(&p->submission.arena,
	    url_parse(c->url, NULL, &p->submission.arena, &u, NULL) == OK ?
	    str_cut(u.href, 0, u.href.n - u.fragment.n) : c->url);
	if (c->stored == NULL) {
		page_resume(p, PAGE_NEWEST);
		return;
	}
	if (url_parse(c->url, NULL, &p->submission.arena, &page_hop(p)->url,
	    NULL) != OK)
		page_hop(p)->url.href = c->url;
	call_stream_restore(p);
	page_resume(p, PAGE_ANSWER);
}

void
call_start(struct fetcher *f, struct call *c)
{
	c->any = f;
	loop_send(f->loop, &c->mail, deliver_start);
}

static void
deliver_stopped(struct mail *m)
{
	struct call *c = CONTAINER(m, struct call, stop_mail);

	c->stop_is_out = false;
	if (c->is_done && !c->resume_is_out)
		c->done(c);
}

/* It waits for its turn, or its request is out; else a step looks. */
static bool
stop_here(struct fetcher *f, const struct call *c)
{
	struct list *all = &f->pages->all;

	LIST_EACH(p, all, struct page, all_node) {
		if (p->call != c)
			continue;
		if (p->frames != NULL) {
			call_frames_close(p);
		} else if (p->step == PAGE_FETCH && p->exchange.own != NULL &&
		    (p->address != NULL || call_stream_is_on(p))) {
			transport_stop(f->options.transport, &p->exchange);
		} else if (p->step == PAGE_TURN) {
			list_take(&p->node);
			page_resume(p, PAGE_RETURN);
		}
		return true;
	}
	return false;
}

/* The page may travel: what this misses, its next step sees. */
static void
deliver_stop(struct mail *m)
{
	struct call *c = CONTAINER(m, struct call, stop_mail);
	const struct fetcher_options *o = &c->any->options;
	bool last = stop_here(o->all[c->stop_at], c) ||
	    c->stop_at + 1 == o->all_n;

	if (last)
		m->deliver = deliver_stopped;
	else
		c->stop_at++;
	loop_post(last ? c->home : o->all[c->stop_at]->loop, m);
}

void
call_stop(struct call *c)
{
	atomic_store(&c->stopping, true);
	c->stop_is_out = true;
	c->stop_at = 0;
	loop_send(c->any->options.all[0]->loop, &c->stop_mail, deliver_stop);
}
