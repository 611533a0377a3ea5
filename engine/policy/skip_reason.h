/*
 * skip_reason -- why a URL is not fetched: the reasons of
 * docs/protocols/realtime.md section 4, in one table for enum, names and
 * metrics.
 */
#ifndef ENGINE_POLICY_SKIP_REASON_H
#define ENGINE_POLICY_SKIP_REASON_H

#include "base/base.h"

/*       name     as the doors say it   what people read                   */
#define SKIP_TABLE(SKIP)                                                     \
	SKIP(NONE,    "none",    "it is taken")                              \
	SKIP(ROBOTS,  "robots",  "robots.txt forbids it")                    \
	SKIP(SCOPE,   "scope",   "the URL rules leave it out")               \
	SKIP(DEPTH,   "depth",   "it is deeper than limits.max_depth")       \
	SKIP(COST,    "cost",    "it costs more than limits.max_cost")       \
	SKIP(MIME,    "mime",    "the MIME rules drop its type")             \
	SKIP(LIMIT,   "limit",   "a limit of its host or path is reached")   \
	SKIP(URL,     "url",     "the URL cannot be fetched or is a trap")   \
	SKIP(BLOCKED, "blocked", "its address is private or local")

enum skip_reason {
#define SKIP_ENUM(name, word, text) SKIP_##name,
	SKIP_TABLE(SKIP_ENUM)
#undef SKIP_ENUM
	SKIP_COUNT
};

const char *skip_name(enum skip_reason);  /* "scope" */
const char *skip_text(enum skip_reason);  /* "the URL rules leave it out" */

#endif
