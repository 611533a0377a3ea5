#include "engine/harvest/budget.h"

#include <stdlib.h>

#include "base/map.h"
#include "engine/connector/pacific.h"

/* Numbers below are seconds from now, others a date since 1970. */
#define EPOCH_FROM INT64_C(1000000000)

struct budget {
	char *key;
	bool known;                  /* an answer has told of it */
	int64_t left;                /* when it was told, less those out */
	struct wall reset;
	uint64_t limit;              /* of which `left` is a part; 0: not
	                              * told */
	unsigned out;                /* calls under way */
	/* Of a rate: units that are used until then, of how many. */
	uint64_t used, units;
	struct wall ends;
	bool changed;                /* and not kept yet */
};

struct budgets {
	struct map all;              /* key -> struct budget */
	void (*counted)(void *arg);
	void *arg;
};

struct budgets *
budgets_new(void (*counted)(void *arg), void *arg)
{
	struct budgets *b = mem_new(sizeof(*b));

	b->counted = counted;
	b->arg = arg;
	return b;
}

static void
forget_all(struct budgets *b)
{
	MAP_EACH(x, &b->all, struct budget) {
		mem_free(&x->key);
		mem_free(&x);
	}
	map_free(&b->all);
}

void
budgets_free(struct budgets **bp)
{
	if (*bp == NULL)
		return;
	forget_all(*bp);
	mem_free(bp);
}

void
budget_key(const char *platform, const char *family, struct str fingerprint,
    struct buf *key)
{
	buf_printf(key, "%s %s %.*s", platform, family == NULL ? "" : family,
	    STR_FMT(fingerprint));
}

static struct budget *
budget_of(struct budgets *b, struct str key)
{
	struct budget *x = map_get(&b->all, key);

	if (x != NULL)
		return x;
	/* What was learned is learned again; so many are never in use. */
	if (b->all.n >= BUDGETS_MAX)
		forget_all(b);
	x = mem_new(sizeof(*x));
	x->key = mem_new(key.n + 1);
	memcpy(x->key, key.p, key.n);
	map_put(&b->all, str_of(x->key), x);
	return x;
}

int64_t
budget_take(struct budgets *b, struct str key, struct wall now)
{
	struct budget *x = budget_of(b, key);

	if (x->known && x->reset.us <= now.us)
		x->known = false;
	if (x->known && x->left <= (int64_t)x->out)
		return MAX(1, MIN((x->reset.us - now.us) / 1000 + 1,
		    BUDGET_WAIT_MS_MAX));
	x->out++;
	return 0;
}

/* --- rates ----------------------------------------------------------- */

static struct budget *
budget_of_rate(struct budgets *b, struct str key, struct str shared,
    const struct connector_rate *r)
{
	FREED(buf_free) struct buf name = BUF_INIT;

	buf_put_str(&name, r->of_address ? shared : key);
	buf_printf(&name, " %u", r->seconds);
	return budget_of(b, buf_str(&name));
}

/* After a change of the clock no period is longer than it may be. */
static void
begin_period(struct budget *x, const struct connector_rate *r,
    struct wall now)
{
	struct wall ends = r->seconds == 0 ? pacific_midnight(now) :
	    (struct wall){ now.us + (int64_t)r->seconds * US_PER_S };

	if (x->ends.us > now.us && x->ends.us <= ends.us)
		return;
	x->ends = ends;
	x->used = 0;
}

int64_t
budget_take_units(struct budgets *b, struct str key, struct str shared,
    const struct connector_rate *rates, unsigned cost, struct wall now)
{
	int64_t wait_us = 0;

	cost = MAX(cost, 1);
	for (const struct connector_rate *r = rates; r->units > 0; r++) {
		struct budget *x = budget_of_rate(b, key, shared, r);
		begin_period(x, r, now);
		x->units = r->units;
		if (x->used > 0 && x->used + cost > r->units)
			wait_us = MAX(wait_us, x->ends.us - now.us);
	}
	if (wait_us > 0)
		return MIN(wait_us / 1000 + 1, BUDGET_WAIT_MS_MAX);
	for (const struct connector_rate *r = rates; r->units > 0; r++) {
		struct budget *x = budget_of_rate(b, key, shared, r);
		x->used += cost;
		x->changed = true;
	}
	b->counted(b->arg);
	return 0;
}

size_t
budgets_changes(struct budgets *b, struct arena *a, struct store_budget **list)
{
	struct store_budget *all = ARENA_ARRAY(a, struct store_budget,
	    b->all.n);
	size_t n = 0;

	MAP_EACH(x, &b->all, struct budget) {
		if (!x->changed)
			continue;
		x->changed = false;
		all[n++] = (struct store_budget){ arena_copy(a,
		    str_of(x->key)), x->used, x->ends };
	}
	*list = all;
	return n;
}

