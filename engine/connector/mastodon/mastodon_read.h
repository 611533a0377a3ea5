/*
 * mastodon_read -- what all connectors of Mastodon read: addresses, ids, names,
 * pages of posts, refusals.
 *
 * Thread: any; pure.
 */
#ifndef ENGINE_CONNECTOR_MASTODON_MASTODON_READ_H
#define ENGINE_CONNECTOR_MASTODON_MASTODON_READ_H

#include "base/arena.h"
#include "engine/connector/connector.h"

/* In messages about an address. */
#define MASTODON_EXAMPLE "https://mastodon.example"
#define MASTODON_LABEL "mastodon posts"
#define MASTODON_ID_BYTES_MAX 64u
/* Answers in a row that make no sense, until a run fails. */
#define MASTODON_TRIES_MAX 5u

/* Statuses that are answers. */
extern const int mastodon_statuses[];
/* Keys of the credential: the address, and a token that is needed or not. */
extern const struct connector_key mastodon_credential[];
extern const struct connector_key mastodon_stream_credential[];

/* Whether it can be an id: letters, digits, "-", "_". */
bool mastodon_id_is_valid(struct str);
/* -1, 0, 1: a server's ids grow with time, by length and then by bytes. */
int mastodon_id_order(struct str, struct str);
/* The seed's name of an account without "@" in front, or its tag without "#";
 * empty: there is none. */
struct str mastodon_seed_name(const struct connector_seed *);

/* 404 or 410; 401, 403 or 422. */
bool mastodon_is_missing(const struct connector_answer *);
bool mastodon_is_refusal(const struct connector_answer *);
/* A refusal as a sentence. */
void mastodon_put_refusal(struct buf *, struct str base, bool has_token,
    const struct connector_answer *);
/* Which posts an instance does not show in those feeds, "hashtag_feeds", by
 * what it says of itself. */
void mastodon_read_access(yyjson_val *instance, const char *feeds,
    bool has_token, bool *local_closed, bool *remote_closed);

/* An object's id, also where it is a number; STR_NONE: it is none.  Memory:
 * `a`. */
struct str mastodon_id_of(yyjson_val *, struct arena *a);

struct mastodon_page {
	yyjson_val **posts;          /* the oldest first */
	size_t n, with_id;
	struct str newest;           /* the greatest id */
};
/* A list of posts; what is none of them is left among them.  Memory: `a`. */
void mastodon_read_page(yyjson_val *list, struct arena *a,
    struct mastodon_page *);
/* The min_id of the page behind this one; STR_NONE: it has not said so. */
struct str mastodon_next_min_id(const struct connector_answer *,
    const struct mastodon_page *, struct arena *a);
/* Those of a post's media and card, and of the post that it boosts. */
void mastodon_find_urls(yyjson_val *post, const struct connector_findings *);

#endif
