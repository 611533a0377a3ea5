/*
 * argiope task simulate TASK ITEM -- a task tried on an item by a running
 * daemon.  Nothing is stored; the changes are shown as a difference.
 */
#include <yyjson.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/items_data.h"
#include "cli/paint.h"
#include "cli/verbs.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/loop.h"

#define WATCH_MS 500                 /* between looks at FILE */

#define SIMULATE_OPTIONS(X)                                                  \
	X(ARCHIVED, "archived", 'a', NULL, FLAG, 0, 0,                       \
	    "answer requests from the archive alone; ask no site")           \
	X(MODULE, "module", 'm', "FILE", PATH, 0, 0,                         \
	    "try this file in place of the configuration's; - is standard "  \
	    "input")                                                         \
	X(WATCH, "watch", 'w', NULL, FLAG, 0, 0,                             \
	    "do it again whenever FILE changes, until Ctrl-C")
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
	"Exit code: 0; 1 the run, or the last one, failed, and its cause is "
	"printed; 66 there is no such task or item; 69 no daemon serves the "
	"data directory.",
	rows, ARRAY_LEN(rows)
};

/* --- the run ------------------------------------------------------------ */

static void
put_mutations(struct paint *p, yyjson_val *mutations)
{
	yyjson_val *m;
	size_t at, n;

	yyjson_arr_foreach(mutations, at, n, m) {
		paint_line(p, BOLD, arena_printf(p->arena, "%s %s  %s",
		    paint_text(p, m, "op"), paint_text(p, m, "id"),
		    paint_text(p, m, "effect")).p);
		paint_changes(p, yyjson_obj_get(m, "diff"));
	}
}

static void
put_fetches(struct paint *p, yyjson_val *fetches)
{
	yyjson_val *f;
	size_t at, n;

	yyjson_arr_foreach(fetches, at, n, f) {
		buf_printf(p->b, "fetched %s  ", paint_text(p, f, "url"));
		if (yyjson_obj_get(f, "error") != NULL)
			buf_printf(p->b, "%s\n", paint_text(p, f, "error"));
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
		buf_printf(p->b, "log %s  %s\n", paint_text(p, line,
		    "category"), paint_text(p, line, "message"));
}

static void
put_failure(struct paint *p, yyjson_val *error)
{
	paint_line(p, RED, arena_printf(p->arena, "failed (%s, %s): %s",
	    paint_text(p, error, "class"), paint_text(p, error, "code"),
	    paint_text(p, error, "message")).p);
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
	paint_line(p, GREEN, arena_printf(p->arena, "ok: mutations: %zu; "
	    "%llu ms, %llu ms of CPU; nothing was stored",
	    yyjson_arr_size(mutations),
	    (unsigned long long)yyjson_get_uint(yyjson_obj_get(used,
	    "wall_ms")), (unsigned long long)yyjson_get_uint(yyjson_obj_get(
	    used, "cpu_ms"))).p);
}

/* --- the request -------------------------------------------------------- */

static void
put_request(struct cli *c, struct str module, struct buf *body)
{
	json_object(body, NULL);
	json_bool(body, "archived", cli_given(c, "archived"));
	if (cli_given(c, "module"))
		json_str(body, "module", module);
	buf_put_char(body, '}');
}

static enum err
print_simulation(struct cli *c, struct str answer, struct why *w)
{
	struct paint p = paint_of(c);

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

static enum err
simulate_once(struct cli *c, struct str module, struct why *w)
{
	FREED(buf_free) struct buf path = BUF_INIT, body = BUF_INIT;
	struct str answer;

	buf_put_text(&path, "/items/");
	items_data_part(&path, str_of(c->options.operands[1]));
	buf_put_text(&path, "/tasks/");
	items_data_part(&path, str_of(c->options.operands[0]));
	buf_put_text(&path, "/simulate");
	put_request(c, module, &body);
	enum err e = items_data_order(c, &(struct ask_request){ STR("POST"),
	    buf_str(&path), STR("application/json"), buf_str(&body) },
	    &answer, w);
	return e == OK ? print_simulation(c, answer, w) : e;
}

/* --- again and again ------------------------------------------------------ */

struct watching {
	struct cli *cli;
	struct loop *home;
	struct timer timer;
	struct buf bytes;            /* the file, as it was tried last */
	struct why why;
};

static void
got_signal(void *arg, int signal)
{
	struct watching *x = arg;

	(void)signal;
	loop_stop(x->home);
}

/* A file that is being written may be missing for a moment. */
static void
look_at_file(struct timer *t)
{
	struct watching *x = CONTAINER(t, struct watching, timer);
	struct cli *c = x->cli;
	struct buf now = BUF_INIT;
	bool changed = file_load(cli_text(c, "module", ""),
	    CLI_FILE_BYTES_MAX, &now, NULL) == OK &&
	    !str_eq(buf_str(&now), buf_str(&x->bytes));

	if (changed) {
		buf_clear(&x->bytes);
		buf_put_str(&x->bytes, buf_str(&now));
		if (simulate_once(c, buf_str(&x->bytes), &x->why) != OK)
			loop_stop(x->home);
		cli_put(&c->out);
		fflush(stdout);
	}
	buf_free(&now);
	loop_timer_set(x->home, t, mono_add_ms(clock_mono(), WATCH_MS));
}

static enum err
watch_file(struct cli *c, struct str module, struct why *w)
{
	struct watching x = { .cli = c, .timer.fire = look_at_file,
	    .why = WHY_INIT };

	x.home = loop_new("home");
	loop_on_signal(x.home, got_signal, &x);
	enum err e = simulate_once(c, module, w);
	if (e == OK) {
		buf_put_str(&x.bytes, module);
		cli_put(&c->out);
		fflush(stdout);
		loop_timer_set(x.home, &x.timer, mono_add_ms(clock_mono(),
		    WATCH_MS));
		loop_run(x.home);
		loop_timer_stop(x.home, &x.timer);
		*w = x.why;
		e = w->err;
	}
	buf_free(&x.bytes);
	loop_free(&x.home);
	return e;
}

enum err
task_simulate_run(struct cli *c, struct why *w)
{
	const char *path = cli_text(c, "module", "-");
	struct str module = STR_NONE;

	if (cli_given(c, "watch") && strcmp(path, "-") == 0)
		return why(w, ERR_USAGE, "--watch wants the file that it is to "
		    "watch: --module FILE");
	enum err e = cli_given(c, "module") ? cli_file(c, path, &module, w) :
	    OK;
	if (e != OK)
		return e;
	return cli_given(c, "watch") ? watch_file(c, module, w) :
	    simulate_once(c, module, w);
}
