/*
 * policy_field -- what policy.c, policy_json.c and policy_judge.c share.
 */
#ifndef ENGINE_POLICY_POLICY_FIELD_H
#define ENGINE_POLICY_POLICY_FIELD_H

#include "engine/policy/policy.h"

/* NULL when there is none.  `name` with its group, or the alias with it. */
const struct policy_field *policy_field_find(struct str name);

/*
 * Store a number, checked against the row: INFINITY is "no limit".  Errors:
 * INPUT with the field's name.
 */
MUST_USE enum err policy_field_number(struct policy *,
    const struct policy_field *, double v, struct why *);
/* Store a text, checked against the row; p NULL is null. */
MUST_USE enum err policy_field_text(struct policy *,
    const struct policy_field *, struct str v, struct why *);
MUST_USE enum err policy_field_choice(struct policy *,
    const struct policy_field *, struct str v, struct why *);

/* A number as people write it: digits, point, exponent; no hexadecimal. */
bool policy_number(struct str, double *out);

/* Whether a pattern compiles; the text says where not.  `place` comes first. */
MUST_USE enum err policy_pattern_check(const char *place, struct str pattern,
    struct why *);

#endif
