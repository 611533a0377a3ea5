/* A page's steps: what becomes of a URL, told from its answers. */
#include "engine/fetcher/fetcher_testing.h"

static struct fetch_rig rig;

/* No robots.txt anywhere, a policy without delay. */
#define PLAIN "{\"robots\":\"ignore\",\"rate_limit\":0}"

static void
begin(site_fn *site, const char *seed)
{
	fetch_rig_init(&rig, site);
	fetch_rig_begin(&rig, PLAIN, seed);
}

static void
redirecting(struct str url, struct answer *a)
{
	if (str_ends(url, STR("/loop"))) {
		a->status = 302;
		a->head = "Location: /loop\r\n";
	} else if (str_ends(url, STR("/moved"))) {
		a->status = 301;
		a->head = "Location: http://b.test/here\r\n";
	}
}

static void
a_redirect_is_followed_to_its_end(void **state)
{
	(void)state;
	begin(redirecting, "http://a.test/moved");
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig.seen_n, 2);
	fetch_rig_asked(&rig, 1, "http://b.test/here");
	assert_int_equal(rig.events_n, 1);
	assert_int_equal(rig.events[0].outcome, OUTCOME_ITEM);
	assert_int_equal(rig.events[0].hops, 1);
	assert_int_equal(rig.events[0].status, 200);
	fetch_rig_end(&rig);
}

/* The first request and one for each redirect that is allowed. */
static void
redirects_have_a_limit(void **state)
{
	(void)state;
	begin(redirecting, "http://a.test/loop");
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig.seen_n, 1 + 5);
	assert_int_equal(rig.events_n, 1);
	assert_int_equal(rig.events[0].outcome, OUTCOME_EXCEPTION);
	assert_int_equal(rig.events[0].reason, EXCEPTION_REDIRECTS);
	fetch_rig_end(&rig);
}

static void
cut(struct str url, struct answer *a)
{
	(void)url;
	a->status = 0;
	a->end = TRANSPORT_RESET;
}

/* Each after the host's back-off, which doubles. */
static void
a_cut_answer_is_tried_again(void **state)
{
	(void)state;
	begin(cut, "http://a.test/");
	fetch_rig_pass(&rig, 60000);
	assert_int_equal(rig.seen_n, 3);
	assert_in_range(fetch_rig_gap_ms(&rig, 0, 1), 1020, 1030);
	assert_in_range(fetch_rig_gap_ms(&rig, 1, 2), 2020, 2030);
	assert_int_equal(rig.events_n, 1);
	assert_int_equal(rig.events[0].reason, EXCEPTION_RESET);
	assert_int_equal(rig.events[0].tries, 3);
	fetch_rig_end(&rig);
}

static void
linking(struct str url, struct answer *a)
{
	a->head = "Content-Type: text/html\r\n";
	if (str_ends(url, STR("a.test/")))
		a->body = "<a href=/1>x</a><a href=/2>x</a><a href=/1>x</a>";
}

static void
links_become_pages_once(void **state)
{
	(void)state;
	begin(linking, "http://a.test/");
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig.seen_n, 3);
	assert_int_equal(rig.events_n, 3);
	assert_int_equal(rig_view(&rig.rig).counts.items, 3);
	fetch_rig_end(&rig);
}

/* Its lease goes back: the URL waits again, and nothing was reported. */
static void
a_page_whose_crawl_ends_goes_back(void **state)
{
	(void)state;
	begin(linking, "http://a.test/");
	assert_int_equal(rig.open, 1);
	fetcher_order(rig.fetcher, &rig.crawl, FETCH_END);
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig.open, 0);
	assert_int_equal(rig.seen_n, 1);
	assert_int_equal(rig.events_n, 0);
	assert_int_equal(rig.crawl.downloads, 0);
	assert_int_equal(rig.crawl.users, 1);
	assert_int_equal(rig_url_state(&rig.rig, "http://a.test/"),
	    URL_WAITING);
	fetch_rig_end(&rig);
}

/*
 * Both pages wait for the one connection to their address.  The second one,
 * which the first one's end wakes, asks for nothing when the crawl has ended.
 */
static void
a_page_that_is_woken_after_the_end_asks_nothing(void **state)
{
	(void)state;
	fetch_rig_init(&rig, linking);
	rig.settings.address_connections_max = 1;
	rig.answer_ms = 500;
	fetch_rig_begin(&rig, PLAIN, "http://a.test/");
	fetch_rig_pass(&rig, 700);
	assert_int_equal(rig.seen_n, 2);
	assert_int_equal(rig.open, 1);
	fetcher_order(rig.fetcher, &rig.crawl, FETCH_END);
	fetch_rig_pass(&rig, 2000);
	assert_int_equal(rig.seen_n, 2);
	assert_int_equal(rig.crawl.users, 1);
	fetch_rig_end(&rig);
}

/* --- addresses ----------------------------------------------------------- */

static void
fetch_from(const char *resolve, const char *seed)
{
	fetch_rig_init(&rig, linking);
	rig.settings.resolve = resolve;
	fetch_rig_begin(&rig, PLAIN, seed);
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig.events_n, 1);
}

/* A name's private address is refused, whatever fetch.resolve says of others;
 * the names that it has itself may be private. */
static void
fetch_resolve_permits_only_the_hosts_it_names(void **state)
{
	(void)state;
	fetch_from("a.test:*:10.1.2.3:80", "http://a.test/x");
	assert_int_equal(rig.events[0].outcome, OUTCOME_ITEM);
	fetch_rig_end(&rig);
	fetch_from("a.test:*:10.1.2.3:80", "http://public.test/x");
	assert_int_equal(rig.events[0].outcome, OUTCOME_ITEM);
	fetch_rig_end(&rig);
	fetch_from("a.test:*:10.1.2.3:80", "http://private.test/x");
	assert_int_equal(rig.events[0].outcome, OUTCOME_SKIPPED);
	assert_int_equal(rig.events[0].reason, SKIP_BLOCKED);
	assert_int_equal(rig.seen_n, 0);
	fetch_rig_end(&rig);
}

/* As when a kept connection leads elsewhere than the name did. */
static void
a_connection_elsewhere_is_refused(void **state)
{
	(void)state;
	for (int named = 0; named <= 1; named++) {
		fetch_rig_init(&rig, linking);
		rig.settings.resolve = named ? "public.test:*:93.184.216.34:80"
		    : "a.test:*:10.1.2.3:80";
		rig.connects_to = "10.9.9.9";
		fetch_rig_begin(&rig, PLAIN, "http://public.test/x");
		fetch_rig_pass(&rig, 1000);
		assert_int_equal(rig.seen_n, 1);
		assert_int_equal(rig.blocked, !named);
		assert_int_equal(rig.events[0].outcome, named ? OUTCOME_ITEM :
		    OUTCOME_SKIPPED);
		fetch_rig_end(&rig);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_redirect_is_followed_to_its_end),
		cmocka_unit_test(redirects_have_a_limit),
		cmocka_unit_test(a_cut_answer_is_tried_again),
		cmocka_unit_test(links_become_pages_once),
		cmocka_unit_test(a_page_whose_crawl_ends_goes_back),
		cmocka_unit_test(
		    a_page_that_is_woken_after_the_end_asks_nothing),
		cmocka_unit_test(fetch_resolve_permits_only_the_hosts_it_names),
		cmocka_unit_test(a_connection_elsewhere_is_refused),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
