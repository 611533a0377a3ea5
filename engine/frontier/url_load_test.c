#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/hash.h"
#include "engine/frontier/core.h"
#include "engine/frontier/url_load.h"
#include "os/index.h"

/* Records of each queue, in each crawl; they take several files. */
#define CRAWLS 3u
#define QUEUES 4u
#define EACH 5000u
#define RECORDS (CRAWLS * QUEUES * EACH)

static char dir[200], work[180];
static struct index *x;

static void
put_record(struct index_batch *b, unsigned n)
{
	FREED(buf_free) struct buf key = BUF_INIT, value = BUF_INIT;
	char url[64];
	unsigned crawl = n % CRAWLS, queue = n / CRAWLS % QUEUES;

	snprintf(url, sizeof(url), "https://h%u.example/%016llx", queue,
	    (unsigned long long)hash_u64(n));
	url_key(crawl, queue, n % 7, str_of(url), &key);
	buf_put_be32(&value, n);
	for (unsigned i = 0; i < 8; i++)
		buf_put_be64(&value, hash_u64(n * 8 + i + 1));
	index_put(x, b, INDEX_URL, buf_str(&key), buf_str(&value));
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void
open_index(void)
{
	struct index_options o = { .write_buffer_bytes = 512 << 10,
		.write_buffers = 3, .block_cache_bytes = 1 << 20 };
	struct why w = WHY_INIT;

	if (index_open(dir, &o, &x, &w) != OK)
		fail_msg("%s", w.text);
}

static int
setup(void **state)
{
	const char *tmp = getenv("TMPDIR");
	struct index_batch *b = index_batch_new();
	struct why w = WHY_INIT;

	(void)state;
	snprintf(work, sizeof(work), "%s/url-load-XXXXXX",
	    tmp != NULL && strlen(tmp) < 100 ? tmp : "/tmp");
	if (mkdtemp(work) == NULL)
		return -1;
	snprintf(dir, sizeof(dir), "%s/db", work);
	open_index();
	for (unsigned n = 0; n < RECORDS; n++) {
		put_record(b, n);
		if (n % 1000 == 999)
			assert_int_equal(index_write(x, b, &w), OK);
	}
	assert_int_equal(index_write(x, b, &w), OK);
	assert_int_equal(index_flush(x, STR_NONE, STR_NONE, &w), OK);
	index_batch_free(&b);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	index_close(&x);
	return nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- what is read --------------------------------------------------------- */

struct reading {
	atomic_uint records;         /* that read() saw */
	unsigned taken[RECORDS];     /* how often each was */
	unsigned batches;
	uint32_t passed;             /* a queue to pass; QUEUES: none */
	unsigned fail_at;            /* a batch; 0: none fails */
};

static int
read_record(void *arg, struct url_load_part *part, struct str key,
    struct str value, struct url_load_entry *e)
{
	struct reading *r = arg;
	struct reader in = reader_of(key), v = reader_of(value);
	uint64_t id = read_be64(&in);
	FREED(buf_free) struct buf from = BUF_INIT;

	atomic_fetch_add(&r->records, 1);
	e->date = read_be32(&in);
	e->hash = read_be32(&v);
	e->mark = MARK_WAITING;
	if ((uint32_t)id != r->passed)
		return URL_LOAD_TAKE;
	key_range(id, 8, &from, &part->pass_to);
	/* The last queue of the last crawl: nothing follows. */
	if (id == ((uint64_t)(CRAWLS - 1) << 32 | (QUEUES - 1)))
		buf_clear(&part->pass_to);
	/* This one is taken, and its queue passed. */
	return part->id++ == 0 ? URL_LOAD_TAKE | URL_LOAD_PASS : URL_LOAD_PASS;
}

static enum err
take_records(void *arg, const struct url_load_entry *entries, size_t n,
    struct why *w)
{
	struct reading *r = arg;

	if (++r->batches == r->fail_at)
		return why(w, ERR_DISK_FULL, "no room");
	for (size_t i = 0; i < n; i++) {
		assert_true(entries[i].hash < RECORDS);
		assert_int_equal(entries[i].date, entries[i].hash % 7);
		r->taken[entries[i].hash]++;
	}
	return OK;
}

static enum err
load_range(struct reading *r, struct str from, struct str to, unsigned threads,
    struct why *w)
{
	return url_load(&(struct url_load){ .index = x, .from = from, .to = to,
	    .threads = threads, .read = read_record, .take = take_records,
	    .arg = r }, w);
}

static const unsigned thread_counts[] = { 0, 1, 3 };
#define ALL_FROM STR("")
#define ALL_TO STR("\xff\xff\xff\xff")

static void
each_record_is_taken_once(void **state)
{
	struct why w = WHY_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(thread_counts); i++) {
		struct reading *r = mem_new(sizeof(*r));
		r->passed = QUEUES;
		assert_int_equal(load_range(r, ALL_FROM, ALL_TO,
		    thread_counts[i], &w), OK);
		for (unsigned n = 0; n < RECORDS; n++)
			assert_int_equal(r->taken[n], 1);
		assert_int_equal(r->records, RECORDS);
		mem_free(&r);
	}
}

static void
a_range_ends_where_it_should(void **state)
{
	FREED(buf_free) struct buf from = BUF_INIT, to = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	key_range(1, 4, &from, &to);
	for (size_t i = 0; i < ARRAY_LEN(thread_counts); i++) {
		struct reading *r = mem_new(sizeof(*r));
		r->passed = QUEUES;
		assert_int_equal(load_range(r, buf_str(&from), buf_str(&to),
		    thread_counts[i], &w), OK);
		for (unsigned n = 0; n < RECORDS; n++)
			assert_int_equal(r->taken[n], n % CRAWLS == 1);
		mem_free(&r);
	}
	struct reading *r = mem_new(sizeof(*r));
	assert_int_equal(load_range(r, STR("\x7f"), STR("\x80"), 3, &w), OK);
	assert_int_equal(r->records, 0);
	assert_int_equal(r->batches, 0);
	mem_free(&r);
}

static void
what_is_passed_is_not_read(void **state)
{
	struct why w = WHY_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(thread_counts); i++) {
		for (uint32_t q = 0; q < QUEUES; q++) {
			struct reading *r = mem_new(sizeof(*r));
			unsigned of_passed = 0;
			r->passed = q;
			assert_int_equal(load_range(r, ALL_FROM, ALL_TO,
			    thread_counts[i], &w), OK);
			for (unsigned n = 0; n < RECORDS; n++) {
				if (n / CRAWLS % QUEUES == q)
					of_passed += r->taken[n];
				else
					assert_int_equal(r->taken[n], 1);
			}
			/* One of each part that met it. */
			assert_true(of_passed >= 1 && of_passed < 100);
			assert_true(r->records < RECORDS - CRAWLS * EACH + 100);
			mem_free(&r);
		}
	}
}

