/*
 * session_jar -- the cookies of a session of tasks.
 *
 * A call owns its jar until it is done, and several calls of one session may be
 * under way: each gets a copy, and what its answers have changed is taken over
 * into the session's jar.
 *
 * Thread: home's.  Source: contracts/scripting.md §5, RFC 6265.
 */
#ifndef ENGINE_TASKS_SESSION_JAR_H
#define ENGINE_TASKS_SESSION_JAR_H

#include "base/bytes.h"

struct cookie_jar;

/* The cookies of these lines, which session_jar_put() has written; lines that
 * are none are as good as no cookie.  Freed by session_jar_free(). */
struct cookie_jar *session_jar_new(struct str lines);
void session_jar_free(struct cookie_jar **);
/* Append its cookies as lines. */
void session_jar_put(struct cookie_jar *, struct buf *lines);
/*
 * Take over what a call has changed between `before` (lines) and `after`:
 * new cookies, other values, deletions.  True when there was anything.
 */
bool session_jar_take(struct cookie_jar *jar, struct str before,
    struct cookie_jar *after);

#endif
