/* Accounts and tweets of simulated Twitter. */
#include "tests/platforms/twitter.h"

#define DAYS_MAX 400
#define RECENT_DAYS 6
#define DAY_US (24 * 60 * 60 * US_PER_S)
#define EPOCH_MS INT64_C(1288834974657)      /* of ids */

const char *const twitter_words[WORDS_N] = { "cats", "owls",
	"k\xc3\xa4tzchen" };

struct twitter_world twitter_world;

/* `of_100`: its share of the longest list. */
static const struct {
	const char *name, *display;
	unsigned of_100, least;
	uint64_t id;                 /* 0: as long as those of tweets */
	bool is_protected, suspended;
} people[] = {
	{ "ada", "Ada", 100, 1, 0, false, false },
	{ "bob", "Bob \xf0\x9f\xa6\x89 \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", 2, 7,
	    14, false, false },
	{ "cleo", "Cleo \"the cat\" <b>", 20, 45, 0, false, false },
	{ "dora", "Dora", 2, 5, 0, false, true },
	{ "eve", "Eve", 0, 0, 0, false, false },
	{ "fay", "Fay", 2, 5, 0, true, false },
};

/* ---- Making ------------------------------------------------------------ */

uint64_t
twitter_id_at(struct wall when)
{
	int64_t ms = when.us / 1000 - EPOCH_MS;

	return ms < 0 ? 0 : (uint64_t)ms << 22;
}

static uint64_t
make_id(struct wall when)
{
	return twitter_id_at(when) |
	    (random_next(&twitter_world.random) & 0x3fffff);
}

static void
make_accounts(struct wall now)
{
	struct twitter_world *x = &twitter_world;
	struct wall long_ago = { now.us - 2 * DAYS_MAX * DAY_US };

	x->accounts_n = ARRAY_LEN(people);
	x->accounts = mem_array(x->accounts_n, sizeof(*x->accounts));
	for (size_t i = 0; i < x->accounts_n; i++) {
		struct twitter_account *a = &x->accounts[i];
		snprintf(a->name, sizeof(a->name), "%s", people[i].name);
		a->display = people[i].display;
		a->id = people[i].id != 0 ? people[i].id : make_id(long_ago);
		a->is_protected = people[i].is_protected;
		a->suspended = people[i].suspended;
	}
}

/* A tweet that a later one may refer to, also if it is deleted by now. */
static const struct tweet *
any_tweet(size_t before)
{
	const struct tweet *t = before == 0 ? NULL : &twitter_world.tweets[
	    random_next(&twitter_world.random) % before];

	return t == NULL || t->retweet_of != 0 ||
	    twitter_author(t)->suspended || twitter_author(t)->is_protected ?
	    NULL : t;
}

/* Everything of the i-th tweet that depends on those before it. */
static void
make_tweet(size_t i)
{
	uint64_t *random = &twitter_world.random;
	struct tweet *t = &twitter_world.tweets[i];
	const struct tweet *other = any_tweet(i);

	t->look = random_next(random);
	t->deleted = random_chance(random, 3);
	twitter_world.accounts[t->account].tweets_n += !t->deleted;
	for (unsigned w = 0; w < WORDS_N; w++)
		if (random_chance(random, w == 0 ? 35 : 15))
			t->words |= 1u << w;
	t->link = random_chance(random, 15);
	t->place = random_chance(random, 10);
	t->poll = random_chance(random, 4);
	if (random_chance(random, 25))
		t->media = 1 + (unsigned)(random_next(random) % 4);
	if (t->media == 1)
		t->video = random_chance(random, 50);
	if (other == NULL)
		return;
	if (!other->deleted && random_chance(random, 12)) {
		t->retweet_of = other->id;
		t->words = other->words;
		t->media = 0;
		t->video = t->link = t->poll = t->place = false;
	} else if (random_chance(random, 25)) {
		t->reply_to = other->id;
	} else if (random_chance(random, 10)) {
		t->quote_of = other->id;
	}
}

static int
order_of_tweets(const void *a, const void *b)
{
	uint64_t x = ((const struct tweet *)a)->id;
	uint64_t y = ((const struct tweet *)b)->id;

	return (x > y) - (x < y);
}

