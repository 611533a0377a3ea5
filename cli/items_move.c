/*
 * argiope items check|export|import -- the whole store: is it as it must be,
 * and move it.  The first two read beside a daemon.
 */
#include <errno.h>

#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/items_data.h"
#include "cli/verbs.h"
#include "engine/items/generation.h"
#include "engine/items/item_export.h"
#include "os/file.h"

const struct option_verb items_check_verb = {
	"items check", NULL, 0, 0,
	"Derive every state of every task and item again, and compare",
	"Each difference is a line.  A store without one prints how many items "
	"were checked.\n"
	"Exit code: 0; 70 something differs.",
	verbs_json, ARRAY_LEN(verbs_json)
};

#define EXPORT_OPTIONS(X)                                                    \
	X(EXPORT_CSV, "csv", 0, NULL, FLAG, 0, 0,                            \
	    "a table for people, of the fields named by --fields")           \
	X(EXPORT_FIELDS, "fields", 'f', "FIELD[,...]", TEXT, 0, 0,           \
	    "id, created_by, created_at, updated_at, rev, a member of the "  \
	    "data like title or price.net, or of what a task stored, like "  \
	    "shop:page.price")                                               \
	X(EXPORT_TAG, "tag", 't', "TAG", TEXT, 0, 0,                         \
	    "a table of items that have the tag")                            \
	X(EXPORT_PREFIX, "prefix", 'p', "TEXT", TEXT, 0, 0,                  \
	    "a table of items whose id begins so")
static const struct option_row export_rows[] = { EXPORT_OPTIONS(OPTION_ROW)
	OPTION_COMMON(OPTION_ROW) };
const struct option_verb items_export_verb = {
	"items export", "[FILE]", 0, 1,
	"Write everything but leases as lines of JSON, for items import",
	"Without FILE they go to standard output.  It is one snapshot, also "
	"beside a daemon.\n"
	"Exit code: 0; 65 a field is wrong; 66 there are no items.",
	export_rows, ARRAY_LEN(export_rows)
};
const struct option_verb items_import_verb = {
	"items import", "FILE", 1, 1,
	"Read what items export wrote into a data directory without items",
	"FILE may be - for standard input.  No daemon may run.  An import that "
	"fails leaves rows behind: remove items.db before the next.\n"
	"Exit code: 0; 65 a line is wrong, with its number; 69 there are items "
	"already; 75 another process holds the data.",
	verbs_json, ARRAY_LEN(verbs_json)
};

/* --- check --------------------------------------------------------------- */

struct differences {
	struct cli *cli;
	uint64_t n;
};

static void
put_difference(void *arg, struct str text)
{
	struct differences *d = arg;
	struct buf *b = &d->cli->out;

	d->n++;
	if (cli_json(d->cli)) {
		json_object(b, NULL);
		json_str(b, "differs", text);
		buf_put_text(b, "}\n");
		return;
	}
	format_safe(b, text, 1000);
	buf_put_char(b, '\n');
}

enum err
items_check_run(struct cli *c, struct why *w)
{
	FREED(item_store_close) struct item_store *s = NULL;
	struct differences d = { .cli = c };
	uint64_t checked = 0;

	enum err e = items_data_read(c, &s, w);
	if (e == OK)
		e = items_check(s, put_difference, &d, &checked, w);
	if (e != OK)
		return e;
	if (cli_json(c)) {
		json_object(&c->out, NULL);
		json_u64(&c->out, "checked", checked);
		json_u64(&c->out, "differences", d.n);
		buf_put_text(&c->out, "}\n");
	} else {
		buf_printf(&c->out, "%llu items checked, %llu differences\n",
		    (unsigned long long)checked, (unsigned long long)d.n);
	}
	if (d.n > 0)
		c->code = err_exit(ERR_CORRUPT);
	return OK;
}

/* --- export -------------------------------------------------------------- */

static enum err
write_out(void *arg, struct str text, struct why *w)
{
	if (fwrite(text.p, 1, text.n, arg) == text.n)
		return OK;
	return why_errno(w, ERR_IO, "the export could not be written");
}

