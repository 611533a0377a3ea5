/*
 * store_external -- what the external door keeps: tasks, their documents on the
 * way to a back end (the spool), rejected documents, logs, cursors of crawlers,
 * and registrations of connectors.
 *
 *     accepted ─► running ─► draining ─► done, failed, timeout, cancelled,
 *        ▲                      ▲        gone, undelivered
 *        │                      └── store_task_redeliver() ──┤ (undelivered)
 *        └───────── store_task_retry(): a new attempt ───────┘ (any)
 *
 * An open task belongs to one daemon, its node.  Only that daemon changes it,
 * emits and acknowledges; any daemon may close it.  A verb that says "the
 * owner's" is STATE for another daemon and for a closed task, so that a daemon
 * whose tasks were taken over can neither lose nor repeat a document.
 *
 * No row has a credential: the caller leaves the credential out, and from
 * params the values of parameters of type `password`.  The store cannot tell
 * them from others.
 *
 * Each verb is one commit unless the caller groups it with others.  It may
 * block, so a daemon calls it in a store_job (store_async.h).  After UNREACHED
 * it may be called again with the same arguments, unless its comment says
 * otherwise.
 *
 * Thread: as the store's.
 * Errors: store.h's; ABSENT when there is no such task; INPUT and FULL for
 *         texts, naming the field.
 * Source: contracts/external.md §1 to §7.
 */
#ifndef ENGINE_STORE_STORE_EXTERNAL_H
#define ENGINE_STORE_STORE_EXTERNAL_H

#include "engine/store/store.h"

#define STORE_FID_BYTES_MAX 128u
#define STORE_GRANT_ID_BYTES 32u              /* exactly */
#define STORE_ENDPOINT_BYTES_MAX 8192u
#define STORE_STATUS_BYTES_MAX 4096u          /* message, detail: each */
#define STORE_CURSOR_BYTES_MAX ((size_t)1 << 20)
#define STORE_CHECKPOINT_BYTES_MAX ((size_t)16 << 20)
#define STORE_DELIVERY_BYTES_MAX ((size_t)64 << 10)
/* Rows. */
#define STORE_TASKS_MAX 100000u               /* closed ones included */
#define STORE_TASKS_PAGE_MAX 1000u            /* of one list */
#define STORE_FORGET_MAX 100u                 /* tasks of one call */

/* ---- Tasks --------------------------------------------------------------- */

#define STORE_TASK_STATES(X)                                                 \
	X(ACCEPTED, "accepted") X(RUNNING, "running")                        \
	X(DRAINING, "draining") X(DONE, "done") X(FAILED, "failed")          \
	X(TIMEOUT, "timeout") X(CANCELLED, "cancelled") X(GONE, "gone")      \
	X(UNDELIVERED, "undelivered")
enum store_task_state {
#define STORE_TASK_ENUM(name, text) STORE_TASK_##name,
	STORE_TASK_STATES(STORE_TASK_ENUM)
#undef STORE_TASK_ENUM
	STORE_TASK_STATE_COUNT
};
/* "accepted": as statuses have it. */
const char *store_task_state_name(enum store_task_state);
bool store_task_is_closed(enum store_task_state);

struct store_task {
	uint64_t id;                 /* from 1; never used again */
	struct str backend, connector;
	struct str fid;              /* the back end's name; unique within it */
	struct str crawler;          /* empty: none */
	struct str endpoint;         /* an URL; its query may be signed */
	struct str params;           /* JSON, without secrets */
	uint64_t version;            /* of the connector; 0: none was named */
	/* Which declaration this attempt runs; empty: the one that is there. */
	struct str hash;
	bool reset;                  /* this attempt ignores older cursors */
	/* store_grant_id() of the grant that this attempt uses; empty: none. */
	struct str grant;
	/* The store sets what follows. */
	uint64_t attempt;            /* from 1 */
	enum store_task_state state;
	uint64_t code;               /* of the last status, 0 to 999 */
	struct str message, detail;  /* the same; detail may be empty */
	uint64_t emitted;            /* number of the last document */
	/* Documents of all attempts; emitted is their sum. */
	uint64_t uploaded, spooled, rejected, dropped;
	uint64_t rejected_before;    /* those that earlier attempts rejected */
	uint64_t spool_bytes;
	struct str node;             /* the owner; empty in a file */
	struct wall created, updated, closed;    /* closed.us 0: open */
	struct str cursor;           /* JSON; empty: from the beginning */
	struct str checkpoint;       /* of the connector's run; any bytes */
	struct str delivery;         /* the uploader's own state; any text */
};

