/*
 * own -- what the files of the conformance test share.
 */
#ifndef CLI_CONFORMANCE_OWN_H
#define CLI_CONFORMANCE_OWN_H

#include "base/json.h"
#include "base/list.h"
#include "cli/conformance/conformance.h"
#include "cli/conformance/task_trace.h"
#include "cli/simulator/crawler_call.h"
#include "engine/schema/schema.h"
#include "server/web.h"

/* A request that came from the back end that is judged. */
struct notice {
	struct str fid, version, authorization;
	yyjson_val *body;            /* NULL: no JSON object */
	bool is_task;                /* POST /task; else a PATCH */
};

struct conformance {
	struct loop *loop;
	struct arena arena;
	const struct conformance_options *options;
	struct conformance_limits limits;
	struct verdicts *verdicts;
	struct crawler_calls *calls;
	struct url peer;
	struct web *web;
	struct str base;             /* of our own URLs, without a "/" */
	char run[9];                 /* part of each fid */
	uint64_t fids;
	yyjson_doc **docs;           /* of answers, freed at the end */
	size_t docs_n, docs_cap;
	/* A crawler is judged: */
	struct list tasks;           /* struct task_trace */
	struct list pending;         /* calls that are not answered */
	struct schema *schema;
	struct str id_field;
	struct task_trace *plain;   /* the run without faults, or NULL */
	/* A back end is judged: */
	struct notice *notices;
	size_t notices_n, notices_cap;
};

/* ---- conformance.c: the loop ---------------------------------------- */

/* Run the loop until `is_met` returns true, or `ms` have passed: false. */
bool conformance_wait(struct conformance *, bool (*is_met)(void *), void *arg,
    int64_t ms);
/* Run the loop for so long. */
void conformance_pause(struct conformance *, int64_t ms);
/* A name that no earlier run has given to a task. */
struct str conformance_fid(struct conformance *);
/* Print the lines of a group whose checks are decided. */
void conformance_print(struct conformance *, const char *group);
/* Keep the document until the end. */
void conformance_keep(struct conformance *, yyjson_doc *);
/* The member of an object by names separated by "."; NULL: it is absent. */
yyjson_val *member_at(yyjson_val *, const char *path);

/* ---- peer.c: calls to the peer -------------------------------------- */

/* A call; unset members are left out of the request. */
struct peer_order {
	const char *method;
	struct str url;
	struct str body;
	const char *type;            /* application/json, where NULL */
	const char *key, *coding;
	struct str cookie, referer;
	struct str token;            /* p NULL: that of the options */
	bool anonymous;              /* without Authorization */
};
struct peer_answer {
	int status;                  /* 0: no answer, see error */
	const char *error;
	struct str body, type, location;
	struct str cookies;          /* of Set-Cookie, as Cookie has them */
	yyjson_val *json;            /* NULL: the body is no JSON object */
};
/* Call, and run the loop until the answer.  Memory: the conformance's. */
struct peer_answer peer_call(struct conformance *,
    const struct peer_order *);
/* The peer's URL with `path` behind it; `query` is empty or without "?". */
struct str peer_url(struct conformance *, const char *path, struct str query);
/* "the answer is 404, not 200", or why there was none; for reasons. */
const char *peer_status_text(struct conformance *, const struct peer_answer *,
    const char *wanted);
bool peer_is_success(const struct peer_answer *);    /* 2xx with success */
/* Judge a check by the status, and by the envelope of a failure. */
void peer_judge_refusal(struct conformance *, enum check_id,
    const struct peer_answer *, int status);

/* ---- port.c: where we listen ---------------------------------------- */

/* A request that is served; "*" is any segment, an end in "/" a prefix. */
struct port_row {
	const char *method, *path;
	void (*handle)(struct web_request *);    /* its argument: us */
};
/* Listen, and set `base`.  Errors: USAGE when the address is not loopback;
 * those of web_open(). */
MUST_USE enum err port_open(struct conformance *, const struct port_row *,
    size_t n, struct why *);
/* 404 with an envelope. */
void port_refuse(struct web_request *);

/* ---- played_backend.c: the back end for a crawler ------------------- */

/* Serve uploads and statuses of tasks.  Errors: as port_open(). */
MUST_USE enum err played_backend_open(struct conformance *, struct why *);
/* A task that takes uploads from now on; `plan` is a fault plan, or NULL. */
struct task_trace *played_backend_task(struct conformance *,
    const char *plan);
/* From now on uploads are kept without an answer until the release, which
 * refuses them with 503 and Retry-After. */
void played_backend_hold(struct task_trace *);
void played_backend_release(struct conformance *, struct task_trace *,
    uint64_t retry_after_s);
/* Answer what is left; before the port is closed. */
void played_backend_close(struct conformance *);

/* ---- played_crawler.c: the crawler for a back end ------------------- */

/* Serve /crawler and record what comes as notices.  Errors: as port_open(). */
MUST_USE enum err played_crawler_open(struct conformance *, struct why *);

/* ---- crawler_tasks.c: tasks of the crawler that is judged ----------- */

/* POST /task for the record.  `more` are members in place of the usual ones, or
 * NULL: {"params":{...}}; a null removes one. */
struct peer_answer crawler_task_send(struct conformance *, struct task_trace *,
    const char *more);
/* Whether a callback begins with "/" or has the crawler's origin. */
bool crawler_callback_is_fine(struct conformance *, struct str callback);
/* As crawler_task_send(), and remember the callback.  False: it was not
 * started, or the callback is foreign. */
bool crawler_task_start(struct conformance *, struct task_trace *);
/* Wait until all of them have closed, or failed to for wait_s. */
void crawler_tasks_wait(struct conformance *, struct task_trace *const *,
    size_t n);
/* PATCH a status at the callback or at /task/{fid}/status. */
struct peer_answer crawler_task_patch(struct conformance *,
    const struct task_trace *, bool at_callback, const char *body);

/* ---- The groups of checks ------------------------------------------- */

void judge_start(struct conformance *);
void judge_uploads(struct conformance *);
void judge_faults(struct conformance *);
void judge_status(struct conformance *);
void judge_stop(struct conformance *);
void judge_oauth(struct conformance *);
void judge_tickets(struct conformance *);    /* of the extensions */
void judge_security(struct conformance *);
void judge_extensions(struct conformance *);
/* All groups of a back end, which it prints: they share one registration. */
void judge_backend(struct conformance *);

#endif
