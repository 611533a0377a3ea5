/*
 * letter -- dead letters: messages that cannot be worked on, as they are kept
 * in the queue argiope_dead.
 *
 * Thread: any; pure.
 * Source: contracts/harvest.md §7, Dead letters.
 */
#ifndef DOORS_HARVEST_LETTER_H
#define DOORS_HARVEST_LETTER_H

#include "base/arena.h"
#include "base/time.h"

#define LETTER_QUEUE "argiope_dead"

#define LETTER_REASONS(X)                                                    \
	X(NONE, "")                                                          \
	X(NOT_JSON, "not_json") X(NOT_OBJECT, "not_object") X(NO_ID, "no_id") \
	X(TOO_LARGE, "too_large") X(PERSIST, "persist") X(CRASHED, "crashed")
enum letter_reason {
#define LETTER_ENUM(name, text) LETTER_##name,
	LETTER_REASONS(LETTER_ENUM)
#undef LETTER_ENUM
	LETTER_REASON_COUNT
};
/* "not_json": the header x-argiope-reason. */
const char *letter_reason_name(enum letter_reason);

/*
 * The body with every value below a member `credentials` replaced by "***";
 * what is no JSON is masked unread.  Memory: `a`.
 */
struct str letter_mask(struct str body, struct arena *a);

/*
 * The same without reading it as JSON, for one that may end its reader: the
 * whole value of each name `credentials` is replaced; one that has no end is
 * cut off.  Memory: `a`.
 */
struct str letter_mask_unread(struct str body, struct arena *a);

/* "2026-11-20T09:18:16.123456+00:00"; memory: `a`. */
struct str letter_date(struct wall, struct arena *a);

#endif
