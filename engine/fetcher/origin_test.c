/* robots.txt: asked once, obeyed, remembered, and what if it cannot be had. */
#include "engine/fetcher/fetcher_testing.h"

static struct fetch_rig rig;
static unsigned robots_asked;
static struct answer robots;

static void
site(struct str url, struct answer *a)
{
	if (str_ends(url, STR("/robots.txt"))) {
		robots_asked++;
		*a = robots;
		return;
	}
	a->head = "Content-Type: text/html\r\n";
	if (str_ends(url, STR("a.test/")))
		a->body = "<a href=/no/1>x</a><a href=/yes/1>x</a>"
		    "<a href=/yes/2>x</a><a href=/yes/3>x</a>";
}

static void
begin(struct answer r)
{
	robots = r;
	if (robots.head == NULL)
		robots.head = "";
	if (robots.body == NULL)
		robots.body = "";
	robots_asked = 0;
	fetch_rig_init(&rig, site);
	fetch_rig_begin(&rig, "{\"rate_limit\":0}", "http://a.test/");
}

static const struct crawl_counts *
counts(void)
{
	static struct crawl_counts n;

	n = rig_view(&rig.rig).counts;
	return &n;
}

static void
rules_are_asked_first_once_and_obeyed(void **state)
{
	(void)state;
	begin((struct answer){ .status = 200,
	    .body = "User-agent: *\nDisallow: /no/\n" });
	fetch_rig_pass(&rig, 2000);
	fetch_rig_asked(&rig, 0, "http://a.test/robots.txt");
	fetch_rig_asked(&rig, 1, "http://a.test/");
	assert_int_equal(robots_asked, 1);
	assert_int_equal(counts()->items, 4);
	assert_int_equal(counts()->skips[SKIP_ROBOTS], 1);
	fetch_rig_end(&rig);
}

/* Crawl-delay holds although the crawl wants none. */
static void
crawl_delay_is_kept(void **state)
{
	(void)state;
	begin((struct answer){ .status = 200,
	    .body = "User-agent: *\nCrawl-delay: 2\n" });
	fetch_rig_pass(&rig, 20000);
	assert_int_equal(rig.seen_n, 1 + 5);
	for (unsigned i = 1; i < rig.seen_n; i++)
		assert_true(fetch_rig_gap_ms(&rig, i - 1, i) >= 2000);
	assert_int_equal(rig.open_max, 1);
	fetch_rig_end(&rig);
}

static void
a_missing_file_allows_everything(void **state)
{
	(void)state;
	begin((struct answer){ .status = 404 });
	fetch_rig_pass(&rig, 2000);
	assert_int_equal(counts()->items, 5);
	fetch_rig_end(&rig);
}

/* RFC 9309 section 2.3.1.4; and it is asked again after robots_retry_s. */
static void
a_server_error_forbids_everything(void **state)
{
	(void)state;
	begin((struct answer){ .status = 500 });
	fetch_rig_pass(&rig, 30000);
	assert_int_equal(robots_asked, 3);
	assert_int_equal(rig.seen_n, 3);
	assert_int_equal(counts()->items, 0);
	assert_int_equal(counts()->skips[SKIP_ROBOTS], 1);
	fetch_rig_end(&rig);
}

static void
out_of_reach_is_an_exception(void **state)
{
	(void)state;
	begin((struct answer){ .status = 0, .end = TRANSPORT_CONNECT });
	fetch_rig_pass(&rig, 30000);
	assert_int_equal(rig.seen_n, robots_asked);
	assert_int_equal(crawl_exceptions(counts()), 1);
	assert_int_equal(rig.events[0].reason, EXCEPTION_CONNECT);
	fetch_rig_end(&rig);
}

static void
moved_to_a_private_address_skips_its_pages(void **state)
{
	(void)state;
	robots_asked = 0;
	robots = (struct answer){ .status = 302, .body = "",
	    .head = "Location: http://private.test/robots.txt\r\n" };
	fetch_rig_init(&rig, site);
	rig.settings.resolve = "a.test:*:93.184.216.34:80";
	fetch_rig_begin(&rig, "{\"rate_limit\":0}", "http://a.test/");
	fetch_rig_pass(&rig, 5000);
	assert_int_equal(rig.seen_n, 1);
	assert_int_equal(counts()->skips[SKIP_BLOCKED], 1);
	fetch_rig_end(&rig);
}

/* The stored copy serves a later fetcher for robots.txt's time. */
static void
it_is_remembered_by_the_index(void **state)
{
	struct wall fetched;
	struct str body;
	int status;

	(void)state;
	begin((struct answer){ .status = 200,
	    .body = "User-agent: *\nDisallow: /no/\n" });
	fetch_rig_pass(&rig, 2000);
	assert_int_equal(fetcher_stored_robots(ledger_index(frontier_ledger(
	    rig.rig.frontier)), STR("http://a.test"), &rig.rig.arena,
	    &fetched, &status, &body), OK);
	assert_int_equal(status, 200);
	assert_true(str_eq(body, str_of(robots.body)));
	fetch_rig_end(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_asked_first_once_and_obeyed),
		cmocka_unit_test(crawl_delay_is_kept),
		cmocka_unit_test(a_missing_file_allows_everything),
		cmocka_unit_test(a_server_error_forbids_everything),
		cmocka_unit_test(out_of_reach_is_an_exception),
		cmocka_unit_test(moved_to_a_private_address_skips_its_pages),
		cmocka_unit_test(it_is_remembered_by_the_index),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
