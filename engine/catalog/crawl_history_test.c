/*
 * However long a crawl runs its points are few, in order, end with what is so,
 * and lie where its counters were.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/catalog/crawl_history.h"

#define S ((int64_t)1000000)
#define BEGIN (1700000000 * S)

static struct history_point points[HISTORY_POINTS_MAX];

static void
note(struct histories *all, struct crawl_history **h, int64_t second,
    uint64_t items)
{
	struct crawl_view v = { .counts = { .items = items,
	    .queued = 2 * items, .body_bytes = 100 * items,
	    .status = { 0, 0, items - items / 4, 0, items / 4, 0 },
	    .not_found = items / 4, .exceptions = { 1, items } } };

	crawl_history_note(all, h, &v, (struct wall){ BEGIN + second * S });
}

/* Each is one that was noted, with all of it; none twice. */
static void
check_points(size_t n, uint64_t items_per_s)
{
	for (size_t i = 0; i < n; i++) {
		const struct history_point *p = &points[i];
		uint64_t s = (uint64_t)(p->at.us - BEGIN) / S;
		assert_int_equal(p->items, items_per_s * s);
		assert_int_equal(p->queued, 2 * p->items);
		assert_int_equal(p->bytes, 100 * p->items);
		assert_int_equal(p->status[0] + p->status[2], p->items);
		assert_int_equal(p->exceptions, 1 + p->items);
		assert_true(i == 0 || p->at.us > points[i - 1].at.us);
	}
}

static void
test_a_night(void **state)
{
	struct histories *all = histories_new();
	struct crawl_history *h = NULL;
	int64_t second = 0, gap = 0;

	(void)state;
	assert_int_equal(crawl_history_read(h, points), 0);
	for (; second < 10; second++)
		note(all, &h, second, 7 * (uint64_t)second);
	assert_int_equal(crawl_history_read(h, points), 10);
	check_points(10, 7);
	for (; second < 8 * 3600; second++) {
		note(all, &h, second, 7 * (uint64_t)second);
		if (second % 997 != 0)
			continue;
		size_t n = crawl_history_read(h, points);
		assert_in_range(n, 10, HISTORY_POINTS_MAX);
		check_points(n, 7);
		assert_int_equal(points[0].items, 0);
		assert_int_equal(points[n - 1].items, 7 * second);
	}
	/* Some 2 minutes apart, and of the last 5 minutes 5 s. */
	size_t n = crawl_history_read(h, points);
	assert_in_range(n, 150, HISTORY_POINTS_MAX);
	for (size_t i = 1; i < n; i++)
		gap = MAX(gap, points[i].at.us - points[i - 1].at.us);
	assert_in_range(gap, 120 * S, 257 * S);
	for (size_t i = n - 50; i < n; i++)
		assert_in_range(points[i].at.us - points[i - 1].at.us, 1,
		    5 * S);
	crawl_history_ended(h);
	n = crawl_history_read(h, points);
	assert_in_range(n, HISTORY_ENDED_MAX / 2, HISTORY_ENDED_MAX);
	assert_int_equal(points[n - 1].items, 7 * (second - 1));
	check_points(n, 7);
	histories_free(&all);
	assert_null(h);
	histories_free(&all);
}

/* Nothing is noted while nothing happens: then it goes on from what was so. */
static void
test_silence(void **state)
{
	struct histories *all = histories_new();
	struct crawl_history *h = NULL;

	(void)state;
	note(all, &h, 0, 0);
	note(all, &h, 1, 10);
	note(all, &h, 5000, 10);
	note(all, &h, 5001, 30);
	assert_int_equal(crawl_history_read(h, points), 4);
	assert_int_equal(points[2].at.us, BEGIN + 5000 * S);
	assert_int_equal(points[2].items, 10);
	/* The clock is set back: no point is before another. */
	note(all, &h, 3000, 40);
	size_t n = crawl_history_read(h, points);
	assert_int_equal(points[n - 1].items, 40);
	assert_int_equal(points[n - 1].at.us, BEGIN + 5001 * S);
	crawl_history_drop(all, &h);
	assert_null(h);
	crawl_history_drop(all, &h);
	crawl_history_ended(h);
	histories_free(&all);
}

static void
test_many_crawls(void **state)
{
	enum { MORE = 10, ALL = HISTORY_CRAWLS_MAX + MORE };
	struct histories *all = histories_new();
	static struct crawl_history *h[ALL];

	(void)state;
	for (int i = 0; i < ALL; i++) {
		note(all, &h[i], i, 1);
		/* The first one does not fall silent. */
		note(all, &h[0], i, 2);
	}
	assert_non_null(h[0]);
	for (int i = 1; i < ALL; i++)
		assert_true((h[i] == NULL) == (i <= MORE));
	histories_free(&all);
	for (int i = 0; i < ALL; i++)
		assert_null(h[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_night),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_many_crawls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
