#include "script/items/source.h"

#include <limits.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "os/file.h"

struct reading {
	struct script_bundle *bundle;
	struct str folder;           /* its real path, with a final "/" */
	size_t bytes_max;
	struct arena arena;
};

/* -- Imports of a source -- */

static bool
is_word(char c)
{
	return ascii_is_alpha(c) || ascii_is_digit(c) || c == '_' || c == '$';
}

/* Behind the word `from` or `import` that stands at `i`; 0: none does. */
static size_t
behind_word(struct str s, size_t i)
{
	static const struct str words[] = { STR("from"), STR("import") };

	if (i > 0 && (is_word(s.p[i - 1]) || s.p[i - 1] == '.'))
		return 0;
	for (size_t k = 0; k < ARRAY_LEN(words); k++) {
		size_t end = i + words[k].n;
		if (str_starts(str_from(s, i), words[k]) &&
		    (end == s.n || !is_word(s.p[end])))
			return end;
	}
	return 0;
}

static size_t
skip_blanks(struct str s, size_t i)
{
	while (i < s.n && (ascii_is_space(s.p[i]) || s.p[i] == '('))
		i++;
	return i;
}

bool
source_next_import(struct str s, size_t *at, struct str *path)
{
	for (size_t i = *at; i < s.n; i++) {
		size_t open = behind_word(s, i);
		if (open == 0)
			continue;
		open = skip_blanks(s, open);
		if (open == s.n || !str_has_char(STR("'\"`"), s.p[open]))
			continue;
		struct str rest = str_from(s, open + 1);
		struct str text = str_cut(rest, 0, str_find_char(rest,
		    s.p[open]));
		if (text.n == rest.n || memchr(text.p, '\n', text.n) != NULL)
			continue;
		*at = open + 1 + text.n;
		*path = text;
		if (str_starts(text, STR("./")) || str_starts(text, STR("../")))
			return true;
		i = *at;
	}
	*at = s.n;
	return false;
}

/* -- Reading -- */

/* "lib/a.js" and "../b.js" are "b.js"; false: it leaves the folder. */
static bool
resolve(struct str from, struct str import, struct arena *a, struct str *out)
{
	size_t slash = from.n;
	struct str part;

	while (slash > 0 && from.p[slash - 1] != '/')
		slash--;
	FREED(buf_free) struct buf b = BUF_INIT;
	buf_put_str(&b, str_cut(from, 0, slash));
	while (str_split(&import, '/', &part)) {
		if (part.n == 0 || str_eq(part, STR(".")))
			continue;
		if (!str_eq(part, STR(".."))) {
			buf_put_str(&b, part);
			buf_put_char(&b, '/');
			continue;
		}
		if (b.n == 0)
			return false;
		do
			b.n--;
		while (b.n > 0 && b.p[b.n - 1] != '/');
	}
	if (b.n == 0)
		return false;
	*out = arena_copy(a, str_cut(buf_str(&b), 0, b.n - 1));
	return memchr(out->p, '\0', out->n) == NULL;
}

static enum err
read_file(struct reading *r, struct str path, struct buf *text, struct why *w)
{
	char real[PATH_MAX];

	struct str whole = arena_printf(&r->arena, "%.*s%.*s",
	    STR_FMT(r->folder), STR_FMT(path));
	if (realpath(whole.p, real) == NULL)
		return why(w, ERR_ABSENT, "there is no file %.*s",
		    STR_FMT(path));
	if (!str_starts(str_of(real), r->folder))
		return why(w, ERR_DENIED, "%.*s: a link leads out of the "
		    "folder %.*s", STR_FMT(path), STR_FMT(r->folder));
	return file_load(real, r->bytes_max, text, w);
}

static enum err
add_file(struct reading *r, struct str path, bool must, struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct why inner = WHY_INIT;
	size_t i;

	if (bundle_find(r->bundle, path, &i))
		return OK;
	enum err e = read_file(r, path, &text, &inner);
	/* The module that imports it reports it, with its line. */
	if (e == ERR_ABSENT && !must)
		return OK;
	return e == OK ? bundle_add(r->bundle, path, buf_str(&text), w) :
	    why(w, e, "%s", inner.text);
}

static enum err
add_imports(struct reading *r, size_t of, struct why *w)
{
	struct str source = bundle_source(r->bundle, of);
	struct str from = bundle_path(r->bundle, of), import, path;
	enum err e = OK;
	size_t at = 0;

	while (e == OK && source_next_import(source, &at, &import))
		if (resolve(from, import, &r->arena, &path))
			e = add_file(r, path, false, w);
	return e;
}

static enum err
find_folder(struct reading *r, const char *path, struct str *name,
    struct why *w)
{
	char real[PATH_MAX];

	if (realpath(path, real) == NULL)
		return why_errno(w, ERR_ABSENT, "cannot read %s", path);
	size_t slash = (size_t)(strrchr(real, '/') - real);
	r->folder = arena_copy(&r->arena, (struct str){ real, slash + 1 });
	*name = arena_copy(&r->arena, str_of(real + slash + 1));
	return OK;
}

enum err
source_load(const char *path, size_t bytes_max, struct script_bundle **out,
    struct why *w)
{
	struct reading r = { .bytes_max = bytes_max };
	struct str name;

	*out = NULL;
	enum err e = find_folder(&r, path, &name, w);
	if (e == OK) {
		r.bundle = bundle_new(name, bytes_max);
		e = add_file(&r, name, true, w);
	}
	for (size_t i = 0; e == OK && i < bundle_files(r.bundle); i++)
		e = add_imports(&r, i, w);
	arena_free(&r.arena);
	if (e != OK && r.bundle != NULL)
		bundle_drop(&r.bundle);
	*out = r.bundle;
	return e;
}

/* -- Stored files -- */

static void
put_file(const struct script_bundle *b, size_t i, struct buf *out)
{
	json_comma(out);
	text_json(out, bundle_path(b, i));
	buf_put_char(out, ':');
	text_json(out, bundle_source(b, i));
}

void
source_to_json(const struct script_bundle *b, struct buf *out)
{
	size_t main;

	bool found = bundle_find(b, str_of(bundle_main(b)), &main);
	CHECK(found);
	json_object(out, NULL);
	put_file(b, main, out);
	for (size_t i = 0; i < bundle_files(b); i++)
		if (i != main)
			put_file(b, i, out);
	buf_put_char(out, '}');
}

enum err
source_from_json(struct str json, struct str main, struct script_bundle **out,
    struct why *w)
{
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc), *key, *v;
	struct script_bundle *b = bundle_new(main, json.n);
	size_t i, n;
	enum err e = yyjson_is_str(yyjson_obj_getn(root, main.p, main.n)) ?
	    OK : why(w, ERR_CORRUPT, "the stored configuration has no file "
	    "%.*s", STR_FMT(main));

	yyjson_obj_foreach(root, i, n, key, v)
		if (e == OK && yyjson_is_str(v))
			e = bundle_add(b, json_text(key), json_text(v), w);
	yyjson_doc_free(doc);
	if (e != OK)
		bundle_drop(&b);
	*out = b;
	return e;
}
