/*
 * The files of one crawl in its WARC directory.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/archive/archive.h"
#include "engine/archive/archive_port.h"
#include "engine/catalog/catalog.h"

struct listing {
	struct arena *arena;
	uint32_t crawl;
	struct archive_file *files;
	size_t n, cap;
};

/* In a shared directory, a crawl's files begin with the crawl's prefix. */
static bool
is_of_crawl(const struct listing *l, const char *dir, struct str name)
{
	char prefix[32], own[32];

	(void)snprintf(prefix, sizeof(prefix), "crawl-%u-", l->crawl);
	(void)snprintf(own, sizeof(own), "/crawl-%u", l->crawl);
	return name.n > 0 && name.p[0] != '.' && (str_ends(str_of(dir),
	    str_of(own)) || str_starts(name, str_of(prefix)));
}

/* A file that was closed in the meantime is already listed as open. */
static struct archive_file *
place_of(struct listing *l, struct str name)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_eq(l->files[i].name, name))
			return &l->files[i];
	l->files = arena_grow(l->arena, l->files, l->n, &l->cap, 16,
	    sizeof(*l->files));
	return &l->files[l->n++];
}

static void
read_dir(struct listing *l, const char *dir, bool open)
{
	struct str *names;
	size_t n;

	if (archive_port()->list(dir, l->arena, &names, &n, NULL) != OK)
		return;
	for (size_t i = 0; i < n; i++) {
		struct archive_file f = { .name = open ?
		    archive_final_name(names[i]) : names[i], .open = open,
		    .path = arena_printf(l->arena, "%s/%.*s", dir,
		    STR_FMT(names[i])).p };
		if (is_of_crawl(l, dir, f.name) &&
		    archive_probe(f.path, &f.size, NULL) == OK)
			*place_of(l, f.name) = f;
	}
}

static int
by_name(const void *a, const void *b)
{
	const struct archive_file *x = a, *y = b;

	return str_cmp(x->name, y->name);
}

size_t
catalog_crawl_files(const char *warc_dir, uint32_t crawl, struct arena *a,
    struct archive_file **files)
{
	struct listing l = { .arena = a, .crawl = crawl };

	*files = NULL;
	if (warc_dir[0] == '\0')
		return 0;
	/* A closed file moves from the first directory to the second. */
	read_dir(&l, arena_printf(a, "%s/.argiope/crawl-%u", warc_dir,
	    crawl).p, true);
	read_dir(&l, warc_dir, false);
	if (l.n > 0)
		qsort(l.files, l.n, sizeof(*l.files), by_name);
	*files = l.files;
	return l.n;
}
