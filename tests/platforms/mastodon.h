/*
 * mastodon -- the world of the simulated Mastodon instances, and its JSON.
 *
 * Each instance has the same accounts and posts of its own.  Posts stand by
 * their ids, which grow with time; new ones come at the end, and those that are
 * deleted stay as marks.
 */
#ifndef TESTS_PLATFORMS_MASTODON_H
#define TESTS_PLATFORMS_MASTODON_H

#include "tests/platforms/platforms.h"

#define TAGS_N 3
#define REMOTE_HOST "elsewhere.example"

struct account {
	char name[64];               /* "ada", of its own instance */
	const char *display;
	uint64_t id;
	bool remote, suspended;
	unsigned posts_n;            /* that are not deleted */
};

struct post {
	uint64_t id;
	struct wall when;
	unsigned account;
	unsigned tags;               /* a bit for each of tag_names */
	uint64_t reply_to;           /* a post's id; 0: it is no reply */
	bool reply_to_own;
	uint64_t boost_of;           /* a post's id; 0: it is none */
	unsigned media;
	bool card, unlisted, deleted;
	struct wall edited;          /* us 0: never */
	uint64_t look;               /* what its text is made of */
};

/* Something that streams tell. */
struct change {
	enum { CHANGE_NEW, CHANGE_EDITED, CHANGE_DELETED } what;
	size_t post;                 /* its place among the posts */
};

enum access { ACCESS_PUBLIC, ACCESS_AUTHENTICATED, ACCESS_DISABLED };

struct instance {
	const char *host;
	bool is_old;                 /* without /api/v2/instance */
	bool is_private;             /* every call wants a token */
	enum access local, remote;   /* to timelines of hashtags */
	struct account *accounts;
	size_t accounts_n;
	struct post *posts;
	size_t posts_n, posts_cap;
	struct change *changes;      /* since the world was made */
	size_t changes_n, changes_cap;
	uint64_t random;
};

extern const char *const tag_names[TAGS_N];

void world_make(uint64_t seed, struct wall now, unsigned items);
struct instance *world_instance(struct str host);
/* Tokens that are good, of a user and of an application; and no longer. */
const char *world_token(bool user);
void world_expire_tokens(void);
bool world_tokens_expired(void);

/* By the name that it has now, in any case; "NAME@HOST" too.  NULL: none. */
struct account *world_account(struct instance *, struct str name);
struct account *world_account_by_id(struct instance *, uint64_t id);
struct post *world_post(struct instance *, uint64_t id);
/* The bit of a tag, in any case; 0: no post has it. */
unsigned world_tag(struct str name);
/* One more post of that account, at this time. */
void world_add_post(struct instance *, unsigned account, struct wall when);
void world_delete_post(struct instance *, struct post *);
void world_edit_post(struct instance *, struct post *, struct wall when);
bool world_rename(struct instance *, struct str from, struct str to);

void write_account(struct buf *, const char *name, const struct instance *,
    const struct account *);
/* `big`: bytes that are added to its text. */
void write_post(struct buf *, const struct instance *, const struct post *,
    uint64_t big);
void write_instance(struct buf *, const struct instance *, int version);

#endif
