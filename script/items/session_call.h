/*
 * session_call -- a script's calls about sessions, by whoever runs it: the
 * kinds session, session_expired, session_store, session_fail and
 * session_invalidate of script/host.h.
 *
 * Thread: home's.  Private to script/items and the door of items.
 * Source: contracts/scripting.md §5.
 */
#ifndef SCRIPT_ITEMS_SESSION_CALL_H
#define SCRIPT_ITEMS_SESSION_CALL_H

#include <yyjson.h>

#include "script/host.h"
#include "script/items/session.h"

struct session_call {
	/* In; kept by the owner until done(). */
	struct session_set *sessions;
	struct session_user *user;
	enum script_call_kind kind;
	yyjson_val *args;            /* {"name":...}, and more by the kind */
	uint64_t version;            /* session_expired without one means it */
	void (*done)(struct session_call *);
	/* Out. */
	struct why why;              /* ABSENT; others: of the login */
	struct buf out;              /* JSON, as script_call_answer() takes it;
	                              * freed by the owner */
	const struct session *session;       /* valid in done(); NULL: none */
	bool login;                  /* the user has to log in */
	/* Its own. */
	struct session_wait wait;
	bool waits;
};
/* done() comes once, perhaps at once; it may free. */
void session_call_start(struct session_call *);
/* True when it was waiting: done() will not come. */
bool session_call_cancel(struct session_call *);

#endif
