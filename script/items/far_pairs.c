#include "script/items/far_pairs.h"

#include "base/map.h"
#include "base/metric.h"
#include "engine/parser/url.h"

static const char *const causes[] = { "run", "guess" };
enum { PUT_BACK_RUN, PUT_BACK_GUESS };
enum { METRIC_PAIRS, METRIC_PUT_BACK, METRIC_WRONG, METRIC_FULL };
static struct metric metrics[] = {
	[METRIC_PAIRS] = METRIC(GAUGE, "argiope_tasks_far_pairs",
	    "Pairs that claims pass over because their host's turn is far."),
	[METRIC_PUT_BACK] = METRIC_BY(COUNTER, "argiope_tasks_put_back_total",
	    "Pairs that were put back, by whether a run or a guess said that "
	    "their host's turn is far.", "by", causes, ARRAY_LEN(causes)),
	[METRIC_WRONG] = METRIC(COUNTER, "argiope_tasks_wrong_guesses_total",
	    "Runs that asked another host first than was guessed."),
	[METRIC_FULL] = METRIC(COUNTER, "argiope_tasks_far_pairs_full_total",
	    "Pairs that are tried again and again, as too many were put "
	    "back."),
};

struct far_key {
	int64_t item;
	uint64_t task;
};

struct far_pair {
	struct far_key key;
	struct mono until;
	bool has_turn;               /* then */
	bool is_guess;               /* it was not started */
	struct far_pair *next;       /* that is forgotten with it */
};

struct far_host {
	struct mono last;            /* its last turn that was given away */
	int64_t delay_ms;
	unsigned guesses;
	struct far_host *next;       /* that is forgotten with it */
	size_t n;
	char name[];
};

struct far_pairs {
	struct first_hosts *first;
	struct worklist_passed *passed;
	struct map pairs;            /* struct far_pair by its key */
	struct map hosts;            /* struct far_host by its name */
};

static struct str
bytes_of(const struct far_key *k)
{
	return (struct str){ (const char *)k, sizeof(*k) };
}

struct str
far_host_of(struct str url, struct arena *a)
{
	struct url u;

	return url_parse(url, NULL, a, &u, NULL) == OK ?
	    arena_copy(a, u.host) : STR_NONE;
}

struct far_pairs *
far_pairs_new(void)
{
	struct far_pairs *f = mem_new(sizeof(*f));

	f->first = first_hosts_new();
	f->passed = worklist_passed_new();
	metric_register(metrics, ARRAY_LEN(metrics));
	return f;
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
	first_hosts_free(&f->first);
	worklist_passed_free(&f->passed);
	mem_free(fp);
}

/* -- What is over -- */

static void
forget_pairs(struct far_pairs *f, struct mono now)
{
	struct far_pair *gone = NULL, *next;

	MAP_EACH(p, &f->pairs, struct far_pair)
		if (!mono_before(now, p->until)) {
			p->next = gone;
			gone = p;
		}
	for (; gone != NULL; gone = next) {
		next = gone->next;
		map_take(&f->pairs, bytes_of(&gone->key));
		mem_free(&gone);
	}
}

