#include "engine/frontier/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "engine/frontier/frontier.h"

static void
put_capture(struct via_memory *m, uint32_t crawl, uint64_t seq)
{
	char url[64];

	snprintf(url, sizeof(url), "http://a.example/%u/%llu", crawl,
	    (unsigned long long)seq);
	via_put(m, crawl, seq, str_of(url));
}

/* Whether a lease found by that capture gets its URL, and no other one. */
static bool
is_known(struct via_memory *m, uint32_t crawl, uint64_t seq)
{
	char url[64];
	struct lease l = { .via_seq = seq };
	struct serve s = { .crawl = crawl, .leases = &l, .n = 1 };
	bool found = via_find(m, &s);

	snprintf(url, sizeof(url), "http://a.example/%u/%llu", crawl,
	    (unsigned long long)seq);
	if (found)
		assert_true(str_eq(l.via, str_of(url)));
	else
		assert_int_equal(l.via.n, 0);
	arena_free(&s.arena);
	return found;
}

static void
test_newest_are_kept(void **state)
{
	struct via_memory *m = mem_new(sizeof(*m));

	(void)state;
	assert_false(is_known(m, 0, 1));
	for (uint64_t seq = 1; seq <= VIA_SLOTS; seq++)
		put_capture(m, 0, seq);
	assert_true(is_known(m, 0, 1));
	assert_true(is_known(m, 0, VIA_SLOTS));
	put_capture(m, 0, VIA_SLOTS + 1);
	assert_false(is_known(m, 0, 1));
	assert_true(is_known(m, 0, 2));
	/* The same slot, of another crawl. */
	assert_false(is_known(m, 1, 1));
	put_capture(m, 1, 1);
	assert_true(is_known(m, 1, 1));
	assert_false(is_known(m, 0, 2));
	via_free(m);
	mem_free(&m);
}

static void
test_long_urls_are_not_kept(void **state)
{
	struct via_memory *m = mem_new(sizeof(*m));
	char url[VIA_BYTES_MAX + 1];
	struct lease l = { .via_seq = 7 };
	struct serve s = { .leases = &l, .n = 1 };

	(void)state;
	memset(url, 'u', sizeof(url));
	via_put(m, 0, 7, (struct str){ url, VIA_BYTES_MAX + 1 });
	assert_false(via_find(m, &s));
	via_put(m, 0, 7, (struct str){ url, VIA_BYTES_MAX });
	assert_true(via_find(m, &s));
	assert_int_equal(l.via.n, VIA_BYTES_MAX);
	arena_free(&s.arena);
	via_free(m);
	mem_free(&m);
}

static void
test_neighbours_and_seeds(void **state)
{
	struct via_memory *m = mem_new(sizeof(*m));
	struct lease l[] = { { .via_seq = 3 }, { .via_seq = 3 },
		{ .via_seq = 0 }, { .via_seq = 4 } };
	struct serve s = { .leases = l, .n = ARRAY_LEN(l) };

	(void)state;
	put_capture(m, 0, 3);
	assert_false(via_find(m, &s));
	assert_true(str_eq(l[0].via, l[1].via) && l[0].via.n > 0);
	assert_int_equal(l[2].via.n, 0);
	assert_int_equal(l[3].via.n, 0);
	l[3].via = STR("http://a.example/0/4");
	via_learn(m, &s);
	assert_true(is_known(m, 0, 4));
	arena_free(&s.arena);
	via_free(m);
	mem_free(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_newest_are_kept),
		cmocka_unit_test(test_long_urls_are_not_kept),
		cmocka_unit_test(test_neighbours_and_seeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
