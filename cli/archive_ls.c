/* argiope archive ls -- the records of WARC files, one a line. */
#include "cli/archive_files.h"
#include "cli/verbs.h"
#include "engine/archive/list.h"

#define LS_OPTIONS(X)                                                        \
	X(ALL, "all", 'a', NULL, FLAG, 0, 0,                                 \
	    "show requests, warcinfo and metadata too")

static const struct option_row rows[] = {
	LS_OPTIONS(OPTION_ROW) OPTION_JSON(OPTION_ROW)
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb archive_ls_verb = {
	"archive ls", "[FILE...]", 0, OPERANDS_ANY,
	"List the captures in WARC files",
	ARCHIVE_FILES_ABOUT "  "
	ARCHIVE_OPEN_ABOUT "\n"
	"With --json one object per line.\n"
	"Exit code: 0; 66 there is no WARC file; 70 a file is damaged.",
	rows, ARRAY_LEN(rows)
};

struct ls {
	bool all, json;
	uint64_t damaged;
	struct buf line;
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
	if (ls->json) {
		archive_row_json(r, &ls->line);
		buf_put_char(&ls->line, '\n');
	} else {
		archive_row_text(r, &ls->line);
	}
	cli_put(&ls->line);
	/* Who reads `ls | head` has seen enough. */
	return ferror(stdout) ? why(w, ERR_CLOSED, "nobody reads") : OK;
}

int
archive_ls_run(struct cli *c)
{
	struct ls ls = { .all = cli_count(c, "all") > 0, .json = cli_json(c) };
	struct archive_catalogue files;
	struct why w = WHY_INIT;

	enum err e = archive_files(c, 0, true, &files, &w);
	if (e == OK)
		e = archive_rows(&files, print, &ls, &w);
	buf_free(&ls.line);
	if (e == ERR_CLOSED)
		return 0;
	if (e != OK)
		return cli_fail(&w);
	return ls.damaged > 0 ? err_exit(ERR_CORRUPT) : 0;
}
