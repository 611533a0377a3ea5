#include "script/items/session_call.h"

#include "base/json.h"

static struct str
text_arg(const struct session_call *c, const char *name)
{
	struct str s = json_text(yyjson_obj_get(c->args, name));

	return s.p == NULL ? STR("") : s;
}

static void
session_ready(struct session_wait *one, bool login, const struct why *w)
{
	struct session_call *c = CONTAINER(one, struct session_call, wait);

	c->waits = false;
	c->why = *w;
	if (w->err == OK) {
		c->session = one->session;
		c->login = login;
		session_put_answer(one->session, login, &c->out);
	}
	c->done(c);
}

static void
begin_waiting(struct session_call *c)
{
	c->waits = true;
	c->wait.user = c->user;
	c->wait.ready = session_ready;
}

static void
ask_session(struct session_call *c, uint64_t stale_rev)
{
	begin_waiting(c);
	session_ask(c->sessions, text_arg(c, "name"), stale_rev, &c->wait);
}

static void
ask_again(struct session_call *c)
{
	yyjson_val *version = yyjson_obj_get(c->args, "version");

	ask_session(c, yyjson_is_uint(version) ? yyjson_get_uint(version) :
	    c->version);
}

static void
answer_null(struct session_call *c)
{
	buf_put_text(&c->out, "null");
	c->done(c);
}

static struct session *
find_login(struct session_call *c)
{
	return session_of_login(c->sessions, c->user, text_arg(c, "name"));
}

static void
store_session(struct session_call *c)
{
	struct session *s = find_login(c);
	size_t n = 0;

	if (s == NULL) {
		(void)!why_field(&c->why, ERR_ABSENT, "session", "this run "
		    "does not log in");
		c->done(c);
		return;
	}
	char *data = yyjson_val_write(yyjson_obj_get(c->args, "data"), 0, &n);
	begin_waiting(c);
	session_store(s, (struct str){ data, n }, &c->wait);
	free(data);
}

static void
fail_login(struct session_call *c)
{
	struct session *s = find_login(c);

	if (s != NULL)
		session_fail(s, text_arg(c, "message"));
	answer_null(c);
}

void
session_call_start(struct session_call *c)
{
	c->why = WHY_INIT;
	switch (c->kind) {
	case SCRIPT_CALL_SESSION:
		ask_session(c, 0);
		break;
	case SCRIPT_CALL_SESSION_EXPIRED:
		ask_again(c);
		break;
	case SCRIPT_CALL_SESSION_STORE:
		store_session(c);
		break;
	case SCRIPT_CALL_SESSION_FAIL:
		fail_login(c);
		break;
	default:
		CHECK(c->kind == SCRIPT_CALL_SESSION_INVALIDATE);
		session_invalidate(c->sessions, text_arg(c, "name"));
		answer_null(c);
		break;
	}
}

bool
session_call_cancel(struct session_call *c)
{
	bool waits = c->waits;

	if (waits)
		session_ask_cancel(&c->wait);
	c->waits = false;
	return waits;
}
