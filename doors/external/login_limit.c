#include "doors/external/login_limit.h"

struct limited_key {
	struct mono times[LOGIN_LIMIT_CALLS];    /* a ring, `next` the oldest */
	unsigned n, next;
	struct str key;              /* in the same piece of memory */
};

static struct limited_key *
new_key(struct str key)
{
	struct limited_key *k = mem_new(sizeof(*k) + key.n);
	char *text = (char *)(k + 1);

	memcpy(text, key.p, key.n);
	k->key = (struct str){ text, key.n };
	return k;
}

void
login_limit_free(struct login_limit *l)
{
	MAP_EACH(k, &l->keys, struct limited_key)
		free(k);
	map_free(&l->keys);
}

static struct mono
newest_time(const struct limited_key *k)
{
	return k->times[(k->next + LOGIN_LIMIT_CALLS - 1) %
	    LOGIN_LIMIT_CALLS];
}

/* Keep the keys of the last minute. */
static void
forget_idle(struct login_limit *l, struct mono now)
{
	struct map kept = MAP_INIT;

	map_reserve(&kept, MAX(l->keys.n, 1));
	MAP_EACH(k, &l->keys, struct limited_key) {
		if (mono_before(now, mono_add_ms(newest_time(k),
		    LOGIN_LIMIT_MS)))
			(void)map_put(&kept, k->key, k);
		else
			free(k);
	}
	map_free(&l->keys);
	l->keys = kept;
}

/* NULL: there are too many. */
static struct limited_key *
take_key(struct login_limit *l, struct str key, struct mono now)
{
	struct limited_key *k = map_get(&l->keys, key);

	if (k != NULL)
		return k;
	if (l->keys.n >= LOGIN_LIMIT_KEYS_MAX)
		forget_idle(l, now);
	if (l->keys.n >= LOGIN_LIMIT_KEYS_MAX)
		return NULL;
	k = new_key(key);
	(void)map_put(&l->keys, k->key, k);
	return k;
}

unsigned
login_limit_count(struct login_limit *l, struct str key, struct mono now)
{
	struct limited_key *k = take_key(l, key, now);

	if (k == NULL)
		return LOGIN_LIMIT_MS / 1000;
	if (k->n == LOGIN_LIMIT_CALLS) {
		int64_t ns = mono_ns_between(now, mono_add_ms(
		    k->times[k->next], LOGIN_LIMIT_MS));
		if (ns > 0)
			return (unsigned)((ns + NS_PER_S - 1) / NS_PER_S);
	}
	k->times[k->next] = now;
	k->next = (k->next + 1) % LOGIN_LIMIT_CALLS;
	k->n = MIN(k->n + 1, LOGIN_LIMIT_CALLS);
	return 0;
}
