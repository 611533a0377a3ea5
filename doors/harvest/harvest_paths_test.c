/* Roots of paths, and claims. */
#include "doors/harvest/claim.h"
#include "doors/harvest/roots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/file.h"
#include "os/tree.h"
#include "tests/suite.h"

static struct arena arena;

static int
teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static void
assert_text(struct str s, const char *text)
{
	if (!str_eq(s, str_of(text)))
		fail_msg("\"%.*s\" is not \"%s\"", STR_FMT(s), text);
}

static void
paths(void **state)
{
	static const struct {
		const char *path, *local;    /* NULL: refused */
	} cases[] = {
		{ "/sfm-data/a/b", "/sfm-data/a/b" },
		{ "/sfm-data", "/sfm-data" },
		{ "//sfm-data///a/", "/sfm-data/a" },
		{ "/exports/2", "/srv/x/2" },
		{ "/sfm-database/a", NULL }, { "/sfm-data/../etc", NULL },
		{ "/sfm-data/./a", NULL }, { "sfm-data/a", NULL },
		{ "", NULL }, { "/", NULL }, { "/srv/x/2", NULL },
	};
	struct roots r = { .n = 0 };
	struct str local;

	(void)state;
	assert_int_equal(roots_add(&r, STR("/sfm-data/"), &arena, NULL), OK);
	assert_int_equal(roots_add(&r, STR("/exports=/srv/x"), &arena, NULL),
	    OK);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		enum err e = roots_to_local(&r, str_of(cases[i].path), &arena,
		    &local, NULL);
		if (e != (cases[i].local == NULL ? ERR_INPUT : OK))
			fail_msg("%s", cases[i].path);
		if (e == OK)
			assert_text(local, cases[i].local);
	}
	assert_text(roots_to_message(&r, STR("/srv/x/2/y.warc.gz"), &arena),
	    "/exports/2/y.warc.gz");
	assert_text(roots_find_local(&r, STR("/srv/x/2"))->local, "/srv/x");
	assert_null(roots_find_local(&r, STR("/srv/xy")));
	assert_text(roots_to_message(&r, STR("/elsewhere"), &arena),
	    "/elsewhere");
	static const char *const wrong[] = { "", "a", "/", "/a=", "/a=b",
		"/a/../b", "/a=/b/./c" };
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(roots_add(&r, str_of(wrong[i]), &arena,
		    NULL), ERR_CONFIG);
	assert_int_equal(r.n, 2);
}

/* The table's verdicts: a path is denied by its text, or when it
 * is opened below its root. */
static bool
is_allowed(const struct roots *r, struct str path)
{
	struct shared_dir d = SHARED_DIR_INIT;
	struct str local;

	if (roots_to_local(r, path, &arena, &local, NULL) != OK)
		return false;
	const struct root *root = roots_find_local(r, local);
	const struct shared_root shared = { root->local.p, 0002 };
	enum err e = shared_dir_open(&shared, local.p, SHARED_DIR_MAKE, &d,
	    NULL);
	shared_dir_close(&d);
	return e == OK;
}

/* "a*4096" stands for so many of the letter, "\\n" and "\\x00" for bytes. */
static struct str
read_path(const char *text)
{
	char *out = arena_bytes(&arena, 8192);
	size_t n = 0;

	for (; *text != '\0' && *text != '\n'; text++) {
		if (strncmp(text, "\\n", 2) == 0) {
			out[n++] = '\n';
			text++;
		} else if (strncmp(text, "\\x", 2) == 0) {
			const char hex[] = { text[2], text[3], '\0' };
			out[n++] = (char)strtoul(hex, NULL, 16);
			text += 3;
		} else if (*text == '*') {
			size_t more = strtoul(text + 1, NULL, 10) - 1;
			memset(out + n, out[n - 1], more);
			n += more;
			text += strspn(text + 1, "0123456789");
		} else {
			out[n++] = *text;
		}
	}
	return (struct str){ out, n };
}

