/* Requests of scripts, their responses, and sessions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "script/script_testing.h"

static struct bench_world *world;

static int
open_world(void **state)
{
	(void)state;
	world = script_testing_open(NULL);
	return 0;
}

static int
close_world(void **state)
{
	(void)state;
	script_testing_close(&world);
	return 0;
}

static void
test_fetch(void **state)
{
	(void)state;
	expect_passes(world,
	    "const r = await c.fetch('http://a/', {method:'POST', "
	    "json:{a:1}, headers:{X:'y'}});"
	    "is(r.ok, true); is(r.status, 200); is(r.capture, null);"
	    "is(r.headers.get('Content-Type'), 'a/b');"
	    "is(r.headers.get('x'), '1, 2'); is(r.headers.getAll('X'), "
	    "['1','2']); is(r.headers.get('none'), null);"
	    "is(r.json(), {n:'9007199254740993', ok:true});"
	    "is(r.text().length, 32); is(r.bytes().length, 32);"
	    "throws(() => c.fetch('http://a/', {nope:1}), 'TypeError');"
	    "throws(() => c.fetch('http://a/', {json:1,form:{}}), "
	    "'TypeError');"
	    "throws(() => c.fetch('http://a/', {form:{a:1}}), 'TypeError');"
	    "const s = await c.session('shop'); is(s.name, 'shop');"
	    "is(s.data, {csrf:'1'}); is((await s.fetch('/x')).status, 200);"
	    "s.invalidate();");
}

/* ---- Sessions ----------------------------------------------------------- */

/* A site that wants a login, and forgets it once. */
struct shop {
	struct buf calls;
	int fetches;
};

static void
answer_shop(struct tried *t, struct script_call *c)
{
	static const char *const names[] = {
#define CALL_NAME(id, text) text,
		SCRIPT_CALL_KINDS(CALL_NAME)
#undef CALL_NAME
	};
	struct shop *shop = t->arg;
	char *args = yyjson_val_write(script_call_args(c), 0, NULL);

	buf_printf(&shop->calls, "%s %s\n", names[script_call_kind(c)], args);
	free(args);
	switch (script_call_kind(c)) {
	case SCRIPT_CALL_SESSION:
	case SCRIPT_CALL_SESSION_EXPIRED:
		script_call_answer(c, STR("{\"login\":true,\"ancestors\":"
		    "[\"w\"]}"), STR_NONE);
		break;
	case SCRIPT_CALL_SESSION_STORE:
		script_call_answer(c, STR("{\"data\":{\"csrf\":\"7\"},"
		    "\"version\":2}"), STR_NONE);
		break;
	case SCRIPT_CALL_FETCH:
		/* The second fetch ends at the login page. */
		script_call_answer(c, ++shop->fetches == 2 ?
		    STR("{\"status\":200,\"url\":\"/login\","
		    "\"headers\":[]}") :
		    STR("{\"status\":200,\"url\":\"/a\","
		    "\"headers\":[]}"), STR_NONE);
		break;
	default:
		script_call_answer(c, STR("null"), STR_NONE);
	}
}

static void
test_sessions_log_in(void **state)
{
	static const char source[] = "export default { sessions: { shop: {"
	    "async login({fetch, session, secret, ancestors}) {"
	    "  await fetch('/form', {form: {a: ancestors[0]}});"
	    "  session.data.csrf = secret('pw') },"
	    "isExpired: res => res.url.endsWith('/login') },"
	    "broken: { login() { throw new Error('no') } } },"
	    "tasks: { t: { async run(c) { "
	    "const s = await c.session('shop'); c.log('i', s.data.csrf);"
	    "c.log('i', (await s.fetch('/a')).url);"
	    "c.log('i', (await c.fetch('/a', {session: s})).url);"
	    "s.invalidate();"
	    "try { await c.session('broken') } catch (e) { "
	    "c.log('i', e.message) } } } } }";
	struct shop shop = { .fetches = 0 };
	struct tried t;

	(void)state;
	tried_init_module(&t, world, source, NULL);
	t.run.secrets = STR("{\"pw\":\"{{secret.pw}}\"}");
	t.on_call = answer_shop;
	t.arg = &shop;
	tried_run(&t);
	assert_string_equal(t.message.p, "");
	assert_string_equal(buf_text(&t.log), "i: 7\ni: /a\ni: /a\ni: no\n");
	assert_string_equal(buf_text(&shop.calls),
	    "session {\"name\":\"shop\"}\n"
	    "fetch {\"url\":\"/form\",\"contentType\":"
	    "\"application/x-www-form-urlencoded\",\"session\":\"shop\","
	    "\"hasBody\":true}\n"
	    "session_store {\"name\":\"shop\",\"data\":{\"csrf\":"
	    "\"{{secret.pw}}\"}}\n"
	    "fetch {\"url\":\"/a\",\"session\":\"shop\",\"hasBody\":"
	    "false}\n"
	    "session_expired {\"name\":\"shop\",\"version\":2}\n"
	    "fetch {\"url\":\"/form\",\"contentType\":"
	    "\"application/x-www-form-urlencoded\",\"session\":\"shop\","
	    "\"hasBody\":true}\n"
	    "session_store {\"name\":\"shop\",\"data\":{\"csrf\":"
	    "\"{{secret.pw}}\"}}\n"
	    "fetch {\"url\":\"/a\",\"session\":\"shop\",\"hasBody\":"
	    "false}\n"
	    "fetch {\"url\":\"/a\",\"session\":\"shop\",\"hasBody\":"
	    "false}\n"
	    "session_invalidate {\"name\":\"shop\"}\n"
	    "session {\"name\":\"broken\"}\n"
	    "session_fail {\"name\":\"broken\",\"message\":\"no\"}\n");
	buf_free(&shop.calls);
	tried_free(&t);
}

