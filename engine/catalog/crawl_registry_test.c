/*
 * Watchers who remember one version find all that changed, and nothing else.
 */
#include "base/hash.h"
#include "engine/catalog/crawl_registry.h"
#include "os/world_testing.h"

#define CRAWLS 12
#define ROUNDS 3000

static uint64_t seed;

static uint64_t
random_below(uint64_t n)
{
	seed += UINT64_C(0x9e3779b97f4a7c15);
	return hash_u64(seed) % n;
}

/* What one client has, merged from what it was told. */
struct merged {
	bool known, deleted;
	uint64_t parts[REGISTRY_PARTS];   /* a number for each part's value */
};

/* A number that stands for the part's whole value. */
static uint64_t
value_of(const struct crawl_row *r, unsigned part)
{
	const struct crawl_view *v = &r->view;
	const struct crawl_counts *n = &v->counts;

	switch (part) {
	case REGISTRY_STATE:
		return (uint64_t)v->state * 1000 + (uint64_t)v->ended.us +
		    hash_bytes(str_of(v->reason), 1);
	case REGISTRY_NOT_FOUND:
		return n->not_found;
	case REGISTRY_EXCEPTIONS:
		return crawl_exceptions(n);
	case REGISTRY_SKIPS:
		return crawl_skips(n);
	case REGISTRY_ITEMS:
		return n->items;
	case REGISTRY_QUEUED:
		return n->queued * 1000 + n->leased;
	case REGISTRY_BYTES:
		return n->body_bytes * 1000 + n->warc_bytes;
	case REGISTRY_LOG:
		return v->log_last;
	default:
		return n->status[part - REGISTRY_STATUS];
	}
}

/* As a door does it: from the newest change back. */
static unsigned
merge(const struct crawl_registry *b, struct merged *m, uint64_t *version)
{
	unsigned told = 0;

	for (struct crawl_row *r = crawl_registry_before(b, NULL); r != NULL &&
	    r->changed > *version; r = crawl_registry_before(b, r)) {
		struct merged *x = &m[r->id];
		if (!x->known)
			assert_true(r->born > *version);
		for (unsigned i = 0; i < REGISTRY_PARTS; i++)
			if (r->part[i] > *version) {
				x->parts[i] = value_of(r, i);
				told++;
			}
		x->known = true;
		x->deleted = r->deleted;
	}
	*version = crawl_registry_version(b);
	return told;
}

static void
same_as_board(const struct crawl_registry *b, const struct merged *m)
{
	for (uint32_t id = 0; id < CRAWLS; id++) {
		const struct crawl_row *r = crawl_row(b, id);
		assert_int_equal(r != NULL, m[id].known);
		if (r == NULL)
			continue;
		assert_int_equal(r->deleted, m[id].deleted);
		for (unsigned i = 0; i < REGISTRY_PARTS; i++)
			assert_int_equal(value_of(r, i), m[id].parts[i]);
	}
}

static void
change(struct crawl_view *v)
{
	struct crawl_counts *n = &v->counts;

	switch (random_below(9)) {
	case 0:
		v->state = (enum crawl_state)random_below(CRAWL_STATE_COUNT);
		break;
	case 1:
		n->items++;
		n->status[random_below(6)]++;
		n->body_bytes += random_below(500);
		break;
	case 2:
		n->not_found++;
		break;
	case 3:
		n->exceptions[random_below(EXCEPTION_COUNT)]++;
		break;
	case 4:
		n->skips[random_below(SKIP_COUNT)]++;
		break;
	case 5:
		n->queued = random_below(4);
		n->leased = random_below(4);
		break;
	case 6:
		v->log_last++;
		break;
	case 7:
		snprintf(v->reason, sizeof(v->reason), "%llu",
		    (unsigned long long)random_below(4));
		break;
	default:
		break;
	}
}

