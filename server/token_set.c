#include "server/token_set.h"

#include <stdatomic.h>

#include "base/metric.h"
#include "os/clock.h"
#include "os/log.h"

#define USED_MS 60000u
#define USED_STEP_US US_PER_S        /* a date of use is so exact */
#define REFUSED_LOG_MS 10000

enum { METRIC_TOKENS, METRIC_REFUSED, METRIC_FAILURES };
static struct metric metrics[] = {
	METRIC(GAUGE, "argiope_doors_tokens", "Tokens that open a door."),
	/* The doors' names are known once the set is opened. */
	METRIC_BY(COUNTER, "argiope_doors_refused_total",
	    "Requests that a door refused for want of a token.", "door",
	    NULL, TOKEN_DOORS_MAX),
	METRIC(COUNTER, "argiope_doors_token_failures_total",
	    "Times that tokens could not be read, or their use not dated."),
};

/* The parts that a check reads of every token, stored densely. */
struct hash {
	uint64_t words[TOKEN_HASH_BYTES / 8];
};

struct held {
	uint64_t id;
	struct token_scopes scopes;
	char name[TOKEN_NAME_BYTES_MAX + 1];
	_Atomic int64_t used_us;
	int64_t put_us;              /* the store has it; its thread's */
};

/* Immutable, but for the dates of use. */
struct snapshot {
	size_t n;
	struct hash *hashes;
	struct held *tokens;
};

/*
 * Two slots, of which one is active.  A reader announces itself in the slot
 * that it found active and looks again: when the other is active by then, it
 * did not touch the slot and begins anew.  The writer, of which there is one at
 * a time, fills the other slot when nobody is announced there, and makes it
 * active.  So a snapshot is freed when it is not active and nobody reads it;
 * nobody waits for anybody.
 */
struct slot {
	atomic_uint readers;
	struct snapshot *snapshot;
	char apart[64];              /* the counters' cache lines */
};

struct token_set {
	struct slot slots[2];
	atomic_uint active;
	_Atomic uint32_t wanted;     /* bits of doors; only grows */
	bool has_operator;
	struct hash operator_hash;   /* of the operator's key */

	/* Refusals that no line of the log has told of. */
	_Atomic uint64_t untold;
	_Atomic int64_t tell_ns;     /* not before */

	struct store_async *async;
	struct store_watch watch;
	unsigned used_ms;

	/* The store's thread; home's while the set is not watching. */
	bool stale;                  /* read, whether it has changed or not */
	bool failing;
	struct mono put_at;          /* dates of use, not before */
};

/* -- Snapshots -- */

static void
snapshot_free(struct snapshot **sp)
{
	struct snapshot *s = *sp;

	if (s == NULL)
		return;
	mem_free(&s->hashes);
	mem_free(&s->tokens);
	mem_free(sp);
}

static struct snapshot *
snapshot_new(const struct token *list, size_t n)
{
	struct snapshot *s = mem_new(sizeof(*s));

	s->n = n;
	s->hashes = mem_array(MAX(n, 1), sizeof(*s->hashes));
	s->tokens = mem_array(MAX(n, 1), sizeof(*s->tokens));
	for (size_t i = 0; i < n; i++) {
		struct held *t = &s->tokens[i];
		CHECK(list[i].name.n < sizeof(t->name));
		memcpy(s->hashes[i].words, list[i].hash, TOKEN_HASH_BYTES);
		memcpy(t->name, list[i].name.p, list[i].name.n);
		t->id = list[i].id;
		t->scopes = list[i].scopes;
		t->put_us = list[i].used.us;
		atomic_init(&t->used_us, list[i].used.us);
	}
	return s;
}

static struct held *
snapshot_find(const struct snapshot *s, uint64_t id)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->tokens[i].id == id)
			return &s->tokens[i];
	return NULL;
}

/* Dates that are in memory only go along. */
static void
snapshot_take_dates(struct snapshot *s, const struct snapshot *old)
{
	for (size_t i = 0; i < s->n; i++) {
		struct held *t = &s->tokens[i];
		struct held *was = snapshot_find(old, t->id);
		if (was != NULL)
			atomic_store(&t->used_us, MAX(t->put_us,
			    atomic_load(&was->used_us)));
	}
}

