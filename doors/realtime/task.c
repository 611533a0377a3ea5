/*
 * Tasks: a task carries a command from its message to its response.  It
 * outlives a client that disconnects while the engine works on it.
 */
#include "doors/realtime/own.h"

#include <stdarg.h>

#include "os/log.h"

#define FAULT_BYTES_MAX 1000

static void (*const handlers[])(struct task *) = {
#define HANDLER(id, handler, ...) verb_##handler,
	REALTIME_COMMANDS(HANDLER)
#undef HANDLER
};

/* The HTTP statuses that POST /realtime/command answers with. */
static int
http_status(enum code code)
{
	switch (code) {
	case CODE_OK:
		return 200;
	case CODE_UNKNOWN_CRAWL:
	case CODE_UNKNOWN_SUBSCRIPTION:
	case CODE_UNKNOWN_POLICY:
	case CODE_UNKNOWN_EXPORT:
	case CODE_UNKNOWN_HARVEST:
		return 404;
	case CODE_FORBIDDEN:
		return 403;
	case CODE_BAD_STATE:
		return 409;
	case CODE_LIMIT:
		return 429;
	case CODE_STORAGE:
	case CODE_INTERNAL:
		return 500;
	default:
		return 400;
	}
}

/* Sends the response and ends the task. */
static void
finish(struct task *t, enum code code, struct buf *response)
{
	struct client *c = t->client;

	meter_command(t->command.verb, code);
	if (c != NULL) {
		c->task = NULL;
		client_respond(c, response);
	}
	if (t->request != NULL)
		web_answer(t->request, http_status(code), "application/json",
		    buf_str(response));
	buf_free(response);
	buf_free(&t->data);
	command_free(&t->command);
	arena_free(&t->answer);
	mem_free(&t->query);
	mem_free(&t);
}

static void
begin_response(struct task *t, struct buf *b, bool success)
{
	json_object(b, NULL);
	json_raw(b, "command_id", buf_str(&t->command.id));
	json_str(b, "type", STR("response"));
	json_bool(b, "success", success);
}

struct buf *
task_data(struct task *t)
{
	if (t->data.n == 0)
		buf_put_char(&t->data, '{');
	return &t->data;
}

void
task_answer(struct task *t)
{
	struct buf b = BUF_INIT;

	buf_put_char(task_data(t), '}');
	begin_response(t, &b, true);
	json_raw(&b, "data", buf_str(&t->data));
	buf_put_char(&b, '}');
	finish(t, CODE_OK, &b);
}

bool
task_fail(struct task *t, enum code code, const char *fmt, ...)
{
	char text[FAULT_BYTES_MAX];
	struct buf b = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	begin_response(t, &b, false);
	json_str(&b, "error", str_of(text));
	json_str(&b, "data", str_of(text));
	json_str(&b, "code", str_of(code_text(code)));
	buf_put_char(&b, '}');
	finish(t, code, &b);
	return false;
}

static enum code
code_of(enum err e, enum code absent)
{
	switch (e) {
	case ERR_INPUT:
	case ERR_USAGE:
	case ERR_EXISTS:
		return CODE_BAD_ARGS;
	case ERR_ABSENT:
		return absent;
	case ERR_STATE:
		return CODE_BAD_STATE;
	case ERR_FULL:
		return CODE_LIMIT;
	case ERR_DENIED:
		return CODE_FORBIDDEN;
	case ERR_DISK_FULL:
	case ERR_IO:
	case ERR_CORRUPT:
	case ERR_NEWER:
	case ERR_BROKEN:
	case ERR_BUSY:
		return CODE_STORAGE;
	default:
		return CODE_INTERNAL;
	}
}

/* The text of a storage error names files, so it goes to the log only. */
static void
fail_storage(struct task *t, enum code code, const struct why *w)
{
	/* A task that was given up because its client left is no error. */
	if (t->client != NULL || t->request != NULL || w->err != ERR_CLOSED)
		log_error("realtime.failed", "command=%s code=%s why=%s",
		    command_rows[t->command.verb].name, code_text(code),
		    log_why(w));
	task_fail(t, code, w->err == ERR_DISK_FULL ? "The disk is full." :
	    code == CODE_STORAGE ? "Reading or writing the stored data "
	    "failed; the server's log says more." :
	    "It failed; the server's log says more.");
}

/*
 * Makes a sentence of any error text.  "url: it is none" begins with a name,
 * which stays as it is; "crawl 0 has ended" begins with a word.
 */
