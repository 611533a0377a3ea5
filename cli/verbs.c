#include "cli/verbs.h"

#include "cli/frontier.h"

#define VERBS_MAX 128

const struct option_row verbs_plain[] = { OPTION_COMMON(OPTION_ROW) };
const struct option_row verbs_json[] = {
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW)
};

static const struct verb *verbs;
static size_t verbs_n;

void
verbs_use(const struct verb *all, size_t n)
{
	CHECK(n <= VERBS_MAX);
	verbs = all;
	verbs_n = n;
	token_help();
}

const struct option_verb *
verbs_all(size_t *n)
{
	static struct option_verb rows[VERBS_MAX];

	for (size_t i = 0; i < verbs_n; i++)
		rows[i] = *verbs[i].row;
	*n = verbs_n;
	return rows;
}

/* All verbs, or those of a family: "archive". */
static int
help(const char *family)
{
	struct option_verb some[VERBS_MAX];
	struct buf b = BUF_INIT;
	size_t n, some_n = 0;
	const struct option_verb *rows = verbs_all(&n);

	for (size_t i = 0; i < n; i++)
		if (family == NULL || str_starts(str_of(rows[i].name),
		    str_of(family)))
			some[some_n++] = rows[i];
	option_help_verbs(CLI_PROGRAM, family != NULL &&
	    strcmp(family, "frontier") == 0 ? FRONTIER_SUMMARY : CLI_SUMMARY,
	    some, some_n, &b);
	cli_put(&b);
	return cli_end(0);
}

/* The first word alone names several verbs: "archive". */
static bool
is_family(const char *word)
{
	struct str first = str_of(word);

	for (size_t i = 0; i < verbs_n; i++) {
		struct str name = str_of(verbs[i].row->name);
		if (str_starts(name, first) && name.n > first.n &&
		    name.p[first.n] == ' ')
			return true;
	}
	return false;
}

static int
unknown(int argc, const char *const *argv)
{
	size_t n;
	const struct option_verb *rows = verbs_all(&n);
	const char *near = option_nearest_verb(rows, n, argc, argv);
	struct why w = WHY_INIT;

	if (argc > 0 && is_family(argv[0]))
		why(&w, ERR_USAGE, "%.40s wants one of its verbs behind it; "
		    CLI_PROGRAM " --help lists them", argv[0]);
	else if (argc == 0)
		why(&w, ERR_USAGE, "no verb was given; " CLI_PROGRAM
		    " --help lists them");
	else
		why(&w, ERR_USAGE, "there is no verb %.40s%s%s; " CLI_PROGRAM
		    " --help lists them", argv[0], near == NULL ? "" :
		    "; did you mean ", near == NULL ? "" : near);
	return cli_fail(&w);
}

static bool
is_word(const char *word, const char *a, const char *b)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static int
run(const char *program, int argc, const char *const *argv,
    const char *const *environment)
{
	struct why w = WHY_INIT;
	struct cli c;
	size_t n, i;
	int words, code;

	if (argc > 0 && is_word(argv[0], "--help", "-h"))
		return help(NULL);
	if (argc > 0 && is_word(argv[0], "--version", "-V"))
		return run(program, 1, (const char *const[]){ "version" },
		    environment);
	const struct option_verb *rows = verbs_all(&n);
	const struct option_verb *row = option_find_verb(rows, n, argc, argv,
	    &words);
	if (row == NULL && argc > 1 && is_family(argv[0]) &&
	    is_word(argv[1], "--help", "-h"))
		return help(argv[0]);
	if (row == NULL)
		return unknown(argc, argv);
	i = (size_t)(row - rows);
	if (cli_open(&c, verbs[i].row, argc - words, argv + words,
	    environment, &w) != OK)
		return cli_fail(&w);
	c.program = program;
	enum err e = OK;
	if (cli_count(&c, "help") > 0)
		option_help(CLI_PROGRAM, row, &c.out);
	else
		e = verbs[i].run(&c, &w);
	cli_put(&c.out);
	code = cli_end(e == OK ? c.code : cli_fail(&w));
	cli_close(&c);
	return code;
}

#if DOOR_URLFRONTIER

/* Its options stand before its verbs too, and its exit codes are its own. */
static int
run_frontier(const char *program, int argc, const char *const *argv,
    const char *const *environment)
{
	FREED(frontier_words_free) struct frontier_words f;
	struct why w = WHY_INIT;

	return frontier_exit(frontier_words(argc, argv, &f, &w) != OK ?
	    cli_fail(&w) : run(program, f.argc, f.argv, environment));
}

#endif

int
verbs_run(const char *program, int argc, const char *const *argv,
    const char *const *environment)
{
#if DOOR_URLFRONTIER
	if (argc > 0 && strcmp(argv[0], "frontier") == 0)
		return run_frontier(program, argc, argv, environment);
#endif
	return run(program, argc, argv, environment);
}