static void
put_tweet(unsigned account, struct wall when)
{
	struct twitter_world *x = &twitter_world;

	x->tweets = mem_room(x->tweets, x->tweets_n, &x->tweets_cap, 1024,
	    sizeof(*x->tweets));
	x->tweets[x->tweets_n++] = (struct tweet){ .id = make_id(when),
		.when = when, .account = account };
}

/* Half of all are recent. */
static struct wall
any_date(struct wall now)
{
	uint64_t *random = &twitter_world.random;
	int64_t days = random_chance(random, 50) ? RECENT_DAYS : DAYS_MAX;

	return (struct wall){ now.us - 60 * US_PER_S - (int64_t)
	    (random_next(random) % (uint64_t)(days * DAY_US)) };
}

void
twitter_world_make(uint64_t seed, struct wall now, unsigned items)
{
	struct twitter_world *x = &twitter_world;

	x->random = seed ^ UINT64_C(0x7477697474657221);
	x->rules_max = TWITTER_RULES_MAX;
	x->reads_left = UINT64_MAX;
	twitter_auth_make(&x->random);
	make_accounts(now);
	for (unsigned a = 0; a < ARRAY_LEN(people); a++) {
		unsigned n = MAX(people[a].least, items / 100 *
		    people[a].of_100 + items % 100 * people[a].of_100 / 100);
		for (unsigned i = 0; i < n; i++)
			put_tweet(a, any_date(now));
	}
	qsort(x->tweets, x->tweets_n, sizeof(*x->tweets), order_of_tweets);
	for (size_t i = 0; i < x->tweets_n; i++) {
		/* Two of the same millisecond may have been given one id. */
		if (i > 0 && x->tweets[i].id <= x->tweets[i - 1].id)
			x->tweets[i].id = x->tweets[i - 1].id + 1;
		make_tweet(i);
	}
}

/* ---- Finding ----------------------------------------------------------- */

struct twitter_account *
twitter_account_find(struct str name)
{
	struct twitter_world *x = &twitter_world;

	for (size_t i = 0; i < x->accounts_n; i++)
		if (str_eq_nocase(name, str_of(x->accounts[i].name)))
			return &x->accounts[i];
	return NULL;
}

struct twitter_account *
twitter_account_by_id(uint64_t id)
{
	struct twitter_world *x = &twitter_world;

	for (size_t i = 0; i < x->accounts_n; i++)
		if (x->accounts[i].id == id)
			return &x->accounts[i];
	return NULL;
}

struct tweet *
twitter_tweet(uint64_t id)
{
	const struct tweet wanted = { .id = id };

	return twitter_world.tweets_n == 0 ? NULL : bsearch(&wanted,
	    twitter_world.tweets, twitter_world.tweets_n, sizeof(wanted),
	    order_of_tweets);
}

const struct twitter_account *
twitter_author(const struct tweet *t)
{
	return &twitter_world.accounts[t->account];
}

bool
twitter_is_hidden(const struct tweet *t)
{
	const struct twitter_account *a = twitter_author(t);

	return t->deleted || a->suspended || a->is_protected;
}

/* ---- Changing ---------------------------------------------------------- */

static void
note_change(const struct tweet *t, bool deleted)
{
	struct twitter_world *x = &twitter_world;

	x->changes = mem_room(x->changes, x->changes_n, &x->changes_cap, 64,
	    sizeof(*x->changes));
	x->changes[x->changes_n++] = (struct tweet_change){
		.tweet = (size_t)(t - x->tweets), .deleted = deleted };
}

void
twitter_add_tweet(unsigned account, struct wall when)
{
	struct twitter_world *x = &twitter_world;
	uint64_t last = x->tweets_n == 0 ? 0 : x->tweets[x->tweets_n - 1].id;

	put_tweet(account, when);
	struct tweet *t = &x->tweets[x->tweets_n - 1];
	t->id = MAX(t->id, last + 1);
	make_tweet(x->tweets_n - 1);
	x->accounts[account].tweets_n += t->deleted;
	t->deleted = false;
	note_change(t, false);
}

void
twitter_delete_tweet(struct tweet *t)
{
	twitter_world.accounts[t->account].tweets_n -= !t->deleted;
	t->deleted = true;
	note_change(t, true);
}

bool
twitter_rename(struct str from, struct str to)
{
	struct twitter_account *a = twitter_account_find(from);

	if (a == NULL || to.n >= sizeof(a->name))
		return false;
	snprintf(a->name, sizeof(a->name), "%.*s", STR_FMT(to));
	return true;
}
