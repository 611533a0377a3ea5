/*
 * json_body -- JSON objects from outside, and lines of them.
 *
 * Thread: any; pure.
 * Source: RFC 8259; external.md §10 for the depth.
 */
#ifndef CLI_SIMULATOR_JSON_BODY_H
#define CLI_SIMULATOR_JSON_BODY_H

#include <yyjson.h>

#include "base/bytes.h"
#include "base/err.h"

#define JSON_BODY_DEPTH_MAX 32u

/*
 * Read a text that is one JSON object with at most JSON_BODY_DEPTH_MAX levels.
 * `what` names it in errors: "the body", "line 3".  Numbers beyond 64
 * bits are raw values.  The document is the caller's.  Errors: INPUT.
 */
MUST_USE enum err json_body_read(struct str text, const char *what,
    yyjson_doc **out, struct why *);

/*
 * NDJSON: one object per line, LF or CR LF between two lines, none after the
 * last.  Zeroed but for `rest`, the whole text.
 */
struct ndjson {
	struct str rest;
	size_t line;         /* the number of the last that was read, from 1 */
	bool ended;
};
/*
 * The next line's object, which is the caller's, and its text without the line
 * end.  `*out` is NULL at the end.  A line that is empty or no object is an
 * error, so that an empty text is one, too.  Errors: INPUT, with its number.
 */
MUST_USE enum err ndjson_next(struct ndjson *, yyjson_doc **out,
    struct str *line, struct why *);

#endif
