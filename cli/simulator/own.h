/*
 * own -- what the simulator's files share.
 *
 *     external 1 ─── n crawler 1 ─── n task 1 ─── 1 document_set
 *
 * An external object outlives its crawlers, and a crawler its tasks.  A call
 * to a crawler knows its task by fid, because the task may be gone when the
 * answer comes.
 */
#ifndef CLI_SIMULATOR_OWN_H
#define CLI_SIMULATOR_OWN_H

#include "base/list.h"
#include "base/map.h"
#include "cli/simulator/crawler_call.h"
#include "cli/simulator/document_set.h"
#include "cli/simulator/json_body.h"
#include "cli/simulator/relational.h"
#include "cli/simulator/simulator.h"
#include "engine/schema/schema.h"
#include "server/web.h"

/* Status codes of external.md §3. */
enum { TASK_NEW = 0, TASK_DONE = 200, TASK_TIMEOUT = 408,
	TASK_CANCELLED = 499, TASK_FAILED = 500, TASK_CODE_MAX = 999 };
#define TASK_CLOSED_FROM 200     /* such a code closes a task */

#define FID_BYTES_MAX 40u
#define TASK_TEXT_BYTES_MAX 2000u        /* of a status's texts */
#define LOG_TEXT_BYTES_MAX 300u

struct external {
	struct list crawlers;
	char fid[FID_BYTES_MAX];
	uint64_t version;
	yyjson_doc *doc;
	struct schema *schema;       /* of its documents; NULL: any */
};

struct crawler {
	struct list node;            /* of its external's */
	struct list tasks;
	struct external *external;
	char fid[FID_BYTES_MAX];
	yyjson_doc *doc;             /* with params and credential */
};

struct task_log_line {
	struct wall at;
	char *text;
};

struct task {
	struct list node;            /* of its crawler's */
	struct simulator *simulator;
	struct crawler *crawler;
	char fid[FID_BYTES_MAX];
	yyjson_doc *params;          /* merged */
	uint64_t version;            /* of the external object, at the start */
	unsigned attempt;
	int code;
	char message[TASK_TEXT_BYTES_MAX], detail[TASK_TEXT_BYTES_MAX];
	bool has_detail;
	struct buf status_key;       /* of the last status, or empty */
	struct buf callback;         /* a URL; empty: not named yet */
	struct timer silence;
	struct document_set *documents;
	struct task_log_line *log;   /* a ring once it has log_lines_max */
	size_t log_cap;
	uint64_t log_n;              /* lines so far */
};

struct simulator {
	struct loop *loop;
	struct arena arena;
	const char *address;
	bool is_tls, discards;
	struct web *web;
	struct web_route *routes;
	struct place *places;
	struct crawler_calls *calls;
	struct simulator_limits limits;
	const struct fault_plan *faults;
	int64_t silence_ms;
	struct map externals, crawlers, tasks;   /* by fid */
	uint64_t fids, calls_n;
	uint64_t fault_calls[FAULT_CALLS];       /* that came so far */
	size_t output_bytes;                     /* of all document sets */
	struct list delayed;                     /* requests; upload.c's */
	struct list demos;                       /* demo_crawler.c's */
	size_t demos_n;
	char run[9];                             /* part of each fid */
	bool closing;
};

/* ---- simulator.c: requests and their answers ------------------------ */

struct simulator *request_simulator(const struct web_request *);
/* The i-th segment of the path below the mount. */
struct str request_segment(struct web_request *, size_t i);
/*
 * The body as a JSON object; an empty one is {}.  The document is the caller's,
 * to be freed by json_doc_free().  False: answered 400.
 */
bool request_json(struct web_request *, yyjson_doc **);
void json_doc_free(yyjson_doc **);

/* Answer with an envelope. */
void answer_payload(struct web_request *, int status, struct str payload);
void answer_json(struct web_request *, int status, yyjson_val *payload);
void answer_failure(struct web_request *, int status, const struct str *,
    size_t n, struct str payload);