static void
suite_of_paths(void **state)
{
	char dir[] = "/tmp/argiope-paths-XXXXXX", line[512];
	struct roots r = { .n = 0 };
	size_t seen = 0;
	FILE *f = fopen(suite_path("own/paths.tsv"), "r");

	(void)state;
	if (f == NULL)
		skip();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(symlink("/etc", arena_printf(&arena,
	    "%s/link-to-etc", dir).p), 0);
	assert_int_equal(roots_add(&r, arena_printf(&arena, "/data/root=%s",
	    dir), &arena, NULL), OK);
	while (fgets(line, sizeof(line), f) != NULL) {
		char *tab = strchr(line, '\t');
		if (line[0] == '#' || tab == NULL)
			continue;
		seen++;
		if (is_allowed(&r, read_path(tab + 1)) !=
		    (strncmp(line, "allow", 5) == 0))
			fail_msg("%s", line);
	}
	fclose(f);
	assert_true(seen > 20);
	assert_int_equal(tree_remove(dir, NULL), OK);
}

static enum err
take(struct str path, const char *id, const char *instance, struct why *w)
{
	const struct shared_root none = { .path = NULL };
	struct shared_dir d;

	assert_int_equal(shared_dir_open(&none, path.p, SHARED_DIR_MAKE, &d,
	    NULL), OK);
	enum err e = claim_take(&d, str_of(id), str_of(instance), w);
	shared_dir_close(&d);
	return e;
}

static enum err
drop(struct str path, const char *id, const char *instance)
{
	const struct shared_root none = { .path = NULL };
	struct shared_dir d;

	assert_int_equal(shared_dir_open(&none, path.p, SHARED_DIR_LOOK, &d,
	    NULL), OK);
	enum err e = claim_drop(&d, str_of(id), str_of(instance), NULL);
	shared_dir_close(&d);
	return e;
}

static void
claims(void **state)
{
	char dir[] = "/tmp/argiope-claim-XXXXXX";
	struct why w = WHY_INIT;
	struct stat s;

	(void)state;
	assert_non_null(mkdtemp(dir));
	mode_t before = umask(002);
	struct str path = arena_printf(&arena, "%s/a/b", dir);
	assert_int_equal(take(path, "sfmui:45", "one", &w), OK);
	assert_int_equal(take(path, "sfmui:45", "one", NULL), OK);
	assert_int_equal(take(path, "sfmui:45", "two", &w), ERR_EXISTS);
	assert_string_equal(w.text, "one has claimed it");
	assert_int_equal(take(path, "sfmui:46", "two", NULL), OK);
	const char *file = arena_printf(&arena,
	    "%.*s/.argiope/sfmui_45.claim", STR_FMT(path)).p;
	assert_int_equal(stat(file, &s), 0);
	assert_int_equal(s.st_mode & 0777, 0664);
	/* What a crash has left of one is no claim. */
	assert_int_equal(file_remove(file, NULL), OK);
	assert_int_equal(file_store(arena_printf(&arena,
	    "%.*s/.argiope/.sfmui_45.one", STR_FMT(path)).p, STR("on"), NULL),
	    OK);
	assert_int_equal(take(path, "sfmui:45", "two", NULL), OK);
	/* Only its owner removes it. */
	assert_int_equal(drop(path, "sfmui:45", "one"), OK);
	assert_int_equal(stat(file, &s), 0);
	assert_int_equal(drop(path, "sfmui:45", "two"), OK);
	assert_int_equal(stat(file, &s), -1);
	assert_int_equal(drop(path, "sfmui:45", "two"), OK);
	umask(before);
	assert_int_equal(tree_remove(dir, NULL), OK);
}

#define WITH(test) cmocka_unit_test_teardown(test, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = { WITH(paths),
		WITH(suite_of_paths), WITH(claims) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
