/*
 * task_request -- a script's fetch(): its options, the cookies of its session,
 * the request, and what the script is told.
 *
 *     read ─► start ─► the session is valid ─► task_fetch ─► done
 *                            │ it is not: login, or why
 *
 * Thread: home's.  Private to script/items and the door of items.
 * Source: contracts/scripting.md §4, §5.
 */
#ifndef SCRIPT_ITEMS_TASK_REQUEST_H
#define SCRIPT_ITEMS_TASK_REQUEST_H

#include <yyjson.h>

#include "engine/tasks/task_fetch.h"
#include "script/items/session.h"

struct task_request {
	/* In, beside what task_request_read() sets. */
	struct task_fetcher *fetcher;
	struct session_set *sessions;        /* NULL: there are none */
	struct session_user *user;
	int64_t deadline_ms;                 /* from the start of the request */
	bool is_connector;                   /* which signs by `auth` */
	void (*done)(struct task_request *);
	void *arg;
	/* Out: `why` of a session that cannot be had, else `fetch`. */
	struct task_fetch fetch;
	struct why why;
	struct session *session;             /* NULL: none was used */
	uint64_t session_rev;
	/* Its own. */
	struct str name, body;               /* of the session */
	yyjson_val *args;
	struct arena *arena;
	struct session_wait wait;
	struct cookie_jar *jar;              /* a copy of the session's */
	struct buf jar_before;               /* its lines */
	bool waits, sent;
};

/*
 * Read FetchOptions as a script's process sends them: {"url":...,"method":...,
 * "headers":{},"contentType":...,"accept":...,"redirect":...,"timeout":...,
 * "maxAge":...,"session":...}.  What they point to is kept until done().
 * Errors: INPUT, naming the field.
 */
MUST_USE enum err task_request_read(struct task_request *, yyjson_val *,
    struct str body, struct arena *, struct why *);
/* done() follows, perhaps at once; it may free. */
void task_request_start(struct task_request *);
/* True when it has ended by that; else done() follows soon. */
bool task_request_cancel(struct task_request *);
void task_request_free(struct task_request *);

/* Members of the head that the script gets: status, url, headers ... */
void task_request_put(const struct task_fetch *, struct buf *);
/* The class of a fetch's error with this code. */
const char *task_request_class(const char *code);

#endif
