/* Limits of the bytes that crawls write and of the sitemaps that they read. */
#include "engine/frontier/crawl.h"

/* 0: there is no limit. */
static bool
is_over(uint64_t used, uint64_t max)
{
	return max != 0 && used >= max;
}

/* --- bytes ---------------------------------------------------------------- */

/*
 * How much crawls may write to WARC files: each by its policy's
 * limits.max_bytes, all together by the setting archive.bytes_max.  Both count
 * what was handed to the ledger; a limit is checked after each submission, so
 * that it is passed by less than one capture.
 */
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
	return is_over(c->view.counts.warc_bytes, c->warc_bytes_max);
}

bool
bytes_limit_of_all(const struct frontier *f)
{
	return is_over(f->archive_bytes, f->options.archive_bytes_max);
}

/* --- sitemaps ------------------------------------------------------------- */

/*
 * How many sitemaps a crawl reads.  Those beyond a limit are no URLs of the
 * crawl: an index that never ends would fill the table with them.
 */
/* Once for each crawl and process. */
static void
log_limit(struct crawl *c, const char *limit, uint64_t max, const char *unit)
{
	char text[120];

	if (c->sitemap_limit_logged)
		return;
	c->sitemap_limit_logged = true;
	snprintf(text, sizeof(text), "no more sitemaps are read: the crawl "
	    "has had %llu %s (%s)", (unsigned long long)max, unit, limit);
	crawl_log(c, &(struct crawl_line){ .kind = CRAWL_LOG_LIMIT,
	    .text = str_of(text), .reason = str_of(limit) });
}

bool
sitemap_admit(struct crawl *c)
{
	const struct frontier_options *o = &c->frontier->options;

	if (is_over(c->sitemaps, o->sitemap_files_max)) {
		log_limit(c, "sitemap.files_max", o->sitemap_files_max,
		    "of them");
	} else if (is_over(c->view.sitemap_bytes, o->sitemap_bytes_max)) {
		log_limit(c, "sitemap.bytes_max", o->sitemap_bytes_max,
		    "bytes of them");
	} else if (is_over(c->sitemaps, c->max_items)) {
		log_limit(c, "max_items", c->max_items,
		    "of them, as many as it may have pages");
	} else {
		c->sitemaps++;
		metric_add(&frontier_metrics[METRIC_SITEMAPS_QUEUED], 1);
		return true;
	}
	metric_add(&frontier_metrics[METRIC_SITEMAPS_DROPPED], 1);
	return false;
}

void
sitemap_read(struct crawl *c, uint64_t bytes)
{
	const struct frontier_options *o = &c->frontier->options;

	c->view.sitemap_bytes += bytes;
	metric_add(&frontier_metrics[METRIC_SITEMAPS_READ], (int64_t)bytes);
	if (is_over(c->view.sitemap_bytes, o->sitemap_bytes_max))
		log_limit(c, "sitemap.bytes_max", o->sitemap_bytes_max,
		    "bytes of them");
}