/* --- what fails ----------------------------------------------------------- */

static void
an_error_of_the_taker_ends_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(thread_counts); i++) {
		struct reading *r = mem_new(sizeof(*r));
		struct why w = WHY_INIT;
		r->passed = QUEUES;
		r->fail_at = 2;
		assert_int_equal(load_range(r, ALL_FROM, ALL_TO,
		    thread_counts[i], &w), ERR_DISK_FULL);
		assert_string_equal(w.text, "no room");
		assert_int_equal(r->batches, 2);
		mem_free(&r);
	}
}

static int
flip_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	size_t n = strlen(path);
	unsigned char c;

	(void)at;
	if (type != FTW_F || n < 4 || strcmp(path + n - 4, ".sst") != 0 ||
	    st->st_size < 64 << 10)
		return 0;
	int fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &c, 1, st->st_size / 2), 1);
	c ^= 0x10;
	assert_int_equal(pwrite(fd, &c, 1, st->st_size / 2), 1);
	close(fd);
	return 0;
}

/* Last: it damages the records. */
static void
damage_is_an_error(void **state)
{
	(void)state;
	index_close(&x);
	assert_int_equal(nftw(dir, flip_one, 16, FTW_PHYS), 0);
	open_index();
	for (size_t i = 0; i < ARRAY_LEN(thread_counts); i++) {
		struct reading *r = mem_new(sizeof(*r));
		struct why w = WHY_INIT;
		r->passed = QUEUES;
		assert_int_equal(load_range(r, ALL_FROM, ALL_TO,
		    thread_counts[i], &w), ERR_CORRUPT);
		assert_true(w.text[0] != '\0');
		mem_free(&r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_record_is_taken_once),
		cmocka_unit_test(a_range_ends_where_it_should),
		cmocka_unit_test(what_is_passed_is_not_read),
		cmocka_unit_test(an_error_of_the_taker_ends_it),
		cmocka_unit_test(damage_is_an_error),
	};

	return cmocka_run_group_tests_name("url_load", tests, setup, teardown);
}
