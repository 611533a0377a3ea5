#include "os/key_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/file.h"

static char dir[] = "key_file-XXXXXX";
static char path[64];

static int
setup(void **state)
{
	(void)state;
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/secrets.key", dir);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	remove(path);
	return rmdir(dir);
}

static void
a_key_is_made_once(void **state)
{
	uint8_t first[KEY_FILE_BYTES], second[KEY_FILE_BYTES];
	struct stat st;

	(void)state;
	assert_int_equal(key_file_read(path, false, first, NULL), ERR_ABSENT);
	assert_int_equal(key_file_read(path, true, first, NULL), OK);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(key_file_read(path, true, second, NULL), OK);
	assert_memory_equal(first, second, sizeof(first));
}

static void
a_wrong_file_is_refused(void **state)
{
	static const struct {
		size_t bytes;
		mode_t mode;
		enum err err;
	} rows[] = {
		{ 32, 0600, OK }, { 32, 0400, OK }, { 31, 0600, ERR_CORRUPT },
		{ 33, 0600, ERR_CORRUPT }, { 0, 0600, ERR_CORRUPT },
		{ 32, 0640, ERR_DENIED }, { 32, 0604, ERR_DENIED },
		{ 32, 0620, ERR_DENIED },
	};
	uint8_t key[KEY_FILE_BYTES];
	char zeros[64] = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct why w = WHY_INIT;
		remove(path);
		assert_int_equal(file_store(path, (struct str){ zeros,
		    rows[i].bytes }, NULL), OK);
		assert_int_equal(chmod(path, rows[i].mode), 0);
		if (key_file_read(path, true, key, &w) != rows[i].err)
			fail_msg("row %zu: %s", i, w.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_made_once),
		cmocka_unit_test(a_wrong_file_is_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