static enum err
export_table(struct cli *c, struct item_store *s, FILE *f, struct why *w)
{
	struct str rest = str_of(cli_text(c, "fields", "id"));
	struct str *fields = ARENA_ARRAY(&c->arena, struct str,
	    ITEM_CSV_FIELDS_MAX + 1);
	struct item_csv ask = { .fields = fields,
	    .tag = str_of(cli_text(c, "tag", NULL)),
	    .prefix = str_of(cli_text(c, "prefix", NULL)) };
	uint64_t rows;

	while (ask.fields_n <= ITEM_CSV_FIELDS_MAX &&
	    str_split(&rest, ',', &fields[ask.fields_n]))
		ask.fields_n++;
	return item_export_csv(s, &ask, write_out, f, &rows, w);
}

static enum err
open_out(struct cli *c, FILE **f, struct why *w)
{
	*f = stdout;
	if (c->options.operands_n == 0)
		return OK;
	*f = fopen(c->options.operands[0], "wxe");
	return *f != NULL ? OK : why_errno(w, err_from_errno(errno), "%s",
	    c->options.operands[0]);
}

enum err
items_export_run(struct cli *c, struct why *w)
{
	FREED(item_store_close) struct item_store *s = NULL;
	uint64_t rows;
	FILE *f = NULL;

	if (!cli_given(c, "csv") && (cli_given(c, "fields") ||
	    cli_given(c, "tag") || cli_given(c, "prefix")))
		return why(w, ERR_USAGE, "items export: --fields, --tag and "
		    "--prefix go with --csv");
	enum err e = items_data_read(c, &s, w);
	if (e == OK)
		e = open_out(c, &f, w);
	if (e != OK)
		return e;
	e = cli_given(c, "csv") ? export_table(c, s, f, w) :
	    item_export(s, write_out, f, &rows, w);
	if (f != stdout && fclose(f) != 0 && e == OK)
		e = why_errno(w, ERR_IO, "%s", c->options.operands[0]);
	return e;
}

/* --- import -------------------------------------------------------------- */

static enum err
import_lines(struct item_import *m, FILE *f, struct why *w)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	enum err e = OK;

	while (e == OK && (n = getline(&line, &cap, f)) >= 0) {
		struct str s = { line, (size_t)n };
		if (str_ends(s, STR("\n")))
			s.n--;
		e = item_import_line(m, s, w);
	}
	if (e == OK && ferror(f))
		e = why_errno(w, ERR_IO, "the export could not be read");
	free(line);
	return e;
}

static enum err
import_file(struct cli *c, FILE *f, uint64_t *rows, struct why *w)
{
	FREED(item_store_close) struct item_store *s = NULL;
	struct item_import *m = NULL;

	enum err e = items_open_store(&c->conf, c->data_dir, false, &s, w);
	if (e == OK)
		e = item_import_begin(s, &m, w);
	if (e == OK)
		e = import_lines(m, f, w);
	if (e == OK)
		e = item_import_end(m, rows, w);
	item_import_free(&m);
	return e;
}

static enum err
lock_data(struct cli *c, int *fd, struct why *w)
{
	int64_t holder = 0;
	enum err e = cli_begin(c, w);

	if (e == OK)
		e = cli_dir(c, c->data_dir, &c->data_dir, w);
	if (e != OK || items_data_is_shared(c))
		return e;
	e = file_lock_dir(c->data_dir, fd, &holder, NULL);
	return e == OK ? OK : why(w, e, "process %lld holds %s; an import "
	    "wants it alone", (long long)holder, c->data_dir);
}

enum err
items_import_run(struct cli *c, struct why *w)
{
	const char *path = c->options.operands[0];
	uint64_t rows = 0;
	FILE *f = stdin;
	int fd = -1;

	if (strcmp(path, "-") != 0 && (f = fopen(path, "re")) == NULL)
		return why_errno(w, err_from_errno(errno), "%s", path);
	enum err e = lock_data(c, &fd, w);
	if (e == OK)
		e = import_file(c, f, &rows, w);
	if (fd >= 0)
		file_close(&fd);
	if (f != stdin)
		fclose(f);
	if (e != OK)
		return e;
	if (cli_json(c)) {
		json_object(&c->out, NULL);
		json_u64(&c->out, "rows", rows);
		buf_put_text(&c->out, "}\n");
	} else {
		buf_printf(&c->out, "%llu rows imported\n",
		    (unsigned long long)rows);
	}
	return OK;
}
