#include "engine/frontier/crawl.h"
#include "engine/frontier/crawl_log.h"
#include "os/clock.h"

#define MINUTE_NS (60 * NS_PER_S)

static const char *const kind_names[] = {
	CRAWL_LOG_KINDS(TABLE_SECOND)
};

void
crawl_log_key(uint32_t crawl, uint64_t number, struct buf *out)
{
	buf_put_be32(out, crawl);
	buf_put_be64(out, number);
}

bool
crawl_log_parse(struct str key, struct str value, struct crawl_log_record *r)
{
	struct reader k = reader_of(key), v = reader_of(value);

	*r = (struct crawl_log_record){ 0 };
	r->crawl = read_be32(&k);
	r->number = read_be64(&k);
	r->at.us = (int64_t)read_be64(&v);
	r->kind = read_field(&v);
	r->text = read_field(&v);
	if (v.n > 0) {
		r->host = read_field(&v);
		r->url = read_field(&v);
		r->reason = read_field(&v);
	}
	return !k.bad && !v.bad;
}

static uint64_t
kept_of(const struct crawl *c)
{
	unsigned most = c->frontier->options.log_max;

	return most == 0 ? CRAWL_LOG_KEPT : most;
}

/* So many go together. */
static uint64_t
step_of(const struct crawl *c)
{
	return MIN(MAX(kept_of(c) / 100, 1), CRAWL_LOG_STEP);
}

/* The oldest number that is kept. */
static uint64_t
first_of(const struct crawl *c)
{
	uint64_t upto = c->next_log - c->next_log % step_of(c);

	return upto > kept_of(c) ? upto - kept_of(c) : 1;
}

void
crawl_log_shown(struct crawl *c)
{
	c->view.log_last = c->next_log - 1;
	c->view.log_first = first_of(c);
}

static void
forget(struct crawl *c, uint64_t from, uint64_t upto)
{
	FREED(buf_free) struct buf a = BUF_INIT, b = BUF_INIT;

	crawl_log_key(c->id, from, &a);
	crawl_log_key(c->id, upto, &b);
	ledger_delete_range(c->frontier->ledger, INDEX_LOG, buf_str(&a),
	    buf_str(&b));
}

void
crawl_log_trim(struct crawl *c)
{
	uint64_t first = first_of(c);

	if (first > 1)
		forget(c, 0, first);
}

static void
put_text(struct buf *out, struct str s)
{
	buf_put_field(out, str_cut(s, 0, CRAWL_LOG_TEXT_MAX));
}

static void
put(struct crawl *c, const struct crawl_line *l)
{
	struct frontier *f = c->frontier;
	FREED(buf_free) struct buf key = BUF_INIT, value = BUF_INIT;

	crawl_log_key(c->id, c->next_log++, &key);
	buf_put_be64(&value, (uint64_t)clock_wall().us);
	buf_put_field(&value, str_of(kind_names[l->kind]));
	put_text(&value, l->text);
	put_text(&value, l->host);
	put_text(&value, l->url);
	put_text(&value, l->reason);
	ledger_put(f->ledger, INDEX_LOG, buf_str(&key), buf_str(&value));
	uint64_t first = first_of(c), step = step_of(c);
	if (c->next_log % step == 0 && first > 1)
		forget(c, first - MIN(first, step), first);
	crawl_log_shown(c);
	crawl_touch(c);
}

/* --- bursts -------------------------------------------------------------- */

static bool
is_bounded(enum crawl_log_kind k)
{
	return k == CRAWL_LOG_ROBOTS || k == CRAWL_LOG_BACKOFF ||
	    k == CRAWL_LOG_SKIPPED || k == CRAWL_LOG_LIMIT;
}

static void
tell_left_out(struct crawl *c, enum crawl_log_kind k, uint64_t n)
{
	char text[80];

	snprintf(text, sizeof(text), "%llu more lines of this kind were left "
	    "out", (unsigned long long)n);
	put(c, &(struct crawl_line){ .kind = k, .text = str_of(text) });
}

static void
put_last_of_burst(struct crawl *c, const struct crawl_line *l)
{
	struct crawl_line last = *l;
	FREED(buf_free) struct buf text = BUF_INIT;

	buf_put_str(&text, str_cut(l->text, 0, CRAWL_LOG_TEXT_MAX / 2));
	buf_put_text(&text, " (more lines of this kind are left out until "
	    "the minute is over)");
	last.text = buf_str(&text);
	put(c, &last);
}

void
crawl_log(struct crawl *c, const struct crawl_line *l)
{
	struct log_burst *b = &c->bursts[l->kind];
	struct mono now = loop_now(c->frontier->loop);

	if (!is_bounded(l->kind)) {
		put(c, l);
		return;
	}
	if (b->n == 0 || mono_ns_between(b->began, now) >= MINUTE_NS) {
		if (b->left_out > 0)
			tell_left_out(c, l->kind, b->left_out);
		*b = (struct log_burst){ .began = now };
	}
	if (b->n < CRAWL_LOG_BURST)
		b->n++;
	else
		b->left_out++;
	if (b->left_out == 0 && b->n == CRAWL_LOG_BURST)
		put_last_of_burst(c, l);
	else if (b->left_out == 0)
		put(c, l);
}

static void
end_bursts(struct crawl *c)
{
	for (int k = 0; k < CRAWL_LOG_KIND_COUNT; k++) {
		struct log_burst *b = &c->bursts[k];
		if (b->left_out > 0)
			tell_left_out(c, (enum crawl_log_kind)k, b->left_out);
		b->left_out = 0;
	}
}

/* --- states -------------------------------------------------------------- */

/* "paused by a client", "completed: max_items", "started: name". */
void
crawl_log_put(struct crawl *c, enum crawl_log_kind kind, struct str reason)
{
	struct crawl_line l = { .kind = kind };
	FREED(buf_free) struct buf text = BUF_INIT;

	buf_put_text(&text, kind_names[kind]);
	crawl_reason_put(reason, &text);
	l.text = buf_str(&text);
	if (l.kind == CRAWL_LOG_COMPLETED || l.kind == CRAWL_LOG_CANCELLED)
		end_bursts(c);
	/* A crawl that begins has a name, not a reason. */
	if (l.kind != CRAWL_LOG_STARTED)
		l.reason = reason;
	crawl_log(c, &l);
}
