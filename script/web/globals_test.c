/*
 * The globals: URL and URLSearchParams (also by web-platform-tests' tables),
 * TextEncoder, TextDecoder, base64, structuredClone, digests.
 */
#include "engine/parser/suite_test.h"

#include "script/web/web_testing.h"

static struct web_testing *web;

static int
set_up(void **state)
{
	(void)state;
	web = web_testing_open(0);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	web_testing_close(&web);
	return 0;
}

#define IS(expression, want) web_testing_check(web, expression, want)

/* `cases` is the value of a suite's JSON file. */
static void
load_suite(const char *file)
{
	struct arena a = ARENA_INIT;
	struct str s = suite_need(file, &a);
	JSValue global = JS_GetGlobalObject(web->ctx);
	JSValue v = JS_ParseJSON(web->ctx, s.p, s.n, file);

	assert_false(JS_IsException(v));
	JS_SetPropertyStr(web->ctx, global, "cases", v);
	JS_FreeValue(web->ctx, global);
	arena_free(&a);
}

/*
 * The suite's own steps: url-constructor.any.js and url-setters.any.js.  ada
 * verifies punycode that the newest table lets pass; see url_test.c.
 */
static const char parts[] =
    "const parts = ['href', 'origin', 'protocol', 'username', 'password',"
    "'host', 'hostname', 'port', 'pathname', 'search', 'hash'];"
    "const odd = /xn--(pokx|\\/)/i; let bad = [], n = 0, late = 0;";

static void
check_urls(const char *file)
{
	load_suite(file);
	char *got = web_testing_eval(web, parts);
	mem_free(&got);
	IS("for (const c of cases) { if (typeof c == 'string') continue;"
	    "n++; let u = null; try { u = c.base == null ? new URL(c.input) :"
	    "new URL(c.input, c.base) } catch (e) {"
	    "if (!(e instanceof TypeError)) bad.push('thrown ' + e) }"
	    "if (c.failure ? u === null : u !== null && parts.every(p =>"
	    "!(p in c) || u[p] === c[p]) && (c.base != null ||"
	    "u.toString() === c.href)) {"
	    "if (URL.canParse(c.input, c.base ?? undefined) != !c.failure)"
	    "bad.push('canParse ' + c.input); continue }"
	    "if (odd.test(c.input)) late++; else bad.push(JSON.stringify(c)) }"
	    "bad.join('\\n')", "");
	got = web_testing_eval(web, "`${n - late} of ${n}, ${late} with"
	    " \"xn--\" and no name behind it`");
	print_message("conformance: %s through new URL(): %s\n", file, got);
	mem_free(&got);
	IS("n > 0 && late <= 8", "true");
}

static void
test_url_suite(void **state)
{
	(void)state;
	check_urls("url-wpt/urltestdata.json");
}

static void
test_url_suite_more(void **state)
{
	(void)state;
	check_urls("url-wpt/urltestdata-javascript-only.json");
}

static void
test_url_setters(void **state)
{
	(void)state;
	load_suite("url-wpt/setters_tests.json");
	IS("let bad = [], n = 0, late = 0; for (const part in cases) {"
	    "if (part == 'comment') continue; for (const c of cases[part]) {"
	    "if (c.new_value == 'xn--') { late++; continue }"
	    "n++; const u = new URL(c.href); u[part] = c.new_value;"
	    "for (const p in c.expected) if (u[p] !== c.expected[p])"
	    "bad.push(part + ' ' + p + ' ' + u[p] + JSON.stringify(c)) } }"
	    "bad.join('\\n')", "");
	char *got = web_testing_eval(web, "n");
	print_message("conformance: setters_tests.json: %s of %s\n", got, got);
	mem_free(&got);
	IS("n > 200 && late <= 2", "true");
}

