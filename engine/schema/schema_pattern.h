/*
 * schema_pattern -- regular expressions of ECMA-262, matched by PCRE2 within a
 * budget.
 *
 * Patterns are translated: what means another thing to PCRE2 is written in its
 * way, and what only PCRE2 knows is refused.  A compiled pattern lives in an
 * arena and is read-only; each check has a matcher of its own.
 *
 * Source: ECMA-262 §22.2 (RegExp), pcre2pattern(3).
 */
#ifndef ENGINE_SCHEMA_SCHEMA_PATTERN_H
#define ENGINE_SCHEMA_SCHEMA_PATTERN_H

#include "base/arena.h"
#include "base/err.h"

struct schema_pattern;

/*
 * Compile.  Takes at most `*memory` bytes of `a` for what stays, and subtracts
 * them.  Errors: INPUT, with the reason; FULL.
 */
MUST_USE enum err schema_pattern_compile(struct str pattern, size_t *memory,
    struct arena *a, struct schema_pattern **out, struct why *);
/* Whether a text is a pattern that schema_pattern_compile() takes. */
bool schema_pattern_is_valid(struct str);
/* As it was written. */
struct str schema_pattern_text(const struct schema_pattern *);

/* State of the matches of one check.  Thread: one at a time.  Start with
 * { .steps = ... }. */
struct schema_matcher {
	size_t *steps;               /* that are left; each match takes some */
	void *data, *limits;         /* made at the first match */
	/* The match that runs: where it is, and facts about its pattern. */
	size_t at, lookbehind;
	bool has_references;
};
enum schema_match {
	SCHEMA_NO_MATCH,
	SCHEMA_MATCH,
	SCHEMA_GAVE_UP               /* no steps, or no memory, is left */
};

/*
 * Look for the pattern anywhere in a text of UTF-8.  A step is an item of the
 * pattern that is tried, or more where the text is long.
 */
enum schema_match schema_pattern_match(const struct schema_pattern *,
    struct str subject, struct schema_matcher *);
void schema_matcher_free(struct schema_matcher *);

#endif