struct asked {
	char args[600];
	struct buf body;
};

static void
keep_request(struct tried *t, struct script_call *c)
{
	struct asked *a = t->arg;
	char *text = yyjson_val_write(script_call_args(c), 0, NULL);

	snprintf(a->args, sizeof(a->args), "%s", text);
	free(text);
	buf_put_str(&a->body, script_call_body(c));
	script_call_fail(c, STR("{\"class\":\"FetchError\",\"code\":\"dns\","
	    "\"message\":\"no such host\",\"status\":503,\"retryAfter\":30,"
	    "\"response\":{\"status\":503,\"url\":\"http://a/\",\"headers\":"
	    "[[\"a\",\"b\"]]}}"), STR("busy"));
}

static void
test_fetch_options_reach_the_daemon(void **state)
{
	static const struct {
		const char *call, *args, *body;
	} rows[] = {
		{ "c.fetch('http://a/?q=1')", "{\"url\":\"http://a/?q=1\","
		    "\"hasBody\":false}", "" },
		{ "c.fetch('http://a/', {json:{a:[1]}})", "{\"url\":"
		    "\"http://a/\",\"contentType\":\"application/json\","
		    "\"hasBody\":true}", "{\"a\":[1]}" },
		{ "c.fetch('http://a/', {form:{'a b':'ü&',c:''}})",
		    "{\"url\":\"http://a/\",\"contentType\":"
		    "\"application/x-www-form-urlencoded\",\"hasBody\":true}",
		    "a+b=%C3%BC%26&c=" },
		{ "c.fetch('http://a/', {body:new Uint8Array([65,66])})",
		    "{\"url\":\"http://a/\",\"hasBody\":true}", "AB" },
		{ "c.fetch('http://a/', {method:'PUT',body:'ü',timeout:'5s',"
		    "session:{name:'s'},accept:[404],redirect:'manual'})",
		    "{\"url\":\"http://a/\",\"method\":\"PUT\",\"contentType\":"
		    "\"text/plain;charset=UTF-8\",\"timeout\":\"5s\","
		    "\"session\":\"s\",\"accept\":[404],\"redirect\":"
		    "\"manual\",\"hasBody\":true}", "ü" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tried t;
		struct asked a = { .body = BUF_INIT };
		struct buf body = BUF_INIT;
		buf_printf(&body, "await %s", rows[i].call);
		tried_init(&t, world, buf_text(&body));
		t.on_call = keep_request;
		t.arg = &a;
		tried_run(&t);
		assert_string_equal(a.args, rows[i].args);
		assert_string_equal(buf_text(&a.body), rows[i].body);
		assert_string_equal(t.code, "dns");
		assert_string_equal(t.class, "transient");
		assert_string_equal(t.message.p, "FetchError: no such host");
		tried_free(&t);
		buf_free(&a.body);
		buf_free(&body);
	}
}

static void
test_fetch_errors_have_the_response(void **state)
{
	struct tried t;
	struct asked a = { .body = BUF_INIT };

	(void)state;
	tried_init(&t, world, "try { await c.fetch('http://a/') } catch (e) {"
	    "c.log('i', [e instanceof FetchError, e.code, e.status, "
	    "e.retryAfter, e.response.status, e.response.text(), "
	    "e.response.headers.get('a')].join(' ')) }");
	t.on_call = keep_request;
	t.arg = &a;
	tried_run(&t);
	assert_string_equal(t.message.p, "");
	assert_string_equal(buf_text(&t.log),
	    "i: true dns 503 30 503 busy b\n");
	tried_free(&t);
}

static void
answer_text(struct tried *t, struct script_call *c)
{
	script_call_answer(c, STR("{\"status\":200,\"url\":\"http://a/\","
	    "\"headers\":[]}"), str_of(t->arg));
}

static void
answer_page(struct tried *t, struct script_call *c)
{
	script_call_answer(c, STR("{\"status\":200,\"url\":\"http://a/b/\","
	    "\"headers\":[[\"Content-Type\",\"text/html; charset=latin1\"]]}"),
	    str_of(t->arg));
}

static void
test_pages_are_documents(void **state)
{
	struct tried t;

	(void)state;
	tried_init(&t, world, "const r = await c.fetch('u'), $ = r.html();"
	    "c.log('i', [$('h1').text(), $('a').abs('href'), r.text().length,"
	    "new URL('../c', r.url).href, r.xml()('h1').text()].join(' '))");
	t.on_call = answer_page;
	t.arg = "<x><h1>caf\xe9</h1><a href=\"c?d\">x</a></x>";
	tried_run(&t);
	assert_string_equal(t.message.p, "");
	assert_string_equal(buf_text(&t.log), "i: caf\xc3\xa9 "
	    "http://a/b/c?d 39 http://a/c caf\xc3\xa9\n");
	tried_free(&t);
}

/* Whatever a library does the first time, it did before the sandbox. */
static void
test_globals_make_no_forbidden_call(void **state)
{
	(void)state;
	expect_passes(world,
	    "const bytes = new TextEncoder().encode('abc');"
	    "for (const a of ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512']) {"
	    "  const d = new Uint8Array(await crypto.subtle.digest(a, bytes));"
	    "  is(d.length >= 20, true, a);"
	    "  const h = await hmac(a, 'key', 'data');"
	    "  is(h.length >= 20 || h.byteLength >= 20, true, a) }"
	    "for (const l of ['utf-8', 'utf-16le', 'latin1', 'shift_jis', "
	    "'gb18030', 'big5', 'euc-kr', 'koi8-r', 'iso-2022-jp'])"
	    "  new TextDecoder(l).decode(bytes);"
	    "is(atob(btoa('abc')), 'abc');"
	    "is(structuredClone({a: [1]}), {a: [1]});"
	    "is(new URL('http://\xc3\xa4.example/').hostname, "
	    "'xn--4ca.example');"
	    "is(new URLSearchParams('a=1&b=2').get('b'), '2');"
	    "is(typeof '\xc3\xa4'.localeCompare('b'), 'number');"
	    "is('\xc3\x84'.normalize('NFD').length, 2);"
	    "is(new Date(0).toLocaleString().length > 0, true);"
	    "is((1234.5).toLocaleString().length > 0, true);"
	    "is(/\\p{L}/u.test('\xc3\xa4'), true);");
}

static void
test_lines_and_events(void **state)
{
	struct tried t;

	(void)state;
	tried_init(&t, world, "const l = []; const r = await c.fetch('u');"
	    "for await (const x of r.lines()) l.push(x);"
	    "c.log('i', JSON.stringify(l))");
	t.on_call = answer_text;
	t.arg = "a\r\n\nb\rc\nd";
	tried_run(&t);
	assert_string_equal(buf_text(&t.log),
	    "i: [\"a\",\"\",\"b\",\"c\",\"d\"]\n");
	tried_free(&t);
	tried_init(&t, world, "const l = []; const r = await c.fetch('u');"
	    "for await (const x of r.events()) l.push(x);"
	    "c.log('i', JSON.stringify(l))");
	t.on_call = answer_text;
	t.arg = ": hello\nevent: add\ndata: 1\ndata:2\nid: 7\n\n"
	    "data: {\"a\":1}\n\nevent: none\n\ndata: cut";
	tried_run(&t);
	assert_string_equal(buf_text(&t.log), "i: [{\"event\":\"add\","
	    "\"data\":\"1\\n2\",\"id\":\"7\"},{\"event\":\"message\","
	    "\"data\":\"{\\\"a\\\":1}\",\"id\":\"7\"}]\n");
	tried_free(&t);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fetch),
		cmocka_unit_test(test_sessions_log_in),
		cmocka_unit_test(test_fetch_options_reach_the_daemon),
		cmocka_unit_test(test_fetch_errors_have_the_response),
		cmocka_unit_test(test_pages_are_documents),
		cmocka_unit_test(test_globals_make_no_forbidden_call),
		cmocka_unit_test(test_lines_and_events),
	};

	script_testing_begin(argc, argv);
	return cmocka_run_group_tests(tests, open_world, close_world);
}
