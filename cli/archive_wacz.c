/* argiope archive wacz -- one file for replay tools. */
#include "base/json_writer.h"
#include "cli/archive_files.h"
#include "cli/format.h"
#include "cli/verbs.h"
#include "engine/catalog/archive_tools.h"
#include "engine/control/control.h"
#include "os/tree.h"

static const struct option_row rows[] = {
	OPTION_ROW(TITLE, "title", 0, "TEXT", TEXT, 0, 0,
	    "the collection's title")
	OPTION_ROW(DESCRIPTION, "description", 0, "TEXT", TEXT, 0, 0,
	    "what the collection is about")
	OPTION_ROW(MAIN_URL, "main-url", 0, "URL", TEXT, 0, 0,
	    "the page that a reader opens first")
	OPTION_ROW(NO_TITLES, "no-titles", 0, NULL, FLAG, 0, 0,
	    "do not read the pages for their titles: faster")
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW)
};

const struct option_verb archive_wacz_verb = {
	"archive wacz", "OUT.wacz [FILE...]", 1, OPERANDS_ANY,
	"Pack WARC files into one WACZ file, with index and pages",
	ARCHIVE_FILES_ABOUT " The same files and options give the same bytes.  "
	"argiope crawl --wacz does it at a crawl's end.\n"
	"Example: argiope archive wacz site.wacz --title \"A site\"\n"
	"Exit code: 0; 70 it was packed, but a record is damaged; 73 OUT.wacz "
	"is there already; 65 two files have one name; 66 there is no WARC "
	"file; 74 reading or writing failed.",
	rows, ARRAY_LEN(rows)
};

/* In a crawl it is one event among others. */
static void
print(struct cli *c, const char *path, bool event,
    const struct wacz_counts *n)
{
	struct buf *b = &c->out;
	char bytes[FORMAT_MAX];

	if (cli_json(c)) {
		buf_put_char(b, '{');
		if (event)
			json_str(b, "event", STR("wacz"));
		json_str(b, "path", str_of(path));
		json_u64(b, "files", n->files);
		json_u64(b, "lines", n->lines);
		json_u64(b, "pages", n->pages);
		json_u64(b, "bytes", n->bytes);
		buf_put_text(b, "}\n");
	} else {
		buf_printf(b, "%s: %llu WARC files, %llu index lines, %llu "
		    "pages, %s\n", path, (unsigned long long)n->files,
		    (unsigned long long)n->lines,
		    (unsigned long long)n->pages, format_bytes(n->bytes,
		    bytes));
	}
}

static enum err
pack(struct cli *c, const struct archive_catalogue *files, const char *path,
    const struct wacz_options *o, bool event, struct why *w)
{
	struct wacz_counts counts;

	enum err e = wacz_write(files, path, o, &counts, w);
	if (e != OK)
		return e;
	(void)tree_kind(path, &counts.bytes);
	if (!event || cli_json(c) || cli_count(c, "quiet") == 0)
		print(c, path, event, &counts);
	if (counts.damaged > 0)
		return why(w, ERR_CORRUPT, "%s is there, but %llu damaged "
		    "records have no line in its index; argiope archive check "
		    "tells which", path, (unsigned long long)counts.damaged);
	return OK;
}

enum err
archive_wacz_place(const char *path, struct why *w)
{
	struct str name = archive_base_name(str_of(path));
	size_t dir_n = strlen(path) - name.n;
	FREED(arena_free) struct arena a = ARENA_INIT;
	const char *dir = dir_n == 0 ? "." : arena_copy(&a,
	    str_cut(str_of(path), 0, dir_n)).p;
	enum err e = OK;

	if (cli_is_there(path))
		e = why(w, ERR_EXISTS, "%s is there already; remove it, or "
		    "name another file", path);
	else if (!cli_is_there(dir))
		e = why(w, ERR_ABSENT, "there is no directory %s for %.*s",
		    dir, STR_FMT(name));
	return e;
}

enum err
archive_wacz_crawl(struct cli *c, const char *warc_dir, const char *path,
    struct str name, struct str seed, struct why *w)
{
	struct wacz_options o = { .title = name, .titles = true,
	    .software = STR(CLI_PROGRAM " " ARGIOPE_VERSION) };
	struct archive_catalogue files;
	struct url u;

	if (seed_parse(seed, &c->arena, &u, NULL) == OK)
		o.main_url = u.href;
	enum err e = archive_list(&warc_dir, 1, false, &c->arena, &files, w);
	/* A crawl that captured nothing has said so. */
	if (e == OK)
		archive_files_gone(&files);
	if (e != OK || files.n == 0)
		return e;
	return pack(c, &files, path, &o, true, w);
}

enum err
archive_wacz_run(struct cli *c, struct why *w)
{
	const char *path = c->options.operands[0];
	struct wacz_options o = {
		.title = str_of(cli_text(c, "title", "")),
		.description = str_of(cli_text(c, "description", "")),
		.main_url = str_of(cli_text(c, "main-url", "")),
		.software = STR(CLI_PROGRAM " " ARGIOPE_VERSION),
		.titles = cli_count(c, "no-titles") == 0,
	};
	struct archive_catalogue files;

	enum err e = archive_files(c, 1, false, &files, w);
	if (e == OK)
		archive_files_gone(&files);
	return e == OK ? pack(c, &files, path, &o, false, w) : e;
}