void
budgets_put(struct budgets *b, const struct store_budget *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct budget *x = budget_of(b, list[i].name);
		x->used = list[i].used;
		x->ends = list[i].ends;
	}
}

/* --- heads ----------------------------------------------------------- */

static struct str
find_field(const struct http_head *head, const char *name)
{
	static const char *const forms[] = { "X-RateLimit-", "X-Rate-Limit-",
		"RateLimit-" };
	struct str found = STR_NONE;
	char field[48];

	for (size_t i = 0; i < ARRAY_LEN(forms) && found.n == 0; i++) {
		snprintf(field, sizeof(field), "%s%s", forms[i], name);
		found = http_find(head, str_of(field));
	}
	return found;
}

/* A date, seconds since 1970, or seconds from now. */
static bool
read_moment(struct str s, struct wall now, struct wall *out)
{
	struct str whole = str_cut(s, 0, str_find_char(s, '.'));
	int64_t n;

	if (s.n == 0)
		return false;
	if (wall_from_iso(s, out) || wall_from_http(s, out))
		return true;
	if (!str_to_i64(whole, &n) || n < 0 || n > INT64_MAX / (2 * US_PER_S))
		return false;
	out->us = n * US_PER_S + (n < EPOCH_FROM ? now.us : 0);
	return true;
}

void
budget_learn(struct budgets *b, struct str key, const struct http_head *head,
    struct wall now)
{
	struct budget *x = budget_of(b, key);
	struct wall reset;
	int64_t left;

	x->out -= x->out > 0;
	if (head == NULL || !str_to_i64(find_field(head, "Remaining"),
	    &left) || !read_moment(find_field(head, "Reset"), now, &reset))
		return;
	/* Answers may come in another order than the server counted. */
	if (x->known && x->reset.us >= reset.us - US_PER_S)
		left = MIN(left, x->left);
	x->known = true;
	x->left = MAX(left, 0);
	if (!str_to_u64(find_field(head, "Limit"), &x->limit))
		x->limit = 0;
	x->reset = reset;
}

int64_t
budget_retry_ms(const struct http_head *head, unsigned tries, struct wall now)
{
	struct wall at;

	if (read_moment(http_find(head, STR("Retry-After")), now, &at) ||
	    read_moment(find_field(head, "Reset"), now, &at)) {
		int64_t ms = MIN(at.us - now.us, BUDGET_WAIT_MS_MAX * 1000) /
		    1000 + BUDGET_AFTER_RESET_MS;
		return MAX(BUDGET_WAIT_MS_MIN, MIN(ms, BUDGET_WAIT_MS_MAX));
	}
	int64_t ms = BUDGET_BLIND_MS;
	for (unsigned i = 1; i < tries && ms < BUDGET_BLIND_MS_MAX; i++)
		ms *= 2;
	return MIN(ms, BUDGET_BLIND_MS_MAX);
}

/* --- views ----------------------------------------------------------- */

/* What stands before the next blank of the key, which is passed over. */
static struct str
take_word(struct str *key)
{
	size_t n = str_find_char(*key, ' ');
	struct str word = str_cut(*key, 0, n);

	*key = str_from(*key, MIN(n + 1, key->n));
	return word;
}

/* False: it is another's, or nothing of it is known at present. */
static bool
look_at(const struct budget *x, const char *platform, struct str fingerprint,
    struct wall now, struct budget_view *v)
{
	struct str key = str_of(x->key);

	if (!str_eq(take_word(&key), str_of(platform)))
		return false;
	v->family = take_word(&key);
	struct str owner = take_word(&key);
	if (!str_eq(owner, fingerprint) && !str_eq(owner, STR("*")))
		return false;
	if (x->known && x->reset.us > now.us) {
		v->units = x->limit;
		v->left = (uint64_t)MAX(0, x->left - (int64_t)x->out);
		v->until = x->reset;
		return true;
	}
	v->units = x->units;
	v->left = x->units - MIN(x->units, x->used);
	v->until = x->ends;
	return x->units > 0 && x->used > 0 && x->ends.us > now.us;
}

static int
by_family(const void *a, const void *b)
{
	const struct budget_view *x = a, *y = b;
	int order = str_cmp(x->family, y->family);

	return order != 0 ? order : (x->until.us > y->until.us) -
	    (x->until.us < y->until.us);
}

size_t
budgets_look(const struct budgets *b, const char *platform,
    struct str fingerprint, struct wall now, struct arena *a,
    struct budget_view **list)
{
	struct budget_view *all = ARENA_ARRAY(a, struct budget_view,
	    b->all.n), v;
	size_t n = 0;

	MAP_EACH(x, &b->all, struct budget)
		if (look_at(x, platform, fingerprint, now, &v)) {
			v.family = arena_copy(a, v.family);
			all[n++] = v;
		}
	if (n > 0)
		qsort(all, n, sizeof(*all), by_family);
	*list = all;
	return n;
}