static struct slot *
enter(struct token_set *s)
{
	for (;;) {
		unsigned i = atomic_load(&s->active);
		struct slot *slot = &s->slots[i];
		atomic_fetch_add(&slot->readers, 1);
		if (atomic_load(&s->active) == i)
			return slot;
		atomic_fetch_sub(&slot->readers, 1);
	}
}

static void
leave(struct slot *slot)
{
	atomic_fetch_sub(&slot->readers, 1);
}

static uint32_t
doors_of(const struct snapshot *s)
{
	/* The console makes tokens for every door: any token guards it. */
	uint32_t bits = s->n > 0 ? 1u << TOKEN_DOOR_CONSOLE : 0;

	size_t doors_n;

	(void)token_door_names(&doors_n);
	for (size_t i = 0; i < s->n; i++)
		for (size_t d = 0; d < doors_n; d++)
			if (token_scopes_allow(s->tokens[i].scopes,
			    (enum token_door)d, TOKEN_READ))
				bits |= 1u << d;
	return bits;
}

/* False while somebody still reads what was active before; `*next` is taken. */
static bool
replace(struct token_set *s, struct snapshot **next)
{
	unsigned now = atomic_load(&s->active);
	struct slot *other = &s->slots[1 - now];

	if (atomic_load(&other->readers) != 0) {
		snapshot_free(next);
		return false;
	}
	if (s->slots[now].snapshot != NULL)
		snapshot_take_dates(*next, s->slots[now].snapshot);
	snapshot_free(&other->snapshot);
	other->snapshot = *next;
	/* First wanted, then open to the new tokens: never neither. */
	atomic_fetch_or(&s->wanted, doors_of(*next));
	atomic_store(&s->active, 1 - now);
	metric_set(&metrics[METRIC_TOKENS], (int64_t)(*next)->n);
	*next = NULL;
	return true;
}

/* -- On the store's thread -- */

/* Read the tokens.  OK, and still stale, while readers keep the old slot. */
static enum err
read_tokens(struct token_set *s, struct store *st, struct why *w)
{
	struct arena a = ARENA_INIT;
	struct token *list;
	size_t n;

	s->stale = true;
	enum err e = store_token_list(st, &a, &list, &n, w);
	if (e == OK) {
		struct snapshot *next = snapshot_new(list, n);
		s->stale = !replace(s, &next);
		if (!s->stale)
			log_debug("token.read", "tokens=%zu", n);
	}
	arena_free(&a);
	return e;
}

/* Only this thread frees the active snapshot: it need not announce itself. */
static enum err
put_dates(struct token_set *s, struct store *st, struct why *w)
{
	struct snapshot *now = s->slots[atomic_load(&s->active)].snapshot;
	enum err e = OK;

	for (size_t i = 0; i < now->n && e == OK; i++) {
		struct held *t = &now->tokens[i];
		int64_t used = atomic_load(&t->used_us);
		if (used == t->put_us)
			continue;
		e = store_token_used(st, t->id, (struct wall){ used }, w);
		if (e == OK)
			t->put_us = used;
	}
	return e;
}

static void
note(struct token_set *s, const struct why *w)
{
	struct log_text text;

	if (w->err != OK)
		metric_add(&metrics[METRIC_FAILURES], 1);
	if (w->err != OK && !s->failing)
		log_error("token.failing", "why=%s", log_quote(&text,
		    str_of(w->text)));
	if (w->err == OK && s->failing)
		log_info("token.fine", "tokens=%lld", (long long)metric_value(
		    &metrics[METRIC_TOKENS], 0));
	s->failing = w->err != OK;
}

/* -- Refusals -- */

/* The line of the log: now, or never when another thread writes it. */
static bool
may_tell(struct token_set *s)
{
	int64_t now = clock_mono().ns;
	int64_t when = atomic_load(&s->tell_ns);

	return now >= when && atomic_compare_exchange_strong(&s->tell_ns,
	    &when, now + REFUSED_LOG_MS * NS_PER_MS);
}

static const char *const reasons[] = { "fine", "missing", "unknown",
	"scope" };

