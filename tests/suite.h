/*
 * suite -- finds the conformance data that others made.
 *
 * tests/suites/ contains what may be copied; the rest is read beside the
 * checkout.  $ARGIOPE_SUITES names another folder in place of both.
 */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The path of a file such as "psl/tests.txt", valid until the next call.  Where
 * no such file exists, the path of the last place that was tried.
 */
static inline const char *
suite_path(const char *name)
{
	static char path[1024];
	static const char *const places[] = { "tests/suites",
		"../shared/suites" };
	const char *suites = getenv("ARGIOPE_SUITES");
	const char *source = getenv("ARGIOPE_SOURCE");

	if (suites != NULL) {
		snprintf(path, sizeof(path), "%s/%s", suites, name);
		return path;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s/%s/%s",
		    source == NULL ? "." : source, places[i], name);
		FILE *f = fopen(path, "rb");
		if (f != NULL) {
			fclose(f);
			break;
		}
	}
	return path;
}

#endif
