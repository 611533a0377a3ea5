/*
 * session -- named sessions of tasks: cookies and data that a login has left
 * behind, shared by all runs and kept, sealed, in the store.
 *
 *     asked for ─► read from the store ─► valid
 *                        │ none, or too old            ▲
 *                        └─► one run logs in ──────────┘ stored under rev + 1
 *
 * The run that asks first calls login(), while the others wait.  After a failed
 * login those who wait fail, and the next begins after a back-off.
 *
 * Thread: home's.  Private to script/items.
 * Source: contracts/scripting.md §5.
 */
#ifndef SCRIPT_ITEMS_SESSION_H
#define SCRIPT_ITEMS_SESSION_H

#include "engine/items/item_session.h"
#include "engine/items/items.h"
#include "engine/tasks/session_jar.h"
#include "wire/seal.h"

struct runner_config;
struct session_set;
struct task_runner;

#define SESSION_ANCESTORS_MAX 32u
#define SESSION_BACKOFF_MS 30000     /* doubled with each failure */
#define SESSION_BACKOFF_MS_MAX 3600000

/* Who uses sessions: a run here, or one of a remote worker. */
struct session_user {
	struct runner_config *config;
	struct str item;             /* that it runs on */
	bool may_login;              /* simulations may not */
	bool remote;                 /* of a remote worker */
};

struct session {
	struct str name;             /* in `arena` */
	struct session_set *set;
	enum { SESSION_NEW, SESSION_READING, SESSION_LOGIN, SESSION_STORING,
		SESSION_VALID } state;
	struct cookie_jar *jar;
	struct buf data;             /* a JSON object */
	uint64_t rev;                /* of the login; 0: none so far */
	uint64_t stale_rev;          /* logins up to it are no good */
	struct wall expires_at;      /* NONE: never */
	struct list waiting;         /* struct session_wait */
	/* The login under way. */
	struct session_user *owner;  /* that logs in; NULL: none */
	struct str ttl;              /* JSON, of its configuration */
	struct buf ancestors;        /* JSON elements, the root first */
	struct str item;             /* the owner's */
	struct items_read read;
	struct items_write write;
	struct item_session row;
	struct buf sealed;
	/* Cookies that were changed after it. */
	struct items_write save;
	struct buf saved;            /* sealed */
	uint64_t saved_rev;
	bool is_changed, is_saving;
	/* After failed ones. */
	unsigned failures;
	struct mono retry_at;
	struct why why;
	struct arena arena;
};

/*
 * A user that needs a session; `ready` comes once, perhaps at once.  `login`:
 * it logs in itself, and session_store(), session_fail() or its end follows.
 */
struct session_wait {
	struct list node;
	struct session_user *user;
	struct session *session;     /* valid in ready() */
	void (*ready)(struct session_wait *, bool login, const struct why *);
};

struct session_set *session_set_new(struct task_runner *,
    const struct seal_key *);
void session_set_free(struct session_set **);
/* Whether one has work under way: a read, a login, a write. */
bool session_set_is_busy(const struct session_set *);

/*
 * Ask for the session of that name.  `stale_rev`: a login up to this one is of
 * no use; 0: any will do.  Errors of ready(): ABSENT (the configuration has
 * none of that name), and what the login said.
 */
void session_ask(struct session_set *, struct str name, uint64_t stale_rev,
    struct session_wait *);
void session_ask_cancel(struct session_wait *);
/* It is good for nothing any more; the next who asks logs in. */
void session_invalidate(struct session_set *, struct str name);
/* What session() of a script is answered: {"data":...,"version":N}, or
 * {"login":true,"ancestors":[...]}. */
void session_put_answer(const struct session *, bool login, struct buf *);
/* The session that this user is logging in; NULL: it is none. */
struct session *session_of_login(struct session_set *, struct session_user *,
    struct str name);
/* Whether it is logging in any session. */
bool session_has_login(struct session_set *, const struct session_user *);
/* The login has gone well, with this data (JSON): seal and store it.  `one`
 * becomes ready when that is durable. */
void session_store(struct session *, struct str data, struct session_wait *);
void session_fail(struct session *, struct str message);
/* Users of remote workers that wait are refused: CLOSED. */
void session_refuse_remote(struct session_set *);
/* Its run has ended: a login that it has not finished goes to the next. */
void session_user_ended(struct session_set *, struct session_user *);
/* A call with a copy of its cookies (`before`, lines, of login `rev`) is
 * done. */
void session_take(struct session *, uint64_t rev, struct str before,
    struct cookie_jar *after);

#endif
