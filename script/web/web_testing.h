/*
 * web_testing -- a runtime with this folder's globals, and one document, for
 * tests.
 */
#ifndef SCRIPT_WEB_WEB_TESTING_H
#define SCRIPT_WEB_WEB_TESTING_H

#include "script/web/script_web.h"

struct web_testing {
	JSRuntime *rt;
	JSContext *ctx;
	/* After so many questions the script is interrupted; 0: never. */
	unsigned questions_max, questions;
};

/*
 * `heap_bytes` is what scripts may take beyond what a new context has; 0: no
 * limit.  Scripts have one more function, load(BODY, XML): `$` of a string.
 */
struct web_testing *web_testing_open(size_t heap_bytes);
/* Checks that nothing leaked. */
void web_testing_close(struct web_testing **);
/* The global `name` is `$` of this body; false: it threw, and is undefined. */
bool web_testing_load(struct web_testing *, const char *name, struct str body,
    const char *type, bool xml);
/* What an expression gives, as a string; "NAME: MESSAGE" when it throws.  It
 * is the caller's. */
char *web_testing_eval(struct web_testing *, const char *expression);
/* An assertion: the expression gives this text. */
void web_testing_check(struct web_testing *, const char *expression,
    const char *want);

#endif
