#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/map.h"
#include "engine/ledger/url_table.h"
#include "tests/rounds.h"

static uint64_t
nth(uint64_t i)
{
	return hash_u64(i + 1);
}

static void
test_empty(void **state)
{
	struct url_table *k = url_table_new();
	struct url_entry e;
	struct url_table_stats s;
	uint64_t from = 0;
	uint32_t date = 7;
	uint8_t st = 7;

	(void)state;
	assert_false(url_table_get(k, nth(0), &date, &st));
	assert_int_equal(date, 0);
	assert_int_equal(st, KNOWN_NONE);
	assert_false(url_table_remove(k, nth(0)));
	assert_false(url_table_next(k, &from, &e));
	url_table_prefetch(k, nth(0));
	assert_int_equal(url_table_evict(k, 10, 0xffff, NULL, NULL), 0);
	url_table_stats(k, &s);
	assert_int_equal(s.count, 0);
	assert_int_equal(s.bytes, 0);
	url_table_check(k);
	url_table_free(&k);
	assert_null(k);
	url_table_free(&k);
}

static void
test_put_get_set_remove(void **state)
{
	struct url_table *k = url_table_new();
	uint32_t date = 100;
	uint8_t st = KNOWN_WAITING;

	(void)state;
	assert_true(url_table_put_new(k, nth(0), &date, &st));
	date = 200;
	st = KNOWN_DONE;
	assert_false(url_table_put_new(k, nth(0), &date, &st));
	assert_int_equal(date, 100);
	assert_int_equal(st, KNOWN_WAITING);
	url_table_set(k, nth(0), UINT32_MAX, KNOWN_STATE_MAX);
	assert_true(url_table_get(k, nth(0), &date, &st));
	assert_int_equal(date, UINT32_MAX);
	assert_int_equal(st, KNOWN_STATE_MAX);
	url_table_set(k, nth(1), 0, KNOWN_LEASED);
	assert_true(url_table_get(k, nth(1), &date, &st));
	assert_int_equal(date, 0);
	assert_int_equal(st, KNOWN_LEASED);
	assert_true(url_table_remove(k, nth(0)));
	assert_false(url_table_remove(k, nth(0)));
	assert_false(url_table_get(k, nth(0), &date, &st));
	assert_true(url_table_get(k, nth(1), &date, &st));
	url_table_check(k);
	url_table_free(&k);
}

/* Hashes at both ends of the table and of its parts. */
static void
test_edges(void **state)
{
	static const uint64_t edges[] = {
		0, 1, UINT64_C(0x000fffffffffffff),
		UINT64_C(0x0010000000000000),
		UINT64_C(0xfff0000000000000), UINT64_MAX - 2, UINT64_MAX - 1,
	};
	struct url_table *k = url_table_new();
	struct url_entry e;
	uint64_t from = 0;
	uint32_t date;
	uint8_t st;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(edges); i++)
		url_table_set(k, edges[i], (uint32_t)i, KNOWN_DONE);
	/* The greatest of all stands for the one before it. */
	assert_true(url_table_get(k, UINT64_MAX, &date, &st));
	assert_int_equal(date, ARRAY_LEN(edges) - 1);
	for (size_t i = 0; i < ARRAY_LEN(edges); i++) {
		assert_true(url_table_next(k, &from, &e));
		assert_true(e.hash == edges[i]);
		assert_int_equal(e.date, i);
	}
	assert_false(url_table_next(k, &from, &e));
	assert_false(url_table_next(k, &from, &e));
	assert_true(url_table_remove(k, UINT64_MAX));
	assert_false(url_table_get(k, UINT64_MAX - 1, &date, &st));
	url_table_check(k);
	url_table_free(&k);
}

