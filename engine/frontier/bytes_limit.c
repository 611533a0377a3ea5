/*
 * How much crawls may write to WARC files: each by its policy's
 * limits.max_bytes, all together by the setting archive.bytes_max.  Both count
 * what was handed to the ledger; a limit is checked after each submission, so
 * that it is passed by less than one capture.
 */
#include "engine/frontier/bytes_limit.h"
#include "engine/frontier/crawl.h"

void
bytes_limit_set(struct crawl *c, uint64_t warc_bytes)
{
	struct frontier *f = c->frontier;

	f->archive_bytes += warc_bytes - c->view.counts.warc_bytes;
	c->view.counts.warc_bytes = warc_bytes;
	metric_set(&frontier_metrics[METRIC_ARCHIVE_BYTES],
	    (int64_t)f->archive_bytes);
}

bool
bytes_limit_of_crawl(const struct crawl *c)
{
	return c->warc_bytes_max != 0 &&
	    c->view.counts.warc_bytes >= c->warc_bytes_max;
}

bool
bytes_limit_of_all(const struct frontier *f)
{
	return f->options.archive_bytes_max != 0 &&
	    f->archive_bytes >= f->options.archive_bytes_max;
}
