#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "os/index.h"

static const struct index_options small = {
	.write_buffer_bytes = 64 << 10, .write_buffers = 3,
	.block_cache_bytes = 1 << 20,
};
static char dir[200], work[180];

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int
setup(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(work, sizeof(work), "%s/index-test-XXXXXX",
	    tmp != NULL && strlen(tmp) < 100 ? tmp : "/tmp");
	if (mkdtemp(work) == NULL)
		return -1;
	snprintf(dir, sizeof(dir), "%s/db", work);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	return nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct index *
open_ok(const char *path, const struct index_options *o)
{
	struct index *x;
	struct why w = WHY_INIT;

	if (index_open(path, o, &x, &w) != OK)
		fail_msg("%s", w.text);
	return x;
}

static void
put_one(struct index *x, enum index_family f, struct str k, struct str v)
{
	struct index_batch *b = index_batch_new();
	struct why w = WHY_INIT;

	index_put(x, b, f, k, v);
	assert_int_equal(index_write(x, b, &w), OK);
	index_batch_free(&b);
	assert_null(b);
}

static void
expect(struct index *x, enum index_family f, struct str k, const char *want)
{
	struct arena a = ARENA_INIT;
	struct str v;
	struct why w = WHY_INIT;
	enum err e = index_get(x, f, k, &a, &v, &w);

	if (want == NULL) {
		assert_int_equal(e, ERR_ABSENT);
		assert_int_equal(v.n, 0);
		assert_true(w.text[0] != '\0');
	} else {
		assert_int_equal(e, OK);
		assert_true(str_eq(v, str_of(want)));
	}
	arena_free(&a);
}

/* What close and open leave: that which was flushed, and no more. */
static void
only_flushed_survives(const char *path, const struct index_options *o)
{
	struct why w = WHY_INIT;
	struct index *x = open_ok(path, o);

	for (int f = 0; f < INDEX_FAMILIES; f++)
		put_one(x, (enum index_family)f, STR("a"), STR("1"));
	assert_int_equal(index_flush(x, STR_NONE, STR_NONE, &w), OK);
	for (int f = 0; f < INDEX_FAMILIES; f++) {
		put_one(x, (enum index_family)f, STR("a"), STR("2"));
		put_one(x, (enum index_family)f, STR("b"), STR("2"));
		expect(x, (enum index_family)f, STR("a"), "2");
	}
	index_close(&x);
	assert_null(x);
	x = open_ok(path, o);
	for (int f = 0; f < INDEX_FAMILIES; f++) {
		expect(x, (enum index_family)f, STR("a"), "1");
		expect(x, (enum index_family)f, STR("b"), NULL);
	}
	index_close(&x);
	index_close(&x);
}

static void
test_flushed_survives(void **state)
{
	(void)state;
	only_flushed_survives(dir, &small);
}

static void
test_in_memory(void **state)
{
	struct index_options o = small;
	struct index *x;

	(void)state;
	o.in_memory = true;
	only_flushed_survives("/nowhere/at/all", &o);
	assert_int_not_equal(access("/nowhere", F_OK), 0);
	index_forget_memory();
	x = open_ok("/nowhere/at/all", &o);
	expect(x, INDEX_META, STR("a"), NULL);
	index_close(&x);
	index_forget_memory();
}

#define KEYS_ESTIMATED "rocksdb.estimate-num-keys"

static void
test_defaults(void **state)
{
	struct index_options none = { 0 };
	struct why w = WHY_INIT;
	struct index *x = open_ok(dir, &none);

	(void)state;
	put_one(x, INDEX_URL, STR("k"), STR(""));
	expect(x, INDEX_URL, STR("k"), "");
	assert_int_equal(index_property(x, INDEX_URL, KEYS_ESTIMATED), 0);
	assert_int_equal(index_flush(x, STR_NONE, STR_NONE, &w), OK);
	assert_int_equal(index_property(x, INDEX_URL, KEYS_ESTIMATED), 1);
	assert_int_equal(index_property(x, INDEX_KNOWN, KEYS_ESTIMATED), 0);
	assert_int_equal(index_property(x, INDEX_URL, "no.such.thing"), 0);
	index_close(&x);
}

static void
test_batch(void **state)
{
	struct index *x = open_ok(dir, &small);
	struct index_batch *b = index_batch_new();
	struct why w = WHY_INIT;

	(void)state;
	put_one(x, INDEX_CRAWL, STR("c"), STR("old"));
	index_put(x, b, INDEX_URL, STR("a"), STR("1"));
	index_put(x, b, INDEX_URL, STR("ab"), STR("2"));
	index_put(x, b, INDEX_URL, STR("b"), STR("3"));
	index_put(x, b, INDEX_QUEUE, STR("a"), STR("4"));
	index_delete(x, b, INDEX_CRAWL, STR("c"));
	/* Nothing before index_write(). */
	expect(x, INDEX_URL, STR("a"), NULL);
	assert_int_equal(index_write(x, b, &w), OK);
	expect(x, INDEX_URL, STR("a"), "1");
	expect(x, INDEX_QUEUE, STR("a"), "4");
	expect(x, INDEX_CRAWL, STR("c"), NULL);
	/* The batch is empty again: the old puts do not come twice. */
	put_one(x, INDEX_QUEUE, STR("a"), STR("newer"));
	assert_int_equal(index_write(x, b, &w), OK);
	expect(x, INDEX_QUEUE, STR("a"), "newer");
	index_delete_range(x, b, INDEX_URL, STR("a"), STR("b"));
	assert_int_equal(index_write(x, b, &w), OK);
	expect(x, INDEX_URL, STR("a"), NULL);
	expect(x, INDEX_URL, STR("ab"), NULL);
	expect(x, INDEX_URL, STR("b"), "3");
	expect(x, INDEX_QUEUE, STR("a"), "newer");
	index_batch_free(&b);
	index_batch_free(&b);
	index_close(&x);
}

static void
key_of(char out[static 4], unsigned n)
{
	out[0] = (char)(n >> 24);
	out[1] = (char)(n >> 16);
	out[2] = (char)(n >> 8);
	out[3] = (char)n;
}

static unsigned
number_of(struct str key)
{
	struct reader r = reader_of(key);

	return read_be32(&r);
}

/* Even numbers 0 to 19,998, half of them flushed, half in memory. */
static void
fill_evens(struct index *x)
{
	struct index_batch *b = index_batch_new();
	struct why w = WHY_INIT;
	char k[4];

	for (unsigned half = 0; half < 2; half++) {
		for (unsigned i = half; i < 10000; i += 2) {
			key_of(k, i * 2);
			index_put(x, b, INDEX_JOURNAL, (struct str){ k, 4 },
			    (struct str){ k + 2, 2 });
		}
		assert_int_equal(index_write(x, b, &w), OK);
		if (half == 0)
			assert_int_equal(index_flush(x, STR_NONE, STR_NONE,
			    &w), OK);
	}
	index_batch_free(&b);
}

static void
test_iterate(void **state)
{
	struct index *x = open_ok(dir, &small);
	struct why w = WHY_INIT;
	struct str k, v;
	unsigned n = 0;
	char from[4];

	(void)state;
	fill_evens(x);
	struct index_iter *i = index_iter_new(x, INDEX_JOURNAL);
	/* It is a snapshot: what comes later is not seen. */
	put_one(x, INDEX_JOURNAL, STR("\0\0\0\1"), STR("later"));
	for (index_iter_seek(i, STR_NONE); index_iter_valid(i, &k, &v);
	    index_iter_next(i)) {
		assert_int_equal(number_of(k), n * 2);
		assert_memory_equal(v.p, k.p + 2, 2);
		n++;
	}
	assert_int_equal(n, 10000);
	key_of(from, 5001);
	index_iter_seek(i, (struct str){ from, 4 });
	assert_true(index_iter_valid(i, &k, &v));
	assert_int_equal(number_of(k), 5002);
	index_iter_seek_last(i, (struct str){ from, 4 });
	assert_true(index_iter_valid(i, &k, &v));
	assert_int_equal(number_of(k), 5000);
	index_iter_prev(i);
	assert_true(index_iter_valid(i, &k, &v));
	assert_int_equal(number_of(k), 4998);
	key_of(from, 5000);
	index_iter_seek_last(i, (struct str){ from, 4 });
	assert_true(index_iter_valid(i, &k, &v));
	assert_int_equal(number_of(k), 5000);
	key_of(from, 20000);
	index_iter_seek(i, (struct str){ from, 4 });
	assert_false(index_iter_valid(i, &k, &v));
	assert_int_equal(k.n, 0);
	assert_int_equal(index_iter_error(i, &w), OK);
	index_iter_free(&i);
	assert_null(i);
	index_iter_free(&i);
	index_close(&x);
}

static unsigned
count_tables(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	unsigned n = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		n += strstr(e->d_name, ".sst") != NULL;
	closedir(d);
	return n;
}

/* Megabytes that do not pack, all over the keys. */
static void
fill_megabytes(struct index *x, unsigned megabytes, uint64_t seed)
{
	struct index_batch *b = index_batch_new();
	struct why w = WHY_INIT;
	uint64_t values[128];

	for (unsigned i = 0; i < megabytes << 10; i++) {
		for (size_t k = 0; k < ARRAY_LEN(values); k++)
			values[k] = seed = hash_u64(seed + 1);
		index_put(x, b, INDEX_URL, (struct str){ (char *)values, 16 },
		    (struct str){ (char *)values, sizeof(values) });
		if (i % 256 == 255)
			assert_int_equal(index_write(x, b, &w), OK);
	}
	index_batch_free(&b);
}

/* False: after `ms` there are as many tables as before, or more. */
static bool
tables_are_merged(unsigned before, unsigned ms)
{
	for (; ms > 0 && count_tables() >= before; ms--)
		usleep(1000);
	return count_tables() < before;
}

static void
test_merging_is_held(void **state)
{
	struct index_options o = small;
	struct why w = WHY_INIT;

	(void)state;
	o.write_buffer_bytes = 4 << 20;
	o.write_buffers = 4;
	struct index *x = open_ok(dir, &o);
	/* One table less than are merged. */
	for (unsigned i = 0; i < 11; i++) {
		fill_megabytes(x, 3, i << 20);
		assert_int_equal(index_flush(x, STR_NONE, STR_NONE, &w), OK);
	}
	index_close(&x);
	x = open_ok(dir, &o);
	/* It flushes some by itself. */
	fill_megabytes(x, 25, UINT64_C(99) << 20);
	for (unsigned ms = 0; ms < 10000 && count_tables() < 14; ms++)
		usleep(1000);
	unsigned n = count_tables();
	assert_true(n >= 14);
	assert_false(tables_are_merged(n, 300));
	index_release(x);
	assert_true(tables_are_merged(n, 20000));
	index_close(&x);
}

static unsigned
count_between(struct index *x, struct str from, struct str to)
{
	struct index_iter *i = index_iter_new_long(x, INDEX_JOURNAL);
	struct str k, v;
	unsigned n = 0;

	for (index_iter_seek(i, from); index_iter_valid(i, &k, &v) &&
	    str_cmp(k, to) < 0; index_iter_next(i))
		n++;
	index_iter_free(&i);
	return n;
}

#define SPLIT_KEYS 40000u
#define SPLIT_END STR("\xff\xff\xff\xff\xff\xff\xff\xff")

/* 40,000 keys with a long common beginning; 100 bytes each that do not pack. */
static void
fill_for_split(struct index *x)
{
	struct index_batch *b = index_batch_new();
	struct why w = WHY_INIT;
	uint64_t random = 1;
	char key[64], value[100];

	for (unsigned i = 0; i < SPLIT_KEYS; i++) {
		for (size_t k = 0; k < sizeof(value); k++) {
			random = random * UINT64_C(6364136223846793005) + 1;
			value[k] = (char)(random >> 56);
		}
		snprintf(key, sizeof(key), "https://host.example/%08x", i);
		index_put(x, b, INDEX_JOURNAL, str_of(key),
		    (struct str){ value, sizeof(value) });
	}
	assert_int_equal(index_write(x, b, &w), OK);
	index_batch_free(&b);
}

static void
test_split(void **state)
{
	struct index_options large = small;
	struct buf cuts[7] = { 0 };
	struct why w = WHY_INIT;
	unsigned sum = 0;

	(void)state;
	large.write_buffer_bytes = 1 << 20;
	struct index *x = open_ok(dir, &large);
	/* Nothing there. */
	assert_int_equal(index_split(x, INDEX_JOURNAL, STR(""), SPLIT_END, 8,
	    cuts), 1);
	fill_for_split(x);
	assert_int_equal(index_flush(x, STR_NONE, STR_NONE, &w), OK);
	size_t parts = index_split(x, INDEX_JOURNAL, STR(""), SPLIT_END, 8,
	    cuts);
	assert_int_equal(parts, 8);
	for (size_t i = 0; i < parts; i++) {
		unsigned n = count_between(x, i == 0 ? STR("") :
		    buf_str(&cuts[i - 1]), i + 1 == parts ? SPLIT_END :
		    buf_str(&cuts[i]));
		assert_in_range(n, SPLIT_KEYS / 8 / 2, SPLIT_KEYS / 8 * 2);
		sum += n;
	}
	assert_int_equal(sum, SPLIT_KEYS);
	/* No part is smaller than the least. */
	parts = index_split(x, INDEX_JOURNAL,
	    STR("https://host.example/00000000"),
	    STR("https://host.example/00001388"), 8, cuts);
	assert_in_range(parts, 1, 3);
	assert_int_equal(index_split(x, INDEX_URL, STR(""), SPLIT_END, 8,
	    cuts), 1);
	for (size_t i = 0; i < ARRAY_LEN(cuts); i++)
		buf_free(&cuts[i]);
	index_close(&x);
}

static void
test_second_open_is_busy(void **state)
{
	struct index *x = open_ok(dir, &small), *y;
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(index_open(dir, &small, &y, &w), ERR_BUSY);
	assert_null(y);
	assert_non_null(strstr(w.text, dir));
	index_close(&x);
}

/* Flip one byte in every file of a kind. */
static const char *flip_suffix;
static int flipped;

static int
flip_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	unsigned char c;
	size_t n = strlen(path), m = strlen(flip_suffix);

	(void)at;
	if (type != FTW_F || n < m || strcmp(path + n - m, flip_suffix) != 0)
		return 0;
	int fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &c, 1, 100), 1);
	c ^= 0x10;
	assert_int_equal(pwrite(fd, &c, 1, 100), 1);
	close(fd);
	assert_true(st->st_size > 100);
	flipped++;
	return 0;
}

