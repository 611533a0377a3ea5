/*
 * twitter2 -- what calls of API v2 have in common: their credential, their
 * fields, and what is read of answers.
 *
 * Thread: any; pure.
 */
#ifndef ENGINE_CONNECTOR_TWITTER_TWITTER2_H
#define ENGINE_CONNECTOR_TWITTER_TWITTER2_H

#include "engine/connector/connector.h"

extern const int twitter2_statuses[];
extern const struct connector_key twitter2_credential[];
extern const char *const twitter2_hosts[];
#define TWITTER2_HOST_PARAM                                                  \
	{ "host", CONNECTOR_CHOICE, false, 0, 0,                             \
	    "api.twitter.com api.x.com",                                     \
	    "Ask this host; SFM reads answers of api.twitter.com only" }

/* "https://api.twitter.com", by the option `host`. */
const char *twitter2_base(const struct connector_order *);
/* Fill in how the call is authorised: by the bearer token, else by a token of
 * the application, or `signed` by a user's. */
void twitter2_authorise(const struct connector_order *, bool is_signed,
    struct connector_call *);
/* Whether the answer refuses a token of the application, and there is a user's
 * in its place. */
bool twitter2_may_sign(const struct connector_order *, bool is_signed,
    const struct connector_answer *);
/* Append expansions and fields, which every call for tweets has. */
void twitter2_put_fields(struct buf *url);

/* The code of a failure, "harvest_Client_Forbidden"; `out` is of 96 bytes. */
void twitter2_failure_code(const struct connector_answer *, char *out);
/* ": 403, Client Forbidden, the detail" */
void twitter2_put_failure(struct buf *, const struct connector_answer *);
/* 429, and it is not because of a quota that is used up for the month. */
bool twitter2_must_wait(const struct connector_answer *);
/* Whether one of an answer's errors is about that parameter. */
bool twitter2_blames(const struct connector_answer *, const char *parameter);

#endif
