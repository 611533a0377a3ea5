/* The task API, as scripts use it. */
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
test_context_has_the_lease(void **state)
{
	(void)state;
	expect_passes(world,
	    "is(c.id, 'x'); is(c.task, 't'); is(c.attempt, 1);"
	    "is(c.data, {url:'http://a/',n:1,deep:{list:[1,2]}});"
	    "is(c.item.rev, 7); is(c.item.aliases, ['x','EAN:1']);"
	    "is(c.item.tags, [{name:'a'},{name:'site',value:'eu'}]);"
	    "is(c.item.createdBy, 'w');"
	    "is(c.item.createdAt, '2026-11-20T06:00:00.000Z');"
	    "is(c.item.updatedAt, '2026-11-20T06:30:00.000Z');");
	expect_passes(world,
	    "throws(() => { c.data.n = 2 }, 'TypeError');"
	    "throws(() => { c.data.deep.list.push(3) }, 'TypeError');"
	    "throws(() => { c.item.tags[0].name = 'b' }, 'TypeError');"
	    "throws(() => { c.getItem = null }, 'TypeError');"
	    "throws(() => { c.more = 1 }, 'TypeError');");
}

static void
test_globals(void **state)
{
	(void)state;
	expect_passes(world,
	    "for (const name of ['setTimeout', 'Atomics', 'WeakRef', "
	    "'SharedArrayBuffer', 'FinalizationRegistry', 'performance', "
	    "'queueMicrotask', 'std', 'os', 'process', 'require'])"
	    "  is(typeof globalThis[name], 'undefined', name);"
	    "is(typeof console.log, 'function');"
	    "for (const name of ['FetchError', 'NotFoundError', "
	    "'MutationError', 'ReplayMiss', 'TransientError', "
	    "'PermanentError']) { const e = new globalThis[name]('m');"
	    "  is(e instanceof Error, true); is(e.name, name);"
	    "  is(e.message, 'm'); is(String(e), name + ': m') }"
	    "is(new FetchError('m', {code:'dns', status:5}).code, 'dns');");
}

static void
test_clock_and_chance_are_the_runs(void **state)
{
	(void)state;
	expect_passes(world,
	    "is(Date.now(), Date.UTC(2026, 10, 20, 7, 0, 0, 250));"
	    "is(new Date().toISOString(), '2026-11-20T07:00:00.250Z');"
	    "is(new Date().getTimezoneOffset(), 0);"
	    "is(new Date(2020, 0, 1).toISOString(), "
	    "'2020-01-01T00:00:00.000Z');"
	    "is(Date().startsWith('Fri Nov 20 2026 07:00:00 GMT+0000'), true, "
	    "Date());"
	    "is(new Date() instanceof Date, true);"
	    "is(Date.prototype.constructor === Date, true);"
	    "class D extends Date {}; is(new D() instanceof D, true);"
	    "is(new D().getTime(), Date.now());"
	    "is(Date.parse('1970-01-01'), 0); is(Date.length, 7);"
	    "for (let i = 0; i < 1e6; i++); is(Date.now() % 1000, 250);");
	struct tried a, b;
	const char *body = "c.log('info', `${Math.random()} ${Math.random()} "
	    "${c.randomId()} ${c.randomId('p:')}`)";
	tried_init(&a, world, body);
	tried_init(&b, world, body);
	tried_run(&a);
	tried_run(&b);
	assert_string_equal(buf_text(&a.log), buf_text(&b.log));
	assert_non_null(strstr(a.log.p, " p:"));
	assert_true(a.log.n > 60);
	tried_free(&a);
	tried_free(&b);
	expect_passes(world,
	    "is(c.randomId().length, 26); const a = c.randomId(), "
	    "b = c.randomId();"
	    "is(a.slice(0, 9), b.slice(0, 9)); is(a === b, false);");
}

static void
test_reads(void **state)
{
	(void)state;
	expect_passes(world,
	    "is(await c.getItem('y'), {m:2});"
	    "is(await c.getItem({id:'y'}), {m:2});"
	    "is((await c.getItem({id:'y',record:true})).rev, 3);"
	    "is(await c.getItem({id:'z',optional:true}), undefined);"
	    "try { await c.getItem('z'); is(1, 2) } catch (e) {"
	    "  is(e instanceof NotFoundError, true); is(e.message, "
	    "\"there is no item 'z'\") }"
	    "is(await c.getMetadata('t'), {k:1});"
	    "is(await c.getMetadata('none'), undefined);"
	    "is(await c.getMetadata({id:'y',taskName:'old'}), undefined);"
	    "is(await c.getMetadata({id:'y',taskName:'old',"
	    "allowStale:true}), {k:5});"
	    "const blob = await c.getBlob('pic');"
	    "is(blob instanceof Uint8Array, true); is([...blob], [1,2,3]);"
	    "throws(() => c.getItem({id:'y',opt:true}), 'TypeError', "
	    "\"unknown option 'opt'\");"
	    "throws(() => c.getItem(), 'TypeError');"
	    "throws(() => c.getMetadata({}), 'TypeError', 'taskName');"
	    "const y = await c.getItem('y');"
	    "throws(() => { y.m = 3 }, 'TypeError');");
}

