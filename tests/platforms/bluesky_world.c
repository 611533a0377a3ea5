/* Accounts, posts and reposts of the simulated Bluesky. */
#include "tests/platforms/bluesky.h"

#define DAYS_MAX 400
#define DAY_US (24 * 60 * 60 * US_PER_S)

static struct bluesky_world world;

/* `of_100`: its share of the longest list. */
static const struct {
	const char *handle, *display;
	const char *did;             /* NULL: a random did:plc */
	unsigned of_100, least;
	enum bluesky_status status;
	bool pins;
} people[] = {
	{ "ada.example", "Ada", NULL, 100, 1, BLUESKY_FINE, false },
	{ "bob.example", "Bob \xf0\x9f\xa6\x89 "
	    "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
	    NULL, 2, 7, BLUESKY_FINE, false },
	{ "cleo.example", "Cleo \"the cat\" <b>", NULL, 20, 120, BLUESKY_FINE,
	    true },
	{ "dora.example", "Dora", NULL, 2, 5, BLUESKY_TAKEN_DOWN, false },
	{ "eve.example", "", NULL, 0, 0, BLUESKY_FINE, false },
	{ "fay.example", "Fay", "did:web:fay.example", 10, 41, BLUESKY_FINE,
	    false },
	{ "gus.example", "Gus", NULL, 2, 5, BLUESKY_DEACTIVATED, false },
	{ "hal.example", "Hal", NULL, 2, 5, BLUESKY_BLOCKED, false },
};

/* ---- Names ------------------------------------------------------------- */

static void
random_text(const char *letters, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = letters[random_next(&world.random) % 32];
	out[n] = '\0';
}

/* 53 bits of microseconds and 10 of chance, which sort as texts. */
void
bluesky_make_tid(struct wall when, char out[static 14])
{
	uint64_t tid = (uint64_t)when.us << 10 |
	    (random_next(&world.random) & 0x3ff);

	for (int i = 12; i >= 0; i--, tid >>= 5)
		out[i] = "234567abcdefghijklmnopqrstuvwxyz"[tid & 31];
	out[13] = '\0';
}

static void
make_accounts(void)
{
	world.accounts_n = ARRAY_LEN(people);
	world.accounts = mem_array(world.accounts_n, sizeof(*world.accounts));
	for (size_t i = 0; i < world.accounts_n; i++) {
		struct bluesky_account *a = &world.accounts[i];
		char key[25];
		random_text("abcdefghijklmnopqrstuvwxyz234567", 24, key);
		snprintf(a->handle, sizeof(a->handle), "%s", people[i].handle);
		snprintf(a->did, sizeof(a->did), "did:plc:%s", key);
		if (people[i].did != NULL)
			snprintf(a->did, sizeof(a->did), "%s", people[i].did);
		a->display = people[i].display;
		a->status = people[i].status;
		a->pins = people[i].pins;
	}
}

/* ---- Entries ----------------------------------------------------------- */

/* A post that may be answered, quoted or passed on by a later one. */
static size_t
any_post(size_t before)
{
	size_t i = before == 0 ? 0 : random_next(&world.random) % before;

	return before == 0 || world.entries[i].deleted ||
	    world.entries[i].repost_of != BLUESKY_NONE ? BLUESKY_NONE : i;
}

static void
make_post(struct bluesky_entry *e, size_t other)
{
	uint64_t *random = &world.random;

	if (random_chance(random, 20))
		e->images = 1 + (unsigned)(random_next(random) % 4);
	else if (random_chance(random, 15))
		e->card = true;
	else if (random_chance(random, 8))
		e->video = true;
	if (other == BLUESKY_NONE)
		return;
	if (random_chance(random, 30)) {
		e->reply_to = other;
		e->root = world.entries[other].root != BLUESKY_NONE ?
		    world.entries[other].root : other;
	} else if (random_chance(random, 15)) {
		e->quote = other;
	}
}

/* Everything of the i-th entry that depends on those before it. */
static void
make_entry(size_t i)
{
	uint64_t *random = &world.random;
	struct bluesky_entry *e = &world.entries[i];
	size_t other = any_post(i);

	e->repost_of = e->reply_to = e->root = e->quote = BLUESKY_NONE;
	e->look = random_next(random);
	e->deleted = random_chance(random, 3);
	bluesky_make_tid(e->created, e->rkey);
	memcpy(e->cid, "bafyrei", 7);
	random_text("abcdefghijklmnopqrstuvwxyz234567", 52, e->cid + 7);
	if (other != BLUESKY_NONE && random_chance(random, 12))
		e->repost_of = other;
	else
		make_post(e, other);
	world.accounts[e->account].posts_n += !e->deleted;
}

