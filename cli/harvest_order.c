/*
 * argiope harvest stop|pause|resume -- orders about a harvest: to the daemon of
 * the data directory, or carried out here where there is none.
 */
#include "base/json_writer.h"
#include "cli/ask.h"
#include "cli/daemon.h"
#include "cli/harvest_run.h"
#include "cli/stores.h"
#include "cli/verbs.h"
#include "engine/store/store_harvest.h"

static const struct option_row rows[] = {
	OPTION_ROW(QUIET, "quiet", 'q', NULL, FLAG, 0, 0,
	    "no progress and no summary, only errors")
	OPTION_JSON(OPTION_ROW) DAEMON_OPTIONS(OPTION_ROW)
	OPTION_COMMON(OPTION_ROW)
};

#define EXIT_HELP                                                            \
	"Exit code: 0; 66 there is no such harvest; 69 it is over, or failed; "\
	"75 another process has the data directory; 77 the daemon wants "    \
	"another token."

const struct option_verb harvest_stop_verb = {
	"harvest stop", "ID", 1, 1,
	"End a harvest, as a success with what it has",
	"The request in hand is finished, streams are closed, and WARC files "
	"are brought to their place.  One that is over stays as it is.  "
	"Without a daemon this process does it, and returns when it is "
	"done.\n" EXIT_HELP,
	rows, ARRAY_LEN(rows)
};
const struct option_verb harvest_pause_verb = {
	"harvest pause", "ID", 1, 1,
	"Have the daemon ask for nothing more of a harvest until it is resumed",
	"\"harvest resume\" continues it; so does a restart of the daemon.\n"
	EXIT_HELP,
	rows, ARRAY_LEN(rows)
};
const struct option_verb harvest_resume_verb = {
	"harvest resume", "ID", 1, 1,
	"Go on with a harvest that has paused or was interrupted",
	"Without a daemon this process goes on with it, as harvest run "
	"--resume does.\n" EXIT_HELP,
	rows, ARRAY_LEN(rows)
};

static enum err
order_daemon(struct cli *c, const char *command, struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	yyjson_val *data;

	json_object(&b, NULL);
	json_str(&b, "id", str_of(c->options.operands[0]));
	buf_put_char(&b, '}');
	enum err e = daemon_command(c, command, buf_str(&b), &data, w);
	if (e == OK && cli_json(c))
		daemon_print(data);
	return e;
}

/* Whether a daemon is to be asked. */
static enum err
find_daemon(struct cli *c, bool *is, struct why *w)
{
	*is = cli_given(c, "server");
	return *is ? OK : daemon_is_there(c, is, w);
}

static enum err
read_state(struct cli *c, enum store_harvest_state *state, struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	const char *id = c->options.operands[0];
	struct store_harvest h;

	enum err e = stores_find(c, arena_printf(&c->arena, "harvest %.60s",
	    id).p, &st, w);
	if (e == OK)
		e = store_harvest_get(st, str_of(id), &c->arena, &h, w);
	if (e == OK)
		*state = h.state;
	return e;
}

static enum err
say_over(struct cli *c, enum store_harvest_state s, struct why *w)
{
	return why(w, ERR_STATE, "harvest %.60s is over: %s",
	    c->options.operands[0], store_harvest_state_name(s));
}

enum err
harvest_stop_run(struct cli *c, struct why *w)
{
	enum store_harvest_state s;
	bool is;

	enum err e = find_daemon(c, &is, w);
	if (e == OK && is)
		return order_daemon(c, "harvest.stop", w);
	if (e == OK)
		e = read_state(c, &s, w);
	return e != OK || store_harvest_is_over(s) ? e :
	    harvest_run_again(c, str_of(c->options.operands[0]), true, w);
}

enum err
harvest_resume_run(struct cli *c, struct why *w)
{
	enum store_harvest_state s;
	bool is;

	enum err e = find_daemon(c, &is, w);
	if (e == OK && is)
		return order_daemon(c, "harvest.resume", w);
	if (e == OK)
		e = read_state(c, &s, w);
	if (e == OK && store_harvest_is_over(s))
		e = say_over(c, s, w);
	return e != OK ? e :
	    harvest_run_again(c, str_of(c->options.operands[0]), false, w);
}

/* Nothing runs without a daemon but a command, which Ctrl-C pauses. */
enum err
harvest_pause_run(struct cli *c, struct why *w)
{
	enum store_harvest_state s;
	bool is;

	enum err e = find_daemon(c, &is, w);
	if (e == OK && is)
		return order_daemon(c, "harvest.pause", w);
	if (e == OK)
		e = read_state(c, &s, w);
	if (e != OK || s == STORE_HARVEST_PAUSED)
		return e;
	return store_harvest_is_over(s) ? say_over(c, s, w) :
	    why(w, ERR_STATE, "no daemon has harvest %.60s under way; Ctrl-C "
	    "pauses one of argiope harvest run", c->options.operands[0]);
}