static void
deltas_merge_to_a_snapshot(void **state)
{
	struct loop *home = loop_new("home");
	struct crawl_registry *b = crawl_registry_new(home);
	struct crawl_view views[CRAWLS] = { 0 };
	struct merged often[CRAWLS] = { 0 }, seldom[CRAWLS] = { 0 };
	uint64_t often_version = 0, seldom_version = 0;
	struct crawl_spec spec = { .name = STR("x") };

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t id = (uint32_t)random_below(CRAWLS);
		struct crawl_view *v = &views[id];
		v->id = id;
		for (uint64_t n = random_below(4); n > 0; n--)
			change(v);
		if (random_below(3) == 0)
			crawl_registry_add(b, v, &spec);
		if (random_below(400) == 0)
			crawl_registry_delete(b, id);
		else if (crawl_row(b, id) == NULL ||
		    !crawl_row(b, id)->deleted)
			crawl_registry_show(b, v);
		merge(b, often, &often_version);
		same_as_board(b, often);
		/* Nothing changed since: nothing is told. */
		assert_int_equal(merge(b, often, &often_version), 0);
		if (random_below(50) == 0) {
			merge(b, seldom, &seldom_version);
			same_as_board(b, seldom);
		}
	}
	crawl_registry_free(&b);
	loop_free(&home);
}

static void
rows_are_found_by_number(void **state)
{
	struct loop *home = loop_new("home");
	struct crawl_registry *b = crawl_registry_new(home);
	struct crawl_view v = { 0 };
	struct str seeds[] = { STR("http://a.org/"), STR("http://b.org/") };
	struct str tags[] = { STR("one"), STR("two words") };
	struct crawl_spec spec = { .name = STR("n"), .seeds = seeds,
	    .seeds_n = 2, .tags = tags, .tags_n = 2, .policy_name = STR("p"),
	    .schedule = 7, .key = STR("7/2") };

	(void)state;
	assert_null(crawl_registry_before(b, NULL));
	assert_null(crawl_registry_below(b, UINT32_MAX));
	for (uint32_t id = 3; id < 3000; id *= 7) {
		v.id = id;
		crawl_registry_add(b, &v, &spec);
	}
	assert_null(crawl_row(b, 0));
	assert_null(crawl_row(b, 1000000));
	assert_int_equal(crawl_registry_below(b, UINT32_MAX)->id, 1029);
	assert_int_equal(crawl_registry_below(b, 1029)->id, 147);
	assert_int_equal(crawl_registry_below(b, 4)->id, 3);
	assert_null(crawl_registry_below(b, 3));
	const struct crawl_row *r = crawl_row(b, 147);
	assert_true(str_eq(r->seed, STR("http://a.org/")));
	assert_true(str_eq(r->policy, STR("p")));
	assert_true(str_eq(r->key, STR("7/2")));
	assert_int_equal(r->schedule, 7);
	assert_true(crawl_registry_has_tag(r, STR("two words")));
	assert_false(crawl_registry_has_tag(r, STR("two")));
	/* It was there already: nothing is told of it again. */
	uint64_t version = crawl_registry_version(b);
	crawl_registry_add(b, &v, &spec);
	v.id = 5;
	crawl_registry_show(b, &v);
	assert_int_equal(crawl_registry_version(b), version);
	crawl_registry_free(&b);
	loop_free(&home);
}

/* --- watchers that come and go while they are told ------------------------ */

struct watcher {
	struct registry_watch watch;
	struct crawl_registry *registry;
	struct watcher *other;       /* goes, when this one is told */
	unsigned told;
};

static void
told(struct registry_watch *w)
{
	struct watcher *x = CONTAINER(w, struct watcher, watch);

	x->told++;
	if (x->other != NULL)
		crawl_registry_unwatch(&x->other->watch);
}

static void
watchers_come_and_go(void **state)
{
	struct loop *home = loop_new("home");
	struct crawl_registry *b = crawl_registry_new(home);
	struct watcher w[3] = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		w[i].watch.changed = told;
		crawl_registry_watch(b, &w[i].watch);
	}
	crawl_registry_notify(b);
	/* The second takes out the third, then itself. */
	w[1].other = &w[2];
	crawl_registry_notify(b);
	assert_int_equal(w[2].told, 1);
	w[1].other = &w[1];
	crawl_registry_notify(b);
	crawl_registry_notify(b);
	assert_int_equal(w[0].told, 4);
	assert_int_equal(w[1].told, 3);
	crawl_registry_unwatch(&w[0].watch);
	crawl_registry_notify(b);
	assert_int_equal(w[0].told, 4);
	crawl_registry_free(&b);
	loop_free(&home);
}

/* --- rates ---------------------------------------------------------------- */

static void
pass_second(struct loop *home)
{
	world.mono.ns += NS_PER_S;
	loop_step(home);
}