/*
 * Put a new task of this daemon, in the state accepted with code 0, or find the
 * one that has its fid at its backend.  Either way `out` is the stored row,
 * whole, and `made` says which.  FULL, with the field tasks_max, when the
 * connector has `open_max` open tasks already; FULL at STORE_TASKS_MAX.  A call
 * that is repeated after UNREACHED may find the task that it has made.
 * Memory: `a`.
 */
MUST_USE enum err store_task_put(struct store *, const struct store_task *,
    size_t open_max, struct wall now, struct arena *a, struct store_task *out,
    bool *made, struct why *);
/*
 * Begin a new attempt of a closed task (STATE: it is open) on this daemon, with
 * `t`'s endpoint, params, crawler, version, hash, reset and grant.  Cursor and
 * checkpoint stay if `keep_cursor` and not t->reset.  What is left in the spool
 * stays.  FULL as store_task_put().  A daemon that has run the earlier attempt
 * has stopped it before.  After UNREACHED: STATE may mean that it is done.
 */
MUST_USE enum err store_task_retry(struct store *, uint64_t id,
    const struct store_task *t, bool keep_cursor, size_t open_max,
    struct wall now, struct why *);
/* Whole.  Memory: `a`. */
MUST_USE enum err store_task_get(struct store *, uint64_t id, struct arena *a,
    struct store_task *, struct why *);
/* By fid.  An empty backend stands for any; STATE when several have it. */
MUST_USE enum err store_task_find(struct store *, struct str backend,
    struct str fid, struct arena *a, struct store_task *, struct why *);

/* Whether the task is stored: open, or closed and not yet forgotten. */
MUST_USE enum err store_task_exists(struct store *, uint64_t id, bool *exists,
    struct why *);

struct store_task_filter {
	bool mine;                   /* only this daemon's */
	bool open;
	struct str backend, connector;   /* empty: all */
	uint64_t after;              /* only greater ids */
	bool newest;                 /* the greatest ids first; no `after` */
	uint64_t before;             /* of newest: only smaller ids; 0: all */
	size_t most;                 /* 0: STORE_TASKS_PAGE_MAX */
};
/*
 * By id, without params, cursor, checkpoint, delivery and grant.  The tasks
 * that a daemon runs and does not find among its open ones were closed, or
 * taken over, by another: it stops them.
 */
MUST_USE enum err store_task_list(struct store *,
    const struct store_task_filter *, struct arena *a, struct store_task **,
    size_t *n, struct why *);
/*
 * This daemon's open tasks whose grant is gone: it was cleared, revoked or
 * forgotten, or its handle has ended, by whatever daemon.  By id, at most
 * STORE_TASKS_PAGE_MAX.  Memory: `a`.
 */
MUST_USE enum err store_task_list_ungranted(struct store *, struct arena *a,
    uint64_t **ids, size_t *n, struct why *);
/* The open tasks of a connector, of all daemons. */
MUST_USE enum err store_task_count(struct store *, struct str connector,
    size_t *n, struct why *);

struct store_task_status {
	enum store_task_state state;
	uint64_t code;
	struct str message, detail;
};
/* The owner's.  The state is an open one. */
MUST_USE enum err store_task_set_status(struct store *, uint64_t id,
    const struct store_task_status *, struct wall now, struct why *);
/* The owner's: the same parameters were sent again with another query. */
MUST_USE enum err store_task_set_endpoint(struct store *, uint64_t id,
    struct str endpoint, struct wall now, struct why *);
/* ... or with another grant: its store_grant_id(). */
MUST_USE enum err store_task_set_grant(struct store *, uint64_t id,
    struct str grant, struct wall now, struct why *);
/* The owner's: what the uploader needs to send a batch again as it was. */
MUST_USE enum err store_task_set_delivery(struct store *, uint64_t id,
    struct str delivery, struct wall now, struct why *);
/* Any daemon's: no cursor and no checkpoint, until the owner emits again. */
MUST_USE enum err store_task_reset_cursor(struct store *, uint64_t id,
    struct wall now, struct why *);

struct store_task_end {
	struct store_task_status status;     /* the state is a closed one */
	bool drop_spool;
	/* The crawler's next task goes on from this task's cursor. */
	bool keep_cursor;
	bool by_owner;               /* STATE when the task is another's */
};
/* A closed task stays as it is; `changed` says whether this call closed it. */
MUST_USE enum err store_task_close(struct store *, uint64_t id,
    const struct store_task_end *, struct wall now, bool *changed,
    struct why *);