/* Room that was made beforehand need not be made again and again. */
static void
test_expected(void **state)
{
	struct url_table_stats plain, expected;
	struct url_table *k[2] = { url_table_new(), url_table_new() };

	(void)state;
	url_table_expect(k[1], 200000, 2);
	url_table_check(k[1]);
	for (unsigned i = 0; i < 200000; i++) {
		url_table_set(k[0], nth(i), i, KNOWN_WAITING);
		url_table_set(k[1], nth(i), i, KNOWN_WAITING);
	}
	url_table_expect(k[1], 1 << 30, 2); /* not empty: nothing happens */
	url_table_stats(k[0], &plain);
	url_table_stats(k[1], &expected);
	assert_int_equal(expected.count, 200000);
	assert_true(expected.growths < plain.growths / 8);
	assert_true(expected.bytes < plain.bytes + plain.bytes / 2);
	url_table_check(k[1]);
	for (unsigned i = 0; i < 200000; i++)
		assert_true(url_table_remove(k[1], nth(i)));
	url_table_stats(k[1], &expected);
	assert_int_equal(expected.bytes, 0);
	url_table_free(&k[0]);
	url_table_free(&k[1]);
}

/* More entries with one home than a small part's pad holds. */
static void
test_crowd(void **state)
{
	struct url_table *k = url_table_new();
	const uint64_t top = UINT64_C(0xfffffffff0000000);
	uint32_t date;
	uint8_t st;

	(void)state;
	for (uint64_t i = 0; i < 30; i++) {
		url_table_set(k, top + (i * 7 % 30 << 15), (uint32_t)i, 1);
		url_table_check(k);
	}
	for (uint64_t i = 0; i < 30; i++) {
		assert_true(
		    url_table_get(k, top + (i * 7 % 30 << 15), &date, &st));
		assert_int_equal(date, i);
	}
	for (uint64_t i = 0; i < 30; i += 2) {
		assert_true(url_table_remove(k, top + (i << 15)));
		url_table_check(k);
	}
	for (uint64_t i = 0; i < 30; i++)
		assert_int_equal(url_table_get(k, top + (i << 15), &date, &st),
		    i % 2);
	url_table_free(&k);
}

/* Random work beside a plain table: they must agree. */
#define MODEL_KEYS 3000
struct model {
	uint64_t hash[MODEL_KEYS];
	uint32_t date[MODEL_KEYS];
	uint8_t state[MODEL_KEYS];
	size_t n;
};

static void
one_step(struct url_table *k, struct model *m, uint64_t r)
{
	size_t i = r % MODEL_KEYS;
	uint32_t date = (uint32_t)(r >> 32), got;
	uint8_t st = (uint8_t)(1 + (r >> 24) % 4), got_state;
	bool there = m->state[i] != 0;

	switch (r >> 16 & 7) {
	case 0: case 1: case 2:
		got = date;
		got_state = st;
		assert_int_equal(
		    url_table_put_new(k, m->hash[i], &got, &got_state), !there);
		if (there) {
			assert_int_equal(got, m->date[i]);
			assert_int_equal(got_state, m->state[i]);
			return;
		}
		break;
	case 3:
		url_table_set(k, m->hash[i], date, st);
		break;
	case 4: case 5:
		assert_int_equal(url_table_remove(k, m->hash[i]), there);
		m->state[i] = 0;
		m->n -= there;
		return;
	default:
		assert_int_equal(url_table_get(k, m->hash[i], &got, &got_state),
		    there);
		assert_int_equal(got_state, m->state[i]);
		return;
	}
	m->n += !there;
	m->date[i] = date;
	m->state[i] = st;
}

static void
test_against_model(void **state)
{
	struct url_table *k = url_table_new();
	struct model *m = mem_new(sizeof(*m));
	struct url_table_stats s;

	(void)state;
	/* Few parts and close hashes, so that runs are long. */
	for (size_t i = 0; i < MODEL_KEYS; i++) {
		m->hash[i] = (nth(i) & ~(UINT64_C(0xfff) << 52)) |
		    (uint64_t)(i % 3) << 52;
		if (i % 3 == 0)
			m->hash[i] &= ~(UINT64_C(0xf) << 48);
	}
	for (uint64_t step = 0; step < ROUNDS(300000); step++) {
		one_step(k, m, nth(step + 1000000));
		if (step % 997 == 0)
			url_table_check(k);
	}
	url_table_stats(k, &s);
	assert_int_equal(s.count, m->n);
	for (size_t i = 0; i < MODEL_KEYS; i++)
		url_table_remove(k, m->hash[i]);
	url_table_check(k);
	url_table_stats(k, &s);
	assert_int_equal(s.count, 0);
	/* What was needed once is given back. */
	assert_true(s.bytes < 3 * 12 * 200);
	mem_free(&m);
	url_table_free(&k);
}

