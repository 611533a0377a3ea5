/*
 * cli -- what every verb has at hand: its options, the settled configuration,
 * the data directory, and one way to say what went wrong.
 *
 * Errors are one sentence on standard error, "argiope: what happened; what to
 * do"; the exit code is err_exit() of it (sysexits).
 *
 * Thread: the main one.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/conf.h"
#include "base/option.h"

#define CLI_PROGRAM "argiope"
#define CLI_SUMMARY "Argiope crawls web sites into WARC archives."

struct cli {
	const char *program;             /* as it was called */
	const struct option_verb *verb;
	const char *const *environment;
	struct options options;
	struct conf conf;
	struct arena arena;              /* of the whole run */
	const char *data_dir;            /* cli_data_dir()'s */
	struct buf out;                  /* printed when the verb has ended */
	yyjson_doc *answer;              /* daemon_command()'s last */
	int code;                        /* to exit with, unless it fails */
};

/*
 * Read the words behind the verb and settle the configuration: defaults, the
 * files of --config, the environment, --set and --data.  Errors: USAGE, CONFIG;
 * ABSENT and others of reading a file.
 */
MUST_USE enum err cli_open(struct cli *, const struct option_verb *, int argc,
    const char *const *argv, const char *const *environment, struct why *);
void cli_close(struct cli *);

/* Say it on standard error; returns the exit code. */
int cli_fail(const struct why *);
/* Flush standard output; `code`, or 74 when it could not be written. */
int cli_end(int code);
/* The buffer to standard output; it is freed. */
void cli_put(struct buf *);

/* Options by name.  A name that the verb has not is our own mistake. */
bool cli_has(const struct cli *, const char *name);  /* the verb knows it */
bool cli_given(const struct cli *, const char *name);  /* that, and it stands */
size_t cli_count(const struct cli *, const char *name);
const char *cli_text(const struct cli *, const char *name,
    const char *otherwise);
const char *cli_nth(const struct cli *, const char *name, size_t i);
int64_t cli_number(const struct cli *, const char *name, int64_t otherwise);
bool cli_json(const struct cli *);

/*
 * Read the configuration once more, as cli_open() did, into one that is at its
 * defaults.  Errors: CONFIG; of reading a file.
 */
MUST_USE enum err cli_settle(const struct cli *, struct conf *, struct why *);

/*
 * Where data is kept: data.dir; else the first directory of $STATE_DIRECTORY,
 * which systemd gives a service; else $XDG_DATA_HOME/argiope; else
 * ~/.local/share/argiope.  CONFIG when none of them is set.
 */
MUST_USE enum err cli_data_dir(struct cli *, struct why *);
/* Whether something is there to be read. */
bool cli_is_there(const char *path);
/*
 * Make the directory if need be, and its absolute path without links.
 * Memory: the cli's.  Errors: as file_make_dir().
 */
MUST_USE enum err cli_dir(struct cli *, const char *path, const char **out,
    struct why *);
/* A file, or standard input for "-", as text.  Memory: the cli's. */
#define CLI_FILE_BYTES_MAX ((size_t)64 << 20)
MUST_USE enum err cli_file(struct cli *, const char *path, struct str *out,
    struct why *);

/*
 * The token in the file of --token-file, without blanks around it; STR_NONE
 * when the option was not given, or the verb has none.  Memory: the cli's.
 * Errors: CONFIG, when it is not one word of ASCII; those of reading the file.
 */
MUST_USE enum err cli_token(struct cli *, struct str *out, struct why *);

/*
 * Log as the configuration says.  `foreground`: only warnings, unless
 * log.level was set.
 */
MUST_USE enum err cli_log(const struct conf *, bool foreground,
    struct why *);
/* Begin a verb in the foreground: cli_log() and cli_data_dir(). */
MUST_USE enum err cli_begin(struct cli *, struct why *);

#endif
