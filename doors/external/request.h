/*
 * request -- one request of a back end while the store is asked: who sends it,
 * which connector and which task it is about.
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
	struct backends *set;
	const struct backend *backend;
	struct held_connector *connector;
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
	/* Of a connector with `oauth`. */
	struct task_grant_name grant_name;
	struct store_grant grant;
	struct oauth_granted granted;        /* of POST /check */
	/* The step after the grant was found. */
	enum err (*put)(struct external_request *, struct store *,
	    struct why *);
	void (*put_done)(struct external_request *);
	/* PATCH */
	struct store_task_end end;
	/* POST /check */
	struct external_check *check;
	/* GET log */
	uint64_t after;
	struct store_log_line *lines;
	size_t n;
};

/* The connector that the path names; NULL: there is none. */
struct held_connector *external_find_connector(const struct external_door *,
    struct web_request *);
/*
 * Begin; NULL: it was refused and answered.  `segment`: where the path has
 * "external"; the connector's name follows.  In the mount at "/" there is none
 * of both.
 */
struct external_request *external_request_new(struct web_request *);
/* After its answer. */
void external_request_free(struct external_request **);
/* The request's fid from its path; false: refused, answered and freed. */
bool external_request_take_fid(struct external_request **);
void external_request_ask(struct external_request *, enum err (*work)(
    struct external_request *, struct store *, struct why *),
    void (*then)(struct external_request *));
/* Answer with a refusal and free it. */
void external_request_fail(struct external_request *);
/* Answer with a payload and free it. */
void external_request_answer(struct external_request *, struct str payload);
/* work(): find the task `fid` of the request's back end. */
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
/* "status":{"code":0,"message":"New"}, a member. */
void external_request_put_status(const struct store_task *, bool with_detail,
    struct buf *);

#endif
