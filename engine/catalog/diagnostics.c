/* Why a crawl fetches nothing, in one sentence. */
#include "engine/catalog/diagnostics.h"

static void
say(struct buf *b, unsigned n, const char *one, const char *many)
{
	if (n > 0)
		buf_printf(b, n == 1 ? one : many, n);
}

static void
say_state(struct buf *b, const struct why_facts *f)
{
	const struct crawl_view *v = f->view;

	if (v->state == CRAWL_PAUSED)
		buf_put_text(b, "paused");
	else
		buf_printf(b, "the crawl is %s", crawl_state_name(v->state));
	crawl_reason_put(str_of(v->reason), b);
	if (v->state == CRAWL_PAUSED)
		say(b, f->in_flight, "; %u request is still under way",
		    "; %u requests are still under way");
}

static void
say_waits(struct buf *b, const struct why_facts *f, unsigned delayed,
    unsigned backoff)
{
	const char *sep = b->n > 0 ? "; " : "";

	if (delayed > 0)
		buf_printf(b, delayed == 1 ? "%s%u %shost is delayed" :
		    "%s%u %shosts are delayed", sep, delayed,
		    delayed < f->delayed ? "more " : "");
	if (backoff > 0)
		buf_printf(b, backoff == 1 ? "%s%u %shost is in back-off" :
		    "%s%u %shosts are in back-off", b->n > 0 ? "; " : "",
		    backoff, backoff < f->backoff ? "more " : "");
}

static void
say_next(struct buf *b, const struct why_facts *f)
{
	bool backoff = f->next_wait == HOST_WAITS_BACKOFF;
	char wait[32];

	duration_to_text((int64_t)(f->next_s * (double)NS_PER_S), wait);
	buf_printf(b, "host %s is %s %s", f->next_host,
	    backoff ? "in back-off for" : "delayed", wait);
	say_waits(b, f, f->delayed - (!backoff && f->delayed > 0),
	    f->backoff - (backoff && f->backoff > 0));
}

/* The URLs are at hosts that might be asked, and are not. */
static bool
say_ready(struct buf *b, const struct why_facts *f)
{
	if (f->ready == 0)
		return false;
	if (f->downloads_max > 0 && f->downloads >= f->downloads_max)
		buf_printf(b, "all %u downloads of its policy are taken",
		    f->downloads_max);
	else if (f->full)
		buf_put_text(b, "other crawls hold all connections");
	else if (f->for_others >= f->ready)
		say(b, f->for_others, "%u host is being asked for another "
		    "crawl", "%u hosts are being asked for other crawls");
	else
		say(b, f->ready, "%u host may be asked now",
		    "%u hosts may be asked now");
	return true;
}

static void
say_rest(struct buf *b, const struct why_facts *f)
{
	const struct crawl_counts *n = &f->view->counts;

	if (f->finishing > 0)
		say(b, f->finishing, "%u page is being written",
		    "%u pages are being written");
	else if (f->robots > 0)
		buf_printf(b, "robots.txt of host %s is waited for",
		    f->robots_host);
	else if (f->starved && n->queued > 0)
		buf_put_text(b, "max_items leaves no more URLs");
	else if (f->waiting_for_slot > 0)
		buf_printf(b, "%llu hosts wait for a place "
		    "(frontier.hosts_active_max)",
		    (unsigned long long)f->waiting_for_slot);
	else if (!f->here)
		buf_put_text(b, "this process does not run the crawl");
	else if (n->queued > 0)
		buf_put_text(b, "URLs are on their way from the queue");
	else
		buf_put_text(b, "nothing is queued");
}

void
why_sentence(const struct why_facts *f, char *out, size_t size)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	if (f->view->state != CRAWL_RUNNING) {
		say_state(&b, f);
	} else if (f->health == LEDGER_DISK_FULL) {
		buf_put_text(&b, "the disk is full");
	} else if (f->health == LEDGER_FAILED) {
		buf_put_text(&b, "a write failed; restart is needed");
	} else if (f->in_flight > 0) {
		say(&b, f->in_flight, "%u request is under way",
		    "%u requests are under way");
		say_waits(&b, f, f->delayed, f->backoff);
	} else if (f->held_back) {
		buf_put_text(&b, "the disk does not keep up");
	} else if (!say_ready(&b, f)) {
		if (f->next_s >= 0)
			say_next(&b, f);
		else
			say_rest(&b, f);
	}
	snprintf(out, size, "%s", buf_text(&b));
}
