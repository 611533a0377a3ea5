#include "engine/frontier/near_dup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "tests/growth.h"
#include "tests/rounds.h"

#define QUARTERS 4

static uint64_t
draw(uint64_t *x)
{
	*x += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = *x;
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static unsigned
quarter_of(uint64_t hash, unsigned q)
{
	return (unsigned)(hash >> (16 * q) & 0xffff);
}

/* Every hash that differs from `base` in `bits` bits, all above bit `from`. */
static void
every_flip(struct near_dup *x, uint64_t base, uint64_t probe, int from,
    int bits, bool wanted, size_t *n)
{
	if (bits == 0) {
		/* One place only: each hash is asked about the one before. */
		near_dup_add(x, base);
		if (near_dup_add(x, probe) != wanted)
			fail_msg("%016llx, %016llx", (unsigned long long)base,
			    (unsigned long long)probe);
		++*n;
		return;
	}
	for (int i = from; i < 64; i++)
		every_flip(x, base, probe ^ UINT64_C(1) << i, i + 1, bits - 1,
		    wanted, n);
}

static void
distance_tests(void **state)
{
	static const size_t ways[] = { 1, 64, 2016, 41664, 635376 };
	const uint64_t base = UINT64_C(0x8a5b12ef90c3d774);
	struct near_dup *x = near_dup_new(1);

	(void)state;
	for (int bits = 0; bits <= NEAR_DUP_DISTANCE + 1; bits++) {
		size_t n = 0;
		every_flip(
		    x, base, base, 0, bits, bits <= NEAR_DUP_DISTANCE, &n);
		assert_int_equal(n, ways[bits]);
	}
	near_dup_free(&x);
	assert_null(x);
	near_dup_free(&x);
}

static void
zero_tests(void **state)
{
	struct near_dup *x = near_dup_new(1);

	(void)state;
	assert_false(near_dup_add(x, 0));
	assert_false(near_dup_add(x, 0));
	assert_false(near_dup_add(x, 1));
	/* It takes no place either. */
	assert_false(near_dup_add(x, 0));
	assert_true(near_dup_add(x, 1));
	near_dup_free(&x);
}

/* A hash that has nothing in common with others made from other numbers. */
static uint64_t
lone(uint64_t i)
{
	uint64_t x = i * 2654435761u;

	return draw(&x) | 1;
}

/* The oldest is remembered until near_max newer ones came. */
static void
ring_tests(void **state)
{
	static const size_t sizes[] = { 1, 2, 255, 256, 257, 300, 512, 1000 };

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(sizes); k++)
		for (size_t before = 0; before < 3; before++) {
			struct near_dup *x = near_dup_new(sizes[k]);
			uint64_t i = 0;
			while (i < before * sizes[k] * 2 / 3)
				assert_false(near_dup_add(x, lone(i++)));
			uint64_t first = i;
			while (i < first + sizes[k])
				assert_false(near_dup_add(x, lone(i++)));
			/* Found, and by that added: `first` is young again. */
			assert_true(near_dup_add(x, lone(first)));
			assert_false(near_dup_add(x, lone(i + 1000000)));
			if (sizes[k] > 1)
				assert_true(near_dup_add(x, lone(first)));
			assert_false(near_dup_add(x, lone(first + 1)));
			near_dup_free(&x);
		}
}

/*
 * Against a search from end to end: of the hashes still remembered, each
 * quarter's newest NEAR_DUP_BUCKET_MAX that are equal in its lower 12 bits.
 */
static bool
naive_find(const uint64_t *all, size_t n, size_t near_max, uint64_t hash)
{
	size_t seen[QUARTERS] = { 0 };

	for (size_t back = 1; back <= MIN(n, near_max); back++) {
		uint64_t other = all[n - back];
		for (unsigned q = 0; q < QUARTERS; q++)
			if ((quarter_of(other, q) & 0xfff) ==
			        (quarter_of(hash, q) & 0xfff) &&
			    seen[q]++ < NEAR_DUP_BUCKET_MAX &&
			    __builtin_popcountll(other ^ hash) <=
			        NEAR_DUP_DISTANCE)
				return true;
	}
	return false;
}

/* The lowest quarter takes only so many values: full buckets. */
static uint64_t
next_hash(const uint64_t *all, size_t n, size_t near_max, unsigned values,
    uint64_t *seed)
{
	uint64_t hash = 0, kind = draw(seed) % 4;

	if (kind == 0 && n > 0) {
		/* Like one that is remembered, or was until lately. */
		hash = all[n - 1 - draw(seed) % MIN(n, near_max + 2)];
		for (uint64_t flips = draw(seed) % 6; flips > 0; flips--)
			hash ^= UINT64_C(1) << draw(seed) % 64;
	} else {
		hash = draw(seed) << 16 | draw(seed) % values;
	}
	return hash == 0 ? 1 : hash;
}

