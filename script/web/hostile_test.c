/*
 * Hostile documents, selectors and scripts, with their time and memory: each
 * ends with its named cause, and nothing is left behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <cmocka.h>

#include "script/web/document.h"
#include "script/web/web_testing.h"
#include "tests/rounds.h"

/* The limit of a task (contract of scripting, section 1). */
#define HEAP_BYTES (64u << 20)
#define SEEDS ROUNDS(4u)
/* The heap that test_floods fills. */
#define FLOOD_HEAP_BYTES ROUNDS(HEAP_BYTES)
/* More documents than the heap could hold at once. */
#define DROPPED (SANITIZED ? 6000u : 100000u)
#define OUT_OF_MEMORY "InternalError: out of memory"

static struct web_testing *web;

static int
set_up(void **state)
{
	(void)state;
	web = web_testing_open(HEAP_BYTES);
	return 0;
}

static int
set_up_for_floods(void **state)
{
	(void)state;
	web = web_testing_open(FLOOD_HEAP_BYTES);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	web_testing_close(&web);
	return 0;
}

static double
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* IS(), and a line of the table: name, CPU, heap. */
static void
measure(const char *name, const char *expression, const char *want)
{
	double started = cpu_ms();
	JSMemoryUsage usage;

	char *got = web_testing_eval(web, expression);
	double ms = cpu_ms() - started;
	/* Where there is no room for an error, QuickJS throws null. */
	if (strcmp(want, OUT_OF_MEMORY) != 0 || strcmp(got, "null") != 0)
		assert_string_equal(got, want);
	mem_free(&got);
	JS_ComputeMemoryUsage(web->rt, &usage);
	print_message("hostile: %-44s %8.1f ms, heap then %5.1f MB\n", name, ms,
	    (double)usage.malloc_size / 1e6);
	/* A hundred times what it takes here, without a sanitizer. */
	assert_true(ms < 60e3);
}
#define IS(expression, want) web_testing_check(web, expression, want)

static void
test_documents(void **state)
{
	(void)state;
	/* With <html> and <body>, 512 elements inside each other. */
	measure("200,000 nested <div>", "let $ ="
	    "load('<div>'.repeat(200000) + 'x'); let n = 0, e ="
	    "$('body').get(0); while ((e = e.children[0])) n++;"
	    "n + ' ' + $('div').length + $('body').text()", "510 510x");
	measure("200,000 nested <b>, <i a=N>",
	    "let many = ''; for (let i = 0; i < 100000; i++)"
	    "many += '<b><i a=' + i + '>'; $ = load(many + 'x');"
	    "$('*').length < 1100", "true");
	measure("30,000 attributes in a tag", "let attrs = '<p';"
	    "for (let i = 0; i < 30000; i++) attrs += ' a' + i + '=v';"
	    "$ = load(attrs + '>x'); $('p').attr('a511') +"
	    "$('p').attr('a512') + $('p').text()", "vundefinedx");
	measure("100 tags of 512 attributes", "attrs = '<p';"
	    "for (let i = 0; i < 512; i++) attrs += ' a' + i;"
	    "$ = load((attrs + '>').repeat(100)); $('p').length", "100");
	measure("formatting elements opened anew in 20,000 <p>",
	    "many = '<p>'; for (let i = 0; i < 400; i++)"
	    "many += '<b c=' + i + '>'; many += '</p><p>x'.repeat(20000);"
	    "load(many)", OUT_OF_MEMORY);
	measure("100,000 <table><tr><td> inside each other",
	    "$ = load('<table><tr><td>'.repeat(1e5)); $('td').length < 512",
	    "true");
	measure("1,000,000 unclosed <p>", "$ = null; many = null;"
	    "load('<p>'.repeat(1e6))", OUT_OF_MEMORY);
	measure("100,000 <option> in a <select>",
	    "load('<select>' + '<option>x'.repeat(1e5))('option').length",
	    "100000");
	measure("100,000 different names", "many = '';"
	    "for (let i = 0; i < 1e5; i++) many += '<x' + i + '/>';"
	    "load(many).root.find('x7').length", "1");
	measure("1,000,000 end tags",
	    "load('</div>'.repeat(1e6)).root.text().length", "0");
	measure("JSON-LD of 1,000,000 brackets",
	    "load('<script type=application/ld+json>' + '['.repeat(1e6))"
	    ".jsonld().length", "0");
	measure("a comment of 10 MB", "load('<!--' + 'x'.repeat(1e7))"
	    ".root.contents().get(0).textContent.length", "10000000");
}

