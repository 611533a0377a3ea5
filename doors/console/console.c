#include "doors/console/own.h"

#include "base/text.h"

#define PAGE(path) { "GET", path, WEB_EXACT, console_get_page, NULL,          \
	"the console", WEB_TO_ALL, TOKEN_DOOR_CONSOLE, TOKEN_READ, true }
#define ROW(method, path, handle, door, access, early, help) { method, path, \
	WEB_EXACT, handle, NULL, help, WEB_TO_NOBODY, TOKEN_DOOR_##door,      \
	TOKEN_##access, early }
/* A token gives every right, so no page of another origin may make one. */
#define TOKEN_ROW(method, path, handle, help) { method, path, WEB_EXACT,      \
	handle, NULL, help, WEB_TO_OWN_PAGES, TOKEN_DOOR_CONSOLE, TOKEN_WRITE, \
	false }
static const struct web_route table[] = {
	PAGE("/"), PAGE("/new"), PAGE("/system"), PAGE("/settings"),
	PAGE("/crawls/*"), PAGE("/crawls/*/pages/*"),
	{ "GET", "/console/", WEB_PREFIX, console_get_file, NULL,
	    "the console's files", WEB_TO_ALL, TOKEN_DOOR_CONSOLE,
	    TOKEN_READ, true },
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
_Static_assert(ARRAY_LEN(table) == CONSOLE_ROUTES, "the table has grown");

void
console_ready(struct console *c, struct engine *e)
{
	c->engine = e;
}

struct console *
console_open(const struct console_options *o)
{
	struct console *c = mem_new(sizeof(*c));

	c->options = *o;
	console_files_open(c);
	return c;
}

void
console_routes(struct console *c, struct web_route rows[static CONSOLE_ROUTES])
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		rows[i] = table[i];
		rows[i].arg = c;
	}
}

static void
tell_drained(struct console *c)
{
	if (c->draining && c->out == 0 && c->drained != NULL) {
		void (*drained)(void *arg) = c->drained;
		c->drained = NULL;
		drained(c->drained_arg);
	}
}

void
console_drain(struct console *c, void (*drained)(void *arg), void *arg)
{
	c->draining = true;
	c->drained = drained;
	c->drained_arg = arg;
	tell_drained(c);
}

void
console_out(struct console *c)
{
	c->out++;
}

void
console_back(struct console *c)
{
	CHECK(c->out > 0);
	c->out--;
	tell_drained(c);
}

void
console_free(struct console **cp)
{
	struct console *c = *cp;

	if (c == NULL)
		return;
	CHECK(c->out == 0);
	console_files_close(c);
	mem_free(cp);
}
