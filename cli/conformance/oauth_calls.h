/*
 * oauth_calls -- OAuth calls of a crawler, which oauth.c and oauth_login.c
 * judge.
 *
 * Thread: the loop's.  Memory: the conformance's.
 * Source: external.md §8.
 */
#ifndef CLI_CONFORMANCE_OAUTH_CALLS_H
#define CLI_CONFORMANCE_OAUTH_CALLS_H

#include "cli/conformance/own.h"

/* A login of a user, and what has come of it. */
struct oauth_login {
	struct str uuid;
	struct peer_answer answer;   /* of /login */
	struct str cookies, state;
	struct url provider;         /* where it leads */
	bool fine;                   /* 302 to a URL */
};

/* "https://HOST/external/NAME/oauth" */
struct str oauth_base(struct conformance *);
/* "uuid=...&subdomain=..." */
struct str oauth_user_query(struct conformance *, struct str uuid);
/* A ticket for `act`; empty without the key. */
struct str oauth_make_ticket(struct conformance *, struct str uuid,
    const char *act);
/* A call with `query`, and with the ticket unless that is empty. */
struct peer_answer oauth_call(struct conformance *, const char *method,
    const char *path, struct str query, struct str ticket,
    struct str cookies);
/* GET or DELETE /token. */
struct peer_answer oauth_token_call(struct conformance *, const char *method,
    struct str uuid);
/* GET /login; `more` is put behind its query. */
struct oauth_login oauth_login_begin(struct conformance *, struct str uuid,
    const char *more);
/* GET /callback with `what`, such as "code=x". */
struct peer_answer oauth_come_back(struct conformance *, const char *what,
    struct str state, struct str cookies);
/* The parameter of a query with its "?", decoded; empty: it has none. */
struct str oauth_query_value(struct conformance *, struct str query,
    struct str name);

/* The page has the script that closes its window. */
bool oauth_closes(const struct peer_answer *);
/* Judge a check by a refusal with 4xx that does not close the window. */
void oauth_judge_refusal(struct conformance *, enum check_id,
    const struct peer_answer *);

/* oauth_login.c: logins that end, where the provider asks nothing. */
void judge_signed_in(struct conformance *);

#endif
