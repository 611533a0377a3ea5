/*
 * value -- JSON from and to a script's values, by C alone.
 *
 * Nothing here calls what a script may have replaced (JSON, Object.prototype,
 * iterators): it reads own enumerable properties, each once.  Getters, proxies
 * and toJSON() are the script's own code and do run.
 *
 * Thread: the runtime's.
 */
#ifndef SCRIPT_VALUE_H
#define SCRIPT_VALUE_H

#include <quickjs.h>
#include <yyjson.h>

#include "base/bytes.h"

/* Objects in objects; a value that contains itself is deeper than that. */
#define VALUE_DEPTH_MAX 64u

/*
 * The value of `v`; a frozen one, all the way down, when asked.  JS_EXCEPTION
 * when the heap is full.
 */
JSValue value_from_json(JSContext *, yyjson_val *v, bool frozen);
/* The same of a site's JSON: integers beyond 2^53 become texts, not others. */
JSValue value_from_foreign(JSContext *, yyjson_val *v);
/* The same of a text that is JSON of our own making. */
JSValue value_from_text(JSContext *, struct str, bool frozen);

struct value_writer {
	JSContext *ctx;
	struct buf *out;
	size_t bytes_max;            /* of `out` */
	/*
	 * NULL: a function is an error.  Else an array of paths is appended
	 * here, ["tasks","a","run"],..., and the property is left out.
	 */
	struct buf *functions;
	/* Set by value_write(). */
	char reason[128];            /* why it is no JSON; "": an exception */
	char where[200];             /* "tasks.a.ttl"; "": the value itself */
	bool too_long;
	unsigned depth;
	struct str path[VALUE_DEPTH_MAX + 1];
};
/*
 * Append `v` as JSON.  False: `reason` says why, or is "" and an exception
 * that the script cannot catch is pending.  What a getter throws is a reason.
 */
bool value_write(struct value_writer *, JSValueConst v);

/* A property of `obj`, itself and enumerable, of that name. */
int value_define(JSContext *, JSValueConst obj, const char *name, JSValue);
/* A text of the runtime's own making. */
JSValue value_string(JSContext *, struct str);

#endif