void answer_why(struct web_request *, const struct why *);
PRINTF_LIKE(3, 4) void answer_fault(struct web_request *, int status,
    const char *fmt, ...);
/* 404: "there is no task t-1". */
void answer_absent(struct web_request *, const char *what, struct str fid);
/* One line of the log, with what the answer was. */
void log_request(struct web_request *, int status, const char *note);
/* As crawler_call_start().  Errors: also CLOSED while the simulator ends. */
MUST_USE enum err simulator_call(struct simulator *,
    const struct crawler_order *, struct why *);
/* A new fid: letter, run and number. */
void make_fid(struct simulator *, char letter,
    char out[static FID_BYTES_MAX]);
/* The base of this simulator's URLs: "http://127.0.0.1:3333", or with https.
 * Memory: `a`. */
struct str simulator_base(const struct simulator *, struct arena *a);

/* ---- externals.c ---------------------------------------------------- */

/* POST, PATCH, PUT, DELETE and GET of /externals. */
void post_external(struct web_request *);
void patch_external(struct web_request *);
void put_external(struct web_request *);
void delete_external(struct web_request *);
void get_external(struct web_request *);
/* The same for other callers.  Errors: INPUT; FULL at externals_max. */
MUST_USE enum err external_new(struct simulator *, yyjson_val *body,
    struct external **, struct why *);
/* Delete it with its crawlers and tasks. */
void external_free(struct simulator *, struct external *);
/* A member of the external object; NULL: it has none. */
yyjson_val *external_member(const struct external *, const char *name);
void externals_free(struct simulator *);
/*
 * Whether a document agrees with the external object's schema and docIdField;
 * `*id` is its id, or STR_NONE where documents have none.  Otherwise a
 * sentence in `w` that names the member.  Memory of `*id`: `a`, or the
 * document's.
 */
MUST_USE enum err external_check_document(const struct external *,
    yyjson_val *document, struct arena *a, struct str *id, struct why *w);

/* ---- tasks.c -------------------------------------------------------- */

/* Make and show crawlers; start, retry, stop and show tasks. */
void post_crawler(struct web_request *);
void get_crawler(struct web_request *);
void post_task(struct web_request *);
void retry_task(struct web_request *);
void delete_task(struct web_request *);
void get_task(struct web_request *);
/* NULL: the body is wrong or crawlers_max are there, and `r` was answered. */
struct crawler *crawler_new(struct web_request *, struct external *,
    yyjson_val *body);
/* The task whose fid is that segment of the path; NULL: answered 404. */
struct task *find_task(struct web_request *, size_t segment);
/* Make a task and start it; the request is answered with it, or refused. */
void start_task(struct web_request *, struct crawler *, yyjson_val *params);
/* A crawler with its tasks, or a task, that no call of a client uses. */
void crawler_free(struct simulator *, struct crawler *);
void task_free(struct task *);
/* Whether one of the external object's tasks is open. */
bool external_is_busy(const struct external *);
/* Set a status that came, and restart or stop the timer. */
void task_set_status(struct task *, int code, struct str message,
    struct str detail);
void task_heard(struct task *);          /* restart the timer */
bool task_is_open(const struct task *);
PRINTF_LIKE(2, 3) void task_log(struct task *, const char *fmt, ...);

/* ---- upload.c ------------------------------------------------------- */

/* POST upload and status of a task. */
void post_upload(struct web_request *);
void post_status(struct web_request *);
/* Requests that wait for their delay are answered 503. */
void refuse_delayed(struct simulator *);

/* ---- results.c ------------------------------------------------------ */

/* POST /run, GET /demo, GET /log/{fid}, GET /output/{fid}. */
void post_run(struct web_request *);
void get_demo(struct web_request *);
void get_log(struct web_request *);
void get_output(struct web_request *);

/* ---- demo_crawler.c ------------------------------------------------- */

/* POST /task and PATCH /task/{fid} of the demo's crawler. */
void demo_post_task(struct web_request *);
void demo_patch_task(struct web_request *);
void demo_free(struct simulator *);

#endif
