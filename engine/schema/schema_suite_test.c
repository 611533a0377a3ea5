/*
 * The JSON Schema Test Suite, as Debian's package json-schema-test-suite has
 * it.  A group whose schema is refused counts as such, with all of its tests.
 * The tests name all that are refused or wrong.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "engine/schema/schema.h"

#define SUITE "/usr/share/json-schema-test-suite/tests/"

struct counts {
	unsigned passed, refused, wrong;
};

static unsigned
count_all(const struct counts *c)
{
	return c->passed + c->refused + c->wrong;
}

/* The result that a folder should have. */
struct expected {
	const char *folder;
	struct counts counts;
	const char *const *names;    /* refused and wrong ones; NULL ends */
};

struct run {
	struct counts counts;
	struct buf names;            /* as in `expected`, a line for each */
};

/* The name of each group or test that is not as it should be. */
static void
note_name(struct run *r, const char *file, const char *what, yyjson_val *group,
    yyjson_val *test)
{
	buf_printf(&r->names, "%s: %s: %s", file, what,
	    yyjson_get_str(yyjson_obj_get(group, "description")));
	if (test != NULL)
		buf_printf(&r->names, ": %s",
		    yyjson_get_str(yyjson_obj_get(test, "description")));
	buf_put_char(&r->names, '\n');
}

static void
run_group(struct run *r, const char *file, yyjson_val *group)
{
	yyjson_val *tests = yyjson_obj_get(group, "tests"), *t;
	struct why w = WHY_INIT;
	struct schema *s;
	size_t i, n;

	if (schema_compile(yyjson_obj_get(group, "schema"), &s, &w) != OK) {
		r->counts.refused += (unsigned)yyjson_arr_size(tests);
		note_name(r, file, "refused", group, NULL);
		return;
	}
	yyjson_arr_foreach(tests, i, n, t) {
		if (schema_check(s, yyjson_obj_get(t, "data"), 0, NULL,
		    NULL) == yyjson_get_bool(yyjson_obj_get(t, "valid"))) {
			r->counts.passed++;
			continue;
		}
		r->counts.wrong++;
		note_name(r, file, "wrong", group, t);
	}
	schema_free(&s);
}

static void
run_file(struct run *r, const char *folder, const char *file)
{
	char path[512];
	yyjson_val *group;
	size_t i, n;

	snprintf(path, sizeof(path), SUITE "%s/%s", folder, file);
	yyjson_doc *doc = yyjson_read_file(path, YYJSON_READ_BIGNUM_AS_RAW,
	    NULL, NULL);
	assert_non_null(doc);
	yyjson_arr_foreach(yyjson_doc_get_root(doc), i, n, group)
		run_group(r, file, group);
	yyjson_doc_free(doc);
}

static int
is_json(const struct dirent *e)
{
	return str_ends(str_of(e->d_name), STR(".json"));
}

static void
run_folder(const struct expected *e)
{
	struct run r = { .names = BUF_INIT };
	struct buf names = BUF_INIT;
	struct dirent **files;
	char path[256];

	snprintf(path, sizeof(path), SUITE "%s", e->folder);
	int n = scandir(path, &files, is_json, alphasort);
	if (n < 0) {
		print_message("the package json-schema-test-suite is not here"
		    "\n");
		skip();
	}
	for (int i = 0; i < n; i++) {
		run_file(&r, e->folder, files[i]->d_name);
		free(files[i]);
	}
	free(files);
	/* Debian 12 has version 2.0.0; of another one we know no numbers. */
	if (count_all(&r.counts) != count_all(&e->counts)) {
		print_message("%s has %u cases, not %u: another version\n",
		    e->folder, count_all(&r.counts), count_all(&e->counts));
		buf_free(&r.names);
		skip();
	}
	for (size_t i = 0; e->names[i] != NULL; i++)
		buf_printf(&names, "%s\n", e->names[i]);
	assert_string_equal(buf_text(&r.names), buf_text(&names));
	assert_int_equal(r.counts.passed, e->counts.passed);
	assert_int_equal(r.counts.refused, e->counts.refused);
	assert_int_equal(r.counts.wrong, e->counts.wrong);
	buf_free(&r.names);
	buf_free(&names);
}

/* Nothing is fetched. */
static const char *const remote[] = {
	"refRemote.json: refused: remote ref",
	"refRemote.json: refused: fragment within remote ref",
	"refRemote.json: refused: ref within remote ref",
	"refRemote.json: refused: base URI change",
	"refRemote.json: refused: base URI change - change folder",
	"refRemote.json: refused: base URI change - change folder in subschema",
	"refRemote.json: refused: root ref in remote ref",
	NULL
};

static void
required_of_draft_6_test(void **state)
{
	static const struct expected e = { "draft6", { 390, 15, 0 }, remote };

	(void)state;
	run_folder(&e);
}

static void
required_of_draft_7_test(void **state)
{
	static const struct expected e = { "draft7", { 408, 15, 0 }, remote };

	(void)state;
	run_folder(&e);
}

/* Formats that are not checked; content of texts is not, either. */
static void
optional_of_draft_6_test(void **state)
{
	static const char *const names[] = {
		"format.json: wrong: format: uri-template: "
		"an invalid uri-template",
		NULL
	};
	static const struct expected e = { "draft6/optional", { 97, 0, 1 },
		names };

	(void)state;
	run_folder(&e);
}

static void
optional_of_draft_7_test(void **state)
{
	static const char *const names[] = {
		"content.json: wrong: validation of string-encoded content "
		"based on media type: an invalid JSON document",
		"content.json: wrong: validation of binary string-encoding: "
		"an invalid base64 string (% is not a valid character)",
		"content.json: wrong: validation of binary-encoded media type "
		"documents: a validly-encoded invalid JSON document",
		"content.json: wrong: validation of binary-encoded media type "
		"documents: an invalid base64 string that is valid JSON",
		NULL
	};
	static const struct expected e = { "draft7/optional", { 17, 0, 4 },
		names };

	(void)state;
	run_folder(&e);
}

static void
formats_of_draft_7_test(void **state)
{
	static const char *const names[] = {
		"idn-hostname.json: wrong: validation of internationalized "
		"host names: illegal first char U+302E Hangul single dot "
		"tone mark",
		"idn-hostname.json: wrong: validation of internationalized "
		"host names: contains illegal char U+302E Hangul single dot "
		"tone mark",
		"idn-hostname.json: wrong: validation of internationalized "
		"host names: a host name with a component too long",
		"uri-template.json: wrong: format: uri-template: "
		"an invalid uri-template",
		NULL
	};
	static const struct expected e = { "draft7/optional/format",
		{ 118, 0, 4 }, names };

	(void)state;
	run_folder(&e);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(required_of_draft_6_test),
		cmocka_unit_test(required_of_draft_7_test),
		cmocka_unit_test(optional_of_draft_6_test),
		cmocka_unit_test(optional_of_draft_7_test),
		cmocka_unit_test(formats_of_draft_7_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
