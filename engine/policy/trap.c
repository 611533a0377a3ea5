#include "engine/policy/trap.h"

#include "base/hash.h"
#include "base/list.h"
#include "base/map.h"

#define BLOCK_MAX 3           /* segments that may repeat together */
#define PARAMS_SEEN_MAX 4096  /* names compared for traps.param_repeats_max */

static bool
trapped(struct trap_verdict *v, enum skip_reason reason, const char *field,
    const char *text)
{
	*v = (struct trap_verdict){ reason, field, text };
	return false;
}

static bool
passed(struct trap_verdict *v)
{
	*v = (struct trap_verdict){ SKIP_NONE, NULL, NULL };
	return true;
}

/*
 * The segments of a path, and whether a block of 1 to 3 of them stands more
 * than `repeats_max` times in a row.  For each block length L, runs[L] counts
 * how many segments in a row equal the one L places before: k repetitions of a
 * block of L make a run of (k - 1) * L.
 */
struct segments {
	struct str last[BLOCK_MAX];   /* the newest at [n % BLOCK_MAX] */
	int64_t n;
	int64_t runs[BLOCK_MAX + 1];
};

static bool
segment_repeats(struct segments *s, struct str segment, int64_t repeats_max)
{
	bool repeats = false;

	for (int64_t l = 1; l <= BLOCK_MAX; l++) {
		bool same = s->n >= l &&
		    str_eq(s->last[(s->n - l) % BLOCK_MAX], segment);
		s->runs[l] = same ? s->runs[l] + 1 : 0;
		/* (runs / l) + 1 whole blocks; written without overflow. */
		repeats |= s->runs[l] / l >= repeats_max;
	}
	s->last[s->n % BLOCK_MAX] = segment;
	s->n++;
	return repeats;
}

static bool
judge_path(const struct trap_limits *t, struct str path,
    struct trap_verdict *v)
{
	struct segments s = { .n = 0 };
	bool repeats = false;

	if ((int64_t)path.n > t->path_bytes_max)
		return trapped(v, SKIP_URL, "traps.path_bytes_max",
		    "the path is too long");
	for (size_t at = 0; at < path.n; ) {
		struct str rest = str_from(path, at + 1);
		size_t n = str_find_char(rest, '/');
		if (n != 0)
			repeats |= segment_repeats(&s, str_cut(rest, 0, n),
			    t->repeats_max);
		at += n + 1;
	}
	if (s.n > t->segments_max)
		return trapped(v, SKIP_URL, "traps.segments_max",
		    "the path has too many segments");
	if (repeats)
		return trapped(v, SKIP_URL, "traps.repeats_max",
		    "the same path segments repeat");
	return passed(v);
}

/* Names are counted by hash; only crawls that ask for it pay for the map. */
static bool
param_repeats(struct str query, int64_t repeats_max)
{
	struct map counts = MAP_INIT;
	struct str rest = query, part;
	bool repeats = false;

	for (size_t i = 0; !repeats && i < PARAMS_SEEN_MAX &&
	    str_split(&rest, '&', &part); i++) {
		struct str name = str_cut(part, 0, str_find_char(part, '='));
		uint64_t id = hash_bytes(name, 0);
		if (part.n == 0)
			continue;
		uintptr_t seen = (uintptr_t)map_get_id(&counts, id) + 1;
		repeats = (int64_t)seen > repeats_max;
		map_put_id(&counts, id, (void *)seen);
	}
	map_free(&counts);
	return repeats;
}

static bool
judge_query(const struct trap_limits *t, struct str query,
    struct trap_verdict *v)
{
	int64_t n = 0;
	struct str rest = str_from(query, 1), part;

	if (query.n <= 1)
		return passed(v);
	while (str_split(&rest, '&', &part))
		n += part.n != 0;
	if (n > t->params_max)
		return trapped(v, SKIP_URL, "traps.params_max",
		    "the query has too many parameters");
	if (t->param_repeats_max != TRAP_NONE &&
	    param_repeats(str_from(query, 1), t->param_repeats_max))
		return trapped(v, SKIP_URL, "traps.param_repeats_max",
		    "a parameter repeats in the query");
	return passed(v);
}

bool
trap_judge_url(const struct trap_limits *t, const struct url *u,
    struct trap_verdict *v)
{
	return judge_path(t, u->path, v) && judge_query(t, u->query, v);
}

struct prefix {
	struct list age;          /* the newest at the head */
	uint64_t id;              /* hash of origin and directory */
	int64_t stale;
};

struct trap_memory {
	struct map by_id;
	struct list ages;
	size_t prefixes_max;
};

/*
 * Two directories with one hash would share a counter; at 4,096 directories the
 * odds are 2^-40.
 */
static uint64_t
prefix_id(const struct url *u)
{
	size_t n = u->path.n;

	if (n == 0)
		return hash_bytes(u->href, 0);
	size_t before = (size_t)(u->path.p - u->href.p);
	while (n > 0 && u->path.p[n - 1] != '/')
		n--;
	return hash_bytes(str_cut(u->href, 0, before + n), 0);
}

struct trap_memory *
trap_memory_new(size_t prefixes_max)
{
	struct trap_memory *m = mem_new(sizeof(*m));

	CHECK(prefixes_max > 0);
	list_init(&m->ages);
	m->prefixes_max = prefixes_max;
	return m;
}

static void
forget(struct trap_memory *m, struct prefix *p)
{
	list_take(&p->age);
	map_take_id(&m->by_id, p->id);
	free(p);
}

void
trap_memory_free(struct trap_memory **mp)
{
	struct trap_memory *m = *mp;

	if (m == NULL)
		return;
	while (!list_empty(&m->ages))
		forget(m, LIST_ITEM(m->ages.next, struct prefix, age));
	map_free(&m->by_id);
	mem_free(mp);
}

void
trap_note(struct trap_memory *m, const struct url *u, bool news)
{
	uint64_t id = prefix_id(u);
	struct prefix *p = map_get_id(&m->by_id, id);

	if (p == NULL) {
		if (m->by_id.n == m->prefixes_max)
			forget(m, LIST_ITEM(m->ages.prev, struct prefix, age));
		p = mem_new(sizeof(*p));
		p->id = id;
		list_init(&p->age);
		map_put_id(&m->by_id, id, p);
	}
	p->stale = news ? 0 : p->stale + 1;
	list_take(&p->age);
	list_put(m->ages.next, &p->age);
}

int64_t
trap_stale(const struct trap_memory *m, const struct url *u)
{
	const struct prefix *p = map_get_id(&m->by_id, prefix_id(u));

	return p == NULL ? 0 : p->stale;
}

bool
trap_judge_prefix(const struct trap_limits *t, const struct trap_memory *m,
    const struct url *u, struct trap_verdict *v)
{
	if (t->stale_max != TRAP_NONE && trap_stale(m, u) >= t->stale_max)
		return trapped(v, SKIP_LIMIT, "traps.stale_max",
		    "nothing new was found in this directory");
	return passed(v);
}

size_t
trap_memory_count(const struct trap_memory *m)
{
	return m->by_id.n;
}
