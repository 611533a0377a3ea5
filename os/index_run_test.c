/*
 * The index against RocksDB: the same operations go into both, one by one into
 * RocksDB's own table in memory, and every read and walk must find the same,
 * also a walk that began before what was written since.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/hash.h"
#include "os/index_own.h"
#include "tests/rounds.h"

#define KEYS 600u
#define KEY_ROOM 24
#define WALKS 5
#define FAMILY INDEX_URL

static const struct index_options small = {
	.write_buffer_bytes = 64 << 10, .write_buffers = 2,
	.block_cache_bytes = 1 << 20,
};
/* Large enough for runs that are merged step by step. */
static const struct index_options large = {
	.write_buffer_bytes = 2 << 20, .write_buffers = 2,
	.block_cache_bytes = 1 << 20,
};
#define SMALL_VALUE 900u
#define LARGE_VALUE 9000u
static char dir[200], work[180];
static uint64_t seed;

static uint64_t
draw(uint64_t below)
{
	seed = hash_u64(seed + 1);
	return seed % below;
}

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
	snprintf(work, sizeof(work), "%s/index-run-test-XXXXXX",
	    tmp != NULL && strlen(tmp) < 100 ? tmp : "/tmp");
	if (mkdtemp(work) == NULL)
		return -1;
	snprintf(dir, sizeof(dir), "%s/db", work);
	return 0;
}

