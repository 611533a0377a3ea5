#include "script/items/far_pairs.h"

#include "base/map.h"

struct far_key {
	int64_t item;
	uint64_t task;
};

struct far_pair {
	struct far_key key;
	struct mono until;
};

/* Its last turn that was given away. */
struct far_host {
	struct mono last;
	size_t n;
	char name[];
};

struct far_pairs {
	struct map pairs;            /* struct far_pair by its key */
	struct map hosts;            /* struct far_host by its name */
};

static struct str
bytes_of(const struct far_key *k)
{
	return (struct str){ (const char *)k, sizeof(*k) };
}

struct far_pairs *
far_pairs_new(void)
{

	return mem_new(sizeof(struct far_pairs));
}

void
far_pairs_free(struct far_pairs **fp)
{
	struct far_pairs *f = *fp;

	if (f == NULL)
		return;
	MAP_EACH(p, &f->pairs, struct far_pair)
		mem_free(&p);
	MAP_EACH(h, &f->hosts, struct far_host)
		mem_free(&h);
	map_free(&f->pairs);
	map_free(&f->hosts);
	mem_free(fp);
}

/* -- What is over -- */

static void
forget_pairs(struct far_pairs *f, struct mono now)
{
	struct map left = MAP_INIT;

	MAP_EACH(p, &f->pairs, struct far_pair) {
		if (mono_before(now, p->until))
			map_put(&left, bytes_of(&p->key), p);
		else
			mem_free(&p);
	}
	map_free(&f->pairs);
	f->pairs = left;
}

static void
forget_hosts(struct far_pairs *f, struct mono now)
{
	struct map left = MAP_INIT;

	MAP_EACH(h, &f->hosts, struct far_host) {
		if (mono_before(now, h->last))
			map_put(&left, (struct str){ h->name, h->n }, h);
		else
			mem_free(&h);
	}
	map_free(&f->hosts);
	f->hosts = left;
}

/* -- Turns -- */

static struct far_host *
host_of(struct far_pairs *f, struct str name, struct mono now)
{
	struct far_host *h = map_get(&f->hosts, name);

	if (h != NULL)
		return h;
	if (f->hosts.n >= FAR_PAIRS_MAX)
		forget_hosts(f, now);
	h = mem_new(sizeof(*h) + name.n);
	h->n = name.n;
	memcpy(h->name, name.p, name.n);
	map_put(&f->hosts, (struct str){ h->name, h->n }, h);
	return h;
}

static struct mono
next_turn(struct far_host *h, struct mono now, const struct far_turn *t)
{
	struct mono at = mono_add_ms(now, t->turn_ms);
	struct mono after = mono_add_ms(h->last, t->delay_ms);
	struct mono end = mono_add_ms(now, FAR_PAIRS_MS_MAX);

	if (h->last.ns != 0 && mono_before(at, after))
		at = after;
	if (mono_before(end, at))
		return end;
	h->last = at;
	return at;
}

struct mono
far_pairs_put(struct far_pairs *f, uint32_t task, int64_t item,
    const struct far_turn *t)
{
	struct far_key key = { item, task };
	struct mono now = clock_mono();
	struct mono at = next_turn(host_of(f, t->host, now), now, t);
	struct far_pair *p = map_get(&f->pairs, bytes_of(&key));
	if (p == NULL && f->pairs.n >= FAR_PAIRS_MAX)
		forget_pairs(f, now);
	if (p == NULL && f->pairs.n < FAR_PAIRS_MAX) {
		p = mem_new(sizeof(*p));
		p->key = key;
		map_put(&f->pairs, bytes_of(&p->key), p);
	}
	if (p != NULL)
		p->until = at;
	return at;
}

int64_t
far_pairs_wait_ms(struct far_pairs *f, uint32_t task, int64_t item)
{
	struct far_key key = { item, task };
	struct far_pair *p = map_get(&f->pairs, bytes_of(&key));
	struct mono now = clock_mono();

	if (p == NULL)
		return 0;
	if (mono_before(now, p->until))
		return mono_ns_between(now, p->until) / 1000000 + 1;
	map_take(&f->pairs, bytes_of(&key));
	mem_free(&p);
	return 0;
}

size_t
far_pairs_count(const struct far_pairs *f)
{

	return f->pairs.n;
}
