#include "cli/archive_files.h"

#include "os/system.h"

enum err
archive_files(struct cli *c, size_t first, struct archive_catalogue *out,
    struct why *w)
{
	const struct options *o = &c->options;
	const char *const *paths = o->operands + first;
	size_t n = o->operands_n - first;
	const char *own;
	enum err e = OK;

	if (n == 0) {
		e = cli_data_dir(c, w);
		if (e != OK)
			return e;
		own = arena_printf(&c->arena, "%s/archive", c->data_dir).p;
		if (!cli_is_there(own))
			return why(w, ERR_ABSENT, "%s is not there; name WARC "
			    "files or a directory of them", own);
		paths = &own;
		n = 1;
	}
	e = archive_list(paths, n, &c->arena, out, w);
	if (e == OK && out->n == 0)
		e = why(w, ERR_ABSENT, "there is no WARC file in %s", paths[0]);
	return e;
}

const char *
archive_scratch(struct cli *c)
{
	const char *dir = getenv("TMPDIR");

	return arena_printf(&c->arena, "%s/argiope-%lld",
	    dir != NULL && dir[0] == '/' ? dir : "/tmp",
	    (long long)system_pid()).p;
}
