/*
 * lease_user -- the users of sessions that are runs of remote workers: each is
 * known by its lease.
 *
 *     a request of the worker protocol ─► enter ─► leave
 *     its login is under way ─► store, fail, or the lease's end ─► gone
 *
 * A worker may vanish while it logs in.  So leases of those that do are looked
 * at every LEASE_USER_CHECK_MS; one that is lost hands its login to the next.
 *
 * Thread: home's.
 */
#ifndef SCRIPT_ITEMS_LEASE_USER_H
#define SCRIPT_ITEMS_LEASE_USER_H

#include "base/bytes.h"

#define LEASE_USER_CHECK_MS 1000

struct lease_users;
struct session_user;
struct task_runner;

struct lease_users *lease_users_new(struct task_runner *);
/* No request is under way; a login that is goes to nobody. */
void lease_users_free(struct lease_users **);
/* The user that has this lease of that item; NULL: no configuration is in
 * force.  lease_user_leave() follows when the request is answered. */
struct session_user *lease_user_enter(struct lease_users *, struct str lease,
    struct str item);
void lease_user_leave(struct lease_users *, struct session_user *);
/* Its run has ended, or its worker is gone: a login that it has not finished
 * goes to the next. */
void lease_users_end(struct lease_users *, struct str lease);
/* The daemon ends: the requests that wait are refused, and logins given up. */
void lease_users_stop(struct lease_users *);

#endif
