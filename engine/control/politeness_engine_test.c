/* Hosts of which some pages never answer, and hosts that nobody wants. */
#include "base/metric.h"
#include "engine/control/engine_testing.h"
#include "engine/catalog/catalog.h"
#include "os/clock.h"

static struct rig rig;

/* / links to 20 pages, of which each third is never answered. */
static void
site(struct str path, struct rig_page *p)
{
	uint64_t n;

	if (str_eq(path, STR("/")))
		for (int i = 0; i < 20; i++)
			buf_printf(&p->body, "<a href=/%d>x</a>", i);
	else
		p->drop = str_to_u64(str_from(path, 1), &n) && n % 3 == 0;
}

static void
dead_site(struct str path, struct rig_page *p)
{
	site(path, p);
	p->drop |= !str_eq(path, STR("/")) &&
	    !str_eq(path, STR("/robots.txt"));
}

static struct crawl_counts
crawled(rig_site_fn *is, uint32_t *crawl)
{
	rig_open(&rig, is, (const char *const[]){ "fetch.backoff_ms=10",
	    "fetch.backoff_max_ms=20", "fetch.tries_max=2", NULL });
	rig_start(&rig);
	*crawl = rig_launch(&rig, "/", "{\"rate_limit\":0,\"downloads\":1}");
	rig_until_state(&rig, *crawl, CRAWL_COMPLETE);
	return crawl_row(engine_registry(rig.engine), *crawl)->view.counts;
}

static void
broken_pages_do_not_cost_the_others(void **state)
{
	uint32_t crawl;

	(void)state;
	struct crawl_counts n = crawled(site, &crawl);
	assert_int_equal(n.items, 1 + 13);
	assert_int_equal(crawl_exceptions(&n), 7);
	/* A connection that was kept and cut is no try. */
	assert_in_range(rig_requests(&rig, "/3"), 2, 3);
	assert_int_equal(rig_requests(&rig, "/19"), 1);
	rig_close(&rig);
}

/* At some time it is taken for dead: nobody waits for each of its pages. */
static void
a_host_that_falls_silent_is_given_up(void **state)
{
	uint32_t crawl;

	(void)state;
	struct crawl_counts n = crawled(dead_site, &crawl);
	assert_int_equal(n.items, 1);
	assert_int_equal(crawl_exceptions(&n), 20);
	assert_in_range(rig_requests(&rig, NULL), 2 + 16 * 2, 3 + 16 * 2);
	rig_close(&rig);
}

/* How long four names at one address take; each has robots.txt and a page. */
static int64_t
ms_of_four_names(const char *address_delay, double delay_s)
{
	struct launch_seed seeds[4] = { { STR("http://a.test/19"), delay_s },
	    { STR("http://b.test/19"), delay_s }, { STR("http://c.test/19"),
	    delay_s }, { STR("http://d.test/19"), delay_s } };
	struct launch l = { .seeds = seeds, .seeds_n = 4 };
	char resolve[80];

	rig_open(&rig, site, (const char *const[]){ address_delay, NULL });
	snprintf(resolve, sizeof(resolve),
	    "fetch.resolve=*:80:127.0.0.1:%u", rig.port);
	assert_int_equal(conf_flag(&rig.conf, str_of(resolve), NULL), OK);
	rig_start(&rig);
	struct mono begun = clock_mono();
	rig_say_launch(&rig, &l);
	assert_int_equal(l.why.err, OK);
	rig_until_state(&rig, l.crawl, CRAWL_COMPLETE);
	int64_t ms = mono_ns_between(begun, clock_mono()) / NS_PER_MS;
	assert_int_equal(crawl_row(engine_registry(rig.engine),
	    l.crawl)->view.counts.items, 4);
	rig_close(&rig);
	return ms;
}

/* Eight requests, so seven pauses. */
static void
requests_to_one_address_are_spaced(void **state)
{
	(void)state;
	assert_true(ms_of_four_names("fetch.address_delay_ms=200ms", 0.5) >=
	    7 * 200);
	/* Never more than the host's own delay; and hosts without one. */
	assert_in_range(ms_of_four_names("fetch.address_delay_ms=60s", 0.1),
	    7 * 100, 20000);
	assert_in_range(ms_of_four_names("fetch.address_delay_ms=60s", 0), 0,
	    20000);
	assert_in_range(ms_of_four_names("fetch.address_delay_ms=0", 0.3),
	    300, 7 * 300 - 1);
}

