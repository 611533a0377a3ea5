/*
 * Submissions: what became of a URL, and what was found.  Everything that one
 * page changes is put into one group.
 */
#include "engine/frontier/crawl_state.h"
#include "engine/frontier/error_summary.h"
#include "engine/frontier/exclude.h"
#include "engine/frontier/journal.h"
#include "engine/frontier/near_dup.h"
#include "engine/frontier/queue.h"
#include "os/clock.h"

void
url_put(struct crawl *c, uint32_t queue, uint32_t date, struct str url,
    const struct url_value *v)
{
	struct frontier *f = c->frontier;

	url_key(c->id, queue, date, url, &f->key);
	url_value_put(v, &f->value);
	ledger_put(f->ledger, INDEX_URL, buf_str(&f->key), buf_str(&f->value));
}

void
url_drop(struct crawl *c, uint32_t queue, uint32_t date, struct str url)
{
	struct frontier *f = c->frontier;

	url_key(c->id, queue, date, url, &f->key);
	ledger_delete(f->ledger, INDEX_URL, buf_str(&f->key));
}

static struct url_value
value_of(const struct found *u, uint64_t via)
{
	return (struct url_value){
		.created_s = (uint32_t)wall_s(clock_wall()),
		.flags = u->flags, .depth = u->depth, .cost = u->cost,
		.seq = via,
	};
}

static void
skip(struct crawl *c, const struct found *u, uint64_t via)
{
	struct url_value v = value_of(u, via);

	v.why = u->skip;
	url_table_set(c->frontier->known, u->hash, u->skip, MARK_SKIPPED);
	c->view.counts.skips[u->skip]++;
	error_summary_note(c, ERROR_SUMMARY_SKIPPED, u->skip, u->url, STR_NONE);
	if (u->flags & FOUND_SEED)
		crawl_log(c, &(struct crawl_line){ .kind = CRAWL_LOG_SKIPPED,
		    .text = str_of(skip_text(u->skip)), .host = u->key,
		    .url = u->url, .reason = str_of(skip_name(u->skip)) });
	url_put(c, QUEUE_SKIPPED, 0, u->url, &v);
}

/* Once for each host. */
static void
tell_limit(struct queue *q)
{
	char text[80];

	if (q->limit_told)
		return;
	q->limit_told = true;
	snprintf(text, sizeof(text), "the host has had its %llu URLs",
	    (unsigned long long)q->crawl->host_urls_max);
	crawl_log(q->crawl, &(struct crawl_line){ .kind = CRAWL_LOG_LIMIT,
	    .text = str_of(text), .host = q->key,
	    .reason = STR("traps.host_urls_max") });
}

static void
enqueue(struct crawl *c, const struct found *u, uint64_t via)
{
	struct queue *q = queue_get(c, u->key, true);
	struct url_value v = value_of(u, via);

	/* The budget of a host: what was queued counts, fetched or not. */
	if (c->host_urls_max != 0 && q->ordered >= c->host_urls_max) {
		struct found over = *u;
		over.skip = SKIP_LIMIT;
		tell_limit(q);
		skip(c, &over, via);
		return;
	}
	uint32_t rank = rank_of(u->cost, q->ordered++);

	url_table_set(c->frontier->known, u->hash, rank, MARK_WAITING);
	url_put(c, q->id, rank, u->url, &v);
	q->waiting++;
	c->view.counts.queued++;
	queue_touch(q);
	queue_rewind(q, rank);
	queue_fresh(q, rank);
}

void
frontier_discover(struct crawl *c, const struct found *u, uint64_t via)
{
	uint32_t date;
	uint8_t mark;

	if (!url_table_get(c->frontier->known, u->hash, &date, &mark)) {
		if (u->skip != SKIP_NONE)
			skip(c, u, via);
		else if (!(u->flags & FOUND_SITEMAP) || sitemap_admit(c))
			enqueue(c, u, via);
		return;
	}
	/* Skipped when it was found first, but within the limits now. */
	if (mark == MARK_SKIPPED && u->skip == SKIP_NONE && date < SKIP_COUNT) {
		c->view.counts.skips[date]--;
		url_drop(c, QUEUE_SKIPPED, 0, u->url);
		enqueue(c, u, via);
	}
}

/* --- outcomes ----------------------------------------------------------- */

/* Its key in the journal; 0: it has no entry. */
static uint64_t
journal_seq(const struct submission *s)
{
	return s->outcome == OUTCOME_ITEM || s->outcome == OUTCOME_CALL ?
	    s->seq : s->parts_n > 0 && s->journal_rest.n > 0 ?
	    journal_failed_seq(s->lease.hash) : 0;
}

