/*
 * trap -- guards against sites that never end: calendars, relative links that
 * pile up, sessions in paths, facets.
 *
 * Two kinds: the shape of a URL, which is pure, and what a crawl has seen of a
 * directory, which is a small memory of the caller's thread.
 *
 * Limits: the fields of struct trap_limits ("traps." in a policy), and
 *         traps.prefixes_max.
 */
#ifndef ENGINE_POLICY_TRAP_H
#define ENGINE_POLICY_TRAP_H

#include "engine/parser/url.h"
#include "engine/policy/skip_reason.h"

/* In every field INT64_MAX is "no limit". */
#define TRAP_NONE INT64_MAX

/*
 * Defaults stand in policy.c's table.  On by default are those that a real page
 * hardly ever meets; off are those that can cut an honest site short: a
 * repeated parameter is how forms send lists, a large site may hold any number
 * of URLs, and an archive may hold a hundred equal pages before a new one.
 */
struct trap_limits {
	int64_t path_bytes_max;
	int64_t segments_max;        /* "/a/b/" has two */
	int64_t repeats_max;         /* of 1 to 3 segments, in a row */
	int64_t params_max;          /* "a=1&b=2" has two */
	int64_t param_repeats_max;   /* one name in one query */
	int64_t host_urls_max;       /* URLs of one host in one crawl */
	int64_t stale_max;           /* captures in a row without news */
};

/* The verdict; the text is static, or NULL when the URL is taken. */
struct trap_verdict {
	enum skip_reason reason;     /* NONE, URL or LIMIT */
	const char *field;           /* "traps.repeats_max" */
	const char *text;            /* "the same path segments repeat" */
};

/* The shape of a URL.  Linear in its length. */
bool trap_judge_url(const struct trap_limits *, const struct url *,
    struct trap_verdict *);

/*
 * What captures brought, by directory ("http://h/a/b/" of "http://h/a/b/c?d").
 * Bounded: the directory that was noted longest ago is forgotten first.  One
 * thread's only.
 */
#define TRAP_PREFIXES_MAX 4096
struct trap_memory;
struct trap_memory *trap_memory_new(size_t prefixes_max);
void trap_memory_free(struct trap_memory **);
/* `news`: its digest or similarity hash was not seen in this crawl before. */
void trap_note(struct trap_memory *, const struct url *, bool news);
/* The captures in a row without news under the URL's directory. */
int64_t trap_stale(const struct trap_memory *, const struct url *);
bool trap_judge_prefix(const struct trap_limits *, const struct trap_memory *,
    const struct url *, struct trap_verdict *);
size_t trap_memory_count(const struct trap_memory *);

#endif
