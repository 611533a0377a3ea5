/*
 * twitter1 -- what calls of API v1.1 have in common: their credential, and what
 * is read of answers.
 *
 * Thread: any; pure.
 */
#ifndef ENGINE_CONNECTOR_TWITTER_TWITTER1_H
#define ENGINE_CONNECTOR_TWITTER_TWITTER1_H

#include "engine/connector/connector.h"

extern const struct connector_key twitter1_credential[];
extern const char *const twitter1_hosts[];

/* Fill in that the call is signed, by a user's token. */
void twitter1_authorise(struct connector_call *);
/* The code of an answer's first error; 0: there is none. */
uint64_t twitter1_error(const struct connector_answer *);
/* Whether it is the credential that an answer of status 400, 401 or 403
 * refuses, not an account or a query. */
bool twitter1_refuses_credential(const struct connector_answer *);
/* ": 401, Could not authenticate you." */
void twitter1_put_failure(struct buf *, const struct connector_answer *);

#endif