/*
 * An undelivered task drains again, on this daemon.  STATE: it is not
 * undelivered; after UNREACHED that may mean that it is done.
 */
MUST_USE enum err store_task_redeliver(struct store *, uint64_t id,
    struct wall now, struct why *);
/*
 * Forget tasks that were closed before `before` with all that is theirs, the
 * oldest first, at most STORE_FORGET_MAX of them; `n`: how many.
 */
MUST_USE enum err store_task_forget(struct store *, struct wall before,
    size_t *n, struct why *);

/* ---- Leases -------------------------------------------------------------- */

/*
 * In a shared store: this daemon's tasks are its own until `until`.  Call it
 * before the first task and well before `until`; the daemons' clocks agree to
 * a fraction of that.  `kept` is false when the lease had ended, so that tasks
 * may have been taken over.  In a file it does nothing.  It does not change
 * store_version().
 */
MUST_USE enum err store_lease_renew(struct store *, struct wall now,
    struct wall until, bool *kept, struct why *);
/*
 * Make the open tasks of daemons whose lease has ended this daemon's; `ids`,
 * in `a`: these.  Exactly one daemon gets each.  What this one still has in
 * memory of an earlier time is out of date.
 */
MUST_USE enum err store_task_take_over(struct store *, struct wall now,
    struct arena *a, uint64_t **ids, size_t *n, struct why *);

/* ---- Spool --------------------------------------------------------------- */

#define STORE_DOCUMENT_BYTES_MAX ((size_t)16 << 20)
#define STORE_EMIT_DOCUMENTS_MAX 10000u
#define STORE_EMIT_BYTES_MAX ((size_t)32 << 20)
/* Kept of a task's rejected documents, and of each; all are counted. */
#define STORE_REJECTED_MAX 1000u
#define STORE_REJECTED_CHARACTERS_MAX 65536
#define STORE_POINTER_BYTES_MAX 1024u

struct store_document {
	uint64_t number;             /* from 1, over all attempts of a task */
	struct str json;
	/* Why it is rejected; an empty message: it is not. */
	struct str pointer, message;
};

/* Documents, and how far the connector is after them: one commit. */
struct store_emit {
	uint64_t first;              /* number of documents[0]: emitted + 1 */
	const struct store_document *documents;  /* `number` is ignored */
	size_t n;                    /* may be 0 */
	struct str cursor, checkpoint;
};
/*
 * The owner's.  Documents with a message go to the rejected ones at once.  One
 * that was committed already, as `first` shows, changes nothing: so a call may
 * be repeated.  STATE when `first` leaves a gap.
 */
MUST_USE enum err store_spool_emit(struct store *, uint64_t id,
    const struct store_emit *, struct wall now, struct why *);
/*
 * The documents from number `from` on, in order: at most `most`, and at most
 * `bytes_max` of JSON, but at least one if there is any.  Memory: `a`.
 */
MUST_USE enum err store_spool_read(struct store *, uint64_t id, uint64_t from,
    size_t most, size_t bytes_max, struct arena *a, struct store_document **,
    size_t *n, struct why *);

struct store_ack {
	/* Numbers; documents of the range that are gone already are ignored. */
	uint64_t first, last;
	/* The ones in that range which the back end refused: number, pointer
	 * and message. */
	const struct store_document *refused;
	size_t refused_n;
	struct str delivery;         /* as store_task_set_delivery() */
};
/* The owner's: these documents have left the spool.  One commit. */
MUST_USE enum err store_spool_ack(struct store *, uint64_t id,
    const struct store_ack *, struct wall now, struct why *);
/* Any daemon's.  The documents are counted as dropped. */
MUST_USE enum err store_spool_drop(struct store *, uint64_t id,
    struct wall now, struct why *);

struct store_spool_totals {
	uint64_t tasks, documents, bytes;
};
/* Of all tasks.  It reads a row for each task that has a spool. */
MUST_USE enum err store_spool_total(struct store *,
    struct store_spool_totals *, struct why *);

/* By number, those after `after`, at most `most` (0: STORE_REJECTED_MAX). */
MUST_USE enum err store_rejected_list(struct store *, uint64_t id,
    uint64_t after, size_t most, struct arena *a, struct store_document **,
    size_t *n, struct why *);

/* ---- Log ----------------------------------------------------------------- */

#define STORE_LOG_LINES_MAX 1000u             /* kept of a task */
#define STORE_LOG_LEVEL_BYTES_MAX 16u
#define STORE_LOG_TEXT_BYTES_MAX 4096u

