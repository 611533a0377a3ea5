#include "doors/console/console.h"

#define PAGE(path) { "GET", path, WEB_EXACT, console_get_page, NULL,          \
	"the console", WEB_TO_ALL, TOKEN_DOOR_CONSOLE, TOKEN_READ,            \
	.early = true }
#define ROW(method, path, handle, door, access, soon, help) { method, path, \
	WEB_EXACT, handle, NULL, help, WEB_TO_NOBODY, TOKEN_DOOR_##door,      \
	TOKEN_##access, .early = soon }
/* A token gives every right, so no page of another origin may make one. */
#define TOKEN_ROW(method, path, handle, help) { method, path, WEB_EXACT,      \
	handle, NULL, help, WEB_TO_OWN_PAGES, TOKEN_DOOR_CONSOLE, TOKEN_WRITE, \
	.early = false }
static const struct web_route routes[] = {
	PAGE("/"), PAGE("/new"), PAGE("/system"), PAGE("/settings"),
	PAGE("/crawls/*"), PAGE("/crawls/*/pages/*"),
	PAGE("/browse/items"), PAGE("/browse/items/*"), PAGE("/browse/tasks"),
	PAGE("/browse/failures"), PAGE("/browse/worklist"), PAGE("/browse/try"),
	PAGE("/browse/harvests"), PAGE("/browse/harvests/*"),
	PAGE("/browse/exports"), PAGE("/browse/exports/*"),
	PAGE("/browse/connectors"), PAGE("/browse/connectors/*"),
	PAGE("/browse/external"), PAGE("/browse/external/*/*/*"),
	{ "GET", "/console/", WEB_PREFIX, console_get_file, NULL,
	    "the console's files", WEB_TO_ALL, TOKEN_DOOR_CONSOLE,
	    TOKEN_READ, .early = true },
	ROW("GET", "/config", console_get_config, CONSOLE, READ, true,
	    "every setting, its value, and where it came from, as JSON"),
	ROW("GET", "/doors", console_get_doors, CONSOLE, READ, true,
	    "the doors: address, state, requests, as JSON"),
	ROW("GET", "/log", console_get_log, CONSOLE, READ, true,
	    "the newest log lines, as JSON; ?after=NUMBER"),
	ROW("GET", "/policy-fields", console_get_fields, REALTIME, READ, true,
	    "the fields of a policy, as JSON"),
	ROW("GET", "/tokens", console_get_tokens, CONSOLE, READ, false,
	    "the tokens' names and scopes, as JSON"),
	TOKEN_ROW("POST", "/tokens", console_post_token,
	    "make a token; its text is in the answer, this once"),
	TOKEN_ROW("DELETE", "/tokens/*", console_delete_token,
	    "revoke a token"),
	ROW("GET", "/crawls/*/pages/*/record", console_get_record, REALTIME,
	    READ, false, "a capture's WARC record"),
	ROW("GET", "/crawls/*/pages/*/body", console_get_body, REALTIME,
	    READ, false, "a capture's body, decoded"),
};

static enum err
open_door(const struct door_host *host, void **door, struct why *w)
{
	(void)w;
	if (conf_address(host->conf, CONF_HTTP_LISTEN).host.n == 0)
		return OK;
	struct console *c = *door = mem_new(sizeof(*c));
	c->host = host;
	console_files_open(c);
	return OK;
}

static void
data_read(void *door, struct engine *e)
{
	((struct console *)door)->engine = e;
}

static void
drain_door(void *door, void (*drained)(void *arg), void *arg)
{
	drain_gate_close(&((struct console *)door)->asked, drained, arg);
}

static void
free_door(void **door)
{
	struct console *c = *door;

	*door = NULL;
	CHECK(c->asked.under_way == 0);
	console_files_close(c);
	mem_free(&c);
}

/* Lists show it with realtime. */
const struct door door_console = {
	.name = "console",
	.help = "A web page for people, at http.listen.",
	.may_read = "see configuration, log, doors, tokens' names, and "
	    "/metrics and /status",
	.may_write = "make and revoke tokens, of any scope",
	.open = open_door,
	.routes = routes, .routes_n = ARRAY_LEN(routes),
	.data_read = data_read, .drain = drain_door, .free = free_door,
};