static void
refused(struct token_set *s, enum token_answer a, enum token_door d,
    enum token_access access, struct str peer, const char *name)
{
	struct log_text quoted;

	metric_add_by(&metrics[METRIC_REFUSED], d, 1);
	atomic_fetch_add(&s->untold, 1);
	if (may_tell(s))
		log_warn("token.refused", "door=%s access=%s reason=%s "
		    "token=%s peer=%s refused=%llu", token_door_text(d),
		    token_access_text(access), reasons[a],
		    name[0] == '\0' ? "-" : name, log_quote(&quoted, peer),
		    (unsigned long long)atomic_exchange(&s->untold, 0));
}

/* Log the refusals that no line has counted yet. */
static void
log_rest(struct token_set *s)
{
	if (atomic_load(&s->untold) == 0 || !may_tell(s))
		return;
	log_warn("token.refused", "refused=%llu",
	    (unsigned long long)atomic_exchange(&s->untold, 0));
}

/* -- Opening and closing -- */

/* The store's thread, about once a second. */
static void
look(struct store_watch *watch, struct store *st, bool changed)
{
	struct token_set *s = CONTAINER(watch, struct token_set, watch);
	struct why w = WHY_INIT;
	struct mono now = clock_mono();
	enum err e = OK;

	if (changed || s->stale)
		e = read_tokens(s, st, &w);
	if (e == OK && !mono_before(now, s->put_at)) {
		s->put_at = mono_add_ms(now, s->used_ms);
		e = put_dates(s, st, &w);
	}
	w.err = e;
	note(s, &w);
	log_rest(s);
}

static void
set_free(struct token_set **sp)
{
	struct token_set *s = *sp;

	store_async_unwatch(s->async, &s->watch);
	snapshot_free(&s->slots[0].snapshot);
	snapshot_free(&s->slots[1].snapshot);
	mem_free(sp);
}

enum err
token_set_open(const struct token_set_options *o, struct token_set **out,
    struct why *w)
{
	struct token_set *s = mem_new(sizeof(*s));

	*out = NULL;
	s->async = o->store;
	s->used_ms = o->used_ms == 0 ? USED_MS : o->used_ms;
	s->put_at = mono_add_ms(clock_mono(), s->used_ms);
	s->has_operator = o->operator_key.n > 0;
	if (s->has_operator)
		token_hash(o->operator_key, (uint8_t *)s->operator_hash.words);
	s->watch.look = look;
	store_async_watch(s->async, &s->watch);
	/* A door may check tokens as soon as this returns. */
	enum err e = read_tokens(s, store_async_store(s->async), w);
	if (e != OK) {
		set_free(&s);
		return e;
	}
	metrics[METRIC_REFUSED].label_texts = token_door_names(
	    &metrics[METRIC_REFUSED].labels_n);
	metric_register(metrics, ARRAY_LEN(metrics));
	*out = s;
	return OK;
}

void
token_set_close(struct token_set **sp)
{
	struct token_set *s = *sp;
	struct why w = WHY_INIT;

	if (s == NULL)
		return;
	store_async_unwatch(s->async, &s->watch);
	w.err = put_dates(s, store_async_store(s->async), &w);
	note(s, &w);
	set_free(sp);
}

/* -- Asking -- */

/* 0 when they are equal; in a time that does not depend on what they hold. */
static uint64_t
hash_differs(const struct hash *a, const struct hash *b)
{
	uint64_t differ = 0;

	for (size_t k = 0; k < ARRAY_LEN(a->words); k++)
		differ |= a->words[k] ^ b->words[k];
	return differ;
}

/*
 * Which token has this hash, n for none.  All are compared, and nothing depends
 * on what was found so far but the number that comes out.
 */
static size_t
find(const struct snapshot *s, const struct hash *h)
{
	size_t at = s->n;

	for (size_t i = 0; i < s->n; i++) {
		uint64_t differ = hash_differs(h, &s->hashes[i]);
		/* All ones when nothing differs, else 0. */
		uint64_t same = ((differ | (0 - differ)) >> 63) - 1;
		at = (at & ~same) | (i & same);
	}
	return at;
}

