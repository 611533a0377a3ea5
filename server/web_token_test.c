/*
 * Who may enter the port: tokens, sessions, and the pages of strangers.
 */
#include "server/web_testing.h"

#include "engine/store/store_async.h"
#include "os/file.h"

static char dir[64];
static struct token_set *set;
static char reader[TOKEN_TEXT_BYTES + 1], writer[TOKEN_TEXT_BYTES + 1],
    other[TOKEN_TEXT_BYTES + 1];
static struct store *store;
static struct store_async *async;

static void
add(const char *name, const char *list, char text[TOKEN_TEXT_BYTES + 1])
{
	struct token_scopes s;
	struct why w = WHY_INIT;

	assert_int_equal(token_scopes_read(str_of(list), false, &s, NULL), OK);
	if (store_token_add(store, str_of(name), s, clock_wall(), text, &w) !=
	    OK)
		fail_msg("%s", w.text);
}

static void
give_tokens(void)
{
	struct store_async_options a = { .home = port_loop, .poll_ms = 20 };
	struct why w = WHY_INIT;

	assert_int_equal(store_open(dir, NULL, &a.store, &w), OK);
	async = store_async_new(&a);
	struct token_set_options o = { .store = async };
	if (token_set_open(&o, &set, &w) != OK)
		fail_msg("%s", w.text);
	web_tokens(port, set, false);
}

static void
take_tokens(void)
{
	token_set_close(&set);
	store_async_close(&async);
}

static int
setup(void **state)
{
	struct why w = WHY_INIT;

	snprintf(dir, sizeof(dir), "/tmp/argiope-web-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(store_open(dir, NULL, &store, &w), OK);
	add("reader", "console:read", reader);
	add("writer", "console:write", writer);
	add("other", "realtime:read", other);
	port_closing = take_tokens;
	port_setup(state);
	port_do(give_tokens);
	return 0;
}

static int
teardown(void **state)
{
	struct arena a = ARENA_INIT;
	char path[128];
	struct str *names;
	size_t n;

	port_teardown(state);
	store_close(&store);
	assert_int_equal(file_list(dir, &a, &names, &n, NULL), OK);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%.*s", dir,
		    STR_FMT(names[i]));
		unlink(path);
	}
	arena_free(&a);
	return rmdir(dir);
}

/* METHOD /closed, with these fields. */
static int
status_of(const char *method, const char *target, const char *fields,
    struct answer *a)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "%s %s HTTP/1.1\r\n%s\r\n", method, target, fields);
	ask(buf_text(&b), a);
	buf_free(&b);
	return a->status;
}

#define BEARER HOST "Authorization: Bearer "
static void
tokens(void **state)
{
	struct answer a = { .status = 0 };
	char f[300], t[300];

	(void)state;
	expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, NULL);
	expect("GET /closed HTTP/1.1\r\n" HOST "\r\n", 401, "unauthorized");
	assert_int_equal(status_of("GET", "/closed", HOST, &a), 401);
	assert_non_null(strstr(a.head, "www-authenticate: Bearer"));
	snprintf(f, sizeof(f), BEARER "%s\r\n", reader);
	assert_int_equal(status_of("GET", "/closed", f, &a), 200);
	/* A handler can ask for the token's name. */
	assert_int_equal(status_of("GET", "/who", f, &a), 200);
	assert_string_equal(buf_text(&a.body), "reader");
	assert_int_equal(status_of("POST", "/closed", f, &a), 403);
	assert_non_null(strstr(buf_text(&a.body), "forbidden"));
	/* With a token strangers' names and pages do no harm. */
	snprintf(f, sizeof(f), "Host: box\r\nOrigin: http://evil.example\r\n"
	    "Authorization: bearer %s\r\n", writer);
	assert_int_equal(status_of("POST", "/closed", f, &a), 200);
	snprintf(t, sizeof(t), "/closed?a=1&token=%s", writer);
	assert_int_equal(status_of("GET", t, HOST, &a), 200);
	snprintf(f, sizeof(f), BEARER "%s\r\n", other);
	assert_int_equal(status_of("GET", "/closed", f, &a), 403);
	f[strlen(f) - 3] ^= 1;
	assert_int_equal(status_of("GET", "/closed", f, &a), 401);
	assert_int_equal(status_of("GET", "/closed", HOST "Authorization: "
	    "Basic YTpi\r\n", &a), 401);
	/* A WebSocket is of the realtime door. */
	assert_int_equal(status_of("GET", "/", HOST UPGRADE, &a), 401);
	snprintf(t, sizeof(t), "/?token=%s", reader);
	assert_int_equal(status_of("GET", t, HOST UPGRADE, &a), 403);
	snprintf(t, sizeof(t), "/?token=%s", other);
	assert_int_equal(status_of("GET", t, HOST UPGRADE
	    "Origin: http://evil.example\r\n", &a), 101);
	answer_free(&a);
}

