#include "script/items/task_request.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "engine/items/generation.h"
#include "os/clock.h"

/* -- What FetchOptions say -- */

static struct str
text_arg(const struct task_request *q, const char *name)
{
	struct str s = json_text(yyjson_obj_get(q->args, name));

	return s.p == NULL ? STR("") : s;
}

static enum err
read_headers(struct task_request *q, struct why *w)
{
	yyjson_val *list = yyjson_obj_get(q->args, "headers"), *key, *v;
	struct str type = text_arg(q, "contentType");
	size_t i, n, at = 0;

	if (list != NULL && !yyjson_is_null(list) && !yyjson_is_obj(list))
		return why_field(w, ERR_INPUT, "headers", "it is no object");
	struct http_field *h = ARENA_ARRAY(q->arena,
	    struct http_field, yyjson_obj_size(list) + 1);
	yyjson_obj_foreach(list, i, n, key, v) {
		if (!yyjson_is_str(v))
			return why_field(w, ERR_INPUT, "headers", "%.*s: its "
			    "value is no string", (int)MIN(yyjson_get_len(key),
			    64), yyjson_get_str(key));
		if (str_eq_nocase(json_text(key), STR("Content-Type")))
			type = STR("");
		h[at++] = (struct http_field){ json_text(key),
		    json_text(v) };
	}
	if (type.n > 0)
		h[at++] = (struct http_field){ STR("Content-Type"),
		    type };
	q->fetch.headers = h;
	q->fetch.headers_n = at;
	return OK;
}

static enum err
read_accept(struct task_request *q, struct why *w)
{
	yyjson_val *list = yyjson_obj_get(q->args, "accept"), *v;
	size_t i, n;

	if (list == NULL || yyjson_is_null(list) ||
	    yyjson_equals_str(list, "any")) {
		q->fetch.any_status = yyjson_is_str(list);
		return OK;
	}
	if (!yyjson_is_arr(list))
		return why_field(w, ERR_INPUT, "accept", "it is neither "
		    "\"any\" nor a list of statuses");
	int *accept = ARENA_ARRAY(q->arena, int, yyjson_arr_size(list));
	yyjson_arr_foreach(list, i, n, v) {
		if (!yyjson_is_int(v))
			return why_field(w, ERR_INPUT, "accept", "one is no "
			    "status");
		accept[i] = (int)yyjson_get_sint(v);
	}
	q->fetch.accept = accept;
	q->fetch.accept_n = n;
	return OK;
}

/* "30d", or ms; `us` stays as it is when there is none. */
static enum err
read_duration(struct task_request *q, const char *name, int64_t *us,
    struct why *w)
{
	yyjson_val *v = yyjson_obj_get(q->args, name);

	if (v == NULL || yyjson_is_null(v))
		return OK;
	if (yyjson_is_num(v) && yyjson_get_num(v) >= 0 &&
	    yyjson_get_num(v) < 1e15)
		*us = (int64_t)(yyjson_get_num(v) * 1000);
	else if (!yyjson_is_str(v) || !task_duration(json_text(v), us))
		return why_field(w, ERR_INPUT, name, "it is no duration");
	return OK;
}

static enum err
read_redirect(struct task_request *q, struct why *w)
{
	struct str s = text_arg(q, "redirect");

	q->fetch.manual = str_eq(s, STR("manual"));
	return s.n == 0 || q->fetch.manual || str_eq(s, STR("follow")) ? OK :
	    why_field(w, ERR_INPUT, "redirect", "it is neither \"follow\" nor "
	    "\"manual\"");
}

/* `stream` is not built, and only connectors have a credential for `auth`. */
static enum err
read_refused(struct task_request *q, struct why *w)
{
	static const char *const names[] = { "stream", "auth" };
	size_t n = q->is_connector ? 1 : ARRAY_LEN(names);

	for (size_t i = 0; i < n; i++) {
		yyjson_val *v = yyjson_obj_get(q->args, names[i]);
		if (v != NULL && !yyjson_is_null(v) && !yyjson_is_false(v))
			return why_field(w, ERR_INPUT, names[i], "%s do not "
			    "have it", q->is_connector ? "connectors" :
			    "tasks");
	}
	return OK;
}

enum err
task_request_read(struct task_request *q, yyjson_val *args, struct str body,
    struct arena *a, struct why *w)
{
	int64_t timeout_us = 0, age_us = 0;

