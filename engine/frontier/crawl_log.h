/*
 * crawl_log -- a crawl's log: what happened to it, numbered 1, 2, 3...
 *
 *     key    crawl4 number8
 *     value  at8 kind text host url reason       (fields; old ones end
 *                                                 behind the text)
 *
 * A line goes into the gathering group with what it tells of.  The newest are
 * kept (crawl.log_max), and up to a hundredth of so many before them, at most
 * CRAWL_LOG_STEP, which go together.  Of the kinds that a web can provoke at
 * will, CRAWL_LOG_BURST are written each minute; the last of them says so, and
 * the next minute's first one is preceded by a line with the number of those
 * that were left out.
 */
#ifndef ENGINE_FRONTIER_CRAWL_LOG_H
#define ENGINE_FRONTIER_CRAWL_LOG_H

#include "base/bytes.h"
#include "base/time.h"

#define CRAWL_LOG_KEPT 100000u       /* where nothing else is said */
#define CRAWL_LOG_STEP 1000u
#define CRAWL_LOG_BURST 300u
#define CRAWL_LOG_TEXT_MAX 2000u     /* bytes of each field; the rest is cut */

#define CRAWL_LOG_KINDS(X)                                                   \
	X(STARTED, "started") X(PAUSED, "paused") X(RESUMED, "resumed")       \
	X(CANCELLED, "cancelled") X(COMPLETED, "completed")                   \
	X(RESTARTED, "restarted") X(ROBOTS, "robots") X(BACKOFF, "backoff")   \
	X(EXCEPTION, "exception") X(SKIPPED, "skipped") X(LIMIT, "limit")     \
	X(SCHEDULE, "schedule")
enum crawl_log_kind {
#define CRAWL_LOG_ENUM(name, word) CRAWL_LOG_##name,
	CRAWL_LOG_KINDS(CRAWL_LOG_ENUM)
#undef CRAWL_LOG_ENUM
	CRAWL_LOG_KIND_COUNT
};

/* What is to be written; empty: not known. */
struct crawl_line {
	enum crawl_log_kind kind;
	struct str text, host, url, reason;
};

/* The lines that were read. */
struct crawl_log_record {
	uint32_t crawl;
	uint64_t number;
	struct wall at;
	struct str kind, text, host, url, reason;
};
/* Borrows from both.  False when it is damaged. */
bool crawl_log_parse(struct str key, struct str value,
    struct crawl_log_record *);
void crawl_log_key(uint32_t crawl, uint64_t number, struct buf *);

/* For the frontier alone, on the ledger's loop: add a line. */
struct crawl;
void crawl_log(struct crawl *, const struct crawl_line *);
/* A change of its state, by the kind's name; `reason` may be empty. */
void crawl_log_put(struct crawl *, enum crawl_log_kind, struct str reason);
void crawl_log_trim(struct crawl *);      /* what earlier versions kept */
void crawl_log_shown(struct crawl *);     /* in its view */

#endif