static void
test_big_text(void **state)
{
	size_t n = 100u << 20;
	char *p = mem_new(n);

	(void)state;
	memset(p, 'x', n);
	double started = cpu_ms();
	assert_false(web_testing_load(web, "$", (struct str){ p, n },
	    "text/html", false));
	JSValue e = JS_GetException(web->ctx);
	const char *text = JS_ToCString(web->ctx, e);
	assert_string_equal(text, OUT_OF_MEMORY);
	JS_FreeCString(web->ctx, text);
	JS_FreeValue(web->ctx, e);
	print_message("hostile: 100 MB of text: %.1f ms\n", cpu_ms() - started);

	assert_true(JS_IsException(script_text_decode(web->ctx,
	    (struct str){ p, n }, STR("text/plain"))));
	JS_FreeValue(web->ctx, JS_GetException(web->ctx));
	memset(p, '\xe9', n);
	assert_true(JS_IsException(script_text_decode(web->ctx,
	    (struct str){ p, n }, STR("text/plain; charset=koi8-r"))));
	JS_FreeValue(web->ctx, JS_GetException(web->ctx));
	mem_free(&p);
	/* The next one is not harmed. */
	IS("load('<p>a').root.text()", "a");
}

static void
test_floods(void **state)
{
	char dropped[100];

	(void)state;
	measure("100,000 $ that are kept", "const kept = [];"
	    "for (let i = 0; i < 1e5; i++) kept.push(load('<p>' + i))",
	    OUT_OF_MEMORY);
	measure("200,000 Sel of one document", "kept.length = 0;"
	    "const $ = load('<p>'.repeat(100)); for (let i = 0; i < 2e5; i++)"
	    "kept.push($('p')); kept.length", OUT_OF_MEMORY);
	/* A small heap is full before QuickJS thinks of collecting again. */
	if (SANITIZED) {
		IS("kept.length = 0", "0");
		JS_RunGC(web->rt);
	}
	/* The heap could not hold all of them. */
	snprintf(dropped, sizeof(dropped), "kept.length = 0; for (let i = 0;"
	    "i < %u; i++) load('<p>' + i); 'done'", DROPPED);
	measure("100,000 $ that are dropped", dropped, "done");
	measure("1,000 selectors", "let n = 0; for (let i = 0; i < 1000; i++)"
	    "n += $('p:nth-child(' + i + ')').length; n", "100");
	measure("100,000 URL that are kept", "for (let i = 0; i < 1e5; i++)"
	    "kept.push(new URL('http://a/' + 'x'.repeat(60000)))",
	    OUT_OF_MEMORY);
	measure("markup of markup", "kept.length = 0; let s = '&';"
	    "for (let i = 0; i < 40; i++) s = load(s + s).root.html();"
	    "s.length", OUT_OF_MEMORY);
}

/* `expression` is cut by the first questions; no script can catch that. */
static void
check_cut(const char *name, const char *expression)
{
	web->questions = 0;
	web->questions_max = 20;
	measure(name, expression, "InternalError: interrupted");
	web->questions_max = 0;
	IS("1 + 1", "2");
}

