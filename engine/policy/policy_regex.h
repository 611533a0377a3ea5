/*
 * policy_regex -- PCRE2 with the limits that make a stranger's pattern safe.
 *
 * Patterns see bytes; URLs and media types are ASCII.  A compiled pattern and
 * the limits never change; the match data belongs to one judgement.
 */
#ifndef ENGINE_POLICY_POLICY_REGEX_H
#define ENGINE_POLICY_POLICY_REGEX_H

#include "base/bytes.h"
#include "base/err.h"
#include "engine/policy/policy.h"

enum {
	REGEX_NOCASE = 1,
	REGEX_OFFSET = 2,   /* the pattern is as written: say where it fails */
	REGEX_FAST = 4,     /* it will be matched often: JIT, where there is */
};
/*
 * Compile.  Errors start with `place`: INPUT with PCRE2's words; FULL when the
 * pattern is too large for PCRE2.
 */
struct regex;
MUST_USE enum err regex_new(const char *place, struct str pattern,
    unsigned flags, struct regex **out, struct why *);
void regex_free(struct regex **);
size_t regex_bytes(const struct regex *);   /* of memory, machine code too */

/* What a judgement needs once, made at the first match.  Start with { 0 }. */
struct regex_scratch {
	void *match_data;
};
void regex_scratch_free(struct regex_scratch *);
enum policy_match regex_match(const struct regex *, struct str subject,
    struct regex_scratch *);

#endif
