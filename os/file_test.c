#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "os/file_fake.h"

/*
 * The contract of file.h, shown for the real disk, for it behind a plan of
 * faults that plans nothing, and for the one in memory.
 */
static char work[200];

static int
real_setup(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(work, sizeof(work), "%s/file-test-XXXXXX",
	    tmp != NULL && strlen(tmp) < 100 ? tmp : "/tmp");
	file_use(&file_real);
	return mkdtemp(work) == NULL ? -1 : 0;
}

static int
faulty_setup(void **state)
{
	int r = real_setup(state);

	file_use(&file_faulty);
	return r;
}

static int
fake_setup(void **state)
{
	(void)state;
	snprintf(work, sizeof(work), "/disk");
	file_use(&file_fake);
	file_fake_reset(1);
	return file_make_dir(work, NULL);
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
teardown(void **state)
{
	const struct file_table *t = file_table_now();

	(void)state;
	file_use(&file_real);
	if (t != &file_fake)
		return nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	file_fake_reset(1);
	return 0;
}

/* A path in the working directory; four at a time. */
static const char *
in(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned turn;
	char *p = paths[turn++ % 4];

	snprintf(p, PATH_MAX, "%s/%s", work, name);
	return p;
}

static void
put_file(const char *path, struct str bytes)
{
	struct why w = WHY_INIT;
	int fd;

	assert_int_equal(file_open(path, FILE_CREATE, &fd, &w), OK);
	assert_int_equal(file_cut(fd, 0, &w), OK);
	assert_int_equal(file_write(fd, 0, bytes.p, bytes.n, &w), OK);
	file_close(&fd);
	assert_int_equal(fd, -1);
}

static void
expect_file(const char *path, struct str want)
{
	struct buf b = BUF_INIT;
	struct why w = WHY_INIT;

	assert_int_equal(file_load(path, 1 << 20, &b, &w), OK);
	assert_true(str_eq(buf_str(&b), want));
	buf_free(&b);
}

static void
test_open_modes(void **state)
{
	struct why w = WHY_INIT;
	int fd = 77;

	(void)state;
	assert_int_equal(file_open(in("a"), FILE_READ, &fd, &w), ERR_ABSENT);
	assert_true(fd < 0);
	assert_non_null(strstr(w.text, "/a"));
	assert_non_null(strstr(w.text, "open"));
	assert_int_equal(file_open(in("a"), FILE_WRITE, &fd, NULL),
	    ERR_ABSENT);
	assert_int_equal(file_open(in("no/a"), FILE_CREATE, &fd, NULL),
	    ERR_ABSENT);
	assert_int_equal(file_open(in("a"), FILE_NEW, &fd, NULL), OK);
	assert_int_equal(file_write(fd, 0, "x", 1, NULL), OK);
	file_close(&fd);
	file_close(&fd);
	assert_int_equal(file_open(in("a"), FILE_NEW, &fd, NULL), ERR_EXISTS);
	assert_int_equal(file_open(in("a"), FILE_CREATE, &fd, NULL), OK);
	file_close(&fd);
	/* CREATE does not cut, and READ does not write. */
	expect_file(in("a"), STR("x"));
	assert_int_equal(file_open(in("a"), FILE_READ, &fd, NULL), OK);
	assert_int_equal(file_write(fd, 0, "y", 1, NULL), ERR_IO);
	file_close(&fd);
	assert_int_equal(file_open(in("a"), FILE_WRITE, &fd, NULL), OK);
	assert_int_equal(file_write(fd, 0, "y", 1, NULL), OK);
	file_close(&fd);
	expect_file(in("a"), STR("y"));
	assert_int_equal(file_open(in("."), FILE_WRITE, &fd, NULL), ERR_IO);
}

static void
test_read_write(void **state)
{
	char got_bytes[64];
	uint64_t size;
	size_t got;
	int fd;

	(void)state;
	assert_int_equal(file_open(in("a"), FILE_CREATE, &fd, NULL), OK);
	assert_int_equal(file_size(fd, &size, NULL), OK);
	assert_int_equal(size, 0);
	assert_int_equal(file_read(fd, 0, got_bytes, 10, &got, NULL), OK);
	assert_int_equal(got, 0);
	assert_int_equal(file_write(fd, 0, "hello world", 11, NULL), OK);
	assert_int_equal(file_write(fd, 6, "there", 5, NULL), OK);
	assert_int_equal(file_write(fd, 3, "", 0, NULL), OK);
	assert_int_equal(file_read(fd, 0, got_bytes, 64, &got, NULL), OK);
	assert_int_equal(got, 11);
	assert_memory_equal(got_bytes, "hello there", 11);
	assert_int_equal(file_read(fd, 4, got_bytes, 3, &got, NULL), OK);
	assert_int_equal(got, 3);
	assert_memory_equal(got_bytes, "o t", 3);
	assert_int_equal(file_read(fd, 11, got_bytes, 1, &got, NULL), OK);
	assert_int_equal(got, 0);
	assert_int_equal(file_read(fd, 1 << 20, got_bytes, 1, &got, NULL), OK);
	assert_int_equal(got, 0);
	assert_int_equal(file_sync(fd, NULL), OK);
	file_close(&fd);
}

/* A hole reads as zeros; far offsets are exact. */
static void
test_sparse(void **state)
{
	const uint64_t far = (UINT64_C(5) << 32) + 4094;
	char b[16];
	uint64_t size;
	size_t got;
	int fd;

	(void)state;
	assert_int_equal(file_open(in("a"), FILE_CREATE, &fd, NULL), OK);
	assert_int_equal(file_write(fd, 0, "begin", 5, NULL), OK);
	assert_int_equal(file_write(fd, 10000, "abcdef", 6, NULL), OK);
	assert_int_equal(file_read(fd, 9996, b, 16, &got, NULL), OK);
	assert_int_equal(got, 10);
	assert_memory_equal(b, "\0\0\0\0abcdef", 10);
	if (file_table_now() != &file_fake) {
		assert_int_equal(file_write(fd, far, "xyz", 3, NULL), OK);
		assert_int_equal(file_size(fd, &size, NULL), OK);
		assert_int_equal(size, far + 3);
		assert_int_equal(file_read(fd, far - 1, b, 16, &got, NULL), OK);
		assert_int_equal(got, 4);
		assert_memory_equal(b, "\0xyz", 4);
	}
	assert_int_equal(file_write(fd, UINT64_MAX - 5, "x", 1, NULL), ERR_IO);
	file_close(&fd);
}

static void
test_cut_and_allocate(void **state)
{
	char b[8];
	uint64_t size;
	size_t got;
	int fd;

	(void)state;
	assert_int_equal(file_open(in("a"), FILE_CREATE, &fd, NULL), OK);
	assert_int_equal(file_write(fd, 0, "abcdefgh", 8, NULL), OK);
	assert_int_equal(file_cut(fd, 3, NULL), OK);
	assert_int_equal(file_size(fd, &size, NULL), OK);
	assert_int_equal(size, 3);
	/* What was cut off does not come back. */
	assert_int_equal(file_cut(fd, 6, NULL), OK);
	assert_int_equal(file_read(fd, 0, b, 8, &got, NULL), OK);
	assert_int_equal(got, 6);
	assert_memory_equal(b, "abc\0\0\0", 6);
	assert_int_equal(file_allocate(fd, 200000, NULL), OK);
	assert_int_equal(file_size(fd, &size, NULL), OK);
	assert_int_equal(size, 200000);
	assert_int_equal(file_read(fd, 0, b, 8, &got, NULL), OK);
	assert_memory_equal(b, "\0\0\0\0\0\0\0\0", 8);
	assert_int_equal(file_read(fd, 199999, b, 8, &got, NULL), OK);
	assert_int_equal(got, 1);
	file_close(&fd);
}

static void
test_names(void **state)
{
	struct why w = WHY_INIT;

	(void)state;
	put_file(in("a"), STR("A"));
	put_file(in("b"), STR("B"));
	assert_int_equal(file_rename_new(in("a"), in("b"), &w), ERR_EXISTS);
	assert_non_null(strstr(w.text, "/b"));
	expect_file(in("b"), STR("B"));
	assert_int_equal(file_rename_new(in("a"), in("c"), NULL), OK);
	assert_int_equal(file_rename_new(in("a"), in("d"), NULL), ERR_ABSENT);
	expect_file(in("c"), STR("A"));
	assert_int_equal(file_replace(in("c"), in("b"), NULL), OK);
	expect_file(in("b"), STR("A"));
	assert_int_equal(file_replace(in("c"), in("b"), NULL), ERR_ABSENT);
	assert_int_equal(file_replace(in("b"), in("no/b"), NULL), ERR_ABSENT);
	assert_int_equal(file_replace(in("b"), in("b"), NULL), OK);
	expect_file(in("b"), STR("A"));
	assert_int_equal(file_remove(in("b"), NULL), OK);
	assert_int_equal(file_remove(in("b"), NULL), ERR_ABSENT);
	assert_int_equal(file_sync_dir(work, NULL), OK);
	assert_int_equal(file_sync_dir(in("no"), NULL), ERR_ABSENT);
}

/* A file that was removed, or replaced, lives on behind its handle. */
static void
test_removed_while_open(void **state)
{
	char c;
	size_t got;
	int fd;

	(void)state;
	put_file(in("a"), STR("A"));
	put_file(in("b"), STR("B"));
	assert_int_equal(file_open(in("a"), FILE_WRITE, &fd, NULL), OK);
	assert_int_equal(file_replace(in("b"), in("a"), NULL), OK);
	assert_int_equal(file_remove(in("a"), NULL), OK);
	assert_int_equal(file_read(fd, 0, &c, 1, &got, NULL), OK);
	assert_int_equal(c, 'A');
	assert_int_equal(file_write(fd, 1, "x", 1, NULL), OK);
	assert_int_equal(file_sync(fd, NULL), OK);
	file_close(&fd);
}

static int
compare(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void
test_list(void **state)
{
	struct arena a = ARENA_INIT;
	struct str *names;
	size_t n;
	char name[16];

	(void)state;
	assert_int_equal(file_list(work, &a, &names, &n, NULL), OK);
	assert_int_equal(n, 0);
	for (int i = 0; i < 150; i++) {
		snprintf(name, sizeof(name), "f%03d", i);
		put_file(in(name), STR(""));
	}
	assert_int_equal(file_make_dir(in("x/y"), NULL), OK);
	assert_int_equal(file_list(work, &a, &names, &n, NULL), OK);
	assert_int_equal(n, 151);
	qsort(names, n, sizeof(*names), compare);
	for (int i = 0; i < 150; i++) {
		snprintf(name, sizeof(name), "f%03d", i);
		assert_true(str_eq(names[i], str_of(name)));
	}
	assert_true(str_eq(names[150], STR("x")));
	assert_int_equal(file_list(in("no"), &a, &names, &n, NULL), ERR_ABSENT);
	assert_int_equal(n, 0);
	arena_free(&a);
}

static void
test_directories(void **state)
{
	char longest[PATH_MAX + 10];

	(void)state;
	assert_int_equal(file_make_dir(in("p/q/r"), NULL), OK);
	assert_int_equal(file_make_dir(in("p/q/r"), NULL), OK);
	assert_int_equal(file_make_dir(in("p//q/r/"), NULL), OK);
	put_file(in("p/q/r/f"), STR("deep"));
	expect_file(in("p/./q//r/f"), STR("deep"));
	/* A file in the way, at the end or in the middle. */
	assert_int_equal(file_make_dir(in("p/q/r/f"), NULL), ERR_EXISTS);
	assert_int_not_equal(file_make_dir(in("p/q/r/f/g"), NULL), OK);
	assert_int_not_equal(file_remove(in("p/q/r"), NULL), OK);
	assert_int_equal(file_remove(in("p/q/r/f"), NULL), OK);
	assert_int_equal(file_remove(in("p/q/r"), NULL), OK);
	assert_int_equal(file_sync_dir(in("p/q/r"), NULL), ERR_ABSENT);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(file_make_dir(longest, NULL), ERR_INPUT);
	assert_int_equal(file_make_dir("", NULL), ERR_INPUT);
}

static void
test_load(void **state)
{
	struct buf b = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	put_file(in("a"), STR("12345"));
	put_file(in("empty"), STR(""));
	buf_put_text(&b, "before ");
	assert_int_equal(file_load(in("a"), 5, &b, &w), OK);
	assert_true(str_eq(buf_str(&b), STR("before 12345")));
	/* One byte above the limit, and the buffer is as it was. */
	assert_int_equal(file_load(in("a"), 4, &b, &w), ERR_FULL);
	assert_non_null(strstr(w.text, "4 bytes"));
	assert_int_equal(b.n, 12);
	assert_int_equal(file_load(in("empty"), 0, &b, NULL), OK);
	assert_int_equal(file_load(in("no"), 5, &b, NULL), ERR_ABSENT);
	assert_int_equal(b.n, 12);
	buf_free(&b);
}

static void
test_free_bytes(void **state)
{
	uint64_t free_now = 0;

	(void)state;
	assert_int_equal(file_free_bytes(work, &free_now, NULL), OK);
	assert_true(free_now > 0);
}

/* --- the real disk only ------------------------------------------------- */

static void
test_lock(void **state)
{
	struct why w = WHY_INIT;
	struct buf b = BUF_INIT;
	int64_t holder;
	char pid[32];
	int fd, status;

	(void)state;
	assert_int_equal(file_lock_dir(in("no"), &fd, &holder, NULL),
	    ERR_ABSENT);
	assert_int_equal(file_lock_dir(work, &fd, &holder, &w), OK);
	snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	assert_int_equal(file_load(in("lock"), 100, &b, NULL), OK);
	assert_true(str_eq(buf_str(&b), str_of(pid)));
	pid_t child = fork();
	if (child == 0) {
		int other;
		bool right = file_lock_dir(work, &other, &holder, &w) ==
		    ERR_BUSY && other < 0 && holder == getppid() &&
		    strstr(w.text, "in use by process") != NULL;
		_exit(right ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	/* A lock that is given back can be taken again. */
	file_close(&fd);
	assert_int_equal(file_lock_dir(work, &fd, &holder, NULL), OK);
	file_close(&fd);
	buf_free(&b);
}

/* A process that was killed holds nothing. */
static void
test_lock_of_the_dead(void **state)
{
	int64_t holder;
	int fd, status;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		if (file_lock_dir(work, &fd, &holder, NULL) != OK)
			_exit(1);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(file_lock_dir(work, &fd, &holder, NULL), OK);
	file_close(&fd);
}

static void
test_modes_and_denied(void **state)
{
	struct stat st;
	int fd;

	(void)state;
	put_file(in("a"), STR("x"));
	assert_int_equal(stat(in("a"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(file_make_dir(in("d"), NULL), OK);
	assert_int_equal(stat(in("d"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	if (geteuid() == 0)
		return;
	assert_int_equal(chmod(in("a"), 0), 0);
	assert_int_equal(file_open(in("a"), FILE_READ, &fd, NULL), ERR_DENIED);
}

/* /dev/full takes no byte: the same error as a full disk's. */
static void
test_disk_full(void **state)
{
	struct why w = WHY_INIT;
	int fd;

	(void)state;
	if (access("/dev/full", W_OK) != 0)
		skip();
	assert_int_equal(file_open("/dev/full", FILE_WRITE, &fd, NULL), OK);
	assert_int_equal(file_write(fd, 0, "x", 1, &w), ERR_DISK_FULL);
	assert_non_null(strstr(w.text, "disk is full"));
	file_close(&fd);
}

static void
test_bad_handles(void **state)
{
	uint64_t size;
	size_t got;
	char c;

	(void)state;
	assert_int_equal(file_read(-1, 0, &c, 1, &got, NULL), ERR_IO);
	assert_int_equal(file_write(-1, 0, &c, 1, NULL), ERR_IO);
	assert_int_equal(file_sync(-1, NULL), ERR_IO);
	assert_int_equal(file_size(-1, &size, NULL), ERR_IO);
	assert_int_equal(file_cut(-1, 0, NULL), ERR_IO);
}

/* --- the plan in front of the real disk --------------------------------- */

static void
test_faulty(void **state)
{
	struct why w = WHY_INIT;
	uint64_t size;
	int fd;

	(void)state;
	file_faults_end();
	assert_int_equal(file_open(in("a"), FILE_CREATE, &fd, NULL), OK);
	file_fault(FILE_CALL_WRITE, 2, 2, ERR_DISK_FULL);
	assert_int_equal(file_write(fd, 0, "1234", 4, NULL), OK);
	assert_int_equal(file_write(fd, 4, "5678", 4, &w), ERR_DISK_FULL);
	/* A part of it is there. */
	assert_int_equal(file_size(fd, &size, NULL), OK);
	assert_int_equal(size, 6);
	assert_int_equal(file_write(fd, 4, "5678", 4, NULL), ERR_DISK_FULL);
	assert_int_equal(file_write(fd, 4, "5678", 4, NULL), OK);
	file_fault(FILE_CALL_SYNC, 1, FILE_FAULT_FOREVER, ERR_IO);
	assert_int_equal(file_sync(fd, NULL), ERR_IO);
	assert_int_equal(file_sync(fd, NULL), ERR_IO);
	file_faults_end();
	assert_int_equal(file_sync(fd, NULL), OK);
	file_close(&fd);
	file_fault(FILE_CALL_CHANGE, 2, FILE_FAULT_FOREVER, ERR_IO);
	assert_int_equal(file_rename_new(in("a"), in("b"), NULL), OK);
	assert_int_equal(file_remove(in("b"), NULL), ERR_IO);
	assert_int_equal(file_sync_dir(work, NULL), ERR_IO);
	file_faults_end();
	expect_file(in("b"), STR("12345678"));
}

#define ON(f, table) \
	{ #f " on " #table, f, table##_setup, teardown, NULL }
#define ON_ALL(f) ON(f, real), ON(f, faulty), ON(f, fake)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ON_ALL(test_open_modes),
		ON_ALL(test_read_write),
		ON_ALL(test_sparse),
		ON_ALL(test_cut_and_allocate),
		ON_ALL(test_names),
		ON_ALL(test_removed_while_open),
		ON_ALL(test_list),
		ON_ALL(test_directories),
		ON_ALL(test_load),
		ON_ALL(test_free_bytes),
		ON_ALL(test_bad_handles),
		ON(test_lock, real),
		ON(test_lock_of_the_dead, real),
		ON(test_modes_and_denied, real),
		ON(test_disk_full, real),
		ON(test_faulty, faulty),
	};

	return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
