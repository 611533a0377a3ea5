#include "script/items/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "source-XXXXXX";
static char before[4096];

static int
setup(void **state)
{
	(void)state;
	return getcwd(before, sizeof(before)) == NULL ||
	    mkdtemp(dir) == NULL || chdir(dir) != 0 ||
	    mkdir("conf", 0700) != 0 || mkdir("conf/lib", 0700) != 0;
}

static int
teardown(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return chdir(before) != 0 || system(command) != 0;
}

static void
put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void
imports_are_found(void **state)
{
	static const struct {
		const char *source, *paths;
	} rows[] = {
		{ "", "" },
		{ "import a from './a.js'", "./a.js " },
		{ "import {a, b} from \"../a.js\";import './b.json';",
		    "../a.js ./b.json " },
		{ "export * from './x.js'\nconst m = await import(\n'./m.js')",
		    "./x.js ./m.js " },
		{ "import d from './d.json' with { type: 'json' }",
		    "./d.json " },
		{ "import a from 'lodash'; import b from './b.js'",
		    "./b.js " },
		{ "notimport './a.js'; x.from('./b.js')", "" },
		{ "from './unended.js", "" },
		{ "import './two\nlines.js'", "" },
		{ "import", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		FREED(buf_free) struct buf b = BUF_INIT;
		struct str path;
		size_t at = 0;
		while (source_next_import(str_of(rows[i].source), &at, &path))
			buf_printf(&b, "%.*s ", STR_FMT(path));
		if (!str_eq(buf_str(&b), str_of(rows[i].paths)))
			fail_msg("%s: %.*s", rows[i].source,
			    STR_FMT(buf_str(&b)));
	}
	size_t at = 0;
	struct str path;
	assert_false(source_next_import(STR("import \0./a.js\0"), &at,
	    &path));
}

#define SOURCE_BYTES_MAX ((size_t)32 << 20)

static void
is_bundle(const struct script_bundle *b, const char *paths)
{
	FREED(buf_free) struct buf all = BUF_INIT;

	for (size_t i = 0; i < bundle_files(b); i++)
		buf_printf(&all, "%.*s ", STR_FMT(bundle_path(b, i)));
	if (!str_eq(buf_str(&all), str_of(paths)))
		fail_msg("%.*s", STR_FMT(buf_str(&all)));
}

static struct script_bundle *
loaded(const char *path)
{
	struct script_bundle *b;
	struct why w = WHY_INIT;

	if (source_load(path, SOURCE_BYTES_MAX, &b, &w) != OK)
		fail_msg("%s", w.text);
	return b;
}

static void
a_bundle_has_what_is_imported(void **state)
{
	struct script_bundle *b, *again, *other;
	FREED(buf_free) struct buf json = BUF_INIT;

	(void)state;
	put("conf/shop.js", "import './lib/z.js'; import './lib/a.js'");
	put("conf/lib/z.js", "import '../util.js'; import './missing.js'");
	put("conf/lib/a.js", "import '../../outside.js'; import './z.js'");
	put("conf/util.js", "export default 1");
	put("conf/unused.js", "export default 2");
	put("outside.js", "export default 3");
	b = loaded("conf/shop.js");
	is_bundle(b, "shop.js lib/z.js lib/a.js util.js ");
	assert_string_equal(bundle_main(b), "shop.js");

	source_to_json(b, &json);
	assert_int_equal(source_from_json(buf_str(&json), STR("shop.js"),
	    &again, NULL), OK);
	is_bundle(again, "shop.js lib/z.js lib/a.js util.js ");
	assert_string_equal(bundle_hash(again), bundle_hash(b));
	assert_int_equal(source_from_json(buf_str(&json), STR("no.js"),
	    &other, NULL), ERR_CORRUPT);

	put("conf/util.js", "export default 2");
	other = loaded("conf/shop.js");
	assert_string_not_equal(bundle_hash(other), bundle_hash(b));
	bundle_drop(&other);
	bundle_drop(&again);
	bundle_drop(&b);
}

static void
no_link_leads_out(void **state)
{
	struct why w = WHY_INIT;
	struct script_bundle *b;

	(void)state;
	put("outside.js", "export default 3");
	put("conf/link.js", "import './lib/out.js'");
	assert_int_equal(symlink("../../outside.js", "conf/lib/out.js"), 0);
	assert_int_equal(source_load("conf/link.js", SOURCE_BYTES_MAX, &b, &w),
	    ERR_DENIED);
	assert_non_null(strstr(w.text, "lib/out.js: a link leads out"));
	remove("conf/lib/out.js");
	/* One that stays inside is a file like any other. */
	assert_int_equal(symlink("../util.js", "conf/lib/out.js"), 0);
	put("conf/util.js", "export default 1");
	b = loaded("conf/link.js");
	is_bundle(b, "link.js lib/out.js ");
	bundle_drop(&b);
	w = WHY_INIT;
	assert_int_equal(source_load("conf/none.js", SOURCE_BYTES_MAX, &b, &w),
	    ERR_ABSENT);
	assert_non_null(strstr(w.text, "conf/none.js"));
}

static void
bytes_are_limited(void **state)
{
	struct script_bundle *b;

	(void)state;
	put("conf/big.js", "");
	assert_int_equal(truncate("conf/big.js", 1000), 0);
	assert_int_equal(source_load("conf/big.js", 1000, &b, NULL), OK);
	bundle_drop(&b);
	assert_int_equal(source_load("conf/big.js", 999, &b, NULL), ERR_FULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(imports_are_found),
		cmocka_unit_test(a_bundle_has_what_is_imported),
		cmocka_unit_test(no_link_leads_out),
		cmocka_unit_test(bytes_are_limited),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
