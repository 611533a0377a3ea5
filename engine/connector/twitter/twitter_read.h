/*
 * twitter_read -- what all connectors of Twitter read and write: ids, names,
 * seeds, errors.
 *
 * Thread: any; pure.
 */
#ifndef ENGINE_CONNECTOR_TWITTER_TWITTER_READ_H
#define ENGINE_CONNECTOR_TWITTER_TWITTER_READ_H

#include "engine/connector/connector.h"

#define TWITTER_LABEL "tweets"
#define TWITTER_CURSOR_BYTES_MAX 1024u

/* Names of the credential's keys. */
#define TWITTER_CONSUMER_KEY "consumer_key"
#define TWITTER_CONSUMER_SECRET "consumer_secret"
#define TWITTER_ACCESS_TOKEN "access_token"
#define TWITTER_ACCESS_TOKEN_SECRET "access_token_secret"
#define TWITTER_BEARER_TOKEN "bearer_token"

/* A tweet's id, from a text or a whole number; 0: it is none. */
uint64_t twitter_id(yyjson_val *);
/* Whether it can be an account's id: digits. */
bool twitter_is_account_id(struct str);
/* A seed's name of an account, without "@" in front; or empty. */
struct str twitter_seed_name(const struct connector_seed *);
/* A field of a seed that is an object; `otherwise` where it is a text. */
struct str twitter_seed_field(const struct connector_seed *, const char *name,
    struct str otherwise);
/* What is searched for, and where; both may be empty. */
struct str twitter_seed_query(const struct connector_seed *);
struct str twitter_seed_geocode(const struct connector_seed *);
/* The key of the state of a search: "QUERY", "GEOCODE" or "QUERY:GEOCODE", and
 * ".since_id". */
void twitter_put_search_key(struct buf *, const struct connector_seed *);

/* How long to wait after status 429, by the answer's head, seconds; without one
 * twice as long each time, after so many in a row. */
unsigned twitter_wait_s(const struct connector_answer *, unsigned waits);

/* Which URLs of a tweet are to be found; see contracts/platforms.md §10. */
enum {
	TWITTER_WEB = 1 << 0,        /* links */
	TWITTER_MEDIA = 1 << 1,      /* images */
	TWITTER_USER_IMAGES = 1 << 2
};
#define TWITTER_URL_PARAMS                                                   \
	{ "web_resources", CONNECTOR_BOOL, false, 0, 0, NULL,                \
	    "Fetch what tweets link to" },                                   \
	{ "media", CONNECTOR_BOOL, false, 0, 0, NULL,                        \
	    "Fetch images of tweets" },                                      \
	{ "user_images", CONNECTOR_BOOL, false, 0, 0, NULL,                  \
	    "Fetch images of accounts" }
/* By the options of an order. */
unsigned twitter_wanted_urls(const struct connector_order *);
/* Those of a tweet of v1.1, and of the one that it retweets or quotes. */
void twitter1_find_urls(yyjson_val *tweet, unsigned wanted,
    const struct connector_findings *);
/* Those of an answer of v2: its tweets, and what it includes. */
void twitter2_find_urls(yyjson_val *answer, unsigned wanted,
    const struct connector_findings *);

#endif
