/*
 * map -- from bytes or a number to a pointer.  Open addressing, no deletions
 * left behind as marks (backward shift).
 *
 * The key's bytes are the value's: the caller keeps them alive and unchanged
 * while the entry stands.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/bytes.h"

struct map_slot {
	uint64_t hash;
	struct str key;
	void *value;      /* NULL: the slot is free */
};
struct map {
	struct map_slot *slots;
	size_t n, cap;    /* cap is 0 or a power of two; n <= 7/8 cap */
};
#define MAP_INIT ((struct map){ NULL, 0, 0 })

void map_free(struct map *);  /* the table, not the values */
void *map_get(const struct map *, struct str key);
/* Returns the value that stood there, or NULL. */
void *map_put(struct map *, struct str key, void *value);
void *map_take(struct map *, struct str key);
/*
 * Make room for `n` entries in all, 1 at least.  Before one map is walked to
 * fill another: in the order of its slots, a table that grows meanwhile fills
 * from one end, and each step searches through what is there.
 */
void map_reserve(struct map *, size_t n);
/* Keys that are numbers; do not mix both kinds in one map. */
void *map_get_id(const struct map *, uint64_t id);
void *map_put_id(struct map *, uint64_t id, void *value);
void *map_take_id(struct map *, uint64_t id);
/*
 * Walk: start with `*at` = 0; NULL at the end.  Do not change the map between
 * two steps.
 */
void *map_next(const struct map *, size_t *at);
/* A loop over all values; the map must stay as it is. */
#define MAP_EACH(item, map, type)                                           \
	for (size_t item##_at = 0; item##_at != SIZE_MAX;                     \
	    item##_at = SIZE_MAX)                                             \
		for (type *item; (item = map_next(map, &item##_at)) != NULL;)

#endif
