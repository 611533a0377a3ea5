#include "engine/items/bucket.h"

#include "engine/items/item_store.h"

/* -- Arithmetic: a token costs per_us / n, rounded once for all that are taken
 *    together -- */

static int64_t
tokens_us(const struct task_rate *rate, int64_t n)
{
	int64_t us = n * rate->per_us;

	return us / rate->n + (us % rate->n > 0);
}

/* How far off a full bucket is. */
static int64_t
missing_us(const struct bucket_row *b, const struct task_rate *rate,
    struct wall now)
{
	if (b->full_at.us <= now.us)
		return 0;
	return MIN(b->full_at.us - now.us, tokens_us(rate, rate->burst));
}

bool
bucket_is_late(const struct bucket_row *b, const struct task_rate *rate,
    struct wall now)
{
	return b->full_at.us > now.us &&
	    b->full_at.us - now.us > tokens_us(rate, rate->burst);
}

int64_t
bucket_left(const struct bucket_row *b, const struct task_rate *rate,
    struct wall now)
{
	int64_t us = tokens_us(rate, rate->burst) - missing_us(b, rate, now);

	return MIN(us * rate->n / rate->per_us, rate->burst);
}

void
bucket_take(struct bucket_row *b, const struct task_rate *rate, int64_t n,
    struct wall now)
{
	int64_t missing = missing_us(b, rate, now);

	if (n >= 0)
		missing += tokens_us(rate, n);
	else
		missing = MAX(missing - tokens_us(rate, -n), 0);
	b->full_at.us = now.us + missing;
}

struct wall
bucket_next(const struct bucket_row *b, const struct task_rate *rate,
    struct wall now)
{
	int64_t missing = missing_us(b, rate, now);
	int64_t allowed = tokens_us(rate, rate->burst) - tokens_us(rate, 1);

	return (struct wall){ now.us + MAX(missing - allowed, 0) };
}

/* -- Which apply -- */

struct list_of {
	struct item_tx *tx;
	struct bucket *buckets;
	size_t n, cap;
};

static enum err
list_put(struct list_of *l, const struct task_rate *rate, struct str name,
    struct why *w)
{
	struct bucket b = { .rate = rate };

	if (!rate->set)
		return OK;
	enum err e = item_tx_bucket(l->tx, name, &b.row, w);
	if (e != OK)
		return e;
	if (bucket_is_late(b.row, rate, item_tx_now(l->tx))) {
		item_tx_touch_bucket(l->tx, b.row);
		bucket_take(b.row, rate, 0, item_tx_now(l->tx));
	}
	l->buckets = arena_grow(item_tx_arena(l->tx), l->buckets, l->n,
	    &l->cap, 4, sizeof(b));
	l->buckets[l->n++] = b;
	return OK;
}

static enum err
list_groups(struct list_of *l, const struct task_config *c,
    const struct task *t, struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; i < c->groups_n && e == OK; i++)
		if (task_matches(c->groups[i].pattern, t->name))
			e = list_put(l, &c->groups[i].rate,
			    arena_printf(item_tx_arena(l->tx), "group %.*s",
			    STR_FMT(c->groups[i].pattern)), w);
	return e;
}

/* `keys`: what follows the task's name in the name of the lane. */
static enum err
list_keys(struct list_of *l, const struct task *t, struct str keys,
    struct why *w)
{
	struct str key;
	enum err e = OK;

	while (e == OK && str_split(&keys, '\n', &key))
		for (size_t i = 0; i < t->tag_limits_n && e == OK; i++)
			if (str_eq(t->tag_limits[i].key, key))
				e = list_put(l, &t->tag_limits[i].rate,
				    arena_printf(item_tx_arena(l->tx),
				    "tag %.*s %.*s", STR_FMT(t->name),
				    STR_FMT(key)), w);
	return e;
}

enum err
bucket_list(struct item_tx *tx, const struct task *t, uint32_t lane,
    struct bucket **out, size_t *n, struct why *w)
{
	const struct task_config *c = item_store_config(item_tx_store(tx));
	struct str keys = item_store_name_text(item_tx_store(tx), lane);
	struct list_of l = { .tx = tx };
	struct str name;
	enum err e = OK;

	if (t->global_limit)
		e = list_put(&l, &c->global, STR("global"), w);
	if (e == OK && t->group_limits)
		e = list_groups(&l, c, t, w);
	if (e == OK && t->rate.set)
		e = list_put(&l, &t->rate, arena_printf(item_tx_arena(tx),
		    "task %.*s", STR_FMT(t->name)), w);
	if (e == OK && str_split(&keys, '\n', &name) && keys.p != NULL)
		e = list_keys(&l, t, keys, w);
	*out = l.buckets;
	*n = l.n;
	return e;
}
