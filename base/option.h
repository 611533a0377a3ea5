/*
 * option -- the command line as a table: one row per option gives the parser,
 * --help, the manual page and the shell's completion.
 *
 * A verb names its rows by an X-macro, so that the enum and the rows cannot
 * part:
 *
 *     #define LS_OPTIONS(X)                                                 \
 *         X(LS_LONG,  "long",  'l', NULL,  FLAG,   0, 0, "show sizes")      \
 *         X(LS_LIMIT, "limit", 'n', "N",   NUMBER, 1, 1000, "at most N")    \
 *         X(LS_SORT,  "sort",  0, "name|size", CHOICE, 0, 0, "the order")
 *     enum { LS_OPTIONS(OPTION_ENUM) OPTION_COMMON(OPTION_ENUM) };
 *     static const struct option_row ls_rows[] = {
 *         LS_OPTIONS(OPTION_ROW) OPTION_COMMON(OPTION_ROW) };
 *
 * Options and operands may be mixed; "--" ends the options.  Accepted are
 * --name VALUE, --name=VALUE, -n VALUE, -nVALUE and flags in one word (-vx).
 * Names are not shortened: a script must not break by a new option.
 *
 * Thread: any.  Texts of the result are argv's.
 */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include "base/bytes.h"
#include "base/err.h"

/* FLAG takes no value; TEXT any; PATH is a TEXT that the shell completes. */
enum option_type { OPTION_FLAG, OPTION_TEXT, OPTION_PATH, OPTION_NUMBER,
	OPTION_CHOICE };

struct option_row {
	const char *name;          /* without "--" */
	char letter;               /* 0: none */
	const char *value;         /* "N", "FILE", or "this|that" of a CHOICE */
	enum option_type type;
	int64_t least, most;       /* of a NUMBER */
	const char *help;          /* without a full stop */
};

#define OPTION_ENUM(id, ...) OPTION_ID_##id,
#define OPTION_ROW(id, name, letter, value, type, least, most, help)         \
	{ name, letter, value, OPTION_##type, least, most, help },

/* Options of every verb. */
#define OPTION_COMMON(X) OPTION_COMMON_LETTERS(X, 'c', 'd')
/* The same where -c and -d mean something else. */
#define OPTION_COMMON_LONG(X) OPTION_COMMON_LETTERS(X, 0, 0)
#define OPTION_COMMON_LETTERS(X, config, data)                               \
	X(CONFIG, "config", config, "FILE", PATH, 0, 0,                      \
	    "read the configuration from FILE")                              \
	X(DATA, "data", data, "DIR", PATH, 0, 0, "the data directory")       \
	X(SET, "set", 0, "NAME=VALUE", TEXT, 0, 0,                           \
	    "set a setting; may be given again")                             \
	X(HELP, "help", 'h', NULL, FLAG, 0, 0, "print this and leave")
/* Options of verbs that print facts. */
#define OPTION_JSON(X)                                                       \
	X(JSON, "json", 0, NULL, FLAG, 0, 0, "print JSON")

#define OPERANDS_ANY SIZE_MAX

struct option_verb {
	const char *name;          /* "crawl", "archive ls" */
	const char *operands;      /* "URL..."; NULL for none */
	size_t operands_min, operands_max;
	const char *summary;       /* one line, without a full stop */
	const char *about;         /* more, or NULL; "\n" parts paragraphs */
	const struct option_row *rows;
	size_t rows_n;
};

/* How one option was given: texts[count - 1] is the last. */
struct option_given {
	size_t count;
	const char **texts;
	int64_t number;            /* of the last: NUMBER, CHOICE's word */
};

struct options {
	const struct option_verb *verb;
	struct option_given *given;    /* one per row */
	const char **operands;
	size_t operands_n;
};

/*
 * Read the words behind the verb.  Where --help is among them, the count of
 * operands is not looked at.  Errors: USAGE, one sentence that names the word;
 * `*o` is then empty.
 */
MUST_USE enum err options_read(const struct option_verb *, int argc,
    const char *const *argv, struct options *o, struct why *);
void options_free(struct options *);

/* By the row's number; how often it was given, 0 when it was not. */
size_t option_count(const struct options *, size_t row);
/* The last value, or `otherwise`. */
const char *option_text(const struct options *, size_t row,
    const char *otherwise);
int64_t option_number(const struct options *, size_t row, int64_t otherwise);

/* Texts from the table, appended to the buffer. */
/* At most 80 columns: usage, summary, options. */
void option_help(const char *program, const struct option_verb *,
    struct buf *);
/* One line per verb: the program's own --help. */
void option_help_verbs(const char *program, const char *summary,
    const struct option_verb *, size_t n, struct buf *);
/* A subsection of the manual page, in man(7)'s macros. */
void option_man(const char *program, const struct option_verb *,
    struct buf *);
/* A script for bash that completes verbs, options, words and paths. */
void option_completion(const char *program, const struct option_verb *,
    size_t n, struct buf *);

/* The verb that the words begin with, and how many words its name takes. */
const struct option_verb *option_find_verb(const struct option_verb *,
    size_t n, int argc, const char *const *argv, int *words);
/* The verb's name most like the first words, or NULL. */
const char *option_nearest_verb(const struct option_verb *, size_t n,
    int argc, const char *const *argv);

#endif
