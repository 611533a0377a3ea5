/* Accounts and posts of the simulated Mastodon instances. */
#include "tests/platforms/mastodon.h"

#define DAYS_MAX 400
#define DAY_US (24 * 60 * 60 * US_PER_S)

const char *const tag_names[TAGS_N] = { "cats", "owls", "k\xc3\xa4tzchen" };

static struct instance instances[] = {
	{ .host = "mastodon.example" },
	{ .host = "old.example", .is_old = true },
	{ .host = "private.example", .is_private = true },
	{ .host = "members.example", .local = ACCESS_AUTHENTICATED,
	    .remote = ACCESS_AUTHENTICATED },
	{ .host = "closed.example", .local = ACCESS_DISABLED,
	    .remote = ACCESS_DISABLED },
	{ .host = "half.example", .remote = ACCESS_DISABLED },
};

/* The same on every instance.  `of_100`: its share of the longest list. */
static const struct {
	const char *name, *display;
	unsigned of_100, least;
	uint64_t id;                 /* 0: as long as those of posts */
	bool remote, suspended;
} people[] = {
	{ "ada", "Ada", 100, 1, 0, false, false },
	{ "bob", "Bob \xf0\x9f\xa6\x89 \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", 2, 7,
	    14, false, false },
	{ "cleo", "Cleo \"the cat\" <b>", 20, 45, 0, false, false },
	{ "dora", "Dora", 2, 5, 0, false, true },
	{ "eve", "", 0, 0, 0, false, false },
	{ "fay", "Fay", 10, 41, 0, true, false },
};

static char user_token[40], app_token[40];
static bool expired;

/* ---- Making ------------------------------------------------------------ */

/* Ids have 48 bits of milliseconds, and 16 that nobody can guess. */
static uint64_t
make_id(struct instance *x, struct wall when)
{
	return (uint64_t)(when.us / 1000) << 16 |
	    (random_next(&x->random) & 0xffff);
}

static void
make_accounts(struct instance *x, struct wall now)
{
	struct wall long_ago = { now.us - 2 * DAYS_MAX * DAY_US };

	x->accounts_n = ARRAY_LEN(people);
	x->accounts = mem_array(x->accounts_n, sizeof(*x->accounts));
	for (size_t i = 0; i < x->accounts_n; i++) {
		struct account *a = &x->accounts[i];
		snprintf(a->name, sizeof(a->name), "%s", people[i].name);
		a->display = people[i].display;
		a->id = people[i].id != 0 ? people[i].id : make_id(x, long_ago);
		a->remote = people[i].remote;
		a->suspended = people[i].suspended;
	}
}

/* A post that may be answered or boosted by a later one. */
static const struct post *
any_post(struct instance *x, size_t before)
{
	const struct post *p = before == 0 ? NULL :
	    &x->posts[random_next(&x->random) % before];

	return p == NULL || p->deleted || p->unlisted || p->boost_of != 0 ?
	    NULL : p;
}

/* Everything of the i-th post that depends on those before it. */
static void
make_post(struct instance *x, size_t i)
{
	uint64_t *random = &x->random;
	struct post *p = &x->posts[i];
	const struct post *other = any_post(x, i);

	p->look = random_next(random);
	p->unlisted = random_chance(random, 15);
	p->deleted = random_chance(random, 3);
	x->accounts[p->account].posts_n += !p->deleted;
	for (unsigned t = 0; t < TAGS_N; t++)
		if (random_chance(random, t == 0 ? 35 : 15))
			p->tags |= 1u << t;
	if (random_chance(random, 25))
		p->media = 1 + (unsigned)(random_next(random) % 4);
	p->card = random_chance(random, 15);
	if (random_chance(random, 5))
		p->edited.us = p->when.us + 60 * US_PER_S;
	if (other != NULL && random_chance(random, 12)) {
		p->boost_of = other->id;
		p->tags = p->media = 0;
		p->card = false;
	} else if (other != NULL && random_chance(random, 25)) {
		p->reply_to = other->id;
		p->reply_to_own = other->account == p->account;
	}
}

static int
order_of_posts(const void *a, const void *b)
{
	uint64_t x = ((const struct post *)a)->id;
	uint64_t y = ((const struct post *)b)->id;

	return (x > y) - (x < y);
}

static void
put_post(struct instance *x, unsigned account, struct wall when)
{
	x->posts = mem_room(x->posts, x->posts_n, &x->posts_cap, 1024,
	    sizeof(*x->posts));
	x->posts[x->posts_n++] = (struct post){ .id = make_id(x, when),
		.when = when, .account = account };
}