static void
journal(struct crawl *c, struct submission *s, const struct archive_place *p)
{
	struct frontier *f = c->frontier;
	uint64_t offset = p->offset;

	if (s->parts_n > 0)
		offset += s->parts[s->final_part].at;
	journal_key(c->id, journal_seq(s), &f->key);
	buf_clear(&f->value);
	journal_put(p->file, offset, buf_str(&s->journal_rest), &f->value);
	if (s->near_duplicate)
		journal_flag_near(f->value.p);
	ledger_put_placed(f->ledger, INDEX_JOURNAL, buf_str(&f->key),
	    buf_str(&f->value));
	if (s->digest_key.n != 0) {
		buf_clear(&f->value);
		buf_put_be32(&f->value, c->id);
		buf_put_be64(&f->value, s->seq);
		buf_put_str(&f->value, s->digest_rest);
		ledger_put(f->ledger, INDEX_DIGEST, s->digest_key,
		    buf_str(&f->value));
	}
	if (s->validator_key.n != 0) {
		bool own = s->validator_seq == 0;
		buf_clear(&f->value);
		buf_put_be32(&f->value, own ? c->id : s->validator_crawl);
		buf_put_be64(&f->value, own ? s->seq : s->validator_seq);
		ledger_put(f->ledger, INDEX_DIGEST, s->validator_key,
		    buf_str(&f->value));
	}
}

static void
count_item(struct crawl *c, const struct submission *s)
{
	struct crawl_counts *n = &c->view.counts;

	n->items++;
	if (s->status >= 400)
		error_summary_note(
		    c, ERROR_SUMMARY_STATUS, s->status, s->lease.url, STR_NONE);
	n->status[s->status >= 100 && s->status < 600 ? s->status / 100 : 0]++;
	n->not_found += s->status >= 400 && s->status < 500;
	n->body_bytes += s->body_bytes;
	n->duplicates += s->duplicate;
	n->near_duplicates += s->near_duplicate;
}

/* The leased URL is done: its waiting key goes, a completed one comes. */
static void
complete(struct crawl *c, struct queue *q, const struct submission *s)
{
	struct url_value v = {
		.created_s = (uint32_t)wall_s(clock_wall()),
		.flags = s->lease.flags, .depth = s->lease.depth,
		.cost = s->lease.cost,
		.why = (uint8_t)(s->outcome << 4 | s->reason),
		.seq = journal_seq(s) != 0 ? journal_seq(s) : s->lease.via_seq,
	};

	url_drop(c, q->id, s->lease.rank, s->lease.url);
	url_put(c, q->id, 0, s->lease.url, &v);
	url_table_set(c->frontier->known, s->lease.hash, 0, MARK_DONE);
	q->leased--;
	q->done++;
	c->view.counts.leased--;
	c->view.counts.queued--;
	queue_touch(q);
	queue_settle(q);
}

static void
give_back(struct crawl *c, struct queue *q, const struct submission *s)
{
	url_table_set(c->frontier->known, s->lease.hash, s->lease.rank,
	    MARK_WAITING);
	q->leased--;
	q->waiting++;
	c->view.counts.leased--;
	queue_rewind(q, s->lease.rank);
	queue_tell(q);
	queue_settle(q);
}

static enum err
archive(struct crawl *c, struct submission *s, struct archive_place *p)
{
	struct frontier *f = c->frontier;
	struct warc_set_options o = {
		.dir = c->warc_dir.p, .token = f->token, .crawl = c->id,
		.rollover_bytes = f->options.rollover_bytes,
		.rollover_s = f->options.rollover_s,
		.warcinfo = frontier_warcinfo, .arg = c,
	};
	char prefix[CRAWL_PREFIX_MAX];

	if (s->parts_n == 0 || c->warc_dir.n == 0)
		return OK;
	if (c->series == NULL) {
		crawl_prefix(c, prefix);
		o.prefix = prefix;
		o.owner = c->view.kind == CRAWL_HARVEST ? WARC_OF_HARVEST :
		    WARC_OF_CRAWL;
		c->series = ledger_series_open(f->ledger, &o);
	}
	bytes_limit_set(c, c->view.counts.warc_bytes + s->members.n);
	return ledger_archive(f->ledger, c->series, buf_str(&s->members),
	    s->parts, s->parts_n, s->seq, p, NULL);
}

/* As the crawl's log has it. */
static struct str
cause_of(const struct submission *s)
{
	return s->lines_n > 0 ? s->lines[0].text : STR_NONE;
}

/* One that is restored has its number. */
static void
take_number(struct crawl *c, struct submission *s)
{
	s->seq = s->seq != 0 ? s->seq : c->next_seq;
	c->next_seq = s->seq + 1;
	c->view.item_last = s->seq;
}

/* It has neither a queue nor a lease: its URL may come any number of times. */
static void
settle_call(struct crawl *c, struct submission *s)
{
	take_number(c, s);
	for (size_t i = 0; i < s->lines_n; i++)
		crawl_log(c, &s->lines[i]);
	s->result = archive(c, s, &s->place);
	journal(c, s, &s->place);
	count_item(c, s);
	/* Its next call waits for this one. */
	if (c->view.kind == CRAWL_HARVEST)
		ledger_hurry(c->frontier->ledger);
}