static void
test_cut(void **state)
{
	(void)state;
	IS("const $ = load('<div>'.repeat(400) + '<p><b>x</b>'.repeat(2000));"
	    "const nest = n => ':has('.repeat(n) + 'nothing, q' +"
	    "')'.repeat(n); 0", "0");
	check_cut(":has() in :has(), 30 deep", "try { $('*' + nest(30)) }"
	    "catch (e) { 'caught' } finally { 'finally' }");
	check_cut("the same by is()", "$('div').is('div' + nest(20))");
	check_cut("the same by has()", "$('div').has('div' + nest(20))");
	check_cut("the same by closest()", "$('b').closest('*' + nest(20))");
	check_cut("the same by find()", "$('div').find('*' + nest(20))");
	check_cut("the same by filter()", "$('div').filter('*' + nest(20))");
	check_cut("the same by querySelector()",
	    "$.querySelector('*' + nest(30))");
	check_cut("1,000 classes of 1 MB", "const long = load('<p class=\"' +"
	    "'x '.repeat(5e5) + 'y\">').root; let hits = 0;"
	    "for (let i = 0; i < 100; i++)"
	    "hits += long.find('.y'.repeat(1000)).length; hits");
	check_cut("siblings of siblings",
	    "const f = load('<i></i><u></u>'.repeat(20000));"
	    "f('i ~ u ~ i ~ u ~ q, i:has(~ u:has(~ i:has(~ q)))')");
	check_cut("a callback without end", "$('div').each(() => {"
	    "for (;;) ; })");
	check_cut("parsing", "load('<p>x'.repeat(100000))");
	check_cut("parsing XML",
	    "load('<a>' + '<p>x</p>'.repeat(100000) + '</a>', true)");
	check_cut("itemref in itemref", "let s = ''; for (let i = 0; i < 60;"
	    "i++) s += '<p itemscope itemprop=q id=i' + i + ' itemref=\"' +"
	    "Array.from({ length: 60 }, (_, k) => 'i' + k).join(' ') +"
	    "'\"></p>'; load(s + '<div itemscope itemref=i0></div>')"
	    ".microdata()");
}

/* Bounded without being cut. */
static void
test_selectors(void **state)
{
	(void)state;
	IS("const $ = load('<div>'.repeat(400) + '<p><b>x</b></p>'"
	    ".repeat(10000)); 0", "0");
	measure("1,000 descendants on 400 levels",
	    "$('q ' + 'div '.repeat(1000) + 'b').length", "0");
	measure("li:nth-child() of 100,000", "const l = load('<ul>' +"
	    "'<li>'.repeat(100000)); l('li:nth-child(3n)').length + ' ' +"
	    "l('li:nth-last-child(2)').length + ' ' +"
	    "l('li:nth-of-type(even)').length", "33333 1 50000");
	measure("siblings of 100,000", "l('li').siblings().length", "100000");
	measure("parents of 20,000 on 400 levels",
	    "$('p, b').parents().length", "10402");
	measure(":contains() of all", "$('*:contains(q)').length", "0");
	measure("all in all", "$('*').find('*').length", "20402");
}

static void
test_scripts(void **state)
{
	(void)state;
	IS("let $ = load('<p>1<p>2<p>3'), n = 0; $('p').each((i, e) => {"
	    "$.root.children().remove(); n++ }); n + ' ' + $('p').length",
	    "3 0");
	IS("$ = load('<p>1<p>2'); let s = $('p'), e = s.get(1); $ = null;"
	    "s.text() + e.textContent + e.parentElement.tagName", "122body");
	IS("s = null; e.querySelectorAll(':scope').length", "0");
	/* Cycles through properties. */
	IS("for (let i = 0; i < 1000; i++) { const $ = load('<p>'), s ="
	    "$('p'), e = s.get(0); e.s = s; s.e = e; $.e = e; e.$ = $ }"
	    "'done'", "done");
	IS("$ = load('<p a=b>x'); const T = { get() { throw 1 }, set() {"
	    "throw 2 }, configurable: true };"
	    "for (const k of ['0', '1', 'length', 'get', 'done', 'value'])"
	    "try { Object.defineProperty(Object.prototype, k, T) }"
	    "catch (e) {} $('p, body').toArray().map(e => e.tagName).join()",
	    "body,p");
	IS("JSON.stringify($('p').map((i, e) => e.tagName)) +"
	    "$.links().length", "[\"p\"]0");
	IS("for (const k of ['0', '1', 'get', 'done', 'value'])"
	    "delete Object.prototype[k]; const A = Array.prototype, walk ="
	    "A[Symbol.iterator]; A[Symbol.iterator] = () => { throw 3 };"
	    "A.push = Function.prototype.call = null; let k = 0;"
	    "for (const e of $('p')) k++; k += $('p').get().length;"
	    "A[Symbol.iterator] = walk; k", "2");
	IS("for (const o of [$, $('p'), $('p').get(0)]) {"
	    "Object.setPrototypeOf(o, null) } $('p') instanceof Object",
	    "true");
	IS("const S = Object.getPrototypeOf(load('<p>')('p')); let bad = 0;"
	    "for (const k of Object.getOwnPropertyNames(S)) for (const t of"
	    "[{}, null, 5, S, [], load('<p>')]) try { const d ="
	    "Object.getOwnPropertyDescriptor(S, k); (d.value ?? d.get)"
	    ".apply(t, ['p', 'p']); bad++ } catch (e) { if (!(e instanceof "
	    "TypeError)) bad++ } bad", "0");
	IS("try { $(load('<p>')('p')) } catch (e) { e.message }",
	    "nodes of another document");
	IS("$ = load('<p>'); $('p').filter({}) ", "TypeError: neither a "
	    "selector nor a function, El or Sel");
	IS("try { $({ toString() { return 'p' } }) } catch (e) { e.name }",
	    "TypeError");
	IS("$('p').slice({ valueOf() { $('p').remove(); return 0 } }).length",
	    "1");
}