static void
test_idna_suite(void **state)
{
	(void)state;
	load_suite("url-wpt/toascii.json");
	IS("let bad = [], n = 0, late = 0; for (const c of cases) {"
	    "if (typeof c == 'string') continue; n++; let host = null;"
	    "try { host = new URL('https://' + c.input + '/x').host }"
	    "catch (e) {} if (host === c.output) continue;"
	    "if (/xn--/i.test(c.input)) late++;"
	    "else bad.push(c.input + ' ' + host) } bad.join('\\n')", "");
	IS("n > 50 && late <= 7", "true");
}

static void
test_url(void **state)
{
	(void)state;
	IS("new URL('../x?y#z', 'http://u:p@H.example:80/a/b/c').href",
	    "http://u:p@h.example/a/x?y#z");
	IS("String(new URL('http://a/')) + JSON.stringify([new URL('b:c')])",
	    "http://a/[\"b:c\"]");
	IS("try { new URL('x') } catch (e) { e.name + ': ' + e.message }",
	    "TypeError: Invalid URL: x");
	IS("try { URL('http://a') } catch (e) { e.name }", "TypeError");
	IS("URL.canParse('x') + ' ' + URL.parse('x') + ' ' +"
	    "URL.parse('y', 'http://a/b').href", "false null http://a/y");
	IS("const u = new URL('http://a/?x=1&y=2'); u.searchParams.get('y')",
	    "2");
	IS("u.searchParams.append('z', '\\u00e4 &'); u.href",
	    "http://a/?x=1&y=2&z=%C3%A4+%26");
	IS("u.search = '?q'; [...u.searchParams.keys()].join()", "q");
	IS("u.searchParams.delete('q'); u.href + u.search", "http://a/");
	IS("u.searchParams === u.searchParams", "true");
	IS("u.href = 'http://b/?k=v'; u.searchParams.get('k')", "v");
	IS("try { u.href = 'x' } catch (e) { e.name + u.href }",
	    "TypeErrorhttp://b/?k=v");
	IS("class My extends URL {}; new My('http://c').host", "c");
	IS("new URL('http://a/\\ud800').href", "http://a/%EF%BF%BD");
	IS("const p = new URL('http://a/?x').searchParams; p.append('y', '');"
	    "p.toString()", "x=&y=");
	IS("try { new URL('http://a/' + 'x'.repeat(65536)) }"
	    "catch (e) { e.name }", "TypeError");
	IS("new URL('http://a/' + 'x'.repeat(65527)).href.length", "65536");
}

static void
test_params(void **state)
{
	(void)state;
	IS("const p = new URLSearchParams('?a=1&b=2&a=3+4%20%C3%A9');"
	    "p.getAll('a').join('|') + p.size", "1|3 4 \u00e9" "3");
	IS("p.get('z') + ' ' + p.has('a') + p.has('a', '1') + p.has('a', '2')",
	    "null truetruefalse");
	IS("p.set('a', 'x'); p.append('c', ''); p.toString()",
	    "a=x&b=2&c=");
	IS("p.delete('b', '9'); p.delete('c'); p.delete('b', '2'); `${p}`",
	    "a=x");
	IS("new URLSearchParams({ b: 1, a: 'y z' }).toString()", "b=1&a=y+z");
	IS("new URLSearchParams([['a', 'b'], new Set(['c', 'd'])]).toString()",
	    "a=b&c=d");
	IS("new URLSearchParams(new Map([['k', 'v']])).toString()", "k=v");
	IS("new URLSearchParams(new URLSearchParams('x=y')).toString()",
	    "x=y");
	IS("try { new URLSearchParams([['a']]) } catch (e) { e.name }",
	    "TypeError");
	IS("try { new URLSearchParams([['a', 'b', 'c']]) }"
	    "catch (e) { e.name }", "TypeError");
	IS("try { new URLSearchParams([5]) } catch (e) { e.name }",
	    "TypeError");
	IS("const s = new URLSearchParams('b=1&a=2&b=0'); s.sort(); `${s}`",
	    "a=2&b=1&b=0");
	IS("[...s].join('|') + [...s.keys()] + [...s.values()]",
	    "a,2|b,1|b,0a,b,b2,1,0");
	IS("let t = ''; s.forEach((v, k, o) => { t += k + v + (o === s) }); t",
	    "a2trueb1trueb0true");
	IS("for (const [k] of s) s.delete(k); `${s}`", "");
	IS("const l = new URLSearchParams('a=1&b=2&c=3'), seen = [];"
	    "for (const [k] of l) { seen.push(k); l.delete(k) } seen.join()",
	    "a,c");
	IS("new URLSearchParams('a=%zz&%&=&&b').toString()",
	    "a=%25zz&%25=&=&b=");
	IS("new URLSearchParams().toString() + new URLSearchParams('').size",
	    "0");
	IS("try { new URLSearchParams('x'.repeat(2 ** 20 + 1)) }"
	    "catch (e) { e.name }", "RangeError");
	IS("new URLSearchParams('x'.repeat(2 ** 20)).size", "1");
	IS("try { new URLSearchParams(function* () { for (;;) yield"
	    "['a', 'b'.repeat(999)] }()) } catch (e) { e.name }",
	    "RangeError");
	IS("try { new URLSearchParams({ get a() { throw 7 } }) }"
	    "catch (e) { e }", "7");
}

