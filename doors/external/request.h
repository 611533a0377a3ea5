/*
 * request -- one request of a back end, or of an operator, while the store is
 * asked: who sends it, which connector and which task it is about.
 *
 * A back end is known by its token and has its own tasks alone.  An operator is
 * anyone else whose token may read the console: it may see the tasks of all
 * back ends, and names one by the query's `backend` where several have a task
 * with that fid.
 *
 *     handler ─► external_request_new() ─► external_request_ask(work, then)
 *     ─► then(): an answer and external_request_free(), or ask again
 *
 * Thread: the main loop's, but for work().
 */
#ifndef DOORS_EXTERNAL_REQUEST_H
#define DOORS_EXTERNAL_REQUEST_H

#include "doors/external/external_door.h"
#include "doors/external/task_order.h"
#include "engine/store/store_grant.h"

struct external_request {
	struct store_job job;
	struct external_door *door;
	struct web_request *request;
	struct arena arena;
	struct why why;
	enum err result;
	enum err (*work)(struct external_request *, struct store *,
	    struct why *);
	void (*then)(struct external_request *);

	bool at_root;                /* it came to the mount at "/" */
	bool is_operator;
	struct backends *set;
	const struct backend *backend;       /* NULL: an operator without one */
	struct str backend_name;     /* of the task; empty: any */
	struct held_connector *connector;    /* NULL: it is not configured, or
	                                      * the request is about none */
	struct str connector_name;
	/* external_request_use_version()'s. */
	enum err (*find)(struct external_request *, struct store *,
	    struct why *);
	void (*versioned)(struct external_request *);
	struct str fid;

	struct store_task row;
	/* POST /task */
	struct task_order order;
	struct str endpoint;         /* normalised */
	struct str forbidden;        /* why the endpoint is; or empty */
	struct buf params, concealed, credential;
	struct task_faults *faults;
	bool made, keep_cursor;
	struct version_look version; /* GET form, too */
	struct str declaration;      /* read from the store */
	bool is_there;               /* the task, in `row` */
	/* For a connector with `oauth`. */
	struct task_grant_name grant_name;
	struct store_grant grant;
	struct oauth_granted granted;        /* external_request_take_grant() */
	/* The step after the grant was found. */
	enum err (*put)(struct external_request *, struct store *,
	    struct why *);
	void (*put_done)(struct external_request *);
	/* PATCH */
	struct store_task_end end;
	/* POST /check */
	struct external_check *check;
	/* POST /choices */
	struct choices_run *choices;
	/* GET log, rejected */
	uint64_t after;
	struct store_log_line *lines;
	struct store_document *documents;
	size_t n;
	/* GET /external */
	struct store_task_filter filter;
	struct store_task *tasks;
};

/* Access to a request, and its subject. */
enum external_access {
	EXTERNAL_BACKENDS = 1,
	EXTERNAL_OPERATORS = 2,
	EXTERNAL_BOTH = 3,
};
enum external_subject {
	EXTERNAL_NO_CONNECTOR,       /* about the door */
	EXTERNAL_ANY_CONNECTOR,      /* it may have been removed since */
	EXTERNAL_CONNECTOR,          /* 404 unless it is configured */
};

/* The connector that the path names; NULL: there is none. */
struct held_connector *external_find_connector(const struct external_door *,
    struct web_request *);
/*
 * Begin; NULL: it was refused and answered.  The path is "/external", then the
 * connector's name; in the mount at "/" it has neither.
 */
struct external_request *external_request_open(struct web_request *,
    enum external_access, enum external_subject);
/* For a request of a back end about a connector. */
struct external_request *external_request_new(struct web_request *);
/* Overwrite parameters and credential, and what they were read from: a run has
 * them.  external_request_free() does it, too. */
void external_request_forget(struct external_request *);
/* After its answer. */
void external_request_free(struct external_request **);
/* The request's fid from its path; false: refused, answered and freed. */
bool external_request_take_fid(struct external_request **);
/* A whole number of the query, if it is there; false: as above, with 400. */
bool external_request_take_number(struct external_request **,
    const char *name, uint64_t *out);
void external_request_ask(struct external_request *, enum err (*work)(
    struct external_request *, struct store *, struct why *),
    void (*then)(struct external_request *));
/* Answer with a refusal and free it. */
void external_request_fail(struct external_request *);
/* Answer with a payload and free it. */
void external_request_answer(struct external_request *, struct str payload);
/* work(): find the task `fid` of the request's back end, or of the one that an
 * operator names. */
enum err external_request_find(struct external_request *, struct store *,
    struct why *);
/*
 * Look which connector the request's version stands for, and make it the
 * request's; then(), or the request is refused, answered and freed.
 * `x->version.facts` has what the request says.
 */
void external_request_use_version(struct external_request *,
    enum err (*find)(struct external_request *, struct store *, struct why *),
    void (*then)(struct external_request *));
/* "https://HOST:PORT/external/NAME"; without path at the mount at "/". */
void external_request_put_mount(const struct external_request *, struct buf *);
/* work(): the grant that the credential names, of the request's back end. */
enum err external_request_find_grant(struct external_request *,
    struct store *, struct why *);
/*
 * After that: whether the grant can be used for the request's connector.
 * Errors: INPUT, naming the credential; else the store's.
 */
MUST_USE enum err external_request_judge_grant(struct external_request *,
    struct why *);
/*
 * After external_request_find_grant(): make the credential of the connector's
 * run of the grant.  NULL, or why it cannot be used, as a message.
 */
const char *external_request_take_grant(struct external_request *,
    struct why *);
/* "status":{"code":0,"message":"New"}, a member. */
void external_request_put_status(const struct store_task *, bool with_detail,
    struct buf *);
/*
 * Members of a task: status, state, counts, what it waits for, whose it is, and
 * its dates.  `row` may be without params and cursor.
 */
void external_request_put_task(const struct external_request *,
    const struct store_task *row, struct buf *);

#endif