/*
 * Random calls on documents that are changed, dropped and loaded meanwhile, by
 * seeds.  Nothing may break; sanitizers watch.
 */
static void
test_random(void **state)
{
	static const char script[] =
	    "const run = first => { let seed = first; const rnd = n => (seed ="
	    "(Math.imul(seed, 1103515245) + 12345) & 0x7fffffff,"
	    "(seed >> 8) % n), any = a => a[rnd("
	    "a.length)]; const html = '<ul id=u><li class=a>1<li>2<ul><li a=b>"
	    "3</ul></ul><p>x<b>y</b>z</p><table><tr><td>1<td>2</table><form>"
	    "<input value=v><select><option>o</select></form><a href=x>l</a>"
	    "<div itemscope><i itemprop=n>v</i></div>', xml = '<r><p:a b=\"c"
	    "\">t</p:a><d/></r>'; const fresh = () => rnd(4) ? load(html) :"
	    "load(xml, true); const docs = [fresh(), fresh(), fresh()];"
	    "const css = ['*', 'li', ':has(b)', '> li', ':not(p)', '#u li',"
	    "':nth-child(2)', ':nth-last-of-type(1)', ':contains(\"y\")',"
	    "'+ *', '~ p', ':scope *', ':root', ':empty', 'p[', ''];"
	    "const nav = ['find', 'not', 'has', 'add', 'parent', 'parents',"
	    "'closest', 'children', 'contents', 'siblings', 'next', 'prev',"
	    "'first', 'last', 'filter', 'is']; const read = ['text', 'html',"
	    "'outerHtml', 'val', 'index', 'toArray']; const sels = []; let n ="
	    "0; for (let i = 0; i < 40; i++) sels.push(docs[i % 3]('*'));"
	    "for (let i = 0; i < 20000; i++) { const s = any(sels); let r;"
	    "try { switch (rnd(14)) { case 0: if (!rnd(20)) docs[rnd(3)] ="
	    "fresh(); r = any(docs)(any(css)); break;"
	    "case 1: r = rnd(9) ? s : s.remove(); break;"
	    "case 2: s.each((i, e) => { if (!rnd(9)) any(sels).remove();"
	    "return rnd(5) }); break;"
	    "case 3: r = s.filter((i, e) => rnd(2)); break;"
	    "case 4: r = s[any(nav)](any(sels)); break;"
	    "case 5: n += s[any(read)]().length | 0; break;"
	    "case 6: r = s.slice(rnd(5), rnd(9) - 2); break;"
	    "case 7: const e = s.get(rnd(s.length + 1)); if (e) { e.keep = s;"
	    "n += e.outerHTML.length + e.children.length; r = any(docs)(e) }"
	    "break; case 8: r = s.map((i, e) => e.parentElement).get(); n +="
	    "r.length; break; case 9: const d = any(docs); n += d.links()"
	    ".length + d.microdata().length; r = d.root; break;"
	    "default: r = s[any(nav)](rnd(3) ? any(css) : undefined) } }"
	    "catch (e) { if (!(e instanceof SyntaxError || e instanceof"
	    " TypeError)) throw e } if (r?.outerHtml) sels[rnd(40)] = r }"
	    "return n > 0 }; 'made'";

	(void)state;
	IS(script, "made");
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		char call[32];
		snprintf(call, sizeof(call), "run(%u)", seed);
		IS(call, "true");
		JS_RunGC(web->rt);
	}
}