static void
make_posts(struct instance *x, struct wall now, unsigned items)
{
	for (unsigned a = 0; a < ARRAY_LEN(people); a++) {
		unsigned n = MAX(people[a].least, items / 100 *
		    people[a].of_100 + items % 100 * people[a].of_100 / 100);
		for (unsigned i = 0; i < n; i++)
			put_post(x, a, (struct wall){ now.us - (int64_t)
			    (random_next(&x->random) % (DAYS_MAX * DAY_US)) });
	}
	qsort(x->posts, x->posts_n, sizeof(*x->posts), order_of_posts);
	for (size_t i = 0; i < x->posts_n; i++) {
		/* Two of the same millisecond may have been given one id. */
		if (i > 0 && x->posts[i].id <= x->posts[i - 1].id)
			x->posts[i].id = x->posts[i - 1].id + 1;
		make_post(x, i);
	}
}

void
world_make(uint64_t seed, struct wall now, unsigned items)
{
	uint64_t random = seed;

	for (size_t i = 0; i < ARRAY_LEN(instances); i++) {
		instances[i].random = random_next(&random);
		make_accounts(&instances[i], now);
		make_posts(&instances[i], now, items);
	}
	snprintf(user_token, sizeof(user_token), "user-%016llx",
	    (unsigned long long)random_next(&random));
	snprintf(app_token, sizeof(app_token), "app-%016llx",
	    (unsigned long long)random_next(&random));
}

/* ---- Finding ----------------------------------------------------------- */

struct instance *
world_instance(struct str host)
{
	for (size_t i = 0; i < ARRAY_LEN(instances); i++)
		if (str_eq(host, str_of(instances[i].host)))
			return &instances[i];
	return NULL;
}

const char *
world_token(bool user)
{
	return user ? user_token : app_token;
}

void
world_expire_tokens(void)
{
	expired = true;
}

bool
world_tokens_expired(void)
{
	return expired;
}

struct account *
world_account(struct instance *x, struct str name)
{
	(void)str_take_char(&name, '@');
	size_t at = str_find_char(name, '@');
	struct str host = str_from(name, at + 1);
	bool remote = str_eq_nocase(host, STR(REMOTE_HOST));

	if (host.n > 0 && !remote && !str_eq_nocase(host, str_of(x->host)))
		return NULL;
	for (size_t i = 0; i < x->accounts_n; i++)
		if (x->accounts[i].remote == remote && str_eq_nocase(
		    str_of(x->accounts[i].name), str_cut(name, 0, at)))
			return &x->accounts[i];
	return NULL;
}

struct account *
world_account_by_id(struct instance *x, uint64_t id)
{
	for (size_t i = 0; i < x->accounts_n; i++)
		if (x->accounts[i].id == id)
			return &x->accounts[i];
	return NULL;
}

struct post *
world_post(struct instance *x, uint64_t id)
{
	const struct post wanted = { .id = id };

	return bsearch(&wanted, x->posts, x->posts_n, sizeof(*x->posts),
	    order_of_posts);
}

unsigned
world_tag(struct str name)
{
	for (unsigned t = 0; t < TAGS_N; t++)
		if (str_eq_nocase(name, str_of(tag_names[t])))
			return 1u << t;
	return 0;
}

/* ---- Changing ---------------------------------------------------------- */

static void
note_change(struct instance *x, int what, const struct post *p)
{
	x->changes = mem_room(x->changes, x->changes_n, &x->changes_cap, 64,
	    sizeof(*x->changes));
	x->changes[x->changes_n].what = what;
	x->changes[x->changes_n++].post = (size_t)(p - x->posts);
}

void
world_add_post(struct instance *x, unsigned account, struct wall when)
{
	uint64_t last = x->posts_n == 0 ? 0 : x->posts[x->posts_n - 1].id;

	put_post(x, account, when);
	struct post *p = &x->posts[x->posts_n - 1];
	p->id = MAX(p->id, last + 1);
	make_post(x, x->posts_n - 1);
	if (p->deleted)
		x->accounts[account].posts_n++;
	p->deleted = false;
	note_change(x, CHANGE_NEW, p);
}

void
world_delete_post(struct instance *x, struct post *p)
{
	x->accounts[p->account].posts_n -= !p->deleted;
	p->deleted = true;
	note_change(x, CHANGE_DELETED, p);
}

void
world_edit_post(struct instance *x, struct post *p, struct wall when)
{
	p->edited = when;
	note_change(x, CHANGE_EDITED, p);
}

bool
world_rename(struct instance *x, struct str from, struct str to)
{
	struct account *a = world_account(x, from);

	if (a == NULL || to.n >= sizeof(a->name))
		return false;
	snprintf(a->name, sizeof(a->name), "%.*s", STR_FMT(to));
	return true;
}
