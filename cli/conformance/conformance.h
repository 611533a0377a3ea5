/*
 * conformance -- judges an external crawler, or a back end, by playing the
 * other side on loopback.
 *
 *     crawler:  we ─► POST /task, PATCH, OAuth calls     checks of answers
 *               we ◄─ uploads, statuses, each answered   checks of what came
 *                     as a fault plan says
 *     backend:  we ─► /externals, /actions/...           checks of answers
 *               we ◄─ POST /task, PATCH                  checks of what came
 *
 * Thread: the loop's, which it runs.
 * Limits: CONFORMANCE_LIMITS; those of fault_plan.h and crawler_call.h.
 * Source: external.md §1 to §4, §8 to §10, §13.
 * Story:  cli/conformance/DESIGN.md
 */
#ifndef CLI_CONFORMANCE_CONFORMANCE_H
#define CLI_CONFORMANCE_CONFORMANCE_H

#include <yyjson.h>

#include "cli/conformance/verdicts.h"
#include "os/loop.h"

/*  name                  value          what it bounds */
#define CONFORMANCE_LIMITS(X)                                                \
	X(upload_bytes_max,   16 << 20,      "of an upload, as sent and"      \
	    " decoded; more: 413")                                             \
	X(arrivals_max,       10000,         "uploads and statuses that are"  \
	    " kept of a task; more: 429")                                      \
	X(call_ms,            60000,         "for a call to the peer")        \
	X(quiet_ms,           2000,          "in which nothing may follow"    \
	    " the end of a task")
struct conformance_limits {
#define CONFORMANCE_LIMIT_FIELD(name, value, help) int64_t name;
	CONFORMANCE_LIMITS(CONFORMANCE_LIMIT_FIELD)
#undef CONFORMANCE_LIMIT_FIELD
};
#define CONFORMANCE_LIMIT_VALUE(name, value, help) value,
#define CONFORMANCE_LIMITS_DEFAULT                                           \
	((struct conformance_limits){                                         \
	    CONFORMANCE_LIMITS(CONFORMANCE_LIMIT_VALUE) })

/* Texts and values outlive the run.  Unset members are NULL or empty. */
struct conformance_options {
	struct loop *loop;
	const char *address;         /* a literal loopback address */
	uint16_t port;               /* 0: any */
	struct str peer;             /* the crawler's or back end's URL */
	struct str token;            /* which the crawler wants */
	yyjson_val *object;          /* external object of the crawler */
	yyjson_val *params, *credential;     /* of each task */
	bool oauth;
	struct str ticket_key;       /* of launch tickets, raw */
	struct str issuer;           /* their iss, the back end's name */
	struct str subdomain;        /* of OAuth calls */
	struct str origin;           /* a page of the back end; or empty */
	int64_t silence_s;           /* the back end's; of both sides */
	int64_t stop_s;              /* until a stopped task sends nothing */
	int64_t wait_s;              /* until a task ends */
	void (*print)(void *arg, struct str lines);  /* as groups end */
	void *arg;
};

/*
 * Judge the crawler or the back end at `peer`, and decide the checks of the
 * report.  Errors: USAGE, when the address is not loopback or no check is left;
 * INPUT, when the URL is none or the external object is malformed; those of
 * web_open().
 */
MUST_USE enum err conformance_judge_crawler(
    const struct conformance_options *, struct verdicts *, struct why *);
MUST_USE enum err conformance_judge_backend(
    const struct conformance_options *, struct verdicts *, struct why *);

#endif
