#include "engine/frontier/failed_urls.h"

#include "engine/frontier/submission.h"
#include "engine/frontier/url_key.h"

/* A URL that is done; those that wait are passed over. */
static enum url_scan_next
visit(void *arg, const struct url_row *u)
{
	struct failures *f = arg;
	struct url_value v;

	if (u->rank != 0)
		return URL_SCAN_NEXT_QUEUE;
	if (u->queue == QUEUE_SKIPPED || !url_value_parse(u->value, &v) ||
	    (enum outcome)(v.why >> 4) != OUTCOME_EXCEPTION)
		return URL_SCAN_NEXT;
	if (f->all++ >= f->start && f->urls_n < f->urls_max)
		f->urls[f->urls_n++] = arena_copy(f->arena, u->url);
	return URL_SCAN_NEXT;
}

void
failures_read(struct failures *f, struct index *x)
{
	/* An error ends the scan: what was read until then is answered. */
	(void)!url_scan_piece(&f->scan, x, FAILURES_LOOKS_MAX, visit, f, NULL);
	if (f->scan.ended)
		buf_free(&f->scan.from);
}
