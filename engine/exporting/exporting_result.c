/* What came of an export, as JSON: for its row, statuses and lists. */
#include "base/json_writer.h"
#include "engine/exporting/exporting_own.h"
#include "os/tree.h"

#define TEXT_CHARS_MAX 1000u
/* Names of files in one answer; an export may have more. */
#define FILES_MAX 10000u

/* The text, cut before a character that goes beyond the limit. */
static struct str
cut_text(struct str s)
{
	size_t n = MIN(s.n, TEXT_CHARS_MAX);

	while (n < s.n && n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;
	return str_cut(s, 0, n);
}

void
outcome_add(struct outcome *o, struct arena *a, enum outcome_level level,
    const char *code, struct str text)
{
	if (o->notes_n == OUTCOME_NOTES_MAX) {
		o->dropped++;
		/* The list says that it failed, even where it says not why. */
		if (level == OUTCOME_ERROR)
			o->success = false;
		return;
	}
	o->notes = arena_grow(a, o->notes, o->notes_n, &o->cap, 8,
	    sizeof(*o->notes));
	o->notes[o->notes_n++] = (struct outcome_note){ level, code,
	    arena_copy(a, cut_text(text)) };
}

static void
put_note(struct buf *b, const char *code, struct str text)
{
	json_object(b, NULL);
	json_str(b, "code", str_of(code));
	json_str(b, "message", text);
	buf_put_char(b, '}');
}

static void
put_notes(const struct outcome *o, struct buf *b)
{
	static const char *const names[OUTCOME_LEVELS] = { "infos",
		"warnings", "errors" };
	FREED(buf_free) struct buf text = BUF_INIT;

	for (int level = 0; level < OUTCOME_LEVELS; level++) {
		json_array(b, names[level]);
		for (size_t i = 0; i < o->notes_n; i++)
			if ((int)o->notes[i].level == level)
				put_note(b, o->notes[i].code,
				    o->notes[i].text);
		if (level == OUTCOME_WARNING && o->dropped > 0) {
			buf_printf(&text, "%llu more messages were left out",
			    (unsigned long long)o->dropped);
			put_note(b, "messages_dropped", buf_str(&text));
		}
		buf_put_char(b, ']');
	}
}

void
outcome_put(const struct outcome *o, struct buf *b)
{
	json_object(b, NULL);
	put_notes(o, b);
	json_u64(b, "warcs", o->warcs);
	json_u64(b, "items", o->counts.items);
	json_u64(b, "outside", o->counts.outside);
	json_u64(b, "duplicates", o->counts.duplicates);
	json_u64(b, "deleted", o->counts.deleted);
	json_u64(b, "rows", o->counts.rows);
	json_array(b, "files");
	for (size_t i = 0; i < MIN(o->files_n, FILES_MAX); i++) {
		json_object(b, NULL);
		json_str(b, "name", o->files[i].name);
		json_u64(b, "bytes", o->files[i].bytes);
		buf_put_char(b, '}');
	}
	buf_put_text(b, "]}");
}
