#include "engine/fetcher/page_archive.h"

#include "engine/fetcher/call.h"
#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/handoff.h"
#include "engine/fetcher/revalidate.h"
#include "wire/cdxj.h"

static struct str
media_type(const struct hop *h)
{
	struct str value = http_find(&h->parsed, STR("Content-Type"));

	return str_trim(str_cut(value, 0, str_find_char(value, ';')));
}

/* The line up to `"offset"`, which the ledger knows. */
struct str
page_archive_cdxj(struct page *p, const struct hop *h,
    const struct warc_member *m)
{
	struct arena *a = &p->submission.arena;
	struct str type = media_type(h);
	FREED(buf_free) struct buf out = BUF_INIT;
	char digest[DIGEST_TEXT_MAX];
	struct url u = h->url;

	digest_to_text(&m->payload, digest);
	/* Where a credential was cut from the record's URI, here too. */
	if (!str_eq(m->uri, h->url.href) &&
	    url_parse(m->uri, NULL, a, &u, NULL) != OK)
		u = h->url;
	struct cdxj_line line = {
		.surt = url_surt(&u, a), .url = u.href,
		.mime = m->type == WARC_REVISIT ? STR("warc/revisit") :
		    type.n != 0 ? type : STR("unk"),
		.digest = str_of(digest), .status = h->parsed.status,
		.length = m->clen,
	};
	cdxj_put_head(&out, &line, h->start);
	return arena_copy(a, buf_str(&out));
}

void
page_archive_add(struct submission *s, const struct warc_member *m,
    struct str cdxj)
{
	s->parts[s->parts_n++] = (struct archive_member){ .at = m->at,
	    .n = m->clen, .cdxj = cdxj };
}

static enum err
put_hop(struct page *p, unsigned i, struct str outcome, struct why *w)
{
	struct submission *s = &p->submission;
	struct hop *h = p->hops[i];
	bool last = i + 1 == p->hops_n;
	bool failed = outcome.n != 0;
	struct warc_writer *writer = p->fetcher->writer;
	struct str body = buf_str(&h->body);
	char ip[IP_TEXT_MAX];
	struct warc_member m[2];
	struct warc_capture capture = {
		.crawl = s->crawl, .hop = i, .depth = s->lease.depth,
		.start = h->start, .duration_us = h->times.total,
		.requested_url = s->lease.url.n != 0 ? s->lease.url :
		    p->hops[0]->url.href,
	};
	struct warc_revisit revisit = {
		.profile = STR(WARC_PROFILE_SAME), .refers_to_uri = p->dup_uri,
		.refers_to_date = p->dup_date, .payload = &p->digest,
	};
	const char *info = atomic_load_explicit(&p->crawl->shared->warcinfo_id,
	    memory_order_acquire);

	ip_to_text(&h->ip, ip);
	struct warc_exchange x = {
		.target_uri = h->url.href, .date = h->start, .ip = str_of(ip),
		.request = h->request, .response_head = h->head,
		.body = &body, .body_n = 1, .truncated = str_of(h->truncated),
		.capture = &capture, .warcinfo_id = str_of(info),
		.outcome = outcome,
		.via = last ? s->lease.via : STR_NONE,
		.payload = last ? &p->digest : NULL,
		.block = last ? &p->block : NULL,
		.revisit = last && !failed && (p->dup_uri.n != 0 ||
		    revalidate_unchanged(p, NULL, &revisit)) ? &revisit : NULL,
	};
	/* The record of a 304 states the original's payload, not its own. */
	if (x.revisit != NULL)
		x.payload = revisit.payload;
	enum err e = warc_put_exchange(writer, &x, &s->members, m, w);
	if (e != OK)
		return e;
	if (last)
		s->final_part = s->parts_n;
	page_archive_add(s, &m[0], page_archive_cdxj(p, h, &m[0]));
	if (m[1].type != WARC_UNKNOWN)
		page_archive_add(s, &m[1], STR_NONE);
	if (last)
		p->final = m[0];
	return OK;
}

const struct redactor *
page_redactor(const struct page *p)
{
	return p->call != NULL && p->call->redactor != NULL ?
	    p->call->redactor : p->crawl->shared->redactor;
}

bool
page_archive_members(struct page *p, struct why *w)
{
	struct submission *s = &p->submission;
	enum err e = OK;

	warc_writer_redact(p->fetcher->writer, page_redactor(p));
	s->parts = ARENA_ARRAY(&s->arena, struct archive_member,
	    2 * (size_t)p->hops_n);
	buf_reserve(&s->members, 1024 + page_hop(p)->body.n / 3);
	for (unsigned i = 0; i < p->hops_n && e == OK; i++)
		e = put_hop(p, i, STR_NONE, w);
	return e == OK;
}

/*
 * An answer, or the beginning of one, that can stand in a response record: at
 * least its status line was read.  One that the policy did not want by its
 * media type is not kept.
 */
static bool
has_answer(const struct hop *h)
{
	return h->head.n > 0 && h->parsed.status != 0 &&
	    h->stop != HOP_STOP_MIME;
}

/* WARC's word for how the last answer ended; NULL: it is whole. */
static const char *
how_cut(const struct page *p, const struct hop *h)
{
	if (h->truncated != NULL || p->end == TRANSPORT_DONE)
		return h->truncated;
	if (h->too_large)
		return "length";
	return p->end == TRANSPORT_RESET ? "disconnect" :
	    p->end == TRANSPORT_TIMEOUT ? "time" : "unspecified";
}

