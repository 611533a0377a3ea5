/*
 * fetch -- requests of scripts and their responses; the daemon fetches.
 *
 * Thread: the runtime's.
 */
#ifndef SCRIPT_FETCH_H
#define SCRIPT_FETCH_H

#include <quickjs.h>

#include "script/own.h"

/* fetch(url, options) of the prelude, and its calls about sessions. */
JSValue fetch_call(JSContext *, JSValueConst this_val, int argc,
    JSValueConst *argv);
JSValue fetch_session_call(JSContext *, JSValueConst this_val, int argc,
    JSValueConst *argv);
/* The response of an answer: its head, and its body. */
JSValue fetch_response(struct run *, yyjson_val *head, struct str body);
/* The class of responses; false: an exception. */
bool fetch_open(JSContext *);
/*
 * The bytes of a Uint8Array, an ArrayBuffer or a Response; false for another
 * thing, without an exception.  They are valid until a script runs.
 */
bool fetch_bytes_of(JSContext *, JSValueConst, struct str *out);

#endif
