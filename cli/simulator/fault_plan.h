/*
 * fault_plan -- which uploads and statuses the simulator answers wrongly.
 *
 *     {"faults":[
 *       {"call":"upload","number":2,"last":4,"status":503,"retry_after_s":1},
 *       {"call":"upload","number":5,"delay_ms":200,"cut_bytes":10},
 *       {"call":"upload","number":6,"reply_lost":true},
 *       {"call":"upload","number":7,"refused_lines":[1,3]},
 *       {"call":"status","number":1,"redirect":"http://127.0.0.1:9/"}]}
 *
 * Uploads and statuses are counted apart, from 1, over all tasks since the
 * simulator started; retries count.  A fault concerns the calls from `number`
 * to `last` (default: `number`).  It has at most one of
 *
 *     status          this status: the call is accepted first if it is 2xx.
 *                     With retry_after_s, and with body in place of JSON
 *     cut_bytes       accepted; the answer is cut after so many bytes of its
 *                     body
 *     reply_lost      accepted; the connection ends without an answer
 *     refused_lines   these lines, from 1, are refused by 406; the others are
 *                     accepted.  Uploads only
 *     redirect        307 with this Location; not accepted
 *
 * and may have delay_ms, also alone.  The first fault that concerns a call
 * holds.
 *
 * Thread: any; a plan is read-only.
 * Source: external.md §12; RFC 9110 §10.2.3, §15.
 */
#ifndef CLI_SIMULATOR_FAULT_PLAN_H
#define CLI_SIMULATOR_FAULT_PLAN_H

#include "base/arena.h"
#include "base/err.h"

/* Limits of a plan; each is met by a sentence that names the member. */
#define FAULT_PLAN_BYTES_MAX ((size_t)1 << 20)
#define FAULTS_MAX 1000u
#define FAULT_LINES_MAX 1000u
#define FAULT_DELAY_MS_MAX 600000u
#define FAULT_RETRY_AFTER_S_MAX 86400u

enum fault_call { FAULT_UPLOAD, FAULT_STATUS };
#define FAULT_CALLS 2

enum fault_kind {
	FAULT_NONE,          /* a delay alone */
	FAULT_ANSWER,
	FAULT_CUT,
	FAULT_REPLY_LOST,
	FAULT_LINES,
	FAULT_REDIRECT
};

struct fault {
	enum fault_call call;
	enum fault_kind kind;
	uint64_t number, last;       /* of the calls, from 1 */
	int status;                  /* of ANSWER */
	struct str body;             /* of ANSWER; p is NULL: JSON */
	bool has_retry_after;
	uint64_t retry_after_s;
	uint64_t delay_ms;           /* 0: none */
	uint64_t cut_bytes;
	const uint64_t *lines;
	size_t lines_n;
	const char *redirect;
};

struct fault_plan;

/*
 * Read a plan.  `*out` is the caller's, to be freed by fault_plan_free().
 * Errors: INPUT with the place of the member that is wrong or unknown, such as
 * faults[2].status; FULL when a limit is exceeded.
 */
MUST_USE enum err fault_plan_read(struct str text, struct fault_plan **out,
    struct why *);
void fault_plan_free(struct fault_plan **);
/* The fault of the call with that number, or NULL; the plan may be NULL. */
const struct fault *fault_plan_find(const struct fault_plan *,
    enum fault_call, uint64_t number);
bool fault_refuses_line(const struct fault *, uint64_t line);

#endif