/* POST /session with that token: the cookie, the text for changes. */
static int
begin(const char *token, char *cookie, char *csrf, struct answer *a)
{
	char text[500], json[200], value[300];

	snprintf(json, sizeof(json), "{\"token\":\"%s\"}", token);
	snprintf(text, sizeof(text), "POST /session HTTP/1.1\r\n" HOST
	    "Content-Length: %zu\r\n\r\n%s", strlen(json), json);
	ask(text, a);
	if (a->status != 201)
		return a->status;
	assert_true(field(a, "set-cookie: ", value, sizeof(value)));
	assert_non_null(strstr(value, "; Path=/; HttpOnly; SameSite=Strict"));
	snprintf(cookie, 200, "%.*s", (int)strcspn(value, ";"), value);
	const char *at = strstr(buf_text(&a->body), "\"csrf\":\"");
	assert_non_null(at);
	snprintf(csrf, 100, "%.64s", at + 8);
	return 201;
}

static void
sessions(void **state)
{
	struct answer a = { .status = 0 };
	char cookie[200], csrf[100], f[900], wrong[100];

	(void)state;
	ask("GET /session HTTP/1.1\r\n" HOST "\r\n", &a);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(buf_text(&a.body), "{\"wanted\":true,"
	    "\"valid\":false,\"name\":null,\"csrf\":null,"));
	assert_non_null(strstr(a.body.p, "\"console\":\"none\""));
	assert_int_equal(begin("argiope_no", cookie, csrf, &a), 401);
	assert_int_equal(begin(writer, cookie, csrf, &a), 201);
	assert_non_null(strstr(a.body.p, "\"valid\":true,"
	    "\"name\":\"writer\""));
	assert_non_null(strstr(a.body.p, "\"console\":\"write\""));
	assert_non_null(strstr(a.body.p, "\"realtime\":\"none\""));
	snprintf(f, sizeof(f), HOST "Cookie: x=y; %s\r\n", cookie);
	assert_int_equal(status_of("GET", "/closed", f, &a), 200);
	assert_int_equal(status_of("GET", "/session", f, &a), 200);
	assert_non_null(strstr(a.body.p, csrf));
	/* A change needs the text, and a page of this very port. */
	assert_int_equal(status_of("POST", "/closed", f, &a), 403);
	assert_non_null(strstr(a.body.p, "bad_csrf"));
	snprintf(wrong, sizeof(wrong), "%s", csrf);
	wrong[5] ^= 1;
	snprintf(f, sizeof(f), HOST "Cookie: %s\r\nX-CSRF-Token: %s\r\n",
	    cookie, wrong);
	assert_int_equal(status_of("POST", "/closed", f, &a), 403);
	snprintf(f, sizeof(f), HOST "Cookie: %s\r\nX-CSRF-Token: %s\r\n",
	    cookie, csrf);
	assert_int_equal(status_of("POST", "/closed", f, &a), 200);
	snprintf(f, sizeof(f), HOST "Cookie: %s\r\nX-CSRF-Token: %s\r\n"
	    "Origin: http://localhost\r\n", cookie, csrf);
	assert_int_equal(status_of("POST", "/closed", f, &a), 200);
	snprintf(f, sizeof(f), HOST "Cookie: %s\r\nX-CSRF-Token: %s\r\n"
	    "Origin: http://localhost:1\r\n", cookie, csrf);
	assert_int_equal(status_of("POST", "/closed", f, &a), 403);
	assert_non_null(strstr(a.body.p, "bad_origin"));
	/* Another's cookie, and the end. */
	snprintf(f, sizeof(f), HOST "Cookie: %s\r\n", cookie);
	f[strlen(f) - 4] ^= 1;
	assert_int_equal(status_of("GET", "/closed", f, &a), 401);
	f[strlen(f) - 4] ^= 1;
	assert_int_equal(status_of("DELETE", "/session", f, &a), 403);
	snprintf(f, sizeof(f), HOST "Cookie: %s\r\nX-CSRF-Token: %s\r\n",
	    cookie, csrf);
	assert_int_equal(status_of("DELETE", "/session", f, &a), 204);
	assert_non_null(strstr(a.head, "Max-Age=0"));
	assert_int_equal(status_of("GET", "/closed", f, &a), 401);
	expect("POST /session HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n[]",
	    400, "bad_args");
	expect("POST /session HTTP/1.1\r\n" HOST "Origin: http://evil.example"
	    "\r\nContent-Length: 2\r\n\r\n{}", 403, "bad_origin");
	answer_free(&a);
}

