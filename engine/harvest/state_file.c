#include "engine/harvest/state_file.h"

#include "os/file.h"

#define FILE_NAME "state.json"
#define SECTION "__main__"

/* A text or the digits of a number; STR_NONE for anything else. */
static struct str
value_of(yyjson_val *v)
{
	return yyjson_is_raw(v) ? (struct str){ yyjson_get_raw(v),
	    yyjson_get_len(v) } : json_text(v);
}

static bool
is_number(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_digit(s.p[i]))
			return false;
	return s.n > 0;
}

static bool
is_greater(struct str a, struct str b)
{
	return a.n != b.n ? a.n > b.n : str_cmp(a, b) > 0;
}

static bool
is_state(yyjson_val *root)
{
	size_t i, n;
	yyjson_val *name, *section;

	if (!yyjson_is_obj(root))
		return false;
	yyjson_obj_foreach(root, i, n, name, section)
		if (!yyjson_is_obj(section))
			return false;
	return true;
}

/* NULL without an error: there is no file. */
static enum err
load(const struct shared_dir *dir, yyjson_doc **doc, struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct why inner = WHY_INIT;

	*doc = NULL;
	enum err e = shared_dir_load(dir, FILE_NAME, STATE_FILE_BYTES_MAX, &b,
	    &inner);
	if (e == ERR_ABSENT)
		return OK;
	if (e != OK)
		return why(w, e, "%s", inner.text);
	*doc = yyjson_read(b.p, b.n, YYJSON_READ_NUMBER_AS_RAW);
	if (is_state(yyjson_doc_get_root(*doc)))
		return OK;
	yyjson_doc_free(*doc);
	*doc = NULL;
	return why(w, ERR_CORRUPT, FILE_NAME " is no JSON object of objects");
}

/* --- reading --------------------------------------------------------- */

struct found {
	struct connector_state *list;
	size_t n, cap;
};

static void
read_section(yyjson_val *section, struct arena *a, struct found *f)
{
	size_t i, n;
	yyjson_val *key, *v;

	yyjson_obj_foreach(section, i, n, key, v) {
		struct str value = value_of(v);
		if (value.p == NULL)
			continue;
		f->list = arena_grow(a, f->list, f->n, &f->cap, 64,
		    sizeof(*f->list));
		f->list[f->n++] = (struct connector_state){
			arena_copy(a, json_text(key)), arena_copy(a, value) };
	}
}

enum err
state_file_read(const struct shared_dir *dir, struct arena *a,
    struct connector_state **out, size_t *out_n, struct why *w)
{
	struct found f = { NULL, 0, 0 };
	yyjson_doc *doc;
	size_t i, n, kept = 0;
	yyjson_val *name, *section;

	*out = NULL;
	*out_n = 0;
	enum err e = load(dir, &doc, w);
	if (e != OK || doc == NULL)
		return e;
	yyjson_obj_foreach(yyjson_doc_get_root(doc), i, n, name, section)
		read_section(section, a, &f);
	yyjson_doc_free(doc);
	if (f.n > 0)
		qsort(f.list, f.n, sizeof(*f.list), str_order);
	for (i = 0; i < f.n; i++) {
		struct connector_state *last = kept == 0 ? NULL :
		    &f.list[kept - 1];
		if (last == NULL || !str_eq(last->key, f.list[i].key))
			f.list[kept++] = f.list[i];
		else if (is_greater(f.list[i].value, last->value))
			last->value = f.list[i].value;
	}
	*out = f.list;
	*out_n = kept;
	return OK;
}

/* --- merging --------------------------------------------------------- */

