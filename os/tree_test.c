/* tree_test -- whole files and directories. */
#include "os/tree.h"

#include <sys/stat.h>

#include "base/bytes.h"
#include "os/file.h"
#include "os/world_testing.h"

/* Two names of one file. */
static bool
is_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	    x.st_ino == y.st_ino;
}

static void
put(const char *path, const char *text)
{
	int fd = -1;

	assert_int_equal(file_open(path, FILE_NEW, &fd, NULL), OK);
	assert_int_equal(file_write(fd, 0, text, strlen(text), NULL), OK);
	file_close(&fd);
}

static void
expect(const char *path, const char *text)
{
	struct buf b = BUF_INIT;

	assert_int_equal(file_load(path, 1000, &b, NULL), OK);
	assert_string_equal(buf_text(&b), text);
	buf_free(&b);
}

static enum err
note(void *arg, const char *path, uint64_t bytes, struct why *w)
{
	(void)w;
	buf_printf(arg, "%s:%llu ", path, (unsigned long long)bytes);
	return OK;
}

static enum err
stop(void *arg, const char *path, uint64_t bytes, struct why *w)
{
	(void)path;
	(void)bytes;
	++*(int *)arg;
	return why(w, ERR_FULL, "enough");
}

static void
test_tree(void **state)
{
	struct why w = WHY_INIT;
	struct buf b = BUF_INIT;
	uint64_t bytes = 0;
	int calls = 0;

	(void)state;
	assert_int_equal(tree_remove("tree.tmp", NULL), OK);
	assert_int_equal(file_make_dir("tree.tmp/a/.b", NULL), OK);
	put("tree.tmp/a/one", "123456");
	put("tree.tmp/a/.b/two", "12");
	assert_int_equal(tree_copy("tree.tmp/a/one", "tree.tmp/cut", 4, NULL),
	    OK);
	expect("tree.tmp/cut", "1234");
	assert_int_equal(tree_copy("tree.tmp/a/one", "tree.tmp/whole",
	    UINT64_MAX, NULL), OK);
	expect("tree.tmp/whole", "123456");
	assert_int_equal(tree_copy("tree.tmp/a/one", "tree.tmp/cut", 4, NULL),
	    ERR_EXISTS);
	assert_int_equal(tree_copy("tree.tmp/none", "tree.tmp/x", 4, NULL),
	    ERR_ABSENT);
	assert_int_equal(tree_kind("tree.tmp/x", NULL), TREE_ABSENT);
	assert_int_equal(tree_link("tree.tmp/a/one", "tree.tmp/link", NULL),
	    OK);
	assert_true(is_same("tree.tmp/a/one", "tree.tmp/link"));
	assert_false(is_same("tree.tmp/whole", "tree.tmp/link"));
	assert_int_equal(tree_kind("tree.tmp/link", &bytes), TREE_FILE);
	assert_int_equal(bytes, 6);
	assert_int_equal(tree_kind("tree.tmp/a", NULL), TREE_DIR);

	/* Names that begin with a dot come first. */
	assert_int_equal(tree_walk("tree.tmp/a", note, &b, NULL), OK);
	assert_string_equal(buf_text(&b), ".b/two:2 one:6 ");
	assert_int_equal(tree_walk("tree.tmp/none", note, &b, NULL), OK);
	assert_int_equal(tree_walk("tree.tmp", stop, &calls, &w), ERR_FULL);
	assert_int_equal(calls, 1);

	assert_int_equal(tree_sync("tree.tmp", NULL), OK);
	assert_int_equal(tree_remove("tree.tmp", NULL), OK);
	assert_int_equal(tree_kind("tree.tmp", NULL), TREE_ABSENT);
	buf_free(&b);
}

