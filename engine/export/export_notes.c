#include "engine/export/export_notes.h"

const char *
export_code_text(enum export_code code)
{
	static const char *const texts[] = {
#define EXPORT_CODE_TEXT(name, text) text,
		EXPORT_CODES(EXPORT_CODE_TEXT)
#undef EXPORT_CODE_TEXT
	};

	return texts[code];
}

void
export_notes_free(struct export_notes *notes)
{
	arena_free(&notes->arena);
	*notes = (struct export_notes){ .n = 0 };
}

void
export_notes_add(struct export_notes *notes, const struct export_note *note)
{
	struct arena *a = &notes->arena;

	for (size_t i = 0; i < notes->n; i++) {
		struct export_note *old = &notes->list[i];
		if (old->code == note->code && str_eq(old->what, note->what)) {
			old->count += note->count;
			return;
		}
	}
	if (notes->n == EXPORT_NOTES_MAX) {
		notes->dropped += note->count;
		return;
	}
	notes->list = arena_grow(a, notes->list, notes->n, &notes->cap, 8,
	    sizeof(*notes->list));
	struct export_note *kept = &notes->list[notes->n++];
	*kept = *note;
	kept->what = arena_copy(a, note->what);
	kept->file = arena_copy(a, note->file);
	kept->id = arena_copy(a, note->id);
}

void
export_notes_merge(struct export_notes *notes,
    const struct export_notes *from)
{
	for (size_t i = 0; i < from->n; i++)
		export_notes_add(notes, &from->list[i]);
	notes->dropped += from->dropped;
}

void
export_note_put(const struct export_note *note, struct buf *b)
{
	buf_put_str(b, note->what);
	if (note->code == EXPORT_WARC_MISSING)
		return;
	if (note->code == EXPORT_ITEMS_DELETED) {
		buf_printf(b, ": %llu", (unsigned long long)note->count);
		return;
	}
	if (note->code == EXPORT_ITEM_FIELD_MISSING)
		buf_printf(b, " is missing in %llu item%s",
		    (unsigned long long)note->count,
		    note->count == 1 ? "" : "s");
	else if (note->count > 1)
		buf_printf(b, ", %llu times", (unsigned long long)note->count);
	buf_put_text(b, note->count > 1 ? "; first " : ": ");
	if (note->id.n > 0)
		buf_printf(b, "%.*s ", STR_FMT(note->id));
	buf_printf(b, "in %.*s at %llu", STR_FMT(note->file),
	    (unsigned long long)note->offset);
}
