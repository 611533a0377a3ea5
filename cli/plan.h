/*
 * plan -- what a crawl is to do, from the options of the command line: its
 * policy, its seeds, its secrets.
 *
 * Options edit a policy: the one of --policy, else the command's own (any
 * depth, embeds on, a delay of 1 s, or 0 when every seed is a loopback
 * address).  Secrets come from files, never from the process list.
 */
#ifndef CLI_PLAN_H
#define CLI_PLAN_H

#include "cli/cli.h"
#include "engine/policy/policy.h"

/* The options that edit a policy. */
#define PLAN_OPTIONS(X)                                                      \
	X(POLICY, "policy", 0, "FILE", PATH, 0, 0,                           \
	    "begin with the policy in this JSON file")                       \
	X(SCOPE, "scope", 's', "host|domain|prefix|any", CHOICE, 0, 0,       \
	    "follow links on the seeds' hosts (the default), their "         \
	    "registrable domains, below their paths, or anywhere")           \
	X(INCLUDE, "include", 0, "REGEX", TEXT, 0, 0,                        \
	    "take URLs that match, whatever the scope says; may be given "   \
	    "again")                                                         \
	X(EXCLUDE, "exclude", 0, "REGEX", TEXT, 0, 0,                        \
	    "leave out URLs that match; may be given again")                 \
	X(DEPTH, "depth", 0, "N", TEXT, 0, 0,                                \
	    "follow at most N links away from a seed, or \"any\" (the "      \
	    "default)")                                                      \
	X(MAX_PAGES, "max-pages", 'n', "N", TEXT, 0, 0,                      \
	    "complete the crawl after N captures")                           \
	X(MAX_BYTES, "max-bytes", 0, "SIZE", TEXT, 0, 0,                      \
	    "complete the crawl after so much in WARC files: 500MiB, 2GiB")  \
	X(MAX_TIME, "max-time", 0, "TIME", TEXT, 0, 0,                       \
	    "complete the crawl after 90s, 10min, 2h")                       \
	X(DELAY, "delay", 0, "TIME", TEXT, 0, 0,                             \
	    "pause between two fetches from one host; 1s, or 0 when every "  \
	    "seed is a loopback address")                                    \
	X(RATE, "rate", 0, "N", TEXT, 0, 0,                                  \
	    "at most N pages per second and host: a delay of at least 1/N s, " \
	    "in place of the default one")                                   \
	X(CONCURRENCY, "concurrency", 0, "N", TEXT, 0, 0,                    \
	    "fetches at once, over all hosts (64)")                          \
	X(USER_AGENT, "user-agent", 0, "TEXT", TEXT, 0, 0,                   \
	    "what is sent as User-Agent; the name before its \"/\" is the " \
	    "one that robots.txt is read for")                               \
	X(HEADER, "header", 0, "NAME: VALUE", TEXT, 0, 0,                    \
	    "send this with every request; may be given again; for secrets " \
	    "there is --auth-file")                                          \
	X(PROXY, "proxy", 0, "URL", TEXT, 0, 0,                              \
	    "http://HOST:PORT, socks5://HOST:PORT or socks5h://HOST:PORT")   \
	X(NO_ROBOTS, "no-robots", 0, NULL, FLAG, 0, 0,                       \
	    "ignore robots.txt")                                             \
	X(NO_EMBEDS, "no-embeds", 0, NULL, FLAG, 0, 0,                       \
	    "leave out what pages are made of: images, styles, scripts")     \
	X(SITEMAPS, "sitemaps", 0, NULL, FLAG, 0, 0,                         \
	    "read the sitemaps that robots.txt names")                       \
	X(ALLOW_PRIVATE, "allow-private", 0, NULL, FLAG, 0, 0,               \
	    "follow links to private and loopback addresses too")

/* Where the secrets are. */
#define PLAN_SECRETS(X)                                                      \
	X(AUTH_FILE, "auth-file", 0, "FILE", PATH, 0, 0,                     \
	    "a file with user:pass or Bearer TOKEN, sent to the seeds' "     \
	    "hosts only")                                                    \
	X(COOKIE_FILE, "cookie-file", 0, "FILE", PATH, 0, 0,                 \
	    "begin with the cookies of this Netscape cookie file")           \
	X(PROXY_FILE, "proxy-file", 0, "FILE", PATH, 0, 0,                   \
	    "a file with the proxy's URL, where it holds a password")

/* The name of the first option given that edits a policy, or NULL. */
const char *plan_edits(const struct cli *);

/*
 * The policy that the options make.  The seeds decide only the default delay.
 * The caller frees it.  Errors: USAGE and INPUT naming the option; those of
 * reading a file.
 */
MUST_USE enum err plan_policy(struct cli *, const struct str *seeds,
    size_t seeds_n, struct policy **out, struct why *);

/*
 * The seeds: the operands, then the lines of --seeds ("#" begins a comment).
 * Memory: the cli's.  `*n` may be 0.
 */
MUST_USE enum err plan_seeds(struct cli *, const struct str **seeds,
    size_t *n, struct why *);

/* Secrets, which must not be written anywhere.  Memory: the cli's. */
struct plan_secrets {
	struct str authorization;    /* "Basic ..." or "Bearer ..." */
	struct str cookies, proxy;
};
MUST_USE enum err plan_secrets(struct cli *, struct plan_secrets *,
    struct why *);

/* Seconds from "1.5", "90s", "10min", "2h", "1d", "250ms". */
bool plan_seconds(struct str, double *out);

#endif