static void
test_corruption(void **state)
{
	struct index *x = open_ok(dir, &small);
	struct arena a = ARENA_INIT;
	struct str v, k;
	struct why w = WHY_INIT;

	(void)state;
	fill_evens(x);
	assert_int_equal(index_flush(x, STR_NONE, STR_NONE, &w), OK);
	index_close(&x);
	flip_suffix = ".sst";
	flipped = 0;
	assert_int_equal(nftw(dir, flip_one, 16, FTW_PHYS), 0);
	assert_true(flipped > 0);
	x = open_ok(dir, &small);
	assert_int_equal(index_get(x, INDEX_JOURNAL, STR("\0\0\0\0"), &a, &v,
	    &w), ERR_CORRUPT);
	assert_true(w.text[0] != '\0');
	struct index_iter *i = index_iter_new(x, INDEX_JOURNAL);
	index_iter_seek(i, STR_NONE);
	while (index_iter_valid(i, &k, &v))
		index_iter_next(i);
	w = WHY_INIT;
	assert_int_equal(index_iter_error(i, &w), ERR_CORRUPT);
	index_iter_free(&i);
	index_close(&x);
	arena_free(&a);
}

static void
test_unopenable(void **state)
{
	struct index *x;
	struct why w = WHY_INIT;
	FILE *f = fopen(dir, "w");

	(void)state;
	assert_non_null(f);
	fclose(f);
	assert_int_equal(index_open(dir, &small, &x, &w), ERR_IO);
	assert_null(x);
	assert_true(w.text[0] != '\0');
}

