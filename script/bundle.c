#include "script/bundle.h"

#include "base/arena.h"
#include "base/text.h"
#include "wire/digest.h"

struct file {
	struct str path, source;
};

struct script_bundle {
	struct arena arena;
	struct str main;
	struct file *files;          /* by path, once it has a hash */
	size_t n, cap, bytes, bytes_max;
	unsigned holders;
	char hash[DIGEST_TEXT_MAX];
};

struct script_bundle *
bundle_new(struct str main, size_t bytes_max)
{
	struct script_bundle *b = mem_new(sizeof(*b));

	b->arena = ARENA_INIT;
	b->main = arena_copy(&b->arena, main);
	b->bytes_max = bytes_max;
	b->holders = 1;
	return b;
}

struct script_bundle *
bundle_hold(struct script_bundle *b)
{
	b->holders++;
	return b;
}

void
bundle_drop(struct script_bundle **bp)
{
	struct script_bundle *b = *bp;

	*bp = NULL;
	if (b == NULL || --b->holders > 0)
		return;
	arena_free(&b->arena);
	free(b->files);
	free(b);
}

/* "lib/a.js": no empty part, no "." or "..", nothing that a terminal obeys. */
static bool
is_path(struct str path)
{
	struct str part;

	if (path.n == 0 || path.n > BUNDLE_PATH_BYTES_MAX ||
	    !text_is_utf8(path) || text_has_control(path))
		return false;
	while (str_split(&path, '/', &part))
		if (part.n == 0 || str_eq(part, STR(".")) ||
		    str_eq(part, STR("..")))
			return false;
	return true;
}

enum err
bundle_add(struct script_bundle *b, struct str path, struct str source,
    struct why *w)
{
	size_t at;

	CHECK(b->hash[0] == '\0');
	if (!is_path(path))
		return why(w, ERR_INPUT, "%.*s: no path of a source file",
		    (int)MIN(path.n, (size_t)200), path.p);
	if (bundle_find(b, path, &at))
		return why(w, ERR_EXISTS, "%.*s: it is there already",
		    STR_FMT(path));
	if (b->n >= BUNDLE_FILES_MAX)
		return why(w, ERR_FULL, "more than %u source files",
		    BUNDLE_FILES_MAX);
	if (source.n > b->bytes_max - b->bytes)
		return why(w, ERR_FULL, "the source files are longer than "
		    "script.bundle_bytes_max, %zu bytes", b->bytes_max);
	b->bytes += source.n;
	b->files = mem_room(b->files, b->n, &b->cap, 8, sizeof(*b->files));
	b->files[b->n++] = (struct file){ arena_copy(&b->arena, path),
		arena_copy(&b->arena, source) };
	return OK;
}

size_t
bundle_files(const struct script_bundle *b)
{
	return b->n;
}

struct str
bundle_path(const struct script_bundle *b, size_t i)
{
	CHECK(i < b->n);
	return b->files[i].path;
}

struct str
bundle_source(const struct script_bundle *b, size_t i)
{
	CHECK(i < b->n);
	return b->files[i].source;
}

bool
bundle_find(const struct script_bundle *b, struct str path, size_t *i)
{
	for (*i = 0; *i < b->n; (*i)++)
		if (str_eq(b->files[*i].path, path))
			return true;
	return false;
}

const char *
bundle_main(const struct script_bundle *b)
{
	return b->main.p;
}

const char *
bundle_hash(struct script_bundle *b)
{
	FREED(buf_free) struct buf all = BUF_INIT;
	struct digest d;

	if (b->hash[0] != '\0')
		return b->hash;
	qsort(b->files, b->n, sizeof(*b->files), str_order);
	buf_put_field(&all, b->main);
	for (size_t i = 0; i < b->n; i++) {
		buf_put_field(&all, b->files[i].path);
		buf_put_field(&all, b->files[i].source);
	}
	digest_of(DIGEST_SHA256, buf_str(&all), &d);
	(void)digest_to_text(&d, b->hash);
	return b->hash;
}