static void
fail_sentence(struct task *t, enum code code, struct str text)
{
	const char *stop = str_ends(text, STR(".")) ? "" : ".";
	size_t word = 0;

	while (word < text.n && ascii_is_alpha(text.p[word]))
		word++;
	bool named = word == text.n || text.p[word] != ' ' || word == 0;
	char first = named || text.p[0] < 'a' || text.p[0] > 'z' ? text.p[0] :
	    (char)(text.p[0] - 'a' + 'A');
	task_fail(t, code, "%c%.*s%s", first, STR_FMT(str_from(text, 1)),
	    stop);
}

void
task_fail_why(struct task *t, const struct why *w, enum code absent)
{
	struct str text = str_of(w->text[0] != '\0' ? w->text :
	    err_text(w->err));
	enum code code = code_of(w->err, absent);

	if (code == CODE_STORAGE || code == CODE_INTERNAL) {
		fail_storage(t, code, w);
		return;
	}
	if (code == CODE_BAD_ARGS && strcmp(w->field, "policy") == 0) {
		code = CODE_BAD_POLICY;
		text = str_of(w->text + w->sentence);
	}
	fail_sentence(t, code, text);
}

void *
task_ask(struct task *t, size_t size)
{
	mem_free(&t->query);
	drain_gate_enter(&t->door->asked);
	return t->query = mem_new(size);
}

bool
task_back(struct task *t, const struct why *w, struct arena *answer,
    enum code absent)
{
	bool good = w->err == OK;

	drain_gate_leave(&t->door->asked);
	arena_free(&t->answer);
	if (answer != NULL)
		t->answer = *answer;
	if (!good)
		task_fail_why(t, w, absent);
	return good;
}

struct crawl_row *
task_row(struct task *t)
{
	uint64_t id = t->command.crawl_id;
	struct crawl_row *row = realtime_row(t->door, id);

	if (row == NULL)
		task_fail(t, CODE_UNKNOWN_CRAWL,
		    "Crawl ID=%llu matched 0 crawls! (expected 1)",
		    (unsigned long long)id);
	return row;
}

void
task_begins(struct task *t)
{
	if (t->client != NULL)
		t->client->beginning = true;
}

/* The command continues after its answer. */
static bool
needs_socket(enum verb verb)
{
	return verb == VERB_UNSUBSCRIBE || verb == VERB_SUBSCRIBE_STATS ||
	    verb == VERB_SUBSCRIBE_ITEMS || verb == VERB_SUBSCRIBE_LOG ||
	    verb == VERB_SUBSCRIBE_MONITOR || verb == VERB_SUBSCRIBE_FRONTIER;
}

static void
run(struct task *t, struct str message, unsigned rights)
{
	struct command *k = &t->command;
	struct crawl_row *row = NULL;

	command_read(message, rights, k);
	if (k->code != CODE_OK)
		task_fail(t, k->code, "%s", k->text);
	else if (t->client == NULL && needs_socket(k->verb))
		task_fail(t, CODE_BAD_MESSAGE, "%s wants a WebSocket.",
		    command_rows[k->verb].name);
	else if ((command_rows[k->verb].must & ARG_BIT(CRAWL_ID)) == 0 ||
	    (row = task_row(t)) != NULL) {
		/* A task that has failed is freed. */
		t->row = row;
		handlers[k->verb](t);
	}
}

static const struct {
	enum token_door door;
	enum token_access access;
} scopes[RIGHT_COUNT] = {
	[RIGHT_READ] = { TOKEN_DOOR_REALTIME, TOKEN_READ },
	[RIGHT_WRITE] = { TOKEN_DOOR_REALTIME, TOKEN_WRITE },
	[RIGHT_HARVEST_READ] = { TOKEN_DOOR_HARVEST, TOKEN_READ },
	[RIGHT_HARVEST_WRITE] = { TOKEN_DOOR_HARVEST, TOKEN_WRITE },
};

void
task_run(struct client *c, struct str message)
{
	struct task *t = mem_new(sizeof(*t));
	unsigned rights = 0;

	t->door = c->door;
	t->client = c;
	c->task = t;
	for (unsigned i = 0; i < RIGHT_COUNT; i++)
		if (web_socket_may_at(c->socket, scopes[i].door,
		    scopes[i].access))
			rights |= RIGHT_BIT(i);
	run(t, message, rights);
}

void
task_post(struct realtime *d, struct web_request *r)
{
	struct task *t = mem_new(sizeof(*t));
	unsigned rights = 0;

	t->door = d;
	t->request = r;
	for (unsigned i = 0; i < RIGHT_COUNT; i++)
		if (web_may(r, scopes[i].door, scopes[i].access))
			rights |= RIGHT_BIT(i);
	run(t, web_body(r), rights);
}

void
task_put_crawl(struct task *t, uint64_t crawl)
{
	json_u64(task_data(t), "crawl_id", crawl);
	json_u64(task_data(t), "job_id", crawl);
}

void
verb_ping(struct task *t)
{
	task_answer(t);
}