/* Two paths change places; files get the modes of the process's umask. */
static void
test_exchange_and_share(void **state)
{
	struct stat s;
	struct buf b = BUF_INIT;
	mode_t before = umask(027);

	(void)state;
	assert_int_equal(tree_remove("tree.tmp", NULL), OK);
	assert_int_equal(file_make_dir("tree.tmp/a", NULL), OK);
	assert_int_equal(file_make_dir("tree.tmp/b", NULL), OK);
	put("tree.tmp/a/one", "1");
	put("tree.tmp/b/two", "2");
	assert_int_equal(tree_share("tree.tmp/a", NULL), OK);
	assert_int_equal(stat("tree.tmp/a", &s), 0);
	assert_int_equal(s.st_mode & 07777, 0750);
	assert_int_equal(stat("tree.tmp/a/one", &s), 0);
	assert_int_equal(s.st_mode & 07777, 0640);
	/* Nothing else is there now, nor after a crash. */
	assert_int_equal(tree_walk("tree.tmp/a", note, &b, NULL), OK);
	assert_string_equal(buf_text(&b), "one:1 ");
	buf_free(&b);
	assert_int_equal(tree_exchange("tree.tmp/a", "tree.tmp/b", NULL), OK);
	expect("tree.tmp/a/two", "2");
	expect("tree.tmp/b/one", "1");
	assert_int_equal(tree_exchange("tree.tmp/a", "tree.tmp/none", NULL),
	    ERR_ABSENT);
	assert_int_equal(tree_share("tree.tmp/none", NULL), ERR_ABSENT);
	assert_int_equal(tree_remove("tree.tmp", NULL), OK);
	umask(before);
}

/* Directories and files that others may read, also from another device. */
static void
test_make_dir_and_move(void **state)
{
	char other[] = "/dev/shm/argiope-tree-XXXXXX";
	struct arena a = ARENA_INIT;
	mode_t before = umask(027);
	struct stat s;

	(void)state;
	assert_int_equal(tree_remove("tree.tmp", NULL), OK);
	assert_int_equal(tree_make_dir("tree.tmp/2026/11", NULL), OK);
	assert_int_equal(tree_make_dir("tree.tmp/2026/11", NULL), OK);
	assert_int_equal(stat("tree.tmp/2026", &s), 0);
	assert_int_equal(s.st_mode & 07777, 0750);
	put("tree.tmp/one", "1");
	assert_int_equal(tree_make_dir("tree.tmp/one", NULL), ERR_EXISTS);
	assert_int_equal(tree_move("tree.tmp/one", "tree.tmp/2026/11/one",
	    NULL), OK);
	expect("tree.tmp/2026/11/one", "1");
	assert_int_equal(stat("tree.tmp/2026/11/one", &s), 0);
	assert_int_equal(s.st_mode & 07777, 0640);
	assert_int_equal(tree_kind("tree.tmp/one", NULL), TREE_ABSENT);
	put("tree.tmp/two", "2");
	assert_int_equal(tree_move("tree.tmp/two", "tree.tmp/2026/11/one",
	    NULL), ERR_EXISTS);
	expect("tree.tmp/two", "2");
	if (mkdtemp(other) != NULL) {
		struct str to = arena_printf(&a, "%s/two", other);
		/* What a crash has left of a copy. */
		put(arena_printf(&a, "%s/.two.part", other).p, "half");
		assert_int_equal(tree_move("tree.tmp/two", to.p, NULL), OK);
		expect(to.p, "2");
		assert_int_equal(stat(to.p, &s), 0);
		assert_int_equal(s.st_mode & 07777, 0640);
		assert_int_equal(tree_kind("tree.tmp/two", NULL),
		    TREE_ABSENT);
		put("tree.tmp/three", "3");
		assert_int_equal(tree_move("tree.tmp/three", to.p, NULL),
		    ERR_EXISTS);
		assert_int_equal(tree_remove(other, NULL), OK);
	}
	assert_int_equal(tree_remove("tree.tmp", NULL), OK);
	arena_free(&a);
	umask(before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_exchange_and_share),
		cmocka_unit_test(test_make_dir_and_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