static void
test_encoder(void **state)
{
	(void)state;
	IS("[...new TextEncoder().encode('a\\u00e9\\u20ac\\ud83d\\ude00')]"
	    ".join()", "97,195,169,226,130,172,240,159,152,128");
	IS("[...new TextEncoder().encode('\\ud800x')].join()",
	    "239,191,189,120");
	IS("new TextEncoder().encode().length + new TextEncoder().encoding",
	    "0utf-8");
	IS("const b = new Uint8Array(5); JSON.stringify(new TextEncoder()"
	    ".encodeInto('a\\ud83d\\ude00b', b)) + b",
	    "{\"read\":3,\"written\":5}97,240,159,152,128");
	IS("JSON.stringify(new TextEncoder().encodeInto('\\u20acx',"
	    "new Uint8Array(2)))", "{\"read\":0,\"written\":0}");
	IS("try { new TextEncoder().encodeInto('x', 5) }"
	    "catch (e) { e.name }", "TypeError");
}

static void
test_decoder(void **state)
{
	(void)state;
	IS("const d = (label, ...b) => new TextDecoder(label).decode("
	    "new Uint8Array(b)); d('utf-8', 0xef, 0xbb, 0xbf, 0x61)", "a");
	IS("d(undefined, 0xe2, 0x82, 0xac)", "\u20ac");
	IS("d('utf8', 0x61, 0xff, 0xe2, 0x82, 0x62, 0xf0, 0x9f, 0x98)",
	    "a\ufffd\ufffd" "b\ufffd");
	IS("d('utf8', 0xed, 0xa0, 0x80)", "\ufffd\ufffd\ufffd");
	IS("d('latin1', 0xe9, 0x80)", "\u00e9\u20ac");
	IS("d('utf-16le', 0x61, 0, 0xac, 0x20)", "a\u20ac");
	IS("d('utf-16be', 0xfe, 0xff, 0, 0x61)", "a");
	IS("d('shift_jis', 0x93, 0xfa, 0x96, 0x7b)", "\u65e5\u672c");
	IS("d('euc-jp', 0xc6, 0xfc)", "\u65e5");
	IS("d('gb18030', 0xc4, 0xe3)", "\u4f60");
	IS("d('big5', 0xa7, 0x41)", "\u4f60");
	IS("d('koi8-r', 0xc1)", "\u0430");
	IS("d('gbk', 0xff, 0x61, 0x81)", "\ufffd" "a\ufffd");
	IS("d('euc-kr', 0xff, 0x61, 0xb0)", "\ufffd" "a\ufffd");
	IS("d('utf-16le', 0, 0xd8, 0x61, 0, 0x62)", "\ufffd" "a\ufffd");
	IS("d('shift_jis', 0xa0, 0x61, 0x81)", "\ufffd" "a\ufffd");
	IS("new TextDecoder(' LATIN1 ').encoding", "windows-1252");
	IS("try { new TextDecoder('nope') } catch (e) { e.name }",
	    "RangeError");
	IS("try { new TextDecoder('iso-2022-kr') } catch (e) { e.name }",
	    "RangeError");
	IS("try { new TextDecoder('utf-8', { fatal: true })"
	    ".decode(new Uint8Array([255])) } catch (e) { e.name }",
	    "TypeError");
	IS("try { new TextDecoder('gbk', { fatal: true })"
	    ".decode(new Uint8Array([255])) } catch (e) { e.name }",
	    "TypeError");
	IS("new TextDecoder('utf-8', { ignoreBOM: true }).decode("
	    "new Uint8Array([0xef, 0xbb, 0xbf])).length", "1");
	IS("new TextDecoder().decode(new Uint8Array([1, 97, 98]).buffer"
	    ".slice(1)) + new TextDecoder().decode()", "ab");
	IS("new TextDecoder().decode(new Uint16Array([0x6261, 0x63])"
	    ".subarray(0, 1))", "ab");
	IS("try { new TextDecoder().decode('x') } catch (e) { e.name }",
	    "TypeError");
}

