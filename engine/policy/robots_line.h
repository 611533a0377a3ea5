/*
 * robots_line -- the lines of a robots.txt, with the mistakes people make in
 * them: missing colons, misspelt words, CR or LF or both, other encodings.
 *
 * Everything borrows from the text.  For robots.c alone.
 */
#ifndef ENGINE_POLICY_ROBOTS_LINE_H
#define ENGINE_POLICY_ROBOTS_LINE_H

#include "base/bytes.h"

enum robots_key {
	ROBOTS_KEY_OTHER, ROBOTS_KEY_AGENT, ROBOTS_KEY_ALLOW,
	ROBOTS_KEY_DISALLOW, ROBOTS_KEY_DELAY, ROBOTS_KEY_SITEMAP
};

struct robots_line {
	enum robots_key key;
	struct str value;       /* trimmed, without comment */
	struct str text;        /* the whole line, trimmed */
	unsigned number;        /* 1 is the first */
};

struct robots_reader {
	struct str rest;
	unsigned number;
};

/* Passes over a UTF-8 BOM. */
struct robots_reader robots_reader_of(struct str text);
/* The next line that holds a record; false at the end. */
bool robots_next(struct robots_reader *, struct robots_line *out);

/*
 * Whether a User-agent value means the crawler `token`: it begins with it,
 * without case, and what follows is no more of a name ("argiope/1.0" yes,
 * "argiopes" no).  "*" means everyone else.
 */
bool robots_agent_is(struct str agent, struct str token);
bool robots_agent_is_star(struct str agent);

#endif
