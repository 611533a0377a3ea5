/*
 * limits -- what one run of a script may use.  The daemon fills them in from
 * the settings `script.*` and the task's own; they travel with each run.
 */
#ifndef SCRIPT_LIMITS_H
#define SCRIPT_LIMITS_H

#include "base/conf.h"

/*    field               type  setting's id              a breach is called */
#define SCRIPT_LIMITS(X)                                                     \
	X(heap_bytes_max,      size, SCRIPT_HEAP_BYTES_MAX,    "limit_memory") \
	X(cpu_ms_max,          ms,   SCRIPT_CPU_MS_MAX,          "limit_cpu") \
	X(wall_ms_max,         ms,   SCRIPT_WALL_MS_MAX,         "limit_wall") \
	X(turn_ms_max,         ms,   SCRIPT_TURN_MS_MAX,         "limit_turn") \
	X(stack_bytes_max,     size, SCRIPT_STACK_BYTES_MAX,     "RangeError") \
	X(fetches_max,         int,  SCRIPT_FETCHES_MAX,       "limit_fetch")  \
	X(fetches_at_once_max, int,  SCRIPT_FETCHES_AT_ONCE_MAX, "they wait") \
	X(mutations_max,       int,  SCRIPT_MUTATIONS_MAX,                    \
	    "limit_mutations")                                                \
	X(mutation_bytes_max,  size, SCRIPT_MUTATION_BYTES_MAX,               \
	    "limit_mutations")                                                \
	X(log_lines_max,       int,  SCRIPT_LOG_LINES_MAX,       "dropped") \
	X(log_line_bytes_max,  size, SCRIPT_LOG_LINE_BYTES_MAX,  "cut")

struct script_limits {
#define SCRIPT_LIMIT_FIELD(name, type, id, breach) int64_t name;
	SCRIPT_LIMITS(SCRIPT_LIMIT_FIELD)
#undef SCRIPT_LIMIT_FIELD
};

/*
 * The body of one request.  Bodies of all calls under way have together at most
 * mutation_bytes_max; more of them wait, unless it is one alone.
 */
#define SCRIPT_REQUEST_BYTES_MAX ((size_t)16 << 20)

/* A connector's state: keys and values as JSON. */
#define SCRIPT_STATE_BYTES_MAX ((size_t)256 << 10)

/* Of the settings. */
struct script_limits script_limits_of(const struct conf *);
/*
 * Those of a connector's run: its processor time and its log lines are of a
 * minute, its wall is the time without a host call, and fetches and turns have
 * no limit.
 */
struct script_limits script_limits_of_connector(const struct conf *);
/* The minute of a connector's limits. */
#define SCRIPT_MINUTE_MS INT64_C(60000)

#endif
