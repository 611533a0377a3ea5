#include "cli/verbs.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "daemon/verb_table.h"

static void
test_rows(void **state)
{
	size_t n;
	const struct option_verb *v = verbs_all(&n);

	(void)state;
	assert_true(n >= 14);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(v[i].summary);
		assert_true(len > 0 && v[i].summary[len - 1] != '.');
		assert_true(v[i].operands_min <= v[i].operands_max);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(v[i].name, v[k].name);
	}
}

/* A worker has the daemon's data, a tap the configuration's. */
static bool
has_no_data(const struct option_verb *v)
{
	return strcmp(v->name, "worker") == 0 ||
	    strcmp(v->name, "external tap") == 0;
}

/* No option twice, no letter twice, and what every verb must take. */
static void
test_options(void **state)
{
	static const char *const common[] = { "config", "data", "set",
	    "help" };
	size_t n;
	const struct option_verb *v = verbs_all(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		size_t found = 0;
		for (size_t k = 0; k < v[i].rows_n; k++) {
			const struct option_row *row = &v[i].rows[k];
			for (size_t c = 0; c < ARRAY_LEN(common); c++)
				found += strcmp(row->name, common[c]) == 0;
			for (size_t j = 0; j < k; j++) {
				assert_string_not_equal(row->name,
				    v[i].rows[j].name);
				assert_true(row->letter == 0 || row->letter !=
				    v[i].rows[j].letter);
			}
		}
		assert_int_equal(found, ARRAY_LEN(common) -
		    has_no_data(&v[i]));
	}
}

/* 80 columns, whatever the rows say. */
static void
test_help(void **state)
{
	size_t n;
	const struct option_verb *v = verbs_all(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		struct buf b = BUF_INIT;
		size_t columns = 0;
		option_help(CLI_PROGRAM, &v[i], &b);
		for (size_t k = 0; k < b.n; k++) {
			columns = b.p[k] == '\n' ? 0 : columns + 1;
			assert_true(columns <= 80);
		}
		buf_free(&b);
	}
}

static void
test_find(void **state)
{
	static const char *const words[] = { "archive", "ls", "x" };
	size_t n;
	int used;
	const struct option_verb *v = verbs_all(&n);
	const struct option_verb *found = option_find_verb(v, n, 3, words,
	    &used);

	(void)state;
	assert_non_null(found);
	assert_string_equal(found->name, "archive ls");
	assert_int_equal(used, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_find),
	};

	verb_table_use();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