static void
forget_hosts(struct far_pairs *f, struct mono now)
{
	struct far_host *gone = NULL, *next;

	MAP_EACH(h, &f->hosts, struct far_host)
		if (!mono_before(now, h->last)) {
			h->next = gone;
			gone = h;
		}
	for (; gone != NULL; gone = next) {
		next = gone->next;
		map_take(&f->hosts, (struct str){ gone->name, gone->n });
		mem_free(&gone);
	}
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

/* False: the next turn is too far to be given away. */
static bool
next_turn(struct far_host *h, struct mono now, const struct far_turn *t,
    struct mono *at)
{
	struct mono after = mono_add_ms(h->last, t->delay_ms);
	struct mono end = mono_add_ms(now, FAR_PAIRS_MS_MAX);

	*at = mono_add_ms(now, t->turn_ms);
	if (h->last.ns != 0 && mono_before(*at, after))
		*at = after;
	if (mono_before(end, *at)) {
		*at = end;
		return false;
	}
	h->last = *at;
	return true;
}

/* -- Pairs -- */

static struct far_pair *
pair_of(const struct far_pairs *f, uint32_t task, int64_t item)
{
	struct far_key key = { item, task };

	return map_get(&f->pairs, bytes_of(&key));
}

/* NULL: there are too many. */
static struct far_pair *
add_pair(struct far_pairs *f, uint32_t task, int64_t item, struct mono now)
{
	struct far_pair *p = pair_of(f, task, item);

	if (p != NULL)
		return p;
	if (f->pairs.n >= FAR_PAIRS_MAX)
		forget_pairs(f, now);
	if (f->pairs.n >= FAR_PAIRS_MAX) {
		metric_add(&metrics[METRIC_FULL], 1);
		return NULL;
	}
	p = mem_new(sizeof(*p));
	p->key = (struct far_key){ item, task };
	map_put(&f->pairs, bytes_of(&p->key), p);
	return p;
}

static void
count_put_back(const struct far_pairs *f, size_t cause)
{

	metric_set(&metrics[METRIC_PAIRS], (int64_t)f->pairs.n);
	metric_add_by(&metrics[METRIC_PUT_BACK], cause, 1);
}

struct mono
far_pairs_put(struct far_pairs *f, uint32_t task, int64_t item,
    const struct far_turn *t)
{
	struct mono now = clock_mono();
	struct far_host *h = host_of(f, t->host, now);
	struct far_pair *p = pair_of(f, task, item);
	struct mono at;

	if (p != NULL && mono_before(now, p->until))
		return p->until;
	bool has_turn = next_turn(h, now, t, &at);
	p = add_pair(f, task, item, now);
	h->delay_ms = t->delay_ms;
	if (p != NULL) {
		p->until = at;
		p->has_turn = has_turn;
		p->is_guess = false;
	}
	count_put_back(f, PUT_BACK_RUN);
	return at;
}

int64_t
far_pairs_wait_ms(const struct far_pairs *f, uint32_t task, int64_t item)
{
	const struct far_pair *p = pair_of(f, task, item);
	struct mono now = clock_mono();

	return p != NULL && mono_before(now, p->until) ?
	    mono_ns_between(now, p->until) / 1000000 + 1 : 0;
}

bool
far_pairs_take(struct far_pairs *f, uint32_t task, int64_t item)
{
	struct far_key key = { item, task };
	struct far_pair *p = map_take(&f->pairs, bytes_of(&key));
	bool had_turn = p != NULL && p->has_turn;

	if (p != NULL)
		metric_set(&metrics[METRIC_PAIRS], (int64_t)f->pairs.n);
	mem_free(&p);
	return had_turn;
}

size_t
far_pairs_count(const struct far_pairs *f)
{

	return f->pairs.n;
}

/* -- Pairs that are not started -- */

/* The host's next turn that is not given away is far. */
static bool
is_far(const struct far_host *h, struct mono now)
{
	return h != NULL && mono_before(mono_add_ms(now, FAR_PAIRS_MS_MIN),
	    mono_add_ms(h->last, h->delay_ms));
}

/* The more runs have followed the rule in a row, the fewer are tried. */
static bool
is_tried(const struct far_pairs *f, struct far_host *h, uint32_t task)
{
	unsigned right = first_hosts_right(f->first, task);

	if (++h->guesses < MIN(MAX(right / FAR_PAIRS_TRIED, FAR_PAIRS_TRIED),
	    FAR_PAIRS_TRIED_MAX))
		return false;
	h->guesses = 0;
	return true;
}

static bool
pass_over(struct far_pairs *f, uint32_t task, int64_t item, struct str host)
{
	struct mono now = clock_mono();
	struct far_host *h = map_get(&f->hosts, host);
	struct far_turn t = { .host = host };

	if (!is_far(h, now) || is_tried(f, h, task))
		return false;
	struct far_pair *p = add_pair(f, task, item, now);
	if (p == NULL)
		return false;
	t.delay_ms = h->delay_ms;
	p->has_turn = next_turn(h, now, &t, &p->until);
	p->is_guess = true;
	count_put_back(f, PUT_BACK_GUESS);
	return true;
}

bool
far_pairs_guess(struct far_pairs *f, uint32_t task, int64_t item,
    struct str id, struct str data)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	if (f->hosts.n == 0)
		return false;
	struct str host = first_hosts_guess(f->first, task, id, data, &a);
	return host.n > 0 && pass_over(f, task, item, host);
}

void
far_pairs_learn(struct far_pairs *f, uint32_t task,
    const struct first_fetch *first)
{
	struct mono now = clock_mono();

	if (first_hosts_learn(f->first, task, first))
		return;
	metric_add(&metrics[METRIC_WRONG], 1);
	MAP_EACH(p, &f->pairs, struct far_pair)
		if (p->key.task == task && p->is_guess) {
			p->until = now;
			p->has_turn = false;
		}
}

/* -- Claims -- */

static int64_t
wait_ms(void *arg, uint32_t task, int64_t item)
{

	return far_pairs_wait_ms(arg, task, item);
}

static enum worklist_choice
choose_pair(void *arg, uint32_t task, const struct item_row *item)
{
	struct far_pairs *f = arg;

	if (far_pairs_take(f, task, item->key))
		return WORKLIST_TAKE_AT_TURN;
	return far_pairs_guess(f, task, item->key, item->id, item->data) ?
	    WORKLIST_PASS_OVER : WORKLIST_TAKE;
}

void
far_pairs_use(struct far_pairs *f, struct worklist_claim *c)
{

	c->skip = wait_ms;
	c->choose = choose_pair;
	c->arg = f;
	c->passed = f->passed;
}
