/*
 *     message ─► its credential, sealed, under a name of its own in the store
 *             ─► harvest.start ─► the name is deleted ─► harvest.get, again
 *             and again ─► summary
 *
 * A credential is not sent: the daemon reads it from the store, as this process
 * could.
 */
#include "cli/harvest_daemon.h"

#include "base/json_writer.h"
#include "cli/ask.h"
#include "cli/daemon.h"
#include "cli/format.h"
#include "cli/progress.h"
#include "cli/stores.h"
#include "engine/harvest/credential.h"
#include "engine/store/store_harvest.h"
#include "os/clock.h"
#include "os/system.h"
#include "wire/digest.h"

#define NOTE_BYTES_MAX 300u
#define PAGE_ROWS "100"
#define LOST_MAX 150u                /* looks in a row that fail */

struct watching {
	struct cli *cli;
	struct loop *home;
	struct progress progress;
	struct timer timer;
	struct str id, state;        /* the last that is known */
	bool interrupted, over;
	unsigned lost;
	struct arena arena;          /* of `state`, and the last answer's */
	yyjson_val *data;            /* of the last harvest.get; NULL: the
	                              * daemon has gone */
	struct why why;
};

/* ---- The credential --------------------------------------------------- */

static enum err
keep_credential(struct cli *c, struct str json, struct str *name,
    struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	FREED(buf_free) struct buf b = BUF_INIT;
	struct seal_key key;
	uint8_t random[8];

	clock_random(random, sizeof(random));
	buf_put_text(&b, "harvest-run-");
	digest_put_hex(&b, random, sizeof(random));
	*name = arena_copy(&c->arena, buf_str(&b));
	enum err e = stores_open(c, &st, w);
	if (e == OK)
		e = credential_key(&c->conf, c->data_dir, &key, w);
	if (e == OK)
		e = credential_put(st, &key, *name, json, clock_wall(), w);
	explicit_bzero(&key, sizeof(key));
	return e;
}

/* The order has begun with it, or never will. */
static void
drop_credential(struct cli *c, struct str name)
{
	FREED(store_close) struct store *st = NULL;

	if (name.n > 0 && stores_open(c, &st, NULL) == OK)
		(void)!store_credential_delete(st, name, NULL);
}

/* ---- Beginning --------------------------------------------------------- */

static struct str
write_value(struct arena *a, yyjson_val *v)
{
	size_t n = 0;
	char *text = yyjson_val_write(v, 0, &n);

	CHECK(text != NULL);
	struct str copy = arena_copy(a, (struct str){ text, n });
	explicit_bzero(text, n);
	free(text);
	return copy;
}

/* The message without its credential, which is kept under `name`. */
static enum err
split_message(struct cli *c, struct str message, struct str *rest,
    struct str *name, struct why *w)
{
	yyjson_doc *read = yyjson_read(message.p, message.n, 0);
	yyjson_mut_doc *doc = read == NULL ? NULL : yyjson_doc_mut_copy(read,
	    NULL);
	yyjson_val *secret = yyjson_obj_get(yyjson_doc_get_root(read),
	    "credentials");
	enum err e = OK;

	*name = STR_NONE;
	if (doc == NULL)
		e = why(w, ERR_INPUT, "the message is no JSON");
	if (e == OK && yyjson_obj_size(secret) > 0)
		e = keep_credential(c, write_value(&c->arena, secret), name,
		    w);
	if (e == OK) {
		(void)yyjson_mut_obj_remove_key(yyjson_mut_doc_get_root(doc),
		    "credentials");
		size_t n;
		char *text = yyjson_mut_write(doc, 0, &n);
		CHECK(text != NULL);
		*rest = arena_copy(&c->arena, (struct str){ text, n });
		free(text);
	}
	yyjson_mut_doc_free(doc);
	yyjson_doc_free(read);
	return e;
}

static enum err
begin(struct watching *x, struct str message, const char *into, struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct cli *c = x->cli;
	struct str rest, name;
	yyjson_val *data;

	enum err e = split_message(c, message, &rest, &name, w);
	if (e != OK)
		return e;
	json_object(&b, NULL);
	json_str(&b, "path", str_of(into));
	json_raw(&b, "message", rest);
	if (name.n > 0)
		json_str(&b, "credential", name);
	buf_put_char(&b, '}');
	e = daemon_command(c, "harvest.start", buf_str(&b), &data, w);
	if (e == OK)
		x->id = arena_copy(&c->arena, ask_text(data, "id"));
	drop_credential(c, name);
	return e;
}

