/*
 * diagnostics -- what the files inspect*.c share.  Private to engine/.
 */
#ifndef ENGINE_CATALOG_DIAGNOSTICS_H
#define ENGINE_CATALOG_DIAGNOSTICS_H

#include "engine/catalog/catalog.h"
#include "engine/control/engine_own.h"
#include "engine/fetcher/loop_query.h"
#include "engine/frontier/query.h"

/* What a crawl is doing, summed over all loops. */
struct why_facts {
	const struct crawl_view *view;
	enum engine_health health;
	bool here;                   /* the crawl runs in this process */
	unsigned in_flight, finishing;
	bool held_back, full;        /* as in fetcher/look.h */
	unsigned ready, for_others, delayed, backoff, robots;
	uint64_t waiting_for_slot;   /* hosts without a place */
	bool starved;                /* max_items leaves nothing */
	unsigned downloads, downloads_max;
	double next_s;               /* -1: none */
	enum host_wait next_wait;
	const char *next_host, *robots_host;
};
/* One true sentence, without an end; never empty. */
void why_sentence(const struct why_facts *, char *out, size_t size);

/* Ask every loop; then done() at home.  `calls` is an array of its own. */
struct loop_look {
	struct loop_call call;
	struct loops_look *all;
	struct fetcher *fetcher;
	struct fetcher_crawl view;
};
struct loops_look {
	struct engine *engine;
	struct loop_look *loops;     /* loops_n */
	unsigned left;
	struct fetcher_host *hosts;  /* the answers; the asker's */
	size_t hosts_n;
	void (*done)(struct loops_look *);
};
void loops_look(struct engine *, struct loops_look *, uint32_t crawl,
    size_t urls_max);
void loops_look_free(struct loops_look *);
/* Memory of the name: `a`. */
void host_view_of(const struct fetcher_host *, uint64_t queued,
    struct arena *a, struct host_view *out);

#endif