static struct str
outcome_words(struct page *p)
{
	const struct submission *s = &p->submission;
	bool skipped = s->outcome == OUTCOME_SKIPPED;
	enum exception e = s->outcome == OUTCOME_EXCEPTION ?
	    (enum exception)s->reason : page_exception(p);

	return arena_printf(&p->submission.arena, "%s %s",
	    skipped ? "skipped" : "exception", skipped ?
	    skip_name((enum skip_reason)s->reason) : exception_name(e));
}

void
page_archive_answers(struct page *p)
{
	struct submission *s = &p->submission;
	unsigned n = p->hops_n, tried = p->hops_n - 1;
	struct hop *h;
	enum err e = OK;

	/* The last hop may have been refused before it was asked. */
	if (n > 0 && !has_answer(p->hops[n - 1]))
		n--;
	if (!page_is_archived(p) || n == 0 ||
	    !has_answer(p->hops[n - 1]) || s->outcome == OUTCOME_RETURNED)
		return;
	h = p->hops[n - 1];
	if (n - 1 == tried)
		h->truncated = how_cut(p, h);
	struct str words = outcome_words(p);
	warc_writer_redact(p->fetcher->writer, p->crawl->shared->redactor);
	s->parts = ARENA_ARRAY(&s->arena, struct archive_member, 2 * n);
	p->hops_n = n;
	for (unsigned i = 0; i < n && e == OK; i++)
		e = put_hop(p, i, words, NULL);
	if (e == OK && p->kind == PAGE_URL)
		page_archive_journal(p);
	p->hops_n = tried + 1;
	if (e == OK)
		return;
	s->parts_n = 0;
	buf_clear(&s->members);
}

static int32_t
us32(int64_t us)
{
	return (int32_t)MIN(us, INT32_MAX);
}

/*
 * Without a record the entry has no place, and says only whether the payload
 * is that of an earlier capture.
 */
static uint8_t
journal_flags(const struct page *p)
{
	const struct hop *h = page_hop(p);
	bool same = p->dup_uri.n != 0, archived = page_is_archived(p);
	bool revisit = archived ? p->final.type == WARC_REVISIT : same;

	return (uint8_t)((revisit ? JOURNAL_REVISIT : 0) |
	    (archived && same ? JOURNAL_SOURCED : 0) |
	    (h->truncated != NULL ? JOURNAL_TRUNCATED : 0) |
	    ((p->submission.lease.flags & FOUND_EMBED) ? JOURNAL_EMBED : 0) |
	    (p->damaged ? JOURNAL_DAMAGED : 0) | JOURNAL_SIZED);
}

void
page_archive_journal(struct page *p)
{
	struct submission *s = &p->submission;
	struct hop *h = page_hop(p);
	struct journal_entry e = {
		.clen = p->final.clen, .ulen = p->final.ulen,
		.body_at = p->final.body_at,
		.hops = (uint16_t)(p->hops_n - 1),
		.status = (uint16_t)h->parsed.status, .depth = s->lease.depth,
		.flags = journal_flags(p),
		.start = p->start,
		/* The turn of the loop that it was lent to may be older. */
		.duration_us = (uint32_t)us32(MAX(0, mono_ns_between(p->began,
		    loop_now(p->fetcher->loop))) / 1000),
		.dns_us = us32(h->times.dns),
		.connect_us = us32(h->times.connect),
		.tls_us = us32(h->times.tls),
		.first_byte_us = us32(h->times.first_byte),
		.total_us = us32(h->times.total),
		.body_bytes = h->body.n, .decoded = p->content.n,
		.source = p->dup_source, .simhash = p->parsed.simhash,
		.type = media_type(h), .title = p->parsed.title,
		.url = s->lease.url, .final_url = p->hops_n > 1 ?
		    h->url.href : STR_NONE, .via = s->lease.via,
	};

	struct warc_revisit older;
	/* As its record: an answer of 304 stands for the payload of before. */
	e.digest = revalidate_unchanged(p, NULL, &older) ? *older.payload :
	    p->digest;
	journal_put_rest(&e, &s->journal_rest);
}

/* For who reads along.  Before the bodies go: it takes one of them. */
void
page_archive_handoff(struct page *p)
{
	struct submission *s = &p->submission;
	struct hop *h = page_hop(p);
	struct handoff_pool *pot = p->fetcher->options.fresh;
	enum handoff_want want = pot == NULL ? HANDOFF_NONE :
	    handoff_wanted(pot, s->crawl);

	if (want == HANDOFF_NONE || s->outcome != OUTCOME_ITEM ||
	    p->kind != PAGE_URL || p->final.type != WARC_RESPONSE ||
	    p->final.head_redacted)
		return;
	struct buf *body = p->decoded.n > 0 ? &p->decoded : &h->body;
	s->fresh = handoff_new(pot, s->crawl, want, buf_str(&s->journal_rest),
	    h->head, body, p->content);
}

void
page_archive_event(struct page *p, struct url_event *e)
{
	const struct submission *s = &p->submission;
	struct hop *h = page_hop(p);

	*e = (struct url_event){
		.crawl = s->crawl, .outcome = s->outcome, .reason = s->reason,
		.seq = s->seq, .status = h->status, .depth = s->lease.depth,
		.tries = p->tries, .hops = p->hops_n - 1,
		.url = s->lease.url, .final_url = h->url.href,
		.type = media_type(h), .title = p->parsed.title,
		.text = p->end_text, .body_bytes = s->body_bytes,
		.duration_us = mono_ns_between(p->began,
		    loop_now(p->fetcher->loop)) / 1000,
		.start = p->start, .duplicate = s->duplicate,
		.near_duplicate = s->near_duplicate,
		.truncated = h->truncated != NULL,
	};
}