static void
mark_used(struct held *t)
{
	int64_t now = clock_wall().us;

	/* Not each time: the line is shared by all threads. */
	if (now - atomic_load_explicit(&t->used_us, memory_order_relaxed) >=
	    USED_STEP_US)
		atomic_store_explicit(&t->used_us, now, memory_order_relaxed);
}

static enum token_answer
judge(const struct snapshot *now, const struct hash *h, enum token_door d,
    enum token_access access, struct token_pass *pass)
{
	size_t at = find(now, h);

	if (at == now->n)
		return TOKEN_UNKNOWN;
	struct held *t = &now->tokens[at];
	pass->id = t->id;
	memcpy(pass->name, t->name, sizeof(pass->name));
	if (!token_scopes_allow(t->scopes, d, access))
		return TOKEN_SCOPE;
	mark_used(t);
	return TOKEN_FINE;
}

static bool
is_operator(const struct token_set *s, const struct hash *h,
    struct token_pass *pass)
{
	if (!s->has_operator || hash_differs(h, &s->operator_hash) != 0)
		return false;
	*pass = (struct token_pass){ TOKEN_OPERATOR_ID, TOKEN_OPERATOR_NAME };
	return true;
}

/* Whether the token gives this access, and its name.  Updates no counters. */
static enum token_answer
look_up(struct token_set *s, struct str text, enum token_door d,
    enum token_access access, struct token_pass *pass)
{
	struct hash h;

	/* How long a token is, everybody may know. */
	if (text.n != TOKEN_TEXT_BYTES)
		return TOKEN_UNKNOWN;
	token_hash(text, (uint8_t *)h.words);
	struct slot *slot = enter(s);
	enum token_answer a = judge(slot->snapshot, &h, d, access, pass);
	leave(slot);
	return a == TOKEN_UNKNOWN && is_operator(s, &h, pass) ? TOKEN_FINE : a;
}

enum token_answer
token_check(struct token_set *s, struct str text, enum token_door d,
    enum token_access access, struct str peer, struct token_pass *out)
{
	struct token_pass pass = { 0, "" };
	enum token_answer a = text.n == 0 ? TOKEN_MISSING :
	    look_up(s, text, d, access, &pass);

	if (a != TOKEN_FINE)
		refused(s, a, d, access, peer, pass.name);
	else if (out != NULL)
		*out = pass;
	return a;
}

bool
token_holds(struct token_set *s, uint64_t id, enum token_door d,
    enum token_access access)
{
	struct slot *slot = enter(s);
	const struct held *t = snapshot_find(slot->snapshot, id);
	bool holds = t != NULL && token_scopes_allow(t->scopes, d, access);

	leave(slot);
	return holds || (s->has_operator && id == TOKEN_OPERATOR_ID);
}

bool
token_find(struct token_set *s, struct str text, struct token_pass *pass)
{
	return look_up(s, text, TOKEN_DOOR_CONSOLE, TOKEN_READ, pass) !=
	    TOKEN_UNKNOWN;
}

bool
token_is(struct token_set *s, uint64_t id)
{
	struct slot *slot = enter(s);
	bool is = snapshot_find(slot->snapshot, id) != NULL;

	leave(slot);
	return is || (s->has_operator && id == TOKEN_OPERATOR_ID);
}

bool
token_wanted(const struct token_set *s, enum token_door d)
{
	CHECK(d < TOKEN_DOORS_MAX);
	return (atomic_load(&s->wanted) >> d & 1) != 0;
}

const char *
token_answer_text(enum token_answer a)
{
	static const char *const texts[] = {
		[TOKEN_FINE] = "the token is good",
		[TOKEN_MISSING] = ("a token is needed, as \"Authorization: "
		    "Bearer TOKEN\""),
		[TOKEN_UNKNOWN] = "the token is not known here",
		[TOKEN_SCOPE] = "the token is not meant for this",
	};

	CHECK((size_t)a < ARRAY_LEN(texts));
	return texts[a];
}

struct str
token_of_header(struct str value)
{
	struct str rest = str_trim(value);

	if (!str_starts_nocase(rest, STR("Bearer ")))
		return STR_NONE;
	return str_trim(str_from(rest, 7));
}
