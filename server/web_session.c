/*
 * Sessions: what a browser keeps instead of a token.  POST /session takes the
 * token once and answers with a cookie that scripts cannot read, and a text
 * that every change must carry, which the pages of strangers cannot know.
 */
#include "server/web_own.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "os/clock.h"

#define TOKEN_FIELD "token"
#define SECRET_BYTES (WEB_SECRET_HEX / 2)
#define JSON_TYPE "application/json"

/* -- The table -- */

static void
session_free(struct web *w, struct web_session *s)
{
	list_take(&s->node);
	w->sessions_n--;
	mem_free(&s);
}

void
web_sessions_free(struct web *w)
{
	while (!list_empty(&w->sessions))
		session_free(w, LIST_ITEM(w->sessions.next,
		    struct web_session, node));
}

/* Those that were not used for too long, and the oldest of too many. */
static void
expire(struct web *w)
{
	struct mono now = loop_now(w->loop);

	while (!list_empty(&w->sessions)) {
		struct web_session *s = LIST_ITEM(w->sessions.next,
		    struct web_session, node);
		if (w->sessions_n < (size_t)w->limits.sessions_max &&
		    mono_ns_between(s->used, now) / NS_PER_MS <
		    w->limits.session_ms)
			break;
		session_free(w, s);
	}
}

static void
make_secret(char out[static WEB_SECRET_HEX + 1])
{
	uint8_t bytes[SECRET_BYTES];
	struct buf hex = BUF_INIT;

	clock_random(bytes, sizeof(bytes));
	digest_put_hex(&hex, bytes, sizeof(bytes));
	memcpy(out, buf_text(&hex), WEB_SECRET_HEX + 1);
	buf_free(&hex);
}

/* The cookie is not kept, so that nobody can read it here either. */
static struct web_session *
session_new(struct web *w, const struct token_pass *pass,
    char cookie[static WEB_SECRET_HEX + 1])
{
	struct web_session *s = mem_new(sizeof(*s));

	expire(w);
	make_secret(cookie);
	make_secret(s->csrf);
	digest_of(DIGEST_SHA256, str_of(cookie), &s->id);
	s->pass = *pass;
	s->used = loop_now(w->loop);
	list_put(&w->sessions, &s->node);
	w->sessions_n++;
	return s;
}

/* Ports of one host share their cookies: each has a name of its own. */
static struct str
cookie_name(struct web_request *r)
{
	return arena_printf(&r->arena, "argiope_session_%u", r->web->port);
}

struct web_session *
web_session_of(struct web_request *r)
{
	struct web *w = r->web;
	struct str cookie = STR_NONE;
	struct digest id;

	if (!web_cookie(r, cookie_name(r).p, &cookie) ||
	    cookie.n != WEB_SECRET_HEX)
		return NULL;
	digest_of(DIGEST_SHA256, cookie, &id);
	LIST_EACH(s, &w->sessions, struct web_session, node) {
		if (!digest_eq(&s->id, &id))
			continue;
		if (mono_ns_between(s->used, loop_now(w->loop)) / NS_PER_MS >=
		    w->limits.session_ms)
			return NULL;
		s->used = loop_now(w->loop);
		list_take(&s->node);
		list_put(&w->sessions, &s->node);
		return s;
	}
	return NULL;
}

/* In a time that does not tell how much of it was right. */
bool
web_session_knows(const struct web_session *s, struct web_request *r)
{
	struct str given;
	unsigned differ = 0;

	if (!web_field(r, "x-csrf-token", &given) || given.n != WEB_SECRET_HEX)
		return false;
	for (size_t i = 0; i < WEB_SECRET_HEX; i++)
		differ |= (unsigned char)given.p[i] ^
		    (unsigned char)s->csrf[i];
	return differ == 0;
}

/* -- The routes -- */

static void
put_rights(struct web_request *r, struct buf *b)
{
	size_t n;
	const char *const *names = token_door_names(&n);

	json_object(b, "rights");
	for (size_t d = 0; d < n; d++) {
		enum token_door door = (enum token_door)d;
		json_str(b, names[d],
		    web_may(r, door, TOKEN_WRITE) ? STR("write") :
		    web_may(r, door, TOKEN_READ) ? STR("read") : STR("none"));
	}
	buf_put_text(b, "}");
}

