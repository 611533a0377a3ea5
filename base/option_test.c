#include "base/option.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#define LS_OPTIONS(X)                                                        \
	X(LONG,  "long",  'l', NULL, FLAG,   0, 0, "show sizes and dates")   \
	X(ALL,   "all",   'a', NULL, FLAG,   0, 0, "show what is hidden")    \
	X(LIMIT, "limit", 'n', "N",  NUMBER, -5, 1000, "at most N lines")    \
	X(SORT,  "sort",  's', "name|size|date", CHOICE, 0, 0, "the order")  \
	X(FROM_A_VERY_LONG_NAME, "from-a-very-long-name", 0, "EXPRESSION",   \
	    TEXT, 0, 0, "a help text that is so long that it does not fit "  \
	    "into one line and has to be broken")
enum { LS_OPTIONS(OPTION_ENUM) OPTION_JSON(OPTION_ENUM)
	OPTION_COMMON(OPTION_ENUM) };
static const struct option_row ls_rows[] = { LS_OPTIONS(OPTION_ROW)
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW) };
static const struct option_row help_rows[] = { OPTION_COMMON(OPTION_ROW) };

static const struct option_verb verbs[] = {
	{ "crawl", "URL...", 1, OPERANDS_ANY, "crawl now", NULL, help_rows,
	    ARRAY_LEN(help_rows) },
	{ "archive", NULL, 0, 0, "about the archive", NULL, help_rows,
	    ARRAY_LEN(help_rows) },
	{ "archive ls", "[FILE [DIR]]", 0, 2, "list captures",
	    "The first paragraph is long enough to be broken into two lines, "
	    "because it has more than eighty letters.\nThe second is not.",
	    ls_rows, ARRAY_LEN(ls_rows) },
	{ "archive check", NULL, 0, 0, "check files", NULL, help_rows,
	    ARRAY_LEN(help_rows) },
};
static const struct option_verb *const ls = &verbs[2];

static int
count_of(const char *const *argv)
{
	int n = 0;

	while (argv[n] != NULL)
		n++;
	return n;
}

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void
accept_argv(struct options *o, const char *const *argv)
{
	struct why w = WHY_INIT;

	if (options_read(ls, count_of(argv), argv, o, &w) != OK)
		fail_msg("%s", w.text);
}

static void
refuse_argv(const char *message, const char *const *argv)
{
	struct options o;
	struct why w = WHY_INIT;

	assert_int_equal(options_read(ls, count_of(argv), argv, &o, &w),
	    ERR_USAGE);
	assert_string_equal(w.text, message);
	assert_null(o.given);
}

static void
test_none(void **state)
{
	struct options o;

	(void)state;
	accept_argv(&o, (const char *const[]){ NULL });
	assert_int_equal(o.operands_n, 0);
	for (size_t i = 0; i < ls->rows_n; i++)
		assert_int_equal(option_count(&o, i), 0);
	assert_int_equal(option_number(&o, OPTION_ID_LIMIT, 7), 7);
	assert_string_equal(option_text(&o, OPTION_ID_DATA, "x"), "x");
	options_free(&o);
	options_free(&o);
}