/* A WebSocket by a session: from pages of this very port. */
static void
session_sockets(void **state)
{
	struct answer a = { .status = 0 };
	char cookie[200], csrf[100], f[900];

	(void)state;
	assert_int_equal(begin(other, cookie, csrf, &a), 201);
	snprintf(f, sizeof(f), HOST UPGRADE "Cookie: %s\r\n", cookie);
	assert_int_equal(status_of("GET", "/", f, &a), 101);
	snprintf(f, sizeof(f), HOST UPGRADE "Cookie: %s\r\nOrigin: "
	    "http://localhost\r\n", cookie);
	assert_int_equal(status_of("GET", "/", f, &a), 101);
	snprintf(f, sizeof(f), HOST UPGRADE "Cookie: %s\r\nOrigin: "
	    "http://localhost:3\r\n", cookie);
	assert_int_equal(status_of("GET", "/", f, &a), 403);
	answer_free(&a);
}

/* What was let in by a token goes on only as long as the token does. */
static struct web_socket *socket_now;
static bool may_read, may_write;

static void
ask_socket(void)
{
	socket_now = LIST_ITEM(port->sockets.next, struct web_socket, node);
	may_read = web_socket_may(socket_now, TOKEN_READ);
	may_write = web_socket_may(socket_now, TOKEN_WRITE);
}

static void
revoked(void **state)
{
	struct answer a = { .status = 0 };
	char cookie[200], csrf[100], f[900], t[300];

	(void)state;
	assert_int_equal(begin(reader, cookie, csrf, &a), 201);
	int fd = dial();
	snprintf(t, sizeof(t), "GET /?token=%s HTTP/1.1\r\n" HOST UPGRADE
	    "\r\n", other);
	say_text(fd, t);
	hear(fd, &a, true);
	assert_int_equal(a.status, 101);
	port_do(ask_socket);
	assert_true(may_read && !may_write);
	/* The set may be read between them: the one waited for goes last. */
	assert_int_equal(store_token_revoke(store, STR("reader"), NULL), OK);
	assert_int_equal(store_token_revoke(store, STR("other"), NULL), OK);
	for (int i = 0; i < 5000 && may_read; i++) {
		usleep(1000);
		port_do(ask_socket);
	}
	assert_false(may_read);
	snprintf(f, sizeof(f), HOST "Cookie: %s\r\n", cookie);
	assert_int_equal(status_of("GET", "/closed", f, &a), 401);
	close(fd);
	answer_free(&a);
}

/* One more than sessions_max ends the one that was used longest ago. */
static void
session_limit(void **state)
{
	struct answer a = { .status = 0 };
	char cookies[3][300], csrf[100], f[1000];

	(void)state;
	port->limits.sessions_max = 2;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(begin(reader, cookies[i], csrf, &a), 201);
		if (i != 1)
			continue;
		snprintf(f, sizeof(f), HOST "Cookie: %s\r\n", cookies[0]);
		assert_int_equal(status_of("GET", "/closed", f, &a), 200);
	}
	for (int i = 0; i < 3; i++) {
		snprintf(f, sizeof(f), HOST "Cookie: %s\r\n", cookies[i]);
		assert_int_equal(status_of("GET", "/closed", f, &a), i == 1 ?
		    401 : 200);
	}
	port->limits.session_ms = 100;
	usleep(200000);
	assert_int_equal(status_of("GET", "/closed", f, &a), 401);
	answer_free(&a);
}

