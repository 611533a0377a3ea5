/*
 * twitter -- the world of simulated Twitter, its JSON of both APIs, and who may
 * ask.
 *
 * There is one world behind all hosts.  Tweets are sorted by their ids, which
 * grow with time; new ones come at the end, and those that are deleted stay as
 * marks.
 */
#ifndef TESTS_PLATFORMS_TWITTER_H
#define TESTS_PLATFORMS_TWITTER_H

#include "tests/platforms/platforms.h"

#define WORDS_N 3
#define TWITTER_PERIOD_S 900

struct twitter_account {
	char name[64];               /* "ada" */
	const char *display;
	uint64_t id;
	bool is_protected, suspended;
	unsigned tweets_n;           /* that are not deleted */
};

struct tweet {
	uint64_t id;
	struct wall when;
	unsigned account;
	unsigned words;              /* a bit for each of twitter_words */
	/* Ids of tweets; 0: none. */
	uint64_t reply_to, retweet_of, quote_of;
	unsigned media;              /* photos, or one video */
	bool video, link, poll, place, deleted;
	uint64_t look;               /* what its text is made of */
};

/* Something that streams tell: a tweet that is new, or was deleted. */
struct tweet_change {
	size_t tweet;                /* its place among the tweets */
	bool deleted;
};

/* What the streams of v2 are filtered by. */
struct twitter_rule {
	uint64_t id;
	char value[520], tag[520];
};
#define TWITTER_RULES_MAX 25

struct twitter_world {
	struct twitter_account *accounts;
	size_t accounts_n;
	struct tweet *tweets;
	size_t tweets_n, tweets_cap;
	struct tweet_change *changes;        /* since the world was made */
	size_t changes_n, changes_cap;
	struct twitter_rule rules[TWITTER_RULES_MAX];
	size_t rules_n, rules_max;
	uint64_t rule_id;            /* of the last one that was added */
	uint64_t reads_left;         /* tweets that v2 gives this month */
	uint64_t random;
};
extern struct twitter_world twitter_world;
extern const char *const twitter_words[WORDS_N];

/* ---- World (twitter_world.c) ------------------------------------------- */

void twitter_world_make(uint64_t seed, struct wall now, unsigned items);
/* By its name of today, in any case; NULL: none. */
struct twitter_account *twitter_account_find(struct str name);
struct twitter_account *twitter_account_by_id(uint64_t id);
struct tweet *twitter_tweet(uint64_t id);
const struct twitter_account *twitter_author(const struct tweet *);
/* Nobody may see it. */
bool twitter_is_hidden(const struct tweet *);
/* The id that a tweet of that date has at least. */
uint64_t twitter_id_at(struct wall);
void twitter_add_tweet(unsigned account, struct wall when);
void twitter_delete_tweet(struct tweet *);
bool twitter_rename(struct str from, struct str to);

/* ---- Lists (twitter_list.c) -------------------------------------------- */

/* Which tweets a list has. */
struct tweet_list {
	const struct twitter_account *account;   /* NULL: a search */
	struct str query;            /* of that; words, "from:NAME",
	                              * "point_radius:[...]" and OR */
	uint64_t after, before;      /* ids, both exclusive; 0: any */
	size_t limit;                /* of a page */
};
bool twitter_is_match(struct str query, const struct tweet *);
bool twitter_is_listed(const struct tweet_list *, const struct tweet *);

/* A page, the newest first. */
#define TWEETS_MAX 500
struct tweet_page {
	const struct tweet *tweets[TWEETS_MAX];
	size_t n;
	/* The id that `before` is on the next page; 0: there is none. */
	uint64_t next;
	bool loops;                  /* the next page is to be this one */
};
/* With what the request's fault does to it. */
void twitter_find_page(struct request *, const struct tweet_list *,
    bool by_cursor, struct tweet_page *);

/* ---- Who asks (twitter_auth.c) ----------------------------------------- */

enum twitter_auth { AUTH_NONE, AUTH_WRONG, AUTH_APP, AUTH_USER };

void twitter_auth_make(uint64_t *random);
void twitter_expire(void);
/* Also sets the request's `who`. */
enum twitter_auth twitter_auth_of(struct request *);
/* POST /oauth2/token. */
void twitter_answer_token(struct request *);
void twitter_describe_keys(struct buf *);

/* ---- JSON -------------------------------------------------------------- */

/* Text of a tweet, and `big` bytes more (twitter_text.c). */
void twitter_put_text(struct buf *, const struct tweet *, uint64_t big);
/* "2026-11-20T09:18:16.000Z" and "Fri Nov 20 09:18:16 +0000 2026" */
void twitter_put_iso(struct buf *, const char *name, struct wall);
void twitter_put_date(struct buf *, const char *name, struct wall);
void twitter_put_id(struct buf *, const char *name, uint64_t id);
PRINTF_LIKE(3, 4) void twitter_put(struct buf *, const char *name,
    const char *fmt, ...);

/* Budgets, and what the plan does to every call (twitter.c). */
bool twitter_may_call(struct request *, const char *family, uint64_t limit);
/* False: the application, or the user, has a stream already. */
bool twitter_begin_stream(struct request *);

/* Calls of the two APIs; what they do not know stays of status 0. */
void twitter1_answer(struct request *, enum twitter_auth);
void twitter1_fail(struct request *, int status, unsigned code,
    const char *message);
void twitter1_answer_stream(struct request *, bool is_filter);
void twitter1_write_user(struct buf *, const char *name,
    const struct twitter_account *);
void twitter1_write_tweet(struct buf *, const struct tweet *, bool extended,
    uint64_t big);
void twitter2_answer(struct request *, enum twitter_auth);
void twitter2_fail(struct request *, int status, const char *title,
    const char *detail);
void twitter2_answer_rules(struct request *, enum twitter_auth);
void twitter2_answer_stream(struct request *, enum twitter_auth);
/* JSON of v2, with the fields that the request names (twitter2_json.c); they
 * are read first, and once. */
void twitter2_read_lists(struct request *);
void twitter2_write_user(struct request *, const char *name,
    const struct twitter_account *);
void twitter2_write_page(struct request *, const struct tweet_page *,
    struct str next_token);
/* `data` and `includes` of a stream's line. */
void twitter2_write_line(struct request *, const struct tweet *);

#endif
