/*
 * argiope task simulate TASK ITEM -- a task tried on an item by a running
 * daemon.  Nothing is stored; the changes are shown as a difference.
 */
#include <yyjson.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/items_data.h"
#include "cli/verbs.h"
#include "os/system.h"

#define TEXT_MAX 2000u
#define VALUE_MAX 300u
#define STDOUT_FD 1

#define SIMULATE_OPTIONS(X)                                                  \
	X(ARCHIVED, "archived", 'a', NULL, FLAG, 0, 0,                       \
	    "answer requests from the archive alone; ask no site")           \
	X(MODULE, "module", 'm', "FILE", PATH, 0, 0,                         \
	    "try this file in place of the configuration's; - is standard "  \
	    "input")
static const struct option_row rows[] = { SIMULATE_OPTIONS(OPTION_ROW)
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW) };
const struct option_verb task_simulate_verb = {
	"task simulate", "TASK ITEM", 2, 2,
	"Try a task on an item and print what it would change",
	"The run reads the store and fetches; it stores nothing, neither an "
	"item nor a capture.  What it would change is printed with + (new), ~ "
	"(another value) and - (removed), in colour on a terminal unless "
	"NO_COLOR is set.\n"
	"FILE stands for the configuration's main file; files that it imports "
	"are those that the daemon has loaded.\n"
	"Exit code: 0; 1 the run failed, and its cause is printed; 66 there is "
	"no such task or item; 69 no daemon serves the data directory.",
	rows, ARRAY_LEN(rows)
};

/* --- colours ------------------------------------------------------------ */

enum colour { RED = 31, GREEN = 32, YELLOW = 33, BOLD = 1 };

struct paint {
	struct buf *b;
	struct arena *arena;
	bool coloured;
};

static bool
wants_colour(void)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	return system_is_terminal(STDOUT_FD) && (no == NULL || no[0] == '\0') &&
	    (term == NULL || strcmp(term, "dumb") != 0);
}

static void
put_line(struct paint *p, enum colour colour, const char *line)
{
	if (p->coloured)
		buf_printf(p->b, "\033[%dm%s\033[0m\n", (int)colour, line);
	else
		buf_printf(p->b, "%s\n", line);
}

/* --- the run ------------------------------------------------------------ */

/* JSON on a line; what a site sent must not move the cursor. */
static const char *
value_text(struct paint *p, yyjson_val *v)
{
	size_t n = 0;
	char *text = yyjson_val_write(v, YYJSON_WRITE_ESCAPE_UNICODE, &n);
	const char *safe = format_text(p->arena, (struct str){ text, n },
	    VALUE_MAX);

	free(text);
	return safe;
}

static const char *
member_text(struct paint *p, yyjson_val *object, const char *name)
{
	return format_text(p->arena, json_text(yyjson_obj_get(object, name)),
	    TEXT_MAX);
}

static void
put_change(struct paint *p, yyjson_val *change)
{
	struct str op = json_text(yyjson_obj_get(change, "op"));
	yyjson_val *value = yyjson_obj_get(change, "value");
	const char *path = member_text(p, change, "path");

	if (str_eq(op, STR("remove")))
		put_line(p, RED, arena_printf(p->arena, "  - %s", path).p);
	else
		put_line(p, str_eq(op, STR("add")) ? GREEN : YELLOW,
		    arena_printf(p->arena, "  %c %s  %s", str_eq(op,
		    STR("add")) ? '+' : '~', path, value_text(p, value)).p);
}

static void
put_mutations(struct paint *p, yyjson_val *mutations)
{
	yyjson_val *m, *change;
	size_t at, n, i, k;

	yyjson_arr_foreach(mutations, at, n, m) {
		put_line(p, BOLD, arena_printf(p->arena, "%s %s  %s",
		    member_text(p, m, "op"), member_text(p, m, "id"),
		    member_text(p, m, "effect")).p);
		yyjson_arr_foreach(yyjson_obj_get(m, "diff"), i, k, change)
			put_change(p, change);
	}
}

