/*
 * relational -- the JSON of the back end's objects and how changes apply to it.
 *
 *     {"meta":{"name":"...","type":"externals","fid":"e-...","version":1,
 *      "links":[{"from":{"type":"streams","fid":"s1"}}]}, ...}
 *
 * A PATCH merges objects recursively, replaces arrays and other values whole,
 * and removes a member whose new value is null (RFC 7396).  A PUT replaces
 * everything.  `type`, `fid` and `version` of meta are the back end's and
 * cannot be changed.
 *
 * Thread: any; pure.
 * Source: external.md §9, §12; RFC 7396.
 */
#ifndef CLI_SIMULATOR_RELATIONAL_H
#define CLI_SIMULATOR_RELATIONAL_H

#include <yyjson.h>

#include "base/bytes.h"

struct relational_meta {
	const char *type;        /* "externals" */
	struct str fid;
	uint64_t version;
};

/* A copy of `body`, an object, with that meta.  The caller's. */
yyjson_doc *relational_put(yyjson_val *body, const struct relational_meta *);
/*
 * `old` with `patch` merged into it, both objects of at most
 * JSON_BODY_DEPTH_MAX levels, and with that meta.  The caller's.
 */
yyjson_doc *relational_patch(yyjson_val *old, yyjson_val *patch,
    const struct relational_meta *);
/* `over` merged over `under`; what is no object counts as {}.  The caller's. */
yyjson_doc *relational_merge(yyjson_val *under, yyjson_val *over);
/*
 * The fid of the one link of `body`'s meta that comes from an object of that
 * type; STR_NONE when there is no such link, or more than one.
 */
struct str relational_link_from(yyjson_val *body, const char *type);

#endif
