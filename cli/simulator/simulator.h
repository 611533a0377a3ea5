/*
 * simulator -- a back end of the External Crawler protocol, for developers of
 * external crawlers.
 *
 *     POST /externals -> POST /actions/externals/{fid}/crawler
 *       -> POST /actions/crawlers/{fid}/task ──► POST {endpoint}/task
 *     POST /actions/tasks/{fid}/upload, /status ◄── the crawler
 *     silence, DELETE ──► PATCH {callback}
 *
 * All state is in memory and ends with the process.  Each call is one line of
 * the log, without queries, fields, bodies and credentials.
 *
 * Thread: the loop's.
 * Limits: SIMULATOR_LIMITS; those of json_body.h, fault_plan.h,
 * params_check.h and crawler_call.h.
 * Source: external.md §1 to §4, §9, §12.
 * Story:  cli/simulator/DESIGN.md
 */
#ifndef CLI_SIMULATOR_SIMULATOR_H
#define CLI_SIMULATOR_SIMULATOR_H

#include "cli/simulator/fault_plan.h"
#include "os/loop.h"

/*  name                  default      what it bounds */
#define SIMULATOR_LIMITS(X)                                                  \
	X(externals_max,      1000,        "external objects; more: 429")     \
	X(crawlers_max,       1000,        "crawlers; more: 429")             \
	X(tasks_max,          1000,        "tasks; more: 429")                \
	X(documents_max,      100000,      "of a task; more: 429")            \
	X(discarded_max,      10000000,    "of a task, when documents are"    \
	    " discarded; more: 429")                                           \
	X(uploads_max,        100000,      "keys of a task; more: 429")       \
	X(output_bytes_max,   256 << 20,   "of all documents; more: 429")     \
	X(upload_bytes_max,   16 << 20,    "of an upload as sent, and"        \
	    " decoded; more: 413")                                             \
	X(line_faults_max,    1000,        "of an upload; more refused lines" \
	    " refuse it whole")                                                \
	X(log_lines_max,      1000,        "of a task; the oldest go first")  \
	X(crawler_calls_max,  64,          "under way; more: 429")            \
	X(call_ms,            60000,       "for a call to a crawler")         \
	X(demo_runs_max,      16,          "tasks of the built-in demo")
struct simulator_limits {
#define SIMULATOR_LIMIT_FIELD(name, value, help) int64_t name;
	SIMULATOR_LIMITS(SIMULATOR_LIMIT_FIELD)
#undef SIMULATOR_LIMIT_FIELD
};
#define SIMULATOR_LIMIT_VALUE(name, value, help) value,
#define SIMULATOR_LIMITS_DEFAULT \
	((struct simulator_limits){ SIMULATOR_LIMITS(SIMULATOR_LIMIT_VALUE) })

struct simulator_options {
	struct loop *loop;
	const char *address;             /* a literal loopback address */
	uint16_t port;                   /* 0: any */
	/* PEM files; NULL: no TLS.  `ca`: that crawlers' certificates are
	 * verified against; NULL: tls_cert, or the system's without TLS. */
	const char *tls_cert, *tls_key, *ca;
	bool discard;                    /* keep hashes of documents only */
	int64_t silence_s;               /* of a running task, then 408 */
	const struct fault_plan *faults; /* NULL: none; outlives it */
	const struct simulator_limits *limits;   /* NULL: the defaults */
};

struct simulator;

/*
 * Listen, and serve.  Errors: USAGE when the address is not loopback; BUSY when
 * another process listens there; CONFIG for a certificate; those of web_open().
 */
MUST_USE enum err simulator_open(const struct simulator_options *,
    struct simulator **, struct why *);
uint16_t simulator_port(const struct simulator *);
/* Accept nothing more; calls under way end, then `drained`. */
void simulator_drain(struct simulator *, void (*drained)(void *arg),
    void *arg);
/* The rest ends at once; answers that are owed are 503. */
void simulator_close(struct simulator **);

#endif
