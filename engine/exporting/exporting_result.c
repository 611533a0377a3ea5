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

/* ---- Views ---------------------------------------------------------- */

static void
put_progress(const struct work *x, struct buf *b)
{
	json_object(b, "progress");
	json_u64(b, "warcs", atomic_load(&x->watch.files));
	json_u64(b, "warcs_total", atomic_load(&x->files_n));
	json_u64(b, "rows", atomic_load(&x->watch.rows));
	buf_put_char(b, '}');
}

void
exporting_put_json(struct exporting *e, const struct store_export *x,
    struct buf *b)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	json_str(b, "id", x->id);
	json_str(b, "type", x->type);
	json_str(b, "format", x->format);
	json_str(b, "path", str_of(work_dir(e, x, &a)));
	json_bool(b, "downloadable", x->path.n == 0);
	json_str(b, "state", str_of(store_harvest_state_name(x->state)));
	json_time(b, "requested_at", x->accepted);
	json_time(b, "started_at", x->started);
	json_time(b, "ended_at", x->ended);
	LIST_EACH(work, &e->works, struct work, node)
		if (str_eq(work->id, x->id))
			put_progress(work, b);
	if (x->result.n > 0)
		json_raw(b, "result", x->result);
}

bool
exporting_find_file(struct exporting *e, const struct store_export *x,
    struct str name, struct arena *a, const char **path)
{
	struct str begin = arena_printf(a, "%.*s_", STR_FMT(x->id));
	bool is_plain = str_find_char(name, '/') == name.n &&
	    str_find_char(name, '\0') == name.n;

	if (!store_harvest_is_over(x->state) || x->path.n > 0 || !is_plain ||
	    (!str_starts(name, begin) && !str_eq(name, STR("README.txt"))))
		return false;
	*path = arena_printf(a, "%s/%.*s", work_dir(e, x, a),
	    STR_FMT(name)).p;
	return tree_kind(*path, NULL) == TREE_FILE;
}
