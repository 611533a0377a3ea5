/*
 * argiope pause|resume|cancel|rerun CRAWL -- orders to a running daemon about
 * one of its crawls.
 */
#include "cli/ask.h"
#include "cli/daemon.h"
#include "cli/verbs.h"

#define PAGE_ROWS 1000

static const struct option_row rows[] = {
	OPTION_JSON(OPTION_ROW) DAEMON_OPTIONS(OPTION_ROW)
	OPTION_COMMON(OPTION_ROW)
};

#define CRAWL_HELP                                                           \
	"CRAWL is a name, the newest crawl's of that name, or a number "     \
	"(argiope status).  "
#define EXIT_HELP                                                            \
	"Exit code: 0; 66 there is no such crawl; 69 no daemon runs there"
#define EXIT_DENIED "; 77 it wants another token."

const struct option_verb pause_verb = {
	"pause", "CRAWL", 1, 1,
	"Have the daemon fetch nothing more of a crawl until it is resumed",
	CRAWL_HELP "Fetches under way are finished.\n"
	EXIT_HELP ", or the crawl has ended" EXIT_DENIED,
	rows, ARRAY_LEN(rows)
};
const struct option_verb resume_verb = {
	"resume", "CRAWL", 1, 1,
	"Have the daemon go on with a crawl that was paused",
	CRAWL_HELP "A crawl of argiope crawl goes on with argiope crawl "
	"--resume.\n"
	EXIT_HELP ", or the crawl has ended" EXIT_DENIED,
	rows, ARRAY_LEN(rows)
};
const struct option_verb cancel_verb = {
	"cancel", "CRAWL", 1, 1,
	"Have the daemon end a crawl for good; its pages stay",
	CRAWL_HELP "Fetches under way are given up.\n"
	EXIT_HELP EXIT_DENIED,
	rows, ARRAY_LEN(rows)
};
const struct option_verb rerun_verb = {
	"rerun", "CRAWL", 1, 1,
	"Have the daemon run an ended crawl again, as a new crawl",
	CRAWL_HELP "The new crawl has the old one's seeds, policy, name and "
	"tags.\n"
	EXIT_HELP ", or the crawl has not ended" EXIT_DENIED,
	rows, ARRAY_LEN(rows)
};

/* --- which crawl -------------------------------------------------------- */

/* Look through one answer of list_crawls, the newest first. */
static bool
find_in(yyjson_val *data, struct str name, uint64_t *id, size_t *n)
{
	yyjson_val *crawls = yyjson_obj_get(data, "crawls"), *row;
	size_t at;

	yyjson_arr_foreach(crawls, at, *n, row) {
		if (name.n > 0 && str_eq(ask_text(row, "name"), name)) {
			*id = yyjson_get_uint(yyjson_obj_get(row, "crawl_id"));
			return true;
		}
	}
	return false;
}

static enum err
find_crawl(struct cli *c, struct str name, uint64_t *id, struct why *w)
{
	uint64_t start = 0, total = 1;

	while (start < total) {
		yyjson_val *data;
		size_t n = 0;
		struct str args = arena_printf(&c->arena,
		    "{\"start\":%llu,\"size\":%u}", (unsigned long long)start,
		    PAGE_ROWS);
		enum err e = daemon_command(c, "list_crawls", args,
		    &data, w);
		if (e != OK)
			return e;
		total = yyjson_get_uint(yyjson_obj_get(data, "total"));
		if (find_in(data, name, id, &n))
			return OK;
		start += n;
		if (n == 0)
			break;
	}
	if (str_to_u64(name, id))
		return OK;
	return why(w, ERR_ABSENT, "there is no crawl %.*s; argiope status "
	    "lists them", STR_FMT(str_cut(name, 0, 100)));
}

/* --- the orders --------------------------------------------------------- */

static enum err
order(struct cli *c, const char *command, void (*say)(uint64_t crawl,
    yyjson_val *data), struct why *w)
{
	struct str name = str_of(c->options.operands[0]);
	yyjson_val *data;
	uint64_t id = 0;

	enum err e = find_crawl(c, name, &id, w);
	if (e == OK)
		e = daemon_command(c, command, arena_printf(&c->arena,
		    "{\"crawl_id\":%llu}", (unsigned long long)id),
		    &data, w);
	if (e != OK)
		return e;
	if (cli_json(c))
		daemon_print(data);
	else
		say(id, data);
	return OK;
}

static void
say_state(uint64_t crawl, yyjson_val *data)
{
	const char *state = yyjson_get_str(yyjson_obj_get(data, "status"));

	printf("crawl %llu is %s\n", (unsigned long long)crawl,
	    state == NULL ? "told" : state);
}

static void
say_rerun(uint64_t crawl, yyjson_val *data)
{
	const char *in_force = yyjson_get_str(yyjson_obj_get(data, "in_force"));

	printf("crawl %llu runs crawl %llu again%s%s\n",
	    (unsigned long long)yyjson_get_uint(yyjson_obj_get(data,
	    "crawl_id")), (unsigned long long)crawl, in_force == NULL ? "" :
	    "; in force: ", in_force == NULL ? "" : in_force);
}

#define ORDER_RUN(verb, say)                                                 \
	enum err                                                             \
	verb##_run(struct cli *c, struct why *w)                             \
	{                                                                    \
		return order(c, "job." #verb, say, w);                       \
	}
ORDER_RUN(pause, say_state)
ORDER_RUN(resume, say_state)
ORDER_RUN(cancel, say_state)
ORDER_RUN(rerun, say_rerun)