/* The server lists a post by its author's date where that is the earlier. */
static void
put_entry(unsigned account, struct wall created, struct wall indexed)
{
	world.entries = mem_room(world.entries, world.entries_n,
	    &world.entries_cap, 1024, sizeof(*world.entries));
	world.entries[world.entries_n++] = (struct bluesky_entry){
		.account = account, .created = created, .indexed = indexed,
		.listed = { MIN(created.us, indexed.us) } };
}

static int
order_of_entries(const void *a, const void *b)
{
	const struct bluesky_entry *x = a, *y = b;

	return (x->listed.us > y->listed.us) - (x->listed.us < y->listed.us);
}

static void
make_entries(struct wall now, unsigned items)
{
	for (unsigned a = 0; a < ARRAY_LEN(people); a++) {
		unsigned n = MAX(people[a].least, items / 100 *
		    people[a].of_100 + items % 100 * people[a].of_100 / 100);
		for (unsigned i = 0; i < n; i++) {
			struct wall when = { now.us - (int64_t)(random_next(
			    &world.random) % (DAYS_MAX * DAY_US)) };
			struct wall seen = { MIN(now.us, when.us + (int64_t)
			    (random_next(&world.random) % (3 * US_PER_S))) };
			/* Written elsewhere long ago, and brought here. */
			if (random_chance(&world.random, 3))
				seen.us = now.us;
			put_entry(a, when, seen);
		}
	}
	qsort(world.entries, world.entries_n, sizeof(*world.entries),
	    order_of_entries);
	for (size_t i = 0; i < world.entries_n; i++)
		make_entry(i);
}

void
bluesky_make(uint64_t seed, struct wall now, unsigned items)
{
	world.random = seed ^ 0xb1;
	make_accounts();
	make_entries(now, items);
	bluesky_make_events(now);
}

/* ---- Finding ----------------------------------------------------------- */

struct bluesky_world *
bluesky_world(void)
{
	return &world;
}

struct bluesky_account *
bluesky_account(struct str actor)
{
	for (size_t i = 0; i < world.accounts_n; i++)
		if (str_eq_nocase(actor, str_of(world.accounts[i].handle)) ||
		    str_eq(actor, str_of(world.accounts[i].did)))
			return &world.accounts[i];
	return NULL;
}

void
bluesky_put_uri(struct buf *out, const struct bluesky_entry *e)
{
	buf_printf(out, "at://%s/%s/%s", world.accounts[e->account].did,
	    e->repost_of == BLUESKY_NONE ? BLUESKY_POSTS : BLUESKY_REPOSTS,
	    e->rkey);
}

size_t
bluesky_entry(struct str uri)
{
	FREED(buf_free) struct buf own = BUF_INIT;

	for (size_t i = 0; i < world.entries_n; i++) {
		buf_clear(&own);
		bluesky_put_uri(&own, &world.entries[i]);
		if (str_eq(uri, buf_str(&own)))
			return i;
	}
	return BLUESKY_NONE;
}

const char *
bluesky_status_word(enum bluesky_status status)
{
	static const char *const words[] = { "fine", "takendown",
		"deactivated", "blocked", "deleted" };

	return words[status];
}

/* ---- Changing ---------------------------------------------------------- */

void
bluesky_add(unsigned account, struct wall when)
{
	/* The newest stands last. */
	if (world.entries_n > 0)
		when.us = MAX(when.us,
		    world.entries[world.entries_n - 1].listed.us + 1000);
	put_entry(account, when, when);
	struct bluesky_entry *e = &world.entries[world.entries_n - 1];
	make_entry(world.entries_n - 1);
	if (e->deleted)
		world.accounts[account].posts_n++;
	e->deleted = false;
	bluesky_happen(BLUESKY_CREATE, account, world.entries_n - 1, when);
}

bool
bluesky_rename(struct str from, struct str to)
{
	struct bluesky_account *a = bluesky_account(from);

	if (a == NULL || to.n >= sizeof(a->handle))
		return false;
	snprintf(a->handle, sizeof(a->handle), "%.*s", STR_FMT(to));
	bluesky_happen(BLUESKY_IDENTITY, (unsigned)(a - world.accounts),
	    BLUESKY_NONE, clock_wall());
	return true;
}
