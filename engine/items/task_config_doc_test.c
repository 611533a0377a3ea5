/* The page of the configuration's keys lists these keys and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/items/task_read.h"

#define PAGE "docs/protocols/items-config.md"

static struct buf page = BUF_INIT;
static struct map keys = MAP_INIT;
static struct arena memory = ARENA_INIT;

static void
note_key(void *arg, const char *path)
{
	(void)arg;
	struct str key = arena_copy(&memory, str_of(path));
	assert_null(map_put(&keys, key, &page));
}

static void
read_page(void)
{
	const char *root = getenv("ARGIOPE_SOURCE");
	char path[512];
	char piece[4096];
	size_t n;

	snprintf(path, sizeof(path), "%s/" PAGE, root == NULL ? "." : root);
	FILE *f = fopen(path, "r");
	if (f == NULL)
		fail_msg("%s cannot be read", path);
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_put(&page, piece, n);
	fclose(f);
}

static void
lists_every_key_once(void **state)
{
	struct str rest = buf_str(&page), line;
	const struct str row = STR("| `");

	(void)state;
	assert_true(keys.n > 50);
	while (str_split(&rest, '\n', &line)) {
		if (!str_starts(line, row))
			continue;
		struct str key = str_from(line, row.n);
		key = str_cut(key, 0, str_find_char(key, '`'));
		if (map_take(&keys, key) == NULL)
			fail_msg("%.*s is no key, or stands twice",
			    STR_FMT(key));
	}
	size_t at = 0;
	const struct buf *left = map_next(&keys, &at);
	if (left != NULL)
		fail_msg("%zu keys are not on the page, one is %.*s", keys.n,
		    STR_FMT(keys.slots[at - 1].key));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_every_key_once),
	};

	read_page();
	task_config_walk_keys(note_key, NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	buf_free(&page);
	map_free(&keys);
	arena_free(&memory);
	return failed;
}