static void
test_mutations_are_queued_as_they_are_called(void **state)
{
	static const struct {
		const char *call, *op;
	} rows[] = {
		{ "c.createItem({id:'n', data:{a:1}, tags:['t','s=v',"
		    "{name:'q',value:'r'}], aliases:['z'], failIfExists:true, "
		    "createdBy:'w'})", "{\"op\":\"createItem\",\"id\":\"n\","
		    "\"data\":{\"a\":1},\"tags\":[\"t\",\"s=v\",{\"name\":"
		    "\"q\",\"value\":\"r\"}],\"aliases\":[\"z\"],"
		    "\"failIfExists\":true,\"createdBy\":\"w\"}" },
		{ "c.createItem({data:{}})", "{\"op\":\"createItem\","
		    "\"data\":{}}" },
		{ "c.renameItem('n')", "{\"op\":\"renameItem\",\"to\":\"n\","
		    "\"from\":\"x\"}" },
		{ "c.renameItem({from:'y',to:'n'})", "{\"op\":\"renameItem\","
		    "\"from\":\"y\",\"to\":\"n\"}" },
		{ "c.mergeItem({into:'y'})", "{\"op\":\"mergeItem\",\"into\":"
		    "\"y\",\"from\":\"x\"}" },
		{ "c.deleteItem()", "{\"op\":\"deleteItem\",\"id\":\"x\"}" },
		{ "c.deleteItem({id:'y'})", "{\"op\":\"deleteItem\",\"id\":"
		    "\"y\"}" },
		{ "c.createAlias({from:'n'})", "{\"op\":\"createAlias\","
		    "\"from\":\"n\",\"to\":\"x\"}" },
		{ "c.deleteAlias('n')", "{\"op\":\"deleteAlias\",\"from\":"
		    "\"n\"}" },
		{ "c.updateTags({add:['a'],remove:['b']})", "{\"op\":"
		    "\"updateTags\",\"add\":[\"a\"],\"remove\":[\"b\"],"
		    "\"id\":\"x\"}" },
		{ "c.expire()", "{\"op\":\"expire\",\"id\":\"x\","
		    "\"taskName\":\"t\"}" },
		{ "c.expire({taskName:'o'})", "{\"op\":\"expire\","
		    "\"taskName\":\"o\",\"id\":\"x\"}" },
		{ "c.setTTL('30d')", "{\"op\":\"setTTL\",\"ttl\":\"30d\","
		    "\"id\":\"x\",\"taskName\":\"t\"}" },
		{ "c.setTTL(null)", "{\"op\":\"setTTL\",\"ttl\":null,\"id\":"
		    "\"x\",\"taskName\":\"t\"}" },
		{ "c.setTTL({id:'y',ttl:5000})", "{\"op\":\"setTTL\",\"id\":"
		    "\"y\",\"ttl\":5000,\"taskName\":\"t\"}" },
		{ "c.completeFor({id:'y',metadata:{a:1},ttl:'1d'})", "{\"op\":"
		    "\"completeFor\",\"id\":\"y\",\"metadata\":{\"a\":1},"
		    "\"ttl\":\"1d\"}" },
		{ "c.putBlob({name:'p',bytes:new Uint8Array([1]),"
		    "type:'a/b'})", "{\"op\":\"putBlob\",\"name\":\"p\","
		    "\"type\":\"a/b\",\"id\":\"x\",\"sha256\":\"abc\"}" },
		{ "c.putBlob({name:'p',bytes:await c.fetch('http://a/')})",
		    "{\"op\":\"putBlob\",\"name\":\"p\",\"id\":\"x\","
		    "\"sha256\":\"abc\"}" },
		{ "c.deleteBlob({name:'p'})", "{\"op\":\"deleteBlob\","
		    "\"name\":\"p\",\"id\":\"x\"}" },
		{ "c.updateData(old => ({...old, a:2}))", "{\"op\":"
		    "\"updateData\",\"id\":\"x\",\"data\":{\"n\":1,\"a\":2},"
		    "\"rev\":7}" },
		{ "c.updateData({id:'EAN:1',merge(o) { o.n++; return o }})",
		    "{\"op\":\"updateData\",\"id\":\"EAN:1\",\"data\":{\"n\":"
		    "2},\"rev\":7}" },
		{ "c.updateMetadata(old => ({k:old.k + 1}))", "{\"op\":"
		    "\"updateMetadata\",\"id\":\"x\",\"taskName\":\"t\","
		    "\"metadata\":{\"k\":2},\"rev\":2}" },
		{ "c.updateMetadata({id:'y',merge: old => ({...old,k:9})})",
		    "{\"op\":\"updateMetadata\",\"id\":\"y\",\"taskName\":"
		    "\"t\",\"metadata\":{\"k\":9},\"rev\":0}" },
		{ "c.createItem({id:'n',allowUpsert:true,update: old => "
		    "({...old,a:1})})", "{\"op\":\"createItem\",\"id\":\"n\","
		    "\"allowUpsert\":true,\"data\":{\"a\":1},\"rev\":0}" },
		{ "c.createItem({id:'y',allowUpsert:true,update: old => "
		    "({...old,a:1})})", "{\"op\":\"createItem\",\"id\":\"y\","
		    "\"allowUpsert\":true,\"data\":{\"m\":2,\"a\":1},\"rev\":"
		    "3}" },
		{ "c.mergeItem({into:'y',merge:(a,b) => ({...a,...b}),"
		    "mergeMetadata:{old:(a,b) => ({k:a.k,b})}})", "{\"op\":"
		    "\"mergeItem\",\"into\":\"y\",\"from\":\"x\",\"metadata\":"
		    "{\"old\":{\"k\":5,\"b\":{}}},\"data\":{\"m\":2,\"n\":1},"
		    "\"rev\":3,\"fromRev\":7}" },
		{ "c.mergeItem({into:'y',from:'none',merge:(a,b) => "
		    "({...a,b})})", "{\"op\":\"mergeItem\",\"into\":\"y\","
		    "\"from\":\"none\",\"data\":{\"m\":2,\"b\":{}},\"rev\":3,"
		    "\"fromRev\":0}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf want = BUF_INIT;
		buf_printf(&want, "[%s]", rows[i].op);
		expect_success(world, rows[i].call, buf_text(&want));
		buf_free(&want);
	}
}

/* Operations after others of the same run: no revision of the store fits. */
static void
test_callbacks_follow_earlier_operations(void **state)
{
	(void)state;
	expect_success(world, "c.updateData(o => ({n:o.n + 1}));"
	    "c.updateData(o => ({n:o.n * 10}))",
	    "[{\"op\":\"updateData\",\"id\":\"x\",\"data\":{\"n\":2},\"rev\":"
	    "7},{\"op\":\"updateData\",\"id\":\"x\",\"data\":{\"n\":20}}]");
	expect_success(world, "c.createItem({id:'n',data:{a:1}});"
	    "c.updateData({id:'n',merge:o => ({...o,b:2})})",
	    "[{\"op\":\"createItem\",\"id\":\"n\",\"data\":{\"a\":1}},{\"op\":"
	    "\"updateData\",\"id\":\"n\",\"data\":{\"a\":1,\"b\":2}}]");
	/* It exists, so creating it is skipped and its own data counts. */
	expect_success(world, "c.createItem({id:'y',data:{a:1}});"
	    "c.updateData({id:'y',merge:o => ({...o,b:2})})",
	    "[{\"op\":\"createItem\",\"id\":\"y\",\"data\":{\"a\":1}},{\"op\":"
	    "\"updateData\",\"id\":\"y\",\"data\":{\"m\":2,\"b\":2},\"rev\":"
	    "3}]");
	expect_success(world, "c.renameItem('n');"
	    "c.updateData({id:'n',merge:o => ({...o,b:2})})",
	    "[{\"op\":\"renameItem\",\"to\":\"n\",\"from\":\"x\"},{\"op\":"
	    "\"updateData\",\"id\":\"n\",\"data\":{\"n\":1,\"b\":2},\"rev\":"
	    "7}]");
	expect_success(world, "c.mergeItem({into:'y'});"
	    "c.updateData({id:'x',merge:o => ({...o,b:2})})",
	    "[{\"op\":\"mergeItem\",\"into\":\"y\",\"from\":\"x\"},{\"op\":"
	    "\"updateData\",\"id\":\"x\",\"data\":{\"m\":2,\"b\":2}}]");
	expect_success(world, "c.updateMetadata(o => ({k:o.k + 1}));"
	    "c.updateMetadata(o => ({k:o.k + 1}))",
	    "[{\"op\":\"updateMetadata\",\"id\":\"x\",\"taskName\":\"t\","
	    "\"metadata\":{\"k\":2},\"rev\":2},{\"op\":\"updateMetadata\","
	    "\"id\":\"x\",\"taskName\":\"t\",\"metadata\":{\"k\":3}}]");
	expect_success(world, "c.createAlias({from:'al',to:'y'});"
	    "c.updateData({id:'al',merge:o => ({...o,b:2})})",
	    "[{\"op\":\"createAlias\",\"from\":\"al\",\"to\":\"y\"},{\"op\":"
	    "\"updateData\",\"id\":\"al\",\"data\":{\"m\":2,\"b\":2},\"rev\":"
	    "3}]");
	expect_code(world, "c.deleteItem({id:'y'}); c.updateData({id:'y',"
	    "merge:o => o})", "mutation");
}

static void
test_bad_arguments_are_mutation_errors(void **state)
{
	static const struct {
		const char *call, *reason;
	} rows[] = {
		{ "c.createItem()", "the argument is no object" },
		{ "c.createItem({id:1,data:{}})", "id: it is no string" },
		{ "c.createItem({data:[]})", "data: it is no object" },
		{ "c.createItem({})", "data: either data or update is "
		    "wanted" },
		{ "c.createItem({id:'a',data:{},update:o => o,"
		    "allowUpsert:true})", "data: either data or update" },
		{ "c.createItem({id:'a',update:o => o})", "allowUpsert: it "
		    "goes with update" },
		{ "c.createItem({update:o => o,allowUpsert:true})",
		    "id: it is missing" },
		{ "c.createItem({data:{},tags:'a'})", "tags: it is no list of "
		    "tags" },
		{ "c.createItem({data:{},tags:[{}]})", "tags: it is no list" },
		{ "c.createItem({data:{},nope:1})", "nope: there is no such "
		    "argument" },
		{ "c.createItem({data:{a:NaN}})", "data: a number is not "
		    "finite" },
		{ "c.createItem({data:{a:1n}})", "data: it is no JSON" },
		{ "c.createItem({data:{a:'\\ud800'}})", "data: a text has half "
		    "of a surrogate pair" },
		{ "c.createItem({data:{a:() => 1}})", "data: it is no JSON" },
		{ "c.createItem({data:{a:new Map()}})", "data: it is no "
		    "JSON" },
		{ "c.createItem({data:{a:[,1]}})", "data: an element is "
		    "undefined" },
		{ "c.createItem({data:{get a() { throw 1 }}})", "data: a "
		    "getter threw" },
		{ "c.createItem({get data() { throw 1 }})", "data: a getter "
		    "threw" },
		{ "const o = {}; o.o = o; c.createItem({data:o})", "data: it "
		    "is deeper than 64" },
		{ "c.renameItem({})", "to: it is missing" },
		{ "c.mergeItem({into:'y',merge:1})", "merge: it is no "
		    "function" },
		{ "c.mergeItem({into:'y',mergeMetadata:{a:1}})",
		    "mergeMetadata: it is no object of functions" },
		{ "c.setTTL({})", "ttl: it is missing" },
		{ "c.setTTL(-1)", "ttl: it is no duration" },
		{ "c.updateData(1)", "the argument is no object" },
		{ "c.updateData({})", "merge: it is missing" },
		{ "c.putBlob({name:'a',bytes:'x'})", "bytes: it holds no "
		    "bytes" },
		{ "c.putBlob({name:'a'})", "bytes: it is missing" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf body = BUF_INIT;
		buf_printf(&body, "const e = throws(() => { %s }, "
		    "'MutationError'); is(e instanceof MutationError, true); "
		    "if (!e.reason.startsWith(\"%s\")) is(e.reason, \"%s\"); "
		    "is(e.message, e.op + ': ' + e.reason);", rows[i].call,
		    rows[i].reason, rows[i].reason);
		expect_passes(world, buf_text(&body));
		buf_free(&body);
	}
}

/* Values are read when they are handed in, once, and whole. */
static void
test_values(void **state)
{
	(void)state;
	expect_success(world, "let n = 0; const o = {get a() { return ++n }};"
	    "c.createItem({id:'n',data:o}); o.b = 1;",
	    "[{\"op\":\"createItem\",\"id\":\"n\",\"data\":{\"a\":1}}]");
	expect_success(world, "c.createItem({id:'n',data:JSON.parse('{"
	    "\"__proto__\":{\"a\":1},\"constructor\":2}')})",
	    "[{\"op\":\"createItem\",\"id\":\"n\",\"data\":{\"__proto__\":"
	    "{\"a\":1},\"constructor\":2}}]");
	expect_success(world, "c.createItem({id:'n',data:{d:new Date(0),"
	    "u:undefined,f:1.5,e:1e300,i:-0,s:'\\n\\u00e9\\ud83d\\ude00'}})",
	    "[{\"op\":\"createItem\",\"id\":\"n\",\"data\":{\"d\":"
	    "\"1970-01-01T00:00:00.000Z\",\"f\":1.5,\"e\":1e+300,\"i\":0,"
	    "\"s\":\"\\u000a\xc3\xa9\xf0\x9f\x98\x80\"}}]");
	/* 64 objects in each other are not too many. */
	expect_passes(world,
	    "let d = {}; for (let i = 1; i < 64; i++) d = {d};"
	    "c.createItem({id:'n',data:d});"
	    "throws(() => c.createItem({id:'n',data:{d}}), 'MutationError', "
	    "'deeper');");
}

/* What scripts may replace is not used. */
static void
test_replaced_globals_change_nothing(void **state)
{
	(void)state;
	expect_success(world, "JSON.stringify = JSON.parse = () => { throw 1 };"
	    "Object.keys = Object.entries = Object.freeze = null;"
	    "Object.defineProperty(Object.prototype, 'failIfExists', "
	    "{get() { throw 2 }, set() { throw 3 }});"
	    "Object.defineProperty(Object.prototype, 'data', "
	    "{get() { throw 2 }, set() { throw 3 }});"
	    "Array.prototype[Symbol.iterator] = () => { throw 4 };"
	    "Array.prototype.push = () => { throw 5 };"
	    "String.prototype.toString = () => { throw 6 };"
	    "globalThis.Promise = globalThis.Error = undefined;"
	    "const y = await c.getItem('y');"
	    "c.createItem({id:'n',data:y,tags:['a']});"
	    "c.updateData(o => ({n:o.n + 1}))",
	    "[{\"op\":\"createItem\",\"id\":\"n\",\"data\":{\"m\":2},\"tags\":"
	    "[\"a\"]},{\"op\":\"updateData\",\"id\":\"x\",\"data\":{\"n\":2},"
	    "\"rev\":7}]");
	expect_success(world, "Promise.prototype.then = () => { throw 1 };"
	    "const y = await c.getItem('y'); c.createItem({id:'n',data:y})",
	    "[{\"op\":\"createItem\",\"id\":\"n\",\"data\":{\"m\":2}}]");
}

static void
test_failures(void **state)
{
	static const struct {
		const char *body, *class, *code, *message;
	} rows[] = {
		{ "throw new TypeError('bad')", "permanent", "error",
		    "TypeError: bad" },
		{ "null.x", "permanent", "error", "TypeError: cannot read "
		    "property 'x' of null" },
		{ "throw 'text'", "permanent", "error", "text" },
		{ "throw {a:1}", "permanent", "error", "an object was "
		    "thrown" },
		{ "throw Symbol('a')", "permanent", "error", "a value was "
		    "thrown" },
		{ "throw new TransientError('later')", "transient",
		    "transient", "TransientError: later" },
		{ "class E extends TransientError {}; throw new E('later', "
		    "{code:'mine'})", "transient", "mine", "TransientError: "
		    "later" },
		{ "throw new PermanentError('no')", "permanent", "permanent",
		    "PermanentError: no" },
		{ "throw new FetchError('no', {code:'robots'})", "permanent",
		    "robots", "FetchError: no" },
		{ "throw new FetchError('no', {code:'tls'})", "transient",
		    "tls", "FetchError: no" },
		{ "await c.getItem('z')", "permanent", "not_found",
		    "NotFoundError: there is no item 'z'" },
		{ "c.createItem()", "permanent", "mutation",
		    "MutationError: createItem: the argument is no object" },
		{ "throw {get message() { throw 1 }, get name() { throw 2 }, "
		    "get stack() { throw 3 }}", "permanent", "error",
		    "an object was thrown" },
		{ "throw new Proxy({}, {getPrototypeOf() { throw 1 }, get() { "
		    "throw 2 }})", "permanent", "error", "an object was "
		    "thrown" },
		{ "await new Promise(() => {})", "permanent",
		    "never_settles", "the run's promise has nothing left to "
		    "wait for" },
		{ "c.getItem('y')", "permanent", "unawaited", "the run has "
		    "ended before a host call that it made: await is "
		    "missing" },
		{ "Promise.reject(new Error('lost')); await c.getItem('y')",
		    "permanent", "error", "Error: lost" },
		{ "c.updateData(() => 1)", "permanent", "mutation",
		    "MutationError: updateData: the callback gave no "
		    "object" },
		{ "c.updateData(async () => ({}))", "permanent", "mutation",
		    "MutationError: updateData: it is no JSON" },
		{ "c.updateData(() => { throw new Error('cb') })",
		    "permanent", "error", "Error: cb" },
		{ "c.updateData({id:'none',merge:o => o})", "permanent",
		    "mutation", "MutationError: updateData: there is no such "
		    "item" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tried t;
		tried_init(&t, world, rows[i].body);
		tried_run(&t);
		assert_false(t.is_success);
		assert_string_equal(t.message.p, rows[i].message);
		assert_string_equal(t.class, rows[i].class);
		assert_string_equal(t.code, rows[i].code);
		assert_string_equal(t.mutations.p, "[]");
		tried_free(&t);
	}
	/* The stack names file and line: the body begins on line 2. */
	struct tried t;
	tried_init(&t, world, "\nfunction f() {\nthrow new Error('deep') }\n"
	    "f()");
	tried_run(&t);
	assert_non_null(strstr(t.stack.p, "f (main.js:4"));
	tried_free(&t);
	/* A rejection that is handled later is none. */
	expect_success(world, "const p = Promise.reject(1); "
	    "await c.getItem('y'); try { await p } catch {}", "[]");
}

static void
test_allow_failure_keeps_mutations(void **state)
{
	struct tried t;

	(void)state;
	tried_init(&t, world, "c.allowFailure(); c.expire(); throw 1");
	tried_run(&t);
	assert_false(t.is_success);
	assert_true(t.allow_failure);
	assert_string_equal(t.mutations.p, "[{\"op\":\"expire\",\"id\":\"x\","
	    "\"taskName\":\"t\"}]");
	tried_free(&t);
	tried_init(&t, world, "c.allowFailure(); c.allowFailure(false); "
	    "c.expire(); throw 1");
	tried_run(&t);
	assert_false(t.allow_failure);
	assert_string_equal(t.mutations.p, "[]");
	tried_free(&t);
	/* onFailure: "store" begins allowed. */
	tried_init(&t, world, "c.expire(); throw 1");
	t.run.keep_on_failure = true;
	tried_run(&t);
	assert_true(t.allow_failure);
	assert_int_equal(t.mutations.p[1], '{');
	tried_free(&t);
}

static void
test_log(void **state)
{
	struct tried t;

	(void)state;
	tried_init(&t, world, "c.log('info','a'); c.log('mine', 5);"
	    "console.log('b', 1, {c:[2]}, null, undefined);"
	    "console.warn(new Error('w')); console.error('e');"
	    "console.debug([1]);"
	    "const l = {}; l.l = l; console.info(l, () => 1);");
	tried_run(&t);
	assert_true(t.is_success);
	assert_string_equal(buf_text(&t.log), "info: a\nmine: 5\n"
	    "info: b 1 {\"c\":[2]} null undefined\nwarn: Error: w\nerror: e\n"
	    "debug: [1]\ninfo: [object Object] () => 1\n");
	tried_free(&t);
	/* The last line that fits, and the first that does not. */
	tried_init(&t, world, "for (let i = 0; i < 5; i++) c.log('i', i)");
	t.run.limits.log_lines_max = 4;
	tried_run(&t);
	assert_true(t.is_success);
	assert_string_equal(buf_text(&t.log), "i: 0\ni: 1\ni: 2\ni: 3\n");
	assert_int_equal(t.log_dropped, 1);
	tried_free(&t);
	tried_init(&t, world, "c.log('i','12345678'); c.log('i','123456789');"
	    "c.log('i','1234567é')");
	t.run.limits.log_line_bytes_max = 8;
	tried_run(&t);
	assert_string_equal(buf_text(&t.log), "i: 12345678\ni: 12345678\n"
	    "i: 1234567\n");
	tried_free(&t);
}

static void
test_waiting(void **state)
{
	struct tried t;

	(void)state;
	tried_init(&t, world, "await c.sleep(120)");
	tried_run(&t);
	assert_true(t.is_success);
	assert_true(t.wall_ns >= 120 * INT64_C(1000000));
	tried_free(&t);
	tried_init(&t, world, "await c.sleep(86400000)");
	t.run.skip_sleep = true;
	tried_run(&t);
	assert_true(t.is_success);
	tried_free(&t);
	expect_passes(world,
	    "await c.waitUntil(5); await c.waitUntil('2020-01-01T00:00:00Z')"
	    "; throws(() => c.waitUntil('soon'), 'TypeError');"
	    "throws(() => c.sleep('1'), 'TypeError');"
	    "throws(() => c.sleep(-1), 'TypeError');");
}

/* A replay answers in the recorded order, and the script sees that order. */
struct replay {
	const char *order;
	struct script_call *calls[4];
};

static void
answer_in_order(struct tried *t, struct script_call *c)
{
	struct replay *replay = t->arg;

	replay->calls[script_call_number(c) - 1] = c;
	if (t->calls_n == 3)
		for (const char *p = replay->order; *p != '\0'; p++)
			script_call_answer(replay->calls[*p - '1'],
			    STR("{\"items\":{\"y\":null}}"), STR_NONE);
}

static void
test_answers_come_in_the_owners_order(void **state)
{
	static const char *const orders[][3] = {
		{ "123", "1 2 3 ", "i: slept\ni: b\ni: c\n" },
		{ "312", "3 1 2 ", "i: c\ni: slept\ni: b\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		struct replay replay = { .order = orders[i][0] };
		struct tried t;
		tried_init(&t, world, "const q = {id: 'y', optional: true};"
		    "await Promise.all(["
		    "c.sleep(5e4).then(() => c.log('i', 'slept')), "
		    "c.getItem(q).then(() => c.log('i', 'b')), "
		    "c.getItem(q).then(() => c.log('i', 'c'))])");
		t.run.owns_sleep = true;
		t.on_call = answer_in_order;
		t.arg = &replay;
		tried_run(&t);
		assert_string_equal(t.message.p, "");
		assert_string_equal(buf_text(&t.order), orders[i][1]);
		assert_string_equal(buf_text(&t.log), orders[i][2]);
		tried_free(&t);
	}
}

static void
test_secrets_are_placeholders(void **state)
{
	struct tried t;

	(void)state;
	tried_init(&t, world, "c.log('i', c.secret('shop')); "
	    "c.log('i', c.secret('none'))");
	t.run.secrets = STR("{\"shop\":\"{{secret.shop}}\"}");
	tried_run(&t);
	assert_string_equal(buf_text(&t.log), "i: {{secret.shop}}\n");
	assert_string_equal(t.message.p,
	    "PermanentError: there is no secret 'none'");
	tried_free(&t);
}

/* ---- Conflicts ---------------------------------------------------------- */

static void
test_callbacks_are_called_again_after_a_conflict(void **state)
{
	struct tried t;
	struct why w = WHY_INIT;

	(void)state;
	tried_init(&t, world, "c.updateData(o => ({n:o.n + 1})); "
	    "c.updateMetadata(o => ({k:(o.k ?? 0) + 1}))");
	t.keeps_state = true;
	tried_run(&t);
	assert_true(t.has_callbacks);
	assert_string_equal(t.mutations.p, "[{\"op\":\"updateData\",\"id\":"
	    "\"x\",\"data\":{\"n\":2},\"rev\":7},{\"op\":\"updateMetadata\","
	    "\"id\":\"x\",\"taskName\":\"t\",\"metadata\":{\"k\":2},\"rev\":"
	    "2}]");
	for (int i = 1; i <= SCRIPT_RECOMPUTE_MAX; i++) {
		struct buf current = BUF_INIT, want = BUF_INIT;
		buf_printf(&current, "{\"items\":{\"x\":{\"id\":\"x\","
		    "\"aliases\":[\"x\"],\"data\":{\"n\":%d},\"rev\":%d}},"
		    "\"metadata\":[]}", i * 10, i + 7);
		buf_printf(&want, "[{\"op\":\"updateData\",\"id\":\"x\","
		    "\"data\":{\"n\":%d},\"rev\":%d},{\"op\":"
		    "\"updateMetadata\",\"id\":\"x\",\"taskName\":\"t\","
		    "\"metadata\":{\"k\":2},\"rev\":2}]", i * 10 + 1, i + 7);
		t.is_done = false;
		assert_int_equal(script_run_recompute(&t.run,
		    buf_str(&current), &w), OK);
		tried_wait(&t);
		assert_string_equal(t.mutations.p, buf_text(&want));
		buf_free(&current);
		buf_free(&want);
	}
	assert_int_equal(script_run_recompute(&t.run, STR("{}"), &w),
	    ERR_FULL);
	script_run_finish(&t.run);
	tried_free(&t);
	expect_success(world, "", "[]");
}

struct pause {
	struct timer timer;
	bool is_over;
};

static void
end_pause(struct timer *timer)
{
	CONTAINER(timer, struct pause, timer)->is_over = true;
}

/* The time between an outcome and its conflict is the owner's. */
static void
test_a_slow_commit_is_no_time_of_the_run(void **state)
{
	struct pause pause = { .timer.fire = end_pause };
	struct tried t;
	struct why w = WHY_INIT;

	(void)state;
	tried_init(&t, world, "c.updateData(o => o)");
	t.keeps_state = true;
	t.run.limits.wall_ms_max = 200;
	tried_run(&t);
	assert_true(t.is_success);
	loop_timer_set(world->loop, &pause.timer,
	    mono_add_ms(loop_now(world->loop), 400));
	loop_run_until(world->loop, &pause.is_over);
	t.is_done = false;
	assert_int_equal(script_run_recompute(&t.run, STR("{\"items\":{},"
	    "\"metadata\":[]}"), &w), OK);
	tried_wait(&t);
	assert_true(t.is_success);
	script_run_finish(&t.run);
	tried_free(&t);
}

/* ---- Modules ------------------------------------------------------------ */

static void
test_modules(void **state)
{
	static const char main_source[] =
	    "import { add } from './lib/math.js';\n"
	    "import data from './data.json' with { type: 'json' };\n"
	    "import data2 from './data.json';\n"
	    "export default { tasks: { t: { async run(c) {\n"
	    "  const lazy = await import('./lib/lazy.js');\n"
	    "  c.log('i', `${add(1, 2)} ${data.a} ${data2.a} ${lazy.default}`)"
	    "\n} } } }";
	struct tried t;

	(void)state;
	for (int i = 0; i < 3; i++) {
		tried_init_module(&t, world, main_source, "lib/math.js",
		    "import { one } from '../one.js';\n"
		    "export const add = (a, b) => a + b + one - 1", "one.js",
		    "export const one = 1", "data.json", "{\"a\":\"d\"}",
		    "lib/lazy.js", "export default 'z'", NULL);
		tried_run(&t);
		assert_string_equal(t.message.p, "");
		assert_string_equal(buf_text(&t.log), "i: 3 d d z\n");
		tried_free(&t);
	}
}

static void
test_imports_stay_inside_the_folder(void **state)
{
	static const char *const names[] = { "/etc/passwd", "../main.js",
		"./../a.js", "a.js", "http://a/b.js", "std", "os", "file:///a",
		"./a//b.js", "", "./none.js", "data:text/javascript,1",
		"./lib/../../main.js", "qjs:os" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct buf source = BUF_INIT;
		struct tried t;
		buf_printf(&source, "import '%s'; export default {}", names[i]);
		tried_init_module(&t, world, buf_text(&source), NULL);
		tried_run(&t);
		assert_string_equal(t.code, "error");
		assert_non_null(strstr(t.message.p, "cannot import"));
		tried_free(&t);
		buf_clear(&source);
		buf_printf(&source, "await import('%s')", names[i]);
		tried_init(&t, world, buf_text(&source));
		tried_run(&t);
		assert_string_equal(t.code, "error");
		assert_non_null(strstr(t.message.p, "cannot import"));
		tried_free(&t);
		buf_free(&source);
	}
}

/* ---- Configurations ----------------------------------------------------- */

static void
test_configuration_is_read_as_json(void **state)
{
	struct tried t;

	(void)state;
	tried_init_module(&t, world, "export default { tags: {a: ['t', 'u']},"
	    "tasks: { t: { version: '1', ttl: null, run() {} }, u: { "
	    "version: '2', remote: true } }, sessions: { s: { login() {}, "
	    "ttl: '1d' } } }", NULL);
	t.run.is_config = true;
	tried_run(&t);
	assert_true(t.is_success);
	assert_string_equal(t.config.p, "{\"tags\":{\"a\":[\"t\",\"u\"]},"
	    "\"tasks\":{\"t\":{\"version\":\"1\",\"ttl\":null},\"u\":"
	    "{\"version\":\"2\",\"remote\":true}},\"sessions\":{\"s\":"
	    "{\"ttl\":\"1d\"}}}");
	assert_string_equal(t.functions.p, "[[\"tasks\",\"t\",\"run\"],"
	    "[\"sessions\",\"s\",\"login\"]]");
	tried_free(&t);
}

static void
test_faulty_configurations_are_refused(void **state)
{
	static const struct {
		const char *source, *code, *message;
	} rows[] = {
		{ "export default 5", "config", "the module's default export "
		    "is no object" },
		{ "export const a = 1", "config", "the module's default "
		    "export is no object" },
		{ "export default {\n a: }", "error", "SyntaxError: "
		    "unexpected token in expression: '}'" },
		{ "export default { a: 1n }", "config", "a: it is no JSON" },
		{ "export default { tasks: { t: { limits: [1, NaN] } } }",
		    "config", "tasks.t.limits.1: a number is not finite" },
		{ "throw new Error('top')", "error", "Error: top" },
		{ "await new Promise(() => {}); export default {}",
		    "never_settles", "the run's promise has nothing left to "
		    "wait for" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tried t;
		tried_init_module(&t, world, rows[i].source, NULL);
		t.run.is_config = true;
		tried_run(&t);
		assert_string_equal(t.message.p, rows[i].message);
		assert_string_equal(t.code, rows[i].code);
		tried_free(&t);
	}
	/* File and line are in the stack. */
	struct tried t;
	tried_init_module(&t, world, "export default {\n a: }", NULL);
	t.run.is_config = true;
	tried_run(&t);
	assert_non_null(strstr(t.stack.p, "main.js:2"));
	tried_free(&t);
	tried_init(&t, world, "");
	t.run.task = STR("none");
	tried_run(&t);
	assert_string_equal(t.message.p,
	    "TypeError: the task 'none' has no run()");
	tried_free(&t);
	tried_init(&t, world, "");
	t.run.task = STR("toString");
	tried_run(&t);
	assert_string_equal(t.message.p,
	    "TypeError: the task 'toString' has no run()");
	tried_free(&t);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_context_has_the_lease),
		cmocka_unit_test(test_globals),
		cmocka_unit_test(test_clock_and_chance_are_the_runs),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_mutations_are_queued_as_they_are_called),
		cmocka_unit_test(test_callbacks_follow_earlier_operations),
		cmocka_unit_test(test_bad_arguments_are_mutation_errors),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_replaced_globals_change_nothing),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_allow_failure_keeps_mutations),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_answers_come_in_the_owners_order),
		cmocka_unit_test(test_secrets_are_placeholders),
		cmocka_unit_test(
		    test_callbacks_are_called_again_after_a_conflict),
		cmocka_unit_test(test_a_slow_commit_is_no_time_of_the_run),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_imports_stay_inside_the_folder),
		cmocka_unit_test(test_configuration_is_read_as_json),
		cmocka_unit_test(test_faulty_configurations_are_refused),
	};

	script_testing_begin(argc, argv);
	return cmocka_run_group_tests(tests, open_world, close_world);
}
