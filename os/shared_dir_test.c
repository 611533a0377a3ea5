/* Directories below a root, for several users. */
#include "os/shared_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <grp.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "os/file.h"
#include "os/tree.h"

/* Of the second user, and of the group that both are in. */
#define OTHER_UID 54321
#define GROUP_GID 54322

static char top[64];
static struct shared_root root;
static struct arena arena;

static int
setup(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/argiope-shared-XXXXXX");
	assert_non_null(mkdtemp(top));
	assert_int_equal(chmod(top, 0755), 0);
	root = (struct shared_root){ arena_printf(&arena, "%s/root", top).p,
		0002 };
	assert_int_equal(mkdir(root.path, 0775), 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	return tree_remove(top, NULL) != OK;
}

static const char *
at(const char *below)
{
	return arena_printf(&arena, "%s/%s", root.path, below).p;
}

static enum err
try_open(const char *below, enum shared_dir_mode mode)
{
	struct shared_dir d;

	enum err e = shared_dir_open(&root, at(below), mode, &d, NULL);
	shared_dir_close(&d);
	return e;
}

static void
opened(const char *below, struct shared_dir *d)
{
	struct why w = WHY_INIT;

	if (shared_dir_open(&root, at(below), SHARED_DIR_MAKE, d, &w) != OK)
		fail_msg("%s", w.text);
}

static unsigned
mode_of(const char *path)
{
	struct stat s;

	assert_int_equal(lstat(path, &s), 0);
	return s.st_mode & 07777;
}

static void
put(const char *path, const char *text)
{
	assert_int_equal(file_store(path, str_of(text), NULL), OK);
}

/* --- Links --------------------------------------------------------------- */

static void
links_lead_nowhere_else(void **state)
{
	static const struct {
		const char *path;
		enum err look, make;
	} cases[] = {
		{ "", OK, OK }, { "in/side", OK, OK },
		{ "in//side/", OK, OK }, { "link/side", OK, OK },
		{ "in/up/in", OK, OK }, { "link/new", ERR_ABSENT, OK },
		{ "away", ERR_DENIED, ERR_DENIED },
		{ "away/new", ERR_DENIED, ERR_DENIED },
		{ "tmp/x", ERR_DENIED, ERR_DENIED },
		{ "in/../../out", ERR_DENIED, ERR_DENIED },
		{ "loop", ERR_DENIED, ERR_DENIED },
		{ "file/x", ERR_INPUT, ERR_INPUT },
		{ "none/x", ERR_ABSENT, OK },
	};

	(void)state;
	assert_int_equal(try_open("in/side", SHARED_DIR_MAKE), OK);
	assert_int_equal(mkdir(arena_printf(&arena, "%s/out", top).p, 0755),
	    0);
	assert_int_equal(symlink("in", at("link")), 0);
	assert_int_equal(symlink("..", at("in/up")), 0);
	assert_int_equal(symlink("../out", at("away")), 0);
	assert_int_equal(symlink("/tmp", at("tmp")), 0);
	assert_int_equal(symlink("loop", at("loop")), 0);
	put(at("file"), "1");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (try_open(cases[i].path, SHARED_DIR_LOOK) != cases[i].look)
			fail_msg("look %s", cases[i].path);
		if (try_open(cases[i].path, SHARED_DIR_MAKE) != cases[i].make)
			fail_msg("make %s", cases[i].path);
	}
	assert_int_equal(tree_kind(arena_printf(&arena, "%s/out/new", top).p,
	    NULL), TREE_ABSENT);
	/* A link to what is not there yet is followed nowhere. */
	assert_int_equal(symlink("later", at("dangling")), 0);
	assert_int_not_equal(try_open("dangling", SHARED_DIR_MAKE), OK);
}

/* One that is planted while the directory is open changes nothing. */
static void
open_directories_stay(void **state)
{
	struct shared_dir d, below;

	(void)state;
	opened("a", &d);
	assert_int_equal(rename(at("a"), at("b")), 0);
	assert_int_equal(symlink("/tmp", at("a")), 0);
	assert_int_equal(shared_dir_write(&d, "x", STR("1"), NULL), OK);
	assert_int_equal(tree_kind(at("b/x"), NULL), TREE_FILE);
	assert_int_equal(symlink("/tmp", at("b/2026")), 0);
	assert_int_equal(shared_dir_below(&d, "2026/11", SHARED_DIR_MAKE,
	    &below, NULL), ERR_DENIED);
	shared_dir_close(&below);
	shared_dir_close(&d);
	assert_int_equal(try_open("a", SHARED_DIR_MAKE), ERR_DENIED);
}

static void
files_are_regular(void **state)
{
	struct buf b = BUF_INIT;
	struct shared_dir d;

	(void)state;
	opened("d", &d);
	assert_int_equal(mkfifo(at("d/fifo"), 0666), 0);
	assert_int_equal(symlink("/etc/passwd", at("d/out")), 0);
	assert_int_equal(mkdir(at("d/dir"), 0777), 0);
	put(at("d/x"), "abc");
	assert_int_equal(symlink("x", at("d/in")), 0);
	assert_int_equal(shared_dir_load(&d, "fifo", 10, &b, NULL),
	    ERR_INPUT);
	assert_int_equal(shared_dir_load(&d, "dir", 10, &b, NULL), ERR_INPUT);
	assert_int_equal(shared_dir_load(&d, "out", 1 << 20, &b, NULL),
	    ERR_DENIED);
	assert_int_equal(shared_dir_load(&d, "no", 10, &b, NULL), ERR_ABSENT);
	assert_int_equal(shared_dir_load(&d, "x", 2, &b, NULL), ERR_FULL);
	assert_int_equal(shared_dir_load(&d, "in", 3, &b, NULL), OK);
	assert_true(str_eq(buf_str(&b), STR("abc")));
	/* What stands at a name that is written is replaced, not followed. */
	assert_int_equal(shared_dir_write(&d, "out", STR("1"), NULL), OK);
	assert_int_equal(tree_kind(at("d/out"), NULL), TREE_FILE);
	buf_free(&b);
	shared_dir_close(&d);
}

