#include "os/secret_memory.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/pages.h"

#define SECRET STR("correct horse battery staple")

/* The line "VmFlags: ..." of the mapping that `p` is in (proc(5), smaps). */
static void
find_flags(const void *p, char *out, int size)
{
	unsigned long first, end;
	bool found = false;
	char line[512];
	FILE *f = fopen("/proc/self/smaps", "re");

	assert_non_null(f);
	out[0] = '\0';
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%lx-%lx ", &first, &end) == 2)
			found = (uintptr_t)p >= first && (uintptr_t)p < end;
		else if (found && strncmp(line, "VmFlags:", 8) == 0)
			snprintf(out, (size_t)size, "%s", line);
	}
	fclose(f);
}

/* Not below a small RLIMIT_MEMLOCK, and not under AddressSanitizer, in which
 * mlock(2) does nothing. */
static bool
may_lock(void)
{
	char flags[512];
	void *page = pages_new(PAGE_BYTES);

	(void)mlock(page, PAGE_BYTES);
	find_flags(page, flags, sizeof(flags));
	pages_free(page, PAGE_BYTES);
	return strstr(flags, " lo") != NULL;
}

static void
pages_are_locked_and_not_dumped(void **state)
{
	struct secret_memory m = SECRET_MEMORY_INIT;
	char flags[512];

	(void)state;
	struct str s = secret_memory_copy(&m, SECRET);
	find_flags(s.p, flags, sizeof(flags));
	assert_non_null(strstr(flags, " dd"));
	if (may_lock())
		assert_non_null(strstr(flags, " lo"));
	/* Other memory has neither. */
	find_flags(flags, flags, sizeof(flags));
	assert_null(strstr(flags, " dd"));
	assert_null(strstr(flags, " lo"));
	secret_memory_free(&m);
}

static void
a_released_secret_reads_as_zero(void **state)
{
	struct secret_memory m = SECRET_MEMORY_INIT;
	static const char zeroes[3 * PAGE_BYTES];

	(void)state;
	struct str s = secret_memory_copy(&m, SECRET);
	char *large = secret_memory_take(&m, sizeof(zeroes));
	assert_memory_equal(large, zeroes, sizeof(zeroes));
	memset(large, 'x', sizeof(zeroes));
	assert_true(str_eq(s, SECRET));
	secret_memory_clear(&m);
	assert_memory_equal(s.p, zeroes, s.n);
	assert_memory_equal(large, zeroes, sizeof(zeroes));
	secret_memory_free(&m);
	assert_null(m.blocks);
	/* The system has the pages back. */
	unsigned char here;
	void *page = (void *)((uintptr_t)s.p & ~(uintptr_t)(PAGE_BYTES - 1));
	assert_int_equal(mincore(page, PAGE_BYTES, &here), -1);
	assert_int_equal(errno, ENOMEM);
	secret_memory_free(&m);
}

static void
small_secrets_share_a_page(void **state)
{
	struct secret_memory m = SECRET_MEMORY_INIT;
	struct str all[20];

	(void)state;
	assert_int_equal(secret_memory_copy(&m, STR_NONE).n, 0);
	assert_null(m.blocks);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		all[i] = secret_memory_copy(&m, SECRET);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_true(str_eq(all[i], SECRET));
		assert_int_equal((uintptr_t)all[i].p % 16, 0);
		assert_true(all[i].p - all[0].p < (ptrdiff_t)PAGE_BYTES);
	}
	secret_memory_free(&m);
}

static void
a_child_reads_zeroes(void **state)
{
	struct secret_memory m = SECRET_MEMORY_INIT;
	int status;

	(void)state;
	struct str s = secret_memory_copy(&m, SECRET);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(s.p[0] == '\0' && s.p[s.n - 1] == '\0' ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(str_eq(s, SECRET));
	secret_memory_free(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_locked_and_not_dumped),
		cmocka_unit_test(a_released_secret_reads_as_zero),
		cmocka_unit_test(small_secrets_share_a_page),
		cmocka_unit_test(a_child_reads_zeroes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
