/* argiope archive ls -- the records of WARC files, one per line. */
#include "base/json_writer.h"
#include "cli/archive_files.h"
#include "cli/format.h"
#include "cli/verbs.h"
#include "engine/catalog/archive_tools.h"

static const struct option_row rows[] = {
	OPTION_ROW(ALL, "all", 'a', NULL, FLAG, 0, 0,
	    "show requests, warcinfo and metadata too")
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW)
};

const struct option_verb archive_ls_verb = {
	"archive ls", "[FILE...]", 0, OPERANDS_ANY,
	"List the captures in WARC files",
	ARCHIVE_FILES_ABOUT "  "
	ARCHIVE_OPEN_ABOUT "\n"
	"With --json one object per line.  Files that a hook has moved are "
	"named at the end, with their new places, where they are read if "
	"possible.\n"
	"Exit code: 0; 66 there is no WARC file; 70 a file is damaged.",
	rows, ARRAY_LEN(rows)
};

struct ls {
	struct cli *cli;
	bool all;
	uint64_t damaged;
};

static bool
is_answer(const struct archive_row *r)
{
	return r->type == WARC_RESPONSE || r->type == WARC_REVISIT ||
	    r->type == WARC_RESOURCE;
}

static enum err
print(void *arg, const struct archive_row *r, struct why *w)
{
	struct ls *ls = arg;

	if (r->damage != NULL)
		ls->damaged++;
	else if (!ls->all && !is_answer(r))
		return OK;
	if (cli_json(ls->cli)) {
		archive_row_json(r, &ls->cli->out);
		buf_put_char(&ls->cli->out, '\n');
	} else {
		archive_row_text(r, &ls->cli->out);
	}
	cli_put(&ls->cli->out);
	/* Who reads `ls | head` has seen enough. */
	return ferror(stdout) ? why(w, ERR_CLOSED, "nobody reads") : OK;
}

static void
print_moved(void *cli, const char *path, const char *place, bool readable)
{
	struct cli *c = cli;
	struct str name = archive_base_name(str_of(path));
	struct buf *b = &c->out;

	if (cli_json(c)) {
		buf_put_char(b, '{');
		json_str(b, "file", name);
		json_str(b, "moved_to", str_of(place));
		json_bool(b, "readable", readable);
		buf_put_text(b, "}\n");
	} else {
		format_safe(b, name, 1000);
		buf_put_text(b, " moved to ");
		format_safe(b, str_of(place), 4096);
		buf_put_text(b, readable ? "\n" : ", where it cannot be "
		    "read\n");
	}
}

enum err
archive_ls_run(struct cli *c, struct why *w)
{
	struct ls ls = { .cli = c, .all = cli_count(c, "all") > 0 };
	struct archive_catalogue files;

	enum err e = archive_files(c, 0, true, &files, w);
	if (e == OK)
		e = archive_rows(&files, print, &ls, w);
	if (e == OK)
		archive_files_moved(&files, print_moved, c);
	if (e == OK && ls.damaged > 0)
		c->code = err_exit(ERR_CORRUPT);
	return e == ERR_CLOSED ? OK : e;
}