/*
 * A crash at any moment leaves behind the number that was flushed last at least
 * what was written before it, in all families.  One of them fills quickly, so
 * that RocksDB flushes by itself while we write and while we flush.
 */
static struct index *flushed_index;
static atomic_uint written, flushes;

static void *
flush_always(void *arg)
{
	struct why w = WHY_INIT;
	char k[4];

	for (;;) {
		key_of(k, atomic_load(&written));
		if (index_flush(flushed_index, STR("n"), (struct str){ k, 4 },
		    &w) != OK)
			_exit(2);
		atomic_fetch_add(&flushes, 1);
	}
	return arg;
}

static void
write_and_die(void)
{
	struct index *x = flushed_index = open_ok(dir, &small);
	struct index_batch *b = index_batch_new();
	pthread_t thread;
	char v[3000];
	struct why w = WHY_INIT;
	char k[4];

	memset(v, 'x', sizeof(v));
	if (pthread_create(&thread, NULL, flush_always, NULL) != 0)
		_exit(3);
	for (unsigned n = 1; n <= 3000 || atomic_load(&flushes) < 4; n++) {
		key_of(k, n);
		index_put(x, b, INDEX_URL, (struct str){ k, 4 },
		    (struct str){ v, sizeof(v) });
		index_put(x, b, INDEX_DIGEST, (struct str){ k, 4 }, STR(""));
		if (index_write(x, b, &w) != OK)
			_exit(1);
		atomic_store(&written, n);
	}
	_exit(0);
}

static unsigned
last_number(struct index *x, enum index_family f)
{
	struct index_iter *i = index_iter_new(x, f);
	struct str k, v;
	unsigned n = 0;

	index_iter_seek_last(i, STR("\xff\xff\xff\xff"));
	if (index_iter_valid(i, &k, &v))
		n = number_of(f == INDEX_META ? v : k);
	index_iter_free(&i);
	return n;
}

static void
test_crash_is_consistent(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		write_and_die();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	struct index *x = open_ok(dir, &small);
	unsigned n = last_number(x, INDEX_META);
	assert_true(n > 0);
	assert_true(last_number(x, INDEX_URL) >= n);
	assert_true(last_number(x, INDEX_DIGEST) >= n);
	index_close(&x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_crash_is_consistent,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(test_flushed_survives, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_in_memory, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_defaults, setup, teardown),
		cmocka_unit_test_setup_teardown(test_batch, setup, teardown),
		cmocka_unit_test_setup_teardown(test_iterate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_split, setup, teardown),
		cmocka_unit_test_setup_teardown(test_merging_is_held, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_second_open_is_busy,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(test_corruption, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_unopenable, setup,
		    teardown),
	};

	return cmocka_run_group_tests_name("index", tests, NULL, NULL);
}
