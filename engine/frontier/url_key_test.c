#include "engine/frontier/core.h"
#include "engine/frontier/submission.h"

#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <cmocka.h>

#define AGES (1u << 20)                 /* that are told apart */

static uint64_t
draw(void)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static double
bits_as_cost(uint64_t bits)
{
	double cost;

	memcpy(&cost, &bits, sizeof(cost));
	return cost;
}

/*
 * A cost of any kind: small and large, whole and not, negative, infinite; never
 * NaN, which sorts nowhere.
 */
static double
random_cost(void)
{
	for (;;) {
		double cost = 0;
		switch (draw() % 4) {
		case 0:
			cost = (double)(draw() % 100);
			break;
		case 1:
			cost = (double)(draw() % 1000000) / 4096;
			break;
		case 2:
			cost = ldexp((double)(draw() % 64), (int)(draw() % 40) -
			    14);
			break;
		default:
			cost = bits_as_cost(draw());
			break;
		}
		if (!isnan(cost))
			return cost;
	}
}

static uint32_t
random_age(void)
{
	return draw() % 2 == 0 ? (uint32_t)(draw() % 1000) :
	    (uint32_t)(draw() % (2 * AGES));
}

static void
expect_order(double low, double high, uint32_t young, uint32_t old)
{
	if (rank_of(low, young) > rank_of(high, young))
		fail_msg("cost %g comes after %g", low, high);
	if (rank_of(low, young) > rank_of(low, old))
		fail_msg("cost %g: age %u comes after %u", low, young, old);
	/* Whatever their ages, a class of cost comes before the next. */
	if (rank_of(low, 2) < rank_of(high, 2) &&
	    rank_of(low, UINT32_MAX) >= rank_of(high, 0))
		fail_msg("cost %g, late, comes after %g", low, high);
}

static void
monotone_tests(void **state)
{
	(void)state;
	for (int i = 0; i < 300000; i++) {
		double x = random_cost(), y = random_cost();
		uint32_t m = random_age(), n = random_age();
		expect_order(MIN(x, y), MAX(x, y), MIN(m, n), MAX(m, n));
		uint32_t rank = rank_of(x, m);
		assert_in_range(rank, 1, RANK_MAX);
	}
}

/* Neighbours among the doubles, where classes of cost meet. */
static void
class_edge_tests(void **state)
{
	size_t steps = 0;

	(void)state;
	for (int e = -20; e <= 40; e++)
		for (int part = 32; part < 64; part++) {
			double at = ldexp(part, e - 5);
			double below = nextafter(at, 0);
			expect_order(below, at, 5, 6);
			expect_order(at, nextafter(at, HUGE_VAL), 5, 6);
			steps += rank_of(below, 5) < rank_of(at, 5);
		}
	/* All classes but the lowest begin at such a number. */
	assert_int_equal(steps, 1023);
	assert_int_equal(rank_of(ldexp(32, -13), 5), 5);
	assert_int_equal(rank_of(ldexp(33, -13), 5), AGES + 5);
	assert_int_equal(rank_of(ldexp(63, 18), 5), 1023 * AGES + 5);
}

static void
whole_cost_tests(void **state)
{
	(void)state;
	/* Told apart, so that the cheaper goes first whatever its age. */
	for (int cost = 0; cost < 64; cost++)
		assert_true(rank_of(cost, UINT32_MAX) < rank_of(cost + 1, 0));
	for (int tenth = 1; tenth < 100; tenth++)
		assert_true(rank_of(tenth / 10.0, 0) <=
		    rank_of((tenth + 1) / 10.0, 0));
}

static void
age_tests(void **state)
{
	(void)state;
	for (uint32_t age = 1; age < 5000; age++)
		assert_true(rank_of(1, age) < rank_of(1, age + 1));
	assert_true(rank_of(1, AGES - 2) < rank_of(1, AGES - 1));
	assert_int_equal(rank_of(1, AGES - 1), rank_of(1, AGES));
	assert_int_equal(rank_of(1, AGES - 1), rank_of(1, UINT32_MAX));
}

/* What is no cost counts as none; a rank is never 0, which means done. */
static void
odd_cost_tests(void **state)
{
	static const double none[] = { 0, -0.0, -1, -HUGE_VAL, -1e-300, 1e-300,
		1.0 / 512 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		assert_int_equal(rank_of(none[i], 0), 1);
		assert_int_equal(rank_of(none[i], 1), 1);
		assert_int_equal(rank_of(none[i], 7), 7);
	}
	assert_int_equal(rank_of(NAN, 7), 7);
	assert_int_equal(rank_of(-NAN, 7), 7);
	assert_int_equal(rank_of(HUGE_VAL, UINT32_MAX), RANK_MAX);
	assert_int_equal(rank_of(1e300, UINT32_MAX), RANK_MAX);
	/* Never to be mistaken for a date: it would be one of January 2004. */
	assert_int_equal(RANK_MAX, 1073741823);
}

