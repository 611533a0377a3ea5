/*
 * argiope status -- the crawls of a data directory: read from it when no
 * process holds it, else asked from the one that does.
 */
#include "cli/ask.h"
#include "cli/engines.h"
#include "cli/figures.h"
#include "cli/stores.h"
#include "cli/verbs.h"

const struct option_verb status_verb = {
	"status", NULL, 0, 0,
	"List the crawls of the data directory: state, counts, WARC files",
	"Where argiope serve holds the data, it is asked, and its doors are "
	"listed too; where argiope crawl does, its process is named.  A crawl "
	"whose process is gone is interrupted: argiope crawl --resume goes on "
	"with it.\n"
	"Exit code: 0; 75 another process holds the data and answers no "
	"questions.",
	verbs_json, ARRAY_LEN(verbs_json)
};

static enum err
print(struct cli *c, const struct figure *f, size_t n)
{
	return stores_print(c, &(struct stores_list){ "crawl", "crawls", f, n,
	    sizeof(*f), figures_json, figures_text }, OK);
}

/* --- the daemon's answer ------------------------------------------------ */

static void
read_figure(yyjson_val *o, struct figure *f)
{
	yyjson_val *n = yyjson_obj_get(o, "counts");
	struct crawl_view *v = &f->view;

	v->id = (uint32_t)yyjson_get_uint(yyjson_obj_get(o, "id"));
	f->name = ask_text(o, "name");
	f->warc_dir = ask_text(o, "warc_dir");
	for (int i = 0; i < CRAWL_STATE_COUNT; i++)
		if (str_eq(ask_text(o, "state"),
		    str_of(crawl_state_name((enum crawl_state)i))))
			v->state = (enum crawl_state)i;
	snprintf(v->reason, sizeof(v->reason), "%.*s",
	    STR_FMT(ask_text(o, "reason")));
	(void)!wall_from_iso(ask_text(o, "created"), &v->created);
	v->counts.items = yyjson_get_uint(yyjson_obj_get(n, "items"));
	v->counts.queued = yyjson_get_uint(yyjson_obj_get(n, "queued"));
	v->counts.body_bytes = yyjson_get_uint(yyjson_obj_get(n, "body_bytes"));
}

/* A line for each database that cannot be written. */
static void
print_unwritable(yyjson_val *list, struct buf *b)
{
	yyjson_val *o;
	size_t at, n;

	yyjson_arr_foreach(list, at, n, o)
		buf_printf(b, "\nCannot be written since %.*s: %.*s\n",
		    STR_FMT(ask_text(o, "since")), STR_FMT(ask_text(o,
		    "why")));
}

/* "door realtime  open  127.0.0.1:8001  12 requests", a line for each. */
static void
print_doors(yyjson_val *doors, struct buf *b)
{
	yyjson_val *o;
	size_t at, n;

	yyjson_arr_foreach(doors, at, n, o) {
		struct str note = ask_text(o, "note");
		buf_printf(b, "%s%-20.*s  %-8.*s  %-21.*s", at == 0 ? "\n" : "",
		    STR_FMT(ask_text(o, "name")), STR_FMT(ask_text(o, "state")),
		    STR_FMT(ask_text(o, "address")));
		if (yyjson_obj_get(o, "requests") != NULL)
			buf_printf(b, "  %llu requests",
			    (unsigned long long)yyjson_get_uint(
			    yyjson_obj_get(o, "requests")));
		buf_printf(b, "%s%.*s\n", note.n > 0 ? "  " : "",
		    STR_FMT(note));
	}
}

/* False when it is the answer of another directory's daemon. */
static bool
print_answer(struct cli *c, struct str body)
{
	yyjson_doc *d = yyjson_read(body.p, body.n, 0);
	yyjson_val *root = yyjson_doc_get_root(d);
	bool ours = str_eq(ask_text(root, "data_dir"), str_of(c->data_dir));
	yyjson_val *crawls = yyjson_obj_get(root, "crawls"), *o;
	struct figure *f = ARENA_ARRAY(&c->arena, struct figure,
	    yyjson_arr_size(crawls) + 1);
	size_t at, n;
	struct str text = ask_text(root, "why");

	if (!ours) {
		yyjson_doc_free(d);
		return false;
	}
	if (cli_json(c)) {
		buf_put_str(&c->out, body);
		if (!str_ends(body, STR("\n")))
			buf_put_char(&c->out, '\n');
	} else {
		yyjson_arr_foreach(crawls, at, n, o)
			read_figure(o, &f[at]);
		bool starts = yyjson_is_false(yyjson_obj_get(root, "ready"));
		if (starts && yyjson_arr_size(crawls) == 0)
			buf_put_text(&c->out, "The daemon is starting.\n");
		else
			(void)!print(c, f, yyjson_arr_size(crawls));
		if (text.n > 0)
			buf_printf(&c->out, "\n%.*s\n", STR_FMT(text));
		print_unwritable(yyjson_obj_get(root, "unwritable"), &c->out);
		print_doors(yyjson_obj_get(root, "doors"), &c->out);
	}
	yyjson_doc_free(d);
	return true;
}

/* --- the verb ----------------------------------------------------------- */

static enum err
from_data(struct cli *c, struct why *w)
{
	FREED(loop_free) struct loop *home = loop_new("home");
	struct engine_options o = { .conf = &c->conf, .home = home,
	    .data_dir = c->data_dir, .loops = 1, .small = true };
	FREED(engine_free) struct engine *e = NULL;
	struct figure *f;

	enum err err = engines_open(engine_open, &o, &e, w);
	if (err == OK) {
		size_t n = figures_read(e, &c->arena, &f);
		/*
		 * No process has the directory, so none crawls.  A crawl of
		 * the tasks' requests goes on by itself with the next daemon.
		 */
		for (size_t i = 0; i < n; i++)
			f[i].interrupted = f[i].view.state == CRAWL_RUNNING &&
			    !crawl_kind_has_calls(f[i].view.kind);
		err = print(c, f, n);
	}
	return err;
}

enum err
status_run(struct cli *c, struct why *w)
{
	struct why held = WHY_INIT, asked = WHY_INIT;
	struct str body;
	int code;

	enum err e = cli_begin(c, w);
	if (e != OK)
		return e;
	if (!cli_is_there(c->data_dir))
		return print(c, NULL, 0);
	e = from_data(c, &held);
	if (e != ERR_BUSY)
		return e == OK ? OK : why(w, e, "%s", held.text);
	e = cli_dir(c, c->data_dir, &c->data_dir, &asked);
	if (e == OK)
		e = ask_send(&(struct ask_target){ .data_dir = c->data_dir },
		    "/status", NULL, &c->arena, &code, &body, &asked);
	/* A file that a killed daemon left may lead to another one. */
	if (e == OK && !print_answer(c, body))
		e = why(&asked, ERR_ABSENT, "it does not serve a port");
	return e == OK ? OK : why(w, ERR_BUSY, "%.*s; %s",
	    (int)strcspn(held.text, ";"), held.text, asked.text);
}