static enum err
order(struct watching *x, const char *command, yyjson_val **data,
    struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	json_object(&b, NULL);
	json_str(&b, "id", x->id);
	buf_put_char(&b, '}');
	return daemon_command(x->cli, command, buf_str(&b), data, w);
}

/* The newest of those that are not over and go into that directory. */
static enum err
find_open(struct watching *x, const char *into, struct why *w)
{
	yyjson_val *data, *row;
	size_t i, n;

	enum err e = daemon_command(x->cli, "harvest.list",
	    STR("{\"status\":\"open\",\"size\":" PAGE_ROWS "}"), &data, w);
	if (e != OK)
		return e;
	yyjson_arr_foreach(yyjson_obj_get(data, "harvests"), i, n, row)
		if (x->id.n == 0 && str_eq(ask_text(row, "path"),
		    str_of(into)))
			x->id = arena_copy(&x->cli->arena, ask_text(row,
			    "id"));
	return x->id.n > 0 ? order(x, "harvest.resume", &data, w) :
	    why(w, ERR_ABSENT, "no harvest into %s is left to go on with",
	    into);
}

/* ---- While the daemon works --------------------------------------------- */

static uint64_t
number_of(yyjson_val *data, const char *name)
{
	return yyjson_get_uint(yyjson_obj_get(data, name));
}

static void
show(struct watching *x)
{
	double seconds = yyjson_get_num(yyjson_obj_get(x->data, "waits_s"));
	struct str waits = ask_text(x->data, "waits_for");
	char wait[160] = "";

	if (waits.n > 0 && seconds >= 1)
		snprintf(wait, sizeof(wait), "  waits %.0fs: %.*s", seconds,
		    STR_FMT(str_cut(waits, 0, 100)));
	progress_text(&x->progress, "%.*s  %llu %.*s  answers: %llu  WARC "
	    "files: %llu%s%s", STR_FMT(x->id),
	    (unsigned long long)number_of(x->data, "items"),
	    STR_FMT(str_cut(ask_text(x->data, "label"), 0, 60)),
	    (unsigned long long)number_of(x->data, "answers"),
	    (unsigned long long)number_of(x->data, "warcs"), wait,
	    x->interrupted ? "  stopping" : "");
}

static bool
is_final(struct str state)
{
	return str_starts(state, STR("completed ")) ||
	    str_eq(state, STR("paused"));
}

static void
take_state(struct watching *x, struct str state)
{
	arena_reset(&x->arena);
	x->state = arena_copy(&x->arena, state);
	x->over = is_final(x->state);
}

/* It ends in order, which pauses the harvest, or comes back. */
static void
daemon_is_lost(struct watching *x, const struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct store_harvest h;

	x->data = NULL;
	if (stores_open(x->cli, &st, NULL) == OK &&
	    store_harvest_get(st, x->id, &a, &h, NULL) == OK)
		take_state(x, str_of(store_harvest_state_name(h.state)));
	if (++x->lost == LOST_MAX)
		x->why = *w;
}

static void
look(struct timer *t)
{
	struct watching *x = CONTAINER(t, struct watching, timer);
	struct why w = WHY_INIT;

	if (order(x, "harvest.get", &x->data, &w) != OK) {
		daemon_is_lost(x, &w);
	} else {
		x->lost = 0;
		take_state(x, ask_text(x->data, "state"));
		show(x);
	}
	if (x->over || x->lost == LOST_MAX)
		loop_stop(x->home);
	else
		loop_timer_set(x->home, t, mono_add_ms(clock_mono(),
		    PROGRESS_LOOK_MS));
}

static void
got_signal(void *arg, int signal)
{
	struct watching *x = arg;
	struct why w = WHY_INIT;
	yyjson_val *data;

	if (system_is_hangup(signal) && (x->interrupted ||
	    system_ignores_hangup()))
		return;
	if (x->interrupted || x->id.n == 0) {
		progress_say(&x->progress, "left at once");
		fflush(stdout);
		_Exit(75);
	}
	x->interrupted = true;
	progress_say(&x->progress, "the daemon pauses the harvest; Ctrl-C "
	    "again leaves at once");
	if (order(x, "harvest.pause", &data, &w) != OK)
		progress_say(&x->progress, "%s", w.text);
}

/* ---- The end ---------------------------------------------------------- */

static void
put_note(struct buf *b, yyjson_val *note)
{
	struct str seed = ask_text(note, "seed");

	buf_printf(b, "%.*s: %.*s", STR_FMT(ask_text(note, "level")),
	    STR_FMT(ask_text(note, "code")));
	if (seed.n > 0) {
		buf_put_text(b, " (seed ");
		format_safe(b, seed, NOTE_BYTES_MAX);
		buf_put_char(b, ')');
	}
	buf_put_text(b, ": ");
	format_safe(b, ask_text(note, "text"), NOTE_BYTES_MAX);
	buf_put_char(b, '\n');
}