#define MANY ROUNDS(1000000u)

static struct url_table *
filled(uint32_t n)
{
	struct url_table *k = url_table_new();

	for (uint32_t i = 0; i < n; i++)
		url_table_set(k, nth(i), i, (uint8_t)(1 + i % 4));
	return k;
}

static void
test_many(void **state)
{
	struct url_table *k = filled(MANY);
	struct url_table_stats s;
	struct url_entry e;
	uint32_t date, n = 0;
	uint8_t st;

	(void)state;
	url_table_check(k);
	url_table_stats(k, &s);
	assert_int_equal(s.count, MANY);
	assert_true(s.bytes <= (uint64_t)MANY * 20);
	assert_true(s.growths > 0 && s.growth_ns_max > 0);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_true(url_table_get(k, nth(i), &date, &st));
		assert_int_equal(date, i);
		assert_int_equal(st, 1 + i % 4);
	}
	for (uint32_t i = MANY; i < 2 * MANY; i++)
		assert_false(url_table_get(k, nth(i), &date, &st));
	/* Every entry once, rising, although the walk removes behind itself. */
	uint64_t from = 0, before = 0;
	while (url_table_next(k, &from, &e)) {
		assert_true(n == 0 || e.hash > before);
		assert_true(e.hash == nth(e.date));
		before = e.hash;
		n++;
		assert_true(url_table_remove(k, e.hash));
	}
	assert_int_equal(n, MANY);
	url_table_check(k);
	url_table_free(&k);
}

static void
count_gone(void *arg, const struct url_entry *e)
{
	assert_int_equal(e->state, KNOWN_DONE);
	(*(size_t *)arg)++;
}

static void
test_evict(void **state)
{
	struct url_table *k = url_table_new();
	uint32_t date;
	uint8_t st;
	size_t gone = 0, n = 0;

	(void)state;
	for (uint32_t i = 0; i < 8000; i++)
		url_table_set(k, nth(i), i, i % 2 ? KNOWN_DONE : KNOWN_WAITING);
	/* A thousand of those done are asked for; they stay the longest. */
	for (uint32_t i = 1; i < 2000; i += 2)
		assert_true(url_table_get(k, nth(i), &date, &st));
	while (n < 3000)
		n += url_table_evict(k, 50, 1 << KNOWN_DONE, count_gone, &gone);
	assert_int_equal(gone, n);
	assert_int_equal(n, 3000);
	for (uint32_t i = 0; i < 8000; i++)
		assert_int_equal(url_table_get(k, nth(i), &date, &st),
		    i % 2 == 0 || i < 2000);
	/* One call looks at no more than it may. */
	assert_int_equal(
	    url_table_evict(k, 1, 1 << KNOWN_LEASED, NULL, NULL), 0);
	url_table_check(k);
	/* Memory comes back, all of it when nothing is left. */
	struct url_table_stats s;
	do {
		url_table_evict(k, 500, UINT16_MAX, NULL, NULL);
		url_table_stats(k, &s);
	} while (s.count > 0);
	assert_int_equal(s.bytes, 0);
	url_table_set(k, nth(1), 7, KNOWN_DONE);
	assert_true(url_table_get(k, nth(1), &date, &st));
	url_table_check(k);
	url_table_free(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_put_get_set_remove),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_against_model),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_evict),
	};

	return cmocka_run_group_tests_name("known", tests, NULL, NULL);
}
