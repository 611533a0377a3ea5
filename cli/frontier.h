/*
 * frontier -- what the verbs of `argiope frontier` have in common: words and
 * options, exit codes, and where results are written.  cli/remote.h is the
 * server that they speak with.
 *
 *     words ─► table of verbs ─► a verb's run ─► remote ─► results
 *
 * Exit codes are the contract's: 0; 1 for whatever went wrong; 2 for a wrong
 * command line.
 *
 * Thread: the main one.
 * Story:  cli/DESIGN.md
 */
#ifndef CLI_FRONTIER_H
#define CLI_FRONTIER_H

#include "cli/cli.h"

/* ---- Words --------------------------------------------------------------- */

/* The words of a command line as the table of verbs has them. */
struct frontier_words {
	int argc;
	const char **argv;
	struct arena arena;
};
/*
 * "frontier -t H put-urls -f F" becomes "frontier PutURLs --host H -f F":
 * options from before the verb go behind it, the verb is spelled as in the
 * table, whatever its case and hyphens.  argv[0] is "frontier".  Errors: USAGE.
 */
MUST_USE enum err frontier_words(int argc, const char *const *argv,
    struct frontier_words *, struct why *);
void frontier_words_free(struct frontier_words *);
/* Map a code of sysexits to 0, 1 or 2. */
int frontier_exit(int code);

/* Which server, as rows of options; short letters stand before the verb. */
#define FRONTIER_SERVER(X)                                                   \
	X(HOST, "host", 0, "HOST", TEXT, 0, 0,                               \
	    "the server (localhost); before the verb also -t HOST")          \
	X(PORT, "port", 0, "PORT", NUMBER, 1, UINT16_MAX,                    \
	    "its port (7071); before the verb also -p PORT")                 \
	X(TLS, "tls", 0, NULL, FLAG, 0, 0, "speak TLS")                      \
	X(CA, "ca", 0, "FILE", PATH, 0, 0,                                   \
	    "trust the certificates in FILE, not the system's")              \
	X(TOKEN, "token-file", 0, "FILE", PATH, 0, 0,                        \
	    "send the token that stands in FILE")
#define FRONTIER_CRAWL(X)                                                    \
	X(CRAWL, "crawl", 'c', "CRAWL", TEXT, 0, 0, "the crawl (DEFAULT)")
#define FRONTIER_KEY(X)                                                      \
	X(KEY, "key", 'k', "KEY", TEXT, 0, 0, "the queue")
#define FRONTIER_LOCAL(X)                                                    \
	X(LOCAL, "local", 'l', NULL, FLAG, 0, 0,                             \
	    "only the node that is asked, not its cluster")
/* The last rows of every verb's options. */
#define FRONTIER_COMMON(X)                                                   \
	OPTION_JSON(X) FRONTIER_SERVER(X) OPTION_COMMON_LONG(X)

#define FRONTIER_SUMMARY                                                     \
	"Speaks with any server of URL Frontier. Which one stands before "   \
	"the verb: " CLI_PROGRAM " frontier [-t HOST] [-p PORT] [--tls] "    \
	"[--ca FILE] [--token-file FILE] VERB. Verbs are written in any "    \
	"case, with hyphens if you like."
#define FRONTIER_CODES                                                       \
	"Exit code: 0; 1 it failed, and standard error tells why; 2 the "    \
	"command line is wrong."
#define FRONTIER_CRAWL_DEFAULT "DEFAULT"

/* The option was given; else USAGE. */
MUST_USE enum err frontier_wants(struct cli *, const char *option,
    struct why *);
/* For messages of C, whose texts are not const. */
char *frontier_text(struct cli *, const char *option, const char *otherwise);

/* ---- Results ------------------------------------------------------------- */

/* Lines to standard output, or a file, packed when its name ends in ".gz". */
struct frontier_out {
	FILE *file;
	void *gz;                        /* zlib's */
	const char *path;                /* NULL: standard output */
	bool terminal;                   /* foreign text is made harmless */
};
/* `path` NULL or "-": standard output.  A file is made empty. */
MUST_USE enum err frontier_out_open(struct frontier_out *, const char *path,
    struct why *);
/* Write and empty the buffer.  CLOSED: a pipe that nobody reads any more. */
MUST_USE enum err frontier_out_put(struct frontier_out *, struct buf *,
    struct why *);
/* In any case; again is harmless. */
MUST_USE enum err frontier_out_close(struct frontier_out *, struct why *);
/* Append a text of the server's: printable ASCII only on a terminal. */
void frontier_out_text(const struct frontier_out *, struct buf *,
    const char *);
/* Seconds since 1970 as "2026-11-22T08:15:00" of this place, or as digits. */
void frontier_out_date(struct buf *, uint64_t date, bool local);

#endif