/* All spellings mean the same. */
static void
test_spellings(void **state)
{
	const char *const *const argvs[] = {
		ARGV("--limit", "12", "-l", "-a", "f"),
		ARGV("--limit=12", "f", "-la"),
		ARGV("-n", "12", "-al", "f"),
		ARGV("-n12", "--all", "--long", "f"),
		ARGV("-lan12", "f"),
		ARGV("-lan", "12", "--", "f"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(argvs); i++) {
		struct options o;
		accept_argv(&o, argvs[i]);
		assert_int_equal(option_number(&o, OPTION_ID_LIMIT, 0), 12);
		assert_string_equal(option_text(&o, OPTION_ID_LIMIT, ""), "12");
		assert_int_equal(option_count(&o, OPTION_ID_LONG), 1);
		assert_int_equal(option_count(&o, OPTION_ID_ALL), 1);
		assert_int_equal(option_count(&o, OPTION_ID_HELP), 0);
		assert_int_equal(o.operands_n, 1);
		assert_string_equal(o.operands[0], "f");
		options_free(&o);
	}
}

static void
test_repeated(void **state)
{
	struct options o;

	(void)state;
	accept_argv(&o, ARGV("--set", "a=1", "x", "--set=b=2=", "--set", "",
	    "-s", "date", "-ssize"));
	assert_int_equal(option_count(&o, OPTION_ID_SET), 3);
	assert_string_equal(o.given[OPTION_ID_SET].texts[0], "a=1");
	assert_string_equal(o.given[OPTION_ID_SET].texts[1], "b=2=");
	assert_string_equal(o.given[OPTION_ID_SET].texts[2], "");
	assert_int_equal(option_number(&o, OPTION_ID_SORT, -1), 1);
	options_free(&o);
}

static void
test_operands(void **state)
{
	struct options o;

	(void)state;
	accept_argv(&o, ARGV("-", "--", "--long"));
	assert_int_equal(o.operands_n, 2);
	assert_string_equal(o.operands[0], "-");
	assert_string_equal(o.operands[1], "--long");
	options_free(&o);
	refuse_argv("archive ls: too many words: c", ARGV("a", "b", "c"));
	accept_argv(&o, ARGV("a", "b", "c", "--help"));
	assert_int_equal(option_count(&o, OPTION_ID_HELP), 1);
	options_free(&o);

	struct why w = WHY_INIT;
	assert_int_equal(options_read(&verbs[0], 0, NULL, &o, &w), ERR_USAGE);
	assert_string_equal(w.text, "crawl wants URL...");
}

static void
test_numbers(void **state)
{
	struct options o;

	(void)state;
	accept_argv(&o, ARGV("-n", "-5"));
	assert_int_equal(option_number(&o, OPTION_ID_LIMIT, 0), -5);
	options_free(&o);
	accept_argv(&o, ARGV("-n1000"));
	options_free(&o);
	refuse_argv("archive ls: --limit 1001: must be a whole number from -5 "
	    "to 1000", ARGV("-n1001"));
	refuse_argv("archive ls: --limit -6: must be a whole number from -5 "
	    "to 1000", ARGV("--limit", "-6"));
	refuse_argv("archive ls: --limit 1x: must be a whole number from -5 "
	    "to 1000", ARGV("--limit", "1x"));
	refuse_argv("archive ls: --limit : must be a whole number from -5 "
	    "to 1000", ARGV("--limit="));
}

static void
test_refusals(void **state)
{
	(void)state;
	refuse_argv("archive ls: there is no option --lmit; did you mean "
	    "--limit?", ARGV("--lmit", "3"));
	refuse_argv("archive ls: there is no option --qqqqqqqq",
	    ARGV("--qqqqqqqq"));
	/* No shortening. */
	refuse_argv("archive ls: there is no option --lon; did you mean "
	    "--long?", ARGV("--lon"));
	refuse_argv("archive ls: there is no option -z", ARGV("-lz"));
	refuse_argv("archive ls: there is no option -?", ARGV("-\x01"));
	refuse_argv("archive ls: --limit wants a value: N", ARGV("--limit"));
	refuse_argv("archive ls: --limit wants a value: N", ARGV("-ln"));
	refuse_argv("archive ls: --long takes no value", ARGV("--long=1"));
	refuse_argv("archive ls: --sort up: must be one of name|size|date",
	    ARGV("--sort", "up"));
	refuse_argv("archive ls: --sort name|size: must be one of "
	    "name|size|date", ARGV("--sort", "name|size"));
}

static void
test_verbs(void **state)
{
	int words;

	(void)state;
	assert_ptr_equal(option_find_verb(verbs, ARRAY_LEN(verbs), 3,
	    ARGV("archive", "ls", "x"), &words), ls);
	assert_int_equal(words, 2);
	assert_ptr_equal(option_find_verb(verbs, ARRAY_LEN(verbs), 2,
	    ARGV("archive", "x"), &words), &verbs[1]);
	assert_int_equal(words, 1);
	assert_null(option_find_verb(verbs, ARRAY_LEN(verbs), 1, ARGV("arch"),
	    &words));
	assert_int_equal(words, 0);
	assert_null(option_find_verb(verbs, ARRAY_LEN(verbs), 0, NULL,
	    &words));
	assert_string_equal(option_nearest_verb(verbs, ARRAY_LEN(verbs), 1,
	    ARGV("crwal")), "crawl");
	assert_string_equal(option_nearest_verb(verbs, ARRAY_LEN(verbs), 2,
	    ARGV("archive", "chekc")), "archive check");
	assert_null(option_nearest_verb(verbs, ARRAY_LEN(verbs), 1,
	    ARGV("zzz")));
	assert_null(option_nearest_verb(verbs, ARRAY_LEN(verbs), 0, NULL));
}

static void
test_help(void **state)
{
	static const char want[] =
	    "usage: argiope archive ls [option...] [FILE [DIR]]\n"
	    "\n"
	    "list captures.\n"
	    "\n"
	    "The first paragraph is long enough to be broken into two lines, "
	    "because it has\n"
	    "more than eighty letters.\n"
	    "\n"
	    "The second is not.\n"
	    "\n"
	    "  -l, --long                  show sizes and dates\n"
	    "  -a, --all                   show what is hidden\n"
	    "  -n, --limit N               at most N lines (-5 to 1000)\n"
	    "  -s, --sort name|size|date   the order\n"
	    "      --from-a-very-long-name EXPRESSION\n"
	    "                              a help text that is so long that it "
	    "does not fit\n"
	    "                              into one line and has to be broken\n"
	    "      --json                  print JSON\n"
	    "  -c, --config FILE           read the configuration from FILE\n"
	    "  -d, --data DIR              the data directory\n"
	    "      --set NAME=VALUE        set a setting; may be given again\n"
	    "  -h, --help                  print this and leave\n";
	struct buf b = BUF_INIT;

	(void)state;
	option_help("argiope", ls, &b);
	assert_string_equal(buf_text(&b), want);
	buf_clear(&b);
	option_help_verbs("argiope", "Crawls the web.", verbs,
	    ARRAY_LEN(verbs), &b);
	assert_string_equal(buf_text(&b),
	    "usage: argiope VERB [option...] [operand...]\n\n"
	    "Crawls the web.\n\n"
	    "  crawl URL...                crawl now\n"
	    "  archive                     about the archive\n"
	    "  archive ls [FILE [DIR]]     list captures\n"
	    "  archive check               check files\n"
	    "\nargiope VERB --help tells more of each.\n");
	buf_free(&b);
}

static void
test_man(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	option_man("argiope", ls, &b);
	assert_true(str_starts(buf_str(&b), STR(".SS \"archive ls\"\n")));
	assert_non_null(strstr(buf_text(&b), ".TP\n\\fB\\-n\\fR, \\fB\\-\\-"
	    "limit\\fR \\fIN\\fR\nat most N lines (\\-5 to 1000).\n"));
	buf_free(&b);
}

/* Ask a real bash what it would complete. */
static void
complete(const char *words, const char *want)
{
	char path[] = "/tmp/argiope-option-XXXXXX", got[400], command[600];
	struct buf b = BUF_INIT;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	option_completion("argiope", verbs, ARRAY_LEN(verbs), &b);
	FILE *script = fdopen(fd, "w");
	assert_int_equal(fwrite(b.p, 1, b.n, script), b.n);
	fprintf(script, "COMP_WORDS=(argiope %s)\n"
	    "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_argiope\n"
	    "echo \"${COMPREPLY[*]}\"\n", words);
	assert_int_equal(fclose(script), 0);
	snprintf(command, sizeof(command), "bash %s 2>&1", path);
	FILE *out = popen(command, "r");
	assert_non_null(out);
	size_t n = fread(got, 1, sizeof(got) - 1, out);
	got[n] = '\0';
	assert_int_equal(pclose(out), 0);
	unlink(path);
	buf_free(&b);
	assert_string_equal(got, want);
}

static void
test_completion(void **state)
{
	(void)state;
	if (access("/bin/bash", X_OK) != 0)
		skip();
	complete("''", "crawl archive\n");
	complete("c", "crawl\n");
	complete("archive ''", "ls check\n");
	complete("archive l", "ls\n");
	complete("archive ls --li", "--limit\n");
	complete("archive ls --sort ''", "name size date\n");
	complete("archive ls -s si", "size\n");
	complete("archive ls --limit ''", "\n");
	complete("archive ls --data /dev/nul", "/dev/null\n");
	complete("crawl --se", "--set\n");
	complete("nonsense --x", "\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_spellings),
		cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_operands),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_verbs),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_man),
		cmocka_unit_test(test_completion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
