/*
 * paint -- lines in colour, on a terminal that shows them, and differences of
 * JSON: + what is new, ~ what has another value, - what is gone.
 *
 * Thread: the main one.
 */
#ifndef CLI_PAINT_H
#define CLI_PAINT_H

#include <yyjson.h>

#include "cli/cli.h"

enum colour { RED = 31, GREEN = 32, YELLOW = 33, BOLD = 1 };

struct paint {
	struct buf *b;
	struct arena *arena;
	bool coloured;
};
/* These functions append to the command's output buffer. */
struct paint paint_of(struct cli *);
void paint_line(struct paint *, enum colour, const char *line);
/* A text of an object, safe for a terminal. */
const char *paint_text(struct paint *, yyjson_val *object, const char *name);
/* A list of changes as of RFC 6902, a line each. */
void paint_changes(struct paint *, yyjson_val *changes);

#endif