/*
 * The script in a heap that has so much room left.  It is compiled before,
 * since QuickJS itself loses names when memory runs out while it compiles.
 */
static char *
run_within(const char *script, size_t bytes)
{
	JSContext *ctx = web->ctx;
	JSMemoryUsage usage;
	JSValue f = JS_Eval(ctx, script, strlen(script), "test",
	    JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY);

	assert_false(JS_IsException(f));
	JS_ComputeMemoryUsage(web->rt, &usage);
	JS_SetMemoryLimit(web->rt, (size_t)usage.malloc_size + bytes);
	JSValue v = JS_EvalFunction(ctx, f);
	JS_SetMemoryLimit(web->rt, 0);
	if (JS_IsException(v))
		v = JS_GetException(ctx);
	const char *text = JS_ToCString(ctx, v);
	char *copy = mem_copy_text(text == NULL ? "(none)" : text);
	JS_FreeCString(ctx, text);
	JS_FreeValue(ctx, v);
	return copy;
}

/* Every place where memory may run out: nothing is lost, nothing crashes. */
static void
test_no_memory(void **state)
{
	static const char script[] =
	    "const $ = load('<p a=b c=d>x<b>y</b><ul><li>1<li class=k>2</ul>'"
	    "+ '<div itemscope><a itemprop=x href=u>t</a></div>'.repeat(20) +"
	    "'<script type=\"application/ld+json\">{\"a\":[1,2]}</' +"
	    "'script><meta name=n content=c>'); const x = load('<r><i>1</i>' +"
	    "'</r>', true); $('p, li:nth-child(2 of .k), :has(> a)').parents()"
	    ".add('b').find('> b').html() + $.microdata().length +"
	    "$.jsonld().length + $.links().length + Object.keys($.meta()) +"
	    "$('li').remove().map((i, e) => e.outerHTML).join() +"
	    "$('*').text() + x('i').outerHtml() + [...$('*')].length +"
	    "new URL('?q=1#x', 'http://a/b').searchParams.toString() +"
	    "new URLSearchParams({ a: 1 }) + JSON.stringify(structuredClone("
	    "[new Map([[1, new Set([2])]]), new Uint8Array(9), new Date(1)]))"
	    "+ new TextDecoder('gbk').decode(new TextEncoder().encode('ab')) +"
	    "hmac('SHA-1', 'k', 'd').length";
	size_t good = 0, bad = 0;

	(void)state;
	web_testing_close(&web);
	for (size_t bytes = 4096; bytes < 2u << 20;
	    bytes += 2048 + bytes / 256) {
		web = web_testing_open(0);
		char *got = run_within(script, bytes);
		bool full = strcmp(got, OUT_OF_MEMORY) == 0 ||
		    strcmp(got, "null") == 0;
		good += !full;
		bad += full;
		if (!full)
			assert_memory_equal(got, "20", 2);
		mem_free(&got);
		web_testing_close(&web);
	}
	print_message("hostile: out of memory %zu times, enough %zu times\n",
	    bad, good);
	assert_true(bad > 100 && good > 50);
	web = web_testing_open(0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		CASE(test_documents), CASE(test_big_text),
		cmocka_unit_test_setup_teardown(test_floods, set_up_for_floods,
		    tear_down),
		CASE(test_cut), CASE(test_selectors), CASE(test_scripts),
		CASE(test_random),
		CASE(test_no_memory),
#undef CASE
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
