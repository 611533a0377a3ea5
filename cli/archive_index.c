/* argiope archive index -- CDXJ, for replay tools. */
#include "cli/archive_files.h"
#include "cli/verbs.h"
#include "engine/catalog/archive_tools.h"

static const struct option_row rows[] = {
	OPTION_ROW(OUTPUT, "output", 'o', "FILE", PATH, 0, 0,
	    "write to FILE, which appears whole or not at all")
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb archive_index_verb = {
	"archive index", "[FILE...]", 0, OPERANDS_ANY,
	"Print the sorted CDXJ index of WARC files",
	ARCHIVE_FILES_ABOUT "\n"
	"Exit code: 0; 70 a record was damaged and has no line; 66 there is no "
	"WARC file; 74 reading or writing failed.",
	rows, ARRAY_LEN(rows)
};

static enum err
print(void *arg, struct str line, struct why *w)
{
	(void)arg;
	fwrite(line.p, 1, line.n, stdout);
	putchar('\n');
	return ferror(stdout) ? why(w, ERR_CLOSED, "nobody reads") : OK;
}

enum err
archive_index_run(struct cli *c, struct why *w)
{
	const char *path = cli_text(c, "output", NULL);
	struct archive_index_counts counts = { 0 };
	struct archive_catalogue files;

	enum err e = archive_files(c, 0, false, &files, w);
	if (e == OK)
		archive_files_gone(&files);
	if (e == OK && path != NULL)
		e = archive_index_file(&files, path, &counts, w);
	else if (e == OK)
		e = archive_index(&files, archive_scratch(c),
		    SORT_BYTES_MAX_DEFAULT, print, NULL, &counts, w);
	if (e == OK && counts.damaged > 0)
		e = why(w, ERR_CORRUPT, "%llu damaged records have no line; "
		    "argiope archive check tells which",
		    (unsigned long long)counts.damaged);
	return e == ERR_CLOSED ? OK : e;
}