static void
value_round_trip_tests(void **state)
{
	static const double costs[] = { 0, -0.0, 1, 0.1, -3.5, 1e308, 5e-324,
		HUGE_VAL, -HUGE_VAL };
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < 20000; i++) {
		struct url_value v = {
			.created_s = (uint32_t)draw(), .flags = (uint8_t)draw(),
			.depth = (uint16_t)draw(), .why = (uint8_t)draw(),
			.cost = i < ARRAY_LEN(costs) ? costs[i] : random_cost(),
			.seq = draw() >> (draw() % 64),
		}, back;
		memset(&back, 0xaa, sizeof(back));
		buf_clear(&b);
		url_value_put(&v, &b);
		assert_in_range(b.n, 17, 26);
		assert_true(url_value_parse(buf_str(&b), &back));
		assert_int_equal(v.created_s, back.created_s);
		assert_int_equal(v.flags, back.flags);
		assert_int_equal(v.depth, back.depth);
		assert_int_equal(v.why, back.why);
		assert_true(v.seq == back.seq);
		assert_memory_equal(&v.cost, &back.cost, sizeof(v.cost));
	}
	buf_free(&b);
}

static void
value_damage_tests(void **state)
{
	struct url_value v = { 1, 2, 3, 4.5, 6, 300 }, back;
	struct buf b = BUF_INIT;

	(void)state;
	url_value_put(&v, &b);
	for (size_t n = 0; n < b.n; n++) {
		char *exact = mem_new(n + (n == 0));
		memcpy(exact, b.p, n);
		assert_false(url_value_parse((struct str){ exact, n }, &back));
		mem_free(&exact);
	}
	/* Any 16 bytes and a short number are a value, and stay the same. */
	b.n = 17;
	for (int i = 0; i < 10000; i++) {
		struct buf again = BUF_INIT;
		for (size_t k = 0; k < b.n; k++)
			b.p[k] = (char)draw();
		b.p[16] &= 0x7f;
		assert_true(url_value_parse(buf_str(&b), &back));
		url_value_put(&back, &again);
		assert_true(str_eq(buf_str(&b), buf_str(&again)));
		/* Even a NaN that somebody put there has a rank. */
		assert_in_range(rank_of(back.cost, 0), 1, RANK_MAX);
		buf_free(&again);
	}
	buf_free(&b);
}

/* In the index: crawl, queue, rank, URL; each field in order. */
static void
key_order_tests(void **state)
{
	struct buf x = BUF_INIT, y = BUF_INIT;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint32_t a[3], b[3];
		int wanted = 0;
		for (int k = 0; k < 3; k++) {
			a[k] = (uint32_t)(draw() % 3 * 0x7fffffff);
			b[k] = (uint32_t)(draw() % 3 * 0x7fffffff);
			if (wanted == 0 && a[k] != b[k])
				wanted = a[k] < b[k] ? -1 : 1;
		}
		buf_clear(&x);
		buf_clear(&y);
		url_key(a[0], a[1], a[2], STR("http://a.example/"), &x);
		url_key(b[0], b[1], b[2], STR("http://a.example/b"), &y);
		if (wanted == 0)
			wanted = -1;
		assert_true((str_cmp(buf_str(&x), buf_str(&y)) < 0) ==
		    (wanted < 0));
	}
	buf_clear(&x);
	queue_key(0x01020304, STR("a.example"), &x);
	assert_true(str_eq(buf_str(&x), STR("\1\2\3\4" "a.example")));
	buf_clear(&x);
	crawl_key(0x01020304, 'm', &x);
	assert_true(str_eq(buf_str(&x), STR("\1\2\3\4m")));
	buf_free(&x);
	buf_free(&y);
}

/* One URL in two crawls is two things; the hash of one crawl stays. */
static void
hash_tests(void **state)
{
	struct str url = STR("http://a.example/");

	(void)state;
	assert_true(frontier_hash(1, url) == frontier_hash(1, url));
	for (uint32_t crawl = 2; crawl < 1000; crawl++)
		assert_true(frontier_hash(crawl, url) != frontier_hash(1, url));
	assert_true(frontier_hash(1, STR("")) != frontier_hash(2, STR("")));
	assert_true(frontier_hash(1, url) !=
	    frontier_hash(1, STR("http://a.example/b")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(monotone_tests),
		cmocka_unit_test(class_edge_tests),
		cmocka_unit_test(whole_cost_tests), cmocka_unit_test(age_tests),
		cmocka_unit_test(odd_cost_tests),
		cmocka_unit_test(value_round_trip_tests),
		cmocka_unit_test(value_damage_tests),
		cmocka_unit_test(key_order_tests), cmocka_unit_test(hash_tests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
