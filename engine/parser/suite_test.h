/*
 * suite_test -- reads conformance data for the tests of this folder.  A test
 * whose file is absent skips itself by name.
 */
#ifndef ENGINE_PARSER_SUITE_TEST_H
#define ENGINE_PARSER_SUITE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "tests/suite.h"

/* The whole file, in `a`; STR_NONE when it cannot be read. */
static inline struct str
suite_read(const char *name, struct arena *a)
{
	FILE *f = fopen(suite_path(name), "rb");
	struct buf b = BUF_INIT;

	if (f == NULL)
		return STR_NONE;
	for (size_t got = 1; got > 0; ) {
		char part[16384];
		got = fread(part, 1, sizeof(part), f);
		buf_put(&b, part, got);
	}
	fclose(f);
	struct str s = arena_copy(a, buf_str(&b));
	buf_free(&b);
	return s;
}

/* As suite_read(), but the test is skipped where the file is not there. */
static inline struct str
suite_need(const char *name, struct arena *a)
{
	struct str s = suite_read(name, a);

	if (s.p == NULL) {
		print_message("%s is not here\n", name);
		arena_free(a);
		skip();
	}
	return s;
}

static inline unsigned
suite_hex4(const char *p)
{
	unsigned v = 0;

	for (int i = 0; i < 4; i++)
		v = v << 4 | (unsigned)ascii_hex_value(p[i]);
	return v;
}

/*
 * JSON with "\ud800" standing alone is no JSON for yyjson; the suites use it to
 * mean U+FFFD, as a conversion to scalar values gives.  Changes `s` in place.
 */
static inline void
suite_mend_surrogates(struct str s)
{
	char *p = (char *)(uintptr_t)s.p;

	for (size_t i = 0; i + 5 < s.n; i++) {
		if (p[i] != '\\')
			continue;
		if (p[i + 1] != 'u') {
			i++;
			continue;
		}
		unsigned v = suite_hex4(p + i + 2);
		bool pair = v >= 0xd800 && v < 0xdc00 && i + 11 < s.n &&
		    p[i + 6] == '\\' && p[i + 7] == 'u' &&
		    suite_hex4(p + i + 8) >= 0xdc00 &&
		    suite_hex4(p + i + 8) < 0xe000;
		if (!pair && v >= 0xd800 && v < 0xe000)
			memcpy(p + i + 2, "fffd", 4);
		i += pair ? 11 : 5;
	}
}

static inline bool
suite_same(struct str got, const char *want)
{
	return str_eq(got, str_of(want)) || (got.n == 0 && want[0] == '\0');
}

#define assert_str(got, want) do { \
	struct str got_ = (got); \
	if (!suite_same(got_, want)) \
		fail_msg("got \"%.*s\", want \"%s\"", STR_FMT(got_), want); \
} while (0)

#endif