static void
listed(struct captures_query *q)
{
	*(bool *)q->arg = true;
}

/* robots.txt comes first, and then the host's delay. */
static void
the_wait_for_a_turn_is_not_a_pages_time(void **state)
{
	bool done = false;
	struct captures_query q = { .size = 1, .done = listed, .arg = &done };

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	struct launch_seed seed = { rig_url(&rig, "/19"), 0.5 };
	struct launch l = { .seeds = &seed, .seeds_n = 1 };
	rig_say_launch(&rig, &l);
	assert_int_equal(l.why.err, OK);
	rig_until_state(&rig, l.crawl, CRAWL_COMPLETE);
	q.crawl = l.crawl;
	catalog_captures(engine_catalog(rig.engine), &q);
	RIG_UNTIL_DONE(&rig, done);
	assert_int_equal(q.n, 1);
	assert_in_range(q.pages[0].duration_us, 0, 400000);
	arena_free(&q.arena);
	rig_close(&rig);
}

static void
take_hosts(const struct metric *m, void *arg)
{
	if (strcmp(m->name, "argiope_hosts_known") == 0)
		*(int64_t *)arg = metric_value(m, 0);
}

static bool
hosts_are(struct rig *r, void *n)
{
	int64_t known = -1;

	(void)r;
	metric_each(take_hosts, &known);
	return known == *(int64_t *)n;
}

static void
take_kinds(const struct metric *m, void *arg)
{
	int64_t *kinds = arg;

	for (size_t i = 0; i < 4; i++)
		if (strcmp(m->name, "argiope_fetch_connections_total") == 0)
			kinds[i] = metric_value(m, i);
}

/* robots.txt and the page on one connection, over the host's pause. */
static void
a_connection_is_kept_over_the_delay(void **state)
{
	int64_t before[4] = { 0 }, after[4] = { 0 };

	(void)state;
	rig_open(&rig, site, NULL);
	metric_each(take_kinds, before);
	rig_start(&rig);
	struct launch_seed seed = { rig_url(&rig, "/19"), 1 };
	struct launch l = { .seeds = &seed, .seeds_n = 1 };
	rig_say_launch(&rig, &l);
	assert_int_equal(l.why.err, OK);
	rig_until_state(&rig, l.crawl, CRAWL_COMPLETE);
	rig_close(&rig);
	metric_each(take_kinds, after);
	assert_int_equal(after[0] - before[0], 1);
	assert_int_equal(after[1] - before[1], 1);
	assert_int_equal(after[2] + after[3], 0);
}

/* A delay is not over before it is, and what robots.txt says stays on disk. */
static void
a_host_that_nobody_wants_is_forgotten(void **state)
{
	int64_t none = 0, one = 1;
	struct mono began;

	(void)state;
	rig_open(&rig, site, (const char *const[]){ "fetch.host_idle_ms=1s",
	    NULL });
	rig_start(&rig);
	struct launch_seed seed = { rig_url(&rig, "/19"), 0.6 };
	struct launch l = { .seeds = &seed, .seeds_n = 1 };
	began = clock_mono();
	rig_say_launch(&rig, &l);
	assert_int_equal(l.why.err, OK);
	rig_until_state(&rig, l.crawl, CRAWL_COMPLETE);
	assert_true(hosts_are(&rig, &one));
	rig_until(&rig, hosts_are, &none);
	/* After robots.txt and after the page; then it is idle. */
	assert_true(mono_ns_between(began, clock_mono()) >=
	    (2 * 600 + 1000) * NS_PER_MS);
	uint32_t crawl = rig_launch(&rig, "/19", "{}");
	rig_until_state(&rig, crawl, CRAWL_COMPLETE);
	assert_int_equal(rig_requests(&rig, "/19"), 2);
	assert_int_equal(rig_requests(&rig, "/robots.txt"), 1);
	rig_close(&rig);
	assert_true(hosts_are(&rig, &none));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_pages_do_not_cost_the_others),
		cmocka_unit_test(a_host_that_falls_silent_is_given_up),
		cmocka_unit_test(the_wait_for_a_turn_is_not_a_pages_time),
		cmocka_unit_test(requests_to_one_address_are_spaced),
		cmocka_unit_test(a_connection_is_kept_over_the_delay),
		cmocka_unit_test(a_host_that_nobody_wants_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
