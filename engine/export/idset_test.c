/* Ids in memory and in a file, against a plain table of them. */
#include "engine/export/export_testing.h"
#include "engine/export/idset.h"
#include "tests/rounds.h"

static struct id_hash
hash_number(uint64_t n)
{
	return id_hash_of((struct str){ (const char *)&n, sizeof(n) },
	    (struct id_hash){ 1, 2 });
}

/* Add 0 to n - 1, each twice; `every`: how often the whole is compared. */
static void
add_all(struct idset *s, uint64_t n)
{
	bool added, has;

	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(idset_has(s, hash_number(i), &has, NULL), OK);
		assert_false(has);
		assert_int_equal(idset_add(s, hash_number(i), &added, NULL),
		    OK);
		assert_true(added);
		assert_int_equal(idset_add(s, hash_number(i / 2), &added,
		    NULL), OK);
		assert_false(added);
	}
	assert_int_equal(idset_count(s), n);
	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(idset_has(s, hash_number(i), &has, NULL), OK);
		assert_true(has);
	}
}

static void
ids_in_memory(void **state)
{
	struct idset *s = idset_new("/nowhere/ids", (size_t)16 << 20);

	(void)state;
	add_all(s, ROUNDS(100000));
	idset_free(&s);
	assert_null(s);
}

static void
ids_in_a_file(void **state)
{
	struct testing_dir d;

	(void)state;
	testing_dir_make(&d);
	struct idset *s = idset_new(testing_path(&d, "ids"), 0);
	add_all(s, ROUNDS(200000));
	/* It has no name, so that no end of the process leaves it. */
	assert_null(testing_read(&d, "ids"));
	idset_free(&s);
	testing_dir_remove(&d);
}

/* Hashes that share their first bits fill one page. */
static void
a_full_page_makes_more_pages(void **state)
{
	struct testing_dir d;
	bool added;

	(void)state;
	testing_dir_make(&d);
	struct idset *s = idset_new(testing_path(&d, "ids"), 0);
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(idset_add(s, hash_number(i), &added, NULL),
		    OK);
	for (uint64_t i = 1; i <= 1000; i++) {
		struct id_hash h = { i << 50, i };
		assert_int_equal(idset_add(s, h, &added, NULL), OK);
		assert_true(added);
	}
	for (uint64_t i = 1; i <= 1000; i++) {
		struct id_hash h = { i << 50, i };
		assert_int_equal(idset_add(s, h, &added, NULL), OK);
		assert_false(added);
	}
	assert_int_equal(idset_count(s), 6000);
	idset_free(&s);
	testing_dir_remove(&d);
}

/* The same on the way from memory to the file. */
static void
a_full_page_at_first(void **state)
{
	struct testing_dir d;
	bool added;

	(void)state;
	testing_dir_make(&d);
	struct idset *s = idset_new(testing_path(&d, "ids"), 0);
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 1; i <= 700; i++) {
			struct id_hash h = { i << 48, i };
			assert_int_equal(idset_add(s, h, &added, NULL), OK);
			assert_int_equal(added, round == 0);
		}
		for (uint64_t i = 0; i < 4000; i++) {
			assert_int_equal(idset_add(s, hash_number(i), &added,
			    NULL), OK);
			assert_int_equal(added, round == 0);
		}
	}
	assert_int_equal(idset_count(s), 4700);
	idset_free(&s);
	testing_dir_remove(&d);
}

static void
a_file_that_cannot_be_made_is_an_error(void **state)
{
	struct idset *s = idset_new("/nowhere/ids", 0);
	struct why w = WHY_INIT;
	enum err e = OK;
	bool added;

	(void)state;
	for (uint64_t i = 0; i < 10000 && e == OK; i++)
		e = idset_add(s, hash_number(i), &added, &w);
	assert_int_equal(e, ERR_ABSENT);
	idset_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_in_memory),
		cmocka_unit_test(ids_in_a_file),
		cmocka_unit_test(a_full_page_makes_more_pages),
		cmocka_unit_test(a_full_page_at_first),
		cmocka_unit_test(a_file_that_cannot_be_made_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
