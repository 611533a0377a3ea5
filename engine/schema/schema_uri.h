/*
 * schema_uri -- URI references: their parts, and how one is resolved.
 *
 * They are names here and are never fetched, so no scheme is special.
 * Thread: any; pure.  Source: RFC 3986 §3 and §5, RFC 3987.
 */
#ifndef ENGINE_SCHEMA_SCHEMA_URI_H
#define ENGINE_SCHEMA_SCHEMA_URI_H

#include "base/arena.h"

/* A part that is absent has no `p`; `path` may be empty. */
struct schema_uri {
	struct str scheme, authority, path, query, fragment;
};

/* Take any text apart (RFC 3986 appendix B); the parts borrow. */
struct schema_uri schema_uri_split(struct str);

/*
 * `reference`, seen from `base`, without its fragment; that goes to
 * `*fragment`, as it is written, without "#".  Memory: `a`.
 */
struct str schema_uri_resolve(struct str base, struct str reference,
    struct arena *a, struct str *fragment);

/*
 * Whether a text is a URI reference, and whether it is one with a scheme.  With
 * `any_character`, characters beyond ASCII are allowed, as in an IRI.
 */
bool schema_uri_is_reference(struct str, bool any_character);
bool schema_uri_is_absolute(struct str, bool any_character);

#endif