/*
 * {"wanted":B,"valid":B,"name":T,"csrf":T,"rights":{DOOR:RIGHT}}; RIGHT is
 * write, read or none.  Name and csrf are null where there is no token, or no
 * session.
 */
static void
answer_session(struct web_request *r, int status, const struct web_session *s)
{
	struct buf b = BUF_INIT;
	bool wanted = web_wants_token(r->web, TOKEN_DOOR_CONSOLE) ||
	    web_wants_token(r->web, TOKEN_DOOR_REALTIME);

	json_object(&b, NULL);
	json_bool(&b, "wanted", wanted);
	json_bool(&b, "valid", r->passed);
	if (r->passed)
		json_str(&b, "name", str_of(r->pass.name));
	else
		json_null(&b, "name");
	if (s != NULL)
		json_str(&b, "csrf", str_of(s->csrf));
	else
		json_null(&b, "csrf");
	put_rights(r, &b);
	buf_put_text(&b, "}\n");
	web_answer(r, status, JSON_TYPE, buf_str(&b));
	buf_free(&b);
}

static void
get_session(struct web_request *r)
{
	struct web *w = r->web;
	struct web_session *s = web_session_of(r);
	struct str text = web_token_of(r);

	if (w->tokens == NULL)
		s = NULL;
	else if (text.p != NULL)
		r->passed = token_find(w->tokens, text, &r->pass);
	else if (s != NULL)
		r->passed = token_is(w->tokens, s->pass.id);
	if (text.p == NULL && s != NULL && r->passed)
		r->pass = s->pass;
	answer_session(r, 200, r->passed ? s : NULL);
}

/* {"token":TEXT}; false: it is not that, and answered. */
static bool
read_token(struct web_request *r, struct str *text)
{
	yyjson_doc *d = yyjson_read(r->body.n == 0 ? "" : r->body.p,
	    r->body.n, 0);
	yyjson_val *v = yyjson_obj_get(yyjson_doc_get_root(d), TOKEN_FIELD);
	bool fine = yyjson_is_str(v);

	if (fine)
		*text = arena_copy(&r->arena, json_text(v));
	else
		web_fail(r, 400, "bad_args",
		    "send {\"" TOKEN_FIELD "\":\"argiope_...\"}");
	yyjson_doc_free(d);
	return fine;
}

static void
set_cookie(struct web_request *r, const char *value, const char *more)
{
	struct str name = cookie_name(r);

	web_add_field(r, "set-cookie", arena_printf(&r->arena,
	    "%.*s=%s; Path=/; HttpOnly; SameSite=Strict%s%s", STR_FMT(name),
	    value, r->web->tls != NULL ? "; Secure" : "", more).p);
}

static void
post_session(struct web_request *r)
{
	struct web *w = r->web;
	struct str text;
	char cookie[WEB_SECRET_HEX + 1];

	if (!read_token(r, &text))
		return;
	if (w->tokens == NULL || !token_find(w->tokens, text, &r->pass)) {
		/* Counted and logged as any other. */
		if (w->tokens != NULL)
			(void)token_check(w->tokens, text, TOKEN_DOOR_CONSOLE,
			    TOKEN_READ, str_of(net_peer(r->conn->net)), NULL);
		web_fail(r, 401, "unauthorized", "%s",
		    token_answer_text(TOKEN_UNKNOWN));
		return;
	}
	r->passed = true;
	struct web_session *s = session_new(w, &r->pass, cookie);
	set_cookie(r, cookie, "");
	answer_session(r, 201, s);
}

static void
delete_session(struct web_request *r)
{
	struct web_session *s = web_session_of(r);

	if (s != NULL && !web_session_knows(s, r)) {
		web_fail(r, 403, "bad_csrf", "X-CSRF-Token is missing or "
		    "wrong");
		return;
	}
	if (s != NULL)
		session_free(r->web, s);
	set_cookie(r, "", "; Max-Age=0");
	web_answer(r, 204, NULL, STR(""));
}

#define ROW(method, handle, help) { method, "/session", WEB_EXACT, handle, \
	NULL, help, WEB_TO_ALL, TOKEN_DOOR_CONSOLE, TOKEN_READ, .early = true }
const struct web_route web_session_routes[WEB_SESSION_ROUTES] = {
	ROW("GET", get_session, "whether a token is wanted, and what the "
	    "one that came may"),
	ROW("POST", post_session, "a session for a token"),
	ROW("DELETE", delete_session, "its end"),
};
