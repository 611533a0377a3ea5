/* Texts of leases. */
#include "engine/items/worklist.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
texts_are_read_back(void **state)
{
	static const struct {
		uint32_t task;
		int64_t item;
		uint64_t lease;
	} rows[] = {
		{ 1, 1, 1 },
		{ UINT32_MAX, INT64_MAX, UINT64_MAX },
		{ 0x12345678, INT64_C(0x123456789abcdef0),
		    UINT64_C(0xfedcba9876543210) },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[LEASE_TEXT_BYTES + 1];
		uint32_t task;
		int64_t item;
		uint64_t lease;

		worklist_lease_text(rows[i].task, rows[i].item, rows[i].lease,
		    text);
		assert_int_equal(strlen(text), LEASE_TEXT_BYTES);
		assert_true(worklist_lease_read(str_of(text), &task, &item,
		    &lease));
		assert_int_equal(task, rows[i].task);
		assert_int_equal(item, rows[i].item);
		assert_true(lease == rows[i].lease);
	}
}

static void
other_texts_are_refused(void **state)
{
	char text[LEASE_TEXT_BYTES + 1];
	uint32_t task;
	int64_t item;
	uint64_t lease;

	(void)state;
	worklist_lease_text(7, 8, 9, text);
	struct str good = str_of(text);
	assert_false(worklist_lease_read(str_cut(good, 0, good.n - 1), &task,
	    &item, &lease));
	assert_false(worklist_lease_read(STR_NONE, &task, &item, &lease));
	text[0] = 'l';
	assert_false(worklist_lease_read(good, &task, &item, &lease));
	text[0] = 'L';
	for (const char *p = "A1=\"\n\xff"; *p != '\0'; p++) {
		text[5] = *p;
		assert_false(worklist_lease_read(good, &task, &item, &lease));
	}
	/* No task, item or lease has the number 0. */
	worklist_lease_text(0, 8, 9, text);
	assert_false(worklist_lease_read(good, &task, &item, &lease));
	worklist_lease_text(7, 0, 9, text);
	assert_false(worklist_lease_read(good, &task, &item, &lease));
	worklist_lease_text(7, -8, 9, text);
	assert_false(worklist_lease_read(good, &task, &item, &lease));
	worklist_lease_text(7, 8, 0, text);
	assert_false(worklist_lease_read(good, &task, &item, &lease));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_read_back),
		cmocka_unit_test(other_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