static void
rates_rise_and_fall(void **state)
{
	struct crawl_view v = { .id = 0 };
	struct crawl_spec spec = { .name = STR("x") };

	(void)state;
	struct loop *home = loop_new("home");
	struct crawl_registry *b = crawl_registry_new(home);
	crawl_registry_add(b, &v, &spec);
	const struct crawl_row *r = crawl_row(b, 0);
	for (int i = 0; i < 8; i++) {
		v.counts.items += 10;
		v.counts.body_bytes += 500;
		crawl_registry_show(b, &v);
		pass_second(home);
	}
	assert_true(r->pages_per_s > 9.9 && r->pages_per_s < 10.1);
	assert_true(r->bytes_per_s > 499 && r->bytes_per_s < 501);
	uint64_t version = crawl_registry_version(b);
	for (int i = 0; i < 8; i++)
		pass_second(home);
	/* Nothing goes on, and nothing ticks any more. */
	assert_true(r->pages_per_s == 0 && r->bytes_per_s == 0);
	assert_int_equal(loop_next_timer(home).ns, MONO_NEVER.ns);
	assert_int_equal(crawl_registry_version(b), version);
	crawl_registry_free(&b);
	loop_free(&home);
}

/* --- what the engine notes of a crawl ------------------------------------- */

static void
specs_are_read_back(void **state)
{
	struct seed_delay delays[] = { { STR("b\"c.org"), 0.1 },
	    { STR("a.org"), 0 } };
	struct crawl_spec s = { .policy_name = STR("p\"\\"),
	    .key = STR("3/1"), .schedule = 3, .delays = delays,
	    .delays_n = 2, .warc_bytes_max = 7 }, p;
	const struct str urls[] = { STR("https://a.org/x"), STR("c.org"),
	    STR("b.org") };
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;

	(void)state;
	crawl_spec_put(&s, &b);
	assert_true(crawl_spec_parse(buf_str(&b), &a, &p));
	assert_false(p.operator_seeds);
	assert_false(p.secret_proxy || p.unarchived);
	assert_true(str_eq(p.policy_name, s.policy_name));
	assert_true(str_eq(p.key, s.key));
	assert_int_equal(p.schedule, 3);
	assert_int_equal(p.warc_bytes_max, 7);
	assert_int_equal(p.delays_n, 2);
	assert_true(str_eq(p.delays[1].host, delays[0].host));
	assert_true(p.delays[0].s == 0 && p.delays[1].s == 0.1);
	const double *seconds = crawl_spec_delays(&p, urls, 3, &a);
	assert_true(seconds[0] == 0 && seconds[1] < 0 && seconds[2] < 0);
	buf_clear(&b);
	s = (struct crawl_spec){ .operator_seeds = true,
	    .secret_proxy = true, .unarchived = true };
	crawl_spec_put(&s, &b);
	assert_true(crawl_spec_parse(buf_str(&b), &a, &p));
	assert_true(p.operator_seeds && p.secret_proxy && p.unarchived);
	buf_free(&b);
	arena_free(&a);
}

/* A record with nothing but these options; it ends behind host_urls_max. */
static bool
parse_options(const char *options, struct arena *a, struct crawl_spec *s)
{
	struct str none[] = { STR(""), str_of(options), STR("") };
	struct buf b = BUF_INIT;

	buf_put(&b, "\0\0\0\0", 4);   /* kind, name, tags, seeds */
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		buf_put_field(&b, none[i]);
	buf_put(&b, "\0\0", 2);
	bool fine = crawl_spec_parse(arena_copy(a, buf_str(&b)), a, s);
	buf_free(&b);
	return fine;
}

static void
records_of_earlier_versions_are_read(void **state)
{
	struct arena a = ARENA_INIT;
	struct crawl_spec s;

	(void)state;
	/* The command line's; then what is damaged. */
	assert_true(parse_options("", &a, &s));
	assert_true(s.operator_seeds);
	assert_true(parse_options("{\"operator\":false}", &a, &s));
	assert_false(s.operator_seeds);
	assert_false(parse_options("{\"operator\":true", &a, &s));
	assert_false(s.operator_seeds);
	assert_false(parse_options("[true]", &a, &s));
	assert_false(s.operator_seeds);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deltas_merge_to_a_snapshot),
		cmocka_unit_test(rows_are_found_by_number),
		cmocka_unit_test(watchers_come_and_go),
		cmocka_unit_test_setup_teardown(rates_rise_and_fall,
		    world_setup, world_teardown),
		cmocka_unit_test(specs_are_read_back),
		cmocka_unit_test(records_of_earlier_versions_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
