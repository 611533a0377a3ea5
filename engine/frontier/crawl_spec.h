/*
 * crawl_spec -- what is written once about a crawl, and its record.
 *
 * Thread: any.
 */
#ifndef ENGINE_FRONTIER_CRAWL_SPEC_H
#define ENGINE_FRONTIER_CRAWL_SPEC_H

#include "base/arena.h"
#include "engine/frontier/crawl_view.h"

/* What is written once about a crawl. */
struct crawl_spec {
	enum crawl_kind kind;
	struct str name;
	const struct str *tags;
	size_t tags_n;
	const struct str *seeds;            /* as given */
	size_t seeds_n;
	struct str policy;                  /* JSON */
	struct str options;                 /* the engine's own, JSON */
	struct str warc_dir;
	uint64_t max_items;                 /* 0: no limit */
	uint64_t host_urls_max;             /* traps.host_urls_max; 0: none */
	int64_t duration_ms_max;            /* from its start; 0: no limit */
	uint64_t warc_bytes_max;            /* 0: no limit */
};
void crawl_spec_put(const struct crawl_spec *, struct buf *);
/* Borrows from `value`; the arrays are the arena's. */
bool crawl_spec_parse(struct str value, struct arena *, struct crawl_spec *);

#endif
