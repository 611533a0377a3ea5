/*
 * css -- finds url() and @import in style sheets and style attributes.
 *
 * A scanner, no parser: comments, strings and escapes are respected, rules are
 * not.  One pass, linear.
 * Source: https://drafts.csswg.org/css-syntax-3/ section 4.
 */
#ifndef ENGINE_PARSER_CSS_H
#define ENGINE_PARSER_CSS_H

#include "base/arena.h"

/* False stops the scan.  `url` borrows from the style or from the arena. */
typedef bool css_found(void *ctx, struct str url, bool import);

/* Call `found` for each; `a` takes those that contain escapes. */
void css_scan(struct str css, struct arena *a, css_found *found, void *ctx);

#endif
