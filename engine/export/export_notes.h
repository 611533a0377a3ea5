/*
 * export_notes -- what an export has to say beside its items.  Equal notes are
 * counted, and the first one's place is kept.
 *
 * Thread: one at a time.  Limits: EXPORT_NOTES_MAX different notes; the rest
 * is counted.
 */
#ifndef ENGINE_EXPORT_EXPORT_NOTES_H
#define ENGINE_EXPORT_EXPORT_NOTES_H

#include "base/arena.h"

#define EXPORT_NOTES_MAX 100u

/* Codes of contracts/export.md section 3. */
#define EXPORT_CODES(X)                                                      \
	X(WARC_DAMAGED, "warc_damaged")                                      \
	X(WARC_MISSING, "warc_missing")                                      \
	X(ITEM_FIELD_MISSING, "item_field_missing")                          \
	X(CELL_TRUNCATED, "cell_truncated")                                  \
	X(ITEMS_DELETED, "items_deleted")
enum export_code {
#define EXPORT_CODE_ENUM(name, text) EXPORT_##name,
	EXPORT_CODES(EXPORT_CODE_ENUM)
#undef EXPORT_CODE_ENUM
	EXPORT_CODES_N
};
const char *export_code_text(enum export_code);

struct export_note {
	enum export_code code;
	struct str what;        /* a damage, or the name of a field */
	uint64_t count;
	struct str file;        /* of the first */
	uint64_t offset;
	struct str id;          /* the first item's; empty: none */
};
struct export_notes {
	struct export_note *list;
	size_t n, cap;
	uint64_t dropped;       /* beyond the limit */
	struct arena arena;
};

void export_notes_free(struct export_notes *);
/* All texts are copied. */
void export_notes_add(struct export_notes *, const struct export_note *);
/* Add all of `from`, which stays as it is. */
void export_notes_merge(struct export_notes *,
    const struct export_notes *from);
/* Append one note as a sentence without a full stop. */
void export_note_put(const struct export_note *, struct buf *);

#endif
