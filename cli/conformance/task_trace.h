/*
 * task_trace -- what a crawler has sent for one task, and what that says about
 * the crawler.
 *
 * An upload that was accepted is known by its Idempotency-Key, or by its bytes
 * where it has none; again under the same key it adds nothing.
 *
 * Thread: one; no I/O.
 * Source: external.md §4, §13.
 */
#ifndef CLI_CONFORMANCE_TASK_TRACE_H
#define CLI_CONFORMANCE_TASK_TRACE_H

#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "base/time.h"
#include "cli/simulator/fault_plan.h"

/* Status codes of external.md §3; from CODE_DONE on they close a task. */
enum { CODE_RUNNING = 102, CODE_DONE = 200, CODE_TIMEOUT = 408,
	CODE_MAX = 999 };

#define BATCH_DOCUMENTS_MAX 500u
#define BATCH_BYTES_MAX ((size_t)1 << 20)

/* An upload or a status. */
struct arrival {
	enum fault_call call;
	uint64_t number;             /* of its kind, from 1 */
	struct mono at, answered;    /* answered.ns is 0 until then */
	struct str key, type, coding;
	struct str body;             /* decoded */
	bool damaged;                /* not coded as it says */
	bool overlaps;               /* came before the last one's answer */
	const char *malformed;       /* why its body is refused, or NULL */
	bool accepted;
	int status;                  /* that was answered; 0: no answer */
	struct str *ids;             /* of its documents, each in order */
	size_t documents;
	uint64_t refused;            /* the line that was refused; 0: none */
	int code;                    /* of a status */
};

struct task_trace {
	struct list node;
	struct str fid, endpoint, callback;
	struct fault_plan *plan;
	uint64_t calls[FAULT_CALLS];
	struct arrival *arrivals;
	size_t n, cap;
	size_t unanswered;           /* uploads */
	bool holds;                  /* uploads are not answered */
	unsigned refused_closings;   /* closing statuses to answer with 500 */
	struct str elsewhere;        /* the last segment of its redirects */
	bool redirected;             /* a redirect was followed */
	int closed;                  /* the first closing code; 0: open */
	struct arena arena;
};

void task_trace_free(struct task_trace **);
/* A further arrival, zeroed but for call, number and time. */
struct arrival *task_trace_add(struct task_trace *, enum fault_call,
    struct mono now);
/*
 * Read the body of an upload: its documents' ids.  The id is the member
 * `id_field`, or the line where that is empty or absent.
 */
void task_trace_read(struct task_trace *, struct arrival *,
    struct str id_field);

/* The upload after this one, or NULL. */
const struct arrival *task_trace_next(const struct task_trace *,
    const struct arrival *);
/* The n-th upload from 1, or NULL. */
const struct arrival *task_trace_upload(const struct task_trace *,
    uint64_t number);
/*
 * Put the ids of all accepted documents into the empty map, each with itself as
 * its value.  Returns an id that was accepted under two keys, or STR_NONE.
 * Memory: the record's.
 */
struct str task_trace_ids(struct task_trace *, struct map *ids);
/*
 * Whether `record` has each document of `plain` once, but for `left_out`, which
 * may be STR_NONE; otherwise the reason.  Memory of it: the record's.
 */
bool task_trace_is_whole(struct task_trace *record,
    struct task_trace *plain, struct str left_out, const char **reason);
/* Whether keys and bytes of retries are as they should be. */
bool task_trace_has_keys(const struct task_trace *, const char **reason);
/* Whether the upload comes again before any other, or is its task's last. */
bool task_trace_repeats(const struct task_trace *, uint64_t number);
/* Milliseconds of the longest silence before the closing status. */
int64_t task_trace_silence_ms(const struct task_trace *);

#endif