/* Each text in two parts, cut at every place. */
static void
test_decoder_stream(void **state)
{
	(void)state;
	IS("const whole = (label, bytes) => { const want = new TextDecoder("
	    "label).decode(new Uint8Array(bytes)); let bad = 0;"
	    "for (let i = 0; i <= bytes.length; i++) {"
	    "const d = new TextDecoder(label); const got ="
	    "d.decode(new Uint8Array(bytes.slice(0, i)), { stream: true }) +"
	    "d.decode(new Uint8Array(bytes.slice(i)), { stream: true }) +"
	    "d.decode(); bad += got !== want } return bad };"
	    "whole('utf-8', [0xef, 0xbb, 0xbf, 0x61, 0xf0, 0x9f, 0x98, 0x80,"
	    "0xe2, 0x82, 0xff, 0xc3, 0xa9, 0xe2])", "0");
	IS("whole('shift_jis', [0x93, 0xfa, 0x61, 0x96, 0x7b, 0xb1, 0x93])",
	    "0");
	IS("whole('euc-jp', [0xc6, 0xfc, 0x61, 0xcb, 0xdc])", "0");
	IS("whole('utf-16le', [0x3d, 0xd8, 0, 0xde, 0x61, 0])", "0");
	IS("whole('gb18030', [0x81, 0x30, 0x81, 0x30, 0x61, 0xc4, 0xe3])",
	    "0");
	IS("const d = new TextDecoder(); d.decode(new Uint8Array([0xe2]),"
	    "{ stream: true }) + d.decode(new Uint8Array([0x61])) +"
	    "d.decode(new Uint8Array([0x62]))", "\ufffd" "ab");
}

static void
test_base64(void **state)
{
	(void)state;
	IS("btoa('h\\u00e9') + atob(' aGk= ')", "aOk=hi");
	IS("try { btoa('\\u20ac') } catch (e) { e.name }",
	    "InvalidCharacterError");
	IS("try { atob('a') } catch (e) { e.name }", "InvalidCharacterError");
}

