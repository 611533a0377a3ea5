#include "cli/daemon.h"

#include "cli/ask.h"
#include "cli/format.h"

#define COMMAND_PATH "/realtime/command"
#define ANSWER_MS_MAX 3600000        /* a snapshot on a slow disk */

static enum err
read_target(struct cli *c, struct ask_target *t, struct why *w)
{
	struct str token = STR_NONE;

	enum err e = cli_begin(c, w);
	if (e == OK)
		e = cli_token(c, &token, w);
	*t = (struct ask_target){ .data_dir = c->data_dir,
	    .server = cli_has(c, "server") ? cli_text(c, "server", NULL) :
	    NULL, .token = token, .total_ms = ANSWER_MS_MAX };
	return e;
}

static enum err
err_of(struct str code)
{
	static const struct {
		const char *code;
		enum err err;
	} rows[] = {
		{ "bad_json", ERR_INPUT }, { "bad_message", ERR_INPUT },
		{ "bad_args", ERR_INPUT }, { "bad_policy", ERR_INPUT },
		{ "unknown_crawl", ERR_ABSENT },
		{ "unknown_policy", ERR_ABSENT },
		{ "unknown_harvest", ERR_ABSENT },
		{ "bad_state", ERR_STATE }, { "unknown_command", ERR_STATE },
		{ "limit", ERR_FULL }, { "forbidden", ERR_DENIED },
		{ "storage", ERR_IO },
	};
	size_t i = STR_ROW(code, rows);

	return i < ARRAY_LEN(rows) ? rows[i].err : ERR_BROKEN;
}

enum err
daemon_is_there(struct cli *c, bool *is, struct why *w)
{
	struct ask_target t;
	struct str body;
	int status;

	*is = false;
	enum err e = read_target(c, &t, w);
	if (e == OK)
		*is = ask_send(&t, "/readyz", NULL, &c->arena, &status, &body,
		    NULL) == OK;
	return e;
}

/* Reports the refusal of the port or the door. */
static enum err
refusal(struct cli *c, int status, yyjson_val *root, struct why *w)
{
	struct str said = ask_text(root, "error");

	if (str_ends(said, STR(".")))
		said.n--;
	const char *words = said.n == 0 ? "without a reason" :
	    format_text(&c->arena, said, 300);
	return status == 401 || status == 403 ?
	    why(w, ERR_DENIED, "the daemon refuses (%d): %s; a token goes "
	    "into a file for --token-file", status, words) :
	    why(w, root == NULL ? ERR_UNREACHED :
	    err_of(ask_text(root, "code")), "the daemon refuses: %s", words);
}

enum err
daemon_command(struct cli *c, const char *command, struct str args,
    yyjson_val **data, struct why *w)
{
	struct str message = arena_printf(&c->arena,
	    "{\"command\":\"%s\",\"command_id\":1,\"args\":%.*s}", command,
	    STR_FMT(args));
	struct why inner = WHY_INIT;
	struct ask_target t;
	struct str body;
	int status = 0;

	enum err e = read_target(c, &t, w);
	if (e != OK)
		return e;
	e = ask_send(&t, COMMAND_PATH, &message, &c->arena, &status, &body,
	    &inner);
	if (e == ERR_ABSENT || (e == ERR_UNREACHED && t.server == NULL))
		return why(w, ERR_UNREACHED, "no daemon serves %s; start one "
		    "with argiope serve, or name one with --server",
		    c->data_dir);
	if (e != OK)
		return why(w, e, "%s", inner.text);
	yyjson_doc_free(c->answer);
	c->answer = yyjson_read(body.p, body.n, 0);
	yyjson_val *root = yyjson_doc_get_root(c->answer);
	*data = yyjson_obj_get(root, "data");
	return status == 200 && *data != NULL ? OK :
	    refusal(c, status, root, w);
}

void
daemon_print(yyjson_val *data)
{
	size_t n = 0;
	char *text = yyjson_val_write(data, 0, &n);

	fwrite(text, 1, n, stdout);
	putchar('\n');
	free(text);
}