/*
 * Without tokens: a route that is WEB_TO_OWN_PAGES takes changes from programs
 * and from the port's own pages; not from another port's, nor from an origin
 * that the operator lists for the rest.
 */
static void
own_origin(void **state)
{
	struct web_options o = { .origins = STR("null,https://a.example") };
	static const struct {
		const char *origin;
		int own, other;      /* statuses of /own and /closed */
	} rows[] = {
		{ "", 200, 200 },
		{ "Origin: http://localhost\r\n", 200, 200 },
		{ "Origin: http://localhost:1\r\n", 403, 200 },
		{ "Origin: http://127.0.0.1\r\n", 403, 200 },
		{ "Origin: http://x.localhost\r\n", 403, 200 },
		{ "Origin: null\r\n", 403, 200 },
		{ "Origin: https://a.example\r\n", 403, 200 },
		{ "Origin: http://evil.example\r\n", 403, 403 },
	};
	struct answer a = { .status = 0 };
	char fields[200];

	(void)state;
	port_closing = NULL;
	port_open(&o);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(fields, sizeof(fields), HOST "%s", rows[i].origin);
		if (status_of("POST", "/own", fields, &a) != rows[i].own)
			fail_msg("%s: %d", rows[i].origin, a.status);
		assert_int_equal(status_of("POST", "/closed", fields, &a),
		    rows[i].other);
	}
	port_close();
	answer_free(&a);
}

/* A program with a token needs no origin; a session needs the port's own. */
static void
own_origin_with_tokens(void **state)
{
	struct answer a = { .status = 0 };
	char cookie[200], csrf[100], f[900];

	(void)state;
	snprintf(f, sizeof(f), BEARER "%s\r\nOrigin: http://localhost:1\r\n",
	    writer);
	assert_int_equal(status_of("POST", "/own", f, &a), 200);
	assert_int_equal(begin(writer, cookie, csrf, &a), 201);
	snprintf(f, sizeof(f), HOST "Cookie: %s\r\nX-CSRF-Token: %s\r\n"
	    "Origin: http://localhost\r\n", cookie, csrf);
	assert_int_equal(status_of("POST", "/own", f, &a), 200);
	snprintf(f, sizeof(f), HOST "Cookie: %s\r\nX-CSRF-Token: %s\r\n"
	    "Origin: http://localhost:1\r\n", cookie, csrf);
	assert_int_equal(status_of("POST", "/own", f, &a), 403);
	answer_free(&a);
}

/*
 * A page of an origin that a route lists needs the token as anybody does, asks
 * before without it, reads the refusal, and cannot use a session's cookie.
 */
static void
listed_origin(void **state)
{
	static const char allowed[] =
	    "access-control-allow-origin: https://a.org";
	struct answer a = { .status = 0 };
	char cookie[200], csrf[100], f[900];

	(void)state;
	assert_int_equal(status_of("OPTIONS", "/pages", HOST "Origin: "
	    "https://a.org\r\nAccess-Control-Request-Method: DELETE\r\n", &a),
	    204);
	assert_int_equal(status_of("DELETE", "/pages", HOST "Origin: "
	    "https://a.org\r\n", &a), 401);
	assert_non_null(strstr(a.head, allowed));
	snprintf(f, sizeof(f), BEARER "%s\r\nOrigin: https://a.org\r\n",
	    writer);
	assert_int_equal(status_of("DELETE", "/pages", f, &a), 204);
	assert_non_null(strstr(a.head, allowed));
	assert_int_equal(begin(writer, cookie, csrf, &a), 201);
	snprintf(f, sizeof(f), HOST "Cookie: %s\r\nX-CSRF-Token: %s\r\n"
	    "Origin: https://a.org\r\n", cookie, csrf);
	assert_int_equal(status_of("DELETE", "/pages", f, &a), 403);
	assert_non_null(strstr(buf_text(&a.body), "bad_origin"));
	answer_free(&a);
}

int
main(void)
{
#define LIVE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		LIVE(tokens), LIVE(sessions), LIVE(session_sockets),
		LIVE(revoked), LIVE(session_limit),
		cmocka_unit_test(own_origin), LIVE(own_origin_with_tokens),
		LIVE(listed_origin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
