/*
 * diagnostics -- why a crawl fetches nothing, in one sentence.
 */
#ifndef ENGINE_CATALOG_DIAGNOSTICS_H
#define ENGINE_CATALOG_DIAGNOSTICS_H

#include "engine/fetcher/loop_query.h"
#include "engine/ledger/ledger.h"

/* What a crawl is doing, summed over all loops. */
struct why_facts {
	const struct crawl_view *view;
	enum ledger_health health;
	bool here;                   /* the crawl runs in this process */
	unsigned in_flight, finishing;
	bool held_back, full;        /* as in fetcher/loop_query.h */
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

#endif