static void
compare(size_t near_max, unsigned values, size_t n_max, uint64_t seed)
{
	uint64_t *all = mem_array(n_max, sizeof(*all)), at = seed;
	struct near_dup *x = near_dup_new(near_max);
	size_t found = 0;

	for (size_t n = 0; n < n_max; n++) {
		uint64_t hash = next_hash(all, n, near_max, values, &at);
		bool wanted = naive_find(all, n, near_max, hash);
		if (near_dup_add(x, hash) != wanted)
			fail_msg("seed %llu, near_max %zu, %u values: number "
			    "%zu is%s found", (unsigned long long)seed,
			    near_max, values, n, wanted ? " not" : "");
		found += wanted;
		all[n] = hash;
	}
	/* A sixth of all is planted within the distance. */
	assert_in_range(found, n_max / 20, n_max / 4);
	near_dup_free(&x);
	mem_free(&all);
}

static void
compare_tests(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS(4); seed++) {
		compare(1000, 65536, 6000, seed);
		compare(4000, 65536, 4000, seed);
		compare(100, 20, 4000, seed);
		/* 500 for a bucket: the limit cuts them. */
		compare(1500, 3, 5000, seed);
		compare(257, 65536, 3000, seed);
		compare(7, 65536, 2000, seed);
	}
}

/* `fillers` newer hashes in the one bucket where `base` may be found. */
static bool
found_behind(size_t fillers, size_t near_max)
{
	const uint64_t base = UINT64_C(0x1111222233334444);
	const uint64_t probe = base ^ UINT64_C(0x0001000100010000);
	struct near_dup *x = near_dup_new(near_max);
	uint64_t seed = 99;

	near_dup_add(x, base);
	for (size_t i = 0; i < fillers; ) {
		uint64_t hash = (draw(&seed) & ~UINT64_C(0xffff)) |
		    (base & 0xffff);
		if (__builtin_popcountll(hash ^ probe) < 12)
			continue;
		near_dup_add(x, hash);
		i++;
	}
	bool found = near_dup_add(x, probe);
	near_dup_free(&x);
	return found;
}

static void
bucket_tests(void **state)
{
	(void)state;
	assert_true(found_behind(0, 4096));
	assert_true(found_behind(NEAR_DUP_BUCKET_MAX - 1, 4096));
	assert_false(found_behind(NEAR_DUP_BUCKET_MAX, 4096));
	assert_false(found_behind(NEAR_DUP_BUCKET_MAX + 1, 4096));
	/* There is room, but the ring has gone round. */
	assert_true(found_behind(99, 100));
	assert_false(found_behind(100, 100));
}

static void
flood(void *ctx, size_t n)
{
	struct near_dup *x = near_dup_new(NEAR_DUP_MAX);
	uint64_t seed = 7;

	(void)ctx;
	for (size_t i = 0; i < n; i++)
		near_dup_add(x, (draw(&seed) & ~UINT64_C(0xffff)) | 0x7777);
	near_dup_free(&x);
}

/*
 * A flood of hashes of one quarter costs each of them NEAR_DUP_BUCKET_MAX
 * steps, not a walk over all.
 */
static void
flood_tests(void **state)
{
	(void)state;
	assert_true(growth_is_linear(flood, NULL, 1000));
}

/* For four buckets of each quarter: they are full as well as the ring. */
static uint64_t
crowded(uint64_t *random)
{
	return draw(random) & UINT64_C(0x7003700370037003);
}

static void
restored_tests(void **state)
{
	static const size_t counts[] = { 0, 1, 999, 1000, 1001, 7777 };
	uint64_t *hashes = mem_array(7777 + 3000, sizeof(*hashes));
	uint64_t random = 5;

	(void)state;
	for (size_t i = 0; i < 7777 + 3000; i++)
		hashes[i] = crowded(&random);
	for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
		struct near_dup *all = near_dup_new(1000);
		struct near_dup *last = near_dup_new(1000);
		size_t n = counts[k], found = 0;
		for (size_t i = 0; i < n; i++)
			(void)near_dup_add(all, hashes[i]);
		for (size_t i = n - MIN(n, 1000); i < n; i++)
			near_dup_restore(last, hashes[i]);
		near_dup_restore(last, 0);
		for (size_t i = n; i < n + 3000; i++) {
			bool same = near_dup_add(all, hashes[i]);
			assert_int_equal(near_dup_add(last, hashes[i]), same);
			found += same;
		}
		assert_in_range(found, 300, 2700);
		near_dup_free(&all);
		near_dup_free(&last);
	}
	mem_free(&hashes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distance_tests), cmocka_unit_test(zero_tests),
		cmocka_unit_test(ring_tests), cmocka_unit_test(compare_tests),
		cmocka_unit_test(bucket_tests), cmocka_unit_test(flood_tests),
		cmocka_unit_test(restored_tests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
