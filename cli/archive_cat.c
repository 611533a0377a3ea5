/* argiope archive cat -- what a capture holds. */
#include "cli/archive_files.h"
#include "cli/format.h"
#include "cli/verbs.h"
#include "engine/catalog/archive_tools.h"

static const struct option_row rows[] = {
	OPTION_ROW(PART, "part", 'p', "record|block|payload|body", CHOICE, 0, 0,
	    "the whole record, its HTTP message, the body as received, or the "
	    "body decoded (the default)")
	OPTION_ROW(OFFSET, "offset", 0, "N", NUMBER, 0, INT64_MAX,
	    "WHAT is a WARC file, and the record begins there")
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb archive_cat_verb = {
	"archive cat", "WHAT [FILE...]", 1, OPERANDS_ANY,
	"Print a capture from WARC files",
	"WHAT is a URL as ls shows it (the newest answer is taken), or "
	"CRAWL:NUMBER for a numbered capture; with --offset it is a WARC file. "
	ARCHIVE_FILES_ABOUT "  "
	ARCHIVE_OPEN_ABOUT "\n"
	"At most archive.cat_bytes_max bytes are printed.\n"
	"Exit code: 0; 66 there is no such capture; 70 it is damaged; 75 it is "
	"longer than the limit, or unpacks beyond fetch.decode_ratio_max, and "
	"was printed up to there.",
	rows, ARRAY_LEN(rows)
};

static bool
is_number(struct str what, uint32_t *crawl, uint64_t *seq)
{
	size_t colon = str_find_char(what, ':');
	uint64_t n;

	if (!str_to_u64(str_cut(what, 0, colon), &n) || n > UINT32_MAX ||
	    !str_to_u64(str_from(what, colon + 1), seq))
		return false;
	*crawl = (uint32_t)n;
	return true;
}

static enum err
find(struct cli *c, struct archive_found *at, struct why *w)
{
	struct str what = str_of(c->options.operands[0]);
	struct archive_catalogue files;

	enum err e = archive_files(c, 1, true, &files, w);
	if (e != OK)
		return e;
	if (!is_number(what, &at->crawl, &at->seq))
		at->url = what;
	e = archive_find(&files, at, w);
	if (e == ERR_ABSENT)
		archive_files_gone(&files);
	return e;
}

/* The output was cut at the limit. */
static enum err
report_damage(struct cli *c, enum http_damage damage, struct why *w)
{
	char limit[FORMAT_MAX];

	switch (damage) {
	case HTTP_FINE:
		return OK;
	case HTTP_TOO_LONG:
		return why(w, ERR_FULL, "the record is longer than "
		    "archive.cat_bytes_max (%s) and was printed up to there; "
		    "--set archive.cat_bytes_max=SIZE raises the limit",
		    format_bytes(conf_size(&c->conf,
		    CONF_ARCHIVE_CAT_BYTES_MAX), limit));
	case HTTP_TOO_DENSE:
		return why(w, ERR_FULL, "the body unpacks to more than %.0f "
		    "times its size (fetch.decode_ratio_max) and was printed "
		    "up to there; --part payload prints it as received",
		    conf_double(&c->conf, CONF_FETCH_DECODE_RATIO_MAX));
	default:
		return why(w, ERR_CORRUPT, "the body is damaged and was "
		    "printed up to there; --part payload prints it as "
		    "received");
	}
}

/* `file`: where it was found; it may have got its name meanwhile. */
static enum err
print_part(struct cli *c, const struct archive_file *file, const char *path,
    uint64_t offset, enum http_damage *damage, struct why *w)
{
	enum archive_part part = (enum archive_part)cli_number(c, "part",
	    ARCHIVE_BODY);
	struct http_decode_limits limits = {
		conf_size(&c->conf, CONF_ARCHIVE_CAT_BYTES_MAX),
		(uint32_t)conf_double(&c->conf, CONF_FETCH_DECODE_RATIO_MAX) };

	struct str place = str_of(path);

	if (file != NULL && file->open && !cli_is_there(path))
		path = archive_named_path(file, &c->arena);
	else if (moved_resolve(place, &c->arena, &place, w) != OK)
		return w->err;
	else
		path = place.p;
	return archive_cat(path, offset, part, limits, stdout, damage, w);
}

enum err
archive_cat_run(struct cli *c, struct why *w)
{
	enum http_damage damage = HTTP_FINE;
	struct archive_found at = { 0 };
	const char *path = c->options.operands[0];
	uint64_t offset = 0;
	enum err e = OK;

	if (cli_count(c, "offset") > 0) {
		offset = (uint64_t)cli_number(c, "offset", 0);
	} else {
		e = find(c, &at, w);
		if (e == OK) {
			path = at.file->path;
			offset = at.offset;
		}
	}
	if (e == OK)
		e = print_part(c, at.file, path, offset, &damage, w);
	if (e != OK)
		return ferror(stdout) ? OK : e;
	return report_damage(c, damage, w);
}
