/*
 * url_state -- what may become of a URL, and what is written about it.  Values
 * alone, which those above the engine see, too.
 */
#ifndef ENGINE_FRONTIER_URL_STATE_H
#define ENGINE_FRONTIER_URL_STATE_H

#include "base/bytes.h"
#include "base/time.h"

enum outcome {
	OUTCOME_NONE,             /* only links, or archive, or puts */
	OUTCOME_ITEM,
	OUTCOME_EXCEPTION,
	OUTCOME_SKIPPED,
	OUTCOME_AUX,              /* a sitemap, read */
	OUTCOME_RETURNED,         /* not fetched; it waits again */
	OUTCOME_CALL,             /* an answer without a lease; numbered */
};

/* LEASED: as far as the known table says; after a restart it is WAITING. */
enum url_state { URL_UNKNOWN, URL_WAITING, URL_LEASED, URL_DONE, URL_SKIPPED };

#define FOUND_DEPTH_MAX UINT16_MAX   /* links away from its seed */
/* What is written about a URL. */
struct url_fact {
	enum outcome outcome;     /* of DONE */
	uint8_t reason;           /* enum exception or enum skip_reason */
	uint8_t flags;            /* enum found_flag */
	uint16_t depth;
	double cost;
	struct wall found;
};

/* The archived answer of a URL that failed. */
struct url_answer {
	uint16_t status;             /* 0: nothing is archived */
	struct str file;             /* the WARC file's name, without .open */
	uint64_t offset;             /* of the last answer's record */
};

/* The outcome of a URL of a crawl; reported once it is durable. */
struct url_event {
	uint32_t crawl;
	enum outcome outcome;
	uint8_t reason;           /* enum exception or enum skip_reason */
	uint64_t seq;
	int status;
	unsigned depth, tries, hops;
	struct str url, final_url, type, title, text;
	uint64_t body_bytes;
	int64_t duration_us;
	struct wall start;
	bool duplicate, near_duplicate, truncated;
};

#endif
