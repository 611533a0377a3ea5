/*
 * argiope external new -- writes a connector to begin with, a declared one or a
 * module: that of examples/external, under another name.
 */
#include "base/text.h"
#include "cli/verbs.h"
#include "engine/external/external_connector.h"
#include "os/file.h"

static const unsigned char declared[] = {
#include "cli/connector_json.inc"
};
static const unsigned char module[] = {
#include "cli/connector_js.inc"
};

static const struct option_row rows[] = {
	OPTION_ROW(SCRIPT, "script", 0, NULL, FLAG, 0, 0,
	    "write a module, NAME.js")
	OPTION_COMMON(OPTION_ROW)
};

/* Its name in that file. */
#define EXAMPLE_NAME "\"books\""

const struct option_verb external_new_verb = {
	"external new", "NAME", 1, 1,
	"Write a declared connector to NAME.json, or a module to NAME.js",
	"The connector runs as it is, against the API of "
	"examples/external/server.py.  Change its `api` to another API, and "
	"its parameters and schema to what that API takes and gives; argiope "
	"external check tries it.  With --script it is a module, which reads "
	"the API by code of its own.\n"
	"NAME has lower-case letters, digits, \"_\" and \"-\".  It is part of "
	"the connector's address.\n"
	"Exit code: 0; 65 the name is none; 73 the file is there already.",
	rows, ARRAY_LEN(rows)
};

static void
put_example(struct str all, struct str name, struct buf *out)
{
	size_t at = str_find(all, STR(EXAMPLE_NAME));

	CHECK(at < all.n);
	buf_put_str(out, str_cut(all, 0, at));
	text_json(out, name);
	buf_put_str(out, str_from(all, at + sizeof(EXAMPLE_NAME) - 1));
}

enum err
external_new_run(struct cli *c, struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct str name = str_of(c->options.operands[0]);
	bool is_module = cli_given(c, "script");
	struct str example = is_module ? (struct str){ (const char *)module,
	    sizeof(module) } : (struct str){ (const char *)declared,
	    sizeof(declared) };
	int fd = -1;

	if (!external_name_is_valid(name))
		return why(w, ERR_INPUT, "NAME must have 1 to %u lower-case "
		    "letters, digits, \"_\" and \"-\"",
		    EXTERNAL_NAME_BYTES_MAX);
	struct str path = arena_printf(&c->arena, "%.*s.%s", STR_FMT(name),
	    is_module ? "js" : "json");
	struct why cause = WHY_INIT;
	enum err e = file_open(path.p, FILE_NEW, &fd, &cause);
	if (e != OK)
		return e == ERR_EXISTS ? why(w, e, "%s is there already",
		    path.p) : why(w, e, "%s", cause.text);
	put_example(example, name, &text);
	e = file_write(fd, 0, text.p, text.n, w);
	file_close(&fd);
	if (e != OK)
		(void)!file_remove(path.p, NULL);
	else
		buf_printf(&c->out, "%s\n", path.p);
	return e;
}
