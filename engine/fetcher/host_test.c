/* Whose turn it is: delays, connections, back-off, dead hosts. */
#include "engine/fetcher/fetcher_testing.h"

#include "engine/fetcher/core.h"
#include "engine/fetcher/host.h"

static struct fetch_rig rig;

static void
ten_pages(struct str url, struct answer *a)
{
	a->head = "Content-Type: text/html\r\n";
	if (str_ends(url, STR("a.test/")))
		a->body = "<a href=/0>x</a><a href=/1>x</a><a href=/2>x</a>"
		    "<a href=/3>x</a><a href=/4>x</a><a href=/5>x</a>"
		    "<a href=/6>x</a><a href=/7>x</a><a href=/8>x</a>";
}

static struct host *
host_named(const char *name)
{
	return map_get(&rig.fetcher->hosts->by_name, str_of(name));
}

/* The pause begins with the end of an answer, and one request is out. */
static void
a_delay_is_kept(void **state)
{
	(void)state;
	fetch_rig_init(&rig, ten_pages);
	fetch_rig_begin(&rig, "{\"robots\":\"ignore\",\"rate_limit\":0.57}",
	    "http://a.test/");
	fetch_rig_pass(&rig, 10000);
	assert_int_equal(rig.seen_n, 10);
	assert_int_equal(rig.open_max, 1);
	for (unsigned i = 1; i < rig.seen_n; i++)
		assert_in_range(fetch_rig_gap_ms(&rig, i - 1, i), 570 + 20,
		    570 + 30);
	for (unsigned i = 0; i < rig.seen_n; i++)
		assert_int_equal(rig.seen[i].pause_ms, 570);
	fetch_rig_end(&rig);
}

static void
connections_are_limited_without_a_delay(void **state)
{
	(void)state;
	fetch_rig_init(&rig, ten_pages);
	fetch_rig_begin(&rig, "{\"robots\":\"ignore\",\"rate_limit\":0}",
	    "http://a.test/");
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig.seen_n, 10);
	assert_int_equal(rig.open_max, 4);
	assert_int_equal(rig.seen[0].pause_ms, 0);
	fetch_rig_end(&rig);
}

static void
hosts_that_redirect(struct str url, struct answer *a)
{
	a->head = "Content-Type: text/html\r\n";
	if (str_ends(url, STR("/robots.txt"))) {
		a->status = 404;
	} else if (str_ends(url, STR("a.test/"))) {
		a->body = "<a href=//b.test/>x</a><a href=//c.test/>x</a>"
		    "<a href=//d.test/>x</a><a href=//e.test/>x</a>";
	} else if (!str_ends(url, STR("/there"))) {
		a->status = 302;
		a->head = "Location: http://f.test/there\r\n";
	}
}

/* robots.txt and the hops of a redirect count as well as a page's own URL. */
static void
downloads_are_limited_over_all_hosts(void **state)
{
	(void)state;
	fetch_rig_init(&rig, hosts_that_redirect);
	fetch_rig_begin(&rig, "{\"rate_limit\":0,\"downloads\":2}",
	    "http://a.test/");
	fetch_rig_pass(&rig, 10000);
	assert_int_equal(rig.events_n, 5);
	/* Six robots.txt, five URLs, four hops. */
	assert_int_equal(rig.seen_n, 15);
	assert_int_equal(rig.open_max, 2);
	assert_int_equal(rig.crawl.downloads, 0);
	fetch_rig_end(&rig);
}

static void
hosts_with_three_pages(struct str url, struct answer *a)
{
	a->head = "Content-Type: text/html\r\n";
	if (str_ends(url, STR("a.test/")))
		a->body = "<a href=//b.test/>x</a><a href=//c.test/>x</a>"
		    "<a href=//d.test/>x</a><a href=//e.test/>x</a>";
	else if (str_ends(url, STR(".test/")))
		a->body = "<a href=/2>x</a><a href=/3>x</a>";
}

/* More hosts than connections: a host that has to wait for one keeps its delay
 * all the same. */