	q->args = args;
	q->body = body;
	q->arena = a;
	q->name = text_arg(q, "session");
	q->fetch.url = text_arg(q, "url");
	q->fetch.method = text_arg(q, "method");
	q->fetch.body = body;
	enum err e = read_refused(q, w);
	if (e == OK)
		e = read_headers(q, w);
	if (e == OK)
		e = read_accept(q, w);
	if (e == OK)
		e = read_redirect(q, w);
	if (e == OK)
		e = read_duration(q, "timeout", &timeout_us, w);
	if (e == OK)
		e = read_duration(q, "maxAge", &age_us, w);
	q->fetch.timeout_ms = timeout_us == 0 ? 0 : MAX(1, timeout_us / 1000);
	q->fetch.max_age_s = age_us / US_PER_S;
	return e;
}

/* -- The request -- */

static void
fetched(struct task_fetch *f)
{
	struct task_request *q = CONTAINER(f, struct task_request, fetch);

	if (q->session != NULL)
		session_take(q->session, q->session_rev,
		    buf_str(&q->jar_before), q->jar);
	q->done(q);
}

static void
send_request(struct task_request *q)
{
	q->sent = true;
	q->fetch.deadline = mono_add_ms(clock_mono(), q->deadline_ms);
	q->fetch.done = fetched;
	task_fetch_start(q->fetcher, &q->fetch);
}

/* With a copy of the session's cookies. */
static void
use_session(struct task_request *q, struct session *s)
{
	q->session = s;
	q->session_rev = s->rev;
	session_jar_put(s->jar, &q->jar_before);
	q->jar = session_jar_new(buf_str(&q->jar_before));
	q->fetch.session = q->jar;
	send_request(q);
}

/* A fetch comes after session(): it is valid, or was a moment ago. */
static void
session_ready(struct session_wait *one, bool login, const struct why *w)
{
	struct task_request *q = CONTAINER(one, struct task_request, wait);

	q->waits = false;
	if (w->err == OK && !login) {
		use_session(q, one->session);
		return;
	}
	if (login) {
		session_fail(one->session, STR("it was not asked for by "
		    "session()"));
		(void)!why(&q->why, ERR_UNREACHED, "nobody has logged in to "
		    "the session \"%.*s\"", (int)MIN(q->name.n, 100),
		    q->name.p);
	} else {
		q->why = *w;
	}
	q->done(q);
}

void
task_request_start(struct task_request *q)
{
	struct session *login;

	q->why = WHY_INIT;
	if (q->name.n == 0) {
		send_request(q);
		return;
	}
	login = session_of_login(q->sessions, q->user, q->name);
	if (login != NULL) {
		use_session(q, login);
		return;
	}
	q->waits = true;
	q->wait.user = q->user;
	q->wait.ready = session_ready;
	session_ask(q->sessions, q->name, 0, &q->wait);
}

bool
task_request_cancel(struct task_request *q)
{
	if (q->waits) {
		session_ask_cancel(&q->wait);
		q->waits = false;
		return true;
	}
	if (q->sent)
		task_fetch_stop(&q->fetch);
	return false;
}

void
task_request_free(struct task_request *q)
{
	if (q->sent)
		task_fetch_free(&q->fetch);
	q->sent = false;
	session_jar_free(&q->jar);
	buf_free(&q->jar_before);
}

/* -- What the script is told -- */

static void
put_capture(const struct task_fetch *f, struct buf *b)
{
	if (f->number == 0) {
		json_null(b, "capture");
		return;
	}
	json_object(b, "capture");
	json_u64(b, "crawl", f->crawl);
	json_u64(b, "seq", f->number);
	buf_put_char(b, '}');
}

void
task_request_put(const struct task_fetch *f, struct buf *b)
{
	json_u64(b, "status", (uint64_t)f->status);
	json_str(b, "url", f->final_url);
	json_array(b, "headers");
	for (size_t i = 0; i < f->fields_n; i++) {
		json_array(b, NULL);
		json_item(b, f->fields[i].name);
		json_item(b, f->fields[i].value);
		buf_put_char(b, ']');
	}
	buf_put_char(b, ']');
	put_capture(f, b);
	json_bool(b, "redirected", f->redirected);
	json_bool(b, "fromArchive", f->from_archive);
}

const char *
task_request_class(const char *code)
{
	return strcmp(code, "input") == 0 ? "PermanentError" :
	    strcmp(code, "not_archived") == 0 ? "ReplayMiss" : "FetchError";
}
