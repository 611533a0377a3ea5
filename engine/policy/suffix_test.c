#include "engine/policy/suite_test.h"

#include <libpsl.h>

#include "engine/policy/suffix.h"

/* "null" is STR_NONE. */
static struct str
field(struct str s)
{
	s = str_trim(s);
	if (s.n >= 2 && s.p[0] == '\'')
		s = str_cut(s, 1, s.n - 1);
	return str_eq(s, STR("null")) ? STR_NONE : s;
}

static void
expect(const psl_ctx_t *list, struct str host, struct str domain)
{
	struct str got = suffix_domain_by(list, field(host));
	struct str want = field(domain);

	/* The suite writes its answers in lower case. */
	if ((got.p == NULL) != (want.p == NULL) || !str_eq_nocase(got, want))
		fail_msg("%.*s gives %.*s, not %.*s", STR_FMT(host),
		    STR_FMT(got), STR_FMT(want));
}

static psl_ctx_t *
list_open(void)
{
	const char *path = suite_path("psl/public_suffix_list.dat");
	psl_ctx_t *list = psl_load_file(path);

	if (list == NULL) {
		print_message("%s cannot be read\n", path);
		skip();
	}
	return list;
}

/* checkPublicSuffix('www.ck', 'www.ck'); */
static void
suite_test_psl(void **state)
{
	psl_ctx_t *list = list_open();
	struct buf file = BUF_INIT;
	struct str rest, line, host;
	size_t n = 0;

	(void)state;
	suite_read("psl/test_psl.txt", &file);
	rest = buf_str(&file);
	while (str_split(&rest, '\n', &line)) {
		static const struct str call = STR("checkPublicSuffix(");
		if (!str_starts(line, call))
			continue;
		line = str_cut(line, call.n, str_find_char(line, ')'));
		assert_true(str_split(&line, ',', &host));
		expect(list, host, line);
		n++;
	}
	print_message("conformance: test_psl.txt: %zu of 78\n", n);
	assert_int_equal(n, 78);
	buf_free(&file);
	psl_free(list);
}

static void
suite_tests(void **state)
{
	psl_ctx_t *list = list_open();
	struct buf file = BUF_INIT;
	struct str rest, line, host;
	size_t n = 0;

	(void)state;
	suite_read("psl/tests.txt", &file);
	rest = buf_str(&file);
	while (str_split(&rest, '\n', &line)) {
		if (line.n == 0 || str_starts(line, STR("//")))
			continue;
		assert_true(str_split(&line, ' ', &host));
		expect(list, host, line);
		n++;
	}
	print_message("conformance: psl/tests.txt: %zu of 78\n", n);
	assert_int_equal(n, 78);
	buf_free(&file);
	psl_free(list);
}

static void
built_in(void **state)
{
	static const struct {
		const char *host, *domain;
	} cases[] = {
		{ "www.example.com", "example.com" },
		{ "example.co.uk", "example.co.uk" },
		{ "a.b.example.co.uk.", "example.co.uk" },
		{ "A.Example.ORG", "Example.ORG" },
		{ "com", NULL }, { "co.uk", NULL }, { "", NULL }, { ".", NULL },
		{ ".example.com", NULL }, { "127.0.0.1", NULL },
		{ "[::1]", NULL }, { "localhost", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct str got = suffix_domain(str_of(cases[i].host));
		if (!str_eq(got, str_of(cases[i].domain)))
			fail_msg("%s gives %.*s", cases[i].host, STR_FMT(got));
	}
	assert_null(suffix_domain(STR_NONE).p);
	assert_null(suffix_domain((struct str){ "a.org\0.com", 10 }).p);
}

static void
long_hosts(void **state)
{
	char host[256];

	(void)state;
	memset(host, 'a', sizeof(host));
	for (size_t i = 63; i < 240; i += 64)
		host[i] = '.';
	memcpy(host + 249, ".com", 4);
	assert_true(suffix_domain((struct str){ host, 253 }).p != NULL);
	memcpy(host + 250, ".com", 4);
	assert_null(suffix_domain((struct str){ host, 254 }).p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suite_test_psl),
		cmocka_unit_test(suite_tests),
		cmocka_unit_test(built_in),
		cmocka_unit_test(long_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