static void
connections_are_limited_over_all_hosts(void **state)
{
	(void)state;
	fetch_rig_init(&rig, hosts_with_three_pages);
	rig.settings.connections_max = 2;
	rig.answer_ms = 300;
	fetch_rig_begin(&rig, "{\"robots\":\"ignore\",\"rate_limit\":0.4}",
	    "http://a.test/");
	fetch_rig_pass(&rig, 20000);
	assert_int_equal(rig.seen_n, 1 + 4 * 3);
	assert_int_equal(rig.open_max, 2);
	for (unsigned a = 0; a < rig.seen_n; a++)
		for (unsigned b = a + 1; b < rig.seen_n; b++)
			if (strncmp(rig.seen[a].url, rig.seen[b].url,
			    strlen("http://a.test/")) == 0)
				assert_true(fetch_rig_gap_ms(&rig, a, b) >=
				    300 + 400);
	fetch_rig_end(&rig);
}

static void
busy_once(struct str url, struct answer *a)
{
	ten_pages(url, a);
	if (rig.seen_n == 1) {
		a->status = 503;
		a->head = "Retry-After: 5\r\n";
	}
}

/* The back-off is shorter; the site's word is longer and wins. */
static void
retry_after_is_kept(void **state)
{
	(void)state;
	fetch_rig_init(&rig, busy_once);
	fetch_rig_begin(&rig, "{\"robots\":\"ignore\",\"rate_limit\":0}",
	    "http://a.test/1");
	fetch_rig_pass(&rig, 3000);
	assert_int_equal(rig.seen_n, 1);
	assert_true(host_named("a.test")->backoff_ms > 0);
	assert_int_equal(host_named("a.test")->place, HOST_SLEEPING);
	fetch_rig_pass(&rig, 7000);
	assert_int_equal(rig.seen_n, 2);
	assert_in_range(fetch_rig_gap_ms(&rig, 0, 1), 5000, 5100);
	assert_int_equal(host_named("a.test")->backoff_ms, 0);
	fetch_rig_end(&rig);
}

static void
falls_silent(struct str url, struct answer *a)
{
	ten_pages(url, a);
	if (rig.seen_n > 1) {
		a->status = 0;
		a->end = TRANSPORT_CONNECT;
	}
}

/* One page's three tries; the others fail without a request. */
static void
a_host_out_of_reach_fails_its_other_urls(void **state)
{
	(void)state;
	fetch_rig_init(&rig, falls_silent);
	rig.settings.host_connections_max = 1;
	fetch_rig_begin(&rig, "{\"robots\":\"ignore\",\"rate_limit\":0}",
	    "http://a.test/");
	fetch_rig_pass(&rig, 20000);
	assert_int_equal(rig.events_n, 10);
	assert_in_range(rig.seen_n, 1 + 3, 1 + 9 + 2);
	for (unsigned i = 1; i < rig.events_n; i++)
		assert_int_equal(rig.events[i].reason, EXCEPTION_CONNECT);
	fetch_rig_end(&rig);
}

/* host_idle_ms counts from the end of the delay. */
static void
a_host_is_forgotten_when_its_delay_is_over(void **state)
{
	(void)state;
	fetch_rig_init(&rig, ten_pages);
	rig.settings.host_idle_ms = 1000;
	fetch_rig_begin(&rig, "{\"robots\":\"ignore\",\"rate_limit\":5}",
	    "http://a.test/1");
	fetch_rig_pass(&rig, 100);
	fetcher_order(rig.fetcher, &rig.crawl, FETCH_END);
	fetch_rig_pass(&rig, 5000);
	assert_non_null(host_named("a.test"));
	fetch_rig_pass(&rig, 3000);
	assert_null(host_named("a.test"));
	fetch_rig_end(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_delay_is_kept),
		cmocka_unit_test(connections_are_limited_without_a_delay),
		cmocka_unit_test(connections_are_limited_over_all_hosts),
		cmocka_unit_test(downloads_are_limited_over_all_hosts),
		cmocka_unit_test(retry_after_is_kept),
		cmocka_unit_test(a_host_out_of_reach_fails_its_other_urls),
		cmocka_unit_test(a_host_is_forgotten_when_its_delay_is_over),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