struct store_log_line {
	uint64_t number;             /* from 1 */
	struct wall time;
	struct str level;            /* "info" */
	uint64_t code;               /* of a status; 0: none */
	struct str text;
};
/*
 * Append; the oldest go.  Lines are numbered by the store.  After UNREACHED a
 * repeated call may append them twice.
 */
MUST_USE enum err store_log_add(struct store *, uint64_t id,
    const struct store_log_line *, size_t n, struct why *);
/* Those after number `after`, in order.  Memory: `a`. */
MUST_USE enum err store_log_list(struct store *, uint64_t id, uint64_t after,
    struct arena *a, struct store_log_line **, size_t *n, struct why *);

/* ---- Cursors of crawlers ------------------------------------------------- */

/* Beyond it the one that was unchanged for longest goes. */
#define STORE_CURSORS_MAX 100000u

struct store_crawler {
	struct str backend, connector, crawler;
};
/* ABSENT: none is stored.  Memory: `a`. */
MUST_USE enum err store_cursor_get(struct store *, const struct store_crawler *,
    struct arena *a, struct str *cursor, struct why *);
/* As store_task_close() with keep_cursor does.  An empty cursor: none. */
MUST_USE enum err store_cursor_put(struct store *, const struct store_crawler *,
    struct str cursor, struct wall now, struct why *);
/*
 * The cursors that tasks of a connector may go on from: those of its tasks, of
 * closed ones too, and those of crawlers that still have a task.  In no order;
 * one may be there twice.  Memory: `a`.
 */
MUST_USE enum err store_cursor_list(struct store *, struct str connector,
    struct arena *a, struct str **cursors, size_t *n, struct why *);
/* Forget it; it may be absent. */
MUST_USE enum err store_cursor_reset(struct store *,
    const struct store_crawler *, struct why *);

/* ---- Registrations ------------------------------------------------------- */

#define STORE_HASH_BYTES_MAX 128u
#define STORE_DECLARATION_BYTES_MAX ((size_t)1 << 20)
#define STORE_OBJECT_BYTES_MAX ((size_t)4 << 20)
#define STORE_REGISTRATIONS_MAX 10000u
/* Versions of a connector at one back end, besides the published one; above
 * that the lowest are forgotten. */
#define STORE_VERSIONS_MAX 100u

struct store_registration {
	struct str backend, connector;
	struct str fid;              /* of the external object there */
	uint64_t version;            /* which the back end counts up */
	struct str hash;             /* of the connector's file, in hex */
	/* The external object as it was sent, without its headers; only the
	 * newest version's is kept. */
	struct str object;
	uint64_t token;              /* id of the token in its headers; or 0 */
	struct wall registered;
};
/*
 * Put, or replace, that of the backend, connector and version, and with it the
 * declaration, the text with that hash; empty: the connector is built in.  A
 * declaration is kept once, as long as a version or a task names its hash.
 */
MUST_USE enum err store_registration_put(struct store *,
    const struct store_registration *, struct str declaration,
    struct wall now, struct why *);
/* Forget all versions of the connector at the back end; there may be none. */
MUST_USE enum err store_registration_forget(struct store *,
    struct str backend, struct str connector, struct why *);
/* ABSENT: no version and no task names the hash.  Memory: `a`. */
MUST_USE enum err store_declaration_get(struct store *, struct str hash,
    struct arena *a, struct str *declaration, struct why *);
MUST_USE enum err store_registration_get(struct store *, struct str backend,
    struct str connector, uint64_t version, struct arena *a,
    struct store_registration *, struct why *);
/* The greatest version.  ABSENT: it was never registered there. */
MUST_USE enum err store_registration_newest(struct store *,
    struct str backend, struct str connector, struct arena *a,
    struct store_registration *, struct why *);
/* All, by backend, connector and version, without their objects; an empty
 * connector: of all. */
MUST_USE enum err store_registration_list(struct store *,
    struct str connector, struct arena *a, struct store_registration **,
    size_t *n, struct why *);
/*
 * The version that a task runs which names none; ABSENT when no backend has it.
 */
MUST_USE enum err store_published_put(struct store *, struct str connector,
    uint64_t version, struct wall now, struct why *);
MUST_USE enum err store_published_drop(struct store *,
    struct str connector, struct why *);
/* ABSENT: none is published. */
MUST_USE enum err store_published_get(struct store *,
    struct str connector, uint64_t *version, struct why *);

#endif
