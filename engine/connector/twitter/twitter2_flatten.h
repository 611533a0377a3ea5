/*
 * twitter2_flatten -- a tweet of API v2 with all that it refers to: what the
 * answer has once, under `includes`, is put into each tweet, as twarc's
 * flatten() does it, key by key in the same order.
 *
 *     author_id 5                      ─► author {id 5 ...}
 *     attachments {media_keys [k]}     ─► media [{media_key k ...}]
 *     referenced_tweets [{type, id 7}] ─► [{type, id 7, text ...}]
 *
 * What is not included is an empty object there.
 *
 * Thread: one.  Limits: a tweet grows to about TWITTER2_TWEET_BYTES_MAX, all
 * of a page to TWITTER2_PAGE_BYTES_MAX, texts included; beyond, what is
 * included counts as not included.
 */
#ifndef ENGINE_CONNECTOR_TWITTER_TWITTER2_FLATTEN_H
#define ENGINE_CONNECTOR_TWITTER_TWITTER2_FLATTEN_H

#include <yyjson.h>

#include "base/arena.h"

#define TWITTER2_TWEET_BYTES_MAX ((size_t)4 << 20)
#define TWITTER2_PAGE_BYTES_MAX ((size_t)256 << 20)

struct twitter2_page;
/* `response` has `data`, and perhaps `includes`.  Memory: the arena. */
struct twitter2_page *twitter2_page_new(yyjson_val *response, struct arena *);
void twitter2_page_free(struct twitter2_page **);
/*
 * The flattened tweet of one of `data`.  Memory: the page's, until the next
 * call; its texts are those of the response.
 */
yyjson_val *twitter2_flatten(struct twitter2_page *, yyjson_val *tweet);

#endif
