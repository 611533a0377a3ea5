/*
 * login_ticket -- whether a call of a front end may be served: the back end
 * whose user it names, the launch ticket, and the page from which it came.
 *
 * Thread: any; pure.
 * Source: contracts/external.md §8.
 */
#ifndef DOORS_EXTERNAL_LOGIN_TICKET_H
#define DOORS_EXTERNAL_LOGIN_TICKET_H

#include "engine/backends/backends.h"
#include "engine/store/store_grant.h"
#include "wire/jwt.h"

/* The back end that has the subdomain; NULL: none. */
const struct backend *login_backend_of(const struct backends *,
    struct str subdomain);
/* A uuid or a subdomain as a call may name it: 1 to STORE_USER_BYTES_MAX bytes
 * of UTF-8 without control characters. */
bool login_name_is_valid(struct str);

/*
 * Judge the ticket of a call of `user` for `act` at `now`.  It must be signed
 * by the user's own back end, `b`.  That its id was not used yet is not judged
 * here.
 * Memory: `a`.  Errors: DENIED, as jwt_verify().
 */
MUST_USE enum err login_ticket_judge(const struct backend *b, struct str ticket,
    const struct store_user *user, enum jwt_act act, struct wall now,
    struct arena *a, struct jwt_claims *out, struct why *);

/* The origins of its front end, with commas between them.  Memory: `a`. */
struct str login_origins(const struct backend *, struct arena *a);
/* Whether the value of a Referer field is a page of one of these origins. */
bool login_referer_is_known(const struct backend *, struct str referer);

#endif