static void
put_text(struct watching *x)
{
	struct buf *b = &x->cli->out;
	struct str trouble = ask_text(x->data, "trouble");
	yyjson_val *note;
	size_t i, n;

	buf_printf(b, "%.*s: %.*s\n", STR_FMT(x->id), STR_FMT(x->state));
	buf_printf(b, "%llu %.*s in %llu answers; WARC files: %llu, %llu "
	    "bytes, in %.*s\n", (unsigned long long)number_of(x->data,
	    "items"), STR_FMT(ask_text(x->data, "label")),
	    (unsigned long long)number_of(x->data, "answers"),
	    (unsigned long long)number_of(x->data, "warcs"),
	    (unsigned long long)number_of(x->data, "bytes"),
	    STR_FMT(ask_text(x->data, "path")));
	if (trouble.n > 0) {
		buf_put_text(b, "error: ");
		format_safe(b, trouble, NOTE_BYTES_MAX);
		buf_put_char(b, '\n');
	}
	yyjson_arr_foreach(yyjson_obj_get(x->data, "notes"), i, n, note)
		put_note(b, note);
	if (str_eq(x->state, STR("paused")))
		buf_printf(b, "to go on: argiope harvest resume %.*s\n",
		    STR_FMT(x->id));
}

/* As `harvest run` prints it; a note's text is its message there. */
static void
put_json(struct watching *x)
{
	static const char *const texts[] = { "id", "type", "state", "label",
	    "path", "trouble" };
	static const char *const numbers[] = { "items", "answers", "warcs",
	    "bytes", "warcs_waiting" };
	struct buf *b = &x->cli->out;
	yyjson_val *note;
	size_t i, n;

	json_object(b, NULL);
	for (i = 0; i < ARRAY_LEN(texts); i++)
		if (yyjson_obj_get(x->data, texts[i]) != NULL)
			json_str(b, texts[i], ask_text(x->data, texts[i]));
	for (i = 0; i < ARRAY_LEN(numbers); i++)
		json_u64(b, numbers[i], number_of(x->data, numbers[i]));
	json_array(b, "notes");
	yyjson_arr_foreach(yyjson_obj_get(x->data, "notes"), i, n, note) {
		json_object(b, NULL);
		json_str(b, "level", ask_text(note, "level"));
		json_str(b, "code", ask_text(note, "code"));
		json_str(b, "message", ask_text(note, "text"));
		if (ask_text(note, "seed").n > 0)
			json_str(b, "seed", ask_text(note, "seed"));
		buf_put_char(b, '}');
	}
	buf_put_text(b, "]}\n");
}

/* The daemon has ended, and its last answer is gone. */
static void
put_state(struct watching *x)
{
	progress_say(&x->progress, "the daemon has ended; harvest %.*s: %.*s",
	    STR_FMT(x->id), STR_FMT(x->state));
	if (!cli_json(x->cli))
		return;
	json_object(&x->cli->out, NULL);
	json_str(&x->cli->out, "id", x->id);
	json_str(&x->cli->out, "state", x->state);
	buf_put_text(&x->cli->out, "}\n");
}

static void
finish(struct watching *x)
{
	if (x->data == NULL)
		put_state(x);
	else if (cli_json(x->cli))
		put_json(x);
	else if (!cli_given(x->cli, "quiet"))
		put_text(x);
	x->cli->code = str_eq(x->state, STR("completed success")) ? 0 :
	    err_exit(str_eq(x->state, STR("paused")) ? ERR_FULL : ERR_STATE);
}

enum err
harvest_daemon_run(struct cli *c, struct str message, const char *into,
    struct why *w)
{
	struct watching x = { .cli = c, .timer.fire = look, .why = WHY_INIT };

	progress_open(&x.progress, cli_given(c, "quiet"));
	x.home = loop_new("home");
	loop_on_signal(x.home, got_signal, &x);
	enum err e = message.n > 0 ? begin(&x, message, into, w) :
	    find_open(&x, into, w);
	if (e == OK) {
		look(&x.timer);
		loop_run(x.home);
		progress_clear(&x.progress);
		if (x.over)
			finish(&x);
		else
			e = why(w, x.why.err, "%s; the harvest %.*s goes on "
			    "when it is back", x.why.text, STR_FMT(x.id));
	}
	arena_free(&x.arena);
	loop_free(&x.home);
	return e;
}
