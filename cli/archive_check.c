/* argiope archive check -- every rule that WARC files should keep. */
#include "cli/archive_files.h"
#include "cli/verbs.h"
#include "engine/catalog/archive_tools.h"

static const struct option_row rows[] = {
	OPTION_ROW(STRICT, "strict", 0, NULL, FLAG, 0, 0,
	    "measure every file as one of ours, and fail for warnings too")
	OPTION_ROW(QUIET, "quiet", 'q', NULL, FLAG, 0, 0,
	    "print only the counts")
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW)
};

const struct option_verb archive_check_verb = {
	"archive check", "[FILE...]", 0, OPERANDS_ANY,
	"Check WARC files: digests, references, numbers, CDXJ lines",
	"Every record is read and every digest computed again. "
	ARCHIVE_FILES_ABOUT "  "
	ARCHIVE_OPEN_ABOUT "\n"
	"Without FILE, finished files that DATA recorded and that are missing "
	"or shorter are errors too.  A file that a hook has moved is checked "
	"at its new place; it is a warning when it cannot be read there.\n"
	"The lines of FILE.cdxj must be those of FILE's captures; argiope "
	"archive index FILE --output FILE.cdxj writes them again.\n"
	"With --json each finding is one object per line, and the counts are "
	"the last line.\n"
	"Exit code: 0 the files are sound; 65 with --strict there were "
	"warnings; 70 there were errors; 66 there is no WARC file; 74 a file "
	"cannot be read.",
	rows, ARRAY_LEN(rows)
};

struct checking {
	struct cli *cli;
	struct archive_check_counts counts;
};

static void
found(void *arg, const struct archive_finding *f)
{
	struct checking *k = arg;

	if (cli_count(k->cli, "quiet") > 0)
		return;
	if (cli_json(k->cli)) {
		archive_finding_json(f, &k->cli->out);
		buf_put_char(&k->cli->out, '\n');
	} else {
		archive_finding_text(f, &k->cli->out);
	}
	cli_put(&k->cli->out);
}

/* A finished file is not as the data directory recorded it. */
static void
lost_file(void *arg, const struct audit_finding *f)
{
	struct checking *k = arg;
	char detail[80];
	struct archive_finding finding = { .rule = ARCHIVE_RULE_LOST,
		.error = true, .path = f->path, .offset = f->bytes,
		.detail = detail };

	if (f->moved != NULL)
		return;         /* as its note in the archive says */
	if (f->missing)
		snprintf(detail, sizeof(detail), "missing; it had %llu bytes",
		    (unsigned long long)f->recorded);
	else
		snprintf(detail, sizeof(detail), "%llu bytes of %llu",
		    (unsigned long long)f->bytes,
		    (unsigned long long)f->recorded);
	k->counts.rules[ARCHIVE_RULE_LOST]++;
	k->counts.errors++;
	found(k, &finding);
}

/* It was brought to where its harvest wanted it. */
static bool
is_of_harvest(struct cli *c, const char *path)
{
	return c->data_dir != NULL && str_starts(str_of(path), arena_printf(
	    &c->arena, "%s/harvest/", c->data_dir));
}

/* It was read at its new place; or it is a warning, as it was not checked. */
static void
moved_file(void *arg, const char *path, const char *place, bool readable)
{
	struct checking *k = arg;

	if (readable && is_of_harvest(k->cli, path))
		return;
	struct archive_finding finding = { .rule = ARCHIVE_RULE_MOVED,
		.path = path, .detail = place, .note = readable };

	k->counts.rules[ARCHIVE_RULE_MOVED]++;
	k->counts.warnings += !readable;
	found(k, &finding);
}

enum err
archive_check_run(struct cli *c, struct why *w)
{
	struct checking k = { .cli = c };
	struct archive_check_options o = { .strict = cli_count(c, "strict") >
	    0, .finding = found, .arg = &k };
	struct archive_catalogue files = { .n = 0 };

	enum err e = archive_files(c, 0, true, &files, w);
	if (e == OK)
		e = archive_check(&files, &o, &k.counts, w);
	if (e == OK)
		archive_files_moved(&files, moved_file, &k);
	if (e == OK && c->options.operands_n == 0)
		e = audit_archive(c->data_dir, lost_file, &k, w);
	if (e == ERR_ABSENT && files.n + files.gone_n > 0) {
		*w = (struct why)WHY_INIT;
		e = OK;
	}
	if (e == OK && cli_json(c)) {
		archive_check_json(&k.counts, &c->out);
		buf_put_char(&c->out, '\n');
	} else if (e == OK) {
		archive_check_text(&k.counts, &c->out);
	}
	c->code = archive_check_exit(&k.counts, o.strict);
	return e;
}