/* The section that has the key with the greatest value; or NULL. */
static yyjson_mut_val *
find_section(yyjson_mut_val *root, struct str key, struct str *value)
{
	yyjson_mut_val *found = NULL, *name, *section;
	size_t i, n;

	*value = STR_NONE;
	yyjson_mut_obj_foreach(root, i, n, name, section) {
		yyjson_mut_val *v = yyjson_mut_obj_getn(section, key.p, key.n);
		struct str s = yyjson_mut_is_raw(v) ? (struct str){
		    yyjson_mut_get_raw(v), yyjson_mut_get_len(v) } :
		    yyjson_mut_is_str(v) ? (struct str){ yyjson_mut_get_str(v),
		    yyjson_mut_get_len(v) } : STR_NONE;
		if (v != NULL && (found == NULL || is_greater(s, *value))) {
			found = section;
			*value = s;
		}
	}
	return found;
}

static void
merge_one(yyjson_mut_doc *doc, const struct connector_state *s, bool numbers)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
	struct str old;
	yyjson_mut_val *section = find_section(root, s->key, &old);

	if (is_number(old) && is_number(s->value) &&
	    !is_greater(s->value, old))
		return;
	if (section != NULL)
		numbers = yyjson_mut_is_raw(yyjson_mut_obj_getn(section,
		    s->key.p, s->key.n));
	else if ((section = yyjson_mut_obj_get(root, SECTION)) == NULL)
		section = yyjson_mut_obj_add_obj(doc, root, SECTION);
	yyjson_mut_obj_put(section, yyjson_mut_strncpy(doc, s->key.p,
	    s->key.n), numbers && is_number(s->value) ?
	    yyjson_mut_rawncpy(doc, s->value.p, s->value.n) :
	    yyjson_mut_strncpy(doc, s->value.p, s->value.n));
}

static yyjson_mut_doc *
merged(yyjson_doc *old, const struct connector_state *s, size_t n,
    bool numbers)
{
	yyjson_mut_doc *doc = old != NULL ? yyjson_doc_mut_copy(old, NULL) :
	    yyjson_mut_doc_new(NULL);

	CHECK(doc != NULL);
	if (old == NULL)
		yyjson_mut_doc_set_root(doc, yyjson_mut_obj(doc));
	for (size_t i = 0; i < n; i++)
		merge_one(doc, &s[i], numbers);
	return doc;
}

/* Aside, then in its place: a reader finds the old one or the new one. */
static enum err
store(const struct shared_dir *dir, const struct shared_dir *own,
    struct str text, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const char *path = arena_printf(&a, "%s/" FILE_NAME, dir->path).p;
	const char *aside = arena_printf(&a, "%s/" FILE_NAME, own->path).p;

	enum err e = shared_dir_write(own, FILE_NAME, text, w);
	if (e == OK)
		e = file_replace(aside, path, w);
	return e == OK ? file_sync_dir(dir->path, w) : e;
}

static enum err
merge_locked(const struct shared_dir *dir, const struct shared_dir *own,
    const struct connector_state *s, size_t n, bool numbers, struct why *w)
{
	yyjson_doc *old;
	size_t bytes;

	enum err e = load(dir, &old, w);
	if (e != OK)
		return e;
	yyjson_mut_doc *doc = merged(old, s, n, numbers);
	char *text = yyjson_mut_write(doc, 0, &bytes);
	CHECK(text != NULL);
	e = store(dir, own, (struct str){ text, bytes }, w);
	free(text);
	yyjson_mut_doc_free(doc);
	yyjson_doc_free(old);
	return e;
}

enum err
state_file_merge(const struct shared_dir *dir, const struct connector_state *s,
    size_t n, bool numbers, struct why *w)
{
	struct shared_dir own = SHARED_DIR_INIT;
	int lock = -1;

	enum err e = shared_dir_below(dir, STATE_FILE_OWN_DIR,
	    SHARED_DIR_MAKE, &own, w);
	if (e == OK)
		e = shared_dir_lock(&own, STATE_FILE_LOCK, &lock, w);
	if (e == OK)
		e = merge_locked(dir, &own, s, n, numbers, w);
	file_close(&lock);
	shared_dir_close(&own);
	return e;
}