void
submission_settle(struct crawl *c, struct submission *s)
{
	struct queue *q = map_get_id(&c->queues_by_id, s->lease.queue);
	uint32_t date;
	uint8_t mark;

	if (s->outcome == OUTCOME_CALL) {
		settle_call(c, s);
		return;
	}
	/* A lease that was given up (by a cancelled crawl) counts no more. */
	if (s->outcome != OUTCOME_NONE && (q == NULL ||
	    !url_table_get(c->frontier->known, s->lease.hash, &date, &mark) ||
	    mark != MARK_LEASED))
		return;
	if (s->outcome == OUTCOME_RETURNED) {
		give_back(c, q, s);
		return;
	}
	if (s->outcome == OUTCOME_ITEM) {
		take_number(c, s);
		if (c->near == NULL)
			c->near = near_dup_new(NEAR_DUP_MAX);
		s->near_duplicate = near_dup_add(c->near, s->simhash) &&
		    !s->duplicate;
	}
	for (size_t i = 0; i < s->lines_n; i++)
		crawl_log(c, &s->lines[i]);
	s->result = archive(c, s, &s->place);
	if (s->outcome == OUTCOME_NONE) {
		/* Whoever made the call waits for an answer that is not
		 * archived. */
		if (crawl_kind_has_calls(c->view.kind))
			ledger_hurry(c->frontier->ledger);
		return;
	}
	complete(c, q, s);
	if (journal_seq(s) != 0)
		journal(c, s, &s->place);
	if (s->outcome == OUTCOME_ITEM) {
		count_item(c, s);
	} else if (s->outcome == OUTCOME_EXCEPTION) {
		c->view.counts.exceptions[s->reason]++;
		error_summary_note(c, ERROR_SUMMARY_EXCEPTION, s->reason,
		    s->lease.url, cause_of(s));
	} else if (s->outcome == OUTCOME_SKIPPED) {
		c->view.counts.skips[s->reason]++;
		error_summary_note(c, ERROR_SUMMARY_SKIPPED, s->reason,
		    s->lease.url, cause_of(s));
	} else {
		c->view.counts.aux++;
		sitemap_read(c, s->body_bytes);
	}
}

/* The capture on which its links were found. */
static uint64_t
found_on(const struct submission *s)
{
	return s->outcome == OUTCOME_ITEM ? s->seq : 0;
}

static void
deliver_durable(struct mail *m)
{
	struct submission *s = CONTAINER(m, struct submission, mail);

	s->durable(s, s->result);
}

static void
promise_kept(struct promise *p, enum err e)
{
	struct submission *s = CONTAINER(p, struct submission, promise);

	if (e != OK)
		s->result = e;
	else if (s->fresh != NULL && s->seq != 0)
		s->frontier->options.kept(s->frontier->options.arg, s);
	loop_send(s->home, &s->mail, deliver_durable);
}

/* The table may forget the URL of a crawl that has ended. */
static void
end_lease(struct frontier *f, const struct lease *l)
{
	uint32_t date;
	uint8_t mark;

	if (url_table_get(f->known, l->hash, &date, &mark) &&
	    mark == MARK_LEASED)
		url_table_set(f->known, l->hash, l->rank, MARK_WAITING);
}

/* The known table is larger than the processor's caches. */
static void
prefetch_links(const struct frontier *f, const struct submission *s,
    size_t from)
{
	size_t to = MIN(s->found_n, from + URL_TABLE_PREFETCH);

	for (size_t i = from; i < to; i++)
		url_table_prefetch(f->known, s->found[i].hash);
}

void
submission_admit(struct frontier *f, struct submission *s)
{
	struct crawl *c = crawl_get(f, s->crawl);
	bool running = c != NULL && c->loaded &&
	    !crawl_state_is_ended(c->view.state);

	s->group = ledger_group(f->ledger);
	if (s->result != OK || ledger_health(f->ledger) == LEDGER_FAILED) {
		promise_kept(&s->promise, ERR_BROKEN);
		return;
	}
	/* Submissions after a crawl's end are dropped, except robots.txt. */
	if (running) {
		submission_settle(c, s);
		if (s->found_n > 0 && found_on(s) != 0)
			via_put(f->via, c->id, s->seq, s->lease.url);
		for (size_t i = 0; i < s->found_n; i++) {
			struct found *u = &s->found[i];
			if (i % URL_TABLE_PREFETCH == 0)
				prefetch_links(f, s, i);
			if (u->skip == SKIP_NONE && crawl_excludes_now(c,
			    s->rules, u->url))
				u->skip = SKIP_SCOPE;
			frontier_discover(c, u, found_on(s));
		}
		crawl_touch(c);
		crawl_consider_end(c);
		crawl_wake_starved(c);
	} else if (s->outcome != OUTCOME_NONE && s->outcome != OUTCOME_CALL) {
		end_lease(f, &s->lease);
	}
	/* A checkpoint, which is its crawl's, goes with the dropped answer. */
	for (size_t i = 0; i < s->puts_n; i++)
		if (running || s->puts[i].family != INDEX_CRAWL)
			ledger_put(f->ledger, s->puts[i].family,
			    s->puts[i].key, s->puts[i].value);
	s->promise.kept = promise_kept;
	ledger_promise(f->ledger, &s->promise);
}

void
frontier_submit(struct frontier *f, struct submission *s)
{
	s->frontier = f;
	loop_send(f->loop, &s->mail, known_evict_submit);
}