static void
put_fetches(struct paint *p, yyjson_val *fetches)
{
	yyjson_val *f;
	size_t at, n;

	yyjson_arr_foreach(fetches, at, n, f) {
		buf_printf(p->b, "fetched %s  ", member_text(p, f, "url"));
		if (yyjson_obj_get(f, "error") != NULL)
			buf_printf(p->b, "%s\n", member_text(p, f, "error"));
		else
			buf_printf(p->b, "%llu\n", (unsigned long long)
			    yyjson_get_uint(yyjson_obj_get(f, "status")));
	}
}

static void
put_log(struct paint *p, yyjson_val *log)
{
	yyjson_val *line;
	size_t at, n;

	yyjson_arr_foreach(log, at, n, line)
		buf_printf(p->b, "log %s  %s\n", member_text(p, line,
		    "category"), member_text(p, line, "message"));
}

static void
put_failure(struct paint *p, yyjson_val *error)
{
	put_line(p, RED, arena_printf(p->arena, "failed (%s, %s): %s",
	    member_text(p, error, "class"), member_text(p, error, "code"),
	    member_text(p, error, "message")).p);
	format_lines(p->b, json_text(yyjson_obj_get(error, "stack")), "");
	format_lines(p->b, json_text(yyjson_obj_get(error, "source")), "  ");
}

static void
put_simulation(struct paint *p, yyjson_val *root)
{
	yyjson_val *mutations = yyjson_obj_get(root, "mutations");
	yyjson_val *used = yyjson_obj_get(root, "used");

	put_mutations(p, mutations);
	put_fetches(p, yyjson_obj_get(root, "fetches"));
	put_log(p, yyjson_obj_get(root, "log"));
	if (!yyjson_is_true(yyjson_obj_get(root, "ok"))) {
		put_failure(p, yyjson_obj_get(root, "error"));
		return;
	}
	put_line(p, GREEN, arena_printf(p->arena, "ok: mutations: %zu; "
	    "%llu ms, %llu ms of CPU; nothing was stored",
	    yyjson_arr_size(mutations),
	    (unsigned long long)yyjson_get_uint(yyjson_obj_get(used,
	    "wall_ms")), (unsigned long long)yyjson_get_uint(yyjson_obj_get(
	    used, "cpu_ms"))).p);
}

/* --- the request -------------------------------------------------------- */

static enum err
put_request(struct cli *c, struct buf *body, struct why *w)
{
	struct str module = STR_NONE;
	enum err e = OK;

	if (cli_given(c, "module"))
		e = cli_file(c, cli_text(c, "module", ""), &module, w);
	json_object(body, NULL);
	json_bool(body, "archived", cli_given(c, "archived"));
	if (cli_given(c, "module"))
		json_str(body, "module", module);
	buf_put_char(body, '}');
	return e;
}

static enum err
print_simulation(struct cli *c, struct str answer, struct why *w)
{
	struct paint p = { .b = &c->out, .arena = &c->arena,
	    .coloured = wants_colour() };

	yyjson_doc_free(c->answer);
	c->answer = yyjson_read(answer.p, answer.n, 0);
	yyjson_val *root = yyjson_doc_get_root(c->answer);
	if (!yyjson_is_obj(root))
		return why(w, ERR_BROKEN, "the answer is no JSON");
	c->code = yyjson_is_true(yyjson_obj_get(root, "ok")) ? 0 : 1;
	if (cli_json(c)) {
		buf_put_str(&c->out, answer);
		buf_put_char(&c->out, '\n');
	} else {
		put_simulation(&p, root);
	}
	return OK;
}

enum err
task_simulate_run(struct cli *c, struct why *w)
{
	FREED(buf_free) struct buf path = BUF_INIT, body = BUF_INIT;
	struct str answer;

	buf_put_text(&path, "/items/");
	items_data_part(&path, str_of(c->options.operands[1]));
	buf_put_text(&path, "/tasks/");
	items_data_part(&path, str_of(c->options.operands[0]));
	buf_put_text(&path, "/simulate");
	enum err e = put_request(c, &body, w);
	if (e == OK)
		e = items_data_order(c, &(struct ask_request){ STR("POST"),
		    buf_str(&path), STR("application/json"), buf_str(&body) },
		    &answer, w);
	return e == OK ? print_simulation(c, answer, w) : e;
}