/* --- Modes --------------------------------------------------------------- */

static void
modes(void **state)
{
	mode_t before = umask(077);
	struct shared_dir d;
	int lock;

	(void)state;
	opened("cs/one", &d);
	assert_int_equal(mode_of(at("cs")), 02775);
	assert_int_equal(mode_of(at("cs/one")), 02775);
	assert_int_equal(shared_dir_write(&d, "x", STR("1"), NULL), OK);
	assert_int_equal(mode_of(at("cs/one/x")), 0664);
	assert_int_equal(shared_dir_lock(&d, "lock", &lock, NULL), OK);
	assert_int_equal(mode_of(at("cs/one/lock")), 0664);
	file_close(&lock);
	put(arena_printf(&arena, "%s/from", top).p, "2");
	assert_int_equal(shared_dir_take(&d, arena_printf(&arena, "%s/from",
	    top).p, "y", NULL), OK);
	assert_int_equal(mode_of(at("cs/one/y")), 0664);
	shared_dir_close(&d);
	root.umask = 0027;
	opened("cs/two", &d);
	assert_int_equal(mode_of(at("cs/two")), 02750);
	assert_int_equal(shared_dir_write(&d, "x", STR("1"), NULL), OK);
	assert_int_equal(mode_of(at("cs/two/x")), 0640);
	shared_dir_close(&d);
	umask(before);
}

static void
from_another_file_system(void **state)
{
	char other[] = "/dev/shm/argiope-shared-XXXXXX";
	struct shared_dir d;
	struct stat a, b;

	(void)state;
	if (mkdtemp(other) == NULL)
		skip();
	assert_int_equal(stat(other, &a), 0);
	assert_int_equal(stat(root.path, &b), 0);
	const char *from = arena_printf(&arena, "%s/x", other).p;
	put(from, "abc");
	opened("d", &d);
	if (a.st_dev != b.st_dev) {
		put(at("d/.x.part"), "what a crash has left");
		assert_int_equal(shared_dir_take(&d, from, "x", NULL), OK);
		assert_int_equal(mode_of(at("d/x")), 0664);
		assert_int_equal(tree_kind(from, NULL), TREE_ABSENT);
		assert_int_equal(tree_kind(at("d/.x.part"), NULL),
		    TREE_ABSENT);
		put(from, "abd");
		assert_int_equal(shared_dir_take(&d, from, "x", NULL),
		    ERR_EXISTS);
		assert_int_equal(tree_kind(from, NULL), TREE_FILE);
	}
	shared_dir_close(&d);
	assert_int_equal(tree_remove(other, NULL), OK);
}

/* --- A second user ------------------------------------------------------- */

/* Its umask is 0, so that what it makes is what it may make. */
static int
as_other_user(void)
{
	const gid_t groups[] = { GROUP_GID };
	char text[8] = "";

	umask(002);
	if (setgroups(1, groups) != 0 || setgid(OTHER_UID) != 0 ||
	    setuid(OTHER_UID) != 0)
		return 1;
	int fd = open(at("cs/2026/x"), O_RDONLY);
	if (fd < 0 || read(fd, text, 3) != 3 || strcmp(text, "abc") != 0)
		return 2;
	fd = open(at("cs/2026/x"), O_WRONLY | O_APPEND);
	if (fd < 0 || write(fd, "d", 1) != 1)
		return 3;
	fd = open(at("cs/README.txt"), O_WRONLY | O_CREAT | O_EXCL, 0666);
	if (fd < 0)
		return 4;
	/* Both go on where the other one began. */
	if (mkdir(at("cs/2026/12"), 0777) != 0)
		return 5;
	return unlink(at("cs/2026/y")) == 0 ? 0 : 6;
}

static void
another_user_reads_and_writes(void **state)
{
	struct shared_dir d;
	struct stat s;
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(root.path, 0, GROUP_GID), 0);
	opened("cs/2026", &d);
	assert_int_equal(shared_dir_write(&d, "x", STR("abc"), NULL), OK);
	put(arena_printf(&arena, "%s/from", top).p, "2");
	assert_int_equal(shared_dir_take(&d, arena_printf(&arena, "%s/from",
	    top).p, "y", NULL), OK);
	assert_int_equal(stat(at("cs/2026/y"), &s), 0);
	assert_int_equal(s.st_gid, GROUP_GID);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(as_other_user());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	/* What it made has the group, and our own can be made in it. */
	assert_int_equal(stat(at("cs/2026/12"), &s), 0);
	assert_int_equal(s.st_gid, GROUP_GID);
	assert_int_equal(try_open("cs/2026/12/05", SHARED_DIR_MAKE), OK);
	shared_dir_close(&d);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(links_lead_nowhere_else),
		WITH(open_directories_stay),
		WITH(files_are_regular),
		WITH(modes),
		WITH(from_another_file_system),
		WITH(another_user_reads_and_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
