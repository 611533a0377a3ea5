/* Hosts of which some pages never answer. */
#include "engine/engine_testing.h"

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
	return board_row(engine_board(rig.engine), *crawl)->view.counts;
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_pages_do_not_cost_the_others),
		cmocka_unit_test(a_host_that_falls_silent_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
