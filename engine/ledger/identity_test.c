/* The identity of a data directory: written, read, and adopted elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "engine/ledger/identity.h"
#include "os/file.h"

static char dir[] = "/tmp/argiope-identity-XXXXXX";
static struct arena memory;

static int
make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) == NULL;
}

static int
remove_dir(void **state)
{
	(void)state;
	(void)!file_remove(arena_printf(&memory, "%s/identity", dir).p, NULL);
	arena_free(&memory);
	return rmdir(dir);
}

/* An earlier version has no identity: that is neither an error nor a reason. */
static void
adopts_what_has_none(void **state)
{
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(identity_adopt(dir, &w), OK);
	assert_int_equal(w.err, OK);
	assert_string_equal(w.text, "");
}

static void
adopts_a_copy(void **state)
{
	struct identity in = { .place = STR("/elsewhere") }, out;
	struct str archive = STR("/archive with a space");
	struct why w = WHY_INIT;

	(void)state;
	identity_make_id(in.id);
	in.archives = &archive;
	in.archives_n = 1;
	assert_int_equal(identity_write(dir, &in, &w), OK);
	assert_int_equal(identity_adopt(dir, &w), OK);
	assert_int_equal(identity_read(dir, &memory, &out, &w), OK);
	assert_string_equal(out.id, in.id);
	assert_true(str_eq(out.place, str_of(dir)));
	assert_int_equal(out.archives_n, 1);
	assert_true(str_eq(out.archives[0], archive));
}

static void
refuses_damage(void **state)
{
	const char *path = arena_printf(&memory, "%s/identity", dir).p;
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(file_store(path, STR("argiope-data 1\nid 7\n"), &w),
	    OK);
	assert_int_equal(identity_adopt(dir, &w), ERR_CORRUPT);
	assert_non_null(strstr(w.text, "is damaged"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adopts_what_has_none),
		cmocka_unit_test(adopts_a_copy),
		cmocka_unit_test(refuses_damage),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