static int
close_all(void **state)
{
	(void)state;
	return nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- the oracle ----------------------------------------------------------- */

static struct {
	rocksdb_env_t *env;
	rocksdb_options_t *options;
	rocksdb_writeoptions_t *write;
	rocksdb_readoptions_t *read;
	rocksdb_t *db;
	rocksdb_writebatch_t *batch;
} oracle;

static void
open_oracle(void)
{
	char *text = NULL;

	oracle.env = rocksdb_create_mem_env();
	oracle.options = rocksdb_options_create();
	rocksdb_options_set_env(oracle.options, oracle.env);
	rocksdb_options_set_create_if_missing(oracle.options, 1);
	oracle.write = rocksdb_writeoptions_create();
	rocksdb_writeoptions_disable_WAL(oracle.write, 1);
	oracle.read = rocksdb_readoptions_create();
	oracle.db = rocksdb_open(oracle.options, "/oracle", &text);
	assert_null(text);
	oracle.batch = rocksdb_writebatch_create();
}

/* It walks back over many versions of a key in no time, once in a file. */
static void
flush_oracle(void)
{
	char *text = NULL;
	rocksdb_flushoptions_t *o = rocksdb_flushoptions_create();

	rocksdb_flush(oracle.db, o, &text);
	assert_null(text);
	rocksdb_flushoptions_destroy(o);
}

static void
close_oracle(void)
{
	rocksdb_writebatch_destroy(oracle.batch);
	rocksdb_close(oracle.db);
	rocksdb_readoptions_destroy(oracle.read);
	rocksdb_writeoptions_destroy(oracle.write);
	rocksdb_options_destroy(oracle.options);
	rocksdb_env_destroy(oracle.env);
}

/* --- both ----------------------------------------------------------------- */

struct walk {
	struct index_iter *ours;
	rocksdb_iterator_t *its;
	bool placed;
};

static struct {
	struct index *index;
	struct index_batch *batch;
	const struct index_options *options;
	unsigned value_max;
	struct walk walks[WALKS];
	uint64_t compared;
	uint64_t merged;                 /* merges over several writes */
} both;

/* Some keys are prefixes of others, some differ from them by a zero at the end
 * only, and some have the same first ten bytes. */
static struct str
draw_key(char room[KEY_ROOM])
{
	unsigned u = (unsigned)draw(KEYS);
	int n = snprintf(room, KEY_ROOM, u % 3 == 0 ? "kkkkkkkkkk%u" : "k%u",
	    u / 3);

	return (struct str){ room, (size_t)n + (u % 3 == 2) };
}

static void
put_both(struct str key)
{
	char value[LARGE_VALUE];
	size_t n = draw(8) == 0 ? draw(both.value_max) : draw(40);

	memset(value, (int)draw(256), n);
	index_put(both.index, both.batch, FAMILY, key,
	    (struct str){ value, n });
	rocksdb_writebatch_put(oracle.batch, key.p, key.n, value, n);
}

static void
delete_range_of_both(void)
{
	char a[KEY_ROOM], b[KEY_ROOM];
	struct str from = draw_key(a), to = draw_key(b);

	if (str_cmp(from, to) > 0) {
		struct str high = from;
		from = to;
		to = high;
	}
	index_delete_range(both.index, both.batch, FAMILY, from, to);
	rocksdb_writebatch_delete_range(oracle.batch, from.p, from.n, to.p,
	    to.n);
}

static void
write_both(void)
{
	struct why w = WHY_INIT;
	const struct run_merging *m = &both.index->mergings[FAMILY];
	bool before = m->from != NULL;
	uint64_t n = 1 + draw(draw(20) == 0 ? 300 : 12);
	char room[KEY_ROOM], *text = NULL;

	for (uint64_t i = 0; i < n; i++) {
		struct str key = draw_key(room);
		uint64_t what = draw(1000);
		if (what < 2) {
			delete_range_of_both();
		} else if (what < 300) {
			index_delete(both.index, both.batch, FAMILY, key);
			rocksdb_writebatch_delete(oracle.batch, key.p, key.n);
		} else {
			put_both(key);
		}
	}
	assert_int_equal(index_write(both.index, both.batch, &w), OK);
	both.merged += before && m->from == NULL;
	rocksdb_write(oracle.db, oracle.write, oracle.batch, &text);
	assert_null(text);
	rocksdb_writebatch_clear(oracle.batch);
}

static void
get_both(void)
{
	struct arena a = ARENA_INIT;
	struct why w = WHY_INIT;
	struct str value;
	char room[KEY_ROOM], *text = NULL;
	struct str key = draw_key(room);
	size_t n;

	char *its = rocksdb_get(oracle.db, oracle.read, key.p, key.n, &n,
	    &text);
	assert_null(text);
	enum err e = index_get(both.index, FAMILY, key, &a, &value, &w);
	assert_int_equal(e, its == NULL ? ERR_ABSENT : OK);
	if (its != NULL)
		assert_true(str_eq(value, (struct str){ its, n }));
	rocksdb_free(its);
	arena_free(&a);
}

static void
end_walk(struct walk *k)
{
	if (k->ours == NULL)
		return;
	index_iter_free(&k->ours);
	rocksdb_iter_destroy(k->its);
	*k = (struct walk){ 0 };
}

static void
begin_walk(struct walk *k)
{
	end_walk(k);
	k->ours = index_iter_new(both.index, FAMILY);
	k->its = rocksdb_create_iterator(oracle.db, oracle.read);
}

static bool
compare_places(struct walk *k)
{
	struct why w = WHY_INIT;
	struct str key, value, its;
	bool valid = index_iter_valid(k->ours, &key, &value);

	assert_int_equal(valid, rocksdb_iter_valid(k->its));
	both.compared++;
	if (valid) {
		its.p = rocksdb_iter_key(k->its, &its.n);
		assert_true(str_eq(key, its));
		its.p = rocksdb_iter_value(k->its, &its.n);
		assert_true(str_eq(value, its));
	}
	assert_int_equal(index_iter_error(k->ours, &w), OK);
	return valid;
}

static void
seek_both(struct walk *k)
{
	char room[KEY_ROOM];
	struct str key = draw(20) == 0 ? STR("") : draw_key(room);

	if (draw(2) == 0) {
		index_iter_seek(k->ours, key);
		rocksdb_iter_seek(k->its, key.p, key.n);
	} else {
		index_iter_seek_last(k->ours, key);
		rocksdb_iter_seek_for_prev(k->its, key.p, key.n);
	}
	k->placed = compare_places(k);
}

static void
step_both(struct walk *k)
{
	bool back = draw(3) == 0;
	uint64_t n = draw(20);

	if (k->ours == NULL)
		begin_walk(k);
	if (!k->placed || draw(4) == 0)
		seek_both(k);
	for (; n > 0 && k->placed; n--) {
		if (draw(8) == 0)
			back = !back;
		if (back) {
			index_iter_prev(k->ours);
			rocksdb_iter_prev(k->its);
		} else {
			index_iter_next(k->ours);
			rocksdb_iter_next(k->its);
		}
		k->placed = compare_places(k);
	}
}

static void
reopen_index(void)
{
	struct why w = WHY_INIT;

	for (size_t i = 0; i < WALKS; i++)
		end_walk(&both.walks[i]);
	assert_int_equal(index_flush(both.index, STR("n"), STR("1"), &w), OK);
	index_close(&both.index);
	assert_int_equal(index_open(dir, both.options, &both.index, &w), OK);
}

static void
compare_all(void)
{
	struct walk *k = &both.walks[0];

	begin_walk(k);
	index_iter_seek(k->ours, STR(""));
	rocksdb_iter_seek_to_first(k->its);
	while (compare_places(k)) {
		index_iter_next(k->ours);
		rocksdb_iter_next(k->its);
	}
}

/* An unfinished merge must not stay in memory. */
static void
flush_index(void)
{
	struct why w = WHY_INIT;

	assert_int_equal(index_flush(both.index, STR_NONE, STR_NONE, &w), OK);
	assert_null(both.index->mergings[FAMILY].from);
}

static void
take_step(void)
{
	uint64_t what = draw(1000);
	bool merges = both.index->mergings[FAMILY].from != NULL;

	if (merges && draw(8) == 0)
		flush_index();
	else if (what < 400)
		write_both();
	else if (what < 600)
		get_both();
	else if (what < 980)
		step_both(&both.walks[draw(WALKS)]);
	else if (what < 992)
		begin_walk(&both.walks[draw(WALKS)]);
	else if (what < 997)
		flush_index();
	else if (what < 999)
		compare_all();
	else
		reopen_index();
}

static void
compare_with_rocksdb(const struct index_options *options, unsigned value_max)
{
	struct why w = WHY_INIT;
	unsigned steps = ROUNDS(20000);

	memset(&both, 0, sizeof(both));
	both.options = options;
	both.value_max = value_max;
	open_oracle();
	assert_int_equal(index_open(dir, options, &both.index, &w), OK);
	both.batch = index_batch_new();
	for (unsigned i = 0; i < steps; i++) {
		take_step();
		if (i % 500 == 0)
			flush_oracle();
	}
	compare_all();
	assert_true(both.compared > steps);
	for (size_t i = 0; i < WALKS; i++)
		end_walk(&both.walks[i]);
	index_batch_free(&both.batch);
	index_close(&both.index);
	close_oracle();
}

static void
reads_are_those_of_rocksdb(void **state)
{
	(void)state;
	compare_with_rocksdb(&small, SMALL_VALUE);
}

static void
reads_are_right_while_runs_are_merged(void **state)
{
	(void)state;
	compare_with_rocksdb(&large, LARGE_VALUE);
	assert_true(both.merged > 0);
}

/* --- threads -------------------------------------------------------------- */

#define NUMBERS 40u

static struct {
	struct index *index;
	atomic_bool over;
	atomic_uint written, walked, flushed;
} shared;

static struct str
number_key(unsigned i, char room[KEY_ROOM])
{
	return (struct str){ room, (size_t)snprintf(room, 16, "n%03u", i) };
}

/* All numbers have one value, in each snapshot. */
static void *
walk_always(void *arg)
{
	unsigned last = 0;

	while (!atomic_load(&shared.over)) {
		unsigned before = atomic_load(&shared.written);
		struct index_iter *i = index_iter_new(shared.index, FAMILY);
		struct str key, value;
		unsigned n = 0, now = 0;
		for (index_iter_seek(i, STR("n")); index_iter_valid(i, &key,
		    &value) && str_starts(key, STR("n")); index_iter_next(i)) {
			unsigned v;
			assert_int_equal(value.n % sizeof(v), 0);
			memcpy(&v, value.p, sizeof(v));
			assert_true(n == 0 || v == now);
			now = v;
			n++;
		}
		assert_int_equal(n, before == 0 ? n : NUMBERS);
		assert_true(now >= before && now >= last);
		last = now;
		index_iter_free(&i);
		atomic_fetch_add(&shared.walked, 1);
	}
	return arg;
}

static void *
flush_always(void *arg)
{
	struct why w = WHY_INIT;

	while (!atomic_load(&shared.over)) {
		assert_int_equal(index_flush(shared.index, STR("c"), STR("1"),
		    &w), OK);
		atomic_fetch_add(&shared.flushed, 1);
	}
	return arg;
}

/* Each round deletes the numbers as a range and puts them again. */
static void
write_numbers(struct index_batch *b, unsigned round)
{
	struct why w = WHY_INIT;
	unsigned value[60];
	char room[KEY_ROOM];

	for (size_t i = 0; i < ARRAY_LEN(value); i++)
		value[i] = round;
	if (round % 5 == 0)
		index_delete_range(shared.index, b, FAMILY, STR("n"),
		    STR("o"));
	for (unsigned i = 0; i < NUMBERS; i++)
		index_put(shared.index, b, FAMILY, number_key(i, room),
		    (struct str){ (char *)value, sizeof(value) });
	assert_int_equal(index_write(shared.index, b, &w), OK);
	atomic_store(&shared.written, round);
}

static void
a_walk_sees_whole_batches(void **state)
{
	struct why w = WHY_INIT;
	struct index_batch *b = index_batch_new();
	pthread_t threads[3];
	unsigned round = 0;

	(void)state;
	assert_int_equal(index_open(dir, &small, &shared.index, &w), OK);
	assert_int_equal(pthread_create(&threads[0], NULL, flush_always,
	    NULL), 0);
	for (int i = 1; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, walk_always,
		    NULL), 0);
	while (round < ROUNDS(400) || atomic_load(&shared.flushed) < 20 ||
	    atomic_load(&shared.walked) < 200)
		write_numbers(b, ++round);
	atomic_store(&shared.over, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	index_batch_free(&b);
	index_close(&shared.index);
}

/* --- what a kill leaves --------------------------------------------------- */

/*
 * RocksDB takes a file by a second name, and removes the first; a kill between
 * leaves both.  The next file of that name must not be written over it.
 */
static void
a_file_with_two_names_is_kept(void **state)
{
	struct why w = WHY_INIT;
	struct arena a = ARENA_INIT;
	struct index *x;
	struct str found;
	char path[256], value[4000];

	(void)state;
	memset(value, 'v', sizeof(value));
	snprintf(path, sizeof(path), "%s/run-%d.new", dir, (int)FAMILY);
	assert_int_equal(index_open(dir, &small, &x, &w), OK);
	struct index_batch *b = index_batch_new();
	index_put(x, b, FAMILY, STR("key"), STR("value"));
	assert_int_equal(index_write(x, b, &w), OK);
	assert_int_equal(index_flush(x, STR_NONE, STR_NONE, &w), OK);
	snprintf(value, sizeof(value), "%s/CURRENT", dir);
	assert_int_equal(link(value, path), 0);
	memset(value, 'v', sizeof(value));
	for (unsigned i = 0; i < 100; i++) {
		char room[KEY_ROOM];
		index_put(x, b, FAMILY, number_key(i, room),
		    (struct str){ value, sizeof(value) });
	}
	assert_int_equal(index_write(x, b, &w), OK);
	assert_int_equal(index_flush(x, STR_NONE, STR_NONE, &w), OK);
	assert_int_not_equal(access(path, F_OK), 0);
	index_close(&x);
	int fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(index_open(dir, &small, &x, &w), OK);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(index_get(x, FAMILY, STR("n099"), &a, &found, &w),
	    OK);
	assert_int_equal(found.n, sizeof(value));
	index_batch_free(&b);
	index_close(&x);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_are_those_of_rocksdb,
		    setup, close_all),
		cmocka_unit_test_setup_teardown(
		    reads_are_right_while_runs_are_merged, setup, close_all),
		cmocka_unit_test_setup_teardown(a_walk_sees_whole_batches,
		    setup, close_all),
		cmocka_unit_test_setup_teardown(a_file_with_two_names_is_kept,
		    setup, close_all),
	};

	seed = hash_u64((uint64_t)time(NULL) ^ (uint64_t)getpid());
	if (getenv("SEED") != NULL)
		seed = strtoull(getenv("SEED"), NULL, 10);
	printf("SEED=%llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