static void
test_clone(void **state)
{
	(void)state;
	IS("const o = { a: [1, , 'x', null, undefined, 2n], d: new Date(5),"
	    "m: new Map([[{ k: 1 }, new Set([1, [2]])]]), r: /x/gi,"
	    "e: new TypeError('t'), __proto__: null }; o.self = o; o.b = o.a;"
	    "const c = structuredClone(o); c.self === c && c.a !== o.a &&"
	    "c.a === c.b && c.a.length == 6 && !(1 in c.a)", "true");
	IS("c.d.getTime() + ' ' + [...c.m.keys()][0].k +"
	    "[...[...c.m.values()][0]][1][0] + c.r + c.e.message +"
	    "(c.e instanceof TypeError)", "5 12/x/gittrue");
	IS("const buf = new ArrayBuffer(8); const v = structuredClone({"
	    "x: new Uint8Array(buf, 2, 3), y: new Float64Array(buf) });"
	    "v.x.length + ' ' + v.x.byteOffset + (v.x.buffer === v.y.buffer) +"
	    "(v.x.buffer !== buf)", "3 2truetrue");
	IS("structuredClone('s') + structuredClone(1) + structuredClone(null)",
	    "s1null");
	IS("const refused = f => { try { structuredClone(f); return 'no' }"
	    "catch (e) { return e.name } }; [() => 1, Symbol(),"
	    "new Proxy({}, {}), Promise.resolve(), new URL('a:b'),"
	    "new WeakMap(), [() => 1]].map(refused).join()",
	    "DataCloneError,DataCloneError,DataCloneError,DataCloneError,"
	    "DataCloneError,DataCloneError,DataCloneError");
	IS("structuredClone(JSON.parse('{\"__proto__\":{\"x\":1}}')).x +"
	    "' ' + Object.keys(structuredClone(JSON.parse("
	    "'{\"__proto__\":{\"x\":1}}')))", "undefined __proto__");
	IS("let deep = []; for (let i = 0; i < 998; i++) deep = [deep];"
	    "structuredClone({ deep }).deep.length", "1");
	IS("try { structuredClone({ deep: [deep] }) } catch (e) { e.name }",
	    "RangeError");
	IS("try { structuredClone({ get x() { throw 5 } }) }"
	    "catch (e) { e }", "5");
	IS("try { structuredClone() } catch (e) { e.name }", "TypeError");
}

/* FIPS 180-2's and RFC 4231's examples. */
static void
test_digest(void **state)
{
	(void)state;
	IS("const hex = b => [...new Uint8Array(b)].map(x =>"
	    "x.toString(16).padStart(2, '0')).join('');"
	    "const abc = new TextEncoder().encode('abc');"
	    "crypto.subtle.digest('SHA-1', abc).then(hex)",
	    "a9993e364706816aba3e25717850c26c9cd0d89d");
	IS("crypto.subtle.digest({ name: 'sha-256' }, abc.buffer).then(hex)",
	    "ba7816bf8f01cfea414140de5dae2223"
	    "b00361a396177a9cb410ff61f20015ad");
	IS("crypto.subtle.digest('SHA-384', abc).then(x => hex(x).slice(-8))",
	    "34c825a7");
	IS("crypto.subtle.digest('SHA-512', new Uint8Array()).then(x =>"
	    "hex(x).slice(0, 8))", "cf83e135");
	IS("crypto.subtle.digest('MD5', abc).catch(e => e.name)",
	    "NotSupportedError");
	IS("crypto.subtle.digest('SHA-1', 'abc').catch(e => e.name)",
	    "TypeError");
	IS("hex(hmac('SHA-256', 'Jefe', 'what do ya want for nothing?'))",
	    "5bdcc146bf60754e6a042426089575c7"
	    "5a003f089d2739839dec58b964ec3843");
	IS("hex(hmac('sha1', new Uint8Array(20).fill(0x0b),"
	    "new TextEncoder().encode('Hi There')))",
	    "b617318655057264e28bc0b6fb378c8ef146be00");
	IS("hmac('SHA-512', '', '').length", "64");
	IS("try { hmac('SHA-3', '', '') } catch (e) { e.name }",
	    "NotSupportedError");
	IS("try { hmac('SHA-256', 5, '') } catch (e) { e.name }",
	    "TypeError");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		CASE(test_url_suite), CASE(test_url_suite_more),
		CASE(test_url_setters), CASE(test_idna_suite), CASE(test_url),
		CASE(test_params), CASE(test_encoder), CASE(test_decoder),
		CASE(test_decoder_stream), CASE(test_base64),
		CASE(test_clone), CASE(test_digest),
#undef CASE
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
