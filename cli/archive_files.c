#include "cli/archive_files.h"

#include "cli/format.h"
#include "engine/catalog/archive_tools.h"
#include "os/system.h"

/* DATA's own and the WARC directories outside, as far as they are there. */
static enum err
data_dirs(struct cli *c, const char *const **out, size_t *n, struct why *w)
{
	struct identity x = { .archives_n = 0 };
	enum err e = cli_data_dir(c, w);

	*n = 0;
	if (e != OK)
		return e;
	const char *own = arena_printf(&c->arena, "%s/archive", c->data_dir).p;
	if (identity_read(c->data_dir, &c->arena, &x, NULL) != OK)
		x.archives_n = 0;
	const char *harvest = arena_printf(&c->arena, "%s/harvest",
	    c->data_dir).p;
	const char **dirs = ARENA_ARRAY(&c->arena, const char *,
	    x.archives_n + 2);
	if (cli_is_there(own))
		dirs[(*n)++] = own;
	if (cli_is_there(harvest))
		dirs[(*n)++] = harvest;
	for (size_t i = 0; i < x.archives_n; i++)
		if (cli_is_there(x.archives[i].p))
			dirs[(*n)++] = x.archives[i].p;
		else
			fprintf(stderr, CLI_PROGRAM ": %s, to which crawls "
			    "have written, is not there\n", x.archives[i].p);
	*out = dirs;
	return *n > 0 ? OK : why(w, ERR_ABSENT, "%s is not there; name WARC "
	    "files or a directory of them", own);
}

enum err
archive_files(struct cli *c, size_t first, bool with_open,
    struct archive_catalogue *out, struct why *w)
{
	const struct options *o = &c->options;
	const char *const *paths = o->operands + first;
	size_t n = o->operands_n - first;
	enum err e = n > 0 ? OK : data_dirs(c, &paths, &n, w);

	if (e == OK)
		e = archive_list(paths, n, with_open, &c->arena, out, w);
	if (e == OK && out->n + out->gone_n == 0)
		e = why(w, ERR_ABSENT, "there is no WARC file in %s", paths[0]);
	return e;
}

void
archive_files_moved(const struct archive_catalogue *c, void (*moved)(void *arg,
    const char *path, const char *place, bool readable), void *arg)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->files[i].moved_from != NULL)
			moved(arg, c->files[i].moved_from, c->files[i].path,
			    true);
	for (size_t i = 0; i < c->gone_n; i++)
		moved(arg, c->gone[i].path, c->gone[i].place, false);
}

#define GONE_SHOWN 100

void
archive_files_gone(const struct archive_catalogue *c)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	for (size_t i = 0; i < MIN(c->gone_n, GONE_SHOWN); i++)
		fprintf(stderr, CLI_PROGRAM ": %s was moved to %s, where it "
		    "cannot be read\n",
		    format_text(&a, str_of(c->gone[i].path), 4096),
		    format_text(&a, str_of(c->gone[i].place), 4096));
	if (c->gone_n > GONE_SHOWN)
		fprintf(stderr, CLI_PROGRAM ": %zu more files were moved to "
		    "where they cannot be read\n", c->gone_n - GONE_SHOWN);
}

const char *
archive_scratch(struct cli *c)
{
	const char *dir = getenv("TMPDIR");

	return arena_printf(&c->arena, "%s/argiope-%lld",
	    dir != NULL && dir[0] == '/' ? dir : "/tmp",
	    (long long)system_pid()).p;
}
