/*
 * report -- what is told of one crawl: its seeds' fates and its exceptions,
 * remembered; JSON events, one per line; the summary at the end.
 *
 * Thread: the main one.
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "base/map.h"
#include "engine/control/control.h"

#define REPORT_EXCEPTIONS_SHOWN 10

struct report_seed {
	struct str typed;
	struct str url;              /* canonical; empty: it is none */
	bool answered, failed;
	const char *state;           /* "no_url", "connect", "robots" ... */
	struct str text;             /* why it failed */
};

struct report {
	bool json;
	struct arena arena;
	struct str in_force;         /* policy_to_sentence() */
	struct report_seed *seeds;
	size_t seeds_n;
	struct map by_url;           /* of the seeds */
	struct str *exceptions;      /* the first ones, as lines */
	size_t exceptions_n;
	struct buf out;              /* for one line */
};

/* The summary's input besides the report's own counters. */
struct report_end {
	const struct crawl_view *view;
	const struct type_count *types;
	size_t types_n;
	struct str name;
	struct str warc_dir;         /* empty: nothing is archived */
	const char *resume;          /* the command; NULL: nothing is left */
	double seconds;              /* of this process */
	uint64_t items_before;       /* by earlier processes */
};

/* `policy` tells what is stripped from URLs, and what is in force. */
void report_open(struct report *, bool json, const struct str *seeds,
    size_t seeds_n, const struct policy *policy);
void report_close(struct report *);

/* Events; nothing is printed but with `json`. */
void report_started(struct report *, const struct crawl_view *,
    struct str name, struct str warc_dir, const char *data_dir, bool resumed);
void report_event(struct report *, const struct url_event *);
void report_health(struct report *, uint32_t crawl, enum engine_health,
    const char *text);

/* The summary, as text or as the last events. */
void report_end(struct report *, const struct report_end *);

/* {"queued":..., "items":..., "status":{...}, ...} */
void report_counts_json(const struct crawl_counts *, struct buf *);
const char *report_health_name(enum engine_health);

#endif
